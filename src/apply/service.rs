//! What a run needs of the service, as a trait. The client implements it, and so does the fake of the tests.

use std::future::Future;

use crate::api::{ApiError, CurrentState};
use crate::model::{Key, Namespace, NamespaceRead, RelatedObject};
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

    /// Reads a whole namespace, and which of its endpoints the service reports as failed, with its words.
    fn list(&self, namespace: &Namespace) -> impl Future<Output = (NamespaceRead, Vec<(Key, String)>)> + Send;

    /// Requests sent so far.
    fn requests(&self) -> u64;
}
