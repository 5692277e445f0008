use std::fmt;

use serde_json::json;
use sha2::{Digest as _, Sha256};

use super::{Action, Change, Plan, Side};
use crate::model::{Endpoint, Field, Json, PROTECT};

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

impl Plan {
    /// The digest of this plan.
    #[must_use]
    pub fn digest(&self) -> Digest {
        let changes: Vec<Json> = self.changes.iter().map(change).collect();
        let covered = json!({
            "base_url": self.service.base_url,
            "layout": self.service.layout,
            "stack": self.stack,
            "scope": self.scope,
            "settings": self.settings,
            "changes": changes,
        });
        let hash = Sha256::digest(covered.to_string().as_bytes());
        Digest(hash.iter().map(|byte| format!("{byte:02x}")).collect())
    }
}

fn change(change: &Change) -> Json {
    let wanted = match &change.action {
        Action::Create { wanted } => json!(wanted),
        Action::Replace { fields, .. } => fields.iter().map(|field| json!([field.field, field.after])).collect(),
        Action::Mark { .. } | Action::Delete { .. } => Json::Null,
    };
    let before = change.action.before().map(|before| json!([before.uid, image(&before.endpoint, change)]));
    let mut covered = vec![json!(change.key), json!(change.action.kind()), wanted, json!(before), json!(change.marks)];
    // What is behind the base was refused, or allowed by name: more of it is another plan.
    if change.is_behind_base() {
        let behind = change.fields().iter().filter(|field| field.side == Some(Side::BehindBase));
        covered.push(behind.map(|field| json!(field.field)).collect());
    }
    Json::Array(covered)
}

/// The before-image without what belongs to others: annotations that the change does not touch.
fn image(endpoint: &Endpoint, change: &Change) -> Json {
    let touched = |key: &String| {
        key == PROTECT || change.fields().iter().any(|field| field.field == Field::Annotation(key.clone()))
    };
    let annotations = endpoint.annotations.iter().filter(|(key, _)| touched(key));
    let kept = Endpoint {
        annotations: annotations.map(|(key, value)| (key.clone(), value.clone())).collect(),
        ..endpoint.clone()
    };
    json!(kept)
}
