//! What one client may take of the sandbox: the time of a connection, and the size of the log.

use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use trueup::sandbox::Scenario;

use super::{Bench, SHOP, endpoint};

/// Only a test that fails waits so long.
const FOREVER: Duration = Duration::from_mins(2);

#[tokio::test]
async fn a_connection_that_sends_no_whole_header_is_closed_and_others_are_answered() {
    let bench = Bench::with(|options| {
        assert_eq!(options.header_timeout, Duration::from_secs(30), "the time outside of tests");
        options.header_timeout = Duration::from_millis(50);
    })
    .await;
    // On a connection of its own: one of a pool may be closed just when it is used again. It is closed as well when no
    // other request follows.
    let is_answered = async || {
        let mut idle = TcpStream::connect(bench.running.address()).await.unwrap();
        idle.write_all(b"GET /sandbox/health HTTP/1.1\r\nhost: x\r\n\r\n").await.unwrap();
        let mut answer = String::new();
        tokio::time::timeout(FOREVER, idle.read_to_string(&mut answer)).await.expect("it is closed").unwrap();
        assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    };
    for sent in ["", "GET", "GET /sandbox/health HTTP/1.1\r\nhost: x\r\n", "GET / HTTP/1.1\r\nhost: x\r\na: b"] {
        let mut slow = TcpStream::connect(bench.running.address()).await.unwrap();
        slow.write_all(sent.as_bytes()).await.unwrap();
        let mut answer = Vec::new();
        let closed = tokio::time::timeout(FOREVER, slow.read_to_end(&mut answer)).await;
        assert!(closed.is_ok(), "still open after {sent:?}");
        assert!(!answer.starts_with(b"HTTP/1.1 200"), "{sent:?} was answered");
        is_answered().await;
    }
}

#[tokio::test]
async fn the_log_keeps_2_kib_of_each_text() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("requests.jsonl");
    let bench = Bench::with(|options| options.log_file = Some(file.clone())).await;
    // Two bytes a letter, so that the bound is within one.
    let long = format!("x{}", "%C3%A4".repeat(6_000));
    bench.get(&format!("{SHOP}/{long}")).await;
    bench.get(&format!("/api/config/namespaces/{long}/endpoints")).await;
    bench.get(&format!("/nowhere?{long}")).await;
    let mut body = endpoint("ep-a");
    body["metadata"]["name"] = json!("n".repeat(100_000));
    bench.create(&body).await;
    bench.has("ep-b").await;
    let mut body = endpoint("ep-b");
    body["resource_version"] = json!("v".repeat(100_000));
    bench.send("PUT", &format!("{SHOP}/ep-b"), Some(&body)).await;
    let method = "M".repeat(10_000);
    bench.send(&method, &format!("{SHOP}/ep-b"), None).await;
    let lines = std::fs::read_to_string(file).unwrap();
    assert_eq!(lines.lines().count(), bench.running.log().len());
    let mut shortened = 0;
    for line in lines.lines() {
        let entry: Value = serde_json::from_str(line).unwrap();
        for (key, value) in entry.as_object().unwrap() {
            let text = value.as_str().unwrap_or_default();
            shortened += usize::from(text.ends_with('…'));
            assert!(text.trim_end_matches('…').len() <= 2_048, "{} bytes of {key}", text.len());
        }
    }
    assert!(shortened >= 6, "{shortened} texts were longer");
}

#[tokio::test]
async fn a_body_above_4_mib_is_413_whether_or_not_a_fault_names_objects() {
    let bench = Bench::start().await;
    for scenario in ["rules: []", "rules: [{operation: endpoint-create, name: other, status: {code: 503}}]"] {
        bench.running.set_scenario(Scenario::parse(scenario).unwrap());
        for (length, status) in [(4 * 1024 * 1024, 400), (4 * 1024 * 1024 + 1, 413)] {
            for (method, path) in [("POST", SHOP), ("PUT", "/sandbox/endpoints")] {
                let answer = bench.send_text(method, path, &" ".repeat(length)).await;
                assert_eq!(answer.status, status, "{scenario}, {path}: {}", answer.text);
            }
        }
    }
}

#[tokio::test]
async fn the_log_file_begins_anew_when_it_is_full() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("requests.jsonl");
    let (bound, line) = (4_000, 1_000);
    let bench = Bench::with(|options| {
        assert_eq!(options.log_file_size, 256 * 1024 * 1024, "the size outside of tests");
        options.log_file = Some(file.clone());
        options.log_file_size = bound;
    })
    .await;
    let mut begun_anew = 0;
    let mut before = 0;
    for number in 1..=60 {
        bench.get(SHOP).await;
        let lines = std::fs::read_to_string(&file).unwrap();
        let size = u64::try_from(lines.len()).unwrap();
        assert!(size <= bound + line, "{size} bytes");
        begun_anew += usize::from(size < before);
        before = size;
        // What is left are whole lines up to the newest request.
        let sequences: Vec<u64> = lines
            .lines()
            .map(|line| serde_json::from_str::<Value>(line).unwrap()["sequence"].as_u64().unwrap())
            .collect();
        assert_eq!(sequences.last(), Some(&number));
        assert!(sequences.is_sorted_by(|a, b| a + 1 == *b), "{sequences:?}");
    }
    assert!(begun_anew > 1);
    assert_eq!(bench.running.log().len(), 60, "the log in memory is another one");
}
