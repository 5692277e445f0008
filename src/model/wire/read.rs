//! From the wire form to the model, with every problem of shape on the way.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;
use std::str::FromStr;

use ipnet::{Ipv4Net, Ipv6Net};

use super::{
    EmptyOption, WireDnsNameAdvanced, WireEndpoint, WireMetadata, WireReference, WireServiceInfo, WireSite,
    WireSnatPool, WireSpec, WireWhere,
};
use crate::model::problem::steps;
use crate::model::{
    Discovery, Endpoint, HostName, InternetVip, Key, Location, Name, Namespace, NetworkType, Problem, Protocol,
    Reference, Segment, Selector, ServiceMatch, SiteWhere, SnatPool, Spec, StringMap, Target, TtlChoice, Where,
};

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
                .with(Location::Key(join(base, first)), "first option here"),
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

fn present(map: Option<BTreeMap<String, Option<String>>>) -> StringMap {
    map.unwrap_or_default().into_iter().filter_map(|(key, value)| Some((key, value?))).collect()
}

impl WireEndpoint {
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

fn key(problems: &mut Vec<Problem>, metadata: &WireMetadata) -> Option<Key> {
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

impl WireSpec {
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

impl WireDnsNameAdvanced {
    fn target(&self, problems: &mut Vec<Problem>) -> Option<Target> {
        let at = steps!["spec", "dns_name_advanced"];
        let strict = self.strict_ttl == EmptyOption::Set;
        let set = [("refresh_interval", self.refresh_interval.is_some()), ("strict_ttl", strict)];
        exclusive(problems, &at, "a name is resolved again in one way", &set);
        let ttl = match self.refresh_interval.map(u32::try_from) {
            None if strict => TtlChoice::StrictTtl,
            None => TtlChoice::Unset,
            Some(Ok(seconds)) => TtlChoice::RefreshInterval(seconds),
            Some(Err(_)) => {
                problems.push(Problem::value(
                    join(&at, "refresh_interval"),
                    format!("`refresh_interval` is {}, outside its range", self.refresh_interval.unwrap_or_default()),
                    "10 to 604800 seconds",
                ));
                TtlChoice::Unset
            }
        };
        let Some(name) = given(self.name.as_ref()) else {
            problems.push(Problem::value(at, "`dns_name_advanced.name` is missing", "a host name"));
            return None;
        };
        Some(Target::DnsNameAdvanced { name: HostName::canonical(name), ttl })
    }
}

impl WireServiceInfo {
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
            (Some(name), _) => Some(ServiceMatch::Name(name.clone())),
            (None, Some(selector)) => match selector.expressions.as_deref() {
                Some([expression]) => Some(ServiceMatch::Selector(Selector::canonical(expression))),
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

impl WireSnatPool {
    fn pool(self, problems: &mut Vec<Problem>) -> Option<SnatPool> {
        let at = steps!["spec", "snat_pool"];
        let set = [("no_snat_pool", self.no_snat_pool == EmptyOption::Set), ("snat_pool", self.snat_pool.is_some())];
        exclusive(problems, &at, "an endpoint has one source NAT pool or none", &set);
        let Some(pool) = self.snat_pool else { return Some(SnatPool::None) };
        let ipv4 = prefixes(problems, "prefixes", pool.prefixes, Ipv4Net::trunc, "an IPv4 prefix such as 192.0.2.0/24");
        let ipv6 = prefixes(
            problems,
            "ipv6_prefixes",
            pool.ipv6_prefixes,
            Ipv6Net::trunc,
            "an IPv6 prefix such as 2001:db8::/32",
        );
        Some(SnatPool::Prefixes { ipv4, ipv6 })
    }
}

/// The prefixes of a pool's list `key`, without the bits behind them.
fn prefixes<P: Ord + FromStr>(
    problems: &mut Vec<Problem>,
    key: &'static str,
    texts: Option<Vec<String>>,
    trunc: fn(&P) -> P,
    allowed: &'static str,
) -> BTreeSet<P> {
    let mut prefixes = BTreeSet::new();
    let what = if key == "prefixes" { "IPv4" } else { "IPv6" };
    for (index, text) in texts.unwrap_or_default().iter().enumerate() {
        match text.parse::<P>() {
            Ok(prefix) => {
                prefixes.insert(trunc(&prefix));
            }
            Err(_) => problems.push(Problem::value(
                steps!["spec", "snat_pool", "snat_pool", key, index],
                format!("`{text}` is no {what} prefix"),
                allowed,
            )),
        }
    }
    prefixes
}

impl WireWhere {
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

impl WireSite {
    fn place(self, problems: &mut Vec<Problem>, option: &'static str) -> Option<SiteWhere> {
        let at = steps!["spec", "where", option];
        let set = [
            ("disable_internet_vip", self.disable_internet_vip == EmptyOption::Set),
            ("enable_internet_vip", self.enable_internet_vip == EmptyOption::Set),
        ];
        exclusive(problems, &at, "the Internet VIP is either on or off", &set);
        let internet_vip =
            if self.enable_internet_vip == EmptyOption::Set { InternetVip::Enabled } else { InternetVip::Disabled };
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
        let refs = self.refs.unwrap_or_default();
        let refs: Vec<_> = refs
            .iter()
            .enumerate()
            .filter_map(|(index, one)| named(problems, one, steps!["spec", "where", option, "refs", index]))
            .collect();
        let reference = reference(problems, self.reference.as_deref(), option);
        Some(SiteWhere { reference: reference?, refs, network_type: network_type?, internet_vip })
    }
}

/// The reference at a place; none without a name.
fn named(problems: &mut Vec<Problem>, reference: &WireReference, at: Vec<Segment>) -> Option<Reference> {
    let part = |text: &Option<String>| given(text.as_ref()).cloned();
    let Some(name) = part(&reference.name) else {
        problems.push(Problem::value(at, "the reference has no `name`", "a reference needs a `name`"));
        return None;
    };
    Some(Reference {
        name,
        namespace: part(&reference.namespace),
        tenant: part(&reference.tenant),
        uid: part(&reference.uid),
    })
}

fn reference(
    problems: &mut Vec<Problem>,
    references: Option<&[WireReference]>,
    option: &'static str,
) -> Option<Reference> {
    let at = steps!["spec", "where", option];
    match references.unwrap_or_default() {
        [one] => named(problems, one, steps!["spec", "where", option, "ref", 0]),
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
