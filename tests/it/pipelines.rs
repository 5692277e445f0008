//! The pipelines of the examples: each file is YAML, and each command in it is one that trueup takes.

use std::path::Path;

use serde_yaml::Value;

use crate::support::Stage;

/// Every text of a document, and every list of texts as one line.
fn texts(value: &Value, found: &mut Vec<String>) {
    match value {
        Value::String(text) => found.extend(text.lines().map(|line| line.trim().to_owned())),
        Value::Sequence(items) => {
            let words: Vec<&str> = items.iter().filter_map(Value::as_str).collect();
            if words.len() == items.len() && words.first() == Some(&"drift") {
                found.push(format!("trueup {}", words.join(" ")));
            }
            items.iter().for_each(|item| texts(item, found));
        }
        Value::Mapping(map) => map.values().for_each(|value| texts(value, found)),
        _ => {}
    }
}

#[test]
fn every_command_of_a_pipeline_is_one_that_the_program_takes() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/pipelines");
    let stage = Stage::new();
    let mut commands = 0;
    for entry in walkdir::WalkDir::new(&root) {
        let entry = entry.expect("an entry");
        let name = entry.file_name().to_string_lossy().into_owned();
        if !name.ends_with(".yaml") && !name.ends_with(".yml") {
            continue;
        }
        let text = std::fs::read_to_string(entry.path()).expect("a text");
        let document: Value = serde_yaml::from_str(&text).unwrap_or_else(|error| panic!("{name}: {error}"));
        let mut found = Vec::new();
        texts(&document, &mut found);
        let lines: Vec<&String> = found.iter().filter(|line| line.starts_with("trueup ")).collect();
        assert!(!lines.is_empty(), "{name} runs nothing");
        for line in lines {
            let line = line.replace("$((JOB_COMPLETION_INDEX + 1))", "1").replace('"', "");
            let line = line.trim_start_matches("trueup ");
            let line = line.split(['>', '|']).next().unwrap_or_default().trim();
            stage.run(&format!("{line} --help")).code(0);
            commands += 1;
        }
        if text.contains("TRUEUP_TOKEN:") || text.contains("name: TRUEUP_TOKEN") {
            assert!(text.contains("TRUEUP_BASE_URL"), "{name}: the URL is pinned beside the token");
        }
        if entry.path().parent().is_some_and(|parent| parent.ends_with("github")) {
            let permissions = document.get("permissions").and_then(Value::as_mapping).expect("permissions");
            assert_eq!(permissions.get("contents").and_then(Value::as_str), Some("read"), "{name}");
        }
    }
    assert!(commands >= 10, "{commands} commands");
}
