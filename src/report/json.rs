//! Reports as JSON. Each document names its `kind` and its `format_version`; fields are added within
//! a version and never change their meaning.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Write};

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::json;

use super::fleet::{Fleet, FleetCommand, FleetPart, NOT_BEGUN, PartOutcome};
use super::safe::JsonWriter;
use super::validation::{Validation, ValidationReport};
use super::view::View;
use crate::drift::{Check, JudgedAcknowledgement, UnmanagedPolicy, Verdict, Verdicts};
use crate::model::policy::SettingChange;
use crate::model::{Json, Key, Namespace};
use crate::plan::{ActionKind, BlockedChange, GuardHit, Plan, RecordedConsent, ServiceId};
use crate::run::{InjectedFaults, Outcome, Rehearsal, RunSummary};

/// The version of every document of this module.
pub const FORMAT_VERSION: u32 = 1;

/// A plan for a reader: counts, verdicts, digest and the plan itself. It is not what `apply` takes;
/// that is the file which `plan -o` writes.
#[must_use]
pub fn plan(plan: &Plan) -> String {
    text(|out| write_plan(plan, out))
}

/// Writes the same document to `out`.
///
/// # Errors
/// Those of `out`.
pub fn write_plan(plan: &Plan, out: &mut dyn Write) -> io::Result<()> {
    // A struct, because the tree of a large plan is many times the plan.
    #[derive(Serialize)]
    struct PlanReport<'p> {
        headline: String,
        refused: bool,
        refused_by: Vec<&'p GuardHit>,
        allowed: &'p [RecordedConsent],
        counts: Counts,
        digest: &'p str,
        plan: &'p Plan,
        verdict: Verdict,
        verdicts: &'p Verdicts,
    }
    let (verdicts, digest) = (plan.verdicts(UnmanagedPolicy::Note), plan.digest());
    let (counts, verdict) = (counts(plan), verdicts.whole());
    let report = PlanReport {
        headline: View::headline_of(plan).plain(),
        refused: plan.is_refused(),
        refused_by: plan.refused(),
        allowed: &plan.allowed,
        counts,
        digest: digest.full(),
        plan,
        verdict,
        verdicts: &verdicts,
    };
    write("plan_report", report, out)
}

/// The verdicts of a check, per endpoint and whole, after what is accepted; each value that drifted
/// with its digest, as an acknowledgement names it, and since when it is known.
#[must_use]
pub fn drift(check: &Check<'_>) -> String {
    text(|out| write_drift(check, out))
}

/// Writes the same document to `out`.
///
/// # Errors
/// Those of `out`.
pub fn write_drift(check: &Check<'_>, out: &mut dyn Write) -> io::Result<()> {
    write("drift", Checked::new(check), out)
}

/// The results of several stacks: checks with a verdict each and the whole, or the documents that the command writes
/// for one stack.
#[must_use]
pub fn fleet(fleet: &Fleet<'_>) -> String {
    let parts = || fleet.parts.iter();
    let shard = fleet.shard.map(shard_document);
    if fleet.command == FleetCommand::Drift {
        let mut content = json!({"failed": fleet.failed(), "verdict": fleet.whole()});
        if let Some(shard) = shard {
            content["shard"] = shard;
        }
        if !fleet.problems.is_empty() {
            content["problems"] = json!(fleet.problems);
        }
        let id = |part: &'_ FleetPart<'_>| fleet.shard.map(|_| part.id.clone());
        let checks = parts().map(|part| PartDocument { id: id(part), ..PartDocument::new(part) }).collect();
        return document("fleet", FleetDocument { checks, content });
    }
    let stacks: Vec<PartDocument<'_>> = parts().map(PartDocument::new).collect();
    let digest = fleet.plans.as_ref().map(|(digest, _)| digest.full());
    let content = json!({"command": fleet.command.as_str(), "digest": digest, "failed": fleet.failed()});
    document("fleet_report", FleetReport { stacks, content })
}

#[derive(Serialize)]
struct FleetDocument<'p> {
    checks: Vec<PartDocument<'p>>,
    #[serde(flatten)]
    content: Json,
}

#[derive(Serialize)]
struct FleetReport<'p> {
    stacks: Vec<PartDocument<'p>>,
    #[serde(flatten)]
    content: Json,
}

/// One of several stacks.
#[derive(Serialize)]
struct PartDocument<'p> {
    directory: &'p str,
    #[serde(skip_serializing_if = "Option::is_none")]
    environment: Option<&'p str>,
    /// Where the document is of a shard: the others have other stacks only if they are of the same list.
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<String>,
    #[serde(flatten)]
    result: PartResult<'p>,
}

#[derive(Serialize)]
#[serde(untagged)]
enum PartResult<'p> {
    Checked(Checked<'p>),
    Failed { failed: &'p str },
    Unknown { unknown: &'p str },
    Elsewhere { elsewhere: bool },
    Skipped { skipped: &'p str },
    Report { report: Json },
}

impl<'p> PartDocument<'p> {
    fn new(part: &'p FleetPart<'_>) -> Self {
        // The document of one stack is JSON that was just written.
        let report = |text: String| PartResult::Report { report: serde_json::from_str(&text).unwrap_or_default() };
        let result = match &part.outcome {
            PartOutcome::Checked(check) => PartResult::Checked(Checked::new(check)),
            PartOutcome::Planned(plan) => report(self::plan(plan)),
            PartOutcome::Applied(outcome, plan) => report(document("outcome", OutcomeReport::new(outcome, plan))),
            PartOutcome::Validated(checked) => report(validation(checked)),
            PartOutcome::Failed(failed) => PartResult::Failed { failed },
            PartOutcome::Unknown(unknown) => PartResult::Unknown { unknown },
            PartOutcome::Elsewhere => PartResult::Elsewhere { elsewhere: true },
            PartOutcome::Skipped(skipped) => PartResult::Skipped { skipped },
            PartOutcome::NotBegun => PartResult::Skipped { skipped: NOT_BEGUN },
        };
        Self { directory: &part.directory, environment: part.environment.as_deref(), id: None, result }
    }
}

/// Definitions that were checked.
#[must_use]
pub fn validation(checked: &Validation<'_>) -> String {
    document("validation", ValidationReport::of(checked))
}

fn shard_document((index, of): (u32, u32)) -> Json {
    json!({"index": index, "of": of})
}

/// A check.
#[derive(Serialize)]
struct Checked<'p> {
    acknowledged: &'p [JudgedAcknowledgement],
    checked: Timestamp,
    counts: Counts,
    drifted: Vec<Json>,
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    elsewhere_namespaces: &'p BTreeSet<Namespace>,
    plan: &'p Plan,
    #[serde(skip_serializing_if = "Option::is_none")]
    shard: Option<Json>,
    verdict: Verdict,
    verdicts: &'p Verdicts,
}

impl<'p> Checked<'p> {
    fn new(check: &'p Check<'_>) -> Self {
        let drifted = check.plan.drifted(&check.found).into_iter().map(|one| {
            let seen = check.drift_state.and_then(|state| state.seen(&one.object, one.field.as_ref()));
            json!({
                "object": one.object,
                "field": one.field,
                "value": one.value,
                "first_seen": seen.map(|seen| seen.first_seen),
                "checks": seen.map(|seen| seen.checks),
                "age_seconds": seen.map(|seen| seen.age(check.now).as_secs()),
            })
        });
        Self {
            acknowledged: &check.acknowledged,
            checked: check.now,
            counts: counts(check.plan),
            drifted: drifted.collect(),
            elsewhere_namespaces: &check.elsewhere,
            plan: check.plan,
            shard: check.shard.map(shard_document),
            verdict: check.verdicts.whole(),
            verdicts: &check.verdicts,
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
    /// The outcome of `plan`.
    #[must_use]
    pub fn new(outcome: &'p Outcome, plan: &'p Plan) -> Self {
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
    #[must_use]
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

/// The runs that a journal keeps, oldest first.
#[derive(Serialize, JsonSchema)]
pub struct HistoryReport<'p> {
    /// The runs, newest first.
    pub runs: &'p [RunSummary],
    /// Why others cannot be read.
    pub unreadable: &'p [String],
}

#[derive(Serialize)]
struct Document<'a, C> {
    kind: &'a str,
    format_version: u32,
    #[serde(flatten)]
    content: C,
}

/// Any other answer under its `kind`, on one line.
#[must_use]
pub fn line(kind: &str, content: impl Serialize) -> String {
    // Text keys, strings, numbers: nothing that fails.
    let text = serde_json::to_string(&Document { kind, format_version: FORMAT_VERSION, content }).unwrap_or_default();
    format!("{}\n", super::safe::json(&text))
}

/// A document on one line: its line breaks are between its parts and never in a text.
#[must_use]
pub fn one_line(document: &str) -> String {
    document.lines().map(str::trim_start).chain(["\n"]).collect()
}

/// Any other answer under its `kind`.
#[must_use]
pub fn document(kind: &str, content: impl Serialize) -> String {
    text(|out| write(kind, content, out))
}

/// Writes the same document to `out`.
///
/// # Errors
/// Those of `out`.
pub fn write(kind: &str, content: impl Serialize, out: &mut dyn Write) -> io::Result<()> {
    let mut out = JsonWriter::new(out);
    serde_json::to_writer_pretty(&mut out, &Document { kind, format_version: FORMAT_VERSION, content })?;
    out.write_all(b"\n")?;
    out.finish()
}

/// What `write` writes, as one text.
pub(super) fn text(write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> String {
    let mut bytes = Vec::new();
    // Text keys, strings, numbers: nothing that fails.
    let written = write(&mut bytes).map(|()| String::from_utf8(bytes).unwrap_or_default());
    written.unwrap_or_default()
}

/// Changes by action, what is blocked, what is in sync, and requests.
#[derive(Serialize, JsonSchema)]
pub(super) struct Counts(BTreeMap<&'static str, u64>);

fn counts(plan: &Plan) -> Counts {
    let number = |count: usize| u64::try_from(count).unwrap_or(u64::MAX);
    let mut counts: BTreeMap<&str, u64> =
        ActionKind::ALL.into_iter().map(|kind| (kind.as_str(), number(plan.count(kind)))).collect();
    let read = plan.read_scope();
    counts.extend([
        ("blocked", number(plan.blocked.len())),
        ("in_sync", number(plan.in_sync())),
        ("outside_filter", number(plan.left_out)),
        ("namespaces", number(read.namespaces)),
        ("namespaces_outside_filter", number(read.left_out)),
        ("namespaces_not_read", number(read.unread)),
        ("requests", plan.source.requests),
    ]);
    Counts(counts)
}
