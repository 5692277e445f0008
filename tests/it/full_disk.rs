//! A run that wrote and whose answer cannot be written ends as partly done, whatever began it.

use std::fs::File;
use std::process::Stdio;

use crate::support::{Service, Stage, definition};

/// Runs a command whose standard output is a full disk; gives its exit code and what it said.
fn on_a_full_disk(stage: &Stage, line: &str) -> (i32, String) {
    let words: Vec<&str> = line.split(' ').collect();
    let disk = File::options().write(true).open("/dev/full").expect("a full disk");
    let output = stage.command(&words).stdin(Stdio::null()).stdout(disk).output().expect("it starts");
    (output.status.code().unwrap_or(-1), String::from_utf8_lossy(&output.stderr).into_owned())
}

#[track_caller]
fn partly(stage: &Stage, line: &str) {
    let (code, errors) = on_a_full_disk(stage, line);
    assert_eq!(code, 7, "{line}: {errors}");
    assert!(errors.contains("cannot write the answer") && errors.contains("the changes were made"), "{line}: {errors}");
}

fn stage(service: &Service) -> Stage {
    Stage::stack(service, "disk").file("a.yaml", &definition("shop/a", 80)).file("b.yaml", &definition("shop/b", 80))
}

#[test]
fn a_rollback_on_a_full_disk_ends_with_7_since_it_wrote() {
    for format in ["text", "json"] {
        let service = Service::start();
        let stage = stage(&service);
        stage.run("apply . --yes --quiet").code(0);
        stage.edit("a.yaml", "port: 80", "port: 81");
        stage.run("apply . --yes --quiet").code(0);
        partly(&stage, &format!("rollback last --yes --format {format}"));
        assert_eq!(service.get("shop/a")["spec"]["port"], 80);
        // Its plan alone writes nothing to the service.
        let writes = service.requests("PUT");
        let (code, errors) = on_a_full_disk(&stage, "rollback last -o back.json");
        assert_eq!((code, service.requests("PUT")), (1, writes), "{errors}");
        assert!(errors.contains("cannot write the answer"), "{errors}");
    }
}

#[test]
fn a_resume_on_a_full_disk_ends_with_7_since_it_wrote() {
    for format in ["text", "json"] {
        let service = Service::start();
        let stage = stage(&service);
        service.misbehave("rules: [{operation: endpoint-create, name: b, status: {code: 403}}]");
        stage.run("apply . --yes --quiet").code(7);
        service.misbehave("rules: []");
        partly(&stage, &format!("apply --resume last --yes --format {format}"));
        assert!(service.has("shop/b"));
    }
}

#[test]
fn a_saved_plan_on_a_full_disk_ends_with_7_since_it_wrote() {
    let service = Service::start();
    let stage = stage(&service);
    stage.run("plan . -o plan.json").code(0);
    partly(&stage, "apply plan.json --yes");
    assert!(service.has("shop/a") && service.has("shop/b"));
}
