//! The exclusive groups of an endpoint as types: two options of a group cannot both be set, and values are
//! canonical. For each group: how a live value reads as its definition would write it.

use std::collections::BTreeSet;
use std::fmt;
use std::net::IpAddr;

use ipnet::{Ipv4Net, Ipv6Net};

use super::{Discovery, NetworkType, Selector};

/// Exclusive group: what an endpoint points at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Target {
    /// `dns_name`
    DnsName(HostName),
    /// `dns_name_advanced`
    DnsNameAdvanced {
        /// The host name.
        name: HostName,
        /// When the name is resolved again.
        ttl: TtlChoice,
    },
    /// `ip`, version 4 or 6
    Ip(IpAddr),
    /// `service_info`
    ServiceInfo {
        /// How the service is discovered.
        discovery: Discovery,
        /// Which service.
        service: ServiceMatch,
    },
}

/// Exclusive group: when an advanced DNS name is resolved again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum TtlChoice {
    /// Left to the service.
    #[default]
    Unset,
    /// `refresh_interval`, in seconds, 10 to 604800
    RefreshInterval(u32),
    /// `strict_ttl`, deprecated by the vendor: when the DNS answer expires
    StrictTtl,
}

/// Exclusive group: the service that a discovery should find.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ServiceMatch {
    /// `service_name`, at most 256 bytes
    Name(String),
    /// `service_selector`
    Selector(Selector),
}

/// Exclusive group: source NAT.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum SnatPool {
    /// `no_snat_pool`, the default
    #[default]
    None,
    /// `snat_pool`
    Prefixes {
        /// `prefixes`, at most 128
        ipv4: BTreeSet<Ipv4Net>,
        /// `ipv6_prefixes`
        ipv6: BTreeSet<Ipv6Net>,
    },
}

/// Exclusive group: where the endpoint applies.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Where {
    /// `site`
    Site(SiteWhere),
    /// `virtual_site`
    VirtualSite(SiteWhere),
    /// `virtual_network`
    VirtualNetwork(Reference),
}

/// A place at a site or at a virtual site.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SiteWhere {
    /// The site.
    pub reference: Reference,
    /// `refs`, deprecated by the vendor: virtual networks, in the order of the service.
    pub refs: Vec<Reference>,
    /// The network at it.
    pub network_type: NetworkType,
    /// Exclusive group: Internet VIP at the site.
    pub internet_vip: InternetVip,
}

/// Exclusive group: Internet VIP at a site; off is the default.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum InternetVip {
    /// `disable_internet_vip`
    #[default]
    Disabled,
    /// `enable_internet_vip`
    Enabled,
}

/// A reference to an object of the service. What a definition leaves out is the service's to fill
/// (API.md 3.4); `kind` has many spellings there and is never kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reference {
    /// The name referred to.
    pub name: String,
    /// Its namespace.
    pub namespace: Option<String>,
    /// Its tenant, with the random suffix of the service.
    pub tenant: Option<String>,
    /// Its uid.
    pub uid: Option<String>,
}

impl Reference {
    /// This reference with only the parts that `wanted` names: what the service filled in falls away.
    #[must_use]
    pub fn seen_as(&self, wanted: &Reference) -> Reference {
        let keep = |mine: &Option<String>, named: &Option<String>| named.as_ref().and(mine.clone());
        Reference {
            name: self.name.clone(),
            namespace: keep(&self.namespace, &wanted.namespace),
            tenant: keep(&self.tenant, &wanted.tenant),
            uid: keep(&self.uid, &wanted.uid),
        }
    }

    /// This reference with the parts that the service fills that the bits of `kept` name.
    fn spelling(&self, kept: u8) -> Reference {
        let keep = |bit: u8, part: &Option<String>| if kept & bit == 0 { None } else { part.clone() };
        Reference {
            name: self.name.clone(),
            namespace: keep(1, &self.namespace),
            tenant: keep(2, &self.tenant),
            uid: keep(4, &self.uid),
        }
    }
}

impl Target {
    /// This live target as `wanted` would write it: what the service filled for what `wanted` leaves to it
    /// falls away.
    #[must_use]
    pub fn seen_as(&self, wanted: &Target) -> Target {
        match wanted {
            Target::DnsNameAdvanced { ttl: TtlChoice::Unset, .. } => self.unfilled(),
            _ => self.clone(),
        }
    }

    /// Every way in which a definition could have written this live target.
    pub fn spellings(&self) -> impl Iterator<Item = Target> {
        let unfilled = Some(self.unfilled()).filter(|unfilled| unfilled != self);
        std::iter::once(self.clone()).chain(unfilled)
    }

    fn unfilled(&self) -> Target {
        match self {
            // The service fills an interval; a strict TTL was chosen.
            Target::DnsNameAdvanced { name, ttl: TtlChoice::RefreshInterval(_) } => {
                Target::DnsNameAdvanced { name: name.clone(), ttl: TtlChoice::Unset }
            }
            _ => self.clone(),
        }
    }
}

impl Where {
    /// The reference of the option.
    pub fn reference(&self) -> &Reference {
        match self {
            Where::Site(place) | Where::VirtualSite(place) => &place.reference,
            Where::VirtualNetwork(reference) => reference,
        }
    }

    /// The deprecated `refs` of the option.
    pub fn refs(&self) -> &[Reference] {
        match self {
            Where::Site(place) | Where::VirtualSite(place) => &place.refs,
            Where::VirtualNetwork(_) => &[],
        }
    }

    /// The same place with other references.
    fn with_references(&self, reference: Reference, refs: Vec<Reference>) -> Where {
        match self {
            Where::Site(place) => Where::Site(SiteWhere { reference, refs, ..*place }),
            Where::VirtualSite(place) => Where::VirtualSite(SiteWhere { reference, refs, ..*place }),
            Where::VirtualNetwork(_) => Where::VirtualNetwork(reference),
        }
    }

    /// This live place as `wanted` would write it: see [`Reference::seen_as`].
    #[must_use]
    pub fn seen_as(&self, wanted: &Where) -> Where {
        let others = wanted.refs().iter().map(Some).chain(std::iter::repeat(None));
        let refs = self.refs().iter().zip(others).map(|(mine, other)| match other {
            Some(other) => mine.seen_as(other),
            None => mine.clone(),
        });
        self.with_references(self.reference().seen_as(wanted.reference()), refs.collect())
    }

    /// Every way in which a definition could have written this live place: its reference with each
    /// choice of the parts that the service fills, and its `refs` with each choice for all of them.
    pub fn spellings(&self) -> impl Iterator<Item = Where> + '_ {
        let choices_of_refs = if self.refs().is_empty() { 1 } else { 8 };
        (0u8..8 * choices_of_refs).map(|choice| {
            let refs = self.refs().iter().map(|reference| reference.spelling(choice / 8));
            self.with_references(self.reference().spelling(choice % 8), refs.collect())
        })
    }
}

/// A host name, lower-case and without a trailing dot.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct HostName(String);

impl HostName {
    /// The canonical form of `text`; whether it is a host name at all is a rule, checked apart.
    #[must_use]
    pub fn canonical(text: &str) -> Self {
        let lower = text.to_ascii_lowercase();
        Self(lower.strip_suffix('.').unwrap_or(&lower).to_owned())
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for HostName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
