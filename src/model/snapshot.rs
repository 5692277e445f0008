//! A sealed copy of the objects of a service in some namespaces: the items of complete lists as the service
//! returned them, without secrets, and their referrers if they were requested. It is one canonical JSON file
//! with a digest of its content, so that changes are detected and equal content gives equal text.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Write};

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::value::{RawValue, to_raw_value};

use super::document::{self, DocumentError, DocumentFormat};
use super::{Json, JsonTree, Layout, Name, Namespace};
use crate::kind::KindName;

/// The newest version, with objects of other kinds than endpoint. A file with only endpoints has version 1.
const FORMAT_VERSION: u32 = 2;
const FORMAT: DocumentFormat =
    DocumentFormat { name: "a snapshot", kinds: &["snapshot"], versions: 1..=FORMAT_VERSION, remedy: "take it again" };

/// The objects of a service, and when they were read.
// The fields are sorted by name, because the digest covers them in this order.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Snapshot {
    /// The service, without `/api` and without a trailing slash.
    pub base_url: String,
    /// The layout of its paths.
    pub layout: Layout,
    /// Every namespace that was read.
    pub namespaces: BTreeMap<Namespace, NamespaceSnapshot>,
    /// When it was begun, RFC 3339.
    #[schemars(with = "String", extend("format" = "date-time"))]
    pub taken: Timestamp,
    /// The version of trueup that made it.
    pub tool_version: String,
}

/// One namespace, read completely.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NamespaceSnapshot {
    /// Its complete endpoints, sorted by name, as the service listed them.
    #[schemars(with = "Vec<Json>")]
    pub items: Vec<SnapshotItem>,
    /// Its objects of the other kinds that were read.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub kinds: BTreeMap<KindName, KindSnapshot>,
    /// The referrers of each endpoint, by its name, as the service reported them; `null` where they were not read.
    pub referrers: Option<BTreeMap<Name, Json>>,
}

/// The objects of a kind in a namespace, read completely.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct KindSnapshot {
    /// The objects, sorted by name, as the service listed them, with `{}` in place of secrets. `null` where the service
    /// does not offer the kind.
    #[schemars(with = "Option<Vec<Json>>")]
    pub items: Option<Vec<SnapshotItem>>,
    /// The referrers of each object, by its name, including the view that made it; `null` where they were not read.
    pub referrers: Option<BTreeMap<Name, Json>>,
}

impl NamespaceSnapshot {
    /// The items of a kind, if it was read; the inner value is `None` where the service does not offer it.
    pub fn items(&self, kind: KindName) -> Option<Option<&[SnapshotItem]>> {
        match kind.is_endpoint() {
            true => Some(Some(&self.items)),
            false => self.kinds.get(&kind).map(|kept| kept.items.as_deref()),
        }
    }

    /// The referrers of each object of a kind, if they were read.
    pub fn referrers(&self, kind: KindName) -> Option<&BTreeMap<Name, Json>> {
        match kind.is_endpoint() {
            true => self.referrers.as_ref(),
            false => self.kinds.get(&kind)?.referrers.as_ref(),
        }
    }
}

/// An object as the service listed it, as canonical text: a tree would take many times the memory.
#[derive(Debug, Clone, Serialize)]
#[serde(transparent)]
pub struct SnapshotItem(Box<RawValue>);

impl SnapshotItem {
    /// The item as canonical text.
    ///
    /// # Errors
    /// It cannot be written as JSON; this never happens for a value that was read from JSON.
    pub fn new(item: &Json) -> serde_json::Result<Self> {
        to_raw_value(item).map(Self)
    }

    /// The text.
    pub fn text(&self) -> &str {
        self.0.get()
    }

    /// The item as a tree.
    pub fn json(&self) -> Json {
        // The text was written from a tree, so it can be read.
        serde_json::from_str::<JsonTree>(self.text()).unwrap_or_default().0
    }
}

impl PartialEq for SnapshotItem {
    fn eq(&self, other: &Self) -> bool {
        self.text() == other.text()
    }
}

impl<'de> Deserialize<'de> for SnapshotItem {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::new(&JsonTree::deserialize(deserializer)?.0).map_err(D::Error::custom)
    }
}

/// A snapshot as a file contains it.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct SealedSnapshot<S> {
    kind: String,
    format_version: u32,
    digest: String,
    snapshot: S,
}

impl Snapshot {
    /// How many objects it contains.
    pub fn len(&self) -> usize {
        let others =
            |kept: &NamespaceSnapshot| kept.kinds.values().flat_map(|kept| &kept.items).map(Vec::len).sum::<usize>();
        self.namespaces.values().map(|kept| kept.items.len() + others(kept)).sum()
    }

    /// The noun for its objects in messages, to be put after a number.
    pub fn noun(&self) -> &'static str {
        if self.format_version() == 1 { "endpoint" } else { "object" }
    }

    /// The kinds that were read, including endpoint.
    pub fn kinds(&self) -> BTreeSet<KindName> {
        let others = self.namespaces.values().flat_map(|kept| kept.kinds.keys().copied());
        others.chain([KindName::ENDPOINT]).collect()
    }

    /// The oldest format version that can represent its content.
    fn format_version(&self) -> u32 {
        if self.namespaces.values().all(|kept| kept.kinds.is_empty()) { 1 } else { FORMAT_VERSION }
    }

    /// Whether it contains no objects.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The digest of its content: 64 hex digits.
    pub fn digest(&self) -> String {
        document::digest(self)
    }

    /// Writes the snapshot as the content of a file: JSON with its digest, one item on a line, and a final line
    /// break. Returns the digest.
    ///
    /// # Errors
    /// Those of `out`.
    pub fn write(&self, out: &mut dyn Write) -> io::Result<String> {
        let digest = self.digest();
        let sealed = SealedSnapshot {
            kind: FORMAT.kinds[0].to_owned(),
            format_version: self.format_version(),
            digest: digest.clone(),
            snapshot: self,
        };
        serde_json::to_writer_pretty(&mut *out, &sealed)?;
        out.write_all(b"\n")?;
        Ok(digest)
    }

    /// The snapshot in a file.
    ///
    /// # Errors
    /// The file is not a snapshot, has another format, or was altered.
    pub fn from_file(bytes: &[u8]) -> Result<Self, DocumentError> {
        let SealedSnapshot { snapshot, digest, .. } = FORMAT.read::<SealedSnapshot<Self>>(bytes)?;
        if snapshot.digest() == digest { Ok(snapshot) } else { Err(FORMAT.altered()) }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn file(snapshot: &Snapshot) -> String {
        let mut bytes = Vec::new();
        snapshot.write(&mut bytes).expect("memory");
        String::from_utf8(bytes).expect("JSON")
    }

    fn snapshot() -> Snapshot {
        let item = json!({"namespace": "shop", "name": "cart", "new_root_key": 1.5, "owner_view": null,
            "get_spec": {"ip": "10.0.0.7", "port": 80, "a_field_of_tomorrow": {"x": [1, null]}}});
        let shop = Namespace::parse("shop").expect("a name");
        Snapshot {
            tool_version: "0.1.0".to_owned(),
            taken: Timestamp::UNIX_EPOCH,
            base_url: "https://acme.example.net".to_owned(),
            layout: Layout::Uniform,
            namespaces: BTreeMap::from([(
                shop,
                NamespaceSnapshot {
                    items: vec![SnapshotItem::new(&item).expect("JSON")],
                    kinds: BTreeMap::new(),
                    referrers: None,
                },
            )]),
        }
    }

    #[test]
    fn a_snapshot_survives_its_file_with_everything_that_the_service_sent() {
        let snapshot = snapshot();
        let text = file(&snapshot);
        let read = Snapshot::from_file(text.as_bytes()).expect("a snapshot");
        assert_eq!(read, snapshot);
        assert_eq!(file(&read), text);
        assert_eq!((read.len(), read.is_empty()), (1, false));
    }

    #[test]
    fn endpoints_alone_have_the_format_that_an_older_version_reads_and_another_kind_the_next_one() {
        let mut snapshot = snapshot();
        let text = file(&snapshot);
        assert!(text.contains("\"format_version\": 1") && !text.contains("kinds"));
        let pool = KindName::find("origin_pool").expect("a kind");
        let kept = KindSnapshot { items: Some(Vec::new()), referrers: None };
        for namespace in snapshot.namespaces.values_mut() {
            namespace.kinds = BTreeMap::from([(pool, kept.clone())]);
        }
        let text = file(&snapshot);
        assert!(text.contains("\"format_version\": 2") && text.contains("\"origin_pool\""));
        assert_eq!(Snapshot::from_file(text.as_bytes()).expect("a snapshot"), snapshot);
        let unknown = text.replace("origin_pool", "kind_of_tomorrow");
        let refused = Snapshot::from_file(unknown.as_bytes()).expect_err("no snapshot").to_string();
        assert!(refused.contains("the kind `kind_of_tomorrow` is unknown to this version"), "{refused}");
    }

    #[test]
    fn an_altered_snapshot_is_refused_wherever_it_was_altered() {
        let text = file(&snapshot());
        for (from, to) in [("\"port\":80", "\"port\":81"), ("1970-01-01", "2026-01-01"), ("acme", "evil")] {
            assert!(text.contains(from), "{from}");
            let refused = Snapshot::from_file(text.replace(from, to).as_bytes()).expect_err("altered");
            assert!(matches!(refused, DocumentError::Altered(_)), "{from}: {refused}");
        }
        let refused = |text: String| Snapshot::from_file(text.as_bytes()).expect_err("no snapshot").to_string();
        assert!(refused(text.replace("\"format_version\": 1", "\"format_version\": 3")).contains("take it again"));
        assert!(refused(text.replace("\"kind\": \"snapshot\"", "\"kind\": \"plan\"")).contains("its kind is `plan`"));
    }
}
