//! The references between objects, found in specs by the descriptions of the kinds.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;
use sha2::{Digest, Sha256};

use super::kind::{ObjectKind, Place};
use crate::kind::{self, Field, FieldKind};

/// The objects that refer to each object, which may not exist.
#[derive(Debug, Default)]
pub struct References(BTreeMap<Place, BTreeSet<Place>>);

impl References {
    /// Adds the references in the spec of an object.
    pub fn add(&mut self, from: &Place, spec: &str) {
        for to in places(from, spec) {
            self.0.entry(to).or_default().insert(from.clone());
        }
    }

    /// Removes the references in the spec of an object.
    pub fn remove(&mut self, from: &Place, spec: &str) {
        for to in places(from, spec) {
            if let Some(referrers) = self.0.get_mut(&to) {
                referrers.remove(from);
            }
        }
    }

    /// The objects that refer to an object.
    pub fn to(&self, place: &Place) -> impl Iterator<Item = &Place> {
        self.0.get(place).into_iter().flatten()
    }
}

/// The kinds that a reference with this written kind (`site`, `site.Object`, `ves.io.schema.site.Object`, or empty)
/// names: one of the kinds that the field can refer to, or all of them.
pub fn referred(field: &Field, written: &str) -> Vec<String> {
    let word = written.strip_suffix(".Object").unwrap_or(written).rsplit('.').next().unwrap_or_default();
    match field.refers_to.is_empty() && !word.is_empty() || field.refers_to.contains(&word) {
        true => vec![word.to_owned()],
        false => field.refers_to.iter().map(ToString::to_string).collect(),
    }
}

/// The uid of an object that may not be stored here, derived from its names.
pub fn derived_uid(names: &[&str]) -> String {
    let mut bytes = [0; 16];
    bytes.copy_from_slice(&Sha256::digest(names.join("/"))[..16]);
    uuid::Builder::from_random_bytes(bytes).into_uuid().to_string()
}

fn places(from: &Place, spec: &str) -> Vec<Place> {
    let mut places = Vec::new();
    // Endpoints refer only to virtual sites and virtual networks among the known kinds.
    let sign = if from.0 == "endpoint" { "\"virtual_" } else { "\"name\":\"" };
    if let (true, Some(kind), Ok(spec)) = (spec.contains(sign), ObjectKind::find(from.0), serde_json::from_str(spec)) {
        collect(kind.described.spec, &spec, &from.1, &mut places);
    }
    places
}

fn collect(id: &str, object: &Value, namespace: &str, places: &mut Vec<Place>) {
    for field in &kind::message(id).fields {
        let (Some(below), Some(value)) = (field.below(), object.get(field.name)) else { continue };
        let values: Vec<&Value> = match value {
            Value::Array(items) => items.iter().collect(),
            Value::Object(entries) if matches!(field.kind, FieldKind::Map(_)) => entries.values().collect(),
            value => vec![value],
        };
        for value in values {
            if kind::is_reference(below) {
                let text = |key: &str| value.get(key).and_then(Value::as_str).unwrap_or_default();
                let of = if text("namespace").is_empty() { namespace } else { text("namespace") };
                let kinds = referred(field, text("kind"));
                let kinds = kinds.iter().filter_map(|kind| ObjectKind::find(kind));
                places.extend(kinds.map(|kind| (kind.name(), of.to_owned(), text("name").into())));
            } else {
                collect(below, value, namespace, places);
            }
        }
    }
}
