//! The spec of an endpoint, as a type and as the wire writes it, and the way from one to the other. A new
//! field of the spec has its value and its conversions here.

use std::net::IpAddr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::problems::{exclusive, given, number, word};
use super::{WireDnsNameAdvanced, WireServiceInfo, WireSnatPool, WireWhere, integer};
use crate::model::problem::steps;
use crate::model::{HostName, Problem, Protocol, SnatPool, Target, Where};

/// The spec of an endpoint. Every exclusive group is an enum: two options cannot both be set.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EndpointSpec {
    /// The target: the one group without a default.
    pub target: Target,
    /// The transport protocol.
    pub protocol: Protocol,
    /// The port, 0 to 65535.
    pub port: u16,
    /// The port that health checks use, 0 for the same as `port`.
    pub health_check_port: u16,
    /// The source NAT pool.
    pub snat_pool: SnatPool,
    /// Where the endpoint applies; `None` where it is unset.
    pub place: Option<Where>,
}

/// `spec` of the create request.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WireSpec {
    /// Target option.
    #[serde(default, alias = "dnsName", skip_serializing_if = "Option::is_none")]
    pub dns_name: Option<String>,
    /// Target option.
    #[serde(default, alias = "dnsNameAdvanced", skip_serializing_if = "Option::is_none")]
    pub dns_name_advanced: Option<WireDnsNameAdvanced>,
    /// Target option.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ip: Option<String>,
    /// Target option.
    #[serde(default, alias = "serviceInfo", skip_serializing_if = "Option::is_none")]
    pub service_info: Option<WireServiceInfo>,
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
    pub snat_pool: Option<WireSnatPool>,
    /// Exclusive group.
    #[serde(default, rename = "where", skip_serializing_if = "Option::is_none")]
    pub place: Option<WireWhere>,
}

impl EndpointSpec {
    /// A spec with this target and every default.
    #[must_use]
    pub fn of(target: Target) -> Self {
        Self {
            target,
            protocol: Protocol::default(),
            port: 0,
            health_check_port: 0,
            snat_pool: SnatPool::None,
            place: None,
        }
    }
}

impl WireSpec {
    /// A live spec without the service's zero of a number that was never set (API.md 3.1).
    #[must_use]
    pub fn without_unset(mut self) -> Self {
        if let Some(advanced) = &mut self.dns_name_advanced {
            advanced.refresh_interval = advanced.refresh_interval.filter(|seconds| *seconds != 0);
        }
        self
    }

    /// The spec in this wire form, `None` where a problem of shape was found.
    pub fn spec(self, problems: &mut Vec<Problem>) -> Option<EndpointSpec> {
        let before = problems.len();
        let port_number = number(problems, self.port, "port");
        let health_check_port = number(problems, self.health_check_port, "health_check_port");
        let protocol = word(problems, || steps!["spec", "protocol"], self.protocol.as_ref());
        let target = self.target(problems);
        let snat_pool = self.snat_pool.map_or(SnatPool::None, |pool| pool.pool(problems));
        let place = self.place.and_then(|place| place.place(problems));
        if problems.len() > before {
            return None;
        }
        Some(EndpointSpec {
            target: target?,
            protocol: protocol?.unwrap_or_default(),
            port: port_number,
            health_check_port,
            snat_pool,
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
                        format!("`{ip}` is not a valid IP address"),
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

    /// The wire form of a target alone.
    #[must_use]
    pub fn of_target(target: &Target) -> Self {
        match target {
            Target::DnsName(name) => Self { dns_name: Some(name.to_string()), ..Self::default() },
            Target::DnsNameAdvanced { name, ttl } => {
                Self { dns_name_advanced: Some(WireDnsNameAdvanced::of(name, *ttl)), ..Self::default() }
            }
            Target::Ip(ip) => Self { ip: Some(ip.to_string()), ..Self::default() },
            Target::ServiceInfo { discovery, service } => {
                Self { service_info: Some(WireServiceInfo::of(*discovery, service)), ..Self::default() }
            }
        }
    }
}

impl From<&EndpointSpec> for WireSpec {
    /// Defaults are left out, but for the protocol, which is always sent (API.md 3.3), and the port.
    fn from(spec: &EndpointSpec) -> Self {
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
