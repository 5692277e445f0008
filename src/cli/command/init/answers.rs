//! What a new stack should be: from the flags, from the questions that a person answers, and from defaults that the
//! directory suggests.

use std::path::Path;

use super::files::NewStack;
use crate::api::BaseUrl;
use crate::cli::args::setup::{Forge, InitArgs};
use crate::cli::context::Context;
use crate::cli::exit_status::CommandError;
use crate::cli::output::prompt;
use crate::cli::service::address::{self, UrlSources};
use crate::cli::service::contexts;
use crate::cli::{settings, stack};
use crate::load::Config;
use crate::model::{Name, Namespace};

/// The namespace of the example where none is given.
const NAMESPACE: &str = "shop";

/// The answers of a call.
pub struct Answers {
    /// The stack.
    pub stack: NewStack,
    /// The pipelines to write.
    pub forge: Forge,
}

/// Takes the answers from the flags, and asks for the others if somebody can be asked.
///
/// # Errors
/// A flag that is not valid, or no end of answers that are not.
pub fn answers(arguments: &InitArgs, context: &Context, directory: &Path, top: &Path) -> Result<Answers, CommandError> {
    let asks = context.environment.can_ask && !arguments.yes;
    let base_url = base_url(context, asks)?;
    let given = settings::stack(context, &Config::default())?;
    let name = match given {
        Some(name) => Name::parse(&name).unwrap_or_else(|_| stack_name(directory)),
        None => {
            let usual = stack_name(directory);
            ask(asks, "Name of the stack, unique in the tenant", usual.as_str(), |text| {
                Name::parse(text).map_err(|error| format!("the name {error}"))
            })?
        }
    };
    let namespaces = match arguments.namespaces.as_slice() {
        [] => ask(asks, "Namespaces, separated by commas", NAMESPACE, |text| {
            let parts = text.split(',').map(str::trim).filter(|part| !part.is_empty());
            let names: Vec<Namespace> = parts
                .map(|part| Namespace::parse(part).map_err(|error| format!("the namespace `{part}` {error}")))
                .collect::<Result<_, _>>()?;
            if names.is_empty() { Err("name at least one".to_owned()) } else { Ok(names) }
        })?,
        given => given.iter().map(|name| stack::namespace(name)).collect::<Result<_, _>>()?,
    };
    let forge = match arguments.pipeline {
        Some(forge) => forge,
        None => ask(asks, "Pipelines (github, gitlab, none)", likely_forge(top).as_str(), |text| {
            Forge::parse(text).ok_or_else(|| "answer github, gitlab or none".to_owned())
        })?,
    };
    Ok(Answers { stack: NewStack { base_url, name, namespaces }, forge })
}

/// The service that a flag or the environment names, else the answer; nothing for a first hour in the sandbox.
fn base_url(context: &Context, asks: bool) -> Result<Option<BaseUrl>, CommandError> {
    if context.global.sandbox.is_some() {
        return Ok(None);
    }
    let chosen = contexts::in_force(context)?;
    let sources = UrlSources {
        global: &context.global,
        environment: &context.environment,
        policy: context.policy.as_ref().map(|file| &file.policy),
        context: chosen.as_ref().map(|chosen| (chosen.name.as_str(), &chosen.base_url)),
    };
    if let Some(address) = address::of(sources, None)? {
        return Ok(Some(address.url));
    }
    ask(asks, "URL of the tenant's console (empty: decide later)", "", |text| {
        if text.is_empty() {
            return Ok(None);
        }
        BaseUrl::parse(text).map(Some).map_err(|error| error.to_string())
    })
}

/// The answer to a question; the usual one where nobody is asked.
fn ask<T>(
    asks: bool,
    question: &str,
    usual: &str,
    read: impl Fn(&str) -> Result<T, String>,
) -> Result<T, CommandError> {
    prompt::ask(question, usual, asks, read)
}

/// A name for a stack, after its directory.
fn stack_name(directory: &Path) -> Name {
    let usual = |path: &Path| {
        let name = path.file_name()?.to_string_lossy().to_lowercase();
        let name: String = name.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect();
        let name: String = name.trim_matches(|c: char| !c.is_ascii_alphabetic()).chars().take(63).collect();
        Name::parse(name.trim_end_matches('-')).ok()
    };
    usual(directory).or_else(|| Name::parse("main").ok()).unwrap_or_else(|| unreachable!("`main` is a name"))
}

/// The forge that the repository is used with already.
fn likely_forge(top: &Path) -> Forge {
    if top.join(".github").is_dir() {
        Forge::Github
    } else if top.join(".gitlab-ci.yml").exists() || top.join(".gitlab").is_dir() {
        Forge::Gitlab
    } else {
        Forge::None
    }
}
