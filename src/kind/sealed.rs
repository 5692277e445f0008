//! Secrets in their sealed form. A definition contains one, and everything that is made of it, up to the request, only its
//! digest: `{"sealed": "…"}` at the place of the secret.

use serde_json::{Map, Value as Json};
use sha2::{Digest as _, Sha256};

use super::{FieldKind, Flag, Message, message, snake};

/// The one key of what stands for a secret.
const KEY: &str = "sealed";
/// Bytes of its digest.
const BYTES: usize = 16;

/// The digest of a sealed secret.
#[must_use]
pub fn digest(value: &Json) -> String {
    data_encoding::HEXLOWER.encode(&Sha256::digest(value.to_string())[..BYTES])
}

/// What stands for the secret of this digest.
#[must_use]
pub fn mark(digest: &str) -> Json {
    Json::Object(Map::from_iter([(KEY.to_owned(), digest.into())]))
}

/// The digest, if a value stands for a secret.
#[must_use]
pub fn digest_of(value: &Json) -> Option<&str> {
    let entries = value.as_object().filter(|entries| entries.len() == 1)?;
    entries.get(KEY)?.as_str()
}

/// The digests of the secrets of a spec.
#[must_use]
pub fn digests(spec: &str, value: &Json) -> Vec<String> {
    let mut found = Vec::new();
    digests_below(message(spec), value, &mut found);
    found
}

fn digests_below(of: &Message, value: &Json, found: &mut Vec<String>) {
    let Json::Object(entries) = value else { return };
    for (key, value) in entries {
        let Some(field) = of.field(&snake(key)) else { continue };
        if field.is(Flag::Secret) {
            found.extend(digest_of(value).map(str::to_owned));
        } else if let Some(id) = field.below() {
            match value {
                Json::Array(items) => items.iter().for_each(|item| digests_below(message(id), item, found)),
                Json::Object(values) if matches!(field.kind, FieldKind::Map(_)) => {
                    values.values().for_each(|value| digests_below(message(id), value, found));
                }
                value => digests_below(message(id), value, found),
            }
        }
    }
}

/// Whether a replace that writes `wanted` as the spec, or as part of it, leaves no secret behind at a place of the live
/// spec as [`super::secret_places`] names it: the definition has the secret, another option of its group, or an item
/// or an entry less.
#[must_use]
pub fn provides(spec: &str, wanted: &Json, place: &str) -> bool {
    let steps: Vec<&str> = place.split('.').skip(1).collect();
    provides_below(message(spec), wanted, &steps)
}

fn provides_below(of: &Message, wanted: &Json, steps: &[&str]) -> bool {
    let ([step, rest @ ..], Some(entries)) = (steps, wanted.as_object()) else { return false };
    let key = step.split('[').next().unwrap_or(step);
    let Some(field) = of.field(key) else { return false };
    let Some(value) = entries.get(field.name) else {
        let others = of.group_of(key).map(|group| group.members.as_slice()).unwrap_or_default();
        return others.iter().any(|other| entries.contains_key(*other));
    };
    if field.is(Flag::Secret) {
        return digest_of(value).is_some();
    }
    let Some(id) = field.below() else { return false };
    match (&field.kind, value, rest) {
        (_, Json::Array(items), rest) => items.iter().all(|item| provides_below(message(id), item, rest)),
        (FieldKind::Map(_), Json::Object(values), [key, rest @ ..]) => {
            values.get(*key).is_some_and(|value| provides_below(message(id), value, rest))
        }
        (_, value, rest) => provides_below(message(id), value, rest),
    }
}
