//! A live value without the value itself.

use data_encoding::HEXLOWER;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use super::Json;

/// Hex digits of a value's digest.
const DIGITS: usize = 16;

/// A live value without the value itself.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct ValueDigest(String);

impl ValueDigest {
    /// The digest of a value; `null` means absence.
    #[must_use]
    pub fn of(value: &Json) -> Self {
        let hash = Sha256::digest(value.to_string().as_bytes());
        Self(HEXLOWER.encode(&hash[..DIGITS / 2]))
    }
}
