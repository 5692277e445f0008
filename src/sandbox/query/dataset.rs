//! The durable data of these areas, seeded into the store from a tenant file. If the file was seeded before and has not
//! changed, its DDoS events, sites, versions and endpoints are not seeded again, so that edits stay and an upgrade
//! continues; its security events, which clients cannot edit, get new times at each start.

use std::sync::Mutex;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use super::ddos;
use super::event::store::{EventStore, SecurityEvent};
use super::tenant::Tenant;
use crate::model::share::locked;
use crate::sandbox::store::{Batch, Store, StoreError, Ticket};

const TENANT: &str = "tenant";
const SEEDED: &str = "seeded";
pub const SITES: &str = "site";
pub const VERSIONS: &str = "sw_version";
pub const DDOS_EVENTS: &str = "ddos_event";
const SECURITY_EVENTS: &str = "security_event";
const QUERIES: &str = "security_event_query";

/// The most queries that are recorded; older ones are removed.
const QUERIES_KEPT: u64 = 10_000;

/// The data of one tenant.
#[derive(Debug)]
pub struct Dataset {
    pub events: EventStore,
    /// Changes whenever the positions of events change.
    pub edition: u64,
    next_query: Mutex<u64>,
    /// Locked from the read of a DDoS event to its write.
    pub editing: tokio::sync::Mutex<()>,
}

#[derive(Debug, Serialize, Deserialize)]
struct DatasetMark {
    digest: String,
    name: Option<String>,
    read_at: Timestamp,
}

/// A security event query: the event that the operation declares to create.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RecordedQuery {
    /// The time of the query.
    pub time: Timestamp,
    /// Its namespace.
    pub namespace: String,
    /// The query, in the language of the service.
    pub query: String,
    /// The start of its time window.
    pub start_time: Timestamp,
    /// The end of its time window.
    pub end_time: Timestamp,
    /// How many events it matched.
    pub hits: u64,
}

/// Whether a tenant file is new to the store: another file, or none, was seeded last.
pub fn is_new(store: &Store, tenant: &Tenant) -> Result<bool, StoreError> {
    let before: Option<DatasetMark> = store.one(TENANT, SEEDED)?;
    Ok(before.is_none_or(|mark| mark.digest != tenant.digest))
}

/// The tenant's name in the file that was seeded, if it has one.
pub fn tenant_name(store: &Store) -> Result<Option<String>, StoreError> {
    Ok(store.one::<DatasetMark>(TENANT, SEEDED)?.and_then(|mark| mark.name))
}

/// Queues the data of a tenant file without its endpoints; `name` is the tenant's name. The data can be opened once the
/// ticket is durable.
pub fn seed(store: &Store, tenant: &Tenant, name: &str) -> Result<Ticket, StoreError> {
    let mut batch = Batch::default();
    if is_new(store, tenant)? {
        for table in [SITES, VERSIONS, DDOS_EVENTS] {
            clear(store, &mut batch, table)?;
        }
        for site in &tenant.sites {
            batch.put_json(SITES, format!("{}/{}", site.namespace, site.name), site);
        }
        for (index, version) in tenant.software_versions.iter().enumerate() {
            batch.put_json(VERSIONS, format!("{index:08}"), version);
        }
        for event in &tenant.ddos_events {
            batch.put_json(DDOS_EVENTS, event.id.clone(), event);
        }
    }
    clear(store, &mut batch, SECURITY_EVENTS)?;
    for (index, event) in tenant.security_events.iter().enumerate() {
        let mut event = event.clone();
        if let Some(fields) = event.event.as_object_mut() {
            fields.entry("tenant").or_insert_with(|| name.into());
        }
        batch.put_json(SECURITY_EVENTS, format!("{index:08}"), &event);
    }
    let mark = DatasetMark { digest: tenant.digest.clone(), name: tenant.name.clone(), read_at: tenant.read_at };
    batch.put_json(TENANT, SEEDED, &mark);
    Ok(store.write(batch))
}

impl Dataset {
    /// Reads the data of the store.
    pub fn open(store: &Store) -> Result<Self, StoreError> {
        let mark = store.get(TENANT, SEEDED)?.unwrap_or_default();
        let digest = Sha256::digest(&mark);
        let edition = digest.iter().take(8).fold(0, |edition, byte| edition << 8 | u64::from(*byte));
        let last = store.scan(QUERIES)?.pop().and_then(|(key, _)| key.parse::<u64>().ok());
        Ok(Self {
            events: EventStore::new(store.all::<SecurityEvent>(SECURITY_EVENTS)?),
            edition,
            next_query: Mutex::new(last.map_or(0, |last| last + 1)),
            editing: tokio::sync::Mutex::default(),
        })
    }

    /// Queues the record of a query.
    pub fn record(&self, store: &Store, query: &RecordedQuery) -> Ticket {
        let mut next = locked(&self.next_query);
        let mut batch = Batch::default();
        batch.put_json(QUERIES, format!("{:020}", *next), query);
        if let Some(oldest) = next.checked_sub(QUERIES_KEPT) {
            batch.remove(QUERIES, format!("{oldest:020}"));
        }
        *next += 1;
        store.write(batch)
    }
}

/// The queries that were made, oldest first.
pub fn queries(store: &Store) -> Result<Vec<RecordedQuery>, StoreError> {
    store.all(QUERIES)
}

/// Queues an edited event.
pub fn store_event(store: &Store, event: &ddos::DdosEvent) -> Ticket {
    let mut batch = Batch::default();
    batch.put_json(DDOS_EVENTS, event.id.clone(), event);
    store.write(batch)
}

fn clear(store: &Store, batch: &mut Batch, table: &'static str) -> Result<(), StoreError> {
    for (key, _) in store.scan(table)? {
        batch.remove(table, key);
    }
    Ok(())
}
