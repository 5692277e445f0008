//! What the index of a working tree says of files that are not in it: git looks for no file whose entry has a mark, and its
//! status shows no difference where such a file is missing. trueup reads the marks itself, in every version of the format, so
//! that the answer needs no program.

use std::collections::BTreeSet;
use std::path::Path;

use crate::file;

/// Bytes of an index.
const LARGEST_INDEX: u64 = 1024 * 1024 * 1024;
/// Bytes before the first entry.
const HEADER: usize = 12;
/// Bytes of an entry before its object.
const NUMBERS: usize = 40;
/// The mark of `git update-index --assume-unchanged`.
const ASSUMED: u16 = 0x8000;
/// There are more marks.
const EXTENDED: u16 = 0x4000;
/// The mark of `git sparse-checkout`, among the others.
const SKIPPED: u16 = 0x4000;
/// The kind of an entry, of its mode.
const KIND: u32 = 0o170_000;
const LINK: u32 = 0o120_000;

/// What is special in an index.
#[derive(Debug, Default)]
pub(super) struct Index {
    /// The paths for which git does not look in the working tree; that of a directory, in the place of all in it, has a
    /// final `/`.
    unseen: BTreeSet<String>,
    /// Symbolic links.
    pub(super) links: Vec<String>,
    /// Whether there may be others.
    pub(super) is_unclear: bool,
}

impl Index {
    /// The index in a git directory, whose objects have ids of `id` bytes.
    pub(super) fn read(directory: &Path, id: usize) -> Self {
        let mut index = Self::default();
        index.take(&directory.join("index"), id);
        index
    }

    /// Whether git does not look for the file at this path from the top.
    pub(super) fn hides(&self, path: &str) -> bool {
        let is_unseen = |path: &str| self.unseen.contains(path);
        self.is_unclear || is_unseen(path) || path.match_indices('/').any(|(at, _)| is_unseen(&path[..=at]))
    }

    /// Those of its entries below a directory, or around it, for which git does not look.
    pub(super) fn unseen_below<'i>(&'i self, below: &'i str) -> impl Iterator<Item = &'i str> {
        self.unseen.iter().map(String::as_str).filter(move |path| path.starts_with(below) || below.starts_with(*path))
    }

    fn take(&mut self, file: &Path, id: usize) {
        match file::read(file, LARGEST_INDEX) {
            Ok(bytes) => {
                let shared = self.entries(&bytes, id);
                match shared {
                    Some(None) => {}
                    // Another file has the entries that did not change.
                    Some(Some(shared)) if !file.ends_with(&shared) => self.take(&file.with_file_name(shared), id),
                    _ => self.is_unclear = true,
                }
            }
            // Before the first commit there may be none.
            Err(error) => self.is_unclear |= !error.is_missing() || !file.ends_with("index"),
        }
    }

    /// Takes in the entries of a file; returns the name of the one that it refers to, or nothing where it cannot be read.
    fn entries(&mut self, bytes: &[u8], id: usize) -> Option<Option<String>> {
        let number = |at: usize| Some(u32::from_be_bytes(bytes.get(at..at + 4)?.try_into().ok()?));
        let marks = |at: usize| Some(u16::from_be_bytes(bytes.get(at..at + 2)?.try_into().ok()?));
        let (version, count) = (number(4)?, number(8)?);
        if !bytes.starts_with(b"DIRC") || !(2..=4).contains(&version) {
            return None;
        }
        let (mut at, mut path) = (HEADER, Vec::new());
        for _ in 0..count {
            let first = marks(at + NUMBERS + id)?;
            let is_extended = first & EXTENDED != 0;
            let more = if is_extended { marks(at + NUMBERS + id + 2)? } else { 0 };
            let mut name = at + NUMBERS + id + if is_extended { 4 } else { 2 };
            let mut kept = 0;
            if version == 4 {
                // Each path begins as the one before it, without so many bytes of its end.
                let (dropped, after) = varint(bytes, name)?;
                kept = path.len().checked_sub(dropped)?;
                name = after;
            }
            let end = name + memchr::memchr(0, bytes.get(name..)?)?;
            path.truncate(kept);
            path.extend_from_slice(&bytes[name..end]);
            let (is_unseen, is_link) = (first & ASSUMED != 0 || more & SKIPPED != 0, number(at + 24)? & KIND == LINK);
            if path.is_empty() {
                // What takes the place of an entry of another file does not repeat its path.
                self.is_unclear |= is_unseen;
            } else if is_unseen || is_link {
                let path = String::from_utf8_lossy(&path).into_owned();
                self.links.extend(is_link.then(|| path.clone()));
                self.unseen.extend(is_unseen.then_some(path));
            }
            at = if version == 4 { end + 1 } else { at + ((end - at + 8) & !7) };
        }
        let end = bytes.len().checked_sub(id).filter(|end| *end >= at)?;
        while at + 8 <= end {
            let size = usize::try_from(number(at + 4)?).ok()?;
            let extension = bytes.get(at + 8..at + 8 + size)?;
            if bytes[at..].starts_with(b"link") {
                let shared = extension.get(..id)?;
                let name: String = shared.iter().map(|byte| format!("{byte:02x}")).collect();
                return Some(shared.iter().any(|byte| *byte != 0).then(|| format!("sharedindex.{name}")));
            }
            at += 8 + size;
        }
        Some(None)
    }
}

/// The number at a place, and what follows it.
fn varint(bytes: &[u8], mut at: usize) -> Option<(usize, usize)> {
    let mut number = 0_usize;
    loop {
        let byte = *bytes.get(at)?;
        at += 1;
        number = number.checked_mul(128)?.checked_add(usize::from(byte & 127))?;
        if byte & 128 == 0 {
            return Some((number, at));
        }
        number = number.checked_add(1)?;
    }
}
