//! The kinds of the API, and what the fields of one are, from their description.

use crate::kind::{self, Field, FieldKind, Flag, Group, GroupFlag, Kind, Rule, snake};
use crate::report::prelude::*;

/// All kinds.
#[derive(Debug, Serialize, JsonSchema)]
pub struct KindList {
    kinds: Vec<DescribedKind>,
}

/// One kind.
#[derive(Debug, Serialize, JsonSchema)]
struct DescribedKind {
    name: &'static str,
    /// The path of its lists and creates.
    path: String,
    /// Where its objects may be: `system`, `shared`, `user` (all others); empty: anywhere.
    namespaces: Vec<&'static str>,
    /// Whether the service makes other objects of it.
    view: bool,
    /// The kinds of those objects, as far as they are known.
    children: Vec<&'static str>,
    /// The paths of its secrets; items of lists and values of maps have no step of their own.
    secrets: Vec<String>,
    /// The kinds that its references are known to name.
    refers_to: BTreeSet<&'static str>,
    /// `descriptor`, or `openapi` where only the published schemas know it.
    source: &'static str,
}

/// A kind, with the fields that were asked for.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Described {
    kind: DescribedKind,
    /// The field of the path, if it names one.
    field: Option<DescribedField>,
    /// The fields directly below it; of a kind those of its `spec`.
    below: Vec<DescribedField>,
}

/// A field of a kind.
#[derive(Debug, Serialize, JsonSchema)]
struct DescribedField {
    /// Its path from the kind on; items of lists and values of maps have no step of their own.
    path: String,
    r#type: String,
    /// What is allowed there.
    allowed: Vec<String>,
    /// What leaving it out means, where that is known.
    default: Option<String>,
    /// What else is known of it.
    notes: Vec<String>,
    /// The fields of which one excludes the others, itself included.
    exclusive: Vec<&'static str>,
    required: bool,
}

/// A path that leads nowhere.
#[derive(Debug)]
pub struct UnknownField {
    /// The path of what is there.
    pub above: String,
    /// The key that it does not have.
    pub key: String,
    /// The keys that it has.
    pub known: Vec<String>,
}

impl Default for KindList {
    /// All kinds, by name.
    fn default() -> Self {
        Self { kinds: kind::all().map(DescribedKind::new).collect() }
    }
}

impl Report for KindList {
    written_as!("kinds");

    /// A row for each kind.
    fn blocks<'a>(&'a self, _: &TextView) -> Blocks<'a> {
        let columns = ["KIND", "NAMESPACES", "SECRETS", "MAKES", "PATH", "REFERS TO"];
        let row = |kind: &'a DescribedKind| {
            let refers_to: Vec<&str> = kind.refers_to.iter().copied().collect();
            let namespaces = if kind.namespaces.is_empty() { "any".to_owned() } else { kind.namespaces.join(", ") };
            let secrets = if kind.secrets.is_empty() { String::new() } else { kind.secrets.len().to_string() };
            let texts = [namespaces, secrets, kind.makes(), kind.path.clone(), refers_to.join(", ")].map(code);
            [code(kind.name)].into_iter().chain(texts)
        };
        let weak = self.kinds.iter().filter(|kind| kind.source == "openapi").map(|kind| kind.name);
        let weak: Vec<&str> = weak.collect();
        let (all, names) = (line![self.kinds.len(), " kinds, "], code(weak.join(", ")));
        let known = line![all, weak.len(), " of them known from the published schemas alone: ", names];
        let table = Table::new(columns).free(3..6).rows(self.kinds.iter().map(row));
        let mut blocks = Blocks::from(table).then(known);
        blocks.command("The fields of one:", "trueup explain origin_pool".to_owned());
        blocks
    }
}

impl DescribedKind {
    fn new(kind: &Kind) -> Self {
        let fields = kind.messages().into_iter().flat_map(|(_, message)| &message.fields);
        Self {
            name: kind.name,
            path: kind.path(),
            view: kind.is_view,
            secrets: kind.secrets(),
            refers_to: fields.flat_map(|field| field.refers_to.iter().copied()).collect(),
            source: if kind.is_weak { "openapi" } else { "descriptor" },
            namespaces: kind.namespaces.clone(),
            children: kind.children.clone(),
        }
    }

    /// What the service makes of an object; empty if it makes nothing.
    fn makes(&self) -> String {
        match (self.view, self.children.as_slice()) {
            (false, _) => String::new(),
            (true, []) => "other objects".to_owned(),
            (true, children) => children.join(", "),
        }
    }

    fn blocks(&self) -> Blocks<'_> {
        let namespaces = match self.namespaces.join(", ") {
            any if any.is_empty() => "any".to_owned(),
            some => some.replace("user", "those of users"),
        };
        let refers_to: Vec<&str> = self.refers_to.iter().copied().collect();
        let known = if self.source == "openapi" {
            "the published schemas alone: references, groups and defaults are unknown"
        } else {
            "the vendor's descriptors and validators"
        };
        let rows = [
            ("path", self.path.clone()),
            ("namespaces", namespaces),
            ("makes", self.makes()),
            ("refers to", refers_to.join(", ")),
            ("secrets", self.secrets.join(", ")),
            ("known from", known.to_owned()),
        ];
        facts(self.name, rows)
    }
}

/// The kind or the field that a path names, such as `origin_pool.spec.port`; `spec` and `metadata` alone are those of an
/// endpoint. `None` if the path does not begin with a kind.
///
/// # Errors
/// There is no such field.
pub fn explain(path: &str) -> Option<Result<Described, UnknownField>> {
    let mut keys: Vec<&str> = path.split('.').collect();
    if matches!(*keys.first()?, "spec" | "metadata") {
        keys.insert(0, kind::ENDPOINT);
    }
    let kind = kind::find(&snake(keys[0]))?;
    Some(described(kind, &keys[1..]))
}

/// The field with these keys below a kind, and those below it; without keys, those of the kind's spec.
fn described(kind: &Kind, keys: &[&str]) -> Result<Described, UnknownField> {
    let (part, keys) = keys.split_first().map_or(("spec", keys), |(part, keys)| (*part, keys));
    let mut message = match part {
        "spec" => kind.message(),
        "metadata" => kind::metadata(),
        _ => {
            let known = ["metadata", "spec"].map(str::to_owned).to_vec();
            return Err(UnknownField { above: kind.name.to_owned(), key: part.to_owned(), known });
        }
    };
    let mut above = format!("{}.{part}", kind.name);
    let mut found = None;
    for key in keys {
        let key = &*message.spelled(key);
        let Some(field) = message.field(key) else {
            let known = message.fields.iter().map(|field| field.name.to_owned()).collect();
            return Err(UnknownField { above, key: key.to_owned(), known });
        };
        let described = DescribedField::new(&above, field, message.group_of(key));
        above.clone_from(&described.path);
        message = kind::message(field.below().unwrap_or_default());
        found = Some(described);
    }
    let below = message.fields.iter().map(|field| DescribedField::new(&above, field, message.group_of(field.name)));
    Ok(Described { kind: DescribedKind::new(kind), field: found, below: below.collect() })
}

impl DescribedField {
    fn new(above: &str, field: &Field, group: Option<&Group>) -> Self {
        let names: Vec<&str> = field.words().collect();
        let of_names = (!names.is_empty()).then(|| format!("one of {}", names.join(", ")));
        let is_of_names = |rule: &Rule| matches!(rule, Rule::In(_) | Rule::NotIn(_) | Rule::DefinedOnly);
        let rules = field.rules.iter().filter(|(_, rule)| names.is_empty() || !is_of_names(rule));
        let rules = rules.map(|(part, rule)| part.words(&rule.words()));
        let mut allowed: Vec<String> = of_names.into_iter().chain(rules).collect();
        if let Some(group) = group {
            let least = if group.is(GroupFlag::Required) || group.is(GroupFlag::Needed) {
                "exactly one"
            } else {
                "at most one"
            };
            allowed.push(format!("{least} of {}", group.members.join(", ")));
        }
        let of_group = group.filter(|group| !group.is(GroupFlag::Needed)).and_then(|group| {
            let default = group.default?;
            let filled = match group.is(GroupFlag::Filled) {
                true => ", filled in by the service",
                // The service rejects an object in which none is set.
                false if group.is(GroupFlag::Required) => return None,
                false => "",
            };
            Some(format!("{default} where none of them is set{filled}"))
        });
        let default = field.default.map(str::to_owned).or(of_group);
        Self {
            path: format!("{above}.{}", field.name),
            r#type: words(field),
            allowed,
            default,
            notes: notes(field),
            exclusive: group.map(|group| group.members.clone()).unwrap_or_default(),
            required: field.is(Flag::Required),
        }
    }

    fn blocks(&self) -> Blocks<'_> {
        let rows = [
            ("type", self.r#type.clone()),
            ("allowed", self.allowed.join("; ")),
            ("default", self.default.clone().unwrap_or_else(|| "none".to_owned())),
            ("notes", self.notes.join("; ")),
        ];
        facts(&self.path, rows)
    }

    /// A row about it among others.
    fn row(&self) -> [Part<'_>; 3] {
        let name = self.path.rsplit('.').next().unwrap_or_default();
        let group = if self.exclusive.is_empty() { String::new() } else { format!("one of {}", self.exclusive.len()) };
        let required = if self.required { "required" } else { "" };
        let more: Vec<&str> = [group.as_str(), required].into_iter().filter(|words| !words.is_empty()).collect();
        [code(name), foreign(&self.r#type), foreign(more.join(", "))]
    }
}

impl Described {
    /// Its view.
    pub(super) fn blocks(&self) -> Blocks<'_> {
        let mut blocks = self.field.as_ref().map_or_else(|| self.kind.blocks(), DescribedField::blocks);
        if let Some(first) = self.below.first() {
            let rows = self.below.iter().map(DescribedField::row);
            blocks.section(Table::new(["", "", ""]).titled(line!["fields"], 4).rows(rows));
            blocks.gap();
            blocks.command("More of one:", format!("trueup explain {}", first.path));
        }
        blocks
    }
}

/// Names with their values below a heading; empty values are left out.
fn facts(heading: &str, rows: impl IntoIterator<Item = (&'static str, String)>) -> Blocks<'_> {
    let rows = rows.into_iter().filter(|(_, value)| !value.is_empty());
    let rows = rows.map(|(name, value)| [line![name], line![foreign(value)]]);
    Blocks::from(line![code(heading)]).then(Table::new(["", ""]).titled(Line::default(), 2).rows(rows))
}

fn words(field: &Field) -> String {
    let kind = kind_words(&field.kind);
    match field.kind {
        _ if !field.is_list => kind,
        FieldKind::Integer { .. } | FieldKind::Text | FieldKind::Message(_) | FieldKind::Enum(_) => {
            format!("list of {kind}s")
        }
        _ => format!("list of {kind}"),
    }
}

fn kind_words(kind: &FieldKind) -> String {
    let words = match kind {
        FieldKind::Bool => "true or false",
        FieldKind::Integer { .. } => "whole number",
        FieldKind::Float { .. } => "number",
        FieldKind::Text => "text",
        FieldKind::Bytes => "base64",
        FieldKind::Timestamp => "time",
        FieldKind::Duration => "duration, such as 1.5s",
        FieldKind::Any => "anything",
        FieldKind::Message("") => "{}",
        FieldKind::Message("ObjectRefType" | "views.ObjectRefType") => "reference",
        FieldKind::Message(_) => "mapping",
        FieldKind::Enum(_) => "word",
        FieldKind::Map(value) => return format!("mapping with free keys of {}", kind_words(value)),
    };
    words.to_owned()
}

/// What else is known of a field.
fn notes(field: &Field) -> Vec<String> {
    let refers_to = (!field.refers_to.is_empty()).then(|| format!("refers to {}", field.refers_to.join(" or ")));
    let served = field.served.map(|item| format!("its item `{item}` is written by the service alone"));
    let flags = field.flags.iter().filter_map(|flag| {
        Some(match flag {
            Flag::Required => "required",
            Flag::Secret => "a secret",
            Flag::Immutable | Flag::CreateOnly => "cannot change after the create",
            Flag::ReadOnly => "written by the service alone",
            Flag::Deprecated => "deprecated by the vendor",
            Flag::Internal => "for the vendor's own use",
            Flag::ReplaceOnly => "not in a create",
            Flag::Unanswered => "in no answer of the service",
            Flag::Needed => "a definition needs it",
            Flag::Filled => "filled in by the service where it is left out",
            Flag::Set => "compared as a set",
            // It is only about how documents are written.
            Flag::Shown => return None,
        })
    });
    let meaning = Some(field.meaning.to_owned()).filter(|meaning| !meaning.is_empty());
    meaning.into_iter().chain(refers_to).chain(served).chain(flags.map(str::to_owned)).collect()
}
