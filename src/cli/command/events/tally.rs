//! Counts of values, made here where the service cannot make them, in bounded memory.

use std::collections::BTreeMap;

use jiff::Timestamp;

use crate::api::events::Event;
use crate::report::event_counts::{FieldTally, Tally};

/// Different values of a field that are counted apart; beyond them only their number counts.
const DISTINCT: usize = 100_000;

/// Counts event by event.
#[derive(Debug)]
pub struct Counter {
    fields: Vec<(String, BTreeMap<String, u64>, u64)>,
    times: BTreeMap<i64, u64>,
    step: i64,
    total: u64,
}

impl Counter {
    /// Counts by these fields and by pieces of `step` seconds.
    pub fn new(fields: &[String], step: i64) -> Self {
        let fields = fields.iter().map(|field| (field.clone(), BTreeMap::new(), 0)).collect();
        Self { fields, times: BTreeMap::new(), step: step.max(1), total: 0 }
    }

    /// Counts one event.
    pub fn add(&mut self, event: &Event) {
        self.total += 1;
        for (field, values, beyond) in &mut self.fields {
            let Some(value) = event.field(field) else { continue };
            if values.len() < DISTINCT || values.contains_key(&value) {
                *values.entry(value).or_default() += 1;
            } else {
                *beyond += 1;
            }
        }
        if let Some(time) = time(event) {
            let second = time.as_second();
            *self.times.entry(second - second.rem_euclid(self.step)).or_default() += 1;
        }
    }

    /// What was counted.
    pub fn tally(self) -> Tally {
        let field = |(field, values, beyond): (String, BTreeMap<String, u64>, u64)| FieldTally {
            field,
            values: sorted(values.into_iter().collect()),
            beyond,
        };
        let times = self.times.into_iter();
        Tally {
            fields: self.fields.into_iter().map(field).collect(),
            times: times.filter_map(|(second, count)| Some((Timestamp::from_second(second).ok()?, count))).collect(),
            total: self.total,
        }
    }
}

fn time(event: &Event) -> Option<Timestamp> {
    ["time", "@timestamp"].into_iter().find_map(|field| event.field(field)?.parse().ok())
}

/// The most frequent first.
pub fn sorted(mut values: Vec<(String, u64)>) -> Vec<(String, u64)> {
    values.sort_by(|one, other| other.1.cmp(&one.1).then_with(|| one.0.cmp(&other.0)));
    values
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn events_without_a_field_or_a_time_count_only_in_all() {
        let event = |value: serde_json::Value| match value {
            serde_json::Value::Object(fields) => Event::Fields(fields),
            other => Event::Text(other.to_string()),
        };
        let mut counter = Counter::new(&["country".to_owned(), "a.b".to_owned()], 60);
        for value in [
            json!({"country": "Germany", "time": "2026-11-21T10:00:59Z", "a": {"b": 1}}),
            json!({"country": "Germany", "@timestamp": "2026-11-21T10:00:01.5Z"}),
            json!({"country": "Brazil", "time": 7}),
            json!("no object"),
        ] {
            counter.add(&event(value));
        }
        let tally = counter.tally();
        assert_eq!(tally.total, 4);
        assert_eq!(tally.fields[0].values, [("Germany".to_owned(), 2), ("Brazil".to_owned(), 1)]);
        assert_eq!(tally.fields[1].values, [("1".to_owned(), 1)]);
        assert_eq!(tally.times, [("2026-11-21T10:00:00Z".parse().expect("a time"), 2)]);
    }
}
