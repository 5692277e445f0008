//! Runs are in the order in which they began, whatever the clock says.

use jiff::Timestamp;
use trueup::journal;
use trueup::state::StateStore;

use crate::support::{Service, Stage, definition};

fn runs(stage: &Stage) -> Vec<String> {
    let history = stage.run("history --format json").code(0).json();
    let runs = history["runs"].as_array().expect("runs").clone();
    // The oldest first.
    runs.iter().rev().map(|run| run["run"].as_str().expect("a run").to_owned()).collect()
}

#[test]
fn the_last_run_is_the_one_that_began_last_although_the_clock_went_back() {
    let service = Service::start();
    let stage = Stage::stack(&service, "clocks");
    stage.write("a.yaml", &definition("shop/a", 80));
    stage.run("apply . --yes --quiet").code(0);
    // That run was made while the clock was a day ahead.
    let first = runs(&stage).remove(0);
    let ahead = format!("2099-12-31T23-59-59-999-clocks-{}", &first[first.len() - 4..]);
    let directory = stage.path("../state/trueup/runs");
    let text = std::fs::read_to_string(directory.join(format!("{first}.jsonl"))).expect("a journal");
    let started = text.split("\"started\":\"").nth(1).and_then(|rest| rest.split('"').next()).expect("a time");
    let text = text.replace(&first, &ahead).replace(started, "2099-12-31T23:59:59.9Z");
    std::fs::write(directory.join(format!("{ahead}.jsonl")), text).expect("it can be written");
    std::fs::remove_file(directory.join(format!("{first}.jsonl"))).expect("it was there");

    stage.edit("a.yaml", "port: 80", "port: 81");
    stage.run("apply . --yes --quiet").code(0);
    stage.edit("a.yaml", "port: 81", "port: 82");
    stage.run("apply . --yes --quiet").code(0);
    let runs = runs(&stage);
    assert_eq!(runs.len(), 3);
    assert_eq!(runs[0], ahead);
    stage.run("rollback last --yes --quiet").code(0);
    assert_eq!(service.get("shop/a")["spec"]["port"], 81);
}

#[test]
fn a_run_is_named_after_every_other_of_its_state_directory() {
    let state = tempfile::tempdir().expect("a directory");
    let time = |text: &str| text.parse::<Timestamp>().expect("a time");
    let store = StateStore::Directory(state.path().to_owned());
    let named = |now: &str| journal::naming_time(&store, time(now)).expect("a time");
    let noon = "2026-11-21T12:00:00Z";
    assert_eq!(named(noon), time(noon));
    let runs = state.path().join("runs");
    std::fs::create_dir(&runs).expect("runs");
    for (name, expected) in [
        ("2026-11-21T11-00-00-000-shop-ab12", noon),
        ("2026-11-21T12-00-00-000-shop-ab12", "2026-11-21T12:00:00.001Z"),
        ("2026-11-21T13-00-00-250-shop-ab12", "2026-11-21T13:00:00.251Z"),
        // As an earlier version named it.
        ("2026-11-21T13-00-00-shop-ab12", "2026-11-21T13:00:01Z"),
        ("not-a-time", "2026-11-21T13:00:01Z"),
    ] {
        std::fs::write(runs.join(format!("{name}.jsonl")), "").expect("a file");
        assert_eq!(named(noon), time(expected), "{name}");
    }
}

#[test]
fn a_run_that_is_named_ahead_of_the_clock_does_not_begin_drift_anew_at_every_check() {
    let service = Service::start();
    let stage = Stage::stack(&service, "clocks").file("a.yaml", &definition("shop/a", 80));
    stage.run("apply . --yes --quiet").code(0);
    // A machine whose clock was wrong wrote it: every later run is named after it.
    let ahead = stage.path("../state/trueup/runs/2099-12-31T23-59-59-999-clocks-ab12.jsonl");
    std::fs::write(ahead, "").expect("it can be written");
    stage.edit("a.yaml", "port: 80", "port: 81");
    stage.run("apply . --yes --quiet").code(0);
    service.change("shop/a", |object| object["spec"]["port"] = serde_json::json!(9));
    let check = "drift . --drift-state ../drift.json --format json";
    let checks = |drifted: &serde_json::Value| drifted["drifted"][0]["checks"].clone();
    assert_eq!(checks(&stage.run(check).code(3).json()), 1);
    assert_eq!(checks(&stage.run(check).code(3).json()), 2);
}

#[test]
fn a_run_that_began_in_the_future_keeps_no_old_run() {
    let service = Service::start();
    let stage = Stage::stack(&service, "clocks").file("a.yaml", &definition("shop/a", 80));
    stage.run("apply . --yes --quiet").code(0);
    let first = runs(&stage).remove(0);
    let directory = stage.path("../state/trueup/runs");
    let text = std::fs::read_to_string(directory.join(format!("{first}.jsonl"))).expect("a journal");
    let started = text.split("\"started\":\"").nth(1).and_then(|rest| rest.split('"').next()).expect("a time");
    // The second has a wrong clock, and the others are named after it.
    let written = [("2020-01-01", "000"), ("2099-01-01", "000"), ("2020-01-02", "001"), ("", "002")];
    for (day, after) in written {
        let name = format!("{}T00-00-00-{after}-clocks-ab12", if day == "2020-01-01" { day } else { "2099-01-01" });
        let began = if day.is_empty() { started.to_owned() } else { format!("{day}T00:00:00Z") };
        let text = text.replace(&first, &name).replace(started, &began);
        std::fs::write(directory.join(format!("{name}.jsonl")), text).expect("it can be written");
    }
    std::fs::remove_file(directory.join(format!("{first}.jsonl"))).expect("it was there");
    stage.run("history --keep 30d").code(0).stderr_contains("removed 2 runs");
    // When the one with the wrong clock was made is not known.
    assert_eq!(runs(&stage), [0, 2].map(|after| format!("2099-01-01T00-00-00-00{after}-clocks-ab12")));
}
