//! What a new stack should be: from the flags, and from defaults that the directory suggests.

use std::path::Path;

use super::files::NewStack;
use super::{Forge, InitArgs};
use crate::api::BaseUrl;
use crate::cli::service::address::{self, UrlSources};
use crate::cli::{Context, Result, settings};
use crate::load::Config;
use crate::model::{Name, Namespace};

/// The namespace of the example where none is given.
const NAMESPACE: &str = "shop";

/// What a call asks for.
pub struct InitRequest {
    /// The stack.
    pub stack: NewStack,
    /// The pipelines to write.
    pub forge: Forge,
    /// The flags that would have decided what the directory suggested.
    pub suggested: Vec<&'static str>,
}

/// Takes the values of the flags, else those that the directory suggests.
///
/// # Errors
/// A flag that is not valid.
pub fn request(arguments: &InitArgs, context: &Context, directory: &Path, top: &Path) -> Result<InitRequest> {
    let base_url = base_url(context)?;
    let given = settings::stack(context, &Config::default())?.and_then(|name| Name::parse(&name).ok());
    let name = given.clone().unwrap_or_else(|| stack_name(directory));
    let namespaces = match arguments.namespaces.as_slice() {
        [] => vec![Namespace::parse(NAMESPACE).unwrap_or_else(|_| unreachable!("it is a name"))],
        given => given.to_vec(),
    };
    let forge = arguments.pipeline.unwrap_or_else(|| likely_forge(top));
    let is_sandbox = context.global.sandbox.is_some();
    let suggested = [
        ("--url", base_url.is_none() && !is_sandbox),
        ("--stack", given.is_none()),
        ("--namespaces", arguments.namespaces.is_empty()),
        ("--pipeline", arguments.pipeline.is_none()),
    ];
    let suggested = suggested.into_iter().filter_map(|(flag, is_suggested)| is_suggested.then_some(flag)).collect();
    Ok(InitRequest { stack: NewStack { base_url, name, namespaces }, forge, suggested })
}

/// The service that a flag or the environment names; nothing for a first hour in the sandbox.
fn base_url(context: &Context) -> Result<Option<BaseUrl>> {
    if context.global.sandbox.is_some() {
        return Ok(None);
    }
    let Context { global, environment, policy, .. } = context;
    let sources = UrlSources { global, environment, policy: policy.as_ref().map(|file| &file.policy) };
    Ok(address::of(sources, None)?.map(|address| address.url))
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
