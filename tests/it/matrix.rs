//! Every fault at every step of an apply, through the program: it ends as done, refused, failed or
//! partly applied, by a code that says so, and its journal contains what the log of the service contains.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::{Value, json};

use crate::support::{Service, Stage, definition};

const OPERATIONS: [&str; 5] =
    ["endpoint-create", "endpoint-get", "endpoint-replace", "endpoint-delete", "endpoint-list"];

const FAULTS: [&str; 18] = [
    "status: {code: 400}",
    "status: {code: 401}",
    "status: {code: 403}",
    "status: {code: 404}",
    "status: {code: 409}",
    "status: {code: 500}",
    "status: {code: 500, effect: done}",
    "status: {code: 502}",
    "status: {code: 503, effect: done}",
    "status: {code: 504, effect: done}",
    "cut: before",
    "cut: after",
    "conflict: {field: spec.port, value: 7}",
    "vanish: {}",
    "partial: {missing: 1}",
    "truncate: {bytes: 20}",
    "garbage: {}",
    "html: {}",
];

/// What the program printed in a case, and what the service saw.
struct Case {
    message: String,
    code: i32,
    outcome: Value,
    /// Writes that took effect, by `METHOD name`.
    made: Vec<String>,
}

fn case(operation: &str, fault: &str) -> Case {
    let service = Service::start();
    let stage = Stage::stack(&service, "faults")
        .file("changed.yaml", &definition("shop/changed", 80))
        .file("old.yaml", &definition("shop/old", 80))
        .applied(".");
    stage.edit("changed.yaml", "port: 80", "port: 81");
    stage.remove("old.yaml");
    stage.write("new.yaml", &definition("shop/new", 80));
    stage.run("plan . -o plan.json --quiet").code(0);
    let before = service.log().len();
    service.misbehave(&format!("rules: [{{operation: {operation}, for: 1, {fault}}}]"));
    let ran = stage.run("apply plan.json --yes --quiet --format json");
    ran.stderr_ignored();
    service.misbehave("rules: []");
    let message = format!("{operation} {fault}: {}", ran.text());
    let log = service.log();
    let made = log[before..].iter().filter(|entry| entry.effect == trueup::sandbox::RequestEffect::Done);
    let made = made.map(|entry| format!("{} {}", entry.method, entry.name)).collect();
    let outcome = if ran.text().is_empty() { Value::Null } else { ran.json() };
    let journal = stage.run("show last --format json").code(0).json();
    agrees(&message, &outcome, &journal);
    // Whatever came of it, a further apply or two make it right.
    let made_right = (0..2).any(|_| {
        let again = stage.run("apply . --yes --quiet --allow mass-change --allow empty-namespace");
        again.stderr_ignored();
        stage.run("plan . --detailed-exitcode --quiet").exit() == 0
    });
    assert!(made_right, "{message}");
    Case { message, code: ran.exit(), outcome, made }
}

/// The journal holds the results of the outcome.
fn agrees(message: &str, outcome: &Value, journal: &Value) {
    for step in outcome["outcome"]["steps"].as_array().into_iter().flatten() {
        let kept = journal["steps"].as_array().expect("steps").iter().find(|kept| kept["key"] == step["key"]);
        for part in ["result", "started", "ended", "requests"] {
            let (kept, said) = (&kept.expect("the change")[part], &step[part]);
            assert!(kept == said || said.is_null() && *kept == json!([]), "{message}: {part}: {kept} against {said}");
        }
    }
}

fn judge(case: &Case) {
    let Case { message, code, outcome, made } = case;
    let steps = outcome["outcome"]["steps"].as_array().cloned().unwrap_or_default();
    let done = |step: &&Value| step["result"].get("done").is_some() || step["result"] == "already_done";
    let all = steps.len();
    let made_by_us: Vec<&String> = made.iter().collect();
    match code {
        // Done: everything is, and the service agrees.
        0 => assert_eq!(steps.iter().filter(done).count(), all, "{message}"),
        // Failed or refused: nothing took effect.
        1 | 5 | 6 => assert!(steps.iter().all(|step| !done(&step)) && made_by_us.is_empty(), "{message}: {made:?}"),
        // Partly: something did, or may have, or is not proven.
        7 => assert!(
            steps.iter().filter(done).count() < all || outcome["outcome"]["verification"] != json!("not_needed"),
            "{message}"
        ),
        other => panic!("{message}: {other}"),
    }
    let mut sorted = made.clone();
    sorted.sort();
    sorted.dedup();
    assert_eq!(sorted.len(), made.len(), "{message}: made twice: {made:?}");
}

#[test]
fn every_fault_at_every_step_ends_in_a_code_that_is_true() {
    // Whole by `just torture`; the tests of `apply` try every case without the program.
    let every = if std::env::var_os("TRUEUP_TORTURE").is_some() { 1 } else { 4 };
    let all = OPERATIONS.iter().flat_map(|operation| FAULTS.iter().map(move |fault| (*operation, *fault)));
    let cases: Vec<(&str, &str)> = all.step_by(every).collect();
    let next = AtomicUsize::new(0);
    let codes = Mutex::new(std::collections::BTreeMap::<i32, usize>::new());
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                while let Some((operation, fault)) = cases.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let case = case(operation, fault);
                    judge(&case);
                    *codes.lock().expect("no case panics with it").entry(case.code).or_default() += 1;
                }
            });
        }
    });
    println!("{} cases by exit code: {:?}", cases.len(), codes.into_inner().expect("no case panicked"));
}
