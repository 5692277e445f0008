//! What is done about an object that a get shows in a form that nobody would expect: before its write, or after one whose
//! answer proves nothing.

use super::*;
use crate::plan::Action;

/// The bench with the plan of one change.
fn bench_of(name: &str) -> Bench {
    let mut bench = Bench::new();
    bench.plan.changes.retain(|change| change.key == key(name));
    bench
}

/// The same, and the object of it as gets show it.
fn bench(name: &str, shown: Shown) -> Bench {
    let bench = bench_of(name);
    {
        let mut state = bench.state();
        if let Some(object) = state.objects.get_mut(&key(name)) {
            object.shown = Some(shown);
        } else {
            state.put(&key(name), &serde_json::to_value(endpoint(name, 1)).expect("JSON"), None);
            state.objects.get_mut(&key(name)).expect("it").shown = Some(shown);
        }
    }
    bench
}

fn reason(result: &ChangeResult) -> String {
    match result {
        ChangeResult::Failed { reason } | ChangeResult::InDoubt { reason } | ChangeResult::Skipped { reason } => {
            reason.clone()
        }
        ChangeResult::Conflict(conflict) => conflict.reason.clone(),
        _ => String::new(),
    }
}

#[test]
fn an_object_that_became_unsupported_or_owned_or_is_being_deleted_is_not_written() {
    const UNREAD: &str = "this trueup cannot read the live object: its spec is not a mapping";
    let cases = [
        ("a", UNSUPPORTED, "conflict", "created by someone else"),
        ("c", UNSUPPORTED, "failed", UNREAD),
        ("e", UNSUPPORTED, "failed", UNREAD),
        ("a", DELETING, "conflict", "created by someone else"),
        ("c", DELETING, "conflict", "being deleted"),
        ("e", DELETING, "already done", ""),
        ("a", OWNED, "conflict", "created by someone else"),
        ("c", OWNED, "conflict", "now belongs to another object of the service"),
        ("e", OWNED, "conflict", "now belongs to another object of the service"),
    ];
    for (name, shown, expected, why) in cases {
        let bench = bench(name, shown);
        let outcome = bench.run();
        let result = result(&outcome, name);
        assert_eq!((word(result), reason(result).as_str()), (expected, why), "{name} {shown:?}");
        assert!(!bench.state().log.iter().any(|seen| seen.done && !["GET", "REFERRERS", "LIST"].contains(&seen.what)));
    }
}

#[test]
fn a_change_whose_fields_make_no_object_is_not_sent() {
    let mut bench = bench_of("c");
    let Action::Replace { fields, .. } = &mut bench.plan.changes[0].action else { panic!("a replace") };
    fields[0].after = json!("eighty");
    let outcome = bench.run();
    assert!(reason(result(&outcome, "c")).starts_with("the planned fields make no endpoint: "), "{outcome:?}");
    assert!(bench.log().is_empty());
}

#[test]
fn without_versions_the_object_itself_shows_whether_a_lost_write_was_made() {
    // GET, PUT, GET, a wait, GET, PUT
    for (meddled, expected) in [(None, "done"), (Some(2), "conflict, ours may be lost")] {
        let bench = bench("c", UNVERSIONED);
        bench.state().checks = false;
        bench.state().faults.insert(1, Fault::CutBefore);
        bench.state().faults.extend(meddled.map(|at| (at, Fault::Act)));
        bench.state().act = Some(|state| {
            state.meddle(&key("c"));
            state.objects.get_mut(&key("c")).expect("c").shown = Some(UNVERSIONED);
        });
        assert_eq!(word(result(&bench.run(), "c")), expected);
    }
}

#[test]
fn a_lost_write_under_the_same_write_of_another_run_is_not_called_done() {
    let other = bench_of("c");
    other.run_as("run-9");
    for (answer, expected) in [(Fault::CutBefore, "conflict, ours may be lost"), (Fault::Status(409), "already done")] {
        let bench = bench_of("c");
        {
            let mut state = bench.state();
            state.faults.insert(1, answer);
            state.old = other.state().objects.clone();
            state.lags.insert(key("c"), (Lag::Old, 1_000));
        }
        let outcome = bench.run();
        assert_eq!(word(result(&outcome, "c")), expected);
        let ChangeResult::Conflict(conflict) = result(&outcome, "c") else { continue };
        assert_eq!(conflict.reason, "as wanted, but written by another client");
    }
}

#[test]
fn a_refused_delete_of_an_object_that_others_began_to_refer_to_says_who_does() {
    let bench = bench_of("e");
    // GET, REFERRERS, DELETE, GET, REFERRERS
    bench.state().faults.extend([(2, Fault::Status(400)), (3, Fault::Act)]);
    bench.state().act = Some(|state| {
        let [kind, namespace, name] = ["cluster", "shop", "x"].map(str::to_owned);
        state.referrers.insert(key("e"), vec![RelatedObject { kind, namespace, name, uid: String::new() }]);
    });
    assert_eq!(word(result(&bench.run(), "e")), "referred");
    assert!(bench.port("e").is_some());
}

/// The journal of a run that ended as the process died at this request.
fn killed(bench: &Bench, fault: (usize, Fault)) -> RunRecord {
    bench.state().faults.extend([fault]);
    let recorder = Kept1::default();
    bench.recorded("run-1", &recorder);
    let mut record = bench.record("run-1", recorder);
    record.entries.retain(|kept| !matches!(kept, RunEntry::Outcome(step) if !step.result.is_done()));
    bench.fake.stop.send_replace(false);
    bench.state().killed = false;
    bench.state().faults.clear();
    record
}

#[test]
fn a_resume_settles_nothing_by_a_journal_that_lacks_what_settles_it() {
    // An intent without the object as it was.
    let bench = bench_of("c");
    let mut record = killed(&bench, (1, Fault::KillBefore));
    for entry in &mut record.entries {
        let RunEntry::Intent(intent) = entry else { continue };
        intent.before = None;
    }
    let outcome = bench.resumed("run-2", &record, &Kept1::default());
    assert_eq!(word(result(&outcome, "c")), "conflict, ours may be lost");
    assert_eq!(bench.port("c"), Some(json!(1)));

    // A delete in doubt whose replace is not in it, and is refused now.
    let bench = Bench::new();
    let mut record = killed(&bench, (8, Fault::KillBefore));
    record.entries.retain(|kept| {
        let (RunEntry::Intent(Intent { key: of, .. }) | RunEntry::Outcome(ChangeStep { key: of, .. })) = kept;
        *of != key("c")
    });
    bench.state().meddle(&key("c"));
    let outcome = bench.resumed("run-2", &record, &Kept1::default());
    assert_eq!(["c", "e", "f"].map(|name| word(result(&outcome, name))), ["conflict", "in_doubt", "skipped"]);
    assert!(bench.port("e").is_some());
}

#[test]
fn what_the_verification_cannot_read_differs_and_another_run_of_the_same_is_no_difference() {
    // GET, PUT, LIST
    let acted = |act: fn(&mut State)| {
        let bench = bench_of("c");
        bench.state().faults.insert(2, Fault::Act);
        bench.state().act = Some(act);
        let outcome = bench.run();
        assert_eq!(word(result(&outcome, "c")), "done");
        let Verification::Differs { left } = outcome.verification else { panic!("{:?}", outcome.verification) };
        left.into_iter().flat_map(|(_, fields)| fields).map(|field| field.to_string()).collect::<Vec<_>>()
    };
    let unsupported = acted(|state| state.objects.get_mut(&key("c")).expect("c").shown = Some(UNSUPPORTED));
    assert!(unsupported.is_empty());
    let changed = acted(|state| {
        let mut raw = state.objects[&key("c")].raw.clone();
        let applied = raw["metadata"]["annotations"]["trueup/applied"].as_str().expect("it").replace("run-1", "run-9");
        raw["metadata"]["annotations"]["trueup/applied"] = applied.into();
        raw["spec"]["port"] = 3.into();
        state.put(&key("c"), &raw, Some(1));
    });
    assert_eq!(changed, ["spec.port"]);
}

#[test]
fn a_refusal_that_is_not_about_the_version_is_reported_also_where_the_object_moved_and_proves_no_check() {
    let mut bench = Bench::new();
    bench.plan.changes.retain(|change| [key("c"), key("d")].contains(&change.key));
    bench.state().of_writes.insert(key("c"), [Some(Fault::Status(400)), Some(Fault::Status(400))].into());
    // GET, PUT, GET
    bench.state().faults.insert(2, Fault::Annotate);
    let outcome = bench.run();
    assert_eq!(word(result(&outcome, "c")), "failed");
    assert!(reason(result(&outcome, "c")).contains("400"), "{}", reason(result(&outcome, "c")));
    assert!(matches!(result(&outcome, "d"), ChangeResult::Done { confirmation: Confirmation::Versioned, .. }));
}

#[test]
fn a_deleted_object_that_a_list_shows_is_not_gone_unless_it_is_another_or_going() {
    let gone = |act: fn(&mut State)| {
        let bench = bench_of("e");
        // GET, REFERRERS, DELETE, LIST
        bench.state().faults.insert(3, Fault::Act);
        bench.state().act = Some(act);
        let outcome = bench.run();
        assert_eq!(word(result(&outcome, "e")), "done");
        match outcome.verification {
            Verification::Verified { .. } => true,
            Verification::Differs { left } => !left.iter().any(|(at, fields)| *at == key("e") && fields.is_empty()),
            other => panic!("{other:?}"),
        }
    };
    assert!(!gone(|state| drop(state.objects.insert(key("e"), state.old[&key("e")].clone()))));
    assert!(gone(|state| drop(state.objects.insert(key("e"), state.old[&key("e")].clone().shown(DELETING)))));
    assert!(gone(|state| state.put(&key("e"), &state.old[&key("e")].raw.clone(), None)));
}

#[test]
fn what_another_client_made_as_wanted_is_owned_unless_it_changed_the_ownership_too() {
    for (applied, expected) in [(None, "done"), (Some("theirs"), "conflict")] {
        let bench = bench_of("c");
        {
            let mut state = bench.state();
            let mut object = state.objects[&key("c")].clone();
            object.raw["spec"]["port"] = 2.into();
            if let Some(applied) = applied {
                object.raw["metadata"]["annotations"]["trueup/applied"] = applied.into();
            }
            state.put(&key("c"), &object.raw, Some(object.uid));
        }
        assert_eq!(word(result(&bench.run(), "c")), expected, "{applied:?}");
    }
}

/// The plan of a bench that creates `c` again.
fn recreating() -> Bench {
    let mut bench = bench_of("c");
    let change = &mut bench.plan.changes[0];
    let Action::Replace { fields, before, .. } = change.action.clone() else { panic!("a replace") };
    change.action = Action::Recreate { fields, before };
    bench
}

fn writes(bench: &Bench) -> Vec<String> {
    bench.log().into_iter().filter(|line| !line.starts_with("GET")).collect()
}

#[test]
fn a_recreate_waits_for_the_end_of_its_delete_a_bounded_number_of_times() {
    let bench = recreating();
    bench.state().deletes_take = 3;
    assert_eq!(words(&bench.run()), ["done"]);
    assert_eq!(writes(&bench), ["REFERRERS c", "DELETE c", "POST c", "LIST list"]);
    assert_eq!(bench.port("c"), Some(json!(2)));
    assert_eq!(bench.waits.lock().expect("unpoisoned").len(), 3);

    let bench = recreating();
    bench.state().deletes_take = 1_000;
    let recorder = Kept1::default();
    let outcome = bench.recorded("run-1", &recorder);
    assert_eq!(word(result(&outcome, "c")), "in_doubt");
    assert_eq!(reason(result(&outcome, "c")), format!("{STILL_THERE}: its delete takes time"));
    assert_eq!(writes(&bench)[..2], ["REFERRERS c", "DELETE c"]);
    // A resume finishes it once it is gone.
    let record = bench.record("run-1", recorder);
    bench.state().lags.clear();
    let again = bench.resumed("run-2", &record, &Kept1::default());
    assert!(result(&again, "c").is_done(), "{again:?}");
    assert_eq!(bench.port("c"), Some(json!(2)));
}

const STILL_THERE: &str = "its delete was confirmed, but it still exists";

#[test]
fn a_recreate_never_sends_a_confirmed_delete_again_however_long_reads_show_the_object_as_it_was() {
    // Reads lag.
    let bench = recreating();
    bench.state().lags.insert(key("c"), (Lag::Old, 3));
    assert_eq!(words(&bench.run()), ["done"]);
    assert_eq!(writes(&bench), ["REFERRERS c", "DELETE c", "POST c", "LIST list"]);
    assert_eq!(bench.port("c"), Some(json!(2)));
    assert_eq!(bench.waits.lock().expect("unpoisoned").len(), 3);

    // The service says yes, and keeps the object.
    let bench = recreating();
    bench.state().lags.insert(key("c"), (Lag::Old, 1_000));
    let recorder = Kept1::default();
    let outcome = bench.recorded("run-1", &recorder);
    assert_eq!(word(result(&outcome, "c")), "in_doubt");
    assert_eq!(reason(result(&outcome, "c")), format!("{STILL_THERE}: its delete takes time"));
    assert_eq!(writes(&bench)[..2], ["REFERRERS c", "DELETE c"]);
    assert_eq!(bench.log().iter().filter(|line| *line == "DELETE c").count(), 1);
    // A resume sends it once more, and waits in the same way.
    let record = bench.record("run-1", recorder);
    {
        let mut state = bench.state();
        let kept = state.old[&key("c")].clone();
        state.objects.insert(key("c"), kept);
    }
    let recorder = Kept1::default();
    let again = bench.resumed("run-2", &record, &recorder);
    assert_eq!(reason(result(&again, "c")), format!("{STILL_THERE}: its delete takes time"));
    assert_eq!(bench.log().iter().filter(|line| *line == "DELETE c").count(), 2);
    let record = bench.record("run-2", recorder);
    bench.state().lags.clear();
    assert!(result(&bench.resumed("run-3", &record, &Kept1::default()), "c").is_done());
    assert_eq!(bench.port("c"), Some(json!(2)));

    // A person interrupts the delete, or the wait. GET, REFERRERS, DELETE, GET
    for (at, what) in [(2, "deleted, and not created again"), (3, STILL_THERE)] {
        let bench = recreating();
        bench.state().lags.insert(key("c"), (Lag::Old, 1_000));
        bench.state().faults.insert(at, Fault::Interrupt);
        assert_eq!(reason(result(&bench.run(), "c")), format!("{what}: the run was interrupted"));
        assert_eq!(writes(&bench), ["REFERRERS c", "DELETE c"]);
    }
}

#[test]
fn a_read_that_lags_behind_the_delete_of_a_recreate_says_nothing_of_its_create() {
    // GET, REFERRERS, DELETE, GET, POST, GET
    let bench = recreating();
    bench.state().of_writes.insert(key("c"), [None, Some(Fault::CutAfter)].into());
    bench.state().faults.insert(5, Fault::Act);
    bench.state().act = Some(|state| state.lags.extend([(key("c"), (Lag::Old, 2))]));
    assert_eq!(words(&bench.run()), ["done by reading"]);
    assert_eq!(bench.port("c"), Some(json!(2)));
}

#[test]
fn a_recreate_whose_delete_was_not_made_is_resumed_from_its_delete() {
    let bench = recreating();
    {
        // A gateway that has lost its way to the service.
        let mut state = bench.state();
        state.of_writes.insert(key("c"), [Some(Fault::Status(404)); 2].into_iter().collect());
        state.lags.insert(key("c"), (Lag::Gone, 1_000));
    }
    let recorder = Kept1::default();
    let outcome = bench.recorded("run-1", &recorder);
    assert!(reason(result(&outcome, "c")).starts_with("deleted, and not created again: "), "{outcome:?}");
    let record = bench.record("run-1", recorder);
    bench.state().lags.clear();
    let begun = bench.log().len();
    let again = bench.resumed("run-2", &record, &Kept1::default());
    assert!(result(&again, "c").is_done(), "{again:?}");
    assert_eq!(bench.port("c"), Some(json!(2)));
    let writes = bench.log().split_off(begun).into_iter().filter(|line| !line.starts_with("GET"));
    assert_eq!(writes.collect::<Vec<_>>(), ["REFERRERS c", "DELETE c", "POST c", "LIST list"]);
}
