//! Objects of several kinds with one name in one namespace are told apart wherever they are named.

use std::collections::BTreeSet;

use serde_json::json;

use super::{CHECK, object};
use crate::support::{Service, Stage, definition};

/// An endpoint and a health check of one name, applied; then the endpoint is changed outside and the check in its file.
fn both(service: &Service) -> Stage {
    let stage = Stage::new()
        .at(service)
        .file("trueup.yaml", "stack: s\nnamespaces: [shop]\nkinds: [healthcheck]\n")
        .file("ep.yaml", &definition("shop/cart", 80))
        .file("check.yaml", &CHECK.replace("name: alive", "name: cart"));
    stage.run("apply . --yes --quiet").code(0);
    service.change("shop/cart", |endpoint| endpoint["spec"]["port"] = json!(9));
    stage.edit("check.yaml", "timeout: 3", "timeout: 4");
    stage
}

#[test]
fn what_restores_one_of_them_leaves_the_other() {
    let service = Service::start();
    let stage = both(&service);
    let restore = "trueup apply . --only endpoint:shop/cart";
    stage.run("drift .").code(4).stdout_contains(&format!("restore with: {}{restore}\n", " ".repeat(16)));
    stage.run(&format!("{} --yes --quiet", restore.trim_start_matches("trueup "))).code(0);
    assert_eq!(service.get("shop/cart")["spec"]["port"], 80);
    assert_eq!(object(&service, "healthchecks", "cart")["spec"]["timeout"], 3, "nobody asked for it");
}

#[test]
fn get_shows_the_one_whose_kind_is_named() {
    let service = Service::start();
    let stage = both(&service);
    stage.run("get shop/cart").code(0).stdout_contains("shop/cart").does_not_say("healthcheck");
    stage.run("get shop/c*").code(0).stdout_contains("shop/cart").does_not_say("healthcheck");
    let both = stage.run("get shop/cart healthcheck:shop");
    both.code(0).stdout_contains("\nhealthcheck:shop/cart").stdout_contains("\nshop/cart");
}

#[test]
fn every_case_of_junit_has_a_name_of_its_own() {
    let service = Service::start();
    let stage = both(&service);
    let report = stage.run("drift . --format junit");
    let cases: Vec<&str> = report.code(4).text().split("<testcase ").skip(1).collect();
    let names: BTreeSet<&str> = cases.iter().filter_map(|case| case.split(['>', '/']).next()).collect();
    assert_eq!(names.len(), cases.len(), "{}", report.text());
}

#[test]
fn deletes_that_are_only_named_say_of_which_kind() {
    let service = Service::start();
    let stage = both(&service);
    for n in 0..40 {
        stage.write(&format!("h{n}.yaml"), &CHECK.replace("name: alive", &format!("name: a-long-name-{n}")));
    }
    stage.run("apply . --yes --quiet").code(0);
    for n in 0..40 {
        stage.remove(&format!("h{n}.yaml"));
    }
    let plan = stage.run("plan . --format markdown --budget 2600");
    plan.stdout_contains("healthcheck:shop: a-long-name-0 ");
}
