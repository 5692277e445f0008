//! An endpoint as a definition file: the keys in the order in which a person would write them, and
//! nothing that the service fills in.

use serde_json::json;
use serde_yaml::Value;

use crate::diff;
use crate::kind::{is_zero, place_in_file};
use crate::load::{self, SourceFile};
use crate::model::{Definition, Json, LiveObject, Object, UnknownField, is_ownership_annotation, neutral};
use crate::report::safe;

/// What a definition file contains beside the object, and what it may leave out.
#[derive(Clone, Copy, Default)]
pub struct DefinitionOptions<'a> {
    /// The tenant of a live object, which references may leave out because the service fills it in. `None` if it is
    /// unknown, such as for the state of another tool: then a reference keeps all that it names.
    pub tenant: Option<&'a str>,
    /// Live fields that a definition cannot contain; each gets a line.
    pub unknown: &'a [UnknownField],
    /// The schema that a line for editors names.
    pub schema: Option<&'a str>,
}

impl<'a> DefinitionOptions<'a> {
    /// The options for a live object.
    pub fn of_live(object: &'a LiveObject) -> Self {
        Self { tenant: object.tenant.as_deref(), unknown: &object.unknown, schema: None }
    }
}

/// The labels of a live object that no definition contains, because the service sets them.
pub fn platform_labels(object: &Object) -> impl Iterator<Item = &str> {
    object.labels.keys().map(String::as_str).filter(|key| object.key.kind.kind().writes_label(key))
}

/// The paths of an object that no definition can name: those that a reader took out, and those that its spec kept.
pub fn unknown(object: &Object, taken_out: &[UnknownField]) -> Vec<String> {
    let kept = object.spec.unknown().into_iter().map(|path| neutral(&path, 200));
    taken_out.iter().map(|field| field.path.clone()).chain(kept).collect()
}

/// The file of `object`.
pub fn text(object: &Object, options: DefinitionOptions<'_>) -> String {
    let mut object = object.clone();
    object.labels.retain(|key, _| !object.key.kind.kind().writes_label(key));
    object.annotations.retain(|key, _| !is_ownership_annotation(key));
    let mut wire = serde_json::to_value(&object).unwrap_or_default();
    if let Some(metadata) = wire["metadata"].as_object_mut() {
        metadata.retain(|_, value| !is_zero(value) && *value != json!({}));
    }
    wire["spec"] = object.spec.unfilled(options.tenant);
    let body = safe::yaml_of_texts(&ordered(&wire, false));
    let schema = options.schema.map(|schema| format!("# yaml-language-server: $schema={schema}\n"));
    let mut head = schema.unwrap_or_default();
    for path in unknown(&object, options.unknown) {
        head.push_str(&format!("# not written, this trueup does not know it: {}\n", safe::line(&path)));
    }
    format!("{head}{body}")
}

/// Why a load would refuse `text`, the definition of `object` at `path`, or read something else.
pub fn refused(object: &Object, path: &str, text: &str) -> Option<String> {
    let file = SourceFile { path: path.to_owned(), bytes: text.as_bytes().to_vec() };
    match load::sources(vec![file], &load::LoadOptions::default()) {
        Err(diagnostics) => {
            let first = diagnostics.list.first().map(|first| first.message.as_str()).unwrap_or_default();
            Some(format!("a definition must not contain it: {first}"))
        }
        Ok(loaded) => {
            let read = loaded.desired.definitions.get(&object.key);
            let is_same =
                |read: &Definition| diff::compare(object, &read.endpoint, diff::CompareOptions::default()).is_empty();
            (!read.is_some_and(is_same)).then(|| "a definition would be read differently".to_owned())
        }
    }
}

/// A value with its keys in the order of a file; users choose the keys of labels and annotations.
fn ordered(value: &Json, is_free: bool) -> Value {
    match value {
        // Escape `${`, which would begin a variable.
        Json::String(text) => Value::String(text.replace("${", "$${")),
        Json::Array(items) => Value::Sequence(items.iter().map(|item| ordered(item, is_free)).collect()),
        Json::Object(map) => {
            let mut entries: Vec<(&String, &Json)> = map.iter().collect();
            if !is_free {
                entries.sort_by_key(|(key, _)| (place_in_file(key), *key));
            }
            let entry = |(key, value): (&String, &Json)| {
                let is_free = ["labels", "annotations"].contains(&key.as_str());
                (Value::String(key.clone()), ordered(value, is_free))
            };
            Value::Mapping(entries.into_iter().map(entry).collect())
        }
        plain => serde_yaml::to_value(plain).unwrap_or_default(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn endpoint(body: serde_json::Value) -> Object {
        serde_json::from_value(body).expect("an endpoint")
    }

    #[test]
    fn a_definition_holds_what_a_person_would_write() {
        let live = endpoint(serde_json::json!({
            "metadata": {"name": "cart", "namespace": "shop", "description": "", "disable": false,
                "labels": {"tier": "web", "port": "", "ves.io/app_type": "x"},
                "annotations": {"trueup/stack": "s", "trueup/applied": "1 r t", "team": "1.50"}},
            "spec": {"ip": "10.0.0.7", "protocol": "TCP", "port": 8443, "health_check_port": 0,
                "snat_pool": {"no_snat_pool": {}},
                "where": {"site": {"ref": [{"kind": "site", "name": "ce01", "namespace": "system", "tenant": "acme-x", "uid": "u"}],
                    "network_type": "VIRTUAL_NETWORK_SITE_LOCAL", "disable_internet_vip": {}}}}
        }));
        assert_eq!(
            text(&live, DefinitionOptions { tenant: Some("acme-x"), ..DefinitionOptions::default() }),
            "metadata:\n  name: cart\n  namespace: shop\n  labels:\n    port: ''\n    tier: web\n  annotations:\n    \
             team: '1.50'\nspec:\n  ip: 10.0.0.7\n  port: 8443\n  where:\n    site:\n      network_type: \
             VIRTUAL_NETWORK_SITE_LOCAL\n      ref:\n      - name: ce01\n        namespace: system\n"
        );
    }

    #[test]
    fn the_first_line_may_name_a_schema_for_editors() {
        let live = endpoint(serde_json::json!({
            "metadata": {"name": "cart", "namespace": "shop"}, "spec": {"ip": "10.0.0.7"}
        }));
        let options = DefinitionOptions { schema: Some("x.json"), ..DefinitionOptions::default() };
        assert!(text(&live, options).starts_with("# yaml-language-server: $schema=x.json\nmetadata:\n"));
    }
}
