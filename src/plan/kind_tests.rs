//! Plans over several kinds: what one unread list leaves of the others, and what the guards count.

use serde_json::json;

use super::world::{STACK, World, annotated, endpoint, live, object, shop};
use super::*;
use crate::model::{ListRead, Object};

fn scope(text: &str) -> Scope {
    Scope::try_from(text.to_owned()).expect("a scope")
}

fn kinds(names: &[&str]) -> BTreeSet<KindName> {
    names.iter().filter_map(|name| KindName::find(name)).collect()
}

fn check(name: &str, timeout: u32) -> Object {
    object(&format!("healthcheck:shop/{name}"), &json!({"timeout": timeout, "interval": 15}))
}

fn ours(endpoint: &Object) -> crate::model::LiveObject {
    annotated(live(endpoint.clone()), endpoint, Some(STACK))
}

fn world() -> World {
    World::new().with(|world| {
        world.kinds = kinds(&["healthcheck", "origin_pool"]);
        for kind in ["healthcheck:shop", "origin_pool:shop"] {
            world.reads.insert(scope(kind), ListRead::Complete { items: BTreeMap::new() });
        }
    })
}

fn unread(world: World, list: &str) -> World {
    let read = ListRead::Unknown { reason: "403 Forbidden".to_owned() };
    world.with(|world| drop(world.reads.insert(scope(list), read)))
}

#[test]
fn a_kind_that_cannot_be_read_is_unknown_in_that_namespace_and_the_others_are_planned() {
    let gone = ours(&endpoint("gone", 1));
    let world = unread(world().defined(endpoint("a", 1)).defined(check("b", 3)).live(gone), "healthcheck:shop");
    assert_eq!(world.lines(), ["create a", "delete gone"]);
    let plan = world.plan();
    let unknown: Vec<String> = plan.unknown().map(|(scope, _)| scope.to_string()).collect();
    assert_eq!(unknown, ["healthcheck:shop"]);
    let refused = plan.approve(Approval::Given, &Allowances::default()).expect_err("it is not known whole");
    assert!(refused.to_string().contains("`healthcheck:shop`"), "{refused}");
    let allow = |names: &[&str]| {
        let mut allow = Allowances::default();
        names.iter().for_each(|name| allow.add(name).expect("an allowance"));
        allow
    };
    let narrowed = world.with(|world| world.selection.add_except("healthcheck:*").expect("a glob")).plan();
    assert!(narrowed.approve(Approval::Given, &allow(&["empty-namespace"])).is_ok());
}

#[test]
fn a_kind_that_is_not_offered_is_a_note_where_nothing_is_defined_and_unknown_elsewhere() {
    let not_offered =
        |world: World| world.with(|world| drop(world.reads.insert(scope("healthcheck:shop"), ListRead::NotOffered)));
    let without = not_offered(world());
    assert_eq!(without.lines(), ["not offered healthcheck:shop"]);
    assert!(without.plan().approve(Approval::Given, &Allowances::default()).is_ok());
    let with = not_offered(world().defined(check("b", 3)));
    assert_eq!(with.lines(), Vec::<String>::new());
    assert_eq!(with.plan().unknown().count(), 1);
}

/// Endpoints that stay as they are, and checks of which so many are replaced and so many deleted.
fn crowd(endpoints: usize, checks: usize, replaced: usize, deleted: usize) -> World {
    let mut crowd = world();
    for at in 0..endpoints {
        let endpoint = endpoint(&format!("e{at:03}"), 1);
        crowd = crowd.live(ours(&endpoint)).defined(endpoint);
    }
    for at in 0..checks {
        let name = format!("c{at:03}");
        crowd = crowd.live(ours(&check(&name, 3)));
        if at >= deleted {
            crowd = crowd.defined(check(&name, if at < deleted + replaced { 4 } else { 3 }));
        }
    }
    crowd
}

fn guards(world: &World) -> Vec<String> {
    world.plan().guards.iter().map(ToString::to_string).collect()
}

#[test]
fn a_guard_counts_a_kind_among_many_objects_of_others() {
    let all = ["the plan would delete every owned healthcheck object of `shop` (3)"];
    assert_eq!(guards(&crowd(300, 3, 0, 3)), all);
    assert_eq!(guards(&crowd(300, 3, 0, 2)), Vec::<String>::new());
    assert_eq!(guards(&crowd(300, 1, 0, 1)), Vec::<String>::new(), "one is a change like any other");
    let many = ["the plan would delete or replace 12 of 20 healthcheck objects of `shop` (60 %, allowed 30 %)"];
    assert_eq!(guards(&crowd(300, 20, 8, 4)), many);
    // What is said of the whole namespace is not said again of the kind.
    let whole = ["the plan would delete or replace 12 of 25 objects of `shop` (48 %, allowed 30 %)"];
    assert_eq!(guards(&crowd(5, 20, 8, 4)), whole);
    let whole = ["the plan would delete every owned healthcheck object of `shop` (3)"];
    assert_eq!(guards(&crowd(0, 3, 0, 3)), whole);
}

#[test]
fn a_saved_plan_names_what_its_guards_count() {
    let plan = crowd(300, 3, 0, 3).plan();
    let text = plan.to_file();
    let read = Plan::from_file(text.as_bytes()).expect("a plan");
    assert_eq!(read.guards[0].kinds, kinds(&["healthcheck"]));
    assert_eq!(read.guards[0].namespace, Some(shop()));
    assert!(!crowd_of_endpoints().to_file().contains("\"kinds\""));
}

fn crowd_of_endpoints() -> Plan {
    let gone = ours(&endpoint("gone", 1));
    World::new().live(gone).plan()
}
