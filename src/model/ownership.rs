//! Who owns a live object: two annotations on every object that trueup writes.
//!
//! `trueup/stack` is the name of the stack. `trueup/applied` reads `VERSION RUN KEY COMMIT ENTRIES`:
//! the version of the canonical form, the run that wrote it, ten characters of digest of the key that
//! it was written for, the commit that the run applied (`-` without one), and one entry for each field
//! without its default: a letter and six characters of the value's digest for a fixed field; `l` or `a`,
//! six characters of the key's digest and six of the value's for a label or an annotation; `u` (`k` for
//! hidden values), four characters of the name's digest and six of the value's for other units. Version 1
//! has neither `KEY` nor `COMMIT`. Version 3 has the stack that the object was moved from between `COMMIT`
//! and `ENTRIES`: the new stack has not applied it yet. Digests show whether a field still has the applied
//! value, and whether the annotations were copied from another object. They do not protect anything, so 36
//! and 60 bits of SipHash are enough. They must be cheap: every plan digests every object in sync.

use std::collections::BTreeSet;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::field_digest::{
    KeyDigest, entries, field_digest, hidden_digest, hidden_slot, is_hidden, key_digest, slot, split, text_digest,
};
use super::{Field, Key, Object, StringMap, words};

/// The annotation that names the stack.
pub const STACK: &str = "trueup/stack";
/// The annotation with what was applied.
pub const APPLIED: &str = "trueup/applied";
/// The annotation with which a user forbids a delete, by the value `true`.
pub const PROTECT: &str = "trueup/protect";

/// A placeholder for the run in annotations that are planned and not yet written; no run has this name.
pub const RUN_PENDING: &str = "*";
/// The number of digits of a commit in `trueup/applied`: the whole id, or the beginning of a longer one.
pub const COMMIT_DIGITS: usize = 40;

/// The length of the longest id of a run in characters.
pub const LONGEST_RUN: usize = 96;

/// The version of the canonical form that trueup writes.
const VERSION: &str = "2";
/// The version for an object that was moved from another stack. Programs that do not know this version treat the
/// object as unverified, and never delete it.
const VERSION_MOVED: &str = "3";
/// The old version without key and commit.
const VERSION_WITHOUT_KEY: &str = "1";
/// A placeholder where there is no commit.
const NO_COMMIT: &str = "-";

/// The owner of a live object and what was applied to it, by its annotations.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[must_use]
pub struct Ownership {
    /// The stack that owns the object.
    pub stack: Option<String>,
    /// What was applied, if that can be read.
    pub applied: Option<AppliedFields>,
}

/// Digests of the applied fields.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AppliedFields {
    /// The run that wrote it.
    pub run: String,
    /// The digest of the key that it was written for; version 1 has none.
    pub key: Option<KeyDigest>,
    /// The commit as the annotation has it.
    commit: String,
    /// The stack that it was moved from; the one that owns it now has not applied it yet.
    moved_from: Option<String>,
    /// The concatenated entries, as in the annotation.
    entries: String,
}

/// Whether the annotations were written for the object that has them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WrittenFor {
    /// For this key.
    This,
    /// For another key: the annotations were copied.
    Another,
    /// Unknown: version 1 does not have the key.
    Unnamed,
}

/// Why a difference exists. It is information for users; only the verdict of `drift` depends on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Cause {
    /// The files changed.
    Pending,
    /// Live was changed outside of trueup.
    Drift,
    /// Both changed.
    Both,
    /// The live object has no ownership annotations.
    Unannotated,
}

words!(Cause { Pending = "pending", Drift = "drift", Both = "both", Unannotated = "unannotated" });

/// Whether it is one of the two ownership annotations, which a definition may not set.
pub fn is_ownership_annotation(annotation: &str) -> bool {
    annotation == STACK || annotation == APPLIED
}

/// Whether this value of [`PROTECT`] forbids the delete of an object. Every value except `false` does.
pub fn protects(value: &str) -> bool {
    !value.trim().eq_ignore_ascii_case("false")
}

impl Object {
    /// Whether its annotations forbid its delete.
    pub fn is_protected(&self) -> bool {
        self.annotations.get(PROTECT).is_some_and(|value| protects(value))
    }
}

impl Field {
    /// Whether it is one of the two ownership annotations.
    pub fn is_ownership_annotation(&self) -> bool {
        matches!(self, Field::Annotation(key) if is_ownership_annotation(key))
    }
}

impl Ownership {
    /// The annotations that an apply of `endpoint` by `run` writes, without a commit.
    pub fn of(endpoint: &Object, stack: Option<&str>, run: &str) -> Self {
        let applied = AppliedFields {
            run: run.to_owned(),
            key: Some(key_digest(&endpoint.key)),
            commit: NO_COMMIT.to_owned(),
            moved_from: None,
            entries: entries(endpoint, written_fields(endpoint)),
        };
        Self { stack: stack.map(str::to_owned), applied: Some(applied) }
    }

    /// The same with this commit, or without one.
    pub fn at_commit(mut self, commit: Option<&str>) -> Self {
        if let Some(applied) = &mut self.applied {
            applied.set_commit(commit);
        }
        self
    }

    /// The ownership in an object's annotations; `None` where it has neither annotation.
    pub fn read(annotations: &StringMap) -> Option<Self> {
        let stack = annotations.get(STACK).cloned();
        let applied = annotations.get(APPLIED);
        if stack.is_none() && applied.is_none() {
            return None;
        }
        Some(Self { stack, applied: applied.and_then(|text| AppliedFields::read(text)) })
    }

    /// The annotations, in order of their keys.
    pub fn annotations(&self) -> Vec<(&'static str, String)> {
        let applied = self.applied.as_ref().map(|applied| (APPLIED, applied.text()));
        let stack = self.stack.clone().map(|stack| (STACK, stack));
        applied.into_iter().chain(stack).collect()
    }

    /// The annotations that an object in sync gets from a future run: see [`RUN_PENDING`].
    pub fn wanted(endpoint: &Object, stack: Option<&str>) -> Self {
        Self::of(endpoint, stack, RUN_PENDING)
    }

    /// The same for a run that does not change these fields, for which the entries of `before` stay.
    pub fn keeping(mut self, before: Option<&AppliedFields>, fields: &[Field]) -> Self {
        if let (Some(applied), false) = (&mut self.applied, fields.is_empty()) {
            applied.keep(before, fields);
        }
        self
    }

    /// Whether `wanted` is the same, apart from run, commit, and hidden values that `wanted` does not name.
    pub fn fits(&self, wanted: &Ownership) -> bool {
        let same = |one: &AppliedFields, other: &AppliedFields| {
            let named = || split(&one.entries).filter(|(slot, _)| !is_hidden(slot) || other.digest(slot).is_some());
            let wanted = || split(&other.entries);
            // Kept entries follow written ones, so the order may differ.
            let are_equal = || named().collect::<BTreeSet<_>>() == wanted().collect();
            let is_named = || named().eq(wanted()) || are_equal();
            one.key == other.key && one.moved_from == other.moved_from && is_named()
        };
        let fits = match (&self.applied, &wanted.applied) {
            (Some(one), Some(other)) => same(one, other),
            (one, other) => one.is_none() && other.is_none(),
        };
        self.stack == wanted.stack && fits
    }
}

/// The fields that an apply writes: all except the ownership annotations themselves.
fn written_fields(endpoint: &Object) -> impl Iterator<Item = Field> {
    let labels = endpoint.labels.keys().cloned().map(Field::Label);
    let annotations = endpoint.annotations.keys().filter(|key| !is_ownership_annotation(key));
    Field::of_both(endpoint, endpoint).chain(labels).chain(annotations.cloned().map(Field::Annotation))
}

impl AppliedFields {
    /// Parses the text of the annotation.
    pub fn read(text: &str) -> Option<Self> {
        let mut parts = text.split(' ');
        let (version, run) = (parts.next()?, parts.next()?);
        let (key, commit) = match version {
            VERSION | VERSION_MOVED => (Some(parts.next()?.as_bytes().try_into().ok()?), parts.next()?),
            VERSION_WITHOUT_KEY => (None, NO_COMMIT),
            _ => return None,
        };
        let moved_from = if version == VERSION_MOVED { Some(parts.next()?.to_owned()) } else { None };
        let entries = parts.next()?;
        if parts.next().is_some() || !entries.is_ascii() {
            return None;
        }
        let whole: usize = split(entries).map(|(slot, digest)| slot.len() + digest.len()).sum();
        let (run, commit, entries) = (run.to_owned(), commit.to_owned(), entries.to_owned());
        (whole == entries.len()).then_some(Self { run, key, commit, moved_from, entries })
    }

    /// The text of the annotation.
    pub fn text(&self) -> String {
        let Self { run, commit, entries, .. } = self;
        match (self.key.as_ref().map(|key| String::from_utf8_lossy(key)), &self.moved_from) {
            (Some(key), None) => format!("{VERSION} {run} {key} {commit} {entries}"),
            (Some(key), Some(from)) => format!("{VERSION_MOVED} {run} {key} {commit} {from} {entries}"),
            (None, _) => format!("{VERSION_WITHOUT_KEY} {run} {entries}"),
        }
    }

    /// Whether it was written for the object of this key.
    pub fn written_for(&self, key: &Key) -> WrittenFor {
        match &self.key {
            None => WrittenFor::Unnamed,
            Some(named) if *named == key_digest(key) => WrittenFor::This,
            Some(_) => WrittenFor::Another,
        }
    }

    /// The text of the annotation with a change of its content; a text that cannot be read stays unchanged.
    pub fn altered(text: &str, change: impl FnOnce(&mut Self)) -> String {
        let Some(mut applied) = Self::read(text) else { return text.to_owned() };
        change(&mut applied);
        applied.text()
    }

    /// Changes it for an object that a run transfers to another stack: the entries stay, and the commit of the old
    /// stack is removed. `from` is the old stack, if the new one does not define the object yet.
    pub fn transfer(&mut self, from: Option<&str>) {
        RUN_PENDING.clone_into(&mut self.run);
        self.set_commit(None);
        self.moved_from = from.map(str::to_owned);
    }

    /// Changes it for a run that does not change these fields: they get the entries of `before`.
    pub fn keep(&mut self, before: Option<&Self>, fields: &[Field]) {
        let slots: Vec<String> = fields.iter().flat_map(|field| [slot(field), hidden_slot(field)]).collect();
        let is_kept = |(slot, _): &(&str, &str)| slots.iter().any(|kept| kept == slot);
        let written = split(&self.entries).filter(|entry| !is_kept(entry));
        let kept = before.into_iter().flat_map(|before| split(&before.entries)).filter(is_kept);
        self.entries = written.chain(kept).flat_map(|(slot, digest)| [slot, digest]).collect();
    }

    /// The stack that the object was moved from, if its current stack has not applied it yet.
    pub fn moved_from(&self) -> Option<&str> {
        self.moved_from.as_deref()
    }

    /// Sets another commit, or none. Longer ids, of repositories with SHA-256, are cut.
    pub fn set_commit(&mut self, commit: Option<&str>) {
        self.commit = commit.unwrap_or(NO_COMMIT).chars().take(COMMIT_DIGITS).collect();
    }

    /// The commit that the run applied completely, in lower-case hex digits; `None` where it has none.
    pub fn commit(&self) -> Option<&str> {
        let is_digit = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
        let is_id = self.commit.len() == COMMIT_DIGITS && self.commit.bytes().all(is_digit);
        is_id.then_some(self.commit.as_str())
    }

    /// Whether the run wrote this label or annotation.
    pub fn wrote(&self, field: &Field) -> bool {
        self.digest(&slot(field)).is_some()
    }

    /// The digest of the applied value; `None` where that was the default.
    fn digest(&self, slot: &str) -> Option<&str> {
        split(&self.entries).find(|(taken, _)| *taken == slot).map(|(_, digest)| digest)
    }

    /// Whether the hidden values of `field` that `desired` names are those that were applied.
    pub fn hidden_as_applied(&self, field: &Field, desired: &Object) -> bool {
        let slot = hidden_slot(field);
        hidden_digest(&slot, field, desired).is_none_or(|digest| self.digest(&slot) == Some(&digest))
    }

    /// Whether hidden values of `field` were applied.
    pub fn has_hidden(&self, field: &Field) -> bool {
        self.digest(&hidden_slot(field)).is_some()
    }

    /// Whether `endpoint` has in `field` exactly the value that was applied.
    pub fn is_as_applied(&self, field: &Field, endpoint: &Object) -> bool {
        let slot = slot(field);
        self.digest(&slot) == field_digest(&slot, field, endpoint).as_deref()
    }

    /// Why `field` differs between live and its definition: live has the applied value, the definition has, or neither.
    pub fn cause(&self, field: &Field, live: &Object, desired: &Object) -> Cause {
        let slot = slot(field);
        let applied = self.digest(&slot);
        let as_applied = |endpoint: &Object| applied == field_digest(&slot, field, endpoint).as_deref();
        let mirrors_applied = |unit| {
            let source = live.spec.mirrored(unit).map(Field::of_unit);
            source.is_some_and(|source| self.is_as_applied(&source, live))
        };
        let live_as_applied = as_applied(live)
            || field.unit().is_some_and(|unit| {
                let digests = live.spec.spelled(unit, &desired.spec, &desired.key.namespace);
                // A unit that is left out has no spellings and no digest.
                digests.is_empty() && applied.is_none()
                    // A value that the service derived from an applied unit was never applied itself.
                    || applied.is_none() && mirrors_applied(unit)
                    || digests.iter().any(|text| applied == Some(text_digest(&slot, text).as_str()))
            });
        // If both are as applied, only parts differ that digests leave out. Unknown keys, and values that strict kinds
        // refuse, were changed live; a default or a tenant that the definition names was probably added to that.
        let is_changed_live = || {
            let is_of_live = |unit| desired.spec.has_unknown(unit) || live.spec.is_as(unit, &desired.spec);
            let differs = !live.key.kind.is_whole() && !field.is_same(live, desired);
            differs && field.unit().is_some_and(is_of_live) && self.hidden_as_applied(field, desired)
        };
        // An unknown value has a digest of its own; for a single value, that shows whether live was changed.
        let is_unknown_changed_live = |unit| {
            let slot = hidden_slot(field);
            let live = live.spec.unknown_value(unit).map(|text| text_digest(&slot, &text));
            live.is_some_and(|live| self.digest(&slot).is_some_and(|applied| applied != live))
        };
        match (live_as_applied, as_applied(desired)) {
            (true, true) if is_changed_live() => Cause::Drift,
            (true, _) if field.unit().is_some_and(is_unknown_changed_live) => Cause::Both,
            (true, _) => Cause::Pending,
            (false, true) if self.hidden_as_applied(field, desired) => Cause::Drift,
            (false, _) => Cause::Both,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn endpoint(spec: &str, labels: &str) -> Object {
        let text = format!(r#"{{"metadata":{{"name":"a","namespace":"n","labels":{labels}}},"spec":{spec}}}"#);
        serde_json::from_str(&text).expect("an endpoint")
    }

    #[test]
    fn an_ownership_survives_its_annotations() {
        let ownership =
            Ownership::of(&endpoint(r#"{"ip":"10.0.0.1","port":1}"#, r#"{"a":"b"}"#), Some("shop"), "run-1");
        let annotations = ownership.annotations().into_iter().map(|(k, v)| (k.to_owned(), v)).collect();
        assert_eq!(Ownership::read(&annotations), Some(ownership));
    }

    #[test]
    fn annotations_of_an_unknown_version_keep_their_stack_and_nothing_else() {
        let annotations =
            StringMap::from_iter([(STACK.to_owned(), "s".to_owned()), (APPLIED.to_owned(), "9 r x".to_owned())]);
        assert_eq!(Ownership::read(&annotations), Some(Ownership { stack: Some("s".to_owned()), applied: None }));
        for odd in ["1 r dAAAAAA more", "1 r dAAAAAAA", "1 r dAAAAA", "1 r dÄÄÄ", "1 r", "1", ""] {
            assert_eq!(AppliedFields::read(odd), None, "{odd}");
        }
        assert!(AppliedFields::read("1 r dAAAAAA").is_some());
    }

    #[test]
    fn what_a_run_leaves_stays_as_the_run_before_wrote_it_and_nothing_else() {
        let [then, now] =
            [r#"{"ip":"10.0.0.1","port":1}"#, r#"{"ip":"10.0.0.2","port":2}"#].map(|spec| endpoint(spec, "{}"));
        let [before, text] =
            [&then, &now].map(|endpoint| Ownership::of(endpoint, None, "r").applied.expect("applied").text());
        let [port, target] = ["port", "target"].map(Field::of_unit);
        let [before, mut kept] = [before, text].map(|text| AppliedFields::read(&text).expect("an annotation"));
        kept.keep(Some(&before), std::slice::from_ref(&port));
        assert!(kept.is_as_applied(&port, &then) && !kept.is_as_applied(&port, &now));
        assert!(kept.is_as_applied(&target, &now) && !kept.is_as_applied(&target, &then));
    }

    #[test]
    fn an_object_without_the_newer_fields_has_the_digests_of_older_versions() {
        let entries = |spec: &str, labels: &str, description: &str| {
            let mut endpoint = endpoint(spec, labels);
            endpoint.description = description.to_owned();
            Ownership::of(&endpoint, None, "r").applied.expect("applied").entries
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
    fn annotations_name_the_key_and_the_commit_that_they_were_written_for() {
        let cart = endpoint(r#"{"ip":"10.0.0.1","port":1}"#, "{}");
        let commit = "3f2c9ab0".repeat(5);
        let applied = Ownership::of(&cart, Some("shop"), "r").at_commit(Some(&commit)).applied.expect("applied");
        let read = AppliedFields::read(&applied.text()).expect("its own text");
        assert_eq!(read, applied);
        assert_eq!(read.commit(), Some(commit.as_str()));
        assert_eq!(read.written_for(&cart.key), WrittenFor::This);
        // The parts do not run into one another.
        for other in ["n/b", "na/b", "o/a", "n/aa"] {
            assert_eq!(read.written_for(&Key::parse(other).expect("a key")), WrittenFor::Another, "{other}");
        }
        for odd in ["-", "*", "HEAD", "--all", "3f2c9ab", &"G".repeat(40)] {
            let odd = Ownership::of(&cart, None, "r").at_commit(Some(odd)).applied.expect("applied");
            assert_eq!(AppliedFields::read(&odd.text()).expect("applied fields").commit(), None);
        }
    }

    #[test]
    fn a_moved_object_keeps_what_was_applied_and_names_the_stack_that_it_comes_from() {
        let cart = endpoint(r#"{"ip":"10.0.0.1","port":1}"#, "{}");
        let before = Ownership::of(&cart, Some("old"), "r").at_commit(Some(&"3f2c9ab0".repeat(5)));
        let text = before.applied.as_ref().expect("applied").text();
        let moved_text = |text: &str, from| AppliedFields::altered(text, |applied| applied.transfer(from));
        let moved = AppliedFields::read(&moved_text(&text, Some("old"))).expect("its own text");
        assert_eq!((moved.moved_from(), moved.commit(), moved.run.as_str()), (Some("old"), None, RUN_PENDING));
        assert_eq!(moved.written_for(&cart.key), WrittenFor::This);
        assert!(moved.is_as_applied(&Field::of_unit("port"), &cart));
        let moved = Ownership { stack: Some("new".to_owned()), applied: Some(moved) };
        assert!(!moved.fits(&Ownership::wanted(&cart, Some("new"))), "an apply of the new stack writes it again");
        let defined = AppliedFields::read(&moved_text(&text, None)).expect("its own text");
        assert!(Ownership { stack: moved.stack, applied: Some(defined) }.fits(&Ownership::wanted(&cart, Some("new"))));
        // What proves no key proves none afterwards.
        assert_eq!(moved_text("1 r ", Some("old")), "1 * ");
        assert_eq!(moved_text("9 of the future", Some("old")), "9 of the future");
    }

    #[test]
    fn annotations_of_version_1_keep_their_fields_and_name_no_key() {
        let applied = endpoint(r#"{"ip":"10.0.0.1","port":1}"#, "{}");
        let moved = endpoint(r#"{"ip":"10.0.0.1","port":2}"#, "{}");
        let now = Ownership::of(&applied, Some("shop"), "r");
        // As trueup wrote it before version 2.
        let entries = now.applied.as_ref().map(|applied| applied.entries.clone()).unwrap_or_default();
        let annotations = [(STACK, "shop".to_owned()), (APPLIED, format!("1 r {entries}"))];
        let old = Ownership::read(&annotations.map(|(key, value)| (key.to_owned(), value)).into_iter().collect())
            .expect("applied fields");
        let fields = old.applied.as_ref().expect("version 1 is read");
        assert_eq!(fields.written_for(&applied.key), WrittenFor::Unnamed);
        assert_eq!(fields.commit(), None);
        assert_eq!(fields.cause(&Field::of_unit("port"), &applied, &moved), Cause::Pending);
        assert_eq!(fields.text(), format!("1 r {entries}"));
        // It is written anew.
        assert!(!old.fits(&now));
    }

    #[test]
    fn a_cause_shows_who_moved() {
        let applied = endpoint(r#"{"ip":"10.0.0.1","port":1}"#, "{}");
        let moved = endpoint(r#"{"ip":"10.0.0.1","port":2}"#, "{}");
        let third = endpoint(r#"{"ip":"10.0.0.1","port":3}"#, "{}");
        let fields = Ownership::of(&applied, None, "r").applied.expect("applied");
        assert_eq!(fields.cause(&Field::of_unit("port"), &applied, &moved), Cause::Pending);
        assert_eq!(fields.cause(&Field::of_unit("port"), &moved, &applied), Cause::Drift);
        assert_eq!(fields.cause(&Field::of_unit("port"), &moved, &third), Cause::Both);
    }

    #[test]
    fn an_interval_that_the_service_filled_is_still_as_applied() {
        let target = |name: &str, interval: &str| {
            endpoint(&format!(r#"{{"dns_name_advanced":{{"name":"{name}"{interval}}}}}"#), "{}")
        };
        let (applied, filled) = (target("a.b", ""), target("a.b", r#","refresh_interval":300"#));
        let wanted = target("c.d", "");
        let moved = target("e.f", r#","refresh_interval":300"#);
        let fields = Ownership::of(&applied, None, "r").applied.expect("applied");
        assert_eq!(fields.cause(&Field::of_unit("target"), &filled, &wanted), Cause::Pending);
        assert_eq!(fields.cause(&Field::of_unit("target"), &moved, &applied), Cause::Drift);
    }

    #[test]
    fn a_reference_that_the_service_filled_is_still_as_applied() {
        let place = |reference: &str| {
            endpoint(&format!(r#"{{"ip":"10.0.0.1","where":{{"site":{{"ref":[{reference}]}}}}}}"#), "{}")
        };
        let applied = place(r#"{"name":"ce01"}"#);
        let filled = place(r#"{"name":"ce01","namespace":"system","tenant":"acme-x","uid":"1","kind":"site"}"#);
        let wanted = place(r#"{"name":"ce02"}"#);
        let fields = Ownership::of(&applied, None, "r").applied.expect("applied");
        assert_eq!(fields.cause(&Field::of_unit("where"), &filled, &wanted), Cause::Pending);
        let with_refs = |name: &str, refs: &str| {
            let site = format!(r#"{{"ref":[{{"name":"{name}"}}],"refs":[{refs}]}}"#);
            endpoint(&format!(r#"{{"ip":"10.0.0.1","where":{{"site":{site}}}}}"#), "{}")
        };
        let applied = with_refs("ce01", r#"{"name":"blue"},{"name":"red"}"#);
        let full = r#""namespace":"shop","tenant":"acme-x","uid":"2""#;
        let filled = with_refs("ce01", &format!(r#"{{"name":"blue",{full}}},{{"name":"red",{full}}}"#));
        let fields = Ownership::of(&applied, None, "r").applied.expect("applied");
        assert_eq!(fields.cause(&Field::of_unit("where"), &filled, &with_refs("ce01", "")), Cause::Pending);
        assert_eq!(fields.cause(&Field::of_unit("where"), &with_refs("ce01", ""), &applied), Cause::Drift);
    }
}
