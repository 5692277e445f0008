//! Objects with secrets: the sealed form reaches the service and nothing else, and no write goes without it.

use serde_json::{Value, json};
use trueup::kind::Kind;
use trueup::load;

use crate::support::objects::{self, Specs};
use crate::support::{Service, Stage, commit, definition, git};

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
fn one_reason_for_which_nothing_was_sent_is_told_once() {
    let service = Service::start();
    let stage = stack(&service);
    for name in ["other", "third"] {
        stage.write(&format!("d/{name}.yaml"), &certificate(FIRST).replace("name: web", &format!("name: {name}")));
    }
    stage.run("plan . -o plan.json").code(0);
    // A secret that any definition has would be found there.
    for name in ["other", "third", "web"] {
        stage.edit(&format!("d/{name}.yaml"), FIRST, SECOND);
    }
    let applied = stage.run("apply plan.json --yes --quiet");
    applied.code(1).stdout_contains(
        "failed: 3 changes: create certificate:shop/other, create certificate:shop/third, create certificate:shop/web: \
         a secret of it is not in",
    );
    assert_eq!(applied.text().matches("a secret of it").count(), 1, "{}", applied.text());
    // The plan can be applied with the secrets that it was made with.
    for name in ["other", "third", "web"] {
        stage.edit(&format!("d/{name}.yaml"), SECOND, FIRST);
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

/// The commit that a saved plan names may have the secret of then; a rollback alone takes one from a commit.
#[test]
fn nothing_is_deleted_for_an_option_whose_secret_the_definition_leaves_out() {
    let service = Service::start();
    let credentials = |option: &str| {
        format!("kind: cloud_credentials\nmetadata: {{name: o, namespace: system}}\nspec:\n  {option}\n")
    };
    let secret = format!("{{blindfold_secret_info: {{location: '{FIRST}'}}}}");
    let stage = Stage::new()
        .at(&service)
        .file("trueup.yaml", "stack: a\nnamespaces: [system]\nkinds: [cloud_credentials]\n")
        .file("c.yaml", &credentials(&format!("aws_secret_key: {{access_key: A, secret_key: {secret}}}")))
        .applied(".");
    let allow = "--allow recreate=cloud_credentials:system/o --allow empty-namespace";
    stage.write("c.yaml", &credentials("gcp_cred_file: {}"));
    let missing = "without the secret spec.gcp_cred_file.credential_file";
    stage.run(&format!("plan . {allow}")).code(0).stdout_contains(missing).stdout_contains("c.yaml:1");
    stage.run(&format!("apply . --yes {allow}")).code(6).stderr_ignored();
    let path = "/api/config/namespaces/system/cloud_credentialss/o";
    assert_eq!(service.send("GET", path, None).0, 200);
    stage.write("c.yaml", &credentials(&format!("gcp_cred_file: {{credential_file: {secret}}}")));
    stage.run(&format!("apply . --yes {allow}")).code(0).stderr_ignored();
    // A create of it lacks the secret as well, and sends nothing.
    stage.write("other.yaml", &credentials("gcp_cred_file: {}").replace("name: o", "name: other"));
    let posts = || service.log().iter().filter(|entry| entry.method == "POST").count();
    let before = posts();
    stage.run("apply . --yes").stdout_contains(missing).stderr_ignored();
    assert_eq!(posts(), before);
}

#[test]
fn neither_a_saved_plan_nor_a_resumed_run_writes_a_secret_that_was_rotated_meanwhile() {
    let service = Service::start();
    let stage = stack(&service);
    git(&stage, "init -q -b main");
    commit(&stage, "first");
    stage.run("apply . --yes").code(0).stderr_ignored();
    stage.write("d/web.yaml", &certificate(SECOND));
    commit(&stage, "second");
    stage.run("plan . -o ../plan.json").code(0).stderr_ignored();
    service.misbehave("rules: [{operation: certificate-replace, status: {code: 403}}]");
    stage.run("apply ../plan.json --yes").code(1).stderr_ignored();
    service.misbehave("rules: []");
    stage.write("d/web.yaml", &certificate(FIRST));
    commit(&stage, "third");
    let sent = writes(&service);
    for line in ["apply --resume last --yes", "apply ../plan.json --yes"] {
        stage.run(line).code(1).stdout_contains("a secret of it is not in").stderr_ignored();
    }
    assert_eq!(writes(&service), sent);
    // The plan can be applied with the secret that it was made with.
    stage.write("d/web.yaml", &certificate(SECOND));
}

/// A write contains every secret of an object: one that is pending must not go with a change of something else.
#[test]
fn a_secret_that_was_not_applied_goes_with_no_write_that_does_not_show_it() {
    let service = Service::start();
    service.misbehave("rules: [{write: {secrets: sent}}]");
    let stage = stack(&service);
    git(&stage, "init -q -b main");
    commit(&stage, "first");
    stage.run("apply . --yes").code(0).stderr_ignored();
    stage.write("d/web.yaml", &certificate(SECOND));
    commit(&stage, "pending");
    git(&stage, "checkout -q -b change");
    stage.edit("d/web.yaml", "namespace: shop}", "namespace: shop, labels: {a: b}}");
    commit(&stage, "labels");
    let blocked = "a write of it would change spec.private_key, which no answer shows whole";
    stage.run("plan . --base main --only-this-change").code(0).stdout_contains(blocked);
    stage.run("apply . --base main --only-this-change --yes").stdout_contains(blocked).stderr_ignored();
    has(&service, "sent", FIRST);
    let settings = stage.read("trueup.yaml");
    stage.write("trueup.yaml", &format!("{settings}ignore: [{{object: '*', field: spec.private_key}}]\n"));
    stage.run("apply . --yes").stdout_contains(blocked).stderr_ignored();
    stage.edit("d/web.yaml", ", labels: {a: b}", "");
    stage.run("apply . --yes").code(0).stdout_contains("In sync").stderr_ignored();
    has(&service, "sent", FIRST);
    stage.write("trueup.yaml", &settings.replace("stack: certificates", "stack: others"));
    stage.run("move --from certificates --yes").stdout_contains(blocked).stderr_ignored();
    has(&service, "sent", FIRST);
    // With what was applied, each of them is made.
    stage.write("d/web.yaml", &certificate(FIRST));
    stage.run("move --from certificates --yes").code(0).stderr_ignored();
    stage.run("plan .").code(0).stdout_contains("In sync");
    has(&service, "sent", FIRST);
}

#[test]
fn a_secret_in_a_list_is_explained_without_its_variable_and_pending_beside_a_drift() {
    let service = Service::start();
    let pool = "kind: origin_pool
metadata: {name: p, namespace: shop}
spec:
  origin_servers: [{public_ip: {ip: 192.0.2.1}}]
  port: 443
  use_tls:
    sni: a.example.net
    tls_config: {default_security: {}}
    volterra_trusted_ca: {}
    use_mtls:
      tls_certificates:
      - certificate_url: string:///Y2VydA==
        private_key: {blindfold_secret_info: {location: '${key}'}}
";
    let settings =
        |key: &str| format!("stack: s\nnamespaces: [shop]\nkinds: [origin_pool]\nvariables: {{key: '{key}'}}\n");
    let stage = Stage::new().at(&service).file("trueup.yaml", &settings(FIRST)).file("d/web.yaml", pool).applied(".");
    for format in ["", " --json"] {
        stage.run(&format!("explain origin_pool:shop/p{format}")).code(0).does_not_say("Zmlyc3Q");
    }
    let path = "/api/config/namespaces/shop/origin_pools/p";
    let mut object: Value = serde_json::from_str(&service.send("GET", path, None).1).expect("JSON");
    object["spec"]["use_tls"]["sni"] = json!("b.example.net");
    object["spec"]["use_tls"]["use_mtls"]["tls_certificates"][0]["private_key"] =
        json!({"blindfold_secret_info": {"location": FIRST}});
    let body = json!({"metadata": object["metadata"], "spec": object["spec"]});
    assert_eq!(service.send("PUT", path, Some(&body.to_string())).0, 200);
    stage.run("drift .").code(3);
    stage.run("drift . --format acknowledgements -o ../accepted.yaml").code(3);
    stage.write("trueup.yaml", &settings(SECOND));
    stage.run("drift .").code(4);
    stage.run("drift . --acknowledged ../accepted.yaml").code(2).stdout_contains("not applied yet");
}

#[test]
fn a_variable_in_a_secret_of_one_of_several_stacks_is_in_no_report_of_another() {
    let service = Service::start();
    let stage = stack(&service).file("d/web.yaml", &certificate("string:///${key}"));
    for number in 0..8 {
        let settings = format!("stack: c{number}\nnamespaces: [c{number}]\nvariables: {{key: x}}\n");
        stage.write(&format!("c{number}/trueup.yaml"), &settings);
        stage.write(&format!("c{number}/x.yaml"), &definition(&format!("c{number}/x"), 80));
    }
    for line in ["drift -R .", "plan -R .", "apply -R . --yes", "drift -R . --write json=../checks/1.json"] {
        for format in ["text", "json", "markdown"] {
            let ran = stage.run(&format!("{line} --var key=Zmlyc3Q= --format {format}"));
            ran.does_not_say("Zmlyc3Q").stderr_ignored();
        }
    }
    assert!(!stage.read("../checks/1.json").contains("Zmlyc3Q"));
}

#[test]
fn a_variable_in_a_secret_is_in_no_report_and_no_proposed_command() {
    let service = Service::start();
    let stage = stack(&service).file("d/web.yaml", &certificate("string:///${key}"));
    let variables = "--var key=Zmlyc3Q= --var tier=a";
    stage.edit("d/web.yaml", "metadata: {", "metadata: {labels: {tier: '${tier}'}, ");
    stage.run(&format!("plan d {variables}")).stdout_contains("--var 'key=…' --var tier=a").stderr_ignored();
    for line in [
        "plan d --format markdown",
        "plan d --format json",
        "plan d -o plan.json",
        "apply d --yes",
        "apply d --yes --format json",
        "drift d",
        "pull --drift d",
        "doctor d",
        "explain settings d",
        "explain certificate:shop/web d --format json",
    ] {
        stage.run(&format!("{line} {variables}")).does_not_say("Zmlyc3Q").stderr_ignored();
    }
    stage
        .run(&format!("explain settings d {variables}"))
        .code(0)
        .stdout_contains("(not shown)")
        .stdout_contains("tier");
    // What cannot be loaded says it as well.
    stage.write("d/wrong.yaml", "kind: certificate\n");
    for line in ["plan d", "doctor d", "explain settings d"] {
        stage.run(&format!("{line} {variables}")).does_not_say("Zmlyc3Q").stderr_ignored();
    }
    assert_eq!(leaks(&stage), Vec::<String>::new());
    // The text in the place of a value is refused.
    for left_out in ["key=…", "key=string:///…"] {
        stage.run(&format!("plan d --var {left_out} --var tier=a")).code(64).stderr_contains("give the value");
    }
}

#[test]
fn a_variable_in_a_secret_is_found_however_it_is_written_and_whatever_was_loaded() {
    let service = Service::start();
    let settings =
        "stack: certificates\nnamespaces: [shop]\nkinds: [certificate]\nenvironments: {prod: {overlay: o}, dev: {}}\n";
    let stage = stack(&service).file("trueup.yaml", settings).file("d/web.yaml", &certificate("string:///${key}"));
    let is_left_out = |lines: &[&str]| {
        for line in lines {
            let run = stage.run(&format!("{line} --var key=Zmlyc3Q="));
            run.does_not_say("Zmlyc3Q").stdout_contains("key=…").stderr_ignored();
        }
    };
    is_left_out(&["plan d --env dev -o ../saved.json", "apply ../saved.json --config trueup.yaml --env dev --yes"]);
    is_left_out(&["history", "show last", "history --config trueup.yaml"]);
    for written in [r"string:///\x24{key}", r"string:///\u0024{key}", r"string:///$\x7bkey}"] {
        stage.write("d/web.yaml", &certificate(written).replace('\'', "\"").replace("name: web", "name: w"));
        is_left_out(&["plan d --env dev --format markdown", "show last"]);
    }
    let json = json!({
        "kind": "certificate",
        "metadata": {"name": "w", "namespace": "shop"},
        "spec": {
            "certificate_url": "string:///Y2VydA==",
            "private_key": {"blindfold_secret_info": {"location": "string:///${key}"}},
        },
    });
    stage.remove("d/web.yaml");
    stage.write("d/web.json", &json.to_string().replace('$', r"\u0024"));
    is_left_out(&["plan d --env dev --format markdown"]);
    stage.remove("d/web.json");
    // The overlay of another environment has it.
    stage.write("d/web.yaml", &certificate(SECOND));
    let overlay = certificate("string:///${key}").replace("  certificate_url: string:///Y2VydA==\n", "");
    stage.write("o/web.yaml", &overlay);
    is_left_out(&["show last", "history"]);
    stage
        .run("explain variables --env dev --var key=Zmlyc3Q=")
        .code(0)
        .does_not_say("Zmlyc3Q")
        .stdout_contains("(not shown)");
    // Documents and settings that cannot be read.
    stage.write("o/web.yaml", &format!("{overlay} a: ["));
    is_left_out(&["doctor d --env prod", "show last"]);
    stage.write("o/web.yaml", &overlay);
    stage.write("trueup.yaml", &format!("{settings}nope: 1\n"));
    is_left_out(&["doctor d"]);
}

#[test]
fn an_adoption_names_the_secret_that_it_writes() {
    let service = Service::start();
    service.misbehave("rules: [{write: {secrets: sent}}]");
    let stage = stack(&service);
    stage.write("trueup.yaml", "stack: s\nnamespaces: [shop]\nkinds: [certificate]\nownership_annotations: false\n");
    stage.run("apply . --yes").code(0).stderr_ignored();
    stage.write("trueup.yaml", "stack: s\nnamespaces: [shop]\nkinds: [certificate]\n");
    stage
        .run("plan . --adopt")
        .code(0)
        .stdout_contains("a write of 1 object contains spec.private_key of its definition");
}

#[test]
fn a_create_that_meets_the_same_object_writes_its_secret_with_the_annotations() {
    for mode in ["sent", "sealed"] {
        let service = Service::start();
        service.misbehave(&format!("rules: [{{write: {{secrets: {mode}}}}}]"));
        let stage = stack(&service);
        stage.run("plan . -o ../plan.json").code(0);
        let key = json!({"blindfold_secret_info": {"location": FIRST}});
        let body = json!({
            "metadata": {"name": "web", "namespace": "shop"},
            "spec": {"certificate_url": "string:///Y2VydA==", "private_key": key},
        });
        let path = "/api/config/namespaces/shop/certificates";
        assert_eq!(service.send("POST", path, Some(&body.to_string())).0, 200);
        stage.run("apply ../plan.json --yes").code(0).stdout_contains("1 adopted").stderr_ignored();
        has(&service, mode, FIRST);
        stage.run("drift .").code(0);
        assert_eq!(leaks(&stage), [""; 0]);
    }
}

#[test]
fn what_no_answer_shows_is_written_where_it_is_all_that_is_new() {
    let service = Service::start();
    let rule =
        "kind: infraprotect_deny_list_rule\nmetadata: {name: web, namespace: system}\nspec:\n  prefix: 1.1.1.0/24\n";
    let settings = "stack: rules\nnamespaces: [system]\nkinds: [infraprotect_deny_list_rule]\n";
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
fn a_rollback_brings_back_no_option_without_the_secret_that_it_had() {
    let service = Service::start();
    let receiver =
        |option: &str| format!("kind: alert_receiver\nmetadata: {{name: r, namespace: shop}}\nspec:\n  {option}\n");
    let zone = |option: &str| {
        format!("kind: dns_zone\nmetadata: {{name: example.com, namespace: system}}\nspec:\n  {option}\n")
    };
    // Its canonical form does not have the option of a secret.
    let host = |name: &str, option: &str| {
        let cookies = format!("request_cookies_to_add: [{{name: c, {option}}}]");
        format!("kind: virtual_host\nmetadata: {{name: {name}, namespace: shop}}\nspec:\n  {cookies}\n")
    };
    let secret = "{blindfold_secret_info: {location: 'string:///c2VhbGVk'}}";
    let key = "tsig_key_name: k, tsig_key_algorithm: HMAC_SHA256, tsig_key_value:";
    let stage = Stage::new()
        .at(&service)
        .file("trueup.yaml", "stack: s\nnamespaces: [shop, system]\nkinds: [alert_receiver, dns_zone, virtual_host]\n")
        .file("r.yaml", &receiver(&format!("slack: {{channel: a, url: {secret}}}")))
        .file("v.yaml", &host("v", &format!("secret_value: {secret}")))
        .file("w.yaml", &host("w", &format!("secret_value: {secret}")))
        .file("z.yaml", &zone(&format!("secondary: {{primary_servers: [192.0.2.1], {key} {secret}}}")));
    stage.run("apply . --yes").code(0).stderr_ignored();
    stage.write("r.yaml", &receiver("sms: {contact_number: '+4930123456'}"));
    stage.write("v.yaml", &host("v", "value: a"));
    stage.remove("w.yaml");
    stage.write("z.yaml", &zone("primary: {default_soa_parameters: {}}"));
    stage.run("apply . --yes").code(0).stderr_ignored();
    stage
        .run("rollback last --yes")
        .code(6)
        .stdout_contains("spec.slack.url")
        .stdout_contains("tsig_key_value")
        .stdout_contains("virtual_host:shop/v")
        .stdout_contains("virtual_host:shop/w")
        .stderr_ignored();
    stage.run("plan .").code(0).stdout_contains("In sync");
}

#[test]
fn a_part_of_a_change_needs_no_secret_of_the_rest() {
    let service = Service::start();
    let receiver = |tier: &str, spec: &str| {
        format!(
            "kind: alert_receiver\nmetadata: {{name: r, namespace: shop, labels: {{tier: {tier}}}}}\nspec: {{{spec}}}\n"
        )
    };
    let sms = "sms: {contact_number: '+4930123456'}";
    let stage = Stage::new()
        .at(&service)
        .file("trueup.yaml", "stack: r\nnamespaces: [shop]\nkinds: [alert_receiver]\n")
        .file("r.yaml", &receiver("a", sms))
        .committed()
        .applied(".");
    let slack = "slack: {channel: a}";
    stage.write("r.yaml", &receiver("a", slack));
    commit(&stage, "option");
    git(&stage, "checkout -qb branch");
    stage.write("r.yaml", &receiver("b", slack));
    commit(&stage, "label");
    stage.run("plan . --base main").code(0).stdout_contains("takes no such object without the secret spec.slack.url");
    stage.run("apply . --base main --only-this-change --yes").code(0).stdout_contains("1 replaced").stderr_ignored();
    stage.run("get alert_receiver:shop/r -o yaml").code(0).stdout_contains("tier: b").stdout_contains("sms:");
    // What the part itself chooses needs its secret.
    stage.write("r.yaml", &receiver("b", "slack: {channel: b}"));
    commit(&stage, "channel");
    let part = stage.run("apply . --base main --only-this-change --yes");
    part.code(6).stdout_contains("takes no such object without the secret spec.slack.url").stderr_ignored();
}

#[test]
fn what_is_pulled_without_its_secret_is_valid_and_in_sync() {
    let service = Service::start();
    let stage = stack(&service);
    stage.run("apply . --yes").code(0).stderr_ignored();
    stage.remove("d/web.yaml");
    stage
        .run("pull --output p")
        .code(0)
        .stderr_contains("not written: spec.private_key of certificate:shop/web: no answer shows a secret");
    stage
        .run("get certificate:shop/web -o yaml")
        .code(0)
        .stderr_contains("not shown: spec.private_key of certificate:shop/web");
    stage.run("plan .").code(0).stdout_contains("In sync");
    stage.run("drift .").code(0);
}

/// What is planted at the places of secrets in files that are wrong.
const PLANTED: &str = "PL4NTED";

/// Runs everything that reads files, and looks for what was planted.
#[track_caller]
fn no_reader_shows_it(stage: &Stage, more: &str) {
    for line in
        ["validate .", "validate . --format json", "plan .", "apply . --yes", "explain shop/a .", "fmt --check ."]
    {
        stage.run(&format!("{line} {more}")).stderr_ignored().does_not_say(PLANTED);
    }
}

#[test]
fn nothing_that_is_wrong_with_a_document_shows_its_secret() {
    let service = Service::start();
    let settings = "stack: s\nnamespaces: [shop]\nkinds: [certificate]\n";
    let stage = || Stage::new().at(&service).file("trueup.yaml", settings);
    let head = "kind: certificate\nmetadata: {name: a, namespace: shop}\nspec:\n  certificate_url: string:///LS0t\n";
    let clear = "{clear_secret_info: {url: 'string:///PL4NTED'}}";
    let one_line =
        "spec: {certificate_url: 'string:///${undefined}', private_key: {clear_secret_info: {url: 'PL4NTED'}}}";
    for (text, said) in [
        (
            format!("{head}  private_key: {{clear_secret_info: {{url: 'PL4NTED', url: 'PL4NTED'}}}}\n"),
            "duplicate key `url`",
        ),
        (format!("{head}  private_key: {clear}\n  private_key: {clear}\n"), "duplicate key `private_key`"),
        (format!("{head}  private_key: {{PL4NTED: a, PL4NTED: b}}\n"), "duplicate key (not shown)"),
        (
            format!("{head}  private_key: {{clear_secret_info: {{url: 'string:///${{PL4NTED-undefined}}'}}}}\n"),
            "the variable (not shown) is not defined",
        ),
        (
            format!("kind: certificate\nmetadata: {{name: a, namespace: shop}}\n{one_line}\n"),
            "the variable `undefined` is not defined",
        ),
        (format!("{head}  private_key: !PL4NTED PL4NTED\n"), "the tag (not shown) means nothing here"),
        (format!("{head}  private_key: *PL4NTED\n"), "(not shown) names no anchor of this document"),
        (
            r#"{"metadata":{"name":"a","namespace":"shop"},"spec":{"private_key":{"clear_secret_info":{"url":"string:///PL4NTED"}},"domains":[]}}"#.to_owned(),
            "none of `ip`, `dns_name`, `dns_name_advanced`, `service_info` is set",
        ),
        (
            r#"{"metadata":{"name":"a","namespace":"shop"},"spec":{"private_key":{"clear_secret_info":{"url":"string:///PL4NTED"}}}}"#.to_owned(),
            "is `kind: certificate` missing?",
        ),
        (format!("{head}  private_keey: PL4NTED\n"), "unknown field `private_keey`"),
        (
            format!("{head}  private_key:\nx   blindfold_secret_info: {{location: 'string:///PL4NTED'}}\n"),
            "unknown field `x   blindfold_secret_info`",
        ),
        (format!("{head}  private_key: *later\n  x: &later PL4NTED\n"), "(not shown) names no anchor"),
        (format!("x: &x PL4NTED\n{head}  private_key: *x\n"), "unknown field `x`"),
        ("kind: certificate\nmetadata: {name: a, namespace: shop}\nspec:\n  private_key:PL4NTED\n".to_owned(), "`spec` is (not shown)"),
        (format!("{head}  private_key: {clear}\n---\n{head}  private_key: {clear}\n"), "in clear text"),
        (
            format!("{{kind: certificate, metadata: {{name: a, namespace: shop}}, spec: {{certificate_url: 'string:///LS0t', private_key: {0}}}}}\n---\n{{kind: certificate, metadata: {{name: a, namespace: shop}}, spec: {{certificate_url: 'string:///LS0t', private_key: {0}}}}}\n", "{blindfold_secret_info: {location: 'string:///PL4NTED'}}"),
            "`certificate:shop/a` is defined twice",
        ),
        (format!("kind: healthcheck\nmetadata: {{name: a, namespace: shop}}\nspec: {{private_key: {clear}}}\n"), "unknown field `private_key`"),
    ] {
        let stage = stage().file("a.yaml", &text);
        stage.run("validate .").code(1).stderr_contains(said);
        no_reader_shows_it(&stage, "");
    }
}

#[test]
fn nothing_that_is_wrong_with_an_overlay_shows_its_secret() {
    let service = Service::start();
    let settings = "namespaces: [shop]\nkinds: [certificate]\n\
                    defaults: {overlay: o}\nenvironments: {prod: {stack: s, overlay: p}}\n";
    let secret = "spec: {private_key: {clear_secret_info: {url: 'string:///PL4NTED'}}}";
    let of = |name: &str, more: &str| {
        format!("{{kind: certificate, metadata: {{name: {name}, namespace: shop}}, {more}}}\n")
    };
    for (first, second, said) in [
        (of("web", &format!("$remove: true, {secret}")), String::new(), "`spec` is beside `$remove: true`"),
        (of("web", &format!("$remove: 1, {secret}")), String::new(), "`$remove` is not a boolean"),
        (of("web", &format!("$remove: false, {secret}")), String::new(), "which no overlay below removes"),
        (of("wep", secret), String::new(), "which no file defines"),
        (format!("{{kind: certificate, {secret}}}\n"), String::new(), "does not name a definition"),
        (format!("{0}---\n{0}", of("web", secret)), String::new(), "has two documents"),
        (of("web", "$remove: true"), of("web", secret), "which another overlay removes"),
        (of("wep", secret), of("wep", &format!("$remove: false, {secret}")), "which no overlay below removes"),
        (
            of("web", "spec: {private_key: {clear_secret_info: {url: '${PL4NTED}'}}}"),
            String::new(),
            "the variable (not shown)",
        ),
        (of("web", &format!("x: 1, {secret}")), String::new(), "unknown field `x`"),
    ] {
        let stage = Stage::new().at(&service).file("trueup.yaml", settings).file("d/web.yaml", &certificate(FIRST));
        let stage = stage.file("o/a.yaml", &first).file("p/a.yaml", &second);
        stage.run("validate . --env prod").code(1).stderr_contains(said);
        no_reader_shows_it(&stage, "--env prod");
    }
}

/// A text of a document with a secret, broken in one way or several.
fn broken(specs: &mut Specs, kind: &Kind, name: &str) -> Option<String> {
    let secret = kind.secrets().first()?.rsplit('.').next()?.to_owned();
    let mut spec = (0..60).map(|_| specs.small(kind)).find(|spec| is_planted(&spec.to_string()))?;
    if specs.once_in(3) {
        spec["nonsense"] = 1.into();
    }
    let spec = if specs.once_in(8) { json!([spec]) } else { spec };
    let mut document = json!({"metadata": {"name": name, "namespace": objects::namespace(kind)}, "spec": spec});
    match specs.below(8) {
        0 => {}
        1 => document["kind"] = "certficate".into(),
        2 => document["kind"] = "healthcheck".into(),
        3 => document["kind"] = Value::Null,
        _ => document["kind"] = kind.name.into(),
    }
    match specs.below(8) {
        0 => document["$remove"] = true.into(),
        1 => document["metadata"] = 1.into(),
        2 => document["metadata"]["name"] = "Not a name".into(),
        3 => document["metadata"]["labels"] = json!({"${x}": "${y}"}),
        _ => {}
    }
    let text = match specs.below(3) {
        0 => document.to_string(),
        1 => serde_json::to_string_pretty(&document).expect("JSON"),
        _ => serde_yaml::to_string(&document).expect("YAML"),
    };
    let leaves = ["\"string:///c2VhbGVk\"", "string:///c2VhbGVk", "\"hush\"", "hush"];
    let leaf = leaves.into_iter().find(|leaf| text.contains(leaf))?;
    let wrong = [
        "!PL4NTED \"PL4NTED\"",
        "*PL4NTED",
        "\"string:///${PL4NTED}\"",
        "\"string:///${}PL4NTED\"",
        "\"${PL4NTED-x}\"",
        "[\"PL4NTED\", \"PL4NTED\"]",
        "{\"PL4NTED\": 1, \"PL4NTED\": 2}",
        "\"PL4NTED\", \"location\": \"PL4NTED\"",
        "{\"${PL4NTED}\": 1}",
        "{[PL4NTED]: PL4NTED}",
        "{<<: PL4NTED}",
        "&PL4NTED {a: *PL4NTED, b: \"PL4NTED\"}",
        "\"PL4NTED\"",
        "\"PL4NTED\", ${PL4NTED}: \"PL4NTED\"",
        "\"PL4NTED",
        "'PL4NTED",
        "PL4NTED: PL4NTED: PL4NTED",
        "@PL4NTED",
        "\"PL4NTED\" PL4NTED",
        "[PL4NTED, {PL4NTED",
        "PL4NTED\n\tPL4NTED: a",
        "PL4NTED\u{7}",
        "*PL4NTED !PL4NTED &PL4NTED",
    ];
    let text = text.replace(leaf, wrong[specs.below(wrong.len())]);
    let camel = secret.split('_').enumerate().map(|(at, word)| match at {
        0 => word.to_owned(),
        _ => word[..1].to_uppercase() + &word[1..],
    });
    let stray = ["x   ", "é ", "/", "0 - "][specs.below(4)];
    Some(match specs.below(8) {
        0 => text.replace(&secret, &camel.collect::<String>()),
        1 => text.replace(&secret, &secret[..secret.len() - 1]),
        2 => text.replace("blindfold_secret_info", "clear_secret_info"),
        3 => text.replace(&format!("\"{secret}\":"), &format!("\"{secret}\": \"PL4NTED\", \"{secret}\":")),
        4 => format!("{text}\n---\n{text}"),
        5 => text.replace(&secret, &format!("{stray}{secret}")),
        6 => text.replace(&secret, &format!("{secret} {stray}")),
        _ => text,
    })
}

/// Whether a spec has a secret of the generator.
fn is_planted(spec: &str) -> bool {
    spec.contains("c2VhbGVk") || spec.contains("\"hush\"")
}

#[test]
fn no_document_that_is_broken_in_whatever_way_shows_its_secret() {
    (0..3).for_each(|more| no_broken_document_shows_its_secret(objects::seed() + more));
}

fn no_broken_document_shows_its_secret(seed: u64) {
    let service = Service::start();
    let mut specs = Specs::new(seed);
    let settings = format!("{}environments: {{prod: {{stack: p, overlay: o}}}}\n", objects::settings());
    let stage = Stage::new().at(&service).file("trueup.yaml", &settings.replace("stack: all\n", ""));
    let kinds: Vec<&Kind> = objects::kinds().into_iter().filter(|kind| !kind.secrets().is_empty()).collect();
    let (mut files, mut unparsed) = (0, 0);
    for number in 0..400 {
        let kind = kinds[specs.below(kinds.len())];
        let name = format!("n{}", number / 2);
        let Some(text) = broken(&mut specs, kind, &name) else { continue };
        let directory = if specs.once_in(3) { "o" } else { "d" };
        let path = format!("{directory}/{number}.yaml");
        if text.contains(PLANTED) {
            let can_parse = load::format::text(&path.as_str().into(), text.clone().into_bytes()).is_ok();
            unparsed += usize::from(!can_parse);
            stage.write(&path, &text);
            files += 1;
        }
    }
    assert!(files > 150 && unparsed > 20, "only {files} files are broken, and {unparsed} cannot be parsed");
    let found = stage.run("validate . --env prod --format json").code(1).json();
    let found = found["diagnostics"].as_array().expect("diagnostics").len();
    assert!(found > files, "{found} problems in {files} files");
    no_reader_shows_it(&stage, "--env prod");
}

#[test]
fn a_refusal_that_repeats_a_secret_is_told_and_kept_without_it() {
    let service = Service::start();
    let receiver = "kind: alert_receiver\nmetadata: {name: a, namespace: shop}\nspec:\n  slack:\n    channel: a\n    \
                    url: {blindfold_secret_info: {location: \"string:///MARKERSEC\\nslack\"}}\n";
    let settings = "stack: s\nnamespaces: [shop]\nkinds: [alert_receiver]\n";
    let stage = Stage::new().at(&service).file("trueup.yaml", settings).file("a.yaml", receiver);
    let refused = |words: &str, status: u16| {
        let body = json!({"code": 3, "message": format!("Field spec.slack.url is invalid: {words}"), "details": [{"value": words}]});
        let rule = json!({"operation": "alert_receiver-create", "status": {"code": status, "body": body.to_string()}});
        service.misbehave(&json!({"rules": [rule]}).to_string());
    };
    let withheld = "400 Bad Request: its words repeat a secret and are not shown";
    for (words, said) in [
        ("got string:///MARKERSEC in request", withheld),
        ("got \"string:///MARKERSEC\nslack\" in request", "is invalid: got \"string:///[secret]\" in request"),
        (r#"got {"location": "string:///MARKERSEC\nslack"}"#, "is invalid: got {\"location\": \"string:///[secret]\"}"),
        ("the location must begin with string:///", "the location must begin with string:///"),
    ] {
        refused(words, 400);
        let ran = stage.run("apply . --yes --verbose");
        let all = format!("{}{}", ran.text(), ran.errors());
        assert!(all.contains(said), "{all}");
        ran.does_not_say("MARKER");
        stage.run("show last --format json").stderr_ignored().does_not_say("MARKER");
    }
    // One that is short is a word of its own.
    stage.edit("a.yaml", "string:///MARKERSEC\\nslack", "string:///MARK");
    refused("got MARK", 400);
    stage.run("apply . --yes --format json").stderr_ignored().stdout_contains("its words repeat").does_not_say("MARK");
    // A body that is not JSON, and an answer of another type.
    let body = "cannot store string:///MARK";
    service.misbehave(
        &json!({"rules": [{"operation": "alert_receiver-create", "status": {"code": 500, "body": body}}]}).to_string(),
    );
    stage.run("apply . --yes").stderr_ignored().does_not_say("MARK");
    let body = r#"{"metadata": "string:///MARK"}"#;
    service.misbehave(
        &json!({"rules": [{"operation": "alert_receiver-create", "status": {"code": 200, "body": body}}]}).to_string(),
    );
    stage.run("apply . --yes").stderr_ignored().does_not_say("MARK");
    let is_kept = |entry: &walkdir::DirEntry| {
        let bytes = std::fs::read(entry.path()).expect("a file");
        String::from_utf8_lossy(&bytes).contains("MARK")
    };
    let files = walkdir::WalkDir::new(stage.path("..")).into_iter().map(|entry| entry.expect("an entry"));
    let files = files.filter(|entry| entry.file_type().is_file() && !entry.path().ends_with("a.yaml"));
    let kept: Vec<_> = files.filter(is_kept).collect();
    assert!(kept.is_empty(), "{kept:?}");
}

#[test]
fn what_is_not_adopted_for_its_secret_is_noted() {
    let service = Service::start();
    let stage = stack(&service);
    let settings = stage.read("trueup.yaml");
    stage.write("trueup.yaml", &format!("{settings}ownership_annotations: false\n"));
    stage.run("apply . --yes").code(0).stderr_ignored();
    stage.write("trueup.yaml", &settings);
    let without: String = certificate(FIRST).lines().take(4).map(|line| format!("{line}\n")).collect();
    stage.write("d/web.yaml", &without);
    let note = "1 object is in sync, and its ownership annotations are not written: spec.private_key may contain a \
                secret, which a write would delete or replace (write the secret that was applied into its definition): \
                certificate:shop/web";
    stage.run("plan . --adopt").code(0).stdout_contains(note);
    stage.run("apply . --adopt --yes").code(0).stdout_contains(note);
    stage.run("plan .").code(0).does_not_say("are not written");
    assert_eq!(writes(&service), 1);
    stage.write("d/web.yaml", &certificate(FIRST));
    stage.run("plan . --adopt").code(0).stdout_contains("* annotate").does_not_say("are not written");
    stage.run("apply . --adopt --yes").code(0).stderr_ignored();
    assert_eq!(writes(&service), 2);
}

#[test]
fn what_a_service_shows_of_a_secret_is_no_secret() {
    let service = Service::start();
    let stage = stack(&service).applied(".");
    let shown = [
        "{}",
        "{blindfold_secret_info: null}",
        "{blindfold_secret_info_internal: null, secret_encoding_type: EncodingNone}",
        "{secret_encoding_type: 0}",
    ];
    let before = writes(&service);
    for value in shown {
        let text = certificate(FIRST);
        let head = &text[..text.find("    blindfold").expect("a secret")];
        stage.write("d/web.yaml", &format!("{} {value}\n", head.trim_end()));
        stage.run("validate .").code(1).stderr_contains("web.yaml:5").stderr_contains("the secret `private_key`");
        stage.run("apply . --yes").code(1).stderr_ignored();
    }
    assert_eq!(writes(&service), before);
}
