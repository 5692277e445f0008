//! What the description of an endpoint does not say: by which units it is compared and how they are shown, and in which order
//! the keys of a file are.

mod order;
mod units;
pub mod words;
mod write;

pub use crate::kind::snake;
pub use order::{order, says_something};
pub use units::{UNITS, UnitFacts};
pub use write::write_unit;

/// Root keys that only the service writes (API.md 1.2).
pub const SERVICE_KEYS: [&str; 8] = [
    "system_metadata",
    "resource_version",
    "status",
    "create_form",
    "replace_form",
    "referring_objects",
    "deleted_referred_objects",
    "disabled_referred_objects",
];

/// `dns_name` as `dnsName`, the other spelling of a key.
pub fn camel(key: &str) -> String {
    let mut camel = String::with_capacity(key.len());
    let mut upper = false;
    for c in key.chars() {
        match c {
            '_' => upper = true,
            c if std::mem::take(&mut upper) => camel.push(c.to_ascii_uppercase()),
            c => camel.push(c),
        }
    }
    camel
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_spellings_name_one_key() {
        assert_eq!(camel("dns_name_advanced"), "dnsNameAdvanced");
        assert_eq!(snake("dnsNameAdvanced"), "dns_name_advanced");
        assert_eq!(snake("Name"), "Name");
    }
}
