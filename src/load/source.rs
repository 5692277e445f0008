//! Where files come from: a directory, walked in order and within bounds, or memory. Hazards of a hostile
//! directory (links that lead out or in circles, endless or special files) become problems.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use globset::{GlobSet, GlobSetBuilder};
use walkdir::DirEntry;

use super::config::{self, Config, FileGlobs, SettingPlaces};
use super::diagnostic::Diagnostic;
use super::fast;
use super::suggestion::nearest;
use super::text::{Language, SourceText};
use crate::file::{self, Directory, FileError, MOST_ENTRIES, ManyFiles, Walk, WalkError, limit};
use crate::kind;
use crate::model::{self, Key};

/// Where the files of a stack are.
#[derive(Debug)]
pub(super) enum FileOrigin {
    /// Below this directory; `whole` is set where only that one file is loaded.
    Disk { directory: Directory, whole: Option<Arc<str>>, stack: StackFile },
    /// In memory, by path.
    Memory { files: BTreeMap<Arc<str>, Vec<u8>> },
}

/// Whether a directory is a stack.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StackFile {
    /// It contains a `trueup.yaml`.
    Found,
    /// It does not: only the directory itself is loaded, and nothing is ever deleted.
    Missing,
}

impl FileOrigin {
    /// Whether the files are those of a stack.
    pub(super) fn stack(&self) -> StackFile {
        match self {
            FileOrigin::Disk { stack, .. } => *stack,
            FileOrigin::Memory { files } if files.contains_key(config::FILE) => StackFile::Found,
            FileOrigin::Memory { .. } => StackFile::Missing,
        }
    }

    /// The directory that their paths are relative to; none where they are in memory.
    pub(super) fn root(&self) -> PathBuf {
        match self {
            FileOrigin::Disk { directory, .. } => directory.path().to_owned(),
            FileOrigin::Memory { .. } => PathBuf::new(),
        }
    }

    /// The bytes of a file.
    pub(super) fn read(&self, path: &str) -> Result<Vec<u8>, Diagnostic> {
        self.files().read(path)
    }

    /// The text of a file.
    pub(super) fn text(&self, path: &Arc<str>) -> Result<SourceText, Diagnostic> {
        Ok(SourceText::new(path, self.read(path)?)?)
    }

    /// Whether an edited file can replace the one at `path`: a link is never replaced.
    pub(super) fn is_replaceable(&self, path: &str) -> bool {
        match self {
            FileOrigin::Disk { directory, .. } => directory.check_replace(path).is_ok(),
            FileOrigin::Memory { .. } => true,
        }
    }

    /// Reads many files, one after the other.
    pub(super) fn files(&self) -> Files<'_> {
        match self {
            FileOrigin::Disk { directory, .. } => Files::Disk(ManyFiles::new(directory)),
            FileOrigin::Memory { files } => Files::Memory(files),
        }
    }

    /// Every file that could be a definition or an overlay, sorted.
    pub(super) fn list(&self, filter: &FileFilter, problems: &mut Vec<Diagnostic>) -> Vec<Arc<str>> {
        let mut paths = match self {
            FileOrigin::Disk { whole: Some(file), .. } => return vec![file.clone()],
            FileOrigin::Disk { directory, .. } => walk(directory.path(), filter, problems),
            FileOrigin::Memory { files } => {
                let seen = |path: &&Arc<str>| is_definition_path(path) && !filter.excludes_above(path);
                files.keys().filter(seen).cloned().collect()
            }
        };
        paths.sort();
        paths.retain(|path| filter.selects(path, self.stack(), problems));
        paths
    }
}

/// The files of a [`FileOrigin`], for one reader.
pub(super) enum Files<'o> {
    Disk(ManyFiles<'o>),
    Memory(&'o BTreeMap<Arc<str>, Vec<u8>>),
}

impl Files<'_> {
    /// The bytes of a file.
    pub(super) fn read(&mut self, path: &str) -> Result<Vec<u8>, Diagnostic> {
        let too_large = || {
            let what = format!("the file is larger than the allowed {} MiB", limit::DEFINITIONS / (1024 * 1024));
            Diagnostic::of_file(what, path, "split it, or leave it out with `files: {exclude: [...]}` in trueup.yaml")
        };
        match self {
            Files::Memory(files) => {
                let bytes = files.get(path).cloned().unwrap_or_default();
                if bytes.len() as u64 > limit::DEFINITIONS { Err(too_large()) } else { Ok(bytes) }
            }
            Files::Disk(files) => {
                let at = Path::new(path);
                let read = files.read(at, limit::DEFINITIONS).or_else(|error| match error {
                    // A document that a command wrote may be larger, and is skipped.
                    FileError::TooLarge { .. } if Language::of(path) == Language::Json => {
                        let text = files.read(at, limit::SAVED).ok();
                        text.filter(|text| fast::is_other_kind(text)).ok_or(error)
                    }
                    error => Err(error),
                });
                read.map_err(|error| match error {
                    FileError::TooLarge { .. } => too_large(),
                    FileError::Outside { .. } => leads_out(path),
                    FileError::Io { source, .. } => {
                        Diagnostic::of_file(format!("the file cannot be read: {source}"), path, "")
                    }
                    _ => not_regular(path),
                })
            }
        }
    }
}

/// Whether a part of a path is hidden; stacks do not read hidden files and directories.
pub fn is_hidden(path: &str) -> bool {
    path.split('/').any(|part| part.starts_with('.'))
}

/// Whether the name has the extension of a file of definitions.
pub fn is_source(path: &str) -> bool {
    Path::new(path)
        .extension()
        .is_some_and(|extension| ["yaml", "yml", "json"].iter().any(|known| extension.eq_ignore_ascii_case(known)))
}

/// The path, below a directory, of a new file with the definition of an object or an overlay of it.
pub fn file_of(key: &Key) -> String {
    let (namespace, name) = (free(key.namespace.as_str()), free(key.name.as_str()));
    // Objects of different kinds may have the same name.
    let kind = if key.kind.is_endpoint() { String::new() } else { format!("{}/", key.kind) };
    format!("{namespace}/{kind}{name}.yaml")
}

/// The longest file name, in bytes, that all usual systems accept. A host name with its extension can be longer.
const LONGEST_FILE_NAME: usize = 255;

/// Whether the name of a file is short enough for all usual systems.
pub fn can_be_named(path: &str) -> bool {
    path.rsplit('/').next().is_none_or(|name| name.len() <= LONGEST_FILE_NAME)
}

/// The name of a file or a directory for an object's name. A name with a special meaning there gets a suffix
/// that names of objects cannot have.
fn free(name: &str) -> String {
    const TAKEN: [&str; 5] = ["trueup", "con", "prn", "aux", "nul"];
    let numbered = ["com", "lpt"]
        .iter()
        .any(|device| name.strip_prefix(device).is_some_and(|number| matches!(number.as_bytes(), [b'0'..=b'9'])));
    if numbered || TAKEN.contains(&name) { format!("{name}_") } else { name.to_owned() }
}

/// Whether a path below a stack's directory can be a file of definitions or settings.
pub fn is_definition_path(path: &str) -> bool {
    is_source(path) && !is_hidden(path)
}

/// Classifies the files of a stack: definitions, overlays, or neither.
#[derive(Debug)]
pub(super) struct FileFilter {
    include: Option<GlobSet>,
    exclude: GlobSet,
    /// The globs as they are written.
    globs: FileGlobs,
    /// The overlay directories of all environments.
    overlays: Arc<BTreeSet<String>>,
    /// The overlay directories of the chosen environment, each with its index in the order in which they are applied.
    chosen: BTreeMap<String, usize>,
}

impl FileFilter {
    /// The filter of these settings.
    pub(super) fn new(config: &Config, environment: Option<&str>) -> Self {
        let chosen = environment.and_then(|name| config.environments.get(name));
        let chosen = chosen.map(|environment| environment.overlays.as_slice()).unwrap_or_default();
        Self::of(&config.files, &Self::overlays(config), chosen)
    }

    /// The overlay directories of all environments.
    pub(super) fn overlays(config: &Config) -> Arc<BTreeSet<String>> {
        Arc::new(config.environments.values().flat_map(|environment| environment.overlays.clone()).collect())
    }

    /// The filter of these globs, which were checked when they were read.
    pub(super) fn of<'c>(
        globs: &FileGlobs,
        overlays: &Arc<BTreeSet<String>>,
        chosen: impl IntoIterator<Item = &'c String>,
    ) -> Self {
        let set = |globs: &[String]| {
            let mut builder = GlobSetBuilder::new();
            globs.iter().filter_map(|glob| model::glob(below_root(glob)).ok()).for_each(|glob| {
                builder.add(glob);
            });
            builder.build().unwrap_or_else(|_| GlobSet::empty())
        };
        Self {
            include: (!globs.include.is_empty()).then(|| set(&globs.include)),
            exclude: set(&globs.exclude),
            globs: globs.clone(),
            overlays: Arc::clone(overlays),
            chosen: chosen.into_iter().cloned().enumerate().map(|(layer, overlay)| (overlay, layer)).collect(),
        }
    }

    /// Whether the file lies in an overlay of the chosen environment.
    pub(super) fn is_overlay(&self, path: &str) -> bool {
        self.overlay_layer(path).is_some()
    }

    /// The index of the overlay that the file lies in; overlays are applied in this order.
    pub(super) fn overlay_layer(&self, path: &str) -> Option<usize> {
        self.chosen.get(self.overlay_of(path)?).copied()
    }

    /// The overlay directory of any environment that the file lies in; where one contains another, the inner one.
    pub(super) fn overlay_of(&self, path: &str) -> Option<&String> {
        let above = path.rmatch_indices('/').map(|(at, _)| &path[..at]);
        [path].into_iter().chain(above).find_map(|directory| self.overlays.get(directory))
    }

    /// Problems of overlays: overlays of any environment that are files instead of directories, and overlays of the
    /// chosen environment without a file that is read, with the reason.
    pub(super) fn unread_overlays(
        &self,
        directory: &Path,
        files: &[Arc<str>],
        settings: &SettingPlaces<'_>,
    ) -> Vec<Diagnostic> {
        let is_file = |overlay: &String| directory.join(overlay).is_file();
        let wrong = self.overlays.iter().filter(|overlay| is_file(overlay)).map(|overlay| {
            let what = format!("the overlay `{overlay}` is a file");
            settings.error("overlay", overlay, what).with_help("name the directory that contains it")
        });
        let is_read = |layer: usize| files.iter().any(|file| self.overlay_layer(file) == Some(layer));
        let unread = self.chosen.iter().filter(|(overlay, layer)| !is_read(**layer) && !is_file(overlay));
        let problem = |(overlay, layer): (&String, &usize)| {
            let (why, help) = if is_hidden(overlay) {
                ("hidden directories are not read", "rename it".to_owned())
            } else if self.excludes(overlay) || self.excludes_above(overlay) {
                ("`files:` excludes it", "take it out of `exclude`".to_owned())
            } else if self.has_other_files(directory, overlay, *layer) {
                let help = "definitions are .yaml, .yml and .json files that `files:` does not exclude";
                ("no file in it is read", help.to_owned())
            } else {
                // An overlay without files is allowed, as git stores no empty directories; a wrong name is not.
                let near = self.misspelt(directory, overlay)?;
                ("there is no such directory", format!("did you mean `{near}`?"))
            };
            let what = format!("the overlay `{overlay}` is not applied: {why}");
            Some(settings.error("overlay", overlay, what).with_help(help))
        };
        wrong.chain(unread.filter_map(problem)).collect()
    }

    /// The globs that match nothing. In `include` this is an error, because its definitions would count as removed.
    /// Files that `exclude` matches may not exist yet, so only a likely mistake is noted.
    pub(super) fn unmatched_globs(
        &self,
        directory: &Path,
        files: &[Arc<str>],
        settings: &SettingPlaces<'_>,
    ) -> (Vec<Diagnostic>, Vec<Diagnostic>) {
        let is_lacking = |glob: &&String| {
            let fixed = fixed(glob);
            !fixed.is_empty() && (fixed.split('/').any(|part| part == "..") || !file::exists(&directory.join(fixed)))
        };
        let problem = |key: &str, glob: &String, help: String| {
            settings.error(key, glob, format!("the glob `{glob}` of `files:` matches nothing{help}"))
        };
        let meant = |near: String| format!("; did you mean `{near}`?");
        let included = self.globs.include.iter().filter(is_lacking);
        let below = || ": it is matched against the path below this directory".to_owned();
        let problems = included
            .map(|glob| problem("include", glob, self.misspelt(directory, fixed(glob)).map_or_else(below, meant)))
            .collect();
        let excluded = self.globs.exclude.iter().filter(is_lacking).filter_map(|glob| {
            let glob_below = below_root(glob);
            let deeper = [format!("/{glob_below}/"), format!("/{glob_below}")];
            let is_deeper = |path: &Arc<str>| path.contains(&deeper[0]) || path.ends_with(&deeper[1]);
            let near = match files.iter().any(is_deeper) {
                true => format!("**/{glob_below}"),
                false => self.misspelt(directory, fixed(glob))?,
            };
            Some(problem("exclude", glob, meant(near)).into_note())
        });
        (problems, excluded.collect())
    }

    /// The existing path that a missing one most likely means; the directory of another overlay is never suggested.
    fn misspelt(&self, directory: &Path, path: &str) -> Option<String> {
        let ends = path.match_indices('/').map(|(at, _)| at).chain([path.len()]);
        let missing = ends.map(|end| &path[..end]).find(|part| !file::exists(&directory.join(part)))?;
        let (above, name) = missing.rsplit_once('/').unwrap_or(("", missing));
        if above.split('/').any(|part| part == "..") {
            return None;
        }
        let above_it = &path[..missing.len() - name.len()];
        let joined = |other: &str| format!("{above_it}{other}{}", &path[missing.len()..]);
        let entries = Walk::new(&directory.join(above), MOST_ENTRIES, |entry| entry.depth() > 1).flatten();
        let names = entries.filter(|entry| entry.depth() == 1);
        let names: BTreeSet<String> = names.filter_map(|entry| entry.file_name().to_str().map(str::to_owned)).collect();
        let others = names.iter().map(String::as_str).filter(|other| !self.overlays.contains(&joined(other)));
        nearest(name, others).map(joined).filter(|near| file::exists(&directory.join(near)))
    }

    /// Whether an overlay directory contains a file that looks like a definition.
    fn has_other_files(&self, directory: &Path, overlay: &str, layer: usize) -> bool {
        let is_like = |entry: &DirEntry| {
            let path = relative(directory, entry.path());
            !entry.file_type().is_dir() && is_source(&path) && self.overlay_layer(&path) == Some(layer)
        };
        Walk::new(&directory.join(overlay), MOST_ENTRIES, |_| false).flatten().any(|entry| is_like(&entry))
    }

    /// Whether a file at this path would be read; of a directory, whether any file below it could be.
    pub(super) fn reads(&self, path: &str, is_directory: bool) -> bool {
        if is_hidden(path) || self.excludes_above(path) || self.excludes(path) {
            return false;
        }
        path == config::FILE || self.takes(path, is_directory)
    }

    /// Whether a file is a definition or belongs to an overlay of the chosen environment; of a directory, whether a
    /// file below it could be one.
    fn takes(&self, path: &str, is_directory: bool) -> bool {
        match self.overlay_of(path) {
            Some(overlay) => self.chosen.contains_key(overlay),
            None => is_directory || self.includes(path),
        }
    }

    /// Whether the path, or a directory that it lies in, is included.
    fn includes(&self, path: &str) -> bool {
        let Some(include) = &self.include else { return true };
        include.is_match(path) || path.match_indices('/').any(|(at, _)| include.is_match(&path[..at]))
    }

    fn excludes(&self, path: &str) -> bool {
        self.exclude.is_match(path)
    }

    /// Whether a directory that the path lies in is excluded, so that a walk would not enter it.
    fn excludes_above(&self, path: &str) -> bool {
        path.match_indices('/').any(|(at, _)| self.excludes(&path[..at]))
    }

    pub(super) fn selects(&self, path: &str, stack: StackFile, problems: &mut Vec<Diagnostic>) -> bool {
        if self.excludes(path) || path == config::FILE {
            return false;
        }
        let name = path.rsplit('/').next().unwrap_or(path);
        if name == config::FILE {
            let (what, help) = match stack {
                StackFile::Found => (
                    "this stack contains a second trueup.yaml",
                    "one directory is one stack: move it out, or leave its directory out with `files: {exclude: \
                     [...]}`",
                ),
                StackFile::Missing => (
                    "this directory is a stack, and the given one is not",
                    "give the directories of the stacks; validate, plan, apply, drift and snapshot take --recursive for \
                     every one below",
                ),
            };
            problems.push(Diagnostic::of_file(what, path, help));
            return false;
        }
        if let Some(what) = config::wrong_name(name) {
            problems.push(Diagnostic::of_file(what, path, "rename it"));
            return false;
        }
        self.takes(path, false)
    }
}

/// A glob of `files:` relative to the stack's directory, without a leading `./` or `/`.
fn below_root(glob: &str) -> &str {
    match glob.trim_start_matches("./").trim_matches('/') {
        "" | "." => "**",
        glob => glob,
    }
}

/// The longest path without a wildcard that contains all matches of a glob; empty for the directory of the stack.
fn fixed(glob: &str) -> &str {
    let glob = below_root(glob);
    match glob.find(kind::GLOB) {
        Some(at) => glob[..at].rsplit_once('/').map_or("", |(above, _)| above),
        None => glob,
    }
}

/// Every file below `root`, also through links, that could be a definition and is not excluded.
pub(super) fn walk(root: &Path, filter: &FileFilter, problems: &mut Vec<Diagnostic>) -> Vec<Arc<str>> {
    let is_left_out = |entry: &DirEntry| {
        // Without patterns, the relative path is not needed.
        let may_be_excluded = entry.depth() > 0 && !filter.exclude.is_empty();
        file::is_hidden_entry(entry) || may_be_excluded && filter.excludes(&relative(root, entry.path()))
    };
    let mut walk = Walk::through_links(root, MOST_ENTRIES, is_left_out);
    let mut paths: Vec<Arc<str>> = Vec::new();
    while let Some(entry) = walk.next() {
        let entry = match entry {
            Ok(entry) => entry,
            Err(WalkError::Entry(error)) => {
                problems.extend(walk_problem(root, &error, filter));
                continue;
            }
            Err(error @ WalkError::TooMany { .. }) => {
                problems.push(Diagnostic::without_place(error.to_string(), "is this the right directory?"));
                break;
            }
        };
        let directory = entry.file_type().is_dir();
        let relative = relative(root, entry.path());
        if !directory && !is_source(&relative) {
            continue;
        }
        if entry.path_is_symlink() && leaves(root, entry.path()) {
            problems.push(leads_out(&relative));
            if directory {
                walk.skip_directory();
            }
            continue;
        }
        if directory {
            continue;
        }
        if !entry.file_type().is_file() {
            problems.push(not_regular(&relative));
        } else if relative.contains('\u{fffd}')
            && entry.path().strip_prefix(root).is_ok_and(|path| path.to_str().is_none())
        {
            problems.push(Diagnostic::of_file("the file's name is not valid UTF-8", &relative, "rename it"));
        } else {
            paths.push(relative.into());
        }
    }
    paths
}

fn walk_problem(root: &Path, error: &walkdir::Error, filter: &FileFilter) -> Option<Diagnostic> {
    let path = relative(root, error.path().unwrap_or(root));
    if filter.excludes(&path) || is_hidden(&path) {
        return None;
    }
    if error.loop_ancestor().is_some() {
        let what = "the symbolic link leads back to a directory above it";
        return Some(Diagnostic::of_file(what, &path, "remove the link, or exclude it"));
    }
    let reason = error.io_error().map_or_else(|| "it cannot be walked".to_owned(), ToString::to_string);
    Some(Diagnostic::of_file(format!("cannot be read: {reason}"), &path, ""))
}

fn leads_out(path: &str) -> Diagnostic {
    let what = "the symbolic link leads out of the stack's directory";
    Diagnostic::of_file(what, path, "move the files here, or exclude the link")
}

fn not_regular(path: &str) -> Diagnostic {
    Diagnostic::of_file("this is not a regular file", path, "remove it, or exclude it")
}

fn leaves(root: &Path, path: &Path) -> bool {
    file::real_path(path).is_ok_and(|target| !target.starts_with(root))
}

/// `path` below `root`, with `/` between parts.
pub(super) fn relative(root: &Path, path: &Path) -> String {
    file::slashed(path.strip_prefix(root).unwrap_or(path))
}
