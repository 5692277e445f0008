//! The client over HTTP: against a server that follows a script, and against the sandbox.

mod bounds;
mod cut;
mod exchange;
mod sandbox;
mod server;
pub mod tls;

use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::value::RawValue;
use trueup::api::{
    ApiError, AttemptHistory, BaseUrl, ClientSettings, Reader, Request, Secret, Timing, WriteDeparture, WriteFailure,
    WriteTurn, Writer, objects,
};
use trueup::model::{Key, Layout, Namespace, ReferredDelete};

use server::{Reply, Server};

const TOKEN: &str = "s3cret/token+value=";

/// A body as a write carries it.
fn written(body: &serde_json::Value) -> Box<RawValue> {
    serde_json::value::to_raw_value(body).unwrap()
}

/// Writes that are always cleared and sent once, each in a turn of its own.
trait OneTry {
    async fn create(&self, key: &Key, body: &RawValue) -> Result<(), ApiError>;
    async fn replace(&self, key: &Key, body: &RawValue) -> Result<(), ApiError>;
    async fn delete(&self, key: &Key, referred: ReferredDelete) -> Result<(), ApiError>;
}

fn departure(tried: &mut AttemptHistory) -> WriteDeparture<'_> {
    WriteDeparture { request_id: "0123456789abcdef", clearance: &|| true, tried }
}

async fn once(writer: &Writer, key: &Key, request: Result<Request, ApiError>) -> Result<(), ApiError> {
    let sent = writer.turn(0).await.send(Some(key), request, departure(&mut AttemptHistory::default())).await;
    sent.map_err(|failure| failure.error)
}

impl OneTry for Writer {
    async fn create(&self, key: &Key, body: &RawValue) -> Result<(), ApiError> {
        once(self, key, objects::create(self.reader().layout(), key, body)).await
    }

    async fn replace(&self, key: &Key, body: &RawValue) -> Result<(), ApiError> {
        once(self, key, objects::replace(self.reader().layout(), key, body)).await
    }

    async fn delete(&self, key: &Key, referred: ReferredDelete) -> Result<(), ApiError> {
        once(self, key, objects::delete(self.reader().layout(), key, referred)).await
    }
}

/// Sends a delete that the service is to refuse where others refer to the object.
async fn send_delete(turn: WriteTurn, departure: WriteDeparture<'_>) -> Result<(), WriteFailure> {
    let request = objects::delete(turn.reader().layout(), &cart(), ReferredDelete::Refused);
    turn.send(Some(&cart()), request, departure).await
}

/// A client with the server that it talks to, and the waits that it made.
struct Bench {
    server: Server,
    writer: Writer,
    waits: Arc<Mutex<Vec<Duration>>>,
}

impl Bench {
    async fn start(script: Vec<Reply>) -> Self {
        Self::with(script, |_| {}).await
    }

    async fn with(script: Vec<Reply>, change: impl FnOnce(&mut ClientSettings)) -> Self {
        let server = Server::start(script).await;
        let waits = Arc::new(Mutex::new(Vec::new()));
        let noted = Arc::clone(&waits);
        let pace = Timing::noted(move |wait| noted.lock().unwrap().push(wait));
        let base_url = BaseUrl::parse(&format!("http://{}/api/", server.address)).unwrap();
        let mut settings = ClientSettings::new(base_url, Layout::Uniform, Some(Secret::new(TOKEN).unwrap()), pace);
        change(&mut settings);
        Self { server, writer: Writer::new(settings).unwrap(), waits }
    }

    fn reader(&self) -> &Reader {
        self.writer.reader()
    }

    fn waits(&self) -> Vec<Duration> {
        self.waits.lock().unwrap().clone()
    }
}

fn cart() -> Key {
    Key::parse("shop/cart").unwrap()
}

fn shop() -> Namespace {
    Namespace::parse("shop").unwrap()
}
