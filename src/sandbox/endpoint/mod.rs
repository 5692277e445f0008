//! The spec of an endpoint: its fields, its rules, and how the service fills it in.

pub mod rules;
mod shape;
pub mod spec;
