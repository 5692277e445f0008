//! Text in the columns of a terminal: a line that is too long continues below the column in which its text
//! begins. Nothing breaks inside a word, a path or a name, and a proposed command stays on one line, so that it
//! can be copied.

use unicode_width::UnicodeWidthChar as _;

/// `text` with its long lines broken at blanks, in at most `width` columns where its words allow it.
#[must_use]
pub fn fit(text: &str, width: usize) -> String {
    let mut fitted = String::with_capacity(text.len() + 64);
    for line in text.split_inclusive('\n') {
        let (line, end) = line.strip_suffix('\n').map_or((line, ""), |line| (line, "\n"));
        if columns(line) <= width {
            fitted.push_str(line);
        } else {
            wrap(line, width, &mut fitted);
        }
        fitted.push_str(end);
    }
    fitted
}

fn wrap(line: &str, width: usize, into: &mut String) {
    let indent = indent(line, width);
    let mut column = 0;
    for (gap, word) in words(line) {
        let (blanks, takes) = (gap.len(), columns(word));
        if column > 0 && column > indent && column + blanks + takes > width {
            into.push('\n');
            into.extend(std::iter::repeat_n(' ', indent));
            column = indent;
        } else {
            into.push_str(gap);
            column += blanks;
        }
        into.push_str(word);
        column += takes;
    }
}

/// The words of a line, each with the blanks before it. A command is one word.
fn words(line: &str) -> Vec<(&str, &str)> {
    let mut words = Vec::new();
    let mut rest = line;
    while !rest.is_empty() {
        let begin = rest.find(|c| c != ' ').unwrap_or(rest.len());
        let (gap, after) = rest.split_at(begin);
        let is_command =
            after.starts_with("trueup ") && (gap.len() > 1 || line[..line.len() - after.len()].ends_with(": "));
        let end = if is_command { None } else { after.find(' ') };
        let (word, left) = after.split_at(end.unwrap_or(after.len()));
        if !word.is_empty() {
            words.push((gap, word));
        }
        rest = left;
    }
    words
}

/// The column in which a continued line begins: that of the last text behind two blanks, in the left half.
fn indent(line: &str, width: usize) -> usize {
    let leading = line.len() - line.trim_start_matches(' ').len();
    let mut column = 0;
    let mut found = leading + 2;
    for (at, (gap, word)) in words(line).into_iter().enumerate() {
        column += gap.len();
        if at > 0 && gap.len() > 1 && column <= width / 2 {
            found = column;
        }
        column += columns(word);
    }
    found.min(width / 2)
}

/// The columns that a text takes; colours take none.
fn columns(text: &str) -> usize {
    let mut columns = 0;
    let mut characters = text.chars();
    while let Some(character) = characters.next() {
        if character == '\u{1b}' {
            let _ = characters.by_ref().find(char::is_ascii_alphabetic);
        } else {
            columns += character.width().unwrap_or(0);
        }
    }
    columns
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
    }

    #[test]
    fn colours_take_no_columns() {
        let text = "\u{1b}[31m12345\u{1b}[0m 12345";
        assert_eq!(fit(text, 11), text);
        assert_eq!(fit(text, 10), "\u{1b}[31m12345\u{1b}[0m\n  12345");
    }
}
