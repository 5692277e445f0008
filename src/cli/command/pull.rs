use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use crate::api;
use crate::cli::args::Pull;
use crate::cli::ending::{Ending, Error};
use crate::cli::{Context, definition, file, stack};
use crate::file::{Content, FileError, limit};
use crate::load::Config;
use crate::model::{Live, LiveItem, LiveObject, Namespace, NamespaceRead};
use crate::plan::Selection;
use crate::report::safe;
use crate::report::schema::{self, Of};

/// The schema's copy in the directory of a pull; hidden, so that it is no definition.
const SCHEMA: &str = ".trueup.schema.json";
/// The copy as the files name it, which lie one directory below.
const SCHEMA_FROM_A_FILE: &str = "../.trueup.schema.json";

/// Writes live endpoints as definitions.
pub async fn run(arguments: &Pull, context: &Context) -> Result<Ending, Error> {
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
    let pulled = pulled(arguments, context, &live, &selection);
    let written = write(arguments, &pulled)?;
    context.output.answer(&told(&arguments.output, &pulled, written));
    Ok(Ending::Done)
}

/// A file to be.
struct Pulled {
    path: PathBuf,
    text: String,
}

fn namespaces(arguments: &Pull, config: &Config) -> Result<BTreeSet<Namespace>, Error> {
    if !arguments.filter.namespace.is_empty() {
        return arguments.filter.namespace.iter().map(|name| stack::namespace(name)).collect();
    }
    if config.namespaces.is_empty() {
        return Err(Error::words(Ending::Usage, "no namespace is named")
            .hint("give --namespace, or list them under `namespaces:` in trueup.yaml"));
    }
    Ok(config.namespaces.iter().cloned().collect())
}

/// Nothing is written from a read that is not complete.
fn complete(live: &Live) -> Result<(), Error> {
    let unknown = live.namespaces.iter().find_map(|(namespace, read)| match read {
        NamespaceRead::Unknown { reason } => Some((namespace, reason)),
        NamespaceRead::Complete { .. } => None,
    });
    match unknown {
        None => Ok(()),
        Some((namespace, reason)) => {
            let told = format!("the list of `{namespace}` cannot be trusted: {reason}");
            Err(Error::words(Ending::Unknown, told).hint("nothing was written"))
        }
    }
}

fn pulled(arguments: &Pull, context: &Context, live: &Live, selection: &Selection) -> Vec<Pulled> {
    let items = live.namespaces.values().filter_map(|read| match read {
        NamespaceRead::Complete { items } => Some(items.values()),
        NamespaceRead::Unknown { .. } => None,
    });
    let mut pulled = Vec::new();
    for item in items.flatten() {
        let object = match item {
            LiveItem::Object(object) => object,
            LiveItem::Unheld(unheld) => {
                skip(context, item, &format!("this trueup cannot hold it: {}", unheld.reason));
                continue;
            }
        };
        if !selection.selects(item.key(), None, Some(&object.endpoint)) {
            continue;
        }
        match reason_to_skip(object) {
            Some(reason) => skip(context, item, &reason),
            None => {
                for field in &object.unknown {
                    let (key, path) = (item.key().to_string(), safe::line(&field.path));
                    let told = format!("not written: {} of {}: this trueup does not know it", path, safe::line(&key));
                    context.output.message(&told);
                }
                pulled.push(Pulled {
                    path: path(object),
                    text: definition::text(&object.endpoint, &object.unknown, schema(arguments)),
                });
            }
        }
    }
    pulled
}

/// The schema that a file of the pull names: a URL, or the copy in the directory.
fn schema(arguments: &Pull) -> Option<&str> {
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
    Path::new(key.namespace.as_str()).join(format!("{}.yaml", key.name))
}

/// Writes the files that are not there as they should be; gives how many.
fn write(arguments: &Pull, pulled: &[Pulled]) -> Result<usize, Error> {
    if pulled.is_empty() {
        return Ok(0);
    }
    let failed = |error| file::hinted(Ending::Failed, error);
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
        let told = match there.len() {
            1 => format!("`{first}` is there already"),
            more => format!("`{first}` and {} more files are there already", more - 1),
        };
        return Err(Error::words(Ending::Refused, told).hint("write over them with --overwrite; nothing was written"));
    }
    for one in &news {
        directory.replace(&one.path, one.text.as_bytes(), Content::Reproducible).map_err(failed)?;
    }
    if arguments.schema.is_none() && !arguments.no_schema {
        let schema = format!("{:#}\n", schema::of(Of::Definition));
        directory.replace(SCHEMA, schema.as_bytes(), Content::Reproducible).map_err(failed)?;
    }
    Ok(news.len())
}

fn told(directory: &Path, pulled: &[Pulled], written: usize) -> String {
    let (directory, same) = (directory.display().to_string(), pulled.len() - written);
    let endpoints = if pulled.len() == 1 { "1 endpoint" } else { &format!("{} endpoints", pulled.len()) };
    let same = if same == 0 { String::new() } else { format!(", {same} of them as they were") };
    format!(
        "Pulled {endpoints} into {directory}{same}.\nNext:  trueup plan {directory}\n",
        directory = safe::line(&directory)
    )
}
