//! A plan as text: what an apply does, what can hurt most last, then the notes, the counts and the commands that
//! apply exactly this plan.

use std::io::{self, Write};

use super::{change, draw, notes};
use crate::plan::{ActionKind, Change, Note, Plan};
use crate::report::TextView;
use crate::report::facts::plan::{self as facts, Item, Part, sign};
use crate::report::facts::{notes as note_facts, unread};
use crate::report::line::{Line, code, took};
use crate::report::view::{self as view_of, outcome};
use crate::report::{Role, json};

/// Writes a plan with its counts, its digest and the next thing to do, change by change, so that its text is never in memory
/// as a whole.
///
/// # Errors
/// Those of `out`.
pub fn plan(plan: &Plan, view: &TextView, out: &mut dyn Write) -> io::Result<()> {
    let (settings, unknown) = (draw::blocks(&outcome::of_settings(plan), view), plan.unknown().next().is_some());
    if plan.changes.is_empty() && plan.blocked.is_empty() && !unknown {
        return write!(out, "{settings}{}", in_sync(plan, view));
    }
    if unread::whole(plan).is_some() {
        return write!(out, "{settings}{}", draw::blocks(&outcome::incomplete(plan), view));
    }
    let (parts, digest) = (facts::parts(plan), plan.digest());
    let consents = draw::blocks(&outcome::consented(plan), view);
    write!(out, "{consents}{settings}{}", header(plan, view))?;
    let is_alone = parts.len() == 1;
    for (part, items) in &parts {
        if !is_alone {
            out.write_all(heading(*part, items.is_empty(), plan, view).as_bytes())?;
        }
        let mut annotates = (*part == Part::ThisChange).then(|| self::annotates(plan, view));
        for item in items {
            // Ownership annotations are written with the replaces.
            if item.rank() >= facts::Rank::Delete
                && let Some(annotates) = annotates.take()
            {
                out.write_all(annotates.as_bytes())?;
            }
            let text = match item {
                Item::Changes(changes) => match changes.as_slice() {
                    [one] => change::change(one, view),
                    many => change::folded(many, view),
                },
                Item::Blocked(held) => change::blocked(held, view),
            };
            write!(out, "\n{text}")?;
        }
        out.write_all(annotates.unwrap_or_default().as_bytes())?;
        if *part == Part::BehindBase {
            let base = code(plan.source.base.as_deref().unwrap_or_default());
            let text = line!["applying would revert merged work; merge ", base, " into this change first"];
            writeln!(out, "\n        {}", view.plain(&text))?;
        }
    }
    let notes = notes(&note_facts::lines(plan), view);
    if !notes.is_empty() {
        write!(out, "\n{notes}")?;
    }
    if view.waves {
        let waves = json::waves(plan).into_iter().enumerate().map(|(at, wave)| {
            let head = format!("  wave {}  ", at + 1);
            let keys: Vec<String> = wave.into_iter().map(|key| view.plain(&line![code(key.to_string())])).collect();
            let lines = change::wrapped(&keys, view.width.saturating_sub(head.len()));
            format!("{head}{}\n", lines.join(&format!("\n{:1$}", "", head.len())))
        });
        write!(out, "\n{}", waves.collect::<String>())?;
    }
    if unknown {
        write!(out, "\n{}", draw::blocks(&outcome::incomplete(plan), view))?;
        if plan.changes.is_empty() && plan.blocked.is_empty() && plan.read_scope().namespaces == 0 {
            return Ok(());
        }
    }
    let counts = view.plain(&line![
        facts::headline(&[plan], [line![plan.in_sync(), " in sync"]]),
        ".   digest ",
        code(digest.short())
    ]);
    let commands = draw::commands(&facts::commands(plan, &digest, view), view);
    write!(out, "\n{}{counts}\n{commands}", draw::blocks(&outcome::guards(plan), view))
}

/// What the changes of a part have in common, where there are several parts.
fn heading(part: Part, is_empty: bool, plan: &Plan, view: &TextView) -> String {
    let base = || code(plan.source.base.as_deref().unwrap_or_default());
    let changed_here = |change: &Change| change.changed_here || change.fields().iter().any(|field| field.changed_here);
    let (word, text) = match part {
        Part::ThisChange if is_empty && plan.with_blocked().any(changed_here) => {
            ("no difference is from this change alone", Line::default())
        }
        Part::ThisChange if is_empty => ("no difference is from this change", Line::default()),
        Part::ThisChange => ("this change", Line::default()),
        Part::BehindBase => ("behind base", line!["  ", base(), " has newer changes that this change lacks:"]),
        Part::Others => ("not of this change", line![", and an apply does it as well:"]),
    };
    format!("\n  {}{}\n", view.palette.paint(Role::Strong, word), view.plain(&text))
}

fn in_sync(plan: &Plan, view: &TextView) -> String {
    let notes = notes(&note_facts::lines(plan), view);
    if let Some(run) = plan.undone() {
        let is_left = plan.notes.iter().any(|note| matches!(note, Note::Ignored { .. }));
        let what = if is_left { "all else that " } else { "what " };
        let text = line!["Nothing to roll back: ", what, code(run.as_str()), " wrote is as it was before it."];
        return format!("{}\n{notes}", view.plain(&text));
    }
    if let Some((from, to)) = plan.handed_over() {
        let text = line!["Nothing to move from stack ", code(from), " to stack ", code(to), "."];
        return format!("{}\n{notes}", view.plain(&text));
    }
    let environment = plan.source.environment.as_deref().map(|name| line!["environment ", code(name), ", "]);
    let text = line![
        Line::count(plan.in_sync(), plan.noun()),
        " in ",
        Line::count(plan.read_scope().namespaces, "namespace"),
        ", ",
        environment,
        view_of::source(plan)
    ];
    let elapsed = view.elapsed.map(|time| line![", ", took(time)]);
    let text = Line::labelled(Role::Right, "In sync", line![text, elapsed]);
    format!("{}{}\n{notes}", view.line(&text), narrowed(plan, view))
}

/// The filters of the call, and what they leave out; each behind a semicolon.
pub(super) fn narrowed(plan: &Plan, view: &TextView) -> String {
    view_of::narrowed(plan).iter().map(|part| format!("; {}", view.plain(part))).collect()
}

fn header(plan: &Plan, view: &TextView) -> String {
    let seen = plan.read_scope();
    let (title, defined) = match (plan.undone(), plan.handed_over()) {
        (Some(run), _) => (line!["Rollback of ", code(run.as_str()), " at"], None),
        (None, Some((from, to))) => (line!["Move from stack ", code(from), " to stack ", code(to), " at"], None),
        (None, None) => (line!["Plan for"], Some(Line::count(seen.endpoints, plan.noun()).and(" defined, "))),
    };
    let against = plan.source.base.as_deref().map(|base| line![", against ", code(base)]);
    let text = line![
        " ",
        code(&plan.service.base_url),
        ", ",
        view_of::stack(plan),
        against,
        ", ",
        Line::count(seen.namespaces, "namespace"),
        ", ",
        defined,
        view_of::source(plan)
    ];
    let title = view.palette.paint(Role::Strong, view.plain(&title));
    format!("{title}{}{}\n", view.plain(&text), narrowed(plan, view))
}

/// Ownership annotations need no review: one line.
fn annotates(plan: &Plan, view: &TextView) -> String {
    let (sign, role) = sign(ActionKind::Annotate);
    let line = |text| format!("\n  {} {}\n", view.palette.paint(role, sign), view.plain(&text));
    facts::annotates(plan, usize::MAX).map(line).collect()
}
