//! Documents that trueup writes and reads back: each names its kind and format version, and a sealed one the digest of
//! its content. A document of another kind, of an unknown version, or that was altered is not used.

use std::fmt::Display;
use std::io;
use std::ops::RangeInclusive;

use data_encoding::HEXLOWER;
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use super::Json;

/// The format of a document.
#[derive(Debug)]
pub(crate) struct DocumentFormat {
    /// Its name, with an article.
    pub(crate) name: &'static str,
    /// The kinds that it may name; new documents get the first. Empty where the location of the file shows what it is.
    pub(crate) kinds: &'static [&'static str],
    /// The versions that are read.
    pub(crate) versions: RangeInclusive<u32>,
    /// What to do if it cannot be used.
    pub(crate) remedy: &'static str,
}

/// Why a file is not used as a document.
#[derive(Debug, thiserror::Error)]
pub enum DocumentError {
    /// It is something else, or cut off.
    #[error("the file is not {name}: {reason}")]
    Other {
        /// What it should be.
        name: &'static str,
        /// The error of the reader.
        reason: String,
    },
    /// Another version of this program wrote it.
    #[error("it has format version {found}, this trueup reads {known}: {remedy}")]
    Version {
        /// The version of the file.
        found: u64,
        /// The supported versions.
        known: String,
        /// What to do.
        remedy: &'static str,
    },
    /// Its content does not match the digest that it names. The digest of the content is not shown, because the file
    /// would pass with it.
    #[error("it was altered after it was written: {0}")]
    Altered(&'static str),
}

/// The kind that the content of a file names, if it is a document.
pub fn kind_of(bytes: &[u8]) -> Option<String> {
    #[derive(Deserialize)]
    struct Head {
        kind: String,
    }
    serde_json::from_slice::<Head>(bytes).ok().map(|head| head.kind)
}

impl DocumentFormat {
    /// The content of a file.
    ///
    /// # Errors
    /// It is of another kind or version, or cannot be read.
    pub(crate) fn read<C: DeserializeOwned>(&self, bytes: &[u8]) -> Result<C, DocumentError> {
        #[derive(Deserialize)]
        struct Head {
            kind: Option<String>,
            format_version: u64,
        }
        let head: Head = serde_json::from_slice(bytes).map_err(|error| self.other(error))?;
        match head.kind.as_deref() {
            _ if self.kinds.is_empty() => {}
            Some(kind) if self.kinds.contains(&kind) => {}
            Some(kind) => {
                let (found, wanted) = (kind.escape_debug(), self.kinds.join("` or `"));
                return Err(self.other(format_args!("its kind is `{found}`, not `{wanted}`")));
            }
            None => return Err(self.other("missing field `kind`")),
        }
        self.check(head.format_version)?;
        serde_json::from_slice(bytes).map_err(|error| self.other(error))
    }

    /// Checks that this version of the format is supported.
    ///
    /// # Errors
    /// [`DocumentError::Version`].
    pub(crate) fn check(&self, found: u64) -> Result<(), DocumentError> {
        let (first, last) = (*self.versions.start(), *self.versions.end());
        if (first.into()..=last.into()).contains(&found) {
            return Ok(());
        }
        let known = if first == last { first.to_string() } else { format!("{first} to {last}") };
        Err(DocumentError::Version { found, known, remedy: self.remedy })
    }

    /// The error for a file that is something else.
    pub(crate) fn other(&self, reason: impl Display) -> DocumentError {
        DocumentError::Other { name: self.name, reason: reason.to_string() }
    }

    /// The error for a file whose digest does not match its content.
    pub(crate) fn altered(&self) -> DocumentError {
        DocumentError::Altered(self.remedy)
    }
}

/// The SHA-256 of a content as JSON, in hex digits.
pub(crate) fn digest(content: &impl Serialize) -> String {
    let mut hash = io::BufWriter::new(Hashed(Sha256::new()));
    // Text keys, strings, numbers and this writer cannot fail.
    let _ = serde_json::to_writer(&mut hash, content);
    let hash = hash.into_inner().map(|hash| hash.0.finalize()).unwrap_or_default();
    HEXLOWER.encode(&hash)
}

/// The number of hex digits of a value's digest.
const DIGITS: usize = 16;

/// The digest of a live value, in place of the value itself.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct ValueDigest(String);

impl ValueDigest {
    /// The digest of a value; `null` means absent.
    pub fn of(value: &Json) -> Self {
        let hash = Sha256::digest(value.to_string().as_bytes());
        Self(HEXLOWER.encode(&hash[..DIGITS / 2]))
    }
}

/// Hashes what is written to it.
struct Hashed(Sha256);

impl io::Write for Hashed {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.update(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
