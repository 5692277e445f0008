//! Runs a command to its end and takes the operating system's own account of it.

use std::io;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// The argument with which this program is started to run a command and measure it.
pub const STARTER: &str = "measure";

/// What one finished process took.
#[derive(Debug, Clone, Copy, Default)]
pub struct Usage {
    /// From start to end.
    pub wall: Duration,
    /// User and system time.
    pub cpu: Duration,
    /// Largest resident memory, in bytes.
    pub memory: u64,
    /// The exit code.
    pub code: i32,
}

/// Runs the command; its output is thrown away.
pub fn run(command: &mut Command) -> io::Result<Usage> {
    run_into(command, Stdio::null())
}

/// Runs the command; what it answers goes to `output`.
///
/// The largest memory of a process includes what the process that started it had, so another one of this program, which has
/// nothing in memory, starts the command and prints what it took.
pub fn run_into(command: &mut Command, output: impl Into<Stdio>) -> io::Result<Usage> {
    let mut starter = Command::new(std::env::current_exe()?);
    starter.arg(STARTER).arg(command.get_program()).args(command.get_args());
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => starter.env(name, value),
            None => starter.env_remove(name),
        };
    }
    if let Some(directory) = command.get_current_dir() {
        starter.current_dir(directory);
    }
    let ended = starter.stdin(Stdio::null()).stdout(output).stderr(Stdio::piped()).spawn()?.wait_with_output()?;
    let line = String::from_utf8_lossy(&ended.stderr);
    Usage::read(&line).ok_or_else(|| io::Error::other(line.into_owned()))
}

/// What the other process does: it runs the command to its end and prints what that took on standard error.
///
/// # Errors
/// The command cannot be started.
pub fn start(program: &str, arguments: &[&str]) -> io::Result<()> {
    let usage = here(Command::new(program).args(arguments).stderr(Stdio::null()))?;
    let Usage { wall, cpu, memory, code } = usage;
    eprintln!("{} {} {memory} {code}", wall.as_nanos(), cpu.as_nanos());
    Ok(())
}

/// Runs the command as a child of this process.
#[expect(unsafe_code, reason = "the standard library does not say how much memory a child took")]
fn here(command: &mut Command) -> io::Result<Usage> {
    let begin = Instant::now();
    let child = command.spawn()?;
    let pid = i32::try_from(child.id()).map_err(io::Error::other)?;
    let mut status = 0;
    // SAFETY: `rusage` is plain numbers, all-zero is one of its values.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: both pointers are to locals that live through the call; the child is ours and not yet waited for.
    let waited = unsafe { libc::wait4(pid, &raw mut status, 0, &raw mut usage) };
    if waited != pid {
        return Err(io::Error::last_os_error());
    }
    let time = |t: libc::timeval| {
        Duration::from_secs(t.tv_sec.unsigned_abs())
            + Duration::from_micros(u64::try_from(t.tv_usec).unwrap_or_default())
    };
    Ok(Usage {
        wall: begin.elapsed(),
        cpu: time(usage.ru_utime) + time(usage.ru_stime),
        // macOS says it in bytes.
        memory: usage.ru_maxrss.unsigned_abs() * if cfg!(target_os = "macos") { 1 } else { 1024 },
        code: if libc::WIFEXITED(status) { libc::WEXITSTATUS(status) } else { -1 },
    })
}

impl Usage {
    /// Reads the line that [`start`] prints.
    fn read(line: &str) -> Option<Self> {
        let mut words = line.split_whitespace();
        let mut time = || words.next()?.parse().ok().map(Duration::from_nanos);
        let (wall, cpu) = (time()?, time()?);
        Some(Self { wall, cpu, memory: words.next()?.parse().ok()?, code: words.next()?.parse().ok()? })
    }
}

/// The medians of several runs, figure by figure; the largest memory.
pub fn median(mut runs: Vec<Usage>) -> Usage {
    let middle = runs.len() / 2;
    runs.sort_by_key(|usage| usage.wall);
    let wall = runs[middle].wall;
    runs.sort_by_key(|usage| usage.cpu);
    let cpu = runs[middle].cpu;
    let memory = runs.iter().map(|usage| usage.memory).max().unwrap_or_default();
    Usage { wall, cpu, memory, code: runs[0].code }
}
