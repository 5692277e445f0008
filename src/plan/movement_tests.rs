use super::*;
use crate::model::{Definition, ListRead, LiveObject, Object, Scope};
use crate::tests::world::{annotated, endpoint, live, shop};

const OLD: &str = "old";
const NEW: &str = "new";

fn desired(endpoints: &[Object]) -> Desired {
    let definition = |endpoint: &Object| {
        let file = "a.yaml".into();
        (
            endpoint.key.clone(),
            Definition {
                endpoint: endpoint.clone(),
                file,
                document: 0,
                overlays: Vec::new(),
                sealed: crate::model::SealedSecrets::default(),
            },
        )
    };
    Desired { definitions: endpoints.iter().map(definition).collect(), files: 1 }
}

fn of(name: &str, stack: &str) -> LiveObject {
    annotated(live(endpoint(name, 80)), &endpoint(name, 80), Some(stack))
}

/// A move of what is `live` by `globs`, with what either stack defines.
fn plan(live: &[LiveObject], globs: &[&str], sides: [Option<&Desired>; 2]) -> Result<Plan, MoveError> {
    plan_beside(live, globs, sides, Vec::new())
}

/// The same with lists that were not read.
fn plan_beside(
    live: &[LiveObject],
    globs: &[&str],
    sides: [Option<&Desired>; 2],
    beside: Vec<(Scope, ListRead)>,
) -> Result<Plan, MoveError> {
    let mut lists: BTreeMap<Scope, BTreeMap<Key, LiveItem>> =
        BTreeMap::from([(Scope::endpoints(shop()), BTreeMap::new())]);
    for live in live {
        let key = &live.endpoint.key;
        lists.entry(key.into()).or_default().insert(key.clone(), LiveItem::Object(live.clone()));
    }
    let lists = lists.into_iter().map(|(scope, items)| (scope, ListRead::Complete { items })).chain(beside).collect();
    let live = Live { lists, requests: 1 };
    let mut selection = Selection::all();
    globs.iter().for_each(|glob| selection.add_only(glob).expect("a glob"));
    let [defined_before, defined_after] = sides;
    let (ignore, strict, selection, live) = (&Ignore::default(), &BTreeSet::new(), &selection, &live);
    let input = MoveInput { from: OLD, to: NEW, defined_before, defined_after, ignore, strict, selection, live };
    hand_over(Plan { stack: Some(NEW.to_owned()), ..Plan::default() }, input)
}

fn names(plan: &Plan) -> Vec<&str> {
    plan.changes.iter().map(|change| change.key.name.as_str()).collect()
}

#[test]
fn only_what_the_old_stack_owns_and_the_new_one_defines_moves_where_nothing_is_named() {
    let objects = [of("a", OLD), of("b", OLD), of("c", "third"), live(endpoint("d", 80)), of("e", NEW)];
    let after = desired(&["a", "c", "d", "e"].map(|name| endpoint(name, 80)));
    let plan = plan(&objects, &[], [None, Some(&after)]).expect("a plan");
    assert_eq!(names(&plan), ["a"]);
    assert!(plan.changes.iter().all(|change| matches!(change.action, Action::Annotate { .. })));
    let left = Note::Left { key: objects[1].endpoint.key.clone(), stack: OLD.to_owned() };
    assert_eq!((plan.in_sync(), plan.left_out, plan.notes.as_slice()), (1, 0, &[left][..]));
    let applied = plan.changes[0].applied_to(&objects[0].endpoint, &crate::model::RunId::new("run-2").expect("an id"));
    let applied = applied.expect("an endpoint");
    let ownership = Ownership::read(&applied.annotations).expect("annotations");
    assert!(
        ownership.fits(&Ownership::wanted(&after.definitions[&applied.key].endpoint, Some(NEW))),
        "nothing is left to write"
    );
}

#[test]
fn every_doubt_about_a_definition_is_noted_and_keeps_the_new_stack_from_a_delete() {
    let objects = [of("a", OLD), of("b", OLD), of("c", OLD)];
    let (before, after) = (desired(&[endpoint("a", 80)]), desired(&[endpoint("a", 81), endpoint("b", 80)]));
    let plan = plan(&objects, &["shop/*"], [Some(&before), Some(&after)]).expect("a plan");
    assert_eq!(names(&plan), ["a", "b", "c"]);
    let noted: Vec<String> = plan.notes.iter().map(|note| format!("{note:?}")).collect();
    assert_eq!(noted.len(), 3, "{noted:?}");
    assert!(matches!(&plan.notes[0], Note::NotDefined { key, .. } if key.name.as_str() == "c"));
    assert!(matches!(&plan.notes[1], Note::StillDefined { key, .. } if key.name.as_str() == "a"));
    assert!(matches!(&plan.notes[2], Note::Differs { key, .. } if key.name.as_str() == "a"));
    let moved_from = |at: usize| {
        let text = plan.changes[at].ownership.as_ref().and_then(|ownership| ownership.applied.clone());
        text.expect("applied").starts_with("3 ")
    };
    assert_eq!([0, 1, 2].map(moved_from), [false, false, true]);
}

#[test]
fn a_list_that_was_not_read_hinders_a_move_only_where_it_may_have_what_moves() {
    let fleets = Scope::try_from("fleet:shop".to_owned()).expect("a scope");
    let after = desired(&[endpoint("a", 80)]);
    let unknown = || ListRead::Unknown { reason: "403".to_owned() };
    for (read, globs, hinders, notes) in [
        (ListRead::NotOffered, &[][..], 0, 1),
        (unknown(), &[][..], 0, 0),
        (unknown(), &["endpoint:shop/a"][..], 0, 0),
        (unknown(), &["fleet:shop/*", "endpoint:shop/a"][..], 1, 0),
    ] {
        let beside = vec![(fleets.clone(), read)];
        let plan = plan_beside(&[of("a", OLD)], globs, [None, Some(&after)], beside).expect("a plan");
        assert_eq!((names(&plan), plan.unknown().count(), plan.notes.len()), (vec!["a"], hinders, notes), "{globs:?}");
    }
}

#[test]
fn a_glob_that_matches_nothing_is_reported() {
    let unmatched = plan(&[of("a", OLD)], &["shop/b*"], [None, None]).expect_err("nothing matches");
    assert_eq!(unmatched, MoveError::Unmatched(UnmatchedFilter::Only("shop/b*".to_owned())));
}

#[test]
fn what_another_object_owns_or_is_being_deleted_stays() {
    let going = LiveObject { deleting: true, ..of("a", OLD) };
    let plan = plan(&[going], &["shop/*"], [None, None]).expect("a plan");
    assert!(plan.changes.is_empty());
    assert!(matches!(plan.blocked[0].reason, BlockReason::Unchangeable(_)));
}

#[test]
fn a_stack_that_owns_nothing_of_what_would_move_is_an_error_and_a_move_that_was_made_is_none() {
    let after = desired(&["a", "b"].map(|name| endpoint(name, 80)));
    let owned = [of("a", "third"), of("b", NEW)];
    let wrong = plan(&owned, &[], [None, Some(&after)]).expect_err("the old stack is nowhere");
    let others = BTreeMap::from([("third".to_owned(), owned[0].endpoint.key.clone())]);
    assert_eq!(wrong, MoveError::OfOthers { from: OLD.to_owned(), others });
    // The old stack is known, and a part was moved before; or all of it was.
    assert_eq!(names(&plan(&owned, &[], [Some(&Desired::default()), Some(&after)]).expect("a plan")), [""; 0]);
    assert_eq!(names(&plan(&owned[1..], &[], [None, Some(&after)]).expect("a plan")), [""; 0]);
    // A part of what is named is of another.
    assert_eq!(names(&plan(&[of("a", "third"), of("b", OLD)], &[], [None, Some(&after)]).expect("a plan")), ["b"]);
    // Nothing is there that could move, and nothing tells that there ever was a stack of this name.
    plan(&[live(endpoint("a", 80))], &[], [None, Some(&after)]).expect_err("the old stack is nowhere");
}

#[test]
fn what_a_filter_leaves_out_of_the_old_stack_is_counted() {
    let left_out =
        |stack: &str| plan(&[of("a", OLD), of("b", stack)], &["shop/a"], [None, None]).expect("a plan").left_out;
    assert_eq!([OLD, NEW, "third"].map(left_out), [1, 0, 0]);
}

#[test]
fn each_list_counts_what_the_new_stack_has_of_it() {
    let of_namespace = |namespace: &str| {
        let mut endpoint = endpoint("a", 80);
        endpoint.key.namespace = crate::model::Namespace::parse(namespace).expect("a namespace");
        annotated(live(endpoint.clone()), &endpoint, Some(NEW))
    };
    let objects = ["pay", "shop"].map(of_namespace);
    let after = desired(&objects.clone().map(|object| object.endpoint));
    let plan = plan(&objects, &[], [Some(&Desired::default()), Some(&after)]).expect("a plan");
    assert_eq!(plan.scope.values().map(|scope| scope.in_sync).collect::<Vec<_>>(), [1, 1]);
    assert_eq!(plan.source.requests, 1);
}
