//! The reports of plans, checks and runs as JSON documents.

use std::borrow::Cow;

use serde::Deserialize;

use super::document::write;
use super::fleet::{Fleet, FleetCommand, FleetPart, InputProblem, NoResult, StackReport};
use super::{Applied, json_text};
use crate::drift::{Check, JudgedAcknowledgement, Shard, UnmanagedPolicy, Verdict, Verdicts};
use crate::model::policy::SettingChange;
use crate::model::{Field, Namespace, ValueDigest};
use crate::plan::{ActionKind, BlockedChange, GuardHit, RecordedConsent, ServiceId, Waves};
use crate::report::prelude::*;
use crate::run::{InjectedFaults, Outcome, Rehearsal, RunSummary};

/// A plan for a reader: counts, verdicts, digest and the plan itself. `apply` takes the file which `plan -o` writes, not
/// this.
#[derive(Serialize, JsonSchema)]
pub struct PlanReport<'p> {
    /// What an apply does, and with a base whose changes it makes, in words.
    headline: String,
    /// An apply of this plan, as it is, would send nothing.
    refused: bool,
    /// The guards that were not allowed.
    refused_by: Vec<&'p GuardHit>,
    /// Consents that were given when the plan was made.
    allowed: &'p [RecordedConsent],
    counts: Counts,
    digest: DigestText<'p>,
    /// The order of an apply where the plan is about more than endpoints: each wave waits for those before it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    waves: Vec<Vec<&'p Key>>,
    plan: &'p Plan,
    verdict: Verdict,
    verdicts: Verdicts,
}

/// SHA-256 of what the plan will do and against what.
#[derive(Serialize, JsonSchema)]
#[serde(transparent)]
pub struct DigestText<'p>(#[schemars(regex(pattern = "^[0-9a-f]{64}$"))] pub Cow<'p, str>);

impl<'p> PlanReport<'p> {
    pub(super) fn new(plan: &'p Plan) -> Self {
        let verdicts = plan.verdicts(UnmanagedPolicy::Note);
        Self {
            headline: View::headline_of(plan).unescaped(),
            refused: plan.is_refused(),
            refused_by: plan.refused(),
            allowed: &plan.allowed,
            counts: counts(plan),
            digest: DigestText(plan.digest().full().to_owned().into()),
            waves: if plan.source.kinds.is_empty() { Vec::new() } else { waves(plan) },
            plan,
            verdict: verdicts.whole(),
            verdicts,
        }
    }
}

/// The keys of each wave of an apply.
pub(super) fn waves(plan: &Plan) -> Vec<Vec<&Key>> {
    let waves = Waves::of(&plan.changes).waves.into_iter();
    waves.map(|wave| wave.into_iter().map(|change| &change.key).collect()).collect()
}

/// Writes the results of several stacks: checks with a verdict each and the whole, or the documents that the command
/// writes for one stack.
///
/// # Errors
/// Those of `out`.
pub fn write_fleet(fleet: &Fleet<'_>, out: &mut dyn Write) -> io::Result<()> {
    let parts = || fleet.parts.iter().map(|part| StackDocument::new(part, fleet.environment.as_ref()));
    if fleet.command != FleetCommand::Drift {
        let digest = fleet.plans.as_ref().map(|(digest, _)| DigestText(digest.full().into()));
        let (command, failed) = (fleet.command.as_str(), fleet.failed());
        return write("fleet_report", FleetReport { stacks: parts().collect(), command, digest, failed }, out);
    }
    let id = |part: &'_ FleetPart<'_>| fleet.shard.map(|_| part.id.clone().into());
    let parts = parts().zip(&fleet.parts).map(|(document, part)| StackDocument { id: id(part), ..document });
    let document = ChecksDocument {
        checks: parts.collect(),
        failed: fleet.failed(),
        verdict: fleet.whole(),
        shard: fleet.shard,
        problems: Cow::Borrowed(&fleet.problems),
    };
    write("fleet", document, out)
}

/// The checks of several stacks.
#[derive(Serialize, Deserialize, JsonSchema)]
pub struct ChecksDocument<'p> {
    /// Each stack.
    pub checks: Vec<StackDocument<'p>>,
    /// Stacks that could not be checked.
    pub failed: usize,
    /// The verdict over everything.
    pub verdict: Verdict,
    /// Which of how many shards this is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shard: Option<Shard>,
    /// What is missing or wrong in the files of a merged report.
    #[serde(default, skip_serializing_if = "<[_]>::is_empty")]
    pub problems: Cow<'p, [InputProblem]>,
}

/// The documents that a command wrote for several stacks.
#[derive(Serialize, JsonSchema)]
pub struct FleetReport<'p> {
    /// Each stack.
    stacks: Vec<StackDocument<'p>>,
    /// The command: `validate`, `plan` or `apply`.
    command: &'static str,
    /// SHA-256 over the digests of the plans, in order; null where there is none.
    digest: Option<DigestText<'p>>,
    /// Stacks without a report.
    failed: usize,
}

/// One stack: its check, the document of the command about it, or why it has neither. What it has decides what it is.
#[derive(Default, Serialize, Deserialize, JsonSchema)]
#[schemars(extend("anyOf" = [
    {"required": ["plan", "verdict", "verdicts", "checked"]},
    {"required": ["report"]}, {"required": ["failed"]}, {"required": ["unknown"]}, {"required": ["elsewhere"]},
    {"required": ["skipped"]},
]))]
pub struct StackDocument<'p> {
    /// As the call named it; a document about one stack has it in its plan.
    #[serde(default, skip_serializing_if = "str::is_empty")]
    pub directory: Cow<'p, str>,
    /// Where the call is about several; of a stack that failed, also the only one of the call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub environment: Option<Cow<'p, str>>,
    /// In the document of a shard: a digest of the stack's service, name and environment.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<Cow<'p, str>>,
    /// Why there is no verdict and no document.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failed: Option<Cow<'p, str>>,
    /// Why a merged report has no verdict.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unknown: Option<Cow<'p, str>>,
    /// Another shard has it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub elsewhere: bool,
    /// Why the stack was left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub skipped: Option<Cow<'p, str>>,
    /// The document that the command writes for one stack.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub report: Option<Json>,
    /// What is accepted, and how that was judged.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub acknowledged: Option<Cow<'p, [JudgedAcknowledgement]>>,
    /// When the check was made.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>", extend("format" = "date-time"))]
    pub checked: Option<Timestamp>,
    /// Changes by action, what is blocked, what is in sync, and requests.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub counts: Option<Counts>,
    /// Each value that drifted, and since when that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub drifted: Option<Vec<DriftedValue>>,
    /// The namespaces of the stack that belong to other shards.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub elsewhere_namespaces: Cow<'p, BTreeSet<Namespace>>,
    /// The flags of the check that decide what the stack is, with their values: `config`, `policy`, `stack` and `var`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub flags: Cow<'p, BTreeMap<String, Vec<String>>>,
    /// Whether the environment has no overlay of its own, so that all its definitions are shared.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub shares_all: bool,
    /// The plan that was made.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plan: Option<Cow<'p, Plan>>,
    /// Which of how many shards of a single stack this is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shard: Option<Shard>,
    /// The verdict over the stack.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verdict: Option<Verdict>,
    /// The verdict over each endpoint.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verdicts: Option<Cow<'p, Verdicts>>,
}

/// A value that drifted.
#[derive(Serialize, Deserialize, JsonSchema)]
pub struct DriftedValue {
    /// `namespace/name`
    pub object: Key,
    /// Null where the whole object is meant.
    pub field: Option<Field>,
    /// The digest that an acknowledgement names.
    pub value: ValueDigest,
    /// When a check first saw it.
    #[schemars(with = "Option<String>", extend("format" = "date-time"))]
    pub first_seen: Option<Timestamp>,
    /// In how many checks it was seen.
    pub checks: Option<u64>,
    /// The time since then.
    pub age_seconds: Option<u64>,
}

impl<'p> StackDocument<'p> {
    fn new(part: &'p FleetPart<'_>, only: Option<&'p String>) -> Self {
        let none = Self::default;
        let document = match &part.outcome {
            Ok(StackReport::Checked(check)) => Self::of_check(check),
            // The text was just written as JSON.
            Ok(report) => Self { report: serde_json::from_str(&json_text(report.report())).ok(), ..none() },
            Err(NoResult::Failed(failed)) => Self { failed: Some(failed.into()), ..none() },
            Err(NoResult::Unknown(unknown)) => Self { unknown: Some(unknown.into()), ..none() },
            Err(NoResult::Elsewhere) => Self { elsewhere: true, ..none() },
            Err(left_out) => Self { skipped: left_out.skipped().map(Cow::Borrowed), ..none() },
        };
        let only = only.filter(|_| document.failed.is_some());
        let environment = part.environment.as_ref().or(only).map(Cow::from);
        Self { directory: Cow::Borrowed(&part.directory), environment, ..document }
    }

    pub(super) fn of_check(check: &'p Check) -> Self {
        let drifted = check.plan.drifted(&check.found).into_iter().map(|one| {
            let seen = check.drift_state.as_ref().and_then(|state| state.seen(&one.object, one.field.as_ref()));
            DriftedValue {
                value: one.value,
                first_seen: seen.map(|seen| seen.first_seen),
                checks: seen.map(|seen| seen.checks),
                age_seconds: seen.map(|seen| seen.age(check.now).as_secs()),
                object: one.object,
                field: one.field,
            }
        });
        Self {
            acknowledged: Some(Cow::Borrowed(&check.acknowledged)),
            checked: Some(check.now),
            counts: Some(counts(&check.plan)),
            drifted: Some(drifted.collect()),
            elsewhere_namespaces: Cow::Borrowed(&check.elsewhere),
            flags: Cow::Borrowed(&check.flags),
            shares_all: check.shares_all,
            plan: Some(Cow::Borrowed(&check.plan)),
            shard: check.shard,
            verdict: Some(check.verdicts.whole()),
            verdicts: Some(Cow::Borrowed(&check.verdicts)),
            ..Self::default()
        }
    }
}

/// The outcome of a run.
#[derive(Serialize, JsonSchema)]
pub struct OutcomeReport<'p> {
    /// The digest of the plan.
    digest: String,
    /// What became of each change, and of the run.
    outcome: &'p Outcome,
    /// What the plan blocked.
    blocked: &'p [BlockedChange],
    /// Settings that differ from those of the base, or that the policy limits.
    setting_changes: &'p [SettingChange],
}

impl<'p> OutcomeReport<'p> {
    pub(super) fn new(applied: &Applied<'p>) -> Self {
        let Applied { outcome, plan, .. } = *applied;
        let digest = plan.digest().full().to_owned();
        Self { digest, outcome, blocked: &plan.blocked, setting_changes: &plan.setting_changes }
    }
}

/// A rehearsal: whether a second plan is empty, the result of each change, and what is left.
#[derive(Serialize, JsonSchema)]
pub struct RehearsalReport<'p> {
    /// Every change is done, and a second plan is empty.
    verified: bool,
    /// The digest of the plan.
    digest: String,
    /// The service that the copy was taken of.
    service: &'p ServiceId,
    counts: Counts,
    /// What went wrong on purpose.
    faults: &'p InjectedFaults,
    /// The guards that an apply would meet.
    guards: &'p [GuardHit],
    /// What the plan blocked.
    blocked: &'p [BlockedChange],
    /// What became of each change, and of the run.
    outcome: &'p Outcome,
    /// What a second plan would still change.
    left: Vec<&'p Key>,
}

impl<'p> RehearsalReport<'p> {
    /// The report of a rehearsal.
    pub fn new(rehearsal: &'p Rehearsal) -> Self {
        let plan = &rehearsal.plan;
        Self {
            verified: rehearsal.is_verified(),
            digest: plan.digest().full().to_owned(),
            service: &plan.service,
            counts: counts(plan),
            faults: &rehearsal.faults,
            guards: &plan.guards,
            blocked: &plan.blocked,
            outcome: &rehearsal.outcome,
            left: rehearsal.left(),
        }
    }
}

/// The runs that a journal keeps.
#[derive(Serialize, JsonSchema)]
pub struct HistoryReport<'p> {
    /// The runs, newest first.
    pub runs: &'p [RunSummary],
    /// Why others cannot be read.
    pub unreadable: &'p [String],
    /// Those that commands are proposed about: the open ones, else the newest; each with the flags of its commands.
    #[serde(skip)]
    pub proposed: &'p [(&'p RunSummary, String)],
}

/// Changes by action, what is blocked, what is in sync, and requests.
#[derive(Serialize, Deserialize, JsonSchema)]
pub struct Counts(BTreeMap<Cow<'static, str>, u64>);

fn counts(plan: &Plan) -> Counts {
    let number = |count: usize| u64::try_from(count).unwrap_or(u64::MAX);
    let of_kinds = ActionKind::ALL.map(|kind| (kind.as_str(), number(plan.count(kind))));
    // Most plans have no recreates, and few programs know them.
    let of_kinds = of_kinds.into_iter().filter(|(name, count)| *count > 0 || *name != ActionKind::Recreate.as_str());
    let read = plan.read_scope();
    let others = [
        ("blocked", number(plan.blocked.len())),
        ("in_sync", number(plan.in_sync())),
        ("outside_filter", number(plan.left_out)),
        ("namespaces", number(read.namespaces)),
        ("namespaces_outside_filter", number(read.left_out)),
        ("namespaces_not_read", number(read.unread)),
        ("requests", plan.source.requests),
    ];
    Counts(of_kinds.chain(others).map(|(name, number)| (name.into(), number)).collect())
}
