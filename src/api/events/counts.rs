//! Aggregations of security events: the requests that count by a field, and their answers.

use crate::api::wire::as_count;
use crate::model::Json;

/// The aggregation that counts events by `field`, the `most` most frequent values.
pub fn count_by(field: &str, most: u32) -> Json {
    serde_json::json!({ "field_aggregation": { "field": field.to_ascii_uppercase(), "topk": most } })
}

/// The counts of a [`count_by`] aggregation, in the order of the answer; nothing where the answer does not have it.
pub fn counts(aggregations: &Json, name: &str) -> Option<Vec<(String, u64)>> {
    let counted = aggregations.get(name)?.get("field_aggregation")?.as_object()?;
    let buckets = counted.get("buckets").and_then(Json::as_array).map(Vec::as_slice).unwrap_or_default();
    let counts = buckets
        .iter()
        .filter_map(|bucket| {
            let key = match bucket.get("key")? {
                Json::String(text) => text.clone(),
                other => other.to_string(),
            };
            Some((key, as_count(bucket.get("count")?)?))
        })
        .collect();
    Some(counts)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn counts_are_texts() {
        let aggregations = json!({"by_type": {"field_aggregation": {"buckets": [
            {"key": "waf_sec_event", "count": "20"}, {"key": 7, "count": 3}, {"key": "odd"}]}}});
        let of_type = vec![("waf_sec_event".to_owned(), 20), ("7".to_owned(), 3)];
        assert_eq!(counts(&aggregations, "by_type"), Some(of_type));
        assert_eq!(counts(&json!({"by_type": {"field_aggregation": {}}}), "by_type"), Some(Vec::new()));
        for other in [aggregations, json!(null), json!({"other": null}), json!({"other": {"field_aggregation": null}})]
        {
            assert_eq!(counts(&other, "other"), None, "{other}");
        }
    }
}
