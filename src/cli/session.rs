//! A session: the definitions of a stack together with the live source that they are compared with: the service, or a snapshot
//! of it, which needs no token and no connection. It is opened once, at the top of a command, and gives every later step what it
//! needs: the plan, the places and attribution of its changes, the view of a report, and the connection to apply it with.

use std::cell::Cell;
use std::collections::BTreeSet;
use std::path::Path;
use std::time::Instant;

use anyhow::Context as _;

use crate::api::{self, PendingLists, Reader};
use crate::cli::args::{PermissionArgs, ScopeArgs};
use crate::cli::commits::{applied, base, base_settings};
use crate::cli::stacks::shard::Shard;
use crate::cli::{
    CommandResult as _, Connection, Context, ExitStatus, Result, Stack, configuration, file, hint, policy, service,
    settings, stack, state,
};
use crate::file::limit;
use crate::journal::{JournalError, RunOwner};
use crate::kind::KindName;
use crate::load::Config;
use crate::model::policy::Prune;
use crate::model::{Key, ListRead, Live, Namespace, RelatedObject, Scope, Snapshot};
use crate::plan::{self, Allowances, Plan};
use crate::report::TextView;
use crate::run::RunRecord;
use crate::state::StateStore;

/// A stack and the live source that it is compared with.
pub struct Session<'c> {
    /// The context of the command.
    pub context: &'c Context,
    /// The definitions.
    pub stack: Stack,
    /// What they are compared with.
    pub source: LiveSource,
    /// The service, unless the source is a snapshot.
    connection: Option<Connection>,
    /// What the call chooses.
    pub options: SessionOptions<'c>,
    /// What it allows by name.
    pub allow: Allowances,
    /// The namespaces that it prunes beside those of the stack.
    pub pruned: BTreeSet<Namespace>,
    begun: Instant,
}

/// What a call chooses beside its paths and filters.
#[derive(Default, Clone, Copy)]
pub struct SessionOptions<'c> {
    /// The snapshot to compare with, instead of the service.
    pub live: Option<&'c Path>,
    /// The branch or commit that the changes are attributed against.
    pub base: Option<&'c str>,
    /// Only what the working tree changed since the base is planned.
    pub only_this_change: bool,
    /// The part of a fleet to read.
    pub shard: Option<Shard>,
    /// What the call allows; nothing for one that changes nothing.
    pub permission: Option<&'c PermissionArgs>,
}

impl<'c> Session<'c> {
    /// Opens a stack and what it is compared with. While the definitions load, the service already answers
    /// for the namespaces that the settings list.
    ///
    /// # Errors
    /// Problems in the definitions come first, then those of the connection or the snapshot, then those
    /// of the base.
    pub async fn open(context: &'c Context, scope: &ScopeArgs, options: SessionOptions<'c>) -> Result<Self> {
        let begun = Instant::now();
        if options.live.is_some() {
            return Self::compare(context, stack::open(context, scope)?, options).await;
        }
        let (stack, connection, lists) = connect(context, scope, options.shard).await?;
        let source = LiveSource::with(&connection, lists);
        Self::settled(context, stack, (source, Some(connection)), options, begun)
    }

    /// A session over a stack that is loaded already; the service is asked nothing yet.
    ///
    /// # Errors
    /// Those of [`Session::open`] that the definitions do not cause.
    pub async fn compare(context: &'c Context, stack: Stack, options: SessionOptions<'c>) -> Result<Self> {
        let begun = Instant::now();
        let config = &stack.loaded.config;
        let live = match options.live {
            Some(path) => (LiveSource::Snapshot(snapshot(context, config, path)?), None),
            None => {
                let connection = service::connect(context, config).await?;
                (LiveSource::of(&connection)?, Some(connection))
            }
        };
        Self::settled(context, stack, live, options, begun)
    }

    /// The session, once the settings of the base are in force.
    fn settled(
        context: &'c Context,
        mut stack: Stack,
        (source, connection): (LiveSource, Option<Connection>),
        options: SessionOptions<'c>,
        begun: Instant,
    ) -> Result<Self> {
        base::check_whole(&stack)?;
        let names = options.permission.map(|permission| permission.prune_namespace.as_slice()).unwrap_or_default();
        let pruned = names.iter().cloned().collect();
        if let Some(base) = options.base {
            base_settings::settle(context, &mut stack, base, &pruned)?;
        }
        check_pruned(context, &stack, &pruned)?;
        let allow = settings::allow(options.permission.map(|permission| &permission.allow).into_iter().flatten())?;
        Ok(Self { context, stack, source, connection, options, allow, pruned, begun })
    }

    /// The namespaces of a plan: those of definitions and settings, and those that the call prunes, of which a shard reads
    /// its own.
    pub fn namespaces(&self) -> BTreeSet<Namespace> {
        let all = &self.stack.namespaces() | &self.pruned;
        match self.options.shard {
            Some(shard) => shard.namespaces(all, &self.source.service().base_url),
            None => all,
        }
    }

    /// Adds what git knows: commits, and with a base whose change each difference is. A call that asks for this change
    /// alone gets it.
    ///
    /// # Errors
    /// There is a base, and git or its definitions cannot be read.
    pub fn attribute(&self, plan: &mut Plan) -> Result<()> {
        base::attribute(self.context, &self.stack, plan, self.options.base)?;
        if self.options.only_this_change {
            *plan = plan.only_this_change();
        }
        Ok(())
    }

    /// Lets the plan name who made it, and its ownership annotations the commit of the definitions.
    pub fn stamp(&self, plan: &mut Plan) {
        applied::stamp(&self.stack, plan);
        plan.source.planned_by = self.context.environment.person();
    }

    /// How a report of this session is drawn for people.
    pub fn view(&self) -> TextView {
        // A snapshot names its service, where nothing else does.
        let service = match &self.source {
            LiveSource::Snapshot(taken) => hint::service(self.context, &self.stack.loaded.config, &taken.base_url),
            LiveSource::Service(..) | LiveSource::Copied(..) => String::new(),
        };
        TextView {
            elapsed: Some(self.begun.elapsed()),
            call: self.stack.call() + &self.context.call.flags("adopt prune_namespace") + &service,
            flags: hint::elsewhere(self.context, &self.stack.loaded),
            ..self.context.output.view()
        }
    }

    /// The connection alone: an apply can take long, and needs neither definitions nor git.
    ///
    /// # Errors
    /// The source is a snapshot.
    pub fn into_connection(self) -> Result<Connection> {
        let missing = || error!(Bug, "a snapshot has no service");
        self.connection.ok_or_else(missing)
    }

    /// The connection, unless the source is a snapshot.
    pub fn connection(&self) -> Option<&Connection> {
        self.connection.as_ref()
    }
}

/// Refuses namespaces of `--prune-namespace` that the settings list, and settings that delete nothing or everything.
fn check_pruned(context: &Context, stack: &Stack, pruned: &BTreeSet<Namespace>) -> Result<()> {
    let Some(first) = pruned.first() else { return Ok(()) };
    if let Some(listed) = stack.namespaces().intersection(pruned).next() {
        return Err(error!(Usage, "`--prune-namespace {listed}` is for a namespace that the stack no longer has")
            .hint("it is listed under `namespaces:`, or has definitions: a plan prunes it by itself"));
    }
    policy::permits_namespaces(context, pruned)?;
    let config = &stack.loaded.config;
    if settings::stack(context, config)?.is_none() || config.safeguards.prune != Prune::Owned {
        return Err(error!(Usage, "`--prune-namespace {first}` deletes what the stack owns there")
            .hint("it needs a `stack:`, `namespaces:` and `prune: owned` in trueup.yaml"));
    }
    Ok(())
}

/// Loads a stack while its service already answers for the namespaces that its settings list.
async fn connect(
    context: &Context,
    scope: &ScopeArgs,
    shard: Option<Shard>,
) -> Result<(Stack, Connection, PendingLists)> {
    let early = async {
        match stack::settings(context, scope) {
            Some(config) => ask(context, &config, shard).await.ok(),
            None => None,
        }
    };
    let (stack, early) = tokio::join!(stack::open_aside(context, scope), early);
    let stack = stack?;
    let (connection, lists) = match early {
        Some(early) => early,
        None => {
            // An embedded service that was started for nothing keeps its file.
            context.close().await;
            ask(context, &stack.loaded.config, shard).await?
        }
    };
    Ok((stack, connection, lists))
}

/// Connects, and asks for the namespaces and kinds that the settings list.
async fn ask(context: &Context, config: &Config, shard: Option<Shard>) -> Result<(Connection, PendingLists)> {
    let connection = service::connect(context, config).await?;
    let listed = config.namespaces.iter().cloned().collect();
    let namespaces = match shard {
        Some(shard) => shard.namespaces(listed, &connection.service().base_url),
        None => listed,
    };
    let reader = connection.reader()?;
    Ok((connection, PendingLists::of(reader).and(&namespaces, &stack::kinds_of(config))))
}

/// The run that a call names which changes something, found by `find`: `last` is that of the stack and the service that
/// flags, environment and configuration name, and another run must be one of this service, and of this sandbox.
///
/// # Errors
/// They name no service, there is no such run, or it was applied elsewhere.
pub fn run_to_change(context: &Context, run: &str, find: FindRun) -> Result<RunRecord> {
    let config = configuration::of_directory(context, Path::new("."))?;
    let base_url = settings::place(context, &config)?.base_url().to_string();
    let owner = state::run_owner(context, settings::stack(context, &config)?, base_url);
    let record = find(state::store(context)?, run, &owner)
        .map_err(|error| state::with_status(context, ExitStatus::Invalid, error))?;
    let (url, sandbox) = (&record.header.plan.service.base_url, &record.header.sandbox);
    // An earlier version recorded no sandbox.
    if *url == owner.base_url && (sandbox.is_none() || *sandbox == owner.sandbox) {
        return Ok(record);
    }
    let place = |sandbox: &Option<String>, url: &str| match sandbox {
        Some(sandbox) => format!("the sandbox {sandbox}"),
        None => url.to_owned(),
    };
    let (there, here) = (place(sandbox, url), place(&owner.sandbox, &owner.base_url));
    let hint = match hint::flag_of(context, url, sandbox.as_deref()) {
        Some(flag) => format!("that service is named by {flag}"),
        None => "that sandbox is no longer there, and what the run changed is gone with it".to_owned(),
    };
    let error = error!(Refused, "run {} was applied to {there}, and the call names {here}", record.run());
    Err(error.hint(hint).hint("nothing was sent"))
}

/// How a run is found in the state of the call.
type FindRun = fn(&StateStore, &str, &RunOwner) -> Result<RunRecord, JournalError>;

/// The service of a saved plan or a recorded run, with the configuration that limits it.
///
/// # Errors
/// The configuration is of another stack, or names another service.
pub async fn of_plan(context: &Context, plan: &Plan) -> Result<(Config, Connection)> {
    let config = configuration::of_plan(context, plan)?;
    let connection = service::connect(context, &config).await?;
    connection.is_for(plan)?;
    Ok((config, connection))
}

/// The service that the configuration of the working directory names.
///
/// # Errors
/// It names none, or the service cannot be used.
pub async fn service(context: &Context) -> Result<Connection> {
    let config = configuration::of_directory(context, Path::new("."))?;
    service::connect(context, &config).await
}

/// Where a plan reads what is live.
pub enum LiveSource {
    /// The service, which may have been asked already.
    Service(plan::ServiceId, Reader, Cell<Option<PendingLists>>),
    /// A snapshot.
    Snapshot(Snapshot),
    /// A snapshot that was just taken; the service is asked who refers to an object.
    Copied(Snapshot, Reader),
}

/// The snapshot in a file, which must be of the service that the settings name, if they name one.
///
/// # Errors
/// The file is not a snapshot, is altered, or is of another service.
pub fn snapshot(context: &Context, config: &Config, path: &Path) -> Result<Snapshot> {
    let bytes = file::read(path, limit::SAVED)?;
    let snapshot = Snapshot::from_file(&bytes)
        .with_context(|| format!("`{}` is not used", path.display()))
        .with_status(ExitStatus::Refused)
        .hint("nothing was read from it")?;
    let named = settings::named(context, config)?.map(|place| place.base_url().to_string());
    if let Some(named) = named.filter(|named| *named != snapshot.base_url) {
        let error = error!(Refused, "the snapshot is of {}, and the settings name {named}", snapshot.base_url);
        return Err(error.hint("nothing was read from it"));
    }
    let layout = settings::named_layout(context, config)?;
    if let Some(layout) = layout.filter(|layout| *layout != snapshot.layout) {
        let error =
            error!(Refused, "the snapshot is of the {} layout, and the settings name {layout}", snapshot.layout);
        return Err(error.hint("nothing was read from it"));
    }
    Ok(snapshot)
}

impl LiveSource {
    /// The service; it is asked nothing yet.
    ///
    /// # Errors
    /// Certificates that cannot be used.
    pub fn of(connection: &Connection) -> Result<Self> {
        Ok(LiveSource::Service(connection.service(), connection.reader()?, Cell::new(None)))
    }

    /// The service, with the lists that it was asked for already.
    pub fn with(connection: &Connection, lists: PendingLists) -> Self {
        LiveSource::Service(connection.service(), lists.reader().clone(), Cell::new(Some(lists)))
    }

    /// The service, as a plan names it.
    pub fn service(&self) -> plan::ServiceId {
        match self {
            LiveSource::Service(service, ..) => service.clone(),
            LiveSource::Snapshot(copy) | LiveSource::Copied(copy, _) => {
                plan::ServiceId { base_url: copy.base_url.clone(), layout: copy.layout }
            }
        }
    }

    /// When the snapshot was taken, RFC 3339; nothing for the service itself.
    pub fn taken(&self) -> Option<String> {
        match self {
            LiveSource::Service(..) | LiveSource::Copied(..) => None,
            LiveSource::Snapshot(snapshot) => Some(snapshot.taken.to_string()),
        }
    }

    /// Reads these kinds of each of these namespaces, in the order in which they arrive; returns the number of requests.
    pub async fn read(
        &self,
        namespaces: &BTreeSet<Namespace>,
        kinds: &BTreeSet<KindName>,
        mut take: impl FnMut(&Scope, ListRead),
    ) -> u64 {
        match self {
            LiveSource::Service(_, reader, lists) => {
                let asked = lists.take().unwrap_or_else(|| PendingLists::of(reader.clone()));
                let mut lists = asked.and(namespaces, kinds);
                while let Some((scope, read)) = lists.next().await {
                    take(&scope, read);
                }
                lists.requests()
            }
            LiveSource::Snapshot(copy) | LiveSource::Copied(copy, _) => {
                for scope in Scope::each(namespaces, kinds) {
                    take(&scope, api::snapshot::read(copy, &scope));
                }
                0
            }
        }
    }

    /// Reads these kinds of these namespaces.
    pub async fn live(&self, namespaces: &BTreeSet<Namespace>, kinds: &BTreeSet<KindName>) -> Live {
        let mut live = Live::default();
        live.requests = self
            .read(namespaces, kinds, |scope, read| {
                live.lists.insert(scope.clone(), read);
            })
            .await;
        live
    }

    /// Who refers to an object; nothing if a snapshot does not contain that.
    ///
    /// # Errors
    /// Why that cannot be read.
    pub async fn referrers(&self, key: &Key) -> Result<Option<Vec<RelatedObject>>, String> {
        match self {
            LiveSource::Service(_, reader, _) | LiveSource::Copied(_, reader) => {
                api::referring_views(reader, key).await.map(Some).map_err(|error| error.failure.to_string())
            }
            LiveSource::Snapshot(snapshot) => api::snapshot::referrers(snapshot, key),
        }
    }
}
