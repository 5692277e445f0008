//! The changes of a plan: what is done to one object, field by field, with the cause of each difference and
//! the state that the plan read.

use std::collections::{BTreeMap, BTreeSet};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::owner::{Owner, foreign_stack};
use super::{OwnershipAnnotations, Plan};
use crate::diff::{self, CompareOptions};
use crate::kind::{self, Message};
use crate::model::{
    AppliedFields, Cause, Field, FieldError, Json, Key, LiveObject, Object, Ownership, RelatedObject, RunId, STACK,
    SourceLocation, Spec, WrittenFor, words,
};

/// One object that is created, replaced, recreated, deleted or annotated.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Change {
    /// Which object.
    pub key: Key,
    /// What is done.
    pub action: Action,
    /// The ownership annotations to write; `None` where they stay unchanged.
    pub ownership: Option<OwnershipAnnotations>,
    /// The units of its definition with hidden values, such as secrets: every write contains all of them.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub secrets: BTreeMap<String, Json>,
    /// Why a whole object is created or deleted; `None` in a rollback, which undoes what its run did. A replace has
    /// causes per field.
    pub cause: Option<Cause>,
    /// The attribution of the whole object (`plan --base`).
    pub attribution: Option<Attribution>,
    /// The whole object is behind the base, and the working tree changed it as well.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub changed_here: bool,
    /// Where the definition is.
    pub place: Option<SourceLocation>,
    /// The commit that removed the definition, for a delete.
    pub removed_in: Option<Commit>,
    /// The newest commit that was applied and has the definition, for an object that is missing: it
    /// was deleted outside, or its create failed.
    pub applied_in: Option<String>,
}

/// What is done to one object. Impossible states cannot be expressed: a create has no before-image.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Action {
    /// It is created.
    Create {
        /// The object as defined, without ownership annotations.
        wanted: Object,
    },
    /// Some of its fields change.
    Replace {
        /// The fields, in the order of [`Field`].
        fields: Vec<FieldChange>,
        /// The live object did not belong to the stack and now does.
        #[serde(default)]
        adopts: bool,
        /// The object as it was read.
        before: BeforeImage,
    },
    /// It is deleted and created again with changed fields, because a replace cannot change one of them.
    Recreate {
        /// The fields, in the order of [`Field`].
        fields: Vec<FieldChange>,
        /// The object as it was read.
        before: BeforeImage,
    },
    /// Only its ownership annotations change.
    Annotate {
        /// The object as it was read.
        before: BeforeImage,
    },
    /// It is deleted.
    Delete {
        /// The object as it was read.
        before: BeforeImage,
        /// The objects that refer to it, from the GET that precedes each planned delete.
        #[serde(default)]
        referrers: Vec<RelatedObject>,
    },
}

/// The kinds of [`Action`], in the order in which they are applied; recreates and annotates are applied with replaces.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ActionKind {
    /// [`Action::Create`]
    Create,
    /// [`Action::Replace`]
    Replace,
    /// [`Action::Recreate`]
    Recreate,
    /// [`Action::Annotate`]
    Annotate,
    /// [`Action::Delete`]
    Delete,
}

words!(ActionKind {
    Create = "create",
    Replace = "replace",
    Recreate = "recreate",
    Annotate = "annotate",
    Delete = "delete",
});

/// A live object as a plan saw it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BeforeImage {
    /// The service's id of the object.
    pub uid: String,
    /// Its version, where the read carried one.
    pub resource_version: Option<String>,
    /// The object in canonical form, with all its annotations.
    pub endpoint: Object,
    /// Who created it.
    pub creator: Option<String>,
    /// When it was last modified, or created; RFC 3339.
    pub modified: Option<String>,
    /// Where it may have a secret. The canonical form does not show a secret that is an option of a group.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub secrets: Vec<String>,
}

/// One field that changes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FieldChange {
    /// Which field.
    pub field: Field,
    /// The live value; `null` means absent.
    pub before: Json,
    /// The wanted value; `null` means absent.
    pub after: Json,
    /// Why they differ.
    pub cause: Cause,
    /// Its attribution (`plan --base`).
    pub attribution: Option<Attribution>,
    /// It is behind the base, and the working tree changed it as well.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub changed_here: bool,
    /// Where the definition sets it.
    pub place: Option<SourceLocation>,
    /// Where the definition sets the differing values in it, by their paths in reports; saved plans do not have them.
    #[serde(skip)]
    pub places: BTreeMap<String, SourceLocation>,
}

/// Where files set the values that change.
#[derive(Debug, Default)]
pub struct ChangePlaces {
    /// The object, or a field of it.
    pub whole: Option<SourceLocation>,
    /// The differing values in a field.
    pub values: BTreeMap<String, SourceLocation>,
}

/// The origin of a difference, judged against a base branch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Attribution {
    /// The working tree changed it.
    ThisChange,
    /// The base has it and it is not applied yet.
    PendingOnBase,
    /// Live was changed outside of trueup.
    Drift,
    /// The base moved on: applying would revert merged work.
    BehindBase,
}

words!(Attribution {
    ThisChange = "this change",
    PendingOnBase = "pending on base",
    Drift = "drift",
    BehindBase = "behind base",
});

/// A commit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Commit {
    /// Its id, in full.
    pub id: String,
    /// Its day, `YYYY-MM-DD`.
    pub date: String,
}

impl FieldChange {
    /// Whether it removes a value that responses do not show.
    pub fn is_unseen(&self) -> bool {
        self.before.is_null() && self.after.is_null()
    }

    /// A changed field without attribution and places.
    pub fn new(field: Field, before: Json, after: Json, cause: Cause) -> Self {
        Self {
            field,
            before,
            after,
            cause,
            attribution: None,
            changed_here: false,
            place: None,
            places: BTreeMap::new(),
        }
    }
}

impl Change {
    /// The stack that loses the object by this change.
    pub fn taken_from(&self) -> Option<&str> {
        foreign_stack(&self.action.before()?.endpoint, self.ownership.as_ref()?.stack.as_deref())
    }

    /// The stack that the object names after this change.
    pub(super) fn owner_after(&self) -> Option<&str> {
        match (&self.action, &self.ownership) {
            (Action::Delete { .. }, _) => None,
            (_, Some(ownership)) => ownership.stack.as_deref(),
            (action, None) => action.before()?.endpoint.annotations.get(STACK).map(String::as_str),
        }
    }

    /// Whether the live object did not belong to the stack and now does.
    pub fn adopts(&self) -> bool {
        match &self.action {
            Action::Replace { adopts, .. } => *adopts,
            Action::Recreate { before, .. } => self.ownership.as_ref().is_some_and(|ownership| {
                let owner = Ownership::read(&before.endpoint.annotations);
                !Owner::of(owner.as_ref(), &self.key, ownership.stack.as_deref()).is_ours()
            }),
            _ => false,
        }
    }

    /// The stack that loses the object by this change, and the stack that gets it.
    pub fn transfer(&self) -> Option<(&str, &str)> {
        Some((self.taken_from()?, self.ownership.as_ref()?.stack.as_ref()?))
    }

    /// Whether it only transfers its object to another stack.
    pub(super) fn only_passes(&self) -> bool {
        self.action.kind() == ActionKind::Annotate && self.transfer().is_some()
    }

    /// A change with only a key and an action.
    pub fn new(key: Key, action: Action) -> Self {
        Self {
            key,
            action,
            ownership: None,
            secrets: BTreeMap::new(),
            cause: None,
            attribution: None,
            changed_here: false,
            place: None,
            removed_in: None,
            applied_in: None,
        }
    }

    /// The fields of a replace or recreate; other actions have none.
    pub fn fields(&self) -> &[FieldChange] {
        match &self.action {
            Action::Replace { fields, .. } | Action::Recreate { fields, .. } => fields,
            Action::Create { .. } | Action::Annotate { .. } | Action::Delete { .. } => &[],
        }
    }

    /// The object that results from this change of `base` in `run`, including ownership annotations.
    ///
    /// # Errors
    /// The fields do not make an endpoint: the plan was written by hand.
    pub fn applied_to(&self, base: &Object, run: &RunId) -> Result<Object, FieldError> {
        let mut endpoint = base.clone();
        for (unit, value) in self.old_mirrors() {
            Field::of_unit(unit).assign(&mut endpoint, &value, &Json::Null)?;
        }
        for change in self.fields() {
            change.field.assign(&mut endpoint, &change.before, &change.after)?;
        }
        for (field, value) in self.ownership_values(run.as_str()) {
            field.assign(&mut endpoint, &Json::Null, &value.into())?;
        }
        Ok(endpoint)
    }

    /// The values that the service derived from units that change, and that a write would send back unchanged. Values
    /// that are defined, by the ownership annotations, do not count; without those, nor do mirrors of removed units.
    pub fn old_mirrors(&self) -> Vec<(&'static str, Json)> {
        let (spec, base) = (self.key.kind.message(), self.action.object());
        let has_mirrors = spec.fields.iter().any(|field| field.mirrors.is_some());
        let Some(Json::Object(live)) = has_mirrors.then(|| base.spec.json()) else { return Vec::new() };
        let applied = self.ownership.as_ref().and_then(|ownership| AppliedFields::read(ownership.applied.as_deref()?));
        let mirror = |change: &FieldChange| {
            let (mirror, value) = kind::mirror_of(spec, &live, change.field.unit()?)?;
            let is_defined = match &applied {
                Some(applied) => applied.is_as_applied(&Field::of_unit(mirror), base),
                None => change.after.is_null(),
            };
            (!is_defined).then_some((mirror, value))
        };
        self.fields().iter().filter_map(mirror).collect()
    }

    /// The place of a secret of the live object that a write of this change would lose.
    pub fn lost_secret<'l>(&self, live: &'l LiveObject) -> Option<&'l str> {
        live.secrets.iter().map(String::as_str).find(|place| self.loses(place))
    }

    /// Whether a write of this change would lose the secret that is live at a place.
    pub(super) fn loses(&self, place: &str) -> bool {
        let is_replace = self.action.kind() != ActionKind::Recreate;
        let is_kept = || is_replace && kind::sealed::is_of_create(self.key.kind.message(), place);
        !self.provides(place) && !is_kept()
    }

    /// The place of a secret that the service requires and the definition leaves out. In a replace, only units that
    /// change count. Unlike [`Change::lost_secret`], this is not about live secrets.
    pub(super) fn missing_secret(&self, after: &Object) -> Option<String> {
        let spec = self.key.kind.message();
        let places = || kind::sealed::missing(spec, &after.spec.json());
        spec.hides().then(places)?.into_iter().find(|place| self.writes_secret(place))
    }

    /// Whether this change writes the unit around the place of a secret, and can write the secret.
    pub(super) fn writes_secret(&self, place: &str) -> bool {
        let spec = self.key.kind.message();
        let is_listed = |unit: &str| self.fields().iter().any(|change| change.field.unit() == Some(unit));
        match &self.action {
            Action::Create { .. } | Action::Recreate { .. } => true,
            Action::Replace { .. } => is_listed(unit_at(spec, place)) && !kind::sealed::is_of_create(spec, place),
            Action::Annotate { .. } | Action::Delete { .. } => false,
        }
    }

    /// A unit that this change does not list but would alter: a write contains it because responses do not show all of
    /// it, and it differs from what was applied. `None` where the applied values are unknown.
    pub fn unapplied(&self) -> Option<String> {
        let before = self.action.before().filter(|_| self.action.kind() != ActionKind::Delete)?;
        let live = &before.endpoint;
        let applied = Ownership::read(&live.annotations)?.applied;
        let applied = applied.filter(|applied| applied.written_for(&self.key) != WrittenFor::Another)?;
        let spec = Spec::written(self.key.kind, Json::Object(serde_json::Map::new())).ok()?;
        let mut written = Object { spec, ..live.clone() };
        for (unit, value) in &self.secrets {
            // The units of a definition are valid, so this cannot fail.
            let _ = Field::of_unit(unit).assign(&mut written, &Json::Null, value);
        }
        let options = CompareOptions { applied: Some(&applied), ignored: &[], strict: false };
        let is_as_applied = |unit: &&String| diff::same(&Field::of_unit(unit), live, &written, options);
        let other = self.unlisted().find(|unit| !is_as_applied(unit)).map(|unit| format!("spec.{unit}"));
        let is_listed = |field: &Field| self.fields().iter().any(|change| change.field == *field);
        let reset = || diff::reset(live, &written, &applied).find(|field| !is_listed(field));
        other.or_else(|| reset().map(|field| field.to_string()))
    }

    /// The units that a write of this change contains although the change does not list them.
    pub(super) fn unlisted(&self) -> impl Iterator<Item = &String> {
        let is_listed = |unit: &str| self.fields().iter().any(|change| change.field.unit() == Some(unit));
        self.secrets.keys().filter(move |unit| !is_listed(unit))
    }

    /// Whether a write of this change does not lose the secret at this place of the live object.
    pub(super) fn provides(&self, place: &str) -> bool {
        let spec = self.key.kind.message();
        let unit = unit_at(spec, place);
        let field = self.fields().iter().find(|change| change.field.unit() == Some(unit)).map(|change| &change.after);
        let created = match &self.action {
            Action::Create { wanted } => Some(wanted.spec.unit(unit)).filter(|value| !value.is_null()),
            _ => None,
        };
        match self.secrets.get(unit).or(field).or(created.as_ref()) {
            None => false,
            // The whole unit is removed.
            Some(Json::Null) => true,
            Some(value) => kind::sealed::provides(spec, kind::keys_of(spec, unit, value), place),
        }
    }

    /// The digests of the secrets that a write of this change contains.
    pub fn sealed(&self) -> Vec<String> {
        let spec = self.key.kind.message();
        if let Action::Create { wanted } = &self.action {
            return kind::sealed::digests(spec, kind::Keys::All(&wanted.spec.keys()));
        }
        let units = self.secrets.iter().map(|(unit, value)| kind::keys_of(spec, unit, value));
        units.flat_map(|keys| kind::sealed::digests(spec, keys)).collect()
    }

    /// The ownership annotations that `run` writes with this change (`None`: removes).
    pub fn ownership_values(&self, run: &str) -> impl Iterator<Item = (Field, Option<String>)> {
        self.ownership.iter().flat_map(move |ownership| ownership.annotations(run))
    }

    /// Whether it writes this label or annotation, or its ownership annotations record that one.
    pub fn names(&self, field: &Field) -> bool {
        let ownership = self.ownership.as_ref();
        let applied = ownership.and_then(|ownership| AppliedFields::read(ownership.applied.as_deref()?));
        let is_written = match (&self.action, field) {
            // A rollback creates with the labels that the service gave the object, too.
            (Action::Create { .. }, Field::Label(_)) if applied.is_some() => false,
            (Action::Create { wanted }, _) => !field.value(wanted).is_null(),
            _ => self.fields().iter().any(|change| change.field == *field),
        };
        is_written || applied.is_some_and(|applied| applied.wrote(field))
    }

    /// Whether anything in it is behind the base branch.
    pub fn is_behind_base(&self) -> bool {
        self.attribution == Some(Attribution::BehindBase)
            || self.fields().iter().any(|field| field.attribution == Some(Attribution::BehindBase))
    }
}

impl Plan {
    /// Records `commit` in every ownership annotation that this plan writes: the commit that its apply applies
    /// completely.
    ///
    /// Not called for a plan that is narrowed by a filter, or of a directory with uncommitted changes: its
    /// annotations keep the commits that they have already.
    pub fn stamp(&mut self, commit: &str) {
        let blocked = self.blocked.iter_mut().filter_map(|entry| entry.change.as_mut());
        for ownership in self.changes.iter_mut().chain(blocked).filter_map(|change| change.ownership.as_mut()) {
            if let Some(text) = &mut ownership.applied {
                *text = AppliedFields::altered(text, |applied| applied.set_commit(Some(commit)));
            }
        }
    }
}

impl Action {
    /// Whether it deletes the object, for good or to recreate it.
    pub fn deletes(&self) -> bool {
        matches!(self, Action::Delete { .. } | Action::Recreate { .. })
    }

    /// The kind.
    pub fn kind(&self) -> ActionKind {
        match self {
            Action::Create { .. } => ActionKind::Create,
            Action::Replace { .. } => ActionKind::Replace,
            Action::Recreate { .. } => ActionKind::Recreate,
            Action::Annotate { .. } => ActionKind::Annotate,
            Action::Delete { .. } => ActionKind::Delete,
        }
    }

    /// The object that it creates, else the object as it was read.
    pub fn object(&self) -> &Object {
        match self {
            Action::Create { wanted } => wanted,
            Action::Replace { before, .. }
            | Action::Recreate { before, .. }
            | Action::Annotate { before }
            | Action::Delete { before, .. } => &before.endpoint,
        }
    }

    /// The object as it was read; a create has none.
    pub fn before(&self) -> Option<&BeforeImage> {
        match self {
            Action::Create { .. } => None,
            Action::Replace { before, .. }
            | Action::Recreate { before, .. }
            | Action::Annotate { before }
            | Action::Delete { before, .. } => Some(before),
        }
    }
}

/// The unit of a spec that a place such as `spec.private_key` is in.
fn unit_at<'p>(spec: &Message, place: &'p str) -> &'p str {
    kind::unit_of(spec, place.split(['.', '[']).nth(1).unwrap_or_default())
}

impl BeforeImage {
    /// The before-image of a live object.
    pub fn of(live: &LiveObject) -> Self {
        Self {
            uid: live.uid.clone(),
            resource_version: live.resource_version.clone(),
            endpoint: live.endpoint.clone(),
            creator: live.creator.clone(),
            modified: live.modified.clone().or_else(|| live.created.clone()),
            secrets: live.secrets.clone(),
        }
    }

    /// Where it may have a secret. Earlier versions recorded no places, but the canonical form shows most of them.
    pub(super) fn secret_places(&self) -> BTreeSet<String> {
        let spec = &self.endpoint.spec;
        let shown = kind::sealed::places(spec.kind().message(), &spec.json());
        self.secrets.iter().cloned().chain(shown).collect()
    }
}

impl ActionKind {
    /// The phase of an apply: creates, then replaces, recreates and annotates, then deletes.
    pub fn phase(self) -> u8 {
        match self {
            ActionKind::Create => 0,
            ActionKind::Replace | ActionKind::Recreate | ActionKind::Annotate => 1,
            ActionKind::Delete => 2,
        }
    }
}
