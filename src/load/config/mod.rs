//! `trueup.yaml`: the settings of a stack, read with the same places and suggestions as definitions.
//! What an environment says stands over what the file says for all of them.

mod decode;

use std::collections::BTreeMap;

pub(super) use decode::{no_environment, read};

use crate::model::{Field, Layout, Name, Namespace};

/// The name of the settings file; the directory that holds it is a stack.
pub const FILE: &str = "trueup.yaml";

/// The settings of a stack, the chosen environment applied.
#[derive(Debug, Clone, PartialEq)]
pub struct Config {
    /// Where the service is, as written; checked to hold no credentials.
    pub base_url: Option<String>,
    /// Which paths the service answers at.
    pub layout: Option<Layout>,
    /// The name under which the repository owns objects.
    pub stack: Option<Name>,
    /// Every environment by name.
    pub environments: BTreeMap<String, Environment>,
    /// The namespaces of the stack, in the order of the file; without them nothing is deleted.
    pub namespaces: Vec<Namespace>,
    /// What may be deleted in them.
    pub prune: Prune,
    /// The numbers of the mass-change guard.
    pub guards: Guards,
    /// What is looked at before an apply.
    pub gates: Gates,
    /// Fields that are left out of comparison.
    pub ignore: Vec<Ignore>,
    /// Values of `${name}`, the environment's over the general ones, `--var` over both.
    pub variables: BTreeMap<String, String>,
    /// Which files are definitions.
    pub files: Files,
    /// The environment variable that holds the token; begins with `TRUEUP_TOKEN`.
    pub token_variable: Option<String>,
    /// Requests a second.
    pub rate_limit: Option<f64>,
    /// Requests in flight.
    pub concurrency: Option<usize>,
    /// Whether the two marks are written.
    pub marks: bool,
    /// The service is known to answer a version mismatch, so that a versioned write is guarded.
    pub version_checked: bool,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            base_url: None,
            layout: None,
            stack: None,
            environments: BTreeMap::new(),
            namespaces: Vec::new(),
            prune: Prune::None,
            guards: Guards::default(),
            gates: Gates::default(),
            ignore: Vec::new(),
            variables: BTreeMap::new(),
            files: Files::default(),
            token_variable: None,
            rate_limit: None,
            concurrency: None,
            marks: true,
            version_checked: false,
        }
    }
}

/// What one environment says in the place of the whole file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Environment {
    /// Where its service is.
    pub base_url: Option<String>,
    /// Which paths it answers at.
    pub layout: Option<Layout>,
    /// The name of its stack.
    pub stack: Option<Name>,
    /// Its namespaces.
    pub namespaces: Option<Vec<Namespace>>,
    /// Its variables, over those of the file.
    pub variables: BTreeMap<String, String>,
    /// The directory of its overlays, relative to the stack's, with `/` between parts.
    pub overlay: Option<String>,
}

/// What may be deleted in the namespaces of a stack.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Prune {
    /// What the stack owns; the default where `namespaces:` lists any.
    Owned,
    /// Also what nobody marked.
    All,
    /// Nothing; the default where no namespaces are listed.
    None,
}

/// The numbers of the mass-change guard.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Guards {
    /// The largest share that may be deleted or replaced, in per cent.
    pub percent: u8,
    /// Endpoints from which on shares are counted.
    pub least: usize,
}

impl Default for Guards {
    fn default() -> Self {
        Self { percent: 30, least: 10 }
    }
}

/// What a gate does when it finds something.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum GateMode {
    /// It does not look.
    Off,
    /// It tells.
    #[default]
    Warn,
    /// It refuses the apply.
    Block,
}

impl GateMode {
    /// Every mode.
    pub const ALL: [GateMode; 3] = [GateMode::Off, GateMode::Warn, GateMode::Block];

    /// The word for it.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            GateMode::Off => "off",
            GateMode::Warn => "warn",
            GateMode::Block => "block",
        }
    }
}

/// What is looked at before an apply.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Gates {
    /// An upgrade in progress or failed at a site that a changed endpoint names.
    pub upgrade: GateMode,
    /// An open DDoS event.
    pub ddos: GateMode,
    /// More security events than usual.
    pub events: GateMode,
    /// Minutes that the events gate looks back.
    pub events_minutes: u32,
    /// Security events in that time from which on the gate speaks.
    pub events_threshold: u64,
}

impl Default for Gates {
    fn default() -> Self {
        Self {
            upgrade: GateMode::Warn,
            ddos: GateMode::Warn,
            events: GateMode::Off,
            events_minutes: 15,
            events_threshold: 1000,
        }
    }
}

/// A field that is left out of comparison for the objects that a pattern names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ignore {
    /// A glob over `namespace/name`.
    pub object: String,
    /// The field.
    pub field: Field,
}

/// Globs over paths relative to the stack's directory.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Files {
    /// Only these; all where empty.
    pub include: Vec<String>,
    /// Not these.
    pub exclude: Vec<String>,
}
