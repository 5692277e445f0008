//! Which keys a file has, and in which order, for everything that writes or formats definitions.

use crate::model::Json;

/// The keys of the metadata and of the spec of an endpoint in order.
const KEYS: [&str; 15] = [
    "name",
    "namespace",
    "description",
    "disable",
    "labels",
    "annotations",
    "dns_name",
    "dns_name_advanced",
    "ip",
    "service_info",
    "protocol",
    "port",
    "health_check_port",
    "snat_pool",
    "where",
];

/// Where a key in snake case is written among the keys beside it. Keys with the same number are in the order of the
/// alphabet.
pub fn order(key: &str) -> usize {
    KEYS.iter().position(|known| *known == key).unwrap_or(usize::MAX)
}

/// Whether a definition of an object of `tenant` has to write a key with this value.
pub fn says_something(key: &str, value: &Json, tenant: Option<&str>) -> bool {
    match key {
        "description" => value != "",
        "disable" => value == true,
        "protocol" => value != "TCP",
        "snat_pool" => value.get("no_snat_pool").is_none(),
        "disable_internet_vip" => !value.is_object(),
        // The service fills both in a reference of a live object, and in none of another tool.
        "uid" => tenant.is_none(),
        "tenant" => value.as_str() != tenant,
        _ => *value != 0,
    }
}
