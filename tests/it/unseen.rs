//! Definitions that a search for them can pass over: behind links to directories that are hidden or excluded, and in what a
//! working tree lacks. What they define is never deleted.

use crate::support::{Service, Stage, definition};

/// The stack `a` in this directory, which has applied `shop/x` and `shop/stays` and defines `shop/x` no more.
fn without_x(service: &Service, directory: &str) -> Stage {
    let stage = Stage::new().at(service);
    stage.write(&format!("{directory}/trueup.yaml"), "stack: a\nnamespaces: [shop]\n");
    for name in ["x", "stays"] {
        stage.write(&format!("{directory}/{name}.yaml"), &definition(&format!("shop/{name}"), 80));
    }
    stage.run(&format!("apply {directory} --yes --quiet")).code(0);
    stage.remove(&format!("{directory}/x.yaml"));
    stage
}

/// A stack in another directory with `shop/x` in a file.
fn with_x(stage: &Stage, directory: &str, file: &str) {
    stage.write(&format!("{directory}/trueup.yaml"), "stack: b\nnamespaces: [shop]\n");
    stage.write(&format!("{directory}/rest.yaml"), &definition("shop/rest", 80));
    stage.write(&format!("{directory}/{file}"), &definition("shop/x", 80));
}

#[cfg(unix)]
fn link(stage: &Stage, target: &str, place: &str) {
    std::os::unix::fs::symlink(target, stage.path(place)).expect("a link");
}

#[cfg(unix)]
#[test]
fn a_delete_of_what_another_stack_reads_through_a_link_to_a_directory_is_blocked() {
    let excluded = "files: {exclude: ['v2/**']}\n";
    for (place, target, more, blocks) in [
        ("live", ".v2", "", true),
        ("live", "v2", excluded, true),
        ("over", ".v2", "environments: {prod: {overlay: over}}\n", true),
        // What it leads to cannot be read, or is not of the stack.
        ("live", "nowhere", "", true),
        ("live", "../.v2", "", true),
        // It is not read.
        ("live", ".v2", "files: {exclude: [live]}\n", false),
        (".live", ".v2", "", false),
    ] {
        let service = Service::start();
        let stage = without_x(&service, "a");
        with_x(&stage, "b", &format!("{target}/x.yaml"));
        if target == "nowhere" {
            std::fs::remove_dir_all(stage.path("b/nowhere")).expect("a directory");
        }
        stage.write("b/trueup.yaml", &format!("stack: b\nnamespaces: [shop]\n{more}"));
        link(&stage, target, &format!("b/{place}"));
        let stage = stage.committed();
        let plan = stage.run("plan a").code(0).text().to_owned();
        assert_eq!(plan.contains("! blocked shop/x"), blocks, "{place} -> {target} {more}: {plan}");
        stage.run("apply a --yes --quiet").stderr_ignored();
        assert_eq!(service.has("shop/x"), blocks, "{place} -> {target} {more}");
    }
}

#[cfg(unix)]
#[test]
fn a_saved_plan_deletes_nothing_that_is_defined_again_behind_a_link_to_a_directory() {
    let service = Service::start();
    let stage = without_x(&service, "a").committed();
    stage.run("plan a -o ../plan.json").code(0).stdout_contains("- delete  shop/x");
    stage.write("a/.v2/x.yaml", &definition("shop/x", 80));
    link(&stage, ".v2", "a/live");
    let refused = stage.run("apply ../plan.json --config a/trueup.yaml --yes");
    refused.code(6).stderr_contains("the plan deletes `shop/x`, and stack `a` in a defines it by now");
    assert!(service.has("shop/x"));
}
