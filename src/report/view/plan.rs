//! The view of a plan as text: what an apply does, what can hurt most last, then the notes, the counts and the commands that
//! apply exactly this plan.

use super::outcome::{consented, guards, incomplete, of_settings};
use super::{narrowed, source, stack};
use crate::plan::{ActionKind, Change, Note};
use crate::report::annotation::{self, Annotation};
use crate::report::facts::plan::{self as facts, Part, Rank, sign};
use crate::report::facts::{notes, unread};
use crate::report::json::{self, PlanReport};
use crate::report::prelude::*;

impl Report for Plan {
    fn blocks<'a>(&'a self, view: &TextView) -> Blocks<'a> {
        let (settings, is_unknown) = (of_settings(self), self.unknown().next().is_some());
        if self.changes.is_empty() && self.blocked.is_empty() && !is_unknown {
            return settings.then(in_sync(self, view)).and(Blocks::notes(notes::lines(self, |_| true)));
        }
        if unread::whole(self).is_some() {
            return settings.then(incomplete(self));
        }
        let (parts, digest) = (facts::parts(self), self.digest());
        let mut blocks = consented(self).then(settings).then(header(self));
        let is_alone = parts.len() == 1;
        for (part, items) in parts {
            if !is_alone {
                blocks.section(heading(part, items.is_empty(), self));
            }
            let mut annotates = if part == Part::ThisChange { annotates(self) } else { Blocks::default() };
            for item in items {
                // Ownership annotations are written with the replaces.
                if item.rank() >= Rank::Delete {
                    blocks.append(std::mem::take(&mut annotates));
                }
                blocks.section(Block::Item(item));
            }
            blocks.append(annotates);
            if part == Part::BehindBase {
                let base = code(self.source.base.as_deref().unwrap_or_default());
                let text = line!["applying would revert merged work; merge ", base, " into this change first"];
                blocks.section(Block::Line(8, text));
            }
        }
        blocks.section(Blocks::notes(notes::lines(self, |_| true)));
        if view.waves {
            let waves = json::waves(self).into_iter().enumerate();
            blocks.section(Blocks(waves.map(|(at, wave)| Block::Wave(at + 1, wave)).collect()));
        }
        if is_unknown {
            blocks.section(incomplete(self));
            if self.changes.is_empty() && self.blocked.is_empty() && self.read_scope().namespaces == 0 {
                return blocks;
            }
        }
        let in_sync = line![self.in_sync(), " in sync"];
        let counts = line![facts::headline(&[self], [in_sync]), ".   digest ", code(digest.short().to_owned())];
        blocks.section(guards(self).then(counts).and(Block::Commands(facts::commands(self, &digest, view))));
        blocks
    }

    written_as!("plan_report", PlanReport::new);

    fn view<'a>(&'a self, view: &TextView) -> Option<View<'a>> {
        Some(View::of_plan(self, view))
    }

    fn annotations(&self) -> Vec<Annotation> {
        annotation::of_plan(self)
    }

    fn directory(&self) -> Option<&str> {
        self.made_for()
    }
}

/// What the changes of a part have in common, if there are several parts.
fn heading(part: Part, is_empty: bool, plan: &Plan) -> Block<'_> {
    let base = || code(plan.source.base.as_deref().unwrap_or_default());
    let changed_here = |change: &Change| change.changed_here || change.fields().iter().any(|field| field.changed_here);
    let (word, text) = match part {
        Part::ThisChange if is_empty && plan.with_blocked().any(changed_here) => {
            ("no difference is from this change alone", Line::default())
        }
        Part::ThisChange if is_empty => ("no difference is from this change", Line::default()),
        Part::ThisChange => ("this change", Line::default()),
        Part::BehindBase => ("behind base", line!["  ", base(), " has newer changes that this change lacks:"]),
        Part::Others => ("not part of this change", line![", but an apply makes it as well:"]),
    };
    Block::Line(2, line![styled(Role::Strong, word), text])
}

fn in_sync<'a>(plan: &'a Plan, view: &TextView) -> Line<'a> {
    if let Some(run) = plan.undone() {
        let is_left = plan.notes.iter().any(|note| matches!(note, Note::Ignored { .. }));
        let what = if is_left { "all else that " } else { "what " };
        return line!["Nothing to roll back: ", what, code(run.as_str()), " wrote is as it was before it."];
    }
    if let Some((from, to)) = plan.handed_over() {
        return line!["Nothing to move from stack ", code(from), " to stack ", code(to), "."];
    }
    let environment = plan.source.environment.as_deref().map(|name| line!["environment ", code(name), ", "]);
    let namespaces = Line::count(plan.read_scope().namespaces, "namespace");
    let all = line![Line::count(plan.in_sync(), plan.noun()), " in ", namespaces, ", ", environment];
    let elapsed = view.elapsed.map(|time| line![", ", took(time)]);
    Line::labelled(Role::Right, "In sync", line![all, source(plan), elapsed, behind_semicolons(plan)])
}

/// The filters of the call, and what they leave out; each after a semicolon.
pub(super) fn behind_semicolons(plan: &Plan) -> Line<'_> {
    Line::joined(narrowed(plan).into_iter().map(|part| line!["; ", part]), "")
}

fn header(plan: &Plan) -> Line<'_> {
    let seen = plan.read_scope();
    let (title, defined) = match (plan.undone(), plan.handed_over()) {
        (Some(run), _) => (line!["Rollback of ", code(run.as_str()), " at"], None),
        (None, Some((from, to))) => (line!["Move from stack ", code(from), " to stack ", code(to), " at"], None),
        (None, None) => (line!["Plan for"], Some(Line::count(seen.endpoints, plan.noun()).and(" defined, "))),
    };
    let against = plan.source.base.as_deref().map(|base| line![", against ", code(base)]);
    let title = line![styled(Role::Strong, title), " ", code(&plan.service.base_url), ", ", stack(plan), against];
    let namespaces = Line::count(seen.namespaces, "namespace");
    line![title, ", ", namespaces, ", ", defined, source(plan), behind_semicolons(plan)]
}

/// Ownership annotations need no review: a line for each stack that they take objects from.
fn annotates(plan: &Plan) -> Blocks<'_> {
    let (sign, role) = sign(ActionKind::Annotate);
    let lines = facts::annotates(plan, usize::MAX);
    Blocks(lines.flat_map(|line| [Block::Gap, Block::Line(2, line![styled(role, sign), " ", line])]).collect())
}
