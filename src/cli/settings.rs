//! What a command runs with: flags over environment over configuration. A base URL of the environment
//! that differs from the configuration's is an error, because a pull request that edits the
//! configuration must not send a token elsewhere.

use std::path::PathBuf;

use super::Context;
use super::args::{Global, Permission};
use super::ending::{Ending, Error};
use super::surroundings::Surroundings;
use crate::api::BaseUrl;
use crate::load::Config;
use crate::model::Layout;
use crate::plan::{self, Allow, Ignore, RunId};

/// Variables of other tools that name a service; below the configuration.
const FOREIGN_BASE_URLS: [&str; 2] = ["F5XC_API_URL", "VOLT_API_URL"];

/// Requests at the same time, where nobody says.
const DEFAULT_CONCURRENCY: usize = 8;

/// Which service a command talks to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Place {
    /// One at this address.
    At(BaseUrl),
    /// The embedded one, kept in this file.
    Sandbox(PathBuf),
}

impl Place {
    /// Its address, as plans and snapshots name it.
    pub fn base_url(&self) -> BaseUrl {
        match self {
            Place::At(url) => url.clone(),
            Place::Sandbox(_) => BaseUrl::sandbox(),
        }
    }
}

/// The service that flags, environment and configuration name together.
///
/// # Errors
/// None is named, one is no URL, or environment and configuration name different ones.
pub fn place(context: &Context, config: &Config) -> Result<Place, Error> {
    named(context, config)?.ok_or_else(|| {
        Error::words(Ending::Invalid, "no service is named")
            .hint("give --base-url, TRUEUP_BASE_URL, or `base_url` in trueup.yaml; or try it with --sandbox")
    })
}

/// The same; nothing where none is named.
///
/// # Errors
/// One is no URL, or environment and configuration name different ones.
pub fn named(context: &Context, config: &Config) -> Result<Option<Place>, Error> {
    let Context { global, surroundings, .. } = context;
    if let Some(file) = &global.sandbox {
        if global.base_url.is_some() {
            return Err(Error::words(Ending::Usage, "`--sandbox` and `--base-url` name two services; give one"));
        }
        return match file {
            Some(file) => Ok(Some(Place::Sandbox(file.clone()))),
            None => Ok(Some(Place::Sandbox(state_directory(global, surroundings)?.join("sandbox.redb")))),
        };
    }
    Ok(base_url(global, surroundings, config.base_url.as_deref())?.map(Place::At))
}

fn base_url(global: &Global, surroundings: &Surroundings, configured: Option<&str>) -> Result<Option<BaseUrl>, Error> {
    let read = |text: &str, source: &str| {
        BaseUrl::parse(text)
            .map_err(|error| Error::new(Ending::Invalid, anyhow::Error::from(error).context(format!("in {source}"))))
    };
    if let Some(text) = &global.base_url {
        return read(text, "`--base-url`").map(Some);
    }
    let environment =
        surroundings.variable("TRUEUP_BASE_URL").map(|text| read(text, "`TRUEUP_BASE_URL`")).transpose()?;
    let configured = configured.map(|text| read(text, "`base_url` of the configuration")).transpose()?;
    match (environment, configured) {
        (Some(environment), Some(configured)) if environment != configured => {
            let told = format!(
                "`TRUEUP_BASE_URL` is {environment} and `base_url` of the configuration is {configured}: \
                 the token would go to another service than the one that was meant"
            );
            Err(Error::words(Ending::Invalid, told).hint("make them equal, or name the service with --base-url"))
        }
        (Some(url), _) | (None, Some(url)) => Ok(Some(url)),
        (None, None) => foreign(surroundings, read),
    }
}

fn foreign(
    surroundings: &Surroundings,
    read: impl Fn(&str, &str) -> Result<BaseUrl, Error>,
) -> Result<Option<BaseUrl>, Error> {
    let named = |name: &&str| surroundings.variable(name).map(|text| read(text, &format!("`{name}`")));
    FOREIGN_BASE_URLS.iter().find_map(named).transpose()
}

/// The paths that the service answers at.
///
/// # Errors
/// A name of no layout.
pub fn layout(context: &Context, config: &Config) -> Result<Layout, Error> {
    Ok(named_layout(context, config)?.unwrap_or_default())
}

/// The same; nothing where none is named.
///
/// # Errors
/// A name of no layout.
pub fn named_layout(context: &Context, config: &Config) -> Result<Option<Layout>, Error> {
    let named = context.global.layout.as_deref().or_else(|| context.surroundings.variable("TRUEUP_LAYOUT"));
    let Some(named) = named else { return Ok(config.layout) };
    Layout::ALL.into_iter().find(|layout| layout.as_str() == named).map(Some).ok_or_else(|| {
        let known = Layout::ALL.map(Layout::as_str).join(", ");
        Error::words(Ending::Usage, format!("`{named}` is no layout; there are: {known}"))
    })
}

/// Requests at the same time: the flag, else the configuration.
pub fn concurrency(context: &Context, config: &Config) -> usize {
    let given = context.global.concurrency.map(usize::from);
    given.or(config.concurrency).unwrap_or(DEFAULT_CONCURRENCY)
}

/// The stack that owns the objects, if there is one.
pub fn stack(context: &Context, config: &Config) -> Option<String> {
    let given = context.global.stack.clone();
    let environment = || context.surroundings.variable("TRUEUP_STACK").map(str::to_owned);
    given.or_else(environment).or_else(|| config.stack.as_ref().map(ToString::to_string))
}

/// Where runs and the sandbox's file are kept.
///
/// # Errors
/// Nothing says where.
pub fn state_directory(global: &Global, surroundings: &Surroundings) -> Result<PathBuf, Error> {
    let given = global.state_dir.clone().or_else(|| surroundings.path("TRUEUP_STATE_DIR"));
    given.or_else(|| surroundings.state_directory()).ok_or_else(|| {
        Error::words(Ending::Invalid, "there is no state directory: neither XDG_STATE_HOME nor HOME is set")
            .hint("give one with --state-dir")
    })
}

/// What a plan is asked to do.
pub fn of_plan(config: &Config, permission: &Permission) -> plan::Settings {
    plan::Settings {
        prune: config.prune,
        guards: config.guards,
        gates: config.gates,
        marks: config.marks,
        adopt: permission.adopt,
        base: false,
    }
}

/// Fields that are left out of comparison.
///
/// # Errors
/// A pattern that is none.
pub fn ignore(config: &Config) -> Result<Ignore, Error> {
    Ignore::new(&config.ignore).map_err(|error| Error::new(Ending::Invalid, error))
}

/// What was allowed by name.
///
/// # Errors
/// A name that allows nothing.
pub fn allow(names: &[String]) -> Result<Allow, Error> {
    let mut allow = Allow::default();
    for text in names {
        allow.add(text).map_err(|error| Error::new(Ending::Usage, error))?;
    }
    Ok(allow)
}

/// A new run's id: time, stack, and chance.
pub fn run_id(surroundings: &Surroundings, stack: Option<&str>) -> RunId {
    let time = surroundings.now().strftime("%Y-%m-%dT%H-%M-%S").to_string();
    let stack: String =
        stack.unwrap_or("run").chars().filter(|c| c.is_ascii_alphanumeric() || *c == '-').take(40).collect();
    let chance = format!("{:04x}", surroundings.chance() & 0xffff);
    let text = format!("{time}-{stack}-{chance}");
    // Digits, letters and dashes of at most 66 characters: always an id.
    RunId::new(&text).unwrap_or_else(|| unreachable!("`{text}` is an id"))
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;

    use super::*;
    use crate::cli::args::Arguments;

    fn global(flags: &[&str]) -> Global {
        let words = ["trueup", "man"].iter().chain(flags);
        Arguments::try_parse_from(words).expect("a command line").global
    }

    fn url(flags: &[&str], environment: &[(&str, &str)], configured: Option<&str>) -> Result<String, String> {
        base_url(&global(flags), &Surroundings::with(environment), configured)
            .map(|url| url.map_or_else(|| "none".to_owned(), |url| url.to_string()))
            .map_err(|error| error.to_string())
    }

    const CONFIGURED: Option<&str> = Some("https://configured.example.net");

    #[test]
    fn a_flag_stands_over_the_environment_and_the_environment_over_the_configuration() {
        let environment = [("TRUEUP_BASE_URL", "https://configured.example.net/api/")];
        assert_eq!(url(&[], &environment, CONFIGURED).as_deref(), Ok("https://configured.example.net"));
        let flag = ["--base-url", "https://flag.example.net"];
        let other = [("TRUEUP_BASE_URL", "https://other.example.net")];
        assert_eq!(url(&flag, &other, CONFIGURED).as_deref(), Ok("https://flag.example.net"));
        assert_eq!(url(&[], &other, None).as_deref(), Ok("https://other.example.net"));
    }

    #[test]
    fn a_base_url_of_the_environment_that_differs_from_the_configuration_is_an_error_that_names_both() {
        let error = url(&[], &[("TRUEUP_BASE_URL", "https://other.example.net")], CONFIGURED).expect_err("a conflict");
        assert!(
            error.contains("https://other.example.net") && error.contains("https://configured.example.net"),
            "{error}"
        );
    }

    #[test]
    fn variables_of_other_tools_stand_below_the_configuration() {
        let foreign =
            [("F5XC_API_URL", "https://foreign.example.net/api"), ("VOLT_API_URL", "https://older.example.net")];
        assert_eq!(url(&[], &foreign, CONFIGURED).as_deref(), Ok("https://configured.example.net"));
        assert_eq!(url(&[], &foreign, None).as_deref(), Ok("https://foreign.example.net"));
        assert_eq!(url(&[], &foreign[1..], None).as_deref(), Ok("https://older.example.net"));
        assert_eq!(url(&[], &[], None).as_deref(), Ok("none"));
    }

    #[test]
    fn a_run_id_is_made_of_time_stack_and_chance() {
        let surroundings = Surroundings::with(&[]);
        let one = run_id(&surroundings, Some("shop-prod"));
        assert!(one.as_str().contains("-shop-prod-"), "{one}");
        assert!(RunId::new(run_id(&surroundings, Some("../ä b")).as_str()).is_some());
    }
}
