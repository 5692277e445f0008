//! Every kind of report in each of its formats, as files that a person has read: a change of a byte is seen in the
//! review that makes it. `TRUEUP_WRITE_REPORTS=1 cargo test --lib golden` writes them again.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use data_encoding::HEXLOWER;
use jiff::Timestamp;
use serde_json::json;
use sha2::{Digest as _, Sha256};

use super::TextView;
use super::ddos::{DdosEvents, OneDdosEvent};
use super::event_counts::{EventCounts, FieldCounts, ValueCount};
use super::explanation::Explanation;
use super::fleet::{Fleet, FleetCommand, FleetPart, InputProblem, MergedFrom, NoResult, StackReport};
use super::json::HistoryReport;
use super::kinds;
use super::operations::OperationList;
use super::sample_tests::{self, HOSTILE};
use super::stacks::{StackChange, StackEntry, StackList};
use super::upgrade::{SiteUpgrade, UpgradableVersions};
use super::{Applied, Format, Report, StackSize, Validation, render};
use crate::api::Operation;
use crate::api::ddos::DdosEvent;
use crate::drift::{AcknowledgementStatus, Acknowledgements, Check, DriftState, SeenSince, UnmanagedPolicy};
use crate::load::explain::{ExplainedDefinition, ExplainedValue, ReplacedValue, ValueSource};
use crate::load::{Diagnostic, Severity};
use crate::model::policy::{Direction, SettingChange};
use crate::model::{Field, Json, Key, Layout, Namespace, RunId, SourceLocation};
use crate::plan::{
    Action, ActionKind, Attribution, BlockReason, BlockedChange, Cause, Change, Conflict, Plan, RecordedConsent,
    ThreeWay,
};
use crate::run::{
    ChangeResult, ChangeStep, Confirmation, InjectedFaults, Outcome, Rehearsal, RunClosing, RunDocument, RunEntry,
    RunHeader, RunRecord, RunSummary, RunTrigger, Verification,
};

const DIRECTORY: &str = "tests/cases/reports";

/// What a recorded run has formats of by itself.
const RUN: [Format; 3] = [Format::Text, Format::Json, Format::Prometheus];

/// Bytes of a Markdown report under which not everything fits.
const TIGHT: usize = 3_000;

/// What the reports of one scenario are made of.
struct Scenario {
    name: &'static str,
    plan: Plan,
    /// A text of the service, of a file or of a name.
    text: &'static str,
}

fn scenarios() -> [Scenario; 2] {
    [
        Scenario { name: "small", plan: plan(false), text: "the service answered 401 Unauthorized" },
        Scenario { name: "hostile", plan: plan(true), text: HOSTILE[0] },
    ]
}

/// A plan with every action, every cause and a defined endpoint that is blocked.
fn plan(hostile: bool) -> Plan {
    let mut plan = sample_tests::plan(20, hostile);
    let text = if hostile { HOSTILE[3] } else { "kim" };
    let mut creates = plan.changes.iter_mut().filter(|change| change.action.kind() == ActionKind::Create);
    let [deleted, lost] = [creates.next(), creates.next()].map(|change| change.expect("the sample has two creates"));
    (deleted.cause, lost.cause) = (Some(Cause::Drift), Some(Cause::Drift));
    lost.applied_in = Some("9d1e55aa0b1c2d3e4f5061728394a5b6c7d8e9f0".to_owned());
    let mut replaces = plan.changes.iter_mut().filter(|change| change.fields().len() == 1);
    let both = replaces.next().expect("the sample has replaces of one field");
    if let Action::Replace { fields, .. } = &mut both.action {
        fields[0].cause = Cause::Both;
        fields[0].before = json!(9999);
    }
    let held = replaces.next_back().expect("the sample has several replaces").clone();
    plan.changes.retain(|change| change.key != held.key);
    let mut blocked = BlockedChange::new(
        held.key.clone(),
        BlockReason::ForeignStack { stack: format!("of {text}") },
        Some(held.clone()),
    );
    blocked.place = held.place;
    plan.blocked.push(blocked);
    plan.changes.push(annotate(&plan));
    plan.allowed.push(RecordedConsent {
        name: "protected=shop/cart".to_owned(),
        by: Some(text.to_owned()),
        at_apply: false,
    });
    plan.setting_changes.push(SettingChange {
        setting: "guards.percent".to_owned(),
        direction: Direction::Loosened,
        base: Some("30".to_owned()),
        head: format!("90 {text}"),
        in_force: "30".to_owned(),
        limited: false,
    });
    plan.source.commit = Some("3f2c9ab0d1e2f3a4b5c6d7e8f90123456789abcd".to_owned());
    plan.source.environment = Some(format!("prod {text}"));
    plan.source.filters = vec![format!("--only {text}")];
    plan
}

fn annotate(plan: &Plan) -> Change {
    let before = plan.changes.iter().find_map(|change| change.action.before()).expect("a replace or a delete");
    let mut before = before.clone();
    let key = crate::model::Key {
        name: crate::model::Name::from_service("in-sync").expect("a name"),
        ..before.endpoint.key.clone()
    };
    before.endpoint.key = key.clone();
    Change::new(key, Action::Annotate { before })
}

fn now() -> Timestamp {
    "2026-11-21T16:02:11Z".parse().expect("a time")
}

fn drift_state(plan: &Plan) -> DriftState {
    let seen = SeenSince { first_seen: "2026-11-19T14:02:11Z".parse().expect("a time"), checks: 4 };
    let fields = plan.changes.iter().flat_map(|change| {
        change.fields().iter().skip(1).map(|field| (change.key.clone(), Some(field.field.clone()), seen))
    });
    DriftState::of_seen(fields)
}

fn check(plan: &Plan, state: &DriftState, reason: &str) -> Check {
    let found = plan.verdicts(UnmanagedPolicy::Fail);
    let expires = "2026-11-30".parse().expect("a day");
    let mut accepted = Acknowledgements::offered(plan, &found, &[], (reason, expires));
    accepted.acknowledged.truncate(3);
    if let Some(first) = accepted.acknowledged.first_mut() {
        first.expires = "2026-11-01".parse().expect("a day");
    }
    let check = Check::new(plan.clone(), found, now()).accepting(&accepted);
    assert!(check.acknowledged.iter().any(|one| one.status == AcknowledgementStatus::Silences));
    Check { drift_state: Some(state.clone()), ..check }
}

fn part<'a>(directory: &str, call: &str, outcome: Result<StackReport<'a>, NoResult>) -> FleetPart<'a> {
    FleetPart {
        directory: directory.to_owned(),
        environment: (directory != "tenants/one").then(|| "prod".to_owned()),
        apart: None,
        id: "5f0a4c58".to_owned(),
        own: TextView { call: call.to_owned(), command: format!("trueup plan {call}"), ..TextView::default() },
        outcome,
    }
}

fn others<'a>(text: &str) -> Vec<FleetPart<'a>> {
    vec![
        part("tenants/failed", "tenants/failed", Err(NoResult::Failed(text.to_owned()))),
        part("tenants/skipped", "tenants/skipped", Err(NoResult::Skipped(format!("no `trueup.yaml` {text}")))),
        part("tenants/elsewhere", "tenants/elsewhere", Err(NoResult::Elsewhere)),
    ]
}

fn quiet() -> Plan {
    let mut plan = sample_tests::plan(0, false);
    plan.blocked.clear();
    plan.guards.clear();
    plan.notes.clear();
    plan
}

/// The outcome of the plan: each kind of result in turn.
fn outcome(plan: &Plan, text: &str) -> Outcome {
    let done = |confirmation, by_reading, adopted| ChangeResult::Done { confirmation, by_reading, adopted };
    let conflict = Conflict {
        reason: format!("was changed by someone else {text}"),
        ours_may_be_lost: true,
        fields: vec![
            ThreeWay { field: Field::of_unit("port"), planned: json!(8080), now: json!(9999), wanted: json!(8443) },
            ThreeWay { field: Field::Label(text.to_owned()), planned: json!("a"), now: json!("b"), wanted: json!("a") },
        ],
    };
    let results = [
        done(Confirmation::Unguarded, false, false),
        done(Confirmation::Guarded, false, true),
        ChangeResult::AlreadyDone,
        ChangeResult::Conflict(conflict),
        ChangeResult::Failed { reason: format!("the service answered 403 {text}") },
        ChangeResult::InDoubt { reason: format!("the answer was lost {text}") },
        done(Confirmation::Versioned, true, false),
        ChangeResult::Skipped { reason: format!("a change before it failed {text}") },
    ];
    let step = |(change, result): (&Change, &ChangeResult)| {
        let mut result = result.clone();
        if let ChangeResult::Done { adopted, .. } = &mut result {
            // Only a create adopts what it meets.
            *adopted &= change.action.kind() == ActionKind::Create;
        }
        let step = ChangeStep::new(change.key.clone(), change.action.kind(), result);
        ChangeStep { requests: vec!["5b1f".to_owned()], ..step }
    };
    let left = plan.changes.iter().take(2).map(|change| (change.key.clone(), vec![Field::of_unit("port")]));
    Outcome {
        run: RunId::new("2026-11-21T10-04-11-shop-prod").expect("a run"),
        steps: plan.changes.iter().zip(results.iter().cycle()).map(step).collect(),
        verification: Verification::Differs { left: left.collect() },
        interrupted: true,
        unhealthy: vec![(plan.changes[0].key.clone(), text.to_owned())],
        requests: 48,
        milliseconds: 3_210,
        verify_milliseconds: 240,
        unrecorded: false,
    }
}

/// The outcome of a plan of which everything was applied.
fn whole(plan: &Plan) -> Outcome {
    let step = |change: &Change| {
        let confirmation = match change.action.kind() {
            ActionKind::Create | ActionKind::Recreate | ActionKind::Delete => Confirmation::Unguarded,
            ActionKind::Replace | ActionKind::Annotate => Confirmation::Guarded,
        };
        let result = ChangeResult::Done { confirmation, by_reading: false, adopted: false };
        ChangeStep::new(change.key.clone(), change.action.kind(), result)
    };
    Outcome {
        steps: plan.changes.iter().map(step).collect(),
        verification: Verification::Verified { reads: 1 },
        interrupted: false,
        unhealthy: Vec::new(),
        ..outcome(plan, "")
    }
}

fn record(plan: &Plan, outcome: &Outcome, text: &str) -> RunRecord {
    let trigger = RunTrigger { actor: Some(text.to_owned()), ..RunTrigger::default() };
    let header = RunHeader {
        run: outcome.run.clone(),
        started: "2026-11-21T10:04:11Z".to_owned(),
        user: Some("ci".to_owned()),
        trigger,
        resumes: None,
        rolls_back: None,
        sandbox: None,
        in_force: None,
        plan: plan.clone(),
    };
    let closing = RunClosing {
        ended: "2026-11-21T10:04:14Z".to_owned(),
        verification: outcome.verification.clone(),
        interrupted: outcome.interrupted,
    };
    let entries = outcome.steps.iter().cloned().map(RunEntry::Outcome).collect();
    RunRecord { header, entries, closing: Some(closing) }
}

/// Takes a report with its name and its formats.
type UseReport<'a> = dyn FnMut(&str, &dyn Report, &[Format]) + 'a;

/// Each report of a scenario with its name and its formats.
fn reports(scenario: &Scenario, use_report: &mut UseReport<'_>) {
    let Scenario { plan, text, .. } = scenario;
    use_report("plan", plan, Format::OF_PLAN);
    let mut based = sample_tests::attributed(plan.clone());
    let mut mixed = based.changes.iter_mut().filter(|change| change.fields().len() > 1);
    if let Some(Action::Replace { fields, .. }) = mixed.next().map(|change| &mut change.action) {
        fields[1].attribution = Some(Attribution::Drift);
    }
    use_report("plan-base", &based, Format::OF_PLAN);
    let quiet = quiet();
    use_report("plan-in-sync", &quiet, Format::OF_PLAN);
    let state = drift_state(plan);
    let check = check(plan, &state, text);
    use_report("drift", &check, Format::OF_DRIFT);
    let in_sync = Check::new(quiet.clone(), quiet.verdicts(UnmanagedPolicy::Fail), now());
    use_report("drift-in-sync", &in_sync, Format::OF_DRIFT);

    let mut parts = vec![
        part("tenants/one", "tenants/one", Ok(StackReport::Planned(plan))),
        part("tenants/two", "tenants/two --env prod", Ok(StackReport::Planned(&quiet))),
    ];
    parts.extend(others(text));
    let mut fleet = Fleet::new(FleetCommand::Plan, parts);
    fleet.plans = Some((plan.digest(), "-R tenants --env prod".to_owned()));
    use_report("fleet-plan", &fleet, Format::OF_PLAN);
    let mut parts = vec![
        part("tenants/one", "tenants/one", Ok(StackReport::Checked(&check))),
        part("tenants/two", "tenants/two --env prod", Ok(StackReport::Checked(&in_sync))),
        part("tenants/unknown", "tenants/unknown", Err(NoResult::Unknown(format!("no file names it {text}")))),
    ];
    parts.extend(others(text));
    let mut fleet = Fleet::new(FleetCommand::Drift, parts);
    fleet.problems = vec![InputProblem { place: "shard-2.json".to_owned(), message: (*text).to_owned() }];
    fleet.merged = Some(MergedFrom { files: 3, checked: Some((now(), now())) });
    use_report("fleet-drift", &fleet, Format::OF_MERGED);

    let outcome = outcome(plan, text);
    let applied = Applied { outcome: &outcome, plan, earlier: BTreeSet::new() };
    use_report("outcome", &applied, &[Format::Text, Format::Json]);
    let done = whole(&based);
    let applied = Applied { outcome: &done, plan: &based, earlier: BTreeSet::new() };
    use_report("outcome-whole", &applied, &[Format::Text, Format::Json]);
    let mut parts = vec![
        part(
            "tenants/one",
            "tenants/one",
            Ok(StackReport::Applied(Applied { outcome: &outcome, plan, earlier: BTreeSet::new() })),
        ),
        part("tenants/two", "tenants/two --env prod", Err(NoResult::AnotherFailed)),
    ];
    parts.extend(others(text));
    use_report("fleet-apply", &Fleet::new(FleetCommand::Apply, parts), &[Format::Text]);
    let faults = InjectedFaults { chosen: (*text).to_owned(), met: 5 };
    let rehearsal =
        Rehearsal { plan: plan.clone(), outcome: outcome.clone(), second: sample_tests::plan(3, false), faults };
    use_report("rehearsal", &rehearsal, Format::OF_ANSWERS);
    let record = record(plan, &outcome, text);
    let summary = RunSummary::of(&record);
    let document = RunDocument::of(&record, None);
    use_report("run", &document, &RUN);
    let unreadable = [(*text).to_owned()];
    let proposed = [(&summary, String::new())];
    let history = HistoryReport { runs: std::slice::from_ref(&summary), unreadable: &unreadable, proposed: &proposed };
    use_report("history", &history, Format::OF_ANSWERS);

    let diagnostics = [Diagnostic {
        severity: Severity::Error,
        message: format!("`{text}` is not a valid port"),
        labels: Vec::new(),
        help: Some(format!("1 to 65535 {text}")),
    }];
    let wrong =
        |prefix: &str| Validation { contents: None, diagnostics: diagnostics.to_vec(), prefix: prefix.to_owned() };
    let validation = wrong("endpoints/");
    use_report("validation", &validation, Format::OF_VALIDATION);
    let contents = Some(StackSize { endpoints: 41, objects: 0, namespaces: 3, files: 12 });
    let valid = Validation { contents, diagnostics: Vec::new(), prefix: String::new() };
    let wrong = wrong("tenants/two/");
    let parts = vec![
        part("tenants/one", "tenants/one", Ok(StackReport::Validated(&valid))),
        part("tenants/two", "tenants/two", Ok(StackReport::Validated(&wrong))),
    ];
    let fleet = Fleet::new(FleetCommand::Validate, parts);
    use_report("fleet-validate", &fleet, Format::OF_VALIDATION);
    let stack = StackEntry {
        directory: format!("tenants/{text}"),
        stack: Some("shop-prod".to_owned()),
        base_url: Some("https://acme.example.net".to_owned()),
        namespaces: vec!["shop".to_owned()],
        files: 12,
        change: Some(StackChange::Changed),
        ..StackEntry::default()
    };
    let stacks = StackList {
        stacks: vec![stack],
        since: Some("main".to_owned()),
        only_removed: false,
        commit: "3f2c9ab".to_owned(),
    };
    use_report("stacks", &stacks, Format::OF_STACKS);
    answers(text, use_report);
}

/// The reports of what the service and the definitions say.
fn answers(text: &str, use_report: &mut UseReport<'_>) {
    let event = |id: &str, end: Json| -> DdosEvent {
        serde_json::from_value(json!({
            "id": id, "name": format!("flood {text}"), "description": text, "ip": "192.0.2.7", "creator": "kim",
            "start_time": "2026-11-20T10:00:00.5Z", "end_time": end, "severity": text, "count": 3,
            "attachments": [{"attachment_id": "a-1", "name": format!("{text}.pcap"), "size_bytes": 73_400_320,
                "attachment_type": "ATTACHMENT_TYPE_PCAP"}],
        }))
        .expect("an event")
    };
    let events = [event("5b1f", Json::Null), event("6c2a", json!("2026-11-20T11:00:00Z"))];
    use_report("ddos", &DdosEvents { events: &events }, Format::OF_ANSWERS);
    use_report("ddos-event", &OneDdosEvent { event: &events[0] }, Format::OF_ANSWERS);
    let value = |value: &str, count| ValueCount { value: value.to_owned(), count };
    let field = |field: &str| FieldCounts {
        field: field.to_owned(),
        values: vec![value("Germany", 92), value(text, 301), value("", 7)],
        beyond: 40,
    };
    let counts = EventCounts {
        heading: "482 security events in shop".to_owned(),
        namespace: "shop".to_owned(),
        query: format!("{{country=\"{text}\"}}"),
        start_time: now(),
        end_time: now(),
        total_hits: 482,
        by: vec![field("country"), field(text)],
        top: 2,
    };
    use_report("event-counts", &counts, &[Format::Text, Format::Json, Format::Ndjson]);
    let versions = ["crt-20260315-0012".to_owned(), text.to_owned()];
    let versions = UpgradableVersions { versions: &versions, os: Some("9.2026.17"), sw: Some(text) };
    use_report("versions", &versions, Format::OF_ANSWERS);
    let progress = serde_json::from_value(json!({
        "site": "ce-lyon", "version": "crt-2", "status": "FAILED", "failure_reason": text, "retries": 2,
        "image_download": {"status": "COMPLETED", "results": [{"name": text, "status": "COMPLETED", "message": text}]},
        "os_setup": {"status": "SKIPPED"}, "site_level_upgrade": {"status": "SCHEDULED"},
        "node_level_upgrade": {"status": "SCHEDULED"}, "validation": null
    }));
    let progress = progress.expect("a status");
    let namespace = Namespace::parse("system").expect("a name");
    let upgrade = SiteUpgrade { namespace: &namespace, site: text, progress: Some(&progress) };
    use_report("upgrade", &upgrade, Format::OF_ANSWERS);
    let list = OperationList::new(Some(Operation::ObjectCreate), Layout::Uniform);
    use_report("operations", &list, Format::OF_ANSWERS);
    let place = || SourceLocation { file: format!("endpoints/{text}.yaml"), line: 7, column: 3 };
    let value = |path: &str, source, place: Option<SourceLocation>| ExplainedValue {
        path: vec!["spec".to_owned(), path.to_owned()],
        value: json!(text),
        source,
        replaced: place.iter().map(|_| replaced(text, self::place(text))).collect(),
        place,
        variables: Vec::new(),
    };
    let definition = ExplainedDefinition {
        key: Key::parse("shop/cart").expect("a key"),
        removed: None,
        values: vec![
            value("dns_name", ValueSource::Definition, Some(place())),
            value("port", ValueSource::Overlay, Some(place())),
            value("protocol", ValueSource::Default, None),
        ],
    };
    let environment = Some(text.to_owned());
    let described = kinds::explain("origin_pool.spec.port").and_then(Result::ok);
    let definition = Some(definition);
    let explanation = Explanation { environment, settings: Some(Vec::new()), definition, described };
    use_report("explanation", &explanation, Format::OF_ANSWERS);
}

fn place(text: &str) -> SourceLocation {
    SourceLocation { file: format!("overlays/{text}.yaml"), line: 9, column: 5 }
}

fn replaced(text: &str, place: SourceLocation) -> ReplacedValue {
    ReplacedValue { path: vec!["spec".to_owned(), "ip".to_owned()], written: text.to_owned(), place }
}

/// The reports whose size follows the plan, of 3,000 changes.
fn large(use_report: &mut UseReport<'_>) {
    let mut plan = sample_tests::plan(3_000, false);
    let mut replaces = plan.changes.iter_mut().filter(|change| change.fields().len() == 1);
    for (at, change) in replaces.by_ref().enumerate().filter(|(at, _)| at.is_multiple_of(9)) {
        let Action::Replace { fields, .. } = &mut change.action else { continue };
        fields[0].cause = if at.is_multiple_of(2) { Cause::Drift } else { Cause::Both };
    }
    let held: Vec<Change> =
        plan.changes.iter().filter(|change| change.fields().len() == 1).step_by(30).cloned().collect();
    plan.changes.retain(|change| held.iter().all(|held| held.key != change.key));
    plan.blocked.extend(held.into_iter().map(|change| {
        let reason = BlockReason::ForeignStack { stack: "kim".to_owned() };
        BlockedChange::new(change.key.clone(), reason, Some(change))
    }));
    use_report("plan", &plan, Format::OF_PLAN);
    use_report("plan-base", &sample_tests::attributed(plan.clone()), Format::OF_PLAN);
    let state = drift_state(&plan);
    let check = Check {
        drift_state: Some(state.clone()),
        ..Check::new(plan.clone(), plan.verdicts(UnmanagedPolicy::Fail), now())
    };
    use_report("drift", &check, Format::OF_DRIFT);
    let parts = vec![part("tenants/one", "tenants/one", Ok(StackReport::Planned(&plan)))];
    use_report("fleet-plan", &Fleet::new(FleetCommand::Plan, parts), Format::OF_PLAN);
    let parts = vec![part("tenants/one", "tenants/one", Ok(StackReport::Checked(&check)))];
    use_report("fleet-drift", &Fleet::new(FleetCommand::Drift, parts), Format::OF_MERGED);
    let outcome = outcome(&plan, "the service answered 403");
    let record = record(&plan, &outcome, "kim");
    use_report("run", &RunDocument::of(&record, None), &RUN);
    let applied = Applied { outcome: &outcome, plan: &plan, earlier: BTreeSet::new() };
    use_report("outcome", &applied, &[Format::Text, Format::Json]);
}

/// Lines of the beginning and of the end that a long golden file has.
const ENDS: usize = 25;
/// Characters of a line that such a file has.
const LINE: usize = 300;

/// The beginning and the end of a long report, with its size and its digest, so that a change of any byte is seen.
fn ends(text: &str) -> String {
    let lines: Vec<String> = text
        .lines()
        .map(|line| match line.char_indices().nth(LINE) {
            Some((end, _)) => format!("{} […]", &line[..end]),
            None => line.to_owned(),
        })
        .collect();
    let digest = HEXLOWER.encode(&Sha256::digest(text.as_bytes()));
    let (head, tail) =
        (&lines[..lines.len().min(ENDS)], &lines[lines.len().saturating_sub(ENDS).max(ENDS.min(lines.len()))..]);
    let middle = format!("[… {} bytes, {} lines, SHA-256 {digest}]", text.len(), lines.len());
    head.iter().chain([&middle]).chain(tail).map(|line| format!("{line}\n")).collect()
}

/// Every golden file with what belongs in it.
fn files() -> Vec<(PathBuf, String)> {
    let mut files = Vec::new();
    let scenarios: Vec<Option<Scenario>> = scenarios().into_iter().map(Some).chain([None]).collect();
    for scenario in &scenarios {
        let mut add_report = |name: &str, report: &dyn Report, formats: &[Format]| {
            let mut add = |name: &str, format: Format, view: &TextView| {
                let folder = scenario.as_ref().map_or("large", |scenario| scenario.name);
                let file = format!("{folder}/{name}.{}", format.as_str());
                let text = render(report, format, view);
                let text = if format == Format::Json { without_plans(&text) } else { of_page(&text) };
                let text = if scenario.is_none() { ends(&text) } else { text };
                files.push((Path::new(DIRECTORY).join(file), text));
            };
            let (call, command) = ("endpoints".to_owned(), "trueup plan endpoints".to_owned());
            let view = TextView { width: 100, call, command, now: Some(now()), ..TextView::default() };
            // Remarks are the same as for GitHub, in many more bytes.
            let formats = formats.iter().filter(|format| **format != Format::Sarif || name == "plan");
            formats.clone().for_each(|format| add(name, *format, &view));
            if formats.clone().any(|format| *format == Format::Markdown) && !name.ends_with("in-sync") {
                let tight = TextView { budget: Some(TIGHT), ..view.clone() };
                add(&format!("{name}-tight"), Format::Markdown, &tight);
            }
        };
        match scenario {
            Some(scenario) => reports(scenario, &mut add_report),
            None => large(&mut add_report),
        }
    }
    files
}

/// A document without the plans in it, which are those of the scenario.
fn without_plans(text: &str) -> String {
    fn clear(value: &mut Json) {
        match value {
            Json::Object(map) => {
                map.get_mut("plan").into_iter().for_each(|plan| *plan = "…".into());
                map.values_mut().for_each(clear);
            }
            Json::Array(items) => items.iter_mut().for_each(clear),
            _ => {}
        }
    }
    let mut value: Json = serde_json::from_str(text).expect("JSON");
    clear(&mut value);
    serde_json::to_string_pretty(&value).expect("JSON") + "\n"
}

/// What a page says, without the style, the tools and the script that all pages have.
fn of_page(text: &str) -> String {
    let Some((_, body)) = text.split_once("<body>") else { return text.to_owned() };
    let (body, _script) = body.split_once("<script>'use strict'").expect("a page has a script");
    let (above, tools) = body.split_once("<section class=\"script tools\"").expect("a page has tools");
    let (_tools, below) = tools.split_once("</section>").expect("they end");
    format!("{above}{below}").replace("},{\"k\"", "},\n{\"k\"").replace("]],[[", "]],\n[[")
}

#[test]
fn golden_files_of_every_kind_of_report_in_every_format() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let files = files();
    let known: BTreeSet<&PathBuf> = files.iter().map(|(file, _)| file).collect();
    assert_eq!(known.len(), files.len(), "two reports have one file");
    if std::env::var_os("TRUEUP_WRITE_REPORTS").is_some() {
        let _ = std::fs::remove_dir_all(root.join(DIRECTORY));
        for (file, text) in &files {
            let path = root.join(file);
            std::fs::create_dir_all(path.parent().expect("a directory")).expect("a directory is made");
            std::fs::write(path, text).expect("a file is written");
        }
        return;
    }
    let differs: Vec<&PathBuf> = files
        .iter()
        .filter(|(file, text)| std::fs::read_to_string(root.join(file)).ok().as_ref() != Some(text))
        .map(|(file, _)| file)
        .collect();
    let first = files.iter().find(|(file, _)| differs.first() == Some(&file)).map_or("", |(_, text)| text);
    assert!(
        differs.is_empty(),
        "{differs:#?} are others than before. If that is meant, write them again with TRUEUP_WRITE_REPORTS=1 and \
         review the difference. The first one is now:\n{first}"
    );
    for scenario in std::fs::read_dir(root.join(DIRECTORY)).expect("the golden files").flatten() {
        for file in std::fs::read_dir(scenario.path()).expect("a directory").flatten() {
            let path = file.path();
            let path = path.strip_prefix(root).expect("it is below the root");
            assert!(known.iter().any(|known| known.as_path() == path), "{} is of no report", path.display());
        }
    }
}
