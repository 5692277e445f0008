//! Which characters a report may be drawn with: block elements and tree lines, or plain ASCII where
//! the terminal or the log does not speak UTF-8.

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
    /// system's library reads them. Where none is set nothing is known, and UTF-8 is usual.
    #[must_use]
    pub fn of_locale<'a>(variable: impl Fn(&str) -> Option<&'a str>) -> Self {
        let locale = ["LC_ALL", "LC_CTYPE", "LANG"].into_iter().find_map(&variable);
        let speaks = locale.is_none_or(|locale| {
            let locale = locale.to_ascii_lowercase();
            // What stands behind `@` modifies the language, not the characters.
            let locale = locale.split('@').next().unwrap_or_default();
            locale.ends_with("utf-8") || locale.ends_with("utf8")
        });
        if speaks && variable("TERM") != Some("dumb") { Charset::Unicode } else { Charset::Ascii }
    }

    /// The sign between two parts of a line.
    pub fn separator(self) -> &'static str {
        match self {
            Charset::Unicode => "·",
            Charset::Ascii => "-",
        }
    }

    /// The sign for what is left out between two lines, or is still to come.
    pub fn gap(self) -> &'static str {
        match self {
            Charset::Unicode => "…",
            Charset::Ascii => "...",
        }
    }

    /// The sign for text that was cut off.
    pub fn ellipsis(self) -> &'static str {
        match self {
            Charset::Unicode => "…",
            Charset::Ascii => "~",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
