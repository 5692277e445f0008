//! Objects with secrets: the sealed form reaches the service and nothing else, and no write goes without it.

use serde_json::Value;

use crate::support::{Service, Stage, commit, git};

/// The sealed keys; nothing but a request may contain one.
const FIRST: &str = "string:///Zmlyc3Q=";
const SECOND: &str = "string:///c2Vjb25k";

fn certificate(key: &str) -> String {
    format!(
        "kind: certificate
metadata: {{name: web, namespace: shop}}
spec:
  certificate_url: string:///Y2VydA==
  private_key:
    blindfold_secret_info: {{location: '{key}'}}
"
    )
}

fn stack(service: &Service) -> Stage {
    let settings = "stack: certificates\nnamespaces: [shop]\nkinds: [certificate]\n";
    Stage::new().at(service).file("trueup.yaml", settings).file("d/web.yaml", &certificate(FIRST))
}

/// How many creates and replaces there were.
fn writes(service: &Service) -> usize {
    let is_write = |method: &str| ["POST", "PUT"].contains(&method);
    service.log().iter().filter(|entry| is_write(&entry.method) && entry.path.contains("certificates")).count()
}

/// Where the service shows what it was sent, it has this key.
#[track_caller]
fn has(service: &Service, mode: &str, key: &str) {
    let (status, body) = service.send("GET", "/api/config/namespaces/shop/certificates/web", None);
    assert_eq!(status, 200, "{body}");
    let object: Value = serde_json::from_str(&body).expect("JSON");
    let location = &object["spec"]["private_key"]["blindfold_secret_info"]["location"];
    assert_eq!(location == key, mode == "sent", "{mode}: {body}");
}

/// Every file below the stage but the definitions, and all that was ever printed, is without a key.
fn leaks(stage: &Stage) -> Vec<String> {
    let root = stage.path("..");
    let files = walkdir::WalkDir::new(&root).into_iter().map(|entry| entry.expect("an entry"));
    let files = files.filter(|entry| entry.file_type().is_file() && !entry.path().ends_with("d/web.yaml"));
    let has_key = |text: &str| text.contains("Zmlyc3Q") || text.contains("c2Vjb25k");
    files
        .filter(|entry| has_key(&String::from_utf8_lossy(&std::fs::read(entry.path()).expect("a file"))))
        .map(|entry| entry.path().display().to_string())
        .collect()
}

#[test]
fn a_sealed_secret_reaches_the_service_and_no_file_or_report() {
    for mode in ["stripped", "sent", "sealed"] {
        let service = Service::start();
        if mode != "stripped" {
            service.misbehave(&format!("rules: [{{write: {{secrets: {mode}}}}}]"));
        }
        let stage = stack(&service);
        let without_key = ["Zmlyc3Q", "c2Vjb25k"];
        let run = |line: &str| {
            let done = stage.run(line);
            done.code(0).stderr_ignored();
            for key in without_key {
                done.does_not_say(key);
            }
            done
        };
        run("plan . --format json");
        run("plan . --format html");
        run("apply . --yes --format json");
        has(&service, mode, FIRST);
        run("plan .").stdout_contains("In sync");
        run("drift . --format json");
        stage.write("d/web.yaml", &certificate(SECOND));
        run("plan .").stdout_contains("spec.private_key").stdout_contains("(not shown) -> sealed ");
        run("plan . --output plan.json");
        run("apply plan.json --yes");
        has(&service, mode, SECOND);
        run("plan .").stdout_contains("In sync");
        // Whatever else changes, the secret goes along.
        stage.edit("d/web.yaml", "string:///Y2VydA==", "string:///bmV3");
        run("apply . --yes");
        has(&service, mode, SECOND);
        stage.edit("d/web.yaml", "namespace: shop}", "namespace: shop, labels: {a: b}}");
        run("apply . --yes");
        has(&service, mode, SECOND);
        run("plan .").stdout_contains("In sync");
        run("show last --format json");
        run("history");
        assert_eq!(writes(&service), 4, "{mode}");
        assert_eq!(leaks(&stage), Vec::<String>::new(), "{mode}");
    }
}

#[test]
fn no_write_goes_without_a_secret_that_the_service_has() {
    let service = Service::start();
    let stage = stack(&service);
    stage.run("apply . --yes").code(0).stderr_ignored();
    let without: String = certificate(FIRST).lines().take(4).map(|line| format!("{line}\n")).collect();
    stage.write("d/web.yaml", &without);
    stage.run("plan .").code(0).stdout_contains("In sync");
    stage.edit("d/web.yaml", "string:///Y2VydA==", "string:///bmV3");
    stage
        .run("plan .")
        .stdout_contains("spec.private_key may contain a secret")
        .stdout_contains("write the secret into the definition");
    stage.run("apply . --yes").stderr_ignored();
    assert_eq!(writes(&service), 1);
    stage.write("d/web.yaml", &certificate(SECOND));
    stage.run("plan . --output plan.json").code(0).stderr_ignored();
    // A saved plan has the digest alone: another secret by now is not what was reviewed.
    stage.write("d/web.yaml", &certificate(FIRST));
    stage.run("apply plan.json --yes").stderr_ignored();
    assert_eq!(writes(&service), 1);
    stage.write("d/web.yaml", &certificate(SECOND));
    stage.run("apply plan.json --yes").code(0).stderr_ignored();
    assert_eq!(writes(&service), 2);
    // The run before had another key, which nobody has any more.
    stage.run("rollback last --yes").stdout_contains("it cannot be restored").stderr_ignored();
    assert_eq!(writes(&service), 2);
}

#[test]
fn what_no_answer_shows_is_written_where_it_is_all_that_is_new() {
    let service = Service::start();
    let rule =
        "kind: infraprotect_deny_list_rule\nmetadata: {name: web, namespace: shop}\nspec:\n  prefix: 1.1.1.0/24\n";
    let settings = "stack: rules\nnamespaces: [shop]\nkinds: [infraprotect_deny_list_rule]\n";
    let stage = Stage::new().at(&service).file("trueup.yaml", settings).file("rule.yaml", rule).applied(".");
    stage.write("rule.yaml", &format!("{rule}  one_day: {{}}\n"));
    stage.run("plan .").code(0).stdout_contains("1 to replace").stdout_contains("spec.one_day");
    stage.run("apply . --yes").code(0).stdout_contains("1 replaced").stderr_ignored();
    stage.run("plan .").code(0).stdout_contains("In sync");
}

#[test]
fn a_rollback_writes_the_secret_of_the_definition_where_it_is_the_one_of_then() {
    let service = Service::start();
    service.misbehave("rules: [{write: {secrets: sent}}]");
    let stage = stack(&service);
    stage.run("apply . --yes").code(0).stderr_ignored();
    stage.edit("d/web.yaml", "string:///Y2VydA==", "string:///bmV3");
    stage.run("apply . --yes").code(0).stderr_ignored();
    stage.run("rollback last --yes").code(0).stderr_ignored();
    has(&service, "sent", FIRST);
    stage.edit("d/web.yaml", "string:///bmV3", "string:///Y2VydA==");
    stage.run("plan .").code(0).stdout_contains("In sync");
    // Nothing but the definition has the secret of what was deleted.
    let text = stage.read("d/web.yaml");
    stage.remove("d/web.yaml");
    stage.write("d/other.yaml", &crate::support::definition("shop/other", 80));
    stage.run("apply . --yes --allow empty-namespace").code(0).stderr_ignored();
    stage.run("rollback last --yes --only certificate:*").stdout_contains("it cannot be restored").stderr_ignored();
    stage.write("d/web.yaml", &text);
    stage.run("rollback last --yes --only certificate:* --allow empty-namespace").code(0).stderr_ignored();
    has(&service, "sent", FIRST);
}

#[test]
fn a_rollback_takes_an_old_secret_from_the_commit_that_was_applied() {
    let service = Service::start();
    service.misbehave("rules: [{write: {secrets: sent}}]");
    let stage = stack(&service);
    git(&stage, "init -q -b main");
    commit(&stage, "first");
    stage.run("apply . --yes").code(0).stderr_ignored();
    stage.write("d/web.yaml", &certificate(SECOND));
    commit(&stage, "second");
    stage.run("apply . --yes").code(0).stderr_ignored();
    has(&service, "sent", SECOND);
    stage
        .run("rollback last --output undo.json")
        .code(0)
        .stdout_contains("spec.private_key")
        .stdout_contains("(not shown) -> sealed ")
        .does_not_say("Zmlyc3Q");
    stage.run("rollback last --yes").code(0).stderr_ignored();
    has(&service, "sent", FIRST);
    stage.run("apply . --yes").code(0).stderr_ignored();
    stage.remove("d/web.yaml");
    stage.write("d/other.yaml", &crate::support::definition("shop/other", 80));
    commit(&stage, "none");
    stage.run("apply . --yes --allow empty-namespace").code(0).stderr_ignored();
    stage.run("rollback last --yes --only certificate:* --allow empty-namespace").code(0).stderr_ignored();
    has(&service, "sent", SECOND);
    assert_eq!(leaks(&stage), Vec::<String>::new());
}

#[test]
fn what_is_pulled_without_its_secret_is_valid_and_in_sync() {
    let service = Service::start();
    let stage = stack(&service);
    stage.run("apply . --yes").code(0).stderr_ignored();
    stage
        .run("pull --output p")
        .code(0)
        .stderr_contains("not written: spec.private_key of certificate:shop/web: no answer shows a secret");
    stage
        .run("get certificate:shop/web -o yaml")
        .code(0)
        .stderr_contains("not shown: spec.private_key of certificate:shop/web");
    stage.remove("d/web.yaml");
    stage.run("plan .").code(0).stdout_contains("In sync");
    stage.run("drift .").code(0);
}
