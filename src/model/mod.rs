//! The basic types of the program: objects, keys, fields, ownership annotations, definitions and live objects. Values
//! are canonical by construction (host names in lower case, prefixes without host bits, selectors in normal form), so
//! that two objects can be compared by their values. No IO.

mod clock;
mod desired;
pub(crate) mod document;
mod field;
mod field_digest;
mod group;
#[cfg(test)]
pub mod growth_tests;
mod key;
mod layout;
mod live;
mod object;
mod ownership;
pub mod policy;
mod problem;
mod rules;
mod run_id;
pub(crate) mod share;
mod snapshot;
mod spec;
mod text;
mod tree;
mod wire;
mod word;

pub use crate::kind::{Selector, SelectorError};
pub use clock::Clock;
pub use desired::{Definition, Desired, SealedSecrets, SourceLocation};
pub use document::{DocumentError, ValueDigest, kind_of};
pub use field::{Field, FieldError};
pub use field_digest::{KeyDigest, key_digest};
pub(crate) use group::{counted, gathered, grouped};
pub use key::{Key, NAME_RULE, Name, NameError, Namespace, Scope};
pub use layout::Layout;
pub use live::{ListRead, Live, LiveItem, LiveObject, ReferredDelete, RelatedObject, UnknownField, UnsupportedItem};
pub use object::{Object, StringMap};
pub use ownership::{
    APPLIED, AppliedFields, COMMIT_DIGITS, Cause, LONGEST_RUN, Ownership, PROTECT, RUN_PENDING, STACK, WrittenFor,
    is_ownership_annotation, protects,
};
pub use problem::{Problem, Segment};
pub use rules::{LONGEST_ANNOTATION, check, warnings};
pub use run_id::RunId;
pub use snapshot::{KindSnapshot, NamespaceSnapshot, Snapshot, SnapshotItem};
pub use spec::Spec;
pub use text::{glob, is_ambiguous, is_unsafe, neutral};
pub use tree::{Json, JsonTree, read_written};
pub use wire::{SERVICE_KEYS, WireMetadata};
pub(crate) use word::{displayed, words};
