//! What changes while a write waits. Every kind of wait, before every kind of write, and in it a change of the object, of
//! the lock, or of the flag that stops the run: nothing that was allowed before the wait is done by what was known then.

use std::sync::atomic::{AtomicBool, AtomicI64, AtomicUsize, Ordering};

use super::*;

/// A wait before a write leaves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Wait {
    /// For the limits of the service.
    Turn,
    /// For the answer to a read, which the service has given.
    Answer,
    /// For the disk.
    Journal,
    /// For a connection.
    Connection,
    /// After a failure.
    Retry,
}

/// What another client does meanwhile.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Act {
    Nothing,
    Edit,
    Protect,
    HandOver,
    Recreate,
    Refer,
    Remove,
    LoseLock,
    Stop,
}

/// One act in one of the waits.
#[derive(Default)]
pub(super) struct Script {
    /// The wait with this number, from 0, of the object of this name.
    act: Mutex<Option<(usize, Act, &'static str)>>,
    /// That wait is long.
    is_long: AtomicBool,
    /// Every answer to a read takes longer than what a look lasts.
    is_slow: AtomicBool,
    stop: Mutex<Option<watch::Sender<bool>>>,
    waits: Mutex<Vec<Wait>>,
    seconds: AtomicI64,
    is_lock_lost: AtomicBool,
    todo: Mutex<Option<(Act, &'static str)>>,
    /// Requests of the service when it happened.
    happened: AtomicUsize,
}

impl Script {
    pub(super) fn clock(self: &Arc<Self>) -> Clock {
        let script = Arc::clone(self);
        Clock::new(move || jiff::Timestamp::from_second(script.seconds.load(Ordering::Relaxed)).expect("a time"))
    }

    pub(super) fn is_lock_lost(&self) -> bool {
        self.is_lock_lost.load(Ordering::Relaxed)
    }

    pub(super) fn waits(&self, wait: Wait) {
        let mut waits = self.waits.lock().expect("unpoisoned");
        let number = waits.len();
        waits.push(wait);
        if wait == Wait::Answer && self.is_slow.load(Ordering::Relaxed) {
            self.seconds.fetch_add(10, Ordering::Relaxed);
        }
        let Some((_, act, name)) = self.act.lock().expect("unpoisoned").filter(|(at, ..)| *at == number) else {
            return;
        };
        if self.is_long.load(Ordering::Relaxed) {
            self.seconds.fetch_add(10, Ordering::Relaxed);
        }
        match act {
            Act::Nothing => {}
            Act::LoseLock => self.is_lock_lost.store(true, Ordering::Relaxed),
            Act::Stop => {
                self.stop.lock().expect("unpoisoned").as_ref().expect("a run").send_replace(true);
            }
            act => *self.todo.lock().expect("unpoisoned") = Some((act, name)),
        }
        self.happened.store(usize::MAX, Ordering::Relaxed);
    }

    /// Does to the service what was done in a wait before.
    pub(super) fn happen(&self, state: &mut State) {
        let _ = self.happened.compare_exchange(usize::MAX, state.log.len() + 1, Ordering::Relaxed, Ordering::Relaxed);
        let Some((act, name)) = self.todo.lock().expect("unpoisoned").take() else { return };
        let key = key(name);
        let annotate = |state: &mut State, annotation: &str, value: &str| {
            let Some(Stored { mut raw, uid, .. }) = state.objects.get(&key).cloned() else { return };
            raw["metadata"]["annotations"][annotation] = value.into();
            state.put(&key, &raw, Some(uid));
        };
        match act {
            Act::Nothing | Act::LoseLock | Act::Stop => {}
            Act::Edit => state.meddle(&key),
            Act::Protect => annotate(state, "trueup/protect", "true"),
            Act::HandOver => annotate(state, "trueup/stack", "other"),
            Act::Recreate => {
                if let Some(Stored { raw, .. }) = state.objects.get(&key).cloned() {
                    state.put(&key, &raw, None);
                }
            }
            Act::Refer => {
                let (kind, namespace, uid) = ("cluster".to_owned(), "shop".to_owned(), String::new());
                let by = RelatedObject { kind, namespace, name: "x".to_owned(), uid };
                state.referrers.insert(key.clone(), vec![by]);
            }
            Act::Remove => {
                state.objects.remove(&key);
            }
        }
    }
}

/// What is done about the object of each kind of write.
const OBJECTS: [(&str, &[Act]); 3] = [
    ("a", &[Act::Nothing, Act::Edit, Act::LoseLock, Act::Stop]),
    ("c", &[Act::Nothing, Act::Edit, Act::HandOver, Act::Recreate, Act::Remove, Act::LoseLock, Act::Stop]),
    (
        "e",
        &[
            Act::Nothing,
            Act::Edit,
            Act::Protect,
            Act::HandOver,
            Act::Recreate,
            Act::Refer,
            Act::Remove,
            Act::LoseLock,
            Act::Stop,
        ],
    ),
];

/// The answers to the first writes, none of which takes effect.
const ANSWERS: [&[Fault]; 7] = [
    &[],
    &[Fault::Status(429)],
    &[Fault::Status(429), Fault::Status(429)],
    &[Fault::NoConnection],
    &[Fault::CutBefore],
    &[Fault::Status(503), Fault::Status(429)],
    &[Fault::CutBefore, Fault::CutBefore],
];

/// A run of the change of one object, with this act in its wait of this number.
fn run(
    begun: &Bench,
    name: &'static str,
    answers: &[Fault],
    act: Option<(usize, Act)>,
    is_long: bool,
) -> (Bench, Outcome) {
    let mut bench = begun.again();
    bench.plan.changes.retain(|change| change.key == key(name));
    bench.state().of_writes.insert(key(name), answers.iter().copied().map(Some).collect());
    let script = Arc::clone(&bench.fake.script);
    *script.act.lock().expect("unpoisoned") = act.map(|(at, act)| (at, act, name));
    *script.stop.lock().expect("unpoisoned") = Some(bench.fake.stop.clone());
    script.is_long.store(is_long, Ordering::Relaxed);
    let recorder = Kept1 { script, ..Kept1::default() };
    let outcome = bench.recorded("run-1", &recorder);
    (bench, outcome)
}

#[test]
fn nothing_that_waited_is_written_by_what_was_known_before_the_wait() {
    let begun = Bench::new();
    let mut cases = 0;
    for (name, acts) in OBJECTS {
        for answers in ANSWERS {
            let (bench, outcome) = run(&begun, name, answers, None, false);
            assert!(outcome.steps[0].result.is_done(), "{name} {answers:?}: {:?}", outcome.steps);
            let waits = bench.fake.script.waits.lock().expect("unpoisoned").clone();
            let of_writes = waits.iter().rposition(|wait| *wait == Wait::Connection).expect("a write");
            for (at, wait) in waits[..=of_writes].iter().enumerate() {
                for (act, is_long) in acts.iter().flat_map(|act| [(*act, true), (*act, false)]) {
                    // Within the time that a look lasts the write goes by it.
                    let goes_by_its_look = !is_long && matches!(wait, Wait::Answer | Wait::Journal | Wait::Connection);
                    if goes_by_its_look && !matches!(act, Act::Nothing | Act::LoseLock | Act::Stop) {
                        continue;
                    }
                    cases += 1;
                    let (bench, outcome) = run(&begun, name, answers, Some((at, act)), is_long);
                    let case = format!("{name}, {answers:?}: {act:?} in {wait:?} {at} of {waits:?}, long: {is_long}");
                    let result = &outcome.steps[0].result;
                    let state = bench.state();
                    let since = bench.fake.script.happened.load(Ordering::Relaxed).saturating_sub(1);
                    let is_write = |seen: &&Seen1| matches!(seen.what, "POST" | "PUT" | "DELETE");
                    let later = state.log.iter().skip(since);
                    match act {
                        Act::Nothing => assert!(result.is_done(), "{case}: {result:?}"),
                        Act::Stop | Act::LoseLock => {
                            assert_eq!(later.filter(is_write).count(), 0, "{case}: {:?}", bench_log(&state));
                            assert!(!result.is_done(), "{case}: {result:?}");
                        }
                        Act::Remove if name == "e" => assert!(result.is_done(), "{case}: {result:?}"),
                        _ => {
                            let done = later.filter(is_write).filter(|seen| seen.done).count();
                            assert_eq!(done, 0, "{case}: {:?}", bench_log(&state));
                            assert!(!result.is_done(), "{case}: {result:?}");
                        }
                    }
                }
            }
        }
    }
    assert!(cases > 500, "{cases}");
}

fn bench_log(state: &State) -> Vec<String> {
    state.log.iter().map(|seen| format!("{} {}", seen.what, seen.done)).collect()
}

#[test]
fn a_disk_that_is_always_slow_ends_in_a_failure_and_not_in_a_write_by_an_old_look() {
    let begun = Bench::new();
    for name in ["c", "e"] {
        let mut bench = begun.again();
        bench.plan.changes.retain(|change| change.key == key(name));
        let slow = AtomicI64::new(0);
        let options = ApplyOptions {
            clock: Clock::new(move || {
                jiff::Timestamp::from_second(slow.fetch_add(10, Ordering::Relaxed)).expect("a time")
            }),
            ..bench.options("run-1")
        };
        let recorder = Kept1::default();
        let run = phases::run(&bench.plan, None, &bench.fake, &recorder, &Quiet, &options);
        let outcome = futures_util::FutureExt::now_or_never(run).expect("nothing waits here");
        let ChangeResult::Failed { reason } = result(&outcome, name) else { panic!("{:?}", outcome.steps) };
        assert!(reason.starts_with("not sent: more than 3 s passed"), "{reason}");
        assert!(!bench.log().iter().any(|line| line.starts_with("PUT") || line.starts_with("DELETE")));
        let kept = recorder.kept.lock().expect("unpoisoned");
        let intents = kept.iter().filter(|kept| matches!(kept, RunEntry::Intent(_))).count();
        assert_eq!(intents, 1, "an intent that still says what is to be sent is used again");
    }
}

#[test]
fn a_read_that_is_always_slow_ends_what_no_version_guards_and_nothing_else() {
    let begun = Bench::new();
    let cases = [("a", true, true), ("c", true, true), ("c", false, false), ("e", true, false)];
    for (name, is_versioned, is_made) in cases {
        let mut bench = begun.again();
        bench.plan.changes.retain(|change| change.key == key(name));
        if !is_versioned {
            let mut state = bench.state();
            state.checks = false;
            state.objects.get_mut(&key("c")).expect("c").shown = Some(UNVERSIONED);
        }
        bench.fake.script.is_slow.store(true, Ordering::Relaxed);
        let outcome = bench.run();
        let result = result(&outcome, name);
        let reads = bench.log().iter().filter(|line| line.starts_with("GET")).count();
        match result {
            ChangeResult::Failed { reason } if !is_made => {
                assert!(reason.starts_with("not sent: more than 3 s passed"), "{reason}");
                assert_eq!(reads, 4);
                assert!(!bench.log().iter().any(|line| line.starts_with("PUT") || line.starts_with("DELETE")));
            }
            result => assert!(is_made && word(result) == "done" && reads < 2, "{name}: {result:?}"),
        }
    }
}
