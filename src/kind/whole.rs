//! Specs that a definition has whole: what it leaves out has its default, and nothing else may be there. Such a spec is kept
//! with its defaults written out below its units, so that two ways to write a value are one, and so that its digests and
//! documents are as they always were.

use std::borrow::Cow;

use serde_json::{Map, Value as Json};

use super::spec::{is_unchosen, is_zero_of, scalar};
use super::walk::is_zero;
use super::{Field, FieldKind, Flag, Group, GroupFlag, Message, Part, Rule, Unit, form, is_zero_of_enum, values};

/// The units of a spec, live or written, in the order of the description, each with its canonical text, without those that
/// have their default.
///
/// # Errors
/// Why it is none, as a fragment: two options of a group, none where one is needed, a value of another type, a word that the
/// description does not know, a key that it does not know.
pub fn whole(spec: &Message, value: &Json) -> Result<Vec<(&'static str, Box<str>)>, String> {
    units_of(spec, value).map_err(|fault| format!("`spec{}` {}", fault.path, fault.what))
}

fn units_of(spec: &Message, value: &Json) -> Result<Vec<(&'static str, Box<str>)>, Fault> {
    let level = Level::new(spec, value)?;
    let mut units = Vec::with_capacity(spec.groups.len() + 3);
    let mut text = Vec::with_capacity(256);
    for (at, field) in spec.fields.iter().enumerate() {
        text.clear();
        let unit = match spec.grouped[at] {
            Some(group) => {
                text.push(b'{');
                level.entry(at, &mut text)?;
                text.push(b'}');
                (text.len() > 2).then(|| (group, spec.groups[group].name))
            }
            None => {
                let is_written = level.value(at, &mut text)? && !is_open(field, &text);
                is_written.then(|| (spec.groups.len() + at, field.name))
            }
        };
        // What is written is text.
        units.extend(unit.map(|(place, name)| (place, name, str::from_utf8(&text).unwrap_or_default().into())));
    }
    units.sort_by_key(|(place, ..)| *place);
    Ok(units.into_iter().map(|(_, name, text)| (name, text)).collect())
}

/// The value of a unit that is left out; `null` where that is nothing.
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

/// Whether the text of a field is that of [`open_value`].
fn is_open(field: &Field, text: &[u8]) -> bool {
    let Some(message) = field.message().filter(|_| !field.is_list) else { return false };
    let mut options = message.groups.iter().filter_map(|group| default_option(message, group));
    options
        .next()
        .is_some_and(|option| options.next().is_none() && text == format!("{{\"{}\":{{}}}}", option.name).as_bytes())
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

/// A message with what is given at each of its fields, and with the option that is chosen of each of its groups.
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

    /// Whether an option that says nothing is chosen: the service may write the zeros of all of them.
    fn is_chosen(&self, option: &Field, value: &Json) -> bool {
        let given = |field: &Field| self.message.place(field.name).and_then(|at| self.given[at]);
        let is_zero = |field: &&Field| given(field).is_some_and(|value| says_nothing(field, value));
        let zeros: Vec<&Field> = self.message.fields.iter().filter(is_zero).collect();
        let is_written = |name: &str| self.message.field(name).is_some_and(|field| given(field).is_some());
        !is_unchosen(self.message, option, value, &zeros, &is_written)
    }

    /// Writes the message.
    fn write(&self, out: &mut Vec<u8>) -> Result<(), Fault> {
        out.push(b'{');
        let begin = out.len();
        for at in 0..self.given.len() {
            self.entry(at, out)?;
        }
        if out.len() == begin {
            let shown = self.message.fields.iter().find(|field| field.is(Flag::Shown) && field.is_list);
            out.extend(shown.into_iter().flat_map(|field| format!("\"{}\":[]", field.name).into_bytes()));
        }
        out.push(b'}');
        Ok(())
    }

    /// Writes a field with its key, where it has a value.
    fn entry(&self, at: usize, out: &mut Vec<u8>) -> Result<(), Fault> {
        let begin = out.len();
        if out.last() != Some(&b'{') {
            out.push(b',');
        }
        write_text(self.message.fields[at].name, out);
        out.push(b':');
        if !self.value(at, out)? {
            out.truncate(begin);
        }
        Ok(())
    }

    /// Writes the value of a field; whether there is one.
    fn value(&self, at: usize, out: &mut Vec<u8>) -> Result<bool, Fault> {
        let (message, field) = (self.message, &self.message.fields[at]);
        let group = message.grouped[at];
        if group.is_some_and(|group| self.chosen[group].is_none_or(|chosen| chosen.name != field.name)) {
            return Ok(false);
        }
        // A reference is to what it names, whatever the service calls the kind.
        let says_something = |value: &&Json| group.is_some() || !says_nothing(field, value);
        let given = self.given[at].filter(says_something).filter(|_| !message.is_reference || field.name != "kind");
        match (given, &field.kind) {
            (Some(value), _) => {
                write_value(field, value, out).map_err(|fault| fault.below(&format!(".{}", field.name)))?;
            }
            // The default of a group that is left open.
            (None, FieldKind::Message("")) if group.is_some() => out.extend_from_slice(b"{}"),
            (None, _) if message.enforces(field) => return Err(Fault::new(format!("has no `{}`", field.name))),
            (None, FieldKind::Enum(id)) if !field.is_list && group.is_none() => {
                let zero = values(id).iter().find(|(name, _)| is_zero_of_enum(id, name));
                let Some((zero, _)) = zero else { return Ok(false) };
                write_text(zero, out);
            }
            (None, _) => return Ok(false),
        }
        Ok(true)
    }
}

/// Writes a name, which has nothing in it to escape.
fn write_text(name: &str, out: &mut Vec<u8>) {
    out.push(b'"');
    out.extend_from_slice(name.as_bytes());
    out.push(b'"');
}

fn write_value(field: &Field, value: &Json, out: &mut Vec<u8>) -> Result<(), Fault> {
    let Json::Array(items) = value else {
        return match field.is_list {
            true => Err(Fault::new(format!("is {value}"))),
            false => write_one(field, Part::Value, value, out),
        };
    };
    check(field, Part::Value, value)?;
    let mut items: Vec<Cow<'_, Json>> = items.iter().map(|item| canonical(field, item)).collect();
    if field.is(Flag::Set) {
        form::sort(&mut items);
    }
    out.push(b'[');
    for (at, item) in items.iter().enumerate() {
        if at > 0 {
            out.push(b',');
        }
        write_one(field, Part::Items, item, out).map_err(|fault| fault.below(&format!("[{at}]")))?;
    }
    out.push(b']');
    Ok(())
}

/// Writes a value, or an item of a list.
fn write_one(field: &Field, part: Part, value: &Json, out: &mut Vec<u8>) -> Result<(), Fault> {
    let value = canonical(field, value);
    if !has_type(field, &value) {
        return Err(Fault::new(format!("is {value}")));
    }
    check(field, part, &value)?;
    match field.message() {
        Some(message) => Level::new(message, &value)?.write(out)?,
        None => write_json(&value, out),
    }
    Ok(())
}

/// Checks the rules without which a value cannot be compared; what the service took otherwise is compared as it is.
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

/// A scalar in its canonical writing: of a text what it says counts.
fn canonical<'v>(field: &Field, value: &'v Json) -> Cow<'v, Json> {
    let written = match (&field.kind, value) {
        (FieldKind::Text, Json::String(text)) => {
            field.form().and_then(|form| form::canonical(form, text)).map(Json::from)
        }
        (kind, value) => scalar(field, kind, value),
    };
    written.map_or(Cow::Borrowed(value), Cow::Owned)
}

/// Whether a value, however it is written, is that of a field that was never set.
fn says_nothing(field: &Field, value: &Json) -> bool {
    let is_number = || matches!(field.kind, FieldKind::Integer { .. } | FieldKind::Enum(_));
    is_zero_of(field, value) || is_number() && is_zero_of(field, &canonical(field, value))
}

fn write_json(value: &Json, out: &mut Vec<u8>) {
    // Into memory: nothing that fails.
    let _ = serde_json::to_writer(out, value);
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
