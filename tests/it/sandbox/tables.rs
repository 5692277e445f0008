//! The tables under `tests/cases` that say what the sandbox makes of a label selector, of an event query,
//! of a tenant file and of a scenario. The table of selectors says too where the client takes another one than the service.

use std::collections::BTreeMap;
use std::path::Path;

use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};
use trueup::model::Selector;
use trueup::sandbox::{Scenario, Tenant};

use super::{Bench, SHOP, endpoint};

/// A file of `tests/cases`, which is YAML or JSON.
fn table<T: DeserializeOwned>(name: &str) -> T {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cases").join(name);
    let text = std::fs::read_to_string(&path).unwrap();
    serde_yaml::from_str(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Selectors {
    labels: BTreeMap<String, String>,
    selectors: Vec<SelectorCase>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SelectorCase {
    selector: String,
    /// Whether it selects an object with the labels.
    selects: Option<bool>,
    /// A part of the sandbox's message.
    refused: Option<String>,
    /// Set where the client decides otherwise, with the reason.
    client: Option<ByClient>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ByClient {
    /// Nothing where it refuses the selector.
    selects: Option<bool>,
    because: String,
}

#[tokio::test]
async fn selectors_select_as_kubernetes_does() {
    let Selectors { labels, selectors } = table("selectors.json");
    let bench = Bench::start().await;
    let mut labelled = endpoint("ep-a");
    labelled["metadata"]["labels"] = json!(labels);
    assert_eq!(bench.create(&labelled).await.status, 200);
    assert!(selectors.len() > 40);
    let mut wrong = Vec::new();
    for SelectorCase { selector, selects, refused, client } in selectors {
        let filter: String = form_urlencoded::byte_serialize(selector.as_bytes()).collect();
        let answer = bench.get(&format!("{SHOP}?label_filter={filter}")).await;
        if let Some(selects) = selects {
            assert_eq!(answer.json()["items"].as_array().map(Vec::len), Some(usize::from(selects)), "{selector}");
        } else {
            assert_eq!(answer.status, 400, "{selector} was accepted");
            let refused = refused.unwrap();
            assert!(answer.json()["message"].as_str().unwrap().contains(&refused), "{selector}: {}", answer.text);
        }
        let by_client = Selector::parse(&selector).ok().map(|selector| selector.matches(|key| labels.get(key)));
        if by_client != client.as_ref().map_or(selects, |client| client.selects) {
            wrong.push(format!("{selector:?}: {by_client:?} {}", client.map_or_else(String::new, |it| it.because)));
        }
    }
    assert!(wrong.is_empty(), "the client reads otherwise:\n{}", wrong.join("\n"));
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Queries {
    event: Map<String, Value>,
    queries: Vec<QueryCase>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct QueryCase {
    query: String,
    hits: Option<u32>,
    refused: Option<String>,
}

#[tokio::test]
async fn every_query_of_the_table_finds_the_event_or_is_refused() {
    for Queries { event, queries } in table::<Vec<Queries>>("event_queries.json") {
        let event = json!({"time": "-1m", "namespace": "default", "event": event});
        let tenant = json!({"kind": "tenant", "security_events": [event]}).to_string();
        let read = |now| Tenant::read(&tenant, now).unwrap();
        let bench = Bench::with(|options| options.tenant_file = Some(read(options.clock.now()))).await;
        for QueryCase { query, hits, refused } in queries {
            let body = json!({"query": query});
            let answer = bench.send("POST", "/api/config/namespaces/default/events", Some(&body)).await;
            match hits {
                Some(hits) => assert_eq!(answer.json()["total_hits"], hits.to_string(), "{query}: {}", answer.text),
                None => assert_eq!(answer.json()["message"], refused.unwrap(), "{query}"),
            }
        }
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct TenantCase {
    file: String,
    refused: Vec<String>,
}

#[test]
fn every_tenant_file_of_the_table_is_read_or_refused() {
    for TenantCase { file, refused } in table::<Vec<TenantCase>>("tenants.yaml") {
        match Tenant::read(&file, "2026-11-21T12:00:00Z".parse().unwrap()) {
            Ok(tenant) => {
                assert!(refused.is_empty(), "{file}");
                assert!(tenant.namespaces.is_empty() && tenant.endpoints.is_empty() && tenant.name.is_none());
            }
            Err(error) => {
                assert!(!refused.is_empty() && refused.iter().all(|part| error.contains(part)), "{error}");
            }
        }
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ScenarioCase {
    scenario: String,
    refused: Option<String>,
}

#[test]
fn every_scenario_of_the_table_is_read_or_refused_with_what_is_allowed() {
    for ScenarioCase { scenario, refused } in table::<Vec<ScenarioCase>>("scenarios.yaml") {
        let error = Scenario::parse(&scenario).err().map(|error| error.to_string());
        match (&error, &refused) {
            (Some(error), Some(refused)) => assert!(error.contains(refused), "{scenario}: {error}"),
            _ => assert_eq!(error, refused, "{scenario}"),
        }
    }
}
