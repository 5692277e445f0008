//! The service as the applier writes to it, over the client of `api`.

use super::service::{CheckedNamespace, EndpointService, WriteTurn};
use crate::api::{self, ApiError, CurrentState, WriteDeparture, WriteFailure, Writer};
use crate::kind::KindName;
use crate::model::{Key, LiveItem, Namespace, RelatedObject};
use crate::run::{Intent, WriteRequest};

/// The service as the client shows it.
pub(super) struct HttpService<'a> {
    writer: &'a Writer,
}

impl<'a> HttpService<'a> {
    pub(super) fn new(writer: &'a Writer) -> Self {
        Self { writer }
    }
}

impl EndpointService for HttpService<'_> {
    type Turn<'t>
        = api::WriteTurn
    where
        Self: 't;

    async fn turn(&self, reads: u32) -> api::WriteTurn {
        self.writer.turn(reads).await
    }

    fn has_room(&self) -> bool {
        self.writer.has_room()
    }

    fn request_id(&self) -> String {
        self.writer.reader().request_id()
    }

    async fn check<T: Send>(
        &self,
        namespace: &Namespace,
        kind: KindName,
        check: impl Fn(LiveItem) -> T + Send + Sync,
    ) -> CheckedNamespace<T> {
        let (items, failed) = api::check(self.writer.reader(), namespace, kind, check).await;
        let describe =
            |conditions: Vec<api::Condition>| conditions.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ");
        let unhealthy = failed.into_iter().map(|(key, conditions)| (key, describe(conditions))).collect();
        CheckedNamespace { items, unhealthy }
    }

    fn requests(&self) -> u64 {
        self.writer.reader().requests().values().sum()
    }
}

impl WriteTurn for api::WriteTurn {
    async fn read(&self, key: &Key) -> Result<CurrentState, ApiError> {
        api::fetch_object(self.reader(), key).await
    }

    async fn referrers(&self, key: &Key) -> Result<Vec<RelatedObject>, ApiError> {
        api::referring_views(self.reader(), key).await
    }

    async fn send(self, write: &Intent, departure: WriteDeparture<'_>) -> Result<(), WriteFailure> {
        let key = &write.key;
        match &write.request {
            WriteRequest::Create { body } => self.create(key, body.raw(), departure).await,
            WriteRequest::Replace { body } => self.replace(key, body.raw(), departure).await,
            WriteRequest::Delete { referred } => self.delete(key, *referred, departure).await,
        }
    }
}
