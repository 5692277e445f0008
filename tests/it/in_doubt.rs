//! Lost writes and lying answers through the program: what it says, its exit code, and what it knows
//! afterwards. Every combination is in `apply::tests`.

use serde_json::json;

use crate::support::{Service, Stage, definition};

fn stage(service: &Service) -> Stage {
    Stage::stack(service, "doubt")
}

#[test]
fn a_lost_create_that_reads_do_not_show_yet_ends_in_doubt_and_is_known_to_resume_and_rollback() {
    for end in ["resume", "rollback"] {
        let service = Service::start();
        let stage = stage(&service).file("cart.yaml", &definition("shop/cart", 80));
        service.misbehave(
            "rules: [{operation: endpoint-create, for: 1, cut: after}, {operation: endpoint-get, status: {code: 404}}]",
        );
        let ran = stage.run("apply . --yes --quiet");
        ran.code(7).does_not_say("nothing was changed").does_not_say("Verified").stderr_ignored();
        stage.run("history").code(0).stdout_contains("1 write in doubt");
        stage.run("show last").code(0).does_not_say("Verified");
        service.misbehave("rules: []");
        assert!(service.has("shop/cart"));
        match end {
            "resume" => {
                stage.run("apply --resume last --yes --quiet").code(0).stdout_contains("Applied 1 of 1");
                stage.run("plan . --detailed-exitcode").code(0).stdout_contains("In sync");
            }
            _ => {
                stage.run("rollback last --yes --quiet --allow mass-change --allow empty-namespace").code(0);
                assert!(!service.has("shop/cart"));
            }
        }
    }
}

#[test]
fn an_answer_that_is_not_the_promised_one_lets_no_delete_go_ahead() {
    let error = r#"{"code":13,"message":"internal error","details":[]}"#;
    let other = r#"{"metadata":{"name":"other","namespace":"shop"}}"#;
    for (code, body) in [(200, error), (200, other), (200, ""), (202, "{}"), (204, ""), (206, "{}")] {
        let service = Service::start();
        let stage = stage(&service);
        stage.write("cart.yaml", &definition("shop/cart", 80));
        stage.write("old.yaml", &definition("shop/old", 80));
        stage.run("apply . --yes --quiet").code(0);
        stage.edit("cart.yaml", "port: 80", "port: 81");
        stage.remove("old.yaml");
        let scenario = json!({"rules": [{
            "operation": "endpoint-replace", "status": {"code": code, "body": body, "effect": "none"}
        }]});
        service.misbehave(&scenario.to_string());
        stage.run("apply . --yes --quiet").code(7).stderr_ignored();
        assert!(service.has("shop/old"), "{code} {body}");
        assert_eq!(service.get("shop/cart")["spec"]["port"], 80);
        // Done all the same, it is found by reading.
        let scenario = json!({"rules": [{
            "operation": "*", "status": {"code": code, "body": body, "effect": "done"}, "after": 1, "for": 0
        }, {
            "operation": "endpoint-replace", "status": {"code": code, "body": body, "effect": "done"}
        }]});
        service.misbehave(&scenario.to_string());
        stage.run("apply . --yes --quiet").code(0).stderr_ignored();
        assert!(!service.has("shop/old"), "{code} {body}");
        assert_eq!(service.get("shop/cart")["spec"]["port"], 81);
    }
}

#[test]
fn a_read_that_is_not_answered_with_200_is_unknown() {
    let service = Service::start();
    let stage = stage(&service).file("cart.yaml", &definition("shop/cart", 80));
    stage.run("apply . --yes --quiet").code(0);
    for code in [201, 202, 203, 206] {
        service.misbehave(&format!(
            "rules: [{{operation: endpoint-list, status: {{code: {code}, body: '{{\"items\":[]}}'}}}}]"
        ));
        stage.run("plan . --detailed-exitcode").code(5).stderr_contains(&format!("with the status {code}"));
    }
}

#[test]
fn a_create_that_meets_the_same_object_of_nobody_is_an_adoption_that_a_rollback_takes_back() {
    let service = Service::start();
    let stage = stage(&service).file("cart.yaml", &definition("shop/cart", 80));
    stage.run("plan . -o plan.json").code(0).stdout_contains("1 to create");
    service.create(&json!({
        "metadata": {"name": "cart", "namespace": "shop", "annotations": {"theirs": "1"}},
        "spec": {"ip": "10.0.0.7", "port": 80}
    }));
    stage.run("apply plan.json --yes --quiet").code(0).stdout_contains("Applied 1 of 1").stdout_contains("1 adopted");
    let annotations = service.get("shop/cart")["metadata"]["annotations"].clone();
    assert_eq!((&annotations["trueup/stack"], &annotations["theirs"]), (&json!("doubt"), &json!("1")));
    stage.run("plan . --detailed-exitcode").code(0).stdout_contains("In sync");
    stage.run("show last").code(0).stdout_contains("adopted");
    stage.run("rollback last --yes --quiet").code(0);
    let annotations = service.get("shop/cart")["metadata"]["annotations"].clone();
    assert_eq!(annotations, json!({"theirs": "1"}));
}

#[test]
fn a_write_in_doubt_is_never_counted_as_not_made() {
    let service = Service::start();
    let stage = stage(&service)
        .file("cart.yaml", &definition("shop/cart", 80))
        .file("card.yaml", &definition("shop/card", 80))
        .file("search.yaml", &definition("shop/search", 80));
    service.misbehave(
        "rules: [{operation: endpoint-create, name: cart, cut: after}, {operation: endpoint-get, status: {code: 404}},
         {operation: endpoint-create, name: search, status: {code: 403}}]",
    );
    let said = "Verified, except 1 in doubt, 1 not made: live matches the rest of the plan";
    stage.run("apply . --yes --quiet --write json=run.json").code(7).stdout_contains(said).stderr_ignored();
    stage.run("show last").code(0).stdout_contains(said);
    stage.run("show run.json").code(0).stdout_contains(said).stderr_contains("digest ");
}
