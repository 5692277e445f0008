//! The upgrade status of a site, which advances with the time, and the versions that a site can be
//! upgraded to.

use serde_json::{Value, json};
use trueup::sandbox::Tenant;

use super::Bench;
use super::query::{UNIFORM, bench};

const STAGES: [&str; 5] = ["image_download", "os_setup", "site_level_upgrade", "node_level_upgrade", "validation"];

/// One site whose upgrade of twenty minutes starts now, at twice the speed.
async fn upgraded(more: &str) -> Bench {
    let tenant = format!(
        "kind: tenant\nsites:\n- name: ce01\n  nodes: [master-0, master-1, master-2]\n  upgrade:\n    \
         {{to: crt-20260201-0179, started: now, duration: 20m, speed: 2, retries: 1, {more}}}\n"
    );
    Bench::with(|options| options.tenant_file = Some(Tenant::read(&tenant, options.clock.now()).unwrap())).await
}

/// The status of the site this many seconds after the start.
async fn at(bench: &Bench, seconds: i64) -> Value {
    bench.time.pass(seconds);
    let body = bench.get(&format!("{UNIFORM}/system/upgrade_status/ce01")).await.json();
    bench.time.pass(-seconds);
    body["upgrade_status"]["sw_upgrade_progress"].clone()
}

fn states(body: &Value) -> Vec<&str> {
    let stages = STAGES.iter().map(|stage| body[stage]["status"].as_str().unwrap());
    std::iter::once(body["status"].as_str().unwrap()).chain(stages).collect()
}

#[tokio::test]
async fn an_upgrade_goes_through_its_stages_at_its_speed() {
    let bench = upgraded("to_os: 9.2026.17").await;
    let [waits, runs, done] = ["SCHEDULED", "IN_PROGRESS", "COMPLETED"];
    for (seconds, expected) in [
        (-1, [waits, waits, waits, waits, waits, waits]),
        (0, [runs, runs, waits, waits, waits, waits]),
        (130, [runs, done, runs, waits, waits, waits]),
        (300, [runs, done, done, runs, waits, waits]),
        (500, [runs, done, done, done, runs, waits]),
        (580, [runs, done, done, done, done, runs]),
        (600, [done, done, done, done, done, done]),
        (90_000, [done, done, done, done, done, done]),
    ] {
        assert_eq!(states(&at(&bench, seconds).await), expected, "{seconds}");
    }
    let early = at(&bench, 130).await;
    assert_eq!(early["os_setup"]["start_timestamp"], "2025-12-02T08:27:26.599586464Z");
    assert_eq!(early["site_level_upgrade"]["start_timestamp"], Value::Null);
}

#[tokio::test]
async fn nothing_ever_goes_back() {
    let bench = upgraded("").await;
    let mut earlier = 0;
    for seconds in 0..=620 {
        let done = at(&bench, seconds).await.to_string().matches("COMPLETED").count();
        assert!(done >= earlier, "{seconds}");
        earlier = done;
    }
    assert!(earlier > 20);
}

#[tokio::test]
async fn a_failed_upgrade_stays_where_it_failed_and_says_why() {
    let bench = upgraded("ends: failed, stage: node_level_upgrade, reason: master-1 is out of disk").await;
    assert_eq!(states(&at(&bench, 400).await)[0], "IN_PROGRESS");
    let ended = at(&bench, 590).await;
    assert_eq!(states(&ended), ["FAILED", "COMPLETED", "SKIPPED", "COMPLETED", "FAILED", "SCHEDULED"]);
    assert_eq!(ended["failure_reason"], "master-1 is out of disk");
    assert_eq!(at(&bench, 90_000).await, ended);
    let nodes = ended["node_level_upgrade"]["results"].as_array().unwrap();
    let of_nodes: Vec<_> = nodes.iter().map(|node| node["status"].as_str().unwrap()).collect();
    assert_eq!(of_nodes, ["COMPLETED", "FAILED", "SCHEDULED"]);
    assert_eq!(nodes[0]["progress"], json!({"completed": 4, "total": 4}));
    // In the failed node the groups before the failure are done, and the steps say how far each is.
    let groups = nodes[1]["results"].as_array().unwrap();
    assert_eq!((&groups[0]["status"], &groups[1]["status"]), (&json!("COMPLETED"), &json!("FAILED")), "{ended}");
    assert!(groups[1].to_string().contains(r#""result":"failure""#), "{ended}");
}

#[tokio::test]
async fn versions_follow_the_current_ones() {
    let bench = bench().await;
    for base in [format!("{UNIFORM}/system/upgradable_sw_versions"), "/api/maurice/upgradable_sw_versions".into()] {
        for (os, software, expected) in [
            ("9.2026.10", "crt-20251002-0027", json!(["crt-20260201-0179"])),
            ("9.2026.9", "crt-20251002-0027", json!([])),
            ("9.2026.9", "crt-20250101-0001", json!(["crt-20251002-0027"])),
            ("9.2026.10", "crt-20260201-0179", json!([])),
        ] {
            let answer = bench.get(&format!("{base}?current_os_version={os}&current_sw_version={software}")).await;
            assert_eq!(answer.json(), json!({"sw_versions": expected}), "{base} {os} {software}");
        }
    }
    let item = bench.get(&format!("{UNIFORM}/system/upgradable_sw_versions/crt-20251002-0027")).await;
    assert_eq!(item.json(), json!({"sw_versions": ["crt-20251002-0027"]}));
    assert_eq!(bench.get(&format!("{UNIFORM}/system/upgradable_sw_versions/crt-1")).await.status, 404);
}

#[tokio::test]
async fn an_upgrade_advances_as_time_passes() {
    let bench = bench().await;
    let status = async |site: &str| {
        let uniform = bench.get(&format!("{UNIFORM}/system/upgrade_status/{site}")).await.json();
        let published = bench.get(&format!("/api/maurice/namespaces/system/sites/{site}/upgrade_status")).await.json();
        assert_eq!(uniform, published);
        uniform["upgrade_status"]["sw_upgrade_progress"].clone()
    };
    let half = status("ce01").await;
    assert_eq!((half["status"].as_str(), half["version"].as_str()), (Some("IN_PROGRESS"), Some("crt-20260201-0179")));
    assert_eq!(half["os_setup"]["status"], "SKIPPED");
    bench.time.pass(60);
    assert_ne!(status("ce01").await, half);
    bench.time.pass(240);
    assert_eq!(status("ce01").await["status"], "COMPLETED");
    let failed = status("ce02").await;
    assert_eq!((failed["status"].as_str(), failed["failure_reason"].as_str()), (Some("FAILED"), Some("disk full")));
    let unknown = status("ce03").await;
    assert_eq!((&unknown["site"], &unknown["status"]), (&json!("ce03"), &json!("UNKNOWN")));
    assert_eq!(unknown["image_download"], Value::Null);
    let absent = bench.get(&format!("{UNIFORM}/system/upgrade_status/ce99")).await;
    assert_eq!((absent.status, absent.json()["message"].clone()), (404, json!("no site system/ce99")));
}

/// The versions that a sandbox with this one offers to a site.
async fn offered(version: &str, os: &str, software: &str) -> bool {
    let tenant = format!("kind: tenant\nsoftware_versions: [{version}]\n");
    let bench =
        Bench::with(|options| options.tenant_file = Some(Tenant::read(&tenant, options.clock.now()).unwrap())).await;
    let path = format!("{UNIFORM}/system/upgradable_sw_versions?current_os_version={os}&current_sw_version={software}");
    !bench.get(&path).await.json()["sw_versions"].as_array().unwrap().is_empty()
}

#[tokio::test]
async fn versions_are_compared_by_parts() {
    for (one, other, newer) in [
        ("9.2026.10", "9.2026.9", true),
        ("10.1", "9.2026.9", true),
        ("crt-20251002-0027", "crt-20251002-27", false),
        ("crt-20260201-0179", "crt-20251231-9999", true),
        ("9.2026.1", "9.2026", true),
        ("1.100000000000000000000000", "1.99999999999999999999999", true),
    ] {
        let offers = async |one: &str, other| offered(&format!("{{version: '{one}'}}"), "", other).await;
        assert_eq!(offers(one, other).await, newer, "{one} {other}");
        assert!(!offers(other, one).await, "{other} {one}");
    }
}

#[tokio::test]
async fn both_current_versions_select() {
    let version = "{version: crt-20260201-0179, os_at_least: 9.2026.10, sw_at_least: crt-20250101-0001}";
    for (os, software, follows) in [
        ("9.2026.10", "crt-20251002-0027", true),
        ("9.2026.9", "crt-20251002-0027", false),
        ("9.2026.17", "crt-20260201-0179", false),
        ("9.2026.17", "crt-20240101-0001", false),
        ("", "crt-20251002-0027", true),
        ("9.2026.17", "", true),
        ("", "", true),
    ] {
        assert_eq!(offered(version, os, software).await, follows, "{os} {software}");
    }
}
