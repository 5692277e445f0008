use crate::cli::Context;
use crate::cli::args::Explain;
use crate::cli::ending::{Ending, Error};
use crate::report;

/// Tells what a field of a definition means.
pub fn run(arguments: &Explain, context: &Context) -> Result<Ending, Error> {
    let asked = arguments.field.as_deref().unwrap_or_default();
    let text = report::explain(asked).map_err(|near| {
        let hint = match near.as_slice() {
            [] => "see all of them: trueup explain".to_owned(),
            [one] => format!("did you mean `{one}`?"),
            several => format!("did you mean one of {}?", several.join(", ")),
        };
        let told = if near.iter().any(|path| path.ends_with(&format!(".{asked}"))) {
            format!("several fields end in `{asked}`")
        } else {
            format!("there is no field `{asked}`")
        };
        Error::words(Ending::Usage, told).hint(hint)
    })?;
    context.output.answer(&text);
    Ok(Ending::Done)
}
