//! Names for the parts of a report, and the one place that gives names their colours. Signs and
//! words carry the meaning; a palette without colour loses nothing.

use std::fmt;

use anstyle::{AnsiColor, Style};

/// What a piece of text is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// Something that appears.
    Create,
    /// Something that changes.
    Replace,
    /// Something that goes.
    Delete,
    /// What stays, and what a reader may skip.
    Quiet,
    /// What a reader should see first.
    Strong,
    /// What is wrong.
    Wrong,
    /// What to look at twice.
    Careful,
    /// What is right.
    Right,
}

/// Whether colour is added.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Palette {
    /// Signs and words only.
    #[default]
    Plain,
    /// ANSI colours too.
    Coloured,
}

impl Role {
    /// Whether a reader should see it first also where there is no colour.
    pub(super) fn is_loud(self) -> bool {
        matches!(self, Role::Strong | Role::Wrong | Role::Careful | Role::Right)
    }

    fn style(self) -> Style {
        let colour = |colour: AnsiColor| Style::new().fg_color(Some(colour.into()));
        match self {
            Role::Create | Role::Right => colour(AnsiColor::Green),
            Role::Replace | Role::Careful => colour(AnsiColor::Yellow),
            Role::Delete => colour(AnsiColor::Red),
            Role::Quiet => Style::new().dimmed(),
            Role::Strong => Style::new().bold(),
            Role::Wrong => colour(AnsiColor::Red).bold(),
        }
    }
}

impl Palette {
    /// `text` as its role looks.
    pub fn paint<T: fmt::Display>(self, role: Role, text: T) -> Painted<T> {
        let style = match self {
            Palette::Plain => Style::new(),
            Palette::Coloured => role.style(),
        };
        Painted { style, text }
    }
}

/// A text with its colours; its width is that of the text.
#[derive(Debug, Clone, Copy)]
pub struct Painted<T> {
    style: Style,
    text: T,
}

impl<T: fmt::Display> fmt::Display for Painted<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.style.fmt(f)?;
        self.text.fmt(f)?;
        write!(f, "{:#}", self.style)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plain_palette_adds_nothing() {
        assert_eq!(Palette::Plain.paint(Role::Delete, "- delete").to_string(), "- delete");
        assert_eq!(Palette::Coloured.paint(Role::Delete, "x").to_string(), "\u{1b}[31mx\u{1b}[0m");
    }
}
