//! The three documents in which Terraform writes resources, read down to the attributes of each endpoint.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::{Map, Value};

use super::{RESOURCE_TYPE, TerraformError};

/// The format of states since Terraform 0.12.
const STATE_VERSION: u64 = 4;
/// Arguments of every resource that make more of it than one object.
const REPETITIONS: [&str; 2] = ["count", "for_each"];
/// Arguments of every resource that are no attributes of the object.
const META_ARGUMENTS: [&str; 6] = ["depends_on", "lifecycle", "provider", "provisioner", "connection", "timeouts"];

/// One resource of the type, with its attributes or why they are not known.
pub(super) struct Resource {
    pub(super) address: String,
    pub(super) attributes: Result<Map<String, Value>, String>,
}

#[derive(Deserialize)]
struct Document {
    version: Option<u64>,
    resources: Option<Vec<StateResource>>,
    values: Option<Values>,
    resource: Option<Value>,
    terraform: Option<Value>,
    variable: Option<Value>,
    provider: Option<Value>,
}

#[derive(Deserialize)]
struct StateResource {
    #[serde(default)]
    module: Option<String>,
    mode: String,
    #[serde(rename = "type")]
    kind: String,
    name: String,
    #[serde(default)]
    instances: Vec<Instance>,
}

#[derive(Deserialize)]
struct Instance {
    #[serde(default)]
    index_key: Option<Value>,
    #[serde(default)]
    attributes: Option<Map<String, Value>>,
}

#[derive(Deserialize)]
struct Values {
    #[serde(default)]
    root_module: Module,
}

#[derive(Deserialize, Default)]
struct Module {
    #[serde(default)]
    resources: Vec<ShownResource>,
    #[serde(default)]
    child_modules: Vec<Module>,
}

#[derive(Deserialize)]
struct ShownResource {
    address: String,
    mode: String,
    #[serde(rename = "type")]
    kind: String,
    #[serde(default)]
    values: Map<String, Value>,
}

/// The endpoints of a document.
pub(super) fn resources(bytes: &[u8]) -> Result<Vec<Resource>, TerraformError> {
    let document: Document = serde_json::from_slice(bytes).map_err(|error| match error.classify() {
        serde_json::error::Category::Data => TerraformError::Kind,
        _ => TerraformError::Syntax { line: error.line(), column: error.column() },
    })?;
    if let (Some(version), Some(resources)) = (document.version, document.resources) {
        return match version {
            STATE_VERSION => Ok(of_state(resources)),
            version => Err(TerraformError::Version { version }),
        };
    }
    if let Some(values) = document.values {
        let mut found = Vec::new();
        of_module(values.root_module, &mut found);
        return Ok(found);
    }
    match document.resource {
        Some(types) => Ok(of_configuration(&types)),
        // Configuration without a resource, such as a file of variables.
        None if document.terraform.is_some() || document.variable.is_some() || document.provider.is_some() => {
            Ok(Vec::new())
        }
        None => Err(TerraformError::Kind),
    }
}

fn of_state(resources: Vec<StateResource>) -> Vec<Resource> {
    let managed = resources.into_iter().filter(|resource| resource.mode == "managed" && resource.kind == RESOURCE_TYPE);
    managed
        .flat_map(|resource| {
            let module = resource.module.map(|module| format!("{module}.")).unwrap_or_default();
            let base = format!("{module}{RESOURCE_TYPE}.{}", resource.name);
            resource.instances.into_iter().map(move |instance| {
                let address = match &instance.index_key {
                    None => base.clone(),
                    Some(key) => format!("{base}[{key}]"),
                };
                let missing = || "the state has no attributes of it".to_owned();
                Resource { address, attributes: instance.attributes.ok_or_else(missing) }
            })
        })
        .collect()
}

fn of_module(module: Module, into: &mut Vec<Resource>) {
    let managed = module.resources.into_iter().filter(|one| one.mode == "managed" && one.kind == RESOURCE_TYPE);
    into.extend(managed.map(|one| Resource { address: one.address, attributes: Ok(one.values) }));
    for child in module.child_modules {
        of_module(child, into);
    }
}

/// JSON syntax lets any block be one object or a list of objects.
fn of_configuration(types: &Value) -> Vec<Resource> {
    let mut by_name: BTreeMap<String, Result<Map<String, Value>, String>> = BTreeMap::new();
    for types in objects(types) {
        for named in types.get(RESOURCE_TYPE).map(objects).unwrap_or_default() {
            for (name, body) in named {
                let mut bodies = objects(body).into_iter();
                let attributes = match (bodies.next(), bodies.next()) {
                    (Some(body), None) => configured(body),
                    _ => Err("its body is not one object".to_owned()),
                };
                by_name.insert(format!("{RESOURCE_TYPE}.{name}"), attributes);
            }
        }
    }
    by_name.into_iter().map(|(address, attributes)| Resource { address, attributes }).collect()
}

fn objects(value: &Value) -> Vec<&Map<String, Value>> {
    match value {
        Value::Object(map) => vec![map],
        Value::Array(items) => items.iter().filter_map(Value::as_object).collect(),
        _ => Vec::new(),
    }
}

fn configured(body: &Map<String, Value>) -> Result<Map<String, Value>, String> {
    if let Some(repetition) = REPETITIONS.into_iter().find(|name| body.contains_key(*name)) {
        return Err(format!("it has `{repetition}`: import the state instead"));
    }
    let is_attribute = |name: &&String| !META_ARGUMENTS.contains(&name.as_str()) && *name != "//";
    let attributes: Map<String, Value> =
        body.iter().filter(|(name, _)| is_attribute(name)).map(|(name, value)| (name.clone(), value.clone())).collect();
    match attributes.iter().find(|(_, value)| has_expression(value)) {
        Some((name, _)) => Err(format!("`{name}` contains an expression: import the state instead")),
        None => Ok(attributes.into_iter().map(|(name, value)| (name, unescaped(value))).collect()),
    }
}

/// A template without expressions as its text.
fn unescaped(value: Value) -> Value {
    match value {
        Value::String(text) => Value::String(text.replace("$${", "${").replace("%%{", "%{")),
        Value::Array(items) => Value::Array(items.into_iter().map(unescaped).collect()),
        Value::Object(map) => Value::Object(map.into_iter().map(|(name, value)| (name, unescaped(value))).collect()),
        other => other,
    }
}

/// Strings of JSON syntax are templates: `${…}` and `%{…}` are evaluated, and a doubled sign is the sign.
fn has_expression(value: &Value) -> bool {
    match value {
        Value::String(text) => {
            let rest = text.replace("$${", "").replace("%%{", "");
            rest.contains("${") || rest.contains("%{")
        }
        Value::Array(items) => items.iter().any(has_expression),
        Value::Object(map) => map.values().any(has_expression),
        _ => false,
    }
}
