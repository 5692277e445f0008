//! Secrets in their sealed form. A definition contains them; everything derived from it, up to the request, has only
//! digests: `{"sealed": "…"}` at the place of the secret. A live spec may have one wherever the message around it is.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::sync::LazyLock;

use serde_json::value::{RawValue, to_raw_value};
use serde_json::{Map, Value as Json};
use sha2::{Digest as _, Sha256};

use super::walk::{Keys, each_message, is_zero, messages};
use super::{Field, FieldKind, Flag, Group, INDEX, Message, message};

/// The only key of the mark of a secret.
const KEY: &str = "sealed";
/// The length of its digest in bytes.
const BYTES: usize = 16;

/// Whether a key is the name of a secret, or of a field of its sealed form, in any kind.
pub fn is_name(key: &str) -> bool {
    static NAMES: LazyLock<HashSet<&'static str>> = LazyLock::new(|| {
        let forms = |field: &Field| field.below().map(|id| message(id).fields.iter().map(|field| field.name));
        fields().flat_map(|field| std::iter::once(field.name).chain(forms(field).into_iter().flatten())).collect()
    });
    NAMES.contains(key)
}

/// The names of the fields that are secrets, of all kinds.
pub fn names() -> &'static BTreeSet<&'static str> {
    static NAMES: LazyLock<BTreeSet<&'static str>> = LazyLock::new(|| fields().map(|field| field.name).collect());
    &NAMES
}

fn fields() -> impl Iterator<Item = &'static Field> {
    // Few messages have a secret, and decoding all messages would take longer than a load.
    let with_one = INDEX.messages.iter().filter(|(_, known)| known.text.contains(" secret"));
    with_one.flat_map(|(id, _)| &message(id).fields).filter(|field| field.is(Flag::Secret))
}

/// The digest of a sealed secret.
pub fn digest(value: &Json) -> String {
    data_encoding::HEXLOWER.encode(&Sha256::digest(value.to_string())[..BYTES])
}

/// The mark of the secret with this digest.
pub fn mark(digest: &str) -> Json {
    Json::Object(Map::from_iter([(KEY.to_owned(), digest.into())]))
}

/// The digest, if a value is the mark of a secret.
pub fn digest_of(value: &Json) -> Option<&str> {
    let entries = value.as_object().filter(|entries| entries.len() == 1)?;
    entries.get(KEY)?.as_str()
}

/// The digests of the secrets of these keys of a spec.
pub fn digests(of: &Message, keys: Keys<'_>) -> Vec<String> {
    let in_entry = |(key, value): (&str, &Json)| match of.field(&of.spelled(key)) {
        Some(field) if field.is(Flag::Secret) => digest_of(value).map(str::to_owned).into_iter().collect(),
        Some(field) => {
            messages(field, value).iter().flat_map(|one| digests(one.message, Keys::of(one.value))).collect()
        }
        None => Vec::new(),
    };
    keys.iter().flat_map(in_entry).collect()
}

/// Whether a replace that writes `wanted` as keys of the spec does not lose the live secret at a place of
/// [`places`]: the definition has the secret or another option of its group. An item that a list no longer has
/// needs no secret; an entry that a map no longer has counts as lost.
pub fn provides(spec: &Message, wanted: Keys<'_>, place: &str) -> bool {
    let steps: Vec<&str> = place.split('.').skip(1).collect();
    provides_below(spec, wanted, &steps)
}

fn provides_below(of: &Message, wanted: Keys<'_>, steps: &[&str]) -> bool {
    let [step, rest @ ..] = steps else { return false };
    let key = step.split('[').next().unwrap_or(step);
    let Some(field) = of.field(key) else { return false };
    let Some(value) = wanted.get(field.name) else {
        return of.options(key).iter().any(|other| wanted.has(other));
    };
    if field.is(Flag::Secret) {
        return digest_of(value).is_some();
    }
    let Some(message) = field.message() else { return false };
    let provides = |value, rest| provides_below(message, Keys::of(value), rest);
    match (&field.kind, value, rest) {
        (_, Json::Array(items), rest) => items.iter().all(|item| provides(item, rest)),
        (FieldKind::Map(_), Json::Object(values), [key, rest @ ..]) => {
            values.get(*key).is_some_and(|value| provides(value, rest))
        }
        (_, value, rest) => provides(value, rest),
    }
}

/// A spec of the service that may be stored: with `{}` at secrets, and at values of another form that may have one.
pub fn redacted(message: &Message, value: &Json) -> Json {
    let Json::Object(entries) = value else {
        let may_be_one = message.hides() && !is_zero(value);
        return if may_be_one { Json::Object(Map::new()) } else { value.clone() };
    };
    let of_entry = |(key, value): (&String, &Json)| {
        let value = match message.field(&message.spelled(key)) {
            Some(field) if field.is(Flag::Secret) && !is_zero(value) => Json::Object(Map::new()),
            Some(field) if !field.is(Flag::Secret) => each_message(field, value, redacted),
            _ => value.clone(),
        };
        (key.clone(), value)
    };
    entries.iter().map(of_entry).collect()
}

/// A spec with marks of secrets replaced by `of`, where the description has secrets. Other values stay byte for byte.
///
/// # Errors
/// It is not valid JSON.
pub fn unsealed(message: &Message, spec: &RawValue, of: Unseal<'_>) -> serde_json::Result<Box<RawValue>> {
    if !message.hides() || !spec.get().starts_with('{') {
        return Ok(spec.to_owned());
    }
    let mut entries: BTreeMap<String, Box<RawValue>> = serde_json::from_str(spec.get())?;
    for (key, value) in &mut entries {
        let Some(field) = message.field(&message.spelled(key)) else { continue };
        let below = |value: &RawValue| field.message().map_or(Ok(value.to_owned()), |below| unsealed(below, value, of));
        *value = match (&field.kind, value.get().as_bytes().first()) {
            _ if field.is(Flag::Secret) => match digest_of(&serde_json::from_str(value.get())?).and_then(of) {
                Some(secret) => to_raw_value(&secret)?,
                None => continue,
            },
            (_, Some(b'[')) => {
                let items: Vec<&RawValue> = serde_json::from_str(value.get())?;
                to_raw_value(&items.into_iter().map(below).collect::<serde_json::Result<Vec<_>>>()?)?
            }
            (FieldKind::Map(_), Some(b'{')) => {
                let values: BTreeMap<String, &RawValue> = serde_json::from_str(value.get())?;
                let values = values.into_iter().map(|(key, value)| Ok((key, below(value)?)));
                to_raw_value(&values.collect::<serde_json::Result<BTreeMap<_, _>>>()?)?
            }
            _ => below(value)?,
        };
    }
    to_raw_value(&entries)
}

/// Returns a sealed secret by its digest.
type Unseal<'s> = &'s dyn Fn(&str) -> Option<Json>;

/// The texts in the secrets of an unsealed spec, without words of enumerations.
pub fn texts<'v>(spec: &Message, value: &'v Json) -> Vec<&'v str> {
    let mut found = Vec::new();
    texts_below(spec, false, value, &mut found);
    found
}

fn texts_below<'v>(message: &Message, is_secret: bool, value: &'v Json, found: &mut Vec<&'v str>) {
    let entries = match value {
        Json::Object(entries) => entries,
        // The secret has a wrong form, or one that is newer than the description.
        _ if is_secret => return leaves(value, found),
        _ => return,
    };
    for (key, value) in entries {
        let Some(field) = message.field(&message.spelled(key)) else {
            if is_secret {
                leaves(value, found);
            }
            continue;
        };
        let is_secret = is_secret || field.is(Flag::Secret);
        match &field.kind {
            FieldKind::Enum(_) => {}
            _ if field.below().is_some() => {
                messages(field, value)
                    .iter()
                    .for_each(|below| texts_below(below.message, is_secret, below.value, found));
            }
            _ if is_secret => leaves(value, found),
            _ => {}
        }
    }
}

fn leaves<'v>(value: &'v Json, found: &mut Vec<&'v str>) {
    match value {
        Json::String(text) => found.push(text),
        Json::Array(items) => items.iter().for_each(|item| leaves(item, found)),
        Json::Object(entries) => entries.values().for_each(|value| leaves(value, found)),
        Json::Null | Json::Bool(_) | Json::Number(_) => {}
    }
}

/// The places in a spec, live or written, where a secret is or may be. The service does not show secrets, so the
/// message around one counts.
pub fn places(spec: &Message, value: &Json) -> Vec<String> {
    let mut found = Vec::new();
    // An option counts only where it may be chosen; a secret outside of groups always may be set.
    let may_be = |message: &Message, secret: &Field, entries: &Map<String, Json>| {
        message.group_of(secret.name).is_none_or(|group| may_be_chosen(message, group, secret, entries))
    };
    places_below(spec, value, "spec", &may_be, &mut found);
    found
}

/// The places where the spec of a definition lacks a secret that the service requires.
pub fn missing(spec: &Message, value: &Json) -> Vec<String> {
    let mut found = Vec::new();
    let is_missing = |message: &Message, secret: &Field, entries: &Map<String, Json>| {
        message.enforces(secret) && !entries.contains_key(secret.name)
    };
    places_below(spec, value, "spec", &is_missing, &mut found);
    found
}

/// Whether to report a secret field of a message with these entries.
type IsMeant<'m> = &'m dyn Fn(&Message, &Field, &Map<String, Json>) -> bool;

fn places_below(message: &Message, value: &Json, path: &str, is_meant: IsMeant<'_>, found: &mut Vec<String>) {
    let Json::Object(entries) = value else { return };
    if !message.hides() {
        return;
    }
    let may_have_one = |field: &&Field| field.is(Flag::Secret) || field.message().is_some_and(Message::hides);
    for field in message.fields.iter().filter(may_have_one) {
        let path = format!("{path}.{}", field.name);
        if field.is(Flag::Secret) {
            found.extend(is_meant(message, field, entries).then_some(path));
            continue;
        }
        let written = message.entry(entries, field.name);
        for below in written.map(|(_, value)| messages(field, value)).unwrap_or_default() {
            places_below(below.message, below.value, &format!("{path}{}", below.step), is_meant, found);
        }
    }
}

/// Whether this secret may be the chosen option: the service shows a secret that is a text as an empty text.
fn may_be_chosen(message: &Message, group: &Group, secret: &Field, entries: &Map<String, Json>) -> bool {
    let written = |name: &str| message.entry(entries, name).map(|(_, value)| value);
    let Some(value) = written(secret.name).filter(|value| !value.is_null()) else { return false };
    let is_chosen = |name: &&str| *name != secret.name && written(name).is_some_and(|value| !is_zero(value));
    !is_zero(value) || (secret.kind == FieldKind::Text && !group.members.iter().any(is_chosen))
}

/// Whether only create requests have the secret at a place of [`places`]: a replace neither contains nor removes it.
pub fn is_of_create(spec: &Message, place: &str) -> bool {
    let mut steps = place.split('.').skip(1).map(|step| step.split('[').next().unwrap_or(step));
    let mut message = Some(spec);
    while let (Some(of), Some(step)) = (message, steps.next()) {
        let Some(field) = of.field(step) else { return false };
        if field.is(Flag::CreateOnly) {
            return true;
        }
        if let FieldKind::Map(_) = field.kind {
            steps.next();
        }
        message = field.message();
    }
    false
}
