//! What reports state, computed once: why a change is made or blocked, how much it can hurt, whose it is, what a check
//! found of each endpoint and since when, and the next command. Every format states these facts.

pub mod check;
pub mod edits;
pub mod notes;
pub mod plan;
pub mod reason;
pub mod unit;
pub mod unread;

pub(in crate::report) use unit::words;
