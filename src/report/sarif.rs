//! Annotations as SARIF 2.1.0, for code scanning. Each kind of annotation has one rule; paths are
//! relative to the repository's top, and lines and columns are SARIF's own, counted from 1.

use std::collections::BTreeSet;

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::json;

use super::annotation::{Annotation, AnnotationLevel, Finding};
use super::safe;
use crate::model::Json;

/// The remarks as one run. `prefix` leads from the repository's top to the directory that the places
/// are relative to, with a final `/` where it is not empty.
#[must_use]
pub fn report(annotations: &[Annotation], prefix: &str, tool_version: &str) -> String {
    let results: Vec<Json> = annotations.iter().map(|annotation| result(annotation, prefix)).collect();
    let rules: BTreeSet<Finding> = annotations.iter().map(|annotation| annotation.finding).collect();
    let rules: Vec<Json> = rules
        .into_iter()
        .map(|finding| json!({"id": finding.id(), "shortDescription": {"text": finding.meaning()}}))
        .collect();
    let log = json!({
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{
            "tool": {"driver": {"name": "trueup", "version": tool_version, "rules": rules}},
            "columnKind": "unicodeCodePoints",
            "results": results,
        }],
    });
    // Text keys, strings, numbers: nothing that fails.
    let mut text = serde_json::to_string_pretty(&log).unwrap_or_default();
    text.push('\n');
    text
}

fn result(annotation: &Annotation, prefix: &str) -> Json {
    let level = match annotation.level {
        AnnotationLevel::Error => "error",
        AnnotationLevel::Warning => "warning",
        AnnotationLevel::Notice => "note",
    };
    let text = match annotation.title.as_str() {
        "" => safe::line(&annotation.message).into_owned(),
        title => format!("{}: {}", safe::line(title), safe::line(&annotation.message)),
    };
    let mut result = json!({"ruleId": annotation.finding.id(), "level": level, "message": {"text": text}});
    if let Some(place) = &annotation.place {
        result["locations"] = json!([{"physicalLocation": {
            "artifactLocation": {"uri": utf8_percent_encode(&format!("{prefix}{}", place.file), PATH).to_string()},
            "region": {"startLine": place.line.max(1), "startColumn": place.column.max(1)},
        }}]);
    }
    result
}

/// What a path keeps as it is: the unreserved characters of RFC 3986, and the slash.
const PATH: &AsciiSet = &NON_ALPHANUMERIC.remove(b'/').remove(b'.').remove(b'_').remove(b'-').remove(b'~');

#[cfg(test)]
mod tests {
    use super::super::{AttributionDetail, annotation, sample};
    use super::*;
    use crate::model::SourceLocation;

    #[test]
    fn a_remark_is_a_result_with_its_region() {
        let annotation = Annotation {
            finding: Finding::Definition,
            level: AnnotationLevel::Error,
            place: Some(SourceLocation { file: "shop/a b.yaml".to_owned(), line: 7, column: 23 }),
            title: String::new(),
            message: "`refresh_interval` is 5\u{1b}".to_owned(),
        };
        let log: Json = serde_json::from_str(&report(&[annotation], "endpoints/", "1.0")).expect("JSON");
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
        let plan = sample::attributed(sample::plan(60, false));
        let log: Json = serde_json::from_str(&report(&annotation::of_plan(&plan, AttributionDetail::All), "", "1.0"))
            .expect("JSON");
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
    fn a_clean_run_has_no_results() {
        let log: Json = serde_json::from_str(&report(&[], "", "1.0")).expect("JSON");
        assert_eq!(log["runs"][0]["results"], json!([]));
    }
}
