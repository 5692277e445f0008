//! What a load needs beside the directory: variables, the environment, and the settings file.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use crate::model::share::locked;

/// What a load needs beside the directory.
#[derive(Debug, Clone, Default)]
pub struct LoadOptions {
    /// Variables given by name, over those of the configuration.
    pub variables: BTreeMap<String, String>,
    /// What was found of variables in secrets with these options.
    pub secret_variables: SecretVariables,
    /// Whether other stacks, or a base, get the same variables: one that nothing uses here is then no error.
    pub shares_variables: bool,
    /// The environment of `trueup.yaml` to load.
    pub environment: Option<String>,
    /// What happens where the settings do not define it.
    pub undefined_environment: UndefinedEnvironment,
    /// The settings file, where it is not searched for.
    pub config: Option<PathBuf>,
    /// Threads that read and parse; as many as there are processors by default.
    pub threads: Option<usize>,
}

/// The names of variables that definitions use at the places of secrets. A load with variables of the call notes them, however
/// it ends, and so does [`super::note_secrets`]; clones share them.
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

/// What settings give for an environment that they do not define.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum UndefinedEnvironment {
    /// An error.
    #[default]
    Refuse,
    /// What they set for every environment, as a new one would get it.
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
