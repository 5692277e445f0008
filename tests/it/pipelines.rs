//! The pipelines of the examples: each file is YAML, each command in it is one that trueup takes, and the
//! scripts of the workflows do against a sandbox what they say. `just pipelines` asks the forges' tools.

use std::path::Path;

use serde_yaml::Value;

use crate::support::{Service, Stage, TOKEN, definition};

/// Every text of a document, and every list of texts as one line.
fn texts(value: &Value, found: &mut Vec<String>) {
    match value {
        Value::String(text) => found.extend(text.lines().map(|line| line.trim().to_owned())),
        Value::Sequence(items) => {
            let words: Vec<&str> = items.iter().filter_map(Value::as_str).collect();
            if words.len() == items.len() && words.first() == Some(&"drift") {
                found.push(format!("trueup {}", words.join(" ")));
            }
            items.iter().for_each(|item| texts(item, found));
        }
        Value::Mapping(map) => map.values().for_each(|value| texts(value, found)),
        _ => {}
    }
}

#[test]
fn every_command_of_a_pipeline_is_one_that_the_program_takes() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/pipelines");
    let stage = Stage::new();
    let mut commands = 0;
    for entry in walkdir::WalkDir::new(&root) {
        let entry = entry.expect("an entry");
        let name = entry.file_name().to_string_lossy().into_owned();
        if !name.ends_with(".yaml") && !name.ends_with(".yml") {
            continue;
        }
        let text = std::fs::read_to_string(entry.path()).expect("a text");
        let document: Value = serde_yaml::from_str(&text).unwrap_or_else(|error| panic!("{name}: {error}"));
        let mut found = Vec::new();
        texts(&document, &mut found);
        let lines: Vec<&String> = found.iter().filter(|line| line.starts_with("trueup ")).collect();
        assert!(!lines.is_empty(), "{name} runs nothing");
        for line in lines {
            let line = line.replace("$(JOB_COMPLETION_INDEX)", "0").replace('"', "");
            let line = line.trim_start_matches("trueup ");
            let line = line.split(['>', '|']).next().unwrap_or_default().trim();
            stage.run(&format!("{line} --help")).code(0);
            commands += 1;
        }
        if text.contains("TRUEUP_TOKEN:") || text.contains("name: TRUEUP_TOKEN\n") {
            assert!(text.contains("TRUEUP_BASE_URL"), "{name}: the URL is pinned beside the token");
        }
        let words = text.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_'));
        for token in words.filter(|word| word.starts_with("TRUEUP_TOKEN_") && !word.ends_with("_URL")) {
            assert!(text.contains(&format!("{token}_URL")), "{name}: {token} is bound to its service");
        }
        if entry.path().parent().is_some_and(|parent| parent.ends_with("github")) {
            let permissions = document.get("permissions").and_then(Value::as_mapping).expect("permissions");
            assert_eq!(permissions.get("contents").and_then(Value::as_str), Some("read"), "{name}");
        }
    }
    assert!(commands >= 10, "{commands} commands");
}

fn workflow(name: &str) -> Value {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/pipelines/github").join(name);
    serde_yaml::from_str(&std::fs::read_to_string(path).expect("a workflow")).expect("YAML")
}

fn jobs(workflow: &Value) -> Vec<(&str, &Value)> {
    let jobs = workflow.get("jobs").and_then(Value::as_mapping).expect("jobs");
    jobs.iter().map(|(name, job)| (name.as_str().expect("a name"), job)).collect()
}

fn steps(job: &Value) -> &Vec<Value> {
    job.get("steps").and_then(Value::as_sequence).expect("steps")
}

fn text<'v>(value: &'v Value, key: &str) -> &'v str {
    value.get(key).and_then(Value::as_str).unwrap_or_default()
}

/// What stands behind each `key` of the example pipelines, once.
fn pins(key: &str) -> Vec<String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/pipelines");
    let files = walkdir::WalkDir::new(root).into_iter().map(|entry| entry.expect("an entry").into_path());
    let mut found: Vec<String> = files
        .filter(|path| path.extension().is_some_and(|extension| extension == "yaml" || extension == "yml"))
        .flat_map(|path| {
            let text = std::fs::read_to_string(path).expect("a text");
            let behind = text.lines().filter_map(|line| line.split_once(key).map(|(_, value)| value.to_owned()));
            behind.collect::<Vec<_>>()
        })
        .collect();
    found.sort();
    found.dedup();
    found
}

#[test]
fn the_pipelines_install_one_version_and_all_of_them_the_same() {
    let hexadecimal = |text: &str| text.len() == 64 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    let versions = pins(" version: ");
    assert!(versions.len() == 1 && versions[0].split('.').count() == 3, "{versions:?}");
    let sums = pins(" sha256: ");
    assert!(sums.len() == 1 && hexadecimal(&sums[0]), "{sums:?}");
    let images = pins(" image: ");
    assert_eq!(images.len(), 1, "{images:?}");
    let digest = images[0].split_once("/trueup@sha256:").map(|(_, digest)| digest);
    assert!(digest.is_some_and(hexadecimal), "an image is pulled by its digest: {images:?}");
}

#[test]
fn no_workflow_gives_more_than_it_needs() {
    for (name, more) in [("plan.yaml", Some("pull-requests")), ("apply.yaml", None), ("drift.yaml", Some("issues"))] {
        let workflow = workflow(name);
        let granted: Vec<(&str, &str)> = workflow
            .get("permissions")
            .and_then(Value::as_mapping)
            .expect("permissions")
            .iter()
            .filter_map(|(what, how)| Some((what.as_str()?, how.as_str()?)))
            .collect();
        let wanted: Vec<(&str, &str)> =
            [("contents", "read")].into_iter().chain(more.map(|what| (what, "write"))).collect();
        assert_eq!(granted, wanted, "{name}");
        assert!(workflow.get("on").expect("triggers").get("pull_request_target").is_none(), "{name}");
        for (job, content) in jobs(&workflow) {
            assert!(content.get("timeout-minutes").is_some(), "{name} {job} may hang");
            // A secret is an environment's, and stands in the variables of its job alone.
            assert!(!text(content, "environment").is_empty(), "{name} {job}");
            for step in steps(content) {
                let written = serde_yaml::to_string(step).expect("YAML");
                assert!(!written.contains("secrets."), "{name} {job}");
                // What is put into a script is a way in.
                let scripts = [text(step, "run"), step.get("with").map_or("", |with| text(with, "script"))];
                assert!(scripts.iter().all(|script| !script.contains("${{")), "{name} {job}");
                if let Some((_, version)) = text(step, "uses").split_once('@') {
                    let pinned = version.len() == 40 && version.bytes().all(|byte| byte.is_ascii_hexdigit());
                    assert!(pinned, "{name} {job}: {version} can be moved");
                }
                if text(step, "uses").starts_with("actions/checkout") {
                    let kept = step.get("with").and_then(|with| with.get("persist-credentials"));
                    assert_eq!(kept.and_then(Value::as_bool), Some(false), "{name} {job}");
                }
            }
        }
    }
    let plan = workflow("plan.yaml");
    let fork = "github.event.pull_request.head.repo.full_name == github.repository";
    assert_eq!(text(jobs(&plan)[0].1, "if"), fork);
    // Only the job that waits for a reviewer writes, with the digest of the job before it.
    let apply = workflow("apply.yaml");
    let second = jobs(&apply)[1].1;
    assert_eq!((text(second, "needs"), text(second, "environment")), ("plan", "production"));
    assert_eq!(text(second.get("env").expect("variables"), "DIGEST"), "${{ needs.plan.outputs.digest }}");
}

/// Runs a step of a workflow as a runner does, and gives its exit code with what it hands on.
fn run(stage: &Stage, step: &Value, environment: &[(&str, &str)]) -> (i32, String, String) {
    let program = Path::new(env!("CARGO_BIN_EXE_trueup")).parent().expect("a directory");
    let path = format!("{}:{}", program.display(), std::env::var("PATH").unwrap_or_default());
    for name in ["output", "summary"] {
        stage.write(name, "");
    }
    let ran = std::process::Command::new("bash")
        .args(["-e", "-c", text(step, "run")])
        .current_dir(stage.path(""))
        .env_clear()
        .env("PATH", path)
        .env("HOME", stage.path(".."))
        .env("GITHUB_OUTPUT", stage.path("output"))
        .env("GITHUB_STEP_SUMMARY", stage.path("summary"))
        .envs(environment.iter().copied())
        .output()
        .expect("bash starts");
    let code = ran.status.code().unwrap_or(-1);
    if code > 5 {
        println!("{}{}", String::from_utf8_lossy(&ran.stdout), String::from_utf8_lossy(&ran.stderr));
    }
    (code, stage.read("output"), stage.read("summary"))
}

fn step<'v>(job: &'v Value, id: &str) -> &'v Value {
    steps(job).iter().find(|step| text(step, "id") == id).expect("the step")
}

fn handed(output: &str, name: &str) -> String {
    let line = output.lines().find_map(|line| line.strip_prefix(&format!("{name}=")));
    line.unwrap_or_else(|| panic!("`{name}` is not in {output}")).to_owned()
}

#[test]
fn the_workflows_do_what_they_say() {
    let has = |program: &str| std::process::Command::new(program).arg("--version").output().is_ok();
    if !has("bash") || !has("jq") || !has("git") {
        return;
    }
    let service = Service::start();
    let stage = Stage::new()
        .at(&service)
        .file("endpoints/trueup.yaml", "stack: s\nnamespaces: [shop]\n")
        .file("endpoints/cart.yaml", &definition("shop/cart", 80));
    for line in ["init -q -b main", "add -A", "-c user.name=t -c user.email=t@example.net commit -qm first"] {
        let git = std::process::Command::new("git").args(line.split(' ')).current_dir(stage.path("")).status();
        assert!(git.expect("git starts").success());
    }
    let url = service.url();
    let environment = [("TRUEUP_BASE_URL", url.as_str()), ("TRUEUP_TOKEN", TOKEN), ("BASE", "main")];

    // A pull request: the comment is found again by its first line.
    stage.edit("endpoints/cart.yaml", "port: 80", "port: 81");
    let plan = workflow("plan.yaml");
    let job = jobs(&plan)[0].1;
    let (code, output, summary) = run(&stage, step(job, "plan"), &environment);
    assert_eq!((code, handed(&output, "code").as_str()), (0, "2"));
    assert!(summary.starts_with("<!-- trueup:plan stack=s -->\n"), "{summary}");
    let comment = steps(job).iter().find(|step| text(step, "name") == "Comment").expect("the comment");
    let script = text(comment.get("with").expect("inputs"), "script");
    assert!(script.contains("startsWith('<!-- trueup:plan ')") && script.contains("split('\\n', 1)[0]"));

    // A merge: the digest goes from the plan to the apply.
    let apply = workflow("apply.yaml");
    let (planned, applied) = (jobs(&apply)[0].1, jobs(&apply)[1].1);
    let (code, output, _) = run(&stage, step(planned, "plan"), &environment);
    assert_eq!((code, handed(&output, "code").as_str()), (0, "2"));
    let digest = handed(&output, "digest");
    let last = steps(applied).last().expect("a step");
    let with = |digest: &'static str| environment.iter().copied().chain([("DIGEST", digest)]).collect::<Vec<_>>();
    assert_eq!(run(&stage, last, &with("00000000000000000000000000000000")).0, 6, "another plan");
    let owned: Vec<(&str, &str)> = environment.iter().copied().chain([("DIGEST", digest.as_str())]).collect();
    assert_eq!(run(&stage, last, &owned).0, 0);
    assert_eq!(service.get("shop/cart")["spec"]["port"], 81);
    let (code, output, _) = run(&stage, step(planned, "plan"), &environment);
    assert_eq!((code, handed(&output, "code").as_str()), (0, "0"), "nothing is left, and nobody is asked");

    // A guard stands: refused until somebody names it, in the pull request by a label, later by hand.
    stage.remove("endpoints/cart.yaml");
    stage.write("endpoints/other.yaml", &definition("shop/other", 80));
    let and = |name: &'static str, value: &'static str| [&environment[..], &[(name, value)]].concat();
    let label = |labels| handed(&run(&stage, step(job, "plan"), &and("LABELS", labels)).1, "code");
    assert_eq!((label("bug allow:mass-change"), label("bug allow:empty-namespace")), ("6".to_owned(), "2".to_owned()));
    assert_eq!(run(&stage, step(planned, "plan"), &environment).0, 6);
    let (code, output, summary) = run(&stage, step(planned, "plan"), &and("ALLOW", "empty-namespace"));
    assert_eq!((code, handed(&output, "code").as_str()), (0, "2"));
    assert!(summary.contains("**Allowed"), "{summary}");
    let digest = handed(&output, "digest");
    let mut owned: Vec<(&str, &str)> = environment.to_vec();
    owned.push(("DIGEST", &digest));
    assert_eq!(run(&stage, last, &owned).0, 6, "the consent is named where it is applied, too");
    owned.push(("ALLOW", "empty-namespace"));
    assert_eq!(run(&stage, last, &owned).0, 0);

    // A night: in sync, drift, and a read that says nothing.
    let drift = workflow("drift.yaml");
    let job = jobs(&drift)[0].1;
    let night = || {
        let (code, output, summary) = run(&stage, step(job, "drift"), &environment);
        assert_eq!(code, 0, "the issue comes before the verdict");
        assert!(summary.starts_with("<!-- trueup:drift stack=s -->\n"), "{summary}");
        handed(&output, "code")
    };
    assert_eq!(night(), "0");
    service.change("shop/other", |object| object["spec"]["port"] = serde_json::json!(9));
    assert_eq!(night(), "3");
    service.misbehave("rules: [{operation: endpoint-list, status: {code: 403}}]");
    assert_eq!(night(), "5");
    // A plan from an incomplete read is none to apply.
    assert_eq!(run(&stage, step(planned, "plan"), &environment).0, 5);
}
