//! The only table of operations, which the request builders and the lists for users read: only this module knows paths.

mod entry;
mod table;

pub use entry::{BodyKind, Operation, OperationEntry, Parameter, ParameterLocation, RetryClass, Route};
pub use table::TABLE;
