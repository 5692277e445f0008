//! Where runs, locks and drift states are stored: a directory of this machine, or a bucket of an object store that
//! several machines share. A [`Bucket`] reads and writes whole objects on its own thread; a [`Lease`] is a lock in it
//! that expires when its holder ends. The modules that write the objects define their content.

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

/// Where the state of a call is stored.
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
