//! What a command prints of its requests: a line for people with `--verbose`, a line of JSON with `--log json`. And
//! the ids that the requests carry.

use std::sync::Arc;

use crate::api::{Exchange, ExchangeListener, RequestIds, TraceParent};
use crate::cli::args::GlobalArgs;
use crate::cli::{Output, ProcessEnvironment};
use crate::report::{LineSource, json_lines, safe};

/// The variable by which a caller passes its trace on (W3C Trace Context).
const TRACEPARENT: &str = "TRACEPARENT";
const TRACESTATE: &str = "TRACESTATE";

/// The ids of all requests of a command, in the trace of the caller. A trace that is not valid is left out with a note.
pub fn ids(environment: &ProcessEnvironment, output: &Output) -> Arc<RequestIds> {
    let given = environment.variable(TRACEPARENT);
    let parent = given.and_then(TraceParent::parse);
    if given.is_some() && parent.is_none() {
        output.message(&format!("note: `{TRACEPARENT}` is not a valid trace and is not passed on"));
    }
    let state = environment.variable(TRACESTATE).unwrap_or_default();
    Arc::new(RequestIds::new(environment.chance(), parent.map(|parent| parent.with_state(state))))
}

/// Prints each exchange as the global flags ask for it.
pub fn listener(
    global: &GlobalArgs,
    environment: &ProcessEnvironment,
    output: &Output,
    source: LineSource,
) -> ExchangeListener {
    let (verbose, log) = (global.verbose, global.log.is_some());
    let (output, environment) = (output.clone(), environment.clone());
    Arc::new(move |exchange| {
        if verbose {
            output.notice(&described(exchange));
        }
        if log {
            output.log(&json_lines::request(exchange, &source, environment.now()));
        }
    })
}

/// `  GET /api/… -> 200, 17 bytes (3 ms, attempt 2)`
fn described(exchange: &Exchange<'_>) -> String {
    format!(
        "  {} {} -> {} ({} ms{})",
        exchange.method,
        safe::line(&exchange.path_and_query.to_string()),
        safe::line(&exchange.outcome.to_string()),
        exchange.took.as_millis(),
        if exchange.attempt > 1 { format!(", attempt {}", exchange.attempt) } else { String::new() }
    )
}
