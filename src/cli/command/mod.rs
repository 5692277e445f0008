//! One file per command that does something; those that only print what is known share one.

pub mod adopt;
pub mod apply;
pub mod call;
pub mod ddos;
pub mod doctor;
pub mod drift;
pub mod events;
pub mod explain;
pub mod fleet;
pub mod fmt;
pub mod get;
pub mod history;
pub mod import;
pub mod init;
pub mod movement;
pub mod plan;
pub mod pull;
pub mod reference;
pub mod rehearse;
pub mod rollback;
pub mod sandbox;
pub mod show;
pub mod snapshot;
pub mod stacks;
pub mod upgrades;
pub mod validate;
