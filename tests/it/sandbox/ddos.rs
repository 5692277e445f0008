//! DDoS events over HTTP, in both layouts: lists by time and ids, one event, and its edit.

use serde_json::{Value, json};
use trueup::sandbox::Tenant;

use super::Bench;
use super::query::{UNIFORM, bench};

#[tokio::test]
async fn a_list_has_what_overlaps_the_time_latest_first() {
    let tenant = "kind: tenant\nddos_events:\n\
        - {id: old, name: a, start_time: -11d, end_time: -10d, network_id: n1}\n\
        - {id: long, name: b, start_time: -9d, network_id: n2}\n\
        - {id: new, name: c, start_time: -2h, end_time: -1h, network_id: n3}\n";
    let bench =
        Bench::with(|options| options.tenant_file = Some(Tenant::read(tenant, options.clock.now()).unwrap())).await;
    for (filter, expected) in [
        ("", vec!["new", "long"]),
        ("start_time=2025-11-01T00:00:00Z", vec!["new", "long", "old"]),
        ("end_time=2025-12-02T06:00:00Z", vec!["long"]),
        ("network_id=n3", vec!["new"]),
        ("mitigation_id=other", vec![]),
    ] {
        let answer = bench.get(&format!("{UNIFORM}/system/events?{filter}")).await.json();
        let events = answer["events"].as_array().unwrap().iter();
        assert_eq!(events.map(|event| event["id"].as_str().unwrap()).collect::<Vec<_>>(), expected, "{filter}");
    }
}

#[tokio::test]
async fn ddos_events_are_listed_shown_and_edited_in_both_layouts() {
    let bench = bench().await;
    let uniform = format!("{UNIFORM}/system/events");
    let published = "/api/infraprotect/namespaces/system/infraprotect";
    let ids = |answer: &Value| -> Vec<String> {
        answer["events"].as_array().unwrap().iter().map(|event| event["id"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(ids(&bench.get(&uniform).await.json()), ["open-one"]);
    assert_eq!(
        ids(&bench.get(&format!("{uniform}?start_time=2025-11-01T00:00:00Z")).await.json()),
        ["open-one", "old-one"]
    );
    assert!(ids(&bench.get(&format!("{uniform}?network_id=n2")).await.json()).is_empty());
    let list = async |body: Value| ids(&bench.send("POST", &format!("{published}/events"), Some(&body)).await.json());
    assert_eq!(list(json!({"start_time": "2025-11-01T00:00:00Z", "network_id": "n2"})).await, ["old-one"]);
    assert_eq!(list(json!({"mitigation_id": "m1"})).await, ["open-one"]);
    let backwards = bench.get(&format!("{uniform}?start_time=20&end_time=10")).await;
    assert_eq!(backwards.status, 400);

    let event = bench.get(&format!("{uniform}/open-one")).await.json();
    assert_eq!(event, bench.get(&format!("{published}/event/open-one")).await.json());
    assert_eq!(event, bench.get(&format!("{uniform}?event_id=open-one")).await.json());
    assert_eq!(bench.get(&format!("{uniform}?event_id=absent")).await.status, 404);
    assert_eq!(event["event"]["end_time"], Value::Null);
    assert_eq!(event["event"]["attachments"][0]["size_bytes"], "12345");
    assert_eq!(event["event"]["has_attachment"], false);
    let attachments = bench.get(&format!("{published}/event/open-one/attachments")).await.json();
    assert_eq!(attachments["attachments"], event["event"]["attachments"]);

    let edit = json!({"description": "ended", "end_time": "2025-12-02T08:20:00Z"});
    let edited = bench.send("PUT", &format!("{uniform}/open-one"), Some(&edit)).await.json();
    assert_eq!(edited["event"]["name"], "net_1");
    assert_eq!(edited, bench.get(&format!("{uniform}/open-one")).await.json());
    let again = bench.send("PUT", &format!("{published}/event/open-one"), Some(&json!({"name": "net_9"}))).await.json();
    assert_eq!(
        (again["event"]["name"].as_str(), again["event"]["description"].as_str()),
        (Some("net_9"), Some("ended"))
    );

    for (method, path) in [("GET", "absent"), ("PUT", "absent")] {
        let answer = bench.send(method, &format!("{uniform}/{path}"), Some(&json!({}))).await;
        assert_eq!((answer.status, answer.json()["message"].clone()), (404, json!("no event absent")));
    }
    let elsewhere = bench.get(&format!("{UNIFORM}/shop/events")).await;
    assert_eq!(elsewhere.status, 400);
}

#[tokio::test]
async fn an_edit_is_as_lenient_as_proto3_json_and_refuses_wrong_types() {
    let bench = bench().await;
    let path = format!("{UNIFORM}/system/events/open-one");
    let edit = async |body: Value| bench.send("PUT", &path, Some(&body)).await;
    let lenient = json!({"name": null, "endTime": null, "eventAttachments": [
        {"attachmentId": "a", "attachment_type": 2, "size_bytes": 77, "start_time": null}, {"name": "b"},
        {"attachment_id": null, "attachmentType": "ATTACHMENT_TYPE_PCAP", "sizeBytes": "-7"}, null]});
    let edited = edit(lenient).await.json();
    let attachments = &edited["event"]["attachments"];
    assert_eq!(
        (&attachments[0]["attachment_type"], &attachments[0]["size_bytes"]),
        (&json!("ATTACHMENT_TYPE_BINARY"), &json!("77"))
    );
    assert_eq!(edited["event"]["has_attachment"], true);
    assert_eq!((&attachments[1]["size_bytes"], &attachments[3]["size_bytes"]), (&json!("0"), &json!("0")));
    assert_eq!(
        (&attachments[2]["attachment_type"], &attachments[2]["size_bytes"]),
        (&json!("ATTACHMENT_TYPE_PCAP"), &json!("-7"))
    );
    assert_eq!(attachments[3]["attachment_type"], "ATTACHMENT_TYPE_UNKNOWN");
    for wrong in [
        json!(["net_9"]),
        json!("net_9"),
        json!({"name": 7}),
        json!({"namespace": false}),
        json!({"event_attachments": {}}),
        json!({"event_attachments": [["a"]]}),
        json!({"event_attachments": [{"size_bytes": "x"}]}),
        json!({"event_attachments": [{"size_bytes": 1.5}]}),
        json!({"event_attachments": [{"attachment_type": "PCAP"}]}),
        json!({"end_time": 1_764_663_926}),
    ] {
        let answer = edit(wrong.clone()).await;
        assert_eq!((answer.status, answer.json()["code"].clone()), (400, json!(3)), "{wrong}: {}", answer.text);
    }
    let early = edit(json!({"end_time": "2025-12-02T07:00:00Z"})).await;
    assert!(early.json()["message"].as_str().unwrap().contains("is before"), "{}", early.text);
}
