use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use crate::api;
use crate::cli::args::PullArgs;
use crate::cli::exit_status::{CommandError, ExitStatus};
use crate::cli::{Context, definition, file, stack};
use crate::diff;
use crate::file::{FileError, FileMode, limit};
use crate::load::{self, Config, SourceFile};
use crate::model::{Live, LiveItem, LiveObject, Namespace, NamespaceRead};
use crate::plan::{MatchedFilters, Selection};
use crate::report::safe;
use crate::report::schema::{self, SchemaKind};

/// The schema's copy in the directory of a pull; hidden, so that it is no definition.
const SCHEMA: &str = ".trueup.schema.json";
/// The copy as the files name it, which lie one directory below.
const SCHEMA_FROM_A_FILE: &str = "../.trueup.schema.json";

/// Writes live endpoints as definitions.
pub async fn run(arguments: &PullArgs, context: &Context) -> Result<ExitStatus, CommandError> {
    if let Some(path) = &arguments.drift {
        return super::adopt::run(path, arguments, context).await;
    }
    let config = stack::configuration_for(context, &arguments.output)?;
    let selection = stack::selection(&arguments.filter)?;
    let namespaces = namespaces(arguments, &config)?;
    let connection = stack::connect(context, &config).await?;
    let live = api::fetch(&connection.reader()?, &namespaces).await;
    connection.close().await;
    complete(&live)?;
    let stack = PullTarget::new(arguments, context, config);
    let pulled = pulled(arguments, context, (&live, &selection), &stack);
    if pulled.is_empty() && !selection.is_all() {
        let mut matched = MatchedFilters::default();
        for read in live.namespaces.values() {
            let NamespaceRead::Complete { items } = read else { continue };
            for (key, item) in items {
                let endpoint = match item {
                    LiveItem::Object(object) => Some(&object.endpoint),
                    LiveItem::Unsupported(_) => None,
                };
                selection.note(&mut matched, key, None, endpoint);
            }
        }
        if let Some(unmatched) = selection.unmatched(&matched) {
            return Err(stack::unmatched(unmatched));
        }
    }
    let written = write(arguments, &pulled)?;
    context.output.answer(&summary(&arguments.output, &pulled, written));
    Ok(ExitStatus::Done)
}

/// A file to be.
struct Pulled {
    path: PathBuf,
    text: String,
}

fn namespaces(arguments: &PullArgs, config: &Config) -> Result<BTreeSet<Namespace>, CommandError> {
    if !arguments.filter.namespace.is_empty() {
        return arguments.filter.namespace.iter().map(|name| stack::namespace(name)).collect();
    }
    if config.namespaces.is_empty() {
        return Err(CommandError::words(ExitStatus::Usage, "no namespace is named")
            .hint("give --namespace, or list them under `namespaces:` in trueup.yaml"));
    }
    Ok(config.namespaces.iter().cloned().collect())
}

/// Nothing is written from a read that is not complete.
fn complete(live: &Live) -> Result<(), CommandError> {
    let unknown = live.namespaces.iter().find_map(|(namespace, read)| match read {
        NamespaceRead::Unknown { reason } => Some((namespace, reason)),
        NamespaceRead::Complete { .. } => None,
    });
    match unknown {
        None => Ok(()),
        Some((namespace, reason)) => {
            let message = format!("the list of `{namespace}` cannot be trusted: {reason}");
            Err(CommandError::words(ExitStatus::Unknown, message).hint("nothing was written"))
        }
    }
}

/// The stack that is written into.
struct PullTarget {
    config: Config,
    environment: Option<String>,
    /// From the stack's directory to that of the pull, with `/` at its end where it is not empty.
    below: String,
}

impl PullTarget {
    fn new(arguments: &PullArgs, context: &Context, config: Config) -> Self {
        let output = arguments.output.as_path();
        let there = output.ancestors().find(|ancestor| ancestor.is_dir()).unwrap_or(Path::new("."));
        let rest = output.strip_prefix(there).unwrap_or(output);
        let full = there.canonicalize().map(|there| there.join(rest)).unwrap_or_default();
        let root = stack::root(context, there).unwrap_or_default();
        let below = full.strip_prefix(root).map(|below| below.to_string_lossy().into_owned()).unwrap_or_default();
        let below = if below.is_empty() { below } else { format!("{below}/") };
        let environment = stack::options(context).ok().and_then(|options| options.environment);
        Self { config, environment, below }
    }

    /// Why a later load would refuse the file, pass over it or read something else.
    fn refuses(&self, object: &LiveObject, path: &Path, text: &str) -> Option<String> {
        let namespaces = &self.config.namespaces;
        if !namespaces.is_empty() && !namespaces.contains(&object.endpoint.key.namespace) {
            return Some("`namespaces:` of trueup.yaml does not list its namespace".to_owned());
        }
        let path = format!("{}{}", self.below, path.display());
        if !load::takes(&self.config, self.environment.as_deref(), &path) {
            return Some(format!("the settings in trueup.yaml pass over `{path}`"));
        }
        let file = SourceFile { path, bytes: text.as_bytes().to_vec() };
        let options = load::LoadOptions { threads: Some(1), ..load::LoadOptions::default() };
        match load::sources(vec![file], &options) {
            Err(diagnostics) => {
                let first = diagnostics.list.first().map(|first| first.message.as_str()).unwrap_or_default();
                Some(format!("a definition may not say what it holds: {first}"))
            }
            Ok(loaded) => {
                let read = loaded.desired.definitions.get(&object.endpoint.key);
                let same = read.is_some_and(|read| {
                    let context = diff::Context { applied: None, ignored: &[] };
                    diff::compare(&object.endpoint, &read.endpoint, context).is_empty()
                });
                (!same).then(|| "a definition would read it otherwise".to_owned())
            }
        }
    }
}

fn pulled(
    arguments: &PullArgs,
    context: &Context,
    (live, selection): (&Live, &Selection),
    stack: &PullTarget,
) -> Vec<Pulled> {
    let items = live.namespaces.values().filter_map(|read| match read {
        NamespaceRead::Complete { items } => Some(items.values()),
        NamespaceRead::Unknown { .. } => None,
    });
    let mut pulled = Vec::new();
    for item in items.flatten() {
        let object = match item {
            LiveItem::Object(object) => object,
            LiveItem::Unsupported(unsupported) => {
                skip(context, item, &format!("this trueup cannot hold it: {}", unsupported.reason));
                continue;
            }
        };
        if !selection.selects(item.key(), None, Some(&object.endpoint)) {
            continue;
        }
        let path = path(object);
        let text = definition::text(&object.endpoint, &object.unknown, schema(arguments));
        match reason_to_skip(object).or_else(|| stack.refuses(object, &path, &text)) {
            Some(reason) => skip(context, item, &reason),
            None => {
                for field in &object.unknown {
                    let (key, path) = (item.key().to_string(), safe::line(&field.path));
                    let message =
                        format!("not written: {} of {}: this trueup does not know it", path, safe::line(&key));
                    context.output.message(&message);
                }
                pulled.push(Pulled { path, text });
            }
        }
    }
    pulled
}

/// The schema that a file of the pull names: a URL, or the copy in the directory.
fn schema(arguments: &PullArgs) -> Option<&str> {
    match (&arguments.schema, arguments.no_schema) {
        (_, true) => None,
        (Some(url), false) => Some(url),
        (None, false) => Some(SCHEMA_FROM_A_FILE),
    }
}

fn reason_to_skip(object: &LiveObject) -> Option<String> {
    let key = &object.endpoint.key;
    if !key.namespace.is_label() || !key.name.is_label() {
        return Some("its name is none that a definition or a file may have".to_owned());
    }
    if let Some(owner) = &object.owner_view {
        return Some(format!("it belongs to {} {}/{}", owner.kind, owner.namespace, owner.name));
    }
    object.deleting.then(|| "it is being deleted".to_owned())
}

fn skip(context: &Context, item: &LiveItem, reason: &str) {
    let key = item.key().to_string();
    context.output.message(&format!("left out: {}: {}", safe::line(&key), safe::line(reason)));
}

/// Below the directory of the pull.
fn path(object: &LiveObject) -> PathBuf {
    let key = &object.endpoint.key;
    PathBuf::from(free(key.namespace.as_str())).join(format!("{}.yaml", free(key.name.as_str())))
}

/// The name of a file or a directory for an object's name. A name that means something else there gets
/// an end that no object's name has.
fn free(name: &str) -> String {
    const TAKEN: [&str; 5] = ["trueup", "con", "prn", "aux", "nul"];
    let numbered = ["com", "lpt"]
        .iter()
        .any(|device| name.strip_prefix(device).is_some_and(|number| matches!(number.as_bytes(), [b'0'..=b'9'])));
    if numbered || TAKEN.contains(&name) { format!("{name}_") } else { name.to_owned() }
}

/// Writes the files that are not there as they should be; gives how many.
fn write(arguments: &PullArgs, pulled: &[Pulled]) -> Result<usize, CommandError> {
    if pulled.is_empty() {
        return Ok(0);
    }
    let failed = |error| file::hinted(ExitStatus::Failed, error);
    let directory = crate::file::create_directory(&arguments.output).map_err(failed)?;
    let mut news = Vec::new();
    let mut there = Vec::new();
    for one in pulled {
        match directory.read(&one.path, limit::SETTINGS) {
            Ok(text) if text == one.text.as_bytes() => {}
            Err(error) if error.is_missing() => news.push(one),
            Ok(_) | Err(FileError::TooLarge { .. }) if arguments.overwrite => news.push(one),
            Ok(_) | Err(FileError::TooLarge { .. }) => {
                there.push(arguments.output.join(&one.path).display().to_string());
            }
            Err(error) => return Err(failed(error).hint("nothing was written")),
        }
    }
    if let Some(first) = there.first() {
        let message = match there.len() {
            1 => format!("`{first}` is there already"),
            more => format!("`{first}` and {} more files are there already", more - 1),
        };
        return Err(CommandError::words(ExitStatus::Refused, message)
            .hint("write over them with --overwrite; nothing was written"));
    }
    for one in &news {
        directory.replace(&one.path, one.text.as_bytes(), FileMode::Reproducible).map_err(failed)?;
    }
    if arguments.schema.is_none() && !arguments.no_schema {
        let schema = format!("{:#}\n", schema::of(SchemaKind::Definition));
        directory.replace(SCHEMA, schema.as_bytes(), FileMode::Reproducible).map_err(failed)?;
    }
    Ok(news.len())
}

fn summary(directory: &Path, pulled: &[Pulled], written: usize) -> String {
    let (directory, same) = (directory.display().to_string(), pulled.len() - written);
    let endpoints = if pulled.len() == 1 { "1 endpoint" } else { &format!("{} endpoints", pulled.len()) };
    let same = if same == 0 { String::new() } else { format!(", {same} of them as they were") };
    format!(
        "Pulled {endpoints} into {directory}{same}.\nNext:  trueup plan {directory}\n",
        directory = safe::line(&directory)
    )
}
