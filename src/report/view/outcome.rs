//! The view of what an apply did: what was not made and why, conflicts as a table of three values, the sum, the
//! verification, and how to undo or resume the run; of a rehearsal of it; and of why a plan is not applied.

use std::time::Duration;

use super::{consents, settings, unread};
use crate::kind;
use crate::model::{Field, PROTECT, Scope, grouped, protects};
use crate::plan::{ActionKind, ApprovalError, Conflict, Note, PlanOrigin, ScopeRead, ScopeState, ThreeWay};
use crate::report::Applied;
use crate::report::facts::edits::{self, ThreeWayValue, unmistakable};
use crate::report::facts::reason::block_reason;
use crate::report::facts::{plan as facts, words};
use crate::report::json::{OutcomeReport, RehearsalReport};
use crate::report::prelude::*;
use crate::run::{ChangeResult, ChangeStep, Confirmation, Outcome, Rehearsal, Verification};

/// The maximum number of lists that a refusal proposes to leave out one by one.
const EXCEPTED: usize = 4;

/// The maximum number of names that are listed for one cause.
const NAMES: usize = 4;
/// The maximum number of names that are listed of what is left.
const LEFT: usize = 12;
/// The maximum number of fields that are listed for an endpoint.
const FIELDS: usize = 8;

impl Report for Applied<'_> {
    fn blocks<'a>(&'a self, view: &TextView) -> Blocks<'a> {
        let Self { outcome, plan, earlier } = self;
        let mut unmade = undone(outcome, plan, view);
        for (endpoint, words) in &outcome.unhealthy {
            let words = line![key(endpoint), " is applied, and the service reports: ", foreign(words)];
            unmade.labelled(Role::Careful, "unhealthy", words);
        }
        let made = of_settings(plan).then(unmade).then(sum(outcome, earlier));
        made.and(verification(outcome, plan)).and(next(outcome, plan, view))
    }

    written_as!("outcome", OutcomeReport::new);
}

/// The settings that differ from those at the base, or that the policy limits.
pub fn of_settings(plan: &Plan) -> Blocks<'_> {
    settings(plan).map(Blocks::from).unwrap_or_default()
}

/// What was not made, and why.
fn undone<'a>(outcome: &'a Outcome, plan: &'a Plan, view: &TextView) -> Blocks<'a> {
    let mut blocks = Blocks::default();
    for step in &outcome.steps {
        blocks.append(result(step, (outcome, plan), view));
    }
    blocks.append(unsent(outcome));
    for held in &plan.blocked {
        let (why, allow) = block_reason(held);
        let allow = allow.map(|allow| line!["; ", allowing(allow, plan, view)]);
        blocks.labelled(Role::Careful, "blocked", line![key(&held.key), ": ", why, allow]);
    }
    blocks
}

/// How to allow what an apply has left. By now `last` means another run, and a saved plan cannot get a consent.
fn allowing(allow: String, plan: &Plan, view: &TextView) -> Line<'static> {
    match plan.undone() {
        Some(run) => line!["to allow it: ", code(format!("trueup rollback {run} {allow}{}", view.flags))],
        None => line!["to allow it in the next plan: ", code(allow)],
    }
}

fn result<'a>(step: &'a ChangeStep, of: (&Outcome, &Plan), view: &TextView) -> Blocks<'a> {
    let describe = |word: &'static str, reason: Line<'a>| {
        let text = line![step.action.as_str(), " ", key(&step.key), ": ", reason];
        Blocks::from(Line::labelled(Role::Wrong, word, text))
    };
    // The service's log has the last request of a change by this id.
    let request = || step.requests.last().map(|id| line![" (request ", code(id), ")"]);
    match &step.result {
        // Changes for which nothing was sent are listed together, by reason.
        _ if why_unsent(step).is_some() => Blocks::default(),
        ChangeResult::Done { .. } | ChangeResult::AlreadyDone | ChangeResult::Skipped { .. } => Blocks::default(),
        ChangeResult::Conflict(conflict) => self::conflict(step, conflict, of, view),
        ChangeResult::Referred { by } => {
            let by = Line::some_of(by.iter().map(ToString::to_string), NAMES);
            if step.action == ActionKind::Recreate {
                let text =
                    line![by, " refers to it: remove the reference in one apply, and create it anew in the next"];
                return describe("blocked", text);
            }
            let allow = format!("--allow {}", safe::shell(&format!("referred={}", step.key)));
            describe("blocked", line![by, " refers to it; ", allowing(allow, of.1, view)])
        }
        ChangeResult::Failed { reason } => describe("failed", line![foreign(reason), request()]),
        ChangeResult::InDoubt { reason } => describe("in doubt", line![foreign(reason), request()]),
    }
}

/// Why nothing was sent for a change; many changes may share the reason.
fn why_unsent(step: &ChangeStep) -> Option<(&'static str, &str)> {
    match &step.result {
        ChangeResult::Skipped { reason } => Some(("not tried", reason)),
        ChangeResult::Failed { reason } if step.requests.is_empty() => Some(("failed", reason)),
        _ => None,
    }
}

/// The changes for which nothing was sent, those of one reason together.
fn unsent(outcome: &Outcome) -> Blocks<'_> {
    let why = |step| Some((why_unsent(step)?, format!("{} {}", step.action, step.key)));
    let mut blocks = Blocks::default();
    for ((word, reason), steps) in grouped(outcome.steps.iter().filter_map(why)) {
        let these = (steps.len() > 1).then(|| line![steps.len(), " changes: "]);
        let steps = Line::some_of(steps.into_iter(), NAMES);
        blocks.labelled(Role::Wrong, word, line![these, steps, ": ", foreign(reason)]);
    }
    blocks
}

pub(super) const OURS_MAY_BE_LOST: &str = "our own write may have been made and then overwritten";

fn conflict<'a>(step: &'a ChangeStep, conflict: &'a Conflict, of: (&Outcome, &Plan), view: &TextView) -> Blocks<'a> {
    let ((outcome, plan), endpoint) = (of, &step.key);
    let mut blocks = Blocks::default();
    blocks.labelled(Role::Wrong, "conflict", line![key(endpoint), " ", foreign(&conflict.reason)]);
    if conflict.ours_may_be_lost {
        blocks.item(line![OURS_MAY_BE_LOST]);
    }
    // Ownership annotations need no decision.
    let fields: Vec<&ThreeWay> = conflict.fields.iter().filter(|one| !one.field.is_ownership_annotation()).collect();
    if !fields.is_empty() {
        blocks.section(three_way(step, &fields, plan));
        blocks.gap();
    }
    let others = outcome.steps.iter().filter(|step| step.result.is_done()).count();
    let others = match others {
        0 => line!["no other change was applied"],
        1 => line!["1 other change was applied"],
        more => line![more, " other changes were applied"],
    };
    let again = view.plan_command();
    // A move names its objects without a flag, and one more `--only` would select more.
    let is_chosen = plan.handed_over().is_some() || again.split(' ').any(|word| word == "--only");
    let only = (!is_chosen).then(|| format!(" --only {}", safe::shell(&endpoint.to_string())));
    let again = again + &only.unwrap_or_default();
    blocks.item(line![others, ".  Plan again:  ", code(again)]);
    blocks
}

fn three_way<'a>(step: &ChangeStep, fields: &[&'a ThreeWay], plan: &Plan) -> Table<'a> {
    let value = |field: &ThreeWay, value: &Json| {
        let text = words(step.key.kind, &field.field, value);
        text.map_or_else(|| line!["(none)"], |text| line![code(unmistakable(Some(&text)).into_owned())])
    };
    let part = |text: &Option<String>| match text {
        Some(_) => line![code(unmistakable(text.as_deref()).into_owned())],
        None => line!["(none)"],
    };
    let rows = |field: &&'a ThreeWay| match edits::three_way(step.key.kind, field).as_slice() {
        [] | [_] => {
            let [planned, now, wanted] = [&field.planned, &field.now, &field.wanted];
            let whose = whose(step, field, plan, [planned != now, planned != wanted, now == wanted]);
            let [planned, now, wanted] = [planned, now, wanted].map(|one| value(field, one));
            vec![[line![code(field.field.to_string())], planned, now, wanted, line![whose]]]
        }
        // Three whole lists or groups cannot be compared by eye, so show only their parts that differ.
        parts => {
            let row = |ThreeWayValue { name, planned, now, wanted }: &ThreeWayValue| {
                let whose = whose(step, field, plan, [planned != now, planned != wanted, now == wanted]);
                [line![code(name.clone())], part(planned), part(now), part(wanted), line![whose]]
            };
            parts.iter().map(row).collect()
        }
    };
    let headings = ["field", "when planned", "now", "wanted", ""];
    Table::new(headings).titled(Line::default(), 2).rows(fields.iter().flat_map(rows))
}

/// Who changed a value of `field`: live, the plan, and whether both made the same change.
fn whose(step: &ChangeStep, field: &ThreeWay, plan: &Plan, [theirs, ours, same]: [bool; 3]) -> &'static str {
    match (theirs, ours) {
        (true, true) if same => "both made the same change",
        (true, true) => "changed on both sides: decide",
        (true, false) => match plan.source.origin {
            PlanOrigin::Directory(_) if step.action == ActionKind::Delete => match &field.field {
                Field::Annotation(key) if key == PROTECT && field.now.as_str().is_some_and(protects) => {
                    "changed live only: a new plan blocks the delete"
                }
                _ => "changed live only: a new plan deletes it all the same",
            },
            PlanOrigin::Directory(_) if is_unnamed(&step.key, field, plan) => {
                "changed live only, and not defined: a new plan keeps it; `pull --drift --unnamed` writes it"
            }
            PlanOrigin::Directory(_) => "changed live only: a new plan reverts it; `pull --drift` keeps it",
            PlanOrigin::Rollback(_) | PlanOrigin::Move { .. } => "changed live only: a new plan keeps it",
        },
        (false, true) => "ours only",
        (false, false) => "unchanged",
    }
}

/// Whether no definition names what was changed, so that an apply leaves such a value as it is.
fn is_unnamed(key: &Key, field: &ThreeWay, plan: &Plan) -> bool {
    let Some(unit) = field.field.unit() else { return false };
    let spec = key.kind.message();
    // The wanted value includes what was live and not named.
    let noted = |note: &Note| matches!(note, Note::Unnamed { key: of, path, .. } if of == key && *path == field.field.to_string());
    let is_as_wanted =
        || kind::seen_as(spec, unit, &field.now, &field.wanted) == kind::significant(spec, unit, &field.wanted);
    !key.kind.is_whole()
        && !plan.settings.safeguards.strict.contains(&key.kind)
        && (is_as_wanted() || plan.notes.iter().any(noted))
}

fn sum<'a>(outcome: &Outcome, earlier: &BTreeSet<&Key>) -> Line<'a> {
    // A resume counts its own work.
    let steps: Vec<&ChangeStep> = outcome.steps.iter().filter(|step| !earlier.contains(&step.key)).collect();
    let done = steps.iter().filter(|step| step.result.is_done()).count();
    let made = Line::count(earlier.len(), "change").and(" made before the resume");
    let text = match (steps.len(), earlier.len()) {
        (0, 0) => line!["Nothing to apply"],
        (0, _) => line!["Nothing was left to apply: ", made],
        (total, _) => {
            let role = if done == total { Role::Right } else { Role::Wrong };
            let word = if outcome.interrupted { "Interrupted: applied" } else { "Applied" };
            let kinds: Vec<Line<'_>> = ActionKind::ALL.into_iter().filter_map(|kind| kind_sum(&steps, kind)).collect();
            let kinds = (!kinds.is_empty()).then(|| line![": ", Line::joined(kinds, ", ")]);
            let already = steps.iter().filter(|step| matches!(step.result, ChangeResult::AlreadyDone)).count();
            let already = (already > 0).then(|| line![", ", already, " already as wanted"]);
            let made = (!earlier.is_empty()).then(|| line!["; ", made]);
            let took = took(Duration::from_millis(outcome.milliseconds));
            line![styled(role, word), " ", done, " of ", total, " in ", took, kinds, already, made]
        }
    };
    line![text, "."]
}

fn kind_sum(steps: &[&ChangeStep], kind: ActionKind) -> Option<Line<'static>> {
    let number = |is: &dyn Fn(Confirmation, bool) -> bool| {
        let made = |step: &&&ChangeStep| match step.result {
            ChangeResult::Done { confirmation, adopted, .. } => step.action == kind && is(confirmation, adopted),
            _ => false,
        };
        steps.iter().filter(made).count()
    };
    let all = number(&|_, _| true);
    if all == 0 {
        return None;
    }
    let adopted = number(&|_, adopted| adopted);
    let verb = match kind {
        ActionKind::Create if adopted == all => return Some(line![adopted, " adopted"]),
        ActionKind::Create if adopted > 0 => return Some(line![all - adopted, " created, ", adopted, " adopted"]),
        ActionKind::Create => return Some(line![all, " created"]),
        ActionKind::Delete => return Some(line![all, " deleted (unguarded)"]),
        ActionKind::Recreate => return Some(line![all, " recreated (unguarded)"]),
        ActionKind::Replace => " replaced (",
        ActionKind::Annotate => " annotated (",
    };
    let safety = [Confirmation::Guarded, Confirmation::Versioned, Confirmation::Unguarded];
    let safety = safety.into_iter().filter_map(|which| match number(&|confirmation, _| confirmation == which) {
        0 => None,
        some if some == all => Some(line![which.as_str()]),
        some => Some(line![some, " ", which.as_str()]),
    });
    Some(line![all, verb, Line::joined(safety, ", "), ")"])
}

fn verification<'a>(outcome: &'a Outcome, plan: &Plan) -> Blocks<'a> {
    match &outcome.verification {
        Verification::Verified { reads } => {
            let after = (*reads != 1).then(|| line![", after ", u64::from(*reads), " reads"]);
            let results = outcome.steps.iter().map(|step| (step.result.is_done(), step.result.is_in_doubt()));
            verified(plan, results).and(after).and(".").into()
        }
        Verification::Differs { left } => {
            let mut blocks = Blocks::default();
            let noun = Key::noun(left.iter().map(|(key, _)| key));
            let differ = if left.len() == 1 { " still differs" } else { " still differ" };
            let words = line!["after the apply ", Line::count(left.len(), noun), differ, " from what was asked for:"];
            blocks.labelled(Role::Wrong, "Not verified", words);
            for (endpoint, fields) in left {
                let fields = Line::some_of(fields.iter().map(ToString::to_string), FIELDS);
                let what = if fields.is_empty() { line!["missing, or still there"] } else { fields };
                blocks.item(line![key(endpoint), ": ", what]);
            }
            blocks
        }
        Verification::Unknown { reason } => {
            Line::labelled(Role::Careful, "Verification not proven", foreign(reason)).into()
        }
        Verification::NotNeeded => Blocks::default(),
    }
}

/// The line that live is as wanted, except for what is blocked, in doubt or not made. `results` says of each change
/// whether it is done, and whether it is in doubt.
pub fn verified(plan: &Plan, results: impl Iterator<Item = (bool, bool)> + Clone) -> Line<'static> {
    let number = |which| results.clone().filter(|result| *result == which).count();
    let (in_doubt, not_made) = (number((false, true)), number((false, false)));
    let parts = [(plan.blocked.len(), " blocked"), (in_doubt, " in doubt"), (not_made, " not made")];
    let parts = parts.into_iter().filter(|(count, _)| *count > 0);
    let except = Line::joined(parts.map(|(count, what)| line![count, what]), ", ");
    match except.is_empty() {
        true => line![styled(Role::Right, "Verified"), ": live matches the plan"],
        false => {
            let word = styled(Role::Careful, line!["Verified, except ", except]);
            line![word, ": live matches the rest of the plan"]
        }
    }
}

fn next<'a>(outcome: &'a Outcome, plan: &Plan, view: &TextView) -> Blocks<'a> {
    if !outcome.steps.iter().any(|step| step.result.may_have_taken_effect()) {
        return line!["nothing was changed"].into();
    }
    let run = outcome.run.as_str();
    if outcome.unrecorded {
        return line!["run ", code(run), " has no record any more: it cannot be shown, resumed or rolled back"].into();
    }
    // Changes that waited for one that needs a decision are decided with it.
    let is_decided =
        |step: &ChangeStep| matches!(step.result, ChangeResult::Conflict(_) | ChangeResult::Referred { .. });
    let any_decided = outcome.steps.iter().any(is_decided);
    let is_resumable = |step: &ChangeStep| match step.result {
        ChangeResult::InDoubt { .. } | ChangeResult::Failed { .. } => true,
        ChangeResult::Skipped { .. } => !any_decided,
        _ => false,
    };
    let undo = styled(Role::Quiet, line!["undo with: ", code(facts::undo_of(&outcome.run, plan) + &view.flags)]);
    let mut blocks = Blocks::from(line!["run ", code(run), " · ", undo]);
    if outcome.interrupted || outcome.steps.iter().any(is_resumable) {
        blocks.line(line!["resume with: ", code(facts::resume_of(&outcome.run, plan) + &view.flags)]);
    }
    blocks
}

impl Report for Rehearsal {
    /// A rehearsal: what was not made and why, whether a second plan is empty, and what that proves.
    fn blocks<'a>(&'a self, view: &TextView) -> Blocks<'a> {
        let Self { plan, outcome, .. } = self;
        let url = code(&plan.service.base_url);
        if plan.changes.is_empty() && plan.blocked.is_empty() {
            return line!["Nothing to rehearse: ", Line::count(plan.in_sync(), plan.noun()), " in sync with ", url]
                .into();
        }
        let unmade = undone(outcome, plan, view).and(left(self));
        let mut blocks = of_settings(plan).then(unmade).then(guards(plan));
        let verdict = match (self.is_verified(), outcome.interrupted) {
            (true, _) => styled(Role::Right, "verified"),
            (false, true) => styled(Role::Careful, "interrupted"),
            (false, false) => styled(Role::Wrong, "not verified"),
        };
        let except = (!plan.blocked.is_empty()).then(|| line![" except ", plan.blocked.len(), " blocked"]);
        let faults = (self.faults.chosen != "none").then(|| {
            let met = Line::count(self.faults.met, "fault");
            line![", ", met, " met (faults ", code(&self.faults.chosen), ")"]
        });
        let elapsed = view.elapsed.map(|time| line![", ", took(time)]);
        let done = line![self.done(), " of ", outcome.steps.len(), " applied, ", verdict, except, ", "];
        let (requests, digest) = (Line::count(outcome.requests, "request"), plan.digest().short().to_owned());
        blocks.section(line![done, requests, faults, elapsed, ".   digest ", code(digest)]);
        let copied = match &plan.source.snapshot {
            Some(taken) => line!["the snapshot of ", moment(taken), " of ", url],
            None => line!["a copy of ", url],
        };
        blocks.line(line!["Rehearsed in the sandbox on ", copied, "; nothing was changed there."]);
        let model = "The sandbox is a model of the service: what the service itself would refuse shows only there.";
        blocks.line(line![model]);
        if self.is_verified() && plan.blocked.is_empty() && plan.guards.is_empty() {
            let consents = facts::consents(plan.allowed.iter().map(|allowed| &allowed.name));
            blocks.line(line!["Apply:  ", code(view.apply_command() + &consents)]);
        }
        blocks
    }

    written_as!("rehearsal", RehearsalReport::new);
}

/// What still differs after a rehearsal, by the verification and by the second plan.
fn left(rehearsal: &Rehearsal) -> Blocks<'_> {
    let mut blocks = Blocks::default();
    if !rehearsal.outcome.is_done() {
        return blocks;
    }
    if let Verification::Unknown { reason } = &rehearsal.outcome.verification {
        blocks.labelled(Role::Careful, "not proven", line![foreign(reason)]);
    }
    let left = rehearsal.left();
    if !left.is_empty() {
        let objects = Line::count(left.len(), Key::noun(left.iter().copied()));
        let names = Line::some_of(left.into_iter().map(ToString::to_string), LEFT);
        blocks.labelled(Role::Wrong, "left over", line!["a second plan would change ", objects, ": ", names]);
    }
    blocks
}

/// The guards that a plan meets, and what allows or allowed each.
pub fn guards(plan: &Plan) -> Blocks<'_> {
    let mut blocks = Blocks::default();
    // The alarm names the namespaces.
    for hits in plan.guards.chunk_by(|one, next| one.name == next.name) {
        let [guard, more @ ..] = hits else { continue };
        let is_elsewhere = more.iter().all(|one| one.namespace != guard.namespace);
        let more = (!more.is_empty()).then(|| match is_elsewhere {
            true => line![", and the same in ", Line::count(more.len(), "other namespace")],
            false => line![", and ", more.len(), " more like it"],
        });
        let allowed = match plan.allowed(guard) {
            None => line!["an apply is refused; to allow it: --allow ", guard.name.as_str()],
            Some(allowed) => line!["allowed", allowed.by.as_deref().map(|by| line![" by ", code(by)])],
        };
        blocks.line(line![styled(Role::Careful, "guard"), "  ", facts::guard(guard), more]);
        blocks.0.push(Block::Line("guard  ".len(), allowed));
    }
    blocks
}

/// What a plan begins with: that an apply of it would be refused and why, and who allowed what.
pub fn consented(plan: &Plan) -> Blocks<'_> {
    of_alarms(consents(plan))
}

fn of_alarms(alarms: Vec<Alarm<'_>>) -> Blocks<'_> {
    Blocks(alarms.into_iter().map(Block::Alarm).collect())
}

/// Why a plan is not applied, with what allows it, if anything can.
pub fn refusal<'a>(refusal: &'a ApprovalError, view: &'a TextView) -> Blocks<'a> {
    let mut blocks = Blocks::default();
    match refusal {
        ApprovalError::Guards(guards) => {
            guards.iter().for_each(|guard| blocks.labelled(Role::Wrong, "refused", facts::guard(guard)));
        }
        ApprovalError::Unknown(lists) => {
            blocks.append(of_alarms(unread(lists.iter().map(|(list, reason)| (list, reason.as_str())))));
            let of_endpoints = lists.iter().all(|(scope, _)| scope.kind.is_endpoint());
            let globs = lists.iter().map(|(scope, _)| match of_endpoints {
                true => format!("{}/*", scope.namespace),
                false => format!("{}:{}/*", scope.kind, scope.namespace),
            });
            let flags: Vec<String> = globs.map(|glob| format!("--except {}", safe::shell(&glob))).collect();
            blocks.item(match flags.len() {
                // The command takes no filter.
                _ if view.make.is_some() => line!["plan again where all of it can be read"],
                0..=EXCEPTED => line!["to leave it out: ", code(flags.join(" "))],
                _ => line!["to leave them out: --except, or --only with what is known"],
            });
        }
        ApprovalError::OtherDigest { .. } | ApprovalError::Changes(_) | ApprovalError::NoDigest(_) => {
            blocks.labelled(Role::Wrong, "refused", line![foreign(refusal.to_string())]);
        }
    }
    match refusal {
        ApprovalError::OtherDigest { base, .. } => {
            // Only what is planned in this call has a base.
            if view.make.is_none() {
                blocks.item(match base {
                    true => line!["if it was reviewed without --base: leave that out here, too"],
                    false => line![
                        "if it was reviewed with --base: give the same --base here, or what is behind it goes unseen"
                    ],
                });
            }
            blocks.item(line!["plan again: ", code(view.plan_command())]);
        }
        ApprovalError::Guards(_) | ApprovalError::Changes(_) => {
            let names = refusal.consents().into_iter().take(FIELDS);
            let flags: Vec<String> = names.map(|name| format!("--allow {}", safe::shell(&name))).collect();
            blocks.item(match &view.forbidden {
                Some(reason) => line![foreign(reason)],
                None => line!["to allow it: ", code(flags.join(" "))],
            });
        }
        ApprovalError::Unknown(_) | ApprovalError::NoDigest(_) => {}
    }
    blocks.line(line!["nothing was sent"]);
    blocks
}

/// The lists whose read is unknown, and the status of each.
pub fn incomplete(plan: &Plan) -> Blocks<'_> {
    let mut blocks = of_alarms(unread(plan.unknown()));
    if blocks.0.is_empty() {
        return blocks;
    }
    // A list of another kind without definitions need not be mentioned.
    let is_about = |(list, scope): &(&Scope, &ScopeState)| {
        list.kind.is_endpoint() || scope.definitions > 0 || matches!(scope.read, ScopeRead::Unknown { .. })
    };
    let written = plan.changes.iter().filter(|change| change.action.kind() != ActionKind::Annotate);
    let keys = written.map(|change| &change.key).chain(plan.blocked.iter().map(|held| &held.key));
    let mut differing: BTreeMap<Scope, usize> = BTreeMap::new();
    keys.for_each(|key| *differing.entry(key.into()).or_default() += 1);
    let scopes = plan.scope.iter().filter(is_about).map(|(list, scope)| {
        // An object to delete has no definition.
        let all = scope.definitions.max(scope.in_sync + differing.get(list).unwrap_or(&0));
        let status = match scope.read {
            ScopeRead::Unknown { .. } => line!["unknown"],
            ScopeRead::Complete { .. } if scope.in_sync == all => line!["in sync (", all, ")"],
            ScopeRead::Complete { .. } => line![scope.in_sync, " of ", all, " in sync"],
        };
        line![code(list.to_string()), ": ", status]
    });
    blocks.line(Line::joined(scopes, "   "));
    blocks
}
