//! Finds the places in `trueup.yaml` of settings that only the files of the stack prove wrong.

use std::cell::OnceCell;
use std::collections::HashMap;
use std::ops::Range;

use super::FILE;
use super::layers::document;
use crate::load::diagnostic::Diagnostic;
use crate::load::item::Item;
use crate::load::text::SourceText;

/// The key for the places of variables; no setting has this name.
const VARIABLE: &str = "${}";

/// The first place of each text by its key (of an item, the key of its list), and of each rule of `ignore:`.
type Places = HashMap<(String, String), Range<usize>>;

/// The settings, which are read again only where a problem with them is reported.
pub(in crate::load) struct SettingPlaces<'t> {
    text: &'t dyn Fn() -> Option<SourceText>,
    found: OnceCell<Option<(SourceText, Places)>>,
}

impl<'t> SettingPlaces<'t> {
    pub(in crate::load) fn new(text: &'t dyn Fn() -> Option<SourceText>) -> Self {
        Self { text, found: OnceCell::new() }
    }

    fn read(&self) -> Option<(SourceText, Places)> {
        let source = (self.text)()?;
        let mut places = Places::new();
        if let Some(root) = document(&source, &mut Vec::new()) {
            take(&mut places, "", &root);
        }
        Some((source, places))
    }

    /// An error about a variable, at the first place that sets it. Its value may be a secret, so the source is hidden.
    pub(in crate::load) fn variable(&self, name: &str, message: impl AsRef<str>, label: impl AsRef<str>) -> Diagnostic {
        let mut error = self.error(VARIABLE, name, message).with_help(label);
        error.hide_source();
        error
    }

    /// An error about the value of a key, at its place.
    pub(in crate::load) fn error(&self, key: &str, value: &str, message: impl AsRef<str>) -> Diagnostic {
        let found = self.found.get_or_init(|| self.read()).as_ref();
        let place = found.and_then(|(source, places)| Some((source, places.get(&(key.to_owned(), value.to_owned()))?)));
        match place {
            Some((source, range)) => Diagnostic::error(message, source, range.clone(), ""),
            None => Diagnostic::of_file(message, FILE, ""),
        }
    }
}

fn take(places: &mut Places, key: &str, item: &Item<'_>) {
    if let Some(text) = item.text() {
        places.entry((key.to_owned(), text.to_owned())).or_insert(item.span.range());
    }
    if let (Some(object), Some(field)) = (item.get("object"), item.get("field")) {
        let rule = rule(object.text().unwrap_or_default(), field.text().unwrap_or_default());
        places.entry((key.to_owned(), rule)).or_insert(object.span.range());
    }
    for entry in item.entries() {
        if key == "variables" {
            places.entry((VARIABLE.to_owned(), entry.key.clone().into_owned())).or_insert(entry.key_at.range());
        }
        take(places, &entry.key, &entry.item);
    }
    item.items().iter().for_each(|one| take(places, key, one));
}

/// A rule of `ignore:` as one value.
pub(in crate::load) fn rule(object: &str, field: &str) -> String {
    format!("{object} {field}")
}
