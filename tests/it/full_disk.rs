//! A run that wrote and whose answer cannot be written ends as partly done, whatever began it.

use std::collections::BTreeSet;
use std::fs::File;
use std::process::{Command, Stdio};

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
fn a_run_of_which_a_change_failed_does_not_claim_on_a_full_disk_that_all_were_made() {
    let service = Service::start();
    let stage = stage(&service);
    service.misbehave("rules: [{operation: endpoint-create, name: b, status: {code: 403}}]");
    for line in ["apply . --yes", "apply --recursive . --yes"] {
        let (code, errors) = on_a_full_disk(&stage, line);
        assert_eq!(code, 7, "{line}: {errors}");
        assert!(errors.contains("not every change is known to be made; to see "), "{line}: {errors}");
        service.delete("shop/a");
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

#[test]
fn a_run_whose_record_lacks_its_end_ends_with_7_and_says_so() {
    const BLOCK: usize = 512;
    let service = Service::start();
    let stage = stage(&service);
    let apply = |blocks: usize, padding: usize| {
        let apply = stage.command(&["apply", ".", "--yes", "--quiet", "--approved-by", &"x".repeat(padding)]);
        let mut shell = Command::new("sh");
        shell.args(["-c", "trap '' XFSZ; ulimit -f \"$0\"; exec \"$@\"", &blocks.to_string()]);
        shell.arg(apply.get_program()).args(apply.get_args()).current_dir(stage.path("")).env_clear();
        shell.envs(apply.get_envs().filter_map(|(name, value)| Some((name, value?))));
        let output = shell.stdin(Stdio::null()).output().expect("a shell");
        (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
    };
    let runs = || {
        let runs = std::fs::read_dir(stage.path("../state/trueup/runs")).expect("runs");
        runs.map(|run| run.expect("a run").path()).collect::<BTreeSet<_>>()
    };
    for port in ["80", "81"] {
        stage.edit("a.yaml", "port: 80", &format!("port: {port}"));
        assert_eq!(apply(1000, BLOCK), (Some(0), String::new()));
    }
    let journal = std::fs::read_to_string(runs().last().expect("a run")).expect("its journal");
    stage.edit("a.yaml", "port: 81", "port: 82");
    let (code, errors) = apply(1, BLOCK);
    assert_eq!((code, runs().len()), (Some(6), 2), "what sent nothing is no run: {errors}");
    // There is room for the intent of such a run, and not for all that follows it.
    let intents = journal.find("{\"outcome\"").expect("a result") + 50 - BLOCK;
    let padding = BLOCK - intents % BLOCK;
    assert!(intents + padding + 100 < journal.len() - BLOCK + padding, "{journal}");
    let (code, errors) = apply((intents + padding) / BLOCK, padding);
    assert_eq!((code, &service.get("shop/a")["spec"]["port"]), (Some(7), &82.into()), "{errors}");
    assert!(errors.contains("the record of the run is not complete: cannot write `"), "{errors}");
    assert!(errors.contains("the changes were made; to see each result: trueup show "), "{errors}");
    stage.run("history").code(0).stdout_contains("1 write in doubt").stderr_ignored();
    stage.run("apply --resume last --yes --quiet").code(0);
}
