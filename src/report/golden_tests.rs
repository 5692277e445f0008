//! Every kind of report in each of its formats, as files that a person has read: a change of a byte is seen in the
//! review that makes it. `TRUEUP_WRITE_REPORTS=1 cargo test --lib golden` writes them again.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use serde_json::json;

use super::fleet::{Fleet, FleetCommand, FleetPart, InputProblem, MergedFrom, PartOutcome};
use super::sample::{self, HOSTILE};
use super::stacks::{StackChange, StackEntry, StackList};
use super::text::TextView;
use super::{Format, Report, ReportOptions, StackSize, Validation, render};
use crate::drift::{AcknowledgementStatus, Acknowledgements, Check, DriftState, SeenSince, UnmanagedPolicy};
use crate::load::{Diagnostic, Severity};
use crate::model::policy::{Direction, SettingChange};
use crate::model::{Field, Json, RunId};
use crate::plan::{
    Action, ActionKind, Attribution, BlockReason, BlockedChange, Cause, Change, Conflict, Plan, RecordedConsent,
    ThreeWay,
};
use crate::run::{
    ChangeResult, ChangeStep, Confirmation, InjectedFaults, Outcome, Rehearsal, RunClosing, RunDocument, RunEntry,
    RunHeader, RunRecord, RunSummary, RunTrigger, Verification,
};

const DIRECTORY: &str = "tests/cases/reports";

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
    let mut plan = sample::plan(20, hostile);
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
    plan.allowed.push(RecordedConsent { name: "protected=shop/cart".to_owned(), by: Some(text.to_owned()) });
    plan.setting_changes.push(SettingChange {
        setting: "guards.percent".to_owned(),
        direction: Direction::Loosened,
        base: Some("30".to_owned()),
        head: format!("90 {text}"),
        in_force: "30".to_owned(),
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

fn check<'a>(plan: &'a Plan, state: &'a DriftState, reason: &str) -> Check<'a> {
    let found = plan.verdicts(UnmanagedPolicy::Fail);
    let expires = "2026-11-30".parse().expect("a day");
    let mut accepted = Acknowledgements::offered(plan, &found, reason, expires);
    accepted.acknowledged.truncate(3);
    if let Some(first) = accepted.acknowledged.first_mut() {
        first.expires = "2026-11-01".parse().expect("a day");
    }
    let check = Check::new(plan, found, now()).accepting(&accepted);
    assert!(check.acknowledged.iter().any(|one| one.status == AcknowledgementStatus::Silences));
    Check { drift_state: Some(state), ..check }
}

fn part<'a>(directory: &str, call: &str, outcome: PartOutcome<'a>) -> FleetPart<'a> {
    FleetPart {
        directory: directory.to_owned(),
        environment: (directory != "tenants/one").then(|| "prod".to_owned()),
        id: "5f0a4c58".to_owned(),
        call: call.to_owned(),
        flags: String::new(),
        outcome,
    }
}

fn others<'a>(text: &str) -> Vec<FleetPart<'a>> {
    vec![
        part("tenants/failed", "tenants/failed", PartOutcome::Failed(text.to_owned())),
        part("tenants/skipped", "tenants/skipped", PartOutcome::Skipped(format!("no `trueup.yaml` {text}"))),
        part("tenants/elsewhere", "tenants/elsewhere", PartOutcome::Elsewhere),
    ]
}

fn quiet() -> Plan {
    let mut plan = sample::plan(0, false);
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
            ThreeWay { field: Field::Port, planned: json!(8080), now: json!(9999), wanted: json!(8443) },
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
    let left = plan.changes.iter().take(2).map(|change| (change.key.clone(), vec![Field::Port]));
    Outcome {
        run: RunId::new("2026-11-21T10-04-11-shop-prod").expect("a run"),
        steps: plan.changes.iter().zip(results.iter().cycle()).map(step).collect(),
        verification: Verification::Differs { left: left.collect() },
        interrupted: true,
        unhealthy: vec![(plan.changes[0].key.clone(), text.to_owned())],
        requests: 48,
        milliseconds: 3_210,
        verify_milliseconds: 240,
    }
}

/// The outcome of a plan of which everything was applied.
fn whole(plan: &Plan) -> Outcome {
    let step = |change: &Change| {
        let confirmation = match change.action.kind() {
            ActionKind::Create | ActionKind::Delete => Confirmation::Unguarded,
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
        in_force: None,
        plan: plan.clone(),
    };
    let closing = RunClosing {
        ended: "2026-11-21T10:04:14Z".to_owned(),
        verification: outcome.verification.clone(),
        interrupted: outcome.interrupted,
    };
    let entries = outcome.steps.iter().cloned().map(RunEntry::Outcome).collect();
    RunRecord { header, entries, closing: Some(closing), torn: false }
}

/// Each report of a scenario with its name and its formats.
fn reports(scenario: &Scenario, use_report: &mut dyn FnMut(&str, &Report<'_>, &[Format])) {
    let Scenario { plan, text, .. } = scenario;
    use_report("plan", &Report::Plan(plan), Format::OF_PLAN);
    let mut based = sample::attributed(plan.clone());
    let mut mixed = based.changes.iter_mut().filter(|change| change.fields().len() > 1);
    if let Some(Action::Replace { fields, .. }) = mixed.next().map(|change| &mut change.action) {
        fields[1].attribution = Some(Attribution::Drift);
    }
    use_report("plan-base", &Report::Plan(&based), Format::OF_PLAN);
    let quiet = quiet();
    use_report("plan-in-sync", &Report::Plan(&quiet), Format::OF_PLAN);
    let state = drift_state(plan);
    let check = check(plan, &state, text);
    use_report("drift", &Report::Check(&check), Format::OF_DRIFT);
    let in_sync = Check::new(&quiet, quiet.verdicts(UnmanagedPolicy::Fail), now());
    use_report("drift-in-sync", &Report::Check(&in_sync), Format::OF_DRIFT);

    let mut parts = vec![
        part("tenants/one", "tenants/one", PartOutcome::Planned(plan)),
        part("tenants/two", "tenants/two --env prod", PartOutcome::Planned(&quiet)),
    ];
    parts.extend(others(text));
    let mut fleet = Fleet::new(FleetCommand::Plan, parts);
    fleet.plans = Some((plan.digest(), "-R tenants --env prod".to_owned()));
    use_report("fleet-plan", &Report::Fleet(&fleet), Format::OF_PLAN);
    let mut parts = vec![
        part("tenants/one", "tenants/one", PartOutcome::Checked(check.clone())),
        part("tenants/two", "tenants/two --env prod", PartOutcome::Checked(in_sync.clone())),
        part("tenants/unknown", "tenants/unknown", PartOutcome::Unknown(format!("no file names it {text}"))),
    ];
    parts.extend(others(text));
    let mut fleet = Fleet::new(FleetCommand::Drift, parts);
    fleet.problems = vec![InputProblem { place: "shard-2.json".to_owned(), message: (*text).to_owned() }];
    fleet.merged = Some(MergedFrom { files: 3, checked: Some((now(), now())) });
    use_report("fleet-drift", &Report::Fleet(&fleet), Format::OF_MERGED);

    let outcome = outcome(plan, text);
    let earlier = BTreeSet::new();
    use_report("outcome", &Report::Outcome(&outcome, plan, &earlier), &[Format::Text, Format::Json]);
    let done = whole(&based);
    use_report("outcome-whole", &Report::Outcome(&done, &based, &earlier), &[Format::Text, Format::Json]);
    let mut parts = vec![
        part("tenants/one", "tenants/one", PartOutcome::Applied(&outcome, plan)),
        part("tenants/two", "tenants/two --env prod", PartOutcome::NotBegun),
    ];
    parts.extend(others(text));
    use_report("fleet-apply", &Report::Fleet(&Fleet::new(FleetCommand::Apply, parts)), &[Format::Text]);
    let faults = InjectedFaults { chosen: (*text).to_owned(), met: 5 };
    let rehearsal = Rehearsal { plan: plan.clone(), outcome: outcome.clone(), second: sample::plan(3, false), faults };
    use_report("rehearsal", &Report::Rehearsal(&rehearsal), Format::OF_RUNS);
    let record = record(plan, &outcome, text);
    let summary = RunSummary::of(&record);
    let document = RunDocument::of(&record, None);
    use_report("run", &Report::Run(&document), &[Format::Text, Format::Json, Format::Prometheus]);
    let unreadable = [(*text).to_owned()];
    use_report("history", &Report::History(std::slice::from_ref(&summary), &unreadable), Format::OF_RUNS);

    let diagnostics = [Diagnostic {
        severity: Severity::Error,
        message: format!("`{text}` is not a valid port"),
        labels: Vec::new(),
        help: Some(format!("1 to 65535 {text}")),
    }];
    let validation = Validation { contents: None, diagnostics: &diagnostics, prefix: "endpoints/" };
    use_report("validation", &Report::Validation(validation), Format::OF_VALIDATION);
    let contents = Some(StackSize { endpoints: 41, objects: 0, namespaces: 3, files: 12 });
    let parts = vec![
        part(
            "tenants/one",
            "tenants/one",
            PartOutcome::Validated(Validation { contents, diagnostics: &[], prefix: "" }),
        ),
        part(
            "tenants/two",
            "tenants/two",
            PartOutcome::Validated(Validation { contents: None, diagnostics: &diagnostics, prefix: "tenants/two/" }),
        ),
    ];
    let fleet = Fleet::new(FleetCommand::Validate, parts);
    use_report("fleet-validate", &Report::Fleet(&fleet), Format::OF_VALIDATION);
    let stack = StackEntry {
        directory: format!("tenants/{text}"),
        stack: Some("shop-prod".to_owned()),
        base_url: Some("https://acme.example.net".to_owned()),
        namespaces: vec!["shop".to_owned()],
        files: 12,
        change: Some(StackChange::Changed),
        ..StackEntry::default()
    };
    let stacks = StackList { stacks: vec![stack], since: Some("main".to_owned()), commit: "3f2c9ab".to_owned() };
    use_report("stacks", &Report::Stacks(&stacks), Format::OF_STACKS);
}

/// Every golden file with what belongs in it.
fn files() -> Vec<(PathBuf, String)> {
    let mut files = Vec::new();
    for scenario in scenarios() {
        reports(&scenario, &mut |name, report, formats| {
            let mut add = |name: &str, format: Format, options: &ReportOptions<'_>| {
                let file = format!("{}/{name}.{}", scenario.name, format.as_str());
                let text = render(report, format, options);
                let text = if format == Format::Json { without_plans(&text) } else { of_page(&text) };
                files.push((Path::new(DIRECTORY).join(file), text));
            };
            let view = TextView { width: 100, call: "endpoints".to_owned(), ..TextView::default() };
            let command = "trueup plan endpoints".to_owned();
            let options = ReportOptions { command, now: Some(now()), ..ReportOptions::new(&view) };
            // Remarks are the same as for GitHub, in many more bytes.
            let formats = formats.iter().filter(|format| **format != Format::Sarif || name == "plan");
            formats.clone().for_each(|format| add(name, *format, &options));
            if formats.clone().any(|format| *format == Format::Markdown) && !name.ends_with("in-sync") {
                let tight = ReportOptions { budget: TIGHT, command: options.command.clone(), ..options };
                add(&format!("{name}-tight"), Format::Markdown, &tight);
            }
        });
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

/// What a page says, without the style and the script that all pages have.
fn of_page(text: &str) -> String {
    let Some((_, body)) = text.split_once("<body>") else { return text.to_owned() };
    let body = body.split_once("<script>\n").map_or(body, |(body, _)| body);
    body.replace("},{\"k\"", "},\n{\"k\"").replace("]],[[", "]],\n[[")
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
