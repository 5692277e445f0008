//! Live endpoints as a table, as Markdown and as JSON, each from the same values. A column is a field of a
//! definition, or something that only the service knows, such as when an endpoint was changed. Where a value is
//! absent, the cell is `-`.

use super::facts::unit;
use crate::kind::{FieldKind, KindName};
use crate::model::{
    Field, ListRead, Live, LiveItem, LiveObject, Object, Ownership, RelatedObject, StringMap, UnknownField,
    is_ownership_annotation,
};
use crate::plan::ServiceId;
use crate::report::prelude::*;

/// Live endpoints, and the reads that they come from.
pub struct ObjectListing<'a> {
    /// The service.
    pub service: &'a ServiceId,
    /// When the snapshot was taken, RFC 3339, and its digest; `None` for the service itself.
    pub taken: Option<(&'a str, &'a str)>,
    /// Every list that was read: `namespace` of endpoints, `kind:namespace` of others.
    pub live: &'a Live,
    /// The items that are shown, in order.
    pub items: Vec<&'a LiveItem>,
    /// The columns of the table; none for the usual ones.
    pub columns: &'a [Column],
}

impl ObjectListing<'_> {
    /// The noun for what it lists, after a number.
    fn noun(&self) -> &'static str {
        Key::noun(self.items.iter().map(|item| item.key()))
    }
}

impl Report for ObjectListing<'_> {
    /// The listing as a table, with a row for each endpoint; a snapshot is described above it.
    fn blocks<'b>(&'b self, _: &TextView) -> Blocks<'b> {
        let mut blocks = Blocks::default();
        if let Some((taken, digest)) = self.taken {
            let namespaces: BTreeSet<_> = self.live.lists.keys().map(|scope| &scope.namespace).collect();
            let snapshot = line!["Snapshot of ", code(&self.service.base_url), ", taken ", moment(taken), ": "];
            let items = Line::count(self.items.len(), self.noun());
            let namespaces = Line::count(namespaces.len(), "namespace");
            blocks.line(line![snapshot, items, " in ", namespaces, ", digest ", code(digest)]);
        }
        // A name or a time is useless without its end.
        let is_free = |column: &Column| matches!(column, Column::Field(_) | Column::Named("labels" | "annotations", _));
        let usual = Column::usual(&self.items);
        let columns = if self.columns.is_empty() { &usual } else { self.columns };
        let which = |is: &dyn Fn(&Column) -> bool| -> Vec<usize> {
            columns.iter().enumerate().filter(|(_, column)| is(column)).map(|(at, _)| at).collect()
        };
        let heading = |column: &Column| match column {
            Column::Named("endpoint", _) => self.noun().to_uppercase(),
            column => column.heading(),
        };
        let headings = columns.iter().map(|column| code(heading(column)));
        let rows = self.items.iter().map(|item| columns.iter().map(|column| code(column.cell(item))));
        blocks.section(Table::new(headings).free(which(&is_free)).right(which(&Column::is_number)).rows(rows));
        blocks
    }

    fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        let read = |read: &ListRead| {
            let reason = read.unknown().map(str::to_owned);
            ListedNamespace { complete: reason.is_none(), reason }
        };
        let report = ListingReport {
            service: self.service,
            taken: self.taken.map(|(taken, _)| taken),
            namespaces: self.live.lists.iter().map(|(scope, of)| (scope.to_string(), read(of))).collect(),
            endpoints: self.items.iter().map(|item| Listing::of(item)).collect(),
        };
        document::write("endpoints", report, out)
    }
}

/// The cell of what is absent.
const ABSENT: &str = "-";

/// What is in a column for an item.
type Cell = fn(&LiveItem) -> Option<String>;

/// A column of the table.
#[derive(Debug, Clone)]
pub enum Column {
    /// One with a name of its own.
    Named(&'static str, Cell),
    /// A field of a definition.
    Field(Field),
}

/// The columns that have a name of their own, with their cells.
const NAMED: [(&str, Cell); 10] = [
    ("endpoint", |item| Some(item.key().to_string())),
    ("namespace", |item| Some(item.key().namespace.to_string())),
    ("name", |item| Some(item.key().name.to_string())),
    ("labels", |item| Some(pairs(&item.object()?.endpoint.labels))),
    // Without the ownership annotations.
    ("annotations", |item| Some(pairs(&item.object()?.endpoint.annotations))),
    ("owner", |item| owner(item.object()?)),
    ("uid", |item| Some(item.object()?.uid.clone())),
    ("creator", |item| item.object()?.creator.clone()),
    ("created", |item| item.object()?.created.as_deref().map(minute)),
    ("modified", |item| item.object()?.modified.as_deref().or(item.object()?.created.as_deref()).map(minute)),
];

impl Column {
    /// The default columns; without endpoints, only those fields for which an item has a value.
    fn usual(items: &[&LiveItem]) -> Vec<Self> {
        let units = KindName::ENDPOINT.kind().columns.iter().map(|unit| Column::Field(Field::of_unit(unit)));
        let has_endpoints = items.iter().any(|item| item.key().kind.is_endpoint());
        let units = units.filter(|column| has_endpoints || items.iter().any(|item| column.cell(item) != ABSENT));
        let named = |name| Column::named(name).into_iter();
        named("endpoint").chain(units).chain(named("owner")).chain(named("modified")).collect()
    }

    /// Whether its values are numbers.
    fn is_number(&self) -> bool {
        let Column::Field(field) = self else { return false };
        let of_spec = field.unit().and_then(|unit| KindName::ENDPOINT.message().field(unit));
        of_spec.is_some_and(|field| matches!(field.kind, FieldKind::Integer { .. }))
    }

    /// The column of this name: one of [`Column::names`], `labels.KEY` or `annotations.KEY`.
    pub fn parse(name: &str) -> Option<Self> {
        Column::named(name).or_else(|| Field::from_path(name).map(Column::Field))
    }

    fn named(name: &str) -> Option<Self> {
        NAMED.into_iter().find(|(known, _)| *known == name).map(|(name, cell)| Column::Named(name, cell))
    }

    /// The names of all columns but those of single labels and annotations.
    pub fn names() -> Vec<String> {
        let fields = Field::of_endpoint().map(|field| Column::Field(field).name());
        NAMED.iter().map(|(name, _)| (*name).to_owned()).chain(fields).collect()
    }

    fn name(&self) -> String {
        match self {
            Column::Field(field) => {
                let name = field.to_string();
                name.strip_prefix("spec.").map_or_else(|| name.clone(), str::to_owned)
            }
            Column::Named(name, _) => (*name).to_owned(),
        }
    }

    fn heading(&self) -> String {
        match self {
            // The case of such a key is significant.
            Column::Field(Field::Label(key) | Field::Annotation(key)) => key.clone(),
            column => column.name().to_uppercase().replace('_', " "),
        }
    }

    fn cell(&self, item: &LiveItem) -> String {
        let text = match self {
            Column::Named(_, cell) => cell(item),
            Column::Field(field) if field.unit() == KindName::ENDPOINT.kind().columns.first().copied() => {
                Some(with_state(item, field))
            }
            Column::Field(field) => item.object().and_then(|object| value(&object.endpoint, field)),
        };
        text.filter(|text| !text.is_empty()).unwrap_or_else(|| ABSENT.to_owned())
    }
}

/// The object of the service that it belongs to, or the stack that owns it.
fn owner(object: &LiveObject) -> Option<String> {
    object.owner_view.as_ref().map_or_else(|| stack(&object.endpoint), |owner| Some(owner.to_string()))
}

fn minute(text: &str) -> String {
    text.parse().map_or_else(|_| text.to_owned(), time::minute)
}

fn value(object: &Object, field: &Field) -> Option<String> {
    let kind = object.key.kind;
    // A field of an endpoint may be an option of a group in another kind.
    let Some((key, group)) = field.unit().and_then(|key| Some((key, kind.message().group_of(key)?))) else {
        return unit::words(kind, field, &field.value(object));
    };
    let group = Field::of_unit(group.name);
    let value = group.value(object).get(key)?.clone();
    unit::words(kind, &group, &Json::from_iter([(key, value)]))
}

/// The value of a field, or why the object is not supported; with a remark if the object is being deleted.
fn with_state(item: &LiveItem, field: &Field) -> String {
    match item {
        LiveItem::Unsupported(unsupported) => format!("not supported: {}", unsupported.reason),
        LiveItem::Object(object) => {
            let words = value(&object.endpoint, field).unwrap_or_default();
            if object.deleting { format!("{words} (being deleted)") } else { words }
        }
    }
}

/// The stack that the annotations name.
fn stack(endpoint: &Object) -> Option<String> {
    Ownership::read(&endpoint.annotations)?.stack
}

/// Live endpoints, as JSON.
#[derive(Serialize, JsonSchema)]
pub struct ListingReport<'a> {
    service: &'a ServiceId,
    /// When the snapshot was taken; absent for the service itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    taken: Option<&'a str>,
    /// Every list that was read: `namespace` of endpoints, `kind:namespace` of others.
    namespaces: BTreeMap<String, ListedNamespace>,
    endpoints: Vec<Listing<'a>>,
}

/// Whether a namespace was read.
#[derive(Serialize, JsonSchema)]
struct ListedNamespace {
    complete: bool,
    /// Why it is not complete.
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
}

/// One endpoint of the JSON document.
#[derive(Serialize, JsonSchema)]
#[serde(untagged)]
enum Listing<'a> {
    Supported {
        key: String,
        endpoint: &'a Object,
        stack: Option<String>,
        uid: &'a str,
        owner: Option<&'a RelatedObject>,
        deleting: bool,
        creator: Option<&'a str>,
        created: Option<&'a str>,
        modified: Option<&'a str>,
        unknown_fields: &'a [UnknownField],
    },
    Unsupported {
        key: String,
        unsupported: &'a str,
        object: &'a Json,
    },
}

impl<'a> Listing<'a> {
    fn of(item: &'a LiveItem) -> Self {
        let key = item.key().to_string();
        match item {
            LiveItem::Unsupported(item) => Listing::Unsupported { key, unsupported: &item.reason, object: &item.raw },
            LiveItem::Object(object) => Listing::Supported {
                key,
                endpoint: &object.endpoint,
                stack: stack(&object.endpoint),
                uid: &object.uid,
                owner: object.owner_view.as_ref(),
                deleting: object.deleting,
                creator: object.creator.as_deref(),
                created: object.created.as_deref(),
                modified: object.modified.as_deref(),
                unknown_fields: &object.unknown,
            },
        }
    }
}

/// A map as `key=value` pairs, without the ownership annotations, which no definition sets.
fn pairs(map: &StringMap) -> String {
    let theirs = map.iter().filter(|(key, _)| !is_ownership_annotation(key));
    theirs.map(|(key, value)| format!("{key}={value}")).collect::<Vec<_>>().join(", ")
}
