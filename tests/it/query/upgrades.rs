use super::service;
use crate::support::{OddServer, Service, Stage};

fn staged() -> (Service, Stage) {
    let service = service();
    let stage = Stage::new().at(&service);
    (service, stage)
}

#[test]
fn versions_come_newest_first() {
    let (_service, stage) = staged();
    for layout in ["uniform", "published"] {
        let line = format!("upgrades versions --current-os 9.2026.17 --current-sw crt-20251002-0027 --layout {layout}");
        let ran = stage.run(&line);
        ran.code(0).stdout("VERSION            NOTE\ncrt-20260315-0012\ncrt-20260201-0179\n");
        let document = stage.run(&format!("upgrades versions --current-os 9.2026.10 --layout {layout} --format json"));
        let document = document.code(0).json();
        assert_eq!(document["sw_versions"], serde_json::json!(["crt-20260201-0179", "crt-20251002-0027"]));
    }
    stage.run("upgrades versions").code(0).stdout_contains("crt-20260315-0012\n");
    stage.run("upgrades versions --current-os 9.2025.1").code(0).stdout_contains("no upgradable software versions");
}

#[test]
fn a_status_is_a_table_of_stages_nodes_and_applications() {
    let (_service, stage) = staged();
    for layout in ["uniform", "published"] {
        let ran = stage.run(&format!("upgrades status ce02 --layout {layout}"));
        ran.code(0)
            .stdout_contains("ce02: failed (to ")
            .stdout_contains("disk full")
            .stdout_contains("tried again once")
            .stdout_contains("\nimage download ");
        ran.stdout_contains("\nos setup ").stdout_contains("\n  master-0 ").stdout_contains("\nvalidation ");
        let document = stage.run(&format!("upgrades status ce02 --layout {layout} --format json")).code(0).json();
        assert_eq!(document["upgrade"]["status"], "FAILED");
        assert_eq!(document["upgrade"]["failure_reason"], "disk full");
    }
    stage.run("upgrades status ce01").code(0).stdout_contains("ce01: in progress (to ").stdout_contains("certmanager");
    stage.run_words(&["upgrades", "status", ""]).code(64).stderr_contains("SITE");
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

#[test]
fn an_answer_about_another_site_is_not_the_status_of_this_one() {
    let answer = r#"{"upgrade_status": {"sw_upgrade_progress": {"site": "ce-lyon", "status": "COMPLETED"}}}"#;
    let server = OddServer::start(move |_, _| (200, answer.into()));
    let stage = Stage::new().env("TRUEUP_BASE_URL", &server.url()).env("TRUEUP_TOKEN", "token-of-an-odd-service");
    for format in ["", "--format json"] {
        let ran = stage.run(&format!("upgrades status ce-berlin {format}"));
        ran.code(1).stderr_contains("it is about `ce-lyon`").does_not_say("ompleted").does_not_say("COMPLETED");
    }
    stage.run("upgrades status ce-lyon").code(0).stdout_contains("ce-lyon: completed");
}
