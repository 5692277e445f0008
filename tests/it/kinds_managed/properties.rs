//! What holds for objects of every kind, whatever they contain: a change in the console is seen and undone, and nothing else of
//! the object is touched; items of lists are told apart.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};
use trueup::kind::{self, GroupFlag, Kind};

use crate::support::objects::{self, Specs};
use crate::support::{Service, Stage};

fn path(kind: &Kind) -> String {
    format!("{}/a", kind.path().replace("{namespace}", objects::namespace(kind)))
}

fn get(service: &Service, kind: &Kind) -> Value {
    let (status, body) = service.send("GET", &path(kind), None);
    assert_eq!(status, 200, "{}: {body}", kind.name);
    serde_json::from_str(&body).expect("JSON")
}

#[test]
fn a_change_in_the_console_is_seen_in_an_object_of_every_kind_and_undone_alone() {
    let mut specs = Specs::new(objects::seed());
    let service = Service::start();
    service.misbehave("rules: [{write: {unknown: kept}}]");
    let kinds = objects::kinds();
    let stage = Stage::new().at(&service).file("trueup.yaml", &objects::settings());
    let mut wanted: BTreeMap<&str, Value> = BTreeMap::new();
    for kind in &kinds {
        let Some(spec) = specs.without_secret(kind) else { continue };
        let metadata = json!({"name": "a", "namespace": objects::namespace(kind)});
        stage.write(
            &format!("d/{}.json", kind.name),
            &json!({"kind": kind.name, "metadata": metadata, "spec": spec}).to_string(),
        );
        wanted.insert(kind.name, spec);
    }
    stage.run("apply . --yes").code(0).stderr_ignored();
    let mut changed: BTreeMap<&str, Value> = BTreeMap::new();
    for kind in kinds.iter().filter(|kind| wanted.contains_key(kind.name)) {
        let before = get(&service, kind);
        let is_fixed = |unit: &str| {
            let message = kind.message();
            message.field(unit).is_some_and(|field| {
                field.is(kind::Flag::Immutable) || field.is(kind::Flag::CreateOnly) || field.is(kind::Flag::ReadOnly)
            }) || message.group_of(unit).is_some_and(|group| group.is(GroupFlag::Immutable))
        };
        // Only what the definition names, so that the change is one that an apply undoes.
        let named = wanted[kind.name].as_object().expect("a spec").keys().filter(|key| !is_fixed(key));
        let before_spec = &before["spec"];
        let edited: Vec<Value> = named
            .flat_map(|key| {
                objects::edits(&before_spec[key]).into_iter().map(move |value| {
                    let mut spec = before_spec.clone();
                    spec[key] = value;
                    spec["zz_future"] = json!({"kept": [1, "two"]});
                    spec
                })
            })
            .take(60)
            .collect();
        let units = |spec: &Value| kind::canonical(kind.message(), spec.clone());
        let definition = kind::named(kind.message(), wanted[kind.name].clone());
        let differs = |spec: &Value| {
            let live = units(spec);
            definition.iter().any(|(unit, wanted)| {
                let seen = kind::seen_as(kind.message(), unit, live.get(unit).unwrap_or(&Value::Null), wanted);
                seen != kind::significant(kind.message(), unit, wanted)
            })
        };
        // What is fixed within an item of a list is beyond a replace too.
        let is_beyond = |spec: &Value| {
            let live = units(spec);
            let live = |unit| live.get(unit).unwrap_or(&Value::Null);
            let mut units = definition.iter();
            units.any(|(unit, wanted)| kind::fixed(kind.message(), unit, live(unit), wanted).is_some())
        };
        for spec in edited {
            let body = json!({"metadata": before["metadata"], "spec": spec});
            let (status, _) = service.send("PUT", &path(kind), Some(&body.to_string()));
            // The rules of a kind refuse most; a list that is a set may read as before.
            if status == 200 {
                let live = get(&service, kind)["spec"].clone();
                if differs(&live) && !is_beyond(&live) {
                    changed.insert(kind.name, before);
                }
                break;
            }
        }
    }
    eprintln!("{} kinds were changed", changed.len());
    assert!(changed.len() >= 60, "{:?}", changed.keys());
    let drift = stage.run("drift . --format json");
    drift.stderr_ignored();
    let drift = drift.json();
    let verdicts = drift["verdicts"]["objects"].as_object().expect("verdicts");
    let seen: BTreeSet<&str> = verdicts.keys().filter_map(|key| key.split(':').next()).collect();
    let unseen: Vec<&&str> = changed.keys().filter(|name| !seen.contains(*name)).collect();
    assert_eq!(unseen, Vec::<&&str>::new());
    let applied = stage.run("apply . --yes --allow mass-change --format json");
    applied.stderr_ignored();
    let outcome = applied.json()["outcome"].clone();
    let steps = outcome["steps"].as_array().expect("steps");
    let failed: Vec<String> = steps
        .iter()
        .filter(|step| step["result"]["done"].is_null())
        .map(|step| format!("{}: {}", step["key"], step["result"]))
        .collect();
    assert_eq!(failed, Vec::<String>::new());
    for kind in kinds.iter().filter(|kind| changed.contains_key(kind.name)) {
        let mut before = changed[kind.name]["spec"].clone();
        before["zz_future"] = json!({"kept": [1, "two"]});
        assert_eq!(get(&service, kind)["spec"], before, "{}", kind.name);
    }
}

/// A key that no description has.
const FUTURE: &str = "zz_future";

/// Adds that key to every mapping, with its path as its value; into `planted` go the paths.
fn plant(value: &mut Value, path: &str, planted: &mut BTreeSet<String>) {
    match value {
        Value::Object(entries) => {
            entries.iter_mut().for_each(|(key, value)| plant(value, &format!("{path}.{key}"), planted));
            let path = format!("{path}.{FUTURE}");
            entries.insert(FUTURE.to_owned(), json!(path));
            planted.insert(path);
        }
        Value::Array(items) => {
            let items = items.iter_mut().enumerate();
            items.for_each(|(at, value)| plant(value, &format!("{path}[{at}]"), planted));
        }
        _ => {}
    }
}

fn is_below(rest: &str) -> bool {
    rest.is_empty() || rest.starts_with(['.', '['])
}

#[test]
fn a_plan_names_all_that_a_replace_removes_of_what_no_definition_names() {
    let mut specs = Specs::new(objects::seed());
    let service = Service::start();
    service.misbehave("rules: [{write: {unknown: kept}}]");
    let stage = Stage::new().at(&service).file("trueup.yaml", &objects::settings());
    let define = |kind: &Kind, specs: &mut Specs| {
        let Some(spec) = specs.without_secret(kind) else { return };
        let metadata = json!({"name": "a", "namespace": objects::namespace(kind)});
        let document = json!({"kind": kind.name, "metadata": metadata, "spec": spec});
        stage.write(&format!("d/{}.json", kind.name), &document.to_string());
    };
    let kinds = objects::kinds();
    kinds.iter().for_each(|kind| define(kind, &mut specs));
    stage.run("apply . --yes").code(0).stderr_ignored();
    let mut planted: BTreeMap<&str, BTreeSet<String>> = BTreeMap::new();
    for kind in &kinds {
        let (status, body) = service.send("GET", &path(kind), None);
        let Some(live) = (status == 200).then(|| serde_json::from_str::<Value>(&body).expect("JSON")) else { continue };
        let (mut spec, mut paths) = (live["spec"].clone(), BTreeSet::new());
        plant(&mut spec, "spec", &mut paths);
        let body = json!({"metadata": live["metadata"], "spec": spec});
        if service.send("PUT", &path(kind), Some(&body.to_string())).0 == 200 {
            // What is fixed after the create stays as it was.
            let live = get(&service, kind)["spec"].to_string();
            paths.retain(|path| live.contains(&format!("\"{path}\"")));
            planted.insert(kind.name, paths);
        }
    }
    kinds.iter().for_each(|kind| define(kind, &mut specs));
    let planned = stage.run("plan . --format json");
    planned.stderr_ignored();
    let planned = planned.json();
    let notes = planned["plan"]["notes"].as_array().expect("notes");
    let changes = planned["plan"]["changes"].as_array().expect("changes");
    let applied = stage.run("apply . --yes --allow mass-change --format json");
    applied.stderr_ignored();
    let applied = applied.json();
    let steps = applied["outcome"]["steps"].as_array().expect("steps");
    let (mut replaced, mut removed) = (0, 0);
    for kind in kinds.iter().filter(|kind| planted.contains_key(kind.name)) {
        let key = format!("{}:{}/a", kind.name, objects::namespace(kind));
        if !steps.iter().any(|step| step["key"] == key && !step["result"]["done"].is_null()) {
            continue;
        }
        let of_key = notes.iter().filter_map(|note| note.get("dropped_field")).filter(|note| note["key"] == key);
        let named: BTreeSet<&str> = of_key.filter_map(|note| note["path"].as_str()).collect();
        let now = get(&service, kind)["spec"].to_string();
        let gone: BTreeSet<&str> = planted[kind.name]
            .iter()
            .filter(|path| !now.contains(&format!("\"{path}\"")))
            .map(String::as_str)
            .collect();
        let change = changes.iter().find(|change| change["key"] == key).unwrap_or(&Value::Null);
        let fields = change["action"]["replace"]["fields"].to_string();
        // A note is about all that is below its path.
        let is_named = |path: &str| named.iter().any(|above| path.strip_prefix(above).is_some_and(is_below));
        let is_shown = |path: &str| fields.contains(&format!("\"{path}\""));
        let kept: Vec<&&str> = named.iter().filter(|path| path.ends_with(FUTURE) && !gone.contains(*path)).collect();
        let hidden: Vec<&&str> = gone.iter().filter(|path| !is_named(path) && !is_shown(path)).collect();
        assert_eq!((kept, hidden), (Vec::new(), Vec::new()), "{key}");
        replaced += 1;
        removed += gone.len();
    }
    eprintln!("{replaced} objects were replaced, and {removed} fields went");
    assert!(replaced >= 60 && removed >= 100, "{replaced} objects, {removed} fields");
}

const POOL: &str = "views.origin_pool.CreateSpecType+";

/// A list of servers: each has an address, and half of them a label that no definition names.
fn servers(specs: &mut Specs, most: usize) -> Vec<(usize, bool)> {
    let count = specs.below(most + 1);
    let mut servers: Vec<(usize, bool)> = Vec::new();
    for _ in 0..count {
        let server = specs.below(8);
        if !servers.iter().any(|(other, _)| *other == server) {
            servers.push((server, specs.below(2) == 0));
        }
    }
    servers
}

fn written(servers: &[(usize, bool)], with_unnamed: bool) -> Value {
    let one = |(address, marked): &(usize, bool)| {
        let mut server = json!({"public_ip": {"ip": format!("192.0.2.{address}")}});
        if with_unnamed && *marked {
            server["labels"] = json!({"of": format!("{address}")});
        }
        server
    };
    servers.iter().map(one).collect()
}

#[test]
fn what_no_definition_names_stays_with_its_item_whatever_happens_to_the_list() {
    let pool = kind::message(POOL);
    let mut specs = Specs::new(objects::seed());
    for round in 0..10_000 {
        let (live, wanted) = (servers(&mut specs, 6), servers(&mut specs, 6));
        let mut spec = json!({"origin_servers": written(&live, true), "port": 80});
        let definition = written(&wanted, false);
        let wanted_list = if wanted.is_empty() { &Value::Null } else { &definition };
        let object = spec.as_object_mut().expect("an object");
        kind::merged(pool, "origin_servers", object, &Value::Null, wanted_list);
        let merged = spec["origin_servers"].as_array().cloned().unwrap_or_default();
        assert_eq!(merged.len(), wanted.len(), "round {round}: {live:?} {wanted:?}");
        // An item of the same content is the same one, by itself and alone; one between the same neighbours may have changed.
        let is_of_both = |address: usize| live.iter().any(|(one, _)| *one == address);
        for (item, (address, _)) in merged.iter().zip(&wanted) {
            assert_eq!(item["public_ip"]["ip"], format!("192.0.2.{address}"), "round {round}");
            let label = item["labels"]["of"].as_str().map(|of| of.parse::<usize>().expect("a number"));
            let marked = live.iter().any(|(one, marked)| one == address && *marked);
            match label {
                Some(of) if is_of_both(*address) => {
                    assert!(of == *address && marked, "round {round}: {live:?} {wanted:?}");
                }
                // What was changed in place keeps what belongs to it, and nobody else has it now.
                Some(of) => assert!(!wanted.iter().any(|(one, _)| *one == of), "round {round}: {live:?} {wanted:?}"),
                None => assert!(!marked, "round {round}: {live:?} {wanted:?}"),
            }
        }
        // A second time changes nothing.
        let before = spec.clone();
        let object = spec.as_object_mut().expect("an object");
        kind::merged(pool, "origin_servers", object, &Value::Null, wanted_list);
        assert_eq!(spec, before, "round {round}");
    }
}
