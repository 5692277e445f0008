//! Random endpoints, definitions and live states, small enough to collide often.

use std::collections::{BTreeMap, BTreeSet};
use std::net::{Ipv4Addr, Ipv6Addr};

use proptest::collection::{btree_map, btree_set};
use proptest::option;
use proptest::prelude::*;
use serde_json::{Value, json};
use trueup::kind::{self, KindName};
use trueup::model::{Definition, Desired, Key, Object, SealedSecrets, Spec};

fn host() -> impl Strategy<Value = String> {
    "[a-c]{1,3}\\.example\\.(net|com)"
}

fn target() -> impl Strategy<Value = (&'static str, Value)> {
    let discovery = ["K8S", "CONSUL", "CLASSIC_BIGIP", "THIRD_PARTY", "NGINX_ONE"];
    let selector = prop_oneof!["a=[xy]", "b in \\(x,y\\)", "!c"];
    let service = prop_oneof![
        "[a-c]{1,4}\\.default".prop_map(|name| ("service_name", json!(name))),
        selector.prop_map(|text| ("service_selector", json!({"expressions": [text]}))),
    ];
    prop_oneof![
        host().prop_map(|name| ("dns_name", json!(name))),
        (host(), ttl()).prop_map(|(name, ttl)| ("dns_name_advanced", with(json!({ "name": name }), ttl))),
        (0u8..4).prop_map(|last| ("ip", json!(Ipv4Addr::new(10, 0, 0, last)))),
        (0u16..4).prop_map(|last| ("ip", json!(Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, last)))),
        (prop::sample::select(discovery.to_vec()), service).prop_map(|(discovery, service)| (
            "service_info",
            with(json!({ "discovery_type": discovery }), Some(service))
        )),
    ]
}

/// An object with a key more.
fn with(mut object: Value, entry: Option<(&'static str, Value)>) -> Value {
    if let Some((key, value)) = entry {
        object[key] = value;
    }
    object
}

fn ttl() -> impl Strategy<Value = Option<(&'static str, Value)>> {
    prop_oneof![
        Just(None),
        (10u32..=604_800).prop_map(|seconds| Some(("refresh_interval", json!(seconds)))),
        Just(Some(("strict_ttl", json!({})))),
    ]
}

fn reference() -> impl Strategy<Value = Value> {
    ("ce0[12]", option::of("system"))
        .prop_map(|(name, namespace)| with(json!({ "name": name }), namespace.map(|of| ("namespace", json!(of)))))
}

fn site() -> impl Strategy<Value = Value> {
    let vip = prop_oneof![
        Just(None),
        Just(Some(("disable_internet_vip", json!({})))),
        Just(Some(("enable_internet_vip", json!({})))),
    ];
    let refs = prop_oneof![2 => Just(None), 1 => prop::collection::vec(reference(), 1..3).prop_map(Some)];
    let networks = KindName::ENDPOINT.kind().messages().into_iter().find(|(id, _)| *id == "SiteRefType");
    let networks = networks.and_then(|(_, site)| site.field("network_type")).expect("a site has a network");
    let network = option::of(prop::sample::select(networks.words().collect::<Vec<_>>()));
    (reference(), refs, network, vip).prop_map(|(reference, refs, network, vip)| {
        let site = with(json!({ "ref": [reference] }), refs.map(|refs| ("refs", json!(refs))));
        with(with(site, network.map(|network| ("network_type", json!(network)))), vip)
    })
}

fn place() -> impl Strategy<Value = Value> {
    prop_oneof![
        site().prop_map(|site| json!({ "site": site })),
        site().prop_map(|site| json!({ "virtual_site": site })),
        reference().prop_map(|reference| json!({"virtual_network": {"ref": [reference]}})),
    ]
}

fn pool() -> impl Strategy<Value = Option<Value>> {
    let ipv4 = (0u8..4).prop_map(|net| format!("10.{net}.0.0/16"));
    let ipv6 = (0u8..4).prop_map(|net| format!("2001:db8:{net}::/48"));
    prop_oneof![
        2 => Just(None),
        1 => (btree_set(ipv4, 0..3), btree_set(ipv6, 0..2))
            .prop_map(|(ipv4, ipv6)| Some(json!({"snat_pool": {"prefixes": ipv4, "ipv6_prefixes": ipv6}}))),
    ]
}

fn spec() -> impl Strategy<Value = Spec> {
    let protocol = prop::sample::select(vec!["TCP", "UDP"]);
    (target(), protocol, 0u16..3, 0u16..2, pool(), option::of(place())).prop_map(
        |((option, target), protocol, port, health_check_port, pool, place)| {
            let spec = json!({"protocol": protocol, "port": port, "health_check_port": health_check_port,
                "snat_pool": pool, "where": place});
            Spec::written(KindName::ENDPOINT, with(spec, Some((option, target)))).expect("a spec")
        },
    )
}

/// A map of few keys and few values.
fn texts(value: &'static str) -> impl Strategy<Value = BTreeMap<String, String>> {
    btree_map("[ab]", value, 0..3)
}

/// An endpoint of this key, as a definition or a list of it is read: its references have a namespace.
pub fn endpoint(key: Key) -> impl Strategy<Value = Object> {
    (texts("[xy]?"), texts("[xy]"), "[a-z ]{0,4}", any::<bool>(), spec()).prop_map(
        move |(labels, annotations, description, disable, spec)| {
            let mut spec = spec.json();
            kind::add_namespaces(key.kind.message(), &mut spec, key.namespace.as_str());
            Object {
                key: key.clone(),
                labels: labels.into_iter().collect(),
                annotations: annotations.into_iter().collect(),
                description,
                disable,
                spec: Spec::written(key.kind, spec).expect("a spec"),
            }
        },
    )
}

/// Some endpoints in the namespaces `shop` and `pay`.
pub fn endpoints() -> impl Strategy<Value = Vec<Object>> {
    btree_set("(shop|pay)/e[0-5]", 0..8).prop_flat_map(|keys: BTreeSet<String>| {
        keys.iter().map(|key| endpoint(Key::parse(key).expect("a key"))).collect::<Vec<_>>()
    })
}

/// Definitions of these endpoints, each in a file of its own.
pub fn desired(endpoints: Vec<Object>) -> Desired {
    let definitions = endpoints.into_iter().map(|endpoint| {
        let key = endpoint.key.clone();
        let file = format!("{}/{}.yaml", key.namespace, key.name).into();
        (key, Definition { endpoint, file, document: 0, overlays: Vec::new(), sealed: SealedSecrets::default() })
    });
    Desired { definitions: definitions.collect(), files: 0 }
}
