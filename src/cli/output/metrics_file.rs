//! The metrics of a command (`--metrics`): what its requests and changes came to, written as a text file for
//! Prometheus when the command has ended, however it did.

use std::path::PathBuf;
use std::time::Instant;

use crate::cli::args::Command;
use crate::cli::context::Context;
use crate::cli::environment::ProcessEnvironment;
use crate::cli::exit_status::ExitStatus;
use crate::cli::file;
use crate::cli::stacks::shard;
use crate::report::run_metrics::EndedCommand;

/// Where the metrics of a call go.
pub struct MetricsRequest {
    path: PathBuf,
    name: &'static str,
    shard: String,
    begun: Instant,
}

/// What a call asks for, if it does.
pub fn requested(command: &Command, environment: &ProcessEnvironment) -> Option<MetricsRequest> {
    let shard = match command {
        Command::Drift(arguments) => {
            let shard = shard::given(environment, arguments.shard).ok().flatten();
            shard.map(|shard| format!("{}/{}", shard.index, shard.of))
        }
        _ => None,
    };
    let (path, name) = match command {
        Command::Plan(arguments) => (&arguments.metrics.metrics, "plan"),
        Command::Apply(arguments) => (&arguments.metrics.metrics, "apply"),
        Command::Rollback(arguments) => (&arguments.metrics.metrics, "rollback"),
        Command::Move(arguments) => (&arguments.metrics.metrics, "move"),
        Command::Drift(arguments) => (&arguments.metrics.metrics, "drift"),
        _ => return None,
    };
    let (path, shard) = (path.clone()?, shard.unwrap_or_default());
    Some(MetricsRequest { path, name, shard, begun: Instant::now() })
}

impl MetricsRequest {
    /// Writes them. Where that fails it is reported, and the command ends as it would have: a verdict counts more.
    pub fn write(&self, context: &Context, status: ExitStatus) {
        let ended = EndedCommand {
            name: self.name,
            shard: &self.shard,
            took: self.begun.elapsed(),
            exit_code: status.code(),
            ended: context.environment.now(),
        };
        let text = context.metrics.lock().text(&ended);
        if let Err(error) = file::replace(&self.path, |out| out.write_all(text.as_bytes())) {
            context.output.error(&error.within("the metrics are not written"));
        }
    }
}
