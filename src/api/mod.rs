//! The configuration API. One table has every operation with its paths in both layouts. Requests, answers and retry
//! decisions are pure functions over it; only `client` sends anything, through `transport`.

mod base_url;
mod budget;
#[cfg(test)]
mod budget_tests;
mod client;
mod current;
pub mod ddos;
mod error;
pub mod events;
mod fetch;
mod live;
pub mod objects;
mod operations;
mod pool;
mod rate_limit;
mod reader;
mod request;
mod response;
mod retry;
mod secret;
mod sent_secrets;
mod settings;
pub mod snapshot;
mod trace;
mod turn;
pub mod upgrades;
mod wire;

pub use base_url::{BaseUrl, BaseUrlError};
pub use client::pool;
pub use current::{CurrentObject, CurrentState, ReplaceBody};
pub use error::{ApiError, Certainty, ErrorStatus, Failure};
pub use fetch::{Condition, PendingLists, check, conditions, fetch, fetch_object, referrers, referring_views};
pub use live::read_list;
pub use objects::{ListFields, ResponseFormat};
pub use operations::{BodyKind, Operation, OperationEntry, Parameter, ParameterLocation, RetryClass, Route, TABLE};
pub use pool::ClientPool;
pub use rate_limit::{RateLimit, Timing};
pub use reader::{Reader, WriteTurn, Writer};
pub use request::{ReadRequest, Request, RequestError};
pub use response::{Response, judge};
pub use retry::{AttemptHistory, decide};
pub use secret::{Secret, SecretError};
pub use settings::{
    ClientProgress, ClientSettings, ClientSettingsError, Exchange, ExchangeListener, ExchangeOutcome, MaskedText,
    ProgressListener, RequestLimits, Retry,
};
pub use trace::{RequestIds, TraceParent};
pub use turn::{WriteDeparture, WriteFailure};
pub use wire::MOST_COUNTED;

pub use crate::transport::{Clearance, Identity, Proxies, SANDBOX_HOST, TlsError, TlsTrust};
