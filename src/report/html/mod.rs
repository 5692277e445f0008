//! A plan as one HTML page that needs nothing else: it contains styles, script and data, and its
//! content security policy names them by their hashes, so that nothing of what a definition or the
//! service says can load or run anything. Numbers, alarms, what is blocked and the names of all
//! changes can be read without the script.

pub mod listing;

use data_encoding::BASE64;
use serde::Serialize;
use serde_json::json;
use sha2::{Digest as _, Sha256};

use super::attribution::{AttributionDetail, concerns_us, is_ours, is_part};
use super::edits::{self, ValueEdit};
use super::markdown::digits;
use super::reason::{block_reason, reason, short_commit};
use super::{plan_notes, safe, template, text, unread};
use crate::model::policy::Direction;
use crate::model::{Json, SourceLocation};
use crate::plan::{Action, ActionKind, Attribution, BlockedChange, Cause, Change, Digest, Plan};

const PAGE: &str = include_str!("page.html");
const STYLE: &str = include_str!("page.css");
const SCRIPT: &str = include_str!("page.js");

/// What the page's script draws.
#[derive(Serialize)]
struct PageContent {
    changes: Vec<PageRow>,
    /// Each different list of edits once: its name, its signed lines, and its cause or attribution.
    edits: Vec<Vec<Json>>,
    /// How many of them, the first ones, concern the change under review; nothing where everything does,
    /// or where everything was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    ours: Option<usize>,
}

/// One change; the keys are short because there may be many thousands.
#[derive(Serialize)]
struct PageRow {
    /// The key.
    k: String,
    /// The namespace.
    n: String,
    /// The action, or `blocked`.
    a: &'static str,
    /// Why.
    r: &'static str,
    /// Where the definition stands.
    #[serde(skip_serializing_if = "Option::is_none")]
    p: Option<String>,
    /// What else there is to say.
    #[serde(skip_serializing_if = "String::is_empty")]
    t: String,
    /// Which edits.
    e: usize,
    /// The place of each edit: a line of the definition's file, or a place of its own.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    l: Vec<Json>,
}

/// The plan as a page. `command` shows it again. Where a base says whose each difference is, the page
/// opens with those of this change and counts the others, unless `sides` wants them all.
#[must_use]
pub fn plan(plan: &Plan, command: &str, sides: AttributionDetail) -> String {
    let heading = format!("Plan for {}", text::stack(plan));
    let (data, digest) = (data(plan, sides), plan.digest());
    // The hashes are of what stands between the tags, byte for byte.
    let policy = format!(
        "default-src 'none'; style-src 'sha256-{}'; script-src 'sha256-{}'; base-uri 'none'; form-action 'none'",
        BASE64.encode(&Sha256::digest(STYLE)),
        BASE64.encode(&Sha256::digest(SCRIPT))
    );
    let part = |name: &str| match name {
        "policy" => policy.clone(),
        "title" => safe::html(&format!("{heading} · trueup")),
        "style" => STYLE.to_owned(),
        "heading" => safe::html(&heading),
        "facts" => facts(plan, &digest),
        "counts" => counts(plan, sides),
        "alarms" => alarms(plan),
        "plain" => plain(plan),
        "notes" => notes(plan),
        "footer" => footer(plan, &digest, command),
        "data" => data.clone(),
        "script" => SCRIPT.to_owned(),
        _ => String::new(),
    };
    template::fill(PAGE, part)
}

fn facts(plan: &Plan, digest: &Digest) -> String {
    let mut facts = vec![format!("<code>{}</code>", safe::html(&plan.service.base_url))];
    let looked = plan.read_scope();
    let names = if looked.namespaces == 1 { "namespace" } else { "namespaces" };
    facts.push(format!("{} {names}", looked.namespaces));
    if !plan.source.filters.is_empty() {
        facts.push(format!("filtered by <code>{}</code>", safe::html(&plan.source.filters.join(" "))));
    }
    facts.extend(text::outside(plan));
    if let Some(base) = &plan.source.base {
        facts.push(format!("against <code>{}</code>", safe::html(base)));
    }
    if let Some(taken) = &plan.source.snapshot {
        facts.push(format!("against the snapshot of {}", safe::html(&text::minute(taken))));
    }
    if let Some(commit) = &plan.source.commit {
        let commit: String = commit.chars().take(12).collect();
        facts.push(format!("commit <code>{}</code>", safe::html(&commit)));
    }
    facts.push(format!("digest <code>{}</code>", digest.short()));
    facts.join(" · ")
}

fn counts(plan: &Plan, sides: AttributionDetail) -> String {
    let mut text = String::new();
    let mut card = |class: &str, number: usize, words: &str| {
        text.push_str(&format!("<li class=\"{class}\"><b>{}</b> {words}</li>", digits(number)));
    };
    let done: Vec<&Change> =
        plan.changes.iter().filter(|change| change.action.kind() != ActionKind::Annotate).collect();
    let (ours, others): (Vec<&Change>, Vec<&Change>) =
        done.into_iter().partition(|change| sides.lists_all(plan) || is_part(change, is_ours));
    for (kind, words) in
        [(ActionKind::Create, "to create"), (ActionKind::Replace, "to replace"), (ActionKind::Delete, "to delete")]
    {
        card(kind.as_str(), ours.iter().filter(|change| change.action.kind() == kind).count(), words);
    }
    let behind = others.iter().filter(|change| change.is_behind_base()).count();
    if !others.is_empty() {
        card("delete", behind, "behind base");
        card("mark", others.len() - behind, "not this change");
    }
    if !plan.blocked.is_empty() {
        card("blocked", plan.blocked.len(), "blocked");
    }
    if plan.count(ActionKind::Annotate) > 0 {
        card("annotate", plan.count(ActionKind::Annotate), "annotations only");
    }
    card("sync", plan.in_sync(), "in sync");
    text
}

fn alarms(plan: &Plan) -> String {
    let mut text = String::new();
    if plan.is_refused() {
        let why = match plan.refused().is_empty() {
            false => "unless what follows is allowed by name",
            true => "because everything in it is blocked",
        };
        text.push_str(&format!(
            "<p class=\"alarm\" role=\"alert\"><strong>An apply of this plan is refused</strong> {why}.</p>"
        ));
    }
    for allowed in &plan.allowed {
        let by = allowed.by.as_ref().map(|by| format!(" by <code>{}</code>", safe::html(by))).unwrap_or_default();
        text.push_str(&format!(
            "<p class=\"alarm\" role=\"note\"><strong>Allowed</strong>{by}: <code>{}</code></p>",
            safe::html(&allowed.name)
        ));
    }
    for change in &plan.setting_changes {
        let direction = match change.direction {
            Direction::Loosened => "Setting loosened.",
            Direction::Changed => "Setting changed.",
            Direction::Limited => "Setting limited by the policy.",
            Direction::Tightened => "Setting tightened.",
        };
        text.push_str(&format!(
            "<p class=\"alarm\" role=\"note\"><strong>{direction}</strong> <code>{}</code>: {}; {}</p>",
            safe::html(&change.setting),
            safe::html(&change.values()),
            safe::html(&change.force()),
        ));
    }
    for unread in unread::by_reason(plan.unknown()) {
        text.push_str(&format!(
            "<p class=\"alarm\" role=\"note\"><strong>Incomplete.</strong> Could not read {}: {}. \
             Nothing is concluded about {}.</p>",
            unread.listed(|name| format!("<code>{}</code>", safe::html(name))),
            safe::html(unread.reason),
            unread.them(),
        ));
    }
    for guard in plan.refused() {
        text.push_str(&format!(
            "<p class=\"alarm\" role=\"note\"><strong>Refused unless allowed.</strong> {}: \
             <code>--allow {}</code></p>",
            quoted(&guard.to_string()),
            guard.name
        ));
    }
    text
}

/// Our own words, what they quote in backticks as code.
fn quoted(words: &str) -> String {
    let pieces = words.split('`').enumerate();
    pieces
        .map(|(at, piece)| match at % 2 {
            0 => safe::html(piece),
            _ => format!("<code>{}</code>", safe::html(piece)),
        })
        .collect()
}

/// Every change by its name, for readers without the script.
fn plain(plan: &Plan) -> String {
    let mut lines = String::new();
    let mut changes: Vec<&Change> =
        plan.changes.iter().filter(|change| change.action.kind() != ActionKind::Annotate).collect();
    changes.sort_by_key(|change| distance(change));
    for change in changes {
        let line = format!("{:<8}{}  ({})\n", change.action.kind().as_str(), change.key, reason(change));
        lines.push_str(&safe::html(line.trim_end()));
        lines.push('\n');
    }
    for held in &plan.blocked {
        let line = format!("blocked {}: {}", held.key, block_reason(held).0);
        lines.push_str(&safe::html(&line));
        lines.push('\n');
    }
    format!(
        "<h2>Changes</h2><p>Their differences need JavaScript; the names do not.</p><div class=\"plain\">{lines}</div>"
    )
}

fn notes(plan: &Plan) -> String {
    let lines = plan_notes::lines(plan);
    if lines.is_empty() {
        return String::new();
    }
    let items: String = lines.iter().map(|line| format!("<li>{}</li>", safe::html(line))).collect();
    let words = if lines.len() == 1 { "note" } else { "notes" };
    format!("<details class=\"notes\"><summary>{} {words}</summary><ul>{items}</ul></details>", lines.len())
}

fn footer(plan: &Plan, digest: &Digest, command: &str) -> String {
    format!(
        "Made with <code>{}</code> by trueup {}. <code>trueup apply</code> with <code>--digest {}</code> makes \
         exactly this plan and no other.",
        safe::html(command),
        safe::html(&plan.tool_version),
        digest.short()
    )
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

/// The data as JSON that cannot end its element.
fn data(plan: &Plan, sides: AttributionDetail) -> String {
    let mut content = PageContent { changes: Vec::new(), edits: Vec::new(), ours: None };
    // What concerns this change first, and in it what needs the most care.
    for far in 0..=OTHERS {
        if far == OTHERS && !sides.lists_all(plan) {
            content.ours = Some(content.changes.len());
        }
        for held in plan.blocked.iter().filter(|held| held.change.as_ref().map_or(0, distance) == far) {
            content.changes.push(of_blocked(held, content.edits.len()));
            let edits = held.change.as_ref().map(edits::of).unwrap_or_default();
            content.edits.push(edits.iter().map(page_edit).collect());
        }
        let mut changes: Vec<&Change> = plan.changes.iter().filter(|change| distance(change) == far).collect();
        changes.sort_by_key(|change| std::cmp::Reverse(change.action.kind()));
        for fold in edits::fold(changes, 2) {
            content.changes.extend(fold.changes.iter().map(|change| of_change(change, content.edits.len())));
            content.edits.push(fold.edits.iter().map(page_edit).collect());
        }
    }
    // Text keys, strings, numbers: nothing that fails.
    let json = serde_json::to_string(&content).unwrap_or_default();
    let mut escaped = String::with_capacity(json.len());
    for character in json.chars() {
        match character {
            '<' | '>' | '&' | '\u{2028}' | '\u{2029}' => escaped.push_str(&format!("\\u{:04x}", u32::from(character))),
            other => escaped.push(other),
        }
    }
    escaped
}

fn page_edit(edit: &ValueEdit) -> Json {
    let lines = edit.lines().into_iter().map(|(sign, text)| json!([sign.as_char(), safe::line(&text)]));
    let reason = edit.attribution.map(Attribution::as_str).or(edit.cause.map(Cause::as_str));
    json!({"n": safe::line(&edit.name), "l": lines.collect::<Vec<_>>(), "c": reason})
}

fn at(place: &SourceLocation) -> String {
    safe::line(&format!("{}:{}", place.file, place.line)).into_owned()
}

fn of_change(change: &Change, edits: usize) -> PageRow {
    let file = change.place.as_ref().map(|place| &place.file);
    let places = edits::of(change).into_iter().map(|edit| match &edit.place {
        Some(place) if Some(&place.file) == file => place.line.into(),
        Some(place) => at(place).into(),
        None => Json::Null,
    });
    let places: Vec<Json> = places.collect();
    PageRow {
        k: safe::line(&change.key.to_string()).into_owned(),
        n: safe::line(change.key.namespace.as_str()).into_owned(),
        a: change.action.kind().as_str(),
        r: reason(change),
        p: change.place.as_ref().map(at),
        t: action_text(change),
        e: edits,
        l: if places.iter().all(Json::is_null) { Vec::new() } else { places },
    }
}

/// What is known of a change beside its edits.
fn action_text(change: &Change) -> String {
    let mut parts = Vec::new();
    if let Some(commit) = &change.removed_in {
        parts.push(format!("file removed in {} ({})", short_commit(&commit.id), commit.date));
    }
    if let Action::Delete { referrers, .. } = &change.action {
        parts.extend(referrers.iter().map(|referrer| format!("referred to by {referrer}")));
    }
    if let Some(before) = change.action.before() {
        if let Some(modified) = &before.modified {
            parts.push(format!("last changed {modified}"));
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
        k: safe::line(&held.key.to_string()).into_owned(),
        n: safe::line(held.key.namespace.as_str()).into_owned(),
        a: "blocked",
        r: held.change.as_ref().map_or("blocked", reason),
        p: held.place.as_ref().map(at),
        t: format!("{why}{allow}"),
        e: edits,
        l: Vec::new(),
    }
}

#[cfg(test)]
mod tests;
