//! Untrusted text in the places that Markdown offers, each with what it needs to be only text there.

use super::super::safe;

/// A code span: no markup, mention, reference or link is looked for in it.
pub(super) fn code(text: &str) -> String {
    span(&safe::line(text))
}

/// A code span in a cell of a table, where a bar ends the cell even inside of code.
pub(in crate::report) fn cell(text: &str) -> String {
    span(&safe::line(text).replace('|', "\\u{7c}"))
}

fn span(text: &str) -> String {
    if text.trim().is_empty() {
        return "(empty)".to_owned();
    }
    let fence = "`".repeat(longest_run(text) + 1);
    let pad = if text.starts_with(['`', ' ']) || text.ends_with(['`', ' ']) { " " } else { "" };
    format!("{fence}{pad}{text}{pad}{fence}")
}

/// A fenced block. A line that begins like the fence cannot end it: the fence is longer.
pub(in crate::report) fn fenced(language: &str, lines: &[String]) -> String {
    let longest = lines.iter().map(|line| longest_run(line)).max().unwrap_or(0);
    let fence = "`".repeat(longest.max(2) + 1);
    let mut text = format!("{fence}{language}\n");
    for line in lines {
        text.push_str(line);
        text.push('\n');
    }
    text.push_str(&fence);
    text.push('\n');
    text
}

fn longest_run(text: &str) -> usize {
    text.split(|character| character != '`').map(str::len).max().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_code_span_is_longer_than_the_backticks_in_it() {
        assert_eq!(code("plain"), "`plain`");
        assert_eq!(code("a`b``c"), "```a`b``c```");
        assert_eq!(code("`"), "`` ` ``");
        assert_eq!(code(" "), "(empty)");
        assert_eq!(code("a\n@b"), "`a\\n@b`");
    }

    #[test]
    fn a_bar_in_a_table_is_written_out() {
        assert_eq!(cell(r"a\|b"), r"`a\\u{7c}b`");
    }
}
