//! Which layer sets each setting of an environment, and where: what `explain` prints.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;

use super::layers::{LayerName, Layers, OWN_KEYS, document, merged};
use crate::load::item::{Item, MapEntry, Value, json};
use crate::load::options::LoadOptions;
use crate::load::text::SourceText;
use crate::model::{Json, SourceLocation};

/// A setting that a layer sets.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct ExplainedSetting {
    /// Its keys from the root of a layer.
    pub path: Vec<String>,
    /// Its value in the highest layer that sets it.
    pub value: Json,
    /// That layer.
    pub layer: LayerName,
    /// Where it is set.
    pub place: Option<SourceLocation>,
    /// The values that lower layers set, the nearest layer first.
    pub replaced: Vec<ReplacedSetting>,
}

/// A value of a setting that a higher layer replaces.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct ReplacedSetting {
    /// The value.
    pub value: Json,
    /// The layer that sets it.
    pub layer: LayerName,
    /// Where it is set.
    pub place: Option<SourceLocation>,
}

impl ExplainedSetting {
    /// Replaces the value with that of a higher layer.
    #[must_use]
    pub fn replaced_by(mut self, value: Json, layer: LayerName, place: Option<SourceLocation>) -> Self {
        let below = ReplacedSetting {
            value: std::mem::replace(&mut self.value, value),
            layer: std::mem::replace(&mut self.layer, layer),
            place: std::mem::replace(&mut self.place, place),
        };
        self.replaced.insert(0, below);
        self
    }

    /// The name of the variable, where the setting is one.
    pub fn variable(&self) -> Option<&str> {
        if let [key, name] = &*self.path { Some(&**name).filter(|_| key == "variables") } else { None }
    }

    /// Hides its values.
    pub fn conceal(&mut self) {
        let values = self.replaced.iter_mut().map(|replaced| &mut replaced.value);
        values.chain([&mut self.value]).for_each(|value| *value = "(not shown)".into());
    }
}

/// Every setting that a layer of the environment sets, sorted by path, then the overlays in the order in which they are
/// applied. Problems with settings have been reported before.
pub(in crate::load) fn settings(source: &SourceText, options: &LoadOptions) -> Vec<ExplainedSetting> {
    let root = document(source, &mut Vec::new());
    let layers = root.as_ref().map(Layers::new);
    let layers = layers.map(|layers| layers.of(options.environment.as_deref())).unwrap_or_default();
    let (mut explained, mut overlays) = (BTreeMap::<Vec<String>, ExplainedSetting>::new(), Vec::new());
    let mut set = |path: Vec<String>, value: Json, layer: &LayerName, place: Option<SourceLocation>| {
        let above = match explained.remove(&path) {
            Some(below) => below.replaced_by(value, layer.clone(), place),
            None => ExplainedSetting { path: path.clone(), value, layer: layer.clone(), place, replaced: Vec::new() },
        };
        explained.insert(path, above);
    };
    for (name, layer) in &layers {
        leaves(&merged(None, layer, &OWN_KEYS, &mut Vec::new()), &mut Vec::new(), &mut |path, entry| {
            set(path.to_vec(), json(&entry.item, &mut |_| {}), name, Some(entry.key_at.location()));
        });
        for entry in layer.entries().iter().filter(|entry| *name != LayerName::TopLevel && !entry.item.is_null()) {
            let (path, place) = (vec![entry.key.clone().into_owned()], Some(entry.key_at.location()));
            match &*entry.key {
                // `extends` is not merged: it belongs to the environment that sets it.
                "extends" => set(path, json(&entry.item, &mut |_| {}), name, place),
                // Overlays add up: a layer does not replace the overlay of another layer.
                "overlay" => {
                    let (value, layer) = (json(&entry.item, &mut |_| {}), name.clone());
                    overlays.push(ExplainedSetting { path, value, layer, place, replaced: Vec::new() });
                }
                _ => {}
            }
        }
    }
    for (name, value) in &options.variables {
        set(
            vec!["variables".to_owned(), name.clone()],
            value.as_str().into(),
            &LayerName::Call("--var".to_owned()),
            None,
        );
    }
    explained.into_values().chain(overlays).collect()
}

/// Visits the values of a layer; a list is one value.
fn leaves<'i, 's>(item: &'i Item<'s>, path: &mut Vec<String>, take: &mut impl FnMut(&[String], &'i MapEntry<'s>)) {
    for entry in item.entries() {
        path.push(entry.key.clone().into_owned());
        match entry.item.value {
            Value::Map(_) => leaves(&entry.item, path, take),
            Value::Text(..) | Value::List(_) | Value::Refused => take(path, entry),
        }
        path.pop();
    }
}
