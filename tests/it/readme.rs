//! Every `console` block of the README, of `docs/` and of `examples/` runs, and prints what it shows.
//!
//! A line `$ COMMAND` runs in a shell; all commands of a document share one shell, one copy of `examples/` and one state
//! directory. The lines below a command are its stdout, or that together with its stderr, with `…` for any lines. A command
//! without such lines must succeed. A here-document ends at a line `EOF`. What cannot run here (a real tenant, an
//! installation, git in a clone) is an `sh` block.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use regex::Regex;

use crate::support::{Service, TOKEN, git_in};

/// What ends the stdout and the stderr of a command, followed by its exit code.
const END: &str = "--- the command ended with";

/// A command of a document.
struct Step {
    line: usize,
    command: String,
    expected: Vec<String>,
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn documents() -> Vec<PathBuf> {
    let mut documents: Vec<PathBuf> = ["docs", "examples"]
        .iter()
        .flat_map(|directory| walkdir::WalkDir::new(root().join(directory)))
        .map(|entry| entry.expect("a file of the documentation").into_path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "md"))
        .collect();
    documents.extend(["README.md", "CONTRIBUTING.md", "SECURITY.md"].map(|name| root().join(name)));
    documents.sort();
    documents
}

/// The commands of a document with the output that it shows.
fn steps(text: &str) -> Vec<Step> {
    let (mut steps, mut inside, mut unfinished) = (Vec::<Step>::new(), false, false);
    for (index, line) in text.lines().enumerate() {
        if line.starts_with("```") {
            inside = !inside && line == "```console";
            continue;
        }
        if !inside {
            continue;
        }
        if let Some(command) = line.strip_prefix("$ ") {
            steps.push(Step { line: index + 1, command: command.to_owned(), expected: Vec::new() });
        } else if let Some(step) = steps.last_mut() {
            if unfinished {
                let _ = write!(step.command, "\n{line}");
            } else {
                step.expected.push(line.to_owned());
                continue;
            }
        }
        unfinished = steps.last().is_some_and(|Step { command, .. }| {
            command.ends_with(['|', '\\']) || (command.contains("<<'EOF'") && !command.ends_with("\nEOF"))
        });
    }
    for step in &mut steps {
        while step.expected.last().is_some_and(String::is_empty) {
            step.expected.pop();
        }
    }
    steps
}

/// A line without what differs from one run to the next.
fn stable(line: &str) -> String {
    let mut text = line.trim_end().to_owned();
    for (pattern, with) in [
        (r"\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d-[a-z0-9-]+", "RUN"),
        (r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d)?(\.\d+)?Z?", "TIME"),
        // Checks of two minutes.
        (r"TIME UTC to TIME UTC", "TIME UTC"),
        (r"\b[0-9a-f]{16,64}\b", "DIGEST"),
        (r"\b[0-9a-f]{7}\b", "COMMIT"),
        (r"\d+\.\d+ s\b|\d+ ms\b", "TIME"),
        (r"\(\d+ (s|min) ago\)", "(AGE)"),
        // Some days from the day on which the test runs.
        (r"accepted until \d{4}-\d\d-\d\d", "accepted until DATE"),
        (r"127\.0\.0\.1:\d+", "ADDRESS"),
    ] {
        text = Regex::new(pattern).expect("a pattern").replace_all(&text, with).into_owned();
    }
    text
}

/// Whether the lines are those that are shown, `…` being any lines.
fn agrees(shown: &[String], printed: &[String]) -> bool {
    match shown.split_first() {
        None => printed.is_empty(),
        Some((first, rest)) if first == "…" => (0..=printed.len()).any(|skipped| agrees(rest, &printed[skipped..])),
        Some((first, rest)) => printed.first().is_some_and(|line| line == first && agrees(rest, &printed[1..])),
    }
}

/// Runs the commands of a document and gives what is wrong with each.
fn run(name: &str, steps: &[Step]) -> Vec<String> {
    let stage = tempfile::tempdir().expect("a temporary directory");
    // Whoever follows a document is in a clone.
    let clone = stage.path().join("clone");
    std::fs::create_dir(&clone).expect("a directory");
    for entry in walkdir::WalkDir::new(root().join("examples")) {
        let entry = entry.expect("an example");
        let to = clone.join(entry.path().strip_prefix(root()).expect("it is below the root"));
        if entry.file_type().is_dir() {
            std::fs::create_dir_all(to).expect("a directory");
        } else {
            std::fs::copy(entry.path(), to).expect("a copy");
        }
    }
    git_in(&clone, &["init", "-q", "-b", "main"]);
    git_in(&clone, &["add", "-A"]);
    git_in(&clone, &["commit", "-qm", "clone"]);
    let script = steps.iter().fold(String::new(), |mut script, step| {
        let command = step.command.replace("cargo run --release -- ", "trueup ");
        let _ = write!(
            script,
            "{command}\nended=\"{END} $?\"\nprintf '\\n%s\\n' \"$ended\"\nprintf '\\n%s\\n' \"$ended\" >&2\n"
        );
        script
    });
    let program = Path::new(env!("CARGO_BIN_EXE_trueup")).parent().expect("its directory").display();
    let path = std::env::var("PATH").expect("a search path");
    let mut shell = Command::new("sh");
    shell
        .args(["-c", &script])
        .current_dir(&clone)
        .stdin(Stdio::null())
        .env_clear()
        .env("PATH", format!("{program}:{path}"))
        .env("HOME", stage.path())
        .env("XDG_STATE_HOME", stage.path().join("state"));
    let service = script.contains("$TRUEUP_BASE_URL").then(Service::start);
    if let Some(service) = &service {
        shell.env("TRUEUP_BASE_URL", service.url()).env("TRUEUP_TOKEN", TOKEN);
    }
    let output = shell.output().expect("a shell");
    let (stdout, stderr) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    let (mut answers, mut messages) = (stdout.split(END), stderr.split(END));
    let mut wrong = Vec::new();
    let mut answer = answers.next().unwrap_or_default().to_owned();
    let mut message = messages.next().unwrap_or_default().to_owned();
    for step in steps {
        let Some(next) = answers.next() else {
            wrong.push(format!("{name}:{}: `{}` did not run\n{stderr}", step.line, step.command));
            break;
        };
        let (code, after) = next.split_once('\n').unwrap_or((next, ""));
        let expected: Vec<String> = step.expected.iter().map(|line| stable(line)).collect();
        // A terminal shows both; a command that fails writes its error last.
        let printed =
            [answer.clone(), format!("{}\n{answer}", message.trim()), format!("{}\n{message}", answer.trim_end())];
        let agreed = printed.iter().any(|text| {
            let lines: Vec<String> = text.trim_end().lines().skip_while(|line| line.is_empty()).map(stable).collect();
            agrees(&expected, &lines)
        });
        let failed = if expected.is_empty() { code.trim() != "0" } else { matches!(code.trim(), "64" | "70" | "127") };
        if failed || !(expected.is_empty() || agreed) {
            let (at, command) = (step.line, &step.command);
            wrong.push(format!("{name}:{at}: `{command}` ended with{code} and printed\n{answer}\nstderr:\n{message}"));
        }
        answer = after.to_owned();
        message = messages.next().and_then(|next| next.split_once('\n')).unwrap_or_default().1.to_owned();
    }
    wrong
}

/// The second of them was once lost.
#[test]
fn the_readme_names_the_command_of_the_main_job_and_that_of_the_tests() {
    let text = std::fs::read_to_string(root().join("README.md")).expect("the README");
    let first = "$ cargo run --release -- apply examples/03-repository --sandbox --yes";
    assert!(steps(&text).iter().any(|step| format!("$ {}", step.command) == first), "{first}");
    assert!(text.lines().any(|line| line == "cargo test"), "cargo test");
    assert!(!text.contains("created itself"), "what was adopted is deleted as well");
}

#[test]
fn every_command_of_the_documentation_runs_and_prints_what_it_shows() {
    let (mut wrong, mut ran, mut compared) = (Vec::new(), 0, 0);
    for document in documents() {
        let text = std::fs::read_to_string(&document).expect("a document");
        let steps = steps(&text);
        if steps.is_empty() {
            continue;
        }
        let name = document.strip_prefix(root()).expect("it is below the root").display().to_string();
        ran += steps.len();
        compared += steps.iter().filter(|step| !step.expected.is_empty()).count();
        wrong.extend(run(&name, &steps));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
    assert!(ran > 0 && compared > 0, "{ran} commands ran, and the output of {compared} was compared");
}

#[test]
fn a_command_on_several_lines_is_one_and_its_output_ends_at_the_next() {
    let page = "```console\n$ a |\n    b\nout\n\n$ c\n$ cat <<'EOF'\nx\nEOF\nx\n```\n```sh\n$ d\n```\n";
    let found: Vec<(usize, String, usize)> =
        steps(page).into_iter().map(|step| (step.line, step.command, step.expected.len())).collect();
    let document = (7, "cat <<'EOF'\nx\nEOF".to_owned(), 1);
    assert_eq!(found, [(2, "a |\n    b".to_owned(), 1), (6, "c".to_owned(), 0), document]);
    let lines = |text: &str| text.lines().map(stable).collect::<Vec<_>>();
    assert!(agrees(&lines("one\n…\nthree"), &lines("one\ntwo\nthree")));
    assert!(!agrees(&lines("one\nthree"), &lines("one\ntwo\nthree")));
    assert_eq!(lines("in 0.20 s, run 2026-11-21T22-00-12-264-shop-0aac"), ["in TIME, run RUN"]);
}

/// What a document writes between backticks outside of code blocks.
fn quoted(text: &str) -> Vec<&str> {
    text.split("```").step_by(2).flat_map(|prose| prose.split('`').skip(1).step_by(2)).collect()
}

#[test]
fn every_file_and_every_test_that_a_document_names_exists() {
    const FOLDERS: [&str; 7] = ["src/", "tests/", "docs/", "examples/", "release/", "fuzz/", "benches/"];
    let sources: Vec<(PathBuf, String)> = ["src", "tests"]
        .iter()
        .flat_map(|directory| walkdir::WalkDir::new(root().join(directory)))
        .map(|entry| entry.expect("a source").into_path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "rs"))
        .map(|path| (path.clone(), std::fs::read_to_string(path).expect("a source")))
        .collect();
    let has = |file: &str, name: &str| {
        let function = format!("fn {name}(");
        sources.iter().any(|(path, text)| path.ends_with(file) && text.contains(&function))
    };
    let test = Regex::new("^[a-z0-9]+(_[a-z0-9]+){4,}$").expect("a pattern");
    let (mut missing, mut found) = (Vec::new(), 0);
    for document in documents() {
        let text = std::fs::read_to_string(&document).expect("a document");
        for name in quoted(&text) {
            let exists = if let Some((file, function)) = name.split_once(".rs::") {
                has(&format!("{file}.rs"), function)
            } else if test.is_match(name) {
                sources.iter().any(|(_, text)| text.contains(&format!("fn {name}(")))
            } else if FOLDERS.iter().any(|folder| name.starts_with(folder))
                && !name.contains([' ', '*'])
                && !name.contains("NAME")
            {
                root().join(name).exists()
            } else {
                continue;
            };
            found += 1;
            if !exists {
                missing.push(format!("{}: `{name}`", document.display()));
            }
        }
    }
    assert!(missing.is_empty(), "{}", missing.join("\n"));
    assert!(found > 0, "no document names a file");
}
