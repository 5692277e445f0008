//! The connection to an object store: the variables for endpoint and credentials, and an HTTP client with the TLS of
//! the rest of the program. Plain HTTP is used only for a server on this machine or if a variable asks for it.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use http_body_util::BodyExt as _;
use object_store::aws::{AmazonS3Builder, AmazonS3ConfigKey};
use object_store::azure::MicrosoftAzureBuilder;
use object_store::client::{
    HttpClient, HttpConnector, HttpError, HttpErrorKind, HttpRequest, HttpResponse, HttpService,
};
use object_store::gcp::GoogleCloudStorageBuilder;
use object_store::{BackoffConfig, ClientConfigKey, ClientOptions, ObjectStore, RetryConfig};

use crate::file;
use crate::transport::{self, Proxies, Roots, TlsError, TlsTrust};

use super::error::{PROXIED, StateError, TooLong};
use super::location::{Location, Provider};

const CONNECT: Duration = Duration::from_secs(5);
/// The time for a whole request: the largest object is the plan of a run.
const TOTAL: Duration = Duration::from_mins(1);
/// The largest object that is read, in bytes: a writer to the bucket must not exhaust the memory of a runner.
const LARGEST: usize = 1024 * 1024 * 1024;
/// The longest other answer, in bytes: a page of a list with at most 1000 names, or an error.
const LONGEST: usize = 16 * 1024 * 1024;
/// Words in the names of variables, headers and parameters whose values no message may show.
const SECRETS: [&str; 8] = ["secret", "token", "password", "key", "sas", "authorization", "assertion", "signature"];
/// Shorter values are not treated as secrets.
const SHORTEST: usize = 8;

/// Variables with the address of a server, in lower case: object_store panics if one is not a URL.
const ENDPOINTS: [&str; 11] = [
    "aws_endpoint",
    "aws_endpoint_url",
    "aws_endpoint_url_s3",
    "aws_endpoint_url_sts",
    "aws_metadata_endpoint",
    "azure_authority_host",
    "azure_endpoint",
    "azure_storage_authority_host",
    "azure_storage_endpoint",
    "azure_msi_endpoint",
    "google_base_url",
];

/// The store at `location`, and the secrets that no message may show.
pub(super) fn connect<'v>(
    location: &Location,
    variables: impl IntoIterator<Item = (&'v str, &'v str)>,
    proxies: &Proxies,
) -> Result<(Arc<dyn ObjectStore>, Vec<String>), StateError> {
    let (prefix, hint) = match location.provider {
        Provider::S3 => ("AWS_", "check the variables AWS_… and the files that they name"),
        Provider::Google => ("GOOGLE_", "check the variables GOOGLE_… and the files that they name"),
        Provider::Azure => ("AZURE_", "check the variables AZURE_… and the files that they name"),
    };
    proxies.any().map_err(|error| StateError::new("reach", location.to_string(), error.to_string()))?;
    let connector = Connector(proxies.clone());
    let variables: Vec<(String, &str)> = variables
        .into_iter()
        .filter(|(name, _)| name.starts_with(prefix))
        .map(|(name, value)| (name.to_ascii_lowercase(), value))
        .collect();
    let retry = RetryConfig {
        backoff: BackoffConfig { max_backoff: Duration::from_secs(3), ..BackoffConfig::default() },
        max_retries: 5,
        retry_timeout: Duration::from_secs(20),
    };
    // The builders of the providers have the same functions but no common trait.
    macro_rules! built {
        ($builder:expr, $change:expr) => {{
            let mut builder = $builder;
            for (name, value) in &variables {
                let Ok(key) = name.parse() else { continue };
                let failed = |reason| StateError::new("reach", location.to_string(), reason).with_hint(hint);
                check(name, value).map_err(failed)?;
                builder = builder.with_config(key, *value);
            }
            let store = $change(builder).with_retry(retry).with_http_connector(connector).build();
            store.map(|store| Arc::new(store) as Arc<dyn ObjectStore>)
        }};
    }
    let store = match location.provider {
        Provider::S3 => built!(AmazonS3Builder::new(), |builder: AmazonS3Builder| {
            let endpoint = [AmazonS3ConfigKey::S3Endpoint, AmazonS3ConfigKey::Endpoint];
            let endpoint = endpoint.iter().find_map(|key| builder.get_config_value(key));
            // A server on this machine needs no certificate.
            let is_here = endpoint.is_some_and(|url| is_loopback(&url));
            let builder = if is_here { builder.with_allow_http(true) } else { builder };
            builder.with_bucket_name(&location.bucket)
        }),
        Provider::Google => built!(GoogleCloudStorageBuilder::new(), |builder: GoogleCloudStorageBuilder| {
            builder.with_bucket_name(&location.bucket)
        }),
        Provider::Azure => built!(MicrosoftAzureBuilder::new(), |builder: MicrosoftAzureBuilder| {
            let builder = match &location.account {
                Some(account) => builder.with_account(account),
                None => builder,
            };
            builder.with_container_name(&location.bucket)
        }),
    };
    let secrets: Vec<String> = variables
        .iter()
        .map(|(name, value)| (name, value.trim()))
        .filter(|(name, value)| value.len() >= SHORTEST && is_secret(name))
        .map(|(_, value)| value.to_owned())
        .collect();
    let failed = |error| StateError::of("reach", location.to_string(), &error, &secrets).with_hint(hint);
    let store = store.map_err(failed)?;
    Ok((store, secrets))
}

/// Whether the value of a variable is a secret itself, not an id or the path of a file with one.
fn is_secret(name: &str) -> bool {
    // `sig` is the parameter of a shared access signature.
    let is_named = || name == "sig" || SECRETS.iter().any(|word| name.contains(word));
    !name.ends_with("_id") && !name.ends_with("_file") && is_named()
}

/// Whether object_store can use the value of a variable: it panics if an address is not a URL or another value does not
/// fit in a header. The value may be a secret in the wrong place, so the error does not repeat it.
fn check(name: &str, value: &str) -> Result<(), String> {
    let shown = name.to_ascii_uppercase();
    // The value may become part of a URL, where a space makes object_store panic.
    let has_space = !is_secret(name) && !name.ends_with("user_agent") && value.contains(char::is_whitespace);
    let is_url = || reqwest::Url::parse(value).is_ok_and(|url| matches!(url.scheme(), "http" | "https"));
    // Google keys are whole documents, and `_file` variables are paths; all other values become part of a request.
    let is_sent = !name.starts_with("google_") && !name.ends_with("_file");
    if ENDPOINTS.contains(&name) && (has_space || !is_url()) {
        return Err(format!("{shown} is not a valid URL; write it as https://HOST or http://HOST:PORT"));
    }
    if is_sent && (has_space || http::HeaderValue::from_str(value).is_err()) {
        return Err(format!("{shown} has a space, a line break or another character that cannot be sent"));
    }
    check_file(name, value).map_err(|what| format!("{shown} names {what}"))
}

/// Whether the file that a variable names, if it names one, can be read and sent.
fn check_file(name: &str, value: &str) -> Result<(), String> {
    // Unlike other token files, its content is sent unchanged.
    let is_token = name == "aws_container_authorization_token_file";
    let is_file = name.ends_with("_file")
        || matches!(name, "google_application_credentials" | "google_service_account" | "google_service_account_path");
    let can_be_sent = || {
        let token = file::read_secret(Path::new(value), file::limit::TOKEN);
        token.map_or(true, |token| http::HeaderValue::from_bytes(&token).is_ok())
    };
    match std::fs::metadata(value) {
        _ if !is_file => Ok(()),
        Err(error) => {
            let path = Some(value).filter(|value| value.contains('/')).map(|value| format!("{value}: "));
            Err(format!("a file that cannot be read: {}{error}", path.unwrap_or_default()))
        }
        Ok(found) if found.is_dir() => Err("a directory".to_owned()),
        // A pipe can be read only once, so only regular files are checked.
        Ok(found) if is_token && found.is_file() && !can_be_sent() => {
            Err("a file with a line break or another character that cannot be sent".to_owned())
        }
        Ok(_) => Ok(()),
    }
}

fn is_loopback(url: &str) -> bool {
    reqwest::Url::parse(url).is_ok_and(|url| url.host_str().is_some_and(transport::is_loopback))
}

/// Makes the HTTP clients of a store: one for its objects, and one for a metadata service that provides credentials.
#[derive(Debug, Clone)]
struct Connector(Proxies);

impl HttpConnector for Connector {
    fn connect(&self, options: &ClientOptions) -> object_store::Result<HttpClient> {
        let allow_http = options.get_config_value(&ClientConfigKey::AllowHttp).as_deref() == Some("true");
        let failed = |reason: String| object_store::Error::Generic { store: "HTTP", source: reason.into() };
        // If plain HTTP is allowed, missing certificate authorities of the system are not an error.
        let roots = if allow_http { Roots::SystemIfAny } else { Roots::System };
        let tls = transport::configure(roots, &TlsTrust::default()).map_err(|error| match error {
            TlsError::Setup(reason) => failed(format!("TLS cannot be set up: {reason}")),
            other => failed(other.to_string()),
        })?;
        let client = transport::client(tls, self.0.clone(), CONNECT);
        let client = client.https_only(!allow_http).timeout(TOTAL).build();
        let proxies = self.0.clone();
        client
            .map(|client| HttpClient::new(Http { client, proxies }))
            .map_err(|error| failed(error.without_url().to_string()))
    }
}

#[derive(Debug)]
struct Http {
    client: reqwest::Client,
    proxies: Proxies,
}

#[async_trait]
impl HttpService for Http {
    async fn call(&self, request: HttpRequest) -> Result<HttpResponse, HttpError> {
        let (parts, body) = request.into_parts();
        let expected = root_of_answer(&parts);
        let url = parts.uri.to_string().parse();
        let asked: reqwest::Url =
            url.map_err(|_| HttpError::new(HttpErrorKind::Unknown, std::io::Error::other("not a URL")))?;
        let proxy = self.proxies.of(&asked).ok().flatten();
        let way = proxy.map(|proxy| format!("{PROXIED}{}", transport::name(&proxy)));
        let way = way.unwrap_or_else(|| format!("at {}", transport::name(&asked)));
        let is_post = parts.method == http::Method::POST;
        let mut sent = reqwest::Request::new(parts.method, asked.clone());
        let body = body.collect().await?.to_bytes();
        let credentials = credentials(&parts.headers, &asked, if is_post { &body } else { &[] });
        *sent.headers_mut() = parts.headers;
        *sent.body_mut() = Some(body.into());
        let answer = self.client.execute(sent).await.map_err(|error| failure(error, &way))?;
        let mut response = http::Response::builder().status(answer.status());
        if let Some(headers) = response.headers_mut() {
            *headers = answer.headers().clone();
        }
        let is_success = answer.status().is_success();
        let expected = expected.filter(|_| is_success);
        let longest = if is_success && expected.is_none() { LARGEST } else { LONGEST };
        let mut body = whole(answer, longest, &way).await?;
        if !is_success {
            let text = String::from_utf8_lossy(&body).into_owned();
            body = credentials.iter().fold(text, |text, secret| text.replace(secret, "…")).into();
        }
        let checked = match expected {
            Some(root) => check_document(root, &String::from_utf8_lossy(&body), &asked),
            None => check_credentials(&body),
        };
        let unexpected = |reason| HttpError::new(HttpErrorKind::Decode, std::io::Error::other(reason));
        checked.map_err(unexpected)?;
        if expected == Some("DeleteResult") && has_missing(&String::from_utf8_lossy(&body)).map_err(unexpected)? {
            body = Bytes::from_static(b"<DeleteResult><Deleted><Key>all</Key></Deleted></DeleteResult>");
        }
        response.body(body.into()).map_err(|error| HttpError::new(HttpErrorKind::Unknown, error))
    }
}

/// The body of an answer, which has at most `longest` bytes.
async fn whole(mut answer: reqwest::Response, longest: usize, way: &str) -> Result<Bytes, HttpError> {
    let length = answer.content_length().unwrap_or_default();
    let mut body = Vec::new();
    while let Some(bytes) = answer.chunk().await.map_err(|error| failure(error, way))? {
        if length > longest as u64 || body.len() + bytes.len() > longest {
            return Err(HttpError::new(HttpErrorKind::Decode, TooLong(longest)));
        }
        body.extend_from_slice(&bytes);
    }
    Ok(body.into())
}

/// The credentials in a request. They may come from a file or a service instead of a variable, and a server may repeat
/// them in an error that a message shows.
fn credentials(headers: &http::HeaderMap, asked: &reqwest::Url, form: &[u8]) -> Vec<String> {
    let of_headers = headers.iter().filter_map(|(name, value)| Some((name.as_str(), value.to_str().ok()?)));
    let of_headers =
        of_headers.map(|(name, value)| (name.to_owned(), value.rsplit(' ').next().unwrap_or(value).to_owned()));
    let form = String::from_utf8_lossy(form);
    let pairs = asked.query().into_iter().chain([&*form]).flat_map(|text| text.split('&'));
    // Both encoded, as sent, and decoded.
    let of_pairs = pairs.flat_map(|pair| {
        let sent = pair.split_once('=').map(|(name, value)| (name.to_owned(), value.to_owned()));
        form_urlencoded::parse(pair.as_bytes()).into_owned().chain(sent)
    });
    let all = of_headers.chain(of_pairs).filter(|(name, _)| is_secret(&name.to_ascii_lowercase()));
    all.map(|(_, value)| value.trim().to_owned()).filter(|value| value.len() >= SHORTEST).collect()
}

/// Refuses fetched credentials that do not fit in a header, because object_store would panic.
fn check_credentials(body: &[u8]) -> Result<(), String> {
    const LONGEST: usize = 64 * 1024;
    const NAMES: [&str; 3] = ["access_token", "AccessKeyId", "Token"];
    let is_short_object = body.len() <= LONGEST && body.trim_ascii_start().first() == Some(&b'{');
    let given: Option<serde_json::Map<_, _>> = is_short_object.then(|| serde_json::from_slice(body).ok()).flatten();
    let given = given.unwrap_or_default();
    let mut sent = NAMES.iter().filter_map(|name| given.get(*name)?.as_str());
    match sent.any(|value| http::HeaderValue::from_str(value).is_err()) {
        true => {
            Err("the credentials that it gives contain a line break or another character that cannot be sent"
                .to_owned())
        }
        false => Ok(()),
    }
}

/// The expected root element of the answer to a request; `None` if the answer is not such a document.
fn root_of_answer(request: &http::request::Parts) -> Option<&'static str> {
    let query = request.uri.query().unwrap_or_default();
    let asks = |part: &str| query.split('&').any(|one| one.strip_suffix('=').unwrap_or(one) == part);
    if request.method == http::Method::GET && asks("list-type=2") {
        Some("ListBucketResult")
    } else if request.method == http::Method::GET && asks("comp=list") {
        Some("EnumerationResults")
    } else if request.method == http::Method::POST && asks("delete") {
        Some("DeleteResult")
    } else {
        None
    }
}

/// Checks that a document is the requested one. object_store takes any XML for an empty list and a cut-off list for a
/// complete one, and it never stops if a page names itself as the next page.
fn check_document(root: &str, text: &str, asked: &reqwest::Url) -> Result<(), String> {
    let names =
        text.split('<').skip(1).map(|tag| tag.split([' ', '\t', '\r', '\n', '/', '>']).next().unwrap_or_default());
    let found = names.into_iter().find(|name| !name.starts_with(['?', '!'])).unwrap_or_default();
    if found.rsplit(':').next() != Some(root) {
        return Err(format!("the answer is not a `{root}`"));
    }
    let element = |name: &str| text.split_once(&format!("<{name}>"))?.1.split_once('<').map(|(inner, _)| inner.trim());
    // Azure sends an empty marker with the last page.
    let (next, begin) = match root {
        "EnumerationResults" => ("NextMarker", "marker"),
        _ => ("NextContinuationToken", "continuation-token"),
    };
    let next = element(next).unwrap_or_default();
    if element("IsTruncated") == Some("true") && next.is_empty() {
        return Err("the list is not whole, and the answer does not say how to read on".to_owned());
    }
    match asked.query_pairs().any(|(name, token)| name == begin && !next.is_empty() && token == next) {
        true => Err("the list does not end: its next page is the one that was read".to_owned()),
        false => Ok(()),
    }
}

/// Whether the answer to a delete of several objects reports missing ones; an error if it reports anything else.
/// object_store panics if an error names a key that was not requested, so such answers are replaced.
fn has_missing(text: &str) -> Result<bool, String> {
    let errors = text.split("<Error").skip(1);
    let part = |error: &str, name: &str| {
        let (_, opened) = error.split_once(&format!("<{name}"))?;
        Some(opened.split_once('>')?.1.split_once('<')?.0.trim().to_owned())
    };
    let mut others = errors.clone().filter(|error| part(error, "Code").as_deref() != Some("NoSuchKey"));
    match others.next() {
        None => Ok(errors.count() > 0),
        Some(error) => {
            let [code, message] = ["Code", "Message"].map(|name| part(error, name).unwrap_or_default());
            Err(format!("an object was not removed: {code} {message}"))
        }
    }
}

/// The error of a request without an answer; if there was no connection, `way` names its target or proxy.
fn failure(error: reqwest::Error, way: &str) -> HttpError {
    let error = error.without_url();
    let kind = if error.is_timeout() {
        HttpErrorKind::Timeout
    } else if error.is_connect() {
        HttpErrorKind::Connect
    } else if error.is_body() || error.is_decode() || error.is_request() {
        HttpErrorKind::Interrupted
    } else {
        HttpErrorKind::Unknown
    };
    let reason = transport::causes(&error).last().unwrap_or(&error).to_string();
    let reason = if kind == HttpErrorKind::Connect { format!("{reason} ({way})") } else { reason };
    HttpError::new(kind, std::io::Error::other(reason))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_is_one_only_in_its_own_words_and_to_its_end() {
        let url = |query: &str| format!("http://127.0.0.1/b?list-type=2{query}").parse().expect("a URL");
        let check = |text: &str| check_document("ListBucketResult", text, &url("&continuation-token=b%2F1%3D"));
        assert_eq!(
            check("<?xml version=\"1.0\"?>\n<ListBucketResult xmlns=\"x\"><KeyCount>0</KeyCount></ListBucketResult>"),
            Ok(())
        );
        assert_eq!(check("<ListBucketResult/>"), Ok(()));
        assert_eq!(check("<s3:ListBucketResult></s3:ListBucketResult>"), Ok(()));
        for text in [
            "",
            "{}",
            "<html><ListBucketResult/></html>",
            "<!DOCTYPE html><html></html>",
            "<Error><Code>x</Code></Error>",
        ] {
            check(text).expect_err(text);
        }
        let list = |rest: &str| format!("<ListBucketResult><IsTruncated>true</IsTruncated>{rest}</ListBucketResult>");
        assert_eq!(check(&list("<NextContinuationToken>a</NextContinuationToken>")), Ok(()));
        assert_eq!(check(&list("<NextContinuationToken>b/2=</NextContinuationToken>")), Ok(()));
        for rest in [
            "",
            "<NextContinuationToken></NextContinuationToken>",
            "<NextContinuationToken/>",
            "<NextContinuationToken>b/1=</NextContinuationToken>",
        ] {
            check(&list(rest)).expect_err(rest);
        }
        let check = |next: &str| {
            let url = "http://127.0.0.1/b?comp=list&marker=2%21a".parse().expect("a URL");
            check_document("EnumerationResults", &format!("<EnumerationResults>{next}</EnumerationResults>"), &url)
        };
        for next in ["<NextMarker />", "<NextMarker></NextMarker>", "<NextMarker>2!b</NextMarker>"] {
            assert_eq!(check(next), Ok(()), "{next}");
        }
        check("<NextMarker>2!a</NextMarker>").expect_err("its next page is the one that was read");
    }

    #[test]
    fn an_object_that_is_not_removed_is_an_error_whatever_its_key_is_called() {
        let error = |code: &str| format!("<Error><Key>/a</Key>{code}<Message>no</Message></Error>");
        let [missing, denied] =
            ["NoSuchKey", "AccessDenied"].map(|code| error(&format!("<Code x=\"y\">{code}</Code>")));
        let deleted = "<Deleted><Key>a</Key></Deleted>".to_owned();
        for (answer, has) in [(deleted.clone(), false), (missing.clone(), true), (deleted + &missing, true)] {
            assert_eq!(has_missing(&answer), Ok(has), "{answer}");
        }
        for answer in [denied.clone(), missing + &denied, error(""), error("<Code/>")] {
            has_missing(&answer).expect_err(&answer);
        }
    }

    #[tokio::test]
    async fn of_an_answer_no_more_is_read_than_it_may_have() {
        let endless = std::iter::repeat_with(|| Ok::<_, HttpError>(hyper::body::Frame::data(Bytes::from_static(b"x"))));
        let endless = http_body_util::StreamBody::new(futures_util::stream::iter(endless));
        for (body, is_read) in [
            (reqwest::Body::from(vec![b'x'; 1024]), true),
            (reqwest::Body::from(vec![b'x'; 1025]), false),
            (reqwest::Body::wrap(endless), false),
        ] {
            match whole(http::Response::new(body).into(), 1024, "").await {
                Ok(body) => assert!(is_read && body.len() == 1024),
                Err(error) => assert!(!is_read && format!("{error:?}").contains("TooLong(1024)"), "{error:?}"),
            }
        }
    }

    #[test]
    fn the_answer_is_a_list_only_where_one_was_asked_for() {
        for (method, query, root) in [
            ("GET", "list-type=2&prefix=a", Some("ListBucketResult")),
            ("GET", "restype=container&comp=list", Some("EnumerationResults")),
            ("POST", "delete", Some("DeleteResult")),
            ("POST", "delete=", Some("DeleteResult")),
            // Credentials, and single objects.
            ("POST", "", None),
            ("POST", "Action=AssumeRoleWithWebIdentity", None),
            ("GET", "", None),
            ("PUT", "comp=list", None),
            ("PUT", "delete", None),
        ] {
            let request = http::Request::builder().method(method).uri(format!("https://a.example/b?{query}"));
            let (parts, ()) = request.body(()).expect("a request").into_parts();
            assert_eq!(root_of_answer(&parts), root, "{method} {query}");
        }
    }

    #[test]
    fn no_message_shows_what_is_secret_and_every_one_what_is_not() {
        for name in [
            "aws_secret_access_key",
            "azure_storage_master_key",
            "aws_sse_customer_key_base64",
            "azure_storage_sas_token",
        ] {
            assert!(is_secret(name), "{name}");
        }
        for name in ["aws_access_key_id", "aws_web_identity_token_file", "aws_region", "google_service_account"] {
            assert!(!is_secret(name), "{name}");
        }
    }

    #[test]
    fn the_credentials_of_a_request_are_those_of_its_headers_its_query_and_its_form() {
        let mut headers = http::HeaderMap::new();
        for (name, value) in [
            ("authorization", "Bearer of-a-header"),
            ("x-amz-security-token", "of-a-session"),
            ("accept", "everything"),
        ] {
            headers.insert(name, http::HeaderValue::from_static(value));
        }
        let asked = "https://sts.example.net/?WebIdentityToken=of-a-query&sig=of-a-share&Action=AssumeRole"
            .parse()
            .expect("a URL");
        let form = b"client_assertion=of-a-file%0A&client_secret=a+secret%2B&grant_type=client_credentials";
        let mut found = credentials(&headers, &asked, form);
        found.sort();
        found.dedup();
        let expected = [
            "a secret+",
            "a+secret%2B",
            "of-a-file",
            "of-a-file%0A",
            "of-a-header",
            "of-a-query",
            "of-a-session",
            "of-a-share",
        ];
        assert_eq!(found, expected);
    }

    #[test]
    fn only_a_server_on_this_machine_may_have_plain_http() {
        for here in ["http://localhost:9000", "http://127.0.0.1", "http://127.9.9.9:1", "http://[::1]:9000/base"] {
            assert!(is_loopback(here), "{here}");
        }
        for other in
            ["http://127.example.net", "http://localhost.example.net", "http://10.0.0.1", "http://[::2]", "127.0.0.1"]
        {
            assert!(!is_loopback(other), "{other}");
        }
    }

    #[test]
    fn an_address_without_a_scheme_or_a_host_is_refused() {
        for good in ["http://127.0.0.1:9000", "https://s3.example.net/base"] {
            assert_eq!(check("aws_endpoint_url", good), Ok(()));
        }
        for bad in ["", "minio:9000", "minio", "http://", "ftp://minio", "https:///x y"] {
            let error = check("aws_endpoint_url", bad).expect_err(bad);
            assert!(error.starts_with("AWS_ENDPOINT_URL is not a valid URL"), "{error}");
        }
    }
}
