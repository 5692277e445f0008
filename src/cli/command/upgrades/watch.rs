//! Follows an upgrade until it ends: bars on a terminal, a line a change elsewhere.

use std::time::Duration;

use indicatif::{MultiProgress, ProgressBar, ProgressDrawTarget, ProgressStyle};

use super::stages::{self, StageView};
use super::{SiteQuery, content, render};
use crate::api::upgrades::{UpgradeProgress, UpgradeState};
use crate::cli::context::Context;
use crate::cli::exit_status::{CommandError, ExitStatus};
use crate::cli::interrupt;
use crate::cli::output::{self, WriteStatus};
use crate::cli::query_args::QueryFormat;
use crate::report::safe;

/// Looks in a row that may fail: a site is out of reach for a while when it restarts.
const FAILURES: u32 = 5;

/// Follows the upgrade of a site that was just looked at.
pub async fn run(
    site: &SiteQuery<'_>,
    first: Option<UpgradeProgress>,
    interval: Duration,
    format: QueryFormat,
    context: &Context,
) -> Result<ExitStatus, CommandError> {
    let Some(mut progress) = first.filter(stages::is_known) else {
        context.output.answer(&match format {
            QueryFormat::Text => render(site, None, context),
            QueryFormat::Json => line(site, None),
        });
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

fn ended(
    site: &SiteQuery,
    progress: &UpgradeProgress,
    format: QueryFormat,
    context: &Context,
) -> Result<ExitStatus, CommandError> {
    if format == QueryFormat::Text && context.environment.stdout_is_terminal {
        context.output.answer(&render(site, Some(progress), context));
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

fn line(site: &SiteQuery, progress: Option<&UpgradeProgress>) -> String {
    let mut content = content(site, progress);
    content["kind"] = "upgrade_status".into();
    content["format_version"] = crate::report::json::FORMAT_VERSION.into();
    let text = content.to_string();
    format!("{}\n", safe::json(&text))
}

/// Where the upgrade is shown.
struct Screen<'a> {
    site: &'a SiteQuery<'a>,
    context: &'a Context,
    kind: Kind,
}

enum Kind {
    /// A bar a stage.
    Bars { all: MultiProgress, bars: Vec<ProgressBar> },
    /// A line for each stage that changed.
    Lines { before: Option<(UpgradeState, [StageView; 5])> },
    /// The whole as JSON for each change.
    Documents { before: Option<UpgradeProgress> },
}

impl<'a> Screen<'a> {
    fn new(site: &'a SiteQuery<'a>, format: QueryFormat, context: &'a Context) -> Self {
        let bars = context.environment.stderr_is_terminal && !context.global.quiet && !context.global.verbose;
        let kind = match format {
            QueryFormat::Json => Kind::Documents { before: None },
            QueryFormat::Text if bars => bars_for(stages::stages(&UpgradeProgress::default())),
            QueryFormat::Text => Kind::Lines { before: None },
        };
        Self { site, context, kind }
    }

    fn show(&mut self, progress: &UpgradeProgress) -> Result<WriteStatus, CommandError> {
        match &mut self.kind {
            Kind::Bars { bars, .. } => {
                for (bar, stage) in bars.iter().zip(stages::stages(progress)) {
                    draw(bar, &stage);
                }
                Ok(WriteStatus::Whole)
            }
            Kind::Lines { before } => {
                let now = (progress.status.clone(), stages::stages(progress));
                let text = changes(self.site.name, before.as_ref(), &now, progress);
                *before = Some(now);
                if text.is_empty() { Ok(WriteStatus::Whole) } else { output::write(&text) }
            }
            Kind::Documents { before } => {
                if before.as_ref() == Some(progress) {
                    return Ok(WriteStatus::Whole);
                }
                *before = Some(progress.clone());
                output::write(&line(self.site, Some(progress)))
            }
        }
    }

    fn message(&self, text: &str) {
        let text = safe::line(text);
        match &self.kind {
            Kind::Bars { all, .. } => all.suspend(|| self.context.output.message(&text)),
            Kind::Lines { .. } | Kind::Documents { .. } => self.context.output.message(&text),
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
    bar.set_message(word(&stage.status));
}

fn word(status: &UpgradeState) -> String {
    status.as_str().to_lowercase().replace('_', " ")
}

/// What changed, a line a stage and one for the whole.
fn changes(
    site: &str,
    before: Option<&(UpgradeState, [StageView; 5])>,
    now: &(UpgradeState, [StageView; 5]),
    progress: &UpgradeProgress,
) -> String {
    let site = safe::line(site);
    let mut text = String::new();
    for (at, stage) in now.1.iter().enumerate() {
        let unchanged = before.is_some_and(|before| before.1[at] == *stage);
        let not_begun = before.is_none() && matches!(stage.status, UpgradeState::Scheduled | UpgradeState::Unknown);
        if unchanged || not_begun {
            continue;
        }
        let steps = stage.steps.map(|(done, all)| format!(" {done}/{all}")).unwrap_or_default();
        text.push_str(&format!("{site}  {}: {}{steps}\n", stage.name, word(&stage.status)));
    }
    if before.is_none_or(|before| before.0 != now.0) {
        let version = safe::line(&progress.version);
        text.push_str(&format!("{site}  upgrade to {version}: {}\n", word(&now.0)));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_changed_is_a_line() {
        let mut progress =
            UpgradeProgress { version: "crt-2".to_owned(), status: UpgradeState::InProgress, ..Default::default() };
        progress.image_download.status = UpgradeState::InProgress;
        let now = |progress: &UpgradeProgress| (progress.status.clone(), stages::stages(progress));
        let first = now(&progress);
        let text = changes("ce01", None, &first, &progress);
        assert_eq!(text, "ce01  image download: in progress\nce01  upgrade to crt-2: in progress\n");
        assert_eq!(changes("ce01", Some(&first), &first, &progress), "");
        progress.image_download.status = UpgradeState::Completed;
        progress.site_level_upgrade.status = UpgradeState::InProgress;
        progress.site_level_upgrade.progress.total = 6;
        let text = changes("ce01", Some(&first), &now(&progress), &progress);
        assert_eq!(text, "ce01  image download: completed\nce01  site-level upgrade: in progress 0/6\n");
    }
}
