//! Shows a run while it is made: a bar on a terminal, elsewhere a line for each change.

use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};

use crate::cli::output::document::Promise;
use crate::cli::{Context, Output};
use crate::plan::{ActionKind, Plan};
use crate::report::text::LineProgress;
use crate::report::{LineSource, json_lines, safe};
use crate::run::{ChangeResult, RunEvent, RunObserver};

/// The observer of a run.
pub enum RunProgress {
    /// On a terminal.
    Bar { bar: ProgressBar, output: Output, lines: LineProgress },
    /// As lines of JSON on standard output.
    Events { output: Output, source: LineSource },
    /// In a log.
    Lines { output: Output, lines: LineProgress },
    /// In a log that should have none.
    Nothing { output: Output },
}

impl RunProgress {
    /// The observer of a run of this plan that fits where messages go.
    pub fn new(context: &Context, plan: &Plan) -> Self {
        let output = context.output.clone();
        if output.promised() == Some(Promise::RunEvents) {
            let source = output.line_source(plan.stack.clone(), plan.source.environment.clone());
            return RunProgress::Events { output, source };
        }
        let lines = LineProgress::new(output.message_view());
        if !output.is_live() {
            return RunProgress::Lines { output, lines };
        }
        let bar = output.bars().add(ProgressBar::no_length());
        let style = ProgressStyle::with_template("[{bar:30}] {pos}/{len}  {msg}");
        bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()).progress_chars("=> "));
        RunProgress::Bar { bar, output, lines }
    }

    /// The observer of a rehearsal: a log gets no line a change, unless it asked for every request.
    pub fn rehearsing(context: &Context, plan: &Plan) -> Self {
        if context.environment.stderr_is_terminal || context.global.verbose {
            RunProgress::new(context, plan)
        } else {
            RunProgress::Nothing { output: context.output.clone() }
        }
    }
}

impl RunProgress {
    /// Where messages go during the run: above the bar if there is one.
    pub fn output(&self) -> Output {
        match self {
            RunProgress::Bar { output, .. }
            | RunProgress::Lines { output, .. }
            | RunProgress::Events { output, .. }
            | RunProgress::Nothing { output } => output.clone(),
        }
    }
}

impl RunObserver for RunProgress {
    fn event(&self, event: RunEvent<'_>) {
        match self {
            RunProgress::Lines { output, lines } => {
                if let Some(line) = lines.line(event) {
                    output.message(&line);
                }
            }
            RunProgress::Events { output, source } => {
                output.answer(&json_lines::event(event, source, jiff::Timestamp::now()));
            }
            RunProgress::Nothing { .. } => {}
            RunProgress::Bar { bar, output, lines } => draw(bar, output, lines, event),
        }
    }
}

fn draw(bar: &ProgressBar, output: &Output, lines: &LineProgress, event: RunEvent<'_>) {
    let show = |text: &str| bar.set_message(output.named(text).into_owned());
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
            show(&format!("{} ({}, waiting {wait:.1} s)", safe::line(&key), safe::line(reason)));
        }
        RunEvent::Finished { step, .. } => {
            if !step.result.is_done() && !matches!(step.result, ChangeResult::Skipped { .. }) {
                output.message(&lines.line(event).unwrap_or_default());
            }
            bar.inc(1);
        }
        RunEvent::Verifying { read: 1 } => show("verifying"),
        RunEvent::Verifying { read } => show(&format!("still different, read {read}")),
    }
}

impl Drop for RunProgress {
    fn drop(&mut self) {
        if let RunProgress::Bar { bar, .. } = self {
            bar.finish_and_clear();
        }
    }
}
