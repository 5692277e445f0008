//! What was read from the service: a list is complete or unknown, an item is an object that the
//! model can express or one that it cannot. Nothing here reads anything.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Json, Key, Name, Namespace, Object, Ownership, Scope, StringMap};
use crate::kind::kind_of_service;

/// The objects of the service, per namespace and kind.
#[derive(Debug, Clone, Default)]
pub struct Live {
    /// Every list that was asked for.
    pub lists: BTreeMap<Scope, ListRead>,
    /// Requests that were sent for it.
    pub requests: u64,
}

impl Live {
    /// The lists that are not complete, with the reason.
    pub fn unknown(&self) -> impl Iterator<Item = (&Scope, &str)> {
        self.lists.iter().filter_map(|(scope, read)| Some((scope, read.unknown()?)))
    }

    /// The items of all lists that are complete.
    pub fn items(&self) -> impl Iterator<Item = (&Key, &LiveItem)> {
        self.lists.values().filter_map(ListRead::items).flatten()
    }

    /// What is live at this key; nothing where its list is not complete.
    pub fn item(&self, key: &Key) -> Option<&LiveItem> {
        self.lists.get(&key.into())?.items()?.get(key)
    }
}

/// The read of one kind in one namespace: complete, or nothing may be concluded from it.
#[derive(Debug, Clone)]
pub enum ListRead {
    /// A whole, valid list without errors.
    Complete {
        /// The items by key.
        items: BTreeMap<Key, LiveItem>,
    },
    /// The list is not known whole.
    Unknown {
        /// Why, as a fragment for people.
        reason: String,
    },
    /// The service has no such list: it does not offer this kind there.
    NotOffered,
}

impl ListRead {
    /// The items, where the list is complete.
    ///
    /// # Errors
    /// Why nothing may be concluded from it.
    pub fn known(&self) -> Result<&BTreeMap<Key, LiveItem>, &str> {
        match self {
            ListRead::Complete { items } => Ok(items),
            ListRead::Unknown { reason } => Err(reason),
            ListRead::NotOffered => Err("the service does not offer objects of this kind there"),
        }
    }

    /// The items, where the list is complete.
    pub fn items(&self) -> Option<&BTreeMap<Key, LiveItem>> {
        self.known().ok()
    }

    /// Why nothing may be concluded from it, if so.
    pub fn unknown(&self) -> Option<&str> {
        self.known().err()
    }
}

/// One item of a list.
#[derive(Debug, Clone)]
#[expect(clippy::large_enum_variant, reason = "nearly every item is an object; a box would cost an allocation each")]
pub enum LiveItem {
    /// An object that the model can express.
    Object(LiveObject),
    /// One that it cannot express; never changed.
    Unsupported(UnsupportedItem),
}

/// A live endpoint with what the service reports about it.
#[derive(Debug, Clone)]
pub struct LiveObject {
    /// The endpoint; its annotations are everybody's, ours included.
    pub endpoint: Object,
    /// The service's id of this object; another object of the same name has another.
    pub uid: String,
    /// Its tenant, where the service reports it.
    pub tenant: Option<String>,
    /// The version, where the answer carried one (a list does not).
    pub resource_version: Option<String>,
    /// The object of the service that owns it.
    pub owner_view: Option<RelatedObject>,
    /// A graceful delete is under way.
    pub deleting: bool,
    /// Who created it.
    pub creator: Option<String>,
    /// RFC 3339.
    pub created: Option<String>,
    /// RFC 3339; nothing until the first replace.
    pub modified: Option<String>,
    /// Fields that the model does not know.
    pub unknown: Vec<UnknownField>,
    /// Where it may have a secret, which no answer shows: without its value no replace may be sent.
    pub secrets: Vec<String>,
}

/// A field of a live spec that the model does not know. It is kept by a replace.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub struct UnknownField {
    /// Its path, such as `spec.where.site.new_option`.
    pub path: String,
    /// It is where all options of an exclusive group are absent, so it may be the chosen option:
    /// a replace would set a second one.
    pub blocks: bool,
}

/// Another object of the service: one that refers to an endpoint, or the one that an endpoint belongs to.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct RelatedObject {
    /// Its kind, as the service spells it.
    pub kind: String,
    /// Its namespace.
    pub namespace: String,
    /// Its name.
    pub name: String,
    /// Its uid. Empty for an object that refers to an endpoint, because another object of the same name
    /// refers to it as well.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub uid: String,
}

impl RelatedObject {
    /// Its key, where its kind is known.
    pub fn key(&self) -> Option<Key> {
        let namespace = Namespace::from_service(&self.namespace).ok()?;
        Some(Key { namespace, kind: kind_of_service(&self.kind)?, name: Name::from_service(&self.name).ok()? })
    }
}

impl From<&Key> for RelatedObject {
    fn from(key: &Key) -> Self {
        let (namespace, name) = (key.namespace.to_string(), key.name.to_string());
        RelatedObject { kind: key.kind.to_string(), namespace, name, uid: String::new() }
    }
}

impl fmt::Display for RelatedObject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.key() {
            Some(key) => key.fmt(f),
            None => write!(f, "{} {}/{}", self.kind, self.namespace, self.name),
        }
    }
}

/// An item whose spec the model cannot express: a new enum value, no target.
#[derive(Debug, Clone)]
pub struct UnsupportedItem {
    /// Its key.
    pub key: Key,
    /// Why the model cannot express it.
    pub reason: String,
    /// The item as the service gave it, without its secrets.
    pub raw: Json,
}

impl UnsupportedItem {
    /// What those of its annotations that can be read say of its owner.
    pub fn ownership(&self) -> Option<Ownership> {
        let annotations = self.metadata()["annotations"].as_object()?.iter();
        Ownership::read(
            &annotations.filter_map(|(key, value)| Some((key.clone(), value.as_str()?.to_owned()))).collect(),
        )
    }

    /// What has its labels and annotations: of an item of a list without report fields, the item.
    fn metadata(&self) -> &Json {
        self.raw.get("metadata").filter(|metadata| !metadata.is_null()).unwrap_or(&self.raw)
    }
}

impl LiveObject {
    /// An object that has a uid, and of which the service reports nothing else.
    pub fn new(uid: String, endpoint: Object) -> Self {
        Self {
            endpoint,
            uid,
            tenant: None,
            resource_version: None,
            owner_view: None,
            deleting: false,
            creator: None,
            created: None,
            modified: None,
            unknown: Vec::new(),
            secrets: Vec::new(),
        }
    }
}

impl LiveItem {
    /// The object; nothing for one that the model cannot express.
    pub fn object(&self) -> Option<&LiveObject> {
        match self {
            LiveItem::Object(object) => Some(object),
            LiveItem::Unsupported(_) => None,
        }
    }

    /// Its labels; nothing where they cannot be read.
    pub fn labels(&self) -> Option<Cow<'_, StringMap>> {
        match self {
            LiveItem::Object(object) => Some(Cow::Borrowed(&object.endpoint.labels)),
            LiveItem::Unsupported(item) => {
                let labels = Option::<BTreeMap<String, String>>::deserialize(&item.metadata()["labels"]).ok()?;
                Some(Cow::Owned(labels.into_iter().flatten().collect()))
            }
        }
    }

    /// The key of the item.
    pub fn key(&self) -> &Key {
        match self {
            LiveItem::Object(object) => &object.endpoint.key,
            LiveItem::Unsupported(unsupported) => &unsupported.key,
        }
    }
}

/// What becomes of a delete of an object that others refer to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ReferredDelete {
    /// The service is asked to refuse it, where its layout has a way to.
    #[default]
    Refused,
    /// A person allowed it by name.
    Allowed,
}
