use std::time::Instant;

use crate::cli::args::{Drift, DriftFormat, Permission, Unmanaged};
use crate::cli::ending::{Ending, Error};
use crate::cli::{Context, flow, stack};
use crate::plan;
use crate::report::text::View;
use crate::report::{json, text};

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
    context.output.answer(&match arguments.format {
        DriftFormat::Text => text::drift(&plan, &verdicts, &view),
        DriftFormat::Json => json::drift(&plan, &verdicts),
    });
    Ok(Ending::of_verdict(verdicts.whole()))
}
