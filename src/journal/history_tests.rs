//! Which runs are settled, held equal to a look at every other run.

use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;

use super::super::tests::{closing, header, key};
use super::settle;
use crate::model::{Key, RunId};
use crate::run::{RunRecord, RunSummary};

/// What [`settle`] says of each run, by a look at every other run.
fn superseded_by(runs: &[RunSummary], at: usize) -> Option<RunId> {
    let (run, later) = (&runs[at], &runs[at + 1..]);
    if !run.is_open() && !run.is_incomplete() {
        return None;
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
