//! The marks that ownership rests on: two annotations on every object that trueup writes.
//!
//! `trueup/stack` is the name of the stack. `trueup/applied` reads `VERSION RUN ENTRIES`: the version
//! of the canonical form, the run that wrote it, and one entry of fixed width a field that was not
//! its default: a letter and six characters of digest for a fixed field, `l` or `a`, six characters
//! of the key's digest and six of the value's for a label or an annotation. Digests tell whether a
//! field still is as it was applied; they protect nothing, so 36 bits of SipHash are enough. Every
//! object in sync is digested in every plan, which is why they must be cheap.

use std::hash::Hasher as _;

use siphasher::sip::SipHasher13;

use super::field::Wire;
use super::{Endpoint, Field, RawWhere, Texts};

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
    /// Entries of fixed width, one behind the other, as the annotation holds them.
    entries: String,
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
    pub fn read(annotations: &Texts) -> Option<Self> {
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
        let applied = self.applied.as_ref().map(|applied| &applied.entries);
        self.stack == other.stack && applied == other.applied.as_ref().map(|applied| &applied.entries)
    }
}

impl Applied {
    fn read(text: &str) -> Option<Self> {
        let mut parts = text.split(' ');
        let (version, run, entries) = (parts.next()?, parts.next()?, parts.next()?);
        if version != VERSION || parts.next().is_some() || !entries.is_ascii() {
            return None;
        }
        let whole: usize = split(entries).map(|(slot, digest)| slot.len() + digest.len()).sum();
        (whole == entries.len()).then(|| Self { run: run.to_owned(), entries: entries.to_owned() })
    }

    /// The text of the annotation.
    #[must_use]
    pub fn text(&self) -> String {
        format!("{VERSION} {} {}", self.run, self.entries)
    }

    /// Whether the run wrote the annotation `key`.
    #[must_use]
    pub fn wrote_annotation(&self, key: &str) -> bool {
        self.digest(&slot(&Field::Annotation(key.to_owned()))).is_some()
    }

    /// The digest of the value that was applied; nothing where that was the default.
    fn digest(&self, slot: &str) -> Option<&str> {
        split(&self.entries).find(|(taken, _)| *taken == slot).map(|(_, digest)| digest)
    }

    /// Why `field` differs between a live object and its definition.
    #[must_use]
    pub fn cause(&self, field: &Field, live: &Endpoint, desired: &Endpoint) -> MarkedCause {
        let slot = slot(field);
        let applied = self.digest(&slot);
        let as_applied = |endpoint: &Endpoint| applied == value_digest(&slot, field, endpoint).as_deref();
        let live_as_applied = match (field, &live.spec.place) {
            // The service fills parts of a reference; any way to have written it counts.
            (Field::Where, Some(place)) => place
                .spellings()
                .any(|place| applied == Some(wire_digest(&slot, &Wire::Place(Some(RawWhere::from(&place)))).as_str())),
            _ => as_applied(live),
        };
        match (live_as_applied, as_applied(desired)) {
            (true, _) => MarkedCause::Pending,
            (false, true) => MarkedCause::Drift,
            (false, false) => MarkedCause::Both,
        }
    }
}

/// The entries of a mark as slot and digest, up to the first that is cut off.
fn split(entries: &str) -> impl Iterator<Item = (&str, &str)> {
    let mut rest = entries;
    std::iter::from_fn(move || {
        let slot = if rest.starts_with(['l', 'a']) { 1 + WIDTH } else { 1 };
        let (entry, after) = rest.split_at_checked(slot + WIDTH)?;
        rest = after;
        Some(entry.split_at(slot))
    })
}

/// What a field's entry begins with.
fn slot(field: &Field) -> String {
    let (letter, key) = match field {
        Field::Description => ('d', None),
        Field::Disable => ('x', None),
        Field::Target => ('t', None),
        Field::Protocol => ('p', None),
        Field::Port => ('o', None),
        Field::HealthCheckPort => ('h', None),
        Field::SnatPool => ('s', None),
        Field::Where => ('w', None),
        Field::Label(key) => ('l', Some(key)),
        Field::Annotation(key) => ('a', Some(key)),
    };
    let mut slot = String::with_capacity(1 + WIDTH);
    slot.push(letter);
    slot.extend(key.into_iter().flat_map(|key| digest(&[key.as_bytes()])));
    slot
}

/// The digest of a field's value, `None` where it is the default.
fn value_digest(slot: &str, field: &Field, endpoint: &Endpoint) -> Option<String> {
    if field.is_default(endpoint) {
        return None;
    }
    Some(wire_digest(slot, &field.wire(endpoint)))
}

fn wire_digest(slot: &str, value: &Wire<'_>) -> String {
    // Strings, numbers and maps with text keys: nothing that fails.
    digest(&[slot.as_bytes(), &serde_json::to_vec(value).unwrap_or_default()]).collect()
}

fn entries(endpoint: &Endpoint) -> String {
    let labels = endpoint.labels.keys().cloned().map(Field::Label);
    let annotations = endpoint.annotations.keys().filter(|key| !is_mark(key)).cloned().map(Field::Annotation);
    let fields = Field::FIXED.into_iter().chain(labels).chain(annotations);
    let mut entries = String::with_capacity(128);
    for field in fields.filter(|field| !field.is_default(endpoint)) {
        let slot = slot(&field);
        entries.push_str(&slot);
        entries.push_str(&wire_digest(&slot, &field.wire(endpoint)));
    }
    entries
}

/// The first 36 bits of a SipHash-1-3 without a key, six characters of 64.
fn digest(parts: &[&[u8]]) -> impl Iterator<Item = char> + use<> {
    const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    let mut hash = SipHasher13::new();
    for part in parts {
        hash.write_u64((part.len() as u64).to_le());
        hash.write(part);
    }
    let bits = hash.finish();
    (0..WIDTH).map(move |at| char::from(ALPHABET[(bits >> (58 - 6 * at)) as usize & 63]))
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
            Texts::from_iter([(STACK.to_owned(), "s".to_owned()), (APPLIED.to_owned(), "9 r x".to_owned())]);
        assert_eq!(Mark::read(&annotations), Some(Mark { stack: Some("s".to_owned()), applied: None }));
    }

    #[test]
    fn an_object_without_the_newer_fields_has_the_digests_of_older_versions() {
        let entries = |spec: &str, labels: &str, description: &str| {
            let mut endpoint = endpoint(spec, labels);
            endpoint.description = description.to_owned();
            Mark::of(&endpoint, None, "r").applied.expect("applied").entries
        };
        // As version 0.1.0 wrote them.
        let full = r#"{"dns_name_advanced": {"name": "a.example.net", "refresh_interval": 60}, "port": 443,
            "snat_pool": {"snat_pool": {"prefixes": ["10.1.0.0/16", "10.2.0.0/16"]}},
            "where": {"site": {"ref": [{"name": "ce01", "namespace": "system"}],
                               "network_type": "VIRTUAL_NETWORK_PUBLIC", "enable_internet_vip": {}}}}"#;
        let applied = "dJ-uQgXt7pdSpNoXciOMrsAIZC1gwXMM0d2lo9D_AbhtIB0F";
        assert_eq!(entries(full, r#"{"tier": "web"}"#, "d"), applied);
        let bare = r#"{"dns_name_advanced": {"name": "b.example.net"}, "snat_pool": {"snat_pool": {"prefixes": []}},
            "where": {"virtual_site": {"ref": [{"name": "all"}]}}}"#;
        assert_eq!(entries(bare, "{}", ""), "tCRujmJs5UXaDRw3aZ_JV");
        let emptied = bare.replace(r#"{"prefixes": []}"#, r#"{"prefixes": [], "ipv6_prefixes": []}"#);
        let emptied = emptied.replace(r#"{"ref""#, r#"{"refs": [], "ref""#);
        assert_eq!(entries(&emptied, "{}", ""), "tCRujmJs5UXaDRw3aZ_JV");
        let service = r#"{"service_info": {"discovery_type": "THIRD_PARTY", "service_name": "x"},
            "where": {"virtual_network": {"ref": [{"name": "net"}]}}}"#;
        assert_eq!(entries(service, "{}", ""), "tcJmXUrwtVDpPU");
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
        let with_refs = |name: &str, refs: &str| {
            let site = format!(r#"{{"ref":[{{"name":"{name}"}}],"refs":[{refs}]}}"#);
            endpoint(&format!(r#"{{"ip":"10.0.0.1","where":{{"site":{site}}}}}"#), "{}")
        };
        let applied = with_refs("ce01", r#"{"name":"blue"},{"name":"red"}"#);
        let full = r#""namespace":"shop","tenant":"acme-x","uid":"2""#;
        let filled = with_refs("ce01", &format!(r#"{{"name":"blue",{full}}},{{"name":"red",{full}}}"#));
        let mark = Mark::of(&applied, None, "r").applied.expect("applied");
        assert_eq!(mark.cause(&Field::Where, &filled, &with_refs("ce01", "")), MarkedCause::Pending);
        assert_eq!(mark.cause(&Field::Where, &with_refs("ce01", ""), &applied), MarkedCause::Drift);
    }
}
