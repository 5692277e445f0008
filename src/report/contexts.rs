//! The contexts of a user as JSON: which service, stack and token each one names.

use std::path::Path;

use schemars::JsonSchema;
use serde::Serialize;

use super::json as documents;

/// The contexts of a user, as JSON.
#[derive(Serialize, JsonSchema)]
pub struct ContextsReport<'a> {
    /// Every context, by its name.
    pub contexts: Vec<ListedContext<'a>>,
}

/// One context.
#[derive(Serialize, JsonSchema)]
pub struct ListedContext<'a> {
    /// Its name.
    pub name: &'a str,
    /// It is in use.
    pub current: bool,
    /// Its service.
    pub base_url: &'a str,
    /// Its stack.
    pub stack: Option<&'a str>,
    /// The variable that has its token.
    pub token_variable: Option<&'a str>,
    /// The file that has its token.
    pub token_file: Option<&'a Path>,
}

/// The contexts as a document of the kind `contexts`.
#[must_use]
pub fn json(report: &ContextsReport<'_>) -> String {
    documents::document("contexts", report)
}
