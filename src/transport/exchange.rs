//! One request and its answer, which arrives piece by piece and is unpacked here.

use std::error::Error;
use std::io::{self, Write as _};

use bytes::Bytes;
use http::header::CONTENT_ENCODING;
use http::{HeaderMap, StatusCode};
use reqwest::{Client, Request, Response};

use super::{CLEARED, LONGEST};

/// Why a request has no answer.
pub(crate) enum SendError {
    /// The request is none.
    NotBuilt(reqwest::Error),
    /// There is no connection, so nothing was sent.
    NotConnected(reqwest::Error),
    /// The connection ended.
    Cut(Box<dyn Error + Send + Sync>),
    /// The request may not leave, so nothing was sent.
    NotCleared,
}

/// Whether a request may leave: asked once, when nothing is left to wait for but a connection.
pub type Clearance<'a> = &'a (dyn Fn() -> bool + Send + Sync);

/// Sends a request; returns when the head of the answer is here. With a clearance it leaves soon after that or never: a new
/// connection may take no longer than [`CLEARED`].
///
/// # Guarantees
/// A request is sent again only where not a byte of it had left: the service had ended an idle connection.
pub(crate) async fn send(
    client: &Client,
    request: Request,
    clearance: Option<Clearance<'_>>,
) -> Result<Answer, SendError> {
    // A program that did not wait for anything has not seen yet which idle connections the service ended: the first turn
    // finds that out, and the second is after theirs.
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

/// An answer whose body is still to be read. What is not read to the end ends its connection.
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

    /// The bytes of the body, where the service says so; that of a packed one is unknown.
    pub(crate) fn length(&self) -> Option<usize> {
        let length = self.answer.content_length().filter(|_| self.packed.is_none())?;
        usize::try_from(length).ok()
    }

    /// The next bytes of the body, unpacked; nothing at its end.
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

/// Unpacks gzip as it arrives, a small piece at a time, however much the whole becomes. reqwest's own takes a first member
/// for the whole text, whatever follows it.
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
