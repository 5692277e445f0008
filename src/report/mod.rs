//! What people and pipelines read: a plan, an outcome, verdicts, answers and problems as text and in the
//! formats of other programs. Values of the plan go in, a string comes out; the caller decides
//! where it is written. Text from the service or a file is untrusted: [`safe`] escapes it. A command says what it
//! reports and in which format; what that looks like is decided here and in the file of the format.

#[macro_use]
mod line;

pub mod annotation;
pub mod check_document;
pub mod ddos;
pub mod document;
pub mod error;
pub mod event_counts;
pub mod event_list;
pub mod explanation;
pub mod facts;
mod fit;
pub mod fleet;
pub mod github;
#[cfg(test)]
mod golden_tests;
#[cfg(test)]
mod growth_tests;
pub mod health;
pub mod html;
pub mod json;
pub mod json_lines;
pub mod junit;
pub mod kinds;
pub mod markdown;
pub mod merge;
pub mod objects;
pub mod operations;
pub mod prometheus;
pub mod safe;
#[cfg(test)]
mod sample_tests;
pub mod sarif;
pub mod schema;
pub mod stacks;
mod style;
pub mod text;
pub mod time;
pub mod upgrade;
mod validation;
mod view;

pub use fit::fit;
pub use json_lines::LineSource;
pub use style::{Charset, Palette, Role};
pub use validation::{StackSize, Validation};
pub use view::outcome::{consented, refusal};
pub use view::runs::{nothing_to_resume, open as open_run, pruned, resuming};

use std::collections::BTreeSet;
use std::io::{self, Write};
use std::path::PathBuf;
use std::time::Duration;

use jiff::Timestamp;

use Format::{Github, Html, Json, Junit, Markdown, Matrix, Ndjson, Prometheus, Sarif, Table, Text, Yaml};
use annotation::Annotation;
use document::written_as;
use view::{Blocks, View};

use crate::drift::{Acknowledgements, Check};
use crate::model::{Key, words};
use crate::plan::Plan;
use crate::run::Outcome;

/// What most files of reports need.
mod prelude {
    pub(super) use std::collections::{BTreeMap, BTreeSet};
    pub(super) use std::io::{self, Write};

    pub(super) use jiff::Timestamp;
    pub(super) use schemars::JsonSchema;
    pub(super) use serde::Serialize;

    pub(super) use crate::model::{Json, Key};
    pub(super) use crate::plan::Plan;
    pub(super) use crate::report::line::{
        Line, Part, Parts, at, capital, code, digits, foreign, key, loud, moment, moment_with_age, quoted, styled, took,
    };
    pub(super) use crate::report::view::{Alarm, AlarmKind, Block, Blocks, Content, Count, Table, View};
    pub(super) use crate::report::{
        Charset, Format, Palette, Report, Role, TextView, document, safe, time, written_as,
    };
}

/// Days for which an offered acknowledgement is valid.
const OFFERED_DAYS: i64 = 14;

/// What a command reports: as text and as JSON, and in the formats that it alone has.
pub trait Report {
    /// Its blocks.
    fn blocks<'a>(&'a self, view: &TextView) -> Blocks<'a>;

    /// Its text.
    fn text(&self, view: &TextView) -> String {
        view.message(self.blocks(view))
    }

    /// Writes it as one JSON document.
    ///
    /// # Errors
    /// Those of `out`.
    fn write(&self, out: &mut dyn Write) -> io::Result<()>;

    /// Its view, from which Markdown and HTML are rendered, if it is about one stack.
    fn view<'a>(&'a self, _view: &TextView) -> Option<View<'a>> {
        None
    }

    /// Renders it in a format that needs more than its blocks, its view, its document or its annotations.
    fn draw(&self, _format: Format, _view: &TextView) -> Option<String> {
        None
    }

    /// What it says about source files.
    fn annotations(&self) -> Vec<Annotation> {
        Vec::new()
    }

    /// The directory of its stack, to whose settings remarks without a place belong, if it is not the current one.
    fn directory(&self) -> Option<&str> {
        None
    }
}

/// What an apply of a plan did.
pub struct Applied<'p> {
    /// What became of each change, and of the run.
    pub outcome: &'p Outcome,
    /// The plan.
    pub plan: &'p Plan,
    /// The changes that the run which this one resumes had made.
    pub earlier: BTreeSet<&'p Key>,
}

/// How a report is rendered.
#[derive(Debug, Clone, Default)]
pub struct TextView {
    /// Colour or none.
    pub palette: Palette,
    /// Columns of the terminal.
    pub width: usize,
    /// The characters of drawings.
    pub charset: Charset,
    /// Whether it is read on a terminal, where long lines are broken and columns of free text are cut.
    pub is_terminal: bool,
    /// Whether a plan shows the waves of its apply.
    pub waves: bool,
    /// Whether a plan is shown by the command that applies it, which then proposes no command for that.
    pub is_applied: bool,
    /// How long the command took so far; `None` if the text must not depend on time.
    pub elapsed: Option<Duration>,
    /// The words that name the stack and its settings after `trueup plan`, `apply` and the like, quoted for a shell.
    pub call: String,
    /// The command that makes what is shown, if it is not `trueup apply` with those words.
    pub make: Option<String>,
    /// The command that plans it again, if it is not `trueup plan` with those words.
    pub again: Option<String>,
    /// The flags that a command without those words needs to find the same settings, each after a space.
    pub flags: String,
    /// Why the consents that a refused plan needs cannot be given, if they cannot.
    pub forbidden: Option<String>,
    /// The file to which the plan was saved.
    pub saved: Option<PathBuf>,
    /// The maximum number of bytes of a Markdown report, if not the default. Only what is never left out exceeds it.
    pub budget: Option<usize>,
    /// The command that shows everything.
    pub command: String,
    /// When the report is made, for the ages of times.
    pub now: Option<Timestamp>,
}

impl TextView {
    /// Columns that a table may take: a reader that is not a terminal gets every value whole.
    pub fn limit(&self) -> usize {
        if self.is_terminal { self.width } else { usize::MAX }
    }

    /// The words that name the stack; `.` if nothing does.
    fn call(&self) -> &str {
        if self.call.is_empty() { "." } else { &self.call }
    }

    /// The command that makes what is shown.
    fn apply_command(&self) -> String {
        self.make.clone().unwrap_or_else(|| format!("trueup apply {}", self.call()))
    }

    /// The command that plans it again.
    fn plan_command(&self) -> String {
        self.again.clone().unwrap_or_else(|| format!("trueup plan {}", self.call()))
    }

    /// The maximum number of bytes of a Markdown report.
    fn budget(&self) -> usize {
        self.budget.unwrap_or(markdown::BUDGET)
    }
}

/// Writes a report to `out`: a JSON document and the text of a plan piece by piece, so that they are never in
/// memory as a whole.
///
/// # Errors
/// Those of `out`.
pub fn write(report: &dyn Report, format: Format, view: &TextView, out: &mut dyn Write) -> io::Result<()> {
    match format {
        Format::Json => report.write(out),
        Format::Text if !view.is_terminal => text::draw::write(&report.blocks(view), view, out),
        _ => out.write_all(render(report, format, view).as_bytes()),
    }
}

/// Renders a report. The lists of [`Format`] name the formats that a report has; any other is rendered as text.
pub fn render(report: &dyn Report, format: Format, view: &TextView) -> String {
    let of_view = |draw: fn(&View<'_>, &TextView) -> String| report.view(view).map(|made| draw(&made, view));
    let drawn = report.draw(format, view).or_else(|| match format {
        Format::Markdown => of_view(markdown::report),
        Format::Html => of_view(html::report),
        _ => None,
    });
    drawn.unwrap_or_else(|| match format {
        Format::Json => json_text(report),
        Format::Ndjson => document::one_line(&json_text(report)),
        Format::Github => github::annotations(&report.annotations()),
        Format::Sarif => sarif::report(&report.annotations(), &sarif::settings_in(report.directory().unwrap_or("."))),
        _ if view.is_terminal => fit(&report.text(view), view.width),
        _ => report.text(view),
    })
}

fn json_text(report: &dyn Report) -> String {
    document::text(|out| report.write(out))
}

/// What a report in this format leaves out of what the plan or check has, in words; `None` if it leaves out nothing.
pub fn left_out(report: &dyn Report, format: Format) -> Option<String> {
    (format == Format::Sarif).then(|| sarif::left_out(&report.annotations())).flatten()
}

fn acknowledgements(check: &Check) -> String {
    let today = check.now.to_zoned(jiff::tz::TimeZone::UTC).date();
    let expires = today.saturating_add(jiff::Span::new().days(OFFERED_DAYS));
    let reason = "say why it is accepted";
    safe::yaml(&Acknowledgements::offered(&check.plan, &check.found, &check.kept, (reason, expires)))
}

/// A format of reports.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Format {
    /// For people.
    #[default]
    Text,
    /// One JSON document.
    Json,
    /// For a pull request or an issue.
    Markdown,
    /// One page for a browser.
    Html,
    /// JUnit XML.
    Junit,
    /// Metrics of Prometheus.
    Prometheus,
    /// Workflow commands of GitHub Actions.
    Github,
    /// SARIF 2.1.0.
    Sarif,
    /// Columns for people.
    Table,
    /// Definitions, as `pull` writes them.
    Yaml,
    /// A JSON document a line.
    Ndjson,
    /// The matrix of a job of GitHub Actions.
    Matrix,
    /// A file that acknowledges the drift which was found.
    Acknowledgements,
}
words!(Format {
    Text = "text", Json = "json", Markdown = "markdown", Html = "html", Junit = "junit", Prometheus = "prometheus",
    Github = "github", Sarif = "sarif", Table = "table", Yaml = "yaml", Ndjson = "ndjson", Matrix = "github-matrix",
    Acknowledgements = "acknowledgements",
});

impl Format {
    /// The format of this name.
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|format| format.as_str() == name)
    }

    /// The formats of checked definitions.
    pub const OF_VALIDATION: &'static [Self] = &[Text, Json, Github, Sarif];
    /// The formats of a plan.
    pub const OF_PLAN: &'static [Self] = &[Text, Json, Markdown, Html, Github, Sarif];
    /// The formats of a verdict.
    pub const OF_DRIFT: &'static [Self] =
        &[Text, Json, Markdown, Html, Junit, Prometheus, Github, Sarif, Self::Acknowledgements];
    /// The formats of the merged checks of several stacks.
    pub const OF_MERGED: &'static [Self] = &[Text, Json, Markdown, Html, Junit, Prometheus, Github, Sarif];
    /// The formats of a list of stacks.
    pub const OF_STACKS: &'static [Self] = &[Text, Json, Markdown, Matrix];
    /// The formats of a run in progress and its outcome.
    pub const OF_APPLY: &'static [Self] = &[Text, Json, Ndjson];
    /// The formats of the files that a run is written to.
    pub const OF_RUN_FILES: &'static [Self] = &[Json, Prometheus];
    /// The formats of what `show` shows.
    pub const OF_SHOWN: &'static [Self] = &[Text, Json, Markdown, Html, Github, Sarif, Prometheus];
    /// The formats of live endpoints.
    pub const OF_ENDPOINTS: &'static [Self] = &[Table, Yaml, Json];
    /// The formats of every other answer: rehearsals, the history, what the service is asked besides endpoints, explanations.
    pub const OF_ANSWERS: &'static [Self] = &[Text, Json];
    /// The formats of security events.
    pub const OF_EVENTS: &'static [Self] = &[Table, Json, Ndjson];
}
