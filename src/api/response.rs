//! Turns status, headers and body into an answer or a failure. Pure: the client reads the bytes, this file decides what
//! they mean.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::time::Duration;

use bytes::Bytes;
use http::header::{CONTENT_TYPE, DATE, LOCATION, RETRY_AFTER};
use http::{HeaderMap, HeaderValue, StatusCode};
use jiff::Timestamp;
use serde::Deserialize;
use serde::de::IgnoredAny;

use crate::model::{Json, Key, neutral};

use super::error::{ErrorStatus, Failure};
use super::operations::Operation;
use super::request::Request;
use super::secret::Secret;
use super::sent_secrets::SentSecrets;

/// How many characters of a service's message are kept.
const LONGEST_MESSAGE: usize = 600;
/// How many characters of all its details together are kept.
const LONGEST_DETAILS: usize = 400;

/// A whole answer with a success status.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Response {
    /// The status, 200 to 299.
    pub status: u16,
    /// The body as it arrived, without the token.
    pub body: Bytes,
}

#[derive(Deserialize)]
struct ErrorBody {
    code: Option<Json>,
    message: Option<Json>,
    details: Option<Json>,
}

/// The meaning of the service's answer to a request.
///
/// # Errors
/// The [`Failure`] for an error status, an HTML page, a repeated token or an incomplete answer to a read.
pub fn judge(
    request: &Request,
    status: StatusCode,
    headers: &HeaderMap,
    body: Bytes,
    secret: Option<&Secret>,
) -> Result<Response, Failure> {
    if status.is_success() {
        if is_html(headers, &body) {
            return Err(Failure::Html);
        }
        // Content of objects is written back by a replace and saved in plans, where a mask would change it, so it fails
        // instead. Content that is only shown is masked.
        let kept = matches!(request.operation, Operation::ObjectGet | Operation::ObjectList | Operation::DdosShow);
        let body = match secret {
            // A list may be long, so it is searched only once.
            Some(secret) if kept && secret.appears_in(&body) => return Err(Failure::Echo),
            Some(secret) if !kept => secret.scrub_bytes(body),
            _ => body,
        };
        let answer = Response { status: status.as_u16(), body };
        return if request.operation.entry().changes() { Ok(answer) } else { answer.whole() };
    }
    if status.is_redirection()
        && let Some(target) = headers.get(LOCATION)
    {
        let target = neutral(&String::from_utf8_lossy(target.as_bytes()), 300);
        let target = place(&masked(&target, secret));
        return Err(Failure::Redirected { status: status.as_u16(), target });
    }
    Err(Failure::Status(Box::new(refusal(request, status, headers, &body, secret))))
}

impl Response {
    /// The body as JSON.
    ///
    /// # Errors
    /// [`Failure::NotJson`].
    pub fn json<'body, T: Deserialize<'body>>(&'body self) -> Result<T, Failure> {
        serde_json::from_slice(&self.body).map_err(|error| Failure::NotJson(neutral(&error.to_string(), 200)))
    }

    /// The answer to a read, if it is whole: a 203 or a 206 is not the service's own whole answer, and a 202 or a 204
    /// has no content.
    ///
    /// # Errors
    /// [`Failure::Odd`] and [`Failure::NotJson`].
    fn whole(self) -> Result<Self, Failure> {
        match self.status {
            200 => self.no_array().map(|()| self),
            status => Err(Failure::Odd(format!("with the status {status}"))),
        }
    }

    /// Every answer must be an object. The parser would accept an array as the fields of one, in their order.
    fn no_array(&self) -> Result<(), Failure> {
        match self.body.trim_ascii_start().first() {
            Some(b'[') => Err(Failure::NotJson("it is an array".to_owned())),
            _ => Ok(()),
        }
    }

    /// Checks that the answer is the one that a write promises (API.md 1.5 to 1.7): for a create the object with its
    /// uid, for a replace `{}` or the object, for a delete `{}`.
    ///
    /// # Errors
    /// [`Failure::Odd`] and [`Failure::NotJson`]: it is unknown whether the write took effect.
    pub fn acknowledges(&self, operation: Operation, key: Option<&Key>) -> Result<(), Failure> {
        let odd = |reason: &str| Err(Failure::Odd(reason.to_owned()));
        // Some gateways answer a create with 201.
        let is_create = operation == Operation::ObjectCreate;
        if self.status != 200 && !(is_create && self.status == 201) {
            return odd(&format!("with the status {}", self.status));
        }
        // The usual answer to everything except a create.
        if !is_create && self.body.as_ref() == b"{}" {
            return Ok(());
        }
        self.no_array()?;
        if std::str::from_utf8(&self.body).is_err() {
            return Err(Failure::NotJson("it is not UTF-8".to_owned()));
        }
        // The parser's message repeats a value of an unexpected type, which may be a secret that was sent.
        let written: WriteAnswer = serde_json::from_slice(&self.body).map_err(|error| {
            Failure::NotJson(if error.is_data() {
                "its format is unexpected".to_owned()
            } else {
                neutral(&error.to_string(), 200)
            })
        })?;
        if written.code.is_some() || written.message.is_some() {
            return odd("with an error in the body");
        }
        let Some(key) = key else { return Ok(()) };
        let is_about =
            |metadata: &Named| metadata.namespace == key.namespace.as_str() && metadata.name == key.name.as_str();
        match (operation, &written.metadata) {
            (_, Some(metadata)) if !is_about(metadata) => odd("with another object"),
            (Operation::ObjectReplace, Some(_)) => Ok(()),
            (Operation::ObjectCreate, Some(_)) => {
                let uid = written.system_metadata.and_then(|system| system.uid).unwrap_or_default();
                if uid.is_empty() { odd("without the uid of the object") } else { Ok(()) }
            }
            (Operation::ObjectCreate, None) => odd("without the object"),
            // `{}` with white space.
            _ if self.json::<BTreeMap<Cow<'_, str>, IgnoredAny>>()?.is_empty() => Ok(()),
            _ => odd("with something else"),
        }
    }
}

/// The parts of an answer to a write that are checked.
#[derive(Deserialize)]
struct WriteAnswer<'a> {
    #[serde(default, borrow)]
    metadata: Option<Named<'a>>,
    system_metadata: Option<Identified>,
    code: Option<IgnoredAny>,
    message: Option<IgnoredAny>,
}

#[derive(Deserialize)]
struct Named<'a> {
    #[serde(default, borrow)]
    name: Cow<'a, str>,
    #[serde(default, borrow)]
    namespace: Cow<'a, str>,
}

#[derive(Deserialize)]
struct Identified {
    uid: Option<String>,
}

/// The host of a redirect's target. Path and query are left out: those of a login page may contain a secret.
fn place(target: &str) -> String {
    match reqwest::Url::parse(target) {
        Ok(url) => format!("`{}`", url.host_str().unwrap_or_default()),
        Err(_) => "another path".to_owned(),
    }
}

fn is_html(headers: &HeaderMap, body: &[u8]) -> bool {
    let kind = headers.get(CONTENT_TYPE).map_or(&[][..], |value| value.as_bytes().trim_ascii_start());
    let is_typed = kind.get(..9).is_some_and(|kind| kind.eq_ignore_ascii_case(b"text/html"));
    is_typed || body.trim_ascii_start().first() == Some(&b'<')
}

fn refusal(
    request: &Request,
    status: StatusCode,
    headers: &HeaderMap,
    body: &[u8],
    secret: Option<&Secret>,
) -> ErrorStatus {
    let sent = SentSecrets::of(request);
    let clean = |text: &str, longest| neutral(&sent.scrub(masked(text, secret)), longest);
    let html = is_html(headers, body);
    let (status, retry_after) = (status.as_u16(), retry_after(headers));
    let mut refusal = ErrorStatus { status, retry_after, html, ..ErrorStatus::default() };
    if html {
        refusal.message = "an HTML page".to_owned();
    } else if let Ok(parsed) = serde_json::from_slice::<ErrorBody>(body) {
        refusal.code = parsed.code.and_then(|code| code.as_i64().or_else(|| code.as_str()?.parse().ok()));
        refusal.message = parsed.message.map(|message| clean(&text_of(&message), LONGEST_MESSAGE)).unwrap_or_default();
        refusal.details =
            parsed.details.map(|details| clean(&details_text(&details), LONGEST_DETAILS)).unwrap_or_default();
    } else {
        refusal.message = clean(&String::from_utf8_lossy(body), LONGEST_MESSAGE);
    }
    refusal
}

/// A text without the token. It is masked after neutralising, which could join the parts of a token, and before
/// cutting, which could leave half of one.
pub(super) fn masked(text: &str, secret: Option<&Secret>) -> String {
    let text = neutral(text, usize::MAX / 8);
    secret.map_or_else(|| text.clone(), |secret| secret.scrub(&text))
}

fn text_of(value: &Json) -> String {
    match value {
        Json::String(text) => text.clone(),
        Json::Null => String::new(),
        other => other.to_string(),
    }
}

/// `details` as one text. An entry is `{type_url, value}`; its value is an encoded message, of which the readable part
/// is kept (API.md 2.1).
fn details_text(details: &Json) -> String {
    let Json::Array(entries) = details else { return String::new() };
    let texts = entries.iter().map(|entry| match entry.get("value") {
        Some(value) => text_of(value),
        None => text_of(entry),
    });
    texts.collect::<Vec<_>>().join("; ")
}

/// `Retry-After` in seconds, or as a date relative to the answer's own `Date`.
fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let text = headers.get(RETRY_AFTER)?.to_str().ok()?.trim();
    if let Ok(seconds) = text.parse::<u64>() {
        return Some(Duration::from_secs(seconds));
    }
    let (until, now) = (http_date(text)?, read_date(headers.get(DATE)?)?);
    u64::try_from(until.as_second() - now.as_second()).ok().map(Duration::from_secs)
}

/// The time of a `Date` header.
pub(super) fn read_date(value: &HeaderValue) -> Option<Timestamp> {
    http_date(value.to_str().ok()?)
}

fn http_date(text: &str) -> Option<Timestamp> {
    jiff::fmt::rfc2822::parse(text).ok().map(|zoned| zoned.timestamp())
}

#[cfg(test)]
mod tests {
    use super::*;

    const CART: &str = r#"{"metadata":{"name":"cart","namespace":"shop"},"system_metadata":{"uid":"u"},"spec":{}}"#;

    fn acknowledged(operation: Operation, status: u16, body: &'static str) -> bool {
        let key = Key::parse("shop/cart").expect("a key");
        Response { status, body: body.into() }.acknowledges(operation, Some(&key)).is_ok()
    }

    #[test]
    fn a_write_is_acknowledged_only_by_the_answer_that_it_promises() {
        let (create, replace, delete) = (Operation::ObjectCreate, Operation::ObjectReplace, Operation::ObjectDelete);
        let good = [
            (create, 200, CART),
            (create, 201, CART),
            (replace, 200, "{}"),
            (replace, 200, " {} \n"),
            (replace, 200, CART),
            (delete, 200, "{}"),
            (delete, 200, "{ }"),
        ];
        for (operation, status, body) in good {
            assert!(acknowledged(operation, status, body), "{operation} {status} {body}");
        }
        let other = r#"{"metadata":{"name":"other","namespace":"shop"},"system_metadata":{"uid":"u"}}"#;
        let no_uid = r#"{"metadata":{"name":"cart","namespace":"shop"},"system_metadata":{"uid":""}}"#;
        let error = r#"{"code":13,"message":"internal","details":[]}"#;
        let half = r#"{"message":"no"}"#;
        for operation in [create, replace, delete] {
            for body in ["", "OK", "{", "[{}]", "null", "\"{}\"", r#"{"metadata":{"na"#, other, error, half] {
                assert!(!acknowledged(operation, 200, body), "{operation} {body}");
            }
            for status in [202, 203, 204, 206, 226] {
                assert!(!acknowledged(operation, status, CART), "{operation} {status}");
                assert!(!acknowledged(operation, status, "{}"), "{operation} {status}");
            }
        }
        assert!(!acknowledged(create, 200, "{}"));
        assert!(!acknowledged(create, 200, no_uid));
        assert!(!acknowledged(replace, 201, "{}"));
        assert!(!acknowledged(delete, 200, CART));
        assert!(!acknowledged(replace, 200, r#"{"ok":true}"#));
        for body in [&b"[]"[..], b"{\"a\":\"\xff\"}"] {
            assert!(Response { status: 200, body: body.into() }.acknowledges(Operation::DdosEdit, None).is_err());
        }
    }

    fn request(operation: Operation) -> Request {
        let namespace = [("namespace", "shop"), ("name", "cart")];
        let parameters = if operation == Operation::ObjectGet { &namespace[..] } else { &namespace[..1] };
        let body = operation.eq(&Operation::SecurityEvents).then(|| serde_json::json!({}));
        Request::build(operation, crate::model::Layout::Uniform, parameters, body.as_ref()).expect("a request")
    }

    fn secret() -> Secret {
        Secret::new("tok-en1234567890").expect("a token")
    }

    fn headers(pairs: &[(http::HeaderName, &'static str)]) -> HeaderMap {
        pairs.iter().map(|(name, value)| (name.clone(), HeaderValue::from_static(value))).collect()
    }

    fn answer(
        status: u16,
        pairs: &[(http::HeaderName, &'static str)],
        body: &'static str,
    ) -> Result<Response, Failure> {
        let status = StatusCode::from_u16(status).expect("a status");
        judge(
            &request(Operation::ObjectGet),
            status,
            &headers(pairs),
            Bytes::from_static(body.as_bytes()),
            Some(&secret()),
        )
    }

    fn refused(status: u16, pairs: &[(http::HeaderName, &'static str)], body: &'static str) -> ErrorStatus {
        match answer(status, pairs, body) {
            Err(Failure::Status(refusal)) => *refusal,
            other => panic!("no refusal: {other:?}"),
        }
    }

    #[test]
    fn an_error_body_becomes_readable() {
        let refusal = refused(
            409,
            &[],
            "{\"code\":6,\"details\":[{\"type_url\":\"t\",\"value\":\"\\n\\u0002… CreateResource: Failed transaction\"}],\
             \"message\":\"Another object with that name already exists\"}",
        );
        assert_eq!(refusal.code, Some(6));
        assert_eq!(
            refusal.to_string(),
            "the service answered 409 Conflict: Another object with that name already exists (… CreateResource: Failed \
             transaction)"
        );
    }

    #[test]
    fn the_token_is_masked_even_where_control_characters_split_it() {
        let refusal = refused(401, &[], "{\"message\":\"bad token tok-en1234567890\"}");
        assert_eq!(refusal.message, "bad token [token]");
        let refusal = refused(400, &[], "not json: tok-en1234567890 \u{1b}[31m");
        assert_eq!(refusal.message, "not json: [token] [31m");
        assert_eq!(answer(200, &[], "{\"metadata\":{\"description\":\"tok-en1234567890\"}}"), Err(Failure::Echo));
    }

    #[test]
    fn a_half_token_is_not_left_where_a_message_is_cut() {
        let body = format!("{}tok-en1234567890", "x ".repeat(LONGEST_MESSAGE / 2 - 2));
        let status = StatusCode::BAD_REQUEST;
        let Err(Failure::Status(refusal)) =
            judge(&request(Operation::ObjectGet), status, &HeaderMap::new(), Bytes::from(body), Some(&secret()))
        else {
            panic!("no refusal")
        };
        assert!(!refusal.message.contains("tok-"), "{}", refusal.message);
    }

    #[test]
    fn what_is_only_shown_is_masked() {
        let body = Bytes::from_static(b"{\"events\":[\"{\\\"h\\\":\\\"tok-en1234567890\\\"}\"]}");
        let answer =
            judge(&request(Operation::SecurityEvents), StatusCode::OK, &HeaderMap::new(), body, Some(&secret()));
        assert_eq!(answer.expect("events").body.as_ref(), b"{\"events\":[\"{\\\"h\\\":\\\"[token]\\\"}\"]}");
    }

    #[test]
    fn a_page_for_people_is_no_answer() {
        assert_eq!(answer(200, &[(CONTENT_TYPE, "Text/HTML; charset=utf-8")], "hello"), Err(Failure::Html));
        assert_eq!(answer(200, &[], "\n <!DOCTYPE html>"), Err(Failure::Html));
        let page = refused(404, &[(CONTENT_TYPE, "text/html")], "<h1>not here</h1>");
        assert!(page.html);
        assert!(page.to_string().ends_with("the base URL or the path layout is probably wrong"), "{page}");
    }

    #[test]
    fn a_redirect_shows_only_the_host() {
        let to = [(LOCATION, "https://login.example.net/auth?state=abc")];
        let expected = Failure::Redirected { status: 302, target: "`login.example.net`".to_owned() };
        assert_eq!(answer(302, &to, ""), Err(expected));
    }

    #[test]
    fn retry_after_is_read_as_seconds_and_as_a_date() {
        assert_eq!(refused(429, &[(RETRY_AFTER, "7")], "{}").retry_after, Some(Duration::from_secs(7)));
        let dated = [(RETRY_AFTER, "Sat, 21 Nov 2026 10:00:30 GMT"), (DATE, "Sat, 21 Nov 2026 10:00:00 GMT")];
        assert_eq!(refused(429, &dated, "{}").retry_after, Some(Duration::from_secs(30)));
        let past = [(RETRY_AFTER, "Sat, 21 Nov 2026 09:00:30 GMT"), (DATE, "Sat, 21 Nov 2026 10:00:00 GMT")];
        assert_eq!(refused(429, &past, "{}").retry_after, None);
        assert_eq!(refused(429, &[(RETRY_AFTER, "soon")], "{}").retry_after, None);
    }
}
