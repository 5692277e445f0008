use std::collections::BTreeSet;

use serde_json::{Value as Json, json};

use super::*;

/// Every message that a kind reaches, by decoding all of them: a word that the reader does not know panics here.
fn reached() -> BTreeSet<&'static str> {
    let mut open: Vec<&'static str> = all().map(|kind| kind.spec).collect();
    let mut seen = BTreeSet::new();
    while let Some(id) = open.pop() {
        if FieldKind::Message(id) != FieldKind::EMPTY && seen.insert(id) {
            assert!(INDEX.messages.contains_key(id), "message {id} is not there");
            open.extend(message(id).fields.iter().filter_map(Field::below));
        }
    }
    seen
}

#[test]
fn every_message_is_there_and_reached() {
    assert_eq!(all().count(), 142);
    let written: BTreeSet<&str> = INDEX.messages.keys().copied().collect();
    assert_eq!(reached().into_iter().chain(["metadata"]).collect::<BTreeSet<_>>(), written);
}

#[test]
fn every_group_names_fields_and_every_enumeration_has_values() {
    for id in reached() {
        let message = message(id);
        for group in &message.groups {
            assert!(
                group.members.len() > 1 || group.is(GroupFlag::Required) || !group.members.is_empty(),
                "{id} {}",
                group.name
            );
            let missing = group.default.filter(|default| !group.members.contains(default));
            assert_eq!(missing, None, "{id} {}", group.name);
            for other in message.groups.iter().filter(|other| other.name != group.name) {
                let shared = group.members.iter().find(|member| other.members.contains(member));
                assert_eq!(shared, None, "{id} {} {}", group.name, other.name);
            }
        }
        for field in &message.fields {
            if let FieldKind::Enum(id) = field.kind {
                assert!(!values(id).is_empty(), "enumeration {id} is not there");
            }
        }
    }
}

#[test]
fn every_pattern_compiles_and_every_rule_has_words() {
    for id in reached() {
        for field in &message(id).fields {
            for (_, rule) in &field.rules {
                assert!(!rule.words().is_empty(), "{id} {}", field.name);
                if let Rule::Pattern(pattern) = rule {
                    assert!(regex::Regex::new(pattern).is_ok(), "{id} {}: {pattern}", field.name);
                }
            }
        }
    }
}

#[test]
fn every_child_is_a_kind_or_known_to_be_none() {
    let names: BTreeSet<&str> = all().map(|kind| kind.name).collect();
    let unknown: BTreeSet<&str> =
        all().flat_map(|kind| kind.children.clone()).filter(|child| !names.contains(child)).collect();
    assert_eq!(unknown.into_iter().collect::<Vec<_>>(), ["api_group", "service_policy_set", "site"]);
}

#[test]
fn an_endpoint_is_described_as_the_reference_describes_it() {
    let endpoint = find("endpoint").expect("the first kind");
    let spec = message(endpoint.spec);
    let target = spec.group_of("ip").expect("the group of targets");
    assert_eq!(target.members, ["ip", "dns_name", "dns_name_advanced", "service_info"]);
    let port = spec.field("port").expect("a field");
    assert_eq!(port.kind, FieldKind::Integer { bits: 32, is_signed: false });
    assert_eq!(port.rules, [(Part::Value, Rule::Range { unit: Unit::Number, least: None, most: Some("65535") })]);
    assert_eq!((endpoint.prefix, endpoint.plural), ("/api/config", "endpoints"));
}

#[test]
fn an_option_without_a_line_is_an_empty_mapping() {
    let pool = message(find("origin_pool").expect("a kind").spec);
    assert_eq!(pool.field("no_tls").expect("an option").kind, FieldKind::EMPTY);
    assert_eq!(pool.field("nothing"), None);
    let healthcheck = pool.field("healthcheck").expect("a field");
    assert_eq!((healthcheck.is_list, healthcheck.refers_to.as_slice()), (true, ["healthcheck"].as_slice()));
}

#[test]
fn a_key_is_spelled_as_the_service_names_the_field_of_its_message() {
    let spelled = |id: &str| message(id).spelled("queryParameters").into_owned();
    assert_eq!(spelled("views.common_waf.ValidationPropertySetting"), "queryParameters");
    assert_eq!(spelled("cdn_cache_rule.CDNCacheRuleExpression"), "query_parameters");
    // A digit has no case: `consecutive5xx` is `consecutive_5xx`.
    for (id, message) in all().flat_map(Kind::messages) {
        for Field { name, .. } in &message.fields {
            assert_eq!(
                (message.spelled(&camel(name)), message.spelled(name)),
                ((*name).into(), (*name).into()),
                "{id}"
            );
        }
    }
}

#[test]
fn the_secrets_of_a_kind_are_known_by_their_paths() {
    let secrets = |name: &str| find(name).expect("a kind").secrets();
    assert_eq!(secrets("certificate"), ["spec.private_key"]);
    assert_eq!(secrets("bgp"), ["spec.peers.external.md5_auth_key"]);
    assert_eq!(secrets("origin_pool"), ["spec.use_tls.use_mtls.tls_certificates.private_key"]);
    assert_eq!(secrets("endpoint"), Vec::<String>::new());
    assert_eq!(all().filter(|kind| !kind.secrets().is_empty()).count(), 43);
}

#[test]
fn every_text_at_the_place_of_a_secret_is_found_whatever_its_form() {
    let texts = |id: &str, spec: Json| {
        let mut found: Vec<String> = sealed::texts(message(id), &spec).into_iter().map(str::to_owned).collect();
        found.sort_unstable();
        found
    };
    let clear = json!({"clear_secret_info": {"url": "string:///hush"}});
    for (id, spec, secrets) in [
        ("AuthnTypeBasicAuth", json!({"username": "me", "password": clear}), &["string:///hush"][..]),
        ("AuthnTypeHeaders", json!({"headers": {"x-key": clear}}), &["string:///hush"]),
        // A form that is newer than the description, and what has none.
        ("AuthnTypeBasicAuth", json!({"password": {"vault": {"keys": ["a", {"b": "c"}], "version": 1}}}), &["a", "c"]),
        ("AuthnTypeBasicAuth", json!({"username": "me", "password": "hush"}), &["hush"]),
        ("AuthnTypeBasicAuth", json!({"password": {"clear_secret_info": ["a", "b"]}}), &["a", "b"]),
        ("AuthnTypeHeaders", json!({"headers": {"x-key": "hush", "x-other": null}}), &["hush"]),
        ("AuthnTypeHeaders", json!({"headers": ["hush"]}), &["hush"]),
    ] {
        assert_eq!(texts(id, spec.clone()), secrets, "{spec}");
    }
}

#[test]
fn a_secret_is_assumed_where_an_answer_may_hide_one_and_one_of_the_create_alone_is_known() {
    let spec = |kind: &str| KindName::find(kind).expect("a kind").message();
    let places = |external: serde_json::Value| {
        let peers = json!({"peers": [{"external": external}]});
        sealed::places(spec("bgp"), &peers)
    };
    let place = ["spec.peers[0].external.md5_auth_key"];
    assert_eq!(places(json!({"md5_auth_key": ""})), place);
    assert_eq!(places(json!({"md5_auth_key": "x"})), place);
    assert!(places(json!({"md5_auth_key": "", "no_authentication": {}})).is_empty());
    assert!(places(json!({"md5_auth_key": null})).is_empty());
    assert!(places(json!({})).is_empty());
    let certificates = json!([{"private_key": sealed::mark("1")}, {"certificate_url": "a"}]);
    let pool = json!({"use_tls": {"use_mtls": {"tls_certificates": certificates}}});
    assert_eq!(sealed::missing(spec("origin_pool"), &pool), ["spec.use_tls.use_mtls.tls_certificates[1].private_key"]);
    // One that the service does not require.
    assert!(sealed::missing(spec("bgp"), &json!({"peers": [{"external": {}}]})).is_empty());
    assert!(sealed::is_of_create(spec("aws_vpc_site"), "spec.admin_password"));
    assert!(!sealed::is_of_create(spec("certificate"), "spec.private_key"));
    assert!(!sealed::is_of_create(spec("bgp"), place[0]));
}

/// What the writer of whole specs, and the short way to compare them, count on.
#[test]
fn a_kind_that_definitions_have_whole_is_plain() {
    let of_references = ["namespace", "tenant", "uid"];
    for kind in all().filter(|kind| kind.is_whole) {
        for (id, message) in kind.messages() {
            for field in &message.fields {
                let at = format!("{id}.{}", field.name);
                assert!(!matches!(field.kind, FieldKind::Map(_) | FieldKind::Any) || field.is(Flag::ReadOnly), "{at}");
                assert!(!field.is(Flag::Secret) && !field.is(Flag::Unanswered), "{at}");
                assert!(message.is_reference || !of_references.contains(&field.name), "{at}");
            }
        }
    }
}

#[test]
fn a_default_that_a_digest_leaves_out_is_a_choice_that_may_be_fixed() {
    let site = KindName::find("aws_tgw_site").expect("a kind").message();
    let of = |vifs: serde_json::Value| json!({"direct_connect_enabled": {"hosted_vifs": vifs}});
    let fixed = |live: serde_json::Value, wanted: serde_json::Value| {
        super::fixed(site, "direct_connect_choice", &of(live), &of(wanted))
    };
    let vifs = json!(["dxvif-0123abcd"]);
    let over = json!({"site_registration_over_direct_connect": {"cloudlink_network_name": "abc"}});
    let path = "spec.direct_connect_enabled.hosted_vifs.connectivity_options";
    assert_eq!(fixed(json!({"vifs": vifs}), over).as_deref(), Some(path));
    let default = json!({"site_registration_over_internet": {}});
    assert_eq!(fixed(json!({"vifs": vifs}), default), None);
}

#[test]
fn an_option_that_only_a_replace_has_is_chosen_by_one() {
    let application = KindName::find("protected_application").expect("a kind").message();
    let chosen = |option: &str| json!({option: {}});
    let fixed = |live, wanted| super::fixed(application, "connector_type_choice", &live, &wanted);
    assert!(fixed(chosen("big_ip_iapp"), chosen("cloudflare")).is_some());
    assert_eq!(fixed(chosen("big_ip_iapp"), chosen("xc_mesh")), None);
}

#[test]
fn what_is_fixed_in_an_item_is_compared_with_the_item_that_it_is() {
    let discovery = KindName::find("nginx_service_discovery").expect("a kind").message();
    let fixed = |live: Json, wanted: Json| super::fixed(discovery, "server_block_filters", &live, &wanted);
    let [a, b] = ["a", "b"].map(|name| json!({"name_regex": name, "port_ranges": "80"}));
    let path = Some("spec.server_block_filters[0].name_regex".to_owned());
    assert_eq!(fixed(json!([a]), json!([b])), path);
    assert_eq!(fixed(json!([b]), json!([a, b])), None);
    assert_eq!(fixed(json!([a, b]), json!([b])), None);
}

#[test]
fn a_reference_without_a_namespace_is_to_that_of_its_object() {
    let pool = KindName::find("origin_pool").expect("a kind").message();
    let mut spec = json!({"healthcheck": [{"name": "a"}, {"name": "b", "namespace": "shared"}, {"name": ""}]});
    add_namespaces(pool, &mut spec, "shop");
    let named = json!([{"name": "a", "namespace": "shop"}, {"name": "b", "namespace": "shared"}, {"name": ""}]);
    assert_eq!(spec["healthcheck"], named);
}

#[test]
fn the_secrets_in_what_is_written_are_found_at_any_depth() {
    let spec = |kind: &str| KindName::find(kind).expect("a kind").message();
    let certificate = json!({"private_key": sealed::mark("1")});
    assert_eq!(sealed::digests(spec("certificate"), Keys::of(&certificate)), ["1"]);
    let certificates = json!([{"private_key": sealed::mark("1")}, {"private_key": sealed::mark("2")}]);
    let pool = json!({"use_tls": {"use_mtls": {"tls_certificates": certificates}}});
    assert_eq!(sealed::digests(spec("origin_pool"), Keys::of(&pool)), ["1", "2"]);
}

#[test]
fn a_number_of_32_bits_has_the_digits_that_the_service_shows() {
    let site = KindName::find("aws_vpc_site").expect("a kind").message();
    let at = |latitude: f64| json!({"coordinates": {"latitude": latitude}});
    assert_eq!(canonical(site, at(37.774_929)), canonical(site, at(37.774_93)));
    assert_ne!(canonical(site, at(37.774_93)), canonical(site, at(37.774_94)));
    let quota = KindName::find("quota").expect("a kind").message();
    let of = |maximum: f64| json!({"resource_limits": {"a": {"maximum": maximum}}});
    assert_ne!(canonical(quota, of(37.774_929)), canonical(quota, of(37.774_93)));
}

#[test]
fn host_names_addresses_and_prefixes_have_one_text() {
    let spec = |kind: &str, of: Json| canonical(KindName::find(kind).expect("a kind").message(), of);
    let same = |kind: &str, one: Json, other: Json| assert_eq!(spec(kind, one), spec(kind, other));
    let other = |kind: &str, one: Json, other: Json| assert_ne!(spec(kind, one), spec(kind, other));
    let server = |name: &str| json!({"origin_servers": [{"public_name": {"dns_name": name}}]});
    same("origin_pool", server("WWW.example.net"), server("www.example.net"));
    let domains = |name: &str| json!({"domains": ["a.example.net", name]});
    same("udp_loadbalancer", domains("B.example.net"), domains("b.example.net"));
    let address = |address: &str| json!({"origin_servers": [{"public_ip": {"ipv6": address}}]});
    same("origin_pool", address("2001:0DB8::0:1"), address("2001:db8::1"));
    let prefixes = |prefix: &str| json!({"sid_prefixes": [prefix]});
    same("srv6_network_slice", prefixes("2001:DB8:0::/48"), prefixes("2001:db8::/48"));
    same("srv6_network_slice", prefixes("2001:db8::1/48"), prefixes("2001:db8::/48"));
    let balancer = |domain: &str| json!({"domains": [domain]});
    same("http_loadbalancer", balancer("*.Example.net"), balancer("*.example.net"));
    let logs = |name: &str| json!({"syslog": {"tcp_server": {"server_name": name, "port": 514}}});
    same("log_receiver", logs("Logs.Example.net"), logs("logs.example.net"));
    same("log_receiver", logs("2001:0DB8::0:1"), logs("2001:db8::1"));
    let header = |host: &str| json!({"http_health_check": {"host_header": host, "path": "/"}});
    same("healthcheck", header("Shop.Example.net:8080"), header("shop.example.net:8080"));
    // The address of an interface is one.
    let interface =
        |address: &str| json!({"ethernet_interface": {"static_ip": {"node_static_ip": {"ip_address": address}}}});
    other("network_interface", interface("10.0.0.7/24"), interface("10.0.0.8/24"));
    // In a zone, a name without a final dot may be another one.
    let sni = |name: &str| json!({"use_tls": {"sni": name}});
    other("origin_pool", sni("a.example.net."), sni("a.example.net"));
}

#[test]
fn the_last_time_of_the_year_9999_is_a_time() {
    for time in ["9999-12-31T23:59:59Z", "9999-12-30T23:00:00Z", "2026-01-31T12:00:00+02:00"] {
        assert!(FieldKind::Timestamp.has(time), "{time}");
    }
    for none in ["9999-12-31", "9999-12-31Z", "9999-12-32T00:00:00Z", "2026-01-31T12:00:00", "never"] {
        assert!(!FieldKind::Timestamp.has(none), "{none}");
    }
}

#[test]
fn a_duration_is_a_number_of_seconds_without_an_exponent() {
    for duration in ["0s", "1.5s", "-3s", "86400.000000001s"] {
        assert!(FieldKind::Duration.has(duration), "{duration}");
    }
    for none in ["1", "s", "infs", "nans", "1e3s", "1.5.2s", "1m", "+ 1s"] {
        assert!(!FieldKind::Duration.has(none), "{none}");
    }
    let timeout = Field::new("timeout", FieldKind::Duration);
    for (written, canonical) in [
        ("1.500s", "1.5s"),
        ("1.000s", "1s"),
        ("0.010s", "0.01s"),
        ("10.0s", "10s"),
        (".5s", "0.5s"),
        ("05s", "5s"),
        ("-00.50s", "-0.5s"),
        ("5.s", "5s"),
        ("000s", "0s"),
    ] {
        assert_eq!(spec::scalar(&timeout, &FieldKind::Duration, &json!(written)), Some(json!(canonical)), "{written}");
    }
}
