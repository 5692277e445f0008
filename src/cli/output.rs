//! Where a command speaks: the answer to stdout, everything else to stderr. A reader that goes away
//! ends the writing quietly; whatever the command does goes on.

use std::io::Write as _;

use super::args::{Color, Global};
use super::ending::Error;
use super::surroundings::Surroundings;
use crate::report::text::View;
use crate::report::{Palette, Role, safe};

/// The two streams of a command.
#[derive(Debug, Clone)]
pub struct Output {
    answers: Palette,
    messages: Palette,
    width: usize,
    quiet: bool,
}

impl Output {
    /// The streams of this process, coloured as asked for.
    #[must_use]
    pub fn new(global: &Global, surroundings: &Surroundings) -> Self {
        let plain = surroundings.variable("NO_COLOR").is_some() || surroundings.variable("TERM") == Some("dumb");
        let palette = |terminal: bool| match global.color {
            Color::Always => Palette::Coloured,
            Color::Auto if terminal && !plain => Palette::Coloured,
            Color::Auto | Color::Never => Palette::Plain,
        };
        Self {
            answers: palette(surroundings.stdout_is_terminal),
            messages: palette(surroundings.stderr_is_terminal),
            width: surroundings.width,
            quiet: global.quiet,
        }
    }

    /// How an answer is drawn.
    #[must_use]
    pub fn view(&self) -> View {
        View { palette: self.answers, width: self.width, ..View::default() }
    }

    /// How a message is drawn.
    #[must_use]
    pub fn message_view(&self) -> View {
        View { palette: self.messages, width: self.width, ..View::default() }
    }

    /// Writes the answer.
    pub fn answer(&self, text: &str) {
        let mut stdout = std::io::stdout().lock();
        // A reader that went away wants no more; a full disk has no better place to say so.
        let _ = stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush());
    }

    /// Writes a message that a person may want; `--quiet` leaves it out. A line break is added.
    pub fn message(&self, text: &str) {
        if !self.quiet {
            self.tell(text);
        }
    }

    /// Writes a message that must be seen. A line break is added.
    pub fn tell(&self, text: &str) {
        // At once: a run tells a line a change, and stderr keeps nothing back.
        let line = format!("{}\n", text.trim_end_matches('\n'));
        let _ = std::io::stderr().lock().write_all(line.as_bytes());
    }

    /// Tells an error with what to do about it.
    pub fn error(&self, error: &Error) {
        let text = error.to_string();
        let mut told = match error.is_sum() {
            true => safe::line(&text).into_owned(),
            false => format!("{}: {}", self.messages.paint(Role::Wrong, "error"), safe::line(&text)),
        };
        for hint in error.hints() {
            told.push_str(&format!("\n  {}", safe::line(hint)));
        }
        self.tell(&told);
    }
}
