//! Completion in a shell: the scripts that `completions` prints call the program, which offers endpoints and namespaces
//! of the definitions here, runs, environments and operations. It asks the service nothing, and does not offer what it
//! cannot read.

use std::ffi::{OsStr, OsString};

use clap::{Command, ValueHint};
use clap_complete::CompleteEnv;
use clap_complete::engine::{ArgValueCompleter, CompletionCandidate, PathCompleter, ValueCompleter as _};
use clap_complete::env::Shells;

use crate::api::TABLE;
use crate::cli::ProcessEnvironment;
use crate::cli::prelude::*;
use crate::journal;
use crate::kind;
use crate::model::Layout;
use crate::model::policy::{GuardName, KeyAllowance};
use crate::report::objects::Column;
use crate::state::{Location, StateStore};

/// The variable by which a script asks for completions; nothing else sets it.
const VARIABLE: &str = "TRUEUP_COMPLETE";

/// Answers the completion script of a shell for the command line of `described`; returns whether a script asked.
///
/// # Errors
/// Stdout cannot be written, or the shell is not known.
pub fn answer(words: &[OsString], described: fn() -> Command) -> Result<bool, clap::Error> {
    let here = std::env::current_dir().ok();
    CompleteEnv::with_factory(|| with_paths(described())).var(VARIABLE).try_complete(words.to_vec(), here.as_deref())
}

/// The completion function for bash, which splits words at the `:` and `=` of keys and consents. It passes whole words
/// to clap's function, and cuts off the part of the answers that bash keeps.
const WHOLE_WORDS: &str = r#"_trueup() {
    local at=0 words=() word
    for word in "${COMP_WORDS[@]:0:COMP_CWORD+1}"; do
        if ((at)) && [[ $word == [:=]* || ${words[at-1]} == *[:=] ]]; then
            words[at-1]+=$word
        else
            words[at++]=$word
        fi
    done
    local COMP_WORDS=("${words[@]}") COMP_CWORD=$((at-1))
    word=${words[at-1]}
    _clap_complete_trueup "$1" "$word" "$3"
    COMPREPLY=("${COMPREPLY[@]#"${word%"$2"}"}")
}
"#;

/// The script for a shell.
///
/// # Errors
/// The shell has none.
pub fn script(shell: &str) -> std::io::Result<String> {
    let mut script = Vec::new();
    match Shells::builtins().completer(shell) {
        Some(completer) => completer.write_registration(VARIABLE, "trueup", "trueup", "trueup", &mut script)?,
        None => return Err(std::io::Error::other(format!("there are no completions for `{shell}`"))),
    }
    let script = String::from_utf8_lossy(&script).into_owned();
    Ok(match shell {
        "bash" => format!("{WHOLE_WORDS}{}", script.replace("-F _clap_complete_trueup ", "-F _trueup ")),
        _ => script,
    })
}

/// Completes paths for arguments that take one and have no other completer.
fn with_paths(command: Command) -> Command {
    let complete = |arg: clap::Arg| match arg.get_value_hint() {
        ValueHint::AnyPath | ValueHint::FilePath | ValueHint::DirPath if arg.get::<ArgValueCompleter>().is_none() => {
            arg.add(ArgValueCompleter::new(|current: &OsStr| paths(&PathCompleter::any(), current)))
        }
        _ => arg,
    };
    command.mut_args(complete).mut_subcommands(with_paths)
}

/// The words that begin with what was typed, and that are [plain](is_plain).
fn matching(current: &OsStr, words: impl IntoIterator<Item = String>) -> Vec<CompletionCandidate> {
    let typed = current.to_string_lossy();
    let fits = |word: &String| word.starts_with(&*typed) && is_plain(word);
    words.into_iter().filter(fits).map(CompletionCandidate::new).collect()
}

/// Whether a shell reads the word literally. Shells insert a completion without quotes, so a name with `$(…)` would
/// run.
fn is_plain(word: &str) -> bool {
    safe::shell(word) == word
}

/// The files and directories with plain names.
fn paths(completer: &PathCompleter, current: &OsStr) -> Vec<CompletionCandidate> {
    let fits = |candidate: &CompletionCandidate| {
        let word = candidate.get_value().to_str();
        // The shell of the user expands `~`, which the user has typed.
        word.is_some_and(|word| is_plain(word.strip_prefix("~/").unwrap_or(word)))
    };
    completer.complete(current).into_iter().filter(fits).collect()
}

/// The keys that the definitions in the working directory define.
fn keys() -> BTreeSet<String> {
    let loaded = load::directory(Path::new("."), &LoadOptions::default());
    loaded.map(|loaded| loaded.desired.definitions.keys().map(ToString::to_string).collect()).unwrap_or_default()
}

/// What `explain` explains.
pub fn explained(current: &OsStr) -> Vec<CompletionCandidate> {
    let mut found = endpoints(current);
    found.extend(kinds(current));
    found
}

/// The names of the kinds.
pub fn kinds(current: &OsStr) -> Vec<CompletionCandidate> {
    matching(current, kind::all().map(|kind| kind.name.to_owned()))
}

/// Namespaces with a slash at first, then the endpoints in one.
pub fn endpoints(current: &OsStr) -> Vec<CompletionCandidate> {
    let keys = keys();
    if current.to_string_lossy().contains('/') {
        return matching(current, keys);
    }
    let namespaces: BTreeSet<String> =
        keys.iter().filter_map(|key| Some(format!("{}/", key.split_once('/')?.0))).collect();
    matching(current, namespaces)
}

/// The namespaces that the settings list and the definitions use.
pub fn namespaces(current: &OsStr) -> Vec<CompletionCandidate> {
    let settings = load::settings(Path::new("."), &LoadOptions::default());
    let listed = settings.map(|config| config.namespaces).unwrap_or_default();
    let defined = keys().into_iter().filter_map(|key| Some(Key::parse(&key).ok()?.namespace.to_string()));
    let all: BTreeSet<String> = listed.iter().map(ToString::to_string).chain(defined).collect();
    matching(current, all)
}

/// The state store, if it is a directory: a bucket is too slow to complete a word.
fn state() -> Option<StateStore> {
    let environment = ProcessEnvironment::read();
    let named = environment.path("TRUEUP_STATE");
    let path = named.or_else(|| environment.state_directory())?;
    (!Location::is_meant(&path.to_string_lossy())).then_some(StateStore::Directory(path))
}

/// `last`, then the runs, the newest first.
pub fn runs(current: &OsStr) -> Vec<CompletionCandidate> {
    let history = state().and_then(|state| journal::history(&state).ok());
    let runs = history.into_iter().flat_map(|history| history.runs.into_iter().rev());
    let names = std::iter::once("last".to_owned()).chain(runs.map(|run| run.run.to_string()));
    let ordered = matching(current, names).into_iter().enumerate();
    ordered.map(|(at, candidate)| candidate.display_order(Some(at))).collect()
}

/// What `show` shows.
pub fn runs_and_files(current: &OsStr) -> Vec<CompletionCandidate> {
    let mut candidates = runs(current);
    candidates.extend(paths(&PathCompleter::file(), current));
    candidates
}

/// The environments in the settings.
pub fn environments(current: &OsStr) -> Vec<CompletionCandidate> {
    let settings = load::settings(Path::new("."), &LoadOptions::default());
    matching(current, settings.map(|config| config.environments.into_keys().collect::<Vec<_>>()).unwrap_or_default())
}

/// The names that `--allow` takes; those for single objects end before the key.
pub fn allowances(current: &OsStr) -> Vec<CompletionCandidate> {
    let guards = GuardName::ALL.iter().map(ToString::to_string);
    matching(current, guards.chain(KeyAllowance::ALL.iter().map(|name| format!("{name}="))))
}

/// The names of the columns.
pub fn columns(current: &OsStr) -> Vec<CompletionCandidate> {
    matching(current, Column::names())
}

/// The names of the operations.
pub fn operations(current: &OsStr) -> Vec<CompletionCandidate> {
    matching(current, TABLE.iter().map(|entry| entry.name.to_owned()))
}

/// The names of the layouts.
pub fn layouts(current: &OsStr) -> Vec<CompletionCandidate> {
    matching(current, Layout::ALL.map(|layout| layout.as_str().to_owned()))
}
