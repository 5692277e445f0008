use super::*;

/// A program named `git` that runs this script.
fn script(directory: &Path, text: &str) -> Program {
    let file = directory.join("git");
    // A file that this process writes cannot be run while a program that another test starts still has it open.
    let shell = r#"printf '#!/bin/sh\n%s\n' "$1" > "$2" && chmod 755 "$2""#;
    let written = Command::new("sh").args(["-c", shell, "sh", text]).arg(&file).status().expect("a shell");
    assert!(written.success());
    Program::find(Some(directory.as_os_str()), Path::new("/nowhere")).expect("the script")
}

#[test]
fn a_program_that_does_not_end_is_ended() {
    let directory = tempfile::tempdir().expect("a directory");
    let program = script(directory.path(), "exec /bin/sleep 60");
    let bounds = CallLimits { bytes: 10, time: Duration::from_millis(100) };
    let begun = Instant::now();
    let error = program.run(directory.path(), &["rev-parse"], Vec::new(), bounds).expect_err("it took too long");
    assert_eq!(error.to_string(), "`git rev-parse` failed: no answer in 0.1 s");
    assert!(begun.elapsed() < Duration::from_secs(10));
}

#[test]
fn an_answer_without_an_end_is_cut_off() {
    let directory = tempfile::tempdir().expect("a directory");
    let program = script(directory.path(), "exec /bin/cat /dev/zero");
    let error =
        program.run(directory.path(), &["ls-tree"], Vec::new(), CallLimits::bytes(1000)).expect_err("it is too large");
    assert!(matches!(error, GitError::TooLarge(_)), "{error}");
}

#[test]
fn what_git_names_on_a_line_of_its_own_is_part_of_its_complaint() {
    let directory = tempfile::tempdir().expect("a directory");
    let complaint = |text: &str| {
        let program = script(directory.path(), &format!("printf '{text}' >&2"));
        program.run(directory.path(), &["log"], Vec::new(), CallLimits::bytes(10)).expect("it ended").complaint
    };
    let unknown = complaint(r"fatal: unknown repository extension found:\n\trefstorage\nhint: more\n");
    assert_eq!(unknown, "fatal: unknown repository extension found: refstorage");
    assert_eq!(complaint(r"fatal: bad object\nfatal: more\n"), "fatal: bad object");
    assert_eq!(complaint(""), "it printed no error");
}

#[test]
fn the_program_gets_none_of_the_callers_environment() {
    let directory = tempfile::tempdir().expect("a directory");
    let program = script(directory.path(), "/usr/bin/env");
    let said =
        program.run(directory.path(), &["rev-parse"], Vec::new(), CallLimits::bytes(10_000)).expect("an environment");
    let text = String::from_utf8(said.output).expect("a text");
    let mut names: Vec<&str> = text.lines().filter_map(|line| Some(line.split_once('=')?.0)).collect();
    // The shell sets these itself.
    names.retain(|name| !["PWD", "OLDPWD", "SHLVL", "_"].contains(name));
    names.sort_unstable();
    let mut expected: Vec<&str> = ENVIRONMENT.iter().map(|(name, _)| *name).chain(["PATH"]).collect();
    expected.sort_unstable();
    assert_eq!(names, expected);
}

#[test]
fn only_an_absolute_entry_outside_of_the_repository_chooses_the_program() {
    let top = tempfile::tempdir().expect("a directory");
    let repository = file::real_path(&top.path().join("repository")).unwrap_or_else(|_| {
        std::fs::create_dir(top.path().join("repository")).expect("a directory");
        file::real_path(&top.path().join("repository")).expect("a path")
    });
    let outside = top.path().join("outside");
    std::fs::create_dir_all(&outside).expect("a directory");
    std::fs::create_dir_all(repository.join("bin")).expect("a directory");
    script(&repository.join("bin"), "");
    std::os::unix::fs::symlink(repository.join("bin"), top.path().join("link")).expect("a link");
    let find = |entries: &[&Path]| {
        let path = std::env::join_paths(entries).expect("a search path");
        Program::find(Some(&path), &repository).map(|program| program.file)
    };
    let inside = repository.join("bin");
    let link = top.path().join("link");
    let untrusted = [Path::new("."), Path::new(""), Path::new("bin"), &inside, &link];
    assert!(matches!(find(&untrusted), Err(GitError::NoProgram(_))));
    std::os::unix::fs::symlink(inside.join("git"), outside.join("git")).expect("a link");
    assert!(matches!(find(&[&outside]), Err(GitError::NoProgram(_))), "a link into the repository");
    std::fs::remove_file(outside.join("git")).expect("removed");
    script(&outside, "");
    assert_eq!(find(&[Path::new("."), &inside, &outside]).ok(), Some(outside.join("git")));
}
