//! The only place that starts a program: `git`, found through absolute entries of the search path, with an environment
//! that contains only what is written here, and with limits for time and output.

use std::ffi::{OsStr, OsString};
use std::io::{Read, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use super::GitError;
use crate::file;

/// How long one call may take.
pub(super) const TIME: Duration = Duration::from_mins(1);
/// How many bytes of error output are read.
const COMPLAINT: u64 = 4 * 1024;
/// The search path if none is set.
const SEARCH_PATH: &str = "/usr/local/bin:/usr/bin:/bin";

/// git's whole environment beside `PATH`. The configuration of the user and the system is not read, objects are not
/// fetched, and replacement objects are not used.
const ENVIRONMENT: [(&str, &str); 12] = [
    ("LC_ALL", "C"),
    ("GIT_CONFIG_NOSYSTEM", "1"),
    ("GIT_CONFIG_SYSTEM", "/dev/null"),
    ("GIT_CONFIG_GLOBAL", "/dev/null"),
    ("GIT_ATTR_NOSYSTEM", "1"),
    ("GIT_TERMINAL_PROMPT", "0"),
    ("GIT_OPTIONAL_LOCKS", "0"),
    ("GIT_NO_LAZY_FETCH", "1"),
    ("GIT_NO_REPLACE_OBJECTS", "1"),
    // The name of a directory may begin with `:`.
    ("GIT_LITERAL_PATHSPECS", "1"),
    ("GIT_PAGER", "cat"),
    ("GIT_PROTOCOL_FROM_USER", "0"),
];

/// Settings of every call, which override any configuration.
const SETTINGS: [&str; 8] = [
    "safe.bareRepository=explicit",
    "core.fsmonitor=false",
    "core.hooksPath=/dev/null",
    "core.attributesFile=/dev/null",
    "core.quotePath=false",
    "log.showSignature=false",
    "diff.external=",
    "protocol.allow=never",
];

/// The program, and the `PATH` that it gets.
#[derive(Debug, Clone)]
pub(super) struct Program {
    file: PathBuf,
    path: OsString,
}

/// The limits of a call.
#[derive(Debug, Clone, Copy)]
pub(super) struct CallLimits {
    /// The most bytes of output.
    pub(super) bytes: u64,
    /// The most time until it ends.
    pub(super) time: Duration,
}

impl CallLimits {
    /// The usual time, and this many bytes.
    pub(super) fn bytes(bytes: u64) -> Self {
        Self { bytes, time: TIME }
    }
}

/// The output of a call.
#[derive(Debug)]
pub(super) struct CallOutput {
    pub(super) status: ExitStatus,
    pub(super) output: Vec<u8>,
    /// The first line of error output.
    pub(super) complaint: String,
}

impl Program {
    /// The first `git` on the search path that is outside of `repository`.
    pub(super) fn find(search_path: Option<&OsStr>, repository: &Path) -> Result<Self, GitError> {
        let outside = |path: &Path| file::real_path(path).is_ok_and(|path| !path.starts_with(repository));
        let search_path = search_path.unwrap_or(OsStr::new(SEARCH_PATH));
        let places: Vec<PathBuf> =
            std::env::split_paths(search_path).filter(|place| place.is_absolute() && outside(place)).collect();
        let runs = |file: &PathBuf| crate::file::is_program(file) && outside(file);
        let name = format!("git{}", std::env::consts::EXE_SUFFIX);
        let file = places.iter().map(|place| place.join(&name)).find(runs).ok_or_else(|| {
            GitError::NoProgram(std::io::Error::new(
                std::io::ErrorKind::NotFound,
                "it is not on the search path (PATH)",
            ))
        })?;
        let path = std::env::join_paths(places).unwrap_or_else(|_| SEARCH_PATH.into());
        Ok(Self { file, path })
    }

    /// Runs git on a git directory.
    pub(super) fn run(
        &self,
        directory: &Path,
        arguments: &[&str],
        input: Vec<u8>,
        bounds: CallLimits,
    ) -> Result<CallOutput, GitError> {
        let name = arguments.first().copied().unwrap_or_default();
        let mut command = Command::new(&self.file);
        command.env_clear().env("PATH", &self.path).envs(ENVIRONMENT).current_dir(directory);
        if cfg!(windows) {
            // Without `SystemRoot` no program finds the libraries of the system.
            command.envs(std::env::var_os("SystemRoot").map(|root| ("SystemRoot", root)));
        }
        command.arg("--no-pager").arg("--git-dir").arg(directory);
        SETTINGS.iter().for_each(|setting| {
            command.arg("-c").arg(setting);
        });
        command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let child = command.spawn().map_err(GitError::NoProgram)?;
        wait(child, name, input, bounds)
    }
}

fn wait(mut child: Child, name: &str, input: Vec<u8>, bounds: CallLimits) -> Result<CallOutput, GitError> {
    let begun = Instant::now();
    let failed = |message: String| GitError::Failed { command: name.to_owned(), message };
    let (Some(mut stdin), Some(stdout), Some(stderr)) = (child.stdin.take(), child.stdout.take(), child.stderr.take())
    else {
        return Err(failed("its pipes are missing".to_owned()));
    };
    // Pipes have a limited capacity, so each of the three gets a thread to avoid a deadlock.
    if input.is_empty() {
        drop(stdin);
    } else {
        std::thread::spawn(move || stdin.write_all(&input));
    }
    let complaint = read_aside(stderr, COMPLAINT);
    let output = read_aside(stdout, bounds.bytes.saturating_add(1));
    let left = || bounds.time.saturating_sub(begun.elapsed());
    let output = output.recv_timeout(left());
    let is_whole = matches!(&output, Ok(Ok(bytes)) if bytes.len() as u64 <= bounds.bytes);
    let mut status = None;
    while is_whole && status.is_none() && !left().is_zero() {
        status = child.try_wait().map_err(|error| failed(error.to_string()))?;
        if status.is_none() {
            std::thread::sleep(Duration::from_micros(200));
        }
    }
    let Some(status) = status else {
        // It may have ended by itself meanwhile.
        let _ = child.kill();
        let _ = child.wait();
        return Err(match output {
            Ok(Ok(bytes)) if bytes.len() as u64 > bounds.bytes => GitError::TooLarge(format!("`git {name}`")),
            Ok(Err(error)) => failed(error.to_string()),
            _ => failed(format!("no answer in {} s", bounds.time.as_secs_f32())),
        });
    };
    let output = output.ok().and_then(Result::ok).unwrap_or_default();
    let complaint = complaint.recv_timeout(left()).ok().and_then(Result::ok).unwrap_or_default();
    // git writes some names on the line after a colon.
    let complaint = String::from_utf8_lossy(&complaint).replace(":\n\t", ": ");
    let complaint = complaint.lines().next().unwrap_or("it printed no error").to_owned();
    Ok(CallOutput { status, output, complaint })
}

/// Reads a pipe to its end, or to `most` bytes, on a thread.
fn read_aside(pipe: impl Read + Send + 'static, most: u64) -> mpsc::Receiver<std::io::Result<Vec<u8>>> {
    let (sender, receiver) = mpsc::channel();
    std::thread::spawn(move || {
        let mut bytes = Vec::new();
        let read = pipe.take(most).read_to_end(&mut bytes);
        // The caller stops waiting if the call took too long.
        let _ = sender.send(read.map(|_| bytes));
    });
    receiver
}

#[cfg(all(test, unix))]
mod tests;
