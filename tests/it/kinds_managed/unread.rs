//! A kind that cannot be read: nothing is concluded about it in that namespace, and the others go on.

use super::{CHECK, POOL};
use crate::support::{Service, Stage, definition};

const UNREAD: &str =
    "rules: [{operation: origin_pool-list, status: {code: 403, body: '{\"message\": \"not yours\"}'}}]";

fn stack(service: &Service) -> Stage {
    let settings = "stack: chain\nnamespaces: [shop, pay]\nkinds: [origin_pool, healthcheck]\n";
    Stage::new()
        .at(service)
        .file("trueup.yaml", settings)
        .file("d/pool.yaml", POOL)
        .file("d/check.yaml", CHECK)
        .file("d/ep.yaml", &definition("shop/ep", 80))
        .file("d/card.yaml", &definition("pay/card", 80))
}

#[test]
fn what_one_kind_does_not_answer_is_unknown_and_the_other_kinds_are_planned_applied_and_checked() {
    let service = Service::start();
    let stage = stack(&service);
    service.misbehave(UNREAD);
    stage
        .run("plan .")
        .code(5)
        .stdout_contains("could not read `origin_pool:pay` and `origin_pool:shop`: the service answered 403 Forbidden")
        .stdout_contains("+ create  healthcheck:shop/alive")
        .stdout_contains("+ create  shop/ep")
        .does_not_say("create  origin_pool");
    let except = "--except 'origin_pool:pay/*' --except 'origin_pool:shop/*'";
    stage.run("apply . --yes").code(5).stderr_contains(&format!("to leave it out: {except}\n"));
    stage.run("plan . -o plan.json --quiet").code(5);
    let saved = stage.run("apply plan.json --yes --quiet");
    saved.code(5).stderr_contains("plan again where all of it can be read").does_not_say("--except");
    assert_eq!(service.requests("POST"), 0, "an apply of everything needs to know everything");
    let except = except.replace('\'', "");
    stage.run(&format!("apply . --yes {except}")).code(0).stdout_contains("Applied 3 of 3").stderr_ignored();
    stage
        .run("drift .")
        .code(5)
        .stdout_contains("origin_pool:shop: unknown")
        .does_not_say("healthcheck:pay")
        .stdout_contains("healthcheck:shop: in sync (1)");
    stage.run("drift . --except origin_pool:*").code(0);
    let metrics = stage.run("drift . --format prometheus");
    metrics
        .stdout_contains("stack=\"chain\",namespace=\"shop\"} 0")
        .stdout_contains("stack=\"chain\",namespace=\"shop\",kind=\"origin_pool\"} 1");
    let samples: Vec<&str> = metrics
        .text()
        .lines()
        .filter(|line| !line.starts_with('#'))
        .filter_map(|line| line.rsplit_once(' '))
        .map(|(name, _)| name)
        .collect();
    let distinct: std::collections::BTreeSet<&&str> = samples.iter().collect();
    assert_eq!(samples.len(), distinct.len(), "a sample twice: {}", metrics.text());
}

#[test]
fn nothing_is_created_or_deleted_of_an_unread_kind_nor_deleted_of_what_it_refers_to() {
    let service = Service::start();
    let stage = stack(&service);
    stage.run("apply . --yes").code(0).stderr_ignored();
    stage.write("d/pool.yaml", &POOL.replace("healthcheck:\n  - {name: alive}", "healthcheck: []"));
    stage.remove("d/check.yaml");
    service.misbehave(UNREAD);
    stage
        .run("plan . --except origin_pool:*")
        .code(0)
        .stdout_contains("healthcheck:shop/alive")
        .stdout_contains("refer");
    stage.run("apply . --yes --except origin_pool:*").code(6).stderr_ignored();
    stage.remove("d/pool.yaml");
    stage.run("plan .").code(5).does_not_say("delete  origin_pool");
    assert_eq!(service.requests("DELETE"), 0);
    service.misbehave("rules: []");
    stage.run("apply . --yes").code(0).stdout_contains("2 deleted").stderr_ignored();
}

#[test]
fn a_kind_that_the_service_does_not_offer_is_noted_and_pulled_around() {
    let service = Service::start();
    let stage = stack(&service);
    stage.remove("d/pool.yaml");
    for code in [404, 501] {
        service.misbehave(&format!("rules: [{{operation: origin_pool-list, status: {{code: {code}}}}}]"));
        stage
            .run("plan .")
            .code(0)
            .stdout_contains("origin_pool: the service does not offer objects of this kind: pay, shop");
    }
    // A page of something in between says nothing of the service.
    let page = "status: {code: 404, body: '<html>not found</html>'}";
    service.misbehave(&format!("rules: [{{operation: origin_pool-list, namespace: pay, {page}}}]"));
    stage.run("plan .").code(5).stdout_contains("could not read `origin_pool:pay`").does_not_say("offer");
    service.misbehave("rules: [{operation: origin_pool-list, status: {code: 501}}]");
    stage.run("apply . --yes").code(0).stderr_ignored();
    std::fs::rename(stage.path("d"), stage.path(".d")).expect("no definitions");
    // Settings may list what another service offers; what the call names is missing.
    for (call, code) in [("pull --output p", 0), ("pull --kind origin_pool --output p", 7)] {
        stage.run(call).code(code).stderr_contains("left out: ").stderr_contains("does not offer").stderr_ignored();
    }
    std::fs::remove_dir_all(stage.path("p")).expect("the copies");
    std::fs::rename(stage.path(".d"), stage.path("d")).expect("the definitions");
    stage.run("get shop --format json").code(5).stdout_contains("does not offer").stderr_ignored();
    stage.write("d/pool.yaml", POOL);
    stage.run("plan .").code(5).stdout_contains("could not read `origin_pool:shop`");
}
