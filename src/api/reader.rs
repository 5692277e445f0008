//! [`Reader`] has only operations that read; [`Writer`] owns a reader and adds those that change
//! something, so a command that only reads cannot write.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, PoisonError};

use jiff::Timestamp;
use serde_json::value::RawValue;

use crate::model::{Json, Key, Layout, Namespace, ReferredDelete};

use super::base_url::BaseUrl;
use super::client::Client;
use super::endpoints::{self, ListParameters, ResponseFormat};
use super::error::{ApiError, Failure};
use super::operations::{Operation, OperationEffect};
use super::request::{ReadRequest, Request, RequestError};
use super::response::{Response, read_date};
use super::settings::{ClientProgress, ClientSettings, ClientSettingsError};

/// A client that only looks.
#[derive(Clone)]
pub struct Reader {
    client: Arc<Client>,
}

/// A client that may change something.
#[derive(Clone, Debug)]
pub struct Writer {
    reader: Reader,
    /// The `x-request-id` of its requests; nothing where each gets a new one.
    request_id: Option<String>,
}

impl fmt::Debug for Reader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Reader").field("settings", &self.client.settings).finish()
    }
}

impl Reader {
    /// Reports what takes time to who listens to this client.
    pub(super) fn report(&self, progress: &ClientProgress) {
        self.client.report(progress);
    }
}

/// A question of ours with its answer.
pub(super) struct RequestAnswer {
    pub(super) request: Request,
    answer: Response,
}

impl RequestAnswer {
    pub(super) fn json<'body, T: serde::Deserialize<'body>>(&'body self) -> Result<T, ApiError> {
        self.answer.json().map_err(|failure| self.request.failed(failure))
    }
}

/// A request that could not be built, as a failure of its operation.
fn unbuilt(operation: Operation, subject: String) -> impl FnOnce(RequestError) -> ApiError {
    move |error| ApiError {
        operation,
        subject,
        failure: Failure::NotBuilt { reason: error.to_string() },
        request_id: None,
    }
}

/// The same for one endpoint.
fn unbuilt_of(operation: Operation, key: &Key) -> impl FnOnce(RequestError) -> ApiError {
    move |error| unbuilt(operation, endpoints::subject(key))(error)
}

#[cfg(test)]
impl Reader {
    /// The memory of the answers.
    pub(super) fn budget(&self) -> super::budget::Budget {
        self.client.budget()
    }
}

impl Reader {
    /// A client that only looks. It connects with its first request.
    ///
    /// # Errors
    /// [`ClientSettingsError`]: certificates that cannot be used.
    pub fn new(settings: ClientSettings) -> Result<Self, ClientSettingsError> {
        Ok(Self { client: Arc::new(Client::new(settings)?) })
    }

    /// Where the service is.
    #[must_use]
    pub fn base_url(&self) -> &BaseUrl {
        &self.client.settings.base_url
    }

    /// Which paths it has.
    #[must_use]
    pub fn layout(&self) -> Layout {
        self.client.settings.layout
    }

    /// Requests at the same time.
    #[must_use]
    pub fn concurrency(&self) -> usize {
        self.client.settings.concurrency.max(1)
    }

    /// A request id that no other request has.
    #[must_use]
    pub fn request_id(&self) -> String {
        self.client.settings.ids.request_id()
    }

    /// Requests sent so far, by operation, repeats included.
    #[must_use]
    pub fn requests(&self) -> BTreeMap<Operation, u64> {
        self.client.counts.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// What the clock of the service showed when it sent the last answer, to the second.
    #[must_use]
    pub fn date(&self) -> Option<Timestamp> {
        read_date(self.client.date.lock().unwrap_or_else(PoisonError::into_inner).as_ref()?)
    }

    /// Sends a request that only looks.
    ///
    /// # Errors
    /// Whatever goes wrong, after the repeats that its operation allows.
    pub async fn ask(&self, look: &ReadRequest) -> Result<Response, ApiError> {
        self.client.send(look.request()).await
    }

    /// One endpoint as JSON, in this format.
    ///
    /// # Errors
    /// [`ApiError::is_absent`] where it is not there.
    pub async fn get(&self, key: &Key, format: ResponseFormat) -> Result<Json, ApiError> {
        let failed = |failure| ApiError {
            operation: Operation::EndpointGet,
            subject: endpoints::subject(key),
            failure,
            request_id: None,
        };
        self.object(key, format).await?.json().map_err(failed)
    }

    /// [`Self::get`] as it came.
    pub(super) async fn object(&self, key: &Key, format: ResponseFormat) -> Result<Response, ApiError> {
        let request = endpoints::get(self.layout(), key, format).map_err(unbuilt_of(Operation::EndpointGet, key))?;
        self.whole(&request).await
    }

    /// The list of a namespace as it came.
    ///
    /// # Errors
    /// Whatever goes wrong.
    pub async fn list(&self, namespace: &Namespace, parameters: &ListParameters) -> Result<Response, ApiError> {
        let request = endpoints::list(self.layout(), namespace, parameters)
            .map_err(unbuilt(Operation::EndpointList, format!("endpoints of `{namespace}`")))?;
        self.whole(&request).await
    }

    /// Sends a request that reads; anything but a 200 is not a answer to it.
    async fn whole(&self, request: &Request) -> Result<Response, ApiError> {
        let answer = self.client.send(request).await?;
        match answer.is_whole() {
            true => Ok(answer),
            false => Err(request.failed(Failure::Odd { reason: format!("with the status {}", answer.status) })),
        }
    }

    /// Sends a request that was just built.
    pub(super) async fn question(
        &self,
        operation: Operation,
        request: Result<Request, RequestError>,
    ) -> Result<RequestAnswer, ApiError> {
        let request = request.map_err(unbuilt(operation, operation.entry().area.to_lowercase()))?;
        debug_assert_eq!(request.operation.entry().effect, OperationEffect::Reads, "a reader only looks");
        let answer = self.whole(&request).await?;
        Ok(RequestAnswer { request, answer })
    }
}

impl Writer {
    /// A client that may change something.
    ///
    /// # Errors
    /// [`ClientSettingsError`]: certificates that cannot be used.
    pub fn new(settings: ClientSettings) -> Result<Self, ClientSettingsError> {
        Ok(Self { reader: Reader::new(settings)?, request_id: None })
    }

    /// The same writer, whose requests carry this id.
    #[must_use]
    pub fn identified(&self, request_id: Option<&str>) -> Self {
        Self { reader: self.reader.clone(), request_id: request_id.map(str::to_owned) }
    }

    /// The part that only looks; both share connections, limits and counts.
    #[must_use]
    pub fn reader(&self) -> &Reader {
        &self.reader
    }

    /// Creates the endpoint `key`; `body` holds `metadata` and `spec`.
    ///
    /// # Errors
    /// [`ApiError::certainty`] shows whether it can be there all the same.
    pub async fn create(&self, key: &Key, body: &RawValue) -> Result<(), ApiError> {
        let request = endpoints::create(self.reader.layout(), key, body);
        self.change(request.map_err(unbuilt_of(Operation::EndpointCreate, key))?, Some(key)).await
    }

    /// Replaces the endpoint `key` by `body`: `metadata`, `spec` and, to be versioned, the root
    /// `resource_version`.
    ///
    /// # Errors
    /// [`ApiError::certainty`] shows whether it can have been replaced all the same.
    pub async fn replace(&self, key: &Key, body: &RawValue) -> Result<(), ApiError> {
        let request = endpoints::replace(self.reader.layout(), key, body);
        self.change(request.map_err(unbuilt_of(Operation::EndpointReplace, key))?, Some(key)).await
    }

    /// Deletes the endpoint `key`; see [`endpoints::delete`].
    ///
    /// # Errors
    /// [`ApiError::certainty`] shows whether it can be gone all the same.
    pub async fn delete(&self, key: &Key, referred: ReferredDelete) -> Result<(), ApiError> {
        let request = endpoints::delete(self.reader.layout(), key, referred);
        self.change(request.map_err(unbuilt_of(Operation::EndpointDelete, key))?, Some(key)).await
    }

    /// Sends any request: what `call` does with an operation that changes something.
    ///
    /// # Errors
    /// Whatever goes wrong.
    pub async fn call(&self, request: &Request) -> Result<Response, ApiError> {
        self.reader.client.send(request).await
    }

    /// Sends a write, of the endpoint `key` where it is about one. A good status without the body that the
    /// operation promises may come from something in between, or be about something else, so it is a failure
    /// of unknown effect.
    pub(super) async fn change(&self, request: Request, key: Option<&Key>) -> Result<(), ApiError> {
        let id = self.request_id.clone().unwrap_or_else(|| self.reader.request_id());
        let answer = self.reader.client.send_as(&request, &id).await?;
        answer
            .acknowledges(request.operation, key)
            .map_err(|failure| ApiError { request_id: Some(id), ..request.failed(failure) })
    }
}
