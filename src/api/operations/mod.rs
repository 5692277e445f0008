//! The one table of operations. The request builders and the lists that people see read it; nothing else
//! in the crate knows a path.

mod entry;
mod table;

pub use entry::{BodyKind, Operation, OperationEntry, Parameter, ParameterLocation, RetryClass, Route};
pub use table::TABLE;
