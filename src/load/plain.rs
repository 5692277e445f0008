//! Decodes the spec of an object for the fast reader: values by the description, directly from the parser. Anything
//! that would be a problem or a note is an error here, and the careful reader reads the document.

use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::map::{Entry, Map};

use crate::kind::{self, Field, FieldKind, Flag, Message, Part};
use crate::model::Json;

/// Reads a message.
pub(super) struct MessageSeed(pub(super) &'static Message);

impl<'de> DeserializeSeed<'de> for MessageSeed {
    type Value = Json;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Json, D::Error> {
        deserializer.deserialize_map(self)
    }
}

pub(super) fn doubt<E: Error>() -> E {
    E::custom("the careful reader has to look")
}

impl<'de> Visitor<'de> for MessageSeed {
    type Value = Json;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a mapping")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Json, A::Error> {
        let Self(message) = self;
        let (mut values, mut nulls) = (Map::new(), Vec::new());
        let mut chosen: Vec<&str> = Vec::new();
        while let Some(key) = map.next_key::<String>()? {
            let field = message.field(&message.spelled(&key)).ok_or_else(doubt)?;
            // Fields that cause a note, and secrets, which have to be sealed.
            let is_plain = ![Flag::ReadOnly, Flag::Secret, Flag::Deprecated].iter().any(|flag| field.is(*flag));
            if !is_plain || nulls.contains(&field.name) {
                return Err(doubt());
            }
            let Entry::Vacant(place) = values.entry(field.name) else { return Err(doubt()) };
            let is_option = message.group_of(field.name).is_some();
            match map.next_value_seed(Optional(FieldSeed { field, is_option }))? {
                None if field.kind == FieldKind::EMPTY => return Err(doubt()),
                Some(Json::String(text)) if (is_option || message.is_reference) && text.is_empty() => {
                    nulls.push(field.name);
                }
                None => nulls.push(field.name),
                Some(value) => {
                    place.insert(value);
                    chosen.extend(is_option.then_some(field.name));
                }
            }
        }
        let one_of_each = |group: &kind::Group| {
            let set = group.members.iter().filter(|member| chosen.contains(member)).count();
            set == 1 || set == 0 && !group.needs_choice()
        };
        match message.groups.iter().all(one_of_each) && message.missing(&values).next().is_none() {
            true => Ok(Json::Object(values)),
            false => Err(doubt()),
        }
    }
}

/// A value, or `None` where it is null.
struct Optional<S>(S);

impl<'de, S: DeserializeSeed<'de>> DeserializeSeed<'de> for Optional<S> {
    type Value = Option<S::Value>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_option(self)
    }
}

impl<'de, S: DeserializeSeed<'de>> Visitor<'de> for Optional<S> {
    type Value = Option<S::Value>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_none<E>(self) -> Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_unit<E>(self) -> Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        self.0.deserialize(deserializer).map(Some)
    }
}

/// Reads the value or list of a field, and checks it by its rules.
#[derive(Clone, Copy)]
struct FieldSeed {
    field: &'static Field,
    is_option: bool,
}

impl<'de> DeserializeSeed<'de> for FieldSeed {
    type Value = Json;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Json, D::Error> {
        let Self { field, is_option } = self;
        let value = match field.is_list {
            true => deserializer.deserialize_seq(Items(field))?,
            false => (One { field, kind: &field.kind }).deserialize(deserializer)?,
        };
        let is_checked = is_option && value != "" || !field.is_unset(&value);
        good(field, Part::Value, value, is_checked)
    }
}

/// The value, unless it breaks a rule.
fn good<E: Error>(field: &'static Field, part: Part, value: Json, is_checked: bool) -> Result<Json, E> {
    match is_checked && field.broken(part, &value).next().is_some() {
        true => Err(doubt()),
        false => Ok(value),
    }
}

struct Items(&'static Field);

impl<'de> Visitor<'de> for Items {
    type Value = Json;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Json, A::Error> {
        let Self(field) = self;
        let mut values = Vec::new();
        while let Some(item) = items.next_element_seed(Optional(One { field, kind: &field.kind }))? {
            // An item that the service writes causes a note.
            let item = item.filter(|item| !field.is_served(item)).ok_or_else(doubt)?;
            values.push(good(field, Part::Items, item, true)?);
        }
        Ok(Json::Array(values))
    }
}

/// Reads one value of a field: the value itself, an item of its list, or a value of its map.
#[derive(Clone, Copy)]
struct One {
    field: &'static Field,
    kind: &'static FieldKind,
}

impl<'de> DeserializeSeed<'de> for One {
    type Value = Json;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Json, D::Error> {
        match self.kind {
            FieldKind::Bool => deserializer.deserialize_bool(self),
            FieldKind::Integer { .. } | FieldKind::Float { .. } => deserializer.deserialize_any(self),
            FieldKind::Text | FieldKind::Bytes | FieldKind::Timestamp | FieldKind::Duration | FieldKind::Enum(_) => {
                deserializer.deserialize_str(self)
            }
            FieldKind::Map(_) => deserializer.deserialize_map(self),
            FieldKind::Message(_) => {
                let message = self.field.message().ok_or_else(doubt)?;
                let value = MessageSeed(message).deserialize(deserializer)?;
                match message.is_reference && !self.field.takes(&value) {
                    true => Err(doubt()),
                    false => Ok(value),
                }
            }
            FieldKind::Any => Err(doubt()),
        }
    }
}

impl One {
    fn integer<E: Error>(self, number: impl Into<Json> + Into<i128> + Copy) -> Result<Json, E> {
        match self.kind {
            FieldKind::Integer { bits, is_signed } if kind::integers(*bits, *is_signed).contains(&number.into()) => {
                Ok(number.into())
            }
            // The text may have another meaning for the careful reader, such as `0x10`.
            _ => Err(doubt()),
        }
    }
}

impl<'de> Visitor<'de> for One {
    type Value = Json;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value as the description has it")
    }

    fn visit_bool<E: Error>(self, flag: bool) -> Result<Json, E> {
        if *self.kind == FieldKind::Bool { Ok(flag.into()) } else { Err(doubt()) }
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<Json, E> {
        self.integer(number)
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<Json, E> {
        self.integer(number)
    }

    fn visit_f64<E: Error>(self, number: f64) -> Result<Json, E> {
        match matches!(self.kind, FieldKind::Float { .. }) && number.is_finite() {
            true => Ok(number.into()),
            false => Err(doubt()),
        }
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Json, E> {
        match self.kind {
            // A text with a leading zero may be unquoted, and thus another number in YAML 1.1.
            FieldKind::Integer { .. }
                if text.bytes().all(|b| b.is_ascii_digit()) && (text == "0" || !text.starts_with('0')) =>
            {
                self.integer(text.parse::<u64>().map_err(|_| doubt())?)
            }
            FieldKind::Text | FieldKind::Bytes => Ok(text.into()),
            FieldKind::Timestamp | FieldKind::Duration if self.kind.has(text) => Ok(text.into()),
            FieldKind::Enum(id) => {
                let word = kind::word(id, text).filter(|word| self.field.words().any(|one| one == *word));
                word.map(Json::from).ok_or_else(doubt)
            }
            _ => Err(doubt()),
        }
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Json, A::Error> {
        let mut values = Map::new();
        let FieldKind::Map(inner) = self.kind else { return Err(doubt()) };
        while let Some(key) = map.next_key::<String>()? {
            let value = map.next_value_seed(Optional(One { kind: inner, ..self }))?.ok_or_else(doubt)?;
            if key.is_empty() || key == "~" {
                return Err(doubt());
            }
            good::<A::Error>(self.field, Part::Keys, key.as_str().into(), true)?;
            if values.insert(key, good(self.field, Part::Values, value, true)?).is_some() {
                return Err(doubt());
            }
        }
        Ok(Json::Object(values))
    }
}
