//! Runs the scripts of pipelines as a runner does: shell steps with the program in their path, and scripts of
//! `actions/github-script` in Node.js with the calls of the forge answered from a table.

use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::Duration;

use serde_json::Value as Json;
use serde_yaml::Value;

use super::text;
use crate::support::{Service, Stage, TOKEN, git};

/// Whether these programs are here; says so where one is not.
pub fn has(programs: &[&str]) -> bool {
    let missing = |program: &&&str| Command::new(program).arg("--version").output().is_err();
    let missing: Vec<_> = programs.iter().filter(missing).collect();
    if !missing.is_empty() {
        println!("SKIPPED: {missing:?} is not installed");
    }
    missing.is_empty()
}

/// What a shell script did.
pub struct Ran {
    pub code: i32,
    pub output: String,
    pub summary: String,
    pub errors: String,
}

impl Ran {
    /// What the script outputs under a name.
    #[track_caller]
    pub fn handed(&self, name: &str) -> String {
        let line = self.output.lines().find_map(|line| line.strip_prefix(&format!("{name}=")));
        line.unwrap_or_else(|| panic!("`{name}` is not in {}\n{}", self.output, self.errors)).to_owned()
    }
}

/// A workspace with a repository, in which the steps of one job after the other run.
pub struct Runner {
    pub stage: Stage,
    environment: Vec<(String, String)>,
    /// The directory of the repository in the workspace.
    repository: &'static str,
}

impl Runner {
    /// The repository of `files` below `repository`, in its first commit on `main`.
    pub fn new(service: &Service, repository: &'static str, files: &[(&str, &str)]) -> Self {
        let stage = Stage::new().at(service);
        files.iter().for_each(|(path, text)| stage.write(&format!("{repository}{path}"), text));
        let environment =
            [("TRUEUP_BASE_URL", service.url()), ("TRUEUP_TOKEN", TOKEN.to_owned()), ("CI", "true".into())];
        let environment = environment.map(|(name, value)| (name.to_owned(), value)).to_vec();
        let runner = Self { stage, environment, repository };
        runner.git("init -q -b main");
        runner.commit();
        runner
    }

    pub fn git(&self, line: &str) -> String {
        match self.repository {
            "" => git(&self.stage, line),
            below => git(&self.stage, &format!("-C {below} {line}")),
        }
    }

    pub fn commit(&self) -> String {
        self.git("add -A");
        self.git("commit -q --allow-empty -m a");
        self.git("rev-parse HEAD")
    }

    /// Sets a variable for all that follows.
    pub fn set(&mut self, name: &str, value: &str) {
        self.environment.retain(|(set, _)| set != name);
        self.environment.push((name.to_owned(), value.to_owned()));
    }

    /// A shell step of a workflow.
    pub fn step(&self, step: &Value) -> Ran {
        self.shell(text(step, "run"), text(step, "working-directory"))
    }

    /// A shell script in a directory of the workspace.
    pub fn shell(&self, script: &str, directory: &str) -> Ran {
        self.result(&self.command(script, directory).output().expect("bash starts"))
    }

    /// A shell step that is cancelled when its first create was answered and others are in flight: the runner interrupts the
    /// process that it started, and no other.
    pub fn cancelled(&self, step: &Value, service: &Service) -> Ran {
        service.hold("operation: endpoint-create, after: 1");
        let mut command = self.command(text(step, "run"), text(step, "working-directory"));
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("bash starts");
        while service.requests("POST") == 0 {
            assert!(child.try_wait().expect("a child").is_none(), "it ended before it was cancelled");
            std::thread::sleep(Duration::from_millis(10));
        }
        let sent = Command::new("kill").args(["-INT", &child.id().to_string()]).status().expect("kill");
        assert!(sent.success());
        let stderr = BufReader::new(child.stderr.take().expect("a pipe")).lines().map(|line| line.expect("text"));
        let errors = stderr.inspect(|line| {
            if line.contains("those in flight finish") {
                service.release();
            }
        });
        let stderr = errors.collect::<Vec<_>>().join("\n").into_bytes();
        self.result(&Output { stderr, ..child.wait_with_output().expect("it ends") })
    }

    /// The script in a file of its own, as the runner starts it.
    fn command(&self, script: &str, directory: &str) -> Command {
        let stage = &self.stage;
        let program = Path::new(env!("CARGO_BIN_EXE_trueup")).parent().expect("a directory");
        let path = std::env::var("PATH").unwrap_or_default();
        ["environment", "output", "summary"].iter().for_each(|name| stage.write(&format!("../{name}"), ""));
        stage.write("../step.sh", script);
        let mut command = Command::new("bash");
        command
            .arg("-e")
            .arg(stage.path("../step.sh"))
            .current_dir(stage.path(directory))
            .env_clear()
            .env("PATH", format!("{}:{}:{path}", stage.path("../bin").display(), program.display()))
            .env("HOME", stage.path(".."))
            .env("GITHUB_ENV", stage.path("../environment"))
            .env("GITHUB_OUTPUT", stage.path("../output"))
            .env("GITHUB_STEP_SUMMARY", stage.path("../summary"))
            .envs(self.environment.iter().map(|(name, value)| (name, value)));
        command
    }

    fn result(&self, ran: &Output) -> Ran {
        Ran {
            code: ran.status.code().unwrap_or(-1),
            output: self.stage.read("../output"),
            summary: self.stage.read("../summary"),
            errors: format!("{}{}", String::from_utf8_lossy(&ran.stdout), String::from_utf8_lossy(&ran.stderr)),
        }
    }

    /// A script of `actions/github-script`: `answers` maps a call such as `pulls.get` to what the forge answers. Gives
    /// every call with its arguments, and the outputs.
    #[track_caller]
    pub fn script(&self, step: &Value, payload: &Json, answers: &Json) -> Json {
        let harness = r"
            const [script, payload, answers] = process.argv.slice(1);
            const table = JSON.parse(answers), calls = [], outputs = {};
            const call = name => {
              const asked = async parameters => { calls.push([name, parameters]); return { data: table[name] }; };
              asked.of = name;
              return asked;
            };
            const rest = new Proxy({}, { get: (_, group) => new Proxy({}, { get: (_, what) => call(`${group}.${what}`) }) });
            const paginate = async (request, parameters) => (await request(parameters)).data;
            const warn = text => calls.push(['warning', text]);
            const core = { setOutput: (name, value) => { outputs[name] = value; }, warning: warn, info: warn };
            const context = { repo: { owner: 'o', repo: 'r' }, payload: JSON.parse(payload) };
            const Script = Object.getPrototypeOf(async () => {}).constructor;
            new Script('github', 'context', 'core', 'require', script)({ rest, paginate }, context, core, require)
              .then(() => console.log(JSON.stringify({ calls, outputs })), error => { console.error(error); process.exit(1); });
        ";
        let script = text(step.get("with").expect("inputs"), "script");
        let ran = Command::new("node")
            .args(["-e", harness, script, &payload.to_string(), &answers.to_string()])
            .current_dir(self.stage.path(""))
            .envs(self.environment.iter().map(|(name, value)| (name, value)))
            .output()
            .expect("node starts");
        assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
        serde_json::from_slice(&ran.stdout).expect("JSON")
    }
}
