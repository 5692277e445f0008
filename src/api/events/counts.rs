//! Aggregations of security events: the requests that count by a field, and their answers.

use crate::api::wire::as_count;
use crate::model::Json;

/// The aggregation that counts events by `field`, the `most` most frequent values.
pub fn count_by(field: &str, most: u32) -> Json {
    serde_json::json!({ "field_aggregation": { "field": field.to_ascii_uppercase(), "topk": most } })
}

/// The counts of a [`count_by`] aggregation, in the order of the answer.
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
}
