//! `trueup` keeps the configuration objects of a tenant in sync with a directory of definitions.
//!
//! The modules are in flow order: a directory is loaded, the live list is fetched, the two are
//! compared, the differences are arranged into a plan, an approved plan is applied, and every run is
//! kept in a journal. Arrows between modules go one way; `docs/architecture.md` lists them and a test
//! reads the `use` lines.
//!
//! # Unstable
//!
//! This library has no stable interface. It exists so that this project's own program, tests, benches
//! and fuzz targets reach its parts: any version, a patch version too, may change or remove any item.
//! What is stable is the program: `docs/stability.md` lists what may be relied on.

#![forbid(unsafe_code)]

pub mod model;

pub mod kind;

pub mod file;

pub mod load;

pub mod transport;

pub mod api;

pub mod diff;

pub mod plan;

pub mod run;

pub mod drift;

pub mod apply;

pub mod state;

pub mod journal;

pub mod gate;

pub mod report;

pub mod sandbox;

pub mod git;

pub mod terraform;

pub mod cli;

#[cfg(test)]
mod tests;
