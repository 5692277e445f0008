//! A session: the definitions of a stack together with the live source that they are compared with.
//! It is opened once, at the top of a command, and gives every later step what it needs: the plan, the
//! places and attribution of its changes, the view of a report, and the connection to apply it with.

use std::collections::BTreeSet;
use std::path::Path;
use std::time::Instant;

use crate::api::PendingLists;
use crate::cli::args::{PermissionArgs, ScopeArgs};
use crate::cli::commits::{applied, base, base_settings, dropped};
use crate::cli::plan_request::PlanRequest;
use crate::cli::stacks::shard::{self, Shard};
use crate::cli::{
    Connection, Context, LiveSource, Result, Stack, broken_references, configuration, hint, live_source, planning,
    service, stack,
};
use crate::load::Config;
use crate::model::Namespace;
use crate::plan::Plan;
use crate::report::TextView;

/// A stack and the live source that it is compared with.
pub struct Session<'c> {
    context: &'c Context,
    /// The definitions.
    pub stack: Stack,
    /// What they are compared with.
    pub source: LiveSource,
    /// The service, unless the source is a snapshot.
    connection: Option<Connection>,
    base: Option<&'c str>,
    only_this_change: bool,
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
    /// The namespaces that the call prunes beside those of the stack.
    pub pruned: &'c [String],
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
            Some(path) => (LiveSource::Snapshot(live_source::snapshot(context, config, path)?), None),
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
        base_settings::settle(context, &mut stack, options.base, options.pruned)?;
        let SessionOptions { base, only_this_change, .. } = options;
        Ok(Self { context, stack, source, connection, base, only_this_change, begun })
    }

    /// The namespaces of a plan: those of definitions and settings, and those that the call prunes.
    ///
    /// # Errors
    /// A namespace that cannot be pruned.
    pub fn namespaces(&self, permission: &PermissionArgs) -> Result<BTreeSet<Namespace>> {
        dropped::namespaces(self.context, &self.stack, permission)
    }

    /// Reads the live source and makes the plan of an apply.
    ///
    /// # Errors
    /// Those of [`planning::plan`].
    pub async fn plan(&self, permission: &PermissionArgs) -> Result<Plan> {
        self.plan_against(&self.source, permission).await
    }

    /// The plan of an apply against another source of the same service.
    ///
    /// # Errors
    /// Those of [`planning::plan`], and references for which the definitions are wrong.
    pub async fn plan_against(&self, source: &LiveSource, permission: &PermissionArgs) -> Result<Plan> {
        let namespaces = self.namespaces(permission)?;
        let plan = self.plan_for(source, &PlanRequest { permission, namespaces, check: None, shard: None }).await?;
        broken_references::refuse(self.context, &self.stack, &plan)?;
        Ok(plan)
    }

    /// The plan for this request.
    ///
    /// # Errors
    /// Those of [`planning::plan`].
    pub async fn plan_for(&self, source: &LiveSource, request: &PlanRequest<'_>) -> Result<Plan> {
        planning::plan(self.context, &self.stack, source, request).await
    }

    /// Gives every change its place: for a plan that is shown, because each place costs another reading of
    /// a file.
    pub fn locate(&self, plan: &mut Plan) {
        planning::locate(self.context, plan, &self.stack.loaded);
    }

    /// Adds what git knows: commits, and with a base whose change each difference is. A call that asks for this change
    /// alone gets it.
    ///
    /// # Errors
    /// There is a base, and git or its definitions cannot be read.
    pub fn attribute(&self, plan: &mut Plan) -> Result<()> {
        base::attribute(self.context, &self.stack, plan, self.base)?;
        if self.only_this_change {
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
    let namespaces = shard::namespaces(listed, shard, &connection.service().base_url);
    let reader = connection.reader()?;
    Ok((connection, PendingLists::of(reader).and(&namespaces, &stack::kinds_of(config))))
}

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
