//! The objects of every kind.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use trueup::kind::{self, FieldKind, Flag, Kind};
use trueup::sandbox::Storage;

use super::{Answer, Bench, Time, options};
use crate::support::objects::{Specs, namespace};

/// The seed of a run; a failed test shows it, and takes it from `TRUEUP_SEED`.
pub fn seed() -> u64 {
    std::env::var("TRUEUP_SEED").map_or(20_261_123, |seed| seed.parse().expect("a number"))
}

fn kinds() -> impl Iterator<Item = Kind> {
    kind::all().filter(|kind| kind.name != "endpoint")
}

fn path(kind: &Kind) -> String {
    kind.path().replace("{namespace}", namespace(kind))
}

fn body(kind: &Kind, name: &str, spec: &Value) -> Value {
    json!({"metadata": {"name": name, "namespace": namespace(kind)}, "spec": spec})
}

impl Bench {
    /// What a request is answered with, which must be a 200.
    #[track_caller]
    fn ok(answer: &Answer, why: &str) -> Value {
        assert_eq!(answer.status, 200, "{why}: {}", answer.text);
        answer.json()
    }

    /// Creates an object of a kind, which must work; its spec as it is answered.
    pub async fn made(&self, kind: &str, name: &str, spec: &Value) -> Value {
        let kind = kind::find(kind).expect("a kind");
        let answer = self.send("POST", &path(&kind), Some(&body(&kind, name, spec))).await;
        Self::ok(&answer, &format!("{} {spec}", kind.name))["spec"].clone()
    }

    /// Sends a spec that must be refused; the message.
    pub async fn refused(&self, kind: &str, spec: &Value) -> String {
        let kind = kind::find(kind).expect("a kind");
        let answer = self.send("POST", &path(&kind), Some(&body(&kind, "a", spec))).await;
        assert_eq!((answer.status, answer.json()["code"].as_u64()), (400, Some(3)), "{}", answer.text);
        answer.json()["message"].as_str().expect("a message").to_owned()
    }
}

/// What of a spec that was sent the answer lacks, as a path; a secret and what no answer has are left aside.
fn missing(id: &str, sent: &Value, answer: &Value) -> Option<String> {
    let message = kind::message(id);
    for (key, sent) in sent.as_object()? {
        let field = message.field(key)?;
        let got = answer.get(key);
        if field.is(Flag::Secret) {
            continue;
        }
        if field.is(Flag::Unanswered) {
            if got.is_some() {
                return Some(format!("{key} is answered"));
            }
            continue;
        }
        let Some(got) = got else { return Some(key.clone()) };
        if let Some(below) = differs(&field.kind, sent, got) {
            return Some(format!("{key}{below}"));
        }
    }
    None
}

fn differs(kind: &FieldKind, sent: &Value, got: &Value) -> Option<String> {
    match (kind, sent, got) {
        (_, Value::Array(sent), Value::Array(got)) if sent.len() == got.len() => {
            let mut items = sent.iter().zip(got).enumerate();
            items.find_map(|(at, (sent, got))| Some(format!("[{at}]{}", differs(kind, sent, got)?)))
        }
        (FieldKind::Message(id), Value::Object(_), Value::Object(_)) => {
            missing(id, sent, got).map(|below| format!(".{below}"))
        }
        (FieldKind::Map(of), Value::Object(sent), Value::Object(got)) if sent.len() == got.len() => {
            sent.iter().find_map(|(key, sent)| differs(of, sent, got.get(key)?))
        }
        (FieldKind::Float, sent, got) if sent.as_f64() == got.as_f64() => None,
        _ if sent == got => None,
        _ => Some(format!(": sent {sent}, got {got}")),
    }
}

#[tokio::test]
async fn an_object_of_every_kind_is_created_got_listed_replaced_and_deleted() {
    let bench = Bench::start().await;
    let seed = seed();
    let mut specs = Specs::new(seed);
    for kind in kinds() {
        let path = path(&kind);
        for round in 0..2 {
            let spec = specs.spec(&kind);
            let why = format!("TRUEUP_SEED={seed}, {} of round {round}: {spec}", kind.name);
            let respelt = specs.respelt(kind.spec, &spec);
            let created = Bench::ok(&bench.send("POST", &path, Some(&body(&kind, "a", &respelt))).await, &why);
            assert_eq!(missing(kind.spec, &spec, &created["spec"]), None, "{why}\n{}", created["spec"]);

            let got = Bench::ok(&bench.get(&format!("{path}/a")).await, &why);
            assert_eq!(got["spec"], created["spec"], "{why}");
            assert_eq!(got["metadata"], created["metadata"], "{why}");
            let list = Bench::ok(&bench.get(&format!("{path}?report_fields")).await, &why);
            assert_eq!(list["items"].as_array().map(Vec::len), Some(1), "{why}");
            assert_eq!(list["items"][0]["get_spec"], got["spec"], "{why}");

            // What was answered means the same when it is sent; of a secret nothing was.
            let sent = if kind.secrets().is_empty() { got.clone() } else { body(&kind, "a", &spec) };
            let replaced = Bench::ok(&bench.send("PUT", &format!("{path}/a"), Some(&sent)).await, &why);
            assert_eq!(replaced, json!({}));
            let after = Bench::ok(&bench.get(&format!("{path}/a")).await, &why);
            assert_eq!(after["spec"], got["spec"], "{why}");
            let version = |object: &Value| object["resource_version"].as_str().unwrap().parse::<u64>().unwrap();
            assert!(version(&after) > version(&got), "{why}");

            assert_eq!(bench.send("DELETE", &format!("{path}/a"), None).await.status, 200, "{why}");
            assert_eq!(bench.get(&format!("{path}/a")).await.status, 404, "{why}");
        }
    }
}

#[tokio::test]
async fn a_spec_without_anything_is_filled_or_refused_for_what_it_needs() {
    let bench = Bench::start().await;
    let mut needs = BTreeMap::new();
    for kind in kinds() {
        let answer = bench.send("POST", &path(&kind), Some(&body(&kind, "a", &json!({})))).await;
        if answer.status == 200 {
            let spec = &answer.json()["spec"];
            for field in &kind::message(kind.spec).fields {
                let group = kind::message(kind.spec).group_of(field.name);
                let is_filled = group.is_some_and(|group| group.is_filled && group.default == Some(field.name));
                let is_hidden = field.is(Flag::ReadOnly) || field.is(Flag::Unanswered);
                let is_shown = !is_hidden && (group.is_none() || is_filled);
                assert_eq!(spec.get(field.name).is_some(), is_shown, "{} {}: {spec}", kind.name, field.name);
            }
        } else {
            assert_eq!(answer.status, 400, "{}: {}", kind.name, answer.text);
            needs.insert(kind.name, answer.json()["message"].as_str().expect("a message").to_owned());
        }
    }
    assert_eq!(needs["certificate"], "Field spec.certificate_url should be not nil, got an empty string in request.");
    assert!(needs.len() < 60, "{needs:#?}");
}

#[tokio::test]
async fn what_is_not_set_is_answered_with_the_zero_value_of_its_sort() {
    let bench = Bench::start().await;
    let check = json!({"http_health_check": {"path": "/a", "use_origin_server_name": {}}, "timeout": 1, "interval": 10,
        "healthy_threshold": 3, "unhealthy_threshold": 2});
    let spec = bench.made("healthcheck", "a", &check).await;
    assert_eq!(spec["http_health_check"]["expected_status_codes"], json!([]));
    assert_eq!(spec["http_health_check"]["headers"], json!({}));
    assert_eq!(spec["http_health_check"]["use_http2"], false);
    assert_eq!(spec["jitter_percent"], 0);
    let pool = json!({"origin_servers": [{"public_ip": {"ip": "192.0.2.4"}}], "no_tls": {}, "port": 80});
    let spec = bench.made("origin_pool", "a", &pool).await;
    assert_eq!(spec["advanced_options"], Value::Null);
    assert_eq!(spec["endpoint_selection"], "DISTRIBUTED");
    assert_eq!(spec["origin_servers"][0]["labels"], json!({}));
    assert_eq!(spec.get("use_tls"), None);
}

#[tokio::test]
async fn a_reference_gets_what_it_leaves_out() {
    let bench = Bench::start().await;
    let pool = json!({"origin_servers": [{"public_ip": {"ip": "192.0.2.4"}}], "no_tls": {}, "port": 80,
        "healthcheck": [{"name": "check"}]});
    let spec = bench.made("origin_pool", "a", &pool).await;
    let view = json!({"name": "check", "namespace": "shop", "tenant": "acme-abcdefgh"});
    assert_eq!(spec["healthcheck"], json!([view]));
    let cluster = json!({"endpoints": [{"name": "ep-a", "namespace": "other", "kind": "endpoint"}]});
    let spec = bench.made("cluster", "a", &cluster).await;
    let mut reference = spec["endpoints"][0].clone();
    assert_eq!(reference["uid"].as_str().expect("a uid").len(), 36);
    reference["uid"] = "".into();
    let full =
        json!({"kind": "endpoint.Object", "uid": "", "tenant": "acme-abcdefgh", "namespace": "other", "name": "ep-a"});
    assert_eq!(reference, full);
}

#[tokio::test]
async fn what_breaks_a_rule_is_refused_in_the_words_of_the_service() {
    let bench = Bench::start().await;
    let pool = |key: &str, value: Value| {
        let mut spec = json!({"origin_servers": [{"public_ip": {"ip": "192.0.2.4"}}], "no_tls": {}});
        spec[key] = value;
        spec
    };
    let cases = [
        (pool("port", json!(70_000)), "Field spec.port should be within lte 65535, got 70000 in request."),
        (pool("port", json!({})), "Field spec.port should be a number, got an object in request."),
        (
            pool("use_tls", json!({})),
            "Field spec.use_tls should be the only one of its group, got no_tls too in request.",
        ),
        (
            pool("origin_servers", json!([{"public_ip": {"ip": "x"}}])),
            "Field spec.origin_servers[0].public_ip.ip should be within ipv4 true, got x in request.",
        ),
        (
            pool("healthcheck", json!([{"namespace": "shop"}])),
            "Field spec.healthcheck[0].name should be not nil, got an empty string in request.",
        ),
        (
            pool("endpoint_selection", json!("NOTHING")),
            "Field spec.endpoint_selection should be one of DISTRIBUTED, LOCAL_ONLY, LOCAL_PREFERRED, got NOTHING in request.",
        ),
    ];
    for (spec, message) in cases {
        assert_eq!(bench.refused("origin_pool", &spec).await, message);
    }
}

#[tokio::test]
async fn of_two_options_below_the_top_the_last_one_is_kept() {
    let bench = Bench::start().await;
    let servers = json!([{"public_ip": {"ip": "192.0.2.4"}, "public_name": {"dns_name": "a.example.net"}}]);
    let spec = bench.made("origin_pool", "a", &json!({"origin_servers": servers, "no_tls": {}, "port": 80})).await;
    let server = &spec["origin_servers"][0];
    assert!(server.get("public_ip").is_some() != server.get("public_name").is_some(), "{server}");
}

#[tokio::test]
async fn of_two_names_of_one_number_the_first_is_answered() {
    let bench = Bench::start().await;
    let spec = json!({"secondary": {"primary_servers": ["192.0.2.4"], "tsig_key_algorithm": "HMAC_MD5"}});
    let spec = bench.made("dns_zone", "example-net", &spec).await;
    assert_eq!(spec["secondary"]["tsig_key_algorithm"], "UNDEFINED");
}

#[tokio::test]
async fn unknown_keys_are_dropped() {
    let bench = Bench::start().await;
    let spec = json!({"as_numbers": [65000], "no_such_key": 1});
    assert_eq!(bench.made("bgp_asn_set", "a", &spec).await, json!({"as_numbers": [65000]}));
}

#[tokio::test]
async fn an_object_is_only_in_the_namespaces_of_its_kind() {
    let bench = Bench::start().await;
    let path = "/api/config/dns/namespaces/shop/dns_zones";
    let answer = bench.send("POST", path, Some(&json!({"metadata": {"name": "example.net"}, "spec": {}}))).await;
    let message = "Field metadata.namespace should be one of system for a dns_zone, got shop in request.";
    assert_eq!((answer.status, answer.json()["message"].as_str()), (400, Some(message)));
    let answer = bench.get(path).await;
    assert_eq!((answer.status, answer.json()), (200, json!({"items": [], "errors": []})));
}

#[tokio::test]
async fn a_secret_is_answered_without_what_it_says() {
    let bench = Bench::start().await;
    let key = json!({"blindfold_secret_info": {"location": "string:///c2VhbGVk"}});
    let spec = json!({"certificate_url": "string:///YQ==", "private_key": key});
    let spec = bench.made("certificate", "a", &spec).await;
    let stripped = json!({"blindfold_secret_info_internal": null, "secret_encoding_type": "EncodingNone"});
    assert_eq!(spec["private_key"], stripped);
    let got = bench.get("/api/config/namespaces/shop/certificates/a").await.text;
    assert!(!got.contains("c2VhbGVk"), "{got}");
}

#[tokio::test]
async fn what_a_replace_cannot_say_stays_and_what_cannot_change_is_refused() {
    let bench = Bench::start().await;
    let site = |site_type: &str| json!({"site_type": site_type, "site_selector": {"expressions": ["a in (b)"]}});
    let before = bench.made("virtual_site", "a", &site("CUSTOMER_EDGE")).await;
    let one = "/api/config/namespaces/shop/virtual_sites/a";
    let kind = kind::find("virtual_site").expect("a kind");
    let answer = bench.send("PUT", one, Some(&body(&kind, "a", &site("REGIONAL_EDGE")))).await;
    assert_eq!(answer.status, 200, "{}", answer.text);
    assert_eq!(bench.get(one).await.json()["spec"], before);
}

#[tokio::test]
async fn objects_of_every_kind_are_there_after_a_restart() {
    let directory = tempfile::tempdir().expect("a directory");
    let storage = Storage::File(directory.path().join("tenant.redb"));
    let time = Time::new();
    let start = || async {
        let running = trueup::sandbox::start(options(storage.clone(), &time)).await.expect("a sandbox");
        Bench { running, client: super::client(), time: time.clone() }
    };
    let seed = seed();
    let mut specs = Specs::new(seed);
    let bench = start().await;
    let mut before = Vec::new();
    for kind in kind::all() {
        let spec = if kind.name == "endpoint" { json!({"ip": "192.0.2.4"}) } else { specs.spec(&kind) };
        Bench::ok(&bench.send("POST", &path(&kind), Some(&body(&kind, "a", &spec))).await, &format!("{seed} {spec}"));
        before.push(bench.get(&format!("{}/a", path(&kind))).await.json());
    }
    bench.running.stop().await;
    let bench = start().await;
    for (kind, before) in kind::all().zip(before) {
        assert_eq!(bench.get(&format!("{}/a", path(&kind))).await.json(), before, "{}", kind.name);
    }
}
