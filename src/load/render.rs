//! Diagnostics as a compiler renders them: the source line, carets below it, labels and help.

use std::path::Path;

use annotate_snippets::renderer::DecorStyle;
use annotate_snippets::{AnnotationKind, Group, Level, Origin, Renderer, Snippet};

use crate::file;

use super::diagnostic::{Diagnostic, Diagnostics, Label, Severity, escaped};

/// How diagnostics are rendered.
#[derive(Debug, Clone, Copy)]
pub struct RenderOptions<'a> {
    /// With colours.
    pub colour: bool,
    /// The width of the terminal in columns.
    pub width: usize,
    /// The directory that paths are shown from; the stack's by default.
    pub directory: Option<&'a Path>,
}

impl Default for RenderOptions<'_> {
    fn default() -> Self {
        Self { colour: false, width: 100, directory: None }
    }
}

impl Diagnostics {
    /// Every diagnostic as a rendered text.
    pub fn drawn(&self, options: &RenderOptions<'_>) -> impl Iterator<Item = String> {
        let prefix = self.prefix(options.directory);
        self.list.iter().map(move |diagnostic| diagnostic.render(options, &prefix) + "\n")
    }

    /// All of them as one text, separated by empty lines.
    pub fn render(&self, options: &RenderOptions<'_>) -> String {
        self.drawn(options).collect::<Vec<_>>().join("\n")
    }

    /// The prefix of every path, so that it can be opened from `directory`.
    pub fn prefix(&self, directory: Option<&Path>) -> String {
        let (Some(root), Some(directory)) = (&self.root, directory) else { return String::new() };
        let directory = file::real_path_or_given(directory);
        let shown = file::slashed(root.strip_prefix(&directory).unwrap_or(root));
        if shown.is_empty() { String::new() } else { escaped(&format!("{}/", shown.trim_end_matches('/'))) }
    }
}

impl Diagnostic {
    /// The diagnostic as a rendered text without a final line break; `prefix` is put before every path.
    pub fn render(&self, options: &RenderOptions<'_>, prefix: &str) -> String {
        let level = match self.severity {
            Severity::Error => Level::ERROR,
            Severity::Note => Level::NOTE,
        };
        let mut group = Group::with_title(level.primary_title(self.message.as_str()));
        let path = |label: &Label| format!("{prefix}{}", label.file);
        let mut shown: Vec<bool> = vec![false; self.labels.len()];
        for (at, label) in self.labels.iter().enumerate() {
            if std::mem::replace(&mut shown[at], true) {
                continue;
            }
            let is_hidden = label.excerpt.line == 0;
            let is_cut = is_hidden || label.excerpt.is_cut;
            if is_cut {
                group = group.element(Origin::path(path(label)).line(label.start.line).char_column(label.start.column));
            }
            if is_hidden {
                continue;
            }
            // Of a cut line, the library would show the column in the excerpt.
            let path = (!is_cut).then(|| path(label));
            let mut snippet = Snippet::source(label.excerpt.text.as_str()).line_start(label.excerpt.line).path(path);
            for (other, second) in self.labels.iter().enumerate().skip(at) {
                let together = second.file == label.file
                    && second.excerpt.line == label.excerpt.line
                    && second.excerpt.text == label.excerpt.text;
                if !together {
                    continue;
                }
                shown[other] = true;
                let kind = if other == 0 { AnnotationKind::Primary } else { AnnotationKind::Context };
                let annotation = kind.span(second.excerpt.range.clone());
                let label = Some(second.label.as_str()).filter(|label| !label.is_empty());
                snippet = snippet.annotation(annotation.label(label));
            }
            group = group.element(snippet);
        }
        // The label of a hidden line becomes help.
        let beside = self.labels.first().filter(|label| label.excerpt.line == 0).map(|label| &label.label);
        for help in beside.filter(|label| !label.is_empty()).into_iter().chain(&self.help) {
            group = group.element(Level::HELP.message(help.as_str()));
        }
        let renderer = if options.colour { Renderer::styled() } else { Renderer::plain() };
        let drawn = renderer.term_width(options.width).decor_style(DecorStyle::Ascii).hyperlink(false).render(&[group]);
        // The library also renders a path sign without a path, and the margin of a source where there is none.
        let empty = if self.labels.is_empty() { "|" } else { ":::" };
        drawn.split_inclusive('\n').filter(|line| uncoloured(line).trim() != empty).collect()
    }
}

fn uncoloured(line: &str) -> String {
    let (first, rest) = line.split_once("\u{1b}[").unwrap_or((line, ""));
    let parts = rest.split("\u{1b}[").filter_map(|part| part.split_once('m'));
    parts.fold(first.to_owned(), |line, (_, text)| line + text)
}
