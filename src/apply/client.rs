//! The service as the applier uses it, over the client of `api`.

use super::service::{CheckedNamespace, ObjectService, WriteTurn};
use crate::api::{self, ApiError, CurrentState, WriteDeparture, WriteFailure, Writer, objects};
use crate::model::{Key, LiveItem, RelatedObject, Scope, SealedSecrets};
use crate::run::{Intent, WriteRequest};

/// The service behind the client.
pub(super) struct HttpService<'a> {
    pub(super) writer: &'a Writer,
    pub(super) sealed: &'a SealedSecrets,
}

impl ObjectService for HttpService<'_> {
    type Turn<'t>
        = HttpTurn<'t>
    where
        Self: 't;

    async fn turn(&self, reads: u32) -> HttpTurn<'_> {
        HttpTurn { turn: self.writer.turn(reads).await, sealed: self.sealed }
    }

    fn has_room(&self) -> bool {
        self.writer.has_room()
    }

    fn request_id(&self) -> String {
        self.writer.reader().request_id()
    }

    async fn check<T: Send>(&self, scope: &Scope, check: impl Fn(LiveItem) -> T + Send + Sync) -> CheckedNamespace<T> {
        api::check(self.writer.reader(), scope, check).await
    }

    fn requests(&self) -> u64 {
        self.writer.reader().requests().values().sum()
    }
}

/// A turn of the client, with the secrets that a write needs.
pub(super) struct HttpTurn<'a> {
    turn: api::WriteTurn,
    sealed: &'a SealedSecrets,
}

impl WriteTurn for HttpTurn<'_> {
    async fn read(&self, key: &Key) -> Result<CurrentState, ApiError> {
        api::fetch_object(self.turn.reader(), key).await
    }

    async fn referrers(&self, key: &Key) -> Result<Vec<RelatedObject>, ApiError> {
        api::referring_views(self.turn.reader(), key).await
    }

    async fn send(self, write: &Intent, departure: WriteDeparture<'_>) -> Result<(), WriteFailure> {
        let (key, layout) = (&write.key, self.turn.reader().layout());
        // Stored bodies contain no secrets, so they are put back before sending.
        let unsealed = |body| self.sealed.unseal(key.kind, body);
        let request = match &write.request {
            WriteRequest::Create { body } => objects::create(layout, key, &unsealed(body.raw())),
            WriteRequest::Replace { body } => objects::replace(layout, key, &unsealed(body.raw())),
            WriteRequest::Delete { referred } => objects::delete(layout, key, *referred),
        };
        self.turn.send(Some(key), request, departure).await
    }
}
