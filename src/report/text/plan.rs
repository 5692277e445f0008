//! A plan as text: every change with its fields and places, equal edits folded, then what is blocked, the
//! notes, the guards, the counts and the command that applies exactly this plan.

use crate::report::counted::{count, some_of};
use std::collections::BTreeSet;
use std::io::{self, Write};
use std::path::Path;

use super::change::{self, sign};
use super::{TextView, attribution, notes, refusal, seconds};
use crate::plan::{ActionKind, Digest, GuardName, Plan};
use crate::report::attribution::summary;
use crate::report::{Role, edits, json, safe, time};

/// From so many endpoints with one and the same edit on, the edit is listed once.
const FOLD: usize = 3;
/// Names that are shown of a long list.
const NAMES: usize = 12;

/// A plan, line by line, with its counts, its digest and the next thing to do. `saved` is the file
/// that the plan was written to.
#[must_use]
pub fn plan(plan: &Plan, saved: Option<&Path>, view: &TextView) -> String {
    json::text(|out| write_plan(plan, saved, view, out))
}

/// Writes [`plan`] change by change, so that its text is never in memory as a whole.
///
/// # Errors
/// Those of `out`.
pub fn write_plan(plan: &Plan, saved: Option<&Path>, view: &TextView, out: &mut dyn Write) -> io::Result<()> {
    let unknown = plan.unknown().next().is_some();
    if plan.changes.is_empty() && plan.blocked.is_empty() && !unknown {
        return write!(out, "{}{}", super::setting_changes(plan, view), in_sync(plan, view));
    }
    let heads = [consents(plan, view), super::setting_changes(plan, view), header(plan, view)];
    out.write_all(heads.concat().as_bytes())?;
    let rendered = attribution::listed(plan, view);
    let (deletes, others): (Vec<_>, Vec<_>) =
        rendered.iter().partition(|change| change.action.kind() == ActionKind::Delete);
    let (folded, single): (Vec<_>, Vec<_>) =
        edits::fold(others, FOLD).into_iter().partition(|fold| fold.changes.len() > 1);
    for fold in single.iter().chain(&folded) {
        let text = match fold.changes.as_slice() {
            [one] => change::change(one, view),
            many => change::folded(many, view),
        };
        write!(out, "\n{text}")?;
    }
    out.write_all(annotates(plan, view).as_bytes())?;
    for change in deletes {
        write!(out, "\n{}", change::change(change, view))?;
    }
    for held in plan.blocked.iter().filter(|held| attribution::lists(held, plan, view)) {
        write!(out, "\n{}", change::blocked(held, view))?;
    }
    out.write_all(attribution::others(plan, view).as_bytes())?;
    let notes = notes(plan, view);
    if !notes.is_empty() {
        write!(out, "\n{notes}")?;
    }
    if unknown {
        write!(out, "\n{}", refusal::incomplete(plan, view))?;
        if plan.changes.is_empty() && plan.blocked.is_empty() && plan.read_scope().namespaces == 0 {
            return Ok(());
        }
    }
    let digest = plan.digest();
    let (guards, counts) = (guards(plan, view), counts(plan, &digest, view));
    write!(out, "\n{guards}{counts}\n{}", next(plan, &digest, saved, view))
}

fn in_sync(plan: &Plan, view: &TextView) -> String {
    if let Some(run) = plan.undone() {
        return format!("Nothing to roll back: what {run} wrote is as it was before it.\n{}", notes(plan, view));
    }
    if let Some((from, to)) = plan.handed_over() {
        return format!("Nothing to move from stack {from} to stack {to}.\n{}", notes(plan, view));
    }
    let mut text = format!(
        "{}: {} in {}, {}{}",
        view.palette.paint(Role::Right, "In sync"),
        count(plan.in_sync(), "endpoint"),
        count(plan.read_scope().namespaces, "namespace"),
        plan.source.environment.as_ref().map(|name| format!("environment {}, ", safe::line(name))).unwrap_or_default(),
        read_scope(plan),
    );
    if let Some(elapsed) = view.elapsed {
        text.push_str(&format!(", {}", seconds(elapsed)));
    }
    text.push_str(&narrowed(plan));
    text.push('\n');
    text.push_str(&notes(plan, view));
    text
}

/// What the filters of the call leave out, and what could not be read.
pub(in crate::report) fn outside(plan: &Plan) -> Option<String> {
    let looked = plan.read_scope();
    let mut parts = Vec::new();
    if plan.left_out > 0 {
        parts.push(format!("{} outside the filter", count(plan.left_out, "change")));
    }
    if looked.left_out > 0 {
        parts.push(format!("{} outside the filter", count(looked.left_out, "namespace")));
    }
    if looked.unread > 0 {
        parts.push(format!("{} not read", count(looked.unread, "namespace")));
    }
    (!parts.is_empty()).then(|| parts.join(", "))
}

/// What was read: the service in so many requests, or a snapshot of a time.
pub(super) fn read_scope(plan: &Plan) -> String {
    match &plan.source.snapshot {
        None => count(usize::try_from(plan.source.requests).unwrap_or(usize::MAX), "request"),
        Some(taken) => format!("against the snapshot of {}", safe::line(&time::minute(taken))),
    }
}

/// The stack with its environment.
pub(in crate::report) fn stack(plan: &Plan) -> String {
    let stack = match &plan.stack {
        Some(stack) => format!("stack {}", safe::line(stack)),
        None => "no stack".to_owned(),
    };
    match &plan.source.environment {
        Some(environment) => format!("{stack}, environment {}", safe::line(environment)),
        None => stack,
    }
}

/// The filters of the call, and what they leave out; each behind a semicolon.
pub(super) fn narrowed(plan: &Plan) -> String {
    let filters = (!plan.source.filters.is_empty()).then(|| {
        let filters: Vec<_> = plan.source.filters.iter().map(|filter| safe::line(filter)).collect();
        format!("filtered by {}", filters.join(" "))
    });
    filters.into_iter().chain(outside(plan)).map(|part| format!("; {part}")).collect()
}

fn header(plan: &Plan, view: &TextView) -> String {
    let seen = plan.read_scope();
    let (title, defined) = match (plan.undone(), plan.handed_over()) {
        (Some(run), _) => (format!("Rollback of {run} at"), String::new()),
        (None, Some((from, to))) => {
            (format!("Move from stack {} to stack {} at", safe::line(from), safe::line(to)), String::new())
        }
        (None, None) => ("Plan for".to_owned(), format!("{} defined, ", count(seen.endpoints, "endpoint"))),
    };
    let against = match &plan.source.base {
        Some(base) => format!(", against {}", safe::line(base)),
        None => String::new(),
    };
    format!(
        "{} {}, {}{against}, {}, {defined}{}{}\n",
        view.palette.paint(Role::Strong, title),
        safe::line(&plan.service.base_url),
        stack(plan),
        count(seen.namespaces, "namespace"),
        read_scope(plan),
        narrowed(plan),
    )
}

/// Ownership annotations need no review: one line.
fn annotates(plan: &Plan, view: &TextView) -> String {
    let annotated: Vec<String> = plan
        .changes
        .iter()
        .filter(|change| change.action.kind() == ActionKind::Annotate)
        .map(|change| change.key.to_string())
        .collect();
    if annotated.is_empty() {
        return String::new();
    }
    let what = match plan.handed_over() {
        Some((from, to)) => format!("handed over from stack {} to stack {}", safe::line(from), safe::line(to)),
        None => "in sync, only ownership annotations are written".to_owned(),
    };
    let (sign, role) = sign(ActionKind::Annotate);
    let text = format!("{} {what}: {}", count(annotated.len(), "endpoint"), some_of(&annotated, NAMES));
    format!("\n  {} {text}\n", view.palette.paint(role, sign))
}

/// What a plan says first: that an apply of it would be refused and why, and who allowed what.
#[must_use]
pub fn consents(plan: &Plan, view: &TextView) -> String {
    let mut text = String::new();
    let refused = plan.refused();
    if !refused.is_empty() {
        let word = view.palette.paint(Role::Wrong, "REFUSED");
        text.push_str(&format!("{word}  an apply of this plan is refused unless it is allowed by name\n"));
        for guard in refused {
            let guard_text = guard.to_string();
            text.push_str(&format!("  --allow {}: {}\n", guard.name, safe::line(&guard_text)));
        }
    } else if plan.is_refused() {
        let word = view.palette.paint(Role::Wrong, "REFUSED");
        text.push_str(&format!("{word}  an apply of this plan does nothing: everything in it is blocked\n"));
    }
    for allowed in &plan.allowed {
        let word = view.palette.paint(Role::Careful, "ALLOWED");
        let by = allowed.by.as_ref().map(|by| format!(" by {}", safe::line(by))).unwrap_or_default();
        text.push_str(&format!("{word}  {}{by}\n", safe::line(&allowed.name)));
    }
    if !text.is_empty() {
        text.push('\n');
    }
    text
}

pub(super) fn guards(plan: &Plan, view: &TextView) -> String {
    let mut text = String::new();
    for guard in &plan.guards {
        let guard_text = guard.to_string();
        text.push_str(&format!("{}  {}\n", view.palette.paint(Role::Careful, "guard"), safe::line(&guard_text)));
        match plan.allowed(guard) {
            None => text.push_str(&format!("       an apply is refused; to allow it: --allow {}\n", guard.name)),
            Some(allowed) => {
                let by = allowed.by.as_ref().map(|by| format!(" by {}", safe::line(by))).unwrap_or_default();
                text.push_str(&format!("       allowed{by}\n"));
            }
        }
    }
    if !text.is_empty() {
        text.push('\n');
    }
    text
}

fn counts(plan: &Plan, digest: &Digest, view: &TextView) -> String {
    let mut parts = summary(plan, view.detail, |number| number.to_string());
    let annotates = plan.count(ActionKind::Annotate);
    if annotates > 0 {
        let verb = if plan.handed_over().is_some() { "move" } else { ActionKind::Annotate.as_str() };
        parts.push(format!("{annotates} to {verb}"));
    }
    if !plan.blocked.is_empty() {
        parts.push(format!("{} blocked", plan.blocked.len()));
    }
    parts.push(format!("{} in sync", plan.in_sync()));
    format!("{}.   digest {}", parts.join(", "), digest.short())
}

fn next(plan: &Plan, digest: &Digest, saved: Option<&Path>, view: &TextView) -> String {
    let label = view.palette.paint(Role::Quiet, "Apply exactly this:");
    apply_command(plan, digest, saved, view).map(|command| format!("{label}  {command}\n")).unwrap_or_default()
}

/// The command that applies exactly this plan; nothing where it changes nothing, or would revert merged work.
pub(in crate::report) fn apply_command(
    plan: &Plan,
    digest: &Digest,
    saved: Option<&Path>,
    view: &TextView,
) -> Option<String> {
    if plan.changes.is_empty() {
        return None;
    }
    // What would revert merged work is not proposed: the next step is above.
    let refused = plan.refused();
    if refused.iter().any(|guard| guard.name == GuardName::BehindBase) {
        return None;
    }
    let make = match saved {
        Some(path) => format!("trueup apply {}{}", safe::shell(&path.to_string_lossy()), safe::line(&view.flags)),
        None => view.apply_command(),
    };
    let base = plan.source.base.as_ref().filter(|_| saved.is_none());
    let base = base.map(|base| format!(" --base {}", safe::shell(base))).unwrap_or_default();
    let mut command = format!("{make}{base} --digest {}", digest.short());
    // A saved plan holds the consents that were given, and its digest covers them.
    // A move gives its own consents.
    let given = plan.allowed.iter().filter(|_| saved.is_none() && plan.handed_over().is_none());
    let given = given.map(|allowed| allowed.name.as_str());
    let names: BTreeSet<&str> = refused.iter().map(|guard| guard.name.as_str()).chain(given).collect();
    for name in names {
        command.push_str(&format!(" --allow {}", safe::line(name)));
    }
    Some(command)
}
