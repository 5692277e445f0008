//! The view of recorded runs: a table of them, one with every change, and the messages about a run that was not
//! finished.

use super::outcome::{OURS_MAY_BE_LOST, verified};
use crate::drift::short;
use crate::model::RunId;
use crate::report::facts::plan as facts;
use crate::report::json::HistoryReport;
use crate::report::prelude::*;
use crate::report::prometheus;
use crate::report::text::draw::Widths;
use crate::run::{
    ApprovalKind, ChangeResult, RunCounts, RunDocument, RunStatus, RunStep, RunSummary, RunTrigger, StepResult,
    UnknownResult, Verification,
};

impl Report for HistoryReport<'_> {
    /// The runs that a journal keeps, the newest first, as they are given, with what to do about those that are open.
    fn blocks<'a>(&'a self, view: &TextView) -> Blocks<'a> {
        let Self { runs, unreadable, proposed } = *self;
        let mut blocks = Blocks::default();
        match runs.is_empty() {
            true if unreadable.is_empty() => blocks.line(line!["No runs are kept."]),
            true => {}
            false => blocks.append(table(runs, view)),
        }
        unreadable.iter().for_each(|entry| blocks.labelled(Role::Careful, "unreadable", line![foreign(entry)]));
        if !proposed.is_empty() {
            blocks.gap();
        }
        for (run, flags) in proposed {
            if run.is_open() {
                blocks.command(to_resume(run), resume(run, flags));
                continue;
            }
            blocks.command("show one:", format!("trueup show {}{flags}", run.run));
            blocks.command("undo it: ", facts::undo(&run.run, &run.undo_consents) + flags);
            if run.is_incomplete() {
                blocks.command("resume:  ", resume(run, flags));
            }
        }
        blocks
    }

    written_as!("history");
}

/// The runs as a table, or with two lines each if the terminal is too narrow for one.
fn table<'a>(runs: &'a [RunSummary], view: &TextView) -> Blocks<'a> {
    let headings = ["RUN", "STARTED", "STACK", "SERVICE", "WHO", "COMMIT", "CHANGES", "RESULT"];
    let rows = runs.iter().map(|run| row(run).into_iter().chain([ended(run)]));
    let table = Table::new(headings).titled(Line::default(), 2).rows(rows);
    let widths = Widths::of(&table, view);
    if table.indent + widths.before_the_last() + "in doubt".len() <= view.limit() {
        return table.into();
    }
    let mut blocks = Blocks::default();
    for run in runs {
        let [name, _, stack, service, who, commit, changes] = row(run);
        blocks.item(line![name, "  ", ended(run)]);
        let text = line![changes, ", stack ", stack, ", ", service, ", by ", who, ", commit ", commit];
        blocks.0.push(Block::Line(4, text));
    }
    blocks
}

fn row(run: &RunSummary) -> [Line<'_>; 7] {
    let text = |text: Option<&'_ str>| text.map_or_else(|| line!["-"], |text| line![code(text.to_owned())]);
    [
        line![code(run.run.as_str())],
        line![moment(&run.started)],
        text(run.stack.as_deref()),
        text(Some(run.base_url.strip_prefix("https://").unwrap_or(&run.base_url))),
        text(run.who()),
        text(run.commit.as_deref().map(short)),
        line![run.done, " of ", run.planned.whole(), " (", signs(run.planned), ")"],
    ]
}

/// `+12 ~3 -1`, with `=` for annotates and `-/+` for recreates.
fn signs(counts: RunCounts) -> Line<'static> {
    let parts = [
        ("+", counts.create),
        ("~", counts.replace),
        ("-/+", counts.recreate),
        ("=", counts.annotate),
        ("-", counts.delete),
    ];
    let parts = parts.into_iter().filter(|(_, number)| *number > 0).map(|(sign, number)| line![sign, number]);
    let parts = Line::joined(parts, " ");
    if parts.is_empty() { line!["nothing"] } else { parts }
}

fn ended(run: &RunSummary) -> Line<'_> {
    let left = run.planned.whole().saturating_sub(run.done);
    let text = match (&run.resumed_by, run.status, &run.superseded_by) {
        (Some(later), ..) => styled(Role::Quiet, line!["resumed by ", code(later.as_str())]),
        (None, RunStatus::Finished, _) if left == 0 => styled(Role::Right, "finished"),
        (None, RunStatus::Finished, _) => styled(Role::Careful, line!["finished, ", left, " not made"]),
        (None, RunStatus::Unverified, _) => styled(Role::Careful, "finished, not verified"),
        (None, _, Some(later)) => styled(Role::Quiet, line!["unfinished, superseded by ", code(later.as_str())]),
        (None, RunStatus::Unfinished, None) => styled(Role::Wrong, "unfinished"),
        (None, RunStatus::InDoubt { count }, None) => {
            styled(Role::Wrong, line![Line::count(count, "write"), " in doubt"])
        }
    };
    let earlier = run.rolls_back.as_ref().map(|earlier| line![", rolls back ", code(earlier.as_str())]);
    line![text, earlier]
}

impl Report for RunDocument {
    /// One run: what it was, every change with its result, how it ended, and what can be done next.
    fn blocks<'a>(&'a self, view: &TextView) -> Blocks<'a> {
        let Self { run, plan, .. } = self;
        let optional = |word: &'static str, value: Option<&'a str>| value.map(|value| line![word, code(value)]);
        let ended_at = run.ended.as_deref().map(|time| line![", ended ", moment(time)]);
        let name = styled(Role::Strong, code(run.run.as_str()));
        let began = moment(&run.started);
        let mut blocks = Blocks::from(line!["Run ", name, optional(" by ", run.who()), ", began ", began, ended_at]);
        let stack = optional(", stack ", run.stack.as_deref());
        let environment = optional(", environment ", plan.source.environment.as_deref());
        blocks.item(line![code(&run.base_url), stack, environment, optional(", commit ", run.commit.as_deref())]);
        let planned = optional("planned by ", plan.source.planned_by.as_deref());
        let trigger = Line::joined(planned.into_iter().chain(trigger(&run.trigger)), ", ");
        if !trigger.is_empty() {
            blocks.item(trigger);
        }
        let policy = self.in_force.as_ref().and_then(|in_force| in_force.policy.as_ref());
        let policy =
            policy.map(|policy| line![", policy ", code(&policy.path), " (SHA-256 ", code(&policy.sha256), ")"]);
        blocks.item(line!["plan ", code(plan.digest().to_string()), policy]);
        for (word, other) in
            [("resumes ", &run.resumes), ("rolls back ", &run.rolls_back), ("resumed by ", &run.resumed_by)]
        {
            if let Some(other) = other {
                blocks.item(line![word, code(other.as_str())]);
            }
        }
        blocks.gap();
        for (change, step) in plan.changes.iter().zip(&self.steps) {
            blocks.0.push(Block::Step(change, step.result.is_done(), line![result(&step.result), times(step)]));
        }
        blocks.section(line![run.done, " of ", run.planned.whole(), " done, ", ended(run), "."]);
        match &self.verification {
            Some(Verification::Verified { .. }) => {
                let results = self.steps.iter().map(|step| (step.result.is_done(), step.result.is_in_doubt()));
                blocks.line(verified(plan, results).and("."));
            }
            Some(Verification::Differs { .. }) => {
                blocks.line(line!["Not verified: live still differs from what was asked for."]);
            }
            Some(Verification::Unknown { .. }) => blocks.line(line!["Verification not proven."]),
            Some(Verification::NotNeeded) | None => {}
        }
        match run.is_open() {
            true => blocks.command(to_resume(run), resume(run, &view.flags)),
            false => blocks.command("undo with:", facts::undo_of(&run.run, plan) + &view.flags),
        }
        if run.is_incomplete() {
            blocks.command("resume with:", resume(run, &view.flags));
        }
        blocks
    }

    fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        out.write_all(safe::json(&self.sealed()).as_bytes())
    }

    fn draw(&self, format: Format, _: &TextView) -> Option<String> {
        (format == Format::Prometheus).then(|| prometheus::run(self))
    }
}

/// When a run worked on a change: `, 10:04:11.120 to 10:04:11.183`.
fn times(step: &RunStep) -> Line<'static> {
    if step.made_before {
        return line![", made before the resume"];
    }
    let (Some(started), Some(ended)) = (step.started, step.ended) else { return Line::default() };
    let [started, ended] = [started, ended].map(|time| foreign(time.strftime("%H:%M:%S.%3f").to_string()));
    line![", ", started, " to ", ended]
}

/// What the forge and the call said of a run.
fn trigger(trigger: &RunTrigger) -> Vec<Line<'_>> {
    let how = trigger.approval.map(|how| match how {
        ApprovalKind::Prompt => "approved at the prompt",
        ApprovalKind::Yes => "approved with --yes",
        ApprovalKind::Digest => "approved with --digest",
    });
    let named = |word: &'static str, text: &'_ Option<String>| text.clone().map(|text| line![word, foreign(text)]);
    let approved = named("approved by ", &trigger.approved_by);
    let rest = [named("change request ", &trigger.change_request), named("job ", &trigger.job)];
    approved.into_iter().chain(how.map(|how| line![how])).chain(rest.into_iter().flatten()).collect()
}

fn result(result: &StepResult) -> Line<'_> {
    match result {
        StepResult::Unknown(UnknownResult::Untouched) => line!["not sent"],
        StepResult::Unknown(UnknownResult::InDoubt) => {
            line!["in doubt: it may have been sent, and its result is not known"]
        }
        StepResult::Known(result) => match result {
            ChangeResult::Done { confirmation, by_reading, adopted } => {
                let how = if *by_reading { ", settled by reading" } else { "" };
                line![if *adopted { "adopted" } else { "done" }, " (", confirmation.as_str(), how, ")"]
            }
            ChangeResult::AlreadyDone => line!["already as wanted"],
            ChangeResult::Conflict(conflict) => {
                let ours = conflict.ours_may_be_lost.then(|| line!["; ", OURS_MAY_BE_LOST]);
                line!["conflict: ", foreign(&conflict.reason), ours]
            }
            ChangeResult::Referred { by } => {
                let refer = if by.len() == 1 { " refers to it" } else { " refer to it" };
                line!["blocked: ", Line::count(by.len(), "other object"), refer]
            }
            ChangeResult::Failed { reason } => line!["failed: ", foreign(reason)],
            ChangeResult::InDoubt { reason } => line!["in doubt: ", foreign(reason)],
            ChangeResult::Skipped { reason } => line!["not tried: ", foreign(reason)],
        },
    }
}

/// How many writes of a run are in doubt, after `before`.
fn doubt(run: &RunSummary, before: &'static str) -> Option<Line<'static>> {
    match run.status {
        RunStatus::InDoubt { count } => Some(line![before, Line::count(count, "write"), " in doubt"]),
        RunStatus::Finished | RunStatus::Unverified | RunStatus::Unfinished => None,
    }
}

/// The command that resumes a run.
fn resume(run: &RunSummary, flags: &str) -> String {
    facts::resume(&run.run, run.allowed.iter(), &run.prune_namespaces) + flags
}

/// The label of that command: a run without an end may be in progress, here or on another machine.
fn to_resume(run: &RunSummary) -> &'static str {
    if run.ended.is_some() { "resume with:" } else { "if it is no longer running, resume with:" }
}

/// The warning that the newest run of a stack was not finished.
pub fn open<'a>(run: &'a RunSummary, view: &TextView) -> Blocks<'a> {
    let (name, began) = (code(run.run.as_str()), moment(&run.started));
    let done = line![run.done, " of ", run.planned.whole(), " done", doubt(run, ", ")];
    let mut blocks = Blocks::default();
    blocks.labelled(Role::Careful, "warning", line!["run ", name, " of ", began, " has not finished: ", done]);
    let resume = code(resume(run, &view.flags));
    blocks.item(line!["if it is no longer running, resume it instead:  ", resume]);
    blocks
}

/// The first line of a resume.
pub fn resuming(run: &RunSummary) -> Line<'_> {
    let whole = run.planned.whole();
    let left = match whole.saturating_sub(run.done) {
        0 => line!["the verification is"],
        left => line![left],
    };
    let (name, began) = (code(run.run.as_str()), moment(&run.started));
    let doubt = doubt(run, ", of these ");
    line!["resuming run ", name, " of ", began, ": ", run.done, " of ", whole, " done, ", left, " left", doubt]
}

/// The message for a resume of a finished run: the changes that its plan blocked are still not made.
pub fn nothing_to_resume<'a>(run: &'a RunId, plan: &Plan, view: &TextView) -> Line<'a> {
    let blocked = (!plan.blocked.is_empty()).then(|| {
        let again = code(view.plan_command());
        line!["; ", Line::count(plan.blocked.len(), "change"), " of its plan stayed blocked, plan again: ", again]
    });
    line!["run ", code(run.as_str()), " is finished: nothing to resume", blocked]
}

/// Which runs were removed.
pub fn pruned(gone: &[RunId]) -> Line<'_> {
    let message = match gone {
        [] => line!["no run was removed"],
        [one] => line!["removed run ", code(one.as_str())],
        [first, .., last] => {
            line!["removed ", gone.len(), " runs, ", code(first.as_str()), " to ", code(last.as_str())]
        }
    };
    line![styled(Role::Quiet, message)]
}
