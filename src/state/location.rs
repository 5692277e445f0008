//! The address of a bucket: `s3://bucket/prefix`, `gs://bucket/prefix` or `az://container@account/prefix`. An address
//! with a secret is refused, and the error does not repeat it.

use std::fmt;

use reqwest::Url;

use crate::model::words;

/// The service of the bucket.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Provider {
    /// Amazon S3, or a server that speaks its protocol.
    S3,
    /// Google Cloud Storage.
    Google,
    /// Azure Blob Storage.
    Azure,
}

// The scheme of the addresses of its buckets.
words!(Provider { S3 = "s3", Google = "gs", Azure = "az" });

/// A bucket, and the prefix of all names that are used in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Location {
    /// The service of the bucket.
    pub provider: Provider,
    /// The bucket; on Azure, the container.
    pub bucket: String,
    /// The storage account, which only Azure has.
    pub account: Option<String>,
    /// Without slashes at its start and end; may be empty.
    pub prefix: String,
}

/// The ends of the host names of Azure's accounts.
const HOSTS: [&str; 2] = [".blob.core.windows.net", ".dfs.core.windows.net"];

fn provider(scheme: &str) -> Option<Provider> {
    Provider::ALL.into_iter().find(|provider| provider.as_str() == scheme)
}

impl Location {
    /// Whether a text is meant as an address, not as a path: `s3:/bucket` is an address that lacks a slash.
    pub fn is_meant(text: &str) -> bool {
        text.contains("://") || text.split_once(':').is_some_and(|(scheme, _)| provider(scheme).is_some())
    }

    /// The bucket that `text` names.
    ///
    /// # Errors
    /// Why the text is not the address of a bucket.
    pub fn parse(text: &str) -> Result<Self, String> {
        // Only the scheme is shown: a text that is not a URL may contain part of a secret.
        let (scheme, rest) = text.split_once(':').unwrap_or_default();
        let provider = provider(scheme).ok_or_else(|| {
            format!("`{scheme}://` is not supported; use s3://BUCKET/PREFIX, gs://BUCKET/PREFIX or az://CONTAINER@ACCOUNT/PREFIX")
        })?;
        if !rest.starts_with("//") {
            return Err(format!("the address of a bucket begins with `{scheme}://`"));
        }
        let variable = match provider {
            Provider::S3 => "AWS_ACCESS_KEY_ID",
            Provider::Google => "GOOGLE_APPLICATION_CREDENTIALS",
            Provider::Azure => "AZURE_STORAGE_ACCOUNT_KEY",
        };
        let url = Url::parse(text).map_err(|_| format!("`{scheme}://…` is not a valid URL"))?;
        let secret = |what| {
            let place = "give credentials in the variables of the object store, such as";
            Err(format!("the URL contains {what}: {place} {variable}"))
        };
        let no_bucket = || "the URL names no bucket".to_owned();
        if url.password().is_some() {
            return secret("a password");
        }
        if url.query().is_some() || url.fragment().is_some() {
            return secret("a query");
        }
        let host = url.host_str().filter(|host| !host.is_empty()).ok_or_else(no_bucket)?;
        let (bucket, account) = match (provider, url.username()) {
            (_, "") => (host, None),
            (Provider::Azure, container) => {
                let host = host.to_ascii_lowercase();
                let account = HOSTS.iter().find_map(|ending| host.strip_suffix(ending)).unwrap_or(&host);
                let is_account = |account: &&str| !account.is_empty() && !account.contains('.');
                // The host would be ignored, and requests would go to the account of this name in the public cloud.
                let account = Some(account).filter(is_account).ok_or(
                    "the host of the account is not ACCOUNT.blob.core.windows.net; use az://CONTAINER@ACCOUNT/PREFIX, and name the host in AZURE_ENDPOINT",
                )?;
                (container, Some(account.to_owned()))
            }
            _ => return secret("a user name"),
        };
        if url.port().is_some() {
            return Err(no_bucket());
        }
        let prefix = url.path().trim_matches('/');
        for part in prefix.split('/').filter(|_| !prefix.is_empty()) {
            let plain = |c: char| c.is_ascii_alphanumeric() || "-_.=".contains(c);
            if part.is_empty() || !part.chars().all(plain) {
                return Err(format!(
                    "the prefix of the URL contains `{part}`; use letters, digits, `-`, `_`, `.` and `=`"
                ));
            }
        }
        let location = Self { provider, bucket: bucket.to_owned(), account, prefix: prefix.to_owned() };
        // The URL parser resolves the parts `.` and `..` in all their encodings.
        let (_, written) = rest.trim().trim_matches('/').split_once('/').unwrap_or_default();
        let is_as_written = written.trim_matches('/') == prefix;
        let what = || format!("the prefix of the URL has a part `.` or `..`, so that it means `{location}`: give that");
        if is_as_written { Ok(location) } else { Err(what()) }
    }
}

impl fmt::Display for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let account = self.account.as_ref().map(|account| format!("@{account}")).unwrap_or_default();
        let slash = if self.prefix.is_empty() { "" } else { "/" };
        write!(f, "{}://{}{account}{slash}{}", self.provider, self.bucket, self.prefix)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_names_provider_bucket_and_prefix() {
        for (text, shown) in [
            ("s3://state/trueup/prod/", "s3://state/trueup/prod"),
            ("s3://state", "s3://state"),
            ("gs://my-bucket/a", "gs://my-bucket/a"),
            ("s3://state/true-up_1.0/a=b", "s3://state/true-up_1.0/a=b"),
            ("az://box@account/a", "az://box@account/a"),
            ("az://box@account.blob.core.windows.net/a", "az://box@account/a"),
            ("az://box@account.BLOB.core.windows.net/a", "az://box@account/a"),
        ] {
            assert_eq!(Location::parse(text).map(|location| location.to_string()), Ok(shown.to_owned()), "{text}");
        }
    }

    #[test]
    fn an_address_with_a_secret_is_refused_and_not_repeated() {
        let secret = "wJalrXUtnFEMIK7MDENG";
        for text in [
            format!("s3://AKIA7:{secret}@bucket/a"),
            format!("s3://{secret}@bucket/a"),
            format!("az://box:{secret}@account/a"),
            format!("az://box@account/a?sig={secret}"),
            format!("gs://bucket/a#{secret}"),
            format!("s3://[{secret}"),
        ] {
            let error = Location::parse(&text).expect_err("refused");
            assert!(!error.contains(secret), "{error}");
        }
    }

    #[test]
    fn what_is_not_an_address_of_a_bucket_is_refused() {
        for text in [
            "https://bucket.s3.amazonaws.com/a",
            "file:///tmp",
            "s3://",
            "s3:///a",
            "s3://b/a//c",
            "s3://b/a%20b",
            "az://box@account.blob.core.usgovcloudapi.net/a",
            "az://box@.blob.core.windows.net/a",
            "az://box@account.example.net/a",
            "s3://b/%2E%2E/..%2F",
        ] {
            assert!(Location::parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_prefix_that_a_url_resolves_is_refused_with_the_one_that_it_would_be() {
        for (text, meant) in [
            ("s3://state/../x", "s3://state/x"),
            ("s3://state/a/../b", "s3://state/b"),
            ("s3://state/a/./b/", "s3://state/a/b"),
            ("s3://state/a/%2e%2E", "s3://state"),
            ("az://box@account.blob.core.windows.net/a/../b", "az://box@account/b"),
        ] {
            let error = Location::parse(text).expect_err(text);
            let expected =
                format!("the prefix of the URL has a part `.` or `..`, so that it means `{meant}`: give that");
            assert_eq!(error, expected, "{text}");
        }
        assert!(Location::parse("s3://state/a\n").is_ok(), "as a file has it");
    }

    #[test]
    fn an_address_with_a_slash_too_few_is_no_directory() {
        for text in ["s3:/bucket/a", "gs:bucket", "az:/box@account/a"] {
            assert!(Location::is_meant(text), "{text}");
            let error = Location::parse(text).expect_err("refused");
            assert_eq!(error, format!("the address of a bucket begins with `{}://`", &text[..2]));
        }
        for path in ["./s3:/bucket", "s3", "C:/state", "/mnt/s3:a"] {
            assert!(!Location::is_meant(path), "{path}");
        }
    }
}
