//! Everything that is tested through the binary or over HTTP.

mod api;
mod apply;
mod architecture;
mod cli;
mod corpus;
mod load;
mod properties;
mod query;
mod sandbox;
mod strategies;
mod support;
