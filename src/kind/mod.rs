//! The kinds of the API as data: the messages, fields, exclusive groups, rules and references of each. The data is
//! the text `kinds/kinds.txt`, which a script generates from what the vendor publishes; a new kind or field is a line
//! there and needs no Rust code. A message is decoded when it is first used.

mod compare;
mod decode;
mod fills;
mod fixed;
mod form;
mod hidden;
mod items;
pub mod label;
mod merge;
mod mirror;
mod name;
mod ordered;
mod references;
mod rule;
pub mod sealed;
mod selector;
mod spec;
mod spelling;
mod takeover;
mod walk;
mod whole;

pub use compare::{agrees, has_chosen, has_chosen_more, keeps, knows, seen_as, taken, unnamed};
pub use fills::{Digested, add_namespaces, digested, without_fills, without_uids};
pub use fixed::fixed;
pub use form::is_host;
pub use hidden::{has_unknown, hidden, reset, unknown, without_hidden};
pub use items::{alike, fill_places};
pub use label::PLATFORM_PREFIXES;
pub use merge::{merged, pruned};
pub use mirror::{mirror_of, mirrored};
pub use name::KindName;
pub(crate) use name::as_text;
pub use ordered::{Described, Ordered, place_in_file};
pub use references::{Target, kind_of_service, references};
pub use rule::{Part, Rule, Unit, expression};
pub use selector::{Selector, SelectorError};
pub use spec::{canonical, is_group, keys_of, named, significant, unit_of, units};
pub use spelling::{is_filled, spellings};
pub use takeover::{taken_over, with_unnamed};
pub use walk::{Keys, is_zero};
pub use whole::{open_value, whole};

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ops::RangeInclusive;
use std::sync::{LazyLock, OnceLock};

// Every key of every object is looked up several times. Only the program fills the tables, so a fast hash is safe.
use foldhash::fast::FixedState;
use serde::Deserialize;
use serde_json::{Map, Value as Json};

/// The description of all kinds; `kinds/README.md` explains its form.
const DATA: &str = include_str!("../../kinds/kinds.txt");

/// The kind of a document without `kind`.
pub const ENDPOINT: &str = "endpoint";

/// Where each block of the description begins, found in one pass over it.
static INDEX: LazyLock<Index> = LazyLock::new(|| Index::of(DATA));

/// A kind of object with the five operations on `{metadata, spec}`.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Kind {
    /// Its name, such as `origin_pool`.
    pub name: &'static str,
    /// The prefix of its paths, such as `/api/config`.
    pub prefix: &'static str,
    /// The last part of the path of its list.
    pub plural: &'static str,
    /// The message of its `spec`.
    pub spec: &'static str,
    /// The namespaces that it is restricted to: `system`, `shared`, or `user` for all others; empty: any.
    pub namespaces: Vec<&'static str>,
    /// Whether the service creates other objects from it.
    pub is_view: bool,
    /// The kinds of those objects, as far as they are known.
    pub children: Vec<&'static str>,
    /// Whether only published schemas describe it: its references, groups and defaults are unknown.
    pub is_weak: bool,
    /// Which names its objects may have.
    pub naming: Naming,
    /// Whether a definition has the whole spec: all filled values are known, and others are not allowed.
    pub is_whole: bool,
    /// The letters of the digests of units that have one, in the order of reports.
    pub digests: Vec<(&'static str, char)>,
    /// The units that the table of `get` shows.
    pub columns: Vec<&'static str>,
    /// The labels that the service writes on its objects, besides those with [`PLATFORM_PREFIXES`].
    pub labels: Vec<&'static str>,
    message: OnceLock<&'static Message>,
}

/// Which names the objects of a kind may have.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Naming {
    /// A label.
    #[default]
    Label,
    /// A label or a host name.
    Host,
}

/// The fields of one level of an object.
#[derive(Debug, Clone, PartialEq)]
pub struct Message {
    /// Its exclusive groups.
    pub groups: Vec<Group>,
    /// Its fields: those of the vendor in their order, and then the options without fields.
    pub fields: Vec<Field>,
    /// Whether it is a reference to another object.
    pub is_reference: bool,
    /// The index of each field.
    places: HashMap<&'static str, usize, FixedState>,
    /// The index of the group of each field.
    grouped: Vec<Option<usize>>,
    hides: OnceLock<bool>,
    refers: OnceLock<bool>,
}

/// Fields of which at most one may be set.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Group {
    /// The vendor's name of the group; no object contains it.
    pub name: &'static str,
    /// Its properties.
    pub flags: Vec<GroupFlag>,
    /// The vendor's default option.
    pub default: Option<&'static str>,
    /// Keys of the message.
    pub members: Vec<&'static str>,
}

/// A property of a group.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GroupFlag {
    /// The service refuses an object without a choice.
    Required,
    /// A definition must choose, even if the service does not require it.
    Needed,
    /// The service fills in the default where the group is left open.
    Filled,
    /// Changing the choice needs a new object.
    Immutable,
}

/// A key of a message.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Field {
    /// The key in snake case, as the service writes it.
    pub name: &'static str,
    /// The type of its value.
    pub kind: FieldKind,
    /// Whether it is a list of such values.
    pub is_list: bool,
    /// Its properties.
    pub flags: Vec<Flag>,
    /// The kinds that a reference may name; empty: unknown.
    pub refers_to: Vec<&'static str>,
    /// The field of the same message from which the service derives it.
    pub mirrors: Option<&'static str>,
    /// The text that the service writes where it is left out.
    pub default: Option<&'static str>,
    /// The namespace of a reference without one, where that is not the namespace of the object itself.
    pub namespace: Option<&'static str>,
    /// The `metadata.name` of the list item that only the service writes.
    pub served: Option<&'static str>,
    /// The rules for its values.
    pub rules: Vec<(Part, Rule)>,
    /// Its purpose; empty where it is unknown.
    pub meaning: &'static str,
    message: OnceLock<&'static Message>,
}

/// A property of a field.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Flag {
    /// The vendor requires it. The service enforces this only for texts and messages.
    Required,
    /// It is a secret, or the message that contains one.
    Secret,
    /// A replace cannot change it.
    Immutable,
    /// Only the service writes it.
    ReadOnly,
    /// The vendor advises against it.
    Deprecated,
    /// The vendor keeps it for itself. The service accepts it nevertheless.
    Internal,
    /// Replace requests do not have it.
    CreateOnly,
    /// Create requests do not have it.
    ReplaceOnly,
    /// Responses do not have it.
    Unanswered,
    /// The service fills it where it is left out.
    Filled,
    /// A definition must have it, even if the service does not require it.
    Needed,
    /// A list whose order has no meaning, in a kind with [`Kind::is_whole`].
    Set,
    /// It is written even if it has its default; a list only where its message has no other values.
    Shown,
}

/// The type of a field's value.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum FieldKind {
    /// `true` or `false`
    Bool,
    /// A whole number of 32 or 64 bits; 64 bits may be a text of digits.
    Integer {
        /// How many bits it has.
        bits: u8,
        /// Whether it may be negative.
        is_signed: bool,
    },
    /// A number.
    Float {
        /// How many bits it has.
        bits: u8,
    },
    /// A text.
    Text,
    /// Bytes as base64.
    Bytes,
    /// A time of RFC 3339.
    Timestamp,
    /// Seconds such as `1.5s`.
    Duration,
    /// Anything.
    #[default]
    Any,
    /// A mapping with the fields of this message; [`FieldKind::EMPTY`] has none.
    Message(&'static str),
    /// A word of this enumeration.
    Enum(&'static str),
    /// A mapping whose keys users choose.
    Map(Box<FieldKind>),
}

impl FieldKind {
    /// A mapping without fields, written `{}`. It may have fields that are newer than the description.
    pub const EMPTY: Self = Self::Message("");

    /// Whether a text is a valid time or duration, where the type is one.
    pub fn has(&self, text: &str) -> bool {
        match self {
            FieldKind::Timestamp => utc(text).is_some(),
            FieldKind::Duration => text.strip_suffix('s').is_some_and(is_decimal),
            _ => false,
        }
    }
}

/// Whether a text is a number without an exponent.
fn is_decimal(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_digit() || b"-.".contains(&byte)) && text.parse::<f64>().is_ok()
}

/// A time of RFC 3339 as the service writes it. Times on the last days of the year 9999, which mean "never", can be
/// later than any [`jiff::Timestamp`].
fn utc(text: &str) -> Option<String> {
    let last = || {
        let civil = text.strip_suffix('Z').filter(|civil| civil.starts_with("9999-12-3") && civil.contains('T'))?;
        Some(format!("{}Z", civil.parse::<jiff::civil::DateTime>().ok()?))
    };
    text.parse::<jiff::Timestamp>().ok().map(|time| time.to_string()).or_else(last)
}

/// All kinds, by name.
pub fn all() -> impl Iterator<Item = &'static Kind> {
    INDEX.kinds.values().map(Block::kind)
}

/// The kind of this name.
pub fn find(name: &str) -> Option<&'static Kind> {
    INDEX.kinds.get(name).map(Block::kind)
}

/// The characters that make a text a glob.
pub const GLOB: [char; 5] = ['*', '?', '[', '{', '\\'];

/// The part before the `:` of a pattern for keys, where it is neither a kind nor a glob.
pub fn unknown_in(pattern: &str) -> Option<&str> {
    let (kind, _) = pattern.split_once(':')?;
    (kind != ENDPOINT && find(kind).is_none() && !kind.contains(GLOB)).then_some(kind)
}

/// The message with this id, decoded at the first call. The empty id has no fields; a test proves that the description
/// has all others.
pub fn message(id: &str) -> &'static Message {
    static NONE: LazyLock<Message> = LazyLock::new(|| Message::new(Vec::new(), Vec::new(), false));
    let Some(known) = INDEX.messages.get(id) else { return &NONE };
    known.decoded.get_or_init(|| decode::message(known.text, is_reference(id)))
}

/// The fields of the metadata of every object.
pub fn metadata() -> &'static Message {
    message("metadata")
}

/// Whether the message with this id is a reference to another object.
pub fn is_reference(id: &str) -> bool {
    ["ObjectRefType", "views.ObjectRefType"].contains(&id)
}

/// Whether `is_it` is true of one of these fields, or of a field below them at any depth.
fn any_below(fields: &[Field], is_it: impl Fn(&Field) -> bool) -> bool {
    let mut seen = BTreeSet::new();
    let mut open: Vec<&Field> = fields.iter().collect();
    while let Some(field) = open.pop() {
        if is_it(field) {
            return true;
        }
        open.extend(field.below().filter(|id| seen.insert(*id)).into_iter().flat_map(|id| &message(id).fields));
    }
    false
}

/// The names of an enumeration with their numbers, where those are known.
pub fn values(id: &str) -> &'static [(&'static str, Option<i32>)] {
    let Some(block) = INDEX.enums.get(id) else { return &[] };
    block.decoded.get_or_init(|| decode::values(block.text))
}

/// The name of the value of an enumeration that `text` gives by name or number.
pub fn word(id: &str, text: &str) -> Option<&'static str> {
    let is_it = |name: &str, number: Option<i32>| name == text || number.is_some_and(|n| n.to_string() == text);
    values(id).iter().find(|(name, number)| is_it(name, *number)).map(|(name, _)| *name)
}

/// The range of integers with this number of bits.
pub fn integers(bits: u8, is_signed: bool) -> RangeInclusive<i128> {
    match (bits, is_signed) {
        (32, false) => 0..=u32::MAX.into(),
        (32, true) => i32::MIN.into()..=i32::MAX.into(),
        (_, false) => 0..=u64::MAX.into(),
        (_, true) => i64::MIN.into()..=i64::MAX.into(),
    }
}

/// Whether this name has the number 0, or is the first name and has no known number.
fn is_zero_of_enum(id: &str, name: &str) -> bool {
    let values = values(id);
    let is_first = || values.first() == Some(&(name, None));
    values.iter().any(|(known, number)| *known == name && *number == Some(0)) || is_first()
}

impl Kind {
    /// The message of its spec.
    pub fn message(&self) -> &'static Message {
        self.message.get_or_init(|| message(self.spec))
    }

    /// The path of its lists and creates.
    pub fn path(&self) -> String {
        format!("{}/namespaces/{{namespace}}/{}", self.prefix, self.plural)
    }

    /// Whether the service writes a label of this key on its objects.
    pub fn writes_label(&self, key: &str) -> bool {
        PLATFORM_PREFIXES.iter().any(|prefix| key.starts_with(prefix)) || self.labels.contains(&key)
    }

    /// Whether the service accepts an object of this kind in this namespace.
    pub fn can_be_in(&self, namespace: &str) -> bool {
        let place = if ["system", "shared"].contains(&namespace) { namespace } else { "user" };
        self.namespaces.is_empty() || self.namespaces.contains(&place)
    }

    /// The message of its `spec`, and every one below it that has fields, each once.
    pub fn messages(&self) -> Vec<(&'static str, &'static Message)> {
        let (mut open, mut seen, mut messages) = (vec![self.spec], BTreeSet::new(), Vec::new());
        while let Some(id) = open.pop() {
            if seen.insert(id) {
                let message = message(id);
                open.extend(message.fields.iter().filter_map(Field::below).filter(|id| !id.is_empty()));
                messages.push((id, message));
            }
        }
        messages
    }

    /// The key of the mapping that has `key`: the nearest one below the keys of `path`, such as `spec`, preferably one
    /// that `is_given`. Mappings in lists and maps below them are not searched.
    pub fn home<'k>(
        &self,
        path: impl IntoIterator<Item = &'k str>,
        key: &str,
        is_given: impl Fn(&str) -> bool,
    ) -> Option<&'static str> {
        let mut path = path.into_iter();
        path.next().filter(|first| *first == "spec")?;
        let step = |(_, id): (_, &'static str), step: &str| {
            let field = message(id).field(step)?;
            Some((field.name, field.below()?))
        };
        let mut level = vec![path.try_fold(("spec", self.spec), step)?];
        let mut seen = BTreeSet::new();
        while !level.is_empty() {
            // A stray `tenant` or `kind` does not belong to a reference below.
            let has_it = |id: &str| !message(id).is_reference && message(id).field(key).is_some();
            let homes = || level.iter().filter(|(_, id)| has_it(id)).map(|(home, _)| *home);
            if let Some(home) = homes().find(|home| is_given(home)).or_else(|| homes().next()) {
                return Some(home);
            }
            let mappings = level.iter().filter(|(_, id)| seen.insert(*id)).flat_map(|(_, id)| &message(id).fields);
            let below = mappings.filter_map(|field| match field.kind {
                FieldKind::Message(id) if !field.is_list && !field.is(Flag::ReadOnly) => Some((field.name, id)),
                _ => None,
            });
            level = below.collect();
        }
        None
    }

    /// The paths of its secrets, such as `spec.tls_certificates.private_key`; items of lists and values of maps have no
    /// step of their own, and a recursive message is followed once.
    pub fn secrets(&self) -> Vec<String> {
        let mut found = Vec::new();
        secrets_below(self.spec, "spec", &mut Vec::new(), &mut found);
        found
    }
}

fn secrets_below(id: &'static str, path: &str, above: &mut Vec<&'static str>, found: &mut Vec<String>) {
    if above.contains(&id) {
        return;
    }
    above.push(id);
    for field in &message(id).fields {
        let path = format!("{path}.{}", field.name);
        match field.below() {
            // The fields below a secret are its sealed form.
            _ if field.is(Flag::Secret) => found.push(path),
            Some(below) => secrets_below(below, &path, above, found),
            None => {}
        }
    }
    above.pop();
}

impl Message {
    fn new(groups: Vec<Group>, fields: Vec<Field>, is_reference: bool) -> Self {
        let places = fields.iter().enumerate().map(|(at, field)| (field.name, at)).collect();
        let group = |field: &Field| groups.iter().position(|group| group.members.contains(&field.name));
        let grouped = fields.iter().map(group).collect();
        Self { groups, fields, is_reference, places, grouped, hides: OnceLock::new(), refers: OnceLock::new() }
    }

    /// Whether it has a field, at any depth, that responses never show.
    pub fn hides(&self) -> bool {
        *self.hides.get_or_init(|| any_below(&self.fields, hidden::is_hidden))
    }

    /// Whether it is a reference, or has one at any depth.
    pub fn refers(&self) -> bool {
        let is_reference = |field: &Field| field.below().is_some_and(is_reference);
        *self.refers.get_or_init(|| self.is_reference || any_below(&self.fields, is_reference))
    }

    /// The index of the field with this key in snake case.
    fn place(&self, key: &str) -> Option<usize> {
        self.places.get(key).copied()
    }

    /// The field with this key in snake case.
    pub fn field(&self, key: &str) -> Option<&Field> {
        self.fields.get(self.place(key)?)
    }

    /// A key as the service writes it: in snake case, except for fields with another name (`queryParameters`).
    pub fn spelled<'k>(&self, key: &'k str) -> Cow<'k, str> {
        let snake = snake(key);
        if self.field(&snake).is_some() {
            return snake;
        }
        // A digit has no case: `consecutive5xx` is `consecutive_5xx`.
        self.fields.iter().find(|field| camel(field.name) == key).map_or(snake, |field| field.name.into())
    }

    /// The entry of a key, in any spelling.
    fn entry<'v>(&self, entries: &'v Map<String, Json>, key: &str) -> Option<(&'v String, &'v Json)> {
        entries.get_key_value(key).or_else(|| entries.iter().find(|(written, _)| self.spelled(written) == key))
    }

    /// Whether the service refuses the message without this field. It does not enforce all required fields.
    pub fn enforces(&self, field: &Field) -> bool {
        let is_enforced_kind = || matches!(field.kind, FieldKind::Text | FieldKind::Message(_)) && !field.is_list;
        let is_left_out = || [Flag::Internal, Flag::Deprecated, Flag::ReplaceOnly].iter().any(|flag| field.is(*flag));
        let is_required = || field.is(Flag::Required) && is_enforced_kind() && !is_left_out();
        (field.is(Flag::Needed) || is_required()) && self.group_of(field.name).is_none()
    }

    /// The required fields that these values lack. A secret may be left out: the service keeps its own, if any.
    pub fn missing<'m>(&'m self, values: &Map<String, Json>) -> impl Iterator<Item = &'m Field> {
        let is_there = |field: &Field| {
            let is_there = |value: &Json| value != "" && (!field.is(Flag::Needed) || !field.is_unset(value));
            values.get(field.name).is_some_and(is_there)
        };
        let is_needed = |field: &&Field| self.enforces(field) && !field.is(Flag::Secret);
        self.fields.iter().filter(is_needed).filter(move |field| !is_there(field))
    }

    /// The position of a unit in the order of the description; groups come first.
    pub fn unit_place(&self, unit: &str) -> usize {
        let of_field = || self.place(unit).map(|at| self.groups.len() + at);
        self.groups.iter().position(|group| group.name == unit).or_else(of_field).unwrap_or(usize::MAX)
    }

    /// The group that this key is a member of.
    pub fn group_of(&self, key: &str) -> Option<&Group> {
        self.groups.get(self.grouped[self.place(key)?]?)
    }

    /// The options of the exclusive group that this key belongs to; empty where it belongs to none.
    pub fn options(&self, key: &str) -> &[&'static str] {
        self.group_of(key).map(|group| group.members.as_slice()).unwrap_or_default()
    }
}

impl Group {
    /// Whether it has this property.
    pub fn is(&self, flag: GroupFlag) -> bool {
        self.flags.contains(&flag)
    }

    /// Whether a definition must set one of its members.
    pub fn needs_choice(&self) -> bool {
        self.is(GroupFlag::Needed) || self.is(GroupFlag::Required) && self.default.is_none()
    }
}

impl Field {
    fn new(name: &'static str, kind: FieldKind) -> Self {
        Self { name, kind, ..Self::default() }
    }

    /// Whether it has this property.
    pub fn is(&self, flag: Flag) -> bool {
        self.flags.contains(&flag)
    }

    /// The canonical form of an item for comparing it with other items, in an object of this namespace. Without a
    /// namespace, references are compared without theirs.
    pub fn canonical<'v>(&self, item: &'v Json, namespace: Option<&str>) -> Cow<'v, Json> {
        if let (Some(message), Json::Object(_)) = (self.message(), item) {
            return Cow::Owned(fills::comparable(self, message, item.clone(), namespace));
        }
        let canonical = item.as_str().and_then(|text| form::canonical(self.form()?, text));
        canonical.map_or(Cow::Borrowed(item), |text| Cow::Owned(text.into()))
    }

    /// The vendor's name for the format of its text, or of the texts in its list or map.
    fn form(&self) -> Option<&'static str> {
        let part = match self.kind {
            FieldKind::Map(_) => Part::Values,
            _ if self.is_list => Part::Items,
            _ => Part::Value,
        };
        self.rules.iter().find_map(|(of, rule)| match rule {
            Rule::Format(forms) if *of == part => forms.first().copied(),
            _ => None,
        })
    }

    /// The rules for a part of it that a value breaks, each with a message. Rules of internal fields are not enforced.
    pub fn broken(&self, part: Part, value: &Json) -> impl Iterator<Item = (&Rule, String)> {
        let rules = self.rules.iter().filter(move |(of, _)| *of == part && !self.is(Flag::Internal));
        rules.filter_map(|(_, rule)| Some((rule, rule.broken(self, value)?)))
    }

    /// Whether no rule refuses this value.
    fn permits(&self, value: &Json) -> bool {
        self.rules.iter().all(|(_, rule)| rule.broken(self, value).is_none())
    }

    /// Whether no rule excludes this number of its enumeration.
    fn is_free(&self, number: Option<i32>) -> bool {
        let Some(number) = number.map(|number| number.to_string()) else { return true };
        // The zero of an enumeration means unset, which a list of allowed values does not exclude.
        let is_none = || number == "0" && !self.is_list && matches!(self.kind, FieldKind::Enum(_));
        self.rules.iter().all(|(_, rule)| match rule {
            Rule::NotIn(numbers) => !numbers.contains(&&*number),
            Rule::In(numbers) => numbers.contains(&&*number) || is_none() || self.is(Flag::Internal),
            _ => true,
        })
    }

    /// Whether its enumeration has this name, and no rule excludes it.
    fn has_word(&self, word: &str) -> bool {
        let values = self.enumeration().map(values).unwrap_or_default();
        values.iter().find(|(name, _)| *name == word).is_some_and(|(_, number)| self.is_free(*number))
    }

    /// The names of its enumeration that no rule excludes.
    pub fn words(&self) -> impl Iterator<Item = &'static str> {
        let values = self.enumeration().map(values).unwrap_or_default();
        values.iter().filter(|(_, number)| self.is_free(*number)).map(|(name, _)| *name)
    }

    /// Whether it may refer to the kind that a reference names. The service writes kinds in several ways, all of which
    /// contain the name.
    pub fn takes(&self, reference: &Json) -> bool {
        let Some(Json::String(written)) = reference.get("kind") else { return true };
        self.refers_to.is_empty() || self.refers_to.iter().any(|kind| written.contains(kind))
    }

    /// Whether only the service writes this item of the list.
    pub fn is_served(&self, item: &Json) -> bool {
        self.served.is_some_and(|name| item["metadata"]["name"] == name)
    }

    /// Reduces a live list to the items that only the service writes. Returns whether any are left.
    fn keeps_served(&self, value: &mut Json) -> bool {
        let Json::Array(items) = value else { return false };
        items.retain(|item| self.is_served(item));
        !items.is_empty()
    }

    /// Whether a value means the same as no value, where the field is not a member of an exclusive group.
    pub fn is_unset(&self, value: &Json) -> bool {
        let of_enum = self.enumeration().zip(value.as_str());
        let is_default = self.default.is_some_and(|default| value == default);
        is_default || is_zero(value) || of_enum.is_some_and(|(id, name)| is_zero_of_enum(id, name))
    }

    /// The type of its value, of an item of its list, or of a value of its map.
    fn one(&self) -> &FieldKind {
        match &self.kind {
            FieldKind::Map(value) => value,
            kind => kind,
        }
    }

    /// The word of an enumeration that means the same as no value, where the field is not in an exclusive group.
    pub fn word_of_none(&self) -> Option<&'static str> {
        let id = self.enumeration().filter(|_| matches!(self.kind, FieldKind::Enum(_)) && !self.is_list)?;
        let zero = || values(id).iter().map(|(name, _)| *name).find(|name| is_zero_of_enum(id, name));
        self.default.or_else(zero)
    }

    /// The id of the enumeration, where that type is one.
    fn enumeration(&self) -> Option<&'static str> {
        match self.one() {
            FieldKind::Enum(id) => Some(id),
            _ => None,
        }
    }

    /// The message below it.
    pub fn message(&self) -> Option<&'static Message> {
        let id = self.below()?;
        Some(self.message.get_or_init(|| message(id)))
    }

    /// The id of the message below it: of a mapping, of the items of a list, of the values of a map.
    pub fn below(&self) -> Option<&'static str> {
        match self.one() {
            FieldKind::Message(id) => Some(id),
            _ => None,
        }
    }
}

/// `dns_name` as `dnsName`, the other spelling of a key.
pub fn camel(key: &str) -> String {
    let mut camel = String::with_capacity(key.len());
    let mut upper = false;
    for c in key.chars() {
        match c {
            '_' => upper = true,
            c if std::mem::take(&mut upper) => camel.push(c.to_ascii_uppercase()),
            c => camel.push(c),
        }
    }
    camel
}

/// `dnsName` as `dns_name`; a key that contains an underscore or begins with another letter stays as it is.
pub fn snake(key: &str) -> Cow<'_, str> {
    // Nearly every key is in snake case already, and every key comes through here.
    let is_camel = key.bytes().any(|b| b.is_ascii_uppercase()) && key.starts_with(|c: char| c.is_ascii_lowercase());
    if !is_camel || key.contains('_') {
        return key.into();
    }
    let mut snake = String::with_capacity(key.len() + 4);
    for c in key.chars() {
        if c.is_ascii_uppercase() {
            snake.push('_');
        }
        snake.push(c.to_ascii_lowercase());
    }
    snake.into()
}

/// The blocks of a description.
struct Index {
    kinds: BTreeMap<&'static str, Block<Kind>>,
    enums: HashMap<&'static str, Block<EnumValues>, FixedState>,
    messages: HashMap<&'static str, Block<Message>, FixedState>,
}

/// The names of an enumeration with their numbers.
type EnumValues = Vec<(&'static str, Option<i32>)>;

/// The lines of a kind, an enumeration or a message, decoded when they are first used.
struct Block<T> {
    text: &'static str,
    decoded: OnceLock<T>,
}

impl<T> Block<T> {
    fn new(text: &'static str) -> Self {
        Self { text, decoded: OnceLock::new() }
    }
}

impl Block<Kind> {
    fn kind(&self) -> &Kind {
        self.decoded.get_or_init(|| decode::kind(self.text))
    }
}

impl Index {
    fn of(data: &'static str) -> Self {
        let mut index = Self { kinds: BTreeMap::new(), enums: HashMap::default(), messages: HashMap::default() };
        let mut rest = data;
        while !rest.is_empty() {
            // The lines of a message are indented.
            let indented = rest.match_indices('\n').find(|(at, _)| !rest[at + 1..].starts_with(' '));
            let (block, after) = rest.split_at(indented.map_or(rest.len(), |(at, _)| at + 1));
            rest = after;
            let Some((what, line)) = block.split_once(' ') else { continue };
            let id = line.split([' ', '\n']).next().unwrap_or_default();
            let line = line[id.len()..].trim_end();
            match what {
                "kind" => _ = index.kinds.insert(id, Block::new(&block["kind ".len()..])),
                "enum" => _ = index.enums.insert(id, Block::new(line)),
                "message" => _ = index.messages.insert(id, Block::new(line)),
                _ => {}
            }
        }
        index
    }
}

#[cfg(test)]
mod tests;
