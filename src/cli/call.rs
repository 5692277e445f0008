//! The call as it was typed, read back from what clap matched. Every command that a message or a report proposes takes
//! the flags from here, by the ids of their arguments, so that a new flag is in all of them or in none.

use std::borrow::Cow;
use std::sync::{Arc, OnceLock};

use clap::ArgMatches;

use crate::cli::environment::ProcessEnvironment;
use crate::cli::prelude::*;
use crate::cli::{CommandError, Result};
use crate::file::real_path_or_given;
use crate::load::SecretVariables;

/// The global flags that decide which settings, service and state a command uses, in the order of a proposed command.
const SETTINGS: &str = "base_url layout token_file ca_cert client_cert client_key client_p12 client_p12_password_file \
                        config policy state env stack var sandbox";

/// The arguments that name what a call reads.
const INPUTS: &str = "paths path what directory directories live acknowledged drift drift_state body data tenant faults sandbox config \
                      policy token_file ca_cert client_cert client_key client_p12 client_p12_password_file";

/// The prefix of a sealed secret, which the value of a variable may contain.
const SEALED: &str = "string:///";

/// What was typed after the name of the command, by the ids of the arguments.
#[derive(Debug, Clone, Default)]
#[must_use]
pub struct Call {
    typed: BTreeMap<String, Vec<String>>,
    /// The variables that secrets contain: no proposed command repeats their values.
    pub secret_variables: SecretVariables,
    /// Set once the files that the call names were searched for such variables.
    looked_for: Arc<OnceLock<()>>,
}

impl Call {
    /// The call from what clap matched, global arguments included.
    pub fn of(matches: &ArgMatches) -> Self {
        let is_typed =
            |id: &str| matches.value_source(id).is_some_and(|source| source == clap::parser::ValueSource::CommandLine);
        let ids = matches.ids().map(clap::Id::as_str).filter(|id| is_typed(id));
        let values = |id: &str| match matches.try_get_one::<bool>(id) {
            // A switch has no value.
            Ok(_) => Vec::new(),
            Err(_) => matches.get_raw(id).into_iter().flatten().map(|value| value.to_string_lossy().into()).collect(),
        };
        let typed = ids.map(|id| (id.to_owned(), values(id))).collect();
        Self { typed, ..Self::default() }
    }

    /// The same call with these values of an argument instead of its own; without the argument if there are none.
    pub fn with(mut self, id: &str, values: impl IntoIterator<Item = String>) -> Self {
        let values: Vec<String> = values.into_iter().collect();
        match values.is_empty() {
            true => self.typed.remove(id),
            false => self.typed.insert(id.to_owned(), values),
        };
        self
    }

    /// The same call without the arguments with these ids.
    pub fn without(self, ids: &str) -> Self {
        ids.split(' ').fold(self, |call, id| call.with(id, []))
    }

    /// The same call with only the `wanted` values of an argument.
    pub fn retain(self, id: &str, mut wanted: impl FnMut(&str) -> bool) -> Self {
        let values = self.values(id).to_vec();
        self.with(id, values.into_iter().filter(|value| wanted(value)))
    }

    /// What was typed for an argument.
    pub fn values(&self, id: &str) -> &[String] {
        self.typed.get(id).map_or(&[], Vec::as_slice)
    }

    /// The flags with these ids as they were typed, quoted for a shell.
    pub fn words(&self, ids: &str) -> Vec<String> {
        let given = ids.split(' ').filter_map(|id| self.typed.get_key_value(id));
        let words = |(id, values): (&String, &Vec<String>)| {
            let flag = format!("--{}", id.replace('_', "-"));
            // The value of `--sandbox` is optional, so it follows a `=`.
            let between = if id == "sandbox" { '=' } else { ' ' };
            match values.as_slice() {
                [] => vec![flag],
                values => {
                    let shown = values.iter().map(|value| safe::shell(&self.shown(id, value)));
                    shown.map(|value| format!("{flag}{between}{value}")).collect()
                }
            }
        };
        given.flat_map(words).collect()
    }

    /// The values of the arguments with these ids, with possible secrets masked.
    pub fn shown_values(&self, ids: &str) -> BTreeMap<String, Vec<String>> {
        let given = ids.split(' ').filter_map(|id| self.typed.get_key_value(id));
        let shown = |id, values: &[String]| values.iter().map(|value| self.shown(id, value).into_owned()).collect();
        given.map(|(id, values)| (id.clone(), shown(id, values))).collect()
    }

    /// A value of the call with possible secrets masked; only variables can contain them.
    fn shown<'v>(&self, id: &str, variable: &'v str) -> Cow<'v, str> {
        if id != "var" {
            return variable.into();
        }
        if let Some((name, _)) = variable.split_once('=').filter(|(name, _)| self.is_secret(name)) {
            return format!("{name}=…").into();
        }
        match variable.split_once(SEALED) {
            Some((before, _)) => format!("{before}{SEALED}…").into(),
            None => variable.into(),
        }
    }

    /// Whether a secret contains the variable. A command can be proposed before files are loaded, so search them.
    fn is_secret(&self, variable: &str) -> bool {
        self.looked_for.get_or_init(|| {
            let config = self.values("config").first().map(PathBuf::from);
            let typed = "paths path directory directories".split(' ').flat_map(|id| self.values(id)).map(PathBuf::from);
            // A saved plan may be outside of its stack's directory.
            let paths = typed.chain([config.clone().unwrap_or_else(|| ".".into())]);
            // A stack may print a variable before a later stack, which has it in a secret, is loaded.
            let below = |path: &PathBuf| load::stacks_below(path).unwrap_or_default();
            let is_recursive = !self.flags("recursive").is_empty();
            let paths = paths.flat_map(|path| is_recursive.then(|| below(&path)).into_iter().flatten().chain([path]));
            let secret_variables = self.secret_variables.clone();
            let options = LoadOptions { config, secret_variables, ..LoadOptions::default() };
            paths.for_each(|path| load::note_secrets(&path, &options));
        });
        self.secret_variables.contain(variable)
    }

    /// The flags of `words` as one text, each after a space.
    pub fn flags(&self, ids: &str) -> String {
        self.words(ids).iter().map(|flag| format!(" {flag}")).collect()
    }

    /// The flags that another command needs to use the same settings, each after a space.
    pub fn settings(&self) -> String {
        self.flags(SETTINGS)
    }

    /// The paths of the call; `.` if it has none.
    pub fn paths(&self) -> String {
        let paths: Vec<_> = self.values("paths").iter().map(|path| safe::shell(path)).collect();
        if paths.is_empty() { ".".to_owned() } else { paths.join(" ") }
    }

    /// Rejects an output that would overwrite a file that the call reads.
    ///
    /// # Errors
    /// An output is also an input.
    pub fn check_outputs(&self, environment: &ProcessEnvironment) -> Result<()> {
        // An output need not exist yet to be an input: the call may create it first, such as a drift state.
        self.outputs().filter(|path| !path.is_dir()).try_for_each(|path| self.check_output(path, environment))
    }

    /// Rejects an output file that the call reads: one that its flags or its environment name.
    ///
    /// # Errors
    /// The file is an input.
    pub fn check_output(&self, output: &Path, environment: &ProcessEnvironment) -> Result<()> {
        let path = real_path_or_given(output);
        let typed = INPUTS.split(' ').flat_map(|id| self.values(id)).map(String::as_str);
        // Those of several stacks are files in a directory.
        let mut states = self.values("drift_state").iter().map(|state| real_path_or_given(Path::new(state)));
        match typed.chain(environment.files()).any(|value| real_path_or_given(Path::new(value)) == path)
            || states.any(|state| path.parent() == Some(&state))
        {
            true => Err(is_input(output)),
            false => Ok(()),
        }
    }

    /// The files that the call writes.
    pub fn outputs(&self) -> impl Iterator<Item = &Path> {
        let beside = self.values("write").iter().filter_map(|written| Some(written.split_once('=')?.1));
        self.values("output").iter().map(String::as_str).chain(beside).map(Path::new)
    }

    /// Rejects `--budget` if no report is in Markdown.
    ///
    /// # Errors
    /// `--budget` is given without a Markdown report.
    pub fn check_budget(&self) -> Result<()> {
        let is_beside = self.values("write").iter().any(|written| written.starts_with("markdown="));
        match self.words("budget").is_empty() || is_beside || self.values("format") == ["markdown"] {
            true => Ok(()),
            false => Err(error!(Usage, "`--budget` limits a report in Markdown")
                .hint("leave out --budget, or give --format markdown")),
        }
    }

    /// The words of a command about the same paths, with these flags and the settings of the call.
    pub fn about(&self, ids: &str) -> String {
        self.paths() + &self.flags(ids) + &self.settings()
    }
}

/// The error for an output that would overwrite an input.
pub fn is_input(path: &Path) -> CommandError {
    error!(Usage, "the call also reads `{}`, which would be overwritten", path.display()).hint("name another file")
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::cli::command;

    fn call(words: &str) -> Call {
        let words = ["trueup"].into_iter().chain(words.split(' '));
        let matches = command::line().try_get_matches_from(words).expect("a command line");
        Call::of(crate::cli::innermost(&matches))
    }

    #[test]
    fn a_call_is_read_back_as_it_was_typed() {
        let call = call("--env prod plan b a -l tier=$x --var b=2 --var a=1 --adopt --sandbox --only x --only y");
        assert_eq!(
            call.about("only except selector adopt base"),
            "b a --only x --only y --selector 'tier=$x' --adopt --env prod --var b=2 --var a=1 --sandbox"
        );
        assert_eq!(call.with("paths", []).with("sandbox", ["a b".to_owned()]).with("var", []).about(""), {
            ". --env prod --sandbox='a b'"
        });
    }

    #[test]
    fn a_variable_is_repeated_without_the_sealed_secret_in_it() {
        let call = call("plan --var a=1 --var key=string:///QUJD");
        assert_eq!(call.settings(), " --var a=1 --var 'key=string:///…'");
        assert_eq!(call.values("var"), ["a=1", "key=string:///QUJD"]);
    }

    #[test]
    fn what_was_not_typed_is_no_part_of_a_call() {
        assert_eq!(call("plan").about("format budget output"), ".");
        assert_eq!(call("fleet report x --json").about("max_age format"), "x");
    }

    #[test]
    fn every_flag_with_a_path_names_an_input_or_an_output() {
        let known: BTreeSet<&str> = INPUTS.split(' ').chain(["output"]).collect();
        let is_path =
            |arg: &&clap::Arg| arg.get_value_parser().type_id() == std::any::TypeId::of::<std::path::PathBuf>();
        let mut commands = vec![command::line()];
        while let Some(command) = commands.pop() {
            for arg in command.get_arguments().filter(is_path) {
                assert!(known.contains(arg.get_id().as_str()), "--{} of {}", arg.get_id(), command.get_name());
            }
            commands.extend(command.get_subcommands().cloned());
        }
    }

    #[test]
    fn every_global_flag_decides_which_settings_are_used_or_how_a_command_works() {
        let works = "concurrency rate color verbose log quiet";
        let known: BTreeSet<&str> = SETTINGS.split(' ').chain(works.split(' ')).collect();
        let command = command::line();
        let globals = command.get_arguments().filter(|arg| arg.is_global_set());
        let globals: BTreeSet<&str> = globals.map(|arg| arg.get_id().as_str()).collect();
        assert_eq!(globals, known);
        for arg in command.get_arguments().filter(|arg| arg.is_global_set()) {
            assert_eq!(arg.get_long(), Some(&*arg.get_id().as_str().replace('_', "-")));
        }
    }
}
