//! The facts of a plan: in which order its changes are shown, how many are whose, and which commands apply it.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use super::edits;
use crate::model::{Namespace, RunId, counted, gathered};
use crate::plan::{Action, ActionKind, Attribution, BlockedChange, Cause, Change, Digest, GuardHit, GuardName, Plan};
use crate::report::prelude::{Line, Role, TextView, code, quoted, safe};

/// The maximum number of names of objects that are only annotated, if not all are listed.
pub const NAMES: usize = 12;

/// How much a change can hurt. A report that must be cut drops the lowest rank first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Rank {
    /// Something new.
    Create,
    /// A replace that follows from the files alone.
    Pending,
    /// A replace that overwrites what was changed outside.
    Drift,
    /// Like `Drift`, but the files were changed as well.
    Both,
    /// A delete, also of an object that is created again.
    Delete,
    /// Nothing is done although the files ask for it.
    Blocked,
}

impl Rank {
    /// The rank of a change.
    pub fn of(change: &Change) -> Self {
        let causes = |cause| change.fields().iter().any(|field| field.cause == cause);
        match &change.action {
            Action::Create { .. } => Rank::Create,
            Action::Delete { .. } | Action::Recreate { .. } => Rank::Delete,
            _ if causes(Cause::Both) => Rank::Both,
            _ if causes(Cause::Drift) || causes(Cause::Unannotated) => Rank::Drift,
            Action::Replace { .. } | Action::Annotate { .. } => Rank::Pending,
        }
    }
}

/// The sign and the word of an action, and their colour.
pub fn sign(kind: ActionKind) -> (&'static str, Role) {
    match kind {
        ActionKind::Create => ("+ create ", Role::Create),
        ActionKind::Replace => ("~ replace", Role::Replace),
        ActionKind::Recreate => ("-/+ recreate", Role::Delete),
        ActionKind::Annotate => ("* annotate", Role::Quiet),
        ActionKind::Delete => ("- delete ", Role::Delete),
    }
}

/// Something that a plan lists.
pub enum Item<'a> {
    /// A change, or several with one and the same edit.
    Changes(Vec<&'a Change>),
    /// A blocked change.
    Blocked(&'a BlockedChange),
}

impl Item<'_> {
    /// How much it can hurt.
    pub fn rank(&self) -> Rank {
        match self {
            Item::Changes(changes) => changes.first().map_or(Rank::Create, |change| Rank::of(change)),
            Item::Blocked(_) => Rank::Blocked,
        }
    }
}

/// The parts of a plan that a reviewer looks at one after the other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Part {
    /// What this change does; without a base, everything.
    ThisChange,
    /// What the base has and this change lacks.
    BehindBase,
    /// What others changed, and an apply would do as well.
    Others,
}

impl Part {
    /// The part to which a change belongs.
    pub fn of(change: &Change) -> Self {
        match change.whose() {
            None | Some(Attribution::ThisChange) => Part::ThisChange,
            Some(Attribution::BehindBase) => Part::BehindBase,
            Some(Attribution::Drift | Attribution::PendingOnBase) => Part::Others,
        }
    }
}

/// What a plan lists, by its parts; in each, what can hurt most comes last, because text is read from its end. Changes
/// that only annotate are not listed.
pub fn parts(plan: &Plan) -> Vec<(Part, Vec<Item<'_>>)> {
    let of = |part: Part| {
        let changes = plan.changes.iter().filter(|change| Part::of(change) == part);
        let folds = edits::fold(changes).into_iter().map(Item::Changes);
        let blocked =
            plan.blocked.iter().filter(|held| held.change.as_ref().map_or(Part::ThisChange, Part::of) == part);
        let mut items: Vec<Item<'_>> = folds.chain(blocked.map(Item::Blocked)).collect();
        let many = |item: &Item<'_>| matches!(item, Item::Changes(changes) if changes.len() > 1);
        items.sort_by_key(|item| (item.rank(), many(item)));
        (part, items)
    };
    let parts = [Part::ThisChange, Part::BehindBase, Part::Others].map(of);
    parts.into_iter().filter(|(part, items)| *part == Part::ThisChange || !items.is_empty()).collect()
}

/// How many changes of these plans belong to whom; empty if all are of this change.
pub fn whose(plans: &[&Plan]) -> Vec<(usize, &'static str)> {
    let changes = plans.iter().flat_map(|plan| &plan.changes);
    let listed = changes.filter(|change| change.action.kind() != ActionKind::Annotate);
    let sides: Vec<(Attribution, bool)> =
        listed.filter_map(|change| Some((change.whose()?, change.is_of_several()))).collect();
    if sides.iter().all(|side| *side == (Attribution::ThisChange, false)) {
        return Vec::new();
    }
    let number = |is: &dyn Fn((Attribution, bool)) -> bool| sides.iter().filter(|one| is(**one)).count();
    let of = |side: Attribution| number(&|one| one.0 == side);
    let drift = of(Attribution::Drift);
    let all = [
        (number(&|one| one == (Attribution::ThisChange, false)), "of this change"),
        (number(&|one| one == (Attribution::ThisChange, true)), "with more than this change"),
        (drift, if drift == 1 { "reverts what was changed outside" } else { "revert what was changed outside" }),
        (of(Attribution::PendingOnBase), "pending on base"),
        (of(Attribution::BehindBase), "behind base"),
    ];
    all.into_iter().filter(|(number, _)| *number > 0).collect()
}

/// What an apply of these plans does and what it leaves, in a line, followed by `more`; empty if there is nothing to
/// say.
pub fn headline<'p>(plans: &[&'p Plan], more: impl IntoIterator<Item = Line<'p>>) -> Line<'p> {
    let number = |of: &dyn Fn(&Plan) -> usize| plans.iter().map(|plan| of(plan)).sum::<usize>();
    let kinds = [ActionKind::Create, ActionKind::Replace, ActionKind::Recreate, ActionKind::Delete];
    let counts =
        kinds.into_iter().map(|kind| (kind, number(&|plan| plan.count(kind)))).filter(|(_, number)| *number > 0);
    let actions = counts.map(|(kind, number)| line![number, " to ", kind.as_str(), adopted(plans, kind)]);
    let mut actions: Vec<Line<'_>> = actions.collect();
    let whose: Vec<Line<'_>> = whose(plans).into_iter().map(|(number, words)| line![number, " ", words]).collect();
    // Changes that only annotate are not attributed.
    let mut annotating = plans.iter().filter(|plan| plan.count(ActionKind::Annotate) > 0);
    let annotates = if annotating.all(|plan| plan.transferred().is_some()) { " to move" } else { " to annotate" };
    let rest = [
        (number(&|plan| plan.count(ActionKind::Annotate)), annotates),
        (number(&|plan| plan.blocked.len()), " blocked"),
    ];
    let rest =
        rest.into_iter().filter(|(number, _)| *number > 0).map(|(number, words)| line![number, words]).chain(more);
    if whose.is_empty() {
        actions.extend(rest);
        return Line::joined(actions, ", ");
    }
    let whose = line![Line::joined(actions, ", "), ": ", Line::joined(whose, ", ")];
    let rest = Line::joined(rest, ", ");
    if rest.is_empty() { whose } else { line![whose, "; ", rest] }
}

/// The changes that only annotate, in a line for each stack that they take objects from, with at most `most` names of
/// those objects. Objects that no other stack loses need no review of their own.
pub fn annotates<'p>(plan: &'p Plan, most: usize) -> impl Iterator<Item = Line<'p>> {
    let stacks = |change: &'p Change| (change.taken_from(), change.transfer().map(|(_, to)| to));
    let names = plan.of_kind(ActionKind::Annotate).map(|change| (stacks(change), change.key.to_string()));
    let names: BTreeMap<_, Vec<String>> = gathered(names);
    names.into_iter().map(move |(stacks, names)| {
        let (what, most) = match stacks {
            (Some(from), Some(to)) => (line!["handed over from stack ", code(from), " to stack ", code(to)], most),
            (Some(from), None) => (line!["taken from stack ", code(from), ", and no stack owns them afterwards"], most),
            (None, _) => (line!["in sync, only ownership annotations are written"], NAMES),
        };
        let number = Line::count(names.len(), plan.noun());
        line![number, " ", what, ": ", Line::some_of(names.into_iter(), most)]
    })
}

/// How many changes of a kind take over objects of no stack, or of another one.
fn adopted<'p>(plans: &[&'p Plan], kind: ActionKind) -> Option<Line<'p>> {
    let taken = plans.iter().flat_map(|plan| {
        let changes = plan.of_kind(kind).filter(|change| change.adopts());
        changes.map(|change| (change.taken_from(), plan.stack.is_none()))
    });
    let numbers = counted(taken);
    let words = numbers.iter().map(|(taken, number)| match taken {
        (Some(from), true) => line![*number, " taken from stack ", code(*from), ": no stack owns it afterwards"],
        (Some(from), false) => line![*number, " taken over from stack ", code(*from)],
        (None, _) => line![*number, " adopted: no stack owns it"],
    });
    (!numbers.is_empty()).then(|| line![" (", Line::joined(words, ", "), ")"])
}

/// A guard in words.
pub fn guard(guard: &GuardHit) -> Line<'static> {
    let GuardHit { count, of, .. } = guard;
    let (kind, noun) = guard.noun();
    let noun = line![kind.map(|kind| line![kind, " "]), noun];
    let place = guard.namespace.as_ref().map(|namespace| line![" of ", quoted(namespace.to_string())]);
    match guard.name {
        GuardName::MassChange => {
            let allowed = u64::from(guard.allowed_percent.unwrap_or_default());
            let share = line![" (", guard.percent(), " %, allowed ", allowed, " %)"];
            line!["the plan would delete or replace ", *count, " of ", *of, " ", noun, "s", place, share]
        }
        GuardName::EmptyNamespace => line!["the plan would delete every owned ", noun, place, " (", *count, ")"],
        GuardName::BehindBase => {
            let why = "s are behind the base: applying would revert merged work; merge the base first";
            line![*count, " of ", *of, " changed ", noun, why]
        }
    }
}

/// A proposed command with what it is for.
pub struct Command {
    /// What it does.
    pub label: Cow<'static, str>,
    /// The command, as a shell takes it.
    pub command: String,
}

/// The commands that apply a plan. They do not allow what a guard refuses: that is a separate decision. A plan that
/// would revert merged work gets no command, nor does one that an apply refuses because a list could not be read.
pub fn commands(plan: &Plan, digest: &Digest, view: &TextView) -> Vec<Command> {
    if plan.changes.is_empty() || view.is_applied || plan.unknown().next().is_some() {
        return Vec::new();
    }
    let alone = view.make.is_none().then(|| alone(&[plan])).flatten();
    applying(&[plan], alone, ["Apply exactly this:", "Apply exactly this, once it is allowed:"], |alone| match alone {
        Some([alone]) => command(alone, &alone.digest(), None, view),
        _ => command(plan, digest, view.saved.as_deref(), view),
    })
}

/// The commands that apply these plans, as `command` writes them: first one for `alone`, what this change is about, if
/// that is less. `exactly` are the labels of the other one: as it is, and once it is allowed.
pub fn applying(
    plans: &[&Plan],
    alone: Option<Vec<Plan>>,
    exactly: [&'static str; 2],
    command: impl Fn(Option<&[Plan]>) -> String,
) -> Vec<Command> {
    let of_alone = alone.as_deref().map(|alone| {
        let labels = ["Apply this change alone:", "Apply this change alone, once it is allowed:"];
        Command { label: label(alone.iter(), labels).into(), command: command(Some(alone)) }
    });
    let labels = match alone {
        Some(_) => ["Apply the whole plan:", "Apply the whole plan, once it is allowed:"],
        None => exactly,
    };
    let whole = can_apply(plans.iter().copied())
        .then(|| Command { label: label(plans.iter().copied(), labels).into(), command: command(None) });
    of_alone.into_iter().chain(whole).collect()
}

/// The first of the labels, or the second if an apply of these plans is refused.
fn label<'p>(mut plans: impl Iterator<Item = &'p Plan>, [exactly, once_allowed]: [&'static str; 2]) -> &'static str {
    if plans.all(|plan| plan.refused().is_empty()) { exactly } else { once_allowed }
}

/// The plans of only what this change is about, if an apply of them does something, but less.
pub fn alone(plans: &[&Plan]) -> Option<Vec<Plan>> {
    let is_own = |change: &Change| Part::of(change) == Part::ThisChange;
    if !plans.iter().any(|plan| plan.source.base.is_some() && plan.changes.iter().any(is_own)) {
        return None;
    }
    let alone: Vec<Plan> = plans.iter().map(|plan| plan.only_this_change(&plan.consents())).collect();
    let is_less = alone.iter().map(units).sum::<usize>() < plans.iter().map(|plan| units(plan)).sum();
    (is_less && can_apply(alone.iter())).then_some(alone)
}

/// Whether an apply of these plans changes something, and consents can allow all of it.
fn can_apply<'p>(mut plans: impl Iterator<Item = &'p Plan> + Clone) -> bool {
    plans.clone().any(|plan| !plan.changes.is_empty()) && plans.all(Plan::can_be_allowed)
}

/// How much a plan changes: the fields of a replace or recreate, and any other change as one.
fn units(plan: &Plan) -> usize {
    let of = |change: &Change| match &change.action {
        Action::Replace { fields, .. } | Action::Recreate { fields, .. } => fields.len(),
        _ => 1,
    };
    plan.changes.iter().map(of).sum()
}

fn command(plan: &Plan, digest: &Digest, saved: Option<&Path>, view: &TextView) -> String {
    let mut command = match saved {
        Some(path) => {
            let pruned = prune_flags(&plan.settings.prune_namespaces);
            format!("trueup apply {}{}{pruned}", safe::shell(&path.to_string_lossy()), view.flags)
        }
        None => view.apply_command(),
    };
    if saved.is_none() {
        let base = plan.source.base.as_ref().map(|base| format!(" --base {}", safe::shell(base)));
        command += &base.unwrap_or_default();
        command += if plan.is_only_this_change() { " --only-this-change" } else { "" };
    }
    // If a consent is missing, the apply will give other consents than the plan records.
    let without = (saved.is_none() && !plan.refused().is_empty()).then(|| plan.digest_without_consents());
    command += &format!(" --digest {}", without.as_ref().unwrap_or(digest).short());
    // A saved plan contains the consents that were given, and its digest covers them. A move gives its own consents.
    match saved.is_none() && plan.handed_over().is_none() {
        true => command + &consents(plan.allowed.iter().map(|allowed| &allowed.name)),
        false => command,
    }
}

/// The flags that give these consents again, each after a space: a resume takes none from a file.
pub fn consents<'n>(names: impl Iterator<Item = &'n String>) -> String {
    let names: BTreeSet<&String> = names.collect();
    names.into_iter().map(|name| format!(" --allow {}", safe::shell(name))).collect()
}

/// The flags that prune these namespaces, each after a space: neither a saved plan nor a run brings its own.
pub fn prune_flags(namespaces: &BTreeSet<Namespace>) -> String {
    namespaces.iter().map(|namespace| format!(" --prune-namespace {namespace}")).collect()
}

/// The command that resumes a run, with the flags that it does not take from the journal.
pub fn resume<'n>(run: &RunId, allowed: impl Iterator<Item = &'n String>, pruned: &BTreeSet<Namespace>) -> String {
    format!("trueup apply --resume {run}{}{}", consents(allowed), prune_flags(pruned))
}

/// The command that undoes a run, with what [`Plan::undo_consents`] has of its plan.
pub fn undo(run: &RunId, consents: &BTreeSet<String>) -> String {
    format!("trueup rollback {run}{}", self::consents(consents.iter()))
}

/// The command that undoes a run of this plan.
pub fn undo_of(run: &RunId, plan: &Plan) -> String {
    undo(run, &plan.undo_consents())
}

/// The command that resumes a run of this plan.
pub fn resume_of(run: &RunId, plan: &Plan) -> String {
    resume(run, plan.allowed.iter().map(|allowed| &allowed.name), &plan.settings.prune_namespaces)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::STACK;
    use crate::plan::{OwnershipAnnotations, ScopeRead};
    use crate::report::{Format, render, sample_tests};

    /// A plan with a base, of whose replaces those that `is_mixed` selects revert something outside as well.
    fn plan(is_mixed: impl Fn(usize) -> bool) -> Plan {
        let mut plan = sample_tests::attributed(sample_tests::plan(20, false));
        plan.changes.retain(|change| change.fields().len() > 1 && change.whose() == Some(Attribution::ThisChange));
        plan.blocked.clear();
        for (_, change) in plan.changes.iter_mut().enumerate().filter(|(at, _)| is_mixed(*at)) {
            let Action::Replace { fields, .. } = &mut change.action else { continue };
            fields[1].attribution = Some(Attribution::Drift);
        }
        plan
    }

    #[test]
    fn a_replace_of_this_change_and_of_others_counts_as_neither_alone() {
        let headline = |is_mixed: &dyn Fn(usize) -> bool| headline(&[&plan(is_mixed)], None).unescaped();
        assert_eq!(headline(&|_| false), "3 to replace");
        assert_eq!(headline(&|at| at == 1), "3 to replace: 2 of this change, 1 with more than this change");
        assert_eq!(headline(&|_| true), "3 to replace: 3 with more than this change");
    }

    #[test]
    fn no_command_applies_a_plan_of_which_a_list_could_not_be_read() {
        let commands = |plan: &Plan| commands(plan, &plan.digest(), &TextView::default()).len();
        let mut plan = plan(|_| false);
        assert_eq!(commands(&plan), 1);
        let list = plan.scope.values_mut().next().expect("a list");
        list.read = ScopeRead::Unknown { reason: "403".to_owned() };
        assert_eq!(commands(&plan), 0);
    }

    #[test]
    fn every_format_counts_and_names_what_is_only_annotated() {
        let mut plan = plan(|_| false);
        plan.changes.truncate(1);
        plan.changes[0].action =
            Action::Annotate { before: plan.changes[0].action.before().cloned().expect("a replace") };
        let key = plan.changes[0].key.to_string();
        assert_eq!(headline(&[&plan], None).unescaped(), "1 to annotate");
        for format in [Format::Text, Format::Markdown, Format::Html, Format::Github, Format::Sarif] {
            let text = render(&plan, format, &TextView::default());
            assert!(text.contains("only ownership annotations are written: "), "{format:?}: {text}");
            assert!(text.contains(&key), "{format:?}: {text}");
        }
    }

    #[test]
    fn every_object_that_another_stack_loses_is_named() {
        let mut plan = sample_tests::plan(60, false);
        plan.changes.retain(|change| matches!(change.action, Action::Replace { .. }));
        (plan.blocked, plan.guards) = (Vec::new(), Vec::new());
        for change in &mut plan.changes {
            let mut before = change.action.before().expect("a replace").clone();
            before.endpoint.annotations.insert(STACK.to_owned(), "other".to_owned());
            change.action = Action::Annotate { before };
            change.ownership = Some(OwnershipAnnotations { stack: plan.stack.clone(), applied: None });
        }
        let keys: Vec<String> = plan.changes.iter().map(|change| change.key.to_string()).collect();
        assert!(keys.len() > 2 * NAMES);
        for format in [Format::Text, Format::Markdown, Format::Html, Format::Github, Format::Sarif] {
            let text = render(&plan, format, &TextView::default());
            assert!(text.contains(" from stack ") && keys.iter().all(|key| text.contains(key)), "{format:?}: {text}");
        }
        let short = render(&plan, Format::Markdown, &TextView { budget: Some(1_000), ..TextView::default() });
        let more = format!(" and {} more", keys.len() - NAMES);
        assert!(short.len() <= 1_000 && short.contains(&more) && short.contains("Not all notes"), "{short}");
    }
}
