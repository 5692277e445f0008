use std::sync::atomic::{AtomicI64, Ordering};

use jiff::{SignedDuration, Timestamp};
use serde_json::Value;
use trueup::sandbox::{Clock, Tenant};

use super::{TENANT, service};
use crate::support::{Service, Stage};

fn staged() -> (Service, Stage) {
    let service = service();
    let stage = Stage::new().at(&service);
    (service, stage)
}

#[test]
fn versions_come_newest_first_with_the_way_up() {
    let (_service, stage) = staged();
    for layout in ["uniform", "published"] {
        let line = format!("upgrades versions --current-os 9.2026.17 --current-sw crt-20251002-0027 --layout {layout}");
        let ran = stage.run(&line);
        ran.code(0).stdout_contains(
            "▲ crt-20260315-0012     newest\n  │ crt-20260201-0179     next\n  ● crt-20251002-0027     now",
        );
        let document = stage.run(&format!("upgrades versions --current-os 9.2026.10 --layout {layout} --format json"));
        let document = document.code(0).json();
        assert_eq!(document["sw_versions"], serde_json::json!(["crt-20260201-0179", "crt-20251002-0027"]));
    }
    stage.run("upgrades versions").code(0).stdout_contains("newest");
    stage.run("upgrades versions --current-os 9.2025.1").code(0).stdout_contains("no upgradable software versions");
}

#[test]
fn a_status_is_a_tree_of_stages_nodes_and_applications() {
    let (_service, stage) = staged();
    for layout in ["uniform", "published"] {
        let ran = stage.run(&format!("upgrades status ce02 --layout {layout}"));
        ran.code(0)
            .stdout_contains("✘ failed")
            .stdout_contains("disk full")
            .stdout_contains("tried again once")
            .stdout_contains("├─ image download")
            .stdout_contains("[██████████]");
        ran.stdout_contains("├─ os setup").stdout_contains("│  └─ master-0").stdout_contains("└─ validation");
        let document = stage.run(&format!("upgrades status ce02 --layout {layout} --format json")).code(0).json();
        assert_eq!(document["upgrade"]["status"], "FAILED");
        assert_eq!(document["upgrade"]["failure_reason"], "disk full");
    }
    stage.run("upgrades status ce01").code(0).stdout_contains("▶ running").stdout_contains("certmanager");
    stage.run("upgrades status ce03").code(0).stdout_contains("ce03: the service knows of no upgrade");
    stage
        .run("upgrades status nowhere")
        .code(1)
        .stderr_contains("404 Not Found")
        .stderr_contains("is the site's name right?");
    stage
        .run("upgrades status ce01 -n shop")
        .code(1)
        .stderr_contains("404 Not Found")
        .stderr_contains("namespace `system`");
}

/// The same on a clock that advances whenever the service reads it: however slow the machine is, each
/// stage of a short upgrade is there to be seen.
fn staged_by_requests() -> (Service, Stage) {
    const STEP: SignedDuration = SignedDuration::from_millis(60);
    let begun = Timestamp::now();
    let reads = AtomicI64::new(0);
    let clock =
        Clock::new(move || begun + STEP * i32::try_from(reads.fetch_add(1, Ordering::Relaxed)).unwrap_or(i32::MAX));
    let service = Service::with(|options| {
        options.clock = clock;
        options.tenant_file = Some(Tenant::read(TENANT, options.clock.now()).expect("a tenant"));
    });
    let stage = Stage::new().at(&service);
    (service, stage)
}

#[test]
fn a_watched_upgrade_is_followed_until_it_completes() {
    let (service, stage) = staged_by_requests();
    let ran = stage.run("upgrades status ce04 --watch --interval 100ms");
    ran.code(0)
        .stdout_contains("ce04  image download: ")
        .stdout_contains("ce04  upgrade to crt-20260201-0179: completed\n");
    let text = ran.text();
    assert!(text.lines().count() > 5, "{text}");
    assert!(service.requests("GET") > 3);
    // It is over: one look is enough.
    stage.run("upgrades status ce04 --watch").code(0).stdout_contains(": completed");
    stage.run("upgrades status ce03 --watch").code(0).stdout_contains("no upgrade");
}

#[test]
fn a_watched_upgrade_that_fails_ends_with_the_reason() {
    let (service, stage) = staged_by_requests();
    service.misbehave(
        "rules: [{operation: upgrade-status-get, after: 1, for: 1, status: {code: 404, body: 'gone for a moment'}}]",
    );
    let ran = stage.run("upgrades status ce05 --watch --interval 100ms --format json");
    ran.code(1)
        .stderr_contains("looking again: ")
        .stderr_contains("the upgrade of `ce05` to `crt-20260201-0179` failed: master-0: no space");
    let mut lines = ran.text().lines().rev().map(|line| serde_json::from_str::<Value>(line).expect("JSON"));
    assert_eq!(lines.next().expect("the error")["kind"], "error");
    assert_eq!(lines.next().expect("a line")["upgrade"]["status"], "FAILED");
    stage.run("upgrades status ce02 --watch").code(1).stdout_contains(": failed").stderr_contains("disk full");
    stage.run("upgrades status ce01 --watch --interval 1ms").code(64).stderr_contains("at least 100ms");
}
