//! Reports as JSON. Each document names its `kind` and its `format_version`; fields are added within
//! a version and never change their meaning.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::json;

use super::fleet::{Fleet, FleetCommand, FleetPart, PartOutcome};
use super::validation::Validation;
use crate::drift::{Check, JudgedAcknowledgement, UnmanagedPolicy, Verdict, Verdicts};
use crate::model::Json;
use crate::plan::{ActionKind, GuardHit, Plan, RecordedConsent};
use crate::run::{ChangeProgress, Outcome, Rehearsal, RunRecord, RunSummary};

/// The version of every document of this module.
pub const FORMAT_VERSION: u32 = 1;

/// A plan for a reader: counts, verdicts, digest and the plan itself. It is not what `apply` takes;
/// that is the file which `plan -o` writes.
#[must_use]
pub fn plan(plan: &Plan) -> String {
    // A struct, because the tree of a large plan is many times the plan.
    #[derive(Serialize)]
    struct Report<'p> {
        refused: bool,
        refused_by: Vec<&'p GuardHit>,
        allowed: &'p [RecordedConsent],
        counts: Json,
        digest: &'p str,
        plan: &'p Plan,
        verdict: Verdict,
        verdicts: &'p Verdicts,
    }
    let (verdicts, digest) = (plan.verdicts(UnmanagedPolicy::Note), plan.digest());
    let (counts, verdict) = (counts(plan), verdicts.whole());
    let report = Report {
        refused: plan.is_refused(),
        refused_by: plan.refused(),
        allowed: &plan.allowed,
        counts,
        digest: digest.full(),
        plan,
        verdict,
        verdicts: &verdicts,
    };
    document("plan_report", report)
}

/// The verdicts of a check, per endpoint and whole, after what is accepted; each value that drifted
/// with its digest, as an acknowledgement names it, and since when it is known.
#[must_use]
pub fn drift(check: &Check<'_>) -> String {
    document("drift", Checked::new(check))
}

/// The results of several stacks: checks with a verdict each and the whole, or the documents that the command writes
/// for one stack.
#[must_use]
pub fn fleet(fleet: &Fleet<'_>) -> String {
    let parts = || fleet.parts.iter();
    let shard = fleet.shard.map(|(index, of)| json!({"index": index, "of": of}));
    if fleet.command == FleetCommand::Drift {
        let mut content = json!({"failed": fleet.failed(), "verdict": fleet.whole()});
        if let Some(shard) = shard {
            content["shard"] = shard;
        }
        let checks: Vec<PartDocument<'_>> = parts().map(PartDocument::new).collect();
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
    #[serde(flatten)]
    result: PartResult<'p>,
}

#[derive(Serialize)]
#[serde(untagged)]
enum PartResult<'p> {
    Checked(Checked<'p>),
    Failed { failed: &'p str },
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
            PartOutcome::Applied(outcome, plan) => report(self::outcome(outcome, plan)),
            PartOutcome::Validated(checked) => report(validation(checked)),
            PartOutcome::Failed(failed) => PartResult::Failed { failed },
            PartOutcome::Elsewhere => PartResult::Elsewhere { elsewhere: true },
            PartOutcome::Skipped(skipped) => PartResult::Skipped { skipped },
        };
        Self { directory: &part.directory, environment: part.environment.as_deref(), result }
    }
}

/// Definitions that were checked.
#[must_use]
pub fn validation(checked: &Validation<'_>) -> String {
    let endpoints = checked.contents.map_or(0, |size| size.endpoints);
    let valid = checked.contents.is_some();
    document("validation", json!({"valid": valid, "endpoints": endpoints, "diagnostics": checked.diagnostics}))
}

/// A check.
#[derive(Serialize)]
struct Checked<'p> {
    acknowledged: &'p [JudgedAcknowledgement],
    counts: Json,
    drifted: Vec<Json>,
    plan: &'p Plan,
    verdict: Verdict,
    verdicts: &'p Verdicts,
}

impl<'p> Checked<'p> {
    fn new(check: &'p Check<'_>) -> Self {
        let drifted = check.plan.drifted(&check.found).into_iter().map(|one| {
            let seen = check.drift_state.and_then(|memory| memory.seen(&one.object, one.field.as_ref()));
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
            counts: counts(check.plan),
            drifted: drifted.collect(),
            plan: check.plan,
            verdict: check.verdicts.whole(),
            verdicts: &check.verdicts,
        }
    }
}

/// The outcome of a run.
#[must_use]
pub fn outcome(outcome: &Outcome, plan: &Plan) -> String {
    document(
        "outcome",
        json!({
            "digest": plan.digest().full(),
            "outcome": outcome,
            "blocked": plan.blocked,
            "setting_changes": plan.setting_changes,
        }),
    )
}

/// A rehearsal: whether a second plan is empty, the result of each change, and what is left.
#[must_use]
pub fn rehearsal(rehearsal: &Rehearsal) -> String {
    document(
        "rehearsal",
        json!({
            "verified": rehearsal.is_verified(),
            "digest": rehearsal.plan.digest().full(),
            "service": rehearsal.plan.service,
            "counts": counts(&rehearsal.plan),
            "faults": rehearsal.faults,
            "guards": rehearsal.plan.guards,
            "blocked": rehearsal.plan.blocked,
            "outcome": rehearsal.outcome,
            "left": rehearsal.left(),
        }),
    )
}

/// The runs that a journal keeps, oldest first.
#[must_use]
pub fn history(runs: &[RunSummary], unreadable: &[String]) -> String {
    document("history", json!({ "runs": runs, "unreadable": unreadable }))
}

/// One run with every change and its result: `untouched`, `in_doubt`, or the result itself.
#[must_use]
pub fn run(record: &RunRecord, summary: &RunSummary) -> String {
    let steps: Vec<Json> = record
        .progress()
        .into_iter()
        .map(|(change, progress)| {
            let step = match progress {
                ChangeProgress::Ended(step) => Some(step),
                ChangeProgress::Untouched | ChangeProgress::InDoubt(_) => None,
            };
            let (result, requests) = match progress {
                ChangeProgress::Untouched => (json!("untouched"), Vec::new()),
                ChangeProgress::InDoubt(intent) => (json!("in_doubt"), intent.request_id.clone().into_iter().collect()),
                ChangeProgress::Ended(step) => (json!(step.result), step.requests.clone()),
            };
            let (started, ended) = step.map_or((None, None), |step| (step.started, step.ended));
            json!({ "key": change.key, "action": change.action.kind(), "result": result, "started": started,
                "ended": ended, "requests": requests })
        })
        .collect();
    let verification = record.closing.as_ref().map(|closing| &closing.verification);
    document("run", json!({ "run": summary, "steps": steps, "verification": verification, "plan": record.header.plan }))
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

/// Any other answer under its `kind`.
#[must_use]
pub fn document(kind: &str, content: impl Serialize) -> String {
    // Text keys, strings, numbers: nothing that fails.
    let document = Document { kind, format_version: FORMAT_VERSION, content };
    let mut text = serde_json::to_string_pretty(&document).unwrap_or_default();
    text.push('\n');
    super::safe::json(&text).into_owned()
}

fn counts(plan: &Plan) -> Json {
    let kinds: BTreeMap<&str, usize> =
        ActionKind::ALL.into_iter().map(|kind| (kind.as_str(), plan.count(kind))).collect();
    let mut counts = json!(kinds);
    counts["blocked"] = plan.blocked.len().into();
    counts["in_sync"] = plan.in_sync().into();
    let looked = plan.read_scope();
    counts["outside_filter"] = plan.left_out.into();
    counts["namespaces"] = looked.namespaces.into();
    counts["namespaces_outside_filter"] = looked.left_out.into();
    counts["namespaces_not_read"] = looked.unread.into();
    counts["requests"] = plan.source.requests.into();
    counts
}
