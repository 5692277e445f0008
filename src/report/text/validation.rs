//! What a valid stack contains, as one line.

use super::TextView;
use crate::report::counted::count;
use crate::report::{Role, StackSize};

/// `Valid: 3 endpoints in 1 namespace, 2 files`
#[must_use]
pub fn valid(size: StackSize, view: &TextView) -> String {
    let objects = match size.objects {
        0 => String::new(),
        some => format!(
            "{} of kinds that trueup checks and does not manage yet: a plan refuses them\n",
            count(some, "object")
        ),
    };
    format!(
        "{}: {} in {}, {}\n{objects}",
        view.palette.paint(Role::Right, "Valid"),
        count(size.endpoints, "endpoint"),
        count(size.namespaces, "namespace"),
        count(size.files, "file"),
    )
}
