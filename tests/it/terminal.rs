//! A terminal for the program: what a person sees and types. Its output is read as it arrives, so that a test waits for
//! what the program prints and never for a time.

use std::fs::{File, OpenOptions};
use std::io::{Read as _, Write as _};
use std::process::{Child, Stdio};

use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};

use crate::support::Stage;

/// A program that runs on a terminal.
pub struct Terminal {
    child: Child,
    keyboard: File,
    seen: String,
}

impl Terminal {
    /// Runs a command line, split at blanks, with a terminal for all its streams.
    pub fn run(stage: &Stage, line: &str) -> Self {
        let words: Vec<&str> = line.split(' ').filter(|word| !word.is_empty()).collect();
        let controller = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).expect("a terminal");
        // In the program it would keep the terminal open.
        rustix::io::fcntl_setfd(&controller, rustix::io::FdFlags::CLOEXEC).expect("its flag");
        grantpt(&controller).expect("its rights");
        unlockpt(&controller).expect("its lock");
        let name = ptsname(&controller, Vec::new()).expect("its name");
        let open = || {
            let terminal = OpenOptions::new().read(true).write(true).open(name.to_str().expect("a path"));
            Stdio::from(terminal.expect("the terminal"))
        };
        let child =
            stage.command(&words).stdin(open()).stdout(open()).stderr(open()).spawn().expect("the program starts");
        Self { child, keyboard: File::from(controller), seen: String::new() }
    }

    /// Waits until this text is on the screen, behind what was waited for before.
    #[track_caller]
    pub fn wait_for(&mut self, text: &str) -> &mut Self {
        loop {
            if let Some(at) = self.seen.find(text) {
                self.seen.drain(..at + text.len());
                return self;
            }
            assert!(self.read(), "`{text}` never came:\n{}", self.seen);
        }
    }

    /// Types a line.
    pub fn enter(&mut self, line: &str) -> &mut Self {
        self.keyboard.write_all(format!("{line}\n").as_bytes()).expect("the terminal takes it");
        self
    }

    /// Interrupts the program, as Ctrl-C does.
    pub fn interrupt(&mut self) -> &mut Self {
        let sent = std::process::Command::new("kill").args(["-INT", &self.child.id().to_string()]).status();
        assert!(sent.expect("kill").success());
        self
    }

    /// Closes the terminal, as a lost connection does; returns the exit code of what ends `then`.
    pub fn close(mut self, then: impl FnOnce()) -> Option<i32> {
        self.keyboard = File::open("/dev/null").expect("another file");
        let sent = std::process::Command::new("kill").args(["-HUP", &self.child.id().to_string()]).status();
        assert!(sent.expect("kill").success());
        then();
        self.child.wait().expect("an end").code()
    }

    /// Waits for the end; returns the exit code and the rest of the screen.
    pub fn end(mut self) -> (i32, String) {
        while self.read() {}
        let status = self.child.wait().expect("an end");
        (status.code().unwrap_or(-1), std::mem::take(&mut self.seen))
    }

    /// Reads more; nothing more comes when the program has ended.
    fn read(&mut self) -> bool {
        let mut bytes = [0; 4096];
        match self.keyboard.read(&mut bytes) {
            Ok(count) if count > 0 => {
                self.seen.push_str(&String::from_utf8_lossy(&bytes[..count]).replace("\r\n", "\n"));
                true
            }
            _ => false,
        }
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        // A test that failed leaves nothing running.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
