//! The requests of the sandbox and their effects, in the order of the answers. Tests compare it with the client's
//! journal, so it shows for each request whether a write took effect, even if the client got no answer.

use std::collections::VecDeque;
use std::fs::File;
use std::io::Write as _;
use std::path::Path;
use std::sync::Mutex;

use serde::Serialize;

use crate::file::{self, FileError};
use crate::model::share::locked;

/// The most bytes of each text of a request that are stored.
const LONGEST_TEXT: usize = 2_048;

/// One request.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct LogEntry {
    /// Counts from 1 in each run of the sandbox.
    pub sequence: u64,
    /// RFC 3339, when the request had been read.
    pub time: String,
    /// The HTTP method.
    pub method: String,
    /// The path, with its query.
    pub path: String,
    /// Such as `endpoint-create`; empty for a path that the service does not know.
    pub operation: &'static str,
    /// The namespace in the path; empty if the path has none.
    pub namespace: String,
    /// The object; empty if the request has none.
    pub name: String,
    /// The `x-request-id` of the request.
    pub request_id: Option<String>,
    /// The `traceparent` of the request.
    pub traceparent: Option<String>,
    /// The `tracestate` of the request.
    pub tracestate: Option<String>,
    /// The HTTP status; null if the connection was closed before one was sent.
    pub status: Option<u16>,
    /// The root `resource_version` of a replace.
    pub version_sent: Option<String>,
    /// The version of the object after a write that took effect; for a delete, the version that it removed.
    pub version: Option<String>,
    /// Whether the request changed stored data.
    pub effect: RequestEffect,
    /// The fault action that was applied to the request.
    pub fault: Option<&'static str>,
}

/// Whether a request changed stored data.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum RequestEffect {
    /// It did not.
    #[default]
    None,
    /// It did.
    Done,
}

/// What a handler reports about its request, in the extensions of the response.
#[derive(Clone, Debug, Default)]
pub struct Trace {
    /// The name of the object in the body, if the path does not contain it.
    pub name: Option<String>,
    pub version_sent: Option<String>,
    pub version: Option<String>,
    pub effect: RequestEffect,
}

impl Trace {
    /// The trace of a request that took effect.
    pub fn done() -> Self {
        Self { effect: RequestEffect::Done, ..Self::default() }
    }
}

/// The bounded log in memory, and the log file.
#[derive(Debug)]
pub struct Log(Mutex<LogState>);

#[derive(Debug)]
struct LogState {
    entries: VecDeque<LogEntry>,
    size: usize,
    sequence: u64,
    file: Option<File>,
    largest_file: u64,
}

fn shorten(text: &mut String) {
    if text.len() > LONGEST_TEXT {
        let end = (0..=LONGEST_TEXT).rev().find(|end| text.is_char_boundary(*end)).unwrap_or_default();
        text.truncate(end);
        text.push('…');
    }
}

impl Log {
    /// A log of `size` requests in memory, and a file that restarts after `largest_file` bytes.
    pub fn open(size: usize, file: Option<&Path>, largest_file: u64) -> Result<Self, FileError> {
        let file = file.map(file::append_private).transpose()?;
        Ok(Self(Mutex::new(LogState { entries: VecDeque::new(), size, sequence: 0, file, largest_file })))
    }

    /// Numbers the entry and stores it.
    pub fn add(&self, mut entry: LogEntry) {
        let texts = [&mut entry.method, &mut entry.path, &mut entry.namespace, &mut entry.name];
        let traces = [&mut entry.traceparent, &mut entry.tracestate];
        let sent = [&mut entry.version_sent, &mut entry.request_id].into_iter().chain(traces);
        texts.into_iter().chain(sent.flatten()).for_each(shorten);
        let mut state = locked(&self.0);
        let largest_file = state.largest_file;
        state.sequence += 1;
        entry.sequence = state.sequence;
        if let Some(file) = &mut state.file
            && let Ok(mut line) = serde_json::to_vec(&entry)
        {
            line.push(b'\n');
            if file.metadata().is_ok_and(|metadata| metadata.len() >= largest_file) {
                let _ = file.set_len(0);
            }
            // One write per line, so that a killed sandbox leaves whole lines. The store reports a full disk, so the
            // log does not.
            let _ = file.write_all(&line);
        }
        if state.entries.len() >= state.size {
            state.entries.pop_front();
        }
        if state.size > 0 {
            state.entries.push_back(entry);
        }
    }

    /// The stored entries, oldest first.
    pub fn entries(&self) -> Vec<LogEntry> {
        let state = locked(&self.0);
        state.entries.iter().cloned().collect()
    }
}
