//! Runs a command to its end and takes the operating system's own account of it.

use std::io;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

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
#[expect(unsafe_code, reason = "the standard library does not say how much memory a child took")]
pub fn run_into(command: &mut Command, output: impl Into<Stdio>) -> io::Result<Usage> {
    command.stdin(Stdio::null()).stdout(output).stderr(Stdio::null());
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
        Duration::from_secs(t.tv_sec.unsigned_abs()) + Duration::from_micros(t.tv_usec.unsigned_abs())
    };
    Ok(Usage {
        wall: begin.elapsed(),
        cpu: time(usage.ru_utime) + time(usage.ru_stime),
        memory: usage.ru_maxrss.unsigned_abs() * 1024,
        code: if libc::WIFEXITED(status) { libc::WEXITSTATUS(status) } else { -1 },
    })
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
