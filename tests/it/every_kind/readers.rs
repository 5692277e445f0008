//! The fast reader of definitions says what the careful one says of random objects of every kind, whatever stands at one of
//! their values.

use serde_json::{Value, json};
use trueup::load::{self, LoadOptions, Loaded, SourceFile};

use super::{count, kinds, specs};
use crate::support::objects::{self, Specs};

/// What can stand at a value, as YAML writes it.
const SCALARS: [&str; 40] = [
    "",
    "~",
    "null",
    "'null'",
    "true",
    "True",
    "yes",
    "'true'",
    "0",
    "-0",
    "5",
    "-5",
    "+5",
    "010",
    "0x1F",
    "0o17",
    "-0x0",
    "-0x1F",
    "-0o17",
    "+0x1F",
    "'80'",
    "'010'",
    "1.50",
    "1e3",
    ".5",
    ".inf",
    ".nan",
    "1e400",
    "99999999999999999999",
    "18446744073709551615",
    "5s",
    "1.5s",
    "2026-01-31T12:00:00Z",
    "10.0.0.1",
    "{}",
    "[]",
    "[~]",
    "{a: 1}",
    r#""\x24{name}""#,
    r#""$\u007Bname}""#,
];

/// Force the careful reader by a comment that looks like a variable.
const CAREFULLY: &str = "\n# ${name}\n";

/// Writes a value on one line, and another in the place of the scalar with number `odd`.
fn write(value: &Value, odd: &mut Option<(usize, &str)>, text: &mut String) {
    match value {
        Value::Object(entries) => {
            text.push('{');
            for (key, value) in entries {
                text.push_str(&format!("{}: ", Value::from(key.as_str())));
                write(value, odd, text);
                text.push_str(", ");
            }
            text.push('}');
        }
        Value::Array(items) => {
            text.push('[');
            for item in items {
                write(item, odd, text);
                text.push_str(", ");
            }
            text.push(']');
        }
        scalar => match odd {
            Some((0, other)) => {
                text.push_str(other);
                *odd = None;
            }
            _ => {
                *odd = odd.map(|(at, other)| (at - 1, other));
                text.push_str(&scalar.to_string());
            }
        },
    }
}

fn scalars(value: &Value) -> usize {
    match value {
        Value::Object(entries) => entries.values().map(scalars).sum(),
        Value::Array(items) => items.iter().map(scalars).sum(),
        _ => 1,
    }
}

fn read(text: &str) -> Result<Loaded, Vec<String>> {
    read_file("a.yaml", text)
}

fn read_file(path: &str, text: &str) -> Result<Loaded, Vec<String>> {
    let file = SourceFile { path: path.to_owned(), bytes: text.as_bytes().to_vec() };
    let options = LoadOptions { threads: Some(1), ..LoadOptions::default() };
    load::sources(vec![file], &options)
        .map_err(|found| found.list.iter().map(|problem| problem.message.clone()).collect())
}

fn said(read: Result<Loaded, Vec<String>>) -> String {
    match read {
        Ok(loaded) => {
            let definitions: Vec<String> = loaded
                .desired
                .definitions
                .values()
                .map(|definition| format!("{:?} {:?}", definition.endpoint, definition.sealed))
                .collect();
            let notes: Vec<&String> = loaded.notes.iter().map(|note| &note.message).collect();
            format!("{definitions:?} {notes:?}")
        }
        Err(problems) => format!("{problems:?}"),
    }
}

fn odd_one(specs: &mut Specs, value: &Value) -> Option<(usize, &'static str)> {
    let scalars = scalars(value);
    (scalars > 0 && specs.once_in(2)).then(|| (specs.below(scalars), SCALARS[specs.below(SCALARS.len())]))
}

#[test]
fn the_fast_reader_agrees_with_the_careful_one_on_objects_of_every_kind() {
    let (seed, count) = (objects::seed(), count(20));
    let mut taken = 0;
    for kind in kinds() {
        let mut specs = specs(seed, kind);
        for _ in 0..count {
            let spec = specs.spec(kind);
            let mut odd = odd_one(&mut specs, &spec);
            let mut text =
                format!("kind: {}\nmetadata: {{name: a, namespace: {}}}\nspec: ", kind.name, objects::namespace(kind));
            write(&spec, &mut odd, &mut text);
            let fast = read(&text);
            taken += usize::from(fast.is_ok());
            let (fast, careful) = (said(fast), said(read(&format!("{text}{CAREFULLY}"))));
            assert!(fast == careful, "TRUEUP_KIND={}\n{text}\nfast: {fast}\ncareful: {careful}", kind.name);
        }
    }
    eprintln!("{taken} objects were taken");
    assert!(taken > 30 * count || std::env::var_os("TRUEUP_KIND").is_some(), "{taken} objects were taken");
}

/// Makes a list of the values of the mapping with number `at`.
fn flatten(value: &mut Value, at: &mut Option<usize>) {
    match value {
        Value::Object(entries) if *at == Some(0) => {
            *at = None;
            *value = entries.values().cloned().collect();
        }
        Value::Object(entries) => {
            *at = at.map(|at| at - 1);
            entries.values_mut().for_each(|value| flatten(value, at));
        }
        Value::Array(items) => items.iter_mut().for_each(|item| flatten(item, at)),
        _ => {}
    }
}

fn mappings(value: &Value) -> usize {
    match value {
        Value::Object(entries) => 1 + entries.values().map(mappings).sum::<usize>(),
        Value::Array(items) => items.iter().map(mappings).sum(),
        _ => 0,
    }
}

#[test]
fn a_json_file_is_read_as_yaml_is_also_with_lists_where_mappings_belong() {
    let (seed, count) = (objects::seed(), count(20));
    for kind in kinds() {
        let mut specs = specs(seed, kind);
        for _ in 0..count {
            let metadata = json!({"name": "a", "namespace": objects::namespace(kind), "labels": {"a": "b"}});
            let mut object = json!({"kind": kind.name, "metadata": metadata, "spec": specs.spec(kind)});
            let mut at = specs.once_in(2).then(|| specs.below(mappings(&object)));
            flatten(&mut object, &mut at);
            let text = object.to_string();
            let (json, careful) = (said(read_file("a.json", &text)), said(read(&format!("{text}{CAREFULLY}"))));
            assert!(json == careful, "TRUEUP_KIND={}\n{text}\njson: {json}\ncareful: {careful}", kind.name);
        }
    }
}
