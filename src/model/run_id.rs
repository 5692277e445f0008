//! The id of one run. It is unique by its time and randomness, is part of the ownership annotations, and names
//! the file of the run in the journal.

use std::time::Duration;

use jiff::{Timestamp, civil, tz::TimeZone};
use schemars::JsonSchema;

use super::displayed;
use crate::kind::as_text;

/// The id of a run, unique by its time and randomness. It is in the ownership annotations and names the journal's file.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, JsonSchema)]
pub struct RunId(String);

impl RunId {
    /// An id from its text: letters, digits and `-`, at most 96 characters.
    pub fn new(text: &str) -> Option<Self> {
        let fits = !text.is_empty() && text.len() <= 96 && text.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-');
        fits.then(|| Self(text.to_owned()))
    }

    /// The time in the id, which orders runs. An id of version 0.1 has only seconds, and sorts after every longer one
    /// of that second.
    pub fn time(&self) -> Option<Timestamp> {
        const WIDTH: usize = "2026-11-21T05-59-56".len();
        let second = civil::DateTime::strptime("%Y-%m-%dT%H-%M-%S", self.0.get(..WIDTH)?).ok()?;
        let rest = self.0.get(WIDTH..)?.strip_prefix('-').and_then(|rest| rest.split('-').next()).unwrap_or_default();
        let is_fraction = rest.len() == 3 && rest.bytes().all(|byte| byte.is_ascii_digit());
        let milliseconds = if is_fraction { rest.parse().ok()? } else { 999 };
        let second = second.to_zoned(TimeZone::UTC).ok()?.timestamp();
        second.checked_add(Duration::from_millis(milliseconds)).ok()
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

displayed!(RunId, |run| "{}", run.0);
as_text!(RunId, |text| Self::new(&text).ok_or("the id of a run is letters, digits and `-`, at most 96".into()));

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_from_a_file_is_checked_as_every_id_is() {
        let read = |text: &str| serde_json::from_value::<RunId>(serde_json::json!(text));
        assert_eq!(read("2026-11-21T10-04-11-shop").expect("an id").as_str(), "2026-11-21T10-04-11-shop");
        for text in ["", "../../x", "a\u{1b}[2J", "a\n::error::b", "##[error]x", "$(id)", "a\r", &"a".repeat(97)] {
            let error = read(text).expect_err("refused").to_string();
            assert!(error.contains("letters, digits"), "{error}");
        }
    }
}
