//! `explain`: prints what a field of a definition or a setting means, its type, and what is allowed.

use crate::cli::args::ExplainArgs;
use crate::cli::context::Context;
use crate::cli::exit_status::{CommandError, ExitStatus};
use crate::report;

/// Prints what a field of a definition or a setting means.
pub fn run(arguments: &ExplainArgs, context: &Context) -> Result<ExitStatus, CommandError> {
    let asked = arguments.field.as_deref().unwrap_or_default();
    let text = report::explain(asked).map_err(|near| {
        let hint = match near.as_slice() {
            [] => "see all of them: trueup explain".to_owned(),
            [one] => format!("did you mean `{one}`?"),
            several => format!("did you mean one of {}?", several.join(", ")),
        };
        let message = if near.iter().any(|path| path.ends_with(&format!(".{asked}"))) {
            format!("several names end in `{asked}`")
        } else {
            format!("there is no field or setting `{asked}`")
        };
        CommandError::words(ExitStatus::Usage, message).hint(hint)
    })?;
    context.output.answer(&text);
    Ok(ExitStatus::Done)
}
