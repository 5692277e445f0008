//! The wire form of an endpoint: every field optional, both spellings of a key, unknown keys refused.
//! [`WireEndpoint::endpoint`] turns it into the model and collects every problem of shape on the way;
//! [`super::check`] adds the rules. Live objects pass through the same conversion without the rules,
//! so that a value which the service holds can be compared and replaced.

mod read;
mod write;

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};

/// The create request: `metadata` and `spec`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WireEndpoint {
    /// Name, namespace, labels, annotations.
    #[serde(default)]
    pub metadata: Option<WireMetadata>,
    /// Target and place.
    #[serde(default)]
    pub spec: Option<WireSpec>,
}

/// `metadata` of the create request.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WireMetadata {
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

/// `spec.snat_pool`
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WireSnatPool {
    /// Option: none.
    #[serde(default, alias = "noSnatPool", skip_serializing_if = "EmptyOption::is_absent")]
    pub no_snat_pool: EmptyOption,
    /// Option: these prefixes.
    #[serde(default, alias = "snatPool", skip_serializing_if = "Option::is_none")]
    pub snat_pool: Option<WirePrefixes>,
}

/// `spec.snat_pool.snat_pool`
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WirePrefixes {
    /// At most 128 unique IPv4 prefixes.
    #[serde(default, deserialize_with = "texts", skip_serializing_if = "Option::is_none")]
    pub prefixes: Option<Vec<String>>,
    /// Unique IPv6 prefixes.
    #[serde(default, alias = "ipv6Prefixes", deserialize_with = "texts", skip_serializing_if = "Option::is_none")]
    pub ipv6_prefixes: Option<Vec<String>>,
}

/// `spec.where`
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WireWhere {
    /// Option: a site.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub site: Option<WireSite>,
    /// Option: a virtual site.
    #[serde(default, alias = "virtualSite", skip_serializing_if = "Option::is_none")]
    pub virtual_site: Option<WireSite>,
    /// Option: a virtual network.
    #[serde(default, alias = "virtualNetwork", skip_serializing_if = "Option::is_none")]
    pub virtual_network: Option<WireVirtualNetwork>,
}

/// `spec.where.site` and `spec.where.virtual_site`
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WireSite {
    /// Exactly one reference.
    #[serde(default, rename = "ref")]
    pub reference: Option<Vec<WireReference>>,
    /// Deprecated by the vendor.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refs: Option<Vec<WireReference>>,
    /// One of `NetworkType::ALL`.
    #[serde(default, alias = "networkType", skip_serializing_if = "Option::is_none")]
    pub network_type: Option<String>,
    /// Internet VIP option.
    #[serde(default, alias = "disableInternetVip", skip_serializing_if = "EmptyOption::is_absent")]
    pub disable_internet_vip: EmptyOption,
    /// Internet VIP option.
    #[serde(default, alias = "enableInternetVip", skip_serializing_if = "EmptyOption::is_absent")]
    pub enable_internet_vip: EmptyOption,
}

/// `spec.where.virtual_network`
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WireVirtualNetwork {
    /// Exactly one reference.
    #[serde(default, rename = "ref")]
    pub reference: Option<Vec<WireReference>>,
}

/// A reference to an object of the service.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WireReference {
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
pub struct WireEmpty {}

/// An option without fields. `null` is told from `{}`: the service takes the first for absent, a
/// person who wrote the key meant the second.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum EmptyOption {
    /// The key is not there.
    #[default]
    Absent,
    /// The key is there with nothing behind it.
    Null,
    /// `{}`
    Set,
}

impl EmptyOption {
    fn is_absent(&self) -> bool {
        *self == EmptyOption::Absent
    }
}

impl JsonSchema for EmptyOption {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Choice".into()
    }

    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        generator.subschema_for::<Option<WireEmpty>>()
    }
}

impl Serialize for EmptyOption {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            EmptyOption::Set => WireEmpty {}.serialize(serializer),
            EmptyOption::Absent | EmptyOption::Null => serializer.serialize_none(),
        }
    }
}

impl<'de> Deserialize<'de> for EmptyOption {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let set = Option::<WireEmpty>::deserialize(deserializer)?;
        Ok(if set.is_some() { EmptyOption::Set } else { EmptyOption::Null })
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_label_that_stands_twice_is_refused_and_not_overwritten() {
        let read = |text: &str| serde_json::from_str::<WireMetadata>(text);
        assert!(read(r#"{"labels":{"a":"1","b":"2"}}"#).is_ok());
        let error = read(r#"{"labels":{"a":"1","a":"2"}}"#).expect_err("twice");
        assert!(error.to_string().starts_with("the key `a` stands twice"), "{error}");
    }

    #[test]
    fn a_null_in_a_list_is_no_text() {
        assert!(serde_yaml::from_str::<WireSelector>("expressions: [null]").is_err());
        assert_eq!(serde_yaml::from_str::<WireSelector>("expressions:").expect("absent").expressions, None);
    }
}
