//! The configuration API. One table holds every operation with its paths in both layouts; requests,
//! answers and retry decisions are plain functions over it; one file opens connections.

mod base_url;
pub mod endpoints;
mod error;
mod operations;
mod request;
mod response;
mod secret;
mod text;

pub use base_url::{BaseUrl, BaseUrlError, SANDBOX_HOST};
pub use endpoints::{ListParameters, ResponseFormat, ResponseFormatError};
pub use error::{ApiError, Certainty, Failure, Refusal};
pub use operations::{
    Body, Effect, Entry, Layout, LayoutError, Operation, Parameter, Part, Repeat, Risk, Route, TABLE,
};
pub use request::{Look, Request, RequestError};
pub use response::{Answer, judge};
pub use secret::{Secret, SecretError};
pub use text::neutral;
