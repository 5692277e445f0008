//! The answers against the vendor's published schemas, where these are at hand. The schemas know no
//! null and forbid nothing, so they are made strict first: null is allowed for every property (proto3
//! JSON), and no other property than those named, but for the version that they leave out.

use std::io::Write as _;
use std::path::{Path, PathBuf};

use serde_json::{Map, Value, json};
use trueup::sandbox::Seed;

use super::{Bench, SHOP};

/// A published specification made strict.
pub struct Published(Value);

impl Published {
    /// Reads `reference/openapi/FILE` for answers, if it is at hand.
    pub fn read(file: &str) -> Option<Self> {
        Self::strict(file, true)
    }

    /// Reads `reference/openapi/FILE` for requests, in which nothing may be null.
    pub fn of_requests(file: &str) -> Option<Self> {
        Self::strict(file, false)
    }

    fn strict(file: &str, nulls: bool) -> Option<Self> {
        let mut document = document(file)?;
        let schemas = document["components"]["schemas"].as_object_mut().unwrap();
        newer(file, schemas);
        for (name, schema) in schemas.iter_mut() {
            if name.ends_with("GetResponse") || name.ends_with("ReplaceRequest") {
                schema["properties"]["resource_version"] = json!({"type": "string"});
            }
            strict(schema, nulls);
        }
        Some(Self(document))
    }

    /// What is wrong with a value of the schema `name`.
    pub fn problems(&self, name: &str, value: &Value) -> Vec<String> {
        let mut document = self.0.clone();
        assert!(document["components"]["schemas"].get(name).is_some(), "{name}");
        document["$ref"] = json!(format!("#/components/schemas/{name}"));
        let validator = jsonschema::validator_for(&document).unwrap();
        validator.iter_errors(value).map(|error| format!("{name}{}: {error}", error.instance_path())).collect()
    }
}

/// The vendor's specification as it was published, if it is at hand; where it is not, a line says so.
pub fn document(file: &str) -> Option<Value> {
    let path = schemas().join(file);
    match std::fs::read_to_string(&path) {
        Ok(text) => Some(serde_json::from_str(&text).unwrap()),
        Err(_) => {
            not_tested(&format!("the vendor's schemas are not at {}", path.display()));
            None
        }
    }
}

/// Says what a test could not do, also where the output of tests that pass is not shown.
pub fn not_tested(why: &str) {
    let _ = writeln!(std::io::stderr(), "NOT TESTED: {why}");
}

/// Where the vendor's schemas are, beside the checkout.
fn schemas() -> PathBuf {
    let shared = std::env::var_os("TRUEUP_SHARED")
        .map_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared"), PathBuf::from);
    shared.join("reference/openapi")
}

/// What the vendor's types have and its published schemas leave out (API.md 10b).
fn newer(file: &str, schemas: &mut Map<String, Value>) {
    if file == "app_security_events.json" {
        let values = json!({"last_doc_id": {"type": "string"}, "last_timestamp": {"type": "string"}});
        schemas["app_securitySecurityEventsResponse"]["properties"]["last_sort_values"] =
            json!({"type": "object", "properties": values});
    }
    if file != "endpoint.json" {
        return;
    }
    let references = json!({"type": "array", "items": {"$ref": "#/components/schemas/ioschemaObjectRefType"}});
    schemas["schemaSiteRefType"]["properties"]["refs"] = references.clone();
    schemas["schemaVSiteRefType"]["properties"]["refs"] = references;
    schemas["viewsPrefixStringListType"]["properties"]["ipv6_prefixes"] =
        json!({"type": "array", "items": {"type": "string"}});
    schemas["endpointDnsNameAdvancedType"]["properties"]["strict_ttl"] =
        json!({"$ref": "#/components/schemas/ioschemaEmpty"});
    for (schema, value) in
        [("schemaDiscoveryType", "NGINX_ONE"), ("schemaVirtualNetworkType", "VIRTUAL_NETWORK_MANAGEMENT")]
    {
        schemas[schema]["enum"].as_array_mut().unwrap().push(value.into());
    }
}

fn strict(schema: &mut Value, nulls: bool) {
    if let Some(items) = schema.get_mut("items") {
        strict(items, nulls);
    }
    let Some(properties) = schema.get_mut("properties").and_then(Value::as_object_mut) else {
        return;
    };
    for property in properties.values_mut() {
        strict(property, nulls);
        if nulls {
            *property = json!({"anyOf": [{"type": "null"}, property]});
        }
    }
    schema["additionalProperties"] = json!(false);
}

fn full() -> Vec<Value> {
    let site = json!({"ref": [{"name": "paris"}], "enable_internet_vip": {}});
    let specs = [
        json!({"ip": "10.1.2.3", "where": {"site": site}, "snat_pool": {"snat_pool": {"prefixes": ["10.0.0.0/8"]}}}),
        json!({"dns_name": "a.example", "where": {"virtual_site": {"ref": [{"name": "all"}]}}}),
        json!({"dns_name_advanced": {"name": "a.example", "refresh_interval": 300}, "snat_pool": {}}),
        json!({
            "dns_name_advanced": {"name": "a.example", "strict_ttl": {}},
            "snat_pool": {"snat_pool": {"ipv6_prefixes": ["2001:db8::/48"]}},
            "where": {"site": {"ref": [{"name": "paris"}], "refs": [{"name": "blue"}], "network_type": 13}},
        }),
        json!({"service_info": {"discovery_type": "NGINX_ONE", "service_name": "web"}}),
        json!({"service_info": {"discovery_type": "K8S", "service_name": "web"}}),
        json!({
            "service_info": {"discovery_type": "CONSUL", "service_selector": {"expressions": ["a in (b)"]}},
            "where": {"virtual_network": {"ref": [{"name": "blue"}]}},
        }),
        json!({}),
    ];
    let metadata = |index| {
        json!({
            "name": format!("ep-{index}"), "labels": {"a": "b"}, "annotations": {"c": "d"}, "description": "e",
            "disable": true,
        })
    };
    specs.into_iter().enumerate().map(|(index, spec)| json!({"metadata": metadata(index), "spec": spec})).collect()
}

#[tokio::test]
async fn every_answer_agrees_with_the_published_schema() {
    let Some(published) = Published::read("endpoint.json") else { return };
    let bench = Bench::start().await;
    let mut problems = Vec::new();
    for body in full() {
        let created = bench.create(&body).await;
        assert_eq!(created.status, 200, "{}", created.text);
        problems.extend(published.problems("endpointCreateResponse", &created.json()));
        let path = format!("{SHOP}/{}", body["metadata"]["name"].as_str().unwrap());
        for format in 0..=6 {
            let got = bench.get(&format!("{path}?response_format={format}")).await.json();
            problems.extend(published.problems("endpointGetResponse", &got));
        }
        let replaced = bench.send("PUT", &path, Some(&body)).await.json();
        problems.extend(published.problems("endpointReplaceResponse", &replaced));
    }
    let seed: Seed = serde_json::from_value(json!({
        "metadata": {"namespace": "shop", "name": "owned"},
        "owner_view": {"kind": "origin_pool", "namespace": "shop", "name": "pool"},
        "deletion_timestamp": "2030-01-01T00:00:00Z",
        "referring_objects": [{"kind": "x", "namespace": "shop", "name": "y"}],
        "status": [{"conditions": [{"type": "Validation", "status": "Success"}]}],
    }))
    .unwrap();
    bench.running.seed(vec![seed]).await.unwrap();
    for query in ["", "?report_fields", "?report_fields&report_status_fields=x"] {
        let list = bench.get(&format!("{SHOP}{query}")).await.json();
        problems.extend(published.problems("endpointListResponse", &list));
    }
    let owned = bench.get(&format!("{SHOP}/owned?response_format=5")).await.json();
    problems.extend(published.problems("endpointGetResponse", &owned));
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}

#[test]
fn the_strict_schema_finds_a_misspelt_key_and_a_wrong_type() {
    let Some(published) = Published::read("endpoint.json") else { return };
    let wrong = json!({"metadata": {"nam": "x"}, "spec": {"port": "80"}, "status": null});
    assert_eq!(published.problems("endpointGetResponse", &wrong).len(), 2);
    let right = json!({"metadata": {"name": "x"}, "spec": {"port": 80, "where": null}, "resource_version": "1"});
    assert_eq!(published.problems("endpointGetResponse", &right), [] as [String; 0]);
}
