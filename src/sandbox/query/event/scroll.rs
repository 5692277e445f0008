//! The scroll id. It holds everything that is needed to go on (what is searched, what is left, when
//! it was given out), so the sandbox remembers nothing between two batches, an id still works after a
//! restart, and asking again with the same id gives the same batch. Every answer carries a new id,
//! valid for two minutes.

use std::ops::Range;

use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use super::search::Order;

/// How long an id can be used after it was given out.
pub const VALID: SignedDuration = SignedDuration::from_mins(2);

/// Bytes of the checksum in front of an id's content.
const CHECKSUM: usize = 8;

const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

/// A search between two batches.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Scroll {
    pub namespace: String,
    pub query: String,
    pub order: Order,
    /// Events in each batch.
    pub limit: u64,
    pub total: u64,
    /// Matching events that have not been handed out.
    pub remaining: u64,
    pub left: Vec<Range<u64>>,
    /// Which events the positions in `left` belong to.
    pub edition: u64,
    pub given: Timestamp,
}

/// Why a scroll cannot go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    #[error("the scroll id is malformed; use the one of the last answer, whole")]
    Malformed,
    #[error("the scroll id has expired, it is valid for 2 minutes; start the query again")]
    Expired,
    #[error("the scroll id belongs to events that were replaced since; start the query again")]
    Replaced,
    #[error("the scroll id belongs to a query of another namespace")]
    Elsewhere,
}

impl Scroll {
    /// The id, in the letters of URL-safe base 64 so that it can stand in a query parameter.
    #[must_use]
    pub fn id(&self) -> String {
        // A struct of texts and numbers always becomes JSON.
        let content = serde_json::to_vec(self).unwrap_or_default();
        let mut bytes = Sha256::digest(&content)[..CHECKSUM].to_vec();
        bytes.extend(content);
        encode(&bytes)
    }

    /// Reads an id that is used at `now` in `namespace`.
    ///
    /// # Errors
    /// One of [`Error`], in its order except that the namespace is looked at before the time.
    pub fn read(id: &str, namespace: &str, edition: u64, now: Timestamp) -> Result<Self, Error> {
        let bytes = decode(id).ok_or(Error::Malformed)?;
        let (checksum, content) = bytes.split_at_checked(CHECKSUM).ok_or(Error::Malformed)?;
        if Sha256::digest(content)[..CHECKSUM] != *checksum {
            return Err(Error::Malformed);
        }
        let scroll: Self = serde_json::from_slice(content).map_err(|_| Error::Malformed)?;
        if scroll.namespace != namespace {
            return Err(Error::Elsewhere);
        }
        if now.duration_since(scroll.given) > VALID {
            return Err(Error::Expired);
        }
        if scroll.edition != edition {
            return Err(Error::Replaced);
        }
        Ok(scroll)
    }
}

fn encode(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len() * 4 / 3 + 4);
    for group in bytes.chunks(3) {
        let bits =
            group.iter().enumerate().fold(0_u32, |bits, (place, byte)| bits | u32::from(*byte) << (16 - 8 * place));
        for place in 0..=group.len() {
            let letter = (bits >> (18 - 6 * place)) & 63;
            text.push(char::from(LETTERS[letter as usize]));
        }
    }
    text
}

fn decode(text: &str) -> Option<Vec<u8>> {
    let mut bytes = Vec::with_capacity(text.len() * 3 / 4);
    for group in text.as_bytes().chunks(4) {
        if group.len() == 1 {
            return None;
        }
        let mut bits = 0_u32;
        for (place, letter) in group.iter().enumerate() {
            let value = LETTERS.iter().position(|known| known == letter)?;
            bits |= u32::try_from(value).ok()? << (18 - 6 * place);
        }
        bytes.extend_from_slice(&bits.to_be_bytes()[1..group.len()]);
    }
    Some(bytes)
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
            left: vec![0..7, 1..2],
            edition: 4,
            given: "2026-11-21T12:00:00Z".parse().unwrap(),
        }
    }

    fn read(id: &str, namespace: &str, edition: u64, now: &str) -> Result<Scroll, Error> {
        Scroll::read(id, namespace, edition, now.parse().unwrap())
    }

    #[test]
    fn an_id_is_valid_for_two_minutes() {
        let id = scroll().id();
        assert_eq!(read(&id, "shop", 4, "2026-11-21T12:02:00Z"), Ok(scroll()));
        assert_eq!(read(&id, "shop", 4, "2026-11-21T12:02:00.001Z"), Err(Error::Expired));
    }

    #[test]
    fn an_id_of_something_else_is_refused() {
        let id = scroll().id();
        let now = "2026-11-21T12:00:01Z";
        assert_eq!(read(&id, "pay", 4, now), Err(Error::Elsewhere));
        assert_eq!(read(&id, "shop", 5, now), Err(Error::Replaced));
        for damaged in ["x", "", "not an id", &id[1..], &id[..id.len() - 2], &format!("{id}A")] {
            assert_eq!(read(damaged, "shop", 4, now), Err(Error::Malformed), "{damaged}");
        }
    }

    #[test]
    fn any_bytes_survive_their_text() {
        for length in 0..40_u8 {
            let bytes: Vec<u8> = (0..length).map(|byte| byte.wrapping_mul(37)).collect();
            assert_eq!(decode(&encode(&bytes)), Some(bytes));
        }
    }
}
