//! Commands about several stacks: which stacks a call names, how one checker takes its part of them, and
//! an apply over all of them.

pub mod changed;
pub mod declared;
pub mod defined_elsewhere;
pub mod fleet;
mod lacking;
pub mod rollout;
pub mod shard;
pub mod targets;
pub mod waves;
