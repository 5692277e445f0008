//! What is recorded of a write whose answer is lost or lies, while reads lag: never that it was not made
//! where the service took it, never that it was made where it did not, and no delete before all is known.
//! The product of first answers, reads and answers to further tries, for each operation.

use super::*;
use crate::run::{RunDocument, RunStatus};

/// How the first try ends: before it takes effect, or after.
const FIRST: [Fault; 16] = [
    Fault::CutBefore,
    Fault::CutAfter,
    Fault::Status(500),
    Fault::StatusAfter(500),
    Fault::Status(502),
    Fault::StatusAfter(502),
    Fault::Status(503),
    Fault::StatusAfter(503),
    Fault::Status(504),
    Fault::StatusAfter(504),
    Fault::Odd,
    Fault::OddAfter,
    Fault::Status(409),
    Fault::StatusAfter(429),
    Fault::Twice,
    Fault::NoConnection,
];

/// How every further try ends; the service's own answer where there is no fault.
const FURTHER: [Option<Fault>; 10] = [
    None,
    Some(Fault::CutBefore),
    Some(Fault::CutAfter),
    Some(Fault::Status(400)),
    Some(Fault::Status(404)),
    Some(Fault::Status(409)),
    Some(Fault::StatusAfter(500)),
    Some(Fault::Odd),
    Some(Fault::OddAfter),
    Some(Fault::NoConnection),
];

/// What reads show after the first write, and how often.
fn reads() -> Vec<Option<(Lag, usize)>> {
    let lags = [Lag::Old, Lag::Gone, Lag::Another, Lag::Unsupported];
    let counts = [1, 2, 4, 1_000];
    let lagging = lags.into_iter().flat_map(|lag| counts.map(|count| Some((lag, count))));
    std::iter::once(None).chain(lagging).collect()
}

struct Case {
    name: &'static str,
    first: Fault,
    reads: Option<(Lag, usize)>,
    further: Option<Fault>,
    checks: bool,
}

impl Case {
    fn label(&self) -> String {
        let Case { name, first, reads, further, checks } = self;
        format!("{name}: {first:?}, then {further:?}, reads {reads:?}, checks {checks}")
    }

    fn bench(&self, begun: &Bench) -> Bench {
        let mut bench = begun.again();
        // A delete that waits for it is enough.
        bench.plan.changes.retain(|change| [key(self.name), key("f")].contains(&change.key));
        {
            let mut state = bench.state();
            state.checks = self.checks;
            state.lags.extend(self.reads.map(|lag| (key(self.name), lag)));
            let writes = std::iter::once(Some(self.first)).chain(std::iter::repeat_n(self.further, 8));
            state.of_writes.insert(key(self.name), writes.collect());
        }
        bench
    }
}

/// Every case. That an object which was there all the time is gone is no lag, so no read of the delete
/// shows it; versions matter to the replace alone. A refusal that is none is known by the next read alone, if not by its own
/// words: that the object of a delete is gone.
fn cases() -> impl Iterator<Item = Case> {
    let names = [("a", true), ("c", true), ("c", false), ("e", true)];
    names.into_iter().flat_map(|(name, checks)| {
        let reads =
            reads().into_iter().filter(move |reads| name != "e" || reads.is_none_or(|(lag, _)| lag != Lag::Gone));
        reads.flat_map(move |reads| {
            let first = FIRST.into_iter().filter(move |first| match first {
                Fault::StatusAfter(429) => reads.is_none(),
                Fault::Twice => reads.is_none() || name == "e",
                _ => true,
            });
            first.flat_map(move |first| FURTHER.map(|further| Case { name, first, reads, further, checks }))
        })
    })
}

/// Whether the service took a write of the object.
fn made(bench: &Bench, name: &str) -> bool {
    let is_write = |seen: &&Seen1| matches!(seen.what, "POST" | "PUT" | "DELETE");
    bench.state().log.iter().filter(is_write).any(|seen| seen.key == key(name).to_string() && seen.done)
}

/// The outcome says no more than what the service knows, and the record no less.
fn agrees(bench: &Bench, outcome: &Outcome, record: &RunRecord, case: &Case) {
    let (label, name) = (case.label(), case.name);
    let made = made(bench, name);
    let known = record.writes().iter().any(|write| write.key == key(name));
    assert!(known || !made, "{label}: a rollback would not know of it: {}", word(result(outcome, name)));
    if let ChangeResult::Done { .. } = result(outcome, name) {
        assert!(made, "{label}: called done");
    }
    if result(outcome, name).is_done() {
        let wanted = [("a", Some(json!(1))), ("c", Some(json!(2))), ("e", None)];
        let wanted = wanted.into_iter().find(|(of, _)| *of == name).and_then(|(_, port)| port);
        assert_eq!(bench.port(name), wanted, "{label}: called {}", word(result(outcome, name)));
    }
    let mut upper = outcome.steps.iter().filter(|step| step.action != ActionKind::Delete);
    let upper_done = upper.all(|step| step.result.is_done());
    assert!(upper_done || !bench.log().iter().any(|line| line.starts_with("DELETE")), "{label}: deletes went ahead");
}

/// The same run as it knows itself, without what its journal has of it.
fn of_outcome(record: &RunRecord, outcome: &Outcome) -> RunRecord {
    RunRecord::of_outcome(record.header.clone(), outcome, jiff::Timestamp::UNIX_EPOCH)
}

/// What the document of a run says, but for when it ended.
fn document(record: &RunRecord) -> Json {
    let mut document = serde_json::to_value(RunDocument::of(record, None)).expect("JSON");
    document["run"]["ended"] = Json::Null;
    document
}

#[test]
fn the_document_of_a_run_whose_journal_fails_says_what_the_run_knows() {
    for most in 0..6 {
        for faults in [&[][..], &[Fault::StatusAfter(500)]] {
            let bench = Bench::new();
            bench.state().lags.insert(key("a"), (Lag::Gone, 1_000));
            bench.state().of_writes.insert(key("a"), faults.iter().copied().map(Some).collect());
            let recorder = Kept1 { full_after: Some(most), ..Kept1::default() };
            let outcome = bench.recorded("run-1", &recorder);
            // Its journal has no results either.
            recorder.kept.lock().expect("unpoisoned").clear();
            let document = RunDocument::of(&of_outcome(&bench.record("run-1", recorder), &outcome), None);
            let results = document.steps.iter().map(|step| serde_json::to_value(&step.result).expect("JSON"));
            let known = outcome.steps.iter().map(|step| serde_json::to_value(&step.result).expect("JSON"));
            assert!(results.eq(known), "{most} {faults:?}");
            let in_doubt = outcome.steps.iter().filter(|step| word(&step.result) == "in_doubt").count();
            let status = match in_doubt {
                0 if !outcome.verification.is_proven() => RunStatus::Unverified,
                0 => RunStatus::Finished,
                count => RunStatus::InDoubt { count },
            };
            assert_eq!((document.run.status, document.verification), (status, Some(outcome.verification)));
        }
    }
}

/// The record of a run and of the one that resumed it.
fn joined(mut record: RunRecord, resumed: Kept1) -> RunRecord {
    record.entries.extend(resumed.kept.into_inner().expect("unpoisoned"));
    record
}

#[test]
fn whatever_is_lost_and_however_reads_lag_no_result_says_more_than_is_known() {
    let begun = Bench::new();
    let mut words_seen = BTreeSet::new();
    for case in cases() {
        let bench = case.bench(&begun);
        let recorder = Kept1::default();
        let outcome = bench.recorded("run-1", &recorder);
        let record = bench.record("run-1", recorder);
        agrees(&bench, &outcome, &record, &case);
        let result = result(&outcome, case.name);
        let says_so = result.may_have_taken_effect();
        assert!(says_so || !made(&bench, case.name), "{}: it was made, and is called {}", case.label(), word(result));
        let in_doubt = matches!(record.ending(), RunStatus::InDoubt { count: 1 });
        assert_eq!(in_doubt, result.is_in_doubt(), "{}", case.label());
        if case.further.is_none() {
            assert_eq!(document(&of_outcome(&record, &outcome)), document(&record), "{}", case.label());
        }
        if (case.first, case.further) == (Fault::NoConnection, Some(Fault::NoConnection)) && case.reads.is_none() {
            assert_eq!(word(result), "failed", "{}: nothing was sent", case.label());
        }
        words_seen.insert(word(result));
    }
    let expected = ["conflict", "conflict, ours may be lost", "done", "done by reading", "failed", "in_doubt"];
    assert!(expected.iter().all(|word| words_seen.contains(word)), "{words_seen:?}");
}

#[test]
fn a_write_left_in_doubt_is_settled_by_a_resume_once_reads_are_fresh() {
    let begun = Bench::new();
    for case in cases().filter(|case| case.checks && case.reads.is_none_or(|(_, count)| count > 2)) {
        let bench = case.bench(&begun);
        let recorder = Kept1::default();
        let outcome = bench.recorded("run-1", &recorder);
        let record = bench.record("run-1", recorder);
        {
            let mut state = bench.state();
            state.lags.clear();
            state.of_writes.clear();
        }
        let recorder = Kept1::default();
        let again = bench.resumed("run-2", &record, &recorder);
        if matches!(result(&outcome, case.name), ChangeResult::InDoubt { .. }) {
            assert!(result(&again, case.name).is_done(), "{}: {}", case.label(), word(result(&again, case.name)));
        }
        agrees(&bench, &again, &joined(record, recorder), &case);
    }
}

#[test]
fn a_resume_in_doubt_while_reads_still_lag_never_says_that_nothing_was_made() {
    let begun = Bench::new();
    for case in cases().filter(|case| case.reads.is_some_and(|(_, count)| count == 1_000)) {
        let bench = case.bench(&begun);
        let recorder = Kept1::default();
        bench.recorded("run-1", &recorder);
        let record = bench.record("run-1", recorder);
        let recorder = Kept1::default();
        let again = bench.resumed("run-2", &record, &recorder);
        agrees(&bench, &again, &joined(record, recorder), &case);
    }
}

#[test]
fn an_interrupted_resume_leaves_in_doubt_what_was() {
    let bench = Bench::with(Fault::StatusAfter(500), 0);
    bench.state().lags.insert(key("a"), (Lag::Gone, 1_000));
    let recorder = Kept1::default();
    assert_eq!(word(result(&bench.recorded("run-1", &recorder), "a")), "in_doubt");
    let mut record = bench.record("run-1", recorder);
    bench.fake.stop.send_replace(true);
    let again = Kept1::default();
    assert_eq!(word(result(&bench.resumed("run-2", &record, &again), "a")), "in_doubt");
    record.entries.extend(again.kept.into_inner().expect("unpoisoned"));
    assert!(record.writes().iter().any(|write| write.key == key("a")));
    assert!(matches!(record.ending(), RunStatus::InDoubt { .. }));
}

#[test]
fn the_refusal_of_a_retry_is_evidence_that_the_first_write_took_effect() {
    for (name, lag, at) in [("a", Lag::Gone, 0), ("c", Lag::Old, 3), ("e", Lag::Old, 8)] {
        for (count, expected) in [(3, "done by reading"), (1_000, "in_doubt")] {
            let bench = Bench::with(Fault::CutAfter, at);
            bench.state().lags.insert(key(name), (lag, count));
            let outcome = bench.run();
            assert_eq!(word(result(&outcome, name)), expected, "{name}");
            // It was sent a second time, which the service refused.
            let writes = |seen: &&Seen1| seen.key == key(name).to_string() && !matches!(seen.what, "GET" | "REFERRERS");
            assert_eq!(bench.state().log.iter().filter(writes).count(), 2, "{name}");
        }
    }
}

/// An object that another client created between the plan and the apply, as the create wants it.
fn created_by_another(annotations: Json) -> Bench {
    let bench = Bench::new();
    let body = json!({
        "metadata": {"name": "a", "namespace": "shop", "annotations": annotations},
        "spec": {"ip": "10.0.0.1", "port": 1, "future": {"x": 1}}
    });
    bench.state().put(&key("a"), &body, None);
    bench
}

#[test]
fn a_create_that_meets_the_same_object_of_nobody_takes_ownership_of_it() {
    let bench = created_by_another(json!({"theirs": "1"}));
    let recorder = Kept1::default();
    let outcome = bench.recorded("run-1", &recorder);
    assert_eq!(word(result(&outcome, "a")), "adopted");
    assert!(outcome.steps.iter().all(|step| step.result.is_done()));
    assert_eq!(outcome.verification, Verification::Verified { reads: 1 });
    let raw = bench.state().objects[&key("a")].raw.clone();
    assert_eq!(raw["metadata"]["annotations"]["trueup/stack"], json!(STACK));
    assert_eq!(raw["metadata"]["annotations"]["theirs"], json!("1"));
    assert_eq!(raw["spec"]["future"], json!({"x": 1}));
    // A rollback takes the ownership back, and deletes nothing.
    let record = bench.record("run-1", recorder);
    let write = record.writes().into_iter().find(|write| write.key == key("a")).expect("a write");
    assert_eq!((write.action, write.before.is_some()), (ActionKind::Annotate, true));
}

#[test]
fn a_create_whose_answer_is_lost_takes_nothing_over_that_may_lie_on_its_own() {
    let bench = created_by_another(json!({}));
    bench.state().of_writes.insert(key("a"), VecDeque::from([Some(Fault::CutBefore)]));
    let recorder = Kept1::default();
    let outcome = bench.recorded("run-1", &recorder);
    assert_eq!(word(result(&outcome, "a")), "conflict, ours may be lost");
    // The doubt outlasts every resume.
    let mut record = bench.record("run-1", recorder);
    for run in ["run-2", "run-3"] {
        assert!(matches!(record.ending(), RunStatus::InDoubt { count: 1 }));
        let recorder = Kept1::default();
        let again = bench.resumed(run, &record, &recorder);
        assert_eq!(word(result(&again, "a")), "conflict, ours may be lost", "{run}");
        record = joined(record, recorder);
    }
    assert_eq!(bench.log().iter().filter(|line| *line == "PUT a").count(), 0);
}

#[test]
fn a_create_that_meets_the_same_object_of_another_stack_is_refused() {
    let bench = created_by_another(json!({"trueup/stack": "other"}));
    let outcome = bench.run();
    let ChangeResult::Conflict(conflict) = result(&outcome, "a") else { panic!("{:?}", result(&outcome, "a")) };
    assert_eq!(conflict.reason, "created by someone else, and owned by the stack `other`");
    assert!(!conflict.ours_may_be_lost);
    assert_eq!(bench.log().iter().filter(|line| *line == "PUT a").count(), 0);
}

#[test]
fn a_create_that_meets_a_copy_of_an_object_of_another_stack_takes_ownership_of_it() {
    let applied = Bench::new().state().objects[&key("c")].raw["metadata"]["annotations"]["trueup/applied"].clone();
    let bench = created_by_another(json!({"trueup/stack": "other", "trueup/applied": applied}));
    assert_eq!(word(result(&bench.run(), "a")), "adopted");
}

#[test]
fn a_lost_answer_to_the_taking_of_ownership_is_settled_like_any_other() {
    for (first, expected) in [(Fault::CutAfter, "adopted"), (Fault::CutBefore, "adopted")] {
        let bench = created_by_another(json!({}));
        bench.state().of_writes.insert(key("a"), VecDeque::from([None, Some(first)]));
        let outcome = bench.run();
        assert_eq!(word(result(&outcome, "a")), expected, "{first:?}");
    }
}
