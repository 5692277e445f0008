//! Random endpoints, definitions and live states, small enough to collide often.

use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use proptest::collection::{btree_map, btree_set};
use proptest::option;
use proptest::prelude::*;
use trueup::model::{
    Definition, Desired, Discovery, Endpoint, HostName, InternetVip, Key, NetworkType, Protocol, Reference, Selector,
    ServiceMatch, SiteWhere, SnatPool, Spec, Target, TtlChoice, Where,
};

fn host() -> impl Strategy<Value = HostName> {
    "[a-c]{1,3}\\.example\\.(net|com)".prop_map(|name| HostName::canonical(&name))
}

fn target() -> impl Strategy<Value = Target> {
    let selector = prop_oneof!["a=[xy]", "b in \\(x,y\\)", "!c"].prop_map(|text| Selector::canonical(&text));
    let service =
        prop_oneof!["[a-c]{1,4}\\.default".prop_map(ServiceMatch::Name), selector.prop_map(ServiceMatch::Selector),];
    prop_oneof![
        host().prop_map(Target::DnsName),
        (host(), ttl()).prop_map(|(name, ttl)| Target::DnsNameAdvanced { name, ttl }),
        (0u8..4).prop_map(|last| Target::Ip(IpAddr::V4(Ipv4Addr::new(10, 0, 0, last)))),
        (0u16..4).prop_map(|last| Target::Ip(IpAddr::V6(Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, last)))),
        (prop::sample::select(Discovery::ALL.to_vec()), service)
            .prop_map(|(discovery, service)| Target::ServiceInfo { discovery, service }),
    ]
}

fn ttl() -> impl Strategy<Value = TtlChoice> {
    prop_oneof![
        Just(TtlChoice::Unset),
        (10u32..=604_800).prop_map(TtlChoice::RefreshInterval),
        Just(TtlChoice::StrictTtl),
    ]
}

fn reference() -> impl Strategy<Value = Reference> {
    ("ce0[12]", option::of("system")).prop_map(|(name, namespace)| Reference {
        name,
        namespace,
        tenant: None,
        uid: None,
    })
}

fn site() -> impl Strategy<Value = SiteWhere> {
    let vip = prop_oneof![Just(InternetVip::Disabled), Just(InternetVip::Enabled)];
    let refs = prop_oneof![2 => Just(Vec::new()), 1 => prop::collection::vec(reference(), 1..3)];
    (reference(), refs, prop::sample::select(NetworkType::ALL.to_vec()), vip).prop_map(
        |(reference, refs, network_type, internet_vip)| SiteWhere { reference, refs, network_type, internet_vip },
    )
}

fn place() -> impl Strategy<Value = Where> {
    prop_oneof![
        site().prop_map(Where::Site),
        site().prop_map(Where::VirtualSite),
        reference().prop_map(Where::VirtualNetwork),
    ]
}

fn pool() -> impl Strategy<Value = SnatPool> {
    let ipv4 = (0u8..4).prop_map(|net| format!("10.{net}.0.0/16").parse().expect("a prefix"));
    let ipv6 = (0u8..4).prop_map(|net| format!("2001:db8:{net}::/48").parse().expect("a prefix"));
    prop_oneof![
        2 => Just(SnatPool::None),
        1 => (btree_set(ipv4, 0..3), btree_set(ipv6, 0..2)).prop_map(|(ipv4, ipv6)| SnatPool::Prefixes { ipv4, ipv6 }),
    ]
}

fn spec() -> impl Strategy<Value = Spec> {
    let protocol = prop::sample::select(Protocol::ALL.to_vec());
    (target(), protocol, 0u16..3, 0u16..2, pool(), option::of(place())).prop_map(
        |(target, protocol, port, health_check_port, snat_pool, place)| {
            Spec::Endpoint(trueup::model::EndpointSpec {
                protocol,
                port,
                health_check_port,
                snat_pool,
                place,
                ..trueup::model::EndpointSpec::of(target)
            })
        },
    )
}

/// A map of few keys and few values.
fn texts(value: &'static str) -> impl Strategy<Value = BTreeMap<String, String>> {
    btree_map("[ab]", value, 0..3)
}

/// An endpoint of this key.
pub fn endpoint(key: Key) -> impl Strategy<Value = Endpoint> {
    (texts("[xy]?"), texts("[xy]"), "[a-z ]{0,4}", any::<bool>(), spec()).prop_map(
        move |(labels, annotations, description, disable, spec)| Endpoint {
            key: key.clone(),
            labels: labels.into_iter().collect(),
            annotations: annotations.into_iter().collect(),
            description,
            disable,
            spec,
        },
    )
}

/// Some endpoints in the namespaces `shop` and `pay`.
pub fn endpoints() -> impl Strategy<Value = Vec<Endpoint>> {
    btree_set("(shop|pay)/e[0-5]", 0..8).prop_flat_map(|keys: BTreeSet<String>| {
        keys.iter().map(|key| endpoint(Key::parse(key).expect("a key"))).collect::<Vec<_>>()
    })
}

/// Definitions of these endpoints, each in a file of its own.
pub fn desired(endpoints: Vec<Endpoint>) -> Desired {
    let definitions = endpoints.into_iter().map(|endpoint| {
        let key = endpoint.key.clone();
        let file = format!("{}/{}.yaml", key.namespace, key.name).into();
        (
            key,
            Definition {
                endpoint,
                file,
                document: 0,
                overlays: Vec::new(),
                sealed: trueup::model::SealedSecrets::default(),
            },
        )
    });
    Desired { definitions: definitions.collect(), files: 0 }
}
