//! The settings that a stack had at the tip of its base, so that a change cannot loosen its own rules:
//! of base and working tree the stricter are in force.

use std::collections::BTreeSet;

use crate::api::BaseUrl;
use crate::cli::commits::at_commit::{CommitLookup, LookupError};
use crate::cli::commits::base;
use crate::cli::{CommandError, Result, Stack, settings};
use crate::load::Config;
use crate::model::Namespace;
use crate::model::policy::SafetySettings;

/// The settings of the stack at a base, wherever it was there; the defaults where it had none. They are as strict as
/// everything at the base that names the stack, in whichever directory and environment: what takes a stack over must
/// not bring looser rules along. `pruned` are the namespaces that the call prunes beside those of the stack.
///
/// # Errors
/// They are not known.
pub fn at(stack: &Stack<'_>, base: &str, pruned: &BTreeSet<Namespace>) -> Result<SafetySettings> {
    let context = stack.context;
    let repository = stack.repository.open().map_err(base::failed)?;
    // The following needs the whole history.
    repository.merge_base(base).map_err(base::failed)?;
    let tip = repository.resolve(base).map_err(base::failed)?;
    let name = stack.name()?;
    // The whole tree first: it answers what is asked of a part of it, too.
    let declared = name.as_ref().map(|_| context.tenants.declared_at(repository, &tip));
    let declared = declared.transpose().map_err(base::failed)?;
    let own = match CommitLookup::new(&stack.loaded, repository, &tip).settings() {
        Ok(own) => own,
        Err(LookupError::Wrong(diagnostics)) => {
            return Err(unknown(base, &context.wrong(&diagnostics).to_string()));
        }
        Err(error) => return Err(base::unavailable(context, error, &tip, base)),
    };
    let mut in_force = own.as_ref().map(|(config, _)| config.clone()).unwrap_or_default().safety();
    let Some((name, declared)) = name.zip(declared) else { return Ok(in_force) };
    let target = BaseTarget::of(stack, own.as_ref().map(|(config, _)| config), &name, pruned)?;
    let own_prefix = own.as_ref().map(|(_, root)| root.prefix.as_str());
    for directory in declared.iter().filter(|directory| directory.may_name(&name)) {
        let wrong = |reason: &str| unknown(base, &format!("{}: {reason}", directory.file()));
        for (environment, config) in directory.stacks().map_err(wrong)? {
            // Every environment begins with the top level of its own file, and may loosen it.
            let is_below = environment.is_none() && target.is_environment && own_prefix == Some(&*directory.prefix);
            let is_it = config.stack.as_ref().is_some_and(|stack| stack.as_str() == name);
            if is_it && !is_below && target.may_be_of(config) {
                in_force.safeguards = in_force.safeguards.stricter(&config.safeguards);
            }
        }
    }
    Ok(in_force)
}

fn unknown(base: &str, why: &str) -> CommandError {
    error!(Invalid, "the settings of {base} do not load: {why}")
        .hint("they are needed to see which of them were loosened")
}

/// What the stack of the call was about at the base already, so that a stack of the same name which is about something
/// else limits nothing.
struct BaseTarget {
    /// Its environment was there, and had this stack.
    is_environment: bool,
    /// The services that it is for; nothing where the working tree names another one than the base.
    services: Option<Vec<String>>,
    /// Its namespaces; nothing where the call takes others, too.
    namespaces: Option<BTreeSet<Namespace>>,
}

impl BaseTarget {
    fn of(stack: &Stack<'_>, own: Option<&Config>, name: &str, pruned: &BTreeSet<Namespace>) -> Result<Self> {
        let (now, environment) = (&stack.loaded.config, stack.loaded.options().environment.as_ref());
        let is_there = |own: &&Config| environment.is_none_or(|name| own.environments.contains_key(name));
        let is_it = |own: &&Config| own.stack.as_ref().is_some_and(|stack| stack.as_str() == name);
        let Some(own) = own.filter(is_there).filter(is_it) else {
            return Ok(Self { is_environment: false, services: None, namespaces: None });
        };
        let planned = settings::named(stack.context, now)?.map(|place| place.base_url().to_string());
        let services = planned.into_iter().chain(own.base_url.as_deref().map(plain)).collect();
        let listed: BTreeSet<Namespace> = own.namespaces.iter().cloned().collect();
        let taken = &stack.loaded.namespaces() | pruned;
        Ok(Self {
            is_environment: environment.is_some(),
            services: (now.base_url == own.base_url).then_some(services),
            namespaces: taken.is_subset(&listed).then_some(listed),
        })
    }

    /// Whether a stack of the base can be about the same endpoints.
    fn may_be_of(&self, other: &Config) -> bool {
        let url = other.base_url.as_deref().map(plain);
        let is_service = self.services.as_ref().zip(url).is_none_or(|(services, url)| services.contains(&url));
        let theirs = &other.namespaces;
        let is_namespace = self
            .namespaces
            .as_ref()
            .is_none_or(|listed| theirs.is_empty() || theirs.iter().any(|namespace| listed.contains(namespace)));
        is_service && is_namespace
    }
}

/// A URL in the form in which plans name it.
fn plain(url: &str) -> String {
    BaseUrl::parse(url).map_or_else(|_| url.to_owned(), |url| url.to_string())
}
