//! Every JSON document of a command that a test reads is checked against its schema, where
//! `trueup schema` describes it.

use std::sync::LazyLock;

use jsonschema::Validator;
use serde_json::Value;
use trueup::report::schema::{self, SchemaKind};

static PLAN: LazyLock<Validator> = LazyLock::new(|| validator(SchemaKind::Plan));
static FLEET: LazyLock<Validator> = LazyLock::new(|| validator(SchemaKind::Fleet));
static DRIFT: LazyLock<Validator> = LazyLock::new(|| validator(SchemaKind::Drift));

/// The commands whose `--format json` no schema describes yet.
const WITHOUT_SCHEMA: [&str; 13] = [
    "apply", "call", "context", "ddos", "doctor", "events", "get", "history", "rehearse", "rollback", "show",
    "upgrades", "validate",
];

fn validator(of: SchemaKind) -> Validator {
    jsonschema::validator_for(&schema::of(of)).expect("a schema")
}

/// Checks what the command `line` printed; a command that is not known here has to be added.
#[track_caller]
pub fn check(line: &str, document: &Value) {
    if !line.contains("--format json") && !line.contains("--json") {
        return;
    }
    let command = line.split(' ').next().unwrap_or_default();
    let validator = match command {
        _ if document["kind"] == "fleet_report" => &*FLEET,
        "plan" => &*PLAN,
        "drift" => &*DRIFT,
        known => return assert!(WITHOUT_SCHEMA.contains(&known), "does the JSON of `{known}` have a schema?"),
    };
    let faults: Vec<String> =
        validator.iter_errors(document).map(|error| format!("{}: {error}", error.instance_path())).collect();
    assert!(faults.is_empty(), "trueup {line} does not fit its schema:\n{}\n{document:#}", faults.join("\n"));
}
