//! Which runs are settled, held equal to a look at every other run, and which stay when old ones are removed.

use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;

use super::super::tests::{RUN, begin, closing, done, header, key, runner};
use super::super::{Journal, Retention, history_since, load, prune};
use super::settle;
use crate::model::{Key, RunId};
use crate::plan::{Action, Change};
use crate::run::{ChangeResult, ChangeStep, RunHeader, RunRecord, RunRecorder as _, RunSummary};
use crate::state::StateStore;
use crate::tests::faults::FaultyStore;
use crate::tests::world::endpoint;

/// What [`settle`] says of each run, by a look at every other run.
fn superseded_by(runs: &[RunSummary], at: usize) -> Option<RunId> {
    let (run, later) = (&runs[at], &runs[at + 1..]);
    if !run.is_open() && !run.is_incomplete() {
        let rolls_back = |later: &&RunSummary| later.done > 0 && later.rolls_back.as_ref() == Some(&run.run);
        return later.iter().find(rolls_back).map(|later| later.run.clone());
    }
    let mut parts = vec![run];
    for earlier in runs[..at].iter().rev() {
        if parts.last().is_some_and(|part| part.resumes.as_ref() == Some(&earlier.run)) {
            parts.push(earlier);
        }
    }
    let made_last = |key: &Key| {
        let made = later.iter().filter(|later| later.is_after(run) && later.taken_over.contains(key));
        made.map(|later| &later.run).max()
    };
    let last: Option<Vec<&RunId>> = run.unfinished.iter().map(made_last).collect();
    let whole = later.iter().find(|later| later.supersedes(&parts)).map(|later| &later.run);
    whole.or_else(|| last?.into_iter().max()).cloned()
}

proptest! {
    #[test]
    fn a_run_is_superseded_by_the_runs_that_made_what_it_left(
        runs in vec((option::of(0usize..12), vec(0usize..6, 0..4), vec(0usize..6, 0..4), 0usize..2, 0usize..2, 0usize..3), 1..14),
    ) {
        let name = |at: usize| format!("2026-11-22T05-00-{at:02}-000-shop-0001");
        let mut runs: Vec<RunSummary> = runs
            .into_iter()
            .enumerate()
            .map(|(at, (resumes, unfinished, made, failed, stack, closed))| {
                let mut header = header(&name(at));
                header.plan.stack = Some(["shop", "pay"][stack].to_owned());
                header.resumes = resumes.and_then(|of| RunId::new(&name(of)));
                header.rolls_back = RunId::new(&name(closed)).filter(|_| closed == 2);
                let closing = (closed > 0).then(closing);
                let run = RunSummary::of(&RunRecord { header, entries: Vec::new(), closing });
                let [unfinished, taken_over] = [unfinished, made].map(|keys| keys.into_iter().map(key).collect());
                RunSummary { unfinished, taken_over, failed, done: failed, ..run }
            })
            .collect();
        let expected: Vec<_> = (0..runs.len()).map(|at| superseded_by(&runs, at)).collect();
        settle(&mut runs);
        prop_assert_eq!(runs.iter().map(|run| run.superseded_by.clone()).collect::<Vec<_>>(), expected);
    }
}

#[tokio::test]
async fn a_run_that_one_which_cannot_be_read_may_have_resumed_stays() {
    let store = FaultyStore::default();
    let state = runner(&store);
    let names = ["05", "06", "07"].map(|hour| RUN.replace("05-00", &format!("{hour}-00")));
    for (name, resumes) in names.iter().zip([None, RunId::new(&names[0]), None]) {
        let mut header = RunHeader { resumes, ..header(name) };
        header.plan.changes = vec![Change::new(key(1), Action::Create { wanted: endpoint("e", 80) })];
        let journal = Journal::begin(&state, &header, None, &|_| {}).expect("a journal");
        let result = ChangeResult::Failed { reason: "403".to_owned() };
        let step = if *name == names[0] { ChangeStep { result, ..done(1) } } else { done(1) };
        journal.outcome(&step).await.expect("noted");
        journal.close(closing()).await.expect("the end");
    }
    store.forbid_reads(&names[1]);
    assert_eq!(prune(&state, Retention::Newest(1)).expect("removed"), []);
}

#[tokio::test]
async fn a_run_stays_while_it_or_one_that_resumed_it_does_and_goes_with_its_parts() {
    let store = FaultyStore::default();
    let state = runner(&store);
    let names = ["05", "06", "07"].map(|hour| RUN.replace("05-00", &format!("{hour}-00")));
    let gone = |keep| prune(&state, keep).expect("removed").len();
    let mut resumes = None;
    for name in &names {
        let header = RunHeader { resumes, ..header(name) };
        let journal = Journal::begin(&state, &header, None, &|_| {}).expect("a journal");
        if *name == names[2] {
            assert_eq!(gone(Retention::Newest(0)), 0, "the newest is open");
            journal.close(closing()).await.expect("the end");
        }
        resumes = Some(header.run);
    }
    let other = RUN.replace("05-00", "08-00").replace("shop", "other");
    begin(&state, &other).expect("a journal").close(closing()).await.expect("the end");
    assert_eq!(gone(Retention::Newest(2)), 0, "what stays resumed one that resumed the first");
    // Of other stacks, and earlier, no run went on with it.
    let second = load(&state, &RunId::new(&names[1]).expect("an id")).expect("the run");
    let since = history_since(&state, &second).expect("read").runs;
    let resumed: Vec<_> =
        since.iter().map(|run| (run.run.as_str(), run.resumed_by.as_ref().map(RunId::as_str))).collect();
    assert_eq!(resumed, [(&*names[1], Some(&*names[2])), (&*names[2], None)]);
    assert_eq!(gone(Retention::Newest(0)), 4);
    let StateStore::Bucket(bucket, _) = &state else { unreachable!("a bucket") };
    assert_eq!(bucket.names("runs").expect("a list"), [""; 0]);
}
