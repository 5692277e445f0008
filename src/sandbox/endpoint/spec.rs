//! The spec of an endpoint as the sandbox holds it: read from a request with the defaults filled and
//! every rule of the published specification checked, and written the way the service writes it
//! (everything unset is there as `""`, `0` or `null`, except the options of an exclusive group).

use std::collections::BTreeSet;

use serde::Serialize;

use super::body::{BodyPath, Message, REQUIRED, RuleViolation, number, text};
use super::json::Json;
use super::reference::Reference;
use super::rules;
use crate::sandbox::answer::{Code, ErrorResponse};
use crate::sandbox::selector::Selector;

/// A spec that keeps every rule.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Spec {
    #[serde(rename = "where")]
    place: Option<Where>,
    protocol: String,
    port: u32,
    health_check_port: u32,
    #[serde(flatten)]
    target: Option<Target>,
    snat_pool: Option<SnatPool>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
enum Where {
    Site(SiteReference),
    VirtualSite(SiteReference),
    VirtualNetwork(NetworkReference),
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
struct SiteReference {
    #[serde(rename = "ref")]
    reference: [Reference; 1],
    refs: Vec<Reference>,
    network_type: &'static str,
    #[serde(flatten)]
    internet_vip: InternetVip,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
struct NetworkReference {
    #[serde(rename = "ref")]
    reference: [Reference; 1],
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
enum InternetVip {
    DisableInternetVip {},
    EnableInternetVip {},
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
enum Target {
    Ip(String),
    DnsName(String),
    DnsNameAdvanced(AdvancedName),
    ServiceInfo(Service),
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
struct AdvancedName {
    name: String,
    #[serde(flatten)]
    ttl: Option<Ttl>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
enum Ttl {
    StrictTtl {},
    /// In seconds.
    RefreshInterval(u32),
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
struct Service {
    discovery_type: &'static str,
    #[serde(flatten)]
    choice: ServiceChoice,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
enum ServiceChoice {
    ServiceName(String),
    ServiceSelector { expressions: [String; 1] },
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
enum SnatPool {
    NoSnatPool {},
    SnatPool { prefixes: Vec<String>, ipv6_prefixes: Vec<String> },
}

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

const PORT: RuleViolation<'_> = RuleViolation { name: "uint32.lte", constraint: "65535", should: "at most 65535" };
const HOSTNAME: RuleViolation<'_> =
    RuleViolation { name: "string.hostname", constraint: "true", should: "a host name" };
const HOSTNAME_LENGTH: RuleViolation<'_> =
    RuleViolation { name: "string.max_len", constraint: "256", should: "at most 256 characters" };

/// What the service knows when it fills in references.
#[derive(Clone, Copy, Debug)]
pub struct FillContext<'a> {
    pub tenant: &'a str,
    /// Of the object that is written.
    pub namespace: &'a str,
}

impl Spec {
    /// Reads, fills and checks the spec of a request.
    ///
    /// # Errors
    /// The first field that has a wrong type or breaks a rule.
    pub fn read(value: &Json<'_>, at: BodyPath<'_>, around: FillContext<'_>) -> Result<Self, ErrorResponse> {
        let spec = Message::new(value, at)?;
        let place = match spec.get("where")? {
            Some(value) => Some(Where::read(value, at.field("where"), around)?),
            None => None,
        };
        Ok(Self {
            place,
            protocol: protocol(&spec)?,
            port: port(&spec, "port")?,
            health_check_port: port(&spec, "health_check_port")?,
            target: Target::read(&spec)?,
            snat_pool: match spec.get("snat_pool")? {
                Some(value) => Some(SnatPool::read(value, at.field("snat_pool"))?),
                None => None,
            },
        })
    }
}

/// Nothing public says whether an empty protocol is filled or refused; TCP is the console's default.
fn protocol(spec: &Message<'_>) -> Result<String, ErrorResponse> {
    const RULE: RuleViolation<'_> =
        RuleViolation { name: "string.in", constraint: "[TCP UDP]", should: "one of TCP, UDP" };
    let protocol = spec.text("protocol")?;
    match protocol.as_str() {
        "" => Ok("TCP".into()),
        "TCP" | "UDP" => Ok(protocol),
        other => Err(spec.place.field("protocol").breaks(RULE, other)),
    }
}

fn port(spec: &Message<'_>, name: &str) -> Result<u32, ErrorResponse> {
    let port = spec.number(name)?;
    if port > 65_535 {
        return Err(spec.place.field(name).breaks(PORT, port));
    }
    Ok(port)
}

impl Where {
    /// A given `where` needs a choice, and the default choice of the service is a virtual site, which
    /// then lacks its reference.
    fn read(value: &Json<'_>, at: BodyPath<'_>, around: FillContext<'_>) -> Result<Self, ErrorResponse> {
        let message = Message::new(value, at)?;
        let system = FillContext { namespace: "system", ..around };
        match message.one_of(&["site", "virtual_site", "virtual_network"])? {
            // A site is an object of the `system` namespace; other references without a namespace
            // mean that of the object which holds them.
            Some(("site", value)) => {
                SiteReference::read(value, at.field("site"), "site.Object", system).map(Self::Site)
            }
            Some(("virtual_site", value)) => {
                SiteReference::read(value, at.field("virtual_site"), "virtual_site.Object", around)
                    .map(Self::VirtualSite)
            }
            Some((name, value)) => {
                let at = at.field(name);
                let message = Message::new(value, at)?;
                let reference = [Reference::one(&message, "virtual_network.Object", around)?];
                Ok(Self::VirtualNetwork(NetworkReference { reference }))
            }
            None => Err(at.field("virtual_site").field("ref").breaks(REQUIRED, "nil")),
        }
    }
}

impl SiteReference {
    fn read(
        value: &Json<'_>,
        at: BodyPath<'_>,
        kind: &'static str,
        around: FillContext<'_>,
    ) -> Result<Self, ErrorResponse> {
        let message = Message::new(value, at)?;
        let internet_vip = match message.one_of(&["disable_internet_vip", "enable_internet_vip"])? {
            None => InternetVip::DisableInternetVip {},
            Some((name, value)) => {
                Message::new(value, at.field(name))?;
                if name == "enable_internet_vip" {
                    InternetVip::EnableInternetVip {}
                } else {
                    InternetVip::DisableInternetVip {}
                }
            }
        };
        Ok(Self {
            reference: [Reference::one(&message, kind, around)?],
            refs: Reference::list(&message, "refs", "virtual_network.Object", around)?,
            network_type: message.choice("network_type", NETWORKS)?,
            internet_vip,
        })
    }
}

impl Target {
    fn read(spec: &Message<'_>) -> Result<Option<Self>, ErrorResponse> {
        const ADDRESS: RuleViolation<'_> =
            RuleViolation { name: "string.ip", constraint: "true", should: "an IP address" };
        let Some((name, value)) = spec.one_of(&["ip", "dns_name", "dns_name_advanced", "service_info"])? else {
            return Ok(None);
        };
        let at = spec.place.field(name);
        let chosen_by_null = matches!(value, Json::Null);
        let target = match name {
            "ip" => {
                let address = text(value, at)?;
                if !chosen_by_null && !rules::is_address(&address) {
                    return Err(at.breaks(ADDRESS, address));
                }
                Self::Ip(address)
            }
            "dns_name" if chosen_by_null => Self::DnsName(String::new()),
            "dns_name" => Self::DnsName(hostname(text(value, at)?, at)?),
            "dns_name_advanced" => Self::DnsNameAdvanced(AdvancedName::read(&Message::new(value, at)?)?),
            _ => Self::ServiceInfo(Service::read(&Message::new(value, at)?)?),
        };
        Ok(Some(target))
    }
}

fn hostname(name: String, at: BodyPath<'_>) -> Result<String, ErrorResponse> {
    if name.chars().count() > 256 {
        return Err(at.breaks(HOSTNAME_LENGTH, name));
    }
    if !rules::is_hostname(&name) {
        return Err(at.breaks(HOSTNAME, name));
    }
    Ok(name)
}

impl AdvancedName {
    fn read(message: &Message<'_>) -> Result<Self, ErrorResponse> {
        const RANGE: RuleViolation<'_> =
            RuleViolation { name: "uint32.gte", constraint: "10, lte 604800", should: "between 10 and 604800" };
        let name = hostname(message.text("name")?, message.place.field("name"))?;
        let ttl = match message.one_of(&["refresh_interval", "strict_ttl"])? {
            None => None,
            Some(("strict_ttl", value)) => {
                Message::new(value, message.place.field("strict_ttl"))?;
                Some(Ttl::StrictTtl {})
            }
            Some((name, value)) => {
                let at = message.place.field(name);
                match number(value, at)? {
                    seconds @ 10..=604_800 => Some(Ttl::RefreshInterval(seconds)),
                    seconds => return Err(at.breaks(RANGE, seconds)),
                }
            }
        };
        Ok(Self { name, ttl })
    }
}

impl Service {
    /// `discovery_type` has no usable default: its zero value is refused. That one of the two names
    /// is needed is our decision; the specification does not say.
    fn read(message: &Message<'_>) -> Result<Self, ErrorResponse> {
        const DISCOVERED: RuleViolation<'_> = RuleViolation {
            name: "enum.not_in",
            constraint: "[0]",
            should: "one of K8S, CONSUL, CLASSIC_BIGIP, THIRD_PARTY, NGINX_ONE",
        };
        const NAME: RuleViolation<'_> =
            RuleViolation { name: "string.max_bytes", constraint: "256", should: "at most 256 bytes" };
        let at = message.place;
        let discovery_type = message.choice("discovery_type", DISCOVERY)?;
        if Some(&discovery_type) == DISCOVERY.first() {
            return Err(at.field("discovery_type").breaks(DISCOVERED, discovery_type));
        }
        let choice = match message.one_of(&["service_name", "service_selector"])? {
            Some(("service_name", value)) => {
                let at = at.field("service_name");
                let name = text(value, at)?;
                if name.len() > 256 {
                    return Err(at.breaks(NAME, name));
                }
                ServiceChoice::ServiceName(name)
            }
            Some((name, value)) => {
                let at = at.field(name);
                ServiceChoice::ServiceSelector { expressions: [expression(&Message::new(value, at)?)?] }
            }
            None => return Err(at.field("service_info").breaks(REQUIRED, "nil")),
        };
        Ok(Self { discovery_type, choice })
    }
}

/// The one expression of a label selector.
fn expression(message: &Message<'_>) -> Result<String, ErrorResponse> {
    const ONE: RuleViolation<'_> =
        RuleViolation { name: "repeated.max_items", constraint: "1", should: "at most 1 item" };
    const LENGTH: RuleViolation<'_> =
        RuleViolation { name: "string.min_len", constraint: "1, max_len 4096", should: "1 to 4096 characters" };
    let list = message.place.field("expressions");
    let value = match message.list("expressions")? {
        [] => return Err(list.breaks(REQUIRED, "nil")),
        [value] => value,
        more => return Err(list.breaks(ONE, format!("{} items", more.len()))),
    };
    let at = list.item(0);
    let expression = text(value, at)?;
    if !(1..=4_096).contains(&expression.chars().count()) {
        return Err(at.breaks(LENGTH, expression));
    }
    if let Err(problem) = Selector::parse(&expression) {
        let should = format!("a label selector ({problem})");
        let rule = RuleViolation { name: "string.k8s_label_selector", constraint: "true", should: &should };
        return Err(at.breaks(rule, &expression));
    }
    Ok(expression)
}

impl SnatPool {
    /// A pool without a choice becomes the first one.
    fn read(value: &Json<'_>, at: BodyPath<'_>) -> Result<Self, ErrorResponse> {
        const MOST: RuleViolation<'_> =
            RuleViolation { name: "repeated.max_items", constraint: "128", should: "at most 128 items" };
        const IPV4: RuleViolation<'_> =
            RuleViolation { name: "string.ipv4_prefix", constraint: "true", should: "an IPv4 prefix" };
        const IPV6: RuleViolation<'_> =
            RuleViolation { name: "string.ipv6_prefix", constraint: "true", should: "an IPv6 prefix" };
        let Some((choice, value)) = Message::new(value, at)?.one_of(&["no_snat_pool", "snat_pool"])? else {
            return Ok(Self::NoSnatPool {});
        };
        let at = at.field(choice);
        let pool = Message::new(value, at)?;
        if choice == "no_snat_pool" {
            return Ok(Self::NoSnatPool {});
        }
        let prefixes = prefixes(&pool, "prefixes", IPV4, rules::is_ipv4_prefix)?;
        if prefixes.len() > 128 {
            return Err(at.field("prefixes").breaks(MOST, format!("{} items", prefixes.len())));
        }
        let ipv6_prefixes = self::prefixes(&pool, "ipv6_prefixes", IPV6, rules::is_ipv6_prefix)?;
        Ok(Self::SnatPool { prefixes, ipv6_prefixes })
    }
}

/// The prefixes of a list without repetition.
fn prefixes(
    pool: &Message<'_>,
    name: &str,
    rule: RuleViolation<'_>,
    is_one: fn(&str) -> bool,
) -> Result<Vec<String>, ErrorResponse> {
    let list = pool.place.field(name);
    let items = pool.list(name)?;
    let mut prefixes = Vec::with_capacity(items.len());
    let mut seen = BTreeSet::new();
    for (index, value) in items.iter().enumerate() {
        let at = list.item(index);
        let prefix = text(value, at)?;
        if !is_one(&prefix) {
            return Err(at.breaks(rule, prefix));
        }
        if !seen.insert(prefix.clone()) {
            let message = format!("Field {list} should be without repetition, got {prefix} twice in request.");
            return Err(ErrorResponse::new(Code::InvalidArgument, message));
        }
        prefixes.push(prefix);
    }
    Ok(prefixes)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn read(spec: Value) -> Result<Value, ErrorResponse> {
        let around = FillContext { tenant: "acme-abcdefgh", namespace: "shop" };
        let spec = Spec::read(&Json::of(&spec), BodyPath::root("spec"), around)?;
        Ok(serde_json::to_value(spec).unwrap())
    }

    #[test]
    fn everything_unset_is_written_and_options_are_left_out() {
        let written = read(json!({"ip": "10.1.2.3", "port": 8080})).unwrap();
        let wanted = json!({
            "where": null, "protocol": "TCP", "port": 8080, "health_check_port": 0, "ip": "10.1.2.3",
            "snat_pool": null,
        });
        assert_eq!(written, wanted);
    }

    #[test]
    fn a_site_gets_its_reference_network_and_internet_vip_filled() {
        let written = read(json!({"where": {"site": {"ref": [{"name": "paris", "kind": "site"}]}}})).unwrap();
        let site = &written["where"]["site"];
        assert_eq!(site["disable_internet_vip"], json!({}));
        assert_eq!(site["network_type"], "VIRTUAL_NETWORK_SITE_LOCAL");
        assert_eq!(site["ref"][0]["kind"], "site.Object");
        assert_eq!(site["ref"][0]["tenant"], "acme-abcdefgh");
        assert_eq!(site["ref"][0]["namespace"], "system");
        assert_eq!(site["ref"][0]["uid"].as_str().unwrap().len(), 36);
    }

    #[test]
    fn a_reference_keeps_the_tenant_uid_and_namespace_that_were_sent() {
        let reference = json!({"name": "n", "namespace": "other", "tenant": "t", "uid": "u"});
        let written = read(json!({"where": {"virtual_network": {"ref": [reference]}}})).unwrap();
        let wanted =
            json!([{"kind": "virtual_network.Object", "name": "n", "namespace": "other", "tenant": "t", "uid": "u"}]);
        assert_eq!(written["where"]["virtual_network"]["ref"], wanted);
    }

    #[test]
    fn a_virtual_site_without_a_namespace_is_in_that_of_the_object() {
        let site = json!({"ref": [{"name": "all"}], "enable_internet_vip": {}, "network_type": 3});
        let written = read(json!({"where": {"virtual_site": site}})).unwrap();
        let site = &written["where"]["virtual_site"];
        assert_eq!(site["ref"][0]["namespace"], "shop");
        assert_eq!(site["network_type"], "VIRTUAL_NETWORK_PUBLIC");
        assert_eq!(site["enable_internet_vip"], json!({}));
        assert!(site.get("disable_internet_vip").is_none());
    }

    #[test]
    fn both_spellings_strings_of_numbers_and_nulls_are_read() {
        let spec = json!({
            "dnsNameAdvanced": {"name": "a.example", "refreshInterval": "300"}, "healthCheckPort": 80,
            "where": null, "unknown": {"x": 1},
        });
        let written = read(spec).unwrap();
        assert_eq!(written["dns_name_advanced"], json!({"name": "a.example", "refresh_interval": 300}));
        assert_eq!(written["health_check_port"], 80);
        assert!(written.get("unknown").is_none());
    }

    #[test]
    fn an_empty_pool_becomes_no_pool() {
        assert_eq!(read(json!({"snat_pool": {}})).unwrap()["snat_pool"], json!({"no_snat_pool": {}}));
        let none = json!({"snat_pool": {"snat_pool": {}}});
        assert_eq!(read(none).unwrap()["snat_pool"], json!({"snat_pool": {"prefixes": [], "ipv6_prefixes": []}}));
    }

    #[test]
    fn a_null_option_is_chosen_with_its_zero_value_over_one_that_has_a_value() {
        let target = read(json!({"ip": "10.0.0.1", "dns_name": null})).unwrap();
        assert_eq!((&target["dns_name"], target.get("ip")), (&json!(""), None));
        let pool = |pool: Value| read(json!({"snat_pool": pool})).unwrap()["snat_pool"].clone();
        let prefixes = json!({"prefixes": ["10.0.0.0/8"]});
        assert_eq!(pool(json!({"snat_pool": prefixes, "no_snat_pool": null})), json!({"no_snat_pool": {}}));
        assert_eq!(pool(json!({"snat_pool": null})), json!({"snat_pool": {"prefixes": [], "ipv6_prefixes": []}}));
        let site = json!({"ref": [{"name": "paris"}], "disable_internet_vip": {}, "enable_internet_vip": null});
        let written = read(json!({"where": {"site": site}})).unwrap();
        assert_eq!(written["where"]["site"]["enable_internet_vip"], json!({}));
        for refused in
            [json!({"service_info": null}), json!({"where": {"site": null}}), json!({"dns_name_advanced": null})]
        {
            assert!(read(refused.clone()).is_err(), "{refused}");
        }
    }

    #[test]
    fn the_deprecated_fields_and_the_newer_ones_are_kept() {
        let target = json!({"name": "a.example", "strict_ttl": {}});
        assert_eq!(read(json!({"dns_name_advanced": target})).unwrap()["dns_name_advanced"], target);
        let both = json!({"name": "a.example", "strict_ttl": {}, "refresh_interval": 60});
        assert!(read(json!({"dns_name_advanced": both})).is_err());
        let place = json!({"site": {"ref": [{"name": "paris"}], "refs": [{"name": "blue"}], "network_type": 13}});
        let site = read(json!({"where": place})).unwrap()["where"]["site"].clone();
        assert_eq!(site["refs"][0]["kind"], "virtual_network.Object");
        assert_eq!(site["network_type"], "VIRTUAL_NETWORK_MANAGEMENT");
        let pool = json!({"snat_pool": {"prefixes": [], "ipv6_prefixes": ["2001:db8::/48"]}});
        assert_eq!(read(json!({"snat_pool": pool})).unwrap()["snat_pool"], pool);
        let service = json!({"discovery_type": 5, "service_name": "web"});
        assert_eq!(read(json!({"service_info": service})).unwrap()["service_info"]["discovery_type"], "NGINX_ONE");
    }

    #[test]
    fn a_refusal_names_the_field_the_rule_and_the_value() {
        let refusal = read(json!({"port": 70_000})).unwrap_err();
        assert_eq!(refusal.message(), "Field spec.port should be at most 65535, got 70000 in request.");
        let refusal = read(json!({"where": {"site": {"ref": [{"name": 7}]}}})).unwrap_err();
        assert_eq!(refusal.message(), "Field spec.where.site.ref[0].name should be a string, got a number in request.");
    }
}
