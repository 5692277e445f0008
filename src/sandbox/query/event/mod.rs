//! Security events: the query language, the generator, the store of events with its search, and counts over a search.

pub mod aggregate;
pub mod generator;
pub mod language;
pub mod scroll;
pub mod store;
