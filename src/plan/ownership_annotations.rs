//! The two ownership annotations as a change leaves them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::model::{
    APPLIED, AppliedFields, Field, LONGEST_ANNOTATION, LONGEST_RUN, Object, Ownership, RUN_PENDING, STACK,
};

/// The two ownership annotations as a change leaves them. `None` takes an annotation away (a rollback may).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct OwnershipAnnotations {
    /// `trueup/stack`
    pub stack: Option<String>,
    /// `trueup/applied`; a `*` is the place of the run until there is one.
    pub applied: Option<String>,
}

impl OwnershipAnnotations {
    /// Those that a run writes over what was applied `before`, whose commit stays: see [`crate::plan::Plan::stamp`].
    pub fn wanted(ownership: Ownership, before: Option<&AppliedFields>) -> Self {
        let ownership = ownership.at_commit(before.and_then(AppliedFields::commit));
        Self { stack: ownership.stack, applied: ownership.applied.map(|applied| applied.text()) }
    }

    /// Those of an object that is handed over to `stack`; `from` is the stack that had it, where the new one does
    /// not define it yet.
    pub(super) fn moved(endpoint: &Object, stack: &str, from: Option<&str>) -> Self {
        Self { stack: Some(stack.to_owned()), ..Self::of(endpoint) }.altered(|applied| applied.transfer(from)).fitting()
    }

    fn altered(self, change: impl FnOnce(&mut AppliedFields)) -> Self {
        Self { applied: self.applied.map(|text| AppliedFields::altered(&text, change)), ..self }
    }

    /// Those that an object has.
    pub(super) fn of(endpoint: &Object) -> Self {
        let annotation = |key| endpoint.annotations.get(key).cloned();
        Self { stack: annotation(STACK), applied: annotation(APPLIED) }
    }

    /// The same of a run that leaves these fields of `live` as they are, where both say what was applied.
    pub(super) fn keeping(&self, live: &Object, fields: &[Field]) -> Option<Self> {
        let mut applied = AppliedFields::read(self.applied.as_deref()?)?;
        applied.keep(Some(&AppliedFields::read(live.annotations.get(APPLIED)?)?), fields);
        Some(Self { applied: Some(applied.text()), ..self.clone() })
    }

    /// Whether they are of a run that is yet to be made, and not those that an object had.
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

    /// The same annotations without what is longer than the service takes: definitions are checked for that
    /// only where they are wanted.
    #[must_use]
    pub(super) fn fitting(mut self) -> Self {
        self.applied = self.applied.filter(|text| text.len() + LONGEST_RUN <= LONGEST_ANNOTATION);
        self
    }

    /// The same annotations without the commit, for what two plans of one effect have in common.
    #[must_use]
    pub(super) fn without_commit(&self) -> Self {
        self.clone().altered(|applied| applied.set_commit(None))
    }

    /// The annotations to set (`None`: to take away) in an object that `run` writes.
    pub fn annotations(&self, run: &str) -> [(Field, Option<String>); 2] {
        let pending = format!(" {RUN_PENDING} ");
        let applied = self.applied.as_ref().map(|text| text.replacen(&pending, &format!(" {run} "), 1));
        [(Field::Annotation(STACK.to_owned()), self.stack.clone()), (Field::Annotation(APPLIED.to_owned()), applied)]
    }
}
