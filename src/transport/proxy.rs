//! Which requests go through a proxy, by the variables that curl and other tools read. An invalid value is an error
//! only when it would be used: a request must never take another way than its environment says.

use std::fmt;
use std::net::IpAddr;
use std::sync::Arc;

use hyper_util::client::proxy::matcher::Matcher;
use ipnet::IpNet;
use reqwest::Url;

/// The variables that choose a proxy. The default has none.
#[derive(Clone, Default)]
pub struct Proxies {
    http: Option<Variable>,
    https: Option<Variable>,
    direct: Option<Variable>,
}

/// The name and the value of a variable that is set.
type Variable = (&'static str, Arc<str>);

/// A variable whose value is not a proxy. The value is not shown: it may contain a password.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the value of `{0}` is not a proxy; write it like http://proxy.example.net:3128")]
pub struct ProxyError(&'static str);

impl fmt::Debug for Proxies {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Proxies(…)")
    }
}

impl Proxies {
    /// Reads the variables of an environment.
    pub fn read(variable: impl Fn(&str) -> Option<String>) -> Self {
        let first = |names: &[&'static str]| {
            names.iter().find_map(|name| Some((*name, variable(name).as_deref()?.trim().into())))
        };
        Self {
            http: first(&["HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"]),
            https: first(&["HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"]),
            direct: first(&["NO_PROXY", "no_proxy"]),
        }
    }

    /// The proxy of requests to `url`; `None` if they are sent directly.
    ///
    /// # Errors
    /// The variable that chooses it has an invalid value.
    pub fn of(&self, url: &Url) -> Result<Option<Url>, ProxyError> {
        let proxy = if url.scheme() == "https" { &self.https } else { &self.http };
        match proxy {
            Some((variable, value)) if !self.is_direct(url) => match parsed(value) {
                Some(proxy) => Ok(Some(proxy)),
                None => Err(ProxyError(variable)),
            },
            _ => Ok(None),
        }
    }

    /// Whether any proxy is set.
    ///
    /// # Errors
    /// A variable has an invalid value.
    pub fn any(&self) -> Result<bool, ProxyError> {
        let mut set = [&self.http, &self.https].into_iter().flatten();
        match set.clone().find(|(_, value)| parsed(value).is_none()) {
            Some((variable, _)) => Err(ProxyError(variable)),
            None => Ok(set.next().is_some()),
        }
    }

    fn is_direct(&self, url: &Url) -> bool {
        if super::is_loopback(url.host_str().unwrap_or_default()) || is_of_machine(url) {
            return true;
        }
        let Some((_, hosts)) = &self.direct else { return false };
        let proxied = Matcher::builder().all("http://proxy").no(&**hosts).build();
        url.as_str().parse().is_ok_and(|url| proxied.intercept(&url).is_none())
    }

    /// What is wrong with the exceptions (`NO_PROXY`), if they have entries that can match no host.
    pub fn unclear(&self) -> Option<String> {
        let (variable, hosts) = self.direct.as_ref()?;
        let unclear: Vec<String> = hosts
            .split(',')
            .map(str::trim)
            .filter(|entry| !entry.is_empty() && !is_clear(entry))
            .map(|entry| format!("`{entry}`"))
            .collect();
        (!unclear.is_empty()).then(|| {
            format!(
                "`{variable}` has {}, which no host matches; an entry is `*`, an address, a network like 10.0.0.0/8, or a \
                 domain like example.net, which includes what is below it",
                unclear.join(" and ")
            )
        })
    }
}

/// Whether the URL is a cloud's metadata service, whose answer depends on the machine that asks: a proxy has another
/// role.
fn is_of_machine(url: &Url) -> bool {
    let host = url.host_str().unwrap_or_default();
    match host.trim_matches(['[', ']']).parse() {
        Ok(IpAddr::V4(address)) => address.is_link_local(),
        Ok(IpAddr::V6(address)) => address.is_unicast_link_local() || matches!(address.segments(), [0xfd00, 0xec2, ..]),
        Err(_) => host == "metadata.google.internal",
    }
}

/// The proxy in messages, without its credentials.
pub(crate) fn name(proxy: &Url) -> String {
    let port = proxy.port().map(|port| format!(":{port}")).unwrap_or_default();
    format!("{}://{}{port}", proxy.scheme(), proxy.host_str().unwrap_or_default())
}

fn parsed(value: &str) -> Option<Url> {
    let url = if value.contains("://") { Url::parse(value) } else { Url::parse(&format!("http://{value}")) };
    url.ok().filter(|url| {
        let is_proxy = matches!(url.scheme(), "http" | "https" | "socks4" | "socks4a" | "socks5" | "socks5h");
        is_proxy && url.host_str().is_some_and(|host| !host.is_empty())
    })
}

fn is_clear(entry: &str) -> bool {
    let is_domain = |name: &str| {
        let is_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
        name.chars().all(is_name) && !name.ends_with('.') && name.contains(|c: char| c.is_ascii_alphabetic())
    };
    entry == "*" || entry.parse::<IpNet>().is_ok() || entry.parse::<IpAddr>().is_ok() || is_domain(entry)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn proxies(variables: &[(&str, &str)]) -> Proxies {
        Proxies::read(|name| variables.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned()))
    }

    fn of(variables: &[(&str, &str)], url: &str) -> Option<String> {
        let url = Url::parse(url).expect("a URL");
        proxies(variables).of(&url).expect("a proxy or none").map(|proxy| name(&proxy))
    }

    #[test]
    fn the_variable_of_the_scheme_comes_before_that_of_all() {
        let both = [("HTTPS_PROXY", "one:1"), ("ALL_PROXY", "http://two:2/x")];
        assert_eq!(of(&both, "https://example.net").as_deref(), Some("http://one:1"));
        assert_eq!(of(&both, "http://example.net").as_deref(), Some("http://two:2"));
        assert_eq!(of(&[("https_proxy", " https://one ")], "https://h").as_deref(), Some("https://one"));
        assert_eq!(of(&[("HTTP_PROXY", "one:1")], "https://h"), None);
    }

    #[test]
    fn a_value_that_is_no_proxy_is_an_error_that_does_not_show_it() {
        for value in ["http://some:body@", "ftp://proxy", "http://", "proxy:port", "://", "a b"] {
            let url = Url::parse("https://example.net").expect("a URL");
            let error = proxies(&[("HTTPS_PROXY", value), ("ALL_PROXY", "two:2")]).of(&url).expect_err(value);
            assert_eq!(error, ProxyError("HTTPS_PROXY"));
            assert!(!error.to_string().contains("body"), "{error}");
            // Nobody asks what a host without a proxy would have had.
            assert_eq!(of(&[("HTTPS_PROXY", value), ("NO_PROXY", "example.net")], "https://example.net"), None);
        }
    }

    #[test]
    fn exceptions_are_hosts_domains_addresses_and_networks() {
        let of = |direct: &str, url| of(&[("ALL_PROXY", "proxy"), ("NO_PROXY", direct)], url).is_none();
        for direct in ["example.net", ".example.net", "a.example.net", "*", "x, A.EXAMPLE.NET"] {
            assert!(of(direct, "https://a.example.net"), "{direct}");
            assert_eq!(proxies(&[("NO_PROXY", direct)]).unclear(), None);
        }
        for direct in ["10.0.0.0/8", "10.1.2.3", "::1, 10.1.2.3"] {
            assert!(of(direct, "https://10.1.2.3"), "{direct}");
            assert_eq!(proxies(&[("NO_PROXY", direct)]).unclear(), None);
        }
        assert!(!of("le.net", "https://example.net"));
    }

    #[test]
    fn a_machine_reaches_itself_and_asks_for_its_own_role_without_a_proxy() {
        let of = |url: &str| of(&[("ALL_PROXY", "proxy")], url);
        for host in [
            "localhost",
            "127.0.0.1",
            "[::1]",
            "169.254.169.254",
            "169.254.170.2",
            "[fd00:ec2::254]",
            "[fe80::1]",
            "metadata.google.internal",
        ] {
            assert_eq!(of(&format!("http://{host}/latest/api/token")), None, "{host}");
        }
        for host in ["169.253.169.254", "[fd00:ec3::254]", "x.metadata.google.internal"] {
            assert!(of(&format!("http://{host}")).is_some(), "{host}");
        }
    }

    #[test]
    fn an_entry_that_no_host_matches_is_unclear() {
        for entry in [
            "*.example.net",
            "example.net:443",
            "https://example.net",
            "10.0.0.",
            "10.0.0.0/33",
            "[::1]",
            "a.b c.d",
            "h.",
        ] {
            let unclear = proxies(&[("no_proxy", &format!("localhost,{entry},,"))]).unclear().expect(entry);
            assert!(unclear.starts_with(&format!("`no_proxy` has `{entry}`, which")), "{unclear}");
        }
    }
}
