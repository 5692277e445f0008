//! The service as the applier writes to it, over the client of `api`.

use super::service::{CheckedNamespace, EndpointService};
use crate::api::{self, ApiError, CurrentState, Writer};
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
    async fn read(&self, key: &Key) -> Result<CurrentState, ApiError> {
        api::fetch_object(self.writer.reader(), key).await
    }

    async fn referrers(&self, key: &Key) -> Result<Vec<RelatedObject>, ApiError> {
        api::referrers(self.writer.reader(), key).await
    }

    async fn send(&self, write: &Intent) -> Result<(), ApiError> {
        let (writer, key) = (self.writer.identified(write.request_id.as_deref()), &write.key);
        match &write.request {
            WriteRequest::Create { body } => writer.create(key, body.raw()).await,
            WriteRequest::Replace { body } => writer.replace(key, body.raw()).await,
            WriteRequest::Delete { referred } => writer.delete(key, *referred).await,
        }
    }

    fn request_id(&self) -> String {
        self.writer.reader().request_id()
    }

    async fn check<T: Send>(
        &self,
        namespace: &Namespace,
        check: impl Fn(LiveItem) -> T + Send + Sync,
    ) -> CheckedNamespace<T> {
        let (items, failed) = api::check(self.writer.reader(), namespace, check).await;
        let describe =
            |conditions: Vec<api::Condition>| conditions.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ");
        let unhealthy = failed.into_iter().map(|(key, conditions)| (key, describe(conditions))).collect();
        CheckedNamespace { items, unhealthy }
    }

    fn requests(&self) -> u64 {
        self.writer.reader().requests().values().sum()
    }
}
