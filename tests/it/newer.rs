//! Fields and values of the service that are newer than its published schemas, deprecated in them, or
//! unknown to this version: none of them is lost without a word.

use serde_json::json;

use super::support::{Service, Stage};

const STACK: &str = "stack: newer\nnamespaces: [shop]\n";

const DEFINITIONS: &str = "
metadata: {name: strict, namespace: shop}
spec:
  dns_name_advanced: {name: a.example.net, strict_ttl: {}}
---
metadata: {name: networks, namespace: shop}
spec:
  service_info: {discovery_type: NGINX_ONE, service_name: cart}
  snat_pool: {snat_pool: {prefixes: [10.0.0.0/8], ipv6_prefixes: ['2001:db8::/48']}}
  where:
    site:
      ref: [{name: ce01}]
      refs: [{name: blue}, {name: red}]
      network_type: VIRTUAL_NETWORK_MANAGEMENT
";

#[test]
fn newer_and_deprecated_fields_are_applied_shown_and_pulled_again() {
    let service = Service::start();
    let stage = Stage::new().file("trueup.yaml", STACK).file("all.yaml", DEFINITIONS).at(&service);
    let checked = stage.run("validate");
    checked.code(0).stderr_contains("`strict_ttl` is deprecated by the vendor").stderr_contains("all.yaml:4:44");
    checked.stderr_contains("`refs` is deprecated by the vendor").stderr_contains("all.yaml:13:7");
    let planned = stage.run("plan");
    planned
        .code(0)
        .stdout_contains("deprecated")
        .stdout_contains("strict_ttl")
        .stdout_contains("2001:db8::/48")
        .stdout_contains("spec.where.site.refs[1]                shop/red\n");
    stage.run("apply --yes --quiet").code(0);
    let spec = service.get("shop/networks")["spec"].clone();
    assert_eq!(spec["snat_pool"]["snat_pool"]["ipv6_prefixes"], json!(["2001:db8::/48"]));
    assert_eq!(spec["where"]["site"]["refs"][1]["name"], "red");
    assert_eq!(service.get("shop/strict")["spec"]["dns_name_advanced"]["strict_ttl"], json!({}));
    stage.run("drift").code(0);

    // Somebody takes them away: drift, reported by name, and a pull takes that over.
    service.change("shop/networks", |object| {
        object["spec"]["snat_pool"]["snat_pool"]["ipv6_prefixes"] = json!([]);
        object["spec"]["where"]["site"]["refs"] = json!([]);
    });
    stage.run("drift").code(3).stdout_contains("2001:db8::/48").stdout_contains("spec.where.site.refs[1]");
    stage.run("apply --yes --quiet").code(0);

    let other = Stage::new().at(&service);
    other.run("pull -n shop -o pulled --no-schema").code(0).stdout_contains("Pulled 2 endpoints");
    other.write("pulled/trueup.yaml", STACK);
    other.run("plan pulled --detailed-exitcode").code(0).stdout_contains("deprecated");
    assert!(other.read("pulled/shop/strict.yaml").contains("strict_ttl: {}"));
}

#[test]
fn a_pull_says_in_the_file_and_beside_it_what_it_could_not_write() {
    let service = Service::start();
    service.plant(&json!([{
        "metadata": {"name": "cart", "namespace": "shop"},
        "raw_spec": {"ip": "10.0.0.7", "port": 80, "quantum": {"x": 1}, "zero": 0,
            "where": {"site": {"ref": [{"name": "ce01", "rank\n# x": 7}], "refs": [], "disable_internet_vip": {}}}},
    }]));
    let stage = Stage::new().at(&service);
    stage
        .run("pull -n shop -o pulled --no-schema")
        .code(0)
        .stdout_contains("Pulled 1 endpoint")
        .stderr_contains("not written: spec.quantum of shop/cart: this trueup does not know it")
        .stderr_contains("not written: spec.where.site.ref[0].rank");
    let text = stage.read("pulled/shop/cart.yaml");
    assert!(text.starts_with("# not written, this trueup does not know it: spec.quantum\n# not written"), "{text}");
    assert_eq!(text.lines().filter(|line| line.starts_with('#')).count(), 2, "{text}");
    stage.run("validate pulled").code(0);
}

#[test]
fn what_no_definition_names_of_the_newer_fields_is_a_difference_that_a_plan_shows() {
    let service = Service::start();
    service.create(&json!({"metadata": {"name": "strict", "namespace": "shop"},
        "spec": {"dns_name_advanced": {"name": "a.example.net", "strict_ttl": {}}}}));
    let stage = Stage::new().file("trueup.yaml", STACK).at(&service);
    stage.write(
        "a.yaml",
        "metadata: {name: strict, namespace: shop}\nspec: {dns_name_advanced: {name: a.example.net}}\n",
    );
    stage.run("plan").code(0).stdout_contains("spec.dns_name_advanced.strict_ttl");
}
