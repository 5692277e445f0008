//! The document of a run in a file: what it says, that it is sealed, and its metrics, however the run ended.

use data_encoding::HEXLOWER;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use crate::support::{Service, Stage, applied, definition, git};

fn evidence(stage: &Stage, path: &str) -> Value {
    serde_json::from_str(&stage.read(path)).expect("JSON")
}

#[test]
fn a_document_names_the_commit_only_where_it_has_what_was_applied() {
    let service = Service::start();
    let stage = applied(&service).committed();
    let head = git(&stage, "rev-parse HEAD");
    let commit = |what: &str| {
        stage.run(&format!("apply . {what} --yes --write json=out.json --quiet")).code(0);
        evidence(&stage, "out.json")["run"]["commit"].clone()
    };
    stage.edit("cart.yaml", "port: 80", "port: 81");
    assert_eq!(commit(""), Value::Null, "it is not committed");
    stage.remove("search.yaml");
    assert_eq!(commit("--allow mass-change"), Value::Null, "nor is a removal");
    git(&stage, "checkout -q .");
    assert_eq!(commit("--only shop/cart"), head);
    stage.run("plan . -o plan.json --quiet").code(0);
    let saved: Value = serde_json::from_str(&stage.read("plan.json")).expect("JSON");
    assert_eq!(saved["plan"]["source"]["commit"], head);
}

#[test]
fn a_plan_that_is_shown_names_the_commit_that_has_its_definitions() {
    let service = Service::start();
    let stage = applied(&service).committed();
    let head = git(&stage, "rev-parse --short=7 HEAD");
    stage.remove("search.yaml");
    for format in ["text", "markdown", "html", "json", "github"] {
        stage.run(&format!("plan . --format {format}")).code(0).stdout_contains("search").does_not_say(&head);
    }
    git(&stage, "commit -qam removal");
    let head = git(&stage, "rev-parse --short=7 HEAD");
    for format in ["text", "markdown", "html", "json"] {
        stage.run(&format!("plan . --format {format}")).code(0).stdout_contains(&head);
    }
}

#[test]
fn the_document_of_a_run_says_what_was_planned_approved_and_done_and_proves_itself() {
    let service = Service::start();
    let stage = applied(&service)
        .env("CI", "true")
        .env("TRUEUP_TOKEN_URL", &service.url())
        .env("GITHUB_ACTOR", "ada")
        .env("GITHUB_SHA", "3f2c9ab4")
        .file("../policy.yaml", "guards: {percent: 60}\n");
    stage.edit("cart.yaml", "port: 80", "port: 81");
    stage.remove("search.yaml");
    stage.run("plan . -o plan.json --quiet --policy ../policy.yaml").code(0);
    let digest = serde_json::from_str::<Value>(&stage.read("plan.json")).expect("JSON")["digest"].clone();
    let apply = format!(
        "apply plan.json --digest {} --approved-by grace --write json=out.json --quiet --policy ../policy.yaml",
        digest.as_str().expect("a digest")
    );
    stage.run(&apply).code(0);
    let document = evidence(&stage, "out.json");
    let (run, in_force) = (&document["run"], &document["in_force"]);
    assert_eq!((&run["status"], &run["stack"]), (&json!("finished"), &json!("shop")));
    assert_eq!(document["plan"]["source"]["planned_by"], "ada");
    assert_eq!(run["trigger"]["approval"], "digest");
    assert_eq!((&run["trigger"]["approved_by"], &run["trigger"]["actor"]), (&json!("grace"), &json!("ada")));
    // What the pipeline checked out need not have what was applied.
    assert_eq!((&run["commit"], &run["trigger"]["commit"]), (&json!(null), &json!("3f2c9ab4")));
    assert_eq!(in_force["settings"]["guards"]["percent"], 30);
    let policy = HEXLOWER.encode(&Sha256::digest(b"guards: {percent: 60}\n"));
    assert_eq!(in_force["policy"]["sha256"], policy);
    assert!(document["verification"]["verified"].is_object(), "{document:#}");
    let changes = document["steps"].as_array().expect("steps");
    assert_eq!(changes.len(), 2);
    let ids: Vec<Option<String>> = service.log().into_iter().map(|entry| entry.request_id).collect();
    for change in changes {
        assert!(change["result"]["done"].is_object() && change["started"].is_string() && change["ended"].is_string());
        let id = change["requests"][0].as_str().expect("a request").to_owned();
        assert!(ids.contains(&Some(id)), "{change}");
    }
    // The digest is that of the canonical JSON of the rest, which every tool can compute.
    let mut rest = document.clone();
    let says = rest.as_object_mut().expect("an object").remove("digest").expect("a digest");
    assert_eq!(says, HEXLOWER.encode(&Sha256::digest(rest.to_string())));
    stage
        .run("show out.json")
        .code(0)
        .stdout_contains("planned by ada, approved by grace, approved with --digest")
        .stdout_contains(&format!("  plan {}, policy ", &digest.as_str().expect("a digest")[..32]))
        .stdout_contains("  ~ replace shop/cart ")
        .stdout_contains("2 of 2 done, finished.\nVerified")
        .stderr_contains(&format!("digest {}, as the file says", says.as_str().expect("a digest")));
    // The journal gives the same document later.
    for line in ["show out.json --format json --quiet", "show last --format json"] {
        let shown = stage.run(line).code(0).json();
        assert_eq!((&shown["digest"], &shown["steps"]), (&document["digest"], &document["steps"]));
    }
    stage.run("show out.json --format html").code(0).stderr_ignored().stdout_contains("<!doctype html>");
    let altered = stage.read("out.json").replace("\"grace\"", "\"mallory\"");
    stage.write("altered.json", &altered);
    stage.run("show altered.json").code(1).stderr_contains("it was altered after it was written");
}

#[test]
fn an_apply_that_a_flag_approves_names_the_place_of_each_change() {
    let service = Service::start();
    let stage = applied(&service);
    stage.edit("cart.yaml", "port: 80", "port: 81");
    let digest = stage.run("plan . --format json").json()["digest"].as_str().expect("a digest").to_owned();
    for approval in ["--yes".to_owned(), format!("--digest {digest}")] {
        stage.run(&format!("apply . {approval} --write json=out.json")).code(0).stderr_ignored();
        let change = evidence(&stage, "out.json")["plan"]["changes"][0].clone();
        let places = (&change["place"]["file"], &change["action"]["replace"]["fields"][0]["place"]["line"]);
        assert_eq!(places, (&json!("cart.yaml"), &json!(6)), "{change:#}");
        stage.run("rollback last --yes --quiet").code(0);
    }
}

#[cfg(unix)]
#[test]
fn the_document_of_a_run_is_private() {
    use std::os::unix::fs::PermissionsExt as _;

    let service = Service::start();
    let stage = applied(&service);
    stage.edit("cart.yaml", "port: 80", "port: 81");
    stage.run("apply . --yes --write json=out.json --quiet").code(0);
    let mode = std::fs::metadata(stage.path("out.json")).expect("the file").permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
}

#[test]
fn a_run_that_fails_is_resumed_or_rolled_back_has_a_document_too() {
    let service = Service::start();
    let stage = applied(&service);
    stage.edit("cart.yaml", "port: 80", "port: 81");
    service.misbehave("rules: [{operation: endpoint-replace, status: {code: 403}}]");
    stage.run("apply . --yes --write json=failed.json").code(1).stderr_ignored();
    let failed = evidence(&stage, "failed.json");
    assert_eq!((&failed["run"]["done"], &failed["verification"]), (&json!(0), &json!("not_needed")));
    assert!(failed["steps"][0]["result"]["failed"]["reason"].is_string(), "{failed:#}");
    service.misbehave("rules: []");
    stage.run("apply --resume last --yes --write json=resumed.json --quiet").code(0);
    assert_eq!(evidence(&stage, "resumed.json")["run"]["resumes"], failed["run"]["run"]);
    stage.run("rollback last --yes --write json=back.json --quiet").code(0);
    assert!(evidence(&stage, "back.json")["run"]["rolls_back"].is_string());
    // Without a change there is nothing to record: the document of an earlier run must not pass for one of this.
    stage.edit("cart.yaml", "port: 81", "port: 80");
    stage.run("apply . --yes --write json=back.json --write prometheus=none.prom").code(0).stderr_ignored();
    let nothing: Value = serde_json::from_str(&stage.read("back.json")).expect("JSON");
    assert_eq!((&nothing["kind"], &nothing["headline"]), (&json!("plan_report"), &json!("in sync")));
    assert!(!stage.path("none.prom").exists());
}

#[test]
fn the_document_of_a_resume_says_what_the_run_before_it_made() {
    let service = Service::start();
    let stage = applied(&service);
    ["cart.yaml", "search.yaml"].into_iter().for_each(|file| stage.edit(file, "port: 80", "port: 81"));
    service.misbehave("rules: [{operation: endpoint-replace, name: search, status: {code: 403}}]");
    stage.run("apply . --yes --write json=first.json").code(7).stderr_ignored();
    service.misbehave("rules: []");
    stage.run("apply --resume last --yes --quiet --write json=second.json --write prometheus=second.prom").code(0);
    let made_before = |name: &str| {
        let document = evidence(&stage, name);
        let steps = document["steps"].as_array().expect("steps").iter();
        steps.map(|step| step.get("made_before").cloned().unwrap_or_default()).collect::<Vec<_>>()
    };
    assert_eq!(
        (made_before("first.json"), made_before("second.json")),
        (vec![json!(null); 2], vec![json!(true), json!(null)])
    );
    stage.run("show second.json").code(0).stderr_ignored().stdout_contains("), made before the resume\n");
    let gauges = stage.read("second.prom");
    let done = gauges.lines().find(|line| line.contains("action=\"replace\",result=\"done\"")).expect("a gauge");
    assert!(done.ends_with(" 1"), "{done}");
}

#[test]
fn two_documents_of_a_run_in_one_file_are_refused_before_anything_is_sent() {
    let service = Service::start();
    let stage = applied(&service);
    stage.edit("cart.yaml", "port: 80", "port: 81");
    let written = "--write json=out --write prometheus=./out";
    for command in ["apply .", "rollback last"] {
        stage.run(&format!("{command} --yes {written}")).code(64).stderr_contains("two reports are to be written to");
    }
    service.misbehave("rules: [{operation: endpoint-replace, status: {code: 403}}]");
    stage.run("apply . --yes").code(1).stderr_ignored();
    service.misbehave("rules: []");
    stage.run(&format!("apply --resume last --yes {written}")).code(64).stderr_contains("two reports");
    assert_eq!(service.get("shop/cart")["spec"]["port"], 80);
    assert!(!stage.path("out").exists());
}

#[test]
fn a_document_that_cannot_be_written_makes_an_apply_fail_visibly_and_several_stacks_share_a_directory() {
    let service = Service::start();
    let stage = applied(&service);
    stage.edit("cart.yaml", "port: 80", "port: 81");
    stage.write("blocking", "a file");
    stage
        .run("apply . --yes --write prometheus=blocking/out.prom --write json=out.json --quiet")
        .code(7)
        .stderr_contains("cannot write the document of the run");
    assert_eq!(service.get("shop/cart")["spec"]["port"], 81);
    assert_eq!(evidence(&stage, "out.json")["plan"]["stack"], "shop", "one that cannot be written costs no other");
    let many = Stage::new()
        .at(&service)
        .file("one/trueup.yaml", "stack: one\nnamespaces: [one]\n")
        .file("one/a.yaml", &definition("one/a", 80))
        .file("two/trueup.yaml", "stack: two\nnamespaces: [two]\n")
        .file("two/a.yaml", &definition("two/a", 80));
    many.write("out.json", "the document of one stack");
    many.run("apply one two --yes --write json=out.json --quiet").code(64).stderr_contains("`out.json` is a file");
    assert_eq!(service.requests("POST"), 2, "those of the stage alone");
    std::fs::create_dir(many.path("evidence")).expect("a directory");
    many.run("apply one two --yes --write json=evidence --quiet").code(0);
    let mut stacks: Vec<String> = std::fs::read_dir(many.path("evidence"))
        .expect("the directory")
        .map(|entry| {
            let name = entry.expect("a file").file_name();
            let document = evidence(&many, &format!("evidence/{}", name.to_str().expect("a name")));
            assert_eq!(name.to_str(), document["run"]["run"].as_str().map(|run| format!("{run}.json")).as_deref());
            document["run"]["stack"].as_str().expect("a stack").to_owned()
        })
        .collect();
    stacks.sort();
    assert_eq!(stacks, ["one", "two"]);
    // Metrics are of the last run of each stack.
    std::fs::create_dir(many.path("metrics")).expect("a directory");
    for port in [81, 82] {
        for stack in ["one", "two"] {
            many.write(&format!("{stack}/a.yaml"), &definition(&format!("{stack}/a"), port));
        }
        many.run("apply one two --yes --write prometheus=metrics --quiet").code(0);
    }
    let files = std::fs::read_dir(many.path("metrics")).expect("the directory");
    let names: Vec<String> =
        files.map(|file| file.expect("a file").file_name().to_string_lossy().into_owned()).collect();
    assert_eq!(names.len(), 2, "{names:?}");
    assert!(names.iter().any(|name| name.ends_with("_one.prom")), "{names:?}");
}

#[test]
fn the_metrics_of_each_directory_of_a_stack_are_in_a_file_with_labels_of_its_own() {
    let service = Service::start();
    let stage = Stage::new().at(&service).file("metrics/.keep", "");
    for directory in ["one", "two"] {
        stage.write(&format!("{directory}/trueup.yaml"), &format!("stack: both\nnamespaces: [{directory}]\n"));
        stage.write(&format!("{directory}/a.yaml"), &definition(&format!("{directory}/a"), 80));
    }
    stage.run("apply one two --yes --write prometheus=metrics --quiet").code(0);
    for directory in ["one", "two"] {
        let text = stage
            .read(&format!("metrics/{}_both_{directory}.prom", service.url().replace("http://", "").replace(':', "_")));
        let label = format!("directory=\"{directory}\"");
        assert!(value(&text, "trueup_run_duration_seconds", &["stack=\"both\"", &label]) > 0.0);
    }
}

/// The value of a series whose labels contain these texts.
fn value(text: &str, name: &str, labels: &[&str]) -> f64 {
    let fits = |line: &&str| line.starts_with(&format!("{name}{{")) && labels.iter().all(|label| line.contains(label));
    let line = text.lines().find(fits).unwrap_or_else(|| panic!("{name} {labels:?} is not in\n{text}"));
    line.rsplit(' ').next().and_then(|number| number.parse().ok()).expect("a number")
}

#[test]
fn a_run_is_written_as_metrics_too_however_it_ends_and_shown_as_such_later() {
    let service = Service::start();
    let stage = applied(&service);
    stage.edit("cart.yaml", "port: 80", "port: 81");
    stage.run("apply . --yes --quiet --write json=run.json --write prometheus=run.prom").code(0);
    let text = stage.read("run.prom");
    assert!(value(&text, "trueup_run_duration_seconds", &["stack=\"shop\"", "environment=\"\""]) > 0.0);
    let count = |text: &str, labels: &[&str]| value(text, "trueup_run_changes", labels).to_string();
    assert_eq!(count(&text, &["action=\"replace\"", "result=\"done\""]), "1");
    assert_eq!(value(&text, "trueup_run_status", &["status=\"finished\""]).to_string(), "1");
    assert!(!text.contains("shop/cart") && !text.contains("namespace="), "{text}");
    assert_eq!(stage.run("show last --format prometheus").code(0).text(), text);
    assert_eq!(stage.run("show run.json --format prometheus").code(0).stderr_ignored().text(), text);
    service.misbehave("rules: [{operation: endpoint-replace, status: {code: 403}}]");
    stage.edit("cart.yaml", "port: 81", "port: 82");
    stage.run("apply . --yes --write prometheus=run.prom").code(1).stderr_ignored();
    assert_eq!(count(&stage.read("run.prom"), &["action=\"replace\"", "result=\"failed\""]), "1");
    stage.run("plan . --write prometheus=x").code(64).stderr_ignored();
    let formats = "write it as FORMAT=FILE; the formats are: json, prometheus";
    stage.run("apply . --yes --write html=x").code(64).stderr_contains(formats);
}

/// The id of a run goes into paths and is shown as it is: one that somebody forged is not read at all.
#[test]
fn a_forged_run_id_in_a_file_is_refused_and_not_shown() {
    let service = Service::start();
    let stage = applied(&service);
    stage.edit("cart.yaml", "port: 80", "port: 81");
    stage.run("apply . --yes --write json=forged.json --quiet").code(0);
    let run = evidence(&stage, "forged.json")["run"]["run"].as_str().expect("a run").to_owned();
    let runs = stage.path("../state/trueup/runs");
    let journal = std::fs::read_dir(&runs).expect("the journal").map(|entry| entry.expect("a file").path());
    let journal = journal.filter(|path| path.to_string_lossy().contains(&run)).last().expect("the run");
    for forged in ["../../../x", "a\\n::error::forged", "a\\u001b[2Jforged", "##[error]forged"] {
        for path in [stage.path("forged.json"), journal.clone()] {
            let text = std::fs::read_to_string(&path).expect("a text");
            std::fs::write(&path, text.replace(&format!("\"{run}\""), &format!("\"{forged}\""))).expect("the file");
        }
        for line in ["show forged.json", "history"] {
            let words: Vec<&str> = line.split(' ').collect();
            let ran = stage.command(&words).output().expect("the program starts");
            let text = [ran.stdout, ran.stderr].map(|text| String::from_utf8(text).expect("UTF-8")).concat();
            let acts = ["##[", "\u{1b}", "\n::error"];
            assert!(!acts.iter().any(|act| text.contains(act)), "{line}: {text}");
            assert!(line == "history" || !ran.status.success(), "{line}: {text}");
        }
        for path in [stage.path("forged.json"), journal.clone()] {
            let text = std::fs::read_to_string(&path).expect("a text");
            std::fs::write(&path, text.replace(&format!("\"{forged}\""), &format!("\"{run}\""))).expect("the file");
        }
    }
}
