//! The scroll id. It contains everything that the next batch needs (the search, its remaining positions, the time of
//! the answer), so that the sandbox stores nothing between two batches, an id still works after a restart, and the same
//! id always gives the same batch. Every answer has a new id, valid for two minutes.

use std::ops::Range;

use data_encoding::BASE64URL_NOPAD;
use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use super::store::Order;
use crate::sandbox::answer::{Code, ErrorResponse};

/// How long an id can be used after its answer.
pub const VALID: SignedDuration = SignedDuration::from_mins(2);

/// The bytes of the checksum before the content of an id.
const CHECKSUM: usize = 8;

/// A search between two batches.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Scroll {
    pub namespace: String,
    pub query: String,
    pub order: Order,
    /// Events in each batch.
    pub limit: u64,
    pub total: u64,
    /// Matching events of the next batches.
    pub remaining: u64,
    pub left: Range<usize>,
    /// Which events the positions in `left` belong to.
    pub edition: u64,
    pub given: Timestamp,
}

impl Scroll {
    /// The id in URL-safe base 64, for a query parameter.
    pub fn id(&self) -> String {
        // A struct of texts and numbers can always be serialised.
        let content = serde_json::to_vec(self).unwrap_or_default();
        let mut bytes = Sha256::digest(&content)[..CHECKSUM].to_vec();
        bytes.extend(content);
        BASE64URL_NOPAD.encode(&bytes)
    }

    /// Reads an id used at `now` in `namespace`.
    pub fn read(id: &str, namespace: &str, edition: u64, now: Timestamp) -> Result<Self, ErrorResponse> {
        let bytes = BASE64URL_NOPAD.decode(id.as_bytes()).map_err(|_| malformed())?;
        let (checksum, content) = bytes.split_at_checked(CHECKSUM).ok_or_else(malformed)?;
        if Sha256::digest(content)[..CHECKSUM] != *checksum {
            return Err(malformed());
        }
        let scroll: Self = serde_json::from_slice(content).map_err(|_| malformed())?;
        if scroll.namespace != namespace {
            return Err(ErrorResponse::invalid("the scroll id belongs to a query of another namespace"));
        }
        let gone = |what: &str| Err(ErrorResponse::new(Code::NOT_FOUND, format!("{what}; start the query again")));
        if now.duration_since(scroll.given) > VALID {
            return gone("the scroll id has expired, it is valid for 2 minutes");
        }
        if scroll.edition != edition {
            return gone("the scroll id belongs to events that were replaced since");
        }
        Ok(scroll)
    }
}

/// The error for a text that is not the id of a scroll.
pub fn malformed() -> ErrorResponse {
    ErrorResponse::invalid("the scroll id is malformed; use the one of the last answer, whole")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scroll() -> Scroll {
        Scroll {
            namespace: "shop".into(),
            query: r#"{city="São Paulo"}"#.into(),
            order: Order::Descending,
            limit: 500,
            total: 52,
            remaining: 3,
            left: 1..7,
            edition: 4,
            given: "2026-11-21T12:00:00Z".parse().unwrap(),
        }
    }

    fn read(id: &str, namespace: &str, edition: u64, now: &str) -> Result<Scroll, ErrorResponse> {
        Scroll::read(id, namespace, edition, now.parse().unwrap())
    }

    fn gone(message: &str) -> Result<Scroll, ErrorResponse> {
        Err(ErrorResponse::new(Code::NOT_FOUND, message))
    }

    #[test]
    fn an_id_is_valid_for_two_minutes() {
        let id = scroll().id();
        assert_eq!(read(&id, "shop", 4, "2026-11-21T12:02:00Z"), Ok(scroll()));
        let expired = "the scroll id has expired, it is valid for 2 minutes; start the query again";
        assert_eq!(read(&id, "shop", 4, "2026-11-21T12:02:00.001Z"), gone(expired));
    }

    #[test]
    fn an_id_of_something_else_is_refused() {
        let id = scroll().id();
        let now = "2026-11-21T12:00:01Z";
        let elsewhere = ErrorResponse::invalid("the scroll id belongs to a query of another namespace");
        assert_eq!(read(&id, "pay", 4, now), Err(elsewhere));
        let replaced = "the scroll id belongs to events that were replaced since; start the query again";
        assert_eq!(read(&id, "shop", 5, now), gone(replaced));
        for damaged in ["x", "", "not an id", &id[1..], &id[..id.len() - 2], &format!("{id}A")] {
            assert_eq!(read(damaged, "shop", 4, now), Err(malformed()), "{damaged}");
        }
    }
}
