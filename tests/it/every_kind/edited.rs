//! What is true of any file that is edited in place or formatted: it takes over what is live, or means the same; it keeps its
//! comments, and nothing else of it changes.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};
use trueup::diff::{self, CompareOptions};
use trueup::kind::Kind;
use trueup::load::edit::{self, NotEditable, ValueToAdopt};
use trueup::load::format::{self, Canonical};
use trueup::load::{self, LoadOptions, Loaded, SourceFile};
use trueup::model::{Field, Key, Object, Spec};

use super::{count, kinds, specs};
use crate::support::answers::{Answers, TENANT};
use crate::support::objects::{self, Specs};
use crate::support::scribe::Scribe;

fn read(text: &str) -> Result<Loaded, String> {
    let file = SourceFile { path: "a.yaml".to_owned(), bytes: text.as_bytes().to_vec() };
    let options = LoadOptions { threads: Some(1), ..LoadOptions::default() };
    load::sources(vec![file], &options).map_err(|wrong| wrong.summary())
}

fn objects_of(loaded: &Loaded) -> BTreeMap<Key, Object> {
    let definitions = loaded.desired.definitions.iter();
    definitions.map(|(key, definition)| (key.clone(), definition.endpoint.clone())).collect()
}

fn document(kind: &Kind, name: &str, spec: &Value) -> Value {
    let metadata = json!({"name": name, "namespace": objects::namespace(kind), "labels": {"team": "shop"}});
    json!({"kind": kind.name, "metadata": metadata, "spec": spec})
}

/// An object as a service may show it.
fn shown(specs: &mut Specs, kind: &Kind, document: &Value) -> BTreeMap<Key, Object> {
    let mut objects = objects_of(&read(&document.to_string()).expect("it was read"));
    for object in objects.values_mut() {
        let spec = Answers { specs, namespace: objects::namespace(kind) }.spec(kind, &document["spec"]);
        object.spec = Spec::live(object.key.kind, spec).expect("a spec");
    }
    objects
}

/// Whether an item of a list says nothing, so that it could be any item.
fn has_empty_item(value: &Value) -> bool {
    let is_nothing = |value: &Value| [json!(false), json!({}), json!("")].contains(value);
    let is_empty = |item: &Value| item.as_object().is_some_and(|item| item.values().all(is_nothing));
    match value {
        Value::Array(items) => items.iter().any(|item| is_empty(item) || has_empty_item(item)),
        Value::Object(entries) => entries.values().any(has_empty_item),
        _ => false,
    }
}

/// A spec that a definition may have: a secret in clear is an error.
fn defined(specs: &mut Specs, kind: &Kind, name: &str) -> Option<Value> {
    let is_good = |spec: &Value| !has_empty_item(spec) && read(&document(kind, name, spec).to_string()).is_ok();
    (0..20).map(|_| specs.small(kind)).find(is_good)
}

fn scribe(specs: &mut Specs) -> Scribe {
    let choices = (0..150).map(|_| u8::try_from(specs.below(256)).expect("a byte")).collect();
    let mut scribe = Scribe::new(choices);
    (scribe.has_comments, scribe.has_camel) = (specs.once_in(3), false);
    scribe
}

/// A list somewhere in a value, chosen by chance.
fn list<'v>(specs: &mut Specs, value: &'v mut Value) -> Option<&'v mut Vec<Value>> {
    fn count(value: &Value) -> usize {
        match value {
            Value::Array(items) => 1 + items.iter().map(count).sum::<usize>(),
            Value::Object(entries) => entries.values().map(count).sum(),
            _ => 0,
        }
    }
    fn nth<'v>(value: &'v mut Value, at: &mut usize) -> Option<&'v mut Vec<Value>> {
        match value {
            Value::Array(_) if *at == 0 => value.as_array_mut(),
            Value::Array(items) => {
                *at -= 1;
                items.iter_mut().find_map(|item| nth(item, at))
            }
            Value::Object(entries) => entries.values_mut().find_map(|value| nth(value, at)),
            _ => None,
        }
    }
    let count = count(value);
    let mut at = (count > 0).then(|| specs.below(count))?;
    nth(value, &mut at)
}

/// A spec as the console may leave it: a few values changed, set, removed or moved.
fn changed(specs: &mut Specs, kind: &Kind, spec: &Value) -> Value {
    let mut changed = spec.clone();
    for _ in 0..=specs.below(3) {
        match specs.below(5) {
            0 => {
                let edits = objects::edits(&changed);
                if !edits.is_empty() {
                    changed = edits[specs.below(edits.len())].clone();
                }
            }
            1 => {
                let other = specs.spec(kind);
                let others: Vec<(&String, &Value)> = other.as_object().expect("a spec").iter().collect();
                let Some((name, value)) = (!others.is_empty()).then(|| others[specs.below(others.len())]) else {
                    continue;
                };
                let entries = changed.as_object_mut().expect("a spec");
                if let Some(group) = kind.message().group_of(name) {
                    entries.retain(|name, _| !group.members.contains(&name.as_str()));
                }
                entries.insert(name.clone(), value.clone());
            }
            2 => {
                let entries: &mut Map<String, Value> = changed.as_object_mut().expect("a spec");
                let names: Vec<String> = entries.keys().cloned().collect();
                if !names.is_empty() {
                    entries.remove(&names[specs.below(names.len())]);
                }
            }
            3 => {
                let choice = specs.below(1000);
                let Some(list) = list(specs, &mut changed).filter(|list| !list.is_empty()) else { continue };
                list.remove(choice % list.len());
            }
            _ => {
                let choice = specs.below(1000);
                let Some(list) = list(specs, &mut changed).filter(|list| !list.is_empty()) else { continue };
                let item = list.remove(choice % list.len());
                let item = if choice.is_multiple_of(3) { objects::edits(&item).pop().unwrap_or(item) } else { item };
                list.insert(choice / 7 % (list.len() + 1), item);
            }
        }
    }
    changed
}

/// The values of live in which a definition differs; with those that it does not name where they are taken over too.
fn differences(live: &BTreeMap<Key, Object>, before: &BTreeMap<Key, Object>, with_unnamed: bool) -> Vec<ValueToAdopt> {
    let mut all = Vec::new();
    for (key, defined) in before {
        let live = &live[key];
        let mut wanted: BTreeMap<Field, ValueToAdopt> = BTreeMap::new();
        let new = |field: Field, live| ValueToAdopt {
            key: key.clone(),
            field,
            live,
            unnamed: None,
            tenant: Some(TENANT.to_owned()),
        };
        for one in diff::compare(live, defined, CompareOptions::default()) {
            wanted.insert(one.field.clone(), new(one.field, one.live));
        }
        let units = live.spec.names().filter(|unit| !live.spec.unnamed(unit, &defined.spec).is_empty());
        for unit in units.filter(|_| with_unnamed) {
            let field = Field::of_unit(unit);
            let one = wanted.entry(field.clone()).or_insert_with(|| new(field.clone(), field.value(defined)));
            one.unnamed = Some(live.spec.unit(unit));
        }
        all.extend(wanted.into_values());
    }
    all
}

/// Whether a definition may have all of these values.
fn may_be_defined(wanted: &[ValueToAdopt], before: &Object) -> bool {
    let mut now = serde_json::to_value(before).expect("JSON");
    for one in wanted.iter().filter(|one| one.key == before.key) {
        one.field.set(before.key.kind, &mut now, &one.field.value(before), &one.live);
    }
    read(&now.to_string()).is_ok()
}

#[test]
fn an_edit_in_place_takes_over_what_is_live_in_any_style_and_keeps_all_else() {
    let seed = objects::seed();
    let of_each = count(3);
    let (mut edits, mut refused) = (0, 0);
    for kind in kinds() {
        let mut specs = specs(seed, kind);
        for _ in 0..of_each {
            let mut scribe = scribe(&mut specs);
            let has_comments = scribe.has_comments;
            let mut live = Vec::new();
            for name in ["a", "b", "c"] {
                let Some(spec) = defined(&mut specs, kind, name) else { continue };
                scribe.document(&document(kind, name, &spec));
                let new = (0..20).map(|_| changed(&mut specs, kind, &spec));
                let new = new.map(|new| document(kind, name, &new)).find(|new| read(&new.to_string()).is_ok());
                live.push(new.unwrap_or_else(|| document(kind, name, &spec)));
            }
            let is_windows = specs.once_in(4);
            let break_lines = |text: String| if is_windows { text.replace('\n', "\r\n") } else { text };
            let text = break_lines(scribe.text);
            let loaded = read(&text).unwrap_or_else(|wrong| panic!("{wrong}\n{text}"));
            let before = objects_of(&loaded);
            let live: BTreeMap<Key, Object> = live.iter().flat_map(|one| shown(&mut specs, kind, one)).collect();
            let shown_live = serde_json::to_string(&live.values().collect::<Vec<_>>()).expect("JSON");
            let with_unnamed = specs.once_in(3);
            let wanted = differences(&live, &before, with_unnamed);
            let made = edit::adopt(&loaded, &wanted);
            let now = match made.files.get("a.yaml") {
                Some(edit) => String::from_utf8(edit.now.clone()).expect("a text"),
                None => text.clone(),
            };
            let case = || format!("{}\n{text}\nbecame\n{now}\nlive is\n{}", kind.name, shown_live);
            assert_eq!(made.adopted.len() + made.left.len(), wanted.len(), "{}", case());
            for (key, field, reason) in &made.left {
                let may_be = match reason {
                    // What a definition may not have, such as an item of which nothing is named any more.
                    NotEditable::Withdrawn => has_comments || !may_be_defined(&wanted, &before[key]),
                    NotEditable::Comment => has_comments,
                    NotEditable::Secret => text.contains("_secret_info") || shown_live.contains("\"sealed\""),
                    _ => false,
                };
                assert!(may_be, "{key} {field}: {reason}\n{}", case());
            }
            // A comment beside a value goes with its line.
            for comment in scribe.comments.into_iter().filter(|comment| !comment.contains("beside")) {
                assert_eq!(now.matches(&break_lines(comment.clone())).count(), 1, "{comment}{}", case());
            }
            let after = objects_of(&read(&now).unwrap_or_else(|wrong| panic!("{wrong}\n{}", case())));
            let left: Vec<(Key, String)> = differences(&live, &after, with_unnamed)
                .into_iter()
                .map(|one| (one.key, one.field.to_string()))
                .collect();
            let expected: Vec<(Key, String)> =
                made.left.iter().map(|(key, field, ..)| (key.clone(), field.to_string())).collect();
            assert_eq!(left, expected, "{}", case());
            edits += made.adopted.len();
            refused += made.left.len();
        }
    }
    eprintln!("{edits} edits, {refused} left");
    assert!(edits > 300, "{edits}");
}

#[test]
fn formatting_a_file_of_any_kind_and_style_changes_no_object_and_loses_no_comment() {
    let (seed, of_each) = (objects::seed(), count(3));
    for kind in kinds() {
        let mut specs = specs(seed, kind);
        for _ in 0..of_each {
            let mut scribe = scribe(&mut specs);
            for name in ["a", "b"] {
                if let Some(spec) = defined(&mut specs, kind, name) {
                    scribe.document(&document(kind, name, &spec));
                }
            }
            let before = scribe.text;
            let after = match format::text(&"a.yaml".into(), before.clone().into_bytes()) {
                Ok(Canonical::Changed(after)) => after,
                Ok(Canonical::Same) => before.clone(),
                other => panic!("{other:?}\n{before}"),
            };
            let objects = |text: &str| objects_of(&read(text).unwrap_or_else(|wrong| panic!("{wrong}\n{text}")));
            assert_eq!(objects(&before), objects(&after), "{before}\nbecame\n{after}");
            for comment in scribe.comments {
                assert_eq!(after.matches(&comment).count(), 1, "{comment}{before}\nbecame\n{after}");
            }
            let again = format::text(&"a.yaml".into(), after.clone().into_bytes());
            assert_eq!(again, Ok(Canonical::Same), "{after}");
        }
    }
}
