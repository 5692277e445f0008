//! The state that every request shares: the tenant's name, the time, the storage, and what the gate
//! needs.

use std::sync::{Arc, Mutex};

use super::clock::Clock;
use super::endpoint::Endpoints;
use super::fault::Faults;
use super::log::Log;
use super::options::{RequestRate, RequiredToken};
use super::query::Dataset;
use super::store::Store;

/// One tenant's service.
#[derive(Debug)]
pub struct SandboxState {
    pub tenant: String,
    pub clock: Clock,
    pub store: Arc<Store>,
    pub endpoints: Endpoints,
    pub query: Dataset,
    pub(super) token: RequiredToken,
    pub(super) rate: RequestRate,
    pub(super) window: Mutex<super::gate::RateWindow>,
    pub(super) log: Log,
    pub(super) faults: Faults,
}
