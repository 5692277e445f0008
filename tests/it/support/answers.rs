//! How a service may show an object, written apart from the program and from the embedded service: what is unset in any
//! way that means nothing, defaults and references filled in, words as numbers, large numbers as texts, keys in any order.

use serde_json::{Map, Value, json};
use trueup::kind::{self, Field, FieldKind, Flag, Group, GroupFlag, Kind, Message, Rule};

use super::objects::Specs;

/// The tenant of every object.
pub const TENANT: &str = "acme-abcdefgh";

/// Shows objects of a namespace.
pub struct Answers<'s> {
    pub specs: &'s mut Specs,
    pub namespace: &'s str,
}

impl Answers<'_> {
    /// A spec that was sent, as one service may show it.
    pub fn spec(&mut self, kind: &Kind, sent: &Value) -> Value {
        self.message(kind.spec, sent)
    }

    fn message(&mut self, id: &str, sent: &Value) -> Value {
        let none = Map::new();
        let sent = sent.as_object().unwrap_or(&none);
        if kind::is_reference(id) {
            return self.reference(id, sent);
        }
        let message = kind::message(id);
        // A service that is newer than the description knows more.
        let mut shown: Map<String, Value> = sent
            .iter()
            .filter(|(key, _)| message.field(key).is_none())
            .map(|(key, value)| (key.clone(), value.clone()))
            .collect();
        for group in &message.groups {
            self.group(message, group, sent, &mut shown);
        }
        for field in &message.fields {
            let is_option = message.group_of(field.name).is_some();
            if field.is(Flag::Unanswered) || is_option && !sent.contains_key(field.name) {
                continue;
            }
            let value = match sent.get(field.name).filter(|value| !value.is_null()) {
                _ if field.is(Flag::ReadOnly) => self.specs.once_in(2).then(|| json!({"of": "the service"})),
                Some(value) if field.is(Flag::Secret) => self.secret(field, value),
                Some(value) => Some(self.field(field, value)),
                None if field.is(Flag::Filled) => self.specs.field(field, usize::MAX),
                None => self.nothing(field),
            };
            shown.extend(value.map(|value| (field.name.to_owned(), value)));
        }
        shown.into()
    }

    /// What is shown of the options that nobody chose.
    fn group(&mut self, message: &Message, group: &Group, sent: &Map<String, Value>, shown: &mut Map<String, Value>) {
        let chosen = group.members.iter().find(|name| sent.get(**name).is_some_and(|value| !value.is_null()));
        let default = group.default.and_then(|name| message.field(name)).filter(|_| chosen.is_none());
        // An empty default means the same as none, whether the data say that the service fills it or not.
        let filled = default.filter(|field| {
            is_empty_kind(field) && (group.is(GroupFlag::Filled) || needs_nothing(field) && self.specs.once_in(2))
        });
        if let Some(field) = filled {
            let message = kind::message(field.below().unwrap_or_default());
            let is_unset = |field: &&Field| {
                message.group_of(field.name).is_none() && !field.is(Flag::ReadOnly) && !field.is(Flag::Unanswered)
            };
            let unset = message.fields.iter().filter(is_unset);
            let zeros = unset.filter_map(|field| Some((field.name.to_owned(), self.nothing(field)?)));
            shown.insert(field.name.to_owned(), zeros.collect::<Map<_, _>>().into());
        }
        for name in &group.members {
            let is_shown = filled.is_some_and(|field| field.name == *name) || chosen == Some(name);
            let Some(field) = message.field(name).filter(|_| !is_shown) else { continue };
            let is_chosen = chosen.is_some() || filled.is_some();
            match self.specs.below(4) {
                0 => _ = shown.insert((*name).to_owned(), Value::Null),
                1 if is_chosen => shown.extend(zero(field).map(|zero| ((*name).to_owned(), zero))),
                _ => {}
            }
        }
    }

    fn reference(&mut self, id: &str, sent: &Map<String, Value>) -> Value {
        let mut shown = sent.clone();
        let mut fill = |key: &str, value: &str| {
            if shown.get(key).and_then(Value::as_str).is_none_or(str::is_empty) {
                shown.insert(key.to_owned(), value.into());
            }
        };
        fill("tenant", TENANT);
        fill("namespace", self.namespace);
        if id == "ObjectRefType" {
            fill("uid", "5b1b4c7e-0d3f-4a53-9c55-6a8f1d1f2e3a");
            fill("kind", ["site", "site.Object", "ves.io.schema.site.Object"][self.specs.below(3)]);
        }
        shown.into()
    }

    fn secret(&mut self, field: &Field, sent: &Value) -> Option<Value> {
        match self.specs.below(4) {
            0 => None,
            1 => Some(Value::Null),
            2 => Some(sent.clone()),
            _ => Some(if field.kind == FieldKind::Text { json!("") } else { json!({"clear_secret_info": null}) })
                .filter(|_| !field.is_list),
        }
    }

    fn field(&mut self, field: &Field, sent: &Value) -> Value {
        match sent {
            Value::Array(items) if field.is_list => items.iter().map(|item| self.one(&field.kind, item)).collect(),
            value => self.one(&field.kind, value),
        }
    }

    fn one(&mut self, kind: &FieldKind, sent: &Value) -> Value {
        match (kind, sent) {
            (FieldKind::Message(id), sent) => self.message(id, sent),
            (FieldKind::Map(of), Value::Object(entries)) => {
                entries.iter().map(|(key, value)| (key.clone(), self.one(of, value))).collect()
            }
            (FieldKind::Integer { bits: 64, .. }, sent) if self.specs.once_in(2) => match sent {
                Value::Number(number) => number.to_string().into(),
                Value::String(text) => text.parse::<i64>().map_or_else(|_| sent.clone(), Value::from),
                _ => sent.clone(),
            },
            (FieldKind::Enum(id), Value::String(name)) if self.specs.once_in(2) => {
                let values = kind::values(id);
                let number = values.iter().find(|(of, _)| of == name).and_then(|(_, number)| *number);
                number.map_or_else(|| sent.clone(), Value::from)
            }
            (FieldKind::Duration, Value::String(text)) if self.specs.once_in(2) => text
                .strip_suffix('s')
                .filter(|part| part.contains('.'))
                .map_or(text.clone(), |part| format!("{part}00s"))
                .into(),
            (FieldKind::Timestamp, Value::String(text)) if self.specs.once_in(2) => text
                .strip_suffix('Z')
                .filter(|part| !part.contains('.'))
                .map_or(text.clone(), |part| format!("{part}.000Z"))
                .into(),
            (_, sent) => sent.clone(),
        }
    }

    /// One of the ways to show a field that was never set.
    fn nothing(&mut self, field: &Field) -> Option<Value> {
        match self.specs.below(3) {
            0 => None,
            1 => Some(Value::Null),
            _ => zero(field),
        }
    }

    /// The value as text, with the keys of each mapping in any order.
    pub fn shuffled(&mut self, value: &Value) -> String {
        let list = |parts: Vec<String>| parts.join(", ");
        match value {
            Value::Array(items) => {
                format!("[{}]", list(items.iter().map(|item| self.shuffled(item)).collect()))
            }
            Value::Object(entries) => {
                let mut parts: Vec<String> = entries
                    .iter()
                    .map(|(key, value)| format!("{}: {}", Value::from(key.as_str()), self.shuffled(value)))
                    .collect();
                for at in (1..parts.len()).rev() {
                    parts.swap(at, self.specs.below(at + 1));
                }
                format!("{{{}}}", list(parts))
            }
            scalar => scalar.to_string(),
        }
    }
}

/// Whether an option can be chosen without a value.
fn is_empty_kind(field: &Field) -> bool {
    let is_hidden = field.is(Flag::Secret) || field.is(Flag::Unanswered);
    !field.is_list && !is_hidden && matches!(field.kind, FieldKind::Message(_))
}

/// Whether nothing in it has to be set.
fn needs_nothing(field: &Field) -> bool {
    let message = field.below().map(kind::message);
    message.is_none_or(|message| {
        let is_needed = |field: &Field| field.is(Flag::Required);
        let must_say_something = field.rules.iter().any(|(_, rule)| *rule == Rule::OneNonzero);
        !must_say_something
            && !message.fields.iter().any(is_needed)
            && !message.groups.iter().any(|group| group.is(GroupFlag::Required) || group.is(GroupFlag::Needed))
    })
}

/// The zero of a field's type; nothing where a message has none.
pub fn zero(field: &Field) -> Option<Value> {
    if field.is_list {
        return Some(json!([]));
    }
    Some(match &field.kind {
        FieldKind::Bool => json!(false),
        FieldKind::Integer { bits: 64, .. } => json!("0"),
        FieldKind::Integer { .. } | FieldKind::Float { .. } => json!(0),
        FieldKind::Text | FieldKind::Bytes => json!(""),
        FieldKind::Enum(id) => {
            let values = kind::values(id);
            let first = values.first().filter(|(_, number)| number.is_none());
            json!(values.iter().find(|(_, number)| *number == Some(0)).or(first)?.0)
        }
        FieldKind::Map(_) => json!({}),
        _ => Value::Null,
    })
}

/// What a replaced object still has that a replace does not contain: what only a create has, and what no request has.
pub fn carried(id: &str, before: &Value, sent: &mut Value) {
    match (before, sent) {
        (Value::Array(before), Value::Array(sent)) if before.len() == sent.len() => {
            before.iter().zip(sent).for_each(|(before, sent)| carried(id, before, sent));
        }
        (Value::Object(before), Value::Object(sent)) => {
            let message = kind::message(id);
            for (key, before) in before {
                let Some(field) = message.field(key) else { continue };
                let is_free = message
                    .group_of(key)
                    .is_none_or(|group| !group.members.iter().any(|name| sent.contains_key(*name)));
                if field.is(Flag::CreateOnly) && !before.is_null() && is_free {
                    sent.insert(key.clone(), before.clone());
                } else if let (Some(id), Some(sent)) = (field.below(), sent.get_mut(key)) {
                    match (&field.kind, before, sent) {
                        (FieldKind::Map(_), Value::Object(before), Value::Object(sent)) => {
                            for (key, sent) in sent {
                                carried(id, before.get(key).unwrap_or(&Value::Null), sent);
                            }
                        }
                        (_, before, sent) => carried(id, before, sent),
                    }
                }
            }
        }
        _ => {}
    }
}

/// What a spec means, however it is written: by the words of the documentation and apart from the program.
pub fn meaning(id: &str, value: &Value, namespace: &str) -> Value {
    let Value::Object(entries) = value else { return value.clone() };
    if kind::is_reference(id) {
        let text = |key: &str| entries.get(key).and_then(Value::as_str).filter(|text| !text.is_empty());
        let mut parts = vec![text("namespace").unwrap_or(namespace), text("name").unwrap_or_default()];
        parts.extend(text("tenant").filter(|tenant| *tenant != TENANT));
        return parts.join("/").into();
    }
    let message = kind::message(id);
    let mut means = Map::new();
    for (key, value) in entries.iter().filter(|(_, value)| !value.is_null()) {
        let Some(field) = message.field(key) else {
            means.insert(key.clone(), value.clone());
            continue;
        };
        if field.is(Flag::ReadOnly) || field.is(Flag::Unanswered) || field.is(Flag::Secret) {
            continue;
        }
        let value = match value {
            Value::Array(items) if field.is_list => {
                items.iter().map(|item| one(&field.kind, item, namespace)).collect()
            }
            value => one(&field.kind, value, namespace),
        };
        let is_nothing = zero(field).is_some_and(|zero| one(&field.kind, &zero, namespace) == value);
        let group = message.group_of(key);
        let is_default = group.is_some_and(|group| group.default == Some(key.as_str())) && value == json!({});
        let is_other_chosen = || {
            group.is_some_and(|group| {
                group.members.iter().any(|name| {
                    let other = message.field(name).zip(entries.get(*name)).filter(|_| name != key);
                    other.is_some_and(|(field, value)| !value.is_null() && zero(field).as_ref() != Some(value))
                })
            })
        };
        // What is chosen may be a secret, which no answer shows.
        let is_secret = |name: &&str| message.field(name).is_some_and(|field| field.is(Flag::Secret));
        let is_beside_secret = || group.is_some_and(|group| group.members.iter().any(is_secret));
        let is_text = field.kind == FieldKind::Text;
        if !is_default && !(is_nothing && (group.is_none() || is_text || is_other_chosen() || is_beside_secret())) {
            means.insert(key.clone(), value);
        }
    }
    means.into()
}

fn one(kind: &FieldKind, value: &Value, namespace: &str) -> Value {
    match (kind, value) {
        (FieldKind::Message(id), value) => meaning(id, value, namespace),
        (FieldKind::Map(of), Value::Object(entries)) => {
            entries.iter().map(|(key, value)| (key.clone(), one(of, value, namespace))).collect()
        }
        (FieldKind::Integer { .. }, Value::Number(number)) => number.to_string().into(),
        (FieldKind::Float { bits: 32 }, Value::Number(number)) => json!(number.to_string().parse::<f32>().ok()),
        (FieldKind::Float { .. }, Value::Number(number)) => json!(number.as_f64()),
        (FieldKind::Enum(id), Value::Number(number)) => {
            let name = kind::values(id).iter().find(|(_, of)| of.map(i64::from) == number.as_i64());
            name.map_or_else(|| value.clone(), |(name, _)| (*name).into())
        }
        (FieldKind::Duration, Value::String(text)) => {
            let seconds: Option<f64> = text.strip_suffix('s').and_then(|text| text.parse().ok());
            seconds.map_or_else(|| value.clone(), |seconds| json!(seconds))
        }
        (FieldKind::Timestamp, Value::String(text)) => text.replace(".000Z", "Z").into(),
        _ => value.clone(),
    }
}
