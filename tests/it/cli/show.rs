//! `show`: saved plans, snapshots and runs in the formats of reports.

use crate::support::{Service, Stage, definition};

fn staged() -> (Service, Stage) {
    let service = Service::start();
    let stage = Stage::stack(&service, "s").file("cart.yaml", &definition("shop/cart", 80));
    (service, stage)
}

#[test]
fn a_saved_plan_is_shown_in_every_format_without_the_service() {
    let (service, stage) = staged();
    stage.run("plan -o plan.json --quiet").code(0);
    let asked = service.log().len();
    let text = stage.run("show plan.json");
    text.code(0).stdout_contains("+ create  shop/cart").stdout_contains("trueup apply plan.json --digest ");
    let report = stage.run("show plan.json --format json").code(0).json();
    assert_eq!(report["kind"], "plan_report");
    stage.run("show plan.json --format markdown").code(0).stdout_contains("<!-- trueup:plan stack=s -->");
    stage.run("show plan.json --format html").code(0).stdout_contains("<!doctype html>");
    stage.run("show plan.json --format github").code(0).stdout_contains("::");
    assert_eq!(stage.run("show plan.json --format sarif").code(0).json()["version"], "2.1.0");
    assert_eq!(service.log().len(), asked);
    // The command that it prints is the one that works.
    let shown = text.text().to_owned();
    let line = shown.lines().find_map(|line| Some(line.split_once("trueup apply")?.1)).expect("the command");
    stage.run(&format!("apply{line} --quiet")).code(0).stdout_contains("1 created");
}

#[test]
fn an_altered_plan_and_any_other_file_are_not_shown() {
    let (_service, stage) = staged();
    stage.run("plan -o plan.json --quiet").code(0);
    stage.edit("plan.json", "10.0.0.7", "10.0.0.8");
    stage.run("show plan.json").code(1).stderr_contains("`plan.json` is not shown: it was altered");
    stage.run("show cart.yaml").code(1).stderr_contains("neither a saved plan nor a snapshot");
}

#[test]
fn a_snapshot_is_a_table_or_a_document() {
    let (_service, stage) = staged();
    stage.run("apply . --yes --quiet").code(0);
    stage.run("snapshot -n shop -o live.json").code(0);
    let text = stage.run("show live.json --columns endpoint,port,owner");
    text.code(0)
        .stdout_contains("Snapshot of http://127.0.0.1:")
        .stdout_contains(": 1 endpoint in 1 namespace, digest ")
        .stdout_contains("\n\nENDPOINT   PORT  OWNER\nshop/cart    80  s\n");
    let listed = stage.run("show live.json --format json").code(0).json();
    assert_eq!((&listed["kind"], &listed["endpoints"][0]["key"]), (&"endpoints".into(), &"shop/cart".into()));
    assert!(listed["taken"].is_string());
    stage.run("show live.json --format sarif").code(64).stderr_contains("its formats are: text, json");
}

#[test]
fn a_run_is_shown_as_the_history_shows_it_and_its_plan_in_the_other_formats() {
    let (_service, stage) = staged();
    stage.run("apply . --yes --quiet").code(0);
    let history = stage.run("show last").code(0).text().to_owned();
    stage.run("show last").code(0).stdout_contains(history.lines().next().expect("a heading"));
    assert_eq!(stage.run("show last --format json").code(0).json()["kind"], "run");
    stage.run("plan -o plan.json --quiet").code(0);
    for format in ["markdown", "html", "github", "sarif"] {
        let shown = stage.run(&format!("show last --format {format}"));
        // It was applied.
        shown.code(0).stdout_contains("shop/cart").does_not_say("trueup apply");
    }
    stage
        .run("show nosuch")
        .code(1)
        .stderr_contains("there is no file `nosuch` either")
        .stderr_contains("trueup history");
    std::fs::create_dir(stage.path("plans")).expect("a directory");
    stage.run("show plans").code(1).stderr_contains("`plans` is a directory: show one of its files");
}
