//! A run in a bucket. Objects cannot grow, so each flush writes a new numbered object that is never replaced. Reading a
//! run joins the objects in order; a missing number is an error. When a run has ended it is stored once more as a
//! single object, which later commands read.

use std::path::Path;
use std::sync::Arc;

use super::{JournalError, RUNS, lock};
use crate::model::RunId;
use crate::run::RunHeader;
use crate::state::{Bucket, Holder, Lease, LeaseTiming};

/// In bytes. A longer run is not stored as a single object; its parts stay.
const LONGEST_WHOLE: usize = 64 * 1024 * 1024;

/// The object of a run that has ended.
pub(super) fn whole(run: &str) -> String {
    format!("{RUNS}/{run}.jsonl")
}

fn folder(run: &str) -> String {
    format!("{RUNS}/{run}")
}

fn part(run: &str, number: usize) -> String {
    format!("{RUNS}/{run}/{number:08}.jsonl")
}

/// The first line of a run, or `None` if the run does not exist.
pub(super) fn header(bucket: &Bucket, run: &str) -> Result<Option<Vec<u8>>, JournalError> {
    let found = match bucket.read(&part(run, 0))? {
        None => bucket.read(&whole(run))?,
        found => found,
    };
    let first = |bytes: &[u8]| bytes.split(|byte| *byte == b'\n').next().map(<[u8]>::to_vec);
    Ok(found.and_then(|object| first(&object.bytes)))
}

/// The lines of a run, or `None` if the run does not exist.
pub(super) fn read(bucket: &Bucket, path: &Path, run: &str) -> Result<Option<Vec<u8>>, JournalError> {
    let find = || match bucket.read(&whole(run))? {
        Some(object) => Ok(Some(object.bytes.into())),
        None => parts(bucket, path, run),
    };
    let found = match find() {
        // Another process may have stored the whole run meanwhile and removed its parts.
        Ok(None) | Err(JournalError::Gap { .. }) => find()?,
        found => found?,
    };
    match found {
        Some(bytes) => lines(path, bytes).map(Some),
        // A run that another process removed is not listed any more.
        None if bucket.names(RUNS)?.contains(&format!("{run}.jsonl")) => Err(JournalError::Withheld(path.to_owned())),
        None => Ok(None),
    }
}

/// Checks that the lines of a run end with a line break: objects appear as a whole, so a kill cannot cut a line off.
pub(super) fn lines(path: &Path, bytes: Vec<u8>) -> Result<Vec<u8>, JournalError> {
    if bytes.ends_with(b"\n") {
        return Ok(bytes);
    }
    let line = bytes.split(|byte| *byte == b'\n').count();
    Err(JournalError::Damaged { path: path.to_owned(), line, reason: "it is cut off".to_owned() })
}

fn parts(bucket: &Bucket, path: &Path, run: &str) -> Result<Option<Vec<u8>>, JournalError> {
    let names = bucket.names(&folder(run))?;
    if names.is_empty() {
        return Ok(None);
    }
    let gap = |number| JournalError::Gap { path: path.to_owned(), part: format!("{number:08}.jsonl") };
    let expected: Vec<String> = (0..names.len()).map(|number| part(run, number)).collect();
    for (number, (name, expected)) in names.iter().zip(&expected).enumerate() {
        if expected.rsplit('/').next() != Some(name) {
            return Err(gap(number));
        }
    }
    let mut bytes = Vec::new();
    for (number, object) in bucket.read_many(expected)?.into_iter().enumerate() {
        bytes.extend_from_slice(&object?.ok_or_else(|| gap(number))?.bytes);
    }
    Ok(Some(bytes))
}

/// Removes the remaining parts of a run.
pub(super) fn remove_parts(bucket: &Bucket, run: &str) -> Result<(), JournalError> {
    let names = bucket.names(&folder(run))?;
    // The first part is removed last: an interrupted removal leaves a run without its end.
    let parts = names.iter().rev().map(|name| format!("{}/{name}", folder(run)));
    Ok(bucket.remove(parts.collect())?)
}

/// Writes the parts of a run while it has the lock of its stack.
pub(super) struct ObjectRun {
    bucket: Bucket,
    run: RunId,
    next: usize,
    /// All lines so far, while they are few enough.
    whole: Option<Vec<u8>>,
    pub(super) lease: Arc<Lease>,
}

impl ObjectRun {
    /// Takes the lock. Nothing is written yet.
    pub(super) fn begin(
        (bucket, timing): (&Bucket, LeaseTiming),
        header: &RunHeader,
        host: Option<&str>,
        waiting: &dyn Fn(&str),
    ) -> Result<Self, JournalError> {
        bucket.check_conditions()?;
        let holder = Holder {
            run: header.run.to_string(),
            what: lock::protected(header),
            host: host.map(str::to_owned),
            user: header.user.clone(),
            taken: header.started.clone(),
        };
        let name = format!("{}/{}.json", super::LOCKS, lock::name(header));
        let lease = Lease::take(bucket, &name, holder, timing, &|holder, lasts| {
            waiting(&format!(
                "{} is locked by {holder}; waiting up to {} s to see whether that run is alive",
                holder.what,
                lasts.as_secs().max(1)
            ));
        })?;
        let (run, whole) = (header.run.clone(), Some(Vec::new()));
        Ok(Self { bucket: bucket.clone(), run, next: 0, whole, lease: Arc::new(lease) })
    }

    /// Stores lines as the next part.
    pub(super) fn put(&mut self, lines: Vec<u8>) -> Result<(), JournalError> {
        self.whole = self.whole.take().filter(|whole| whole.len() + lines.len() <= LONGEST_WHOLE).map(|mut whole| {
            whole.extend_from_slice(&lines);
            whole
        });
        let name = part(self.run.as_str(), self.next);
        let written = self.bucket.write(&name, lines, None)?;
        written.ok_or_else(|| JournalError::Taken(self.bucket.place(&name).into()))?;
        self.next += 1;
        Ok(())
    }

    /// Stores lines if this run still has the lock; the error is a fragment for a message.
    pub(super) fn write(&mut self, lines: Vec<u8>) -> Result<(), String> {
        self.lease.ensure()?;
        self.put(lines).map_err(|error| error.to_string())?;
        // The lock may have expired during a long wait for the store.
        self.lease.ensure()
    }

    /// Stores an ended run as a single object. If that fails, its parts stay, which have the same content.
    pub(super) fn end(self) {
        let Some(bytes) = self.whole else { return };
        let (run, parts) = (self.run.as_str(), self.next);
        if let Ok(Some(_)) = self.bucket.write(&whole(run), bytes, None) {
            let _ = self.bucket.remove((0..parts).rev().map(|number| part(run, number)).collect());
        }
    }
}
