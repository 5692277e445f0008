//! Rehearsals: the real applier on a copy, with faults, and nothing that reaches the service.

use serde_json::json;

use crate::support::{Service, Stage, definition};

/// A stage with creates, replaces and deletes to come, whose service also holds what nobody may touch.
fn moved_on(service: &Service) -> Stage {
    let mut stage = Stage::new().at(service).file("trueup.yaml", "stack: s\nnamespaces: [shop, pay]\n");
    for at in 0..20 {
        stage = stage.file(&format!("{at}.yaml"), &definition(&format!("shop/ep-{at}"), 80));
    }
    stage.run("apply . --yes --quiet").code(0);
    for at in 0..4 {
        stage.edit(&format!("{at}.yaml"), "port: 80", "port: 8080");
        stage.write(&format!("new-{at}.yaml"), &definition(&format!("pay/new-{at}"), 84));
    }
    stage.remove("10.yaml");
    stage.remove("11.yaml");
    service.create(&json!({"metadata": {"name": "handmade", "namespace": "shop"}, "spec": {"ip": "10.0.0.9"}}));
    service.plant(&json!([
        {"metadata": {"name": "going", "namespace": "shop"}, "raw_spec": {"ip": "10.0.0.1"},
         "deletion_timestamp": "2030-01-01T00:00:00Z", "finalizers": ["x"]},
        {"metadata": {"name": "odd", "namespace": "shop"}, "raw_spec": {"protocol": "SCTP", "ip": "10.0.0.1"}},
    ]));
    stage
}

#[test]
fn a_plan_is_verified_on_a_copy_and_the_service_is_only_read() {
    let service = Service::start();
    let stage = moved_on(&service);
    let writes = || ["POST", "PUT", "DELETE", "PATCH"].map(|method| service.requests(method));
    let before = writes();
    let lists = service.requests("GET");
    let digest = stage.run("plan . --format json").json()["digest"].as_str().expect("a digest")[..16].to_owned();
    stage
        .run("rehearse .")
        .code(0)
        .stdout_contains("10 of 10 applied, verified, ")
        .stdout_contains(&format!("digest {digest}"))
        .stdout_contains("is a model of the service")
        .stdout_contains("Apply:  trueup apply .");
    // Two lists a namespace for the plan, two for the rehearsal, and who refers to the two that go.
    assert_eq!(service.requests("GET") - lists, 2 + 2 + 2 + 2);
    let answer = stage.run("rehearse . --faults rough --format json").code(0).json();
    assert_eq!(answer["verified"], true);
    assert!(answer["faults"]["met"].as_u64().expect("a number") >= 8, "{}", answer["faults"]);
    assert_eq!(answer["left"], json!([]));
    assert_eq!(writes(), before, "the service was only read");
    assert!(!service.has("pay/new-0"));
    stage.run("plan . --detailed-exitcode").code(2).stdout_contains("4 to create, 4 to replace, 2 to delete");
    // What was rehearsed is what an apply does.
    stage.run("apply . --yes --quiet").code(0).stdout_contains("Applied 10 of 10");
}

#[test]
fn a_rehearsal_needs_no_service_where_there_is_a_snapshot() {
    let service = Service::start();
    let stage = moved_on(&service);
    stage.run("snapshot . -o live.json").code(0);
    let mut offline = Stage::new().file("trueup.yaml", &stage.read("trueup.yaml"));
    for name in ["0.yaml", "new-0.yaml", "live.json"] {
        offline = offline.file(name, &stage.read(name));
    }
    offline
        .run("rehearse . --live live.json --faults rough")
        .code(0)
        .stdout_contains("21 of 21 applied, verified")
        .stdout_contains("faults met (faults rough)")
        .stdout_contains("the snapshot of 20");
}

#[test]
fn guards_are_reported_and_do_not_stop_a_rehearsal() {
    let service = Service::start();
    let stage = moved_on(&service);
    for at in 4..10 {
        stage.edit(&format!("{at}.yaml"), "port: 80", "port: 8080");
    }
    stage.run("apply . --yes").code(6).stderr_contains("--allow mass-change");
    stage.run("rehearse .").code(0).stdout_contains("applied, verified").stdout_contains("--allow mass-change");
}

#[test]
fn a_rehearsal_of_what_a_filter_chose_is_judged_after_it_is_gone_and_gives_its_consents_again() {
    let service = Service::start();
    let stage = Stage::stack(&service, "s").file("a.yaml", &definition("shop/a", 80));
    let protected =
        definition("shop/b", 80).replace("namespace: shop", "namespace: shop\n  annotations: {trueup/protect: 'true'}");
    let stage = stage.file("b.yaml", &protected).applied(".");
    stage.remove("a.yaml");
    stage.run("rehearse . --only shop/a").code(0).stdout_contains("Apply:  trueup apply . --only shop/a\n");
    stage.remove("b.yaml");
    stage.write("c.yaml", &definition("shop/c", 80));
    let rehearsed = stage.run("rehearse . --only shop/b --allow protected=shop/b");
    rehearsed.code(0).stdout_contains("Apply:  trueup apply . --only shop/b --allow protected=shop/b\n");
}

#[test]
fn what_is_not_verified_is_not_proven() {
    let service = Service::start();
    let stage = moved_on(&service);
    stage.write(
        "faults.txt",
        "rules: [{operation: endpoint-replace, name: ep-1, status: {code: 500}},\n\
         {operation: endpoint-replace, name: ep-2, conflict: {field: spec.port, value: 9}}]",
    );
    let output = stage.run("rehearse . --faults faults.txt");
    output
        .code(7)
        .stdout_contains("not verified")
        .stdout_contains("conflict: shop/ep-2")
        .stdout_contains("shop/ep-1")
        .does_not_say("Apply:");
    let answer = stage.run("rehearse . --faults faults.txt --format json").code(7).json();
    assert_eq!(answer["verified"], false);
    assert!(answer["left"].as_array().expect("a list").contains(&json!("shop/ep-2")));
    stage.run("rehearse . --faults nothing.txt").code(1).stderr_contains("the scenario `nothing.txt` cannot be read");
    stage.write("faults.txt", "rules: [{operation: endpoint-replace}]");
    stage.run("rehearse . --faults faults.txt").code(1).stderr_contains("exactly one of");
}

#[test]
fn nothing_is_rehearsed_on_an_incomplete_read_and_nothing_where_nothing_is_to_do() {
    let service = Service::start();
    let stage = moved_on(&service);
    service.misbehave("rules: [{operation: endpoint-list, namespace: pay, partial: {missing: 1}}]");
    stage.run("rehearse .").code(5).stderr_contains("could not read `pay`").stderr_contains("nothing was rehearsed");
    service.misbehave("rules: []");
    stage.run("apply . --yes --quiet").code(0);
    stage.run("rehearse . --faults rough").code(0).stdout_contains("Nothing to rehearse: 22 endpoints in sync");
}

#[test]
fn every_example_that_is_a_stack_is_verified_with_injected_faults() {
    let service = Service::start();
    for example in ["01-first-endpoint", "02-every-group", "03-repository", "05-prune-story"] {
        let stage = Stage::example(example).at(&service);
        stage.run("rehearse . --faults rough").code(0).stdout_contains("applied, verified");
    }
    assert_eq!(service.requests("POST"), 0);
}
