//! One change, or many with the same edit, as a folded block.

use super::super::Sides;
use super::super::edits::{self, Edit, Fold, Sign};
use super::{count, digits, inert};
use crate::model::Place;
use crate::plan::{ActionKind, Change, Side};

/// Names in the heading of a block.
const NAMES: usize = 4;

/// A block that is ready to be put in.
pub(super) struct Block {
    /// The text, with a final empty line.
    pub text: String,
    /// How many changes it tells.
    pub changes: usize,
}

/// The block of `fold` in at most `room` bytes; nothing where not even one change fits.
pub(super) fn draw(fold: &Fold<'_>, sides: Sides, room: usize) -> Option<Block> {
    let [first, others @ ..] = fold.changes.as_slice() else { return None };
    let kind = first.action.kind();
    let (edits, left): (Vec<&Edit>, Vec<&Edit>) = fold.edits.iter().partition(|edit| is_told(edit.side, sides));
    let single = others.is_empty();
    let mut lines: Vec<String> = edits.iter().flat_map(|edit| hunk(edit, kind, single)).collect();
    if !left.is_empty() {
        let fields = count(left.len(), "more value");
        lines.push(format!("  {fields} that this change does not touch"));
    }
    let heading = heading(fold, &edits, kind);
    let diff = inert::fenced("diff", &lines);
    let draw = |names: &str| format!("<details><summary>{heading}</summary>\n\n{names}{diff}\n</details>\n\n");
    let bare = draw("").len();
    if single {
        return (bare <= room).then(|| Block { text: draw(""), changes: 1 });
    }
    // The names take part of the block: as many as there is room for.
    let room = room.checked_sub(bare + "and 1,000,000 more\n\n".len())?;
    let mut names = String::new();
    let mut named = 0;
    for change in &fold.changes {
        let place = change.fields().iter().find_map(|field| field.place.as_ref()).or(change.place.as_ref());
        let place = place.map(|place| format!(" ({})", inert::code(&at(place)))).unwrap_or_default();
        let name = format!("- {}{place}\n", inert::code(&change.key.to_string()));
        if names.len() + name.len() > room {
            break;
        }
        names.push_str(&name);
        named += 1;
    }
    if named == 0 {
        return None;
    }
    match fold.changes.len() - named {
        0 => names.push('\n'),
        more => names.push_str(&format!("\nand {} more\n\n", digits(more))),
    }
    Some(Block { text: draw(&names), changes: named })
}

/// Whether a difference of this side is told in full.
pub(super) fn is_told(side: Option<Side>, sides: Sides) -> bool {
    match (sides, side) {
        (Sides::All, _) | (Sides::ThisChange, None | Some(Side::ThisChange | Side::BehindBase)) => true,
        (Sides::ThisChange, Some(Side::PendingOnBase | Side::Drift)) => false,
    }
}

fn heading(fold: &Fold<'_>, edits: &[&Edit], kind: ActionKind) -> String {
    let sign = match kind {
        ActionKind::Create => "+",
        ActionKind::Replace | ActionKind::Mark => "~",
        ActionKind::Delete => "-",
    };
    let who = match fold.changes.as_slice() {
        [only] => format!("<code>{}</code>", inert::html(&only.key.to_string())),
        many => format!("{}: the same edit", count(many.len(), "endpoint")),
    };
    let mut names: Vec<&str> = edits.iter().map(|edit| edit.name.as_str()).collect();
    names.dedup();
    let more = names.len().saturating_sub(NAMES);
    let names: Vec<String> =
        names.iter().take(NAMES).map(|name| format!("<code>{}</code>", inert::html(name))).collect();
    let mut text = format!("{sign} {kind} {who}");
    if kind == ActionKind::Replace && !names.is_empty() {
        text.push_str(&format!(": {}", names.join(", ")));
        if more > 0 {
            text.push_str(&format!(" and {more} more"));
        }
    }
    if let Some(first) = fold.changes.first() {
        text.push_str(&format!(" ({}", edits::reason(first)));
        let place = first.place.as_ref().filter(|_| fold.changes.len() == 1);
        if let Some(place) = place {
            text.push_str(&format!(", <code>{}</code>", inert::html(&at(place))));
        }
        text.push(')');
    }
    text
}

/// The lines of one edit. What a new endpoint brings needs no heading of its own.
fn hunk(edit: &Edit, kind: ActionKind, single: bool) -> Vec<String> {
    if kind != ActionKind::Replace {
        return edit
            .lines()
            .into_iter()
            .map(|(sign, text)| format!("{} {}: {}", self::sign(sign), inert::line(&edit.name), inert::line(&text)))
            .collect();
    }
    let mut heading = format!("@@ {}", inert::line(&edit.name));
    for word in [edit.side.map(Side::as_str), edit.cause.map(|cause| cause.as_str())].into_iter().flatten().take(1) {
        heading.push_str(&format!("  {word}"));
    }
    if let Some(place) = edit.place.as_ref().filter(|_| single) {
        heading.push_str(&format!("  {}", inert::line(&at(place))));
    }
    heading.push_str(" @@");
    let lines = edit.lines().into_iter().map(|(sign, text)| format!("{} {}", self::sign(sign), inert::line(&text)));
    std::iter::once(heading).chain(lines).collect()
}

fn sign(sign: Sign) -> char {
    match sign {
        Sign::Gone => '-',
        Sign::Come => '+',
        Sign::Same => ' ',
    }
}

/// The place of a change or a value, without its column.
pub(super) fn at(place: &Place) -> String {
    format!("{}:{}", place.file, place.line)
}

/// Whether any part of a change is told in full.
pub(super) fn is_told_in_part(change: &Change, sides: Sides) -> bool {
    let fields = change.fields();
    if fields.is_empty() { is_told(change.side, sides) } else { fields.iter().any(|field| is_told(field.side, sides)) }
}
