//! A plan in a file: written with its format version and digest, and read back only unaltered and consistent.

use std::io::{self, Write};

use serde::{Deserialize, Serialize};

use super::{FORMAT_VERSION, GuardLimits, Plan};

/// A plan as a file contains it.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Saved<P> {
    kind: String,
    format_version: u32,
    digest: String,
    plan: P,
}

/// Why a file is not run as a plan.
#[derive(Debug, thiserror::Error)]
pub enum SavedError {
    /// Not a saved plan at all.
    #[error("the file is not a saved plan: {reason}")]
    NotAPlan {
        /// What the reader said.
        reason: String,
    },
    /// A format of another program version.
    #[error("the plan has format version {found}, this trueup reads {FORMAT_VERSION}: plan again")]
    Format {
        /// The file's.
        found: u64,
    },
    /// The content does not have the digest or the guards that the file names. The content's digest is not
    /// printed: it would be the one with which the file passes.
    #[error("the plan was altered after it was saved: plan again, and compare the digest with the reviewed one")]
    Altered,
    /// The content has the digest that the file names, and no plan says such a thing.
    #[error("the plan contradicts itself, so it was written by hand: {reason}")]
    Unsound {
        /// What contradicts what.
        reason: String,
    },
}

impl Plan {
    /// Writes the plan as a file contains it: JSON with its digest, a final line break included.
    ///
    /// # Errors
    /// Those of `out`.
    pub fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        let saved = Saved {
            kind: "plan".to_owned(),
            format_version: FORMAT_VERSION,
            digest: self.digest().full().to_owned(),
            plan: self,
        };
        serde_json::to_writer_pretty(&mut *out, &saved)?;
        out.write_all(b"\n")
    }

    /// What [`Plan::write`] writes, as one text.
    #[must_use]
    pub fn to_file(&self) -> String {
        let mut text = Vec::new();
        // Text keys, strings, numbers: nothing that fails.
        let _ = self.write(&mut text);
        String::from_utf8(text).unwrap_or_default()
    }

    /// Whether a file's beginning looks like a saved plan; what it says of itself, not its name.
    #[must_use]
    pub fn is_file(bytes: &[u8]) -> bool {
        #[derive(Deserialize)]
        struct Head {
            kind: String,
        }
        serde_json::from_slice::<Head>(bytes).is_ok_and(|head| head.kind == "plan")
    }

    /// The plan of a file.
    ///
    /// # Errors
    /// The file is not a plan, of another format, altered, or no plan that anybody could have made.
    pub fn from_file(bytes: &[u8]) -> Result<Self, SavedError> {
        #[derive(Deserialize)]
        struct Head {
            kind: String,
            format_version: u64,
        }
        let not = |error: serde_json::Error| SavedError::NotAPlan { reason: error.to_string() };
        let head: Head = serde_json::from_slice(bytes).map_err(not)?;
        if head.kind != "plan" {
            return Err(SavedError::NotAPlan { reason: format!("its kind is `{}`", head.kind.escape_debug()) });
        }
        if head.format_version != u64::from(FORMAT_VERSION) {
            return Err(SavedError::Format { found: head.format_version });
        }
        let saved: Saved<Plan> = serde_json::from_slice(bytes).map_err(not)?;
        let plan = saved.plan;
        if plan.digest().full() != saved.digest || plan.guards_within(&GuardLimits::default()) != plan.guards {
            return Err(SavedError::Altered);
        }
        plan.check().map_err(|reason| SavedError::Unsound { reason })?;
        Ok(plan)
    }
}
