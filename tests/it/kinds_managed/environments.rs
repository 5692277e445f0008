//! Overlays and variables of objects of other kinds than endpoint.

use serde_json::{Map, Value, json};
use trueup::kind;
use trueup::load::{self, LoadOptions, SourceFile};
use trueup::model::Object;

use crate::support::objects::{self, Specs};
use crate::support::{Service, Stage};

const SETTINGS: &str = "namespaces: [shop]
kinds: [origin_pool, healthcheck]
environments:
  prod: {stack: shop, overlay: o/prod, variables: {host: 192.0.2.7, port: \"8443\"}}
  test: {stack: shop-test, variables: {host: 192.0.2.8, port: \"443\"}}
";
const POOL: &str = "kind: origin_pool
metadata: {name: cart, namespace: shop, labels: {tier: web}}
spec:
  origin_servers:
  - public_ip: {ip: \"${host}\"}
  port: ${port}
  no_tls: {}
  loadbalancer_algorithm: RANDOM
  advanced_options: {connection_timeout: 2000, http_idle_timeout: 9000}
";

fn stage() -> Stage {
    Stage::new().file("trueup.yaml", SETTINGS).file("pool.yaml", POOL)
}

/// The spec of the pool in the plan of an environment.
fn planned(stage: &Stage, environment: &str) -> Value {
    let plan = stage.run(&format!("plan . --env {environment} --format json")).code(0).json();
    let changes = plan["plan"]["changes"].as_array().expect("changes").clone();
    let pool = changes.iter().find(|change| change["key"] == "origin_pool:shop/cart").expect("the pool");
    pool["action"]["create"]["wanted"]["spec"].clone()
}

#[test]
fn an_overlay_sets_adds_and_removes_values_of_any_kind_and_an_option_drops_the_others() {
    let service = Service::start();
    let stage = stage().at(&service).file(
        "o/prod/cart.yaml",
        "kind: origin_pool
metadata: {name: cart, namespace: shop, labels: {tier: null, team: a}}
spec:
  endpointSelection: LOCAL_PREFERRED
  useTls: {skip_server_verification: {}, volterra_trusted_ca: {}, no_mtls: {}, default_session_key_caching: {}, use_host_header_as_sni: {}, tls_config: {default_security: {}}}
  loadbalancer_algorithm: null
  advanced_options: {http_idle_timeout: null}
  origin_servers:
  - public_ip: {ip: \"${host}\"}
  - public_ip: {ip: 192.0.2.9}
",
    );
    // Two options of one group, at any depth.
    stage
        .run("validate . --env prod")
        .code(1)
        .stderr_contains("o/prod/cart.yaml:5")
        .stderr_contains("`skip_server_verification` and `volterra_trusted_ca` cannot both be set");
    stage.edit("o/prod/cart.yaml", "skip_server_verification: {}, ", "");
    let spec = planned(&stage, "prod");
    assert_eq!(
        spec,
        json!({
            "origin_servers": [{"public_ip": {"ip": "192.0.2.7"}}, {"public_ip": {"ip": "192.0.2.9"}}],
            "port": 8443,
            "endpoint_selection": "LOCAL_PREFERRED",
            "use_tls": {"volterra_trusted_ca": {}, "no_mtls": {}, "default_session_key_caching": {},
                "use_host_header_as_sni": {}, "tls_config": {"default_security": {}}},
            "advanced_options": {"connection_timeout": 2000},
        })
    );
    let spec = planned(&stage, "test");
    assert_eq!((&spec["port"], &spec["no_tls"]), (&json!(443), &json!({})));
    stage
        .run("explain --env prod origin_pool:shop/cart .")
        .code(0)
        .stdout_contains("o/prod/cart.yaml:4, overlay")
        .stdout_contains("spec.advanced_options.connection_timeout")
        .stdout_contains("not named, by o/prod/cart.yaml:7, overlay")
        .stdout_contains("o/prod/cart.yaml:8, overlay");
    stage.run("apply . --env prod --yes").code(0).stderr_ignored();
    stage.run("plan . --env prod").code(0).stdout_contains("In sync: 1 ");
}

#[test]
fn a_key_with_a_digit_is_one_field_in_both_spellings() {
    let service = Service::start();
    let head = "kind: cluster\nmetadata: {name: edge, namespace: shop}\nspec:\n";
    let stage = Stage::new()
        .at(&service)
        .file("trueup.yaml", "namespaces: [shop]\nenvironments: {prod: {stack: shop, overlay: o}}\n")
        .file("edge.yaml", &format!("{head}  outlierDetection:\n    consecutive5xx: 3\n    interval: 1000\n"))
        .file("o/edge.yaml", &format!("{head}  outlier_detection: {{consecutive_5xx: null}}\n"));
    let planned = || {
        let plan = stage.run("plan . --env prod --format json").code(0).json();
        plan["plan"]["changes"][0]["action"]["create"]["wanted"]["spec"]["outlier_detection"].clone()
    };
    assert_eq!(planned(), json!({"interval": 1000}));
    stage.edit("o/edge.yaml", "null", "7");
    assert_eq!(planned(), json!({"consecutive_5xx": 7, "interval": 1000}));
    stage.remove("o/edge.yaml");
    stage.run("apply . --env prod --yes").code(0).stderr_ignored();
    stage.edit("edge.yaml", "5xx: 3", "5xx: 4");
    stage.run("plan . --env prod").code(0).stdout_contains("edge.yaml:5");
    stage.run("explain cluster.spec.outlierDetection.consecutive5xx").code(0).stdout_contains("consecutive_5xx");
}

#[test]
fn what_a_later_overlay_drops_with_its_option_is_not_explained_as_set_back() {
    let settings =
        "namespaces: [shop]\nenvironments:\n  live: {overlay: o/live}\n  prod: {extends: live, overlay: o/prod}\n";
    let pool = "kind: origin_pool\nmetadata: {name: cart, namespace: shop}\nspec:\n";
    let stage = Stage::new()
        .file("trueup.yaml", settings)
        .file(
            "pool.yaml",
            &format!(
                "{pool}  port: 443\n  use_tls: {{sni: shop.example.com, tls_config: {{default_security: {{}}}}}}\n"
            ),
        )
        .file("o/live/cart.yaml", &format!("{pool}  use_tls: {{sni: null}}\n"))
        .file("o/prod/cart.yaml", &format!("{pool}  no_tls: {{}}\n"));
    let explained = |environment: &str| stage.run(&format!("explain --env {environment} origin_pool:shop/cart ."));
    explained("live").code(0).stdout_contains("spec.use_tls.sni").stdout_contains("(none)");
    explained("prod").code(0).stdout_contains("spec.no_tls").does_not_say("(none)");
}

#[test]
fn what_is_wrong_in_an_overlay_of_any_kind_is_said_at_its_place() {
    let stage = stage().file(
        "o/prod/cart.yaml",
        "kind: origin_pool\nmetadata: {name: cart, namespace: shop}\nspec:\n  port: 70000\n  advanced_options: {timeout: 1}\n",
    );
    stage
        .run("validate . --env prod")
        .code(1)
        .stderr_contains("o/prod/cart.yaml:4")
        .stderr_contains("`port` is 70000")
        .stderr_contains("unknown field `timeout`");
    stage.write("o/prod/cart.yaml", "metadata: {name: cart, namespace: shop}\nspec: {port: 80}\n");
    stage
        .run("validate . --env prod")
        .code(1)
        .stderr_contains("the overlay changes `shop/cart`, which no file defines")
        .stderr_contains("to change `origin_pool:shop/cart`, write `kind: origin_pool` here");
    stage.write("o/prod/cart.yaml", "kind: origin_pool\nmetadata: {name: crt, namespace: shop}\nspec: {port: 80}\n");
    stage
        .run("validate . --env prod")
        .code(0)
        .stderr_contains("the overlay defines `origin_pool:shop/crt`, which no file defines")
        .stderr_contains("did you mean `origin_pool:shop/cart`?");
    let twice = "spec: {healthCheckPort: 81, health_check_port: 82}\n";
    stage.write("o/prod/cart.yaml", &format!("kind: origin_pool\nmetadata: {{name: cart, namespace: shop}}\n{twice}"));
    stage
        .run("validate . --env prod")
        .code(1)
        .stderr_contains("`healthCheckPort` and `health_check_port` are two spellings of one field");
    stage.remove("o/prod/cart.yaml");
    stage.write("o/prod/none.yaml", "");
    stage.edit("pool.yaml", "kind: origin_pool\n", "kind: origin_pool\n$remove: true\n");
    stage.run("validate . --env prod").code(1).stderr_contains("`$remove` in a definition");
}

#[test]
fn an_overlay_removes_an_object_of_any_kind_and_defines_one_of_its_own() {
    let service = Service::start();
    let check = "kind: healthcheck\nmetadata: {name: alive, namespace: shop}\nspec:\n  http_health_check: {path: /a, \
                 use_origin_server_name: {}}\n  timeout: 3\n  interval: 15\n  unhealthy_threshold: 2\n  healthy_threshold: 3\n";
    let stage = stage()
        .at(&service)
        .file("o/prod/cart.yaml", "kind: origin_pool\n$remove: true\nmetadata: {name: cart, namespace: shop}\n")
        .file("o/prod/check.yaml", check);
    stage
        .run("plan . --env prod")
        .code(0)
        .stdout_contains("+ create  healthcheck:shop/alive")
        .does_not_say("origin_pool:shop/cart");
    stage
        .run("plan . --env test")
        .code(0)
        .stdout_contains("origin_pool:shop/cart")
        .does_not_say("healthcheck:shop/alive");
}

/// The overlay that makes `wanted` of `base`.
fn overlay(base: &Value, wanted: &Value) -> Value {
    let (Value::Object(old), Value::Object(new)) = (base, wanted) else { return wanted.clone() };
    let gone = old.keys().filter(|key| !new.contains_key(*key)).map(|key| (key.clone(), Value::Null));
    let set =
        new.iter().map(|(key, value)| (key.clone(), old.get(key).map_or(value.clone(), |old| overlay(old, value))));
    gone.chain(set).collect::<Map<_, _>>().into()
}

/// What either has, at every level: an overlay may remove what its definition lacks.
fn union(one: &Value, other: &Value) -> Value {
    let (Value::Object(one), Value::Object(other)) = (one, other) else { return one.clone() };
    let mut all = other.clone();
    for (key, value) in one {
        all.insert(key.clone(), other.get(key).map_or(value.clone(), |other| union(value, other)));
    }
    all.into()
}

fn loaded(files: &[(&str, String)]) -> Object {
    let file =
        |(path, text): &(&str, String)| SourceFile { path: (*path).to_owned(), bytes: text.clone().into_bytes() };
    let options = LoadOptions { environment: Some("prod".to_owned()), ..LoadOptions::default() };
    let loaded = load::sources(files.iter().map(file).collect(), &options);
    let loaded = loaded.unwrap_or_else(|wrong| panic!("{:#?}\n{files:#?}", wrong.list));
    loaded.desired.definitions.into_values().next().expect("a definition").endpoint
}

#[test]
fn of_random_objects_of_every_kind_an_overlay_makes_any_other_one() {
    let seed = objects::seed();
    let mut specs = Specs::new(seed);
    let settings = || ("trueup.yaml", "environments: {prod: {overlay: o}}".to_owned());
    let mut count = 0;
    for kind in kind::all().filter(|kind| kind.name != kind::ENDPOINT) {
        for _ in 0..2 {
            let mut spec = || specs.without_secret(kind);
            let (Some(base), Some(other), Some(wanted)) = (spec(), spec(), spec()) else { continue };
            let changes = overlay(&union(&base, &other), &wanted);
            let document = |spec: &Value| {
                let metadata = json!({"name": "a", "namespace": objects::namespace(kind)});
                format!("{:#}", json!({"kind": kind.name, "metadata": metadata, "spec": spec}))
            };
            let alone = loaded(&[settings(), ("a.json", document(&wanted)), ("o/x.json", "null".to_owned())]);
            let changed = loaded(&[settings(), ("a.json", document(&base)), ("o/x.json", document(&changes))]);
            assert_eq!(changed, alone, "TRUEUP_SEED={seed} {}", kind.name);
            count += 1;
        }
    }
    eprintln!("{count} pairs");
    assert!(count > 220, "{count}");
}

const CHECK: &str = "kind: healthcheck
metadata: {name: alive, namespace: shop}
spec:
  http_health_check:
    path: /x
    use_origin_server_name: {}
  timeout: 3
  interval: 15
  unhealthy_threshold: 2
  healthy_threshold: 3
  jitter_percent: 50
";

/// A health check as it is applied, with an overlay of this text afterwards.
fn overlaid(service: &Service, overlay: &str) -> Stage {
    let head = "kind: healthcheck\nmetadata: {name: alive, namespace: shop}\nspec:\n";
    let stage = Stage::new().at(service).file("trueup.yaml", SETTINGS).file("d.yaml", CHECK);
    stage.write("o/prod/none.yaml", "");
    stage.run("apply . --env prod --yes").code(0).stderr_ignored();
    stage.write("o/prod/a.yaml", &format!("{head}{overlay}"));
    stage
}

#[test]
fn what_an_overlay_sets_to_null_in_a_spec_is_as_if_it_were_not_named() {
    let service = Service::start();
    let stage = overlaid(&service, "  jitter_percent: null\n");
    stage
        .run("explain --env prod healthcheck:shop/alive .")
        .code(0)
        .stdout_contains("not named, by o/prod/a.yaml:4, overlay")
        .does_not_say("default, by o/prod/a.yaml:4");
    let explained = stage.run("explain --env prod healthcheck:shop/alive . --format json").code(0).text().to_owned();
    assert!(explained.contains("\"unnamed\""), "{explained}");
    let is_removed = || {
        let plan = stage.run("plan . --env prod").code(0).text().to_owned();
        let line = plan.lines().find(|line| line.contains("spec.jitter_percent")).expect("the field");
        assert!(line.contains("50 -> (none)") && line.ends_with("o/prod/a.yaml:4"), "{line}");
    };
    // What an apply wrote is removed, by the line that takes it out; what somebody else set stays.
    is_removed();
    stage.run("apply . --env prod --yes").code(0).stderr_ignored();
    super::change(&service, "healthchecks", "alive", |body| body["spec"]["jitter_percent"] = json!(50));
    stage.run("plan . --env prod").code(0).stdout_contains("In sync").stdout_contains("an apply keeps");
    stage.run("drift . --env prod").code(3).stdout_contains("spec.jitter_percent");
    stage.write("trueup.yaml", &format!("{SETTINGS}strict: [healthcheck]\n"));
    is_removed();
    stage.write("trueup.yaml", SETTINGS);
    // To set it to nothing is to write that.
    stage.edit("o/prod/a.yaml", "null", "0");
    stage.run("plan . --env prod").code(0).stdout_contains("spec.jitter_percent").stdout_contains("o/prod/a.yaml:4");
    stage.run("apply . --env prod --yes").code(0).stderr_ignored();
    stage.run("drift . --env prod").code(0);
}

#[test]
fn a_plan_names_the_line_that_sets_each_value_at_any_depth() {
    let service = Service::start();
    let stage = overlaid(&service, "  http_health_check:\n    path: /y\n    headers: {a: b}\n  timeout: 4\n");
    stage.edit("d.yaml", "server_name: {}\n", "server_name: {}\n    expected_status_codes: [\"204\"]\n");
    let plan = stage.run("plan . --env prod").code(0).text().to_owned();
    let line_of = |field: &str| plan.lines().find(|line| line.contains(field)).expect("the field").to_owned();
    for (field, place) in [
        ("spec.http_health_check.path", "o/prod/a.yaml:5"),
        ("spec.http_health_check.headers.a", "o/prod/a.yaml:6"),
        ("spec.http_health_check.expected_status_codes", "d.yaml:7"),
        ("spec.timeout", "o/prod/a.yaml:7"),
    ] {
        let line = line_of(field);
        assert!(line.ends_with(place), "{line}");
    }
    let notices = stage.run("plan . --env prod --format github").code(0).text().to_owned();
    for place in ["file=o/prod/a.yaml,line=5", "file=o/prod/a.yaml,line=6", "file=d.yaml,line=7"] {
        assert!(notices.contains(place), "{place}: {notices}");
    }
}

#[test]
fn a_secret_that_an_overlay_sets_is_at_its_place_there() {
    let service = Service::start();
    let document = |rest: &str, form: &str, value: &str| {
        let head = "kind: certificate\nmetadata: {name: web, namespace: shop}\nspec:\n";
        format!("{head}{rest}  private_key:\n    {form}: {{location: 'string:///{value}'}}\n")
    };
    let overlay = |form: &str, value: &str| document("", form, value);
    let stage = Stage::new()
        .at(&service)
        .file("trueup.yaml", SETTINGS)
        .file("web.yaml", &document("  certificate_url: string:///YQ==\n", "blindfold_secret_info", "AAAA"))
        .file("o/prod/web.yaml", &overlay("blindfold_secret_info", "BBBB"));
    stage.run("apply . --env prod --yes --quiet").code(0);
    let place = "o/prod/web.yaml:4";
    for form in ["clear_secret_info", "blindfold_secret_inf"] {
        stage.write("o/prod/web.yaml", &overlay(form, "DDDD"));
        stage.run("validate . --env prod").code(1).stderr_contains(&format!("--> {place}")).does_not_say("DDDD");
    }
    stage.write("o/prod/web.yaml", &overlay("blindfold_secret_info", "CCCC"));
    stage.run("plan . --env prod").code(0).stdout_contains(place).does_not_say("web.yaml:5");
    let explained = |shown: usize, why: &str| {
        for format in ["text", "json"] {
            let ran = stage.run(&format!("explain certificate:shop/web . --env prod --format {format}"));
            ran.code(0).does_not_say("AAAA").does_not_say("CCCC").stdout_contains("private_key");
            assert_eq!(ran.text().matches("(not shown)").count(), shown, "{why}: {}", ran.text());
        }
    };
    explained(2, "it, and what it replaces");
    let null = overlay("blindfold_secret_info", "")
        .replace(":\n    blindfold_secret_info: {location: 'string:///'}", ": null");
    stage.write("o/prod/web.yaml", &null);
    explained(1, "what it takes away");
}
