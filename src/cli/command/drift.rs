use std::path::Path;
use std::time::Instant;

use crate::cli::args::{Drift, DriftFormat, Permission, Unmanaged};
use crate::cli::ending::{Ending, Error};
use crate::cli::flow::Purpose;
use crate::cli::sight::{self, Call};
use crate::cli::{Context, base, file, flow, shard, stack};
use crate::plan::{self, Acknowledgements, Check, Memory, Remember, Verdicts};
use crate::report::text::View;
use crate::report::{annotation, github, json, junit, markdown, prometheus, sarif, text};

/// Days for which an offered acknowledgement is good.
const OFFERED_DAYS: i64 = 14;

/// Gives the verdict over the tenant.
pub async fn run(arguments: &Drift, context: &Context) -> Result<Ending, Error> {
    let begun = Instant::now();
    let acknowledged = arguments.acknowledged.as_deref().map(acknowledgements).transpose()?;
    let call = Call { live: arguments.live.live.as_deref(), shard: arguments.shard };
    let (stack, opened) = sight::open(context, &arguments.scope, call).await?;
    let mut memory = memory(arguments, &stack)?;
    let sight = opened.sight()?;
    let permission = Permission::default();
    let namespaces = shard::namespaces(stack.namespaces(), arguments.shard, &sight.service().base_url);
    let purpose = Purpose { permission: &permission, namespaces, memory: &memory };
    let looked = flow::look(context, &stack, &sight, &purpose).await;
    opened.close().await;
    let (mut plan, live) = looked?;
    flow::locate(context, &mut plan, &stack.loaded);
    base::attribute(context, &stack, &mut plan, None)?;
    let verdicts = plan.verdicts(match arguments.unmanaged {
        Unmanaged::Note => plan::Unmanaged::Note,
        Unmanaged::Fail => plan::Unmanaged::Fail,
    });
    let now = context.surroundings.now();
    if let Some(path) = &arguments.memory {
        let desired = &stack.loaded.desired;
        memory.remember(Remember { plan: &plan, verdicts: &verdicts, desired, live: &live }, now);
        file::replace(path, &memory.to_file())?;
    }
    let mut check = Check::new(&plan, verdicts.clone(), now);
    check.memory = arguments.memory.is_some().then_some(&memory);
    if let Some(acknowledged) = &acknowledged {
        check = check.accepting(acknowledged);
    }
    let view = View { elapsed: Some(begun.elapsed()), directory: stack.call, ..context.output.view() };
    context.output.answer(&told(arguments, &check, &verdicts, &view));
    Ok(Ending::of_verdict(check.verdicts.whole()))
}

fn told(arguments: &Drift, check: &Check<'_>, verdicts: &Verdicts, view: &View) -> String {
    match arguments.format {
        DriftFormat::Text => text::drift(check, view),
        DriftFormat::Json => json::drift(check),
        DriftFormat::Markdown => {
            let rest = format!("trueup drift {}", view.directory);
            markdown::drift(check, &markdown::Options { budget: arguments.budget, rest, ..Default::default() })
        }
        DriftFormat::Github => github::annotations(&annotation::of_check(check), ""),
        DriftFormat::Junit => junit::report(check),
        DriftFormat::Prometheus => prometheus::report(check),
        DriftFormat::Sarif => sarif::report(&annotation::of_check(check), "", env!("CARGO_PKG_VERSION")),
        DriftFormat::Acknowledgements => {
            let today = check.now.to_zoned(jiff::tz::TimeZone::UTC).date();
            let expires = today.saturating_add(jiff::Span::new().days(OFFERED_DAYS));
            let offered = Acknowledgements::offered(check.plan, verdicts, "say why it is accepted", expires);
            // Plain keys and texts: nothing that fails.
            serde_yaml::to_string(&offered).unwrap_or_default()
        }
    }
}

fn read(path: &Path) -> Result<Vec<u8>, Error> {
    std::fs::read(path).map_err(|error| {
        let told = anyhow::Error::from(error).context(format!("cannot read `{}`", path.display()));
        Error::new(Ending::Invalid, told)
    })
}

fn acknowledgements(path: &Path) -> Result<Acknowledgements, Error> {
    serde_yaml::from_slice(&read(path)?).map_err(|error| {
        let told = anyhow::Error::from(error).context(format!("`{}` holds no acknowledgements", path.display()));
        Error::new(Ending::Invalid, told).hint("`drift --format acknowledgements` writes such a file")
    })
}

/// What the file remembers; nothing yet where there is none.
fn memory(arguments: &Drift, stack: &stack::Stack) -> Result<Memory, Error> {
    let Some(path) = arguments.memory.as_deref() else { return Ok(Memory::default()) };
    if !stack.selection.is_all() {
        return Err(Error::words(
            Ending::Usage,
            "a memory needs a check without filters: what is left out would be \
                                                taken for mended",
        ));
    }
    if !path.exists() {
        return Ok(Memory::default());
    }
    Memory::from_file(&read(path)?).map_err(|error| {
        let told = anyhow::Error::from(error).context(format!("`{}` cannot be used", path.display()));
        Error::new(Ending::Invalid, told)
    })
}
