//! What a run needs of the service, as traits. The client implements them, and so does the fake of the tests.

use std::collections::BTreeMap;
use std::future::Future;

use crate::api::{ApiError, CurrentState, WriteDeparture, WriteFailure};
use crate::model::{Key, LiveItem, RelatedObject, Scope};
use crate::run::Intent;

/// What a run needs of the service. The client is one; the tests of this module have another, whose
/// faults come where they are wanted.
pub(super) trait ObjectService: Sync {
    /// One try of one write.
    type Turn<'a>: WriteTurn
    where
        Self: 'a;

    /// Waits until so many reads and a write may leave.
    fn turn(&self, reads: u32) -> impl Future<Output = Self::Turn<'_>> + Send;

    /// Whether a write could leave now.
    fn has_room(&self) -> bool;

    /// A request id that no other request has.
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

/// What is read of an object and the write that goes by it. The write consumes the turn, so that it is never sent
/// again without a new one.
pub(super) trait WriteTurn: Send + Sync {
    /// What is there now.
    fn read(&self, key: &Key) -> impl Future<Output = Result<CurrentState, ApiError>> + Send;

    /// Who refers to it.
    fn referrers(&self, key: &Key) -> impl Future<Output = Result<Vec<RelatedObject>, ApiError>> + Send;

    /// Sends a write.
    fn send(
        self,
        write: &Intent,
        departure: WriteDeparture<'_>,
    ) -> impl Future<Output = Result<(), WriteFailure>> + Send;
}

/// What the check returned for each item of a list, and which of them the service reports as failed, with its words; or why
/// nothing may be concluded from the list.
pub(super) type CheckedNamespace<T> = Result<(BTreeMap<Key, T>, BTreeMap<Key, String>), String>;
