//! The sandbox's own paths, outside the service's: `GET /sandbox/health` for whoever waits until it
//! is up, and `GET /sandbox/log` (with the token) for tests that compare it with a client's journal.

use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::extract::State;
use axum::http::{Response, StatusCode};
use axum::middleware::from_fn_with_state;
use axum::response::IntoResponse;
use axum::routing::get;
use serde_json::json;

use super::answer::{self, Code, Refusal};
use super::gate;
use super::service::Service;

pub fn router(service: &Arc<Service>) -> Router<Arc<Service>> {
    Router::new()
        .route("/sandbox/log", get(log))
        .layer(from_fn_with_state(Arc::clone(service), gate::pass_admin))
        .route("/sandbox/health", get(health))
}

async fn health(State(service): State<Arc<Service>>) -> Response<Body> {
    let body = json!({"status": "ok", "tenant": service.tenant, "version": env!("CARGO_PKG_VERSION")});
    answer::json(StatusCode::OK, body.to_string())
}

async fn log(State(service): State<Arc<Service>>) -> Response<Body> {
    match serde_json::to_vec(&json!({"entries": service.log.entries()})) {
        Ok(body) => answer::json(StatusCode::OK, body),
        Err(error) => Refusal::new(Code::Internal, error.to_string()).into_response(),
    }
}
