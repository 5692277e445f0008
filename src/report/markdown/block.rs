//! One change, or many with the same edit, as a folded block.

use super::super::AttributionDetail;
use super::super::edits::{FoldedChanges, ValueEdit};
use super::super::reason::reason;
use super::{count, digits, escape};
use crate::model::SourceLocation;
use crate::plan::{ActionKind, Attribution, Cause, Change};

/// Names in the heading of a block.
const NAMES: usize = 4;

/// A block that is ready to be put in.
pub(super) struct Block {
    /// The text, with a final empty line.
    pub text: String,
    /// How many changes it lists.
    pub changes: usize,
}

/// The block of `fold` in at most `room` bytes; nothing where not even one change fits.
pub(super) fn draw(fold: &FoldedChanges<'_>, sides: AttributionDetail, is_open: bool, room: usize) -> Option<Block> {
    let [first, others @ ..] = fold.changes.as_slice() else { return None };
    let kind = first.action.kind();
    let edits = fold.edits();
    let (edits, left): (Vec<&ValueEdit>, Vec<&ValueEdit>) =
        edits.iter().partition(|edit| is_listed(edit.attribution, sides));
    let single = others.is_empty();
    let mut lines: Vec<String> = edits.iter().flat_map(|edit| hunk(edit, kind, single)).collect();
    if !left.is_empty() {
        let fields = count(left.len(), "more value");
        lines.push(format!("  {fields} that this change does not touch"));
    }
    let heading = heading(fold, &edits, kind);
    let diff = escape::fenced("diff", &lines);
    let open = if is_open { " open" } else { "" };
    let draw = |names: &str| format!("<details{open}><summary>{heading}</summary>\n\n{names}{diff}\n</details>\n\n");
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
        let place = place.map(|place| format!(" ({})", escape::code(&at(place)))).unwrap_or_default();
        let name = format!("- {}{place}\n", escape::code(&change.key.to_string()));
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

/// Whether a difference of this side is listed in full.
pub(super) fn is_listed(side: Option<Attribution>, sides: AttributionDetail) -> bool {
    match (sides, side) {
        (AttributionDetail::All, _)
        | (AttributionDetail::ThisChange, None | Some(Attribution::ThisChange | Attribution::BehindBase)) => true,
        (AttributionDetail::ThisChange, Some(Attribution::PendingOnBase | Attribution::Drift)) => false,
    }
}

fn heading(fold: &FoldedChanges<'_>, edits: &[&ValueEdit], kind: ActionKind) -> String {
    let sign = match kind {
        ActionKind::Create => "+",
        ActionKind::Replace | ActionKind::Annotate => "~",
        ActionKind::Delete => "-",
    };
    let who = match fold.changes.as_slice() {
        [only] => format!("<code>{}</code>", escape::html(&only.key.to_string())),
        many => format!("{} with the same edit", count(many.len(), "endpoint")),
    };
    let mut names: Vec<&str> = edits.iter().map(|edit| edit.name.as_str()).collect();
    names.dedup();
    let more = names.len().saturating_sub(NAMES);
    let values = |name: &str| match edits.iter().filter(|edit| edit.name == name).collect::<Vec<_>>().as_slice() {
        [edit] if !edit.is_long() => format!(" {} → {}", escape::html(edit.live()), escape::html(edit.wanted())),
        _ => String::new(),
    };
    let names: Vec<String> =
        names.iter().take(NAMES).map(|name| format!("<code>{}{}</code>", escape::html(name), values(name))).collect();
    let mut text = format!("{sign} {kind} {who}");
    if kind == ActionKind::Replace && !names.is_empty() {
        text.push_str(&format!(": {}", names.join(", ")));
        if more > 0 {
            text.push_str(&format!(" and {more} more"));
        }
    }
    if let Some(first) = fold.changes.first() {
        text.push_str(&format!(" ({}", reason(first)));
        let place = first.place.as_ref().filter(|_| fold.changes.len() == 1);
        if let Some(place) = place {
            text.push_str(&format!(", <code>{}</code>", escape::html(&at(place))));
        }
        text.push(')');
    }
    text
}

/// The lines of one edit. What a new endpoint brings needs no heading of its own.
fn hunk(edit: &ValueEdit, kind: ActionKind, single: bool) -> Vec<String> {
    if kind != ActionKind::Replace {
        return edit
            .lines()
            .into_iter()
            .map(|(sign, text)| format!("{} {}: {}", sign.as_char(), escape::line(&edit.name), escape::line(&text)))
            .collect();
    }
    let mut heading = format!("@@ {}", escape::line(&edit.name));
    for word in [edit.attribution.map(Attribution::as_str), edit.cause.map(Cause::as_str)].into_iter().flatten().take(1)
    {
        heading.push_str(&format!("  {word}"));
    }
    if let Some(place) = edit.place.as_ref().filter(|_| single) {
        heading.push_str(&format!("  {}", escape::line(&at(place))));
    }
    heading.push_str(" @@");
    let lines = edit.lines().into_iter().map(|(sign, text)| format!("{} {}", sign.as_char(), escape::line(&text)));
    std::iter::once(heading).chain(lines).collect()
}

/// The place of a change or a value, without its column.
pub(super) fn at(place: &SourceLocation) -> String {
    format!("{}:{}", place.file, place.line)
}

/// Whether any part of a change is listed in full.
pub(super) fn is_listed_in_part(change: &Change, sides: AttributionDetail) -> bool {
    let fields = change.fields();
    if fields.is_empty() {
        is_listed(change.attribution, sides)
    } else {
        fields.iter().any(|field| is_listed(field.attribution, sides))
    }
}
