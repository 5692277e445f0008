//! Data read from the service: a list is complete or unknown, and an item is an object that the model
//! can represent or one that it cannot. No IO.

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
    /// Every list that was requested.
    pub lists: BTreeMap<Scope, ListRead>,
    /// The number of requests sent for it.
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

    /// The live item with this key; `None` where there is none or its list is not complete.
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
    /// The list was not read completely.
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
    /// An object that the model can represent.
    Object(LiveObject),
    /// An object that it cannot represent, and that is never changed.
    Unsupported(UnsupportedItem),
}

/// A live object with what the service reports about it.
#[derive(Debug, Clone)]
pub struct LiveObject {
    /// The object, with all annotations, including those of others.
    pub endpoint: Object,
    /// The service's id of this object; a new object of the same name gets a new one.
    pub uid: String,
    /// Its tenant, where the service reports it.
    pub tenant: Option<String>,
    /// The version, if the response had one (lists do not).
    pub resource_version: Option<String>,
    /// The object of the service that owns it.
    pub owner_view: Option<RelatedObject>,
    /// A graceful delete is under way.
    pub deleting: bool,
    /// Who created it.
    pub creator: Option<String>,
    /// RFC 3339.
    pub created: Option<String>,
    /// RFC 3339; `None` until the first replace.
    pub modified: Option<String>,
    /// Fields that the model does not know.
    pub unknown: Vec<UnknownField>,
    /// Where it may have a secret. Responses do not show secrets, and a replace must not be sent without them.
    pub secrets: Vec<String>,
}

/// A field of a live spec that the model does not know. It is kept by a replace.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub struct UnknownField {
    /// Its path, such as `spec.where.site.new_option`.
    pub path: String,
    /// All known options of an exclusive group beside it are absent, so it may be the chosen option, and
    /// a replace would set a second one.
    pub blocks: bool,
}

/// Another object of the service: one that refers to an object, or one that owns an object.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct RelatedObject {
    /// Its kind, as the service spells it.
    pub kind: String,
    /// Its namespace.
    pub namespace: String,
    /// Its name.
    pub name: String,
    /// Its uid. Empty for a referrer, because a new object of the same name would refer to the target as
    /// well.
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

/// An item whose spec the model cannot represent, for example with a new enum value or without a target.
#[derive(Debug, Clone)]
pub struct UnsupportedItem {
    /// Its key.
    pub key: Key,
    /// Why the model cannot represent it.
    pub reason: String,
    /// The item as the service returned it, without its secrets.
    pub raw: Json,
}

impl UnsupportedItem {
    /// Its ownership, from the annotations that can be read.
    pub fn ownership(&self) -> Option<Ownership> {
        let annotations = self.metadata()["annotations"].as_object()?.iter();
        Ownership::read(
            &annotations.filter_map(|(key, value)| Some((key.clone(), value.as_str()?.to_owned()))).collect(),
        )
    }

    /// The object with its labels and annotations: the item itself if it comes from a list without report fields.
    fn metadata(&self) -> &Json {
        self.raw.get("metadata").filter(|metadata| !metadata.is_null()).unwrap_or(&self.raw)
    }
}

impl LiveObject {
    /// An object for which the service reports nothing but a uid.
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
    /// The object; `None` for one that the model cannot represent.
    pub fn object(&self) -> Option<&LiveObject> {
        match self {
            LiveItem::Object(object) => Some(object),
            LiveItem::Unsupported(_) => None,
        }
    }

    /// Its labels; `None` where they cannot be read.
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

/// How a delete of an object that others refer to is sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ReferredDelete {
    /// The service is asked to refuse it, if its layout supports that.
    #[default]
    Refused,
    /// It was allowed by name.
    Allowed,
}
