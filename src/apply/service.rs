//! What a run needs of the service, as a trait. The client implements it, and so does the fake of the tests.

use std::collections::BTreeMap;
use std::future::Future;

use crate::api::{ApiError, CurrentState};
use crate::model::{Key, LiveItem, Namespace, RelatedObject};
use crate::run::Intent;

/// What a run needs of the service. The client is one; the tests of this module have another, whose
/// faults come where they are wanted.
pub(super) trait EndpointService: Sync {
    /// What is there now.
    fn read(&self, key: &Key) -> impl Future<Output = Result<CurrentState, ApiError>> + Send;

    /// Who refers to it.
    fn referrers(&self, key: &Key) -> impl Future<Output = Result<Vec<RelatedObject>, ApiError>> + Send;

    /// Sends a write with the request id of its intent.
    fn send(&self, write: &Intent) -> impl Future<Output = Result<(), ApiError>> + Send;

    /// A request id that no other request has.
    fn request_id(&self) -> String;

    /// Reads a whole namespace, and passes each item to `check`.
    fn check<T: Send>(
        &self,
        namespace: &Namespace,
        check: impl Fn(LiveItem) -> T + Send + Sync,
    ) -> impl Future<Output = CheckedNamespace<T>> + Send;

    /// Requests sent so far.
    fn requests(&self) -> u64;
}

/// What the list of a namespace contained.
pub(super) struct CheckedNamespace<T> {
    /// What the check returned for each item, or why nothing may be concluded from the list.
    pub(super) items: Result<BTreeMap<Key, T>, String>,
    /// Which endpoints the service reports as failed, with its words.
    pub(super) unhealthy: Vec<(Key, String)>,
}
