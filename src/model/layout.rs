//! The two path layouts in which a service answers. Only `api` knows the paths.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Which paths the service answers at.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Layout {
    /// The reference: everything under `/api/config/namespaces/{namespace}/`.
    #[default]
    Uniform,
    /// The vendor's own published paths (API.md).
    Published,
}

impl Layout {
    /// Every layout.
    pub const ALL: [Layout; 2] = [Layout::Uniform, Layout::Published];

    /// The name, as flags and configuration write it.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Layout::Uniform => "uniform",
            Layout::Published => "published",
        }
    }
}

impl fmt::Display for Layout {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
