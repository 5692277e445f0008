//! Counts as bars: one row a value, the most frequent first, the rest as one row. Bars are drawn in
//! eighths of a column, or in whole ones where only ASCII can be shown.

use schemars::JsonSchema;
use serde::Serialize;
use unicode_width::UnicodeWidthStr as _;

use super::draw::cut;
use crate::report::line::digits;
use crate::report::{Charset, safe};

/// Columns of the longest bar, where there is room for it.
const LONGEST: usize = 40;
/// Columns of the longest label on a terminal.
const LABEL: usize = 40;

/// How many things have a value.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ValueCount {
    /// The value.
    pub value: String,
    /// How many events.
    pub count: u64,
}

/// Counts to be drawn.
#[derive(Debug, Clone, Copy)]
pub struct Bars<'a> {
    /// Values with their counts, in any order.
    pub counts: &'a [ValueCount],
    /// Rows before the rest becomes one.
    pub most: usize,
    /// Events with values that are not among the counts.
    pub beyond: u64,
}

/// The bars in at most `width` columns, the longest value first; `usize::MAX` leaves every label whole.
pub fn draw(bars: Bars, width: usize, charset: Charset) -> String {
    let rows = rows(bars, width, charset);
    let label = rows.iter().map(|(label, _)| label.width()).max().unwrap_or_default();
    let number = rows.iter().map(|(_, count)| digits(*count).len()).max().unwrap_or_default();
    let longest = width.saturating_sub(2 + label + 2 + 2 + number).clamp(1, LONGEST);
    let most = rows.iter().map(|(_, count)| *count).max().unwrap_or_default();
    let mut text = String::new();
    for (name, count) in &rows {
        let bar = bar(*count, most, longest, charset);
        let (after_name, after_bar) = (label - name.width(), longest - bar.width());
        text.push_str(&format!("  {name}{:after_name$}  {bar}{:after_bar$}  {:>number$}\n", "", "", digits(*count)));
    }
    text
}

fn rows(bars: Bars, width: usize, charset: Charset) -> Vec<(String, u64)> {
    let mut counts: Vec<(&str, u64)> = bars.counts.iter().map(|one| (one.value.as_str(), one.count)).collect();
    counts.sort_by(|one, other| other.1.cmp(&one.1).then(one.0.cmp(other.0)));
    let shown = if counts.len() == bars.most + 1 && bars.beyond == 0 { counts.len() } else { bars.most };
    let rest = counts.split_off(shown.min(counts.len()));
    let label = |value: &str| match value {
        "" => "(empty)".to_owned(),
        value if width < usize::MAX => cut(&safe::line(value), LABEL, charset).into_owned(),
        value => safe::line(value).into_owned(),
    };
    let mut rows: Vec<(String, u64)> = counts.into_iter().map(|(value, count)| (label(value), count)).collect();
    let total: u64 = rest.iter().map(|(_, count)| count).sum();
    match bars.beyond {
        0 if rest.is_empty() => {}
        0 => rows.push((format!("(other {})", rest.len()), total)),
        count if rest.is_empty() => rows.push(("(others)".to_owned(), count)),
        count => rows.push((format!("(other {}+)", rest.len()), total + count)),
    }
    rows
}

/// A bar of `count`, where `most` takes `longest` columns. What is there is seen: at least the
/// smallest piece.
fn bar(count: u64, most: u64, longest: usize, charset: Charset) -> String {
    if count == 0 || most == 0 {
        return String::new();
    }
    let steps = match charset {
        Charset::Unicode => 8,
        Charset::Ascii => 1,
    };
    let whole = u128::try_from(longest * steps).unwrap_or(u128::MAX);
    let pieces = (u128::from(count) * whole + u128::from(most) / 2) / u128::from(most);
    let pieces = usize::try_from(pieces).unwrap_or(longest * steps).clamp(1, longest * steps);
    match charset {
        Charset::Ascii => "#".repeat(pieces),
        Charset::Unicode => {
            let mut bar = "█".repeat(pieces / 8);
            bar.extend(['▏', '▎', '▍', '▌', '▋', '▊', '▉'].get((pieces % 8).wrapping_sub(1)));
            bar
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(value: impl Into<String>, count: u64) -> ValueCount {
        ValueCount { value: value.into(), count }
    }

    fn counts() -> Vec<ValueCount> {
        let counts = [("Germany", 92), ("United States", 301), ("Brazil", 57), ("India", 14), ("Japan", 12), ("", 6)];
        counts.map(|(name, count)| value(name, count)).to_vec()
    }

    fn render(most: usize, beyond: u64, width: usize, charset: Charset) -> String {
        draw(Bars { counts: &counts(), most, beyond }, width, charset)
    }

    #[test]
    fn the_most_frequent_come_first_and_the_rest_is_one_row() {
        insta::assert_snapshot!(render(3, 0, 54, Charset::Unicode), @r"
          United States  ████████████████████████████████  301
          Germany        █████████▊                         92
          Brazil         ██████                             57
          (other 3)      ███▍                               32
        ");
    }

    #[test]
    fn ascii_draws_whole_columns() {
        insta::assert_snapshot!(render(5, 0, 40, Charset::Ascii), @r"
          United States  ##################  301
          Germany        ######               92
          Brazil         ###                  57
          India          #                    14
          Japan          #                    12
          (empty)        #                     6
        ");
    }

    #[test]
    fn values_that_were_not_listed_are_counted_too() {
        assert!(render(3, 100, 54, Charset::Ascii).contains("  (other 3+)"));
        assert!(render(3, 100, 54, Charset::Ascii).trim_end().ends_with("  132"));
        assert!(render(9, 7, 54, Charset::Ascii).contains("  (others)"));
    }

    #[test]
    fn a_hostile_value_and_a_narrow_terminal_do_no_harm() {
        let counts = [value("\u{1b}]0;x\u{7}\u{202e}", u64::MAX), value("long ".repeat(30), 1)];
        let text = draw(Bars { counts: &counts, most: 5, beyond: 0 }, 10, Charset::Unicode);
        assert!(!text.contains(['\u{1b}', '\u{202e}']), "{text}");
        assert_eq!(text.lines().count(), 2);
        assert_eq!(draw(Bars { counts: &[], most: 5, beyond: 0 }, 80, Charset::Unicode), "");
    }
}
