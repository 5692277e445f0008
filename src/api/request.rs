//! Requests as plain values: method, path with its query, body and headers. Nothing is sent here; tests compare the
//! values. Every builder, the typed ones and the one of `call`, uses [`Request::build`], which reads the table of
//! operations.

use bytes::Bytes;
use http::Method;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

use crate::kind::KindName;
use crate::model::{Json, Layout, neutral};

use super::operations::{BodyKind, Operation, Parameter, ParameterLocation};

/// Everything except the unreserved characters of RFC 3986.
const RESERVED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// The start of the paths of objects, up to the namespace.
const PATH_OF_ENDPOINTS: &str = "/api/config/namespaces/";

/// A request that has not been sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request {
    /// The operation.
    pub operation: Operation,
    /// The method.
    pub method: Method,
    /// Path and query, beginning with `/api`.
    pub path_and_query: String,
    /// The body, if there is one.
    pub body: Option<Bytes>,
    /// Whether `Content-Type: application/json` is sent (reference section 5).
    pub content_type: bool,
    /// The object of the request, for messages: "endpoint `shop/cart`".
    pub subject: String,
    /// The kind of its objects.
    pub kind: KindName,
}

/// A request of an operation that only reads: the only type that a reader sends.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReadRequest(Request);

/// Why a request cannot be built.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RequestError {
    /// Required parameters are missing.
    #[error("{0}")]
    MissingParameter(String),
    /// The body is missing.
    #[error("{0}")]
    MissingBody(String),
    /// A parameter or the body is not accepted by the operation.
    #[error("{0}")]
    Wrong(String),
}

impl Request {
    /// The request of `operation` with these parameters and this body.
    ///
    /// # Errors
    /// [`RequestError`]: a missing, unknown or repeated parameter, a name that cannot be part of a path, or a body that
    /// is missing or not accepted.
    pub fn build<N: AsRef<str>, V: AsRef<str>>(
        operation: Operation,
        layout: Layout,
        parameters: &[(N, V)],
        body: Option<&Json>,
    ) -> Result<Self, RequestError> {
        let entry = operation.entry();
        let route = entry.route(layout);
        let given: Vec<(&Parameter, &str)> = parameters
            .iter()
            .map(|(name, value)| match route.parameters.iter().find(|known| known.name == name.as_ref()) {
                Some(parameter) => Ok((parameter, value.as_ref())),
                None => {
                    let (name, known) = (neutral(name.as_ref(), 60), known(route.parameters));
                    let what = format!("`{operation}` has no parameter `{name}`; its parameters: {known}");
                    Err(RequestError::Wrong(what))
                }
            })
            .collect::<Result<_, _>>()?;
        check_counts(operation, route.parameters, &given)?;

        let mut path_and_query = filled(route.path, |name| in_path(name, &given))?;
        let mut separator = '?';
        for (parameter, value) in given.iter().filter(|(parameter, _)| parameter.part == ParameterLocation::Query) {
            path_and_query.push(separator);
            separator = '&';
            path_and_query.push_str(parameter.name);
            path_and_query.push('=');
            path_and_query.extend(utf8_percent_encode(value, RESERVED));
        }

        Ok(Self {
            operation,
            method: route.method.clone(),
            path_and_query,
            body: fill_body(operation, route.body, &given, body)?,
            content_type: route.body != BodyKind::Bare,
            subject: filled(entry.subject, |name| Ok(in_subject(name, &given, body)))?,
            kind: KindName::ENDPOINT,
        })
    }

    /// The same request for objects of another kind: the paths of the five operations differ only in their start.
    #[must_use]
    pub(super) fn about(self, kind: KindName) -> Self {
        let parts = self.path_and_query.strip_prefix(PATH_OF_ENDPOINTS).and_then(|rest| rest.split_once("/endpoints"));
        match parts.filter(|_| !kind.is_endpoint()) {
            None => self,
            Some((namespace, rest)) => {
                let described = kind.kind();
                let path_and_query = format!("{}/namespaces/{namespace}/{}{rest}", described.prefix, described.plural);
                let subject = self.subject.replacen("endpoint", kind.as_str(), 1);
                Self { path_and_query, subject, kind, ..self }
            }
        }
    }

    /// This request as one that only reads.
    ///
    /// # Errors
    /// The operation changes something: returns the unchanged request.
    pub fn into_read(self) -> Result<ReadRequest, Request> {
        if self.operation.entry().changes() { Err(self) } else { Ok(ReadRequest(self)) }
    }
}

impl ReadRequest {
    /// The request.
    pub(super) fn into_request(self) -> Request {
        self.0
    }
}

fn known(parameters: &[Parameter]) -> String {
    let names = parameters.iter().map(|parameter| match (parameter.required, parameter.repeated) {
        (true, _) => format!("`{}` (required)", parameter.name),
        (false, true) => format!("`{}` (repeatable)", parameter.name),
        (false, false) => format!("`{}`", parameter.name),
    });
    names.collect::<Vec<_>>().join(", ")
}

fn check_counts(
    operation: Operation,
    parameters: &'static [Parameter],
    given: &[(&'static Parameter, &str)],
) -> Result<(), RequestError> {
    let count = |parameter: &Parameter| given.iter().filter(|(other, _)| other.name == parameter.name).count();
    let missing: Vec<String> = parameters
        .iter()
        .filter(|parameter| parameter.required && count(parameter) == 0)
        .map(|parameter| format!("`{}`", parameter.name))
        .collect();
    if !missing.is_empty() {
        let (missing, known) = (missing.join(" and "), known(parameters));
        let what = format!("`{operation}` needs {missing}; its parameters: {known}");
        return Err(RequestError::MissingParameter(what));
    }
    match parameters.iter().find(|parameter| !parameter.repeated && count(parameter) > 1) {
        Some(parameter) => Err(RequestError::Wrong(format!("`{operation}` takes `{}` once", parameter.name))),
        None => Ok(()),
    }
}

/// A template with each `{name}` replaced by the result of `fill`.
fn filled(
    template: &'static str,
    fill: impl Fn(&'static str) -> Result<String, RequestError>,
) -> Result<String, RequestError> {
    let mut text = String::with_capacity(2 * template.len());
    let mut rest = template;
    while let Some((before, after)) = rest.split_once('{') {
        let (name, after) = after.split_once('}').unwrap_or((after, ""));
        text.push_str(before);
        text.push_str(&fill(name)?);
        rest = after;
    }
    text.push_str(rest);
    Ok(text)
}

fn in_path(parameter: &'static str, given: &[(&'static Parameter, &str)]) -> Result<String, RequestError> {
    let is_hole = |known: &Parameter| known.part == ParameterLocation::Path && known.name == parameter;
    let value = given.iter().find(|(known, _)| is_hole(known)).map_or("", |(_, value)| *value);
    match value {
        "" | "." | ".." => {
            let what = format!("`{value}` cannot be the `{parameter}` of a path: it must not be empty, `.` or `..`");
            Err(RequestError::Wrong(what))
        }
        value => Ok(utf8_percent_encode(value, RESERVED).to_string()),
    }
}

fn fill_body(
    operation: Operation,
    wanted: BodyKind,
    given: &[(&'static Parameter, &str)],
    body: Option<&Json>,
) -> Result<Option<Bytes>, RequestError> {
    let text = |name: &str| {
        let found = given.iter().find(|(parameter, _)| parameter.name == name);
        Json::from(found.map(|(_, value)| *value).unwrap_or_default())
    };
    if body.is_some_and(|body| !body.is_object()) {
        return Err(RequestError::Wrong(format!("the body of `{operation}` must be a JSON object")));
    }
    // A map with text keys can always be serialised.
    let bytes = |body: &Json| Bytes::from(serde_json::to_vec(body).unwrap_or_default());
    Ok(match (wanted, body) {
        (BodyKind::None | BodyKind::Bare, Some(_)) => {
            return Err(RequestError::Wrong(format!("`{operation}` takes no body")));
        }
        (BodyKind::None | BodyKind::Bare, None) => None,
        (BodyKind::Referred, body) => Some(bytes(&serde_json::json!({
            "fail_if_referred": body.and_then(|body| body.get("fail_if_referred")?.as_bool()).unwrap_or(true),
            "name": text("name"),
            "namespace": text("namespace"),
        }))),
        (BodyKind::Given(meaning), None) => {
            let what = format!("`{operation}` needs a body: a JSON object of {meaning}");
            return Err(RequestError::MissingBody(what));
        }
        (BodyKind::Given(_), Some(body)) => Some(bytes(body)),
        (BodyKind::Parameters(_), body) => {
            let mut body = body.cloned().unwrap_or_else(|| serde_json::json!({}));
            body["namespace"] = text("namespace");
            for (parameter, value) in given.iter().filter(|(parameter, _)| parameter.part == ParameterLocation::Body) {
                body[parameter.name] = (*value).into();
            }
            Some(bytes(&body))
        }
    })
}

/// A part of the subject of a request. A create has its name in the body.
fn in_subject(name: &str, given: &[(&'static Parameter, &str)], body: Option<&Json>) -> String {
    let parameter = given.iter().find(|(parameter, _)| parameter.name == name).map(|(_, value)| *value);
    let in_body = || body?.get("metadata")?.get(name)?.as_str();
    neutral(parameter.or_else(in_body).unwrap_or("?"), 130)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const NONE: &[(&str, &str)] = &[];

    #[test]
    fn names_are_encoded_and_cannot_change_the_path() {
        let get = |name| {
            Request::build(Operation::ObjectGet, Layout::Uniform, &[("namespace", "shop"), ("name", name)], None)
        };
        let request = get("a/b?c#d e%2e\\").expect("an odd name");
        assert_eq!(request.path_and_query, "/api/config/namespaces/shop/endpoints/a%2Fb%3Fc%23d%20e%252e%5C");
        for bad in ["", ".", ".."] {
            let error = get(bad).expect_err("no name").to_string();
            assert!(error.starts_with(&format!("`{bad}` cannot be the `name` of a path")), "{error}");
        }
        assert_eq!(get("...").expect("three dots").path_and_query, "/api/config/namespaces/shop/endpoints/...");
        let tricky = get("{namespace}").expect("braces");
        assert_eq!(tricky.path_and_query, "/api/config/namespaces/shop/endpoints/%7Bnamespace%7D");
    }

    #[test]
    fn a_delete_is_bare_in_the_uniform_layout_and_careful_in_the_published_one() {
        let delete = |layout| {
            let parameters = [("namespace", "shop"), ("name", "cart")];
            Request::build(Operation::ObjectDelete, layout, &parameters, None).expect("a delete")
        };
        let uniform = delete(Layout::Uniform);
        assert_eq!((uniform.body, uniform.content_type), (None, false));
        let published = delete(Layout::Published);
        assert!(published.content_type);
        assert_eq!(
            published.body.as_deref(),
            Some(br#"{"fail_if_referred":true,"name":"cart","namespace":"shop"}"#.as_slice())
        );
        assert_eq!(published.subject, "endpoint `shop/cart`");
    }

    #[test]
    fn the_ddos_list_is_a_get_with_a_query_or_a_post_with_a_body() {
        let list = |layout| {
            let parameters = [("namespace", "system"), ("start_time", "2026-11-21T10:00:00Z"), ("network_id", "n 1")];
            Request::build(Operation::DdosList, layout, &parameters, None).expect("a list")
        };
        let uniform = list(Layout::Uniform);
        assert_eq!(uniform.method, Method::GET);
        assert_eq!(
            uniform.path_and_query,
            "/api/config/namespaces/system/events?start_time=2026-11-21T10%3A00%3A00Z&network_id=n%201"
        );
        assert_eq!((uniform.body, uniform.content_type), (None, true));
        let published = list(Layout::Published);
        assert_eq!(published.method, Method::POST);
        assert_eq!(published.path_and_query, "/api/infraprotect/namespaces/system/infraprotect/events");
        assert_eq!(
            published.body.as_deref(),
            Some(br#"{"namespace":"system","network_id":"n 1","start_time":"2026-11-21T10:00:00Z"}"#.as_slice())
        );
    }

    #[test]
    fn a_continued_scroll_is_the_same_post_in_the_uniform_layout() {
        let parameters = [("namespace", "shop"), ("scroll_id", "s1")];
        let request = Request::build(Operation::SecurityEventsScroll, Layout::Uniform, &parameters, None);
        let request = request.expect("a scroll");
        assert_eq!(request.path_and_query, "/api/config/namespaces/shop/events");
        assert_eq!(request.body.as_deref(), Some(br#"{"namespace":"shop","scroll_id":"s1"}"#.as_slice()));
        let request = Request::build(Operation::SecurityEventsScroll, Layout::Published, &parameters, None);
        let path = request.expect("a scroll").path_and_query;
        assert_eq!(path, "/api/data/namespaces/shop/app_security/events/scroll");
    }

    #[test]
    fn what_is_missing_or_unknown_is_reported_with_what_there_is() {
        let error = Request::build(Operation::ObjectGet, Layout::Uniform, NONE, None).expect_err("nothing given");
        assert_eq!(
            error.to_string(),
            "`svc-api-servicemesh-endpoint-get` needs `namespace` and `name`; its parameters: `namespace` (required), \
             `name` (required), `response_format`"
        );
        let parameters = [("namespace", "shop"), ("nam", "x")];
        let error = Request::build(Operation::ObjectList, Layout::Uniform, &parameters, None).expect_err("unknown");
        assert_eq!(
            error.to_string(),
            "`svc-api-servicemesh-endpoint-list` has no parameter `nam`; its parameters: `namespace` (required), \
             `response_format`, `label_filter`, `report_fields` (repeatable), `report_status_fields` (repeatable)"
        );
        let twice = [("namespace", "shop"), ("namespace", "pay")];
        let error = Request::build(Operation::ObjectList, Layout::Uniform, &twice, None).expect_err("twice");
        assert_eq!(error.to_string(), "`svc-api-servicemesh-endpoint-list` takes `namespace` once");
        let namespace = [("namespace", "shop")];
        let error = Request::build(Operation::ObjectCreate, Layout::Uniform, &namespace, None).expect_err("no body");
        assert!(matches!(error, RequestError::MissingBody(_)));
        let error = Request::build(Operation::ObjectList, Layout::Uniform, &namespace, Some(&json!({})));
        let error = error.expect_err("a body").to_string();
        assert_eq!(error, "`svc-api-servicemesh-endpoint-list` takes no body");
        let error = Request::build(Operation::ObjectCreate, Layout::Uniform, &namespace, Some(&json!([])));
        let error = error.expect_err("a list").to_string();
        assert_eq!(error, "the body of `svc-api-servicemesh-endpoint-create` must be a JSON object");
    }

    #[test]
    fn repeated_parameters_are_all_sent() {
        let parameters =
            [("namespace", "shop"), ("report_fields", "a"), ("report_fields", "b"), ("label_filter", "a in (b)")];
        let request = Request::build(Operation::ObjectList, Layout::Uniform, &parameters, None).expect("a list");
        assert_eq!(
            request.path_and_query,
            "/api/config/namespaces/shop/endpoints?report_fields=a&report_fields=b&label_filter=a%20in%20%28b%29"
        );
    }

    #[test]
    fn only_what_looks_becomes_a_look() {
        for entry in &crate::api::TABLE {
            let request = Request {
                operation: entry.operation,
                method: entry.uniform.method.clone(),
                path_and_query: String::new(),
                body: None,
                content_type: true,
                subject: String::new(),
                kind: KindName::ENDPOINT,
            };
            assert_eq!(request.into_read().is_err(), entry.changes(), "{}", entry.name);
        }
    }

    #[test]
    fn a_create_is_named_by_its_body() {
        let body = json!({"metadata": {"name": "cart", "namespace": "other"}, "spec": {}});
        let request = Request::build(Operation::ObjectCreate, Layout::Uniform, &[("namespace", "shop")], Some(&body));
        let request = request.expect("a create");
        assert_eq!(request.subject, "endpoint `shop/cart`");
        assert!(request.content_type);
    }
}
