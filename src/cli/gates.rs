//! The look at the service before anything is changed: what warns is told, what blocks refuses.

use super::Context;
use super::ending::{Ending, Error};
use super::service::Connection;
use crate::gate;
use crate::model::policy::{GateMode, Gates};
use crate::plan::Plan;
use crate::report::{Role, safe};

/// Looks through every gate, with these settings of them.
///
/// # Errors
/// A gate that blocks, or certificates that cannot be used.
pub async fn look(context: &Context, connection: &Connection, plan: &Plan, gates: &Gates) -> Result<(), Error> {
    let findings = gate::look(&connection.reader()?, plan, gates, context.surroundings.now()).await;
    let palette = context.output.message_view().palette;
    let mut refused = None;
    for finding in findings {
        let told = finding.to_string();
        match finding.mode {
            GateMode::Block => {
                let error = Error::words(Ending::Refused, told).hint("nothing was sent");
                refused = Some(error.hint(format!("if it must be now: set `gates.{}: warn`", finding.gate)));
            }
            GateMode::Warn | GateMode::Off => {
                context.output.message(&format!("{}: {}", palette.paint(Role::Careful, "warning"), safe::line(&told)));
            }
        }
    }
    refused.map_or(Ok(()), Err)
}
