//! Definitions that a search for them can pass over: behind links to directories that are hidden or excluded, and in what a
//! working tree lacks. What they define is never deleted.

use crate::support::{Service, Stage, definition, git, git_in};

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

/// Makes a submodule of a directory, as a clone has one.
fn submodule(stage: &Stage, path: &str) {
    stage.write(".gitmodules", &format!("[submodule \"{path}\"]\n\tpath = {path}\n\turl = ../{path}\n"));
    git_in(&stage.path(path), &["init", "-q", "-b", "main"]);
    git_in(&stage.path(path), &["add", "-A"]);
    git_in(&stage.path(path), &["commit", "-qm", "own"]);
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

#[test]
fn a_submodule_is_not_checked_out_where_only_other_files_are_in_its_place() {
    let service = Service::start();
    let stage = Stage::stack(&service, "shop")
        .file("cart.yaml", &definition("shop/cart", 80))
        .file("lib/pay.yaml", &definition("shop/pay", 81));
    submodule(&stage, "lib");
    let stage = stage.committed().applied(".");
    let place = stage.path("lib");
    std::fs::rename(&place, stage.path("../lib")).expect("moved");
    let is_refused = |what: &str| {
        for line in ["plan .", "drift .", "apply . --yes"] {
            let refused = stage.run(line);
            assert_eq!(refused.exit(), 1, "{what}: {}", refused.text());
            refused.stderr_contains("the submodule `lib` is not checked out");
        }
    };
    stage.write("lib/.DS_Store", "");
    is_refused("a file of another program");
    stage.write("lib/target/a.txt", "");
    is_refused("a directory of another program");
    std::fs::create_dir(place.join(".git")).expect("a directory");
    is_refused("an empty `.git`");
    std::fs::remove_dir_all(&place).expect("removed");
    // So `git submodule update` leaves it where the commit cannot be fetched.
    git(&stage, "clone -q --no-checkout ../lib lib");
    is_refused("a repository without files");
    git_in(&place, &["checkout", "-q", "main"]);
    stage.run("plan .").code(0).stdout_contains("In sync");
    // Who checked it out can delete what is in it.
    stage.remove("lib/pay.yaml");
    stage.run("plan .").code(0).stdout_contains("- delete  shop/pay");
}
