//! What the spec of an endpoint is, as tables: the fields in the order in which the service writes them,
//! with their types, defaults and the rules of the published specification. [`super::spec`] reads and
//! writes by them.

use std::ops::RangeInclusive;

use super::rules;
use crate::sandbox::message::Rule;

/// A part of a message.
#[derive(Debug)]
pub enum Node {
    /// A field that has a zero value where it is unset.
    Field(&'static str, Kind),
    /// A field that is `null` where it is unset.
    Nullable(&'static str, Kind),
    /// A group of which at most one option is set.
    OneOf(&'static [(&'static str, Kind)], Unset),
}

/// What a group is of which no option is set.
#[derive(Clone, Copy, Debug)]
pub enum Unset {
    /// It is left out.
    Nothing,
    /// The first option is filled in.
    First,
    /// It is an error that names this path below the message.
    Breaks(&'static str),
}

/// A rule on a text, and whether a text passes it.
pub type TextRule = (Rule<'static>, fn(&str) -> bool);

/// What a value is.
#[derive(Debug)]
pub enum Kind {
    /// `{}`, whatever the object contains.
    Empty,
    Text {
        rules: &'static [TextRule],
        default: &'static str,
    },
    Number(RangeInclusive<u32>, Rule<'static>),
    /// One of these names, or its number; the first is the default, which may be forbidden by a rule.
    Choice {
        names: &'static [&'static str],
        unusable: Option<Rule<'static>>,
    },
    /// A label selector.
    Selector(&'static [TextRule]),
    Object(&'static [Node]),
    /// A reference to an object of `kind`; its namespace defaults to that of the endpoint.
    Reference {
        kind: &'static str,
        namespace: Option<&'static str>,
    },
    List(&'static Kind, Items),
}

/// Which items a list may have.
#[derive(Clone, Copy, Debug)]
pub enum Items {
    Any,
    One,
    /// No item twice, and at most this many.
    Distinct(Option<(usize, Rule<'static>)>),
}

/// The rule on a list of [`Items::One`].
pub const ONE: Rule<'_> = Rule::new("repeated.max_items", "1", "at most 1 item");

const fn plain(rules: &'static [TextRule]) -> Kind {
    Kind::Text { rules, default: "" }
}

/// The spec of an endpoint.
pub const SPEC: &[Node] = &[
    Node::Nullable("where", Kind::Object(WHERE)),
    // Nothing public says whether an empty protocol is filled or refused; TCP is the console's default.
    Node::Field("protocol", Kind::Text { rules: &[PROTOCOL], default: "TCP" }),
    Node::Field("port", Kind::Number(0..=65_535, PORT)),
    Node::Field("health_check_port", Kind::Number(0..=65_535, PORT)),
    Node::OneOf(TARGET, Unset::Nothing),
    Node::Nullable("snat_pool", Kind::Object(&[Node::OneOf(SNAT_POOL, Unset::First)])),
];

/// A `where` needs a choice, and the default choice of the service is a virtual site, which then lacks
/// its reference.
const WHERE: &[Node] = &[Node::OneOf(
    &[
        ("site", Kind::Object(&SITE)),
        ("virtual_site", Kind::Object(&VIRTUAL_SITE)),
        ("virtual_network", Kind::Object(&[Node::Field("ref", Kind::List(&NETWORK, Items::One))])),
    ],
    Unset::Breaks("virtual_site.ref"),
)];

const NETWORK: Kind = Kind::Reference { kind: "virtual_network.Object", namespace: None };

/// A site is an object of the `system` namespace.
const SITE: [Node; 4] = site(&Kind::Reference { kind: "site.Object", namespace: Some("system") }, &NETWORK);

const VIRTUAL_SITE: [Node; 4] = site(&Kind::Reference { kind: "virtual_site.Object", namespace: None }, &NETWORK);

const fn site(object: &'static Kind, network: &'static Kind) -> [Node; 4] {
    [
        Node::Field("ref", Kind::List(object, Items::One)),
        Node::Field("refs", Kind::List(network, Items::Any)),
        Node::Field("network_type", Kind::Choice { names: NETWORKS, unusable: None }),
        Node::OneOf(&[("disable_internet_vip", Kind::Empty), ("enable_internet_vip", Kind::Empty)], Unset::First),
    ]
}

const TARGET: &[(&str, Kind)] = &[
    ("ip", plain(&[(Rule::new("string.ip", "true", "an IP address"), rules::is_address)])),
    ("dns_name", plain(&HOSTNAME)),
    (
        "dns_name_advanced",
        Kind::Object(&[
            Node::Field("name", plain(&HOSTNAME)),
            Node::OneOf(
                &[("refresh_interval", Kind::Number(10..=604_800, INTERVAL)), ("strict_ttl", Kind::Empty)],
                Unset::Nothing,
            ),
        ]),
    ),
    (
        "service_info",
        Kind::Object(&[
            // The zero value is refused, so the field has no usable default.
            Node::Field("discovery_type", Kind::Choice { names: DISCOVERY, unusable: Some(DISCOVERED) }),
            // That one of the two names is needed is our decision; the specification does not say.
            Node::OneOf(
                &[
                    (
                        "service_name",
                        plain(&[(Rule::new("string.max_bytes", "256", "at most 256 bytes"), |text| text.len() <= 256)]),
                    ),
                    (
                        "service_selector",
                        Kind::Object(&[Node::Field(
                            "expressions",
                            Kind::List(&Kind::Selector(&EXPRESSION), Items::One),
                        )]),
                    ),
                ],
                Unset::Breaks("service_info"),
            ),
        ]),
    ),
];

const SNAT_POOL: &[(&str, Kind)] = &[
    ("no_snat_pool", Kind::Empty),
    (
        "snat_pool",
        Kind::Object(&[
            Node::Field(
                "prefixes",
                Kind::List(&plain(&[(IPV4, rules::is_ipv4_prefix)]), Items::Distinct(Some((128, MOST)))),
            ),
            Node::Field("ipv6_prefixes", Kind::List(&plain(&[(IPV6, rules::is_ipv6_prefix)]), Items::Distinct(None))),
        ]),
    ),
];

const PROTOCOL: TextRule =
    (Rule::new("string.in", "[TCP UDP]", "one of TCP, UDP"), |text| matches!(text, "" | "TCP" | "UDP"));
const PORT: Rule<'_> = Rule::new("uint32.lte", "65535", "at most 65535");
const INTERVAL: Rule<'_> = Rule::new("uint32.gte", "10, lte 604800", "between 10 and 604800");
const MOST: Rule<'_> = Rule::new("repeated.max_items", "128", "at most 128 items");
const IPV4: Rule<'_> = Rule::new("string.ipv4_prefix", "true", "an IPv4 prefix");
const IPV6: Rule<'_> = Rule::new("string.ipv6_prefix", "true", "an IPv6 prefix");
const HOSTNAME: [TextRule; 2] = [
    (Rule::new("string.max_len", "256", "at most 256 characters"), |text| text.chars().count() <= 256),
    (Rule::new("string.hostname", "true", "a host name"), rules::is_hostname),
];
const EXPRESSION: [TextRule; 1] = [(Rule::new("string.min_len", "1, max_len 4096", "1 to 4096 characters"), |text| {
    (1..=4_096).contains(&text.chars().count())
})];

/// The rules on the names in a reference.
pub const NAME: [TextRule; 1] = [(Rule::new("string.max_bytes", "128", "at most 128 bytes"), |text| text.len() <= 128)];
pub const NAMESPACE: [TextRule; 1] =
    [(Rule::new("string.max_bytes", "64", "at most 64 bytes"), |text| text.len() <= 64)];

const DISCOVERED: Rule<'_> =
    Rule::new("enum.not_in", "[0]", "one of K8S, CONSUL, CLASSIC_BIGIP, THIRD_PARTY, NGINX_ONE");
const DISCOVERY: &[&str] = &["INVALID_DISCOVERY", "K8S", "CONSUL", "CLASSIC_BIGIP", "THIRD_PARTY", "NGINX_ONE"];

const NETWORKS: &[&str] = &[
    "VIRTUAL_NETWORK_SITE_LOCAL",
    "VIRTUAL_NETWORK_SITE_LOCAL_INSIDE",
    "VIRTUAL_NETWORK_PER_SITE",
    "VIRTUAL_NETWORK_PUBLIC",
    "VIRTUAL_NETWORK_GLOBAL",
    "VIRTUAL_NETWORK_SITE_SERVICE",
    "VIRTUAL_NETWORK_VER_INTERNAL",
    "VIRTUAL_NETWORK_SITE_LOCAL_INSIDE_OUTSIDE",
    "VIRTUAL_NETWORK_IP_AUTO",
    "VIRTUAL_NETWORK_VOLTADN_PRIVATE_NETWORK",
    "VIRTUAL_NETWORK_SRV6_NETWORK",
    "VIRTUAL_NETWORK_IP_FABRIC",
    "VIRTUAL_NETWORK_SEGMENT",
    "VIRTUAL_NETWORK_MANAGEMENT",
];
