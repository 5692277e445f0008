//! `drift`: the verdict over one stack or several, for a schedule. Each stack is planned as for an apply, but
//! nothing is changed; the drift state and the acknowledgements of a stack are files of the call.

use crate::cli::command::prelude::*;
use crate::cli::drift_store::DriftStore;
use crate::cli::stacks::fleet::{self, FleetNeeds, Member};
use crate::cli::stacks::shard::{self, ShardArg};
use crate::cli::stacks::targets::{Target, Targets};
use crate::drift::{Acknowledgement, Acknowledgements, Check, DriftState, Shard, UnmanagedPolicy};
use crate::load::Loaded;
use crate::report::fleet::{FleetCommand, StackReport};

/// Checks whether the tenant still matches the definitions: the verdict for a schedule.
///
/// Exits with 0 in sync, 2 changes pending, 3 drift, 4 both, 5 unknown. Directories of several stacks
/// are checked at the same time, each with the service and the token variable of its own trueup.yaml. Each gets
/// a verdict, and so does the whole. A stack that cannot be checked makes the exit code 1; the others are
/// still checked.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  trueup drift endpoints\n  trueup drift endpoints --format json --unmanaged fail\n  trueup drift endpoints --drift-state drift.json --acknowledged drift-acknowledged.yaml\n  trueup drift endpoints --format acknowledgements > drift-acknowledged.yaml\n  trueup drift endpoints --shard 2/5 --format prometheus\n  trueup drift -R tenants --shard 2/5 --drift-state memories"
)]
pub struct DriftArgs {
    #[command(flatten)]
    pub scope: ScopeArgs,
    #[command(flatten)]
    pub stacks: StacksArgs,
    /// Output format
    #[arg(long, value_name = "FORMAT", default_value = "text", value_parser = formats(Format::OF_DRIFT))]
    pub format: Format,
    #[command(flatten)]
    pub files: ReportFileArgs,
    /// Whether a live object without a definition is a note or drift
    #[arg(long, value_name = "HOW", default_value = "note")]
    pub unmanaged: UnmanagedArg,
    /// Drift that is accepted for a while: it is reported and raises no alarm. For several stacks, a file of
    /// this name in the directory of each
    #[arg(long, value_name = "FILE")]
    pub acknowledged: Option<PathBuf>,
    #[command(flatten)]
    pub live: LiveArgs,
    /// Record in this file since when each value has drifted. For several stacks, a directory. Not needed with
    /// --state, which records it
    #[arg(long, alias = "memory", value_name = "FILE", conflicts_with = "live")]
    pub drift_state: Option<PathBuf>,
    /// Check only the share of checker I of N, I from 1 to N or from 0 to N-1. Of a list of stacks each belongs
    /// to exactly one checker; of a single stack each namespace does. `env`: I is JOB_COMPLETION_INDEX, as Kubernetes
    /// sets it, and N is TRUEUP_SHARDS
    #[arg(long, hide_short_help = true, value_name = "I/N|env", value_parser = shard::argument)]
    pub shard: Option<ShardArg>,
}

/// What a live endpoint without a definition is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum UnmanagedArg {
    /// Reported, not drift
    Note,
    /// Drift
    Fail,
}

impl Execute for DriftArgs {
    const ENDS_ON_INTERRUPT: bool = true;

    async fn execute(&self, context: &Context) -> Result<ExitStatus> {
        output::check_files(self.files.output.as_deref(), &self.files.write)
            .inspect_err(|_| context.output.leave_files())?;
        let shard = shard::given(&context.environment, self.shard)?;
        match targets::of(context, &self.scope.paths, self.stacks)? {
            Targets::One => one(self, context, shard).await,
            Targets::Several(targets) => several(self, context, targets, shard).await,
        }
    }
}

async fn one(arguments: &DriftArgs, context: &Context, shard: Option<Shard>) -> Result<ExitStatus> {
    let options = SessionOptions { live: arguments.live.live.as_deref(), shard, ..SessionOptions::default() };
    let session = Session::open(context, &arguments.scope, options).await?;
    let (view, check) = check(arguments, session, None).await?;
    if arguments.format == Format::Text
        && arguments.files.output.is_none()
        && let Some(error) = plan_errors::unread(&check.plan)
    {
        context.output.report_beside(&check, &arguments.files.write, &view);
        return Err(error);
    }
    context.output.report_to(&check, arguments.format, &arguments.files, &view)?;
    Ok(ExitStatus::of_verdict(check.verdicts.whole()))
}

/// How the report is rendered, with the command that repeats the check without recording anything.
fn report_view(arguments: &DriftArgs, context: &Context, view: TextView) -> TextView {
    let command = format!("trueup drift {}{}", view.call, context.call.flags("unmanaged acknowledged shard live"));
    TextView { budget: Some(arguments.files.budget), command, ..view }
}

/// Checks every stack, even if others fail.
async fn several(
    arguments: &DriftArgs,
    context: &Context,
    targets: Vec<Target>,
    shard: Option<Shard>,
) -> Result<ExitStatus> {
    if arguments.format == Format::Acknowledgements {
        let hint = match context.global.env.as_deref() {
            Some(config::EVERY_ENVIRONMENT) => "name one environment: --env NAME",
            _ => "give the directories one at a time",
        };
        return Err(targets::for_one("--format acknowledgements").hint(hint));
    }
    let live = fleet::snapshots(arguments.live.live.as_deref())?;
    let mut members = fleet::open(context, targets, FleetNeeds::of(live)).await?;
    shard.into_iter().for_each(|shard| fleet::leave_elsewhere(&mut members, shard));
    if live.is_some() || arguments.drift_state.is_some() {
        fleet::have_own_files(&members)?;
    }
    if let Some(name) = &arguments.acknowledged
        && !members.iter().any(|member| member.has_file(name))
    {
        let name = name.display();
        context.output.message(&format!("note: no stack has `{name}` in its directory, so nothing is acknowledged"));
    }
    let done = fleet::all(&members, &arguments.scope.filter, async |member| {
        let (scope, live) = (member.scope(&arguments.scope.filter), member.snapshot_in(live)?);
        let options = SessionOptions { live: live.as_deref(), ..SessionOptions::default() };
        check(arguments, Session::open(&member.context, &scope, options).await?, Some(member)).await
    })
    .await?;
    fleet::print_errors(context, &members, &done);
    let (mut fleet, status) = fleet::report(FleetCommand::Drift, &members, &done, |(view, check)| {
        (StackReport::Checked(check), Some(view), ExitStatus::of_verdict(check.verdicts.whole()))
    });
    fleet.shard = shard;
    fleet.environment = context.global.env.clone().filter(|name| name != config::EVERY_ENVIRONMENT);
    let view = TextView { call: targets::call(context), ..context.timed_view() };
    let view = report_view(arguments, context, view);
    context.output.report_to(&fleet, arguments.format, &arguments.files, &view)?;
    Ok(status)
}

/// Checks one stack; also returns how its report is rendered. Each of several stacks has its own drift state, a file in
/// the directory that the call names, and its acknowledgements beside its definitions.
async fn check(arguments: &DriftArgs, session: Session<'_>, member: Option<&Member>) -> Result<(TextView, Check)> {
    let (context, stack) = (session.stack.context, &session.stack);
    let (state, acknowledged) = (arguments.drift_state.clone(), arguments.acknowledged.clone());
    let (state, acknowledged) = match member {
        None => (state, acknowledged),
        Some(member) => (
            state.map(|directory| member.drift_state_in(&directory)),
            acknowledged.map(|name| stack.loaded.root.join(name)).filter(|path| path.exists()),
        ),
    };
    let acknowledged = acknowledged.as_deref().map(|path| acknowledgements(path, &stack.loaded)).transpose()?;
    let base_url = &session.source.service().base_url;
    let kept = match arguments.live.live {
        Some(_) => None,
        None => DriftStore::of(state, stack, base_url)?,
    };
    let mut drift_state = match &kept {
        Some(kept) => kept.read().await?,
        None => DriftState::default(),
    };
    let elsewhere = &stack.loaded.namespaces() - &session.namespaces();
    // Changes to live from this time on are not part of this check.
    let now = session.began;
    let mut plan = session.differences(Some(&drift_state)).await?;
    session.locate(&mut plan);
    session.attribute(&mut plan)?;
    let verdicts = plan.verdicts(match arguments.unmanaged {
        UnmanagedArg::Note => UnmanagedPolicy::Note,
        UnmanagedArg::Fail => UnmanagedPolicy::Fail,
    });
    if let Some(kept) = &kept {
        let remember = |state: &mut DriftState| state.remember(&plan, &verdicts, &stack.loaded.desired, now);
        match kept.update(remember).await {
            Ok(stored) => drift_state = stored,
            // The verdict is known, so it is reported before the command fails.
            Err(error) => {
                remember(&mut drift_state);
                context.output.note_unwritten(error);
            }
        }
    }
    let mut check = Check { elsewhere, ..Check::new(plan, verdicts, now) };
    check.drift_state = kept.map(|_| drift_state);
    check.shard = session.shard;
    check.flags = session.stack.shown_flags();
    let loaded = &session.stack.loaded;
    check.shares_all = loaded.options().environment.is_some() && loaded.config.own_overlay.is_none();
    let check = acknowledged.iter().fold(check, Check::accepting);
    Ok((report_view(arguments, context, session.view()), check))
}

fn acknowledgements(path: &Path, loaded: &Loaded) -> Result<Acknowledgements> {
    let mut accepted: Acknowledgements = serde_yaml::from_str(&file::read_yaml(path, limit::SETTINGS)?)
        .with_context(|| format!("`{}` contains no acknowledgements", path.display()))
        .with_status(ExitStatus::Invalid)
        .hint("`drift --format acknowledgements` writes such a file")?;
    let environments = &loaded.config.environments;
    accepted.has_environments = !environments.is_empty();
    let namespaces = loaded.namespaces();
    for Acknowledgement { object, environment, reason, .. } in &accepted.acknowledged {
        let path = path.display();
        if reason.trim().is_empty() {
            return Err(error!(Invalid, "the `reason` for `{object}` in `{path}` is empty"));
        }
        // Several stacks may share the file.
        let is_own = namespaces.contains(&object.namespace);
        if let Some(name) = environment.as_ref().filter(|name| is_own && !environments.contains_key(*name)) {
            let what = "which the settings do not have";
            return Err(error!(Invalid, "`{path}` accepts `{object}` in the environment `{name}`, {what}")
                .did_you_mean(name, environments.keys().map(String::as_str)));
        }
    }
    Ok(accepted)
}
