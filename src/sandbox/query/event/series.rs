//! Many generated events that are kept as their recipe alone. Event `i` is a function of the recipe
//! and `i`; a scan with a filter makes only the fields that the filter looks at, and only a match that
//! is asked for becomes text.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::curve::Curve;
use super::draw::{Choice, Draw};
use super::heading::HEADINGS;
use super::piece::{Fragment, Place};
use super::sketch::{Kind, Sketch};
use super::vocabulary as words;

/// What a series is made from; this is what is stored.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Recipe {
    pub seed: u64,
    pub count: u64,
    pub from: Timestamp,
    pub to: Timestamp,
    /// At least one.
    pub namespaces: Vec<String>,
    /// Sites of the tenant, beside the regional edges.
    pub sites: Vec<String>,
    pub tenant: String,
}

/// A virtual host that is attacked.
#[derive(Debug)]
pub struct Host {
    pub namespace: String,
    pub vh_name: String,
    pub app: String,
    pub domain: String,
    pub firewall: String,
}

/// The events of one recipe, with what they share.
#[derive(Debug)]
pub struct Series {
    pub(super) recipe: Recipe,
    pub(super) curve: Curve,
    pub(super) hosts: Vec<Host>,
    pub(super) sites: Vec<String>,
    pub(super) choices: Choices,
    pub(super) fragments: Fragments,
}

/// The weighted choices.
#[derive(Debug)]
pub struct Choices {
    pub kinds: Choice,
    pub burst_kinds: Choice,
    pub places: Choice,
    pub hosts: Choice,
    pub sites: Choice,
    pub requests: Choice,
    pub agents: Choice,
    pub findings: Choice,
    pub bots: Choice,
    pub defenses: Choice,
    pub hits: Choice,
    pub reputations: Choice,
    pub breaches: Choice,
}

/// The nested groups, each in every variant.
#[derive(Debug)]
pub struct Fragments {
    pub empties: Vec<Fragment>,
    /// `signatures`, `attack_types`, `violations`, `threat_campaigns`.
    pub findings: Vec<[Fragment; 4]>,
    pub bots: Vec<Fragment>,
    pub defenses: Vec<Fragment>,
    pub hits: Vec<(&'static str, Fragment)>,
    pub reputations: Vec<Fragment>,
    pub breaches: Vec<Fragment>,
    /// `req_risk_reasons` without and with reasons.
    pub reasons: [Fragment; 2],
}

impl Series {
    #[must_use]
    pub fn new(recipe: Recipe) -> Self {
        let curve = Curve::new(recipe.seed, recipe.count, recipe.from, recipe.to);
        let (hosts, host_weights) = hosts(&recipe.namespaces);
        let mut sites: Vec<_> = words::SITES.iter().map(|(_, site)| (*site).to_owned()).collect();
        sites.extend(recipe.sites.iter().cloned());
        let (finding_weights, findings) = split(words::findings());
        let (bot_weights, bots) = split(words::bots());
        let (defense_weights, defenses) = split(words::defenses());
        let (hit_weights, hits) = split(words::hits());
        let (reputation_weights, reputations) = split(words::reputations());
        let (breach_weights, breaches) = split(words::breaches());
        let fragments = |values: Vec<_>| values.into_iter().map(Fragment::from).collect::<Vec<_>>();
        Self {
            choices: Choices {
                kinds: Choice::new(Kind::USUAL),
                burst_kinds: Choice::new(Kind::BURST),
                places: Choice::new(words::PLACES.iter().map(|place| place.weight)),
                hosts: Choice::new(host_weights),
                sites: Choice::new(
                    words::SITES.iter().map(|(weight, _)| *weight).chain(recipe.sites.iter().map(|_| 3)),
                ),
                requests: Choice::new(words::REQUESTS.iter().map(|request| request.0)),
                agents: Choice::new(words::AGENTS.iter().map(|agent| agent.0)),
                findings: Choice::new(finding_weights),
                bots: Choice::new(bot_weights),
                defenses: Choice::new(defense_weights),
                hits: Choice::new(hit_weights),
                reputations: Choice::new(reputation_weights),
                breaches: Choice::new(breach_weights),
            },
            fragments: Fragments {
                empties: fragments(words::empties()),
                findings: findings.into_iter().map(|group| group.map(Fragment::from)).collect(),
                bots: fragments(bots),
                defenses: fragments(defenses),
                hits: hits.into_iter().map(|(action, hit)| (action, Fragment::from(hit))).collect(),
                reputations: fragments(reputations),
                breaches: fragments(breaches),
                reasons: [
                    Fragment::from(serde_json::json!([])),
                    Fragment::from(serde_json::json!(["signature", "bot"])),
                ],
            },
            recipe,
            curve,
            hosts,
            sites,
        }
    }

    #[must_use]
    pub fn curve(&self) -> &Curve {
        &self.curve
    }

    /// Event `index`, nothing of it made yet.
    #[must_use]
    pub fn sketch(&self, index: u64) -> Sketch<'_> {
        Sketch::new(self, index, Draw::new(self.recipe.seed, index))
    }

    /// Appends event `index` as JSON.
    pub fn write(&self, index: u64, place: Place, out: &mut String) {
        let sketch = self.sketch(index);
        let mut open = '{';
        for (heading, key) in HEADINGS {
            if let Some(piece) = sketch.field(*heading) {
                out.push(open);
                open = ',';
                out.push_str(place.mark());
                out.push_str(key);
                out.push_str(place.mark());
                out.push(':');
                piece.write(place, out);
            }
        }
        out.push('}');
    }
}

fn hosts(namespaces: &[String]) -> (Vec<Host>, Vec<u32>) {
    let mut hosts = Vec::new();
    let mut weights = Vec::new();
    for (place, namespace) in namespaces.iter().enumerate() {
        for (weight, app) in words::APPS {
            hosts.push(Host {
                namespace: namespace.clone(),
                vh_name: format!("ves-io-http-loadbalancer-{namespace}-{app}"),
                app: format!("{namespace}-{app}"),
                domain: format!("{app}.{namespace}.example.com"),
                firewall: format!("{namespace}-firewall"),
            });
            // The first namespace is the busiest.
            weights.push(weight * if place == 0 { 3 } else { 1 });
        }
    }
    (hosts, weights)
}

fn split<T>(weighted: Vec<(u32, T)>) -> (Vec<u32>, Vec<T>) {
    weighted.into_iter().unzip()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::sandbox::query::event::heading::Heading;
    use crate::sandbox::query::event::language::texts;

    fn series(seed: u64) -> Series {
        Series::new(Recipe {
            seed,
            count: 1_000_000,
            from: "2026-11-20T12:00:00Z".parse().unwrap(),
            to: "2026-11-21T12:00:00Z".parse().unwrap(),
            namespaces: vec!["shop".into(), "pay".into()],
            sites: vec!["ce01".into()],
            tenant: "acme-cuxnbbdn".into(),
        })
    }

    fn event(series: &Series, index: u64) -> serde_json::Value {
        let mut text = String::new();
        series.write(index, Place::Plain, &mut text);
        let mut inside = String::from("\"");
        series.write(index, Place::InString, &mut inside);
        inside.push('"');
        assert_eq!(serde_json::from_str::<String>(&inside).unwrap(), text);
        serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}"))
    }

    #[test]
    fn the_same_recipe_gives_the_same_events_and_another_seed_others() {
        let (one, same, other) = (series(1), series(1), series(2));
        for index in [0, 1, 499_999, 999_999] {
            assert_eq!(event(&one, index), event(&same, index));
            assert_ne!(event(&one, index), event(&other, index));
        }
    }

    #[test]
    fn a_field_made_alone_is_the_field_of_the_whole_event() {
        let series = series(3);
        let mut buffer = String::new();
        for index in (0..1_000_000).step_by(997) {
            let whole = event(&series, index);
            let sketch = series.sketch(index);
            for (name, key) in HEADINGS {
                let mut alone = Vec::new();
                if let Some(piece) = sketch.field(*name) {
                    piece.texts(None, &mut buffer, &mut |text| alone.push(text.to_owned()));
                }
                let mut from_whole = Vec::new();
                texts(&whole, key, &mut |text| from_whole.push(text.to_owned()));
                assert_eq!(alone, from_whole, "{key} of event {index}");
            }
        }
    }

    #[test]
    fn every_kind_of_event_and_every_unstable_shape_comes_up() {
        let series = series(4);
        let mut kinds = BTreeMap::new();
        let mut shapes = std::collections::BTreeSet::new();
        for index in (0..1_000_000).step_by(211) {
            let event = event(&series, index);
            *kinds.entry(event["sec_event_type"].as_str().unwrap().to_owned()).or_insert(0) += 1;
            for key in ["signatures", "violations", "threat_campaigns", "attack_types"] {
                match &event[key] {
                    serde_json::Value::Array(list) if list.is_empty() => shapes.insert("empty list"),
                    serde_json::Value::Array(_) => shapes.insert("list"),
                    serde_json::Value::Object(_) => shapes.insert("object"),
                    _ => false,
                };
            }
        }
        assert_eq!(kinds.len(), 8, "{kinds:?}");
        assert_eq!(shapes.len(), 3, "{shapes:?}");
    }

    #[test]
    fn a_request_event_has_the_shapes_of_the_service() {
        let series = series(5);
        let waf =
            (0..10_000).map(|index| event(&series, index)).find(|event| event["sec_event_type"] == "waf_sec_event");
        let waf = waf.unwrap();
        for key in ["rsp_code", "req_size", "rsp_size", "dst_port", "violation_rating", "latitude"] {
            assert!(waf[key].as_str().is_some_and(|text| text.parse::<f64>().is_ok()), "{key}: {}", waf[key]);
        }
        let headers: serde_json::Value = serde_json::from_str(waf["req_headers"].as_str().unwrap()).unwrap();
        assert!(headers["Host"].is_string());
        assert_eq!(waf["api_endpoint"], "{}");
        assert!(waf["is_new_dcid"].is_boolean());
        let policy = (0..10_000).map(|index| event(&series, index));
        let policy = policy.into_iter().find(|event| event["sec_event_type"] == "svc_policy_sec_event").unwrap();
        assert!(policy["policy_hits"]["policy_hits"][0]["result"].is_string());
    }

    #[test]
    fn an_address_stays_where_it_is() {
        let series = series(6);
        let mut places = BTreeMap::new();
        for index in 0..5_000 {
            let event = event(&series, index);
            let place = (event["country"].clone(), event["as_org"].clone());
            let known = places.entry(event["src_ip"].to_string()).or_insert_with(|| place.clone());
            assert_eq!(*known, place);
        }
        assert!(places.len() > 300, "{}", places.len());
    }

    #[test]
    fn names_are_found_by_their_key() {
        assert_eq!(Heading::of("vh_name"), Some(Heading::VhName));
        assert_eq!(Heading::of("virtual_host"), None);
    }
}
