//! Takes a snapshot, and reads one back as the service would have been read: what was kept goes
//! through the reader of lists, so that a plan against a copy is the plan that the service would have
//! led to. Nothing is kept of a read that is not complete.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::json;
use serde_json::value::RawValue;

use crate::kind::KindName;
use crate::model::{
    Json, JsonTree, Key, ListRead, Live, Name, Namespace, NamespaceSnapshot, RelatedObject, Scope, Snapshot,
    SnapshotItem,
};

use super::endpoints::{ListParameters, ResponseFormat};
use super::error::ApiError;
use super::fetch::read_referrers;
use super::live::read_list;
use super::reader::Reader;

/// Whether the service is also asked who refers to each endpoint: one request each.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReferrerReads {
    /// It is not.
    Left,
    /// It is.
    Asked,
}

/// A read that does not prove what the service has. Nothing is kept then.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SnapshotReadError {
    /// The list of a namespace is incomplete.
    #[error("could not read `{namespace}`: {reason}")]
    List {
        /// Which namespace.
        namespace: Namespace,
        /// Why, as a fragment.
        reason: String,
    },
    /// It is unknown which objects refer to an endpoint.
    #[error("who refers to `{key}` cannot be read: {reason}")]
    Referrers {
        /// Which endpoint.
        key: Key,
        /// Why, as a fragment.
        reason: String,
    },
}

/// Reads `namespaces` and keeps them.
///
/// # Errors
/// The first namespace whose read is not complete, or endpoint whose referrers cannot be read.
pub async fn take(
    reader: &Reader,
    namespaces: &BTreeSet<Namespace>,
    referring: ReferrerReads,
    taken: Timestamp,
) -> Result<Snapshot, SnapshotReadError> {
    let reads = namespaces.iter().map(async |namespace| {
        let kept = read_namespace(reader, namespace, referring).await;
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

/// What a fetch of `wanted` would have read when the snapshot was taken. What was not kept is unknown.
#[must_use]
pub fn live(snapshot: &Snapshot, wanted: &BTreeSet<Namespace>) -> Live {
    let reads = wanted.iter().map(|namespace| (Scope::endpoints(namespace.clone()), read(snapshot, namespace)));
    Live { lists: reads.collect(), requests: 0 }
}

/// The same of one namespace.
#[must_use]
pub fn read(snapshot: &Snapshot, namespace: &Namespace) -> ListRead {
    let Some(kept) = snapshot.namespaces.get(namespace) else {
        return ListRead::Unknown { reason: "it is not in the snapshot".to_owned() };
    };
    // Texts and their list can always be written.
    read_list(namespace, KindName::ENDPOINT, &serde_json::to_vec(&List { items: &kept.items }).unwrap_or_default())
}

#[derive(Serialize, Deserialize)]
struct List<I> {
    items: I,
}

/// Who referred to `key`; nothing where it was not asked.
///
/// # Errors
/// What was kept cannot be read.
pub fn referrers(snapshot: &Snapshot, key: &Key) -> Result<Option<Vec<RelatedObject>>, String> {
    let kept = snapshot.namespaces.get(&key.namespace).and_then(|kept| kept.referrers.as_ref());
    let Some(known) = kept.and_then(|kept| kept.get(&key.name)) else { return Ok(None) };
    read_referrers(serde_json::from_value(json!({ "referring_objects": known }))).map(Some)
}

async fn read_namespace(
    reader: &Reader,
    namespace: &Namespace,
    referring: ReferrerReads,
) -> Result<NamespaceSnapshot, SnapshotReadError> {
    let unread = |reason: String| SnapshotReadError::List { namespace: namespace.clone(), reason };
    let answer = reader.list(namespace, KindName::ENDPOINT, &ListParameters::with_spec()).await;
    let answer = answer.map_err(|error| unread(error.failure.to_string()))?;
    let keys: Vec<Key> = match read_list(namespace, KindName::ENDPOINT, &answer.body) {
        ListRead::Complete { items } if referring == ReferrerReads::Asked => items.into_keys().collect(),
        ListRead::Complete { .. } => Vec::new(),
        read @ (ListRead::Unknown { .. } | ListRead::NotOffered) => {
            return Err(unread(read.unknown().unwrap_or_default().to_owned()));
        }
    };
    let items = items(namespace, &answer.body).map_err(|error| unread(error.to_string()))?;
    // Its memory is free for the answers that follow.
    drop(answer);
    let referrers = match referring {
        ReferrerReads::Left => None,
        ReferrerReads::Asked => Some(referring_to(reader, keys).await?),
    };
    Ok(NamespaceSnapshot { items, referrers })
}

/// The items of the list that belong to the namespace, by name.
fn items(namespace: &Namespace, body: &[u8]) -> serde_json::Result<Vec<SnapshotItem>> {
    let part = |item: &Json, name: &str| {
        let direct = item.get(name).and_then(Json::as_str).filter(|text| !text.is_empty());
        direct.or_else(|| item.get("metadata")?.get(name)?.as_str()).unwrap_or_default().to_owned()
    };
    let list: List<Vec<&RawValue>> = serde_json::from_slice(body)?;
    let mut items = Vec::with_capacity(list.items.len());
    for item in list.items {
        // One tree at a time.
        let JsonTree(item) = serde_json::from_str(item.get())?;
        if part(&item, "namespace") == namespace.as_str() {
            items.push((part(&item, "name"), SnapshotItem::new(&item)?));
        }
    }
    items.sort_by(|(one, _), (other, _)| one.cmp(other));
    Ok(items.into_iter().map(|(_, item)| item).collect())
}

/// What refers to each endpoint, as the service answers. One that went meanwhile has nothing.
async fn referring_to(reader: &Reader, keys: Vec<Key>) -> Result<BTreeMap<Name, Json>, SnapshotReadError> {
    let asked = keys.into_iter().map(async |key| {
        let answer = match reader.get(&key, ResponseFormat::ReferringObjects).await {
            Ok(raw) => read_referrers(Deserialize::deserialize(&raw)).map(|_| raw["referring_objects"].clone()),
            Err(error) if ApiError::is_absent(&error) => Ok(json!([])),
            Err(error) => Err(error.failure.to_string()),
        };
        match answer {
            Ok(answer) => Ok((key.name, answer)),
            Err(reason) => Err(SnapshotReadError::Referrers { key, reason }),
        }
    });
    futures_util::future::join_all(asked).await.into_iter().collect()
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
        let items = items(&namespace("shop"), body.as_bytes()).expect("a list");
        Snapshot {
            tool_version: "0.1.0".to_owned(),
            taken: Timestamp::UNIX_EPOCH,
            base_url: "https://acme.example.net".to_owned(),
            layout: Layout::Uniform,
            namespaces: BTreeMap::from([(namespace("shop"), NamespaceSnapshot { items, referrers: None })]),
        }
    }

    #[test]
    fn what_was_not_kept_is_unknown_and_what_was_is_read_as_a_list() {
        let snapshot = snapshot();
        assert_eq!(snapshot.namespaces[&namespace("shop")].items[0].json()["get_spec"]["x_new"][0], 1);
        let live = live(&snapshot, &BTreeSet::from([namespace("shop"), namespace("pay")]));
        let lists = |name| &live.lists[&Scope::endpoints(namespace(name))];
        let items = lists("shop").items().expect("it is complete");
        assert_eq!(items.len(), 1, "an item of another namespace is no part of it");
        assert!(matches!(lists("pay"), ListRead::Unknown { .. }));
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
