//! What the clients of one service can share: its connections, the limit of requests a second and at the same time,
//! and the memory of answers. A command about several stacks of a tenant has one pool for all of them.

use std::sync::Arc;

use tokio::sync::Semaphore;

use super::budget::Budget;
use super::rate_limit::RateLimiter;

/// What the clients of one service share. A clone is the same pool.
#[derive(Clone)]
pub struct ClientPool {
    pub(super) client: reqwest::Client,
    /// The proxy that every request goes through, as messages show it.
    pub(super) proxy: Option<String>,
    pub(super) throttle: Arc<RateLimiter>,
    pub(super) permits: Arc<Semaphore>,
    pub(super) budget: Budget,
}
