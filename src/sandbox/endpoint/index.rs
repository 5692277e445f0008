//! All endpoints of the tenant, in memory in the order of their names and on disk through the store.
//! Every operation happens at one moment under one lock, which also fixes its place among the
//! writes to disk; its outcome carries the ticket after which everything that it saw is durable.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use jiff::Timestamp;

use super::draft::Draft;
use super::object::{Object, Referrer, StoredEndpoint};
use crate::sandbox::answer::{Code, ErrorResponse};
use crate::sandbox::clock::{Clock, written};
use crate::sandbox::options::Deletion;
use crate::sandbox::store::{Batch, Store, StoreError, Ticket};

const TABLE: &str = "endpoint";
const COUNTERS: &str = "counter";
const VERSION: &str = "endpoint_version";

/// Added to the last durable version at every start, so that a version which a reader saw just
/// before a kill is never given to another write.
const VERSION_STEP: u64 = 1_000_000;

/// The endpoints of a tenant.
#[derive(Debug)]
pub struct Endpoints {
    store: Arc<Store>,
    clock: Clock,
    tenant: String,
    deletion: Deletion,
    inner: Mutex<Inner>,
}

#[derive(Debug, Default)]
struct Inner {
    namespaces: BTreeMap<String, BTreeMap<String, Arc<Object>>>,
    /// Objects that go when their time has come.
    leaving: BTreeSet<(Timestamp, String, String)>,
    version: u64,
    latest: Ticket,
}

/// What an operation came to, and what must be on disk before anybody is told.
#[derive(Debug)]
pub struct Outcome<T> {
    result: Result<T, ErrorResponse>,
    basis: Ticket,
}

/// What a delete does about objects that refer to the endpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReferredDelete {
    /// Leaves their references dangling.
    Ignored,
    Refused,
}

impl Endpoints {
    /// Reads what the store holds.
    ///
    /// # Errors
    /// When the store cannot be read or holds something else.
    pub fn open(store: Arc<Store>, clock: Clock, tenant: String, deletion: Deletion) -> Result<Self, StoreError> {
        let mut inner = Inner::default();
        for (key, value) in store.scan(TABLE)? {
            let record: StoredEndpoint = serde_json::from_slice(&value).map_err(|source| StoreError::Damaged {
                table: TABLE.into(),
                key,
                source,
            })?;
            inner.version = inner.version.max(record.version);
            inner.insert(Object::new(record, &tenant));
        }
        let stored = store.get(COUNTERS, VERSION)?.unwrap_or_default();
        let stored = String::from_utf8_lossy(&stored).parse::<u64>().unwrap_or_default();
        inner.version = inner.version.max(stored) + VERSION_STEP;
        Ok(Self { store, clock, tenant, deletion, inner: Mutex::new(inner) })
    }

    /// Waits until what an outcome tells is durable.
    ///
    /// # Errors
    /// The refusal of the operation, or 500 when the disk refused.
    pub async fn settled<T>(&self, outcome: Outcome<T>) -> Result<T, ErrorResponse> {
        match self.store.durable(outcome.basis).await {
            Ok(()) => outcome.result,
            Err(error) => Err(ErrorResponse::new(Code::Internal, error.to_string())),
        }
    }

    pub fn tenant(&self) -> &str {
        &self.tenant
    }

    pub fn create(&self, draft: Draft) -> Outcome<Arc<Object>> {
        let now = self.clock.now();
        let mut inner = self.lock(now);
        if inner.find(&draft.namespace, &draft.name).is_some() {
            let refusal = ErrorResponse::new(Code::AlreadyExists, "Another endpoint with that name already exists")
                .detail(format!("CreateResource: endpoint {}/{} exists", draft.namespace, draft.name));
            return inner.outcome(Err(refusal));
        }
        let record = self.record(draft, now);
        let object = self.put(&mut inner, record);
        inner.outcome(Ok(object))
    }

    pub fn get(&self, namespace: &str, name: &str) -> Outcome<Arc<Object>> {
        let inner = self.lock(self.clock.now());
        let found = inner.find(namespace, name).cloned().ok_or_else(|| absent(namespace, name));
        inner.outcome(found)
    }

    /// Every endpoint of a namespace, which may be unknown.
    pub fn list(&self, namespace: &str) -> Outcome<Vec<Arc<Object>>> {
        let inner = self.lock(self.clock.now());
        let found = inner.namespaces.get(namespace).map(|objects| objects.values().cloned().collect());
        inner.outcome(Ok(found.unwrap_or_default()))
    }

    /// Puts a draft in the place of what is there, if that is still at `version`.
    pub fn replace(&self, draft: Draft, version: Option<&str>) -> Outcome<Arc<Object>> {
        let now = self.clock.now();
        let mut inner = self.lock(now);
        let result = inner.writable(&draft.namespace, &draft.name).and_then(|object| {
            let held = object.record.version;
            match version {
                Some(sent) if sent.parse() != Ok(held) => Err(mismatch(sent, held)),
                _ => Ok(object.record.clone()),
            }
        });
        let result = result.map(|mut record| {
            record.take(draft);
            record.modified = Some(written(now));
            self.put(&mut inner, record)
        });
        inner.outcome(result)
    }

    /// Removes an endpoint, or marks it as going; gives what was there.
    pub fn delete(&self, namespace: &str, name: &str, referred: ReferredDelete) -> Outcome<Arc<Object>> {
        let now = self.clock.now();
        let mut inner = self.lock(now);
        let result = inner.removable(namespace, name, referred);
        if let Ok(object) = &result
            && object.record.deleted.is_none()
        {
            match self.deletion {
                Deletion::Immediate => self.remove(&mut inner, namespace, name),
                Deletion::Graceful(after) => {
                    let end = jiff::SignedDuration::try_from(after)
                        .ok()
                        .and_then(|after| now.checked_add(after).ok())
                        .unwrap_or(Timestamp::MAX);
                    let mut record = object.record.clone();
                    record.deleted = Some(written(end));
                    self.put(&mut inner, record);
                }
            }
        }
        inner.outcome(result)
    }

    /// Changes an endpoint as somebody else would, between a caller's read and its write.
    pub fn disturb(
        &self,
        namespace: &str,
        name: &str,
        change: impl FnOnce(&mut StoredEndpoint),
    ) -> Outcome<Arc<Object>> {
        let now = self.clock.now();
        let mut inner = self.lock(now);
        let found = inner.find(namespace, name).cloned().ok_or_else(|| absent(namespace, name));
        let result = found.map(|object| {
            let mut record = object.record.clone();
            change(&mut record);
            record.modified = Some(written(now));
            self.put(&mut inner, record)
        });
        inner.outcome(result)
    }

    /// Puts a record as it is, over whatever is there.
    pub fn seed(&self, draft: Draft, complete: impl FnOnce(&mut StoredEndpoint)) -> Outcome<Arc<Object>> {
        let now = self.clock.now();
        let mut inner = self.lock(now);
        let mut record = self.record(draft, now);
        complete(&mut record);
        let object = self.put(&mut inner, record);
        inner.outcome(Ok(object))
    }

    /// Removes an endpoint at once, whoever owns it or refers to it.
    pub fn drop_now(&self, namespace: &str, name: &str) -> Outcome<()> {
        let mut inner = self.lock(self.clock.now());
        let found = inner.find(namespace, name).is_some();
        if found {
            self.remove(&mut inner, namespace, name);
        }
        inner.outcome(if found { Ok(()) } else { Err(absent(namespace, name)) })
    }

    /// Says that `referrer` refers to an endpoint.
    pub fn refer(&self, namespace: &str, name: &str, referrer: Referrer) -> Outcome<Arc<Object>> {
        let mut inner = self.lock(self.clock.now());
        let found = inner.find(namespace, name).cloned().ok_or_else(|| absent(namespace, name));
        let result = found.map(|object| {
            let mut record = object.record.clone();
            record.referrers.push(referrer);
            let version = record.version;
            self.write(&mut inner, record, version)
        });
        inner.outcome(result)
    }

    fn record(&self, draft: Draft, now: Timestamp) -> StoredEndpoint {
        StoredEndpoint {
            uid: uuid::Uuid::new_v4().to_string(),
            version: 0,
            namespace: draft.namespace,
            name: draft.name,
            labels: draft.labels,
            annotations: draft.annotations,
            description: draft.description,
            disable: draft.disable,
            spec: draft.spec,
            created: written(now),
            modified: None,
            deleted: None,
            finalizers: Vec::new(),
            owner_view: None,
            // The class of everything that was made through the API or the console.
            creator_class: "prism".into(),
            creator_id: format!("user@{}", self.tenant),
            status: Vec::new(),
            referrers: Vec::new(),
        }
    }

    /// Writes a record at the next version.
    fn put(&self, inner: &mut Inner, record: StoredEndpoint) -> Arc<Object> {
        let version = inner.version + 1;
        self.write(inner, record, version)
    }

    fn write(&self, inner: &mut Inner, mut record: StoredEndpoint, version: u64) -> Arc<Object> {
        record.version = version;
        inner.version = inner.version.max(version);
        let mut batch = Batch::new();
        // Strings, numbers and raw JSON: there is nothing that JSON cannot hold.
        let bytes = serde_json::to_vec(&record).unwrap_or_default();
        batch.put(TABLE, key(&record.namespace, &record.name), bytes);
        inner.latest = self.store.write(batch);
        inner.insert(Object::new(record, &self.tenant))
    }

    fn remove(&self, inner: &mut Inner, namespace: &str, name: &str) {
        let Some(objects) = inner.namespaces.get_mut(namespace) else { return };
        objects.remove(name);
        inner.version += 1;
        let mut batch = Batch::new();
        batch.remove(TABLE, key(namespace, name));
        // The version of a removed object must not come again.
        batch.put(COUNTERS, VERSION, inner.version.to_string());
        inner.latest = self.store.write(batch);
    }

    /// Takes the lock, and what has to be gone by now with it.
    fn lock(&self, now: Timestamp) -> MutexGuard<'_, Inner> {
        let mut inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        while let Some((end, namespace, name)) = inner.leaving.first().cloned()
            && end <= now
        {
            inner.leaving.pop_first();
            let due = inner.find(&namespace, &name).and_then(|object| leaves_at(&object.record));
            if due.is_some_and(|due| due <= now) {
                self.remove(&mut inner, &namespace, &name);
            }
        }
        inner
    }
}

impl Inner {
    fn find(&self, namespace: &str, name: &str) -> Option<&Arc<Object>> {
        self.namespaces.get(namespace)?.get(name)
    }

    fn insert(&mut self, object: Object) -> Arc<Object> {
        let object = Arc::new(object);
        let record = &object.record;
        if let Some(end) = leaves_at(record) {
            self.leaving.insert((end, record.namespace.clone(), record.name.clone()));
        }
        let objects = self.namespaces.entry(record.namespace.clone()).or_default();
        objects.insert(record.name.clone(), Arc::clone(&object));
        object
    }

    fn outcome<T>(&self, result: Result<T, ErrorResponse>) -> Outcome<T> {
        Outcome { result, basis: self.latest }
    }

    /// What a caller may change: neither owned by a view nor going.
    fn writable(&self, namespace: &str, name: &str) -> Result<Arc<Object>, ErrorResponse> {
        let object = self.find(namespace, name).ok_or_else(|| absent(namespace, name))?;
        owned(&object.record)?;
        if object.record.deleted.is_some() {
            let message = format!("endpoint {namespace}/{name} is being deleted");
            return Err(ErrorResponse::new(Code::Aborted, message));
        }
        Ok(Arc::clone(object))
    }

    fn removable(&self, namespace: &str, name: &str, referred: ReferredDelete) -> Result<Arc<Object>, ErrorResponse> {
        let object = self.find(namespace, name).ok_or_else(|| absent(namespace, name))?;
        owned(&object.record)?;
        match (referred, object.record.referrers.as_slice()) {
            (ReferredDelete::Refused, [first, ..]) => {
                let message = format!(
                    "endpoint {namespace}/{name} is referred to by {} {}/{}",
                    first.kind, first.namespace, first.name
                );
                Err(ErrorResponse::new(Code::FailedPrecondition, message).detail("DeleteResource: object is referred"))
            }
            _ => Ok(Arc::clone(object)),
        }
    }
}

/// An object that is marked and has no finalizer goes at its timestamp.
fn leaves_at(record: &StoredEndpoint) -> Option<Timestamp> {
    record.deleted.as_ref().filter(|_| record.finalizers.is_empty()).and_then(|time| time.parse().ok())
}

fn key(namespace: &str, name: &str) -> String {
    format!("{namespace}/{name}")
}

/// The live text for another kind of object.
fn absent(namespace: &str, name: &str) -> ErrorResponse {
    ErrorResponse::new(Code::NotFound, format!("no endpoint ves.io.schema.endpoint.Object entry {namespace}/{name}"))
}

/// "Can only be edited/deleted through the view"; with which code is not known.
fn owned(record: &StoredEndpoint) -> Result<(), ErrorResponse> {
    let Some(view) = &record.owner_view else { return Ok(()) };
    let message = format!(
        "endpoint {}/{} can only be edited or deleted through its view {} {}/{}",
        record.namespace, record.name, view.kind, view.namespace, view.name
    );
    Err(ErrorResponse::new(Code::FailedPrecondition, message))
}

/// What the service answers to a mismatch is not known; `ABORTED` is what gRPC has for it.
fn mismatch(sent: &str, held: u64) -> ErrorResponse {
    let message = format!("resource_version mismatch: the request has {sent}, the object is at {held}");
    ErrorResponse::new(Code::Aborted, message).detail("ReplaceResource: resource version mismatch")
}
