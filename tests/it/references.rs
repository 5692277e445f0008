//! Which object a reference means that names no namespace.

use crate::support::{Service, Stage};

fn endpoint(reference: &str) -> String {
    format!(
        "metadata: {{name: x, namespace: shop}}\nspec:\n  ip: 10.0.0.7\n  port: 80\n  where: {{virtual_site: {{ref: [{{{reference}}}]}}}}\n"
    )
}

fn namespace(service: &Service) -> String {
    let reference = service.get("shop/x")["spec"]["where"]["virtual_site"]["ref"][0].clone();
    reference["namespace"].as_str().expect("a namespace").to_owned()
}

#[test]
fn a_reference_without_a_namespace_is_to_that_of_its_object() {
    let service = Service::start();
    let stage = Stage::stack(&service, "s").file("x.yaml", &endpoint("name: v")).applied(".");
    assert_eq!(namespace(&service), "shop");
    stage.run("plan .").code(0).stdout_contains("In sync");
    // Another object of this name.
    service.change("shop/x", |live| live["spec"]["where"]["virtual_site"]["ref"][0]["namespace"] = "shared".into());
    stage.run("drift .").code(3).stdout_contains("shop/v").stdout_contains("shared/v");
    stage.run("plan .").code(0).stdout_contains("shared/v -> shop/v");
    stage.run("apply . --yes").code(0).stdout_contains("1 replaced").stderr_ignored();
    assert_eq!(namespace(&service), "shop");
    stage.run("drift .").code(0);
}

#[test]
fn a_namespace_that_a_definition_no_longer_names_is_a_change() {
    let service = Service::start();
    let stage = Stage::stack(&service, "s").file("x.yaml", &endpoint("name: v, namespace: shared")).applied(".");
    stage.write("x.yaml", &endpoint("name: v"));
    stage.run("plan .").code(0).stdout_contains("shared/v -> shop/v");
    stage.run("apply . --yes").code(0).stdout_contains("1 replaced").stderr_ignored();
    assert_eq!(namespace(&service), "shop");
    stage.write("x.yaml", &endpoint("name: v, namespace: shop"));
    stage.run("plan .").code(0).stdout_contains("In sync").does_not_say("annotate");
}

#[test]
fn a_reference_to_a_site_without_a_namespace_is_to_one_of_the_system() {
    let service = Service::start();
    let spec = "port: 80\n  where: {site: {ref: [{name: ce01}]}}\n";
    let stage = Stage::stack(&service, "s")
        .file("x.yaml", &format!("metadata: {{name: x, namespace: shop}}\nspec:\n  ip: 10.0.0.7\n  {spec}"))
        .file(
            "p.yaml",
            &format!(
                "kind: advertise_policy\nmetadata: {{name: p, namespace: shop}}\nspec:\n  protocol: TCP\n  {spec}"
            ),
        )
        .applied(".");
    for path in ["endpoints/x", "advertise_policys/p"] {
        let (_, body) = service.send("GET", &format!("/api/config/namespaces/shop/{path}"), None);
        let live: serde_json::Value = serde_json::from_str(&body).expect("JSON");
        assert_eq!(live["spec"]["where"]["site"]["ref"][0]["namespace"], "system", "{path}");
    }
    stage.run("plan .").code(0).stdout_contains("In sync").does_not_say("annotate");
    stage.run("drift .").code(0);
}
