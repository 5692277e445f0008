//! The failures of requests, named by operation and object. Each failure shows whether the service may have acted on
//! the request: the applier decides by that, not by the status alone. Texts of the service are neutralised and cut, and
//! the token is removed, before they get here.

use std::fmt;
use std::time::Duration;

use super::operations::Operation;
use super::request::RequestError;

/// A failed request.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("cannot {} {subject}: {failure}", operation.entry().verb)]
pub struct ApiError {
    /// The requested operation.
    pub operation: Operation,
    /// The object of the request: "endpoint `shop/cart`".
    pub subject: String,
    /// What happened.
    pub failure: Failure,
    /// The `x-request-id` of the request, if it was sent.
    pub request_id: Option<String>,
}

/// What happened to a request.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum Failure {
    /// An answer with a status that is not a success.
    #[error("{0}")]
    Status(Box<ErrorStatus>),
    /// An HTML page with a success status (API.md 2.1: the base URL does not lead to the API).
    #[error("the service answered with an HTML page; the base URL is probably wrong")]
    Html,
    /// A success status with a body that is not the expected JSON.
    #[error("the answer cannot be read: {0}")]
    NotJson(String),
    /// A success status, but not the answer that the operation promises: another status, an error in the body, or
    /// another object.
    #[error("the service answered {0}, which is not the answer to this operation")]
    Odd(String),
    /// A body that arrives too slowly.
    #[error("the answer is too slow: {bytes} bytes in {} seconds", after.as_secs())]
    TooSlow {
        /// The bytes that arrived.
        bytes: usize,
        /// The time in which they arrived.
        after: Duration,
    },
    /// A body longer than the limit, after decompression.
    #[error("the answer is longer than the allowed {0} bytes")]
    TooLarge(usize),
    /// The answer, or a part of it, did not arrive in time.
    #[error("no answer within {} seconds", .0.as_secs_f64())]
    TimedOut(Duration),
    /// No connection; nothing was sent.
    #[error("no connection: {0}")]
    Connect(String),
    /// TLS failed: the certificate is not trusted, or there is no common protocol; nothing was sent.
    #[error("no safe connection: {0}")]
    Tls(String),
    /// The connection ended before the whole answer had arrived.
    #[error("the connection was cut: {0}")]
    Cut(String),
    /// The service ended the connection because it got no client certificate that it accepts.
    #[error("the connection was cut: {0}")]
    ClientCertificate(&'static str),
    /// A redirect. It is never followed, because the token would be sent along.
    #[error(
        "the service answered {status} and points to {target}; a redirect is never followed, so set the base URL to where the service is"
    )]
    Redirected {
        /// The status.
        status: u16,
        /// The target, neutralised and only its host.
        target: String,
    },
    /// The body contains the token, so nothing of it may reach a plan or a file.
    #[error("the answer repeats the API token; nothing was read from it")]
    Echo,
    /// The request could not be built.
    #[error("{0}")]
    NotBuilt(String),
    /// Its clearance was refused just before it was sent; nothing was sent.
    #[error("it was not sent")]
    NotCleared,
}

/// An answer with a status that is not a success.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ErrorStatus {
    /// The HTTP status.
    pub status: u16,
    /// The gRPC code of the body, if the body is that of the service (API.md 2.1).
    pub code: Option<i64>,
    /// The `message` of the body, or the beginning of a body that is not JSON.
    pub message: String,
    /// The `details` of the body as one text.
    pub details: String,
    /// The wait that `Retry-After` asks for.
    pub retry_after: Option<Duration>,
    /// Whether the body is HTML: then it comes from something in between, such as a gateway.
    pub html: bool,
}

/// What is certain about the effect of a failed request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Certainty {
    /// It never reached the service.
    NotSent,
    /// The service refused it: it took no effect.
    Refused,
    /// It may have taken effect.
    Unknown,
}

/// The beginning of the message that means a wrong URL, not an absent object (API.md 2.1).
const NO_API_GROUP: &str = "API Group could not be determined";
/// The gRPC code for a missing object.
const NOT_FOUND: i64 = 5;
/// The gRPC code for what the service cannot do now.
const UNAVAILABLE: i64 = 14;
/// The end of the message about a zone whose previous change is still in progress.
const PENDING_CHANGE: &str = "DNS zone change is pending";

impl ApiError {
    /// The failure of a request that could not be built.
    pub(super) fn unbuilt(operation: Operation, subject: impl Into<String>, error: &RequestError) -> Self {
        let failure = Failure::NotBuilt(error.to_string());
        Self { operation, subject: subject.into(), failure, request_id: None }
    }

    /// Whether the request may have taken effect.
    pub fn certainty(&self) -> Certainty {
        self.failure.certainty()
    }

    /// Whether the service reported that the object does not exist. A 404 that is not about the object (a wrong URL, a
    /// page of something in between) does not count.
    pub fn is_absent(&self) -> bool {
        match &self.failure {
            Failure::Status(refusal) => {
                refusal.status == 404 && refusal.code == Some(NOT_FOUND) && !refusal.message.contains(NO_API_GROUP)
            }
            _ => false,
        }
    }

    /// Whether the service reported that it does not know the operation or its path. A page of something in between
    /// does not count.
    pub fn is_unknown_to_service(&self) -> bool {
        match &self.failure {
            Failure::Status(refusal) => match refusal.status {
                404 => refusal.code == Some(NOT_FOUND) || refusal.message.contains(NO_API_GROUP),
                status => status == 501,
            },
            _ => false,
        }
    }

    /// The HTTP status of an answer that was not a success.
    pub fn status(&self) -> Option<u16> {
        match &self.failure {
            Failure::Status(refusal) => Some(refusal.status),
            Failure::Redirected { status, .. } => Some(*status),
            _ => None,
        }
    }
}

impl Failure {
    /// What happened, in one word.
    pub(super) fn word(&self) -> &'static str {
        match self {
            Failure::Status(_) => "status",
            Failure::Html | Failure::NotJson(_) | Failure::Odd(_) => "unusable_answer",
            Failure::TooSlow { .. } | Failure::TimedOut(_) => "timed_out",
            Failure::TooLarge(_) => "too_large",
            Failure::Connect(_) => "no_connection",
            Failure::Tls(_) => "tls",
            Failure::Cut(_) | Failure::ClientCertificate(_) => "cut",
            Failure::Redirected { .. } => "redirected",
            Failure::Echo => "token_repeated",
            Failure::NotBuilt(_) => "not_built",
            Failure::NotCleared => "not_cleared",
        }
    }

    /// Whether the service refuses the request only for now: by its rate limit (429), or because of a previous change.
    pub(super) fn is_for_now(&self) -> bool {
        matches!(self, Failure::Status(refusal) if refusal.status == 429 || refusal.is_pending())
    }

    /// What happened, in a few words.
    pub(super) fn brief(&self) -> String {
        match self {
            Failure::Status(refusal) => refusal.named(),
            Failure::Connect(_) => "no connection".to_owned(),
            Failure::Cut(_) | Failure::ClientCertificate(_) => "the connection was cut".to_owned(),
            other => other.to_string(),
        }
    }

    /// Whether a request with this failure may have taken effect.
    pub fn certainty(&self) -> Certainty {
        match self {
            Failure::Connect(_) | Failure::Tls(_) | Failure::NotBuilt(_) | Failure::NotCleared => Certainty::NotSent,
            // 302 and 303 may point to the result of a request that was carried out.
            Failure::Redirected { status: 301 | 307 | 308, .. } => Certainty::Refused,
            Failure::Status(refusal) => match refusal.status {
                // 408: the service may have read the whole request before it gave up.
                408 => Certainty::Unknown,
                400..=499 | 501 => Certainty::Refused,
                _ if refusal.is_pending() => Certainty::Refused,
                _ => Certainty::Unknown,
            },
            Failure::Html
            | Failure::NotJson(_)
            | Failure::Odd(_)
            | Failure::TooSlow { .. }
            | Failure::TooLarge(_)
            | Failure::TimedOut(_)
            | Failure::Cut(_)
            | Failure::ClientCertificate(_)
            | Failure::Redirected { .. }
            | Failure::Echo => Certainty::Unknown,
        }
    }
}

impl ErrorStatus {
    /// Whether a previous change is still in progress.
    fn is_pending(&self) -> bool {
        self.status == 503 && self.code == Some(UNAVAILABLE) && self.message.contains(PENDING_CHANGE)
    }

    /// The status with its name: `429 Too Many Requests`.
    fn named(&self) -> String {
        let name = http::StatusCode::from_u16(self.status).ok().and_then(|status| status.canonical_reason());
        name.map_or_else(|| self.status.to_string(), |name| format!("{} {name}", self.status))
    }
}

impl fmt::Display for ErrorStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the service answered {}", self.named())?;
        if !self.message.is_empty() {
            write!(f, ": {}", self.message)?;
        }
        if !self.details.is_empty() {
            write!(f, " ({})", self.details)?;
        }
        let advice = match self.status {
            401 => "; check the API token",
            403 => "; the token's user lacks a role for this",
            404 if self.html || self.message.contains(NO_API_GROUP) => {
                "; the base URL or the path layout is probably wrong"
            }
            429 => "; a rate limit or a quota",
            _ => "",
        };
        f.write_str(advice)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn failed(failure: Failure) -> ApiError {
        ApiError {
            operation: Operation::ObjectGet,
            subject: "endpoint `shop/cart`".to_owned(),
            failure,
            request_id: None,
        }
    }

    fn refusal(status: u16, code: Option<i64>, message: &str) -> Failure {
        let message = message.to_owned();
        Failure::Status(Box::new(ErrorStatus { status, code, message, ..ErrorStatus::default() }))
    }

    #[test]
    fn only_a_404_about_the_object_means_absent() {
        let absent = |status, code, message| failed(refusal(status, code, message)).is_absent();
        assert!(absent(404, Some(5), "no endpoint shop/cart"));
        assert!(!absent(404, Some(5), "API Group could not be determined for Method: GET Path: /x"));
        assert!(!absent(404, None, "no Route matched"));
        assert!(!absent(410, Some(5), ""));
        assert!(!failed(Failure::Html).is_absent());
    }

    #[test]
    fn what_may_have_taken_effect_is_never_called_refused() {
        let of = |failure: Failure| failure.certainty();
        for status in [500, 502, 503, 504, 408, 599, 302] {
            assert_eq!(of(refusal(status, None, "")), Certainty::Unknown, "{status}");
        }
        for status in [400, 401, 403, 404, 409, 422, 429, 501] {
            assert_eq!(of(refusal(status, None, "")), Certainty::Refused, "{status}");
        }
        let pending = "Previous DNS zone change is pending";
        assert_eq!(of(refusal(503, Some(14), pending)), Certainty::Refused);
        for (code, message) in [(Some(14), "unavailable temporarily"), (Some(13), pending), (None, pending)] {
            assert_eq!(of(refusal(503, code, message)), Certainty::Unknown, "{code:?} {message}");
        }
        assert_eq!(of(Failure::Cut(String::new())), Certainty::Unknown);
        assert_eq!(of(Failure::TimedOut(Duration::from_secs(1))), Certainty::Unknown);
        assert_eq!(of(Failure::Connect(String::new())), Certainty::NotSent);
        assert_eq!(of(Failure::Tls(String::new())), Certainty::NotSent);
    }

    #[test]
    fn a_message_names_the_operation_the_object_and_what_to_do() {
        assert_eq!(
            failed(refusal(403, None, "")).to_string(),
            "cannot read endpoint `shop/cart`: the service answered 403 Forbidden; the token's user lacks a role for this"
        );
        assert_eq!(
            failed(refusal(409, Some(6), "Another object with that name already exists")).to_string(),
            "cannot read endpoint `shop/cart`: the service answered 409 Conflict: Another object with that name already \
             exists"
        );
        assert_eq!(
            failed(Failure::Html).to_string(),
            "cannot read endpoint `shop/cart`: the service answered with an HTML page; the base URL is probably wrong"
        );
    }
}
