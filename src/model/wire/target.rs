//! The two options of a target that have fields of their own, an advanced DNS name and a discovered service,
//! as the wire writes them, and the way to the typed [`Target`] and back.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::problems::{exclusive, given, join, one_of, word};
use super::{EmptyOption, integer, texts};
use crate::model::problem::steps;
use crate::model::{Discovery, HostName, Problem, Selector, ServiceMatch, Target, TtlChoice, Word as _};

/// `spec.dns_name_advanced`
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WireDnsNameAdvanced {
    /// The host name.
    #[serde(default)]
    pub name: Option<String>,
    /// Seconds, 10 to 604800.
    #[serde(default, alias = "refreshInterval", deserialize_with = "integer", skip_serializing_if = "Option::is_none")]
    pub refresh_interval: Option<i64>,
    /// Deprecated by the vendor.
    #[serde(default, alias = "strictTtl", skip_serializing_if = "EmptyOption::is_absent")]
    pub strict_ttl: EmptyOption,
}

/// `spec.service_info`
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WireServiceInfo {
    /// One of `Discovery::ALL`.
    #[serde(default, alias = "discoveryType")]
    pub discovery_type: Option<String>,
    /// Service option.
    #[serde(default, alias = "serviceName", skip_serializing_if = "Option::is_none")]
    pub service_name: Option<String>,
    /// Service option.
    #[serde(default, alias = "serviceSelector", skip_serializing_if = "Option::is_none")]
    pub service_selector: Option<WireSelector>,
}

/// `spec.service_info.service_selector`
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WireSelector {
    /// Exactly one expression.
    #[serde(default, deserialize_with = "texts")]
    pub expressions: Option<Vec<String>>,
}

impl WireDnsNameAdvanced {
    /// These fields of a target.
    pub(super) fn of(name: &HostName, ttl: TtlChoice) -> Self {
        let (refresh_interval, strict_ttl) = match ttl {
            TtlChoice::Unset => (None, EmptyOption::Absent),
            TtlChoice::RefreshInterval(seconds) => (Some(i64::from(seconds)), EmptyOption::Absent),
            TtlChoice::StrictTtl => (None, EmptyOption::Set),
        };
        Self { name: Some(name.to_string()), refresh_interval, strict_ttl }
    }

    pub(super) fn target(&self, problems: &mut Vec<Problem>) -> Option<Target> {
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
                    format!("`refresh_interval` is {}", self.refresh_interval.unwrap_or_default()),
                    "must be 10 to 604800 seconds",
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
    /// These fields of a target.
    pub(super) fn of(discovery: Discovery, service: &ServiceMatch) -> Self {
        let (service_name, service_selector) = match service {
            ServiceMatch::Name(name) => (Some(name.clone()), None),
            ServiceMatch::Selector(selector) => {
                (None, Some(WireSelector { expressions: Some(vec![selector.to_string()]) }))
            }
        };
        Self { discovery_type: Some(discovery.as_str().to_owned()), service_name, service_selector }
    }

    pub(super) fn target(&self, problems: &mut Vec<Problem>) -> Option<Target> {
        let at = steps!["spec", "service_info"];
        let discovery = word(problems, || join(&at, "discovery_type"), self.discovery_type.as_ref());
        if matches!(discovery, Some(None)) {
            let what = "`service_info.discovery_type` is missing";
            problems.push(Problem::value(at.clone(), what, one_of(Discovery::WORDS)));
        }
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
                        format!("`service_selector` has {} expressions", other.map_or(0, <[String]>::len)),
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
        Some(Target::ServiceInfo { discovery: discovery??, service: service? })
    }
}
