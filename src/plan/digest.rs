use std::collections::BTreeMap;
use std::fmt;

use serde::Serialize;
use sha2::digest::Output;
use sha2::{Digest as _, Sha256};

use super::{Action, ActionKind, Change, Marks, Plan, Scope, Settings, Side, share};
use crate::model::{Endpoint, Field, Json, Key, Layout, Namespace, PROTECT};

/// Hex digits that a person gives at least, and that reports show.
const SHOWN: usize = 16;

/// The digest of what a plan will do and against what. Places, causes, commits, times, versions and
/// runs are no part of it: two plans with one digest do the same.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Digest(String);

impl Digest {
    /// All 64 hex digits.
    #[must_use]
    pub fn full(&self) -> &str {
        &self.0
    }

    /// The digits that reports show.
    #[must_use]
    pub fn short(&self) -> &str {
        &self.0[..SHOWN]
    }

    /// Whether `given`, 16 or more hex digits, names this digest; `None` where it is no digest.
    #[must_use]
    pub fn is_named(&self, given: &str) -> Option<bool> {
        let fits = (SHOWN..=self.0.len()).contains(&given.len()) && given.bytes().all(|b| b.is_ascii_hexdigit());
        fits.then(|| self.0.starts_with(&given.to_ascii_lowercase()))
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.short())
    }
}

/// What the digest covers beside the changes, as canonical JSON.
#[derive(Serialize)]
struct Covered<'p> {
    base_url: &'p str,
    layout: Layout,
    stack: Option<&'p str>,
    scope: &'p BTreeMap<Namespace, Scope>,
    settings: &'p Settings,
}

/// Key, action, what is wanted, the before-image, the marks, and what is behind the base.
#[derive(Serialize)]
struct Covering<'p>(
    &'p Key,
    ActionKind,
    Wanted<'p>,
    Option<(&'p str, Endpoint)>,
    Option<Marks>,
    #[serde(skip_serializing_if = "Option::is_none")] Option<Vec<&'p Field>>,
);

#[derive(Serialize)]
#[serde(untagged)]
enum Wanted<'p> {
    Whole(&'p Endpoint),
    Fields(Vec<(&'p Field, &'p Json)>),
    Nothing,
}

impl Plan {
    /// The digest of this plan.
    #[must_use]
    pub fn digest(&self) -> Digest {
        let covered = Covered {
            base_url: &self.service.base_url,
            layout: self.service.layout,
            stack: self.stack.as_deref(),
            scope: &self.scope,
            settings: &self.settings,
        };
        let mut changes: Vec<&Change> = self.changes.iter().collect();
        let changes = share::each(&mut changes, || |change: &mut &Change| hash(&covering(change)));
        let hash = changes.iter().fold(Sha256::new_with_prefix(hash(&covered)), Sha256::chain_update);
        Digest(hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect())
    }
}

fn hash(covered: &impl Serialize) -> Output<Sha256> {
    match serde_json::to_vec(covered) {
        Ok(text) => Sha256::digest(text),
        Err(error) => unreachable!("every text, number and map with text keys is JSON: {error}"),
    }
}

fn covering(change: &Change) -> Covering<'_> {
    let wanted = match &change.action {
        Action::Create { wanted } => Wanted::Whole(wanted),
        Action::Replace { fields, .. } => {
            Wanted::Fields(fields.iter().map(|field| (&field.field, &field.after)).collect())
        }
        Action::Mark { .. } | Action::Delete { .. } => Wanted::Nothing,
    };
    let before = change.action.before().map(|before| (before.uid.as_str(), image(&before.endpoint, change)));
    // What is behind the base was refused, or allowed by name: more of it is another plan.
    let behind = change.is_behind_base().then(|| {
        let fields = change.fields().iter().filter(|field| field.side == Some(Side::BehindBase));
        fields.map(|field| &field.field).collect()
    });
    Covering(
        &change.key,
        change.action.kind(),
        wanted,
        before,
        change.marks.as_ref().map(Marks::without_commit),
        behind,
    )
}

/// The before-image without what belongs to others: annotations that the change does not touch.
fn image(endpoint: &Endpoint, change: &Change) -> Endpoint {
    let touched = |key: &str| {
        let fields = change.fields();
        key == PROTECT || fields.iter().any(|field| matches!(&field.field, Field::Annotation(own) if own == key))
    };
    let annotations = endpoint.annotations.iter().filter(|(key, _)| touched(key));
    Endpoint {
        annotations: annotations.map(|(key, value)| (key.clone(), value.clone())).collect(),
        key: endpoint.key.clone(),
        labels: endpoint.labels.clone(),
        description: endpoint.description.clone(),
        disable: endpoint.disable,
        spec: endpoint.spec.clone(),
    }
}
