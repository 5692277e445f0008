//! The records of scheduled checks, in a file that the caller keeps: since when a value has drifted, in
//! how many checks it was seen, and which objects were ever found in place, so that an object that is
//! missing later is known to have been deleted. It does not affect an apply. The clock is passed in.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::time::Duration;

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Verdicts;
use crate::model::document::{DocumentError, DocumentFormat};
use crate::model::{Desired, Field, Key, Ownership, RunId, Scope, ValueDigest, gathered};
use crate::plan::{Cause, Change, Note, Plan, ScopeRead};

const FORMAT: DocumentFormat = DocumentFormat {
    name: "a drift state",
    // Version 0.2 wrote the second one.
    kinds: &["drift_state", "memory"],
    versions: 1..=1,
    remedy: "give another file",
};

/// The state of a scheduled check.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DriftState {
    kind: String,
    format_version: u32,
    /// Its owner; files of version 0.2 do not have it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    owner: Option<DriftStateOwner>,
    /// The number of checks so far.
    checks: u64,
    /// Defined objects that were found in place.
    #[serde(default)]
    applied: BTreeSet<Key>,
    /// When a check last found them in place; files of version 0.2 do not have it.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(with = "BTreeMap<String, String>")]
    last_seen: BTreeMap<Key, Timestamp>,
    /// The drift of the last check.
    #[serde(default)]
    drift: BTreeMap<Key, Vec<DriftEntry>>,
}

/// The owner of a drift state. Stacks must not share one: a check removes objects that its stack does not define.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DriftStateOwner {
    /// The base URL of the service.
    pub service: String,
    /// The name of the stack.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stack: Option<String>,
    /// The directory of a stack without a name, relative to the top of its repository if it is in one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub directory: Option<String>,
}

impl fmt::Display for DriftStateOwner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.stack, &self.directory) {
            (Some(stack), _) => write!(f, "stack `{}`", stack.escape_debug())?,
            (None, Some(directory)) => write!(f, "the stack without a name in `{}`", directory.escape_debug())?,
            (None, None) => f.write_str("a stack without a name")?,
        }
        write!(f, " on {}", self.service.escape_debug())
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct DriftEntry {
    /// The field; absent for the whole object.
    field: Option<Field>,
    /// The value; files of older versions do not have it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    value: Option<ValueDigest>,
    #[serde(flatten)]
    seen: SeenSince,
}

/// Since when a value has drifted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SeenSince {
    /// The first check that saw it.
    #[schemars(with = "String", extend("format" = "date-time"))]
    pub first_seen: Timestamp,
    /// The number of consecutive checks that saw it.
    pub checks: u64,
}

impl Default for DriftState {
    fn default() -> Self {
        Self {
            kind: FORMAT.kinds[0].to_owned(),
            format_version: *FORMAT.versions.end(),
            owner: None,
            checks: 0,
            applied: BTreeSet::new(),
            last_seen: BTreeMap::new(),
            drift: BTreeMap::new(),
        }
    }
}

impl DriftState {
    /// Reads the state from a file.
    ///
    /// # Errors
    /// The file is not a drift state, or has another version.
    pub fn from_file(bytes: &[u8]) -> Result<Self, DocumentError> {
        Ok(Self { kind: FORMAT.kinds[0].to_owned(), ..FORMAT.read(bytes)? })
    }

    /// The state, with `owner` as its owner.
    ///
    /// # Errors
    /// It names another owner.
    pub fn of(self, owner: &DriftStateOwner) -> Result<Self, String> {
        match self.owner {
            Some(found) if found != *owner => Err(format!(
                "it is the drift state of {found}, and this is a check of {owner}: give each stack a file of its own"
            )),
            _ => Ok(Self { owner: Some(owner.clone()), ..self }),
        }
    }

    /// A state that has only since when these values have drifted.
    pub fn of_seen(seen: impl IntoIterator<Item = (Key, Option<Field>, SeenSince)>) -> Self {
        let entries = seen.into_iter().map(|(key, field, seen)| (key, DriftEntry { field, value: None, seen }));
        Self { drift: gathered(entries), ..Self::default() }
    }

    /// The state as the content of a file, with a final line break.
    pub fn to_file(&self) -> String {
        // Text keys, strings and numbers cannot fail.
        let mut text = serde_json::to_string_pretty(self).unwrap_or_default();
        text.push('\n');
        text
    }

    /// When a check last found the object in place; the earliest time where the file does not have it.
    pub fn last_seen(&self, key: &Key) -> Option<Timestamp> {
        self.applied.contains(key).then(|| self.last_seen.get(key).copied().unwrap_or(Timestamp::MIN))
    }

    /// The objects that were once found in place, or that drifted at the last check.
    pub fn keys(&self) -> impl Iterator<Item = &Key> {
        self.applied.iter().chain(self.drift.keys())
    }

    /// Whether an object of this list drifted at the last check.
    pub fn has_drift(&self, list: &Scope) -> bool {
        self.drift.keys().any(|key| Scope::from(key) == *list)
    }

    /// Since when a field, or the whole object, has drifted.
    pub fn seen(&self, key: &Key, field: Option<&Field>) -> Option<SeenSince> {
        self.drift.get(key)?.iter().find(|one| one.field.as_ref() == field).map(|one| one.seen)
    }

    /// Records one check that read the service at `now`. The plan must have no filters, and the verdicts must be those
    /// before acknowledgements. Nothing is concluded about a namespace that could not be read, so its records stay.
    /// Objects that are missing because trueup deleted them, or never created them, are removed.
    pub fn remember(&mut self, plan: &Plan, verdicts: &Verdicts, desired: &Desired, now: Timestamp) {
        self.checks += 1;
        let known = |key: &Key| {
            plan.scope.get(&key.into()).is_some_and(|scope| matches!(scope.read, ScopeRead::Complete { .. }))
        };
        let before = std::mem::take(&mut self.drift);
        let changes = plan.by_key();
        for drifted in plan.drifted(verdicts) {
            let key = &drifted.object;
            // A value that an apply restored since the last check has drifted again. An apply does not restore values
            // that no definition names. The time of a run may be ahead of the clock, and then shows nothing.
            let is_restored = |change: &&Change| match &drifted.field {
                Some(field) => change.fields().iter().any(|one| one.field == *field),
                None => true,
            };
            let change = changes.get(key).copied().filter(is_restored);
            let written = change.and_then(written).filter(|written| *written <= now);
            let restored = self.last_seen.get(key).is_some_and(|seen| written > Some(*seen));
            let old = before
                .get(key)
                .filter(|_| !restored)
                .and_then(|fields| {
                    fields.iter().find(|one| {
                        one.field == drifted.field && one.value.as_ref().is_none_or(|value| *value == drifted.value)
                    })
                })
                .map(|one| one.seen);
            let seen = match old {
                Some(old) => SeenSince { checks: old.checks + 1, ..old },
                None => SeenSince { first_seen: now, checks: 1 },
            };
            let entry = DriftEntry { field: drifted.field, value: Some(drifted.value), seen };
            self.drift.entry(drifted.object).or_default().push(entry);
        }
        let unread = before.into_iter().filter(|(key, _)| !known(key) && !plan.outside.contains(&key.into()));
        unread.for_each(|(key, entries)| _ = self.drift.entry(key).or_insert(entries));
        let missing: BTreeMap<&Key, Option<Cause>> = plan.missing().map(|change| (&change.key, change.cause)).collect();
        let undecided = plan.notes.iter().filter_map(|note| match note {
            Note::DeletesUnknown { key, .. } => Some(key),
            _ => None,
        });
        let undecided: BTreeSet<&Key> = undecided.collect();
        let was_deleted = |key: &Key| match missing.get(key) {
            Some(cause) => *cause == Some(Cause::Drift) || undecided.contains(key),
            None => true,
        };
        self.applied.retain(|key| match plan.outside.contains(&key.into()) {
            // A list that the stack gave up: keep its objects as long as they drift.
            true => self.drift.contains_key(key),
            false => !known(key) || (desired.definitions.contains_key(key) && was_deleted(key)),
        });
        let there = desired.definitions.keys().filter(|key| known(key) && !missing.contains_key(key));
        for key in there {
            self.applied.insert(key.clone());
            // Checks may finish in another order than they began.
            let seen = self.last_seen.entry(key.clone()).or_insert(now);
            *seen = now.max(*seen);
        }
        self.last_seen.retain(|key, _| self.applied.contains(key));
    }
}

/// When trueup last wrote the live object of a change.
fn written(change: &Change) -> Option<Timestamp> {
    let ownership = Ownership::read(&change.action.before()?.endpoint.annotations)?;
    RunId::new(&ownership.applied?.run)?.time()
}

impl SeenSince {
    /// How long ago the first check saw it; zero where the clock was set back.
    pub fn age(&self, now: Timestamp) -> Duration {
        Duration::try_from(now.duration_since(self.first_seen)).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::drift::{ObjectVerdict, Verdict};
    use crate::model::Scope;
    use crate::plan::{Action, BeforeImage, FieldChange, ScopeState};
    use crate::tests::world::{World, endpoint, live, shop};

    fn at(text: &str) -> Timestamp {
        text.parse().expect("a time")
    }

    /// A plan over `shop`, whose read is complete or not, with `cart`'s port drifted or not.
    fn check(drifts: bool, complete: bool) -> (Plan, Verdicts) {
        let before = BeforeImage::of(&live(endpoint("cart", 9)));
        let key = before.endpoint.key.clone();
        let field = FieldChange::new(Field::of_unit("port"), json!(9), json!(80), Cause::Drift);
        let read = if complete {
            ScopeRead::Complete { live: 1, owned: 1, removable: 1 }
        } else {
            ScopeRead::Unknown { reason: "cut".to_owned() }
        };
        let scope = ScopeState { read, definitions: 1, in_sync: 0, pruned: true, selected: true };
        let change = Change::new(key.clone(), Action::Replace { fields: vec![field], adopts: false, before });
        let plan = Plan {
            scope: BTreeMap::from([(Scope::endpoints(shop()), scope)]),
            changes: if drifts && complete { vec![change] } else { Vec::new() },
            ..Plan::default()
        };
        let mut verdicts = Verdicts::default();
        if drifts && complete {
            let object = ObjectVerdict { verdict: Verdict::Drift, drifted: vec![Field::of_unit("port")] };
            verdicts.objects.insert(key, object);
        }
        (plan, verdicts)
    }

    fn remember(state: &mut DriftState, drifts: bool, complete: bool, now: &str) {
        let (plan, verdicts) = check(drifts, complete);
        let desired = Desired::default();
        state.remember(&plan, &verdicts, &desired, at(now));
    }

    #[test]
    fn drift_keeps_its_first_time_and_counts_its_checks_until_it_is_gone() {
        let cart = Key::parse("shop/cart").expect("a key");
        let mut state = DriftState::default();
        remember(&mut state, true, true, "2026-11-19T14:00:00Z");
        remember(&mut state, true, true, "2026-11-20T14:00:00Z");
        let seen = state.seen(&cart, Some(&Field::of_unit("port"))).expect("it drifted");
        assert_eq!((seen.first_seen, seen.checks), (at("2026-11-19T14:00:00Z"), 2));
        assert_eq!(seen.age(at("2026-11-21T14:00:00Z")), Duration::from_hours(48));
        remember(&mut state, false, true, "2026-11-21T14:00:00Z");
        assert_eq!(state.seen(&cart, Some(&Field::of_unit("port"))), None);
        assert_eq!(state.checks, 3);
    }

    #[test]
    fn another_value_of_the_field_begins_anew() {
        let (cart, port) = (Key::parse("shop/cart").expect("a key"), Field::of_unit("port"));
        let mut state = DriftState::default();
        remember(&mut state, true, true, "2026-11-19T14:00:00Z");
        let (mut plan, verdicts) = check(true, true);
        let Action::Replace { fields, .. } = &mut plan.changes[0].action else { panic!("a replace") };
        fields[0].before = json!(10);
        for (now, checks) in [("2026-11-20T14:00:00Z", 1), ("2026-11-21T14:00:00Z", 2)] {
            let desired = Desired::default();
            state.remember(&plan, &verdicts, &desired, at(now));
            let seen = state.seen(&cart, Some(&port)).expect("it drifted");
            assert_eq!((seen.first_seen, seen.checks), (at("2026-11-20T14:00:00Z"), checks));
        }
        // A file of an older version does not say which value it was.
        let mut older: serde_json::Value = serde_json::from_str(&state.to_file()).expect("JSON");
        older["drift"]["shop/cart"][0].as_object_mut().expect("an entry").remove("value").expect("a digest");
        let mut state = DriftState::from_file(older.to_string().as_bytes()).expect("of an older version");
        remember(&mut state, true, true, "2026-11-22T14:00:00Z");
        assert_eq!(state.seen(&cart, Some(&port)).map(|seen| seen.checks), Some(3));
    }

    #[test]
    fn an_unknown_read_forgets_nothing() {
        let cart = Key::parse("shop/cart").expect("a key");
        let mut state = DriftState::default();
        remember(&mut state, true, true, "2026-11-19T14:00:00Z");
        remember(&mut state, true, false, "2026-11-20T14:00:00Z");
        assert!(state.seen(&cart, Some(&Field::of_unit("port"))).is_some());
        remember(&mut state, true, true, "2026-11-21T14:00:00Z");
        assert_eq!(state.seen(&cart, Some(&Field::of_unit("port"))).map(|seen| seen.checks), Some(2));
    }

    #[test]
    fn the_state_of_what_was_seen_knows_since_when_it_drifted() {
        let cart = Key::parse("shop/cart").expect("a key");
        let seen = SeenSince { first_seen: at("2026-11-19T14:00:00Z"), checks: 3 };
        let state = DriftState::of_seen([(cart.clone(), None, seen)]);
        assert_eq!((state.seen(&cart, None), state.seen(&cart, Some(&Field::of_unit("port")))), (Some(seen), None));
    }

    #[test]
    fn only_what_was_read_was_found_in_place() {
        let World { desired, .. } = World::new().defined(endpoint("cart", 80));
        let cart = Key::parse("shop/cart").expect("a key");
        let now = at("2026-11-19T14:00:00Z");
        let mut state = DriftState::default();
        for (is_complete, seen) in [(false, None), (true, Some(now))] {
            let (plan, verdicts) = check(false, is_complete);
            state.remember(&plan, &verdicts, &desired, now);
            assert_eq!(state.last_seen(&cart), seen);
        }
        let (plan, verdicts) = check(false, true);
        state.remember(&plan, &verdicts, &desired, at("2026-11-19T13:59:00Z"));
        assert_eq!(state.last_seen(&cart), Some(now), "a check that began earlier and ended later");
    }

    #[test]
    fn what_is_missing_is_forgotten_unless_it_may_have_been_deleted_outside() {
        let world = World::new().defined(endpoint("cart", 80));
        let (key, reason) = (Key::parse("shop/cart").expect("a key"), "no git".to_owned());
        let undecided = Note::DeletesUnknown { key: key.clone(), reason };
        for (cause, notes, is_kept) in
            [(Cause::Pending, vec![], false), (Cause::Pending, vec![undecided], true), (Cause::Drift, vec![], true)]
        {
            let mut state = DriftState::default();
            let (there, verdicts) = check(false, true);
            let mut missing = world.plan();
            missing.changes[0].cause = Some(cause);
            missing.notes = notes;
            for plan in [there, missing] {
                state.remember(&plan, &verdicts, &world.desired, at("2026-11-19T14:00:00Z"));
            }
            assert_eq!(state.last_seen(&key).is_some(), is_kept, "{cause}");
        }
    }

    #[test]
    fn a_drift_state_survives_its_file() {
        let mut state = DriftState::default();
        remember(&mut state, true, true, "2026-11-19T14:00:00Z");
        assert_eq!(DriftState::from_file(state.to_file().as_bytes()).expect("its own text"), state);
        assert!(DriftState::from_file(b"{}").is_err());
        let older = state.to_file().replace("\"drift_state\"", "\"memory\"");
        assert_eq!(DriftState::from_file(older.as_bytes()).expect("of version 0.2"), state);
        let newer = state.to_file().replace("\"format_version\": 1", "\"format_version\": 2");
        assert!(matches!(DriftState::from_file(newer.as_bytes()), Err(DocumentError::Version { found: 2, .. })));
    }
}
