//! The wire form of an endpoint: every field optional, both spellings of a key, unknown keys refused.
//! [`RawEndpoint::endpoint`] turns it into the model and collects every problem of shape on the way;
//! [`super::check`] adds the rules. Live objects pass through the same conversion without the rules,
//! so that a value which the service holds can be compared and replaced.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::net::IpAddr;

use ipnet::Ipv4Net;
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};

use super::problem::steps;
use super::{
    Discovery, Endpoint, HostName, InternetVip, Key, Name, Namespace, NetworkType, Problem, Protocol, Reference,
    Segment, Selector, Service, SitePlace, SnatPool, Spec, Spot, Target, Texts, Where,
};

/// The create request: `metadata` and `spec`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RawEndpoint {
    /// Name, namespace, labels, annotations.
    #[serde(default)]
    pub metadata: Option<RawMetadata>,
    /// Target and place.
    #[serde(default)]
    pub spec: Option<RawSpec>,
}

/// `metadata` of the create request.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RawMetadata {
    /// DNS-1035 label, at most 63 bytes.
    #[serde(default)]
    pub name: Option<String>,
    /// The namespace; a stack's `namespaces:` lists the ones it may name.
    #[serde(default)]
    pub namespace: Option<String>,
    /// A `null` value is an absent label.
    #[serde(default, deserialize_with = "unique")]
    pub labels: Option<BTreeMap<String, Option<String>>>,
    /// A `null` value is an absent annotation.
    #[serde(default, deserialize_with = "unique")]
    pub annotations: Option<BTreeMap<String, Option<String>>>,
    /// At most 1,200 bytes.
    #[serde(default)]
    pub description: Option<String>,
    /// Administratively disabled.
    #[serde(default)]
    pub disable: Option<bool>,
}

/// `spec` of the create request.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RawSpec {
    /// Target option.
    #[serde(default, alias = "dnsName", skip_serializing_if = "Option::is_none")]
    pub dns_name: Option<String>,
    /// Target option.
    #[serde(default, alias = "dnsNameAdvanced", skip_serializing_if = "Option::is_none")]
    pub dns_name_advanced: Option<RawDnsNameAdvanced>,
    /// Target option.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ip: Option<String>,
    /// Target option.
    #[serde(default, alias = "serviceInfo", skip_serializing_if = "Option::is_none")]
    pub service_info: Option<RawServiceInfo>,
    /// `TCP` or `UDP`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub protocol: Option<String>,
    /// 0 to 65535.
    #[serde(default, deserialize_with = "integer", skip_serializing_if = "Option::is_none")]
    pub port: Option<i64>,
    /// 0 to 65535.
    #[serde(default, alias = "healthCheckPort", deserialize_with = "integer", skip_serializing_if = "Option::is_none")]
    pub health_check_port: Option<i64>,
    /// Exclusive group.
    #[serde(default, alias = "snatPool", skip_serializing_if = "Option::is_none")]
    pub snat_pool: Option<RawSnatPool>,
    /// Exclusive group.
    #[serde(default, rename = "where", skip_serializing_if = "Option::is_none")]
    pub place: Option<RawWhere>,
}

/// `spec.dns_name_advanced`
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RawDnsNameAdvanced {
    /// The host name.
    #[serde(default)]
    pub name: Option<String>,
    /// Seconds, 10 to 604800.
    #[serde(default, alias = "refreshInterval", deserialize_with = "integer", skip_serializing_if = "Option::is_none")]
    pub refresh_interval: Option<i64>,
}

/// `spec.service_info`
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RawServiceInfo {
    /// One of [`Discovery::ALL`].
    #[serde(default, alias = "discoveryType")]
    pub discovery_type: Option<String>,
    /// Service option.
    #[serde(default, alias = "serviceName", skip_serializing_if = "Option::is_none")]
    pub service_name: Option<String>,
    /// Service option.
    #[serde(default, alias = "serviceSelector", skip_serializing_if = "Option::is_none")]
    pub service_selector: Option<RawSelector>,
}

/// `spec.service_info.service_selector`
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RawSelector {
    /// Exactly one expression.
    #[serde(default, deserialize_with = "texts")]
    pub expressions: Option<Vec<String>>,
}

/// `spec.snat_pool`
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RawSnatPool {
    /// Option: none.
    #[serde(default, alias = "noSnatPool", skip_serializing_if = "Choice::is_absent")]
    pub no_snat_pool: Choice,
    /// Option: these prefixes.
    #[serde(default, alias = "snatPool", skip_serializing_if = "Option::is_none")]
    pub snat_pool: Option<RawPrefixes>,
}

/// `spec.snat_pool.snat_pool`
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RawPrefixes {
    /// At most 128 unique IPv4 prefixes.
    #[serde(default, deserialize_with = "texts")]
    pub prefixes: Option<Vec<String>>,
}

/// `spec.where`
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RawWhere {
    /// Option: a site.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub site: Option<RawSite>,
    /// Option: a virtual site.
    #[serde(default, alias = "virtualSite", skip_serializing_if = "Option::is_none")]
    pub virtual_site: Option<RawSite>,
    /// Option: a virtual network.
    #[serde(default, alias = "virtualNetwork", skip_serializing_if = "Option::is_none")]
    pub virtual_network: Option<RawVirtualNetwork>,
}

/// `spec.where.site` and `spec.where.virtual_site`
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RawSite {
    /// Exactly one reference.
    #[serde(default, rename = "ref")]
    pub reference: Option<Vec<RawReference>>,
    /// One of [`NetworkType::ALL`].
    #[serde(default, alias = "networkType", skip_serializing_if = "Option::is_none")]
    pub network_type: Option<String>,
    /// Internet VIP option.
    #[serde(default, alias = "disableInternetVip", skip_serializing_if = "Choice::is_absent")]
    pub disable_internet_vip: Choice,
    /// Internet VIP option.
    #[serde(default, alias = "enableInternetVip", skip_serializing_if = "Choice::is_absent")]
    pub enable_internet_vip: Choice,
}

/// `spec.where.virtual_network`
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RawVirtualNetwork {
    /// Exactly one reference.
    #[serde(default, rename = "ref")]
    pub reference: Option<Vec<RawReference>>,
}

/// A reference to an object of the service.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RawReference {
    /// Read and never compared (API.md 3.4).
    #[serde(default, skip_serializing)]
    pub kind: Option<String>,
    /// The name.
    #[serde(default)]
    pub name: Option<String>,
    /// The namespace.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub namespace: Option<String>,
    /// The tenant.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tenant: Option<String>,
    /// The uid.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub uid: Option<String>,
}

/// An empty message, written `{}`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RawEmpty {}

/// An option without fields. `null` is told from `{}`: the service takes the first for absent, a
/// person who wrote the key meant the second.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Choice {
    /// The key is not there.
    #[default]
    Absent,
    /// The key is there with nothing behind it.
    Null,
    /// `{}`
    Set,
}

impl Choice {
    fn is_absent(&self) -> bool {
        *self == Choice::Absent
    }
}

impl JsonSchema for Choice {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Choice".into()
    }

    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        generator.subschema_for::<Option<RawEmpty>>()
    }
}

impl Serialize for Choice {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Choice::Set => RawEmpty {}.serialize(serializer),
            Choice::Absent | Choice::Null => serializer.serialize_none(),
        }
    }
}

impl<'de> Deserialize<'de> for Choice {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let set = Option::<RawEmpty>::deserialize(deserializer)?;
        Ok(if set.is_some() { Choice::Set } else { Choice::Null })
    }
}

/// An integer, or a text of digits: proto JSON allows both.
fn integer<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<i64>, D::Error> {
    struct Digits;
    impl serde::de::Visitor<'_> for Digits {
        type Value = Option<i64>;
        fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            f.write_str("an integer")
        }
        fn visit_i64<E: serde::de::Error>(self, number: i64) -> Result<Self::Value, E> {
            Ok(Some(number))
        }
        fn visit_u64<E: serde::de::Error>(self, number: u64) -> Result<Self::Value, E> {
            i64::try_from(number).map(Some).map_err(|_| E::custom("the integer is too large"))
        }
        fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<Self::Value, E> {
            let digits = !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
            match text.parse() {
                Ok(number) if digits => Ok(Some(number)),
                _ => Err(E::invalid_type(serde::de::Unexpected::Str(text), &self)),
            }
        }
        fn visit_unit<E>(self) -> Result<Self::Value, E> {
            Ok(None)
        }
        fn visit_none<E>(self) -> Result<Self::Value, E> {
            Ok(None)
        }
    }
    deserializer.deserialize_any(Digits)
}

/// A map of texts in which no key stands twice: serde's own would keep the last one in silence.
fn unique<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<BTreeMap<String, Option<String>>>, D::Error> {
    struct Unique(BTreeMap<String, Option<String>>);
    impl<'de> Deserialize<'de> for Unique {
        fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
            struct Entries;
            impl<'de> serde::de::Visitor<'de> for Entries {
                type Value = Unique;
                fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                    f.write_str("a map of texts")
                }
                fn visit_map<A: serde::de::MapAccess<'de>>(self, mut map: A) -> Result<Unique, A::Error> {
                    let mut entries = BTreeMap::new();
                    while let Some((key, value)) = map.next_entry::<String, Option<String>>()? {
                        match entries.entry(key) {
                            Entry::Vacant(free) => free.insert(value),
                            Entry::Occupied(taken) => {
                                let what = format_args!("the key `{}` stands twice", taken.key()).to_string();
                                return Err(serde::de::Error::custom(what));
                            }
                        };
                    }
                    Ok(Unique(entries))
                }
            }
            deserializer.deserialize_map(Entries)
        }
    }
    Ok(Option::<Unique>::deserialize(deserializer)?.map(|unique| unique.0))
}

/// A list of texts without a `null` among them, which a YAML reader would take for the text "null".
fn texts<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Vec<String>>, D::Error> {
    let Some(texts) = Option::<Vec<Option<String>>>::deserialize(deserializer)? else { return Ok(None) };
    let texts: Option<Vec<String>> = texts.into_iter().collect();
    texts.map(Some).ok_or_else(|| serde::de::Error::custom("an item of the list is null"))
}

fn given(text: Option<&String>) -> Option<&String> {
    text.filter(|text| !text.is_empty())
}

fn join(base: &[Segment], key: &'static str) -> Vec<Segment> {
    let mut path = base.to_vec();
    path.push(key.into());
    path
}

fn exclusive(problems: &mut Vec<Problem>, base: &[Segment], what: &str, set: &[(&'static str, bool)]) {
    let mut chosen = set.iter().filter(|(_, set)| *set).map(|(key, _)| *key);
    if let Some(first) = chosen.next() {
        for second in chosen {
            problems.push(
                Problem::key(
                    join(base, second),
                    format!("`{first}` and `{second}` cannot both be set: {what}"),
                    "second option here",
                )
                .with(Spot::Key(join(base, first)), "first option here"),
            );
        }
    }
}

fn options<T: Copy>(all: &[T], text: fn(T) -> &'static str) -> String {
    let names: Vec<&str> = all.iter().map(|value| text(*value)).collect();
    format!("one of {}", names.join(", "))
}

fn port(problems: &mut Vec<Problem>, value: Option<i64>, key: &'static str) -> u16 {
    let number = value.unwrap_or(0);
    u16::try_from(number).unwrap_or_else(|_| {
        let end = if number < 0 { "below the least allowed 0" } else { "above the most allowed 65535" };
        problems.push(Problem::value(steps!["spec", key], format!("`{key}` is {number}, {end}"), "0 to 65535"));
        0
    })
}

fn present(map: Option<BTreeMap<String, Option<String>>>) -> Texts {
    map.unwrap_or_default().into_iter().filter_map(|(key, value)| Some((key, value?))).collect()
}

impl RawEndpoint {
    /// The endpoint that this wire form stands for.
    ///
    /// # Errors
    /// Every problem of shape: an exclusive group with two options or with none where one is needed,
    /// a value outside its type, a missing name or namespace.
    pub fn endpoint(self) -> Result<Endpoint, Vec<Problem>> {
        let mut problems = Vec::new();
        let metadata = self.metadata.unwrap_or_default();
        let key = key(&mut problems, &metadata);
        let spec = match self.spec {
            Some(spec) => spec.spec(&mut problems),
            None => {
                problems.push(Problem::value(vec![], "`spec` is missing", "an endpoint needs a `spec` with a target"));
                None
            }
        };
        match (key, spec) {
            (Some(key), Some(spec)) if problems.is_empty() => Ok(Endpoint {
                key,
                labels: present(metadata.labels),
                annotations: present(metadata.annotations),
                description: metadata.description.unwrap_or_default(),
                disable: metadata.disable.unwrap_or(false),
                spec,
            }),
            _ => Err(problems),
        }
    }
}

fn key(problems: &mut Vec<Problem>, metadata: &RawMetadata) -> Option<Key> {
    let name = needed(problems, metadata.name.as_ref(), "name");
    let namespace = needed(problems, metadata.namespace.as_ref(), "namespace");
    // Neither can be empty here; the rules of a label are checked with the other rules.
    Some(Key { namespace: Namespace::from_service(namespace?).ok()?, name: Name::from_service(name?).ok()? })
}

fn needed<'a>(problems: &mut Vec<Problem>, value: Option<&'a String>, key: &str) -> Option<&'a str> {
    let value = given(value);
    if value.is_none() {
        problems.push(Problem::value(
            steps!["metadata"],
            format!("`metadata.{key}` is missing"),
            format!("an endpoint needs a `{key}`"),
        ));
    }
    value.map(String::as_str)
}

impl RawSpec {
    /// The spec that this wire form stands for, `None` where a problem of shape was found.
    pub fn spec(self, problems: &mut Vec<Problem>) -> Option<Spec> {
        let before = problems.len();
        let port_number = port(problems, self.port, "port");
        let health_check_port = port(problems, self.health_check_port, "health_check_port");
        let protocol = match given(self.protocol.as_ref()) {
            None => Some(Protocol::default()),
            Some(text) => Protocol::from_text(text).or_else(|| {
                problems.push(Problem::value(
                    steps!["spec", "protocol"],
                    format!("`protocol` is `{text}`"),
                    options(Protocol::ALL, Protocol::as_str),
                ));
                None
            }),
        };
        let target = self.target(problems);
        let snat_pool = self.snat_pool.map_or(Some(SnatPool::None), |pool| pool.pool(problems));
        let place = self.place.and_then(|place| place.place(problems));
        if problems.len() > before {
            return None;
        }
        Some(Spec {
            target: target?,
            protocol: protocol?,
            port: port_number,
            health_check_port,
            snat_pool: snat_pool?,
            place,
        })
    }

    fn target(&self, problems: &mut Vec<Problem>) -> Option<Target> {
        let set = [
            ("dns_name", given(self.dns_name.as_ref()).is_some()),
            ("dns_name_advanced", self.dns_name_advanced.is_some()),
            ("ip", given(self.ip.as_ref()).is_some()),
            ("service_info", self.service_info.is_some()),
        ];
        exclusive(problems, &["spec".into()], "an endpoint has one target", &set);
        if let Some(name) = given(self.dns_name.as_ref()) {
            return Some(Target::DnsName(HostName::canonical(name)));
        }
        if let Some(advanced) = &self.dns_name_advanced {
            return advanced.target(problems);
        }
        if let Some(ip) = given(self.ip.as_ref()) {
            return match ip.parse::<IpAddr>() {
                Ok(ip) => Some(Target::Ip(ip)),
                Err(_) => {
                    problems.push(Problem::value(
                        steps!["spec", "ip"],
                        format!("`ip` is `{ip}`, which is no IP address"),
                        "an IPv4 or IPv6 address",
                    ));
                    None
                }
            };
        }
        if let Some(service) = &self.service_info {
            return service.target(problems);
        }
        problems.push(Problem::value(
            steps!["spec"],
            "the endpoint has no target",
            "set one of `dns_name`, `dns_name_advanced`, `ip`, `service_info`",
        ));
        None
    }
}

impl RawDnsNameAdvanced {
    fn target(&self, problems: &mut Vec<Problem>) -> Option<Target> {
        let at = steps!["spec", "dns_name_advanced"];
        let refresh_interval = match self.refresh_interval.map(u32::try_from) {
            None => None,
            Some(Ok(seconds)) => Some(seconds),
            Some(Err(_)) => {
                problems.push(Problem::value(
                    join(&at, "refresh_interval"),
                    format!("`refresh_interval` is {}, outside its range", self.refresh_interval.unwrap_or_default()),
                    "10 to 604800 seconds",
                ));
                None
            }
        };
        let Some(name) = given(self.name.as_ref()) else {
            problems.push(Problem::value(at, "`dns_name_advanced.name` is missing", "a host name"));
            return None;
        };
        Some(Target::DnsNameAdvanced { name: HostName::canonical(name), refresh_interval })
    }
}

impl RawServiceInfo {
    fn target(&self, problems: &mut Vec<Problem>) -> Option<Target> {
        let at = steps!["spec", "service_info"];
        let discovery = match given(self.discovery_type.as_ref()) {
            Some(text) => Discovery::from_text(text).or_else(|| {
                problems.push(Problem::value(
                    join(&at, "discovery_type"),
                    format!("`discovery_type` is `{text}`"),
                    options(Discovery::ALL, Discovery::as_str),
                ));
                None
            }),
            None => {
                problems.push(Problem::value(
                    at.clone(),
                    "`service_info.discovery_type` is missing",
                    options(Discovery::ALL, Discovery::as_str),
                ));
                None
            }
        };
        let name = given(self.service_name.as_ref());
        let set = [("service_name", name.is_some()), ("service_selector", self.service_selector.is_some())];
        exclusive(problems, &at, "a service is named in one way", &set);
        let service = match (name, &self.service_selector) {
            (Some(name), _) => Some(Service::Name(name.clone())),
            (None, Some(selector)) => match selector.expressions.as_deref() {
                Some([expression]) => Some(Service::Selector(Selector::canonical(expression))),
                other => {
                    problems.push(Problem::value(
                        join(&at, "service_selector"),
                        format!("`service_selector` holds {} expressions", other.map_or(0, <[String]>::len)),
                        "exactly one label selector in `expressions`",
                    ));
                    None
                }
            },
            (None, None) => {
                problems.push(Problem::value(
                    at,
                    "`service_info` names no service",
                    "set one of `service_name`, `service_selector`",
                ));
                None
            }
        };
        Some(Target::ServiceInfo { discovery: discovery?, service: service? })
    }
}

impl RawSnatPool {
    fn pool(self, problems: &mut Vec<Problem>) -> Option<SnatPool> {
        let at = steps!["spec", "snat_pool"];
        let set = [("no_snat_pool", self.no_snat_pool == Choice::Set), ("snat_pool", self.snat_pool.is_some())];
        exclusive(problems, &at, "an endpoint has one source NAT pool or none", &set);
        let Some(pool) = self.snat_pool else { return Some(SnatPool::None) };
        let mut prefixes = std::collections::BTreeSet::new();
        for (index, text) in pool.prefixes.unwrap_or_default().iter().enumerate() {
            match text.parse::<Ipv4Net>() {
                Ok(prefix) => {
                    prefixes.insert(prefix.trunc());
                }
                Err(_) => problems.push(Problem::value(
                    steps!["spec", "snat_pool", "snat_pool", "prefixes", index],
                    format!("`{text}` is no IPv4 prefix"),
                    "an IPv4 prefix such as 192.0.2.0/24",
                )),
            }
        }
        Some(SnatPool::Prefixes(prefixes))
    }
}

impl RawWhere {
    fn place(self, problems: &mut Vec<Problem>) -> Option<Where> {
        let at = steps!["spec", "where"];
        let set = [
            ("site", self.site.is_some()),
            ("virtual_network", self.virtual_network.is_some()),
            ("virtual_site", self.virtual_site.is_some()),
        ];
        exclusive(problems, &at, "an endpoint applies at one place", &set);
        if let Some(site) = self.site {
            return site.place(problems, "site").map(Where::Site);
        }
        if let Some(site) = self.virtual_site {
            return site.place(problems, "virtual_site").map(Where::VirtualSite);
        }
        if let Some(network) = self.virtual_network {
            return reference(problems, network.reference.as_deref(), "virtual_network").map(Where::VirtualNetwork);
        }
        problems.push(Problem::value(
            at,
            "`where` names no place",
            "set one of `site`, `virtual_network`, `virtual_site`",
        ));
        None
    }
}

impl RawSite {
    fn place(self, problems: &mut Vec<Problem>, option: &'static str) -> Option<SitePlace> {
        let at = steps!["spec", "where", option];
        let set = [
            ("disable_internet_vip", self.disable_internet_vip == Choice::Set),
            ("enable_internet_vip", self.enable_internet_vip == Choice::Set),
        ];
        exclusive(problems, &at, "the Internet VIP is either on or off", &set);
        let internet_vip =
            if self.enable_internet_vip == Choice::Set { InternetVip::Enabled } else { InternetVip::Disabled };
        let network_type = match given(self.network_type.as_ref()) {
            None => Some(NetworkType::default()),
            Some(text) => NetworkType::from_text(text).or_else(|| {
                problems.push(Problem::value(
                    join(&at, "network_type"),
                    format!("`network_type` is `{text}`"),
                    options(NetworkType::ALL, NetworkType::as_str),
                ));
                None
            }),
        };
        let reference = reference(problems, self.reference.as_deref(), option);
        Some(SitePlace { reference: reference?, network_type: network_type?, internet_vip })
    }
}

fn reference(
    problems: &mut Vec<Problem>,
    references: Option<&[RawReference]>,
    option: &'static str,
) -> Option<Reference> {
    let at = steps!["spec", "where", option];
    let part = |text: &Option<String>| given(text.as_ref()).cloned();
    match references.unwrap_or_default() {
        [one] => match part(&one.name) {
            Some(name) => Some(Reference {
                name,
                namespace: part(&one.namespace),
                tenant: part(&one.tenant),
                uid: part(&one.uid),
            }),
            None => {
                problems.push(Problem::value(
                    steps!["spec", "where", option, "ref", 0],
                    "the reference has no `name`",
                    "a reference needs a `name`",
                ));
                None
            }
        },
        [] => {
            problems.push(Problem::value(
                at,
                format!("`where.{option}.ref` is missing"),
                "exactly one reference in `ref`",
            ));
            None
        }
        more => {
            problems.push(Problem::value(
                join(&at, "ref"),
                format!("`where.{option}.ref` holds {} references", more.len()),
                "exactly one reference",
            ));
            None
        }
    }
}

impl From<&Reference> for RawReference {
    fn from(reference: &Reference) -> Self {
        Self {
            kind: None,
            name: Some(reference.name.clone()),
            namespace: reference.namespace.clone(),
            tenant: reference.tenant.clone(),
            uid: reference.uid.clone(),
        }
    }
}

impl From<&SitePlace> for RawSite {
    fn from(place: &SitePlace) -> Self {
        let chosen = |vip| if place.internet_vip == vip { Choice::Set } else { Choice::Absent };
        Self {
            reference: Some(vec![(&place.reference).into()]),
            network_type: Some(place.network_type.as_str().to_owned()),
            disable_internet_vip: chosen(InternetVip::Disabled),
            enable_internet_vip: chosen(InternetVip::Enabled),
        }
    }
}

impl From<&Where> for RawWhere {
    fn from(place: &Where) -> Self {
        match place {
            Where::Site(site) => Self { site: Some(site.into()), ..Self::default() },
            Where::VirtualSite(site) => Self { virtual_site: Some(site.into()), ..Self::default() },
            Where::VirtualNetwork(reference) => Self {
                virtual_network: Some(RawVirtualNetwork { reference: Some(vec![reference.into()]) }),
                ..Self::default()
            },
        }
    }
}

impl From<&SnatPool> for RawSnatPool {
    fn from(pool: &SnatPool) -> Self {
        match pool {
            SnatPool::None => Self { no_snat_pool: Choice::Set, snat_pool: None },
            SnatPool::Prefixes(prefixes) => Self {
                no_snat_pool: Choice::Absent,
                snat_pool: Some(RawPrefixes { prefixes: Some(prefixes.iter().map(ToString::to_string).collect()) }),
            },
        }
    }
}

impl RawSpec {
    /// The wire form of a target alone.
    #[must_use]
    pub fn of_target(target: &Target) -> Self {
        let mut raw = Self::default();
        match target {
            Target::DnsName(name) => raw.dns_name = Some(name.to_string()),
            Target::DnsNameAdvanced { name, refresh_interval } => {
                raw.dns_name_advanced = Some(RawDnsNameAdvanced {
                    name: Some(name.to_string()),
                    refresh_interval: refresh_interval.map(i64::from),
                });
            }
            Target::Ip(ip) => raw.ip = Some(ip.to_string()),
            Target::ServiceInfo { discovery, service } => {
                let (service_name, service_selector) = match service {
                    Service::Name(name) => (Some(name.clone()), None),
                    Service::Selector(selector) => {
                        (None, Some(RawSelector { expressions: Some(vec![selector.to_string()]) }))
                    }
                };
                raw.service_info = Some(RawServiceInfo {
                    discovery_type: Some(discovery.as_str().to_owned()),
                    service_name,
                    service_selector,
                });
            }
        }
        raw
    }
}

impl From<&Spec> for RawSpec {
    /// Defaults are left out, but for the protocol, which is always sent (API.md 3.3), and the port.
    fn from(spec: &Spec) -> Self {
        Self {
            protocol: Some(spec.protocol.as_str().to_owned()),
            port: Some(spec.port.into()),
            health_check_port: (spec.health_check_port != 0).then(|| spec.health_check_port.into()),
            snat_pool: (spec.snat_pool != SnatPool::None).then(|| (&spec.snat_pool).into()),
            place: spec.place.as_ref().map(Into::into),
            ..Self::of_target(&spec.target)
        }
    }
}

impl From<&Endpoint> for RawEndpoint {
    fn from(endpoint: &Endpoint) -> Self {
        let map = |map: &Texts| Some(map.iter().map(|(key, value)| (key.clone(), Some(value.clone()))).collect());
        Self {
            metadata: Some(RawMetadata {
                name: Some(endpoint.key.name.to_string()),
                namespace: Some(endpoint.key.namespace.to_string()),
                labels: map(&endpoint.labels),
                annotations: map(&endpoint.annotations),
                description: Some(endpoint.description.clone()),
                disable: Some(endpoint.disable),
            }),
            spec: Some((&endpoint.spec).into()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_label_that_stands_twice_is_refused_and_not_overwritten() {
        let read = |text: &str| serde_json::from_str::<RawMetadata>(text);
        assert!(read(r#"{"labels":{"a":"1","b":"2"}}"#).is_ok());
        let error = read(r#"{"labels":{"a":"1","a":"2"}}"#).expect_err("twice");
        assert!(error.to_string().starts_with("the key `a` stands twice"), "{error}");
    }

    #[test]
    fn a_null_in_a_list_is_no_text() {
        assert!(serde_yaml::from_str::<RawSelector>("expressions: [null]").is_err());
        assert_eq!(serde_yaml::from_str::<RawSelector>("expressions:").expect("absent").expressions, None);
    }
}
