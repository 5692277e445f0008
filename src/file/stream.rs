//! Standard input and pipes: read on a thread of their own, so that a pipe that never ends costs only a limited time.

use std::io::{IsTerminal as _, Read};
use std::path::Path;
use std::sync::mpsc;
use std::time::Duration;

use super::error::FileError;

/// How long a pipe may take to end.
const POLL_POLICY: Duration = Duration::from_mins(1);

/// Standard input to its end, at most `limit` bytes. Input from a terminal has no time limit.
///
/// # Errors
/// It is too large, does not end, or cannot be read.
pub fn stdin(limit: u64) -> Result<Vec<u8>, FileError> {
    let path = Path::new("stdin");
    if std::io::stdin().is_terminal() {
        whole(std::io::stdin(), path, limit)
    } else {
        read(std::io::stdin(), path, limit)
    }
}

/// The content of a pipe until it ends.
pub(super) fn read(from: impl Read + Send + 'static, path: &Path, limit: u64) -> Result<Vec<u8>, FileError> {
    read_within(POLL_POLICY, from, path, limit)
}

pub(super) fn read_within(
    poll_policy: Duration,
    from: impl Read + Send + 'static,
    path: &Path,
    limit: u64,
) -> Result<Vec<u8>, FileError> {
    let (done, result) = mpsc::channel();
    let name = path.to_owned();
    let reading = std::thread::Builder::new().name("pipe".to_owned()).spawn(move || {
        // The caller may have stopped waiting.
        let _ = done.send(whole(from, &name, limit));
    });
    reading.map_err(FileError::io("read", path))?;
    let too_slow = |_| FileError::TooSlow { path: path.to_owned(), seconds: poll_policy.as_secs() };
    result.recv_timeout(poll_policy).unwrap_or_else(|error| Err(too_slow(error)))
}

fn whole(from: impl Read, path: &Path, limit: u64) -> Result<Vec<u8>, FileError> {
    let mut bytes = Vec::new();
    from.take(limit + 1).read_to_end(&mut bytes).map_err(FileError::io("read", path))?;
    if bytes.len() as u64 > limit { Err(FileError::TooLarge { path: path.to_owned(), limit }) } else { Ok(bytes) }
}
