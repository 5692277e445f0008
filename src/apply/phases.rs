//! The order of a run: waves, each with creates, then replaces and annotates, then deletes; then the verification.
//! Several changes are in progress at the same time. A change is sent only when everything it needs is done; a delete
//! only when every create and replace before it in its namespace is done.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::AtomicBool;

use futures_util::StreamExt as _;
use futures_util::stream;

use super::ApplyOptions;
use super::service::ObjectService;
use super::step::{EarlierProgress, INTERRUPTED, Worker};
use super::verify;
use crate::model::{Key, Namespace, counted};
use crate::plan::{ActionKind, Change, Plan, Waves};
use crate::run::{
    ChangeProgress, ChangeResult, ChangeStep, Outcome, RunClosing, RunEvent, RunObserver, RunRecord, RunRecorder,
    Verification,
};

/// How many creates are prepared per create that may be sent: while some are sent, the intents of the next reach the
/// disk together, so that not every request costs a flush.
const AHEAD: usize = 3;

/// Runs the plan; with the record of an earlier run, each change continues where that run left it.
pub(super) async fn run<S: ObjectService, R: RunRecorder, O: RunObserver>(
    plan: &Plan,
    record: Option<&RunRecord>,
    service: &S,
    recorder: &R,
    observer: &O,
    options: &ApplyOptions,
) -> Outcome {
    let started = options.clock.now();
    let asked_before = service.requests();
    let worker = Worker {
        service,
        recorder,
        observer,
        options,
        checks_versions: AtomicBool::new(false),
        journal_failed: AtomicBool::new(false),
    };
    let writers = record.map(RunRecord::writers).unwrap_or_default();
    let runs = |key: &Key| writers.get(key).map_or(&[][..], Vec::as_slice);
    let progress = record.map(RunRecord::progress).unwrap_or_default().into_iter();
    let reached: BTreeMap<&Key, EarlierProgress<'_>> =
        progress.map(|(change, progress)| (&change.key, (progress, runs(&change.key)))).collect();
    let earlier = |key: &Key| reached.get(key).copied();
    let is_over = |change: &&Change| earlier(&change.key).is_some_and(|(progress, _)| progress.done().is_some());
    let total = plan.changes.len() - plan.changes.iter().filter(is_over).count();
    observer.event(RunEvent::Started { run: &options.run, total });
    let mut steps: BTreeMap<&Key, ChangeStep> = BTreeMap::new();
    let Waves { waves, needs } = Waves::of(&plan.changes);
    let mut announced = BTreeSet::new();
    for wave in waves {
        for phase in wave.chunk_by(|one, next| one.action.kind().phase() == next.action.kind().phase()) {
            let kind = phase[0].action.kind();
            if announced.insert(kind.phase()) {
                let is_of = |change: &&Change| change.action.kind().phase() == kind.phase();
                observer.event(RunEvent::Phase { kind, count: plan.changes.iter().filter(is_of).count() });
            }
            // Any other write is sent right after the read that it relies on, in the same turn.
            let ahead = if kind == ActionKind::Create { AHEAD } else { 1 };
            let undone = if kind == ActionKind::Delete { undone(&steps) } else { BTreeMap::new() };
            let held = |change: &Change| held_by(change, &needs, &steps).or_else(|| blocked_by(change, &undone));
            let phase: Vec<_> = phase.iter().map(|change| (*change, held(change))).collect();
            let work =
                stream::iter(&phase).map(|(change, held)| work(&worker, change, earlier(&change.key), held.as_deref()));
            let mut work = work.buffer_unordered(options.concurrency.max(1) * ahead);
            while let Some((change, step)) = work.next().await {
                steps.insert(&change.key, step);
            }
        }
    }
    // A change found already done needs no verification: its object was just read, and nothing was written.
    let any_done = steps.values().any(|step| step.result.is_done());
    let written = options.clock.now();
    let was_interrupted = worker.is_stopped();
    let verified = match (any_done, was_interrupted) {
        (false, _) => Some((Verification::NotNeeded, Vec::new())),
        (true, true) => None,
        (true, false) => options.unless_stopped(verify::verify(plan, &steps, service, observer, options)).await,
    };
    let interrupted = was_interrupted || verified.is_none();
    let unverified = || (Verification::Unknown { reason: INTERRUPTED.to_owned() }, Vec::new());
    let (verification, unhealthy) = verified.unwrap_or_else(unverified);
    let milliseconds = |since| u64::try_from(options.clock.since(since).as_millis()).unwrap_or(u64::MAX);
    let look_milliseconds = milliseconds(written);
    let ended = options.clock.now().to_string();
    let closing = RunClosing { ended, verification: verification.clone(), interrupted };
    // Without its closing line the run reads as unfinished: a resume finds everything done. The recorder knows its
    // error.
    let _ = recorder.close(closing).await;
    Outcome {
        run: options.run.clone(),
        steps: in_order(plan, steps),
        verification,
        interrupted,
        unhealthy,
        requests: service.requests().saturating_sub(asked_before),
        milliseconds: milliseconds(started),
        verify_milliseconds: look_milliseconds,
        unrecorded: false,
    }
}

/// Works on one change and reports its result.
async fn work<'c, S: ObjectService, R: RunRecorder, O: RunObserver>(
    worker: &Worker<'_, S, R, O>,
    change: &'c Change,
    earlier: Option<EarlierProgress<'_>>,
    held: Option<&str>,
) -> (&'c Change, ChangeStep) {
    let started = worker.options.clock.now();
    let over = earlier.and_then(|(progress, _)| progress.done());
    let mut requests = Vec::new();
    let result = match (over, held) {
        (Some(result), _) => result.clone(),
        (None, None) => worker.make(change, earlier, &mut requests).await,
        // A write in doubt stays in doubt while nothing is sent: it is not skipped.
        (None, Some(reason)) if matches!(earlier, Some((ChangeProgress::InDoubt(..), _))) => {
            ChangeResult::InDoubt { reason: reason.to_owned() }
        }
        (None, Some(reason)) => ChangeResult::Skipped { reason: reason.to_owned() },
    };
    let mut step = ChangeStep { requests, ..ChangeStep::new(change.key.clone(), change.action.kind(), result) };
    if over.is_none() && held.is_none() {
        (step.started, step.ended) = (Some(started), Some(worker.options.clock.now()));
    }
    worker.record(&step).await;
    // Changes of an earlier run were reported by that run.
    if over.is_none() {
        worker.observer.event(RunEvent::Finished { step: &step, took: worker.options.clock.since(started) });
    }
    (change, step)
}

/// Why a change may not be sent, if an earlier change that it needs was not made.
fn held_by(
    change: &Change,
    needs: &BTreeMap<&Key, BTreeSet<&Key>>,
    steps: &BTreeMap<&Key, ChangeStep>,
) -> Option<String> {
    let needed = needs.get(&change.key)?.iter();
    let mut undone = needed.filter(|key| steps.get(*key).is_some_and(|step| !step.result.is_done()));
    undone.next().map(|key| format!("held by `{key}`, which was not made"))
}

/// How many creates and replaces of each namespace were not made.
fn undone<'k>(steps: &BTreeMap<&'k Key, ChangeStep>) -> BTreeMap<&'k Namespace, usize> {
    let undone = steps.iter().filter(|(_, step)| step.action != ActionKind::Delete && !step.result.is_done());
    counted(undone.map(|(key, _)| &key.namespace))
}

/// Why a delete may not be sent, if earlier changes of its namespace were not made.
fn blocked_by(change: &Change, undone: &BTreeMap<&Namespace, usize>) -> Option<String> {
    let namespace = &change.key.namespace;
    undone.get(namespace).map(|count| match count {
        1 => format!("blocked: a create or replace of `{namespace}` before it was not made"),
        count => format!("blocked: {count} creates or replaces of `{namespace}` before it were not made"),
    })
}

fn in_order(plan: &Plan, mut steps: BTreeMap<&Key, ChangeStep>) -> Vec<ChangeStep> {
    let step = |change: &Change| {
        steps.remove(&change.key).unwrap_or_else(|| {
            let result = ChangeResult::Skipped { reason: INTERRUPTED.to_owned() };
            ChangeStep::new(change.key.clone(), change.action.kind(), result)
        })
    };
    plan.changes.iter().map(step).collect()
}
