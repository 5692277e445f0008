//! The five endpoint operations, statement by statement.

use serde_json::{Value, json};

use super::{Bench, SHOP, endpoint};

#[tokio::test]
async fn a_create_answers_with_metadata_system_metadata_and_spec_alone() {
    let bench = Bench::start().await;
    let answer = bench.create(&endpoint("ep-a")).await;
    assert_eq!(answer.status, 200);
    let mut created = answer.json();
    assert_eq!(created["system_metadata"]["uid"].as_str().unwrap().len(), 36);
    created["system_metadata"]["uid"] = json!("uid");
    let wanted = json!({
        "metadata": {
            "name": "ep-a", "namespace": "shop", "labels": {}, "annotations": {}, "description": "", "disable": false,
        },
        "system_metadata": {
            "uid": "uid", "creation_timestamp": "2025-12-02T08:25:26.599586464Z", "deletion_timestamp": null,
            "modification_timestamp": null, "initializers": null, "finalizers": [], "tenant": "acme-abcdefgh",
            "creator_class": "prism", "creator_id": "user@acme-abcdefgh", "object_index": 0, "owner_view": null,
            "labels": {},
        },
        "spec": {
            "where": null, "protocol": "TCP", "port": 8080, "health_check_port": 0, "ip": "10.1.2.3",
            "snat_pool": null,
        },
    });
    assert_eq!(created, wanted);
}

#[tokio::test]
async fn a_get_holds_every_root_key_in_every_format() {
    let bench = Bench::start().await;
    bench.has("ep-a").await;
    let formats = [
        ("", "0", vec!["metadata", "system_metadata", "spec"]),
        ("GET_RSP_FORMAT_DEFAULT", "0", vec!["metadata", "system_metadata", "spec"]),
        ("GET_RSP_FORMAT_FOR_CREATE", "1", vec!["create_form"]),
        ("GET_RSP_FORMAT_FOR_REPLACE", "2", vec!["replace_form"]),
        ("GET_RSP_FORMAT_STATUS", "3", vec![]),
        ("GET_RSP_FORMAT_READ", "4", vec!["metadata", "system_metadata", "spec"]),
        ("GET_RSP_FORMAT_REFERRING_OBJECTS", "5", vec![]),
        ("GET_RSP_FORMAT_BROKEN_REFERENCES", "6", vec![]),
    ];
    for (name, number, filled) in formats {
        let query = if name.is_empty() { String::new() } else { format!("?response_format={name}") };
        let by_name = bench.get(&format!("{SHOP}/ep-a{query}")).await.json();
        let by_number = bench.get(&format!("{SHOP}/ep-a?response_format={number}")).await.json();
        assert_eq!(by_name, by_number, "{name}");
        assert!(by_name["resource_version"].as_str().unwrap().parse::<u64>().unwrap() > 0);
        let root = by_name.as_object().unwrap();
        assert_eq!(root.len(), 10, "{name}: {by_name}");
        for key in ["create_form", "replace_form", "metadata", "system_metadata", "spec"] {
            assert_eq!(root[key].is_object(), filled.contains(&key), "{name}: {key}");
            assert_eq!(root[key].is_null(), !filled.contains(&key), "{name}: {key}");
        }
        for key in ["status", "referring_objects", "deleted_referred_objects", "disabled_referred_objects"] {
            assert_eq!(root[key], json!([]), "{name}: {key}");
        }
    }
}

#[tokio::test]
async fn the_form_for_a_create_has_no_name_and_that_for_a_replace_no_version() {
    let bench = Bench::start().await;
    bench.has("ep-a").await;
    let form = bench.get(&format!("{SHOP}/ep-a?response_format=1")).await.json();
    assert_eq!(form["create_form"]["metadata"]["name"], "");
    assert_eq!(form["create_form"]["spec"]["ip"], "10.1.2.3");
    let form = bench.get(&format!("{SHOP}/ep-a?response_format=2")).await.json();
    assert_eq!(form["replace_form"]["metadata"]["name"], "ep-a");
    assert_eq!(form["replace_form"]["resource_version"], "");
}

#[tokio::test]
async fn an_unknown_format_is_refused() {
    let bench = Bench::start().await;
    bench.has("ep-a").await;
    for format in ["7", "-1", "READ", "get_rsp_format_read"] {
        let answer = bench.get(&format!("{SHOP}/ep-a?response_format={format}")).await;
        assert_eq!((answer.status, answer.json()["code"].as_u64()), (400, Some(3)), "{format}");
    }
}

#[tokio::test]
async fn a_list_shows_specs_only_when_report_fields_is_there() {
    let bench = Bench::start().await;
    let mut body = endpoint("ep-a");
    body["metadata"]["disable"] = json!(true);
    bench.create(&body).await;
    let list = bench.get(SHOP).await.json();
    assert_eq!(list["errors"], json!([]));
    let item = &list["items"][0];
    let short = json!({
        "tenant": "acme-abcdefgh", "namespace": "shop", "name": "ep-a", "uid": item["uid"], "description": "",
        "disabled": true, "labels": {}, "annotations": {}, "owner_view": null, "metadata": null,
        "system_metadata": null, "get_spec": null, "status_set": [],
    });
    assert_eq!(*item, short);
    let got = bench.get(&format!("{SHOP}/ep-a")).await.json();
    for query in ["report_fields", "report_fields=", "report_fields=anything", "report_fields=a&report_fields=b"] {
        let list = bench.get(&format!("{SHOP}?{query}")).await.json();
        let item = &list["items"][0];
        assert_eq!(item["metadata"], got["metadata"], "{query}");
        assert_eq!(item["system_metadata"], got["system_metadata"], "{query}");
        assert_eq!(item["get_spec"], got["spec"], "{query}");
        assert!(item.get("resource_version").is_none() && list.get("resource_version").is_none());
    }
}

#[tokio::test]
async fn a_list_of_an_unknown_namespace_is_empty() {
    let bench = Bench::start().await;
    let answer = bench.get("/api/config/namespaces/nowhere/endpoints").await;
    assert_eq!((answer.status, answer.json()), (200, json!({"items": [], "errors": []})));
}

#[tokio::test]
async fn a_label_filter_selects_items() {
    let bench = Bench::start().await;
    for (name, tier) in [("ep-a", "web"), ("ep-b", "db"), ("ep-c", "web")] {
        let mut body = endpoint(name);
        body["metadata"]["labels"] = json!({"tier": tier});
        bench.create(&body).await;
    }
    bench.has("ep-d").await;
    let cases = [
        ("tier=web", vec!["ep-a", "ep-c"]),
        ("tier%20in%20(web%2Cdb)", vec!["ep-a", "ep-b", "ep-c"]),
        ("tier+notin+(web)", vec!["ep-b", "ep-d"]),
        ("!tier", vec!["ep-d"]),
        ("tier,tier!=db", vec!["ep-a", "ep-c"]),
        ("", vec!["ep-a", "ep-b", "ep-c", "ep-d"]),
    ];
    for (selector, wanted) in cases {
        let list = bench.get(&format!("{SHOP}?label_filter={selector}")).await.json();
        let names: Vec<_> = list["items"].as_array().unwrap().iter().map(|item| item["name"].clone()).collect();
        assert_eq!(names, wanted, "{selector}");
    }
    let answer = bench.get(&format!("{SHOP}?label_filter=tier%20in%20web")).await;
    assert_eq!((answer.status, answer.json()["code"].as_u64()), (400, Some(3)));
    assert!(answer.text.contains("expected `(` at character 9"), "{}", answer.text);
}

#[tokio::test]
async fn a_second_create_is_a_conflict() {
    let bench = Bench::start().await;
    bench.has("ep-a").await;
    let answer = bench.create(&endpoint("ep-a")).await;
    let error = answer.json();
    assert_eq!((answer.status, &error["code"]), (409, &json!(6)));
    assert_eq!(error["message"], "Another endpoint with that name already exists");
    let detail = &error["details"][0];
    assert!(detail["type_url"].as_str().unwrap().starts_with("type.googleapis.com/"), "{error}");
    assert!(detail["value"].as_str().unwrap().contains("CreateResource"), "{error}");
}

#[tokio::test]
async fn a_replace_changes_the_whole_object_and_answers_with_nothing() {
    let bench = Bench::start().await;
    let mut body = endpoint("ep-a");
    body["metadata"]["labels"] = json!({"tier": "web"});
    bench.create(&body).await;
    let before = bench.get(&format!("{SHOP}/ep-a")).await.json();
    assert_eq!(before["system_metadata"]["modification_timestamp"], Value::Null);
    bench.time.pass(60);
    let body = json!({"metadata": {"description": "now by name"}, "spec": {"dns_name": "a.example"}});
    let answer = bench.send("PUT", &format!("{SHOP}/ep-a"), Some(&body)).await;
    assert_eq!((answer.status, answer.json()), (200, json!({})));
    let after = bench.get(&format!("{SHOP}/ep-a")).await.json();
    assert_eq!(after["metadata"]["labels"], json!({}));
    assert_eq!(after["metadata"]["description"], "now by name");
    assert_eq!(after["spec"]["dns_name"], "a.example");
    assert!(after["spec"].get("ip").is_none());
    assert_eq!(after["spec"]["port"], 0);
    let system = &after["system_metadata"];
    assert_eq!(system["modification_timestamp"], "2025-12-02T08:26:26.599586464Z");
    assert_eq!(system["creation_timestamp"], before["system_metadata"]["creation_timestamp"]);
    assert_eq!(system["uid"], before["system_metadata"]["uid"]);
    let number = |got: &Value| got["resource_version"].as_str().unwrap().parse::<u64>().unwrap();
    assert!(number(&after) > number(&before));
}

#[tokio::test]
async fn the_path_names_the_object_whatever_the_body_says() {
    let bench = Bench::start().await;
    let mut body = endpoint("ep-a");
    body["metadata"]["namespace"] = json!("elsewhere");
    assert_eq!(bench.create(&body).await.json()["metadata"]["namespace"], "shop");
    body["metadata"]["name"] = json!("other");
    let answer = bench.send("PUT", &format!("{SHOP}/ep-a"), Some(&body)).await;
    assert_eq!(answer.status, 200, "{}", answer.text);
    assert_eq!(bench.get(&format!("{SHOP}/other")).await.status, 404);
}

#[tokio::test]
async fn a_replace_at_another_version_is_refused_and_names_both() {
    let bench = Bench::start().await;
    bench.has("ep-a").await;
    let path = format!("{SHOP}/ep-a");
    let first = bench.version("ep-a").await;
    let mut body = endpoint("ep-a");
    body["resource_version"] = json!(first);
    assert_eq!(bench.send("PUT", &path, Some(&body)).await.status, 200);
    let second = bench.version("ep-a").await;
    let answer = bench.send("PUT", &path, Some(&body)).await;
    let error = answer.json();
    assert_eq!((answer.status, &error["code"]), (409, &json!(10)));
    let message = error["message"].as_str().unwrap();
    assert!(message.contains(&first) && message.contains(&second), "{message}");
    assert_eq!(bench.version("ep-a").await, second);
    for unversioned in [json!(null), json!("")] {
        body["resource_version"] = unversioned;
        assert_eq!(bench.send("PUT", &path, Some(&body)).await.status, 200);
    }
    body["resourceVersion"] = json!("1");
    body.as_object_mut().unwrap().remove("resource_version");
    assert_eq!(bench.send("PUT", &path, Some(&body)).await.status, 409);
}

#[tokio::test]
async fn what_is_not_there_is_404_with_code_5() {
    let bench = Bench::start().await;
    let path = format!("{SHOP}/nobody");
    let body = endpoint("nobody");
    for (method, body) in [("GET", None), ("PUT", Some(&body)), ("DELETE", None)] {
        let answer = bench.send(method, &path, body).await;
        assert_eq!((answer.status, answer.json()["code"].as_u64()), (404, Some(5)), "{method}");
        assert!(answer.text.contains("no endpoint"), "{}", answer.text);
    }
}

#[tokio::test]
async fn a_delete_is_gone_at_once_in_both_layouts() {
    let bench = Bench::start().await;
    let body = json!({"fail_if_referred": true, "name": "x", "namespace": "y"});
    for body in [None, Some(&body)] {
        bench.has("ep-a").await;
        let answer = bench.send("DELETE", &format!("{SHOP}/ep-a"), body).await;
        assert_eq!((answer.status, answer.json()), (200, json!({})));
        assert_eq!(bench.get(&format!("{SHOP}/ep-a")).await.status, 404);
    }
}

#[tokio::test]
async fn a_created_again_object_has_a_new_uid_and_a_higher_version() {
    let bench = Bench::start().await;
    bench.has("ep-a").await;
    let path = format!("{SHOP}/ep-a");
    let first = bench.get(&path).await.json();
    bench.send("DELETE", &path, None).await;
    bench.has("ep-a").await;
    let second = bench.get(&path).await.json();
    assert_ne!(first["system_metadata"]["uid"], second["system_metadata"]["uid"]);
    let number = |got: &Value| got["resource_version"].as_str().unwrap().parse::<u64>().unwrap();
    assert!(number(&second) > number(&first));
}

#[tokio::test]
async fn wrong_json_types_and_a_version_that_is_a_number_are_refused() {
    let bench = Bench::start().await;
    bench.has("ep-a").await;
    let path = format!("{SHOP}/ep-a");
    let good = endpoint("ep-a");
    let with = |pointer: &str, value: Value| {
        let mut body = good.clone();
        *body.pointer_mut(pointer).unwrap() = value;
        body
    };
    let mut numbered = good.clone();
    numbered["resource_version"] = json!(1);
    for wrong in [
        json!([good["metadata"], good["spec"]]),
        with("/metadata", json!(["ep-a"])),
        with("/spec", json!([])),
        with("/metadata/namespace", json!(false)),
        with("/spec/port", json!(80.0)),
        with("/spec/ip", json!(7)),
        numbered,
    ] {
        let answer = bench.send("PUT", &path, Some(&wrong)).await;
        assert_eq!((answer.status, answer.json()["code"].clone()), (400, json!(3)), "{wrong}: {}", answer.text);
    }
}

#[tokio::test]
async fn a_delete_may_have_a_body_of_null() {
    let bench = Bench::start().await;
    bench.has("ep-a").await;
    let answer = bench.send("DELETE", &format!("{SHOP}/ep-a"), Some(&Value::Null)).await;
    assert_eq!((answer.status, answer.text.as_str()), (200, "{}"));
    assert_eq!(bench.get(&format!("{SHOP}/ep-a")).await.status, 404);
    let list = bench.send("DELETE", &format!("{SHOP}/ep-a"), Some(&json!([]))).await;
    assert_eq!(list.status, 400);
}

#[tokio::test]
async fn query_names_are_read_in_every_spelling() {
    let bench = Bench::start().await;
    bench.has("ep-a").await;
    for name in ["report_fields", "reportFields", "report_fields[]", "reportFields%5B%5D"] {
        let list = bench.get(&format!("{SHOP}?{name}=spec")).await.json();
        assert_eq!(list["items"][0]["get_spec"]["port"], 8080, "{name}");
    }
    for name in ["label_filter", "labelFilter"] {
        let list = bench.get(&format!("{SHOP}?{name}=tier=web")).await.json();
        assert_eq!(list["items"], json!([]), "{name}");
    }
    for name in ["response_format", "responseFormat"] {
        let got = bench.get(&format!("{SHOP}/ep-a?{name}=GET_RSP_FORMAT_FOR_CREATE")).await.json();
        assert_eq!((&got["spec"], &got["create_form"]["spec"]["port"]), (&Value::Null, &json!(8080)), "{name}");
    }
}

#[tokio::test]
async fn a_head_is_not_implemented() {
    let bench = Bench::start().await;
    bench.has("ep-a").await;
    for path in [SHOP, &format!("{SHOP}/ep-a"), "/api/maurice/upgradable_sw_versions"] {
        assert_eq!(bench.send("HEAD", path, None).await.status, 501, "{path}");
    }
}

#[tokio::test]
async fn a_reference_to_a_network_without_a_namespace_is_to_one_of_the_namespace_of_the_endpoint() {
    let bench = Bench::start().await;
    let place = json!({"site": {"ref": [{"name": "paris"}], "refs": [{"name": "blue"}]}});
    let body = json!({"metadata": {"name": "a"}, "spec": {"ip": "10.0.0.7", "where": place}});
    let site = bench.create(&body).await.json()["spec"]["where"]["site"].clone();
    assert_eq!((&site["ref"][0]["namespace"], &site["refs"][0]["namespace"]), (&json!("system"), &json!("shop")));
}

#[tokio::test]
async fn a_request_is_read_as_liberally_as_the_services_decoder_reads_it() {
    let bench = Bench::start().await;
    let create = async |spec: &str, description: &str| {
        let body = format!(r#"{{"metadata": {{"name": "a", "description": "{description}"}}, "spec": {spec}}}"#);
        let answer = bench.send_text("POST", SHOP, &body).await;
        bench.send("DELETE", &format!("{SHOP}/a"), None).await;
        answer
    };
    // Of both spellings the one of JSON counts, wherever it stands.
    for spec in [
        r#"{"ip": "10.0.0.7", "health_check_port": 1, "healthCheckPort": 2}"#,
        r#"{"ip": "10.0.0.7", "healthCheckPort": 2, "health_check_port": 1}"#,
    ] {
        assert_eq!(create(spec, "").await.json()["spec"]["health_check_port"], 2, "{spec}");
    }
    // Half of a surrogate pair is the replacement character; a pair is a character.
    for (sent, read) in [
        (r"\ud83d!", "\u{fffd}!"),
        (r"\ude00\ud83d", "\u{fffd}\u{fffd}"),
        (r"\ud83d\ud83d\ude00", "\u{fffd}\u{1f600}"),
        (r"\\ud83d", r"\ud83d"),
        (r"\ud83d\ude00\u0041\ud83d\u0042", "\u{1f600}A\u{fffd}B"),
    ] {
        let answer = create(r#"{"ip": "10.0.0.7"}"#, sent).await;
        assert_eq!((answer.status, &answer.json()["metadata"]["description"]), (200, &json!(read)), "{sent}");
    }
    // A number without a name is kept as that number.
    for (number, read) in [(-1, json!(-1)), (99, json!(99)), (1, json!("VIRTUAL_NETWORK_SITE_LOCAL_INSIDE"))] {
        let spec = format!(r#"{{"where": {{"site": {{"ref": [{{"name": "x"}}], "network_type": {number}}}}}}}"#);
        assert_eq!(create(&spec, "").await.json()["spec"]["where"]["site"]["network_type"], read);
    }
    for wrong in ["1.5", "2147483648", "\"NO_SUCH_NETWORK\""] {
        let spec = format!(r#"{{"where": {{"site": {{"ref": [{{"name": "x"}}], "network_type": {wrong}}}}}}}"#);
        assert_eq!(create(&spec, "").await.status, 400, "{wrong}");
    }
}
