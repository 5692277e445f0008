//! Names for the parts of a report, and the one place that gives names their colours. Signs and
//! words carry the meaning; a palette without colour loses nothing. And the characters of drawings: block elements, or plain
//! ASCII where the terminal or the log does not read UTF-8.

use std::fmt::Display;

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
    /// Whether a reader should see it first even without colour.
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
    /// `text` in the style of its role.
    pub fn paint(self, role: Role, text: impl Display) -> String {
        let style = match self {
            Palette::Plain => Style::new(),
            Palette::Coloured => role.style(),
        };
        format!("{style}{text}{style:#}")
    }
}

/// The characters of bars.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Charset {
    /// Block elements in eighths, and lines.
    #[default]
    Unicode,
    /// ASCII alone.
    Ascii,
}

impl Charset {
    /// The set for a terminal with these variables: `LC_ALL` over `LC_CTYPE` over `LANG`, as the
    /// system's library reads them. If none is set, UTF-8 is assumed.
    pub fn of_locale<'a>(variable: impl Fn(&str) -> Option<&'a str>) -> Self {
        let locale = ["LC_ALL", "LC_CTYPE", "LANG"].into_iter().find_map(&variable);
        let speaks = locale.is_none_or(|locale| {
            let locale = locale.to_ascii_lowercase();
            // The part after `@` modifies the language, not the characters.
            let locale = locale.split('@').next().unwrap_or_default();
            locale.ends_with("utf-8") || locale.ends_with("utf8")
        });
        if speaks && variable("TERM") != Some("dumb") { Charset::Unicode } else { Charset::Ascii }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plain_palette_adds_nothing() {
        assert_eq!(Palette::Plain.paint(Role::Delete, "- delete"), "- delete");
        assert_eq!(Palette::Coloured.paint(Role::Delete, "x"), "\u{1b}[31mx\u{1b}[0m");
    }

    fn of(variables: &[(&str, &'static str)]) -> Charset {
        Charset::of_locale(|name| variables.iter().find(|(known, _)| *known == name).map(|(_, value)| *value))
    }

    #[test]
    fn the_most_special_variable_of_the_locale_decides() {
        assert_eq!(of(&[]), Charset::Unicode);
        assert_eq!(of(&[("LANG", "de_DE.UTF-8")]), Charset::Unicode);
        assert_eq!(of(&[("LANG", "ca_ES.utf8@valencia")]), Charset::Unicode);
        assert_eq!(of(&[("LANG", "C.utf8")]), Charset::Unicode);
        assert_eq!(of(&[("LC_ALL", "C"), ("LANG", "de_DE.UTF-8")]), Charset::Ascii);
        assert_eq!(of(&[("LANG", "de_DE.UTF-8"), ("TERM", "dumb")]), Charset::Ascii);
    }
}
