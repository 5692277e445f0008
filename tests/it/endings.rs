//! With `--format json` every ending of every command is one document of a known kind on standard output, whose exit
//! code is that of the process. That it is one, and fits its schema, is checked of every call of every test.

use std::path::Path;
#[cfg(unix)]
use std::{
    io::{BufRead as _, BufReader, Read as _},
    net::TcpListener,
    process::Stdio,
    sync::mpsc,
    time::{Duration, Instant},
};

use serde_json::{Value, json};
use trueup::report::schema::SchemaKind;

use crate::support::{Service, Stage, applied, definition};

/// The commands that a stack is given to.
const OF_STACKS: [&str; 5] = ["plan .", "apply . --yes", "drift .", "rehearse .", "apply . --yes --format ndjson"];

fn json_of(line: &str) -> String {
    if line.contains("--format") { line.to_owned() } else { format!("{line} --format json") }
}

/// The last document of a call: its only one, or its last line.
fn ended(stage: &Stage, line: &str) -> (i32, Value) {
    let ran = stage.run(&json_of(line));
    ran.stderr_ignored();
    let text = ran.text();
    let document = if line.contains("ndjson") { text.lines().last().unwrap_or_default() } else { text };
    (ran.exit(), serde_json::from_str(document).expect("JSON"))
}

#[track_caller]
fn is_error(stage: &Stage, line: &str, code: i32) -> Value {
    let (exit, document) = ended(stage, line);
    assert_eq!((exit, &document["kind"]), (code, &json!("error")), "{line}: {document:#}");
    assert!(!document["message"].as_str().expect("a message").is_empty());
    document
}

#[test]
fn definitions_that_are_wrong_are_a_document_with_every_problem_at_its_place() {
    let service = Service::start();
    let stage = applied(&service);
    stage.write("wrong.yaml", "metadata: {name: a, namespace: shop}\nspec: {ip: 10.0.0.1, prot: 80}\n");
    for line in OF_STACKS {
        let document = is_error(&stage, line, 1);
        let found = &document["diagnostics"][0];
        assert_eq!((&document["status"], &found["severity"]), (&json!("invalid"), &json!("error")), "{line}");
        let place = &found["labels"][0];
        assert_eq!((&place["file"], &place["start"]["line"]), (&json!("wrong.yaml"), &json!(2)), "{line}");
    }
    let (code, checked) = ended(&stage, "validate .");
    assert_eq!((code, &checked["kind"], &checked["valid"]), (1, &json!("validation"), &json!(false)));
    stage.write("trueup.yaml", "stack: [\n");
    for line in OF_STACKS {
        is_error(&stage, line, 1);
    }
}

#[test]
fn a_service_that_is_not_there_or_refuses_is_a_document() {
    let service = Service::start();
    let stage = applied(&service);
    service.misbehave("rules: [{status: {code: 403}}]");
    for line in ["plan .", "drift .", "get shop"] {
        let (code, document) = ended(&stage, line);
        assert_eq!(code, 5, "{line}: {document:#}");
    }
    for (line, code) in [
        ("apply . --yes", 5),
        ("apply . --yes --format ndjson", 5),
        ("rehearse .", 5),
        ("events -n shop", 1),
        ("events -n shop --by country", 1),
        ("ddos list -n shop", 1),
        ("ddos show x -n shop", 1),
        ("upgrades versions", 1),
        ("upgrades status ce01", 1),
        ("rollback last --yes", 5),
    ] {
        is_error(&stage, line, code);
    }
    let nowhere = stage.env("TRUEUP_BASE_URL", "http://127.0.0.1:9");
    let unknown = is_error(&nowhere, "apply . --yes", 5);
    assert_eq!(unknown["refusal"]["reason"], "unknown_read");
    assert_eq!(unknown["refusal"]["unknown"][0]["namespace"], "shop");
    is_error(&nowhere, "ddos list -n shop", 1);
    let (code, document) = ended(&nowhere, "doctor .");
    assert_eq!((code, &document["kind"], &document["healthy"]), (1, &json!("health"), &json!(false)));
}

#[test]
fn a_refusal_is_a_document_with_its_reasons() {
    let service = Service::start();
    let stage = applied(&service);
    stage.write("shop-3.yaml", &definition("shop/third", 80));
    stage.remove("cart.yaml");
    stage.remove("search.yaml");
    let refused = is_error(&stage, "apply . --yes", 6);
    assert_eq!(refused["refusal"]["reason"], "guards");
    assert_eq!(refused["refusal"]["guards"][0]["name"], "empty-namespace");
    assert_eq!(refused["refusal"]["allow"], json!(["empty-namespace"]));
    assert_eq!(refused["hints"][0], "to allow it: --allow empty-namespace");
    let digest = stage.run("plan . --format json").json()["digest"].clone();
    assert_eq!(refused["refusal"]["digest"], digest);
    let allowed = "apply . --allow empty-namespace";
    let other = is_error(&stage, &format!("{allowed} --digest {}", "0".repeat(32)), 6);
    assert_eq!(other["refusal"]["reason"], "other_digest");
    assert!(!other.to_string().contains(&"0".repeat(33)));
    assert_eq!(is_error(&stage, &format!("{allowed} --digest 12"), 64)["refusal"]["reason"], "not_a_digest");
    let asked = is_error(&stage, allowed, 6);
    assert_eq!(asked["message"], "confirmation required, but stdin is not a terminal");
    assert_eq!(service.requests("POST"), 2, "nothing was sent since the first apply");
}

#[test]
fn a_plan_that_is_altered_stale_or_of_another_service_is_a_document() {
    let service = Service::start();
    let stage = applied(&service);
    stage.edit("cart.yaml", "port: 80", "port: 81");
    stage.run("plan . -o plan.json --quiet").code(0);
    let saved = stage.read("plan.json");
    stage.write("altered.json", &saved.replace("81", "82"));
    is_error(&stage, "apply altered.json --yes", 6);
    service.change("shop/cart", |object| object["spec"]["port"] = json!(83));
    let (code, stale) = ended(&stage, "apply plan.json --yes");
    assert_eq!((code, &stale["kind"]), (6, &json!("outcome")));
    assert!(stale["outcome"]["steps"][0]["result"]["conflict"]["fields"].is_array(), "{stale:#}");
    let other = Service::start();
    is_error(&stage.at(&other), "apply plan.json --yes", 6);
}

#[test]
fn a_call_that_is_wrong_after_it_was_parsed_is_a_document() {
    let service = Service::start();
    let stage = applied(&service);
    for line in [
        "plan . --allow nothing-such",
        "plan . --only nothing/*",
        "apply . --yes --allow nothing-such",
        "get shop --columns endpoint",
        "get Shop",
        "events -n shop --match a",
        "events -n shop --by nothing",
        "ddos list -n shop --since x",
        "drift . --base main",
    ] {
        is_error(&stage, line, 64);
    }
    for (line, code) in [
        ("show nothing-such", 1),
        ("rollback nothing-such", 1),
        ("apply --resume nothing-such --yes", 1),
        ("apply --resume nothing-such --yes --format ndjson", 1),
        ("plan nothing-such", 1),
        ("get shop/nothing", 1),
        ("plan . --live nothing.json", 1),
        ("plan . --policy nothing.yaml", 1),
    ] {
        is_error(&stage, line, code);
    }
    is_error(&stage, "apply --resume last", 6);
    let run = stage.run("history --format json").json()["runs"][0]["run"].as_str().expect("a run").to_owned();
    let (code, finished) = ended(&stage, &format!("apply --resume {run}"));
    assert_eq!((code, &finished["kind"]), (0, &json!("run")));
    let (code, nothing) = ended(&stage, "apply .");
    assert_eq!((code, &nothing["kind"]), (0, &json!("plan_report")));
    is_error(&stage, "plan . --nothing-such", 64);
}

#[test]
fn a_journal_that_cannot_be_begun_is_a_document() {
    let service = Service::start();
    let stage = applied(&service);
    stage.edit("cart.yaml", "port: 80", "port: 81");
    let lock = std::fs::read_dir(stage.path("../state/trueup/locks")).expect("locks").next().expect("one");
    let lock = std::fs::File::open(lock.expect("a lock").path()).expect("the lock");
    lock.lock().expect("it is free");
    let held = is_error(&stage, "apply . --yes", 6);
    assert!(held["message"].as_str().is_some_and(|text| text.contains("another apply")), "{held:#}");
    is_error(&stage, "apply . --yes --format ndjson", 6);
    lock.unlock().expect("it was held");
    assert_eq!(ended(&stage, "apply . --yes").1["kind"], "outcome");
}

#[cfg(unix)]
#[test]
fn an_interrupted_apply_is_a_document_and_a_stream_ends_with_it() {
    let service = Service::start();
    for format in ["json", "ndjson"] {
        let all = [1, 2, 3, 4, 5, 6].map(|number| definition(&format!("shop/{format}-{number}"), 80)).join("---\n");
        let stage = Stage::stack(&service, format).file("all.yaml", &all);
        // Five are answered at once, while the sixth is in flight: a second may still wait for the disk.
        service.hold("operation: endpoint-create, after: 5");
        let created = service.requests("POST");
        let mut command = stage.command(&["apply", ".", "--yes", "--format", format, "--concurrency", "2"]);
        let mut apply = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it starts");
        while service.requests("POST") < created + 5 {
            std::thread::yield_now();
        }
        let kill = std::process::Command::new("kill").args(["-INT", &apply.id().to_string()]).status();
        assert!(kill.expect("a program").success());
        let mut messages = BufReader::new(apply.stderr.take().expect("piped")).lines().map_while(Result::ok);
        assert!(messages.any(|line| line.contains("those in flight finish")));
        service.release();
        let mut text = String::new();
        apply.stdout.take().expect("piped").read_to_string(&mut text).expect("UTF-8");
        assert_eq!(apply.wait().expect("it ends").code(), Some(130), "{text}");
        let last = if format == "json" { text.as_str() } else { text.lines().last().expect("a line") };
        let document: Value = serde_json::from_str(last).expect("JSON");
        assert_eq!((&document["kind"], &document["outcome"]["interrupted"]), (&json!("outcome"), &json!(true)));
    }
}

#[cfg(unix)]
#[test]
fn an_interrupted_read_is_a_document_and_of_an_apply_a_message() {
    let service = Service::start();
    let stage = applied(&service);
    let silent = TcpListener::bind("127.0.0.1:0").expect("a port");
    let url = format!("http://{}", silent.local_addr().expect("an address"));
    let (seen, requests) = mpsc::channel();
    std::thread::spawn(move || {
        for mut connection in silent.incoming().flatten() {
            let began = connection.read_exact(&mut [0; 4]);
            // Whoever drops it would answer.
            if began.is_err() || seen.send(connection).is_err() {
                return;
            }
        }
    });
    let (apply, rehearse) = ("apply . --yes --format json", "rehearse . --format json");
    let plain = "apply . --yes";
    for line in ["plan . --format json", "drift . --format json", "get --format json", apply, rehearse, plain] {
        let words: Vec<&str> = line.split(' ').collect();
        let mut command = stage.command(&words);
        let read = command.env("TRUEUP_BASE_URL", &url).stdin(Stdio::null()).stdout(Stdio::piped());
        let read = read.stderr(Stdio::piped()).spawn().expect("it starts");
        // A process that has not begun yet ends without a document, as any does that is killed.
        let _unanswered = requests.recv_timeout(Duration::from_mins(1)).expect("the beginning of a request");
        let interrupt = std::process::Command::new("kill").args(["-INT", &read.id().to_string()]).status();
        assert!(interrupt.expect("a program").success());
        let output = read.wait_with_output().expect("it ends");
        assert_eq!(output.status.code(), Some(130), "{line}");
        if line == plain {
            // The log of a job that was cancelled says whether something was sent.
            let errors = String::from_utf8_lossy(&output.stderr);
            assert!(errors.contains("interrupted before the first change\n  nothing was sent"), "{errors}");
            continue;
        }
        let document: Value = serde_json::from_slice(&output.stdout).expect("JSON");
        assert_eq!(
            (&document["kind"], &document["exit_code"], &document["status"]),
            (&json!("error"), &json!(130), &json!("interrupted")),
            "{line}"
        );
    }
}

#[test]
fn what_ends_before_its_run_begins_leaves_its_error_where_the_document_of_the_run_would_be() {
    let service = Service::start();
    let stage = applied(&service);
    stage.edit("cart.yaml", "port: 80", "port: 81");
    let error = |line: &str, code: i32| {
        stage.write("run.json", r#"{"kind": "run", "format_version": 1}"#);
        stage.run(&format!("{line} --write json=run.json")).code(code).stderr_ignored();
        let document: Value = serde_json::from_str(&stage.read("run.json")).expect("JSON");
        assert_eq!((&document["kind"], &document["exit_code"]), (&json!("error"), &json!(code)), "{line}");
        stage.run("show run.json").code(1).stderr_contains("`run.json` is the error of a command");
        document
    };
    let other = error(&format!("apply . --digest {}", "0".repeat(32)), 6);
    assert_eq!(other["refusal"]["reason"], "other_digest");
    error("apply .", 6);
    error("rollback nothing --yes", 1);
    // What is there of another call is no definition.
    stage.run("apply . --yes --quiet").code(0);
    stage.run("apply . --yes --quiet --write json=run.json").code(0);
    stage.run("show run.json").code(1).stderr_contains("`run.json` is the report of a plan");
    // A call that is wrong writes nothing.
    stage.remove("run.json");
    stage.run("apply . --yes --only nothing/* --write json=run.json").code(64).stderr_ignored();
    assert!(!stage.path("run.json").exists());
    // Of several stacks it is a directory.
    stage.write("../more/trueup.yaml", "stack: more\nnamespaces: [more]\n");
    stage.write("../more/a.yaml", &definition("more/a", 80));
    stage.run("apply . ../more --write json=runs").code(6).stderr_ignored();
    assert!(!stage.path("runs").exists());
}

#[cfg(unix)]
#[test]
fn an_apply_that_is_interrupted_at_its_prompt_says_that_nothing_was_sent() {
    let service = Service::start();
    let stage = applied(&service);
    stage.edit("cart.yaml", "port: 80", "port: 81");
    for line in ["apply . --write json=run.json", "rollback last --write json=run.json --allow empty-namespace"] {
        let mut terminal = crate::terminal::Terminal::run(&stage, line);
        terminal.wait_for("Type 'yes' to apply").interrupt();
        let (code, screen) = terminal.end();
        assert!(code == 130 && screen.contains("interrupted before the first change"), "{code}: {screen}");
        let document: Value = serde_json::from_str(&stage.read("run.json")).expect("JSON");
        assert_eq!((&document["kind"], &document["status"]), (&json!("error"), &json!("interrupted")));
        assert_eq!(document["hints"], json!(["nothing was sent"]));
    }
    assert_eq!(service.get("shop/cart")["spec"]["port"], 80);
}

#[cfg(unix)]
#[test]
fn a_check_that_waits_for_its_drift_state_ends_when_it_is_interrupted() {
    let service = Service::start();
    let stage = applied(&service);
    let lock = std::fs::File::create(stage.path(".state.json.lock")).expect("a file");
    lock.lock().expect("a lock");
    let mut command = stage.command(&["drift", ".", "--drift-state", "state.json", "--format", "json", "--verbose"]);
    let mut check = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it starts");
    let stderr = BufReader::new(check.stderr.take().expect("piped"));
    let mut messages = stderr.lines().map_while(Result::ok);
    messages.find(|line| line.contains("200")).expect("the list is read, so the lock is next");
    std::thread::sleep(Duration::from_millis(500));
    let interrupt = std::process::Command::new("kill").args(["-INT", &check.id().to_string()]).status();
    assert!(interrupt.expect("a program").success());
    let begun = Instant::now();
    while check.try_wait().expect("a child").is_none() {
        if begun.elapsed() > Duration::from_mins(2) {
            check.kill().expect("a child");
            panic!("it waits for the lock");
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    let output = check.wait_with_output().expect("it ends");
    let document: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!((output.status.code(), &document["status"]), (Some(130), &json!("interrupted")));
}

#[cfg(unix)]
#[test]
fn a_second_interrupt_ends_what_writes_to_a_reader_that_has_stopped_to_read() {
    let service = Service::start();
    let many: Vec<String> = (0..300).map(|n| definition(&format!("shop/e{n}"), 80)).collect();
    let stage = Stage::stack(&service, "shop").file("many.yaml", &many.join("---\n"));
    for (line, said) in
        [("plan . --format json", ""), ("apply . --yes --format ndjson", "interrupted again: ended at once; ")]
    {
        let words: Vec<&str> = line.split(' ').collect();
        let mut command = stage.command(&words);
        let errors = std::fs::File::create(stage.path("../errors")).expect("a file");
        let mut stopped = command.stdout(Stdio::piped()).stderr(errors).spawn().expect("it starts");
        let mut stdout = stopped.stdout.take().expect("piped");
        stdout.read_exact(&mut [0]).expect("it has begun to write");
        let begun = Instant::now();
        while stopped.try_wait().expect("a child").is_none() {
            if begun.elapsed() > Duration::from_mins(2) {
                stopped.kill().expect("a child");
                panic!("{line} waits for its reader");
            }
            let interrupt = std::process::Command::new("kill").args(["-TERM", &stopped.id().to_string()]).status();
            assert!(interrupt.expect("a program").success());
            std::thread::sleep(Duration::from_millis(300));
        }
        assert_eq!(stopped.wait().expect("it ended").code(), Some(130), "{line}");
        assert!(stage.read("../errors").contains(said), "{line}");
    }
}

#[test]
fn a_stream_tells_each_step_of_a_run_with_its_time_and_ends_with_the_outcome() {
    let service = Service::start();
    let stage = applied(&service);
    stage.edit("cart.yaml", "port: 80", "port: 81");
    stage.write("new.yaml", &definition("shop/new", 80));
    stage.remove("search.yaml");
    service.misbehave("rules: [{operation: endpoint-create, for: 1, status: {code: 429, retry_after: 0}}]");
    let ran = stage.run("apply . --yes --format ndjson");
    ran.code(0).stderr_ignored();
    let lines: Vec<Value> = ran.text().lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    let (outcome, events) = lines.split_last().expect("lines");
    assert_eq!(outcome["kind"], "outcome");
    let names: Vec<&str> = events.iter().filter_map(|event| event["event"].as_str()).collect();
    assert_eq!(names.len(), events.len());
    for name in ["started", "phase", "sending", "waiting", "finished", "verifying"] {
        assert!(names.contains(&name), "{name}: {names:?}");
    }
    let times: Vec<jiff::Timestamp> =
        events.iter().map(|event| event["time"].as_str().expect("a time").parse().expect("RFC 3339")).collect();
    assert!(times.is_sorted());
    let of = |name: &str, key: &str| {
        events.iter().find(|event| event["event"] == name && event["key"] == key).expect("an event").clone()
    };
    let (sent, finished) = (of("sending", "shop/cart"), of("finished", "shop/cart"));
    assert_eq!((&sent["action"], &sent["attempt"]), (&json!("replace"), &json!(1)));
    assert_eq!(sent["requests"], finished["requests"]);
    assert!(finished["result"]["done"].is_object() && finished["duration_ms"].is_u64(), "{finished}");
    assert_eq!(events[0]["run"], outcome["outcome"]["run"]);
    // A rollback streams, too, and what is refused ends the stream.
    let back = stage.run("rollback last --yes --format ndjson");
    back.stderr_ignored();
    let last = back.text().lines().last().expect("a line").to_owned();
    let last: Value = serde_json::from_str(&last).expect("JSON");
    assert!(["outcome", "error"].contains(&last["kind"].as_str().expect("a kind")), "{last}");
}

#[test]
fn every_kind_of_document_has_a_schema_that_is_one() {
    let stage = Stage::new();
    let names = || SchemaKind::ALL.iter().flat_map(|kind| kind.names());
    for name in names() {
        let schema = stage.run(&format!("schema --of {name}")).code(0).json();
        jsonschema::validator_for(&schema).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!(schema["$schema"], "https://json-schema.org/draft/2020-12/schema");
    }
    let page =
        std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/documents.md")).expect("the page");
    for name in names() {
        assert!(page.contains(&format!("`{name}`")), "docs/documents.md does not name `{name}`");
    }
}

#[cfg(unix)]
#[test]
fn a_stack_that_an_interrupt_kept_from_beginning_says_so() {
    let service = Service::start();
    let stage = ["one", "two", "three"].iter().fold(Stage::new().at(&service), |stage, name| {
        stage
            .file(&format!("{name}/trueup.yaml"), &format!("stack: {name}\nnamespaces: [{name}]\n"))
            .file(&format!("{name}/a.yaml"), &definition(&format!("{name}/cart"), 80))
            .file(&format!("{name}/b.yaml"), &definition(&format!("{name}/early"), 80))
    });
    // One is answered at once, while the other is in flight.
    service.hold("operation: endpoint-create, name: cart");
    let mut command = stage.command(&["apply", "one", "two", "three", "--yes"]);
    let mut apply = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it starts");
    let created = || service.log().iter().any(|entry| entry.method == "POST");
    while !created() {
        std::thread::yield_now();
    }
    let kill = std::process::Command::new("kill").args(["-INT", &apply.id().to_string()]).status();
    assert!(kill.expect("a program").success());
    let mut messages = BufReader::new(apply.stderr.take().expect("piped")).lines().map_while(Result::ok);
    assert!(messages.any(|line| line.contains("those in flight finish")));
    service.release();
    let mut text = String::new();
    apply.stdout.take().expect("piped").read_to_string(&mut text).expect("UTF-8");
    let messages: Vec<String> = messages.collect();
    assert_eq!(apply.wait().expect("it ends").code(), Some(130), "{text}{messages:?}");
    assert!(text.contains("== three\nSKIPPED  the apply was interrupted\n"), "{text}{messages:?}");
}
