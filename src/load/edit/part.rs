//! Splits a text into its documents, so that each is read and edited without the others.

use std::iter;
use std::sync::Arc;

use crate::load::text::SourceText;
use crate::load::tree::Documents;

/// The text, split before the `---` of each document. A text with any problem is not split, and a document with a
/// directive stays with the one before it.
pub(super) fn parts<'t>(file: &Arc<str>, text: &'t str) -> Vec<&'t str> {
    let cuts = SourceText::edited(file, text).and_then(|source| cuts(&source, text));
    let starts: Vec<usize> = iter::once(0).chain(cuts.unwrap_or_default()).collect();
    let ends = starts.iter().skip(1).copied().chain([text.len()]);
    starts.iter().zip(ends).map(|(start, end)| &text[*start..end]).collect()
}

/// Where the text is cut, in ascending order.
fn cuts(source: &SourceText, text: &str) -> Option<Vec<usize>> {
    let (mut cuts, mut end) = (Vec::new(), None);
    for tree in Documents::new(source) {
        let tree = tree.ok()?;
        let Some(root) = tree.root else { continue };
        let range = source.file_range(&tree.node(root).range);
        let between = end.and_then(|end| Some((end, text.get(end..range.start)?)));
        cuts.extend(
            between.and_then(|(end, between)| Some(end + marker(between, text[..end].ends_with(['\n', '\r']))?)),
        );
        end = Some(range.end);
    }
    Some(cuts)
}

/// Where the last `---` in the text between two documents begins. `is_line`: that text begins at the start of a line.
fn marker(between: &str, is_line: bool) -> Option<usize> {
    let begins = |at: usize| if at == 0 { is_line } else { between[..at].ends_with(['\n', '\r']) };
    let has_directive = between.match_indices('%').any(|(at, _)| begins(at));
    let mut markers = between.rmatch_indices("---").map(|(at, _)| at);
    markers.find(|at| begins(*at)).filter(|_| !has_directive)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn cut(text: &str) -> Vec<&str> {
        let parts = parts(&"a.yaml".into(), text);
        assert_eq!(parts.concat(), text);
        parts
    }

    #[test]
    fn each_document_is_a_part_with_its_marker_and_the_comments_before_the_next_one() {
        let documents =
            ["\u{feff}# a\na: |+\n  x\n\n# end of a\n", "---\nb: '---'\n", "--- # c\nc: {d: 1}\r\n", "---\r\nd: 1"];
        assert_eq!(cut(&documents.concat()), documents);
        assert_eq!(
            cut("a: 1\n---\n---\n# nothing\n---\nb: 1\n"),
            ["a: 1\n", "---\n", "---\n# nothing\n", "---\nb: 1\n"]
        );
    }

    #[test]
    fn what_cannot_be_cut_stays_together() {
        for text in ["", "a: 1\n", "a: 1\n---\nb: [\n", "a: 1\n...\n%YAML 1.2\n---\nb: 1\n", "{\"a\": \"---\"}"] {
            assert_eq!(cut(text), [text]);
        }
    }
}
