//! Every row of the ownership table, every cause, every guard, and what the digest covers.

use std::collections::BTreeSet;

use super::world::{STACK, World, annotated, endpoint, live, shop};
use super::*;
use crate::model::policy::IgnoreRule;
use crate::model::{
    DocumentError, ListRead, LiveItem, LiveObject, Object, Ownership, RelatedObject, Scope, UnknownField,
    UnsupportedItem,
};

fn nothing() -> Vec<String> {
    Vec::new()
}

#[test]
fn an_equal_object_of_another_stack_is_noted() {
    let object = annotated(live(endpoint("a", 1)), &endpoint("a", 1), Some("other"));
    let world = World::new().defined(endpoint("a", 1)).live(object);
    assert_eq!(world.lines(), ["equal a of other"]);
}

#[test]
fn an_object_of_another_stack_that_differs_is_blocked_until_it_is_allowed_by_name() {
    let object = annotated(live(endpoint("a", 1)), &endpoint("a", 1), Some("other"));
    let world = World::new().defined(endpoint("a", 2)).live(object).defined(endpoint("b", 1));
    assert_eq!(world.lines(), ["create b", "blocked a foreign-stack other"]);
    let world = world.with(|world| world.allow.add("foreign-stack=shop/a").expect("an allowance"));
    assert_eq!(world.lines(), ["create b", "replace a spec.port=pending"]);
}

#[test]
fn an_object_of_ours_without_a_definition_is_deleted_unless_nothing_is_pruned() {
    let object = annotated(live(endpoint("a", 1)), &endpoint("a", 1), Some(STACK));
    let world = World::new().live(object);
    assert_eq!(world.lines(), ["delete a"]);
    let all = world.with(|world| world.settings.safeguards.prune = Prune::All);
    assert_eq!(all.lines(), ["delete a"]);
    assert_eq!(all.with(|world| world.settings.safeguards.prune = Prune::None).lines(), ["orphan a"]);
}

#[test]
fn nothing_is_deleted_in_a_namespace_that_is_not_listed_or_without_a_stack() {
    let object = annotated(live(endpoint("a", 1)), &endpoint("a", 1), Some(STACK));
    let unlisted = World::new().live(object).with(|world| world.namespaces = Some(BTreeSet::new()));
    assert_eq!(unlisted.lines(), ["orphan a"]);
    let object = annotated(live(endpoint("a", 1)), &endpoint("a", 1), None);
    let no_stack = World::new().live(object).with(|world| world.stack = None);
    assert_eq!(no_stack.lines(), ["orphan a"]);
}

#[test]
fn an_object_of_another_stack_without_a_definition_is_nobodys_business_under_any_prune() {
    for prune in [Prune::Owned, Prune::All, Prune::None] {
        let object = annotated(live(endpoint("a", 1)), &endpoint("a", 1), Some("other"));
        let world = World::new().live(object).with(|world| world.settings.safeguards.prune = prune);
        assert_eq!(world.lines(), nothing());
    }
}

#[test]
fn a_protected_object_is_not_deleted_and_the_rest_proceeds() {
    let protect = |mut object: LiveObject| {
        object.endpoint.annotations.insert("trueup/protect".to_owned(), "true".to_owned());
        object
    };
    let a = protect(annotated(live(endpoint("a", 1)), &endpoint("a", 1), Some(STACK)));
    let b = annotated(live(endpoint("b", 1)), &endpoint("b", 1), Some(STACK));
    let world = World::new().live(a).live(b);
    assert_eq!(world.lines(), ["delete b", "blocked a protected"]);
    let world = world.with(|world| world.allow.add("protected=shop/a").expect("an allowance"));
    assert_eq!(world.lines(), ["delete a", "delete b"]);
}

#[test]
fn an_object_that_others_refer_to_is_blocked_and_so_is_one_of_which_that_is_unknown() {
    let ours = |name| annotated(live(endpoint(name, 1)), &endpoint(name, 1), Some(STACK));
    let world = World::new().live(ours("a")).live(ours("b")).live(ours("c"));
    let mut plan = world.plan();
    let cluster = RelatedObject {
        kind: "cluster".to_owned(),
        namespace: "shop".to_owned(),
        name: "x".to_owned(),
        uid: String::new(),
    };
    plan.refer(&Allowances::default(), |key| match key.name.as_str() {
        "a" => Ok(vec![cluster.clone()]),
        "b" => Err("the answer was lost".to_owned()),
        _ => Ok(Vec::new()),
    });
    assert_eq!(plan.deletes().map(ToString::to_string).collect::<Vec<_>>(), ["shop/c"]);
    assert_eq!(plan.blocked[0].reason, BlockReason::Referred { by: vec![cluster] });
    assert!(matches!(plan.blocked[1].reason, BlockReason::Unchangeable(Unchangeable::ReferrersUnknown { .. })));
}

#[test]
fn an_object_that_is_being_deleted_is_blocked_and_not_deleted_again() {
    let going = || LiveObject { deleting: true, ..annotated(live(endpoint("a", 1)), &endpoint("a", 1), Some(STACK)) };
    assert_eq!(World::new().defined(endpoint("a", 1)).live(going()).lines(), ["blocked a Deleting"]);
    assert_eq!(World::new().live(going()).lines(), nothing());
}

#[test]
fn an_item_that_the_model_cannot_hold_is_never_changed() {
    let unsupported = || {
        LiveItem::Unsupported(UnsupportedItem {
            key: endpoint("a", 1).key,
            uid: "u".to_owned(),
            reason: "no target".to_owned(),
            raw: crate::model::Json::Null,
        })
    };
    assert_eq!(World::new().defined(endpoint("a", 1)).item(unsupported()).lines(), ["blocked a Unsupported"]);
    let world = World::new().item(unsupported()).with(|world| world.settings.safeguards.prune = Prune::All);
    assert_eq!(world.lines(), ["unsupported a"]);
}

#[test]
fn an_unknown_field_is_noted_and_blocks_only_where_it_may_be_the_chosen_option() {
    let with = |blocks| LiveObject {
        unknown: vec![UnknownField { path: "spec.new".to_owned(), blocks }],
        ..annotated(live(endpoint("a", 1)), &endpoint("a", 1), Some(STACK))
    };
    let world = |blocks, port| World::new().defined(endpoint("a", port)).live(with(blocks)).lines();
    assert_eq!(world(false, 2), ["replace a spec.port=pending", "unknown field spec.new"]);
    assert_eq!(world(true, 2), ["blocked a UnknownOption"]);
    assert_eq!(world(true, 1), nothing());
}

#[test]
fn an_unknown_field_goes_only_with_the_option_that_contains_it() {
    let advanced = |spec: &str| -> Object {
        let text = format!(r#"{{"metadata":{{"name":"a","namespace":"shop"}},"spec":{spec}}}"#);
        serde_json::from_str(&text).expect("an endpoint")
    };
    let before = advanced(r#"{"dns_name_advanced":{"name":"a.b"},"snat_pool":{"snat_pool":{"prefixes":[]}}}"#);
    let describe = |wanted: &str, path: &str| {
        let object = LiveObject {
            unknown: vec![UnknownField { path: path.to_owned(), blocks: false }],
            ..annotated(live(before.clone()), &before, Some(STACK))
        };
        World::new().defined(advanced(wanted)).live(object).lines().pop()
    };
    let name = r#"{"dns_name_advanced":{"name":"c.d"},"snat_pool":{"snat_pool":{"prefixes":[]}}}"#;
    let ip = r#"{"ip":"10.0.0.1"}"#;
    for (wanted, path, expected) in [
        (name, "spec.dns_name_advanced.new", "unknown"),
        (ip, "spec.dns_name_advanced.new", "dropped"),
        (name, "spec.snat_pool.snat_pool.new", "unknown"),
        (ip, "spec.snat_pool.snat_pool.new", "dropped"),
        (ip, "spec.snat_pool.new", "unknown"),
        (ip, "spec.new.dotted", "unknown"),
    ] {
        assert_eq!(describe(wanted, path), Some(format!("{expected} field {path}")));
    }
}

#[test]
fn an_ignored_field_is_not_planned() {
    let rule = IgnoreRule { object: "shop/*".to_owned(), field: crate::model::Field::of_unit("port") };
    let ignore = Ignore::new([&rule]).expect("a rule");
    let object = annotated(live(endpoint("a", 1)), &endpoint("a", 2), Some(STACK));
    let world = World::new().defined(endpoint("a", 2)).live(object).with(|world| world.ignore = ignore.clone());
    assert_eq!(world.lines(), nothing());
}

fn crowd(live_count: usize, replaced: usize, deleted: usize) -> World {
    let mut world = World::new();
    for at in 0..live_count {
        let name = format!("e{at:03}");
        let applied = endpoint(&name, 1);
        world = world.live(annotated(live(applied.clone()), &applied, Some(STACK)));
        if at >= deleted {
            world = world.defined(endpoint(&name, if at < deleted + replaced { 2 } else { 1 }));
        }
    }
    world
}

fn guards(world: &World) -> Vec<String> {
    world.plan().guards.iter().map(ToString::to_string).collect()
}

#[test]
fn too_large_a_share_stands_as_a_guard_with_its_numbers() {
    assert_eq!(guards(&crowd(40, 12, 0)), nothing());
    let rendered = ["the plan would delete or replace 18 of 40 endpoints of `shop` (45 %, allowed 30 %)"];
    assert_eq!(guards(&crowd(40, 12, 6)), rendered);
    assert_eq!(guards(&crowd(9, 5, 3)), nothing());
}

#[test]
fn emptying_a_namespace_stands_as_a_guard_at_any_size() {
    assert_eq!(guards(&crowd(1, 0, 1)), ["the plan would delete every owned endpoint of `shop` (1)"]);
}

#[test]
fn a_guard_is_allowed_by_its_own_name_only() {
    let plan = crowd(40, 0, 40).plan();
    let approve = |names: &[&str]| {
        let mut allow = Allowances::default();
        for name in names {
            allow.add(name).expect("an allowance");
        }
        plan.approve(Approval::Given, &allow).is_ok()
    };
    assert!(!approve(&[]));
    assert!(!approve(&["mass-change"]));
    assert!(!approve(&["empty-namespace"]));
    assert!(approve(&["mass-change", "empty-namespace"]));
}

#[test]
fn filters_choose_among_the_changes_and_never_make_one() {
    let whole = || {
        let gone = annotated(live(endpoint("gone", 1)), &endpoint("gone", 1), Some(STACK));
        World::new().defined(endpoint("a", 1)).defined(endpoint("b", 1)).live(gone)
    };
    let describe = |choose: &dyn Fn(&mut Selection)| whole().with(|world| choose(&mut world.selection)).lines();
    assert_eq!(describe(&|_| {}), ["create a", "create b", "delete gone"]);
    assert_eq!(describe(&|selection| selection.add_path("a.yaml")), ["create a"]);
    assert_eq!(describe(&|selection| selection.add_path("nowhere")), nothing());
    assert_eq!(describe(&|selection| selection.add_only("shop/g*").expect("a glob")), ["delete gone"]);
    assert_eq!(describe(&|selection| selection.add_except("shop/?").expect("a glob")), ["delete gone"]);
    assert_eq!(describe(&|selection| selection.add_namespace(Namespace::parse("pay").expect("a name"))), nothing());
    assert_eq!(describe(&|selection| selection.set_selector("tier=web").expect("a selector")), nothing());
}

#[test]
fn a_selector_finds_an_object_by_its_desired_label_when_its_live_label_was_changed() {
    let label = |mut endpoint: Object, tier: &str| {
        endpoint.labels.insert("tier".to_owned(), tier.to_owned());
        endpoint
    };
    let world = World::new()
        .defined(label(endpoint("a", 1), "web"))
        .live(annotated(live(label(endpoint("a", 1), "hidden")), &label(endpoint("a", 1), "web"), Some(STACK)))
        .with(|world| world.selection.set_selector("tier=web").expect("a selector"));
    assert_eq!(world.lines(), ["replace a labels.tier=drift"]);
}

#[test]
fn an_unknown_read_outside_the_selection_does_not_refuse_an_apply() {
    let pay = Namespace::parse("pay").expect("a name");
    let world = World::new().defined(endpoint("a", 1)).with(|world| {
        world.reads.insert(Scope::endpoints(pay), ListRead::Unknown { reason: "EPARTIAL".to_owned() });
    });
    assert!(world.plan().approve(Approval::Given, &Allowances::default()).is_err());
    let narrowed = world.with(|world| world.selection.add_namespace(shop()));
    assert!(narrowed.plan().approve(Approval::Given, &Allowances::default()).is_ok());
}

#[test]
fn the_digest_covers_what_is_done_and_not_how_it_is_reported() {
    let world = || {
        World::new().defined(endpoint("a", 2)).live(annotated(live(endpoint("a", 1)), &endpoint("a", 1), Some(STACK)))
    };
    let digest = world().plan().digest();
    let mut rendered = world().plan();
    rendered.source.commit = Some("3f2c9ab".to_owned());
    rendered.tool_version = "other".to_owned();
    rendered.locate(|| {
        |_: &_, _: Option<&_>| ChangePlaces {
            whole: Some(crate::model::SourceLocation { file: "f".to_owned(), line: 1, column: 1 }),
            ..ChangePlaces::default()
        }
    });
    assert_eq!(rendered.digest(), digest);
    let mut other = world().plan();
    other.service.base_url.push('x');
    assert_ne!(other.digest(), digest);
    let wanted = world().defined(endpoint("a", 3)).plan();
    assert_ne!(wanted.digest(), digest);
    let guards = world().with(|world| world.settings.safeguards.guards.percent = 31).plan();
    assert_ne!(guards.digest(), digest);
    let later_run = {
        let mut object = live(endpoint("a", 1));
        let annotations = Ownership::of(&endpoint("a", 1), Some(STACK), "run-2").annotations();
        object.endpoint.annotations.extend(annotations.into_iter().map(|(key, value)| (key.to_owned(), value)));
        World::new().defined(endpoint("a", 2)).live(object).plan()
    };
    assert_eq!(later_run.digest(), digest);
}

#[test]
fn a_plan_is_approved_by_its_digest_or_refused_with_both() {
    let plan = World::new().defined(endpoint("a", 2)).plan();
    let digest = plan.digest();
    let approve = |given: &str| plan.approve(Approval::Digest(given), &Allowances::default()).map(|_| ());
    assert_eq!(approve(digest.short()), Ok(()));
    assert_eq!(approve(digest.full()), Ok(()));
    assert!(matches!(approve(&digest.full()[..31]), Err(ApprovalError::NoDigest { .. })));
    assert!(matches!(approve("00000000000000000000000000000000"), Err(ApprovalError::OtherDigest { .. })));
}

#[test]
fn a_saved_plan_is_the_same_plan_and_an_altered_one_is_refused() {
    let plan = World::new().defined(endpoint("a", 2)).plan();
    let file = plan.to_file();
    assert!(Plan::is_file(file.as_bytes()));
    let read = Plan::from_file(file.as_bytes()).expect("a plan");
    assert_eq!(read.to_file(), file);
    let altered = file.replace("\"port\": 2", "\"port\": 3");
    assert!(matches!(Plan::from_file(altered.as_bytes()), Err(SavedError::Document(DocumentError::Altered { .. }))));
    let newer = file.replace("\"format_version\": 1", "\"format_version\": 2");
    assert!(matches!(
        Plan::from_file(newer.as_bytes()),
        Err(SavedError::Document(DocumentError::Version { found: 2, .. }))
    ));
    assert!(matches!(Plan::from_file(b"{}"), Err(SavedError::Document(DocumentError::Other { .. }))));
}
