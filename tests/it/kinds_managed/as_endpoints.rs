//! What holds for endpoints holds for objects of every kind: whole groups of tests of endpoints, run with objects of another
//! kind.

use std::process::Command;

use crate::support::other_kind;

/// Tests about whose an object is, of git, and of several stacks.
const GROUPS: [&str; 11] = [
    "base::",
    "dropped::",
    "git::",
    "layouts::",
    "many::",
    "missing::",
    "moves::",
    "ownership::",
    "resumed::",
    "stack_list::",
    "whose_delete::",
];

/// They count lists of endpoints, and a stack with objects of another kind reads two for each namespace.
const SKIPPED: [&str; 2] = [
    "dropped::what_is_left_in_a_namespace_that_was_dropped_is_named",
    "many::stacks_of_one_service_share_its_limits_and_are_read_at_the_same_time",
];

#[test]
fn the_tests_of_endpoints_pass_with_objects_of_another_kind() {
    if other_kind::is_set() {
        return;
    }
    let skipped = SKIPPED.iter().flat_map(|test| ["--skip", test]);
    let this = std::env::current_exe().expect("these tests");
    let ran = Command::new(this).args(GROUPS).args(skipped).env(other_kind::VARIABLE, "1").output().expect("it starts");
    let said = String::from_utf8_lossy(&ran.stdout);
    let passed = said.lines().filter(|line| line.starts_with("test ") && line.ends_with(" ... ok")).count();
    assert!(ran.status.success(), "{said}");
    assert!(passed > 100, "too few tests are of these groups: {said}");
}
