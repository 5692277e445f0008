//! The shape of an endpoint: every key that a definition can have, in the order of a file. A new field is
//! a line here and a value in [`crate::model::EndpointSpec`]; one of the spec itself is a unit, too.

use super::words::UnitForm;
use super::{FieldRule, FieldStatus, GroupRule, NodeKind, ShapeNode};
use crate::model::bounds::{
    LONGEST_ANNOTATION, LONGEST_ANNOTATION_KEY, LONGEST_DESCRIPTION, LONGEST_HOST_NAME, LONGEST_REFERENCE_NAME,
    LONGEST_REFERENCE_PART, LONGEST_SERVICE_NAME, MOST_PREFIXES, REFRESH_INTERVAL,
};
use crate::model::{Discovery, NetworkType, Protocol, Word as _};

const fn node(key: &'static str, kind: NodeKind, meaning: &'static str) -> ShapeNode {
    let status = FieldStatus::Current;
    ShapeNode { key, kind, rule: FieldRule::Free, default: "", meaning, status, needs: &[], children: &[] }
}

impl ShapeNode {
    const fn rule(self, rule: FieldRule) -> Self {
        Self { rule, ..self }
    }

    const fn default(self, default: &'static str) -> Self {
        Self { default, ..self }
    }

    const fn deprecated(self) -> Self {
        Self { status: FieldStatus::Deprecated, ..self }
    }

    const fn needs(self, needs: &'static [&'static str]) -> Self {
        Self { needs, ..self }
    }

    const fn children(self, children: &'static [ShapeNode]) -> Self {
        Self { children, ..self }
    }
}

/// A unit of the spec, by which it is compared.
#[derive(Debug)]
pub struct UnitFacts {
    /// Its name: that of its field or exclusive group.
    pub name: &'static str,
    /// The letter of its digests in `trueup/applied`.
    pub letter: char,
    /// How its value is shown.
    pub form: UnitForm,
    /// Whether it is a part of the address, which is shown whole.
    pub is_address: bool,
}

impl UnitFacts {
    const fn new(name: &'static str, letter: char, form: UnitForm) -> Self {
        Self { name, letter, form, is_address: false }
    }

    const fn address(self) -> Self {
        Self { is_address: true, ..self }
    }
}

/// The units of the spec in the order of reports and documents. Those of other kinds with the same name have the letter, too.
pub const UNITS: [UnitFacts; 6] = [
    UnitFacts::new("target", 't', UnitForm::Choice).address(),
    UnitFacts::new("protocol", 'p', UnitForm::Value),
    UnitFacts::new("port", 'o', UnitForm::Number).address(),
    UnitFacts::new("health_check_port", 'h', UnitForm::Number),
    UnitFacts::new("snat_pool", 's', UnitForm::Prefixes),
    UnitFacts::new("where", 'w', UnitForm::Place),
];

/// Root keys that only the service writes (API.md 1.2).
pub const SERVICE_KEYS: [&str; 8] = [
    "system_metadata",
    "resource_version",
    "status",
    "create_form",
    "replace_form",
    "referring_objects",
    "deleted_referred_objects",
    "disabled_referred_objects",
];

/// The whole object: `metadata` and `spec`.
pub static ENDPOINT: ShapeNode = node("", NodeKind::Mapping, "One endpoint of the service mesh.")
    .needs(&["metadata", "spec"])
    .children(&[METADATA_NODE, SPEC_NODE]);
/// `spec`
pub static SPEC: ShapeNode = SPEC_NODE;

const METADATA_NODE: ShapeNode = node("metadata", NodeKind::Mapping, "What identifies the object, and notes about it.")
    .needs(&["name", "namespace"])
    .children(METADATA_KEYS);
const SPEC_NODE: ShapeNode = node(
    "spec",
    NodeKind::Mapping,
    "What the endpoint points at, and where it applies. The first four fields are an exclusive group: the target.",
)
.rule(FieldRule::Options(GroupRule::One, &["dns_name", "dns_name_advanced", "ip", "service_info"]))
.children(SPEC_KEYS);

const METADATA_KEYS: &[ShapeNode] = &[
    node("name", NodeKind::Text, "The name of the object, unique in its namespace. Another name is another object.")
        .rule(FieldRule::Label),
    node(
        "namespace",
        NodeKind::Text,
        "The namespace of the object. Where `namespaces:` is set, it must be listed there.",
    )
    .rule(FieldRule::Label),
    node(
        "labels",
        NodeKind::TextMap,
        "Labels, by which other objects select this one. They belong to the definition whole: a label that it does not \
         name is removed, except those under `ves.io/`, which are the service's.",
    )
    .default("none"),
    node(
        "annotations",
        NodeKind::TextMap,
        "Remarks for programs. Annotations that no definition names are somebody else's and stay. \
         `trueup/protect: \"true\"` forbids a delete; `trueup/stack` and `trueup/applied` are written by trueup alone.",
    )
    .rule(FieldRule::Map(LONGEST_ANNOTATION_KEY, LONGEST_ANNOTATION))
    .default("none"),
    node("description", NodeKind::Text, "A text for people.")
        .rule(FieldRule::Bytes(LONGEST_DESCRIPTION))
        .default("empty"),
    node("disable", NodeKind::Flag, "Takes the object out of use without deleting it.").default("false"),
];

const SPEC_KEYS: &[ShapeNode] = &[
    node(
        "dns_name",
        NodeKind::Text,
        "Target: the host name that is looked up for the address. Compared without case and without a final dot.",
    )
    .rule(FieldRule::Characters(1, LONGEST_HOST_NAME)),
    node("dns_name_advanced", NodeKind::Mapping, "Target: a host name, and how often it is looked up.")
        .rule(FieldRule::Options(GroupRule::AtMostOne, &["refresh_interval", "strict_ttl"]))
        .needs(&["name"])
        .children(DNS_NAME_ADVANCED_KEYS),
    node("ip", NodeKind::Text, "Target: an address, version 4 or 6. Compared by value."),
    node("service_info", NodeKind::Mapping, "Target: a service that a discovery of the site finds.")
        .rule(FieldRule::Options(GroupRule::One, &["service_name", "service_selector"]))
        .needs(&["discovery_type"])
        .children(SERVICE_INFO_KEYS),
    node("protocol", NodeKind::Word, "The transport protocol.").rule(FieldRule::Words(Protocol::WORDS)).default("TCP"),
    node("port", NodeKind::Integer, "The port of the target.").rule(FieldRule::Range(0, 65_535)).default("0"),
    node("health_check_port", NodeKind::Integer, "The port that health checks use; 0 means the same as `port`.")
        .rule(FieldRule::Range(0, 65_535))
        .default("0"),
    node("snat_pool", NodeKind::Mapping, "Source NAT of what reaches the target: an exclusive group.")
        .rule(FieldRule::Options(GroupRule::AtMostOne, &["no_snat_pool", "snat_pool"]))
        .default("no_snat_pool")
        .children(SNAT_POOL_KEYS),
    node("where", NodeKind::Mapping, "Where the endpoint applies: an exclusive group.")
        .rule(FieldRule::Options(GroupRule::AtMostOne, &["site", "virtual_site", "virtual_network"]))
        .default("unset")
        .children(WHERE_KEYS),
];

const DNS_NAME_ADVANCED_KEYS: &[ShapeNode] = &[
    node("name", NodeKind::Text, "The host name that is looked up.").rule(FieldRule::Characters(1, LONGEST_HOST_NAME)),
    node("refresh_interval", NodeKind::Seconds, "The time between two look-ups.")
        .rule(FieldRule::Range(*REFRESH_INTERVAL.start() as u64, *REFRESH_INTERVAL.end() as u64))
        .default("left to the service"),
    node("strict_ttl", NodeKind::Empty, "The name is looked up again when the DNS answer expires.")
        .default("left to the service")
        .deprecated(),
];

const SERVICE_INFO_KEYS: &[ShapeNode] = &[
    node("discovery_type", NodeKind::Word, "How the service is discovered.").rule(FieldRule::Words(Discovery::WORDS)),
    node("service_name", NodeKind::Text, "The service by its name, such as `cart.shop`.")
        .rule(FieldRule::Bytes(LONGEST_SERVICE_NAME)),
    node("service_selector", NodeKind::Mapping, "The service by its labels.").children(SERVICE_SELECTOR_KEYS),
];

const SERVICE_SELECTOR_KEYS: &[ShapeNode] = &[node(
    "expressions",
    NodeKind::TextList,
    "One label selector, such as `tier in (web, db),!legacy`, at most 4096 characters.",
)
.rule(FieldRule::Items(1, 1))];

const SNAT_POOL_KEYS: &[ShapeNode] = &[
    node("no_snat_pool", NodeKind::Empty, "No pool.").default("chosen"),
    node("snat_pool", NodeKind::Mapping, "A pool of addresses.").children(PREFIX_KEYS),
];

const PREFIX_KEYS: &[ShapeNode] = &[
    node("prefixes", NodeKind::TextList, "The IPv4 prefixes of the pool, such as `10.1.0.0/16`. Compared as a set.")
        .rule(FieldRule::Items(0, MOST_PREFIXES))
        .default("none"),
    node(
        "ipv6_prefixes",
        NodeKind::TextList,
        "The IPv6 prefixes of the pool, such as `2001:db8::/48`. Compared as a set.",
    )
    .default("none"),
];

const WHERE_KEYS: &[ShapeNode] = &[
    node("site", NodeKind::Mapping, "One site.")
        .rule(FieldRule::Options(GroupRule::AtMostOne, &["disable_internet_vip", "enable_internet_vip"]))
        .needs(&["ref"])
        .children(SITE_KEYS),
    node("virtual_site", NodeKind::Mapping, "All sites that a virtual site selects.")
        .rule(FieldRule::Options(GroupRule::AtMostOne, &["disable_internet_vip", "enable_internet_vip"]))
        .needs(&["ref"])
        .children(VIRTUAL_SITE_KEYS),
    node("virtual_network", NodeKind::Mapping, "One virtual network.").needs(&["ref"]).children(VIRTUAL_NETWORK_KEYS),
];

const SITE_KEYS: &[ShapeNode] = &[
    node("ref", NodeKind::References, "The site.")
        .rule(FieldRule::Items(1, 1))
        .needs(&["name"])
        .children(REFERENCE_KEYS),
    node("refs", NodeKind::References, "Virtual networks of the site.")
        .default("none")
        .deprecated()
        .needs(&["name"])
        .children(REFERENCE_KEYS),
    node("network_type", NodeKind::Word, "The network at the site.")
        .rule(FieldRule::Words(NetworkType::WORDS))
        .default("VIRTUAL_NETWORK_SITE_LOCAL"),
    node("disable_internet_vip", NodeKind::Empty, "No VIP towards the Internet at the site.").default("chosen"),
    node("enable_internet_vip", NodeKind::Empty, "A VIP towards the Internet at the site."),
];

const VIRTUAL_SITE_KEYS: &[ShapeNode] = &[
    node("ref", NodeKind::References, "The virtual site.")
        .rule(FieldRule::Items(1, 1))
        .needs(&["name"])
        .children(REFERENCE_KEYS),
    node("refs", NodeKind::References, "Virtual networks of the sites.")
        .default("none")
        .deprecated()
        .needs(&["name"])
        .children(REFERENCE_KEYS),
    node("network_type", NodeKind::Word, "The network at the sites.")
        .rule(FieldRule::Words(NetworkType::WORDS))
        .default("VIRTUAL_NETWORK_SITE_LOCAL"),
    node("disable_internet_vip", NodeKind::Empty, "No VIP towards the Internet at the sites.").default("chosen"),
    node("enable_internet_vip", NodeKind::Empty, "A VIP towards the Internet at the sites."),
];

const VIRTUAL_NETWORK_KEYS: &[ShapeNode] = &[node("ref", NodeKind::References, "The virtual network.")
    .rule(FieldRule::Items(1, 1))
    .needs(&["name"])
    .children(REFERENCE_KEYS)];

const REFERENCE_KEYS: &[ShapeNode] = &[
    node("name", NodeKind::Text, "The name of the object referred to.").rule(FieldRule::Bytes(LONGEST_REFERENCE_NAME)),
    node(
        "namespace",
        NodeKind::Text,
        "Its namespace. What a definition leaves out is the service's to fill, and is not compared.",
    )
    .rule(FieldRule::Bytes(LONGEST_REFERENCE_PART))
    .default("filled in by the service"),
    node("tenant", NodeKind::Text, "Its tenant, with the random suffix of the service.")
        .rule(FieldRule::Bytes(LONGEST_REFERENCE_PART))
        .default("filled in by the service"),
    node("uid", NodeKind::Text, "Its uid.").default("filled in by the service"),
    node("kind", NodeKind::Text, "Its kind. Read, and never compared: the service spells it in many ways.")
        .default("filled in by the service"),
];
