//! Reads a document of a definition in one pass: its object, or every problem by the description of its kind and by the
//! settings of the stack, with places. Messages never contain the text of a secret.

use std::collections::{BTreeMap, HashMap};
use std::ops::RangeInclusive;

use serde_json::{Map, Number, json};

use super::config::Config;
use super::definition::{Examined, follows, is_other_kind, located, no_removal, service_keys, unknown_kind_error};
use super::diagnostic::Diagnostic;
use super::fields::{Decoder, Fault, Fields, Place, described, first_line};
use super::item::{Item, MapEntry, TextSpan, Value as Written};
use super::rules;
use super::suggestion::{did_you_mean, nearest};
use crate::kind::{self, Field, FieldKind, Flag, Group, KindName, Message, Part, Rule, Unit};
use crate::model::{self, Json, Name, Object, Problem, SealedSecrets, Segment, WireMetadata};

/// The option of a secret that contains it in clear text.
const CLEAR: &str = "clear_secret_info";
/// What to do with a secret in clear text.
const SEAL_IT: &str = "seal it with the vendor's tool and write it as `blindfold_secret_info`";
/// The longest text, in bytes, that a message about it shows.
const LONGEST_SHOWN: usize = 60;
/// The most kinds that a message suggests.
const MOST_KINDS: usize = 3;
/// What to do with a file that does not belong to trueup.
const LEAVE_OUT: &str = "to leave other files out: `files: {exclude: [...]}` in trueup.yaml";
/// The number of problems after which the lists and maps of a document are not read further.
const MOST_PROBLEMS: usize = 200;

/// Reads a document as a definition.
///
/// # Errors
/// All its problems that are not reported already; none for documents that are not definitions.
pub(super) fn examine(root: &Item<'_>, config: &Config) -> Result<Examined, Vec<Diagnostic>> {
    if is_other_kind(root) || matches!(root.value, Written::Refused) {
        return Err(Vec::new());
    }
    if !matches!(root.value, Written::Map(_)) {
        let what = format!("the document is {}, not an endpoint", root.kind());
        let problem = first_line(root).error(what, "a mapping with `metadata` and `spec` is needed");
        return Err(vec![problem.with_help(LEAVE_OUT)]);
    }
    if is_foreign(root) {
        let label = "it has neither `metadata` nor `spec`";
        return Err(vec![first_line(root).error("the document is not a definition", label).with_help(LEAVE_OUT)]);
    }
    match unknown_kind(root) {
        Some(problems) => Err(problems),
        None => read(root, root.described().unwrap_or_default(), config),
    }
}

/// The problems with an unknown kind; such a document is not checked further.
pub(super) fn unknown_kind(root: &Item<'_>) -> Option<Vec<Diagnostic>> {
    let entry = root.entries().iter().find(|entry| entry.key == "kind" && !entry.item.is_null())?;
    let at = entry.value_at();
    let Some(text) = entry.item.text() else {
        let problem = at.error(format!("`kind` is {}", entry.item.kind()), "the name of a kind is needed here");
        // A refused value was reported already.
        return Some(if let Written::Refused = entry.item.value { Vec::new() } else { vec![problem] });
    };
    let help = || format!("to list the kinds: trueup kinds; {LEAVE_OUT}");
    KindName::find(text).is_none().then(|| vec![unknown_kind_error(&at, text).with_help(help())])
}

/// Whether a document is of another program: no key resembles one of a definition, and not all keys belong to metadata
/// or spec.
fn is_foreign(root: &Item<'_>) -> bool {
    const KEYS: [&str; 4] = ["kind", "metadata", "spec", "namespace"];
    let is_known = |entry: &MapEntry<'_>| KEYS.contains(&&*entry.key) || nearest(&entry.key, KEYS).is_some();
    let is_below = |entry: &MapEntry<'_>| {
        let of_spec = KindName::ENDPOINT.message();
        kind::metadata().field(&entry.key).or_else(|| of_spec.field(&of_spec.spelled(&entry.key))).is_some()
    };
    !root.entries().iter().any(is_known) && !root.entries().iter().all(is_below)
}

/// A problem for a document without `kind` that does not look like an endpoint. It replaces the problems of its spec.
fn missing_kind(root: &Item<'_>) -> Option<Diagnostic> {
    if root.entries().iter().any(|entry| entry.key == "kind") {
        return None;
    }
    let has = |kind: KindName, key: &str| kind.message().field(&kind.message().spelled(key)).is_some();
    let spec = root.get("spec")?.entries();
    let stray = spec.iter().find(|entry| !has(KindName::ENDPOINT, &entry.key))?;
    let has_all = |kind: &KindName| spec.iter().all(|entry| has(*kind, &entry.key));
    let names: Vec<String> = KindName::all().filter(has_all).map(|kind| format!("`kind: {kind}`")).collect();
    if names.is_empty() || names.len() > MOST_KINDS {
        return None;
    }
    let what = format!("unknown field `{}`: a document without `kind:` is an endpoint", stray.key);
    Some(stray.key_at.error(what, format!("is {} missing?", names.join(" or "))))
}

/// Reads a document of a known kind, which is a mapping.
fn read(root: &Item<'_>, kind: KindName, config: &Config) -> Result<Examined, Vec<Diagnostic>> {
    let mut decoder = Decoder::new(Some(kind));
    let mut reader = ObjectReader {
        kind,
        config,
        namespace: String::new(),
        at: format!("{kind}.spec"),
        notes: Vec::new(),
        sealed: SealedSecrets::default(),
    };
    let (mut metadata, mut spec) = (None, None);
    if let Some(mut fields) = Fields::open(&mut decoder, Place::root(root)) {
        let first = root.entries().first().map_or(root.span, |entry| entry.key_at);
        let at = fields.given("kind").map_or(first, MapEntry::value_at);
        no_removal(&mut fields);
        service_keys(&mut fields, &mut reader.notes);
        let place = fields.given_at("metadata");
        metadata = place.and_then(|place| Fields::open(fields.decoder, place)).map(self::metadata);
        reader.namespace = metadata.as_ref().and_then(|metadata| metadata.namespace.clone()).unwrap_or_default();
        let place = fields.given_at("spec");
        let is_written = place.is_some();
        spec = place.and_then(|place| reader.message(fields.decoder, place, kind.kind().spec));
        fields.finish();
        if !is_written && !decoder.is_faulty(&["spec".into()]) {
            decoder.fault(&[], at.error("`spec` is missing", "an object needs a `spec`"));
        }
    }
    let metadata = metadata.unwrap_or_default();
    let warnings = model::warnings(kind, &metadata);
    let (object, mut found) = assembled(kind, metadata, spec, config);
    found.retain(|problem| !decoder.faults.iter().any(|fault| follows(problem, fault)));
    let is_faulty = !decoder.faults.is_empty();
    let kindless = if is_faulty { missing_kind(root) } else { None };
    if kindless.is_some() {
        let is_of_spec = |path: &[Segment]| path.first() == Some(&"spec".into());
        decoder.faults.retain(|fault| !is_of_spec(&fault.path));
        found.retain(|problem| !is_of_spec(&problem.path));
    }
    let faults = decoder.faults.into_iter().filter_map(|fault| fault.diagnostic);
    let mut problems: Vec<Diagnostic> = kindless.into_iter().chain(faults).collect();
    problems.extend(found.iter().take(MOST_PROBLEMS).map(|problem| located(problem, root)));
    match object {
        Ok(endpoint) if problems.is_empty() && !is_faulty => {
            let ObjectReader { mut notes, sealed, .. } = reader;
            notes.extend(warnings.iter().take(MOST_PROBLEMS).map(|problem| located(problem, root).into_note()));
            Ok(Examined { endpoint, sealed, notes })
        }
        Err(refused) if problems.is_empty() && !is_faulty => {
            Err(vec![located(&Problem::value(vec!["spec".into()], refused, ""), root)])
        }
        _ => Err(problems),
    }
}

fn metadata(mut fields: Fields<'_, '_, '_>) -> WireMetadata {
    let metadata = WireMetadata {
        name: fields.text("name"),
        namespace: fields.text("namespace"),
        labels: fields.map("labels"),
        annotations: fields.map("annotations"),
        description: fields.text("description"),
        disable: fields.boolean("disable"),
        ..WireMetadata::default()
    };
    fields.finish();
    metadata
}

/// The object with this metadata and spec, or why it is not valid; and the problems that other rules find.
pub(super) fn assembled(
    kind: KindName,
    metadata: WireMetadata,
    spec: Option<Json>,
    config: &Config,
) -> (Result<Object, String>, Vec<Problem>) {
    let mut found = model::check(kind, &metadata);
    found.extend(names(&metadata, kind));
    let mut spec = spec.unwrap_or_default();
    kind::add_namespaces(kind.message(), &mut spec, metadata.namespace.as_deref().unwrap_or_default());
    found.extend(rules::check(config, &metadata));
    let object = metadata.written(kind, spec);
    found.extend(object.iter().flat_map(|object| rules::check_room(config, object)));
    (object, found)
}

/// Problems of the name and namespace of an object, such as a namespace in which its kind cannot be.
fn names(metadata: &WireMetadata, kind: KindName) -> Vec<Problem> {
    let mut problems = Vec::new();
    for (key, value) in [("name", &metadata.name), ("namespace", &metadata.namespace)] {
        if value.as_ref().is_none_or(String::is_empty) {
            let what = format!("`metadata.{key}` is missing");
            problems.push(Problem::value(vec!["metadata".into()], what, format!("an object needs a `{key}`")));
        }
    }
    let namespace = metadata.namespace.as_deref().unwrap_or_default();
    if !namespace.is_empty() && !kind.kind().can_be_in(namespace) {
        let what = format!("an object of the kind `{kind}` cannot be in the namespace `{namespace}`");
        let allowed = kind.kind().namespaces.join("` or `").replace("user", "a namespace of your own");
        problems.push(Problem::value(
            vec!["metadata".into(), "namespace".into()],
            what,
            format!("only in `{allowed}`"),
        ));
    }
    problems
}

struct ObjectReader<'r> {
    kind: KindName,
    config: &'r Config,
    /// The namespace of the object; empty where it has none.
    namespace: String,
    /// The current path, in the notation of `unchecked:`.
    at: String,
    notes: Vec<Diagnostic>,
    sealed: SealedSecrets,
}

impl ObjectReader<'_> {
    /// The value of a message; `None` where it is not a mapping.
    fn message(&mut self, decoder: &mut Decoder, place: Place<'_, '_>, id: &str) -> Option<Json> {
        let message = kind::message(id);
        let mut fields = Fields::open(decoder, place.clone())?;
        let mut values = Map::new();
        let mut chosen: BTreeMap<&'static str, TextSpan<'_>> = BTreeMap::new();
        for (field, entry) in fields.described(message) {
            // The kind of a reference is checked, but not sent.
            if field.is(Flag::ReadOnly) && !message.is_reference {
                let what = format!("`{}` is written only by the service", field.name);
                self.notes.push(entry.key_at.error(what, "it is left out").into_note());
                continue;
            }
            let below = place.join(field.name);
            let is_enum = matches!(field.kind, FieldKind::Enum(_)) && !field.is_list;
            let says_nothing = (is_enum || message.is_reference) && entry.item.text() == Some("");
            if entry.item.is_null() || says_nothing {
                if field.kind == FieldKind::EMPTY {
                    let what = format!("`{}` has no value", field.name);
                    fields.decoder.fault(&below, entry.key_at.error(what, format!("write `{}: {{}}`", field.name)));
                }
                continue;
            }
            let is_option = message.group_of(field.name).is_some();
            let length = self.at.len();
            self.at.extend([".", field.name]);
            let value = self.field(fields.decoder, Place::of(entry, below), field, is_option);
            self.at.truncate(length);
            if field.is(Flag::Deprecated) && value.as_ref().is_some_and(|value| is_option || !field.is_unset(value)) {
                let what = format!("`{}` is deprecated by the vendor", field.name);
                self.notes.push(entry.key_at.error(what, "sent as it is").into_note());
            }
            let is_empty = value.as_ref().is_some_and(|value| value == "");
            if is_empty && message.enforces(field) {
                let what = format!("`{}` is empty", field.name);
                fields.decoder.fault(&place.join(field.name), entry.value_at().error(what, "it is required"));
            }
            if is_option && !is_empty {
                chosen.insert(field.name, entry.key_at);
            }
            // An empty text of a field that is not an option is kept.
            values.extend(value.filter(|_| !is_option || !is_empty).map(|value| (field.name.to_owned(), value)));
        }
        let others =
            fields.others(|name| message.field(name).is_none() && rules::is_unchecked(self.config, &self.at, name));
        for (name, entry) in others.into_iter().filter(|(_, entry)| !entry.item.is_null()) {
            if let Some(clear) = in_clear(entry) {
                let error = clear.key_at.error(format!("the secret in `{name}` is in clear text"), "");
                fields.decoder.fault(&place.path, error.with_help(SEAL_IT));
            }
            let place = Place::of(entry, place.join(Segment::Key(name.clone().into())));
            if let Some(value) = fields.decoder.take(&place, place.any()) {
                values.insert(name, value);
            }
        }
        fields.finish();
        for group in &message.groups {
            exclusive(decoder, &place, group, &chosen);
        }
        for field in message.missing(&values) {
            if !decoder.is_faulty(&place.join(field.name)) {
                let what = format!("`{}` is missing", field.name);
                decoder.fault(&place.path, place.at.error(what, "it is required"));
            }
        }
        Some(Json::Object(values))
    }

    /// The value of a field, checked by its rules.
    fn field(
        &mut self,
        decoder: &mut Decoder,
        place: Place<'_, '_>,
        field: &'static Field,
        is_option: bool,
    ) -> Option<Json> {
        if field.is(Flag::Secret) {
            return self.secret(decoder, &place, field);
        }
        let value = self.unsealed(decoder, &place, field)?;
        if is_option && value != "" || !field.is_unset(&value) {
            self.check(decoder, &place, field, Part::Value, &value);
        }
        Some(value)
    }

    fn unsealed(&mut self, decoder: &mut Decoder, place: &Place<'_, '_>, field: &'static Field) -> Option<Json> {
        if !field.is_list {
            return self.value(decoder, place, field, &field.kind);
        }
        let items = decoder.take(place, place.items())?;
        let (mut values, mut is_whole) = (Vec::with_capacity(items.len()), true);
        for (index, item) in items.iter().enumerate() {
            if decoder.faults.len() > MOST_PROBLEMS {
                return None;
            }
            let place = place.item(index, item);
            let value = self.value(decoder, &place, field, &field.kind).filter(|_| !item.is_null());
            match &value {
                _ if item.is_null() => decoder.fault(&place.path, place.wrong("a value")),
                Some(value) => self.check(decoder, &place, field, Part::Items, value),
                None => {}
            }
            is_whole &= value.is_some();
            if value.as_ref().is_some_and(|value| field.is_served(value)) {
                let what = format!("this item of `{}` is written only by the service", field.name);
                self.notes.push(place.at.error(what, "it is left out").into_note());
            }
            values.push(value.unwrap_or_default());
        }
        let values = Json::Array(values);
        if is_whole {
            return Some(values);
        }
        // The list is checked even where an item is wrong.
        self.check(decoder, place, field, Part::Value, &values);
        None
    }

    fn value(
        &mut self,
        decoder: &mut Decoder,
        place: &Place<'_, '_>,
        field: &'static Field,
        kind: &'static FieldKind,
    ) -> Option<Json> {
        let Place { item, at, .. } = place;
        let scalar = match kind {
            FieldKind::Bool => place.boolean().map(Json::from),
            FieldKind::Integer { bits, is_signed } => integer(place, field, kind::integers(*bits, *is_signed)),
            FieldKind::Float { .. } => place.float().map(Json::from),
            FieldKind::Text | FieldKind::Bytes => place.text().map(Json::from),
            FieldKind::Timestamp | FieldKind::Duration => {
                let text = item.text().filter(|text| kind.has(text)).map(Json::from);
                let is_time = *kind == FieldKind::Timestamp;
                let wanted = if is_time { "a time such as 2026-01-31T12:00:00Z" } else { "a duration such as 1.5s" };
                text.ok_or_else(|| place.wrong(wanted))
            }
            FieldKind::Any => place.any(),
            FieldKind::Message("") if !matches!(item.value, Written::Map(_)) => {
                let what = format!("`{}` is {}, but it has no value", place.name(), described(item));
                Err(Some(at.error(what, format!("write `{}: {{}}`", place.name()))))
            }
            FieldKind::Message(id)
                if kind::is_reference(id) && item.text().is_some_and(|text| Name::parse(text).is_ok()) =>
            {
                let what = format!("`{}` is {}, not a mapping", place.name(), described(item));
                Err(Some(at.error(what, format!("write `{{name: {}}}`", item.text().unwrap_or_default()))))
            }
            FieldKind::Message(id) => {
                let value = self.message(decoder, place.clone(), id)?;
                if kind::is_reference(id) {
                    reference(decoder, place, field, &value);
                }
                Ok(value)
            }
            FieldKind::Enum(id) => word(place, field, id),
            FieldKind::Map(inner) => {
                let (mut values, mut is_whole) = (Map::new(), true);
                let entries = decoder.take(place, place.entries())?;
                for entry in entries.iter().filter(|entry| !entry.item.is_null()) {
                    if decoder.faults.len() > MOST_PROBLEMS {
                        return None;
                    }
                    let place = place.entry(entry);
                    let key = Json::from(&*entry.key);
                    self.check(decoder, &Place { at: entry.key_at, ..place.clone() }, field, Part::Keys, &key);
                    let value = self.value(decoder, &place, field, inner);
                    is_whole &= value.is_some();
                    if let Some(value) = value {
                        self.check(decoder, &place, field, Part::Values, &value);
                        values.insert(entry.key.clone().into_owned(), value);
                    }
                }
                return is_whole.then_some(Json::Object(values));
            }
        };
        decoder.take(place, scalar)
    }

    /// Checks the rules of a part of a field.
    fn check(&self, decoder: &mut Decoder, place: &Place<'_, '_>, field: &Field, part: Part, value: &Json) {
        // The value lacks its faulty parts, or has them with wrong content.
        let is_faulty = decoder.is_faulty(&place.path);
        for (rule, broken) in field.broken(part, value) {
            match (rule, value, &place.item.value) {
                (Rule::Unique, Json::Array(values), Written::List(items)) => {
                    self.twice(decoder, place, field, values.iter().zip(items));
                }
                (rule, ..) if is_faulty && rule.is_about_parts() => {}
                (Rule::In(words), Json::String(text), _) => {
                    decoder.fault(&place.path, unknown_word(place, text, words));
                }
                (Rule::Format(_), Json::String(text), _) if text.len() <= LONGEST_SHOWN => {
                    decoder.fault(&place.path, place.at.error(format!("`{text}` {broken}"), rule.example()));
                }
                _ => {
                    let what = format!("`{}` {broken}", place.name());
                    decoder.fault(&place.path, place.at.error(what, format!("allowed: {}", rule.words())));
                }
            }
        }
    }

    /// Reports each duplicate item of the list.
    fn twice<'v>(
        &self,
        decoder: &mut Decoder,
        place: &Place<'_, '_>,
        field: &Field,
        items: impl Iterator<Item = (&'v Json, &'v Item<'v>)>,
    ) {
        let mut seen = HashMap::new();
        for (value, item) in items.filter(|(value, _)| !value.is_null()) {
            let Some(first) = seen.insert(field.canonical(value, Some(&self.namespace)), item) else { continue };
            let (at, first) = (first_line(item), first_line(first));
            let text = value.as_str().map(|text| format!(" `{text}`")).unwrap_or_default();
            let error = at.error(format!("duplicate item{text}"), "second time here");
            decoder.fault(&place.path, error.also(first.source, first.range(), "first time here"));
        }
    }

    /// The mark of a secret, which must be sealed. Messages never contain its text.
    fn secret(&mut self, decoder: &mut Decoder, place: &Place<'_, '_>, field: &'static Field) -> Option<Json> {
        let mut own = Decoder::new(Some(self.kind));
        let value = self.unsealed(&mut own, place, field);
        let clear = value.as_ref().is_some_and(is_clear);
        let (what, help) = if clear {
            let help = match field.kind {
                FieldKind::Text => "its field takes no sealed form, so a definition cannot contain it",
                _ => SEAL_IT,
            };
            (format!("the secret `{}` is in clear text", place.name()), help.to_owned())
        } else if !own.faults.is_empty() && own.faults.iter().all(|fault| fault.diagnostic.is_none()) {
            // A variable in it was refused, and that is reported already.
            decoder.fault(&place.path, None);
            return None;
        } else if own.faults.is_empty() && value.as_ref().is_some_and(|value| is_empty_envelope(field, value)) {
            let help = "write its sealed form as `blindfold_secret_info`; what the service shows of a secret is none";
            (format!("the secret `{}` has no value", place.name()), help.to_owned())
        } else if own.faults.is_empty() {
            let digest = self.sealed.insert(value?);
            return Some(json!({"sealed": digest}));
        } else {
            let help = format!("`trueup schema --kind {}` has its form; the value is not shown", self.kind);
            (format!("the secret `{}` does not have the form of one", place.name()), help)
        };
        decoder.fault(&place.path, place.at.error(what, "").with_help(help));
        None
    }
}

/// The secret in clear text in a value without a description.
fn in_clear<'i, 's>(entry: &'i MapEntry<'s>) -> Option<&'i MapEntry<'s>> {
    fn below<'i, 's>(item: &'i Item<'s>) -> Option<&'i MapEntry<'s>> {
        match &item.value {
            Written::Map(entries) => entries.iter().find_map(in_clear),
            Written::List(items) => items.iter().find_map(below),
            Written::Text(..) | Written::Refused => None,
        }
    }
    let is_clear = kind::snake(&entry.key) == CLEAR && !entry.item.is_null();
    if is_clear { Some(entry) } else { below(&entry.item) }
}

/// Whether a secret is in clear text: a scalar, or the option for clear text.
fn is_clear(value: &Json) -> bool {
    match value {
        Json::Object(entries) => entries.contains_key(CLEAR) || entries.values().any(is_clear_below),
        Json::Array(items) => items.iter().any(is_clear),
        _ => true,
    }
}

/// The same for a value below a secret, where a scalar is a part of the sealed form.
fn is_clear_below(value: &Json) -> bool {
    match value {
        Json::Object(_) => is_clear(value),
        Json::Array(items) => items.iter().any(is_clear_below),
        _ => false,
    }
}

/// Whether a value, or a part of a list or map of secrets, has only the parts of a secret that the service shows.
fn is_empty_envelope(field: &Field, value: &Json) -> bool {
    let Some(secret) = field.message().filter(|message| message.field(CLEAR).is_some()) else { return false };
    let has_text = |value: &Json| has_text(secret, value);
    match (&field.kind, value) {
        (FieldKind::Map(_), Json::Object(values)) => values.is_empty() || !values.values().all(has_text),
        (_, Json::Array(items)) => items.is_empty() || !items.iter().all(has_text),
        (_, value) => !has_text(value),
    }
}

/// Whether a value contains any text of a secret, apart from the words that name its form.
fn has_text(message: &Message, value: &Json) -> bool {
    let has_text = |(key, value): (&String, &Json)| match message.field(key) {
        Some(Field { kind: FieldKind::Enum(_), .. }) | None => false,
        Some(field) => match field.message() {
            Some(below) => has_text(below, value),
            None => value.as_str().is_some_and(|text| !text.is_empty()),
        },
    };
    value.as_object().is_some_and(|entries| entries.iter().any(has_text))
}

/// The problem with an unknown word, with the nearest allowed one.
fn unknown_word(place: &Place<'_, '_>, text: &str, words: &[&str]) -> Diagnostic {
    let what = format!("unknown value `{text}` for `{}`", place.name());
    let near = did_you_mean(text, words.iter().copied(), String::new);
    place.at.error(what, near).with_help(format!("one of {}", words.join(", ")))
}

/// Checks that at most one option of a group is set, and that one is set where the group needs a choice.
fn exclusive(
    decoder: &mut Decoder,
    place: &Place<'_, '_>,
    group: &Group,
    chosen: &BTreeMap<&'static str, TextSpan<'_>>,
) {
    let mut set: Vec<_> = group.members.iter().filter_map(|member| Some((member, chosen.get(member)?))).collect();
    set.sort_by_key(|(_, at)| at.range().start);
    let Some(((first, first_at), others)) = set.split_first() else {
        // A faulty member is present, or another key is probably a misspelt member.
        if group.needs_choice() && !group.members.iter().any(|member| decoder.is_faulty(&place.join(*member))) {
            let names: Vec<String> = group.members.iter().map(|member| format!("`{member}`")).collect();
            let what = format!("none of {} is set", names.join(", "));
            decoder.fault(&place.path, place.at.error(what, "set one of them"));
        }
        return;
    };
    for (second, at) in others {
        let what = format!("`{first}` and `{second}` cannot both be set");
        let error = at.error(what, "one of them").also(first_at.source, first_at.range(), "the other one");
        decoder.fault(&place.path, error);
    }
}

/// A number within the range of its type. The message about another one has the bounds of the field if it has any.
fn integer(place: &Place<'_, '_>, field: &Field, range: RangeInclusive<i128>) -> Result<Json, Fault> {
    let number: i128 = place.integer()?;
    if let Some(number) = Number::from_i128(number).filter(|_| range.contains(&number)) {
        return Ok(Json::Number(number));
    }
    let what = format!("`{}` is {number}", place.name());
    let bounds = field.rules.iter().find_map(|(_, rule)| match rule {
        Rule::Range { unit: Unit::Number, least, most } => Some((*least, *most)),
        _ => None,
    });
    let (least, most) = bounds.unwrap_or_default();
    let bound = |of_field: Option<&str>, of_type: &i128| of_field.map_or_else(|| of_type.to_string(), str::to_owned);
    let label = format!("must be {} to {}", bound(least, range.start()), bound(most, range.end()));
    Err(Some(place.at.error(what, label)))
}

/// A word of an enumeration, or its number.
fn word(place: &Place<'_, '_>, field: &Field, id: &str) -> Result<Json, Fault> {
    let text = place.item.text().ok_or_else(|| place.wrong("a word"))?;
    let words: Vec<&str> = field.words().collect();
    let word = kind::word(id, text).filter(|word| words.contains(word));
    word.map(Json::from).ok_or_else(|| Some(unknown_word(place, text, &words)))
}

/// Checks that a reference names a kind that its field accepts.
fn reference(decoder: &mut Decoder, place: &Place<'_, '_>, field: &Field, value: &Json) {
    if let (false, Some(Json::String(written))) = (field.takes(value), value.get("kind")) {
        let what = format!("`{}` cannot refer to the kind `{written}`", place.name());
        decoder.fault(&place.path, place.at.error(what, format!("it refers to {}", field.refers_to.join(" or "))));
    }
}
