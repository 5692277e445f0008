//! A report as one HTML page that needs nothing else: it contains styles, script and data, and its content
//! security policy names them by their hashes, so that nothing of what a definition or the service says can load
//! or run anything. Numbers, alarms, what is blocked and the names of all changes can be read without the script.

mod drift;
mod fleet;
mod plan;

pub use drift::drift;
pub use fleet::fleet;
pub use plan::plan;

use std::collections::{BTreeMap, HashMap};

use data_encoding::BASE64;
use serde::Serialize;
use serde_json::json;
use sha2::{Digest as _, Sha256};

use super::edits::ValueEdit;
use super::markdown::digits;
use super::unread::Unread;
use super::{safe, template};
use crate::model::{Json, Key, SourceLocation};
use crate::plan::{Attribution, Cause};

const PAGE: &str = include_str!("page.html");
const STYLE: &str = include_str!("page.css");
const SCRIPT: &str = include_str!("page.js");

/// A page before it is put together; every text is HTML already.
#[derive(Default)]
struct Page {
    heading: String,
    facts: Vec<String>,
    counts: String,
    alarms: String,
    /// What can be done next, each with its command.
    commands: Vec<(&'static str, String)>,
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
    /// How many of the changes, the first ones, concern the change under review; nothing where everything does,
    /// or where everything was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    ours: Option<usize>,
    /// The actions by other words than their own.
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
    r: &'static str,
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

impl PageRow {
    fn new(key: &Key, action: &'static str, reason: &'static str, edits: usize) -> Self {
        let (name, namespace) = (safe::line(&key.to_string()).into_owned(), key.namespace.as_str());
        let (p, t, l) = (None, String::new(), Vec::new());
        Self { k: name, n: safe::line(namespace).into_owned(), a: action, r: reason, p, t, e: edits, l }
    }
}

impl Page {
    fn render(&self) -> String {
        // The hashes are of what is between the tags, byte for byte.
        let policy = format!(
            "default-src 'none'; style-src 'sha256-{}'; script-src 'sha256-{}'; base-uri 'none'; form-action 'none'",
            BASE64.encode(&Sha256::digest(STYLE)),
            BASE64.encode(&Sha256::digest(SCRIPT))
        );
        template::fill(PAGE, |name| match name {
            "policy" => policy.clone(),
            "title" => format!("{} · trueup", self.heading),
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
        let commands: String = self.commands.iter().map(|(label, command)| self::command(label, command)).collect();
        match self.commands.len() {
            0..=2 => commands,
            many => format!("<details class=\"commands\"><summary>{many} commands</summary>{commands}</details>"),
        }
    }

    /// The number of something; nothing where there is none of it.
    fn card(&mut self, class: &str, number: usize, words: &str) {
        if number == 0 {
            return;
        }
        self.counts.push_str(&format!("<li class=\"{class}\"><b>{}</b> {words}</li>", digits(number)));
    }

    /// One banner for one cause.
    fn alarm(&mut self, title: &str, text: &str) {
        let role = if self.alarms.is_empty() { "alert" } else { "note" };
        self.alarms.push_str(&format!("<p class=\"alarm\" role=\"{role}\"><strong>{title}</strong> {text}</p>"));
    }

    fn unread(&mut self, unread: &[Unread<'_>]) {
        for one in unread {
            let names = one.listed(|name| format!("<code>{}</code>", safe::html(name)));
            let (reason, them) = (safe::html(one.reason), one.them());
            let text = format!("Could not read {names}: {reason}. Nothing is concluded about {them}.");
            self.alarm("Incomplete.", &text);
        }
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
fn command(label: &str, command: &str) -> String {
    format!(
        "<div class=\"command\"><span>{label}</span><code>{}</code>\
         <button type=\"button\" class=\"quiet script copy\">Copy</button></div>",
        safe::html(command)
    )
}

/// The data as JSON that cannot end its element.
fn data(content: &PageContent) -> String {
    // Text keys, strings, numbers: nothing that fails.
    let json = serde_json::to_string(content).unwrap_or_default();
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

#[cfg(test)]
mod tests;
