//! What tests through the binary stand on: a stage with files on which commands run, what a command
//! said and how it ended, and a service that stops when it is dropped.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use jiff::Timestamp;
use serde_json::Value;
use tempfile::TempDir;
use tokio::runtime::Runtime;
use trueup::sandbox::{self, Clock, LogEntry, RequiredToken, Running, SandboxOptions, Storage};

/// The token of every service of these tests.
pub const TOKEN: &str = "stage-token-f00d";

/// A directory with files, in which commands run with an environment of their own.
pub struct Stage {
    directory: TempDir,
    environment: BTreeMap<String, String>,
}

impl Stage {
    /// An empty directory `work`, and beside it a state directory and a home.
    pub fn new() -> Self {
        let directory = tempfile::tempdir().expect("a temporary directory");
        std::fs::create_dir_all(directory.path().join("work")).expect("the working directory");
        Self { directory, environment: BTreeMap::new() }
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
    pub fn run(&self, line: &str) -> Ran {
        let words: Vec<&str> = line.split(' ').filter(|word| !word.is_empty()).collect();
        self.run_words(&words)
    }

    /// Runs a command of these words to its end.
    pub fn run_words(&self, words: &[&str]) -> Ran {
        let output = self.command(words).stdin(Stdio::null()).output().expect("the program starts");
        Ran::new(&words.join(" "), output, self.directory.path())
    }

    /// A command of these words, not started.
    pub fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_trueup"));
        command
            .args(words)
            .current_dir(self.directory.path().join("work"))
            .env_clear()
            .env("HOME", self.directory.path())
            .env("XDG_STATE_HOME", self.directory.path().join("state"))
            // Without it Windows opens no socket.
            .envs(std::env::var_os("SystemRoot").map(|root| ("SystemRoot", root)))
            .envs(&self.environment);
        command
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
            stdout: text(output.stdout),
            stderr: text(output.stderr),
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
        assert!(self.stdout.contains(part), "`{part}` is not in\n{}\n{}", self.stdout, self.stderr);
        self
    }

    #[track_caller]
    pub fn does_not_say(&self, part: &str) -> &Self {
        assert!(!self.stdout.contains(part), "`{part}` is in\n{}", self.stdout);
        assert!(!self.stderr.contains(part), "`{part}` is in\n{}", self.stderr);
        self
    }

    /// A part of stderr.
    #[track_caller]
    pub fn stderr_contains(&self, part: &str) -> &Self {
        self.stderr_was_seen.set(true);
        assert!(self.stderr.contains(part), "`{part}` is not in\n{}\n{}", self.stderr, self.stdout);
        self
    }

    /// The answer as JSON.
    #[track_caller]
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.stdout).unwrap_or_else(|error| panic!("{error}: {}\n{}", self.stdout, self.stderr))
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
    #[cfg_attr(not(unix), expect(dead_code, reason = "the tests that look at it are for Unix"))]
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
            assert_eq!(self.stderr, "", "nobody expected this of trueup {}", self.line);
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

/// A service in this process that stops when it is dropped.
pub struct Service {
    runtime: Runtime,
    running: Option<Running>,
    client: reqwest::Client,
    token: String,
}

impl Service {
    /// An empty tenant in memory.
    pub fn start() -> Self {
        Self::with(|_| {})
    }

    pub fn with(change: impl FnOnce(&mut SandboxOptions)) -> Self {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build();
        let runtime = runtime.expect("a runtime");
        let mut options = SandboxOptions::new(Storage::Memory, RequiredToken::new(TOKEN), Clock::new(Timestamp::now));
        change(&mut options);
        let running = runtime.block_on(sandbox::start(options)).expect("a sandbox");
        let provider = std::sync::Arc::new(rustls::crypto::ring::default_provider());
        let tls = rustls::ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .expect("versions")
            .with_root_certificates(rustls::RootCertStore::empty())
            .with_no_client_auth();
        let client = reqwest::Client::builder().tls_backend_preconfigured(tls).no_proxy().build().expect("a client");
        Self { runtime, running: Some(running), client, token: TOKEN.to_owned() }
    }

    /// The same where the service was started with another token.
    pub fn with_token(mut self, token: &str) -> Self {
        token.clone_into(&mut self.token);
        self
    }

    fn running(&self) -> &Running {
        self.running.as_ref().expect("it runs until it is dropped")
    }

    pub fn url(&self) -> String {
        self.running().base_url()
    }

    /// Sends a request as somebody else would, and gives status and body.
    pub fn send(&self, method: &str, path: &str, body: Option<&str>) -> (u16, String) {
        let url = format!("{}{path}", self.url());
        let mut request = self
            .client
            .request(method.parse().expect("a method"), url)
            .header("Authorization", format!("APIToken {}", self.token));
        if let Some(body) = body {
            request = request.header("Content-Type", "application/json").body(body.to_owned());
        }
        self.runtime.block_on(async {
            let response = request.send().await.expect("an answer");
            (response.status().as_u16(), response.text().await.expect("a body"))
        })
    }

    /// The live object.
    #[track_caller]
    pub fn get(&self, key: &str) -> Value {
        let (status, body) = self.send("GET", &path(key), None);
        assert_eq!(status, 200, "{key}: {body}");
        serde_json::from_str(&body).expect("JSON")
    }

    /// Whether the object is there.
    pub fn has(&self, key: &str) -> bool {
        self.send("GET", &path(key), None).0 == 200
    }

    /// Creates an object as somebody else would.
    #[track_caller]
    pub fn create(&self, body: &Value) {
        let namespace = body["metadata"]["namespace"].as_str().expect("a namespace");
        let path = format!("/api/config/namespaces/{namespace}/endpoints");
        let (status, answer) = self.send("POST", &path, Some(&body.to_string()));
        assert_eq!(status, 200, "{answer}");
    }

    /// Changes a live object by hand.
    #[track_caller]
    pub fn change(&self, key: &str, change: impl FnOnce(&mut Value)) {
        let mut object = self.get(key);
        change(&mut object);
        let (status, answer) = self.send("PUT", &path(key), Some(&object.to_string()));
        assert_eq!(status, 200, "{answer}");
    }

    /// Deletes a live object by hand.
    #[track_caller]
    pub fn delete(&self, key: &str) {
        let (status, answer) = self.send("DELETE", &path(key), None);
        assert_eq!(status, 200, "{answer}");
    }

    /// Misbehaves from now on by a scenario, as YAML.
    #[track_caller]
    pub fn misbehave(&self, scenario: &str) {
        let (status, answer) = self.send("PUT", "/sandbox/faults", Some(scenario));
        assert_eq!(status, 200, "{answer}");
    }

    /// Puts objects there that no request could make.
    #[track_caller]
    pub fn plant(&self, seeds: &Value) {
        let (status, answer) = self.send("PUT", "/sandbox/endpoints", Some(&seeds.to_string()));
        assert_eq!(status, 200, "{answer}");
    }

    /// Every request so far.
    pub fn log(&self) -> Vec<LogEntry> {
        self.running().log()
    }

    /// How many requests with this method were answered.
    pub fn requests(&self, method: &str) -> usize {
        self.running().log().iter().filter(|entry| entry.method == method).count()
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        if let Some(running) = self.running.take() {
            self.runtime.block_on(running.stop());
        }
    }
}

fn path(key: &str) -> String {
    let (namespace, name) = key.split_once('/').expect("namespace/name");
    format!("/api/config/namespaces/{namespace}/endpoints/{name}")
}

/// A definition with an address and a port.
pub fn definition(key: &str, port: u16) -> String {
    let (namespace, name) = key.split_once('/').expect("namespace/name");
    format!("metadata:\n  name: {name}\n  namespace: {namespace}\nspec:\n  ip: 10.0.0.7\n  port: {port}\n")
}
