//! Reads the lines of the description. The description is a part of the program and tested completely, so an unknown
//! word is a bug and panics.

use serde::Deserialize as _;
use serde::de::value::{Error, StrDeserializer};

use super::rule::Unit;
use super::{Field, FieldKind, Flag, Group, GroupFlag, Kind, Message, Naming, Part, Rule};

/// `NAME PREFIX PLURAL .MESSAGE [in=…] [view] [children=…] [weak] [whole] [digests=…] [columns=…] [labels=…]`
pub fn kind(line: &'static str) -> Kind {
    let mut words = line.split_whitespace();
    let mut next = || words.next().expect("a kind has four words");
    let (name, prefix, plural, spec) = (next(), next(), next(), next());
    let mut kind = Kind { name, prefix, plural, spec: &spec[1..], ..Kind::default() };
    for word in words {
        match word.split_once('=') {
            Some(("in", list)) => kind.namespaces = list.split(',').collect(),
            Some(("children", list)) => kind.children = list.split(',').collect(),
            Some(("columns", list)) => kind.columns = list.split(',').collect(),
            Some(("labels", list)) => kind.labels = list.split(',').collect(),
            Some(("digests", list)) => kind.digests = list.split(',').filter_map(digest).collect(),
            None if word == "view" => kind.is_view = true,
            None if word == "weak" => kind.is_weak = true,
            None if word == "host" => kind.naming = Naming::Host,
            None if word == "whole" => kind.is_whole = true,
            _ => panic!("`{word}` of kind {name} is unknown"),
        }
    }
    kind
}

/// `UNIT:LETTER`
fn digest(word: &'static str) -> Option<(&'static str, char)> {
    let (unit, letter) = word.split_once(':')?;
    Some((unit, letter.chars().next()?))
}

/// `NAME=NUMBER …`
pub fn values(line: &'static str) -> Vec<(&'static str, Option<i32>)> {
    let value = |word: &'static str| {
        let (name, number) = word.split_once('=').expect("a value has a number, or none behind its `=`");
        (name, number.parse().ok())
    };
    line.split_whitespace().map(value).collect()
}

/// The lines of a message: groups with `|`, keys that only responses have with `<`, and fields.
pub fn message(block: &'static str, is_reference: bool) -> Message {
    let (mut groups, mut fields) = (Vec::new(), Vec::new());
    for line in block.lines().map(str::trim).filter(|line| !line.is_empty()) {
        if let Some(line) = line.strip_prefix('|') {
            groups.push(group(line));
        } else if let Some(line) = line.strip_prefix('<') {
            let served = |name| Field { flags: vec![Flag::ReadOnly], ..Field::new(name, FieldKind::Any) };
            fields.extend(line.split_whitespace().map(served));
        } else {
            fields.push(field(line));
        }
    }
    // A member of a group without a line of its own is an option without fields.
    for member in groups.iter().flat_map(|group: &Group| &group.members) {
        if !fields.iter().any(|field: &Field| field.name == *member) {
            fields.push(Field::new(member, FieldKind::EMPTY));
        }
    }
    // The console writes `kind` in every reference, and the service accepts it.
    if is_reference && fields.iter().all(|field| field.name != "kind") {
        fields.push(Field { flags: vec![Flag::ReadOnly], ..Field::new("kind", FieldKind::Text) });
    }
    Message::new(groups, fields, is_reference)
}

fn group(line: &'static str) -> Group {
    let (head, members) = line.split_once(": ").expect("a group has members");
    let mut words = head.split_whitespace();
    let name = words.next().expect("a group has a name");
    let members = members.split_whitespace().collect();
    let mut group = Group { name, members, ..Group::default() };
    for word in words {
        match word {
            "required" => group.flags.push(GroupFlag::Required),
            "needed" => group.flags.push(GroupFlag::Needed),
            "fill" => group.flags.push(GroupFlag::Filled),
            "immutable" => group.flags.push(GroupFlag::Immutable),
            _ => group.default = Some(word.strip_prefix("default=").expect("nothing else is said of a group")),
        }
    }
    group
}

fn field(line: &'static str) -> Field {
    let (line, meaning) = line.split_once(" -- ").unwrap_or((line, ""));
    let mut words = line.split_whitespace();
    let name = words.next().expect("a field has a name");
    let kind = words.next().expect("a field has a type");
    let (kind, is_list) = match kind.strip_suffix("[]") {
        Some(item) => (item, true),
        None => (kind, false),
    };
    let mut field = Field { is_list, meaning, ..Field::new(name, field_kind(kind)) };
    for word in words {
        match word.split_once('=') {
            Some(("to", list)) => field.refers_to = list.split(',').collect(),
            Some(("mirrors", source)) => field.mirrors = Some(source),
            Some(("default", default)) => field.default = Some(default),
            Some(("namespace", namespace)) => field.namespace = Some(namespace),
            Some(("served", item)) => field.served = Some(item),
            Some(_) => add_rule(&mut field.rules, word),
            None => match Flag::deserialize(StrDeserializer::<Error>::new(word)) {
                Ok(flag) => field.flags.push(flag),
                Err(_) => add_rule(&mut field.rules, word),
            },
        }
    }
    field
}

fn field_kind(word: &'static str) -> FieldKind {
    if let Some(value) = word.strip_prefix("map<") {
        return FieldKind::Map(Box::new(field_kind(value.trim_end_matches('>'))));
    }
    if let Some(id) = word.strip_prefix('.') {
        return FieldKind::Message(id);
    }
    if let Some(id) = word.strip_prefix('=') {
        return FieldKind::Enum(id);
    }
    match word {
        "{}" => FieldKind::EMPTY,
        "bool" => FieldKind::Bool,
        "int32" => FieldKind::Integer { bits: 32, is_signed: true },
        "int64" => FieldKind::Integer { bits: 64, is_signed: true },
        "uint32" => FieldKind::Integer { bits: 32, is_signed: false },
        "uint64" => FieldKind::Integer { bits: 64, is_signed: false },
        "float" => FieldKind::Float { bits: 32 },
        "double" => FieldKind::Float { bits: 64 },
        "string" => FieldKind::Text,
        "bytes" => FieldKind::Bytes,
        "timestamp" => FieldKind::Timestamp,
        "duration" => FieldKind::Duration,
        "any" | "unknown" => FieldKind::Any,
        _ => panic!("`{word}` is not a type"),
    }
}

/// Adds one rule; the two bounds of a range become one rule.
fn add_rule(rules: &mut Vec<(Part, Rule)>, word: &'static str) {
    let (name, value) = word.split_once('=').unwrap_or((word, ""));
    let (part, name) = match name.split_once('.') {
        Some(("items", name)) => (Part::Items, name),
        Some(("keys", name)) => (Part::Keys, name),
        Some(("values", name)) => (Part::Values, name),
        _ => (Part::Value, name),
    };
    let list = || value.split(',').collect::<Vec<_>>();
    let rule = match name {
        "in" => Rule::In(list()),
        "not_in" => Rule::NotIn(list()),
        "ranges" => Rule::Ranges(list()),
        "not_in_ranges" => Rule::NotInRanges(list()),
        "const" => Rule::Const(value),
        "pattern" => Rule::Pattern(value),
        "format" => Rule::Format(list()),
        "unique" => Rule::Unique,
        "unique_values" => Rule::UniqueValues,
        "unique_metadata_name" => Rule::UniqueNames,
        "defined_only" => Rule::DefinedOnly,
        "required_one_nonzero_field" => Rule::OneNonzero,
        "num_items" => Rule::ItemCounts(list()),
        _ => return add_bound(rules, part, name, value),
    };
    rules.push((part, rule));
}

fn add_bound(rules: &mut Vec<(Part, Rule)>, part: Part, name: &str, value: &'static str) {
    let (end, of) = name.split_once('_').unwrap_or((name, ""));
    let of = match of {
        "" => Unit::Number,
        "len" => Unit::Characters,
        "bytes" => Unit::Bytes,
        "items" => Unit::Items,
        "pairs" => Unit::Pairs,
        "ports" => Unit::Ports,
        "ip_prefix_length" => Unit::PrefixLength,
        _ => panic!("`{name}` is not a rule"),
    };
    let is_same =
        |(at, rule): &&mut (Part, Rule)| *at == part && matches!(rule, Rule::Range { unit, .. } if *unit == of);
    if rules.iter_mut().find(is_same).is_none() {
        rules.push((part, Rule::Range { unit: of, least: None, most: None }));
    }
    let Some((_, Rule::Range { least, most, .. })) = rules.iter_mut().find(is_same) else { return };
    match end {
        "min" => *least = Some(value),
        "max" => *most = Some(value),
        _ => panic!("`{name}` is not a rule"),
    }
}
