//! Answers that no description expects: a value of another type, of nothing, or too many of one, anywhere in a live object.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use trueup::cli::definition::{self, DefinitionOptions};
use trueup::kind::{self, FieldKind};
use trueup::model::{LiveItem, Ownership};
use trueup::plan::{ActionKind, Change};

use super::round_trip::{Bench, Object, STACK};
use super::{count, kinds, load, specs};
use crate::support::objects::{self, Specs};

/// The places of the fields of a message, and of what they contain. No answer has nothing at a free key.
fn places(id: &str, value: &Value, path: &str, into: &mut Vec<String>) {
    let Value::Object(entries) = value else { return };
    for (key, value) in entries {
        let path = format!("{path}/{key}");
        into.push(path.clone());
        let field = kind::message(id).field(key);
        let Some((field, below)) = field.and_then(|field| Some((field, field.below()?))) else { continue };
        match value {
            Value::Array(items) => {
                items.iter().enumerate().for_each(|(at, item)| places(below, item, &format!("{path}/{at}"), into));
            }
            Value::Object(values) if matches!(field.kind, FieldKind::Map(_)) => {
                values.iter().for_each(|(key, value)| {
                    places(below, value, &format!("{path}/{}", key.replace('~', "~0").replace('/', "~1")), into);
                });
            }
            value => places(below, value, &path, into),
        }
    }
}

/// Makes a value at a random place another one, of its own type or of any.
fn disturb(specs: &mut Specs, id: &str, live: &mut Value, is_typed: bool) {
    let mut found = Vec::new();
    places(id, live, "", &mut found);
    if found.is_empty() {
        return;
    }
    let Some(value) = live.pointer_mut(&found[specs.below(found.len())]) else { return };
    let of_any = [json!(true), json!(1.5), json!("odd"), json!([null]), json!([[]]), json!({"odd": {"odder": [1]}})];
    let odd = match value {
        _ if !is_typed => of_any.to_vec(),
        // What an option that was not chosen shows stays nothing: no message has two of a group.
        Value::Null => vec![Value::Null],
        Value::Bool(_) => vec![Value::Null, json!(false)],
        Value::Number(number) if number.as_u64() == Some(0) => vec![Value::Null],
        Value::Number(_) => vec![Value::Null, json!(0), json!(4_000_000_000_u32)],
        Value::String(text) if text.is_empty() => vec![Value::Null],
        Value::String(_) => vec![Value::Null, json!(""), json!("odd")],
        Value::Array(items) => {
            let again = [&items[..], &items[..items.len().min(1)]].concat();
            vec![Value::Null, json!([]), again.into()]
        }
        Value::Object(entries) => {
            let (mut more, mut less) = (entries.clone(), entries.clone());
            more.insert("odd".to_owned(), json!({"er": 1}));
            less.retain(|_, _| specs.once_in(2));
            vec![Value::Null, json!({}), more.into(), less.into()]
        }
    };
    *value = odd[specs.below(odd.len())].clone();
}

#[test]
fn what_is_pulled_of_an_odd_answer_changes_nothing_or_is_no_definition() {
    let (seed, count) = (objects::seed(), count(40));
    let (mut pulled, mut refused) = (0, 0);
    for kind in kinds() {
        let mut bench = Bench { kind, specs: specs(seed, kind), objects: BTreeMap::new() };
        for number in 0..count {
            let spec = bench.specs.small(kind);
            let name = format!("a{number}");
            let text = bench.text(&name, &spec);
            let Ok(desired) = load(&[(name.clone(), text)]) else { continue };
            let ownership = Ownership::of(&desired.definitions[&bench.key(&name)].endpoint, Some(STACK), "run-1");
            let annotations: BTreeMap<&str, String> = ownership.annotations().into_iter().collect();
            let metadata = json!({"name": name, "namespace": bench.namespace(), "annotations": annotations});
            let mut live = bench.shown(&spec);
            // A value of another type is read without harm, and whatever it is taken for.
            let is_typed = !bench.specs.once_in(4);
            for _ in 0..=bench.specs.below(3) {
                disturb(&mut bench.specs, kind.spec, &mut live, is_typed);
            }
            bench.objects = BTreeMap::from([(name.clone(), Object { spec, metadata, live: live.clone() })]);
            let read = bench.read();
            let Some(LiveItem::Object(object)) = read.items().and_then(|items| items.values().next()) else {
                refused += 1;
                continue;
            };
            let text = definition::text(&object.endpoint, DefinitionOptions::of_live(object));
            let Ok(desired) = load(&[(name.clone(), text.clone())]) else {
                refused += 1;
                continue;
            };
            let plan = bench.plan(&desired, &read);
            let changes: Vec<String> = plan
                .changes
                .iter()
                .filter(|change| change.action.kind() != ActionKind::Annotate)
                .flat_map(Change::fields)
                // What no answer shows is in no pulled definition, and the plan says that it goes.
                .filter(|field| !field.is_unseen())
                .map(|field| format!("{}: {} -> {}", field.field, field.before, field.after))
                .collect();
            assert!(
                changes.is_empty() || !is_typed,
                "TRUEUP_SEED={seed} TRUEUP_KIND={} {name}: {changes:#?}\nlive {live}\n{text}",
                kind.name
            );
            pulled += 1;
        }
    }
    eprintln!("{pulled} pulled, {refused} refused");
    assert!(pulled > refused || std::env::var_os("TRUEUP_KIND").is_some());
}
