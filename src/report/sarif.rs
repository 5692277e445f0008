//! Annotations as SARIF 2.1.0, for code scanning. Each kind of annotation has one rule; paths are
//! relative to the repository's top, and lines and columns are SARIF's own, counted from 1.

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::json;

use super::annotation::{Annotation, AnnotationLevel, Finding};
use crate::report::prelude::*;

/// The maximum number of results of a run: GitHub shows the first 5,000 and refuses a file with more than 25,000.
const MOST_RESULTS: usize = 5_000;
/// The maximum number of bytes of all results together: GitHub refuses a file of more than 10 MB after compression.
const MOST_BYTES: usize = 9_000_000;

/// The remarks that fit into one run, and what is left out.
struct Shown<'a> {
    results: Vec<(&'a Annotation, Json)>,
    left_out: BTreeMap<&'static str, usize>,
}

/// The name of the file with the settings of a stack.
const SETTINGS: &str = "trueup.yaml";

/// The settings of the stack in a directory, which is named as a call names it.
pub(super) fn settings_in(directory: &str) -> String {
    match directory.trim_start_matches("./").trim_end_matches('/') {
        "" | "." => SETTINGS.to_owned(),
        directory if directory.starts_with('/') => SETTINGS.to_owned(),
        directory => format!("{directory}/{SETTINGS}"),
    }
}

/// The remarks as one run, those first that matter most: what is refused and unknown, then deletes. A
/// remark without a place is one on `fallback`, because a forge refuses results without one.
pub fn report(annotations: &[Annotation], fallback: &str) -> String {
    let shown = Shown::of(annotations, fallback);
    let rules: BTreeSet<Finding> = shown.results.iter().map(|(annotation, _)| annotation.finding).collect();
    let rule = |finding: Finding| json!({"id": finding.id(), "shortDescription": {"text": finding.meaning()}});
    let rules: Vec<Json> = rules.into_iter().map(rule).collect();
    let mut run = json!({
        "tool": {"driver": {"name": "trueup", "version": env!("CARGO_PKG_VERSION"), "rules": rules}},
        "columnKind": "unicodeCodePoints",
    });
    if let Some(text) = shown.message() {
        run["invocations"] = json!([{
            "executionSuccessful": true,
            "toolExecutionNotifications": [
                {"descriptor": {"id": "results-left-out"}, "level": "warning", "message": {"text": text}},
            ],
        }]);
    }
    run["results"] = shown.results.into_iter().map(|(_, result)| result).collect();
    let log = json!({
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [run],
    });
    format!("{log:#}\n")
}

/// What a report of these remarks leaves out, in words; `None` if it leaves out nothing.
pub fn left_out(annotations: &[Annotation]) -> Option<String> {
    Shown::of(annotations, "").message()
}

impl<'a> Shown<'a> {
    fn of(annotations: &'a [Annotation], fallback: &str) -> Self {
        let mut ordered: Vec<&Annotation> = annotations.iter().collect();
        ordered.sort_by_key(|annotation| (priority(annotation), annotation.level));
        let mut fingerprints: BTreeMap<String, usize> = BTreeMap::new();
        let mut shown = Self { results: Vec::new(), left_out: BTreeMap::new() };
        let mut bytes = 0;
        for annotation in ordered {
            let result = (shown.results.len() < MOST_RESULTS).then(|| {
                let fingerprint = fingerprint(annotation);
                let same = fingerprints.entry(fingerprint.clone()).or_default();
                *same += 1;
                result(annotation, fallback, &format!("{fingerprint}:{same}"))
            });
            // The indentation of a result is about as long as its texts.
            match result.filter(|result| bytes + 2 * result.to_string().len() <= MOST_BYTES) {
                Some(result) => {
                    bytes += 2 * result.to_string().len();
                    shown.results.push((annotation, result));
                }
                None => *shown.left_out.entry(annotation.finding.id()).or_default() += 1,
            }
        }
        shown
    }

    fn message(&self) -> Option<String> {
        let count: usize = self.left_out.values().sum();
        let whole = count + self.results.len();
        let kinds: Vec<String> = self.left_out.iter().map(|(kind, count)| format!("{count} {kind}")).collect();
        (count > 0).then(|| format!("{count} of {whole} results are left out: {}", kinds.join(", ")))
    }
}

/// What is shown first.
fn priority(annotation: &Annotation) -> u8 {
    match annotation.finding {
        Finding::MassChange | Finding::EmptyNamespace | Finding::BehindBaseGuard => 0,
        Finding::Delete => 1,
        _ if annotation.level == AnnotationLevel::Error => 0,
        _ => 2,
    }
}

/// Identifies a result for a forge after lines and values have changed.
fn fingerprint(annotation: &Annotation) -> String {
    document::sha256(format!("{}\n{}\n{}", annotation.finding.id(), annotation.title, annotation.part), 16)
}

fn result(annotation: &Annotation, fallback: &str, fingerprint: &str) -> Json {
    let level = if annotation.level == AnnotationLevel::Notice { "note" } else { annotation.level.as_str() };
    let text = match annotation.title.as_str() {
        "" => safe::line(&annotation.message).into_owned(),
        title => format!("{}: {}", safe::line(title), safe::line(&annotation.message)),
    };
    let (file, line, column) = match &annotation.place {
        Some(place) => (place.file.as_str(), place.line.max(1), place.column.max(1)),
        None => (fallback, 1, 1),
    };
    json!({
        "ruleId": annotation.finding.id(),
        "level": level,
        // Our texts have no links, so a viewer must not make one.
        "message": {"text": text.replace("](", "]\\u{28}")},
        "locations": [{"physicalLocation": {
            "artifactLocation": {"uri": utf8_percent_encode(file, PATH).to_string()},
            "region": {"startLine": line, "startColumn": column},
        }}],
        // GitHub reads the second one only.
        "partialFingerprints": {"trueup/v1": fingerprint, "primaryLocationLineHash": fingerprint},
    })
}

/// What a path keeps as it is: the unreserved characters of RFC 3986, and the slash.
const PATH: &AsciiSet = &NON_ALPHANUMERIC.remove(b'/').remove(b'.').remove(b'_').remove(b'-').remove(b'~');

#[cfg(test)]
mod tests {
    use super::super::{annotation, sample_tests};
    use super::*;
    use crate::model::SourceLocation;

    #[test]
    fn a_remark_is_a_result_with_its_region() {
        let annotation = Annotation {
            finding: Finding::Definition,
            level: AnnotationLevel::Error,
            place: Some(SourceLocation { file: "endpoints/shop/a b.yaml".to_owned(), line: 7, column: 23 }),
            title: String::new(),
            part: String::new(),
            message: "`refresh_interval` is 5\u{1b}".to_owned(),
        };
        let log: Json = serde_json::from_str(&report(&[annotation], "trueup.yaml")).expect("JSON");
        let result = &log["runs"][0]["results"][0];
        assert_eq!(log["version"], "2.1.0");
        assert_eq!(result["message"]["text"], "`refresh_interval` is 5\\u{1b}");
        let place = &result["locations"][0]["physicalLocation"];
        assert_eq!(place["artifactLocation"]["uri"], "endpoints/shop/a%20b.yaml");
        assert_eq!(place["region"], json!({"startLine": 7, "startColumn": 23}));
        assert_eq!(log["runs"][0]["tool"]["driver"]["rules"][0]["id"], result["ruleId"]);
    }

    #[test]
    fn each_kind_of_finding_has_a_rule_of_its_own() {
        let ids: BTreeSet<&str> = Finding::ALL.iter().map(|finding| finding.id()).collect();
        assert_eq!(ids.len(), Finding::ALL.len());
        let plan = sample_tests::attributed(sample_tests::plan(60, false));
        let log: Json = serde_json::from_str(&report(&annotation::of_plan(&plan), "trueup.yaml")).expect("JSON");
        let run = &log["runs"][0];
        let rules = run["tool"]["driver"]["rules"].as_array().expect("rules");
        let named: BTreeSet<&str> = rules.iter().filter_map(|rule| rule["id"].as_str()).collect();
        let used: BTreeSet<&str> =
            run["results"].as_array().expect("results").iter().filter_map(|result| result["ruleId"].as_str()).collect();
        assert_eq!(named, used);
        for id in [
            "create",
            "delete",
            "value-drift",
            "value-pending",
            "value-behind-base",
            "guard-mass-change",
            "blocked-protected",
        ] {
            assert!(used.contains(id), "{id}: {used:?}");
        }
        assert!(
            rules.iter().all(|rule| rule["shortDescription"]["text"].as_str().is_some_and(|text| text.ends_with('.')))
        );
    }

    #[test]
    fn a_report_of_30000_changes_fits_a_forge_with_every_delete_and_says_what_it_leaves_out() {
        let plan = sample_tests::plan(30_000, false);
        let remarks = annotation::of_plan(&plan);
        assert!(remarks.len() >= 30_000, "{}", remarks.len());
        let text = report(&remarks, "trueup.yaml");
        assert!(text.len() < 10_000_000, "{}", text.len());
        let log: Json = serde_json::from_str(&text).expect("JSON");
        let run = &log["runs"][0];
        let results = run["results"].as_array().expect("results");
        assert!((1_000..=MOST_RESULTS).contains(&results.len()), "{}", results.len());
        let count = |kind: Finding| remarks.iter().filter(|remark| remark.finding == kind).count();
        let shown = |kind: Finding| results.iter().filter(|result| result["ruleId"] == kind.id()).count();
        assert_eq!(shown(Finding::MassChange), count(Finding::MassChange));
        assert!(shown(Finding::Delete) == count(Finding::Delete).min(MOST_RESULTS - shown(Finding::MassChange)));
        assert_eq!(results[0]["ruleId"], Finding::MassChange.id());
        let left_out = remarks.len() - results.len();
        let message =
            run["invocations"][0]["toolExecutionNotifications"][0]["message"]["text"].as_str().expect("words");
        assert!(message.starts_with(&format!("{left_out} of {} results are left out: ", remarks.len())), "{message}");
        assert_eq!(super::left_out(&remarks).as_deref(), Some(message));
        let prints: BTreeSet<&str> =
            results.iter().filter_map(|result| result["partialFingerprints"]["trueup/v1"].as_str()).collect();
        assert_eq!(prints.len(), results.len(), "each result has its own");
        assert!(results.iter().all(|result| result["locations"][0]["physicalLocation"].is_object()));
    }

    #[test]
    fn a_fingerprint_survives_other_lines_and_other_values() {
        let remark = |line: usize, message: &str, part: &str| Annotation {
            finding: Finding::Pending,
            level: AnnotationLevel::Notice,
            place: Some(SourceLocation { file: "a.yaml".to_owned(), line, column: 1 }),
            title: "replace shop/cart".to_owned(),
            part: part.to_owned(),
            message: message.to_owned(),
        };
        let print = |remark: Annotation| fingerprint(&remark);
        let one = print(remark(7, "spec.port: 80 -> 81 (pending)", "spec.port"));
        assert_eq!(one, print(remark(9, "spec.port: 80 -> 82 (pending)", "spec.port")));
        assert_ne!(one, print(remark(7, "spec.ip: a -> b (pending)", "spec.ip")));
    }

    #[test]
    fn a_clean_run_has_no_results() {
        let log: Json = serde_json::from_str(&report(&[], "trueup.yaml")).expect("JSON");
        assert_eq!(log["runs"][0]["results"], json!([]));
    }
}
