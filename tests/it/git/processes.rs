//! How often a command starts git: a definition that nobody changed must not wait for programs.

use std::path::PathBuf;
use std::process::Stdio;

use crate::support::{Service, Stage, commit, definition, git, path_with_git};

/// A `git` that writes down how it was called, before it is the real one.
struct Counter {
    calls: PathBuf,
}

impl Counter {
    /// Puts it first on the search path of the stage.
    fn new(stage: Stage) -> (Self, Stage) {
        let directory = stage.path("..").canonicalize().expect("a path").join("counter");
        std::fs::create_dir_all(&directory).expect("a directory");
        let calls = directory.join("calls");
        let path = path_with_git(&directory, &format!("echo \"$*\" >> {}", calls.display()));
        (Self { calls }, stage.env("PATH", &path))
    }

    /// The calls since the last question, without what is the same in each.
    fn take(&self) -> Vec<String> {
        let text = std::fs::read_to_string(&self.calls).unwrap_or_default();
        std::fs::remove_file(&self.calls).ok();
        let last = "-c protocol.allow=never ";
        text.lines().map(|line| line.split_once(last).map_or(line, |(_, call)| call).to_owned()).collect()
    }
}

/// A stack in sync, whose settings changed once.
fn in_sync(service: &Service, has_git: bool) -> (Counter, Stage) {
    let stage = Stage::new()
        .at(service)
        .file("stack/trueup.yaml", "stack: shop\nnamespaces: [shop]\nprune: none\n")
        .file("stack/cart.yaml", &definition("shop/cart", 8080));
    if has_git {
        git(&stage, "init -q -b main");
        commit(&stage, "first");
        stage.edit("stack/trueup.yaml", "none", "owned");
        commit(&stage, "second");
        stage.write("unrelated", "");
        commit(&stage, "third");
    }
    stage.run("apply stack --yes --quiet").code(0);
    Counter::new(stage)
}

#[test]
fn a_plan_in_sync_starts_git_twice() {
    let service = Service::start();
    let (counter, stage) = in_sync(&service, true);
    for line in ["plan stack", "drift stack", "plan stack -o ../plan.json"] {
        let ran = stage.run(line);
        ran.code(0);
        let calls = counter.take();
        assert_eq!(calls.len(), 2, "{line}: {calls:#?}");
        ran.stdout_contains("In sync");
    }
    let json = stage.run("plan stack --format json").code(0).json();
    assert_eq!(json["plan"]["source"]["commit"].as_str(), Some(git(&stage, "rev-parse HEAD").as_str()));
}

#[test]
fn a_plan_outside_of_a_repository_starts_no_git() {
    let service = Service::start();
    let (counter, stage) = in_sync(&service, false);
    stage.run("plan stack").code(0).stdout_contains("In sync");
    assert_eq!(counter.take(), [""; 0]);
}

#[test]
fn a_plan_against_a_base_asks_each_question_once() {
    let service = Service::start();
    let (counter, stage) = in_sync(&service, true);
    git(&stage, "checkout -qb branch");
    stage.edit("stack/cart.yaml", "port: 8080", "port: 8443");
    commit(&stage, "branch");
    counter.take();
    stage.run("plan stack --base main").code(0).stdout_contains("8443");
    let mut calls = counter.take();
    calls.sort();
    let count = calls.len();
    assert!(count <= 10, "{calls:#?}");
    // What is read is written to the standard input.
    calls.retain(|call| call != "cat-file --batch");
    let distinct = calls.len();
    calls.dedup();
    assert_eq!(calls.len(), distinct, "{calls:#?}");
}

#[test]
fn a_command_opens_one_view_of_the_repository_and_leaves_none() {
    let service = Service::start();
    let (counter, stage) = in_sync(&service, true);
    let temporary = stage.path("../temporary");
    std::fs::create_dir_all(&temporary).expect("a directory");
    let stage = stage.env("TMPDIR", temporary.to_str().expect("a plain path"));
    stage.edit("stack/cart.yaml", "port: 8080", "port: 8443");
    stage.run("apply stack --base main --yes --quiet").code(0);
    let calls = std::fs::read_to_string(&counter.calls).expect("calls");
    let views = calls.lines().filter_map(|call| call.split_once("--git-dir ")?.1.split(' ').next());
    let views: std::collections::BTreeSet<&str> = views.collect();
    assert_eq!(views.len(), 1, "{views:?}");
    assert_eq!(std::fs::read_dir(&temporary).expect("a directory").count(), 0);
}

#[test]
fn what_one_commit_removed_is_looked_up_once() {
    let service = Service::start();
    let mut stage = Stage::new().at(&service).file("trueup.yaml", "stack: shop\nnamespaces: [shop]\n");
    for name in ["a", "b", "c", "d", "kept"] {
        stage = stage.file(&format!("{name}.yaml"), &definition(&format!("shop/{name}"), 80));
    }
    let stage = stage.committed();
    stage.run("apply . --yes --quiet").code(0);
    ["a", "b", "c", "d"].iter().for_each(|name| stage.remove(&format!("{name}.yaml")));
    let removal = commit(&stage, "removed");
    stage.edit("kept.yaml", "80", "81");
    commit(&stage, "later");
    let (counter, stage) = Counter::new(stage);
    let plan = stage.run("plan . --format json").code(0).json();
    let changes = plan["plan"]["changes"].as_array().expect("changes");
    let commits: Vec<&str> = changes.iter().filter_map(|change| change["removed_in"]["id"].as_str()).collect();
    assert_eq!(commits, vec![removal.as_str(); 4], "{plan}");
    let diffs: Vec<String> = counter.take().into_iter().filter(|call| call.starts_with("diff-tree")).collect();
    assert_eq!(diffs.len(), 2, "{diffs:#?}");
}

#[test]
fn what_is_merged_while_the_definitions_are_read_is_not_taken_for_this_change() {
    let service = Service::start();
    let stage = Stage::stack(&service, "shop").file("cart.yaml", &definition("shop/cart", 80)).committed();
    git(&stage, "branch branch");
    stage.edit("cart.yaml", "port: 80", "port: 81");
    commit(&stage, "main");
    stage.run("apply . --yes --quiet").code(0);
    git(&stage, "checkout -q branch");
    let refused = "`HEAD` changed while the definitions were read: run it again";
    let directory = stage.path("..").canonicalize().expect("a path").join("mover");
    std::fs::create_dir_all(&directory).expect("a directory");
    let (here, moved) = (stage.path(".").canonicalize().expect("a path"), directory.join("moved"));
    let script = format!("mkdir {} 2>/dev/null && git -C {} merge -q main", moved.display(), here.display());
    let path = path_with_git(&directory, &script);
    for line in ["plan .", "plan . --base main", "apply . --base main --yes", "rehearse . --base main"] {
        git(&stage, "reset -q --hard main~1");
        std::fs::remove_dir(&moved).ok();
        let words: Vec<&str> = line.split(' ').collect();
        let ran = stage.command(&words).env("PATH", &path).stdin(Stdio::null()).output().expect("it runs");
        let said = String::from_utf8_lossy(&ran.stderr);
        assert!(moved.is_dir() && said.contains(refused), "{line}: {said}");
        assert_eq!(ran.status.code(), Some(1), "{line}: {said}");
        assert_eq!(service.get("shop/cart")["spec"]["port"], 81, "{line}");
    }
    git(&stage, "reset -q --hard main~1");
    stage.run("plan . --base main").code(0).stdout_contains("behind base");
}
