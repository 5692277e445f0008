//! Of which stack a line of a log or of a stream is: lines of several stacks are written as they happen.

use schemars::JsonSchema;
use serde::Serialize;

/// Of which stack a line is, as far as it is known.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct LineSource {
    /// The directory of the stack, as the call named it; only where the command is about several.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub directory: Option<String>,
    /// The stack.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stack: Option<String>,
    /// The environment of the configuration.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub environment: Option<String>,
}
