//! What a command cost and did, as a text file for Prometheus: how long it took, its requests by how they ended, its
//! waits and repeats, and its changes by result. The number of series follows the number of stacks, never that of
//! endpoints.

use std::collections::BTreeMap;
use std::time::Duration;

use jiff::Timestamp;

use super::prometheus::Text;
use crate::api::Exchange;
use crate::plan::{ActionKind, Plan};
use crate::run::{ChangeResult, Outcome};

/// Which stack a number is about.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct StackLabels {
    /// The service.
    pub service: String,
    /// The stack.
    pub stack: String,
    /// The environment of the configuration.
    pub environment: String,
}

impl StackLabels {
    /// The labels of a plan.
    #[must_use]
    pub fn of(plan: &Plan) -> Self {
        Self {
            service: plan.service.base_url.clone(),
            stack: plan.stack.clone().unwrap_or_default(),
            environment: plan.source.environment.clone().unwrap_or_default(),
        }
    }
}

/// How requests end.
const CLASSES: [&str; 6] = ["2xx", "3xx", "4xx", "429", "5xx", "no_answer"];
/// What becomes of changes: as a plan has them, and as an apply left them.
const RESULTS: [&str; 9] =
    ["planned", "blocked", "done", "already_done", "conflict", "referred", "failed", "in_doubt", "skipped"];

/// What was counted of one stack.
#[derive(Debug, Clone, Default)]
struct StackTotals {
    requests: BTreeMap<&'static str, u64>,
    retries: u64,
    waited: Duration,
    changes: BTreeMap<(ActionKind, &'static str), u64>,
}

/// What a command counted, by stack.
#[derive(Debug, Clone, Default)]
pub struct RunMetrics {
    stacks: BTreeMap<StackLabels, StackTotals>,
}

/// A command that ended.
pub struct EndedCommand<'a> {
    /// Its name.
    pub name: &'a str,
    /// Which of how many shards it was, as the call says.
    pub shard: &'a str,
    /// How long it took.
    pub took: Duration,
    /// Its exit code.
    pub exit_code: u8,
    /// When it ended.
    pub ended: Timestamp,
}

impl RunMetrics {
    /// Counts a request.
    pub fn exchange(&mut self, labels: &StackLabels, exchange: &Exchange<'_>) {
        let totals = self.totals(labels);
        *totals.requests.entry(class(exchange.status)).or_default() += 1;
        totals.retries += u64::from(exchange.attempt > 1);
        totals.waited += exchange.waited;
    }

    /// Counts the changes of a plan.
    pub fn plan(&mut self, plan: &Plan) {
        let totals = self.totals(&StackLabels::of(plan));
        for change in &plan.changes {
            *totals.changes.entry((change.action.kind(), "planned")).or_default() += 1;
        }
        for blocked in &plan.blocked {
            let action = blocked.change.as_ref().map_or(ActionKind::Delete, |change| change.action.kind());
            *totals.changes.entry((action, "blocked")).or_default() += 1;
        }
    }

    /// Counts the results of a run.
    pub fn outcome(&mut self, plan: &Plan, outcome: &Outcome) {
        let totals = self.totals(&StackLabels::of(plan));
        for step in &outcome.steps {
            *totals.changes.entry((step.action, result(&step.result))).or_default() += 1;
        }
    }

    fn totals(&mut self, labels: &StackLabels) -> &mut StackTotals {
        self.stacks.entry(labels.clone()).or_default()
    }

    /// The numbers of a command that ended, as a text file for Prometheus.
    #[must_use]
    pub fn text(&self, command: &EndedCommand<'_>) -> String {
        let of_command = [("command", command.name.to_owned()), ("shard", command.shard.to_owned())];
        let labels = |stack: &StackLabels| {
            let StackLabels { service, stack, environment } = stack.clone();
            let of_stack = [("service", service), ("stack", stack), ("environment", environment)];
            of_command.iter().cloned().chain(of_stack).collect::<Vec<_>>()
        };
        // A command about one stack is labelled as it.
        let whole = match self.stacks.len() {
            1 => self.stacks.keys().next().cloned().unwrap_or_default(),
            _ => StackLabels::default(),
        };
        let mut text = Text { lines: String::new(), common: labels(&whole) };
        text.metric("trueup_run_duration_seconds", "How long the command took.");
        text.sample("trueup_run_duration_seconds", &[], command.took.as_secs_f64());
        text.metric("trueup_run_exit_code", "The exit code of the command.");
        text.sample("trueup_run_exit_code", &[], command.exit_code);
        text.metric("trueup_run_timestamp_seconds", "When the command ended, in seconds since 1970.");
        text.sample("trueup_run_timestamp_seconds", &[], command.ended.as_second());
        let families: [(&str, &str, Samples); 4] = [
            ("trueup_run_requests", "Requests by how they ended, repeats included.", |text, totals| {
                for class in CLASSES {
                    let number = totals.requests.get(class).copied().unwrap_or_default();
                    text.sample("trueup_run_requests", &[("class", class.to_owned())], number);
                }
            }),
            ("trueup_run_request_retries", "Requests that were sent again.", |text, totals| {
                text.sample("trueup_run_request_retries", &[], totals.retries);
            }),
            ("trueup_run_request_wait_seconds", "Waits before requests, together.", |text, totals| {
                text.sample("trueup_run_request_wait_seconds", &[], totals.waited.as_secs_f64());
            }),
            ("trueup_run_changes", "Changes by action and result.", |text, totals| {
                for action in ActionKind::ALL {
                    for result in RESULTS {
                        let number = totals.changes.get(&(action, result)).copied().unwrap_or_default();
                        let labels = [("action", action.as_str().to_owned()), ("result", result.to_owned())];
                        text.sample("trueup_run_changes", &labels, number);
                    }
                }
            }),
        ];
        for (name, help, samples) in families {
            text.metric(name, help);
            for (stack, totals) in &self.stacks {
                text.common = labels(stack);
                samples(&mut text, totals);
            }
        }
        text.lines
    }
}

type Samples = fn(&mut Text, &StackTotals);

fn class(status: Option<u16>) -> &'static str {
    match status {
        Some(429) => "429",
        Some(200..=299) => "2xx",
        Some(300..=399) => "3xx",
        Some(400..=499) => "4xx",
        Some(_) => "5xx",
        None => "no_answer",
    }
}

fn result(result: &ChangeResult) -> &'static str {
    match result {
        ChangeResult::Done { .. } => "done",
        ChangeResult::AlreadyDone => "already_done",
        ChangeResult::Conflict(_) => "conflict",
        ChangeResult::Referred { .. } => "referred",
        ChangeResult::Failed { .. } => "failed",
        ChangeResult::InDoubt { .. } => "in_doubt",
        ChangeResult::Skipped { .. } => "skipped",
    }
}

#[cfg(test)]
mod tests {
    use super::super::sample;
    use super::*;

    fn text(plans: &[Plan]) -> String {
        let mut metrics = RunMetrics::default();
        plans.iter().for_each(|plan| metrics.plan(plan));
        metrics.text(&EndedCommand {
            name: "plan",
            shard: "2/5",
            took: Duration::from_millis(1500),
            exit_code: 2,
            ended: "2026-11-21T10:00:00Z".parse().expect("a time"),
        })
    }

    #[test]
    fn the_number_of_series_follows_the_stacks_and_not_the_endpoints() {
        let series = |text: &str| text.lines().filter(|line| !line.starts_with('#')).count();
        let (few, many) = (text(&[sample::plan(10, false)]), text(&[sample::plan(1000, false)]));
        assert_eq!(series(&few), series(&many));
        assert!(series(&many) <= 3 + CLASSES.len() + 2 + ActionKind::ALL.len() * RESULTS.len(), "{many}");
        let other = Plan { stack: Some("other".to_owned()), ..sample::plan(10, false) };
        assert!(series(&text(&[sample::plan(10, false), other])) <= 2 * series(&few));
        let keys: Vec<String> = sample::plan(1000, false).changes.iter().map(|change| change.key.to_string()).collect();
        assert!(keys.iter().all(|key| !many.contains(key.as_str())));
    }

    #[test]
    fn every_line_is_a_comment_or_a_sample_whatever_the_texts() {
        let sample =
            regex::Regex::new(r#"^trueup_run_[a-z_]+\{([a-z]+="([^"\\]|\\.)*")(,[a-z]+="([^"\\]|\\.)*")*\} [0-9.]+$"#)
                .expect("a pattern");
        let hostile = Plan { stack: Some("a\"} 1\nx \u{1b}\\".to_owned()), ..sample::plan(40, true) };
        let text = text(&[hostile]);
        for line in text.lines() {
            assert!(line.starts_with("# HELP ") || line.starts_with("# TYPE ") || sample.is_match(line), "{line}");
        }
        assert!(
            text.contains("trueup_run_duration_seconds{command=\"plan\",shard=\"2/5\",") && text.contains("} 1.5\n")
        );
    }
}
