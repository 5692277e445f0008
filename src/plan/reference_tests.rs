//! The order of changes by their references, and the changes that a broken reference blocks.

use serde_json::json;

use super::*;
use crate::model::{Json, ListRead, LiveObject, Object};
use crate::tests::comparisons::{assert_no_search_through_all, count};
use crate::tests::world::{STACK, World, annotated, endpoint, live, object};

const KINDS: [&str; 5] = ["healthcheck", "origin_pool", "http_loadbalancer", "service_policy", "service_policy_rule"];

fn world() -> World {
    World::new().with(|world| {
        world.kinds = KINDS.iter().filter_map(|name| KindName::find(name)).collect();
        for namespace in ["shop", "pay"] {
            for kind in KINDS {
                let scope = Scope::try_from(format!("{kind}:{namespace}")).expect("a scope");
                world.reads.insert(scope, ListRead::Complete { items: BTreeMap::new() });
            }
        }
        world.namespaces = ["shop", "pay"].map(|name| Namespace::parse(name).expect("a name")).into();
    })
}

fn references(names: &[&str]) -> Json {
    names.iter().map(|name| json!({"name": name})).collect()
}

fn check(name: &str) -> Object {
    object(&format!("healthcheck:shop/{name}"), &json!({"timeout": 3}))
}

fn pool(name: &str, checks: &[&str]) -> Object {
    object(&format!("origin_pool:shop/{name}"), &json!({"port": 443, "healthcheck": references(checks)}))
}

fn balancer(name: &str, pool: &str) -> Object {
    let pools = json!([{"pool": {"name": pool}, "weight": 1}]);
    object(
        &format!("http_loadbalancer:shop/{name}"),
        &json!({"domains": ["a.example.net"], "default_route_pools": pools}),
    )
}

fn policy(name: &str, rules: &[&str]) -> Object {
    object(&format!("service_policy:shop/{name}"), &json!({"legacy_rule_list": {"rules": references(rules)}}))
}

fn rule(name: &str, policies: &[&str]) -> Object {
    object(&format!("service_policy_rule:shop/{name}"), &json!({"action": "DENY", "goto_policy": references(policies)}))
}

fn ours(endpoint: &Object) -> LiveObject {
    annotated(live(endpoint.clone()), endpoint, Some(STACK))
}

fn waves(plan: &Plan) -> Vec<Vec<String>> {
    let names = |wave: &Vec<&Change>| wave.iter().map(|change| change.key.name.to_string()).collect();
    Waves::of(&plan.changes).waves.iter().map(names).collect()
}

#[test]
fn a_wave_has_all_that_waits_for_nothing_more() {
    let world = world()
        .defined(balancer("lb", "pool"))
        .defined(pool("pool", &["alive"]))
        .defined(pool("free", &[]))
        .defined(check("alive"))
        .defined(endpoint("ep", 1));
    assert_eq!(waves(&world.plan()), [vec!["ep", "alive", "free"], vec!["pool"], vec!["lb"]]);
}

#[test]
fn what_goes_goes_in_the_reverse_order_and_after_what_lets_it_go() {
    let gone =
        world().live(ours(&balancer("lb", "pool"))).live(ours(&pool("pool", &["alive"]))).live(ours(&check("alive")));
    assert_eq!(waves(&gone.plan()), [["lb"], ["pool"], ["alive"]]);
    let let_go = world()
        .live(ours(&pool("pool", &["old"])))
        .live(ours(&check("old")))
        .defined(pool("pool", &["new"]))
        .defined(check("new"));
    assert_eq!(waves(&let_go.plan()), [["new"], ["pool"], ["old"]]);
}

#[test]
fn a_delete_waits_for_its_own_namespace_and_not_for_others() {
    let of = |key: &str, timeout: u32| object(&format!("healthcheck:{key}"), &json!({"timeout": timeout}));
    let world = world()
        .live(ours(&of("pay/old", 3)))
        .live(ours(&of("shop/old", 3)))
        .live(ours(&of("shop/kept", 3)))
        .defined(of("shop/kept", 4));
    assert_eq!(waves(&world.plan()), [vec!["kept", "old"], vec!["old"]]);
    // But for what moves there.
    let moved = world.defined(of("shop/moved", 3)).live(ours(&of("pay/moved", 3)));
    let plan = moved.plan();
    let keys = |wave: &Vec<&Change>| wave.iter().map(|change| change.key.to_string()).collect::<Vec<_>>();
    let waves: Vec<_> = Waves::of(&plan.changes).waves.iter().map(keys).collect();
    assert_eq!(
        waves,
        [
            vec!["healthcheck:shop/moved", "healthcheck:shop/kept", "healthcheck:pay/old"],
            vec!["healthcheck:pay/moved", "healthcheck:shop/old"]
        ]
    );
}

#[test]
fn a_target_that_is_neither_defined_nor_live_is_an_error_of_what_would_be_written() {
    let world = || world().defined(pool("cart", &["alive"]));
    assert_eq!(world().lines(), ["blocked cart Missing"]);
    assert_eq!(world().plan().broken_references().count(), 1);
    assert_eq!(world().defined(check("alive")).lines(), ["create alive", "create cart"]);
    assert_eq!(world().live(live(check("alive"))).lines(), ["create cart", "unmanaged alive"]);
    // In sync: nothing is written.
    assert_eq!(world().live(ours(&pool("cart", &["alive"]))).lines(), Vec::<String>::new());
    // The unit of the reference is not written.
    let other = object("origin_pool:shop/cart", &json!({"port": 80, "healthcheck": [{"name": "alive"}]}));
    assert_eq!(world().live(ours(&other)).lines(), ["replace cart spec.port_choice=pending"]);
    let another = pool("cart", &["old"]);
    assert_eq!(world().live(ours(&another)).lines(), ["blocked cart Missing"]);
    let in_sync = annotated(live(pool("cart", &["alive"])), &another, Some(STACK));
    assert_eq!(world().live(in_sync).lines(), ["annotate cart"]);
    // The unit is a group, and the reference in its option.
    let of_group = self::world().defined(policy("p", &["none"])).live(ours(&policy("p", &[])));
    assert_eq!(of_group.lines(), ["blocked p Missing"]);
}

#[test]
fn nothing_is_looked_up_of_what_is_not_managed() {
    let pool = |check: &Json| object("origin_pool:shop/cart", &json!({"healthcheck": [check]}));
    for elsewhere in [json!({"name": "alive", "namespace": "shared"}), json!({"name": "alive", "tenant": "ves-io"})] {
        assert_eq!(world().defined(pool(&elsewhere)).lines(), ["create cart"], "{elsewhere}");
    }
    let unmanaged = world().defined(pool(&json!({"name": "alive"}))).with(|world| {
        world.reads.retain(|scope, _| scope.kind.as_str() != "healthcheck");
    });
    assert_eq!(unmanaged.lines(), ["create cart"]);
}

/// A virtual site that is created anew, an endpoint that lets it go, and one that will refer to it; and one at it that moves
/// to another namespace.
fn site_created_anew(moves: bool) -> Plan {
    let site = |of: &str| {
        let spec = json!({"site_type": of, "site_selector": {"expressions": ["a in (b)"]}});
        object("virtual_site:shop/edge", &spec)
    };
    let at_site = |key: &str| {
        let site =
            json!({"ref": [{"name": "edge", "namespace": "shop"}], "network_type": "VIRTUAL_NETWORK_SITE_LOCAL"});
        object(key, &json!({"ip": "10.0.0.1", "port": 1, "where": {"virtual_site": site}}))
    };
    let world = world()
        .live(ours(&site("REGIONAL_EDGE")))
        .defined(site("CUSTOMER_EDGE"))
        .live(ours(&at_site("shop/from")))
        .defined(endpoint("from", 1))
        .live(ours(&endpoint("to", 1)))
        .defined(at_site("shop/to"));
    let moved = |world: World| world.live(ours(&at_site("pay/moved"))).defined(at_site("shop/moved"));
    let world = if moves { moved(world) } else { world };
    world.with(|world| world.allow.add("recreate=virtual_site:shop/edge").expect("an allowance")).plan()
}

#[test]
fn what_is_created_anew_waits_for_what_lets_it_go_and_what_will_refer_to_it_waits_for_it() {
    assert_eq!(waves(&site_created_anew(false)), [["from"], ["edge"], ["to"]]);
}

#[test]
fn what_is_created_anew_and_let_go_only_by_what_waits_for_that_is_blocked() {
    let site = |name: &str, of: &str| {
        let spec = json!({"site_type": of, "site_selector": {"expressions": ["a in (b)"]}});
        object(&format!("virtual_site:shop/{name}"), &spec)
    };
    let at = |name: &str, site: &str| {
        let site = json!({"ref": [{"name": site, "namespace": "shop"}], "network_type": "VIRTUAL_NETWORK_SITE_LOCAL"});
        object(&format!("shop/{name}"), &json!({"ip": "10.0.0.1", "port": 1, "where": {"virtual_site": site}}))
    };
    let planned = |others: [&str; 2]| {
        let mut world = world();
        for (name, other) in ["v1", "v2"].into_iter().zip(others) {
            world = world.live(ours(&site(name, "REGIONAL_EDGE"))).defined(site(name, "CUSTOMER_EDGE"));
            world = world.live(ours(&at(&format!("at-{name}"), name))).defined(at(&format!("at-{name}"), other));
            world.allow.add(&format!("recreate=virtual_site:shop/{name}")).expect("an allowance");
        }
        let mut plan = world.plan();
        plan.refer(&Allowances::default(), |_| Ok(Vec::new()));
        plan
    };
    let swapped = planned(["v2", "v1"]);
    let blocked: Vec<String> = swapped.blocked.iter().map(|held| held.key.to_string()).collect();
    assert!(matches!(&swapped.blocked[0].reason, BlockReason::Referred { by } if by[0].name == "at-v1"));
    assert_eq!(
        (blocked, swapped.changes.len()),
        (vec!["virtual_site:shop/v1".to_owned(), "virtual_site:shop/v2".to_owned()], 2)
    );
    // Where one of them is let go of first, there is an order.
    assert_eq!(planned(["v2", "v2"]).blocked.len(), 0);
}

#[test]
fn what_lets_an_object_go_before_it_goes_does_not_refer_to_it() {
    let referring = |namespace: &str, name: &str| {
        let mut plan = site_created_anew(namespace == "pay");
        let related = crate::model::RelatedObject {
            kind: "endpoint".to_owned(),
            namespace: namespace.to_owned(),
            name: name.to_owned(),
            uid: String::new(),
        };
        let by = |key: &Key| if key.kind.is_endpoint() { Vec::new() } else { vec![related.clone()] };
        plan.refer(&Allowances::default(), |key| Ok(by(key)));
        plan.blocked.iter().map(|entry| entry.key.name.to_string()).collect::<Vec<_>>()
    };
    assert_eq!(referring("shop", "from"), [""; 0]);
    assert_eq!(referring("shop", "to"), ["edge"]);
    assert_eq!(referring("shop", "other"), ["edge"]);
    // It goes after it is there, which waits for the site.
    assert_eq!(referring("pay", "moved"), ["edge"]);
}

#[test]
fn what_a_definition_still_refers_to_is_not_deleted() {
    let world = || world().live(ours(&check("alive"))).defined(pool("cart", &["alive"]));
    // Be the definition in sync or not.
    assert_eq!(world().lines(), ["create cart", "blocked alive Deleted"]);
    let in_sync = || world().live(ours(&pool("cart", &["alive"])));
    assert_eq!(in_sync().lines(), ["blocked alive Deleted"]);
    assert_eq!(in_sync().plan().broken_references().count(), 1);
    let allowed = in_sync().with(|world| world.allow.add("referred=healthcheck:shop/alive").expect("an allowance"));
    assert_eq!(allowed.lines(), ["delete alive"]);
}

#[test]
fn an_object_whose_target_is_left_out_or_unread_is_blocked_and_so_is_what_needs_it() {
    let world = || world().defined(balancer("lb", "pool")).defined(pool("pool", &["alive"])).defined(check("alive"));
    let narrowed = world().with(|world| world.selection.add_except("healthcheck:*").expect("a glob"));
    assert_eq!(narrowed.lines(), ["blocked lb LeftOut", "blocked pool LeftOut"]);
    assert_eq!(narrowed.plan().broken_references().count(), 0, "the definitions are right");
    let unread = world().with(|world| {
        let scope = Scope::try_from("healthcheck:shop".to_owned()).expect("a scope");
        world.reads.insert(scope, ListRead::Unknown { reason: "403".to_owned() });
    });
    assert_eq!(unread.lines(), ["blocked lb LeftOut", "blocked pool Unread"]);
}

#[test]
fn a_circle_is_an_error_only_where_nobody_can_be_first() {
    let circle = || world().defined(policy("p", &["r"])).defined(rule("r", &["p"])).defined(policy("q", &["r"]));
    assert_eq!(circle().lines(), ["blocked p Circle", "blocked q LeftOut", "blocked r Circle"]);
    let plan = circle().plan();
    let Some(BrokenReference::Circle(references)) = plan.broken_references().next() else { panic!("{plan:?}") };
    let steps: Vec<String> =
        references.iter().map(|step| format!("{} {} {}", step.by, step.path, step.target)).collect();
    assert_eq!(
        steps,
        [
            "service_policy:shop/p spec.legacy_rule_list.rules[0] service_policy_rule:shop/r",
            "service_policy_rule:shop/r spec.goto_policy[0] service_policy:shop/p"
        ]
    );
    // One of them is there already.
    let replaced = circle().live(ours(&rule("r", &[])));
    assert_eq!(waves(&replaced.plan()), [vec!["p", "q"], vec!["r"]]);
    // Live has the circle: compared, and replaced.
    let live_circle =
        circle().live(ours(&policy("p", &["r"]))).live(ours(&rule("r", &["p"]))).live(ours(&policy("q", &[])));
    assert_eq!(live_circle.lines(), ["replace q spec.rule_choice=pending"]);
}

#[test]
fn a_reference_that_names_the_own_tenant_is_one_within_it() {
    let shown = |name: &str| LiveObject { tenant: Some("acme-x".to_owned()), ..ours(&check(name)) };
    let pool = |name: &str, tenant: &str| {
        let to = json!([{"name": name, "tenant": tenant}]);
        object("origin_pool:shop/p", &json!({"port": 443, "healthcheck": to}))
    };
    let deleted = |tenant: &str| world().live(shown("alive")).defined(pool("alive", tenant)).lines();
    assert_eq!(deleted("acme-x"), ["create p", "blocked alive Deleted"]);
    assert_eq!(deleted("other"), ["create p", "delete alive"]);
    let missing =
        |tenant: &str| world().live(shown("alive")).defined(check("alive")).defined(pool("gone", tenant)).lines();
    assert_eq!(missing("acme-x"), ["blocked p Missing"]);
    assert_eq!(missing("other"), ["create p"]);
}

#[test]
fn a_circle_of_deletes_is_an_error_unless_one_of_them_lets_go() {
    let both = || world().live(ours(&policy("p", &["r"]))).live(ours(&rule("r", &["p"])));
    assert_eq!(both().lines(), ["blocked p LiveCircle", "blocked r LiveCircle"]);
    let kept = both().defined(rule("r", &[]));
    assert_eq!(waves(&kept.plan()), [["r"], ["p"]]);
    assert_eq!(kept.plan().broken_references().count(), 0);
}

#[test]
fn a_wrong_reference_is_a_mistake_also_of_what_is_blocked_for_another_field() {
    let site = |spec: Json| object("securemesh_site_v2:system/ce", &spec);
    let world = |spec: Json| {
        let live = ours(&site(json!({"kvm": {"not_managed": {}}})));
        world().live(live).defined(site(spec)).with(|world| {
            world.kinds = ["securemesh_site_v2", "log_receiver"].into_iter().filter_map(KindName::find).collect();
            let scope = Scope::try_from("log_receiver:shop".to_owned()).expect("a scope");
            world.reads.insert(scope, ListRead::Complete { items: BTreeMap::new() });
        })
    };
    let to = |name: &str| json!({"log_receiver": {"name": name, "namespace": "shop"}});
    assert_eq!(world(json!({"vmware": {"not_managed": {}}})).lines(), ["blocked ce Immutable"]);
    let wrong = json!({"vmware": {"not_managed": {}}, "log_receiver_with_net": to("gone")});
    assert_eq!(world(wrong).lines(), ["blocked ce Missing"]);
}

#[test]
fn a_part_of_a_plan_creates_nothing_whose_target_it_leaves_out() {
    let whole = world().defined(balancer("lb", "pool")).defined(pool("pool", &["alive"])).defined(check("alive"));
    let mut plan = whole.plan();
    for change in &mut plan.changes {
        let is_theirs = change.key.name.as_str() == "alive";
        change.attribution = Some(if is_theirs { Attribution::PendingOnBase } else { Attribution::ThisChange });
    }
    let part = plan.only_this_change(&Allowances::default());
    assert!(part.changes.is_empty(), "{:?}", part.changes);
    assert_eq!(part.blocked.len(), 2);
}

#[test]
fn a_part_of_a_plan_deletes_nothing_that_a_change_which_it_leaves_out_would_let_go() {
    let whole = world()
        .live(ours(&check("alive")))
        .live(ours(&check("ready")))
        .live(ours(&pool("pool", &["alive"])))
        .defined(check("ready"))
        .defined(pool("pool", &["ready"]));
    let part = |of: Attribution, allow: &Allowances| {
        let mut plan = whole.plan();
        assert_eq!((plan.changes.len(), plan.blocked.len()), (2, 0));
        for change in &mut plan.changes {
            if let Action::Replace { fields, .. } = &mut change.action {
                fields[0].attribution = Some(of);
            } else {
                change.attribution = Some(Attribution::ThisChange);
            }
        }
        plan.only_this_change(allow)
    };
    let none = Allowances::default();
    assert_eq!(part(Attribution::ThisChange, &none).changes.len(), 2);
    let left = part(Attribution::PendingOnBase, &none);
    let [BlockedChange { reason: BlockReason::Referred { by }, .. }] = left.blocked.as_slice() else {
        panic!("{left:?}")
    };
    assert_eq!((by[0].to_string().as_str(), left.changes.len()), ("origin_pool:shop/pool", 0));
    let mut allow = Allowances::default();
    allow.add("referred=healthcheck:shop/alive").expect("an allowance");
    let allowed = part(Attribution::PendingOnBase, &allow);
    assert_eq!((allowed.deletes().count(), allowed.blocked.len()), (1, 0));
}

#[test]
fn a_part_of_a_plan_deletes_nothing_that_what_it_keeps_refers_to() {
    // The pool gets another name and another check, which the base has still to create.
    let whole = world()
        .live(ours(&check("alive")))
        .live(ours(&pool("a", &["alive"])))
        .defined(check("ready"))
        .defined(pool("b", &["ready"]));
    let mut plan = whole.plan();
    for change in &mut plan.changes {
        let is_theirs = change.key.name.as_str() == "ready";
        change.attribution = Some(if is_theirs { Attribution::PendingOnBase } else { Attribution::ThisChange });
    }
    let part = plan.only_this_change(&Allowances::default());
    assert_eq!((part.changes.len(), part.blocked.len()), (0, 3), "{part:?}");
}

#[test]
fn the_work_on_many_namespaces_grows_with_their_number() {
    type Change = fn(World, Object) -> World;
    let kinds: BTreeSet<KindName> = KINDS.iter().filter_map(|name| KindName::find(name)).collect();
    // A check and a pool that refers to it in each namespace: both in sync, or the pool created or changed.
    let many = |count: usize, change: Change| {
        let namespaces = (0..count / 2).map(|number| format!("n{number:05}"));
        let mut world = World::new();
        for namespace in namespaces {
            let check = object(&format!("healthcheck:{namespace}/alive"), &json!({"timeout": 3}));
            let spec = json!({"port": 443, "healthcheck": references(&["alive"])});
            world = world.defined(check.clone()).live(ours(&check));
            world = change(world, object(&format!("origin_pool:{namespace}/pool"), &spec));
        }
        let named: BTreeSet<Namespace> = world.reads.keys().map(|scope| scope.namespace.clone()).collect();
        for (namespace, kind) in named.iter().flat_map(|namespace| kinds.iter().map(move |kind| (namespace, *kind))) {
            let scope = Scope { namespace: namespace.clone(), kind };
            world.reads.entry(scope).or_insert_with(|| ListRead::Complete { items: BTreeMap::new() });
        }
        world.with(|world| (world.kinds, world.namespaces) = (kinds.clone(), named))
    };
    let changes: [(&str, Change); 4] = [
        ("in sync", |world, pool| world.live(ours(&pool)).defined(pool)),
        ("created", |world, pool| world.defined(pool)),
        ("deleted", |world, pool| world.live(ours(&pool))),
        ("replaced", |world, pool| {
            let spec = json!({"port": 8443, "healthcheck": references(&["alive"])});
            world.live(ours(&pool)).defined(object(&pool.key.to_string(), &spec))
        }),
    ];
    for (name, change) in changes {
        assert_no_search_through_all(name, |keys| {
            let world = many(keys, change);
            count(|| {
                let plan = world.plan();
                assert_eq!(plan.changes.len(), if name == "in sync" { 0 } else { keys / 2 }, "{name}");
                drop(Waves::of(&plan.changes));
            })
        });
    }
}
