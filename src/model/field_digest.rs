//! The digests in `trueup/applied`: of the key of an object, and of the value of each of its fields, as entries
//! of fixed width.

use std::hash::Hasher as _;

use siphasher::sip::SipHasher13;

use super::field::{FieldValue, UNIT};
use super::{Field, Key, Object};

/// The length of the digest of a value in characters.
const WIDTH: usize = 6;
/// The length of the digest of a unit's name; a test proves that the units of each kind have different ones.
const UNIT_WIDTH: usize = 4;
/// The first character of slots for hidden values of a unit.
const HIDDEN: u8 = b'k';
/// The length of the digest of an object's key in characters.
pub(super) const KEY_WIDTH: usize = 10;

/// The entries as slot and digest, up to the first that is cut off.
pub(super) fn split(entries: &str) -> impl Iterator<Item = (&str, &str)> {
    let mut rest = entries;
    std::iter::from_fn(move || {
        let slot = match rest.as_bytes().first().copied() {
            Some(b'l' | b'a') => 1 + WIDTH,
            Some(b'u' | HIDDEN) => 1 + UNIT_WIDTH,
            _ => 1,
        };
        let (entry, after) = rest.split_at_checked(slot + WIDTH)?;
        rest = after;
        Some(entry.split_at(slot))
    })
}

/// The beginning of a field's entry, which identifies the field.
pub(super) fn slot(field: &Field) -> String {
    let mut slot = String::with_capacity(1 + WIDTH);
    push_slot(&mut slot, field);
    slot
}

fn push_slot(text: &mut String, field: &Field) {
    let letter = field.letter();
    text.push(letter);
    match field {
        Field::Label(key) | Field::Annotation(key) => text.extend(digest(&[key.as_bytes()])),
        Field::Unit(name) if letter == UNIT => text.extend(digest(&[name.as_bytes()]).take(UNIT_WIDTH)),
        Field::Unit(_) | Field::Description | Field::Disable => {}
    }
}

/// The slot for the hidden values of a field.
pub(super) fn hidden_slot(field: &Field) -> String {
    let mut slot = slot(field);
    slot.replace_range(..1, char::from(HIDDEN).encode_utf8(&mut [0; 4]));
    slot
}

/// Whether a slot is for hidden values.
pub(super) fn is_hidden(slot: &str) -> bool {
    slot.as_bytes().first() == Some(&HIDDEN)
}

/// The digest of the hidden values of a field; `None` where it has none.
pub(super) fn hidden_digest(slot: &str, field: &Field, endpoint: &Object) -> Option<String> {
    let FieldValue::Unit(unit) = field.of(endpoint) else { return None };
    Some(text_digest(slot, &unit.hidden()?.to_string()))
}

/// The digest of a field's value; `None` where it is the default.
pub(super) fn field_digest(slot: &str, field: &Field, endpoint: &Object) -> Option<String> {
    let mut json = Vec::new();
    field.of(endpoint).write_digested(&mut json).then(|| digest(&[slot.as_bytes(), &json]).collect())
}

/// The digest of the text of a value.
pub(super) fn text_digest(slot: &str, text: &str) -> String {
    digest(&[slot.as_bytes(), text.as_bytes()]).collect()
}

/// The entries of these fields of an object, without those that have their defaults.
pub(super) fn entries(endpoint: &Object, fields: impl Iterator<Item = Field>) -> String {
    let mut entries = String::with_capacity(128);
    // Every object in sync comes through here, so all its values share one buffer.
    let mut json = Vec::with_capacity(256);
    for field in fields {
        let value = field.of(endpoint);
        json.clear();
        if value.write_digested(&mut json) {
            let start = entries.len();
            push_slot(&mut entries, &field);
            let digest = digest(&[&entries.as_bytes()[start..], &json]);
            entries.extend(digest);
        }
        if let FieldValue::Unit(unit) = value
            && let Some(hidden) = unit.hidden()
        {
            let slot = hidden_slot(&field);
            entries.push_str(&slot);
            entries.push_str(&text_digest(&slot, &hidden.to_string()));
        }
    }
    entries
}

/// The digest of a key in an annotation.
pub type KeyDigest = [u8; KEY_WIDTH];

/// The first 60 bits of a SipHash-1-3 of namespace, name and, for other kinds than endpoint, the kind.
pub fn key_digest(key: &Key) -> KeyDigest {
    let names = [key.namespace.as_str().as_bytes(), key.name.as_str().as_bytes(), key.kind.as_str().as_bytes()];
    // The digest of an endpoint stays compatible with versions that had no other kinds.
    let bits = hash(if key.kind.is_endpoint() { &names[..2] } else { &names });
    std::array::from_fn(|at| character(bits, at))
}

/// The first 36 bits of a SipHash-1-3 without a key, as six characters of an alphabet of 64.
fn digest(parts: &[&[u8]]) -> impl Iterator<Item = char> + use<> {
    let bits = hash(parts);
    (0..WIDTH).map(move |at| char::from(character(bits, at)))
}

/// One of the ten characters, of an alphabet of 64, that encode the first 60 bits of a hash.
fn character(bits: u64, at: usize) -> u8 {
    const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    ALPHABET[((bits >> (58 - 6 * at)) & 63) as usize]
}

fn hash(parts: &[&[u8]]) -> u64 {
    let mut hash = SipHasher13::new();
    for part in parts {
        hash.write_u64((part.len() as u64).to_le());
        hash.write(part);
    }
    hash.finish()
}
