use std::time::Instant;

use crate::cli::args::{Plan, PlanFormat};
use crate::cli::ending::{Ending, Error};
use crate::cli::{Context, file, flow, stack};
use crate::plan;
use crate::report::text::View;
use crate::report::{annotation, github, html, json, markdown, sarif, text};

/// Shows what would change.
pub async fn run(arguments: &Plan, context: &Context) -> Result<Ending, Error> {
    let begun = Instant::now();
    let stack = stack::open(context, &arguments.scope)?;
    let connection = stack.connect(context).await?;
    let plan = flow::plan(context, &stack, &connection, &arguments.permission).await?;
    connection.close().await;
    if let Some(path) = &arguments.output {
        file::write_private(path, &plan.to_file())?;
    }
    let view = View { elapsed: Some(begun.elapsed()), directory: stack.call, ..context.output.view() };
    context.output.answer(&drawn(arguments, &plan, &view));
    Ok(ending(&plan, arguments.detailed_exitcode))
}

fn drawn(arguments: &Plan, plan: &plan::Plan, view: &View) -> String {
    let whole = || format!("trueup plan {}", view.directory);
    match arguments.format {
        PlanFormat::Text => text::plan(plan, arguments.output.as_deref(), view),
        PlanFormat::Json => json::plan(plan),
        PlanFormat::Markdown => {
            markdown::plan(plan, &markdown::Options { rest: whole(), ..markdown::Options::default() })
        }
        PlanFormat::Html => html::plan(plan, &whole()),
        PlanFormat::Github => github::annotations(&annotation::of_plan(plan), ""),
        PlanFormat::Sarif => sarif::report(&annotation::of_plan(plan), "", env!("CARGO_PKG_VERSION")),
    }
}

fn ending(plan: &plan::Plan, detailed: bool) -> Ending {
    if plan.unknown().next().is_some() {
        Ending::Unknown
    } else if detailed && plan.is_pending() {
        Ending::Pending
    } else {
        Ending::Done
    }
}
