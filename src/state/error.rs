//! Why an object store did not answer as expected: one line without the query of a URL and without any of the given
//! secrets.

use std::io;

use object_store::Error;

use crate::model::neutral;
use crate::transport::causes;

/// The longest text of a server in a message.
const LONGEST: usize = 300;
/// The code of S3 if the time of a request differs too much from its own.
const WRONG_CLOCK: &str = "RequestTimeTooSkewed";
/// The text of Azure in the same case.
const WRONG_DATE: &str = "Request date header too old";

/// The hint if a bucket is in another region than the request says.
const REGION: &str = "set AWS_REGION to the region of the bucket";

/// The text in an error before the proxy that a request went through.
pub(super) const PROXIED: &str = "through the proxy ";

/// The hint for an error that contains these words.
const ADVICE: [(&str, &str); 5] = [
    (PROXIED, "check HTTPS_PROXY, ALL_PROXY and NO_PROXY"),
    ("AuthorizationHeaderMalformed", REGION),
    ("PermanentRedirect", REGION),
    ("redirect without LOCATION", REGION),
    ("URL scheme is not allowed", "give an endpoint with https://, or set AWS_ALLOW_HTTP=true (AZURE_ALLOW_HTTP=true)"),
];

/// An answer is longer than the limit.
#[derive(Debug, thiserror::Error)]
#[error("the answer has more than {0} bytes")]
pub(super) struct TooLong(pub(super) usize);

/// Why an object could not be read or written.
#[derive(Debug, Clone, thiserror::Error)]
#[error("cannot {what} `{place}`: {reason}")]
pub struct StateError {
    /// The failed action: "read", "write".
    what: &'static str,
    /// The address of the object.
    place: String,
    /// The reason, as a fragment.
    reason: String,
    /// The hint.
    hint: Option<&'static str>,
    /// Whether the store answered about this object only, so that other objects may still be readable.
    is_refusal: bool,
}

impl StateError {
    pub(super) fn new(what: &'static str, place: impl Into<String>, reason: impl Into<String>) -> Self {
        Self { what, place: place.into(), reason: reason.into(), hint: None, is_refusal: false }
    }

    pub(super) fn with_hint(self, hint: &'static str) -> Self {
        Self { hint: Some(hint), ..self }
    }

    /// The error from what the object store answered, or from why it did not answer.
    pub(super) fn of(what: &'static str, place: String, error: &Error, secrets: &[String]) -> Self {
        let lacks_credentials =
            ["169.254.169.254", "metadata.google.internal"].iter().any(|host| chain(error).contains(host));
        let (reason, hint) = match error {
            _ if lacks_credentials => (
                "there are no credentials: no variable gives any, and this machine's metadata service did not answer"
                    .to_owned(),
                Some(
                    "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, GOOGLE_APPLICATION_CREDENTIALS or AZURE_STORAGE_ACCOUNT_KEY",
                ),
            ),
            // Missing objects are handled before, so the bucket is missing. A list says that only in its text.
            error if matches!(error, Error::NotFound { .. }) || names_bucket(error) => {
                ("there is no such bucket".to_owned(), Some("create the bucket first; trueup creates none"))
            }
            error if refuses_credentials(error) => (
                explained("the credentials are not accepted", error),
                [WRONG_CLOCK, WRONG_DATE]
                    .iter()
                    .any(|words| chain(error).contains(words))
                    .then_some("set the clock of this machine")
                    .or(Some("check the variables that give the credentials, and the files that they name")),
            ),
            error if is_forbidden(error) => (
                explained("permission denied", error),
                Some("the page \"Keep the state in a bucket\" lists the permissions that trueup needs"),
            ),
            _ => {
                let reason = innermost(error);
                let hint = ADVICE.iter().find(|(words, _)| reason.contains(words)).map(|(_, hint)| *hint);
                (reason, hint)
            }
        };
        let is_refused = is_forbidden(error) && !refuses_credentials(error);
        let is_refusal = is_refused || causes(error).any(|cause| cause.downcast_ref::<TooLong>().is_some());
        Self { what, place, reason: masked(&reason, secrets), hint, is_refusal }
    }

    /// Whether the store answers but refuses this one object.
    pub fn is_refusal(&self) -> bool {
        self.is_refusal
    }

    /// What helps.
    pub fn hint(&self) -> Option<&'static str> {
        self.hint
    }
}

/// Whether the store refused the credentials: with 401, which a list reports only in its text, or with its own codes.
fn refuses_credentials(error: &Error) -> bool {
    const CODES: [&str; 6] = [
        "InvalidAccessKeyId",
        "SignatureDoesNotMatch",
        "AuthenticationFailed",
        "ExpiredToken",
        "InvalidToken",
        WRONG_CLOCK,
    ];
    let is_unauthenticated = chain(error).contains("status code: 401");
    matches!(error, Error::Unauthenticated { .. }) || is_unauthenticated || has_code(error, &CODES)
}

/// Whether the store answered with one of these codes.
fn has_code(error: &Error, codes: &[&str]) -> bool {
    let words = server_words(&chain(error)).unwrap_or_default();
    codes.iter().any(|code| words.starts_with(code))
}

/// Whether the store refused with 403, which a list reports only in its text.
fn is_forbidden(error: &Error) -> bool {
    matches!(error, Error::PermissionDenied { .. }) || chain(error).contains("status code: 403")
}

/// `what`, and the server's own words if there are any.
fn explained(what: &str, error: &Error) -> String {
    let text = chain(error);
    // An identity service answers in a format of its own.
    let said = || text.rsplit_once("401 Unauthorized: ").map(|(_, said)| said.to_owned());
    match server_words(&text).or_else(said) {
        Some(words) => format!("{what}: {words}"),
        None => what.to_owned(),
    }
}

/// Whether the store says that it does not implement the request.
pub(super) fn is_unsupported(error: &Error) -> bool {
    matches!(error, Error::NotImplemented { .. }) || chain(error).contains("status code: 501")
}

fn chain(error: &Error) -> String {
    causes(error).map(ToString::to_string).collect::<Vec<_>>().join(": ")
}

/// Code and message of an S3 or Azure error body.
fn server_words(text: &str) -> Option<String> {
    let element = |name: &str| {
        let (_, rest) = text.split_once(&format!("<{name}>"))?;
        rest.split_once(&format!("</{name}>")).map(|(inner, _)| inner.to_owned())
    };
    let code = element("Code")?;
    Some(match element("Message") {
        Some(message) => format!("{code}: {message}"),
        None => code,
    })
}

fn innermost(error: &Error) -> String {
    let words = || {
        // For an unreadable file, the system's error does not name the file, but the cause above it does.
        let is_of_system = |cause: &&(dyn std::error::Error + 'static)| {
            cause.downcast_ref().and_then(io::Error::raw_os_error).is_some()
        };
        let words = causes(error).filter(|cause| !is_of_system(cause)).last().unwrap_or(error).to_string();
        // The parser repeats what it found before these words, which may be a credential.
        let expected =
            words.rsplit_once(", expected ").map(|(_, expected)| format!("a document has not the expected {expected}"));
        expected.unwrap_or(words)
    };
    server_words(&chain(error)).unwrap_or_else(words)
}

/// `text` without queries of URLs and secrets, neutralised, and at most [`LONGEST`] long.
fn masked(text: &str, secrets: &[String]) -> String {
    // Neutralise first: otherwise a removed character could join two parts to a secret.
    let mut text = neutral(text, usize::MAX / 8);
    for secret in secrets {
        text = text.replace(secret.as_str(), "…");
    }
    let words = text.split(' ').map(|word| match word.split_once('?') {
        Some((before, _)) if before.contains("://") => format!("{before}?…"),
        _ => word.to_owned(),
    });
    neutral(&words.collect::<Vec<_>>().join(" "), LONGEST)
}

/// Whether the bucket is missing, by the texts of each provider.
pub(super) fn names_bucket(error: &(dyn std::error::Error + 'static)) -> bool {
    let words = ["NoSuchBucket", "ContainerNotFound", "bucket does not exist"];
    causes(error).any(|cause| words.iter().any(|word| cause.to_string().contains(word)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::is_unsafe;

    fn generic(text: &str) -> Error {
        Error::Generic { store: "S3", source: text.to_owned().into() }
    }

    #[test]
    fn what_a_store_does_not_have_is_said_with_a_status_or_by_object_store() {
        let status =
            |status: &str| is_unsupported(&generic(&format!("Server returned non-2xx status code: {status}: ")));
        assert!(status("501 Not Implemented") && !status("503 Service Unavailable") && !status("403 Forbidden"));
    }

    #[test]
    fn an_error_shows_neither_a_signature_nor_a_secret() {
        let secrets = ["wJalrXUtnFEMI".to_owned()];
        let text = "PUT https://b.example/a?X-Amz-Signature=0123 failed, key wJalrXUtnFEMI\u{1b}[2J";
        let shown = StateError::of("write", "s3://b/a".to_owned(), &generic(text), &secrets).to_string();
        assert_eq!(shown, "cannot write `s3://b/a`: PUT https://b.example/a?… failed, key … [2J");
        let long = StateError::of("read", String::new(), &generic(&"x".repeat(5000)), &[]).to_string();
        assert!(long.len() < 400, "{long}");
    }

    #[test]
    fn an_error_shows_nothing_of_a_document_that_has_another_form() {
        for text in [r#""a-part-of-it""#, r#""a-part-of-it, expected u16""#, r#"{"port": "a-part-of-it"}"#] {
            let source = serde_json::from_str::<std::collections::BTreeMap<String, u16>>(text).expect_err(text);
            let error = Error::Generic { store: "GCS", source: source.into() };
            let shown = StateError::of("reach", "gs://b/a".to_owned(), &error, &[]).to_string();
            assert!(!shown.contains("a-part-of-it"), "{shown}");
            assert!(
                shown.contains("a document has not the expected ") && shown.contains(" at line 1 column "),
                "{shown}"
            );
        }
    }

    #[test]
    fn an_error_shows_no_character_that_acts_on_a_terminal_and_no_secret_that_one_divides() {
        let acting: String = (0..=0xe0fff).filter_map(char::from_u32).filter(|c| is_unsafe(*c)).collect();
        let text = format!("wJalr\u{202e}XUtnFEMI and wJalrXUtnFEMI {}", acting.replace(' ', ""));
        for text in acting.chars().map(|c| format!("a{c}b")).chain([text]) {
            let shown =
                StateError::of("write", String::new(), &generic(&text), &["wJalrXUtnFEMI".to_owned()]).to_string();
            assert!(!shown.contains(is_unsafe) && !shown.contains("wJalrXUtnFEMI"), "{shown:?}");
        }
    }

    #[test]
    fn credentials_that_are_refused_and_a_wrong_clock_are_no_lack_of_permissions() {
        let error = |code: &str| {
            let source = format!("status code: 403: <Error><Code>{code}</Code><Message>No</Message></Error>").into();
            StateError::of("list", "s3://b/a".to_owned(), &Error::PermissionDenied { path: String::new(), source }, &[])
        };
        let permissions = error("AccessDenied");
        assert_eq!(permissions.to_string(), "cannot list `s3://b/a`: permission denied: AccessDenied: No");
        assert!(permissions.hint().is_some_and(|hint| hint.contains("permissions")));
        for code in ["SignatureDoesNotMatch", "InvalidAccessKeyId", "AuthenticationFailed"] {
            let shown = error(code);
            let expected = format!("cannot list `s3://b/a`: the credentials are not accepted: {code}: No");
            let hint = "check the variables that give the credentials, and the files that they name";
            assert_eq!((shown.to_string(), shown.hint()), (expected, Some(hint)));
        }
        let skewed = error("RequestTimeTooSkewed");
        assert_eq!(
            (skewed.hint(), skewed.to_string().contains("not accepted")),
            (Some("set the clock of this machine"), true)
        );
    }

    #[test]
    fn the_kind_of_an_error_is_enough_to_say_what_is_wrong_and_so_are_its_words() {
        let path = || "a".to_owned();
        for (error, reason, hint) in [
            (
                Error::NotFound { path: path(), source: "404".into() },
                "there is no such bucket",
                Some("create the bucket"),
            ),
            (generic("<Code>NoSuchBucket</Code>"), "there is no such bucket", Some("create the bucket")),
            (
                Error::Unauthenticated { path: path(), source: "401".into() },
                "the credentials are not accepted",
                Some("check the variables"),
            ),
            (Error::PermissionDenied { path: path(), source: "403".into() }, "permission denied", Some("the page")),
            (generic("status code: 403"), "permission denied", Some("the page")),
            (generic("status code: 401"), "the credentials are not accepted", Some("check the variables")),
            (
                generic("status code: 401 Unauthorized: the keys are expired"),
                "the credentials are not accepted: the keys are expired",
                Some("check the variables"),
            ),
            (
                generic("status code: 400: <Code>ExpiredToken</Code><Message>It has expired.</Message>"),
                "the credentials are not accepted: ExpiredToken: It has expired.",
                Some("check the variables"),
            ),
            (
                generic(
                    "status code: 400: <Code>AuthorizationHeaderMalformed</Code><Message>expecting 'eu-west-1'</Message>",
                ),
                "AuthorizationHeaderMalformed: expecting 'eu-west-1'",
                Some("set AWS_REGION"),
            ),
            (
                generic("Received redirect without LOCATION, this normally indicates an incorrectly configured region"),
                "Received redirect without LOCATION, this normally indicates an incorrectly configured region",
                Some("set AWS_REGION"),
            ),
            (
                generic("URL scheme is not allowed"),
                "URL scheme is not allowed",
                Some("give an endpoint with https://, or set AWS_ALLOW_HTTP=true"),
            ),
            (
                generic(
                    "status code: 403: <Code>AuthenticationFailed</Code><AuthenticationErrorDetail>Request date header too old: x</AuthenticationErrorDetail>",
                ),
                "the credentials are not accepted: AuthenticationFailed",
                Some("set the clock"),
            ),
        ] {
            let shown = StateError::of("write", "s3://b/a".to_owned(), &error, &[]);
            assert_eq!(shown.to_string(), format!("cannot write `s3://b/a`: {reason}"));
            assert!(
                shown.hint().map_or(hint.is_none(), |text| hint.is_some_and(|hint| text.starts_with(hint))),
                "{error}"
            );
        }
    }

    #[test]
    fn the_words_of_the_server_are_shown_without_its_xml() {
        let body = "status 503: <Error><Code>SlowDown</Code><Message>Reduce your rate</Message><RequestId>1</RequestId></Error>";
        let shown = StateError::of("write", "s3://b/a".to_owned(), &generic(body), &[]).to_string();
        assert_eq!(shown, "cannot write `s3://b/a`: SlowDown: Reduce your rate");
    }
}
