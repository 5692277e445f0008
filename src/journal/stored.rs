//! The runs of a state store by their paths: `runs/RUN.jsonl` is a file of a directory; in a bucket it is one object
//! or, until the run has ended, the objects below `runs/RUN`.

use std::io::ErrorKind::NotFound;
use std::io::{BufRead as _, BufReader, Read as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use jiff::Timestamp;

use super::lock::Lock;
use super::{JournalError, LOCKS, RUNS, objects};
use crate::file::{Directory, limit, open_own, read_own};
use crate::model::RunId;
use crate::run::RunHeader;
use crate::state::{self, Holder, StateStore};

/// The ending of a run's path.
const ENDING: &str = "jsonl";

/// The first line of a run, or `None` if it cannot be read.
pub(super) fn first_line(state: &StateStore, path: &Path) -> Option<Vec<u8>> {
    match state {
        StateStore::Directory(_) => {
            let mut line = Vec::new();
            let file = BufReader::new(open_own(path).ok()?);
            file.take(limit::JOURNAL).read_until(b'\n', &mut line).ok()?;
            Some(line)
        }
        StateStore::Bucket(bucket, _) => objects::header(bucket, name(path)).ok()?,
    }
}

/// The bytes of a run that is listed.
pub(super) fn bytes(state: &StateStore, path: &Path) -> Result<Vec<u8>, JournalError> {
    find(state, path)?.ok_or_else(|| JournalError::NoHeader(path.to_owned()))
}

pub(super) fn path(state: &StateStore, run: &RunId) -> PathBuf {
    state.place().join(RUNS).join(format!("{run}.{ENDING}"))
}

/// The run at a path; `None` if the file name is not a run id.
pub(super) fn run(path: &Path) -> Option<RunId> {
    RunId::new(name(path))
}

fn name(path: &Path) -> &str {
    path.file_stem().and_then(|name| name.to_str()).unwrap_or_default()
}

/// The paths of all runs, in the order of their names.
pub(super) fn files(state: &StateStore) -> Result<Vec<PathBuf>, JournalError> {
    let runs = state.place().join(RUNS);
    let mut paths: Vec<PathBuf> = match state {
        StateStore::Directory(place) => {
            let Some(directory) = Directory::find_private(place, RUNS)? else { return Ok(Vec::new()) };
            directory.names()?.into_iter().map(|name| runs.join(name)).collect()
        }
        StateStore::Bucket(bucket, _) => {
            let names = bucket.names(RUNS)?;
            let stems = names.iter().map(|name| name.strip_suffix(".jsonl").unwrap_or(name));
            let ids = stems.filter_map(RunId::new);
            ids.map(|run| path(state, &run)).collect()
        }
    };
    paths.retain(|path| path.extension().is_some_and(|extension| extension == ENDING));
    paths.sort();
    paths.dedup();
    Ok(paths)
}

/// The runs that may belong to a stack, by their names: the runs of other stacks, possibly thousands, are not opened.
pub(super) fn files_of(state: &StateStore, stack: Option<&str>) -> Result<Vec<PathBuf>, JournalError> {
    // A name of another form does not show its stack.
    let is_other = |path: &Path| run(path).and_then(|run| run.time()).is_none();
    let mut paths = files(state)?;
    paths.retain(|path| is_named_for(path, stack) || is_other(path));
    Ok(paths)
}

/// Whether a run may belong to this stack by its name, which has the stack between its time and its number.
pub(super) fn is_named_for(path: &Path, stack: Option<&str>) -> bool {
    const TIMES: [usize; 2] = ["2026-11-21T05-59-56".len(), "2026-11-21T05-59-56-789".len()];
    let before = name(path).rsplit_once('-').map_or("", |(before, _)| before);
    let time = before.strip_suffix(&format!("-{}", named_stack(stack)));
    time.is_some_and(|time| TIMES.contains(&time.len()))
}

/// The stack as the name of a run contains it.
pub(super) fn named_stack(stack: Option<&str>) -> String {
    stack.unwrap_or("run").chars().filter(|c| c.is_ascii_alphanumeric() || *c == '-').take(40).collect()
}

/// The time in the name of a new run: `now`, or just after the newest run if the clock was set back. Runs are ordered
/// by their names alone, so names must never go back in time.
///
/// # Errors
/// The directory cannot be read.
pub fn naming_time(state: &StateStore, now: Timestamp) -> Result<Timestamp, JournalError> {
    let names = files(state)?;
    let newest = names.iter().rev().find_map(|path| run(path)?.time());
    let after = newest.and_then(|newest| newest.checked_add(Duration::from_millis(1)).ok());
    Ok(after.map_or(now, |after| after.max(now)))
}

/// The name of a new run; `time` comes from [`naming_time`], so that names are in the order of the runs.
pub fn run_name(time: Timestamp, stack: Option<&str>, chance: u64) -> RunId {
    let time = time.strftime("%Y-%m-%dT%H-%M-%S-%3f").to_string();
    let text = format!("{time}-{}-{:04x}", named_stack(stack), chance & 0xffff);
    // Digits, letters and dashes of at most 70 characters: always an id.
    RunId::new(&text).unwrap_or_else(|| unreachable!("`{text}` is an id"))
}

/// The bytes of a run, or `None` if it does not exist.
pub(super) fn find(state: &StateStore, path: &Path) -> Result<Option<Vec<u8>>, JournalError> {
    match state {
        // A dangling symbolic link counts as an unreadable run, not as a missing one.
        StateStore::Directory(_) if path.symlink_metadata().is_err_and(|error| error.kind() == NotFound) => Ok(None),
        StateStore::Directory(_) => Ok(Some(read_own(path, limit::JOURNAL)?)),
        StateStore::Bucket(bucket, _) => objects::read(bucket, path, name(path)),
    }
}

/// The bytes of each run, in the order of `paths`.
pub(super) fn each(
    state: &StateStore,
    paths: Vec<PathBuf>,
    mut take: impl FnMut(PathBuf, Result<Vec<u8>, JournalError>),
) -> Result<(), JournalError> {
    /// How many runs are in memory at the same time.
    const TOGETHER: usize = 32;
    let StateStore::Bucket(bucket, _) = state else {
        paths.into_iter().for_each(|path| {
            let bytes = read_own(&path, limit::JOURNAL).map_err(JournalError::from);
            take(path, bytes);
        });
        return Ok(());
    };
    for paths in paths.chunks(TOGETHER) {
        let whole = bucket.read_many(paths.iter().map(|path| objects::whole(name(path))).collect())?;
        for (path, whole) in paths.iter().zip(whole) {
            let bytes = match whole {
                Ok(Some(object)) => objects::lines(path, object.bytes.into()),
                // Some stores still list the folder of a removed run.
                Ok(None) => match find(state, path).transpose() {
                    Some(bytes) => bytes,
                    None => continue,
                },
                Err(refused) => Err(refused.into()),
            };
            take(path.clone(), bytes);
        }
    }
    Ok(())
}

/// The bytes of each run of a stack whose first line fits or cannot be read, oldest first, or the error of reading it.
pub(super) fn each_of(
    state: &StateStore,
    stack: Option<&str>,
    fits: impl Fn(&[u8]) -> bool,
    mut take: impl FnMut(PathBuf, Result<Vec<u8>, JournalError>),
) -> Result<(), JournalError> {
    let files = files_of(state, stack)?;
    if let StateStore::Directory(_) = state {
        let files = files.into_iter().filter(|path| first_line(state, path).is_none_or(|line| fits(&line)));
        files.for_each(|path| {
            let bytes = bytes(state, &path);
            take(path, bytes);
        });
        return Ok(());
    }
    each(state, files, |path, bytes| {
        let first = bytes.as_ref().ok().and_then(|bytes| bytes.split(|byte| *byte == b'\n').next());
        if first.is_none_or(&fits) {
            take(path, bytes);
        }
    })
}

pub(super) fn remove(state: &StateStore, runs: &[RunId]) -> Result<(), JournalError> {
    match state {
        StateStore::Directory(place) => {
            let directory = Directory::find_private(place, RUNS)?;
            for (run, directory) in runs.iter().zip(directory.iter().cycle()) {
                match directory.remove(Path::new(&format!("{run}.{ENDING}"))) {
                    // Another call removed it.
                    Err(error) if error.is_missing() => {}
                    removed => removed?,
                }
            }
        }
        StateStore::Bucket(bucket, _) => {
            let names = bucket.names(RUNS)?;
            let is_there = |name: &str| names.binary_search_by(|there| there.as_str().cmp(name)).is_ok();
            for run in runs.iter().filter(|run| is_there(run.as_str())) {
                objects::remove_parts(bucket, run.as_str())?;
            }
            // Each ended run is one object, and one request removes many of them.
            let whole = runs.iter().map(|run| objects::whole(run.as_str()));
            bucket.remove(whole.collect())?;
        }
    }
    Ok(())
}

/// Releases the lock that a dead run left in a bucket. Returns its former holder, or `None` if the run has no lock. In
/// a directory the system has already released it.
///
/// # Errors
/// The store.
pub fn unlock(state: &StateStore, run: &RunId) -> Result<Option<Holder>, JournalError> {
    match state {
        StateStore::Directory(_) => Ok(None),
        StateStore::Bucket(bucket, _) => Ok(state::release(bucket, LOCKS, run.as_str())?),
    }
}

/// Takes and releases the lock of a run without a closing line, which proves that it is not in progress. `host` and
/// `waiting` as for [`super::Journal::begin`].
///
/// # Errors
/// The run, or another one of its stack, is in progress; the medium.
pub fn ensure_over(
    state: &StateStore,
    header: &RunHeader,
    host: Option<&str>,
    waiting: &dyn Fn(&str),
) -> Result<(), JournalError> {
    match state {
        StateStore::Directory(place) => Lock::take(place, header).map(drop),
        StateStore::Bucket(bucket, timing) => {
            objects::ObjectRun::begin((bucket, *timing), header, host, waiting).map(drop)
        }
    }
}
