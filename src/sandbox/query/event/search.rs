//! The search: which events of a window pass a filter, in the order of time across all sources. A
//! search can stop after any event and go on later from the ranges that are left, which is all that a
//! scroll has to remember.

use std::ops::Range;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::library::{Filter, Library, Sieve, Source};

/// Which events come first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Order {
    #[default]
    Descending,
    Ascending,
}

/// A walk over the matching events of all sources.
#[derive(Debug)]
pub struct Search<'a> {
    lanes: Vec<Lane<'a>>,
    order: Order,
}

#[derive(Debug)]
struct Lane<'a> {
    source: &'a Source,
    sieve: Sieve<'a>,
    /// What has not been handed out; its first event in order is the head, where one was found.
    left: Range<u64>,
    head: Option<Timestamp>,
}

impl<'a> Search<'a> {
    /// Starts at the ends of `ranges`, of which there is one for each source of the library.
    #[must_use]
    pub fn new(library: &'a Library, filter: &'a Filter<'a>, ranges: Vec<Range<u64>>, order: Order) -> Self {
        let lanes = library
            .sources
            .iter()
            .zip(ranges)
            .map(|(source, left)| {
                let sieve = Sieve::new(source, filter);
                let left = if sieve.passes_none() { left.start..left.start } else { left };
                let mut lane = Lane { source, sieve, left, head: None };
                lane.find(order);
                lane
            })
            .collect();
        Self { lanes, order }
    }

    /// Appends the next event, a JSON string that contains JSON; `false` when there is none.
    pub fn next(&mut self, out: &mut String) -> bool {
        let first = self.lanes.iter_mut().filter(|lane| lane.head.is_some()).reduce(|first, other| {
            let earlier = match self.order {
                Order::Ascending => other.head < first.head,
                Order::Descending => other.head > first.head,
            };
            if earlier { other } else { first }
        });
        let Some(lane) = first else {
            return false;
        };
        lane.source.write(lane.position(self.order), out);
        lane.step(self.order);
        lane.find(self.order);
        true
    }

    /// What has not been handed out.
    #[must_use]
    pub fn left(&self) -> Vec<Range<u64>> {
        self.lanes.iter().map(|lane| lane.left.clone()).collect()
    }
}

impl Lane<'_> {
    fn position(&self, order: Order) -> u64 {
        match order {
            Order::Ascending => self.left.start,
            Order::Descending => self.left.end.saturating_sub(1),
        }
    }

    fn step(&mut self, order: Order) {
        match order {
            Order::Ascending => self.left.start += 1,
            Order::Descending => self.left.end -= 1,
        }
    }

    /// Moves to the next event that passes.
    fn find(&mut self, order: Order) {
        self.head = None;
        while !self.left.is_empty() {
            let position = self.position(order);
            if self.sieve.passes_all() || self.sieve.passes(position) {
                self.head = Some(self.source.time(position));
                return;
            }
            self.step(order);
        }
    }
}

/// What is shown every event that is counted.
pub type Look<'a> = &'a mut dyn FnMut(&Source, u64);

/// How many events of `ranges` pass; each is also shown to `each` where there is somebody to look.
pub fn count(library: &Library, filter: &Filter<'_>, ranges: &[Range<u64>], mut each: Option<Look<'_>>) -> u64 {
    let mut hits = 0;
    for (source, range) in library.sources.iter().zip(ranges) {
        let mut sieve = Sieve::new(source, filter);
        if sieve.passes_none() {
            continue;
        }
        if sieve.passes_all() && each.is_none() {
            hits += range.end.saturating_sub(range.start);
            continue;
        }
        for index in range.clone() {
            if sieve.passes_all() || sieve.passes(index) {
                hits += 1;
                if let Some(each) = &mut each {
                    each(source, index);
                }
            }
        }
    }
    hits
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sandbox::query::event::language::Query;
    use crate::sandbox::query::event::library::Written;
    use crate::sandbox::query::event::series::{Recipe, Series};
    use crate::sandbox::query::window::Window;

    fn library() -> Library {
        let at = |text: &str| text.parse::<Timestamp>().unwrap();
        let written = ["12:00:00", "12:00:30", "12:01:00"].map(|time| Written {
            time: at(&format!("2026-11-21T{time}Z")),
            namespace: "shop".into(),
            event: serde_json::json!({"@timestamp": format!("2026-11-21T{time}.000Z"), "vh_name": "written"}),
        });
        let series = Series::new(Recipe {
            seed: 1,
            count: 500,
            from: at("2026-11-21T11:59:00Z"),
            to: at("2026-11-21T12:02:00Z"),
            namespaces: vec!["shop".into(), "pay".into()],
            sites: Vec::new(),
            tenant: "acme".into(),
        });
        Library { sources: vec![Source::Written(written.into()), Source::Generated(Box::new(series))] }
    }

    fn window() -> Window {
        Window { from: "2026-11-21T11:59:30Z".parse().unwrap(), to: "2026-11-21T12:00:30Z".parse().unwrap() }
    }

    fn walk(library: &Library, namespace: &str, query: &str, order: Order, stop_every: usize) -> Vec<String> {
        let query = Query::parse(query).unwrap();
        let filter = Filter::new(namespace, &query);
        let mut ranges = library.ranges(window());
        let hits = count(library, &filter, &ranges, None);
        let mut events = Vec::new();
        loop {
            let mut search = Search::new(library, &filter, ranges, order);
            for _ in 0..stop_every {
                let mut text = String::new();
                if !search.next(&mut text) {
                    assert_eq!(events.len() as u64, hits);
                    return events;
                }
                events.push(text);
            }
            ranges = search.left();
        }
    }

    fn times(events: &[String]) -> Vec<String> {
        let time = |event: &String| {
            let event: String = serde_json::from_str(event).unwrap();
            let event: serde_json::Value = serde_json::from_str(&event).unwrap();
            event["@timestamp"].as_str().unwrap().to_owned()
        };
        events.iter().map(time).collect()
    }

    #[test]
    fn sources_are_merged_in_the_order_of_time_and_both_ends_of_the_window_count() {
        let library = library();
        let ascending = times(&walk(&library, "system", "", Order::Ascending, usize::MAX));
        let descending = times(&walk(&library, "system", "", Order::Descending, usize::MAX));
        assert!(ascending.is_sorted());
        assert!(descending.iter().rev().is_sorted());
        assert_eq!(ascending.len(), descending.len());
        assert!(ascending.contains(&"2026-11-21T12:00:30.000Z".to_owned()));
        assert!(!ascending.contains(&"2026-11-21T12:01:00.000Z".to_owned()));
    }

    #[test]
    fn a_search_that_goes_on_from_what_is_left_misses_and_repeats_nothing() {
        let library = library();
        for order in [Order::Ascending, Order::Descending] {
            for query in ["", r#"{sec_event_type="waf_sec_event"}"#, r#"{signatures.state="Enabled"}"#] {
                let whole = walk(&library, "shop", query, order, usize::MAX);
                assert!(!whole.is_empty(), "{query}");
                for step in [1, 7] {
                    assert_eq!(walk(&library, "shop", query, order, step), whole, "{query} {step}");
                }
            }
        }
    }

    #[test]
    fn a_namespace_sees_its_own_events_only() {
        let library = library();
        let whole = walk(&library, "system", "", Order::Ascending, usize::MAX).len();
        let shop = walk(&library, "shop", "", Order::Ascending, usize::MAX).len();
        let pay = walk(&library, "pay", "", Order::Ascending, usize::MAX).len();
        assert_eq!(shop + pay, whole);
        assert!(shop > pay && pay > 0);
        assert!(walk(&library, "nowhere", "", Order::Ascending, 9).is_empty());
        assert!(walk(&library, "system", r#"{virtual_host!="x"}"#, Order::Ascending, 9).is_empty());
    }
}
