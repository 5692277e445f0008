use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use serde_json::{Value as Json, json};
use trueup::plan::{BlockReason, Note};
use trueup::sandbox::Scenario;

use super::{Bench, all_done, endpoint, endpoints, key};
use crate::strategies;

#[tokio::test]
async fn a_rollback_puts_everything_back_and_can_be_rolled_back() {
    let (bench, plan) = Bench::with_plan().await;
    let before = bench.endpoints().await;
    let outcome = bench.apply(plan).await;
    let after = bench.endpoints().await;
    let undo = bench.rollback(&outcome.run).await;
    assert!(undo.blocked.is_empty(), "{:?}", undo.blocked);
    let recreated = undo.notes.iter().filter(|note| matches!(note, Note::Recreated { .. })).count();
    assert_eq!(recreated, 2);
    let undone = bench.apply(undo).await;
    assert!(all_done(&undone), "{undone:?}");
    assert_eq!(bench.endpoints().await, before);
    let redone = bench.apply(bench.rollback(&undone.run).await).await;
    assert!(all_done(&redone), "{redone:?}");
    assert_eq!(bench.endpoints().await, after);
}

#[tokio::test]
async fn what_somebody_changed_since_is_blocked_three_ways_and_other_fields_stay() {
    let (bench, plan) = Bench::with_plan().await;
    let outcome = bench.apply(plan).await;
    bench.interfere("c", "spec.port", json!(7)).await;
    bench.interfere("d", "metadata.description", json!("theirs")).await;
    bench.interfere("a", "spec.port", json!(9)).await;
    let undo = bench.rollback(&outcome.run).await;
    let held: Vec<_> = undo.blocked.iter().map(|held| held.key.clone()).collect();
    assert_eq!(held, [key("a"), key("c")]);
    let BlockReason::Moved(conflict) = &undo.blocked[1].reason else { panic!("{:?}", undo.blocked) };
    let field = &conflict.fields[0];
    assert_eq!((&field.planned, &field.now, &field.wanted), (&json!(2), &json!(7), &json!(1)));
    assert!(all_done(&bench.apply(undo).await));
    let live = bench.endpoints().await;
    assert_eq!(live[&key("c")].spec.unit("port"), 7);
    assert_eq!((live[&key("d")].spec.unit("port"), live[&key("d")].description.as_str()), (1.into(), "theirs"));
}

#[tokio::test]
async fn a_rollback_of_nothing_that_is_left_plans_nothing() {
    let (bench, plan) = Bench::with_plan().await;
    let outcome = bench.apply(plan).await;
    let undone = bench.apply(bench.rollback(&outcome.run).await).await;
    assert!(all_done(&undone));
    bench.apply(bench.plan(endpoints(&[("c", 1), ("d", 1), ("e", 1), ("f", 1)])).await).await;
    let again = bench.rollback(&outcome.run).await;
    assert!(again.changes.iter().all(|change| change.fields().is_empty()), "{:?}", again.changes);
}

#[tokio::test]
async fn a_rollback_that_was_made_leaves_nothing_for_a_second_one() {
    let (bench, plan) = Bench::with_plan().await;
    let outcome = bench.apply(plan).await;
    assert!(all_done(&bench.apply(bench.rollback(&outcome.run).await).await));
    let again = bench.rollback(&outcome.run).await;
    assert!(again.changes.is_empty() && again.blocked.is_empty(), "{again:?}");
}

/// Cases of a property that asks a service: few, unless `PROPTEST_CASES` says otherwise.
fn config() -> Config {
    let cases = std::env::var("PROPTEST_CASES").ok().and_then(|text| text.parse().ok());
    Config { cases: cases.unwrap_or(24), failure_persistence: None, ..Config::default() }
}

/// What the property below once found: the annotation stands in no before-image, and was left there.
#[tokio::test]
async fn an_annotation_that_only_the_run_knows_is_taken_back() {
    let bench = Bench::start().await;
    let plain = endpoint("e4", 0);
    bench.apply(bench.plan(vec![plain.clone()]).await).await;
    let before = bench.endpoints().await;
    let mut named = plain;
    named.annotations = [("a".to_owned(), "y".to_owned())].into_iter().collect();
    named.spec.set("port", &Json::Null, &json!(2)).expect("a port");
    named.spec.set("protocol", &Json::Null, &json!("UDP")).expect("a protocol");
    let outcome = bench.apply(bench.plan(vec![named, endpoint("e5", 1)]).await).await;
    assert!(all_done(&outcome), "{outcome:?}");
    assert!(all_done(&bench.apply(bench.rollback(&outcome.run).await).await));
    assert_eq!(bench.endpoints().await, before);
}

#[test]
fn for_any_live_and_any_definitions_apply_then_rollback_gives_the_old_live() {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    let mut runner = TestRunner::new(config());
    let cases = (strategies::endpoints(), strategies::endpoints(), 1usize..9);
    let result = runner.run(&cases, |(old, new, concurrency)| {
        runtime.block_on(async {
            let mut bench = Bench::start().await;
            bench.concurrency = concurrency;
            let first = bench.apply(bench.plan(old).await).await;
            prop_assert!(all_done(&first), "{first:?}");
            let before = bench.endpoints().await;
            let outcome = bench.apply(bench.plan(new.clone()).await).await;
            prop_assert!(all_done(&outcome), "{outcome:?}");
            let next = bench.plan(new).await;
            prop_assert!(next.changes.is_empty(), "{:?}", next.changes);
            let undo = bench.rollback(&outcome.run).await;
            prop_assert!(undo.blocked.is_empty(), "{:?}", undo.blocked);
            let undone = bench.apply(undo).await;
            prop_assert!(all_done(&undone), "{undone:?}");
            prop_assert_eq!(bench.endpoints().await, before);
            Ok(())
        })
    });
    result.unwrap_or_else(|error| panic!("{error}"));
}

/// Faults that a run settles or reports, spread over every write.
fn faults(every: u64) -> Scenario {
    let rules = [
        format!("{{operation: endpoint-create, every: {every}, cut: after}}"),
        format!("{{operation: endpoint-create, every: {}, status: {{code: 503}}}}", every + 2),
        format!("{{operation: endpoint-replace, every: {}, cut: before}}", every + 1),
        format!("{{operation: endpoint-replace, every: {every}, cut: after}}"),
        format!("{{operation: endpoint-delete, every: {every}, cut: after}}"),
        format!("{{operation: endpoint-get, every: {}, status: {{code: 502}}}}", every + 3),
    ];
    Scenario::parse(&format!("rules: [{}]", rules.join(", "))).unwrap()
}

#[test]
fn for_any_live_and_any_definitions_apply_under_faults_and_again_leaves_nothing() {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    let mut runner = TestRunner::new(config());
    let cases = (strategies::endpoints(), strategies::endpoints(), 1usize..9, 2u64..5);
    let result = runner.run(&cases, |(old, new, concurrency, every)| {
        runtime.block_on(async {
            let mut bench = Bench::start().await;
            bench.concurrency = concurrency;
            bench.apply(bench.plan(old).await).await;
            bench.running.set_scenario(faults(every));
            let shaken = bench.apply(bench.plan(new.clone()).await).await;
            bench.running.set_scenario(Scenario::default());
            // What is called done is there: a second run has exactly the rest to do.
            let undone: Vec<_> =
                shaken.steps.iter().filter(|step| !step.result.is_done()).map(|step| &step.key).collect();
            let rest = bench.plan(new.clone()).await;
            prop_assert!(rest.changes.iter().all(|change| undone.contains(&&change.key)), "{shaken:?} {rest:?}");
            let settled = bench.apply(rest).await;
            prop_assert!(all_done(&settled), "{settled:?}");
            let left = bench.plan(new).await;
            prop_assert!(left.changes.is_empty(), "{:?}", left.changes);
            Ok(())
        })
    });
    result.unwrap_or_else(|error| panic!("{error}"));
}
