//! Security events: the query language, the events that are kept or generated, and the search over
//! them.

pub mod aggregate;
pub mod curve;
pub mod draw;
pub mod heading;
pub mod language;
pub mod library;
pub mod piece;
pub mod scroll;
pub mod search;
pub mod series;
pub mod sketch;
pub mod vocabulary;
