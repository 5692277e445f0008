//! What a run needs from the service, as traits, implemented by the client and by the fake service of the tests.

use std::collections::BTreeMap;
use std::future::Future;

use crate::api::{ApiError, CurrentState, WriteDeparture, WriteFailure};
use crate::model::{Key, LiveItem, RelatedObject, Scope};
use crate::run::Intent;

/// What a run needs from the service.
pub(super) trait ObjectService: Sync {
    /// One try of one write.
    type Turn<'a>: WriteTurn
    where
        Self: 'a;

    /// Waits until this number of reads and one write may be sent.
    fn turn(&self, reads: u32) -> impl Future<Output = Self::Turn<'_>> + Send;

    /// Whether a write could be sent now.
    fn has_room(&self) -> bool;

    /// A unique request id.
    fn request_id(&self) -> String;

    /// Reads all objects of a kind in a namespace, and passes each to `check`.
    fn check<T: Send>(
        &self,
        scope: &Scope,
        check: impl Fn(LiveItem) -> T + Send + Sync,
    ) -> impl Future<Output = CheckedNamespace<T>> + Send;

    /// Requests sent so far.
    fn requests(&self) -> u64;
}

/// The reads of an object and the write that relies on them. Sending consumes the turn, so that a write is never
/// repeated without a new one.
pub(super) trait WriteTurn: Send + Sync {
    /// Reads the current state of an object.
    fn read(&self, key: &Key) -> impl Future<Output = Result<CurrentState, ApiError>> + Send;

    /// Reads the objects that refer to an object.
    fn referrers(&self, key: &Key) -> impl Future<Output = Result<Vec<RelatedObject>, ApiError>> + Send;

    /// Sends a write.
    fn send(
        self,
        write: &Intent,
        departure: WriteDeparture<'_>,
    ) -> impl Future<Output = Result<(), WriteFailure>> + Send;
}

/// The check's result for each item of a list, and the service's error for each object that it reports as failed; or
/// why the list cannot be used.
pub(super) type CheckedNamespace<T> = Result<(BTreeMap<Key, T>, BTreeMap<Key, String>), String>;
