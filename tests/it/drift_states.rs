//! The drift state of a stack: several checkers write it at once and nothing is lost, and it is one stack's alone.

use std::collections::BTreeSet;
use std::process::{Child, Stdio};

use serde_json::Value;
use trueup::sandbox::LogEntry;

#[cfg(unix)]
use crate::support::path_with_git;
use crate::support::{BucketServer, OddServer, Service, Stage, definition};

/// Namespaces of the stack that is divided.
const NAMESPACES: usize = 24;
/// Checkers that share it.
const SHARDS: usize = 6;

/// A stack of many namespaces with an endpoint each, which somebody defined by hand as it is defined.
fn divided(service: &Service) -> Stage {
    let names: Vec<String> = (0..NAMESPACES).map(|number| format!("n{number}")).collect();
    let mut stage =
        Stage::new().at(service).file("trueup.yaml", &format!("stack: fleet\nnamespaces: [{}]\n", names.join(", ")));
    for name in &names {
        stage = stage.file(&format!("{name}.yaml"), &definition(&format!("{name}/cart"), 80));
    }
    stage.run("apply . --yes --quiet").code(0);
    stage
}

/// Runs every shard at the same time, once.
fn all_shards(stage: &Stage, more: &[&str]) {
    let runners: Vec<Child> = (1..=SHARDS)
        .map(|index| {
            let shard = format!("{index}/{SHARDS}");
            let line = [&["drift", ".", "--shard", &shard], more].concat();
            stage.command(&line).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped()).spawn()
        })
        .collect::<Result<_, _>>()
        .expect("they start");
    for runner in runners {
        let output = runner.wait_with_output().expect("it ends");
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(matches!(output.status.code(), Some(0 | 3)), "{:?}: {said}", output.status);
    }
}

fn keys(state: &Value) -> BTreeSet<String> {
    let keys = state["applied"].as_array().expect("keys").iter();
    keys.map(|key| key.as_str().expect("a key").to_owned()).collect()
}

#[test]
fn six_shards_that_check_at_once_lose_nothing_of_their_drift_state() {
    let service = Service::start();
    let stage = divided(&service);
    for round in 0..3 {
        let file = format!("../drift-{round}.json");
        all_shards(&stage, &["--drift-state", &file, "--state", "../nothing"]);
        let state: Value = serde_json::from_str(&stage.read(&file)).expect("JSON");
        assert_eq!(keys(&state).len(), NAMESPACES);
        assert_eq!(state["checks"], SHARDS);
    }
    // What is deleted later is known to have been there, whoever checks it.
    for number in 0..NAMESPACES {
        service.delete(&format!("n{number}/cart"));
    }
    all_shards(&stage, &["--drift-state", "../drift-0.json", "--state", "../nothing"]);
    let answer = stage.run("drift . --drift-state ../drift-0.json --state ../nothing --format json");
    assert_eq!(answer.code(3).json()["drifted"].as_array().map(Vec::len), Some(NAMESPACES));
}

#[test]
fn six_shards_that_check_at_once_lose_nothing_in_a_state_directory_or_a_bucket() {
    let service = Service::start();
    let stage = divided(&service);
    let checked = |stage: &Stage, more: &[&str]| {
        all_shards(stage, more);
        for number in 0..NAMESPACES {
            service.delete(&format!("n{number}/cart"));
        }
        let line = [&["drift", ".", "--format", "json"], more].concat();
        let answer = stage.run_words(&line);
        let objects = answer.code(3).json()["verdicts"]["objects"].clone();
        let drifted = objects.as_object().expect("objects").values().filter(|one| one["verdict"] == "drift").count();
        assert_eq!(drifted, NAMESPACES, "{more:?}");
        stage.run("apply . --yes --quiet").code(0);
    };
    checked(&stage, &["--state", "../volume"]);
    let Some(bucket) = BucketServer::start() else { return };
    let stage = bucket.variables().into_iter().fold(stage, |stage, (name, value)| stage.env(name, &value));
    checked(&stage, &[]);
}

#[test]
fn the_drift_state_of_another_stack_or_service_is_refused() {
    let (one, two) = (Service::start(), Service::start());
    let stage = Stage::new()
        .at(&one)
        .file("shop/trueup.yaml", "stack: shop\nnamespaces: [shop]\n")
        .file("shop/a.yaml", &definition("shop/a", 80))
        .file("pay/trueup.yaml", "stack: pay\nnamespaces: [shop]\n")
        .file("pay/b.yaml", &definition("shop/b", 80))
        .file("bare/c.yaml", &definition("shop/c", 80))
        .file("plain/d.yaml", &definition("shop/d", 80));
    stage.run("apply shop --yes --quiet").code(0);
    stage.run("drift shop --drift-state ../drift.json").code(0);
    let before = stage.read("../drift.json");
    let refused = |stage: &Stage, line: &str, whose: &str| {
        let ran = stage.run(&format!("{line} --drift-state ../drift.json"));
        ran.code(1).stderr_contains("it is the drift state of").stderr_contains(whose);
        assert_eq!(stage.read("../drift.json"), before, "{line}");
    };
    refused(&stage, "drift pay", "this is a check of stack `pay`");
    refused(&stage, "drift bare", "a check of the stack without a name in");
    let stage = stage.at(&two);
    refused(&stage, "drift shop", "it is the drift state of stack `shop` on http://");
    // A state of an earlier version says nobody's name, and is the first one's that takes it.
    let mut old: Value = serde_json::from_str(&before).expect("JSON");
    old.as_object_mut().expect("a document").remove("owner");
    stage.write("../drift.json", &old.to_string());
    stage.run("drift pay --drift-state ../drift.json").code(2).stderr_ignored();
    stage.run("drift shop --drift-state ../drift.json").code(1).stderr_contains("the drift state of stack `pay`");
}

#[test]
fn stacks_without_a_name_do_not_share_a_drift_state() {
    let service = Service::start();
    let stage = Stage::new()
        .at(&service)
        .file("one/a.yaml", &definition("shop/a", 80))
        .file("two/b.yaml", &definition("shop/b", 80))
        .applied("one")
        .applied("two");
    stage.run("drift one --drift-state ../drift.json").code(0);
    stage.run("drift two --drift-state ../drift.json").code(1).stderr_contains("the stack without a name in");
    // Nothing tells them apart in a store that many stacks share.
    for directory in ["one", "two"] {
        let ran = stage.run(&format!("drift {directory} --state ../volume"));
        ran.code(0).stderr_contains("the stack has no name, so the state keeps no drift state of it");
    }
    assert!(!stage.path("../volume/drift").exists());
}

#[test]
fn a_store_that_refuses_every_update_of_a_drift_state_ends_the_check() {
    let service = Service::start();
    let (mut stored, mut refused) = (None, 0);
    let bucket = OddServer::start(move |line, body| match &stored {
        _ if line.starts_with("PUT") && stored.is_none() => {
            stored = Some(body.to_vec());
            (200, Vec::new())
        }
        // A check that never gives up ends with another error.
        _ if line.starts_with("PUT") => {
            refused += 1;
            (if refused < 50 { 412 } else { 403 }, Vec::new())
        }
        Some(bytes) => (200, bytes.clone()),
        None => (404, b"<Error><Code>NoSuchKey</Code></Error>".to_vec()),
    });
    let stage = Stage::stack(&service, "shop").file("a.yaml", &definition("shop/a", 80)).applied(".");
    let stage = bucket.variables().into_iter().fold(stage, |stage, (name, value)| stage.env(name, &value));
    stage.run("drift .").code(0);
    let ran = stage.run("drift .");
    ran.code(1)
        .stdout_contains("In sync")
        .stderr_contains("the store refuses each update of the version that it shows")
        .stderr_contains("a proxy before this one must not change its ETags");
}

#[test]
fn a_drift_state_that_the_store_does_not_take_is_an_error_with_what_to_do() {
    let service = Service::start();
    let bucket = OddServer::start(|line, _| match line.starts_with("PUT") {
        true => (403, b"<Error><Code>AccessDenied</Code></Error>".to_vec()),
        false => (404, b"<Error><Code>NoSuchKey</Code></Error>".to_vec()),
    });
    let stage = Stage::stack(&service, "shop").file("a.yaml", &definition("shop/a", 80)).applied(".");
    let stage = bucket.variables().into_iter().fold(stage, |stage, (name, value)| stage.env(name, &value));
    let ran = stage.run("drift .");
    ran.code(1).stdout_contains("In sync").stderr_contains("permission denied: AccessDenied");
    ran.stderr_contains("the page \"Keep the state in a bucket\" lists the permissions that trueup needs");
}

#[test]
fn what_an_apply_creates_while_a_check_reads_was_not_deleted_outside() {
    let service = Service::start();
    let stage = Stage::new()
        .at(&service)
        .file("trueup.yaml", "stack: fleet\nnamespaces: [pay, shop]\n")
        .file("cart.yaml", &definition("shop/cart", 80))
        .file("card.yaml", &definition("pay/card", 80))
        .applied(".");
    stage.write("new.yaml", &definition("pay/new", 80));
    service.hold("operation: endpoint-list, namespace: shop, for: 1");
    let before = service.log().len();
    let check = stage.command(&["drift", "."]).stdin(Stdio::null()).stdout(Stdio::piped()).spawn().expect("it starts");
    let is_read = |entry: &LogEntry| entry.operation == "endpoint-list" && entry.namespace == "pay";
    while !service.log()[before..].iter().any(is_read) {
        std::thread::yield_now();
    }
    stage.run("apply . --yes --quiet").code(0);
    service.release();
    let output = check.wait_with_output().expect("it ends");
    let said = String::from_utf8_lossy(&output.stdout);
    assert_eq!(output.status.code(), Some(2), "{said}");
}

/// Runs `line`, and `beside` once while it loads, when the service was asked for its lists already.
#[cfg(unix)]
fn run_beside(stage: &Stage, line: &str, beside: &str) -> (Option<i32>, String) {
    let words = |line: &str| line.split(' ').map(str::to_owned).collect::<Vec<_>>();
    let [mut command, other] =
        [line, beside].map(|line| stage.command(&words(line).iter().map(String::as_str).collect::<Vec<_>>()));
    let quoted = |text: &std::ffi::OsStr| format!("'{}'", text.to_str().expect("a text"));
    let variables = other.get_envs().filter_map(|(name, value)| Some(format!("{}={}", name.display(), quoted(value?))));
    let call = std::iter::once(other.get_program()).chain(other.get_args()).map(quoted);
    let call: Vec<String> = variables.chain(call).collect();
    let directory = stage.path("..").canonicalize().expect("a path");
    let [here, directory] = ["work", "beside"].map(|name| directory.join(name));
    std::fs::create_dir_all(&directory).expect("a directory");
    let (once, said) = (directory.join("once"), directory.join("said"));
    std::fs::remove_dir(&once).ok();
    let script = format!(
        "mkdir {} 2>/dev/null && (cd {} && env -i {} > {} 2>&1)",
        once.display(),
        here.display(),
        call.join(" "),
        said.display()
    );
    let ran = command.env("PATH", path_with_git(&directory, &script)).stdin(Stdio::null()).output().expect("it runs");
    let said = std::fs::read_to_string(said).expect("it ran");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (ran.status.code(), format!("{}{}{said}", text(&ran.stdout), text(&ran.stderr)))
}

#[cfg(unix)]
#[test]
fn what_another_run_does_while_a_check_loads_is_no_drift() {
    let service = Service::start();
    let stage = Stage::stack(&service, "shop")
        // With it, the repository is asked before anything else.
        .file(".gitmodules", "")
        .file("cart.yaml", &definition("shop/cart", 80))
        .file("pay.yaml", &definition("shop/pay", 80))
        .committed();
    let (code, said) = run_beside(&stage, "drift .", "apply . --yes");
    assert!(said.contains("2 created"), "{said}");
    assert!(code != Some(3) && !said.contains("DRIFT"), "{code:?} {said}");
    stage.run("drift .").code(0);

    let (code, said) = run_beside(&stage, "drift .", "rollback last --only shop/cart --allow mass-change --yes");
    assert!(said.contains("1 deleted"), "{said}");
    assert!(code != Some(3) && !said.contains("DRIFT"), "{code:?} {said}");
    stage.run("drift .").code(2).does_not_say("DRIFT").stdout_contains("shop/cart");
}
