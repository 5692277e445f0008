//! Nothing is concluded from a read that is not complete.

use crate::support::{Service, Stage, definition};

fn after_an_apply(scenario: &str) -> (Service, Stage) {
    let service = Service::start();
    let stage = Stage::new()
        .at(&service)
        .file("trueup.yaml", "stack: reads\nnamespaces: [shop, pay]\n")
        .file("a.yaml", &definition("shop/cart", 80))
        .file("b.yaml", &definition("shop/search", 80))
        .file("c.yaml", &definition("pay/card", 80))
        .applied(".");
    // One definition goes: a plan from half a list could say that much more should.
    stage.remove("b.yaml");
    service.misbehave(scenario);
    (service, stage)
}

fn nothing_is_concluded(action: &str) {
    let (service, stage) = after_an_apply(&format!("rules: [{{operation: endpoint-list, namespace: shop, {action}}}]"));
    stage
        .run("plan .")
        .code(5)
        .stdout_contains("incomplete: could not read `shop`")
        .stdout_contains("pay: in sync (1)   shop: unknown")
        .does_not_say("delete");
    stage.run("drift .").code(5).stdout_contains("UNKNOWN");
    stage.run("apply . --yes --quiet").code(5).stderr_contains("nothing was sent");
    stage.run("apply . --namespace pay --yes --quiet").code(0);
    assert!(service.has("shop/search"));
}

#[test]
fn beside_a_read_that_is_not_complete_what_goes_is_not_in_sync() {
    let (_service, stage) =
        after_an_apply("rules: [{operation: endpoint-list, namespace: pay, partial: {missing: 1}}]");
    for command in ["plan .", "drift ."] {
        stage.run(command).code(5).stdout_contains("pay: unknown   shop: 1 of 2 in sync\n").does_not_say("in sync (");
    }
}

#[test]
fn a_list_with_errors_in_it_plans_no_deletes() {
    nothing_is_concluded("partial: {missing: 1}");
}

#[test]
fn a_truncated_list_plans_no_deletes() {
    nothing_is_concluded("truncate: {bytes: 100}");
}

#[test]
fn a_page_for_people_plans_no_deletes() {
    nothing_is_concluded("html: {}");
}

#[test]
fn a_forbidden_list_plans_no_deletes() {
    nothing_is_concluded("status: {code: 403}");
}

#[test]
fn one_cause_is_reported_once_however_many_namespaces_it_hits() {
    let service = Service::start();
    let stage = Stage::new()
        .env("TRUEUP_BASE_URL", &service.url())
        .env("TRUEUP_TOKEN", "not-the-token-of-this-service")
        .file("trueup.yaml", "stack: reads\nnamespaces: [shop, pay, stage]\n")
        .file("a.yaml", &definition("shop/cart", 80))
        .file("b.yaml", &definition("pay/card", 80));
    for format in ["markdown", "html"] {
        let ran = stage.run(&format!("plan . --format {format}"));
        let text = ran.code(5).text();
        assert_eq!(text.matches("401 Unauthorized").count(), 1, "{text}");
        let named = text.split("401 Unauthorized").next().unwrap_or_default().split("could not read").last();
        let named = named.unwrap_or_default().to_lowercase();
        assert!(["pay", "shop", "stage"].iter().all(|name| named.contains(name)), "{text}");
    }
}
