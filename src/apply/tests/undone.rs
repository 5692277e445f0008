//! A rollback right after a run, however that was interrupted and however often it was resumed: nothing of it is blocked,
//! and everything is as before.

use proptest::prelude::*;

use super::*;
use crate::plan::{Action, BlockReason, RollbackInput, Unchangeable};

/// What a run does with an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Made {
    /// It creates one that is not there, and changes nothing of one that is.
    Least,
    Replace,
    Recreate,
    Delete,
}

/// What goes wrong in one run.
#[derive(Debug, Clone, Copy)]
enum Trouble {
    /// At the request with this number.
    At(usize, Fault),
    /// At every write of the object with this number.
    Of(usize, Fault),
}

/// The objects of the bench: the first two are not there yet.
const NAMES: [&str; 6] = ["a", "b", "c", "d", "e", "f"];

fn made() -> impl Strategy<Value = Made> {
    prop_oneof![Just(Made::Least), Just(Made::Replace), Just(Made::Recreate), Just(Made::Delete)]
}

fn trouble() -> impl Strategy<Value = Trouble> {
    let fault = prop::sample::select(vec![
        Fault::CutBefore,
        Fault::CutAfter,
        Fault::Status(403),
        Fault::Status(500),
        Fault::StatusAfter(429),
        Fault::StatusAfter(500),
        Fault::Twice,
        Fault::Interrupt,
        Fault::KillBefore,
        Fault::KillAfter,
    ]);
    prop_oneof![
        (0..24usize, fault.clone()).prop_map(|(at, fault)| Trouble::At(at, fault)),
        (0..NAMES.len(), fault).prop_map(|(of, fault)| Trouble::Of(of, fault)),
    ]
}

/// A bench whose plan does this with its objects; a recreate is what a person allowed of a replace.
fn bench(makes: &[Made]) -> Bench {
    let mut bench = Bench::new();
    let makes: BTreeMap<&str, Made> = NAMES.into_iter().zip(makes.iter().copied()).collect();
    let is_there = |name: &str| bench.port(name).is_some();
    let port = |name: &str| u16::from(is_there(name) && makes[name] != Made::Least) + 1;
    let wanted = NAMES.into_iter().filter(|name| makes[name] != Made::Delete);
    let wanted: Vec<(&str, u16)> = wanted.map(|name| (name, port(name))).collect();
    let mut plan = plan(&bench.state(), &wanted);
    for change in &mut plan.changes {
        if let (Action::Replace { fields, before, .. }, Made::Recreate) =
            (&change.action, makes[change.key.name.as_str()])
        {
            change.action = Action::Recreate { fields: fields.clone(), before: before.clone() };
        }
    }
    plan.changes.sort_by(|a, b| (a.action.kind().phase(), &a.key).cmp(&(b.action.kind().phase(), &b.key)));
    bench.plan = plan;
    bench
}

/// Makes the run, or resumes the earlier one, with this trouble, and returns what the journals have of it then.
fn run(bench: &Bench, number: usize, earlier: Option<RunRecord>, trouble: Option<Trouble>) -> RunRecord {
    {
        let mut state = bench.state();
        state.log.clear();
        state.killed = false;
        (state.faults, state.of_writes) = Default::default();
        match trouble {
            Some(Trouble::At(at, fault)) => drop(state.faults.insert(at, fault)),
            Some(Trouble::Of(of, fault)) => {
                drop(state.of_writes.insert(key(NAMES[of]), std::iter::repeat_n(Some(fault), 20).collect()));
            }
            None => {}
        }
    }
    bench.fake.stop.send_replace(false);
    let (name, recorder) = (format!("run-{number}"), Kept1::default());
    match &earlier {
        None => bench.recorded(&name, &recorder),
        Some(record) => bench.resumed(&name, record, &recorder),
    };
    let mut record = bench.record(&name, recorder);
    if bench.state().killed {
        // What the dead process had not written by the fault is not in its journal.
        let is_dead = |kept: &RunEntry| matches!(kept, RunEntry::Outcome(step) if !step.result.is_done());
        let dead = record.entries.iter().position(is_dead);
        record.entries.truncate(dead.unwrap_or(record.entries.len()));
    }
    bench.state().killed = false;
    bench.fake.stop.send_replace(false);
    let entries = earlier.into_iter().flat_map(|earlier| earlier.entries).chain(record.entries).collect();
    RunRecord { entries, ..record }
}

fn undo(bench: &Bench, record: &RunRecord) -> Plan {
    let namespace = key("x").namespace;
    let read = ListRead::Complete { items: items(&bench.state(), &namespace) };
    let undone = record.undone();
    plan::rollback(RollbackInput {
        undone: &undone,
        live: &Live { lists: [(Scope::endpoints(namespace), read)].into(), requests: 1 },
        definitions: &[],
        only: &|_| true,
        ignore: &Ignore::default(),
        allow: &Allowances::default(),
    })
}

/// What a rollback of the bench's run plans for one object that this became of, or why it plans nothing.
fn undone(name: &str, prepare: impl FnOnce(&mut Bench), act: impl FnOnce(&mut State)) -> String {
    let mut bench = Bench::new();
    prepare(&mut bench);
    let recorder = Kept1::default();
    assert_eq!(words(&bench.recorded("run-1", &recorder)), ["done"; 6]);
    act(&mut bench.state());
    let plan = undo(&bench, &bench.record("run-1", recorder));
    let blocked = plan.blocked.iter().find(|blocked| blocked.key == key(name)).map(|blocked| match &blocked.reason {
        BlockReason::Unchangeable(Unchangeable::Unsupported { .. }) => "unsupported",
        BlockReason::Unchangeable(Unchangeable::OwnerView(_)) => "owned",
        BlockReason::Unchangeable(Unchangeable::Deleting) => "deleting",
        BlockReason::Unchangeable(Unchangeable::UnknownOption { .. }) => "unknown option",
        BlockReason::Protected => "protected",
        reason => panic!("{reason:?}"),
    });
    let planned = plan.changes.iter().find(|change| change.key == key(name)).map(|change| match change.action.kind() {
        ActionKind::Delete => "delete",
        ActionKind::Create => "create",
        _ => "replace",
    });
    assert!(blocked.is_none() || planned.is_none(), "{name}: {blocked:?} and {planned:?}");
    blocked.or(planned).unwrap_or("nothing").to_owned()
}

#[test]
fn a_rollback_leaves_what_cannot_be_changed_or_is_protected() {
    let unknown: Shown = ("/spec/snat_pool", r#"{"future": {}}"#);
    let cases = [
        ("a", [(UNSUPPORTED, "unsupported"), (OWNED, "owned"), (DELETING, "nothing"), (unknown, "delete")]),
        ("c", [(UNSUPPORTED, "unsupported"), (OWNED, "owned"), (DELETING, "deleting"), (unknown, "unknown option")]),
        // It is still there as it was: its delete takes time, or another client created it again.
        ("e", [(UNSUPPORTED, "unsupported"), (OWNED, "nothing"), (DELETING, "deleting"), (unknown, "nothing")]),
    ];
    for (name, of_name) in cases {
        for (shown, expected) in of_name {
            let act = |state: &mut State| {
                let was = state.old.get(&key(name)).cloned();
                let object = state.objects.get(&key(name)).cloned().or(was).expect("it is or was there");
                state.objects.insert(key(name), object.shown(shown));
            };
            assert_eq!(undone(name, |_| {}, act), expected, "{name} {shown:?}");
        }
    }
    let protect = |bench: &mut Bench| {
        let change = bench.plan.changes.iter_mut().find(|change| change.key == key("a")).expect("a change");
        let Action::Create { wanted } = &mut change.action else { panic!("a create") };
        wanted.annotations.insert("trueup/protect".to_owned(), "true".to_owned());
    };
    assert_eq!(undone("a", protect, |_| {}), "protected");
}

/// What a rollback brings back of each object.
fn content(bench: &Bench) -> BTreeMap<Key, Json> {
    bench.state().objects.iter().map(|(key, object)| (key.clone(), object.raw.clone())).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, cases: 128, ..ProptestConfig::default() })]

    #[test]
    fn a_rollback_after_any_interruptions_and_resumes_blocks_nothing_and_restores_all(
        makes in prop::collection::vec(made(), NAMES.len()),
        troubles in prop::collection::vec(trouble(), 0..4),
        is_finished in any::<bool>(),
    ) {
        let mut bench = bench(&makes);
        let before = content(&bench);
        let last = (is_finished || troubles.is_empty()).then_some(None);
        let mut record: Option<RunRecord> = None;
        for (number, trouble) in troubles.into_iter().map(Some).chain(last).enumerate() {
            record = Some(run(&bench, number + 1, record, trouble));
        }
        let record = record.expect("a run");
        let undo = undo(&bench, &record);
        prop_assert!(undo.blocked.is_empty(), "{:#?}", undo.blocked);
        bench.state().faults.clear();
        bench.state().of_writes.clear();
        bench.plan = undo;
        let outcome = bench.run_as("run-back");
        prop_assert!(outcome.steps.iter().all(|step| step.result.is_done()), "{:?}", outcome.steps);
        prop_assert_eq!(content(&bench), before);
    }
}

#[test]
fn a_rollback_deletes_what_a_recreate_only_created() {
    let bench = bench(&[Made::Least, Made::Least, Made::Recreate, Made::Least, Made::Least, Made::Least]);
    bench.state().objects.remove(&key("c"));
    let record = run(&bench, 1, None, None);
    let (port, created) = (bench.port("c"), undo(&bench, &record));
    assert_eq!(port, Some(json!(2)));
    assert!(created.deletes().any(|deleted| *deleted == key("c")), "{:?} {:?}", created.changes, created.blocked);
    // Unless another client has changed it since.
    bench.state().objects.get_mut(&key("c")).expect("it is there").raw["spec"]["port"] = json!(3);
    let changed = undo(&bench, &record);
    assert!(changed.blocked.iter().any(|blocked| blocked.key == key("c")), "{:?}", changed.changes);
}

#[test]
fn a_create_that_is_refused_after_its_delete_was_settled_by_reading_is_not_in_doubt() {
    for first in [Fault::CutAfter, Fault::StatusAfter(429), Fault::Twice] {
        let bench = bench(&[Made::Least, Made::Least, Made::Recreate, Made::Least, Made::Least, Made::Least]);
        let writes = [Some(first), Some(Fault::Status(400))];
        bench.state().of_writes.insert(key("c"), writes.into());
        let outcome = bench.run();
        let ChangeResult::InDoubt { reason } = result(&outcome, "c") else { panic!("{:?}", result(&outcome, "c")) };
        assert!(reason.starts_with("deleted, and not created again: cannot create endpoint: the service answered 400"));
        assert_eq!(bench.port("c"), None);
    }
}
