//! The environment of the process: variables, terminal, clock, randomness. It is read only here, and passed
//! down as values.

use std::ffi::OsString;
use std::io::IsTerminal as _;
use std::ops::RangeInclusive;

use terminal_size::terminal_size_of;

use crate::cli::prelude::*;
use crate::file::{real_path, slashed};

/// Columns without a terminal.
const WIDTH: usize = 100;
/// Columns that a report uses at least and at most.
const COLUMNS: RangeInclusive<usize> = 40..=200;

/// The variables, beside `CI`, that identify pipeline systems.
const PIPELINE_VARIABLES: [&str; 7] = [
    // GitHub, Gitea, Forgejo and GitLab
    "GITHUB_ACTIONS GITEA_ACTIONS FORGEJO_ACTIONS GITLAB_CI",
    // Azure Pipelines, Jenkins and Hudson, TeamCity
    "TF_BUILD BUILD_BUILDID SYSTEM_COLLECTIONURI JENKINS_URL JENKINS_HOME HUDSON_URL TEAMCITY_VERSION",
    // AWS CodeBuild, Google Cloud Build, Bitbucket
    "CODEBUILD_BUILD_ID CODEBUILD_BUILD_ARN BUILDER_OUTPUT BITBUCKET_BUILD_NUMBER",
    // Bamboo, as the environment of a shell and of Windows has it
    "bamboo_planKey BAMBOO_PLANKEY",
    "BUILDKITE CIRCLECI TRAVIS APPVEYOR DRONE SEMAPHORE CIRRUS_CI",
    // GoCD, Codefresh, Harness, Prow, Buddy, Bitrise
    "GO_PIPELINE_NAME CF_BUILD_ID HARNESS_BUILD_ID PROW_JOB_ID BUDDY_WORKSPACE_ID BITRISE_IO",
    // Systems that plan and apply: HCP Terraform, Atlantis
    "TFC_RUN_ID ATLANTIS_TERRAFORM_VERSION",
];

/// The variables of trueup without their prefix, beside those of tokens, whose names are free.
const OWN_VARIABLES: [&str; 9] =
    ["APPROVED_BY", "BASE_URL", "ENV", "LAYOUT", "P12_PASSWORD", "POLICY", "STACK", "STATE", "STATE_LEASE"];

/// The environment of one process.
#[derive(Debug, Clone)]
pub struct ProcessEnvironment {
    variables: BTreeMap<String, OsString>,
    /// The working directory, without symbolic links.
    pub directory: Option<PathBuf>,
    /// Columns that a report may use.
    pub width: usize,
    /// Whether a person can be asked.
    pub can_ask: bool,
    /// Whether the answer goes to a terminal.
    pub stdout_is_terminal: bool,
    /// Whether messages and progress go to a terminal.
    pub stderr_is_terminal: bool,
}

impl ProcessEnvironment {
    /// The environment of this process.
    pub fn read() -> Self {
        let environment: BTreeMap<String, OsString> = std::env::vars_os()
            .filter_map(|(name, value)| Some((name.into_string().ok()?, value)))
            // On Windows, the case of a name means nothing, and `PATH` is called `Path`.
            .map(|(name, value)| (if cfg!(windows) { name.to_ascii_uppercase() } else { name }, value))
            // An empty TRUEUP_POLICY means that a pipeline lost its value, not that there is no policy.
            .filter(|(name, value)| !value.is_empty() || name == "TRUEUP_POLICY")
            .collect();
        let columns = environment.get("COLUMNS").and_then(|text| text.to_str()?.parse::<usize>().ok());
        let terminal = || {
            let size = terminal_size_of(std::io::stdout()).or_else(|| terminal_size_of(std::io::stderr()));
            size.map(|(width, _)| usize::from(width.0)).filter(|width| *width > 0)
        };
        Self {
            directory: std::env::current_dir().and_then(|here| real_path(&here)).ok(),
            width: columns.or_else(terminal).unwrap_or(WIDTH).clamp(*COLUMNS.start(), *COLUMNS.end()),
            can_ask: std::io::stdin().is_terminal() && std::io::stderr().is_terminal(),
            stdout_is_terminal: std::io::stdout().is_terminal(),
            stderr_is_terminal: std::io::stderr().is_terminal(),
            variables: environment,
        }
    }

    /// The text of a variable; `None` if it is unset or empty. A value that is not UTF-8 becomes an invalid text, so
    /// that it is rejected rather than ignored.
    pub fn variable(&self, name: &str) -> Option<&str> {
        self.variables.get(name).map(|value| value.to_str().unwrap_or("\u{fffd}"))
    }

    /// The variables that are set and that trueup does not read, each with the unset one that was probably meant.
    pub fn misspelled(&self) -> impl Iterator<Item = (&str, String)> {
        let meant = |name: &str| {
            let rest = name.strip_prefix("TRUEUP_");
            if rest.is_some_and(|rest| OWN_VARIABLES.contains(&rest)) {
                return None;
            }
            // A misspelled policy would lift the limits of a run, so match its name more loosely than the others.
            let letters = name.to_ascii_uppercase().replace('_', "");
            let is_policy = letters.starts_with("TRUEUPPOLIC");
            let known = if is_policy { "POLICY" } else { load::nearest(rest?, OWN_VARIABLES)? };
            let meant = format!("TRUEUP_{known}");
            Some(meant).filter(|meant| !self.variables.contains_key(meant))
        };
        self.variables.keys().filter_map(move |name| Some((name.as_str(), meant(name)?)))
    }

    /// All variables, each as [`variable`](Self::variable) gives it.
    pub fn variables(&self) -> impl Iterator<Item = (&str, &str)> {
        self.variables.keys().filter_map(|name| Some((name.as_str(), self.variable(name)?)))
    }

    /// The files that variables name to be read.
    pub fn files(&self) -> impl Iterator<Item = &str> {
        let names_file =
            |name: &str| name == "TRUEUP_POLICY" || (name.starts_with("TRUEUP_TOKEN") && name.ends_with("_FILE"));
        self.variables().filter(move |(name, _)| names_file(name)).map(|(_, value)| value)
    }

    /// This machine, as the pipeline or the system names it.
    pub fn host(&self) -> Option<&str> {
        ["RUNNER_NAME", "CI_RUNNER_DESCRIPTION", "HOSTNAME", "COMPUTERNAME"].iter().find_map(|name| self.variable(name))
    }

    /// The variable that shows that this runs in a pipeline, if any: `CI` unless it is `false`, or one of a system that
    /// does not set `CI` in every version.
    pub fn pipeline(&self) -> Option<&'static str> {
        let is_set = |name: &str| self.variables.get(name).is_some_and(|value| !value.is_empty());
        let named = Some("CI").filter(|name| is_set(name) && self.variables[*name] != "false");
        named.or_else(|| PIPELINE_VARIABLES.iter().flat_map(|names| names.split(' ')).find(|name| is_set(name)))
    }

    /// The path in a variable.
    pub fn path(&self, name: &str) -> Option<PathBuf> {
        self.variables.get(name).map(PathBuf::from)
    }

    /// The prefix by which paths below `root` can be opened from the working directory; it never looks like an option.
    pub fn shown_from_here(&self, root: &Path) -> String {
        let here = self.directory.as_deref().and_then(|here| root.strip_prefix(here).ok());
        match slashed(here.unwrap_or(root)).trim_end_matches('/') {
            "" => String::new(),
            path => format!("{}/", safe::path(path)),
        }
    }

    /// The same for a directory itself: `.` for the working directory.
    pub fn directory_from_here(&self, directory: &Path) -> String {
        match self.shown_from_here(directory).trim_end_matches('/') {
            "" => ".".to_owned(),
            path => path.to_owned(),
        }
    }

    /// The user that runs this, as the machine names them.
    pub fn user(&self) -> Option<String> {
        ["USER", "LOGNAME", "USERNAME"].iter().find_map(|name| self.variable(name)).map(str::to_owned)
    }

    /// The person that the pipeline names; for a job that was started again, the one who did that.
    pub fn actor(&self) -> Option<String> {
        let named = ["GITHUB_TRIGGERING_ACTOR", "GITHUB_ACTOR", "GITLAB_USER_LOGIN", "BUILD_REQUESTEDFOR"];
        let pipeline = self.pipeline().and_then(|_| named.iter().find_map(|name| self.variable(name)));
        pipeline.map(str::to_owned)
    }

    /// Who gives a consent: the person that the pipeline names, else the user.
    pub fn person(&self) -> Option<String> {
        self.actor().or_else(|| self.user())
    }

    /// The state directory if none is given: `$XDG_STATE_HOME/trueup`, else `~/.local/state/trueup`; on
    /// Windows `%LOCALAPPDATA%\trueup`.
    pub fn state_directory(&self) -> Option<PathBuf> {
        let home = || match self.path("LOCALAPPDATA").filter(|_| cfg!(windows)) {
            Some(local) => Some(local),
            None => self.path("HOME").map(|home| home.join(".local").join("state")),
        };
        let state = self.path("XDG_STATE_HOME").filter(|path| path.is_absolute()).or_else(home);
        Some(state?.join("trueup"))
    }

    /// The time now.
    pub fn now(&self) -> Timestamp {
        Timestamp::now()
    }

    /// A random number.
    pub fn chance(&self) -> u64 {
        uuid::Uuid::new_v4().as_u64_pair().1
    }

    /// A random secret, as hex digits.
    pub fn secret(&self) -> String {
        uuid::Uuid::new_v4().simple().to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    impl ProcessEnvironment {
        /// An environment with just these variables, for tests.
        pub fn with(environment: &[(&str, &str)]) -> Self {
            Self {
                variables: environment
                    .iter()
                    .map(|(name, value)| ((*name).to_owned(), OsString::from(value)))
                    .collect(),
                directory: None,
                width: WIDTH,
                can_ask: false,
                stdout_is_terminal: false,
                stderr_is_terminal: false,
            }
        }
    }

    #[cfg(unix)]
    #[test]
    fn a_variable_that_is_no_text_is_an_error_where_it_is_used() {
        use std::os::unix::ffi::OsStringExt as _;

        let names = ["TRUEUP_ENV", "TRUEUP_TOKEN", "HTTPS_PROXY"];
        let value = || OsString::from_vec(b"pr\xfcfung".to_vec());
        let environment = ProcessEnvironment {
            variables: names.map(|name| (name.to_owned(), value())).into(),
            ..ProcessEnvironment::with(&[])
        };
        let [named, token, _] = names.map(|name| environment.variable(name).expect("it is set"));
        assert!(crate::model::Name::parse(named).is_err() && crate::api::Secret::new(token).is_err());
        let proxies = crate::api::Proxies::read(|name| environment.variable(name).map(str::to_owned));
        assert!(proxies.any().is_err());
    }
}
