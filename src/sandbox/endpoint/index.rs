//! All endpoints of the tenant, in memory in the order of their names and on disk through the store.
//! Every operation runs under one lock, which also decides its place among the writes to disk; its
//! outcome contains the ticket after which everything that it read is durable.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use jiff::Timestamp;

use super::object::{Referrer, StoredEndpoint};
use super::served::ServedEndpoint;
use crate::sandbox::answer::{Code, ErrorResponse};
use crate::sandbox::clock::{Clock, written};
use crate::sandbox::store::{Batch, Store, StoreError, Ticket};

const TABLE: &str = "endpoint";
const COUNTERS: &str = "counter";
const VERSION: &str = "endpoint_version";

/// Added to the last durable version at every start, so that no other write gets a version that a reader
/// saw just before a kill.
const VERSION_STEP: u64 = 1_000_000;

/// The endpoints of a tenant.
#[derive(Debug)]
pub struct Endpoints {
    store: Arc<Store>,
    clock: Clock,
    tenant: String,
    tenant_json: String,
    deletion: Deletion,
    inner: Mutex<Inner>,
}

#[derive(Debug, Default)]
struct Inner {
    namespaces: BTreeMap<String, BTreeMap<Box<str>, Arc<ServedEndpoint>>>,
    /// Objects that are removed at a time.
    leaving: BTreeSet<(Timestamp, String, Box<str>)>,
    version: u64,
    latest: Ticket,
}

/// The result of an operation, and what must be on disk before it is answered.
#[derive(Debug)]
pub struct PendingResult<T> {
    result: Result<T, ErrorResponse>,
    basis: Ticket,
}

/// What a write returns: the endpoint as it is now.
type Written = Result<Arc<ServedEndpoint>, ErrorResponse>;

/// When a deleted endpoint is removed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Deletion {
    /// Before the delete is answered.
    Immediate,
    /// It stays with a `deletion_timestamp` this far ahead, and is removed after it.
    Graceful(Duration),
}

/// What a delete does about objects that refer to the endpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReferredDelete {
    /// Leaves their references dangling.
    Ignored,
    Refused,
}

impl Endpoints {
    /// Reads the endpoints of the store.
    pub fn open(store: Arc<Store>, clock: Clock, tenant: String, deletion: Deletion) -> Result<Self, StoreError> {
        let mut inner = Inner::load(&store)?;
        let stored = store.get(COUNTERS, VERSION)?.unwrap_or_default();
        let stored = String::from_utf8_lossy(&stored).parse::<u64>().unwrap_or_default();
        inner.version = inner.version.max(stored) + VERSION_STEP;
        // A text can always be written.
        let tenant_json = serde_json::to_string(&tenant).unwrap_or_default();
        Ok(Self { store, clock, tenant, tenant_json, deletion, inner: Mutex::new(inner) })
    }

    /// The result of an outcome, once it is durable.
    pub async fn settled<T>(&self, outcome: PendingResult<T>) -> Result<T, ErrorResponse> {
        self.store.durable(outcome.basis).await?;
        outcome.result
    }

    pub fn tenant(&self) -> &str {
        &self.tenant
    }

    /// The tenant's name as JSON.
    pub fn tenant_json(&self) -> &str {
        &self.tenant_json
    }

    /// Adds an endpoint that does not exist.
    pub fn create(&self, record: StoredEndpoint) -> PendingResult<Arc<ServedEndpoint>> {
        self.run(|inner, now| {
            if inner.find(&record.namespace, &record.name).is_some() {
                let error = ErrorResponse::new(Code::ALREADY_EXISTS, "Another endpoint with that name already exists");
                let detail = format!("CreateResource: endpoint {}/{} exists", record.namespace, record.name);
                return Err(error.detail(detail));
            }
            self.add(inner, record, now)
        })
    }

    pub fn get(&self, namespace: &str, name: &str) -> PendingResult<Arc<ServedEndpoint>> {
        self.run(|inner, _| inner.existing(namespace, name))
    }

    /// Every endpoint of a namespace, which may be unknown.
    pub fn list(&self, namespace: &str) -> PendingResult<Vec<Arc<ServedEndpoint>>> {
        self.run(|inner, _| {
            let found = inner.namespaces.get(namespace).map(|objects| objects.values().cloned().collect());
            Ok(found.unwrap_or_default())
        })
    }

    /// Replaces what a caller decides of an endpoint, if it is still at `version`.
    pub fn replace(&self, sent: StoredEndpoint, version: Option<&str>) -> PendingResult<Arc<ServedEndpoint>> {
        self.run(|inner, now| {
            let before = inner.writable(&sent.namespace, &sent.name)?;
            if let Some(version) = version.filter(|version| version.parse() != Ok(before.version)) {
                return Err(mismatch(version, before.version));
            }
            let StoredEndpoint { labels, annotations, description, disable, spec, .. } = sent;
            let modified = Some(written(now));
            self.put(inner, StoredEndpoint { labels, annotations, description, disable, spec, modified, ..before })
        })
    }

    /// Removes an endpoint, or marks it as being deleted; returns what was there.
    pub fn delete(&self, namespace: &str, name: &str, referred: ReferredDelete) -> PendingResult<Arc<ServedEndpoint>> {
        self.run(|inner, now| {
            let object = inner.removable(namespace, name, referred)?;
            match self.deletion {
                _ if object.is_deleted() => {}
                Deletion::Immediate => self.remove(inner, namespace, name),
                Deletion::Graceful(after) => {
                    let end = now.checked_add(after).unwrap_or(Timestamp::MAX);
                    self.put(inner, StoredEndpoint { deleted: Some(written(end)), ..object.record()? })?;
                }
            }
            Ok(object)
        })
    }

    /// Changes an endpoint as another writer would, between a caller's read and its write.
    pub fn change(
        &self,
        namespace: &str,
        name: &str,
        change: impl FnOnce(&mut StoredEndpoint),
    ) -> PendingResult<Arc<ServedEndpoint>> {
        self.run(|inner, now| {
            let mut record = inner.existing(namespace, name)?.record()?;
            change(&mut record);
            record.modified = Some(written(now));
            self.put(inner, record)
        })
    }

    /// Adds a record as it is, over an existing one.
    pub fn seed(&self, record: StoredEndpoint) -> PendingResult<Arc<ServedEndpoint>> {
        self.run(|inner, now| self.add(inner, record, now))
    }

    /// Removes an endpoint at once, whatever owns it or refers to it.
    pub fn drop_now(&self, namespace: &str, name: &str) -> PendingResult<()> {
        self.run(|inner, _| inner.existing(namespace, name).map(|_| self.remove(inner, namespace, name)))
    }

    /// Adds `referrer` to the objects that refer to an endpoint.
    pub fn refer(&self, namespace: &str, name: &str, referrer: Referrer) -> PendingResult<Arc<ServedEndpoint>> {
        self.run(|inner, _| {
            let mut record = inner.existing(namespace, name)?.record()?;
            record.referrers.push(referrer);
            self.write(inner, &record)
        })
    }

    /// Runs an operation under the lock, after the removals that are due.
    fn run<T>(&self, operation: impl FnOnce(&mut Inner, Timestamp) -> Result<T, ErrorResponse>) -> PendingResult<T> {
        let now = self.clock.now();
        let mut inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        while let Some((end, namespace, name)) = inner.leaving.first().cloned()
            && end <= now
        {
            inner.leaving.pop_first();
            let due = inner.find(&namespace, &name).and_then(|object| leaves_at(object));
            if due.is_some_and(|due| due <= now) {
                self.remove(&mut inner, &namespace, &name);
            }
        }
        let result = operation(&mut inner, now);
        PendingResult { result, basis: inner.latest }
    }

    /// Completes a new record and writes it.
    fn add(&self, inner: &mut Inner, mut record: StoredEndpoint, now: Timestamp) -> Written {
        if record.uid.is_empty() {
            record.uid = uuid::Uuid::new_v4().to_string();
        }
        record.created = written(now);
        // The class of everything that was made through the API or the console.
        record.creator_class = "prism".into();
        record.creator_id = format!("user@{}", self.tenant);
        self.put(inner, record)
    }

    /// Writes a record at the next version.
    fn put(&self, inner: &mut Inner, mut record: StoredEndpoint) -> Written {
        inner.version += 1;
        record.version = inner.version;
        self.write(inner, &record)
    }

    fn write(&self, inner: &mut Inner, record: &StoredEndpoint) -> Written {
        let text = serde_json::to_string(record).map_err(ErrorResponse::internal)?;
        let object = ServedEndpoint::new(text.as_str().into()).map_err(ErrorResponse::internal)?;
        let mut batch = Batch::new();
        batch.put(TABLE, key(&record.namespace, &record.name), text);
        inner.latest = self.store.write(batch);
        Ok(inner.insert(record.namespace.clone(), record.name.as_str().into(), object))
    }

    fn remove(&self, inner: &mut Inner, namespace: &str, name: &str) {
        let Some(objects) = inner.namespaces.get_mut(namespace) else { return };
        objects.remove(name);
        inner.version += 1;
        let mut batch = Batch::new();
        batch.remove(TABLE, key(namespace, name));
        // The version of a removed object must not be used again.
        batch.put(COUNTERS, VERSION, inner.version.to_string());
        inner.latest = self.store.write(batch);
    }
}

impl Inner {
    /// The endpoints of the store.
    fn load(store: &Store) -> Result<Self, StoreError> {
        let parts = store.each(TABLE, |inner: &mut Self, text| {
            let object = ServedEndpoint::new(text)?;
            let (namespace, name) = object.key()?;
            inner.version = inner.version.max(object.version);
            inner.insert(namespace, name, object);
            Ok(())
        })?;
        let mut whole = Self::default();
        for mut part in parts {
            for (namespace, mut objects) in part.namespaces {
                whole.namespaces.entry(namespace).or_default().append(&mut objects);
            }
            whole.leaving.append(&mut part.leaving);
            whole.version = whole.version.max(part.version);
        }
        Ok(whole)
    }

    fn find(&self, namespace: &str, name: &str) -> Option<&Arc<ServedEndpoint>> {
        self.namespaces.get(namespace)?.get(name)
    }

    fn existing(&self, namespace: &str, name: &str) -> Result<Arc<ServedEndpoint>, ErrorResponse> {
        let absent = || {
            // The live text for another kind of object.
            format!("no endpoint ves.io.schema.endpoint.Object entry {namespace}/{name}")
        };
        self.find(namespace, name).cloned().ok_or_else(|| ErrorResponse::new(Code::NOT_FOUND, absent()))
    }

    fn insert(&mut self, namespace: String, name: Box<str>, object: ServedEndpoint) -> Arc<ServedEndpoint> {
        let object = Arc::new(object);
        if let Some(end) = leaves_at(&object) {
            self.leaving.insert((end, namespace.clone(), name.clone()));
        }
        self.namespaces.entry(namespace).or_default().insert(name, Arc::clone(&object));
        object
    }

    /// The record of what a caller may change: neither owned by a view nor being deleted.
    fn writable(&self, namespace: &str, name: &str) -> Result<StoredEndpoint, ErrorResponse> {
        let object = self.existing(namespace, name)?;
        owned(&object, namespace, name)?;
        if object.is_deleted() {
            let message = format!("endpoint {namespace}/{name} is being deleted");
            return Err(ErrorResponse::new(Code::ABORTED, message));
        }
        object.record()
    }

    fn removable(
        &self,
        namespace: &str,
        name: &str,
        referred: ReferredDelete,
    ) -> Result<Arc<ServedEndpoint>, ErrorResponse> {
        let object = self.existing(namespace, name)?;
        owned(&object, namespace, name)?;
        match (referred, object.referrers()?.as_slice()) {
            (ReferredDelete::Refused, [first, ..]) => {
                let message = format!(
                    "endpoint {namespace}/{name} is referred to by {} {}/{}",
                    first.kind, first.namespace, first.name
                );
                Err(ErrorResponse::new(Code::FAILED_PRECONDITION, message).detail("DeleteResource: object is referred"))
            }
            _ => Ok(object),
        }
    }
}

/// A marked object without a finalizer is removed at its timestamp.
fn leaves_at(object: &ServedEndpoint) -> Option<Timestamp> {
    if !object.is_deleted() {
        return None;
    }
    let record = object.record().ok().filter(|record| record.finalizers.is_empty())?;
    record.deleted?.parse().ok()
}

fn key(namespace: &str, name: &str) -> String {
    format!("{namespace}/{name}")
}

/// "Can only be edited/deleted through the view"; with which code is not known.
fn owned(object: &ServedEndpoint, namespace: &str, name: &str) -> Result<(), ErrorResponse> {
    let Some(view) = object.owner_view()? else { return Ok(()) };
    let message = format!(
        "endpoint {namespace}/{name} can only be edited or deleted through its view {} {}/{}",
        view.kind, view.namespace, view.name
    );
    Err(ErrorResponse::new(Code::FAILED_PRECONDITION, message))
}

/// How the service answers a mismatch is not known; gRPC uses `ABORTED` for it.
fn mismatch(sent: &str, current: u64) -> ErrorResponse {
    let message = format!("resource_version mismatch: the request has {sent}, the object is at {current}");
    ErrorResponse::new(Code::ABORTED, message).detail("ReplaceResource: resource version mismatch")
}
