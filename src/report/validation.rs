//! The result of a check of definitions without the service.

use super::annotation::{self, Annotation};
use crate::load::Diagnostic;
use crate::report::prelude::*;

/// Definitions that were checked.
pub struct Validation {
    /// What the definitions contain; `None` if they are not valid.
    pub contents: Option<StackSize>,
    /// The problems, or the notes on valid definitions.
    pub diagnostics: Vec<Diagnostic>,
    /// The path from the working directory to the stack, with a final `/` if it is not empty.
    pub prefix: String,
}

impl Report for Validation {
    /// `Valid: 3 endpoints in 1 namespace, 2 files`; of several kinds, `objects`.
    fn blocks<'a>(&'a self, _: &TextView) -> Blocks<'a> {
        let Some(StackSize { endpoints, objects, namespaces, files }) = self.contents else { return Blocks::default() };
        let noun = if objects == 0 { "endpoint" } else { "object" };
        let (all, files) = (Line::count(endpoints + objects, noun), Line::count(files, "file"));
        let text = line![all, " in ", Line::count(namespaces, "namespace"), ", ", files];
        Line::labelled(Role::Right, "Valid", text).into()
    }

    written_as!("validation", ValidationReport::of);

    fn annotations(&self) -> Vec<Annotation> {
        annotation::of_diagnostics(&self.diagnostics, &self.prefix)
    }
}

/// Definitions that were checked, as JSON.
#[derive(Serialize, JsonSchema)]
pub struct ValidationReport<'a> {
    valid: bool,
    /// Endpoints that are defined; 0 where the definitions are not valid.
    endpoints: usize,
    /// Objects of other kinds that are defined.
    objects: usize,
    /// Every problem and note with its place.
    diagnostics: &'a [Diagnostic],
}

impl<'a> ValidationReport<'a> {
    /// The report of a check.
    pub fn of(validation: &'a Validation) -> Self {
        let contents = validation.contents;
        let endpoints = contents.map_or(0, |size| size.endpoints);
        let objects = contents.map_or(0, |size| size.objects);
        Self { valid: contents.is_some(), endpoints, objects, diagnostics: &validation.diagnostics }
    }
}

/// How much a stack contains.
#[derive(Debug, Clone, Copy)]
pub struct StackSize {
    /// Endpoints that it defines.
    pub endpoints: usize,
    /// Objects of other kinds that it defines.
    pub objects: usize,
    /// Namespaces of definitions and settings.
    pub namespaces: usize,
    /// Files that were read.
    pub files: usize,
}
