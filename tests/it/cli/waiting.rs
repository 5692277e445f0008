//! What a person reads while the service makes the command wait, and after a name that is not there.

use crate::support::{Service, Stage, definition};

fn stage(service: &Service) -> Stage {
    Stage::new()
        .at(service)
        .file("trueup.yaml", "stack: waiting\nnamespaces: [shop, pay, stage]\n")
        .file("a.yaml", &definition("shop/cart", 80))
}

#[test]
fn a_log_gets_one_line_for_the_wait_of_many_requests() {
    let service = Service::start();
    service.misbehave("rules: [{operation: endpoint-list, for: 3, status: {code: 429, retry_after: 1}}]");
    let ran = stage(&service).run("plan .");
    let messages = ran.code(0).errors();
    assert_eq!(messages.matches("429 Too Many Requests, retrying in 1 s, 1 of 6").count(), 1, "{messages}");
    stage(&service).run("plan . --quiet").code(0).stderr("");
}

#[test]
fn a_short_wait_is_not_worth_a_line() {
    let service = Service::start();
    service.misbehave("rules: [{operation: endpoint-list, for: 1, status: {code: 503}}]");
    stage(&service).run("plan .").code(0).stderr("");
}

#[test]
fn a_mistyped_name_is_answered_with_what_could_be_meant() {
    let service = Service::start();
    let stage = stage(&service);
    stage
        .run("call endpoint-get")
        .code(64)
        .stderr_contains("did you mean `svc-api-servicemesh-endpoint-get`?")
        .stderr_contains("trueup call --list");
    stage
        .run("call endpoint")
        .code(64)
        .stderr_contains("did you mean one of these? svc-api-servicemesh-endpoint-create, ");
    let pulled = stage.run("pull -n nosuch -o pulled");
    pulled.code(0).stderr_contains("nothing in `nosuch`").stdout("Pulled 0 objects: nothing was written.\n");
    assert!(!stage.path("pulled").exists());
}
