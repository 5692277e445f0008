//! A plan in a file: written with its format version and digest, and read back only unaltered and consistent.

use std::io::{self, Write};

use serde::{Deserialize, Serialize};

use super::{Action, FORMAT_VERSION, Plan, RunLimits, guard};
use crate::model::document::{DocumentError, DocumentFormat, kind_of};

/// A plan as a file contains it.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Saved<P> {
    kind: String,
    format_version: u32,
    digest: String,
    plan: P,
}

const FORMAT: DocumentFormat = DocumentFormat {
    name: "a saved plan",
    kinds: &["plan"],
    versions: FORMAT_VERSION..=FORMAT_VERSION,
    remedy: "plan again, and compare the digest with the reviewed one",
};

/// Why a file is not accepted as a plan.
#[derive(Debug, thiserror::Error)]
pub enum SavedError {
    /// It is not a plan, or it was altered: its content does not match its digest or guards.
    #[error(transparent)]
    Document(#[from] DocumentError),
    /// The content matches its digest, but trueup cannot have made such a plan.
    #[error("the plan contradicts itself, so it was written by hand: {0}")]
    Unsound(String),
}

impl Plan {
    /// Writes the plan as the content of a file: JSON with its digest and a final line break.
    ///
    /// # Errors
    /// Those of `out`.
    pub fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        let saved = Saved {
            kind: FORMAT.kinds[0].to_owned(),
            format_version: FORMAT_VERSION,
            digest: self.digest().full().to_owned(),
            plan: self,
        };
        serde_json::to_writer_pretty(&mut *out, &saved)?;
        out.write_all(b"\n")
    }

    /// The output of [`Plan::write`] as one text.
    pub fn to_file(&self) -> String {
        let mut text = Vec::new();
        // Text keys, strings and numbers cannot fail.
        let _ = self.write(&mut text);
        String::from_utf8(text).unwrap_or_default()
    }

    /// Whether the beginning of a file is that of a saved plan, by its content, not its name.
    pub fn is_file(bytes: &[u8]) -> bool {
        kind_of(bytes).is_some_and(|kind| FORMAT.kinds.contains(&kind.as_str()))
    }

    /// Removes the causes of creates and deletes in a rollback, which earlier versions wrote.
    pub fn forget_causes_of_undone(&mut self) {
        let is_undone = self.undone().is_some();
        let blocked = self.blocked.iter_mut().filter_map(|blocked| blocked.change.as_mut());
        for change in self.changes.iter_mut().chain(blocked).filter(|_| is_undone) {
            if matches!(change.action, Action::Create { .. } | Action::Delete { .. }) {
                change.cause = None;
            }
        }
    }

    /// The plan of a file.
    ///
    /// # Errors
    /// The file is not a plan, has another format, was altered, or contradicts itself.
    pub fn from_file(bytes: &[u8]) -> Result<Self, SavedError> {
        let Saved { mut plan, digest, .. } = FORMAT.read::<Saved<Plan>>(bytes)?;
        let is_applied = plan.allowed.iter().any(|allowed| allowed.at_apply);
        let is_as_digested = !is_applied && plan.digest().full() == digest;
        if !is_as_digested || guard::hits(&plan, &RunLimits::whole(&plan)) != plan.guards {
            return Err(FORMAT.altered().into());
        }
        plan.check().map_err(SavedError::Unsound)?;
        plan.forget_causes_of_undone();
        Ok(plan)
    }
}
