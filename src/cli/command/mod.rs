//! One file per command.

pub mod adopt;
pub mod apply;
pub mod call;
pub mod completions;
pub mod context;
pub mod ddos;
pub mod doctor;
pub mod drift;
pub mod events;
pub mod explain;
pub mod fmt;
pub mod get;
pub mod history;
pub mod import;
pub mod init;
pub mod man;
pub mod plan;
pub mod pull;
pub mod rehearse;
pub mod rollback;
pub mod sandbox;
pub mod schema;
pub mod show;
pub mod snapshot;
pub mod upgrades;
pub mod validate;
