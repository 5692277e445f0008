//! The history as text: a table of the recorded runs, one run with every change, and the messages about a
//! run that was not finished.

use super::change::{sign, values};
use super::outcome::{self, NotAsDefined};
use super::{TextView, columns};
use crate::model::RunId;
use crate::plan::Plan;
use crate::report::counted::count;
use crate::report::facts::reason::short_commit;
use crate::report::time::minute;
use crate::report::view::{Line, code, line};
use crate::report::{Role, safe};
use crate::run::{
    ApprovalKind, ChangeResult, Confirmation, RunCounts, RunDocument, RunStatus, RunStep, RunSummary, RunTrigger,
    StepResult, UnknownResult, Verification,
};

/// The runs that a journal keeps, the newest first, as they are given, with what to do about those that are open.
#[must_use]
pub fn history(runs: &[RunSummary], unreadable: &[String], view: &TextView) -> String {
    let mut text = String::new();
    if runs.is_empty() {
        text.push_str("No runs are kept.\n");
    }
    text.push_str(&table(runs, view));
    for entry in unreadable {
        text.push_str(&format!("{}: {}\n", view.palette.paint(Role::Careful, "unreadable"), safe::line(entry)));
    }
    if let Some(newest) = runs.first() {
        let flags = safe::line(&view.flags);
        let next = match runs.iter().find(|run| run.is_open()) {
            Some(open) => vec![format!("resume with:  trueup apply --resume {}{flags}", open.run)],
            None => vec![
                format!("show one:  trueup show {}{flags}", newest.run),
                format!("undo it:   trueup rollback {}{flags}", newest.run),
            ],
        };
        text.push('\n');
        for line in next {
            text.push_str(&format!("{}\n", view.palette.paint(Role::Quiet, line)));
        }
    }
    text
}

/// The runs as a table, or with two lines each where the terminal is too narrow for one.
fn table(runs: &[RunSummary], view: &TextView) -> String {
    let rows: Vec<[String; 7]> = runs.iter().map(row).collect();
    let heads = ["RUN", "STARTED", "STACK", "SERVICE", "WHO", "COMMIT", "CHANGES"].map(str::to_owned);
    let width = |at: usize| rows.iter().chain([&heads]).map(|row| columns(&row[at])).max().unwrap_or(0);
    let widths: Vec<usize> = (0..heads.len()).map(width).collect();
    let line = |row: &[String; 7], last: &str| {
        let cell = |(cell, width): (&String, &usize)| format!("{cell}{}  ", " ".repeat(width - columns(cell)));
        let cells: String = row.iter().zip(&widths).map(cell).collect();
        format!("  {cells}{last}").trim_end().to_owned()
    };
    let runs = || runs.iter().zip(&rows);
    if widths.iter().map(|width| width + 2).sum::<usize>() + columns("in doubt") > view.limit() {
        let lines = runs().map(|(run, [name, _, stack, service, who, commit, changes])| {
            let result = ended(run, view);
            format!("  {name}  {result}\n    {changes}, stack {stack}, {service}, by {who}, commit {commit}\n")
        });
        return lines.collect();
    }
    let heads = rows.first().map(|_| format!("{}\n", view.palette.paint(Role::Strong, line(&heads, "RESULT"))));
    let lines = runs().map(|(run, row)| format!("{}\n", line(row, &ended(run, view))));
    heads.into_iter().chain(lines).collect()
}

fn row(run: &RunSummary) -> [String; 7] {
    let text = |text: Option<&str>| text.map_or_else(|| "-".to_owned(), |text| safe::line(text).into_owned());
    let service = run.base_url.strip_prefix("https://").unwrap_or(&run.base_url);
    [
        run.run.to_string(),
        time(&run.started),
        text(run.stack.as_deref()),
        text(Some(service)),
        text(run.who()),
        run.commit.as_deref().map_or_else(|| "-".to_owned(), |commit| safe::line(&short_commit(commit)).into_owned()),
        format!("{} of {} ({})", run.done, run.planned.whole(), signs(run.planned)),
    ]
}

/// `+12 ~3 -1`, with `=` for annotates.
fn signs(counts: RunCounts) -> String {
    let parts: Vec<String> =
        [("+", counts.create), ("~", counts.replace), ("=", counts.annotate), ("-", counts.delete)]
            .into_iter()
            .filter(|(_, number)| *number > 0)
            .map(|(sign, number)| format!("{sign}{number}"))
            .collect();
    if parts.is_empty() { "nothing".to_owned() } else { parts.join(" ") }
}

/// A time of a run, for people.
fn time(time: &str) -> String {
    safe::line(&minute(time)).into_owned()
}

fn ended(run: &RunSummary, view: &TextView) -> String {
    let mut message = match (&run.resumed_by, run.status) {
        (Some(later), _) => view.palette.paint(Role::Quiet, format!("resumed by {later}")).to_string(),
        (None, RunStatus::Finished) if run.done == run.planned.whole() => {
            view.palette.paint(Role::Right, "finished".to_owned()).to_string()
        }
        (None, RunStatus::Finished) => {
            let left = run.planned.whole().saturating_sub(run.done);
            view.palette.paint(Role::Careful, format!("finished, {left} not made")).to_string()
        }
        (None, RunStatus::Unverified) => {
            view.palette.paint(Role::Careful, "finished, not verified".to_owned()).to_string()
        }
        (None, _) if run.superseded_by.is_some() => {
            let later = run.superseded_by.as_ref().map(RunId::as_str).unwrap_or_default();
            view.palette.paint(Role::Quiet, format!("unfinished, superseded by {later}")).to_string()
        }
        (None, RunStatus::Unfinished) => view.palette.paint(Role::Wrong, "unfinished".to_owned()).to_string(),
        (None, RunStatus::InDoubt { count: number }) => {
            view.palette.paint(Role::Wrong, format!("{} in doubt", count(number, "write"))).to_string()
        }
    };
    if let Some(earlier) = &run.rolls_back {
        message.push_str(&format!(", rolls back {earlier}"));
    }
    message
}

/// One run: what it was, every change with its result, how it ended, and what can be done next.
#[must_use]
pub fn run(document: &RunDocument, view: &TextView) -> String {
    let RunDocument { run: summary, plan, .. } = document;
    let who = summary.who().map(|user| format!(" by {}", safe::line(user))).unwrap_or_default();
    let ended_at =
        summary.ended.as_deref().map(|time| format!(", ended {}", safe::line(&minute(time)))).unwrap_or_default();
    let mut text = format!(
        "Run {}{who}, began {}{ended_at}\n  {}",
        view.palette.paint(Role::Strong, &summary.run),
        time(&summary.started),
        safe::line(&summary.base_url)
    );
    if let Some(stack) = &summary.stack {
        text.push_str(&format!(", stack {}", safe::line(stack)));
    }
    if let Some(environment) = &plan.source.environment {
        text.push_str(&format!(", environment {}", safe::line(environment)));
    }
    if let Some(commit) = &summary.commit {
        text.push_str(&format!(", commit {}", safe::line(commit)));
    }
    text.push('\n');
    let planned = plan.source.planned_by.as_deref().map(|who| format!("planned by {who}"));
    let trigger = [planned.unwrap_or_default(), trigger(&summary.trigger)].into_iter().filter(|part| !part.is_empty());
    let trigger = trigger.collect::<Vec<_>>().join(", ");
    if !trigger.is_empty() {
        text.push_str(&format!("  {}\n", safe::line(&trigger)));
    }
    let policy = document.in_force.as_ref().and_then(|in_force| in_force.policy.as_ref());
    let policy = policy.map(|policy| format!(", policy {} (SHA-256 {})", policy.path, policy.sha256));
    text.push_str(&format!("  plan {}{}\n", plan.digest(), safe::line(&policy.unwrap_or_default())));
    for (word, other) in
        [("resumes", &summary.resumes), ("rolls back", &summary.rolls_back), ("resumed by", &summary.resumed_by)]
    {
        if let Some(other) = other {
            text.push_str(&format!("  {word} {other}\n"));
        }
    }
    text.push('\n');
    for (change, step) in plan.changes.iter().zip(&document.steps) {
        let (sign, role) = sign(change.action.kind());
        let key = change.key.to_string();
        let rendered = result(&step.result) + &times(step);
        let role = if step.result.is_done() { role } else { Role::Wrong };
        let line = format!("  {} {:<46}  {}", view.palette.paint(role, sign), safe::line(&key), safe::line(&rendered));
        text.push_str(line.trim_end());
        text.push('\n');
        text.push_str(&values(change, view));
    }
    text.push_str(&format!("\n{} of {} done, {}.\n", summary.done, summary.planned.whole(), ended(summary, view)));
    if let Some(verification) = &document.verification {
        let except = NotAsDefined {
            blocked: plan.blocked.len(),
            in_doubt: document.steps.iter().filter(|step| step.result.is_in_doubt()).count(),
            not_done: document.steps.iter().filter(|step| !step.result.is_done()).count(),
        };
        text.push_str(&verified(verification, except, view));
    }
    let next = if summary.is_open() {
        format!("resume with:  trueup apply --resume {}{}", summary.run, safe::line(&view.flags))
    } else {
        format!("undo with:  trueup rollback {}{}", summary.run, safe::line(&view.flags))
    };
    text.push_str(&format!("{}\n", view.palette.paint(Role::Quiet, next)));
    text
}

fn verified(verification: &Verification, except: NotAsDefined, view: &TextView) -> String {
    match verification {
        Verification::Verified { .. } => format!("{}.\n", outcome::verified(except, view)),
        Verification::Differs { .. } => "Not verified: live still differs from the definitions.\n".to_owned(),
        Verification::Unknown { .. } => "Verification not proven.\n".to_owned(),
        Verification::NotNeeded => String::new(),
    }
}

/// When a run worked on a change: `, 10:04:11.120 to 10:04:11.183`.
fn times(step: &RunStep) -> String {
    let (Some(started), Some(ended)) = (step.started, step.ended) else { return String::new() };
    format!(", {} to {}", started.strftime("%H:%M:%S.%3f"), ended.strftime("%H:%M:%S.%3f"))
}

/// What the forge and the call said of a run, in one line.
fn trigger(trigger: &RunTrigger) -> String {
    let approved = trigger.approved_by.as_deref().map(|name| format!("approved by {name}"));
    let how = trigger.approval.map(|how| match how {
        ApprovalKind::Prompt => "approved at the prompt".to_owned(),
        ApprovalKind::Yes => "approved with --yes".to_owned(),
        ApprovalKind::Digest => "approved with --digest".to_owned(),
    });
    let rest = [("change request", &trigger.change_request), ("job", &trigger.job)];
    let rest = rest.into_iter().filter_map(|(word, value)| Some(format!("{word} {}", value.as_deref()?)));
    approved.into_iter().chain(how).chain(rest).collect::<Vec<_>>().join(", ")
}

fn result(result: &StepResult) -> String {
    let because = |word: &str, reason: &str| format!("{word}: {reason}");
    match result {
        StepResult::Unknown(UnknownResult::Untouched) => "not sent".to_owned(),
        StepResult::Unknown(UnknownResult::InDoubt) => {
            "in doubt: it may have been sent, and its result is not known".to_owned()
        }
        StepResult::Known(result) => match result {
            ChangeResult::Done { confirmation: settled, by_reading, adopted } => {
                let settled = match settled {
                    Confirmation::Guarded => "guarded",
                    Confirmation::Versioned => "versioned",
                    Confirmation::Unguarded => "unguarded",
                };
                let how = if *by_reading { ", settled by reading" } else { "" };
                format!("{} ({settled}{how})", if *adopted { "adopted" } else { "done" })
            }
            ChangeResult::AlreadyDone => "already as wanted".to_owned(),
            ChangeResult::Conflict(conflict) => because("conflict", &conflict.reason),
            ChangeResult::Referred { by } => format!(
                "blocked: {} to it",
                match by.len() {
                    1 => "1 other object refers".to_owned(),
                    more => format!("{more} other objects refer"),
                }
            ),
            ChangeResult::Failed { reason } => because("failed", reason),
            ChangeResult::InDoubt { reason } => because("in_doubt", reason),
            ChangeResult::Skipped { reason } => because("not tried", reason),
        },
    }
}

/// That the newest run of a stack was not finished.
#[must_use]
pub fn open_run(run: &RunSummary, view: &TextView) -> String {
    let doubt = match run.status {
        RunStatus::InDoubt { count: number } => format!(", {} in doubt", count(number, "write")),
        RunStatus::Finished | RunStatus::Unverified | RunStatus::Unfinished => String::new(),
    };
    format!(
        "{}: run {} of {} has not finished: {} of {} done{doubt}\n  \
         if nobody runs it any more, resume it instead:  trueup apply --resume {}{}",
        view.palette.paint(Role::Careful, "warning"),
        run.run,
        time(&run.started),
        run.done,
        run.planned.whole(),
        run.run,
        safe::line(&view.flags)
    )
}

/// What a resume begins with.
#[must_use]
pub fn resuming(run: &RunSummary) -> String {
    let doubt = match run.status {
        RunStatus::InDoubt { count: number } => format!(", of these {} in doubt", count(number, "write")),
        RunStatus::Finished | RunStatus::Unverified | RunStatus::Unfinished => String::new(),
    };
    let whole = run.planned.whole();
    let left = match whole.saturating_sub(run.done) {
        0 => "the verification is".to_owned(),
        left => left.to_string(),
    };
    let began = time(&run.started);
    format!("resuming run {} of {began}: {} of {whole} done, {left} left{doubt}", run.run, run.done)
}

/// What a resume of a run says that is finished: what its plan blocked is not made all the same.
#[must_use]
pub fn nothing_to_resume(run: &RunId, plan: &Plan, view: &TextView) -> String {
    let blocked = (!plan.blocked.is_empty()).then(|| {
        let again = code(view.plan_command());
        line!["; ", Line::count(plan.blocked.len(), "change"), " of its plan stayed blocked, plan again: ", again]
    });
    view.plain(&line!["run ", code(run.as_str()), " is finished: nothing to resume", blocked])
}

/// Which runs were removed.
#[must_use]
pub fn pruned(gone: &[RunId], view: &TextView) -> String {
    let message = match gone {
        [] => "no run was old enough to be removed".to_owned(),
        [one] => format!("removed run {one}"),
        [first, .., last] => format!("removed {} runs, {first} to {last}", gone.len()),
    };
    view.palette.paint(Role::Quiet, message).to_string()
}
