//! The one place that starts a program: `git`, found through absolute entries of the search path, with
//! an environment that contains nothing but what is written here, within bounds of time and output.

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
/// Bytes of complaints that are read.
const COMPLAINT: u64 = 4 * 1024;
/// Where programs are when nothing says so.
const SEARCH_PATH: &str = "/usr/local/bin:/usr/bin:/bin";

/// Everything that git finds in its environment beside `PATH`. Neither the user's nor the system's
/// configuration is read, no object is fetched, no other object takes the place of one.
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
    // A directory may begin with `:`.
    ("GIT_LITERAL_PATHSPECS", "1"),
    ("GIT_PAGER", "cat"),
    ("GIT_PROTOCOL_FROM_USER", "0"),
];

/// Settings of every call, over anything that a configuration could say.
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

/// The program, and where it may find itself.
#[derive(Debug, Clone)]
pub(super) struct Program {
    file: PathBuf,
    path: OsString,
}

/// What a call may cost.
#[derive(Debug, Clone, Copy)]
pub(super) struct CallLimits {
    /// Bytes of its answer.
    pub(super) bytes: u64,
    /// Time until it ends.
    pub(super) time: Duration,
}

impl CallLimits {
    /// The usual time, and this many bytes.
    pub(super) fn bytes(bytes: u64) -> Self {
        Self { bytes, time: TIME }
    }
}

/// What a call said.
#[derive(Debug)]
pub(super) struct CallOutput {
    pub(super) status: ExitStatus,
    pub(super) output: Vec<u8>,
    /// The first line of complaint.
    pub(super) complaint: String,
}

impl Program {
    /// The first `git` on the search path that lies outside of `repository`.
    pub(super) fn find(search_path: Option<&OsStr>, repository: &Path) -> Result<Self, GitError> {
        let outside = |path: &Path| file::real_path(path).is_ok_and(|path| !path.starts_with(repository));
        let search_path = search_path.unwrap_or(OsStr::new(SEARCH_PATH));
        let places: Vec<PathBuf> =
            std::env::split_paths(search_path).filter(|place| place.is_absolute() && outside(place)).collect();
        let runs = |file: &PathBuf| crate::file::is_program(file) && outside(file);
        let name = format!("git{}", std::env::consts::EXE_SUFFIX);
        let file = places.iter().map(|place| place.join(&name)).find(runs).ok_or_else(|| GitError::NoProgram {
            reason: std::io::Error::new(std::io::ErrorKind::NotFound, "it is not on the search path (PATH)"),
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
            // Without it no program finds the libraries of the system.
            command.envs(std::env::var_os("SystemRoot").map(|root| ("SystemRoot", root)));
        }
        command.arg("--no-pager").arg("--git-dir").arg(directory);
        SETTINGS.iter().for_each(|setting| {
            command.arg("-c").arg(setting);
        });
        command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let child = command.spawn().map_err(|reason| GitError::NoProgram { reason })?;
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
    // All three pipes are bounded, so each has a thread of its own.
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
        // It may have ended by itself in the meantime.
        let _ = child.kill();
        let _ = child.wait();
        return Err(match output {
            Ok(Ok(bytes)) if bytes.len() as u64 > bounds.bytes => GitError::TooLarge { what: format!("`git {name}`") },
            Ok(Err(error)) => failed(error.to_string()),
            _ => failed(format!("no answer in {} s", bounds.time.as_secs_f32())),
        });
    };
    let output = output.ok().and_then(Result::ok).unwrap_or_default();
    let complaint = complaint.recv_timeout(left()).ok().and_then(Result::ok).unwrap_or_default();
    // git names some things on the line after a colon.
    let complaint = String::from_utf8_lossy(&complaint).replace(":\n\t", ": ");
    let complaint = complaint.lines().next().unwrap_or("it said nothing").to_owned();
    Ok(CallOutput { status, output, complaint })
}

/// Reads a pipe to its end, or to `most` bytes, on a thread.
fn read_aside(pipe: impl Read + Send + 'static, most: u64) -> mpsc::Receiver<std::io::Result<Vec<u8>>> {
    let (sender, receiver) = mpsc::channel();
    std::thread::spawn(move || {
        let mut bytes = Vec::new();
        let read = pipe.take(most).read_to_end(&mut bytes);
        // The caller is gone where the call took too long.
        let _ = sender.send(read.map(|_| bytes));
    });
    receiver
}

#[cfg(all(test, unix))]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    /// A program named `git` that runs this script.
    fn script(directory: &Path, text: &str) -> Program {
        let file = directory.join("git");
        std::fs::write(&file, format!("#!/bin/sh\n{text}\n")).expect("a script");
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o755)).expect("a mode");
        Program::find(Some(directory.as_os_str()), Path::new("/nowhere")).expect("the script")
    }

    #[test]
    fn a_program_that_does_not_end_is_ended() {
        let directory = tempfile::tempdir().expect("a directory");
        let program = script(directory.path(), "exec /bin/sleep 60");
        let bounds = CallLimits { bytes: 10, time: Duration::from_millis(100) };
        let begun = Instant::now();
        let error = program.run(directory.path(), &["rev-parse"], Vec::new(), bounds).expect_err("it took too long");
        assert_eq!(error.to_string(), "`git rev-parse` failed: no answer in 0.1 s");
        assert!(begun.elapsed() < Duration::from_secs(10));
    }

    #[test]
    fn an_answer_without_an_end_is_cut_off() {
        let directory = tempfile::tempdir().expect("a directory");
        let program = script(directory.path(), "exec /bin/cat /dev/zero");
        let error = program
            .run(directory.path(), &["ls-tree"], Vec::new(), CallLimits::bytes(1000))
            .expect_err("it is too large");
        assert!(matches!(error, GitError::TooLarge { .. }), "{error}");
    }

    #[test]
    fn what_git_names_on_a_line_of_its_own_is_part_of_its_complaint() {
        let directory = tempfile::tempdir().expect("a directory");
        let complaint = |text: &str| {
            let program = script(directory.path(), &format!("printf '{text}' >&2"));
            program.run(directory.path(), &["log"], Vec::new(), CallLimits::bytes(10)).expect("it ended").complaint
        };
        let unknown = complaint(r"fatal: unknown repository extension found:\n\trefstorage\nhint: more\n");
        assert_eq!(unknown, "fatal: unknown repository extension found: refstorage");
        assert_eq!(complaint(r"fatal: bad object\nfatal: more\n"), "fatal: bad object");
        assert_eq!(complaint(""), "it said nothing");
    }

    #[test]
    fn the_program_gets_none_of_the_callers_environment() {
        let directory = tempfile::tempdir().expect("a directory");
        let program = script(directory.path(), "/usr/bin/env");
        let said = program
            .run(directory.path(), &["rev-parse"], Vec::new(), CallLimits::bytes(10_000))
            .expect("an environment");
        let text = String::from_utf8(said.output).expect("a text");
        let mut names: Vec<&str> = text.lines().filter_map(|line| Some(line.split_once('=')?.0)).collect();
        // The shell sets these itself.
        names.retain(|name| !["PWD", "OLDPWD", "SHLVL", "_"].contains(name));
        names.sort_unstable();
        let mut expected: Vec<&str> = ENVIRONMENT.iter().map(|(name, _)| *name).chain(["PATH"]).collect();
        expected.sort_unstable();
        assert_eq!(names, expected);
    }

    #[test]
    fn only_an_absolute_entry_outside_of_the_repository_chooses_the_program() {
        let top = tempfile::tempdir().expect("a directory");
        let repository = file::real_path(&top.path().join("repository")).unwrap_or_else(|_| {
            std::fs::create_dir(top.path().join("repository")).expect("a directory");
            file::real_path(&top.path().join("repository")).expect("a path")
        });
        let outside = top.path().join("outside");
        std::fs::create_dir_all(&outside).expect("a directory");
        std::fs::create_dir_all(repository.join("bin")).expect("a directory");
        script(&repository.join("bin"), "");
        std::os::unix::fs::symlink(repository.join("bin"), top.path().join("link")).expect("a link");
        let find = |entries: &[&Path]| {
            let path = std::env::join_paths(entries).expect("a search path");
            Program::find(Some(&path), &repository).map(|program| program.file)
        };
        let inside = repository.join("bin");
        let link = top.path().join("link");
        let untrusted = [Path::new("."), Path::new(""), Path::new("bin"), &inside, &link];
        assert!(matches!(find(&untrusted), Err(GitError::NoProgram { .. })));
        std::os::unix::fs::symlink(inside.join("git"), outside.join("git")).expect("a link");
        assert!(matches!(find(&[&outside]), Err(GitError::NoProgram { .. })), "a link into the repository");
        std::fs::remove_file(outside.join("git")).expect("removed");
        script(&outside, "");
        assert_eq!(find(&[Path::new("."), &inside, &outside]).ok(), Some(outside.join("git")));
    }
}
