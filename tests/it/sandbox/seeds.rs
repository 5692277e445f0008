//! Objects that no request could make, and references to endpoints.

use serde_json::{Value, json};
use trueup::sandbox::{Referrer, Seed};

use super::{Bench, SHOP, endpoint};

fn seed(seed: Value) -> Seed {
    serde_json::from_value(seed).unwrap()
}

fn referrer() -> Referrer {
    Referrer {
        kind: "ves.io.schema.cluster.Object".into(),
        uid: "0f5e".into(),
        tenant: "acme-abcdefgh".into(),
        namespace: "shop".into(),
        name: "pool-a".into(),
    }
}

#[tokio::test]
async fn an_object_of_a_view_is_shown_as_such_and_refuses_changes() {
    let bench = Bench::start().await;
    let view = json!({"kind": "origin_pool", "namespace": "shop", "name": "pool", "uid": "0f5e"});
    let owned = seed(json!({
        "metadata": {"namespace": "shop", "name": "owned"}, "owner_view": view,
        "raw_spec": {"where": null, "protocol": "TCP", "port": 80, "health_check_port": 0, "snat_pool": null},
    }));
    bench.running.seed(vec![owned]).await.unwrap();
    let path = format!("{SHOP}/owned");
    let got = bench.get(&path).await.json();
    assert_eq!(got["system_metadata"]["owner_view"], view);
    assert!(got["spec"].get("ip").is_none());
    assert_eq!(bench.get(SHOP).await.json()["items"][0]["owner_view"], view);
    for (method, body) in [("PUT", Some(&endpoint("owned"))), ("DELETE", None)] {
        let answer = bench.send(method, &path, body).await;
        assert_eq!((answer.status, answer.json()["code"].as_u64()), (400, Some(9)), "{method}");
    }
}

#[tokio::test]
async fn a_raw_spec_is_kept_as_it_is() {
    let bench = Bench::start().await;
    let spec = json!({"protocol": "SCTP", "quantum": {"x": [1]}, "where": {"site": {"network_type": "NEW"}}});
    let odd = json!([{"metadata": {"namespace": "shop", "name": "odd"}, "raw_spec": spec, "uid": "chosen"}]);
    assert_eq!(bench.send("PUT", "/sandbox/endpoints", Some(&odd)).await.status, 200);
    let list = bench.get(&format!("{SHOP}?report_fields")).await.json();
    assert_eq!(list["items"][0]["get_spec"], spec);
    assert_eq!(list["items"][0]["uid"], "chosen");
}

#[tokio::test]
async fn a_seeded_deletion_waits_for_its_finalizers() {
    let bench = Bench::start().await;
    let going = |name: &str, finalizers: Value| {
        seed(json!({
            "metadata": {"namespace": "shop", "name": name}, "spec": {"ip": "10.0.0.1"},
            "deletion_timestamp": "2025-12-02T08:25:30Z", "finalizers": finalizers,
        }))
    };
    bench.running.seed(vec![going("held", json!(["cleanup"])), going("free", json!([]))]).await.unwrap();
    let held = bench.get(&format!("{SHOP}/held")).await.json();
    assert_eq!(held["system_metadata"]["finalizers"], json!(["cleanup"]));
    assert_eq!(held["system_metadata"]["deletion_timestamp"], "2025-12-02T08:25:30Z");
    bench.time.pass(60);
    assert_eq!(bench.get(&format!("{SHOP}/held")).await.status, 200);
    assert_eq!(bench.get(&format!("{SHOP}/free")).await.status, 404);
}

#[tokio::test]
async fn status_is_reported_by_a_get_and_by_a_list_that_asks() {
    let bench = Bench::start().await;
    let status = json!([{"conditions": [{"type": "Operational", "status": "Failed", "reason": "no route"}]}]);
    let failed = seed(json!({
        "metadata": {"namespace": "shop", "name": "ep-a"}, "spec": {"ip": "10.0.0.1"}, "status": status,
    }));
    bench.running.seed(vec![failed]).await.unwrap();
    assert_eq!(bench.get(&format!("{SHOP}/ep-a")).await.json()["status"], status);
    assert_eq!(bench.get(&format!("{SHOP}/ep-a?response_format=3")).await.json()["status"], status);
    assert_eq!(bench.get(SHOP).await.json()["items"][0]["status_set"], json!([]));
    let empty = bench.get(&format!("{SHOP}?report_status_fields=")).await.json();
    assert_eq!(empty["items"][0]["status_set"], json!([]));
    let asked = bench.get(&format!("{SHOP}?report_status_fields=all")).await.json();
    assert_eq!(asked["items"][0]["status_set"], status);
}

#[tokio::test]
async fn referring_objects_are_reported_and_hold_back_a_careful_delete() {
    let bench = Bench::start().await;
    let referred = json!({
        "metadata": {"namespace": "shop", "name": "ep-a"}, "spec": {"ip": "192.0.2.1"}, "referring_objects": [referrer()],
    });
    bench.running.seed(vec![seed(referred)]).await.unwrap();
    let path = format!("{SHOP}/ep-a");
    let wanted = json!([{
        "kind": "ves.io.schema.cluster.Object", "uid": "0f5e", "tenant": "acme-abcdefgh", "namespace": "shop",
        "name": "pool-a",
    }]);
    let got = bench.get(&format!("{path}?response_format=5")).await.json();
    assert_eq!(got["referring_objects"], wanted);
    assert_eq!(bench.get(&path).await.json()["referring_objects"], json!([]));
    let refused = bench.send("DELETE", &path, Some(&json!({"fail_if_referred": true}))).await;
    assert_eq!((refused.status, refused.json()["code"].as_u64()), (400, Some(9)));
    assert!(refused.text.contains("shop/pool-a"), "{}", refused.text);
    let by_query = bench.send("DELETE", &format!("{path}?fail_if_referred=true"), None).await;
    assert_eq!(by_query.status, 200);
}

#[tokio::test]
async fn a_mistyped_delete_body_deletes_nothing() {
    let bench = Bench::start().await;
    bench.has("ep-a").await;
    let path = format!("{SHOP}/ep-a");
    let answer = bench.send("DELETE", &path, Some(&json!({"fail_if_referred": "yes"}))).await;
    assert_eq!(answer.status, 400);
    assert_eq!(bench.get(&path).await.status, 200);
}

#[tokio::test]
async fn a_seed_with_a_wrong_spec_is_refused() {
    let bench = Bench::start().await;
    let wrong = seed(json!({"metadata": {"namespace": "shop", "name": "x"}, "spec": {"port": 70_000}}));
    assert!(bench.running.seed(vec![wrong]).await.unwrap_err().to_string().contains("spec.port"));
    let both = seed(json!({"metadata": {"namespace": "shop", "name": "x"}, "spec": {}, "raw_spec": {}}));
    assert!(bench.running.seed(vec![both]).await.unwrap_err().to_string().contains("both"));
    // A replace keeps fields of it.
    let scalar = json!([{"kind": "nat_policy", "metadata": {"namespace": "shop", "name": "x"}, "raw_spec": 7}]);
    let answer = bench.send("PUT", "/sandbox/endpoints", Some(&scalar)).await;
    assert_eq!((answer.status, answer.text.contains("invalid type")), (400, true), "{}", answer.text);
    let missing = bench.running.interfere("shop", "nobody", "spec.port", &json!(81)).await;
    assert!(missing.unwrap_err().to_string().contains("shop/nobody"));
}

#[tokio::test]
async fn a_concurrent_change_bumps_the_version() {
    let bench = Bench::start().await;
    bench.has("ep-a").await;
    let before = bench.version("ep-a").await;
    bench.running.interfere("shop", "ep-a", "metadata.labels.tier", &json!("web")).await.unwrap();
    assert_ne!(bench.version("ep-a").await, before);
    assert_eq!(bench.get(&format!("{SHOP}/ep-a")).await.json()["metadata"]["labels"], json!({"tier": "web"}));
}

#[tokio::test]
async fn a_long_list_is_whole() {
    let bench = Bench::start().await;
    let names: Vec<_> = (0..120).map(|at| format!("ep-{at:03}")).collect();
    let of = |name: &String| {
        let labels = json!({"last": name[5..]});
        let description = "long ".repeat(200);
        let metadata = json!({"namespace": "shop", "name": name, "labels": labels, "description": description});
        seed(json!({"metadata": metadata, "spec": {"ip": "10.0.0.1"}}))
    };
    bench.running.seed(names.iter().map(of).collect()).await.unwrap();
    let listed = async |query: &str| {
        let list = bench.get(&format!("{SHOP}{query}")).await.json();
        let items = list["items"].as_array().unwrap();
        items.iter().map(|item| item["name"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(listed("").await, names);
    assert_eq!(listed("?report_fields&report_status_fields=x").await, names);
    let last: Vec<_> = names.iter().filter(|name| name.ends_with('7')).cloned().collect();
    assert_eq!(listed("?report_fields&label_filter=last=7").await, last);
}
