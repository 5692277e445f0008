//! The names that `--allow` takes. The command line, policies and their schema use this list.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::model::words;

/// The guards by name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum GuardName {
    /// The plan would delete or replace too large a share.
    MassChange,
    /// The plan would delete every owned object of a namespace, or all of several objects of a kind in it.
    EmptyNamespace,
    /// The base branch has newer values for what this plan would set.
    BehindBase,
}

words!(GuardName { MassChange = "mass-change", EmptyNamespace = "empty-namespace", BehindBase = "behind-base" });

/// Consents for single objects: `NAME=KEY`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum KeyAllowance {
    /// To take over an object of another stack.
    ForeignStack,
    /// To delete a protected object.
    Protected,
    /// To delete an object and create it again.
    Recreate,
    /// To delete an object that others refer to.
    Referred,
    /// To delete an object whose ownership is not proven.
    Unverified,
}

words!(KeyAllowance {
    ForeignStack = "foreign-stack",
    Protected = "protected",
    Recreate = "recreate",
    Referred = "referred",
    Unverified = "unverified",
});

/// The names that `--allow` takes, without keys.
pub fn consents() -> impl Iterator<Item = &'static str> {
    GuardName::ALL.into_iter().map(GuardName::as_str).chain(KeyAllowance::ALL.into_iter().map(KeyAllowance::as_str))
}
