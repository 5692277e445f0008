//! The configuration API. One table holds every operation with its paths in both layouts; requests,
//! answers and retry decisions are plain functions over it; one file opens connections.

mod base_url;
mod budget;
#[cfg(test)]
mod budget_tests;
mod client;
pub mod ddos;
pub mod endpoints;
mod error;
pub mod events;
mod fetch;
mod live;
mod metadata;
mod operations;
mod pace;
mod pkcs12;
mod request;
mod response;
mod retry;
mod secret;
pub mod snapshot;
mod text;
mod tls;
pub mod upgrades;
mod wire;

pub use base_url::{BaseUrl, BaseUrlError, SANDBOX_HOST};
pub use client::{Bounds, Exchange, Listener, Reader, Settings, SettingsError, Writer};
pub use endpoints::{ListParameters, ResponseFormat, ResponseFormatError};
pub use error::{ApiError, Certainty, Failure, Refusal};
pub use fetch::{Condition, Fetching, Referrer, conditions, fetch, fetch_object, fetch_with_health, referrers};
pub use live::{FreshObject, read_list};
pub use operations::{Body, Effect, Entry, Operation, Parameter, Part, Repeat, Risk, Route, TABLE};
pub use pace::{Pace, Rate};
pub use pkcs12::Pkcs12Error;
pub use request::{Look, Request, RequestError};
pub use response::{Answer, judge};
pub use retry::{Decision, Tried, decide};
pub use secret::{Secret, SecretError};
pub use text::neutral;
pub use tls::{Identity, TlsError, Trust};
