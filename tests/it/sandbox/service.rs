//! What holds for every request: token, unknown paths, limits, the log, and what survives.

use std::time::Duration;

use serde_json::json;
use trueup::sandbox::{self, Deletion, Error, RequestEffect, Storage, StoreError};

use super::{Bench, SHOP, TOKEN, client, endpoint, options};

#[tokio::test]
async fn a_request_without_the_token_is_refused() {
    let bench = Bench::start().await;
    let url = format!("{}{SHOP}", bench.running.base_url());
    for header in [None, Some("APIToken wrong"), Some(TOKEN), Some("Bearer correct-horse"), Some("APIToken ")] {
        let mut request = bench.client.get(&url);
        if let Some(header) = header {
            request = request.header("Authorization", header);
        }
        let response = request.send().await.unwrap();
        assert_eq!(response.status(), 401, "{header:?}");
        let body: serde_json::Value = serde_json::from_str(&response.text().await.unwrap()).unwrap();
        assert_eq!(body["code"], 16);
        assert_eq!(body["details"], json!([]));
    }
}

#[tokio::test]
async fn an_unknown_path_under_api_differs_from_an_absent_object() {
    let bench = Bench::start().await;
    for (method, path) in [("GET", "/api/config/namespaces/shop/balancers"), ("PATCH", SHOP), ("GET", "/api")] {
        let answer = bench.send(method, path, None).await;
        let message = format!("API Group could not be determined for Method: {method} Path: {path}");
        assert_eq!((answer.status, answer.json()["message"].as_str()), (404, Some(message.as_str())));
        assert_eq!(answer.json()["code"], 5);
    }
}

#[tokio::test]
async fn a_base_url_without_api_gets_the_console() {
    let bench = Bench::start().await;
    let answer = bench.get("/config/namespaces/shop/endpoints").await;
    assert_eq!(answer.status, 200);
    assert!(answer.text.starts_with("<!doctype html>"), "{}", answer.text);
}

#[tokio::test]
async fn health_needs_no_token() {
    let bench = Bench::start().await;
    let url = format!("{}/sandbox/health", bench.running.base_url());
    let response = bench.client.get(url).send().await.unwrap();
    assert_eq!(response.status(), 200);
    assert!(response.text().await.unwrap().contains(r#""status":"ok""#));
}

#[tokio::test]
async fn a_sandbox_at_every_address_is_named_by_one_that_a_client_takes() {
    let bench = Bench::with(|options| options.listen = "0.0.0.0:0".parse().unwrap()).await;
    let url = bench.running.base_url();
    assert!(trueup::api::BaseUrl::parse(&url).is_ok_and(|url| url.is_loopback()), "{url}");
}

#[tokio::test]
async fn the_log_shows_each_request_and_whether_it_took_effect() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("requests.jsonl");
    std::fs::write(&file, "").unwrap();
    let bench = Bench::with(|options| options.log_file = Some(file.clone())).await;
    #[cfg(unix)]
    assert_eq!(std::os::unix::fs::PermissionsExt::mode(&file.metadata().unwrap().permissions()) & 0o777, 0o600);
    bench.has("ep-a").await;
    let version = bench.version("ep-a").await;
    let mut body = endpoint("ep-a");
    body["resource_version"] = json!("1");
    bench.send("PUT", &format!("{SHOP}/ep-a"), Some(&body)).await;
    bench.send("DELETE", &format!("{SHOP}/ep-a"), None).await;
    let log = bench.running.log();
    let lines: Vec<_> =
        log.iter().map(|entry| (entry.sequence, entry.operation, entry.name.as_str(), entry.status)).collect();
    let wanted = [
        (1, "endpoint-create", "ep-a", Some(200)),
        (2, "endpoint-get", "ep-a", Some(200)),
        (3, "endpoint-replace", "ep-a", Some(409)),
        (4, "endpoint-delete", "ep-a", Some(200)),
    ];
    assert_eq!(lines, wanted);
    let effects: Vec<_> = log.iter().map(|entry| entry.effect).collect();
    assert_eq!(effects, [RequestEffect::Done, RequestEffect::None, RequestEffect::None, RequestEffect::Done]);
    assert_eq!(log[0].version.as_deref(), Some(version.as_str()));
    assert_eq!(log[2].version_sent.as_deref(), Some("1"));
    assert!(log.iter().all(|entry| entry.namespace == "shop" && entry.time == "2025-12-02T08:25:26.599586464Z"));
    let by_http = bench.get("/sandbox/log").await.json();
    assert_eq!(by_http["entries"], serde_json::to_value(&log).unwrap());
    let lines = std::fs::read_to_string(file).unwrap();
    let lines: Vec<serde_json::Value> = lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(serde_json::to_value(&log).unwrap(), json!(lines));
}

#[tokio::test]
async fn the_log_in_memory_is_bounded() {
    let bench = Bench::with(|options| options.log_size = 2).await;
    for _ in 0..5 {
        bench.get(SHOP).await;
    }
    let sequences: Vec<_> = bench.running.log().iter().map(|entry| entry.sequence).collect();
    assert_eq!(sequences, [4, 5]);
}

#[tokio::test]
async fn a_graceful_delete_marks_the_object_until_its_time_has_come() {
    let bench = Bench::with(|options| options.deletion = Deletion::Graceful(Duration::from_secs(30))).await;
    bench.has("ep-a").await;
    let path = format!("{SHOP}/ep-a");
    assert_eq!(bench.send("DELETE", &path, None).await.status, 200);
    let going = bench.get(&path).await.json();
    assert_eq!(going["system_metadata"]["deletion_timestamp"], "2025-12-02T08:25:56.599586464Z");
    assert_eq!(bench.send("DELETE", &path, None).await.status, 200);
    assert_eq!(bench.create(&endpoint("ep-a")).await.status, 409);
    assert_eq!(bench.send("PUT", &path, Some(&endpoint("ep-a"))).await.json()["code"], 10);
    bench.time.pass(30);
    assert_eq!(bench.get(&path).await.status, 404);
    assert_eq!(bench.get(SHOP).await.json()["items"], json!([]));
    bench.has("ep-a").await;
}

#[tokio::test]
async fn a_restart_keeps_objects_and_goes_on_counting_versions() {
    let directory = tempfile::tempdir().unwrap();
    let storage = Storage::File(directory.path().join("tenant.redb"));
    let bench = Bench::with(|options| options.storage = storage.clone()).await;
    bench.has("ep-a").await;
    bench.has("ep-b").await;
    bench.send("DELETE", &format!("{SHOP}/ep-b"), None).await;
    let before = bench.get(&format!("{SHOP}/ep-a")).await.json();
    bench.running.stop().await;

    let bench = Bench::with(|options| options.storage = storage).await;
    assert_eq!(bench.get(&format!("{SHOP}/ep-a")).await.json(), before);
    assert_eq!(bench.get(&format!("{SHOP}/ep-b")).await.status, 404);
    bench.has("ep-b").await;
    let version = |text: &str| text.parse::<u64>().unwrap();
    let old = before["resource_version"].as_str().unwrap();
    assert!(version(&bench.version("ep-b").await) > version(old) + 1);
}

#[tokio::test]
async fn a_file_that_is_in_use_is_reported_so() {
    let directory = tempfile::tempdir().unwrap();
    let storage = Storage::File(directory.path().join("tenant.redb"));
    let bench = Bench::with(|options| options.storage = storage.clone()).await;
    let error = sandbox::start(options(storage, &bench.time)).await.unwrap_err();
    assert!(matches!(error, Error::Store(StoreError::InUse(_))), "{error}");
}

#[tokio::test]
async fn an_address_that_is_taken_is_reported_so() {
    let bench = Bench::start().await;
    let mut taken = options(Storage::Memory, &bench.time);
    taken.listen = bench.running.address();
    let error = sandbox::start(taken).await.unwrap_err();
    assert!(error.to_string().contains(&bench.running.address().to_string()), "{error}");
}

#[tokio::test]
async fn a_stopped_sandbox_does_not_answer() {
    let bench = Bench::start().await;
    let url = format!("{}/sandbox/health", bench.running.base_url());
    bench.running.stop().await;
    // Another process may have taken the port, and then it is no refused connection.
    assert!(client().get(url).send().await.is_err());
}

#[tokio::test]
async fn a_dropped_sandbox_stops() {
    let bench = Bench::start().await;
    let address = bench.running.address();
    drop(bench);
    let refused = async { while tokio::net::TcpStream::connect(address).await.is_ok() {} };
    tokio::time::timeout(Duration::from_mins(2), refused).await.unwrap();
}

#[tokio::test]
async fn of_many_creates_of_one_name_one_is_done() {
    let bench = Bench::start().await;
    let body = endpoint("ep-a");
    let answers = futures_util::future::join_all((0..20).map(|_| bench.create(&body))).await;
    let mut statuses: Vec<_> = answers.iter().map(|answer| answer.status).collect();
    statuses.sort_unstable();
    assert_eq!((statuses[0], &statuses[1..]), (200, &[409; 19][..]));
}

#[tokio::test]
async fn of_many_replaces_at_one_version_one_is_done() {
    let bench = Bench::start().await;
    bench.has("ep-a").await;
    let mut body = endpoint("ep-a");
    body["resource_version"] = json!(bench.version("ep-a").await);
    let path = format!("{SHOP}/ep-a");
    let answers = futures_util::future::join_all((0..20).map(|_| bench.send("PUT", &path, Some(&body)))).await;
    assert_eq!(answers.iter().filter(|answer| answer.status == 200).count(), 1);
    assert_eq!(answers.iter().filter(|answer| answer.status == 409).count(), 19);
}
