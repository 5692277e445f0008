//! Aggregations of security events: the requests that count by a field or over time, and their answers.

use jiff::Timestamp;

use crate::api::wire::as_count;
use crate::model::Json;

/// The aggregation that counts events by `field`, the `most` most frequent values.
#[must_use]
pub fn count_by(field: &str, most: u32) -> Json {
    serde_json::json!({ "field_aggregation": { "field": field.to_ascii_uppercase(), "topk": most } })
}

/// The counts of a [`count_by`] aggregation, in the order of the answer.
#[must_use]
pub fn counts(aggregations: &Json, name: &str) -> Vec<(String, u64)> {
    let buckets = aggregations.get(name).and_then(|one| one.get("field_aggregation")?.get("buckets")?.as_array());
    let buckets = buckets.map(Vec::as_slice).unwrap_or_default();
    buckets
        .iter()
        .filter_map(|bucket| {
            let key = match bucket.get("key")? {
                Json::String(text) => text.clone(),
                other => other.to_string(),
            };
            Some((key, as_count(bucket.get("count")?)?))
        })
        .collect()
}

/// The aggregation that counts events by pieces of `seconds` of time. Its kind is known (API.md 7.2);
/// that the length stands in `step` is ours to guess, and the sandbox takes it so.
#[must_use]
pub fn count_over_time(seconds: i64) -> Json {
    serde_json::json!({ "date_aggregation": { "step": format!("{seconds}s") } })
}

/// The counts of a [`count_over_time`] aggregation with the beginning of each piece. What no time can
/// be read of is left out.
#[must_use]
pub fn counts_over_time(aggregations: &Json, name: &str) -> Vec<(Timestamp, u64)> {
    let buckets = aggregations.get(name).and_then(|one| one.get("date_aggregation")?.get("buckets")?.as_array());
    let buckets = buckets.map(Vec::as_slice).unwrap_or_default();
    let read = |bucket: &Json| {
        let key = bucket.get("key").or_else(|| bucket.get("time"))?;
        let time = match (key.as_str(), as_count(key)) {
            (_, Some(number)) => {
                let number = i64::try_from(number).ok()?;
                // Seconds of this century have ten digits; more are milliseconds.
                if number < 100_000_000_000 {
                    Timestamp::from_second(number).ok()?
                } else {
                    Timestamp::from_millisecond(number).ok()?
                }
            }
            (Some(text), None) => text.parse().ok()?,
            (None, None) => return None,
        };
        Some((time, as_count(bucket.get("count")?)?))
    };
    buckets.iter().filter_map(read).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn counts_are_texts() {
        let aggregations = json!({"by_type": {"field_aggregation": {"buckets": [
            {"key": "waf_sec_event", "count": "20"}, {"key": 7, "count": 3}, {"key": "odd"}]}}});
        assert_eq!(counts(&aggregations, "by_type"), [("waf_sec_event".to_owned(), 20), ("7".to_owned(), 3)]);
        assert!(counts(&aggregations, "other").is_empty());
    }

    #[test]
    fn times_are_read_in_every_form_that_an_aggregation_may_have() {
        let aggregations = json!({"t": {"date_aggregation": {"buckets": [
            {"key": "2026-11-21T10:00:00Z", "count": "2"}, {"key": 1_763_719_260, "count": 1},
            {"time": "1763719320000", "count": "3"}, {"key": "soon", "count": "1"}]}}});
        let counts = counts_over_time(&aggregations, "t");
        let counts: Vec<(String, u64)> = counts.into_iter().map(|(time, count)| (time.to_string(), count)).collect();
        let wanted = [("2026-11-21T10:00:00Z", 2), ("2025-11-21T10:01:00Z", 1), ("2025-11-21T10:02:00Z", 3)];
        assert_eq!(counts, wanted.map(|(time, count)| (time.to_owned(), count)));
        assert_eq!(count_over_time(60), json!({"date_aggregation": {"step": "60s"}}));
    }
}
