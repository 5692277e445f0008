use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Instant;

use jiff::Timestamp;

use crate::cli::args::{DriftArgs, DriftFormat, PermissionArgs, ScopeArgs, UnmanagedArg};
use crate::cli::exit_status::{CommandError, ExitStatus};
use crate::cli::live_source::{self, Session, SourceOptions};
use crate::cli::planning::PlanRequest;
use crate::cli::stack::Stack;
use crate::cli::{Context, base, file, planning, settings, shard, stack};
use crate::drift::{Acknowledgements, Check, CheckRecord, DriftState, UnmanagedPolicy, Verdicts};
use crate::file::limit;
use crate::plan::Plan;
use crate::report::fleet::{Fleet, FleetPart, PartOutcome};
use crate::report::text::TextView;
use crate::report::{annotation, github, json, junit, markdown, prometheus, sarif, text};

/// Days for which an offered acknowledgement is good.
const OFFERED_DAYS: i64 = 14;

/// Gives the verdict over the tenant, or over each of several.
pub async fn run(arguments: &DriftArgs, context: &Context) -> Result<ExitStatus, CommandError> {
    let begun = Instant::now();
    if arguments.base.is_some() {
        return Err(CommandError::words(
            ExitStatus::Usage,
            "`drift` compares with what was applied, and takes no --base",
        )
        .hint("whose change each difference is tells: trueup plan --base REF"));
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
    let files = CheckFiles { memory: arguments.drift_state.clone(), acknowledged: arguments.acknowledged.clone() };
    let scope = ScopeArgs { paths: paths.to_vec(), filter: arguments.scope.filter.clone() };
    let call = SourceOptions { live: arguments.live.live.as_deref(), shard: arguments.shard };
    let (stack, opened) = live_source::open(context, &scope, call).await?;
    let checked = check(arguments, context, (stack, opened), files).await?;
    let check = checked.check();
    let view = TextView { elapsed: Some(begun.elapsed()), directory: checked.call.clone(), ..context.output.view() };
    context.output.answer(&render(arguments, &check, &view));
    Ok(ExitStatus::of_verdict(check.verdicts.whole()))
}

/// Checks every stack, whatever becomes of the others.
async fn several(
    arguments: &DriftArgs,
    context: &Context,
    stacks: &[Vec<PathBuf>],
    begun: Instant,
) -> Result<ExitStatus, CommandError> {
    let one_only = [
        (arguments.live.live.is_some(), "--live", "a snapshot is of one service"),
        (arguments.format == DriftFormat::Acknowledgements, "--format acknowledgements", "they stand beside a stack"),
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
    context.output.answer(&render_fleet(arguments, &fleet, &view));
    Ok(if fleet.failed() > 0 { ExitStatus::Failed } else { ExitStatus::of_verdict(fleet.whole()) })
}

/// Checks one stack of several; nothing where all its namespaces are other checkers'.
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
        // A memory is one stack's: they lie together in a directory, by service and name.
        memory: arguments.drift_state.as_ref().map(|directory| directory.join(memory_name(&base_url, &name))),
        // What is accepted stands beside the definitions of its stack.
        acknowledged: arguments.acknowledged.as_ref().map(|name| root.join(name)).filter(|path| path.exists()),
    };
    let opened = Session::of(context, &stack, None).await?;
    check(arguments, context, (stack, opened), files).await.map(Some)
}

fn memory_name(base_url: &str, stack: &str) -> String {
    let host = base_url.split_once("://").map_or(base_url, |(_, host)| host);
    let plain = |c: char| if c.is_ascii_alphanumeric() || c == '-' || c == '.' { c } else { '_' };
    format!("{}_{}.json", host.chars().map(plain).collect::<String>(), stack.chars().map(plain).collect::<String>())
}

/// The paths of the call by the stack that they lie in, in the order of the call.
fn stacks(arguments: &DriftArgs, context: &Context) -> Result<Vec<Vec<PathBuf>>, CommandError> {
    let given = &arguments.scope.paths;
    if given.len() < 2 {
        return Ok(vec![given.clone()]);
    }
    let mut order: BTreeMap<PathBuf, usize> = BTreeMap::new();
    let mut stacks: Vec<Vec<PathBuf>> = Vec::new();
    for path in given {
        let at = *order.entry(stack::root(context, path)?).or_insert(stacks.len());
        match stacks.get_mut(at) {
            Some(paths) => paths.push(path.clone()),
            None => stacks.push(vec![path.clone()]),
        }
    }
    Ok(stacks)
}

/// The files of one stack's check.
struct CheckFiles {
    memory: Option<PathBuf>,
    acknowledged: Option<PathBuf>,
}

/// A stack that was checked.
struct CheckedStack {
    call: String,
    plan: Plan,
    verdicts: Verdicts,
    memory: Option<DriftState>,
    acknowledged: Option<Acknowledgements>,
    now: Timestamp,
}

impl CheckedStack {
    fn check(&self) -> Check<'_> {
        let mut check = Check::new(&self.plan, self.verdicts.clone(), self.now);
        check.drift_state = self.memory.as_ref();
        match &self.acknowledged {
            Some(acknowledged) => check.accepting(acknowledged),
            None => check,
        }
    }
}

async fn check(
    arguments: &DriftArgs,
    context: &Context,
    (stack, opened): (Stack, Session),
    files: CheckFiles,
) -> Result<CheckedStack, CommandError> {
    let acknowledged = files.acknowledged.as_deref().map(acknowledgements).transpose()?;
    let mut memory = memory(files.memory.as_deref(), &stack)?;
    let live_source = opened.live_source()?;
    let permission = PermissionArgs::default();
    let namespaces = shard::namespaces(stack.namespaces(), arguments.shard, &live_source.service().base_url);
    let purpose =
        PlanRequest { permission: &permission, namespaces, memory: &memory, is_check: true, shard: arguments.shard };
    let looked = planning::plan_for(context, &stack, &live_source, &purpose).await;
    opened.close().await;
    let mut plan = looked?;
    planning::locate(context, &mut plan, &stack.loaded);
    base::attribute(context, &stack, &mut plan, None)?;
    let verdicts = plan.verdicts(match arguments.unmanaged {
        UnmanagedArg::Note => UnmanagedPolicy::Note,
        UnmanagedArg::Fail => UnmanagedPolicy::Fail,
    });
    let now = context.environment.now();
    if let Some(path) = &files.memory {
        let desired = &stack.loaded.desired;
        memory.remember(CheckRecord { plan: &plan, verdicts: &verdicts, desired }, now);
        file::replace(path, &memory.to_file())?;
    }
    let memory = files.memory.is_some().then_some(memory);
    Ok(CheckedStack { call: stack.call, plan, verdicts, memory, acknowledged, now })
}

fn render(arguments: &DriftArgs, check: &Check<'_>, view: &TextView) -> String {
    match arguments.format {
        DriftFormat::Text => text::drift(check, view),
        DriftFormat::Json => json::drift(check),
        DriftFormat::Markdown => {
            let rest = format!("trueup drift {}", view.directory);
            markdown::drift(check, &markdown::MarkdownOptions { budget: arguments.budget, rest, ..Default::default() })
        }
        DriftFormat::Github => github::annotations(&annotation::of_check(check), ""),
        DriftFormat::Junit => junit::report(check),
        DriftFormat::Prometheus => prometheus::report(check),
        DriftFormat::Sarif => sarif::report(&annotation::of_check(check), "", env!("CARGO_PKG_VERSION")),
        DriftFormat::Acknowledgements => {
            let today = check.now.to_zoned(jiff::tz::TimeZone::UTC).date();
            let expires = today.saturating_add(jiff::Span::new().days(OFFERED_DAYS));
            let offered = Acknowledgements::offered(check.plan, &check.found, "say why it is accepted", expires);
            // Plain keys and texts: nothing that fails.
            serde_yaml::to_string(&offered).unwrap_or_default()
        }
    }
}

fn render_fleet(arguments: &DriftArgs, fleet: &Fleet<'_>, view: &TextView) -> String {
    match arguments.format {
        // Acknowledgements were refused before.
        DriftFormat::Text | DriftFormat::Acknowledgements => text::fleet(fleet, view),
        DriftFormat::Json => json::fleet(fleet),
        DriftFormat::Markdown => {
            markdown::fleet(fleet, &markdown::MarkdownOptions { budget: arguments.budget, ..Default::default() })
        }
        DriftFormat::Github => github::annotations(&fleet.remarks(), ""),
        DriftFormat::Junit => junit::fleet(fleet),
        DriftFormat::Prometheus => prometheus::fleet(fleet),
        DriftFormat::Sarif => sarif::report(&fleet.remarks(), "", env!("CARGO_PKG_VERSION")),
    }
}

fn acknowledgements(path: &Path) -> Result<Acknowledgements, CommandError> {
    serde_yaml::from_str(&file::read_yaml(path, limit::SETTINGS)?).map_err(|error| {
        let failure = anyhow::Error::from(error).context(format!("`{}` holds no acknowledgements", path.display()));
        CommandError::new(ExitStatus::Invalid, failure).hint("`drift --format acknowledgements` writes such a file")
    })
}

/// What the file remembers; nothing yet where there is none.
fn memory(path: Option<&Path>, stack: &Stack) -> Result<DriftState, CommandError> {
    let Some(path) = path else { return Ok(DriftState::default()) };
    if !stack.selection.is_all() {
        return Err(CommandError::words(
            ExitStatus::Usage,
            "a memory needs a check without filters: what is left out would be taken for mended",
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
