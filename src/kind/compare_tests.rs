use serde_json::json;

use super::super::{Flag, canonical, merged, message, named, pruned, significant, taken_over, units, with_unnamed};
use super::*;

const POOL: &str = "views.origin_pool.CreateSpecType+";

fn pool() -> Json {
    json!({
        "origin_servers": [{"public_ip": {"ip": "192.0.2.1"}, "labels": {}}],
        "port": 443,
        "no_tls": {},
        "healthcheck": [{"name": "hc"}],
    })
}

/// As the service shows it.
fn shown() -> Json {
    json!({
        "origin_servers": [{"public_ip": {"ip": "192.0.2.1"}, "labels": {}, "public_name": null}],
        "port": 443,
        "no_tls": {},
        "use_tls": null,
        "automatic_port": null,
        "healthcheck": [{"tenant": "acme-x", "namespace": "shop", "name": "hc", "kind": "healthcheck"}],
        "loadbalancer_algorithm": "DISTRIBUTED",
        "endpoint_selection": "DISTRIBUTED",
        "same_as_endpoint_port": {},
        "advanced_options": null,
    })
}

fn is_as(live: &Json, wanted: &Json) -> Vec<String> {
    let (live, wanted) = (canonical(message(POOL), live.clone()), named(message(POOL), wanted.clone()));
    let names: std::collections::BTreeSet<&String> = live.keys().chain(wanted.keys()).collect();
    let differs = |name: &&&String| {
        let [live, wanted] = [&live, &wanted].map(|units| units.get(**name).unwrap_or(&Json::Null));
        seen_as(message(POOL), name, live, wanted) != significant(message(POOL), name, wanted)
    };
    names.iter().filter(differs).map(|name| (*name).clone()).collect()
}

#[test]
fn what_the_service_fills_is_no_difference() {
    assert_eq!(is_as(&shown(), &pool()), Vec::<String>::new());
}

#[test]
fn a_changed_value_is_a_difference_of_its_unit() {
    let mut live = shown();
    live["port"] = json!(80);
    live["origin_servers"][0]["public_ip"]["ip"] = json!("192.0.2.2");
    assert_eq!(is_as(&live, &pool()), ["origin_servers", "port_choice"]);
    // An enumeration by its numbers.
    let mut wanted = pool();
    wanted["endpoint_selection"] = json!("LOCAL_PREFERRED");
    for (number, differs) in [(2, &[][..]), (1, &["endpoint_selection"])] {
        let mut live = shown();
        live["endpoint_selection"] = json!(number);
        assert_eq!(is_as(&live, &wanted), differs, "{number}");
    }
}

#[test]
fn another_choice_than_the_filled_default_is_a_difference_where_the_definition_leaves_the_group_open() {
    let open = json!({"origin_servers": pool()["origin_servers"], "port": 443, "healthcheck": [{"name": "hc"}]});
    assert_eq!(is_as(&shown(), &open), Vec::<String>::new());
    let mut live = shown();
    live.as_object_mut().expect("an object").remove("no_tls");
    live["use_tls"] = json!({"no_mtls": {}});
    assert_eq!(is_as(&live, &open), ["tls_choice"]);
}

#[test]
fn the_default_of_an_open_group_says_nothing_where_all_below_it_is_default_too() {
    let left = |kind: &str, unit: &str, live: Json| {
        let spec = crate::kind::find(kind).expect("a kind").message();
        unnamed(spec, unit, &live, &Json::Null)
    };
    let mesh = |options: Json| left("site_mesh_group", "mesh_choice", json!({"full_mesh": options}));
    let none = Vec::<String>::new();
    assert_eq!(mesh(json!({})), none);
    assert_eq!(mesh(json!({"data_plane_mesh": {}})), none);
    assert_eq!(mesh(json!({"control_and_data_plane_mesh": {}})), ["full_mesh"]);
    assert_eq!(mesh(json!({"data_plane_mesh": {"newer": 1}})), ["full_mesh"]);
    let policy = |drop: &str| {
        let spec = json!({"psp_spec": {"no_run_as_user": {}, drop: {}}});
        left("k8s_pod_security_policy", "config_method_choice", spec)
    };
    assert_eq!(policy("no_drop_capabilities"), none);
    assert_eq!(policy("newer"), ["psp_spec"]);
}

#[test]
fn what_is_set_to_nothing_is_named() {
    let mut wanted = pool();
    wanted["advanced_options"] = json!({"connection_timeout": 0});
    let mut live = shown();
    live["advanced_options"] = json!({"connection_timeout": 5});
    assert_eq!(is_as(&live, &wanted), ["advanced_options"]);
    live["advanced_options"] = json!({"connection_timeout": 0});
    assert_eq!(is_as(&live, &wanted), Vec::<String>::new());
    // A choice is one, though it says nothing.
    let (none, zero) = (json!({}), json!({"port": 0}));
    assert!(!agrees(message(POOL), "port_choice", &none, &zero));
}

#[test]
fn a_merge_keeps_what_the_definition_does_not_name_at_any_depth() {
    let mut live = shown();
    live["origin_servers"][0]["of_the_future"] = json!({"a": [1]});
    let Json::Object(mut live) = live else { panic!("an object") };
    let wanted = named(message(POOL), json!({"origin_servers": [{"public_ip": {"ip": "192.0.2.9"}}]}));
    merged(message(POOL), "origin_servers", &mut live, &Json::Null, &wanted["origin_servers"]);
    assert_eq!(live["origin_servers"][0]["of_the_future"], json!({"a": [1]}));
    assert_eq!(live["origin_servers"][0]["public_ip"], json!({"ip": "192.0.2.9"}));
    assert_eq!(live["port"], 443);
}

#[test]
fn a_merged_reference_to_another_object_has_nothing_of_the_one_before() {
    let live =
        json!({"name": "a", "namespace": "shop", "tenant": "acme-x", "uid": "1", "kind": "healthcheck", "new": 7});
    for (wanted, same) in [
        (json!({"name": "a", "namespace": "shop"}), true),
        (json!({"name": "b", "namespace": "shop"}), false),
        (json!({"name": "a", "namespace": "pay"}), false),
        (json!({"name": "a", "namespace": "shop", "tenant": "ves-io"}), false),
    ] {
        let Json::Object(mut pool) = json!({"healthcheck": [live]}) else { panic!("an object") };
        merged(message(POOL), "healthcheck", &mut pool, &Json::Null, &json!([wanted]));
        let reference = &pool["healthcheck"][0];
        let mut alone = wanted.clone();
        alone["new"] = json!(7);
        assert_eq!(reference, if same { &live } else { &alone }, "{wanted}");
    }
}

#[test]
fn both_spellings_name_one_key() {
    assert_eq!(crate::kind::camel("dns_name_advanced"), "dnsNameAdvanced");
    assert_eq!(crate::kind::snake("dnsNameAdvanced"), "dns_name_advanced");
    assert_eq!(crate::kind::snake("Name"), "Name");
}

#[test]
fn no_two_units_of_a_kind_share_a_name() {
    for kind in crate::kind::all() {
        let mut seen = std::collections::BTreeSet::new();
        for unit in units(kind.message()) {
            assert!(seen.insert(unit), "{}: {unit}", kind.name);
        }
    }
}

#[test]
fn the_zero_word_of_an_option_beside_the_chosen_one_is_no_choice() {
    let policy = crate::kind::find("alert_policy").expect("a kind").message();
    let chosen = json!({"routes": [{"custom": {}, "dont_send": {}}]});
    let mut live = chosen.clone();
    live["routes"][0]["alertname"] = json!("SITE_CUSTOMER_TUNNEL_INTERFACE_DOWN");
    assert_eq!(canonical(policy, live), canonical(policy, chosen));
}

#[test]
fn a_merge_that_takes_the_chosen_option_away_leaves_no_zero_of_another() {
    let policy = crate::kind::find("bgp_routing_policy").expect("a kind").message();
    let rules = |action: Json| json!([{"action": action}]);
    let Json::Object(mut live) = json!({"rules": rules(json!({"as_path": "a", "local_preference": 0}))}) else {
        panic!("an object")
    };
    let (before, wanted) = (rules(json!({"as_path": "a"})), rules(json!({})));
    merged(policy, "rules", &mut live, &before, &wanted);
    assert_eq!(live["rules"], wanted);
}

#[test]
fn an_item_that_names_little_is_the_live_one_that_has_nothing_else() {
    let policy = crate::kind::find("bgp_routing_policy").expect("a kind").message();
    let theirs = json!({"action": {"as_path": "1 2"}, "match": {"as_path": "3"}});
    let (live, wanted) = (json!([theirs, {"action": {}}]), json!([{"action": {}}]));
    assert_eq!(seen_as(policy, "rules", &live, &wanted), live);
    let Json::Object(mut object) = json!({"rules": live}) else { panic!("an object") };
    merged(policy, "rules", &mut object, &Json::Null, &wanted);
    assert_eq!(object["rules"], wanted);
}

#[test]
fn of_two_items_that_a_live_one_fits_it_is_the_one_that_names_more_of_it() {
    let definition = crate::kind::find("api_definition").expect("a kind").message();
    let Json::Object(mut live) = json!({"non_api_endpoints": [{"method": "PUT", "path": "/c", "theirs": "kept"}]})
    else {
        panic!("an object")
    };
    let wanted = json!([{"path": "/c"}, {"method": "PUT", "path": "/c"}]);
    merged(definition, "non_api_endpoints", &mut live, &Json::Null, &wanted);
    let kept = json!([{"path": "/c"}, {"method": "PUT", "path": "/c", "theirs": "kept"}]);
    assert_eq!(live["non_api_endpoints"], kept);
}

#[test]
fn the_zero_of_an_option_beside_a_secret_is_no_choice() {
    let discovery = crate::kind::find("discovery").expect("a kind").message();
    let access = |zero: Json| json!({"discovery_k8s": {"access_info": zero}});
    let reachable = json!({"reachable": {}});
    let live = access(json!({"reachable": {}, "in_cluster": false}));
    assert_eq!(canonical(discovery, live.clone()), canonical(discovery, access(reachable.clone())));
    let unit = |spec: Json| named(discovery, spec).into_values().next().expect("a unit");
    let [beside, alone] = [live, access(reachable)].map(unit);
    let digested = |unit| super::super::digested(discovery, "discovery_choice", unit, "shop");
    assert_eq!(digested(&beside), digested(&alone));
    assert_ne!(
        canonical(discovery, access(json!({"in_cluster": true}))),
        canonical(discovery, access(json!({"in_cluster": false})))
    );
}

#[test]
fn a_request_repeats_the_zero_of_an_option_where_no_other_is_chosen() {
    let discovery = crate::kind::find("discovery").expect("a kind").message();
    let sent = |access: Json| {
        let spec = json!({"discovery_k8s": {"access_info": access}});
        pruned(discovery, &spec, Flag::CreateOnly)["discovery_k8s"]["access_info"].clone()
    };
    assert_eq!(sent(json!({"in_cluster": false})), json!({"in_cluster": false}));
    let secret = json!({"clear_secret_info": {"url": "string:///eA=="}});
    assert_eq!(sent(json!({"in_cluster": false, "kubeconfig_url": secret})), json!({"kubeconfig_url": secret}));
}

#[test]
fn equal_items_are_in_order_whatever_else_is_in_them() {
    let definition = crate::kind::find("api_definition").expect("a kind").message();
    let message = definition.field("non_api_endpoints").and_then(Field::message).expect("a message");
    let (plain, more) = (json!({"path": "/a"}), json!({"method": "PUT", "path": "/a"}));
    let in_order = [Some(0), Some(1)];
    assert_eq!(aligned(message, &[more.clone(), plain.clone()], &[plain.clone(), plain.clone()]), in_order);
    assert_eq!(aligned(message, &[plain.clone(), more.clone()], &[plain.clone(), plain.clone()]), in_order);
    assert_eq!(aligned(message, &[plain.clone(), more.clone()], &[more, plain]), [Some(1), Some(0)]);
}

#[test]
fn what_changed_between_the_same_neighbours_is_the_same_item_where_it_is_clear_which() {
    let definition = crate::kind::find("api_definition").expect("a kind").message();
    let message = definition.field("non_api_endpoints").and_then(Field::message).expect("a message");
    let items = |paths: &str| -> Vec<Json> { paths.chars().map(|path| json!({"path": path.to_string()})).collect() };
    for (live, wanted, is) in [
        ("abc", "axc", &[Some(0), Some(1), Some(2)][..]),
        ("abcd", "axyd", &[Some(0), Some(1), Some(2), Some(3)]),
        ("bc", "xc", &[Some(0), Some(1)]),
        ("ab", "ax", &[Some(0), Some(1)]),
        ("abcd", "axd", &[Some(0), None, None, Some(2)]),
        ("abd", "axyd", &[Some(0), None, Some(3)]),
        ("abc", "cxa", &[Some(2), None, Some(0)]),
    ] {
        assert_eq!(aligned(message, &items(live), &items(wanted)), is, "{live} {wanted}");
    }
}

#[test]
fn items_with_the_defaults_of_the_service_are_in_order() {
    let policy = crate::kind::find("alert_policy").expect("a kind").message();
    let message = policy.field("routes").and_then(Field::message).expect("a message");
    let live = [json!({"notification_parameters": {"individual": {}}, "send": {}}), json!({"any": {}, "send": {}})];
    let wanted = [json!({}), json!({"any": {}, "send": {}})];
    assert_eq!(aligned(message, &live, &wanted), [Some(0), Some(1)]);
    let live = [json!({"group": {"groups": []}, "send": {}}), json!({"send": {}})];
    assert_eq!(aligned(message, &live, &[json!({"send": {}}), json!({})]), [Some(0), Some(1)]);
}

#[test]
fn a_map_agrees_where_it_has_the_same_keys_with_values_that_agree() {
    let spec = message("network_interface.StaticIpParametersClusterType");
    let agrees = |live: Json, wanted: Json| agrees(spec, "interface_ip_map", &live, &wanted);
    let [one, other] = ["10.0.0.1/24", "10.0.0.2/24"].map(|address| json!({"ip_address": address}));
    assert!(agrees(json!({"a": one, "b": other}), json!({"a": one, "b": other})));
    assert!(!agrees(json!({"a": one}), json!({"a": other})));
    assert!(!agrees(json!({"a": one}), json!({"a": one, "b": other})));
    assert!(!agrees(json!({"a": one, "b": other}), json!({"a": one})));
}

#[test]
fn the_entries_of_a_map_are_taken_over_by_their_keys() {
    let spec = message("network_interface.StaticIpParametersClusterType");
    let of = |taken: fn(&Message, &str, &Json, &Json, Option<&str>) -> Json, live: &Json, written: &Json| {
        taken(spec, "interface_ip_map", live, written, None)
    };
    let live =
        json!({"a": {"ip_address": "10.0.0.1/24", "dns_server": "10.0.0.9"}, "new": {"ip_address": "10.0.0.3/24"}});
    let written = json!({"a": {"ip_address": "10.0.0.2/24"}, "gone": {"ip_address": "10.0.0.4/24"}});
    // The keys of a map are its definition's whole: what is new live came from outside, and what is gone went.
    let named = json!({"a": {"ip_address": "10.0.0.1/24"}, "new": {"ip_address": "10.0.0.3/24"}});
    assert_eq!(of(taken_over, &named, &written), named);
    // What it sets to nothing stays, though no answer has it.
    let nothing = json!({"a": {"ip_address": "10.0.0.1/24", "dns_server": ""}, "new": {"ip_address": "10.0.0.3/24"}});
    assert_eq!(of(taken_over, &named, &nothing), nothing);
    let unnamed = json!({
        "a": {"ip_address": "10.0.0.2/24", "dns_server": "10.0.0.9"}, "gone": {"ip_address": "10.0.0.4/24"}
    });
    assert_eq!(of(with_unnamed, &live, &written), unnamed);
    // What waits for its apply stays.
    let more = json!({"a": {"ip_address": "10.0.0.2/24", "default_gw": "10.0.0.7"}});
    assert_eq!(of(with_unnamed, &live, &more)["a"]["default_gw"], "10.0.0.7");
    for odd in [json!([]), json!("text")] {
        assert_eq!(of(taken_over, &odd, &written), odd);
        assert_eq!(of(with_unnamed, &odd, &written), written);
    }
}

#[test]
fn what_a_change_removes_is_kept_where_all_of_it_is_there() {
    let options = |header: Json| json!({"connection_timeout": 5, "header_transformation_type": header});
    let (before, after) = (options(json!({"proper_case_header_transformation": {}})), json!({"connection_timeout": 5}));
    let keeps = |live: Json| keeps(message(POOL), "advanced_options", &live, (&before, &after));
    assert!(keeps(before.clone()));
    assert!(keeps(options(json!({"proper_case_header_transformation": {}, "of_the_future": 1}))));
    assert!(!keeps(options(json!({"preserve_case_header_transformation": {}}))));
    assert!(!keeps(after.clone()));
    // The same value of another field is not it.
    let [idle, other] = ["http_idle_timeout", "connection_timeout"].map(|field| json!({ field: 7 }));
    let kept = |live| super::keeps(message(POOL), "advanced_options", live, (&idle, &json!({})));
    assert!(kept(&idle) && !kept(&other));
}
