//! A plan as a page: the changes with their values, deletes first, and the command that applies exactly them.

use jiff::Timestamp;

use super::{Page, PageContent, PageRow, at, page_edit, quoted};
use crate::model::Json;
use crate::model::policy::Direction;
use crate::plan::{Action, ActionKind, BlockedChange, Change, Digest, Plan};
use crate::report::attribution::{AttributionDetail, concerns_us, is_ours, is_part};
use crate::report::reason::{block_reason, reason, removal, short_commit};
use crate::report::{ReportOptions, edits, plan_notes, safe, text, time, unread};

/// The plan as a page. Where a base attributes the differences, the page opens with those of this change and counts
/// the others, unless all of them are asked for.
#[must_use]
pub fn plan(plan: &Plan, options: &ReportOptions<'_>) -> String {
    let (digest, detail) = (plan.digest(), options.view.detail);
    let mut page = Page {
        heading: safe::html(&heading(plan)),
        facts: facts(plan, &digest),
        plain: plain(plan),
        notes: plan_notes::lines(plan).iter().map(|line| safe::html(line)).collect(),
        footer: footer(plan, &options.command),
        content: content(plan, detail, options.now),
        ..Page::default()
    };
    counts(plan, detail, &mut page);
    alarms(plan, "", &mut page);
    let command = text::apply_command(plan, &digest, options.saved, options.view);
    page.commands.extend(command.map(|command| ("Apply exactly this plan", command)));
    page.render()
}

fn heading(plan: &Plan) -> String {
    match (plan.undone(), plan.handed_over()) {
        (Some(run), _) => format!("Rollback of {run}, {}", text::stack(plan)),
        (None, Some((from, to))) => format!("Move from stack {from} to stack {to}"),
        (None, None) => format!("Plan for {}", text::stack(plan)),
    }
}

/// What was read, and how narrowly.
pub(super) fn facts_of_read(plan: &Plan) -> Vec<String> {
    let mut facts = vec![format!("<code>{}</code>", safe::html(&plan.service.base_url))];
    let namespaces = plan.read_scope().namespaces;
    facts.push(format!("{namespaces} {}", if namespaces == 1 { "namespace" } else { "namespaces" }));
    if !plan.source.filters.is_empty() {
        facts.push(format!("filtered by <code>{}</code>", safe::html(&plan.source.filters.join(" "))));
    }
    facts.extend(text::outside(plan));
    if let Some(taken) = &plan.source.snapshot {
        facts.push(format!("against the snapshot of {}", safe::html(&time::minute(taken))));
    }
    facts
}

fn facts(plan: &Plan, digest: &Digest) -> Vec<String> {
    let mut facts = facts_of_read(plan);
    if let Some(base) = &plan.source.base {
        facts.push(format!("against <code>{}</code>", safe::html(base)));
    }
    if let Some(commit) = &plan.source.commit {
        facts.push(format!("commit <code>{}</code>", safe::html(&short_commit(commit))));
    }
    facts.push(format!("digest <code>{}</code>", digest.short()));
    facts
}

fn counts(plan: &Plan, detail: AttributionDetail, page: &mut Page) {
    let done: Vec<&Change> =
        plan.changes.iter().filter(|change| change.action.kind() != ActionKind::Annotate).collect();
    let (ours, others): (Vec<&Change>, Vec<&Change>) =
        done.into_iter().partition(|change| detail.lists_all(plan) || is_part(change, is_ours));
    for (kind, words) in
        [(ActionKind::Create, "to create"), (ActionKind::Replace, "to replace"), (ActionKind::Delete, "to delete")]
    {
        page.card(kind.as_str(), ours.iter().filter(|change| change.action.kind() == kind).count(), words);
    }
    let behind = others.iter().filter(|change| change.is_behind_base()).count();
    page.card("delete", behind, "behind base");
    page.card("mark", others.len() - behind, "not this change");
    page.card("blocked", plan.blocked.len(), "blocked");
    let annotates = if plan.handed_over().is_some() { "to move" } else { "annotations only" };
    page.card("annotate", plan.count(ActionKind::Annotate), annotates);
    page.card("sync", plan.in_sync(), "in sync");
}

/// What a reviewer must know first. `whose` is before each title.
pub(super) fn alarms(plan: &Plan, whose: &str, page: &mut Page) {
    let refused = plan.refused();
    if !refused.is_empty() {
        let guards = refused.iter().map(|guard| {
            let allow = format!("to allow it: <code>--allow {}</code>", guard.name);
            format!("{}; {allow}", quoted(&guard.to_string()))
        });
        page.alarm(&format!("{whose}An apply of this plan is refused:"), &guards.collect::<Vec<_>>().join("<br>"));
    } else if plan.is_refused() {
        page.alarm(&format!("{whose}An apply of this plan is refused:"), "everything in it is blocked.");
    }
    for allowed in &plan.allowed {
        let by = allowed.by.as_ref().map(|by| format!(" by <code>{}</code>", safe::html(by))).unwrap_or_default();
        page.alarm(&format!("{whose}Allowed{by}:"), &format!("<code>{}</code>", safe::html(&allowed.name)));
    }
    let settings: Vec<String> = plan
        .setting_changes
        .iter()
        .map(|change| {
            let direction = match change.direction {
                Direction::Loosened => "loosened",
                Direction::Changed => "changed",
                Direction::Limited => "limited by the policy",
                Direction::Tightened => "tightened",
            };
            let (values, force) = (safe::html(&change.values()), safe::html(&change.force()));
            format!("<code>{}</code> {direction}: {values}; {force}", safe::html(&change.setting))
        })
        .collect();
    if !settings.is_empty() {
        page.alarm(&format!("{whose}Settings are not those of the base or the policy."), &settings.join("<br>"));
    }
    page.unread(&unread::by_reason(plan.unknown()));
}

/// Every change by its name, for readers without the script.
pub(super) fn plain(plan: &Plan) -> Vec<String> {
    let mut changes: Vec<&Change> =
        plan.changes.iter().filter(|change| change.action.kind() != ActionKind::Annotate).collect();
    changes.sort_by_key(|change| (distance(change), std::cmp::Reverse(change.action.kind())));
    let changes = changes
        .into_iter()
        .map(|change| format!("{:<8}{}  ({})", change.action.kind().as_str(), change.key, reason(change)));
    let blocked = plan.blocked.iter().map(|held| format!("blocked {}: {}", held.key, block_reason(held).0));
    changes.chain(blocked).map(|line| safe::html(&line)).collect()
}

fn footer(plan: &Plan, command: &str) -> String {
    format!("Made with <code>{}</code> by trueup {}.", safe::html(command), safe::html(&plan.tool_version))
}

/// How far a change is from the change under review.
const OTHERS: u8 = 2;

/// 0 where it is part of the change under review, 1 where that would revert merged work, [`OTHERS`]
/// where it does not concern it.
fn distance(change: &Change) -> u8 {
    match (is_part(change, is_ours), is_part(change, concerns_us)) {
        (true, _) => 0,
        (false, true) => 1,
        (false, false) => OTHERS,
    }
}

/// The changes as the script draws them: those of this change first, and in them deletes first.
pub(super) fn content(plan: &Plan, detail: AttributionDetail, now: Option<Timestamp>) -> PageContent {
    let mut content = PageContent { sides: ["live", "wanted"], ..PageContent::default() };
    for far in 0..=OTHERS {
        if far == OTHERS && !detail.lists_all(plan) {
            content.ours = Some(content.changes.len());
        }
        let near = |change: &&Change| distance(change) == far;
        let (deletes, others): (Vec<&Change>, Vec<&Change>) =
            plan.changes.iter().filter(near).partition(|change| change.action.kind() == ActionKind::Delete);
        fold(&mut content, deletes, now);
        for held in plan.blocked.iter().filter(|held| held.change.as_ref().map_or(0, distance) == far) {
            let edits = held.change.as_ref().map(edits::of).unwrap_or_default();
            content.changes.push(of_blocked(held, content.edits.len()));
            content.edits.push(edits.iter().map(page_edit).collect());
        }
        let (replaces, creates): (Vec<&Change>, Vec<&Change>) =
            others.into_iter().partition(|change| change.action.kind() == ActionKind::Replace);
        fold(&mut content, replaces, now);
        fold(&mut content, creates, now);
    }
    content
}

fn fold(content: &mut PageContent, changes: Vec<&Change>, now: Option<Timestamp>) {
    for fold in edits::fold(changes, 2) {
        content.changes.extend(fold.changes.iter().map(|change| of_change(change, content.edits.len(), now)));
        content.edits.push(fold.edits().iter().map(page_edit).collect());
    }
}

fn of_change(change: &Change, edits: usize, now: Option<Timestamp>) -> PageRow {
    let file = change.place.as_ref().map(|place| &place.file);
    let places = edits::of(change).into_iter().map(|edit| match &edit.place {
        Some(place) if Some(&place.file) == file => place.line.into(),
        Some(place) => at(place).into(),
        None => Json::Null,
    });
    let places: Vec<Json> = places.collect();
    PageRow {
        p: change.place.as_ref().map(at),
        t: action_text(change, now),
        l: if places.iter().all(Json::is_null) { Vec::new() } else { places },
        ..PageRow::new(&change.key, change.action.kind().as_str(), reason(change), edits)
    }
}

/// What is known of a change beside its edits.
pub(super) fn action_text(change: &Change, now: Option<Timestamp>) -> String {
    let mut parts = Vec::new();
    parts.extend(removal(change).map(|place| format!("removed in {}", at(place))));
    if let Some(commit) = &change.removed_in {
        parts.push(format!("file removed in {} ({})", short_commit(&commit.id), commit.date));
    }
    if let Action::Delete { referrers, .. } = &change.action {
        parts.extend(referrers.iter().map(|referrer| format!("referred to by {referrer}")));
    }
    if let Some(before) = change.action.before() {
        if let Some(modified) = &before.modified {
            parts.push(format!("last changed {}", time::with_age(modified, now)));
        }
        if let Some(creator) = &before.creator {
            parts.push(format!("created by {creator}"));
        }
    }
    safe::line(&parts.join("; ")).into_owned()
}

fn of_blocked(held: &BlockedChange, edits: usize) -> PageRow {
    let (why, allow) = block_reason(held);
    let allow = allow.map(|allow| format!("; to allow it: {allow}")).unwrap_or_default();
    PageRow {
        p: held.place.as_ref().map(at),
        t: format!("{why}{allow}"),
        ..PageRow::new(&held.key, "blocked", held.change.as_ref().map_or("blocked", reason), edits)
    }
}
