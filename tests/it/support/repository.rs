//! git as a test uses it: with an identity of its own and without the settings of whoever runs the test.

use std::path::Path;
use std::process::Command;

use super::Stage;

/// Runs `git` in a directory.
#[track_caller]
pub fn git_in(directory: &Path, words: &[&str]) -> String {
    let identity = ["-c", "user.name=t", "-c", "user.email=t@example.net", "-c", "commit.gpgsign=false"];
    let output = Command::new("git")
        .args(identity)
        .args(words)
        .current_dir(directory)
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .output()
        .expect("git starts");
    assert!(output.status.success(), "git {words:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).trim().to_owned()
}

/// Runs `git` in the stage's working directory.
#[track_caller]
pub fn git(stage: &Stage, line: &str) -> String {
    git_in(&stage.path(""), &line.split(' ').collect::<Vec<_>>())
}

/// Commits everything there is.
#[track_caller]
pub fn commit(stage: &Stage, message: &str) -> String {
    git(stage, "add -A");
    git(stage, &format!("commit -q --allow-empty -m {message}"));
    git(stage, "rev-parse HEAD")
}

/// Writes a program. A shell does, because a file that this process writes cannot be run while a program that another
/// test starts still has it open.
#[cfg(unix)]
#[track_caller]
pub fn program(path: &Path, text: &str) {
    let script = r#"printf %s "$1" > "$2" && chmod 755 "$2""#;
    let written = Command::new("sh").args(["-c", script, "sh", text]).arg(path).status().expect("a shell");
    assert!(written.success(), "{}", path.display());
}

/// A search path that begins with a `git` in `directory`, which runs `script` before it is the real one.
#[cfg(unix)]
pub fn path_with_git(directory: &Path, script: &str) -> String {
    let path = std::env::var("PATH").expect("a search path");
    let real = std::env::split_paths(&path).map(|place| place.join("git")).find(|file| file.is_file());
    let text = format!("#!/bin/sh\n{script}\nexec {} \"$@\"\n", real.expect("git").display());
    program(&directory.join("git"), &text);
    format!("{}:{path}", directory.display())
}

/// Takes away what the repository has of this file at a commit, as a partial clone lacks it.
#[track_caller]
pub fn lose(stage: &Stage, commit: &str, file: &str) {
    let object = git(stage, &format!("rev-parse {commit}:{file}"));
    stage.remove(&format!(".git/objects/{}/{}", &object[..2], &object[2..]));
}

/// Makes `clone` a clone of the last commit of `stage` alone.
#[track_caller]
pub fn shallow_clone(stage: &Stage, clone: &Stage) {
    let path = dunce::canonicalize(stage.path("")).expect("a path");
    let path = path.to_str().expect("a plain path").replace('\\', "/");
    git(clone, &format!("clone -q --depth 1 file:///{} .", path.trim_start_matches('/')));
}
