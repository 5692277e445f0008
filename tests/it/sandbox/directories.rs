//! `--sandbox` keeps a tenant for each directory.

use std::path::Path;

use crate::support::{Stage, definition};

/// A stage with two directories that define the same endpoint, each as a stack of its own.
fn stage() -> Stage {
    ["one", "two"].iter().fold(Stage::new(), |stage, name| {
        stage
            .file(&format!("{name}/endpoints/trueup.yaml"), &format!("stack: {name}\nnamespaces: [shop]\n"))
            .file(&format!("{name}/endpoints/cart.yaml"), &definition("shop/cart", 80))
    })
}

/// Runs a command in a directory of the stage; its output.
#[track_caller]
fn run(stage: &Stage, directory: &str, line: &str) -> String {
    let words: Vec<&str> = line.split(' ').collect();
    let output = stage.command(&words).current_dir(stage.path(directory)).output().expect("the program starts");
    let text = |bytes| String::from_utf8(bytes).expect("text");
    let (stdout, stderr) = (text(output.stdout), text(output.stderr));
    assert!(output.status.success(), "trueup {line}\n{stdout}\n{stderr}");
    stdout + &stderr
}

#[test]
fn a_directory_has_a_sandbox_of_its_own_which_the_directories_below_it_use() {
    let stage = stage();
    for directory in ["one", "two"] {
        let applied = run(&stage, directory, "apply endpoints --sandbox --yes");
        assert!(applied.contains("1 created"), "{applied}");
        for below in [directory.to_owned(), format!("{directory}/endpoints")] {
            let listed = run(&stage, &below, "get shop --sandbox");
            assert!(listed.contains("shop/cart") && listed.contains(directory), "{listed}");
        }
    }
    let beside = run(&stage, ".", "get shop --sandbox");
    assert!(beside.contains("Nothing is there"), "{beside}");
    let sandboxes = std::fs::read_dir(stage.path("../state/trueup/sandboxes")).expect("the state directory");
    assert_eq!(sandboxes.count(), 3);
    assert!(
        !stage.path("one").read_dir().expect("it").any(|entry| entry.expect("an entry").file_name() != "endpoints")
    );
}

#[test]
fn a_reset_deletes_the_sandbox_of_this_directory_alone() {
    let stage = stage();
    for directory in ["one", "two"] {
        run(&stage, directory, "apply endpoints --sandbox --yes");
    }
    let reset = run(&stage, "one/endpoints", "sandbox --reset");
    assert!(reset.starts_with("Deleted the sandbox of this directory: "), "{reset}");
    let file = reset.trim_end().rsplit(": ").next().expect("a path");
    assert!(!Path::new(file).exists());
    assert!(run(&stage, "one", "plan endpoints --sandbox").contains("1 to create"));
    assert!(run(&stage, "two", "plan endpoints --sandbox").contains("In sync: 1 endpoint"));
    run(&stage, "one", "sandbox --reset");
    assert_eq!(run(&stage, "one", "sandbox --reset"), "This directory has no sandbox.\n");
    stage.run("sandbox --reset --data x.redb").code(64).stderr_contains("cannot be used with");
}

#[test]
fn a_second_stack_begins_in_a_directory_of_its_own_as_the_first_one_did() {
    let stage = Stage::new();
    for directory in ["monday", "tuesday"] {
        std::fs::create_dir(stage.path(directory)).expect("a directory");
        run(&stage, directory, "init endpoints --sandbox");
        let applied = run(&stage, directory, "apply endpoints --sandbox --yes");
        assert!(applied.contains("1 created"), "{applied}");
    }
}
