//! What tests through the binary stand on: a stage with files on which commands run, what a command
//! said and how it ended, and a service that stops when it is dropped.

pub mod answers;
mod bucket;
mod hints;
pub mod objects;
pub mod other_kind;
mod repository;
mod schema;
pub mod scribe;
mod service;

use std::cell::Cell;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use serde_json::Value;
use tempfile::TempDir;

use hints::Hints;

pub use bucket::{BucketServer, OddServer, SECRET};
pub use repository::{commit, git, git_in, lose, shallow_clone};
#[cfg(unix)]
pub use repository::{path_with_git, program};
pub use service::{CLOSED, Service, TOKEN};

/// A directory with files, in which commands run with an environment of their own.
pub struct Stage {
    directory: TempDir,
    environment: BTreeMap<String, String>,
    hints: Hints,
}

impl Stage {
    /// An empty directory `work`, and beside it a state directory and a home.
    pub fn new() -> Self {
        let directory = tempfile::tempdir().expect("a temporary directory");
        std::fs::create_dir_all(directory.path().join("work")).expect("the working directory");
        Self { directory, environment: BTreeMap::new(), hints: Hints::default() }
    }

    /// A copy of an example directory, as `work`.
    pub fn example(name: &str) -> Self {
        let stage = Self::new();
        let from = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples").join(name);
        for entry in walkdir::WalkDir::new(&from) {
            let entry = entry.expect("an example file");
            if entry.file_type().is_file() {
                let below = entry.path().strip_prefix(&from).expect("it lies below");
                let text = std::fs::read_to_string(entry.path()).expect("a text");
                stage.write(below.to_str().expect("a plain path"), &text);
            }
        }
        stage
    }

    /// An empty stack of the namespace `shop` against `service`.
    pub fn stack(service: &Service, name: &str) -> Self {
        Self::new().at(service).file("trueup.yaml", &format!("stack: {name}\nnamespaces: [shop]\n"))
    }

    /// The same after an apply of `target`, a directory or a file.
    #[track_caller]
    pub fn applied(self, target: &str) -> Self {
        self.run(&format!("apply {target} --yes --quiet")).code(0);
        self
    }

    /// The same as a git repository, all of it in its first commit on the branch `main`.
    #[track_caller]
    pub fn committed(self) -> Self {
        git(&self, "init -q -b main");
        commit(&self, "first");
        self
    }

    /// The same with a file.
    pub fn file(self, path: &str, text: &str) -> Self {
        self.write(path, text);
        self
    }

    /// The same with a variable for every command.
    pub fn env(mut self, name: &str, value: &str) -> Self {
        self.environment.insert(name.to_owned(), value.to_owned());
        self
    }

    /// The same with every command talking to `service`.
    pub fn at(self, service: &Service) -> Self {
        let url = service.url();
        self.env("TRUEUP_BASE_URL", &url).env("TRUEUP_TOKEN", TOKEN)
    }

    /// Writes a file, over what is there.
    pub fn write(&self, path: &str, text: &str) {
        let text = other_kind::file(path, text);
        let path = self.path(path);
        std::fs::create_dir_all(path.parent().expect("a directory")).expect("the directories above it");
        std::fs::write(path, text).expect("the file");
    }

    /// Replaces the first `from` in a file, which must be there.
    pub fn edit(&self, path: &str, from: &str, to: &str) {
        let text = self.read(path);
        assert!(text.contains(from), "`{from}` is not in {path}:\n{text}");
        self.write(path, &text.replacen(from, to, 1));
    }

    pub fn read(&self, path: &str) -> String {
        std::fs::read_to_string(self.path(path)).expect("the file")
    }

    pub fn remove(&self, path: &str) {
        std::fs::remove_file(self.path(path)).expect("the file was there");
    }

    /// A path in the working directory.
    pub fn path(&self, path: &str) -> PathBuf {
        self.directory.path().join("work").join(path)
    }

    /// Runs a command line, split at blanks, to its end.
    #[track_caller]
    pub fn run(&self, line: &str) -> Ran {
        let words: Vec<&str> = line.split(' ').filter(|word| !word.is_empty()).collect();
        self.run_words(&words)
    }

    /// Runs a command of these words to its end.
    #[track_caller]
    pub fn run_words(&self, words: &[&str]) -> Ran {
        let output = self.command(words).stdin(Stdio::null()).output().expect("the program starts");
        self.hints.note(&words.join(" "), &output, &self.path(""));
        let ran = Ran::new(&words.join(" "), output, self.directory.path());
        if !other_kind::is_set() {
            schema::check(words, ran.code, (&ran.stdout, &ran.stderr), &self.path(""));
        }
        ran
    }

    /// A command of these words, not started.
    pub fn command(&self, words: &[&str]) -> Command {
        let mut command = self.program(env!("CARGO_BIN_EXE_trueup"));
        command.args(other_kind::words(words));
        command
    }

    fn program(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        command
            .current_dir(self.directory.path().join("work"))
            .env_clear()
            .env("HOME", self.directory.path())
            .env("XDG_STATE_HOME", self.directory.path().join("state"))
            // Without the first Windows opens no socket, and there is no usual place of git.
            .envs(
                ["SystemRoot", "PATH"]
                    .iter()
                    .filter(|_| cfg!(windows))
                    .filter_map(|name| Some((name, std::env::var_os(name)?))),
            )
            .envs(&self.environment);
        command
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        if cfg!(unix) && !std::thread::panicking() {
            let bin = Path::new(env!("CARGO_BIN_EXE_trueup")).parent().expect("its directory").display();
            let path = std::env::var("PATH").unwrap_or_default();
            self.hints.run(|| {
                let mut shell = self.program("sh");
                shell.env("PATH", format!("{bin}:{path}")).arg("-c");
                shell
            });
        }
    }
}

/// How a command ended and what it said. What it said on stderr must be looked at: a message that
/// nobody expected fails the test.
pub struct Ran {
    line: String,
    code: i32,
    stdout: String,
    stderr: String,
    stderr_was_seen: Cell<bool>,
}

impl Ran {
    fn new(line: &str, output: Output, directory: &Path) -> Self {
        let text = |bytes: Vec<u8>| {
            String::from_utf8(bytes).expect("UTF-8").replace(directory.to_str().expect("a plain path"), "[stage]")
        };
        Self {
            line: line.to_owned(),
            code: output.status.code().unwrap_or(-1),
            stdout: other_kind::shown(text(output.stdout)),
            stderr: other_kind::shown(text(output.stderr)),
            stderr_was_seen: Cell::new(false),
        }
    }

    #[track_caller]
    pub fn code(&self, code: i32) -> &Self {
        assert_eq!(self.code, code, "trueup {}\n{}\n{}", self.line, self.stdout, self.stderr);
        self
    }

    /// The whole stdout, with times and runs made equal.
    #[track_caller]
    pub fn stdout(&self, text: &str) -> &Self {
        assert_eq!(steady(&self.stdout), text, "trueup {}\n{}", self.line, self.stderr);
        self
    }

    /// The whole stderr, with times and runs made equal.
    #[track_caller]
    pub fn stderr(&self, text: &str) -> &Self {
        self.stderr_was_seen.set(true);
        assert_eq!(steady(&self.stderr), text, "trueup {}", self.line);
        self
    }

    /// A part of stdout.
    #[track_caller]
    pub fn stdout_contains(&self, part: &str) -> &Self {
        assert!(!part.is_empty(), "everything contains nothing");
        assert!(self.stdout.contains(part), "`{part}` is not in\n{}\n{}", self.stdout, self.stderr);
        self
    }

    #[track_caller]
    pub fn does_not_say(&self, part: &str) -> &Self {
        assert!(!self.stdout.contains(part), "`{part}` is in\n{}", self.stdout);
        assert!(!self.stderr.contains(part), "`{part}` is in\n{}", self.stderr);
        self
    }

    /// Whatever is on stderr: the test is about something else.
    pub fn stderr_ignored(&self) -> &Self {
        self.stderr_was_seen.set(true);
        self
    }

    /// A part of stderr.
    #[track_caller]
    pub fn stderr_contains(&self, part: &str) -> &Self {
        assert!(!part.is_empty(), "everything contains nothing");
        self.stderr_was_seen.set(true);
        assert!(self.stderr.contains(part), "`{part}` is not in\n{}\n{}", self.stderr, self.stdout);
        self
    }

    /// The answer as JSON.
    #[track_caller]
    pub fn json(&self) -> Value {
        let document = serde_json::from_str(&self.stdout);
        document.unwrap_or_else(|error| panic!("{error}: {}\n{}", self.stdout, self.stderr))
    }

    /// Lines of messages.
    pub fn stderr_lines(&self) -> usize {
        self.stderr.lines().count()
    }

    /// The exit code.
    pub fn exit(&self) -> i32 {
        self.code
    }

    /// All of stderr.
    pub fn errors(&self) -> &str {
        self.stderr_was_seen.set(true);
        &self.stderr
    }

    pub fn text(&self) -> &str {
        &self.stdout
    }
}

impl Drop for Ran {
    fn drop(&mut self) {
        if !std::thread::panicking() && !self.stderr_was_seen.get() {
            // Whether a wait is long enough to be shown is chance.
            let is_chance = |line: &&str| line.contains(", retrying in ") || line.starts_with("reading ");
            let unexpected: Vec<&str> = self.stderr.lines().filter(|line| !is_chance(line)).collect();
            assert!(unexpected.is_empty(), "nobody expected this of trueup {}: {unexpected:#?}", self.line);
        }
    }
}

/// Times, runs and digests differ from one run to the next.
fn steady(text: &str) -> String {
    let replace = |text: &str, pattern: &str, with: &str| {
        regex::Regex::new(pattern).expect("a pattern").replace_all(text, with).into_owned()
    };
    let text = replace(text, r"\d+\.\d+ s\b", "[time]");
    let text = replace(&text, r"\(\d+ ms\)", "([time])");
    let text = replace(&text, r"127\.0\.0\.1:\d+", "127.0.0.1:[port]");
    let text = replace(&text, r"\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d-[a-z0-9-]+", "[run]");
    replace(&text, r"\b(?:[0-9a-f]{32}|[0-9a-f]{16})\b", "[digest]")
}

/// A definition with an address and a port.
pub fn definition(key: &str, port: u16) -> String {
    let (namespace, name) = key.split_once('/').expect("namespace/name");
    format!("metadata:\n  name: {name}\n  namespace: {namespace}\nspec:\n  ip: 10.0.0.7\n  port: {port}\n")
}

/// A stack of two endpoints that is applied.
pub fn applied(service: &Service) -> Stage {
    Stage::stack(service, "shop")
        .file("cart.yaml", &definition("shop/cart", 80))
        .file("search.yaml", &definition("shop/search", 80))
        .applied(".")
}

/// A stack of three endpoints that is applied and defines none of them any more; others refer to the first.
pub fn removed_and_referred_to(service: &Service) -> Stage {
    let stage =
        Stage::stack(service, "shop").file("trueup.yaml", "stack: shop\nnamespaces: [shop]\nallow_empty: true\n");
    for name in ["a", "b", "c"] {
        stage.write(&format!("{name}.yaml"), &definition(&format!("shop/{name}"), 80));
    }
    stage.run("apply . --yes --quiet").code(0);
    service.refer_to("shop/a");
    for name in ["a", "b", "c"] {
        stage.remove(&format!("{name}.yaml"));
    }
    stage
}

/// A stack of three endpoints in two namespaces, a directory each, that is applied.
pub fn shop_and_pay(service: &Service) -> Stage {
    Stage::new()
        .at(service)
        .file("trueup.yaml", "stack: both\nnamespaces: [shop, pay]\n")
        .file("shop/cart.yaml", &definition("shop/cart", 80))
        .file("shop/search.yaml", &definition("shop/search", 80))
        .file("pay/card.yaml", &definition("pay/card", 80))
        .applied(".")
}

/// Whether the tests were started to outlive their terminal, as by `nohup`: every process that they start ignores its end.
/// Says that `test` is left out for that.
#[cfg(unix)]
pub fn is_hangup_ignored(test: &str) -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = ignored.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    let is_ignored = mask.is_some_and(|mask| mask & 1 != 0);
    if is_ignored {
        use std::io::Write as _;
        let _ = writeln!(std::io::stderr(), "NOT TESTED: {test}: this process ignores SIGHUP");
    }
    is_ignored
}
