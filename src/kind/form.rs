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
        "ip_prefix_globally_routable" => "globally routable IP prefix",
        "ipv4_globally_routable" => "globally routable IPv4 address",
        "ipv6_globally_routable" => "globally routable IPv6 address",
        "hostname" => "host name",
        "hostname_or_ip" => "host name or IP address",
        "hostport" => "host with a port",
        "vh_domain" => "domain of a virtual host",
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
        "k8s_label_value" => "label value",
        other => return other.replace('_', " "),
    };
    words.to_owned()
}
