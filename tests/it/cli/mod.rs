//! The program as people run it: wiring, exit codes, texts and faults.

mod codes;
mod commands;
#[cfg(unix)]
mod completions;
mod doctor;
mod filters;
mod fmt;
mod get;
mod identity;
mod init;
mod options;
mod reads;
mod runs;
mod show;
mod stacks;
mod story;
#[cfg(unix)]
mod terminal;
mod unreachable;
mod waiting;
