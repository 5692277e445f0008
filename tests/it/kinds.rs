//! The description of the kinds, against the facts that it is made from, and what people see of it.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};
use trueup::kind::{self, Field, Kind};
use trueup::model::Spec;
use trueup::report::schema::{self, DefinitionKind};

use crate::support::objects::{self, Specs};
use crate::support::{Service, Stage};

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
    assert!(list.contains("142 kinds, 16 of them known from the published schemas alone: "), "{list}");
    let json = stage.run("kinds --format json").code(0).json();
    let kinds = json["kinds"].as_array().expect("a list");
    assert_eq!(kinds.len(), 142);
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
        "origin_pool.spec.port\n\n  type     whole number\n  allowed  1 to 65535; exactly one of port, automatic_port, \
         lb_port\n  default  none\n",
    );
    let of_group = "default  no_tls where none of them is set, filled in by the service\n";
    stage.run("explain origin_pool.spec.no_tls").code(0).stdout_contains(of_group);
    // Lists and both spellings are passed through.
    stage
        .run("explain originPool.spec.originServers.publicIp.ip")
        .code(0)
        .stdout_contains("origin_pool.spec.origin_servers.public_ip.ip");
    stage.run("explain origin_pool").code(0).stdout_contains("makes       cluster, endpoint, healthcheck");
    let json = stage.run("explain certificate.spec.private_key --format json").code(0).json();
    assert_eq!(json["described"]["field"]["notes"], json!(["required", "a secret"]));
    assert_eq!(json["described"]["kind"]["secrets"], json!(["spec.private_key"]));
}

#[test]
fn a_field_of_an_endpoint_is_explained_as_trueup_reads_it() {
    let stage = Stage::new();
    let short = stage.run("explain spec.port").code(0).text().to_owned();
    assert!(short.contains("at most 65535") && short.contains("The port of the target."), "{short}");
    assert_eq!(short, stage.run("explain endpoint.spec.port").code(0).text());
    stage.run("explain metadata.labels").code(0).stdout_contains("endpoint.metadata.labels");
}

#[test]
fn the_words_of_a_field_are_those_that_a_definition_may_have() {
    let stage = Stage::new();
    let left = "  allowed  one of REGIONAL_EDGE, CUSTOMER_EDGE, NGINX_ONE\n";
    stage.run("explain virtual_site.spec.site_type").code(0).stdout_contains(left);
    // The one that means none is not checked.
    let left = "  allowed  one of HTTP_PROXY, UDP_PROXY, SMA_PROXY\n";
    stage.run("explain virtual_host.spec.proxy").code(0).stdout_contains(left);
    let schema = stage.run("schema --kind virtual_site").code(0).json();
    let schema = jsonschema::validator_for(&schema).expect("a schema");
    for (word, is_taken) in [("INVALID", false), ("0", false), ("NGINX_ONE", true), ("3", true)] {
        let spec = json!({"site_type": word, "site_selector": {"expressions": ["a"]}});
        let object = json!({"kind": "virtual_site", "metadata": {"name": "v", "namespace": "shop"}, "spec": spec});
        assert_eq!(schema.is_valid(&object), is_taken, "{word}");
    }
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
    stage.run("explain origin_pool.port").code(64).stderr_contains("it has: metadata, spec");
    stage
        .run("explain http_loadbalancer.spec.nowhere")
        .code(64)
        .stderr_contains("to list its fields: trueup explain http_loadbalancer.spec");
    stage.run("explain origin_pool.spec.port.x").code(64).stderr_contains("`origin_pool.spec.port` has no field `x`");
    stage.run("schema --kind origin_pol").code(64).stderr_contains("to list the kinds: trueup kinds");
}

#[test]
fn the_schema_of_every_kind_is_one_and_takes_what_the_service_took() {
    let stage = Stage::new();
    for kind in trueup::kind::all() {
        let schema = schema::of_kind(kind, DefinitionKind::Whole);
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

#[test]
fn the_schema_of_overlays_is_that_of_the_kinds_that_are_named() {
    let stage = Stage::new();
    let metadata = json!({"name": "cart", "namespace": "shop"});
    let pool = |spec: Value| json!({"kind": "origin_pool", "metadata": metadata, "spec": spec});
    let endpoint = |spec: Value| json!({"metadata": metadata, "spec": spec});
    let (several, all) = ("schema --of overlay --kind origin_pool --kind healthcheck", "schema --of overlay");
    for (line, is_known) in [("schema --of overlay --kind origin_pool", true), (several, true), (all, false)] {
        let validator = jsonschema::validator_for(&stage.run(line).code(0).json()).expect("a schema");
        assert!(validator.is_valid(&pool(json!({"port": null, "no_tls": {}}))), "{line}");
        assert_eq!(validator.is_valid(&pool(json!({"prot": 80}))), !is_known, "{line}");
        assert!(!validator.is_valid(&json!({"kind": "origin_pool", "spec": {}})), "{line}");
        if line.matches("--kind").count() != 1 {
            assert!(validator.is_valid(&endpoint(json!({"port": null}))), "{line}");
            assert!(!validator.is_valid(&endpoint(json!({"prot": 80}))), "{line}");
        }
    }
    stage.run("schema --of plan --kind origin_pool").code(64).stderr_contains("not for `plan`");
}

/// A stack with an endpoint and an object of another kind.
fn with_pool(port: u32) -> Stage {
    let pool = format!(
        "kind: origin_pool\nmetadata: {{name: pool, namespace: shop}}\nspec:\n  port: {port}\n  no_tls: {{}}\n  \
         origin_servers: [{{public_ip: {{ip: 192.0.2.4}}}}]\n"
    );
    Stage::new().file("d/cart.yaml", &crate::support::definition("shop/cart", 80)).file("d/pool.yaml", &pool)
}

#[test]
fn validate_checks_objects_of_every_kind() {
    let good = with_pool(80);
    good.run("validate d").code(0).stdout("Valid: 2 objects in 1 namespace, 2 files\n");
    let json = good.run("validate d --format json").code(0).json();
    assert_eq!((&json["valid"], &json["endpoints"], &json["objects"]), (&json!(true), &json!(1), &json!(1)));
    let bad = with_pool(70_000);
    bad.run("validate d").code(1).stderr_contains("`port` is 70000").stderr_contains("pool.yaml:4:9");
    // A directory of such objects alone is no mistake.
    good.remove("d/cart.yaml");
    good.run("validate d").code(0).stdout_contains("Valid: 1 object in");
}

#[test]
fn what_the_service_took_is_valid() {
    let captures = root().join("../shared/reference/kinds/captures");
    let Ok(files) = std::fs::read_dir(&captures) else {
        eprintln!("SKIPPED: no captures of the service are beside this checkout ({})", captures.display());
        return;
    };
    let mut checked = Vec::new();
    for file in files {
        let text = std::fs::read_to_string(file.expect("a file").path()).expect("a capture");
        let Ok(capture) = serde_json::from_str::<Value>(&text) else { continue };
        let kind = capture["kind"].as_str().unwrap_or_default();
        if capture["answer"].is_null() || trueup::kind::find(kind).is_none() {
            continue;
        }
        for side in ["request", "answer"] {
            let mut metadata = capture[side]["metadata"].clone();
            // The names of the captures are neutral.
            metadata["namespace"] = trueup::kind::find(kind)
                .and_then(|kind| kind.namespaces.first().copied())
                .filter(|namespace| *namespace != "user")
                .unwrap_or("shop")
                .into();
            let document = json!({"kind": kind, "metadata": metadata, "spec": capture[side]["spec"]});
            let stage = Stage::new().file("d/a.json", &document.to_string());
            let found = stage.run("validate d --format json");
            found.stderr_ignored();
            let document_found = found.json();
            let problems = document_found["diagnostics"].as_array().expect("a list").iter();
            for problem in problems.filter(|problem| problem["severity"] == "error") {
                // The sender made names up, which the service dropped.
                let message = problem["message"].as_str().expect("a text");
                assert!(message.starts_with("unknown field"), "{kind} {side}: {message}\n{document:#}");
            }
            checked.push(format!("{kind} {side}"));
        }
    }
    assert!(checked.len() >= 20, "{checked:?}");
}

/// How a definition compares with what the service makes of it: units that differ, and values that it does not name.
fn compared(kind: &'static Kind, wanted: &Value, live: &Value) -> (Vec<String>, Vec<String>) {
    // No definition holds the unknown names that some of the recorded requests have.
    let known = kind::without_fills(kind.message(), wanted.clone(), None);
    let shown = Spec::live(kind.into(), live.clone()).expect("a live spec");
    let written = Spec::written(kind.into(), known.clone()).expect("a spec");
    let (live, wanted) = (kind::canonical(kind.message(), live.clone()), kind::named(kind.message(), known));
    let units: BTreeSet<&String> = live.keys().chain(wanted.keys()).collect();
    let is_other = |unit: &&&String| {
        let [live, wanted] = [&live, &wanted].map(|units| units.get(**unit).unwrap_or(&Value::Null));
        kind::seen_as(kind.message(), unit, live, wanted) != kind::significant(kind.message(), unit, wanted)
    };
    let unnamed = units.iter().flat_map(|unit| shown.unnamed(unit, &written));
    let unnamed = unnamed.map(|path| format!("{}: {path}", kind.name)).collect();
    (units.iter().filter(is_other).map(|unit| format!("{}: {unit}", kind.name)).collect(), unnamed)
}

#[test]
fn what_the_service_was_seen_to_fill_is_no_difference() {
    let captures = Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/reference/kinds/captures");
    let Ok(files) = std::fs::read_dir(&captures) else {
        eprintln!("SKIPPED: no captures of the service are beside this checkout ({})", captures.display());
        return;
    };
    let (mut differences, mut unnamed) = (Vec::new(), Vec::new());
    let mut files: Vec<_> = files.map(|file| file.expect("a file").path()).collect();
    files.sort();
    let mut compare = |kind: &'static Kind, wanted: &Value, live: &Value| {
        let (other, more) = compared(kind, wanted, live);
        differences.extend(other);
        unnamed.extend(more);
    };
    for file in files.iter().filter(|file| file.extension().is_some_and(|extension| extension == "json")) {
        let capture: Value = serde_json::from_slice(&std::fs::read(file).expect("a capture")).expect("JSON");
        if let Some(kind) = kind::find(capture["kind"].as_str().unwrap_or_default())
            && capture["answer"].is_object()
        {
            compare(kind, &capture["request"]["spec"], &capture["answer"]["spec"]);
        }
        // Each documented fill is laid over the part of a spec in which it was seen.
        for fill in capture.as_array().into_iter().flatten() {
            let Some(kind) = kind::find(fill["kind"].as_str().unwrap_or_default()) else { continue };
            let steps = fill["at"].as_str().unwrap_or_default().split('.').filter(|step| !step.is_empty());
            let steps: Vec<&str> = steps.collect();
            let (mut wanted, mut live) = (json!({}), fill["filled"].clone());
            let mut messages = vec![kind.spec];
            for step in &steps {
                let above = messages.last().copied().unwrap_or_default();
                messages.extend(kind::message(above).field(step).and_then(Field::below));
            }
            // A path of a release that the description does not know.
            if messages.len() <= steps.len() {
                continue;
            }
            for (step, above) in steps.iter().zip(&messages).rev() {
                let is_list = kind::message(above).field(step).is_some_and(|field| field.is_list);
                let around = |value: Value| if is_list { json!({*step: [value]}) } else { json!({*step: value}) };
                (wanted, live) = (around(wanted), around(live));
            }
            compare(kind, &wanted, &live);
        }
    }
    assert_eq!(differences, Vec::<String>::new());
    assert_eq!(unnamed, Vec::<String>::new());
}

#[test]
fn a_kind_that_only_the_schemas_know_says_so_once_when_it_is_planned() {
    let service = Service::start();
    let weak = kind::all().find(|kind| kind.is_weak && kind.secrets().is_empty()).expect("one");
    let mut specs = Specs::new(28);
    let mut stage = Stage::new().at(&service);
    for name in ["a", "b"] {
        let metadata = json!({"name": name, "namespace": objects::namespace(weak)});
        let object = json!({"kind": weak.name, "metadata": metadata, "spec": specs.spec(weak)});
        stage = stage.file(&format!("{name}.json"), &object.to_string());
    }
    let plan = stage.run("plan .").code(0).text().to_owned();
    let lines: Vec<&str> =
        plan.lines().filter(|line| line.contains("known from the published schemas alone")).collect();
    assert_eq!(lines.len(), 1, "{plan}");
    assert!(lines[0].contains(weak.name), "{plan}");
    stage
        .run("kinds")
        .code(0)
        .stdout_contains("of them known from the published schemas alone")
        .stdout_contains(weak.name);
}

#[test]
fn one_schema_describes_a_directory_of_several_kinds() {
    let schema = Stage::new().run("schema --kind origin_pool --kind healthcheck").code(0).json();
    let validator = jsonschema::validator_for(&schema).expect("a schema");
    let seed = 28;
    let mut specs = Specs::new(seed);
    let metadata = json!({"name": "abcde", "namespace": "shop"});
    for name in ["origin_pool", "healthcheck"] {
        let kind = kind::find(name).expect("a kind");
        for _ in 0..20 {
            let object = json!({"kind": name, "metadata": metadata, "spec": specs.spec(kind)});
            let faults: Vec<String> = validator.iter_errors(&object).map(|fault| fault.to_string()).collect();
            assert_eq!(faults, Vec::<String>::new(), "{object:#}");
        }
        let wrong = json!({"kind": name, "metadata": metadata, "spec": {"ip": "192.0.2.1"}});
        assert!(!validator.is_valid(&wrong), "an endpoint is no {name}");
    }
    assert!(validator.is_valid(&json!({"metadata": metadata, "spec": {"ip": "192.0.2.1", "port": 80}})));
    assert!(validator.is_valid(&json!({"kind": "endpoint", "metadata": metadata, "spec": {"ip": "192.0.2.1"}})));
    assert!(!validator.is_valid(&json!({"metadata": metadata, "spec": {"origin_servers": []}})));
}

#[test]
fn every_file_that_a_pull_writes_names_a_schema_by_which_it_is_valid() {
    let service = Service::start();
    let stage = Stage::example("07-chain").at(&service);
    stage.run("apply . --yes").code(0).stderr_ignored();
    // A required secret that no answer shows, and a word that is left out and that no definition may name.
    let object = |kind: &str, spec: Value| json!({"kind": kind, "metadata": {"name": "a", "namespace": "shop"}, "raw_spec": spec});
    let certificate = json!({"certificate_url": "string:///YQ==", "private_key": {"blindfold_secret_info": {"location": "string:///"}}});
    let without_word = json!({"non_api_endpoints": [{"path": "/a"}], "mixed_schema_origin": {}});
    service.plant(&json!([object("certificate", certificate), object("api_definition", without_word)]));
    let settings = stage.read("trueup.yaml").replace("kinds: [", "kinds: [certificate, api_definition, ");
    let stage = Stage::new().at(&service).file("trueup.yaml", &settings);
    stage.run("pull -o pulled").code(0).stderr_contains("spec.private_key of certificate:shop/a");
    stage.run("validate pulled --config trueup.yaml").code(0).stderr_ignored();
    let schema: Value = serde_json::from_str(&stage.read("pulled/.trueup.schema.json")).expect("a schema");
    let validator = jsonschema::validator_for(&schema).expect("a schema");
    let mut count = 0;
    for entry in walkdir::WalkDir::new(stage.path("pulled")) {
        let path = entry.expect("an entry").into_path();
        if path.extension().is_none_or(|extension| extension != "yaml") {
            continue;
        }
        let text = std::fs::read_to_string(&path).expect("a file");
        let named = text.lines().next().and_then(|line| line.split_once("$schema=")).expect("a schema").1;
        let file = path.parent().expect("a directory").join(named).canonicalize().expect("the schema is there");
        assert_eq!(file, stage.path("pulled/.trueup.schema.json").canonicalize().expect("a file"));
        let document: Value = serde_yaml::from_str(&text).expect("YAML");
        let faults: Vec<String> = validator.iter_errors(&document).map(|fault| fault.to_string()).collect();
        assert_eq!(faults, Vec::<String>::new(), "{text}");
        count += 1;
    }
    assert!(count >= 8, "{count}");
}
