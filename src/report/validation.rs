//! The result of a check of definitions without the service.

use crate::load::Diagnostic;

/// Definitions that were checked.
pub struct Validation<'a> {
    /// What the definitions contain; nothing where they are not valid.
    pub contents: Option<StackSize>,
    /// The problems, or the notes on valid definitions.
    pub diagnostics: &'a [Diagnostic],
    /// The path from the working directory to the stack, with a final `/` where it is not empty.
    pub prefix: &'a str,
}

/// How much a stack contains.
#[derive(Debug, Clone, Copy)]
pub struct StackSize {
    /// Endpoints that it defines.
    pub endpoints: usize,
    /// Namespaces of definitions and settings.
    pub namespaces: usize,
    /// Files that were read.
    pub files: usize,
}
