//! The runner against a service in memory whose faults come where they are wanted: every fault at
//! every request of a run, in microseconds. Over HTTP the same is tested in `tests/it`.

mod fake;
mod in_doubt;
mod shown;
mod undone;
mod waits;

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::json;
use tokio::sync::watch;

use super::phases;
use super::service::{CheckedNamespace, ObjectService, WriteTurn};
use super::{ApplyOptions, PollPolicy};
use crate::api::{
    ApiError, CurrentState, ErrorStatus, Failure, Operation, RetryClass, Timing, WriteDeparture, WriteFailure, decide,
};
use crate::model::{
    Clock, Definition, Desired, Json, Key, ListRead, Live, LiveItem, LiveObject, Namespace, Object, RelatedObject,
    RunId, Scope, UnsupportedItem,
};
use crate::plan::{self, ActionKind, Allowances, Ignore, Plan, PlanInput, Selection};
use crate::run::{
    ChangeResult, ChangeStep, Confirmation, Intent, Outcome, RunClosing, RunEntry, RunEvent, RunObserver, RunRecord,
    RunRecorder, Urgency, Verification, WriteRequest,
};
use crate::tests::world::header;

use fake::*;
use waits::{Script, Wait};

/// A tenant with a plan for it: `a` and `b` appear, `c` and `d` change, `e` and `f` go.
struct Bench {
    fake: Fake,
    stop: watch::Receiver<bool>,
    plan: Plan,
    waits: Arc<Mutex<Vec<Duration>>>,
}

const STACK: &str = "shop";

impl Bench {
    fn new() -> Self {
        let (stop, stopped) = watch::channel(false);
        let fake = Fake { state: Mutex::new(State { checks: true, ..State::default() }), stop, script: Arc::default() };
        let mut bench = Self { fake, stop: stopped, plan: plan(&State::default(), &[]), waits: Arc::default() };
        let first = plan(&State::default(), &[("c", 1), ("d", 1), ("e", 1), ("f", 1)]);
        bench.plan = first;
        let outcome = bench.run_as("run-0");
        assert!(outcome.steps.iter().all(|step| step.result.is_done()), "{:?}", outcome.steps);
        let state = bench.fake.state.get_mut().expect("unpoisoned");
        state.log.clear();
        state.written.clear();
        state.old = state.objects.clone();
        bench.plan = plan(state, &[("a", 1), ("b", 1), ("c", 2), ("d", 2)]);
        bench
    }

    /// Another tenant like this one.
    fn again(&self) -> Self {
        let (stop, stopped) = watch::channel(false);
        let fake = Fake { state: Mutex::new(self.state().clone()), stop, script: Arc::default() };
        Self { fake, stop: stopped, plan: self.plan.clone(), waits: Arc::default() }
    }

    fn with(fault: Fault, at: usize) -> Self {
        let bench = Self::new();
        bench.state().faults.insert(at, fault);
        bench
    }

    fn state(&self) -> std::sync::MutexGuard<'_, State> {
        self.fake.state.lock().expect("unpoisoned")
    }

    fn options(&self, run: &str) -> ApplyOptions {
        let (waits, script) = (Arc::clone(&self.waits), Arc::clone(&self.fake.script));
        ApplyOptions {
            run: RunId::new(run).expect("a run"),
            concurrency: 1,
            stop: self.stop.clone(),
            version_checked: false,
            sealed: crate::model::SealedSecrets::default(),
            ignore: Ignore::default(),
            poll_policy: PollPolicy { first: Duration::from_millis(100), whole: Duration::from_secs(1) },
            clock: self.fake.script.clock(),
            pace: Timing::noted(move |wait| {
                script.waits(Wait::Retry);
                waits.lock().expect("unpoisoned").push(wait);
            }),
        }
    }

    fn run_as(&self, run: &str) -> Outcome {
        self.recorded(run, &Kept1::default())
    }

    fn recorded(&self, run: &str, recorder: &Kept1) -> Outcome {
        let options = self.options(run);
        futures_util::FutureExt::now_or_never(phases::run(&self.plan, None, &self.fake, recorder, &Quiet, &options))
            .expect("nothing waits here")
    }

    fn resumed(&self, run: &str, record: &RunRecord, recorder: &Kept1) -> Outcome {
        let options = self.options(run);
        futures_util::FutureExt::now_or_never(phases::run(
            &record.header.plan,
            Some(record),
            &self.fake,
            recorder,
            &Quiet,
            &options,
        ))
        .expect("nothing waits here")
    }

    fn run(&self) -> Outcome {
        self.run_as("run-1")
    }

    /// `METHOD name` of each request.
    fn log(&self) -> Vec<String> {
        self.state().log.iter().map(|seen| format!("{} {}", seen.what, seen.key.trim_start_matches("shop/"))).collect()
    }

    fn port(&self, name: &str) -> Option<Json> {
        self.state().objects.get(&key(name)).map(|object| object.raw["spec"]["port"].clone())
    }

    fn is_as_planned(&self) -> bool {
        let ports = ["a", "b", "c", "d", "e", "f"].map(|name| self.port(name));
        let port = |number: u16| Some(json!(number));
        ports == [port(1), port(1), port(2), port(2), None, None]
    }

    fn record(&self, run: &str, recorder: Kept1) -> RunRecord {
        RunRecord {
            header: header(run, self.plan.clone()),
            entries: recorder.kept.into_inner().expect("unpoisoned"),
            closing: recorder.closing.into_inner().expect("unpoisoned"),
        }
    }
}

fn plan(state: &State, wanted: &[(&str, u16)]) -> Plan {
    plan_of(state, wanted.iter().map(|(name, port)| endpoint(name, *port)).collect())
}

fn plan_of(state: &State, wanted: Vec<Object>) -> Plan {
    let namespace = key("x").namespace;
    let definitions = wanted.into_iter().map(|endpoint| {
        let key = endpoint.key.clone();
        (
            key,
            Definition {
                endpoint,
                file: "x.yaml".into(),
                document: 0,
                overlays: Vec::new(),
                sealed: crate::model::SealedSecrets::default(),
            },
        )
    });
    let desired = Desired { definitions: definitions.collect(), files: 1 };
    let read = ListRead::Complete { items: items(state, &namespace) };
    let live = Live { lists: [(Scope::endpoints(namespace.clone()), read)].into(), requests: 1 };
    plan::arrange(
        Plan {
            stack: Some(STACK.to_owned()),
            service: plan::ServiceId {
                base_url: "http://sandbox.localhost".to_owned(),
                layout: crate::model::Layout::default(),
            },
            ..Plan::default()
        },
        PlanInput {
            desired: &desired,
            namespaces: &[namespace].into(),
            kinds: &BTreeSet::new(),
            ignore: &Ignore::default(),
            allow: &Allowances::default(),
            selection: &Selection::default(),
        },
        &live,
    )
}

fn result<'o>(outcome: &'o Outcome, name: &str) -> &'o ChangeResult {
    &outcome.steps.iter().find(|step| step.key == key(name)).expect("a step").result
}

/// The result in a word.
fn word(result: &ChangeResult) -> &'static str {
    match result {
        ChangeResult::Done { adopted: true, .. } => "adopted",
        ChangeResult::Done { by_reading: false, .. } => "done",
        ChangeResult::Done { by_reading: true, .. } => "done by reading",
        ChangeResult::AlreadyDone => "already done",
        ChangeResult::Conflict(conflict) if conflict.ours_may_be_lost => "conflict, ours may be lost",
        ChangeResult::Conflict(_) => "conflict",
        ChangeResult::Referred { .. } => "referred",
        ChangeResult::Failed { .. } => "failed",
        ChangeResult::InDoubt { .. } => "in_doubt",
        ChangeResult::Skipped { .. } => "skipped",
    }
}

fn words(outcome: &Outcome) -> Vec<&'static str> {
    outcome.steps.iter().map(|step| word(&step.result)).collect()
}

#[test]
fn creates_come_before_replaces_before_deletes_and_each_takes_its_requests() {
    let bench = Bench::new();
    let outcome = bench.run();
    assert_eq!(
        bench.log(),
        [
            "POST a",
            "POST b",
            "GET c",
            "PUT c",
            "GET d",
            "PUT d",
            "GET e",
            "REFERRERS e",
            "DELETE e",
            "GET f",
            "REFERRERS f",
            "DELETE f",
            "LIST list"
        ]
    );
    assert_eq!(words(&outcome), ["done"; 6]);
    assert!(bench.is_as_planned());
    assert_eq!(outcome.verification, Verification::Verified { reads: 1 });
    assert_eq!(outcome.requests, 13);
    assert!(matches!(result(&outcome, "c"), ChangeResult::Done { confirmation: Confirmation::Versioned, .. }));
    assert!(matches!(result(&outcome, "e"), ChangeResult::Done { confirmation: Confirmation::Unguarded, .. }));
}

#[test]
fn a_second_run_of_the_same_plan_finds_everything_done() {
    let bench = Bench::new();
    bench.run();
    let outcome = bench.run_as("run-2");
    assert_eq!(words(&outcome), ["already done"; 6]);
    assert_eq!(outcome.verification, Verification::Verified { reads: 1 }, "each was looked at alone");
}

#[test]
fn a_failed_replace_holds_back_every_delete() {
    let bench = Bench::with(Fault::Status(400), 3);
    let outcome = bench.run();
    assert_eq!(words(&outcome), ["done", "done", "failed", "done", "skipped", "skipped"]);
    assert!(bench.port("e").is_some());
}

#[test]
fn a_moved_object_is_refused_three_ways_and_the_others_go_on() {
    let bench = Bench::new();
    bench.state().meddle(&key("c"));
    let outcome = bench.run();
    assert_eq!(words(&outcome), ["done", "done", "conflict", "done", "skipped", "skipped"]);
    let ChangeResult::Conflict(conflict) = result(&outcome, "c") else { panic!("a conflict") };
    let message: Vec<String> = conflict
        .fields
        .iter()
        .map(|field| format!("{}: {} / {} / {}", field.field, field.planned, field.now, field.wanted))
        .collect();
    assert_eq!(message, ["description: \"\" / \"meddled\" / \"\"", "spec.port: 1 / 1 / 2"]);
    assert_eq!(bench.port("c"), Some(json!(1)));
}

#[test]
fn a_wrong_version_that_is_refused_proves_the_guard() {
    let bench = Bench::with(Fault::Meddle, 3);
    let outcome = bench.run();
    assert_eq!(word(result(&outcome, "c")), "conflict");
    assert!(matches!(result(&outcome, "d"), ChangeResult::Done { confirmation: Confirmation::Guarded, .. }));
}

#[test]
fn a_replace_that_was_refused_for_its_version_alone_is_made_anew_of_the_object_as_it_is() {
    let bench = Bench::with(Fault::Annotate, 3);
    let outcome = bench.run();
    assert!(matches!(
        result(&outcome, "c"),
        ChangeResult::Done { confirmation: Confirmation::Guarded, by_reading: false, .. }
    ));
    assert!(bench.is_as_planned());
    assert_eq!(bench.log().iter().filter(|line| *line == "PUT c").count(), 2);
    assert!(bench.state().objects[&key("c")].raw["metadata"]["annotations"]["theirs"].is_string());
    assert!(bench.waits.lock().expect("unpoisoned").is_empty());
}

#[test]
fn a_replace_is_made_anew_a_bounded_number_of_times_and_never_over_what_moved() {
    let bench = Bench::new();
    // GET, PUT, GET, PUT, …
    bench.state().faults.extend((3..20).step_by(2).map(|at| (at, Fault::Annotate)));
    assert_eq!(word(result(&bench.run(), "c")), "conflict");
    assert_eq!(bench.log().iter().filter(|line| *line == "PUT c").count(), 4);

    let bench = Bench::with(Fault::Annotate, 3);
    bench.state().faults.insert(5, Fault::Meddle);
    assert_eq!(word(result(&bench.run(), "c")), "conflict");
    assert_eq!(bench.log().iter().filter(|line| *line == "PUT c").count(), 2);
    assert_eq!(bench.port("c"), Some(json!(1)));
}

#[test]
fn a_put_keeps_what_somebody_else_wrote_beside_it() {
    let bench = Bench::new();
    {
        let mut state = bench.state();
        let object = state.objects.get_mut(&key("c")).expect("c");
        object.raw["metadata"]["annotations"]["theirs"] = json!("kept");
    }
    let outcome = bench.run();
    assert_eq!(word(result(&outcome, "c")), "done");
    let state = bench.state();
    assert_eq!(state.objects[&key("c")].raw["metadata"]["annotations"]["theirs"], json!("kept"));
}

#[test]
fn a_put_keeps_what_the_model_does_not_know_inside_of_a_group() {
    let mut bench = Bench::new();
    let spec = |name: &str| {
        json!({"dns_name_advanced": {"name": name, "future_ttl": {}, "refresh_interval": 60}, "future": 1,
               "where": {"site": {"ref": [{"name": "ce01", "future": 2}], "network_type": "VIRTUAL_NETWORK_PUBLIC",
                                  "disable_internet_vip": {}, "future": 3}},
               "snat_pool": {"snat_pool": {"prefixes": ["10.0.0.0/8"], "future": 4}}})
    };
    let body = json!({"metadata": {"name": "c", "namespace": "shop"}, "spec": spec("a.b")});
    bench.state().put(&key("c"), &body, None);
    let definition: Object = serde_json::from_value(json!({
        "metadata": {"name": "c", "namespace": "shop"},
        "spec": {"dns_name_advanced": {"name": "c.d", "refresh_interval": 60}, "port": 7,
                 "where": {"site": {"ref": [{"name": "ce02"}], "network_type": "VIRTUAL_NETWORK_PUBLIC"}},
                 "snat_pool": {"snat_pool": {"prefixes": ["10.1.0.0/16"]}}}
    }))
    .expect("an endpoint");
    let plan = plan_of(&bench.state(), vec![definition]);
    bench.plan = plan;
    bench.plan.changes.retain(|change| change.key == key("c"));
    assert_eq!(words(&bench.run()), ["done"]);
    let mut expected = spec("c.d");
    expected["port"] = json!(7);
    expected["where"]["site"]["ref"][0]["name"] = json!("ce02");
    expected["snat_pool"]["snat_pool"]["prefixes"][0] = json!("10.1.0.0/16");
    assert_eq!(bench.state().objects[&key("c")].raw["spec"], expected);
}

#[test]
fn a_lost_answer_is_settled_by_reading_whether_or_not_the_write_was_made() {
    for (at, name) in [(0, "a"), (3, "c"), (8, "e")] {
        let made = Bench::with(Fault::CutAfter, at);
        assert_eq!(word(result(&made.run(), name)), "done by reading", "{name}");
        assert!(made.is_as_planned());
        let lost = Bench::with(Fault::CutBefore, at);
        assert_eq!(word(result(&lost.run(), name)), "done", "{name}");
        assert!(lost.is_as_planned());
        let writes = lost.state().log.iter().filter(|seen| seen.key == key(name).to_string() && seen.done).count();
        assert!(writes >= 1, "{name}");
    }
}

#[test]
fn nothing_is_sent_again_after_a_500() {
    for (at, name, method) in [(0, "a", "POST a"), (3, "c", "PUT c"), (8, "e", "DELETE e")] {
        let bench = Bench::with(Fault::Status(500), at);
        // It may have been made all the same, and be seen later.
        assert_eq!(word(result(&bench.run(), name)), "in_doubt");
        assert_eq!(bench.log().iter().filter(|line| *line == method).count(), 1);
        let bench = Bench::with(Fault::StatusAfter(500), at);
        assert_eq!(word(result(&bench.run(), name)), "done by reading");
    }
}

#[test]
fn a_write_that_never_gets_an_answer_is_sent_a_bounded_number_of_times() {
    let bench = Bench::new();
    // POST, look, wait, look, POST, …
    bench.state().faults.extend((0..12).step_by(3).map(|at| (at, Fault::CutBefore)));
    let outcome = bench.run();
    assert_eq!(word(result(&outcome, "a")), "in_doubt");
    assert_eq!(bench.log().iter().filter(|line| *line == "POST a").count(), 4);
    assert_eq!(bench.waits.lock().expect("unpoisoned").len(), 3);
}

#[test]
fn somebody_elses_create_is_a_conflict_and_an_equal_one_of_our_stack_is_done() {
    let bench = Bench::with(Fault::Meddle, 0);
    assert_eq!(word(result(&bench.run(), "a")), "conflict");
    let bench = Bench::new();
    bench.run_as("run-1");
    let outcome = bench.run_as("run-2");
    assert_eq!(word(result(&outcome, "a")), "already done");
}

#[test]
fn a_delete_is_not_sent_when_somebody_began_to_refer_to_the_object() {
    let bench = Bench::new();
    let by = RelatedObject {
        kind: "cluster".to_owned(),
        namespace: "shop".to_owned(),
        name: "x".to_owned(),
        uid: String::new(),
    };
    bench.state().referrers.insert(key("e"), vec![by]);
    let outcome = bench.run();
    assert_eq!(word(result(&outcome, "e")), "referred");
    assert_eq!(word(result(&outcome, "f")), "done");
    assert!(!bench.log().contains(&"DELETE e".to_owned()));
}

#[test]
fn an_interrupted_run_finishes_what_is_in_flight_and_sends_nothing_more() {
    let bench = Bench::with(Fault::Interrupt, 3);
    let outcome = bench.run();
    assert!(outcome.interrupted);
    assert_eq!(words(&outcome), ["done", "done", "done", "skipped", "skipped", "skipped"]);
    assert_eq!(bench.log().len(), 4);
    assert!(matches!(outcome.verification, Verification::Unknown { .. }));
}

#[test]
fn a_field_that_the_service_drops_is_found_by_the_verification() {
    let bench = Bench::new();
    bench.state().drops = Some("port");
    let outcome = bench.run();
    let Verification::Differs { left } = &outcome.verification else { panic!("{:?}", outcome.verification) };
    let names = |fields: &[crate::model::Field]| fields.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
    let message: Vec<String> = left.iter().map(|(key, fields)| format!("{} [{}]", key.name, names(fields))).collect();
    assert_eq!(message, ["a [spec.port]", "b [spec.port]", "c [spec.port]", "d [spec.port]"]);
    let waited: Duration = bench.waits.lock().expect("unpoisoned").iter().sum();
    assert_eq!(waited, Duration::from_secs(1));
}

#[test]
fn an_unread_verification_is_unknown_and_never_proof() {
    let bench = Bench::new();
    bench.state().faults.extend((12..40).map(|at| (at, Fault::Status(503))));
    assert!(matches!(bench.run().verification, Verification::Unknown { .. }));
    let bench = Bench::with(Fault::Status(503), 12);
    assert_eq!(bench.run().verification, Verification::Verified { reads: 2 });
}

#[test]
fn a_run_of_which_nothing_is_known_to_be_made_is_not_called_verified() {
    for fault in [Fault::Status(500), Fault::Status(400)] {
        let bench = Bench::new();
        for name in ["a", "b", "c", "d"] {
            bench.state().of_writes.insert(key(name), [Some(fault)].into());
        }
        let recorder = Kept1::default();
        let outcome = bench.recorded("run-1", &recorder);
        assert!(!outcome.steps.iter().any(|step| step.result.is_done()), "{:?}", words(&outcome));
        assert_eq!(outcome.verification, Verification::NotNeeded);
        let closing = recorder.closing.lock().expect("unpoisoned").take().expect("a last line");
        assert_eq!(closing.verification, Verification::NotNeeded);
        assert!(!bench.log().contains(&"LIST list".to_owned()));
    }
    // One that is done is read again.
    let bench = Bench::with(Fault::Status(500), 0);
    assert_eq!(bench.run().verification, Verification::Verified { reads: 1 });
}

#[test]
fn what_the_service_reports_as_failed_is_reported_for_what_was_applied() {
    let bench = Bench::new();
    bench.state().failed = vec![(key("a"), "no route".to_owned()), (key("z"), "not ours".to_owned())];
    assert_eq!(bench.run().unhealthy, [(key("a"), "no route".to_owned())]);
}

#[test]
fn a_journal_that_cannot_be_written_stops_the_run() {
    let bench = Bench::new();
    let recorder = Kept1 { full_after: Some(3), ..Kept1::default() };
    let outcome = bench.recorded("run-1", &recorder);
    assert_eq!(words(&outcome), ["done", "done", "done", "failed", "skipped", "skipped"]);
    assert_eq!(bench.log().iter().filter(|line| line.starts_with("PUT")).count(), 1);
}

/// Every write that was made has its intent before it; every result of the journal is the service's.
fn journal_agrees(bench: &Bench, recorder: &Kept1, outcome: &Outcome, message: &str) {
    let kept = recorder.kept.lock().expect("unpoisoned");
    let intents = |of: &Key| kept.iter().filter(|kept| matches!(kept, RunEntry::Intent(i) if i.key == *of)).count();
    let state = bench.state();
    for step in &outcome.steps {
        let of_step = |seen: &&Seen1| seen.key == step.key.to_string();
        let is_write = |seen: &&Seen1| matches!(seen.what, "POST" | "PUT" | "DELETE");
        let sent = state.log.iter().filter(of_step).filter(is_write).count();
        let made = state.log.iter().filter(of_step).filter(is_write).filter(|seen| seen.done).count();
        assert!(intents(&step.key) >= sent, "{message}: {} was sent without an intent", step.key);
        assert!(made <= 1, "{message}: {} was made {made} times", step.key);
        match &step.result {
            ChangeResult::Done { .. } => assert_eq!(made, 1, "{message}: {} is called done", step.key),
            result if result.may_have_taken_effect() => {}
            result => assert_eq!(made, 0, "{message}: {} was made and is called {}", step.key, word(result)),
        }
        let results = kept.iter().filter(|kept| matches!(kept, RunEntry::Outcome(s) if s.key == step.key)).count();
        assert_eq!(results, 1, "{message}: {}", step.key);
    }
}

#[test]
fn at_every_step_every_fault_leaves_a_journal_that_agrees_with_the_service() {
    let faults = [
        Fault::CutBefore,
        Fault::CutAfter,
        Fault::Status(400),
        Fault::Status(404),
        Fault::Status(409),
        Fault::Status(429),
        Fault::Status(500),
        Fault::Status(503),
        Fault::StatusAfter(429),
        Fault::StatusAfter(500),
        Fault::StatusAfter(503),
        Fault::Twice,
        Fault::Odd,
        Fault::OddAfter,
        Fault::NoConnection,
        Fault::Meddle,
        Fault::Annotate,
        Fault::Interrupt,
    ];
    for fault in faults {
        for at in 0..13 {
            let message = format!("{fault:?} at {at}");
            let bench = Bench::with(fault, at);
            let recorder = Kept1::default();
            let outcome = bench.recorded("run-1", &recorder);
            assert_eq!(outcome.steps.len(), 6, "{message}");
            journal_agrees(&bench, &recorder, &outcome, &message);
            let all_done = outcome.steps.iter().all(|step| step.result.is_done());
            assert!(bench.is_as_planned() || !all_done, "{message}: {:?}", words(&outcome));
            let upper_done = outcome.steps[..4].iter().all(|step| step.result.is_done());
            assert!(upper_done || bench.port("e").is_some() && bench.port("f").is_some(), "{message}");
        }
    }
}

#[test]
fn a_run_that_was_killed_at_any_point_settles_itself_when_resumed() {
    for fault in [Fault::KillBefore, Fault::KillAfter] {
        for at in 0..13 {
            let message = format!("{fault:?} at {at}");
            let bench = Bench::with(fault, at);
            let recorder = Kept1::default();
            bench.recorded("run-1", &recorder);
            // What the dead process had not written by the fault is not in its journal.
            let mut record = bench.record("run-1", recorder);
            let dead = record
                .entries
                .iter()
                .position(|kept| matches!(kept, RunEntry::Outcome(step) if !step.result.is_done()));
            record.entries.truncate(dead.unwrap_or(record.entries.len()));
            bench.fake.stop.send_replace(false);
            bench.state().killed = false;
            bench.state().faults.clear();
            let outcome = bench.resumed("run-2", &record, &Kept1::default());
            assert!(outcome.steps.iter().all(|step| step.result.is_done()), "{message}: {:?}", words(&outcome));
            assert!(bench.is_as_planned(), "{message}");
            for name in ["a", "b", "c", "d", "e", "f"] {
                let state = bench.state();
                let made = state.log.iter().filter(|seen| {
                    seen.key == key(name).to_string() && seen.done && matches!(seen.what, "POST" | "PUT" | "DELETE")
                });
                assert_eq!(made.count(), 1, "{message}: {name}");
            }
        }
    }
}

#[test]
fn a_resumed_run_does_not_make_a_change_again_that_somebody_undid() {
    let bench = Bench::with(Fault::KillAfter, 3);
    let recorder = Kept1::default();
    bench.recorded("run-1", &recorder);
    let mut record = bench.record("run-1", recorder);
    record.entries.retain(|kept| {
        matches!(kept, RunEntry::Intent(_)) || matches!(kept, RunEntry::Outcome(s) if s.result.is_done())
    });
    bench.fake.stop.send_replace(false);
    {
        let mut state = bench.state();
        state.killed = false;
        state.faults.clear();
        let before = record.header.plan.changes.iter().find(|change| change.key == key("c"));
        let before = before.and_then(|change| change.action.before()).expect("c changes");
        let body = serde_json::to_value(&before.endpoint).expect("JSON");
        let uid = state.objects[&key("c")].uid;
        state.put(&key("c"), &body, Some(uid));
    }
    let outcome = bench.resumed("run-2", &record, &Kept1::default());
    assert_eq!(word(result(&outcome, "c")), "conflict, ours may be lost");
    assert_eq!(bench.port("c"), Some(json!(1)));
    assert!(!outcome.steps.iter().any(|step| step.action == ActionKind::Delete && step.result.is_done()));
}
