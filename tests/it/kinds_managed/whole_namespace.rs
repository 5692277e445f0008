//! Everything that a namespace contains, without naming its kinds.

use serde_json::{Value, json};

use super::{CHECK, POOL};
use crate::support::{Service, Stage, definition};

/// A service with a pool, a check and an endpoint that no stack owns.
fn console() -> Service {
    let service = Service::start();
    let ep = definition("shop/ep", 80);
    for (plural, document) in [("healthchecks", CHECK), ("origin_pools", POOL), ("endpoints", ep.as_str())] {
        let mut object: Value = serde_yaml::from_str(document).expect("YAML");
        let body = json!({"metadata": object["metadata"].take(), "spec": object["spec"].take()}).to_string();
        let (status, answer) = service.send("POST", &format!("/api/config/namespaces/shop/{plural}"), Some(&body));
        assert_eq!(status, 200, "{answer}");
    }
    service
}

#[test]
fn a_pull_that_names_no_kind_writes_every_object_of_the_namespace() {
    let service = console();
    let stage = Stage::new().at(&service);
    stage
        .run("pull -n shop -o d")
        .code(0)
        .stdout_contains("Pulled 3 objects")
        .stderr_contains("kinds: [healthcheck, origin_pool]")
        .stderr_contains("left out: 3 objects that the service makes of those that were read");
    let of_system = service.log().iter().filter(|entry| entry.path.ends_with("/shop/aws_vpc_sites")).count();
    assert_eq!(of_system, 0, "a kind of the namespace `system` was asked for in `shop`");
    stage.write("d/trueup.yaml", "stack: shop\nnamespaces: [shop]\nkinds: [healthcheck, origin_pool]\n");
    stage.run("plan d").code(0).stdout_contains("3 objects in 1 namespace").stdout_contains("--adopt takes ownership");
    stage.run("apply d --adopt --yes").code(0).stdout_contains("3 annotated").stderr_ignored();
    for file in ["origin_pool/cart", "healthcheck/alive"] {
        stage.remove(&format!("d/shop/{file}.yaml"));
    }
    stage.run("apply d --yes --allow mass-change").code(0).stdout_contains("2 deleted").stderr_ignored();
}

#[test]
fn a_pull_names_the_kinds_that_it_may_not_read_and_writes_the_others() {
    let service = console();
    let stage = Stage::new().at(&service);
    service.misbehave("rules: [{operation: origin_pool-list, status: {code: 403, body: '{}'}}]");
    stage
        .run("pull -n shop -o d")
        .code(7)
        .stdout_contains("Pulled 2 objects")
        .stderr_contains("left out: could not read `origin_pool:shop`: the service answered 403 Forbidden");
    stage.run("pull -n shop -o e --kind origin_pool").code(5).stderr_contains("nothing was written");
    service.misbehave("rules: [{operation: endpoint-list, status: {code: 403, body: '{}'}}]");
    stage.run("pull -n shop -o f").code(5).stderr_contains("nothing was written");
}

#[test]
fn get_shows_objects_of_every_kind_by_a_star() {
    let service = console();
    let stage = Stage::new().at(&service);
    stage
        .run("get *:shop")
        .code(0)
        .stdout_contains("origin_pool:shop/cart")
        .stdout_contains("healthcheck:shop/alive")
        .stdout_contains("shop/ep ");
    stage.run("get *:shop/c*").code(0).stdout_contains("origin_pool:shop/cart").does_not_say("alive");
    // A column in which none of them has anything says nothing.
    stage.run("get *:shop").code(0).stdout_contains("TARGET");
    stage.run("get healthcheck:shop").code(0).stdout_contains("OBJECT").does_not_say("TARGET").does_not_say("PORT");
    stage.run("get pool:shop").code(64).stderr_contains("there is no kind `pool`");
    // It reads what it names, and of every kind what the service offers.
    service.misbehave("rules: [{operation: fleet-list, status: {code: 404}}, {operation: healthcheck-list, namespace: pay, status: {code: 403}}]");
    stage.run("get healthcheck:shop/alive endpoint:pay/*").code(0).stdout_contains("healthcheck:shop/alive");
    stage.run("get *:system").code(0).stderr_contains("Nothing is in system");
    stage.run("get fleet:system").code(5).stderr_contains("the service does not offer objects of this kind there");
}
