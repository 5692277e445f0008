//! The endpoint object of the service mesh: create, get, list, replace and delete, with the JSON of
//! the live service as far as it is known. The paths are the same in both layouts; they differ in the
//! body of a delete, and both bodies are taken.
//!
//! Where nothing public says what the service does, the sandbox decides (and
//! `docs/sandbox.md` repeats it): a version mismatch is 409 with code 10; a delete refused because
//! of a reference is 400 with code 9, and so is any change of an object that a view owns; two options
//! of any exclusive group are 400; a replace of an object that is being deleted is 409 with code 10.

pub mod body;
pub mod draft;
mod handlers;
mod index;
pub mod json;
mod object;
mod outside;
mod reference;
mod rules;
mod spec;

use std::sync::Arc;

use axum::Router;
use axum::http::Method;
use axum::routing::get;

use super::router::Operation;
use super::service::SandboxState;

pub use index::Endpoints;
pub use object::{Referrer, ViewReference};
pub use outside::{Seed, SeedMetadata};

const COLLECTION: &str = "/api/config/namespaces/{namespace}/endpoints";
const ITEM: &str = "/api/config/namespaces/{namespace}/endpoints/{name}";

/// The operations of this area.
pub const OPERATIONS: &[Operation] = &[
    Operation { name: "endpoint-create", method: Method::POST, path: COLLECTION },
    Operation { name: "endpoint-list", method: Method::GET, path: COLLECTION },
    Operation { name: "endpoint-get", method: Method::GET, path: ITEM },
    Operation { name: "endpoint-replace", method: Method::PUT, path: ITEM },
    Operation { name: "endpoint-delete", method: Method::DELETE, path: ITEM },
];

/// The routes of this area.
pub fn router() -> Router<Arc<SandboxState>> {
    Router::new()
        .route(COLLECTION, get(handlers::list).post(handlers::create))
        .route(ITEM, get(handlers::get).put(handlers::replace).delete(handlers::delete))
}
