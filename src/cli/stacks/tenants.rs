//! What the stacks of one command share, by service: one pool of connections and one rate limit, the smallest that any
//! of them configures; one embedded service; what was found of other stacks; and what the filters of the call matched.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use crate::api::{self, ClientPool, ClientSettings, ClientSettingsError, Secret};
use crate::cli::stacks::declared::{self, Declared};
use crate::git::{GitError, Repository};
use crate::load::Config;
use crate::model::{Key, Namespace};
use crate::plan::MatchedFilters;

/// What the filters of a call matched in its stacks.
#[derive(Debug, Default)]
pub struct MatchedInStacks {
    /// The filters that matched something.
    pub matched: MatchedFilters,
    /// The namespaces of the stacks.
    pub namespaces: BTreeSet<Namespace>,
    /// A stack could not be read whole, so that a filter may match something in it.
    pub is_partial: bool,
}

/// The endpoints that one of several stacks defines.
#[derive(Debug)]
pub struct DefinedKeys {
    /// Its directory.
    pub root: PathBuf,
    /// Its environment.
    pub environment: Option<String>,
    /// Its service, if something names one.
    pub base_url: Option<String>,
    /// The endpoints.
    pub keys: Vec<Key>,
}

/// The services of a command about several stacks.
#[derive(Debug, Default)]
pub struct Tenants {
    /// What the filters of the call matched so far; nothing for a command about one stack.
    pub filters: Option<RefCell<MatchedInStacks>>,
    /// What the stacks of the call define, as far as they are loaded.
    pub defined: RefCell<Vec<DefinedKeys>>,
    tenants: RefCell<BTreeMap<String, Tenant>>,
    embedded: Option<EmbeddedService>,
    /// The stacks of each repository, once they were searched for.
    in_tree: RefCell<BTreeMap<PathBuf, Result<Declared, String>>>,
    /// The same at a commit.
    at_commit: RefCell<BTreeMap<(PathBuf, String), Declared>>,
}

/// An embedded service that all stacks use.
#[derive(Debug, Clone)]
pub struct EmbeddedService {
    /// Where it listens.
    pub address: SocketAddr,
    /// Its token.
    pub token: Secret,
}

/// What the stacks of one service share.
#[derive(Debug, Default)]
struct Tenant {
    rate_limit: Option<f64>,
    concurrency: Option<usize>,
    pool: Option<ClientPool>,
}

impl Tenants {
    /// The services of these stacks, whose requests go to `embedded` if there is one.
    #[must_use]
    pub fn new(embedded: Option<EmbeddedService>) -> Self {
        Self { embedded, filters: Some(RefCell::default()), ..Self::default() }
    }

    /// Takes in the limits of a stack of the service at `base_url`.
    pub fn add(&self, base_url: &str, config: &Config) {
        let mut tenants = self.tenants.borrow_mut();
        let tenant = tenants.entry(base_url.to_owned()).or_default();
        tenant.rate_limit = match (tenant.rate_limit, config.rate_limit) {
            (Some(one), Some(other)) => Some(one.min(other)),
            (one, other) => one.or(other),
        };
        tenant.concurrency = match (tenant.concurrency, config.concurrency) {
            (Some(one), Some(other)) => Some(one.min(other)),
            (one, other) => one.or(other),
        };
    }

    /// The directories with settings in and below `top`.
    ///
    /// # Errors
    /// Why it cannot be searched.
    pub fn declared(&self, top: &Path) -> Result<Declared, String> {
        let mut known = self.in_tree.borrow_mut();
        known.entry(top.to_owned()).or_insert_with(|| declared::in_tree(top).map(Into::into)).clone()
    }

    /// The directories with settings at a commit.
    ///
    /// # Errors
    /// git cannot show the commit, or not all of it.
    pub fn declared_at(&self, repository: &Repository, commit: &str) -> Result<Declared, GitError> {
        let mut known = self.at_commit.borrow_mut();
        let place = (repository.top().to_owned(), commit.to_owned());
        if let Some(declared) = known.get(&place) {
            return Ok(Declared::clone(declared));
        }
        let declared = declared::at_commit(repository, commit)?.into();
        Ok(Declared::clone(known.entry(place).or_insert(declared)))
    }

    /// The embedded service, if the stacks use one.
    pub fn embedded(&self) -> Option<&EmbeddedService> {
        self.embedded.as_ref()
    }

    /// The smallest rate limit and number of requests at the same time that a stack of the service configures.
    pub fn limits(&self, base_url: &str) -> (Option<f64>, Option<usize>) {
        let tenants = self.tenants.borrow();
        tenants.get(base_url).map_or((None, None), |tenant| (tenant.rate_limit, tenant.concurrency))
    }

    /// Lets the client of a stack share the pool of its service.
    ///
    /// # Errors
    /// Certificates that cannot be used.
    pub fn share(&self, settings: &mut ClientSettings) -> Result<(), ClientSettingsError> {
        let mut tenants = self.tenants.borrow_mut();
        let beside = tenants.values().find_map(|tenant| tenant.pool.clone());
        if let Some(tenant) = tenants.get_mut(settings.base_url.as_str()) {
            let pool = match &tenant.pool {
                Some(pool) => pool.clone(),
                None => api::pool(settings, beside.as_ref())?,
            };
            settings.pool = Some(tenant.pool.insert(pool).clone());
        }
        Ok(())
    }
}
