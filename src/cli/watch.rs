//! The files of a stack, watched: waits until one of them has changed. The directory is walked again and again, because
//! that needs nothing of the system and sees every kind of file system.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use walkdir::WalkDir;

/// The time between two looks.
const INTERVAL: Duration = Duration::from_millis(300);

/// Length and time of each file.
type Seen = BTreeMap<PathBuf, (u64, Option<SystemTime>)>;

/// Files that are watched.
pub struct WatchedFiles {
    root: PathBuf,
    also: Option<PathBuf>,
    seen: Seen,
}

impl WatchedFiles {
    /// The definitions and settings below `root`, as they are now, and one file more.
    pub fn new(root: &Path, also: Option<&Path>) -> Self {
        let (root, also) = (root.to_owned(), also.map(Path::to_owned));
        let seen = look(&root, also.as_deref());
        Self { root, also, seen }
    }

    /// Waits until something is other than at the last time. An editor writes in several steps, so it waits for the end
    /// of them.
    pub async fn changed(&mut self) {
        let mut before = None;
        loop {
            tokio::time::sleep(INTERVAL).await;
            let now = look(&self.root, self.also.as_deref());
            if before.as_ref() == Some(&now) {
                self.seen = now;
                return;
            }
            before = (now != self.seen).then_some(now);
        }
    }
}

fn look(root: &Path, also: Option<&Path>) -> Seen {
    let hidden =
        |entry: &walkdir::DirEntry| entry.depth() > 0 && entry.file_name().as_encoded_bytes().starts_with(b".");
    let is_source = |path: &Path| {
        path.extension().is_some_and(|extension| extension == "yaml" || extension == "yml" || extension == "json")
    };
    // What cannot be read now is reported by the next load.
    let below = WalkDir::new(root).into_iter().filter_entry(|entry| !hidden(entry)).filter_map(Result::ok);
    let paths = below.map(walkdir::DirEntry::into_path).filter(|path| is_source(path));
    let facts = |path: PathBuf| {
        let metadata = path.metadata().ok()?;
        Some((path, (metadata.len(), metadata.modified().ok())))
    };
    paths.chain(also.map(Path::to_owned)).filter_map(facts).collect()
}
