//! `--sandbox` keeps a tenant for each directory.

use std::path::Path;

use crate::support::{Service, Stage, definition};

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
    assert!(beside.contains("Nothing is in shop"), "{beside}");
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
    assert!(reset.starts_with("Deleted the sandbox: "), "{reset}");
    let file = reset.trim_end().rsplit(": ").next().expect("a path");
    assert!(!Path::new(file).exists());
    assert!(run(&stage, "one", "plan endpoints --sandbox").contains("1 to create"));
    assert!(run(&stage, "two", "plan endpoints --sandbox").contains("In sync: 1 endpoint"));
    let used = std::fs::File::open(file).expect("the file of the sandbox");
    used.lock().expect("a lock");
    assert!(run_to(1, &stage, "one", "sandbox --reset").contains("is already used by another sandbox process"));
    assert!(Path::new(file).exists());
    // Dropped alone, it stays locked while a program that another test starts still has it.
    used.unlock().expect("a lock");
    run(&stage, "one", "sandbox --reset");
    assert_eq!(run(&stage, "one", "sandbox --reset"), "This directory has no sandbox.\n");
    stage.run("sandbox --reset --data x.redb").code(64).stderr_contains("cannot be used with");
    stage.write("t.yaml", "kind: tenant\nnamespaces: [shop, shop, No_Name]\n");
    stage
        .run("sandbox --listen 127.0.0.1:0 --tenant t.yaml")
        .code(1)
        .stderr_contains("breaks 2 rules:\n  `namespaces[1]`: `shop` is listed twice\n  `namespaces[2]`");
    // The file is another sandbox than that of the directory.
    stage.run("sandbox --reset --sandbox=x.redb").code(64).stderr_contains("to serve it: --data x.redb");
    assert!(run(&stage, "two", "plan endpoints --sandbox").contains("In sync: 1 endpoint"));
}

#[cfg(unix)]
#[test]
fn a_file_that_is_no_sandbox_keeps_its_mode_and_one_that_is_loses_it() {
    use std::os::unix::fs::PermissionsExt as _;
    let stage = stage().file("one/notes", "mine\n");
    let file = |name: &str| stage.path(&format!("one/{name}"));
    let open =
        |name: &str| std::fs::set_permissions(file(name), std::fs::Permissions::from_mode(0o644)).expect("a mode");
    let mode = |name: &str| file(name).metadata().expect("a file").permissions().mode() & 0o777;
    open("notes");
    for line in ["sandbox --listen 127.0.0.1:0 --data notes", "plan endpoints --sandbox=notes"] {
        let text = run_to(1, &stage, "one", line);
        assert!(text.contains("`notes` cannot be opened as a sandbox file; choose another file: "), "{text}");
        assert_eq!(mode("notes"), 0o644, "{line}");
    }
    run(&stage, "one", "plan endpoints --sandbox=x.redb");
    open("x.redb");
    run(&stage, "one", "plan endpoints --sandbox=x.redb");
    assert_eq!(mode("x.redb"), 0o600);
}

/// A stage with the same stack in both directories, applied in the first.
fn applied_and_copied(options: &str) -> Stage {
    let stage = stage();
    stage.write("two/endpoints/trueup.yaml", "stack: one\nnamespaces: [shop]\n");
    run(&stage, "one", &format!("apply endpoints --yes {options}"));
    stage
}

#[test]
fn a_sandbox_logs_into_no_file_that_it_reads_and_takes_no_token_that_no_request_can_carry() {
    let stage = Stage::new().file("input", "{}\n");
    for read in ["--data", "--tenant", "--faults", "--token-file"] {
        let ran = stage.run(&format!("sandbox --listen 127.0.0.1:0 {read} input --log ./input"));
        ran.code(64).stderr_contains("the call also reads `./input`");
        assert_eq!(stage.read("input"), "{}\n", "{read}");
    }
    for (token, why) in [("", "the token is empty"), ("a b", "contains a blank"), ("a\nb", "contains a blank")] {
        stage.write("token", token);
        stage.run("sandbox --listen 127.0.0.1:0 --token-file token").code(1).stderr_contains(why);
    }
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

/// The name of the newest run.
fn newest(stage: &Stage) -> String {
    stage.run("history --format json").json()["runs"][0]["run"].as_str().expect("a run").to_owned()
}

#[test]
fn a_run_is_rolled_back_and_resumed_where_it_was_applied_alone() {
    let service = Service::start();
    let stage = stage().at(&service);
    let config = "--config endpoints/trueup.yaml";
    let refused = |run: &str, options: &str, places: [&str; 2], hint: &str| {
        for command in ["rollback", "apply --yes --resume"] {
            let text = run_to(6, &stage, "one", format!("{command} {run} {config} {options}").trim_end());
            let [there, here] = places;
            let found = text.contains(&format!("error: run {run} was applied to {there}"))
                && text.contains(&format!(", and the call names {here}"))
                && text.contains(hint)
                && !text.contains("resuming");
            assert!(found, "{text}");
        }
    };
    let file = |name: &str| dunce::canonicalize(stage.path("one").join(name)).expect("a file").display().to_string();
    for name in ["a", "b"] {
        run(&stage, "one", &format!("apply endpoints --yes --sandbox={name}.redb"));
    }
    let of_sandbox = newest(&stage);
    let b = format!("the sandbox `{}`", file("b.redb"));
    let flag = format!("that service is named by --sandbox={}", file("b.redb"));
    refused(&of_sandbox, "--sandbox=a.redb", [&b, &format!("the sandbox `{}`", file("a.redb"))], &flag);
    refused(&of_sandbox, "", [&b, &service.url()], &flag);
    run(&stage, "one", "apply endpoints --yes");
    let flag = format!("that service is named by --base-url {}", service.url());
    refused(&newest(&stage), "--sandbox=a.redb", [&service.url(), "the sandbox `"], &flag);
    assert!(service.has("shop/cart"));
    let undone =
        run(&stage, "one", &format!("rollback {of_sandbox} --yes --allow empty-namespace {config} --sandbox=b.redb"));
    assert!(undone.contains("1 deleted"), "{undone}");
}

#[test]
fn a_run_in_a_sandbox_that_is_gone_cannot_be_undone() {
    let stage = stage();
    run(&stage, "one", "apply endpoints --yes --sandbox=x.redb");
    stage.remove("one/x.redb");
    let line = format!("rollback {} --config endpoints/trueup.yaml --sandbox", newest(&stage));
    let text = run_to(6, &stage, "one", &line);
    assert!(text.contains("that sandbox is no longer there, and what the run changed is gone with it"), "{text}");
}

#[test]
fn the_commands_that_are_proposed_about_a_run_name_its_sandbox() {
    let stage = stage();
    run(&stage, "one", "apply endpoints --yes --sandbox=x.redb");
    let file = dunce::canonicalize(stage.path("one/x.redb")).expect("a file");
    let flag = format!("--sandbox={}", file.display());
    for line in ["history", "show last", "history --sandbox", "show last --sandbox=y.redb"] {
        let text = run(&stage, "one", line);
        assert!(text.contains(&flag) && text.matches("--sandbox").count() == text.matches(&flag).count(), "{text}");
    }
    let typed = run(&stage, "one", "history --sandbox=x.redb");
    assert!(typed.contains("--sandbox=x.redb\n"), "{typed}");
    run(&stage, "one", "apply endpoints --yes --sandbox");
    let own = run(&stage, "one", "history");
    assert!(own.contains("--sandbox\n") && !own.contains("--sandbox="), "{own}");
}
