//! JSON Schemas of what trueup reads and writes. Their structure comes from the types that are read and written, so that they
//! cannot fall behind; that of a definition comes from the description of its kind. The schema of a definition accepts what
//! `load` accepts: both spellings of a key, `${name}` in values, and the root keys that only the service writes.

mod kind;

use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde_json::{Map, json};

use super::{
    ddos, document, error, event_counts, event_list, explanation, health, json, json_lines, kinds, objects, operations,
    stacks, upgrade, validation,
};
use crate::drift::DriftState;
use crate::kind::{Kind, KindName, Naming, camel};
use crate::load::config;
use crate::model::{Json, SERVICE_KEYS, Snapshot};
use crate::run::{RUN_KIND, RunDocument};

macro_rules! kinds {
    ($($(#[doc = $doc:literal])+ $variant:ident = $($name:literal)|+ => $make:expr,)+) => {
        /// What a schema describes. The names for a report are the values of the document's `kind`.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum SchemaKind { $($(#[doc = $doc])+ $variant),+ }

        impl SchemaKind {
            /// Every kind.
            pub const ALL: &'static [SchemaKind] = &[$(SchemaKind::$variant),+];

            /// Its names on the command line.
            pub fn names(self) -> &'static [&'static str] {
                match self { $(SchemaKind::$variant => &[$($name),+]),+ }
            }

            /// The kind with this name.
            pub fn named(name: &str) -> Option<Self> {
                Self::ALL.iter().copied().find(|kind| kind.names().contains(&name))
            }

            /// What it describes.
            pub fn title(self) -> &'static str {
                match self { $(SchemaKind::$variant => concat!($($doc),+).trim_ascii()),+ }
            }

            fn make(self) -> Json {
                match self { $(SchemaKind::$variant => $make),+ }
            }
        }
    };
}

kinds! {
    /// A document of a definition file
    Definition = "definition" => kind::object(KindName::ENDPOINT.kind(), DefinitionKind::Whole),
    /// A document of an overlay
    Overlay = "overlay" => overlay(),
    /// trueup.yaml
    // Read key by key and not into a type, so its schema is written by hand and tested by its reader.
    Config = "config" => config::SETTINGS.clone(),
    /// A policy
    Policy = "policy" => config::POLICY.clone(),
    /// A saved plan, and the JSON of plan
    Plan = "plan" | "plan_report" => plan(),
    /// The JSON of drift and report, of one stack or of several
    Drift = "drift" | "fleet" => drift(),
    /// The JSON of validate, plan and apply of several stacks
    Fleet = "fleet_report" => report::<json::FleetReport<'_>>("fleet_report"),
    /// The JSON of stacks
    Stacks = "stacks" => report::<stacks::StackList>("stacks"),
    /// A snapshot
    Snapshot = "snapshot" => snapshot(),
    /// A file of --drift-state
    DriftState = "drift_state" => report::<DriftState>("drift_state"),
    /// The JSON of validate
    Validation = "validation" => report::<validation::ValidationReport<'_>>("validation"),
    /// The JSON of apply and rollback
    Outcome = "outcome" => report::<json::OutcomeReport<'_>>("outcome"),
    /// The JSON of rehearse
    Rehearsal = "rehearsal" => report::<json::RehearsalReport<'_>>("rehearsal"),
    /// The JSON of history
    History = "history" => report::<json::HistoryReport<'_>>("history"),
    /// The JSON of show RUN, and a file of --write json=FILE
    Run = "run" => run(),
    /// The JSON of an error or a refusal, of any command
    Error = "error" => report::<error::ErrorReport<'_>>(error::KIND),
    /// A line of apply --format ndjson, before the last
    RunEvent = "run_event" => report::<json_lines::RunEventLine<'_>>(json_lines::RUN_EVENT),
    /// A line of --log json
    Request = "request" => report::<json_lines::RequestLine<'_>>(json_lines::REQUEST),
    /// The JSON of explain
    Explanation = "explanation" => report::<explanation::Explanation>("explanation"),
    /// The JSON of kinds
    Kinds = "kinds" => report::<kinds::KindList>("kinds"),
    /// The JSON of get, and of show for a snapshot
    Endpoints = "endpoints" => report::<objects::ListingReport<'_>>("endpoints"),
    /// The JSON of doctor
    Health = "health" => report::<health::HealthReport<'_>>("health"),
    /// The JSON of events
    SecurityEvents = "security_events" => report::<event_list::EventListReport<'_>>("security_events"),
    /// The JSON of events --by
    SecurityEventCounts = "security_event_counts" => report::<event_counts::EventCounts>("security_event_counts"),
    /// The JSON of ddos list
    DdosEvents = "ddos_events" => report::<ddos::DdosEvents<'_>>("ddos_events"),
    /// The JSON of ddos show
    DdosEvent = "ddos_event" => report::<ddos::OneDdosEvent<'_>>("ddos_event"),
    /// The JSON of upgrades versions
    UpgradableVersions = "upgradable_sw_versions" => report::<upgrade::UpgradableVersions<'_>>("upgradable_sw_versions"),
    /// The JSON of upgrades status
    UpgradeStatus = "upgrade_status" => report::<upgrade::SiteUpgrade<'_>>("upgrade_status"),
    /// The JSON of call --list
    Operations = "operations" => report::<operations::OperationList>("operations"),
}

/// The language of the schemas.
const DRAFT: &str = "https://json-schema.org/draft/2020-12/schema";

/// The schema, draft 2020-12.
pub fn of(of: SchemaKind) -> Json {
    let mut schema = of.make();
    let title = match of {
        SchemaKind::Plan => "a saved plan of trueup",
        SchemaKind::Drift => "the verdict of trueup drift",
        SchemaKind::Fleet => "the results of several stacks",
        SchemaKind::Snapshot => "a snapshot of the objects of a service",
        SchemaKind::Explanation => "an answer of trueup explain",
        SchemaKind::Definition => "an endpoint, as trueup reads it",
        SchemaKind::Overlay => "an overlay of an environment, as trueup reads it",
        SchemaKind::Policy => "a policy of trueup",
        other => other.title(),
    };
    schema["$schema"] = DRAFT.into();
    schema["title"] = title.into();
    schema
}

/// The schema of a definition or an overlay of an object of a kind, draft 2020-12.
pub fn of_kind(kind: &Kind, part: DefinitionKind) -> Json {
    let mut schema = kind::object(kind, part);
    schema["$schema"] = DRAFT.into();
    schema["title"] = match part {
        DefinitionKind::Whole => format!("an object of the kind {}, as trueup reads it", kind.name),
        DefinitionKind::Overlay => format!("an overlay of an object of the kind {}, as trueup reads it", kind.name),
    }
    .into();
    schema
}

/// The schema of documents of these kinds and of endpoints, by their `kind`, draft 2020-12.
pub fn of_kinds<'k>(kinds: impl IntoIterator<Item = &'k Kind>, part: DefinitionKind) -> Json {
    let kinds: Vec<&Kind> = kinds.into_iter().filter(|kind| kind.name != crate::kind::ENDPOINT).collect();
    if kinds.is_empty() {
        return of(match part {
            DefinitionKind::Whole => SchemaKind::Definition,
            DefinitionKind::Overlay => SchemaKind::Overlay,
        });
    }
    let names: Vec<&str> = kinds.iter().map(|kind| kind.name).collect();
    let is_of = |kind: Json| json!({"required": ["kind"], "properties": {"kind": kind}});
    let mut definitions = Map::new();
    let mut rule = |is_it: Json, kind: &Kind| {
        let [object, shared] = apart(kind::object(kind, part));
        definitions.extend(shared.as_object().cloned().unwrap_or_default());
        json!({"if": is_it, "then": object})
    };
    let mut rules = vec![rule(json!({"not": is_of(json!({"enum": names}))}), KindName::ENDPOINT.kind())];
    for kind in kinds {
        rules.push(rule(is_of(json!({"const": kind.name})), kind));
    }
    json!({
        "$schema": DRAFT,
        "title": "an object, as trueup reads it",
        "description": "An endpoint, or an object of the kind that `kind` names.",
        "type": "object",
        "allOf": rules,
        "$defs": definitions,
    })
}

/// The schema of a report, with its kind and version: what is written, field by field.
fn report<T: JsonSchema>(kind: &str) -> Json {
    document_of::<T>(SchemaSettings::draft2020_12().for_serialize(), &[kind])
}

/// The schema of a document that is also read, in which a field with a default may be absent.
fn document<T: JsonSchema>(kinds: &[&str]) -> Json {
    document_of::<T>(SchemaSettings::draft2020_12(), kinds)
}

fn document_of<T: JsonSchema>(settings: SchemaSettings, kinds: &[&str]) -> Json {
    let mut schema = settings.into_generator().into_root_schema_for::<T>().to_value();
    schema["properties"]["kind"] = match kinds {
        [kind] => json!({"const": kind}),
        kinds => json!({"enum": kinds}),
    };
    schema["properties"]["format_version"] = json!({"const": document::FORMAT_VERSION});
    let required = schema["required"].as_array().into_iter().flatten();
    let required = required.filter(|name| *name != "kind" && *name != "format_version").cloned();
    schema["required"] = required.chain(["kind".into(), "format_version".into()]).collect();
    schema
}

fn run() -> Json {
    let mut schema = report::<RunDocument>(RUN_KIND);
    schema["properties"]["digest"] = json!({
        "type": "string",
        "pattern": "^[0-9a-f]{64}$",
        "description": "SHA-256 over the canonical JSON of the document without `digest`: sorted keys, no blanks.",
    });
    if let Some(required) = schema["required"].as_array_mut() {
        required.push("digest".into());
    }
    schema
}

/// The schema of a plan, saved or as a report; a saved plan has no more than its digest and its content.
fn plan() -> Json {
    let mut schema = document::<json::PlanReport<'_>>(&["plan", "plan_report"]);
    schema["required"] = json!(["kind", "format_version", "digest", "plan"]);
    schema
}

fn snapshot() -> Json {
    let mut schema = document::<SnapshotFile>(&["snapshot"]);
    schema["properties"]["format_version"] = json!({"enum": [1, 2], "description": "1: endpoints alone."});
    schema
}

/// A file of `snapshot`.
#[derive(JsonSchema)]
struct SnapshotFile {
    /// SHA-256 over the canonical JSON of `snapshot`: sorted keys, no blanks.
    #[schemars(regex(pattern = "^[0-9a-f]{64}$"))]
    #[expect(
        dead_code,
        reason = "only its schema is used: a snapshot is written and read as a part of its own digest"
    )]
    digest: String,
    #[expect(dead_code, reason = "the same")]
    snapshot: Snapshot,
}

/// The schema of the check of one stack or of several.
fn drift() -> Json {
    let [one, _] = apart(document::<json::StackDocument<'_>>(&["drift"]));
    let [several, definitions] = apart(document::<json::ChecksDocument<'_>>(&["fleet"]));
    json!({"type": "object", "oneOf": [one, several], "$defs": definitions})
}

/// A schema without its definitions, and the definitions.
fn apart(mut schema: Json) -> [Json; 2] {
    let definitions = schema.as_object_mut().and_then(|parts| parts.remove("$defs"));
    [schema, definitions.unwrap_or_default()]
}

/// A value from a variable, which a reader of the schema cannot know.
fn variable() -> Json {
    json!({"type": "string", "pattern": r"\$\{[^}]+\}"})
}

/// How much of an object a document contains.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DefinitionKind {
    /// All that it needs.
    Whole,
    /// What it changes, or that it removes a definition.
    Overlay,
}

/// The schema of an overlay of an object of any kind: of an endpoint in full, of others without their spec.
fn overlay() -> Json {
    let [endpoint, definitions] = apart(kind::object(KindName::ENDPOINT.kind(), DefinitionKind::Overlay));
    let names: Vec<&str> =
        crate::kind::all().map(|kind| kind.name).filter(|name| *name != crate::kind::ENDPOINT).collect();
    let mut properties = endpoint["properties"].clone();
    properties["kind"] = json!({"enum": names});
    // Some kinds have host names, a superset of the names of all other kinds.
    properties["metadata"] = kind::of_metadata(Naming::Host);
    properties["spec"] = json!({});
    let mut object = json!({"type": "object", "properties": properties, "additionalProperties": false});
    removal(&mut object);
    let is_other = json!({"required": ["kind"], "properties": {"kind": {"enum": names}}});
    json!({
        "description": "Changes to an object in one environment. `schema --of overlay --kind KIND` has the spec of another kind.",
        "type": "object",
        "if": is_other,
        "then": object,
        "else": endpoint,
        "$defs": definitions,
    })
}

/// Adds to the schema of an overlay what it may contain to remove a definition.
fn removal(schema: &mut Json) {
    let text = "true removes the definition; the document then has only a name and a namespace. false keeps one that \
                another overlay removes.";
    schema["properties"]["$remove"] = json!({"type": "boolean", "description": text});
    schema["required"] = json!(["metadata"]);
    schema["if"] = json!({"required": ["$remove"], "properties": {"$remove": {"const": true}}});
    schema["then"] = json!({"properties": {"spec": false, "metadata": {"maxProperties": 2}}});
}

/// Adds the keys of a document that only the service writes.
fn service_keys(properties: &mut Map<String, Json>) {
    for key in SERVICE_KEYS {
        let written = json!({"description": "Written by the service; dropped with a note.", "deprecated": true});
        properties.insert(camel(key), written.clone());
        properties.insert(key.to_owned(), written);
    }
}

#[cfg(test)]
mod tests;
