//! The endpoint object of the service mesh: create, get, list, replace and delete, with the JSON of
//! the live service as far as it is known. The paths are the same in both layouts; they differ in the
//! body of a delete, and both bodies are accepted.
//!
//! Where nothing public describes the service, the sandbox decides (`docs/sandbox.md` repeats it): a
//! version mismatch is 409 with code 10; a delete refused because of a reference is 400 with code 9, and
//! so is any change of an object that a view owns; two options of any exclusive group are 400; a replace
//! of an object that is being deleted is 409 with code 10.

pub mod handlers;
mod index;
mod object;
mod outside;
mod request;
mod rules;
mod served;
mod shape;
mod spec;

pub use index::{Deletion, Endpoints};
pub use object::{Referrer, ViewReference};
pub use outside::{Seed, SeedMetadata};
