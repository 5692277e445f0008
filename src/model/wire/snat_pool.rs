//! The source NAT pool of an endpoint on the wire, and the way to the typed [`SnatPool`] and back.

use std::collections::BTreeSet;
use std::str::FromStr;

use ipnet::{Ipv4Net, Ipv6Net};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::problems::exclusive;
use super::{EmptyOption, texts};
use crate::model::problem::steps;
use crate::model::{Problem, SnatPool};

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

impl WireSnatPool {
    /// The pool in this wire form.
    pub(super) fn pool(self, problems: &mut Vec<Problem>) -> SnatPool {
        let at = steps!["spec", "snat_pool"];
        let set = [("no_snat_pool", self.no_snat_pool == EmptyOption::Set), ("snat_pool", self.snat_pool.is_some())];
        exclusive(problems, &at, "an endpoint has one source NAT pool or none", &set);
        let Some(pool) = self.snat_pool else { return SnatPool::None };
        let ipv4 = prefixes(problems, "prefixes", pool.prefixes, Ipv4Net::trunc, "an IPv4 prefix such as 192.0.2.0/24");
        let ipv6 = prefixes(
            problems,
            "ipv6_prefixes",
            pool.ipv6_prefixes,
            Ipv6Net::trunc,
            "an IPv6 prefix such as 2001:db8::/32",
        );
        SnatPool::Prefixes { ipv4, ipv6 }
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
                format!("`{text}` is not a valid {what} prefix"),
                allowed,
            )),
        }
    }
    prefixes
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
