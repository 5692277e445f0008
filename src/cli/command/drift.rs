use std::time::Instant;

use crate::cli::args::{Drift, DriftFormat, Permission, Unmanaged};
use crate::cli::ending::{Ending, Error};
use crate::cli::{Context, flow, stack};
use crate::plan::{self, Check};
use crate::report::text::View;
use crate::report::{annotation, github, json, junit, markdown, prometheus, sarif, text};

/// Gives the verdict over the tenant.
pub async fn run(arguments: &Drift, context: &Context) -> Result<Ending, Error> {
    let begun = Instant::now();
    let stack = stack::open(context, &arguments.scope)?;
    let connection = stack.connect(context).await?;
    let plan = flow::plan(context, &stack, &connection, &Permission::default()).await?;
    connection.close().await;
    let verdicts = plan.verdicts(match arguments.unmanaged {
        Unmanaged::Note => plan::Unmanaged::Note,
        Unmanaged::Fail => plan::Unmanaged::Fail,
    });
    let view = View { elapsed: Some(begun.elapsed()), directory: stack.call, ..context.output.view() };
    let check = Check::new(&plan, verdicts, context.surroundings.now());
    context.output.answer(&drawn(arguments.format, &check, &view));
    Ok(Ending::of_verdict(check.verdicts.whole()))
}

fn drawn(format: DriftFormat, check: &Check<'_>, view: &View) -> String {
    let whole = || format!("trueup drift {}", view.directory);
    match format {
        DriftFormat::Text => text::drift(check.plan, &check.verdicts, view),
        DriftFormat::Json => json::drift(check.plan, &check.verdicts),
        DriftFormat::Markdown => {
            markdown::drift(check, &markdown::Options { rest: whole(), ..markdown::Options::default() })
        }
        DriftFormat::Junit => junit::report(check),
        DriftFormat::Prometheus => prometheus::report(check),
        DriftFormat::Github => github::annotations(&annotation::of_check(check), ""),
        DriftFormat::Sarif => sarif::report(&annotation::of_check(check), "", env!("CARGO_PKG_VERSION")),
    }
}
