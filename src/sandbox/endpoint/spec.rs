//! Reads the spec of a request by the tables of [`super::shape`] and writes it the way the service does:
//! the defaults are filled, everything unset is present as `""`, `0` or `null`, and of an exclusive group
//! only the chosen option is there.

use std::collections::BTreeSet;

use serde::Serialize;
use serde_json::Value;
use serde_json::value::RawValue;
use sha2::{Digest, Sha256};

use super::shape::{Items, Kind, NAME, NAMESPACE, Node, ONE, SPEC, TextRule, Unset};
use crate::sandbox::answer::ErrorResponse;
use crate::sandbox::message::{BodyPath, EnumValue, Message, REQUIRED, Rule, choice, items, number, text};
use crate::sandbox::selector::Selector;

/// What the service knows when it fills in references.
#[derive(Clone, Copy, Debug)]
pub struct FillContext<'a> {
    pub tenant: &'a str,
    /// The namespace of the object that is written.
    pub namespace: &'a str,
}

/// Reads, checks and fills the spec of a request.
pub fn read(spec: &Value, context: FillContext<'_>) -> Result<Box<RawValue>, ErrorResponse> {
    let mut writer = Writer { context, out: String::with_capacity(512) };
    writer.object(SPEC, spec, BodyPath::root("spec"))?;
    RawValue::from_string(writer.out).map_err(ErrorResponse::internal)
}

/// Writes the spec as JSON while it reads the request.
struct Writer<'a> {
    context: FillContext<'a>,
    out: String,
}

impl Writer<'_> {
    fn json(&mut self, value: &impl Serialize) -> Result<(), ErrorResponse> {
        self.out += &serde_json::to_string(value).map_err(ErrorResponse::internal)?;
        Ok(())
    }

    /// The separator and the key of the next member.
    fn key(&mut self, name: &str) {
        let separator = if self.out.ends_with('{') { "" } else { "," };
        self.out += &format!("{separator}\"{name}\":");
    }

    fn object(&mut self, nodes: &[Node], value: &Value, place: BodyPath<'_>) -> Result<(), ErrorResponse> {
        let message = Message::new(value, place)?;
        self.out.push('{');
        for node in nodes {
            match node {
                Node::Field(name, kind) => {
                    self.key(name);
                    self.value(kind, message.get(name).unwrap_or(&Value::Null), place.field(name))?;
                }
                Node::Nullable(name, kind) => {
                    self.key(name);
                    match message.get(name) {
                        Some(value) => self.value(kind, value, place.field(name))?,
                        None => self.out += "null",
                    }
                }
                Node::OneOf(options, unset) => self.option(options, *unset, &message)?,
            }
        }
        self.out.push('}');
        Ok(())
    }

    fn option(
        &mut self,
        options: &'static [(&'static str, Kind)],
        unset: Unset,
        message: &Message<'_>,
    ) -> Result<(), ErrorResponse> {
        let chosen = message.one_of(options.iter().map(|(name, _)| *name))?;
        let (name, value) = match (chosen, unset) {
            (Some(chosen), _) => chosen,
            (None, Unset::Nothing) => return Ok(()),
            (None, Unset::First) => (options[0].0, &Value::Null),
            (None, Unset::Breaks(path)) => {
                return Err(BodyPath::root(&format!("{}.{path}", message.place)).breaks(&REQUIRED, "nil"));
            }
        };
        self.key(name);
        match options.iter().find(|(option, _)| *option == name) {
            // A text that is chosen by `null` is empty, and no rule applies to it.
            Some((_, Kind::Text { .. })) if value.is_null() => self.json(&""),
            Some((_, kind)) => self.value(kind, value, message.place.field(name)),
            None => Ok(()),
        }
    }

    fn value(&mut self, kind: &Kind, value: &Value, place: BodyPath<'_>) -> Result<(), ErrorResponse> {
        match kind {
            Kind::Empty => {
                Message::new(value, place)?;
                self.out += "{}";
                Ok(())
            }
            Kind::Text { rules, default } => {
                let text = checked(rules, text(value, place)?, place)?;
                self.json(&if text.is_empty() { *default } else { text.as_str() })
            }
            Kind::Number(range, rule) => match number(value, place)? {
                number if range.contains(&number) => self.json(&number),
                number => Err(place.breaks(rule, number)),
            },
            Kind::Choice { names, unusable } => {
                let name = choice(value, place, names)?;
                match unusable {
                    Some(rule) if name == EnumValue::Name(names[0]) => Err(place.breaks(rule, names[0])),
                    _ => self.json(&name),
                }
            }
            Kind::Selector(rules) => {
                let expression = checked(rules, text(value, place)?, place)?;
                Selector::parse(&expression).map_err(|problem| {
                    let should = format!("a label selector ({problem})");
                    place.breaks(&Rule::new("string.k8s_label_selector", "true", &should), &expression)
                })?;
                self.json(&expression)
            }
            Kind::Object(nodes) => self.object(nodes, value, place),
            Kind::Reference { kind, namespace } => {
                let reference = Reference::read(
                    value,
                    place,
                    kind,
                    namespace.unwrap_or(self.context.namespace),
                    self.context.tenant,
                )?;
                self.json(&reference)
            }
            Kind::List(item, count) => self.list(item, *count, items(value, place)?, place),
        }
    }

    fn list(&mut self, kind: &Kind, count: Items, items: &[Value], place: BodyPath<'_>) -> Result<(), ErrorResponse> {
        match (count, items.len()) {
            (Items::One, 0) => return Err(place.breaks(&REQUIRED, "nil")),
            (Items::One, more @ 2..) => return Err(place.breaks(&ONE, format_args!("{more} items"))),
            _ => {}
        }
        let mut seen = BTreeSet::new();
        self.out.push('[');
        for (index, item) in items.iter().enumerate() {
            if index > 0 {
                self.out.push(',');
            }
            self.value(kind, item, place.item(index))?;
            if let (Items::Distinct(_), Some(text)) = (count, item.as_str())
                && !seen.insert(text)
            {
                return Err(place.wrong("without repetition", format_args!("{text} twice")));
            }
        }
        self.out.push(']');
        match count {
            Items::Distinct(Some((most, rule))) if items.len() > most => {
                Err(place.breaks(&rule, format_args!("{} items", items.len())))
            }
            _ => Ok(()),
        }
    }
}

/// The text, if it passes every rule.
fn checked(rules: &[TextRule], text: String, place: BodyPath<'_>) -> Result<String, ErrorResponse> {
    match rules.iter().find(|(_, passes)| !passes(&text)) {
        Some((rule, _)) => Err(place.breaks(rule, text)),
        None => Ok(text),
    }
}

/// A reference to another object, as the service writes it.
#[derive(Serialize)]
struct Reference<'a> {
    /// In the service's own spelling, whatever was sent.
    kind: &'a str,
    uid: String,
    tenant: String,
    namespace: String,
    name: String,
}

impl<'a> Reference<'a> {
    fn read(
        value: &Value,
        place: BodyPath<'_>,
        kind: &'a str,
        namespace: &str,
        tenant: &str,
    ) -> Result<Self, ErrorResponse> {
        let message = Message::new(value, place)?;
        let filled = |field: &'static str, rules: &[TextRule], default: &str| -> Result<String, ErrorResponse> {
            let text = checked(rules, message.text(field)?, place.field(field))?;
            Ok(if text.is_empty() { default.to_owned() } else { text })
        };
        message.text("kind")?;
        let name = filled("name", &NAME, "")?;
        if name.is_empty() {
            return Err(place.field("name").breaks(&REQUIRED, "an empty string"));
        }
        let tenant = filled("tenant", &NAMESPACE, tenant)?;
        let namespace = filled("namespace", &NAMESPACE, namespace)?;
        let uid = filled("uid", &[], &derived_uid(&[kind, &tenant, &namespace, &name]))?;
        Ok(Self { kind, uid, tenant, namespace, name })
    }
}

/// The uid of an object that may not be stored here, derived from its names.
pub fn derived_uid(names: &[&str]) -> String {
    let mut bytes = [0; 16];
    bytes.copy_from_slice(&Sha256::digest(names.join("/"))[..16]);
    uuid::Builder::from_random_bytes(bytes).into_uuid().to_string()
}
