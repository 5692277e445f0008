//! What runs that were resumed, killed or held did last with each object.

use super::super::Journal;
use super::super::tests::{RUN, begin, closing, done, header, intent, key, owner};
use super::last_actions;
use crate::model::RunId;
use crate::plan::{Action, ActionKind, BlockReason, BlockedChange, Change, Unchangeable};
use crate::run::{ChangeResult, ChangeStep, Intent, RunHeader, RunRecorder as _, Urgency};
use crate::state::StateStore;
use crate::tests::world::endpoint;

#[tokio::test]
async fn what_a_resumed_run_had_made_is_no_later_than_that_and_what_a_run_did_no_earlier_than_its_name() {
    let directory = tempfile::tempdir().expect("a directory");
    let state = StateStore::Directory(directory.path().to_owned());
    let names = ["05", "06", "07"].map(|hour| RUN.replace("05-00", &format!("{hour}-00")));
    let time = |name: &str| RunId::new(name).expect("an id").time();
    let deleted = ChangeStep { action: ActionKind::Delete, ..done(1) };
    // By its own clock it ended before it began.
    let made = ChangeStep { started: time(&names[0]), ended: time("2026-11-22T01-00-00-000-shop-0001"), ..done(2) };
    let resumes = [None, None, RunId::new(&names[0])];
    for ((name, steps), resumes) in names.iter().zip([vec![done(1), made], vec![deleted], vec![done(1)]]).zip(resumes) {
        let header = RunHeader { resumes, ..header(name) };
        let journal = Journal::begin(&state, &header, None, &|_| {}).expect("a journal");
        for step in &steps {
            journal.outcome(step).await.expect("noted");
        }
        journal.close(closing()).await.expect("the end");
    }
    let last = last_actions(&state, &owner("shop")).expect("actions").of;
    assert_eq!((last[&key(1)].left_in_place, Some(last[&key(1)].at)), (false, time(&names[1])));
    assert_eq!((last[&key(2)].left_in_place, Some(last[&key(2)].at)), (true, time(&names[0])));
}

/// An endpoint that the run may have deleted, or may not have created, was not deleted by another client.
#[tokio::test]
async fn a_run_that_was_killed_or_left_a_recreate_half_made_leaves_nothing_in_place() {
    let directory = tempfile::tempdir().expect("a directory");
    let state = StateStore::Directory(directory.path().to_owned());
    let names = [RUN.to_owned(), RUN.replace("05-00", "06-00"), RUN.replace("05-00", "07-00")];
    let journal = begin(&state, &names[0]).expect("a journal");
    for number in 0..4 {
        journal.outcome(&done(number)).await.expect("noted");
    }
    journal.close(closing()).await.expect("the end");
    drop(journal);
    // A killed run, whose last results were not stored.
    let journal = begin(&state, &names[1]).expect("a journal");
    let actions = [ActionKind::Delete, ActionKind::Recreate, ActionKind::Replace, ActionKind::Annotate];
    for (number, action) in actions.into_iter().enumerate().chain([(4, ActionKind::Create)]) {
        journal.intent(&Intent { action, ..intent(number) }, Urgency::Immediate).await.expect("stored");
    }
    drop(journal);
    let in_place = || {
        let last = last_actions(&state, &owner("shop")).expect("actions").of;
        (0..7).map(|number| last.get(&key(number)).map(|last| last.left_in_place)).collect::<Vec<_>>()
    };
    assert_eq!(in_place(), [Some(false), Some(false), Some(true), Some(true), Some(false), None, None]);
    // A run that ended with a recreate between its delete and its create, and with deletes.
    let journal = begin(&state, &names[2]).expect("a journal");
    for (number, result) in [
        (2, ChangeResult::InDoubt { reason: "deleted, and not created again".to_owned() }),
        (3, ChangeResult::Failed { reason: "403".to_owned() }),
        (4, ChangeResult::AlreadyDone),
        (5, ChangeResult::InDoubt { reason: "500".to_owned() }),
        (6, ChangeResult::AlreadyDone),
    ] {
        let step = ChangeStep { result, ..done(number) };
        let action = match number {
            4 => ActionKind::Create,
            5.. => ActionKind::Delete,
            _ => ActionKind::Recreate,
        };
        journal.outcome(&ChangeStep { action, ..step }).await.expect("noted");
    }
    journal.close(closing()).await.expect("the end");
    drop(journal);
    assert_eq!(in_place()[..5], [Some(false), Some(false), Some(false), Some(true), Some(true)]);
    assert_eq!(in_place()[5..], [Some(false); 2]);
}

/// Nor was what a run did not get to.
#[tokio::test]
async fn what_a_run_was_to_create_and_did_not_get_to_is_not_in_place() {
    let directory = tempfile::tempdir().expect("a directory");
    let state = StateStore::Directory(directory.path().to_owned());
    let names = ["05", "06", "07", "08"].map(|hour| RUN.replace("05-00", &format!("{hour}-00")));
    let create = |number| Change::new(key(number), Action::Create { wanted: endpoint("e", 80) });
    let planned = |name: &String, resumes: Option<&String>, creates: std::ops::Range<usize>| {
        let mut header = RunHeader { resumes: resumes.and_then(|run| RunId::new(run)), ..header(name) };
        header.plan.changes = creates.map(create).collect();
        Journal::begin(&state, &header, None, &|_| {}).expect("a journal")
    };
    let time = |name: &str| RunId::new(name).expect("an id").time();
    let last = || {
        let last = last_actions(&state, &owner("shop")).expect("actions").of;
        (0..6).map(|number| last.get(&key(number)).map(|last| (last.left_in_place, last.at))).collect::<Vec<_>>()
    };
    let of = |in_place: bool, name: &str| time(name).map(|at| (in_place, at));
    // It was killed after its first create.
    let killed = planned(&names[0], None, 0..4);
    killed.outcome(&done(0)).await.expect("noted");
    drop(killed);
    let after_the_first = [of(true, &names[0]), of(false, &names[0]), of(false, &names[0]), of(false, &names[0])];
    assert_eq!(last()[..4], after_the_first);
    // So was its resume, before it noted what was made already.
    drop(planned(&names[1], Some(&names[0]), 0..4));
    let made = of(true, &names[0]);
    assert_eq!(last()[..4], [made, of(false, &names[1]), of(false, &names[1]), of(false, &names[1])]);
    // Another resume made one, and skipped the others.
    let resumed = planned(&names[2], Some(&names[1]), 0..4);
    for (number, result) in [(1, None), (2, Some("held")), (3, Some("interrupted"))] {
        let skipped = result.map(|reason| ChangeResult::Skipped { reason: reason.to_owned() });
        let step = ChangeStep { started: time(&names[2]), ended: time(&names[2]), ..done(number) };
        let step = skipped.map_or(step, |result| ChangeStep { result, ..done(number) });
        resumed.outcome(&step).await.expect("noted");
    }
    resumed.close(closing()).await.expect("the end");
    drop(resumed);
    assert_eq!(last()[..4], [made, of(true, &names[2]), of(false, &names[2]), of(false, &names[2])]);
    // A run of its own finds them gone, and one more that it may not create.
    let mut header = header(&names[3]);
    header.plan.changes = vec![create(0)];
    let blocked = |number, reason| BlockedChange::new(key(number), reason, Some(create(number)));
    header.plan.blocked =
        vec![blocked(4, BlockReason::Unchangeable(Unchangeable::Deleting)), blocked(5, BlockReason::Protected)];
    drop(Journal::begin(&state, &header, None, &|_| {}).expect("a journal"));
    let gone = of(false, &names[3]);
    assert_eq!(last(), [gone, of(true, &names[2]), of(false, &names[2]), of(false, &names[2]), gone, None]);
}
