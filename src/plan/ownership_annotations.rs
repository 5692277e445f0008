//! The two ownership annotations of an object after a change.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::model::{
    APPLIED, AppliedFields, Field, LONGEST_ANNOTATION, LONGEST_RUN, Object, Ownership, RUN_PENDING, STACK,
};

/// The two ownership annotations of an object after a change. `None` removes an annotation (a rollback may).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct OwnershipAnnotations {
    /// `trueup/stack`
    pub stack: Option<String>,
    /// `trueup/applied`; a `*` is a placeholder for the run until that starts.
    pub applied: Option<String>,
}

impl OwnershipAnnotations {
    /// The annotations that a run writes over those of `before`, whose commit stays: see [`crate::plan::Plan::stamp`].
    pub fn wanted(ownership: Ownership, before: Option<&AppliedFields>) -> Self {
        let ownership = ownership.at_commit(before.and_then(AppliedFields::commit));
        Self { stack: ownership.stack, applied: ownership.applied.map(|applied| applied.text()) }
    }

    /// The annotations of an object that is transferred to `stack`; `from` is the old stack, if the new one does not
    /// define the object yet.
    pub(super) fn moved(endpoint: &Object, stack: &str, from: Option<&str>) -> Self {
        Self { stack: Some(stack.to_owned()), ..Self::of(endpoint) }.altered(|applied| applied.transfer(from)).fitting()
    }

    fn altered(self, change: impl FnOnce(&mut AppliedFields)) -> Self {
        Self { applied: self.applied.map(|text| AppliedFields::altered(&text, change)), ..self }
    }

    /// The annotations of an object.
    pub(super) fn of(endpoint: &Object) -> Self {
        let annotation = |key| endpoint.annotations.get(key).cloned();
        Self { stack: annotation(STACK), applied: annotation(APPLIED) }
    }

    /// The same for a run that does not change these fields of `live`; `None` unless both record what was applied.
    pub(super) fn keeping(&self, live: &Object, fields: &[Field]) -> Option<Self> {
        let mut applied = AppliedFields::read(self.applied.as_deref()?)?;
        applied.keep(Some(&AppliedFields::read(live.annotations.get(APPLIED)?)?), fields);
        Some(Self { applied: Some(applied.text()), ..self.clone() })
    }

    /// Whether they belong to a future run, and are not those that an object had.
    pub fn are_new(&self) -> bool {
        self.applied.as_ref().is_some_and(|text| text.contains(&format!(" {RUN_PENDING} ")))
    }

    /// The commit that they name.
    pub fn commit(&self) -> Option<String> {
        AppliedFields::read(self.applied.as_deref()?)?.commit().map(str::to_owned)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.stack.is_none() && self.applied.is_none()
    }

    /// The same annotations without one that is too long for the service. Definitions are checked for that
    /// only where annotations are wanted.
    #[must_use]
    pub(super) fn fitting(mut self) -> Self {
        self.applied = self.applied.filter(|text| text.len() + LONGEST_RUN <= LONGEST_ANNOTATION);
        self
    }

    /// The same annotations without the commit, so that two plans with the same effect are equal.
    #[must_use]
    pub(super) fn without_commit(&self) -> Self {
        self.clone().altered(|applied| applied.set_commit(None))
    }

    /// The annotations to set (`None`: to remove) in an object that `run` writes.
    pub fn annotations(&self, run: &str) -> [(Field, Option<String>); 2] {
        let pending = format!(" {RUN_PENDING} ");
        let applied = self.applied.as_ref().map(|text| text.replacen(&pending, &format!(" {run} "), 1));
        [(Field::Annotation(STACK.to_owned()), self.stack.clone()), (Field::Annotation(APPLIED.to_owned()), applied)]
    }
}
