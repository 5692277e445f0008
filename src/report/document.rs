//! JSON documents. Each names its `kind` and its `format_version`; fields are added within a version and never change
//! their meaning.

use std::io::{self, Write};

use data_encoding::HEXLOWER;
use serde::Serialize;
use sha2::{Digest as _, Sha256};

use super::safe::{self, JsonWriter};

/// The version of every document.
pub const FORMAT_VERSION: u32 = 1;

#[derive(Serialize)]
struct Document<'a, C> {
    kind: &'a str,
    format_version: u32,
    #[serde(flatten)]
    content: C,
}

/// A document on one line.
pub fn line(kind: &str, content: impl Serialize) -> String {
    // Text keys, strings and numbers cannot fail.
    let text = serde_json::to_string(&Document { kind, format_version: FORMAT_VERSION, content }).unwrap_or_default();
    format!("{}\n", safe::json(&text))
}

/// A written document on one line: its line breaks are between its parts and never in a text.
pub fn one_line(document: &str) -> String {
    document.lines().map(str::trim_start).chain(["\n"]).collect()
}

/// Writes a document to `out`.
///
/// # Errors
/// Those of `out`.
pub fn write(kind: &str, content: impl Serialize, out: &mut dyn Write) -> io::Result<()> {
    let mut out = JsonWriter::new(out);
    serde_json::to_writer_pretty(&mut out, &Document { kind, format_version: FORMAT_VERSION, content })?;
    out.write_all(b"\n")?;
    out.finish()
}

/// The first `most` bytes of the SHA-256 of `bytes`, as hex digits.
pub fn sha256(bytes: impl AsRef<[u8]>, most: usize) -> String {
    HEXLOWER.encode(&Sha256::digest(bytes)[..most])
}

/// The method that writes a report as a document of a kind, or writes what a function makes of it.
macro_rules! written_as {
    ($kind:literal) => {
        written_as!($kind, std::convert::identity);
    };
    ($kind:literal, $content:expr) => {
        fn write(&self, out: &mut dyn std::io::Write) -> std::io::Result<()> {
            $crate::report::document::write($kind, $content(self), out)
        }
    };
}
pub(super) use written_as;

/// What `write` writes, as one text.
pub(super) fn text(write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> String {
    let mut bytes = Vec::new();
    // Text keys, strings and numbers cannot fail.
    let written = write(&mut bytes).map(|()| String::from_utf8(bytes).unwrap_or_default());
    written.unwrap_or_default()
}
