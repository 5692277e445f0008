//! [`Reader`] has only operations that read; [`Writer`] owns a reader and adds operations that change something, so
//! that a command that only reads cannot write.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use serde::Deserialize;
use serde::de::{DeserializeOwned, IgnoredAny};

use crate::model::share::locked;
use crate::model::{Json, Key, Layout, Scope};

use super::base_url::BaseUrl;
use super::client::Client;
use super::error::{ApiError, Failure};
use super::live::no_errors;
use super::objects::{self, ListFields, ResponseFormat};
use super::operations::Operation;
use super::request::{ReadRequest, Request};
use super::response::{Response, read_date};
use super::retry::AttemptHistory;
use super::settings::{ClientProgress, ClientSettings, ClientSettingsError};
use super::turn::{HeldTurn, WriteDeparture, WriteFailure};

/// A client that only reads.
#[derive(Clone)]
pub struct Reader {
    pub(super) client: Arc<Client>,
    /// The turn of its requests; `None` if each waits by itself.
    turn: Option<Arc<HeldTurn>>,
}

/// A client that may change something.
#[derive(Clone, Debug)]
pub struct Writer {
    reader: Reader,
}

impl fmt::Debug for Reader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Reader").field("settings", &self.client.settings).finish_non_exhaustive()
    }
}

/// A request with its answer.
pub(super) struct RequestAnswer {
    request: Request,
    answer: Response,
}

impl RequestAnswer {
    /// The content of the answer, if the answer does not report that it is incomplete.
    pub(super) fn json<T: DeserializeOwned>(&self) -> Result<T, ApiError> {
        let failed = |failure| self.request.failed(failure);
        let AnswerErrors { errors, code, message } = self.answer.json().map_err(failed)?;
        no_errors(&errors).map_err(|reason| self.unreadable(reason))?;
        if code.is_some() && message.is_some() {
            return Err(self.unreadable("it is an error".to_owned()));
        }
        self.answer.json().map_err(failed)
    }

    pub(super) fn body(&self) -> &[u8] {
        &self.answer.body
    }

    /// The failure of an answer without the requested content.
    pub(super) fn unreadable(&self, reason: String) -> ApiError {
        self.request.failed(Failure::NotJson(reason))
    }
}

/// The parts of an answer that report errors.
#[derive(Deserialize)]
#[serde(expecting = "an object")]
struct AnswerErrors {
    #[serde(default)]
    errors: Json,
    code: Option<IgnoredAny>,
    message: Option<IgnoredAny>,
}

impl Reader {
    /// A client that only reads. It connects with its first request.
    ///
    /// # Errors
    /// [`ClientSettingsError`]: certificates that cannot be used.
    pub fn new(settings: ClientSettings) -> Result<Self, ClientSettingsError> {
        Ok(Self { client: Arc::new(Client::new(settings)?), turn: None })
    }

    /// Reports slow work to the listener of this client.
    pub(super) fn report(&self, progress: &ClientProgress) {
        self.client.report(progress);
    }

    /// The address of the service.
    pub fn base_url(&self) -> &BaseUrl {
        &self.client.settings.base_url
    }

    /// The layout of the service's paths.
    pub fn layout(&self) -> Layout {
        self.client.settings.layout
    }

    /// How many requests may be in flight.
    pub fn concurrency(&self) -> usize {
        self.client.settings.concurrency.max(1)
    }

    /// A unique request id.
    pub fn request_id(&self) -> String {
        self.client.settings.ids.request_id()
    }

    /// Waits as the settings say.
    pub(super) async fn wait(&self, wait: Duration) {
        self.client.settings.pace.wait(wait).await;
    }

    /// Requests sent so far, by operation, repeats included.
    pub fn requests(&self) -> BTreeMap<Operation, u64> {
        locked(&self.client.counts).clone()
    }

    /// The time of the service's clock in the last answer, to the second.
    pub fn date(&self) -> Option<Timestamp> {
        read_date(locked(&self.client.date).as_ref()?)
    }

    /// Sends a request that only reads. Returns its answer, and an error if the answer reports that it is incomplete.
    ///
    /// # Errors
    /// Any failure, after the repeats that its operation allows.
    pub async fn ask(&self, look: ReadRequest) -> Result<(Response, Result<(), ApiError>), ApiError> {
        let answered = self.answered(look.into_request()).await?;
        let whole = answered.json::<IgnoredAny>().map(|_| ());
        Ok((answered.answer, whole))
    }

    /// One object as JSON, in this format.
    ///
    /// # Errors
    /// [`ApiError::is_absent`] if it does not exist.
    pub async fn get(&self, key: &Key, format: ResponseFormat) -> Result<Json, ApiError> {
        self.object(key, format).await?.json()
    }

    /// Like [`Self::get`], with the unparsed answer.
    pub(super) async fn object(&self, key: &Key, format: ResponseFormat) -> Result<RequestAnswer, ApiError> {
        self.answered(objects::get(self.layout(), key, format)?).await
    }

    /// The unparsed list of a kind in a namespace.
    ///
    /// # Errors
    /// Any failure.
    pub async fn list(&self, scope: &Scope, fields: ListFields) -> Result<Response, ApiError> {
        Ok(self.answered(objects::list(self.layout(), scope, fields)?).await?.answer)
    }

    /// Sends a request that reads.
    async fn answered(&self, request: Request) -> Result<RequestAnswer, ApiError> {
        let answer = self.client.send(&request, self.turn.as_deref()).await?;
        Ok(RequestAnswer { request, answer })
    }

    /// Sends a request that reads and is not about an object.
    pub(super) async fn question(
        &self,
        operation: Operation,
        parameters: &[(&str, &str)],
        body: Option<&Json>,
    ) -> Result<RequestAnswer, ApiError> {
        debug_assert!(!operation.entry().changes(), "a reader only looks");
        let request = Request::build(operation, self.layout(), parameters, body);
        let subject = || operation.entry().area.to_lowercase();
        self.answered(request.map_err(|error| ApiError::unbuilt(operation, subject(), &error))?).await
    }
}

impl Writer {
    /// A client that may change something.
    ///
    /// # Errors
    /// [`ClientSettingsError`]: certificates that cannot be used.
    pub fn new(settings: ClientSettings) -> Result<Self, ClientSettingsError> {
        Ok(Self { reader: Reader::new(settings)? })
    }

    /// The part that only reads; both share connections, limits and counts.
    pub fn reader(&self) -> &Reader {
        &self.reader
    }

    /// Sends any request: what `call` does with an operation that changes something.
    ///
    /// # Errors
    /// Any failure.
    pub async fn call(&self, request: &Request) -> Result<Response, ApiError> {
        self.reader.client.send(request, None).await
    }

    /// Whether a write could be sent now.
    pub fn has_room(&self) -> bool {
        self.reader.client.has_room()
    }

    /// Waits until this number of reads and one write may be sent.
    pub async fn turn(&self, reads: u32) -> WriteTurn {
        let turn = self.reader.client.turn(reads + 1).await;
        WriteTurn { reader: Reader { turn: Some(Arc::new(turn)), ..self.reader.clone() } }
    }
}

/// The turn of one write. The write consumes it: to send it again takes another turn.
pub struct WriteTurn {
    reader: Reader,
}

impl WriteTurn {
    /// The client that reads as a part of this turn.
    pub fn reader(&self) -> &Reader {
        &self.reader
    }

    /// Sends a write that is not about an object.
    ///
    /// # Errors
    /// [`ApiError::certainty`] shows whether it may have taken effect anyway.
    pub(super) async fn change(
        self,
        request: Result<Request, ApiError>,
        tried: &mut AttemptHistory,
    ) -> Result<(), WriteFailure> {
        let request_id = self.reader.request_id();
        self.send(None, request, WriteDeparture { request_id: &request_id, clearance: &|| true, tried }).await
    }

    /// Sends a write; one about an object comes from [`objects`], with its key. A success status without the promised
    /// body may come from something in between or be about another object, so it is a failure of unknown effect.
    ///
    /// # Errors
    /// [`ApiError::certainty`] shows whether it may have taken effect anyway.
    pub async fn send(
        self,
        key: Option<&Key>,
        request: Result<Request, ApiError>,
        departure: WriteDeparture<'_>,
    ) -> Result<(), WriteFailure> {
        let (id, failed) = (departure.request_id, |error| WriteFailure { error, again: None });
        let request = request.map_err(failed)?;
        let answer = self.reader.client.send_write(&request, self.reader.turn.as_deref(), departure).await?;
        let acknowledged = answer.acknowledges(request.operation, key);
        acknowledged.map_err(|failure| failed(ApiError { request_id: Some(id.to_owned()), ..request.failed(failure) }))
    }
}
