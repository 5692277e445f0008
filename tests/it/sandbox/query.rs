//! Security events over HTTP, in both layouts, and what holds for all areas that a tenant file fills.

use std::path::PathBuf;

use serde_json::{Value, json};
use trueup::sandbox::{RequestEffect, Storage, Tenant};

use super::schema::Published;
use super::{Bench, options};

const TENANT: &str = "\
kind: tenant
name: acme-cuxnbbdn
namespaces: [shop, pay]
sites:
- {name: ce01, nodes: [master-0, master-1], upgrade: {to: crt-20260201-0179, started: -5m, duration: 10m}}
- {name: ce02, upgrade: {to: crt-20260201-0179, to_os: 9.2026.17, started: -1h, duration: 10m, ends: failed, reason: disk full}}
- {name: ce03}
software_versions:
- {version: crt-20251002-0027}
- {version: crt-20260201-0179, os_at_least: 9.2026.10}
ddos_events:
- id: open-one
  name: net_1
  description: a flood
  creator: SOC
  ip: 198.51.100.0/24
  network_id: n1
  mitigation_id: m1
  start_time: -1h
  attachments:
  - {attachment_id: a1, attachment_type: ATTACHMENT_TYPE_PCAP, name: one.pcap, size_bytes: 12345, start_time: -50m}
- {id: old-one, name: net_2, start_time: -9d, end_time: -8d, network_id: n2}
security_events:
- generate: {seed: 7, count: 2600, from: -24h}
- {time: -1m, namespace: pay, event: {sec_event_type: waf_sec_event, city: Nowhere, asn: 64511, tags: [a, b]}}
endpoints:
- {metadata: {name: ledger, namespace: pay}, spec: {ip: 192.0.2.80, port: 5432}}
";

pub const UNIFORM: &str = "/api/config/namespaces";
const PUBLISHED: &str = "/api/data/namespaces";
const DAY: &str = "2025-12-01T08:25:26Z";

pub async fn bench() -> Bench {
    Bench::with(|options| options.tenant_file = Some(Tenant::read(TENANT, options.clock.now()).unwrap())).await
}

fn events(answer: &Value) -> Vec<Value> {
    let texts = answer["events"].as_array().unwrap().iter();
    texts.map(|event| serde_json::from_str(event.as_str().unwrap()).unwrap()).collect()
}

async fn ask(bench: &Bench, namespace: &str, body: &Value) -> Value {
    let answer = bench.send("POST", &format!("{UNIFORM}/{namespace}/events"), Some(body)).await;
    assert_eq!(answer.status, 200, "{}", answer.text);
    answer.json()
}

/// The message of a refused query.
async fn refused(bench: &Bench, body: &Value) -> String {
    let answer = bench.send("POST", &format!("{UNIFORM}/system/events"), Some(body)).await;
    assert_eq!((answer.status, answer.json()["code"].clone()), (400, json!(3)), "{}", answer.text);
    answer.json()["message"].as_str().unwrap().to_owned()
}

fn hits(answer: &Value) -> usize {
    answer["total_hits"].as_str().unwrap().parse().unwrap()
}

#[tokio::test]
async fn a_query_without_times_sees_the_last_ten_minutes() {
    let bench = bench().await;
    let recent = ask(&bench, "system", &json!({})).await;
    let by_hand = ask(
        &bench,
        "system",
        &json!({"start_time": "2025-12-02T08:15:26.599586464Z", "end_time": "2025-12-02T08:25:26.599586464Z"}),
    )
    .await;
    assert!(hits(&recent) > 1);
    assert_eq!(recent, by_hand);
    let unix = ask(&bench, "system", &json!({"start_time": "1764577526"})).await;
    assert!(hits(&unix) > 0);
    assert_eq!((recent["scroll_id"].as_str(), &recent["aggs"]), (Some(""), &json!({})));
}

#[tokio::test]
async fn relative_times_are_resolved_against_the_time_of_reading() {
    let tenant = "kind: tenant\nnamespaces: [shop]\nsecurity_events:\n\
        - {time: -5m, namespace: shop, event: {city: Lyon}}\n\
        - generate: {seed: 1, count: 10, from: -1d}\n";
    let bench =
        Bench::with(|options| options.tenant_file = Some(Tenant::read(tenant, options.clock.now()).unwrap())).await;
    let written = ask(&bench, "shop", &json!({"query": r#"{city="Lyon"}"#})).await;
    assert_eq!(events(&written)[0]["@timestamp"], "2025-12-02T08:20:26.599Z");
    assert_eq!(hits(&ask(&bench, "shop", &json!({"start_time": DAY})).await), 0, "a query without an end is short");
    assert_eq!(hits(&ask(&bench, "shop", &json!({"start_time": DAY, "end_time": "1764663927"})).await), 11);
}

#[tokio::test]
async fn an_end_of_the_time_that_is_missing_follows_from_the_other() {
    let bench = bench().await;
    let now = "2025-12-02T08:25:26.599586464Z";
    let cases = [
        ("", "", "2025-12-02T08:15:26.599586464Z", now),
        ("", "2026-11-21T10:00:00Z", "2026-11-21T09:50:00Z", "2026-11-21T10:00:00Z"),
        ("2026-11-21T10:00:00Z", "", "2026-11-21T10:00:00Z", "2026-11-21T10:10:00Z"),
        ("1570007981", "2019-10-02T11:00:00+01:00", "2019-10-02T09:19:41Z", "2019-10-02T10:00:00Z"),
        // At the edge of the calendar nothing overflows.
        ("", "-009999-01-02T01:59:59Z", "-009999-01-02T01:59:59Z", "-009999-01-02T01:59:59Z"),
    ];
    for (start, end, ..) in cases {
        ask(&bench, "shop", &json!({"start_time": start, "end_time": end})).await;
    }
    let queries = bench.get("/sandbox/queries").await.json();
    for ((start, end, from, to), query) in cases.iter().zip(queries["queries"].as_array().unwrap()) {
        assert_eq!((&query["start_time"], &query["end_time"]), (&json!(from), &json!(to)), "{start} {end}");
    }
    assert_eq!(queries["queries"].as_array().unwrap().len(), cases.len());
    let far = refused(&bench, &json!({"start_time": "999999999999999999"})).await;
    assert!(far.ends_with("which is neither RFC 3339 nor unix seconds"), "{far}");
}

#[tokio::test]
async fn the_operators_a_namespace_and_both_layouts_select() {
    let bench = bench().await;
    let all = hits(&ask(&bench, "system", &json!({"start_time": DAY, "end_time": "1764663926"})).await);
    let count = async |namespace: &str, query: &str| {
        let body = json!({"start_time": DAY, "end_time": "1764663926", "query": query, "limit": 1});
        let uniform = ask(&bench, namespace, &body).await;
        let path = format!("{PUBLISHED}/{namespace}/app_security/events");
        let published = bench.send("POST", &path, Some(&body)).await.json();
        assert_eq!(uniform, published);
        hits(&uniform)
    };
    assert_eq!(all, 2601);
    assert_eq!(count("shop", "{}").await + count("pay", "{}").await, all);
    assert_eq!(count("nowhere", "").await, 0);
    let waf = count("system", r#"{sec_event_type="waf_sec_event"}"#).await;
    let others = count("system", r#"{sec_event_type!="waf_sec_event"}"#).await;
    assert!(waf > 0 && others > 0);
    assert_eq!(waf + others, all);
    let german = count("system", r#"{country=~"Germ.*",city!~"Berlin"}"#).await;
    assert!(german > 0 && german < all);
    assert_eq!(count("system", r#"{country=~"Germ"}"#).await, 0);
    assert_eq!(count("system", r#"{virtual_host!="x"}"#).await, 0);
    assert_eq!(count("pay", r#"{city="Nowhere",asn="64511",tags="b",namespace="pay"}"#).await, 1);
    assert!(count("system", r#"{signatures.id="200002147"}"#).await > 0);
    assert!(count("system", r#"{policy_hits.policy_hits.result="deny"}"#).await > 0);
    let path = format!("{PUBLISHED}/system/app_security/all_ns_events");
    let answer = bench.send("POST", &path, Some(&json!({"start_time": DAY, "end_time": "1764663926"}))).await;
    assert_eq!(hits(&answer.json()), all);
}

#[tokio::test]
async fn events_are_sorted_by_time_and_limited() {
    let bench = bench().await;
    for (sort, ascending) in [(json!("ASCENDING"), true), (json!("DESCENDING"), false), (Value::Null, false)] {
        let body = json!({"start_time": DAY, "end_time": "1764663926", "sort": sort, "limit": "40"});
        let answer = ask(&bench, "system", &body).await;
        let mut times: Vec<_> =
            events(&answer).iter().map(|event| event["@timestamp"].as_str().unwrap().to_owned()).collect();
        assert_eq!(times.len(), 40);
        if !ascending {
            times.reverse();
        }
        assert!(times.is_sorted());
    }
    let most = ask(&bench, "system", &json!({"start_time": DAY, "end_time": "1764663926"})).await;
    assert_eq!((events(&most).len(), hits(&most)), (500, 2601));
}

#[tokio::test]
async fn what_is_wrong_with_a_query_is_reported() {
    let bench = bench().await;
    for (body, said) in [
        (json!({"query": "{city=}"}), "malformed query at position 7: expected a value in double quotes"),
        (json!({"limit": 50.0}), "Field body.limit should be an integer, got 50.0 in request."),
        (json!({"limit": []}), "Field body.limit should be a number, got a list in request."),
        (json!({"sort": "UP"}), "Field body.sort should be one of DESCENDING, ASCENDING, got UP in request."),
        (json!({"sort_by": 7}), "Field body.sort_by should be a string, got a number in request."),
        (json!({"namespace": false}), "Field body.namespace should be a string, got a boolean in request."),
        (json!({"aggs": []}), "Field body.aggs should be an object in request."),
        (json!(["{}", "", ""]), "Field body should be an object, got a list in request."),
        (json!({"start_time": "soon"}), "`start_time` is `soon`, which is neither RFC 3339 nor unix seconds"),
        (
            json!({"start_time": "20", "end_time": "10"}),
            "the time range is backwards: `start_time` 1970-01-01T00:00:20Z is after `end_time` 1970-01-01T00:00:10Z",
        ),
        (json!({"aggs": {"a": {"field_aggregation": {"field": "TOWN"}}}}), "aggregation `a`: unknown field `TOWN`"),
        (json!({"scroll": "yes"}), "Field body.scroll should be a boolean, got a string in request."),
    ] {
        assert_eq!(refused(&bench, &body).await, said);
    }
}

#[tokio::test]
async fn a_scroll_gives_every_event_once_in_both_layouts() {
    let bench = bench().await;
    let query = json!({"start_time": DAY, "end_time": "1764663926", "limit": 300, "scroll": true});
    let whole = ask(&bench, "shop", &query).await;
    let total = hits(&whole);
    for layout in ["uniform", "published", "parameter"] {
        let mut answer = whole.clone();
        let mut seen = Vec::new();
        loop {
            seen.extend(answer["events"].as_array().unwrap().iter().cloned());
            assert_eq!(hits(&answer), total);
            let id = answer["scroll_id"].as_str().unwrap().to_owned();
            if id.is_empty() {
                break;
            }
            // Each answer starts the two minutes anew.
            bench.time.pass(10);
            let path = format!("{PUBLISHED}/shop/app_security/events/scroll");
            let body = json!({"namespace": "shop", "scroll_id": id});
            answer = match layout {
                "uniform" => ask(&bench, "shop", &body).await,
                "published" => bench.send("POST", &path, Some(&body)).await.json(),
                _ => bench.get(&format!("{path}?scroll_id={id}")).await.json(),
            };
        }
        assert_eq!(seen.len(), total, "{layout}");
        seen.sort_by_key(ToString::to_string);
        seen.dedup();
        assert_eq!(seen.len(), total, "{layout}");
        bench.time.pass(-10 * i64::try_from(total / 300).unwrap());
    }
}

#[tokio::test]
async fn a_scroll_id_expires_two_minutes_after_it_was_given() {
    let bench = bench().await;
    let answer = ask(&bench, "shop", &json!({"start_time": DAY, "end_time": "1764663926", "scroll": true})).await;
    let body = json!({"scroll_id": answer["scroll_id"]});
    bench.time.pass(120);
    ask(&bench, "shop", &body).await;
    bench.time.pass(1);
    let late = bench.send("POST", &format!("{UNIFORM}/shop/events"), Some(&body)).await;
    assert_eq!((late.status, late.json()["code"].clone()), (404, json!(5)));
    assert!(late.json()["message"].as_str().unwrap().starts_with("the scroll id has expired"));
    let elsewhere = bench.send("POST", &format!("{UNIFORM}/pay/events"), Some(&body)).await;
    assert_eq!(elsewhere.status, 400);
    let damaged = bench.send("POST", &format!("{UNIFORM}/pay/events"), Some(&json!({"scroll_id": "x"}))).await;
    assert_eq!(damaged.status, 400);
}

#[tokio::test]
async fn aggregations_count_every_match() {
    let bench = bench().await;
    let body = json!({"start_time": DAY, "end_time": "1764663926", "limit": 1, "aggs": {
        "by_type": {"field_aggregation": {"field": "SEC_EVENT_TYPE", "topk": 100}},
        "top": {"field_aggregation": {"field": "COUNTRY", "topk": 2}},
        "cities": {"cardinality_aggregation": {"field": "CITY"}},
        "hours": {"date_aggregation": {"step": "1h"}},
    }});
    let answer = ask(&bench, "system", &body).await;
    let buckets = |name: &str, kind: &str| answer["aggs"][name][kind]["buckets"].as_array().unwrap().clone();
    let sum = |buckets: &[Value]| -> usize {
        buckets.iter().map(|bucket| bucket["count"].as_str().unwrap().parse::<usize>().unwrap()).sum()
    };
    assert_eq!(sum(&buckets("by_type", "field_aggregation")), 2601);
    assert_eq!(sum(&buckets("hours", "date_aggregation")), 2601);
    assert_eq!(buckets("top", "field_aggregation").len(), 2);
    assert_eq!(buckets("top", "field_aggregation")[0]["key"], "United States");
    assert!(
        answer["aggs"]["cities"]["cardinality_aggregation"]["count"].as_str().unwrap().parse::<u32>().unwrap() > 10
    );
    let path = format!("{PUBLISHED}/system/app_security/events/aggregation");
    let alone = bench.send("POST", &path, Some(&body)).await.json();
    assert_eq!(alone, json!({"total_hits": "2601", "aggs": answer["aggs"]}));
}

#[tokio::test]
async fn date_buckets_begin_at_the_start_of_the_query_and_the_answer_names_their_step() {
    let bench = bench().await;
    let start = 1_764_577_526_250_i64;
    let ask_for = |step: &str| {
        json!({"start_time": "2025-12-01T08:25:26.250Z", "end_time": "1764663926",
            "aggs": {"t": {"date_aggregation": {"step": step}}}})
    };
    for (asked, step, seconds) in [("30m", "30m", 1_800), ("90s", "90s", 90), ("10s", "90s", 90)] {
        let answer = ask(&bench, "system", &ask_for(asked)).await;
        let dates = &answer["aggs"]["t"]["date_aggregation"];
        assert_eq!(dates["step"], step, "asked for {asked}");
        let mut total = 0;
        for bucket in dates["buckets"].as_array().unwrap() {
            let time: i64 = bucket["time"].as_str().unwrap().parse().unwrap();
            assert_eq!((time - start).rem_euclid(seconds * 1_000), 0, "{bucket}");
            assert!(time >= start && bucket.get("key").is_none(), "{bucket}");
            total += bucket["count"].as_str().unwrap().parse::<u64>().unwrap();
        }
        assert_eq!(total.to_string(), answer["total_hits"]);
    }
}

#[tokio::test]
async fn the_sort_values_are_read_as_the_types_that_they_are_answered_with() {
    let bench = bench().await;
    let body = |values: Value| json!({"start_time": DAY, "end_time": "1764663926", "sort_values": values});
    let answer = ask(&bench, "shop", &body(Value::Null)).await;
    let last = &answer["last_sort_values"];
    assert!(last["last_timestamp"].as_f64().is_some_and(|time| time > 1_764_577_526_000.0), "{last}");
    ask(&bench, "shop", &body(last.clone())).await;
    ask(&bench, "shop", &body(json!({"last_doc_id": "7", "last_timestamp": "1764577526000.5"}))).await;
    for wrong in [json!({"last_timestamp": "2025-12-01T08:25:26Z"}), json!({"last_timestamp": true}), json!("x")] {
        let refused = bench.send("POST", &format!("{UNIFORM}/shop/events"), Some(&body(wrong.clone()))).await;
        assert_eq!(refused.status, 400, "{wrong}");
    }
}

#[tokio::test]
async fn every_query_leaves_a_record_and_a_scroll_leaves_none() {
    let bench = bench().await;
    let answer = ask(&bench, "shop", &json!({"start_time": DAY, "end_time": "1764663926", "scroll": true})).await;
    ask(&bench, "shop", &json!({"scroll_id": answer["scroll_id"]})).await;
    refused(&bench, &json!({"query": "{"})).await;
    let queries = bench.get("/sandbox/queries").await.json();
    assert_eq!(queries["queries"].as_array().unwrap().len(), 1);
    assert_eq!(queries["queries"][0]["namespace"], "shop");
    let effects: Vec<_> = bench.running.log().iter().map(|entry| (entry.operation, entry.effect)).collect();
    let query = "security-event-query";
    assert_eq!(effects, [(query, RequestEffect::Done), (query, RequestEffect::None), (query, RequestEffect::None)]);
}

#[tokio::test]
async fn what_the_reference_only_shows_an_example_of_is_not_implemented() {
    let bench = bench().await;
    for (method, path) in [
        ("DELETE", "events"),
        ("DELETE", "events/open-one"),
        ("POST", "events/open-one"),
        ("POST", "upgradable_sw_versions"),
        ("DELETE", "upgradable_sw_versions"),
        ("POST", "upgradable_sw_versions/x"),
        ("DELETE", "upgradable_sw_versions/x"),
        ("GET", "upgrade_status"),
        ("POST", "upgrade_status"),
        ("DELETE", "upgrade_status"),
        ("POST", "upgrade_status/ce01"),
        ("DELETE", "upgrade_status/ce01"),
    ] {
        let answer = bench.send(method, &format!("{UNIFORM}/system/{path}"), None).await;
        assert_eq!((answer.status, answer.json()["code"].clone()), (501, json!(12)), "{method} {path}");
    }
}

#[tokio::test]
async fn everything_is_there_after_a_restart() {
    let directory = tempfile::tempdir().unwrap();
    let storage = Storage::File(directory.path().join("tenant.redb"));
    let first = Bench::with(|options| {
        options.storage = storage.clone();
        options.tenant_file = Some(Tenant::read(TENANT, options.clock.now()).unwrap());
    })
    .await;
    let event = format!("{UNIFORM}/system/events/open-one");
    let edited = first.send("PUT", &event, Some(&json!({"name": "net_9"}))).await.json();
    let query = json!({"start_time": DAY, "end_time": "1764663926", "scroll": true});
    let page = ask(&first, "system", &query).await;
    let next = ask(&first, "system", &json!({"scroll_id": page["scroll_id"]})).await;
    first.time.pass(60);
    let status = first.get(&format!("{UNIFORM}/system/upgrade_status/ce01")).await.json();
    let time = first.time.clone();
    first.running.stop().await;

    // Without the file, with it, and with another one.
    let mut second = options(storage.clone(), &time);
    let bench = Bench {
        running: trueup::sandbox::start(second.clone()).await.unwrap(),
        client: super::client(),
        time: time.clone(),
    };
    assert_eq!(bench.get(&event).await.json(), edited);
    assert_eq!(events(&ask(&bench, "system", &query).await), events(&page));
    assert_eq!(ask(&bench, "system", &json!({"scroll_id": page["scroll_id"]})).await["events"], next["events"]);
    assert_eq!(bench.get(&format!("{UNIFORM}/system/upgrade_status/ce01")).await.json(), status);
    let queries = bench.get("/sandbox/queries").await.json();
    assert_eq!(queries["queries"].as_array().unwrap().len(), 2);
    assert_eq!(bench.get("/sandbox/health").await.json()["tenant"], "acme-cuxnbbdn");
    bench.send("DELETE", "/api/config/namespaces/pay/endpoints/ledger", None).await;
    bench.running.stop().await;

    time.pass(7 * 86_400);
    second.tenant_file = Some(Tenant::read(TENANT, second.clock.now()).unwrap());
    let bench = Bench {
        running: trueup::sandbox::start(second.clone()).await.unwrap(),
        client: super::client(),
        time: time.clone(),
    };
    assert_eq!(bench.get(&event).await.json(), edited);
    assert!(hits(&ask(&bench, "system", &json!({})).await) > 1, "the events are recent again");
    assert_eq!(bench.get("/api/config/namespaces/pay/endpoints/ledger").await.status, 404, "a delete stays");
    bench.running.stop().await;

    second.tenant_file = Some(Tenant::read("kind: tenant\n", second.clock.now()).unwrap());
    let bench = Bench { running: trueup::sandbox::start(second).await.unwrap(), client: super::client(), time };
    assert_eq!(bench.get(&event).await.status, 404);
    assert_eq!(hits(&ask(&bench, "system", &query).await), 0);
}

#[tokio::test]
async fn the_example_is_a_tenant() {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("examples/06-tenant/tenant.yaml");
    let text = std::fs::read_to_string(path).unwrap();
    let bench =
        Bench::with(|options| options.tenant_file = Some(Tenant::read(&text, options.clock.now()).unwrap())).await;
    let recent = ask(&bench, "pay", &json!({"query": r#"{src_ip="192.0.2.7"}"#})).await;
    assert_eq!(events(&recent)[0]["tenant"], "acme-cuxnbbdn");
    assert_eq!(bench.get("/api/config/namespaces/shop/endpoints").await.json()["items"].as_array().unwrap().len(), 3);
    let status = bench.get(&format!("{UNIFORM}/system/upgrade_status/ce-berlin")).await.json();
    assert_eq!(status["upgrade_status"]["sw_upgrade_progress"]["status"], "IN_PROGRESS");
}

#[tokio::test]
async fn every_answer_agrees_with_the_published_schemas() {
    let files = ["app_security_events.json", "infraprotect_events.json", "upgrade_status.json"];
    let [security, ddos, upgrade] = files.map(Published::read);
    let bench = bench().await;
    let mut problems = Vec::new();
    let mut check = |published: &Published, schema: &str, answer: super::Answer| {
        assert_eq!(answer.status, 200, "{}", answer.text);
        problems.extend(published.problems(schema, &answer.json()));
        answer.json()
    };

    let query = json!({
        "start_time": DAY, "end_time": "1764663926", "limit": 20, "scroll": true,
        "aggs": {"a": {"field_aggregation": {"field": "CITY"}}},
    });
    assert_eq!(security.problems("app_securitySecurityEventsRequest", &query), [] as [String; 0]);
    let response = "app_securitySecurityEventsResponse";
    for path in [
        format!("{UNIFORM}/shop/events"),
        format!("{PUBLISHED}/shop/app_security/events"),
        format!("{PUBLISHED}/system/app_security/all_ns_events"),
        format!("{PUBLISHED}/shop/app_security/events/aggregation"),
    ] {
        check(&security, response, bench.send("POST", &path, Some(&query)).await);
    }
    let page = bench.send("POST", &format!("{PUBLISHED}/shop/app_security/events"), Some(&query)).await.json();
    let scroll = json!({"namespace": "shop", "scroll_id": page["scroll_id"]});
    assert_eq!(security.problems("app_securitySecurityEventsScrollRequest", &scroll), [] as [String; 0]);
    let path = format!("{PUBLISHED}/shop/app_security/events/scroll");
    check(&security, response, bench.send("POST", &path, Some(&scroll)).await);
    check(&security, response, bench.get(&format!("{path}?scroll_id={}", page["scroll_id"].as_str().unwrap())).await);
    check(&security, response, bench.send("POST", &format!("{UNIFORM}/shop/events"), Some(&scroll)).await);

    let published = "/api/infraprotect/namespaces/system/infraprotect";
    let body = json!({"start_time": "2025-11-01T00:00:00Z", "namespace": "system"});
    assert_eq!(ddos.problems("infraprotectListEventsRequest", &body), [] as [String; 0]);
    check(&ddos, "infraprotectListEventsResponse", bench.get(&format!("{UNIFORM}/system/events")).await);
    let list = bench.send("POST", &format!("{published}/events"), Some(&body)).await;
    let list = check(&ddos, "infraprotectListEventsResponse", list);
    assert_eq!(list["events"].as_array().unwrap().len(), 2);
    let edit = json!({"name": "net_9", "event_attachments": list["events"][0]["attachments"], "event_id": "open-one"});
    assert_eq!(ddos.problems("infraprotectEditEventRequest", &edit), [] as [String; 0]);
    for path in [format!("{UNIFORM}/system/events/open-one"), format!("{published}/event/open-one")] {
        check(&ddos, "infraprotectGetEventResponse", bench.get(&path).await);
        check(&ddos, "infraprotectEditEventResponse", bench.send("PUT", &path, Some(&edit)).await);
    }

    let versions = "upgrade_statusGetUpgradableSWVersionsResponse";
    check(&upgrade, versions, bench.get("/api/maurice/upgradable_sw_versions").await);
    check(&upgrade, versions, bench.get(&format!("{UNIFORM}/system/upgradable_sw_versions")).await);
    for site in ["ce01", "ce02", "ce03"] {
        let status = "upgrade_statusGetUpgradeStatusResponse";
        check(&upgrade, status, bench.get(&format!("{UNIFORM}/system/upgrade_status/{site}")).await);
        let path = format!("/api/maurice/namespaces/system/sites/{site}/upgrade_status");
        check(&upgrade, status, bench.get(&path).await);
    }
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}

#[tokio::test]
async fn a_limit_above_500_and_other_sort_fields_are_not_refused() {
    let bench = bench().await;
    let query = |limit: Value, sort_by: &str| json!({"start_time": DAY, "end_time": "1764663926", "limit": limit, "sort_by": sort_by});
    for limit in [json!(501), json!("100000"), json!(-1), json!(0), Value::Null] {
        let answer = ask(&bench, "system", &query(limit.clone(), "timestamp")).await;
        assert_eq!((events(&answer).len(), hits(&answer)), (500, 2601), "{limit}");
    }
}

#[tokio::test]
async fn a_query_is_read_with_and_without_braces_and_prefix() {
    let bench = bench().await;
    let mut found = Vec::new();
    for query in [
        r#"{country="United States"}"#,
        r#"country="United States""#,
        r#"query={country="United States"}"#,
        r#"query=country="United States","#,
    ] {
        let body = json!({"start_time": DAY, "end_time": "1764663926", "query": query});
        found.push(hits(&ask(&bench, "system", &body).await));
    }
    assert!(found[0] > 0 && found.iter().all(|hits| *hits == found[0]), "{found:?}");
}

#[tokio::test]
async fn a_query_goes_on_after_the_last_sort_values() {
    let bench = bench().await;
    for sort in ["DESCENDING", "ASCENDING"] {
        let (mut seen, mut after) = (Vec::new(), Value::Null);
        loop {
            let body = json!({"startTime": DAY, "endTime": "1764663926", "limit": 400, "sort": sort,
                "search_after": true, "sort_values": after});
            let answer = ask(&bench, "shop", &body).await;
            after = answer["last_sort_values"].clone();
            if after.is_null() {
                break;
            }
            seen.extend(answer["events"].as_array().unwrap().iter().map(ToString::to_string));
        }
        let whole = ask(&bench, "shop", &json!({"start_time": DAY, "end_time": "1764663926"})).await;
        assert_eq!(seen.len(), hits(&whole));
        seen.sort();
        seen.dedup();
        assert_eq!(seen.len(), hits(&whole));
    }
}
