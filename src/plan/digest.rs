//! The digest of a plan: a hash of what the plan does and of the state it was made for. It approves exactly the
//! plan that was reviewed.

use std::collections::{BTreeMap, BTreeSet};

use data_encoding::HEXLOWER;
use serde::Serialize;
use sha2::digest::Output;
use sha2::{Digest as _, Sha256};

use super::{
    AT_A_TIME, Action, ActionKind, Attribution, Change, FieldChange, OwnershipAnnotations, Plan, PlanSettings,
    ScopeState,
};
use crate::model::share;
use crate::model::{
    APPLIED, Field, Json, Key, Layout, Object, Ownership, RUN_PENDING, RelatedObject, RunId, Scope, displayed,
};

/// The fewest hex digits that a user has to give, and that reports show: 128 bits. An attacker who can make two
/// plans with the same digits can have one reviewed and the other applied; with 64 bits that takes minutes.
const SHOWN: usize = 32;

/// The digest of what a plan will do and of the state it was made for. Places, causes, commits, times, versions
/// and runs are not part of it: two plans with the same digest do the same.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Digest(String);

impl Digest {
    /// The fewest hex digits that name a digest.
    pub const LEAST: usize = SHOWN;

    /// The digest of several plans in this order, and the digest of these plans without their consents.
    pub fn of_all<'p>(plans: impl IntoIterator<Item = &'p Plan>) -> (Self, Self) {
        let (whole, without): (Vec<Self>, Vec<Self>) = plans.into_iter().map(Plan::digests).unzip();
        (Self::over(whole.into_iter()), Self::over(without.into_iter()))
    }

    /// The digest of several digests.
    fn over(digests: impl Iterator<Item = Digest>) -> Self {
        let all = digests.fold(Sha256::new(), |all, digest| all.chain_update(digest.full()).chain_update("\n"));
        Self(HEXLOWER.encode(&all.finalize()))
    }

    /// All 64 hex digits.
    pub fn full(&self) -> &str {
        &self.0
    }

    /// The digits that reports show.
    pub fn short(&self) -> &str {
        &self.0[..SHOWN]
    }

    /// Whether `given`, [`Digest::LEAST`] or more hex digits, names this digest; `None` where it is not a
    /// digest.
    pub fn is_named(&self, given: &str) -> Option<bool> {
        let fits = (SHOWN..=self.0.len()).contains(&given.len()) && given.bytes().all(|b| b.is_ascii_hexdigit());
        fits.then(|| self.0.starts_with(&given.to_ascii_lowercase()))
    }
}

displayed!(Digest, |digest| "{}", digest.short());

/// What the digest covers besides the changes, as canonical JSON.
#[derive(Serialize)]
struct Covered<'p> {
    base_url: &'p str,
    layout: Layout,
    stack: Option<&'p str>,
    scope: &'p BTreeMap<Scope, ScopeState>,
    settings: &'p PlanSettings,
    undone: Option<&'p RunId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    handed_over: Option<(&'p str, &'p str)>,
    /// The blocked objects that count for a guard.
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    staying: BTreeSet<&'p Key>,
}

/// Key, action, wanted values, before-image, ownership annotations, referrers of a delete, fields behind the
/// base, and units with secrets.
#[derive(Serialize)]
struct Covering<'p>(
    &'p Key,
    ActionKind,
    Wanted<'p>,
    Option<(&'p str, Object)>,
    Option<OwnershipAnnotations>,
    Vec<&'p RelatedObject>,
    #[serde(skip_serializing_if = "Option::is_none")] Option<Vec<&'p Field>>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")] &'p BTreeMap<String, Json>,
);

#[derive(Serialize)]
#[serde(untagged)]
enum Wanted<'p> {
    Whole(&'p Object),
    Fields { adopts: bool, fields: Vec<(&'p Field, &'p Json, &'p Json)> },
    Nothing,
}

impl Plan {
    /// The digest of this plan, including the consents that it records.
    pub fn digest(&self) -> Digest {
        self.digests().0
    }

    /// The digest of this plan without its consents.
    pub fn digest_without_consents(&self) -> Digest {
        self.digests().1
    }

    /// Both digests.
    pub(super) fn digests(&self) -> (Digest, Digest) {
        let covered = Covered {
            base_url: &self.service.base_url,
            layout: self.service.layout,
            stack: self.stack.as_deref(),
            scope: &self.scope,
            settings: &self.settings,
            undone: self.undone(),
            handed_over: self.handed_over(),
            staying: super::guard::staying(self).collect(),
        };
        let mut changes: Vec<&Change> = self.changes.iter().collect();
        let changes = share::each(&mut changes, AT_A_TIME, || |change: &mut &Change| hash(&covering(change)));
        let hash = changes.iter().fold(Sha256::new_with_prefix(hash(&covered)), Sha256::chain_update);
        let without = hash.finalize();
        let digest = |hash: Output<Sha256>| Digest(HEXLOWER.encode(&hash));
        let reviewed = self.allowed.iter().filter(|allowed| !allowed.at_apply);
        let names: BTreeSet<&str> = reviewed.map(|allowed| allowed.name.as_str()).collect();
        let whole = match names.is_empty() {
            true => without,
            false => Sha256::new_with_prefix(without).chain_update(self::hash(&("allowed", names))).finalize(),
        };
        (digest(whole), digest(without))
    }
}

fn hash(covered: &impl Serialize) -> Output<Sha256> {
    match serde_json::to_vec(covered) {
        Ok(text) => Sha256::digest(text),
        Err(error) => unreachable!("every text, number and map with text keys is JSON: {error}"),
    }
}

fn fields_of(fields: &[FieldChange]) -> Vec<(&Field, &Json, &Json)> {
    fields.iter().map(|field| (&field.field, &field.before, &field.after)).collect()
}

fn covering(change: &Change) -> Covering<'_> {
    let wanted = match &change.action {
        Action::Create { wanted } => Wanted::Whole(wanted),
        Action::Replace { fields, adopts, .. } => Wanted::Fields { adopts: *adopts, fields: fields_of(fields) },
        Action::Recreate { fields, .. } => Wanted::Fields { adopts: false, fields: fields_of(fields) },
        Action::Annotate { .. } | Action::Delete { .. } => Wanted::Nothing,
    };
    let before = change.action.before().map(|before| (before.uid.as_str(), image(&before.endpoint)));
    // Referrers were allowed by name: an apply deletes the object although they refer to it.
    let mut referrers: Vec<&RelatedObject> = match &change.action {
        Action::Delete { referrers, .. } => referrers.iter().collect(),
        _ => Vec::new(),
    };
    referrers.sort();
    // Fields behind the base were refused, or allowed by name: with more of them, it is a different plan.
    let behind = change.is_behind_base().then(|| {
        let fields = change.fields().iter().filter(|field| field.attribution == Some(Attribution::BehindBase));
        fields.map(|field| &field.field).collect()
    });
    let ownership = change.ownership.as_ref().map(OwnershipAnnotations::without_commit);
    Covering(&change.key, change.action.kind(), wanted, before, ownership, referrers, behind, &change.secrets)
}

/// The before-image without the run and the commit in its ownership annotations: which run wrote the same values
/// last does not matter.
fn image(endpoint: &Object) -> Object {
    let mut image = endpoint.clone();
    if let Some(mut applied) =
        Ownership::read(&image.annotations).and_then(|ownership| ownership.at_commit(None).applied)
    {
        RUN_PENDING.clone_into(&mut applied.run);
        image.annotations.insert(APPLIED.to_owned(), applied.text());
    }
    image
}
