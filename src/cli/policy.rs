//! The policy of a call: limits from outside the repository (`--policy` or `TRUEUP_POLICY`), which can
//! only tighten what a configuration says. A policy that is named and cannot be read is an error.

use std::rc::Rc;

use crate::cli::context::PolicyFile;
use crate::cli::prelude::*;
use crate::cli::{CommandResult as _, Context, ExitStatus, Result, settings};
use crate::file::{self, real_path_or_given};
use crate::journal::{self, JournalError};
use crate::model::Json;
use crate::model::policy::{GateMode, Policy, Prune, Violation};
use crate::plan::{ActionKind, UndoneRun};
use crate::report::document;
use crate::run::RunRecord;

/// The variable that names a policy.
pub const VARIABLE: &str = "TRUEUP_POLICY";

/// The maximum number of bytes of a policy.
const LARGEST: u64 = 1024 * 1024;

/// Reads the policy that flag or environment name, if they name one.
///
/// # Errors
/// Two are named, or the one that is named cannot be read.
pub fn read(context: &mut Context) -> Result<()> {
    let flag = context.global.policy.clone();
    let variable = context.environment.path(VARIABLE);
    if variable.as_ref().is_some_and(|path| path.as_os_str().is_empty()) {
        return Err(error!(Invalid, "`TRUEUP_POLICY` is set, and it is empty")
            .hint("let it name the policy; where there is none, unset it")
            .hint("nothing is done without the policy that was asked for"));
    }
    let mut misspelled = context.environment.misspelled();
    let path = match (flag, variable) {
        (None, None) => {
            let Some((name, meant)) = misspelled.find(|(_, meant)| meant == VARIABLE) else { return Ok(()) };
            return Err(error!(Invalid, "`{name}` is not a variable of trueup")
                .hint(format!("did you mean `{meant}`? Else give it another name"))
                .hint("nothing is done without the policy that was asked for"));
        }
        (Some(flag), Some(variable)) if flag != variable => {
            return Err(error!(Usage, "`--policy` and `TRUEUP_POLICY` name two policies")
                .hint("a flag cannot take the place of the environment's policy"));
        }
        (Some(path), _) | (None, Some(path)) => path,
    };
    let bytes = file::read(&path, LARGEST)
        .context("cannot read the policy")
        .with_status(ExitStatus::Invalid)
        .hint("nothing is done without the policy that was asked for")?;
    let sha256 = document::sha256(&bytes, 32);
    let policy = config::policy(&path.to_string_lossy(), bytes).map_err(|diagnostics| context.wrong(&diagnostics))?;
    for text in policy.base_urls.iter().flatten() {
        settings::url(text, "`base_urls` of the policy")?;
    }
    let path = real_path_or_given(&path);
    context.policy = Some(Rc::new(PolicyFile { path, sha256, policy }));
    Ok(())
}

/// Whether the policy permits a call or a saved plan to allow these names.
///
/// # Errors
/// It does not.
pub fn permits_names<'a>(context: &Context, names: impl IntoIterator<Item = &'a String>) -> Result<()> {
    permits(context, |policy| policy.allow(names))
}

/// Why the policy forbids some of these consents, in words.
pub fn forbidden(context: &Context, consents: &BTreeSet<&'static str>) -> Vec<String> {
    let policy = context.policy.as_ref().map(|file| &file.policy);
    let forbids = |consent: &&str| policy?.allow([&(*consent).to_owned()]).err();
    consents.iter().filter_map(forbids).map(|violation| violation.to_string()).collect()
}

/// Whether the policy of the call, if it names one, permits something.
fn permits(context: &Context, is_permitted: impl FnOnce(&Policy) -> Result<(), Violation>) -> Result<()> {
    let Some(file) = &context.policy else { return Ok(()) };
    is_permitted(&file.policy).with_status(ExitStatus::Refused).hint("nothing was sent")
}

/// The settings of a configuration that the policy limits, with the values in force.
pub fn limits(context: &Context, config: &Config) -> impl Iterator<Item = (&'static str, Json)> {
    let set = config.safeguards.settings();
    let in_force = context.policy.as_ref().map(|file| file.policy.tighten(&config.safeguards).settings());
    let limited = in_force.into_iter().flatten().zip(set).filter(|(in_force, set)| in_force != set);
    limited.map(|(in_force, _)| in_force)
}

/// Whether the policy sets this gate to block, so that no setting can loosen it.
pub fn blocks(context: &Context, gate: &str) -> bool {
    let Some(file) = &context.policy else { return false };
    let gates = &file.policy.loosest.gates;
    let mode = match gate {
        "upgrade" => gates.upgrade,
        "ddos" => gates.ddos,
        _ => gates.events,
    };
    mode == GateMode::Block
}

/// Whether the policy lets a stack in `root` change these namespaces.
///
/// # Errors
/// It does not, or the policy is in the repository that it limits.
pub fn check<'a>(
    context: &Context,
    root: &Path,
    config: &Config,
    namespaces: impl IntoIterator<Item = &'a Namespace>,
) -> Result<()> {
    let Some(file) = &context.policy else { return Ok(()) };
    outside(file, root)?;
    let stack = settings::stack(context, config)?;
    permits(context, |policy| policy.stack(stack.as_deref()))?;
    permits_namespaces(context, namespaces)
}

/// Whether the policy permits an apply of a plan from a file or a journal with this configuration, which is in `root`.
///
/// # Errors
/// It forbids its stack, one of two stacks between which objects pass, or a namespace.
pub fn check_plan(context: &Context, (config, root): (&Config, &Path), plan: &Plan) -> Result<()> {
    let held = plan.blocked.iter().map(|held| &held.key);
    let keys = plan.changes.iter().map(|change| &change.key).chain(held).map(|key: &Key| &key.namespace);
    if let (Some(file), Some(directory)) = (&context.policy, plan.made_for()) {
        outside(file, Path::new(directory))?;
    }
    permits_transfers(context, plan)?;
    // A move reads all lists of both stacks.
    let read = plan.scope.keys().filter(|_| plan.handed_over().is_none()).map(|scope| &scope.namespace);
    check(context, root, config, read.chain(keys))
}

/// Whether the policy lets objects pass from one stack to another as this plan says.
///
/// # Errors
/// It forbids one of the two.
pub fn permits_transfers(context: &Context, plan: &Plan) -> Result<()> {
    let mut stacks = plan.transfers().into_iter().flat_map(|(from, to)| [from, to]);
    permits(context, |policy| stacks.try_for_each(|name| policy.stack(Some(name))))
}

/// Whether a plan from a file or a journal is of the environment that the call names.
///
/// # Errors
/// It is of another one.
pub fn is_of_environment(context: &Context, config: &Config, plan: &Plan) -> Result<()> {
    let (made, chosen) = (&plan.source.environment, &context.global.env);
    // If the settings are of the plan's stack, an environment that is gone was renamed.
    let is_gone = made.as_ref().is_some_and(|name| config.stack.is_some() && !config.environments.contains_key(name));
    if made != chosen && !is_gone {
        let named = |name: &Option<String>| match name {
            Some(name) => format!("the environment `{name}`"),
            None => "no environment".to_owned(),
        };
        let error = error!(Refused, "the plan is of {}, and the call names {}", named(made), named(chosen));
        let flag = made.as_ref().map(|name| format!("to apply it: --env {}", safe::shell(name)));
        let none = || "to apply it: neither --env nor TRUEUP_ENV".to_owned();
        return Err(error.hint(flag.unwrap_or_else(none)).hint("nothing was sent"));
    }
    Ok(())
}

/// Whether settings and policy permit the changes of a plan from a file or a journal. `pruned` are the namespaces that
/// the call prunes beside those of the settings.
///
/// # Errors
/// They do not.
pub async fn permits_changes(context: &Context, config: &Config, plan: &Plan, pruned: &[Namespace]) -> Result<()> {
    is_of_environment(context, config, plan)?;
    let again = "plan again with the settings in force";
    let record = undone_run(context, plan).await?;
    let undone = record.as_ref().map(RunRecord::undone);
    let undone = undone.filter(|run| (&run.plan.service, &run.plan.stack) == (&plan.service, &plan.stack));
    created_what_it_deletes(context, plan, record.is_some(), undone.as_ref())?;
    if let Some(setting) = plan.looser_setting(&config.safeguards) {
        let message = format!("the plan was made with a looser `{setting}` than the settings in force");
        return Err(error!(Refused, "{message}").hint(again).hint("nothing was sent"));
    }
    let of_policy = context.policy.as_ref().map_or(Prune::All, |file| file.policy.loosest.prune);
    let prune = if plan.undone().is_some() { of_policy } else { config.safeguards.prune };
    let mut namespaces: BTreeSet<Namespace> = config.namespaces.iter().chain(pruned).cloned().collect();
    // A rollback may restore what its run deleted in a namespace that the stack no longer has.
    let (left, kept): (Vec<_>, Vec<_>) =
        undone.iter().flat_map(|run| &run.writes).partition(|write| write.action == ActionKind::Delete);
    let is_left = |namespace: &&Namespace| kept.iter().all(|write| write.key.namespace != **namespace);
    namespaces.extend(left.iter().map(|write| &write.key.namespace).filter(is_left).cloned());
    let Some(key) = plan.delete_beyond(prune, &namespaces, &config.kinds) else {
        let outside = plan.change_outside(&namespaces).filter(|_| !config.namespaces.is_empty());
        let Some(key) = outside else { return Ok(()) };
        return Err(error!(
            Refused,
            "the plan would change `{key}`, and the settings in force do not list its namespace"
        )
        .hint(format!("list `{}` under `namespaces:`, or make a plan without this change", key.namespace))
        .hint("nothing was sent"));
    };
    let by =
        if of_policy == prune && prune == Prune::None { "the limits of the policy" } else { "the settings in force" };
    let message = format!("the plan would delete `{key}`, and {by} delete no such object (prune: {prune})");
    let is_listed = key.kind.is_endpoint() || config.kinds.contains(&key.kind);
    let rest = |run| {
        let flags = settings::of_recorded(context, plan, None);
        format!("to roll back the rest: trueup rollback {run}{flags} --only NAMESPACE/NAME")
    };
    let hint = match namespaces.contains(&key.namespace) {
        _ if let Some(run) = plan.undone() => rest(run),
        _ if prune == Prune::None => again.to_owned(),
        false => format!("a delete needs `{}` under `namespaces:`, or --prune-namespace", key.namespace),
        true if !is_listed => format!("a delete needs `{}` under `kinds:`", key.kind),
        true => again.to_owned(),
    };
    Err(error!(Refused, "{message}").hint(hint).hint("nothing was sent"))
}

/// The record of the run that a rollback undoes, if the state store has it.
///
/// # Errors
/// It cannot be read.
pub async fn undone_run(context: &Context, plan: &Plan) -> Result<Option<RunRecord>> {
    let Some(run) = plan.undone().cloned() else { return Ok(None) };
    match settings::ask_state(context, move |store| journal::load(store, &run)).await? {
        Err(JournalError::NoRun { .. }) => Ok(None),
        record => record.map(Some).map_err(|error| settings::store_error(context, ExitStatus::Refused, error)),
    }
}

/// Whether a rollback deletes only what its stack owns, or what its run created according to the record: the plan is
/// from a file, which proves less than the record.
fn created_what_it_deletes(
    context: &Context,
    plan: &Plan,
    is_kept: bool,
    undone: Option<&UndoneRun<'_>>,
) -> Result<()> {
    let Some(run) = plan.undone() else { return Ok(()) };
    let writes = undone.iter().flat_map(|undone| &undone.writes);
    let creates = writes.filter(|write| write.action == ActionKind::Create);
    let created: BTreeSet<&Key> = creates.map(|write| write.key).collect();
    let Some(key) = plan.unowned_deletes().find(|key| !created.contains(key)) else { return Ok(()) };
    let reason = match is_kept {
        true => format!("run {run} did not create it"),
        false => format!("there is no record of run {run}"),
    };
    let again = format!("trueup rollback {run}{}", settings::of_recorded(context, plan, None));
    Err(error!(Refused, "the plan would delete `{key}`, which its stack does not own, and {reason}")
        .hint(format!("to plan it again where the record of the run is: {again}"))
        .hint("nothing was sent"))
}

/// Whether the policy lets something be changed in these namespaces.
///
/// # Errors
/// It forbids one.
pub fn permits_namespaces<'a>(context: &Context, namespaces: impl IntoIterator<Item = &'a Namespace>) -> Result<()> {
    permits(context, |policy| policy.namespaces(namespaces))
}

/// Rejects a policy in the repository that it limits, whose authors could edit it. It may be in a repository of its own
/// inside of that one, unless this is a submodule: the outer repository chooses its commit.
fn outside(file: &PolicyFile, root: &Path) -> Result<()> {
    let root = real_path_or_given(root);
    let limited = root.ancestors().find(|above| above.join(".git").exists()).unwrap_or(&root);
    let is_repository = |above: &&Path| *above == limited || above.join(".git").is_dir();
    if file.path.ancestors().find(is_repository) == Some(limited) {
        return Err(error!(Invalid, "the policy `{}` is in the repository that it limits", file.path.display())
            .hint("a pull request could change it: keep it outside, where only those who own the token write"));
    }
    Ok(())
}
