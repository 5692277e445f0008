//! The two layouts of a service's paths. Only `api` knows the paths.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::word::words;

/// The layout of the service's paths.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Layout {
    /// The reference: everything under `/api/config/namespaces/{namespace}/`.
    #[default]
    Uniform,
    /// The vendor's own published paths (API.md).
    Published,
}

words!(Layout { Uniform = "uniform", Published = "published" });
