//! Counts of security events: bars for the values of each field, and the same as JSON.

use std::io::{self, Write};

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::json;
use unicode_width::UnicodeWidthStr;

use super::line::{code, line};
pub use super::text::ValueCount;
use super::{Answer, Format, document, safe};
use super::{
    TextView,
    text::{self, Bars},
};

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

impl Answer for EventCounts {
    fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        document::write("security_event_counts", self, out)
    }

    fn draw(&self, format: Format) -> Option<String> {
        (format == Format::Ndjson).then(|| self.lines())
    }

    /// The counts as bars.
    fn text(&self, view: &TextView) -> String {
        let heading = &self.heading;
        let (width, charset) = (view.limit(), view.charset);
        let mut text = String::new();
        for (at, field) in self.by.iter().enumerate() {
            let by = view.plain(&line!["by ", code(&field.field)]);
            let bars = Bars { counts: &field.values, most: self.top, beyond: field.beyond };
            let bars = text::bars(bars, width, charset);
            // The title ends where its bars end.
            let end = bars.lines().next().map_or(0, UnicodeWidthStr::width);
            let heading = if at == 0 { heading.as_str() } else { "\n" };
            let gap = end.saturating_sub(heading.trim().width() + by.width()).max(if at == 0 { 3 } else { 2 });
            text.push_str(&format!("{heading}{:gap$}{by}\n{bars}", ""));
            let total: u64 = field.values.iter().map(|one| one.count).sum::<u64>() + field.beyond;
            match self.total_hits.saturating_sub(total) {
                0 => {}
                without => text.push_str(&format!("  at least {without} without it\n")),
            }
        }
        text
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
