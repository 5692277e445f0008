//! The digests in `trueup/applied`: of the key of an object, and of the value of each of its fields, as entries
//! of fixed width.

use std::hash::Hasher as _;

use siphasher::sip::SipHasher13;

use super::field::FieldValue;
use super::{Endpoint, Field, Key};

/// Characters of the digest of a value.
const WIDTH: usize = 6;
/// Characters of the digest of the object's key.
pub(super) const KEY_WIDTH: usize = 10;

/// The entries as slot and digest, up to the first that is cut off.
pub(super) fn split(entries: &str) -> impl Iterator<Item = (&str, &str)> {
    let mut rest = entries;
    std::iter::from_fn(move || {
        let slot = if rest.starts_with(['l', 'a']) { 1 + WIDTH } else { 1 };
        let (entry, after) = rest.split_at_checked(slot + WIDTH)?;
        rest = after;
        Some(entry.split_at(slot))
    })
}

/// What a field's entry begins with.
pub(super) fn slot(field: &Field) -> String {
    let mut slot = String::with_capacity(1 + WIDTH);
    push_slot(&mut slot, field);
    slot
}

fn push_slot(text: &mut String, field: &Field) {
    text.push(field.letter());
    if let Field::Label(key) | Field::Annotation(key) = field {
        text.extend(digest(&[key.as_bytes()]));
    }
}

/// The digest of a field's value, `None` where it is the default.
pub(super) fn field_digest(slot: &str, field: &Field, endpoint: &Endpoint) -> Option<String> {
    let value = field.of(endpoint);
    (!value.is_default()).then(|| value_digest(slot, &value))
}

/// The digest of a value.
pub(super) fn value_digest(slot: &str, value: &FieldValue<'_>) -> String {
    // Strings, numbers and maps with text keys: nothing that fails.
    digest(&[slot.as_bytes(), &serde_json::to_vec(value).unwrap_or_default()]).collect()
}

/// The entries of these fields of an endpoint, those with the default left out.
pub(super) fn entries(endpoint: &Endpoint, fields: impl Iterator<Item = Field>) -> String {
    let mut entries = String::with_capacity(128);
    // Every endpoint in sync comes through here: one buffer for all of its values.
    let mut json = Vec::with_capacity(256);
    for field in fields {
        let value = field.of(endpoint);
        if !value.is_default() {
            let start = entries.len();
            push_slot(&mut entries, &field);
            json.clear();
            // As in `value_digest`, nothing that fails.
            let _ = serde_json::to_writer(&mut json, &value);
            let digest = digest(&[&entries.as_bytes()[start..], &json]);
            entries.extend(digest);
        }
    }
    entries
}

/// The first 60 bits of a SipHash-1-3 of namespace and name.
pub(super) fn key_digest(key: &Key) -> [u8; KEY_WIDTH] {
    let bits = hash(&[key.namespace.as_str().as_bytes(), key.name.as_str().as_bytes()]);
    std::array::from_fn(|at| character(bits, at))
}

/// The first 36 bits of a SipHash-1-3 without a key, six characters of 64.
fn digest(parts: &[&[u8]]) -> impl Iterator<Item = char> + use<> {
    let bits = hash(parts);
    (0..WIDTH).map(move |at| char::from(character(bits, at)))
}

/// One of the ten characters of 64 that write the first 60 bits of a hash.
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
