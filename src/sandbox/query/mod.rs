//! The areas beside the endpoints: security events, DDoS events, software versions and the upgrade
//! status of sites.

mod event;
mod window;

use std::sync::Arc;

use axum::Router;

use super::router::Operation;
use super::service::Service;

/// The operations of these areas.
pub const OPERATIONS: &[Operation] = &[];

/// The routes of these areas, in both path layouts.
pub fn router() -> Router<Arc<Service>> {
    Router::new()
}
