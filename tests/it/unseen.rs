//! Definitions that a search for them can pass over: behind links to directories that are hidden or excluded, and in what a
//! working tree lacks. What they define is never deleted.

use crate::support::{Service, Stage, commit, definition, git, git_in};

const LACKS: &str = "may define it, and the sparse working tree lacks that file";

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

/// That this call blocks the delete of `shop/x`.
#[track_caller]
fn is_blocked(stage: &Stage, service: &Service, call: &str, why: &str) {
    stage.run(&format!("plan {call}")).code(0).stdout_contains("! blocked shop/x").stdout_contains(why);
    stage.run(&format!("apply {call} --yes --quiet")).stderr_ignored();
    assert!(service.has("shop/x"), "{call}");
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

#[test]
fn a_delete_of_what_a_submodule_of_another_stack_may_define_is_blocked() {
    let service = Service::start();
    let stage = without_x(&service, "a");
    with_x(&stage, "b", "lib/x.yaml");
    submodule(&stage, "b/lib");
    let stage = stage.committed();
    is_blocked(&stage, &service, "a", "stack b in b defines it");
    std::fs::remove_dir_all(stage.path("b/lib")).expect("removed");
    std::fs::create_dir(stage.path("b/lib")).expect("a directory");
    is_blocked(&stage, &service, "a", "the submodule `b/lib` may define it, and is not checked out");
    // The stack does not read it, or is for another service.
    stage.write("b/trueup.yaml", "stack: b\nnamespaces: [shop]\nfiles: {exclude: [lib/**]}\n");
    commit(&stage, "excluded");
    stage.run("plan a").code(0).stdout_contains("- delete  shop/x");
    let settings = "stack: b\nnamespaces: [shop]\nbase_url: https://far.example.net\n";
    stage.write("b/trueup.yaml", settings);
    commit(&stage, "far");
    stage.run("plan a").code(0).stdout_contains("- delete  shop/x");
}

#[cfg(unix)]
#[test]
fn a_delete_of_what_a_sparse_working_tree_leaves_out_behind_a_link_is_blocked() {
    for (file, place, target) in [
        ("data/x.txt", "x.yaml", "data/x.txt"),
        (".v2/x.yaml", "live", ".v2"),
        (".v2/x.yaml", "live", "../b/.v2"),
        // Where it leads to is not known.
        (".v2/x.yaml", "live", "to/.v2"),
    ] {
        let service = Service::start();
        let stage = without_x(&service, "a");
        with_x(&stage, "b", file);
        link(&stage, target, &format!("b/{place}"));
        if target.starts_with("to/") {
            link(&stage, ".", "b/to");
        }
        let stage = stage.committed();
        git(&stage, "sparse-checkout set a");
        assert!(!stage.path("b").exists());
        is_blocked(&stage, &service, "a", LACKS);
        git(&stage, &format!("sparse-checkout set --no-cone /* !/b/{place}"));
        is_blocked(&stage, &service, "a", "may define it");
    }
}

#[cfg(unix)]
#[test]
fn a_left_out_link_to_what_defines_something_else_blocks_nothing() {
    let service = Service::start();
    let stage = without_x(&service, "a");
    with_x(&stage, "b", "x.txt");
    for (target, place) in [("x.txt", "README.txt"), ("rest.yaml", "again.yaml"), (".v2", "live")] {
        link(&stage, target, &format!("b/{place}"));
    }
    stage.write("b/.v2/y.yaml", &definition("shop/y", 80));
    let stage = stage.committed();
    git(&stage, "sparse-checkout set a");
    assert!(!stage.path("b").exists());
    stage.run("plan a").code(0).stdout_contains("- delete  shop/x");
}

#[test]
fn a_delete_of_what_a_left_out_hidden_stack_or_one_without_its_settings_defines_is_blocked() {
    let service = Service::start();
    let stage = without_x(&service, "a");
    with_x(&stage, ".infra/b", "x.yaml");
    let stage = stage.committed();
    is_blocked(&stage, &service, "a", "stack b in .infra/b defines it");
    git(&stage, "sparse-checkout set a");
    is_blocked(&stage, &service, "a", &format!("`.infra/b/x.yaml` {LACKS}"));
    git(&stage, "sparse-checkout set --no-cone /* !/.infra/b/trueup.yaml");
    assert!(stage.path(".infra/b/x.yaml").exists());
    let without = "`.infra/b` may define it, and the sparse working tree lacks its `trueup.yaml`";
    is_blocked(&stage, &service, "a", without);
    git(&stage, "sparse-checkout disable");
}

#[test]
fn a_delete_of_what_a_sparse_submodule_leaves_out_is_blocked() {
    let service = Service::start();
    let stage = without_x(&service, "a");
    with_x(&stage, "lib/b", "more/x.yaml");
    stage.write("lib/keep/README", "");
    submodule(&stage, "lib");
    let stage = stage.committed();
    is_blocked(&stage, &service, "a", "stack b in lib/b defines it");
    let lib = stage.path("lib");
    for rest in ["/b/more/", "/b/"] {
        git_in(&lib, &["sparse-checkout", "set", "--no-cone", "/*", &format!("!{rest}")]);
        is_blocked(&stage, &service, "a", &format!("`lib/b/more/x.yaml` {LACKS}"));
    }
    git_in(&lib, &["sparse-checkout", "set", "--no-cone", "/*", "!/b/trueup.yaml"]);
    is_blocked(&stage, &service, "a", "`lib/b` may define it, and the sparse working tree lacks its `trueup.yaml`");
    git_in(&lib, &["sparse-checkout", "disable"]);
}

#[test]
fn a_delete_of_what_a_sparse_repository_around_a_submodule_or_of_the_call_leaves_out_is_blocked() {
    let service = Service::start();
    let stage = without_x(&service, "lib/a");
    with_x(&stage, "b", "x.yaml");
    submodule(&stage, "lib");
    let stage = stage.committed();
    git(&stage, "submodule absorbgitdirs");
    is_blocked(&stage, &service, "lib/a", "stack b in b defines it");
    git(&stage, "sparse-checkout set --no-cone /* !/b/");
    assert!(!stage.path("b").exists());
    is_blocked(&stage, &service, "lib/a", &format!("`b/x.yaml` {LACKS}"));

    let service = Service::start();
    let stage = without_x(&service, "one/a");
    with_x(&stage, "two/b", "x.yaml");
    stage.write("two/c/trueup.yaml", "stack: c\nnamespaces: [other]\n");
    stage.write("two/c/y.yaml", &definition("other/y", 80));
    for repository in ["one", "two"] {
        let path = stage.path(repository);
        git_in(&path, &["init", "-q", "-b", "main"]);
        git_in(&path, &["add", "-A"]);
        git_in(&path, &["commit", "-qm", "own"]);
    }
    git_in(&stage.path("two"), &["sparse-checkout", "set", "c"]);
    assert!(!stage.path("two/b").exists());
    is_blocked(&stage, &service, "one/a two/c", &format!("`b/x.yaml` {LACKS}"));
}
