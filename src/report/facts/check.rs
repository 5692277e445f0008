//! The facts of a check: what it found of each endpoint that is not in sync, value by value and since when, how many
//! there are, what is accepted, and the commands that end it.

use std::cmp::Reverse;

use super::edits::{self, ValueEdit};
use super::plan::{Command, Rank};
use super::reason::{block_reason, reason_since, remarkable_reason};
use crate::drift::{AcknowledgementStatus, Check, JudgedAcknowledgement, ObjectVerdict, SeenSince, Verdict, Verdicts};
use crate::model::{Field, Namespace, words};
use crate::plan::{Action, ActionKind, BlockedChange, Cause, Change, FieldChange, Note, Plan, Waves};
use crate::report::prelude::*;

/// The maximum number of endpoints that a proposed command names.
const NAMED: usize = 4;

/// The state of an endpoint that is not in sync.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum State {
    /// It was changed outside.
    Changed,
    /// It was applied and is gone.
    Deleted,
    /// It is live and not defined.
    Unmanaged,
    /// The files were changed and not applied yet.
    Pending,
    /// It is not as defined, and an apply does nothing about it.
    Blocked,
}

words!(State {
    Changed = "changed",
    Deleted = "deleted",
    Unmanaged = "unmanaged",
    Pending = "pending",
    Blocked = "blocked",
});

impl State {
    /// Whether it was changed outside of trueup.
    pub fn is_outside(self) -> bool {
        matches!(self, State::Changed | State::Deleted | State::Unmanaged)
    }
}

/// An endpoint that is not in sync.
pub struct Row<'a> {
    /// Its key.
    pub key: &'a Key,
    /// Its state.
    pub state: State,
    /// Why, if the state does not say everything.
    pub why: Line<'a>,
    /// The blocked change, if an apply does nothing about it; `why` has the reason in words.
    pub blocked: Option<&'a BlockedChange>,
    /// What an apply would do.
    pub change: Option<&'a Change>,
    /// Its values that are not as defined, without accepted ones; empty if the whole object is meant.
    pub values: Vec<Value<'a>>,
    /// Since when it is known; for several values, since the first one.
    pub since: Line<'a>,
}

/// A value that is not as defined.
pub struct Value<'a> {
    /// Both values, from live to wanted.
    pub edit: ValueEdit,
    /// Whether it was changed outside.
    pub is_outside: bool,
    /// Since when it is known.
    pub since: Line<'a>,
}

impl<'a> Row<'a> {
    /// Why it is not in sync; its state if nothing more is known.
    pub fn because(&self) -> Line<'a> {
        let why = self.why.clone();
        match self.state {
            _ if self.blocked.is_some() => line!["blocked: ", why],
            state if why.is_empty() => line![state.as_str()],
            _ => why,
        }
    }

    /// How the whole object is defined and what is live, in words.
    pub fn whole(&self) -> [&'static str; 2] {
        match (self.state, self.change.map(|change| &change.action)) {
            (State::Deleted, _) if self.change.is_some_and(|change| change.applied_in.is_some()) => {
                ["defined", "missing"]
            }
            (State::Deleted, _) => ["defined", "deleted"],
            (State::Unmanaged, _) => ["not managed", "live"],
            (_, Some(Action::Create { .. })) => ["defined", "not there"],
            (_, Some(Action::Delete { .. })) => ["definition removed", "live"],
            (_, Some(Action::Replace { .. } | Action::Recreate { .. } | Action::Annotate { .. }) | None) => {
                ["defined", "differs"]
            }
        }
    }
}

/// Every endpoint that is not in sync: what is blocked or would be deleted, what was changed outside, then what is not applied
/// yet, in each what can hurt most first.
pub fn rows<'a>(check: &'a Check) -> Vec<Row<'a>> {
    let changes = check.plan.by_key();
    let blocked: BTreeMap<&Key, &BlockedChange> = check.plan.blocked.iter().map(|held| (&held.key, held)).collect();
    let mut unnamed: BTreeMap<&Key, Vec<(Field, &str)>> = BTreeMap::new();
    for note in &check.plan.notes {
        if let (Note::Unnamed { path, .. }, Some((key, field, _))) = (note, note.unnamed()) {
            unnamed.entry(key).or_default().push((field, path));
        }
    }
    let row = |(key, object): (&'a Key, &'a ObjectVerdict)| {
        let unnamed = unnamed.get(key).map(Vec::as_slice).unwrap_or_default();
        row(check, (key, object), (changes.get(key).copied(), unnamed), blocked.get(key).copied())
    };
    let mut rows: Vec<Row<'a>> = check.verdicts.objects.iter().map(row).collect();
    let rank = |row: &Row<'_>| if row.blocked.is_some() { Some(Rank::Blocked) } else { row.change.map(Rank::of) };
    let can_wait = |row: &Row<'_>| rank(row) < Some(Rank::Delete);
    rows.sort_by_key(|row| (can_wait(row), !row.state.is_outside(), Reverse(rank(row))));
    rows
}

fn row<'a>(
    check: &'a Check,
    (key, object): (&'a Key, &ObjectVerdict),
    (change, unnamed): (Option<&'a Change>, &[(Field, &str)]),
    blocked: Option<&'a BlockedChange>,
) -> Row<'a> {
    let is_outside = object.verdict != Verdict::Pending;
    let state = match (is_outside, change.map(|change| &change.action)) {
        (true, Some(Action::Create { .. })) => State::Deleted,
        (true, None) if !unnamed.is_empty() || blocked.is_some() => State::Changed,
        (true, Some(Action::Delete { .. }) | None) => State::Unmanaged,
        (true, Some(Action::Replace { .. } | Action::Recreate { .. } | Action::Annotate { .. })) => State::Changed,
        (false, _) if blocked.is_some() => State::Blocked,
        (false, _) => State::Pending,
    };
    let since = |field: Option<&Field>| {
        let modified = change.and_then(|change| change.action.before()?.modified.as_deref());
        let seen = check.drift_state.as_ref().and_then(|state| state.seen(key, field));
        (seen.map(|seen| seen.first_seen), since(seen, modified, check.now))
    };
    let mut first: Option<(Option<Timestamp>, Line<'a>)> = None;
    let mut values = Vec::new();
    let kind = change.map(|change| change.key.kind).unwrap_or_default();
    for field in change.map(Change::fields).unwrap_or_default() {
        // A pending field can be in `drifted` because of values beside it that no definition names.
        let is_outside = field.cause != Cause::Pending && object.drifted.contains(&field.field);
        // An accepted value counts as neither changed outside nor pending.
        if !is_outside && !matches!(field.cause, Cause::Pending | Cause::Both) {
            continue;
        }
        let known = if is_outside { since(Some(&field.field)) } else { Default::default() };
        if is_outside && first.as_ref().is_none_or(|first| known.0.is_some_and(|at| first.0.is_none_or(|one| at < one)))
        {
            first = Some(known.clone());
        }
        let value = |edit| Value { edit, is_outside, since: known.1.clone() };
        values.extend(edits::of_field(kind, field).into_iter().map(value));
    }
    for (field, path) in unnamed.iter().filter(|(field, _)| object.drifted.contains(field)) {
        values.push(Value { edit: ValueEdit::unnamed(path), is_outside: true, since: since(Some(field)).1 });
    }
    let why = match (blocked, change) {
        (Some(held), _) => block_reason(held).0,
        // The two sides of the whole object already say it.
        _ if state == State::Unmanaged => Line::default(),
        (None, Some(change)) if is_outside => remarkable_reason(change),
        (None, Some(change)) => reason_since(change),
        (None, None) => Line::default(),
    };
    let (_, since) = first.unwrap_or_else(|| if is_outside { since(None) } else { Default::default() });
    Row { key, state, why, blocked, change, values, since }
}

/// Since when something drifts: as the checks saw it, else when the object was last changed.
fn since(seen: Option<SeenSince>, modified: Option<&str>, now: Timestamp) -> Line<'_> {
    match (seen, modified) {
        (Some(seen), _) => {
            let first = Part::Made(time::with_age(seen.first_seen, Some(now)));
            line!["since ", first, ", seen in ", Line::count(seen.checks, "check")]
        }
        (None, Some(time)) => line!["last changed ", moment_with_age(time, Some(now))],
        (None, None) => Line::default(),
    }
}

/// How many of the objects of a check are live and not defined.
pub fn undefined(check: &Check, verdicts: &Verdicts) -> usize {
    let changes = check.plan.by_key();
    let unnamed = check.plan.notes.iter().filter_map(Note::unnamed).map(|(key, ..)| key);
    let others: BTreeSet<&Key> = check.plan.blocked.iter().map(|held| &held.key).chain(unnamed).collect();
    let is_undefined = |key: &&Key| match changes.get(key) {
        Some(change) => matches!(change.action, Action::Delete { .. }),
        None => !others.contains(key),
    };
    verdicts.objects.keys().filter(is_undefined).count()
}

/// How many endpoints were changed outside, and how many have changes to apply.
pub fn numbers<'a>(verdicts: impl Iterator<Item = &'a Verdicts>) -> (usize, usize) {
    let (mut drifted, mut pending) = (0, 0);
    for object in verdicts.flat_map(|verdicts| verdicts.objects.values()) {
        drifted += usize::from(object.verdict.is_drift());
        pending += usize::from(object.verdict.is_pending());
    }
    (drifted, pending)
}

/// How many objects were changed outside and how many have changes to apply, in words; zeros are left out.
pub fn differing<'v>(verdicts: impl Iterator<Item = &'v Verdicts> + Clone) -> impl Iterator<Item = Line<'static>> {
    let (drifted, pending) = numbers(verdicts.clone());
    let noun = Key::noun(verdicts.flat_map(|verdicts| verdicts.objects.keys()));
    let parts = [(drifted, " changed outside"), (pending, " not applied yet")];
    let parts = parts.into_iter().filter(|(number, _)| *number > 0);
    parts.map(move |(number, words)| Line::count(number, noun).and(words))
}

/// What a check found, in a line.
pub fn headline(verdicts: &Verdicts) -> Line<'static> {
    let list = if verdicts.unknown.keys().all(|scope| scope.kind.is_endpoint()) { "namespace" } else { "list" };
    let unread = Some(verdicts.unknown.len()).filter(|number| *number > 0);
    let unread = unread.map(|number| Line::count(number, list).and(" could not be read"));
    let line = Line::joined(unread.into_iter().chain(differing(std::iter::once(verdicts))), ", ");
    if line.is_empty() { line!["in sync"] } else { line }
}

/// What is accepted, and which acknowledgements have expired or no longer match.
pub fn acknowledged<'a>(check: &'a Check) -> Vec<Line<'a>> {
    let line = |entry: &'a JudgedAcknowledgement| {
        let one = &entry.acknowledgement;
        let until = || foreign(one.expires.to_string());
        let is_unknown = |field: &Field| Field::of_kind(one.object.kind, &field.to_string()).is_none();
        let status = match entry.status {
            AcknowledgementStatus::Silences => line!["accepted until ", until()],
            AcknowledgementStatus::Expired => line![styled(Role::Wrong, "EXPIRED"), " on ", until()],
            AcknowledgementStatus::Moved => line!["drifted on to another value"],
            AcknowledgementStatus::Unneeded if one.field.as_ref().is_some_and(is_unknown) => line!["unknown field"],
            AcknowledgementStatus::Unneeded => line!["no longer needed"],
            AcknowledgementStatus::NotChecked => line!["not looked at by this check"],
        };
        let field = one.field.as_ref().map(|field| line![" ", code(field.to_string())]);
        line![key(&one.object), field, ": ", status, ", ", foreign(&one.reason)]
    };
    check.acknowledged.iter().map(line).collect()
}

/// The commands that resolve what a check found. A command that would do something else as well names its endpoints;
/// what it does beyond that is in its label.
pub fn commands(check: &Check, call: &str) -> Vec<Command> {
    if matches!(check.verdicts.whole(), Verdict::InSync | Verdict::Unknown) {
        return Vec::new();
    }
    let silent = check.acknowledged.iter().filter(|one| one.status == AcknowledgementStatus::Silences);
    let silent: BTreeSet<&Key> = silent.map(|one| &one.acknowledgement.object).collect();
    let rows = rows(check);
    let commands = [applying(check, call, &rows, &silent), accepting(check, call, &rows, &silent)];
    commands.into_iter().flatten().collect()
}

/// The flags for the namespaces that were checked: a shard of a stack has checked only its own.
fn checked(check: &Check) -> String {
    let checked: BTreeSet<&Namespace> =
        check.plan.scope.iter().filter(|(_, scope)| scope.selected).map(|(list, _)| &list.namespace).collect();
    let checked = checked.into_iter().filter(|_| !check.elsewhere.is_empty());
    checked.map(|namespace| format!(" -n {namespace}")).collect()
}

/// The flags that name only these objects; `None` if a command cannot name them.
fn only(check: &Check, keys: &[&Key]) -> Option<String> {
    // A glob without a kind would take in objects of other kinds that have its name.
    let endpoint = if check.plan.noun() == "object" { "endpoint:" } else { "" };
    let glob = |key: &Key| format!("{}{key}", if key.kind.is_endpoint() { endpoint } else { "" });
    let is_short = (1..=NAMED).contains(&keys.len()) && check.plan.source.filters.is_empty();
    let can_be_named = is_short && keys.iter().all(|key| key.is_plain());
    can_be_named.then(|| keys.iter().map(|key| format!(" --only {}", glob(key))).collect())
}

/// The pull that adopts what was changed outside, but neither undefined objects nor changes of unknown cause. It
/// removes what was deleted outside only in an overlay.
fn accepting(check: &Check, call: &str, rows: &[Row<'_>], silent: &BTreeSet<&Key>) -> Option<Command> {
    let changes = check.plan.by_key();
    let has_overlay = check.plan.source.environment.is_some() && !check.shares_all;
    let nameable: BTreeSet<&Key> = check.plan.nameable().into_iter().map(|(key, _)| key).collect();
    let is_taken = |key: &Key| {
        let fields = changes.get(key).map(|change| change.fields());
        let is_taken = |fields: &[FieldChange]| {
            fields.is_empty() && has_overlay || fields.iter().any(|field| field.cause == Cause::Drift)
        };
        nameable.contains(key) || fields.is_some_and(is_taken)
    };
    let keys = rows.iter().filter(|row| row.state.is_outside()).map(|row| row.key);
    let keys: Vec<&Key> = keys.filter(|key| is_taken(key)).collect();
    let takes_silent = silent.iter().any(|key| is_taken(key));
    // Acknowledged objects that it leaves to be decided would end it with an error, too.
    let only =
        only(check, &keys).filter(|_| silent.iter().any(|key| changes.contains_key(key) || nameable.contains(key)));
    let is_silent = if only.is_some() { keys.iter().any(|key| silent.contains(key)) } else { takes_silent };
    let with = if is_silent { ", with what is acknowledged" } else { " with" };
    let into = if check.shares_all { " --into base" } else { "" };
    let unnamed = if nameable.is_empty() { "" } else { " --unnamed" };
    let flags = only.unwrap_or_else(|| checked(check)) + into + unnamed;
    let label = format!("accept the live values{with}:").into();
    (!keys.is_empty()).then(|| Command { label, command: format!("trueup pull --drift {call}{flags}") })
}

/// These changes with the creates of objects that they refer to: otherwise a plan refuses them.
fn with_needed_creates<'c>(plan: &'c Plan, keys: &[&'c Key]) -> Vec<&'c Key> {
    let needs = Waves::of(&plan.changes).needs;
    let is_create = |change: &&Change| change.action.kind() == ActionKind::Create;
    let creates: BTreeSet<&Key> = plan.changes.iter().filter(is_create).map(|change| &change.key).collect();
    let (mut all, mut at) = (keys.to_vec(), 0);
    while let Some(key) = all.get(at) {
        let needed = needs.get(*key).into_iter().flatten().copied();
        let needed: Vec<&Key> = needed.filter(|needed| creates.contains(*needed) && !all.contains(needed)).collect();
        all.extend(needed);
        at += 1;
    }
    all
}

/// The apply that restores what was changed outside, or makes what is pending. It does nothing about what is blocked, and
/// keeps what no definition names.
fn applying(check: &Check, call: &str, rows: &[Row<'_>], silent: &BTreeSet<&Key>) -> Option<Command> {
    let verdict = check.verdicts.whole();
    let is_applied = |row: &&Row<'_>| {
        row.change.is_some_and(|change| change.action.kind() != ActionKind::Annotate) && row.blocked.is_none()
    };
    let is_restored = |row: &&Row<'_>| {
        let fields = row.change.map(Change::fields).unwrap_or_default();
        row.state.is_outside() && (fields.is_empty() || fields.iter().any(|field| field.cause != Cause::Pending))
    };
    let applied: Vec<&Row<'_>> = rows.iter().filter(is_applied).collect();
    if applied.is_empty() {
        return None;
    }
    let applied = applied.into_iter().filter(|row| verdict == Verdict::Pending || is_restored(row));
    let restored: Vec<&Key> = applied.map(|row| row.key).collect();
    let keys = with_needed_creates(&check.plan, &restored);
    let is_silent = |plan: &Plan| plan.changes.iter().any(|change| silent.contains(&change.key));
    let only = only(check, &keys).filter(|_| verdict == Verdict::Both || is_silent(&check.plan));
    // The guards of the whole plan also count what this apply leaves out.
    let alone = only.is_some().then(|| {
        let mut alone = check.plan.clone();
        alone.changes.retain(|change| keys.contains(&&change.key));
        alone.guard();
        alone
    });
    let plan = alone.as_ref().unwrap_or(&check.plan);
    let what = match verdict {
        Verdict::Pending => "apply",
        Verdict::Both if only.is_none() && keys.is_empty() => "apply what is pending",
        Verdict::Both if only.is_none() => "restore, and apply what is pending",
        _ if only.is_some() && keys.len() > restored.len() => "restore, and create what that refers to",
        _ => "restore",
    };
    // The command does not allow what a guard refuses.
    let (is_silent, is_refused) = (is_silent(plan), !plan.refused().is_empty());
    let as_well = if is_silent { ", with what is acknowledged" } else { "" };
    let allowed = if is_refused { ", once it is allowed" } else { "" };
    let with = match is_refused {
        _ if is_silent || what != "restore" => "",
        true => ", with",
        false => " with",
    };
    let label = format!("{what}{as_well}{allowed}{with}:").into();
    let flags = only.unwrap_or_else(|| checked(check));
    Some(Command { label, command: format!("trueup apply {call}{flags}") })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::drift::{Acknowledgement, Acknowledgements, UnmanagedPolicy};
    use crate::model::{Json, ValueDigest};
    use crate::plan::BlockReason;
    use crate::report::{Format, TextView, render, sample_tests};

    /// A plan with two replaces that restore what was changed outside, of which so many are blocked.
    fn plan(blocked: usize) -> Plan {
        let mut plan = sample_tests::plan(10, false);
        plan.blocked.clear();
        plan.notes.clear();
        plan.guards.clear();
        plan.changes.retain(|change| matches!(change.key.name.as_str(), "ep-7" | "ep-8"));
        for change in &mut plan.changes {
            let Action::Replace { fields, .. } = &mut change.action else { continue };
            fields.retain(|field| field.cause == Cause::Drift);
        }
        for change in plan.changes.drain(..blocked).collect::<Vec<_>>() {
            let reason = BlockReason::ForeignStack { stack: "kim-stack".to_owned() };
            plan.blocked.push(BlockedChange::new(change.key.clone(), reason, Some(change)));
        }
        plan
    }

    #[test]
    fn a_delete_that_waits_for_an_apply_is_among_the_first_that_a_short_report_shows() {
        let mut plan = sample_tests::plan(200, false);
        plan.blocked.clear();
        let is_kept =
            |change: &Change| change.key.name.as_str() == "ep-91" || change.action.kind() == ActionKind::Replace;
        plan.changes.retain(is_kept);
        let check = Check::new(plan.clone(), plan.verdicts(UnmanagedPolicy::Note), Timestamp::UNIX_EPOCH);
        assert!(check.verdicts.objects.len() > 100);
        let view = TextView { budget: Some(3_000), call: "st".to_owned(), ..TextView::default() };
        let [text, markdown] = [Format::Text, Format::Markdown].map(|format| render(&check, format, &view));
        assert!(text.contains("pay/ep-91") && text.contains("; all of them: trueup plan st\n"), "{text}");
        assert!(markdown.contains("pay/ep-91") && markdown.len() <= 3_000, "{markdown}");
    }

    #[test]
    fn what_was_changed_outside_and_is_blocked_says_so_and_is_restored_by_no_command() {
        let formats = [Format::Text, Format::Markdown, Format::Html, Format::Junit, Format::Github, Format::Sarif];
        for (blocked, restores) in [(0, true), (1, true), (2, false)] {
            let plan = plan(blocked);
            let check = Check::new(plan.clone(), plan.verdicts(UnmanagedPolicy::Note), Timestamp::UNIX_EPOCH);
            assert_eq!(check.verdicts.whole(), Verdict::Drift);
            let commands = commands(&check, ".");
            let commands: Vec<&str> = commands.iter().map(|command| &*command.label).collect();
            let accept = "accept the live values with:";
            assert_eq!(commands, if restores { vec!["restore with:", accept] } else { vec![accept] });
            // An apply that only annotates restores nothing.
            let mut annotating = check.plan.clone();
            for change in &mut annotating.changes {
                let before = change.action.before().expect("a replace").clone();
                change.action = Action::Annotate { before };
            }
            let annotated = Check::new(annotating, check.verdicts.clone(), Timestamp::UNIX_EPOCH);
            assert!(super::commands(&annotated, ".").iter().all(|command| command.label == accept), "{blocked}");
            for format in formats {
                let text = render(&check, format, &TextView::default());
                assert_eq!(text.contains("kim-stack"), blocked > 0, "{format:?}: {text}");
                assert!(blocked == 0 || text.contains("blocked"), "{format:?}: {text}");
            }
        }
    }

    #[test]
    fn a_command_names_its_endpoints_beside_what_is_acknowledged_or_says_that_it_does_that_as_well() {
        let mut plan = plan(0);
        let keys: Vec<Key> = plan.changes.iter().map(|change| change.key.clone()).collect();
        let Action::Replace { fields, .. } = &mut plan.changes[1].action else { panic!("a replace") };
        fields.push(FieldChange::new(Field::Label("team".to_owned()), Json::Null, Json::Null, Cause::Drift));
        let found = plan.verdicts(UnmanagedPolicy::Note);
        let expires = "2027-01-01".parse().expect("a day");
        let all = Acknowledgements::offered(&plan, &found, &[], ("known", expires));
        let commands = |is_accepted: &dyn Fn(&Acknowledgement) -> bool| -> Vec<(String, String)> {
            let mut accepted = all.clone();
            accepted.acknowledged.retain(is_accepted);
            let check = Check::new(plan.clone(), found.clone(), Timestamp::UNIX_EPOCH).accepting(&accepted);
            super::commands(&check, ".").into_iter().map(|one| (one.label.into_owned(), one.command)).collect()
        };
        let two = |[apply, pull]: [&str; 2], flags: &str| {
            let pull = (pull.to_owned(), format!("trueup pull --drift .{flags}"));
            vec![(apply.to_owned(), format!("trueup apply .{flags}")), pull]
        };
        let plain = ["restore with:", "accept the live values with:"];
        assert_eq!(commands(&|_| false), two(plain, ""));
        let second = format!(" --only {}", keys[1]);
        assert_eq!(commands(&|one| one.object == keys[0]), two(plain, &second));
        // A command cannot leave out a field.
        let both = ["restore, with what is acknowledged:", "accept the live values, with what is acknowledged:"];
        let is_label = |one: &Acknowledgement| matches!(one.field, Some(Field::Label(_)));
        assert_eq!(commands(&|one| one.object == keys[0] || is_label(one)), two(both, &second));
        assert_eq!(commands(&|_| true), []);
    }

    #[test]
    fn a_pending_value_is_not_changed_outside_when_something_beside_it_is() {
        let mut plan = plan(0);
        plan.changes.truncate(1);
        let Action::Replace { fields, .. } = &mut plan.changes[0].action else { panic!("a replace") };
        fields.retain(|field| field.field.is_of_spec());
        fields.iter_mut().for_each(|field| field.cause = Cause::Pending);
        let path = fields[0].field.to_string();
        let key = plan.changes[0].key.clone();
        plan.notes.push(Note::Unnamed { key, path, value: ValueDigest::of(&Json::Null) });
        let check = Check::new(plan.clone(), plan.verdicts(UnmanagedPolicy::Note), Timestamp::UNIX_EPOCH);
        let rows = rows(&check);
        let outside: Vec<bool> = rows[0].values.iter().map(|value| value.is_outside).collect();
        assert_eq!(outside, [false, true]);
        // A pull takes nothing over beside a value that waits.
        let commands = commands(&check, ".");
        assert!(!commands.iter().any(|command| command.command.contains("pull --drift")));
    }

    #[test]
    fn what_is_pending_and_blocked_has_its_values_and_the_kind_of_its_reason_in_every_format() {
        let mut plan = plan(2);
        let reasons = [BlockReason::Protected, BlockReason::Unverified];
        for (held, reason) in plan.blocked.iter_mut().zip(reasons) {
            held.reason = reason;
            let Some(Action::Replace { fields, .. }) = held.change.as_mut().map(|change| &mut change.action) else {
                panic!("a replace")
            };
            fields.iter_mut().for_each(|field| field.cause = Cause::Pending);
        }
        let check = Check::new(plan.clone(), plan.verdicts(UnmanagedPolicy::Note), Timestamp::UNIX_EPOCH);
        let rows = rows(&check);
        assert!(rows.iter().all(|row| row.state == State::Blocked && !row.values.is_empty()));
        let [text, sarif] = [Format::Text, Format::Sarif].map(|format| render(&check, format, &TextView::default()));
        for edit in rows.iter().flat_map(|row| &row.values).map(|value| &value.edit) {
            assert!(text.contains(&*edit.live()) && text.contains(&*edit.wanted()), "{} {text}", edit.name);
        }
        assert!(text.contains("2 of 30 endpoints have changes to apply, 2 of them blocked"), "{text}");
        assert!(sarif.contains("\"blocked-protected\"") && sarif.contains("\"blocked-unverified\""), "{sarif}");
    }
}
