//! Of a file, the settings and the policy the strictest counts for every delete, wherever its plan comes from; what
//! protects an object protects it however it is written.

use serde_json::json;

use crate::support::{Service, Stage, applied, definition};

/// Two endpoints that were applied, and `shop/gone` is not defined any more; a policy in a file beside the repository.
fn stage(service: &Service, policy: &str) -> Stage {
    let stage = Stage::stack(service, "shop")
        .file("kept.yaml", &definition("shop/kept", 80))
        .file("gone.yaml", &definition("shop/gone", 80))
        .file("../policy.yaml", policy);
    stage.run("apply . --yes --quiet").code(0);
    stage.remove("gone.yaml");
    stage
}

#[test]
fn a_saved_delete_is_refused_where_policy_or_settings_delete_no_such_object() {
    let service = Service::start();
    let stage = stage(&service, "prune: none\n");
    stage.run("plan . -o plan.json").code(0);
    let settings = stage.read("trueup.yaml");
    for (flags, edited) in [
        ("--policy ../policy.yaml", settings.clone()),
        ("", format!("{settings}prune: none\n")),
        ("", settings.replace("namespaces: [shop]", "namespaces: [pay]")),
    ] {
        stage.write("trueup.yaml", &edited);
        let ran = stage.run(&format!("apply plan.json --yes {flags}"));
        ran.code(6).stderr_contains("would delete `shop/gone`");
        assert!(service.has("shop/gone"), "{edited}{flags}");
    }
    stage.write("trueup.yaml", &settings);
    stage.run("apply plan.json --yes --quiet").code(0);
    assert!(!service.has("shop/gone"));
}

#[test]
fn a_policy_without_deletes_stops_those_of_a_resume_and_of_a_rollback() {
    let service = Service::start();
    let stage = stage(&service, "prune: none\n");
    stage.run("rollback last --yes --policy ../policy.yaml").code(6).stderr_contains("would delete `shop/");
    service.misbehave("rules: [{operation: endpoint-delete, status: {code: 403}}]");
    stage.run("apply . --yes --quiet").code(1);
    service.misbehave("rules: []");
    let resumed = stage.run("apply --resume last --yes --policy ../policy.yaml");
    resumed.code(6).stderr_contains("would delete `shop/gone`");
    assert!(service.has("shop/gone") && service.has("shop/kept"));
}

#[test]
fn a_namespace_that_the_policy_does_not_list_is_not_pruned_by_a_flag() {
    let service = Service::start();
    let stage = stage(&service, "namespaces: [shop]\n");
    let ran = stage.run("plan . --prune-namespace pay --policy ../policy.yaml");
    ran.code(6).stderr_contains("the policy forbids changes in the namespace `pay`");
}

#[test]
fn a_namespace_is_emptied_only_on_request_although_one_object_stays_because_it_is_referred_to() {
    let service = Service::start();
    let stage =
        Stage::stack(&service, "shop").file("trueup.yaml", "stack: shop\nnamespaces: [shop]\nallow_empty: true\n");
    for name in ["a", "b", "c"] {
        stage.write(&format!("{name}.yaml"), &definition(&format!("shop/{name}"), 80));
    }
    stage.run("apply . --yes --quiet").code(0);
    let mut seed = json!({"metadata": service.get("shop/a")["metadata"], "spec": service.get("shop/a")["spec"]});
    seed["referring_objects"] =
        json!([{"kind": "cluster", "namespace": "shop", "name": "x", "tenant": "t", "uid": "u"}]);
    service.delete("shop/a");
    service.plant(&json!([seed]));
    for name in ["a", "b", "c"] {
        stage.remove(&format!("{name}.yaml"));
    }
    stage.run("apply . --yes --quiet").code(6).stderr_contains("empty-namespace");
    assert!(["a", "b", "c"].iter().all(|name| service.has(&format!("shop/{name}"))));
}

#[test]
fn a_delete_does_not_take_an_edit_of_a_field_that_is_left_out_of_comparison() {
    let service = Service::start();
    let stage = stage(&service, "{}\n");
    let settings = stage.read("trueup.yaml");
    stage.write("trueup.yaml", &format!("{settings}ignore:\n  - {{object: \"shop/*\", field: spec.port}}\n"));
    stage.run("plan . -o plan.json").code(0);
    service.change("shop/gone", |object| object["spec"]["port"] = json!(8080));
    stage.run("apply plan.json --yes --quiet").code(6);
    assert!(service.has("shop/gone"));
}

#[test]
fn whatever_protects_an_object_but_false_protects_it_and_a_name_in_capitals_is_a_definition() {
    for value in ["true", "True", "yes", "1", "TRUE "] {
        let service = Service::start();
        let stage = stage(&service, "{}\n");
        service.change("shop/gone", |object| object["metadata"]["annotations"]["trueup/protect"] = json!(value));
        stage.run("apply . --yes --quiet").code(6);
        assert!(service.has("shop/gone"), "{value}");
    }
    let service = Service::start();
    let stage = applied(&service);
    stage.write("more.YAML", &definition("shop/more", 80));
    stage.run("plan .").code(0).stdout_contains("+ create  shop/more");
}
