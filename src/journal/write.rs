use std::fs::{DirBuilder, File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

use serde::Serialize as _;
use tokio::sync::oneshot;

use super::lock::Lock;
use super::{Entry, FORMAT_VERSION, JournalError, file, runs};
use crate::plan::{Closing, Header, Intent, Recorder, Step};

/// The journal of a run that goes on. Dropping it waits until everything is written.
#[derive(Debug)]
pub struct Journal {
    path: PathBuf,
    lines: Option<Sender<Job>>,
    failed: Arc<Mutex<Option<RecordError>>>,
    writer: Option<JoinHandle<()>>,
    _lock: Lock,
}

/// A journal that can no longer be written.
#[derive(Debug, Clone, thiserror::Error)]
#[error("cannot write `{}`: {reason}", path.display())]
pub struct RecordError {
    path: PathBuf,
    reason: String,
}

/// A line on its way to the disk.
#[derive(Debug)]
struct Job {
    line: Vec<u8>,
    /// Told when the line is on disk.
    flushed: Option<oneshot::Sender<Result<(), RecordError>>>,
}

impl Journal {
    /// Begins the journal of a run: takes the lock of its stack and service, and writes the header.
    ///
    /// # Errors
    /// [`JournalError::Locked`] where another run of the stack goes on; the medium.
    pub fn begin(state: &Path, header: &Header) -> Result<Self, JournalError> {
        private_directory(state)?;
        let lock = Lock::take(state, header)?;
        let directory = runs(state);
        private_directory(&directory)?;
        let path = file(state, &header.run);
        let mut options = OpenOptions::new();
        options.append(true).create_new(true).mode(0o600);
        let mut file = options.open(&path).map_err(JournalError::io("create", &path))?;
        let first = line(&Entry::Header { format_version: FORMAT_VERSION, header });
        first
            .and_then(|first| file.write_all(&first))
            .and_then(|()| file.sync_all())
            .map_err(JournalError::io("write", &path))?;
        // The name of a new file is on disk only when its directory is.
        File::open(&directory)
            .and_then(|directory| directory.sync_all())
            .map_err(JournalError::io("write", directory))?;
        let failed = Arc::default();
        let (lines, jobs) = mpsc::channel();
        let writing = Writing { file, path: path.clone(), failed: Arc::clone(&failed) };
        let writer = std::thread::Builder::new()
            .name("journal".to_owned())
            .spawn(move || writing.run(&jobs))
            .map_err(JournalError::io("start the writer of", &path))?;
        Ok(Self { path, lines: Some(lines), failed, writer: Some(writer), _lock: lock })
    }

    /// The file.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    fn send(
        &self,
        entry: &Entry<'_>,
        flushed: Option<oneshot::Sender<Result<(), RecordError>>>,
    ) -> Result<(), RecordError> {
        if let Some(error) = self.failed.lock().unwrap_or_else(PoisonError::into_inner).clone() {
            return Err(error);
        }
        let line = line(entry).map_err(|error| self.error(&error))?;
        let sent = self.lines.as_ref().is_some_and(|lines| lines.send(Job { line, flushed }).is_ok());
        if sent { Ok(()) } else { Err(self.gone()) }
    }

    async fn flush(&self, entry: Entry<'_>) -> Result<(), RecordError> {
        let (flushed, on_disk) = oneshot::channel();
        self.send(&entry, Some(flushed))?;
        on_disk.await.unwrap_or_else(|_| Err(self.gone()))
    }

    fn error(&self, error: &io::Error) -> RecordError {
        RecordError { path: self.path.clone(), reason: error.to_string() }
    }

    fn gone(&self) -> RecordError {
        RecordError { path: self.path.clone(), reason: "its writer ended".to_owned() }
    }
}

impl Recorder for Journal {
    type Error = RecordError;

    async fn intent(&self, intent: &Intent) -> Result<(), RecordError> {
        self.flush(Entry::Intent(intent)).await
    }

    async fn outcome(&self, step: &Step) -> Result<(), RecordError> {
        self.send(&Entry::Outcome(step), None)
    }

    async fn close(&self, closing: Closing) -> Result<(), RecordError> {
        self.flush(Entry::Closing(&closing)).await
    }
}

impl Drop for Journal {
    fn drop(&mut self) {
        self.lines = None;
        if let Some(writer) = self.writer.take() {
            // A writer that panicked has nothing left to wait for.
            let _ = writer.join();
        }
    }
}

/// The writer's side: whatever waits when a flush begins shares it.
struct Writing {
    file: File,
    path: PathBuf,
    failed: Arc<Mutex<Option<RecordError>>>,
}

impl Writing {
    fn run(mut self, jobs: &Receiver<Job>) {
        while let Ok(first) = jobs.recv() {
            let batch: Vec<Job> = std::iter::once(first).chain(jobs.try_iter()).collect();
            let result = self.write(&batch);
            for told in batch.into_iter().filter_map(|job| job.flushed) {
                // Whoever asked may have gone away with its run.
                let _ = told.send(result.clone());
            }
        }
    }

    fn write(&mut self, batch: &[Job]) -> Result<(), RecordError> {
        if let Some(error) = self.failed().clone() {
            return Err(error);
        }
        let lines: Vec<&[u8]> = batch.iter().map(|job| job.line.as_slice()).collect();
        let flush = batch.iter().any(|job| job.flushed.is_some());
        // Whoever sends a line meanwhile must not wait for the disk, so nothing is locked here.
        let written = self.file.write_all(&lines.concat());
        written.and_then(|()| if flush { self.file.sync_data() } else { Ok(()) }).map_err(|error| {
            // After a failed flush nobody knows what is on disk: nothing more is written.
            let error = RecordError { path: self.path.clone(), reason: error.to_string() };
            self.failed().insert(error).clone()
        })
    }

    fn failed(&self) -> MutexGuard<'_, Option<RecordError>> {
        self.failed.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn line(entry: &Entry<'_>) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::with_capacity(512);
    entry.serialize(&mut serde_json::Serializer::new(&mut bytes))?;
    bytes.push(b'\n');
    Ok(bytes)
}

/// Creates a directory that only its owner can enter, where it is not there yet.
pub(super) fn private_directory(path: &Path) -> Result<(), JournalError> {
    DirBuilder::new().recursive(true).mode(0o700).create(path).map_err(JournalError::io("create", path))
}
