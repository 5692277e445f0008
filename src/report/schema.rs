//! JSON Schemas of what trueup reads and writes. Their structure comes from the types that are read
//! and written, so that they cannot fall behind; a definition's descriptions and limits come from the
//! shape, as those of `explain` do. The schema of a definition accepts what `load` accepts:
//! both spellings of a key, `${name}` in values, and the root keys that only the service writes.

mod kind;

use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde_json::{Map, json};

use super::ddos::{DdosEvents, OneDdosEvent};
use super::document::FORMAT_VERSION;
use super::endpoints::EndpointsReport;
use super::error::{self, ErrorReport};
use super::event_counts::EventCounts;
use super::event_list::EventListReport;
use super::explanation::Explanation;
use super::health::HealthReport;
use super::json::{
    ChecksDocument, FleetReport, HistoryReport, OutcomeReport, PlanReport, RehearsalReport, StackDocument,
};
use super::json_lines::{self, RequestLine, RunEventLine};
use super::kinds::KindList;
use super::operations::OperationsReport;
use super::stacks::StackList;
use super::upgrade::{SiteUpgrade, UpgradableVersions};
use super::validation::ValidationReport;
use crate::drift::DriftState;
use crate::kind::Kind;
use crate::load::config;
use crate::model::shape::{ENDPOINT, FieldRule, FieldStatus, GroupRule, SERVICE_KEYS, ShapeNode, camel};
use crate::model::{Json, Snapshot, WireEndpoint};
use crate::run::{RUN_KIND, RunDocument};

macro_rules! kinds {
    ($($(#[doc = $doc:literal])+ $variant:ident = $name:literal => $make:expr,)+) => {
        /// Of what a schema is. Of a report, it has the name of the document's `kind`.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum SchemaKind { $($(#[doc = $doc])+ $variant),+ }

        impl SchemaKind {
            /// Every kind.
            pub const ALL: &'static [SchemaKind] = &[$(SchemaKind::$variant),+];

            /// Its name on the command line.
            pub fn as_str(self) -> &'static str {
                match self { $(SchemaKind::$variant => $name),+ }
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
    Definition = "definition" => definition(DefinitionKind::Whole),
    /// A document of an overlay
    Overlay = "overlay" => overlay(),
    /// trueup.yaml
    // Read key by key and not into a type, so its schema is written by hand and tested by its reader.
    Config = "config" => config::SETTINGS.clone(),
    /// A policy
    Policy = "policy" => config::POLICY.clone(),
    /// A saved plan, and the JSON of plan
    Plan = "plan" => plan(),
    /// The JSON of drift and report
    Drift = "drift" => drift(),
    /// The JSON of validate, plan and apply of several stacks
    Fleet = "fleet" => report::<FleetReport<'_>>("fleet_report"),
    /// The JSON of stacks
    Stacks = "stacks" => report::<StackList>("stacks"),
    /// A snapshot
    Snapshot = "snapshot" => snapshot(),
    /// A file of --drift-state
    DriftState = "drift_state" => report::<DriftState>("drift_state"),
    /// The JSON of validate
    Validation = "validation" => report::<ValidationReport<'_>>("validation"),
    /// The JSON of apply and rollback
    Outcome = "outcome" => report::<OutcomeReport<'_>>("outcome"),
    /// The JSON of rehearse
    Rehearsal = "rehearsal" => report::<RehearsalReport<'_>>("rehearsal"),
    /// The JSON of history
    History = "history" => report::<HistoryReport<'_>>("history"),
    /// The JSON of show RUN, and a file of --write json=FILE
    Run = "run" => run(),
    /// The JSON of an error or a refusal, of any command
    Error = "error" => report::<ErrorReport<'_>>(error::KIND),
    /// A line of apply --format ndjson, before the last
    RunEvent = "run_event" => report::<RunEventLine<'_>>(json_lines::RUN_EVENT),
    /// A line of --log json
    Request = "request" => report::<RequestLine<'_>>(json_lines::REQUEST),
    /// The JSON of explain
    Explanation = "explanation" => report::<Explanation>("explanation"),
    /// The JSON of kinds
    Kinds = "kinds" => report::<KindList>("kinds"),
    /// The JSON of get, and of show for a snapshot
    Endpoints = "endpoints" => report::<EndpointsReport<'_>>("endpoints"),
    /// The JSON of doctor
    Health = "health" => report::<HealthReport<'_>>("health"),
    /// The JSON of events
    SecurityEvents = "security_events" => report::<EventListReport<'_>>("security_events"),
    /// The JSON of events --by
    SecurityEventCounts = "security_event_counts" => report::<EventCounts>("security_event_counts"),
    /// The JSON of ddos list
    DdosEvents = "ddos_events" => report::<DdosEvents<'_>>("ddos_events"),
    /// The JSON of ddos show
    DdosEvent = "ddos_event" => report::<OneDdosEvent<'_>>("ddos_event"),
    /// The JSON of upgrades versions
    UpgradableVersions = "upgradable_sw_versions" => report::<UpgradableVersions<'_>>("upgradable_sw_versions"),
    /// The JSON of upgrades status
    UpgradeStatus = "upgrade_status" => report::<SiteUpgrade<'_>>("upgrade_status"),
    /// The JSON of call --list
    Operations = "operations" => report::<OperationsReport>("operations"),
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
    let mut schema = definition(part);
    if kind.name != crate::kind::ENDPOINT {
        schema = kind::object(kind, schema["properties"]["metadata"].take(), part);
    }
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
    let endpoint = definition(part);
    let metadata = json!({"$ref": "#/$defs/metadata"});
    let mut definitions = Map::from_iter([("metadata".to_owned(), endpoint["properties"]["metadata"].clone())]);
    let names: Vec<&str> = kinds.iter().map(|kind| kind.name).collect();
    let is_of = |kind: Json| json!({"required": ["kind"], "properties": {"kind": kind}});
    let mut rules = vec![json!({"if": {"not": is_of(json!({"enum": names}))}, "then": endpoint})];
    for kind in kinds {
        let mut object = kind::object(kind, metadata.clone(), part);
        if let Json::Object(shared) = object["$defs"].take() {
            definitions.extend(shared);
        }
        object.as_object_mut().map(|parts| parts.remove("$defs"));
        rules.push(json!({"if": is_of(json!({"const": kind.name})), "then": object}));
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

/// The schema of a document that is read as well, in which a field with a default may be absent.
fn document<T: JsonSchema>(kinds: &[&str]) -> Json {
    document_of::<T>(SchemaSettings::draft2020_12(), kinds)
}

fn document_of<T: JsonSchema>(settings: SchemaSettings, kinds: &[&str]) -> Json {
    let mut schema = settings.into_generator().into_root_schema_for::<T>().to_value();
    schema["properties"]["kind"] = match kinds {
        [kind] => json!({"const": kind}),
        kinds => json!({"enum": kinds}),
    };
    schema["properties"]["format_version"] = json!({"const": FORMAT_VERSION});
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
    let mut schema = document::<PlanReport<'_>>(&["plan", "plan_report"]);
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
    let [one, several] = [document::<StackDocument<'_>>(&["drift"]), document::<ChecksDocument<'_>>(&["fleet"])];
    let definitions = several["$defs"].clone();
    let part = |mut schema: Json| {
        schema.as_object_mut().map(|schema| schema.remove("$defs"));
        schema
    };
    json!({"type": "object", "oneOf": [part(one), part(several)], "$defs": definitions})
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
    let endpoint = definition(DefinitionKind::Overlay);
    let names: Vec<&str> =
        crate::kind::all().map(|kind| kind.name).filter(|name| *name != crate::kind::ENDPOINT).collect();
    let mut properties = endpoint["properties"].clone();
    properties["kind"] = json!({"enum": names});
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

fn definition(kind: DefinitionKind) -> Json {
    let mut settings = SchemaSettings::draft2020_12();
    // Every place of the tree has its own node, which takes the words of its path.
    settings.inline_subschemas = true;
    let mut schema = settings.into_generator().into_root_schema_for::<WireEndpoint>().to_value();
    describe(&mut schema, &ENDPOINT, kind);
    if let Some(properties) = schema["properties"].as_object_mut() {
        properties.insert("kind".to_owned(), json!({"const": "endpoint", "description": "May be left out."}));
        service_keys(properties);
    }
    if kind == DefinitionKind::Overlay {
        let text = "Changes to the definition with this name and namespace in one environment. `null` sets a value to its \
                    default.";
        schema["description"] = text.into();
        removal(&mut schema);
        return schema;
    }
    schema["description"] = "One endpoint of the service mesh.".into();
    schema
}

/// Adds which keys a mapping needs, in either spelling.
fn needed(node: &mut Json, shape: &ShapeNode) {
    let (plain, spelled): (Vec<&str>, Vec<&str>) = shape.needs.iter().partition(|key| camel(key) == **key);
    if !plain.is_empty() {
        node["required"] = json!(plain);
    }
    if !spelled.is_empty() {
        let either = |key: &&str| json!({"anyOf": [{"required": [key]}, {"required": [camel(key)]}, {"type": "null"}]});
        node["allOf"] = spelled.iter().map(either).collect();
    }
}

/// Gives a node and everything below it the words and limits of its shape.
fn describe(node: &mut Json, shape: &ShapeNode, kind: DefinitionKind) {
    words(node, shape);
    limits(node, shape.rule, kind);
    if shape.status == FieldStatus::Deprecated {
        node["deprecated"] = true.into();
    }
    let Some(object) = node.as_object_mut() else { return };
    if let Some(items) = object.get_mut("items") {
        describe(items, shape, kind);
        if !items.get("properties").is_some_and(Json::is_object)
            && let Some(items) = items.as_object_mut()
        {
            // The words are those of the list.
            items.remove("description");
        }
    }
    let Some(properties) = object.get_mut("properties").and_then(Json::as_object_mut) else { return };
    for (name, property) in properties.iter_mut() {
        if let Some(child) = shape.child(name) {
            describe(property, child, kind);
        }
    }
    both_spellings(properties);
    // An overlay names its object, and beside that what it changes.
    if kind == DefinitionKind::Whole || shape.key == "metadata" {
        needed(node, shape);
    }
}

fn both_spellings(properties: &mut Map<String, Json>) {
    let others: Vec<(String, Json)> = properties
        .iter()
        .filter_map(|(name, property)| {
            let other = camel(name);
            let mut property = property.clone();
            property["description"] = format!("Another spelling of `{name}`, which is what trueup writes.").into();
            property["deprecated"] = true.into();
            (other != *name).then_some((other, property))
        })
        .collect();
    properties.extend(others);
}

fn words(node: &mut Json, shape: &ShapeNode) {
    let mut text = shape.meaning.to_owned();
    let rule = shape.rule.words();
    if !rule.is_empty() {
        text.push_str(&format!(" Allowed: {rule}."));
    }
    if !shape.default.is_empty() {
        text.push_str(&format!(" Default: {}.", shape.default));
    }
    node["description"] = text.into();
}

fn limits(node: &mut Json, rule: FieldRule, kind: DefinitionKind) {
    let is_list = node.get("items").is_some();
    match rule {
        // The items of a list pass by here with the rule of their list.
        FieldRule::Items(least, most) if is_list => {
            node["minItems"] = least.into();
            node["maxItems"] = most.into();
        }
        FieldRule::Free | FieldRule::Items(..) => {}
        FieldRule::Label => {
            node["pattern"] = r"^([a-z]([-a-z0-9]{0,61}[a-z0-9])?|.*\$\{[^}]+\}.*)$".into();
        }
        FieldRule::Range(least, most) => {
            let digits = json!({"type": "string", "pattern": "^[0-9]+$"});
            let integer = json!({"type": "integer", "minimum": least, "maximum": most});
            any_of(node, vec![integer, digits, variable(), json!({"type": "null"})]);
        }
        // A schema counts characters: no text of more characters has fewer bytes.
        FieldRule::Bytes(most) => node["maxLength"] = most.into(),
        FieldRule::Characters(_, most) => node["maxLength"] = most.into(),
        FieldRule::Map(_, value) => {
            node["additionalProperties"]["maxLength"] = value.into();
        }
        FieldRule::Words(words) => {
            let mut allowed: Vec<Json> = words.iter().copied().map(Json::from).collect();
            allowed.extend(["".into(), Json::Null]);
            any_of(node, vec![json!({"enum": allowed}), variable()]);
        }
        FieldRule::Options(_, options) if kind == DefinitionKind::Overlay => {
            exclusive(node, GroupRule::AtMostOne, options);
        }
        FieldRule::Options(needed, options) => exclusive(node, needed, options),
    }
    // A label's value without quotes may look like a number.
    if let Some(values) = node.get_mut("additionalProperties").filter(|values| values.is_object()) {
        values["type"] = json!(["string", "number", "boolean", "null"]);
    }
}

fn any_of(node: &mut Json, schemas: Vec<Json>) {
    if let Some(object) = node.as_object_mut() {
        for key in ["type", "format", "minimum", "maximum"] {
            object.remove(key);
        }
    }
    node["anyOf"] = schemas.into();
}

/// An exclusive group. What is `null` or empty is absent, as it is to the service.
fn exclusive(node: &mut Json, needed: GroupRule, options: &[&str]) {
    let given = |name: &str| {
        let given = |name: &str| json!({"required": [name], "properties": {name: {"not": {"enum": [null, ""]}}}});
        let other = camel(name);
        if other == name { given(name) } else { json!({"anyOf": [given(name), given(&other)]}) }
    };
    let mut choices: Vec<Json> = options.iter().map(|option| given(option)).collect();
    if needed == GroupRule::AtMostOne {
        let none: Vec<Json> = choices.iter().map(|choice| json!({"not": choice})).collect();
        choices.push(json!({"allOf": none}));
    }
    // A value that is null as a whole is absent.
    let nullable =
        node.get("type").is_some_and(|kind| kind.as_array().is_some_and(|kinds| kinds.contains(&"null".into())));
    if nullable {
        choices.push(json!({"type": "null"}));
        // `required` speaks of objects alone, and so is met by null.
        for choice in &mut choices {
            if choice.get("type").is_none() {
                *choice = json!({"type": "object", "allOf": [choice.clone()]});
            }
        }
    }
    node["oneOf"] = choices.into();
}

#[cfg(test)]
mod tests;
