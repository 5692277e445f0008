//! What people suffer from with the vendor's Terraform provider: each test has the number of the thread in which it was
//! told, and does the same with the same objects.

use serde_json::{Value, json};

use super::{change, object, stack};
use crate::support::{Service, Stage};

/// #94: the provider does not read the spec back, so that a change in the console is never seen.
#[test]
fn thread_94_a_rule_that_was_changed_in_the_console_is_seen_and_undone() {
    let service = Service::start();
    let policy = "kind: service_policy
metadata: {name: p, namespace: shop}
spec:
  any_server: {}
  rule_list:
    rules:
    - metadata: {name: first}
      spec: {action: DENY, any_client: {}, waf_action: {none: {}}, path: {prefix_values: [/admin]}}
";
    let stage = Stage::new()
        .at(&service)
        .file("trueup.yaml", "stack: p\nnamespaces: [shop]\nkinds: [service_policy]\n")
        .file("p.yaml", policy);
    stage.run("apply . --yes").code(0).stderr_ignored();
    stage.run("drift .").code(0);
    change(&service, "service_policys", "p", |body| {
        body["spec"]["rule_list"]["rules"][0]["spec"]["action"] = json!("ALLOW");
    });
    stage.run("drift .").code(3).stdout_contains("service_policy:shop/p").stdout_contains("action");
    stage.run("plan .").code(0).stdout_contains("ALLOW -> DENY");
    stage.run("apply . --yes").code(0).stderr_ignored();
    stage.run("plan .").code(0).stdout_contains("In sync");
    // The word with the number 0 is a default, and read by people nevertheless.
    stage.run("get service_policy:shop/p --format yaml").code(0).stdout_contains("        action: DENY\n");
}

/// #225: an object that was deleted in the console stays in the state, and the plan says that nothing is to do.
#[test]
fn thread_225_an_object_that_was_deleted_in_the_console_is_created_again() {
    let service = Service::start();
    let stage = stack(&service);
    stage.run("apply . --yes").code(0).stderr_ignored();
    let path = "/api/config/namespaces/shop/origin_pools/cart";
    assert_eq!(service.send("DELETE", path, Some("{}")).0, 200);
    stage.run("drift .").code(3).stdout_contains("origin_pool:shop/cart");
    stage.run("plan .").code(0).stdout_contains("+ create  origin_pool:shop/cart");
    stage.run("apply . --yes").code(0).stderr_ignored();
    stage.run("drift .").code(0);
}

/// #270: an object and what refers to it cannot be deleted in one run, because the target goes first.
#[test]
fn thread_270_an_object_and_what_refers_to_it_go_in_one_run() {
    let service = Service::start();
    let stage = stack(&service);
    stage.run("apply . --yes").code(0).stderr_ignored();
    stage.remove("d/a-pool.yaml");
    stage.remove("d/check.yaml");
    stage
        .run("plan .")
        .code(0)
        .stdout_contains("- delete  origin_pool:shop/cart")
        .stdout_contains("healthcheck:shop/alive");
    stage.run("apply . --yes --allow mass-change").code(0).stderr_ignored();
    let deletes: Vec<String> =
        service.log().iter().filter(|entry| entry.method == "DELETE").map(|entry| entry.path.clone()).collect();
    assert!(deletes[0].contains("/origin_pools/") && deletes[1].contains("/healthchecks/"), "{deletes:?}");
}

/// #187: a target that is replaced by another one is deleted while the old reference is still there.
#[test]
fn thread_187_a_target_goes_only_after_what_refers_to_it_let_go() {
    let service = Service::start();
    let stage = stack(&service);
    stage.run("apply . --yes").code(0).stderr_ignored();
    stage.remove("d/check.yaml");
    stage
        .run("plan .")
        .code(1)
        .stderr_contains("`healthcheck:shop/alive` would be deleted, and a definition refers to it");
    stage.edit("d/a-pool.yaml", "  healthcheck:\n  - {name: alive}\n", "  healthcheck: []\n");
    stage.run("apply . --yes --allow mass-change").code(0).stdout_contains("Applied 2 of 2").stderr_ignored();
    stage.run("plan .").code(0);
}

/// #262: what exists cannot be imported, so that everything has to be written and created again.
#[test]
fn thread_262_what_exists_is_imported_by_a_pull_and_the_plan_after_it_is_empty() {
    let service = Service::start();
    let stage = stack(&service);
    stage.run("apply . --yes").code(0).stderr_ignored();
    // The same objects, of which nobody has a file.
    let fresh = Stage::new().at(&service).file("trueup.yaml", &stage.read("trueup.yaml"));
    fresh.run("pull --output .").stderr_ignored();
    let plan = fresh.run("plan . --format json").code(0).json();
    assert_eq!((&plan["plan"]["changes"], &plan["plan"]["blocked"]), (&json!([]), &json!([])), "{plan:#}");
    assert!(fresh.read("shop/origin_pool/cart.yaml").contains("192.0.2.2"));
}

/// #269, #277, #312: a plan after the apply has differences for ever: the `kind` and the tenant of references, and defaults
/// that a release of the service adds.
#[test]
fn thread_269_277_312_neither_kind_nor_tenant_nor_a_new_default_is_a_difference() {
    let service = Service::start();
    let route = "kind: route
metadata: {name: all, namespace: shop}
spec:
  routes:
  - match: [{path: {prefix: /one}}]
    route_destination: {destinations: [{cluster: [{name: c, namespace: other}]}]}
";
    let stage = stack(&service).file("d/route.yaml", route);
    stage.edit("trueup.yaml", "kinds: [", "kinds: [route, ");
    stage.run("apply . --yes").code(0).stderr_ignored();
    let cluster = || {
        object(&service, "routes", "all")["spec"]["routes"][0]["route_destination"]["destinations"][0]["cluster"][0]
            .clone()
    };
    assert!(cluster()["kind"].is_string() && cluster()["tenant"].is_string() && cluster()["uid"].is_string());
    stage.run("plan .").code(0).stdout_contains("In sync: 4");
    stage.run("drift .").code(0);
    // A release fills in every default that it knows of, and shows a field more.
    service.misbehave("rules: [{write: {fill: every, unknown: kept}}]");
    change(&service, "origin_pools", "cart", |_| {});
    assert!(object(&service, "origin_pools", "cart")["spec"]["same_as_endpoint_port"].is_object());
    stage.run("plan .").code(0).stdout_contains("In sync: 4");
    stage.run("drift .").code(0);
    change(&service, "origin_pools", "cart", |body| body["spec"]["of_a_release"] = json!({"mode": "NEW"}));
    let plan = stage.run("plan . --format json").code(0).json();
    assert_eq!(plan["plan"]["changes"], json!([]), "what nobody asked for is never written: {plan:#}");
}

/// #131: an update of one field resets those that the resource does not name.
#[test]
fn thread_131_an_update_of_one_field_resets_no_other() {
    let service = Service::start();
    let stage = stack(&service);
    stage.run("apply . --yes").code(0).stderr_ignored();
    change(&service, "origin_pools", "cart", |body| {
        body["spec"]["advanced_options"] = json!({"connection_timeout": 2500});
        body["spec"]["loadbalancer_algorithm"] = json!("LEAST_REQUEST");
        body["metadata"]["annotations"]["team"] = json!("cart");
    });
    let mut before = object(&service, "origin_pools", "cart");
    stage.edit("d/a-pool.yaml", "port: 443", "port: 8443");
    stage.run("apply . --yes").code(0).stderr_ignored();
    let after = object(&service, "origin_pools", "cart");
    before["spec"]["port"] = json!(8443);
    assert_eq!(after["spec"], before["spec"]);
    assert_eq!(after["metadata"]["annotations"]["team"], "cart");
}

/// #301: an object of a type that the provider does not know yet is deleted with its namespace's configuration.
#[test]
fn thread_301_an_object_of_a_kind_that_is_not_managed_is_never_deleted() {
    let service = Service::start();
    let stage = stack(&service);
    stage.run("apply . --yes").code(0).stderr_ignored();
    stage.write("trueup.yaml", "stack: chain\nnamespaces: [shop]\nkinds: [healthcheck]\n");
    stage.remove("d/a-pool.yaml");
    stage.run("plan .").code(0).does_not_say("delete  origin_pool");
    stage.run("apply . --yes").code(0).stderr_ignored();
    object(&service, "origin_pools", "cart");
    // Nor is it where a list says that it is owned by this stack.
    stage.remove("d/check.yaml");
    stage.run("plan .").code(0).stdout_contains("healthcheck:shop/alive").stdout_contains("blocked");
}

/// #299: a setting that the provider does not know is lost with the next apply.
#[test]
fn thread_299_a_setting_that_nobody_knows_survives_every_apply() {
    let service = Service::start();
    service.misbehave("rules: [{write: {unknown: kept}}]");
    let stage = stack(&service);
    stage.run("apply . --yes").code(0).stderr_ignored();
    let future = json!({"mode": "NEW", "of": [1, {"two": null}]});
    change(&service, "origin_pools", "cart", |body| {
        body["spec"]["of_a_release"] = future.clone();
        body["spec"]["origin_servers"][1]["of_a_release"] = future.clone();
    });
    stage.edit("d/a-pool.yaml", "port: 443", "port: 8443");
    stage.edit("d/a-pool.yaml", "192.0.2.1}", "192.0.2.9}");
    stage.run("apply . --yes").code(0).stderr_ignored();
    let spec = object(&service, "origin_pools", "cart")["spec"].clone();
    assert_eq!((&spec["of_a_release"], &spec["origin_servers"][1]["of_a_release"]), (&future, &future), "{spec:#}");
    assert_eq!((&spec["port"], &spec["origin_servers"][0]["public_ip"]["ip"]), (&json!(8443), &json!("192.0.2.9")));
    stage.run("drift .").code(0).stdout_contains("spec.of_a_release, which this trueup does not know and keeps");
}

/// #260: of several routes only one is kept.
#[test]
fn thread_260_all_of_several_routes_are_kept_in_their_order() {
    let service = Service::start();
    let route = |at: usize| {
        json!({"match": [{"path": {"prefix": format!("/{at}")}, "http_method": "ANY"}],
        "route_direct_response": {"response_code": 200 + at}})
    };
    let write = |stage: &Stage, order: &[usize]| {
        let routes: Vec<Value> = order.iter().map(|at| route(*at)).collect();
        let object =
            json!({"kind": "route", "metadata": {"name": "all", "namespace": "shop"}, "spec": {"routes": routes}});
        stage.write("route.json", &format!("{object:#}"));
    };
    let live = || -> Vec<String> {
        let spec = object(&service, "routes", "all")["spec"].clone();
        let routes = spec["routes"].as_array().expect("a list").iter();
        routes.map(|route| route["match"][0]["path"]["prefix"].as_str().expect("a path").to_owned()).collect()
    };
    let stage = Stage::new().at(&service).file("trueup.yaml", "stack: r\nnamespaces: [shop]\nkinds: [route]\n");
    for order in [&[1, 2, 3, 4][..], &[4, 1, 3, 2], &[4, 5, 1, 3, 2, 6], &[5, 6], &[6, 5, 1]] {
        write(&stage, order);
        stage.run("apply . --yes").code(0).stderr_ignored();
        assert_eq!(live(), order.iter().map(|at| format!("/{at}")).collect::<Vec<_>>());
        stage.run("plan .").code(0).stdout_contains("In sync: 1");
    }
}

/// #295: a secret that no answer shows is added again by every plan.
#[test]
fn thread_295_a_secret_that_no_answer_shows_is_written_once() {
    for mode in ["stripped", "sent", "sealed"] {
        let service = Service::start();
        service.misbehave(&format!("rules: [{{write: {{secrets: {mode}}}}}]"));
        let certificate = "kind: certificate
metadata: {name: web, namespace: shop}
spec:
  certificate_url: string:///Y2VydA==
  private_key: {blindfold_secret_info: {location: 'string:///Zmlyc3Q='}}
";
        let stage = Stage::new()
            .at(&service)
            .file("trueup.yaml", "stack: c\nnamespaces: [shop]\nkinds: [certificate]\n")
            .file("web.yaml", certificate);
        stage.run("apply . --yes").code(0).stderr_ignored();
        for _ in 0..2 {
            stage.run("plan .").code(0).stdout_contains("In sync: 1");
            stage.run("apply . --yes").code(0).stderr_ignored();
        }
        let writes = service.requests("POST") + service.requests("PUT");
        assert_eq!(writes, 1, "{mode}");
    }
}

/// #233, #268: an upgrade breaks the state: what an earlier version wrote cannot be read any more.
#[test]
fn thread_233_268_what_an_earlier_version_wrote_on_an_object_is_renewed_and_nothing_else() {
    let service = Service::start();
    let stage = stack(&service);
    stage.run("apply . --yes").code(0).stderr_ignored();
    let spec = object(&service, "origin_pools", "cart")["spec"].clone();
    // One without the digest of a key, one that only a later version can read, and one that nobody can.
    for text in ["1 2026-01-31T12-00-00-000-chain-abcd ", "9 2026-01-31T12-00-00-000-chain-abcd x y z", "?"] {
        change(&service, "origin_pools", "cart", |body| {
            body["metadata"]["annotations"]["trueup/applied"] = json!(text);
        });
        let plan = stage.run("plan . --format json").code(0).json();
        let actions: Vec<&Value> =
            plan["plan"]["changes"].as_array().expect("a list").iter().map(|change| &change["action"]).collect();
        assert!(actions.iter().all(|action| action["annotate"].is_object()), "{text}: {plan:#}");
        assert_eq!(plan["plan"]["blocked"], json!([]), "{text}: {plan:#}");
        stage.run("apply . --yes").code(0).stderr_ignored();
        assert_eq!(object(&service, "origin_pools", "cart")["spec"], spec, "{text}");
        stage.run("plan .").code(0).stdout_contains("In sync: 3");
    }
}
