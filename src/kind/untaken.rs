//! What a definition names that no description knows, and that the service did not take.

use serde_json::{Map, Value as Json};

use super::compare::aligned;
use super::spec::{keys_of, value_of};
use super::walk::{Keys, is_zero};
use super::{Field, FieldKind, Message};

/// A unit of a definition without what no description knows and a live unit does not have, and the paths of that.
pub fn taken(spec: &Message, unit: &str, live: Option<&Json>, wanted: &Json) -> (Option<Json>, Vec<String>) {
    let mut paths = Vec::new();
    let mut wanted = keys_of(spec, unit, Some(wanted)).owned();
    strip(spec, keys_of(spec, unit, live), &mut wanted, "spec", &mut paths);
    (value_of(spec, unit, wanted), paths)
}

fn strip(of: &Message, live: Keys<'_>, wanted: &mut Map<String, Json>, above: &str, paths: &mut Vec<String>) {
    wanted.retain(|key, value| {
        let path = format!("{above}.{key}");
        match (of.field(key), live.get(key)) {
            (None, None) => {
                paths.extend(Some(path).filter(|_| !is_zero(value)));
                return false;
            }
            (Some(field), Some(live)) => strip_in(field, live, value, &path, paths),
            (None, Some(_)) | (Some(_), None) => {}
        }
        true
    });
}

fn strip_in(field: &Field, live: &Json, wanted: &mut Json, path: &str, paths: &mut Vec<String>) {
    let Some(message) = field.message() else { return };
    let mut below = |live: &Json, wanted: &mut Json, path: &str| {
        if let (Json::Object(live), Json::Object(wanted)) = (live, wanted) {
            strip(message, Keys::All(live), wanted, path, paths);
        }
    };
    match (&field.kind, live, wanted) {
        (_, Json::Array(items), Json::Array(wants)) => {
            for (index, to) in aligned(message, items, wants).into_iter().enumerate() {
                if let Some(to) = to {
                    below(&items[index], &mut wants[to], &format!("{path}[{to}]"));
                }
            }
        }
        (FieldKind::Map(_), Json::Object(live), Json::Object(wanted)) => {
            for (key, wanted) in wanted {
                below(live.get(key).unwrap_or(&Json::Null), wanted, &format!("{path}.{key}"));
            }
        }
        (_, live, wanted) => below(live, wanted, path),
    }
}
