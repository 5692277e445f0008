//! `drift`: the verdict over one stack or several, for a schedule. Each stack is planned as for an apply, but
//! nothing is changed; the drift state and the acknowledgements of a stack are files of the call.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Instant;

use jiff::Timestamp;

use crate::cli::args::{DriftArgs, PermissionArgs, ScopeArgs, UnmanagedArg};
use crate::cli::context::Context;
use crate::cli::exit_status::{CommandError, ExitStatus};
use crate::cli::plan_request::PlanRequest;
use crate::cli::session::{Session, SessionOptions};
use crate::cli::stack::{self, Stack};
use crate::cli::{configuration, file, settings, shard};
use crate::drift::{Acknowledgements, Check, CheckRecord, DriftState, UnmanagedPolicy, Verdicts};
use crate::file::limit;
use crate::plan::Plan;
use crate::report::fleet::{Fleet, FleetPart, PartOutcome};
use crate::report::text::TextView;
use crate::report::{Format, Report, ReportOptions, render};

/// Reports the verdict over a stack, or over each of several.
pub async fn run(arguments: &DriftArgs, context: &Context) -> Result<ExitStatus, CommandError> {
    let begun = Instant::now();
    if arguments.base.is_some() {
        return Err(CommandError::words(
            ExitStatus::Usage,
            "`drift` compares with what was applied, and takes no --base",
        )
        .hint("to see whose change each difference is: trueup plan --base REF"));
    }
    let stacks = stacks(arguments, context)?;
    match stacks.as_slice() {
        [paths] => one(arguments, context, paths, begun).await,
        many => several(arguments, context, many, begun).await,
    }
}

async fn one(
    arguments: &DriftArgs,
    context: &Context,
    paths: &[PathBuf],
    begun: Instant,
) -> Result<ExitStatus, CommandError> {
    let files = CheckFiles { drift_state: arguments.drift_state.clone(), acknowledged: arguments.acknowledged.clone() };
    let scope = ScopeArgs { paths: paths.to_vec(), filter: arguments.scope.filter.clone() };
    let options = SessionOptions { live: arguments.live.live.as_deref(), base: None, shard: arguments.shard };
    let session = Session::open(context, &scope, options).await?;
    let checked = check(arguments, context, session, files).await?;
    let check = checked.check();
    let view = TextView { elapsed: Some(begun.elapsed()), call: checked.call.clone(), ..context.output.view() };
    answer(arguments, context, &Report::Check(&check), &view);
    Ok(ExitStatus::of_verdict(check.verdicts.whole()))
}

fn answer(arguments: &DriftArgs, context: &Context, report: &Report<'_>, view: &TextView) {
    let command = format!("trueup drift {}", view.call);
    let options = ReportOptions { budget: arguments.budget, command, ..ReportOptions::new(view) };
    context.output.answer(&render(report, arguments.format, &options));
}

/// Checks every stack, whatever happens to the others.
async fn several(
    arguments: &DriftArgs,
    context: &Context,
    stacks: &[Vec<PathBuf>],
    begun: Instant,
) -> Result<ExitStatus, CommandError> {
    let one_only = [
        (arguments.live.live.is_some(), "--live", "a snapshot is of one service"),
        (arguments.format == Format::Acknowledgements, "--format acknowledgements", "they belong to one stack"),
    ];
    if let Some((_, flag, why)) = one_only.into_iter().find(|(given, ..)| *given) {
        return Err(CommandError::words(
            ExitStatus::Usage,
            format!("`{flag}` is for one stack, and the paths name several"),
        )
        .hint(format!("{why}: give the directories one at a time")));
    }
    let mut done: Vec<(String, Result<Option<CheckedStack>, CommandError>)> = Vec::new();
    for paths in stacks {
        let shown: Vec<String> = paths.iter().map(|path| path.display().to_string()).collect();
        let checked = member(arguments, context, paths).await;
        // The next stack may use the same embedded service.
        context.close().await;
        if let Err(error) = &checked {
            context.output.error(error);
        }
        done.push((shown.join(" "), checked));
    }
    let parts = done.iter().map(|(directory, checked)| FleetPart {
        directory: directory.clone(),
        outcome: match checked {
            Ok(Some(checked)) => PartOutcome::Checked(checked.check()),
            Ok(None) => PartOutcome::Elsewhere,
            Err(error) => PartOutcome::Failed(error.to_string()),
        },
    });
    let fleet = Fleet { parts: parts.collect() };
    let view = TextView { elapsed: Some(begun.elapsed()), ..context.output.view() };
    answer(arguments, context, &Report::Fleet(&fleet), &view);
    Ok(if fleet.failed() > 0 { ExitStatus::Failed } else { ExitStatus::of_verdict(fleet.whole()) })
}

/// Checks one stack of several; returns nothing if other checkers have all its namespaces.
async fn member(
    arguments: &DriftArgs,
    context: &Context,
    paths: &[PathBuf],
) -> Result<Option<CheckedStack>, CommandError> {
    let stack = stack::open(context, &ScopeArgs { paths: paths.to_vec(), filter: arguments.scope.filter.clone() })?;
    let base_url = settings::place(context, &stack.loaded.config)?.base_url().to_string();
    if shard::namespaces(stack.namespaces(), arguments.shard, &base_url).is_empty() {
        return Ok(None);
    }
    let root = stack.loaded.root.clone();
    let name = stack.loaded.config.stack.as_ref().map_or_else(|| "stack".to_owned(), ToString::to_string);
    let files = CheckFiles {
        // Each stack has its own drift state: a file of the directory, by service and name.
        drift_state: arguments.drift_state.as_ref().map(|directory| directory.join(state_name(&base_url, &name))),
        // Acknowledgements are kept beside the definitions of their stack.
        acknowledged: arguments.acknowledged.as_ref().map(|name| root.join(name)).filter(|path| path.exists()),
    };
    let session = Session::compare(context, stack, SessionOptions::default()).await?;
    check(arguments, context, session, files).await.map(Some)
}

fn state_name(base_url: &str, stack: &str) -> String {
    let host = base_url.split_once("://").map_or(base_url, |(_, host)| host);
    let plain = |c: char| if c.is_ascii_alphanumeric() || c == '-' || c == '.' { c } else { '_' };
    format!("{}_{}.json", host.chars().map(plain).collect::<String>(), stack.chars().map(plain).collect::<String>())
}

/// The paths of the call by their stack, in the order of the call.
fn stacks(arguments: &DriftArgs, context: &Context) -> Result<Vec<Vec<PathBuf>>, CommandError> {
    let given = &arguments.scope.paths;
    if given.len() < 2 {
        return Ok(vec![given.clone()]);
    }
    let mut order: BTreeMap<PathBuf, usize> = BTreeMap::new();
    let mut stacks: Vec<Vec<PathBuf>> = Vec::new();
    for path in given {
        let at = *order.entry(configuration::root(context, path)?).or_insert(stacks.len());
        match stacks.get_mut(at) {
            Some(paths) => paths.push(path.clone()),
            None => stacks.push(vec![path.clone()]),
        }
    }
    Ok(stacks)
}

/// The files of one stack's check.
struct CheckFiles {
    drift_state: Option<PathBuf>,
    acknowledged: Option<PathBuf>,
}

/// A stack that was checked.
struct CheckedStack {
    call: String,
    plan: Plan,
    verdicts: Verdicts,
    drift_state: Option<DriftState>,
    acknowledged: Option<Acknowledgements>,
    now: Timestamp,
}

impl CheckedStack {
    fn check(&self) -> Check<'_> {
        let mut check = Check::new(&self.plan, self.verdicts.clone(), self.now);
        check.drift_state = self.drift_state.as_ref();
        match &self.acknowledged {
            Some(acknowledged) => check.accepting(acknowledged),
            None => check,
        }
    }
}

async fn check(
    arguments: &DriftArgs,
    context: &Context,
    session: Session<'_>,
    files: CheckFiles,
) -> Result<CheckedStack, CommandError> {
    let acknowledged = files.acknowledged.as_deref().map(acknowledgements).transpose()?;
    let stack = &session.stack;
    let mut drift_state = drift_state(files.drift_state.as_deref(), stack)?;
    let permission = PermissionArgs::default();
    let namespaces = shard::namespaces(stack.namespaces(), arguments.shard, &session.source.service().base_url);
    let request =
        PlanRequest { permission: &permission, namespaces, check: Some(&drift_state), shard: arguments.shard };
    let mut plan = session.plan_for(&session.source, &request).await?;
    session.locate(&mut plan);
    session.attribute(&mut plan)?;
    let verdicts = plan.verdicts(match arguments.unmanaged {
        UnmanagedArg::Note => UnmanagedPolicy::Note,
        UnmanagedArg::Fail => UnmanagedPolicy::Fail,
    });
    let now = context.environment.now();
    if let Some(path) = &files.drift_state {
        let desired = &stack.loaded.desired;
        drift_state.remember(CheckRecord { plan: &plan, verdicts: &verdicts, desired }, now);
        file::replace(path, &drift_state.to_file())?;
    }
    let drift_state = files.drift_state.is_some().then_some(drift_state);
    Ok(CheckedStack { call: session.stack.call, plan, verdicts, drift_state, acknowledged, now })
}

fn acknowledgements(path: &Path) -> Result<Acknowledgements, CommandError> {
    serde_yaml::from_str(&file::read_yaml(path, limit::SETTINGS)?).map_err(|error| {
        let failure = anyhow::Error::from(error).context(format!("`{}` contains no acknowledgements", path.display()));
        CommandError::new(ExitStatus::Invalid, failure).hint("`drift --format acknowledgements` writes such a file")
    })
}

/// The drift state in the file; an empty one if there is no file yet.
fn drift_state(path: Option<&Path>, stack: &Stack) -> Result<DriftState, CommandError> {
    let Some(path) = path else { return Ok(DriftState::default()) };
    if !stack.selection.is_all() {
        return Err(CommandError::words(
            ExitStatus::Usage,
            "a drift state needs a check without filters: what is left out would be taken for fixed",
        ));
    }
    if !crate::file::exists(path) {
        return Ok(DriftState::default());
    }
    DriftState::from_file(&file::read(path, limit::SAVED)?).map_err(|error| {
        let failure = anyhow::Error::from(error).context(format!("`{}` cannot be used", path.display()));
        CommandError::new(ExitStatus::Invalid, failure)
    })
}
