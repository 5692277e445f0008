//! Finds files in the index of a working tree that git was told to skip: git's status shows no difference if such a
//! file is missing. trueup reads these flags itself, in every version of the format, so that no program is needed.

use std::collections::BTreeSet;
use std::path::Path;

use crate::file;

/// The largest index, in bytes.
const LARGEST_INDEX: u64 = 1024 * 1024 * 1024;
/// The bytes before the first entry.
const HEADER: usize = 12;
/// The bytes of an entry before its object.
const NUMBERS: usize = 40;
/// The flag of `git update-index --assume-unchanged`.
const ASSUMED: u16 = 0x8000;
/// The flag that more flags follow.
const EXTENDED: u16 = 0x4000;
/// The flag of `git sparse-checkout`, among the further flags.
const SKIPPED: u16 = 0x4000;
/// The bits of an entry's mode with its kind.
const KIND: u32 = 0o170_000;
const LINK: u32 = 0o120_000;

/// The special entries of an index.
#[derive(Debug, Default)]
pub(super) struct Index {
    /// The paths that git skips in the working tree; the path of a directory, which includes everything in it, ends in
    /// `/`.
    unseen: BTreeSet<String>,
    /// The paths of symbolic links.
    pub(super) links: Vec<String>,
    /// Whether the index could not be read completely, so that there may be others.
    pub(super) is_unclear: bool,
}

impl Index {
    /// The index in a git directory whose object ids have `id` bytes.
    pub(super) fn read(directory: &Path, id: usize) -> Self {
        let mut index = Self::default();
        index.take(&directory.join("index"), id);
        index
    }

    /// Whether git may skip the file at this path from the top.
    pub(super) fn hides(&self, path: &str) -> bool {
        let is_unseen = |path: &str| self.unseen.contains(path);
        self.is_unclear || is_unseen(path) || path.match_indices('/').any(|(at, _)| is_unseen(&path[..=at]))
    }

    /// The skipped paths below a directory, or that contain it.
    pub(super) fn unseen_below<'i>(&'i self, below: &'i str) -> impl Iterator<Item = &'i str> {
        self.unseen.iter().map(String::as_str).filter(move |path| path.starts_with(below) || below.starts_with(*path))
    }

    fn take(&mut self, file: &Path, id: usize) {
        match file::read(file, LARGEST_INDEX) {
            Ok(bytes) => {
                let shared = self.entries(&bytes, id);
                match shared {
                    Some(None) => {}
                    // A shared index file has the unchanged entries.
                    Some(Some(shared)) if !file.ends_with(&shared) => self.take(&file.with_file_name(shared), id),
                    _ => self.is_unclear = true,
                }
            }
            // Before the first commit there may be no index.
            Err(error) => self.is_unclear |= !error.is_missing() || !file.ends_with("index"),
        }
    }

    /// Adds the entries of an index. Returns the name of the shared index that it refers to; `None` if damaged.
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
                // Each path repeats the one before it, except for this number of bytes at its end.
                let (dropped, after) = varint(bytes, name)?;
                kept = path.len().checked_sub(dropped)?;
                name = after;
            }
            let end = name + memchr::memchr(0, bytes.get(name..)?)?;
            path.truncate(kept);
            path.extend_from_slice(&bytes[name..end]);
            let (is_unseen, is_link) = (first & ASSUMED != 0 || more & SKIPPED != 0, number(at + 24)? & KIND == LINK);
            if path.is_empty() {
                // An entry that replaces one of the shared index does not repeat its path.
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

/// The number at a position, and the position after it.
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
