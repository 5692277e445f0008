//! Counts of security events: bars for the values of each field, one row a value, the most frequent first, the rest as one
//! row; and the same as JSON. Bars are drawn in eighths of a column, or in whole ones if only ASCII can be shown.

use serde_json::json;
use unicode_width::UnicodeWidthStr;

use super::text::draw::cut;
use crate::report::prelude::*;

/// Columns before each bar.
const INDENT: usize = 2;
/// Columns of the longest bar, if there is room for it.
const LONGEST: usize = 40;
/// Columns of the longest label on a terminal.
const LABEL: usize = 40;

/// Counts of security events.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct EventCounts {
    /// How many events, where and when, in words.
    #[serde(skip)]
    pub heading: String,
    /// The namespace.
    pub namespace: String,
    /// The query in the service's language.
    pub query: String,
    /// The begin of the time range.
    #[schemars(with = "String")]
    pub start_time: Timestamp,
    /// The end of the time range.
    #[schemars(with = "String")]
    pub end_time: Timestamp,
    /// Events in all.
    pub total_hits: u64,
    /// The counts of each field.
    pub by: Vec<FieldCounts>,
    /// Bars for each field.
    #[serde(skip)]
    pub top: usize,
}

/// The counts of one field.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct FieldCounts {
    /// The field.
    pub field: String,
    /// Its values with their counts.
    pub values: Vec<ValueCount>,
    /// Events with values that are not among them.
    pub beyond: u64,
}

/// How many things have a value.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ValueCount {
    /// The value.
    pub value: String,
    /// How many events.
    pub count: u64,
}

impl Report for EventCounts {
    written_as!("security_event_counts");

    fn draw(&self, format: Format, _: &TextView) -> Option<String> {
        (format == Format::Ndjson).then(|| self.lines())
    }

    /// The counts as bars.
    fn blocks<'a>(&'a self, view: &TextView) -> Blocks<'a> {
        let mut blocks = Blocks::default();
        for (at, field) in self.by.iter().enumerate() {
            let (title, least) = if at == 0 { (self.heading.as_str(), 3) } else { ("", 2) };
            let by = line!["by ", code(&field.field)];
            let bars = field.bars(self.top, view.limit(), view.charset);
            // The title ends where its bars end.
            let end = bars.first().map_or(0, |bar| view.plain(bar).width() + INDENT);
            let gap = end.saturating_sub(title.width() + view.plain(&by).width()).max(least);
            blocks.section(line![foreign(title), Part::Made(" ".repeat(gap)), by]);
            bars.into_iter().for_each(|bar| blocks.item(bar));
            let total: u64 = field.values.iter().map(|one| one.count).sum::<u64>() + field.beyond;
            match self.total_hits.saturating_sub(total) {
                0 => {}
                without => blocks.item(line!["at least ", Part::Made(without.to_string()), " without it"]),
            }
        }
        blocks
    }
}

impl EventCounts {
    /// The counts as a document a line.
    fn lines(&self) -> String {
        let field = |field: &FieldCounts| {
            let line = |ValueCount { value, count }: &ValueCount| {
                let line = json!({ "field": field.field, "value": value, "count": count }).to_string();
                format!("{}\n", safe::json(&line))
            };
            field.values.iter().map(line).collect::<String>()
        };
        self.by.iter().map(field).collect()
    }
}

impl FieldCounts {
    /// The bars in at most `width` columns, the longest value first; `usize::MAX` leaves every label whole.
    fn bars(&self, most: usize, width: usize, charset: Charset) -> Vec<Line<'static>> {
        let rows = self.rows(most, width, charset);
        let label = rows.iter().map(|(label, _)| label.width()).max().unwrap_or_default();
        let number = rows.iter().map(|(_, count)| digits(*count).len()).max().unwrap_or_default();
        let longest = width.saturating_sub(INDENT + label + 2 + 2 + number).clamp(1, LONGEST);
        let most = rows.iter().map(|(_, count)| *count).max().unwrap_or_default();
        let line = |(name, count): (String, u64)| {
            let (bar, after_name) = (bar(count, most, longest, charset), label - name.width());
            let after_bar = longest - bar.width();
            let drawn = format!("{:after_name$}  {bar}{:after_bar$}  {:>number$}", "", "", digits(count));
            line![code(name), Part::Made(drawn)]
        };
        rows.into_iter().map(line).collect()
    }

    fn rows(&self, most: usize, width: usize, charset: Charset) -> Vec<(String, u64)> {
        let mut counts: Vec<(&str, u64)> = self.values.iter().map(|one| (one.value.as_str(), one.count)).collect();
        counts.sort_by(|one, other| other.1.cmp(&one.1).then(one.0.cmp(other.0)));
        let shown = if counts.len() == most + 1 && self.beyond == 0 { counts.len() } else { most };
        let rest = counts.split_off(shown.min(counts.len()));
        let label = |value: &str| match value {
            "" => "(empty)".to_owned(),
            value if width < usize::MAX => cut(&safe::line(value), LABEL, charset).into_owned(),
            value => safe::line(value).into_owned(),
        };
        let mut rows: Vec<(String, u64)> = counts.into_iter().map(|(value, count)| (label(value), count)).collect();
        let total: u64 = rest.iter().map(|(_, count)| count).sum();
        match self.beyond {
            0 if rest.is_empty() => {}
            0 => rows.push((format!("(other {})", rest.len()), total)),
            count if rest.is_empty() => rows.push(("(others)".to_owned(), count)),
            count => rows.push((format!("(other {}+)", rest.len()), total + count)),
        }
        rows
    }
}

/// A bar of `count`, if `most` takes `longest` columns. A count above 0 gets at least the smallest piece.
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
        drawn(&field(counts(), beyond), most, width, charset)
    }

    fn drawn(field: &FieldCounts, most: usize, width: usize, charset: Charset) -> String {
        let bars = field.bars(most, width, charset).into_iter().map(|bar| Block::Line(INDENT, bar));
        TextView::default().message(Blocks(bars.collect()))
    }

    fn field(values: Vec<ValueCount>, beyond: u64) -> FieldCounts {
        FieldCounts { field: "country".to_owned(), values, beyond }
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
        let counts = vec![value("\u{1b}]0;x\u{7}\u{202e}", u64::MAX), value("long ".repeat(30), 1)];
        let text = drawn(&field(counts, 0), 5, 10, Charset::Unicode);
        assert!(!text.contains(['\u{1b}', '\u{202e}']), "{text}");
        assert_eq!(text.lines().count(), 2);
        assert_eq!(drawn(&field(Vec::new(), 0), 5, 80, Charset::Unicode), "");
    }
}
