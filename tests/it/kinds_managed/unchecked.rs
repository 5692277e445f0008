//! Fields of a service that is newer than what is known of it: a definition names them where the settings list them.

use serde_json::{Value, json};

use super::{CHECK, POOL, change, object};
use crate::support::{Service, Stage};

const SETTINGS: &str = "stack: chain\nnamespaces: [shop]\nkinds: [origin_pool, healthcheck]\n";
const UNCHECKED: &str = "unchecked:\n- healthcheck.spec.new_check\n- origin_pool.spec.new_option\n- origin_pool.spec.no_tls.new_mode\n- origin_pool.spec.origin_servers.new_weight\n";

fn stack(service: &Service) -> Stage {
    let pool = POOL
        .replace("  healthcheck:\n  - {name: alive}\n", "  new_option: {mode: FAST, is_on: false}\n")
        .replace("  no_tls: {}\n", "  no_tls: {new_mode: 2}\n")
        .replace("  - public_ip: {ip: 192.0.2.1}\n", "  - public_ip: {ip: 192.0.2.1}\n    new_weight: 7\n");
    Stage::new()
        .at(service)
        .file("trueup.yaml", &format!("{SETTINGS}{UNCHECKED}"))
        .file("pool.yaml", &pool)
        .file("check.yaml", &format!("{CHECK}  new_check: 3\n"))
}

fn spec(service: &Service) -> Value {
    object(service, "origin_pools", "cart")["spec"].clone()
}

#[test]
fn a_listed_field_is_sent_as_it_is_written_and_compared_like_any_other() {
    let service = Service::start();
    service.misbehave("rules: [{write: {unknown: kept}}]");
    let stage = stack(&service);
    stage.run("validate .").code(0);
    stage.run("apply . --yes").code(0).stdout_contains("Verified").stderr_ignored();
    let option = json!({"mode": "FAST", "is_on": false});
    assert_eq!(
        (&spec(&service)["new_option"], &spec(&service)["origin_servers"][0]["new_weight"]),
        (&option, &json!(7))
    );
    assert_eq!(spec(&service)["no_tls"], json!({"new_mode": 2}));
    stage.run("plan .").code(0).stdout_contains("In sync: 2 ").does_not_say("not taken");
    stage.run("drift .").code(0);
    change(&service, "origin_pools", "cart", |body| {
        body["spec"]["new_option"]["mode"] = json!("SLOW");
        body["spec"]["origin_servers"][0]["new_weight"] = json!(9);
        body["spec"]["no_tls"]["new_mode"] = json!(3);
    });
    stage
        .run("plan .")
        .code(0)
        .stdout_contains("spec.new_option.mode")
        .stdout_contains("SLOW -> FAST")
        .stdout_contains("9 -> 7")
        .stdout_contains("3 -> 2");
    stage.run("drift .").code(3);
    stage.run("pull --drift .").stderr_ignored();
    assert!(stage.read("pool.yaml").contains("new_weight"), "{}", stage.read("pool.yaml"));
    stage.run("apply . --yes").code(0).stderr_ignored();
    stage.run("fmt .").stderr_ignored();
    stage.run("plan .").code(0).stdout_contains("In sync: 2 ");
    stage.run("rollback last --yes").stderr_ignored();
}

#[test]
fn a_listed_field_that_was_changed_live_and_is_taken_over_is_in_sync() {
    let service = Service::start();
    service.misbehave("rules: [{write: {unknown: kept}}]");
    let stage = stack(&service);
    stage.run("apply . --yes --quiet").code(0);
    change(&service, "origin_pools", "cart", |body| body["spec"]["new_option"]["mode"] = json!("SLOW"));
    change(&service, "healthchecks", "alive", |body| body["spec"]["new_check"] = json!(4));
    stage.run("pull --drift .").code(0);
    assert!(stage.read("pool.yaml").contains("mode: SLOW"));
    stage.run("plan .").code(0).stdout_contains("2 to annotate");
    stage.run("drift .").code(0);
    stage.run("apply . --yes").code(0).stderr_ignored();
    stage.run("plan .").code(0).stdout_contains("In sync: 2 ");
}

/// It stays in the file, because the service may be one that never took it.
#[test]
fn a_listed_field_that_was_removed_live_is_left_and_named() {
    let service = Service::start();
    service.misbehave("rules: [{write: {unknown: kept}}]");
    let stage = stack(&service);
    stage.edit(
        "pool.yaml",
        "    new_weight: 7\n",
        "    new_weight: 7\n  - public_ip: {ip: 192.0.2.2}\n    new_weight: 8\n",
    );
    stage.run("apply . --yes --quiet").code(0).stderr_ignored();
    change(&service, "origin_pools", "cart", |body| {
        body["spec"]["origin_servers"][0].as_object_mut().expect("a server").remove("new_weight");
        body["spec"]["origin_servers"][1]["new_weight"] = json!(9);
    });
    let pulled = stage.run("pull --drift .");
    pulled.code(3).stdout_contains("Taken over from live:").stderr_ignored();
    pulled.stdout_contains("spec.origin_servers[0].new_weight");
    pulled.stdout_contains("live does not have it, and an apply writes it: remove it by hand, or keep it");
    assert!(stage.read("pool.yaml").contains("new_weight: 7") && stage.read("pool.yaml").contains("new_weight: 9"));
}

#[test]
fn a_listed_field_that_the_file_and_the_console_changed_is_drift_and_pending() {
    let service = Service::start();
    service.misbehave("rules: [{write: {unknown: kept}}]");
    let stage = stack(&service);
    stage.run("apply . --yes --quiet").code(0);
    stage.edit("check.yaml", "new_check: 3", "new_check: 5");
    stage.run("drift .").code(2);
    change(&service, "healthchecks", "alive", |body| body["spec"]["new_check"] = json!(4));
    stage.run("drift .").code(4).stdout_contains("DRIFT AND PENDING");
}

#[test]
fn a_listed_field_with_a_zero_value_drifts_and_waits_as_any_other() {
    let service = Service::start();
    service.misbehave("rules: [{write: {unknown: kept}}]");
    for zero in ["false", "0", "''", "[]"] {
        let stage = stack(&service);
        stage.edit("check.yaml", "new_check: 3", &format!("new_check: {zero}"));
        stage.edit("pool.yaml", "new_weight: 7", &format!("new_weight: {zero}"));
        stage.run("apply . --yes --quiet").code(0);
        stage.run("drift .").code(0);
        // The file alone.
        stage.edit("pool.yaml", "192.0.2.1", "192.0.2.9");
        stage.run("drift .").code(2);
        stage.edit("pool.yaml", "192.0.2.9", "192.0.2.1");
        // The console alone.
        change(&service, "healthchecks", "alive", |body| body["spec"]["new_check"] = json!(true));
        stage.run("drift .").code(3).stdout_contains("spec.new_check");
        stage.run("pull --drift .").code(0);
        assert!(stage.read("check.yaml").contains("new_check: true"), "{}", stage.read("check.yaml"));
        stage.run("apply . --yes --quiet").code(0);
    }
}

#[test]
fn what_the_service_does_not_take_is_a_note_and_no_endless_plan() {
    let service = Service::start();
    let stage = stack(&service);
    stage.run("apply . --yes").code(0).stdout_contains("Verified").stderr_ignored();
    assert_eq!(spec(&service)["new_option"], Value::Null);
    stage
        .run("plan .")
        .code(0)
        .stdout_contains("In sync: 2 ")
        .stdout_contains("spec.new_option was applied and was not taken by the service")
        .stdout_contains("spec.origin_servers[0].new_weight")
        .stdout_contains("spec.no_tls.new_mode");
    stage.run("drift .").code(0);
    // Another value is another try.
    stage.edit("pool.yaml", "mode: FAST", "mode: SLOW");
    stage.run("plan .").code(0).stdout_contains("1 to replace").stdout_contains("spec.new_option");
    stage.run("apply . --yes").code(0).stderr_ignored();
    stage.run("plan .").code(0).stdout_contains("In sync: 2 ");
    stage.edit("pool.yaml", "port: 443", "port: 444");
    stage.run("apply . --yes").code(0).stderr_ignored();
    stage.run("plan .").code(0).stdout_contains("In sync: 2 ");
}

#[test]
fn a_field_that_is_not_listed_stays_an_error_that_names_the_setting() {
    let service = Service::start();
    let stage = stack(&service);
    stage.write("trueup.yaml", SETTINGS);
    stage
        .run("validate .")
        .code(1)
        .stderr_contains("unknown field `new_option`")
        .stderr_contains("`unchecked: [origin_pool.spec.new_option]`")
        .stderr_contains("`unchecked: [origin_pool.spec.origin_servers.new_weight]`");
    for (wrong, said) in [
        ("origin_pol.spec.a", "is not a path below a known field"),
        ("endpoint.spec.a", "is not a path below a known field"),
        ("origin_pool.a", "is not a path below a known field"),
        ("origin_pool.spec.a.b", "is not a path below a known field"),
        ("origin_pool.spec.newOption", "is not a path below a known field"),
    ] {
        stage.write("trueup.yaml", &format!("{SETTINGS}unchecked: [{wrong}]\n"));
        stage.run("validate .").code(1).stderr_contains(said);
    }
    stage.write("trueup.yaml", &format!("{SETTINGS}{UNCHECKED}"));
    stage.run("explain settings .").code(0).stdout_contains("origin_pool.spec.new_option");
}

#[test]
fn a_reference_may_name_its_kind_as_the_console_writes_it() {
    let service = Service::start();
    let named = |kind: &str| POOL.replace("{name: alive}", &format!("{{name: alive, namespace: shop, kind: {kind}}}"));
    let stage = super::stack(&service);
    stage.write("d/a-pool.yaml", &named("healthcheck"));
    stage.run("validate d").code(0).does_not_say("`kind`");
    stage.run("apply d --yes --quiet").code(0);
    assert!(object(&service, "origin_pools", "cart")["spec"]["healthcheck"][0].get("kind").is_none());
    stage.run("plan d").code(0).stdout_contains("In sync");
    stage.write("d/a-pool.yaml", &named("site"));
    stage.run("validate d").code(1).stderr_contains("`healthcheck` cannot refer to the kind `site`");
}

#[test]
fn an_empty_part_of_a_reference_says_nothing() {
    let service = Service::start();
    let stage = super::stack(&service);
    // With and without what only the careful reader takes.
    for (at, empty) in ["namespace: '', tenant: ''", "namespace: '', tenant: '', kind: ''"].into_iter().enumerate() {
        let check = format!("{{name: alive, {empty}}}");
        stage.write(
            "d/a-pool.yaml",
            &POOL.replace("{name: alive}", &check).replace("port: 443", &format!("port: 8{at}")),
        );
        stage.run("apply d --yes").code(0).stdout_contains("Verified").stderr_ignored();
        stage.run("drift d").code(0).stdout_contains("In sync");
    }
    let cluster = "kind: virtual_k8s\nmetadata: {name: k, namespace: shop}\nspec: {vsite_refs: [{name: all, namespace: shop, uid: ''}]}\n";
    let place = "kind: virtual_site\nmetadata: {name: all, namespace: shop}\nspec: {site_type: CUSTOMER_EDGE, site_selector: {expressions: [a=b]}}\n";
    stage.write("d/cluster.yaml", cluster);
    stage.write("d/place.yaml", place);
    stage.edit("trueup.yaml", "kinds: [", "kinds: [virtual_k8s, virtual_site, ");
    stage.run("apply d --yes").code(0).stdout_contains("Verified").stderr_ignored();
    stage.run("drift d").code(0).stdout_contains("In sync");
}

#[test]
fn a_field_that_a_later_release_adds_to_an_object_is_noted_and_no_drift() {
    let service = Service::start();
    service.misbehave("rules: [{write: {unknown: kept}}]");
    let stage = super::stack(&service);
    stage.run("apply d --yes --quiet").code(0);
    change(&service, "origin_pools", "cart", |body| {
        body["spec"]["disable_newer"] = json!({});
        body["spec"]["no_tls"]["newer"] = json!(1);
        body["spec"]["origin_servers"][0]["newer"] = json!({"a": 1});
    });
    for settings in ["", "strict: true\n"] {
        stage.write("trueup.yaml", &format!("{SETTINGS}{settings}"));
        let drift = stage.run("drift d");
        drift.code(0);
        for field in ["disable_newer", "no_tls.newer", "origin_servers[0].newer"] {
            let note = format!("has the field spec.{field}, which this trueup does not know and keeps");
            drift.stdout_contains("In sync: 3 objects").stdout_contains(&note);
        }
    }
    let pulled = stage.run("pull -n shop --kind origin_pool -o ../pulled");
    for field in ["spec.disable_newer", "spec.no_tls.newer", "spec.origin_servers[0].newer"] {
        let said = format!("not written: {field} of origin_pool:shop/cart: this trueup does not know it");
        pulled.code(0).stderr_contains(&said);
        assert!(stage.read("../pulled/shop/origin_pool/cart.yaml").contains(&format!("does not know it: {field}\n")));
    }
    // What is known and not named is still drift.
    change(&service, "origin_pools", "cart", |body| body["spec"]["health_check_port"] = json!(81));
    stage.write("trueup.yaml", SETTINGS);
    stage.run("drift d").code(3).stdout_contains("spec.health_check_port");
}

#[test]
fn a_secret_in_clear_text_in_an_unchecked_field_is_refused_at_its_place() {
    let (clear, sealed) = (
        json!({"clear_secret_info": {"url": "string:///b3Blbi1zZXNhbWU"}}),
        json!({"blindfold_secret_info": {"location": "string:///c2VhbGVk"}}),
    );
    let service = Service::start();
    let settings = "stack: chain\nnamespaces: [shop]\nkinds: [origin_pool]\nunchecked: [origin_pool.spec.new_option]\n";
    let stage = Stage::new().at(&service).file("trueup.yaml", settings);
    let camel = json!({"clearSecretInfo": clear["clear_secret_info"]});
    let deep = json!([{"sealed": sealed, "pairs": [{"key": clear}]}]);
    for option in [clear, camel, json!({"clear_secret_info": "b3Blbi1zZXNhbWU"}), deep] {
        let pool = POOL.replace("  healthcheck:\n  - {name: alive}\n", &format!("  new_option: {option}\n"));
        stage.write("d/pool.yaml", &pool);
        for line in ["validate .", "plan .", "explain origin_pool:shop/cart ."] {
            let refused = stage.run(line);
            refused
                .code(1)
                .stderr_contains("the secret in `new_option` is in clear text")
                .does_not_say("b3Blbi1zZXNhbWU");
        }
    }
    stage.write(
        "d/pool.yaml",
        &POOL.replace("  healthcheck:\n  - {name: alive}\n", &format!("  new_option: {sealed}\n")),
    );
    stage.run("validate .").code(0);
}
