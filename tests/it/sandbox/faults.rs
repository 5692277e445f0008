//! Misbehaviour on request, seen from outside.

use std::time::{Duration, Instant};

use serde_json::json;
use trueup::sandbox::{RequestEffect, Scenario};

use super::{Bench, SHOP, endpoint};

/// A sandbox with an endpoint, whose next call of an operation meets an action.
async fn injected(operation: &str, action: &str) -> Bench {
    let bench = Bench::start().await;
    bench.has("ep-a").await;
    let scenario = format!("rules: [{{operation: {operation}, for: 1, {action}}}]");
    bench.running.set_scenario(Scenario::parse(&scenario).unwrap());
    bench
}

/// The status, effect and fault of the last request in the log.
fn last(bench: &Bench) -> (Option<u16>, RequestEffect, Option<&'static str>) {
    let log = bench.running.log();
    let entry = log.last().unwrap();
    (entry.status, entry.effect, entry.fault)
}

#[tokio::test]
async fn a_status_replaces_the_call_and_goes_away() {
    let bench = injected("endpoint-create", "status: {code: 503, retry_after: 7}").await;
    let answer = bench.create(&endpoint("ep-b")).await;
    assert_eq!((answer.status, answer.json()["code"].as_u64()), (503, Some(14)));
    assert_eq!(last(&bench), (Some(503), RequestEffect::None, Some("status")));
    bench.has("ep-b").await;
    assert_eq!(last(&bench), (Some(200), RequestEffect::Done, None));
}

#[tokio::test]
async fn a_status_may_come_after_the_write_took_effect() {
    let bench = injected("endpoint-create", "status: {code: 504, body: upstream, effect: done}").await;
    let answer = bench.create(&endpoint("ep-b")).await;
    assert_eq!((answer.status, answer.text.as_str()), (504, "upstream"));
    assert_eq!(last(&bench), (Some(504), RequestEffect::Done, Some("status")));
    assert_eq!(bench.get(&format!("{SHOP}/ep-b")).await.status, 200);
}

#[tokio::test]
async fn a_connection_is_cut_before_or_after_the_write() {
    for (action, effect, status) in
        [("cut: before", RequestEffect::None, 404), ("cut: after", RequestEffect::Done, 200)]
    {
        let bench = injected("endpoint-create", action).await;
        let path = SHOP;
        assert!(bench.try_send("POST", path, Some(&endpoint("ep-b"))).await.is_err());
        let (sent, happened, _) = last(&bench);
        assert_eq!((sent, happened), (None, effect));
        assert_eq!(bench.running.log().last().unwrap().name == "ep-b", effect == RequestEffect::Done);
        assert_eq!(bench.get(&format!("{SHOP}/ep-b")).await.status, status);
    }
}

#[tokio::test]
async fn a_delay_holds_the_answer_back() {
    let bench = injected("endpoint-get", "delay: {milliseconds: 80}").await;
    let before = Instant::now();
    assert_eq!(bench.get(&format!("{SHOP}/ep-a")).await.status, 200);
    assert!(before.elapsed() >= Duration::from_millis(80));
}

#[tokio::test]
async fn a_concurrent_writer_makes_a_versioned_replace_fail() {
    let bench = injected("endpoint-replace", "conflict: {field: spec.dns_name, value: other.example}").await;
    let version = bench.version("ep-a").await;
    let mut body = endpoint("ep-a");
    body["resource_version"] = json!(version);
    let path = format!("{SHOP}/ep-a");
    let answer = bench.send("PUT", &path, Some(&body)).await;
    assert_eq!((answer.status, answer.json()["code"].as_u64()), (409, Some(10)));
    let now = bench.get(&path).await.json();
    assert_eq!(now["spec"]["dns_name"], "other.example");
    assert!(now["spec"].get("ip").is_none());
    assert_ne!(now["resource_version"], json!(version));
}

#[tokio::test]
async fn a_concurrent_writer_is_overwritten_by_a_replace_without_a_version() {
    let bench = injected("endpoint-replace", "conflict: {}").await;
    let answer = bench.send("PUT", &format!("{SHOP}/ep-a"), Some(&endpoint("ep-a"))).await;
    assert_eq!(answer.status, 200);
    assert_eq!(bench.get(&format!("{SHOP}/ep-a")).await.json()["metadata"]["description"], "");
}

#[tokio::test]
async fn a_concurrent_writer_creates_first() {
    let bench = injected("endpoint-create", "conflict: {}").await;
    assert_eq!(bench.create(&endpoint("ep-b")).await.status, 409);
    assert_eq!(bench.get(&format!("{SHOP}/ep-b")).await.json()["spec"]["ip"], "192.0.2.1");
}

#[tokio::test]
async fn a_concurrent_writer_deletes_first() {
    let bench = injected("endpoint-replace", "vanish: {}").await;
    assert_eq!(bench.send("PUT", &format!("{SHOP}/ep-a"), Some(&endpoint("ep-a"))).await.status, 404);
}

#[tokio::test]
async fn a_partial_list_says_so_with_200() {
    let bench = injected("endpoint-list", "partial: {missing: 1}").await;
    bench.has("ep-b").await;
    let answer = bench.get(SHOP).await;
    let list = answer.json();
    assert_eq!(answer.status, 200);
    assert_eq!(list["items"].as_array().unwrap().len(), 1);
    let error = json!({"code": "EPARTIAL", "message": "1 items could not be read", "error_obj": null});
    assert_eq!(list["errors"], json!([error]));
    assert_eq!(bench.get(SHOP).await.json()["items"].as_array().unwrap().len(), 2);
}

#[tokio::test]
async fn a_list_may_hold_items_of_another_namespace() {
    let bench = injected("endpoint-list", "foreign: {namespace: shared}").await;
    bench.send("POST", "/api/config/namespaces/shared/endpoints", Some(&endpoint("common"))).await;
    let list = bench.get(SHOP).await.json();
    let found: Vec<_> = list["items"].as_array().unwrap().iter().map(|item| item["namespace"].clone()).collect();
    assert_eq!(found, ["shop", "shared"]);
}

#[tokio::test]
async fn a_truncated_body_comes_with_its_header_and_ends_early() {
    for action in ["truncate: {}", "truncate: {bytes: 5}"] {
        let bench = injected("endpoint-list", action).await;
        let url = format!("{}{SHOP}", bench.running.base_url());
        let request = bench.client.get(url).header("Authorization", "APIToken correct-horse");
        let response = request.send().await.unwrap();
        assert_eq!(response.status(), 200);
        assert!(response.content_length().unwrap() > 100);
        assert!(response.bytes().await.is_err());
    }
}

#[tokio::test]
async fn garbage_and_a_web_page_come_with_200() {
    let bench = injected("endpoint-list", "garbage: {}").await;
    let answer = bench.get(SHOP).await;
    assert_eq!(answer.status, 200);
    assert!(serde_json::from_str::<serde_json::Value>(&answer.text).is_err());
    let bench = injected("endpoint-list", "html: {}").await;
    let answer = bench.get(SHOP).await;
    assert_eq!(answer.status, 200);
    assert!(answer.text.starts_with("<!doctype html>"));
}

#[tokio::test]
async fn an_endless_body_goes_on_until_the_client_leaves() {
    let bench = injected("endpoint-list", "endless: {effect: none}").await;
    let url = format!("{}{SHOP}", bench.running.base_url());
    let request = bench.client.get(url).header("Authorization", "APIToken correct-horse");
    let mut response = request.send().await.unwrap();
    let mut read = 0;
    while read < 4 * 1024 * 1024 {
        read += response.chunk().await.unwrap().unwrap().len();
    }
    drop(response);
    assert_eq!(bench.get(SHOP).await.status, 200);
}

#[tokio::test]
async fn a_rule_finds_the_name_of_a_create_in_its_body() {
    let bench = Bench::start().await;
    let scenario = "rules: [{operation: endpoint-create, name: 'web-*', status: {code: 500}}]";
    bench.running.set_scenario(Scenario::parse(scenario).unwrap());
    assert_eq!(bench.create(&endpoint("ep-a")).await.status, 200);
    assert_eq!(bench.create(&endpoint("web-1")).await.status, 500);
}

#[tokio::test]
async fn faults_are_set_over_http_and_a_wrong_scenario_is_refused() {
    let bench = Bench::start().await;
    let scenario = json!({"rules": [{"operation": "endpoint-list", "status": {"code": 403}}]});
    assert_eq!(bench.send("PUT", "/sandbox/faults", Some(&scenario)).await.status, 200);
    assert_eq!(bench.get(SHOP).await.json()["code"], 7);
    let wrong = bench.send("PUT", "/sandbox/faults", Some(&json!({"rules": [{"operation": "x"}]}))).await;
    assert_eq!(wrong.status, 400);
    assert_eq!(bench.send("PUT", "/sandbox/faults", Some(&json!({"rules": []}))).await.status, 200);
    assert_eq!(bench.get(SHOP).await.status, 200);
    let url = format!("{}/sandbox/faults", bench.running.base_url());
    assert_eq!(bench.client.put(url).body("rules: []").send().await.unwrap().status(), 401);
}
