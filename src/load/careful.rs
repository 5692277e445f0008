//! The careful reader: reads each document of a file as a tree with places, applies merge keys, overlays and
//! variables, and reports every problem. It also finds where a value is written.

use std::cell::LazyCell;
use std::sync::Arc;

use super::config::Config;
use super::definition::{Examined, is_other_kind};
use super::diagnostic::{Diagnostic, read_or_noted};
use super::fast::MOST_DOCUMENTS;
use super::item::{Item, resolve};
use super::loaded::Loaded;
use super::object::examine;
use super::overlays::{Applied, Overlay, Overlays};
use super::secrets::{Secrets, conceal};
use super::syntax::{self, Cause};
use super::text::{Language, SourceText};
use super::tree::Documents;
use super::variable::{Variables, substitute};
use crate::model::{Definition, Key, SourceLocation};

/// The most problems that are reported for one file.
const MOST_PROBLEMS: usize = 200;

/// The settings, variables and overlays that apply to every file of a stack.
#[derive(Debug)]
pub(super) struct ReadContext<'s> {
    /// The settings that a definition is checked against.
    pub(super) config: &'s Config,
    pub(super) variables: &'s Variables,
    pub(super) overlays: Overlays<'s>,
}

/// What is needed to read files of a loaded stack again.
#[derive(Debug)]
pub(super) struct SecondReading<'l> {
    loaded: &'l Loaded,
    variables: Variables,
    overlays: Vec<SourceText>,
}

impl<'l> SecondReading<'l> {
    /// Uses these overlays; those that cannot be read are left out.
    pub(super) fn new<'f>(loaded: &'l Loaded, overlays: impl IntoIterator<Item = &'f Arc<str>>) -> Self {
        let text = |file| loaded.origin.text(file).ok();
        Self::with(loaded, overlays.into_iter().filter_map(text).collect())
    }

    /// Uses overlays with these texts.
    pub(super) fn with(loaded: &'l Loaded, overlays: Vec<SourceText>) -> Self {
        Self { loaded, variables: Variables::new(&loaded.config.variables), overlays }
    }

    pub(super) fn context(&self, problems: &mut Vec<Diagnostic>) -> ReadContext<'_> {
        let overlays = match self.overlays.as_slice() {
            [] => Overlays::default(),
            texts => Overlays::read(texts, &self.loaded.filter(), &self.variables, problems),
        };
        ReadContext { config: &self.loaded.config, variables: &self.variables, overlays }
    }
}

/// What a file contained.
#[derive(Debug, Default)]
pub(super) struct FileRead {
    pub(super) found: Vec<Definition>,
    /// The definitions that an overlay removes, and where it removes them.
    pub(super) removed: Vec<(Key, SourceLocation)>,
    pub(super) problems: Vec<Diagnostic>,
    pub(super) notes: Vec<Diagnostic>,
}

/// A document that is ready to be examined.
pub(super) struct PreparedDocument<'s> {
    pub(super) item: Item<'s>,
    pub(super) document: usize,
    applied: Applied<'s>,
}

/// The documents of a file with everything applied, even those with problems. Empty documents, other kinds and
/// removed definitions are left out.
pub(super) fn prepare<'s>(source: &'s SourceText, context: &ReadContext<'s>) -> Vec<PreparedDocument<'s>> {
    let mut prepared = Vec::new();
    each(source, context, &mut FileRead::default(), |document, _| {
        if document.applied.removed.is_none() {
            prepared.push(document);
        }
    });
    prepared
}

/// Reads a whole file.
pub(super) fn read<'s>(source: &'s SourceText, context: &ReadContext<'s>) -> FileRead {
    let mut read = FileRead::default();
    // Read as YAML, a missing comma would be reported as a different mistake.
    if source.language() == Language::Json
        && let Some(problem) = json_syntax(source)
    {
        read.problems.push(problem);
        return read;
    }
    each(source, context, &mut read, |prepared, read| {
        if let Some(at) = prepared.applied.removed {
            read.removed.extend(prepared.item.names().and_then(|key| Some((Key::parse(&key).ok()?, at.location()))));
            return;
        }
        match examine(&prepared.item, context.config) {
            Err(problems) => read.problems.extend(problems),
            Ok(Examined { endpoint, sealed, notes }) => {
                read.notes.extend(notes);
                read.found.push(Definition {
                    endpoint,
                    sealed,
                    file: source.path.clone(),
                    document: prepared.document,
                    overlays: prepared.applied.files,
                });
            }
        }
    });
    read
}

fn each<'s>(
    source: &'s SourceText,
    context: &ReadContext<'s>,
    read: &mut FileRead,
    mut take: impl FnMut(PreparedDocument<'s>, &mut FileRead),
) {
    let end = source.as_str().len();
    for (document, tree) in Documents::new(source).enumerate() {
        let problems = &mut read.problems;
        if document >= MOST_DOCUMENTS {
            let what = format!("the file has more than the allowed {MOST_DOCUMENTS} documents");
            problems.push(Diagnostic::of_file(what, &source.path, "split it"));
            return;
        }
        if problems.len() > MOST_PROBLEMS {
            problems.truncate(MOST_PROBLEMS);
            let what = format!("more than {MOST_PROBLEMS} problems in this file; the rest is not shown");
            problems.push(Diagnostic::error(what, source, end..end, ""));
            return;
        }
        let Some(tree) = read_or_noted(tree, problems) else { continue };
        let (first_problem, first_note) = (problems.len(), read.notes.len());
        let secrets = LazyCell::new(|| Secrets::of(&tree, source));
        let item = resolve(&tree, source, problems).filter(|item| !item.is_null() && !is_other_kind(item));
        let mut overlays: &[Overlay<'s>] = &[];
        if let Some(mut item) = item {
            let applied;
            (overlays, applied) = context.overlays.apply(&mut item, context.variables, problems);
            // A removed definition needs no variables, so problems with them do not matter.
            let mut ignored = Vec::new();
            let problems_here = if applied.removed.is_some() { &mut ignored } else { problems };
            substitute(&mut item, context.variables, problems_here);
            take(PreparedDocument { item, document, applied }, read);
        }
        Overlays::name_removals(overlays, &mut read.problems[first_problem..]);
        if read.problems.len() > first_problem || read.notes.len() > first_note {
            let all = || std::iter::once(&*secrets).chain(overlays.iter().map(|overlay| &overlay.secrets));
            conceal(all(), &mut read.problems[first_problem..]);
            conceal(all(), &mut read.notes[first_note..]);
        }
    }
}

/// The syntax error of a text that is not valid JSON.
fn json_syntax(source: &SourceText) -> Option<Diagnostic> {
    let error = serde_json::from_str::<serde::de::IgnoredAny>(source.as_str()).err()?;
    if let Some(Cause { message, range, label }) = syntax::conflict(source.as_str()) {
        return Some(Diagnostic::error(format!("syntax error: {message}"), source, range, label).of_unparsed(source));
    }
    let line_start = source.as_str().split_inclusive('\n').take(error.line().saturating_sub(1)).map(str::len).sum();
    let at = source.floor(usize::saturating_add(line_start, error.column().saturating_sub(1)));
    let end = source.floor(at + 1).max(at);
    let text = error.to_string();
    let what = text.strip_suffix(&format!(" at line {} column {}", error.line(), error.column())).unwrap_or(&text);
    let label = match (what, source.as_str()[at..].chars().next()) {
        (_, Some('/' | '#')) => "JSON has no comments",
        ("expected `,` or `}`" | "expected `,` or `]`", Some(_)) => "a comma is missing before this",
        ("expected `:`", Some(_)) => "a colon is missing before this",
        ("key must be a string", Some('}')) | ("expected value", Some(']')) => "a comma is too much before this",
        _ => "a .json file contains one JSON value",
    };
    Some(Diagnostic::error(format!("syntax error: {what}"), source, at..end, label).of_unparsed(source))
}
