//! The metrics that all parts of a command count into.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::report::run_metrics::RunMetrics;

/// What a command counts; a clone counts with it.
#[derive(Clone, Default)]
pub struct SharedMetrics(Arc<Mutex<RunMetrics>>);

impl SharedMetrics {
    /// The numbers so far.
    pub fn lock(&self) -> MutexGuard<'_, RunMetrics> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
