//! The options of a load: variables, the environment, and the settings file.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use crate::model::share::locked;

/// The options of a load.
#[derive(Debug, Clone, Default)]
pub struct LoadOptions {
    /// The variables of the call, which override those of the settings.
    pub variables: BTreeMap<String, String>,
    /// The variables in secrets that loads with these options found.
    pub secret_variables: SecretVariables,
    /// Whether other stacks, or a base, get the same variables: an unused one is then not an error.
    pub shares_variables: bool,
    /// The environment of `trueup.yaml` to load.
    pub environment: Option<String>,
    /// What happens where the settings do not define it.
    pub undefined_environment: UndefinedEnvironment,
    /// The settings file, unless it is searched for.
    pub config: Option<PathBuf>,
    /// The number of threads that read and parse; the number of processors by default.
    pub threads: Option<usize>,
}

/// The names of variables that definitions use in secrets. A load with variables of the call records them, even if it
/// fails, and so does [`super::note_secrets`]; clones share them.
#[derive(Debug, Clone, Default)]
pub struct SecretVariables(Arc<Mutex<BTreeSet<String>>>);

impl SecretVariables {
    pub(super) fn note(&self, names: Vec<String>) {
        locked(&self.0).extend(names);
    }

    /// Whether the variable with this name is used for a secret.
    pub fn contain(&self, name: &str) -> bool {
        locked(&self.0).contains(name)
    }
}

/// The result of reading settings for an environment that they do not define.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum UndefinedEnvironment {
    /// An error.
    #[default]
    Refuse,
    /// The settings that a new environment would get.
    Defaults,
}

/// A file in memory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SourceFile {
    /// Its path, relative to the stack's directory, with `/` between parts.
    pub path: String,
    /// Its bytes.
    pub bytes: Vec<u8>,
}
