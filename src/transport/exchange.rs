//! Sends one request and reads its answer, which arrives in pieces and is decompressed here.

use std::error::Error;
use std::io::{self, Write as _};

use bytes::Bytes;
use http::header::CONTENT_ENCODING;
use http::{HeaderMap, StatusCode};
use reqwest::{Client, Request, Response};

use super::{CLEARED, LONGEST};

/// Why a request has no answer.
pub(crate) enum SendError {
    /// The request is not valid.
    NotBuilt(reqwest::Error),
    /// There is no connection, so nothing was sent.
    NotConnected(reqwest::Error),
    /// The connection ended.
    Cut(Box<dyn Error + Send + Sync>),
    /// The clearance was refused, so nothing was sent.
    NotCleared,
}

/// Whether a request may be sent: called once, when only the connection may still have to be opened.
pub type Clearance<'a> = &'a (dyn Fn() -> bool + Send + Sync);

/// Sends a request; returns when the head of the answer has arrived. With a clearance it is sent soon after the check
/// or never: a new connection may take no longer than [`CLEARED`].
///
/// # Guarantees
/// A request is repeated only if no byte of it was sent, because the service had closed an idle connection.
pub(crate) async fn send(
    client: &Client,
    request: Request,
    clearance: Option<Clearance<'_>>,
) -> Result<Answer, SendError> {
    // Lets the client notice which idle connections the service has closed: a program that never waited has not seen
    // that yet. The first turn wakes the tasks of the connections, and the second one runs after them.
    for _ in 0..2 {
        tokio::task::yield_now().await;
    }
    let sent = match clearance {
        None => client.execute(request).await,
        Some(is_cleared) if is_cleared() => LONGEST.scope(CLEARED, client.execute(request)).await,
        Some(_) => return Err(SendError::NotCleared),
    };
    let answer = sent.map_err(|error| match error {
        error if error.is_builder() => SendError::NotBuilt(error),
        error if error.is_connect() => SendError::NotConnected(error),
        error => cut(error),
    })?;
    let is_gzip = |name: &[u8]| name.eq_ignore_ascii_case(b"gzip") || name.eq_ignore_ascii_case(b"x-gzip");
    let is_packed = answer.headers().get(CONTENT_ENCODING).is_some_and(|encoding| is_gzip(encoding.as_bytes()));
    Ok(Answer { packed: is_packed.then(Unpacker::default), answer })
}

/// An answer whose body is not read yet. If it is not read to the end, its connection is closed.
pub(crate) struct Answer {
    answer: Response,
    packed: Option<Unpacker>,
}

impl Answer {
    pub(crate) fn status(&self) -> StatusCode {
        self.answer.status()
    }

    pub(crate) fn headers(&self) -> &HeaderMap {
        self.answer.headers()
    }

    /// The length of the body in bytes if the service declares it; unknown for a compressed body.
    pub(crate) fn length(&self) -> Option<usize> {
        let length = self.answer.content_length().filter(|_| self.packed.is_none())?;
        usize::try_from(length).ok()
    }

    /// The next bytes of the body, decompressed; `None` at its end.
    pub(crate) async fn chunk(&mut self) -> Result<Option<Bytes>, SendError> {
        let Some(packed) = &mut self.packed else { return self.answer.chunk().await.map_err(cut) };
        loop {
            if let Some(unpacked) = packed.next().map_err(cut)? {
                return Ok(Some(unpacked));
            }
            match self.answer.chunk().await.map_err(cut)? {
                Some(bytes) => packed.rest = bytes,
                None => return packed.end().map_err(cut),
            }
        }
    }
}

fn cut(error: impl Into<Box<dyn Error + Send + Sync>>) -> SendError {
    SendError::Cut(error.into())
}

/// Decompresses gzip as it arrives, in small pieces however large the whole text is. The decoder of reqwest ignores
/// everything after the first member.
#[derive(Default)]
struct Unpacker {
    decoder: Option<flate2::write::MultiGzDecoder<Vec<u8>>>,
    rest: Bytes,
}

impl Unpacker {
    /// The next decompressed bytes; `None` if more input must arrive first.
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

    /// The last bytes. A truncated body is an error, an empty one is not.
    fn end(&mut self) -> io::Result<Option<Bytes>> {
        let Some(decoder) = self.decoder.take() else { return Ok(None) };
        let last = decoder.finish()?;
        Ok((!last.is_empty()).then(|| last.into()))
    }
}
