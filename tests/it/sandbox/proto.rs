//! The answers as the vendor's own types would decode them: proto3 JSON, read strictly and by nothing of ours. A 64 bit
//! integer is a text of digits, a `double` a number, a timestamp RFC 3339 with 0, 3, 6 or 9 digits of a second, an enum a
//! name or a number, and a key that a type does not have an error. The names of fields are those of `tests/cases/vendor`,
//! their formats those of `formats.json` there; where the published schemas are at hand, the two are compared.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde_json::{Value, json};
use trueup::model::Clock;
use trueup::sandbox::Tenant;

use super::query::bench;
use super::schema::{FILES, Facts, document};
use super::{Bench, SHOP};

/// The formats of fields, by file, type and field.
type Formats = BTreeMap<String, BTreeMap<String, BTreeMap<String, String>>>;

fn formats() -> Formats {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/cases/vendor/formats.json");
    serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}

/// The types of all files, by name.
struct Types(serde_json::Map<String, Value>);

impl Types {
    fn read() -> Self {
        let mut all = serde_json::Map::new();
        for file in FILES {
            let mut types = Facts::read(file).schemas();
            super::schema::newer(file, &mut types);
            for (name, fields) in formats().remove(file).unwrap_or_default() {
                for (field, format) in fields {
                    types[&name]["properties"][&field]["format"] = format.into();
                }
            }
            all.extend(types);
        }
        for name in ["endpointGetResponse", "endpointReplaceRequest"] {
            all[name]["properties"]["resource_version"] = json!({"type": "string"});
        }
        Self(all)
    }

    /// What a decoder of the type `name` finds wrong with a value.
    fn problems(&self, name: &str, value: &Value) -> Vec<String> {
        let mut problems = Vec::new();
        self.decode(&self.0[name], value, name, &mut problems);
        problems
    }

    fn decode(&self, schema: &Value, value: &Value, place: &str, problems: &mut Vec<String>) {
        if let Some(reference) = schema["$ref"].as_str() {
            let name = reference.rsplit('/').next().unwrap();
            return self.decode(&self.0[name], value, place, problems);
        }
        let mut wrong = |what: &str| problems.push(format!("{place}: {value} is not {what}"));
        match (schema["type"].as_str().unwrap(), value) {
            ("object", Value::Object(map)) => {
                if schema["values"].is_object() {
                    for (key, value) in map {
                        self.decode(&schema["values"], value, &format!("{place}.{key}"), problems);
                    }
                    return;
                }
                let Some(fields) = schema["properties"].as_object() else { return };
                for (key, value) in map.iter().filter(|(_, value)| !value.is_null()) {
                    match fields.get(key) {
                        Some(schema) => self.decode(schema, value, &format!("{place}.{key}"), problems),
                        None => problems.push(format!("{place}.{key}: the type has no such field")),
                    }
                }
            }
            ("array", Value::Array(items)) => {
                for (at, item) in items.iter().enumerate() {
                    self.decode(&schema["items"], item, &format!("{place}[{at}]"), problems);
                }
            }
            ("string", Value::String(text)) => match schema["format"].as_str() {
                Some("uint64") if text.parse::<u64>().is_err() => wrong("a number of 64 bits"),
                Some("int64") if text.parse::<i64>().is_err() => wrong("a number of 64 bits"),
                Some("date-time") if !is_time(text) => wrong("a timestamp"),
                _ if schema["enum"].is_array() && !schema["enum"].as_array().unwrap().contains(value) => {
                    wrong("a name of the enum");
                }
                _ => {}
            },
            ("string", Value::Number(number)) if schema["enum"].is_array() && number.is_i64() => {}
            // What proto calls uint32 the published schemas call int64.
            ("integer", Value::Number(number))
                if number.as_u64().is_some_and(|number| u32::try_from(number).is_ok()) => {}
            ("number", Value::Number(_)) | ("boolean", Value::Bool(_)) => {}
            (wanted, _) => wrong(wanted),
        }
    }
}

fn is_time(text: &str) -> bool {
    let digits = text.strip_suffix('Z').map(|text| text.split_once('.').map_or(0, |(_, fraction)| fraction.len()));
    text.parse::<Timestamp>().is_ok() && digits.is_some_and(|digits| matches!(digits, 0 | 3 | 6 | 9))
}

#[test]
fn the_formats_are_those_of_the_published_schemas() {
    for file in FILES {
        let Some(document) = document(file) else { return };
        let mut published: BTreeMap<String, BTreeMap<String, String>> = BTreeMap::new();
        for (name, schema) in document["components"]["schemas"].as_object().unwrap() {
            for (field, schema) in schema["properties"].as_object().into_iter().flatten() {
                // The others say nothing beside the type.
                let format =
                    schema["format"].as_str().filter(|format| ["date-time", "uint64", "int64"].contains(format));
                if let Some(format) = format.filter(|_| schema["type"] == "string") {
                    published.entry(name.clone()).or_default().insert(field.clone(), format.to_owned());
                }
            }
        }
        assert_eq!(formats().remove(file).unwrap_or_default(), published, "{file}");
    }
}

#[test]
fn the_decoder_finds_what_the_vendors_types_refuse() {
    let types = Types::read();
    let wrong = json!({"total_hits": 3, "events": [{}], "last_sort_values": {"last_timestamp": "2025-12-01T08:25:26Z"}, "x": 1,
        "aggs": {"t": {"date_aggregation": {"buckets": [{"key": "2025-12-01T08:25:26Z", "count": 1}]}}}});
    assert_eq!(types.problems("app_securitySecurityEventsResponse", &wrong).len(), 6);
    let event = |time: &str| json!({"events": [{"start_time": time, "attachments": [{"size_bytes": "1", "attachment_type": -1}]}]});
    for (time, problems) in
        [("2025-12-01T08:25:26Z", 0), ("2025-12-01T08:25:26.5Z", 1), ("2025-12-01T08:25:26+00:00", 1)]
    {
        assert_eq!(types.problems("infraprotectListEventsResponse", &event(time)).len(), problems, "{time}");
    }
}

#[tokio::test]
async fn every_answer_of_a_query_is_one_that_the_vendors_types_decode() {
    let types = Types::read();
    let bench = bench().await;
    let mut problems = Vec::new();
    let aggs = json!({
        "by_type": {"field_aggregation": {"field": "SEC_EVENT_TYPE", "topk": 3}},
        "cities": {"cardinality_aggregation": {"field": "CITY"}},
        "hours": {"date_aggregation": {"step": "1h"}},
    });
    for (start, scroll) in [("2025-12-01T08:25:26Z", true), ("2025-12-01T08:25:26.7Z", false), ("1764663925", false)] {
        let body = json!({"start_time": start, "end_time": "1764663926", "limit": 10, "scroll": scroll, "aggs": aggs});
        let mut paths = vec!["/api/config/namespaces/shop/events".to_owned()];
        paths.extend(
            ["events", "events/aggregation"].map(|end| format!("/api/data/namespaces/shop/app_security/{end}")),
        );
        for path in paths {
            let answer = bench.send("POST", &path, Some(&body)).await.json();
            problems.extend(types.problems("app_securitySecurityEventsResponse", &answer));
            if scroll && answer["scroll_id"].is_string() {
                let path = "/api/config/namespaces/shop/events";
                let next = bench.send("POST", path, Some(&json!({"scroll_id": answer["scroll_id"]}))).await.json();
                problems.extend(types.problems("app_securitySecurityEventsResponse", &next));
            }
        }
    }
    let system = "/api/infraprotect/namespaces/system/infraprotect";
    let list = bench
        .send("POST", &format!("{system}/events"), Some(&json!({"start_time": "2025-01-01T00:00:00Z"})))
        .await
        .json();
    assert!(list["events"].as_array().is_some_and(|events| !events.is_empty()), "{list}");
    problems.extend(types.problems("infraprotectListEventsResponse", &list));
    let edit = json!({"end_time": "2025-12-02T08:00:00.25Z"});
    let edited = bench.send("PUT", &format!("{system}/event/open-one"), Some(&edit)).await;
    problems.extend(types.problems("infraprotectEditEventResponse", &edited.json()));
    assert!(edited.text.contains("08:00:00.250Z"), "{}", edited.text);
    for site in ["ce01", "ce02", "ce03"] {
        let status = bench.get(&format!("/api/maurice/namespaces/system/sites/{site}/upgrade_status")).await.json();
        problems.extend(types.problems("upgrade_statusGetUpgradeStatusResponse", &status));
    }
    let versions = bench.get("/api/maurice/upgradable_sw_versions").await.json();
    problems.extend(types.problems("upgrade_statusGetUpgradableSWVersionsResponse", &versions));
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}

#[tokio::test]
async fn every_timestamp_of_an_endpoint_is_one_that_the_vendors_types_decode() {
    let types = Types::read();
    for (nanoseconds, fraction) in [(0, "06Z"), (5_000_000, "06.005Z"), (1_000, "06.000001Z"), (7, "06.000000007Z")] {
        let bench = Bench::with(|options| {
            options.clock = Clock::new(move || Timestamp::new(1_764_663_906, nanoseconds).unwrap());
            options.tenant_file = Some(Tenant::read("kind: tenant\nname: acme\n", options.clock.now()).unwrap());
        })
        .await;
        bench.has("a").await;
        let list = bench.get(&format!("{SHOP}?report_fields")).await.json();
        assert_eq!(types.problems("endpointListResponse", &list), [] as [String; 0]);
        let created = list["items"][0]["system_metadata"]["creation_timestamp"].as_str().unwrap();
        assert!(created.ends_with(fraction), "{created}");
    }
}
