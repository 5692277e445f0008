//! What a rollback counts, and what it restores of what nobody owned.

use serde_json::json;

use super::*;
use crate::model::RelatedObject;
use crate::tests::world::{STACK, World, annotated, endpoint, live, object, shop};

/// The rollback of a run of the stack that made these changes, with these definitions.
fn rolled_back(changes: Vec<Change>, now: Vec<LiveObject>, definitions: &[Desired]) -> Plan {
    let scopes = changes.iter().map(|change| Scope::from(&change.key));
    let mut lists: BTreeMap<Scope, BTreeMap<Key, LiveItem>> = scopes.map(|scope| (scope, BTreeMap::new())).collect();
    for live in now {
        let key = live.endpoint.key.clone();
        lists.entry((&key).into()).or_default().insert(key, LiveItem::Object(live));
    }
    let lists = lists.into_iter().map(|(scope, items)| (scope, ListRead::Complete { items })).collect();
    let plan = Plan { stack: Some(STACK.to_owned()), changes, ..Plan::default() };
    rollback(RollbackInput {
        undone: &undone(&plan, &RunId::new("run-1").expect("an id")),
        live: &Live { lists, requests: 1 },
        definitions,
        only: &|_| true,
        ignore: &Ignore::default(),
        allow: &Allowances::default(),
    })
}

/// A run that made all changes of its plan.
fn undone<'p>(plan: &'p Plan, run: &'p RunId) -> UndoneRun<'p> {
    let writes = plan.changes.iter().map(|change| AppliedWrite {
        key: &change.key,
        action: change.action.kind(),
        runs: vec![run.clone()],
        before: change.action.before(),
    });
    UndoneRun { run, plan, writes: writes.collect() }
}

#[test]
fn the_guards_of_a_rollback_count_what_its_stack_may_delete() {
    let of = |name: &str, stack| annotated(live(endpoint(name, 1)), &endpoint(name, 1), Some(stack));
    let view = RelatedObject {
        kind: "origin_pool".to_owned(),
        namespace: "shop".to_owned(),
        name: "web".to_owned(),
        uid: String::new(),
    };
    let mut protected = of("protected", STACK);
    protected.endpoint.annotations.insert("trueup/protect".to_owned(), "true".to_owned());
    let now = vec![
        of("created", STACK),
        protected,
        LiveObject { owner_view: Some(view), ..of("viewed", STACK) },
        LiveObject { deleting: true, ..of("going", STACK) },
        of("theirs", "other"),
        LiveObject {
            endpoint: Object { key: endpoint("copied", 1).key, ..of("created", STACK).endpoint },
            ..of("copied", STACK)
        },
        live(endpoint("nobodys", 1)),
    ];
    let wanted = endpoint("created", 1);
    let ownership = Some(OwnershipAnnotations::wanted(Ownership::wanted(&wanted, Some(STACK)), None));
    let create = Change { ownership, ..Change::new(wanted.key.clone(), Action::Create { wanted }) };
    let plan = rolled_back(vec![create], now, &[]);
    assert_eq!(plan.deletes().map(|key| key.name.to_string()).collect::<Vec<_>>(), ["created"]);
    let ScopeRead::Complete { live, owned, removable } = plan.scope[&Scope::endpoints(shop())].read else {
        panic!("it was read")
    };
    assert_eq!((live, owned, removable), (7, 4, 1));
    let guards: Vec<String> = plan.guards.iter().map(ToString::to_string).collect();
    assert_eq!(guards, ["the plan would delete every owned endpoint of `shop` (1)"]);
}

#[test]
fn what_a_rollback_creates_again_has_the_ownership_annotations_that_it_had() {
    let restored = |object: LiveObject| {
        let plan = rolled_back(vec![deleted(&object)], Vec::new(), &[]);
        let [create] = plan.changes.as_slice() else { panic!("{plan:?}") };
        let Action::Create { wanted } = &create.action else { panic!("{create:?}") };
        assert!(wanted.annotations.is_empty(), "they are written apart from it");
        let had = OwnershipAnnotations::of(&object.endpoint);
        assert_eq!(create.ownership, Some(had).filter(|had| !had.is_empty()));
        create.ownership.as_ref().map(|ownership| [ownership.stack.is_some(), ownership.applied.is_some()])
    };
    let of = |stack| annotated(live(endpoint("a", 1)), &endpoint("a", 1), stack);
    assert_eq!(restored(live(endpoint("a", 1))), None);
    assert_eq!(restored(of(Some(STACK))), Some([true, true]));
    assert_eq!(restored(of(None)), Some([false, true]));
}

#[test]
fn of_the_labels_of_the_service_a_rollback_waits_only_for_what_the_stack_had_applied() {
    let label = |key: &str| (key.to_owned(), "x".to_owned());
    let mut defined = endpoint("a", 1);
    defined.labels.extend([label("ves.io/type")]);
    let mut was = annotated(live(defined.clone()), &defined, Some(STACK));
    was.endpoint.labels.extend([label("ves.io/node")]);
    let plan = rolled_back(vec![deleted(&was)], Vec::new(), &[]);
    let [create] = plan.changes.as_slice() else { panic!("{plan:?}") };
    let names = ["ves.io/type", "ves.io/node"].map(|key| create.names(&Field::Label(key.to_owned())));
    assert_eq!(names, [true, false]);
}

fn deleted(object: &LiveObject) -> Change {
    let delete = Action::Delete { before: BeforeImage::of(object), referrers: Vec::new() };
    Change::new(object.endpoint.key.clone(), delete)
}

#[test]
fn a_delete_that_took_no_effect_needs_no_rollback_whatever_the_object_is_now() {
    let was = annotated(live(endpoint("a", 1)), &endpoint("a", 1), Some(STACK));
    let rolled_back = |uid: &str, port: u16| {
        let now = LiveObject {
            uid: uid.to_owned(),
            ..annotated(live(endpoint("a", port)), &endpoint("a", port), Some(STACK))
        };
        let plan = rolled_back(vec![deleted(&was)], vec![now], &[]);
        (plan.changes.len(), plan.blocked.len())
    };
    for port in [1, 2] {
        assert_eq!(rolled_back(&was.uid, port), (0, 0));
    }
    // Created again as it was, or in another way.
    assert_eq!(rolled_back("another", 1), (0, 0));
    assert_eq!(rolled_back("another", 2), (0, 1));
}

#[test]
fn what_no_answer_shows_is_created_again_only_of_the_definition_that_was_applied() {
    let rule = |spec: &Json| object("infraprotect_deny_list_rule:system/a", spec);
    let shown = rule(&json!({"prefix": "192.0.2.0/24"}));
    let [day, hour] = ["one_day", "one_hour"].map(|option| rule(&json!({"prefix": "192.0.2.0/24", option: {}})));
    let was = annotated(live(shown), &day, Some(STACK));
    let restored = |definition: &Object| {
        let World { desired, .. } = World::new().defined(definition.clone());
        let plan = rolled_back(vec![deleted(&was)], Vec::new(), &[desired]);
        match (plan.changes.as_slice(), plan.blocked.as_slice()) {
            ([Change { action: Action::Create { wanted }, .. }], []) => Some(wanted.spec.unit("expiration")),
            ([], [BlockedChange { reason: BlockReason::Unchangeable(Unchangeable::SecretBefore { .. }), .. }]) => None,
            _ => panic!("{plan:?}"),
        }
    };
    assert_eq!(restored(&day), Some(json!({"one_day": {}})));
    assert_eq!(restored(&hour), None);
    // Of an object without an owner before, the run that adopted it says what is there.
    let (now, before) = (was.clone(), live(rule(&json!({"prefix": "192.0.2.0/24"}))));
    let ownership = Some(OwnershipAnnotations::of(&now.endpoint));
    let adoption = Change {
        ownership,
        ..Change::new(now.endpoint.key.clone(), Action::Annotate { before: BeforeImage::of(&before) })
    };
    let kept = |definition: &Object| {
        let World { desired, .. } = World::new().defined(definition.clone());
        let plan = rolled_back(vec![adoption.clone()], vec![now.clone()], &[desired]);
        match (plan.changes.as_slice(), plan.blocked.as_slice()) {
            ([Change { secrets, .. }], []) => secrets.get("expiration").cloned(),
            ([], [BlockedChange { reason: BlockReason::Unchangeable(Unchangeable::SecretBefore { .. }), .. }]) => None,
            _ => panic!("{plan:?}"),
        }
    };
    assert_eq!(kept(&day), Some(json!({"one_day": {}})));
    assert_eq!(kept(&hour), None);
}

#[test]
fn a_run_that_did_not_record_where_secrets_were_brings_back_nothing_that_may_have_had_one() {
    let zone = |spec: &Json| object("dns_zone:system/example.com", spec);
    let was = live(zone(&json!({"secondary": {"primary_servers": ["192.0.2.1"], "tsig_key_name": "k"}})));
    assert!(was.secrets.is_empty());
    let now = live(zone(&json!({"primary": {"default_soa_parameters": {}}})));
    let field = Field::of_unit("dns_type");
    let [before, after] = [&was, &now].map(|live| field.value(&live.endpoint));
    let fields = vec![FieldChange::new(field, before, after, Cause::Pending)];
    let replace = Action::Replace { fields, adopts: false, before: BeforeImage::of(&was) };
    let replaced = Change::new(was.endpoint.key.clone(), replace);
    for (change, now) in [(deleted(&was), vec![]), (replaced, vec![now])] {
        let plan = rolled_back(vec![change], now, &[]);
        let [BlockedChange { reason: BlockReason::Unchangeable(Unchangeable::SecretBefore { path }), .. }] =
            plan.blocked.as_slice()
        else {
            panic!("{plan:?}")
        };
        assert_eq!(path, "spec.secondary.tsig_key_value");
    }
}

/// A check, a pool that refers to it, and a load balancer that refers to the pool, as the stack applied them.
fn chain() -> [LiveObject; 3] {
    [
        ("healthcheck:shop/alive", json!({"timeout": 3})),
        ("origin_pool:shop/pool", json!({"port": 443, "healthcheck": [{"name": "alive"}]})),
        (
            "http_loadbalancer:shop/lb",
            json!({"domains": ["a.example.net"], "default_route_pools": [{"pool": {"name": "pool"}, "weight": 1}]}),
        ),
    ]
    .map(|(key, spec)| annotated(live(object(key, &spec)), &object(key, &spec), Some(STACK)))
}

#[test]
fn the_undo_of_the_first_object_of_a_kind_empties_no_namespace() {
    let check = object("healthcheck:shop/alive", &json!({"timeout": 3}));
    let ownership = Some(OwnershipAnnotations::wanted(Ownership::wanted(&check, Some(STACK)), None));
    let now = annotated(live(check.clone()), &check, Some(STACK));
    let create = Change { ownership, ..Change::new(check.key.clone(), Action::Create { wanted: check }) };
    let plan = rolled_back(vec![create], vec![now], &[]);
    assert_eq!((plan.deletes().count(), plan.guards.as_slice()), (1, &[][..]));
}

#[test]
fn what_is_as_it_was_before_the_run_needs_no_annotation_of_another_run() {
    let of = |name: &str, run: &str| {
        let mut live = annotated(live(endpoint(name, 81)), &endpoint(name, 80), Some(STACK));
        let applied = live.endpoint.annotations.get_mut(APPLIED).expect("an annotation");
        let words: Vec<&str> = applied.split(' ').collect();
        *applied = [words[0], run].into_iter().chain(words[2..].iter().copied()).collect::<Vec<_>>().join(" ");
        live
    };
    let before = BeforeImage::of(&of("a", "2026-11-25T08-00-00-000-0000"));
    let field = Field::of_unit("port");
    let fields = vec![FieldChange::new(field, json!(81), json!(80), Cause::Drift)];
    let ownership = Some(OwnershipAnnotations::of(&before.endpoint));
    let replace = Action::Replace { fields, adopts: false, before };
    let replace = Change { ownership, ..Change::new(endpoint("a", 80).key, replace) };
    let plan = rolled_back(vec![replace], vec![of("a", "run-1")], &[]);
    assert!(plan.changes.is_empty() && plan.blocked.is_empty(), "{plan:?}");
}

#[test]
fn nothing_is_created_again_whose_target_is_gone_and_so_is_what_needs_it() {
    let [check, pool, balancer] = chain();
    let other = annotated(
        live(object("healthcheck:shop/other", &json!({}))),
        &object("healthcheck:shop/other", &json!({})),
        Some(STACK),
    );
    let counts = |now: &[&LiveObject]| {
        let plan = rolled_back(vec![deleted(&pool), deleted(&balancer)], now.iter().copied().cloned().collect(), &[]);
        (plan.changes.len(), plan.blocked.len())
    };
    assert_eq!(counts(&[&check]), (2, 0));
    assert_eq!(counts(&[&other]), (0, 2));
    // Its list was not read.
    assert_eq!(counts(&[]), (2, 0));
}

#[test]
fn a_rollback_reads_the_lists_of_what_it_writes_and_of_what_that_may_refer_to_again() {
    let [check, pool, _] = chain();
    let lists_of = |change: Change, origin: PlanOrigin, read: &[&LiveObject]| {
        let state = || ScopeState {
            read: ScopeRead::Complete { live: 1, owned: 1, removable: 1 },
            definitions: 0,
            in_sync: 0,
            pruned: true,
            selected: true,
        };
        let scope = read.iter().map(|live| (Scope::from(&live.endpoint.key), state())).collect();
        let source = PlanSource { origin, ..PlanSource::default() };
        let plan = Plan { changes: vec![change], scope, source, ..Plan::default() };
        let lists = undone(&plan, &RunId::new("run-1").expect("an id")).lists();
        lists.iter().map(ToString::to_string).collect::<Vec<_>>()
    };
    let lists = |change: Change| lists_of(change, PlanOrigin::default(), &[&check, &pool]);
    let replaced = |unit: &str| {
        let fields = vec![FieldChange::new(Field::of_unit(unit), Json::Null, Json::Null, Cause::Pending)];
        let action = Action::Replace { fields, adopts: false, before: BeforeImage::of(&pool) };
        Change::new(pool.endpoint.key.clone(), action)
    };
    assert_eq!(lists(deleted(&pool)), ["healthcheck:shop", "origin_pool:shop"]);
    assert_eq!(lists(replaced("healthcheck")), ["healthcheck:shop", "origin_pool:shop"]);
    assert_eq!(lists(replaced("port_choice")), ["origin_pool:shop"]);
    // The plan of a rollback read what it wrote, and may have deleted what refers to anything of its namespace.
    let origin = PlanOrigin::Rollback(RunId::new("run-0").expect("an id"));
    assert_eq!(lists_of(deleted(&pool), origin, &[&pool]), ["healthcheck:shop", "origin_pool:shop"]);
    assert_eq!(lists_of(deleted(&pool), PlanOrigin::default(), &[&pool]), ["origin_pool:shop"]);
}

#[test]
fn a_rollback_names_what_its_objects_refer_to_and_no_life_of_it() {
    let of = |spec: Json| {
        [
            object("endpoint:shop/a", &spec),
            object("origin_pool:shop/p", &json!({"healthcheck": spec["where"]["site"]["ref"]})),
        ]
    };
    let refers = |uid: Option<&str>| {
        let mut reference = json!({"namespace": "shop", "name": "x"});
        if let Some(uid) = uid {
            reference["uid"] = uid.into();
        }
        of(json!({"ip": "192.0.2.1", "where": {"site": {"ref": [reference]}}}))
    };
    let other = of(json!({"ip": "192.0.2.1", "where": {"site": {"ref": [{"namespace": "shop", "name": "y"}]}}}));
    for ((was, now), named) in refers(Some("u-1")).into_iter().zip(other).zip(refers(None)) {
        let was = annotated(live(was.clone()), &was, Some(STACK));
        let plan = rolled_back(vec![deleted(&was)], Vec::new(), &[]);
        let [Change { action: Action::Create { wanted }, .. }] = plan.changes.as_slice() else { panic!("{plan:?}") };
        assert_eq!(wanted.spec.json(), named.spec.json());
        let unit = Field::of_unit(if was.endpoint.key.kind == crate::kind::KindName::ENDPOINT {
            "where"
        } else {
            "healthcheck"
        });
        let field = FieldChange::new(unit.clone(), unit.value(&was.endpoint), unit.value(&now), Cause::Pending);
        let before = BeforeImage::of(&was);
        let replace =
            Change::new(was.endpoint.key.clone(), Action::Replace { fields: vec![field], adopts: false, before });
        let plan = rolled_back(
            vec![replace],
            vec![LiveObject { endpoint: Object { annotations: was.endpoint.annotations.clone(), ..now }, ..was }],
            &[],
        );
        let [Change { action: Action::Replace { fields, .. }, .. }] = plan.changes.as_slice() else {
            panic!("{plan:?}")
        };
        assert_eq!(fields[0].after, unit.value(&named));
    }
}
