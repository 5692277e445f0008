//! Every JSON document that a test sees is checked against the schema of its kind: what a command prints, the files that
//! it writes, and the lines of its log. The documents are counted by kind, into a file below `target/tmp`.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use jsonschema::Validator;
use serde_json::Value;
use trueup::report::schema::{self, SchemaKind};

static VALIDATORS: Mutex<BTreeMap<String, Arc<Validator>>> = Mutex::new(BTreeMap::new());
static COUNTS: Mutex<BTreeMap<String, u64>> = Mutex::new(BTreeMap::new());

/// Options whose value is a file that a command may write.
const FILES: [&str; 4] = ["-o", "--output", "--drift-state", "--write"];

/// What a command line prints on standard output.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Printed {
    /// One document.
    Document,
    /// A document a line.
    Lines,
    Other,
}

/// Checks what a command printed and wrote. `directory` is where it ran.
#[track_caller]
pub fn check(words: &[&str], code: i32, (stdout, stderr): (&str, &str), directory: &Path) {
    let line = words.join(" ");
    // A call that clap refuses has no format yet; a kill leaves nothing behind.
    let is_parsed = code != -1 && !(code == 64 && stdout.is_empty());
    match printed(words) {
        Printed::Document if is_parsed => {
            let document = serde_json::from_str(stdout);
            let document = document.unwrap_or_else(|error| panic!("trueup {line}: {error}:\n{stdout}\n{stderr}"));
            check_document(&line, &document, Some(code));
        }
        Printed::Lines if is_parsed => {
            let documents: Vec<Value> = stdout
                .lines()
                .map(|one| serde_json::from_str(one).unwrap_or_else(|error| panic!("trueup {line}: {error}: {one}")))
                .collect();
            let last = documents.len().saturating_sub(1);
            for (at, document) in documents.iter().enumerate() {
                check_document(&line, document, (at == last).then_some(code));
            }
        }
        Printed::Document | Printed::Lines | Printed::Other => {}
    }
    for one in stderr.lines().filter(|one| one.starts_with("{\"kind\":")) {
        check_document(&line, &serde_json::from_str(one).expect("a line of a log"), None);
    }
    for (flag, path) in words.iter().zip(words.iter().skip(1)) {
        let path = directory.join(path);
        if FILES.contains(flag) && path.is_file() {
            let text = std::fs::read_to_string(&path).unwrap_or_default();
            let document = serde_json::from_str::<Value>(&text).ok();
            // Others are a test's own.
            if let Some(document) = document.filter(|document| document["kind"].is_string()) {
                check_document(&line, &document, None);
            }
        }
    }
}

fn printed(words: &[&str]) -> Printed {
    let format = words.iter().zip(words.iter().skip(1)).find(|(flag, _)| **flag == "--format").map(|(_, name)| *name);
    let is_json = format == Some("json") || words.contains(&"--json");
    match (words.first(), format) {
        // Its body is the service's.
        (Some(&"call"), _) if !words.contains(&"--list") => Printed::Other,
        // The file has the document.
        (Some(&"drift" | &"fleet"), _) if words.iter().any(|word| matches!(*word, "-o" | "--output")) => Printed::Other,
        // Its lines are the service's events.
        (Some(&"events"), Some("ndjson")) => Printed::Other,
        (_, Some("ndjson")) => Printed::Lines,
        _ if is_json => Printed::Document,
        _ => Printed::Other,
    }
}

/// Checks a document against the schema of its kind. The exit code of an error is that of the command.
#[track_caller]
fn check_document(line: &str, document: &Value, code: Option<i32>) {
    let kind =
        document["kind"].as_str().unwrap_or_else(|| panic!("trueup {line}: a document without a kind: {document}"));
    let of = SchemaKind::named(kind).unwrap_or_else(|| panic!("trueup {line}: no schema describes `{kind}`"));
    let validator = Arc::clone(
        VALIDATORS
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .entry(kind.to_owned())
            .or_insert_with(|| Arc::new(jsonschema::validator_for(&schema::of(of)).expect("a schema"))),
    );
    let faults: Vec<String> =
        validator.iter_errors(document).map(|error| format!("{}: {error}", error.instance_path())).collect();
    assert!(faults.is_empty(), "trueup {line} does not fit its schema:\n{}\n{document:#}", faults.join("\n"));
    if kind == "error"
        && let Some(code) = code
    {
        assert_eq!(document["exit_code"], code, "trueup {line}: {document:#}");
    }
    count(kind);
}

fn count(kind: &str) {
    let mut counts = COUNTS.lock().unwrap_or_else(PoisonError::into_inner);
    *counts.entry(kind.to_owned()).or_default() += 1;
    let whole: u64 = counts.values().sum();
    let text = serde_json::to_string_pretty(&serde_json::json!({ "whole": whole, "by_kind": *counts }));
    // Only a figure for people.
    let _ = std::fs::write(Path::new(env!("CARGO_TARGET_TMPDIR")).join("documents.json"), text.unwrap_or_default());
}
