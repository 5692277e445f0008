//! Aggregations of security events: the requests that count by a field, and their answers.

use crate::api::wire::as_count;
use crate::model::Json;

/// The aggregation that counts events by `field`, the `most` most frequent values.
pub fn count_by(field: &str, most: u32) -> Json {
    serde_json::json!({ "field_aggregation": { "field": field.to_ascii_uppercase(), "topk": most } })
}

/// The counts of a [`count_by`] aggregation, in the order of the answer; `None` if the answer is incomplete.
pub fn counts(aggregations: &Json, name: &str) -> Option<Vec<(String, u64)>> {
    let counted = aggregations.get(name)?.get("field_aggregation")?.as_object()?;
    let Some(buckets) = counted.get("buckets") else { return Some(Vec::new()) };
    let count = |bucket: &Json| {
        let key = match bucket.get("key")? {
            Json::String(text) => text.clone(),
            other => other.to_string(),
        };
        Some((key, as_count(bucket.get("count")?)?))
    };
    buckets.as_array()?.iter().map(count).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn counts_are_texts() {
        let aggregations = json!({"by_type": {"field_aggregation": {"buckets": [
            {"key": "waf_sec_event", "count": "20"}, {"key": 7, "count": 3}]}}});
        let of_type = vec![("waf_sec_event".to_owned(), 20), ("7".to_owned(), 3)];
        assert_eq!(counts(&aggregations, "by_type"), Some(of_type));
        assert_eq!(counts(&json!({"by_type": {"field_aggregation": {}}}), "by_type"), Some(Vec::new()));
        for other in [aggregations, json!(null), json!({"other": null}), json!({"other": {"field_aggregation": null}})]
        {
            assert_eq!(counts(&other, "other"), None, "{other}");
        }
        let most = json!([{"key": "DE", "count": u64::MAX.to_string()}]);
        for buckets in [json!(null), json!({}), json!([{"key": "DE", "count": "7"}, {"key": "odd"}]), most] {
            let half = json!({"by": {"field_aggregation": {"buckets": buckets}}});
            assert_eq!(counts(&half, "by"), None, "{half}");
        }
    }
}
