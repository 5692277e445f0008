//! The sandbox's own paths: `GET /sandbox/health` to wait until it is up, and with the token `GET /sandbox/log` for
//! tests that compare it with a client's journal, `PUT /sandbox/faults` to set faults, `PUT /sandbox/endpoints` for
//! objects that no request can create, and `GET /sandbox/queries` for the recorded security event queries.

use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::extract::State;
use axum::http::Response;
use axum::middleware::from_fn_with_state;
use axum::routing::{get, put};
use serde_json::json;

use super::answer::{self, Answer, ErrorResponse};
use super::fault::Scenario;
use super::{SandboxState, Shared, gate, query};

/// The routes of the sandbox's own paths.
pub fn router(service: &Arc<SandboxState>) -> Router<Arc<SandboxState>> {
    Router::new()
        .route("/sandbox/log", get(log))
        .route("/sandbox/queries", get(queries))
        .route("/sandbox/faults", put(faults))
        .route("/sandbox/endpoints", put(objects))
        .layer(from_fn_with_state(Arc::clone(service), gate::pass_admin))
        .route("/sandbox/health", get(health))
}

async fn health(State(service): Shared) -> Response<Body> {
    answer::ok(&json!({"status": "ok", "tenant": service.objects.tenant(), "version": env!("CARGO_PKG_VERSION")}))
}

async fn log(State(service): Shared) -> Response<Body> {
    answer::ok(&json!({"entries": service.log.entries()}))
}

async fn queries(State(service): Shared) -> Answer {
    Ok(answer::ok(&json!({"queries": query::queries(&service.store)?})))
}

/// The body is a scenario, YAML or JSON; an empty list of rules ends all faults.
async fn faults(State(service): Shared, body: String) -> Answer {
    service.faults.set(Scenario::parse(&body).map_err(ErrorResponse::invalid)?);
    Ok(answer::empty())
}

/// The body is a list of seeds.
async fn objects(State(service): Shared, body: String) -> Answer {
    let seeds = serde_json::from_str(&body).map_err(ErrorResponse::invalid)?;
    service.objects.seed_all(seeds).await?;
    Ok(answer::empty())
}
