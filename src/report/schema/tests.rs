//! The schemas accept what trueup reads and writes, and refuse what it refuses.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use serde_json::json;

use super::super::{Report, document, sample_tests};
use super::*;
use crate::drift::{Check, UnmanagedPolicy};
use crate::load::{self, LoadOptions, SourceFile};

fn validator(of: SchemaKind) -> jsonschema::Validator {
    jsonschema::validator_for(&super::of(of)).expect("a schema")
}

fn faults(validator: &jsonschema::Validator, document: &Json) -> Vec<String> {
    validator.iter_errors(document).map(|error| format!("{}: {error}", error.instance_path())).collect()
}

fn endpoint(spec: Json) -> Json {
    json!({"metadata": {"name": "cart", "namespace": "shop"}, "spec": spec})
}

#[test]
fn a_definition_is_accepted_by_the_schema_as_the_loader_accepts_it() {
    let validator = validator(SchemaKind::Definition);
    let site = |more: Json| {
        let mut site = json!({"ref": [{"name": "ce01", "namespace": "system"}]});
        for (key, value) in more.as_object().expect("an object") {
            site[key] = value.clone();
        }
        endpoint(json!({"ip": "10.0.0.1", "where": {"site": site}}))
    };
    let cases = [
        (true, endpoint(json!({"ip": "10.0.0.1"}))),
        (true, endpoint(json!({"dnsName": "a.example.net", "healthCheckPort": 8080}))),
        (true, endpoint(json!({"dns_name": "a.example.net", "port": "443", "protocol": "UDP"}))),
        (true, endpoint(json!({"dns_name": "a.example.net", "ip": null}))),
        (true, endpoint(json!({"dns_name": "a.example.net", "ip": ""}))),
        (true, endpoint(json!({"ip": "10.0.0.1", "where": null, "snat_pool": null, "protocol": ""}))),
        (true, endpoint(json!({"ip": "10.0.0.1", "snat_pool": {"no_snat_pool": {}}}))),
        (true, endpoint(json!({"ip": "10.0.0.1", "snat_pool": {"snat_pool": {"prefixes": ["10.1.0.0/16"]}}}))),
        (true, endpoint(json!({"ip": "10.0.0.1", "snat_pool": {"snat_pool": {"ipv6_prefixes": ["2001:db8::/48"]}}}))),
        (true, endpoint(json!({"ip": "10.0.0.1", "snat_pool": {"snatPool": {"ipv6Prefixes": [], "prefixes": []}}}))),
        (true, endpoint(json!({"service_info": {"discovery_type": "CONSUL", "service_name": "cart"}}))),
        (true, endpoint(json!({"service_info": {"discovery_type": "NGINX_ONE", "service_name": "cart"}}))),
        (true, endpoint(json!({"dns_name_advanced": {"name": "a.example.net", "strict_ttl": {}}}))),
        (true, site(json!({"refs": [{"name": "blue"}], "network_type": "VIRTUAL_NETWORK_MANAGEMENT"}))),
        (true, site(json!({"refs": []}))),
        (false, site(json!({"refs": [{"namespace": "shop"}]}))),
        (false, endpoint(json!({"serviceInfo": {"serviceName": "cart"}}))),
        (true, endpoint(json!({"serviceInfo": {"discoveryType": "CONSUL", "serviceName": "cart"}}))),
        (false, endpoint(json!({"ip": "10.0.0.1", "where": {"virtualSite": {}}}))),
        (false, endpoint(json!({"dnsNameAdvanced": {"refreshInterval": 60}}))),
        (false, endpoint(json!({"dns_name_advanced": {"name": "a.b", "strict_ttl": {}, "refresh_interval": 60}}))),
        (
            true,
            endpoint(
                json!({"service_info": {"discovery_type": "K8S", "service_selector": {"expressions": ["a in (b)"]}}}),
            ),
        ),
        (true, site(json!({}))),
        (true, site(json!({"network_type": "VIRTUAL_NETWORK_PUBLIC", "enable_internet_vip": {}}))),
        (false, endpoint(json!({}))),
        (false, endpoint(json!({"ip": "10.0.0.1", "dns_name": "a.example.net"}))),
        (false, endpoint(json!({"ip": "10.0.0.1", "port": 65536}))),
        (false, endpoint(json!({"ip": "10.0.0.1", "port": "a"}))),
        (true, endpoint(json!({"ip": "10.0.0.1", "port": 0}))),
        (false, endpoint(json!({"ip": "10.0.0.1", "port": ""}))),
        (false, endpoint(json!({"ip": "10.0.0.1", "port": []}))),
        (false, endpoint(json!({"ip": "10.0.0.1", "snat_pool": {"snat_pool": {"prefixes": 0}}}))),
        (false, endpoint(json!({"ip": "10.0.0.1", "protocl": "TCP"}))),
        (false, endpoint(json!({"ip": "10.0.0.1", "protocol": "ICMP"}))),
        (false, endpoint(json!({"dns_name_advanced": {"name": "a.example.net", "refresh_interval": 5}}))),
        (false, endpoint(json!({"service_info": {"service_name": "a", "service_selector": {"expressions": ["a=b"]}}}))),
        (false, endpoint(json!({"service_info": {"service_name": "cart"}}))),
        (false, endpoint(json!({"ip": "10.0.0.1", "where": {"site": {}}}))),
        (false, site(json!({"network_type": "NOWHERE"}))),
        (false, site(json!({"enable_internet_vip": {}, "disable_internet_vip": {}}))),
        (false, json!({"metadata": {"name": "Cart", "namespace": "shop"}, "spec": {"ip": "10.0.0.1"}})),
        (false, json!({"metadata": {"name": "cart"}, "spec": {"ip": "10.0.0.1"}})),
        (false, json!({"spec": {"ip": "10.0.0.1"}})),
    ];
    for (valid, document) in cases {
        let found = faults(&validator, &document);
        assert_eq!(found.is_empty(), valid, "{document}: {found:?}");
        let file = SourceFile { path: "a.json".to_owned(), bytes: document.to_string().into_bytes() };
        let read = load::sources(vec![file], &LoadOptions::default()).is_ok();
        assert_eq!(read, valid, "the loader reads otherwise: {document}");
    }
}

#[test]
fn an_overlay_is_accepted_by_its_schema_as_the_loader_accepts_it() {
    let validator = validator(SchemaKind::Overlay);
    let name = json!({"name": "cart", "namespace": "shop"});
    let zone = json!({
        "kind": "dns_zone", "metadata": {"name": "example.com", "namespace": "system"},
        "spec": {"secondary": {"primary_servers": ["192.0.2.1"]}},
    });
    let cases = [
        (true, json!({"metadata": name})),
        (true, json!({"metadata": name, "spec": {"port": null, "dnsName": "a.example.net"}})),
        (true, json!({"metadata": name, "spec": {"snat_pool": null, "where": null, "ip": null, "protocol": null}})),
        (
            true,
            json!({"metadata": {"name": "cart", "namespace": "shop", "labels": {"team": null}, "description": null}}),
        ),
        (true, json!({"metadata": name, "spec": {"dns_name_advanced": {"refresh_interval": null}}})),
        (true, json!({"$remove": true, "metadata": name})),
        (true, json!({"$remove": true, "kind": "endpoint", "metadata": name})),
        (true, json!({"$remove": false, "metadata": name, "spec": {"port": 1}})),
        (false, json!({"$remove": true, "metadata": name, "spec": {"port": 1}})),
        (false, json!({"$remove": true, "metadata": {"name": "cart", "namespace": "shop", "labels": {}}})),
        (false, json!({"$remove": "yes", "metadata": name})),
        (false, json!({"$remove": true})),
        (false, json!({"metadata": {"name": "cart"}})),
        (false, json!({"metadata": name, "spec": {"ip": "10.0.0.8", "dns_name": "a.example.net"}})),
        (false, json!({"metadata": name, "spec": {"protocl": "TCP"}})),
        // A domain, which names no other kind.
        (true, json!({"kind": "dns_zone", "metadata": {"name": "example.com", "namespace": "system"}})),
        (false, json!({"kind": "dns_zone", "metadata": {"name": "example..com", "namespace": "system"}})),
    ];
    for (valid, document) in cases {
        let found = faults(&validator, &document);
        assert_eq!(found.is_empty(), valid, "{document}: {found:?}");
        let file =
            |path: &str, text: String| crate::load::SourceFile { path: path.to_owned(), bytes: text.into_bytes() };
        let files = vec![
            file("trueup.yaml", "environments: {low: {overlay: low}, prod: {extends: low, overlay: prod}}".to_owned()),
            // What a target needs is beside what the overlay changes.
            file("a.json", endpoint(json!({"dns_name_advanced": {"name": "a.b", "refresh_interval": 60}})).to_string()),
            // A removal that can be taken back.
            file("zone.json", zone.to_string()),
            file("low/a.json", json!({"$remove": document["$remove"] == false, "metadata": name}).to_string()),
            file("prod/a.json", document.to_string()),
        ];
        let files =
            files.into_iter().filter(|file| document["$remove"] == false || file.path != "low/a.json").collect();
        let options = crate::load::LoadOptions { environment: Some("prod".to_owned()), ..Default::default() };
        let loaded = crate::load::sources(files, &options);
        let read = match &loaded {
            Ok(_) => true,
            // An overlay may take away what the definition then lacks.
            Err(found) => found.list.iter().all(|problem| problem.message.starts_with("none of ")),
        };
        assert_eq!(read, valid, "the loader reads otherwise: {document}: {loaded:?}");
    }
}

#[test]
fn what_only_the_loader_reads_is_accepted_too() {
    let validator = validator(SchemaKind::Definition);
    let mut document = endpoint(json!({"ip": "${address}", "port": "${port}", "protocol": "${protocol}"}));
    document["kind"] = "endpoint".into();
    document["system_metadata"] = json!({"uid": "1"});
    document["resource_version"] = "7".into();
    document["metadata"]["labels"] = json!({"version": 1.5, "tier": null});
    document["metadata"]["namespace"] = "shop-${stage}".into();
    assert_eq!(faults(&validator, &document), Vec::<String>::new());
    document["kind"] = "tenant".into();
    assert!(!validator.is_valid(&document));
}

#[test]
fn a_saved_plan_and_a_verdict_fit_their_schemas() {
    let (of_plan, of_drift) = (validator(SchemaKind::Plan), validator(SchemaKind::Drift));
    for hostile in [false, true] {
        let plan = sample_tests::attributed(sample_tests::plan(40, hostile));
        let saved: Json = serde_json::from_str(&plan.to_file()).expect("JSON");
        assert_eq!(faults(&of_plan, &saved), Vec::<String>::new());
        let shown: Json = serde_json::from_str(&document::text(|out| Report::write(&plan, out))).expect("JSON");
        assert_eq!(faults(&of_plan, &shown), Vec::<String>::new());
        let check = Check::new(plan.clone(), plan.verdicts(UnmanagedPolicy::Fail), jiff::Timestamp::UNIX_EPOCH);
        let drift: Json = serde_json::from_str(&document::text(|out| check.write(out))).expect("JSON");
        assert_eq!(faults(&of_drift, &drift), Vec::<String>::new());
        let mut altered = saved;
        altered["plan"]["changes"][0]["action"] = json!({"destroy": {}});
        assert!(!of_plan.is_valid(&altered));
    }
}

/// The words that a schema has for the `kind` of its documents.
fn kinds_in(schema: &Json) -> Vec<String> {
    let options = schema["oneOf"].as_array().into_iter().flatten().flat_map(kinds_in);
    let kind = &schema["properties"]["kind"];
    let words = kind["enum"].as_array().cloned().unwrap_or_else(|| vec![kind["const"].clone()]);
    words.iter().filter_map(Json::as_str).map(str::to_owned).chain(options).collect()
}

#[test]
fn the_schema_of_a_document_has_the_name_of_its_kind() {
    let mut words = BTreeSet::new();
    for of in SchemaKind::ALL {
        // Their kinds are those of objects.
        if matches!(of, SchemaKind::Definition | SchemaKind::Overlay) {
            continue;
        }
        for word in kinds_in(&super::of(*of)) {
            assert_eq!(SchemaKind::named(&word), Some(*of), "{word}");
            words.insert(word);
        }
    }
    for word in ["plan", "plan_report", "drift", "fleet", "fleet_report", "outcome", "run", "error"] {
        assert!(words.contains(word), "{word}");
    }
}

#[test]
fn the_settings_schema_knows_what_the_reader_knows() {
    let validator = validator(SchemaKind::Config);
    let mut good = json!({
        "base_url": "https://acme.example.net", "layout": "published", "stack": "shop-prod",
        "namespaces": ["shop", "pay"], "kinds": ["origin_pool"], "unchecked": ["origin_pool.spec.new_option"], "strict": ["origin_pool"], "prune": "owned", "guards": {"percent": 30, "least": 10},
        "gates": {"upgrade": "block", "ddos": "warn", "events": {"mode": "warn", "minutes": 15, "threshold": 1000}},
        "ignore": [{"object": "shop/*", "field": "spec.port"}], "variables": {"stage": "prod"},
        "files": {"include": ["**"], "exclude": ["archive/**"]}, "token_variable": "TRUEUP_TOKEN_PROD",
        "rate_limit": 10.5, "concurrency": 8, "ownership_annotations": true, "version_checked": false,
        "allow_empty": false, "labels": {"ring": "canary"}, "hide_notes": ["unmanaged"],
    });
    // Every layer takes what the top level takes.
    let (mut defaults, mut base, mut prod) = (good.clone(), good.clone(), good.clone());
    for layer in [&mut defaults, &mut base, &mut prod] {
        layer["overlay"] = "overlays/one".into();
    }
    prod["extends"] = "base".into();
    good["defaults"] = defaults;
    good["environments"] = json!({"base": base, "prod": prod});
    assert_eq!(faults(&validator, &good), Vec::<String>::new());
    // The reader takes every key that the schema names, and no schema names a key that it refuses.
    let named = super::of(SchemaKind::Config);
    let keys: BTreeSet<&String> = named["properties"].as_object().expect("properties").keys().collect();
    assert_eq!(keys, good.as_object().expect("an object").keys().collect());
    let environment = &named["properties"]["environments"]["additionalProperties"]["properties"];
    let of_prod = good["environments"]["prod"].as_object().expect("an object").keys();
    assert_eq!(environment.as_object().expect("properties").keys().collect::<BTreeSet<_>>(), of_prod.collect());
    let directory = tempfile::tempdir().expect("a directory");
    std::fs::write(directory.path().join("trueup.yaml"), serde_yaml::to_string(&good).expect("YAML")).expect("written");
    let options = crate::load::LoadOptions { environment: Some("prod".to_owned()), ..Default::default() };
    crate::load::settings(directory.path(), &options).expect("the reader takes all of it");
    for bad in [
        json!({"prune": "some"}),
        json!({"concurency": 1}),
        json!({"token_variable": "AWS_SECRET"}),
        json!({"token_variable": "TRUEUP_TOKEN_FILE"}),
        json!({"token_variable": "TRUEUP_TOKEN_B_URL"}),
        json!({"defaults": {"extends": "prod"}}),
        json!({"environments": {"prod": {"environments": {}}}}),
        json!({"overlay": "overlays/prod"}),
    ] {
        assert!(!validator.is_valid(&bad), "{bad}");
    }
}

/// Every YAML and JSON file below a directory.
fn files(directory: &Path, into: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(directory).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            files(&path, into);
        } else if path.extension().is_some_and(|extension| ["yaml", "yml", "json"].iter().any(|one| extension == *one))
        {
            into.push(path);
        }
    }
}

fn documents(text: &str) -> Vec<Json> {
    use serde::Deserialize as _;
    let documents = serde_yaml::Deserializer::from_str(text).map(Json::deserialize);
    documents.map(|document| document.expect("an example is YAML")).filter(|document| !document.is_null()).collect()
}

#[test]
fn every_example_fits_its_schema() {
    let mut found = Vec::new();
    files(&Path::new(env!("CARGO_MANIFEST_DIR")).join("examples"), &mut found);
    let (definition, config) = (validator(SchemaKind::Definition), validator(SchemaKind::Config));
    for path in found.iter().filter(|path| !path.components().any(|part| part.as_os_str() == "pipelines")) {
        let text = std::fs::read_to_string(path).expect("an example is readable");
        let is_config = path.file_name().is_some_and(|name| name == "trueup.yaml");
        for document in documents(&text) {
            let kind = document["kind"].as_str().unwrap_or("endpoint");
            if is_config {
                assert_eq!(faults(&config, &document), Vec::<String>::new(), "{}", path.display());
            } else if kind == "endpoint"
                && document.get("spec").is_some()
                && document["metadata"].get("namespace").is_some()
            {
                assert_eq!(faults(&definition, &document), Vec::<String>::new(), "{}", path.display());
            }
        }
    }
}

#[test]
fn a_schema_of_a_kind_has_no_empty_enumeration_and_no_escape_that_ecmascript_refuses() {
    for kind in crate::kind::all() {
        let schema = of_kind(kind, DefinitionKind::Whole).to_string();
        assert!(!schema.contains(r#""enum":[]"#), "{}", kind.name);
        // A quote is escaped as a text of JSON, and in no pattern.
        assert!(!schema.contains(r#"\\\""#), "{}", kind.name);
    }
}
