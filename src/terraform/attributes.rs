//! Turns the attributes of a resource into the object that the provider would send, by the description of its kind: a
//! block is a list of at most one object, an empty message is a flag, and an unset value is `null`, empty, zero or
//! false. Every set attribute gets its place in the object or is reported as one without a place. Secrets are not read.

use std::collections::BTreeSet;

use serde_json::{Map, Number, Value};

use crate::kind::{self, Field, FieldKind, Flag, KindName, Message};
use crate::model::{Object, WireMetadata, check};

/// The object that the attributes describe, or as a fragment why there is none.
pub(super) fn object(kind: KindName, attributes: &Map<String, Value>) -> Result<Object, String> {
    let (metadata, mut spec): (Map<_, _>, Map<_, _>) =
        attributes.clone().into_iter().partition(|(name, _)| kind::metadata().field(name).is_some());
    // The id of the resource, which objects do not have.
    spec.remove("id");
    let spec = spec.into_iter().map(|(name, value)| (in_spec(kind, name), value)).collect();
    let mut reader = Reader::default();
    let metadata = reader.message("metadata", &metadata, "");
    let mut spec = reader.message(kind.kind().spec, &spec, "");
    if let Some(problem) = reader.problem() {
        return Err(problem);
    }
    let metadata: WireMetadata = serde_json::from_value(metadata).map_err(|error| error.to_string())?;
    if let Some(problem) = check(kind, &metadata).into_iter().next() {
        return Err(problem.message);
    }
    kind::add_namespaces(kind.message(), &mut spec, metadata.namespace.as_deref().unwrap_or_default());
    metadata.written(kind, spec)
}

/// The spec's name of an attribute: the provider renames fields with a name of the metadata and names that Terraform
/// reserves.
fn in_spec(kind: KindName, name: String) -> String {
    let field = match name.strip_prefix("spec_") {
        Some(field) if kind::metadata().field(field).is_some() => field,
        _ if name == format!("count_{kind}") => "count",
        _ => return name,
    };
    let is_there = kind::message(kind.kind().spec).field(field).is_some();
    if is_there { field.to_owned() } else { name }
}

/// The field of an attribute. Terraform has no capitals: the provider writes `DoesNotEqual` as `does_not_equal`.
pub(super) fn field_of<'m>(message: &'m Message, attribute: &str) -> Option<&'m Field> {
    let letters = |name: &str| name.replace('_', "").to_ascii_lowercase();
    let has_capitals = |field: &Field| field.name.contains(|letter: char| letter.is_ascii_uppercase());
    let is_it = |field: &&Field| has_capitals(field) && letters(field.name) == letters(attribute);
    message.field(attribute).or_else(|| message.fields.iter().find(is_it))
}

/// Attributes that a definition cannot contain.
#[derive(Default)]
struct Reader {
    /// Attributes that the kind does not have.
    unknown: BTreeSet<String>,
    /// Attributes whose value has another type.
    misfits: BTreeSet<String>,
    /// Attributes that are secrets.
    secrets: BTreeSet<String>,
}

impl Reader {
    /// All problems, as a fragment.
    fn problem(&self) -> Option<String> {
        let some = |paths: &BTreeSet<String>, what: &str| {
            let paths: Vec<String> = paths.iter().map(|path| format!("`{path}`")).collect();
            (!paths.is_empty()).then(|| format!("{what} {}", paths.join(", ")))
        };
        let parts = [
            some(&self.unknown, "its kind has no"),
            some(&self.misfits, "not of its type:"),
            some(&self.secrets, "a definition cannot have the secret of"),
        ];
        let parts: Vec<String> = parts.into_iter().flatten().collect();
        (!parts.is_empty()).then(|| parts.join("; "))
    }

    fn message(&mut self, id: &str, attributes: &Map<String, Value>, above: &str) -> Value {
        let mut object = Map::new();
        for (name, value) in attributes {
            let path = if above.is_empty() { name.clone() } else { format!("{above}.{name}") };
            match field_of(kind::message(id), name) {
                None if kind::is_zero(value) => {}
                None => {
                    self.unknown.insert(path);
                }
                Some(field) if field.is(Flag::ReadOnly) => {}
                Some(field) if field.is(Flag::Secret) => {
                    if !kind::is_zero(value) {
                        self.secrets.insert(path);
                    }
                }
                Some(field) => {
                    object.extend(self.field(field, value, &path).map(|value| (field.name.to_owned(), value)));
                }
            }
        }
        object.into()
    }

    /// The value of a field; `None` if it is unset.
    fn field(&mut self, field: &Field, value: &Value, path: &str) -> Option<Value> {
        // A zero is unset only in a number or boolean field; elsewhere it is a misfit.
        let is_number = matches!(field.kind, FieldKind::Integer { .. } | FieldKind::Float { .. } | FieldKind::Bool);
        if kind::is_zero(value) && (is_number || !value.is_number()) {
            return None;
        }
        if !field.is_list {
            return self.one(&field.kind, value, path).filter(|value| !kind::is_zero(value));
        }
        let items: Vec<Value> = items(value).iter().filter_map(|item| self.one(&field.kind, item, path)).collect();
        (!items.is_empty()).then_some(Value::Array(items))
    }

    /// One value of a kind; `None` if it is unset or does not fit.
    fn one(&mut self, kind: &FieldKind, value: &Value, path: &str) -> Option<Value> {
        let fits = match (kind, value) {
            (_, Value::Null) => return None,
            (FieldKind::Message(""), value) => {
                return match is_set(value) {
                    Some(is_set) => is_set.then(|| Map::new().into()),
                    None => self.misfit(path),
                };
            }
            (FieldKind::Message(id), Value::Array(blocks)) => {
                return match blocks.as_slice() {
                    [] => None,
                    [block] => self.block(id, block, path),
                    _ => self.misfit(path),
                };
            }
            (FieldKind::Message(id), block) => return self.block(id, block, path),
            (FieldKind::Map(of), value) => {
                let Some(entries) = entries(of, value) else { return self.misfit(path) };
                let mut values = Map::new();
                for (key, value) in entries {
                    values.extend(self.one(of, value, &format!("{path}.{key}")).map(|value| (key.to_owned(), value)));
                }
                return (!values.is_empty()).then(|| values.into());
            }
            // Configuration may write a value as text, which Terraform converts.
            (FieldKind::Bool, Value::String(text)) if matches!(text.as_str(), "true" | "false" | "") => {
                return Some((text == "true").into());
            }
            (FieldKind::Integer { .. } | FieldKind::Float { .. }, Value::String(text)) => {
                return match serde_json::from_str(text) {
                    Ok(number @ Value::Number(_)) if !text.contains(char::is_whitespace) => {
                        self.one(kind, &number, path)
                    }
                    _ if text.is_empty() => None,
                    _ => self.misfit(path),
                };
            }
            (FieldKind::Bool, value) => value.is_boolean(),
            (FieldKind::Integer { .. }, Value::Number(number)) => {
                return whole(number).map(Value::Number).or_else(|| self.misfit(path));
            }
            (FieldKind::Float { .. }, value) => value.is_number(),
            (FieldKind::Any, _) => true,
            (_, value) => value.is_string(),
        };
        if fits { Some(value.clone()) } else { self.misfit(path) }
    }

    /// The value of a block. Even an empty block counts as set: it may choose an option.
    fn block(&mut self, id: &str, block: &Value, path: &str) -> Option<Value> {
        match block {
            Value::Object(attributes) => Some(self.message(id, attributes, path)),
            Value::Null | Value::Bool(true) => Some(Map::new().into()),
            Value::Bool(false) => None,
            _ => self.misfit(path),
        }
    }

    fn misfit(&mut self, path: &str) -> Option<Value> {
        self.misfits.insert(path.to_owned());
        None
    }
}

/// The items of a list. JSON syntax allows a single item without its list.
fn items(value: &Value) -> &[Value] {
    match value {
        Value::Array(items) => items,
        item => std::slice::from_ref(item),
    }
}

/// The entries of a map; a map of messages has a block with `name` and `value` for each entry.
fn entries<'v>(of: &FieldKind, value: &'v Value) -> Option<Vec<(&'v str, &'v Value)>> {
    match (of, value) {
        (FieldKind::Message(_), blocks) => {
            items(blocks).iter().map(|block| Some((block.get("name")?.as_str()?, block.get("value")?))).collect()
        }
        (_, Value::Object(entries)) => Some(entries.iter().map(|(key, value)| (key.as_str(), value)).collect()),
        _ => None,
    }
}

/// Whether a flag is set; `None` if the value is not a flag. Configuration may write it as text, and an option without
/// fields as a block.
fn is_set(value: &Value) -> Option<bool> {
    match value {
        Value::Bool(set) => Some(*set),
        Value::String(text) if text == "true" => Some(true),
        Value::String(text) if text.is_empty() || text == "false" => Some(false),
        Value::Array(blocks) => Some(!blocks.is_empty()),
        Value::Object(_) => Some(true),
        _ => None,
    }
}

/// An integer, which Terraform may write with a fraction of zero.
fn whole(number: &Number) -> Option<Number> {
    // In this range a float is exact, and it includes every number that a rule allows.
    let has_value = |number: &f64| number.fract() == 0.0 && number.abs() <= f64::from(u32::MAX);
    let is_whole = number.is_i64() || number.is_u64();
    let text = number.as_f64().filter(|number| !is_whole && has_value(number)).map(|number| format!("{number}"));
    if is_whole { Some(number.clone()) } else { text?.parse::<i64>().ok().map(Number::from) }
}
