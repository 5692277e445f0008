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
    run_to(0, stage, directory, line)
}

/// The same for a command that ends with `code`.
#[track_caller]
fn run_to(code: i32, stage: &Stage, directory: &str, line: &str) -> String {
    let words: Vec<&str> = line.split(' ').collect();
    let output = stage.command(&words).current_dir(stage.path(directory)).output().expect("the program starts");
    let text = |bytes| String::from_utf8(bytes).expect("text");
    let (stdout, stderr) = (text(output.stdout), text(output.stderr));
    assert_eq!(output.status.code(), Some(code), "trueup {line}\n{stdout}\n{stderr}");
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

/// A stage with the same stack in both directories, applied in the first.
fn applied_and_copied(options: &str) -> Stage {
    let stage = stage();
    stage.write("two/endpoints/trueup.yaml", "stack: one\nnamespaces: [shop]\n");
    run(&stage, "one", &format!("apply endpoints --yes {options}"));
    stage
}

#[test]
fn a_copy_of_a_stack_in_another_sandbox_knows_nothing_of_the_runs_of_the_first() {
    for options in ["--sandbox", "--sandbox=x.redb", "--sandbox --state ../runs"] {
        let stage = applied_and_copied(options);
        run(&stage, "one", &format!("drift endpoints {options}"));
        // Not 3, which is drift.
        run_to(2, &stage, "two", &format!("drift endpoints {options}"));
        let text = run(&stage, "two", &format!("plan endpoints {options}"));
        assert!(text.contains("1 to create") && !text.contains("deleted outside"), "{text}");
        let text = run_to(1, &stage, "two", &format!("rollback last --config endpoints/trueup.yaml {options}"));
        assert!(text.contains("there is no run of stack `one` on http://sandbox.localhost"), "{text}");
        assert!(text.contains("; there are runs of stack `one` in the sandbox `"), "{text}");
    }
}

// Windows gives a file the time of another one of its name that was deleted just before.
#[cfg(not(windows))]
#[test]
fn a_sandbox_that_begins_anew_knows_nothing_of_the_runs_before_it() {
    for options in ["--sandbox", "--sandbox=x.redb"] {
        let stage = applied_and_copied(options);
        match options {
            "--sandbox" => drop(run(&stage, "one", "sandbox --reset")),
            _ => stage.remove("one/x.redb"),
        }
        let planned = run(&stage, "one", &format!("plan endpoints {options}"));
        assert!(planned.contains("1 to create") && !planned.contains("deleted outside"), "{planned}");
    }
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
