use super::aim::{Now, Seen};
use super::service::Service;
use crate::api::{self, ApiError, Writer};
use crate::model::{Key, LiveItem, Namespace, NamespaceRead};
use crate::plan::{Referrer, Request};

/// The service as the client shows it.
pub(super) struct Client<'a> {
    writer: &'a Writer,
}

impl<'a> Client<'a> {
    pub(super) fn new(writer: &'a Writer) -> Self {
        Self { writer }
    }
}

impl Service for Client<'_> {
    async fn look(&self, key: &Key) -> Result<Now, ApiError> {
        let fresh = api::fetch_object(self.writer.reader(), key).await?;
        Ok(match fresh {
            None => Now::Absent,
            Some(fresh) => match fresh.item {
                LiveItem::Object(live) => Now::Object(Box::new(Seen { live, raw: fresh.raw })),
                LiveItem::Unheld(unheld) => Now::Unheld { reason: unheld.reason },
            },
        })
    }

    async fn referrers(&self, key: &Key) -> Result<Vec<Referrer>, ApiError> {
        let found = api::referrers(self.writer.reader(), key).await?;
        Ok(found
            .into_iter()
            .map(|referrer| Referrer { kind: referrer.kind, namespace: referrer.namespace, name: referrer.name })
            .collect())
    }

    async fn send(&self, key: &Key, request: &Request) -> Result<(), ApiError> {
        match request {
            Request::Create { body } => self.writer.create(key, body.raw()).await?,
            Request::Replace { body } => self.writer.replace(key, body.raw()).await?,
            Request::Delete { referred } => self.writer.delete(key, *referred).await?,
        };
        Ok(())
    }

    async fn list(&self, namespace: &Namespace) -> (NamespaceRead, Vec<(Key, String)>) {
        let (read, failed) = api::fetch_with_health(self.writer.reader(), namespace).await;
        let told =
            |conditions: Vec<api::Condition>| conditions.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ");
        (read, failed.into_iter().map(|(key, conditions)| (key, told(conditions))).collect())
    }

    fn requests(&self) -> u64 {
        self.writer.reader().requests().values().sum()
    }
}
