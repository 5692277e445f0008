//! Reads a journal back into the record of a run. A line that a kill cut off at the end is left out; any other
//! damage is an error.

use std::collections::BTreeSet;
use std::path::Path;

use serde_json::error::Category;

use super::{FORMAT, JournalError, Line, stored};
use crate::model::{Json, RunId};
use crate::run::{RunClosing, RunEntry, RunHeader, RunRecord};
use crate::state::StateStore;

/// Reads a run with the runs that it resumed, theirs first.
///
/// # Errors
/// The medium; those of [`parse`]; [`JournalError::NoRun`], [`JournalError::NoResumed`].
pub fn load(state: &StateStore, run: &RunId) -> Result<RunRecord, JournalError> {
    match load_present(state, run)? {
        (record, None) => Ok(record),
        (record, Some(resumed)) => Err(JournalError::NoResumed { run: record.header.run, resumed }),
    }
}

/// The same as far as the runs are there, with the resumed one that is not.
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

/// Reads the bytes of a run's file; `path` appears in errors. What a kill leaves at its end, a line cut off or blocks that
/// were never filled, is left out.
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
        // A kill cuts off the last line alone.
        if let Some(bad) = bad {
            return Err(damaged(bad));
        }
        let line = match serde_json::from_slice::<Line<'_>>(text) {
            Ok(line) => line,
            Err(error) => {
                check_format(path, text)?;
                // Whole JSON that says something else was not cut off by a kill.
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
        // A header that was cut off begins as one, and has no end.
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

/// A header that this version cannot read may be one of another format, which is the better message.
fn check_format(path: &Path, text: &[u8]) -> Result<(), JournalError> {
    let Ok(value) = serde_json::from_slice::<Json>(text) else { return Ok(()) };
    value["header"]["format_version"].as_u64().map_or(Ok(()), |version| check_version(path, version))
}

fn check_version(path: &Path, version: u64) -> Result<(), JournalError> {
    FORMAT.check(version).map_err(|reason| JournalError::Format { path: path.to_owned(), reason })
}
