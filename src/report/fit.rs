//! Text in the columns of a terminal: a line that is too long continues below the column in which its text
//! begins. Nothing breaks inside a word, a path or a name. A proposed command stays on one line, so that it can
//! be copied, and so does the source line of a diagnostic, under which the carets point at a column.

use std::borrow::Cow;

use super::safe;
use unicode_width::UnicodeWidthStr as _;

/// `text` with its long lines broken at blanks, in at most `width` columns where its words allow it.
pub fn fit(text: &str, width: usize) -> String {
    let mut fitted = String::with_capacity(text.len() + 64);
    for line in text.split_inclusive('\n') {
        let (line, end) = line.strip_suffix('\n').map_or((line, ""), |line| (line, "\n"));
        if columns(line) <= width || is_source(line) {
            fitted.push_str(line);
        } else {
            wrap(line, width, &mut fitted);
        }
        fitted.push_str(end);
    }
    // Text from the middle of a line may now begin one, so escape it again.
    safe::log(&fitted).into_owned()
}

fn wrap(line: &str, width: usize, into: &mut String) {
    let indent = indent(line, width);
    // A continued line repeats the frame of a diagnostic.
    let framed = plain(line).trim_start().starts_with("| ");
    let frame = line.split_once('|').map(|(before, _)| before).filter(|_| framed);
    let mut column = 0;
    for (gap, word) in words(line) {
        let (blanks, takes) = (gap.len(), columns(word));
        if column > 0 && column > indent && column + blanks + takes > width {
            into.push('\n');
            let begin =
                frame.map(|before| format!("{before}|{}", if before.contains('\u{1b}') { "\u{1b}[0m" } else { "" }));
            let begin = begin.unwrap_or_default();
            into.push_str(&begin);
            into.extend(std::iter::repeat_n(' ', indent.saturating_sub(columns(&begin))));
            column = indent;
        } else {
            into.push_str(gap);
            column += blanks;
        }
        into.push_str(word);
        column += takes;
    }
}

/// Whether a line is the source line of a diagnostic: a number and a bar before it.
fn is_source(line: &str) -> bool {
    let line = plain(line);
    let rest = line.trim_start().trim_start_matches(|c: char| c.is_ascii_digit());
    rest.len() < line.trim_start().len() && rest.trim_start().starts_with("| ")
}

/// The words of a line, each with the blanks before it. A command is one word, and so is a quoted one.
fn words(line: &str) -> Vec<(&str, &str)> {
    let mut words = Vec::new();
    let mut rest = line;
    while !rest.is_empty() {
        let begin = rest.find(|c| c != ' ').unwrap_or(rest.len());
        let (gap, after) = rest.split_at(begin);
        let before = &line[..line.len() - after.len()];
        let begins = gap.len() > 1 || before.is_empty() || before.ends_with(": ");
        let quoted =
            after.strip_prefix("`trueup ").and_then(|rest| rest.find('`')).map_or(0, |end| "`trueup ".len() + end);
        let is_command = after.starts_with("trueup ") && begins;
        let end = if is_command { None } else { after[quoted..].find(' ').map(|end| quoted + end) };
        let (word, left) = after.split_at(end.unwrap_or(after.len()));
        if !word.is_empty() {
            words.push((gap, word));
        }
        rest = left;
    }
    words
}

/// The column in which a continued line begins: that of the last text after two blanks, carets or a colon
/// after `=`, in the left half.
fn indent(line: &str, width: usize) -> usize {
    let line = plain(line);
    let leading = line.len() - line.trim_start_matches(' ').len();
    let mut column = 0;
    let mut found = leading + 2;
    let mut before = "";
    for (at, (gap, word)) in words(&line).into_iter().enumerate() {
        column += gap.len();
        let is_label = line.trim_start().starts_with("| ")
            && before.starts_with(['^', '-'])
            && before.chars().all(|c| "^-".contains(c));
        let is_help = at == 2 && line.trim_start().starts_with("= ");
        if at > 0 && (gap.len() > 1 || is_label || is_help) && column <= width / 2 {
            found = column;
        }
        column += columns(word);
        before = word;
    }
    found.min(width / 2)
}

/// The columns that a text takes; colours take none.
pub(super) fn columns(text: &str) -> usize {
    plain(text).width()
}

/// A text without its colours.
fn plain(text: &str) -> Cow<'_, str> {
    if !text.contains('\u{1b}') {
        return Cow::Borrowed(text);
    }
    let mut pieces = text.split('\u{1b}');
    let begin = pieces.next().unwrap_or_default().to_owned();
    let plain = pieces.filter_map(|piece| piece.split_once(|c: char| c.is_ascii_alphabetic()));
    Cow::Owned(plain.fold(begin, |text, (_, after)| text + after))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_line_continues_below_its_text() {
        let text = "Plan for x\n  note  2 live endpoints in shop are not managed here: shop/handmade, shop/other\n";
        insta::assert_snapshot!(fit(text, 40), @r"
        Plan for x
          note  2 live endpoints in shop are not
                managed here: shop/handmade,
                shop/other
        ");
        assert_eq!(fit(text, 90), text);
    }

    #[test]
    fn words_and_commands_stay_whole() {
        let name = "storefront/a-name-that-is-longer-than-the-terminal-is-wide";
        assert_eq!(fit(&format!("  deleted {name} now"), 30), format!("  deleted\n    {name}\n    now"));
        let line = "run 7 - undo with: trueup rollback 7 --config repo/trueup.yaml --sandbox";
        assert_eq!(fit(line, 30), "run 7 - undo with:\n  trueup rollback 7 --config repo/trueup.yaml --sandbox");
        let line = "stopping; resume with `trueup apply --resume 7 --sandbox`, or wait";
        assert_eq!(fit(line, 30), "stopping; resume with\n  `trueup apply --resume 7 --sandbox`,\n  or wait");
    }

    #[test]
    fn the_texts_of_a_diagnostic_are_broken_and_its_source_is_not() {
        let text = "2 | spec: {prot: 1, port: 99999999}\n  |        ^^^^ did you mean `port` here?\n  = help: allowed here: `a`, `b`, `c`";
        insta::assert_snapshot!(fit(text, 30), @r"
        2 | spec: {prot: 1, port: 99999999}
          |        ^^^^ did you mean
          |        `port` here?
          = help: allowed here: `a`,
                  `b`, `c`
        ");
    }

    #[test]
    fn no_continued_line_is_a_command_of_a_runner() {
        let text = "see ticket 4711 of the till ::add-mask::8080";
        assert_eq!(fit(text, 30), "see ticket 4711 of the till\n  \\u{3a}:add-mask::8080");
        assert_eq!(fit("see the address of the till ::1", 30), "see the address of the till\n  ::1");
    }

    #[test]
    fn colours_take_no_columns() {
        let text = "\u{1b}[31m12345\u{1b}[0m 12345";
        assert_eq!(fit(text, 11), text);
        assert_eq!(fit(text, 10), "\u{1b}[31m12345\u{1b}[0m\n  12345");
    }
}
