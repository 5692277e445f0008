//! Every row of the ownership table, every cause, every guard, and what the digest covers.

use std::collections::BTreeSet;

use super::*;
use crate::model::growth_tests::assert_at_most_linear;
use crate::model::policy::{IgnoreRule, Safeguards};
use crate::model::{
    DocumentError, Field, ListRead, LiveItem, LiveObject, Object, Ownership, RelatedObject, Scope, UnknownField,
    UnsupportedItem,
};
use crate::tests::world::{STACK, World, annotated, endpoint, live, shop};

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
    let unlisted = World::new().live(object).with(|world| world.namespaces = BTreeSet::new());
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
            reason: "no target".to_owned(),
            raw: crate::model::Json::Null,
        })
    };
    assert_eq!(World::new().defined(endpoint("a", 1)).item(unsupported()).lines(), ["blocked a Unsupported"]);
    let world = World::new().item(unsupported()).with(|world| world.settings.safeguards.prune = Prune::All);
    assert_eq!(world.lines(), ["unsupported a"]);
}

#[test]
fn an_item_of_a_view_that_the_model_cannot_hold_belongs_to_that() {
    let item = |raw: crate::model::Json| {
        let reason = "no target".to_owned();
        World::new().item(LiveItem::Unsupported(UnsupportedItem { key: endpoint("a", 1).key, reason, raw }))
    };
    let view = |name: &str| serde_json::json!({"kind": "origin_pool", "namespace": "shop", "name": name});
    assert_eq!(item(serde_json::json!({"owner_view": view("web")})).lines(), ["owned a"]);
    assert_eq!(item(serde_json::json!({"system_metadata": {"owner_view": view("web")}})).lines(), ["owned a"]);
    assert_eq!(item(serde_json::json!({"owner_view": view("")})).lines(), ["unsupported a"]);
    let of = |stack: &str| serde_json::json!({"metadata": {"annotations": {"trueup/stack": stack}}});
    assert_eq!(item(of(STACK)).lines(), ["unsupported a"]);
    assert_eq!(item(of("other")).lines(), nothing());
    let odd = serde_json::json!({"metadata": {"annotations": {"trueup/stack": "other", "odd": 7}}});
    assert_eq!(item(odd).lines(), nothing());
    let beside = serde_json::json!({"metadata": null, "annotations": {"trueup/stack": "other"}});
    assert_eq!(item(beside).lines(), nothing());
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
    let rule = IgnoreRule { object: "shop/*".to_owned(), field: Field::of_unit("port") };
    let ignore = Ignore::new([&rule]).expect("a rule");
    let object = annotated(live(endpoint("a", 1)), &endpoint("a", 2), Some(STACK));
    let world = World::new().defined(endpoint("a", 2)).live(object).with(|world| world.ignore = ignore.clone());
    assert_eq!(world.lines(), nothing());
}

#[test]
fn the_annotation_of_a_write_names_of_an_ignored_field_what_was_applied_before() {
    let rule = IgnoreRule { object: "shop/*".to_owned(), field: Field::of_unit("port") };
    let ignore = Ignore::new([&rule]).expect("a rule");
    let described = |text: &str, port| Object { description: text.to_owned(), ..endpoint("a", port) };
    let ignoring =
        |object| World::new().defined(described("new", 3)).live(object).with(|world| world.ignore = ignore.clone());
    for (applied, cause) in [(None, "both"), (Some(1), "both"), (Some(2), "pending"), (Some(3), "drift")] {
        let found = live(described("old", 2));
        let found = match applied {
            Some(port) => annotated(found, &described("old", port), Some(STACK)),
            None => found,
        };
        let plan = ignoring(found).plan();
        let mut written = live(described("new", 2));
        for (field, text) in plan.changes[0].ownership.as_ref().expect("annotations").annotations("run-2") {
            let Field::Annotation(key) = field else { unreachable!("an annotation") };
            written.endpoint.annotations.insert(key, text.expect("a text"));
        }
        assert_eq!(ignoring(written.clone()).lines(), nothing());
        let noticed = World::new().defined(described("new", 3)).live(written);
        assert_eq!(noticed.lines(), [format!("replace a spec.port={cause}")]);
    }
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
    let barely = ["the plan would delete or replace 13 of 43 endpoints of `shop` (31 %, allowed 30 %)"];
    assert_eq!(guards(&crowd(43, 13, 0)), barely);
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
fn what_two_calls_allow_is_allowed() {
    let allow = |name: &str| {
        let mut allow = Allowances::default();
        allow.add(name).expect("an allowance");
        allow
    };
    let all = ["mass-change", "foreign-stack=shop/*", "foreign-stack=pay/a", "protected=shop/a"];
    let all = all.into_iter().map(allow).reduce(Allowances::or).expect("some");
    let [shop, pay] = ["shop/a", "pay/a"].map(|key| crate::model::Key::parse(key).expect("a key"));
    assert!(all.guard(GuardName::MassChange) && !all.guard(GuardName::EmptyNamespace));
    assert!(all.key(KeyAllowance::ForeignStack, &shop) && all.key(KeyAllowance::ForeignStack, &pay));
    assert!(all.key(KeyAllowance::Protected, &shop) && !all.key(KeyAllowance::Protected, &pay));
}

#[test]
fn an_object_that_may_be_a_copy_is_deleted_only_where_that_is_allowed_again_or_all_is_pruned() {
    let mut copy = live(endpoint("a", 1));
    copy.endpoint.annotations.insert("trueup/stack".to_owned(), STACK.to_owned());
    let world = World::new().live(copy);
    assert_eq!(world.lines(), ["blocked a unverified"]);
    let world = world.with(|world| world.allow.add("unverified=shop/a").expect("an allowance"));
    assert_eq!(world.lines(), ["delete a"]);
    let approve = |world: &World, names: &[&str]| {
        let mut allow = Allowances::default();
        names.iter().for_each(|name| allow.add(name).expect("an allowance"));
        world.plan().approve(Approval::Given, &allow).map(|_| ())
    };
    let names = vec!["unverified=shop/a".to_owned()];
    assert_eq!(approve(&world, &["empty-namespace"]), Err(ApprovalError::Changes(names)));
    assert_eq!(approve(&world, &["empty-namespace", "unverified=shop/a"]), Ok(()));
    let all = world.with(|world| world.settings.safeguards.prune = Prune::All);
    assert_eq!(approve(&all, &["empty-namespace"]), Ok(()));
    // What is in force for an apply can be stricter than what the plan was made with.
    let (plan, mut allow) = (all.plan(), Allowances::default());
    allow.add("empty-namespace").expect("an allowance");
    let limits = RunLimits { safeguards: Safeguards::default(), ..RunLimits::whole(&plan) };
    let refused = plan.approve_within(Approval::Given, &allow, &limits).expect_err("it may be a copy");
    assert_eq!(refused.consents(), ["unverified=shop/a"]);
}

#[test]
fn a_plan_without_ownership_annotations_is_looser_only_where_they_are_wanted() {
    let world = World::new().defined(endpoint("a", 1)).live(live(endpoint("a", 1))).defined(endpoint("b", 1));
    let world = world.with(|world| world.settings.safeguards.ownership_annotations = false);
    assert_eq!(world.lines(), ["create b"]);
    let (plan, safeguards) = (world.plan(), world.settings.safeguards);
    assert_eq!(plan.looser_setting(&safeguards), None);
    let wanted = Safeguards { ownership_annotations: true, ..safeguards };
    assert_eq!(plan.looser_setting(&wanted), Some("ownership_annotations"));
}

#[test]
fn shares_are_counted_of_what_the_stack_may_change() {
    let of = |name: &str, stack| annotated(live(endpoint(name, 1)), &endpoint(name, 1), Some(stack));
    let view = RelatedObject {
        kind: "origin_pool".to_owned(),
        namespace: "shop".to_owned(),
        name: "web".to_owned(),
        uid: String::new(),
    };
    let world = World::new()
        .live(of("ours", STACK))
        .live(live(endpoint("nobodys", 1)))
        .live(of("theirs", "other"))
        .live(LiveObject { owner_view: Some(view), ..of("viewed", STACK) })
        .live(LiveObject { deleting: true, ..of("going", STACK) });
    let names = ["ours", "nobodys", "theirs", "viewed", "going"];
    let world = names.into_iter().fold(world, |world, name| world.defined(endpoint(name, 1)));
    let counts = |world: &World| match world.plan().scope[&Scope::endpoints(shop())].read {
        ScopeRead::Complete { live, owned, removable } => (live, owned, removable),
        ScopeRead::Unknown { .. } => panic!("it was read"),
    };
    assert_eq!(counts(&world), (5, 2, 1));
    let allowed = world.with(|world| world.allow.add("foreign-stack=shop/theirs").expect("an allowance"));
    assert_eq!(counts(&allowed), (5, 3, 1));
}

#[test]
fn the_commits_of_a_stack_are_those_that_its_own_objects_name() {
    let at = |name: &str, stack, digit: &str| {
        let mut object = live(endpoint(name, 1));
        let ownership = Ownership::of(&object.endpoint, stack, "run-1").at_commit(Some(&digit.repeat(40)));
        object
            .endpoint
            .annotations
            .extend(ownership.annotations().into_iter().map(|(key, value)| (key.to_owned(), value)));
        object
    };
    let world = |stack: Option<&'static str>| {
        World::new()
            .with(|world| world.stack = stack)
            .live(at("a", stack, "a"))
            .live(at("b", stack, "b"))
            .live(at("c", Some("other"), "c"))
            .live(at("d", Some("other"), "d"))
            .defined(endpoint("a", 1))
            .defined(endpoint("c", 1))
    };
    let commits = |stack| {
        let world = world(stack);
        world.built(world.reads.iter(), |builder| {
            builder.commits().keys().map(|commit| commit[..1].to_owned()).collect::<Vec<_>>()
        })
    };
    assert_eq!(commits(Some(STACK)), ["a", "b"]);
    // Without a stack, what is not defined may be of another directory.
    assert_eq!(commits(None), ["a"]);
}

#[test]
fn an_object_that_the_base_changed_meanwhile_is_behind_it() {
    let base =
        PastDefinitions { desired: World::new().defined(endpoint("a", 3)).desired, ..PastDefinitions::default() };
    let world = World::new().defined(endpoint("a", 1)).defined(endpoint("b", 1));
    let merge_base = PastDefinitions::default();
    let attributed = |head: &World| {
        let mut plan = head.plan();
        plan.attribute(DefinitionHistory { merge_base: &merge_base, base: &base, head: &head.desired });
        plan.guards.iter().map(ToString::to_string).collect::<Vec<_>>()
    };
    let behind = "1 of 2 changed endpoints are behind the base: applying would revert merged work";
    assert_eq!(attributed(&world), [behind]);
    let applied = live(endpoint("a", 2));
    assert_eq!(attributed(&world.live(annotated(applied, &endpoint("a", 2), Some(STACK)))), [behind]);
}

#[test]
fn of_what_others_changed_nothing_stays_and_it_counts_as_left_out() {
    let mut wanted = endpoint("a", 2);
    wanted.description = "web".to_owned();
    let unowned = Object { key: endpoint("d", 2).key, ..wanted.clone() };
    let mut plan = World::new()
        .defined(wanted)
        .defined(unowned)
        .live(live(endpoint("d", 1)))
        .defined(endpoint("b", 1))
        .live(annotated(live(endpoint("a", 1)), &endpoint("a", 1), Some(STACK)))
        .defined(endpoint("c", 2))
        .live(annotated(live(endpoint("c", 1)), &endpoint("c", 1), Some("other")))
        .plan();
    for field in plan.blocked.iter_mut().filter_map(|entry| entry.change.as_mut()).flat_map(fields_of) {
        field.attribution = Some(Attribution::PendingOnBase);
    }
    for change in &mut plan.changes {
        change.attribution = Some(Attribution::ThisChange).filter(|_| change.fields().is_empty());
        for field in fields_of(change) {
            let is_ours = field.field == Field::of_unit("port");
            field.attribution = Some(if is_ours { Attribution::ThisChange } else { Attribution::PendingOnBase });
        }
    }
    let part = plan.only_this_change(&Allowances::default());
    let fields: Vec<usize> = part.changes.iter().map(|change| change.fields().len()).collect();
    assert_eq!((fields, part.blocked.len(), part.left_out), (vec![0, 1, 1], 0, 3));
    let is_owned = |change: &Change| {
        let applied = change.ownership.as_ref().is_some_and(|ownership| ownership.applied.is_some());
        [applied, matches!(change.action, Action::Replace { adopts: true, .. })]
    };
    // What nobody owned becomes nobody's by a part of its change.
    assert_eq!(is_owned(&plan.changes[2]), [true, true]);
    assert_eq!([1, 2].map(|at| is_owned(&part.changes[at])), [[true, false], [false, false]]);
}

#[test]
fn a_part_of_a_plan_has_the_guards_of_that_part() {
    let gone = annotated(live(endpoint("gone", 1)), &endpoint("gone", 1), Some(STACK));
    let mut plan = World::new().defined(endpoint("a", 1)).live(gone).plan();
    assert_eq!(plan.guards.len(), 1);
    for change in &mut plan.changes {
        let is_theirs = change.action.deletes();
        change.attribution = Some(if is_theirs { Attribution::PendingOnBase } else { Attribution::ThisChange });
    }
    assert_eq!(plan.only_this_change(&Allowances::default()).guards, []);
}

#[test]
fn a_fresh_read_counts_what_is_not_of_another_stack_and_what_the_plan_changes() {
    let of = |name: &str, stack| annotated(live(endpoint(name, 1)), &endpoint(name, 1), stack);
    let objects = [of("a", Some(STACK)), of("b", Some(STACK)), live(endpoint("c", 1)), of("d", Some("other"))];
    let plan = World::new().live(of("e", Some(STACK))).plan();
    let items = objects.into_iter().map(|live| (live.endpoint.key.clone(), LiveItem::Object(live))).collect();
    let lists = BTreeMap::from([(Scope::endpoints(shop()), ListRead::Complete { items })]);
    let counts = plan.counts(&crate::model::Live { lists, requests: 1 });
    assert_eq!(counts[&Scope::endpoints(shop())], Counts { owned: 4, removable: 3 });
}

fn fields_of(change: &mut Change) -> &mut [FieldChange] {
    match &mut change.action {
        Action::Replace { fields, .. } => fields,
        _ => &mut [],
    }
}

#[test]
fn a_plan_that_applies_a_commit_whole_names_it_in_all_that_it_writes() {
    let unknown = UnknownField { path: "spec.new".to_owned(), blocks: true };
    let blocked =
        LiveObject { unknown: vec![unknown], ..annotated(live(endpoint("b", 1)), &endpoint("b", 1), Some(STACK)) };
    let mut plan = World::new().defined(endpoint("a", 1)).defined(endpoint("b", 2)).live(blocked).plan();
    let commit = "a".repeat(40);
    plan.stamp(&commit);
    let named: Vec<_> = plan.with_blocked().map(|change| change.ownership.as_ref()?.commit()).collect();
    assert_eq!(named, [Some(commit.clone()), Some(commit)]);
}

#[test]
fn a_namespace_with_definitions_and_without_a_live_object_is_noted() {
    let empty = [Note::EmptyNamespace { namespace: shop() }];
    assert_eq!(World::new().defined(endpoint("a", 1)).plan().notes, empty);
    assert_eq!(World::new().plan().notes, []);
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
    let mut overlaid = whole();
    let changed = overlaid.desired.definitions.values_mut().next().expect("a definition");
    changed.overlays = vec!["overlays/eu/a.yaml".into()];
    for path in ["a.yaml", "overlays/eu", "overlays/eu/a.yaml"] {
        overlaid.selection = Selection::all();
        overlaid.selection.add_path(path);
        assert_eq!(overlaid.lines(), ["create a"], "{path}");
    }
    assert_eq!(describe(&|selection| selection.add_only("shop/g*").expect("a glob")), ["delete gone"]);
    assert_eq!(describe(&|selection| selection.add_except("shop/?").expect("a glob")), ["delete gone"]);
    assert_eq!(describe(&|selection| selection.add_namespace(Namespace::parse("pay").expect("a name"))), nothing());
    assert_eq!(describe(&|selection| selection.set_selector("tier=web").expect("a selector")), nothing());
    assert_eq!(whole().plan().read_scope().endpoints, 2);
    assert_eq!(whole().with(|world| world.selection.add_path("a.yaml")).plan().read_scope().endpoints, 1);
}

#[test]
fn filters_that_leave_nothing_in_are_a_mistake() {
    let judged = |choose: &dyn Fn(&mut Selection)| {
        let world = World::new().defined(endpoint("a", 1)).with(|world| choose(&mut world.selection));
        world.built(world.reads.iter(), |builder| world.selection.unmatched(builder.matched().expect("all was read")))
    };
    assert_eq!(judged(&|selection| selection.add_except("shop/*").expect("a glob")), Some(UnmatchedFilter::Together));
    let both = |selection: &mut Selection| {
        selection.add_only("shop/*").expect("a glob");
        selection.add_except("*/a").expect("a glob");
    };
    assert_eq!(judged(&both), Some(UnmatchedFilter::Together));
    let elsewhere = |selection: &mut Selection| {
        selection.add_namespace(Namespace::parse("pay").expect("a name"));
        selection.set_selector("!tier").expect("a selector");
    };
    assert_eq!(judged(&elsewhere), Some(UnmatchedFilter::Together));
    assert_eq!(judged(&|selection| selection.add_namespace(shop())), None);
    assert_eq!(judged(&|selection| selection.add_except("shop/b*").expect("a glob")), None);
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
    let referred = |by: [&str; 2]| {
        let mut plan = World::new().live(annotated(live(endpoint("a", 1)), &endpoint("a", 1), Some(STACK))).plan();
        let cluster = |name: &str| RelatedObject {
            kind: "cluster".to_owned(),
            namespace: "shop".to_owned(),
            name: name.to_owned(),
            uid: String::new(),
        };
        let mut allow = Allowances::default();
        allow.add("referred=shop/a").expect("an allowance");
        plan.refer(&allow, |_| Ok(by.map(cluster).into()));
        plan.digest()
    };
    assert_eq!(referred(["x", "y"]), referred(["y", "x"]));
    assert_ne!(referred(["x", "y"]), referred(["x", "z"]));
    let consented = |names: &[&str]| {
        let mut plan = world().plan();
        plan.allowed =
            names.iter().map(|name| RecordedConsent { name: (*name).to_owned(), by: None, at_apply: false }).collect();
        plan.digest()
    };
    assert_eq!(consented(&["mass-change", "behind-base", "mass-change"]), consented(&["behind-base", "mass-change"]));
    assert_ne!(consented(&["mass-change"]), digest);
}

#[test]
fn a_plan_is_approved_by_its_digest_or_refused_with_both() {
    let plan = World::new().defined(endpoint("a", 2)).plan();
    let digest = plan.digest();
    let approve = |given: &str| plan.approve(Approval::Digest(given), &Allowances::default()).map(|_| ());
    assert_eq!(approve(digest.short()), Ok(()));
    assert_eq!(approve(digest.full()), Ok(()));
    assert!(matches!(approve(&digest.full()[..31]), Err(ApprovalError::NoDigest(_))));
    assert!(matches!(approve("00000000000000000000000000000000"), Err(ApprovalError::OtherDigest { .. })));
    assert!(matches!(approve("0000000000000000000000000000000x"), Err(ApprovalError::NoDigest(_))));
}

#[test]
fn a_saved_plan_is_the_same_plan_and_an_altered_one_is_refused() {
    let plan = World::new().defined(endpoint("a", 2)).plan();
    let file = plan.to_file();
    assert!(Plan::is_file(file.as_bytes()));
    let read = Plan::from_file(file.as_bytes()).expect("a plan");
    assert_eq!(read.to_file(), file);
    // An earlier version gave a cause to what a rollback does.
    let mut undoing = plan.clone();
    undoing.source.origin = PlanOrigin::Rollback(RunId::new("run-1").expect("an id"));
    assert_eq!(undoing.changes[0].cause, Some(Cause::Pending));
    let read = Plan::from_file(undoing.to_file().as_bytes()).expect("a plan");
    assert_eq!((read.changes[0].cause, read.digest()), (None, undoing.digest()));
    let altered = file.replace("\"port\": 2", "\"port\": 3");
    assert!(matches!(Plan::from_file(altered.as_bytes()), Err(SavedError::Document(DocumentError::Altered(_)))));
    let newer = file.replace("\"format_version\": 1", "\"format_version\": 2");
    assert!(matches!(
        Plan::from_file(newer.as_bytes()),
        Err(SavedError::Document(DocumentError::Version { found: 2, .. }))
    ));
    assert!(matches!(Plan::from_file(b"{}"), Err(SavedError::Document(DocumentError::Other { .. }))));
}

#[test]
fn a_share_that_is_large_only_over_all_namespaces_is_a_guard_of_the_plan() {
    let in_pay = |mut endpoint: Object| {
        endpoint.key.namespace = Namespace::parse("pay").expect("a name");
        endpoint
    };
    let mut world = crowd(9, 5, 0);
    for at in 0..9 {
        let [applied, wanted] = [1, if at < 5 { 2 } else { 1 }].map(|port| in_pay(endpoint(&format!("e{at}"), port)));
        world = world.live(annotated(live(applied.clone()), &applied, Some(STACK))).defined(wanted);
    }
    assert_eq!(guards(&world), ["the plan would delete or replace 10 of 18 endpoints (56 %, allowed 30 %)"]);
}

#[test]
fn what_is_blocked_is_in_the_order_of_the_keys() {
    let ours = |name| annotated(live(endpoint(name, 1)), &endpoint(name, 1), Some(STACK));
    let mut protected = ours("b");
    protected.endpoint.annotations.insert("trueup/protect".to_owned(), "true".to_owned());
    let mut plan = World::new().live(ours("a")).live(protected).live(ours("c")).plan();
    plan.refer(&Allowances::default(), |_| Err("the answer was lost".to_owned()));
    assert_eq!(plan.blocked.iter().map(|entry| entry.key.name.as_str()).collect::<Vec<_>>(), ["a", "b", "c"]);
}

#[test]
fn a_plan_that_contradicts_itself_is_not_sound() {
    let object = || annotated(live(endpoint("a", 1)), &endpoint("a", 1), Some(STACK));
    let with = |change: &dyn Fn(&mut Plan, &mut ScopeState)| {
        let mut plan = World::new().live(object()).plan();
        let (scope, mut state) = plan.scope.pop_first().expect("a list");
        change(&mut plan, &mut state);
        plan.scope.insert(scope, state);
        plan.check().is_ok()
    };
    assert!(with(&|_, _| ()));
    assert!(!with(&|plan, _| plan.changes.push(plan.changes[0].clone())));
    assert!(!with(&|plan, _| plan.changes[0].key = endpoint("b", 1).key));
    assert!(!with(&|plan, _| plan.settings.safeguards.prune = Prune::None));
    assert!(!with(&|plan, _| plan.stack = None));
    assert!(!with(&|_, state| state.pruned = false));
    assert!(!with(&|_, state| state.selected = false));
    assert!(!with(&|_, state| state.read = ScopeRead::Unknown { reason: "403".to_owned() }));
    assert!(!with(&|plan, _| plan.source.origin = PlanOrigin::Move { from: "a".to_owned(), to: "b".to_owned() }));
}

#[test]
fn a_change_outside_of_the_namespaces_is_found_unless_it_is_a_move() {
    let mut plan = World::new().defined(endpoint("a", 1)).plan();
    let outside = |plan: &Plan, namespaces: BTreeSet<Namespace>| plan.change_outside(&namespaces).is_some();
    assert!(!outside(&plan, BTreeSet::from([shop()])));
    assert!(outside(&plan, BTreeSet::new()));
    plan.source.origin = PlanOrigin::Move { from: "a".to_owned(), to: "b".to_owned() };
    assert!(!outside(&plan, BTreeSet::new()));
}

#[test]
fn many_copies_in_many_namespaces_are_planned_in_linear_time() {
    let copies = |count: usize| {
        (0..count).fold(World::new(), |world, number| {
            let original = endpoint(&format!("e{number}"), 80);
            let key = Key::parse(&format!("n{number}/e{number}")).expect("a key");
            let copy = annotated(live(Object { key, ..original.clone() }), &original, Some(STACK));
            world.defined(original).live(copy)
        })
    };
    assert_at_most_linear("copies", 200, copies, |world| {
        let notes = world.plan().notes;
        let known = notes.iter().filter(|note| matches!(note, Note::Copied { of: Some(_), .. }));
        assert_eq!(known.count(), world.desired.definitions.len());
    });
}
