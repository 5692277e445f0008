//! One file per command.

pub mod apply;
pub mod completions;
pub mod drift;
pub mod man;
pub mod plan;
pub mod pull;
pub mod sandbox;
pub mod validate;
