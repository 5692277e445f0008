//! Files of the last commit that the working tree lacks while `git status` says nothing of them: they were not deleted, and what
//! they define is not removed.

use std::os::unix::fs::symlink;
use std::path::Path;

use crate::support::{Service, Stage, commit, definition, git, git_in};

/// A repository that is applied, with a stack in `s` whose files are in two directories, and beside links to them.
fn repository(service: &Service) -> Stage {
    let stage = Stage::new()
        .at(service)
        .file("s/trueup.yaml", "stack: shop\nnamespaces: [shop]\n")
        .file("s/web/cart.yaml", &definition("shop/cart", 80))
        .file("s/api/pay.yaml", &definition("shop/pay", 81))
        .file("s/.versions/v2/card.yaml", &definition("shop/card", 82))
        .file("s/.versions/v2/kept.yaml", &definition("shop/kept", 83))
        .file("s/notes", "no definition");
    symlink(".versions/v2", stage.path("s/live")).expect("a link");
    symlink("notes", stage.path("s/same")).expect("a link");
    stage.committed().applied("s")
}

/// Each way, with what it leaves out and what then has to be said.
const WAYS: [(&str, &[&str], &str, &str); 12] = [
    ("sparse, a cone", &["sparse-checkout set s/web s/.versions"], "", "is sparse and lacks `s/api/pay.yaml`"),
    ("sparse, patterns", &["sparse-checkout set --no-cone /* !s/api"], "", "is sparse and lacks `s/api/pay.yaml`"),
    (
        "sparse index",
        &["sparse-checkout set --sparse-index s/web s/.versions"],
        "",
        "is sparse and lacks `s/api/pay.yaml`",
    ),
    (
        "switched off by its setting",
        &["sparse-checkout set s/web s/.versions", "config --worktree core.sparseCheckout false"],
        "",
        "lacks `s/api/pay.yaml` of the last commit",
    ),
    (
        "set for all repositories of the user",
        &["sparse-checkout set s/web s/.versions", "config --worktree --unset core.sparseCheckout"],
        "",
        "lacks `s/api/pay.yaml` of the last commit",
    ),
    (
        "sparse index without its setting",
        &["sparse-checkout set --sparse-index s/web s/.versions", "config --worktree core.sparseCheckout false"],
        "",
        "lacks `s/api/pay.yaml` of the last commit",
    ),
    ("skipped", &["update-index --skip-worktree s/api/pay.yaml"], "s/api/pay.yaml", "lacks `s/api/pay.yaml`"),
    ("assumed", &["update-index --assume-unchanged s/api/pay.yaml"], "s/api/pay.yaml", "lacks `s/api/pay.yaml`"),
    (
        "skipped, of an index of another version",
        &["update-index --index-version 4", "update-index --skip-worktree s/api/pay.yaml"],
        "s/api/pay.yaml",
        "lacks `s/api/pay.yaml`",
    ),
    (
        "read through a link",
        &["update-index --skip-worktree s/.versions/v2/card.yaml"],
        "s/.versions/v2/card.yaml",
        "lacks `s/.versions/v2/card.yaml`",
    ),
    ("a link that is skipped", &["update-index --skip-worktree s/live"], "s/live", "lacks `s/live`"),
    ("without links", &["config core.symlinks false"], "s/live", "`s/live` is a symbolic link in the last commit"),
];

#[test]
fn a_file_that_git_does_not_miss_is_not_deleted() {
    let service = Service::start();
    let stage = repository(&service);
    let clone = |at: usize| {
        let place = format!("../clone-{at}");
        git(&stage, &format!("clone -q . {place}"));
        stage.path(&place)
    };
    for (at, (way, commands, removed, said)) in WAYS.into_iter().enumerate() {
        let there = clone(at);
        commands.iter().for_each(|line| drop(git_in(&there, &line.split(' ').collect::<Vec<_>>())));
        if !removed.is_empty() {
            std::fs::remove_file(there.join(removed)).expect("a file");
        }
        if way == "without links" {
            git_in(&there, &["checkout", "-q", "--", "s"]);
            assert!(there.join("s/live").symlink_metadata().is_ok_and(|found| found.is_file()));
        }
        assert_eq!(git_in(&there, &["status", "--porcelain"]), "", "{way}");
        refused(&service, &stage, &there, said);
        let removed = stage.run(&format!("stacks {} --changed-since HEAD", there.display()));
        removed.code(0).does_not_say("removed");
    }
    for key in ["shop/cart", "shop/pay", "shop/card", "shop/kept"] {
        assert!(service.has(key), "{key}");
    }
}

/// Every command that could delete something is refused, also where git cannot be asked.
fn refused(service: &Service, stage: &Stage, there: &Path, said: &str) {
    let unasked = Stage::new().at(service).env("PATH", "/nowhere");
    for line in ["plan", "drift", "apply --yes"] {
        let line = format!("{line} {}/s", there.display());
        stage.run(&line).code(1).stderr_contains(said).stderr_contains("nothing was sent");
        unasked.run(&line).code(1).stderr_contains("has all files of its commit is unknown: ");
    }
}

#[test]
fn settings_above_the_directory_that_a_sparse_tree_lacks_are_missed() {
    let service = Service::start();
    let stage = repository(&service);
    git(&stage, "sparse-checkout set --no-cone /* !s/trueup.yaml");
    let lacks = "the working tree is sparse and lacks `s/trueup.yaml` of the last commit";
    for line in ["plan s/web", "drift s/web", "apply s/web --yes", "plan s"] {
        stage.run(line).code(1).stderr_contains(lacks).stderr_contains("nothing was sent");
    }
    // What is beside them is not about the directory.
    git(&stage, "sparse-checkout set --no-cone /* !s/api");
    stage.run("validate s/web").code(0);
}

#[test]
fn what_was_deleted_or_is_not_the_text_of_a_link_is_as_it_is_there() {
    let service = Service::start();
    let stage = repository(&service);
    git(&stage, "update-index --index-version 4");
    git(&stage, "update-index --skip-worktree s/web/cart.yaml");
    git(&stage, "update-index --assume-unchanged s/notes");
    stage.run("plan s").code(0).stdout_contains("In sync");
    stage.remove("s/api/pay.yaml");
    stage.remove("s/notes");
    stage.remove("s/same");
    stage.write("s/same", "notes");
    stage.remove("s/live");
    stage.write("s/live", "written by hand");
    let plan = stage.run("plan s");
    plan.code(0).stdout_contains("- delete  shop/pay").stdout_contains("- delete  shop/card");
}

#[test]
fn a_working_tree_whose_repository_is_out_of_reach_is_refused() {
    let service = Service::start();
    let stage = repository(&service);
    git(&stage, "worktree add -q ../tree -b side");
    git_in(&stage.path("../tree"), &["sparse-checkout", "set", "s/web", "s/.versions"]);
    let tree = stage.path("../tree");
    refused(&service, &stage, &tree, "is sparse and lacks `s/api/pay.yaml`");
    let (pointer, unknown) = (tree.join(".git"), "has all files of its commit is unknown: ");
    let text = std::fs::read(&pointer).expect("a pointer");
    for broken in [&b"gitdir: /nowhere/.git/worktrees/tree\n"[..], b"gitdir: ../nowhere", b"", b"nothing of git"] {
        std::fs::write(&pointer, broken).expect("a pointer");
        refused(&service, &stage, &tree, unknown);
        refused(&service, &stage, &tree, "points to a repository that cannot be read here");
    }
    std::fs::remove_file(&pointer).expect("a pointer");
    symlink("../nowhere/.git", &pointer).expect("a link");
    refused(&service, &stage, &tree, unknown);
    std::fs::remove_file(&pointer).expect("a link");
    // The oldest way to share a repository.
    std::fs::create_dir(&pointer).expect("a directory");
    std::fs::write(pointer.join("HEAD"), "ref: refs/heads/main\n").expect("a file");
    symlink("/nowhere/.git/objects", pointer.join("objects")).expect("a link");
    refused(&service, &stage, &tree, unknown);
    std::fs::remove_dir_all(&pointer).expect("a directory");
    std::fs::write(&pointer, text).expect("a pointer");
    git_in(&tree, &["sparse-checkout", "disable"]);
    stage.run("plan ../tree/s").code(0).stdout_contains("In sync");
    // Without it, nothing says that a file is missing.
    std::fs::remove_file(&pointer).expect("a pointer");
    std::fs::remove_file(tree.join("s/api/pay.yaml")).expect("a file");
    stage.run("plan ../tree/s").code(0).stdout_contains("- delete  shop/pay");
}

#[test]
fn a_submodule_whose_repository_is_out_of_reach_is_refused() {
    let service = Service::start();
    let stage = Stage::stack(&service, "shop")
        .file("cart.yaml", &definition("shop/cart", 80))
        .file("lib/pay.yaml", &definition("shop/pay", 81))
        .file(".gitmodules", "[submodule \"lib\"]\n\tpath = lib\n\turl = ../lib\n");
    let lib = stage.path("lib");
    for words in [&["init", "-q"][..], &["add", "-A"], &["commit", "-qm", "own"]] {
        git_in(&lib, words);
    }
    let stage = stage.committed().applied(".");
    std::fs::rename(lib.join(".git"), stage.path("../lib.git")).expect("moved");
    stage.write("lib/.git", "gitdir: ../../lib.git\n");
    stage.run("plan .").code(0).stdout_contains("In sync");
    stage.write("lib/.git", "gitdir: ../../nowhere.git\n");
    stage.remove("lib/pay.yaml");
    for line in ["plan .", "drift .", "apply . --yes"] {
        stage.run(line).code(1).stderr_contains("has all files of its commit is unknown: ").stderr_contains("lib/.git");
    }
}

#[test]
fn a_delete_is_blocked_where_a_file_that_git_does_not_miss_may_define_it() {
    let service = Service::start();
    let stage = repository(&service);
    stage.write("t/trueup.yaml", "stack: other\nnamespaces: [shop]\n");
    std::fs::rename(stage.path("s/api/pay.yaml"), stage.path("t/pay.yaml")).expect("moved");
    commit(&stage, "moved");
    git(&stage, "update-index --skip-worktree t/pay.yaml");
    stage.remove("t/pay.yaml");
    let unknown = "is unknown: `t/pay.yaml` may define it, and the working tree lacks that file";
    stage.run("plan s").code(0).stdout_contains(unknown);
    git(&stage, "update-index --skip-worktree t/trueup.yaml");
    stage.remove("t/trueup.yaml");
    stage.run("plan s").code(0).stdout_contains(unknown);
    stage.run("stacks . --changed-since HEAD").code(0).does_not_say("removed");
}
