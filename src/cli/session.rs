//! A session: the definitions of a stack together with the live source that they are compared with: the service, or a snapshot
//! of it, which needs no token and no connection. It is opened once, at the top of a command, and gives every later step what it
//! needs: the plan, the places and attribution of its changes, the view of a report, and the connection to apply it with.

use std::cell::Cell;

use jiff::Timestamp;

use crate::api::{self, PendingLists, Reader};
use crate::cli::args::{ChangeArgs, ScopeArgs};
use crate::cli::commits::{applied, base, dropped};
use crate::cli::prelude::*;
use crate::cli::stacks::defined_elsewhere::{self, Definitions, Referrers};
use crate::cli::stacks::{declared, shard};
use crate::cli::{
    CommandResult as _, Connection, Context, ExitStatus, Result, Stack, file, plan_errors, policy, service, settings,
    stack,
};
use crate::drift::{DriftState, Shard};
use crate::journal::{JournalError, RunOwner};
use crate::load::{Diagnostic, DirectoryKeys, SourceMap, StackFiles};
use crate::model::policy::{KeyAllowance, Prune};
use crate::model::{ListRead, Live, RelatedObject, Scope, Snapshot, SourceLocation};
use crate::plan::{
    self, ActionKind, Allowances, BlockedChange, ChangePlaces, FieldChange, NamedCommits, Note, PlanBuilder, PlanInput,
    PlanOrigin, PlanSettings, PlanSource, ScopeRead, ScopeState,
};
use crate::report::facts::edits;
use crate::run::RunRecord;
use crate::state::StateStore;

/// A stack and the live source that it is compared with.
pub struct Session<'c> {
    /// The definitions.
    pub stack: Stack<'c>,
    /// What they are compared with.
    pub source: LiveSource,
    /// The service, unless the source is a snapshot.
    pub connection: Option<Connection>,
    /// Which changes the call plans, and what it allows.
    change: ChangeArgs,
    /// The part of a fleet to read.
    pub shard: Option<Shard>,
    /// What it allows by name.
    pub allow: Allowances,
    /// The namespaces that it prunes beside those of the stack.
    pub pruned: BTreeSet<Namespace>,
    /// The time before the first request: what is read shows everything that was done by then.
    pub began: Timestamp,
    /// Whether the filters were checked against a plan.
    filtered: Cell<bool>,
}

/// What a call chooses beside its paths and filters.
#[derive(Default, Clone, Copy)]
pub struct SessionOptions<'c> {
    /// The snapshot to compare with, instead of the service.
    pub live: Option<&'c Path>,
    /// The part of a fleet to read.
    pub shard: Option<Shard>,
    /// Which changes are planned and allowed; `None` for a call that changes nothing.
    pub change: Option<&'c ChangeArgs>,
}

impl<'c> Session<'c> {
    /// Opens a stack and what it is compared with. While the definitions load, the service already answers
    /// for the namespaces that the settings list.
    ///
    /// # Errors
    /// Problems in the definitions come first, then those of the connection or the snapshot, then those
    /// of the base.
    pub async fn open(context: &'c Context, scope: &ScopeArgs, options: SessionOptions<'c>) -> Result<Self> {
        if options.live.is_some() {
            return Self::compare(stack::open(context, scope)?, options).await;
        }
        let began = context.environment.now();
        let early = async {
            // The load reports what is wrong with the settings.
            let config = load::settings(&scope.paths[0], &settings::load_options(context)).ok()?;
            ask(context, &config, options.shard).await.ok()
        };
        let (stack, early) = tokio::join!(stack::open_aside(context, scope), early);
        let stack = stack?;
        let (connection, lists) = match early {
            Some(early) => early,
            None => {
                // An embedded service that was started in vain keeps its file locked.
                context.close().await;
                ask(context, &stack.loaded.config, options.shard).await?
            }
        };
        let source = LiveSource::Service(connection.service(), lists.reader().clone(), Cell::new(Some(lists)));
        Self::settled(stack, (source, Some(connection)), options, began)
    }

    /// [`Session::open`] with the plan of an apply, in which every change has its location and what git knows of it.
    ///
    /// # Errors
    /// Those of [`Session::open`], [`Session::plan`] and [`Session::attribute`].
    pub async fn planned(context: &'c Context, scope: &ScopeArgs, options: SessionOptions<'c>) -> Result<(Self, Plan)> {
        let session = Self::open(context, scope, options).await?;
        let mut plan = session.plan().await?;
        session.locate(&mut plan);
        session.attribute(&mut plan)?;
        session.consent(&mut plan);
        Ok((session, plan))
    }

    /// A session over a stack that is loaded already; the service is asked nothing yet.
    ///
    /// # Errors
    /// Those of [`Session::open`] that the definitions do not cause.
    pub async fn compare(stack: Stack<'c>, options: SessionOptions<'c>) -> Result<Self> {
        let (context, config) = (stack.context, &stack.loaded.config);
        let began = context.environment.now();
        let live = match options.live {
            Some(path) => (LiveSource::Snapshot(snapshot(context, config, path)?, None), None),
            None => {
                let connection = service::connect(context, config).await?;
                (LiveSource::of(&connection)?, Some(connection))
            }
        };
        Self::settled(stack, live, options, began)
    }

    /// The session, once the settings of the base are in force.
    fn settled(
        mut stack: Stack<'c>,
        (source, connection): (LiveSource, Option<Connection>),
        options: SessionOptions<'c>,
        began: Timestamp,
    ) -> Result<Self> {
        base::check_whole(&stack.loaded, &stack.repository).hint("nothing was sent")?;
        let change = options.change.cloned().unwrap_or_default();
        let pruned = change.prune_namespace.iter().cloned().collect();
        if let Some(base) = &change.base {
            let then = base::settings_at(&stack, base, &pruned)?;
            stack.settle(Some(&then), None)?;
            if !stack.setting_changes.is_empty() {
                let own = base::own_settings(&stack, base);
                stack.settle(Some(&then), own.as_ref().map(<[_; 2]>::each_ref))?;
            }
        }
        check_pruned(&stack, &pruned)?;
        let allow = settings::allow(&change.allow)?;
        Ok(Self {
            stack,
            source,
            connection,
            change,
            shard: options.shard,
            allow,
            pruned,
            began,
            filtered: Cell::default(),
        })
    }

    /// The namespaces of a plan: those of definitions and settings, and those that the call prunes. A shard reads only
    /// its share.
    pub fn namespaces(&self) -> BTreeSet<Namespace> {
        let all = &self.stack.loaded.namespaces() | &self.pruned;
        shard::namespaces(self.shard, all, &self.source.service().base_url)
    }

    /// Adds what git knows: commits, and with a base whose change each difference is. With `--only-this-change`, the
    /// plan keeps only the changes of the working tree.
    ///
    /// # Errors
    /// There is a base, and git or its definitions cannot be read.
    pub fn attribute(&self, plan: &mut Plan) -> Result<()> {
        base::attribute(&self.stack, plan, self.change.base.as_deref())?;
        if self.change.only_this_change {
            *plan = plan.only_this_change(&self.allow);
        }
        applied::stamp(&self.stack, plan);
        plan.source.planned_by = self.stack.context.environment.person();
        Ok(())
    }

    /// How a report of this session is rendered for people.
    pub fn view(&self) -> TextView {
        let (context, loaded) = (self.stack.context, &self.stack.loaded);
        // If nothing else names the service, the snapshot does.
        let service = match &self.source {
            LiveSource::Snapshot(taken, None) => settings::service(context, &loaded.config, &taken.base_url),
            LiveSource::Service(..) | LiveSource::Snapshot(_, Some(_)) => String::new(),
        };
        let call = self.stack.call() + &context.call.flags("adopt prune_namespace") + &service;
        let more = context.call.flags("base only_this_change live");
        TextView {
            again: Some(format!("trueup plan {call}{more}")),
            call,
            flags: settings::elsewhere(context, loaded),
            ..context.timed_view()
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
}

impl Session<'_> {
    /// Reads the live source and makes the plan of an apply.
    ///
    /// A state directory that cannot be read, broken references, or a transfer of objects that the policy forbids.
    /// Reads that fail are part of the plan.
    /// lets nothing be taken. Reads that fail are part of the plan.
    pub async fn plan(&self) -> Result<Plan> {
        let plan = self.differences(None).await?;
        plan_errors::require_references(&self.stack, &plan)?;
        policy::permits_transfers(self.stack.context, &plan)?;
        Ok(plan)
    }

    /// The plan for a verdict or an edit of definitions, which may have broken references. With the drift state of a
    /// check, it also notes what it cannot decide.
    ///
    /// # Errors
    /// A state directory that cannot be read.
    pub async fn differences(&self, check: Option<&DriftState>) -> Result<Plan> {
        let (context, stack) = (self.stack.context, &self.stack);
        let (built, mut listed) = tokio::join!(self.build(check), dropped::listed_before(stack));
        let (mut plan, commits) = built?;
        listed.add_applied(stack, &commits, self.change.base.as_deref());
        let here = (&*stack.loaded.root, &stack.loaded.config, &stack.repository);
        let referrers = defined_elsewhere::block(context, here, Definitions::Planned, &mut plan);
        refer(&self.source, &mut plan, &self.allow, &referrers).await;
        plan.notes.extend(listed.note());
        for scopes in dropped::scopes(stack, (&self.namespaces(), self.shard), check, listed, &plan) {
            let (namespaces, kinds): (BTreeSet<_>, _) =
                scopes.iter().map(|scope| (&scope.namespace, scope.kind)).unzip();
            let live = self.source.live(Scope::each(namespaces, &kinds)).await;
            plan.source.requests += live.requests;
            let lists = live.lists.iter().filter(|(scope, _)| scopes.contains(scope));
            let drifted = |scope: &Scope| check.is_some_and(|drift_state| drift_state.has_drift(scope));
            lists.for_each(|(scope, read)| plan.note_outside(scope, read, &stack.selection, drifted(scope)));
        }
        defined_elsewhere::note(context, here, &mut plan);
        plan.setting_changes.clone_from(&stack.setting_changes);
        let describe =
            |note: &Diagnostic| format!("{}:{}: {}", note.file().unwrap_or_default(), note.line(), note.message);
        plan.notes.extend(stack.loaded.notes.iter().map(|note| Note::Loaded { text: describe(note) }));
        let is_idle = |namespace: &&Namespace| {
            let owns_nothing = |state: &ScopeState| matches!(state.read, ScopeRead::Complete { owned: 0, .. });
            plan.scope.iter().all(|(scope, state)| scope.namespace != **namespace || owns_nothing(state))
        };
        let idle: Vec<_> = self.pruned.iter().filter(is_idle).collect();
        let in_vain = |one| format!("--prune-namespace {one}: the stack owns nothing there");
        plan.notes.extend(idle.into_iter().map(|one| Note::Loaded { text: in_vain(one) }));
        let kinds: BTreeSet<KindName> = plan.changes.iter().map(|change| change.key.kind).collect();
        let weak = kinds.into_iter().filter(|kind| kind.kind().is_weak);
        plan.notes.extend(weak.map(|kind| Note::Weak { kind }));
        plan.notes.extend(kept_kinds(&plan, &stack.loaded.config));
        let unchosen = stack.loaded.config.without_environment(plan.source.environment.as_deref());
        plan.notes.extend(unchosen.map(|text| Note::Loaded { text }));
        plan.hidden_notes.clone_from(&stack.loaded.config.hide_notes);
        Ok(plan)
    }

    /// A plan of this stack and source without a change.
    ///
    /// # Errors
    /// The name of the stack is not valid.
    pub fn empty_plan(&self, origin: PlanOrigin, filters: Vec<String>, kinds: &BTreeSet<KindName>) -> Result<Plan> {
        let Self { stack, source, change, pruned, .. } = self;
        Ok(Plan {
            tool_version: env!("CARGO_PKG_VERSION").to_owned(),
            service: source.service(),
            stack: stack.name()?,
            settings: PlanSettings {
                safeguards: stack.loaded.config.safeguards.clone(),
                adopt: change.adopt,
                base: false,
                prune_namespaces: pruned.clone(),
            },
            source: PlanSource {
                origin,
                environment: stack.context.global.env.clone(),
                filters,
                snapshot: source.taken(),
                kinds: kinds.iter().copied().filter(|kind| !kind.is_endpoint()).collect(),
                ..PlanSource::default()
            },
            ..Plan::default()
        })
    }

    /// The plan of what is defined, and the commits that live objects name.
    async fn build(&self, check: Option<&DriftState>) -> Result<(Plan, NamedCommits)> {
        let Self { stack, source, .. } = self;
        let config = &stack.loaded.config;
        let origin = PlanOrigin::Directory(stack.directory.clone());
        let plan = self.empty_plan(origin, stack.filters.clone(), &stack.loaded.kinds())?;
        let input = PlanInput {
            desired: &stack.loaded.desired,
            namespaces: &config.namespaces.iter().chain(&self.pruned).cloned().collect(),
            kinds: &config.kinds,
            ignore: &settings::ignore(config)?,
            allow: &self.allow,
            selection: &stack.selection,
        };
        let mut builder = PlanBuilder::new(plan, input);
        let (namespaces, kinds) = (self.namespaces(), stack.loaded.kinds());
        let requests = source.read(Scope::each(&namespaces, &kinds), |scope, read| builder.take(scope, &read)).await;
        // Only once: after a rehearsal, the changes that the filters chose are made, so they may match nothing.
        if !self.filtered.replace(true) {
            stack::check_filters(stack, builder.matched())?;
        }
        let commits = builder.commits().clone();
        let mut plan = builder.finish(requests);
        applied::judge_missing(stack, check, (&commits, self.began), &mut plan).await?;
        Ok((plan, commits))
    }

    /// Records in the plan which consents of the call it needs, and who gives them.
    pub fn consent(&self, plan: &mut Plan) {
        plan.consent(&self.allow, self.stack.context.environment.person().as_deref());
        let guards = plan.refused().into_iter().map(|guard| guard.name.as_str());
        let singly = plan.blocked.iter().filter_map(BlockedChange::consent).map(KeyAllowance::as_str);
        let forbidden = policy::forbidden(self.stack.context, &guards.chain(singly).collect());
        plan.notes.extend(forbidden.into_iter().map(|text| Note::Loaded { text }));
    }

    /// Gives every change its place, with paths that can be opened from the working directory.
    pub fn locate(&self, plan: &mut Plan) {
        let loaded = &self.stack.loaded;
        let prefix = self.stack.context.environment.shown_from_here(&loaded.root);
        plan.locate(|| {
            let places = SourceMap::new(loaded);
            let prefix = &prefix;
            let shown =
                move |place: SourceLocation| SourceLocation { file: format!("{prefix}{}", place.file), ..place };
            move |key: &Key, change: Option<&FieldChange>| {
                // A field that the definition does not write has the place of the definition.
                let whole = places.place(key, change.map(|change| &change.field)).or_else(|| places.place(key, None));
                let of_kind = change.filter(|change| change.field.is_of_spec() && !key.kind.is_endpoint());
                let edits = of_kind.map(|change| edits::of_field(key.kind, change)).unwrap_or_default();
                let values = edits.into_iter().filter_map(|edit| {
                    // The index of an item that is only live is that of another item in the file.
                    let path = edit.path.split('[').next().filter(|_| edit.after.is_none()).unwrap_or(&edit.path);
                    Some((places.value(key, path).map(shown)?, edit.path))
                });
                let values: BTreeMap<String, SourceLocation> = values.map(|(place, name)| (name, place)).collect();
                // If all that differs is written at one place, that is the place of the field, too.
                let only = values.values().next().filter(|first| values.values().all(|place| place == *first)).cloned();
                ChangePlaces { whole: only.or_else(|| whole.map(shown)), values }
            }
        });
    }
}

/// Blocks the deletes of endpoints that others refer to, live or by their definitions in other stacks.
pub async fn refer(source: &LiveSource, plan: &mut Plan, allow: &Allowances, defined: &Referrers) {
    let asked = plan.going().map(async |key| (key.clone(), source.referrers(key).await));
    let referrers: BTreeMap<Key, _> = futures_util::future::join_all(asked).await.into_iter().collect();
    let silent = referrers.iter().filter(|(_, answer)| matches!(answer, Ok(None)));
    let notes: Vec<Note> = silent.map(|(key, _)| Note::ReferrersNotAsked { key: key.clone() }).collect();
    plan.refer(allow, |key| {
        let mut by = referrers.get(key).cloned().unwrap_or(Ok(None))?.unwrap_or_default();
        for one in defined.get(key).into_iter().flatten() {
            if by.iter().all(|other| other.key() != one.key()) {
                by.push(one.clone());
            }
        }
        Ok(by)
    });
    plan.notes.extend(notes);
}

/// The note that created objects stay without their definitions, because `kinds:` does not list their kinds.
fn kept_kinds(plan: &Plan, config: &Config) -> Option<Note> {
    let created: BTreeSet<KindName> = plan.of_kind(ActionKind::Create).map(|change| change.key.kind).collect();
    let kept: Vec<&str> = (&created - &config.kinds_with_endpoint()).into_iter().map(KindName::as_str).collect();
    let may_delete = plan.stack.is_some() && !config.namespaces.is_empty() && config.safeguards.prune != Prune::None;
    let text = || format!("`kinds:` of trueup.yaml does not list {}: no plan deletes such objects", kept.join(", "));
    (may_delete && !kept.is_empty()).then(|| Note::Loaded { text: text() })
}

/// Rejects namespaces of `--prune-namespace` that the stack has, and settings that delete nothing or everything.
fn check_pruned(stack: &Stack<'_>, pruned: &BTreeSet<Namespace>) -> Result<()> {
    let Some(first) = pruned.first() else { return Ok(()) };
    if let Some(listed) = stack.loaded.namespaces().intersection(pruned).next() {
        return Err(error!(Usage, "`--prune-namespace {listed}` is for a namespace that the stack no longer has")
            .hint("it is listed under `namespaces:`, or has definitions: a plan prunes it by itself"));
    }
    policy::permits_namespaces(stack.context, pruned)?;
    let is_owned = stack.loaded.config.safeguards.prune == Prune::Owned;
    if stack.name()?.is_none() || !is_owned {
        let what = "deletes what the stack owns there";
        // The setting in trueup.yaml is not in force.
        if let Some(change) = stack.setting_changes.iter().find(|change| change.setting == "prune" && !is_owned) {
            let error = error!(Refused, "`--prune-namespace {first}` {what}").hint(change.to_string());
            return Err(error.hint("nothing was sent"));
        }
        return Err(error!(Usage, "`--prune-namespace {first}` {what}")
            .hint("it needs a `stack:`, `namespaces:` and `prune: owned` in trueup.yaml"));
    }
    Ok(())
}

/// Connects, and asks for the namespaces and kinds that the settings list.
async fn ask(context: &Context, config: &Config, shard: Option<Shard>) -> Result<(Connection, PendingLists)> {
    let connection = service::connect(context, config).await?;
    let listed = config.namespaces.iter().cloned().collect();
    let namespaces = shard::namespaces(shard, listed, &connection.service().base_url);
    let reader = connection.reader()?;
    Ok((connection, PendingLists::of(reader).and(Scope::each(&namespaces, &config.kinds_with_endpoint()))))
}

/// The run that a changing call names, found by `find`: `last` is that of the stack and the service that flags,
/// environment and configuration name. Any other run must be of this service and sandbox, too.
///
/// # Errors
/// They name no service, there is no such run, or it was applied elsewhere.
pub async fn run_to_change(context: &Context, run: &str, find: FindRun) -> Result<RunRecord> {
    let config = settings::of_directory(context, Path::new("."))?;
    let base_url = settings::place(context, &config)?.base_url().to_string();
    let owner = settings::run_owner(context, settings::stack(context, &config)?, base_url);
    let (name, asked) = (run.to_owned(), owner.clone());
    let found = settings::ask_state(context, move |store| find(store, &name, &asked)).await?;
    let record = found.map_err(|error| match error {
        JournalError::Superseded { .. } => settings::store_error(context, ExitStatus::Refused, error),
        JournalError::State(_) => settings::store_failed(context, error).hint("nothing was sent"),
        error => settings::store_error(context, ExitStatus::Invalid, error),
    })?;
    let (url, sandbox) = (&record.header.plan.service.base_url, &record.header.sandbox);
    // An earlier version recorded no sandbox.
    if *url == owner.base_url && (sandbox.is_none() || *sandbox == owner.sandbox) {
        return is_of_directory(context, &config, run, record);
    }
    policy::is_of_environment(context, &config, &record.header.plan)?;
    let place = |sandbox: &Option<String>, url: &str| match sandbox {
        Some(sandbox) => format!("the sandbox {sandbox}"),
        None => url.to_owned(),
    };
    let (there, here) = (place(sandbox, url), place(&owner.sandbox, &owner.base_url));
    let hint = match settings::flag_of(context, url, sandbox.as_deref()) {
        Some(flag) => format!("that service is named by {flag}"),
        None => "that sandbox is no longer there, and what the run changed is gone with it".to_owned(),
    };
    let error = error!(Refused, "run {} was applied to {there}, and the call names {here}", record.run());
    Err(error.hint(hint).hint("nothing was sent"))
}

/// Rejects for `last` a run of another directory, as far as that can be seen: stacks without a name share their runs.
/// The run belongs to a directory whose files define something that it wrote, or that its plan was made for.
fn is_of_directory(context: &Context, config: &Config, run: &str, record: RunRecord) -> Result<RunRecord> {
    let plan = &record.header.plan;
    let root = |directory: &Path| load::root(directory, &LoadOptions::default()).ok();
    let here = root(settings::directory(context)).filter(|root| root.join(config::FILE).exists());
    let Some(here) = here.filter(|_| run == "last" && plan.stack.is_none()) else { return Ok(record) };
    let is_in = |files: &DirectoryKeys| plan.changes.iter().any(|change| files.may_define(&change.key));
    let is_elsewhere = || {
        let declared = context.tenants.declared(&declared::top(&here));
        let mut others = declared.iter().flat_map(|all| all.iter()).filter(|other| other.path != here);
        plan.made_for().and_then(|made_for| root(Path::new(made_for))).is_some_and(|there| there != here)
            || others.any(|other| is_in(other.texts()))
    };
    match is_in(&DirectoryKeys::read(&here, &StackFiles::new(config))) || !is_elsewhere() {
        true => Ok(record),
        false => Err(error!(Refused, "run {} wrote nothing that this stack defines, which has no name", record.run())
            .hint("`last` is the newest run of all stacks without a name: name the run, or give each stack a name")
            .hint("nothing was sent")),
    }
}

/// How a run is found in the state of the call.
type FindRun = fn(&StateStore, &str, &RunOwner) -> Result<RunRecord, JournalError>;

/// The service of a saved plan or a recorded run, with the configuration that limits it: that of `--config`, else that of the
/// working directory. The plan itself never names it, because a file must not choose its own limits.
///
/// # Errors
/// The configuration cannot be read, is of another stack, or names another service.
pub async fn of_plan(context: &Context, plan: &Plan) -> Result<(Config, Connection)> {
    let config = settings::of_directory(context, Path::new("."))?;
    let stack = settings::stack(context, &config)?;
    if stack != plan.stack {
        let named =
            |stack: &Option<String>| stack.as_ref().map_or("no stack".to_owned(), |name| format!("stack `{name}`"));
        let error = error!(Refused, "the plan is of {}, and the settings name {}", named(&plan.stack), named(&stack));
        let made_for = match (&plan.source.environment, &context.global.env) {
            (Some(made), chosen) if chosen.as_ref() != Some(made) => Some(format!("with --env {}", safe::shell(made))),
            (None, Some(_)) => Some("without --env".to_owned()),
            _ => None,
        };
        let error = error.hint_each(made_for.map(|how| format!("the plan was made {how}")));
        return Err(error.hint(settings::stack_of(context, plan)).hint("nothing was sent"));
    }
    policy::check_plan(context, (&config, settings::directory(context)), plan)?;
    let connection = service::connect(context, &config).await?;
    connection.is_for(plan)?;
    Ok((config, connection))
}

/// The service that the configuration of the working directory names.
///
/// # Errors
/// It names none, or the service cannot be used.
pub async fn service(context: &Context) -> Result<Connection> {
    let config = settings::of_directory(context, Path::new("."))?;
    service::connect(context, &config).await
}

/// Where a plan reads what is live.
pub enum LiveSource {
    /// The service, with lists that may have been requested already.
    Service(plan::ServiceId, Reader, Cell<Option<PendingLists>>),
    /// A snapshot; one that was just taken has a reader, to ask the service who refers to an object.
    Snapshot(Snapshot, Option<Reader>),
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

    /// The service, as a plan names it.
    pub fn service(&self) -> plan::ServiceId {
        match self {
            LiveSource::Service(service, ..) => service.clone(),
            LiveSource::Snapshot(copy, _) => plan::ServiceId { base_url: copy.base_url.clone(), layout: copy.layout },
        }
    }

    /// When the snapshot was taken, RFC 3339; `None` for the service itself.
    pub fn taken(&self) -> Option<String> {
        match self {
            LiveSource::Service(..) | LiveSource::Snapshot(_, Some(_)) => None,
            LiveSource::Snapshot(snapshot, None) => Some(snapshot.taken.to_string()),
        }
    }

    /// Reads these lists, in the order in which they arrive; returns the number of requests.
    pub async fn read(&self, scopes: impl Iterator<Item = Scope>, mut take: impl FnMut(&Scope, ListRead)) -> u64 {
        match self {
            LiveSource::Service(_, reader, lists) => {
                let asked = lists.take().unwrap_or_else(|| PendingLists::of(reader.clone()));
                let mut lists = asked.and(scopes);
                while let Some((scope, read)) = lists.next().await {
                    take(&scope, read);
                }
                lists.requests()
            }
            LiveSource::Snapshot(copy, _) => {
                for scope in scopes {
                    take(&scope, api::snapshot::read(copy, &scope));
                }
                0
            }
        }
    }

    /// Reads these lists.
    pub async fn live(&self, scopes: impl Iterator<Item = Scope>) -> Live {
        let mut live = Live::default();
        live.requests = self.read(scopes, |scope, read| drop(live.lists.insert(scope.clone(), read))).await;
        live
    }

    /// Who refers to an object; `None` if a snapshot does not contain that.
    ///
    /// # Errors
    /// The answer cannot be read; with the reason.
    pub async fn referrers(&self, key: &Key) -> Result<Option<Vec<RelatedObject>>, String> {
        match self {
            LiveSource::Service(_, reader, _) | LiveSource::Snapshot(_, Some(reader)) => {
                api::referring_views(reader, key).await.map(Some).map_err(|error| error.failure.to_string())
            }
            LiveSource::Snapshot(snapshot, None) => api::snapshot::referrers(snapshot, key),
        }
    }
}
