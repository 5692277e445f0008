//! Parse, run, exit code.

fn main() -> std::process::ExitCode {
    trueup::cli::run(std::env::args_os())
}
