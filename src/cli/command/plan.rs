use std::time::Instant;

use crate::cli::args::{PlanArgs, PlanFormat};
use crate::cli::exit_status::{CommandError, ExitStatus};
use crate::cli::live_source::{self, SourceOptions};
use crate::cli::planning::PlanRequest;
use crate::cli::{Context, applied_commits, base, base_settings, dropped_namespaces, file, hint, planning};
use crate::drift::DriftState;
use crate::plan::{self};
use crate::report::text::TextView;
use crate::report::{AttributionDetail, annotation, github, html, json, markdown, sarif, text};

/// Shows what would change.
pub async fn run(arguments: &PlanArgs, context: &Context) -> Result<ExitStatus, CommandError> {
    let begun = Instant::now();
    let live = arguments.live.live.as_deref();
    let (mut stack, opened) =
        live_source::open(context, &arguments.scope, SourceOptions { live, ..SourceOptions::default() }).await?;
    base_settings::settle(context, &mut stack, arguments.base.base.as_deref())?;
    let (permission, memory) = (&arguments.permission, &DriftState::default());
    let namespaces = dropped_namespaces::namespaces(context, &stack, permission)?;
    let purpose = PlanRequest { permission, namespaces, memory, is_check: false, shard: None };
    let looked = planning::plan_for(context, &stack, &opened.live_source()?, &purpose).await;
    opened.close().await;
    let mut plan = looked?;
    planning::locate(context, &mut plan, &stack.loaded);
    base::attribute(context, &stack, &mut plan, arguments.base.base.as_deref())?;
    planning::consent(context, &mut plan, &permission.allow)?;
    if let Some(path) = &arguments.output {
        applied_commits::stamp(&stack, &mut plan);
        file::write_private(path, &plan.to_file())?;
    }
    let sides = if arguments.all { AttributionDetail::All } else { AttributionDetail::ThisChange };
    let flags = hint::elsewhere(context, &stack.loaded);
    let view = TextView {
        detail: sides,
        elapsed: Some(begun.elapsed()),
        directory: stack.call,
        flags,
        ..context.output.view()
    };
    context.output.answer(&render(arguments, &plan, &view));
    let ending = ending(&plan, arguments.detailed_exitcode);
    // The program ends here: to take ten thousand endpoints apart first is a twentieth of its time.
    std::mem::forget((stack.loaded, plan));
    Ok(ending)
}

fn render(arguments: &PlanArgs, plan: &plan::Plan, view: &TextView) -> String {
    let base = arguments.base.base.as_deref().map(|base| format!(" --base {base} --all")).unwrap_or_default();
    let whole = || format!("trueup plan {}{base}", view.directory);
    match arguments.format {
        PlanFormat::Text => text::plan(plan, arguments.output.as_deref(), view),
        PlanFormat::Json => json::plan(plan),
        PlanFormat::Markdown => markdown::plan(
            plan,
            &markdown::MarkdownOptions { budget: arguments.budget, rest: whole(), detail: view.detail },
        ),
        PlanFormat::Html => html::plan(plan, &whole(), view.detail),
        PlanFormat::Github => github::annotations(&annotation::of_plan(plan, view.detail), ""),
        PlanFormat::Sarif => sarif::report(&annotation::of_plan(plan, view.detail), "", env!("CARGO_PKG_VERSION")),
    }
}

fn ending(plan: &plan::Plan, detailed: bool) -> ExitStatus {
    if plan.unknown().next().is_some() {
        ExitStatus::Unknown
    } else if detailed && plan.is_refused() {
        ExitStatus::Refused
    } else if detailed && plan.is_pending() {
        ExitStatus::Pending
    } else {
        ExitStatus::Done
    }
}
