//! The JSON Schemas of definitions and overlays of every kind accept whatever the loader accepts: random objects in every way
//! to write them, with variables, and with random values put anywhere.

use std::collections::BTreeMap;

use jsonschema::Validator;
use serde_json::{Value, json};
use trueup::kind::Kind;
use trueup::load::{self, LoadOptions, SourceFile};
use trueup::report::schema::{self, DefinitionKind, SchemaKind};

use super::{count, kinds, specs};
use crate::support::objects::{self, Specs};

/// What is put anywhere.
const VALUES: [&str; 13] =
    ["null", "\"\"", "0", "\"0\"", "1", "\"7\"", "true", "0.5", "[]", "{}", "\"a\"", "\"a ${word}\"", "\"${nothing}\""];
const SETTINGS: &str = "variables: {word: a-b, number: '5', flag: 'true', nothing: 'null', map: '{}'}
environments: {prod: {overlay: prod}}
";

fn validator(schema: &Value) -> Validator {
    jsonschema::validator_for(schema).expect("a schema")
}

/// Whether the loader accepts the documents in these files.
fn is_loaded(files: &[(&str, &Value)]) -> bool {
    let settings = SourceFile { path: "trueup.yaml".to_owned(), bytes: SETTINGS.into() };
    // Without quotes, as people write variables.
    let text = |value: &Value| serde_yaml::to_string(value).expect("YAML");
    let files =
        files.iter().map(|(path, value)| SourceFile { path: (*path).to_owned(), bytes: text(value).into_bytes() });
    let environment = Some("prod".to_owned());
    let options = LoadOptions { threads: Some(1), environment, ..LoadOptions::default() };
    load::sources(files.chain([settings]).collect(), &options).is_ok()
}

/// The places of a value at any depth but the top, each as a pointer.
fn places(value: &Value, path: &str, into: &mut Vec<String>) {
    let mut below = |step: String, value: &Value| {
        let path = format!("{path}/{}", step.replace('~', "~0").replace('/', "~1"));
        into.push(path.clone());
        places(value, &path, into);
    };
    match value {
        Value::Object(entries) => entries.iter().for_each(|(key, value)| below(key.clone(), value)),
        Value::Array(items) => items.iter().enumerate().for_each(|(at, item)| below(at.to_string(), item)),
        _ => {}
    }
}

/// Puts a value somewhere in a spec.
fn disturb(specs: &mut Specs, spec: &mut Value) {
    let mut all = Vec::new();
    places(spec, "", &mut all);
    if all.is_empty() {
        return;
    }
    let at = spec.pointer_mut(&all[specs.below(all.len())]).expect("it is there");
    let of_its_type = match at {
        Value::Bool(_) => "\"${flag}\"",
        Value::Number(_) => "\"${number}\"",
        Value::Object(entries) if entries.is_empty() => "\"${map}\"",
        _ => "\"${word}\"",
    };
    let choice = specs.below(VALUES.len() * 2);
    *at = serde_json::from_str(VALUES.get(choice).unwrap_or(&of_its_type)).expect("JSON");
}

#[derive(Debug, Default)]
struct Seen {
    accepted: usize,
    refused: usize,
    /// Of those, what the schema refuses too.
    refused_by_both: usize,
    wrong: Vec<String>,
}

impl Seen {
    fn note(&mut self, validators: &[&Validator], document: &Value, is_loaded: bool, at: &str) {
        let mut faults = validators.iter().flat_map(|validator| validator.iter_errors(document));
        match (is_loaded, faults.next()) {
            (true, Some(fault)) => {
                self.wrong.push(format!("{at} {}: {fault}\n{document}", fault.instance_path()));
            }
            (true, None) => {}
            (false, fault) => self.refused_by_both += usize::from(fault.is_some()),
        }
        *(if is_loaded { &mut self.accepted } else { &mut self.refused }) += 1;
    }

    fn assert(&self, what: &str, least: usize) {
        let Self { accepted, refused, refused_by_both, wrong } = self;
        eprintln!("{what}: {accepted} accepted; of {refused} refused, the schema refuses {refused_by_both}");
        assert!(wrong.is_empty(), "{}: {}", wrong.len(), wrong[..wrong.len().min(8)].join("\n\n"));
        assert!(accepted >= &least || std::env::var_os("TRUEUP_KIND").is_some());
    }
}

fn spec(specs: &mut Specs, kind: &Kind) -> Option<Value> {
    (0..50).map(|_| specs.small(kind)).find(|spec| !spec.to_string().contains("hush"))
}

#[test]
fn the_schema_of_a_kind_accepts_what_the_loader_accepts() {
    let (seed, count) = (objects::seed(), count(3));
    let mut seen = Seen::default();
    for kind in kinds() {
        let at = format!("TRUEUP_SEED={seed} TRUEUP_KIND={}", kind.name);
        let mut specs = specs(seed, kind);
        let validator = validator(&schema::of_kind(kind, DefinitionKind::Whole));
        for _ in 0..count {
            let Some(spec) = spec(&mut specs, kind) else { break };
            let metadata = json!({"name": "a", "namespace": objects::namespace(kind), "labels": {"tier": null}});
            let mut document =
                json!({"kind": kind.name, "metadata": metadata, "spec": specs.respelt(kind.spec, &spec)});
            assert!(is_loaded(&[("a.yaml", &document)]), "{at}: {document}");
            seen.note(&[&validator], &document, true, &at);
            for _ in 0..6 {
                disturb(&mut specs, &mut document["spec"]);
                seen.note(&[&validator], &document, is_loaded(&[("a.yaml", &document)]), &at);
            }
        }
    }
    seen.assert("definitions", kinds().len() * 6);
}

#[test]
fn the_schema_of_overlays_accepts_what_the_loader_accepts_of_every_kind() {
    let (seed, count) = (objects::seed(), count(1));
    let loose = validator(&schema::of(SchemaKind::Overlay));
    let mut seen = Seen::default();
    for kind in kinds() {
        let at = format!("TRUEUP_SEED={seed} TRUEUP_KIND={}", kind.name);
        let mut specs = specs(seed, kind);
        let own = validator(&schema::of_kind(kind, DefinitionKind::Overlay));
        let metadata = json!({"name": "a", "namespace": objects::namespace(kind)});
        for _ in 0..count {
            let (Some(base), Some(other)) = (spec(&mut specs, kind), spec(&mut specs, kind)) else { break };
            let base = json!({"kind": kind.name, "metadata": metadata, "spec": base});
            let mut changes: BTreeMap<String, Value> = serde_json::from_value(other).expect("an object");
            changes.values_mut().filter(|_| specs.once_in(3)).for_each(|value| *value = Value::Null);
            let mut overlay = json!({"kind": kind.name, "metadata": metadata, "spec": changes});
            for _ in 0..4 {
                let files = [("a.yaml", &base), ("prod/a.yaml", &overlay)];
                seen.note(&[&own, &loose], &overlay, is_loaded(&files), &at);
                disturb(&mut specs, &mut overlay["spec"]);
            }
        }
        for (remove, spec) in [(true, None), (true, Some(json!({}))), (false, Some(json!({})))] {
            let mut overlay = json!({"$remove": remove, "kind": kind.name, "metadata": metadata});
            overlay.as_object_mut().expect("an object").extend(spec.map(|spec| ("spec".to_owned(), spec)));
            let is_refused = [&own, &loose].map(|validator| !validator.is_valid(&overlay));
            assert_eq!(is_refused, [remove && overlay.get("spec").is_some(); 2], "{overlay}");
        }
    }
    seen.assert("overlays", kinds().len());
}
