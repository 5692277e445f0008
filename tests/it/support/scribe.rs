//! Writes definitions as people may: in any order, spelling and style, with comments wherever one can be.

use serde_json::{Map, Value};
use trueup::kind::camel;

/// What is written so far; equal choices make equal files.
pub struct Scribe {
    choices: std::iter::Cycle<std::vec::IntoIter<u8>>,
    /// The comments of the file, each with the end of its line.
    pub comments: Vec<String>,
    /// The file.
    pub text: String,
    /// Whether comments are written.
    pub has_comments: bool,
    /// Whether keys are in camel case at times: all that are no labels have to be names of fields.
    pub has_camel: bool,
}

impl Scribe {
    /// An empty file.
    pub fn new(choices: Vec<u8>) -> Self {
        let choices = choices.into_iter().cycle();
        Self { choices, comments: Vec::new(), text: String::new(), has_comments: true, has_camel: true }
    }

    /// Writes a document.
    pub fn document(&mut self, value: &Value) {
        let Value::Object(map) = value else { unreachable!("a document is a mapping") };
        self.text.push_str("---\n");
        self.mapping(map, 0, false, false);
    }

    fn choose(&mut self, of: u8) -> u8 {
        self.choices.next().expect("it never ends") % of
    }

    fn comment(&mut self, place: &str) -> String {
        let comment = format!("# {place} {} of: many", self.comments.len() + 1);
        self.comments.push(format!("{comment}\n"));
        comment
    }

    /// Comment and blank lines, perhaps.
    fn between(&mut self, indent: usize) {
        if self.choose(4) == 0 {
            self.text.push('\n');
        }
        for _ in 0..self.choose(3) {
            if self.has_comments {
                let comment = self.comment("above");
                self.text.push_str(&format!("{:indent$}{comment}\n", ""));
            }
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
            let is_camel = self.has_camel && !free && self.choose(2) == 0;
            let spelled = if is_camel { camel(key) } else { key.clone() };
            let quoted =
                self.choose(5) == 0 || !key.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-./".contains(&byte));
            self.text.push_str(&if quoted { format!("\"{spelled}\":") } else { format!("{spelled}:") });
            in_block = self.value(value, indent, matches!(key.as_str(), "labels" | "annotations"));
            // Below a block text a deeper line is a part of it.
            if !in_block && self.has_comments && self.choose(4) == 0 {
                let comment = self.comment("below");
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
                let indent = indent + usize::from(self.choose(2)) * 2;
                for item in items {
                    self.text.push_str(&format!("{:indent$}- ", ""));
                    match item {
                        Value::Object(map) if !map.is_empty() => in_block = self.mapping(map, indent + 2, false, true),
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
                let scalar = self.scalar(other);
                self.text.push_str(&format!(" {scalar}"));
                self.end_of_line();
            }
        }
        in_block
    }

    /// A value on one line: as JSON, or without quotes or in single ones where that is the same.
    fn scalar(&mut self, value: &Value) -> String {
        let is_word = |text: &str| text.len() > 5 && text.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'.');
        match value {
            Value::String(text) if is_word(text) && self.choose(2) == 0 => text.clone(),
            Value::String(text) if is_word(text) && self.choose(2) == 0 => format!("'{text}'"),
            other => other.to_string(),
        }
    }

    fn end_of_line(&mut self) {
        if self.choose(3) == 0 && self.has_comments {
            let comment = self.comment("beside");
            self.text.push_str(&format!("   {comment}"));
        }
        self.text.push('\n');
    }
}
