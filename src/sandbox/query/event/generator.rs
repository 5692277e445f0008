//! Makes many security events from a few samples (`samples.jsonl`), at other times and with other clients. The last
//! samples are a burst of attacks. A recipe always makes the same events; they are stored like events of the tenant
//! file. All names, addresses and systems in them are invented or reserved for documentation.

#![expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "shares of small positive numbers")]

use fastrand::Rng;
use jiff::Timestamp;
use serde::Deserialize;
use serde_json::{Map, Value};

use super::store::SecurityEvent;
use crate::sandbox::query::time;

/// The most events of one recipe: all of them are in memory.
pub const MOST_EVENTS: u64 = 20_000;

/// Events of `{namespace}`, without the parts that differ each time.
const SAMPLES: &str = include_str!("samples.jsonl");

/// Clients of a sample; a few of them send most of the requests.
const CLIENTS: f64 = 25.0;

/// How many of the last samples are part of the burst.
const BURST_SAMPLES: usize = 8;

/// The start and length of the burst, as shares of the time span: late, because users read the latest events first.
const BURST: (f64, f64) = (0.7, 1.0 / 48.0);

/// What the events are made from.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Recipe {
    pub seed: u64,
    pub count: u64,
    #[serde(deserialize_with = "time::required")]
    pub from: Timestamp,
    #[serde(default = "time::now", deserialize_with = "time::required")]
    pub to: Timestamp,
    /// At least one; an empty list in a tenant file means all.
    #[serde(default)]
    pub namespaces: Vec<String>,
}

impl Recipe {
    /// The events, ordered by time.
    pub fn events(&self) -> Vec<SecurityEvent> {
        let mut rng = Rng::with_seed(self.seed);
        let samples: Vec<Vec<Map<String, Value>>> = self.namespaces.iter().map(|name| samples(name)).collect();
        let event = |number| {
            // The first namespace is the busiest.
            let namespace = (rng.f64().powi(2) * samples.len() as f64) as usize;
            let sample = (number % samples[namespace].len() as u64) as usize;
            let is_burst = sample + BURST_SAMPLES >= samples[namespace].len();
            let share = if is_burst { BURST.0 + rng.f64() * BURST.1 } else { rng.f64() };
            let event = again(&samples[namespace][sample], sample, self.time(share), &mut rng);
            SecurityEvent::new(self.time(share), self.namespaces[namespace].clone(), event)
        };
        let mut events: Vec<SecurityEvent> = (0..self.count).map(event).collect();
        events.sort_by_key(|event| event.time);
        events
    }

    fn time(&self, share: f64) -> Timestamp {
        let from = self.from.as_millisecond();
        let span = (self.to.as_millisecond() - from).max(0) as f64;
        Timestamp::from_millisecond(from + (share * span) as i64).unwrap_or(self.from)
    }
}

fn samples(namespace: &str) -> Vec<Map<String, Value>> {
    let samples = SAMPLES.replace("{namespace}", namespace);
    let events: Result<_, _> = samples.lines().map(serde_json::from_str).collect();
    events.expect("the file is a part of the program, and a test reads it")
}

/// A sample with new ids, a new client, and for user behaviour a new period of five minutes.
fn again(sample: &Map<String, Value>, number: usize, time: Timestamp, rng: &mut Rng) -> Map<String, Value> {
    let mut event = sample.clone();
    let mut set = |field: &str, value: Value| event.insert(field.to_owned(), value);
    // The addresses are in 198.18.0.0/15, which is reserved for tests.
    let client = (rng.f64().powi(3) * CLIENTS) as usize;
    let address = format!("198.18.{client}.{}", number + 1);
    set("messageid", identity(rng));
    if sample.contains_key("req_path") {
        set("req_id", identity(rng));
        set("network", format!("198.18.{client}.0").into());
        set("x_forwarded_for", address.clone().into());
    } else {
        let end = time.as_second().max(0);
        set("start_time", (end - 300).into());
        set("end_time", end.into());
    }
    set("src_ip", address.into());
    event
}

fn identity(rng: &mut Rng) -> Value {
    uuid::Uuid::from_u128(rng.u128(..)).to_string().into()
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};

    use super::*;

    fn events(seed: u64) -> Vec<SecurityEvent> {
        let recipe = Recipe {
            seed,
            count: 2_000,
            from: "2026-11-20T12:00:00Z".parse().unwrap(),
            to: "2026-11-21T12:00:00Z".parse().unwrap(),
            namespaces: vec!["shop".into(), "pay".into()],
        };
        recipe.events()
    }

    #[test]
    fn the_same_recipe_gives_the_same_events_and_another_seed_others() {
        assert_eq!(events(1), events(1));
        assert_ne!(events(1), events(2));
    }

    #[test]
    fn events_are_in_the_order_of_time_with_a_burst_in_the_second_half() {
        let events = events(1);
        assert!(events.is_sorted_by_key(|event| event.time));
        let mut hours = BTreeMap::new();
        for event in &events {
            *hours.entry(event.time.as_second() / 1_800).or_insert(0) += 1;
        }
        let (busiest, count) = hours.iter().max_by_key(|(_, count)| **count).unwrap();
        let middle: Timestamp = "2026-11-21T00:00:00Z".parse().unwrap();
        assert!(*busiest >= middle.as_second() / 1_800 - 1 && *count > 150, "{hours:?}");
    }

    #[test]
    fn every_kind_of_event_and_every_unstable_shape_is_there() {
        let (mut kinds, mut shapes) = (BTreeSet::new(), BTreeSet::new());
        for event in events(4) {
            kinds.insert(event.event["sec_event_type"].as_str().unwrap().to_owned());
            for key in ["signatures", "violations", "threat_campaigns", "attack_types"] {
                match &event.event[key] {
                    Value::Array(list) if list.is_empty() => shapes.insert("empty list"),
                    Value::Array(_) => shapes.insert("list"),
                    Value::Object(_) => shapes.insert("object"),
                    _ => false,
                };
            }
        }
        assert_eq!((kinds.len(), shapes.len()), (8, 3), "{kinds:?} {shapes:?}");
    }

    #[test]
    fn a_request_event_has_the_shapes_of_the_service() {
        let events = events(5);
        let first = |kind: &str| &events.iter().find(|event| event.event["sec_event_type"] == kind).unwrap().event;
        let waf = first("waf_sec_event");
        for key in ["rsp_code", "req_size", "rsp_size", "dst_port", "violation_rating", "latitude"] {
            assert!(waf[key].as_str().is_some_and(|text| text.parse::<f64>().is_ok()), "{key}: {}", waf[key]);
        }
        let headers: Value = serde_json::from_str(waf["req_headers"].as_str().unwrap()).unwrap();
        assert!(headers["Host"].is_string());
        assert_eq!(waf["api_endpoint"], "{}");
        assert!(waf["is_new_dcid"].is_boolean());
        assert!(first("svc_policy_sec_event")["policy_hits"]["policy_hits"][0]["result"].is_string());
        assert!(first("malicious_user_sec_event")["req_count"].is_number());
    }

    #[test]
    fn an_address_keeps_its_country() {
        let mut places = BTreeMap::new();
        for SecurityEvent { event, .. } in events(6) {
            let place = (event["country"].clone(), event["as_org"].clone());
            let known = places.entry(event["src_ip"].to_string()).or_insert_with(|| place.clone());
            assert_eq!(*known, place);
        }
        assert!(places.len() > 300, "{}", places.len());
    }
}
