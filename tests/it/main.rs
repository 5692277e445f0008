//! Everything that is tested through the binary or over HTTP.

#![forbid(unsafe_code)]

mod adopt;
mod api;
mod apply;
mod architecture;
mod base;
mod book;
mod bucket;
mod cli;
mod clock;
mod configuration;
mod corpus;
mod coverage;
mod digest;
mod drift;
mod drift_states;
mod dropped;
mod earlier;
mod endings;
mod environments;
mod every_kind;
mod evidence;
#[cfg(unix)]
mod files;
mod filled;
mod fleet;
mod formats;
mod formatted;
#[cfg(unix)]
mod full_disk;
mod gates;
#[cfg(unix)]
mod git;
mod globs;
#[cfg(unix)]
mod hostile;
mod hostile_text;
mod in_doubt;
mod kept;
mod kinds;
mod kinds_managed;
mod layouts;
mod load;
mod many;
mod matrix;
mod merged;
mod missing;
mod moves;
mod newer;
mod ownership;
#[cfg(unix)]
mod pipelines;
#[cfg(unix)]
mod platform;
mod properties;
mod pulled;
mod query;
#[cfg(unix)]
mod readme;
mod references;
mod rehearse;
mod requests;
mod resumed;
mod sandbox;
mod schemathesis;
mod secrets;
mod several;
mod snapshot;
mod stack_list;
mod stories;
mod strategies;
mod strictest;
mod support;
mod syntax;
#[cfg(unix)]
mod terminal;
#[cfg(unix)]
mod terraform;
mod torture;
mod trust;
mod unknown_keys;
mod unseen;
mod waiting_writes;
mod waves;
mod whose_delete;
