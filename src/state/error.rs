//! Why an object store did not answer as expected: one line without a URL's query, and with nothing that was handed in
//! as a secret.

use std::error::Error as _;

use object_store::Error;

/// The longest text of a server that is shown.
const LONGEST: usize = 300;

/// Why an object could not be read or written.
#[derive(Debug, Clone, thiserror::Error)]
#[error("cannot {what} `{place}`: {reason}")]
pub struct StateError {
    /// What was tried: "read", "write".
    what: &'static str,
    /// The address of the object.
    place: String,
    /// Why, as a fragment.
    reason: String,
    /// What helps.
    hint: Option<&'static str>,
}

impl StateError {
    pub(super) fn new(what: &'static str, place: impl Into<String>, reason: impl Into<String>) -> Self {
        Self { what, place: place.into(), reason: reason.into(), hint: None }
    }

    /// What the object store answered, or why it did not.
    pub(super) fn of(what: &'static str, place: String, error: &Error, secrets: &[String]) -> Self {
        let (reason, hint) = match error {
            // A missing object is an answer and no error; a list says it in words only.
            error if matches!(error, Error::NotFound { .. }) || names_bucket(error) => {
                ("there is no such bucket".to_owned(), Some("create the bucket first; trueup creates none"))
            }
            Error::PermissionDenied { .. } => (
                explained("permission denied", error),
                Some("the page \"Keep the state in a bucket\" lists the permissions that trueup needs"),
            ),
            Error::Unauthenticated { .. } => (explained("the credentials are not accepted", error), None),
            _ => (innermost(error), None),
        };
        let lacks_credentials =
            ["169.254.169.254", "metadata.google.internal"].iter().any(|host| chain(error).contains(host));
        let (reason, hint) = match lacks_credentials {
            true => (
                "there are no credentials: no variable gives any, and this machine's metadata service did not answer"
                    .to_owned(),
                Some(
                    "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, GOOGLE_APPLICATION_CREDENTIALS or AZURE_STORAGE_ACCOUNT_KEY",
                ),
            ),
            false => (reason, hint),
        };
        Self { what, place, reason: masked(&reason, secrets), hint }
    }

    /// What helps.
    #[must_use]
    pub fn hint(&self) -> Option<&'static str> {
        self.hint
    }
}

/// `what`, and the server's own words where it gives any.
fn explained(what: &str, error: &Error) -> String {
    match server_words(&chain(error)) {
        Some(words) => format!("{what}: {words}"),
        None => what.to_owned(),
    }
}

fn chain(error: &Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(error) = source {
        text.push_str(": ");
        text.push_str(&error.to_string());
        source = error.source();
    }
    text
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
    let whole = chain(error);
    if let Some(words) = server_words(&whole) {
        return words;
    }
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(error) = source {
        text = error.to_string();
        source = error.source();
    }
    text
}

/// Without queries of URLs, control characters and secrets, and not longer than [`LONGEST`].
fn masked(text: &str, secrets: &[String]) -> String {
    let mut text = text.to_owned();
    for secret in secrets {
        text = text.replace(secret.as_str(), "…");
    }
    let words = text.split_whitespace().map(|word| match word.split_once('?') {
        Some((before, _)) if before.contains("://") => format!("{before}?…"),
        _ => word.to_owned(),
    });
    let line: String = words.collect::<Vec<_>>().join(" ").chars().filter(|c| !c.is_control()).collect();
    match line.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line,
    }
}

/// Whether it is the bucket that is missing, in the words of each provider.
pub(super) fn names_bucket(error: &(dyn std::error::Error + 'static)) -> bool {
    let words = ["NoSuchBucket", "ContainerNotFound", "bucket does not exist"];
    let mut next = Some(error);
    while let Some(error) = next {
        let text = error.to_string();
        if words.iter().any(|word| text.contains(word)) {
            return true;
        }
        next = error.source();
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    fn generic(text: &str) -> Error {
        Error::Generic { store: "S3", source: text.to_owned().into() }
    }

    #[test]
    fn an_error_shows_neither_a_signature_nor_a_secret() {
        let secrets = ["wJalrXUtnFEMI".to_owned()];
        let text = "PUT https://b.example/a?X-Amz-Signature=0123 failed, key wJalrXUtnFEMI\u{1b}[2J";
        let shown = StateError::of("write", "s3://b/a".to_owned(), &generic(text), &secrets).to_string();
        assert_eq!(shown, "cannot write `s3://b/a`: PUT https://b.example/a?… failed, key …[2J");
        let long = StateError::of("read", String::new(), &generic(&"x".repeat(5000)), &[]).to_string();
        assert!(long.len() < 400, "{long}");
    }

    #[test]
    fn the_words_of_the_server_are_shown_without_its_xml() {
        let body = "status 503: <Error><Code>SlowDown</Code><Message>Reduce your rate</Message><RequestId>1</RequestId></Error>";
        let shown = StateError::of("write", "s3://b/a".to_owned(), &generic(body), &[]).to_string();
        assert_eq!(shown, "cannot write `s3://b/a`: SlowDown: Reduce your rate");
    }
}
