//! The state that every request shares: the tenant's name, the time, the storage, and what the gate
//! needs.

use std::sync::{Arc, Mutex};

use super::clock::Clock;
use super::endpoint::Endpoints;
use super::fault::Faults;
use super::log::Log;
use super::options::{Rate, Token};
use super::query::Holding;
use super::store::Store;

/// One tenant's service.
#[derive(Debug)]
pub struct Service {
    pub tenant: String,
    pub clock: Clock,
    pub store: Arc<Store>,
    pub endpoints: Endpoints,
    pub query: Holding,
    pub(super) token: Token,
    pub(super) rate: Rate,
    pub(super) window: Mutex<super::gate::Window>,
    pub(super) log: Log,
    pub(super) faults: Faults,
}
