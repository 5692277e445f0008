//! Edits of a text in place: replaces several ranges of bytes at once, and finds where lines begin and end.

use std::ops::Range;

/// A range of bytes and the text that replaces it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Splice {
    pub(super) range: Range<usize>,
    pub(super) text: String,
}

/// `text` with all splices made; `None` where two of them overlap, or one is outside of the text.
pub(super) fn spliced(text: &str, mut splices: Vec<Splice>) -> Option<String> {
    splices.sort_by_key(|splice| (splice.range.start, splice.range.end));
    let mut result = String::with_capacity(text.len());
    let mut done = 0;
    for Splice { range, text: new } in splices {
        result.push_str(text.get(done..range.start)?);
        text.get(range.clone())?;
        result.push_str(&new);
        done = range.end;
    }
    result.push_str(text.get(done..)?);
    Some(result)
}

/// A part of `text` with the splices in it made; `splices` are sorted.
pub(super) fn spliced_part(text: &str, part: Range<usize>, splices: &[Splice]) -> Option<String> {
    let [start, end] = [part.start, part.end].map(|at| splices.partition_point(|splice| splice.range.start < at));
    let moved = splices.get(start..end)?.iter().map(|Splice { range, text }| Splice {
        range: range.start - part.start..range.end - part.start,
        text: text.clone(),
    });
    spliced(text.get(part.clone())?, moved.collect())
}

/// Where the line with `at` begins.
pub(super) fn line_start(text: &str, at: usize) -> usize {
    text.get(..at).and_then(|before| before.rfind('\n')).map_or(0, |found| found + 1)
}

/// The byte behind the line break of the line with `at`.
pub(super) fn line_end(text: &str, at: usize) -> usize {
    text.get(at..).and_then(|rest| rest.find('\n')).map_or(text.len(), |found| at + found + 1)
}

/// Where the comment lines in this column begin that are right above the line at `line`.
pub(super) fn own_comments_above(text: &str, line: usize, column: usize) -> usize {
    let mut start = line;
    while start > 0 {
        let above = line_start(text, start - 1);
        let comment = text.get(above..start).unwrap_or_default();
        let content = comment.trim_start_matches(' ');
        if !content.starts_with('#') || comment.len() - content.len() != column {
            break;
        }
        start = above;
    }
    start
}

/// The line break of a text.
pub(super) fn line_break(text: &str) -> &'static str {
    if text.contains("\r\n") { "\r\n" } else { "\n" }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `0123456789` with these bytes replaced.
    fn result(splices: &[(Range<usize>, &str)]) -> Option<String> {
        let splices = splices.iter().map(|(range, text)| Splice { range: range.clone(), text: (*text).to_owned() });
        spliced("0123456789", splices.collect())
    }

    #[test]
    fn splices_are_made_together_and_in_any_order() {
        assert_eq!(result(&[(7..9, "b"), (0..1, "a"), (10..10, "!")]).as_deref(), Some("a123456b9!"));
        // What touches does not overlap.
        assert_eq!(result(&[(2..4, "x"), (4..5, ""), (2..2, "y")]).as_deref(), Some("01yx56789"));
        assert_eq!(result(&[(3..3, "a"), (3..3, "b")]).as_deref(), Some("012ab3456789"));
    }

    #[test]
    fn splices_that_overlap_or_are_of_no_part_of_the_text_are_refused() {
        #[expect(clippy::reversed_empty_ranges, reason = "a range of no part of a text")]
        let reversed = 5..3;
        for splices in [
            [(2..5, ""), (4..6, "")],
            [(2..5, ""), (3..3, "x")],
            [(0..1, ""), (9..11, "")],
            [(0..1, ""), (reversed, "")],
        ] {
            assert_eq!(result(&splices), None, "{splices:?}");
        }
        assert_eq!(spliced("é", vec![Splice { range: 1..2, text: String::new() }]), None);
    }

    #[test]
    fn a_line_ends_behind_its_break() {
        let text = "a\r\nbc\n";
        assert_eq!([0, 3, 4, 5].map(|at| (line_start(text, at), line_end(text, at))), [(0, 3), (3, 6), (3, 6), (3, 6)]);
        assert_eq!((line_start(text, 6), line_end(text, 6)), (6, 6));
        assert_eq!((line_break(text), line_break("a")), ("\r\n", "\n"));
    }
}
