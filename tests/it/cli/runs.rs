//! Runs after they ended: history, rollback, and going on with one that was killed.

#[cfg(unix)]
use std::io::Read as _;
use std::io::{BufRead as _, BufReader};
use std::process::{Child, Command, Stdio};

use serde_json::{Value as Json, json};

#[cfg(unix)]
use crate::support::is_hangup_ignored;
use crate::support::{Service, Stage, TOKEN, definition};

/// `cart` is there; one run creates `search`, changes `cart` and deletes `old`.
fn stage(service: &Service) -> Stage {
    let stage = Stage::new()
        .at(service)
        .env("USER", "kim")
        .file("trueup.yaml", "stack: runs\nnamespaces: [shop]\n")
        .file("cart.yaml", &definition("shop/cart", 80))
        .file("old.yaml", &definition("shop/old", 80))
        .applied(".");
    stage.edit("cart.yaml", "port: 80", "port: 81");
    stage.remove("old.yaml");
    stage.write("search.yaml", &definition("shop/search", 80));
    stage.run("apply . --yes --quiet").code(0);
    stage
}

/// Takes the closing line and the last result out of the newest journal, as a kill would have.
fn kill_newest(stage: &Stage) {
    cut_newest(stage, 2, "{\"outcome\":{\"key\":\"sh");
}

/// Takes so many lines from the end of the newest journal, and leaves `torn` there.
fn cut_newest(stage: &Stage, less: usize, torn: &str) {
    change_newest(stage, |text| {
        let lines: Vec<&str> = text.lines().collect();
        format!("{}\n{torn}", lines[..lines.len() - less].join("\n"))
    });
}

fn change_newest(stage: &Stage, change: impl FnOnce(&str) -> String) {
    let runs = stage.path("../state/trueup/runs");
    let mut files: Vec<_> = std::fs::read_dir(runs).expect("runs").map(|entry| entry.expect("a run").path()).collect();
    files.sort_by_key(|file| std::fs::metadata(file).and_then(|file| file.modified()).expect("a time"));
    let newest = files.last().expect("a run");
    let text = std::fs::read_to_string(newest).expect("a journal");
    std::fs::write(newest, change(&text)).expect("it can be written");
}

#[test]
fn a_journal_whose_plan_was_altered_is_not_resumed() {
    let service = Service::start();
    let stage = stage(&service);
    kill_newest(&stage);
    let before = service.requests("DELETE") + service.requests("PUT");
    change_newest(&stage, |text| text.replace(r#""prune":"owned""#, r#""prune":"none""#));
    stage
        .run("apply --resume last --yes")
        .code(6)
        .stderr_contains("contradicts itself, so it was altered: `shop/old` would be deleted")
        .stderr_contains("nothing was sent");
    assert_eq!(service.requests("DELETE") + service.requests("PUT"), before);
}

#[test]
fn history_lists_the_runs_and_shows_one_with_every_result() {
    let service = Service::start();
    let stage = stage(&service);
    let runs = stage.run("history --format json").code(0).json()["runs"].as_array().expect("runs").clone();
    assert_eq!(runs.len(), 2);
    assert_eq!(runs[0]["planned"], json!({"create": 1, "replace": 1, "annotate": 0, "delete": 1}));
    assert_eq!(
        (&runs[0]["done"], &runs[0]["status"], &runs[0]["user"]),
        (&json!(3), &json!("finished"), &json!("kim"))
    );
    let list = stage.run("history");
    list.code(0)
        .stdout_contains("  RUN ")
        .stdout_contains("  STARTED               STACK  SERVICE ")
        .stdout_contains("  WHO  COMMIT  CHANGES            RESULT\n")
        .stdout_contains("  runs   http://127.0.0.1:")
        .stdout_contains("  kim  -       3 of 3 (+1 ~1 -1)  finished\n")
        .stdout_contains("  kim  -       2 of 2 (+2)        finished\n");
    let newest = runs[0]["run"].as_str().expect("a run");
    list.stdout_contains(&format!("undo it:   trueup rollback {newest}"));
    stage
        .run("show last")
        .code(0)
        .stdout_contains("by kim, began")
        .stdout_contains("\n  + create  shop/search                                     done (unguarded), ")
        .stdout_contains("\n  ~ replace shop/cart                                       done (versioned), ")
        .stdout_contains("\n  - delete  shop/old                                        done (unguarded), ")
        .stdout_contains("\n        spec.port                80 -> 81   ")
        .stdout_contains("3 of 3 done, finished.\nVerified");
    let steps = stage.run(&format!("show {newest} --format json")).code(0).json()["steps"].clone();
    assert_eq!(steps[0]["result"], json!({"done": {"confirmation": "unguarded", "by_reading": false}}));
    stage.run("show nothing-such").code(1).stderr_contains("there is no run `nothing-such`");
}

#[test]
fn history_shows_who_ran_it_what_for_who_approved_it_and_when_each_change_was_made() {
    let service = Service::start();
    let stage = stage(&service)
        .env("CI", "true")
        .env("TRUEUP_TOKEN_URL", &service.url())
        .env("GITHUB_ACTOR", "ada")
        .env("GITHUB_SERVER_URL", "https://github.com")
        .env("GITHUB_REPOSITORY", "acme/shop")
        .env("GITHUB_REF", "refs/pull/17/merge")
        .env("GITHUB_SHA", "3f2c9ab4")
        .env("TRACEPARENT", "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01")
        .env("TRACESTATE", "congo=t61rcWkgMzE");
    stage.edit("cart.yaml", "port: 81", "port: 82");
    stage
        .run("apply . --yes --approved-by=")
        .code(64)
        .stderr_contains("a value is required for '--approved-by <NAME>'");
    stage.run("apply . --yes --approved-by grace --quiet").code(0);
    stage.run("history").code(0).stdout_contains("  ada  -").stdout_contains("  kim  -");
    stage
        .run("show last")
        .code(0)
        .stdout_contains(" by ada, began")
        .stdout_contains("approved by grace, approved with --yes, change request https://github.com/acme/shop/pull/17");
    let run = stage.run("show last --format json").code(0).json();
    let trigger = json!({"actor": "ada", "approval": "yes", "approved_by": "grace", "commit": "3f2c9ab4",
        "change_request": "https://github.com/acme/shop/pull/17"});
    assert_eq!(run["run"]["trigger"], trigger);
    let step = &run["steps"][0];
    let time = |key: &str| step[key].as_str().and_then(|time| time.parse::<jiff::Timestamp>().ok()).expect("a time");
    assert!(time("started") <= time("ended"), "{step}");
    // The request is found by its id on both sides, in the trace of the caller, and each is a span of its own.
    let log = service.log();
    let write = log.iter().rfind(|entry| entry.method == "PUT").expect("the replace");
    assert_eq!(step["requests"], json!([write.request_id.clone().expect("an id")]));
    let spans: std::collections::BTreeSet<_> = log.iter().filter_map(|entry| entry.traceparent.clone()).collect();
    assert!(spans.len() > 2 && spans.iter().all(|span| span.starts_with("00-4bf92f3577b34da6a3ce929d0e0e4736-")));
    assert!(
        log.iter()
            .filter(|entry| entry.traceparent.is_some())
            .all(|entry| entry.tracestate.as_deref() == Some("congo=t61rcWkgMzE"))
    );
    let ids: std::collections::BTreeSet<_> = log.iter().filter_map(|entry| entry.request_id.clone()).collect();
    assert_eq!(ids.len(), log.len());
}

#[test]
fn a_failed_change_names_its_request_and_a_log_has_a_line_for_each() {
    let service = Service::start();
    let stage = stage(&service);
    stage.edit("cart.yaml", "port: 81", "port: 82");
    service.misbehave(
        "rules: [{operation: endpoint-replace, status: {code: 403, body: '{\"message\":\"secret words\"}'}}]",
    );
    let ran = stage.run("apply . --yes --log json --quiet");
    ran.code(1).stderr_ignored();
    let put = service.log().into_iter().rfind(|entry| entry.method == "PUT").expect("the replace");
    let id = put.request_id.expect("an id");
    ran.stdout_contains(&format!(" (request {id})"));
    let lines: Vec<serde_json::Value> =
        ran.errors().lines().map(|line| serde_json::from_str(line).expect("a line of JSON")).collect();
    let line = lines.iter().find(|line| line["request_id"] == json!(id)).expect("its line");
    assert_eq!(
        (&line["kind"], &line["method"], &line["operation"], &line["status"], &line["attempt"]),
        (&json!("request"), &json!("PUT"), &json!("svc-api-servicemesh-endpoint-update"), &json!(403), &json!(1))
    );
    assert!(line["time"].is_string() && line["duration_ms"].is_u64(), "{line}");
    assert!(!line.to_string().contains("secret words"), "{line}");
    for (status, body) in [(200, "<html>"), (204, ""), (206, "{}"), (200, "[]")] {
        service
            .misbehave(&format!("rules: [{{operation: endpoint-list, status: {{code: {status}, body: '{body}'}}}}]"));
        let ran = stage.run("plan . --log json --quiet");
        ran.code(5).stderr_ignored();
        let line = ran.errors().lines().find(|line| line.contains("endpoint-list")).expect("its line").to_owned();
        let line: serde_json::Value = serde_json::from_str(&line).expect("a line of JSON");
        assert_eq!((&line["status"], &line["failure"]), (&json!(status), &json!("unusable_answer")), "{body}");
    }
    service.misbehave("rules: []");
    stage.run("plan . --log json").code(0).stderr_contains("\"operation\":\"svc-api-servicemesh-endpoint-list\"");
    let stage = stage.env("TRACEPARENT", "00-xyz");
    let note = stage.run("plan .");
    note.code(0).stderr("note: `TRACEPARENT` is not a valid trace and is not passed on\n");
}

#[test]
fn a_history_of_which_no_run_can_be_read_does_not_say_that_there_is_none() {
    let stage = Stage::new().file("state/runs/2026-11-27T09-08-34-079-shop-113d.jsonl", "damaged\n");
    let ran = stage.run("history --state state");
    ran.code(0).stdout_contains("unreadable: ").does_not_say("No runs are kept").stderr_ignored();
}

#[test]
fn history_without_runs_says_so_and_keep_removes_old_ones() {
    let service = Service::start();
    let nothing = Stage::new().run("history --state elsewhere");
    nothing
        .code(0)
        .stdout("No runs are kept.\n")
        .stderr_contains("Runs are looked for in ")
        .stderr_contains("elsewhere");
    let stage = stage(&service);
    for keep in ["30d", "99999999d", "90"] {
        stage.run(&format!("history --keep {keep}")).code(0).stderr_contains("no run was removed");
    }
    stage
        .run("history --keep 1")
        .code(0)
        .stderr_contains("removed run ")
        .stdout_contains("3 of 3")
        .does_not_say("2 of 2");
    stage.run("history --keep some").code(64).stderr_contains("give a number of runs");
}

#[test]
fn a_rollback_says_what_a_filter_leaves_out_and_is_planned_again_with_it() {
    let service = Service::start();
    let stage = stage(&service);
    let last = stage.run("show last --format json").code(0).json();
    let run = last["run"]["run"].as_str().expect("a run");
    stage
        .run("rollback last --only shop/cart -o back.json")
        .code(0)
        .stdout_contains("filtered by --only shop/cart; 2 changes outside the filter");
    stage
        .run("show back.json --format markdown")
        .code(0)
        .stdout_contains("### trueup rollback: 1 to replace")
        .stdout_contains(&format!("undoes run `{run}`"))
        .stdout_contains("--only shop/cart");
    let other = stage.run(&format!("apply back.json --digest {}", "0".repeat(32)));
    other.code(6).stderr_contains(&format!("plan again: trueup rollback {run} --only shop/cart\n"));
}

#[test]
fn a_delete_takes_nothing_with_it_that_somebody_wrote_since_it_was_planned() {
    let service = Service::start();
    let stage = stage(&service);
    stage.remove("search.yaml");
    stage.run("plan . -o p.json --quiet").code(0);
    stage.run("rollback last -o back.json --quiet").code(0);
    service.change("shop/search", |object| object["metadata"]["annotations"]["note"] = json!("keep until friday"));
    stage.run("apply p.json --yes").code(6).stdout_contains("conflict: shop/search").stderr_ignored();
    stage.run("apply back.json --yes").code(7).stdout_contains("conflict: shop/search").stderr_ignored();
    assert!(service.has("shop/search"));
}

#[test]
fn a_rollback_is_shown_saved_applied_and_rolled_back_itself() {
    let service = Service::start();
    let stage = stage(&service);
    let held = |key: &str| service.has(key).then(|| service.get(key)["spec"]["port"].clone());
    stage.run("rollback last").code(6).stderr_contains("81 -> 80").stderr_contains("confirmation required");
    stage
        .run("rollback last -o back.json")
        .code(0)
        .stdout_contains("Rollback of")
        .stdout_contains("81 -> 80")
        .stdout_contains("the run created it")
        .does_not_say("no definition")
        .stdout_contains("1 to create, 1 to replace, 1 to delete");
    for format in ["text", "markdown", "html", "github", "sarif"] {
        stage
            .run(&format!("show back.json --format {format}"))
            .code(0)
            .stdout_contains("the run created it")
            .stdout_contains("the run deleted it")
            .does_not_say("definition removed");
    }
    stage.run("rollback last --only shop/cart --yes --quiet").code(0).stdout_contains("Applied 1 of 1");
    assert_eq!((held("shop/cart"), held("shop/old")), (Some(json!(80)), None));
    stage.run("rollback last --yes --quiet").code(0);
    assert_eq!(held("shop/cart"), Some(json!(81)));
    stage.run("rollback last --yes --quiet --only shop/none").code(64).stderr_contains("matches nothing");
    stage.run("apply back.json --yes --quiet").code(0).stdout_contains("Applied 3 of 3");
    assert_eq!((held("shop/cart"), held("shop/old"), held("shop/search")), (Some(json!(80)), Some(json!(80)), None));
    let last = stage.run("show last --format json").code(0).json();
    assert!(last["run"]["rolls_back"].is_string(), "{last}");
    stage.run("rollback last --yes --quiet --format json").code(0);
    assert_eq!((held("shop/cart"), held("shop/old"), held("shop/search")), (Some(json!(81)), None, Some(json!(80))));
}

#[test]
fn a_rollback_of_a_run_that_changed_nothing_says_so() {
    let service = Service::start();
    let stage = Stage::stack(&service, "shop").file("cart.yaml", &definition("shop/cart", 80));
    stage.run("apply . --yes --quiet").code(0);
    stage.write("cart.yaml", &definition("shop/cart", 81));
    service.misbehave("rules: [{operation: endpoint-replace, status: {code: 403}}]");
    stage.run("apply . --yes --quiet").code(1).stderr_ignored();
    stage
        .run("rollback last --yes")
        .code(0)
        .stdout_contains("Nothing to roll back")
        .stderr_contains("changed nothing; for the runs before it: trueup history");
}

#[test]
fn a_rollback_leaves_alone_what_somebody_changed_since() {
    let service = Service::start();
    let stage = stage(&service);
    service.change("shop/cart", |object| object["spec"]["port"] = json!(9999));
    stage
        .run("rollback last --yes --quiet")
        .code(7)
        .stdout_contains("changed since the run")
        .stdout_contains("spec.port");
    assert_eq!(service.get("shop/cart")["spec"]["port"], 9999);
    assert!(service.has("shop/old") && !service.has("shop/search"));
}

#[test]
fn a_run_that_was_killed_is_reported_and_resumed() {
    let service = Service::start();
    let stage = stage(&service);
    // An apply that was killed before its run began leaves none, and `last` is then the one before.
    let last = stage.run("apply --resume last --yes");
    last.code(6)
        .stderr_contains("nothing to resume: run `")
        .stderr_contains("is finished, and no later one began")
        .stderr_contains("an apply that was killed before its run began is not resumed: repeat it")
        .stderr_contains("nothing was sent");
    let run = stage.run("history --format json").json()["runs"][0]["run"].as_str().expect("a run").to_owned();
    stage
        .run(&format!("apply --resume {run} --write json=run.json"))
        .code(0)
        .stderr_contains("is finished: nothing to resume");
    assert!(stage.read("run.json").contains(&run));
    kill_newest(&stage);
    stage
        .run("history")
        .code(0)
        .stdout_contains("2 of 3 (+1 ~1 -1)")
        .stdout_contains("1 write in doubt")
        .stdout_contains("trueup apply --resume");
    stage
        .run("apply . --yes")
        .code(0)
        .stderr_contains("has not finished: 2 of 3 done, 1 write in doubt")
        .stdout_contains("In sync");
    stage.run("apply --resume last").code(6).stderr_contains("confirmation required");
    let resumed = stage.run("apply --resume last --yes");
    resumed
        .code(0)
        .stdout_contains("Applied 1 of 1 in")
        .stdout_contains("; 2 changes made before the resume.\n")
        .stderr_contains(": 2 of 3 done, 1 left, of these 1 write in doubt");
    stage.run("apply . --yes").code(0).stdout_contains("In sync");
    stage.run("history").code(0).stdout_contains("resumed by");
    stage.run("apply --resume last --yes").code(6).stderr_contains("nothing to resume");
    stage.run("apply . --resume last").code(64).stderr_contains("cannot be used with");
    stage.run("apply --resume last --base main").code(64).stderr_contains("cannot be used with");
    assert_eq!(service.requests("DELETE"), 1);
}

#[test]
fn a_run_that_was_killed_behind_its_last_change_is_looked_at_again_and_closed() {
    let service = Service::start();
    let stage = stage(&service);
    cut_newest(&stage, 1, "");
    stage
        .run("history")
        .code(0)
        .stdout_contains("3 of 3 (+1 ~1 -1)  unfinished")
        .stdout_contains("trueup apply --resume");
    let writes = || ["POST", "PUT", "DELETE"].map(|method| service.requests(method));
    let before = writes();
    // Nothing is sent, so nobody is asked.
    let resumed = stage.run("apply --resume last");
    resumed
        .code(0)
        .stderr_contains(": 3 of 3 done, the verification is left\n")
        .stdout_contains("Nothing was left to apply: 3 changes made before the resume.\nVerified");
    assert_eq!(writes(), before);
    stage.run("history").code(0).stdout_contains("resumed by").does_not_say("unfinished");
    stage.run("apply . --yes").code(0).stdout_contains("In sync");
    stage.run("apply --resume last").code(6).stderr_contains("nothing to resume");
}

/// Creates that are answered before the others wait, where an interrupt has to find one in flight: of the first two, the second
/// may wait for the disk while the first is made. Later ones have their intents there.
const ANSWERED: usize = 5;

/// An apply of which so many changes are done, and what it says from then on.
fn begun(mut apply: Command, done: usize) -> (Child, impl Iterator<Item = String>) {
    let apply = apply.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut apply = apply.spawn().expect("the program starts");
    let mut stderr = BufReader::new(apply.stderr.take().expect("a pipe")).lines().map(|line| line.expect("text"));
    for _ in 0..done {
        stderr.find(|line| line.contains("done")).expect("a change is done");
    }
    (apply, stderr)
}

#[cfg(unix)]
#[test]
fn an_interrupted_run_finishes_what_is_in_flight_says_how_to_go_on_and_goes_on() {
    let service = Service::start();
    let stage = Stage::stack(&service, "runs");
    for number in 0..9 {
        stage.write(&format!("{number}.yaml"), &definition(&format!("shop/e{number}"), 80));
    }
    service.hold(&format!("operation: endpoint-create, after: {ANSWERED}"));
    let (mut apply, mut stderr) = begun(stage.command(&["apply", ".", "--yes", "--concurrency", "2"]), ANSWERED);
    // Two signals at once: `timeout` sends its own to the program, and to its group.
    let twice = format!("kill -STOP {0}; kill -INT {0}; kill -TERM {0}; kill -CONT {0}", apply.id());
    assert!(Command::new("sh").args(["-c", &twice]).status().expect("a shell").success());
    assert!(stderr.any(|line| line.contains("those in flight finish")));
    service.release();
    let lines: Vec<String> = stderr.collect();
    let mut said = String::new();
    apply.stdout.take().expect("a pipe").read_to_string(&mut said).expect("text");
    assert_eq!(apply.wait().expect("it ends").code(), Some(130), "{said}{lines:?}");
    let made = service.requests("POST");
    assert!((ANSWERED + 1..9).contains(&made), "{made}");
    assert!(said.contains(&format!("Interrupted: applied {made} of 9")), "{said}");
    assert!(said.contains(&format!("not tried: {} changes: create shop/e", 9 - made)), "{said}");
    assert!(said.contains("\nresume with: trueup apply --resume "), "{said}");

    let resumed = stage.run("apply --resume last --yes");
    resumed
        .code(0)
        .stdout_contains("changes made before the resume.\nVerified")
        .stderr_contains(&format!(": {made} of 9 done, {} left\n", 9 - made));
    assert_eq!(resumed.stderr_lines(), 1 + 9 - made);
    assert_eq!(service.requests("POST"), 9);
}

#[cfg(unix)]
#[test]
fn an_interrupt_ends_the_verification_by_a_service_that_does_not_answer() {
    let service = Service::start();
    let stage = Stage::stack(&service, "runs").file("cart.yaml", &definition("shop/cart", 80));
    service.hold("operation: endpoint-list, after: 1");
    let (apply, _stderr) = begun(stage.command(&["apply", ".", "--yes", "--write", "json=run.json"]), 1);
    assert!(Command::new("kill").args(["-INT", &apply.id().to_string()]).status().expect("kill").success());
    let ended = apply.wait_with_output().expect("it ends");
    service.release();
    let said = String::from_utf8(ended.stdout).expect("text");
    assert_eq!(ended.status.code(), Some(130), "{said}");
    assert!(said.contains("Interrupted: applied 1 of 1"), "{said}");
    let run: Json = serde_json::from_str(&stage.read("run.json")).expect("a document");
    assert_eq!(run["run"]["status"], "unfinished", "{run:#}");
    let resumed = stage.run("apply --resume last --yes");
    resumed.code(0).stdout_contains("Verified").stderr_contains("1 of 1 done, the verification is left");
}

/// An apply of eight creates that `program` starts; it receives `-HUP` when some are made and another is in flight.
#[cfg(unix)]
fn hung_up(service: &Service, stage: &Stage, program: &[&str], is_ignored: bool) -> std::process::Output {
    for number in 0..8 {
        stage.write(&format!("{number}.yaml"), &definition(&format!("shop/e{number}"), 80));
    }
    service.hold(&format!("operation: endpoint-create, after: {ANSWERED}"));
    let apply = stage.command(&["apply", ".", "--yes", "--concurrency", "2"]);
    let mut outer = Command::new(program[0]);
    outer.args(&program[1..]).arg(apply.get_program()).args(apply.get_args());
    outer.current_dir(apply.get_current_dir().expect("a directory")).env_clear();
    outer.envs(apply.get_envs().filter_map(|(name, value)| Some((name, value?))));
    let (outer, mut stderr) = begun(outer, ANSWERED);
    let sent = Command::new("kill").args(["-HUP", &outer.id().to_string()]).status().expect("kill");
    assert!(sent.success());
    assert!(is_ignored || stderr.any(|line| line.contains("those in flight finish")));
    service.release();
    let said = stderr.collect::<Vec<_>>().join("\n").into_bytes();
    let ended = outer.wait_with_output().expect("it ends");
    std::process::Output { stderr: said, ..ended }
}

#[cfg(unix)]
#[test]
fn a_run_whose_terminal_is_closed_ends_as_an_interrupted_one() {
    if is_hangup_ignored("the end of the terminal of a run") {
        return;
    }
    let service = Service::start();
    let stage = Stage::stack(&service, "runs");
    let ended = hung_up(&service, &stage, &["env"], false);
    let (stdout, stderr) = (String::from_utf8_lossy(&ended.stdout), String::from_utf8_lossy(&ended.stderr));
    assert_eq!(ended.status.code(), Some(130), "{stdout}{stderr}");
    assert!(stdout.contains("Interrupted: applied ") && stdout.contains("resume with: "), "{stdout}");
    stage.run("history").code(0).does_not_say("in doubt");
}

#[cfg(unix)]
#[test]
fn a_run_ends_as_an_interrupted_one_though_nothing_can_be_drawn_any_more() {
    if is_hangup_ignored("the end of the terminal that a run draws on") {
        return;
    }
    let service = Service::start();
    let stage = Stage::stack(&service, "runs").env("TERM", "xterm");
    for number in 0..200 {
        stage.write(&format!("{number}.yaml"), &definition(&format!("shop/e{number}"), 80));
    }
    service.hold("operation: endpoint-create, after: 8");
    let mut terminal = crate::terminal::Terminal::run(&stage, "apply . --yes --concurrency 4");
    terminal.wait_for("8/200");
    assert_eq!(terminal.close(|| service.release()), Some(130));
    stage.run("history").code(0).does_not_say("in doubt");
}

#[cfg(unix)]
#[test]
fn a_run_that_ignores_the_end_of_its_terminal_goes_on() {
    let service = Service::start();
    let stage = Stage::stack(&service, "runs");
    let ended = hung_up(&service, &stage, &["sh", "-c", "trap '' HUP; exec \"$0\" \"$@\""], true);
    let (stdout, stderr) = (String::from_utf8_lossy(&ended.stdout), String::from_utf8_lossy(&ended.stderr));
    assert_eq!(ended.status.code(), Some(0), "{stdout}{stderr}");
    assert!(stdout.contains("8 created"), "{stdout}");
}

#[test]
fn a_run_that_was_killed_and_rolled_back_is_not_resumed() {
    let service = Service::start();
    let stage = stage(&service);
    kill_newest(&stage);
    let killed = stage.run("history --format json").json()["runs"][0]["run"].as_str().expect("a run").to_owned();
    stage.run(&format!("rollback {killed} --yes --quiet")).code(0);
    stage
        .run("history")
        .code(0)
        .stdout_contains(&format!("rolls back {killed}"))
        .stdout_contains("unfinished, superseded by ")
        .does_not_say("resume with");
    let writes = service.requests("PUT") + service.requests("POST");
    stage
        .run(&format!("apply --resume {killed} --yes"))
        .code(6)
        .stderr_contains(&format!("run `{killed}` is superseded by run `"));
    assert_eq!(service.requests("PUT") + service.requests("POST"), writes);
}

#[test]
fn a_variable_of_a_script_that_is_not_set_names_no_run_and_no_state() {
    let service = Service::start();
    let stage = stage(&service);
    for words in
        [["rollback", "", "--yes"], ["apply", "--resume", ""], ["history", "--state", ""], ["drift", "--state", ""]]
    {
        stage.run_words(&words).code(64).stderr_contains("a value is required for '");
    }
    assert!(service.has("shop/search") && !stage.path("runs").exists());
}

#[test]
fn a_run_in_progress_is_not_rolled_back_in_part() {
    let service = Service::start();
    let stage = Stage::stack(&service, "runs");
    stage.write("a.yaml", &definition("shop/a", 80));
    stage.write("b.yaml", &definition("shop/b", 80));
    service.hold("operation: endpoint-create, after: 1");
    let (mut apply, stderr) = begun(stage.command(&["apply", ".", "--yes", "--concurrency", "1"]), 1);
    stage
        .run("rollback last --allow empty-namespace -o back.json")
        .code(6)
        .stderr_contains("another apply of stack `runs` is running on this machine")
        .stderr_contains("nothing was sent");
    assert!(!stage.path("back.json").exists());
    service.release();
    stderr.for_each(drop);
    assert_eq!(apply.wait().expect("it ends").code(), Some(0));
    stage.run("rollback last --allow empty-namespace --yes --quiet").code(0).stdout_contains("2 deleted");
}

#[cfg(unix)]
#[test]
fn a_run_whose_record_is_deleted_replaced_or_emptied_stops_and_proposes_nothing_that_needs_it() {
    let delete = |stage: &Stage| std::fs::remove_dir_all(stage.path("../state/trueup")).expect("the state");
    let run = |stage: &Stage| {
        let runs = std::fs::read_dir(stage.path("../state/trueup/runs")).expect("runs");
        runs.map(|run| run.expect("a run").path()).next().expect("a run")
    };
    let replace = |stage: &Stage| {
        let run = run(stage);
        std::fs::copy(&run, run.with_extension("copy")).expect("a copy");
        std::fs::rename(run.with_extension("copy"), run).expect("in its place");
    };
    loses_its_record(delete);
    loses_its_record(|stage| std::fs::write(run(stage), "").expect("emptied"));
    // Windows replaces no open file.
    if cfg!(unix) {
        loses_its_record(replace);
    }
}

#[cfg(unix)]
fn loses_its_record(lose: impl Fn(&Stage)) {
    let service = Service::start();
    let stage = Stage::stack(&service, "runs");
    for number in 0..5 {
        stage.write(&format!("{number}.yaml"), &definition(&format!("shop/e{number}"), 80));
    }
    service.hold("operation: endpoint-create, after: 1");
    stage.write("../run.json", "that of an earlier run");
    let call = ["apply", ".", "--yes", "--concurrency", "1", "--write", "json=../run.json"];
    let (mut apply, stderr) = begun(stage.command(&call), 1);
    lose(&stage);
    service.release();
    let stderr = stderr.collect::<Vec<_>>().join("\n");
    let mut stdout = String::new();
    apply.stdout.take().expect("a pipe").read_to_string(&mut stdout).expect("text");
    assert_eq!(apply.wait().expect("it ends").code(), Some(7), "{stdout}{stderr}");
    assert!(stderr.contains("the record of the run is not complete") && stderr.contains("it was removed"), "{stderr}");
    assert!(!stdout.contains("trueup ") && !stderr.contains("trueup "), "{stdout}{stderr}");
    // Its document says what became of each change all the same.
    let document: Json =
        serde_json::from_slice(&std::fs::read(stage.path("../run.json")).expect("a document")).unwrap();
    let made = service.requests("POST");
    assert_eq!((&document["kind"], &document["run"]["done"]), (&json!("run"), &json!(made)), "{document:#}");
    assert_eq!(document["steps"].as_array().expect("steps").len(), 5);
    assert!(document["verification"].is_object() && document["run"]["ended"].is_string(), "{document:#}");
    assert!(service.requests("POST") < 5, "{stdout}");
}

#[test]
fn the_history_is_not_removed_whole() {
    let service = Service::start();
    let stage = stage(&service);
    for keep in ["0", "0d"] {
        stage.run(&format!("history --keep {keep}")).code(64).stderr_contains("at least 1");
    }
    kill_newest(&stage);
    stage.run("history --keep 1").code(0).stderr_contains("removed run").stdout_contains("1 write in doubt");
    assert_eq!(stage.run("history --format json").json()["runs"].as_array().map(Vec::len), Some(1));
}

#[cfg(unix)]
#[test]
fn a_second_interrupt_ends_the_run_at_once_and_a_resume_settles_it() {
    let service = Service::start();
    let stage = Stage::stack(&service, "runs");
    for number in 0..=ANSWERED {
        stage.write(&format!("{number}.yaml"), &definition(&format!("shop/e{number}"), 80));
    }
    // It needs again what its call consented to.
    let flags = "--allow empty-namespace --prune-namespace pay";
    stage.write("trueup.yaml", "stack: runs\nnamespaces: [shop, pay]\n");
    stage.write("c.yaml", &definition("pay/c", 80));
    stage.run("apply . --yes --quiet --only pay/c").code(0);
    stage.remove("c.yaml");
    stage.write("trueup.yaml", "stack: runs\nnamespaces: [shop]\n");
    service.hold(&format!("operation: endpoint-create, after: {ANSWERED}"));
    let call: Vec<&str> = ["apply", ".", "--yes", "--concurrency", "2"].into_iter().chain(flags.split(' ')).collect();
    let (mut apply, mut stderr) = begun(stage.command(&call), ANSWERED);
    let interrupt = || {
        let kill = Command::new("sh").args(["-c", &format!("kill -INT {}", apply.id())]).status().expect("a shell");
        assert!(kill.success());
    };
    interrupt();
    assert!(stderr.any(|line| line.contains("those in flight finish")));
    interrupt();
    let ended =
        stderr.find(|line| line.contains("ended at once; resume with `trueup apply --resume ")).expect("a line");
    assert_eq!(apply.wait().expect("it ends").code(), Some(130));

    service.release();
    let resume = ended.split('`').nth(1).and_then(|command| command.strip_prefix("trueup ")).expect("a command");
    assert!(resume.contains(flags), "{resume}");
    let resumed = stage.run(&format!("{resume} --yes"));
    resumed.code(0).stdout_contains("Verified").stderr_contains(": 5 of 7 done, 2 left, of these 1 write in doubt\n");
}

#[test]
fn what_history_proposes_names_the_service_that_nothing_else_names() {
    let service = Service::start();
    let flag = format!("--base-url {}", service.url());
    for (named, proposed) in [("--sandbox", " --sandbox"), (flag.as_str(), &*format!(" {flag}"))] {
        let stage = Stage::new()
            .env("TRUEUP_TOKEN", TOKEN)
            .file("trueup.yaml", "stack: runs\nnamespaces: [shop]\n")
            .file("a.yaml", &definition("shop/cart", 80));
        stage.run(&format!("apply . --yes --quiet {named}")).code(0);
        let history = stage.run("history");
        let undo = history.code(0).text().lines().find_map(|line| line.strip_prefix("undo it:   trueup "));
        let undo = undo.expect("a proposal").to_owned();
        assert!(undo.ends_with(proposed), "{undo}");
        stage.run(&format!("{undo} -o back.json --allow empty-namespace")).code(0);
    }
}

#[test]
fn what_is_proposed_about_a_run_or_a_plan_names_its_environment_and_its_directory() {
    let service = Service::start();
    let stage = Stage::new()
        .at(&service)
        .file("s/trueup.yaml", "stack: dev\nnamespaces: [shop]\nenvironments: {prod: {stack: prod}}\n")
        .file("s/a.yaml", &definition("shop/a", 80))
        .file("s/b.yaml", &definition("shop/b", 80))
        .committed();
    // Without the environment it is another stack, so a command that works names it.
    let proposed = |words: &str, label: &str| -> String {
        let ran = stage.run(words);
        let line = ran.code(0).text().lines().find_map(|line| Some(line.split_once(label)?.1.to_owned()));
        line.unwrap_or_else(|| panic!("no `{label}` in {}", ran.text())).trim_start().to_owned()
    };
    stage.run("plan s --env prod -o plan.json").code(0);
    stage.run(&proposed("show plan.json", "Apply exactly this:  trueup")).code(0).stderr_ignored();
    cut_newest(&stage, 2, "");
    // It may be in progress as well.
    for words in ["history", "show last"] {
        proposed(words, "if it is no longer running, resume with:  trueup");
    }
    stage.run(&format!("{} --yes", proposed("history", "resume with:  trueup"))).code(0).stderr_ignored();
    let undone = ["history", "show last"].map(|words| {
        let label = if words == "history" { "undo it:   trueup" } else { "undo with:  trueup" };
        let undo = proposed(words, label);
        stage.run(&format!("{undo} -o back.json --allow empty-namespace")).code(0);
        undo
    });
    assert_eq!(undone[0], undone[1]);
    // A rollback has no directory of its own.
    stage.run(&format!("{} --yes --allow empty-namespace", undone[0])).code(0).stderr_ignored();
    stage.run(&format!("{} --yes", proposed("history", "undo it:   trueup"))).code(0).stderr_ignored();
    stage.run(&format!("{} -o back.json", proposed("history", "undo it:   trueup"))).code(0);
    // The call's own environment is not doubled.
    assert_eq!(proposed("history --env prod", "undo it:   trueup").matches("--env prod").count(), 1);
}

#[test]
fn history_proposes_to_resume_each_run_that_is_open() {
    let service = Service::start();
    let stage = Stage::new().at(&service);
    let open = ["one", "two"].map(|name| {
        stage.write(&format!("{name}/trueup.yaml"), &format!("stack: {name}\nnamespaces: [{name}]\n"));
        stage.write(&format!("{name}/a.yaml"), &definition(&format!("{name}/a"), 80));
        stage.run(&format!("apply {name} --yes --quiet")).code(0);
        cut_newest(&stage, 2, "");
        let history = stage.run("history");
        let resume = history.code(0).text().lines().find_map(|line| line.split_once("resume with:  trueup "));
        resume.expect("a proposal").1.to_owned()
    });
    stage.run("history").code(0).stdout_contains(&open[0]).stdout_contains(&open[1]);
    stage.run(&format!("{} --yes", open[1])).code(0).stderr_ignored();
    stage.run("history").code(0).stdout_contains(&open[0]).does_not_say(&open[1]);
}

#[test]
fn what_is_proposed_about_a_run_or_a_plan_names_a_stack_that_no_configuration_names_any_more() {
    let service = Service::start();
    let set_up = |name: &str| {
        let stage = Stage::new()
            .at(&service)
            .file("s/trueup.yaml", &format!("stack: {name}\nnamespaces: [{name}]\n"))
            .file("s/a.yaml", &definition(&format!("{name}/a"), 80))
            .committed();
        stage.run("plan s -o plan.json").code(0);
        stage.run("apply s --yes --quiet").code(0);
        stage
    };
    let removed = set_up("removed");
    std::fs::remove_dir_all(removed.path("s")).expect("removed");
    let renamed = set_up("renamed");
    renamed.edit("s/trueup.yaml", "stack: renamed", "stack: other");
    for (stage, name) in [(&removed, "removed"), (&renamed, "renamed")] {
        let proposed = |words: &str, label: &str| -> String {
            let ran = stage.run(words);
            let line = ran.code(0).text().lines().find_map(|line| Some(line.split_once(label)?.1.to_owned()));
            line.unwrap_or_else(|| panic!("no `{label}` in {}", ran.text())).trim_start().to_owned()
        };
        for (words, label) in [("history", "undo it:   trueup"), ("show last", "undo with:  trueup")] {
            let undo = proposed(words, label);
            assert!(undo.ends_with(&format!(" --stack {name}")), "{undo}");
            stage.run(&format!("{undo} -o back.json --allow empty-namespace")).code(0);
        }
        let apply = proposed("show plan.json", "Apply exactly this:  trueup");
        stage.run(&apply).code(0).stdout_contains("already as wanted").stderr_ignored();
        // Its own directory has no configuration, or that of another stack.
        let run = stage.run("history --format json").json()["runs"][0]["run"].clone();
        let refused = stage.run(&format!("rollback {}", run.as_str().expect("a run")));
        refused.code(6).stderr_contains(&format!("or its stack with --stack {name}\n"));
    }
    // A directory with another name is found.
    let moved = set_up("moved");
    std::fs::rename(moved.path("s"), moved.path("t")).expect("renamed");
    let run = moved.run("history --format json").json()["runs"][0]["run"].clone();
    let refused = moved.run(&format!("rollback {}", run.as_str().expect("a run")));
    refused.code(6).stderr_contains("to use its configuration: --config t/trueup.yaml\n");
}

#[test]
fn a_run_of_which_a_later_one_leaves_nothing_is_superseded_and_no_longer_open() {
    let service = Service::start();
    let stage = stage(&service);
    // Of no change it is known that it was made.
    change_newest(&stage, |text| text.lines().take(1).map(|header| format!("{header}\n")).collect());
    let open = || stage.run("history --format json").json()["runs"].clone();
    let killed = open()[0]["run"].as_str().expect("a run").to_owned();
    // One endpoint alone leaves the rest of it open.
    stage.edit("cart.yaml", "port: 81", "port: 82");
    let one = stage.run("apply . --only shop/cart --yes");
    one.code(0).stderr_contains("has not finished").stdout_contains("Verified: live matches the plan.");
    assert_eq!(open()[1]["superseded_by"], json!(null));
    stage.edit("cart.yaml", "port: 82", "port: 83");
    // One that failed leaves it open, too.
    service.misbehave("rules: [{operation: endpoint-replace, status: {code: 403}}]");
    stage.run("apply . --yes --quiet").code(1).stderr_ignored();
    assert_eq!(open()[2]["superseded_by"], json!(null));
    service.misbehave("rules: []");
    // One that leaves a change of it out does, too.
    let other = Stage::stack(&service, "other").file("cart.yaml", &definition("shop/cart", 80));
    other.run("apply . --yes --quiet --allow foreign-stack=shop/cart").code(0).stderr_ignored();
    stage.write("more.yaml", &definition("shop/more", 80));
    stage.run("apply . --yes --quiet").code(7).stderr_ignored();
    assert_eq!(open()[3]["superseded_by"], json!(null));
    // What else is blocked does not.
    other.file("theirs.yaml", &definition("shop/theirs", 80)).run("apply . --yes --quiet").code(0).stderr_ignored();
    stage.write("theirs.yaml", &definition("shop/theirs", 81));
    stage.run("apply . --yes --quiet --allow foreign-stack=shop/cart").code(7).stderr_ignored();
    let runs = open();
    assert_eq!((&runs[4]["run"], &runs[4]["superseded_by"]), (&json!(killed), &runs[0]["run"]));
    let list = stage.run("history");
    list.code(0).stdout_contains("unfinished, superseded by ").does_not_say("--resume");
    stage.run(&format!("apply --resume {killed} --yes")).code(6).stderr_contains("is superseded by run `");
    // Text and JSON have one order.
    let names: Vec<&str> = runs.as_array().expect("runs").iter().filter_map(|run| run["run"].as_str()).collect();
    let places: Vec<Option<usize>> = names.iter().map(|name| list.text().find(name)).collect();
    assert!(places.is_sorted() && places.iter().all(Option::is_some), "{places:?}");
}

#[cfg(unix)]
#[test]
fn a_state_directory_that_cannot_be_made_is_named_as_such() {
    let service = Service::start();
    let stage = Stage::new().at(&service).file("a.yaml", &definition("shop/cart", 80));
    std::os::unix::fs::symlink("nowhere/state", stage.path("../link")).expect("a link");
    stage
        .run("apply . --yes --quiet --state ../link")
        .code(6)
        .stderr_contains("cannot create `../link")
        .stderr_contains("to keep them in another directory, --state or TRUEUP_STATE")
        .stderr_contains("nothing was sent");
    assert_eq!(service.requests("POST"), 0);
}
