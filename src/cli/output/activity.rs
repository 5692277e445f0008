//! Shows that the command waits for the service: which lists are read, and which request is sent again and when. A
//! terminal shows one temporary line; a log gets lines, but only for what takes long. It also prints each request: a
//! line for people with `--verbose`, a line of JSON with `--log json`.

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};

use crate::api::{ClientProgress, Exchange, ExchangeListener, Retry};
use crate::cli::output::Promise;
use crate::cli::{Context, Output};
use crate::model::share::locked;
use crate::report::{LineSource, json_lines, safe, text};

/// A read that takes less is not shown.
const DELAY: Duration = Duration::from_millis(400);
/// The interval of lines in a log.
const INTERVAL: Duration = Duration::from_secs(10);
/// A wait that is shorter is not shown.
const SHORTEST_WAIT: Duration = Duration::from_secs(1);

/// What the client is doing.
#[derive(Clone)]
pub struct Activity {
    output: Output,
    source: LineSource,
    state: Arc<Mutex<State>>,
}

#[derive(Default)]
struct State {
    /// Namespaces that are read, and those that are asked for.
    reading: Option<(usize, usize)>,
    retry: Option<String>,
    line: Option<ProgressBar>,
    /// The newest line in a log, and when it was written.
    written: Option<(String, Instant)>,
}

impl Activity {
    /// Shows activity as messages of `output`; `source` names the stack in lines for programs.
    pub fn new(output: Output, source: LineSource) -> Self {
        Self { output, source, state: Arc::default() }
    }

    /// Handles a report of the client. It is called inside the runtime.
    pub fn show(&self, progress: &ClientProgress) {
        if let ClientProgress::Waiting(retry) = progress
            && self.output.promised == Some(Promise::RunEvents)
        {
            self.output.answer(&json_lines::waiting(retry, &self.source, jiff::Timestamp::now()));
        }
        match progress {
            ClientProgress::Reading { read, of } => self.reading(*read, *of),
            ClientProgress::Waiting(retry) if retry.after >= SHORTEST_WAIT => self.retry(retry),
            ClientProgress::Waiting(_) => {}
            ClientProgress::Answered => {
                let mut state = locked(&self.state);
                if state.retry.take().is_some() {
                    self.draw(&mut state);
                }
            }
        }
    }

    fn reading(&self, read: usize, of: usize) {
        let mut state = locked(&self.state);
        let begins = state.reading.is_none() && read < of;
        state.reading = (read < of).then_some((read, of));
        self.draw(&mut state);
        if begins {
            drop(state);
            tokio::spawn(self.clone().remind());
        }
    }

    /// Shows a read that takes long, until it ends.
    async fn remind(self) {
        let every = if self.output.is_live { DELAY } else { INTERVAL };
        loop {
            tokio::time::sleep(every).await;
            let mut state = locked(&self.state);
            if state.reading.is_none() {
                return;
            }
            if self.output.is_live {
                state.line.get_or_insert_with(|| self.output.bars.add(line()));
                self.draw(&mut state);
                return;
            }
            self.output.message(&describe(&state));
        }
    }

    fn retry(&self, retry: &Retry) {
        let Retry { reason, number, most, .. } = retry;
        let seconds = retry.after.as_secs_f64().ceil();
        let mut state = locked(&self.state);
        state.retry = Some(format!("{reason}, retrying in {seconds} s, {number} of {most}"));
        if self.output.is_live {
            state.line.get_or_insert_with(|| self.output.bars.add(line()));
            self.draw(&mut state);
            return;
        }
        // Many requests may wait for one cause.
        let repeated = |(text, at): &(String, Instant)| text == reason && at.elapsed() < INTERVAL;
        if !state.written.as_ref().is_some_and(repeated) {
            state.written = Some((reason.clone(), Instant::now()));
            self.output.message(&describe(&state));
        }
    }

    fn draw(&self, state: &mut State) {
        if state.reading.is_none() && state.retry.is_none() {
            if let Some(line) = state.line.take() {
                line.finish_and_clear();
            }
        } else if let Some(line) = &state.line {
            line.set_message(self.output.named(&safe::line(&describe(state))).into_owned());
        }
    }
}

fn line() -> ProgressBar {
    let line = ProgressBar::no_length();
    let style = ProgressStyle::with_template("{msg}");
    line.set_style(style.unwrap_or_else(|_| ProgressStyle::default_spinner()));
    line
}

fn describe(state: &State) -> String {
    let reading =
        state.reading.map(|(read, of)| format!("reading {} of {}", (read + 1).min(of), text::count(of, "list")));
    let parts: Vec<&str> = reading.as_deref().into_iter().chain(state.retry.as_deref()).collect();
    parts.join(": ")
}

/// Prints each exchange as the global flags ask for it.
pub fn listener(context: &Context, source: LineSource) -> ExchangeListener {
    let (verbose, log) = (context.global.verbose, context.global.log.is_some());
    let (output, environment) = (context.output.clone(), context.environment.clone());
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
    let Exchange { method, path_and_query, outcome, attempt, .. } = exchange;
    let again = if *attempt > 1 { format!(", attempt {attempt}") } else { String::new() };
    format!("  {method} {path_and_query} -> {outcome} ({} ms{again})", exchange.took.as_millis())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_names_what_is_read_and_what_is_waited_for() {
        let retry = Some("429 Too Many Requests, retrying in 3 s, 2 of 6".to_owned());
        let both = State { reading: Some((2, 12)), retry: retry.clone(), ..State::default() };
        assert_eq!(describe(&both), "reading 3 of 12 lists: 429 Too Many Requests, retrying in 3 s, 2 of 6");
        assert_eq!(describe(&State { retry, ..State::default() }), "429 Too Many Requests, retrying in 3 s, 2 of 6");
        assert_eq!(describe(&State { reading: Some((0, 1)), ..State::default() }), "reading 1 of 1 list");
    }
}
