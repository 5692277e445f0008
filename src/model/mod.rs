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
mod mark;
pub mod policy;
mod problem;
mod raw;
mod reference;
mod rules;
mod selector;
mod shape;
mod snapshot;

pub use desired::{Definition, Desired, Place};
pub use endpoint::{
    Discovery, Endpoint, HostName, InternetVip, NetworkType, Protocol, Reference, Service, SitePlace, SnatPool, Spec,
    Target, Texts, TtlChoice, Where,
};
pub use field::{Field, Json};
pub use key::{Key, Name, NameError, Namespace};
pub use layout::Layout;
pub use live::{Live, LiveItem, LiveObject, NamespaceRead, OwnerView, Referred, Unheld, UnknownField};
pub use mark::{
    APPLIED, Applied, COMMIT_DIGITS, LONGEST_ANNOTATION, LONGEST_RUN, Mark, MarkedCause, PROTECT, RUN_PENDING, STACK,
    WrittenFor, is_mark,
};
pub use problem::{Problem, Segment, Spot};
pub use raw::{
    Choice, RawDnsNameAdvanced, RawEmpty, RawEndpoint, RawMetadata, RawPrefixes, RawReference, RawSelector,
    RawServiceInfo, RawSite, RawSnatPool, RawSpec, RawVirtualNetwork, RawWhere,
};
pub use reference::{Age, FieldEntry, Needed, REFERENCE_PARTS, REFERENCE_TABLE, Rule};
pub use rules::{check, deprecated};
pub use selector::{Requirement, Selector, SelectorError};
pub use shape::{Level, snake};
pub use snapshot::{Kept, Snapshot, SnapshotError};
