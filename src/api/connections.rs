//! The connections to one service, kept for the next request while they are young. A request leaves on a kept one or
//! on a new one; the answer gives it back when its body was read to the end.

use std::io::{self, Write as _};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use bytes::Bytes;
use http::header::{CONTENT_ENCODING, CONTENT_LENGTH};
use http::{HeaderMap, Request, StatusCode};
use http_body_util::{BodyExt as _, Full};
use hyper::body::{Body as _, Incoming};

use super::connector::{ConnectError, Connector, Sender};

/// How long an unused connection is kept: shorter than what is before a service usually keeps it.
const IDLE_CONNECTION: Duration = Duration::from_secs(20);

/// The connections to one service.
pub(super) struct Connections {
    connector: Connector,
    /// How long a new one may take.
    timeout: Duration,
    /// The youngest last.
    idle: Mutex<Vec<(Sender, Instant)>>,
}

/// Why a request has no answer.
pub(super) enum SendError {
    /// There is no connection, so nothing was sent.
    NotConnected(ConnectError),
    /// No connection in the time that one may take.
    ConnectTimedOut,
    /// The connection ended.
    Cut(ConnectError),
    /// The request may no longer leave, so nothing was sent.
    NotCleared,
}

/// Whether a request may leave: asked each time when nothing is left to wait for.
pub type Clearance<'a> = &'a (dyn Fn() -> bool + Send + Sync);

impl Connections {
    pub(super) fn new(connector: Connector, timeout: Duration) -> Self {
        Self { connector, timeout, idle: Mutex::default() }
    }

    /// Sends a request; returns when the head of the answer is here.
    ///
    /// # Guarantees
    /// A request is sent again only where not a byte of it had left: the service had ended an idle connection.
    pub(super) async fn send(
        &self,
        mut request: Request<Full<Bytes>>,
        clearance: Clearance<'_>,
    ) -> Result<Answer<'_>, SendError> {
        loop {
            let (mut sender, is_new) = match self.idle() {
                Some(sender) => (sender, false),
                None => (self.connect().await?, true),
            };
            if !is_new && sender.ready().await.is_err() {
                continue;
            }
            if !clearance() {
                self.keep(sender);
                return Err(SendError::NotCleared);
            }
            match sender.try_send_request(request).await {
                Ok(answer) => return Ok(Answer::new(answer, (self, sender))),
                Err(mut error) => match error.take_message() {
                    Some(unsent) if !is_new => request = unsent,
                    _ => return Err(SendError::Cut(error.into_error().into())),
                },
            }
        }
    }

    /// The proxy that every connection goes through, if there is one.
    pub(super) fn proxy(&self) -> Option<&str> {
        self.connector.proxy.as_deref()
    }

    async fn connect(&self) -> Result<Sender, SendError> {
        match tokio::time::timeout(self.timeout, Box::pin(self.connector.connect())).await {
            Ok(connected) => connected.map_err(SendError::NotConnected),
            Err(_) => Err(SendError::ConnectTimedOut),
        }
    }

    /// The youngest connection that is not too old.
    fn idle(&self) -> Option<Sender> {
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        let old = idle.iter().take_while(|(_, since)| since.elapsed() >= IDLE_CONNECTION).count();
        idle.drain(..old);
        idle.pop().map(|(sender, _)| sender)
    }

    fn keep(&self, sender: Sender) {
        if !sender.is_closed() {
            self.idle.lock().unwrap_or_else(PoisonError::into_inner).push((sender, Instant::now()));
        }
    }
}

/// An answer whose body is still to be read. What is not read to the end ends its connection.
pub(super) struct Answer<'a> {
    pub(super) status: StatusCode,
    pub(super) headers: HeaderMap,
    body: Incoming,
    packed: Option<Unpacker>,
    connection: Option<(&'a Connections, Sender)>,
}

impl<'a> Answer<'a> {
    fn new(answer: http::Response<Incoming>, connection: (&'a Connections, Sender)) -> Self {
        let (head, body) = answer.into_parts();
        let packed = head.headers.get(CONTENT_ENCODING).is_some_and(|encoding| encoding == "gzip");
        let packed = packed.then(Unpacker::default);
        Self { status: head.status, headers: head.headers, body, packed, connection: Some(connection) }
    }

    /// The bytes of the body, where the service says so; that of a packed one is unknown.
    pub(super) fn length(&self) -> Option<usize> {
        let length = self.headers.get(CONTENT_LENGTH).filter(|_| self.packed.is_none())?;
        length.to_str().ok()?.parse().ok()
    }

    /// The next bytes of the body, unpacked; nothing at its end.
    pub(super) async fn chunk(&mut self) -> Result<Option<Bytes>, SendError> {
        loop {
            if let Some(unpacked) = self.packed.as_mut().map(Unpacker::next).transpose().map_err(cut)?.flatten() {
                return Ok(Some(unpacked));
            }
            if self.body.is_end_stream() {
                return self.end();
            }
            let data = match self.body.frame().await {
                None => return self.end(),
                Some(frame) => frame.map_err(cut)?.into_data(),
            };
            match (data, &mut self.packed) {
                (Ok(bytes), None) => return Ok(Some(bytes)),
                (Ok(bytes), Some(packed)) => packed.rest = bytes,
                // Trailers.
                (Err(_), _) => {}
            }
        }
    }

    fn end(&mut self) -> Result<Option<Bytes>, SendError> {
        let Some((connections, sender)) = self.connection.take() else { return Ok(None) };
        connections.keep(sender);
        match &mut self.packed {
            Some(packed) => packed.end().map_err(cut),
            None => Ok(None),
        }
    }
}

fn cut(error: impl Into<ConnectError>) -> SendError {
    SendError::Cut(error.into())
}

/// Unpacks gzip as it arrives, a small piece at a time, however much the whole becomes.
#[derive(Default)]
struct Unpacker {
    decoder: Option<flate2::write::MultiGzDecoder<Vec<u8>>>,
    rest: Bytes,
}

impl Unpacker {
    /// The next bytes that the ones here unpack to; nothing where more must arrive first.
    fn next(&mut self) -> io::Result<Option<Bytes>> {
        while !self.rest.is_empty() {
            let decoder = self.decoder.get_or_insert_with(|| flate2::write::MultiGzDecoder::new(Vec::new()));
            let taken = decoder.write(&self.rest)?;
            self.rest = self.rest.slice(taken..);
            if !decoder.get_ref().is_empty() {
                return Ok(Some(std::mem::take(decoder.get_mut()).into()));
            }
            if taken == 0 {
                return Err(io::ErrorKind::InvalidData.into());
            }
        }
        Ok(None)
    }

    /// The last bytes. A body that ends too early is an error, an empty one is not.
    fn end(&mut self) -> io::Result<Option<Bytes>> {
        let Some(decoder) = self.decoder.take() else { return Ok(None) };
        let last = decoder.finish()?;
        Ok((!last.is_empty()).then(|| last.into()))
    }
}
