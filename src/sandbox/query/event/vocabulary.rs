//! The words that generated events are made of, read from `vocabulary.yaml`.

use std::sync::LazyLock;

use serde::Deserialize;
use serde_json::Value;

/// The one vocabulary.
pub static WORDS: LazyLock<Vocabulary> = LazyLock::new(|| {
    // A list becomes a struct by way of JSON only.
    let words = serde_yaml::from_str(include_str!("vocabulary.yaml"))
        .and_then(|words: Value| serde_json::from_value(words).map_err(serde::de::Error::custom));
    words.expect("the file is a part of the program, and a test reads it")
});

/// Lists of words; the first part of each entry is its weight.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Vocabulary {
    pub places: Vec<ClientLocation>,
    /// The positions of the places of the machines of a burst.
    pub burst_places: Vec<usize>,
    pub sites: Vec<(u32, String)>,
    pub apps: Vec<(u32, String)>,
    pub hours: [u32; 24],
    pub requests: Vec<Words>,
    pub agents: Vec<Words>,
    pub findings: Vec<(u32, Value)>,
    pub bots: Vec<(u32, Value)>,
    pub defenses: Vec<(u32, Value)>,
    pub hits: Vec<(u32, Value)>,
    pub reputations: Vec<(u32, Value)>,
    pub breaches: Vec<(u32, Value)>,
}

/// A weight and three words.
pub type Words = (u32, String, String, String);

/// The place of a client, in the order of the file's columns.
#[derive(Debug, Deserialize)]
pub struct ClientLocation {
    pub weight: u32,
    pub country: String,
    pub region: String,
    pub city: String,
    pub latitude: String,
    pub longitude: String,
    pub as_number: u64,
    pub as_org: String,
}
