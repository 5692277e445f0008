//! `explain`: prints what a field of a definition means, its type, and what is allowed.

use crate::cli::args::ExplainArgs;
use crate::cli::context::Context;
use crate::cli::exit_status::{CommandError, ExitStatus};
use crate::report;

/// Tells what a field of a definition means.
pub fn run(arguments: &ExplainArgs, context: &Context) -> Result<ExitStatus, CommandError> {
    let asked = arguments.field.as_deref().unwrap_or_default();
    let text = report::explain(asked).map_err(|near| {
        let hint = match near.as_slice() {
            [] => "see all of them: trueup explain".to_owned(),
            [one] => format!("did you mean `{one}`?"),
            several => format!("did you mean one of {}?", several.join(", ")),
        };
        let message = if near.iter().any(|path| path.ends_with(&format!(".{asked}"))) {
            format!("several fields end in `{asked}`")
        } else {
            format!("there is no field `{asked}`")
        };
        CommandError::words(ExitStatus::Usage, message).hint(hint)
    })?;
    context.output.answer(&text);
    Ok(ExitStatus::Done)
}
