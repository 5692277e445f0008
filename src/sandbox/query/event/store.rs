//! All security events of the tenant, ordered by time, and the search over them. A time window is a range of positions,
//! so a scroll contains only the remaining positions.

use std::ops::Range;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::language::Query;
use crate::sandbox::query::time::TimeWindow;

/// The namespace whose queries cover all events of the tenant.
pub const WHOLE_TENANT: &str = "system";

/// One event, as the tenant file writes it or the generator makes it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SecurityEvent {
    pub time: Timestamp,
    pub namespace: String,
    pub event: Value,
}

impl SecurityEvent {
    /// The event with these fields; missing time and namespace are filled in.
    pub fn new(time: Timestamp, namespace: String, mut event: Map<String, Value>) -> Self {
        let stamp = format!("{time:.3}");
        for (key, value) in [("@timestamp", &stamp), ("time", &stamp), ("namespace", &namespace)] {
            event.entry(key).or_insert_with(|| value.as_str().into());
        }
        Self { time, namespace, event: event.into() }
    }
}

/// Which events come first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Order {
    Descending,
    Ascending,
}

/// The events of a tenant.
#[derive(Debug, Default)]
pub struct EventStore {
    events: Vec<SecurityEvent>,
}

/// Which events a search finds, regardless of their time.
#[derive(Debug)]
pub struct SearchFilter<'a> {
    namespace: Option<&'a str>,
    query: &'a Query,
}

impl<'a> SearchFilter<'a> {
    /// Events of `namespace` that pass `query`.
    pub fn new(namespace: &'a str, query: &'a Query) -> Self {
        Self { namespace: (namespace != WHOLE_TENANT).then_some(namespace), query }
    }

    fn passes(&self, event: &SecurityEvent) -> bool {
        self.namespace.is_none_or(|namespace| event.namespace == namespace) && self.query.accepts(&event.event)
    }
}

impl EventStore {
    /// A store of these events.
    pub fn new(mut events: Vec<SecurityEvent>) -> Self {
        events.sort_by_key(|event| event.time);
        Self { events }
    }

    /// The positions of the events in the window.
    pub fn range(&self, window: TimeWindow) -> Range<usize> {
        let start = self.events.partition_point(|event| event.time < window.from);
        let end = self.events.partition_point(|event| event.time <= window.to);
        start..end.max(start)
    }

    /// The events at `range` that pass, with their positions, in this order.
    pub fn search<'a>(
        &'a self,
        range: Range<usize>,
        filter: &'a SearchFilter<'a>,
        order: Order,
    ) -> impl Iterator<Item = (usize, &'a SecurityEvent)> {
        let (start, events) = (range.start, self.events.get(range).unwrap_or_default());
        let mut positions = 0..events.len();
        std::iter::from_fn(move || match order {
            Order::Ascending => positions.next(),
            Order::Descending => positions.next_back(),
        })
        .map(move |position| (start + position, &events[position]))
        .filter(|(_, event)| filter.passes(event))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn store() -> EventStore {
        let event = |second: i64, namespace: &str| SecurityEvent {
            time: Timestamp::from_second(1_000 + second).unwrap(),
            namespace: namespace.into(),
            event: serde_json::json!({"vh_name": format!("{namespace}-{second}")}),
        };
        EventStore::new(vec![event(30, "shop"), event(0, "shop"), event(60, "pay"), event(10, "pay")])
    }

    fn names(namespace: &str, query: &str, (from, to): (i64, i64), order: Order) -> Vec<String> {
        let query = Query::parse(query).unwrap();
        let filter = SearchFilter::new(namespace, &query);
        let at = |second| Timestamp::from_second(1_000 + second).unwrap();
        let store = store();
        let range = store.range(TimeWindow { from: at(from), to: at(to) });
        let found = store.search(range, &filter, order);
        found.map(|(_, event)| event.event["vh_name"].as_str().unwrap().to_owned()).collect()
    }

    #[test]
    fn events_are_in_the_order_of_time_and_both_ends_of_the_window_count() {
        assert_eq!(names("system", "", (0, 30), Order::Ascending), ["shop-0", "pay-10", "shop-30"]);
        assert_eq!(names("system", "", (1, 90), Order::Descending), ["pay-60", "shop-30", "pay-10"]);
        assert!(names("system", "", (31, 59), Order::Ascending).is_empty());
    }

    #[test]
    fn a_namespace_sees_its_own_events_only() {
        assert_eq!(names("pay", "", (0, 90), Order::Ascending), ["pay-10", "pay-60"]);
        assert_eq!(names("pay", r#"{vh_name="pay-60"}"#, (0, 90), Order::Ascending), ["pay-60"]);
        assert!(names("nowhere", "", (0, 90), Order::Ascending).is_empty());
    }

    #[test]
    fn positions_are_those_of_the_whole_store() {
        let query = Query::default();
        let (store, filter) = (store(), SearchFilter::new("shop", &query));
        let positions: Vec<usize> = store.search(1..4, &filter, Order::Descending).map(|(at, _)| at).collect();
        assert_eq!(positions, [2]);
    }
}
