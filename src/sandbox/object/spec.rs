//! Reads the spec of a request by the description of its kind, and makes the spec of the answer: defaults are filled
//! in, references are completed, secrets are removed, unset fields have their zero value, and an exclusive group
//! contains only the chosen option.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};

use super::kind::ObjectKind;
use super::record::raw_json;
use super::reference::{derived_uid, referred};
use super::rule;
use crate::kind::{self, Described, Field, FieldKind, Flag, Group, GroupFlag, Ordered, Part};
use crate::sandbox::answer::ErrorResponse;
use crate::sandbox::message::{BodyPath, REQUIRED, Rule, Sent, camel};
use crate::sandbox::timestamp::written;

type Object = Map<String, Value>;

/// Whether a spec is for a new or an existing object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verb {
    Create,
    Replace,
}

/// Deviations from the description in the handling of specs, as a scenario asks for them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct WriteMode {
    fill: Fill,
    secrets: Secrets,
    /// Keys that the description lacks: kept if the service is newer than the description.
    unknown: Leftover,
    /// Values that a replace leaves out: if kept, those at the top of the spec stay unchanged.
    removed: Leftover,
}

/// Which groups without a chosen option get their default.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Fill {
    None,
    /// The groups that the description marks.
    #[default]
    Known,
    /// All groups with a default.
    Every,
}

/// How a secret is answered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Secrets {
    #[default]
    Stripped,
    /// The secret as it was sent.
    Sent,
    /// The secret with another text.
    Sealed,
}

/// What happens to parts that the service usually drops.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Leftover {
    #[default]
    Dropped,
    Kept,
}

/// The message with this id, in the order in which the service writes it.
fn in_order(id: &'static str, message: Object) -> Result<Box<RawValue>, ErrorResponse> {
    raw_json(&Ordered::new(Described::of(kind::message(id)), &message.into()))
}

impl Reader<'_> {
    /// Reads, checks and fills the spec of a request.
    pub fn read(&self, kind: &ObjectKind, spec: &Value) -> Result<Box<RawValue>, ErrorResponse> {
        in_order(kind.described.spec, self.message(kind.described.spec, spec, BodyPath::root("spec"))?)
    }

    /// The spec of an object in which only defaults are set.
    pub fn empty(&self, kind: &ObjectKind) -> Result<Box<RawValue>, ErrorResponse> {
        // If a field is required, the spec is made without it.
        self.read(kind, &json!({})).or_else(|_| in_order(kind.described.spec, without_choices(kind.described.spec)))
    }
}

/// Reads the specs of one request.
#[derive(Clone, Copy, Debug)]
pub struct Reader<'a> {
    pub verb: Verb,
    pub tenant: &'a str,
    /// The namespace of the object that is written.
    pub namespace: &'a str,
    pub mode: WriteMode,
}

/// A part of a field with a value: the field itself, an item, or an entry.
#[derive(Clone, Copy)]
struct Site<'a> {
    field: &'a Field,
    part: Part,
    /// Whether zero is not checked, because it means that the field is unset.
    is_optional: bool,
    place: BodyPath<'a>,
}

impl Site<'_> {
    fn check(&self, value: &Value) -> Result<(), ErrorResponse> {
        if self.is_optional && rule::is_zero(value) {
            return Ok(());
        }
        rule::check(self.field, self.part, value, self.place)
    }
}

impl Reader<'_> {
    fn message(&self, id: &str, value: &Value, place: BodyPath<'_>) -> Result<Object, ErrorResponse> {
        let described = kind::message(id);
        let sent = Sent { value, place }.object()?;
        let chosen =
            described.groups.iter().filter_map(|group| self.choice(group, &described.fields, &sent).transpose());
        let chosen: BTreeMap<&str, &Value> = chosen.collect::<Result<_, _>>()?;
        let mut object = Object::new();
        if let (Leftover::Kept, Value::Object(sent)) = (self.mode.unknown, value) {
            let is_known =
                |key: &str| described.fields.iter().any(|field| field.name == key || camel(field.name) == key);
            object
                .extend(sent.iter().filter(|(key, _)| !is_known(key)).map(|(key, value)| (key.clone(), value.clone())));
        }
        for field in described.fields.iter().filter(|field| !field.is(Flag::ReadOnly)) {
            let value = match chosen.get(field.name) {
                Some(Value::Null) => self.without_value(field, place)?,
                Some(value) => self.field(field, value, place, false)?,
                None if described.group_of(field.name).is_some() => continue,
                None => {
                    let sent = sent.get(field.name).filter(|_| self.takes(field)).unwrap_or(&Value::Null);
                    self.field(field, sent, place, true)?
                }
            };
            if !field.is(Flag::Unanswered) {
                object.insert(field.name.to_owned(), value);
            }
        }
        for field in described.fields.iter().filter(|field| field.mirrors.is_some()) {
            if let Some(mirror) = self.mirror(field, &object, place)? {
                object.insert(field.name.to_owned(), mirror);
            }
        }
        Ok(object)
    }

    /// The content of a list of messages that the request leaves out and the service fills from another list.
    fn mirror(&self, field: &Field, object: &Object, place: BodyPath<'_>) -> Result<Option<Value>, ErrorResponse> {
        if !object.get(field.name).is_some_and(rule::is_zero) {
            return Ok(None);
        }
        let source = field.mirrors.and_then(|source| object.get(source)).and_then(Value::as_array);
        let (Some(source), FieldKind::Message(id)) = (source, &field.kind) else { return Ok(None) };
        let Some(says) = kind::message(id).fields.iter().find(|says| says.is(Flag::Required)) else { return Ok(None) };
        let items = source.iter().map(|item| Object::from_iter([(says.name.to_owned(), item.clone())]));
        self.field(field, &items.map(Value::from).collect(), place, true).map(Some)
    }

    /// Whether this request can contain this field; other fields are unknown to it.
    fn takes(&self, field: &Field) -> bool {
        !field.is(match self.verb {
            Verb::Create => Flag::ReplaceOnly,
            Verb::Replace => Flag::CreateOnly,
        })
    }

    /// The option of a group that the request chooses, or its default if that is filled in.
    fn choice<'v>(
        &self,
        group: &Group,
        fields: &[Field],
        sent: &Sent<'v>,
    ) -> Result<Option<(&'static str, &'v Value)>, ErrorResponse> {
        let is_taken = |name: &&str| fields.iter().any(|field| field.name == *name && self.takes(field));
        let members = || group.members.iter().copied().filter(is_taken);
        // The service accepts two options of a group in items of lists, but refuses them elsewhere.
        let chosen = match sent.place.is_in_list() {
            true => members().filter_map(|name| Some((name, sent.find(name)?))).next_back(),
            false => sent.one_of(members())?,
        };
        let default = group.default.filter(|default| members().any(|name| name == *default));
        match (chosen, default) {
            (None, Some(default)) if self.fills(group) => Ok(Some((default, &Value::Null))),
            (None, None) if group.is(GroupFlag::Required) && members().next().is_some() => {
                let rule = Rule::new("message.required_oneof", "true", "not nil");
                Err(sent.place.field(group.name).breaks(&rule, "nil"))
            }
            _ => Ok(chosen),
        }
    }

    /// The value of an option that is chosen without one: for a message, that of an empty message. Other types are not
    /// checked.
    fn without_value(&self, field: &Field, above: BodyPath<'_>) -> Result<Value, ErrorResponse> {
        match &field.kind {
            // Groups that are filled only by the scenario may lack required fields.
            FieldKind::Message(id) if !field.is_list && self.mode.fill == Fill::Every => Ok(without_choices(id).into()),
            FieldKind::Message(_) if !field.is_list => self.field(field, &json!({}), above, false),
            _ => Ok(unset(field)),
        }
    }

    fn fills(&self, group: &Group) -> bool {
        match self.mode.fill {
            Fill::None => false,
            Fill::Known => group.is(GroupFlag::Filled),
            Fill::Every => true,
        }
    }

    /// The value of a field, with all its items or entries.
    fn field(
        &self,
        field: &Field,
        value: &Value,
        above: BodyPath<'_>,
        is_optional: bool,
    ) -> Result<Value, ErrorResponse> {
        let place = above.field(field.name);
        let is_enumeration = !field.is_list && matches!(field.kind, FieldKind::Enum(_));
        // A required list or enumeration is checked by its rules even if it is empty or 0.
        let is_ruled = is_required(field) && self.takes(field) && (field.is_list || is_enumeration);
        let site = Site { field, part: Part::Value, is_optional: is_optional && !is_ruled, place };
        let read = if field.is_list {
            let mut items = Vec::new();
            for (index, item) in (Sent { value, place }).items()?.iter().enumerate() {
                let site = Site { part: Part::Items, is_optional: false, place: place.item(index), ..site };
                items.push(self.value(&field.kind, item, site)?);
            }
            let items = Value::Array(items);
            site.check(&items)?;
            items
        } else if value.is_null() {
            if is_enumeration {
                site.check(&0.into())?;
            }
            zero(&field.kind)
        } else {
            self.value(&field.kind, value, site)?
        };
        let default = field.default.filter(|_| rule::is_zero(&read));
        let read = default.map_or(read, Value::from);
        if is_optional && self.takes(field) && is_enforced(field) && rule::is_zero(&read) {
            return Err(place.breaks(&REQUIRED, if read.is_null() { "nil" } else { "an empty string" }));
        }
        Ok(match self.mode.secrets {
            Secrets::Stripped if field.is(Flag::Secret) => stripped(&field.kind, read),
            Secrets::Sealed if field.is(Flag::Secret) => sealed(field, read),
            _ => read,
        })
    }

    fn value(&self, kind: &FieldKind, value: &Value, site: Site<'_>) -> Result<Value, ErrorResponse> {
        let place = site.place;
        let sent = Sent { value, place };
        let scalar = |value: Value| site.check(&value).map(|()| value);
        match kind {
            FieldKind::Bool => scalar(sent.boolean()?.into()),
            FieldKind::Integer { bits, is_signed } => {
                let number = scalar(match (bits, is_signed) {
                    (32, true) => sent.integer::<i32>("a 32 bit integer")?.into(),
                    (32, false) => sent.integer::<u32>("an unsigned 32 bit integer")?.into(),
                    (_, true) => sent.integer::<i64>("a 64 bit integer")?.into(),
                    (_, false) => sent.integer::<u64>("an unsigned 64 bit integer")?.into(),
                })?;
                // JSON numbers cannot hold 64 bits, so these are texts.
                Ok(if *bits == 32 { number } else { number.to_string().into() })
            }
            FieldKind::Float { bits } => {
                let mut number = sent.double()?;
                if *bits == 32 {
                    // Only the digits of single precision.
                    let single: Option<f32> = number.to_string().parse().ok();
                    number = single.and_then(|single| single.to_string().parse().ok()).unwrap_or(number);
                }
                let number = scalar(number.into())?;
                // A number without a fraction is written as an integer.
                let whole = number.as_f64().filter(|number| number.fract() == 0.0).map(|number| format!("{number:.0}"));
                Ok(whole.and_then(|whole| whole.parse::<i64>().ok()).map_or(number, Value::from))
            }
            FieldKind::Text | FieldKind::Bytes => scalar(sent.text()?.into()),
            FieldKind::Timestamp => {
                let text = sent.text()?;
                match text.parse::<Timestamp>() {
                    Ok(time) => scalar(written(time).into()),
                    // The last second of proto3, which is later than any `Timestamp`.
                    Err(_) if text == "9999-12-31T23:59:59Z" => scalar(text.into()),
                    Err(_) => Err(place.wrong("a time of RFC 3339", &text)),
                }
            }
            FieldKind::Duration => {
                let text = sent.text()?;
                let is_digit = |byte: u8| byte.is_ascii_digit() || byte == b'.' || byte == b'-';
                let seconds = text.strip_suffix('s').filter(|seconds| seconds.bytes().all(is_digit));
                let seconds = seconds.and_then(|seconds| seconds.parse::<f64>().ok());
                seconds.ok_or_else(|| place.wrong("seconds such as 1.5s", &text))?;
                scalar(text.into())
            }
            FieldKind::Any => Ok(value.clone()),
            FieldKind::Message(id) => {
                let mut object = self.message(id, value, place)?;
                site.check(value)?;
                if kind::is_reference(id) {
                    self.complete(site, id, &mut object)?;
                }
                Ok(object.into())
            }
            FieldKind::Enum(id) => enumerated(id, value, site),
            FieldKind::Map(of) => {
                let entries = match value {
                    Value::Null => &Object::new(),
                    Value::Object(entries) => entries,
                    _ => return Err(place.wrong("an object", value)),
                };
                let mut rules = site.field.rules.iter();
                let are_numbers = rules.any(|(part, rule)| *part == Part::Keys && rule.is_about_numbers());
                let mut read = Object::new();
                for (key, value) in entries {
                    let written = match are_numbers {
                        true => key.parse::<u32>().map_err(|_| place.wrong("keyed by numbers", key))?.into(),
                        false => key.as_str().into(),
                    };
                    rule::check(site.field, Part::Keys, &written, place)?;
                    let site = Site { part: Part::Values, is_optional: false, place: place.field(key), ..site };
                    read.insert(key.clone(), self.value(of, value, site)?);
                }
                scalar(read.into())
            }
        }
    }

    /// Completes a reference to another object.
    fn complete(&self, site: Site<'_>, id: &str, object: &mut Object) -> Result<(), ErrorResponse> {
        let is_empty = |object: &Object, key: &str| object.get(key).is_none_or(rule::is_zero);
        if is_empty(object, "name") {
            return Err(site.place.field("name").breaks(&REQUIRED, "an empty string"));
        }
        let namespace = site.field.namespace.unwrap_or(self.namespace);
        for (key, value) in [("tenant", self.tenant), ("namespace", namespace)] {
            if is_empty(object, key) {
                object.insert(key.to_owned(), value.into());
            }
        }
        if id == "ObjectRefType" {
            let written = object.get("kind").and_then(Value::as_str).unwrap_or_default();
            let kind = referred(site.field, written).into_iter().next().unwrap_or_default();
            let kind = ObjectKind::find(&kind).map_or(format!("{kind}.Object"), |kind| kind.short_type.clone());
            let text = |key: &str| object.get(key).and_then(Value::as_str).unwrap_or_default();
            let uid = derived_uid(&[&kind, text("tenant"), text("namespace"), text("name")]);
            if is_empty(object, "uid") {
                object.insert("uid".to_owned(), uid.into());
            }
            object.insert("kind".to_owned(), kind.into());
        }
        Ok(())
    }
}

/// The spec of a replaced object: fields that a replace cannot set or that only the service writes stay, and an
/// immutable field must not change.
pub fn carried(
    kind: &ObjectKind,
    before: &RawValue,
    sent: &RawValue,
    mode: WriteMode,
) -> Result<Box<RawValue>, ErrorResponse> {
    let read = |spec: &RawValue| serde_json::from_str::<Object>(spec.get()).map_err(ErrorResponse::internal);
    let (before, mut spec) = (read(before)?, read(sent)?);
    carry(kind.described.spec, &before, &mut spec, BodyPath::root("spec"))?;
    if mode.removed == Leftover::Kept {
        for (name, value) in spec.iter_mut().filter(|(_, value)| rule::is_zero(value)) {
            if let Some(was) = before.get(name) {
                value.clone_from(was);
            }
        }
    }
    in_order(kind.described.spec, spec)
}

fn carry(id: &str, before: &Object, spec: &mut Object, place: BodyPath<'_>) -> Result<(), ErrorResponse> {
    const UNCHANGED: Rule<'_> = Rule::new("message.immutable", "true", "as it is: it cannot change");
    let described = kind::message(id);
    let chosen = |group: &Group, object: &Object| group.members.iter().copied().find(|name| object.contains_key(*name));
    for field in &described.fields {
        let (was, group) = (before.get(field.name), described.group_of(field.name));
        if field.is(Flag::CreateOnly) || field.is(Flag::ReadOnly) {
            if let Some(was) = was.filter(|_| group.is_none_or(|group| chosen(group, spec).is_none())) {
                spec.insert(field.name.to_owned(), was.clone());
            }
        } else if field.is(Flag::Immutable) && differ(was, spec.get(field.name)) {
            return Err(place.field(field.name).breaks(&UNCHANGED, "another value"));
        } else if let (FieldKind::Message(id), Some(Value::Object(was))) = (&field.kind, was)
            && let Some(Value::Object(now)) = spec.get_mut(field.name)
        {
            carry(id, was, now, place.field(field.name))?;
        }
    }
    let is_changed = |group: &&Group| chosen(group, before).is_some_and(|was| Some(was) != chosen(group, spec));
    match described.groups.iter().filter(|group| group.is(GroupFlag::Immutable)).find(is_changed) {
        Some(group) => Err(place.field(group.name).breaks(&UNCHANGED, "another option")),
        None => Ok(()),
    }
}

/// Whether two values of a field differ; a missing value equals zero.
fn differ(one: Option<&Value>, other: Option<&Value>) -> bool {
    let value = |value: Option<&Value>| value.filter(|value| !rule::is_zero(value)).cloned();
    value(one) != value(other)
}

/// Whether the service requires a field: never an internal or a deprecated one.
fn is_required(field: &Field) -> bool {
    field.is(Flag::Required) && !field.is(Flag::Internal) && !field.is(Flag::Deprecated)
}

/// Whether a field must be set: required texts, messages and timestamps; for other fields only their rules count.
fn is_enforced(field: &Field) -> bool {
    let is_text_or_message = matches!(field.kind, FieldKind::Text | FieldKind::Message(_) | FieldKind::Timestamp);
    is_required(field) && !field.is_list && is_text_or_message
}

/// Reads a name or a number of an enumeration.
fn enumerated(id: &str, value: &Value, site: Site<'_>) -> Result<Value, ErrorResponse> {
    let values = kind::values(id);
    let number = match value {
        Value::String(text) => {
            let known = values.iter().find(|(name, _)| name == text);
            let names = || values.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(", ");
            known.ok_or_else(|| site.place.wrong(format_args!("one of {}", names()), text))?.1
        }
        _ => Some(Sent { value, place: site.place }.integer::<i32>("the name of an enum value")?),
    };
    // Only the number is stored, so a number with two names is answered with the first one.
    let name = number.and_then(|number| values.iter().find(|(_, of)| *of == Some(number))).map(|(name, _)| *name);
    if number.is_some() && name.is_none() && site.field.rules.contains(&(site.part, kind::Rule::DefinedOnly)) {
        let rule = Rule::new("enum.defined_only", "true", "the number of an enum value");
        return Err(site.place.breaks(&rule, value));
    }
    if let Some(number) = number {
        site.check(&number.into())?;
    }
    Ok(name.map_or_else(|| value.clone(), Value::from))
}

/// The value of an unset field.
fn unset(field: &Field) -> Value {
    if field.is_list { json!([]) } else { zero(&field.kind) }
}

fn zero(kind: &FieldKind) -> Value {
    match kind {
        FieldKind::Bool => false.into(),
        FieldKind::Integer { bits: 64, .. } => "0".into(),
        FieldKind::Integer { .. } | FieldKind::Float { .. } => 0.into(),
        FieldKind::Text | FieldKind::Bytes => "".into(),
        FieldKind::Enum(id) => {
            let values = kind::values(id);
            let zero = values.iter().find(|(_, number)| *number == Some(0)).or(values.first());
            zero.map_or(Value::Null, |(name, _)| (*name).into())
        }
        FieldKind::Map(_) => json!({}),
        FieldKind::Timestamp | FieldKind::Duration | FieldKind::Any | FieldKind::Message(_) => Value::Null,
    }
}

/// A message without any set field.
fn without_choices(id: &str) -> Object {
    let message = kind::message(id);
    let fields = message.fields.iter().filter(|field| message.group_of(field.name).is_none());
    let shown = fields.filter(|field| !field.is(Flag::ReadOnly) && !field.is(Flag::Unanswered));
    shown.map(|field| (field.name.to_owned(), unset(field))).collect()
}

/// A secret in an answer, which shows only that there is one.
fn stripped(kind: &FieldKind, value: Value) -> Value {
    match (kind, value) {
        (_, Value::Null) => Value::Null,
        (kind, Value::Array(items)) => items.into_iter().map(|item| stripped(kind, item)).collect(),
        (FieldKind::Map(of), Value::Object(entries)) => {
            entries.into_iter().map(|(key, value)| (key, stripped(of, value))).collect::<Object>().into()
        }
        (FieldKind::Message(id), _) => without_choices(id).into(),
        (kind, _) => zero(kind),
    }
}

/// A secret in an answer of a service that encrypts it again: with other texts.
fn sealed(field: &Field, value: Value) -> Value {
    match value {
        Value::Array(items) => items.into_iter().map(|item| sealed(field, item)).collect(),
        Value::Object(entries) => {
            entries.into_iter().map(|(key, value)| (key, sealed(field, value))).collect::<Object>().into()
        }
        Value::String(text) => {
            let other = || derived_uid(&[&text]).replace('-', "");
            match text.strip_prefix("string:///") {
                Some(_) => format!("string:///{}", other()).into(),
                None if field.kind == FieldKind::Text && !text.is_empty() => other().into(),
                None => text.into(),
            }
        }
        other => other,
    }
}
