//! A report about one stack as Markdown, under a budget. What can hurt comes first: what is refused and blocked,
//! deletes, then replaces (those that overwrite changes made outside before those that follow from the files), then
//! creates. Alarms, what is blocked and the names of deletes are never left out.

use std::cmp::Reverse;

use super::{alarm, code_span, command, draw, element, fence_line, fenced, fitting, marker, row, table};
use crate::model::{Scope, counted};
use crate::plan::{Action, ActionKind, BlockedChange, Change, ScopeRead};
use crate::report::facts::check::{Row, Value};
use crate::report::facts::edits::{self, ValueEdit};
use crate::report::facts::plan::{self as facts, Item, Part, Rank, sign};
use crate::report::facts::reason::{block_reason, of_cause, of_edit, reason, reason_since, removed};
use crate::report::prelude::*;

/// The maximum number of characters of a value in a table.
const LONG: usize = 80;
/// The characters that are kept of the common beginning of two long values.
const BEFORE: usize = 20;
/// The maximum number of names in the heading of a block.
const NAMES: usize = 4;
/// The bytes of the shortest possible block.
const LEAST: usize = 80;
/// How many blocks that are too long are tried in search of one that fits.
const MISSES: usize = 40;
/// The bytes that replaces without their values leave for the creates.
const FOR_CREATES: usize = 400;
/// If not all values of one of several changes fit, it takes at most this part of the room.
const SHARE: usize = 4;
/// If not all names of one of several edits fit, they take at most this part of the room.
const SHARE_OF_NAMES: usize = 2;
/// The text of a report that leaves out notes or acknowledgements.
const NOT_ALL: &str = "Not all notes are shown. ";
/// The text in place of values that do not fit.
const TOO_LONG: &str = "The values are too long for this report.\n";

/// The report in at most `options.budget` bytes, unless what is never left out takes more.
pub(in crate::report) fn report(view: &View<'_>, options: &TextView) -> String {
    let mut text = marker(view.kind, view.plan.stack.as_deref());
    text.push_str(&format!("### trueup {}: {}\n\n", view.kind, draw(&view.headline)));
    text.extend(view.alarms.iter().map(alarm));
    let in_sync = view.counts.iter().filter(|count| count.class == "sync");
    let in_sync = in_sync.map(|count| line![count.number, " ", count.words]);
    let undone = view.plan.undone().map(|run| line!["undoes run ", code(run.as_str())]);
    let facts = Line::joined(view.facts.iter().cloned().chain(undone).chain(in_sync), ", ");
    text.push_str(&format!("Service {}.\n\n", draw(&facts)));
    text.extend(view.settings.as_ref().map(|settings| table(settings) + "\n"));
    match &view.content {
        Content::Plan(parts) => plan(view, options, parts, text),
        Content::Check(rows, accepted) => check(view, options, (rows, accepted), text),
    }
}

/// What is never left out of a report about a plan, under a heading of its own, if there is anything.
pub(super) fn needed(view: &View<'_>, heading: &str, now: Option<Timestamp>) -> Option<String> {
    let mut text: String = view.alarms.iter().map(alarm).collect();
    text.extend(view.settings.as_ref().map(|settings| table(settings) + "\n"));
    text.push_str(&blocked(view.plan, now));
    let gone = |change: &&Change| Rank::of(change) == Rank::Delete;
    let deletes: Vec<&Change> = view.plan.changes.iter().filter(gone).collect();
    text.push_str(&self::deletes(&deletes, &names(deletes.iter().map(|change| &change.key))));
    (!text.is_empty()).then(|| format!("### {heading}: {}\n\n{text}", draw(&view.headline)))
}

/// The text that a report takes more than its budget.
pub(super) fn too_long(budget: usize) -> String {
    let budget = digits(budget);
    format!("This is longer than {budget} bytes: deletes, guards and what is blocked are never left out.")
}

/// The list of notes, folded.
fn notes(view: &View<'_>) -> String {
    if view.notes.is_empty() {
        return String::new();
    }
    let list: String = view.notes.iter().map(|note| format!("- {}\n", draw(note))).collect();
    let title = element(&Line::count(view.notes.len(), "note"));
    format!("<details><summary>{title}</summary>\n\n{list}\n</details>\n\n")
}

/// What can be done next.
fn commands(view: &View<'_>) -> String {
    view.commands.iter().map(|one| command(one) + "\n").collect::<Vec<_>>().join("\n")
}

/// The rows of a check, one for each value, while the budget lasts.
fn check(view: &View<'_>, options: &TextView, (rows, accepted): (&[Row<'_>], &[Line<'_>]), mut text: String) -> String {
    let noun = Key::noun(rows.iter().map(|row| row.key));
    let heads = table(&Table::new([noun, "field", "defined", "live", "why", "since"]));
    let rows: Vec<String> = rows.iter().flat_map(cells).map(|cells| row(&cells)).collect();
    let (total, next) = (rows.len(), commands(view));
    let rest = |shown: usize, left_out: &str| {
        let shown = draw(&line![shown, " of ", Line::count(total, "row"), " shown. "]);
        format!("{shown}{left_out}Everything: {}\n\n", code_span(&options.command))
    };
    let reserve = rest(total, NOT_ALL).len() + next.len();
    let room = options.budget().saturating_sub(text.len() + reserve + heads.len() + 1);
    let (shown_rows, shown) = fitting(rows, room);
    if shown > 0 {
        text.push_str(&format!("{heads}{shown_rows}\n"));
    }
    let list: String = accepted.iter().map(|line| format!("- {}\n", draw(line))).collect();
    let accepted = if list.is_empty() { list } else { format!("#### Acknowledged\n\n{list}\n") };
    let pieces = [accepted, notes(view)];
    if shown == total && text.len() + pieces.iter().map(String::len).sum::<usize>() + next.len() <= options.budget() {
        return text + &pieces.concat() + &next;
    }
    let left = options.budget().saturating_sub(text.len() + reserve);
    let mut room = Room { text, left };
    let [has_accepted, has_notes] = pieces.map(|piece| room.put(&piece));
    let left_out = if has_accepted && has_notes { "" } else { NOT_ALL };
    room.text + &rest(shown, left_out) + &next
}

fn cells<'a>(row: &'a Row<'_>) -> Vec<[Line<'a>; 6]> {
    let name = || line![key(row.key)];
    if row.values.is_empty() {
        let [defined, live] = row.whole();
        return vec![[name(), Line::default(), line![defined], line![live], row.because(), row.since.clone()]];
    }
    let blocked = row.blocked.map(|_| line![", ", row.because()]);
    let cells = |value: &'a Value| {
        let edit = &value.edit;
        let cause = line![edit.cause.map_or("", of_cause), blocked.clone()];
        let [defined, live] = sides(edit);
        [name(), line![code(&edit.name)], defined, live, cause, value.since.clone()]
    };
    row.values.iter().map(cells).collect()
}

/// The defined and the live value. The common beginning of long ones is left out, so that they never look the same.
fn sides(edit: &ValueEdit) -> [Line<'_>; 2] {
    let sides = [&edit.after, &edit.before].map(|side| side.as_deref());
    let alike = match sides {
        [Some(defined), Some(live)] => {
            defined.chars().zip(live.chars()).take_while(|(one, other)| one == other).count()
        }
        _ => 0,
    };
    let skipped = if alike < LONG { 0 } else { alike - BEFORE };
    sides.map(|side| side.map_or_else(|| line!["(none)"], |text| short(text, skipped)))
}

/// A value without its first characters, and not longer than a cell.
fn short(text: &str, skipped: usize) -> Line<'_> {
    let begin = text.char_indices().nth(skipped).map_or(text.len(), |(at, _)| at);
    let rest = &text[begin..];
    let end = rest.char_indices().nth(LONG).map(|(at, _)| at);
    let dots = |is_cut: bool| is_cut.then_some("…");
    line![dots(begin > 0), code(&rest[..end.unwrap_or(rest.len())]), dots(end.is_some())]
}

/// A text and how many bytes may be added to it.
struct Room {
    text: String,
    left: usize,
}

impl Room {
    /// Adds a piece if it fits.
    fn put(&mut self, piece: &str) -> bool {
        let fits = piece.len() <= self.left;
        if fits {
            self.text.push_str(piece);
            self.left -= piece.len();
        }
        fits
    }
}

/// A plan for a reviewer.
fn plan(view: &View<'_>, options: &TextView, parts: &[(Part, Vec<Item<'_>>)], mut text: String) -> String {
    let plan = view.plan;
    let total = plan.changes.iter().filter(|change| change.action.kind() != ActionKind::Annotate).count();
    let deletes: Vec<&Change> = parts.iter().flat_map(|(_, items)| of_rank(items, Rank::Delete)).collect();
    let foot = |shown: usize, has_notes: bool, over: bool| {
        let mut text = String::new();
        if total > 0 {
            text.push_str(&format!("{} of {} shown", digits(shown), draw(&Line::count(total, "change"))));
            if shown < total && !deletes.is_empty() {
                text.push_str(", every delete among them");
            }
            text.push_str(". ");
        }
        if over {
            text.push_str(&format!("{} ", too_long(options.budget())));
        }
        if !has_notes {
            text.push_str(NOT_ALL);
        }
        text.push_str(&format!("Digest {}.\n", code_span(view.digest.as_deref().unwrap_or_default())));
        let commands = commands(view);
        if !commands.is_empty() {
            text.push_str(&format!("\n{commands}"));
        }
        if shown < total || over || !has_notes {
            text.push_str(&format!("\nEverything: {}\n", code_span(&options.command)));
        }
        text
    };
    // The end is made first, at its greatest length, so that its room is known.
    let reserve = foot(total, false, true).len();
    text.push_str(&blocked(plan, options.now));
    // Deletes that would take more than half of the room are named without their details.
    let known = deletes.iter().map(|change| format!("- {}\n", draw(&delete(change, options.now))));
    let full = self::deletes(&deletes, &known.collect::<String>());
    let compact = self::deletes(&deletes, &names(deletes.iter().map(|change| &change.key)));
    let room = options.budget().saturating_sub(text.len() + reserve);
    text.push_str(if full.len() * 2 > room && compact.len() < full.len() { &compact } else { &full });
    let over = text.len() + reserve > options.budget();
    let left = options.budget().saturating_sub(text.len() + reserve);
    let mut room = Room { text, left };
    room.put(&namespaces(plan));
    let mut shown = deletes.len() + replaces(parts, &mut room, total == 1);
    for (part, items) in parts {
        shown += creates(*part, &of_rank(items, Rank::Create), &mut room, total == 1);
    }
    let annotates = |most| {
        let lines = facts::annotates(plan, most).map(|line| format!("{}\n\n", draw(&line!["Annotate ", line])));
        lines.collect::<String>()
    };
    let has_names = room.put(&annotates(usize::MAX));
    if !has_names {
        room.put(&annotates(facts::NAMES));
    }
    let has_notes = room.put(&notes(view)) && has_names;
    room.text + &foot(shown, has_notes, over)
}

/// The replaces as blocks, part by part, in each those that can hurt most first; returns how many of them are named.
/// Over all parts, those that can hurt most take their room first.
fn replaces(parts: &[(Part, Vec<Item<'_>>)], room: &mut Room, is_open: bool) -> usize {
    let (mut shown, mut misses) = (0, 0);
    let (mut texts, mut left) = (vec![String::new(); parts.len()], room.left);
    let folds = folds(parts);
    let has_creates = parts.iter().flat_map(|(_, items)| items).any(|item| item.rank() == Rank::Create);
    let is_only = folds.len() == 1 && !has_creates;
    for (at, fold) in folds {
        let heading = match parts[at].0 {
            _ if !texts[at].is_empty() => "",
            Part::ThisChange if parts.len() == 1 => "#### Changes\n\n",
            Part::ThisChange => "#### This change\n\n",
            Part::BehindBase => "#### Behind base: applying would revert merged work\n\n",
            Part::Others => "#### Not part of this change, but an apply makes it as well\n\n",
        };
        if left < LEAST + heading.len() || misses == MISSES {
            break;
        }
        let room = left - heading.len();
        let rest = room.saturating_sub(FOR_CREATES);
        let most = if fold.len() == 1 || is_only { rest } else { rest / SHARE_OF_NAMES };
        let whole = block(fold, &diff(fold, usize::MAX), is_open, room);
        let first = || {
            let frame = block(&fold[..1], "", is_open, usize::MAX).map_or(0, |(frame, _)| frame.len());
            let share = if is_open { rest } else { rest / SHARE };
            block(fold, &diff(fold, share.saturating_sub(frame)), is_open, most)
        };
        let named = || block(fold, TOO_LONG, is_open, rest);
        let is_whole = whole.as_ref().is_some_and(|(_, named)| *named == fold.len());
        match if is_whole { whole } else { first().or(whole).or_else(named) } {
            None => misses += 1,
            Some((block, named)) => {
                left -= heading.len() + block.len();
                texts[at].extend([heading, &block]);
                shown += named;
            }
        }
    }
    room.put(&texts.concat());
    shown
}

/// The replaces with the index of their part, those that can hurt most first.
fn folds<'p, 'a>(parts: &'p [(Part, Vec<Item<'a>>)]) -> Vec<(usize, &'p [&'a Change])> {
    let items = parts.iter().enumerate().flat_map(|(at, (_, items))| items.iter().map(move |item| (at, item)));
    let folds = items.filter_map(|(at, item)| match item {
        Item::Changes(fold) if (Rank::Pending..=Rank::Both).contains(&item.rank()) => Some((item.rank(), at, fold)),
        Item::Changes(_) | Item::Blocked(_) => None,
    });
    let mut folds: Vec<_> = folds.collect();
    // Many endpoints with one edit take little room.
    folds.sort_by_key(|(rank, at, fold)| (Reverse(*rank), *at, fold.len() == 1));
    folds.into_iter().map(|(_, at, fold)| (at, fold.as_slice())).collect()
}

/// The changes of a rank.
fn of_rank<'a>(items: &[Item<'a>], rank: Rank) -> Vec<&'a Change> {
    let changes = items.iter().filter(|item| item.rank() == rank).map(|item| match item {
        Item::Changes(changes) => changes.as_slice(),
        Item::Blocked(_) => &[],
    });
    changes.flatten().copied().collect()
}

/// The creates: each with its values if all of them fit, else a table of their names; returns how many are named.
fn creates(part: Part, creates: &[&Change], room: &mut Room, is_open: bool) -> usize {
    if creates.is_empty() {
        return 0;
    }
    let of_part = match part {
        Part::ThisChange => "",
        Part::BehindBase => " behind base: applying would revert merged work",
        Part::Others => " not part of this change, but an apply makes it as well",
    };
    let title = format!("#### {}\n\n", draw(&Line::count(creates.len(), "create").and(of_part)));
    let blocks = creates.iter().try_fold(title.clone(), |blocks, change| {
        let one = &[*change];
        let (block, _) = block(one, &diff(one, usize::MAX), is_open, room.left.saturating_sub(blocks.len()))?;
        Some(blocks + &block)
    });
    if blocks.is_some_and(|blocks| room.put(&blocks)) {
        return creates.len();
    }
    let mut text = title + &table(&Table::new(["create", "values", "defined in"]));
    let more = |left: usize| format!("\nand {} more\n\n", digits(left));
    let end = more(creates.len()).len();
    let rows = creates.iter().map(|change| {
        let place = line![change.place.as_ref().map(at)];
        row(&[line![key(&change.key)], some_values(&edits::of(change), 1), place])
    });
    let (rows, named) = fitting(rows, room.left.saturating_sub(text.len() + end));
    if named == 0 {
        return 0;
    }
    text.push_str(&rows);
    text.push_str(&if named < creates.len() { more(creates.len() - named) } else { "\n".to_owned() });
    room.put(&text);
    named
}

/// The deletes as a list; empty if there are none.
fn deletes(deletes: &[&Change], list: &str) -> String {
    if deletes.is_empty() {
        return String::new();
    }
    format!("#### {}\n\n{list}\n", draw(&Line::count(deletes.len(), "delete")))
}

/// The first values of an object that comes or goes, as far as they are short, and how many more there are.
fn some_values(edits: &[ValueEdit], most: usize) -> Line<'static> {
    let value = |edit: &ValueEdit| {
        let text = edit.after.as_ref().or(edit.before.as_ref()).filter(|_| !edit.is_long())?;
        Some(line![code(format!("{} {text}", edit.name))])
    };
    let values: Vec<Line<'_>> = edits.iter().filter_map(value).take(most).collect();
    let more = edits.len() - values.len();
    let more = (more > 0 && !values.is_empty()).then(|| line![" and ", more, " more"]);
    line![Line::joined(values, ", "), more]
}

/// A delete with what is known of it.
fn delete(change: &Change, now: Option<Timestamp>) -> Line<'_> {
    let mut line = line![key(&change.key), ": ", reason(change)];
    if let Action::Recreate { .. } = &change.action {
        let value = |edit: &ValueEdit| match edit.is_long() {
            true => line![code(edit.name.clone())],
            false => line![code(format!("{} {} → {}", edit.name, edit.live(), edit.wanted()))],
        };
        let values = Line::joined(edits::of(change).iter().map(value), ", ");
        line = line.and(line![", deleted and created again for ", values]);
    }
    line = line.and(removed(change).map(|removed| line![", ", removed]));
    if let Action::Delete { before, referrers } = &change.action {
        let values = some_values(&edits::of(change), NAMES);
        line = line.and((!values.is_empty()).then(|| line![", was ", values]));
        let modified = before.modified.as_deref().map(|time| moment_with_age(time, now));
        line = line.and(modified.map(|time| line![", last changed ", time]));
        for referrer in referrers {
            line = line.and(", referred to by ").and(code(referrer.to_string()));
        }
    }
    line
}

/// Names in a fence, a line for each kind in each namespace.
fn names<'k>(keys: impl Iterator<Item = &'k Key>) -> String {
    let mut scopes: BTreeMap<Scope, Line<'_>> = BTreeMap::new();
    for key in keys {
        let scope = Scope::from(key);
        let line = scopes.remove(&scope).unwrap_or_else(|| line![code(scope.to_string()), ":"]);
        // A live name that is not valid in a definition might look like two.
        let name = if key.is_plain() { code(key.name.as_str()) } else { code(format!("{:?}", key.name.as_str())) };
        scopes.insert(scope, line.and(" ").and(name));
    }
    fenced("text", &scopes.values().map(fence_line).collect::<String>())
}

/// What is blocked, grouped by reason, with every name; for a few also what they would do.
fn blocked(plan: &Plan, now: Option<Timestamp>) -> String {
    /// Values are shown for at most so many changes of one reason, and only if at most so many are blocked in all.
    const SHOWN: [usize; 2] = [5, 20];
    if plan.blocked.is_empty() {
        return String::new();
    }
    let mut reasons: BTreeMap<(String, String), Vec<&BlockedChange>> = BTreeMap::new();
    for held in &plan.blocked {
        let (why, allow) = block_reason(held);
        // The flag names the object, so leave that out: one text is for all.
        let flag = allow.as_deref().and_then(|allow| allow.split('=').next()).unwrap_or_default().replace('\'', "");
        reasons.entry((draw(&why), flag)).or_default().push(held);
    }
    let exit = if plan.is_refused() || plan.changes.is_empty() { "" } else { ", and exits with 7" };
    let number = digits(plan.blocked.len());
    let it = if plan.blocked.len() == 1 { "it" } else { "each" };
    let mut text = format!("#### {number} blocked: an apply leaves {it} as it is{exit}\n\n");
    for ((why, flag), held) in reasons {
        let (count, allow) = match held.as_slice() {
            [one] => (draw(&line![key(&one.key)]), block_reason(one).1.as_deref().map(code_span)),
            many => (digits(many.len()), Some(format!("`{flag}=KEY`")).filter(|_| !flag.is_empty())),
        };
        let allow = allow.map(|allow| format!("; to allow it: {allow}")).unwrap_or_default();
        text.push_str(&format!("{count}: {why}{allow}\n\n"));
        let is_shown = held.len() <= SHOWN[0] && plan.blocked.len() <= SHOWN[1];
        if is_shown {
            let would = held.iter().filter_map(|held| held.change.as_ref()).map(|change| would(change, now));
            let would: String = would.map(|line| format!("- {}\n", draw(&line))).collect();
            text.push_str(&if would.is_empty() { would } else { would + "\n" });
        }
        if (held.len() > 1 && !is_shown) || (held.len() > 1 && held.iter().any(|held| held.change.is_none())) {
            text.push_str(&format!("{}\n", names(held.iter().map(|held| &held.key))));
        }
    }
    text
}

/// What a blocked change would do.
fn would(change: &Change, now: Option<Timestamp>) -> Line<'_> {
    match &change.action {
        Action::Delete { .. } => line!["would delete ", delete(change, now)],
        Action::Recreate { .. } => line!["would recreate ", delete(change, now)],
        _ => line!["would ", heading(&[change], &edits::of(change))],
    }
}

/// Counts by namespace and kind, if anything is to be done or unknown there.
fn namespaces(plan: &Plan) -> String {
    let changes = counted(plan.changes.iter().map(|change| (Scope::from(&change.key), change.action.kind())));
    let held = counted(plan.blocked.iter().map(|held| Scope::from(&held.key)));
    let heads = ["namespace", "create", "replace", "delete", "blocked", "in sync"];
    let mut table = Table::new(heads).right(1..heads.len());
    for (list, scope) in plan.scope.iter().filter(|(_, scope)| scope.selected) {
        let changes = |kind| changes.get(&(list.clone(), kind)).copied().unwrap_or_default();
        let held = held.get(list).copied().unwrap_or_default();
        let deletes = changes(ActionKind::Delete) + changes(ActionKind::Recreate);
        let numbers = [changes(ActionKind::Create), changes(ActionKind::Replace), deletes, held];
        let in_sync = match &scope.read {
            ScopeRead::Complete { .. } if numbers == [0; 4] => continue,
            ScopeRead::Complete { .. } => line![scope.in_sync],
            ScopeRead::Unknown { .. } => line!["unknown"],
        };
        let numbers = numbers.map(|number| line![number]);
        table.row([line![code(list.to_string())]].into_iter().chain(numbers).chain([in_sync]));
    }
    if table.rows.is_empty() { String::new() } else { self::table(&table) + "\n" }
}

/// The values of one change, or those of many with one edit, as far as they fit into `room` bytes.
fn diff(changes: &[&Change], room: usize) -> String {
    let Some(first) = changes.first() else { return String::new() };
    let (kind, single) = (first.action.kind(), changes.len() == 1);
    let more = |left: usize| if left == 0 { String::new() } else { format!("\nand {} more values\n", digits(left)) };
    let edits = edits::of(first);
    let room = room.saturating_sub(fenced("diff", "").len() + more(edits.len()).len());
    let (lines, shown) = fitting(edits.iter().map(|edit| hunk(edit, kind, single)), room);
    match shown {
        0 if !edits.is_empty() => TOO_LONG.to_owned(),
        shown => fenced("diff", &lines) + &more(edits.len() - shown),
    }
}

/// One change, or many with one edit, and its values as a folded block of at most `room` bytes, and how many it names;
/// `None` if not even one fits.
fn block(changes: &[&Change], values: &str, is_open: bool, room: usize) -> Option<(String, usize)> {
    let first = changes.first()?;
    let heading = element(&line![&sign(first.action.kind()).0[..2], heading(changes, &edits::of(first))]);
    let open = if is_open { " open" } else { "" };
    let draw = |names: &str| format!("<details{open}><summary>{heading}</summary>\n\n{names}{values}\n</details>\n\n");
    let bare = draw("").len();
    if changes.len() == 1 {
        return (bare <= room).then(|| (draw(""), 1));
    }
    // The names take part of the block: as many as there is room for.
    let room = room.checked_sub(bare + "and 1,000,000 more\n\n".len())?;
    let name = |change: &&Change| {
        let place = change.fields().iter().find_map(|field| field.place.as_ref()).or(change.place.as_ref());
        format!("- {}\n", super::draw(&line![key(&change.key), place.map(|place| line![" (", at(place), ")"])]))
    };
    let (mut names, named) = fitting(changes.iter().map(name), room);
    match changes.len() - named {
        _ if named == 0 => return None,
        0 => names.push('\n'),
        more => names.push_str(&format!("\nand {} more\n\n", digits(more))),
    }
    Some((draw(&names), named))
}

fn heading<'c>(changes: &[&'c Change], edits: &[ValueEdit]) -> Line<'c> {
    let Some(first) = changes.first() else { return Line::default() };
    let (kind, place) = (first.action.kind(), first.place.as_ref().filter(|_| changes.len() == 1));
    let who = match changes {
        [only] => line![key(&only.key)],
        many => Line::count(many.len(), Key::noun(many.iter().map(|change| &change.key))).and(" with the same edit"),
    };
    let mut line = line![kind.as_str(), " ", who];
    if kind == ActionKind::Replace {
        let mut names: Vec<&str> = edits.iter().map(|edit| edit.name.as_str()).collect();
        names.dedup();
        let value = |name: &str| match edits.iter().filter(|edit| edit.name == name).collect::<Vec<_>>().as_slice() {
            [edit] if !edit.is_long() => format!("{name} {} → {}", edit.live(), edit.wanted()),
            _ => name.to_owned(),
        };
        line = line.and(": ").and(Line::some_of(names.iter().map(|name| value(name)), NAMES));
    }
    line.and(line![" (", reason_since(first), place.map(|place| line![", ", at(place)]), ")"])
}

/// The lines of one edit; only that of a replace has a heading.
fn hunk(edit: &ValueEdit, kind: ActionKind, single: bool) -> String {
    let name = || code(edit.name.clone());
    let lines = edit.lines().into_iter().map(|(sign, text)| (sign.as_str(), code(text)));
    if kind != ActionKind::Replace {
        return lines.map(|(sign, text)| fence_line(&line![sign, " ", name(), ": ", text])).collect();
    }
    let why = Some(of_edit(edit)).filter(|why| !why.is_empty()).map(|why| line!["  ", why]);
    let place = edit.place.as_ref().filter(|_| single).map(|place| line!["  ", at(place)]);
    let heading = line!["@@ ", name(), why, place, " @@"];
    fence_line(&heading) + &lines.map(|(sign, text)| fence_line(&line![sign, " ", text])).collect::<String>()
}
