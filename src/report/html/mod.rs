//! A report as one HTML page that needs nothing else: it contains styles, script and data, and its content
//! security policy names them by their hashes, so that nothing of what a definition or the service says can load
//! or run anything. Numbers, alarms, what is blocked and the names of all changes can be read without the script.

mod fleet;

pub(super) use fleet::fleet;

use std::collections::HashMap;

use data_encoding::BASE64;
use serde_json::json;
use sha2::{Digest as _, Sha256};

use super::facts::check::{Row, State};
use super::facts::edits::{self, ValueEdit};
use super::facts::plan::{Command, Item, Part as PlanPart, annotates};
use super::facts::reason::{block_reason, of_edit, reason_since, removed};
use super::text::draw::plain;
use crate::model::SourceLocation;
use crate::plan::{Action, BlockedChange, Change};
use crate::report::line;
use crate::report::prelude::*;

const PAGE: &str = include_str!("page.html");
const STYLE: &str = include_str!("page.css");
const SCRIPT: &str = include_str!("page.js");

/// The words of a check for the actions of a plan.
const WORDS: [(&str, &str); 4] =
    [("replace", "changed"), ("create", "deleted"), ("delete", "unmanaged"), ("annotate", "pending")];

/// A line as HTML: the one place that writes foreign text into a page.
pub(in crate::report) fn draw(line: &Line<'_>) -> String {
    let mut text = String::new();
    for part in &line.0 {
        match part {
            // Our own words; what they quote in backticks is code.
            Part::Own(words) => {
                for (at, piece) in words.split('`').enumerate() {
                    let piece = safe::html(piece);
                    if at % 2 == 0 { text.push_str(&piece) } else { text.extend(["<code>", &piece, "</code>"]) }
                }
            }
            Part::Styled(role, parts) => {
                let strong = if role.is_loud() { ["<strong>", "</strong>"] } else { ["", ""] };
                text.extend([strong[0], &draw(parts), strong[1]]);
            }
            Part::Made(words) => text.push_str(words),
            Part::Foreign(words) => text.push_str(&safe::html(words)),
            Part::Code(words) | Part::Quoted(words) => text.extend(["<code>", &safe::html(words), "</code>"]),
        }
    }
    text
}

/// A report about one stack as a page.
pub(super) fn report(view: &View<'_>, options: &TextView) -> String {
    let mut page = Page::new(view.heading.clone(), &view.content, &options.command);
    page.facts.extend(view.facts.iter().map(draw));
    page.facts.extend(view.digest.iter().map(|digest| draw(&line!["digest ", code(digest)])));
    page.cards(&view.counts);
    page.commands.extend(view.commands.iter().map(self::command));
    page.add(view, None, options.now);
    page.render()
}

/// A page before it is put together; every text is HTML already.
#[derive(Default)]
struct Page {
    title: String,
    heading: String,
    facts: Vec<String>,
    counts: String,
    alarms: String,
    /// What can be done next.
    commands: Vec<String>,
    /// A line for each change, for readers without the script.
    plain: Vec<String>,
    notes: Vec<String>,
    footer: String,
    content: PageContent,
    /// Where each list of edits is in the content.
    known: HashMap<String, usize>,
}

/// What the page's script draws.
#[derive(Serialize, Default)]
struct PageContent {
    changes: Vec<PageRow>,
    /// Each different list of edits once: its name, its signed lines, and its cause or attribution.
    edits: Vec<Vec<Json>>,
    /// How many of the changes, the first ones, concern the change under review; `None` if all do, or if all were asked
    /// for.
    #[serde(skip_serializing_if = "Option::is_none")]
    ours: Option<usize>,
    /// Other words for the actions, if they have some.
    words: BTreeMap<&'static str, &'static str>,
    /// What the removed and the added lines of an edit are.
    sides: [&'static str; 2],
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
    r: String,
    /// Where the definition is.
    #[serde(skip_serializing_if = "Option::is_none")]
    p: Option<String>,
    /// What else is known.
    #[serde(skip_serializing_if = "String::is_empty")]
    t: String,
    /// Which edits.
    e: usize,
    /// The place of each edit: a line of the definition's file, or a place of its own.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    l: Vec<Json>,
}

impl Page {
    /// A page with nothing on it. What a plan does goes from live to wanted; what a check found names both sides.
    fn new(heading: Line<'_>, content: &Content<'_>, command: &str) -> Self {
        let content = match content {
            Content::Plan(_) => PageContent { sides: ["live", "wanted"], ..PageContent::default() },
            Content::Check(..) => {
                PageContent { sides: ["defined", "live"], words: BTreeMap::from(WORDS), ..PageContent::default() }
            }
        };
        let footer = line!["Made with ", code(command), " by trueup ", env!("CARGO_PKG_VERSION"), "."];
        let title = line![heading.clone(), " · trueup"];
        // A title cannot contain elements.
        let title = safe::html(&title.unescaped());
        Self { title, heading: draw(&heading), footer: draw(&footer), content, ..Self::default() }
    }

    /// Adds what a report lists, with its alarms and notes. `stack` is the name of its stack in a report about several.
    fn add(&mut self, view: &View<'_>, stack: Option<&str>, now: Option<Timestamp>) {
        let whose = || stack.map(|name| line![code(name), ": "]);
        for alarm in &view.alarms {
            self.alarm(&Alarm { text: line![whose(), alarm.text.clone()], items: alarm.items.clone(), ..*alarm });
        }
        if let Some(table) = &view.settings {
            let rows = table.rows.iter().map(|cells| draw(&Line::joined(cells.iter().cloned(), " ")));
            let title = draw(&line![whose(), table.title.clone()]);
            self.banner(Role::Wrong, &title, &rows.collect::<Vec<_>>().join("<br>"));
        }
        let from = self.content.changes.len();
        match &view.content {
            Content::Plan(parts) => {
                self.add_plan(parts, stack.is_none(), now);
                self.notes
                    .extend(annotates(view.plan, usize::MAX).map(|line| draw(&line![whose(), "annotate ", line])));
            }
            Content::Check(rows, accepted) => {
                rows.iter().for_each(|row| self.add_row(row, now));
                self.notes.extend(accepted.iter().map(|note| draw(&line![whose(), note.clone()])));
            }
        }
        for row in &mut self.content.changes[from..] {
            if let Some(name) = stack {
                let name = plain(&line![code(name)]);
                (row.k, row.n) = (format!("{name}: {}", row.k), format!("{name}: {}", row.n));
            }
            let word = self.content.words.get(row.a).unwrap_or(&row.a);
            let why = if row.a == "blocked" { &row.t } else { &row.r };
            // What the row says is safe for a terminal already, and escaped here for the page.
            self.plain.push(safe::html(&format!("{word:<10}{}  ({why})", row.k)));
        }
        self.notes.extend(view.notes.iter().map(|note| draw(&line![whose(), note.clone()])));
    }

    fn add_plan(&mut self, parts: &[(PlanPart, Vec<Item<'_>>)], is_alone: bool, now: Option<Timestamp>) {
        for (part, items) in parts {
            if *part == PlanPart::Others && is_alone {
                self.content.ours = Some(self.content.changes.len());
            }
            // What can hurt most first, each rank in the order of names.
            for item in items.chunk_by(|a, b| a.rank() == b.rank()).rev().flatten() {
                match item {
                    Item::Blocked(held) => self.add_blocked(held),
                    Item::Changes(changes) => changes.iter().for_each(|change| self.add_change(change, now)),
                }
            }
        }
    }

    fn add_row(&mut self, row: &Row<'_>, now: Option<Timestamp>) {
        let action = match row.state {
            State::Changed => "replace",
            State::Deleted => "create",
            State::Unmanaged => "delete",
            State::Pending => "annotate",
            State::Blocked => "blocked",
        };
        // For a whole object, all values. Each edit goes from the defined to the live value.
        let edits = match row.change {
            Some(change) if row.values.is_empty() && row.state.is_outside() => edits::of(change),
            _ => row.values.iter().map(|value| value.edit.clone()).collect(),
        };
        let edits: Vec<ValueEdit> = edits.into_iter().map(ValueEdit::reversed).collect();
        let known = row.change.map(|change| known(change, now)).unwrap_or_default();
        // What is known of the object may begin like `since`: do not repeat it.
        let known = known.into_iter().filter(|line| line.0.first() != row.since.0.first());
        // The page filters by reason, so the reason why a single object is blocked goes elsewhere.
        let (reason, why) = match row.blocked.is_some() {
            true => (line!["blocked"], row.why.clone()),
            false => (row.because(), Line::default()),
        };
        let known = [why, row.since.clone()].into_iter().chain(known).filter(|line| !line.is_empty());
        let place = row.change.and_then(|change| change.place.as_ref());
        self.push(row.key, (action, &reason), &Line::joined(known, "; "), (&edits, place));
    }

    fn add_change(&mut self, change: &Change, now: Option<Timestamp>) {
        let known = Line::joined(known(change, now), "; ");
        let why = (change.action.kind().as_str(), &reason_since(change));
        self.push(&change.key, why, &known, (&edits::of(change), change.place.as_ref()));
    }

    fn add_blocked(&mut self, held: &BlockedChange) {
        let (why, allow) = block_reason(held);
        let action = held.change.as_ref().map_or("change", |change| change.action.kind().as_str());
        let allow = allow.map(|allow| line!["; to allow it: ", code(allow)]);
        let known = line!["no ", action, ": ", why, allow];
        let edits = held.change.as_ref().map(edits::of).unwrap_or_default();
        self.push(&held.key, ("blocked", &line!["blocked"]), &known, (&edits, held.place.as_ref()));
    }

    /// Adds a row: what is done to an object and why, what else is known, and its edits with the place of its definition.
    fn push(
        &mut self,
        key: &Key,
        (action, reason): (&'static str, &Line<'_>),
        known: &Line<'_>,
        (edits, place): (&[ValueEdit], Option<&SourceLocation>),
    ) {
        let row = PageRow {
            k: plain(&line![line::key(key)]),
            n: plain(&line![code(key.namespace.as_str())]),
            a: action,
            r: plain(reason),
            p: place.map(at),
            t: plain(known),
            e: self.edits(edits),
            l: places(edits, place),
        };
        self.content.changes.push(row);
    }

    fn render(&self) -> String {
        // The hashes cover what is between the tags, byte for byte.
        let policy = format!(
            "default-src 'none'; style-src 'sha256-{}'; script-src 'sha256-{}'; base-uri 'none'; form-action 'none'",
            BASE64.encode(&Sha256::digest(STYLE)),
            BASE64.encode(&Sha256::digest(SCRIPT))
        );
        fill(PAGE, |name| match name {
            "policy" => policy.clone(),
            "title" => self.title.clone(),
            "style" => STYLE.to_owned(),
            "heading" => self.heading.clone(),
            "facts" => self.facts.join(" · "),
            "counts" => self.counts.clone(),
            "alarms" => self.alarms.clone(),
            "commands" => self.command_list(),
            "plain" => self.plain_list(),
            "notes" => self.note_list(),
            "footer" => self.footer.clone(),
            "data" => data(&self.content),
            "script" => SCRIPT.to_owned(),
            _ => String::new(),
        })
    }

    /// The number of a list of edits, which the content has once.
    fn edits(&mut self, edits: &[ValueEdit]) -> usize {
        let drawn: Vec<Json> = edits.iter().map(page_edit).collect();
        *self.known.entry(json!(drawn).to_string()).or_insert_with(|| {
            self.content.edits.push(drawn);
            self.content.edits.len() - 1
        })
    }

    /// The commands; more than those of one stack are folded.
    fn command_list(&self) -> String {
        let commands = self.commands.concat();
        match self.commands.len() {
            0..=2 => commands,
            many => format!("<details class=\"commands\"><summary>{many} commands</summary>{commands}</details>"),
        }
    }

    /// The numbers that are not 0.
    fn cards(&mut self, counts: &[Count]) {
        for Count { class, number, words } in counts.iter().filter(|count| count.number > 0) {
            self.counts.push_str(&format!("<li class=\"{class}\"><b>{}</b> {words}</li>", digits(*number)));
        }
    }

    /// One banner for one cause.
    fn alarm(&mut self, alarm: &Alarm<'_>) {
        let (role, word) = alarm.kind.word();
        let items = alarm.items.iter().map(|item| format!("<br>{}", draw(item)));
        let text = draw(&alarm.text) + &items.collect::<String>();
        self.banner(role, &format!("{}:", capital(word)), &text);
    }

    fn banner(&mut self, role: Role, title: &str, text: &str) {
        let class = if role == Role::Careful { "alarm careful" } else { "alarm" };
        let role = if self.alarms.is_empty() { "alert" } else { "note" };
        self.alarms.push_str(&format!("<p class=\"{class}\" role=\"{role}\"><strong>{title}</strong> {text}</p>"));
    }

    fn plain_list(&self) -> String {
        if self.plain.is_empty() {
            return String::new();
        }
        let lines = self.plain.join("\n");
        let hint = "Their differences need JavaScript; the names do not.";
        format!("<h2>Changes</h2><p>{hint}</p><div class=\"plain\">{lines}</div>")
    }

    fn note_list(&self) -> String {
        if self.notes.is_empty() {
            return String::new();
        }
        let items: String = self.notes.iter().map(|line| format!("<li>{line}</li>")).collect();
        let words = if self.notes.len() == 1 { "note" } else { "notes" };
        format!("<details class=\"notes\"><summary>{} {words}</summary><ul>{items}</ul></details>", self.notes.len())
    }
}

/// A command that can be copied whole.
fn command(command: &Command) -> String {
    format!(
        "<div class=\"command\"><span>{}</span>{}\
         <button type=\"button\" class=\"quiet script copy\">Copy</button></div>",
        capital(command.label.trim_end_matches(':')),
        draw(&line![code(&command.command)])
    )
}

/// `template` with each `{{name}}` replaced by the text that `part` has for the name. Inserted text is not searched
/// again, so untrusted text cannot name a part.
fn fill(template: &str, mut part: impl FnMut(&str) -> String) -> String {
    let mut pieces = template.split("{{");
    let begin = pieces.next().unwrap_or_default().to_owned();
    pieces.filter_map(|piece| piece.split_once("}}")).fold(begin, |text, (name, after)| text + &part(name) + after)
}

/// The data as JSON that cannot end its element.
fn data(content: &PageContent) -> String {
    // Text keys, strings and numbers cannot fail.
    let json = serde_json::to_string(content).unwrap_or_default();
    safe::rewritten(&json, |_, character| {
        let ends = matches!(character, '<' | '>' | '&' | '\u{2028}' | '\u{2029}');
        ends.then(|| format!("\\u{:04x}", u32::from(character)).into())
    })
}

fn page_edit(edit: &ValueEdit) -> Json {
    let lines = edit.lines().into_iter().map(|(sign, value)| json!([sign.as_str(), plain(&line![code(value)])]));
    json!({"n": plain(&line![code(&edit.name)]), "l": lines.collect::<Vec<_>>(), "c": plain(&of_edit(edit))})
}

fn at(place: &SourceLocation) -> String {
    plain(&line![line::at(place)])
}

/// Where each of the edits of a definition is.
fn places(edits: &[ValueEdit], definition: Option<&SourceLocation>) -> Vec<Json> {
    let file = definition.map(|place| &place.file);
    let places = edits.iter().map(|edit| match &edit.place {
        Some(place) if Some(&place.file) == file => place.line.into(),
        Some(place) => at(place).into(),
        None => Json::Null,
    });
    let places: Vec<Json> = places.collect();
    if places.iter().all(Json::is_null) { Vec::new() } else { places }
}

/// What is known of a change beside its edits.
fn known(change: &Change, now: Option<Timestamp>) -> Vec<Line<'_>> {
    let mut parts = Vec::new();
    parts.extend(removed(change));
    if let Action::Delete { referrers, .. } = &change.action {
        parts.extend(referrers.iter().map(|referrer| line!["referred to by ", code(referrer.to_string())]));
    }
    if let Some(before) = change.action.before() {
        let modified = before.modified.as_deref();
        parts.extend(modified.map(|time| line!["last changed ", moment_with_age(time, now)]));
        parts.extend(before.creator.as_deref().map(|creator| line!["first created by ", foreign(creator)]));
    }
    parts
}

#[cfg(test)]
mod tests;
