//! Reads the three documents in which Terraform writes resources, down to the attributes of each object.

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;
use serde_json::{Map, Value};

use super::{TYPE_PREFIX, TerraformError};
use crate::kind::KindName;

/// The mark that some editors write at the start of a file.
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";
const UTF_16_MARK: &[u8] = b"\xff\xfe";
/// The format of states since Terraform 0.12.
const STATE_VERSION: u64 = 4;
/// Arguments that make several objects of one resource.
const REPETITIONS: [&str; 2] = ["count", "for_each"];
/// Arguments of every resource that are not attributes of the object.
const META_ARGUMENTS: [&str; 6] = ["depends_on", "lifecycle", "provider", "provisioner", "connection", "timeouts"];

/// Blocks of a configuration; a document with another key is not one.
const BLOCKS: [&str; 14] = [
    "//",
    "check",
    "data",
    "ephemeral",
    "import",
    "locals",
    "module",
    "moved",
    "output",
    "provider",
    "removed",
    "resource",
    "terraform",
    "variable",
];

/// The resources of one file.
pub struct Document {
    /// Whether it is a state, which shows what Terraform did, and not configuration.
    pub(super) is_state: bool,
    pub(super) resources: Vec<Resource>,
}

/// One resource of the vendor's provider, with its attributes or why they are unknown.
pub(super) struct Resource {
    /// `None` if its type is not that of an object.
    pub(super) kind: Option<KindName>,
    pub(super) address: String,
    pub(super) attributes: Result<Map<String, Value>, String>,
    /// The attributes that Terraform never shows.
    pub(super) sensitive: BTreeSet<String>,
}

#[derive(Deserialize)]
struct State {
    version: u64,
    resources: Option<Vec<StateResource>>,
}

#[derive(Deserialize)]
struct Shown {
    values: Option<Values>,
}

#[derive(Deserialize)]
struct StateResource {
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
    index_key: Option<Value>,
    /// The key of an object that was replaced and is not deleted yet.
    deposed: Option<String>,
    attributes: Option<Map<String, Value>>,
    /// Paths, each a list of steps.
    #[serde(default)]
    sensitive_attributes: Value,
}

#[derive(Deserialize, Default)]
struct Values {
    #[serde(default)]
    root_module: Module,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Module {
    resources: Vec<ShownResource>,
    child_modules: Vec<Module>,
}

#[derive(Deserialize)]
struct ShownResource {
    address: String,
    mode: String,
    #[serde(rename = "type")]
    kind: String,
    deposed_key: Option<String>,
    #[serde(default)]
    values: Map<String, Value>,
    /// The keys of `values`, with `true` for each sensitive value.
    #[serde(default)]
    sensitive_values: Value,
}

impl Document {
    /// Reads a file.
    ///
    /// # Errors
    /// The file contains no resources of Terraform. The error shows none of its content.
    pub fn read(bytes: &[u8]) -> Result<Self, TerraformError> {
        // The redirection `>` of PowerShell writes UTF-16.
        let utf16 = bytes.strip_prefix(UTF_16_MARK).and_then(|units| {
            let units: Vec<u16> = units.chunks_exact(2).map(|unit| u16::from_le_bytes([unit[0], unit[1]])).collect();
            String::from_utf16(&units).ok()
        });
        let bytes = utf16.as_deref().map_or(bytes, str::as_bytes);
        let bytes = bytes.strip_prefix(BYTE_ORDER_MARK).unwrap_or(bytes);
        // `terraform state pull` prints nothing if there is no state.
        if bytes.iter().all(u8::is_ascii_whitespace) {
            return Ok(Self { is_state: true, resources: Vec::new() });
        }
        let document: Map<String, Value> = serde_json::from_slice(bytes).map_err(|error| match error.classify() {
            serde_json::error::Category::Data => TerraformError::Kind,
            _ => TerraformError::Syntax { line: error.line(), column: error.column() },
        })?;
        if document.keys().all(|key| BLOCKS.contains(&key.as_str())) {
            let resources = document.get("resource").map(of_configuration).unwrap_or_default();
            return Ok(Self { is_state: false, resources });
        }
        if document.contains_key("planned_values") {
            return Err(TerraformError::Plan);
        }
        let (is_state, is_shown) = (document.contains_key("version"), document.contains_key("format_version"));
        let document = Value::Object(document);
        let resources = if is_state {
            let state: State = serde_json::from_value(document).map_err(|_| TerraformError::Kind)?;
            match state.version {
                STATE_VERSION => of_state(state.resources.unwrap_or_default()),
                version => return Err(TerraformError::Version(version)),
            }
        } else if is_shown {
            // If there is no state, `values` is missing.
            let shown: Shown = serde_json::from_value(document).map_err(|_| TerraformError::Kind)?;
            let mut found = Vec::new();
            of_module(shown.values.unwrap_or_default().root_module, &mut found);
            found
        } else {
            return Err(TerraformError::Kind);
        };
        Ok(Self { is_state: true, resources })
    }
}

impl Resource {
    fn new(
        kind: Option<KindName>,
        address: String,
        deposed: Option<&str>,
        attributes: Result<Map<String, Value>, String>,
    ) -> Self {
        let (address, attributes) = match deposed {
            None => (address, attributes),
            Some(key) => {
                let reason = "it was replaced, and Terraform deletes it next".to_owned();
                (format!("{address} (deposed {key})"), Err(reason))
            }
        };
        Self { kind, address, attributes, sensitive: BTreeSet::new() }
    }

    /// The address without the key of an instance, as configuration writes it.
    pub(super) fn base(&self) -> &str {
        self.address.split(['[', ' ']).next().unwrap_or(&self.address)
    }
}

/// The object kind of a resource type, if it has one; the outer `None` means another provider's type.
fn kind_of(name: &str) -> Option<Option<KindName>> {
    name.strip_prefix(TYPE_PREFIX).map(KindName::find)
}

fn of_state(resources: Vec<StateResource>) -> Vec<Resource> {
    let managed = resources.into_iter().filter(|resource| resource.mode == "managed");
    managed
        .filter_map(|resource| Some((kind_of(&resource.kind)?, resource)))
        .flat_map(|(kind, resource)| {
            let module = resource.module.map(|module| format!("{module}.")).unwrap_or_default();
            let base = format!("{module}{}.{}", resource.kind, resource.name);
            resource.instances.into_iter().map(move |instance| {
                let address = match &instance.index_key {
                    None => base.clone(),
                    Some(key) => format!("{base}[{key}]"),
                };
                let missing = || "the state has no attributes of it".to_owned();
                let paths = instance.sensitive_attributes.as_array().into_iter().flatten();
                let names = paths.filter_map(|path| Some(path.get(0)?.get("value")?.as_str()?.to_owned()));
                let sensitive = names.collect();
                let attributes = instance.attributes.ok_or_else(missing);
                Resource { sensitive, ..Resource::new(kind, address, instance.deposed.as_deref(), attributes) }
            })
        })
        .collect()
}

fn of_module(module: Module, into: &mut Vec<Resource>) {
    let managed = module.resources.into_iter().filter(|one| one.mode == "managed");
    let managed = managed.filter_map(|one| Some((kind_of(&one.kind)?, one)));
    into.extend(managed.map(|(kind, one)| {
        let marked = one.sensitive_values.as_object().into_iter().flatten().filter(|(_, value)| is_marked(value));
        let sensitive = marked.map(|(name, _)| name.clone()).collect();
        Resource { sensitive, ..Resource::new(kind, one.address, one.deposed_key.as_deref(), Ok(one.values)) }
    }));
    for child in module.child_modules {
        of_module(child, into);
    }
}

/// Whether anything in a value is marked as sensitive.
fn is_marked(value: &Value) -> bool {
    match value {
        Value::Array(items) => items.iter().any(is_marked),
        Value::Object(map) => map.values().any(is_marked),
        value => *value == true,
    }
}

/// JSON syntax lets any block be one object or a list of objects.
fn of_configuration(types: &Value) -> Vec<Resource> {
    let mut by_name: BTreeMap<String, Resource> = BTreeMap::new();
    let types = objects(types).into_iter().flatten();
    for (name_of_type, kind, named) in types.filter_map(|(name, of)| Some((name, kind_of(name)?, of))) {
        for named in objects(named) {
            for (name, body) in named.iter().filter(|(name, _)| *name != "//") {
                let mut bodies = objects(body).into_iter();
                let attributes = match (bodies.next(), bodies.next()) {
                    (Some(body), None) => configured(body),
                    _ => Err("its body is not one object".to_owned()),
                };
                let address = format!("{name_of_type}.{name}");
                by_name.insert(address.clone(), Resource::new(kind, address, None, attributes));
            }
        }
    }
    by_name.into_values().collect()
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

/// The text of a template without expressions.
fn unescaped(value: Value) -> Value {
    match value {
        Value::String(text) => Value::String(text.replace("$${", "${").replace("%%{", "%{")),
        Value::Array(items) => Value::Array(items.into_iter().map(unescaped).collect()),
        Value::Object(map) => Value::Object(map.into_iter().map(|(name, value)| (name, unescaped(value))).collect()),
        other => other,
    }
}

/// Whether a value contains an expression, `${…}` or `%{…}`. A doubled sign (`$${`, `%%{`) is literal.
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
