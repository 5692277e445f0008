//! `apply`: makes the changes of a directory or of a saved plan, or resumes a run. Each of the three makes
//! or finds a plan, and passes it with its connection to `run`.

use crate::cli::args::ApplyArgs;
use crate::cli::command::prelude::*;
use crate::cli::run::{self, PendingRun, approval, document};
use crate::cli::stacks::targets::{self, Targets};
use crate::cli::stacks::{defined_elsewhere, rollout};
use crate::journal;
use crate::plan::RunLimits;
use crate::report;
use crate::report::facts::plan::prune_flags;
use crate::run::{RunDocument, RunStatus, RunSummary};

impl Execute for ApplyArgs {
    const ENDS_ON_INTERRUPT: bool = true;

    async fn execute(&self, context: &Context) -> Result<ExitStatus> {
        if let Some(name) = &self.resume {
            return resume(name, self, context).await;
        }
        match saved(self)? {
            Some((path, plan)) => {
                is_whole(context, &path)?;
                apply_file(self, context, &path, plan).await
            }
            None => match targets::of(context, &self.scope.paths, self.stacks)? {
                Targets::One if self.waves.is_some() => {
                    Err(error!(Usage, "`--waves` is for several stacks, and the call names one")
                        .hint("give the directories of several, or --recursive for every stack below one"))
                }
                Targets::One => PendingRun::of_definitions(self, context, &self.scope).await?.approve_and_apply().await,
                Targets::Several(targets) => rollout::run(self, context, targets).await,
            },
        }
    }
}

async fn apply_file(arguments: &ApplyArgs, context: &Context, path: &Path, mut plan: Plan) -> Result<ExitStatus> {
    let (config, connection) = session::of_plan(context, &plan).await?;
    let flags = context.call.settings() + &prune_flags(&plan.settings.prune_namespaces);
    let make = format!("trueup apply {}{flags}", safe::shell(&path.display().to_string()));
    let view = TextView { make: Some(make), ..settings::view(context, &plan) };
    let allow = settings::allow(&arguments.change.allow)?;
    policy::permits_changes(context, &config, &plan, &arguments.change.prune_namespace).await?;
    defined_elsewhere::refuse(context, &config, &plan)?;
    run::refuse_lost_references(context, &connection, (&plan, &plan)).await?;
    let trust = RunLimits::of_file(&arguments.decision, context, (&connection, &config), &plan).await?;
    plan.consent_to_apply(&allow, context.environment.person().as_deref(), &trust);
    let decision = &arguments.decision;
    PendingRun { context, decision, plan, connection, allow, view, trust }.approve_and_apply().await
}

/// Resumes a run that was killed or interrupted, or that did not make every change.
async fn resume(name: &str, arguments: &ApplyArgs, context: &Context) -> Result<ExitStatus> {
    let record = session::run_to_change(context, name, journal::find_newest).await?;
    let plan = &record.header.plan;
    let left = record.left();
    output::check_files(None, &arguments.decision.write)?;
    // A run that was killed after its last change, before its end, was not verified.
    if let (0, RunStatus::Finished, Some(closing)) = (left, record.ending(), &record.closing) {
        let status = ExitStatus::of_results(|| record.results(), &closing.verification, plan);
        // With `last`, this could be mistaken for the success of a later call that was killed before its run began.
        if (name, status) == ("last", ExitStatus::Done) {
            let run = record.run();
            return Err(error!(Refused, "nothing to resume: run `{run}` is finished, and no later one began")
                .hint("an apply that was killed before its run began is not resumed: repeat it")
                .hint("nothing was sent"));
        }
        let view = settings::view(context, plan);
        context.output.rendered_notice(&view.message(report::nothing_to_resume(record.run(), plan, &view)));
        if context.output.promised.is_some() {
            let document = RunDocument::of(&record, None);
            context.output.report(&document, arguments.decision.format);
        }
        document::write(context, &arguments.decision.write, record.run(), None);
        return Ok(status);
    }
    let summary = RunSummary::of(&record);
    context.output.rendered_message(&context.output.messages.message(report::resuming(&summary)));
    let (config, connection) = session::of_plan(context, plan).await?;
    plan.check().map_err(|reason| {
        error!(Refused, "the plan of run {} contradicts itself, so it was altered: {reason}", record.run())
            .hint("nothing was sent")
    })?;
    let rest = record.rest();
    policy::permits_changes(context, &config, &rest, &arguments.change.prune_namespace).await?;
    defined_elsewhere::refuse(context, &config, &rest)?;
    run::refuse_lost_references(context, &connection, (plan, &rest)).await?;
    let view = settings::view(context, plan);
    let allow = settings::allow(&arguments.change.allow)?;
    let trust = match left {
        // Nothing more is sent.
        0 => RunLimits::of_record(&config, plan),
        _ => RunLimits::of_file(&arguments.decision, context, (&connection, &config), plan).await?,
    };
    let (decision, mut plan) = (&arguments.decision, plan.clone());
    plan.consent_to_apply(&allow, context.environment.person().as_deref(), &trust);
    let work = PendingRun { context, decision, plan, connection, allow, view, trust };
    if left > 0
        && let Some(refused) = approval::ask_to_resume(&work, left).await?
    {
        return Ok(refused);
    }
    work.resume(&record).await
}

/// Rejects options that choose changes or stacks of definitions: a saved plan is applied as a whole.
fn is_whole(context: &Context, path: &Path) -> Result<()> {
    let of_changes =
        ("only except namespace selector adopt base only_this_change", "plan again with it, and apply that plan");
    let of_stacks =
        ("recursive skip_missing_env keep_going waves", "it is for an apply of the directories of several stacks");
    for (ids, hint) in [of_changes, of_stacks] {
        if let Some(choice) = context.call.words(ids).first() {
            let path = path.display();
            let what = format!("`{path}` is a saved plan, which is applied whole: `{choice}` changes nothing of it");
            return Err(error!(Usage, "{what}").hint(hint).hint("nothing was sent"));
        }
    }
    Ok(())
}

/// The saved plan that the call names: a file is a plan when it says so.
fn saved(arguments: &ApplyArgs) -> Result<Option<(PathBuf, Plan)>> {
    let paths = &arguments.scope.paths;
    let Some(path) = paths.iter().find(|path| path.is_file()) else { return Ok(None) };
    let bytes = file::read(path, limit::SAVED)?;
    if !Plan::is_file(&bytes) {
        return match written_kind(&bytes) {
            None => Ok(None),
            Some(kind) => Err(error!(Usage, "`{}` is not a saved plan: its kind is `{kind}`", path.display())
                .hint("to save a plan that can be applied: trueup plan DIRECTORY -o FILE")
                .hint("nothing was sent")),
        };
    }
    if paths.len() > 1 {
        return Err(error!(Usage, "`{}` is a saved plan, which is applied alone", path.display())
            .hint("apply one after the other; or give the directories of the stacks, and the --digest over all their plans")
            .hint("nothing was sent"));
    }
    let plan = Plan::from_file(&bytes)
        .with_context(|| format!("`{}` is not applied", path.display()))
        .with_status(ExitStatus::Refused)
        .hint("nothing was sent")?;
    Ok(Some((path.clone(), plan)))
}

/// The kind of a document that a command writes and that is not a definition.
fn written_kind(bytes: &[u8]) -> Option<String> {
    let document: serde_json::Value = serde_json::from_slice(bytes).ok()?;
    document.get("format_version")?;
    Some(document.get("kind")?.as_str()?.escape_debug().to_string())
}
