use crate::api::CurrentState;
use crate::kind::{Field, FieldKind, Flag, KindName, Message};
use proptest::prelude::*;
use serde_json::json;

use super::*;

fn shop() -> Namespace {
    Namespace::parse("shop").expect("a name")
}

/// An item as the service lists it, made from a name and a spec.
fn item(name: &str, spec: &Json) -> Json {
    json!({
        "tenant": "acme-cuxnbbdn", "namespace": "shop", "name": name, "uid": format!("uid-{name}"),
        "description": "", "disabled": false, "labels": {}, "annotations": {}, "owner_view": null,
        "metadata": {"name": name, "namespace": "shop", "labels": {"tier": "web"}, "annotations": {"a": "b"},
                     "description": "d", "disable": false},
        "system_metadata": {"uid": format!("uid-{name}"), "creation_timestamp": "2025-12-02T08:25:26.599586464Z",
                            "deletion_timestamp": null, "modification_timestamp": null, "initializers": null,
                            "finalizers": [], "tenant": "acme-cuxnbbdn", "creator_class": "prism",
                            "creator_id": "u@acme.com", "object_index": 0, "owner_view": null, "labels": {}},
        "get_spec": spec, "status_set": []
    })
}

fn plain() -> Json {
    json!({"where": null, "protocol": "TCP", "port": 8080, "health_check_port": 0, "ip": "10.1.2.3", "snat_pool": null})
}

/// What both readers of a list say of it.
fn both(body: &[u8]) -> ListRead {
    let checked = match check_list(&Scope::endpoints(shop()), body, |item| item) {
        Ok(items) => ListRead::Complete { items },
        Err(reason) => ListRead::Unknown { reason },
    };
    let read = read_list(&Scope::endpoints(shop()), body);
    assert_eq!(format!("{read:?}"), format!("{checked:?}"));
    read
}

fn read(items: &[Json]) -> ListRead {
    both(json!({"items": items, "errors": []}).to_string().as_bytes())
}

fn complete(items: &[Json]) -> Vec<LiveItem> {
    match read(items) {
        ListRead::Complete { items } => items.into_values().collect(),
        read => panic!("not complete: {read:?}"),
    }
}

fn unknown(body: &str) -> String {
    match both(body.as_bytes()) {
        ListRead::Unknown { reason } => reason,
        read => panic!("not unknown: {read:?}"),
    }
}

fn object(spec: &Json) -> LiveObject {
    match complete(&[item("a", spec)]).remove(0) {
        LiveItem::Object(object) => object,
        LiveItem::Unsupported(unsupported) => panic!("unsupported: {}", unsupported.reason),
    }
}

fn unsupported(spec: &Json) -> UnsupportedItem {
    match complete(&[item("a", spec)]).remove(0) {
        LiveItem::Object(object) => panic!("held: {object:?}"),
        LiveItem::Unsupported(unsupported) => unsupported,
    }
}

#[test]
fn an_item_with_the_nulls_of_the_service_is_an_object() {
    let object = object(&plain());
    assert_eq!(object.endpoint.key.to_string(), "shop/a");
    assert_eq!(object.endpoint.spec.unit("port"), json!(8080));
    assert_eq!(object.endpoint.spec.unit("target"), json!({"ip": "10.1.2.3"}));
    assert_eq!(object.endpoint.labels.get("tier").map(String::as_str), Some("web"));
    assert_eq!(object.endpoint.description, "d");
    assert_eq!((object.uid.as_str(), object.resource_version.as_deref()), ("uid-a", None));
    assert_eq!(object.creator.as_deref(), Some("u@acme.com"));
    assert!(!object.deleting && object.modified.is_none() && object.unknown.is_empty());
}

#[test]
fn a_list_is_complete_or_unknown_with_its_reason() {
    assert_eq!(
        unknown(r#"{"items":[],"errors":[{"code":"EPARTIAL","message":"shard 3 did not answer","error_obj":null}]}"#),
        "the service reported 1 error in it (EPARTIAL: shard 3 did not answer)"
    );
    assert_eq!(unknown(r#"{"code":13,"message":"internal","items":[]}"#), "it is an error");
    assert_eq!(unknown(r#"{"items":[],"errors":["x","y"]}"#), "the service reported 2 errors in it (\"x\"; \"y\")");
    assert_eq!(unknown(r#"{"items":[],"errors":{"code":"EPERMS"}}"#), "the service reported 1 error in it (EPERMS)");
    assert_eq!(unknown("{}"), "the answer holds no `items`");
    assert_eq!(unknown(r#"{"items":null}"#), "the answer holds no `items`");
    assert!(unknown(r#"{"items":[{"name":"a""#).starts_with("the list cannot be read: EOF"));
    assert!(unknown("[]").starts_with("the list cannot be read"));
    assert!(unknown(r#"{"items":{}}"#).starts_with("the list cannot be read"));
    assert!(unknown(r#"{"items":[]} x"#).starts_with("the list cannot be read"));
    let ignored = both(b"{\"items\":[],\"page\":\"\xff\"}");
    assert!(matches!(ignored, ListRead::Unknown { reason } if reason.contains("invalid utf-8 sequence")));
    assert_eq!(complete(&[]).len(), 0);
    assert!(matches!(read_list(&Scope::endpoints(shop()), b"{\"items\":[]}"), ListRead::Complete { .. }));
}

#[test]
fn an_item_without_key_or_spec_or_twice_makes_the_read_unknown() {
    let injected = |change: fn(&mut Json)| {
        let mut broken = item("b", &plain());
        change(&mut broken);
        let body = json!({"items": [item("a", &plain()), broken], "errors": []}).to_string();
        unknown(&body)
    };
    assert_eq!(injected(|item| item["get_spec"] = Json::Null), "the service sent no spec for `shop/b`");
    let nameless = injected(|item| {
        item["name"] = "".into();
        item["metadata"]["name"] = "".into();
    });
    assert_eq!(nameless, "an item of the list has no namespace or no name");
    let same = injected(|broken| *broken = item("a", &plain()));
    assert_eq!(same, "the list holds `shop/a` twice");
    let odd_and_nameless = injected(|item| *item = json!({"labels": 7, "disabled": "x"}));
    assert_eq!(odd_and_nameless, "an item of the list has no namespace or no name");
}

#[test]
fn items_of_the_vendor_are_left_out_whatever_they_hold_and_even_with_the_name_of_another() {
    let mut default = item("public", &plain());
    default["tenant"] = "ves-io".into();
    let mut odd = default.clone();
    odd["name"] = "ves-io-allow-all".into();
    odd["labels"] = "all".into();
    odd["metadata"] = Json::Null;
    odd["get_spec"] = Json::Null;
    let items = complete(&[default, item("public", &plain()), odd]);
    assert_eq!(items.iter().map(|item| item.key().to_string()).collect::<Vec<_>>(), ["shop/public"]);
}

#[test]
fn items_of_other_namespaces_are_left_out_whatever_they_hold() {
    let mut shared = item("a", &Json::Null);
    shared["namespace"] = "shared".into();
    shared["metadata"]["namespace"] = "shared".into();
    let items = complete(&[shared, item("b", &plain())]);
    assert_eq!(items.len(), 1);
    assert_eq!(items[0].key().to_string(), "shop/b");
}

#[test]
fn an_item_with_half_of_a_surrogate_pair_breaks_only_itself() {
    let mut odd = item("odd", &plain());
    odd["metadata"]["description"] = "HALF".into();
    let body = json!({"items": [odd, item("b", &plain())]}).to_string().replace("HALF", "x\\ud800");
    let ListRead::Complete { items } = both(body.as_bytes()) else { panic!("not complete") };
    let items: Vec<_> = items.into_values().collect();
    assert!(matches!(&items[1], LiveItem::Unsupported(odd) if odd.raw["metadata"]["description"] == "x\u{fffd}"));
    assert!(matches!(&items[0], LiveItem::Object(_)));
}

#[test]
fn an_item_of_an_odd_shape_breaks_only_itself() {
    let mut odd = item("odd", &plain());
    odd["metadata"]["labels"] = json!(["x"]);
    let items = complete(&[odd.clone(), item("b", &plain())]);
    assert!(
        matches!(&items[1], LiveItem::Unsupported(unsupported) if unsupported.key.name.as_str() == "odd" && unsupported.raw == odd)
    );
    assert!(matches!(&items[0], LiveItem::Object(_)));
}

#[test]
fn a_reference_of_an_item_without_a_namespace_is_to_that_of_the_item() {
    let spec = json!({"origin_servers": [], "port": 80, "no_tls": {}, "healthcheck": [{"name": "alive"}]});
    let body = json!({"items": [item("a", &spec)]}).to_string();
    let pool = KindName::find("origin_pool").expect("a kind");
    let ListRead::Complete { items } = read_list(&Scope { namespace: shop(), kind: pool }, body.as_bytes()) else {
        panic!("{body}")
    };
    let Some(LiveItem::Object(object)) = items.into_values().next() else { panic!("{body}") };
    let reference = json!({"name": "alive", "namespace": "shop"});
    assert_eq!(json!(object.endpoint)["spec"]["healthcheck"], json!([reference]));
}

#[test]
fn what_cannot_be_read_of_an_item_is_never_taken_for_nothing() {
    let kind = KindName::find("healthcheck").expect("a kind");
    let reason = |item: &Json, part: &str| {
        let body = json!({"items": [item], "errors": []}).to_string().replace("\"PART\"", part);
        let ListRead::Complete { items } = read_list(&Scope { namespace: shop(), kind }, body.as_bytes()) else {
            panic!("not complete")
        };
        match items.into_values().next() {
            Some(LiveItem::Unsupported(unsupported)) => unsupported.reason,
            read => panic!("{part}: {read:?}"),
        }
    };
    let deep = |levels: usize| format!("{}1{}", "{\"a\":".repeat(levels), "}".repeat(levels));
    let odd = item("a", &json!({"timeout": 3, "newer": "PART"}));
    for (part, says) in [
        ("1e999".to_owned(), "out of range"),
        (deep(500), "recursion limit exceeded"),
        (deep(64), "nested deeper than 64 levels"),
    ] {
        let said = reason(&odd, &part);
        assert!(said.contains(says), "{said}");
        let get = json!({"metadata": odd["metadata"], "spec": odd["get_spec"]}).to_string().replace("\"PART\"", &part);
        let key = Key { namespace: shop(), kind, name: Name::parse("a").expect("a name") };
        let read = CurrentState::read(&key, get.as_bytes());
        assert!(matches!(read, Err(_) | Ok(CurrentState::Unsupported(_))), "{part}");
    }
    for spec in [json!([]), json!(["x"]), json!("x"), json!(5), json!(true)] {
        assert_eq!(reason(&item("a", &spec), ""), "its spec is not a mapping");
    }
    for part in ["labels", "annotations"] {
        let mut odd = item("a", &json!({"timeout": 3}));
        (odd["metadata"], odd[part]) = (Json::Null, json!({"a": "PART"}));
        assert!(reason(&odd, "1").contains("invalid type: integer"), "{part}");
    }
}

#[test]
fn what_the_model_cannot_hold_keeps_its_key_and_its_json() {
    let no_target = json!({"protocol": "TCP", "port": 1});
    let unsupported_item = unsupported(&no_target);
    assert_eq!(unsupported_item.reason, "`spec` has none of `ip`, `dns_name`, `dns_name_advanced`, `service_info`");
    assert_eq!(unsupported_item.raw, item("a", &no_target));
    assert_eq!(unsupported(&json!({"ip": "10.0.0.1", "protocol": "SCTP"})).reason, "`spec.protocol` is `SCTP`");
    assert!(unsupported(&json!({"new_target": {}, "port": 1})).reason.contains("has none of `ip`"));
    let two = json!({"ip": "10.0.0.1", "dns_name": "a.b"});
    assert!(unsupported(&two).reason.contains("has both `dns_name` and `ip`"));
}

#[test]
fn integers_may_be_texts_and_zero_is_no_interval() {
    let object = object(&json!({
        "dns_name_advanced": {"name": "A.example.net.", "refresh_interval": 0}, "port": "443", "health_check_port": null
    }));
    assert_eq!(object.endpoint.spec.unit("port"), json!(443));
    assert_eq!(object.endpoint.spec.unit("target"), json!({"dns_name_advanced": {"name": "a.example.net"}}));
}

#[test]
fn an_unknown_field_is_noted_and_blocks_only_where_it_may_be_the_chosen_option() {
    let fields = |spec: Json| {
        let unknown = object(&spec).unknown;
        unknown.into_iter().map(|field| (field.path, field.blocks)).collect::<Vec<_>>()
    };
    let place = |site: Json| json!({"ip": "10.0.0.1", "where": {"site": site}});
    let reference = json!([{"name": "ce01", "new": 1, "kind": "site.Object"}]);
    assert_eq!(
        fields(
            json!({"ip": "10.0.0.1", "shiny": {"a": 1}, "unset": null, "zero": 0, "off": false, "none": [], "no": ""})
        ),
        [("spec.shiny".to_owned(), false)]
    );
    assert_eq!(
        fields(place(json!({"ref": [{"name": "ce01"}], "new_vip": {}}))),
        [("spec.where.site.new_vip".to_owned(), true)]
    );
    assert_eq!(
        fields(place(json!({"ref": [{"name": "ce01"}], "disable_internet_vip": {}, "new_vip": {}}))),
        [("spec.where.site.new_vip".to_owned(), false)]
    );
    assert_eq!(fields(place(json!({"ref": reference}))), [("spec.where.site.ref[0].new".to_owned(), false)]);
    assert_eq!(
        fields(json!({"ip": "10.0.0.1", "where": {"new_place": {}, "site": null}})),
        [("spec.where.new_place".to_owned(), true)]
    );
    assert_eq!(
        fields(json!({"ip": "10.0.0.1", "snat_pool": {"new_pool": {"x": 1}}})),
        [("spec.snat_pool.new_pool".to_owned(), true)]
    );
    assert_eq!(
        fields(json!({"dns_name_advanced": {"name": "a.b", "new_refresh": {}}})),
        [("spec.dns_name_advanced.new_refresh".to_owned(), true)]
    );
}

#[test]
fn the_levels_know_what_the_wire_form_knows() {
    let whole = [
        json!({"dns_name_advanced": {"name": "a.b", "refresh_interval": 60}, "protocol": "UDP", "port": 1,
               "health_check_port": 2, "snat_pool": {"no_snat_pool": {}},
               "where": {"site": {"ref": [{"kind": "site", "name": "x", "namespace": "system", "tenant": "t", "uid": "u"}],
                         "network_type": "VIRTUAL_NETWORK_PUBLIC", "enable_internet_vip": {}}}}),
        json!({"dns_name_advanced": {"name": "a.b", "strict_ttl": {}},
               "where": {"virtual_site": {"ref": [{"name": "x"}], "refs": [{"name": "y", "kind": "virtual_network"}]}}}),
        json!({"service_info": {"discovery_type": "NGINX_ONE", "service_selector": {"expressions": ["a=b"]}},
               "snat_pool": {"snat_pool": {"prefixes": ["10.0.0.0/8"], "ipv6_prefixes": ["2001:db8::/32"]}},
               "where": {"virtual_network": {"ref": [{"name": "x"}]}}}),
        json!({"serviceInfo": {"discoveryType": "K8S", "serviceName": "s"}, "healthCheckPort": 3,
               "where": {"virtualSite": {"ref": [{"name": "x"}], "networkType": "VIRTUAL_NETWORK_PUBLIC",
                         "disableInternetVip": {}}}}),
    ];
    for spec in whole {
        let (mut stripped, mut unknown) = (spec.clone(), Vec::new());
        strip(KindName::ENDPOINT.message(), &mut stripped, &mut "spec".to_owned(), &mut unknown);
        assert_eq!((&stripped, unknown), (&spec, Vec::new()));
        object(&spec);
    }
    for level_key in KindName::ENDPOINT.message().fields.iter().map(|field| field.name) {
        let mut spec = json!({"ip": "10.0.0.1"});
        spec[level_key] = json!(true);
        unsupported(&spec);
    }
}

#[test]
fn empty_lists_of_the_newer_fields_say_nothing() {
    let spec = json!({
        "ip": "10.0.0.1", "snat_pool": {"snat_pool": {"prefixes": ["10.0.0.0/8"], "ipv6_prefixes": []}},
        "where": {"site": {"ref": [{"name": "ce01"}], "refs": [], "disable_internet_vip": {}}},
    });
    let mut older = spec.clone();
    older["snat_pool"]["snat_pool"].as_object_mut().expect("a pool").remove("ipv6_prefixes");
    older["where"]["site"].as_object_mut().expect("a site").remove("refs");
    assert_eq!(object(&spec).endpoint, object(&older).endpoint);
    assert_eq!(object(&spec).unknown, []);
}

#[test]
fn the_newer_and_the_deprecated_fields_are_held() {
    let spec = object(&json!({
        "dns_name_advanced": {"name": "a.b", "refresh_interval": 0, "strict_ttl": {}},
        "snat_pool": {"snat_pool": {"prefixes": [], "ipv6_prefixes": ["2001:db8::1/32"]}},
        "where": {"site": {"ref": [{"name": "ce01"}], "refs": [{"name": "blue"}, {"name": "red"}],
                           "network_type": "VIRTUAL_NETWORK_MANAGEMENT"}},
    }));
    assert_eq!(spec.unknown, []);
    let unit = |name: &str| spec.endpoint.spec.unit(name);
    assert_eq!(unit("target"), json!({"dns_name_advanced": {"name": "a.b", "strict_ttl": {}}}));
    assert_eq!(unit("snat_pool"), json!({"snat_pool": {"ipv6_prefixes": ["2001:db8::/32"]}}));
    let networks = ["blue", "red"].map(|name| json!({"name": name, "namespace": "shop"}));
    let site = json!({"ref": [{"name": "ce01", "namespace": "system"}], "refs": networks,
        "network_type": "VIRTUAL_NETWORK_MANAGEMENT", "disable_internet_vip": {}});
    assert_eq!(unit("where"), json!({ "site": site }));
}

fn fresh() -> Json {
    json!({
        "create_form": null, "replace_form": null, "resource_version": "4711000123",
        "metadata": {"name": "a", "namespace": "shop", "labels": {}, "annotations": {}, "description": "",
                     "disable": false, "future": 1},
        "system_metadata": {"uid": "u1", "deletion_timestamp": "2025-12-02T08:25:26Z",
                            "owner_view": {"kind": "origin_pool", "name": "web", "namespace": "shop", "uid": "u2"}},
        "spec": {"ip": "10.1.2.3", "shiny": {"x": 1}}, "status": []
    })
}

fn current(key: &Key, answer: &Json) -> Result<CurrentState, String> {
    CurrentState::read(key, answer.to_string().as_bytes())
}

#[test]
fn an_object_of_known_fields_is_read_as_one_with_unknown_fields_but_for_them() {
    let key = Key::parse("shop/a").expect("a key");
    let mut known = fresh();
    for part in ["metadata", "spec"] {
        known[part].as_object_mut().expect("a map").retain(|field, _| field != "future" && field != "shiny");
    }
    let live = |answer: &Json| current(&key, answer).expect("an object").object().expect("an object").live.clone();
    assert!(live(&known).deleting);
    let mut stays = known.clone();
    stays["system_metadata"]["deletion_timestamp"] = json!("");
    assert!(!live(&stays).deleting, "a text that is unset");
    let of_unknown = LiveObject { unknown: Vec::new(), ..live(&fresh()) };
    assert_eq!(format!("{:?}", live(&known)), format!("{of_unknown:?}"));
}

#[test]
fn a_fresh_object_keeps_everything_and_its_version() {
    let key = Key::parse("shop/a").expect("a key");
    let fresh_object = current(&key, &fresh()).expect("an object");
    let fresh_object = fresh_object.object().expect("an object");
    let object = &fresh_object.live;
    assert_eq!(object.resource_version.as_deref(), Some("4711000123"));
    assert!(object.deleting);
    assert_eq!(object.owner_view.as_ref().map(|view| view.kind.as_str()), Some("origin_pool"));
    let unknown: Vec<&str> = object.unknown.iter().map(|field| field.path.as_str()).collect();
    assert_eq!(unknown, ["spec.shiny", "metadata.future"]);
    assert_eq!(
        *fresh_object.body(|_| ()).expect("a body").tree(),
        json!({"metadata": fresh()["metadata"], "spec": fresh()["spec"], "resource_version": "4711000123"})
    );
}

#[test]
fn an_answer_about_another_object_or_without_a_spec_is_none() {
    let key = Key::parse("shop/b").expect("a key");
    assert_eq!(current(&key, &fresh()).expect_err("another").as_str(), "it is about `shop/a`");
    let key = Key::parse("shop/a").expect("a key");
    let mut bare = fresh();
    bare["spec"] = Json::Null;
    assert_eq!(current(&key, &bare).expect_err("no spec").as_str(), "it holds no `spec`");
    assert_eq!(current(&key, &json!({})).expect_err("nothing").as_str(), "it holds no `metadata`");
}

/// Keys and texts that a library, a format or a program of ours could take for something else.
fn word() -> impl Strategy<Value = String> {
    const WORDS: &[&str] = &[
        "$serde_json::private::RawValue",
        "$serde_json::private::Number",
        "{\"a\":\"b\"}",
        "[",
        "<<",
        "${x}",
        "a\"b\\",
        "\u{2028}\u{1f600}",
        "ves.io/x",
        "",
        "x",
    ];
    prop::sample::select(WORDS).prop_map(str::to_owned)
}

fn texts() -> impl Strategy<Value = BTreeMap<String, String>> {
    prop::collection::btree_map(word(), word(), 0..4)
}

/// A value of a field that the model does not know.
fn value() -> impl Strategy<Value = Json> {
    let leaf = prop_oneof![
        Just(Json::Null),
        any::<bool>().prop_map(Json::from),
        any::<u64>().prop_map(Json::from),
        word().prop_map(Json::from)
    ];
    leaf.prop_recursive(3, 12, 3, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..3).prop_map(Json::from),
            prop::collection::btree_map(word(), inner, 0..3).prop_map(|map| Json::Object(map.into_iter().collect())),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_replace_that_changes_nothing_carries_everything_that_the_object_has(
        labels in texts(), annotations in texts(), unknown in prop::option::of((value(), value()))
    ) {
        let mut answer = fresh();
        answer["metadata"] = json!({"name": "a", "namespace": "shop", "labels": labels, "annotations": annotations,
            "description": "theirs", "disable": true});
        answer["spec"] = json!({"ip": "10.1.2.3", "port": 7});
        if let Some((in_metadata, in_spec)) = unknown {
            (answer["metadata"]["future"], answer["spec"]["shiny"]) = (in_metadata, in_spec);
        }
        let read = current(&Key::parse("shop/a").expect("a key"), &answer);
        let read = read.map_err(TestCaseError::fail)?;
        let object = read.object().expect("an object");
        let mut expected = json!({"metadata": answer["metadata"], "spec": answer["spec"], "resource_version": "4711000123"});
        let message = |part| if part == "spec" { KindName::ENDPOINT.message() } else { kind::metadata() };
        for part in ["metadata", "spec"] {
            expected[part] = kind::pruned(message(part), &expected[part], kind::Flag::CreateOnly);
        }
        let body = object.body(|_| ()).expect("a body");
        prop_assert_eq!(body.tree(), &expected);
        // The list says the same of it.
        let mut listed = item("a", &answer["spec"]);
        listed["metadata"] = answer["metadata"].clone();
        let listed = complete(&[listed]).remove(0);
        let LiveItem::Object(listed) = listed else { panic!("{listed:?}") };
        prop_assert_eq!(&listed.endpoint, &object.live.endpoint);
        prop_assert_eq!(listed.unknown.len(), object.live.unknown.len());
    }
}

/// JSON of an unknown field as a service could write it, which no tree of 64 bit numbers holds.
fn odd_text() -> impl Strategy<Value = String> {
    let leaf = prop_oneof![
        Just("null".to_owned()),
        "-?[1-9][0-9]{0,40}",
        "-?(0|[1-9][0-9]{0,12})\\.[0-9]{1,30}",
        "[1-9](\\.[0-9]{1,3})?[eE][+-]?[0-9]{1,2}",
        Just("-0".to_owned()),
        Just("18446744073709551616".to_owned()),
    ];
    leaf.prop_recursive(3, 12, 3, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 1..4).prop_map(|items| format!("[{}]", items.join(","))),
            prop::collection::vec(inner, 1..4).prop_map(|items| {
                let entries: Vec<String> =
                    items.iter().enumerate().map(|(number, item)| format!("\"k{number}\":{item}")).collect();
                format!("{{{}}}", entries.join(","))
            }),
        ]
    })
}

/// Answers with a place for an unknown field at each level, written as `@`.
const LEVELS: [&str; 7] = [
    r#"{"metadata":{"name":"a","namespace":"shop","future":@},"spec":{"ip":"10.1.2.3","port":7}}"#,
    r#"{"metadata":{"name":"a","namespace":"shop"},"spec":{"future":@,"ip":"10.1.2.3","port":7}}"#,
    r#"{"metadata":{"name":"a","namespace":"shop"},"spec":{"ip":"10.1.2.3","port":7,"snat_pool":{"snat_pool":{"future":@,"prefixes":["10.0.0.0/8"]}}}}"#,
    r#"{"metadata":{"name":"a","namespace":"shop"},"spec":{"ip":"10.1.2.3","port":7,"where":{"site":{"ref":[{"name":"x","namespace":"system","future":@}]}}}}"#,
    r#"{"metadata":{"name":"a","namespace":"shop"},"spec":{"ip":"10.1.2.3","port":7,"where":{"virtualSite":{"future":@,"ref":[{"name":"x"}]}}}}"#,
    r#"{"metadata":{"name":"a","namespace":"shop"},"spec":{"dnsNameAdvanced":{"name":"a.b","future":@},"port":7}}"#,
    r#"{"metadata":{"name":"a","namespace":"shop"},"spec":{"service_info":{"discovery_type":"K8S","service_selector":{"future":@,"expressions":["a in (b)"]}},"port":7}}"#,
];

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn unknown_numbers_and_nulls_survive_a_replace_as_they_were_written(
        level in prop::sample::select(&LEVELS[..]), text in odd_text()
    ) {
        let answer = level.replace('@', &text);
        let read = CurrentState::read(&Key::parse("shop/a").expect("a key"), answer.as_bytes());
        let read = read.map_err(TestCaseError::fail)?;
        let object = read.object().expect("an object");
        for set in [false, true] {
            let body = object.body(|body| {
                if set {
                    body["spec"]["port"] = json!(8443);
                }
            });
            let sent = serde_json::to_string(&body.expect("a body")).expect("JSON");
            prop_assert!(sent.contains(&format!("\"future\":{text}")), "{text}\n{sent}");
            prop_assert!(sent.contains(if set { "\"port\":8443" } else { "\"port\":7" }), "{sent}");
        }
    }
}

#[test]
fn an_item_that_is_named_twice_otherwise_is_an_error_of_the_answer() {
    for (key, other) in [("name", "b"), ("namespace", "pay"), ("namespace", "system")] {
        for labels in [json!({}), json!(7)] {
            let mut item = item("a", &plain());
            item[key] = json!(other);
            item["metadata"]["labels"] = labels;
            let reason = unknown(&json!({"items": [item]}).to_string());
            let named = if key == "name" { "`a`" } else { "`shop`" };
            assert!(reason.contains(&format!("`{other}`")) && reason.contains(named), "{reason}");
        }
    }
    // One of the two is enough.
    let mut item = item("a", &plain());
    item["metadata"]["name"] = json!("");
    item["namespace"] = Json::Null;
    assert_eq!(complete(&[item])[0].key().to_string(), "shop/a");
}

/// A value of a message with this text wherever a secret may be.
fn full_of(message: &Message, secret: &str, levels: usize) -> Json {
    let of_field = |field: &Field| {
        let value = match field.message() {
            _ if field.is(Flag::Secret) => json!({"clear_secret_info": {"url": secret}}),
            Some(below) if below.hides() && levels > 0 => full_of(below, secret, levels - 1),
            _ => return None,
        };
        let value = if matches!(field.kind, FieldKind::Map(_)) { json!({"a": value}) } else { value };
        Some((field.name.to_owned(), if field.is_list { json!([value]) } else { value }))
    };
    message.fields.iter().filter_map(of_field).collect()
}

#[test]
fn what_cannot_be_represented_is_kept_without_its_secrets() {
    let mut with_secrets = 0;
    for kind in KindName::all().filter(|kind| !kind.is_endpoint()) {
        let spec = full_of(kind.message(), "SECRET", 8);
        let mut deep = spec.clone();
        deep["newer"] = (0..=DEEPEST).fold(json!({}), |deep, _| json!({ "x": deep }));
        let mut texts = item("a", &spec);
        texts["metadata"]["labels"] = json!({"a": 1});
        for odd in [texts, item("a", &deep), item("a", &json!([spec])), item("a", &json!({"object": 1}))] {
            let mut odd = odd;
            odd["object"] = json!({ "spec": spec });
            with_secrets += usize::from(odd["object"].to_string().contains("SECRET"));
            let body = json!({"items": [odd]}).to_string();
            let ListRead::Complete { items } = read_list(&Scope { namespace: shop(), kind }, body.as_bytes()) else {
                panic!("not complete: {kind}")
            };
            let shown = format!("{items:?}");
            assert!(!shown.contains("SECRET"), "{kind}: {shown}");
        }
    }
    assert!(with_secrets > 40, "{with_secrets}");
}
