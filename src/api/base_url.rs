//! The address of the service: scheme, host, port and a path before `/api`. Every form in which people and other tools
//! write it is accepted; an address to which a token could leak is refused.

use reqwest::Url;

use crate::model::{displayed, neutral};
use crate::transport::{self, SANDBOX_HOST};

/// The address of the service in canonical form: without `/api` or a slash at its end.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct BaseUrl {
    text: Box<str>,
    loopback: bool,
}

/// Why a text is not a base URL. It never shows a user name or a password.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct BaseUrlError(String);

impl BaseUrlError {
    fn no_url(text: &str, reason: &str) -> Self {
        let text = neutral(text, 100);
        Self(format!("`{text}` is not a valid URL ({reason}); write it like https://TENANT.console.ves.volterra.io"))
    }
}

impl BaseUrl {
    /// Whether two texts name the same service, in any of their forms.
    pub fn is_same(one: &str, other: &str) -> bool {
        match (Self::parse(one), Self::parse(other)) {
            (Ok(one), Ok(other)) => one == other,
            _ => one == other,
        }
    }

    /// Parses a base URL, with or without `/api` or a slash at its end.
    ///
    /// # Errors
    /// See [`BaseUrlError`].
    pub fn parse(text: &str) -> Result<Self, BaseUrlError> {
        let text = text.trim();
        // An invalid text may contain a password before its `@`.
        let shown = text.rsplit('@').next().unwrap_or_default();
        let url = Url::parse(text).map_err(|error| BaseUrlError::no_url(shown, &error.to_string()))?;
        let (scheme, host) = (url.scheme(), url.host_str().unwrap_or_default());
        let refused = |text| Err(BaseUrlError(text));
        if !matches!(scheme, "http" | "https") {
            return refused(format!("the base URL has the scheme `{}`; use https", neutral(scheme, 30)));
        }
        if !url.username().is_empty() || url.password().is_some() {
            return refused(format!(
                "the base URL of `{host}` holds a user name or a password; take them out, the token is given apart"
            ));
        }
        if url.query().is_some() || url.fragment().is_some() {
            return refused(format!(
                "the base URL of `{host}` holds a `?` or a `#`; end it after the host or the path"
            ));
        }
        // The parser adds missing slashes and accepts `\` as one, so that the start of a path would become the host.
        let authority = text.split_once("://").map(|(_, rest)| rest);
        if !authority.is_some_and(|rest| rest.starts_with(|c: char| !matches!(c, '/' | '\\') && !c.is_control())) {
            return Err(BaseUrlError::no_url(text, "two slashes and a host follow the scheme"));
        }
        let loopback = transport::is_loopback(host) || host == SANDBOX_HOST;
        if scheme == "http" && !loopback {
            return refused(format!(
                "plain http would show the token to the network between here and `{host}`; use https"
            ));
        }
        let whole = url.as_str().trim_end_matches('/');
        let whole = whole.strip_suffix("/api").unwrap_or(whole).trim_end_matches('/');
        Ok(Self { text: whole.into(), loopback })
    }

    /// The address of the embedded service: `http://sandbox.localhost`.
    pub fn sandbox() -> Self {
        Self { text: format!("http://{SANDBOX_HOST}").into(), loopback: true }
    }

    /// The address without a slash at its end; paths that begin with `/api` are appended.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Whether the service is on this machine.
    pub fn is_loopback(&self) -> bool {
        self.loopback
    }
}

displayed!(BaseUrl, |url| "{}", url.text);

#[cfg(test)]
mod tests {

    use super::*;

    fn refused(text: &str, reason: &str) {
        let error = BaseUrl::parse(text).expect_err(text).to_string();
        assert!(error.contains(reason) && !error.contains("hunter2"), "{text}: {error}");
    }

    #[test]
    fn api_and_slashes_at_the_end_do_not_matter() {
        for text in [
            "https://acme.console.example.net",
            "https://acme.console.example.net/",
            "https://acme.console.example.net/api",
            "https://ACME.console.example.net/api/",
            " https://acme.console.example.net:443//\n",
        ] {
            assert_eq!(BaseUrl::parse(text).expect(text).as_str(), "https://acme.console.example.net");
        }
        assert_eq!(BaseUrl::parse("https://h/x/api").expect("a path").as_str(), "https://h/x");
        assert_eq!(BaseUrl::parse("https://h/xapi").expect("a path").as_str(), "https://h/xapi");
    }

    #[test]
    fn plain_http_goes_only_to_this_machine() {
        for text in [
            "http://127.0.0.1:1",
            "http://127.9.9.9",
            "http://[::1]:8080",
            "http://localhost",
            "http://sandbox.localhost/",
        ] {
            assert!(BaseUrl::parse(text).expect(text).is_loopback());
        }
        for text in [
            "http://example.net",
            "http://localhost.example.net",
            "http://0.0.0.0",
            "http://10.0.0.1",
            "http://evil.localhost",
        ] {
            refused(text, "plain http would show the token");
        }
        assert!(!BaseUrl::parse("https://example.net").expect("https").is_loopback());
    }

    #[test]
    fn credentials_queries_and_other_schemes_are_refused_without_being_shown() {
        refused("https://user:hunter2@h", "holds a user name or a password");
        refused("user:hunter2@:h:1", "has the scheme `user`");
        refused("https://h?x=1", "holds a `?` or a `#`");
        refused("ftp://h", "has the scheme `ftp`");
        refused("acme", "is not a valid URL");
    }

    #[test]
    fn a_url_has_two_slashes_and_a_host_behind_its_scheme() {
        for text in [
            "https:/evil",
            "https:evil",
            "https:///evil",
            r"https:\\evil",
            r"https:/\evil",
            "https:\t//evil",
            "http:/127.0.0.1",
        ] {
            refused(text, "is not a valid URL");
        }
    }

    #[test]
    fn a_host_is_written_in_ascii() {
        for text in ["https://m\u{fc}ller.example", "https://\u{ff11}27.0.0.1"] {
            refused(text, "is not a valid URL");
        }
        let text = "https://xn--mller-kva.example";
        assert_eq!(BaseUrl::parse(text).expect("Punycode").as_str(), text);
    }
}
