//! Which document a call promises: with `--format json` every ending is one document on standard output, with
//! `--format ndjson` the last line is one.

use std::ffi::OsString;

use clap::ArgMatches;

/// What a call promises on standard output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Promise {
    /// One document.
    Document,
    /// Lines, the last of which is a document where the command fails.
    Lines,
    /// The events of a run as lines, the last of which is a document.
    RunEvents,
}

/// What a command line that is wrong asks for, if it does.
pub fn asked_for(words: &[OsString]) -> Option<Promise> {
    let words: Vec<_> = words.iter().map(|word| word.to_string_lossy()).collect();
    let is_in_file = words.iter().any(|word| word.starts_with("--output") || word.starts_with("-o"));
    let given = |value: &str| {
        let is_behind = words.windows(2).any(|pair| pair[0] == "--format" && pair[1] == value);
        is_behind || words.contains(&format!("--format={value}").into())
    };
    match is_in_file {
        true => None,
        false if given("json") || words.contains(&"--json".into()) => Some(Promise::Document),
        false => given("ndjson").then_some(Promise::Lines),
    }
}

/// What a command promises, if it does: by its `--format`, unless its report goes to a file.
pub fn promised(matches: &ArgMatches) -> Option<Promise> {
    let has = |id: &str| matches.try_contains_id(id).unwrap_or_default();
    let is_in_file = has("output") && matches.try_contains_id("ReportFileArgs").is_ok();
    let format = matches.try_get_raw("format").ok().flatten()?.next()?.to_str().filter(|_| !is_in_file)?;
    let is_run = matches.try_contains_id("ApprovalArgs").is_ok();
    match format {
        "json" => Some(Promise::Document),
        "ndjson" if is_run => Some(Promise::RunEvents),
        "ndjson" => Some(Promise::Lines),
        _ => None,
    }
}
