//! What is true for any live state and any definitions, decided over values.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;
use trueup::diff::{self, CompareOptions};
use trueup::model::{
    Field, Json, Key, Layout, ListRead, Live, LiveItem, LiveObject, Namespace, Object, Ownership, Scope,
};
use trueup::plan::{self, Action, Allowances, Ignore, Plan, PlanInput, PlanSettings, Selection, ServiceId};

use crate::strategies;

/// The stack of these plans.
pub const STACK: &str = "random";

fn namespaces() -> BTreeSet<Namespace> {
    ["pay", "shop"].into_iter().map(|name| Namespace::parse(name).expect("a name")).collect()
}

fn object(endpoint: Object) -> LiveObject {
    LiveObject::new(format!("uid of {}", endpoint.key), endpoint)
}

fn arrange(definitions: Vec<Object>, live: &BTreeMap<Key, Object>) -> Plan {
    let mut settings = PlanSettings::default();
    settings.safeguards.prune = plan::Prune::All;
    planned(definitions, live, &settings)
}

/// The plan of these definitions against this live state.
pub fn planned(definitions: Vec<Object>, live: &BTreeMap<Key, Object>, settings: &PlanSettings) -> Plan {
    let mut reads: BTreeMap<Scope, ListRead> = namespaces()
        .into_iter()
        .map(|namespace| (Scope::endpoints(namespace), ListRead::Complete { items: BTreeMap::new() }))
        .collect();
    for (key, endpoint) in live {
        if let Some(ListRead::Complete { items }) = reads.get_mut(&key.into()) {
            items.insert(key.clone(), LiveItem::Object(object(endpoint.clone())));
        }
    }
    plan::arrange(
        Plan {
            stack: Some(STACK.to_owned()),
            settings: settings.clone(),
            service: ServiceId { base_url: "http://x".to_owned(), layout: Layout::Uniform },
            ..Plan::default()
        },
        PlanInput {
            desired: &strategies::desired(definitions),
            namespaces: &namespaces(),
            kinds: &BTreeSet::new(),
            ignore: &Ignore::default(),
            allow: &Allowances::default(),
            selection: &Selection::all(),
        },
        &Live { lists: reads, requests: 0 },
    )
}

/// Does to values what an apply does to a service.
pub fn apply(plan: &Plan, live: &mut BTreeMap<Key, Object>) {
    for change in &plan.changes {
        let mut raw = match &change.action {
            Action::Delete { .. } => {
                live.remove(&change.key);
                continue;
            }
            Action::Create { wanted } => serde_json::to_value(wanted).expect("JSON"),
            Action::Replace { .. } | Action::Recreate { .. } | Action::Annotate { .. } => {
                serde_json::to_value(&live[&change.key]).expect("JSON")
            }
        };
        for field in change.fields() {
            field.field.set(trueup::kind::KindName::ENDPOINT, &mut raw, &field.before, &field.after);
        }
        for (field, value) in change.ownership.iter().flat_map(|ownership| ownership.annotations("run-1")) {
            field.set(trueup::kind::KindName::ENDPOINT, &mut raw, &Json::Null, &value.map_or(Json::Null, Json::String));
        }
        live.insert(change.key.clone(), serde_json::from_value(raw).expect("an endpoint"));
    }
}

fn has_equal_items(value: &Json) -> bool {
    match value {
        Json::Object(entries) => entries.values().any(has_equal_items),
        Json::Array(items) => {
            (0..items.len()).any(|at| items[..at].contains(&items[at]) || has_equal_items(&items[at]))
        }
        _ => false,
    }
}

/// Adds a key that the model does not know at every level of an object, with its place as its value, and returns where.
fn plant(value: &mut Json, path: &str, planted: &mut Vec<String>) {
    match value {
        Json::Object(map) => {
            for (key, value) in map.iter_mut() {
                plant(value, &format!("{path}/{key}"), planted);
            }
            planted.push(format!("{path}/future"));
            map.insert("future".to_owned(), Json::from(format!("{path}/future")));
        }
        Json::Array(items) => {
            for (index, item) in items.iter_mut().enumerate() {
                plant(item, &format!("{path}/{index}"), planted);
            }
        }
        _ => {}
    }
}

/// Whether a value is this text or has it in it.
fn has(value: &Json, text: &str) -> bool {
    match value {
        Json::Object(map) => map.values().any(|value| has(value, text)),
        Json::Array(items) => items.iter().any(|item| has(item, text)),
        value => value == text,
    }
}

/// A JSON pointer as the path of an unknown field.
fn dotted(pointer: &str) -> String {
    let steps = pointer.trim_start_matches('/').split('/');
    steps.fold(String::new(), |path, step| match step.parse::<usize>() {
        Ok(index) => format!("{path}[{index}]"),
        Err(_) if path.is_empty() => step.to_owned(),
        Err(_) => format!("{path}.{step}"),
    })
}

/// The endpoints by their keys.
pub fn by_key(endpoints: Vec<Object>) -> BTreeMap<Key, Object> {
    endpoints.into_iter().map(|endpoint| (endpoint.key.clone(), endpoint)).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn after_an_apply_nothing_is_left_to_do(definitions in strategies::endpoints(), live in strategies::endpoints()) {
        let mut live = by_key(live);
        let first = arrange(definitions.clone(), &live);
        apply(&first, &mut live);
        let second = arrange(definitions, &live);
        prop_assert!(second.changes.is_empty(), "left: {:?}", second.changes);
        prop_assert!(second.blocked.is_empty());
    }

    #[test]
    fn the_order_of_definitions_never_matters(definitions in strategies::endpoints(), live in strategies::endpoints()) {
        let live = by_key(live);
        let forward = arrange(definitions.clone(), &live).to_file();
        let backward = arrange(definitions.into_iter().rev().collect(), &live).to_file();
        prop_assert_eq!(forward, backward);
    }

    #[test]
    fn a_saved_plan_reads_back_as_itself(definitions in strategies::endpoints(), live in strategies::endpoints()) {
        let plan = arrange(definitions, &by_key(live));
        let file = plan.to_file();
        let read = Plan::from_file(file.as_bytes()).expect("a plan");
        prop_assert_eq!(read.to_file(), file);
    }

    #[test]
    fn a_field_set_on_the_wire_is_the_field_read_from_it(
        from in strategies::endpoint(Key::parse("shop/a").expect("a key")),
        to in strategies::endpoint(Key::parse("shop/a").expect("a key")),
    ) {
        let differences = diff::compare(&from, &to, CompareOptions::default());
        let mut raw = serde_json::to_value(&from).expect("JSON");
        for difference in &differences {
            difference.field.set(trueup::kind::KindName::ENDPOINT, &mut raw, &difference.live, &difference.desired);
        }
        let now: Object = serde_json::from_value(raw).expect("an endpoint");
        prop_assert_eq!(diff::compare(&now, &to, CompareOptions::default()), vec![]);
    }

    #[test]
    fn a_replace_of_one_field_keeps_every_unknown_key_but_those_of_the_option_that_goes(
        from in strategies::endpoint(Key::parse("shop/a").expect("a key")),
        to in strategies::endpoint(Key::parse("shop/a").expect("a key")),
    ) {
        // Of two equal items nobody knows which one goes.
        prop_assume!(!has_equal_items(&serde_json::to_value(&from).expect("JSON")));
        for difference in diff::compare(&from, &to, CompareOptions::default()) {
            let field = &difference.field;
            let mut raw = serde_json::to_value(&from).expect("JSON");
            let mut planted = Vec::new();
            plant(&mut raw["spec"], "/spec", &mut planted);
            field.set(trueup::kind::KindName::ENDPOINT, &mut raw, &difference.live, &difference.desired);
            for pointer in &planted {
                let path = dotted(pointer);
                let kept = has(&raw, pointer);
                prop_assert_eq!(kept, !field.drops(&path, &from, &difference.live, &difference.desired), "{} {}", field, path);
                let option = |endpoint: &Object| field.value(endpoint).as_object().map(|map| map.keys().cloned().collect::<Vec<_>>());
                let same_option = option(&from) == option(&to);
                // Options inside of the option, and entries of a list that becomes shorter.
                let inner = [".service_selector.", "_internet_vip.", ".strict_ttl.", ".refs["]
                    .iter()
                    .any(|part| path.contains(part));
                prop_assert!(kept || !same_option || inner, "{} lost {}", field, path);
            }
        }
    }

    #[test]
    fn a_cause_is_drift_exactly_where_only_live_moved(
        applied in strategies::endpoint(Key::parse("shop/a").expect("a key")),
        live in strategies::endpoint(Key::parse("shop/a").expect("a key")),
    ) {
        let mark = Ownership::of(&applied, Some(STACK), "run-1");
        let applied_mark = mark.applied.as_ref().expect("applied");
        let options = CompareOptions { applied: Some(applied_mark), ignored: &[], strict: false };
        for difference in diff::compare(&live, &applied, options) {
            let cause = applied_mark.cause(&difference.field, &live, &applied);
            prop_assert_eq!(cause, trueup::model::Cause::Drift, "{}", difference.field);
        }
        for difference in diff::compare(&applied, &live, options) {
            if difference.field != Field::of_unit("where") {
                let cause = applied_mark.cause(&difference.field, &applied, &live);
                prop_assert_eq!(cause, trueup::model::Cause::Pending, "{}", difference.field);
            }
        }
    }
}
