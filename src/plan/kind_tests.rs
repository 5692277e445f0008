//! Plans over several kinds: what one unread list leaves of the others, and what the guards count.

use serde_json::json;

use super::*;
use crate::model::policy::IgnoreRule;
use crate::model::{Field, Json, ListRead, LiveObject, Object, PROTECT, RelatedObject, SourceLocation};
use crate::tests::world::{STACK, World, annotated, endpoint, live, object, shop};

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

#[test]
fn nothing_of_a_kind_that_the_stack_does_not_list_is_deleted() {
    let world = World::new().defined(check("a", 3)).live(ours(&check("a", 3))).live(ours(&check("b", 3)));
    assert_eq!(world.lines(), ["orphan b"]);
    assert_eq!(world.with(|world| world.kinds = kinds(&["healthcheck"])).lines(), ["delete b"]);
}

#[test]
fn what_a_definition_does_not_name_is_noted_unless_it_is_ignored_or_goes() {
    let wanted = check("a", 3);
    let more =
        object("healthcheck:shop/a", &json!({"timeout": 3, "interval": 15, "jitter_percent": 20, "newer": true}));
    let world =
        |applied: &Object| world().defined(wanted.clone()).live(annotated(live(more.clone()), applied, Some(STACK)));
    let left = world(&wanted);
    assert_eq!(left.lines(), ["unknown field spec.newer", "unnamed spec.jitter_percent"]);
    let strict = left.with(|world| world.settings.safeguards.strict = kinds(&["healthcheck"]));
    assert_eq!(strict.lines(), ["replace a spec.jitter_percent=drift", "unknown field spec.newer"]);
    let rule = IgnoreRule { object: "healthcheck:shop/a".to_owned(), field: Field::of_unit("jitter_percent") };
    let ignored = world(&wanted).with(|world| world.ignore = Ignore::new([&rule]).expect("a rule"));
    assert_eq!(ignored.lines(), ["unknown field spec.newer"]);
    assert_eq!(world(&more).lines(), ["replace a spec.jitter_percent=pending", "unknown field spec.newer"]);
}

#[test]
fn what_is_not_described_stays_in_a_unit_that_changes_and_is_noted() {
    let pool = |options: &Json| object("origin_pool:shop/a", &json!({"advanced_options": options}));
    let applied = object("origin_pool:shop/a", &json!({}));
    let newer = annotated(live(pool(&json!({"newer": 1}))), &applied, Some(STACK));
    let world = world().defined(pool(&json!({"connection_timeout": 5}))).live(newer);
    assert_eq!(world.lines(), ["replace a spec.advanced_options=both", "unknown field spec.advanced_options.newer"]);
}

#[test]
fn what_the_service_did_not_take_is_noted() {
    let wanted = object("healthcheck:shop/a", &json!({"timeout": 3, "interval": 15, "newer": true}));
    let world = world().live(annotated(live(check("a", 3)), &wanted, Some(STACK))).defined(wanted);
    assert_eq!(world.lines(), ["not taken spec.newer"]);
}

#[test]
fn a_unit_of_which_no_answer_shows_anything_is_written_again_unless_another_option_is_shown() {
    let rule = |option: &str, value: &Json| {
        object("infraprotect_deny_list_rule:system/a", &json!({"prefix": "192.0.2.0/24", option: value}))
    };
    let World { desired, .. } = World::new().defined(rule("one_day", &json!({})));
    let definition = desired.definitions.values().next().expect("a definition");
    let unshown = |live: &Object| namespace::unshown(definition, live).into_keys().collect::<Vec<_>>();
    assert_eq!(
        unshown(&object("infraprotect_deny_list_rule:system/a", &json!({"prefix": "192.0.2.0/24"}))),
        ["expiration"]
    );
    assert_eq!(unshown(&rule("expiration_timestamp", &json!("2026-11-22T10:00:00Z"))), [""; 0]);
}

#[test]
fn a_write_loses_a_secret_unless_it_contains_it_or_its_unit_goes() {
    let tls = |certificate: &Json| json!({"use_tls": {"use_mtls": {"tls_certificates": [certificate]}}});
    let pool = object("origin_pool:shop/a", &tls(&json!({"certificate_url": "string:///YQ=="})));
    let place = "spec.use_tls.use_mtls.tls_certificates[0].private_key";
    let live = LiveObject { secrets: vec![place.to_owned()], ..ours(&pool) };
    let lost = |unit: &str, after: Json| {
        let fields = vec![FieldChange::new(Field::of_unit(unit), Json::Null, after, Cause::Pending)];
        let action = Action::Replace { fields, adopts: false, before: BeforeImage::of(&live) };
        Change::new(pool.key.clone(), action).lost_secret(&live).is_some()
    };
    assert!(lost("port_choice", json!({"port": 80})));
    assert!(lost("tls_choice", tls(&json!({"certificate_url": "string:///Yg=="}))));
    assert!(!lost("tls_choice", tls(&json!({"private_key": {"sealed": "0123456789abcdef0123456789abcdef"}}))));
    assert!(!lost("tls_choice", json!({"no_tls": {}})));
    assert!(!lost("tls_choice", Json::Null));
}

#[test]
fn what_lacks_a_secret_that_it_needs_and_that_is_not_live_is_blocked() {
    let secret = || json!({"sealed": "0123456789abcdef0123456789abcdef"});
    let credentials = |spec: Json| object("cloud_credentials:shop/a", &spec);
    let aws = || credentials(json!({"aws_secret_key": {"access_key": "A"}}));
    let allowed = |world: World| {
        world.with(|world| world.allow.add("recreate=cloud_credentials:shop/a").expect("an allowance")).lines()
    };
    let gcp = |file: Json| {
        let empty = ListRead::Complete { items: BTreeMap::new() };
        World::new().defined(credentials(json!({"gcp_cred_file": file}))).with(|world| {
            world.reads.insert(scope("cloud_credentials:shop"), empty);
        })
    };
    assert_eq!(gcp(json!({})).lines(), ["blocked a SecretMissing"]);
    assert_eq!(allowed(gcp(json!({})).live(ours(&aws()))), ["blocked a SecretMissing"]);
    let with_secret = || gcp(json!({"credential_file": secret()}));
    assert_eq!(with_secret().lines(), ["create a"]);
    assert_eq!(allowed(with_secret().live(ours(&aws()))), ["recreate a spec.cloud=pending"]);
    // A replace of another option, and of other fields where the service has the secret.
    let receiver = |receiver: Json| object("alert_receiver:shop/a", &receiver);
    let sms = receiver(json!({"sms": {"contact_number": "+4930123456"}}));
    let slack = |channel: &str| receiver(json!({"slack": {"channel": channel}}));
    assert_eq!(World::new().defined(slack("a")).live(ours(&sms)).lines(), ["blocked a SecretMissing"]);
    let live = LiveObject { secrets: vec!["spec.slack.url".to_owned()], ..ours(&slack("a")) };
    assert_eq!(World::new().defined(slack("a")).live(live.clone()).lines(), [""; 0]);
    assert_eq!(World::new().defined(slack("b")).live(live).lines(), ["blocked a Secret"]);
}

#[test]
fn nothing_is_deleted_in_whose_place_a_blocked_create_may_be_meant() {
    let gcp = |key: &str, file: Json| object(&format!("cloud_credentials:{key}"), &json!({"gcp_cred_file": file}));
    let site = object("virtual_site:shop/site", &json!({"site_selector": {"expressions": ["a in (b)"]}}));
    let world = |defined: Object| {
        World::new().defined(defined).live(ours(&gcp("shop/a", json!({})))).live(ours(&site)).with(|world| {
            world.kinds = kinds(&["cloud_credentials", "virtual_site"]);
            let empty = ListRead::Complete { items: BTreeMap::new() };
            world.reads.entry(scope("cloud_credentials:pay")).or_insert(empty);
        })
    };
    // Another name, another namespace; the delete of another kind is no part of it.
    for (moved, name) in [("shop/b", "b"), ("pay/a", "a")] {
        let lines = world(gcp(moved, json!({}))).lines().into_iter();
        let lines: BTreeSet<String> = lines.filter(|line| !line.starts_with("renamed")).collect();
        let held = [format!("blocked a unreplaced cloud_credentials:{moved}"), format!("blocked {name} SecretMissing")];
        assert_eq!(lines, held.into_iter().chain(["delete site".to_owned()]).collect());
        let secret = json!({"credential_file": {"sealed": "0123456789abcdef0123456789abcdef"}});
        let mut lines = world(gcp(moved, secret)).lines();
        lines.retain(|line| !line.starts_with("renamed"));
        assert_eq!(lines, [format!("create {name}"), "delete a".to_owned(), "delete site".to_owned()]);
    }
    // What moves has its place, whatever else is blocked.
    let secret = json!({"credential_file": {"sealed": "0123456789abcdef0123456789abcdef"}});
    let both = || world(gcp("shop/n", json!({}))).defined(gcp("pay/a", secret.clone()));
    assert!(both().lines().contains(&"delete a".to_owned()), "{:?}", both().lines());
    // An object of its name with another spec does not take its place.
    let another = object(
        "cloud_credentials:pay/a",
        &json!({"aws_secret_key": {"access_key": "a", "secret_key": secret["credential_file"]}}),
    );
    let lines = world(gcp("shop/n", json!({}))).defined(another).lines();
    assert!(lines.contains(&"blocked a unreplaced cloud_credentials:shop/n".to_owned()), "{lines:?}");
}

#[test]
fn a_part_of_a_plan_is_blocked_by_what_it_keeps_and_not_by_what_it_leaves_out() {
    let receiver = |name: &str, spec: Json| object(&format!("alert_receiver:shop/{name}"), &spec);
    let sms = || json!({"sms": {"contact_number": "+4930123456"}});
    let part = |world: World, of: &dyn Fn(&Change) -> Attribution| {
        let mut plan = world.with(|world| world.kinds = kinds(&["alert_receiver"])).plan();
        let unknown = BlockReason::Unchangeable(Unchangeable::DefinersUnknown { reason: "elsewhere".to_owned() });
        plan.block_deletes(|key| (key.name.as_str() == "elsewhere").then(|| unknown.clone()));
        plan.refer(&Allowances::default(), |key| {
            Ok(if key.name.as_str() == "referred" { vec![pool()] } else { Vec::new() })
        });
        let blocked = plan.blocked.iter_mut().filter_map(|held| held.change.as_mut());
        for change in plan.changes.iter_mut().chain(blocked) {
            change.attribution = Some(of(change));
            let fields = match &mut change.action {
                Action::Replace { fields, .. } => fields.as_mut_slice(),
                _ => &mut [],
            };
            for field in fields {
                let is_label = matches!(field.field, Field::Label(_));
                field.attribution = Some(if is_label { Attribution::ThisChange } else { Attribution::PendingOnBase });
            }
        }
        plan.only_this_change(&Allowances::default())
    };
    // The create of another lacks its secret.
    let removed = ["x", "elsewhere", "referred"]
        .iter()
        .fold(World::new(), |world, name| world.live(ours(&receiver(name, sms()))));
    let removed =
        part(removed.defined(receiver("n", json!({"slack": {"channel": "a"}}))), &|change| match change.action {
            Action::Delete { .. } => Attribution::ThisChange,
            _ => Attribution::PendingOnBase,
        });
    assert_eq!(removed.deletes().map(|key| key.name.as_str()).collect::<Vec<_>>(), ["x"]);
    // What else blocks a delete is a reason that the part keeps.
    let blocked: Vec<_> = removed.blocked.iter().map(|held| (held.key.name.as_str(), &held.reason)).collect();
    let unknown = BlockReason::Unchangeable(Unchangeable::DefinersUnknown { reason: "elsewhere".to_owned() });
    assert_eq!(blocked, [("elsewhere", &unknown), ("referred", &BlockReason::Referred { by: vec![pool()] })]);
    // The option that the rest switches away keeps its secret, which no definition has.
    let slack = receiver("r", json!({"slack": {"channel": "a"}}));
    let live = LiveObject { secrets: vec!["spec.slack.url".to_owned()], ..ours(&slack) };
    // With the last one, the whole is blocked as well.
    for spec in [sms(), json!({"opsgenie": {"url": "https://o.example.com"}})] {
        let mut wanted = receiver("r", spec);
        wanted.labels.insert("tier".to_owned(), "a".to_owned());
        let label = part(World::new().live(live.clone()).defined(wanted), &|_| Attribution::PendingOnBase);
        let reasons: Vec<_> = label.blocked.iter().map(|held| &held.reason).collect();
        let path = "spec.slack.url".to_owned();
        assert_eq!(reasons, [&BlockReason::Unchangeable(Unchangeable::Secret { path })], "{label:?}");
        assert!(label.changes.is_empty());
    }
}

/// A virtual site that would be created anew, with what is allowed.
fn recreated(allow: &[&str], protect: bool) -> World {
    let site = |of: &str| {
        let spec = json!({"site_type": of, "site_selector": {"expressions": ["a in (b)"]}});
        object("virtual_site:shop/edge", &spec)
    };
    let mut old = ours(&site("REGIONAL_EDGE"));
    if protect {
        old.endpoint.annotations.insert(PROTECT.to_owned(), "true".to_owned());
    }
    World::new().live(old).defined(site("CUSTOMER_EDGE")).with(|world| {
        allow.iter().for_each(|name| world.allow.add(name).expect("an allowance"));
    })
}

#[test]
fn a_protected_object_is_created_anew_only_where_both_are_allowed() {
    let [recreate, protected] = ["recreate=virtual_site:shop/edge", "protected=virtual_site:shop/edge"];
    for (allow, line) in [
        (&[][..], "blocked edge Immutable"),
        (&[protected], "blocked edge Immutable"),
        (&[recreate], "blocked edge protected"),
        (&[recreate, protected], "recreate edge spec.site_type=pending"),
    ] {
        assert_eq!(recreated(allow, true).lines(), [line]);
    }
    let mut plan = recreated(&[recreate], false).plan();
    assert_eq!(plan.going().map(ToString::to_string).collect::<Vec<_>>(), ["virtual_site:shop/edge"]);
    assert_eq!(plan.deletes().count(), 0);
    // With `strict`, it also takes away what no definition names.
    let in_force = plan.settings.safeguards.clone();
    plan.settings.safeguards.strict.insert(KindName::find("virtual_site").expect("a kind"));
    assert_eq!(plan.looser_setting(&in_force), Some("strict"));
    assert_eq!(plan.looser_setting(&plan.settings.safeguards), None);
}

#[test]
fn a_part_of_what_is_created_anew_or_blocked_has_no_field_of_others_and_is_a_replace_where_one_does() {
    let site = |of: &str, label: &str| {
        let mut site =
            object("virtual_site:shop/edge", &json!({"site_type": of, "site_selector": {"expressions": ["a in (b)"]}}));
        site.labels.insert("of".to_owned(), label.to_owned());
        site
    };
    let part = |allow: &[&str], stack: &str, ours: &str, by: &[RelatedObject]| {
        let was = site("REGIONAL_EDGE", "one");
        let world =
            World::new().live(annotated(live(was.clone()), &was, Some(stack))).defined(site("CUSTOMER_EDGE", "two"));
        let mut plan =
            world.with(|world| allow.iter().for_each(|name| world.allow.add(name).expect("an allowance"))).plan();
        plan.refer(&Allowances::default(), |_| Ok(by.to_vec()));
        let blocked = plan.blocked.iter_mut().filter_map(|held| held.change.as_mut());
        for change in plan.changes.iter_mut().chain(blocked) {
            let (Action::Replace { fields, .. } | Action::Recreate { fields, .. }) = &mut change.action else {
                continue;
            };
            for field in fields {
                let is_ours = field.field.to_string() == ours;
                field.attribution = Some(if is_ours { Attribution::ThisChange } else { Attribution::PendingOnBase });
            }
        }
        let part = plan.only_this_change(&Allowances::default());
        let of = |change: &Change| {
            format!(
                "{} {}",
                change.action.kind(),
                change.fields().iter().map(|change| change.field.to_string()).collect::<String>()
            )
        };
        part.changes
            .iter()
            .map(of)
            .chain(part.blocked.iter().map(|held| format!("blocked {}", of(held.change.as_ref().expect("a change")))))
            .collect::<Vec<_>>()
    };
    let [recreate, label, fixed] = ["recreate=virtual_site:shop/edge", "labels.of", "spec.site_type"];
    for (allow, by) in [(&[recreate][..], vec![]), (&[], vec![]), (&[recreate], vec![pool()]), (&[], vec![pool()])] {
        assert_eq!(part(allow, STACK, label, &by), ["replace labels.of"], "{allow:?} {by:?}");
    }
    assert_eq!(part(&[recreate], STACK, fixed, &[]), ["recreate spec.site_type"]);
    assert_eq!(part(&[], STACK, fixed, &[]), ["blocked replace spec.site_type"]);
    assert_eq!(part(&[], "other", label, &[]), ["blocked replace labels.of"]);
}

#[test]
fn what_is_referred_to_is_blocked_by_that_before_it_may_be_created_anew() {
    let mut plan = recreated(&[], false).plan();
    assert_eq!(plan.going().map(ToString::to_string).collect::<Vec<_>>(), ["virtual_site:shop/edge"]);
    let immutable = plan.blocked[0].reason.clone();
    plan.refer(&Allowances::default(), |_| Ok(Vec::new()));
    assert_eq!(plan.blocked[0].reason, immutable);
    plan.refer(&Allowances::default(), |_| Ok(vec![pool()]));
    assert_eq!(plan.blocked[0].reason, BlockReason::Referred { by: vec![pool()] });
}

fn pool() -> RelatedObject {
    RelatedObject::from(&Key::parse("origin_pool:pay/p").expect("a key"))
}

#[test]
fn each_field_of_what_is_replaced_or_created_anew_or_blocked_has_its_place() {
    let line = |place: &Option<SourceLocation>| place.as_ref().map(|place| place.line);
    for allow in [&[][..], &["recreate=virtual_site:shop/edge"]] {
        let mut plan = recreated(allow, false).plan();
        plan.locate(|| {
            |_: &Key, field: Option<&FieldChange>| {
                let line = if field.is_some() { 4 } else { 1 };
                let whole = Some(SourceLocation { file: "f".to_owned(), line, column: 1 });
                ChangePlaces { whole, ..ChangePlaces::default() }
            }
        });
        let change = plan.with_blocked().next().expect("a change");
        assert_eq!((line(&change.place), line(&change.fields()[0].place)), (Some(1), Some(4)), "{allow:?}");
        assert!(plan.blocked.iter().all(|entry| line(&entry.place) == Some(1)));
    }
}

#[test]
fn filters_are_judged_only_where_each_list_that_they_may_reach_was_read() {
    let is_judged = |change: &dyn Fn(&mut World)| {
        let mut world = world().with(|world| world.selection.add_only("shop/x").expect("a glob"));
        change(&mut world);
        world.built(world.reads.iter(), |builder| builder.matched().is_some())
    };
    assert!(is_judged(&|_| ()));
    assert!(is_judged(&|world| drop(world.reads.insert(scope("healthcheck:shop"), ListRead::NotOffered))));
    for list in ["healthcheck:shop", "shop"] {
        assert!(!is_judged(&|world| drop(world.reads.remove(&scope(list)))), "{list}");
    }
    let unknown = || ListRead::Unknown { reason: "403".to_owned() };
    assert!(!is_judged(&|world| drop(world.reads.insert(scope("healthcheck:shop"), unknown()))));
}

#[test]
fn the_order_in_which_lists_arrive_does_not_matter() {
    let world = recreated(&[], false)
        .with(|world| world.kinds = kinds(&["healthcheck", "virtual_site"]))
        .defined(check("a", 3))
        .live(annotated(live(check("b", 3)), &check("b", 3), Some("other")))
        .defined(check("b", 4))
        .defined(endpoint("a", 1))
        .live(live(endpoint("b", 1)));
    assert_eq!(world.lines().len(), 5, "{:?}", world.lines());
    assert_eq!(world.plan_of(world.reads.iter().rev()).to_file(), world.plan().to_file());
}
