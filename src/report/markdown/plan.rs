//! A plan for a reviewer, under a budget.

use std::collections::BTreeMap;

use jiff::Timestamp;

use super::super::attribution::{AttributionDetail, is_ours, is_part, summary};
use super::super::reason::{block_reason, reason, removal, short_commit};
use super::super::unread::{self, Unread};
use super::super::{edits, plan_notes, time};
use super::{MarkdownOptions, block, count, digits, escape, marker};
use crate::model::{Key, Namespace};
use crate::plan::{Action, ActionKind, BlockReason, Change, GuardHit, Plan, RecordedConsent, ScopeRead};

/// The plan as Markdown. What is never left out comes first; edits follow while `options.budget`
/// bytes last.
#[must_use]
pub fn plan(plan: &Plan, options: &MarkdownOptions) -> String {
    let mut text = head(plan, options.detail);
    text.push_str(&setting_changes(plan));
    text.push_str(&alarms(plan));
    // What this change does comes before what it would revert.
    let others = |change: &&Change| !options.detail.lists_all(plan) && !is_part(change, is_ours);
    let mut deletes: Vec<&Change> = of_kind(plan, ActionKind::Delete).collect();
    deletes.sort_by_key(others);
    let rest = plan.changes.iter().filter(|change| change.action.kind() != ActionKind::Delete);
    let (mut listed, left): (Vec<&Change>, Vec<&Change>) = rest
        .filter(|change| change.action.kind() != ActionKind::Annotate)
        .partition(|change| block::is_listed_in_part(change, options.detail));
    listed.sort_by_key(others);
    let total = deletes.len() + listed.len() + left.len();
    // The end is made first, at its greatest length, so that its room is known.
    let digest = plan.digest();
    let digest = digest.short();
    let most = ShownCount { shown: total, total, deletes: deletes.len(), over: true };
    let reserve = foot(digest, options, most, Rest::Reported).len() + self::left(&left).len();

    let full = self::deletes(&deletes, options.now);
    let compact = compact_deletes(&deletes);
    let held = blocked(plan);
    // Deletes that would take more than half of the room are named without their details.
    let room = options.budget.saturating_sub(text.len() + held.len() + reserve);
    text.push_str(if full.len() * 2 > room && compact.len() < full.len() { &compact } else { &full });
    text.push_str(&held);

    let mut room = options.budget.saturating_sub(text.len() + reserve);
    let over = text.len() + reserve > options.budget;
    let mut put = |text: &mut String, piece: &str| {
        let fits = piece.len() <= room;
        if fits {
            text.push_str(piece);
            room -= piece.len();
        }
        fits
    };
    put(&mut text, &table(plan));
    let mut shown = deletes.len();
    let mut blocks = String::new();
    let folds = edits::fold(listed.iter().copied(), 2);
    let (mut under, mut misses) = ("", 0);
    for fold in &folds {
        // The shortest block there is, and how many that are too long are tried in search of one that fits.
        const LEAST: usize = 80;
        const MISSES: usize = 40;
        let section = match fold.changes.first().is_some_and(&others) {
            false => "#### Changes\n\n",
            true => "#### Behind base: applying would revert merged work\n\n",
        };
        let heading = if section == under { "" } else { section };
        let left = room.saturating_sub(blocks.len() + heading.len());
        if left < LEAST || misses == MISSES {
            break;
        }
        let Some(block) = block::draw(fold, options.detail, total == 1, left) else {
            misses += 1;
            continue;
        };
        blocks.push_str(heading);
        blocks.push_str(&block.text);
        shown += block.changes;
        under = section;
    }
    text.push_str(&blocks);
    room -= blocks.len();
    text.push_str(&self::left(&left));
    let notes = notes(plan);
    if notes.len() <= room {
        text.push_str(&notes);
    }
    let rest = if shown < total || over { Rest::Reported } else { Rest::None };
    text.push_str(&foot(digest, options, ShownCount { shown, total, deletes: deletes.len(), over }, rest));
    text
}

fn of_kind(plan: &Plan, kind: ActionKind) -> impl Iterator<Item = &Change> {
    plan.changes.iter().filter(move |change| change.action.kind() == kind)
}

/// What would be done, in a line.
pub(super) fn headline(plan: &Plan, sides: AttributionDetail) -> String {
    let mut parts = summary(plan, sides, digits);
    let annotates = plan.count(ActionKind::Annotate);
    if let Some((from, to)) = plan.handed_over().filter(|_| annotates > 0) {
        parts.push(format!(
            "{} to move from stack {} to stack {}",
            digits(annotates),
            escape::code(from),
            escape::code(to)
        ));
    }
    if !plan.blocked.is_empty() {
        parts.push(format!("{} blocked", digits(plan.blocked.len())));
    }
    if plan.unknown().next().is_some() {
        parts.push("a read is incomplete".to_owned());
    }
    if parts.is_empty() {
        parts.push("in sync".to_owned());
    }
    if plan.is_refused() {
        parts.insert(0, "refused".to_owned());
    }
    parts.join(", ")
}

/// The summary: what would be done, to what.
fn head(plan: &Plan, sides: AttributionDetail) -> String {
    let mut text = marker("plan", plan.stack.as_deref());
    text.push_str(&format!("### trueup plan: {}\n\n", headline(plan, sides)));
    text.push_str(&consents(plan));
    text.push_str(&format!("Service {}, ", escape::code(&plan.service.base_url)));
    text.push_str(&match &plan.stack {
        Some(stack) => format!("stack {}, ", escape::code(stack)),
        None => "no stack, ".to_owned(),
    });
    if let Some(environment) = &plan.source.environment {
        text.push_str(&format!("environment {}, ", escape::code(environment)));
    }
    text.push_str(&format!("{}, {} in sync", count(plan.read_scope().namespaces, "namespace"), digits(plan.in_sync())));
    if let Some(base) = &plan.source.base {
        text.push_str(&format!(", against {}", escape::code(base)));
    }
    if let Some(taken) = &plan.source.snapshot {
        text.push_str(&format!(", against the snapshot of {}", escape::code(&time::minute(taken))));
    }
    text.push_str(&super::narrowed(plan));
    let annotates = plan.count(ActionKind::Annotate);
    if annotates > 0 && plan.handed_over().is_none() {
        text.push_str(&format!(", {} in sync of which only the ownership annotations are written", digits(annotates)));
    }
    text.push_str(".\n\n");
    text
}

/// The settings that are others than at the base, or that the policy limits.
fn setting_changes(plan: &Plan) -> String {
    if plan.setting_changes.is_empty() {
        return String::new();
    }
    let title = match plan.setting_changes.iter().any(|change| change.base.is_some()) {
        true => "This change alters settings",
        false => "The policy limits settings",
    };
    let mut text = format!("#### {title}\n\n| | setting | at the base | here | in force |\n|---|---|---|---|---|\n");
    for change in &plan.setting_changes {
        text.push_str(&format!(
            "| **{}** | {} | {} | {} | {} |\n",
            change.direction,
            escape::cell(&change.setting),
            change.base.as_deref().map(escape::cell).unwrap_or_default(),
            escape::cell(&change.head),
            escape::cell(change.force().trim_start_matches("in force: ")),
        ));
    }
    text.push('\n');
    text
}

/// What a reviewer must know before anything else: that an apply would be refused, and who allowed what.
fn consents(plan: &Plan) -> String {
    let mut text = String::new();
    let refused = plan.refused();
    if !refused.is_empty() {
        text.push_str("**An apply of this plan is refused** unless it is allowed by name:\n\n");
        for guard in refused {
            text.push_str(&format!("- {}; `--allow {}`\n", guard_text(guard), guard.name));
        }
        text.push('\n');
    } else if plan.is_refused() {
        text.push_str("**An apply of this plan does nothing:** everything in it is blocked.\n\n");
    }
    for allowed in &plan.allowed {
        let guard = plan.guards.iter().find(|guard| guard.name.as_str() == allowed.name);
        let guard = guard.map(|guard| format!(", {}", guard_text(guard))).unwrap_or_default();
        text.push_str(&format!("**Allowed{}:** {}{guard}\n\n", by(allowed), escape::code(&allowed.name)));
    }
    text
}

fn by(allowed: &RecordedConsent) -> String {
    allowed.by.as_ref().map(|by| format!(" by {}", escape::code(by))).unwrap_or_default()
}

/// The namespaces that could not be read, by reason.
pub(super) fn incomplete<'a>(unknown: impl Iterator<Item = (&'a Namespace, &'a str)>) -> String {
    let line = |unread: &Unread<'_>| {
        format!(
            "- **Incomplete:** could not read {}: {}; nothing is concluded about {}\n",
            unread.listed(escape::code),
            escape::code(unread.reason),
            unread.them()
        )
    };
    unread::by_reason(unknown).iter().map(line).collect()
}

/// Reads that are unknown.
fn alarms(plan: &Plan) -> String {
    let mut text = incomplete(plan.unknown());
    if !text.is_empty() {
        text.push('\n');
    }
    text
}

fn guard_text(guard: &GuardHit) -> String {
    let words = guard.to_string();
    match &guard.namespace {
        Some(namespace) if !namespace.is_label() => escape::code(&words),
        _ => words,
    }
}

/// Every delete with what is known of it.
fn deletes(deletes: &[&Change], now: Option<Timestamp>) -> String {
    if deletes.is_empty() {
        return String::new();
    }
    let mut text = format!("#### {}\n\n", count(deletes.len(), "delete"));
    for change in deletes {
        text.push_str(&format!("- {}: {}", escape::code(&change.key.to_string()), reason(change)));
        if let Some(place) = removal(change) {
            text.push_str(&format!(", removed in {}", escape::code(&format!("{}:{}", place.file, place.line))));
        }
        if let Some(commit) = &change.removed_in {
            let id = escape::code(&short_commit(&commit.id));
            text.push_str(&format!(", file removed in {id} ({})", escape::code(&commit.date)));
        }
        if let Action::Delete { before, referrers } = &change.action {
            let target = edits::of(change).into_iter().next();
            if let Some((name, value)) = target.and_then(|edit| Some((edit.name, edit.before?))) {
                text.push_str(&format!(", was {}", escape::code(&format!("{name} {value}"))));
            }
            if let Some(modified) = &before.modified {
                text.push_str(&format!(", last changed {}", escape::code(&time::with_age(modified, now))));
            }
            for referrer in referrers {
                text.push_str(&format!(", referred to by {}", escape::code(&referrer.to_string())));
            }
        }
        text.push('\n');
    }
    text.push('\n');
    text
}

/// Every delete by its name alone, by namespace.
fn compact_deletes(deletes: &[&Change]) -> String {
    if deletes.is_empty() {
        return String::new();
    }
    let keys = deletes.iter().map(|change| &change.key);
    format!("#### {}\n\n{}\n", count(deletes.len(), "delete"), names(keys))
}

/// Names in a fence, a line for each namespace.
fn names<'a>(keys: impl Iterator<Item = &'a Key>) -> String {
    let mut namespaces: BTreeMap<&str, String> = BTreeMap::new();
    for key in keys {
        let line = namespaces.entry(key.namespace.as_str()).or_default();
        line.push(' ');
        // A name that the service holds and no definition could have might look like two.
        if key.name.is_label() {
            line.push_str(key.name.as_str());
        } else {
            line.push_str(&escape::line(&format!("{:?}", key.name.as_str())));
        }
    }
    let lines: Vec<String> =
        namespaces.into_iter().map(|(namespace, names)| format!("{}:{names}", escape::line(namespace))).collect();
    escape::fenced("text", &lines)
}

/// What is blocked, equal reasons together, every name.
fn blocked(plan: &Plan) -> String {
    if plan.blocked.is_empty() {
        return String::new();
    }
    let mut reasons: BTreeMap<(String, String), Vec<&Key>> = BTreeMap::new();
    for held in &plan.blocked {
        let (why, allow) = block_reason(held);
        let why = match &held.reason {
            BlockReason::Protected | BlockReason::Unverified => why,
            _ => escape::code(&why),
        };
        // The flag names the endpoint: one text serves all.
        let flag = allow.map(|allow| allow.split('=').next().unwrap_or_default().to_owned()).unwrap_or_default();
        reasons.entry((why, flag)).or_default().push(&held.key);
    }
    let mut text = format!("#### {} blocked\n\n", digits(plan.blocked.len()));
    for ((why, flag), keys) in reasons {
        let names = match keys.as_slice() {
            [one] => escape::code(&one.to_string()),
            many => digits(many.len()),
        };
        let allow = if flag.is_empty() { String::new() } else { format!("; to allow it: `{flag}=NAMESPACE/NAME`") };
        text.push_str(&format!("{names}: {why}{allow}\n\n"));
        if keys.len() > 1 {
            text.push_str(&self::names(keys.into_iter()));
            text.push('\n');
        }
    }
    text
}

/// Counts by namespace, where anything is to be done or unknown.
fn table(plan: &Plan) -> String {
    let mut rows = String::new();
    let heads = "| namespace | create | replace | delete | blocked | in sync |\n";
    let line = "|---|--:|--:|--:|--:|--:|\n";
    let mut changes: BTreeMap<(&Namespace, ActionKind), usize> = BTreeMap::new();
    for change in &plan.changes {
        *changes.entry((&change.key.namespace, change.action.kind())).or_default() += 1;
    }
    let mut held: BTreeMap<&Namespace, usize> = BTreeMap::new();
    for one in &plan.blocked {
        *held.entry(&one.key.namespace).or_default() += 1;
    }
    for (namespace, scope) in plan.scope.iter().filter(|(_, scope)| scope.selected) {
        let changes = |kind| changes.get(&(namespace, kind)).copied().unwrap_or_default();
        let held = held.get(namespace).copied().unwrap_or_default();
        let numbers = [changes(ActionKind::Create), changes(ActionKind::Replace), changes(ActionKind::Delete), held];
        if numbers.iter().all(|number| *number == 0) && matches!(scope.read, ScopeRead::Complete { .. }) {
            continue;
        }
        let in_sync = match &scope.read {
            ScopeRead::Complete { .. } => digits(scope.in_sync),
            ScopeRead::Unknown { .. } => "unknown".to_owned(),
        };
        let [create, replace, delete, blocked] = numbers.map(digits);
        let namespace = escape::cell(namespace.as_str());
        rows.push_str(&format!("| {namespace} | {create} | {replace} | {delete} | {blocked} | {in_sync} |\n"));
    }
    if rows.is_empty() { rows } else { format!("{heads}{line}{rows}\n") }
}

/// What is not this change's is counted.
fn left(changes: &[&Change]) -> String {
    if changes.is_empty() {
        return String::new();
    }
    let mut reasons: BTreeMap<&str, usize> = BTreeMap::new();
    for change in changes {
        *reasons.entry(reason(change)).or_default() += 1;
    }
    let message: Vec<String> =
        reasons.into_iter().map(|(reason, number)| format!("{} {reason}", digits(number))).collect();
    format!("Not from this change, and only counted: {} (`--all` shows them).\n\n", message.join(", "))
}

fn notes(plan: &Plan) -> String {
    let lines = plan_notes::lines(plan);
    if lines.is_empty() {
        return String::new();
    }
    let list: String = lines.iter().map(|line| format!("- {}\n", escape::code(line))).collect();
    format!("<details><summary>{}</summary>\n\n{list}\n</details>\n\n", count(lines.len(), "note"))
}

/// How much of the whole was listed.
struct ShownCount {
    shown: usize,
    total: usize,
    deletes: usize,
    over: bool,
}

/// Whether there is more to see elsewhere.
enum Rest {
    Reported,
    None,
}

fn foot(digest: &str, options: &MarkdownOptions, shown: ShownCount, rest: Rest) -> String {
    let ShownCount { shown, total, deletes, over } = shown;
    let mut text = String::new();
    if total > 0 {
        text.push_str(&format!("{} of {} shown", digits(shown), count(total, "change")));
        match deletes {
            0 => {}
            1 => text.push_str(", the delete shown"),
            many => text.push_str(&format!(", all {} deletes shown", digits(many))),
        }
        text.push_str(". ");
    }
    if over {
        text.push_str(&format!(
            "This is longer than {} bytes: deletes, guards and what is blocked are never left out. ",
            digits(options.budget)
        ));
    }
    text.push_str(&format!("Digest `{digest}`."));
    if let Some(apply) = &options.apply {
        text.push_str(&format!("\n\nApply exactly this: {}", escape::code(apply)));
    }
    if let Rest::Reported = rest {
        text.push_str(&format!(
            "{}Everything: {}",
            if options.apply.is_some() { "\n\n" } else { " " },
            escape::code(&options.rest)
        ));
    }
    text.push('\n');
    text
}
