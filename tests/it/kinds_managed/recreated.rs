//! What is fixed after the create changes by a delete and a create, where a person allows it by name.

use std::io::{BufRead as _, BufReader};
use std::process::Stdio;

use serde_json::{Value, json};
use trueup::kind::Kind;

use super::with_sealed_secrets;
use crate::support::objects::{self, Specs};
use crate::support::{Service, Stage, definition};

const SITE: &str = "kind: virtual_site
metadata: {name: edge, namespace: shop}
spec:
  site_type: REGIONAL_EDGE
  site_selector: {expressions: [a in (b)]}
";
const AT_SITE: &str =
    "  where: {virtual_site: {ref: [{name: edge, namespace: shop}], network_type: VIRTUAL_NETWORK_SITE_LOCAL}}\n";
const ALLOW: &str = "--allow recreate=virtual_site:shop/edge";

/// A virtual site and two endpoints, applied, and then of another type in its file.
fn changed(service: &Service) -> Stage {
    let stage = Stage::new()
        .at(service)
        .file("trueup.yaml", "stack: sites\nnamespaces: [shop]\nkinds: [virtual_site]\n")
        .file("site.yaml", SITE)
        .file("ep.yaml", &definition("shop/ep", 80))
        .file("other.yaml", &definition("shop/other", 80))
        .applied(".");
    stage.edit("site.yaml", "REGIONAL_EDGE", "CUSTOMER_EDGE");
    stage
}

fn site(service: &Service) -> Option<Value> {
    let (status, body) = service.send("GET", "/api/config/namespaces/shop/virtual_sites/edge", None);
    (status == 200).then(|| serde_json::from_str(&body).expect("JSON"))
}

fn site_type(service: &Service) -> Value {
    site(service).map(|site| site["spec"]["site_type"].clone()).unwrap_or_default()
}

/// The deletes and the writes of what no look precedes, in their order.
fn writes(service: &Service) -> Vec<String> {
    let written = service.log();
    let writes =
        written.iter().filter(|entry| entry.method != "GET").map(|entry| format!("{} {}", entry.method, entry.name));
    writes.skip(3).collect()
}

#[test]
fn a_fixed_field_changes_by_a_delete_and_a_create_when_that_is_allowed() {
    let service = Service::start();
    let stage = changed(&service);
    stage
        .run("plan .")
        .code(0)
        .stdout_contains("spec.site_type cannot change after the create")
        .stdout_contains("--allow recreate=virtual_site:shop/edge");
    stage.run("apply . --yes").stderr_ignored();
    assert_eq!(writes(&service), Vec::<String>::new());
    // An apply that would be refused is not proposed.
    stage.run("drift .").code(2).stdout_contains("cannot change after the create").does_not_say("trueup apply");
    let uid = site(&service).expect("the site")["system_metadata"]["uid"].clone();
    stage
        .run(&format!("plan . {ALLOW}"))
        .code(0)
        .stdout_contains("-/+ recreate virtual_site:shop/edge")
        .stdout_contains("REGIONAL_EDGE -> CUSTOMER_EDGE")
        .stdout_contains("site.yaml:4")
        .stdout_contains("1 to recreate");
    stage
        .run(&format!("plan . {ALLOW} --format markdown"))
        .code(0)
        .stdout_contains("deleted and created again for `spec.site_type REGIONAL_EDGE → CUSTOMER_EDGE`");
    stage.run(&format!("plan . {ALLOW} --format html")).code(0).stdout_contains("recreate");
    let plan = stage.run(&format!("plan . {ALLOW} --format json")).code(0).json();
    assert!(plan["plan"]["changes"][0]["action"]["recreate"]["before"].is_object(), "{plan:#}");
    assert_eq!(plan["counts"]["recreate"], 1, "{plan:#}");
    // The consent is part of what is reviewed.
    stage.run(&format!("plan . {ALLOW} --output plan.json")).code(0).stderr_ignored();
    stage.run("apply plan.json --yes").code(6).stderr_contains("recreate=virtual_site:shop/edge");
    stage
        .run(&format!("apply plan.json --yes {ALLOW}"))
        .code(0)
        .stdout_contains("1 recreated")
        .stdout_contains("Verified")
        .stderr_ignored();
    assert_eq!(writes(&service), ["DELETE edge", "POST edge"]);
    let now = site(&service).expect("the site");
    assert_ne!(now["system_metadata"]["uid"], uid);
    assert_eq!(now["spec"]["site_type"], "CUSTOMER_EDGE");
    stage.run("plan .").code(0).stdout_contains("In sync: 3 ");
    stage.run("drift .").code(0);
    stage.run("history").code(0).stdout_contains("(-/+1)");
    stage.run("rollback last --yes").stdout_contains("--allow recreate=virtual_site:shop/edge").stderr_ignored();
    stage.run(&format!("rollback last --yes {ALLOW} --allow empty-namespace")).code(0).stderr_ignored();
    assert_eq!(site_type(&service), "REGIONAL_EDGE");
}

#[test]
fn a_rollback_recreates_what_is_protected_only_where_that_is_allowed_by_name() {
    let service = Service::start();
    let stage = changed(&service);
    let name = "name: edge, namespace: shop";
    stage.edit("site.yaml", name, &format!("{name}, annotations: {{trueup/protect: \"true\"}}"));
    let protected = "--allow protected=virtual_site:shop/edge";
    stage.run(&format!("apply . --yes {ALLOW} {protected} --allow empty-namespace")).code(0).stderr_ignored();
    assert_eq!(site_type(&service), "CUSTOMER_EDGE");
    stage
        .run(&format!("rollback last --yes {ALLOW} --allow empty-namespace"))
        .stderr_ignored()
        .stdout_contains("protected=virtual_site:shop/edge");
    assert_eq!(site_type(&service), "CUSTOMER_EDGE");
    stage.run(&format!("rollback last --yes {ALLOW} {protected} --allow empty-namespace")).code(0).stderr_ignored();
    assert_eq!(site_type(&service), "REGIONAL_EDGE");
}

#[test]
fn nothing_may_refer_to_what_is_created_anew() {
    let service = Service::start();
    let stage = changed(&service);
    stage.write("ep.yaml", &format!("{}{AT_SITE}", definition("shop/ep", 80)));
    stage.run("apply . --yes --quiet").stderr_ignored();
    stage
        .run(&format!("plan . {ALLOW} --allow referred=virtual_site:shop/edge"))
        .code(0)
        .stdout_contains("refers to it: remove the reference in one apply")
        .does_not_say("-/+ recreate");
    // Who lets go in the same run does so first.
    stage.write("ep.yaml", &definition("shop/ep", 80));
    stage.write("other.yaml", &format!("{}{AT_SITE}", definition("shop/other", 80)));
    let before = writes(&service).len();
    stage.run(&format!("apply . --yes --quiet {ALLOW}")).code(0);
    assert_eq!(writes(&service)[before..], ["PUT ep", "DELETE edge", "POST edge", "PUT other"]);
    stage.run("plan .").code(0).stdout_contains("In sync: 3 ");
}

#[test]
fn what_refers_to_it_and_moves_to_another_namespace_still_refers_to_it() {
    let service = Service::start();
    let stage = changed(&service);
    stage.edit("site.yaml", "CUSTOMER_EDGE", "REGIONAL_EDGE");
    stage.edit("trueup.yaml", "[shop]", "[shop, pay]");
    stage.write("ep.yaml", &format!("{}{AT_SITE}", definition("shop/ep", 80)));
    stage.run("apply . --yes --quiet").code(0);
    stage.edit("site.yaml", "REGIONAL_EDGE", "CUSTOMER_EDGE");
    stage.write("ep.yaml", &format!("{}{AT_SITE}", definition("pay/ep", 80)));
    // It is there before it is gone here, and would be created after the site and deleted before it.
    stage
        .run(&format!("plan . {ALLOW}"))
        .code(0)
        .stdout_contains("refers to it: remove the reference in one apply")
        .does_not_say("-/+ recreate");
    let before = writes(&service).len();
    stage.run(&format!("apply . --yes --quiet {ALLOW}")).stderr_ignored();
    assert_eq!(writes(&service)[before..], ["POST ep", "DELETE ep"]);
}

#[test]
fn what_referred_to_it_and_is_deleted_in_the_same_apply_goes_first() {
    let service = Service::start();
    let stage = changed(&service);
    stage.edit("site.yaml", "CUSTOMER_EDGE", "REGIONAL_EDGE");
    stage.write("ep.yaml", &format!("{}{AT_SITE}", definition("shop/ep", 80)));
    stage.write("third.yaml", &definition("shop/third", 80));
    stage.run("apply . --yes --quiet").code(0);
    stage.edit("site.yaml", "REGIONAL_EDGE", "CUSTOMER_EDGE");
    stage.remove("ep.yaml");
    stage.remove("third.yaml");
    stage.write("other.yaml", &format!("{}{AT_SITE}", definition("shop/other", 80)));
    stage.write("new.yaml", &definition("shop/new", 80));
    let before = writes(&service).len();
    stage.run(&format!("apply . --yes --quiet {ALLOW}")).code(0);
    let ordered = ["POST new", "DELETE ep", "DELETE edge", "POST edge", "PUT other", "DELETE third"];
    assert_eq!(writes(&service)[before..], ordered);
    stage.run("plan .").code(0).stdout_contains("In sync: 3 ");
}

#[test]
fn a_delete_goes_early_for_what_waits_for_it_and_not_for_what_waits_for_another() {
    let service = Service::start();
    let site = |key: &str| {
        let (namespace, name) = key.split_once('/').expect("a key");
        SITE.replace("name: edge, namespace: shop", &format!("name: {name}, namespace: {namespace}"))
    };
    let at = |key: &str, site: &str| {
        let (namespace, name) = site.split_once('/').expect("a key");
        let at = AT_SITE.replace("name: edge, namespace: shop", &format!("name: {name}, namespace: {namespace}"));
        format!("{}{at}", definition(key, 80))
    };
    let stage = Stage::new()
        .at(&service)
        .file("trueup.yaml", "stack: sites\nnamespaces: [ea, eb]\nkinds: [virtual_site]\n")
        .file("e1.yaml", &site("ea/e1"))
        .file("e2.yaml", &site("eb/e2"))
        .file("ka.yaml", &definition("ea/kept", 80))
        .file("kb.yaml", &definition("eb/kept", 80))
        .file("old.yaml", &at("ea/old", "ea/e1"))
        .file("gone.yaml", &at("eb/gone", "eb/e2"))
        .applied(".");
    let before = service.log().iter().filter(|entry| entry.method != "GET").count();
    stage.edit("e1.yaml", "REGIONAL_EDGE", "CUSTOMER_EDGE");
    stage.edit("e2.yaml", "REGIONAL_EDGE", "CUSTOMER_EDGE");
    stage.remove("old.yaml");
    stage.remove("gone.yaml");
    stage.write("new.yaml", &at("ea/new", "eb/e2"));
    let allow = "--allow recreate=virtual_site:ea/e1 --allow recreate=virtual_site:eb/e2 --allow mass-change";
    stage.run(&format!("apply . --yes --quiet {allow}")).code(0);
    let log = service.log();
    let writes = log.iter().filter(|entry| entry.method != "GET").skip(before);
    let writes: Vec<String> = writes.map(|entry| format!("{} {}", entry.method, entry.name)).collect();
    let ordered = ["DELETE gone", "DELETE e2", "POST e2", "POST new", "DELETE old", "DELETE e1", "POST e1"];
    assert_eq!(writes, ordered);
}

#[test]
fn what_is_protected_needs_both_consents_and_the_guards_count_a_delete() {
    let service = Service::start();
    let stage = Stage::new()
        .at(&service)
        .file("trueup.yaml", "stack: sites\nnamespaces: [shop]\nkinds: [virtual_site]\n")
        .file("site.yaml", &SITE.replace("namespace: shop}", "namespace: shop, annotations: {trueup/protect: 'true'}}"))
        .applied(".");
    stage.edit("site.yaml", "REGIONAL_EDGE", "CUSTOMER_EDGE");
    stage.run(&format!("plan . {ALLOW}")).code(0).stdout_contains("--allow protected=virtual_site:shop/edge");
    let both = format!("{ALLOW} --allow protected=virtual_site:shop/edge");
    stage.run(&format!("apply . --yes {both}")).code(6).stderr_contains("empty-namespace");
    stage.run(&format!("apply . --yes --quiet {both} --allow empty-namespace")).code(0);
    assert_eq!(site_type(&service), "CUSTOMER_EDGE");
}

#[test]
fn a_run_that_ends_between_the_delete_and_the_create_is_finished_by_its_resume() {
    // The process is killed while the create waits.
    let service = Service::start();
    let stage = changed(&service);
    service.misbehave("rules: [{operation: virtual_site-create, status: {code: 429, retry_after: 50}}]");
    let words: Vec<String> = format!("apply . --yes {ALLOW}").split(' ').map(str::to_owned).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let mut child =
        stage.command(&words).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().expect("the program starts");
    let progress = BufReader::new(child.stderr.take().expect("a pipe"));
    let mut lines = progress.lines().map_while(Result::ok);
    assert!(lines.any(|line| line.contains("retrying in")), "the create was never refused");
    child.kill().expect("it still waits");
    child.wait().expect("it ends");
    assert_eq!(site(&service), None);
    service.misbehave("rules: []");
    stage.run(&format!("apply --resume last --yes {ALLOW}")).code(0).stderr_ignored();
    assert_eq!(site_type(&service), "CUSTOMER_EDGE");
    stage.run("plan .").code(0).stdout_contains("In sync: 3 ");

    // What will refer to the object waits for its create.
    let service = Service::start();
    let stage = changed(&service);
    stage.write("other.yaml", &format!("{}{AT_SITE}", definition("shop/other", 80)));
    service.misbehave("rules: [{operation: virtual_site-create, status: {code: 403}}]");
    stage.run(&format!("apply . --yes --quiet {ALLOW}")).code(7);
    assert_eq!(site(&service), None);
    service.misbehave("rules: []");
    stage.run(&format!("apply --resume last --yes --quiet {ALLOW}")).code(0);
    stage.run("plan .").code(0).stdout_contains("In sync: 3 ");

    // The service refuses the create.
    let service = Service::start();
    let stage = changed(&service);
    service.misbehave("rules: [{operation: virtual_site-create, status: {code: 403}}]");
    let refused = stage.run(&format!("apply . --yes {ALLOW}"));
    refused.stderr_ignored();
    refused.stdout_contains("deleted, and not created again");
    assert_ne!(refused.exit(), 0);
    assert_eq!(site(&service), None);
    service.misbehave("rules: []");
    // What was there before can be put back instead.
    stage.run("rollback last --yes").code(0).stderr_ignored();
    assert_eq!(site_type(&service), "REGIONAL_EDGE");

    // The answers are lost.
    for lost in ["virtual_site-delete", "virtual_site-create"] {
        let service = Service::start();
        let stage = changed(&service);
        service.misbehave(&format!("rules: [{{operation: {lost}, for: 1, cut: after}}]"));
        stage.run(&format!("apply . --yes {ALLOW}")).code(0).stderr_ignored();
        assert_eq!(writes(&service), ["DELETE edge", "POST edge"], "{lost}");
        assert_eq!(site_type(&service), "CUSTOMER_EDGE");
    }
}

#[test]
fn a_rollback_after_a_resume_undoes_what_either_of_the_runs_recreated() {
    let service = Service::start();
    let stage = Stage::new()
        .at(&service)
        .file("trueup.yaml", "stack: sites\nnamespaces: [shop]\nkinds: [virtual_site]\n")
        .file("site.yaml", SITE)
        .file("site2.yaml", &SITE.replace("name: edge", "name: edge2"))
        .applied(".");
    stage.edit("site.yaml", "REGIONAL_EDGE", "CUSTOMER_EDGE");
    stage.edit("site2.yaml", "REGIONAL_EDGE", "CUSTOMER_EDGE");
    let allow = format!("{ALLOW} {ALLOW}2 --allow empty-namespace --allow mass-change");
    service.misbehave("rules: [{operation: virtual_site-create, name: edge, cut: before}]");
    stage.run(&format!("apply . --yes {allow}")).code(7).stderr_ignored();
    assert_eq!(site(&service), None);
    service.misbehave("rules: []");
    stage.run(&format!("apply --resume last --yes {allow}")).code(0).stdout_contains("Verified").stderr_ignored();
    let types = || {
        let now = stage.run("get virtual_site:shop --format json").json().to_string();
        ["REGIONAL_EDGE", "CUSTOMER_EDGE"].map(|one| now.matches(one).count())
    };
    assert_eq!(types(), [0, 2]);
    stage.run(&format!("rollback last --yes {allow}")).code(0).does_not_say("blocked").stderr_ignored();
    assert_eq!(types(), [2, 0]);
}

#[test]
fn what_somebody_changes_or_creates_meanwhile_is_a_conflict() {
    let service = Service::start();
    let stage = changed(&service);
    stage.run(&format!("plan . {ALLOW} --output plan.json")).code(0).stderr_ignored();
    let mut now = site(&service).expect("the site");
    now["metadata"]["description"] = json!("from the console");
    let body = json!({"metadata": now["metadata"].take(), "spec": now["spec"].take()});
    let (status, answer) =
        service.send("PUT", "/api/config/namespaces/shop/virtual_sites/edge", Some(&body.to_string()));
    assert_eq!(status, 200, "{answer}");
    stage.run(&format!("apply plan.json --yes {ALLOW}")).stdout_contains("changed by someone else").stderr_ignored();
    assert_eq!(site_type(&service), "REGIONAL_EDGE");
}

#[test]
fn a_definition_takes_over_what_no_apply_could_change() {
    let service = Service::start();
    let stage = changed(&service);
    stage.edit("site.yaml", "CUSTOMER_EDGE", "REGIONAL_EDGE");
    let mut now = site(&service).expect("the site");
    now["spec"]["site_type"] = json!("CUSTOMER_EDGE");
    let body = json!({"metadata": now["metadata"].take(), "spec": now["spec"].take()});
    let path = "/api/config/namespaces/shop/virtual_sites";
    assert_eq!(service.send("DELETE", &format!("{path}/edge"), Some("{}")).0, 200);
    assert_eq!(service.send("POST", path, Some(&body.to_string())).0, 200);
    stage.run("pull --drift .").code(0).stdout_contains("spec.site_type").stdout_contains("site.yaml:4");
    assert_eq!(stage.read("site.yaml"), SITE.replace("REGIONAL", "CUSTOMER"));
    stage.run("plan .").code(0).stdout_contains("3 in sync");
}

#[test]
fn a_recreate_of_what_no_stack_or_another_one_owns_says_so() {
    let service = Service::start();
    let stage = changed(&service);
    stage.edit("trueup.yaml", "stack: sites", "stack: more");
    let plan = format!("plan . {ALLOW} --only virtual_site:shop/edge");
    stage
        .run(&format!("{plan} --allow foreign-stack=virtual_site:shop/edge"))
        .code(0)
        .stdout_contains("passes from stack sites to stack more")
        .stdout_contains("1 to recreate (1 taken over from stack sites)");
    let mut now = site(&service).expect("the site");
    now["metadata"]["annotations"] = json!({});
    let body = json!({"metadata": now["metadata"].take(), "spec": now["spec"].take()});
    let path = "/api/config/namespaces/shop/virtual_sites/edge";
    assert_eq!(service.send("PUT", path, Some(&body.to_string())).0, 200);
    stage
        .run(&format!("{plan} --adopt"))
        .code(0)
        .stdout_contains("adopts")
        .stdout_contains("1 to recreate (1 adopted: no stack owns it)");
}

/// The keys of what a plan blocks because it is fixed.
fn fixed(plan: &Value) -> Vec<String> {
    let blocked = plan["plan"]["blocked"].as_array().expect("a list").iter();
    let blocked = blocked.filter(|held| held["reason"]["unchangeable"]["immutable"].is_object());
    blocked.map(|held| held["key"].as_str().expect("a key").to_owned()).collect()
}

/// A replace would leave it, and the plan said that it goes.
#[test]
fn the_removal_of_what_only_a_create_writes_is_beyond_a_replace() {
    let sealed = json!({"blindfold_secret_info": {"location": "string:///c2VhbGVk"}});
    let site = json!({
        "admin_password": sealed, "admin_username": "a", "bare_metal_site": {"name": "b", "namespace": "elsewhere"},
        "bigiq_instance": {
            "license_pool_name": "a", "license_server_ip": "192.0.2.1", "password": sealed, "sku_name": "a", "username": "a",
        },
        "nodes": [{"bm_node_memory_size": "BM_8_GB_MEMORY", "bm_virtual_cpu_count": "BM_8_VCPU", "node_name": "c.example.net"}],
        "public_download_url": "https://a.example.net/", "ssh_key": "a",
    });
    let of = |choice: Value| {
        let metadata = json!({"name": "a", "namespace": "shop"});
        json!({"kind": "apm", "metadata": metadata, "spec": {"baremetal_site_type_choice": choice}}).to_string()
    };
    let service = Service::start();
    let settings = "stack: s\nnamespaces: [shop]\n";
    let stage = Stage::new().at(&service).file("trueup.yaml", settings);
    stage.write("a.json", &of(json!({"f5_bare_metal_site": site})));
    stage.run("apply . --yes").code(0).stderr_ignored();
    stage.write("a.json", &of(json!({})));
    stage
        .run("plan .")
        .stdout_contains("spec.baremetal_site_type_choice.f5_bare_metal_site")
        .stdout_contains("recreate=apm:shop/a")
        .stdout_contains("1 blocked");
    stage.run("apply . --yes").code(6).stdout_contains("1 blocked").stderr_ignored();
}

#[test]
fn an_object_of_every_kind_with_something_fixed_becomes_what_its_definition_says() {
    let seed = objects::seed();
    let mut specs = Specs::new(seed);
    let service = Service::start();
    let stage = Stage::new().at(&service).file("trueup.yaml", &objects::settings());
    let kinds: Vec<&Kind> = objects::kinds();
    let mut write = |kind: &&&Kind| {
        let Some(spec) = with_sealed_secrets(&mut specs, kind) else { return false };
        let metadata = json!({"name": "a", "namespace": objects::namespace(kind)});
        let object = json!({"kind": kind.name, "metadata": metadata, "spec": spec});
        stage.write(&format!("d/{}.json", kind.name), &format!("{object:#}"));
        true
    };
    let written: Vec<&&Kind> = kinds.iter().filter(&mut write).collect();
    stage.run("apply . --yes --quiet").code(0);
    written.iter().for_each(|kind| _ = write(kind));
    let keys = fixed(&stage.run("plan . --format json").json());
    eprintln!("{} kinds: {keys:?}", keys.len());
    assert!(keys.len() >= 12, "TRUEUP_SEED={seed}: {keys:?}");
    let mut words =
        vec!["apply", ".", "--yes", "--allow", "mass-change", "--allow", "empty-namespace", "--format", "json"];
    let allow: Vec<String> = keys.iter().map(|key| format!("recreate={key}")).collect();
    words.extend(allow.iter().flat_map(|allow| ["--allow", allow.as_str()]));
    let applied = stage.run_words(&words);
    applied.stderr_ignored();
    let outcome = applied.json()["outcome"].clone();
    let failed: Vec<String> = outcome["steps"]
        .as_array()
        .expect("steps")
        .iter()
        .filter(|step| step["result"]["done"].is_null())
        .map(|step| format!("{} {}: {}", step["action"], step["key"], step["result"]))
        .collect();
    assert_eq!(failed, Vec::<String>::new(), "TRUEUP_SEED={seed}");
    assert!(outcome["verification"]["verified"].is_object(), "TRUEUP_SEED={seed}: {}", outcome["verification"]);
    // An object with a secret that its new definition does not name is a case of its own: it cannot be created anew.
    let mut words = vec!["plan", ".", "--format", "json"];
    words.extend(allow.iter().flat_map(|allow| ["--allow", allow.as_str()]));
    let plan = stage.run_words(&words).json();
    let is_without_secret = |held: &&Value| held["reason"]["unchangeable"]["secret"].is_null();
    let changes = plan["plan"]["changes"].as_array().expect("a list").iter();
    let blocked = plan["plan"]["blocked"].as_array().expect("a list").iter().filter(is_without_secret);
    let left: Vec<&Value> = changes.chain(blocked).map(|entry| &entry["key"]).collect();
    assert_eq!(left, Vec::<&Value>::new(), "TRUEUP_SEED={seed}");
}
