//! The pipeline for GitLab: the child pipeline that it generates, and the scripts of its jobs.

use std::path::Path;

use serde_json::{Value as Json, json};
use serde_yaml::Value;

use super::runner::{Ran, Runner, has};
use crate::support::{Service, definition};

pub fn file(name: &str) -> Value {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/pipelines/gitlab").join(name);
    serde_yaml::from_str(&std::fs::read_to_string(path).expect("the file")).expect("YAML")
}

/// The script of a job, as the runner joins it: its own options, those that the template or the job sets before it in the
/// same shell, and the lines.
pub fn script(file: &Value, job: &str) -> String {
    let template = Path::new(env!("CARGO_MANIFEST_DIR")).join("templates/trueup.yml");
    let template = std::fs::read_to_string(template).expect("the template");
    let options = template.lines().map(str::trim).find(|line| line.starts_with("set -")).expect("options of the shell");
    let script = file.get(job).and_then(|job| job.get("script")).and_then(Value::as_sequence).expect("a script");
    let lines = script.iter().map(|line| line.as_str().expect("a line"));
    ["set -o pipefail", options].into_iter().chain(lines).collect::<Vec<_>>().join("\n")
}

/// The jobs of the child pipeline, by their name.
pub fn generated(runner: &Runner) -> serde_json::Map<String, Json> {
    let ran = runner.shell(&script(&file("gitlab-ci.yml"), "stacks"), "");
    assert_eq!(ran.code, 0, "{}", ran.errors);
    let child: Json = serde_json::from_str(&runner.stage.read("child.yml")).expect("JSON");
    let mut jobs = child.as_object().expect("jobs").clone();
    let include = jobs.remove("include").expect("the jobs of a stack");
    assert_eq!(include[0]["local"], ".gitlab/trueup-stack.yml");
    jobs
}

/// Runs a generated job.
pub fn run(runner: &mut Runner, job: &Json) -> Ran {
    for (name, variable) in job["variables"].as_object().expect("variables") {
        assert_eq!(variable["expand"], false, "GitLab would expand what a directory is called");
        runner.set(name, variable["value"].as_str().expect("a text"));
    }
    runner.shell(&script(&file("trueup-stack.yml"), job["extends"].as_str().expect("a job")), "")
}

#[test]
fn a_force_push_is_applied_to_all_stacks() {
    if !has(&["bash", "jq", "git"]) {
        return;
    }
    let service = Service::start();
    let mut runner = merge_request(&service);
    for (name, value) in [("CI_PIPELINE_SOURCE", "push"), ("CI_DEFAULT_BRANCH", "main"), ("JOBS", "plan-main apply")] {
        runner.set(name, value);
    }
    let base = runner.git("rev-parse HEAD");
    let gone = runner.commit();
    runner.git("reset -q --hard HEAD~1");
    for (before, is_whole) in [(&base, false), (&gone, true)] {
        runner.set("CI_COMMIT_BEFORE_SHA", before);
        assert_eq!(generated(&runner).contains_key("apply shop"), is_whole, "what it took away may be live");
    }
}

#[test]
fn settings_that_cannot_be_read_fail_a_merge_request_and_then_only_the_jobs_of_their_stack() {
    if !has(&["bash", "jq", "git"]) {
        return;
    }
    let service = Service::start();
    let mut runner = merge_request(&service);
    runner.stage.write("pay/trueup.yaml", "stack: [\n");
    runner.commit();
    let ran = runner.shell(&script(&file("gitlab-ci.yml"), "stacks"), "");
    assert!(ran.code == 1 && ran.errors.contains("pay/trueup.yaml:1"), "{}: {}", ran.code, ran.errors);
    for (source, jobs) in [("push", "plan-main apply"), ("schedule", "drift")] {
        for (name, value) in [("CI_PIPELINE_SOURCE", source), ("CI_DEFAULT_BRANCH", "main"), ("JOBS", jobs)] {
            runner.set(name, value);
        }
        runner.set("CI_COMMIT_BEFORE_SHA", "0000000000000000000000000000000000000000");
        let jobs = generated(&runner);
        let first = if source == "push" { "plan-main" } else { "drift" };
        for (stack, codes) in [("pay", [1, 1]), ("shop", [0, 2])] {
            let ran = run(&mut runner, &jobs[&format!("{first} {stack}")]);
            assert!(codes.contains(&ran.code), "{first} {stack}: {}: {}", ran.code, ran.errors);
        }
    }
}

#[test]
fn a_stack_at_the_top_has_no_job_in_a_merge_request_that_changes_none_of_its_files() {
    if !has(&["bash", "jq", "git"]) {
        return;
    }
    let service = Service::start();
    let files = [
        ("trueup.yaml", "stack: shop\nnamespaces: [shop]\n"),
        ("cart.yaml", &definition("shop/cart", 80)),
        ("README.md", "a"),
    ];
    let mut runner = Runner::new(&service, "", &files);
    for (name, value) in [
        ("CI_PIPELINE_SOURCE", "merge_request_event"),
        ("CI_MERGE_REQUEST_DIFF_BASE_SHA", &runner.git("rev-parse HEAD")),
        ("JOBS", "plan comment"),
    ] {
        runner.set(name, value);
    }
    runner.stage.write("README.md", "b");
    runner.commit();
    assert_eq!(generated(&runner).keys().collect::<Vec<_>>(), ["no stack"]);
}

/// Two stacks, and the pipeline of a merge request.
fn merge_request(service: &Service) -> Runner {
    let mut runner = Runner::new(
        service,
        "",
        &[
            ("shop/trueup.yaml", "stack: shop\nnamespaces: [shop]\n"),
            ("shop/cart.yaml", &definition("shop/cart", 80)),
            ("pay/trueup.yaml", "stack: pay\nnamespaces: [pay]\n"),
            ("pay/card.yaml", &definition("pay/card", 80)),
        ],
    );
    let base = runner.git("rev-parse HEAD");
    runner.git("remote add origin .");
    for (name, value) in [
        ("CI_PIPELINE_SOURCE", "merge_request_event"),
        ("CI_MERGE_REQUEST_DIFF_BASE_SHA", base.as_str()),
        ("CI_MERGE_REQUEST_TARGET_BRANCH_NAME", "main"),
        ("JOBS", "plan comment"),
    ] {
        runner.set(name, value);
    }
    runner
}

/// The commit of the merge request.
const HEAD: &str = "0123456789abcdef0123456789abcdef01234567";

/// What the jobs find of the forge: `notes.json` has its notes, `calls` what it was asked, and `sent` what it was sent.
pub fn forge(runner: &mut Runner) {
    let curl = r#"#!/bin/sh
echo "$@" >> calls
for url; do :; done
case "$*" in
*--request*) jq -c --arg url "${url##*/}" '. + {url: $url}' note.json >> sent ;;
*/user) echo '{"id": 8}' ;;
*/merge_requests/2) echo '{"sha": "HEAD"}' ;;
*page=1) cat notes.json ;;
*page=*) cat more.json ;;
esac
"#;
    runner.stage.write("../bin/curl", &curl.replace("HEAD", HEAD));
    assert_eq!(runner.shell("chmod +x ../bin/curl", "").code, 0);
    for (name, value) in [
        ("CI_COMMIT_SHA", HEAD),
        ("CI_PIPELINE_URL", "https://forge/pipeline/1"),
        ("CI_API_V4_URL", "https://forge/api/v4"),
        ("CI_MERGE_REQUEST_PROJECT_ID", "1"),
        ("CI_MERGE_REQUEST_IID", "2"),
        ("TRUEUP_COMMENT_TOKEN", "t"),
    ] {
        runner.set(name, value);
    }
}

/// A note of the merge request; the author 8 is the user of the token.
fn note(id: u32, author: u32, body: &str) -> Json {
    json!({"id": id, "author": {"id": author}, "body": body})
}

/// What the forge was sent: the end of each URL, and the note.
fn sent(runner: &Runner) -> Vec<(String, String)> {
    let lines = runner.stage.read("sent");
    let sent = lines.lines().map(|line| serde_json::from_str(line).expect("JSON"));
    let sent = sent.map(|sent: Json| ["url", "body"].map(|key| sent[key].as_str().expect("a text").to_owned()));
    sent.map(|[url, body]| (url, body)).collect()
}

/// Runs a job of notes where the forge has these, page by page.
fn notes(runner: &Runner, script: &str, pages: [&[Json]; 2]) -> Vec<(String, String)> {
    runner.stage.write("notes.json", &json!(pages[0]).to_string());
    runner.stage.write("more.json", &json!(pages[1]).to_string());
    runner.stage.write("sent", "");
    let ran = runner.shell(script, "");
    assert_eq!(ran.code, 0, "{}", ran.errors);
    sent(runner)
}

#[test]
fn a_note_says_of_which_commit_it_is_also_where_the_plan_left_no_report() {
    if !has(&["bash", "jq", "git"]) {
        return;
    }
    let mut runner = merge_request(&Service::start());
    forge(&mut runner);
    runner.set("ID", "shop");
    let old = note(5, 8, "<!-- trueup shop -->\n3 to create");
    let comment = script(&file("trueup-stack.yml"), ".comment");
    let failed =
        "<!-- trueup shop -->\n### trueup plan: failed\n\nThe job has no report of it.\n\nshop at 0123456789ab\n";
    let failed = [("5".to_owned(), failed.to_owned())];
    assert_eq!(notes(&runner, &comment, [std::slice::from_ref(&old), &[]]), failed);
    // Of a pipeline of merged results, the commit is one that was never pushed.
    runner.set("CI_COMMIT_SHA", "fedcba9876543210fedcba9876543210fedcba98");
    runner.set("CI_MERGE_REQUEST_SOURCE_BRANCH_SHA", HEAD);
    assert_eq!(notes(&runner, &comment, [std::slice::from_ref(&old), &[]]), failed);
    // The forge takes 1,000,000 characters: of a longer report it says that it has more.
    runner.stage.write("plan/plan.md", &"- a delete\n".repeat(90_000));
    let long = notes(&runner, &comment, [std::slice::from_ref(&old), &[]]).pop().expect("a note").1;
    assert!(long.lines().nth(1).is_some_and(|line| line.contains("only the beginning")), "{}", &long[..300]);
    assert!(long.len() < 1_000_000 && long.ends_with("\nshop at 0123456789ab\n"), "{}", long.len());
    runner.set("CI_MERGE_REQUEST_SOURCE_BRANCH_SHA", "");
    assert_eq!(notes(&runner, &comment, [&[old], &[]]), [], "a later push has a note of its own");
}

#[test]
fn a_note_of_a_stack_that_a_merge_request_no_longer_plans_says_so() {
    if !has(&["bash", "jq", "git"]) {
        return;
    }
    let mut runner = merge_request(&Service::start());
    forge(&mut runner);
    runner.git("switch -qc change");
    runner.stage.edit("shop/cart.yaml", "port: 80", "port: 81");
    runner.commit();
    assert!(generated(&runner).contains_key("comment shop"));
    let script = script(&file("gitlab-ci.yml"), "notes");
    let mut page: Vec<Json> = (0..97).map(|id| note(id + 100, 8, "else")).collect();
    page.push(note(4, 7, "<!-- trueup pay -->\ntheirs"));
    page.push(note(5, 8, "<!-- trueup pay -->\n3 to delete"));
    page.push(note(6, 8, "<!-- trueup shop -->\n1 to create"));
    let pages: [&[Json]; 2] = [&page, &[note(7, 8, "<!-- trueup gone -->\nold")]];
    let none = |(number, stack): (&str, &str)| {
        let body = "No plan for 0123456789ab: the pipeline https://forge/pipeline/1 made none for this stack.";
        (number.to_owned(), format!("<!-- trueup {stack} -->\n{body}\n"))
    };
    assert_eq!(notes(&runner, &script, pages), [("5", "pay"), ("7", "gone")].map(none));
    // Where a mistake ends the listing of the stacks, none has a plan.
    runner.stage.remove("child.yml");
    assert_eq!(notes(&runner, &script, pages), [("5", "pay"), ("6", "shop"), ("7", "gone")].map(none));
    runner.set("CI_COMMIT_SHA", "fedcba9876543210fedcba9876543210fedcba98");
    assert_eq!(notes(&runner, &script, pages), [], "a later push has notes of its own");
}

/// All stacks are checked, and the verdict is the job's.
fn a_night_checks_all_stacks(runner: &mut Runner, service: &Service) {
    runner.set("CI_PIPELINE_SOURCE", "schedule");
    runner.set("JOBS", "drift");
    let jobs = generated(runner);
    assert_eq!(jobs.len(), 2, "{jobs:?}");
    assert_eq!(run(runner, &jobs["drift shop"]).code, 0);
    service.change("shop/cart", |object| object["spec"]["port"] = serde_json::json!(9));
    assert_eq!(run(runner, &jobs["drift shop"]).code, 3);
    assert!(runner.stage.read("drift.xml").contains("<failure"));
    // The drift state is in the cache, and not where TRUEUP_STATE is a bucket.
    let cached = runner.stage.path("state/drift.json");
    assert!(cached.exists());
    std::fs::remove_file(&cached).expect("the drift state");
    runner.set("TRUEUP_STATE", "other://bucket");
    assert_ne!(run(runner, &jobs["drift shop"]).code, 3);
    assert!(!cached.exists());
}

/// An apply that is started late reverts nothing that was merged since its plan.
fn a_late_apply_reverts_nothing(runner: &mut Runner, service: &Service, jobs: &serde_json::Map<String, Json>) {
    runner.git("checkout -qf main");
    assert_eq!(run(runner, &jobs["plan-main shop"]).code, 0);
    let digest = runner.stage.read("digest.env");
    runner.set("DIGEST", digest.trim().strip_prefix("DIGEST=").expect("a digest"));
    runner.stage.edit("shop/cart.yaml", "port: 81", "port: 80");
    runner.git("commit -qam revert");
    runner.git("checkout -qf HEAD~1");
    let late = run(runner, &jobs["apply shop"]);
    assert_eq!(late.code, 6, "{}", late.errors);
    assert!(late.errors.contains("behind base"), "{}", late.errors);
    assert_eq!(service.get("shop/cart")["spec"]["port"], 80);
}

#[test]
fn each_stack_has_jobs_of_its_own_and_they_do_what_they_say() {
    if !has(&["bash", "jq", "git"]) {
        return;
    }
    let service = Service::start();
    let mut runner = merge_request(&service);
    let base = runner.git("rev-parse HEAD");
    let none = generated(&runner);
    assert_eq!(none.keys().collect::<Vec<_>>(), ["no stack"], "a pipeline without a job is an error");

    runner.git("switch -qc change");
    runner.stage.edit("shop/cart.yaml", "port: 80", "port: 81");
    runner.commit();
    let jobs = generated(&runner);
    let names: Vec<&String> = jobs.keys().collect();
    assert_eq!(names.len(), 2, "{names:?}");
    let (plan, comment) = (&jobs["plan shop"], &jobs["comment shop"]);
    assert_eq!(comment["needs"][0], "plan shop");
    let planned = run(&mut runner, plan);
    assert_eq!(planned.code, 0, "{}", planned.errors);
    let counts: Json = serde_json::from_str(&runner.stage.read("plan/counts.json")).expect("JSON");
    assert_eq!(counts, serde_json::json!({"create": 1, "update": 0, "delete": 0}));
    assert!(runner.stage.read("plan/plan.html").contains("<html"));

    // The note is posted once, and changed from then on.
    forge(&mut runner);
    let (theirs, ours) = (note(4, 7, "<!-- trueup shop -->\n"), note(5, 8, "<!-- trueup shop -->\nold"));
    let page: Vec<Json> = (0..100).map(|id| note(id + 100, 7, "else")).collect();
    for (notes, more, call) in [
        (json!([]), json!([]), "--request POST"),
        (json!([theirs]), json!([]), "--request POST"),
        (json!([theirs, ours]), json!([]), "--request PUT"),
        (json!(page), json!([ours]), "--request PUT"),
        (json!(page), json!([]), "--request POST"),
    ] {
        runner.stage.write("notes.json", &notes.to_string());
        runner.stage.write("more.json", &more.to_string());
        runner.stage.write("calls", "");
        let ran = run(&mut runner, comment);
        assert_eq!(ran.code, 0, "{}", ran.errors);
        assert!(runner.stage.read("calls").contains(call), "{}", runner.stage.read("calls"));
        let note: Json = serde_json::from_str(&runner.stage.read("note.json")).expect("JSON");
        let body = note["body"].as_str().expect("a body");
        assert!(body.starts_with("<!-- trueup shop -->\n") && body.contains("1 to create"), "{body}");
    }

    // A merge: the digest of the plan is what is applied.
    runner.git("branch -qf main change");
    runner.set("CI_PIPELINE_SOURCE", "push");
    runner.set("CI_DEFAULT_BRANCH", "main");
    runner.set("CI_COMMIT_BEFORE_SHA", &base);
    runner.set("JOBS", "plan-main apply");
    let jobs = generated(&runner);
    assert_eq!(jobs["apply shop"]["needs"][0], "plan-main shop");
    service.misbehave("rules: [{operation: endpoint-list, status: {code: 403}}]");
    assert_eq!(run(&mut runner, &jobs["plan-main shop"]).code, 5, "an incomplete plan is not offered");
    service.misbehave("rules: []");
    assert_eq!(run(&mut runner, &jobs["plan-main shop"]).code, 0);
    let digest = runner.stage.read("digest.env");
    runner.set("TRUEUP_STATE", "run");
    runner.set("DIGEST", "00000000000000000000000000000000");
    assert_eq!(run(&mut runner, &jobs["apply shop"]).code, 6);
    runner.set("DIGEST", digest.trim().strip_prefix("DIGEST=").expect("a digest"));
    let applied = run(&mut runner, &jobs["apply shop"]);
    assert_eq!(applied.code, 0, "{}", applied.errors);
    assert_eq!(service.get("shop/cart")["spec"]["port"], 81);

    // The job of an older commit that is started again reverts nothing.
    runner.git("checkout -qf HEAD~1");
    let stale = run(&mut runner, &jobs["plan-main shop"]);
    assert_eq!(stale.code, 6, "{}", stale.errors);
    assert!(stale.errors.contains("behind base"), "{}", stale.errors);
    runner.set("ALLOW", "behind-base");
    assert_eq!(run(&mut runner, &jobs["plan-main shop"]).code, 0);
    let environment = runner.stage.read("digest.env");
    for line in environment.lines() {
        let (name, value) = line.split_once('=').expect("a variable");
        runner.set(name, value);
    }
    assert_eq!(run(&mut runner, &jobs["apply shop"]).code, 0, "a person may mean it");
    runner.set("ALLOW", "");
    runner.set("BASE", "");
    a_late_apply_reverts_nothing(&mut runner, &service, &jobs);
    runner.git("checkout -qf main");
    runner.git("reset -q --hard HEAD~1");
    runner.stage.run("apply shop --yes --quiet").code(0);

    // A plan that a guard refuses is not offered as an apply.
    runner.stage.remove("shop/cart.yaml");
    runner.stage.write("shop/other.yaml", &definition("shop/other", 80));
    assert_eq!(run(&mut runner, &jobs["plan-main shop"]).code, 6);
    runner.stage.remove("shop/other.yaml");
    runner.stage.write("shop/cart.yaml", &definition("shop/cart", 81));

    a_night_checks_all_stacks(&mut runner, &service);

    // A plan that fails says why, and its job is red.
    runner.set("CI_PIPELINE_SOURCE", "merge_request_event");
    assert_eq!(runner.shell("rm -r plan", "").code, 0);
    runner.stage.edit("shop/cart.yaml", "port: 81", "prot: 81");
    assert_eq!(run(&mut runner, plan).code, 1);
    let shown = runner.stage.read("plan/plan.md");
    assert!(shown.starts_with("### trueup plan: failed") && shown.contains("prot"), "{shown}");
}

#[test]
fn a_removed_stack_has_a_note_with_what_stays_live() {
    if !has(&["bash", "jq", "git"]) {
        return;
    }
    let service = Service::start();
    let mut runner = merge_request(&service);
    runner.git("switch -qc change");
    runner.stage.edit("shop/cart.yaml", "port: 80", "port: 81");
    std::fs::remove_dir_all(runner.stage.path("pay")).expect("a directory");
    runner.commit();
    let jobs = generated(&runner);
    assert_eq!(jobs.len(), 4, "{jobs:?}");
    assert_eq!(jobs["plan shop"]["extends"], ".plan");
    assert_eq!(jobs["plan .removed-stacks"]["extends"], ".removed");
    assert_eq!(jobs["comment .removed-stacks"]["needs"][0], "plan .removed-stacks");
    let removed = run(&mut runner, &jobs["plan .removed-stacks"]);
    assert_eq!(removed.code, 0, "{}", removed.errors);
    forge(&mut runner);
    runner.stage.write("notes.json", "[]");
    assert_eq!(run(&mut runner, &jobs["comment .removed-stacks"]).code, 0);
    let note = runner.stage.read("note.json");
    assert!(note.contains("nothing deletes what it defined: 1 endpoint (`pay/card`)"), "{note}");
    assert!(note.contains("trueup apply pay --allow empty-namespace"), "{note}");
}
