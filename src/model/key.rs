//! The key that identifies an object: its kind, namespace and name. Names are checked as the service checks them.
//! A key is read and written as `kind:namespace/name`, that of an endpoint as `namespace/name`.

use std::collections::BTreeSet;
use std::fmt;

use schemars::JsonSchema;

use super::displayed;
use crate::kind::{KindName, Naming, as_text, is_host};

/// The longest name and namespace the service accepts, in bytes (API.md 4.2).
const LONGEST_NAME: usize = 63;

/// The rule for names, for messages about what is allowed.
pub const NAME_RULE: &str = "a DNS-1035 label of at most 63 characters";

/// Why a text is not a name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NameError {
    /// Empty: a get of an empty name would become a list.
    #[error("is empty")]
    Empty,
    /// Longer than the service accepts.
    #[error("is {0} bytes long, more than the allowed {LONGEST_NAME}")]
    TooLong(usize),
    /// Not a DNS-1035 label.
    #[error(
        "may contain only lower-case letters, digits and `-`, begin with a letter, and end with a letter or a digit"
    )]
    NotALabel,
}

fn check_label(text: &str) -> Result<(), NameError> {
    if text.is_empty() {
        return Err(NameError::Empty);
    }
    if text.len() > LONGEST_NAME {
        return Err(NameError::TooLong(text.len()));
    }
    let bytes = text.as_bytes();
    let inner = bytes.iter().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || *b == b'-');
    if inner && bytes[0].is_ascii_lowercase() && bytes[bytes.len() - 1] != b'-' {
        Ok(())
    } else {
        Err(NameError::NotALabel)
    }
}

macro_rules! name_type {
    ($(#[$doc:meta])* $type:ident) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, JsonSchema)]
        #[schemars(with = "String")]
        pub struct $type(Box<str>);

        impl $type {
            /// A name that a definition or a flag gives: a DNS-1035 label of at most 63 bytes.
            ///
            /// # Errors
            /// The rule that the text breaks.
            pub fn parse(text: &str) -> Result<Self, NameError> {
                check_label(text)?;
                Ok(Self(text.into()))
            }

            /// A name as the service returned it, which may be anything but empty. Check it with
            /// [`Self::is_label`] before using it in a path.
            ///
            /// # Errors
            /// [`NameError::Empty`].
            pub fn from_service(text: &str) -> Result<Self, NameError> {
                if text.is_empty() { Err(NameError::Empty) } else { Ok(Self(text.into())) }
            }

            /// Whether the name satisfies the rule for definitions.
            pub fn is_label(&self) -> bool {
                check_label(&self.0).is_ok()
            }

            /// The text.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        displayed!($type, |name| "{}", name.0);
        as_text!($type, |text| Ok(Self::from_service(&text)?));
    };
}

name_type!(
    /// The name of an object, unique among the objects of its kind in its namespace.
    Name
);
name_type!(
    /// A namespace of the tenant.
    Namespace
);

impl Namespace {
    /// The namespace that has sites, DDoS events and the events of all namespaces (API.md 4.3, 8.1).
    pub fn system() -> Self {
        Self("system".into())
    }
}

impl Name {
    /// The name of an object of a kind in a definition or a flag: a label or, where the kind allows it, a host name.
    ///
    /// # Errors
    /// The rule that the text breaks.
    pub fn of_kind(kind: KindName, text: &str) -> Result<Self, NameError> {
        Self::parse(text).or_else(|error| {
            let is_host = kind.kind().naming == Naming::Host && is_host(text);
            if is_host { Ok(Self(text.into())) } else { Err(error) }
        })
    }
}

/// The identity of an object: `namespace/name` for an endpoint, `kind:namespace/name` for other kinds.
// Unit tests count comparisons.
#[cfg_attr(not(test), derive(PartialEq, Eq, PartialOrd, Ord, Hash))]
#[derive(Debug, Clone, JsonSchema)]
#[schemars(
    with = "String",
    description = "What identifies an object: `namespace/name` of an endpoint, `kind:namespace/name` of others.",
    extend("pattern" = r"^[^/]+/[\s\S]+$")
)]
pub struct Key {
    /// The namespace.
    pub namespace: Namespace,
    /// The kind.
    pub kind: KindName,
    /// The name, unique among the objects of its kind in the namespace.
    pub name: Name,
}

impl Key {
    /// The noun for these objects in messages, to be put after a number.
    pub fn noun<'k>(keys: impl IntoIterator<Item = &'k Key>) -> &'static str {
        KindName::noun(keys.into_iter().map(|key| key.kind))
    }

    /// The key of an endpoint.
    pub fn endpoint(namespace: Namespace, name: Name) -> Self {
        Self { namespace, kind: KindName::ENDPOINT, name }
    }

    /// A key of two checked names, from `namespace/name` or `kind:namespace/name`.
    ///
    /// # Errors
    /// The rule that the first wrong part breaks. A text without `/`, or with an unknown kind, is not a label.
    pub fn parse(text: &str) -> Result<Self, NameError> {
        let (kind, text) = of_kind(text);
        let (namespace, name) = text.split_once('/').ok_or(NameError::NotALabel)?;
        Ok(Self { namespace: Namespace::parse(namespace)?, kind, name: Name::of_kind(kind, name)? })
    }

    /// Whether a definition can have it.
    pub fn is_plain(&self) -> bool {
        self.namespace.is_label() && Name::of_kind(self.kind, self.name.as_str()).is_ok()
    }
}

/// The objects of one kind in one namespace, which is the content of one list. Written as `namespace` for endpoints,
/// `kind:namespace` for other kinds.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, JsonSchema)]
#[schemars(with = "String")]
pub struct Scope {
    /// The namespace.
    pub namespace: Namespace,
    /// The kind.
    pub kind: KindName,
}

impl Scope {
    /// The endpoints of a namespace.
    pub fn endpoints(namespace: Namespace) -> Self {
        Self { namespace, kind: KindName::ENDPOINT }
    }

    /// The objects of each of these kinds in each of these namespaces.
    pub fn each<'a>(
        namespaces: impl IntoIterator<Item = &'a Namespace>,
        kinds: &'a BTreeSet<KindName>,
    ) -> impl Iterator<Item = Self> {
        let of =
            |namespace: &'a Namespace| kinds.iter().map(move |kind| Self { namespace: namespace.clone(), kind: *kind });
        namespaces.into_iter().flat_map(of)
    }

    /// Whether an object of this key is among them.
    #[cfg(not(test))]
    pub fn contains(&self, key: &Key) -> bool {
        key.namespace == self.namespace && key.kind == self.kind
    }
}

impl From<&Key> for Scope {
    fn from(key: &Key) -> Self {
        Self { namespace: key.namespace.clone(), kind: key.kind }
    }
}

impl TryFrom<String> for Scope {
    type Error = NameError;
    fn try_from(text: String) -> Result<Self, NameError> {
        let (kind, namespace) = of_kind(&text);
        Ok(Self { namespace: Namespace::from_service(namespace)?, kind })
    }
}

as_text!(Scope, |text| Ok(text.try_into()?));

impl fmt::Display for Scope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.kind.is_endpoint() {
            write!(f, "{}:", self.kind)?;
        }
        write!(f, "{}", self.namespace)
    }
}

/// The kind that a text begins with, and the rest. A text without a kind is about an endpoint.
fn of_kind(text: &str) -> (KindName, &str) {
    let named = text.split_once(':').and_then(|(kind, rest)| Some((KindName::find(kind)?, rest)));
    named.unwrap_or((KindName::ENDPOINT, text))
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.kind.is_endpoint() {
            write!(f, "{}:", self.kind)?;
        }
        write!(f, "{}/{}", self.namespace, self.name)
    }
}

as_text!(Key, |text| {
    let (kind, text) = of_kind(&text);
    let (namespace, name) = text.split_once('/').ok_or("a key is `namespace/name`")?;
    Ok(Self { namespace: Namespace::from_service(namespace)?, kind, name: Name::from_service(name)? })
});

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_a_dns_1035_label_of_at_most_63_bytes() {
        assert!(Name::parse("ep-1").is_ok());
        assert!(Name::parse(&"a".repeat(63)).is_ok());
        assert_eq!(Name::parse(""), Err(NameError::Empty));
        assert_eq!(Name::parse(&"a".repeat(64)), Err(NameError::TooLong(64)));
        for bad in ["1a", "-a", "a-", "a_b", "A", "a.b", "a/b", "..", "ä"] {
            assert_eq!(Name::parse(bad), Err(NameError::NotALabel), "{bad}");
        }
    }

    #[test]
    fn a_zone_is_called_as_its_domain() {
        let key = |text: &str| Key::parse(text).map(|key| key.is_plain());
        for good in ["dns_zone:system/example.com", "dns_domain:system/9.example.com", "dns_zone:system/zone"] {
            assert_eq!(key(good), Ok(true), "{good}");
        }
        for bad in ["Example.com", "example.com.", "a..b", "../b", "a/b", "-a.b", "a_b"] {
            assert_eq!(key(&format!("dns_zone:system/{bad}")), Err(NameError::NotALabel), "{bad}");
        }
        assert_eq!(key("healthcheck:shop/example.com"), Err(NameError::NotALabel));
    }

    #[test]
    fn a_name_of_the_service_may_be_odd_but_not_empty() {
        let odd = Name::from_service("../../x").expect("odd names are kept");
        assert!(!odd.is_label());
        assert_eq!(Name::from_service(""), Err(NameError::Empty));
    }
}
