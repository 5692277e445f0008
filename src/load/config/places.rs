//! Where `trueup.yaml` names what only the files of the stack show to be wrong.

use std::collections::HashMap;

use super::FILE;
use super::layers::document;
use crate::load::diagnostic::Diagnostic;
use crate::load::item::{Item, TextSpan, Value};
use crate::load::text::SourceText;

/// The key of the places of variables, which no setting has.
const VARIABLE: &str = "${}";

/// The first place of each text by its key, a list standing for its items, and of each rule of `ignore:` by its object and field.
#[derive(Default)]
pub(in crate::load) struct SettingPlaces<'s>(HashMap<(String, String), TextSpan<'s>>);

impl<'s> SettingPlaces<'s> {
    pub(in crate::load) fn of(source: &'s SourceText) -> Self {
        let mut places = Self::default();
        if let Some(root) = document(source, &mut Vec::new()) {
            places.take("", &root);
        }
        places
    }

    fn take(&mut self, key: &str, item: &Item<'s>) {
        if let Some(text) = item.text() {
            self.0.entry((key.to_owned(), text.to_owned())).or_insert(item.span);
        }
        if let (Some(object), Some(field)) = (item.get("object"), item.get("field")) {
            let rule = rule(object.text().unwrap_or_default(), field.text().unwrap_or_default());
            self.0.entry((key.to_owned(), rule)).or_insert(object.span);
        }
        for entry in item.entries() {
            if key == "variables" {
                self.0.entry((VARIABLE.to_owned(), entry.key.clone().into_owned())).or_insert(entry.key_at);
            }
            self.take(&entry.key, &entry.item);
        }
        if let Value::List(items) = &item.value {
            items.iter().for_each(|one| self.take(key, one));
        }
    }

    /// An error about a variable, where it is set first. What it contains may be meant for a secret.
    pub(in crate::load) fn variable(&self, name: &str, message: impl AsRef<str>, label: impl AsRef<str>) -> Diagnostic {
        let mut error = self.error(VARIABLE, name, message).with_help(label);
        error.hide_source();
        error
    }

    /// An error about the value of a key, at its place.
    pub(in crate::load) fn error(&self, key: &str, value: &str, message: impl AsRef<str>) -> Diagnostic {
        match self.0.get(&(key.to_owned(), value.to_owned())) {
            Some(span) => span.error(message, ""),
            None => Diagnostic::of_file(message, FILE, ""),
        }
    }
}

/// A rule of `ignore:` as one value.
pub(in crate::load) fn rule(object: &str, field: &str) -> String {
    format!("{object} {field}")
}
