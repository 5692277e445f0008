//! Where the API token comes from, and which service may get it. It comes from a file, or from an environment variable:
//! `F5XC_API_TOKEN`, or one whose name begins with `TRUEUP_TOKEN`. It never comes from an argument, a command or the
//! configuration. `NAME_FILE` replaces the variable `NAME` if a secret is mounted as a file.

use crate::cli::args::GlobalArgs;
use crate::cli::prelude::*;
use crate::cli::settings::{self, Address};
use crate::cli::{Context, ProcessEnvironment, Result, file};
use crate::load::config::DEFAULT_TOKEN_VARIABLE as VARIABLE;

/// The variable of other tools, read last.
const FOREIGN_VARIABLE: &str = "F5XC_API_TOKEN";

/// A token with its source. Nothing but a header of a request shows it.
pub struct GivenToken {
    /// Its text.
    pub text: String,
    /// The flag or the variable that it comes from.
    pub name: String,
    /// Whether a variable beside it names the service that it is for.
    pub bound: bool,
}

/// The token for the service at `address`: of `--token-file`, of the variable that the configuration names, of
/// `TRUEUP_TOKEN`, of `F5XC_API_TOKEN`, in this order. `None` if none is given.
///
/// # Errors
/// A file that cannot be read, a variable that the configuration may not name, that is not set or that
/// is bound to another service; in a pipeline, a service that only the repository names.
pub fn given(context: &Context, named: Option<&str>, address: &Address) -> Result<Option<GivenToken>> {
    let Some(found) = found(context, named, address)? else { return Ok(None) };
    let pipeline = context.environment.pipeline();
    if let Some(variable) = pipeline.filter(|_| !address.pinned && !found.bound) {
        let only = format!("only `base_url` of the configuration names {}", address.url);
        let pin = format!("pin it outside of the repository: TRUEUP_BASE_URL={} beside the token", address.url);
        return Err(error!(Invalid, "{only}, so it gets no token in a pipeline (`{variable}` is set)")
            .hint(format!("if that is the service, {pin}, or `base_urls:` of a policy (TRUEUP_POLICY)")));
    }
    Ok(Some(found))
}

/// The text of `--token-file`.
fn from_file(global: &GlobalArgs) -> Result<Option<String>> {
    global.token_file.as_deref().map(read).transpose()
}

/// The text of a file with a token.
fn read(path: &Path) -> Result<String> {
    String::from_utf8(file::read_secret(path, limit::TOKEN)?)
        .map_err(|_| error!(Invalid, "the token file `{}` is not text", path.display()))
}

fn found(context: &Context, named: Option<&str>, address: &Address) -> Result<Option<GivenToken>> {
    let environment = &context.environment;
    let token = |text, name: &str, bound| Ok(Some(GivenToken { text, name: name.to_owned(), bound }));
    if let Some(text) = from_file(&context.global)? {
        return token(text, "--token-file", false);
    }
    named.map_or(Ok(()), check_name)?;
    let name = named.unwrap_or(VARIABLE);
    if let Some((text, source)) = of_variable(environment, name)? {
        let bound = is_bound(environment, name, address)?;
        // Otherwise the author of the configuration could choose any token of the environment.
        if !bound && name != VARIABLE {
            return Err(error!(Invalid, "`{name}` is bound to no service: `{name}_URL` is not set")
                .hint(format!("if it is the token of that service: {name}_URL={}", address.url)));
        }
        return token(text, &source, bound);
    }
    if named.is_some() {
        return Err(error!(Invalid, "`token_variable` names `{name}`, which is not set")
            .hint(format!("set {name}, or {name}_FILE to the path of a file, or give --token-file")));
    }
    match environment.variable(FOREIGN_VARIABLE) {
        Some(text) => token(text.to_owned(), FOREIGN_VARIABLE, false),
        None => Ok(None),
    }
}

/// The token of a variable, or of the file that `NAME_FILE` names, with the variable that it is from.
fn of_variable(environment: &ProcessEnvironment, name: &str) -> Result<Option<(String, String)>> {
    let file = format!("{name}_FILE");
    match (environment.variable(name), environment.path(&file)) {
        (Some(_), Some(_)) => Err(error!(Invalid, "`{name}` and `{file}` are both set")
            .hint(format!("unset one of them: {file} names a file"))),
        (None, Some(path)) => Ok(Some((read(&path)?, file))),
        (text, None) => Ok(text.map(|text| (text.to_owned(), name.to_owned()))),
    }
}

/// Whether the configuration may name a variable for a token.
///
/// # Errors
/// It could contain another secret, or belongs to another variable.
fn check_name(variable: &str) -> Result<()> {
    if let Some(of) = ["_URL", "_FILE"].iter().find_map(|ending| variable.strip_suffix(ending)) {
        return Err(error!(
            Invalid,
            "`token_variable` names `{variable}`, which says something about `{of}` and contains no token"
        )
        .hint(format!("name {of}")));
    }
    if variable.starts_with(VARIABLE) {
        return Ok(());
    }
    Err(error!(Invalid, "`token_variable` names `{variable}`, which does not begin with `{VARIABLE}`")
        .hint("a definition's author must not be able to send away another secret; rename the variable"))
}

/// Whether `VARIABLE_URL` says that the token of `variable` is for this service.
fn is_bound(environment: &ProcessEnvironment, variable: &str, address: &Address) -> Result<bool> {
    let name = format!("{variable}_URL");
    let Some(text) = environment.variable(&name) else { return Ok(false) };
    let url = settings::url(text, &format!("`{name}`"))?;
    if url == address.url {
        return Ok(true);
    }
    Err(error!(Invalid, "`{name}` binds the token of `{variable}` to {url}, and the service is {}", address.url)
        .hint("a token goes to the service that it is bound to, and to no other"))
}

/// The variable for the token of `trueup sandbox`.
const SANDBOX_VARIABLE: &str = "TRUEUP_SANDBOX_TOKEN";

/// The token that the embedded service asks for: of `--token-file` or of `TRUEUP_SANDBOX_TOKEN`. Never
/// one of the variables of a real service: every client of the sandbox would have to be given it.
///
/// # Errors
/// A file that cannot be read.
pub fn of_sandbox(context: &Context) -> Result<Option<String>> {
    let variable = || context.environment.variable(SANDBOX_VARIABLE).map(str::to_owned);
    Ok(from_file(&context.global)?.or_else(variable))
}

#[cfg(test)]
mod tests {
    use std::rc::Rc;

    use super::*;
    use crate::cli::context::PolicyFile;
    use crate::cli::settings::VARIABLES;
    use crate::model::policy::Policy;

    const OURS: &str = "https://ours.example.net";
    const EVIL: &str = "https://evil.example.net";

    fn token(environment: &[(&str, &str)], named: Option<&str>) -> Result<Option<String>> {
        let address = Address { url: settings::url(OURS, "a test").expect("a URL"), pinned: true };
        given(&Context::of(&[], environment), named, &address).map(|token| token.map(|token| token.text))
    }

    #[test]
    fn the_variable_that_the_configuration_names_stands_over_the_usual_one() {
        let environment = [
            ("TRUEUP_TOKEN", "usual"),
            ("TRUEUP_TOKEN_PROD", "prod"),
            ("TRUEUP_TOKEN_PROD_URL", OURS),
            ("F5XC_API_TOKEN", "foreign"),
        ];
        let given = |named| token(&environment, named).expect("a token");
        assert_eq!(given(Some("TRUEUP_TOKEN_PROD")).as_deref(), Some("prod"));
        assert_eq!(given(None).as_deref(), Some("usual"));
        assert_eq!(token(&environment[3..], None).expect("a token").as_deref(), Some("foreign"));
        assert!(token(&[], None).expect("no error").is_none());
    }

    #[test]
    fn the_configuration_cannot_name_another_secret() {
        let error = token(&[("AWS_SECRET_ACCESS_KEY", "hunter2")], Some("AWS_SECRET_ACCESS_KEY")).expect_err("refused");
        assert!(!error.to_string().contains("hunter2"));
    }

    /// A test for each system: what it sets for its jobs, without `CI`, is enough to be a pipeline, in which a service that
    /// only the repository names gets no token.
    macro_rules! pipelines {
        ($($system:ident: $variable:literal = $value:literal,)+) => {
            mod a_service_that_only_the_repository_names_gets_no_token_in {
                use super::*;

                $(#[test]
                fn $system() {
                    let address = Address { url: settings::url(EVIL, "a test").expect("a URL"), pinned: false };
                    let sent = |environment: &[(&str, &str)], address: &Address| {
                        let token = given(&Context::of(&[], environment), None, address);
                        token.map(|token| token.map(|token| token.text))
                    };
                    let token = ("TRUEUP_TOKEN", "secret");
                    let error = sent(&[token, ($variable, $value)], &address).expect_err("refused").to_string();
                    assert!(error.contains(concat!("`", $variable, "` is set")), "{error}");
                    assert!(sent(&[token, ("CI", "false"), ($variable, $value)], &address).is_err());
                    let bound = [token, ($variable, $value), ("TRUEUP_TOKEN_URL", OURS)];
                    assert!(sent(&bound, &address).is_err());
                    let pinned = Address { url: settings::url(OURS, "a test").expect("a URL"), pinned: true };
                    assert_eq!(sent(&bound, &pinned).expect("a token").as_deref(), Some("secret"));
                })+
            }
        };
    }

    pipelines! {
        any_system: "CI" = "true",
        github_actions: "GITHUB_ACTIONS" = "true",
        gitea_actions: "GITEA_ACTIONS" = "true",
        forgejo_actions: "FORGEJO_ACTIONS" = "true",
        gitlab: "GITLAB_CI" = "true",
        azure_pipelines: "TF_BUILD" = "True",
        azure_pipelines_build: "BUILD_BUILDID" = "20451",
        azure_pipelines_release: "SYSTEM_COLLECTIONURI" = "https://dev.azure.com/acme/",
        jenkins: "JENKINS_URL" = "https://jenkins.example.net/",
        jenkins_agent: "JENKINS_HOME" = "/var/lib/jenkins",
        hudson: "HUDSON_URL" = "https://jenkins.example.net/",
        teamcity: "TEAMCITY_VERSION" = "2026.1 (build 186049)",
        aws_codebuild: "CODEBUILD_BUILD_ID" = "plan:b1e6661e",
        aws_codebuild_batch: "CODEBUILD_BUILD_ARN" = "arn:aws:codebuild:eu-west-1:1:build/plan:b1e6661e",
        google_cloud_build: "BUILDER_OUTPUT" = "/builder/outputs",
        bitbucket: "BITBUCKET_BUILD_NUMBER" = "12",
        bamboo: "bamboo_planKey" = "NET-PLAN",
        bamboo_on_windows: "BAMBOO_PLANKEY" = "NET-PLAN",
        buildkite: "BUILDKITE" = "true",
        circleci: "CIRCLECI" = "true",
        travis: "TRAVIS" = "true",
        appveyor: "APPVEYOR" = "True",
        drone: "DRONE" = "true",
        semaphore: "SEMAPHORE" = "true",
        cirrus: "CIRRUS_CI" = "true",
        gocd: "GO_PIPELINE_NAME" = "plan",
        codefresh: "CF_BUILD_ID" = "6214d2a0",
        harness: "HARNESS_BUILD_ID" = "12",
        prow: "PROW_JOB_ID" = "0c5cbd2b",
        buddy: "BUDDY_WORKSPACE_ID" = "7",
        bitrise: "BITRISE_IO" = "true",
        hcp_terraform: "TFC_RUN_ID" = "run-CKuwsxMGgMd6W7Ui",
        atlantis: "ATLANTIS_TERRAFORM_VERSION" = "1.9.0",
    }

    #[test]
    fn a_named_variable_that_is_not_set_is_an_error_that_names_it() {
        let error = token(&[("TRUEUP_TOKEN", "usual")], Some("TRUEUP_TOKEN_PROD")).expect_err("refused");
        assert_eq!(error.to_string(), "`token_variable` names `TRUEUP_TOKEN_PROD`, which is not set");
    }

    #[test]
    fn a_mounted_file_stands_for_its_variable_and_is_bound_with_it() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("token");
        std::fs::write(&path, "mounted\n").expect("a file");
        let file = ("TRUEUP_TOKEN_B_FILE", path.to_str().expect("a path"));
        let named = |environment: &[(&str, &str)]| token(environment, Some("TRUEUP_TOKEN_B"));
        let given = named(&[file, ("TRUEUP_TOKEN_B_URL", OURS)]).expect("a token");
        assert_eq!(given.map(|text| text.trim().to_owned()).as_deref(), Some("mounted"));
        named(&[file]).expect_err("bound to nothing");
        named(&[file, ("TRUEUP_TOKEN_B_URL", EVIL)]).expect_err("bound elsewhere");
        let both = [file, ("TRUEUP_TOKEN_B", "secret"), ("TRUEUP_TOKEN_B_URL", OURS)];
        let error = named(&both).expect_err("which of the two?").to_string();
        assert_eq!(error, "`TRUEUP_TOKEN_B` and `TRUEUP_TOKEN_B_FILE` are both set");
        named(&[("TRUEUP_TOKEN_B_FILE", "absent"), ("TRUEUP_TOKEN_B_URL", OURS)]).expect_err("no such file");
        // The name of a file and the URL are no tokens.
        let error = token(&[file], Some("TRUEUP_TOKEN_B_FILE")).expect_err("refused").to_string();
        assert!(error.ends_with("says something about `TRUEUP_TOKEN_B` and contains no token"), "{error}");
    }

    #[test]
    fn a_named_variable_goes_only_to_the_service_that_it_is_bound_to() {
        let unbound = [("TRUEUP_TOKEN_B", "secret")];
        let error = token(&unbound, Some("TRUEUP_TOKEN_B")).expect_err("refused");
        assert_eq!(error.to_string(), "`TRUEUP_TOKEN_B` is bound to no service: `TRUEUP_TOKEN_B_URL` is not set");
        let elsewhere = [("TRUEUP_TOKEN_B", "secret"), ("TRUEUP_TOKEN_B_URL", EVIL)];
        let error = token(&elsewhere, Some("TRUEUP_TOKEN_B")).expect_err("refused").to_string();
        assert!(error.contains(OURS) && error.contains(EVIL) && !error.contains("secret"), "{error}");
    }

    /// Every combination of what can name a service and a token: where a token is given, nothing outside
    /// of the repository contradicts the service, and in a pipeline something outside names it.
    #[test]
    fn a_token_is_given_only_to_a_service_that_the_outside_names_or_does_not_contradict() {
        const URLS: [Option<&str>; 3] = [None, Some(OURS), Some(EVIL)];
        let (mut given_count, mut refused) = (0, 0);
        // Three choices each: the flag, the three variables, the configuration, and the bindings of two tokens.
        for code in 0..3usize.pow(7) {
            let digit = |at: u32| URLS[code / 3usize.pow(at) % 3];
            let (flag, configured) = (digit(0), digit(4));
            let mut environment: Vec<(&str, &str)> = Vec::new();
            environment.extend(VARIABLES.iter().zip(1..).filter_map(|(name, at)| Some((*name, digit(at)?))));
            let bindings = [("TRUEUP_TOKEN_URL", digit(5)), ("TRUEUP_TOKEN_B_URL", digit(6))];
            environment.extend(bindings.iter().filter_map(|(name, url)| Some((*name, (*url)?))));
            let flags: Vec<&str> = flag.map_or_else(Vec::new, |url| vec!["--base-url", url]);
            let mut context = Context::of(&flags, &[]);
            for (ci, source, policy) in
                [("", 0, 0), ("true", 0, 0), ("false", 1, 0), ("1", 1, 1), ("true", 2, 0), ("true", 0, 1)]
            {
                let (variable, named) =
                    [("TRUEUP_TOKEN", None), ("TRUEUP_TOKEN_B", Some("TRUEUP_TOKEN_B")), ("F5XC_API_TOKEN", None)]
                        [source];
                let mut environment = environment.clone();
                environment.extend([("CI", ci), (variable, "secret")]);
                context.environment = ProcessEnvironment::with(&environment);
                context.policy = (policy == 1).then(|| {
                    let policy = Policy { base_urls: Some(vec![OURS.to_owned()]), ..Policy::default() };
                    Rc::new(PolicyFile { path: "policy.yaml".into(), sha256: String::new(), policy })
                });
                let (environment, policy) = (&context.environment, &context.policy);
                let address = settings::address(&context, configured);
                let Ok(Some(address)) = address else { continue };
                let sent = given(&context, named, &address).ok().flatten().is_some();
                let url = address.url.to_string();
                let says = |text: Option<&str>| text == Some(url.as_str());
                let binding = if source == 2 { None } else { bindings[source].1 };
                let outside: Vec<&str> = VARIABLES.iter().filter_map(|name| environment.variable(name)).collect();
                let contradicted = binding.is_some_and(|bound| bound != url)
                    || (flag.is_none() && outside.iter().any(|named| *named != url))
                    || (policy.is_some() && url != OURS);
                let named_outside = says(flag) || outside.contains(&url.as_str()) || says(binding) || policy.is_some();
                let in_pipeline = matches!(ci, "true" | "1");
                let chosen_by_repository = named.is_some();
                let safe = !contradicted && (!in_pipeline || named_outside) && (!chosen_by_repository || says(binding));
                assert_eq!(
                    sent,
                    safe,
                    "{environment:?} flag {flag:?} configured {configured:?} policy {}",
                    policy.is_some()
                );
                given_count += usize::from(sent);
                refused += usize::from(!sent);
            }
        }
        assert!(given_count > 500 && refused > 500, "{given_count} given, {refused} refused");
    }
}
