//! The pipelines of the examples: each file is YAML, each command in it is one that trueup takes, and the
//! scripts of the workflows do against a sandbox what they say. `just pipelines` asks the forges' tools.

#[cfg(unix)]
mod github;
#[cfg(unix)]
mod gitlab;
#[cfg(unix)]
mod kubernetes;
mod monitoring;
#[cfg(unix)]
mod names;
#[cfg(unix)]
mod runner;

use std::path::Path;

use serde::Deserialize as _;
use serde_yaml::Value;

use crate::support::Stage;

/// Every text of a document, and every list of texts as one line.
fn texts(value: &Value, found: &mut Vec<String>) {
    match value {
        Value::String(text) => found.extend(text.lines().map(|line| line.trim().to_owned())),
        Value::Sequence(items) => {
            let words: Vec<&str> = items.iter().filter_map(Value::as_str).collect();
            if words.len() == items.len() && matches!(words.first(), Some(&"drift" | &"fleet")) {
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
        let document = |text| Value::deserialize(text).unwrap_or_else(|error| panic!("{name}: {error}"));
        let documents: Vec<Value> = serde_yaml::Deserializer::from_str(&text).map(document).collect();
        let mut found = Vec::new();
        documents.iter().for_each(|document| texts(document, &mut found));
        let lines: Vec<&String> = found.iter().filter(|line| line.starts_with("trueup ")).collect();
        for line in lines {
            let line = line.replace("$(JOB_COMPLETION_INDEX)", "0").replace(['"', '\\'], "");
            let line = line.trim_start_matches("trueup ");
            let line = line.split(['>', '|']).next().unwrap_or_default().trim();
            let line = line.split(" -- ").next().unwrap_or_default();
            let words: Vec<&str> = line.split(' ').chain(["--help"]).filter(|word| !word.is_empty()).collect();
            let help = stage.command(&words).output().expect("the program starts");
            assert!(help.status.success(), "{name}: {line}: {}", String::from_utf8_lossy(&help.stderr));
            commands += 1;
        }
        if text.contains("TRUEUP_TOKEN:") || text.contains("name: TRUEUP_TOKEN\n") {
            for variable in ["TRUEUP_BASE_URL", "TRUEUP_TOKEN_URL"] {
                assert!(text.contains(variable), "{name}: the URL is pinned beside the token");
            }
        }
        let words = text.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_'));
        for token in words.filter(|word| word.starts_with("TRUEUP_TOKEN_") && !word.ends_with("_URL")) {
            let token = token.trim_end_matches("_FILE");
            assert!(text.contains(&format!("{token}_URL")), "{name}: {token} is bound to its service");
        }
        if entry.path().parent().is_some_and(|parent| parent.ends_with("github")) {
            let permissions = documents[0].get("permissions").and_then(Value::as_mapping).expect("permissions");
            assert!(permissions.values().all(|how| how.as_str() == Some("read")), "{name}");
        }
    }
    assert!(commands >= 20, "{commands} commands");
}

/// The hook sees each mistake of each environment, and lets what is right pass.
#[test]
fn the_hook_before_a_commit_checks_every_environment() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/pipelines/pre-commit-config.yaml");
    let config = std::fs::read_to_string(path).expect("an example");
    let entry = config.lines().find_map(|line| line.trim().strip_prefix("entry: trueup ")).expect("an entry");
    let cart = |spec: &str| format!("metadata: {{name: cart, namespace: shop}}\nspec: {{{spec}}}\n");
    let plain = Stage::new()
        .file("endpoints/trueup.yaml", "stack: s\nnamespaces: [shop]\n")
        .file("endpoints/cart.yaml", &cart("ip: 192.0.2.1"));
    plain.run(entry).code(0);
    plain.write("endpoints/cart.yaml", &cart("ipp: 192.0.2.1"));
    plain.run(entry).code(1).stderr_contains("unknown field `ipp`");
    let environments = "namespaces: [shop]
environments:
  dev: {stack: dev, variables: {domain: dev.example.net}}
  prod: {stack: prod, variables: {domain: example.net}, overlay: overlays/prod}
";
    let several = Stage::new()
        .file("endpoints/trueup.yaml", environments)
        .file("endpoints/cart.yaml", &cart("dns_name: 'cart.${domain}'"))
        .file("endpoints/overlays/prod/cart.yaml", &cart("port: 8443"));
    several.run(entry).code(0);
    several.write("endpoints/overlays/prod/cart.yaml", &cart("prot: 8443"));
    several.run(entry).code(1).stderr_contains("unknown field `prot`");
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
    assert_eq!(images.len(), 2, "{images:?}");
    for image in &images {
        let digest = image.split_once("@sha256:").map(|(_, digest)| digest);
        assert!(digest.is_some_and(hexadecimal), "an image is pulled by its digest: {images:?}");
    }
    // No job installs anything beside the program that is pinned.
    let template = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("templates/trueup.yml"));
    let template = template.expect("the template");
    assert!(!template.contains("apt-get") && template.contains("regex: ^\\S+@sha256:[0-9a-f]{64}$"));
}

/// The workflows for GitHub.
const WORKFLOWS: [&str; 6] =
    ["apply-stack.yaml", "apply.yaml", "comment.yaml", "drift.yaml", "plan.yaml", "snapshot.yaml"];

#[test]
fn no_workflow_gives_more_than_it_needs() {
    // Each right to write, by workflow and job.
    let granted: Vec<(String, String)> = WORKFLOWS
        .iter()
        .flat_map(|name| {
            let workflow = workflow(name);
            let of_all = workflow.get("permissions").and_then(Value::as_mapping).expect("permissions").clone();
            assert!(of_all.values().all(|how| how.as_str() == Some("read")), "{name}");
            let rights = |job: &Value| job.get("permissions").and_then(Value::as_mapping).cloned().unwrap_or_default();
            let of_job = |(job, content): (&str, &Value)| {
                let written = rights(content).into_iter().filter(|(_, how)| how.as_str() == Some("write"));
                let what = |(what, _): (Value, Value)| what.as_str().expect("a right").to_owned();
                written.map(|right| (format!("{name} {job}"), what(right))).collect::<Vec<_>>()
            };
            jobs(&workflow).into_iter().flat_map(of_job).collect::<Vec<_>>()
        })
        .collect();
    let expected = [
        ("comment.yaml comment", "pull-requests"),
        ("drift.yaml drift", "issues"),
        ("plan.yaml sarif", "security-events"),
    ];
    assert_eq!(granted, expected.map(|(job, right)| (job.to_owned(), right.to_owned())));
}

#[test]
fn no_job_with_a_secret_runs_what_a_pull_request_contains() {
    for name in WORKFLOWS {
        let workflow = workflow(name);
        assert!(workflow.get("on").expect("triggers").get("pull_request_target").is_none(), "{name}");
        for (job, content) in jobs(&workflow) {
            let Some(steps) = content.get("steps").and_then(Value::as_sequence) else { continue };
            assert!(content.get("timeout-minutes").is_some(), "{name} {job} may hang");
            let variables = content.get("env").map(|variables| serde_yaml::to_string(variables).expect("YAML"));
            let has_secret = variables.unwrap_or_default().contains("secrets.");
            // A secret is an environment's, and only in the variables of its job.
            assert_eq!(has_secret, !text(content, "environment").is_empty(), "{name} {job}");
            for step in steps {
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
                    let with = step.get("with").expect("inputs");
                    assert_eq!(with.get("persist-credentials").and_then(Value::as_bool), Some(false), "{name} {job}");
                    // What the runner runs comes from the base, beside what the pull request contains.
                    let (base, change) = (text(with, "ref") == "${{ env.BASE }}", text(with, "path") == "change");
                    assert_eq!(name == "plan.yaml", base || change, "{name} {job}");
                }
            }
        }
    }
    // The workflow that may comment checks nothing out.
    let comment = workflow("comment.yaml");
    assert!(!serde_yaml::to_string(&comment).expect("YAML").contains("checkout"));
    let plan = workflow("plan.yaml");
    let jobs: std::collections::BTreeMap<&str, &Value> = jobs(&plan).into_iter().collect();
    let fork = "github.event.pull_request.head.repo.full_name";
    assert!(text(jobs["plan"], "if").contains(&format!("{fork} == github.repository")));
    assert!(text(jobs["fork"], "if").contains(&format!("{fork} != github.repository")));
    // Only the job that waits for a reviewer writes, with the digest of the job before it.
    let apply = workflow("apply-stack.yaml");
    let apply: std::collections::BTreeMap<&str, &Value> = self::jobs(&apply).into_iter().collect();
    assert_eq!(text(apply["apply"], "needs"), "plan");
    assert!(text(apply["apply"], "environment").contains("production"));
    assert_eq!(text(apply["apply"].get("env").expect("variables"), "DIGEST"), "${{ needs.plan.outputs.digest }}");
}
