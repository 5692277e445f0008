//! Where runs, locks and drift states are kept: a directory of this machine, or a bucket of an object store that
//! several machines share. A [`Bucket`] reads and writes whole objects, on a thread of its own; a [`Lease`] is a
//! lock in it that ends when its holder does. What the objects contain is known to the modules that write them.

mod bucket;
mod connect;
mod error;
mod lease;
mod location;
mod object;

use std::path::PathBuf;

pub use bucket::Bucket;
pub use error::StateError;
pub use lease::{Holder, Lease, LeaseError, LeaseTiming, release};
pub use location::{Location, Provider};
pub use object::{StoredObject, Tag};

/// Where the state of a call is kept.
#[derive(Debug, Clone)]
pub enum StateStore {
    /// A directory.
    Directory(PathBuf),
    /// A bucket, and how long a lock in it lasts without its holder.
    Bucket(Bucket, LeaseTiming),
}

impl StateStore {
    /// The path or the address, as messages show it.
    pub fn place(&self) -> PathBuf {
        match self {
            StateStore::Directory(path) => path.clone(),
            StateStore::Bucket(bucket, _) => PathBuf::from(bucket.address()),
        }
    }
}
