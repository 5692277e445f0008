//! The place of an endpoint on the wire: a site, a virtual site or a virtual network with its references,
//! and the way to the typed [`Where`] and back.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::EmptyOption;
use super::problems::{exclusive, given, join, word};
use crate::model::problem::steps;
use crate::model::{InternetVip, Problem, Reference, Segment, SiteWhere, Where};

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

impl WireWhere {
    /// The place in this wire form.
    pub(super) fn place(self, problems: &mut Vec<Problem>) -> Option<Where> {
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
        let network_type = word(problems, || join(&at, "network_type"), self.network_type.as_ref());
        let refs = self.refs.unwrap_or_default();
        let refs: Vec<_> = refs
            .iter()
            .enumerate()
            .filter_map(|(index, one)| named(problems, one, steps!["spec", "where", option, "refs", index]))
            .collect();
        let reference = reference(problems, self.reference.as_deref(), option);
        Some(SiteWhere { reference: reference?, refs, network_type: network_type?.unwrap_or_default(), internet_vip })
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
                format!("`where.{option}.ref` has {} references", more.len()),
                "exactly one reference",
            ));
            None
        }
    }
}

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
