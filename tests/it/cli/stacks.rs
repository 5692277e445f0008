//! Whose an object is.

use serde_json::json;

use crate::support::{Service, Stage, definition};

fn stack(service: &Service, name: &str) -> Stage {
    Stage::new().at(service).file("trueup.yaml", &format!("stack: {name}\nnamespaces: [shop]\n"))
}

#[test]
fn two_stacks_in_one_namespace_never_touch_each_others_objects() {
    let service = Service::start();
    let left = stack(&service, "left")
        .file("a.yaml", &definition("shop/cart", 80))
        .file("keep.yaml", &definition("shop/left", 80));
    let right = stack(&service, "right").file("b.yaml", &definition("shop/search", 80));
    left.run("apply . --yes --quiet").code(0);
    right.run("apply . --yes --quiet").code(0).stdout_contains("1 created");
    right.run("plan . --detailed-exitcode").code(0);

    left.remove("a.yaml");
    left.run("apply . --yes --quiet").code(0).stdout_contains("1 deleted");
    assert!(service.has("shop/search") && !service.has("shop/cart"));

    right.write("foreign.yaml", &definition("shop/left", 81));
    right.run("plan .").code(0).stdout_contains("! blocked shop/left").stdout_contains("it belongs to stack left");
    right.run("apply . --yes --quiet").code(6);
    right.edit("b.yaml", "port: 80", "port: 82");
    right.run("apply . --yes --quiet").code(7).stdout_contains("1 replaced").stdout_contains("blocked: shop/left");
    assert_eq!(service.get("shop/left")["spec"]["port"], 80);
    right.run("apply . --yes --quiet --allow foreign-stack=shop/left").code(0);
    assert_eq!(service.get("shop/left")["spec"]["port"], 81);
}

#[test]
fn an_object_that_others_refer_to_is_blocked_while_the_rest_is_applied() {
    let service = Service::start();
    let stage = stack(&service, "refers")
        .file("a.yaml", &definition("shop/cart", 80))
        .file("b.yaml", &definition("shop/search", 80))
        .file("c.yaml", &definition("shop/stays", 80));
    stage.run("apply . --yes --quiet").code(0);
    let annotations = service.get("shop/cart")["metadata"]["annotations"].clone();
    service.plant(&json!([{
        "metadata": {"namespace": "shop", "name": "cart", "annotations": annotations},
        "spec": {"ip": "10.0.0.7", "port": 80},
        "referring_objects": [{"kind": "cluster", "namespace": "shop", "name": "web"}]
    }]));
    stage.remove("a.yaml");
    stage.remove("b.yaml");
    stage
        .run("plan .")
        .code(0)
        .stdout_contains("- delete  shop/search")
        .stdout_contains("! blocked shop/cart")
        .stdout_contains("shop/web");
    stage
        .run("apply . --yes --quiet")
        .code(7)
        .stdout_contains("1 deleted")
        .stdout_contains("--allow referred=shop/cart");
    assert!(service.has("shop/cart"));
}

#[test]
fn an_endpoint_that_nobody_defined_is_left_alone() {
    let service = Service::start();
    let stage = stack(&service, "quiet").file("a.yaml", &definition("shop/cart", 80));
    service.create(&json!({"metadata": {"name": "handmade", "namespace": "shop"}, "spec": {"ip": "10.0.0.9"}}));
    stage.run("apply . --yes --quiet").code(0);
    stage.run("plan .").code(0).stdout_contains("1 live endpoint in shop is not managed here: shop/handmade");
    stage.run("drift .").code(0);
    stage.run("drift . --unmanaged fail").code(3).stdout_contains("shop/handmade");
    stage.edit("trueup.yaml", "stack: quiet", "stack: quiet\nhide_notes: [unmanaged]");
    stage.run("plan .").code(0).stdout_contains("In sync").does_not_say("handmade");
    stage.run("plan . --format json").code(0).stdout_contains("\"unmanaged\"");
    stage.run("drift .").code(0).does_not_say("handmade");
    stage.run("drift . --unmanaged fail").code(3).stdout_contains("shop/handmade");
    assert!(service.has("shop/handmade"));
}

#[test]
fn an_unmarked_object_in_sync_is_adopted_only_when_asked() {
    let service = Service::start();
    service.create(&json!({"metadata": {"name": "cart", "namespace": "shop"}, "spec": {"ip": "10.0.0.7", "port": 80}}));
    let stage = stack(&service, "adopts").file("a.yaml", &definition("shop/cart", 80));
    stage
        .run("plan . --detailed-exitcode")
        .code(0)
        .stdout_contains("in sync without ownership annotations (--adopt takes ownership)");
    // What the plan proposes does what it shows.
    let plan = stage.run("plan . --adopt");
    let proposed = plan.code(0).text().lines().find_map(|line| line.split_once("trueup apply ")).expect("a proposal").1;
    assert!(proposed.starts_with(". --adopt --digest "), "{proposed}");
    stage.run(&format!("apply {proposed} --quiet")).code(0).stdout_contains("1 annotated");
    assert_eq!(service.get("shop/cart")["metadata"]["annotations"]["trueup/stack"], "adopts");
}
