//! Parse, run, exit code.

#![forbid(unsafe_code)]

/// A plan is some millions of small texts, which this allocator makes in half the time.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> std::process::ExitCode {
    trueup::cli::run(std::env::args_os())
}
