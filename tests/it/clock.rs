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
