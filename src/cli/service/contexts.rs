//! Contexts: the tenants of a user, in the user's configuration directory. A context names a service with the variable
//! or the file of its token, and contains no secret. It is one more way to name the service from outside of the
//! repository: it must agree with the others, and its token goes to its URL and to no other.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::cli::context::Context;
use crate::cli::environment::ProcessEnvironment;
use crate::cli::exit_status::{CommandError, ExitStatus};
use crate::cli::file;
use crate::cli::service::address;
use crate::cli::service::chosen_context::{ChosenContext, ContextToken};
use crate::cli::service::token;
use crate::file::{Directory, FileError, FileMode, limit};
use crate::load;
use crate::model::Name;

/// The variable that chooses a context.
pub const VARIABLE: &str = "TRUEUP_CONTEXT";
/// The directory in the configuration directory of the user, and the file in it.
const DIRECTORY: &str = "trueup";
const FILE: &str = "contexts.yaml";
const HEADER: &str = "# Written by `trueup context`. It contains no secret: tokens stay in variables and files.\n";

/// The contexts of a user.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Contexts {
    /// The one in use where a call chooses none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub current: Option<String>,
    /// Every one by its name.
    #[serde(default)]
    pub contexts: BTreeMap<String, ContextEntry>,
}

/// One tenant.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ContextEntry {
    /// Its service.
    pub base_url: String,
    /// The stack, where the settings of a directory name none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stack: Option<String>,
    /// The variable with its token.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub token_variable: Option<String>,
    /// The file with its token.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub token_file: Option<PathBuf>,
}

/// The context in force for a call, if there is one: the one of `--context`, else of `TRUEUP_CONTEXT`, else the current
/// one. A sandbox and a `--base-url` with another service leave it out.
///
/// # Errors
/// A context that does not exist or is not valid, or `--context` beside a `--base-url` with another service.
pub fn in_force(context: &Context) -> Result<Option<ChosenContext>, CommandError> {
    let global = &context.global;
    if global.sandbox.is_some() {
        return Ok(None);
    }
    let named = global.context.as_deref().or_else(|| context.environment.variable(VARIABLE));
    let contexts = read(context)?;
    let Some(name) = named.or(contexts.current.as_deref()) else { return Ok(None) };
    let chosen = contexts.chosen(name)?;
    let Some(text) = &global.base_url else { return Ok(Some(chosen)) };
    if address::read(text, "`--base-url`")? == chosen.base_url {
        return Ok(Some(chosen));
    }
    if global.context.is_some() {
        let message = format!("`--context {name}` is for {}, and `--base-url` names another service", chosen.base_url);
        return Err(CommandError::words(ExitStatus::Usage, message).hint("give one of them"));
    }
    Ok(None)
}

impl Contexts {
    /// The context of this name.
    ///
    /// # Errors
    /// There is none, or it is not valid.
    pub fn chosen(&self, name: &str) -> Result<ChosenContext, CommandError> {
        let entry = self.contexts.get(name).ok_or_else(|| self.unknown(name))?;
        let source = format!("the context `{name}`");
        let base_url = address::read(&entry.base_url, &source)?;
        let stack = entry
            .stack
            .as_deref()
            .map(Name::parse)
            .transpose()
            .map_err(|error| CommandError::words(ExitStatus::Invalid, format!("the stack of {source} {error}")))?;
        let token = match (&entry.token_variable, &entry.token_file) {
            (Some(_), Some(_)) => {
                let message = format!("{source} names a variable and a file for its token");
                return Err(CommandError::words(ExitStatus::Invalid, message).hint("add it again with one of them"));
            }
            (Some(variable), None) => {
                token::check_name(variable, &source)?;
                Some(ContextToken::Variable(variable.clone()))
            }
            (None, Some(file)) => Some(ContextToken::File(file.clone())),
            (None, None) => None,
        };
        Ok(ChosenContext { name: name.to_owned(), base_url, stack, token })
    }

    /// The error of a name that no context has.
    pub fn unknown(&self, name: &str) -> CommandError {
        let error = CommandError::words(ExitStatus::Invalid, format!("there is no context `{name}`"));
        match load::nearest(name, self.contexts.keys().map(String::as_str)) {
            Some(near) => error.hint(format!("did you mean `{near}`?")),
            None => error.hint("to list them: trueup context list"),
        }
    }
}

/// The contexts of the user; none where there is no file.
///
/// # Errors
/// A file that cannot be read, or that others can change.
pub fn read(context: &Context) -> Result<Contexts, CommandError> {
    of(&context.environment)
}

/// [`read`] for an environment.
///
/// # Errors
/// Those of [`read`].
pub fn of(environment: &ProcessEnvironment) -> Result<Contexts, CommandError> {
    let Some(home) = environment.configuration_directory() else { return Ok(Contexts::default()) };
    if !crate::file::exists(&home.join(DIRECTORY).join(FILE)) {
        // Whoever has no contexts is not asked who else can write there.
        return Ok(Contexts::default());
    }
    let failed = |error: FileError| file::hinted(ExitStatus::Invalid, error);
    let Some(directory) = Directory::find_private(&home, DIRECTORY).map_err(failed)? else {
        return Ok(Contexts::default());
    };
    let bytes = match directory.read(FILE, limit::SETTINGS) {
        Err(error) if error.is_missing() => return Ok(Contexts::default()),
        read => read.map_err(failed)?,
    };
    parse(&bytes).map_err(|reason| {
        let path = home.join(DIRECTORY).join(FILE);
        CommandError::words(ExitStatus::Invalid, format!("`{}` cannot be read: {reason}", path.display()))
            .hint("fix or remove the file")
    })
}

fn parse(bytes: &[u8]) -> Result<Contexts, String> {
    let text = std::str::from_utf8(bytes).map_err(|error| error.to_string())?;
    if crate::file::is_nested_too_deep(text) {
        return Err("it is nested too deep".to_owned());
    }
    // A file of comments alone has no contexts.
    let read: Option<Contexts> = serde_yaml::from_str(text).map_err(|error| error.to_string())?;
    Ok(read.unwrap_or_default())
}

/// Writes the contexts of the user.
///
/// # Errors
/// There is no configuration directory, or it cannot be written.
pub fn write(context: &Context, contexts: &Contexts) -> Result<(), CommandError> {
    let home = context.environment.configuration_directory().ok_or_else(|| {
        let message = "there is no configuration directory: neither XDG_CONFIG_HOME nor HOME is set";
        CommandError::words(ExitStatus::Invalid, message)
    })?;
    let failed = |error: FileError| file::hinted(ExitStatus::Failed, error);
    let directory = Directory::private(&home, DIRECTORY).map_err(failed)?;
    // Plain keys and texts: nothing that fails.
    let text = format!("{HEADER}{}", serde_yaml::to_string(contexts).unwrap_or_default());
    directory.replace(Path::new(FILE), text.as_bytes(), FileMode::Private).map_err(failed)
}
