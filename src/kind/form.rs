//! The vendor's forms of text that the program knows. What it does not know, the service decides.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use ipnet::{IpNet, Ipv4Net, Ipv6Net};

/// Whether a text has a form; nothing where the program does not know what the vendor takes for one.
pub(super) fn has_form(form: &str, text: &str) -> Option<bool> {
    match form {
        "ip" => Some(text.parse::<IpAddr>().is_ok()),
        "ipv4" => Some(text.parse::<Ipv4Addr>().is_ok()),
        "ipv6" => Some(text.parse::<Ipv6Addr>().is_ok()),
        "ip_prefix" => Some(text.parse::<IpNet>().is_ok()),
        "ipv4_prefix" => Some(text.parse::<Ipv4Net>().is_ok()),
        "ipv6_prefix" => Some(text.parse::<Ipv6Net>().is_ok()),
        // Whether the service takes wildcards in a host name is not known.
        _ => None,
    }
}

/// What a text of this form is called.
pub(super) fn words(form: &str) -> String {
    let words = match form {
        "ip" => "IP address",
        "ipv4" => "IPv4 address",
        "ipv6" => "IPv6 address",
        "ip_prefix" => "IP prefix",
        "ipv4_prefix" => "IPv4 prefix",
        "ipv6_prefix" => "IPv6 prefix",
        "hostname" => "host name",
        other => return other.replace('_', " "),
    };
    words.to_owned()
}
