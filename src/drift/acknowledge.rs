//! Drift that is accepted for a limited time. An acknowledgement names the object, the field, the digest of
//! the live value, a reason and the last day. It silences the alarm for exactly that value and never changes
//! what an apply does. Acknowledgements that have expired or no longer match are reported.

use std::collections::{BTreeMap, BTreeSet};

use jiff::civil::Date;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::verdict::judged;
use super::{ObjectVerdict, Verdict, Verdicts};
use crate::model::{Field, Json, Key, ValueDigest, gathered, words};
use crate::plan::{Action, Cause, FieldChange, Note, Plan, ScopeRead};

/// The file: a document of `kind: acknowledgements`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Acknowledgements {
    /// The kind of the document.
    pub kind: AcknowledgementsKind,
    /// The accepted values.
    #[serde(default)]
    pub acknowledged: Vec<Acknowledgement>,
    /// Whether the stack has environments, whose checks read the same file.
    #[serde(skip)]
    pub has_environments: bool,
}

/// The only kind that such a file has.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum AcknowledgementsKind {
    /// `acknowledgements`
    #[default]
    #[serde(rename = "acknowledgements")]
    Acknowledgements,
}

/// One value that is accepted.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Acknowledgement {
    /// Which object: `namespace/name`, or `kind:namespace/name`.
    pub object: Key,
    /// In which environment; in all if none is given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub environment: Option<String>,
    /// Which field; absent where the whole object was deleted or appeared.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub field: Option<Field>,
    /// The digest of the live value, as `drift` shows it.
    pub value: ValueDigest,
    /// Why it is accepted.
    pub reason: String,
    /// The last day on which it is accepted. To accept a field permanently, use an `ignore:` rule.
    #[schemars(with = "String")]
    #[serde(deserialize_with = "day")]
    pub expires: Date,
}

impl Acknowledgement {
    /// The field; a user may have given an option of a group.
    fn of_kind(&self) -> Option<Field> {
        let of_kind = |field: &Field| Field::of_kind(self.object.kind, &field.to_string());
        self.field.as_ref().map(|field| of_kind(field).unwrap_or_else(|| field.clone()))
    }

    /// Whether it applies to the environment of `plan`.
    fn is_of(&self, plan: &Plan) -> bool {
        self.environment.is_none() || self.environment == plan.source.environment
    }
}

/// Reads a day, with an error message of trueup's own.
fn day<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Date, D::Error> {
    let text = String::deserialize(deserializer)?;
    let invalid = |_| serde::de::Error::custom(format!("`{text}` is not a valid day, such as 2026-12-31"));
    text.parse().map_err(invalid)
}

/// The status of an acknowledgement in a check.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum AcknowledgementStatus {
    /// It silences a difference.
    Silences,
    /// It would silence a difference, but its last day is over.
    Expired,
    /// The field drifted to another value.
    Moved,
    /// The field no longer differs.
    Unneeded,
    /// Its object was not checked: a filter or another shard leaves it out, or its namespace was not read.
    NotChecked,
}

words!(AcknowledgementStatus {
    Silences = "silences",
    Expired = "expired",
    Moved = "moved",
    Unneeded = "unneeded",
    NotChecked = "not_checked",
});

/// An acknowledgement with its status.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct JudgedAcknowledgement {
    /// The acknowledgement.
    #[serde(flatten)]
    pub acknowledgement: Acknowledgement,
    /// Its status.
    pub status: AcknowledgementStatus,
}

/// A live value that drifted.
#[derive(Debug, Clone, PartialEq)]
pub struct Drifted {
    /// Of which object.
    pub object: Key,
    /// Which field; `None` for the whole object.
    pub field: Option<Field>,
    /// The live value.
    pub value: ValueDigest,
}

impl Acknowledgements {
    /// The verdicts without the drift that is accepted on `today`, the status of every acknowledgement of this
    /// environment, and the acknowledgements that a renewal keeps: they silence drift now, or may do so in another
    /// check. An object without anything left to report is not in the verdicts, and does not count as in sync.
    pub fn silence(
        &self,
        plan: &Plan,
        verdicts: &Verdicts,
        today: Date,
    ) -> (Verdicts, Vec<JudgedAcknowledgement>, Vec<Acknowledgement>) {
        let drifted = plan.drifted(verdicts);
        let unnamed = unnamed(plan);
        let values: BTreeMap<(&Key, Option<&Field>), &ValueDigest> =
            drifted.iter().map(|one| ((&one.object, one.field.as_ref()), &one.value)).collect();
        let is_seen = |key: &Key| {
            let read = plan.scope.get(&key.into()).map(|scope| &scope.read);
            plan.source.filters.is_empty() && matches!(read, Some(ScopeRead::Complete { .. }))
        };
        let status = |one: &Acknowledgement| match values.get(&(&one.object, one.of_kind().as_ref())) {
            _ if !one.is_of(plan) => AcknowledgementStatus::NotChecked,
            None if is_seen(&one.object) => AcknowledgementStatus::Unneeded,
            None => AcknowledgementStatus::NotChecked,
            Some(value) if **value != one.value => AcknowledgementStatus::Moved,
            Some(_) if one.expires < today => AcknowledgementStatus::Expired,
            Some(_) => AcknowledgementStatus::Silences,
        };
        let line = |one: &Acknowledgement| JudgedAcknowledgement { acknowledgement: one.clone(), status: status(one) };
        let mut lines: Vec<JudgedAcknowledgement> = self.acknowledged.iter().map(line).collect();
        let is_kept = |line: &&JudgedAcknowledgement| match line.status {
            AcknowledgementStatus::Silences | AcknowledgementStatus::NotChecked => true,
            AcknowledgementStatus::Expired => false,
            AcknowledgementStatus::Moved | AcknowledgementStatus::Unneeded => {
                self.has_environments && line.acknowledgement.environment.is_none()
            }
        };
        let kept = lines.iter().filter(is_kept).map(|line| line.acknowledgement.clone()).collect();
        lines.retain(|line| line.acknowledgement.is_of(plan));
        let silenced: BTreeSet<(&Key, Option<Field>)> = lines
            .iter()
            .filter(|entry| entry.status == AcknowledgementStatus::Silences)
            .map(|entry| (&entry.acknowledgement.object, entry.acknowledgement.of_kind()))
            .collect();
        let accepted = |key: &Key, field: Option<&Field>| silenced.contains(&(key, field.cloned()));
        let changes = plan.by_key();
        let mut left = verdicts.clone();
        left.objects.retain(|key, object| {
            let fields = unnamed.get(key);
            if !changes.contains_key(key) && fields.is_none() {
                if object.verdict == Verdict::Both && accepted(key, None) {
                    object.verdict = Verdict::Pending;
                }
                return !(object.verdict == Verdict::Drift && accepted(key, None));
            }
            let of_change = changes.get(key).and_then(|change| judged(change, |field| accepted(key, field)));
            // A blocked object is pending even if it has no change.
            let is_pending = object.verdict.is_pending();
            let verdict = if is_pending { Verdict::Pending } else { Verdict::InSync };
            let mut judged = of_change.unwrap_or(ObjectVerdict { verdict, drifted: Vec::new() });
            for field in fields.into_iter().flat_map(BTreeMap::keys).filter(|field| !accepted(key, Some(field))) {
                judged.verdict = judged.verdict.and(Verdict::Drift);
                if !judged.drifted.contains(field) {
                    judged.drifted.push(field.clone());
                }
            }
            *object = judged;
            object.verdict != Verdict::InSync
        });
        (left, lines, kept)
    }

    /// A file that accepts all drift, for a user to shorten. The acknowledgements `kept` from an earlier file stay
    /// unchanged.
    pub fn offered(
        plan: &Plan,
        verdicts: &Verdicts,
        kept: &[Acknowledgement],
        (reason, expires): (&str, Date),
    ) -> Self {
        let accepted = kept.iter().filter(|one| one.is_of(plan)).map(|one| (&one.object, one.of_kind(), &one.value));
        let accepted: BTreeSet<(&Key, Option<Field>, &ValueDigest)> = accepted.collect();
        let mut drifted = plan.drifted(verdicts);
        drifted.retain(|one| !accepted.contains(&(&one.object, one.field.clone(), &one.value)));
        let offer = |Drifted { object, field, value }| {
            let (environment, reason) = (plan.source.environment.clone(), reason.to_owned());
            Acknowledgement { object, environment, field, value, reason, expires }
        };
        let acknowledged = kept.iter().cloned().chain(drifted.into_iter().map(offer)).collect();
        Self { acknowledged, ..Self::default() }
    }
}

impl Plan {
    /// Every value that drifted, in the order of the verdicts.
    pub fn drifted(&self, verdicts: &Verdicts) -> Vec<Drifted> {
        let changes = self.by_key();
        let unnamed = unnamed(self);
        let unread = self.blocked.iter().filter_map(|entry| Some((&entry.key, entry.unread()?.0)));
        let unread: BTreeMap<&Key, &str> = unread.collect();
        let mut drifted: Vec<Drifted> = Vec::new();
        for (key, object) in &verdicts.objects {
            if !object.verdict.is_drift() {
                continue;
            }
            let whole = |value: &Json| vec![(None, ValueDigest::of(value))];
            let mut values: Vec<(Option<Field>, ValueDigest)> = match changes.get(key).map(|change| &change.action) {
                Some(Action::Replace { fields, before, .. } | Action::Recreate { fields, before }) => {
                    // The digest must not depend on whether a secret in the unit is the applied one.
                    let shown = |field: &FieldChange| match field.field.unit().filter(|_| !key.kind.is_whole()) {
                        Some(unit) => before.endpoint.spec.without_hidden(unit, &field.before),
                        None => field.before.clone(),
                    };
                    let drifted = fields.iter().filter(|field| field.cause != Cause::Pending);
                    drifted.map(|field| (Some(field.field.clone()), ValueDigest::of(&shown(field)))).collect()
                }
                // Its annotations did not drift.
                Some(Action::Annotate { .. }) | None if unnamed.contains_key(key) => Vec::new(),
                Some(Action::Create { .. } | Action::Annotate { .. }) => whole(&Json::Null),
                Some(Action::Delete { before, .. }) => {
                    whole(&serde_json::to_value(&before.endpoint).unwrap_or_default())
                }
                // An unmanaged object that is only noted: all that is known is that it exists.
                None => whole(&unread.get(key).map_or(json!(true), |reason| json!(reason))),
            };
            for (field, value) in unnamed.get(key).into_iter().flatten() {
                match values.iter_mut().find(|(known, _)| known.as_ref() == Some(field)) {
                    // Values of the field that the definition names drifted as well.
                    Some((_, named)) => *named = ValueDigest::of(&json!([named, value])),
                    None => values.push((Some(field.clone()), (*value).clone())),
                }
            }
            let value = |(field, value)| Drifted { object: key.clone(), field, value };
            drifted.extend(values.into_iter().map(value));
        }
        drifted
    }
}

/// The fields of each object with live values that its definition does not name, with their whole live values.
fn unnamed(plan: &Plan) -> BTreeMap<&Key, BTreeMap<Field, &ValueDigest>> {
    gathered(plan.notes.iter().filter_map(Note::unnamed).map(|(key, field, value)| (key, (field, value))))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::drift::UnmanagedPolicy;
    use crate::model::Scope;
    use crate::plan::{BeforeImage, BlockReason, BlockedChange, Change, FieldChange, ScopeState, Unchangeable};
    use crate::tests::world::{endpoint, live};

    fn plan(causes: &[(Field, Cause)]) -> Plan {
        let changed = |(field, cause): &(Field, Cause)| FieldChange::new(field.clone(), json!(9999), json!(80), *cause);
        let fields = causes.iter().map(changed).collect();
        let before = BeforeImage::of(&live(endpoint("cart", 9999)));
        let key = before.endpoint.key.clone();
        Plan { changes: vec![Change::new(key, Action::Replace { fields, adopts: false, before })], ..Plan::default() }
    }

    fn day(text: &str) -> Date {
        text.parse().expect("a date")
    }

    fn offered(plan: &Plan, kept: &[Acknowledgement], reason: &str, expires: &str) -> Acknowledgements {
        Acknowledgements::offered(plan, &plan.verdicts(UnmanagedPolicy::Note), kept, (reason, day(expires)))
    }

    #[test]
    fn what_is_accepted_is_offered_again_as_it_is_until_its_last_day() {
        let plan = plan(&[(Field::of_unit("port"), Cause::Drift), (Field::of_unit("protocol"), Cause::Drift)]);
        let mut accepted = offered(&plan, &[], "known", "2026-11-22");
        let kept = |accepted: &Acknowledgements| {
            accepted.silence(&plan, &plan.verdicts(UnmanagedPolicy::Note), day("2026-11-21")).2
        };
        accepted.acknowledged.truncate(1);
        let now = offered(&plan, &kept(&accepted), "new", "2027-01-01");
        let reasons: Vec<&str> = now.acknowledged.iter().map(|one| one.reason.as_str()).collect();
        assert_eq!((reasons, &now.acknowledged[0]), (vec!["known", "new"], &accepted.acknowledged[0]));
        accepted.acknowledged[0].expires = day("2026-11-20");
        let now = offered(&plan, &kept(&accepted), "new", "2027-01-01");
        assert!(now.acknowledged.iter().all(|one| one.reason == "new"), "{now:?}");
    }

    /// The verdict left and the standings, with what drifted accepted until `expires`.
    fn left(
        plan: &Plan,
        expires: &str,
        change: impl Fn(&mut Acknowledgements),
    ) -> (Verdict, Vec<AcknowledgementStatus>) {
        let verdicts = plan.verdicts(UnmanagedPolicy::Note);
        let mut accepted = offered(plan, &[], "known", expires);
        change(&mut accepted);
        let (verdicts, judged, _) = accepted.silence(plan, &verdicts, day("2026-11-21"));
        (verdicts.whole(), judged.iter().map(|entry| entry.status).collect())
    }

    #[test]
    fn what_is_accepted_is_silent_to_the_end_of_its_last_day() {
        let plan = plan(&[(Field::of_unit("port"), Cause::Drift)]);
        assert_eq!(left(&plan, "2026-11-21", |_| ()), (Verdict::InSync, vec![AcknowledgementStatus::Silences]));
        assert_eq!(left(&plan, "2026-11-20", |_| ()), (Verdict::Drift, vec![AcknowledgementStatus::Expired]));
    }

    #[test]
    fn another_value_of_the_field_is_drift_again() {
        let plan = plan(&[(Field::of_unit("port"), Cause::Drift)]);
        let other = |file: &mut Acknowledgements| file.acknowledged[0].value = ValueDigest::of(&json!(1));
        assert_eq!(left(&plan, "2027-01-01", other), (Verdict::Drift, vec![AcknowledgementStatus::Moved]));
    }

    #[test]
    fn only_the_drift_of_a_field_is_accepted_and_what_is_pending_stays() {
        let plan = plan(&[(Field::of_unit("port"), Cause::Both), (Field::of_unit("protocol"), Cause::Pending)]);
        assert_eq!(left(&plan, "2027-01-01", |_| ()), (Verdict::Pending, vec![AcknowledgementStatus::Silences]));
    }

    #[test]
    fn what_is_blocked_stays_pending_when_its_drift_is_accepted() {
        let blocked = |change: Option<Change>| {
            let key = Key::parse("shop/cart").expect("a key");
            let reason =
                BlockReason::Unchangeable(Unchangeable::Unsupported { reason: "a group".to_owned(), cause: None });
            let note =
                Note::Unnamed { key: key.clone(), path: "spec.port".to_owned(), value: ValueDigest::of(&json!(80)) };
            Plan { blocked: vec![BlockedChange::new(key, reason, change)], notes: vec![note], ..Plan::default() }
        };
        let before = BeforeImage::of(&live(endpoint("cart", 80)));
        let annotate = Action::Annotate { before };
        let annotate = Change::new(Key::parse("shop/cart").expect("a key"), annotate);
        for plan in [blocked(None), blocked(Some(annotate))] {
            let verdicts = plan.verdicts(UnmanagedPolicy::Note);
            assert_eq!(verdicts.whole(), Verdict::Both);
            assert_eq!(left(&plan, "2027-01-01", |_| ()), (Verdict::Pending, vec![AcknowledgementStatus::Silences]));
            assert_eq!(left(&plan, "2027-01-01", |file| file.acknowledged.clear()).0, Verdict::Both);
            let without_note = Plan { notes: Vec::new(), ..plan };
            assert_eq!(left(&without_note, "2027-01-01", |_| ()), (Verdict::Pending, Vec::new()));
        }
    }

    #[test]
    fn an_acknowledgement_of_what_no_longer_differs_is_reported() {
        let mut plan = plan(&[(Field::of_unit("port"), Cause::Pending)]);
        let extra = |file: &mut Acknowledgements| {
            file.acknowledged.push(Acknowledgement {
                object: Key::parse("shop/cart").expect("a key"),
                environment: None,
                field: Some(Field::of_unit("port")),
                value: ValueDigest::of(&json!(9999)),
                reason: "known".to_owned(),
                expires: day("2027-01-01"),
            });
        };
        let status = |plan: &Plan| left(plan, "2027-01-01", extra).1[0];
        let mut read_as = |read| {
            let state = ScopeState { read, definitions: 1, in_sync: 0, pruned: true, selected: true };
            plan.scope = BTreeMap::from([(Scope::from(&plan.changes[0].key), state)]);
            plan.clone()
        };
        let unread = read_as(ScopeRead::Unknown { reason: "403".to_owned() });
        let mut read = read_as(ScopeRead::Complete { live: 1, owned: 1, removable: 1 });
        assert_eq!(left(&read, "2027-01-01", extra), (Verdict::Pending, vec![AcknowledgementStatus::Unneeded]));
        // Of what was not read, by this shard at least, or is filtered out, nothing is known.
        assert_eq!(status(&unread), AcknowledgementStatus::NotChecked);
        assert_eq!(status(&Plan { scope: BTreeMap::new(), ..read.clone() }), AcknowledgementStatus::NotChecked);
        read.source.filters = vec!["--namespace pay".to_owned()];
        assert_eq!(status(&read), AcknowledgementStatus::NotChecked);
    }

    #[test]
    fn an_object_deleted_outside_can_be_accepted_whole() {
        let mut plan = plan(&[]);
        let wanted = plan.changes[0].action.before().expect("a before-image").endpoint.clone();
        plan.changes[0].action = Action::Create { wanted };
        plan.changes[0].cause = Some(Cause::Drift);
        assert_eq!(left(&plan, "2027-01-01", |_| ()), (Verdict::InSync, vec![AcknowledgementStatus::Silences]));
        // So can one that appeared, as it is.
        let before = BeforeImage::of(&live(endpoint("cart", 80)));
        plan.changes[0].action = Action::Delete { before, referrers: Vec::new() };
        plan.changes[0].cause = Some(Cause::Unannotated);
        assert_eq!(left(&plan, "2027-01-01", |_| ()), (Verdict::InSync, vec![AcknowledgementStatus::Silences]));
        let other = |file: &mut Acknowledgements| file.acknowledged[0].value = ValueDigest::of(&Json::Null);
        assert_eq!(left(&plan, "2027-01-01", other), (Verdict::Drift, vec![AcknowledgementStatus::Moved]));
    }

    #[test]
    fn an_object_that_no_apply_changes_is_drift_until_it_is_accepted() {
        let outside = Note::Outside { key: Key::parse("shop/cart").expect("a key"), transfer: None, unknown: None };
        let plan = Plan { notes: vec![outside], ..Plan::default() };
        assert_eq!(left(&plan, "2027-01-01", |_| ()), (Verdict::InSync, vec![AcknowledgementStatus::Silences]));
        assert_eq!(left(&plan, "2027-01-01", |file| file.acknowledged.clear()), (Verdict::Drift, Vec::new()));
    }

    #[test]
    fn a_field_whose_named_and_unnamed_values_drifted_is_accepted_once_with_both() {
        let key = Key::parse("shop/cart").expect("a key");
        let with = |unnamed: u16| {
            let (key, path, value) = (key.clone(), "spec.port".to_owned(), ValueDigest::of(&json!(unnamed)));
            let mut plan = plan(&[(Field::of_unit("port"), Cause::Drift)]);
            plan.notes = vec![Note::Unnamed { key, path, value }];
            plan
        };
        let plan = with(1);
        assert_eq!(left(&plan, "2027-01-01", |_| ()), (Verdict::InSync, vec![AcknowledgementStatus::Silences]));
        let (unaccepted, ..) =
            Acknowledgements::default().silence(&plan, &plan.verdicts(UnmanagedPolicy::Note), day("2026-11-21"));
        assert_eq!(unaccepted.objects[&key].drifted, [Field::of_unit("port")]);
        let accepted = offered(&plan, &[], "known", "2027-01-01");
        let keep = |file: &mut Acknowledgements| *file = accepted.clone();
        assert_eq!(left(&with(2), "2027-01-01", keep), (Verdict::Drift, vec![AcknowledgementStatus::Moved]));
    }

    #[test]
    fn what_is_accepted_in_one_environment_is_neither_silent_nor_listed_in_another() {
        let of = |environment: &str| {
            let mut plan = plan(&[(Field::of_unit("port"), Cause::Drift)]);
            plan.source.environment = Some(environment.to_owned());
            plan
        };
        let (dev, prod) = (of("dev"), of("prod"));
        let accepted = offered(&dev, &[], "known", "2027-01-01");
        let of_dev = |file: &mut Acknowledgements| *file = accepted.clone();
        assert_eq!(left(&dev, "2027-01-01", of_dev), (Verdict::InSync, vec![AcknowledgementStatus::Silences]));
        assert_eq!(left(&prod, "2027-01-01", of_dev), (Verdict::Drift, Vec::new()));
        // One without an environment is of all of them.
        let of_all = |file: &mut Acknowledgements| {
            *file = accepted.clone();
            file.acknowledged[0].environment = None;
        };
        for plan in [dev, prod] {
            assert_eq!(left(&plan, "2027-01-01", of_all), (Verdict::InSync, vec![AcknowledgementStatus::Silences]));
        }
    }

    #[test]
    fn a_renewal_in_one_environment_keeps_what_another_one_may_need() {
        let mut plan = plan(&[(Field::of_unit("port"), Cause::Drift)]);
        let mut file = offered(&plan, &[], "known", "2027-01-01");
        file.acknowledged[0].value = ValueDigest::of(&json!(1));
        let kept = |plan: &Plan, file: &Acknowledgements| {
            file.silence(plan, &plan.verdicts(UnmanagedPolicy::Note), day("2026-11-21")).2
        };
        assert_eq!(kept(&plan, &file), []);
        file.has_environments = true;
        assert_eq!(kept(&plan, &file), file.acknowledged);
        plan.source.environment = Some("prod".to_owned());
        assert_eq!(kept(&plan, &file), file.acknowledged);
        let renewed = offered(&plan, &file.acknowledged, "new", "2027-01-01");
        let environments: Vec<Option<&str>> =
            renewed.acknowledged.iter().map(|one| one.environment.as_deref()).collect();
        assert_eq!(environments, [None, Some("prod")]);
        file.acknowledged[0].environment = Some("prod".to_owned());
        assert_eq!(kept(&plan, &file), []);
    }

    #[test]
    fn the_file_is_read_as_it_is_written() {
        let mut plan = plan(&[(Field::Label("a.b/c".to_owned()), Cause::Drift)]);
        plan.source.environment = Some("prod".to_owned());
        let file = offered(&plan, &[], "known", "2027-01-01");
        let text = serde_yaml::to_string(&file).expect("plain values");
        assert!(text.starts_with("kind: acknowledgements\n"), "{text}");
        assert_eq!(serde_yaml::from_str::<Acknowledgements>(&text).expect("its own text"), file);
    }
}
