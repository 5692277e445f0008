//! The marks that ownership rests on: two annotations on every object that trueup writes.
//!
//! `trueup/stack` is the name of the stack. `trueup/applied` reads `VERSION RUN ENTRIES`: the version
//! of the canonical form, the run that wrote it, and one entry of fixed width a field that was not
//! its default: a letter and six characters of digest for a fixed field, `l` or `a`, six characters
//! of the key's digest and six of the value's for a label or an annotation. Digests tell whether a
//! field still is as it was applied; they protect nothing, so 36 bits are enough.

use std::collections::BTreeMap;

use sha2::{Digest as _, Sha256};

use super::{Endpoint, Field};

/// The annotation that names the stack.
pub const STACK: &str = "trueup/stack";
/// The annotation that holds what was applied.
pub const APPLIED: &str = "trueup/applied";
/// The annotation that forbids a delete, set to `true` by a person.
pub const PROTECT: &str = "trueup/protect";

/// Stands for the run in a mark that is planned and not yet written; no run has this name.
pub const RUN_PENDING: &str = "*";

/// The version of the canonical form that this program writes.
const VERSION: &str = "1";
/// Characters of a digest.
const WIDTH: usize = 6;

/// What a live object says about who wrote it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Mark {
    /// The stack that owns the object.
    pub stack: Option<String>,
    /// What was applied, where that can be read.
    pub applied: Option<Applied>,
}

/// The fields as they were applied, as digests.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Applied {
    /// The run that wrote it.
    pub run: String,
    entries: BTreeMap<String, String>,
}

/// Why a field of a marked object differs from its definition.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MarkedCause {
    /// Live is as applied: the files moved on.
    Pending,
    /// The definition is as applied: someone changed live.
    Drift,
    /// Both moved.
    Both,
}

/// What a definition may not write itself: the two marks.
#[must_use]
pub fn is_mark(annotation: &str) -> bool {
    annotation == STACK || annotation == APPLIED
}

impl Mark {
    /// The mark that an apply of `endpoint` by `run` writes.
    #[must_use]
    pub fn of(endpoint: &Endpoint, stack: Option<&str>, run: &str) -> Self {
        Self {
            stack: stack.map(str::to_owned),
            applied: Some(Applied { run: run.to_owned(), entries: entries(endpoint) }),
        }
    }

    /// The mark that an object's annotations hold, `None` where there is neither annotation.
    #[must_use]
    pub fn read(annotations: &BTreeMap<String, String>) -> Option<Self> {
        let stack = annotations.get(STACK).cloned();
        let applied = annotations.get(APPLIED);
        if stack.is_none() && applied.is_none() {
            return None;
        }
        Some(Self { stack, applied: applied.and_then(|text| Applied::read(text)) })
    }

    /// The annotations of this mark, in order of their keys.
    #[must_use]
    pub fn annotations(&self) -> Vec<(&'static str, String)> {
        let applied = self.applied.as_ref().map(|applied| (APPLIED, applied.text()));
        let stack = self.stack.clone().map(|stack| (STACK, stack));
        applied.into_iter().chain(stack).collect()
    }

    /// The mark of an object that is in sync, written by the run that will do it: see [`RUN_PENDING`].
    #[must_use]
    pub fn wanted(endpoint: &Endpoint, stack: Option<&str>) -> Self {
        Self::of(endpoint, stack, RUN_PENDING)
    }

    /// Whether `other` says the same of the object, the run aside.
    #[must_use]
    pub fn fits(&self, other: &Mark) -> bool {
        let entries = |mark: &Mark| mark.applied.as_ref().map(|applied| applied.entries.clone());
        self.stack == other.stack && entries(self) == entries(other)
    }
}

impl Applied {
    fn read(text: &str) -> Option<Self> {
        let mut parts = text.split(' ');
        let (version, run, packed) = (parts.next()?, parts.next()?, parts.next()?);
        if version != VERSION || parts.next().is_some() || !packed.is_ascii() {
            return None;
        }
        let mut entries = BTreeMap::new();
        let mut rest = packed;
        while let Some(kind) = rest.chars().next() {
            let slot = if matches!(kind, 'l' | 'a') { 1 + WIDTH } else { 1 };
            if rest.len() < slot + WIDTH {
                return None;
            }
            let (entry, after) = rest.split_at(slot + WIDTH);
            let (slot, digest) = entry.split_at(slot);
            entries.insert(slot.to_owned(), digest.to_owned());
            rest = after;
        }
        Some(Self { run: run.to_owned(), entries })
    }

    /// The text of the annotation.
    #[must_use]
    pub fn text(&self) -> String {
        let mut text = format!("{VERSION} {} ", self.run);
        for (slot, digest) in &self.entries {
            text.push_str(slot);
            text.push_str(digest);
        }
        text
    }

    /// Whether the run wrote the annotation `key`.
    #[must_use]
    pub fn wrote_annotation(&self, key: &str) -> bool {
        self.entries.contains_key(&slot(&Field::Annotation(key.to_owned())))
    }

    /// Why `field` differs between a live object and its definition.
    #[must_use]
    pub fn cause(&self, field: &Field, live: &Endpoint, desired: &Endpoint) -> MarkedCause {
        let applied = self.entries.get(&slot(field));
        let as_applied = |endpoint: &Endpoint| applied == entry(field, endpoint).as_ref();
        let live_as_applied = match (field, &live.spec.place) {
            // The service fills parts of a reference; any way to have written it counts.
            (Field::Where, Some(place)) => place.spellings().any(|place| {
                let spelled = serde_json::to_vec(&super::field::place_json(&place)).unwrap_or_default();
                applied == Some(&digest(&[slot(field).as_bytes(), &spelled]))
            }),
            _ => as_applied(live),
        };
        match (live_as_applied, as_applied(desired)) {
            (true, _) => MarkedCause::Pending,
            (false, true) => MarkedCause::Drift,
            (false, false) => MarkedCause::Both,
        }
    }
}

/// Where a field's digest stands among the entries.
fn slot(field: &Field) -> String {
    match field {
        Field::Description => "d".to_owned(),
        Field::Disable => "x".to_owned(),
        Field::Target => "t".to_owned(),
        Field::Protocol => "p".to_owned(),
        Field::Port => "o".to_owned(),
        Field::HealthCheckPort => "h".to_owned(),
        Field::SnatPool => "s".to_owned(),
        Field::Where => "w".to_owned(),
        Field::Label(key) => format!("l{}", digest(&[key.as_bytes()])),
        Field::Annotation(key) => format!("a{}", digest(&[key.as_bytes()])),
    }
}

/// The digest of a field's value, `None` where it is the default.
fn entry(field: &Field, endpoint: &Endpoint) -> Option<String> {
    if field.is_default(endpoint) {
        return None;
    }
    let value = serde_json::to_vec(&field.value(endpoint)).unwrap_or_default();
    Some(digest(&[slot(field).as_bytes(), &value]))
}

fn entries(endpoint: &Endpoint) -> BTreeMap<String, String> {
    let labels = endpoint.labels.keys().cloned().map(Field::Label);
    let annotations = endpoint.annotations.keys().filter(|key| !is_mark(key)).cloned().map(Field::Annotation);
    Field::FIXED
        .into_iter()
        .chain(labels)
        .chain(annotations)
        .filter_map(|field| Some((slot(&field), entry(&field, endpoint)?)))
        .collect()
}

/// The first 36 bits of a SHA-256, six characters of 64.
fn digest(parts: &[&[u8]]) -> String {
    const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    let mut hash = Sha256::new();
    for part in parts {
        hash.update((part.len() as u64).to_le_bytes());
        hash.update(part);
    }
    let hash = hash.finalize();
    let bits = hash.iter().take(5).fold(0u64, |bits, byte| bits << 8 | u64::from(*byte));
    (0..WIDTH).map(|at| char::from(ALPHABET[(bits >> (34 - 6 * at)) as usize & 63])).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::RawEndpoint;

    fn endpoint(spec: &str, labels: &str) -> Endpoint {
        let text = format!(r#"{{"metadata":{{"name":"a","namespace":"n","labels":{labels}}},"spec":{spec}}}"#);
        serde_json::from_str::<RawEndpoint>(&text).expect("valid JSON").endpoint().expect("an endpoint")
    }

    #[test]
    fn a_mark_survives_its_annotations() {
        let mark = Mark::of(&endpoint(r#"{"ip":"10.0.0.1","port":1}"#, r#"{"a":"b"}"#), Some("shop"), "run-1");
        let annotations = mark.annotations().into_iter().map(|(k, v)| (k.to_owned(), v)).collect();
        assert_eq!(Mark::read(&annotations), Some(mark));
    }

    #[test]
    fn a_mark_of_another_version_keeps_its_stack_and_nothing_else() {
        let annotations =
            BTreeMap::from([(STACK.to_owned(), "s".to_owned()), (APPLIED.to_owned(), "9 r x".to_owned())]);
        assert_eq!(Mark::read(&annotations), Some(Mark { stack: Some("s".to_owned()), applied: None }));
    }

    #[test]
    fn a_cause_tells_who_moved() {
        let applied = endpoint(r#"{"ip":"10.0.0.1","port":1}"#, "{}");
        let moved = endpoint(r#"{"ip":"10.0.0.1","port":2}"#, "{}");
        let third = endpoint(r#"{"ip":"10.0.0.1","port":3}"#, "{}");
        let mark = Mark::of(&applied, None, "r").applied.expect("applied");
        assert_eq!(mark.cause(&Field::Port, &applied, &moved), MarkedCause::Pending);
        assert_eq!(mark.cause(&Field::Port, &moved, &applied), MarkedCause::Drift);
        assert_eq!(mark.cause(&Field::Port, &moved, &third), MarkedCause::Both);
    }

    #[test]
    fn a_reference_that_the_service_filled_is_still_as_applied() {
        let place = |reference: &str| {
            endpoint(&format!(r#"{{"ip":"10.0.0.1","where":{{"site":{{"ref":[{reference}]}}}}}}"#), "{}")
        };
        let applied = place(r#"{"name":"ce01"}"#);
        let filled = place(r#"{"name":"ce01","namespace":"system","tenant":"acme-x","uid":"1","kind":"site"}"#);
        let wanted = place(r#"{"name":"ce02"}"#);
        let mark = Mark::of(&applied, None, "r").applied.expect("applied");
        assert_eq!(mark.cause(&Field::Where, &filled, &wanted), MarkedCause::Pending);
    }
}
