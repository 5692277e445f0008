//! A sealed copy of the objects of a service in some namespaces: the items of complete lists as the
//! service gave them, and, where it was asked, who refers to each. It is one canonical JSON file with
//! a digest over its content, so that an alteration is seen and the same content is the same text.

use std::collections::BTreeMap;

use data_encoding::HEXLOWER;
use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;
use sha2::{Digest as _, Sha256};

use super::{Json, Layout, Name, Namespace};

/// The format that this program writes and reads.
const FORMAT_VERSION: u32 = 1;
/// The kind that a file names.
const KIND: &str = "snapshot";

/// The objects of a service, and when they were read.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Snapshot {
    /// The version of trueup that made it.
    pub tool_version: String,
    /// When it was begun, RFC 3339.
    #[schemars(with = "String", extend("format" = "date-time"))]
    pub taken: Timestamp,
    /// The service, without `/api` and without a trailing slash.
    pub base_url: String,
    /// Which paths it answers at.
    pub layout: Layout,
    /// Every namespace that was read.
    pub namespaces: BTreeMap<Namespace, NamespaceSnapshot>,
}

/// One namespace, read completely.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NamespaceSnapshot {
    /// Its endpoints by name, whole, as the service listed them.
    pub items: Vec<Json>,
    /// What refers to each endpoint, by its name, as the service reported it; `null` where it was not read.
    pub referrers: Option<BTreeMap<Name, Json>>,
}

/// Why a file is not used as a snapshot.
#[derive(Debug, thiserror::Error)]
pub enum SnapshotError {
    /// Another file.
    #[error("the file is not a snapshot: {reason}")]
    NotASnapshot {
        /// What the reader said.
        reason: String,
    },
    /// A format of another program version.
    #[error("the snapshot has format version {found}, this trueup reads {FORMAT_VERSION}: take it again")]
    Format {
        /// The file's.
        found: u64,
    },
    /// The content does not have the digest that the file names.
    #[error("the snapshot was altered after it was taken: its digest is {is}, the file says {says}")]
    Altered {
        /// The digest of the content.
        is: String,
        /// The digest that the file names.
        says: String,
    },
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
    /// How many endpoints it contains.
    #[must_use]
    pub fn len(&self) -> usize {
        self.namespaces.values().map(|kept| kept.items.len()).sum()
    }

    /// Whether it contains none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The digest of its content: 64 hex digits.
    #[must_use]
    pub fn digest(&self) -> String {
        // Through a tree, so that every object's keys are sorted.
        let hash = Sha256::digest(json!(self).to_string().as_bytes());
        HEXLOWER.encode(&hash)
    }

    /// The snapshot as a file contains it: JSON with its digest, a final line break included.
    #[must_use]
    pub fn to_file(&self) -> String {
        let sealed = SealedSnapshot {
            kind: KIND.to_owned(),
            format_version: FORMAT_VERSION,
            digest: self.digest(),
            snapshot: self,
        };
        // Text keys, strings, numbers: nothing that fails.
        let mut text = serde_json::to_string_pretty(&sealed).unwrap_or_default();
        text.push('\n');
        text
    }

    /// The snapshot in a file.
    ///
    /// # Errors
    /// The file is none, of another format, or altered.
    pub fn from_file(bytes: &[u8]) -> Result<Self, SnapshotError> {
        #[derive(Deserialize)]
        struct Head {
            kind: String,
            format_version: u64,
        }
        let not = |error: serde_json::Error| SnapshotError::NotASnapshot { reason: error.to_string() };
        let head: Head = serde_json::from_slice(bytes).map_err(not)?;
        if head.kind != KIND {
            return Err(SnapshotError::NotASnapshot { reason: format!("its kind is `{}`", head.kind.escape_debug()) });
        }
        if head.format_version != u64::from(FORMAT_VERSION) {
            return Err(SnapshotError::Format { found: head.format_version });
        }
        let sealed: SealedSnapshot<Self> = serde_json::from_slice(bytes).map_err(not)?;
        let is = sealed.snapshot.digest();
        if is == sealed.digest { Ok(sealed.snapshot) } else { Err(SnapshotError::Altered { is, says: sealed.digest }) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn snapshot() -> Snapshot {
        let item = json!({"namespace": "shop", "name": "cart", "new_root_key": 1.5, "owner_view": null,
            "get_spec": {"ip": "10.0.0.7", "port": 80, "a_field_of_tomorrow": {"x": [1, null]}}});
        let shop = Namespace::parse("shop").expect("a name");
        Snapshot {
            tool_version: "0.1.0".to_owned(),
            taken: Timestamp::UNIX_EPOCH,
            base_url: "https://acme.example.net".to_owned(),
            layout: Layout::Uniform,
            namespaces: BTreeMap::from([(shop, NamespaceSnapshot { items: vec![item], referrers: None })]),
        }
    }

    #[test]
    fn a_snapshot_survives_its_file_with_everything_that_the_service_sent() {
        let snapshot = snapshot();
        let text = snapshot.to_file();
        let read = Snapshot::from_file(text.as_bytes()).expect("a snapshot");
        assert_eq!(read, snapshot);
        assert_eq!(read.to_file(), text);
        assert_eq!((read.len(), read.is_empty()), (1, false));
    }

    #[test]
    fn an_altered_snapshot_is_refused_wherever_it_was_altered() {
        let text = snapshot().to_file();
        for (from, to) in [("\"port\": 80", "\"port\": 81"), ("1970-01-01", "2026-01-01"), ("acme", "evil")] {
            assert!(text.contains(from), "{from}");
            let refused = Snapshot::from_file(text.replace(from, to).as_bytes()).expect_err("altered");
            assert!(matches!(refused, SnapshotError::Altered { .. }), "{from}: {refused}");
        }
        let refused = |text: String| Snapshot::from_file(text.as_bytes()).expect_err("no snapshot").to_string();
        assert!(refused(text.replace("\"format_version\": 1", "\"format_version\": 2")).contains("take it again"));
        assert!(refused(text.replace("\"kind\": \"snapshot\"", "\"kind\": \"plan\"")).contains("its kind is `plan`"));
    }
}
