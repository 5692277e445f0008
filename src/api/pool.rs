//! What the clients of one service can share: connections, the limits of requests per second and in flight, and the
//! memory of answers. A command for several stacks of a tenant uses one pool for all of them.

use std::sync::Arc;

use tokio::sync::Semaphore;

use super::budget::Budget;
use super::rate_limit::RateLimiter;

/// What the clients of one service share. A clone is the same pool.
#[derive(Clone)]
pub struct ClientPool {
    pub(super) client: reqwest::Client,
    /// The proxy of every request, as messages show it.
    pub(super) proxy: Option<String>,
    pub(super) throttle: Arc<RateLimiter>,
    pub(super) permits: Arc<Semaphore>,
    pub(super) budget: Budget,
}
