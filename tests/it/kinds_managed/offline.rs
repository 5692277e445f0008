//! Objects of other kinds than endpoint in snapshots and in rehearsals.

use serde_json::{Value, json};

use super::{CHECK, POOL};
use crate::support::{Service, Stage, definition};

const KINDS: &str = "stack: chain\nnamespaces: [shop]\nkinds: [origin_pool, healthcheck]\n";
const FILES: [&str; 6] = ["trueup.yaml", "pool.yaml", "spare.yaml", "check.yaml", "ep.yaml", "live.json"];

/// A stage whose objects were applied to `service`, with a create, a replace and deletes of several kinds to come.
fn moved_on(service: &Service) -> Stage {
    let stage = Stage::new()
        .at(service)
        .file("trueup.yaml", KINDS)
        .file("pool.yaml", POOL)
        .file("old.yaml", &POOL.replace("name: cart", "name: old").replace("{name: alive}", "{name: gone}"))
        .file("check.yaml", CHECK)
        .file("gone.yaml", &CHECK.replace("name: alive", "name: gone"))
        .file("ep.yaml", &definition("shop/ep", 80));
    stage.run("apply . --yes").code(0).stderr_ignored();
    stage.edit("pool.yaml", "port: 443", "port: 8443");
    stage.edit("check.yaml", "interval: 15", "interval: 20");
    stage.write("spare.yaml", &POOL.replace("name: cart", "name: spare"));
    stage.remove("old.yaml");
    stage.remove("gone.yaml");
    stage
}

fn offline(stage: &Stage) -> Stage {
    FILES.iter().fold(Stage::new(), |other, name| other.file(name, &stage.read(name)))
}

#[test]
fn a_plan_of_every_kind_against_a_snapshot_is_the_plan_of_the_service() {
    let service = Service::start();
    let stage = moved_on(&service);
    stage.run("snapshot . -o live.json").code(0).stdout_contains("Kept 9 objects of 1 namespace of http://127.0.0.1:");
    let live = stage.run("plan . --format json").code(0).json();
    let reads = service.requests("GET");
    let offline = offline(&stage);
    let kept = offline.run("plan . --live live.json --format json").code(0).json();
    assert_eq!(service.requests("GET"), reads, "nothing was asked");
    assert_eq!(kept["digest"], live["digest"]);
    assert_eq!(kept["counts"]["delete"], 2);
    offline.run("drift . --live live.json").code(2).stdout_contains("origin_pool:shop/cart");
    offline
        .run("show live.json")
        .code(0)
        .stdout_contains("9 objects in 1 namespace")
        .stdout_contains("origin_pool:shop/old");
    let document: Value = serde_json::from_str(&stage.read("live.json")).expect("JSON");
    assert_eq!(document["format_version"], 2);
    let schema = stage.run("schema --of snapshot").code(0).json();
    let validator = jsonschema::validator_for(&schema).expect("a schema");
    let faults: Vec<String> = validator.iter_errors(&document).map(|error| error.to_string()).collect();
    assert_eq!(faults, Vec::<String>::new());
}

#[test]
fn a_snapshot_of_endpoints_alone_is_of_the_format_that_older_versions_read() {
    let service = Service::start();
    let stage = Stage::new()
        .at(&service)
        .file("trueup.yaml", "stack: s\nnamespaces: [shop]\n")
        .file("ep.yaml", &definition("shop/ep", 80))
        .applied(".");
    stage.run("snapshot . -o live.json").code(0);
    let document: Value = serde_json::from_str(&stage.read("live.json")).expect("JSON");
    assert_eq!(document["format_version"], 1);
    let shop = document["snapshot"]["namespaces"]["shop"].as_object().expect("a namespace");
    assert_eq!(shop.keys().collect::<Vec<_>>(), ["items", "referrers"]);
}

#[test]
fn what_a_snapshot_does_not_contain_of_a_kind_is_unknown_and_never_absent() {
    let service = Service::start();
    let stage = moved_on(&service);
    stage.run("snapshot -n shop --kind healthcheck -o live.json").code(0).stdout_contains("Kept 7 objects");
    stage
        .run("plan . --live live.json")
        .code(5)
        .stdout_contains("could not read `origin_pool:shop`: it is not in the snapshot")
        .does_not_say("create  origin_pool");
    service.misbehave("rules: [{operation: origin_pool-list, partial: {missing: 1}}]");
    stage
        .run("snapshot . -o other.json")
        .code(5)
        .stderr_contains("could not read `origin_pool:shop`")
        .stderr_contains("nothing was written");
    assert!(!stage.path("other.json").exists());
}

#[test]
fn who_refers_to_an_object_of_any_kind_is_kept_on_request_and_holds_deletes_back() {
    let service = Service::start();
    let stage = moved_on(&service);
    service.plant(&json!([{
        "kind": "http_loadbalancer", "metadata": {"name": "web", "namespace": "pay"},
        "raw_spec": {"default_route_pools": [{"pool": {"name": "old", "namespace": "shop"}}]},
    }]));
    stage.run("snapshot . --referrers -o live.json").code(0);
    let live = stage.run("plan . --format json").code(0).json();
    let kept = offline(&stage).run("plan . --live live.json --format json").code(0).json();
    assert_eq!(kept["digest"], live["digest"]);
    offline(&stage)
        .run("plan . --live live.json")
        .code(0)
        .stdout_contains("pay/web")
        .stdout_contains("blocked")
        .does_not_say("does not say who refers");
}

#[test]
fn a_snapshot_contains_no_secret_however_the_service_shows_it() {
    let service = Service::start();
    let stage = Stage::new()
        .at(&service)
        .file("trueup.yaml", "namespaces: [shop]\nkinds: [certificate]\n")
        .file("check.yaml", &CHECK.replace("namespace: shop", "namespace: pay"));
    let secret = json!({"blindfold_secret_info": {"location": "string:///aHVzaC1odXNo"}});
    service.plant(&json!([{
        "kind": "certificate", "metadata": {"name": "web", "namespace": "shop"},
        "raw_spec": {"certificate_url": "string:///YQ==", "private_key": secret},
    }]));
    let path = "/api/config/namespaces/shop/certificates?report_fields=x";
    assert!(service.send("GET", path, None).1.contains("aHVzaC1odXNo"), "the service shows it");
    stage.run("snapshot -n shop -n pay -o live.json").code(0).stdout_contains("Kept 1 object ");
    let text = stage.read("live.json");
    assert!(text.contains("string:///YQ==") && !text.contains("aHVzaC1odXNo"), "{text}");
}

#[test]
fn a_plan_of_every_kind_is_rehearsed_on_a_copy_in_the_order_of_references() {
    let service = Service::start();
    let stage = moved_on(&service);
    let writes = || ["POST", "PUT", "DELETE"].map(|method| service.requests(method));
    let before = writes();
    stage.run("rehearse .").code(0).stdout_contains("5 of 5 applied, verified");
    let answer = stage.run("rehearse . --faults rough --format json").code(0).json();
    assert_eq!((&answer["verified"], &answer["left"]), (&json!(true), &json!([])));
    assert!(answer["faults"]["met"].as_u64().expect("a number") > 0, "{}", answer["faults"]);
    stage.run("snapshot . -o live.json").code(0);
    offline(&stage)
        .run("rehearse . --live live.json --faults rough")
        .code(0)
        .stdout_contains("5 of 5 applied, verified");
    assert_eq!(writes(), before, "the service was only read");
    stage.run("apply . --yes --allow mass-change").code(0).stdout_contains("Applied 5 of 5").stderr_ignored();
}

#[test]
fn a_rehearsal_knows_what_the_service_makes_of_an_object() {
    let service = Service::start();
    let stage = Stage::example("08-load-balancer").at(&service);
    stage.run("apply . --yes").code(0).stderr_ignored();
    stage.run("rehearse .").code(0).stdout_contains("Nothing to rehearse");
    stage.write("storefront.yaml", &definition("shop/ep", 80));
    stage.run("rehearse .").code(0).stdout_contains("applied, verified");
}

#[test]
fn every_example_of_other_kinds_is_verified_with_injected_faults() {
    let service = Service::start();
    for example in ["07-chain", "08-load-balancer"] {
        let stage = Stage::example(example).at(&service);
        stage.run("rehearse . --faults rough").code(0).stdout_contains("applied, verified");
    }
    assert_eq!(service.requests("POST"), 0);
}
