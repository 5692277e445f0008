//! How a person says yes to a plan: at a prompt that shows it, by `--yes`, or by its digest. Guards
//! are looked at before anyone is asked.

use std::io::{BufRead as _, Write as _};

use super::Context;
use super::args::{Apply, ApplyFormat};
use super::ending::{Ending, Error};
use super::settings;
use crate::plan::{Approved, Consent, Plan};
use crate::report::text::View;
use crate::report::{json, text};

/// What came of asking.
#[expect(clippy::large_enum_variant, reason = "one answer a command")]
pub enum Answer {
    /// The plan may be applied.
    Given(Approved),
    /// The command is at its end: nothing to do, or refused.
    Ended(Ending),
}

/// Asks for consent to a plan.
///
/// # Errors
/// Nobody can be asked and nothing was said beforehand, or a name that allows nothing.
pub fn ask(arguments: &Apply, context: &Context, plan: Plan, view: &View) -> Result<Answer, Error> {
    let allow = settings::allow(&arguments.permission)?;
    let consent = arguments.digest.as_deref().map_or(Consent::Given, Consent::Digest);
    if plan.changes.is_empty() && plan.unknown().next().is_none() && arguments.digest.is_none() {
        return Ok(Answer::Ended(nothing_to_do(arguments, context, &plan, view)));
    }
    let shown = plan.clone();
    let approved = match plan.approve(consent, &allow) {
        Ok(approved) => approved,
        Err(refusal) => {
            context.output.tell(&text::refusal(
                &refusal,
                &View { palette: context.output.message_view().palette, ..view.clone() },
            ));
            return Ok(Answer::Ended(Ending::of_refusal(&refusal)));
        }
    };
    if shown.changes.is_empty() {
        return Ok(Answer::Ended(nothing_to_do(arguments, context, &shown, view)));
    }
    if arguments.yes || arguments.digest.is_some() {
        return Ok(Answer::Given(approved));
    }
    if !context.surroundings.can_ask {
        let digest = shown.digest();
        return Err(Error::words(Ending::Refused, "nobody can be asked, and nobody said yes beforehand")
            .hint(format!("give --yes, or --digest {} for exactly this plan", digest.short()))
            .hint("nothing was sent"));
    }
    context.output.tell(&text::plan(
        &shown,
        None,
        &View { palette: context.output.message_view().palette, ..view.clone() },
    ));
    Ok(if yes(shown.changes.len()) { Answer::Given(approved) } else { declined(context) })
}

fn nothing_to_do(arguments: &Apply, context: &Context, plan: &Plan, view: &View) -> Ending {
    context.output.answer(&match arguments.format {
        ApplyFormat::Text => text::plan(plan, None, view),
        ApplyFormat::Json => json::plan(plan),
    });
    if plan.held.is_empty() { Ending::Done } else { Ending::Refused }
}

fn declined(context: &Context) -> Answer {
    context.output.tell("declined: nothing was sent");
    Answer::Ended(Ending::Refused)
}

/// Asks on stderr, so that stdout carries the answer alone.
fn yes(changes: usize) -> bool {
    let mut stderr = std::io::stderr().lock();
    let changes = if changes == 1 { "this change".to_owned() } else { format!("these {changes} changes") };
    let asked = write!(stderr, "\nApply {changes}? Only `yes` does: ").and_then(|()| stderr.flush());
    let mut line = String::new();
    asked.is_ok() && std::io::stdin().lock().read_line(&mut line).is_ok() && line.trim() == "yes"
}
