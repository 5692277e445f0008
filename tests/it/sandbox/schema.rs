//! The answers against what the vendor's published schemas say. The names, types and ranges that the
//! tests need are in `tests/cases/vendor`, in a form of ours; where the schemas themselves are at hand, the
//! two are compared. They know no null and forbid nothing, so they are made strict first: null is allowed
//! for every property (proto3 JSON), and no other property than those named, but for the version that they
//! leave out.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde_json::{Map, Value, json};
use trueup::sandbox::Seed;

use super::{Bench, SHOP};

/// The files of the vendor's schemas.
pub const FILES: [&str; 4] =
    ["endpoint.json", "app_security_events.json", "infraprotect_events.json", "upgrade_status.json"];

/// What tests need of one of the files.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Facts {
    pub operations: Vec<Operation>,
    /// By name the types of the fields, or under `is` the type itself.
    types: BTreeMap<String, Map<String, Value>>,
}

/// An operation: the type of its body, and its parameters in path and query.
#[derive(Debug, Deserialize, PartialEq, Eq)]
#[serde(deny_unknown_fields)]
pub struct Operation {
    pub method: String,
    pub path: String,
    pub body: Option<String>,
    pub parameters: Vec<String>,
}

impl Facts {
    pub fn read(file: &str) -> Self {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cases/vendor").join(file);
        serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
    }

    /// The types as JSON schemas.
    pub fn schemas(&self) -> Map<String, Value> {
        let fields = |fields: &Map<String, Value>| -> Map<String, Value> {
            fields.iter().map(|(name, written)| (name.clone(), schema(written))).collect()
        };
        let named = self.types.iter().map(|(name, written)| match written.get("is") {
            Some(itself) => (name.clone(), schema(itself)),
            None => (name.clone(), json!({"type": "object", "properties": fields(written)})),
        });
        named.collect()
    }
}

/// A type as it is written in the facts: `"string"`, `{"string": [0, 256]}`, `{"enum": [...]}`, `["string"]`,
/// `{"list": "string", "most": 5}`, or the name of a type.
fn schema(written: &Value) -> Value {
    match written {
        Value::Array(items) => json!({"type": "array", "items": schema(&items[0])}),
        Value::String(plain) if ["string", "integer", "boolean", "number", "object"].contains(&plain.as_str()) => {
            json!({"type": plain})
        }
        Value::String(name) => json!({"$ref": format!("#/components/schemas/{name}")}),
        written if written.get("list").is_some() => {
            json!({"type": "array", "items": schema(&written["list"]), "maxItems": written["most"]})
        }
        written if written.get("enum").is_some() => json!({"type": "string", "enum": written["enum"]}),
        written => match (&written["string"][0], &written["string"][1]) {
            (least, most) if *least == json!(0) => json!({"type": "string", "maxLength": most}),
            (least, most) => json!({"type": "string", "minLength": least, "maxLength": most}),
        },
    }
}

/// A published specification made strict.
pub struct Published(Value);

impl Published {
    /// The schemas of a file for answers.
    pub fn read(file: &str) -> Self {
        Self::strict(file, true)
    }

    /// The schemas of a file for requests, in which nothing may be null.
    pub fn of_requests(file: &str) -> Self {
        Self::strict(file, false)
    }

    fn strict(file: &str, nulls: bool) -> Self {
        let mut schemas = Facts::read(file).schemas();
        newer(file, &mut schemas);
        for (name, schema) in &mut schemas {
            if name.ends_with("GetResponse") || name.ends_with("ReplaceRequest") {
                schema["properties"]["resource_version"] = json!({"type": "string"});
            }
            strict(schema, nulls);
        }
        Self(json!({"components": {"schemas": schemas}}))
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
    let shared = std::env::var_os("TRUEUP_SHARED")
        .map_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared"), PathBuf::from);
    let path = shared.join("reference/openapi").join(file);
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

/// What the vendor's types have and its published schemas leave out (API.md 10b).
pub fn newer(file: &str, schemas: &mut Map<String, Value>) {
    if file == "app_security_events.json" {
        let reference = |name: &str| json!({"$ref": format!("#/components/schemas/{name}")});
        let object = |fields: Value| json!({"type": "object", "properties": fields});
        let buckets = |bucket: &str, step: Option<Value>| {
            let mut fields = json!({"buckets": {"type": "array", "items": reference(bucket)}});
            if let Some(step) = step {
                fields["step"] = step;
            }
            object(fields)
        };
        let (text, count) = (json!({"type": "string"}), json!({"type": "string", "format": "uint64"}));
        let bucket = |key: &str, key_type: &Value| {
            object(
                json!({key: key_type, "count": count, "sub_aggs": {"type": "object"}, "trend_value": {"type": "object"}}),
            )
        };
        schemas.insert("newerFieldBucket".into(), bucket("key", &text));
        schemas.insert("newerDateBucket".into(), bucket("time", &count));
        let aggregation = object(json!({
            "field_aggregation": buckets("newerFieldBucket", None),
            "date_aggregation": buckets("newerDateBucket", Some(text.clone())),
            "cardinality_aggregation": object(json!({"count": count})),
        }));
        schemas.insert("newerAggregation".into(), aggregation);
        let values = json!({"last_doc_id": text, "last_timestamp": {"type": "number"}});
        let response = &mut schemas["app_securitySecurityEventsResponse"]["properties"];
        response["last_sort_values"] = object(values);
        response["aggs"] = json!({"type": "object", "values": reference("newerAggregation")});
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
    let published = Published::read("endpoint.json");
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
    let published = Published::read("endpoint.json");
    let wrong = json!({"metadata": {"nam": "x"}, "spec": {"port": "80"}, "status": null});
    assert_eq!(published.problems("endpointGetResponse", &wrong).len(), 2);
    let right = json!({"metadata": {"name": "x"}, "spec": {"port": 80, "where": null}, "resource_version": "1"});
    assert_eq!(published.problems("endpointGetResponse", &right), [] as [String; 0]);
}

/// A published schema without what the facts leave out.
fn reduced(schema: &Value) -> Value {
    let Some(schema) = schema.as_object() else { return schema.clone() };
    let kept = schema.iter().filter_map(|(key, value)| match key.as_str() {
        "properties" => {
            let fields = value.as_object()?.iter();
            Some((key.clone(), fields.map(|(name, field)| (name.clone(), reduced(field))).collect()))
        }
        "items" => Some((key.clone(), reduced(value))),
        "type" | "enum" | "$ref" | "maxLength" | "minLength" | "maxItems" => Some((key.clone(), value.clone())),
        _ => None,
    });
    kept.collect()
}

fn operations(document: &Value) -> Vec<Operation> {
    let mut operations = Vec::new();
    for (path, methods) in document["paths"].as_object().unwrap() {
        for (method, operation) in methods.as_object().unwrap().iter().filter(|(_, one)| one.is_object()) {
            let mut body = &operation["requestBody"];
            if let Some(reference) = body["$ref"].as_str() {
                body = document.pointer(reference.trim_start_matches('#')).unwrap();
            }
            let schema = body["content"]["application/json"]["schema"]["$ref"].as_str();
            let parameters = operation["parameters"].as_array().into_iter().flatten();
            operations.push(Operation {
                method: method.to_uppercase(),
                path: path.clone(),
                body: schema.map(|schema| schema.rsplit('/').next().unwrap_or_default().to_owned()),
                parameters: parameters.filter_map(|one| Some(one["name"].as_str()?.to_owned())).collect(),
            });
        }
    }
    operations
}

#[test]
fn the_facts_are_those_of_the_published_schemas() {
    for file in FILES {
        let facts = Facts::read(file);
        let Some(document) = document(file) else { return };
        for (name, schema) in document["components"]["schemas"].as_object().unwrap() {
            assert_eq!(facts.schemas().get(name), Some(&reduced(schema)), "{file}: {name}");
        }
        assert_eq!(facts.types.len(), document["components"]["schemas"].as_object().unwrap().len(), "{file}");
        let published = operations(&document);
        assert!(facts.operations.iter().all(|one| published.contains(one)), "{file}");
        assert_eq!(facts.operations.len(), published.len(), "{file}");
    }
}
