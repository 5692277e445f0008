//! The formats of reports, and the one function that draws a report in any of them. A command says what it
//! reports and in which format; what that looks like is decided here and in the file of the format.

use std::collections::BTreeSet;
use std::io::{self, BufWriter, Write};
use std::path::Path;

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::Serialize;

use super::annotation::{self, Annotation};
use super::endpoints::EndpointListing;
use super::event_counts::EventCounts;
use super::explanation::Explanation;
use super::fit::fit;
use super::fleet::Fleet;
use super::health::Health;
use super::json::{HistoryReport, OutcomeReport, RehearsalReport};
use super::kinds::KindList;
use super::markdown;
use super::operations::OperationList;
use super::stacks::StackList;
use super::text::{self, TextView};
use super::upgrade::{SiteUpgrade, UpgradableVersions};
use super::validation::{StackSize, Validation, ValidationReport};
use super::view::{Blocks, View, outcome, runs};
use super::{ddos, github, html, json as documents, junit, prometheus, safe, sarif, upgrade};
use crate::api::ddos::DdosEvent;
use crate::drift::{Acknowledgements, Check};
use crate::model::Key;
use crate::plan::{Plan, PlanOrigin};
use crate::run::{Outcome, Rehearsal, RunDocument, RunSummary};

/// Days for which an offered acknowledgement is valid.
const OFFERED_DAYS: i64 = 14;
/// Bytes of a text that are written at a time.
const PIECE: usize = 64 * 1024;

macro_rules! formats {
    ($($(#[doc = $doc:literal])+ $variant:ident = $name:literal,)+) => {
        /// A format of reports.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
        pub enum Format {
            #[default]
            $($(#[doc = $doc])+ $variant),+
        }

        impl Format {
            /// Its name on the command line.
            pub const fn as_str(self) -> &'static str {
                match self { $(Format::$variant => $name),+ }
            }

            /// The format of this name.
            pub fn parse(name: &str) -> Option<Self> {
                match name { $($name => Some(Format::$variant),)+ _ => None }
            }
        }
    };
}

formats! {
    /// For people.
    Text = "text",
    /// One JSON document.
    Json = "json",
    /// For a pull request or an issue.
    Markdown = "markdown",
    /// One page for a browser.
    Html = "html",
    /// JUnit XML.
    Junit = "junit",
    /// Metrics of Prometheus.
    Prometheus = "prometheus",
    /// Workflow commands of GitHub Actions.
    Github = "github",
    /// SARIF 2.1.0.
    Sarif = "sarif",
    /// Columns for people.
    Table = "table",
    /// Definitions, as `pull` writes them.
    Yaml = "yaml",
    /// A JSON document a line.
    Ndjson = "ndjson",
    /// The matrix of a job of GitHub Actions.
    Matrix = "github-matrix",
    /// A file that acknowledges the drift which was found.
    Acknowledgements = "acknowledgements",
}

impl Format {
    /// The formats of checked definitions.
    pub const OF_VALIDATION: &'static [Self] = &[Self::Text, Self::Json, Self::Github, Self::Sarif];
    /// The formats of a plan.
    pub const OF_PLAN: &'static [Self] =
        &[Self::Text, Self::Json, Self::Markdown, Self::Html, Self::Github, Self::Sarif];
    /// The formats of a verdict.
    pub const OF_DRIFT: &'static [Self] = &[
        Self::Text,
        Self::Json,
        Self::Markdown,
        Self::Html,
        Self::Junit,
        Self::Prometheus,
        Self::Github,
        Self::Sarif,
        Self::Acknowledgements,
    ];
    /// The formats of the merged checks of several stacks.
    pub const OF_MERGED: &'static [Self] =
        &[Self::Text, Self::Json, Self::Markdown, Self::Html, Self::Junit, Self::Prometheus, Self::Github, Self::Sarif];
    /// The formats of a list of stacks.
    pub const OF_STACKS: &'static [Self] = &[Self::Text, Self::Json, Self::Markdown, Self::Matrix];
    /// The formats of a run in progress and its outcome.
    pub const OF_APPLY: &'static [Self] = &[Self::Text, Self::Json, Self::Ndjson];
    /// The formats of the files that a run is written to.
    pub const OF_RUN_FILES: &'static [Self] = &[Self::Json, Self::Prometheus];
    /// The formats of what `show` shows.
    pub const OF_SHOWN: &'static [Self] =
        &[Self::Text, Self::Json, Self::Markdown, Self::Html, Self::Github, Self::Sarif, Self::Prometheus];
    /// The formats of live endpoints.
    pub const OF_ENDPOINTS: &'static [Self] = &[Self::Table, Self::Yaml, Self::Json];
    /// The formats of every other answer: rehearsals, the history, what the service is asked besides endpoints, explanations.
    pub const OF_ANSWERS: &'static [Self] = &[Self::Text, Self::Json];
    /// The formats of security events.
    pub const OF_EVENTS: &'static [Self] = &[Self::Table, Self::Json, Self::Ndjson];
}

/// What a command reports.
pub enum Report<'a> {
    /// Definitions that were checked without the service.
    Validation(Validation<'a>),
    /// A plan.
    Plan(&'a Plan),
    /// The verdict over a stack.
    Check(&'a Check<'a>),
    /// The results of several stacks.
    Fleet(&'a Fleet<'a>),
    /// A list of stacks.
    Stacks(&'a StackList),
    /// The outcome of a plan that was applied. Where a run was resumed, the changes that it had made before.
    Outcome(&'a Outcome, &'a Plan, &'a BTreeSet<Key>),
    /// A rehearsal.
    Rehearsal(&'a Rehearsal),
    /// The recorded runs, and the errors of those that cannot be read.
    History(&'a [RunSummary], &'a [String]),
    /// One recorded run.
    Run(&'a RunDocument),
    /// DDoS events.
    DdosEvents(&'a [DdosEvent]),
    /// One DDoS event.
    DdosEvent(&'a DdosEvent),
    /// Counts of security events.
    EventCounts(&'a EventCounts),
    /// The software versions that a site can be upgraded to.
    UpgradableVersions(&'a UpgradableVersions<'a>),
    /// The upgrade of a site.
    SiteUpgrade(SiteUpgrade<'a>),
    /// Operations of the interface.
    Operations(OperationList),
    /// What a field, a setting or a definition is.
    Explanation(&'a Explanation),
    /// The kinds of object.
    Kinds(&'a KindList),
    /// Live endpoints.
    Endpoints(&'a EndpointListing<'a>),
    /// The checks of the set-up.
    Health(&'a Health),
}

/// DDoS events, as JSON.
#[derive(Serialize, JsonSchema)]
pub struct DdosEvents<'a> {
    events: &'a [DdosEvent],
}

/// One DDoS event, as JSON.
#[derive(Serialize, JsonSchema)]
pub struct OneDdosEvent<'a> {
    event: &'a DdosEvent,
}

/// How a report is drawn, in the formats that have a choice.
pub struct ReportOptions<'a> {
    /// How text is drawn, and how much of a plan is listed.
    pub view: &'a TextView,
    /// The file to which the plan was saved.
    pub saved: Option<&'a Path>,
    /// Bytes that a Markdown report may have. Only what is never left out exceeds it.
    pub budget: usize,
    /// The command that shows everything.
    pub command: String,
    /// When the report is made, for the ages of times.
    pub now: Option<Timestamp>,
}

impl<'a> ReportOptions<'a> {
    /// The options of a report that was not saved and has the default budget.
    #[must_use]
    pub fn new(view: &'a TextView) -> Self {
        Self { view, saved: None, budget: markdown::BUDGET, command: String::new(), now: None }
    }
}

/// Writes a report to `out`: a JSON document and the text of a plan piece by piece, so that they are never in
/// memory as a whole.
///
/// # Errors
/// Those of `out`.
pub fn write(report: &Report<'_>, format: Format, options: &ReportOptions<'_>, out: &mut dyn Write) -> io::Result<()> {
    match (format, report) {
        (Format::Json, _) => json(report, out),
        (Format::Text, Report::Plan(plan)) if !options.view.is_terminal => {
            let mut out = BufWriter::with_capacity(PIECE, out);
            text::write_plan(plan, options.saved, options.view, &mut out)?;
            out.flush()
        }
        _ => out.write_all(render(report, format, options).as_bytes()),
    }
}

/// Draws a report. The lists of [`Format`] name the formats that a report has; any other is drawn as text.
pub fn render(report: &Report<'_>, format: Format, options: &ReportOptions<'_>) -> String {
    let plan_view = |plan| View::of_plan(plan, &plan.digest(), options.saved, options.view);
    match (format, report) {
        (Format::Json, _) => documents::text(|out| json(report, out)),
        (Format::Ndjson, Report::EventCounts(counts)) => counts.lines(),
        (Format::Ndjson, _) => documents::one_line(&documents::text(|out| json(report, out))),
        (Format::Github, _) => github::annotations(&annotations(report)),
        (Format::Sarif, _) => sarif::report(&annotations(report), &settings_file(report), env!("CARGO_PKG_VERSION")),
        (Format::Markdown, Report::Plan(plan)) => markdown::report(&plan_view(plan), options),
        (Format::Markdown, Report::Check(check)) => {
            markdown::report(&View::of_check(check, options.view.call()), options)
        }
        (Format::Markdown, Report::Fleet(fleet)) => markdown::fleet(fleet, options),
        (Format::Html, Report::Plan(plan)) => html::report(&plan_view(plan), options),
        (Format::Html, Report::Check(check)) => html::report(&View::of_check(check, options.view.call()), options),
        (Format::Html, Report::Fleet(fleet)) => html::fleet(fleet, options),
        (Format::Junit, Report::Check(check)) => junit::report(check),
        (Format::Junit, Report::Fleet(fleet)) => junit::fleet(fleet),
        (Format::Prometheus, Report::Check(check)) => prometheus::report(check),
        (Format::Prometheus, Report::Fleet(fleet)) => prometheus::fleet(fleet),
        (Format::Prometheus, Report::Run(document)) => prometheus::run(document),
        (Format::Matrix, Report::Stacks(stacks)) => stacks.matrix(),
        (Format::Markdown, Report::Stacks(stacks)) => stacks.markdown(),
        (Format::Acknowledgements, Report::Check(check)) => acknowledgements(check),
        _ if options.view.is_terminal => fit(&text(report, options), options.view.width),
        _ => text(report, options),
    }
}

fn text(report: &Report<'_>, options: &ReportOptions<'_>) -> String {
    let view = options.view;
    match report {
        Report::Plan(plan) => text::plan(plan, options.saved, view),
        Report::Check(check) => text::drift(check, view),
        Report::Fleet(fleet) => text::fleet(fleet, view),
        Report::EventCounts(counts) => counts.text(view),
        other => text::draw::blocks(&blocks(other, view), view),
    }
}

/// The report as blocks; none of those that have a shape of their own.
fn blocks<'a>(report: &Report<'a>, view: &'a TextView) -> Blocks<'a> {
    match *report {
        Report::Plan(_) | Report::Check(_) | Report::Fleet(_) | Report::EventCounts(_) => Blocks::default(),
        Report::Validation(ref validation) => validation.contents.map(StackSize::blocks).unwrap_or_default(),
        Report::Stacks(stacks) => stacks.blocks(),
        Report::Outcome(outcome, plan, earlier) => outcome::outcome(outcome, plan, earlier, view),
        Report::Rehearsal(rehearsal) => outcome::rehearsal(rehearsal, view),
        Report::History(runs, unreadable) => runs::history(runs, unreadable, view),
        Report::Run(document) => runs::run(document, view),
        Report::DdosEvents(events) => ddos::events(events),
        Report::DdosEvent(event) => ddos::event(event),
        Report::UpgradableVersions(versions) => upgrade::versions(versions),
        Report::SiteUpgrade(ref upgrade) => upgrade::status(upgrade),
        Report::Operations(list) => list.blocks(),
        Report::Explanation(explanation) => explanation.blocks(),
        Report::Kinds(kinds) => kinds.blocks(),
        Report::Endpoints(listing) => listing.blocks(),
        Report::Health(health) => health.blocks(),
    }
}

/// Writes the report as one document.
fn json(report: &Report<'_>, out: &mut dyn Write) -> io::Result<()> {
    match report {
        Report::Validation(validation) => documents::write("validation", ValidationReport::of(validation), out),
        Report::Plan(plan) => documents::write_plan(plan, out),
        Report::Check(check) => documents::write_drift(check, out),
        Report::Fleet(fleet) => documents::write_fleet(fleet, out),
        Report::Stacks(stacks) => documents::write("stacks", stacks, out),
        Report::Outcome(outcome, plan, _) => documents::write("outcome", OutcomeReport::new(outcome, plan), out),
        Report::Rehearsal(rehearsal) => documents::write("rehearsal", RehearsalReport::new(rehearsal), out),
        Report::History(runs, unreadable) => documents::write("history", HistoryReport { runs, unreadable }, out),
        Report::Run(document) => out.write_all(safe::json(&document.sealed()).as_bytes()),
        Report::DdosEvents(events) => documents::write("ddos_events", DdosEvents { events }, out),
        Report::DdosEvent(event) => documents::write("ddos_event", OneDdosEvent { event }, out),
        Report::EventCounts(counts) => documents::write("security_event_counts", counts, out),
        Report::UpgradableVersions(versions) => documents::write("upgradable_sw_versions", versions, out),
        Report::SiteUpgrade(upgrade) => documents::write("upgrade_status", upgrade, out),
        Report::Operations(list) => documents::write("operations", list.report(), out),
        Report::Explanation(explanation) => documents::write("explanation", explanation, out),
        Report::Kinds(kinds) => documents::write("kinds", kinds, out),
        Report::Endpoints(listing) => documents::write("endpoints", listing.report(), out),
        Report::Health(health) => documents::write("health", health.report(), out),
    }
}

/// What a report in this format leaves out of what the plan or check has, in words; nothing where it is whole.
pub fn left_out(report: &Report<'_>, format: Format) -> Option<String> {
    (format == Format::Sarif).then(|| sarif::left_out(&annotations(report))).flatten()
}

/// The file to which remarks without a place belong: the settings of the stack.
fn settings_file(report: &Report<'_>) -> String {
    const FILE: &str = "trueup.yaml";
    let origin = match report {
        Report::Plan(plan) => &plan.source.origin,
        Report::Check(check) => &check.plan.source.origin,
        _ => return FILE.to_owned(),
    };
    match origin {
        PlanOrigin::Directory(directory) if !matches!(directory.as_str(), "" | ".") && !directory.starts_with('/') => {
            format!("{}/{FILE}", directory.trim_end_matches('/'))
        }
        _ => FILE.to_owned(),
    }
}

/// The report as annotations of source files; none for a report without definitions.
fn annotations(report: &Report<'_>) -> Vec<Annotation> {
    match report {
        Report::Validation(validation) => annotation::of_diagnostics(validation.diagnostics, validation.prefix),
        Report::Plan(plan) => annotation::of_plan(plan),
        Report::Check(check) => annotation::of_check(check),
        Report::Fleet(fleet) => fleet.remarks(),
        _ => Vec::new(),
    }
}

fn acknowledgements(check: &Check<'_>) -> String {
    let today = check.now.to_zoned(jiff::tz::TimeZone::UTC).date();
    let expires = today.saturating_add(jiff::Span::new().days(OFFERED_DAYS));
    let offered = Acknowledgements::offered(check.plan, &check.found, "say why it is accepted", expires);
    safe::yaml(&offered)
}
