//! Items of lists that move: what others put into an item goes where the item goes.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use trueup::api::CurrentState;
use trueup::kind::{self, Field, FieldKind, Flag};
use trueup::model::{Ownership, RunId};
use trueup::plan::{Action, ActionKind, AppliedWrite, UndoneRun};

use super::round_trip::{Bench, Found, Object, STACK, body, changed, roll_back};
use super::{count, kinds, load, specs};
use crate::support::answers;
use crate::support::objects::{self, Specs};

/// What another client put into an item.
const FOREIGN: &str = "zz_foreign";

/// The lists of messages in a spec: the way to each, and its field.
fn lists(id: &str, value: &Value, path: &str, into: &mut Vec<(String, &'static Field)>) {
    let Value::Object(entries) = value else { return };
    for (key, value) in entries {
        // What mirrors another field says what that one says.
        let field = kind::message(id).field(key).filter(|field| is_written(field) && field.mirrors.is_none());
        let Some(field) = field.filter(|field| !matches!(field.kind, FieldKind::Map(_))) else { continue };
        let Some(below) = field.below().filter(|id| !kind::is_reference(id)) else { continue };
        let path = format!("{path}/{key}");
        match value {
            Value::Array(items) => {
                into.push((path.clone(), field));
                for (at, item) in items.iter().enumerate() {
                    lists(below, item, &format!("{path}/{at}"), into);
                }
            }
            value => lists(below, value, &path, into),
        }
    }
}

/// A list of an object: some items go, some come, some change, and those that stay are in another order.
struct Edit {
    /// The name of the object.
    name: String,
    spec: Value,
    path: String,
    field: &'static Field,
    before: Vec<Value>,
    after: Vec<Value>,
    /// A field of the items that none of them names.
    unnamed: Option<&'static Field>,
}

impl Edit {
    fn with(&self, items: &[Value]) -> Value {
        let mut spec = self.spec.clone();
        *spec.pointer_mut(&self.path).expect("the list") = items.into();
        spec
    }

    fn items<'v>(&self, spec: &'v Value) -> &'v Vec<Value> {
        spec.pointer(&self.path).and_then(Value::as_array).expect("the list")
    }

    /// What others added to an item.
    fn added(&self, item: &Value) -> [Option<Value>; 2] {
        let of = |name: &str| item.get(name).filter(|value| !value.is_null()).cloned();
        [of(FOREIGN), self.unnamed.and_then(|field| of(field.name))]
    }

    /// What an item means without that.
    fn own(&self, bench: &Bench, item: &Value) -> Value {
        let mut item = item.clone();
        let entries = item.as_object_mut().expect("an item");
        entries.remove(FOREIGN);
        self.unnamed.iter().for_each(|field| drop(entries.remove(field.name)));
        meaning(bench, self.field.below().expect("a message"), &item)
    }
}

fn meaning(bench: &Bench, id: &str, item: &Value) -> Value {
    answers::meaning(id, item, bench.namespace())
}

/// Makes one value in an item another one, or removes it.
fn change(specs: &mut Specs, id: &str, item: &mut Value) {
    let Value::Object(entries) = item else { return };
    let keys: Vec<String> = entries.keys().cloned().collect();
    if keys.is_empty() {
        return;
    }
    let key = &keys[specs.below(keys.len())];
    match kind::message(id).field(key) {
        Some(field) if !specs.once_in(4) => changed(specs, field, &mut entries[key]),
        _ => drop(entries.remove(key)),
    }
}

/// An edit of a list of a random object.
fn edit(bench: &mut Bench, number: usize) -> Option<Edit> {
    let kind = bench.kind;
    let messages = kind.messages();
    let spec = bench.specs.towards(kind, messages[number % messages.len()].0);
    let mut places = Vec::new();
    lists(kind.spec, &spec, "", &mut places);
    if places.is_empty() || spec.to_string().contains("hush") {
        return None;
    }
    let (path, field) = places.swap_remove(bench.specs.below(places.len()));
    let id = field.below()?;
    let mut pool: Vec<Value> = Vec::new();
    for _ in 0..30 {
        let made = bench.specs.field(field, 3).and_then(|list| list.as_array().cloned()).unwrap_or_default();
        for item in made {
            if pool.len() < 6 && pool.iter().all(|other| meaning(bench, id, other) != meaning(bench, id, &item)) {
                pool.push(item);
            }
        }
    }
    if pool.len() < 3 {
        return None;
    }
    let most = pool.len() - 1;
    let before = pool[..2 + bench.specs.below(most - 1)].to_vec();
    let mut after: Vec<Value> = Vec::new();
    for item in &pool {
        let is_new = !before.contains(item);
        if !bench.specs.once_in(if is_new { 2 } else { 3 }) {
            let at = bench.specs.below(after.len() + 1);
            after.insert(at, item.clone());
        }
        if bench.specs.once_in(3) {
            let mut other = item.clone();
            change(&mut bench.specs, id, &mut other);
            if pool.iter().chain(&after).all(|item| meaning(bench, id, item) != meaning(bench, id, &other)) {
                let at = bench.specs.below(after.len() + 1);
                after.insert(at, other);
            }
        }
    }
    let named = |name: &str| before.iter().chain(&after).any(|item| item.get(name).is_some());
    let message = kind::message(id);
    let is_unnamed = |field: &&Field| {
        message.group_of(field.name).is_none() && !named(field.name) && !field.is(Flag::Filled) && is_written(field)
    };
    let unnamed: Vec<&'static Field> = message.fields.iter().filter(is_unnamed).collect();
    let unnamed = (!unnamed.is_empty()).then(|| unnamed[bench.specs.below(unnamed.len())]);
    let edit = Edit { name: format!("a{number}"), spec, path, field, before, after, unnamed };
    let is_distinct = |items| is_distinct(bench, &edit.with(items), &edit.path);
    (!edit.after.is_empty() && edit.after != edit.before && is_distinct(&edit.before) && is_distinct(&edit.after))
        .then_some(edit)
}

/// Whether an answer and a replace have a field.
fn is_written(field: &Field) -> bool {
    ![Flag::Secret, Flag::ReadOnly, Flag::CreateOnly, Flag::ReplaceOnly, Flag::Unanswered, Flag::Immutable]
        .iter()
        .any(|flag| field.is(*flag))
}

/// Whether no item above the list at this path is like another one.
fn is_distinct(bench: &Bench, spec: &Value, path: &str) -> bool {
    let mut found = Vec::new();
    lists(bench.kind.spec, spec, "", &mut found);
    found.into_iter().filter(|(above, _)| path.starts_with(&format!("{above}/"))).all(|(above, field)| {
        let items = spec.pointer(&above).and_then(Value::as_array).expect("a list");
        let meanings: Vec<Value> =
            items.iter().map(|item| meaning(bench, field.below().expect("a message"), item)).collect();
        (0..meanings.len()).all(|at| !meanings[..at].contains(&meanings[at]))
    })
}

/// The object with the list as it was applied, and something of another client in most items.
fn apply(bench: &mut Bench, edit: &Edit) -> Option<()> {
    let (name, spec) = (edit.name.clone(), edit.with(&edit.before));
    let text = bench.text(&name, &spec);
    let desired = load(&[(name.clone(), text)]).ok()?;
    let ownership = Ownership::of(&desired.definitions[&bench.key(&name)].endpoint, Some(STACK), "run-1");
    let annotations: BTreeMap<&str, String> = ownership.annotations().into_iter().collect();
    let metadata = json!({"name": name, "namespace": bench.namespace(), "annotations": annotations});
    let mut live = bench.shown(&spec);
    for (at, item) in live.pointer_mut(&edit.path)?.as_array_mut()?.iter_mut().enumerate() {
        let item = item.as_object_mut()?;
        if let Some(field) = edit.unnamed.filter(|_| bench.specs.once_in(2))
            && let Some(value) = bench.specs.field(field, 3)
        {
            item.insert(field.name.to_owned(), value);
        }
        if !bench.specs.once_in(3) {
            item.insert(FOREIGN.to_owned(), format!("of {at}").into());
        }
    }
    bench.objects = BTreeMap::from([(name, Object { spec, metadata, live })]);
    Some(())
}

/// Replaces the list, and rolls that back; how many items stayed.
fn replace(bench: &mut Bench, edit: &Edit, at: &str, found: &mut Found) -> Option<usize> {
    let Edit { name, before, after, .. } = edit;
    let text = bench.text(name, &edit.with(after));
    let desired = load(&[(name.clone(), text)]).ok()?;
    let read = bench.read();
    let plan = bench.plan(&desired, &read);
    let change = plan.changes.iter().find(|change| change.action.kind() == ActionKind::Replace)?;
    let run = RunId::new("2026-01-31T12-00-00-abc").expect("a run");
    let seen = CurrentState::read(&change.key, bench.answer(name).as_bytes()).expect("an answer");
    let mut sent: Value = serde_json::from_str(&body(change, &seen, &run)).expect("JSON");

    let applied = bench.objects.clone();
    let live = edit.items(&applied[name].live);
    let items = edit.items(&sent["spec"]);
    let stay = before.iter().zip(live).filter(|(item, _)| after.contains(item));
    for (item, live) in stay.clone() {
        let is_there =
            |sent: &&Value| edit.own(bench, sent) == edit.own(bench, item) && edit.added(sent) == edit.added(live);
        assert_eq!(
            items.iter().filter(is_there).count(),
            1,
            "{at} {name} {}: {live}\nbefore {}\nafter  {}\nsent   {}",
            edit.path,
            applied[name].live,
            edit.with(after),
            sent["spec"]
        );
    }

    let Action::Replace { before: image, .. } = &change.action else { return None };
    let (mut spec, metadata) = (sent["spec"].take(), sent["metadata"].take());
    answers::carried(bench.kind.spec, &applied[name].live, &mut spec);
    let shown = bench.shown(&spec);
    bench.objects.insert(name.clone(), Object { spec, metadata, live: shown });
    let write =
        AppliedWrite { key: &change.key, action: ActionKind::Replace, runs: vec![run.clone()], before: Some(image) };
    let undone = UndoneRun { run: &run, plan: &plan, writes: vec![write] };
    let read = bench.read();
    roll_back(bench, &undone, &read, &applied, (at, found));
    Some(stay.count())
}

#[test]
fn what_others_put_into_an_item_of_any_list_goes_where_the_item_goes() {
    let (seed, count) = (objects::seed(), count(40));
    let (mut replaced, mut stayed, mut found) = (0, 0, Found::default());
    for kind in kinds() {
        let at = format!("TRUEUP_SEED={seed} TRUEUP_KIND={}", kind.name);
        let mut bench = Bench { kind, specs: specs(seed, kind), objects: BTreeMap::new() };
        for number in 0..count {
            let items = edit(&mut bench, number).and_then(|edit| {
                apply(&mut bench, &edit)?;
                replace(&mut bench, &edit, &at, &mut found)
            });
            replaced += usize::from(items.is_some());
            stayed += items.unwrap_or_default();
        }
    }
    eprintln!("{replaced} lists, {stayed} items that stayed, {} rolled back", found.rolled_back);
    assert!(stayed > replaced && (replaced > 500 || std::env::var_os("TRUEUP_KIND").is_some()));
}
