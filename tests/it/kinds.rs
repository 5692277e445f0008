//! The description of the kinds, against the facts that it is made from, and what people see of it.

use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};

use crate::support::Stage;

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// What the script makes of the facts; nothing where the facts or Python are not there.
fn made() -> Option<String> {
    let facts = root().join("../shared/reference/kinds/kinds.jsonl");
    if !facts.exists() {
        eprintln!("SKIPPED: the facts of the kinds are not beside this checkout ({})", facts.display());
        return None;
    }
    let made = Command::new("python3").arg(root().join("kinds/compact.py")).arg(&facts).output().ok()?;
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    Some(String::from_utf8(made.stdout).expect("UTF-8"))
}

#[test]
fn the_description_of_the_kinds_is_what_the_script_makes_of_the_facts() {
    let Some(made) = made() else { return };
    let written = std::fs::read_to_string(root().join("kinds/kinds.txt")).expect("the description");
    assert!(written == made, "kinds/kinds.txt is not what kinds/compact.py makes of the facts");
}

#[test]
fn the_description_is_small_enough_for_every_binary() {
    let bytes = std::fs::metadata(root().join("kinds/kinds.txt")).expect("the description").len();
    assert!(bytes <= 500_000, "kinds/kinds.txt has {bytes} bytes");
}

#[test]
fn every_kind_is_listed_with_what_is_known_of_it() {
    let stage = Stage::new();
    let list = stage.run("kinds").code(0).text().to_owned();
    assert!(list.contains("142 kinds, 16 of them known from the published schemas alone."), "{list}");
    assert!(list.contains("the others are described, not managed yet."), "{list}");
    let json = stage.run("kinds --format json").code(0).json();
    let kinds = json["kinds"].as_array().expect("a list");
    assert_eq!(kinds.len(), 142);
    let managed: Vec<&Value> = kinds.iter().filter(|kind| kind["managed"] == true).map(|kind| &kind["name"]).collect();
    assert_eq!(managed, ["endpoint"]);
    let pool = kinds.iter().find(|kind| kind["name"] == "origin_pool").expect("a kind");
    assert_eq!(pool["path"], "/api/config/namespaces/{namespace}/origin_pools");
    assert_eq!(pool["secrets"], json!(["spec.use_tls.use_mtls.tls_certificates.private_key"]));
    assert_eq!(pool["children"], json!(["cluster", "endpoint", "healthcheck"]));
    assert_eq!(pool["view"], true);
}

#[test]
fn a_field_of_any_kind_is_explained() {
    let stage = Stage::new();
    stage.run("explain origin_pool.spec.port").code(0).stdout(
        "origin_pool.spec.port\n\n  type        whole number\n  allowed     1 to 65535; exactly one of port, \
         automatic_port, lb_port\n  default     port where none of them is set\n",
    );
    // Lists and both spellings are passed through.
    stage
        .run("explain originPool.spec.originServers.publicIp.ip")
        .code(0)
        .stdout_contains("origin_pool.spec.origin_servers.public_ip.ip");
    stage.run("explain origin_pool").code(0).stdout_contains("managed     not yet: a definition of it is refused");
    let json = stage.run("explain certificate.spec.private_key --format json").code(0).json();
    assert_eq!(json["described"]["field"]["notes"], json!(["required", "a secret"]));
    assert_eq!(json["described"]["kind"]["secrets"], json!(["spec.private_key"]));
}

#[test]
fn a_field_of_an_endpoint_is_explained_as_trueup_reads_it() {
    let stage = Stage::new();
    let short = stage.run("explain spec.port").code(0).text().to_owned();
    assert!(short.contains("0 to 65535") && short.contains("The port of the target."), "{short}");
    assert_eq!(short, stage.run("explain endpoint.spec.port").code(0).text());
    stage.run("explain metadata.labels").code(0).stdout_contains("endpoint.metadata.labels");
}

#[test]
fn an_unknown_field_of_a_kind_is_named_with_the_nearest_one() {
    let stage = Stage::new();
    stage
        .run("explain origin_pool.spec.prot")
        .code(64)
        .stderr_contains("`origin_pool.spec` has no field `prot`")
        .stderr_contains("did you mean `origin_pool.spec.port`?");
    stage.run("explain spec.where.sites").code(64).stderr_contains("did you mean `endpoint.spec.where.site`?");
    stage.run("explain origin_pool.port").code(64).stderr_contains("it has: spec");
    stage.run("explain origin_pool.spec.port.x").code(64).stderr_contains("`origin_pool.spec.port` has no field `x`");
    stage.run("schema --kind origin_pol").code(64).stderr_contains("trueup kinds lists the kinds");
}

#[test]
fn the_schema_of_every_kind_is_one_and_takes_what_the_service_took() {
    let stage = Stage::new();
    for kind in trueup::kind::all() {
        let schema = trueup::report::schema::of_kind(&kind);
        jsonschema::validator_for(&schema).unwrap_or_else(|error| panic!("{}: {error}", kind.name));
    }
    let schema = stage.run("schema --kind origin_pool").code(0).json();
    let validator = jsonschema::validator_for(&schema).expect("a schema");
    let pool = |spec: Value| json!({"metadata": {"name": "cart", "namespace": "shop"}, "spec": spec});
    let server = json!({"public_ip": {"ip": "192.0.2.4"}});
    let taken = json!({"port": 80, "no_tls": {}, "origin_servers": [server], "endpoint_selection": "LOCAL_PREFERRED"});
    assert!(validator.is_valid(&pool(taken.clone())));
    for (key, wrong) in [
        ("port", json!(70000)),
        ("prot", json!(80)),
        ("use_tls", json!({})),
        ("origin_servers", json!([{"public_ip": {"ip": "192.0.2.4"}, "private_ip": {}}])),
    ] {
        let mut spec = taken.clone();
        spec[key] = wrong;
        assert!(!validator.is_valid(&pool(spec)), "{key}");
    }
}
