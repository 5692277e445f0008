//! Which service a command talks to, and whether only the repository names it: a pull request that
//! edits the configuration must not send a token elsewhere. Functions of flags, environment,
//! configuration and policy alone, so that every combination is tested.

use anyhow::Context as _;

use crate::api::BaseUrl;
use crate::cli::args::GlobalArgs;
use crate::cli::{CommandResult as _, ExitStatus, ProcessEnvironment, Result};
use crate::model::policy::{Policy, Violation};

/// The variables that name the service. Where several are set, they name the same one.
pub const VARIABLES: [&str; 3] = ["TRUEUP_BASE_URL", "F5XC_API_URL", "VOLT_API_URL"];

/// A service with how it was named.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Address {
    /// Where it is.
    pub url: BaseUrl,
    /// A flag, the environment or the policy names it, and not the repository alone.
    pub pinned: bool,
}

/// What names a service beside the configuration.
#[derive(Clone, Copy)]
pub struct UrlSources<'a> {
    /// The flags of the call.
    pub global: &'a GlobalArgs,
    /// The environment.
    pub environment: &'a ProcessEnvironment,
    /// The policy, if there is one.
    pub policy: Option<&'a Policy>,
}

/// The service that flags, environment and configuration name; nothing where none is named.
///
/// # Errors
/// One is not a URL, two of environment and configuration differ, or the policy forbids it.
pub fn of(sources: UrlSources<'_>, configured: Option<&str>) -> Result<Option<Address>> {
    let UrlSources { global, environment, policy } = sources;
    if let Some(text) = &global.base_url {
        let url = read(text, "`--base-url`")?;
        listed(policy, &url)?;
        return Ok(Some(Address { url, pinned: true }));
    }
    let mut named = Vec::new();
    for variable in VARIABLES {
        if let Some(text) = environment.variable(variable) {
            let source = format!("`{variable}`");
            named.push((read(text, &source)?, source));
        }
    }
    let in_environment = !named.is_empty();
    if let Some(text) = configured {
        let source = "`base_url` of the configuration".to_owned();
        named.push((read(text, &source)?, source));
    }
    let Some((url, source)) = named.first() else { return Ok(None) };
    if let Some((other, other_source)) = named.iter().find(|(other, _)| other != url) {
        return Err(error!(
            Invalid,
            "{source} is {url} and {other_source} is {other}: the token would go to another service than the one \
             that was meant"
        )
        .hint("make them equal, or name the service with --base-url"));
    }
    let in_policy = listed(policy, url)?;
    Ok(Some(Address { url: url.clone(), pinned: in_environment || in_policy }))
}

/// A URL that `source` gives.
///
/// # Errors
/// It is none.
pub fn read(text: &str, source: &str) -> Result<BaseUrl> {
    BaseUrl::parse(text).with_context(|| format!("in {source}")).with_status(ExitStatus::Invalid)
}

/// Whether the policy lists the service.
///
/// # Errors
/// It lists others.
fn listed(policy: Option<&Policy>, url: &BaseUrl) -> Result<bool> {
    let Some(listed) = policy.and_then(|policy| policy.base_urls.as_ref()) else { return Ok(false) };
    if listed.iter().any(|text| BaseUrl::parse(text).is_ok_and(|allowed| allowed == *url)) {
        return Ok(true);
    }
    let violation = Violation::BaseUrl { base_url: url.to_string(), allowed: listed.clone() };
    Err(violation).with_status(ExitStatus::Refused).hint("nothing was sent")
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;

    use super::*;
    use crate::cli::args::Arguments;

    fn url(flags: &[&str], environment: &[(&str, &str)], configured: Option<&str>) -> Result<String, String> {
        let words = ["trueup", "man"].iter().chain(flags);
        let global = Arguments::try_parse_from(words).expect("a command line").global;
        let environment = ProcessEnvironment::with(environment);
        of(UrlSources { global: &global, environment: &environment, policy: None }, configured)
            .map(|address| address.map_or_else(|| "none".to_owned(), |address| address.url.to_string()))
            .map_err(|error| error.to_string())
    }

    const CONFIGURED: Option<&str> = Some("https://configured.example.net");

    #[test]
    fn a_flag_stands_over_the_environment_and_the_environment_must_agree_with_the_configuration() {
        for variable in VARIABLES {
            let same = [(variable, "https://configured.example.net/api/")];
            assert_eq!(url(&[], &same, CONFIGURED).as_deref(), Ok("https://configured.example.net"));
            let other = [(variable, "https://other.example.net")];
            assert_eq!(url(&[], &other, None).as_deref(), Ok("https://other.example.net"));
            let flag = ["--base-url", "https://flag.example.net"];
            assert_eq!(url(&flag, &other, CONFIGURED).as_deref(), Ok("https://flag.example.net"));
            let error = url(&[], &other, CONFIGURED).expect_err("a conflict");
            for part in [variable, "https://other.example.net", "https://configured.example.net"] {
                assert!(error.contains(part), "{error}");
            }
        }
        assert_eq!(url(&[], &[], None).as_deref(), Ok("none"));
    }

    #[test]
    fn two_variables_that_name_different_services_are_an_error_that_names_both() {
        let foreign =
            [("F5XC_API_URL", "https://foreign.example.net/api"), ("VOLT_API_URL", "https://older.example.net")];
        let error = url(&[], &foreign, None).expect_err("a conflict");
        assert!(error.contains("`F5XC_API_URL`") && error.contains("`VOLT_API_URL`"), "{error}");
        assert_eq!(url(&[], &foreign[1..], None).as_deref(), Ok("https://older.example.net"));
    }
}
