//! Finds work that grows with the square of its input, by the processor time of two sizes in one run. Only unit tests
//! have it.

use std::time::{Duration, Instant};

use serde_json::{Value as Json, json};

use crate::kind;

/// Fails where ten times as much input takes much more than ten times as long: a search through all grows a hundred
/// times. Each size is measured several times, because whatever else runs on the machine can only add to it.
///
/// # Panics
/// It does.
#[track_caller]
pub fn assert_at_most_linear<T>(what: &str, few: usize, input: impl Fn(usize) -> T, work: impl Fn(T)) {
    const TRIES: usize = 4;
    let cost = |size: usize| -> Duration {
        let once = || {
            let input = input(size);
            let before = used();
            work(input);
            used().saturating_sub(before)
        };
        (0..TRIES).map(|_| once()).min().unwrap_or_default()
    };
    let (least, most) = (cost(few), cost(10 * few));
    // The system counts in ticks: what is shorter than one is not held against the larger size.
    let allowed = 30 * least.max(Duration::from_millis(4));
    assert!(most <= allowed, "{what}: {least:?} for {few}, {most:?} for {}", 10 * few);
}

/// The processor time of this thread; the time of day where the system does not say.
fn used() -> Duration {
    thread_local! {
        static BEGUN: Instant = Instant::now();
    }
    let counted = std::fs::read_to_string("/proc/thread-self/schedstat");
    let nanoseconds = counted.ok().and_then(|text| text.split(' ').next()?.parse().ok());
    nanoseconds.map_or_else(|| BEGUN.with(Instant::elapsed), Duration::from_nanos)
}

// Where the time of a thread is not known, a short search is within a tick.
#[cfg(target_os = "linux")]
#[test]
fn a_search_through_all_is_found() {
    let numbers = |size: usize| -> Vec<usize> { (0..size).collect() };
    let all = |numbers: Vec<usize>| assert!(numbers.iter().all(|number| numbers.contains(number)));
    let indexed = |numbers: Vec<usize>| {
        let index: std::collections::BTreeSet<usize> = numbers.iter().copied().collect();
        assert!(numbers.iter().all(|number| index.contains(number)));
    };
    assert_at_most_linear("an index", 2_000, numbers, indexed);
    let found = std::panic::catch_unwind(|| assert_at_most_linear("a search", 2_000, numbers, all));
    assert!(found.is_err());
}

/// A list that is in another order live, a few of its items changed.
fn reordered(count: usize) -> (Json, Json) {
    let item = |number: usize| json!({"parameter_name": format!("n{number}"), "parameter_type": "HEADER"});
    let wanted: Vec<Json> = (0..count).map(item).collect();
    let live = (0..count).map(|number| item(number * 7 % count + usize::from(number % 50 == 0) * count)).collect();
    (Json::Array(live), wanted.into())
}

#[test]
fn items_in_another_order_are_found_in_linear_time() {
    let discovery = kind::find("api_discovery").expect("a kind").message();
    let unit = "custom_auth_types";
    assert_at_most_linear(
        "a long list",
        200,
        |count| reordered(count - 1),
        |(live, wanted)| {
            assert_ne!(kind::seen_as(discovery, unit, &live, &wanted), wanted);
            assert!(kind::alike(live.as_array().expect("a list"), wanted.as_array().expect("a list")).len() > 1);
            let Json::Object(mut object) = json!({unit: live}) else { panic!("an object") };
            kind::merged(discovery, unit, &mut object, &Json::Null, &wanted);
            assert_eq!(object[unit], wanted);
        },
    );
}
