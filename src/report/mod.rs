//! What people and pipelines read: a plan, an outcome, verdicts, answers and problems as text and in the
//! formats of other programs. Values of the plan go in, a string comes out; the caller decides
//! where it is written. Text from the service or a file is untrusted: [`safe`] escapes it.

pub mod annotation;
pub mod check_document;
pub mod ddos;
pub mod endpoints;
pub mod error;
pub mod event_counts;
pub mod event_list;
pub mod explanation;
pub mod facts;
mod fit;
pub mod fleet;
mod format;
pub mod github;
#[cfg(test)]
mod golden_tests;
#[cfg(test)]
mod growth_tests;
pub mod health;
pub mod html;
pub mod json;
pub mod json_lines;
pub mod junit;
pub mod kinds;
mod line;
pub mod markdown;
pub mod merge;
pub mod operations;
pub mod prometheus;
mod removed_stacks;
pub mod safe;
#[cfg(test)]
mod sample_tests;
pub mod sarif;
pub mod schema;
pub mod stacks;
mod style;
mod template;
pub mod text;
pub mod time;
pub mod upgrade;
mod validation;
mod view;

pub use fit::fit;
pub use format::{Format, Report, ReportOptions, left_out, render, write};
pub use json_lines::LineSource;
pub use style::{Charset, Palette, Role};
pub use text::TextView;
pub use validation::{StackSize, Validation};
