//! Each way to write something wrong, in random objects of every kind: refused at its line, and nothing is said of the others.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value, json};
use trueup::kind::{self, Field, FieldKind, Flag, Kind, Message, Rule, Unit};
use trueup::load::{Diagnostic, Severity};
use trueup::report::schema::{self, DefinitionKind};

use super::{count, kinds, load, specs};
use crate::support::objects::{self, Specs};

/// What is wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Class {
    UnknownKey,
    SwappedLetters,
    Misspelt,
    WrongType,
    TwoOptions,
    NoOption,
    NoField,
    UnknownWord,
    NumberOutOfRange,
    WrongText,
    TooManyItems,
    ItemTwice,
    ClearSecret,
    Namespace,
    KindOfReference,
}

/// Each class with the kinds in which it must have been tried, of 141: what the facts give rise to in small objects.
const CLASSES: [(Class, usize); 15] = [
    (Class::UnknownKey, 140),
    (Class::SwappedLetters, 125),
    (Class::Misspelt, 125),
    (Class::WrongType, 135),
    (Class::TwoOptions, 95),
    (Class::NoOption, 4),
    (Class::NoField, 85),
    (Class::UnknownWord, 60),
    (Class::NumberOutOfRange, 45),
    (Class::WrongText, 80),
    (Class::TooManyItems, 65),
    (Class::ItemTwice, 55),
    (Class::ClearSecret, 20),
    (Class::Namespace, 50),
    (Class::KindOfReference, 15),
];

/// Those that JSON Schema cannot refuse, or not all of them.
const NOT_IN_SCHEMAS: [Class; 5] =
    [Class::WrongText, Class::ItemTwice, Class::ClearSecret, Class::Namespace, Class::KindOfReference];

type Path = Vec<Step>;

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Step {
    Key(String),
    Item(usize),
}

/// A place of a document.
enum Site {
    /// A mapping of a message.
    Mapping(Path, &'static str),
    /// A key of one.
    Entry(Path, &'static Field, &'static str),
}

fn with(path: &Path, step: Step) -> Path {
    let mut path = path.clone();
    path.push(step);
    path
}

fn key(path: &Path, key: &str) -> Path {
    with(path, Step::Key(key.to_owned()))
}

/// The places of a spec that a person writes.
fn sites(id: &'static str, value: &Value, path: &Path, into: &mut Vec<Site>) {
    let Value::Object(entries) = value else { return };
    into.push(Site::Mapping(path.clone(), id));
    let message = kind::message(id);
    for (name, value) in entries {
        let Some(field) = message.field(name).filter(|field| !field.is(Flag::ReadOnly)) else { continue };
        let path = key(path, name);
        into.push(Site::Entry(path.clone(), field, id));
        let Some(below) = field.below().filter(|_| !field.is(Flag::Secret)) else { continue };
        match (&field.kind, value) {
            (_, Value::Array(items)) => {
                for (at, item) in items.iter().enumerate() {
                    sites(below, item, &with(&path, Step::Item(at)), into);
                }
            }
            (FieldKind::Map(_), Value::Object(values)) => {
                for (name, value) in values {
                    sites(below, value, &key(&path, name), into);
                }
            }
            (_, value) => sites(below, value, &path, into),
        }
    }
}

fn at<'v>(value: &'v mut Value, path: &[Step]) -> &'v mut Value {
    path.iter().fold(value, |value, step| match step {
        Step::Key(key) => &mut value[key.as_str()],
        Step::Item(at) => &mut value[*at],
    })
}

/// The document with every key and every item on a line of its own, and these lines.
#[derive(Default)]
struct Page {
    text: String,
    lines: BTreeMap<Path, usize>,
    line: usize,
}

impl Page {
    fn of(document: &Value) -> Self {
        let mut page = Page { line: 1, ..Page::default() };
        page.value(document, &Vec::new());
        page
    }

    fn next(&mut self, path: Path) {
        self.text.push('\n');
        self.line += 1;
        self.lines.insert(path, self.line);
    }

    fn value(&mut self, value: &Value, path: &Path) {
        match value {
            Value::Object(entries) if !entries.is_empty() => {
                self.text.push('{');
                for (number, (name, value)) in entries.iter().enumerate() {
                    self.text.push_str(if number == 0 { "" } else { "," });
                    let path = key(path, name);
                    self.next(path.clone());
                    self.text.push_str(&format!("{}: ", Value::from(name.as_str())));
                    self.value(value, &path);
                }
                self.text.push('}');
            }
            Value::Array(items) if !items.is_empty() => {
                self.text.push('[');
                for (number, item) in items.iter().enumerate() {
                    self.text.push_str(if number == 0 { "" } else { "," });
                    let path = with(path, Step::Item(number));
                    self.next(path.clone());
                    self.value(item, &path);
                }
                self.text.push(']');
            }
            scalar => self.text.push_str(&scalar.to_string()),
        }
    }
}

/// A document with a mistake: the places at which it may be reported, and a part of what is said.
struct Mistake {
    document: Value,
    places: Vec<Path>,
    says: String,
}

/// Makes a mistake of this class, where the place allows one.
fn mistake(class: Class, specs: &mut Specs, document: &Value, site: &Site) -> Option<Mistake> {
    let mut document = document.clone();
    let (places, says) = match site {
        Site::Mapping(path, id) => {
            in_mapping(class, specs, at(&mut document, path).as_object_mut()?, path, kind::message(id))?
        }
        Site::Entry(path, field, id) if class == Class::NoField => {
            let (_, above) = path.split_last()?;
            let is_gone = is_enforced(field, kind::message(id))
                && at(&mut document, above).as_object_mut()?.remove(field.name).is_some();
            is_gone.then(|| (vec![above.to_vec()], format!("`{}` is missing", field.name)))?
        }
        Site::Entry(path, field, id) if class == Class::Misspelt => {
            let (_, above) = path.split_last()?;
            let wrong = swapped(field.name, kind::message(id))?;
            let mapping = at(&mut document, above).as_object_mut()?;
            let value = mapping.remove(field.name)?;
            mapping.insert(wrong.clone(), value);
            (vec![key(&above.to_vec(), &wrong)], format!("unknown field `{wrong}`"))
        }
        Site::Entry(path, field, _) => in_entry(class, at(&mut document, path), path, field)?,
    };
    Some(Mistake { document, places, says })
}

/// Where a mistake may be reported, and a part of what is said.
type Expected = (Vec<Path>, String);

fn in_mapping(
    class: Class,
    specs: &mut Specs,
    mapping: &mut Map<String, Value>,
    path: &Path,
    message: &Message,
) -> Option<Expected> {
    let says;
    let places = match class {
        Class::UnknownKey => {
            mapping.insert("zz_unknown".to_owned(), json!(1));
            says = "unknown field `zz_unknown`".to_owned();
            vec![key(path, "zz_unknown")]
        }
        Class::SwappedLetters => {
            let names: Vec<&'static str> =
                message.fields.iter().filter(|field| !field.is(Flag::ReadOnly)).map(|field| field.name).collect();
            let name = *names.get(specs.below(names.len().max(1)))?;
            let swapped = swapped(name, message)?;
            if mapping.contains_key(name) || mapping.contains_key(&swapped) {
                return None;
            }
            mapping.insert(swapped.clone(), json!(1));
            says = format!("did you mean `{name}`?");
            vec![key(path, &swapped)]
        }
        Class::TwoOptions => {
            let group = chosen(specs, message, |name| mapping.contains_key(name))?;
            let chosen = group.members.iter().find(|name| mapping.contains_key(**name))?;
            let free: Vec<&Field> =
                group.members.iter().filter(|name| *name != chosen).filter_map(|name| message.field(name)).collect();
            let other = free.get(specs.below(free.len().max(1)))?;
            if other.is(Flag::Secret) || other.is(Flag::ReadOnly) {
                return None;
            }
            let value = specs.field(other, 9).filter(|value| !value.to_string().contains("hush"))?;
            mapping.insert(other.name.to_owned(), value);
            says = "cannot both be set".to_owned();
            vec![key(path, chosen), key(path, other.name)]
        }
        Class::NoOption => {
            let group = chosen(specs, message, |name| mapping.contains_key(name))?;
            if !group.needs_choice() {
                return None;
            }
            mapping.retain(|name, _| !group.members.contains(&name.as_str()));
            says = "is set".to_owned();
            vec![path.clone()]
        }
        _ => return None,
    };
    Some((places, says))
}

fn in_entry(class: Class, value: &mut Value, path: &Path, field: &Field) -> Option<Expected> {
    let is_map = matches!(field.kind, FieldKind::Map(_));
    let mut says = String::new();
    let places = match class {
        Class::WrongType if !field.is(Flag::Secret) => {
            *value = of_wrong_type(field)?;
            vec![path.clone()]
        }
        Class::UnknownWord if matches!(field.kind, FieldKind::Enum(_)) => {
            let word = json!("NO_SUCH_WORD");
            says = "unknown value `NO_SUCH_WORD`".to_owned();
            *value = if field.is_list { json!([word]) } else { word };
            vec![if field.is_list { with(path, Step::Item(0)) } else { path.clone() }]
        }
        Class::NumberOutOfRange if matches!(field.kind, FieldKind::Integer { .. }) && !field.is_list => {
            let number = out_of_range(field)?;
            *value = json!(number);
            says = format!("is {number}");
            vec![path.clone()]
        }
        Class::WrongText if field.kind == FieldKind::Text && !field.is_list && !field.is(Flag::Secret) => {
            *value = json!(wrong_text(field)?);
            vec![path.clone()]
        }
        Class::TooManyItems if field.is_list && !field.is(Flag::Internal) && !field.is(Flag::Secret) => {
            let most: usize = field.rules.iter().find_map(|(_, rule)| match rule {
                Rule::Range { unit: Unit::Items, most, .. } => most.and_then(|most| most.parse().ok()),
                _ => None,
            })?;
            let items = value.as_array_mut().filter(|items| most < 70 && !items.is_empty())?;
            let first = items[0].clone();
            items.resize(most + 1, first);
            says = format!("has {} items", most + 1);
            // Where no item may be there twice, each of them is named as well.
            let items = (0..=most).map(|index| with(path, Step::Item(index)));
            let is_unique = field.rules.iter().any(|(_, rule)| *rule == Rule::Unique);
            std::iter::once(path.clone()).chain(items.filter(|_| is_unique)).collect()
        }
        Class::ItemTwice if field.is_list && !field.is(Flag::Internal) && !is_map => {
            let rules = &field.rules;
            if !rules.iter().any(|(_, rule)| matches!(rule, Rule::Unique | Rule::UniqueNames)) {
                return None;
            }
            let items = value.as_array_mut().filter(|items| !items.is_empty())?;
            let first = items[0].clone();
            let is_unique = rules.iter().any(|(_, rule)| *rule == Rule::Unique);
            let is_named = first["metadata"]["name"].is_string();
            items.push(first);
            let at = |index| with(path, Step::Item(index));
            // The list may be too long now.
            let items = vec![path.clone(), at(0), at(items.len() - 1)];
            says = if is_unique { "duplicate item" } else { "tw" }.to_owned();
            if is_unique { items } else { is_named.then(|| vec![path.clone()])? }
        }
        Class::ClearSecret
            if field.is(Flag::Secret) && matches!(field.kind, FieldKind::Message(_)) && !field.is_list =>
        {
            *value = json!({"clear_secret_info": {"url": "string:///aHVudGVyMg=="}});
            says = "is in clear text".to_owned();
            vec![path.clone()]
        }
        Class::KindOfReference if !field.refers_to.is_empty() => {
            let below =
                field.below().filter(|id| kind::is_reference(id) && kind::message(id).field("kind").is_some())?;
            let (mapping, place) = match value {
                Value::Array(items) => (items.first_mut()?, with(path, Step::Item(0))),
                value => (value, path.clone()),
            };
            mapping.as_object_mut()?.insert("kind".to_owned(), json!("no_such_kind"));
            debug_assert!(!below.is_empty());
            says = "cannot refer to the kind `no_such_kind`".to_owned();
            vec![place]
        }
        _ => return None,
    };
    Some((places, says))
}

/// A group of which an option is chosen.
fn chosen<'m>(specs: &mut Specs, message: &'m Message, is_there: impl Fn(&str) -> bool) -> Option<&'m kind::Group> {
    let chosen: Vec<&kind::Group> =
        message.groups.iter().filter(|group| group.members.iter().any(|name| is_there(name))).collect();
    chosen.get(specs.below(chosen.len().max(1))).copied()
}

/// A key with two neighbouring letters swapped, where the message has no such key.
fn swapped(name: &str, message: &Message) -> Option<String> {
    let mut bytes = name.as_bytes().to_vec();
    let at = (1..bytes.len().saturating_sub(1))
        .find(|at| bytes[*at] != bytes[at + 1] && bytes[*at] != b'_' && bytes[at + 1] != b'_')?;
    bytes.swap(at, at + 1);
    let swapped = String::from_utf8(bytes).ok()?;
    (name.len() > 3 && message.field(&swapped).is_none()).then_some(swapped)
}

fn of_wrong_type(field: &Field) -> Option<Value> {
    if field.is_list {
        return Some(json!({"a": 1}));
    }
    Some(match &field.kind {
        FieldKind::Bool => json!("maybe"),
        FieldKind::Integer { .. } | FieldKind::Float { .. } | FieldKind::Timestamp | FieldKind::Duration => {
            json!("abc")
        }
        FieldKind::Text | FieldKind::Bytes | FieldKind::Enum(_) => json!([1]),
        FieldKind::Message(_) | FieldKind::Map(_) => json!(5),
        FieldKind::Any => return None,
    })
}

/// What the service refuses to do without: texts and messages, and not what the vendor keeps or gave up.
fn is_enforced(field: &Field, message: &Message) -> bool {
    let is_left_out =
        [Flag::Internal, Flag::Deprecated, Flag::ReplaceOnly, Flag::Secret].iter().any(|flag| field.is(*flag));
    let is_enforced_kind = !field.is_list && matches!(field.kind, FieldKind::Text | FieldKind::Message(_));
    field.is(Flag::Required) && is_enforced_kind && !is_left_out && message.group_of(field.name).is_none()
}

fn out_of_range(field: &Field) -> Option<i128> {
    let FieldKind::Integer { bits, is_signed } = field.kind else { return None };
    let ruled = field.rules.iter().filter(|_| !field.is(Flag::Internal)).find_map(|(_, rule)| match rule {
        Rule::Range { unit: Unit::Number, most: Some(most), .. } => most.parse::<i128>().ok().map(|most| most + 1),
        _ => None,
    });
    ruled.or_else(|| (bits == 32).then_some(if is_signed { 2_147_483_648 } else { 4_294_967_296 }))
}

fn wrong_text(field: &Field) -> Option<String> {
    field.rules.iter().filter(|_| !field.is(Flag::Internal)).find_map(|(_, rule)| match rule {
        Rule::Range { unit: Unit::Characters | Unit::Bytes, most: Some(most), .. } => {
            most.parse::<usize>().ok().filter(|most| *most < 5000).map(|most| "a".repeat(most + 1))
        }
        Rule::Range { unit: Unit::Characters | Unit::Bytes, least: Some(least), .. } => {
            least.parse::<usize>().ok().filter(|least| *least > 1).map(|least| "a".repeat(least - 1))
        }
        Rule::In(_) | Rule::Const(_) => Some("no such text".to_owned()),
        Rule::Pattern(pattern) if pattern.starts_with('^') && pattern.ends_with('$') && !pattern.contains(".*") => {
            Some("~ no ~".to_owned())
        }
        Rule::Format(forms)
            if forms
                .iter()
                .any(|form| ["ip", "ipv4", "ipv6", "ip_prefix", "ipv4_prefix", "ipv6_prefix"].contains(form)) =>
        {
            Some("192.0.2.400".to_owned())
        }
        _ => None,
    })
}

/// Makes the mistake of the namespace.
fn elsewhere(kind: &Kind, document: &Value) -> Option<Mistake> {
    let place = |name: &str| if ["system", "shared"].contains(&name) { name.to_owned() } else { "user".to_owned() };
    let other =
        ["shop", "system", "shared"].into_iter().find(|name| !kind.namespaces.contains(&place(name).as_str()))?;
    let mut document = document.clone();
    document["metadata"]["namespace"] = json!(other);
    let path = vec![Step::Key("metadata".to_owned()), Step::Key("namespace".to_owned())];
    let mistake = Mistake { document, places: vec![path], says: "cannot be in the namespace".to_owned() };
    (!kind.namespaces.is_empty()).then_some(mistake)
}

#[test]
fn each_mistake_in_an_object_of_any_kind_is_refused_at_its_line_and_no_other_line_is_named() {
    let (seed, count) = (objects::seed(), count(8));
    let mut tried: BTreeMap<Class, BTreeSet<&str>> = BTreeMap::new();
    // How many there are, and how many of them the schema for editors refuses as well.
    let mut by_schema: BTreeMap<Class, (usize, usize)> = BTreeMap::new();
    let mut wrong = Vec::new();
    for kind in kinds() {
        let mut specs = specs(seed, kind);
        let schema = schema::of_kind(kind, DefinitionKind::Whole);
        let schema = jsonschema::validator_for(&schema).expect("a schema");
        for _ in 0..count {
            let Some(spec) = (0..50).map(|_| specs.spec(kind)).find(|spec| !spec.to_string().contains("hush")) else {
                break;
            };
            let metadata = json!({"name": "a", "namespace": objects::namespace(kind)});
            let document = json!({"kind": kind.name, "metadata": metadata, "spec": spec});
            let mut all = Vec::new();
            sites(kind.spec, &spec, &vec![Step::Key("spec".to_owned())], &mut all);
            for (class, _) in CLASSES {
                let mistake = match class {
                    Class::Namespace => elsewhere(kind, &document),
                    class => {
                        let start = specs.below(all.len());
                        let mut places = all[start..].iter().chain(&all[..start]);
                        places.find_map(|site| mistake(class, &mut specs, &document, site))
                    }
                };
                let Some(mistake) = mistake else { continue };
                tried.entry(class).or_default().insert(kind.name);
                let (all, refused) = by_schema.entry(class).or_default();
                *all += 1;
                *refused += usize::from(!schema.is_valid(&mistake.document));
                let found = found(&mistake);
                wrong.extend(
                    found.map(|found| format!("TRUEUP_SEED={seed} TRUEUP_KIND={} {class:?}: {found}", kind.name)),
                );
            }
        }
    }
    for (class, kinds) in &tried {
        let (all, refused) = by_schema[class];
        eprintln!("{class:?}: {} kinds; the schema refuses {refused} of {all}", kinds.len());
        assert!(refused == all || NOT_IN_SCHEMAS.contains(class), "{class:?}: the schema refuses {refused} of {all}");
    }
    assert!(wrong.is_empty(), "{}: {}", wrong.len(), wrong[..wrong.len().min(12)].join("\n\n"));
    if std::env::var_os("TRUEUP_KIND").is_none() {
        for (class, least) in CLASSES {
            let kinds = tried.get(&class).map_or(0, BTreeSet::len);
            assert!(kinds >= least, "{class:?}: only {kinds} kinds");
        }
    }
}

/// What is not as it should be about the problems that are found; nothing where all is.
fn found(mistake: &Mistake) -> Option<String> {
    let page = Page::of(&mistake.document);
    let lines: Vec<usize> = mistake.places.iter().map(|path| page.lines[path]).collect();
    let Err((_, problems)) = load(&[("a".to_owned(), page.text.clone())]) else {
        return Some(format!("nothing was found\n{}", page.text));
    };
    let errors: Vec<&Diagnostic> = problems.iter().filter(|problem| problem.severity == Severity::Error).collect();
    let text = |problem: &Diagnostic| {
        let labels = problem.labels.iter().map(|label| label.label.clone());
        let parts: Vec<String> =
            [problem.message.clone()].into_iter().chain(labels).chain(problem.help.clone()).collect();
        format!("{}: {}", problem.line(), parts.join("; "))
    };
    let said: Vec<String> = errors.iter().map(|problem| text(problem)).collect();
    let is_said = said.iter().any(|line| line.contains(&mistake.says));
    let is_there = errors.iter().all(|problem| lines.contains(&problem.line()));
    let is_shown = said.iter().any(|line| line.contains("aHVudGVyMg"));
    (!is_said || !is_there || is_shown || errors.is_empty())
        .then(|| format!("line {lines:?}, `{}`: {said:#?}\n{}", mistake.says, page.text))
}
