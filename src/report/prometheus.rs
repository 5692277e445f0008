//! A check or a run as a text file for Prometheus, as the node exporter's textfile collector reads it. Names and labels
//! are stable; only endpoints that are not in sync have series of their own, so that the number of series depends on
//! the problems and not on the tenant.

use std::fmt::Display;

use super::fleet::{Fleet, FleetPart};
use crate::drift::{AcknowledgementStatus, Check, Verdict};
use crate::model::{Scope, counted};
use crate::plan::{ActionKind, ScopeRead};
use crate::report::prelude::*;
use crate::run::{RunDocument, RunStatus, StepResult};

/// The check as gauges.
pub fn report(check: &Check) -> String {
    let directory = check.plan.made_for().filter(|_| check.plan.stack.is_none());
    let own = [
        ("environment", check.plan.source.environment.clone()),
        ("shard", check.shard.as_ref().map(ToString::to_string)),
        ("directory", directory.map(str::to_owned)),
    ];
    // These labels distinguish the stack from one of the same name in another call.
    gauges(&[(own.into_iter().filter_map(|(name, value)| Some((name, value?))).collect(), check)])
}

/// The checks of several stacks as gauges, and how many could not be made.
pub(super) fn fleet(fleet: &Fleet<'_>) -> String {
    // Two stacks may have one name, such as the environments of a directory.
    let labels = |part: &FleetPart<'_>, environment: Option<&String>| -> Vec<Label> {
        let environment = environment.map(|name| ("environment", name.clone()));
        [("directory", part.name().into_owned())].into_iter().chain(environment).collect()
    };
    let checks: Vec<_> =
        fleet.checks().map(|(part, check)| (labels(part, check.plan.source.environment.as_ref()), check)).collect();
    let mut text = Text { lines: gauges(&checks), ..Text::default() };
    text.metric("trueup_drift_unchecked", "1 for each stack of a fleet that could not be checked.");
    for (part, _) in fleet.failures() {
        text.sample(&labels(part, part.environment.as_ref().or(fleet.environment.as_ref())), 1);
    }
    if fleet.merged.is_some() {
        let help = "Files and shards of a merged report that are missing, cannot be read or contradict each other.";
        text.metric("trueup_drift_report_problems", help);
        text.sample(&[], fleet.problems.len());
    }
    text.lines
}

/// A recorded run as gauges: how it ended, how long it took, and its changes by result. There is no series for an
/// endpoint.
pub fn run(document: &RunDocument) -> String {
    let RunDocument { run, plan, steps, .. } = document;
    // Empty for a rollback: the run that it undoes would be a new label each time.
    let directory = plan.made_for().unwrap_or_default().to_owned();
    let common = [
        ("service", run.base_url.clone()),
        ("stack", run.stack.clone().unwrap_or_default()),
        ("environment", plan.source.environment.clone().unwrap_or_default()),
        ("directory", directory),
    ];
    let mut text = Text { common: common.into(), ..Text::default() };
    text.metric("trueup_run_status", "1 for how the run ended, 0 for the others.");
    let ended = match run.status {
        RunStatus::Finished => "finished",
        RunStatus::Unverified => "unverified",
        RunStatus::Unfinished => "unfinished",
        RunStatus::InDoubt { .. } => "in_doubt",
    };
    for status in ["finished", "unverified", "unfinished", "in_doubt"] {
        text.sample(&[("status", status.to_owned())], u64::from(status == ended));
    }
    let time = |text: &str| text.parse::<Timestamp>().ok();
    if let (Some(began), Some(ended)) = (time(&run.started), run.ended.as_deref().and_then(time)) {
        text.metric("trueup_run_duration_seconds", "How long the run took.");
        text.sample(&[], ended.duration_since(began).as_secs_f64());
        text.metric("trueup_run_timestamp_seconds", "When the run ended, in seconds since 1970.");
        text.sample(&[], ended.as_second());
    }
    text.metric("trueup_run_changes", "Changes by action and result.");
    // Each change is counted in the run that made it.
    let own = || steps.iter().filter(|step| !step.made_before);
    for action in ActionKind::ALL {
        for result in StepResult::NAMES {
            let number = own().filter(|step| step.action == action && step.result.name() == result).count();
            let labels = [("action", action.as_str().to_owned()), ("result", result.to_owned())];
            text.sample(&labels, number);
        }
    }
    text.lines
}

/// The name of a label and its value.
type Label = (&'static str, String);

/// The samples of one metric for one check.
type Sample = fn(&mut Text, &Check);

/// The labels of a list, and these; endpoints have no label of a kind.
fn labels(list: &Scope, others: &[Label]) -> Vec<Label> {
    let kind = (!list.kind.is_endpoint()).then(|| ("kind", list.kind.to_string()));
    let namespace = [("namespace", list.namespace.to_string())];
    namespace.into_iter().chain(kind).chain(others.iter().cloned()).collect()
}

/// Each metric with its meaning and its samples; a family is one block, whatever the number of stacks.
const METRICS: [(&str, &str, Sample); 8] = [
    ("trueup_drift_verdict", "1 for the verdict over everything, 0 for the others.", |text, check| {
        let whole = check.verdicts.whole();
        for verdict in Verdict::ALL {
            text.sample(&[("verdict", verdict.to_string())], u64::from(verdict == whole));
        }
    }),
    (
        "trueup_drift_endpoints",
        "Endpoints of a namespace, or objects of another kind, by their verdict.",
        |text, check| {
            let verdicts = check.verdicts.objects.iter().map(|(key, object)| (Scope::from(key), object.verdict));
            let numbers = counted(verdicts);
            let in_sync = check.plan.in_sync_by_list();
            for (list, _) in check.plan.scope.iter().filter(|(_, scope)| scope.selected) {
                for verdict in Verdict::ALL {
                    let here = numbers.get(&(list.clone(), verdict)).copied().unwrap_or_default();
                    let in_sync = if verdict == Verdict::InSync { in_sync[list] } else { 0 };
                    let labels = labels(list, &[("verdict", verdict.to_string())]);
                    text.sample(&labels, here + in_sync);
                }
            }
        },
    ),
    (
        "trueup_drift_namespace_unknown",
        "1 for a list that could not be trusted, of the endpoints of a namespace or of another kind.",
        |text, check| {
            for (list, scope) in check.plan.scope.iter().filter(|(_, scope)| scope.selected) {
                let unknown = matches!(scope.read, ScopeRead::Unknown { .. });
                text.sample(&labels(list, &[]), u64::from(unknown));
            }
        },
    ),
    ("trueup_drift_object", "1 for each endpoint that is not in sync.", |text, check| {
        for (key, object) in &check.verdicts.objects {
            let labels =
                labels(&key.into(), &[("name", key.name.to_string()), ("verdict", object.verdict.to_string())]);
            text.sample(&labels, 1);
        }
    }),
    (
        "trueup_drift_undecided",
        "Questions that the check could not decide, such as whether a missing endpoint was deleted outside.",
        |text, check| {
            let number = check.plan.notes.iter().filter(|note| note.is_undecided()).count();
            text.sample(&[], number);
        },
    ),
    (
        FIRST_SEEN,
        "When a check first saw that a field drifted, in seconds since 1970; without a field it is the whole endpoint.",
        |text, check| {
            let Some(state) = &check.drift_state else { return };
            for drifted in check.plan.drifted(&check.verdicts) {
                let Some(seen) = state.seen(&drifted.object, drifted.field.as_ref()) else { continue };
                let field = drifted.field.map(|field| field.to_string()).unwrap_or_default();
                let labels =
                    labels(&(&drifted.object).into(), &[("name", drifted.object.name.to_string()), ("field", field)]);
                text.sample(&labels, u64::try_from(seen.first_seen.as_second()).unwrap_or(0));
            }
        },
    ),
    ("trueup_drift_acknowledgements", "Acknowledgements by their status.", |text, check| {
        for status in AcknowledgementStatus::ALL {
            let number = check.acknowledged.iter().filter(|entry| entry.status == status).count();
            text.sample(&[("status", status.to_string())], number);
        }
    }),
    ("trueup_drift_check_timestamp_seconds", "When the check was made, in seconds since 1970.", |text, check| {
        // A check against a snapshot is as old as that.
        let taken = check.plan.source.snapshot.as_deref().map(|taken| taken.parse::<Timestamp>().unwrap_or_default());
        let seconds = u64::try_from(taken.unwrap_or(check.now).as_second()).unwrap_or(0);
        text.sample(&[], seconds);
    }),
];

/// The metric that is left out without samples: only checks with a drift state have some.
const FIRST_SEEN: &str = "trueup_drift_first_seen_timestamp_seconds";

/// The checks as gauges, each with the labels of its own.
fn gauges(checks: &[(Vec<Label>, &Check)]) -> String {
    let mut text = Text::default();
    for (name, help, samples) in METRICS {
        let before = text.lines.len();
        text.metric(name, help);
        let empty = text.lines.len();
        for (own, check) in checks {
            let stack = check.plan.stack.clone().unwrap_or_default();
            text.common = vec![("service", check.plan.service.base_url.clone()), ("stack", stack)];
            text.common.extend(own.iter().cloned());
            samples(&mut text, check);
        }
        if name == FIRST_SEEN && text.lines.len() == empty {
            text.lines.truncate(before);
        }
    }
    text.lines
}

/// Metrics as text, one block for each family.
#[derive(Default)]
struct Text {
    lines: String,
    /// The metric whose samples are written.
    name: &'static str,
    /// The labels of every sample.
    common: Vec<Label>,
}

impl Text {
    fn metric(&mut self, name: &'static str, help: &str) {
        self.name = name;
        self.lines.push_str(&format!("# HELP {name} {help}\n# TYPE {name} gauge\n"));
    }

    fn sample(&mut self, labels: &[Label], value: impl Display) {
        let labels: Vec<String> =
            self.common.iter().chain(labels).map(|(name, value)| format!("{name}=\"{}\"", label(value))).collect();
        let labels = if labels.is_empty() { String::new() } else { format!("{{{}}}", labels.join(",")) };
        self.lines.push_str(&format!("{}{labels} {value}\n", self.name));
    }
}

/// The value of a label: what would end it is escaped, control characters are written out.
fn label(text: &str) -> String {
    safe::line(text).replace('\\', "\\\\").replace('"', "\\\"")
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::super::sample_tests;
    use super::*;
    use crate::drift::{DriftState, Shard, UnmanagedPolicy};
    use crate::model::Desired;
    use crate::plan::{Plan, PlanOrigin};
    use crate::report::TextView;
    use crate::report::fleet::{FleetCommand, NoResult, StackReport};

    fn now() -> jiff::Timestamp {
        "2026-11-21T10:00:00Z".parse().expect("a time")
    }

    #[test]
    fn every_line_is_a_comment_or_a_sample_whatever_the_texts() {
        let sample =
            regex::Regex::new(r#"^trueup_drift_[a-z_]+\{([a-z]+="([^"\\]|\\.)*")(,[a-z]+="([^"\\]|\\.)*")*\} \d+$"#)
                .expect("a pattern");
        for hostile in [false, true] {
            let plan = super::super::sample_tests::plan(40, hostile);
            let text = report(&Check::new(plan.clone(), plan.verdicts(UnmanagedPolicy::Fail), now()));
            for line in text.lines() {
                assert!(line.starts_with("# HELP ") || line.starts_with("# TYPE ") || sample.is_match(line), "{line}");
            }
        }
    }

    fn part<'c>(environment: Option<&str>, check: Result<&'c Check, NoResult>) -> FleetPart<'c> {
        FleetPart {
            directory: ".".to_owned(),
            environment: environment.map(str::to_owned),
            apart: None,
            id: String::new(),
            own: TextView::default(),
            outcome: check.map(StackReport::Checked),
        }
    }

    #[test]
    fn stacks_of_one_name_have_series_of_their_own() {
        let [one, other] = [sample_tests::plan(40, false), sample_tests::plan(0, false)];
        let check = |plan: Plan| Check::new(plan.clone(), plan.verdicts(UnmanagedPolicy::Note), now());
        let [one, other] = [check(one), check(other)];
        let text =
            fleet(&Fleet::new(FleetCommand::Drift, vec![part(Some("dev"), Ok(&one)), part(Some("prod"), Ok(&other))]));
        let series: Vec<&str> =
            text.lines().filter_map(|line| line.rsplit_once(' ').map(|(series, _)| series)).collect();
        let series: Vec<&str> = series.into_iter().filter(|line| !line.starts_with('#')).collect();
        let different: BTreeSet<&str> = series.iter().copied().collect();
        assert_eq!(different.len(), series.len(), "{text}");
        assert!(text.contains("stack=\"shop-prod\",directory=\". (dev)\",verdict=\"both\"} 1\n"), "{text}");
    }

    #[test]
    fn checks_of_several_calls_have_series_of_their_own() {
        let check = |stack: Option<&str>, change: fn(&mut Check)| {
            let plan = sample_tests::plan(40, false);
            let plan = Plan { stack: stack.map(str::to_owned), ..plan };
            let mut check = Check::new(plan.clone(), plan.verdicts(UnmanagedPolicy::Note), now());
            change(&mut check);
            report(&check)
        };
        let in_fleet = |environment: &str| {
            let plan = sample_tests::plan(40, false);
            let mut check = Check::new(plan.clone(), plan.verdicts(UnmanagedPolicy::Note), now());
            check.plan.source.environment = Some(environment.to_owned());
            let parts = vec![part(None, Ok(&check)), part(None, Err(NoResult::Failed("no token".to_owned())))];
            let environment = check.plan.source.environment.clone();
            fleet(&Fleet { environment, ..Fleet::new(FleetCommand::Drift, parts) })
        };
        let texts = [
            in_fleet("dev"),
            in_fleet("prod"),
            check(Some("shop"), |_| {}),
            check(Some("shop"), |check| check.plan.source.environment = Some("dev".to_owned())),
            check(Some("shop"), |check| check.plan.source.environment = Some("prod".to_owned())),
            check(Some("shop"), |check| check.shard = Some(Shard { index: 1, of: 2 })),
            check(Some("shop"), |check| check.shard = Some(Shard { index: 2, of: 2 })),
            check(None, |check| check.plan.source.origin = PlanOrigin::Directory("one".to_owned())),
            check(None, |check| check.plan.source.origin = PlanOrigin::Directory("two".to_owned())),
        ];
        let samples = texts.iter().flat_map(|text| text.lines()).filter(|line| !line.starts_with('#'));
        let series: Vec<&str> = samples.filter_map(|line| Some(line.rsplit_once(' ')?.0)).collect();
        let different: BTreeSet<&str> = series.iter().copied().collect();
        assert_eq!(different.len(), series.len(), "{texts:?}");
        assert!(texts[5].contains("stack=\"shop\",shard=\"1/2\",verdict=\"both\"} 1\n"), "{}", texts[5]);
    }

    #[test]
    fn the_verdict_is_one_of_five() {
        let plan = sample_tests::plan(40, false);
        let text = report(&Check::new(plan.clone(), plan.verdicts(UnmanagedPolicy::Note), now()));
        let verdicts: Vec<&str> = text.lines().filter(|line| line.starts_with("trueup_drift_verdict{")).collect();
        assert_eq!(verdicts.len(), 5);
        assert_eq!(verdicts.iter().filter(|line| line.ends_with(" 1")).count(), 1);
        assert!(text.contains("verdict=\"both\"} 1\n"), "{text}");
    }

    #[test]
    fn what_the_drift_state_knows_has_its_first_time() {
        let plan = sample_tests::plan(10, false);
        let verdicts = plan.verdicts(UnmanagedPolicy::Note);
        let mut state = DriftState::default();
        let desired = Desired::default();
        state.remember(&plan, &verdicts, &desired, now());
        let text = report(&Check { drift_state: Some(state.clone()), ..Check::new(plan.clone(), verdicts, now()) });
        assert!(text.contains("field=\"spec.target\"} 1795255200\n"), "{text}");
    }
}
