//! What each field of a definition means: one table, from which the JSON Schema takes its descriptions
//! and limits and `explain` its text. Limits are those that [`super::check`] keeps; a test holds the
//! table to the wire form, so that no field is without an entry.

use super::rules::{
    LONGEST_ANNOTATION, LONGEST_ANNOTATION_KEY, LONGEST_DESCRIPTION, LONGEST_HOST_NAME, LONGEST_REFERENCE_NAME,
    LONGEST_REFERENCE_PART, LONGEST_SERVICE_NAME, MOST_PREFIXES, REFRESH_INTERVAL,
};
use super::{Discovery, NetworkType, Protocol};

/// One field of a definition.
#[derive(Debug, Clone, Copy)]
pub struct FieldEntry {
    /// Its path, such as `spec.where.site.ref.name`; items of a list have no step of their own.
    pub path: &'static str,
    /// What is written there, in words.
    pub kind: &'static str,
    /// What is allowed.
    pub rule: FieldRule,
    /// What saying nothing means; empty where something must be said.
    pub default: &'static str,
    /// What it is for.
    pub meaning: &'static str,
    /// Where this is known from.
    pub source: &'static str,
    /// Whether the vendor still recommends it.
    pub age: FieldStatus,
}

/// Whether the vendor still recommends a field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FieldStatus {
    /// It does.
    Current,
    /// It does not; the field is still read, sent and compared.
    Deprecated,
}

/// What is allowed in a field.
#[derive(Debug, Clone, Copy)]
pub enum FieldRule {
    /// Nothing beside its kind.
    Free,
    /// A DNS-1035 label.
    Label,
    /// From and to.
    Range(u64, u64),
    /// At most so many bytes.
    Bytes(usize),
    /// At least and at most so many characters.
    Characters(usize, usize),
    /// Keys and values of a map, each 1 to so many characters.
    Map(usize, usize),
    /// At least and at most so many items.
    Items(usize, usize),
    /// One of these words.
    Words(fn() -> Vec<&'static str>),
    /// Exactly one of these, or at most one.
    Options(GroupRule, &'static [&'static str]),
}

/// Whether an exclusive group needs one of its options.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GroupRule {
    /// One must be given.
    One,
    /// One may be given.
    AtMostOne,
}

impl FieldRule {
    /// The rule in words; empty where there is none.
    #[must_use]
    pub fn words(self) -> String {
        match self {
            FieldRule::Free => String::new(),
            FieldRule::Label => {
                "lower-case letters, digits and `-`, a letter first, a letter or digit last, at most 63".to_owned()
            }
            FieldRule::Range(least, most) => format!("{least} to {most}"),
            FieldRule::Bytes(most) => format!("at most {most} bytes"),
            FieldRule::Characters(least, most) => format!("{least} to {most} characters"),
            FieldRule::Map(key, value) => format!("keys of 1 to {key} and values of 1 to {value} characters"),
            FieldRule::Items(1, 1) => "exactly one item".to_owned(),
            FieldRule::Items(0, most) => format!("at most {most} items"),
            FieldRule::Items(least, most) => format!("{least} to {most} items"),
            FieldRule::Words(words) => format!("one of {}", words().join(", ")),
            FieldRule::Options(GroupRule::One, options) => format!("exactly one of {}", options.join(", ")),
            FieldRule::Options(GroupRule::AtMostOne, options) => format!("at most one of {}", options.join(", ")),
        }
    }
}

fn protocols() -> Vec<&'static str> {
    Protocol::ALL.iter().map(|one| one.as_str()).collect()
}

fn discoveries() -> Vec<&'static str> {
    Discovery::ALL.iter().map(|one| one.as_str()).collect()
}

fn networks() -> Vec<&'static str> {
    NetworkType::ALL.iter().map(|one| one.as_str()).collect()
}

const REFERENCE: &str = "reference 2.1";
const API: &str = "API.md 3";
const LIMITS: &str = "API.md 4.1";
const NEWER: &str = "API.md 10b";

const fn entry(
    path: &'static str,
    kind: &'static str,
    rule: FieldRule,
    default: &'static str,
    meaning: &'static str,
    source: &'static str,
) -> FieldEntry {
    FieldEntry { path, kind, rule, default, meaning, source, age: FieldStatus::Current }
}

const fn deprecated(
    path: &'static str,
    kind: &'static str,
    default: &'static str,
    meaning: &'static str,
) -> FieldEntry {
    FieldEntry { age: FieldStatus::Deprecated, ..entry(path, kind, FieldRule::Free, default, meaning, NEWER) }
}

/// Every field of a definition, in the order of a file.
pub const REFERENCE_TABLE: &[FieldEntry] = &[
    entry(
        "metadata",
        "mapping",
        FieldRule::Free,
        "",
        "What identifies the endpoint, and what people say about it.",
        REFERENCE,
    ),
    entry(
        "metadata.name",
        "text",
        FieldRule::Label,
        "",
        "The name of the endpoint, unique in its namespace. Another name is another endpoint.",
        LIMITS,
    ),
    entry(
        "metadata.namespace",
        "text",
        FieldRule::Label,
        "",
        "The namespace that holds the endpoint. Where `namespaces:` is set, it must be listed there.",
        LIMITS,
    ),
    entry(
        "metadata.labels",
        "mapping of texts",
        FieldRule::Free,
        "none",
        "Labels, by which other objects select this one. They belong to the definition whole: a label that it does not name is taken away, but for those under `ves.io/`, which are the service's.",
        REFERENCE,
    ),
    entry(
        "metadata.annotations",
        "mapping of texts",
        FieldRule::Map(LONGEST_ANNOTATION_KEY, LONGEST_ANNOTATION),
        "none",
        "Remarks for programs. Annotations that no definition names are somebody else's and stay. `trueup/protect: \"true\"` forbids a delete; `trueup/stack` and `trueup/applied` are written by trueup alone.",
        LIMITS,
    ),
    entry("metadata.description", "text", FieldRule::Bytes(LONGEST_DESCRIPTION), "empty", "A text for people.", LIMITS),
    entry(
        "metadata.disable",
        "true or false",
        FieldRule::Free,
        "false",
        "Takes the endpoint out of use without taking it away.",
        REFERENCE,
    ),
    entry(
        "spec",
        "mapping",
        FieldRule::Options(GroupRule::One, &["dns_name", "dns_name_advanced", "ip", "service_info"]),
        "",
        "What the endpoint points at, and where it applies. The first four fields are an exclusive group: the target.",
        REFERENCE,
    ),
    entry(
        "spec.dns_name",
        "text",
        FieldRule::Characters(1, LONGEST_HOST_NAME),
        "",
        "Target: the host name that is looked up for the address. Compared without case and without a final dot.",
        REFERENCE,
    ),
    entry(
        "spec.dns_name_advanced",
        "mapping",
        FieldRule::Options(GroupRule::AtMostOne, &["refresh_interval", "strict_ttl"]),
        "",
        "Target: a host name with a say in how often it is looked up.",
        REFERENCE,
    ),
    entry(
        "spec.dns_name_advanced.name",
        "text",
        FieldRule::Characters(1, LONGEST_HOST_NAME),
        "",
        "The host name that is looked up.",
        REFERENCE,
    ),
    entry(
        "spec.dns_name_advanced.refresh_interval",
        "seconds, a whole number",
        FieldRule::Range(*REFRESH_INTERVAL.start() as u64, *REFRESH_INTERVAL.end() as u64),
        "left to the service",
        "The time between two look-ups.",
        API,
    ),
    deprecated(
        "spec.dns_name_advanced.strict_ttl",
        "{}",
        "left to the service",
        "The name is looked up again when the DNS answer expires.",
    ),
    entry("spec.ip", "text", FieldRule::Free, "", "Target: an address, version 4 or 6. Compared by value.", REFERENCE),
    entry(
        "spec.service_info",
        "mapping",
        FieldRule::Options(GroupRule::One, &["service_name", "service_selector"]),
        "",
        "Target: a service that a discovery of the site finds.",
        REFERENCE,
    ),
    entry(
        "spec.service_info.discovery_type",
        "word",
        FieldRule::Words(discoveries),
        "",
        "How the service is discovered.",
        API,
    ),
    entry(
        "spec.service_info.service_name",
        "text",
        FieldRule::Bytes(LONGEST_SERVICE_NAME),
        "",
        "The service by its name, such as `cart.shop`.",
        API,
    ),
    entry("spec.service_info.service_selector", "mapping", FieldRule::Free, "", "The service by its labels.", API),
    entry(
        "spec.service_info.service_selector.expressions",
        "list of texts",
        FieldRule::Items(1, 1),
        "",
        "One label selector, such as `tier in (web, db),!legacy`, at most 4096 characters.",
        API,
    ),
    entry("spec.protocol", "word", FieldRule::Words(protocols), "TCP", "The transport protocol.", API),
    entry("spec.port", "whole number", FieldRule::Range(0, 65_535), "0", "The port of the target.", API),
    entry(
        "spec.health_check_port",
        "whole number",
        FieldRule::Range(0, 65_535),
        "0",
        "The port that health checks use; 0 means the same as `port`.",
        API,
    ),
    entry(
        "spec.snat_pool",
        "mapping",
        FieldRule::Options(GroupRule::AtMostOne, &["no_snat_pool", "snat_pool"]),
        "no_snat_pool",
        "Source NAT of what reaches the target: an exclusive group.",
        REFERENCE,
    ),
    entry("spec.snat_pool.no_snat_pool", "{}", FieldRule::Free, "chosen", "No pool.", REFERENCE),
    entry("spec.snat_pool.snat_pool", "mapping", FieldRule::Free, "", "A pool of addresses.", REFERENCE),
    entry(
        "spec.snat_pool.snat_pool.prefixes",
        "list of texts",
        FieldRule::Items(0, MOST_PREFIXES),
        "none",
        "The IPv4 prefixes of the pool, such as `10.1.0.0/16`. Compared as a set.",
        API,
    ),
    entry(
        "spec.snat_pool.snat_pool.ipv6_prefixes",
        "list of texts",
        FieldRule::Free,
        "none",
        "The IPv6 prefixes of the pool, such as `2001:db8::/48`. Compared as a set.",
        NEWER,
    ),
    entry(
        "spec.where",
        "mapping",
        FieldRule::Options(GroupRule::AtMostOne, &["site", "virtual_site", "virtual_network"]),
        "nothing is said",
        "Where the endpoint applies: an exclusive group.",
        REFERENCE,
    ),
    entry(
        "spec.where.site",
        "mapping",
        FieldRule::Options(GroupRule::AtMostOne, &["disable_internet_vip", "enable_internet_vip"]),
        "",
        "One site.",
        REFERENCE,
    ),
    entry("spec.where.site.ref", "list of references", FieldRule::Items(1, 1), "", "The site.", REFERENCE),
    deprecated("spec.where.site.refs", "list of references", "none", "Virtual networks of the site."),
    entry(
        "spec.where.site.network_type",
        "word",
        FieldRule::Words(networks),
        "VIRTUAL_NETWORK_SITE_LOCAL",
        "The network at the site.",
        API,
    ),
    entry(
        "spec.where.site.disable_internet_vip",
        "{}",
        FieldRule::Free,
        "chosen",
        "No VIP towards the Internet at the site.",
        REFERENCE,
    ),
    entry(
        "spec.where.site.enable_internet_vip",
        "{}",
        FieldRule::Free,
        "",
        "A VIP towards the Internet at the site.",
        REFERENCE,
    ),
    entry(
        "spec.where.virtual_site",
        "mapping",
        FieldRule::Options(GroupRule::AtMostOne, &["disable_internet_vip", "enable_internet_vip"]),
        "",
        "All sites that a virtual site selects.",
        REFERENCE,
    ),
    entry(
        "spec.where.virtual_site.ref",
        "list of references",
        FieldRule::Items(1, 1),
        "",
        "The virtual site.",
        REFERENCE,
    ),
    deprecated("spec.where.virtual_site.refs", "list of references", "none", "Virtual networks of the sites."),
    entry(
        "spec.where.virtual_site.network_type",
        "word",
        FieldRule::Words(networks),
        "VIRTUAL_NETWORK_SITE_LOCAL",
        "The network at the sites.",
        API,
    ),
    entry(
        "spec.where.virtual_site.disable_internet_vip",
        "{}",
        FieldRule::Free,
        "chosen",
        "No VIP towards the Internet at the sites.",
        REFERENCE,
    ),
    entry(
        "spec.where.virtual_site.enable_internet_vip",
        "{}",
        FieldRule::Free,
        "",
        "A VIP towards the Internet at the sites.",
        REFERENCE,
    ),
    entry("spec.where.virtual_network", "mapping", FieldRule::Free, "", "One virtual network.", REFERENCE),
    entry(
        "spec.where.virtual_network.ref",
        "list of references",
        FieldRule::Items(1, 1),
        "",
        "The virtual network.",
        REFERENCE,
    ),
];

/// The parts of a reference, below every list of references.
pub const REFERENCE_PARTS: &[FieldEntry] = &[
    entry("name", "text", FieldRule::Bytes(LONGEST_REFERENCE_NAME), "", "The name of the object referred to.", API),
    entry(
        "namespace",
        "text",
        FieldRule::Bytes(LONGEST_REFERENCE_PART),
        "filled in by the service",
        "Its namespace. What a definition leaves out is the service's to fill, and is not compared.",
        API,
    ),
    entry(
        "tenant",
        "text",
        FieldRule::Bytes(LONGEST_REFERENCE_PART),
        "filled in by the service",
        "Its tenant, with the random suffix of the service.",
        API,
    ),
    entry("uid", "text", FieldRule::Free, "filled in by the service", "Its uid.", API),
    entry(
        "kind",
        "text",
        FieldRule::Free,
        "filled in by the service",
        "Its kind. Read, and never compared: the service spells it in many ways.",
        API,
    ),
];

impl FieldEntry {
    /// Whether the parts of a reference are below it.
    #[must_use]
    pub fn is_list_of_references(&self) -> bool {
        self.path.ends_with(".ref") || self.path.ends_with(".refs")
    }

    /// The entry at `path`: of the table, or a part of a reference.
    #[must_use]
    pub fn at(path: &str) -> Option<FieldEntry> {
        let found = REFERENCE_TABLE.iter().find(|entry| entry.path == path);
        found.copied().or_else(|| {
            let (list, part) = path.rsplit_once('.')?;
            REFERENCE_TABLE.iter().find(|entry| entry.path == list && entry.is_list_of_references())?;
            REFERENCE_PARTS.iter().find(|entry| entry.path == part).copied()
        })
    }
}
