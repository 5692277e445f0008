//! Reads a journal back into the record of a run. A line at the end that a kill cut off is ignored; any other damage is
//! an error.

use std::collections::BTreeSet;
use std::path::Path;

use serde_json::error::Category;

use super::{FORMAT, JournalError, Line, stored};
use crate::model::{Json, RunId};
use crate::run::{RunClosing, RunEntry, RunHeader, RunRecord};
use crate::state::StateStore;

/// Reads a run with the entries of the runs that it resumed, oldest first.
///
/// # Errors
/// The medium; those of [`parse`]; [`JournalError::NoRun`], [`JournalError::NoResumed`].
pub fn load(state: &StateStore, run: &RunId) -> Result<RunRecord, JournalError> {
    match load_present(state, run)? {
        (record, None) => Ok(record),
        (record, Some(resumed)) => Err(JournalError::NoResumed { run: record.header.run, resumed }),
    }
}

/// Like [`load`], but stops at a resumed run that is missing, and returns its id.
///
/// # Errors
/// The medium; those of [`parse`]; [`JournalError::NoRun`].
pub fn load_present(state: &StateStore, run: &RunId) -> Result<(RunRecord, Option<RunId>), JournalError> {
    let missing = || JournalError::NoRun { run: run.to_string(), state: state.place() };
    let mut record = one(state, run)?.ok_or_else(missing)?;
    let mut seen = BTreeSet::from([run.clone()]);
    let mut entries = vec![std::mem::take(&mut record.entries)];
    let mut earlier = record.header.resumes.clone();
    let mut absent = None;
    while let Some(run) = earlier {
        if !seen.insert(run.clone()) {
            return Err(JournalError::Circle(run.to_string()));
        }
        let Some(before) = one(state, &run)? else {
            absent = Some(run);
            break;
        };
        entries.push(before.entries);
        earlier = before.header.resumes;
    }
    record.entries = entries.into_iter().rev().flatten().collect();
    Ok((record, absent))
}

fn one(state: &StateStore, run: &RunId) -> Result<Option<RunRecord>, JournalError> {
    let path = stored::path(state, run);
    stored::find(state, &path)?.map(|bytes| parse(&path, &bytes)).transpose()
}

/// Reads the bytes of a run's file; `path` appears in errors. The end that a kill leaves (a cut-off line, or blocks
/// that were never filled) is ignored.
///
/// # Errors
/// A file without a header; a damaged line before a good one.
pub fn parse(path: &Path, bytes: &[u8]) -> Result<RunRecord, JournalError> {
    let mut header: Option<RunHeader> = None;
    let mut entries = Vec::new();
    let mut closing: Option<RunClosing> = None;
    let mut bad: Option<(usize, String)> = None;
    let damaged = |(at, reason)| JournalError::Damaged { path: path.to_owned(), line: at + 1, reason };
    for (at, text) in bytes.split(|byte| *byte == b'\n').enumerate().filter(|(_, text)| !text.is_empty()) {
        // A kill can cut off only the last line.
        if let Some(bad) = bad {
            return Err(damaged(bad));
        }
        let line = match serde_json::from_slice::<Line<'_>>(text) {
            Ok(line) => line,
            Err(error) => {
                check_format(path, text)?;
                // Complete JSON with other content was not cut off by a kill.
                if error.classify() == Category::Data {
                    return Err(damaged((at, error.to_string())));
                }
                bad = Some((at, error.to_string()));
                continue;
            }
        };
        match line {
            Line::Header { format_version, header: first } if header.is_none() => {
                check_version(path, format_version.into())?;
                let mut first = first.into_owned();
                first.plan.forget_causes_of_undone();
                header = Some(first);
            }
            Line::Header { .. } => return Err(damaged((at, "a second header".to_owned()))),
            _ if header.is_none() => return Err(damaged((at, "it stands before the header".to_owned()))),
            _ if closing.is_some() => return Err(damaged((at, "it stands behind the closing line".to_owned()))),
            Line::Intent(intent) => entries.push(RunEntry::Intent(intent.into_owned())),
            Line::Outcome(step) => entries.push(RunEntry::Outcome(step.into_owned())),
            Line::Closing(line) => closing = Some(line.into_owned()),
        }
    }
    let header = header.ok_or_else(|| match bad {
        // A cut-off header begins like a header and has no line break at its end.
        Some(bad) if bytes.ends_with(b"\n") || !begins_as_header(bytes) => damaged(bad),
        _ => JournalError::NoHeader(path.to_owned()),
    })?;
    Ok(RunRecord { header, entries, closing })
}

fn begins_as_header(bytes: &[u8]) -> bool {
    const BEGINNING: &[u8] = b"{\"header\":";
    let unfilled = bytes.iter().rev().take_while(|byte| **byte == 0).count();
    let filled = &bytes[..bytes.len() - unfilled];
    filled.starts_with(BEGINNING) || BEGINNING.starts_with(filled)
}

/// If the header has another format version, that error is clearer than the one of the parser.
fn check_format(path: &Path, text: &[u8]) -> Result<(), JournalError> {
    let Ok(value) = serde_json::from_slice::<Json>(text) else { return Ok(()) };
    value["header"]["format_version"].as_u64().map_or(Ok(()), |version| check_version(path, version))
}

fn check_version(path: &Path, version: u64) -> Result<(), JournalError> {
    FORMAT.check(version).map_err(|reason| JournalError::Format { path: path.to_owned(), reason })
}
