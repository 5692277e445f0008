//! Objects of other kinds than endpoint, through the commands: plan, apply, drift, change, delete, in the order of their
//! references.

mod adopted;
mod as_endpoints;
mod audited;
mod bodies;
mod copied;
mod environments;
mod graphs;
mod made_up;
mod namesakes;
mod offline;
mod order;
mod properties;
mod recreated;
mod secrets;
mod threads;
mod unchecked;
mod undone;
mod unread;
mod whole_namespace;
mod writers;

use serde_json::{Value, json};
use trueup::kind::Kind;

use crate::requests::Recorder;
use crate::support::objects::{self, Specs};
use crate::support::{Service, Stage, TOKEN};

/// A health check, a pool that uses it, and an endpoint; the pool's file comes first.
const POOL: &str = "kind: origin_pool
metadata: {name: cart, namespace: shop}
spec:
  origin_servers:
  - public_ip: {ip: 192.0.2.1}
  - public_ip: {ip: 192.0.2.2}
  port: 443
  no_tls: {}
  healthcheck:
  - {name: alive}
";
const CHECK: &str = "kind: healthcheck
metadata: {name: alive, namespace: shop}
spec:
  http_health_check: {path: /alive, use_origin_server_name: {}}
  timeout: 3
  interval: 15
  unhealthy_threshold: 2
  healthy_threshold: 3
";

fn stack(service: &Service) -> Stage {
    let settings = "stack: chain\nnamespaces: [shop]\nkinds: [origin_pool, healthcheck]\n";
    Stage::new()
        .at(service)
        .file("trueup.yaml", settings)
        .file("d/a-pool.yaml", POOL)
        .file("d/check.yaml", CHECK)
        .file("d/ep.yaml", &crate::support::definition("shop/ep", 80))
}

fn object(service: &Service, plural: &str, name: &str) -> Value {
    let (status, body) = service.send("GET", &format!("/api/config/namespaces/shop/{plural}/{name}"), None);
    assert_eq!(status, 200, "{body}");
    serde_json::from_str(&body).expect("JSON")
}

fn change(service: &Service, plural: &str, name: &str, change: impl FnOnce(&mut Value)) {
    let mut now = object(service, plural, name);
    let mut body = json!({"metadata": now["metadata"].take(), "spec": now["spec"].take()});
    change(&mut body);
    let path = format!("/api/config/namespaces/shop/{plural}/{name}");
    let (status, answer) = service.send("PUT", &path, Some(&body.to_string()));
    assert_eq!(status, 200, "{answer}");
}

#[test]
fn objects_of_several_kinds_are_created_in_the_order_of_their_references_and_then_in_sync() {
    let service = Service::start();
    let stage = stack(&service);
    stage
        .run("plan .")
        .code(0)
        .stdout_contains("+ create  origin_pool:shop/cart")
        .stdout_contains("+ create  healthcheck:shop/alive")
        .stdout_contains("+ create  shop/ep")
        .stdout_contains("spec.origin_servers[0].public_ip.ip");
    stage.run("apply . --yes").code(0).stdout_contains("Applied 3 of 3").stdout_contains("Verified").stderr_ignored();
    let creates: Vec<String> = service
        .log()
        .iter()
        .filter(|entry| entry.method == "POST")
        .map(|entry| entry.path.rsplit('/').next().unwrap_or_default().to_owned())
        .collect();
    let at = |plural: &str| creates.iter().position(|path| path == plural).expect("it was created");
    assert!(at("healthchecks") < at("origin_pools"), "{creates:?}");
    stage.run("plan .").code(0).stdout_contains("In sync: 3 ").does_not_say("left alone");
    stage.run("drift .").code(0);
}

#[test]
fn a_change_in_the_console_is_drift_and_an_apply_reverts_it_and_nothing_else() {
    let service = Service::start();
    let stage = stack(&service);
    stage.run("apply . --yes").code(0).stderr_ignored();
    change(&service, "origin_pools", "cart", |body| {
        body["spec"]["origin_servers"][1]["public_ip"]["ip"] = json!("192.0.2.9");
        body["spec"]["advanced_options"] = json!({"connection_timeout": 2500});
    });
    stage
        .run("drift .")
        .code(3)
        .stdout_contains("origin_pool:shop/cart")
        .stdout_contains("    object ")
        .stdout_contains("spec.origin_servers[1].public_ip.ip")
        .stdout_contains("192.0.2.9");
    stage.run("plan .").code(0).stdout_contains("192.0.2.9 -> 192.0.2.2").stdout_contains("spec.advanced_options");
    stage.run("apply . --yes").code(0).stdout_contains("Applied 1 of 1").stderr_ignored();
    let now = object(&service, "origin_pools", "cart");
    assert_eq!(now["spec"]["origin_servers"][1]["public_ip"]["ip"], "192.0.2.2");
    assert_eq!(now["spec"]["advanced_options"]["connection_timeout"], 2500, "nobody asked to remove it");
    stage.run("plan .").code(0);
}

#[test]
fn a_change_of_a_file_is_pending_and_a_rollback_restores_the_object() {
    let service = Service::start();
    let stage = stack(&service);
    stage.run("apply . --yes").code(0).stderr_ignored();
    stage.edit("d/a-pool.yaml", "port: 443", "port: 8443");
    stage.run("plan .").code(0).stdout_contains("spec.port").stdout_contains("443 -> 8443").stdout_contains("pending");
    stage.run("apply . --yes").code(0).stderr_ignored();
    assert_eq!(object(&service, "origin_pools", "cart")["spec"]["port"], 8443);
    stage.run("rollback last --yes").code(0).stderr_ignored();
    assert_eq!(object(&service, "origin_pools", "cart")["spec"]["port"], 443);
}

#[test]
fn a_rollback_restores_a_unit_of_which_the_service_filled_a_part() {
    let service = Service::start();
    let stage = stack(&service).file("d/other.yaml", &CHECK.replace("alive", "other"));
    stage.run("apply . --yes").code(0).stderr_ignored();
    let before = object(&service, "origin_pools", "cart")["spec"].clone();
    stage.edit("d/a-pool.yaml", "- {name: alive}", "- {name: other}");
    stage.run("apply . --yes").code(0).stderr_ignored();
    assert_eq!(object(&service, "origin_pools", "cart")["spec"]["healthcheck"][0]["name"], "other");
    stage.run("rollback last --yes").code(0).stderr_ignored();
    assert_eq!(object(&service, "origin_pools", "cart")["spec"], before);
    // What somebody added since is still theirs.
    stage.run("apply . --yes").code(0).stderr_ignored();
    change(&service, "origin_pools", "cart", |body| {
        body["spec"]["healthcheck"].as_array_mut().expect("a list").push(json!({"name": "alive"}));
    });
    stage.run("rollback last --yes").code(6).stdout_contains("changed since the run").stderr_ignored();
}

#[test]
fn a_rollback_takes_back_a_choice_whose_value_is_nothing() {
    let service = Service::start();
    let route = "kind: route\nmetadata: {name: r, namespace: shop}\nspec: {routes: [{service_policy: {}}]}\n";
    let stage = Stage::new().at(&service).file("trueup.yaml", "stack: s\nnamespaces: [shop]\n").file("r.yaml", route);
    stage.run("apply . --yes").code(0).stderr_ignored();
    let before = object(&service, "routes", "r")["spec"].clone();
    stage.edit("r.yaml", "service_policy: {}", "service_policy: {disable: false}");
    stage.run("apply . --yes").code(0).stderr_ignored();
    assert_eq!(object(&service, "routes", "r")["spec"]["routes"][0]["service_policy"]["disable"], false);
    stage.run("rollback last --yes").code(0).stdout_contains("1 replaced").stderr_ignored();
    assert_eq!(object(&service, "routes", "r")["spec"], before);
}

#[test]
fn what_a_blocked_delete_refers_to_is_blocked_too() {
    let service = Service::start();
    let stage = stack(&service);
    stage.run("apply . --yes").code(0).stderr_ignored();
    let theirs = json!({
        "metadata": {"name": "theirs", "namespace": "shop"},
        "spec": {"domains": ["a.example.com"], "http": {}, "default_route_pools": [{"pool": {"name": "cart"}}]},
    });
    let path = "/api/config/namespaces/shop/http_loadbalancers";
    let (status, answer) = service.send("POST", path, Some(&theirs.to_string()));
    assert_eq!(status, 200, "{answer}");
    stage.remove("d/a-pool.yaml");
    stage.remove("d/check.yaml");
    let plan = stage.run("plan . --format json").json()["plan"].clone();
    assert_eq!(plan["changes"], json!([]), "{plan}");
    let blocked: Vec<&Value> = plan["blocked"].as_array().expect("a list").iter().map(|one| &one["key"]).collect();
    assert_eq!(blocked, ["healthcheck:shop/alive", "origin_pool:shop/cart"]);
}

#[test]
fn an_object_is_explained_by_what_it_writes_and_formatting_leaves_its_spec_as_it_is() {
    let service = Service::start();
    let stage = stack(&service);
    stage
        .run("explain origin_pool:shop/cart .")
        .code(0)
        .stdout_contains("spec.port")
        .stdout_contains("d/a-pool.yaml:7")
        .does_not_say("spec.protocol");
    stage.run("fmt . --check").code(0);
    stage.edit("d/a-pool.yaml", "metadata: {name: cart, namespace: shop}\n", "");
    stage
        .write("d/a-pool.yaml", &format!("{}metadata: {{namespace: shop, name: cart}}\n", stage.read("d/a-pool.yaml")));
    stage.run("fmt .").stderr_ignored();
    assert_eq!(stage.read("d/a-pool.yaml"), POOL);
}

/// What a plan does to which object.
fn planned(change: &Value) -> String {
    let action = &change["action"];
    let name = action.as_object().and_then(|action| action.keys().next()).map_or("block", String::as_str);
    format!("{name} {}", change["key"].as_str().unwrap_or_default())
}

/// A random object of a kind in which there is no secret without a sealed form; nothing where the kind has one everywhere.
fn with_sealed_secrets(specs: &mut Specs, kind: &Kind) -> Option<Value> {
    (0..50).map(|_| specs.spec(kind)).find(|spec| !spec.to_string().contains("hush"))
}

#[test]
fn after_an_apply_of_every_kind_the_plan_is_empty_and_so_is_that_of_what_is_pulled() {
    let seed = objects::seed();
    let mut specs = Specs::new(seed);
    let service = Service::start();
    let kinds = objects::kinds();
    let stage = Stage::new().at(&service).file("trueup.yaml", &objects::settings());
    let mut secret = Vec::new();
    for kind in &kinds {
        let Some(spec) = with_sealed_secrets(&mut specs, kind) else {
            secret.push(kind.name);
            continue;
        };
        let metadata = json!({"name": "a", "namespace": objects::namespace(kind)});
        let object = json!({"kind": kind.name, "metadata": metadata, "spec": spec});
        stage.write(&format!("d/{}.json", kind.name), &format!("{object:#}"));
    }
    eprintln!("no object without a secret in clear text: {secret:?}");
    assert!(secret.len() < 3, "{secret:?}");
    let valid = stage.run("validate . --format json");
    valid.stderr_ignored();
    let wrong: Vec<String> = valid.json()["diagnostics"]
        .as_array()
        .expect("a list")
        .iter()
        .filter(|found| found["severity"] == "error")
        .map(|found| format!("{}: {}", found["file"], found["message"]))
        .collect();
    assert_eq!(wrong, Vec::<String>::new(), "TRUEUP_SEED={seed}");
    let applied = stage.run("apply . --yes --format json");
    applied.stderr_ignored();
    let outcome = applied.json()["outcome"].clone();
    assert!(outcome["verification"]["verified"].is_object(), "TRUEUP_SEED={seed}: {}", outcome["verification"]);
    let failed: Vec<String> = outcome["steps"]
        .as_array()
        .expect("a list")
        .iter()
        .filter(|step| step["result"]["done"].is_null())
        .map(|step| format!("{}: {}", step["key"], step["result"]))
        .collect();
    assert_eq!(failed, Vec::<String>::new(), "TRUEUP_SEED={seed}");
    let changed = |plan: &Value| -> Vec<String> {
        let part = |name: &str| plan["plan"][name].as_array().expect("a list").clone();
        part("changes").iter().chain(&part("blocked")).map(planned).collect()
    };
    let plan = stage.run("plan . --format json");
    assert_eq!(changed(&plan.json()), Vec::<String>::new(), "TRUEUP_SEED={seed}");
    stage.run("drift .").code(0);
    std::fs::rename(stage.path("d"), stage.path(".d")).expect("the definitions");
    stage.run("pull --output p").stderr_ignored();
    let mut plan = stage.run("plan . --format json").json();
    // What was applied and no answer shows is in no pulled definition: the plan says that it goes.
    let is_unseen = |field: &Value| field["before"].is_null() && field["after"].is_null();
    let is_shown = |change: &Value| {
        change["action"]["replace"]["fields"].as_array().is_none_or(|fields| !fields.iter().all(is_unseen))
    };
    plan["plan"]["changes"].as_array_mut().expect("a list").retain(is_shown);
    for kind in &kinds {
        let of_kind = |line: &&String| line.contains(&format!("{}:", kind.name));
        if changed(&plan).iter().any(|line| of_kind(&line)) {
            eprintln!("was {}", stage.read(&format!(".d/{}.json", kind.name)));
            let pulled = stage.path(&format!("p/{}/{}/a.yaml", objects::namespace(kind), kind.name));
            eprintln!("pulled {}", std::fs::read_to_string(pulled).unwrap_or_default());
        }
    }
    assert_eq!(changed(&plan), Vec::<String>::new(), "TRUEUP_SEED={seed}");
}

const SITE: &str = "kind: securemesh_site
metadata: {name: edge, namespace: system}
spec:
  volterra_certified_hw: abc
  master_node_configuration:
  - {name: a}
  coordinates: {latitude: -0.5, longitude: 7.25}
  sw: {volterra_software_version: '1'}
";

#[test]
fn a_changed_value_that_no_answer_shows_is_planned_once() {
    let service = Service::start();
    let settings = "stack: sites\nnamespaces: [system]\nkinds: [securemesh_site]\n";
    let stage = Stage::new().at(&service).file("trueup.yaml", settings).file("d/site.yaml", SITE);
    stage.run("apply . --yes").code(0).stderr_ignored();
    stage.run("plan .").code(0).stdout_contains("In sync");
    stage.edit("d/site.yaml", "version: '1'", "version: '2'");
    stage.run("plan .").code(0).stdout_contains("spec.sw.volterra_software_version").stdout_contains("pending");
    stage.run("apply . --yes").code(0).stderr_ignored();
    stage.run("plan .").code(0).stdout_contains("In sync");
    stage.edit("d/site.yaml", "  sw: {volterra_software_version: '2'}\n", "");
    for format in ["text", "json", "markdown", "html", "github", "sarif"] {
        stage.run(&format!("plan . --format {format}")).code(0).stdout_contains("spec.sw").stderr_ignored();
    }
    stage.run("plan .").code(0).stdout_contains("(not shown) -> (none)").stdout_contains("pending");
    stage.run("drift . --format junit").code(2).stdout_contains("spec.sw").stderr_ignored();
    // A write of something else would reset it as well.
    let settings = stage.read("trueup.yaml");
    stage.write("trueup.yaml", &format!("{settings}ignore: [{{object: '*', field: spec.sw}}]\n"));
    stage.edit("d/site.yaml", "latitude: -0.5", "latitude: 8");
    stage.run("apply . --yes").stdout_contains("a write of it would change spec.sw").stderr_ignored();
    stage.edit("d/site.yaml", "latitude: 8", "latitude: -0.5");
    stage.run("plan .").code(0).stdout_contains("In sync");
    stage.write("trueup.yaml", &settings);
    stage.run("plan . --output plan.json").code(0);
    stage.run("apply plan.json --yes").code(0).stdout_contains("1 replaced").stderr_ignored();
    stage.run("plan .").code(0).stdout_contains("In sync");
    stage.run("rollback last").stdout_contains("what it had in spec.sw");
    stage.write("d/site.yaml", SITE);
    stage.run("apply . --yes").code(0).stderr_ignored();
    stage.run("rollback last").code(6).stderr_contains("(not shown) -> (none)");
    stage.remove("d/site.yaml");
    let not_written = "not written: spec.sw of securemesh_site:system/edge: no answer shows it; write what was applied";
    stage.run("pull --output p --no-schema").code(0).stderr_contains(not_written);
    stage.remove("p/system/securemesh_site/edge.yaml");
    stage.run("rollback last --yes").code(0).stderr_ignored();
    stage.run("pull --output p").code(0).stderr_ignored();
    let pulled = stage.read("p/system/securemesh_site/edge.yaml");
    assert!(pulled.contains("latitude: -0.5") && pulled.contains("longitude: 7.25"), "{pulled}");
}

#[test]
fn a_replace_and_a_rollback_write_what_no_answer_shows() {
    let service = Service::start();
    let recorder = Recorder::before(&service);
    let settings = "stack: sites\nnamespaces: [system]\nkinds: [securemesh_site]\n";
    let stage = Stage::new().env("TRUEUP_BASE_URL", &recorder.url).env("TRUEUP_TOKEN", TOKEN);
    let stage = stage.file("trueup.yaml", settings).file("d/site.yaml", SITE);
    stage.run("apply . --yes").code(0).stderr_ignored();
    stage.edit("d/site.yaml", "latitude: -0.5", "latitude: 8");
    stage.run("apply . --yes").code(0).stderr_ignored();
    stage.run("rollback last --yes").code(0).stderr_ignored();
    let sent = recorder.take();
    let bodies = sent.iter().filter(|sent| sent.method == "PUT").filter_map(|sent| sent.body.as_ref());
    let said = bodies.map(|body| (&body["spec"]["coordinates"]["latitude"], &body["spec"]["sw"]));
    let software = json!({"volterra_software_version": "1"});
    assert_eq!(said.collect::<Vec<_>>(), [(&json!(8.0), &software), (&json!(-0.5), &software)]);
}

#[test]
fn a_rollback_is_blocked_that_would_lose_what_no_answer_shows() {
    let service = Service::start();
    let recorder = Recorder::before(&service);
    let settings = "stack: sites\nnamespaces: [system]\nkinds: [securemesh_site]\n";
    let stage = Stage::new().env("TRUEUP_BASE_URL", &recorder.url).env("TRUEUP_TOKEN", TOKEN);
    let stage = stage.file("trueup.yaml", settings).file("d/site.yaml", SITE);
    stage.run("apply . --yes").code(0).stderr_ignored();
    stage.edit("d/site.yaml", "version: '1'", "version: '2'");
    stage.edit("d/site.yaml", "latitude: -0.5", "latitude: 8");
    stage.run("apply . --yes").code(0).stderr_ignored();
    recorder.take();
    stage.run("rollback last --yes").stdout_contains("what it had in spec.sw").stderr_ignored();
    assert!(recorder.take().iter().all(|sent| sent.method == "GET"));
    stage.edit("d/site.yaml", "version: '2'", "version: '1'");
    stage.run("rollback last --yes").code(0).stderr_ignored();
    let sent = recorder.take();
    let replaced =
        sent.iter().find(|sent| sent.method == "PUT").and_then(|sent| sent.body.as_ref()).expect("a replace");
    assert_eq!(replaced["spec"]["sw"], json!({"volterra_software_version": "1"}));
}

const ADVANCED: &str = "  advanced_options:
    connection_timeout: 5
    http_idle_timeout: 7
";

#[test]
fn what_a_definition_no_longer_names_goes_if_an_apply_wrote_it() {
    let service = Service::start();
    let stage = stack(&service);
    stage.edit("d/a-pool.yaml", "  port: 443\n", &format!("  port: 443\n  loadbalancer_algorithm: RANDOM\n{ADVANCED}"));
    stage.run("apply . --yes").code(0).stderr_ignored();
    let spec = || object(&service, "origin_pools", "cart")["spec"].clone();
    assert_eq!(spec()["advanced_options"]["http_idle_timeout"], 7);
    stage.edit("d/a-pool.yaml", "    http_idle_timeout: 7\n", "");
    stage.edit("d/a-pool.yaml", "  loadbalancer_algorithm: RANDOM\n", "");
    stage
        .run("plan .")
        .code(0)
        .stdout_contains("spec.advanced_options.http_idle_timeout")
        .stdout_contains("spec.loadbalancer_algorithm");
    stage.run("apply . --yes").code(0).stderr_ignored();
    assert_eq!(spec()["advanced_options"]["connection_timeout"], 5);
    assert!(!matches!(spec()["advanced_options"]["http_idle_timeout"].as_u64(), Some(7)));
    assert_ne!(spec()["loadbalancer_algorithm"], "RANDOM");
    stage.run("plan .").code(0).stdout_contains("In sync");
    stage.edit("d/a-pool.yaml", ADVANCED.split_inclusive('\n').take(2).collect::<String>().as_str(), "");
    stage.run("plan .").code(0).stdout_contains("spec.advanced_options");
    stage.run("apply . --yes").code(0).stderr_ignored();
    stage.run("plan .").code(0).stdout_contains("In sync");
    stage.run("drift .").code(0);
}

#[test]
fn what_no_definition_names_stays_and_counts_as_drift_until_it_is_named_ignored_or_strict() {
    let service = Service::start();
    let stage = stack(&service);
    stage.run("apply . --yes").code(0).stderr_ignored();
    stage.run("drift .").code(0);
    change(&service, "origin_pools", "cart", |body| {
        body["spec"]["advanced_options"] = json!({"connection_timeout": 9});
    });
    let said = "spec.advanced_options";
    stage.run("plan .").code(0).stdout_contains("In sync").stdout_contains(said);
    stage.run("drift .").code(3).stdout_contains("origin_pool:shop/cart").stdout_contains(said);
    stage.run("apply . --yes").code(0).stderr_ignored();
    stage.run("drift .").code(3);
    let settings = stage.read("trueup.yaml");
    let ignore = "ignore:\n- {object: 'origin_pool:shop/*', field: spec.advanced_options}\n";
    stage.write("trueup.yaml", &format!("{settings}{ignore}"));
    stage.run("drift .").code(0).does_not_say(said);
    stage.write("trueup.yaml", &format!("{settings}strict: [healthcheck]\n"));
    stage.run("drift .").code(3);
    stage.write("trueup.yaml", &format!("{settings}strict: true\n"));
    stage.run("plan .").code(0).stdout_contains("~ replace").stdout_contains(said);
    stage.run("apply . --yes").code(0).stderr_ignored();
    assert_eq!(object(&service, "origin_pools", "cart")["spec"]["advanced_options"], Value::Null);
    stage.run("drift .").code(0);
}

#[test]
fn a_rollback_takes_away_what_the_run_added_within_a_unit() {
    let service = Service::start();
    let stage = stack(&service);
    stage.edit("d/a-pool.yaml", "  port: 443\n", "  port: 443\n  advanced_options: {connection_timeout: 5}\n");
    stage.run("apply . --yes").code(0).stderr_ignored();
    let spec = || object(&service, "origin_pools", "cart")["spec"].clone();
    let before = spec();
    stage.edit("d/a-pool.yaml", "{connection_timeout: 5}", "{connection_timeout: 5, http_idle_timeout: 7}");
    stage.run("apply . --yes").code(0).stderr_ignored();
    assert_ne!(spec(), before);
    stage.run("rollback last --yes").code(0).stderr_ignored();
    assert_eq!(spec(), before);
}

#[test]
fn an_object_moves_by_its_key_where_no_settings_list_its_kind() {
    for glob in ["healthcheck:shop/alive", "shop/alive", "*"] {
        let service = Service::start();
        let stage = Stage::new()
            .at(&service)
            .file("one/trueup.yaml", "stack: one\nnamespaces: [shop]\n")
            .file("one/check.yaml", CHECK)
            .file("two/trueup.yaml", "stack: two\nnamespaces: [shop]\n")
            .committed();
        stage.run("apply one --yes --quiet").code(0);
        stage.run(&format!("move --from one --directory two {glob} --yes --quiet")).code(0);
        let owner = object(&service, "healthchecks", "alive")["metadata"]["annotations"]["trueup/stack"].take();
        assert_eq!(owner, "two", "{glob}");
    }
}

#[test]
fn a_zone_is_called_as_its_domain() {
    let service = Service::start();
    let zone = "kind: dns_zone\nmetadata: {name: example.com, namespace: system}\nspec:\n  primary:\n    allow_http_lb_managed_records: true\n";
    let settings = "stack: dns\nnamespaces: [system]\nkinds: [dns_zone]\n";
    let stage = Stage::new().at(&service).file("trueup.yaml", settings).file("zone.yaml", zone).applied(".");
    stage.run("plan . --detailed-exitcode").code(0);
    stage.run("get dns_zone:system/example.com").code(0).stdout_contains("dns_zone:system/example.com");
    stage.run("pull -n system --kind dns_zone -o ../pulled").code(0).stderr_ignored();
    assert!(stage.read("../pulled/system/dns_zone/example.com.yaml").contains("name: example.com\n"));
    for (name, said) in [("Example.com", "or a host name"), ("..", "or a host name")] {
        stage.write("zone.yaml", &zone.replace("example.com", name));
        stage.run("validate .").code(1).stderr_contains(said);
    }
    stage.remove("zone.yaml");
    stage.edit("trueup.yaml", "kinds:", "allow_empty: true\nkinds:");
    stage.run("apply . --yes --quiet --allow empty-namespace").code(0);
}

#[test]
fn what_moves_to_another_stack_and_is_still_referred_to_is_no_mistake() {
    let service = Service::start();
    let settings = |stack: &str| format!("stack: {stack}\nnamespaces: [shop]\nkinds: [healthcheck, origin_pool]\n");
    let stage = Stage::new()
        .at(&service)
        .file("one/trueup.yaml", &settings("one"))
        .file("one/check.yaml", CHECK)
        .file("one/pool.yaml", POOL)
        .file("two/trueup.yaml", &settings("two"))
        .committed()
        .applied("one");
    stage.remove("one/check.yaml");
    stage.write("two/check.yaml", CHECK);
    let transfer = "move --from one --directory two";
    stage
        .run("plan one")
        .code(0)
        .stdout_contains(&format!("stack two in two defines it; transfer it first: trueup {transfer}"))
        .does_not_say("--allow");
    stage.run(&format!("{transfer} --yes --quiet")).code(0);
    stage.run("plan one --detailed-exitcode").code(0);
    stage.run("plan two --detailed-exitcode").code(0);
}

#[test]
fn what_another_stack_defines_is_no_delete_beside_a_create_that_is_blocked() {
    let service = Service::start();
    let settings = |stack: &str| format!("stack: {stack}\nnamespaces: [shop]\nkinds: [alert_receiver]\n");
    let receiver = |name: &str, option: &str| {
        format!("kind: alert_receiver\nmetadata: {{name: {name}, namespace: shop}}\nspec: {{{option}}}\n")
    };
    let moved = receiver("moved", "sms: {contact_number: '+4930123456'}");
    let stage = Stage::new()
        .at(&service)
        .file("one/trueup.yaml", &settings("one"))
        .file("one/moved.yaml", &moved)
        .file("two/trueup.yaml", &settings("two"))
        .committed()
        .applied("one");
    stage.remove("one/moved.yaml");
    stage.write("two/moved.yaml", &moved);
    stage.write("one/new.yaml", &receiver("new", "slack: {channel: a}"));
    stage.run("plan one").code(0).stdout_contains("stack two in two defines it").does_not_say("come in its place");
}

#[test]
fn get_reads_the_lists_of_the_kinds_that_are_named_and_no_others() {
    let service = Service::start();
    let stage = stack(&service);
    stage.run("apply . --yes --quiet").code(0);
    for (of, lists) in [
        ("healthcheck:shop", vec!["healthcheck-list"]),
        ("shop/ep", vec!["endpoint-list"]),
        ("shop", vec!["endpoint-list", "healthcheck-list", "origin_pool-list"]),
        ("", vec!["endpoint-list", "healthcheck-list", "origin_pool-list"]),
    ] {
        let before = service.log().len();
        stage.run(&format!("get {of}")).code(0);
        let mut read: Vec<&str> = service.log()[before..].iter().map(|entry| entry.operation).collect();
        read.sort_unstable();
        assert_eq!(read, lists, "get {of}");
    }
}
