use std::fs;

use serde_json::json;
use trueup::journal::{self, Journal, JournalError, Retention, RunOwner};
use trueup::run::RunRecorder as _;
use trueup::run::{ChangeProgress, ChangeResult, Confirmation, RunStatus, Urgency, Verification};
use trueup::sandbox::Scenario;

use super::{Bench, all_done, endpoints, key, result};

#[tokio::test]
async fn an_applied_plan_is_verified_and_the_next_plan_is_empty() {
    let (bench, plan) = Bench::with_plan().await;
    let outcome = bench.apply(plan).await;
    assert!(all_done(&outcome), "{outcome:?}");
    assert_eq!(outcome.verification, Verification::Verified { reads: 1 });
    // Two creates, two replaces of two, two deletes of three, one list.
    assert_eq!(outcome.requests, 2 + 4 + 6 + 1);
    let next = bench.plan(endpoints(&[("a", 1), ("b", 1), ("c", 2), ("d", 2)])).await;
    assert!(next.changes.is_empty() && next.blocked.is_empty(), "{next:?}");
}

#[tokio::test]
async fn a_concurrent_writer_is_seen_and_the_version_check_is_proved() {
    let (mut bench, plan) = Bench::with_plan().await;
    bench.concurrency = 1;
    bench
        .running
        .set_scenario(Scenario::parse("rules: [{operation: endpoint-replace, for: 1, conflict: {}}]").unwrap());
    let outcome = bench.apply(plan).await;
    let ChangeResult::Conflict(conflict) = result(&outcome, "c") else { panic!("{outcome:?}") };
    assert!(!conflict.ours_may_be_lost);
    assert_eq!(conflict.fields[0].now, json!("changed by somebody else"));
    assert!(matches!(result(&outcome, "d"), ChangeResult::Done { confirmation: Confirmation::Guarded, .. }));
    assert!(matches!(result(&outcome, "e"), ChangeResult::Skipped { .. }));
}

#[tokio::test]
async fn a_refused_rate_is_waited_out() {
    let (bench, plan) = Bench::with_plan().await;
    bench.running.set_scenario(Scenario::parse("rules: [{every: 3, for: 4, status: {code: 429}}]").unwrap());
    assert!(all_done(&bench.apply(plan).await));
}

#[tokio::test]
async fn a_journal_is_read_back_as_it_was_written_and_only_its_owner_can_read_it() {
    let (bench, plan) = Bench::with_plan().await;
    let digest = plan.digest();
    let outcome = bench.apply(plan).await;
    let record = bench.record(&outcome.run);
    assert_eq!(record.header.plan.digest(), digest);
    assert_eq!(record.ending(), RunStatus::Finished);
    assert_eq!(record.writes().len(), 6);
    assert!(record.progress().iter().all(|(_, p)| matches!(p, ChangeProgress::Ended(step) if step.result.is_done())));
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        let mode = |path: &std::path::Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        let runs = bench.state().place().join("runs");
        assert_eq!(mode(&runs), 0o700);
        assert_eq!(mode(&runs.join(format!("{}.jsonl", outcome.run))), 0o600);
    }
}

#[tokio::test]
async fn a_torn_end_is_normal_and_a_damaged_middle_is_not() {
    let (bench, plan) = Bench::with_plan().await;
    let outcome = bench.apply(plan).await;
    let path = bench.state().place().join(format!("runs/{}.jsonl", outcome.run));
    let whole = fs::read(&path).unwrap();
    let lines: Vec<&[u8]> = whole.split_inclusive(|byte| *byte == b'\n').collect();
    let header = lines[0].len();
    let read = || journal::parse(&path, &fs::read(&path).unwrap());
    let boundaries = (header..whole.len()).filter(|end| whole[*end - 1] == b'\n' || whole[*end] == b'\n');
    for end in (header..whole.len()).rev().step_by(13).chain(boundaries) {
        fs::write(&path, &whole[..end]).unwrap();
        let record = read().unwrap();
        let boundary = whole[end - 1] == b'\n' || whole[end] == b'\n';
        let left = whole[..end].split(|byte| *byte == b'\n').filter(|line| !line.is_empty()).count();
        let found = 1 + record.entries.len() + usize::from(record.closing.is_some());
        assert_eq!(found, left - usize::from(!boundary), "cut at {end}");
        assert!(record.closing.is_none() || boundary);
    }
    let zeros = [&whole[..header + 20], &[0; 4096]].concat();
    fs::write(&path, zeros).unwrap();
    assert!(read().unwrap().entries.is_empty());
    for end in (0..header - 1).step_by(31) {
        fs::write(&path, &whole[..end]).unwrap();
        assert!(matches!(read(), Err(JournalError::NoHeader(_))), "cut at {end}");
    }
    for none in ["<html><body>Bad Gateway</body></html>", "x", "1", "\"{", "{}"] {
        fs::write(&path, none).unwrap();
        assert!(matches!(read(), Err(JournalError::Damaged { line: 1, .. })), "{none}");
    }
    let damaged = [lines[0], b"{\"outc\n", &lines[2..].concat()].concat();
    fs::write(&path, damaged).unwrap();
    assert!(matches!(read(), Err(JournalError::Damaged { line: 2, .. })));
    fs::write(&path, String::from_utf8(whole).unwrap().replace("\"format_version\":1", "\"format_version\":9"))
        .unwrap();
    let error = read().expect_err("another version");
    assert!(matches!(error, JournalError::Format { .. }) && error.to_string().contains("format version 9"), "{error}");
    // It says its cause itself, so that a message has it once.
    assert!(std::error::Error::source(&error).is_none());
}

#[tokio::test]
async fn urgent_and_batched_intents_are_in_the_file_when_their_turn_is_reported() {
    let (bench, plan) = Bench::with_plan().await;
    bench.apply(plan.clone()).await;
    let record = journal::find(&bench.state(), "last").unwrap();
    let writes = record.writes();
    let header = bench.header(&plan);
    let journal = Journal::begin(&bench.state(), &header, None, &|_| {}).unwrap();
    // Nobody else comes, so each flush is one of its own.
    for (at, urgency) in [Urgency::Batched, Urgency::Immediate, Urgency::Batched].into_iter().enumerate() {
        journal.intent(writes[at], urgency).await.unwrap();
        assert_eq!(bench.record(&header.run).writes().len(), at + 1, "{urgency:?}");
    }
    let (slow, fast) =
        tokio::join!(journal.intent(writes[3], Urgency::Batched), journal.intent(writes[0], Urgency::Immediate));
    assert!(slow.is_ok() && fast.is_ok());
    let written = fs::read_to_string(bench.state().place().join(format!("runs/{}.jsonl", header.run))).unwrap();
    assert_eq!(written.lines().count(), 1 + 5, "{written}");
}

#[tokio::test]
async fn two_applies_of_one_stack_exclude_each_other() {
    let (bench, plan) = Bench::with_plan().await;
    let header = bench.header(&plan);
    let held = Journal::begin(&bench.state(), &header, None, &|_| {}).unwrap();
    let error = Journal::begin(&bench.state(), &bench.header(&plan), None, &|_| {}).unwrap_err();
    assert_eq!(
        error.to_string(),
        format!("another apply of stack `shop` is running on this machine (run `{}`); wait for it to end", header.run)
    );
    let mut other = bench.header(&plan);
    other.plan.stack = Some("other".to_owned());
    assert!(Journal::begin(&bench.state(), &other, None, &|_| {}).is_ok());
    drop(held);
    assert!(Journal::begin(&bench.state(), &bench.header(&plan), None, &|_| {}).is_ok());
}

#[tokio::test]
async fn history_knows_how_runs_ended_and_a_prune_keeps_what_is_open() {
    let (bench, plan) = Bench::with_plan().await;
    let open = bench.header(&plan);
    drop(Journal::begin(&bench.state(), &open, None, &|_| {}).unwrap());
    let history = journal::history(&bench.state()).unwrap();
    let lines: Vec<_> = history.runs.iter().map(|run| (run.status, run.done, run.is_open())).collect();
    assert_eq!(lines, [(RunStatus::Finished, 4, false), (RunStatus::Unfinished, 0, true)]);
    let owner = RunOwner {
        stack: Some("shop".to_owned()),
        base_url: bench.running.base_url(),
        sandbox: None,
        environment: None,
    };
    let unfinished = || journal::open_run(&bench.state(), &owner).unwrap();
    assert_eq!(unfinished().unwrap().run, open.run);
    let record = journal::find(&bench.state(), "last").unwrap();
    assert!(all_done(&bench.resume(&record).await));
    let history = journal::history(&bench.state()).unwrap();
    assert!(history.runs.iter().all(|run| !run.is_open()));
    assert!(unfinished().is_none());
    assert_eq!(history.runs[1].resumed_by, Some(history.runs[2].run.clone()));
    let last = journal::last_actions(&bench.state(), &owner).unwrap();
    let in_place = last.of.into_iter().filter(|(_, last)| last.left_in_place).map(|(key, _)| key);
    assert_eq!(in_place.collect::<Vec<_>>(), ["a", "b", "c", "d"].map(key));
    // The resumed run stays with the one that resumed it.
    assert_eq!(journal::prune(&bench.state(), Retention::Newest(1)).unwrap().len(), 1);
    assert_eq!(journal::history(&bench.state()).unwrap().runs.len(), 2);
    assert!(matches!(journal::find(&bench.state(), "run-0"), Err(JournalError::Ambiguous { count: 2, .. })));
    assert!(matches!(journal::find(&bench.state(), "nope"), Err(JournalError::NoRun { .. })));
}
