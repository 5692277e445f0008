//! Follows an upgrade until it ends: bars on a terminal, a line a change elsewhere.

use std::time::Duration;

use indicatif::{MultiProgress, ProgressBar, ProgressDrawTarget, ProgressStyle};

use super::stages::{self, StageView};
use super::{Site, content, drawn};
use crate::api::upgrades::{Status, UpgradeProgress};
use crate::cli::ending::{Ending, Error};
use crate::cli::inquiry::AskFormat;
use crate::cli::output::{self, Written};
use crate::cli::{Context, interrupt};
use crate::report::safe;

/// Looks in a row that may fail: a site is out of reach for a while when it restarts.
const FAILURES: u32 = 5;

/// Follows the upgrade of a site that was just looked at.
pub async fn run(
    site: &Site<'_>,
    first: Option<UpgradeProgress>,
    interval: Duration,
    format: AskFormat,
    context: &Context,
) -> Result<Ending, Error> {
    let Some(mut progress) = first.filter(stages::is_known) else {
        context.output.answer(&match format {
            AskFormat::Text => drawn(site, None, context),
            AskFormat::Json => line(site, None),
        });
        return Ok(Ending::Done);
    };
    let mut screen = Screen::new(site, format, context);
    let mut failures = 0;
    loop {
        if screen.show(&progress)? == Written::Closed {
            return Ok(Ending::Done);
        }
        if progress.status.is_final() {
            break;
        }
        tokio::select! {
            () = tokio::time::sleep(interval) => {}
            () = interrupt::interrupted() => {
                screen.close();
                context.output.tell("interrupted: the upgrade goes on");
                return Ok(Ending::Interrupted);
            }
        }
        match site.look().await {
            Ok(Some(now)) => {
                failures = 0;
                progress = now;
            }
            // The service forgot it; what was shown last stays.
            Ok(None) => failures = 0,
            Err(error) if failures + 1 < FAILURES && !error.is_absent() => {
                failures += 1;
                screen.tell(&format!("looking again: {error}"));
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

fn ended(site: &Site, progress: &UpgradeProgress, format: AskFormat, context: &Context) -> Result<Ending, Error> {
    if format == AskFormat::Text && context.surroundings.stdout_is_terminal {
        context.output.answer(&drawn(site, Some(progress), context));
    }
    if progress.status != Status::Failed {
        return Ok(Ending::Done);
    }
    let reason = match progress.failure_reason.as_str() {
        "" => "the service gives no reason",
        reason => reason,
    };
    let told = format!("the upgrade of `{}` to `{}` failed: {reason}", site.name, progress.version);
    Err(Error::words(Ending::Failed, told).hint(format!("what got how far: trueup upgrades status {}", site.name)))
}

fn line(site: &Site, progress: Option<&UpgradeProgress>) -> String {
    let mut content = content(site, progress);
    content["kind"] = "upgrade_status".into();
    content["format_version"] = crate::report::json::FORMAT_VERSION.into();
    let text = content.to_string();
    format!("{}\n", safe::json(&text))
}

/// Where the upgrade is shown.
struct Screen<'a> {
    site: &'a Site<'a>,
    context: &'a Context,
    kind: Kind,
}

enum Kind {
    /// A bar a stage.
    Bars { all: MultiProgress, bars: Vec<ProgressBar> },
    /// A line for each stage that changed.
    Lines { before: Option<(Status, [StageView; 5])> },
    /// The whole as JSON for each change.
    Documents { before: Option<UpgradeProgress> },
}

impl<'a> Screen<'a> {
    fn new(site: &'a Site<'a>, format: AskFormat, context: &'a Context) -> Self {
        let bars = context.surroundings.stderr_is_terminal && !context.global.quiet && !context.global.verbose;
        let kind = match format {
            AskFormat::Json => Kind::Documents { before: None },
            AskFormat::Text if bars => bars_for(stages::stages(&UpgradeProgress::default())),
            AskFormat::Text => Kind::Lines { before: None },
        };
        Self { site, context, kind }
    }

    fn show(&mut self, progress: &UpgradeProgress) -> Result<Written, Error> {
        match &mut self.kind {
            Kind::Bars { bars, .. } => {
                for (bar, stage) in bars.iter().zip(stages::stages(progress)) {
                    draw(bar, &stage);
                }
                Ok(Written::Whole)
            }
            Kind::Lines { before } => {
                let now = (progress.status.clone(), stages::stages(progress));
                let text = changes(self.site.name, before.as_ref(), &now, progress);
                *before = Some(now);
                if text.is_empty() { Ok(Written::Whole) } else { output::write(&text) }
            }
            Kind::Documents { before } => {
                if before.as_ref() == Some(progress) {
                    return Ok(Written::Whole);
                }
                *before = Some(progress.clone());
                output::write(&line(self.site, Some(progress)))
            }
        }
    }

    fn tell(&self, text: &str) {
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
    let through = matches!(stage.status, Status::Completed | Status::Skipped);
    let (done, all) = stage.steps.unwrap_or((u64::from(through), 1));
    bar.set_length(all);
    bar.set_position(if through { all } else { done });
    bar.set_message(word(&stage.status));
}

fn word(status: &Status) -> String {
    status.as_str().to_lowercase().replace('_', " ")
}

/// What changed, a line a stage and one for the whole.
fn changes(
    site: &str,
    before: Option<&(Status, [StageView; 5])>,
    now: &(Status, [StageView; 5]),
    progress: &UpgradeProgress,
) -> String {
    let site = safe::line(site);
    let mut text = String::new();
    for (at, stage) in now.1.iter().enumerate() {
        let unchanged = before.is_some_and(|before| before.1[at] == *stage);
        let not_begun = before.is_none() && matches!(stage.status, Status::Scheduled | Status::Unknown);
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
            UpgradeProgress { version: "crt-2".to_owned(), status: Status::InProgress, ..Default::default() };
        progress.image_download.status = Status::InProgress;
        let now = |progress: &UpgradeProgress| (progress.status.clone(), stages::stages(progress));
        let first = now(&progress);
        let text = changes("ce01", None, &first, &progress);
        assert_eq!(text, "ce01  image download: in progress\nce01  upgrade to crt-2: in progress\n");
        assert_eq!(changes("ce01", Some(&first), &first, &progress), "");
        progress.image_download.status = Status::Completed;
        progress.site_level_upgrade.status = Status::InProgress;
        progress.site_level_upgrade.progress.total = 6;
        let text = changes("ce01", Some(&first), &now(&progress), &progress);
        assert_eq!(text, "ce01  image download: completed\nce01  site-level upgrade: in progress 0/6\n");
    }
}
