//! Writes the journal of a run on a thread of its own. Intents of several changes share one flush, and a write
//! is sent only after its intent is on disk, or in the bucket.

use std::borrow::Cow;
use std::fs::File;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use serde::Serialize as _;
use tokio::sync::oneshot;

use super::lock::Lock;
use super::objects::ObjectRun;
use super::{FORMAT, JournalError, Line, RUNS, search, stored};
use crate::file::{Directory, FileError};
use crate::model::share::locked;
use crate::run::{ChangeStep, Intent, RunClosing, RunHeader, RunRecorder, Urgency};
use crate::state::{Lease, StateStore};

/// The longest time that a batched intent waits for others to share its flush.
const GATHERED_FOR: Duration = Duration::from_millis(5);
/// How long results wait for an intent to share its object in a bucket: each object is a request.
const RESULTS_GATHERED_FOR: Duration = Duration::from_millis(500);

/// The journal of a run in progress. Dropping it waits until everything is written.
#[derive(Debug)]
pub struct Journal {
    path: PathBuf,
    queue: Arc<Queue>,
    writer: Option<JoinHandle<()>>,
    /// The lock of the stack in a bucket, where it can be lost.
    lease: Option<Arc<Lease>>,
}

/// A journal that can no longer be written.
#[derive(Debug, Clone, thiserror::Error)]
#[error("cannot write `{}`: {reason}", path.display())]
pub struct RecordError {
    path: PathBuf,
    reason: String,
}

type Notified = oneshot::Sender<Result<(), RecordError>>;

/// Lines on their way to the disk.
#[derive(Debug, Default)]
struct Queue {
    state: Mutex<QueueState>,
    /// Notified when lines are added to an empty queue, or become urgent.
    ready: Condvar,
    /// How long lines wait if no caller waits for them.
    results_gathered_for: Duration,
}

#[derive(Debug, Default)]
struct QueueState {
    lines: Vec<u8>,
    /// Notified when the lines are on disk.
    waiting: Vec<Notified>,
    /// Whether a waiting line is urgent.
    urgent: bool,
    /// The closing line is stored.
    closed: bool,
    ended: bool,
    failed: Option<RecordError>,
}

impl Journal {
    /// Begins the journal of a run: takes the lock of its stack and service, and writes the header. `host` is this
    /// machine in the message of a runner that finds the lock taken; `waiting` is called when this run has to wait.
    ///
    /// # Errors
    /// [`JournalError::Locked`] and [`JournalError::Lease`] if another run of the stack is in progress; the medium.
    pub fn begin(
        state: &StateStore,
        header: &RunHeader,
        host: Option<&str>,
        waiting: &dyn Fn(&str),
    ) -> Result<Self, JournalError> {
        let path = stored::path(state, &header.run);
        let mut first = Vec::new();
        put(&mut first, &Line::Header { format_version: *FORMAT.versions.end(), header: Cow::Borrowed(header) })
            .map_err(FileError::io("write", &path))?;
        let written = first.len() as u64;
        let medium = match state {
            StateStore::Directory(place) => {
                let lock = Lock::take(place, header)?;
                search::check_order(state, header)?;
                let directory = Directory::private(place, RUNS)?;
                let name = format!("{}.jsonl", header.run);
                let mut file = directory.append_new(&name)?;
                if let Err(error) = file.write_all(&first).and_then(|()| file.sync_all()) {
                    // Nothing was sent, so the file must not count as a run.
                    let _ = directory.remove(Path::new(&name));
                    return Err(FileError::io("write", &path)(error).into());
                }
                // A new file's name is on disk only after its directory is flushed.
                directory.flush()?;
                Medium::File(file, lock)
            }
            StateStore::Bucket(bucket, timing) => {
                let mut run = ObjectRun::begin((bucket, *timing), header, host, waiting)?;
                search::check_order(state, header)?;
                run.put(first)?;
                Medium::Objects(run)
            }
        };
        let (lease, results_gathered_for) = match &medium {
            Medium::File(..) => (None, Duration::ZERO),
            Medium::Objects(run) => (Some(Arc::clone(&run.lease)), RESULTS_GATHERED_FOR),
        };
        let queue = Arc::new(Queue { results_gathered_for, ..Queue::default() });
        let writing = LineWriter { medium, written, path: path.clone(), queue: Arc::clone(&queue) };
        let writer = std::thread::Builder::new()
            .name("journal".to_owned())
            .spawn(move || writing.run())
            .map_err(FileError::io("start the writer of", &path))?;
        Ok(Self { path, queue, writer: Some(writer), lease })
    }

    /// The error that made the journal incomplete, if any.
    pub fn failure(&self) -> Option<RecordError> {
        locked(&self.queue.state).failed.clone()
    }

    /// Whether the file was removed, replaced or truncated, so that the run cannot be shown, resumed or rolled back.
    pub fn is_removed(&self) -> bool {
        self.failure().is_some_and(|error| error.reason == REMOVED)
    }

    fn add(&self, entry: &Line<'_>, urgency: Urgency, notified: Option<Notified>) -> Result<(), RecordError> {
        let mut state = locked(&self.queue.state);
        if let Some(error) = &state.failed {
            return Err(error.clone());
        }
        let before = state.lines.len();
        if let Err(error) = put(&mut state.lines, entry) {
            state.lines.truncate(before);
            return Err(self.error(&error.to_string()));
        }
        let is_first = notified.is_some() && state.waiting.is_empty();
        state.waiting.extend(notified);
        let hurries = urgency == Urgency::Immediate && !std::mem::replace(&mut state.urgent, true);
        // Otherwise the writer wakes by itself shortly after the first line.
        if before == 0 || hurries || is_first {
            self.queue.ready.notify_one();
        }
        Ok(())
    }

    async fn flush(&self, entry: Line<'_>, urgency: Urgency) -> Result<(), RecordError> {
        let (notify, on_disk) = oneshot::channel();
        self.add(&entry, urgency, Some(notify))?;
        on_disk.await.unwrap_or_else(|_| Err(self.error("its writer ended")))
    }

    fn error(&self, reason: &str) -> RecordError {
        RecordError { path: self.path.clone(), reason: reason.to_owned() }
    }
}

impl RunRecorder for Journal {
    type Error = RecordError;

    async fn intent(&self, intent: &Intent, urgency: Urgency) -> Result<(), RecordError> {
        self.flush(Line::Intent(Cow::Borrowed(intent)), urgency).await
    }

    async fn outcome(&self, step: &ChangeStep) -> Result<(), RecordError> {
        self.add(&Line::Outcome(Cow::Borrowed(step)), Urgency::Batched, None)
    }

    async fn close(&self, closing: RunClosing) -> Result<(), RecordError> {
        self.flush(Line::Closing(Cow::Owned(closing)), Urgency::Immediate).await?;
        locked(&self.queue.state).closed = true;
        Ok(())
    }

    fn permits(&self) -> Result<(), RecordError> {
        self.lease.as_ref().map_or(Ok(()), |lease| lease.check()).map_err(|reason| self.error(&reason))
    }
}

impl Drop for Journal {
    fn drop(&mut self) {
        locked(&self.queue.state).ended = true;
        self.queue.ready.notify_one();
        if let Some(writer) = self.writer.take() {
            // A writer that panicked has nothing left to write.
            let _ = writer.join();
        }
    }
}

impl Queue {
    /// The next lines to write and the callers to notify; `None` at the end.
    fn next(&self) -> Option<(Vec<u8>, Vec<Notified>)> {
        let mut state = locked(&self.state);
        while state.lines.is_empty() && !state.ended {
            state = self.ready.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        let begun = Instant::now();
        while !(state.urgent || state.ended) {
            let gathered_for = match state.waiting.is_empty() {
                true => self.results_gathered_for,
                false => GATHERED_FOR,
            };
            let Some(left) = gathered_for.checked_sub(begun.elapsed()).filter(|left| !left.is_zero()) else { break };
            state = self.ready.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0;
        }
        state.urgent = false;
        let next = (std::mem::take(&mut state.lines), std::mem::take(&mut state.waiting));
        (!next.0.is_empty()).then_some(next)
    }
}

/// The destination of the lines, with the lock of the stack.
enum Medium {
    File(File, #[expect(dead_code, reason = "held, not read")] Lock),
    Objects(ObjectRun),
}

/// The writer's side: all lines that wait when a flush begins share it.
struct LineWriter {
    medium: Medium,
    /// The bytes that its file has.
    written: u64,
    path: PathBuf,
    queue: Arc<Queue>,
}

impl LineWriter {
    fn run(mut self) {
        while let Some((lines, waiting)) = self.queue.next() {
            let result = self.write(lines, !waiting.is_empty());
            for entry in waiting {
                // The caller may have ended with its run.
                let _ = entry.send(result.clone());
            }
        }
        if let Medium::Objects(run) = self.medium
            && locked(&self.queue.state).closed
        {
            run.end();
        }
    }

    /// Writes lines, and fails if the file was removed, replaced or truncated: such a file still accepts lines, but they
    /// are lost.
    fn write(&mut self, lines: Vec<u8>, flush: bool) -> Result<(), RecordError> {
        if let Some(error) = locked(&self.queue.state).failed.clone() {
            return Err(error);
        }
        // Nothing is locked here: lines are added meanwhile without waiting for the disk.
        let written = match &mut self.medium {
            Medium::File(file, _) => {
                self.written += lines.len() as u64;
                let written = file.write_all(&lines);
                let written = written.and_then(|()| if flush { file.sync_data() } else { Ok(()) });
                let written = written.map_err(|error| error.to_string());
                let is_lost = || flush && is_removed(&self.path, self.written);
                written.and_then(|()| if is_lost() { Err(REMOVED.to_owned()) } else { Ok(()) })
            }
            Medium::Objects(run) => run.write(lines),
        };
        written.map_err(|reason| {
            // After a failed flush it is unknown what is stored: nothing more is written.
            let error = RecordError { path: self.path.clone(), reason };
            locked(&self.queue.state).failed.insert(error).clone()
        })
    }
}

/// The reason for a record that is no longer complete.
const REMOVED: &str = "it was removed, replaced or truncated during the run";

/// Whether the path has no file, or one that is shorter than what was written.
fn is_removed(path: &Path, written: u64) -> bool {
    match path.metadata() {
        Ok(found) => found.len() < written,
        Err(error) => error.kind() == io::ErrorKind::NotFound,
    }
}

fn put(lines: &mut Vec<u8>, entry: &Line<'_>) -> io::Result<()> {
    entry.serialize(&mut serde_json::Serializer::new(&mut *lines))?;
    lines.push(b'\n');
    Ok(())
}
