//! Typed requests for objects, with every parameter of the reference.

use bytes::Bytes;
use serde_json::json;
use serde_json::value::RawValue;

use crate::model::{Json, Key, Layout, ReferredDelete, Scope, neutral, words};

use super::error::ApiError;
use super::operations::Operation;
use super::request::Request;

/// The format in which an object is fetched (API.md 1.3), in the order of their numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum ResponseFormat {
    /// metadata, system metadata, spec, status
    #[default]
    Default,
    /// `create_form` only
    ForCreate,
    /// `replace_form` only
    ForReplace,
    /// status only
    Status,
    /// metadata, system metadata, spec
    Read,
    /// `referring_objects` only
    ReferringObjects,
    /// `deleted_referred_objects` and `disabled_referred_objects` only
    BrokenReferences,
}

// The names that the service accepts.
words!(ResponseFormat {
    Default = "GET_RSP_FORMAT_DEFAULT",
    ForCreate = "GET_RSP_FORMAT_FOR_CREATE",
    ForReplace = "GET_RSP_FORMAT_FOR_REPLACE",
    Status = "GET_RSP_FORMAT_STATUS",
    Read = "GET_RSP_FORMAT_READ",
    ReferringObjects = "GET_RSP_FORMAT_REFERRING_OBJECTS",
    BrokenReferences = "GET_RSP_FORMAT_BROKEN_REFERENCES",
});

/// What is read of each item of a list besides its key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ListFields {
    /// Metadata and spec: what plan, apply and drift read.
    Spec,
    /// Metadata, spec and status: what the verification after an apply reads.
    SpecAndStatus,
}

/// Reads one object.
///
/// # Errors
/// A name that a path cannot contain.
pub fn get(layout: Layout, key: &Key, format: ResponseFormat) -> Result<Request, ApiError> {
    let mut parameters = named(key).to_vec();
    if format != ResponseFormat::Default {
        parameters.push(("response_format", format.as_str()));
    }
    about(key, Operation::ObjectGet, layout, &parameters, None)
}

/// Reads the objects of a kind in a namespace.
///
/// # Errors
/// A name that a path cannot contain.
pub fn list(layout: Layout, scope: &Scope, fields: ListFields) -> Result<Request, ApiError> {
    // Any value adds metadata and spec, or the statuses (API.md 1.4).
    let mut parameters = vec![("namespace", scope.namespace.as_str()), ("report_fields", "spec")];
    parameters.extend((fields == ListFields::SpecAndStatus).then_some(("report_status_fields", "status")));
    let request = Request::build(Operation::ObjectList, layout, &parameters, None);
    let subject = || format!("endpoints of `{}`", scope.namespace);
    Ok(request.map_err(|error| ApiError::unbuilt(Operation::ObjectList, subject(), &error))?.about(scope.kind))
}

/// Creates the object `key`; `body` is an object with `metadata` and `spec`.
///
/// # Errors
/// A name that a path cannot contain.
pub fn create(layout: Layout, key: &Key, body: &RawValue) -> Result<Request, ApiError> {
    let parameters = [("namespace", key.namespace.as_str())];
    let request = about(key, Operation::ObjectCreate, layout, &parameters, Some(&json!({})))?;
    Ok(Request { subject: subject(key), body: Some(written(body)), ..request })
}

/// Replaces an object; `body` is an object with `metadata`, `spec` and, if known, `resource_version`.
///
/// # Errors
/// A name that a path cannot contain.
pub fn replace(layout: Layout, key: &Key, body: &RawValue) -> Result<Request, ApiError> {
    let request = about(key, Operation::ObjectReplace, layout, &named(key), Some(&json!({})))?;
    Ok(Request { body: Some(written(body)), ..request })
}

/// Deletes an object. In the published layout the request asks the service to refuse this if other objects refer to it,
/// unless that is allowed; the uniform layout cannot express either.
///
/// # Errors
/// A name that a path cannot contain.
pub fn delete(layout: Layout, key: &Key, referred: ReferredDelete) -> Result<Request, ApiError> {
    let body = (layout == Layout::Published).then(|| json!({"fail_if_referred": referred == ReferredDelete::Refused}));
    about(key, Operation::ObjectDelete, layout, &named(key), body.as_ref())
}

/// A request about the object `key`.
fn about(
    key: &Key,
    operation: Operation,
    layout: Layout,
    parameters: &[(&str, &str)],
    body: Option<&Json>,
) -> Result<Request, ApiError> {
    let request = Request::build(operation, layout, parameters, body);
    Ok(request.map_err(|error| ApiError::unbuilt(operation, subject(key), &error))?.about(key.kind))
}

/// A body that is serialised already.
fn written(body: &RawValue) -> Bytes {
    Bytes::copy_from_slice(body.get().as_bytes())
}

/// The object `key` in a message.
fn subject(key: &Key) -> String {
    format!("{} `{}`", key.kind, neutral(&format!("{}/{}", key.namespace, key.name), 130))
}

fn named(key: &Key) -> [(&'static str, &str); 2] {
    [("namespace", key.namespace.as_str()), ("name", key.name.as_str())]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_list_parameter_is_sent() {
        let parameters = [
            ("namespace", "shop"),
            ("response_format", ResponseFormat::Read.as_str()),
            ("label_filter", "env=prod"),
            ("report_fields", "a"),
            ("report_fields", "b"),
            ("report_status_fields", "c"),
        ];
        let request = Request::build(Operation::ObjectList, Layout::Published, &parameters, None).expect("a list");
        assert_eq!(
            request.path_and_query,
            "/api/config/namespaces/shop/endpoints?response_format=GET_RSP_FORMAT_READ&label_filter=env%3Dprod\
             &report_fields=a&report_fields=b&report_status_fields=c"
        );
        assert_eq!(request.subject, "endpoints of `shop`");
    }

    #[test]
    fn a_list_asks_for_the_fields_that_are_read() {
        let scope = Scope::try_from("shop".to_owned()).expect("a name");
        let request = |fields| list(Layout::Published, &scope, fields).expect("a list");
        let path = "/api/config/namespaces/shop/endpoints?report_fields=spec";
        assert_eq!(request(ListFields::Spec).path_and_query, path);
        let with_status = format!("{path}&report_status_fields=status");
        assert_eq!(request(ListFields::SpecAndStatus).path_and_query, with_status);
    }

    #[test]
    fn the_default_format_is_not_sent() {
        let key = Key::parse("shop/cart").expect("a key");
        let plain = get(Layout::Uniform, &key, ResponseFormat::Default).expect("a get");
        assert_eq!(plain.path_and_query, "/api/config/namespaces/shop/endpoints/cart");
        let form = get(Layout::Uniform, &key, ResponseFormat::ForReplace).expect("a get");
        assert_eq!(
            form.path_and_query,
            "/api/config/namespaces/shop/endpoints/cart?response_format=GET_RSP_FORMAT_FOR_REPLACE"
        );
    }
}
