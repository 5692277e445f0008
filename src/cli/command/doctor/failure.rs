//! An error as a failed check.

use crate::cli::CommandError;
use crate::report::health::{Health, HealthStatus};

/// Adds an error with its hints.
pub fn add(health: &mut Health, name: &'static str, error: &CommandError) {
    health.add(name, HealthStatus::Failed, error.to_string());
    for hint in error.hints() {
        health.fix(hint.as_str());
    }
}
