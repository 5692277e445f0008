use futures_util::{StreamExt as _, stream};
use trueup::plan::ActionKind;
use trueup::run::{ChangeResult, Outcome, RunEntry, Verification};
use trueup::sandbox::{RequestEffect, Scenario};

use super::{Bench, all_done, endpoints};

const OPERATIONS: [&str; 5] =
    ["endpoint-create", "endpoint-get", "endpoint-replace", "endpoint-delete", "endpoint-list"];

/// The actions of scenarios that a call may meet.
fn faults() -> Vec<String> {
    let statuses = [400, 401, 403, 409, 429, 500, 502, 503, 504].map(|code| format!("status: {{code: {code}}}"));
    let done = [429, 500, 503, 504].map(|code| format!("status: {{code: {code}, effect: done}}"));
    let others = [
        "cut: before",
        "cut: after",
        "conflict: {}",
        "vanish: {}",
        "partial: {missing: 1}",
        "truncate: {}",
        "garbage: {effect: none}",
        "garbage: {effect: done}",
        "html: {effect: done}",
        "endless: {effect: done}",
    ];
    statuses.into_iter().chain(done).chain(others.map(ToOwned::to_owned)).collect()
}

/// The journal and the outcome say what the service's own log of requests says.
fn agrees(bench: &Bench, outcome: &Outcome, skip: usize, message: &str) {
    let record = bench.record(&outcome.run);
    let log = bench.running.log();
    for step in &outcome.steps {
        let writes = log[skip..].iter().filter(|entry| {
            entry.method != "GET"
                && entry.namespace == step.key.namespace.as_str()
                && entry.name == step.key.name.as_str()
        });
        let made = writes.clone().filter(|entry| entry.effect == RequestEffect::Done).count();
        let intents =
            record.entries.iter().filter(|kept| matches!(kept, RunEntry::Intent(i) if i.key == step.key)).count();
        let kept: Vec<&ChangeResult> = record
            .entries
            .iter()
            .filter_map(|kept| match kept {
                RunEntry::Outcome(kept) if kept.key == step.key => Some(&kept.result),
                _ => None,
            })
            .collect();
        assert_eq!(kept.len(), 1, "{message}: {}", step.key);
        assert_eq!(format!("{:?}", kept[0]), format!("{:?}", step.result), "{message}: {}", step.key);
        let sent = writes.count();
        assert!(intents > 0 || sent == 0, "{message}: {} was sent without an intent", step.key);
        assert!(made <= 1, "{message}: {} was made {made} times", step.key);
        match &step.result {
            // A deleted object does not show who deleted it: one that was sent counts.
            ChangeResult::Done { by_reading: true, .. } if step.action == ActionKind::Delete => {
                assert!(sent > 0, "{message}: {} is called done", step.key);
            }
            ChangeResult::Done { .. } => assert_eq!(made, 1, "{message}: {} is called done", step.key),
            result if result.may_have_taken_effect() => {}
            result => assert_eq!(made, 0, "{message}: {} was made and is called {result:?}", step.key),
        }
    }
}

/// One fault at one step: the run agrees with the service, and a further run makes the tenant right.
async fn one(operation: &str, fault: String, after: u64) {
    let wanted = || endpoints(&[("a", 1), ("b", 1), ("c", 2), ("d", 2)]);
    let message = format!("{operation} {fault} after {after}");
    let (bench, plan) = Bench::with_plan().await;
    let skip = bench.running.log().len();
    let scenario = format!("rules: [{{operation: {operation}, after: {after}, for: 1, {fault}}}]");
    bench.running.set_scenario(Scenario::parse(&scenario).unwrap());
    let outcome = bench.apply(plan).await;
    bench.running.set_scenario(Scenario::default());
    assert_eq!(outcome.steps.len(), 6, "{message}");
    agrees(&bench, &outcome, skip, &message);
    let next = bench.plan(wanted()).await;
    let right = next.changes.is_empty() && next.blocked.is_empty();
    let proven = matches!(outcome.verification, Verification::Verified { .. }) && all_done(&outcome);
    assert!(right || !proven, "{message}: {outcome:?}");
    let again = bench.apply(next).await;
    assert!(all_done(&again), "{message}: {again:?}");
    assert!(bench.plan(wanted()).await.changes.is_empty(), "{message}");
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
    for end in 0..whole.entries.len() {
        let (bench, plan) = Bench::with_plan().await;
        let again = bench.apply(plan).await;
        let mut record = bench.record(&again.run);
        record.entries.truncate(end);
        record.closing = None;
        let outcome = bench.resume(&record).await;
        assert!(all_done(&outcome), "{end}: {outcome:?}");
        let next = bench.plan(endpoints(&[("a", 1), ("b", 1), ("c", 2), ("d", 2)])).await;
        assert!(next.changes.is_empty(), "{end}");
    }
}
