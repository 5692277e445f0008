//! From the model to the wire form, in canonical writing.

use super::{
    EmptyOption, WireDnsNameAdvanced, WireEndpoint, WireMetadata, WirePrefixes, WireReference, WireSelector,
    WireServiceInfo, WireSite, WireSnatPool, WireSpec, WireVirtualNetwork, WireWhere,
};
use crate::model::{
    Endpoint, InternetVip, Reference, ServiceMatch, SiteWhere, SnatPool, Spec, StringMap, Target, TtlChoice, Where,
};

impl From<&Reference> for WireReference {
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

impl From<&SiteWhere> for WireSite {
    fn from(place: &SiteWhere) -> Self {
        let chosen = |vip| if place.internet_vip == vip { EmptyOption::Set } else { EmptyOption::Absent };
        Self {
            reference: Some(vec![(&place.reference).into()]),
            refs: (!place.refs.is_empty()).then(|| place.refs.iter().map(Into::into).collect()),
            network_type: Some(place.network_type.as_str().to_owned()),
            disable_internet_vip: chosen(InternetVip::Disabled),
            enable_internet_vip: chosen(InternetVip::Enabled),
        }
    }
}

impl From<&Where> for WireWhere {
    fn from(place: &Where) -> Self {
        match place {
            Where::Site(site) => Self { site: Some(site.into()), ..Self::default() },
            Where::VirtualSite(site) => Self { virtual_site: Some(site.into()), ..Self::default() },
            Where::VirtualNetwork(reference) => Self {
                virtual_network: Some(WireVirtualNetwork { reference: Some(vec![reference.into()]) }),
                ..Self::default()
            },
        }
    }
}

impl From<&SnatPool> for WireSnatPool {
    fn from(pool: &SnatPool) -> Self {
        match pool {
            SnatPool::None => Self { no_snat_pool: EmptyOption::Set, snat_pool: None },
            SnatPool::Prefixes { ipv4, ipv6 } => Self {
                no_snat_pool: EmptyOption::Absent,
                snat_pool: Some(WirePrefixes {
                    // A pool of nothing is written with its older list, as it always was.
                    prefixes: (!ipv4.is_empty() || ipv6.is_empty())
                        .then(|| ipv4.iter().map(ToString::to_string).collect()),
                    ipv6_prefixes: (!ipv6.is_empty()).then(|| ipv6.iter().map(ToString::to_string).collect()),
                }),
            },
        }
    }
}

impl WireSpec {
    /// The wire form of a target alone.
    #[must_use]
    pub fn of_target(target: &Target) -> Self {
        let mut raw = Self::default();
        match target {
            Target::DnsName(name) => raw.dns_name = Some(name.to_string()),
            Target::DnsNameAdvanced { name, ttl } => {
                let (refresh_interval, strict_ttl) = match ttl {
                    TtlChoice::Unset => (None, EmptyOption::Absent),
                    TtlChoice::RefreshInterval(seconds) => (Some(i64::from(*seconds)), EmptyOption::Absent),
                    TtlChoice::StrictTtl => (None, EmptyOption::Set),
                };
                let name = Some(name.to_string());
                raw.dns_name_advanced = Some(WireDnsNameAdvanced { name, refresh_interval, strict_ttl });
            }
            Target::Ip(ip) => raw.ip = Some(ip.to_string()),
            Target::ServiceInfo { discovery, service } => {
                let (service_name, service_selector) = match service {
                    ServiceMatch::Name(name) => (Some(name.clone()), None),
                    ServiceMatch::Selector(selector) => {
                        (None, Some(WireSelector { expressions: Some(vec![selector.to_string()]) }))
                    }
                };
                raw.service_info = Some(WireServiceInfo {
                    discovery_type: Some(discovery.as_str().to_owned()),
                    service_name,
                    service_selector,
                });
            }
        }
        raw
    }
}

impl From<&Spec> for WireSpec {
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

impl From<&Endpoint> for WireEndpoint {
    fn from(endpoint: &Endpoint) -> Self {
        let map = |map: &StringMap| Some(map.iter().map(|(key, value)| (key.clone(), Some(value.clone()))).collect());
        Self {
            metadata: Some(WireMetadata {
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
