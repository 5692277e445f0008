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
        assert!(errors.contains("some changes may not have been made; to see "), "{line}: {errors}");
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

/// Runs a command that can write so many bytes to a file; gives its exit code, its answer and what it said.
fn limited(stage: &Stage, bytes: usize, words: &[&str]) -> (Option<i32>, String, String) {
    let command = stage.command(words);
    let mut shell = Command::new("sh");
    shell.args(["-c", "trap '' XFSZ; ulimit -f \"$0\"; exec \"$@\"", &(bytes / BLOCK).to_string()]);
    shell.arg(command.get_program()).args(command.get_args()).current_dir(stage.path("")).env_clear();
    shell.envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
    let output = shell.stdin(Stdio::null()).output().expect("a shell");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (output.status.code(), text(&output.stdout), text(&output.stderr))
}

/// The unit of the limit.
const BLOCK: usize = 512;

#[test]
fn a_run_whose_record_lacks_its_end_ends_with_7_and_says_so() {
    // Of two changes, the first leaves no room for its result.
    for files in [&["a.yaml"] as &[&str], &["a.yaml", "b.yaml"]] {
        let service = Service::start();
        let stage = stage(&service);
        let apply = |bytes: usize, padding: usize| {
            let by = "x".repeat(padding);
            limited(&stage, bytes, &["apply", ".", "--yes", "--quiet", "--concurrency", "1", "--approved-by", &by])
        };
        let change = |port: &str, next: &str| files.iter().for_each(|file| stage.edit(file, port, next));
        let runs = || {
            let runs = std::fs::read_dir(stage.path("../state/trueup/runs")).expect("runs");
            runs.map(|run| run.expect("a run").path()).collect::<BTreeSet<_>>()
        };
        for port in ["port: 80", "port: 81"] {
            change("port: 80", port);
            let (code, _, errors) = apply(1000 * BLOCK, BLOCK);
            assert_eq!((code, errors), (Some(0), String::new()));
        }
        let journal = std::fs::read_to_string(runs().last().expect("a run")).expect("its journal");
        change("port: 81", "port: 82");
        let (code, _, errors) = apply(BLOCK, BLOCK);
        assert_eq!((code, runs().len()), (Some(6), 2), "what sent nothing is no run: {errors}");
        // There is room for the intent of such a run, and not for all that follows it.
        let intents = journal.find("{\"outcome\"").expect("a result") + 50 - BLOCK;
        let padding = BLOCK - intents % BLOCK;
        assert!(intents + padding + 100 < journal.len() - BLOCK + padding, "{journal}");
        let (code, answer, errors) = apply(intents + padding, padding);
        assert_eq!((code, &service.get("shop/a")["spec"]["port"]), (Some(7), &82.into()), "{errors}");
        assert!(errors.contains("the record of the run is not complete: cannot write `"), "{errors}");
        let is_whole = files.len() == 1;
        let made = if is_whole { "the changes were made" } else { "some changes may not have been made" };
        assert!(errors.contains(&format!("{made}; to see each result: trueup show ")), "{errors}");
        assert_eq!(answer.contains("resume with: trueup apply --resume "), !is_whole, "{answer}");
        stage.run("history").code(0).stdout_contains("1 write in doubt").stderr_ignored();
        stage.run("apply --resume last --yes --quiet").code(0);
    }
}

#[test]
fn a_state_directory_on_a_full_disk_is_a_failure() {
    let service = Service::start();
    let stage = stage(&service);
    let (code, answer, errors) = limited(&stage, 8 * BLOCK, &["doctor"]);
    assert_eq!((code, errors.as_str()), (Some(1), ""), "{answer}");
    assert!(answer.contains("failed  state directory") && answer.contains("fix: name another directory"), "{answer}");
}
