//! The sandbox's own paths, outside the service's: `GET /sandbox/health` for whoever waits until it
//! is up, and with the token `GET /sandbox/log` for tests that compare it with a client's journal,
//! `PUT /sandbox/faults` to misbehave from now on, `PUT /sandbox/endpoints` for objects that no
//! request could make, and `GET /sandbox/queries` for the security event queries that were made.

use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::extract::State;
use axum::http::{Response, StatusCode};
use axum::middleware::from_fn_with_state;
use axum::response::IntoResponse;
use axum::routing::{get, put};
use serde_json::json;

use super::answer::{self, Code, ErrorResponse};
use super::endpoint::Seed;
use super::fault::Scenario;
use super::gate;
use super::query;
use super::service::SandboxState;

pub fn router(service: &Arc<SandboxState>) -> Router<Arc<SandboxState>> {
    Router::new()
        .route("/sandbox/log", get(log))
        .route("/sandbox/queries", get(queries))
        .route("/sandbox/faults", put(faults))
        .route("/sandbox/endpoints", put(endpoints))
        .layer(from_fn_with_state(Arc::clone(service), gate::pass_admin))
        .route("/sandbox/health", get(health))
}

async fn health(State(service): State<Arc<SandboxState>>) -> Response<Body> {
    let body = json!({"status": "ok", "tenant": service.tenant, "version": env!("CARGO_PKG_VERSION")});
    answer::json(StatusCode::OK, body.to_string())
}

async fn log(State(service): State<Arc<SandboxState>>) -> Response<Body> {
    match serde_json::to_vec(&json!({"entries": service.log.entries()})) {
        Ok(body) => answer::json(StatusCode::OK, body),
        Err(error) => ErrorResponse::new(Code::Internal, error.to_string()).into_response(),
    }
}

async fn queries(State(service): State<Arc<SandboxState>>) -> Response<Body> {
    match query::queries(&service.store) {
        Ok(queries) => answer::json(StatusCode::OK, json!({"queries": queries}).to_string()),
        Err(error) => ErrorResponse::new(Code::Internal, error.to_string()).into_response(),
    }
}

/// The body is a scenario, YAML or JSON; an empty list of rules ends all faults.
async fn faults(State(service): State<Arc<SandboxState>>, body: String) -> Response<Body> {
    match Scenario::parse(&body) {
        Ok(scenario) => {
            service.faults.set(scenario);
            answer::empty()
        }
        Err(error) => ErrorResponse::new(Code::InvalidArgument, error.to_string()).into_response(),
    }
}

/// The body is a list of seeds.
async fn endpoints(State(service): State<Arc<SandboxState>>, body: String) -> Response<Body> {
    let planted = match serde_json::from_str::<Vec<Seed>>(&body) {
        Ok(seeds) => service.endpoints.plant(seeds).await,
        Err(error) => Err(ErrorResponse::new(Code::InvalidArgument, error.to_string())),
    };
    match planted {
        Ok(()) => answer::empty(),
        Err(refusal) => refusal.into_response(),
    }
}
