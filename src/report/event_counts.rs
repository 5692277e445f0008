//! Counts of security events: bars for the values of each field, and the same as JSON.

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::json;
use unicode_width::UnicodeWidthStr;

use super::line::{code, line};
use super::safe;
use super::text::{self, Bars, TextView};

/// The counts of one query.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Tally {
    /// For each field: its values with their counts.
    pub fields: Vec<FieldTally>,
    /// Events in all.
    pub total: u64,
}

/// The counts of one field.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct FieldTally {
    /// The field.
    pub field: String,
    /// Values with their counts.
    pub values: Vec<(String, u64)>,
    /// Events with values that are not among them.
    pub beyond: u64,
}

/// The counts of a query, with the query.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EventCounts {
    /// How many events, where and when, in words.
    pub heading: String,
    /// The namespace.
    pub namespace: String,
    /// The query in the service's language.
    pub query: String,
    /// The begin of the time range.
    pub from: Timestamp,
    /// The end of the time range.
    pub to: Timestamp,
    /// Bars for each field.
    pub top: usize,
    /// The counts.
    pub tally: Tally,
}

impl EventCounts {
    /// The counts as bars.
    pub fn text(&self, view: &TextView) -> String {
        let EventCounts { heading, tally, .. } = self;
        let (width, charset) = (view.limit(), view.charset);
        let mut text = String::new();
        for (at, field) in tally.fields.iter().enumerate() {
            let by = view.plain(&line!["by ", code(&field.field)]);
            let bars = Bars { counts: &field.values, most: self.top, beyond: field.beyond };
            let bars = text::bars(bars, width, charset);
            // The title stands at the right end of its bars.
            let end = bars.lines().next().map_or(0, UnicodeWidthStr::width);
            let heading = if at == 0 { heading.as_str() } else { "\n" };
            let gap = end.saturating_sub(heading.trim().width() + by.width()).max(if at == 0 { 3 } else { 2 });
            text.push_str(&format!("{heading}{:gap$}{by}\n{bars}", ""));
            let total: u64 = field.values.iter().map(|(_, count)| count).sum::<u64>() + field.beyond;
            match tally.total.saturating_sub(total) {
                0 => {}
                without => text.push_str(&format!("  at least {without} without it\n")),
            }
        }
        text
    }

    /// The counts as the content of a JSON document.
    pub fn json(&self) -> EventCountsReport<'_> {
        let tally = &self.tally;
        let value = |(value, count): &'_ (String, u64)| ValueCount { value: value.clone(), count: *count };
        let field = |field: &'_ FieldTally| FieldCounts {
            field: field.field.clone(),
            values: field.values.iter().map(value).collect(),
            beyond: field.beyond,
        };
        EventCountsReport {
            namespace: &self.namespace,
            query: &self.query,
            start_time: self.from.to_string(),
            end_time: self.to.to_string(),
            total_hits: tally.total,
            by: tally.fields.iter().map(field).collect(),
        }
    }

    /// The counts as a document a line.
    pub fn lines(&self) -> String {
        let field = |field: &FieldTally| {
            let line = |(value, count): &(String, u64)| {
                let line = json!({ "field": field.field, "value": value, "count": count }).to_string();
                format!("{}\n", safe::json(&line))
            };
            field.values.iter().map(line).collect::<String>()
        };
        self.tally.fields.iter().map(field).collect()
    }
}

/// Counts of security events, as JSON.
#[derive(Serialize, JsonSchema)]
pub struct EventCountsReport<'a> {
    namespace: &'a str,
    /// The query in the service's language.
    query: &'a str,
    start_time: String,
    end_time: String,
    /// Events in all.
    total_hits: u64,
    /// The counts of each field.
    by: Vec<FieldCounts>,
}

/// The counts of one field.
#[derive(Serialize, JsonSchema)]
struct FieldCounts {
    field: String,
    values: Vec<ValueCount>,
    /// Events with values that are not among them.
    beyond: u64,
}

/// How many events have a value.
#[derive(Serialize, JsonSchema)]
struct ValueCount {
    value: String,
    count: u64,
}
