//! The words of the program: an endpoint with its exclusive groups, its key, its fields, the marks
//! that ownership rests on, and what a definition and a live object are. Values are canonical by
//! construction (host names lower-case, addresses and prefixes parsed, selectors in normal form), so
//! that comparing two endpoints is comparing two values. No IO.

#[cfg(test)]
pub mod comparisons;
mod desired;
mod endpoint;
mod field;
mod key;
mod layout;
mod live;
mod ownership;
pub mod policy;
mod problem;
mod reference;
mod rules;
mod run_id;
mod selector;
mod shape;
mod snapshot;
mod wire;

pub use desired::{Definition, Desired, SourceLocation};
pub use endpoint::{
    Discovery, Endpoint, HostName, InternetVip, NetworkType, Protocol, Reference, ServiceMatch, SiteWhere, SnatPool,
    Spec, StringMap, Target, TtlChoice, Where,
};
pub use field::{Field, Json};
pub use key::{Key, Name, NameError, Namespace};
pub use layout::Layout;
pub use live::{Live, LiveItem, LiveObject, NamespaceRead, OwnerView, ReferredDelete, UnknownField, UnsupportedItem};
pub use ownership::{
    APPLIED, AppliedCause, AppliedFields, COMMIT_DIGITS, LONGEST_ANNOTATION, LONGEST_RUN, Ownership, PROTECT,
    RUN_PENDING, STACK, WrittenFor, is_mark,
};
pub use problem::{Location, Problem, Segment};
pub use reference::{FieldEntry, FieldRule, FieldStatus, GroupRule, REFERENCE_PARTS, REFERENCE_TABLE};
pub use rules::{check, deprecated};
pub use run_id::RunId;
pub use selector::{Requirement, Selector, SelectorError};
pub use shape::{KnownLevel, snake};
pub use snapshot::{NamespaceSnapshot, Snapshot, SnapshotError};
pub use wire::{
    EmptyOption, WireDnsNameAdvanced, WireEmpty, WireEndpoint, WireMetadata, WirePrefixes, WireReference, WireSelector,
    WireServiceInfo, WireSite, WireSnatPool, WireSpec, WireVirtualNetwork, WireWhere,
};
