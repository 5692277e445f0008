//! All objects of the tenant, in memory by name and on disk through the store, with a table for each kind. Every
//! operation runs under one lock, which also decides its position among the writes to disk. Its result has the ticket
//! after which everything that it read is durable.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use jiff::Timestamp;
use serde_json::json;

use super::kind::{Key, ObjectKind, Place};
use super::record::{Referrer, StoredObject, ViewReference, raw_json};
use super::reference::References;
use super::served::ServedObject;
use super::spec::{self, Reader, Verb, WriteMode};
use crate::kind::{Part, Rule};
use crate::model::Clock;
use crate::model::share::locked;
use crate::sandbox::answer::{Code, ErrorResponse};
use crate::sandbox::store::{Batch, Store, StoreError, Ticket};
use crate::sandbox::timestamp::written;

const COUNTERS: &str = "counter";
/// The counter of all objects; the name is from a time when there were only endpoints.
const VERSION: &str = "endpoint_version";

/// Added to the last durable version at every start, so that no write reuses a version that a reader saw just before a
/// kill.
const VERSION_STEP: u64 = 1_000_000;

/// The objects of a tenant.
#[derive(Debug)]
pub struct Objects {
    store: Arc<Store>,
    clock: Clock,
    tenant: String,
    tenant_json: String,
    deletion: Deletion,
    inner: Mutex<Inner>,
}

#[derive(Debug, Default)]
struct Inner {
    kinds: BTreeMap<&'static str, Namespaces>,
    /// Objects to be removed, by the time of their removal.
    leaving: BTreeSet<(Timestamp, Place)>,
    references: References,
    version: u64,
    latest: Ticket,
}

/// The objects of a kind.
type Namespaces = BTreeMap<String, BTreeMap<Box<str>, Arc<ServedObject>>>;

/// The result of a write: the current object.
type Written = Result<Arc<ServedObject>, ErrorResponse>;

/// When a deleted object is removed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Deletion {
    /// Before the delete is answered.
    Immediate,
    /// It stays with a `deletion_timestamp` this far in the future, and is removed then.
    Graceful(Duration),
}

/// What a delete does if other objects refer to its object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReferredDelete {
    /// Leaves their references dangling.
    Ignored,
    Refused,
}

impl Objects {
    /// Reads the objects of the store.
    pub fn open(store: Arc<Store>, clock: Clock, tenant: String, deletion: Deletion) -> Result<Self, StoreError> {
        let mut inner = Inner::default();
        for kind in ObjectKind::all() {
            inner.load(kind, &store)?;
        }
        let stored = store.get(COUNTERS, VERSION)?.unwrap_or_default();
        let stored = String::from_utf8_lossy(&stored).parse::<u64>().unwrap_or_default();
        inner.version = inner.version.max(stored) + VERSION_STEP;
        // A text can always be serialised.
        let tenant_json = serde_json::to_string(&tenant).unwrap_or_default();
        Ok(Self { store, clock, tenant, tenant_json, deletion, inner: Mutex::new(inner) })
    }

    pub fn tenant(&self) -> &str {
        &self.tenant
    }

    /// The tenant's name as JSON.
    pub fn tenant_json(&self) -> &str {
        &self.tenant_json
    }

    /// Adds a new object.
    pub fn create(&self, kind: &'static ObjectKind, record: StoredObject) -> impl Future<Output = Written> {
        self.run(move |inner, now| {
            let key = Key { kind, namespace: &record.namespace, name: &record.name };
            if inner.find(key).is_some() {
                let message = format!("Another {} with that name already exists", kind.name());
                let error = ErrorResponse::new(Code::ALREADY_EXISTS, message);
                return Err(error.detail(format!("CreateResource: {key} exists")));
            }
            let (namespace, name) = (record.namespace.clone(), record.name.clone());
            let object = self.add(inner, kind, record, now)?;
            self.add_children(inner, Key { kind, namespace: &namespace, name: &name }, &object.uid()?, now)?;
            Ok(object)
        })
    }

    /// The objects that refer to an object.
    pub fn referrers(&self, key: Key<'_>) -> impl Future<Output = Result<Vec<Referrer>, ErrorResponse>> {
        self.run(move |inner, _| inner.referrers(key, &self.tenant))
    }

    pub fn get(&self, key: Key<'_>) -> impl Future<Output = Written> {
        self.run(move |inner, _| inner.existing(key))
    }

    /// Every object of a kind in a namespace, which may be unknown.
    pub fn list(
        &self,
        kind: &'static ObjectKind,
        namespace: &str,
    ) -> impl Future<Output = Result<Vec<Arc<ServedObject>>, ErrorResponse>> {
        self.run(move |inner, _| {
            let found = inner.kinds.get(kind.name()).and_then(|namespaces| namespaces.get(namespace));
            Ok(found.map(|objects| objects.values().cloned().collect()).unwrap_or_default())
        })
    }

    /// Replaces the parts of an object that a request sets, if it is still at `version`.
    pub fn replace(
        &self,
        kind: &'static ObjectKind,
        sent: StoredObject,
        version: Option<&str>,
        mode: WriteMode,
    ) -> impl Future<Output = Written> {
        self.run(move |inner, now| {
            let key = Key { kind, namespace: &sent.namespace, name: &sent.name };
            let object = inner.changeable(key)?;
            if object.is_deleted() {
                return Err(ErrorResponse::new(Code::ABORTED, format!("{key} is being deleted")));
            }
            let before = object.record()?;
            if let Some(version) = version.filter(|version| version.parse() != Ok(before.version)) {
                return Err(mismatch(version, before.version));
            }
            let StoredObject { labels, annotations, description, disable, spec, .. } = sent;
            let spec = spec::carried(kind, &before.spec, &spec, mode)?;
            let modified = Some(written(now));
            let record = StoredObject { labels, annotations, description, disable, spec, modified, ..before };
            self.put(inner, kind, record)
        })
    }

    /// Removes an object, or marks it as being deleted; returns the old object.
    pub fn delete(&self, key: Key<'_>, referred: ReferredDelete) -> impl Future<Output = Written> {
        self.run(move |inner, now| {
            let object = inner.changeable(key)?;
            let referrers = inner.referrers(key, &self.tenant)?;
            if let (ReferredDelete::Refused, [first, ..]) = (referred, referrers.as_slice()) {
                let message = format!("{key} is referred to by {} {}/{}", first.kind, first.namespace, first.name);
                let error = ErrorResponse::new(Code::FAILED_PRECONDITION, message);
                return Err(error.detail("DeleteResource: object is referred"));
            }
            match self.deletion {
                _ if object.is_deleted() => {}
                Deletion::Immediate => self.remove(inner, key),
                Deletion::Graceful(after) => {
                    let end = now.checked_add(after).unwrap_or(Timestamp::MAX);
                    self.put(inner, key.kind, StoredObject { deleted: Some(written(end)), ..object.record()? })?;
                }
            }
            Ok(object)
        })
    }

    /// Changes an object as another writer would, between a caller's read and its write.
    pub fn change(&self, key: Key<'_>, change: impl FnOnce(&mut StoredObject)) -> impl Future<Output = Written> {
        self.run(move |inner, now| {
            let mut record = inner.existing(key)?.record()?;
            change(&mut record);
            record.modified = Some(written(now));
            self.put(inner, key.kind, record)
        })
    }

    /// Adds records unchanged and replaces existing ones, up to the first record with an error.
    pub fn seed(
        &self,
        mut records: impl Iterator<Item = Result<(&'static ObjectKind, StoredObject), ErrorResponse>>,
    ) -> impl Future<Output = Result<(), ErrorResponse>> {
        self.run(move |inner, now| {
            records
                .try_for_each(|record| record.and_then(|(kind, record)| self.add(inner, kind, record, now).map(drop)))
        })
    }

    /// Removes an object at once, even if others own it or refer to it.
    pub fn drop_now(&self, key: Key<'_>) -> impl Future<Output = Result<(), ErrorResponse>> {
        self.run(move |inner, _| inner.existing(key).map(|_| self.remove(inner, key)))
    }

    /// Runs an operation under the lock, after due removals. Returns once everything that it read is durable.
    fn run<T>(
        &self,
        operation: impl FnOnce(&mut Inner, Timestamp) -> Result<T, ErrorResponse>,
    ) -> impl Future<Output = Result<T, ErrorResponse>> {
        let now = self.clock.now();
        let mut inner = locked(&self.inner);
        while let Some((end, (kind, namespace, name))) = inner.leaving.first().cloned()
            && end <= now
        {
            inner.leaving.pop_first();
            let Some(kind) = ObjectKind::find(kind) else { continue };
            let key = Key { kind, namespace: &namespace, name: &name };
            let due = inner.find(key).and_then(|object| leaves_at(object));
            if due.is_some_and(|due| due <= now) {
                self.remove(&mut inner, key);
            }
        }
        let (result, basis) = (operation(&mut inner, now), inner.latest);
        async move {
            self.store.durable(basis).await?;
            result
        }
    }

    /// Completes a new record and writes it.
    fn add(&self, inner: &mut Inner, kind: &'static ObjectKind, mut record: StoredObject, now: Timestamp) -> Written {
        if record.uid.is_empty() {
            record.uid = uuid::Uuid::new_v4().to_string();
        }
        record.created = written(now);
        // The class of all objects that are created through the API or the console.
        record.creator_class = "prism".into();
        record.creator_id = format!("user@{}", self.tenant);
        self.put(inner, kind, record)
    }

    /// Writes a record at the next version.
    fn put(&self, inner: &mut Inner, kind: &'static ObjectKind, mut record: StoredObject) -> Written {
        inner.version += 1;
        record.version = inner.version;
        let text = serde_json::to_string(&record).map_err(ErrorResponse::internal)?;
        let object = ServedObject::new(text.as_str().into()).map_err(ErrorResponse::internal)?;
        let mut batch = Batch::default();
        batch.put(kind.name(), table_key(&record.namespace, &record.name), text);
        inner.latest = self.store.write(batch);
        Ok(inner.insert(kind, record.namespace, record.name.into(), object))
    }

    fn remove(&self, inner: &mut Inner, key: Key<'_>) {
        let namespaces = inner.kinds.get_mut(key.kind.name());
        let Some(objects) = namespaces.and_then(|namespaces| namespaces.get_mut(key.namespace)) else { return };
        if let Some(object) = objects.remove(key.name) {
            inner.references.remove(&key.place(), object.spec());
        }
        inner.version += 1;
        let mut batch = Batch::default();
        batch.remove(key.kind.name(), table_key(key.namespace, key.name));
        // The version of a removed object must not be used again.
        batch.put(COUNTERS, VERSION, inner.version.to_string());
        inner.latest = self.store.write(batch);
        let name = key.child_name();
        for kind in key.kind.children() {
            let child = Key { kind, name: &name, ..key };
            if inner.is_child(child) {
                self.remove(inner, child);
            }
        }
    }

    /// Adds the objects that the service creates for a view.
    fn add_children(&self, inner: &mut Inner, view: Key<'_>, uid: &str, now: Timestamp) -> Result<(), ErrorResponse> {
        let (name, Key { namespace, .. }) = (view.child_name(), view);
        for kind in view.kind.children() {
            if inner.find(Key { kind, name: &name, ..view }).is_some() {
                continue;
            }
            let reader = Reader { verb: Verb::Create, tenant: &self.tenant, namespace, mode: WriteMode::default() };
            let record = StoredObject {
                namespace: namespace.to_owned(),
                name: name.clone(),
                labels: raw_json(&json!({}))?,
                annotations: raw_json(&json!({}))?,
                // A real service would not list an endpoint without a target.
                spec: match host_field(kind).filter(|_| kind.is_endpoint()) {
                    Some(field) => reader.read(kind, &json!({field: format!("{}.internal", view.name)}))?,
                    None => reader.empty(kind)?,
                },
                owner_view: Some(ViewReference {
                    kind: view.kind.full_type(),
                    name: view.name.to_owned(),
                    namespace: namespace.to_owned(),
                    uid: uid.to_owned(),
                }),
                ..StoredObject::default()
            };
            self.add(inner, kind, record, now)?;
        }
        Ok(())
    }
}

/// The field of a spec that accepts a host name.
fn host_field(kind: &ObjectKind) -> Option<&'static str> {
    let is_host = |(_, rule): &(Part, Rule)| matches!(rule, Rule::Format(forms) if forms.contains(&"hostname"));
    kind.described.message().fields.iter().find(|field| field.rules.iter().any(is_host)).map(|field| field.name)
}

impl Inner {
    /// Adds the objects of a kind in the store.
    fn load(&mut self, kind: &'static ObjectKind, store: &Store) -> Result<(), StoreError> {
        store.each(kind.name(), |text| {
            let object = ServedObject::new(text)?;
            let (namespace, name) = object.key()?;
            self.version = self.version.max(object.version);
            self.insert(kind, namespace, name, object);
            Ok(())
        })
    }

    fn find(&self, key: Key<'_>) -> Option<&Arc<ServedObject>> {
        self.kinds.get(key.kind.name())?.get(key.namespace)?.get(key.name)
    }

    /// Whether the service created it for a view.
    fn is_child(&self, key: Key<'_>) -> bool {
        self.find(key).is_some_and(|object| object.is_owned())
    }

    fn existing(&self, key: Key<'_>) -> Result<Arc<ServedObject>, ErrorResponse> {
        let absent = || {
            // The text of the live service for a view, adapted for other kinds.
            let Key { kind, namespace, name } = key;
            let what = if kind.described.is_view { "view" } else { kind.name() };
            format!("no {what} {} entry {namespace}/{name}", kind.full_type())
        };
        self.find(key).cloned().ok_or_else(|| ErrorResponse::new(Code::NOT_FOUND, absent()))
    }

    fn insert(
        &mut self,
        kind: &'static ObjectKind,
        namespace: String,
        name: Box<str>,
        object: ServedObject,
    ) -> Arc<ServedObject> {
        let place = (kind.name(), namespace.clone(), name.clone());
        let object = Arc::new(object);
        if let Some(end) = leaves_at(&object) {
            self.leaving.insert((end, place.clone()));
        }
        let namespaces = self.kinds.entry(kind.name()).or_default();
        let before = namespaces.entry(namespace).or_default().insert(name, Arc::clone(&object));
        if let Some(before) = before {
            self.references.remove(&place, before.spec());
        }
        self.references.add(&place, object.spec());
        object
    }

    /// The objects that refer to an object, stored here or not. A view is replaced by the objects that the service
    /// created for it, because those contain the reference.
    fn referrers(&self, key: Key<'_>, tenant: &str) -> Result<Vec<Referrer>, ErrorResponse> {
        let mut referrers = self.existing(key)?.referrers()?;
        for (kind, namespace, name) in self.references.to(&key.place()) {
            let Some(kind) = ObjectKind::find(kind) else { continue };
            let referrer = Key { kind, namespace, name };
            let child_name = referrer.child_name();
            let children = kind.children().map(|kind| Key { kind, name: &child_name, ..referrer });
            let children: Vec<_> = children.filter(|child| self.is_child(*child)).collect();
            let is_host = |child: &&Key<'_>| child.kind.name() == "virtual_host";
            let child = children.iter().find(is_host).or(children.first()).copied();
            let referrer = child.unwrap_or(referrer);
            referrers.push(Referrer {
                kind: referrer.kind.full_type(),
                uid: self.existing(referrer)?.uid()?,
                tenant: tenant.to_owned(),
                namespace: referrer.namespace.to_owned(),
                name: referrer.name.to_owned(),
            });
        }
        Ok(referrers)
    }

    /// An object, unless a view owns it ("can only be edited/deleted through the view"; its code is unknown).
    fn changeable(&self, key: Key<'_>) -> Written {
        let object = self.existing(key)?;
        let Some(view) = object.owner_view()? else { return Ok(object) };
        let message = format!(
            "{key} can only be edited or deleted through its view {} {}/{}",
            view.kind, view.namespace, view.name
        );
        Err(ErrorResponse::new(Code::FAILED_PRECONDITION, message))
    }
}

/// A marked object without a finalizer is removed at its timestamp.
fn leaves_at(object: &ServedObject) -> Option<Timestamp> {
    if !object.is_deleted() {
        return None;
    }
    let record = object.record().ok().filter(|record| record.finalizers.is_empty())?;
    record.deleted?.parse().ok()
}

fn table_key(namespace: &str, name: &str) -> String {
    format!("{namespace}/{name}")
}

/// The service's answer to a mismatch is unknown; gRPC uses `ABORTED` for it.
fn mismatch(sent: &str, current: u64) -> ErrorResponse {
    let message = format!("resource_version mismatch: the request has {sent}, the object is at {current}");
    ErrorResponse::new(Code::ABORTED, message).detail("ReplaceResource: resource version mismatch")
}
