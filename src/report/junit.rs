//! A check as JUnit XML, which every pipeline shows: a suite for each namespace, a case for each endpoint that is not
//! in sync, and one case for all others. Drift and pending changes fail, what could not be read is an error, what is
//! accepted is skipped with its reason.

use std::fmt::Write as _;

use super::facts::check::{self as facts, Row};
use super::facts::reason::of_cause;
use super::fleet::{Fleet, FleetPart};
use crate::drift::{AcknowledgementStatus, Check, Verdict};
use crate::plan::{Note, ScopeRead};
use crate::report::prelude::*;

#[derive(Default)]
struct Suite {
    name: String,
    /// When its check was made.
    checked: Option<Timestamp>,
    cases: String,
    tests: usize,
    failures: usize,
    errors: usize,
    skipped: usize,
}

/// The check as one XML document.
pub fn report(check: &Check) -> String {
    render_suites(&of(check, ""))
}

/// The checks of several stacks as one XML document; the names of suites and classes begin with
/// the directory of their stack.
pub(super) fn fleet(fleet: &Fleet<'_>) -> String {
    let of_part = |(part, check): (&FleetPart<'_>, _)| of(check, &format!("{}: ", part.name()));
    let mut suites: Vec<Suite> = fleet.checks().flat_map(of_part).collect();
    let failures = fleet.failures().map(|(part, reason)| (part.name(), "failed", reason));
    let problems = fleet.problems.iter().map(|one| (one.place.as_str().into(), "incomplete", one.message.as_str()));
    for (name, kind, reason) in failures.chain(problems) {
        let mut suite = Suite { name: name.to_string(), errors: 1, ..Suite::default() };
        suite.case(&name, "check", &format!("<error type=\"{kind}\" message=\"{}\"/>", xml(reason)));
        suites.push(suite);
    }
    render_suites(&suites)
}

/// The suites of a check, one for each namespace; their names begin with `prefix`.
fn of(check: &Check, prefix: &str) -> Vec<Suite> {
    let mut suites: BTreeMap<&str, Suite> = BTreeMap::new();
    let in_sync = check.plan.in_sync_by_list();
    // Two cases with the same class and name may be read as one, even in different suites.
    let class = |of: &str| format!("{prefix}{of}");
    for (list, scope) in check.plan.scope.iter().filter(|(_, scope)| scope.selected) {
        let suite = suites.entry(list.namespace.as_str()).or_default();
        let outcome = match &scope.read {
            ScopeRead::Complete { .. } => String::new(),
            ScopeRead::Unknown { reason } => {
                suite.errors += 1;
                format!("<error type=\"unknown\" message=\"{}\"/>", xml(reason))
            }
        };
        let name = if outcome.is_empty() { format!("{} in sync", in_sync[list]) } else { "list".to_owned() };
        suite.case(&class(&list.to_string()), &name, &outcome);
    }
    for row in facts::rows(check) {
        let suite = suites.entry(row.key.namespace.as_str()).or_default();
        let kind = match check.verdicts.objects[row.key].verdict {
            Verdict::InSync => continue,
            Verdict::Both => "drift and pending",
            verdict => verdict.as_str(),
        };
        let details = details(&row);
        let message = details.first().cloned().unwrap_or_else(|| kind.to_owned());
        suite.failures += 1;
        let lines: Vec<String> = details.iter().map(|line| xml(line)).collect();
        let (message, lines) = (xml(&message), lines.join("\n"));
        let outcome = format!("<failure type=\"{kind}\" message=\"{message}\">{lines}</failure>");
        suite.case(&class(row.key.namespace.as_str()), &case(row.key), &outcome);
    }
    for note in &check.plan.notes {
        let (namespace, name, reason) = match note {
            Note::DeletesUnknown { key, reason } => (&key.namespace, format!("{} deleted outside", case(key)), reason),
            Note::OutsideUnread { scope, reason } => {
                (&scope.namespace, "objects outside of namespaces".to_owned(), reason)
            }
            _ => continue,
        };
        let suite = suites.entry(namespace.as_str()).or_default();
        suite.skipped += 1;
        suite.case(&class(namespace.as_str()), &name, &format!("<skipped message=\"not decided: {}\"/>", xml(reason)));
    }
    for entry in check.acknowledged.iter().filter(|entry| entry.status == AcknowledgementStatus::Silences) {
        let one = &entry.acknowledgement;
        let suite = suites.entry(one.object.namespace.as_str()).or_default();
        let field = one.field.as_ref().map(|field| format!(" {field}")).unwrap_or_default();
        let outcome = format!("<skipped message=\"accepted until {}: {}\"/>", one.expires, xml(&one.reason));
        suite.skipped += 1;
        suite.case(&class(one.object.namespace.as_str()), &format!("{}{field}", case(&one.object)), &outcome);
    }
    let named = |(name, suite)| Suite { name: format!("{prefix}{name}"), checked: Some(check.now), ..suite };
    suites.into_iter().map(named).collect()
}

fn render_suites(suites: &[Suite]) -> String {
    // The strictest schema in use, that of Jenkins, does not allow `skipped` for all of them.
    let numbers: [fn(&Suite) -> usize; 3] = [|suite| suite.tests, |suite| suite.failures, |suite| suite.errors];
    let [tests, failures, errors] = numbers.map(|number| suites.iter().map(number).sum::<usize>());
    let all = format!("tests=\"{tests}\" failures=\"{failures}\" errors=\"{errors}\"");
    let mut text = format!("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"trueup drift\" {all}>\n");
    for Suite { name, checked, cases, tests, failures, errors, skipped } in suites {
        let time = checked.map(|time| format!(" timestamp=\"{}\"", time.strftime("%Y-%m-%dT%H:%M:%S")));
        let (name, time) = (xml(name), time.unwrap_or_default());
        let all = format!("tests=\"{tests}\" failures=\"{failures}\" errors=\"{errors}\" skipped=\"{skipped}\"");
        let _ = writeln!(text, "  <testsuite name=\"{name}\" {all}{time}>\n{cases}  </testsuite>");
    }
    text.push_str("</testsuites>\n");
    text
}

impl Suite {
    fn case(&mut self, namespace: &str, name: &str, outcome: &str) {
        self.tests += 1;
        let (namespace, name) = (xml(namespace), xml(name));
        // Writing to a string cannot fail.
        let _ = if outcome.is_empty() {
            writeln!(self.cases, "    <testcase classname=\"{namespace}\" name=\"{name}\"/>")
        } else {
            writeln!(self.cases, "    <testcase classname=\"{namespace}\" name=\"{name}\">{outcome}</testcase>")
        };
    }
}

/// The name of an object's case: its namespace is the class.
fn case(key: &Key) -> String {
    match key.kind.is_endpoint() {
        true => key.name.to_string(),
        false => format!("{}:{}", key.kind, key.name),
    }
}

/// What differs, a line for each value.
fn details(row: &Row<'_>) -> Vec<String> {
    let whole = (row.values.is_empty() || row.blocked.is_some()).then(|| {
        let [defined, live] = row.whole();
        if row.why.is_empty() { format!("defined: {defined}, live: {live}") } else { row.because().unescaped() }
    });
    let lines = row.values.iter().map(|value| {
        let edit = &value.edit;
        let why = edit.cause.map(|cause| format!(" ({})", of_cause(cause))).unwrap_or_default();
        let place = edit.place.as_ref().map(|place| format!(" at {place}")).unwrap_or_default();
        format!("{}: defined {}, live {}{why}{place}", edit.name, edit.wanted(), edit.live())
    });
    whole.into_iter().chain(lines).collect()
}

/// Text between tags or in an attribute, without the two characters that XML does not allow.
fn xml(text: &str) -> String {
    safe::html(text).replace("&#39;", "&apos;").replace(['\u{fffe}', '\u{ffff}'], "\u{fffd}")
}

#[cfg(test)]
mod tests {
    use super::super::sample_tests;
    use super::*;
    use crate::drift::{Acknowledgements, UnmanagedPolicy};
    use crate::report::fleet::{FleetCommand, InputProblem};

    fn now() -> jiff::Timestamp {
        "2026-11-21T10:00:00Z".parse().expect("a time")
    }

    /// Whether tags are closed in order and attributes are quoted: enough of XML to see a text break out.
    fn is_well_formed(text: &str) -> bool {
        let mut open: Vec<String> = Vec::new();
        let mut rest = text;
        while let Some(at) = rest.find('<') {
            let Some(end) = rest[at..].find('>') else { return false };
            let tag = &rest[at + 1..at + end];
            rest = &rest[at + end + 1..];
            if tag.matches('"').count() % 2 == 1 {
                return false;
            }
            let name: String = tag.trim_start_matches('/').chars().take_while(char::is_ascii_alphabetic).collect();
            if let Some(closed) = tag.strip_prefix('/') {
                if open.pop().as_deref() != Some(closed) {
                    return false;
                }
            } else if !tag.ends_with(['/', '?']) {
                open.push(name);
            }
        }
        open.is_empty()
    }

    #[test]
    fn hostile_texts_stay_inside_of_their_attributes() {
        for hostile in [false, true] {
            let plan = sample_tests::plan(40, hostile);
            let text = report(&Check::new(plan.clone(), plan.verdicts(UnmanagedPolicy::Fail), now()));
            assert!(is_well_formed(&text), "{text}");
            assert!(!text.contains("<script"), "{text}");
        }
    }

    #[test]
    fn an_incomplete_merged_report_has_an_error_for_each_problem() {
        let mut fleet = Fleet::new(FleetCommand::Drift, Vec::new());
        let problem = |place: &str| InputProblem { place: place.to_owned(), message: "it is <cut off>".to_owned() };
        fleet.problems = vec![problem("shard-1.json"), problem("shard-2.json")];
        let text = super::fleet(&fleet);
        assert!(text.contains("tests=\"2\" failures=\"0\" errors=\"2\">"), "{text}");
        assert!(text.contains("<testsuite name=\"shard-2.json\""), "{text}");
        assert!(text.contains("<error type=\"incomplete\" message=\"it is &lt;cut off&gt;\"/>"), "{text}");
    }

    #[test]
    fn counts_show_failures_errors_and_what_is_accepted() {
        let plan = sample_tests::plan(20, true);
        let verdicts = plan.verdicts(UnmanagedPolicy::Note);
        let expires = "2027-01-01".parse().expect("a date");
        let accepted = Acknowledgements::offered(&plan, &verdicts, &[], ("known <b>", expires));
        let before = report(&Check::new(plan.clone(), verdicts.clone(), now()));
        let after = report(&Check::new(plan.clone(), verdicts.clone(), now()).accepting(&accepted));
        assert!(before.contains(" errors=\"1\">"), "{before}");
        assert_eq!(after.matches("<skipped ").count(), accepted.acknowledged.len());
        assert!(after.matches("<failure ").count() <= before.matches("<failure ").count());
        assert!(after.contains("accepted until 2027-01-01: known &lt;b&gt;"), "{after}");
    }
}
