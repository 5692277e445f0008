//! Everything that is tested through the binary or over HTTP.

mod api;
mod apply;
mod architecture;
mod cli;
mod corpus;
mod formats;
mod hostile;
mod load;
mod matrix;
mod properties;
mod query;
mod sandbox;
mod secrets;
mod strategies;
mod support;
mod torture;
