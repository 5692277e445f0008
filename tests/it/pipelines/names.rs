//! Names of every kind through every script of every pipeline, for real: directories, files, environments, stacks and
//! branches that are options, substitutions, variables, more than a line or a runner's command. A listener to which they
//! point hears nothing, nothing that they name runs, and no log or report acts.

use std::collections::{BTreeMap, BTreeSet};
use std::net::TcpListener;
use std::path::Path;

use serde::Deserialize as _;
use serde_json::{Value as Json, json};
use serde_yaml::Value;

use super::runner::{Ran, Runner, has};
use super::{WORKFLOWS, gitlab, jobs, steps, text, workflow};
use crate::support::{Service, TOKEN, definition};

/// A name that acts, with the URL of the listener for `LISTENER`.
const NAMES: [&str; 22] = [
    "--base-url=http:/LISTENER",
    "--allow=mass-change",
    "--help",
    "--version",
    "-n",
    "-e",
    "--config=other.yaml",
    "--token-file=x",
    "--",
    "-",
    "a b",
    "a;touch PWNED",
    "a`touch PWNED`",
    "a' 'b",
    "a\"b",
    "a\\b",
    "*",
    "~",
    "=ls",
    "a&&touch PWNED",
    "::error::forged",
    "##[error]forged",
];

/// Names that no matrix may have: a forge would expand them, or give a job another name.
const REFUSED: [&str; 6] =
    ["$TRUEUP_TOKEN", "$(touch PWNED)", "${IFS}", "a\n::error::forged", "a\r# forged", "a\u{1b}[2Jforged"];

/// Who listens where the names point, and what may not be there afterwards.
struct Trap {
    listener: TcpListener,
}

impl Trap {
    fn new() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a listener");
        listener.set_nonblocking(true).expect("a listener");
        Self { listener }
    }

    fn name(&self, name: &str) -> String {
        name.replace("LISTENER", &self.listener.local_addr().expect("an address").to_string())
    }

    /// Fails where a script did what a name says.
    #[track_caller]
    fn check(&self, runner: &Runner, what: &str, ran: &Ran) {
        assert!(self.listener.accept().is_err(), "{what}: the listener was called");
        let everything = format!("{}{}{}", ran.errors, ran.output, ran.summary);
        assert!(!everything.contains(TOKEN), "{what}: the token is in the log");
        assert!(!everything.contains("PWNED\n"), "{what}: {everything}");
        for line in everything.split(['\n', '\r']).map(str::trim_start) {
            assert!(!line.starts_with("::error::") && !line.starts_with("# forged"), "{what}: {line}");
        }
        assert!(!everything.contains("##[") && !everything.contains('\u{1b}'), "{what}: {everything}");
        let entries = walkdir::WalkDir::new(runner.stage.path("..")).into_iter().filter_map(Result::ok);
        let ran: Vec<_> = entries.filter(|entry| entry.file_name() == "PWNED").collect();
        assert!(ran.is_empty(), "{what}: {ran:?}");
    }
}

/// The scripts of the workflows, and those that were run.
#[derive(Default)]
struct Scripts {
    run: BTreeSet<String>,
}

impl Scripts {
    /// Runs the step of a job that has this id, or this name, or is the only one with a script.
    fn step(&mut self, trap: &Trap, runner: &Runner, (file, job, id): (&str, &str, &str)) -> Ran {
        let step = self.find(file, job, id);
        let ran = runner.step(&step);
        trap.check(runner, &format!("{file} {job} {id}"), &ran);
        ran
    }

    fn script(&mut self, runner: &Runner, (file, job, id): (&str, &str, &str), payload: &Json, answers: &Json) -> Json {
        let step = self.find(file, job, id);
        runner.script(&step, payload, answers)
    }

    fn find(&mut self, file: &str, job: &str, id: &str) -> Value {
        let workflow = workflow(file);
        let (_, content) = jobs(&workflow).into_iter().find(|(name, _)| *name == job).expect("the job");
        let is = |step: &&Value| !code(step).is_empty() && [text(step, "id"), text(step, "name")].contains(&id);
        let step = steps(content).iter().find(is).unwrap_or_else(|| panic!("{file} {job}: no step `{id}`")).clone();
        self.run.insert(code(&step).to_owned());
        step
    }

    /// Every script of every workflow was run.
    fn check(&self) {
        for name in WORKFLOWS {
            for (job, content) in jobs(&workflow(name)) {
                let Some(steps) = content.get("steps").and_then(Value::as_sequence) else { continue };
                for step in steps.iter().filter(|step| !code(step).is_empty()) {
                    assert!(self.run.contains(code(step)), "{name} {job}: no hostile name met\n{}", code(step));
                }
            }
        }
    }
}

/// The script of a step, of whatever kind.
fn code(step: &Value) -> &str {
    match text(step, "run") {
        "" => step.get("with").map_or("", |with| text(with, "script")),
        run => run,
    }
}

/// A repository with a stack in a directory of each name, and with files, environments and stacks of such names.
fn repository(trap: &Trap, service: &Service, below: &'static str) -> Runner {
    let mut files: BTreeMap<String, String> = BTreeMap::new();
    for (number, name) in NAMES.iter().enumerate() {
        let name = trap.name(name);
        files.insert(format!("{name}/trueup.yaml"), format!("stack: s{number}\nnamespaces: [n{number}]\n"));
        files.insert(format!("{name}/cart.yaml"), definition(&format!("n{number}/cart"), 80));
    }
    files.insert("files/trueup.yaml".into(), "stack: files\nnamespaces: [files]\n".into());
    for (number, name) in NAMES.iter().chain(&REFUSED).enumerate() {
        let path = format!("files/{}.yaml", trap.name(name));
        files.insert(path, definition(&format!("files/e{number}"), 80));
    }
    files.insert("named/trueup.yaml".into(), json!({"stack": trap.name(NAMES[0]), "namespaces": ["x"]}).to_string());
    files.insert("named/cart.yaml".into(), definition("x/cart", 80));
    let files: Vec<(&str, &str)> = files.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect();
    Runner::new(service, below, &files)
}

/// Adds a stack whose environments have such names, which a base must not have: a file that does not load could name any
/// stack.
fn add_environments(trap: &Trap, runner: &Runner, below: &str) {
    let names: serde_json::Map<String, Json> =
        NAMES.iter().chain(&REFUSED).map(|name| (trap.name(name), json!({"stack": "e"}))).collect();
    let settings = json!({"environments": names}).to_string();
    runner.stage.write(&format!("{below}environments/trueup.yaml"), &settings);
    runner.stage.write(&format!("{below}environments/cart.yaml"), &definition("env/cart", 80));
}

/// The last step of a job.
fn last(file: &str, job: &str) -> Value {
    let workflow = workflow(file);
    let (_, content) = jobs(&workflow).into_iter().find(|(name, _)| *name == job).expect("the job");
    steps(content).last().expect("a step").clone()
}

fn include(ran: &Ran) -> Vec<Json> {
    let matrix: Json = serde_json::from_str(&ran.handed("matrix")).expect("JSON");
    matrix["include"].as_array().expect("targets").clone()
}

fn choose(runner: &mut Runner, target: &Json) {
    for (variable, key) in [("DIRECTORY", "directory"), ("ENVIRONMENT", "environment"), ("ID", "id")] {
        runner.set(variable, target[key].as_str().unwrap_or_default());
    }
}

/// Whether the settings of the target can be read, so that it must be planned.
fn is_readable(target: &Json) -> bool {
    !["environments", "named"].contains(&target["directory"].as_str().unwrap_or_default())
}

#[test]
fn no_name_of_a_repository_acts_in_a_workflow_of_github() {
    if !has(&["bash", "jq", "git", "node"]) {
        return;
    }
    let (trap, service, mut scripts) = (Trap::new(), Service::start(), Scripts::default());
    let mut runner = repository(&trap, &service, "change/");
    runner.set("BASE", &runner.git("rev-parse HEAD"));
    for name in NAMES {
        let path = format!("change/{}/cart.yaml", trap.name(name));
        runner.stage.edit(&path, "port: 80", "port: 81");
    }
    for path in ["change/files/--help.yaml", "change/named/cart.yaml"] {
        runner.stage.edit(path, "port: 80", "port: 81");
    }
    add_environments(&trap, &runner, "change/");
    runner.commit();
    scripts.step(&trap, &runner, ("plan.yaml", "stacks", "Definitions"));
    scripts.step(&trap, &runner, ("plan.yaml", "stacks", "Base"));
    let targets = include(&scripts.step(&trap, &runner, ("plan.yaml", "stacks", "stacks")));
    assert_eq!(targets.len(), NAMES.len() + 3);
    let hostile = "protected=$(touch${IFS}PWNED) ;touch * --base-url=http:/LISTENER";
    for allow in [hostile, ""] {
        runner.set("ALLOW", allow);
        scripts.step(&trap, &runner, ("plan.yaml", "all", "plan"));
        assert!(!runner.stage.read("plan/all...stacks/plan.md").is_empty(), "{allow}");
        assert_eq!(runner.shell("rm -rf plan", "").code, 0);
    }
    for target in &targets {
        choose(&mut runner, target);
        runner.set("ALLOW", hostile);
        scripts.step(&trap, &runner, ("plan.yaml", "plan", "plan"));
        runner.set("ALLOW", "");
        assert_eq!(runner.shell("rm -rf plan", "").code, 0);
        let planned = scripts.step(&trap, &runner, ("plan.yaml", "plan", "plan"));
        let plan = runner.stage.path(&format!("plan/{}/plan.json", target["id"].as_str().expect("an id")));
        assert_eq!(plan.is_file(), is_readable(target), "{target}: {}", planned.errors);
        assert_eq!(planned.handed("code"), if is_readable(target) { "2" } else { "1" }, "{target}: {}", planned.errors);
        runner.set("CODE", &planned.handed("code"));
        let verdict = last("plan.yaml", "plan");
        scripts.run.insert(code(&verdict).to_owned());
        trap.check(&runner, "verdict", &runner.step(&verdict));
        // A fork has a snapshot, which its job fetches by the id.
        runner.stage.write(
            "../bin/gh",
            "#!/bin/sh\ncase \"$2\" in list) echo 5 ;; *) mkdir -p 5; echo '{}' > \"5/$ID.json\" ;; esac\n",
        );
        assert_eq!(runner.shell("chmod +x ../bin/gh", "").code, 0);
        scripts.step(&trap, &runner, ("plan.yaml", "fork", "Snapshot"));
        assert_eq!(runner.shell("rm live.json; mkdir -p plans; mv plan/* plans/", "").code, 0);
    }
    let pulls = json!([{"number": 7, "head": {"sha": "abc"}}]);
    let run = json!({"workflow_run": {"id": 1, "head_sha": "abc", "head_branch": "$(touch PWNED)", "html_url": "u",
                                      "head_repository": {"owner": {"login": "o"}}}});
    let comment = last("comment.yaml", "comment");
    scripts.run.insert(code(&comment).to_owned());
    let answers = json!({"pulls.list": pulls, "issues.listComments": []});
    let calls = runner.script(&comment, &run, &answers)["calls"].clone();
    let created = calls.as_array().expect("calls").iter().filter(|call| call[0] == "issues.createComment");
    let bodies: Vec<&str> = created.map(|call| call[1]["body"].as_str().expect("a body")).collect();
    assert_eq!(bodies.len(), targets.len());
    for body in bodies {
        assert!(
            !body.contains('\r') && !body.contains('\u{1b}') && !body.lines().any(|line| line == "# forged"),
            "{body}"
        );
    }
    let allowed = json!({"pulls.get": {"head": {"sha": "abc", "ref": "--x", "repo": {"full_name": "o/r"}}, "labels": [
        {"name": "allow:$(touch PWNED)"}, {"name": "allow:--help"}, {"name": "allow:a b"}]},
        "actions.listWorkflowRuns": {"workflow_runs": []}, "issues.listEvents": []});
    let pull = json!({"pull_request": {"number": 7}});
    let outputs = scripts.script(&runner, ("plan.yaml", "allowed", "labels"), &pull, &allowed)["outputs"].clone();
    assert_eq!(outputs["names"], "");
    let all = last("plan.yaml", "trueup");
    scripts.run.insert(code(&all).to_owned());

    // What is not text for a forge stops the matrix.
    for name in REFUSED {
        runner.stage.write(&format!("change/{name}/trueup.yaml"), "stack: refused\n");
        let ran = scripts.step(&trap, &runner, ("plan.yaml", "stacks", "stacks"));
        assert!(ran.code != 0 && ran.output.is_empty(), "{name:?}: {}", ran.output);
        std::fs::remove_dir_all(runner.stage.path(&format!("change/{name}"))).expect("the directory");
    }
    // Every stack is removed.
    for name in NAMES {
        let top = trap.name(name);
        let top = top.split('/').next().expect("a part");
        std::fs::remove_dir_all(runner.stage.path(&format!("change/{top}"))).expect("the directory");
    }
    runner.commit();
    let removed = scripts.step(&trap, &runner, ("plan.yaml", "stacks", "removed"));
    assert!(removed.summary.contains("stacks removed") && removed.summary.contains("./--help"), "{}", removed.summary);
    let commands = removed.summary.split("```").skip(1).step_by(2).flat_map(str::lines);
    for line in commands.filter(|line| line.starts_with("trueup apply")) {
        let words = line.trim_start_matches("trueup apply ");
        assert!(!words.starts_with('-') && !words.starts_with("'-"), "{line}");
    }

    let mut runner = repository(&trap, &service, "");
    add_environments(&trap, &runner, "");
    runner.commit();
    runner.set("BEFORE", "");
    runner.git("update-ref refs/remotes/origin/main HEAD");
    runner.set("TRUEUP_STATE", "run");
    // Settings that are wrong end the jobs of their own stack, and nothing of it is applied.
    let listed = scripts.step(&trap, &runner, ("apply.yaml", "stacks", "stacks"));
    assert_eq!(listed.code, 0, "{}", listed.errors);
    let listed = include(&listed);
    assert_eq!(listed.len(), NAMES.len() + 3);
    let wrong: Vec<&Json> = listed.iter().filter(|target| !is_readable(target)).collect();
    let entry = |name: &str| json!({"directory": name, "stack": "", "id": name});
    assert_eq!(wrong, [&entry("environments"), &entry("named")]);
    for target in wrong {
        choose(&mut runner, target);
        let planned = scripts.step(&trap, &runner, ("apply-stack.yaml", "plan", "plan"));
        assert!(planned.code != 0 && planned.output.is_empty(), "{target}: {}", planned.output);
    }
    for directory in ["environments", "named"] {
        let moved = runner.shell(&format!("mv {directory} ../{directory}"), "");
        assert_eq!(moved.code, 0, "{}", moved.errors);
    }
    runner.commit();
    runner.git("update-ref refs/remotes/origin/main HEAD");
    let targets = include(&scripts.step(&trap, &runner, ("apply.yaml", "stacks", "stacks")));
    assert_eq!(targets.len(), NAMES.len() + 1);
    for target in &targets {
        choose(&mut runner, target);
        let planned = scripts.step(&trap, &runner, ("apply-stack.yaml", "plan", "plan"));
        assert_eq!(planned.code == 0, is_readable(target), "{target}: {}", planned.errors);
        if planned.code == 0 {
            runner.set("DIGEST", &planned.handed("digest"));
            assert_eq!(scripts.step(&trap, &runner, ("apply-stack.yaml", "apply", "apply")).code, 0, "{target}");
            runner.stage.remove("evidence.json");
        }
    }
    assert!(
        (0..NAMES.len()).all(|number| service.has(&format!("n{number}/cart"))),
        "each stack was applied, and no other"
    );
    assert_eq!(runner.shell("mv ../environments ../named .", "").code, 0);
    for (file, job, folder) in [("drift.yaml", "drift", "reports"), ("snapshot.yaml", "snapshot", "snapshots")] {
        assert_eq!(include(&scripts.step(&trap, &runner, (file, "stacks", "stacks"))), [json!({"environment": ""})]);
        runner.set("ENVIRONMENT", "");
        scripts.step(&trap, &runner, (file, job, job));
        let found: Vec<String> = std::fs::read_dir(runner.stage.path(folder))
            .expect("what is kept")
            .map(|entry| entry.expect("a file").file_name().into_string().expect("a name"))
            .collect();
        let readable = targets.iter().filter(|target| is_readable(target));
        for id in readable.map(|target| target["id"].as_str().expect("an id")) {
            let end = if job == "drift" { "code" } else { "json" };
            assert!(found.contains(&format!("{id}.{end}")), "{id}: {found:?}");
            assert!(job != "drift" || runner.stage.read(&format!("reports/{id}.code")) == "0\n", "{id}");
        }
    }
    runner.set("CODES", "0 1");
    scripts.step(&trap, &runner, ("drift.yaml", "drift", "Verdict"));
    let calls =
        scripts.script(&runner, ("drift.yaml", "drift", "Issue"), &json!({}), &json!({"issues.listForRepo": []}));
    let titles = calls["calls"].as_array().expect("calls").iter().filter_map(|call| call[1]["title"].as_str());
    assert_eq!(titles.filter(|title| title.ends_with(" cannot be checked")).count(), 2);
    scripts.check();

    // What a cluster and a hook of git run.
    for line in [
        "trueup drift . --recursive --drift-state=states --write=json=checks.json",
        "trueup validate . -R",
        "trueup fleet report checks.json",
        "trueup plan . --recursive",
        "trueup fmt . --check",
    ] {
        trap.check(&runner, line, &runner.shell(line, ""));
    }
}

#[test]
fn no_name_of_a_repository_acts_in_a_pipeline_of_gitlab() {
    if !has(&["bash", "jq", "git"]) {
        return;
    }
    let (trap, service) = (Trap::new(), Service::start());
    let mut runner = repository(&trap, &service, "");
    runner.set("CI_MERGE_REQUEST_DIFF_BASE_SHA", &runner.git("rev-parse HEAD"));
    gitlab::forge(&mut runner);
    runner.stage.write("notes.json", "[]");
    runner.git("remote add origin .");
    runner.git("switch -qc change");
    for name in NAMES {
        runner.stage.edit(&format!("{}/cart.yaml", trap.name(name)), "port: 80", "port: 81");
    }
    add_environments(&trap, &runner, "");
    runner.commit();
    runner.set("CI_PIPELINE_SOURCE", "merge_request_event");
    runner.set("CI_DEFAULT_BRANCH", "change");
    runner.set("TRUEUP_STATE", "run");
    runner.set("JOBS", "plan comment plan-main apply drift");
    // Settings that are wrong end the pipeline before any job of a stack.
    let script = gitlab::script(&gitlab::file("gitlab-ci.yml"), "stacks");
    let invalid = runner.shell(&script, "");
    trap.check(&runner, "invalid", &invalid);
    assert_ne!(invalid.code, 0, "{}", invalid.errors);
    for directory in ["environments", "named"] {
        std::fs::remove_dir_all(runner.stage.path(directory)).expect("the directory");
    }
    runner.commit();
    let jobs = gitlab::generated(&runner);
    let mut planned = 0;
    // A branch can be called like an option of git, or like a command.
    for (number, branch) in
        ["--upload-pack=touch${IFS}PWNED", "$(touch${IFS}PWNED)", "a;touch${IFS}PWNED", "`touch${IFS}PWNED`", "-x"]
            .into_iter()
            .cycle()
            .take(NAMES.len())
            .enumerate()
    {
        let made = runner.shell(&format!("git update-ref 'refs/heads/{branch}' main"), "");
        assert_eq!(made.code, 0, "{}", made.errors);
        runner.set("CI_MERGE_REQUEST_TARGET_BRANCH_NAME", branch);
        let mut plans =
            jobs.iter().filter(|(name, _)| name.starts_with("plan ") && !name.ends_with(" .removed-stacks"));
        let plan = plans.nth(number).expect("a job");
        let id = plan.0.strip_prefix("plan ").expect("its name");
        let directory = plan.1["variables"]["DIRECTORY"]["value"].as_str().expect("a directory").to_owned();
        let is_readable = is_readable(&json!({"directory": directory}));
        for kind in ["plan", "comment", "plan-main", "apply", "drift"] {
            let ran = gitlab::run(&mut runner, &jobs[&format!("{kind} {id}")]);
            trap.check(&runner, &format!("{kind} {directory} {branch}"), &ran);
            assert!(ran.code == 0 || !is_readable, "{kind} {directory}: {}{}", ran.output, ran.errors);
            if kind == "plan-main" && is_readable {
                let digest = runner.stage.read("digest.env");
                runner.set("DIGEST", digest.trim().strip_prefix("DIGEST=").expect("a digest"));
            }
        }
        assert_eq!(runner.shell("rm -rf plan plan.json digest.env evidence.json note.json state", "").code, 0);
        planned += usize::from(is_readable);
    }
    assert_eq!(planned, NAMES.len());
    assert!(
        (0..NAMES.len()).all(|number| service.has(&format!("n{number}/cart"))),
        "each stack was applied, and no other"
    );
    for name in NAMES {
        let top = trap.name(name);
        std::fs::remove_dir_all(runner.stage.path(top.split('/').next().expect("a part"))).expect("the directory");
    }
    runner.commit();
    let jobs = gitlab::generated(&runner);
    let removed = gitlab::run(&mut runner, &jobs["plan .removed-stacks"]);
    trap.check(&runner, "removed", &removed);
    assert_eq!(removed.code, 0, "{}", removed.errors);
    for name in REFUSED {
        runner.stage.write(&format!("{name}/trueup.yaml"), "stack: refused\n");
        let ran = runner.shell(&gitlab::script(&gitlab::file("gitlab-ci.yml"), "stacks"), "");
        trap.check(&runner, name, &ran);
        assert_ne!(ran.code, 0, "{name:?}");
        std::fs::remove_dir_all(runner.stage.path(name)).expect("the directory");
    }
}

/// The scripts that install take nothing of a repository, and check what a person gives them.
#[test]
fn the_action_and_the_template_put_no_text_into_a_script_unchecked() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let action: Value =
        serde_yaml::from_str(&std::fs::read_to_string(root.join("action.yml")).expect("the action")).expect("YAML");
    for step in action.get("runs").and_then(|runs| runs.get("steps")).and_then(Value::as_sequence).expect("steps") {
        assert!(!text(step, "run").contains("${{"), "{}", text(step, "run"));
    }
    let template = std::fs::read_to_string(root.join("templates/trueup.yml")).expect("the template");
    let mut documents = serde_yaml::Deserializer::from_str(&template).map(|one| Value::deserialize(one).expect("YAML"));
    let spec = documents.next().expect("the inputs");
    let inputs = spec.get("spec").and_then(|spec| spec.get("inputs")).and_then(Value::as_mapping).expect("inputs");
    for (name, input) in inputs {
        // The URL of the releases is quoted in the script, and a maintainer's.
        let is_checked = input.get("regex").is_some() || name.as_str() == Some("releases");
        assert!(is_checked, "{name:?} is checked");
    }
}
