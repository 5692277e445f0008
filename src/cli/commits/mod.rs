//! What git knows of a stack: its definitions and settings at other commits, who removed what, and which commits were applied.

pub mod applied;
mod at_commit;
pub mod base;
mod blame;
pub mod dropped;
mod moved;
pub mod secrets;
