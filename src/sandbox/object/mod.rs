//! The objects of every kind: create, get, list, replace and delete, with the JSON of the live service as far as it is
//! known. The paths are the same in both layouts; only the body of a delete differs, and both bodies are accepted. The
//! description of a kind decides how its specs are read and filled.
//!
//! Where public sources do not describe the service, the sandbox decides (`docs/sandbox.md` repeats it): a version
//! mismatch is 409 with code 10; a delete refused because of a reference is 400 with code 9, and so is any change of an
//! object that a view owns; two options of a group are 400 (in an item of a list the last one counts); a replace of an
//! object that is being deleted is 409 with code 10.

mod form;
pub mod handlers;
mod index;
mod kind;
mod outside;
mod record;
mod reference;
mod request;
mod rule;
mod served;
mod spec;

pub use index::{Deletion, Objects};
pub use kind::{Key, ObjectKind};
pub use outside::{Seed, SeedMetadata};
pub use record::{Referrer, ViewReference};
pub use spec::WriteMode;
