//! Takes a snapshot, and reads one back like the service itself: its items go through the reader of lists, so that a
//! plan against a snapshot equals a plan against the service at that time. An incomplete read is not kept.

use std::collections::{BTreeMap, BTreeSet};

use bytes::Bytes;
use jiff::Timestamp;
use serde::Deserialize;
use serde_json::json;

use crate::kind::KindName;
use crate::model::{
    Json, JsonTree, Key, KindSnapshot, ListRead, Live, Name, Namespace, NamespaceSnapshot, RelatedObject, Scope,
    Snapshot, SnapshotItem,
};

use super::error::ApiError;
use super::fetch::{is_not_offered, list, read_referrers, referring_views};
use super::live::{describe, raw_items, read_list, text, without_secrets};
use super::objects::{ListFields, ResponseFormat};
use super::reader::Reader;

/// Whether the referrers of each object are read too, with one request per object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReferrerReads {
    /// They are not read.
    Left,
    /// They are read.
    Asked,
}

/// An incomplete read, of which nothing is kept.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct SnapshotReadError(String);

/// Reads the endpoints and the objects of `kinds` in `namespaces` into a snapshot.
///
/// # Errors
/// A namespace cannot be read completely, or the referrers of an object cannot be read.
pub async fn take(
    reader: &Reader,
    namespaces: &BTreeSet<Namespace>,
    kinds: &BTreeSet<KindName>,
    referring: ReferrerReads,
    taken: Timestamp,
) -> Result<Snapshot, SnapshotReadError> {
    let reads = namespaces.iter().map(async |namespace| {
        let kept = read_namespace(reader, namespace, kinds, referring).await;
        kept.map(|kept| (namespace.clone(), kept))
    });
    let namespaces = futures_util::future::join_all(reads).await.into_iter().collect::<Result<_, _>>()?;
    Ok(Snapshot {
        tool_version: env!("CARGO_PKG_VERSION").to_owned(),
        taken,
        base_url: reader.base_url().to_string(),
        layout: reader.layout(),
        namespaces,
    })
}

/// What a fetch of `wanted` would have returned when the snapshot was taken. Missing lists are unknown.
pub fn live(snapshot: &Snapshot, wanted: &BTreeSet<Namespace>, kinds: &BTreeSet<KindName>) -> Live {
    let lists = Scope::each(wanted, kinds).map(|scope| (scope.clone(), read(snapshot, &scope)));
    Live { lists: lists.collect(), requests: 0 }
}

/// One list of [`live`].
pub fn read(snapshot: &Snapshot, scope: &Scope) -> ListRead {
    let kept = snapshot.namespaces.get(&scope.namespace).and_then(|kept| kept.items(scope.kind));
    match kept {
        // A list of texts can always be serialised.
        Some(Some(items)) => {
            read_list(scope, &serde_json::to_vec(&BTreeMap::from([("items", items)])).unwrap_or_default())
        }
        Some(None) => ListRead::NotOffered,
        // A list that was not kept is unknown, not empty.
        None => ListRead::Unknown { reason: "it is not in the snapshot".to_owned() },
    }
}

/// The objects that referred to `key`; `None` if they were not read.
///
/// # Errors
/// The stored referrers cannot be read.
pub fn referrers(snapshot: &Snapshot, key: &Key) -> Result<Option<Vec<RelatedObject>>, String> {
    let kept = snapshot.namespaces.get(&key.namespace).and_then(|kept| kept.referrers(key.kind));
    let Some(known) = kept.and_then(|kept| kept.get(&key.name)) else { return Ok(None) };
    read_referrers(serde_json::from_value(json!({ "referring_objects": known }))).map(Some)
}

async fn read_namespace(
    reader: &Reader,
    namespace: &Namespace,
    kinds: &BTreeSet<KindName>,
    referring: ReferrerReads,
) -> Result<NamespaceSnapshot, SnapshotReadError> {
    let scope = |kind| Scope { namespace: namespace.clone(), kind };
    let endpoints = read_kind(reader, scope(KindName::ENDPOINT), referring).await?;
    let others = kinds.iter().filter(|kind| !kind.is_endpoint());
    let others = others.map(async |kind| Ok((*kind, read_kind(reader, scope(*kind), referring).await?)));
    let others: Result<_, SnapshotReadError> = futures_util::future::join_all(others).await.into_iter().collect();
    let (items, referrers) = (endpoints.items.unwrap_or_default(), endpoints.referrers);
    Ok(NamespaceSnapshot { items, kinds: others?, referrers })
}

async fn read_kind(reader: &Reader, scope: Scope, referring: ReferrerReads) -> Result<KindSnapshot, SnapshotReadError> {
    let unread = |reason: String| SnapshotReadError(format!("could not read `{scope}`: {reason}"));
    let read = async |body: Bytes| {
        let read = read_list(&scope, &body);
        let keys = read.known().map_err(str::to_owned)?.keys();
        let keys: Vec<Key> = keys.filter(|_| referring == ReferrerReads::Asked).cloned().collect();
        // Frees its memory for the steps that follow.
        drop(read);
        Ok((keys, items(&scope, &body)?))
    };
    let (keys, items) = match list(reader, &scope, ListFields::Spec, read).await {
        Ok(read) => read.map_err(unread)?,
        Err(error) if is_not_offered(scope.kind, &error) => return Ok(KindSnapshot { items: None, referrers: None }),
        Err(error) => return Err(unread(error.failure.to_string())),
    };
    let referrers = match referring {
        ReferrerReads::Left => None,
        ReferrerReads::Asked => Some(referring_to(reader, keys).await?),
    };
    Ok(KindSnapshot { items: Some(items), referrers })
}

/// The items of the list that belong to the namespace, by name.
fn items(scope: &Scope, body: &[u8]) -> Result<Vec<SnapshotItem>, String> {
    let part = |item: &Json, name: &str| {
        let direct = item.get(name).and_then(Json::as_str).filter(|text| !text.is_empty());
        direct.or_else(|| item.get("metadata")?.get(name)?.as_str()).unwrap_or_default().to_owned()
    };
    let list = raw_items(text(body)?)?;
    let mut items = Vec::with_capacity(list.len());
    for item in list {
        // Only one tree is in memory at a time.
        let JsonTree(item) = serde_json::from_str(item.get()).map_err(|error| describe(&error))?;
        if part(&item, "namespace") == scope.namespace.as_str() {
            let name = part(&item, "name");
            items
                .push((name, SnapshotItem::new(&without_secrets(scope.kind, item)).map_err(|error| describe(&error))?));
        }
    }
    items.sort_by(|(one, _), (other, _)| one.cmp(other));
    Ok(items.into_iter().map(|(_, item)| item).collect())
}

/// The referrers of each object; for endpoints the raw answer. A deleted endpoint is an error.
async fn referring_to(reader: &Reader, keys: Vec<Key>) -> Result<BTreeMap<Name, Json>, SnapshotReadError> {
    let asked = keys.into_iter().map(async |key| match referrers_of(reader, &key).await {
        Ok(answer) => Ok((key.name, answer)),
        Err(reason) => Err(SnapshotReadError(format!("who refers to `{key}` cannot be read: {reason}"))),
    });
    futures_util::future::join_all(asked).await.into_iter().collect()
}

async fn referrers_of(reader: &Reader, key: &Key) -> Result<Json, String> {
    if !key.kind.is_endpoint() {
        let views = referring_views(reader, key).await.map_err(|error| error.failure.to_string())?;
        return Ok(json!(views));
    }
    match reader.get(key, ResponseFormat::ReferringObjects).await {
        Ok(raw) => read_referrers(Deserialize::deserialize(&raw)).map(|_| raw["referring_objects"].clone()),
        Err(error) if ApiError::is_absent(&error) => Err("its list has it, and its own read has not".to_owned()),
        Err(error) => Err(error.failure.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Layout;

    fn namespace(name: &str) -> Namespace {
        Namespace::parse(name).expect("a name")
    }

    fn snapshot() -> Snapshot {
        let item =
            json!({"namespace": "shop", "name": "cart", "uid": "7", "get_spec": {"ip": "10.0.0.7", "x_new": [1]}});
        let other = json!({"namespace": "shared", "name": "cart", "get_spec": {"ip": "10.0.0.8"}});
        let body = json!({"items": [other, item], "errors": []}).to_string();
        let items = items(&Scope::endpoints(namespace("shop")), body.as_bytes()).expect("a list");
        Snapshot {
            tool_version: "0.1.0".to_owned(),
            taken: Timestamp::UNIX_EPOCH,
            base_url: "https://acme.example.net".to_owned(),
            layout: Layout::Uniform,
            namespaces: BTreeMap::from([(
                namespace("shop"),
                NamespaceSnapshot { items, kinds: BTreeMap::new(), referrers: None },
            )]),
        }
    }

    #[test]
    fn what_was_not_kept_is_unknown_and_what_was_is_read_as_a_list() {
        let snapshot = snapshot();
        assert_eq!(snapshot.namespaces[&namespace("shop")].items[0].json()["get_spec"]["x_new"][0], 1);
        let wanted = BTreeSet::from([namespace("shop"), namespace("pay")]);
        let live = live(&snapshot, &wanted, &snapshot.kinds());
        let lists = |name| &live.lists[&Scope::endpoints(namespace(name))];
        let items = lists("shop").items().expect("it is complete");
        assert_eq!(items.len(), 1, "an item of another namespace is no part of it");
        assert!(matches!(lists("pay"), ListRead::Unknown { .. }));
    }

    #[test]
    fn a_secret_is_not_kept_and_that_there_is_one_is() {
        let kind = KindName::find("certificate").expect("a kind");
        let sealed = json!({"blindfold_secret_info": {"location": "string:///c2VhbGVk"}});
        let spec = json!({"certificate_url": "string:///YQ==", "privateKey": sealed, "x_new": 1});
        let item = json!({"namespace": "shop", "name": "web", "get_spec": spec, "object": {"spec": {"gc_spec": spec}}});
        let body = json!({"items": [item]}).to_string();
        let items = items(&Scope { namespace: namespace("shop"), kind }, body.as_bytes()).expect("a list");
        let kept = json!({"certificate_url": "string:///YQ==", "privateKey": {}, "x_new": 1});
        assert_eq!(items[0].json(), json!({"namespace": "shop", "name": "web", "get_spec": kept}));
        let places = |spec: &Json| crate::kind::sealed::places(kind.message(), spec);
        assert_eq!(places(&kept), places(&spec));
    }

    #[test]
    fn nobody_asked_is_not_nobody_refers() {
        let mut snapshot = snapshot();
        let key = Key::parse("shop/cart").expect("a key");
        assert_eq!(referrers(&snapshot, &key), Ok(None));
        if let Some(kept) = snapshot.namespaces.get_mut(&namespace("shop")) {
            kept.referrers = Some(BTreeMap::from([(key.name.clone(), json!([]))]));
        }
        assert_eq!(referrers(&snapshot, &key), Ok(Some(Vec::new())));
    }
}
