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

/// Why a file is not run as a plan.
#[derive(Debug, thiserror::Error)]
pub enum SavedError {
    /// It is none, or altered: its content does not have the digest or the guards that it names.
    #[error(transparent)]
    Document(#[from] DocumentError),
    /// The content has the digest that the file names, and no plan says such a thing.
    #[error("the plan contradicts itself, so it was written by hand: {0}")]
    Unsound(String),
}

impl Plan {
    /// Writes the plan as a file contains it: JSON with its digest, a final line break included.
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

    /// What [`Plan::write`] writes, as one text.
    pub fn to_file(&self) -> String {
        let mut text = Vec::new();
        // Text keys, strings, numbers: nothing that fails.
        let _ = self.write(&mut text);
        String::from_utf8(text).unwrap_or_default()
    }

    /// Whether a file's beginning looks like a saved plan; what it says of itself, not its name.
    pub fn is_file(bytes: &[u8]) -> bool {
        kind_of(bytes).is_some_and(|kind| FORMAT.kinds.contains(&kind.as_str()))
    }

    /// Takes the cause from what a rollback does to whole objects: earlier versions wrote one.
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
    /// The file is not a plan, of another format, altered, or no plan that anybody could have made.
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
