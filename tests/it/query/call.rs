use std::io::Write as _;
use std::process::Stdio;

use serde_json::{Value, json};
use trueup::api::TABLE;

use super::service;
use crate::support::{Service, Stage};

fn staged() -> (Service, Stage) {
    let service = service();
    let stage = Stage::new().at(&service);
    (service, stage)
}

#[test]
fn the_list_shows_every_operation_of_the_table() {
    let stage = Stage::new();
    let ran = stage.run("call --list");
    for entry in &TABLE {
        ran.code(0).stdout_contains(entry.name).stdout_contains(entry.uniform.path);
    }
    ran.stdout_contains("medium risk, reads, side effect: creates event, sent once")
        .stdout_contains("high risk, changes something");
    let published = stage.run("call --list --format json --layout published").code(0).json();
    let operations = published["operations"].as_array().expect("operations");
    assert_eq!(operations.len(), TABLE.len());
    for (entry, shown) in TABLE.iter().zip(operations) {
        assert_eq!(shown["path"], entry.published.path);
        assert_eq!(shown["method"], entry.published.method.as_str());
        assert_eq!(shown["risk"], entry.risk());
    }
    let ran = stage.run("call --list svc-api-ddos-event-update");
    ran.code(0).stdout_contains("svc-api-ddos-event-update").does_not_say("svc-api-ddos-event-list");
}

#[test]
fn missing_and_unknown_parameters_are_reported_with_what_there_is() {
    let (service, stage) = staged();
    stage
        .run("call svc-api-servicemesh-endpoint-get --param namespace=shop")
        .code(64)
        .stderr_contains("needs `name`")
        .stderr_contains("`response_format`");
    let ran = stage.run("call svc-api-servicemesh-endpoint-list --param namespace=shop --param nam=x");
    ran.code(64).stderr_contains("has no parameter `nam`").stderr_contains("`label_filter`");
    stage
        .run("call svc-api-servicemesh-endpoint-create --param namespace=shop --yes")
        .code(64)
        .stderr_contains("needs a body")
        .stderr_contains("--body");
    stage
        .run("call svc-api-servicemesh-endpoint-gett")
        .code(64)
        .stderr_contains("did you mean `svc-api-servicemesh-endpoint-get`?")
        .stderr_contains("to see all of them: trueup call --list");
    stage.run("call svc-api-waf-event-create --param namespace").code(64).stderr_contains("write KEY=VALUE");
    stage
        .run("call svc-api-waf-event-create --param namespace=shop --body none.json")
        .code(1)
        .stderr_contains("cannot read the body");
    stage.write("odd.json", "{");
    stage
        .run("call svc-api-waf-event-create --param namespace=shop --body odd.json")
        .code(1)
        .stderr_contains("is not valid JSON");
    stage.write("twice.json", "{\"limit\": 1,\n \"limit\": 2}");
    stage
        .run("call svc-api-waf-event-create --param namespace=shop --body twice.json")
        .code(1)
        .stderr_contains("`twice.json` is not valid JSON: duplicate key `limit` at line 2 column 8");
    stage.run("call").code(64).stderr_contains("OPERATION");
    assert_eq!((service.requests("GET"), service.requests("POST")), (0, 0));
}

#[test]
fn every_endpoint_operation_can_be_called() {
    let (service, stage) = staged();
    for layout in ["uniform", "published"] {
        let call = |operation: &str, words: &str| {
            stage.run(&format!(
                "call svc-api-servicemesh-endpoint-{operation} --param namespace=shop --layout {layout} {words}"
            ))
        };
        let body = json!({"metadata": {"name": "cart", "namespace": "shop"}, "spec": {"ip": "10.0.0.7", "port": 80}});
        stage.write("cart.json", &body.to_string());
        call("create", "--body cart.json").code(6).stderr_contains("POST /api/config").stderr_contains("give --yes");
        assert!(!service.has("shop/cart"));
        let ran = call("create", "--body cart.json --yes");
        assert_eq!(ran.code(0).stderr_contains("medium risk").json()["metadata"]["name"], "cart");
        let got = call("get", "--param name=cart").code(0).json();
        assert_eq!(got["spec"]["port"], 80);
        let listed = call("list", "--param report_fields=spec").code(0).json();
        assert_eq!(listed["items"].as_array().map(Vec::len), Some(1));
        stage.write("cart.json", &got.to_string().replace("\"port\":80", "\"port\":81"));
        call("update", "--param metadata.name=cart --body cart.json --yes").code(0).stderr_contains("PUT");
        assert_eq!(service.get("shop/cart")["spec"]["port"], 81);
        call("update", "--param name=cart --body cart.json --yes")
            .code(1)
            .stderr_contains("409 Conflict")
            .stderr_contains("nothing was changed");
        call("delete", "--param name=cart").code(6).stderr_contains("high risk").stderr_contains("give --yes");
        call("delete", "--param name=cart --yes").code(0).stderr_contains("DELETE");
        assert!(!service.has("shop/cart"));
        call("get", "--param name=cart").code(1).stderr_contains("404 Not Found");
    }
}

#[test]
fn a_create_is_confirmed_by_the_object_that_was_asked_for() {
    let (service, stage) = staged();
    let object = |name: &str| json!({"metadata": {"name": name, "namespace": "shop"}, "spec": {"ip": "10.0.0.7"}});
    stage.write("cart.json", &object("cart").to_string());
    let mut other = object("search");
    other["system_metadata"] = json!({"uid": "u"});
    let answers =
        [(json!({}), "without the object"), (object("cart"), "without the uid"), (other, "with another object")];
    for (answer, why) in answers {
        let status = json!({"code": 200, "body": answer.to_string()});
        service.misbehave(&json!({"rules": [{"operation": "endpoint-create", "status": status}]}).to_string());
        stage
            .run("call svc-api-servicemesh-endpoint-create --param namespace=shop --body cart.json --yes")
            .code(7)
            .stderr_contains("the call is not confirmed")
            .stderr_contains(why);
    }
}

#[test]
fn security_events_are_queried_under_both_names_and_scrolled() {
    let (service, stage) = staged();
    stage.write(
        "query.json",
        r#"{"query": "{}", "start_time": "1", "end_time": "4000000000", "limit": 2, "scroll": true}"#,
    );
    for layout in ["uniform", "published"] {
        for operation in ["svc-api-waf-event-create", "svc-api-virtual-event-create"] {
            let line = format!("call {operation} --param namespace=system --body query.json --layout {layout}");
            let page = stage.run(&line).code(0).json();
            assert_eq!(page["events"].as_array().map(Vec::len), Some(2));
            assert_eq!(page["total_hits"], "1201");
            let id = page["scroll_id"].as_str().expect("an id");
            let line =
                format!("call security-event-scroll --param namespace=system --param scroll_id={id} --layout {layout}");
            assert_eq!(stage.run(&line).code(0).json()["events"].as_array().map(Vec::len), Some(2));
        }
    }
    service.misbehave("rules: [{operation: security-event-query, status: {code: 503}}]");
    let before = service.requests("POST");
    stage
        .run("call svc-api-waf-event-create --param namespace=system --body query.json")
        .code(1)
        .stderr_contains("503");
    assert_eq!(service.requests("POST"), before + 1);
}

#[test]
fn a_body_is_read_from_a_pipe_to_its_end() {
    let (_service, stage) = staged();
    let query = json!({"query": "{}", "start_time": "1", "end_time": "4000000000", "limit": 2}).to_string();
    let long = format!("{}{query}", " ".repeat(200_000));
    let unclear =
        [("{\"query\"", "the body in `stdin` is not valid JSON"), ("", "the body in `stdin` is not valid JSON")];
    for (text, error) in [(&*query, ""), (&long, "")].into_iter().chain(unclear) {
        let mut child = stage
            .command(&["call", "svc-api-waf-event-create", "--param", "namespace=system", "--body", "-"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("it starts");
        child.stdin.take().expect("a pipe").write_all(text.as_bytes()).expect("it reads");
        let output = child.wait_with_output().expect("it ends");
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(said.contains(error), "{said}");
        assert_eq!(output.status.code(), Some(i32::from(!error.is_empty())), "{said}");
        if error.is_empty() {
            let page: Value = serde_json::from_slice(&output.stdout).expect("JSON");
            assert_eq!(page["events"].as_array().map(Vec::len), Some(2));
        }
    }
}

#[test]
fn ddos_events_versions_and_statuses_can_be_called() {
    let (_service, stage) = staged();
    stage.write("edit.json", r#"{"description": "called"}"#);
    for layout in ["uniform", "published"] {
        let call = |line: &str| -> Value { stage.run(&format!("call {line} --layout {layout}")).code(0).json() };
        let list = call("svc-api-ddos-event-create --param namespace=system --param network_id=n1");
        assert_eq!(list["events"][0]["id"], "open-one");
        let one = call("svc-api-ddos-event-list --param namespace=system --param event_id=open-one");
        assert_eq!(one["event"]["network_id"], "n1");
        let edit = "call svc-api-ddos-event-update --param namespace=system --param event_id=open-one --body edit.json";
        stage.run(&format!("{edit} --layout {layout}")).code(6).stderr_contains("give --yes");
        stage.run(&format!("{edit} --layout {layout} --yes")).code(0).stderr_contains("PUT");
        let one = call("svc-api-ddos-event-list --param namespace=system --param event_id=open-one");
        assert_eq!(one["event"]["description"], "called");
        // The path of one layout has no namespace, and the call does for both.
        let versions = "svc-api-cemanagement-upgradable-sw-version-list --param namespace=system --param current_os_version=9.2026.10";
        assert_eq!(call(versions)["sw_versions"].as_array().map(Vec::len), Some(2));
        let status = call("svc-api-cemanagement-upgrade-statu-get --param namespace=system --param name=ce02");
        assert_eq!(status["upgrade_status"]["sw_upgrade_progress"]["status"], "FAILED");
    }
}

#[test]
fn a_call_is_done_only_with_a_whole_answer_and_a_change_only_with_the_promised_one() {
    let (service, stage) = staged();
    let answered = |operation: &str, code: u16, body: &str| {
        let action = format!("status: {{code: {code}, body: '{body}'}}");
        service.misbehave(&format!("rules: [{{operation: {operation}, {action}}}]"));
    };
    let list = "call svc-api-ddos-event-create --param namespace=system";
    for (code, body) in [(206, r#"{"events":[]}"#), (204, ""), (200, "[]"), (200, "OK")] {
        answered("ddos-event-list", code, body);
        stage.run(list).code(1).stderr_contains("error: ");
    }
    // What says of itself that it is not whole is shown all the same.
    let errors = r#"{"events":[],"errors":[{"code":"E","message":"half of it"}]}"#;
    for body in ["null", "7", errors, r#"{"code":5,"message":"not found","details":[]}"#] {
        answered("ddos-event-list", 200, body);
        stage.run(list).code(1).stderr_contains("error: ").stdout(&format!("{body}\n"));
    }
    stage.write("edit.json", r#"{"description": "called"}"#);
    let edit =
        "call svc-api-ddos-event-update --param namespace=system --param event_id=open-one --body edit.json --yes";
    for (code, body) in [(200, r#"{"code":13,"message":"internal"}"#), (202, "{}"), (200, "OK"), (200, "")] {
        answered("ddos-event-edit", code, body);
        let shown = if body.starts_with('{') { format!("{body}\n") } else { String::new() };
        stage.run(edit).code(7).stderr_contains("may have taken effect").stdout(&shown);
    }
    service.misbehave("rules: []");
    stage.run(edit).code(0).stderr_contains("PUT");
}
