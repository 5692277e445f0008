use std::collections::BTreeMap;
use std::sync::atomic::AtomicBool;

use futures_util::StreamExt as _;
use futures_util::stream;
use tokio::sync::Semaphore;

use super::Options;
use super::converge;
use super::service::Service;
use super::step::{INTERRUPTED, Start, Worker};
use crate::model::Key;
use crate::plan::{
    ActionKind, Change, Closing, Event, Fate, Intent, Kept, Observer, Outcome, Plan, Progress, Recorder, RunId,
    RunRecord, Step,
};

/// Changes that are worked on for each that may be sent: while some are sent, the intents of the next
/// reach the disk together, so that safety does not cost a flush a request.
const AHEAD: usize = 3;

/// How far an earlier run got with a change.
#[derive(Debug, Clone)]
pub(super) enum Begin<'a> {
    /// There was none.
    Fresh,
    /// It tried and did not make it.
    Tried,
    /// It left a write in doubt, under the names of these runs.
    InDoubt(&'a Intent, Vec<RunId>),
    /// It was done with it.
    Over(Fate),
}

/// Runs the plan from where `begin` says that each change stands.
pub(super) async fn run<'b, S: Service, R: Recorder, O: Observer>(
    plan: &Plan,
    begin: impl Fn(&Key) -> Begin<'b>,
    service: &S,
    recorder: &R,
    observer: &O,
    options: &Options,
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
        slots: Semaphore::new(options.concurrency.max(1)),
    };
    let over = |change: &&Change| matches!(begin(&change.key), Begin::Over(_));
    observer.event(Event::Started { total: plan.changes.len() - plan.changes.iter().filter(over).count() });
    let mut fates: BTreeMap<&Key, Fate> = BTreeMap::new();
    for kind in [ActionKind::Create, ActionKind::Replace, ActionKind::Delete] {
        let phase: Vec<&Change> =
            plan.changes.iter().filter(|change| change.action.kind().phase() == kind.phase()).collect();
        if phase.is_empty() {
            continue;
        }
        observer.event(Event::Phase { kind, count: phase.len() });
        let held = (kind == ActionKind::Delete).then(|| held_back(&fates)).flatten();
        // A delete carries no version: it leaves right after the look that it goes by.
        let ahead = if kind == ActionKind::Delete { 1 } else { AHEAD };
        let steps = stream::iter(phase).map(|change| work(&worker, change, begin(&change.key), held.as_deref()));
        let mut steps = steps.buffer_unordered(options.concurrency.max(1) * ahead);
        while let Some((change, fate)) = steps.next().await {
            fates.insert(&change.key, fate);
        }
    }
    let interrupted = worker.is_stopped();
    let sent = fates.values().any(Fate::may_have_taken_effect);
    let written = options.clock.now();
    let looked = match (sent, interrupted) {
        (false, _) => converge::Looked::not_needed(),
        (true, true) => converge::Looked::unknown(INTERRUPTED),
        (true, false) => converge::look(plan, &fates, service, observer, options).await,
    };
    let milliseconds = |since| u64::try_from(options.clock.since(since).as_millis()).unwrap_or(u64::MAX);
    let look_milliseconds = milliseconds(written);
    let closing =
        Closing { ended: options.clock.now().to_string(), convergence: looked.convergence.clone(), interrupted };
    // A closing line that cannot be written leaves a run that reads as unfinished: it can be resumed,
    // and finds everything done.
    let _ = recorder.close(closing).await;
    Outcome {
        run: options.run.clone(),
        steps: steps(plan, fates),
        convergence: looked.convergence,
        interrupted,
        unhealthy: looked.unhealthy,
        requests: service.requests().saturating_sub(asked_before),
        milliseconds: milliseconds(started),
        look_milliseconds,
    }
}

/// Goes on with an earlier run.
pub(super) async fn resume<S: Service, R: Recorder, O: Observer>(
    record: &RunRecord,
    service: &S,
    recorder: &R,
    observer: &O,
    options: &Options,
) -> Outcome {
    let mut runs: BTreeMap<&Key, Vec<RunId>> = BTreeMap::new();
    for kept in &record.kept {
        if let Kept::Intent(intent) = kept {
            let run = intent.request.run().unwrap_or_else(|| record.run().clone());
            let runs = runs.entry(&intent.key).or_default();
            if !runs.contains(&run) {
                runs.push(run);
            }
        }
    }
    let after = |key: &Key, progress| after(progress, runs.get(key).map_or(&[], Vec::as_slice));
    let begins: BTreeMap<&Key, Begin<'_>> =
        record.progress().into_iter().map(|(change, progress)| (&change.key, after(&change.key, progress))).collect();
    let begin = |key: &Key| begins.get(key).cloned().unwrap_or(Begin::Fresh);
    run(&record.header.plan, begin, service, recorder, observer, options).await
}

fn after<'a>(progress: Progress<'a>, runs: &[RunId]) -> Begin<'a> {
    match progress {
        Progress::Untouched => Begin::Tried,
        Progress::InDoubt(intent) => Begin::InDoubt(intent, runs.to_vec()),
        Progress::Fated(fate) if fate.is_done() => Begin::Over(fate.clone()),
        Progress::Fated(_) => Begin::Tried,
    }
}

/// Works on one change and tells everyone what became of it.
async fn work<'c, S: Service, R: Recorder, O: Observer>(
    worker: &Worker<'_, S, R, O>,
    change: &'c Change,
    begin: Begin<'_>,
    held: Option<&str>,
) -> (&'c Change, Fate) {
    let started = worker.options.clock.now();
    let over = matches!(begin, Begin::Over(_));
    let fate = match (begin, held) {
        (Begin::Over(fate), _) => fate,
        (Begin::InDoubt(intent, runs), None) => worker.make(change, Start::InDoubt(intent, &runs)).await,
        // A write in doubt stays in doubt while nothing is sent: it is not skipped.
        (Begin::InDoubt(..), Some(reason)) => Fate::Unsettled { reason: reason.to_owned() },
        (Begin::Fresh | Begin::Tried, Some(reason)) => Fate::Skipped { reason: reason.to_owned() },
        (Begin::Fresh, None) => worker.make(change, Start::Fresh).await,
        (Begin::Tried, None) => worker.make(change, Start::Look).await,
    };
    let step = Step { key: change.key.clone(), action: change.action.kind(), fate: fate.clone() };
    worker.keep(&step).await;
    // What an earlier run did was told then.
    if !over {
        worker.observer.event(Event::Finished { step, took: worker.options.clock.since(started) });
    }
    (change, fate)
}

/// Why no delete may be sent, if so.
fn held_back(fates: &BTreeMap<&Key, Fate>) -> Option<String> {
    let undone = fates.values().filter(|fate| !fate.is_done()).count();
    match undone {
        0 => None,
        1 => Some("held back: a create or replace before it was not made".to_owned()),
        count => Some(format!("held back: {count} creates or replaces before it were not made")),
    }
}

fn steps(plan: &Plan, mut fates: BTreeMap<&Key, Fate>) -> Vec<Step> {
    let mut fate = |key: &Key| fates.remove(key).unwrap_or(Fate::Skipped { reason: INTERRUPTED.to_owned() });
    let step =
        |change: &Change| Step { key: change.key.clone(), action: change.action.kind(), fate: fate(&change.key) };
    plan.changes.iter().map(step).collect()
}
