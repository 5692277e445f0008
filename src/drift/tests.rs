//! The verdict over each state that a plan can find an endpoint in.

use serde_json::json;

use super::{MissingCause, UnmanagedPolicy, Verdict};
use crate::model::{Json, ListRead, LiveItem, LiveObject, RelatedObject, Scope};
use crate::plan::{Action, Allowances, Approval, ApprovalError, Note, Prune, Selection};
use crate::tests::world::{STACK, World, annotated, endpoint, live, object, shop};

impl World {
    fn verdict(&self) -> Verdict {
        self.plan().verdicts(UnmanagedPolicy::Note).whole()
    }
}

fn nothing() -> Vec<String> {
    Vec::new()
}

#[test]
fn a_definition_without_a_live_object_is_created() {
    let world = World::new().defined(endpoint("a", 1));
    assert_eq!(world.lines(), ["create a"]);
    assert_eq!(world.verdict(), Verdict::Pending);
}

#[test]
fn a_missing_object_that_was_applied_before_is_drift() {
    let mut plan = World::new().defined(endpoint("a", 1)).plan();
    plan.judge_missing(|_| MissingCause::Deleted { commit: None });
    assert_eq!(plan.verdicts(UnmanagedPolicy::Note).whole(), Verdict::Drift);
    plan.judge_missing(|_| MissingCause::Unknown("no git".to_owned()));
    assert_eq!(plan.verdicts(UnmanagedPolicy::Note).whole(), Verdict::Pending);
    assert!(plan.notes.iter().any(|note| matches!(note, Note::DeletesUnknown { .. })));
}

#[test]
fn an_object_of_ours_that_differs_is_replaced_with_the_cause_of_each_field() {
    let applied = endpoint("a", 1);
    let cases = [
        (1, 2, "replace a spec.port=pending", Verdict::Pending),
        (2, 1, "replace a spec.port=drift", Verdict::Drift),
        (2, 3, "replace a spec.port=both", Verdict::Both),
    ];
    for (now, wanted, line, verdict) in cases {
        let world = World::new().defined(endpoint("a", wanted)).live(annotated(
            live(endpoint("a", now)),
            &applied,
            Some(STACK),
        ));
        assert_eq!(world.lines(), [line]);
        assert_eq!(world.verdict(), verdict);
    }
}

#[test]
fn an_object_of_ours_in_sync_with_its_mark_needs_nothing() {
    let object = annotated(live(endpoint("a", 1)), &endpoint("a", 1), Some(STACK));
    let world = World::new().defined(endpoint("a", 1)).live(object);
    assert_eq!(world.lines(), nothing());
    assert_eq!(world.plan().in_sync(), 1);
    assert_eq!(world.verdict(), Verdict::InSync);
}

#[test]
fn an_object_in_sync_with_an_old_mark_gets_a_mark_and_is_in_sync() {
    let object = annotated(live(endpoint("a", 1)), &endpoint("a", 2), Some(STACK));
    let world = World::new().defined(endpoint("a", 1)).live(object);
    assert_eq!(world.lines(), ["annotate a"]);
    assert!(!world.plan().is_pending());
    assert_eq!(world.verdict(), Verdict::InSync);
}

#[test]
fn an_unmarked_equal_object_is_in_sync_and_noted_and_marked_when_adopted() {
    let world = World::new().defined(endpoint("a", 1)).live(live(endpoint("a", 1)));
    assert_eq!(world.lines(), ["unannotated a"]);
    assert_eq!(world.verdict(), Verdict::InSync);
    assert_eq!(world.with(|world| world.settings.adopt = true).lines(), ["annotate a"]);
}

#[test]
fn an_unmarked_object_that_differs_is_adopted_by_a_replace_and_is_drift() {
    let world = World::new().defined(endpoint("a", 2)).live(live(endpoint("a", 1)));
    assert_eq!(world.lines(), ["replace a spec.port=unannotated"]);
    assert!(matches!(world.plan().changes[0].action, Action::Replace { adopts: true, .. }));
    assert_eq!(world.verdict(), Verdict::Drift);
}

#[test]
fn an_unmarked_object_without_a_definition_is_noted_and_deleted_only_when_all_is_pruned() {
    let world = World::new().live(live(endpoint("a", 1)));
    assert_eq!(world.lines(), ["unmanaged a"]);
    assert_eq!(world.plan().verdicts(UnmanagedPolicy::Note).whole(), Verdict::InSync);
    assert_eq!(world.plan().verdicts(UnmanagedPolicy::Fail).whole(), Verdict::Drift);
    assert_eq!(world.with(|world| world.settings.safeguards.prune = Prune::All).lines(), ["delete a"]);
}

#[test]
fn an_object_of_another_object_is_blocked_and_never_in_sync() {
    let owned = || LiveObject {
        owner_view: Some(RelatedObject {
            kind: "origin_pool".to_owned(),
            namespace: "shop".to_owned(),
            name: "web".to_owned(),
            uid: String::new(),
        }),
        ..live(endpoint("a", 1))
    };
    let world = World::new().defined(endpoint("a", 1)).live(owned());
    assert_eq!(world.lines(), ["blocked a OwnerView"]);
    assert_eq!(world.verdict(), Verdict::Pending);
    let undefined = World::new().live(owned()).with(|world| world.settings.safeguards.prune = Prune::All);
    assert_eq!(undefined.lines(), ["owned a"]);
}

#[test]
fn nothing_is_concluded_from_an_unknown_read() {
    let world = World::new().defined(endpoint("a", 1)).with(|world| {
        world.reads.insert(Scope::endpoints(shop()), ListRead::Unknown { reason: "EPARTIAL".to_owned() });
    });
    assert_eq!(world.lines(), nothing());
    assert_eq!(world.verdict(), Verdict::Unknown);
    let plan = world.plan();
    let refused = plan.approve(Approval::Given, &Allowances::default());
    assert!(matches!(refused, Err(ApprovalError::Unknown(_))));
}

#[test]
fn an_object_with_more_than_its_definition_names_is_drift_and_not_counted_as_in_sync() {
    let of = |name: &str, spec: Json| object(&format!("healthcheck:shop/{name}"), &spec);
    let more = || json!({"timeout": 3, "http_health_check": {"path": "/", "expected_status_codes": ["200"], "headers": {"a": "b"}}});
    let named = || json!({"timeout": 3, "http_health_check": {"path": "/"}});
    let world = World::new()
        .live(annotated(live(of("more", more())), &of("more", named()), Some(STACK)))
        .defined(of("more", named()))
        .live(annotated(live(of("same", named())), &of("same", named()), Some(STACK)))
        .defined(of("same", named()))
        // In sync but for its annotations.
        .live(annotated(live(of("old", more())), &of("old", json!({"timeout": 4})), Some(STACK)))
        .defined(of("old", named()))
        .live(annotated(live(of("older", more())), &of("older", json!({"timeout": 4})), Some(STACK)))
        .defined(of("older", named()))
        .live(annotated(live(of("differs", more())), &of("differs", named()), Some(STACK)))
        .defined(of("differs", json!({"timeout": 4, "http_health_check": {"path": "/"}})));
    let verdicts = world.plan().verdicts(UnmanagedPolicy::Note);
    let objects: Vec<_> = verdicts
        .objects
        .iter()
        .map(|(key, object)| {
            format!(
                "{} {} {}",
                key.name,
                object.verdict,
                object.drifted.iter().map(ToString::to_string).collect::<Vec<_>>().join(",")
            )
        })
        .collect();
    let unit = "spec.health_check";
    assert_eq!(
        objects,
        [
            format!("differs both {unit}"),
            format!("more drift {unit}"),
            format!("old drift {unit}"),
            format!("older drift {unit}")
        ]
    );
    assert_eq!(verdicts.in_sync, 1);
}

#[test]
fn what_the_stack_owns_outside_of_the_plan_is_noted_as_far_as_the_filters_leave_it_in() {
    let namespace = crate::model::Namespace::parse("pay").expect("a namespace");
    let in_pay = |name: &str| {
        let mut endpoint = endpoint(name, 1);
        endpoint.key.namespace = namespace.clone();
        endpoint
    };
    let of = |name: &str, stack| annotated(live(in_pay(name)), &in_pay(name), Some(stack));
    let view = RelatedObject {
        kind: "origin_pool".to_owned(),
        namespace: "pay".to_owned(),
        name: "web".to_owned(),
        uid: String::new(),
    };
    let objects = [
        of("a", STACK),
        of("b", STACK),
        of("theirs", "other"),
        LiveObject { deleting: true, ..of("going", STACK) },
        LiveObject { owner_view: Some(view), ..of("viewed", STACK) },
        live(in_pay("nobodys")),
    ];
    let scope = Scope::endpoints(namespace.clone());
    let items = objects.into_iter().map(|live| (live.endpoint.key.clone(), LiveItem::Object(live))).collect();
    let read = ListRead::Complete { items };
    let noted = |only: &str| {
        let mut plan = World::new().plan();
        let mut selection = Selection::all();
        selection.add_only(only).expect("a glob");
        plan.note_outside(&scope, &read, &selection, true);
        plan.notes
    };
    let outside = |name: &str| Note::Outside { key: in_pay(name).key, transfer: None, unknown: None };
    assert_eq!(noted("*"), [outside("a"), outside("b")]);
    assert_eq!(noted("pay/b"), [outside("b")]);
    assert_eq!(noted("shop/*"), []);
}
