use futures_util::{StreamExt as _, stream};
use trueup::plan::{Convergence, Fate, Kept, Outcome};
use trueup::sandbox::{Action, Effect, Rule, Runs, Scenario};

use super::{Bench, all_done, endpoints};

const OPERATIONS: [&str; 5] =
    ["endpoint-create", "endpoint-get", "endpoint-replace", "endpoint-delete", "endpoint-list"];

fn faults() -> Vec<Action> {
    let status = |status, runs| Action::Status { status, body: None, retry_after: None, runs };
    let mut faults: Vec<Action> =
        [400, 401, 403, 409, 429, 500, 502, 503, 504].into_iter().map(Action::status).collect();
    faults.extend([500, 503, 504].map(|code| status(code, Runs::First)));
    faults.extend([
        Action::CutBefore,
        Action::CutAfter,
        Action::conflict(),
        Action::Vanish,
        Action::partial_list(1),
        Action::Truncate { bytes: None },
        Action::Garbage { runs: Runs::Not },
        Action::Garbage { runs: Runs::First },
        Action::Html { runs: Runs::First },
        Action::Endless { runs: Runs::First },
    ]);
    faults
}

/// The journal and the outcome say what the service's own log of requests says.
fn agrees(bench: &Bench, outcome: &Outcome, skip: usize, told: &str) {
    let record = bench.record(&outcome.run);
    let log = bench.running.log();
    for step in &outcome.steps {
        let writes = log[skip..].iter().filter(|entry| {
            entry.method != "GET"
                && entry.namespace == step.key.namespace.as_str()
                && entry.name == step.key.name.as_str()
        });
        let made = writes.clone().filter(|entry| entry.effect == Effect::Done).count();
        let intents = record.kept.iter().filter(|kept| matches!(kept, Kept::Intent(i) if i.key == step.key)).count();
        let kept: Vec<&Fate> = record
            .kept
            .iter()
            .filter_map(|kept| match kept {
                Kept::Outcome(kept) if kept.key == step.key => Some(&kept.fate),
                _ => None,
            })
            .collect();
        assert_eq!(kept.len(), 1, "{told}: {}", step.key);
        assert_eq!(format!("{:?}", kept[0]), format!("{:?}", step.fate), "{told}: {}", step.key);
        assert!(intents > 0 || writes.count() == 0, "{told}: {} was sent without an intent", step.key);
        assert!(made <= 1, "{told}: {} was made {made} times", step.key);
        match &step.fate {
            Fate::Done { .. } => assert_eq!(made, 1, "{told}: {} is called done", step.key),
            Fate::AlreadyDone => {}
            fate if fate.may_have_taken_effect() => {}
            fate => assert_eq!(made, 0, "{told}: {} was made and is called {fate:?}", step.key),
        }
    }
}

/// One fault at one step: the run agrees with the service, and a further run makes the tenant right.
async fn one(operation: &str, fault: Action, after: u64) {
    let wanted = || endpoints(&[("a", 1), ("b", 1), ("c", 2), ("d", 2)]);
    let told = format!("{operation} {fault:?} after {after}");
    let (bench, plan) = Bench::with_plan().await;
    let skip = bench.running.log().len();
    bench.running.set_scenario(Scenario::new([Rule::on(operation, fault).after(after).times(1)]));
    let outcome = bench.apply(plan).await;
    bench.running.set_scenario(Scenario::default());
    assert_eq!(outcome.steps.len(), 6, "{told}");
    agrees(&bench, &outcome, skip, &told);
    let next = bench.plan(wanted()).await;
    let right = next.changes.is_empty() && next.held.is_empty();
    let proven = matches!(outcome.convergence, Convergence::Proven { .. }) && all_done(&outcome);
    assert!(right || !proven, "{told}: {outcome:?}");
    let again = bench.apply(next).await;
    assert!(all_done(&again), "{told}: {again:?}");
    assert!(bench.plan(wanted()).await.changes.is_empty(), "{told}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_fault_at_every_step_leaves_a_journal_that_agrees_and_a_tenant_that_can_be_made_right() {
    // The first and the second call of an operation by turns; `apply::tests` has every single request.
    let cases = OPERATIONS.into_iter().flat_map(|operation| {
        faults().into_iter().zip([0, 1].into_iter().cycle()).map(move |(fault, after)| {
            let after = if operation == "endpoint-list" { 0 } else { after };
            (operation, fault, after)
        })
    });
    // Most of a case is waiting for the disk.
    stream::iter(cases).for_each_concurrent(8, |(operation, fault, after)| one(operation, fault, after)).await;
}

#[tokio::test]
async fn a_run_whose_journal_ends_anywhere_is_resumed_to_its_end() {
    let (bench, plan) = Bench::with_plan().await;
    let run = bench.apply(plan).await.run;
    let whole = bench.record(&run);
    for end in 0..whole.kept.len() {
        let (bench, plan) = Bench::with_plan().await;
        let again = bench.apply(plan).await;
        let mut record = bench.record(&again.run);
        record.kept.truncate(end);
        record.closing = None;
        let outcome = bench.resume(&record).await;
        assert!(all_done(&outcome), "{end}: {outcome:?}");
        let next = bench.plan(endpoints(&[("a", 1), ("b", 1), ("c", 2), ("d", 2)])).await;
        assert!(next.changes.is_empty(), "{end}");
    }
}
