//! The views of a plan and of a check.

use std::collections::BTreeSet;

use crate::report::line::{Line, code, foreign, moment, styled};

use super::{Alarm, AlarmKind, Content, Count, Table, View, unread};
use crate::drift::{AcknowledgementStatus, Check};
use crate::model::policy::Direction;
use crate::plan::{ActionKind, GuardHit, GuardName, Note, Plan};
use crate::report::facts::reason::short_commit;
use crate::report::facts::{check, notes, plan as facts, unread as unread_facts};
use crate::report::{Role, TextView};

/// Places that are named of one guard.
const GUARDS: usize = 3;

impl<'a> View<'a> {
    /// The view of a plan.
    pub fn of_plan(plan: &'a Plan, view: &TextView) -> Self {
        let digest = plan.digest();
        let (kind, heading) = match (plan.undone(), plan.handed_over()) {
            (Some(run), _) => ("rollback", line!["Rollback of ", code(run.as_str()), ", ", stack(plan)]),
            (None, Some((from, to))) => ("move", line!["Move from stack ", code(from), " to stack ", code(to)]),
            (None, None) => ("plan", line!["Plan for ", stack(plan)]),
        };
        let mut facts = read(plan);
        let moved = plan.transferred();
        facts.extend(moved.map(|(from, to)| line!["moved from stack ", foreign(from), " to stack ", foreign(to)]));
        facts.extend(plan.source.base.as_deref().map(|base| line!["against ", code(base)]));
        facts.extend(plan.source.commit.as_deref().map(|commit| line!["commit ", code(short_commit(commit))]));
        let mut alarms = consents(plan);
        alarms.extend(unread(&unread_facts::by_reason(plan.unknown())));
        Self {
            kind,
            plan,
            heading,
            headline: Self::headline_of(plan),
            facts,
            digest: Some(digest.short().to_owned()),
            counts: counts(&[plan]),
            alarms,
            settings: settings(plan),
            content: Content::Plan(facts::parts(plan)),
            notes: notes::lines(plan),
            commands: facts::commands(plan, &digest, view),
        }
    }

    /// The view of a check; `call` is the words that name its stack in a command.
    pub fn of_check(check: &'a Check, call: &str) -> Self {
        let plan = &check.plan;
        let unknown = check.verdicts.unknown.iter().map(|(namespace, reason)| (namespace, reason.as_str()));
        let mut alarms = unread(&unread_facts::by_reason(unknown));
        let undecided = notes::lines_of(plan, Note::is_undecided).into_iter();
        alarms.extend(undecided.map(|text| Alarm::new(AlarmKind::Undecided, text)));
        Self {
            kind: "drift",
            plan,
            heading: line!["Drift of ", stack(plan)],
            headline: check::headline(&check.verdicts),
            facts: read(plan),
            digest: None,
            counts: counts_of_checks(&[check]),
            alarms,
            settings: None,
            content: Content::Check(check::rows(check), check::acknowledged(check)),
            notes: notes::lines_of(plan, |note| !note.is_undecided()),
            commands: check::commands(check, call),
        }
    }

    /// What a plan says in a line.
    pub fn headline_of(plan: &'a Plan) -> Line<'a> {
        let unread = plan.unknown().next().map(|_| match unread_facts::whole(plan) {
            Some(_) => line!["nothing could be read"],
            None => line!["a read is incomplete"],
        });
        let headline = facts::headline(plan, unread);
        let headline = if headline.is_empty() { line!["in sync"] } else { headline };
        if plan.is_refused() { line!["refused, ", headline] } else { headline }
    }
}

/// The stack with its environment.
pub fn stack(plan: &Plan) -> Line<'_> {
    let stack = plan.stack.as_deref().map_or_else(|| line!["no stack"], |stack| line!["stack ", foreign(stack)]);
    stack.and(plan.source.environment.as_deref().map(|environment| line![", environment ", foreign(environment)]))
}

/// What was read: the service, the stack, how many namespaces, and how narrowly.
pub fn read(plan: &Plan) -> Vec<Line<'_>> {
    let namespaces = Line::count(plan.read_scope().namespaces, "namespace");
    let mut facts = vec![line![code(&plan.service.base_url)], stack(plan), namespaces];
    facts.extend(plan.source.snapshot.as_ref().map(|_| source(plan)));
    facts.extend(narrowed(plan));
    facts
}

/// What the plan was made from: the service in so many requests, or a snapshot of a time.
pub fn source(plan: &Plan) -> Line<'_> {
    match &plan.source.snapshot {
        None => Line::count(plan.source.requests, "request"),
        Some(taken) => line!["against the snapshot of ", moment(taken)],
    }
}

/// The filters of the call, and what they leave out.
pub fn narrowed(plan: &Plan) -> Vec<Line<'_>> {
    let seen = plan.read_scope();
    let filters = &plan.source.filters;
    let filters = (!filters.is_empty()).then(|| line!["filtered by ", code(filters.join(" "))]);
    let parts = [
        (plan.left_out, "change", " outside the filter"),
        (seen.left_out, "namespace", " outside the filter"),
        (seen.unread, plan.list_noun(), " not read"),
    ];
    let parts = parts.into_iter().filter(|(number, ..)| *number > 0);
    filters.into_iter().chain(parts.map(|(number, one, words)| Line::count(number, one).and(words))).collect()
}

/// That an apply would be refused and why, and who allowed what.
pub fn consents(plan: &Plan) -> Vec<Alarm<'_>> {
    let refused = plan.refused();
    let mut alarms = Vec::new();
    if !refused.is_empty() {
        let text = line!["an apply of this plan is refused unless it is allowed by name"];
        // One guard over many namespaces is one thing to allow.
        let names: BTreeSet<GuardName> = refused.iter().map(|guard| guard.name).collect();
        let items = names.into_iter().map(|name| {
            let of_name: Vec<&GuardHit> = refused.iter().copied().filter(|guard| guard.name == name).collect();
            let more = of_name.len().saturating_sub(GUARDS);
            let reasons = Line::joined(of_name.into_iter().take(GUARDS).map(facts::guard), "; ");
            let more = (more > 0).then(|| line!["; and in ", more, " more"]);
            line![code(format!("--allow {name}")), ": ", reasons, more]
        });
        alarms.push(Alarm { kind: AlarmKind::Refused, text, items: items.collect() });
    } else if plan.is_refused() {
        let text = line!["an apply of this plan does nothing: everything in it is blocked"];
        alarms.push(Alarm::new(AlarmKind::Refused, text));
    }
    for allowed in &plan.allowed {
        let by = allowed.by.as_deref().map(|by| line![" by ", code(by)]);
        let guards = plan.guards.iter().filter(|guard| guard.name.as_str() == allowed.name);
        let (text, items) = (line![code(&allowed.name), by], guards.map(facts::guard).collect());
        alarms.push(Alarm { kind: AlarmKind::Allowed, text, items });
    }
    alarms
}

/// The settings that are others than at the base, or that the policy limits, with what is in force.
pub fn settings(plan: &Plan) -> Option<Table<'_>> {
    let changes = &plan.setting_changes;
    let has_base = changes.iter().any(|change| change.base.is_some());
    let title = match &plan.source.base {
        Some(base) if has_base => line!["This change alters settings of ", code(base), ":"],
        _ => line!["The policy limits settings:"],
    };
    let values = if has_base { "base -> here" } else { "here" };
    let mut table = Table::new(["", "setting", values, ""]).titled(title, 2);
    for change in changes {
        let role = match change.direction {
            Direction::Loosened => Role::Wrong,
            Direction::Changed | Direction::Limited => Role::Careful,
            Direction::Tightened => Role::Quiet,
        };
        table.row([
            line![styled(role, change.direction.as_str())],
            line![code(&change.setting)],
            line![code(change.values())],
            line![foreign(change.force())],
        ]);
    }
    (!changes.is_empty()).then_some(table)
}

/// How much these plans change, and of a single one whose that is.
pub fn counts(plans: &[&Plan]) -> Vec<Count> {
    let count = |class, words, of: &dyn Fn(&Plan) -> usize| Count {
        class,
        number: plans.iter().map(|plan| of(plan)).sum(),
        words,
    };
    let mut counts = vec![
        count("create", "to create", &|plan| plan.count(ActionKind::Create)),
        count("replace", "to replace", &|plan| plan.count(ActionKind::Replace)),
        count("delete", "to recreate", &|plan| plan.count(ActionKind::Recreate)),
        count("delete", "to delete", &|plan| plan.count(ActionKind::Delete)),
    ];
    let whose = plans.iter().filter(|_| plans.len() == 1).flat_map(|plan| facts::whose(plan));
    counts.extend(whose.map(|(number, words)| Count { class: "mark", number, words }));
    let annotates = if plans.iter().all(|plan| plan.transferred().is_none()) { "annotations only" } else { "to move" };
    counts.extend([
        count("blocked", "blocked", &|plan| plan.blocked.len()),
        count("annotate", annotates, &|plan| plan.count(ActionKind::Annotate)),
        count("sync", "in sync", &Plan::in_sync),
    ]);
    counts
}

/// How many endpoints of these checks are what.
pub fn counts_of_checks(checks: &[&Check]) -> Vec<Count> {
    let count = |class, number, words| Count { class, number, words };
    let (drifted, pending) = check::numbers(checks.iter().map(|check| &check.verdicts));
    let accepted = checks.iter().flat_map(|check| &check.acknowledged);
    let accepted = accepted.filter(|entry| entry.status == AcknowledgementStatus::Silences).count();
    vec![
        count("delete", drifted, "changed outside"),
        count("replace", pending, "not applied yet"),
        count("blocked", checks.iter().map(|check| check.verdicts.unknown.len()).sum(), "not read"),
        count("mark", accepted, "accepted"),
        count("sync", checks.iter().map(|check| check.verdicts.in_sync).sum(), "in sync"),
    ]
}
