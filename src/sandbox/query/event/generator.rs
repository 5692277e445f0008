//! Security events made from a seed: a daily rhythm, one burst of attacks, and clients that keep
//! their address, place and program from event to event. A recipe gives the same events each time;
//! they are written to the store like events of the tenant file.

#![expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "shares of small positive numbers")]

use fastrand::Rng;
use jiff::Timestamp;
use jiff::tz::Offset;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::store::SecurityEvent;
use super::vocabulary::{ClientLocation, WORDS, Words};
use crate::sandbox::query::time;

/// The most events that one recipe may ask for: all of them are kept in memory.
pub const MOST_EVENTS: u64 = 20_000;

/// Clients of usual days; a few of them send most of the requests.
const CLIENTS: usize = 1_000;

/// Machines that send the burst.
const MACHINES: usize = 48;

/// The burst takes this part of the time span and this share of the events.
const BURST_PART: f64 = 1.0 / 48.0;
const BURST_SHARE: f64 = 0.2;

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
    /// At least one; in a tenant file none means all.
    #[serde(default)]
    pub namespaces: Vec<String>,
    /// Sites of the tenant, beside the regional edges.
    #[serde(skip)]
    pub sites: Vec<String>,
}

impl Recipe {
    /// The events, in the order of time.
    pub fn events(&self) -> Vec<SecurityEvent> {
        let mut generator = Generator::new(self);
        let mut times: Vec<(Timestamp, bool)> = (0..self.count).map(|_| generator.time()).collect();
        times.sort_unstable();
        times.into_iter().map(|(time, in_burst)| generator.event(time, in_burst)).collect()
    }
}

/// What an event is about: its type, its title, and its weight on usual days and in the burst.
type Kind = (&'static str, &'static str, u32, u32);

const FIREWALL: &str = "waf_sec_event";
const BOT_DEFENSE: &str = "bot_defense_sec_event";
const API: &str = "api_sec_event";
const POLICY: &str = "svc_policy_sec_event";
const MALICIOUS_USER: &str = "malicious_user_sec_event";
const REPUTATION: &str = "ip_reputation_sec_event";
const NETWORK_FLOOD: &str = "ddos_sec_event";
const FLOOD: &str = "dos_sec_event";

const KINDS: [Kind; 8] = [
    (FIREWALL, "WAF", 42, 18),
    (BOT_DEFENSE, "Bot Defense", 17, 22),
    (API, "OpenAPI Validation Failure", 11, 3),
    (POLICY, "L7 Policy Violation", 18, 12),
    (MALICIOUS_USER, "Malicious User Mitigation", 4, 3),
    (REPUTATION, "L7 Policy Violation", 5, 6),
    (NETWORK_FLOOD, "DDoS", 1, 14),
    (FLOOD, "API Rate Limiting", 2, 22),
];

/// A machine that sends requests.
struct Client {
    address: String,
    network: String,
    place: &'static ClientLocation,
    agent: &'static Words,
    user: String,
    fingerprints: [String; 3],
}

/// A virtual host that is attacked.
struct Host {
    weight: u32,
    namespace: String,
    app: String,
    domain: String,
    address: String,
    id: String,
}

struct Generator<'a> {
    recipe: &'a Recipe,
    rng: Rng,
    burst: (f64, f64),
    clients: Vec<Client>,
    machines: Vec<Client>,
    hosts: Vec<Host>,
    sites: Vec<(u32, String)>,
}

impl<'a> Generator<'a> {
    fn new(recipe: &'a Recipe) -> Self {
        let mut rng = Rng::with_seed(recipe.seed);
        // In the second half, because a reader looks at the latest events first.
        let start = 0.5 + rng.f64() * (0.5 - BURST_PART);
        let mut octets: Vec<u32> = (0..(CLIENTS + MACHINES) as u32).collect();
        rng.shuffle(&mut octets);
        let mut clients: Vec<Client> = octets
            .iter()
            .enumerate()
            .map(|(index, octet)| {
                let place = match index.checked_sub(CLIENTS) {
                    None => pick(&mut rng, &WORDS.places, |place| place.weight),
                    Some(machine) => &WORDS.places[WORDS.burst_places[machine % WORDS.burst_places.len()]],
                };
                Client::new(&mut rng, *octet, place)
            })
            .collect();
        let machines = clients.split_off(CLIENTS);
        let hosts = hosts(&mut rng, &recipe.namespaces);
        let sites = WORDS.sites.iter().cloned().chain(recipe.sites.iter().map(|site| (3, site.clone()))).collect();
        Self { recipe, rng, burst: (start, start + BURST_PART), clients, machines, hosts, sites }
    }

    /// When an event happens, and whether that is in the burst.
    fn time(&mut self) -> (Timestamp, bool) {
        let from = self.recipe.from.as_millisecond();
        let span = (self.recipe.to.as_millisecond() - from).max(0) as f64;
        let at = |share: f64| Timestamp::from_millisecond(from + (share * span) as i64).unwrap_or(self.recipe.from);
        if self.rng.f64() < BURST_SHARE {
            let (start, end) = self.burst;
            return (at(start + self.rng.f64() * (end - start)), true);
        }
        loop {
            let time = at(self.rng.f64());
            // At least one hour in a hundred is taken, so the loop ends.
            let hour = Offset::UTC.to_datetime(time).hour().unsigned_abs();
            if self.rng.u32(0..100) < WORDS.hours[usize::from(hour)] {
                return (time, false);
            }
        }
    }

    fn event(&mut self, time: Timestamp, in_burst: bool) -> SecurityEvent {
        let rng = &mut self.rng;
        let (kind, title, ..) = *pick(rng, &KINDS, |kind| if in_burst { kind.3 } else { kind.2 });
        let client = if in_burst && rng.f64() < 0.8 {
            &self.machines[rng.usize(..self.machines.len())]
        } else {
            let share = rng.f64();
            &self.clients[(share * share * share * self.clients.len() as f64) as usize]
        };
        let host = pick(rng, &self.hosts, |host| host.weight);
        let (_, site) = pick(rng, &self.sites, |site| site.0);
        let common = json!({
            "sec_event_type": kind, "sec_event_name": title, "stream": "svcfw", "messageid": identity(rng),
            "vh_name": format!("ves-io-http-loadbalancer-{}", host.app), "app": host.app, "app_type": host.app,
            "src_site": site, "site": site,
        });
        let details = if kind == MALICIOUS_USER {
            suspicion(rng, time)
        } else {
            let special = special(rng, kind, &host.namespace);
            let action = special["action"].as_str().unwrap_or("block");
            let request = request(rng, kind, action, client, host, site);
            merged([special, request])
        };
        let fields = fields([common, client.fields(), details]);
        SecurityEvent::new(time, host.namespace.clone(), fields)
    }
}

impl Client {
    /// The addresses are in 198.18.0.0/15, which is reserved for tests.
    fn new(rng: &mut Rng, number: u32, place: &'static ClientLocation) -> Self {
        let network = format!("198.{}.{}", 18 + rng.u32(0..2), number / 250);
        Self {
            address: format!("{network}.{}", number % 250 + 1),
            network: format!("{network}.0"),
            place,
            agent: pick(rng, &WORDS.agents, |agent| agent.0),
            user: format!("Cookie-user-{}", rng.u32(10_000..100_000)),
            fingerprints: [hex(rng), hex(rng), hex(rng)],
        }
    }

    fn fields(&self) -> Value {
        let place = self.place;
        json!({
            "src_ip": self.address, "user": self.user, "tls_fingerprint": self.fingerprints[0],
            "ja4_tls_fingerprint": self.fingerprints[1], "country": place.country, "region": place.region,
            "city": place.city, "as_org": place.as_org, "asn": format!("{}({})", place.as_org, place.as_number),
        })
    }
}

/// What an event about one request has beside; numbers are texts here.
fn request(rng: &mut Rng, kind: &str, action: &str, client: &Client, host: &Host, site: &str) -> Value {
    let (_, method, path, parameters) = pick(rng, &WORDS.requests, |request| request.0);
    let (_, agent, browser, device) = client.agent;
    let blocks = action == "block";
    let status = match (blocks, kind) {
        (true, FLOOD) => 429,
        (true, _) => 403,
        (false, API) => 400,
        (false, _) => 200,
    };
    let headers = json!({
        "Accept": "*/*", "Host": host.domain, "Method": method, "Path": path, "Scheme": "https", "User-Agent": agent,
    });
    merged([
        json!({
            "severity": if blocks { "error" } else { "info" }, "action": action, "vh_type": "HTTP-LOAD-BALANCER",
            "vhost_id": host.id, "src_port": rng.u32(1_024..65_024).to_string(), "dst_ip": host.address,
            "dst_port": if rng.u8(0..8) == 0 { "0" } else { "443" }, "src": "N:public",
            "src_instance": client.place.city, "hostname": format!("master-{}", rng.u8(0..6)),
            "cluster_name": format!("{site}-int-ves-io"), "dcid": client.fingerprints[2],
            "is_new_dcid": rng.u8(0..3) == 0, "latitude": client.place.latitude, "longitude": client.place.longitude,
            "as_number": client.place.as_number.to_string(), "network": client.network,
        }),
        json!({
            "method": method, "authority": host.domain, "original_authority": host.domain, "domain": host.domain,
            "sni": host.domain, "req_path": path, "req_params": parameters, "req_headers": headers.to_string(),
            "req_body": "", "req_id": identity(rng), "req_size": rng.u32(180..2_580).to_string(),
            "rsp_size": if blocks { 247 } else { rng.u32(600..40_600) }.to_string(), "rsp_code": status.to_string(),
            "rsp_code_class": if status < 300 { "2xx" } else { "4xx" },
            "rsp_code_details": match (kind, blocks) {
                (POLICY | REPUTATION, true) => "ext_authz_denied",
                (_, true) => "direct_response",
                (_, false) => "via_upstream",
            },
            "upstream_rsp_code": if blocks { 0 } else { status }.to_string(),
        }),
        json!({
            "http_version": "HTTP/1.1", "user_agent": agent, "browser_type": browser, "device_type": device,
            "tls_version": "TLSv1_3", "tls_cipher_suite": "TLSv1_3/TLS_AES_128_GCM_SHA256",
            "x_forwarded_for": client.address, "message_key": "", "api_endpoint": "{}", "is_truncated_field": false,
        }),
    ])
}

/// What an event about the behaviour of a user has: numbers are numbers here.
fn suspicion(rng: &mut Rng, time: Timestamp) -> Value {
    let second = time.as_second().max(0);
    let mut score = || f64::from(rng.u8(0..100)) / 100.0;
    let scores = json!({
        "suspicion_score": score(), "waf_suspicion_score": score(), "bot_defense_suspicion_score": score(),
        "behavior_anomaly_score": score(),
    });
    let threat = ["Low", "Medium", "High"][rng.usize(0..3)];
    merged([
        scores,
        json!({
            "start_time": second - 300, "end_time": second, "req_count": rng.u32(20..920),
            "err_count": rng.u32(0..40), "waf_sec_event_count": rng.u32(0..30),
            "bot_defense_sec_event_count": rng.u32(0..20), "failed_login_count": rng.u32(0..25),
            "forbidden_access_count": rng.u32(0..15), "page_not_found_count": rng.u32(0..60),
            "rate_limiting_count": rng.u32(0..10), "threat_level": threat,
            "suspicion_log_type": "user", "summary_msg": "many refused requests within five minutes",
            "feature_score": "{}", "apiep_anomaly": 0, "original_topic_name": "suspicious-user-logs",
            "message": "MUM_BLOCK_TEMPORARILY",
        }),
    ])
}

/// What only this kind of request event has. Empty groups are an object in one event and a list
/// in another, as the service writes them.
fn special(rng: &mut Rng, kind: &str, namespace: &str) -> Value {
    let mut empty = || if rng.bool() { json!({}) } else { json!([]) };
    let groups = json!({
        "signatures": empty(), "attack_types": empty(), "violations": empty(), "threat_campaigns": empty(),
        "detections": empty(),
    });
    let group = match kind {
        FIREWALL => firewall(rng, namespace),
        POLICY => pick(rng, &WORDS.hits, |hit| hit.0).1.clone(),
        REPUTATION => pick(rng, &WORDS.reputations, |hit| hit.0).1.clone(),
        BOT_DEFENSE => json!({"bot_defense": pick(rng, &WORDS.defenses, |defense| defense.0).1}),
        API => json!({
            "oas_req_status": "OpenAPIViolation", "action": "report",
            "violations": pick(rng, &WORDS.breaches, |breach| breach.0).1,
        }),
        _ => json!({"message": "request rate above the learned threshold"}),
    };
    merged([groups, group])
}

fn firewall(rng: &mut Rng, namespace: &str) -> Value {
    let (_, finding) = pick(rng, &WORDS.findings, |finding| finding.0);
    let mode = ["block", "block", "block", "report", "allow"][rng.usize(0..5)];
    let rating = rng.u8(0..6);
    merged([
        finding.clone(),
        json!({
            "bot_info": pick(rng, &WORDS.bots, |bot| bot.0).1, "waf_mode": mode, "calculated_action": mode,
            "action": mode, "recommended_action": "block",
            "enforcement_mode": if mode == "report" { "Monitoring" } else { "Blocking" },
            "app_firewall_name": format!("{namespace}-firewall"), "waf_instance_id": identity(rng),
            "violation_rating": rating.to_string(),
            "req_risk": match rating { 4.. => "high", 2..=3 => "medium", _ => "low" },
            "req_risk_reasons": if rating >= 4 { json!(["signature", "bot"]) } else { json!([]) },
            "waf_rules_hit": "[]", "waf_rule_tags": "{}",
        }),
    ])
}

fn hosts(rng: &mut Rng, namespaces: &[String]) -> Vec<Host> {
    let mut hosts = Vec::new();
    for (index, namespace) in namespaces.iter().enumerate() {
        for (weight, app) in &WORDS.apps {
            hosts.push(Host {
                // The first namespace is the busiest.
                weight: weight * if index == 0 { 3 } else { 1 },
                namespace: namespace.clone(),
                app: format!("{namespace}-{app}"),
                domain: format!("{app}.{namespace}.example.com"),
                address: format!("203.0.113.{}", 10 + hosts.len() % 200),
                id: identity(rng),
            });
        }
    }
    hosts
}

/// The fields of all parts; of a field that two of them have, the later one counts.
fn fields<const N: usize>(parts: [Value; N]) -> Map<String, Value> {
    let objects = parts.into_iter().filter_map(|part| if let Value::Object(part) = part { Some(part) } else { None });
    objects.flatten().collect()
}

fn merged<const N: usize>(parts: [Value; N]) -> Value {
    Value::Object(fields(parts))
}

/// One of the items, by weight; of which at least one is above 0.
fn pick<'a, T>(rng: &mut Rng, items: &'a [T], weight: impl Fn(&T) -> u32) -> &'a T {
    let mut left = rng.u32(0..items.iter().map(&weight).sum::<u32>().max(1));
    let found = items.iter().find(|item| {
        let taken = left < weight(item);
        left = left.saturating_sub(weight(item));
        taken
    });
    found.unwrap_or(&items[0])
}

fn hex(rng: &mut Rng) -> String {
    format!("{:032x}", rng.u128(..))
}

/// A UUID.
fn identity(rng: &mut Rng) -> String {
    uuid::Uuid::from_u128(rng.u128(..)).to_string()
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
            sites: vec!["ce01".into()],
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
        let waf = first(FIREWALL);
        for key in ["rsp_code", "req_size", "rsp_size", "dst_port", "violation_rating", "latitude"] {
            assert!(waf[key].as_str().is_some_and(|text| text.parse::<f64>().is_ok()), "{key}: {}", waf[key]);
        }
        let headers: Value = serde_json::from_str(waf["req_headers"].as_str().unwrap()).unwrap();
        assert!(headers["Host"].is_string());
        assert_eq!(waf["api_endpoint"], "{}");
        assert!(waf["is_new_dcid"].is_boolean());
        assert!(first(POLICY)["policy_hits"]["policy_hits"][0]["result"].is_string());
        assert!(first(MALICIOUS_USER)["req_count"].is_number());
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
