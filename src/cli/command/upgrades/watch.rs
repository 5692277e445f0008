//! Follows an upgrade until it ends: bars on a terminal, a line a change elsewhere.

use std::time::Duration;

use indicatif::{MultiProgress, ProgressBar, ProgressDrawTarget, ProgressStyle};

use super::SiteQuery;
use crate::api::upgrades::{UpgradeProgress, UpgradeState};
use crate::cli::context::Context;
use crate::cli::exit_status::{CommandError, ExitStatus};
use crate::cli::output::{self, WriteStatus};
use crate::cli::run::interrupt;
use crate::report::upgrade::{self, StageView};
use crate::report::{Format, safe};

/// Looks in a row that may fail: a site is out of reach for a while when it restarts.
const FAILURES: u32 = 5;

/// Follows the upgrade of a site that was just looked at.
pub async fn run(
    site: &SiteQuery<'_>,
    first: Option<UpgradeProgress>,
    interval: Duration,
    format: Format,
    context: &Context,
) -> Result<ExitStatus, CommandError> {
    let Some(mut progress) = first.filter(upgrade::is_known) else {
        context.output.report(&site.report(None), watched(format));
        return Ok(ExitStatus::Done);
    };
    let mut screen = Screen::new(site, format, context);
    let mut failures = 0;
    loop {
        if screen.show(&progress)? == WriteStatus::Closed {
            return Ok(ExitStatus::Done);
        }
        if progress.status.is_final() {
            break;
        }
        tokio::select! {
            () = tokio::time::sleep(interval) => {}
            () = interrupt::interrupted() => {
                screen.close();
                context.output.notice("interrupted: the upgrade goes on");
                return Ok(ExitStatus::Interrupted);
            }
        }
        match site.read().await {
            Ok(Some(now)) => {
                failures = 0;
                progress = now;
            }
            // The service forgot it; what was shown last stays.
            Ok(None) => failures = 0,
            Err(error) if failures + 1 < FAILURES && !error.is_absent() => {
                failures += 1;
                screen.message(&format!("looking again: {error}"));
            }
            Err(error) => {
                screen.close();
                return Err(site.unanswered(error));
            }
        }
    }
    screen.close();
    ended(site, &progress, format, context)
}

/// The format of a document for each change: one line.
fn watched(format: Format) -> Format {
    if format == Format::Json { Format::Ndjson } else { format }
}

fn ended(
    site: &SiteQuery,
    progress: &UpgradeProgress,
    format: Format,
    context: &Context,
) -> Result<ExitStatus, CommandError> {
    if format == Format::Text && context.environment.stdout_is_terminal {
        context.output.report(&site.report(Some(progress)), format);
    }
    if progress.status != UpgradeState::Failed {
        return Ok(ExitStatus::Done);
    }
    let reason = match progress.failure_reason.as_str() {
        "" => "the service gives no reason",
        reason => reason,
    };
    let message = format!("the upgrade of `{}` to `{}` failed: {reason}", site.name, progress.version);
    Err(CommandError::words(ExitStatus::Failed, message)
        .hint(format!("to see the stages: trueup upgrades status {}", safe::shell(site.name))))
}

/// Where the upgrade is shown.
struct Screen<'a> {
    site: &'a SiteQuery<'a>,
    context: &'a Context,
    format: Format,
    kind: Kind,
}

enum Kind {
    /// A bar a stage.
    Bars { all: MultiProgress, bars: Vec<ProgressBar> },
    /// What changed: a line for each stage, or the whole as a line of JSON.
    Lines { before: Option<Box<UpgradeProgress>> },
}

impl<'a> Screen<'a> {
    fn new(site: &'a SiteQuery<'a>, format: Format, context: &'a Context) -> Self {
        let bars = context.environment.stderr_is_terminal && !context.global.quiet && !context.global.verbose;
        let kind = match format {
            Format::Text if bars => bars_for(upgrade::stages(&UpgradeProgress::default())),
            _ => Kind::Lines { before: None },
        };
        Self { site, context, format, kind }
    }

    fn show(&mut self, progress: &UpgradeProgress) -> Result<WriteStatus, CommandError> {
        match &mut self.kind {
            Kind::Bars { bars, .. } => {
                for (bar, stage) in bars.iter().zip(upgrade::stages(progress)) {
                    draw(bar, &stage);
                }
                Ok(WriteStatus::Whole)
            }
            Kind::Lines { before } => {
                if before.as_deref() == Some(progress) {
                    return Ok(WriteStatus::Whole);
                }
                let text = match watched(self.format) {
                    Format::Text => upgrade::changes(self.site.name, before.as_deref(), progress),
                    format => self.context.output.render(&self.site.report(Some(progress)), format),
                };
                *before = Some(Box::new(progress.clone()));
                if text.is_empty() {
                    return Ok(WriteStatus::Whole);
                }
                self.context.output.note_answer();
                output::write(&text)
            }
        }
    }

    fn message(&self, text: &str) {
        let text = safe::line(text);
        match &self.kind {
            Kind::Bars { all, .. } => all.suspend(|| self.context.output.message(&text)),
            Kind::Lines { .. } => self.context.output.message(&text),
        }
    }

    fn close(&self) {
        if let Kind::Bars { bars, .. } = &self.kind {
            bars.iter().for_each(ProgressBar::abandon);
        }
    }
}

fn bars_for(stages: [StageView; 5]) -> Kind {
    let all = MultiProgress::with_draw_target(ProgressDrawTarget::stderr());
    let style = ProgressStyle::with_template("  {prefix:20} [{bar:30}] {pos}/{len} {msg}");
    let style = style.unwrap_or_else(|_| ProgressStyle::default_bar()).progress_chars("=> ");
    let bar = |stage: StageView| {
        let bar = all.add(ProgressBar::new(1));
        bar.set_style(style.clone());
        bar.set_prefix(stage.name);
        bar
    };
    let bars = stages.into_iter().map(bar).collect();
    Kind::Bars { all, bars }
}

fn draw(bar: &ProgressBar, stage: &StageView) {
    let through = matches!(stage.status, UpgradeState::Completed | UpgradeState::Skipped);
    let (done, all) = stage.steps.unwrap_or((u64::from(through), 1));
    bar.set_length(all);
    bar.set_position(if through { all } else { done });
    bar.set_message(upgrade::word(&stage.status));
}
