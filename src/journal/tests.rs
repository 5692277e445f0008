//! Runs in a bucket that fails in the middle: what was promised is there, what was not stops the run, and every runner
//! reads the same.

use std::cell::Cell;
use std::path::Path;
use std::time::{Duration, Instant};

use super::*;
use crate::model::{Key, ReferredDelete, RunId};
use crate::plan::{ActionKind, Plan};
use crate::run::{
    ChangeResult, ChangeStep, Confirmation, Intent, RunClosing, RunEntry, RunHeader, RunRecorder as _, RunTrigger,
    Urgency, Verification, WriteRequest,
};
use crate::state::{LeaseError, LeaseTiming, StateStore};
use crate::tests::faults::{Fault, FaultyStore};

pub(super) const RUN: &str = "2026-11-22T05-00-00-000-shop-0001";

pub(super) fn runner(store: &FaultyStore) -> StateStore {
    StateStore::Bucket(store.bucket(), LeaseTiming::of_seconds(1).expect("a time"))
}

pub(super) fn header(run: &str) -> RunHeader {
    let mut plan = Plan { stack: Some("shop".to_owned()), ..Plan::default() };
    plan.service.base_url = "https://a.example".to_owned();
    RunHeader {
        run: RunId::new(run).expect("an id"),
        started: "2026-11-22T05:00:00Z".to_owned(),
        user: Some("ada".to_owned()),
        resumes: None,
        rolls_back: None,
        sandbox: None,
        in_force: None,
        trigger: RunTrigger::default(),
        plan,
    }
}

pub(super) fn owner(stack: &str) -> RunOwner {
    RunOwner {
        stack: Some(stack.to_owned()),
        base_url: "https://a.example".to_owned(),
        sandbox: None,
        environment: None,
    }
}

pub(super) fn begin(state: &StateStore, run: &str) -> Result<Journal, JournalError> {
    Journal::begin(state, &header(run), Some("runner-1"), &|_| {})
}

pub(super) fn key(number: usize) -> Key {
    Key::parse(&format!("shop/e{number}")).expect("a key")
}

pub(super) fn intent(number: usize) -> Intent {
    let request = WriteRequest::Delete { referred: ReferredDelete::default() };
    Intent { key: key(number), action: ActionKind::Delete, attempt: 0, request_id: None, request, before: None }
}

pub(super) fn done(number: usize) -> ChangeStep {
    let result = ChangeResult::Done { confirmation: Confirmation::Unguarded, by_reading: false, adopted: false };
    ChangeStep::new(key(number), ActionKind::Create, result)
}

pub(super) fn closing() -> RunClosing {
    let verification = Verification::Verified { reads: 1 };
    RunClosing { ended: "2026-11-22T05:01:00Z".to_owned(), verification, interrupted: false }
}

/// Intents of the run as another runner reads them.
fn intents(state: &StateStore, run: &str) -> Vec<Key> {
    let record = load(state, &RunId::new(run).expect("an id")).expect("the run");
    let intents = record.entries.iter().filter_map(|entry| match entry {
        RunEntry::Intent(intent) => Some(intent.key.clone()),
        RunEntry::Outcome(_) => None,
    });
    intents.collect()
}

#[tokio::test]
async fn another_runner_reads_what_a_run_stored_and_what_it_left() {
    let store = FaultyStore::default();
    let (one, other) = (runner(&store), runner(&store));
    let journal = begin(&one, RUN).expect("a journal");
    journal.intent(&intent(1), Urgency::Immediate).await.expect("stored");
    journal.outcome(&done(1)).await.expect("noted");
    journal.intent(&intent(2), Urgency::Immediate).await.expect("stored");
    assert_eq!(intents(&other, RUN), [key(1), key(2)], "before the run has ended");
    let open = open_run(&other, &owner("shop")).expect("read");
    assert_eq!(open.map(|open| open.run.to_string()).as_deref(), Some(RUN));
    journal.close(closing()).await.expect("stored");
    drop(journal);
    let record = load(&other, &RunId::new(RUN).expect("an id")).expect("the run");
    assert!(record.closing.is_some() && record.entries.len() == 3);
    let last = last_actions(&other, &owner("shop")).expect("read").of;
    assert_eq!(last.iter().map(|(key, last)| (key.clone(), last.left_in_place)).collect::<Vec<_>>(), [(key(1), true)]);
    assert!(last_actions(&other, &owner("other")).expect("read").of.is_empty());
    assert!(unlock(&other, &RunId::new(RUN).expect("an id")).expect("read").is_none(), "its end released the lock");
    // What has ended is one object, and a removed run is none.
    let StateStore::Bucket(bucket, _) = &other else { unreachable!("a bucket") };
    assert_eq!(bucket.names("runs").expect("a list"), [format!("{RUN}.jsonl")]);
    assert_eq!(find(&other, "last").expect("the run").run().as_str(), RUN);
    assert_eq!(history(&other).expect("read").runs.len(), 1);
    assert_eq!(prune(&other, Retention::Newest(0)).expect("removed").len(), 1);
    assert!(bucket.names("runs").expect("a list").is_empty());
}

#[tokio::test]
async fn an_intent_that_was_promised_is_there_wherever_the_store_fails() {
    // The writes of a run: conditions, lock, header, then the intents.
    for fault in [Fault::Refused, Fault::AnswerLost] {
        for good in 0..9 {
            let store = FaultyStore::default();
            store.next(std::iter::repeat_n(Fault::None, good));
            store.always(Some(fault));
            let state = runner(&store);
            let mut promised = Vec::new();
            if let Ok(journal) = begin(&state, RUN) {
                for number in 0..4 {
                    match journal.intent(&intent(number), Urgency::Immediate).await {
                        Ok(()) => promised.push(key(number)),
                        Err(_) => {
                            let after = journal.intent(&intent(9), Urgency::Immediate).await;
                            assert!(after.is_err(), "nothing is stored after a failure");
                            break;
                        }
                    }
                }
            }
            store.always(None);
            let read = match load(&runner(&store), &RunId::new(RUN).expect("an id")) {
                Ok(_) => intents(&runner(&store), RUN),
                Err(JournalError::NoRun { .. }) => Vec::new(),
                Err(error) => panic!("{fault:?} after {good}: {error}"),
            };
            assert!(read.starts_with(&promised), "{fault:?} after {good}: {promised:?} of {read:?}");
            match fault {
                Fault::AnswerLost => {
                    assert_eq!(promised.len(), 4, "a write whose answer is lost is recognised as ours");
                }
                _ => assert!(promised.len() < 4, "after {good}"),
            }
        }
    }
}

#[tokio::test]
async fn one_refusal_is_tried_again() {
    let store = FaultyStore::default();
    store.next([Fault::None; 3]);
    store.next([Fault::Refused, Fault::None, Fault::Refused, Fault::Refused]);
    let state = runner(&store);
    let journal = begin(&state, RUN).expect("a journal");
    journal.intent(&intent(1), Urgency::Immediate).await.expect("stored");
    drop(journal);
    assert_eq!(intents(&state, RUN), [key(1)]);
}

#[tokio::test]
async fn nothing_is_concluded_from_a_run_that_lacks_a_part() {
    let store = FaultyStore::default();
    let state = runner(&store);
    let journal = begin(&state, RUN).expect("a journal");
    for number in 0..3 {
        journal.intent(&intent(number), Urgency::Immediate).await.expect("stored");
    }
    drop(journal);
    let StateStore::Bucket(bucket, _) = &state else { unreachable!("a bucket") };
    bucket.remove(vec![format!("runs/{RUN}/00000001.jsonl")]).expect("removed");
    let error = load(&state, &RunId::new(RUN).expect("an id")).expect_err("a gap");
    assert!(matches!(&error, JournalError::Gap { part, .. } if part == "00000001.jsonl"), "{error}");
    assert_eq!(history(&state).expect("read").unreadable.len(), 1);
    // An earlier run is not shown as the last one either.
    let error = find(&state, "last").expect_err("unreadable");
    assert!(matches!(&error, JournalError::LaterUnreadable { .. }), "{error}");
}

#[test]
fn a_store_that_ignores_conditions_or_meets_none_is_refused_before_anything_is_locked() {
    for (fault, unreadable, words) in [
        (Fault::Unconditional, 0, "ignores conditional writes"),
        (Fault::NoMatch, 0, "ignores conditional writes"),
        (Fault::None, usize::MAX, "cannot read `s3://state/team/prod/locks/.conditions`"),
    ] {
        let store = FaultyStore::default();
        store.always(Some(fault));
        store.refuse_reads(".conditions", unreadable);
        let error = begin(&runner(&store), RUN).expect_err("refused").to_string();
        assert!(error.contains(words), "{error}");
        assert!(store.writes().iter().all(|name| name.ends_with("/.conditions")), "{:?}", store.writes());
    }
}

#[test]
fn of_four_runners_one_has_the_lock() {
    let store = FaultyStore::default();
    for round in 0..5 {
        let begun: Vec<_> = std::thread::scope(|scope| {
            let begin = |number| begin(&runner(&store), &format!("2026-11-22T05-00-0{round}-00{number}-shop-0001"));
            let runners: Vec<_> = (0..4).map(|number| scope.spawn(move || begin(number))).collect();
            runners.into_iter().map(|runner| runner.join().expect("no panic")).collect()
        });
        let held = begun.iter().filter(|begun| begun.is_ok()).count();
        assert_eq!(held, 1, "round {round}");
        for refused in begun.iter().filter_map(|begun| begun.as_ref().err()) {
            let JournalError::Lease(LeaseError::Held(holder)) = refused else { panic!("{refused}") };
            assert_eq!((holder.host.as_deref(), holder.user.as_deref()), (Some("runner-1"), Some("ada")));
        }
    }
}

#[test]
fn the_lock_of_a_dead_runner_ends_and_that_of_a_live_one_does_not() {
    let store = FaultyStore::default();
    let state = runner(&store);
    let alive = begin(&state, RUN).expect("a journal");
    // Longer than it lasts: it is renewed.
    let begun = Instant::now();
    while begun.elapsed() < Duration::from_millis(1500) {
        let other = begin(&runner(&store), "2026-11-22T05-00-01-000-shop-0002");
        assert!(matches!(other, Err(JournalError::Lease(LeaseError::Held(_)))));
    }
    assert!(alive.permits().is_ok());
    // A lock that is not renewed is one of a runner that was killed.
    let StateStore::Bucket(bucket, _) = &state else { unreachable!("a bucket") };
    let name = format!("{LOCKS}/{}.json", lock::name(&header(RUN)));
    let object = bucket.read(&name).expect("read").expect("a lock");
    drop(alive);
    let released = bucket.read(&name).expect("read").expect("a lock");
    bucket.write(&name, object.bytes, Some(&released.tag)).expect("written").expect("ours");
    let begun = Instant::now();
    drop(begin(&state, "2026-11-22T05-00-02-000-shop-0003").expect("taken over"));
    assert!(begun.elapsed() >= Duration::from_secs(1), "not before it has ended");
}

#[test]
fn a_run_that_another_overtook_while_it_waited_does_not_begin() {
    let store = FaultyStore::default();
    let state = runner(&store);
    let held = Cell::new(Some(begin(&state, RUN).expect("a journal")));
    let (early, late) = ("2026-11-22T06-00-00-000-shop-0002", "2026-11-22T07-00-00-000-shop-0003");
    let waiting = |_: &str| {
        drop(held.take());
        drop(begin(&state, late).expect("a journal"));
    };
    let error = Journal::begin(&state, &header(early), None, &waiting).expect_err("it is not the last");
    assert!(matches!(&error, JournalError::Overtaken { run, .. } if run.as_str() == late), "{error}");
    begin(&state, "2026-11-22T08-00-00-000-shop-0004").expect("the lock is free");
}

#[test]
fn a_run_that_took_its_name_before_another_and_the_lock_after_it_does_not_begin() {
    let (store, directory) = (FaultyStore::default(), tempfile::tempdir().expect("a directory"));
    for state in [runner(&store), StateStore::Directory(directory.path().to_owned())] {
        let late = "2026-11-22T07-00-00-000-shop-0003";
        drop(begin(&state, late).expect("a journal"));
        let error = begin(&state, RUN).expect_err("it is not the last");
        assert!(matches!(&error, JournalError::Overtaken { run, .. } if run.as_str() == late), "{error}");
        assert_eq!(history(&state).expect("read").runs.len(), 1);
        // A copy that is kept under a name of another form is no later run.
        if let StateStore::Directory(_) = state {
            let [run, saved] = [late, "saved"].map(|run| stored::path(&state, &RunId::new(run).expect("an id")));
            std::fs::copy(&run, &saved).expect("a copy");
            let text = std::fs::read_to_string(run).expect("a run");
            std::fs::write(saved, text.replace(late, "saved")).expect("written");
        }
        drop(begin(&state, "2026-11-22T08-00-00-000-shop-0004").expect("the last one"));
    }
}

#[test]
fn a_run_that_another_resumed_since_it_was_read_is_not_resumed_again() {
    let (store, directory) = (FaultyStore::default(), tempfile::tempdir().expect("a directory"));
    for state in [runner(&store), StateStore::Directory(directory.path().to_owned())] {
        drop(begin(&state, RUN).expect("a journal"));
        let resume = |run: &str, of: &str| {
            let header = RunHeader { resumes: RunId::new(of), ..header(run) };
            Journal::begin(&state, &header, None, &|_| {}).map(drop)
        };
        let (one, other) = ("2026-11-22T06-00-00-000-shop-0002", "2026-11-22T07-00-00-000-shop-0003");
        resume(one, RUN).expect("a journal");
        let error = resume(other, RUN).expect_err("it was resumed");
        assert!(matches!(&error, JournalError::Superseded { by, .. } if by.as_str() == one), "{error}");
        assert_eq!(history(&state).expect("read").runs.len(), 2);
        resume(other, one).expect("the lock is free");
    }
}

#[test]
fn a_lock_is_released_also_while_it_is_renewed() {
    for fault in [Fault::Slow, Fault::AnswerLost] {
        let store = FaultyStore::default();
        let state = runner(&store);
        let journal = begin(&state, RUN).expect("a journal");
        let before = store.writes().len();
        store.next([fault; 1]);
        while store.writes().len() == before {
            std::thread::sleep(Duration::from_millis(5));
        }
        drop(journal);
        let waits = |message: &str| panic!("{fault:?}: {message}");
        let next = header("2026-11-22T05-00-01-000-shop-0002");
        drop(Journal::begin(&runner(&store), &next, Some("runner-1"), &waits).expect("free"));
    }
}

#[test]
fn a_lock_whose_release_gets_no_answer_is_waited_for_no_longer_than_it_lasts() {
    let store = FaultyStore::default();
    let journal = begin(&runner(&store), RUN).expect("a journal");
    store.always(Some(Fault::Silent));
    drop(journal);
    store.always(None);
    drop(begin(&runner(&store), "2026-11-22T05-00-01-000-shop-0002").expect("it ended by itself"));
}

#[test]
fn a_lock_that_is_released_and_cannot_be_taken_is_nobodys() {
    let store = FaultyStore::default();
    drop(begin(&runner(&store), RUN).expect("a journal"));
    // Those that show that conditions are met.
    store.next([Fault::None; 3]);
    store.always(Some(Fault::NoMatch));
    let refused = begin(&runner(&store), "2026-11-22T05-00-01-000-shop-0002").map(drop).expect_err("never written");
    assert!(refused.to_string().contains("other runs keep taking and releasing it"), "{refused}");
}

#[test]
fn a_renewal_that_arrives_after_its_runner_died_is_not_a_sign_of_life() {
    let store = FaultyStore::default();
    let state = runner(&store);
    let StateStore::Bucket(bucket, _) = &state else { unreachable!("a bucket") };
    let name = format!("{LOCKS}/{}.json", lock::name(&header(RUN)));
    let alive = begin(&state, RUN).expect("a journal");
    let held = bucket.read(&name).expect("read").expect("a lock").bytes;
    drop(alive);
    let released = bucket.read(&name).expect("read").expect("a lock");
    let dead = bucket.write(&name, held.clone(), Some(&released.tag)).expect("written").expect("ours");
    let late = std::thread::spawn({
        let (bucket, name) = (bucket.clone(), name.clone());
        move || {
            std::thread::sleep(Duration::from_millis(300));
            let renewed = String::from_utf8(held.into()).expect("a text").replace("\"renewals\": 0", "\"renewals\": 1");
            bucket.write(&name, renewed, Some(&dead)).expect("written").expect("in time");
        }
    });
    begin(&runner(&store), "2026-11-22T05-00-02-000-shop-0003").expect("taken over");
    late.join().expect("no panic");
}

#[tokio::test]
async fn a_run_is_shown_and_not_undone_where_the_one_that_it_resumed_is_gone() {
    let directory = tempfile::tempdir().expect("a directory");
    let state = StateStore::Directory(directory.path().to_owned());
    let first = header(RUN);
    drop(Journal::begin(&state, &first, None, &|_| {}).expect("a journal"));
    let second = RunHeader { resumes: Some(first.run.clone()), ..header(&RUN.replace("05-00", "06-00")) };
    Journal::begin(&state, &second, None, &|_| {}).expect("a journal").close(closing()).await.expect("the end");
    std::fs::remove_file(stored::path(&state, &first.run)).expect("removed");
    assert_eq!(*find(&state, "last").expect("the run").run(), second.run);
    let refused = [load(&state, &second.run), find_newest(&state, "last", &RunOwner::of(&second))];
    for refused in refused {
        assert!(matches!(refused, Err(JournalError::NoResumed { resumed, .. }) if resumed == first.run));
    }
}

#[tokio::test]
async fn a_run_whose_file_lacks_lines_stops_before_the_next_write() {
    type Loss = fn(&Path);
    let losses: [(&str, Loss); 4] = [
        ("removed", |path| std::fs::remove_file(path).expect("removed")),
        ("emptied", |path| drop(std::fs::File::create(path).expect("emptied"))),
        ("cut off", |path| {
            let file = std::fs::File::options().write(true).open(path).expect("a file");
            file.set_len(file.metadata().expect("a size").len() - 1).expect("cut off");
        }),
        ("whole", |_| {}),
    ];
    for (name, lose) in losses {
        let directory = tempfile::tempdir().expect("a directory");
        let state = StateStore::Directory(directory.path().to_owned());
        let journal = begin(&state, RUN).expect("a journal");
        journal.intent(&intent(1), Urgency::Immediate).await.expect("stored");
        lose(&stored::path(&state, &header(RUN).run));
        journal.outcome(&done(1)).await.expect("noted");
        assert_eq!(journal.intent(&intent(2), Urgency::Immediate).await.is_ok(), name == "whole", "{name}");
        assert_eq!(journal.is_removed(), name != "whole", "{name}");
    }
}

#[tokio::test]
async fn a_prune_removes_what_was_killed_before_it_began_with_those_that_are_as_old() {
    let directory = tempfile::tempdir().expect("a directory");
    let state = StateStore::Directory(directory.path().to_owned());
    let names = ["05", "06", "07", "08"].map(|hour| RUN.replace("05-00", &format!("{hour}-00")));
    for (name, is_whole) in names.iter().zip([false, true, true, false]) {
        let header = RunHeader { plan: Plan::default(), ..header(name) };
        let journal = Journal::begin(&state, &header, None, &|_| {}).expect("a journal");
        journal.close(closing()).await.expect("the end");
        drop(journal);
        if !is_whole {
            std::fs::write(stored::path(&state, &header.run), "{\"header\"").expect("cut");
        }
    }
    let there = || {
        stored::files(&state)
            .expect("a list")
            .iter()
            .map(|path| path.file_stem().expect("a name").to_str().expect("text").to_owned())
            .collect::<Vec<_>>()
    };
    prune(&state, Retention::Newest(1)).expect("removed");
    assert_eq!(there(), names[2..]);
    // Another call removed it meanwhile.
    stored::remove(&state, &[RunId::new(&names[0]).expect("an id")]).expect("nothing to do");
}

#[test]
fn runs_that_resumed_each_other_are_an_error() {
    let directory = tempfile::tempdir().expect("a directory");
    let state = StateStore::Directory(directory.path().to_owned());
    let names = ["05", "06", "07"].map(|hour| RUN.replace("05-00", &format!("{hour}-00")));
    for (name, resumed) in [(0, 1), (1, 2), (2, 1)] {
        drop(begin(&state, &names[name]).expect("a journal"));
        let file = stored::path(&state, &RunId::new(&names[name]).expect("an id"));
        let mut line: serde_json::Value =
            serde_json::from_slice(&std::fs::read(&file).expect("a run")).expect("a line");
        line["header"]["header"]["resumes"] = names[resumed].as_str().into();
        std::fs::write(&file, format!("{line}\n")).expect("written");
    }
    let error = load(&state, &RunId::new(&names[0]).expect("an id")).expect_err("a circle");
    assert!(matches!(&error, JournalError::Circle(run) if *run == names[1]), "{error}");
}

#[test]
fn a_header_of_another_format_is_not_called_damaged() {
    let error =
        parse(Path::new("r"), b"{\"header\":{\"format_version\":9,\"other\":1}}\n").expect_err("another format");
    assert!(matches!(error, JournalError::Format { .. }), "{error}");
}

#[tokio::test]
async fn a_run_whose_lock_was_released_by_hand_stops_though_nobody_took_it() {
    let store = FaultyStore::default();
    let state = runner(&store);
    let journal = begin(&state, RUN).expect("a journal");
    unlock(&state, &RunId::new(RUN).expect("an id")).expect("released").expect("its lock");
    wait_until_lost(&journal);
    let error = journal.intent(&intent(1), Urgency::Immediate).await.expect_err("refused").to_string();
    assert!(error.contains("its lock was released by hand"), "{error}");
}

fn wait_until_lost(journal: &Journal) {
    let begun = Instant::now();
    while journal.permits().is_ok() {
        assert!(begun.elapsed() < Duration::from_secs(30), "it still believes to have the lock");
        std::thread::sleep(Duration::from_millis(10));
    }
}

#[tokio::test]
async fn a_runner_that_lost_its_lock_sends_nothing_more() {
    let store = FaultyStore::default();
    let state = runner(&store);
    let journal = begin(&state, RUN).expect("a journal");
    journal.intent(&intent(1), Urgency::Immediate).await.expect("stored");
    assert!(unlock(&state, &RunId::new("another").expect("an id")).expect("read").is_none());
    let holder = unlock(&state, &RunId::new(RUN).expect("an id")).expect("released").expect("its lock");
    assert_eq!(holder.what, "stack `shop`");
    let other = begin(&runner(&store), "2026-11-22T05-00-01-000-shop-0002").expect("free at once");
    wait_until_lost(&journal);
    let error = journal.intent(&intent(2), Urgency::Immediate).await.expect_err("refused").to_string();
    assert!(error.contains("taken over by run `2026-11-22T05-00-01-000-shop-0002`"), "{error}");
    assert_eq!(intents(&state, RUN), [key(1)]);
    drop(journal);
    // What it releases at its end is not the lock of the other.
    assert!(matches!(begin(&state, "2026-11-22T05-00-03-000-shop-0004"), Err(JournalError::Lease(_))));
    drop(other);
}

#[test]
fn a_lock_that_is_none_says_what_helps() {
    let state = runner(&FaultyStore::default());
    drop(begin(&state, RUN).expect("a journal"));
    let StateStore::Bucket(bucket, _) = &state else { unreachable!("a bucket") };
    let locks = bucket.names("locks").expect("a list");
    let lock = format!("locks/{}", locks.iter().find(|name| name.ends_with(".json")).expect("the lock"));
    let tag = bucket.read(&lock).expect("read").expect("there").tag;
    bucket.write(&lock, "{}", Some(&tag)).expect("written").expect("ours");
    match begin(&state, "2026-11-22T06-00-00-000-shop-0002").expect_err("it is not a lock") {
        JournalError::Lease(LeaseError::Store(error)) => {
            assert!(error.hint().is_some_and(|hint| hint.contains("remove the object")));
        }
        error => panic!("{error}"),
    }
    let error = unlock(&state, &RunId::new(RUN).expect("an id")).expect_err("it may be the lock of that run");
    assert!(error.to_string().contains(&lock), "{error}");
}

#[tokio::test]
async fn results_share_an_object_with_the_next_intent() {
    let store = FaultyStore::default();
    let state = runner(&store);
    let journal = begin(&state, RUN).expect("a journal");
    let before = store.writes().len();
    for number in 0..20 {
        journal.outcome(&done(number)).await.expect("noted");
    }
    journal.intent(&intent(1), Urgency::Immediate).await.expect("stored");
    let parts = store.writes()[before..].iter().filter(|name| name.contains(RUN)).count();
    assert_eq!(parts, 1, "{:?}", store.writes());
}

#[test]
fn a_path_of_a_bucket_reads_as_its_address() {
    let state = runner(&FaultyStore::default());
    let path = stored::path(&state, &RunId::new(RUN).expect("an id"));
    assert_eq!(path, Path::new(&format!("s3://state/team/prod/runs/{RUN}.jsonl")));
}

#[test]
fn a_service_on_this_machine_has_one_lock_however_its_address_is_written() {
    let directory = tempfile::tempdir().expect("a directory");
    let state = StateStore::Directory(directory.path().to_owned());
    let number = std::cell::Cell::new(0);
    let at = |base_url: &str| {
        number.set(number.get() + 1);
        let mut header = header(&format!("2026-11-22T05-00-00-000-shop-{:04x}", number.get()));
        header.plan.service.base_url = base_url.to_owned();
        Journal::begin(&state, &header, None, &|_| {})
    };
    let spellings = ["http://localhost:8080", "http://127.0.0.1:8080", "http://[::1]:8080", "http://localhost.:8080"];
    for first in spellings {
        let held = at(first).expect("the first");
        for second in spellings {
            assert!(matches!(at(second), Err(JournalError::Locked { .. })), "{first}, then {second}");
        }
        let others = [
            "http://localhost:8081",
            "https://localhost:8080",
            "https://a.example",
            "https://b.example",
            "http://[::1]:8080/x",
        ];
        let all = others.map(|other| at(other).unwrap_or_else(|error| panic!("{first}, then {other}: {error}")));
        drop((held, all));
    }
}

#[tokio::test]
async fn an_earlier_run_is_not_the_last_where_a_later_one_of_the_stack_cannot_be_read() {
    let names = ["000", "001", "002"].map(|milliseconds| format!("2026-11-22T05-00-00-{milliseconds}-shop-0001"));
    let owner = owner("shop");
    for (damage, is_refused) in [
        (&b"{\"header\":{\"format_version\":1}}\n"[..], true),
        (b"{\"header\":{\"format_version\":9}}\n", true),
        (b"not ours\n{}\n", true),
        (b"not ours\n", true),
        // Killed before anything was sent.
        (b"", false),
        (b"{\"header\":{\"format_ver", false),
        (b"\0\0\0\0", false),
    ] {
        let directory = tempfile::tempdir().expect("a directory");
        let state = StateStore::Directory(directory.path().to_owned());
        for name in &names[..2] {
            let journal = begin(&state, name).expect("a journal");
            journal.close(closing()).await.expect("the end");
        }
        let path = |name: &str| directory.path().join(format!("runs/{name}.jsonl"));
        std::fs::write(path(&names[2]), damage).expect("the damage");
        let (back, resume) = (find_whole(&state, "last", &owner), find_newest(&state, "last", &owner));
        for found in [back, resume, find_newest(&state, &names[1], &owner)] {
            match is_refused {
                true => assert!(matches!(found, Err(JournalError::LaterUnreadable { .. })), "{damage:?}: {found:?}"),
                false => assert_eq!(found.expect("the second").run().as_str(), names[1]),
            }
        }
        // Of another stack, it does not matter.
        let mut name = names[2].clone();
        for other in ["other", "team-shop-eu", "team-shop", "shop-eu"] {
            let renamed = names[2].replace("shop", other);
            std::fs::rename(path(&name), path(&renamed)).expect("a new name");
            assert_eq!(find_whole(&state, "last", &owner).expect("the second").run().as_str(), names[1], "{other}");
            name = renamed;
        }
    }
}

#[tokio::test]
async fn a_damaged_run_of_the_stack_on_another_service_continues_none_of_this_one() {
    let directory = tempfile::tempdir().expect("a directory");
    let state = StateStore::Directory(directory.path().to_owned());
    let names = ["000", "001"].map(|milliseconds| format!("2026-11-22T05-00-00-{milliseconds}-shop-0001"));
    begin(&state, &names[0]).expect("a journal").close(closing()).await.expect("the end");
    let mut header = header(&names[1]);
    header.plan.service.base_url = "https://else.example.net".to_owned();
    let journal = Journal::begin(&state, &header, None, &|_| {}).expect("a journal");
    journal.close(closing()).await.expect("the end");
    let path = directory.path().join(format!("runs/{}.jsonl", names[1]));
    let text = std::fs::read_to_string(&path).expect("a run");
    std::fs::write(&path, text.replacen('\n', "\nx", 1)).expect("the damage");
    assert_eq!(find_newest(&state, "last", &owner("shop")).expect("the first").run().as_str(), names[0]);
}

#[tokio::test]
async fn an_earlier_run_is_not_the_last_where_one_read_of_the_newest_fails() {
    let store = FaultyStore::default();
    let (state, owner) = (runner(&store), owner("shop"));
    let names = ["000", "001"].map(|milliseconds| format!("2026-11-22T05-00-00-{milliseconds}-shop-0001"));
    for name in &names {
        begin(&state, name).expect("a journal").close(closing()).await.expect("the end");
    }
    for count in 0..4 {
        store.refuse_reads(&names[1], count);
        match find_whole(&state, "last", &owner) {
            Ok(found) => assert_eq!(found.run().as_str(), names[1], "{count}"),
            Err(JournalError::LaterUnreadable { .. } | JournalError::State(_)) => assert_ne!(count, 0),
            Err(error) => panic!("{count}: {error}"),
        }
    }
    // One that began before it would not be the last; one that begins after it is, whatever is in it.
    for (run, is_refused) in [("2026-11-22T05-00-00-000-shop-0002", true), ("2026-11-22T06-00-00-000-shop-0003", false)]
    {
        store.refuse_reads(&names[1], usize::MAX);
        let begun = begin(&state, run).map(drop);
        match is_refused {
            true => assert!(matches!(begun, Err(JournalError::LaterUnreadable { .. })), "{begun:?}"),
            false => begun.expect("the last"),
        }
    }
}

#[tokio::test]
async fn a_run_that_the_bucket_does_not_give_is_that_one_alone_and_a_bucket_that_does_not_answer_is_all() {
    let store = FaultyStore::default();
    let state = runner(&store);
    let names = ["000", "001", "002"].map(|milliseconds| format!("2026-11-22T05-00-00-{milliseconds}-shop-0001"));
    for name in &names {
        begin(&state, name).expect("a journal").close(closing()).await.expect("the end");
    }
    store.forbid_reads(&names[1]);
    let RunHistory { runs, unreadable } = history(&state).expect("the others");
    assert_eq!((runs.len(), unreadable.len()), (2, 1));
    assert!(unreadable[0].1.to_string().contains("permission denied"), "{}", unreadable[0].1);
    let last = last_actions(&state, &owner("shop")).expect("those of the others");
    assert_eq!(last.unread.as_ref().map(RunId::as_str), Some(&*names[1]));
    assert_eq!(last_actions(&state, &owner("other")).expect("none").unread, None);
    assert_eq!(find_newest(&state, "last", &owner("shop")).expect("the third").run().as_str(), names[2]);
    drop(begin(&state, "2026-11-22T06-00-00-000-shop-0001").expect("a journal"));
    store.refuse_reads(&names[1], usize::MAX);
    assert!(matches!(history(&state), Err(JournalError::State(_))));
}

/// No kill leaves a part of an object.
#[tokio::test]
async fn an_object_that_is_cut_off_or_listed_and_not_given_may_have_sent_something() {
    let names = ["000", "001"].map(|milliseconds| format!("2026-11-22T05-00-00-{milliseconds}-shop-0001"));
    for left in [Some(0), Some(40), Some(usize::MAX), None] {
        let store = FaultyStore::default();
        let state = runner(&store);
        for name in &names {
            begin(&state, name).expect("a journal").close(closing()).await.expect("the end");
        }
        let StateStore::Bucket(bucket, _) = &state else { unreachable!("a bucket") };
        let name = format!("runs/{}.jsonl", names[1]);
        if let Some(left) = left {
            let whole = bucket.read(&name).expect("read").expect("a run");
            let part = whole.bytes.slice(..left.min(whole.bytes.len() - 1));
            bucket.write(&name, part, Some(&whole.tag)).expect("written").expect("ours");
        } else {
            store.withhold(&name);
        }
        let RunHistory { runs, unreadable } = history(&state).expect("the other");
        assert_eq!((runs.len(), unreadable.len()), (1, 1), "{left:?}");
        let why = unreadable[0].1.to_string();
        assert!(why.contains(&name) && why.ends_with("; the run cannot be used"), "{why}");
        let owner = owner("shop");
        assert_eq!(last_actions(&state, &owner).expect("of the other").unread, RunId::new(&names[1]));
        let found = [find(&state, "last"), find_whole(&state, "last", &owner), find_newest(&state, "last", &owner)];
        for found in found {
            let is_refused = matches!(found, Err(JournalError::LaterUnreadable { .. } | JournalError::Damaged { .. }));
            assert!(is_refused, "{left:?}: {found:?}");
        }
        prune(&state, Retention::Newest(0)).expect("removed");
        assert_eq!(bucket.names("runs").expect("a list"), [format!("{}.jsonl", names[1])]);
    }
}

#[tokio::test]
async fn a_run_that_another_runner_removed_since_it_was_listed_is_none() {
    let state = runner(&FaultyStore::default());
    begin(&state, RUN).expect("a journal").close(closing()).await.expect("the end");
    let listed = stored::files(&state).expect("a list");
    assert_eq!(listed.len(), 1);
    prune(&state, Retention::Newest(0)).expect("removed");
    assert!(matches!(stored::bytes(&state, &listed[0]), Err(JournalError::NoHeader(_))));
    stored::each(&state, listed, |path, bytes| panic!("{}: {bytes:?}", path.display())).expect("answers");
}

#[cfg(unix)]
#[tokio::test]
async fn a_run_that_lies_elsewhere_and_cannot_be_reached_is_not_one_that_sent_nothing() {
    let names = ["000", "001"].map(|milliseconds| format!("2026-11-22T05-00-00-{milliseconds}-shop-0001"));
    for target in ["/nowhere/run.jsonl", "gone.jsonl"] {
        let directory = tempfile::tempdir().expect("a directory");
        let state = StateStore::Directory(directory.path().to_owned());
        begin(&state, &names[0]).expect("a journal").close(closing()).await.expect("the end");
        let link = directory.path().join(format!("runs/{}.jsonl", names[1]));
        std::os::unix::fs::symlink(target, link).expect("a link");
        let found = find_whole(&state, "last", &owner("shop"));
        assert!(matches!(found, Err(JournalError::LaterUnreadable { .. })), "{target}: {found:?}");
    }
}

#[tokio::test]
async fn of_other_stacks_no_run_is_opened() {
    let directory = tempfile::tempdir().expect("a directory");
    let state = StateStore::Directory(directory.path().to_owned());
    for name in [RUN.to_owned(), RUN.replace("05-00", "06-00").replace("shop", "other")] {
        let journal = begin(&state, &name).expect("a journal");
        journal.outcome(&done(1)).await.expect("noted");
        journal.close(closing()).await.expect("the end");
    }
    // Only the content of the other one says that it is of this stack.
    assert_eq!(find_whole(&state, "last", &owner("shop")).expect("a run").run().as_str(), RUN);
    let last = last_actions(&state, &owner("shop")).expect("actions").of;
    assert_eq!(Some(last[&key(1)].at), RunId::new(RUN).expect("an id").time());
}
