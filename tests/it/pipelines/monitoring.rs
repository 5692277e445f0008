//! The alerts and the dashboard: each metric and label in them is one that the program writes.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use regex::Regex;
use serde_json::Value as Json;
use serde_yaml::Value;

use crate::support::{Service, Stage, definition};

fn example(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/pipelines/prometheus").join(name);
    std::fs::read_to_string(path).expect("the file")
}

/// Every metric with its labels, of checks with all that a check can find.
fn written() -> BTreeMap<String, BTreeSet<String>> {
    let service = Service::start();
    let stage = Stage::new()
        .at(&service)
        .file("a/trueup.yaml", "stack: a\nnamespaces: [shop]\n")
        .file("a/cart.yaml", &definition("shop/cart", 80))
        .file("b/trueup.yaml", "stack: b\nnamespaces: [pay]\n")
        .file("b/broken.yaml", "metadata: {name: x}\n");
    stage.run("apply a --yes --quiet").code(0);
    service.change("shop/cart", |object| object["spec"]["port"] = serde_json::json!(9));
    let drift = stage.run("drift a b --drift-state state --format prometheus");
    drift.stderr_ignored().code(1);
    let sample = Regex::new(r"^(trueup_\w+)(?:\{(.*)\})? ").expect("a pattern");
    let label = Regex::new(r#"(\w+)=""#).expect("a pattern");
    let mut metrics: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    stage.run("drift a b --format json --output checks/1.json").stderr_ignored().code(1);
    let report = stage.run("fleet report checks --format prometheus");
    for line in drift.text().lines().chain(report.code(1).text().lines()) {
        let Some(found) = sample.captures(line) else { continue };
        let labels = label.captures_iter(found.get(2).map_or("", |labels| labels.as_str()));
        let labels = labels.map(|label| label[1].to_owned());
        metrics.entry(found[1].to_owned()).or_default().extend(labels);
    }
    assert!(metrics.len() >= 7, "{metrics:?}");
    metrics
}

#[test]
fn alerts_and_dashboard_use_metrics_that_the_program_writes() {
    let metrics = written();
    let alerts: Value = serde_yaml::from_str(&example("alerts.yaml")).expect("YAML");
    let groups = alerts.get("groups").and_then(Value::as_sequence).expect("groups");
    let rules = groups.iter().flat_map(|group| group.get("rules").and_then(Value::as_sequence).expect("rules"));
    let mut expressions: Vec<String> =
        rules.map(|rule| rule.get("expr").and_then(Value::as_str).expect("an expression").to_owned()).collect();
    assert!(expressions.len() >= 8);
    let dashboard: Json = serde_json::from_str(&example("dashboard.json")).expect("JSON");
    let panels = dashboard["panels"].as_array().expect("panels");
    let ids: BTreeSet<u64> = panels.iter().filter_map(|panel| panel["id"].as_u64()).collect();
    assert_eq!(ids.len(), panels.len(), "each panel has an id of its own");
    for panel in panels {
        assert!(["title", "description"].iter().all(|key| panel[key].as_str().is_some_and(|text| !text.is_empty())));
        let place = |key: &str| panel["gridPos"][key].as_u64().expect("a place");
        assert!(place("w") > 0 && place("x") + place("w") <= 24, "{}", panel["title"]);
        let targets = panel["targets"].as_array().expect("targets");
        expressions.extend(targets.iter().map(|target| target["expr"].as_str().expect("an expression").to_owned()));
    }
    for variable in dashboard["templating"]["list"].as_array().expect("variables") {
        expressions.extend(variable["definition"].as_str().map(str::to_owned));
    }
    let metric = Regex::new(r"(trueup_\w+)(?:\{([^}]*)\})?").expect("a pattern");
    let label = Regex::new(r"(\w+)\s*(?:=~|!=|=)").expect("a pattern");
    let mut used = BTreeSet::new();
    for expression in &expressions {
        for found in metric.captures_iter(expression) {
            let name = &found[1];
            let labels = metrics.get(name).unwrap_or_else(|| panic!("nothing writes `{name}`, as in {expression}"));
            for found in label.captures_iter(found.get(2).map_or("", |labels| labels.as_str())) {
                assert!(labels.contains(&found[1]), "`{name}` has no label `{}`: {expression}", &found[1]);
            }
            used.insert(name.to_owned());
        }
    }
    assert!(used.len() >= 6, "{used:?}");
}
