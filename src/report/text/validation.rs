//! What a valid stack contains, as one line.

use super::TextView;
use crate::report::counted::count;
use crate::report::{Role, StackSize};

/// `Valid: 3 endpoints in 1 namespace, 2 files`
#[must_use]
pub fn valid(size: StackSize, view: &TextView) -> String {
    format!(
        "{}: {} in {}, {}\n",
        view.palette.paint(Role::Right, "Valid"),
        count(size.endpoints, "endpoint"),
        count(size.namespaces, "namespace"),
        count(size.files, "file"),
    )
}
