//! Specs that a definition has as a whole: omitted fields have their defaults, and other values are not allowed. Such a
//! spec is stored with the defaults below its units written out, so that equivalent values are equal and its digests
//! and documents stay compatible with earlier versions.

use std::borrow::Cow;

use serde_json::{Map, Value as Json};

use super::spec::{is_unchosen, is_zero_of, scalar};
use super::walk::is_zero;
use super::{
    Described, Field, FieldKind, Flag, Group, GroupFlag, Message, Ordered, Part, Rule, Unit, form, is_zero_of_enum,
    values,
};

/// The units of a spec, live or written, in the order of the description, each with its canonical text, without those that
/// have their default.
///
/// # Errors
/// Why the value is not such a spec, as a fragment: two options of a group, none where one is needed, a value of
/// another type, an unknown word, an unknown key.
pub fn whole(spec: &'static Message, value: &Json) -> Result<Vec<(&'static str, Box<str>)>, String> {
    units_of(spec, value).map_err(|fault| format!("`spec{}` {}", fault.path, fault.what))
}

fn units_of(spec: &'static Message, value: &Json) -> Result<Vec<(&'static str, Box<str>)>, Fault> {
    let level = Level::new(spec, value)?;
    let mut units = Vec::with_capacity(spec.groups.len() + 3);
    for (at, field) in spec.fields.iter().enumerate() {
        let Some(value) = level.value(at)? else { continue };
        let (place, name, value) = match spec.grouped[at] {
            Some(group) => (group, spec.groups[group].name, Map::from_iter([(field.name.to_owned(), value)]).into()),
            None if field.message().is_some() && value == open_value(spec, field.name) => continue,
            None => (spec.groups.len() + at, field.name, value),
        };
        let text = serde_json::to_string(&Ordered::new(Described::of_unit(spec, name), &value));
        units.push((place, name, text.unwrap_or_default().into()));
    }
    units.sort_by_key(|(place, ..)| *place);
    Ok(units.into_iter().map(|(_, name, text)| (name, text)).collect())
}

/// The value of a unit that is left out; `null` where it has none.
pub fn open_value(spec: &Message, unit: &str) -> Json {
    let Some(field) = spec.field(unit).filter(|_| spec.group_of(unit).is_none()) else { return Json::Null };
    match (&field.kind, field.message()) {
        (FieldKind::Integer { .. }, _) => 0.into(),
        (FieldKind::Message(_), Some(message)) if !field.is_list => {
            let defaults = message.groups.iter().filter_map(|group| default_option(message, group));
            let options: Map<_, _> =
                defaults.map(|option| (option.name.to_owned(), Json::Object(Map::new()))).collect();
            if options.is_empty() { Json::Null } else { Json::Object(options) }
        }
        _ => field.default.map_or(Json::Null, Json::from),
    }
}

/// The option that the service fills into a group that is left open, where it has no fields.
fn default_option<'m>(message: &'m Message, group: &Group) -> Option<&'m Field> {
    let option = group.default.filter(|_| group.is(GroupFlag::Filled)).and_then(|option| message.field(option));
    option.filter(|option| option.kind == FieldKind::EMPTY)
}

/// What is wrong with a value.
struct Fault {
    /// Where, such as `.where.site`.
    path: String,
    /// What, as the end of a sentence.
    what: String,
}

impl Fault {
    fn new(what: String) -> Self {
        Self { path: String::new(), what }
    }

    fn below(self, step: &str) -> Self {
        Self { path: format!("{step}{}", self.path), ..self }
    }
}

/// A message with the given value of each field and the chosen option of each group.
struct Level<'a> {
    message: &'a Message,
    given: Vec<Option<&'a Json>>,
    chosen: Vec<Option<&'a Field>>,
}

impl<'a> Level<'a> {
    fn new(message: &'a Message, value: &'a Json) -> Result<Self, Fault> {
        let Json::Object(keys) = value else { return Err(Fault::new(format!("is {value}"))) };
        let mut level =
            Self { message, given: vec![None; message.fields.len()], chosen: vec![None; message.groups.len()] };
        for (key, value) in keys.iter().filter(|(_, value)| !value.is_null()) {
            match message.place(key).or_else(|| message.place(&message.spelled(key))) {
                Some(at) if message.fields[at].is(Flag::ReadOnly) => {}
                Some(at) => level.given[at] = Some(value),
                None if is_zero(value) => {}
                None => return Err(Fault::new(format!("has an unknown `{key}`"))),
            }
        }
        for (at, option) in message.fields.iter().enumerate() {
            let (Some(value), Some(group)) = (level.given[at], message.grouped[at]) else { continue };
            if says_nothing(option, value) && !level.is_chosen(option, value) {
                continue;
            }
            if let Some(other) = level.chosen[group].replace(option) {
                return Err(Fault::new(format!("has both `{}` and `{}`", other.name, option.name)));
            }
        }
        for (group, chosen) in message.groups.iter().zip(&mut level.chosen).filter(|(_, chosen)| chosen.is_none()) {
            if group.needs_choice() {
                let names: Vec<String> = group.members.iter().map(|name| format!("`{name}`")).collect();
                return Err(Fault::new(format!("has none of {}", names.join(", "))));
            }
            *chosen = default_option(message, group);
        }
        Ok(level)
    }

    /// Whether an option with a zero value is chosen: the service may write the zeros of all options.
    fn is_chosen(&self, option: &Field, value: &Json) -> bool {
        let given = |field: &Field| self.message.place(field.name).and_then(|at| self.given[at]);
        let is_zero = |field: &&Field| given(field).is_some_and(|value| says_nothing(field, value));
        let zeros: Vec<&Field> = self.message.fields.iter().filter(is_zero).collect();
        let is_written = |name: &str| self.message.field(name).is_some_and(|field| given(field).is_some());
        !is_unchosen(self.message, option, value, &zeros, &is_written)
    }

    /// The message with the values of its fields.
    fn json(&self) -> Result<Json, Fault> {
        let mut entries = Map::new();
        for (at, field) in self.message.fields.iter().enumerate() {
            entries.extend(self.value(at)?.map(|value| (field.name.to_owned(), value)));
        }
        if entries.is_empty() {
            let shown = self.message.fields.iter().find(|field| field.is(Flag::Shown) && field.is_list);
            entries.extend(shown.map(|field| (field.name.to_owned(), Json::Array(Vec::new()))));
        }
        Ok(entries.into())
    }

    /// The value of a field, if there is one.
    fn value(&self, at: usize) -> Result<Option<Json>, Fault> {
        let (message, field) = (self.message, &self.message.fields[at]);
        let group = message.grouped[at];
        if group.is_some_and(|group| self.chosen[group].is_none_or(|chosen| chosen.name != field.name)) {
            return Ok(None);
        }
        // The name identifies the object; the service writes the kind in various ways.
        let says_something = |value: &&Json| group.is_some() || !says_nothing(field, value);
        let given = self.given[at].filter(says_something).filter(|_| !message.is_reference || field.name != "kind");
        match (given, &field.kind) {
            (Some(value), _) => {
                of_field(field, value).map(Some).map_err(|fault| fault.below(&format!(".{}", field.name)))
            }
            // The default of a group that is left open.
            (None, FieldKind::Message("")) if group.is_some() => Ok(Some(Map::new().into())),
            (None, _) if message.enforces(field) => Err(Fault::new(format!("has no `{}`", field.name))),
            (None, FieldKind::Enum(id)) if !field.is_list && group.is_none() => {
                let zero = values(id).iter().find(|(name, _)| is_zero_of_enum(id, name));
                Ok(zero.map(|(name, _)| Json::from(*name)))
            }
            (None, _) => Ok(None),
        }
    }
}

/// The canonical value of a field.
fn of_field(field: &Field, value: &Json) -> Result<Json, Fault> {
    let Json::Array(items) = value else {
        return match field.is_list {
            true => Err(Fault::new(format!("is {value}"))),
            false => of_one(field, Part::Value, value),
        };
    };
    check(field, Part::Value, value)?;
    let mut items: Vec<Cow<'_, Json>> = items.iter().map(|item| canonical(field, item)).collect();
    if field.is(Flag::Set) {
        form::sort(&mut items);
    }
    let items = items.iter().enumerate();
    items.map(|(at, item)| of_one(field, Part::Items, item).map_err(|fault| fault.below(&format!("[{at}]")))).collect()
}

/// The canonical form of one value, or of an item of a list.
fn of_one(field: &Field, part: Part, value: &Json) -> Result<Json, Fault> {
    let value = canonical(field, value);
    if !has_type(field, &value) {
        return Err(Fault::new(format!("is {value}")));
    }
    check(field, part, &value)?;
    match field.message() {
        Some(message) => Level::new(message, &value)?.json(),
        None => Ok(value.into_owned()),
    }
}

/// Checks the rules that comparing values relies on. A value that breaks other rules is compared unchanged.
fn check(field: &Field, part: Part, value: &Json) -> Result<(), Fault> {
    let is_binding = |rule: &Rule| match rule {
        Rule::In(_) => true,
        Rule::Format(forms) => forms.iter().any(|form| form::is_of_address(form)),
        Rule::Range { unit: Unit::Items, .. } => field.is(Flag::Needed),
        _ => false,
    };
    let mut rules = field.rules.iter().filter(|(of, rule)| *of == part && is_binding(rule));
    rules.find_map(|(_, rule)| rule.broken(field, value)).map_or(Ok(()), |what| Err(Fault::new(what)))
}

/// A scalar in its canonical form; texts are compared by their meaning.
fn canonical<'v>(field: &Field, value: &'v Json) -> Cow<'v, Json> {
    let written = match (&field.kind, value) {
        (FieldKind::Text, Json::String(text)) => {
            field.form().and_then(|form| form::canonical(form, text)).map(Json::from)
        }
        (kind, value) => scalar(field, kind, value),
    };
    written.map_or(Cow::Borrowed(value), Cow::Owned)
}

/// Whether a value, in any spelling, is that of a field that was never set.
fn says_nothing(field: &Field, value: &Json) -> bool {
    let is_number = || matches!(field.kind, FieldKind::Integer { .. } | FieldKind::Enum(_));
    is_zero_of(field, value) || is_number() && is_zero_of(field, &canonical(field, value))
}

/// Whether a value, or an item of a list, has the type of its field.
fn has_type(field: &Field, value: &Json) -> bool {
    match &field.kind {
        FieldKind::Bool => value.is_boolean(),
        FieldKind::Integer { bits, is_signed } => {
            let number = value.as_i64().map(i128::from).or_else(|| value.as_u64().map(i128::from));
            number.is_some_and(|number| super::integers(*bits, *is_signed).contains(&number))
        }
        FieldKind::Float { .. } => value.is_number(),
        FieldKind::Text | FieldKind::Bytes | FieldKind::Timestamp | FieldKind::Duration => value.is_string(),
        FieldKind::Enum(_) => value.as_str().is_some_and(|word| field.has_word(word)),
        FieldKind::Message(_) | FieldKind::Map(_) => value.is_object(),
        FieldKind::Any => true,
    }
}
