//! Definition files as `pull` and `import` write them: where each is written, whether a load reads it back as the
//! same endpoint, and how they are written without replacing another's work.

use std::sync::Arc;

use crate::cli::args::DefinitionFileArgs;
use crate::cli::call::Call;
use crate::cli::commits::base;
use crate::cli::context::LazyRepository;
use crate::cli::definition::{self, DefinitionOptions};
use crate::cli::prelude::*;
use crate::cli::{CommandResult as _, Context, ExitStatus, Result, file, settings};
use crate::file::{FileEdit, FileMode, real_path_or_given, slashed};
use crate::load::UnparsedFile;
use crate::load::config::FileGlobs;
use crate::model::{Definition, Object, SourceLocation, gathered};
use crate::report::schema::{self, DefinitionKind};

/// The schema's copy in the directory that is written; hidden, so that it is not taken for a definition.
const SCHEMA: &str = ".trueup.schema.json";

/// A file that is to be written.
pub struct DefinitionFile {
    pub kind: KindName,
    path: String,
    text: String,
}

/// The stack whose definitions are written.
pub struct DefinitionTarget<'a> {
    arguments: &'a DefinitionFileArgs,
    config: Config,
    environment: Option<String>,
    /// The stack's directory.
    root: PathBuf,
    /// From the stack's directory to that of the files, with `/` at its end if it is not empty.
    below: String,
    /// Whether the output directory has no settings, and has files that need not be definitions.
    has_others: bool,
    /// The files of the directory that cannot be parsed.
    unparsed: Vec<UnparsedFile>,
    /// The existing definitions.
    defined: BTreeMap<Key, Definition>,
    /// The keys of the existing definitions, by file.
    files: BTreeMap<Arc<str>, Vec<Key>>,
    /// The definitions that an overlay of the environment removes.
    removed: BTreeMap<Key, SourceLocation>,
    /// The call, for a command about the files.
    call: Call,
}

impl<'a> DefinitionTarget<'a> {
    /// The stack around the directory that the arguments name.
    ///
    /// # Errors
    /// The path has `..` after a directory that does not exist; or the stack cannot be loaded or lacks files, so that
    /// it is unknown which files define what.
    pub fn new(arguments: &'a DefinitionFileArgs, context: &Context, mut config: Config) -> Result<Self> {
        let full = file::full(&arguments.output)?;
        let there = full.ancestors().find(|ancestor| ancestor.is_dir()).unwrap_or(&full);
        let options = settings::load_options(context);
        let mut call = context.call.clone();
        // `--config` may name settings of another directory: then their files and environments do not apply here.
        let root = load::root(there, &options).unwrap_or_else(|_| {
            let url = config.base_url.iter().chain(call.values("base_url")).next().cloned();
            call = call.clone().without("config env stack var").with("base_url", url);
            config.files = FileGlobs::default();
            full.clone()
        });
        // Without settings, the directories around are not a stack, and files need not be definitions.
        let has_settings = crate::file::exists(&root.join(config::FILE));
        let options = if has_settings { options } else { LoadOptions { config: None, environment: None, ..options } };
        let whole = (has_settings || full == there).then(|| load::directory(&root, &options));
        let has_others = !has_settings && matches!(whole, Some(Err(_)));
        let whole = whole.map(|whole| whole.map(|loaded| (loaded, Vec::new())));
        let loaded = if has_others { Some(load::definitions_below(&root, &options)) } else { whole };
        let loaded = loaded.transpose().map_err(|found| context.wrong(&found).hint("nothing was written"))?;
        let (loaded, unparsed) = loaded.unzip();
        let whole = match loaded.as_ref().filter(|_| has_settings) {
            Some(loaded) => base::check_whole(loaded, &LazyRepository::new(context, &root)),
            None => {
                let below = full.strip_prefix(there).map(slashed).unwrap_or_default();
                base::check_output(&LazyRepository::new(context, there), &below)
            }
        };
        whole.hint("nothing was written")?;
        let (defined, removed) = loaded.map(|loaded| (loaded.desired.definitions, loaded.removed)).unwrap_or_default();
        let files = gathered(defined.iter().map(|(key, definition)| (definition.file.clone(), key.clone())));
        let below = full.strip_prefix(&root).ok().filter(|_| has_settings).map(slashed).unwrap_or_default();
        let below = if below.is_empty() { below } else { format!("{below}/") };
        let environment = context.global.env.clone();
        let unparsed = unparsed.unwrap_or_default();
        Ok(Self { arguments, config, environment, root, below, has_others, unparsed, defined, files, removed, call })
    }

    /// Why an endpoint is left out: the settings do not list it, remove it, or exclude its file; or its file is another
    /// stack's; or another file defines it, or its file defines another one.
    pub fn leaves_out(&self, key: &Key) -> Option<String> {
        let namespaces = &self.config.namespaces;
        if !namespaces.is_empty() && !namespaces.contains(&key.namespace) {
            return Some("`namespaces:` of trueup.yaml does not list its namespace".to_owned());
        }
        if let Some(place) = self.removed.get(key) {
            return Some(format!("the overlay {} removes it", place.file));
        }
        let (output, own) = (&self.arguments.output, load::file_of(key));
        let (path, own) = (self.below(&own), output.join(own));
        let mut directories = own.ancestors().skip(1).take_while(|directory| directory != output);
        if let Some(stack) = directories.find(|directory| crate::file::exists(&directory.join(config::FILE))) {
            return Some(format!("`{}` is another stack: to write into it, give it with -o", stack.display()));
        }
        if let Some(Definition { file, overlays, endpoint, .. }) = self.defined.get(key) {
            if **file != *path {
                return Some(format!("`{file}` defines it"));
            }
            let hides = |(unit, value): (&str, serde_json::Value)| endpoint.spec.has_hidden(unit, &value);
            if endpoint.spec.units().any(hides) {
                let reason = "no answer shows all that its file has, such as a secret; `pull --drift` edits it";
                return Some(reason.to_owned());
            }
            if let Some(overlay) = overlays.last() {
                return Some(format!("the overlay {overlay} changes it; `pull --drift` edits it in place"));
            }
        }
        if let Some(other) = self.files.get(&*path).into_iter().flatten().find(|other| *other != key) {
            return Some(format!("its file `{path}` defines {other}, too"));
        }
        let written = crate::file::read(&own, limit::DEFINITIONS).unwrap_or_default();
        if !load::variables_in(&String::from_utf8_lossy(&written)).is_empty() {
            return Some("variables are in its file; `pull --drift` edits it in place".to_owned());
        }
        // Other documents in an overlay remove or change other objects.
        let has_others = load::has_others(&path, &written, key);
        if has_others == Some(true) {
            return Some(format!("its file `{path}` has other documents, too"));
        }
        let elsewhere = self.unparsed.iter().find(|file| file.mentions(key)).map(|file| &*file.path);
        let own = (has_others.is_none() && !self.files.contains_key(&*path)).then_some(&*path);
        if let Some(path) = own.or(elsewhere) {
            let way = "correct or move it, or exclude it by `files:` of a trueup.yaml";
            return Some(format!("what `{path}` defines cannot be read: {way}"));
        }
        key.is_plain().then(|| load::left_out(&self.config, self.environment.as_deref(), &path))?
    }

    /// The path from the directory of the stack.
    fn below(&self, path: &str) -> String {
        format!("{}{path}", self.below)
    }

    /// The file of an endpoint, or why no definition can describe it.
    pub fn file(&self, endpoint: &Object, options: DefinitionOptions<'_>) -> Result<DefinitionFile, String> {
        let key = &endpoint.key;
        if !key.is_plain() {
            return Err("its name is not valid for a definition or a file".to_owned());
        }
        let path = load::file_of(key);
        if !load::can_be_named(&path) {
            return Err("its name is too long for a file".to_owned());
        }
        let schema = schema(self.arguments, &path);
        let text = definition::text(endpoint, DefinitionOptions { schema: schema.as_deref(), ..options });
        match definition::refused(endpoint, &self.below(&path), &text) {
            Some(reason) => Err(reason),
            None => Ok(DefinitionFile { kind: key.kind, path, text }),
        }
    }

    /// Writes the files that differ from the existing ones, and the schema for their kinds, the `named` kinds and those
    /// of the stack; returns how many files it wrote.
    ///
    /// # Errors
    /// A file with another content exists and must not be replaced, or a file cannot be written, or was edited meanwhile.
    pub fn write(&self, named: &BTreeSet<KindName>, files: &[DefinitionFile]) -> Result<usize> {
        let arguments = self.arguments;
        if files.is_empty() {
            return Ok(0);
        }
        let directory = crate::file::create_directory(&arguments.output).with_status(ExitStatus::Failed)?;
        let mut edits = Vec::new();
        let mut there = Vec::new();
        for one in files {
            let (path, now) = (one.path.as_str(), one.text.as_bytes());
            match directory.read(path, limit::SAVED) {
                Ok(before) if before == now => {}
                Ok(_) if !arguments.overwrite => there.push(arguments.output.join(path).display().to_string()),
                Ok(before) => edits.push((path, FileEdit { before, now: now.into() })),
                Err(error) if error.is_missing() => {
                    edits.push((path, FileEdit { before: Vec::new(), now: now.into() }));
                }
                Err(error) => return Err(error).with_status(ExitStatus::Failed).hint("nothing was written"),
            }
        }
        if let Some(first) = there.first() {
            let message = match there.len() {
                1 => format!("`{first}` exists already"),
                all => format!("{all} files exist already, such as `{first}`"),
            };
            return Err(error!(Refused, "{message}").hint("to overwrite: --overwrite; nothing was written"));
        }
        let there = self.defined.keys().map(|key| key.kind);
        let kinds = named.iter().chain(&self.config.kinds).copied();
        let kinds: BTreeSet<KindName> = kinds.chain(files.iter().map(|file| file.kind)).chain(there).collect();
        let schema = format!("{:#}\n", schema::of_kinds(kinds.into_iter().map(KindName::kind), DefinitionKind::Whole));
        let new = edits.len();
        if arguments.schema.is_none() && !arguments.no_schema {
            let before = directory.read(SCHEMA, limit::SAVED).unwrap_or_default();
            edits.insert(0, (SCHEMA, FileEdit { before, now: schema.into() }));
        }
        file::edit_all(&directory, edits.iter().map(|(path, edit)| (*path, edit)), FileMode::Reproducible)?;
        Ok(new)
    }

    /// Prints how many files there are and what to do next.
    pub fn summarise(&self, context: &Context, verb: &str, files: &[DefinitionFile], written: usize) {
        if files.is_empty() {
            return context.output.answer_line(&format!("{verb} 0 objects: nothing was written."));
        }
        let endpoints = text::count(files.len(), KindName::noun(files.iter().map(|file| file.kind)));
        let same = files.len() - written;
        let same = if same == 0 { String::new() } else { format!(", {same} unchanged") };
        let (shown, flags) = (self.arguments.output.display().to_string(), self.call.settings());
        // `into .` with a full stop would read as `into ..`.
        let place = if shown == "." { "this directory" } else { &shown };
        context.output.answer_line(&format!("{verb} {endpoints} into {place}{same}."));
        let shown = safe::shell(&shown);
        let is_wrong = self.has_others && load::directory(&self.arguments.output, &LoadOptions::default()).is_err();
        if self.environment.is_some() && written > 0 {
            let own = self.config.own_overlay.as_deref().filter(|own| Path::new(&self.below).starts_with(own));
            warn_of_others(context, (&self.root, &self.config), own);
        }
        let next = if is_wrong { format!("validate {shown}") } else { format!("plan {shown}{flags}") };
        context.output.answer_line(&format!("Next:  trueup {next}"));
        if is_wrong {
            context.output.notice(
                "not every file there is a definition: move the others, or leave them out with `files:` in trueup.yaml",
            );
        }
    }
}

/// The other environments that read what is written in a stack: for an overlay, those that extend its environment or
/// use its directory, by whatever path.
pub fn others<'c>(
    context: &Context,
    (root, config): (&Path, &'c Config),
    overlay: Option<&str>,
) -> impl Iterator<Item = &'c String> {
    let real = |overlay: &str| real_path_or_given(&root.join(overlay));
    let here = overlay.map(real);
    let is_read = move |config: &Config| {
        here.as_ref().is_none_or(|here| config.overlays.iter().any(|overlay| real(overlay) == *here))
    };
    let others = config.environments.iter().filter(move |(_, config)| is_read(config)).map(|(name, _)| name);
    others.filter(move |name| context.global.env.as_ref() != Some(*name))
}

/// Says which environments beside the chosen one get what is written.
pub fn warn_of_others(context: &Context, (root, config): (&Path, &Config), overlay: Option<&str>) {
    let others: Vec<String> = others(context, (root, config), overlay).map(|other| format!("`{other}`")).collect();
    if !others.is_empty() {
        let (verb, others) = (if others.len() == 1 { "uses" } else { "use" }, others.join(", "));
        context.output.notice(&match overlay {
            Some(overlay) => format!("warning: the overlay {overlay} also changes {others}, which {verb} it, too"),
            None => format!("warning: what was written is also in {others}"),
        });
    }
}

/// The schema that a file names: a URL, or the copy in the directory that is written.
fn schema(arguments: &DefinitionFileArgs, path: &str) -> Option<String> {
    match (&arguments.schema, arguments.no_schema) {
        (_, true) => None,
        (Some(url), false) => Some(url.clone()),
        (None, false) => Some(format!("{}{SCHEMA}", "../".repeat(path.matches('/').count()))),
    }
}
