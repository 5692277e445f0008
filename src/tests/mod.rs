//! What the unit tests of several modules share.

pub(crate) mod comparisons;
pub(crate) mod faults;
pub(crate) mod world;
