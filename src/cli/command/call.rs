//! `call`: calls an operation of the interface by its name, or lists the operations.

use crate::api::{Operation, OperationEntry, Request, RequestError, TABLE};
use crate::cli::command::prelude::*;
use crate::cli::exit_status::MAY_HAVE_TAKEN_EFFECT;
use crate::cli::run::interrupt;
use crate::model::{self, Json, Layout};
use crate::report::operations::{self, OperationList};

/// Calls an operation on endpoints, events, DDoS or upgrades by its name.
///
/// An operation that changes something asks first, or needs --yes. The answer is printed as the service gave it: jq formats it.
#[derive(Debug, Args)]
#[command(
    hide = true,
    after_help = "Examples:\n  trueup call --list\n  trueup call svc-api-servicemesh-endpoint-get --param namespace=shop --param name=cart\n  trueup call svc-api-waf-event-create --param namespace=shop --body query.json"
)]
pub struct CallArgs {
    /// The operation, as --list names it
    #[arg(required_unless_present = "list", add = ArgValueCompleter::new(completer::operations))]
    pub operation: Option<String>,
    /// A parameter of the operation; repeatable
    #[arg(long, short, value_name = "KEY=VALUE")]
    pub param: Vec<String>,
    /// The body, JSON, from a file or - for stdin
    #[arg(long, value_name = "FILE")]
    pub body: Option<PathBuf>,
    /// Call it without asking
    #[arg(long, short)]
    pub yes: bool,
    /// List the operations, or the one that is named, instead
    #[arg(long, conflicts_with_all = ["param", "body", "yes"])]
    pub list: bool,
    /// Output format of the list
    #[arg(long, value_name = "FORMAT", default_value = "text", value_parser = formats(Format::OF_ANSWERS), requires = "list")]
    pub format: Format,
}

impl Execute for CallArgs {
    const GLOBALS: GlobalOptions = Some(&[SERVICE, "config env"]);

    async fn execute(&self, context: &Context) -> Result<ExitStatus> {
        let config = settings::of_directory(context, Path::new("."))?;
        let layout = settings::layout(context, &config)?;
        let operation = self.operation.as_deref().map(operation).transpose()?;
        let Some(operation) = operation.filter(|_| !self.list) else {
            context.output.report(&OperationList::new(operation, layout), self.format);
            return Ok(ExitStatus::Done);
        };
        let (request, key) = request(self, operation, layout)?;
        let connection = service::connect(context, &config).await?;
        let (answer, promised) = match request.into_read() {
            Ok(look) => {
                let (answer, whole) = connection.reader()?.ask(look).await.with_status(ExitStatus::Failed)?;
                (answer, whole.with_status(ExitStatus::Failed))
            }
            Err(request) => {
                context.output.rendered_notice(&operations::request(&request, &context.output.messages));
                if !self.yes {
                    context.confirm("call it", "give --yes").await?;
                }
                let writer = connection.writer()?;
                let call = async { writer.call(&request).await.map_err(CommandError::unconfirmed) };
                let answer = interrupt::during_write(&context.output, call).await?;
                context.output.note_change("the call was made");
                let promised = answer.acknowledges(operation, key.as_ref()).map_err(|failure| {
                    error!(Partly, "the call is not confirmed: {failure}").hint(MAY_HAVE_TAKEN_EFFECT)
                });
                (answer, promised)
            }
        };
        let reported = report(context, answer.status, &answer.body);
        promised?;
        reported
    }
}

fn operation(name: &str) -> Result<Operation> {
    Operation::from_name(name).ok_or_else(|| {
        let error = error!(Usage, "unknown operation `{name}`");
        let part = |entry: &&OperationEntry| name.len() > 2 && entry.name.contains(&name.to_lowercase());
        let mut near: Vec<&str> = TABLE.iter().filter(part).map(|entry| entry.name).collect();
        if near.is_empty() {
            near.extend(load::nearest(name, TABLE.iter().map(|entry| entry.name)));
        }
        let error = match near[..] {
            [] => error,
            [one] => error.hint(format!("did you mean `{one}`?")),
            _ => error.hint(format!("did you mean one of these? {}", near.join(", "))),
        };
        error.hint("to see all of them: trueup call --list")
    })
}

/// The request, and the endpoint that it writes, if any.
fn request(arguments: &CallArgs, operation: Operation, layout: Layout) -> Result<(Request, Option<Key>)> {
    let pair = |text: &String| match text.split_once('=') {
        // The API reference names some parameters `metadata.name`.
        Some((name, value)) => Ok((name.strip_prefix("metadata.").unwrap_or(name).to_owned(), value.to_owned())),
        None => Err(error!(Usage, "`--param {text}` has no value; write KEY=VALUE")),
    };
    let parameters: Vec<(String, String)> = arguments.param.iter().map(pair).collect::<Result<_, _>>()?;
    let body = arguments.body.as_deref().map(body).transpose()?;
    let request = Request::build(operation, layout, &parameters, body.as_ref()).map_err(|error| {
        let hint = match &error {
            RequestError::MissingBody(_) => Some("give it with --body FILE, or --body - for stdin"),
            RequestError::MissingParameter(_) => Some("give each with --param KEY=VALUE"),
            RequestError::Wrong(_) => None,
        };
        CommandError::new(ExitStatus::Usage, error).hint_each(hint)
    })?;
    let named = |part: &str| {
        let parameter = parameters.iter().find(|(name, _)| name == part).map(|(_, value)| value.as_str());
        parameter.or_else(|| body.as_ref()?.get("metadata")?.get(part)?.as_str()).unwrap_or_default()
    };
    let is_write = matches!(operation, Operation::ObjectCreate | Operation::ObjectReplace | Operation::ObjectDelete);
    let key = is_write.then(|| Key::parse(&format!("{}/{}", named("namespace"), named("name"))).ok()).flatten();
    Ok((request, key))
}

fn body(path: &Path) -> Result<Json> {
    let (name, text) = if path == Path::new("-") {
        ("stdin".to_owned(), crate::file::stdin(limit::SETTINGS))
    } else {
        (path.display().to_string(), crate::file::read(path, limit::SETTINGS))
    };
    let text = text.context("cannot read the body").with_status(ExitStatus::Invalid)?;
    model::read_written(&text)
        .with_context(|| format!("the body in `{name}` is not valid JSON"))
        .with_status(ExitStatus::Invalid)
}

fn report(context: &Context, status: u16, body: &[u8]) -> Result<ExitStatus> {
    let text =
        std::str::from_utf8(body).ok().filter(|text| serde_json::from_str::<serde::de::IgnoredAny>(text).is_ok());
    match text {
        Some(text) => {
            context.output.answer(&format!("{}\n", safe::json(text.trim_end())));
            Ok(ExitStatus::Done)
        }
        None if body.iter().all(u8::is_ascii_whitespace) => {
            context.output.message(&format!("the service answered {status} without a body"));
            Ok(ExitStatus::Done)
        }
        None => Err(error!(Failed, "the service answered {status} with a body that is not valid JSON")),
    }
}
