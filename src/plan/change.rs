//! The changes of a plan: what is done to one endpoint, field by field, with the cause of each difference and
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

/// One endpoint that is created, replaced, created anew, deleted or annotated.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Change {
    /// Which endpoint.
    pub key: Key,
    /// What is done.
    pub action: Action,
    /// The ownership annotations that are written, `None` where they stay as they are.
    pub ownership: Option<OwnershipAnnotations>,
    /// The units of its definition of which no answer shows all, such as secrets: every write has all of them.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub secrets: BTreeMap<String, Json>,
    /// Why a whole object is created or deleted, and nothing in a rollback, which undoes what its run did; a replace has
    /// causes per field.
    pub cause: Option<Cause>,
    /// Whose change the whole object is (`plan --base`).
    pub attribution: Option<Attribution>,
    /// As a whole it is behind the base, and the working tree changed it as well.
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

/// What is done to one endpoint. What cannot be is not writable: a create has no before-image.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Action {
    /// It is created.
    Create {
        /// The endpoint as defined, without ownership annotations.
        wanted: Object,
    },
    /// Some of its fields change.
    Replace {
        /// The fields, in the order of [`Field`].
        fields: Vec<FieldChange>,
        /// The live object was not ours and becomes so.
        #[serde(default)]
        adopts: bool,
        /// The object as it was read.
        before: BeforeImage,
    },
    /// It is deleted and created again as it was but for some fields, of which one cannot change in any other way.
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
        /// Who refers to it, from the GET that each planned delete takes.
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
    /// The endpoint in canonical form, with all its annotations.
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
    /// The live value; `null` is absence.
    pub before: Json,
    /// The wanted value; `null` is absence.
    pub after: Json,
    /// Why they differ.
    pub cause: Cause,
    /// Whose change it is (`plan --base`).
    pub attribution: Option<Attribution>,
    /// It is behind the base, and the working tree changed it as well.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub changed_here: bool,
    /// Where the definition sets it.
    pub place: Option<SourceLocation>,
    /// Where it sets the values in it that differ, by the paths that reports have; no saved plan has them.
    #[serde(skip)]
    pub places: BTreeMap<String, SourceLocation>,
}

/// Where the files set what changes.
#[derive(Debug, Default)]
pub struct ChangePlaces {
    /// The object, or a field of it.
    pub whole: Option<SourceLocation>,
    /// The values in a field that differ.
    pub values: BTreeMap<String, SourceLocation>,
}

/// Whose change a difference is, judged against a base branch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Attribution {
    /// The working tree changed it.
    ThisChange,
    /// The base has it and it is not applied yet.
    PendingOnBase,
    /// Someone changed live.
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
    /// Whether it removes what no answer shows.
    pub fn is_unseen(&self) -> bool {
        self.before.is_null() && self.after.is_null()
    }

    /// A field that changes, of which nothing more is known yet.
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

    /// Whether the live object was not ours and becomes so.
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

    /// The stack that loses the object by this change, and the one that gets it.
    pub fn transfer(&self) -> Option<(&str, &str)> {
        Some((self.taken_from()?, self.ownership.as_ref()?.stack.as_ref()?))
    }

    /// Whether it passes its object to another stack and does nothing else.
    pub(super) fn only_passes(&self) -> bool {
        self.action.kind() == ActionKind::Annotate && self.transfer().is_some()
    }

    /// A change of which nothing more is known yet.
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

    /// The endpoint that this change makes of `base` in `run`, ownership annotations included.
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

    /// What the service wrote from the units that change: it would be sent back as it was. What the ownership annotations show
    /// to be defined so stays; without them, so does the mirror of a unit that goes.
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

    /// The place of a secret without which the service does not take what this change writes, and that its definition leaves
    /// out. Of a replace it counts where it is in a unit that changes; what [`Change::lost_secret`] names is live.
    pub(super) fn missing_secret(&self, after: &Object) -> Option<String> {
        let spec = self.key.kind.message();
        let places = || kind::sealed::missing(spec, &after.spec.json());
        spec.hides().then(places)?.into_iter().find(|place| self.writes_secret(place))
    }

    /// Whether this change writes what is around the place of a secret, and may write the secret.
    pub(super) fn writes_secret(&self, place: &str) -> bool {
        let spec = self.key.kind.message();
        let is_listed = |unit: &str| self.fields().iter().any(|change| change.field.unit() == Some(unit));
        match &self.action {
            Action::Create { .. } | Action::Recreate { .. } => true,
            Action::Replace { .. } => is_listed(unit_at(spec, place)) && !kind::sealed::is_of_create(spec, place),
            Action::Annotate { .. } | Action::Delete { .. } => false,
        }
    }

    /// A unit that a write of this change contains although it is not part of it, because no answer shows all of it, and that is
    /// not what was applied: it would be changed. Nothing where it is not known what was applied.
    pub fn unapplied(&self) -> Option<String> {
        let before = self.action.before().filter(|_| self.action.kind() != ActionKind::Delete)?;
        let live = &before.endpoint;
        let applied = Ownership::read(&live.annotations)?.applied;
        let applied = applied.filter(|applied| applied.written_for(&self.key) != WrittenFor::Another)?;
        let spec = Spec::written(self.key.kind, Json::Object(serde_json::Map::new())).ok()?;
        let mut written = Object { spec, ..live.clone() };
        for (unit, value) in &self.secrets {
            // A unit as the definition has it is one that the object can have.
            let _ = Field::of_unit(unit).assign(&mut written, &Json::Null, value);
        }
        let options = CompareOptions { applied: Some(&applied), ignored: &[], strict: false };
        let is_as_applied = |unit: &&String| diff::same(&Field::of_unit(unit), live, &written, options);
        let other = self.unlisted().find(|unit| !is_as_applied(unit)).map(|unit| format!("spec.{unit}"));
        let is_listed = |field: &Field| self.fields().iter().any(|change| change.field == *field);
        let reset = || diff::reset(live, &written, &applied).find(|field| !is_listed(field));
        other.or_else(|| reset().map(|field| field.to_string()))
    }

    /// The units that a write of this change contains although it is not part of them.
    pub(super) fn unlisted(&self) -> impl Iterator<Item = &String> {
        let is_listed = |unit: &str| self.fields().iter().any(|change| change.field.unit() == Some(unit));
        self.secrets.keys().filter(move |unit| !is_listed(unit))
    }

    /// Whether a write of this change leaves no secret behind at this place of the live object.
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
            // The whole unit goes.
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

    /// The ownership annotations that `run` writes with this change (`None`: takes away).
    pub fn ownership_values(&self, run: &str) -> impl Iterator<Item = (Field, Option<String>)> {
        self.ownership.iter().flat_map(move |ownership| ownership.annotations(run))
    }

    /// Whether it names this label or annotation, itself or by what it says was applied.
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
    /// Lets every ownership annotation that this plan writes name `commit`: the one that its apply applies
    /// whole.
    ///
    /// A plan that is narrowed by a filter, or of a directory with changes that are not committed, has
    /// none: what it writes keeps the commit that it names already.
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
    /// Whether it deletes the object, for good or to create it anew.
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

    /// The object that it creates, or else as it was read.
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
    /// A live object as a plan sees it.
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

    /// Where it may have a secret. Earlier versions recorded no places: the canonical form shows most of them.
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
