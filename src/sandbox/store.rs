//! Durable storage: named tables of JSON bytes by key, in one redb file. One thread writes; all writes that are queued
//! during a flush share the next one. A write returns a [`Ticket`] at once and is durable when [`Store::durable`]
//! returns for it; an answer must not be sent before everything that it reports is durable.

use std::path::{Path, PathBuf};
use std::sync::mpsc;
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;

use redb::{Database, ReadOnlyTable, ReadableDatabase, ReadableTable as _, TableDefinition, TableError};
use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio::sync::watch;

use crate::model::share::locked;

/// The most writes of one flush; this limits the time until the first of them is acknowledged.
const FLUSH: usize = 4_096;

/// The cache for pages of the file, in bytes. Data that is read often is in memory anyway.
const CACHE: usize = 64 * 1024 * 1024;

type Definition<'a> = TableDefinition<'a, &'static str, &'static [u8]>;
type Opened = ReadOnlyTable<&'static str, &'static [u8]>;

/// Where the sandbox stores its tenant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Storage {
    /// A file, created when absent; an acknowledged write survives a kill of the process.
    File(PathBuf),
    /// Only memory: the data ends with the sandbox.
    Memory,
}

/// Why the storage cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// Another process uses it.
    #[error("`{0}` is already used by another sandbox process; stop that one or choose another file")]
    InUse(PathBuf),
    /// It is not a file of a sandbox.
    #[error("`{path}` cannot be opened as a sandbox file; choose another file")]
    Open {
        /// The file.
        path: PathBuf,
        /// The error of the database.
        source: redb::DatabaseError,
    },
    /// The file cannot be used as one.
    #[error(transparent)]
    File(#[from] crate::file::FileError),
    /// A thread cannot be started.
    #[error("the sandbox cannot start the thread that writes its file")]
    Thread(#[source] std::io::Error),
    /// The database cannot be read.
    #[error("the sandbox cannot read its file")]
    Read(#[source] Box<redb::Error>),
    /// An entry is damaged.
    #[error("`{key}` in table `{table}` of the sandbox file is damaged; delete the file to start anew")]
    Damaged {
        /// The table.
        table: String,
        /// The key.
        key: String,
        /// The error of the reader.
        source: serde_json::Error,
    },
    /// The database cannot be written.
    #[error("the sandbox cannot write its file: {0}; nothing more is accepted")]
    Write(String),
}

impl StoreError {
    fn read(source: impl Into<redb::Error>) -> Self {
        Self::Read(Box::new(source.into()))
    }
}

/// Changes that become durable together or not at all.
#[derive(Debug, Default)]
pub struct Batch {
    changes: Vec<Change>,
}

#[derive(Debug)]
struct Change {
    table: &'static str,
    key: String,
    value: Option<Vec<u8>>,
}

impl Batch {
    /// Sets `key` of `table`; a later change of the same key in the batch wins.
    pub fn put(&mut self, table: &'static str, key: impl Into<String>, value: impl Into<Vec<u8>>) {
        self.changes.push(Change { table, key: key.into(), value: Some(value.into()) });
    }

    /// Sets `key` of `table` to a value in JSON.
    pub fn put_json(&mut self, table: &'static str, key: impl Into<String>, value: &impl Serialize) {
        // Texts, numbers and JSON values can always be serialised.
        self.put(table, key, serde_json::to_vec(value).unwrap_or_default());
    }

    /// Removes `key` of `table`, which may be absent.
    pub fn remove(&mut self, table: &'static str, key: impl Into<String>) {
        self.changes.push(Change { table, key: key.into(), value: None });
    }
}

/// The position of a write in the order of all writes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Ticket(u64);

/// The tables of one sandbox.
#[derive(Debug)]
pub struct Store {
    database: Arc<Database>,
    queue: Mutex<Queue>,
    progress: watch::Receiver<Progress>,
    writer: Mutex<Option<JoinHandle<()>>>,
}

#[derive(Debug)]
struct Queue {
    next: Ticket,
    sender: Option<mpsc::Sender<(Ticket, Batch)>>,
}

/// The last durable batch, or why the writer ended.
type Progress = Result<Ticket, String>;

impl Store {
    /// Opens or creates the storage and starts its writer.
    ///
    /// # Errors
    /// [`StoreError::InUse`] if another process, or another sandbox of this one, has the file open;
    /// [`StoreError::Open`] if the file is something else.
    pub fn open(storage: &Storage) -> Result<Self, StoreError> {
        let database = match storage {
            Storage::File(path) => create(path)?,
            Storage::Memory => {
                builder().create_with_backend(redb::backends::InMemoryBackend::new()).map_err(StoreError::read)?
            }
        };
        let database = Arc::new(database);
        let (sender, receiver) = mpsc::channel();
        let (report, progress) = watch::channel(Ok(Ticket(0)));
        let writing = Arc::clone(&database);
        let writer = std::thread::Builder::new()
            .name("sandbox-writer".into())
            .spawn(move || write(&writing, &receiver, &report))
            .map_err(StoreError::Thread)?;
        Ok(Self {
            database,
            queue: Mutex::new(Queue { next: Ticket(0), sender: Some(sender) }),
            progress,
            writer: Mutex::new(Some(writer)),
        })
    }

    /// Queues a batch. Batches become durable in the order of these calls.
    pub fn write(&self, batch: Batch) -> Ticket {
        let mut queue = locked(&self.queue);
        queue.next.0 += 1;
        let ticket = queue.next;
        if let Some(sender) = &queue.sender {
            // If the writer has ended, `durable` returns the reason.
            let _ = sender.send((ticket, batch));
        }
        ticket
    }

    /// Waits until the batch of `ticket`, and every one before it, is on disk.
    ///
    /// # Errors
    /// [`StoreError::Write`] when a write failed, now or earlier, or the store was closed.
    pub async fn durable(&self, ticket: Ticket) -> Result<(), StoreError> {
        let mut progress = self.progress.clone();
        let reached = progress.wait_for(|progress| progress.as_ref().map_or(true, |until| *until >= ticket)).await;
        let reached = reached.map_or_else(|_| Err("it was closed".into()), |progress| progress.clone());
        reached.map(drop).map_err(StoreError::Write)
    }

    /// The durable value of `key`.
    ///
    /// # Errors
    /// [`StoreError::Read`].
    pub fn get(&self, table: &str, key: &str) -> Result<Option<Vec<u8>>, StoreError> {
        let Some(table) = self.table(table)? else { return Ok(None) };
        let value = table.get(key).map_err(StoreError::read)?;
        Ok(value.map(|value| value.value().to_vec()))
    }

    /// The durable value of `key`, which is JSON.
    ///
    /// # Errors
    /// [`StoreError::Read`] and [`StoreError::Damaged`].
    pub fn one<T: DeserializeOwned>(&self, table: &str, key: &str) -> Result<Option<T>, StoreError> {
        self.get(table, key)?.map(|bytes| read(table, key.to_owned(), &bytes)).transpose()
    }

    /// The durable values of a table, which are JSON, in byte order of the keys.
    ///
    /// # Errors
    /// [`StoreError::Read`] and [`StoreError::Damaged`].
    pub fn all<T: DeserializeOwned>(&self, table: &str) -> Result<Vec<T>, StoreError> {
        let mut all = Vec::new();
        self.each(table, |text| serde_json::from_str(&text).map(|value| all.push(value)))?;
        Ok(all)
    }

    /// Every durable pair of a table, in byte order of the keys.
    ///
    /// # Errors
    /// [`StoreError::Read`].
    pub fn scan(&self, table: &str) -> Result<Vec<(String, Vec<u8>)>, StoreError> {
        let Some(table) = self.table(table)? else { return Ok(Vec::new()) };
        let pairs = table.iter().map_err(StoreError::read)?;
        let pairs = pairs.map(|pair| pair.map(|(key, value)| (key.value().to_owned(), value.value().to_vec())));
        pairs.collect::<Result<_, _>>().map_err(StoreError::read)
    }

    /// Passes the durable values of a table, which are JSON, to `take`, in byte order of the keys, with only one of
    /// them in memory at a time.
    ///
    /// # Errors
    /// [`StoreError::Read`], and [`StoreError::Damaged`] for a value that `take` refuses.
    pub fn each(
        &self,
        table: &str,
        mut take: impl FnMut(Box<str>) -> serde_json::Result<()>,
    ) -> Result<(), StoreError> {
        let Some(opened) = self.table(table)? else { return Ok(()) };
        for pair in opened.iter().map_err(StoreError::read)? {
            let (key, value) = pair.map_err(StoreError::read)?;
            let text = std::str::from_utf8(value.value()).map_err(serde::de::Error::custom);
            text.and_then(|text| take(text.into())).map_err(|source| StoreError::Damaged {
                table: table.to_owned(),
                key: key.value().to_owned(),
                source,
            })?;
        }
        Ok(())
    }

    /// A table, which is absent until something is written to it.
    fn table(&self, name: &str) -> Result<Option<Opened>, StoreError> {
        let reading = self.database.begin_read().map_err(StoreError::read)?;
        match reading.open_table(Definition::new(name)) {
            Ok(table) => Ok(Some(table)),
            Err(TableError::TableDoesNotExist(_)) => Ok(None),
            Err(error) => Err(StoreError::read(error)),
        }
    }

    /// Ends the writer after the queued writes. The file is free once the store is dropped too.
    pub fn close(&self) {
        let mut queue = locked(&self.queue);
        queue.sender = None;
        drop(queue);
        let mut writer = locked(&self.writer);
        if let Some(writer) = writer.take() {
            // A panic of the thread was already reported, and nothing remains to end.
            let _ = writer.join();
        }
    }
}

impl Drop for Store {
    fn drop(&mut self) {
        self.close();
    }
}

fn builder() -> redb::Builder {
    let mut builder = redb::Builder::new();
    builder.set_cache_size(CACHE);
    builder
}

fn create(path: &Path) -> Result<Database, StoreError> {
    let failed = |source| match source {
        redb::DatabaseError::DatabaseAlreadyOpen => StoreError::InUse(path.to_owned()),
        source => StoreError::Open { path: path.to_owned(), source },
    };
    crate::file::open_private(path, |file| builder().create_file(file).map_err(failed))
}

fn read<T: DeserializeOwned>(table: &str, key: String, bytes: &[u8]) -> Result<T, StoreError> {
    serde_json::from_slice(bytes).map_err(|source| StoreError::Damaged { table: table.to_owned(), key, source })
}

fn write(database: &Database, queue: &mpsc::Receiver<(Ticket, Batch)>, report: &watch::Sender<Progress>) {
    let mut batches = Vec::new();
    while let Ok((ticket, batch)) = queue.recv() {
        let mut last = ticket;
        batches.push(batch);
        while batches.len() < FLUSH
            && let Ok((ticket, batch)) = queue.try_recv()
        {
            last = ticket;
            batches.push(batch);
        }
        match flush(database, &mut batches) {
            Ok(()) => drop(report.send_replace(Ok(last))),
            Err(error) => return drop(report.send_replace(Err(error.to_string()))),
        }
    }
}

fn flush(database: &Database, batches: &mut Vec<Batch>) -> Result<(), redb::Error> {
    let writing = database.begin_write()?;
    let mut changes: Vec<_> = batches.drain(..).flat_map(|batch| batch.changes).collect();
    // Stable: the last change of a key stays the last.
    changes.sort_by_key(|change| change.table);
    for of_table in changes.chunk_by(|one, other| one.table == other.table) {
        let mut table = writing.open_table(Definition::new(of_table[0].table))?;
        for change in of_table {
            match &change.value {
                Some(value) => table.insert(change.key.as_str(), value.as_slice())?,
                None => table.remove(change.key.as_str())?,
            };
        }
    }
    writing.commit()?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one(key: &str, value: &str) -> Batch {
        let mut batch = Batch::default();
        batch.put("things", key, value);
        batch
    }

    #[tokio::test]
    async fn a_durable_write_is_read_after_the_file_was_opened_again() {
        let directory = tempfile::tempdir().unwrap();
        let storage = Storage::File(directory.path().join("tenant.redb"));
        let store = Store::open(&storage).unwrap();
        store.write(one("a", "1"));
        let ticket = store.write(one("b", "2"));
        store.durable(ticket).await.unwrap();
        drop(store);

        let store = Store::open(&storage).unwrap();
        assert_eq!(store.get("things", "a").unwrap().as_deref(), Some(&b"1"[..]));
        let things = store.scan("things").unwrap();
        assert_eq!(things.iter().map(|(key, _)| key.as_str()).collect::<Vec<_>>(), ["a", "b"]);
        assert!(store.scan("nothing").unwrap().is_empty());
    }

    #[tokio::test]
    async fn a_removed_key_is_gone() {
        let store = Store::open(&Storage::Memory).unwrap();
        store.write(one("a", "1"));
        let mut batch = Batch::default();
        batch.remove("things", "a");
        batch.remove("things", "never");
        let ticket = store.write(batch);
        store.durable(ticket).await.unwrap();
        assert_eq!(store.get("things", "a").unwrap(), None);
    }

    #[test]
    fn a_second_open_of_a_file_says_who_has_it() {
        let directory = tempfile::tempdir().unwrap();
        let storage = Storage::File(directory.path().join("tenant.redb"));
        let _first = Store::open(&storage).unwrap();
        let message = Store::open(&storage).unwrap_err().to_string();
        assert!(message.contains("already used by another sandbox process"), "{message}");
    }

    #[test]
    fn a_file_of_something_else_is_refused() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("notes.txt");
        std::fs::write(&path, "these are my notes, at some length").unwrap();
        let error = Store::open(&Storage::File(path)).unwrap_err();
        assert!(matches!(error, StoreError::Open { .. }), "{error:?}");
    }

    #[tokio::test]
    async fn every_value_is_passed_once_and_in_the_order_of_the_keys() {
        let store = Store::open(&Storage::Memory).unwrap();
        let mut batch = Batch::default();
        let mut keys = ["a/x", "a/y", "a-b/x", "a", "a/x/y", "a0", "b/", "/c", "", "b/z", "é/1", "é/2"];
        keys.iter().for_each(|key| batch.put_json("things", *key, key));
        store.durable(store.write(batch)).await.unwrap();
        let mut taken: Vec<String> = Vec::new();
        store.each("things", |text| serde_json::from_str(&text).map(|key| taken.push(key))).unwrap();
        keys.sort_unstable();
        assert_eq!(taken, keys);
        let error = store.each("things", |_| serde_json::from_str("1 2")).unwrap_err();
        assert!(matches!(error, StoreError::Damaged { .. }), "{error:?}");
    }

    #[tokio::test]
    async fn a_closed_store_acknowledges_nothing() {
        let store = Store::open(&Storage::Memory).unwrap();
        store.close();
        let ticket = store.write(one("a", "1"));
        assert!(store.durable(ticket).await.is_err());
    }
}
