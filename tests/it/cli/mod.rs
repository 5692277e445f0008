//! The program as people run it: wiring, exit codes, texts and faults.

mod codes;
mod commands;
mod filters;
mod identity;
mod reads;
mod runs;
mod stacks;
mod story;
