//! The gates: checks of the service before anything is changed. A gate that warns is reported, a gate that
//! blocks refuses the run.

use crate::cli::{Connection, Context, Result};
use crate::gate;
use crate::model::policy::{GateMode, Gates};
use crate::plan::Plan;
use crate::report::{Role, safe};

/// Checks every gate, with these settings.
///
/// # Errors
/// A gate that blocks, or certificates that cannot be used.
pub async fn check(context: &Context, connection: &Connection, plan: &Plan, gates: &Gates) -> Result<()> {
    let findings = gate::check(&connection.reader()?, plan, gates, context.environment.now()).await;
    let palette = context.output.message_view().palette;
    let mut refused = None;
    for finding in findings {
        let text = finding.to_string();
        match finding.mode {
            GateMode::Block => {
                let error = error!(Refused, "{text}").hint("nothing was sent");
                refused = Some(error.hint(format!("to apply anyway: set `gates.{}: warn`", finding.gate)));
            }
            GateMode::Warn | GateMode::Off => {
                context.output.message(&format!("{}: {}", palette.paint(Role::Careful, "warning"), safe::line(&text)));
            }
        }
    }
    refused.map_or(Ok(()), Err)
}
