//! What people and pipelines read: a plan, an outcome, verdicts and problems as text and in the
//! formats of other programs. Values of the plan go in, a string comes out; whoever calls decides
//! where it is written. Text from the service or a file is untrusted: [`safe`] takes its force away.

pub mod json;
pub mod rows;
pub mod safe;
mod style;
pub mod text;

pub use style::{Palette, Role};
