//! Shows a run while it is made: a bar on a terminal, elsewhere a line for each change.

use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};

use crate::cli::output::Promise;
use crate::cli::{Context, Output};
use crate::plan::{ActionKind, Plan};
use crate::report::text::progress_line;
use crate::report::{LineSource, json_lines, safe};
use crate::run::{ChangeResult, RunEvent, RunObserver};

/// The observer of a run.
pub struct RunProgress {
    output: Output,
    target: ProgressTarget,
}

/// Where its events are shown.
enum ProgressTarget {
    /// In a bar on a terminal.
    Bar(ProgressBar),
    /// As lines of JSON on standard output.
    Events(LineSource),
    /// In a log.
    Lines,
    /// Nowhere: a rehearsal writes no line for each change into a log.
    Nothing,
}

impl RunProgress {
    /// The observer of a run of this plan, which depends on where messages go.
    pub fn new(context: &Context, plan: &Plan) -> Self {
        let output = context.output.clone();
        let target = if output.promised == Some(Promise::RunEvents) {
            ProgressTarget::Events(output.line_source(plan.stack.clone(), plan.source.environment.clone()))
        } else if output.is_live {
            let bar = output.bars.add(ProgressBar::no_length());
            let style = ProgressStyle::with_template("[{bar:30}] {pos}/{len}  {msg}");
            bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()).progress_chars("=> "));
            ProgressTarget::Bar(bar)
        } else {
            ProgressTarget::Lines
        };
        Self { output, target }
    }

    /// The observer of a rehearsal: without a terminal, each change is shown only with `--verbose`.
    pub fn rehearsing(context: &Context, plan: &Plan) -> Self {
        match context.environment.stderr_is_terminal || context.global.verbose {
            true => Self::new(context, plan),
            false => Self { output: context.output.clone(), target: ProgressTarget::Nothing },
        }
    }
}

impl RunObserver for RunProgress {
    fn event(&self, event: RunEvent<'_>) {
        let Self { output, target } = self;
        match target {
            ProgressTarget::Lines => {
                if let Some(line) = progress_line(event, &output.messages) {
                    output.rendered_message(&line);
                }
            }
            ProgressTarget::Events(source) => {
                output.answer(&json_lines::event(event, source, jiff::Timestamp::now()));
            }
            ProgressTarget::Nothing => {}
            ProgressTarget::Bar(bar) => draw(bar, output, event),
        }
    }
}

fn draw(bar: &ProgressBar, output: &Output, event: RunEvent<'_>) {
    let show = |text: &str| bar.set_message(output.named(&safe::line(text)).into_owned());
    match event {
        RunEvent::Started { total, .. } => {
            bar.set_length(u64::try_from(total).unwrap_or(u64::MAX));
            bar.enable_steady_tick(Duration::from_millis(100));
        }
        RunEvent::Phase { kind, .. } => show(match kind {
            ActionKind::Create => "creating",
            ActionKind::Replace | ActionKind::Recreate | ActionKind::Annotate => "replacing",
            ActionKind::Delete => "deleting",
        }),
        RunEvent::Sending { .. } => {}
        RunEvent::Waiting { key, reason, wait, .. } => {
            let key = key.map(ToString::to_string).unwrap_or_default();
            let wait = wait.as_secs_f64();
            show(&format!("{key} ({reason}, waiting {wait:.1} s)"));
        }
        // A change that was not tried does not count as progress.
        RunEvent::Finished { step, .. } if matches!(step.result, ChangeResult::Skipped { .. }) => {}
        RunEvent::Finished { step, .. } => {
            if !step.result.is_done() {
                output.rendered_message(&progress_line(event, &output.messages).unwrap_or_default());
            }
            bar.inc(1);
        }
        RunEvent::Verifying { read: 1 } => show("verifying"),
        RunEvent::Verifying { read } => show(&format!("still different, read {read}")),
    }
}

impl Drop for RunProgress {
    fn drop(&mut self) {
        if let ProgressTarget::Bar(bar) = &self.target {
            bar.finish_and_clear();
        }
    }
}
