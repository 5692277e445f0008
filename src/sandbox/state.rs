//! The state that every request shares: the objects, the time, the storage, and what the gate
//! needs.

use std::sync::Arc;

use axum::extract::State;

use super::clock::Clock;
use super::fault::Faults;
use super::log::Log;
use super::object::Objects;
use super::options::RequiredToken;
use super::query::Dataset;
use super::store::Store;

/// One tenant's service.
#[derive(Debug)]
pub struct SandboxState {
    pub clock: Clock,
    pub store: Arc<Store>,
    pub objects: Objects,
    pub query: Dataset,
    pub token: RequiredToken,
    pub log: Log,
    pub faults: Faults,
}

/// The state as a handler gets it.
pub type Shared = State<Arc<SandboxState>>;
