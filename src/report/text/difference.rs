//! The difference of two long values by lines, each with its sign.

use similar::{ChangeTag, TextDiff};

use super::TextView;
use crate::report::{Role, safe};

/// The difference of two long values by lines, each behind its sign.
pub(super) fn lines(before: &str, after: &str, indent: &str, view: &TextView) -> String {
    let difference = TextDiff::from_lines(before, after);
    let mut text = String::new();
    for (at, group) in difference.grouped_ops(2).iter().enumerate() {
        if at > 0 {
            text.push_str(&format!("{indent}…\n"));
        }
        for change in group.iter().flat_map(|operation| difference.iter_changes(operation)) {
            let (sign, role) = match change.tag() {
                ChangeTag::Delete => ('-', Role::Delete),
                ChangeTag::Insert => ('+', Role::Create),
                ChangeTag::Equal => (' ', Role::Quiet),
            };
            let line = safe::line(change.value().trim_end_matches('\n'));
            let line = format!("{sign} {line}");
            text.push_str(&format!("{indent}{}\n", view.palette.paint(role, line.trim_end())));
        }
    }
    text
}
