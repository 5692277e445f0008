//! The vendor's text formats that trueup knows. It leaves texts of unknown formats to the service.

use std::borrow::Borrow;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use ipnet::{IpNet, Ipv4Net, Ipv6Net};
use serde_json::Value as Json;

use super::{Selector, label};

/// Why a text does not have a format, empty where the name of the format is enough; `None` where the text has it, or
/// where the rules of the format are unknown.
pub(super) fn fault(form: &str, text: &str) -> Option<String> {
    let fails = |is_good: bool| (!is_good).then(String::new);
    match form {
        "ip" => fails(text.parse::<IpAddr>().is_ok()),
        "ipv4" => fails(text.parse::<Ipv4Addr>().is_ok()),
        "ipv6" => fails(text.parse::<Ipv6Addr>().is_ok()),
        "ip_prefix" => fails(text.parse::<IpNet>().is_ok()),
        "ipv4_prefix" => fails(text.parse::<Ipv4Net>().is_ok()),
        "ipv6_prefix" => fails(text.parse::<Ipv6Net>().is_ok()),
        "k8s_label_key" => label::key_fault(text).map(str::to_owned),
        "k8s_label_value" => label::value_fault(text).map(str::to_owned),
        "hostname" => host_name_fault(text.strip_suffix('.').unwrap_or(text)).map(str::to_owned),
        "k8s_label_selector" => Selector::parse(text).err().map(|error| error.to_string()),
        _ => None,
    }
}

/// The longest host name, in bytes.
const LONGEST_HOST: usize = 253;

/// Whether a text is a host name in lower-case letters, without a final dot.
pub fn is_host(text: &str) -> bool {
    let is_upper = |byte: u8| byte.is_ascii_uppercase();
    text.len() <= LONGEST_HOST && host_name_fault(text).is_none() && !text.bytes().any(is_upper)
}

/// Why a text is not a host name by the rule of protoc-gen-validate, after which the vendor's rule is named (RFC 1034).
/// The length is a separate rule.
fn host_name_fault(name: &str) -> Option<&'static str> {
    let fault_of_part = |part: &str| {
        let is_inner = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-';
        match part {
            "" => Some("a part between dots is empty"),
            _ if part.len() > 63 => Some("a part between dots is longer than 63 characters"),
            _ if part.starts_with('-') || part.ends_with('-') => Some("a part begins or ends with `-`"),
            _ if !part.bytes().all(is_inner) => Some("only letters, digits, `-` and dots are allowed"),
            _ => None,
        }
    };
    name.split('.').find_map(fault_of_part)
}

/// The canonical form of a text for comparisons, by its meaning; `None` where the text has that form already.
pub(super) fn canonical(form: &str, text: &str) -> Option<String> {
    match (form, text.strip_suffix('.')) {
        ("hostname" | "hostname_or_ip", Some(name)) => Some(name.to_ascii_lowercase()),
        _ => written(form, text, true),
    }
}

/// The same for requests. A name in a zone may need its final dot, and a prefix outside of a list may be an address
/// with the length of its network.
pub(super) fn written(form: &str, text: &str, is_item: bool) -> Option<String> {
    let written = match form {
        "hostname_or_ip" => return written("ip", text, is_item).or_else(|| written("hostname", text, is_item)),
        "hostname" | "vh_domain" | "hostport" if text.bytes().any(|byte| byte.is_ascii_uppercase()) => {
            text.to_ascii_lowercase()
        }
        "ip" | "ipv4" | "ipv6" | "ipv4_globally_routable" | "ipv6_globally_routable" => match text.parse().ok()? {
            // An IPv4 address has only one spelling.
            IpAddr::V4(_) => return None,
            IpAddr::V6(address) => address.to_string(),
        },
        "ip_prefix" | "ipv4_prefix" | "ipv6_prefix" | "ip_prefix_globally_routable" => {
            let prefix: IpNet = text.parse().ok()?;
            if is_item { prefix.trunc().to_string() } else { prefix.to_string() }
        }
        "k8s_label_selector" => Selector::parse(text).ok()?.to_string(),
        _ => return None,
    };
    (written != text).then_some(written)
}

/// Whether texts of this format are addresses or prefixes.
pub(super) fn is_of_address(form: &str) -> bool {
    ["ip", "ipv4", "ipv6", "ip_prefix", "ipv4_prefix", "ipv6_prefix"].contains(&form)
}

/// Sorts the texts of a set, prefixes by their value, and removes duplicates.
pub(super) fn sort<T: Borrow<Json> + PartialEq>(texts: &mut Vec<T>) {
    let by_value = |text: &T| {
        let text = text.borrow().as_str().unwrap_or_default();
        (text.parse::<IpNet>().ok(), text.to_owned())
    };
    texts.sort_by_cached_key(by_value);
    texts.dedup();
}

/// An example of a text of this format; empty where its name is enough.
pub fn example(form: &str) -> &'static str {
    match form {
        "ip" => "an IPv4 or IPv6 address",
        "ipv4_prefix" => "an IPv4 prefix such as 192.0.2.0/24",
        "ipv6_prefix" => "an IPv6 prefix such as 2001:db8::/32",
        "hostname" => "a host name such as shop.example.net",
        "k8s_label_selector" => "for example `tier in (web, db),!legacy`",
        _ => "",
    }
}

/// The name of this format in messages.
pub(super) fn words(form: &str) -> String {
    let words = match form {
        "ip" => "IP address",
        "ipv4" => "IPv4 address",
        "ipv6" => "IPv6 address",
        "ip_prefix" => "IP prefix",
        "ipv4_prefix" => "IPv4 prefix",
        "ipv6_prefix" => "IPv6 prefix",
        "ip_prefix_globally_routable" => "globally routable IP prefix",
        "ipv4_globally_routable" => "globally routable IPv4 address",
        "ipv6_globally_routable" => "globally routable IPv6 address",
        "hostname" => "host name",
        "hostname_or_ip" => "host name or IP address",
        "hostport" => "host with a port",
        "vh_domain" => "domain of a virtual host",
        "dns_1035_label" => {
            "name of lower-case letters, digits and `-`, a letter first, a letter or digit last, at most 63"
        }
        "dns_1123_label" => "DNS label",
        "mac" => "MAC address",
        "uri" => "URI",
        "uri_ref" => "URI reference",
        "url_or_uri_ref" => "URL or URI reference",
        "http_path" => "path of a URL",
        "http_header_field" => "name of an HTTP header",
        "regex" => "regular expression",
        "json_path" => "JSON path",
        "hex" => "hexadecimal text",
        "ves_object_name" => "name of an object",
        "k8s_label_selector" => "label selector",
        "k8s_label_key" => "label key",
        "k8s_label_value" => "label value",
        other => return other.replace('_', " "),
    };
    words.to_owned()
}
