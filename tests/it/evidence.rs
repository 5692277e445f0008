//! The evidence file of a run, and the metrics of a command: what they say, however the run ended.

use data_encoding::HEXLOWER;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use crate::support::{Service, Stage, applied, definition};

fn evidence(stage: &Stage, path: &str) -> Value {
    serde_json::from_str(&stage.read(path)).expect("JSON")
}

#[test]
fn evidence_says_what_was_planned_approved_and_done_and_proves_itself() {
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
        "apply plan.json --digest {} --approved-by grace --evidence out.json --quiet --policy ../policy.yaml",
        digest.as_str().expect("a digest")
    );
    stage.run(&apply).code(0);
    let document = evidence(&stage, "out.json");
    assert_eq!((&document["exit_code"], &document["stack"]), (&json!(0), &json!("shop")));
    assert_eq!((&document["plan"]["digest"], &document["plan"]["planned_by"]), (&digest, &json!("ada")));
    assert_eq!(document["trigger"]["approval"], "digest");
    assert_eq!((&document["trigger"]["approved_by"], &document["trigger"]["actor"]), (&json!("grace"), &json!("ada")));
    assert_eq!((&document["commit"], &document["settings"]["guards"]["percent"]), (&json!("3f2c9ab4"), &json!(30)));
    let policy = HEXLOWER.encode(&Sha256::digest(b"guards: {percent: 60}\n"));
    assert_eq!(document["policy"]["sha256"], policy);
    assert!(document["verification"]["verified"].is_object(), "{document:#}");
    let changes = document["changes"].as_array().expect("changes");
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
        .stdout_contains("planned by ada, run by ada, approved by grace, approved with --digest")
        .stdout_contains("  ~ replace shop/cart ")
        .stdout_contains("2 of 2 done.\nVerified")
        .stdout_contains(&format!("digest {}, as the file says", says.as_str().expect("a digest")));
    let shown = stage.run("show out.json --format json").code(0).json();
    assert_eq!((&shown["digest"], &shown["changes"]), (&document["digest"], &document["changes"]));
    stage.run("show out.json --format html").code(64).stderr_contains("its formats are: text, json");
    let altered = stage.read("out.json").replace("\"grace\"", "\"mallory\"");
    stage.write("altered.json", &altered);
    stage.run("show altered.json").code(1).stderr_contains("the evidence was altered after it was written");
}

#[cfg(unix)]
#[test]
fn evidence_is_private() {
    use std::os::unix::fs::PermissionsExt as _;

    let service = Service::start();
    let stage = applied(&service);
    stage.edit("cart.yaml", "port: 80", "port: 81");
    stage.run("apply . --yes --evidence out.json --quiet").code(0);
    let mode = std::fs::metadata(stage.path("out.json")).expect("the file").permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
}

#[test]
fn a_run_that_fails_is_resumed_or_rolled_back_has_evidence_too_and_none_is_overwritten() {
    let service = Service::start();
    let stage = applied(&service);
    stage.edit("cart.yaml", "port: 80", "port: 81");
    service.misbehave("rules: [{operation: endpoint-replace, status: {code: 403}}]");
    stage.run("apply . --yes --evidence failed.json").code(1).stderr_ignored();
    let failed = evidence(&stage, "failed.json");
    assert_eq!((&failed["exit_code"], &failed["verification"]), (&json!(1), &json!("not_needed")));
    assert!(failed["changes"][0]["result"]["failed"]["reason"].is_string(), "{failed:#}");
    service.misbehave("rules: []");
    let sent = service.requests("PUT");
    stage
        .run("apply . --yes --evidence failed.json")
        .code(6)
        .stderr_contains("`failed.json` exists already and is not overwritten")
        .stderr_contains("nothing was sent");
    assert_eq!(service.requests("PUT"), sent);
    assert_eq!(evidence(&stage, "failed.json"), failed);
    stage.run("apply --resume last --yes --evidence resumed.json --quiet").code(0);
    assert_eq!(evidence(&stage, "resumed.json")["resumes"], failed["run"]);
    stage.run("rollback last --yes --evidence back.json --quiet").code(0);
    assert!(evidence(&stage, "back.json")["rolls_back"].is_string());
    // Nothing to do is no run.
    stage.edit("cart.yaml", "port: 81", "port: 80");
    stage.run("apply . --yes --evidence none.json").code(0).stderr_ignored();
    assert!(!stage.path("none.json").exists());
}

#[test]
fn evidence_that_cannot_be_written_makes_an_apply_fail_visibly_and_several_stacks_share_a_directory() {
    let service = Service::start();
    let stage = applied(&service);
    stage.edit("cart.yaml", "port: 80", "port: 81");
    stage.write("blocking", "a file");
    stage
        .run("apply . --yes --evidence blocking/out.json --quiet")
        .code(7)
        .stderr_contains("cannot write the evidence");
    assert_eq!(service.get("shop/cart")["spec"]["port"], 81);
    let many = Stage::new()
        .at(&service)
        .file("one/trueup.yaml", "stack: one\nnamespaces: [one]\n")
        .file("one/a.yaml", &definition("one/a", 80))
        .file("two/trueup.yaml", "stack: two\nnamespaces: [two]\n")
        .file("two/a.yaml", &definition("two/a", 80));
    std::fs::create_dir(many.path("evidence")).expect("a directory");
    many.run("apply one two --yes --evidence evidence --quiet").code(0);
    let mut stacks: Vec<String> = std::fs::read_dir(many.path("evidence"))
        .expect("the directory")
        .map(|entry| {
            let name = entry.expect("a file").file_name();
            let document = evidence(&many, &format!("evidence/{}", name.to_str().expect("a name")));
            assert_eq!(name.to_str(), document["run"].as_str().map(|run| format!("{run}.json")).as_deref());
            document["stack"].as_str().expect("a stack").to_owned()
        })
        .collect();
    stacks.sort();
    assert_eq!(stacks, ["one", "two"]);
}

/// The value of a series whose labels contain these texts.
fn value(text: &str, name: &str, labels: &[&str]) -> f64 {
    let fits = |line: &&str| line.starts_with(&format!("{name}{{")) && labels.iter().all(|label| line.contains(label));
    let line = text.lines().find(fits).unwrap_or_else(|| panic!("{name} {labels:?} is not in\n{text}"));
    line.rsplit(' ').next().and_then(|number| number.parse().ok()).expect("a number")
}

/// The same of a series that counts.
fn count(text: &str, name: &str, labels: &[&str]) -> String {
    value(text, name, labels).to_string()
}

#[test]
fn the_metrics_of_a_command_count_its_requests_waits_repeats_and_changes() {
    let service = Service::start();
    let stage = applied(&service);
    stage.edit("cart.yaml", "port: 80", "port: 81");
    service.misbehave("rules: [{operation: endpoint-replace, for: 1, status: {code: 429, retry_after: 1}}]");
    stage.run("plan . --metrics plan.prom --quiet").code(0);
    let plan = stage.read("plan.prom");
    let of_stack = ["command=\"plan\"", "stack=\"shop\"", "environment=\"\"", "shard=\"\""];
    assert!(value(&plan, "trueup_run_duration_seconds", &of_stack) > 0.0);
    assert_eq!(count(&plan, "trueup_run_changes", &["action=\"replace\"", "result=\"planned\""]), "1");
    assert_eq!(count(&plan, "trueup_run_requests", &["class=\"2xx\"", "stack=\"shop\""]), "1");
    stage.run("apply . --yes --metrics apply.prom").code(0).stderr_ignored();
    let apply = stage.read("apply.prom");
    assert_eq!(count(&apply, "trueup_run_requests", &["class=\"429\""]), "1");
    assert_eq!(count(&apply, "trueup_run_request_retries", &[]), "1");
    assert!(value(&apply, "trueup_run_request_wait_seconds", &[]) >= 0.5);
    assert_eq!(count(&apply, "trueup_run_changes", &["action=\"replace\"", "result=\"done\""]), "1");
    stage.edit("cart.yaml", "port: 81", "port: 82");
    stage.run("drift . --shard 1/1 --metrics drift.prom").code(2);
    let drift = stage.read("drift.prom");
    assert_eq!(count(&drift, "trueup_run_exit_code", &["command=\"drift\"", "shard=\"1/1\""]), "2");
    // A command that fails has metrics, too; a file that cannot be written changes no verdict.
    stage.write("wrong.yaml", "nothing");
    stage.run("plan . --metrics failed.prom").code(1).stderr_ignored();
    assert_eq!(count(&stage.read("failed.prom"), "trueup_run_exit_code", &[]), "1");
    stage.remove("wrong.yaml");
    stage.run("drift . --metrics cart.yaml/x.prom").code(2).stderr_contains("the metrics are not written");
    stage.run("move --from shop --to other shop/cart --yes --quiet --metrics move.prom").code(0);
    let moved = stage.read("move.prom");
    assert_eq!(
        count(&moved, "trueup_run_changes", &["command=\"move\"", "action=\"annotate\"", "result=\"done\""]),
        "1"
    );
}

#[test]
fn the_metrics_of_several_stacks_have_a_series_for_each_and_none_for_endpoints() {
    let service = Service::start();
    let stage = Stage::new().at(&service);
    for name in ["both", "other"] {
        stage.write(&format!("{name}/trueup.yaml"), &format!("stack: {name}\nnamespaces: [{name}]\n"));
        stage.write(&format!("{name}/a.yaml"), &definition(&format!("{name}/cart"), 80));
    }
    stage.run("plan both --metrics one.prom --quiet").code(0);
    let one = stage.read("one.prom");
    assert!(!one.contains("both/cart") && !one.contains("namespace="), "{one}");
    stage.run("drift both other --metrics two.prom").code(2);
    let two = stage.read("two.prom");
    for name in ["both", "other"] {
        assert!(value(&two, "trueup_run_requests", &["class=\"2xx\"", &format!("stack=\"{name}\"")]) >= 1.0);
    }
}

/// The id of a run goes into paths and is shown as it is: one that somebody forged is not read at all.
#[test]
fn a_forged_run_id_in_a_file_is_refused_and_not_shown() {
    let service = Service::start();
    let stage = applied(&service);
    stage.edit("cart.yaml", "port: 80", "port: 81");
    stage.run("apply . --yes --evidence forged.json --quiet").code(0);
    let run = evidence(&stage, "forged.json")["run"].as_str().expect("a run").to_owned();
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
