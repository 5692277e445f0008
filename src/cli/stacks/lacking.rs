//! Files that a repository and its submodules have at their last commits and the working tree lacks, as far as they may
//! define something.

use std::sync::Arc;

use crate::cli::Context;
use crate::cli::stacks::declared::{self, Declared, DeclaredDirectory};
use crate::git::{EntryKind, GitError, Repository, TreeEntry};
use crate::load::is_source;

/// The last commit of a repository, or of a submodule that is checked out in it.
#[derive(Debug)]
pub struct CommitPart<'r> {
    /// Where it is, from the top of the outermost one; with a final `/`, or empty.
    pub below: &'r str,
    /// Its repository.
    pub repository: &'r Repository,
    /// What to call its working tree.
    pub tree: &'static str,
    /// Its stacks.
    pub declared: Declared,
    /// Its files.
    entries: Arc<[TreeEntry]>,
    /// The paths of its links, sorted.
    links: Vec<String>,
}

/// The parts that the working tree lacks and that may define something.
#[derive(Debug, Default)]
pub struct LackingFiles<'e> {
    /// The files, each with the path at which a stack reads it.
    pub files: Vec<(String, &'e TreeEntry)>,
    /// Which parts may define anything, and why, as texts.
    pub unknown: Vec<String>,
}

impl<'r> CommitPart<'r> {
    /// The last commit of this repository, at this place.
    ///
    /// # Errors
    /// git cannot show the commit, or not all of it.
    pub fn of(context: &Context, (below, repository): (&'r str, &'r Repository)) -> Result<Self, GitError> {
        let head = repository.head()?;
        let declared = context.tenants.declared_at(repository, &head)?;
        let entries = repository.entries(&head, "")?;
        let links = entries.iter().filter(|entry| entry.kind == EntryKind::Link).map(|entry| entry.path.clone());
        let mut links: Vec<String> = links.collect();
        links.sort();
        let tree = if repository.is_sparse() { "sparse working tree" } else { "working tree" };
        Ok(Self { below, repository, tree, declared, entries, links })
    }

    /// Whether it has a link below a directory, which ends with `/`.
    pub fn has_links(&self, directory: &str) -> bool {
        let at = self.links.partition_point(|link| link.as_str() < directory);
        self.links.get(at).is_some_and(|link| link.starts_with(directory))
    }

    /// The part that contains a path, given from the top.
    pub fn around<'p>(parts: &'p [Self], path: &str) -> Option<&'p Self> {
        parts.iter().filter(|part| path.starts_with(part.below)).max_by_key(|part| part.below.len())
    }

    /// Whether both are the same part.
    pub fn is(&self, other: &Self) -> bool {
        self.below == other.below
    }

    /// The entries of `left_out` that may define something.
    ///
    /// # Errors
    /// git cannot show the contents of a link.
    pub fn lacking<'e>(&'e self, left_out: impl Iterator<Item = &'e TreeEntry>) -> Result<LackingFiles<'e>, GitError> {
        let mut lacking = LackingFiles::default();
        for entry in left_out {
            let path = &entry.path;
            match entry.kind {
                EntryKind::File => lacking.files.push((path.clone(), entry)),
                EntryKind::Submodule => {
                    lacking.unknown.push(format!("the submodule `{path}` may define it, and is not checked out"));
                }
                EntryKind::Link => match self.behind(entry)? {
                    Some(files) => lacking.files.extend(files.into_iter().filter(|(path, _)| is_source(path))),
                    None => {
                        let reason = format!("`{path}` may define it, and the {} lacks that file", self.tree);
                        lacking.unknown.push(reason);
                    }
                },
            }
        }
        Ok(lacking)
    }

    /// The files that are read through a link, each with its path there; `None` if they are unknown.
    fn behind(&self, link: &TreeEntry) -> Result<Option<Vec<(String, &TreeEntry)>>, GitError> {
        let contents = self.repository.contents(&[link])?.pop().unwrap_or_default();
        let target = declared::target(link, &contents);
        let Some(target) = target.as_deref().and_then(|target| target.strip_prefix(self.below)) else {
            return Ok(None);
        };
        let read = |entry: &TreeEntry| {
            let below = entry.path.strip_prefix(target)?;
            (below.is_empty() || below.starts_with('/')).then(|| format!("{}{below}", link.path))
        };
        let files: Vec<_> = self.entries.iter().filter_map(|entry| Some((read(entry)?, entry))).collect();
        let is_known = !files.is_empty() && files.iter().all(|(_, entry)| entry.kind == EntryKind::File);
        Ok(is_known.then_some(files))
    }

    /// The stacks whose settings the working tree lacks, whatever else it has of them.
    pub fn without_settings<'e>(&'e self, left_out: &'e [TreeEntry]) -> impl Iterator<Item = &'e DeclaredDirectory> {
        let is_lacking = |file: String| left_out.iter().any(|entry| entry.path == file);
        self.declared.iter().filter(move |stack| is_lacking(format!("{}{}", self.below, stack.file())))
    }
}
