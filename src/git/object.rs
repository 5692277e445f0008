//! Reads objects, many of them with one call of `cat-file`.

use super::process::CallLimits;
use super::{GitError, Repository, TreeEntry, locked, unexpected};

/// The limit for all files of one commit together, in bytes.
const LARGEST_CONTENTS: u64 = 1024 * 1024 * 1024;
/// The most bytes that `cat-file` writes around each object.
const AROUND: u64 = 256;

/// An object in the output of `cat-file`.
pub(super) struct Object<'a> {
    pub(super) id: &'a str,
    pub(super) kind: &'a str,
    pub(super) bytes: &'a [u8],
}

/// The objects in the output of `cat-file --batch`, one per requested object; `None` for one that the clone lacks.
pub(super) struct Objects<'a>(pub(super) &'a [u8]);

impl<'a> Objects<'a> {
    fn object(&mut self) -> Option<Option<Object<'a>>> {
        let end = memchr::memchr(b'\n', self.0)?;
        let header = std::str::from_utf8(&self.0[..end]).ok()?;
        self.0 = &self.0[end + 1..];
        let mut words = header.rsplitn(3, ' ');
        let (size, kind, id) = (words.next()?, words.next()?, words.next());
        let is_object = matches!(kind, "blob" | "commit" | "tree" | "tag");
        let (Some(id), Ok(size), true) = (id, size.parse::<usize>(), is_object) else { return Some(None) };
        let bytes = self.0.get(..size)?;
        // A line break follows each object.
        self.0 = self.0.get(size + 1..)?;
        Some(Some(Object { id, kind, bytes }))
    }
}

impl<'a> Iterator for Objects<'a> {
    type Item = Result<Option<Object<'a>>, GitError>;

    fn next(&mut self) -> Option<Self::Item> {
        Some(self.object().ok_or_else(|| unexpected("cat-file")))
    }
}

impl Repository {
    /// The bytes of files and links, in the given order.
    ///
    /// # Errors
    /// The clone lacks one, or they are too large together.
    pub fn contents(&self, entries: &[&TreeEntry]) -> Result<Vec<Vec<u8>>, GitError> {
        if entries.is_empty() {
            return Ok(Vec::new());
        }
        let missing = |entry: &TreeEntry| GitError::NoObject(entry.path.clone());
        let mut most = 0;
        for entry in entries {
            most += entry.size.ok_or_else(|| missing(entry))? + AROUND;
        }
        if most > LARGEST_CONTENTS {
            return Err(GitError::TooLarge("the commit's definitions together".to_owned()));
        }
        let objects: Vec<&str> = entries.iter().map(|entry| entry.object.as_str()).collect();
        let contents = self.objects(&objects, CallLimits::bytes(most))?;
        entries.iter().zip(contents).map(|(entry, bytes)| bytes.ok_or_else(|| missing(entry))).collect()
    }

    /// The bytes of files by their ids, in the given order; `None` for one that the clone lacks.
    pub(super) fn objects(&self, ids: &[&str], bounds: CallLimits) -> Result<Vec<Option<Vec<u8>>>, GitError> {
        if let ([id], Some((of, bytes))) = (ids, locked(&self.read).as_ref())
            && of == id
        {
            return Ok(vec![Some(bytes.clone())]);
        }
        let output = self.batch(ids, bounds)?;
        let bytes = |object: Option<Object<'_>>| {
            object.filter(|object| object.kind == "blob").map(|object| object.bytes.to_vec())
        };
        let contents: Vec<_> =
            Objects(&output).take(ids.len()).map(|object| object.map(bytes)).collect::<Result<_, _>>()?;
        if let ([id], [Some(bytes)]) = (ids, contents.as_slice()) {
            *locked(&self.read) = Some(((*id).to_owned(), bytes.clone()));
        }
        Ok(contents)
    }

    /// The output of `cat-file` for objects, to be read with [`Objects`].
    pub(super) fn batch(&self, ids: &[&str], bounds: CallLimits) -> Result<Vec<u8>, GitError> {
        let input: Vec<u8> = ids.iter().flat_map(|id| format!("{id}\n").into_bytes()).collect();
        self.run(&["cat-file", "--batch"], input, bounds)
    }
}
