//! Enums whose values are words: a macro for all of them, and the fields whose values are words on the wire
//! (protocol, discovery, network type) with the service's spelling of every value.

/// Gives an enum the list of its values and the word of each, which is also how it is displayed.
macro_rules! words {
    ($type:ident { $($variant:ident = $word:literal),+ $(,)? }) => {
        impl $type {
            /// Every value.
            pub const ALL: [$type; [$($word),+].len()] = [$($type::$variant),+];

            /// The word for it.
            pub fn as_str(self) -> &'static str {
                match self { $($type::$variant => $word),+ }
            }
        }

        impl std::fmt::Display for $type {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(self.as_str())
            }
        }
    };
}
pub(crate) use words;

/// A type whose values are words on the wire.
pub trait Word: Sized {
    /// Every word, in the order of the service.
    const WORDS: &[&str];

    /// The value with this text, if there is one.
    fn from_text(text: &str) -> Option<Self>;
}

macro_rules! text_enum {
    ($(#[$doc:meta])* $type:ident, $($(#[$vdoc:meta])* $variant:ident = $text:literal),+ $(,)?) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
        pub enum $type { $($(#[$vdoc])* #[doc = concat!("`", $text, "`")] $variant),+ }

        words!($type { $($variant = $text),+ });

        impl Word for $type {
            const WORDS: &[&str] = &[$($text),+];

            fn from_text(text: &str) -> Option<Self> {
                match text { $($text => Some($type::$variant),)+ _ => None }
            }
        }
    };
}

text_enum!(
    /// The transport protocol.
    Protocol,
    #[default]
    Tcp = "TCP",
    Udp = "UDP",
);

text_enum!(
    /// How a service is discovered. `INVALID_DISCOVERY` is refused by the service (API.md 3.3) and
    /// has no value here.
    Discovery,
    #[default]
    K8s = "K8S",
    Consul = "CONSUL",
    ClassicBigIp = "CLASSIC_BIGIP",
    ThirdParty = "THIRD_PARTY",
    NginxOne = "NGINX_ONE",
);

text_enum!(
    /// The network of a site; the first value is the default.
    NetworkType,
    #[default]
    SiteLocal = "VIRTUAL_NETWORK_SITE_LOCAL",
    SiteLocalInside = "VIRTUAL_NETWORK_SITE_LOCAL_INSIDE",
    PerSite = "VIRTUAL_NETWORK_PER_SITE",
    Public = "VIRTUAL_NETWORK_PUBLIC",
    Global = "VIRTUAL_NETWORK_GLOBAL",
    SiteService = "VIRTUAL_NETWORK_SITE_SERVICE",
    VerInternal = "VIRTUAL_NETWORK_VER_INTERNAL",
    SiteLocalInsideOutside = "VIRTUAL_NETWORK_SITE_LOCAL_INSIDE_OUTSIDE",
    IpAuto = "VIRTUAL_NETWORK_IP_AUTO",
    VoltadnPrivateNetwork = "VIRTUAL_NETWORK_VOLTADN_PRIVATE_NETWORK",
    Srv6Network = "VIRTUAL_NETWORK_SRV6_NETWORK",
    IpFabric = "VIRTUAL_NETWORK_IP_FABRIC",
    Segment = "VIRTUAL_NETWORK_SEGMENT",
    Management = "VIRTUAL_NETWORK_MANAGEMENT",
);
