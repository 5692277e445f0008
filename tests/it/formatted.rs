//! What is true of any definition that is formatted: it loads as before, its comments are all there, and a second time
//! changes nothing.

use std::collections::BTreeMap;

use proptest::prelude::*;
use serde_json::{Map, Value};
use trueup::kind::camel;
use trueup::load::format::{self, Canonical};
use trueup::load::{self, LoadOptions, SourceFile};
use trueup::model::{Key, Object};

use crate::strategies;

/// Writes endpoints in any order, spelling and style, with comments wherever one can be.
struct Scribe {
    choices: std::iter::Cycle<std::vec::IntoIter<u8>>,
    comments: usize,
    text: String,
}

impl Scribe {
    fn choose(&mut self, of: u8) -> u8 {
        self.choices.next().expect("it never ends") % of
    }

    fn comment(&mut self) -> String {
        self.comments += 1;
        format!("# comment {} of: many", self.comments)
    }

    /// Comment and blank lines, perhaps.
    fn between(&mut self, indent: usize) {
        if self.choose(4) == 0 {
            self.text.push('\n');
        }
        for _ in 0..self.choose(3) {
            let comment = self.comment();
            self.text.push_str(&format!("{:indent$}{comment}\n", ""));
        }
    }

    /// Writes a mapping; returns whether it ends in a block text.
    fn mapping(&mut self, map: &Map<String, Value>, indent: usize, free: bool, is_item: bool) -> bool {
        let mut in_block = false;
        let mut entries: Vec<(u8, (&String, &Value))> = map.iter().map(|entry| (self.choose(255), entry)).collect();
        entries.sort_by_key(|(at, _)| *at);
        for (at, (_, (key, value))) in entries.into_iter().enumerate() {
            if !(is_item && at == 0) {
                self.between(indent);
                self.text.push_str(&" ".repeat(indent));
            }
            let spelled = if !free && self.choose(2) == 0 { camel(key) } else { key.clone() };
            let quoted = self.choose(5) == 0;
            self.text.push_str(&if quoted { format!("\"{spelled}\":") } else { format!("{spelled}:") });
            in_block = self.value(value, indent, matches!(key.as_str(), "labels" | "annotations"));
            // Below a block text a deeper line is a part of it.
            if !in_block && self.choose(4) == 0 {
                let comment = self.comment();
                self.text.push_str(&format!("{:1$}{comment}\n", "", indent + 3));
            }
        }
        in_block
    }

    /// Writes a value behind its colon; returns whether it ends in a block text.
    fn value(&mut self, value: &Value, indent: usize, free: bool) -> bool {
        let mut in_block = false;
        match value {
            Value::Object(map) if !map.is_empty() && self.choose(4) > 0 => {
                self.end_of_line();
                in_block = self.mapping(map, indent + 2, free, false);
            }
            Value::Array(items) if !items.is_empty() && self.choose(3) > 0 => {
                self.end_of_line();
                for item in items {
                    self.text.push_str(&format!("{:indent$}- ", ""));
                    match item {
                        Value::Object(map) => in_block = self.mapping(map, indent + 2, false, true),
                        other => self.text.push_str(&format!("{other}\n")),
                    }
                }
            }
            Value::String(text) if text.starts_with(|c: char| c.is_ascii_lowercase()) && self.choose(4) == 0 => {
                in_block = true;
                self.text.push_str(&format!(" |-\n{:1$}{text}\n", "", indent + 2));
                if self.choose(2) == 0 {
                    self.text.push('\n');
                }
            }
            other => {
                self.text.push_str(&format!(" {other}"));
                self.end_of_line();
            }
        }
        in_block
    }

    fn end_of_line(&mut self) {
        if self.choose(3) == 0 {
            let comment = self.comment();
            self.text.push_str(&format!("   {comment}"));
        }
        self.text.push('\n');
    }
}

fn loaded(text: &str) -> BTreeMap<Key, Object> {
    let file = SourceFile { path: "a.yaml".to_owned(), bytes: text.as_bytes().to_vec() };
    let loaded = load::sources(vec![file], &LoadOptions::default());
    let loaded = loaded.unwrap_or_else(|error| panic!("{}\n{text}", error.summary()));
    loaded.desired.definitions.into_iter().map(|(key, definition)| (key, definition.endpoint)).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn formatting_changes_no_endpoint_and_loses_no_comment(
        endpoints in strategies::endpoints(),
        choices in prop::collection::vec(any::<u8>(), 7..200),
    ) {
        let mut scribe = Scribe { choices: choices.into_iter().cycle(), comments: 0, text: String::new() };
        for endpoint in &endpoints {
            let Value::Object(map) = serde_json::to_value(endpoint).expect("JSON") else { unreachable!("an object") };
            scribe.text.push_str("---\n");
            scribe.mapping(&map, 0, false, false);
        }
        let before = scribe.text;
        let after = match format::text(&"a.yaml".into(), before.clone().into_bytes()) {
            Ok(Canonical::Changed(after)) => after,
            Ok(Canonical::Same) => before.clone(),
            other => panic!("{other:?}\n{before}"),
        };
        prop_assert_eq!(loaded(&before), loaded(&after), "{}\nbecame\n{}", before, after);
        for number in 1..=scribe.comments {
            let comment = format!("# comment {number} of: many\n");
            prop_assert_eq!(after.matches(&comment).count(), 1, "{}\nbecame\n{}", before, after);
        }
        let again = format::text(&"a.yaml".into(), after.clone().into_bytes());
        prop_assert_eq!(again, Ok(Canonical::Same), "{}", after);
        for (name, first) in [("metadata:", "spec:"), ("  name:", "  namespace:")] {
            // In block style the order can be seen.
            for document in after.split("---\n").filter(|document| !document.contains(['{', '"'])) {
                let at = |word: &str| document.find(&format!("\n{word}")).or(document.starts_with(word).then_some(0));
                if let (Some(name), Some(first)) = (at(name), at(first)) {
                    prop_assert!(name < first, "{}", document);
                }
            }
        }
    }
}
