//! Reads a whole directory of definitions and reports all its problems at once. A fast reader decodes
//! typed values; a careful one, which knows places, reports problems and resolves merge keys, variables
//! and overlays. Files are read in parallel; the order of files never matters.

mod careful;
pub mod config;
mod definition;
mod diagnostic;
mod discover;
pub mod edit;
pub mod explain;
mod fast;
mod fields;
pub mod format;
mod item;
mod keys;
mod level;
mod loaded;
mod object;
mod options;
mod overlay;
mod overlays;
mod plain;
mod render;
mod rules;
mod secret_names;
mod secrets;
mod source;
mod source_map;
mod splice;
mod stack_files;
mod suggestion;
mod syntax;
mod text;
mod tree;
mod variable;

pub use config::{Config, ExplainedSetting};
pub use diagnostic::{Diagnostic, Diagnostics, Label, Severity};
pub use discover::{stacks_below, stacks_of_repository};
pub use fields::MOST_ALLOWED;
pub use item::ValueOrigin;
pub use keys::{DirectoryKeys, UnparsedFile, WantedKeys, defined_kinds, has_others, is_definitions};
pub use loaded::Loaded;
pub use options::{LoadOptions, SecretVariables, SourceFile, UndefinedEnvironment};
pub use render::RenderOptions;
pub use source::{StackFile, can_be_named, file_of, is_definition_path, is_hidden, is_source};
pub use source_map::{SourceMap, ValueStyle, WrittenValue};
pub use stack_files::{StackFiles, StackPath};
pub use suggestion::{Searches, nearest};
pub use text::Position;
pub use variable::names as variables_in;

use std::cell::LazyCell;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use careful::{FileRead, ReadContext};
use config::SettingPlaces;
use definition::Examined;
use diagnostic::read_or_noted;
use fast::PlainDocument;
use overlays::{DefinedKeys, Overlays};
use secrets::{Secrets, conceal};
use source::{FileFilter, FileOrigin, Files};
use text::{Language, SourceText};
use variable::Variables;

use crate::file::{self, Directory};
use crate::model::{self, Definition, Desired, Key, SealedSecrets, share};

/// The number of files that a thread takes at a time.
const STRIDE: usize = 16;

/// The most duplicate definitions that are reported with both places.
const MOST_TWICE: usize = 20;

/// Loads the stack that `path` lies in: the directory with `trueup.yaml`, at `path` or above it, or
/// `path` itself where there is none. A path below the stack's directory does not narrow what is loaded.
///
/// # Errors
/// Everything that is wrong in any file.
pub fn directory(path: &Path, options: &LoadOptions) -> Result<Loaded, Diagnostics> {
    load(on_disk(path, options)?, options)
}

/// Records in the options which variables are in secrets of the stack that `path` lies in, for all environments and
/// even if its files have problems. Not done without `trueup.yaml`, because that would read everything below the path.
pub fn note_secrets(path: &Path, options: &LoadOptions) {
    if let Some(origin) = on_disk(path, options).ok().filter(|origin| origin.stack() == StackFile::Found) {
        note_secrets_of(&origin, &config_of(&origin, options, &mut Vec::new()), options);
    }
}

fn note_secrets_of(origin: &FileOrigin, config: &Config, options: &LoadOptions) {
    let texts = format::files(origin, config, &mut Vec::new()).into_iter().filter_map(|file| origin.text(&file).ok());
    for source in texts.filter(SourceText::needs_care) {
        options.secret_variables.note(Secrets::variables_in(&source));
    }
}

/// The settings of the stack that `path` lies in, without its definitions; the default where there is
/// no `trueup.yaml`.
///
/// # Errors
/// Everything that is wrong in the settings.
pub fn settings(path: &Path, options: &LoadOptions) -> Result<Config, Diagnostics> {
    sound_config(&on_disk(path, options)?, options)
}

/// Which layer sets each setting of the stack that `path` lies in, for the environment of `options`.
///
/// # Errors
/// Everything that is wrong in the settings.
pub fn explained_settings(path: &Path, options: &LoadOptions) -> Result<Vec<ExplainedSetting>, Diagnostics> {
    let origin = on_disk(path, options)?;
    sound_config(&origin, options)?;
    if origin.stack() == StackFile::Missing {
        return Ok(Vec::new());
    }
    let source = origin.text(&config::FILE.into())?;
    Ok(config::explained(&source, options))
}

/// The directory of the stack that `path` lies in; the directory itself where there is no `trueup.yaml`.
///
/// # Errors
/// A path that cannot be read, or settings of another directory.
pub fn root(path: &Path, options: &LoadOptions) -> Result<PathBuf, Diagnostics> {
    Ok(root_of(path, options)?.0)
}

/// Loads the definitions in a directory without settings that may also contain stacks and files of other programs. Also
/// returns the files that cannot be parsed, which may define anything.
///
/// # Errors
/// Everything that is wrong in a file that defines something, or a directory that cannot be walked.
pub fn definitions_below(directory: &Path, options: &LoadOptions) -> Result<(Loaded, Vec<UnparsedFile>), Diagnostics> {
    let (origin, stacks) = (on_disk(directory, options)?, BTreeSet::from_iter(stacks_below(directory)?));
    let in_stack = |path: &str| directory.join(path).ancestors().any(|above| stacks.contains(above));
    let mut files = origin.list(&FileFilter::new(&Config::default(), None), &mut Vec::new());
    files.retain(|path| !in_stack(path));
    let (mut defining, mut unparsed) = (BTreeMap::new(), Vec::new());
    for path in files {
        let Ok(bytes) = origin.read(&path) else { continue };
        match defined_kinds(&path, &bytes) {
            None => unparsed.push(UnparsedFile::new(path, &bytes)),
            Some(kinds) if kinds.is_empty() => {}
            Some(_) => _ = defining.insert(path, bytes),
        }
    }
    let loaded = load(FileOrigin::Memory { files: defining }, options);
    loaded.map(|loaded| (loaded, unparsed)).map_err(|found| found.below(directory.to_owned()))
}

/// Loads a stack whose files are in memory, `trueup.yaml` among them if it has one.
///
/// # Errors
/// Everything that is wrong in any file.
pub fn sources(files: Vec<SourceFile>, options: &LoadOptions) -> Result<Loaded, Diagnostics> {
    let files = files.into_iter().map(|file| (file.path.into(), file.bytes)).collect();
    load(FileOrigin::Memory { files }, options)
}

/// Why a stack with these settings would not read the file at `path`, relative to its directory, as definitions or as
/// a whole object of the chosen environment.
pub fn left_out(config: &Config, environment: Option<&str>, path: &str) -> Option<String> {
    let filter = FileFilter::new(config, environment);
    if let Some(overlay) = filter.overlay_of(path).filter(|overlay| config.own_overlay.as_ref() != Some(overlay)) {
        return Some(format!("`{overlay}` is the overlay of another environment"));
    }
    let is_read = !is_hidden(path) && filter.selects(path, StackFile::Found, &mut Vec::new());
    (!is_read).then(|| format!("the settings in trueup.yaml exclude `{path}`"))
}

/// The settings in the bytes of a `trueup.yaml` from another time or place; the defaults without one.
///
/// # Errors
/// Everything that is wrong in them.
pub fn settings_of(bytes: Option<Vec<u8>>, options: &LoadOptions) -> Result<Config, Diagnostics> {
    let files = bytes.into_iter().map(|bytes| (config::FILE.into(), bytes)).collect();
    sound_config(&FileOrigin::Memory { files }, options)
}

/// The files that `path` selects, of definitions and of the overlays of every environment, in canonical form.
///
/// # Errors
/// Settings that are wrong, or files that cannot be read or parsed.
pub fn format(path: &Path, options: &LoadOptions) -> Result<format::Formatted, Diagnostics> {
    // The overlays of every environment are formatted, whichever is chosen.
    let options = LoadOptions { environment: None, ..options.clone() };
    let (given, origin) = (resolved(path)?, on_disk(path, &options)?);
    // Without the settings, files that they exclude would be written.
    let config = sound_config(&origin, &options)?;
    let (directory, mut problems) = (origin.root(), Vec::new());
    let mut files = format::files(&origin, &config, &mut problems);
    let is_whole = given == directory;
    if !is_whole {
        let below = source::relative(&directory, &given);
        files.retain(|file| **file == *below || file.strip_prefix(&*below).is_some_and(|rest| rest.starts_with('/')));
    }
    if !problems.is_empty() {
        return Err(Diagnostics::new(problems, files.len()).below(directory));
    }
    Ok(format::Formatted { is_whole, ..format::formatted(&origin, &files, directory)? })
}

/// The path that a call names, with links resolved.
fn resolved(path: &Path) -> Result<PathBuf, Diagnostic> {
    // Anyone who can change the repository can put a link there.
    if let Some(directory) = file::leads_out(path).map_err(|error| unreadable(path, error))? {
        let what = format!("`{}` leads out of `{}` through a symbolic link", path.display(), directory.display());
        return Err(Diagnostic::without_place(what, "give the path that the link leads to"));
    }
    file::real_path(path).map_err(|error| unreadable(path, error))
}

fn unreadable(path: &Path, error: impl std::fmt::Display) -> Diagnostic {
    let what = format!("`{}` cannot be read: {error}", path.display());
    Diagnostic::without_place(what, "give the directory of the definitions")
}

/// The files of the stack that a path lies in; without settings, a path to a file is the only file.
fn on_disk(path: &Path, options: &LoadOptions) -> Result<FileOrigin, Diagnostic> {
    let (root, stack) = root_of(path, options)?;
    let (directory, whole) = match root.is_dir() {
        true => (&*root, None),
        false => (root.parent().unwrap_or(&root), root.file_name().map(|name| name.to_string_lossy().into())),
    };
    let directory = Directory::open(directory).map_err(|error| unreadable(&root, error))?;
    Ok(FileOrigin::Disk { directory, whole, stack })
}

/// The stack's directory and whether it has settings; the path itself where there are none.
fn root_of(path: &Path, options: &LoadOptions) -> Result<(PathBuf, StackFile), Diagnostic> {
    let given = resolved(path)?;
    if let Some(file) = &options.config {
        let unreadable = |why: String| {
            let what = format!("`{}` is not a settings file: {why}", file.display());
            Diagnostic::without_place(what, format!("name a {}", config::FILE))
        };
        let file = resolved(file).map_err(|problem| unreadable(problem.message))?;
        let root = file.parent().filter(|_| file.file_name().is_some_and(|name| name == config::FILE));
        let root = root.ok_or_else(|| unreadable(format!("it is not called `{}`", config::FILE)))?;
        if !given.starts_with(root) {
            let what = format!("`{}` is outside of the stack in `{}`", given.display(), root.display());
            return Err(Diagnostic::without_place(what, "give a path in the stack's directory"));
        }
        return Ok((root.to_owned(), StackFile::Found));
    }
    for directory in given.ancestors().filter(|directory| directory.is_dir()) {
        // An entry that is not a readable file is an error later, never a stack without settings.
        if file::exists(&directory.join(config::FILE)) {
            return Ok((directory.to_owned(), StackFile::Found));
        }
        // Directories above the repository do not belong to it.
        if directory.join(".git").exists() {
            break;
        }
    }
    Ok((given, StackFile::Missing))
}

fn load(origin: FileOrigin, options: &LoadOptions) -> Result<Loaded, Diagnostics> {
    let (root, stack, mut problems) = (origin.root(), origin.stack(), Vec::new());
    let config = config_of(&origin, options, &mut problems);
    if !options.variables.is_empty() {
        note_secrets_of(&origin, &config, options);
    }
    if options.environment.as_ref().is_some_and(|name| !config.environments.contains_key(name)) {
        // Without the intended variables and overlays, definitions would only be reported as incomplete.
        return Err(Diagnostics::new(problems, 1).below(root));
    }
    let text = || origin.text(&config::FILE.into()).ok();
    let settings = SettingPlaces::new(&text);
    let filter = FileFilter::new(&config, options.environment.as_deref());
    let mut ineffective = Vec::new();
    let files = origin.list(&filter, &mut problems);
    // Files of another commit cannot be fixed, so these checks do not apply to them.
    if let FileOrigin::Disk { directory, .. } = &origin {
        problems.extend(filter.unread_overlays(directory.path(), &files, &settings));
        let (wrong, notes) = filter.unmatched_globs(directory.path(), &files, &settings);
        problems.extend(wrong);
        ineffective.extend(notes);
    }
    let (overlay_files, files): (Vec<_>, Vec<_>) = files.into_iter().partition(|file| filter.is_overlay(file));
    let variables = Variables::of_stack(&config, options);
    let texts = overlay_files.iter().filter_map(|file| read_or_noted(origin.text(file), &mut problems));
    let texts: Vec<SourceText> = texts.collect();
    ineffective.extend(texts.iter().filter_map(|text| empty(text, "it changes nothing")));
    let overlays = Overlays::read(&texts, &filter, &variables, &mut problems);
    let context = ReadContext { config: &config, variables: &variables, overlays };
    let at_a_time = options.threads.map_or(STRIDE, |threads| files.len().div_ceil(threads));
    let reads = share::each(&mut files.iter().collect::<Vec<_>>(), at_a_time, || {
        let mut reader = origin.files();
        let context = &context;
        move |file: &mut &Arc<str>| read_file(&mut reader, file, context)
    });
    let mut all = FileRead { found: Vec::with_capacity(reads.len()), problems, ..FileRead::default() };
    for read in reads {
        all.found.extend(read.found);
        all.removed.extend(read.removed);
        all.problems.extend(read.problems);
        all.notes.extend(read.notes);
    }
    let count = files.len() + overlay_files.len() + usize::from(stack == StackFile::Found);
    if let Some(problem) = variables.too_much() {
        return Err(Diagnostics::new(vec![problem], count).below(root));
    }
    leftover_overlays(&context, &mut all);
    let FileRead { found, removed, mut problems, notes } = all;
    let removed: BTreeMap<_, _> = removed.into_iter().collect();
    let definitions = unique(found, &origin, &context, &mut problems);
    let lacking = variables.without_environment(&config);
    let lacks_environment = lacking.is_some() && problems.is_empty();
    problems.extend(lacking);
    let mut unused = BTreeSet::new();
    let is_defined = |key: &Key| definitions.contains_key(key) || removed.contains_key(key);
    let mut found = rules::ignored_in_vain(&config, &settings, is_defined);
    if problems.is_empty() {
        // An overlay of another environment may use a variable, too.
        let written: LazyCell<BTreeSet<String>, _> = LazyCell::new(|| {
            let every = format::files(&origin, &config, &mut Vec::new());
            let every: BTreeSet<&Arc<str>> = files.iter().chain(&every).collect();
            let texts = every.into_iter().filter_map(|file| origin.text(file).ok());
            let names = |text: SourceText| variable::names(text.as_str()).into_iter().map(str::to_owned).collect();
            texts.flat_map::<Vec<String>, _>(names).collect()
        });
        for (name, problem) in variables.unused(&config, &settings, |name| written.contains(name)) {
            match options.shares_variables && config.undeclared.contains(name) {
                true => drop(unused.insert(name.clone())),
                false => found.push(problem),
            }
        }
    }
    // As above: not for files of another commit.
    if matches!(origin, FileOrigin::Disk { .. }) {
        let (wrong, in_vain): (Vec<_>, Vec<_>) = found.into_iter().partition(|one| one.severity == Severity::Error);
        problems.extend(wrong);
        ineffective.extend(in_vain);
    }
    if !problems.is_empty() {
        return Err(Diagnostics { lacks_environment, ..Diagnostics::new(problems, count) }.below(root));
    }
    let desired = Desired { definitions, files: files.len() };
    let notes = Diagnostics::new(ineffective.into_iter().chain(notes).collect(), count).list;
    let (origin, options) = (Arc::new(origin), options.clone());
    Ok(Loaded { config, root, stack, desired, removed, notes, unused, origin, options })
}

/// The settings, or their problems.
fn sound_config(origin: &FileOrigin, options: &LoadOptions) -> Result<Config, Diagnostics> {
    let mut problems = Vec::new();
    let config = config_of(origin, options, &mut problems);
    if problems.is_empty() { Ok(config) } else { Err(Diagnostics::new(problems, 1).below(origin.root())) }
}

fn config_of(origin: &FileOrigin, options: &LoadOptions, problems: &mut Vec<Diagnostic>) -> Config {
    let source = match origin.stack() {
        StackFile::Found => origin.text(&config::FILE.into()),
        StackFile::Missing => Ok(SourceText::inline(config::FILE, "{}")),
    };
    let source = read_or_noted(source, problems);
    source.map(|source| config::read(&source, options, problems)).unwrap_or_default()
}

fn read_file(reader: &mut Files<'_>, file: &Arc<str>, context: &ReadContext<'_>) -> FileRead {
    let mut read = FileRead::default();
    let text = reader.read(file).and_then(|bytes| Ok(SourceText::new(file, bytes)?));
    let Some(source) = read_or_noted(text, &mut read.problems) else { return read };
    // The objects that it defined would be deleted. An empty .json file is an error.
    if source.language() != Language::Json
        && let Some(note) = empty(&source, "it defines nothing")
    {
        read.notes.push(note);
        return read;
    }
    if !source.needs_care()
        && let Some(found) = read_fast(&source, context)
    {
        return FileRead { found, ..read };
    }
    if source.language() == Language::Json && fast::is_other_kind(source.as_str().as_bytes()) {
        return read;
    }
    careful::read(&source, context)
}

/// A note about an empty file.
fn empty(source: &SourceText, label: &str) -> Option<Diagnostic> {
    let is_empty = source.as_str().trim().is_empty();
    is_empty.then(|| Diagnostic::error("the file is empty", source, 0..0, label).into_note())
}

/// The file's definitions; `None` where the careful reader has to read it.
fn read_fast(source: &SourceText, context: &ReadContext<'_>) -> Option<Vec<Definition>> {
    let documents = fast::read(source)?;
    let mut found = Vec::with_capacity(documents.len());
    for (document, plain) in documents.into_iter().enumerate() {
        let PlainDocument { kind, metadata, spec } = plain;
        if !model::warnings(kind, &metadata).is_empty() {
            return None;
        }
        let (object, problems) = object::assembled(kind, metadata, Some(spec), context.config);
        let endpoint = object.ok().filter(|_| problems.is_empty())?;
        if context.overlays.changes(&endpoint.key) {
            return None;
        }
        found.push(Definition {
            endpoint,
            file: source.path.clone(),
            document,
            overlays: Vec::new(),
            sealed: SealedSecrets::default(),
        });
    }
    Some(found)
}

/// Overlays without a definition: whole endpoints of the environment, or mistakes.
fn leftover_overlays(context: &ReadContext<'_>, read: &mut FileRead) {
    let left = context.overlays.left(&mut read.problems);
    if left.is_empty() {
        return;
    }
    let defined = DefinedKeys::new(read.found.iter().map(|found| found.endpoint.key.to_string()));
    let mut whole = Vec::new();
    for (key, overlay, mut item, applied) in left {
        let mut inner = Vec::new();
        variable::substitute(&mut item, context.variables, &mut inner);
        if definition::is_other_kind(&item) {
            continue;
        }
        match object::examine(&item, context.config) {
            Ok(Examined { endpoint, sealed, notes }) if inner.is_empty() && !overlay.is_about_removal() => {
                if let Some(at) = applied.removed {
                    read.removed.push((endpoint.key, at.location()));
                    continue;
                }
                let from = read.notes.len();
                read.notes.extend(overlay.beside(key, &defined));
                read.notes.extend(notes);
                conceal(context.overlays.secrets(key), &mut read.notes[from..]);
                whole.push(Definition {
                    endpoint,
                    file: overlay.source.path.clone(),
                    document: overlay.document,
                    overlays: applied.files,
                    sealed,
                });
            }
            examined => {
                let from = read.problems.len();
                read.problems.push(overlay.without_base(key, &defined));
                if let (Err(problems), false) = (examined, overlay.is_about_removal()) {
                    // Missing values are expected in the definition.
                    let wrong = problems.into_iter().filter(|problem| !problem.is_about_absence());
                    read.problems.extend(inner.into_iter().chain(wrong));
                }
                conceal(context.overlays.secrets(key), &mut read.problems[from..]);
            }
        }
    }
    read.found.extend(whole);
}

/// The definitions by key; a duplicate is a problem with both places.
fn unique(
    mut found: Vec<Definition>,
    origin: &FileOrigin,
    context: &ReadContext<'_>,
    problems: &mut Vec<Diagnostic>,
) -> std::collections::BTreeMap<model::Key, Definition> {
    // The sort is stable: among equal keys the first file stays first.
    found.sort_by(|a, b| a.endpoint.key.cmp(&b.endpoint.key));
    let same = found.chunk_by(|a, b| a.endpoint.key == b.endpoint.key);
    let twice: Vec<_> = same.flat_map(|same| same[1..].iter().map(|second| (&same[0], second))).collect();
    problems.extend(source_map::twice(&twice[..twice.len().min(MOST_TWICE)], origin, context));
    if twice.len() > MOST_TWICE {
        let what = format!("{} more duplicate definitions", twice.len() - MOST_TWICE);
        problems.push(Diagnostic::without_place(what, "fix these first"));
    }
    found.into_iter().map(|definition| (definition.endpoint.key.clone(), definition)).collect()
}

#[cfg(test)]
mod growth_tests;
#[cfg(test)]
mod object_tests;
#[cfg(test)]
mod tests;
