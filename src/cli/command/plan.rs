use std::time::Instant;

use crate::cli::args::{Plan, PlanFormat};
use crate::cli::ending::{Ending, Error};
use crate::cli::flow::Purpose;
use crate::cli::sight::{self, Call};
use crate::cli::{Context, base, base_settings, evidence, file, flow, hint, outside};
use crate::plan::{self, Memory};
use crate::report::text::View;
use crate::report::{Sides, annotation, github, html, json, markdown, sarif, text};

/// Shows what would change.
pub async fn run(arguments: &Plan, context: &Context) -> Result<Ending, Error> {
    let begun = Instant::now();
    let live = arguments.live.live.as_deref();
    let (mut stack, opened) = sight::open(context, &arguments.scope, Call { live, ..Call::default() }).await?;
    base_settings::settle(context, &mut stack, arguments.base.base.as_deref())?;
    let (permission, memory) = (&arguments.permission, &Memory::default());
    let namespaces = outside::namespaces(context, &stack, permission)?;
    let purpose = Purpose { permission, namespaces, memory, is_check: false, shard: None };
    let looked = flow::look(context, &stack, &opened.sight()?, &purpose).await;
    opened.close().await;
    let mut plan = looked?;
    flow::locate(context, &mut plan, &stack.loaded);
    base::attribute(context, &stack, &mut plan, arguments.base.base.as_deref())?;
    flow::consent(context, &mut plan, &permission.allow)?;
    if let Some(path) = &arguments.output {
        evidence::stamp(&stack, &mut plan);
        file::write_private(path, &plan.to_file())?;
    }
    let sides = if arguments.all { Sides::All } else { Sides::ThisChange };
    let flags = hint::elsewhere(context, &stack.loaded);
    let view = View { sides, elapsed: Some(begun.elapsed()), directory: stack.call, flags, ..context.output.view() };
    context.output.answer(&drawn(arguments, &plan, &view));
    let ending = ending(&plan, arguments.detailed_exitcode);
    // The program ends here: to take ten thousand endpoints apart first is a twentieth of its time.
    std::mem::forget((stack.loaded, plan));
    Ok(ending)
}

fn drawn(arguments: &Plan, plan: &plan::Plan, view: &View) -> String {
    let base = arguments.base.base.as_deref().map(|base| format!(" --base {base} --all")).unwrap_or_default();
    let whole = || format!("trueup plan {}{base}", view.directory);
    match arguments.format {
        PlanFormat::Text => text::plan(plan, arguments.output.as_deref(), view),
        PlanFormat::Json => json::plan(plan),
        PlanFormat::Markdown => {
            markdown::plan(plan, &markdown::Options { budget: arguments.budget, rest: whole(), sides: view.sides })
        }
        PlanFormat::Html => html::plan(plan, &whole(), view.sides),
        PlanFormat::Github => github::annotations(&annotation::of_plan(plan, view.sides), ""),
        PlanFormat::Sarif => sarif::report(&annotation::of_plan(plan, view.sides), "", env!("CARGO_PKG_VERSION")),
    }
}

fn ending(plan: &plan::Plan, detailed: bool) -> Ending {
    if plan.unknown().next().is_some() {
        Ending::Unknown
    } else if detailed && plan.is_refused() {
        Ending::Refused
    } else if detailed && plan.is_pending() {
        Ending::Pending
    } else {
        Ending::Done
    }
}
