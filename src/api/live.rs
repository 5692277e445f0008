//! Turns a list or an object of the service into live items. A field that the description of its kind lacks is noted
//! and kept, and an item that the model cannot represent does not affect the others. Pure.

use std::borrow::Cow;
use std::cell::LazyCell;
use std::collections::BTreeMap;

use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::value::RawValue;

use super::wire::whole_characters;
use crate::kind::{self, KindName, Message};
use crate::model::{
    Json, JsonTree, Key, ListRead, LiveItem, LiveObject, Name, Namespace, RelatedObject, Scope, Spec, UnknownField,
    UnsupportedItem, WireMetadata, neutral, share,
};

/// How many errors of a list a reason quotes.
const QUOTED_ERRORS: usize = 3;

/// The deepest nesting of a spec, as for definitions: a plan or journal with the spec must stay readable.
const DEEPEST: usize = 64;

/// The vendor's tenant, whose objects are in the lists of `shared`: every tenant sees them, but none can change them.
const VENDOR: &str = "ves-io";

/// How many items a thread takes at a time: starting a thread for fewer would take longer.
const FEW: usize = 64;

#[derive(Deserialize)]
#[serde(expecting = "an object")]
pub(super) struct List<I> {
    pub(super) items: Option<Vec<I>>,
    #[serde(default)]
    errors: Json,
    code: Option<IgnoredAny>,
    message: Option<IgnoredAny>,
}

/// The parts of a list item that are read.
pub(super) const READ: [&str; 12] = [
    "tenant",
    "namespace",
    "name",
    "uid",
    "description",
    "disabled",
    "labels",
    "annotations",
    "owner_view",
    "metadata",
    "system_metadata",
    "get_spec",
];

/// An item of a list with report fields (API.md 1.4): the parts of [`READ`].
#[derive(Deserialize)]
struct Item<'a> {
    #[serde(borrow)]
    tenant: Option<Cow<'a, str>>,
    namespace: Option<String>,
    name: Option<String>,
    uid: Option<String>,
    description: Option<String>,
    disabled: Option<bool>,
    // `metadata` repeats both: they are parsed only if it is missing.
    #[serde(borrow)]
    labels: Option<&'a RawValue>,
    #[serde(borrow)]
    annotations: Option<&'a RawValue>,
    owner_view: Option<RelatedObject>,
    metadata: Option<WireMetadata>,
    #[serde(borrow)]
    system_metadata: Option<SystemMetadata<'a>>,
    #[serde(borrow)]
    get_spec: Option<&'a RawValue>,
}

#[derive(Deserialize, Default)]
pub(super) struct SystemMetadata<'a> {
    uid: Option<String>,
    #[serde(borrow)]
    tenant: Option<Cow<'a, str>>,
    creation_timestamp: Option<String>,
    deletion_timestamp: Option<String>,
    modification_timestamp: Option<String>,
    creator_id: Option<String>,
    owner_view: Option<RelatedObject>,
}

/// An item of the requested namespace. Items of `shared`, `system` or other namespaces (API.md 1.4) and of the vendor
/// are left out.
type Read = Result<Option<LiveItem>, String>;

/// Reads the answer to a list.
pub fn read_list(scope: &Scope, body: &[u8]) -> ListRead {
    match text(body).and_then(|body| items(scope, body)).and_then(by_key) {
        Ok(items) => ListRead::Complete { items },
        Err(reason) => ListRead::Unknown { reason },
    }
}

fn items(scope: &Scope, body: &str) -> Result<Vec<(Key, LiveItem)>, String> {
    let keyed = |item: LiveItem| (item.key().clone(), item);
    let Ok(list) = serde_json::from_str::<List<Item>>(body) else {
        let items = raw_items(body)?;
        let reads = items.iter().filter_map(|raw| careful(scope, raw).transpose());
        return reads.map(|read| read.map(keyed)).collect();
    };
    // Parsed only when one of them is needed.
    let raw = LazyCell::new(|| raw_items(body).unwrap_or_default());
    let json = |index: usize| raw.get(index).and_then(|raw| serde_json::from_str(raw.get()).ok()).unwrap_or_default();
    let items = whole(list)?.into_iter().enumerate();
    let reads = items.filter_map(|(index, item)| one(scope, item, || json(index)).transpose());
    reads.map(|read| read.map(keyed)).collect()
}

/// The body as text, checked once: the parser of bytes checks every string by itself.
pub(super) fn text(body: &[u8]) -> Result<&str, String> {
    std::str::from_utf8(body).map_err(|error| format!("the list cannot be read: {error}"))
}

/// Passes the items of a complete list to `check` and returns its results. It uses all processors, with a tenth more
/// work than [`read_list`]. Each item is dropped before the next one is read.
///
/// # Errors
/// Why the list is unknown.
pub(super) fn check_list<T: Send>(
    scope: &Scope,
    body: &[u8],
    check: impl Fn(LiveItem) -> T + Sync,
) -> Result<BTreeMap<Key, T>, String> {
    let mut items = raw_items(text(body)?)?;
    let checked = share::each(&mut items, FEW, || {
        |raw: &mut &RawValue| {
            let item = careful(scope, raw).transpose()?;
            Some(item.map(|item| (item.key().clone(), check(item))))
        }
    });
    by_key(checked.into_iter().flatten().collect::<Result<_, _>>()?)
}

pub(super) fn raw_items(body: &str) -> Result<Vec<&RawValue>, String> {
    let list = serde_json::from_str::<List<&RawValue>>(body);
    whole(list.map_err(|error| format!("the list cannot be read: {}", describe(&error)))?)
}

/// Each item of a list; with its key if it is in the namespace and lacks its spec.
pub(super) fn without_spec<'a>(scope: &Scope, body: &'a [u8]) -> Vec<(&'a RawValue, Option<Key>)> {
    let lacking = |raw: &RawValue| {
        let item = serde_json::from_str::<Item>(raw.get()).ok().filter(|item| item.get_spec.is_none())?;
        let WireMetadata { namespace: inner, name, .. } = item.metadata.unwrap_or_default();
        let key = key(scope.kind, [item.namespace, inner], [item.name, name]).ok()?;
        (key.namespace == scope.namespace && item.tenant.as_deref() != Some(VENDOR)).then_some(key)
    };
    let items = text(body).and_then(raw_items).unwrap_or_default();
    items.into_iter().map(|raw| (raw, lacking(raw))).collect()
}

/// An item of a list with the spec and metadata from the answer to a get.
pub(super) fn with_spec(item: &RawValue, answer: &[u8]) -> Option<Box<RawValue>> {
    let mut item: BTreeMap<String, &RawValue> = serde_json::from_str(item.get()).ok()?;
    let parts: BTreeMap<String, &RawValue> = serde_json::from_slice(answer).ok()?;
    for (part, shown) in [("metadata", "metadata"), ("system_metadata", "system_metadata"), ("get_spec", "spec")] {
        item.insert(part.to_owned(), parts.get(shown)?);
    }
    serde_json::value::to_raw_value(&item).ok()
}

fn by_key<T>(mut reads: Vec<(Key, T)>) -> Result<BTreeMap<Key, T>, String> {
    reads.sort_by(|(one, _), (other, _)| one.cmp(other));
    if let Some(twice) = reads.windows(2).find(|pair| pair[0].0 == pair[1].0) {
        return Err(format!("the list holds `{}` twice", neutral(&twice[0].0.to_string(), 130)));
    }
    Ok(reads.into_iter().collect())
}

pub(super) fn describe(error: &serde_json::Error) -> String {
    neutral(&error.to_string(), 200)
}

/// The items of a list, if the answer does not report that it is incomplete.
fn whole<I>(list: List<I>) -> Result<Vec<I>, String> {
    no_errors(&list.errors)?;
    if list.code.is_some() && list.message.is_some() {
        return Err("it is an error".to_owned());
    }
    list.items.ok_or_else(|| "the answer holds no `items`".to_owned())
}

/// Checks the `errors` with which the service replaces parts of an answer.
///
/// # Errors
/// There are errors, so the answer is incomplete.
pub(super) fn no_errors(errors: &Json) -> Result<(), String> {
    let errors = match errors {
        Json::Null => &[],
        Json::Array(errors) => errors.as_slice(),
        other => std::slice::from_ref(other),
    };
    if errors.is_empty() {
        return Ok(());
    }
    let quoted: Vec<String> = errors.iter().take(QUOTED_ERRORS).map(list_error).collect();
    let (count, plural) = (errors.len(), if errors.len() == 1 { "error" } else { "errors" });
    Err(format!("the service reported {count} {plural} in it ({})", quoted.join("; ")))
}

fn list_error(error: &Json) -> String {
    let part = |key: &str| error.get(key).and_then(Json::as_str).unwrap_or_default();
    let text = match (part("code"), part("message")) {
        ("", "") => error.to_string(),
        (code, "") => code.to_owned(),
        ("", message) => message.to_owned(),
        (code, message) => format!("{code}: {message}"),
    };
    neutral(&text, 200)
}

/// Reads one item alone: an unexpected shape makes only this item unsupported.
fn careful(scope: &Scope, raw: &RawValue) -> Read {
    let error = match serde_json::from_str::<Item>(raw.get()) {
        Ok(item) => return one(scope, item, || serde_json::from_str(raw.get()).unwrap_or_default()),
        Err(error) => error,
    };
    let json = serde_json::from_str(raw.get()).or_else(|_| serde_json::from_str(&whole_characters(raw.get())));
    let json: Json = json.unwrap_or_default();
    let text = |of: &Json, key: &str| of.get(key).and_then(Json::as_str).map(str::to_owned);
    let both = |key: &str| [text(&json, key), json.get("metadata").and_then(|inner| text(inner, key))];
    let key = key(scope.kind, both("namespace"), both("name"))?;
    if key.namespace != scope.namespace || text(&json, "tenant").as_deref() == Some(VENDOR) {
        return Ok(None);
    }
    Ok(Some(unsupported(key, describe(&error), json)))
}

/// The key of an item. Its parts are at the root of the item, in its metadata, or in both.
fn key(kind: KindName, namespace: [Option<String>; 2], name: [Option<String>; 2]) -> Result<Key, String> {
    let one = |texts: [Option<String>; 2]| {
        let mut given = texts.into_iter().flatten().filter(|text| !text.is_empty());
        match (given.next(), given.next()) {
            (Some(root), Some(inner)) if root != inner => {
                let [root, inner] = [root, inner].map(|text| neutral(&text, 130));
                Err(format!("an item of the list is of `{root}`, and in its metadata of `{inner}`"))
            }
            (given, _) => Ok(given),
        }
    };
    let namespace = one(namespace)?.and_then(|text| Namespace::from_service(&text).ok());
    let name = one(name)?.and_then(|text| Name::from_service(&text).ok());
    match (namespace, name) {
        (Some(namespace), Some(name)) => Ok(Key { namespace, kind, name }),
        _ => Err("an item of the list has no namespace or no name".to_owned()),
    }
}

fn one(scope: &Scope, item: Item, raw: impl FnOnce() -> Json) -> Read {
    // A part that cannot be read must not count as missing.
    let mut odd: Option<serde_json::Error> = None;
    let mut map = |part: Option<&RawValue>| {
        let read = part.map_or(Ok(None), |part| serde_json::from_str(part.get()));
        read.unwrap_or_else(|error| {
            odd = Some(error);
            None
        })
    };
    let mut metadata = match item.metadata {
        Some(metadata) => metadata,
        None => {
            let (labels, annotations) = (map(item.labels), map(item.annotations));
            let (description, disable) = (item.description, item.disabled);
            WireMetadata { labels, annotations, description, disable, ..WireMetadata::default() }
        }
    };
    let key = key(scope.kind, [item.namespace, metadata.namespace.take()], [item.name, metadata.name.take()])?;
    if key.namespace != scope.namespace || item.tenant.as_deref() == Some(VENDOR) {
        return Ok(None);
    }
    let Some(spec) = item.get_spec else {
        return Err(format!("the service sent no spec for `{}`", neutral(&key.to_string(), 130)));
    };
    let mut system = item.system_metadata.unwrap_or_default();
    system.uid = item.uid.filter(|text| !text.is_empty()).or(system.uid);
    system.owner_view = item.owner_view.or(system.owner_view);
    system.tenant = system.tenant.or(item.tenant);
    let tree = || serde_json::from_str::<JsonTree>(spec.get()).map(|JsonTree(tree)| tree);
    let first = match tree() {
        Ok(first) if odd.is_none() => first,
        read => {
            let reason = odd.or(read.err()).as_ref().map(describe).unwrap_or_default();
            return Ok(Some(unsupported(key, reason, raw())));
        }
    };
    Ok(Some(assemble(key, metadata, system, None, (first, &|| tree().unwrap_or_default()), raw)))
}

fn unsupported(key: Key, reason: String, raw: Json) -> LiveItem {
    let raw = without_secrets(key.kind, raw);
    LiveItem::Unsupported(UnsupportedItem { key, reason, raw })
}

/// An item, or the answer to a get, without secrets and parts that may repeat its spec. Endpoints have no secrets.
pub(super) fn without_secrets(kind: KindName, mut item: Json) -> Json {
    if let (false, Json::Object(parts)) = (kind.is_endpoint(), &mut item) {
        parts.retain(|part, _| READ.contains(&part.as_str()));
        if let Some(spec) = parts.get_mut("get_spec") {
            *spec = kind::sealed::redacted(kind.message(), spec);
        }
    }
    item
}

/// Whether a value is nested deeper than this.
fn is_deeper(value: &Json, levels: usize) -> bool {
    match value {
        Json::Array(items) => levels == 0 || items.iter().any(|item| is_deeper(item, levels - 1)),
        Json::Object(fields) => levels == 0 || fields.values().any(|field| is_deeper(field, levels - 1)),
        _ => false,
    }
}

/// The item with this spec; `again` returns a fresh copy of the spec.
pub(super) fn assemble(
    key: Key,
    mut metadata: WireMetadata,
    system: SystemMetadata<'_>,
    resource_version: Option<String>,
    (mut spec, again): (Json, &dyn Fn() -> Json),
    raw: impl FnOnce() -> Json,
) -> LiveItem {
    let unreadable = match is_deeper(&spec, DEEPEST) {
        true => Some(format!("its spec is nested deeper than {DEEPEST} levels")),
        false => (!spec.is_object()).then(|| "its spec is not a mapping".to_owned()),
    };
    if let Some(reason) = unreadable {
        return unsupported(key, reason, raw());
    }
    let (kind, message, mut unknown) = (key.kind, key.kind.message(), Vec::new());
    let secrets = kind::sealed::places(message, &spec);
    let add_namespaces = |spec: &mut Json| {
        if message.refers() {
            kind::add_namespaces(message, spec, key.namespace.as_str());
        }
    };
    let without_unknown = |_| {
        let mut tree = again();
        strip(message, &mut tree, &mut "spec".to_owned(), &mut unknown);
        add_namespaces(&mut tree);
        Spec::live(kind, tree)
    };
    add_namespaces(&mut spec);
    // Unknown fields are searched only if the spec cannot be read with them.
    let spec = match Spec::live(kind, spec).or_else(without_unknown) {
        Ok(spec) => spec,
        Err(reason) => {
            let reason = neutral(&reason, 300);
            return unsupported(key, reason, raw());
        }
    };
    // Unset fields have no meaning.
    let others = std::mem::take(&mut metadata.unknown).into_iter().filter(|(_, value)| !kind::is_zero(&value.0));
    let others = others.map(|(key, _)| UnknownField { path: neutral(&format!("metadata.{key}"), 200), blocks: false });
    unknown.extend(others);
    let endpoint = metadata.object(key, spec);
    LiveItem::Object(LiveObject {
        tenant: system.tenant.map(Cow::into_owned),
        endpoint,
        uid: system.uid.unwrap_or_default(),
        resource_version,
        owner_view: system.owner_view,
        deleting: system.deletion_timestamp.is_some_and(|at| !at.is_empty()),
        creator: system.creator_id.filter(|creator| !creator.is_empty()),
        created: system.creation_timestamp,
        modified: system.modification_timestamp,
        unknown,
        secrets,
    })
}

/// Removes unknown fields from `tree` and notes them. The service writes unset fields as `null`, zero or empty (API.md
/// 3.1): such unknown fields have no meaning and are not noted.
fn strip(message: &Message, tree: &mut Json, path: &mut String, unknown: &mut Vec<UnknownField>) {
    let length = path.len();
    match tree {
        Json::Array(items) => {
            for (index, item) in items.iter_mut().enumerate() {
                path.push_str(&format!("[{index}]"));
                strip(message, item, path, unknown);
                path.truncate(length);
            }
        }
        Json::Object(map) => {
            let is_chosen = |(key, value): (&String, &Json)| {
                !value.is_null() && value != "" && message.group_of(&message.spelled(key)).is_some()
            };
            let is_open = !message.groups.is_empty() && !map.iter().any(is_chosen);
            map.retain(|key, value| {
                let known = message.field(&message.spelled(key));
                if known.is_none() && !kind::is_zero(value) {
                    unknown.push(UnknownField { path: neutral(&format!("{path}.{key}"), 200), blocks: is_open });
                }
                known.is_some()
            });
            for (key, value) in map.iter_mut().filter(|(_, value)| value.is_object() || value.is_array()) {
                let key = message.spelled(key);
                let Some(below) = message.field(&key).and_then(kind::Field::message) else { continue };
                let before = unknown.len();
                path.push('.');
                path.push_str(&key);
                strip(below, value, path, unknown);
                path.truncate(length);
                // An unknown choice reads as unset; its note blocks a replace.
                if !below.groups.is_empty()
                    && value.as_object().is_some_and(|group| group.values().all(Json::is_null))
                    && unknown.len() > before
                {
                    *value = Json::Null;
                }
            }
        }
        _ => {}
    }
}

#[cfg(test)]
#[path = "live_tests.rs"]
mod tests;
