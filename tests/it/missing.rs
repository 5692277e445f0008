//! A definition that is missing live: deleted outside, or not applied yet, decided by git and what the
//! service holds, on a machine that keeps nothing.

use serde_json::{Value, json};

use crate::support::{Service, Stage, commit, definition, git, lose, shallow_clone};

/// A machine without the runs of any other.
const ELSEWHERE: &str = "--state ../elsewhere";

/// A repository of three endpoints that is applied.
fn applied(service: &Service) -> Stage {
    Stage::stack(service, "shop")
        .file("cart.yaml", &definition("shop/cart", 80))
        .file("legacy.yaml", &definition("shop/legacy", 80))
        .file("search.yaml", &definition("shop/search", 80))
        .committed()
        .applied(".")
}

fn commit_of(service: &Service, key: &str) -> String {
    let annotations = service.get(key)["metadata"]["annotations"].clone();
    let text = annotations["trueup/applied"].as_str().expect("a mark").to_owned();
    text.split(' ').nth(3).expect("a commit").to_owned()
}

fn drift(stage: &Stage, more: &str) -> Value {
    stage.run(&format!("drift . --format json {more}")).json()
}

#[test]
fn a_delete_by_hand_is_drift_on_a_machine_that_keeps_nothing() {
    let service = Service::start();
    let stage = applied(&service);
    let applied = git(&stage, "rev-parse HEAD");
    assert_eq!(commit_of(&service, "shop/cart"), applied);
    // What comes after the newest commit that was applied is pending.
    stage.write("news.yaml", &definition("shop/news", 80));
    commit(&stage, "news");
    stage
        .run(&format!("drift . {ELSEWHERE}"))
        .code(2)
        .stdout_contains("not applied yet\n")
        .stdout_contains("    shop/news")
        .does_not_say("decided");
    service.delete("shop/search");
    stage
        .run(&format!("drift . {ELSEWHERE}"))
        .code(4)
        .stdout_contains(&format!(
            "shop/search         defined  missing  deleted outside, or its create failed, since {}",
            &applied[..7]
        ))
        .stdout_contains("not applied yet\n")
        .stdout_contains("    shop/news")
        .does_not_say("decided");
    stage.run(&format!("plan . {ELSEWHERE}")).code(0).stdout_contains("deleted outside, or its create failed, since");
    for (format, quote) in [("markdown", "`"), ("junit", ""), ("github", ""), ("sarif", "")] {
        let message = stage.run(&format!("drift . --format {format} {ELSEWHERE}"));
        let since = format!("deleted outside, or its create failed, since {quote}{}", &applied[..7]);
        message.code(4).stdout_contains(&since);
    }
    // An apply of something else moves the newest commit on, and it stays what it is.
    stage.edit("cart.yaml", "port: 80", "port: 81");
    commit(&stage, "cart");
    stage.run("apply . --only shop/cart --yes --quiet").code(0);
    assert_eq!(commit_of(&service, "shop/cart"), applied, "a narrowed apply applies no commit whole");
    assert_eq!(drift(&stage, ELSEWHERE)["verdicts"]["objects"]["shop/search"]["verdict"], "drift");
    stage.run("apply . --yes --quiet").code(0);
    service.delete("shop/news");
    assert_eq!(drift(&stage, ELSEWHERE)["verdicts"]["objects"]["shop/news"]["verdict"], "drift");
}

#[test]
fn a_process_without_a_state_directory_judges_as_a_machine_that_keeps_nothing() {
    let service = Service::start();
    let stage = applied(&service);
    service.delete("shop/search");
    let lines = [("drift .", 3), ("plan . --detailed-exitcode", 2), ("rehearse .", 0), ("apply . --yes", 1)];
    for (line, code) in lines {
        let words: Vec<&str> = line.split(' ').collect();
        let mut command = stage.command(&words);
        let ran = command.env_remove("HOME").env_remove("XDG_STATE_HOME").output().expect("it starts");
        let said = [ran.stdout, ran.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).concat();
        assert_eq!(ran.status.code(), Some(code), "{line}: {said}");
        assert_eq!(said.contains("no state directory: neither"), code == 1, "{line}: {said}");
    }
    assert!(!service.has("shop/search"), "an apply needs a place for its journal");
}

#[test]
fn what_is_not_committed_is_no_commits() {
    let service = Service::start();
    let stage = applied(&service);
    let first = git(&stage, "rev-parse HEAD");
    stage.write("news.yaml", &definition("shop/news", 80));
    stage.edit("cart.yaml", "port: 80", "port: 81");
    stage.run("apply . --yes --quiet").code(0);
    assert_eq!(commit_of(&service, "shop/news"), "-");
    assert_eq!(commit_of(&service, "shop/cart"), first, "it keeps the commit that it named");
    commit(&stage, "news");
    // An object in sync is not written again for its commit, and none is a difference.
    stage.run("plan . --detailed-exitcode").code(0).stdout_contains("In sync").does_not_say("mark");
    // What changed beside the definitions does not matter.
    stage.edit("cart.yaml", "port: 81", "port: 82");
    commit(&stage, "cart");
    stage.write("README.md", "not committed");
    stage.run("plan . -o ../plan.json").code(0);
    stage.run("apply ../plan.json --yes --quiet").code(0);
    assert_eq!(commit_of(&service, "shop/cart"), git(&stage, "rev-parse HEAD"));
}

#[test]
fn two_commits_of_one_effect_are_one_plan() {
    let service = Service::start();
    let stage = applied(&service);
    stage.edit("cart.yaml", "port: 80", "port: 81");
    let digest = |line: &str| stage.run(line).json()["digest"].as_str().expect("a digest").to_owned();
    let before = digest("plan . --format json");
    commit(&stage, "cart");
    assert_eq!(digest("plan . --format json"), before);
    let saved = |path: &str| {
        stage.run(&format!("plan . -o {path}")).code(0);
        serde_json::from_str::<Value>(&stage.read(path)).expect("JSON")
    };
    let one = saved("../one.json");
    git(&stage, "commit -q --allow-empty -m again");
    let other = saved("../other.json");
    assert_eq!(one["digest"], other["digest"]);
    assert_ne!(one["plan"]["changes"][0]["ownership"], other["plan"]["changes"][0]["ownership"]);
}

#[test]
fn where_git_cannot_decide_the_verdict_says_so() {
    let service = Service::start();
    let stage = applied(&service);
    service.delete("shop/search");
    let undecided = |stage: &Stage, reason: &str| {
        for format in ["text", "markdown", "github", "sarif", "json"] {
            let message = stage.run(&format!("drift . --format {format} {ELSEWHERE}"));
            message.code(2).stdout_contains(reason).stdout_contains(if format == "json" {
                "deletes_unknown"
            } else {
                "cannot be decided"
            });
        }
        stage
            .run(&format!("drift . --format junit {ELSEWHERE}"))
            .code(2)
            .stdout_contains("not decided: ")
            .stdout_contains(reason);
        stage
            .run(&format!("drift . --format prometheus {ELSEWHERE}"))
            .code(2)
            .stdout_contains("trueup_drift_undecided");
    };
    // The history ends before the commit that was applied.
    stage.write("README.md", "more");
    commit(&stage, "more");
    let shallow = Stage::new().at(&service);
    shallow_clone(&stage, &shallow);
    undecided(&shallow, "the shallow clone lacks the applied commit");
    shallow.run(&format!("plan . {ELSEWHERE}")).code(0).stdout_contains("cannot be decided");
    // No repository.
    let outside = Stage::new().at(&service);
    for file in ["trueup.yaml", "cart.yaml", "legacy.yaml", "search.yaml"] {
        outside.write(file, &stage.read(file));
    }
    undecided(&outside, "is not in a git repository");
    // Nothing of the stack is left.
    service.delete("shop/cart");
    service.delete("shop/legacy");
    undecided(&stage, "no live object of the stack names a commit");
    // Of a plan before the first apply that is no news.
    stage.run(&format!("plan . {ELSEWHERE}")).code(0).does_not_say("decided");
    // The runs of a machine, where it has them, are evidence then.
    stage.run("drift .").code(3).stdout_contains("defined  deleted  deleted outside");
}

#[test]
fn a_removal_is_found_in_every_directory_that_the_stack_had() {
    let service = Service::start();
    let stage = Stage::new()
        .at(&service)
        .file("a/trueup.yaml", "stack: shop\nnamespaces: [shop]\n")
        .file("a/cart.yaml", &definition("shop/cart", 80))
        .file("a/search.yaml", &definition("shop/search", 80))
        .committed()
        .applied("a");
    git(&stage, "mv a b");
    commit(&stage, "moved");
    stage.remove("b/search.yaml");
    let removal = commit(&stage, "removed");
    stage.run("apply b --yes --quiet").code(0);
    stage.write("b/search.yaml", &definition("shop/search", 80));
    commit(&stage, "again");
    git(&stage, "mv b c");
    commit(&stage, "twice");
    let undecided = format!("cannot be decided ({} removed the definition", &removal[..7]);
    stage.run(&format!("drift c {ELSEWHERE}")).code(2).stdout_contains(&undecided);
}

/// With the variables of its apply, or by the trueup of its time, it did.
#[test]
fn a_later_commit_that_does_not_load_now_may_have_been_applied() {
    for (removed, code) in [("legacy", 2), ("other", 3)] {
        let service = Service::start();
        let stage = applied(&service);
        if removed == "legacy" {
            stage.remove("legacy.yaml");
        }
        stage.edit("cart.yaml", "port: 80", "port: ${p}");
        commit(&stage, "removed");
        stage.run(&format!("drift . {ELSEWHERE}")).code(1).stderr_ignored();
        stage.write("legacy.yaml", &definition("shop/legacy", 80));
        stage.edit("cart.yaml", "port: ${p}", "port: 80");
        commit(&stage, "again");
        service.delete("shop/legacy");
        let check = stage.run(&format!("drift . {ELSEWHERE}"));
        check.code(code).stdout_contains(if code == 2 { "decided" } else { "deleted outside, or its create failed" });
    }
}

#[test]
fn a_later_commit_that_git_cannot_show_may_have_removed_it() {
    let service = Service::start();
    let stage = applied(&service);
    let cart = stage.read("cart.yaml");
    stage.write("cart.yaml", &format!("{cart}# Of this commit alone.\n"));
    stage.remove("search.yaml");
    let removal = commit(&stage, "removed");
    stage.run("apply . --yes --quiet").code(0);
    stage.write("cart.yaml", &cart);
    stage.write("search.yaml", &definition("shop/search", 80));
    commit(&stage, "again");
    let undecided = format!("cannot be decided ({} removed the definition", &removal[..7]);
    stage.run(&format!("drift . {ELSEWHERE}")).code(2).stdout_contains(&undecided);
    lose(&stage, &removal, "cart.yaml");
    stage.run(&format!("drift . {ELSEWHERE}")).code(2).stdout_contains("cannot be decided (").does_not_say(&undecided);
}

#[test]
fn lines_of_history_that_do_not_meet_are_judged_with_care() {
    let service = Service::start();
    let stage = applied(&service);
    git(&stage, "checkout -qb one");
    stage.edit("cart.yaml", "port: 80", "port: 81");
    stage.write("only.yaml", &definition("shop/only", 80));
    commit(&stage, "one");
    stage.run("apply . --yes --quiet").code(0);
    git(&stage, "checkout -q main");
    git(&stage, "checkout -qb two");
    stage.edit("legacy.yaml", "port: 80", "port: 81");
    commit(&stage, "two");
    // Deletes what only the other branch has, and puts its port back.
    stage.run("apply . --only shop/legacy --yes --quiet").code(0);
    stage.run("plan .").code(0).stdout_contains("- delete  shop/only");
    git(&stage, "checkout -q one");
    service.delete("shop/only");
    service.delete("shop/search");
    let objects = drift(&stage, ELSEWHERE)["verdicts"]["objects"].clone();
    assert_eq!(objects["shop/search"]["verdict"], "drift", "both lines have it");
    assert_eq!(objects["shop/only"]["verdict"], "drift", "the newest that names a commit has it");
}

#[test]
fn what_only_some_of_the_applied_commits_show_is_not_decided() {
    // A commit of another line of history did not define it.
    let service = Service::start();
    let stage = applied(&service);
    let settings = stage.read("trueup.yaml");
    stage.write("trueup.yaml", &format!("{settings}prune: none\n"));
    commit(&stage, "settings");
    git(&stage, "branch two");
    stage.edit("cart.yaml", "port: 80", "port: 81");
    stage.write("only.yaml", &definition("shop/only", 80));
    commit(&stage, "one");
    stage.run("apply . --yes --quiet").code(0);
    git(&stage, "checkout -q two");
    for edited in ["cart.yaml", "legacy.yaml"] {
        stage.edit(edited, "port: 80", "port: 81");
    }
    commit(&stage, "two");
    stage.run("apply . --yes --quiet").code(0);
    git(&stage, "checkout -q main");
    service.delete("shop/only");
    let unrelated = "commits of unrelated history were applied";
    stage.run(&format!("drift . {ELSEWHERE}")).code(2).stdout_contains(unrelated);

    // The clone lacks one of the applied commits, and what it has does not define it.
    let service = Service::start();
    let stage = applied(&service);
    let first = git(&stage, "rev-parse HEAD");
    stage.edit("cart.yaml", "port: 80", "port: 81");
    commit(&stage, "cart");
    stage.run("apply . --yes --quiet").code(0);
    let shallow = Stage::new().at(&service);
    shallow_clone(&stage, &shallow);
    shallow.write("news.yaml", &definition("shop/news", 80));
    let lacks = format!("the clone lacks the applied commit {}", &first[..7]);
    shallow.run(&format!("drift . {ELSEWHERE}")).code(2).stdout_contains(&lacks);

    // More commits came since than are loaded.
    service.delete("shop/search");
    for number in 0..51 {
        stage.write("legacy.yaml", &definition("shop/legacy", 100 + number));
        commit(&stage, "more");
    }
    let many = "more than 50 commits changed the stack since";
    stage.run(&format!("drift . {ELSEWHERE}")).code(2).stdout_contains(many);
}

#[test]
fn the_runs_of_a_machine_change_no_verdict_that_git_decides() {
    let service = Service::start();
    let stage = applied(&service);
    stage.write("news.yaml", &definition("shop/news", 80));
    // Applied without a commit, then committed and deleted: the journal alone knows of it.
    stage.run("apply . --yes --quiet").code(0);
    commit(&stage, "news");
    for gone in ["shop/news", "shop/search", "shop/cart"] {
        service.delete(gone);
        let (here, there) = (drift(&stage, ""), drift(&stage, ELSEWHERE));
        assert_eq!(here["verdict"], there["verdict"], "{gone}");
        assert_eq!(here["verdicts"], there["verdicts"], "{gone}");
        assert_eq!(here["plan"]["notes"], there["plan"]["notes"], "{gone}");
    }
}

#[test]
fn a_drift_state_is_part_of_the_call_and_always_counts() {
    let service = Service::start();
    let stage = applied(&service);
    stage.write("news.yaml", &definition("shop/news", 80));
    stage.run("apply . --yes --quiet").code(0);
    commit(&stage, "news");
    let check = format!("drift . --drift-state ../memory.json {ELSEWHERE}");
    stage.run(&check).code(0);
    service.delete("shop/news");
    stage.run(&format!("drift . {ELSEWHERE}")).code(2);
    stage.run(&check).code(3).stdout_contains("shop/news         defined  deleted");
    assert_eq!(drift(&stage, ELSEWHERE)["plan"]["notes"], json!([]));
}

#[test]
fn what_a_run_that_cannot_be_read_may_have_deleted_was_not_deleted_outside() {
    let service = Service::start();
    let stage = applied(&service);
    let check = "drift . --drift-state ../memory.json";
    stage.write("news.yaml", &definition("shop/news", 80));
    stage.run("apply . --yes --quiet").code(0);
    stage.run(check).code(0);
    stage.run("rollback last --yes --quiet").code(0);
    let newest = std::fs::read_dir(stage.path("../state/trueup/runs")).expect("runs");
    let newest = newest.map(|entry| entry.expect("a run").path()).max().expect("a run");
    let written = std::fs::read_to_string(&newest).expect("a run");
    let run = newest.file_stem().expect("a name").to_str().expect("a text").to_owned();
    for [part, damaged] in [["{\"outcome\"", "{\"outcom"], ["{\"header\"", "{\"heade"]] {
        std::fs::write(&newest, written.replacen(part, damaged, 1)).expect("written");
        stage.run(check).code(2).stdout_contains(&format!("cannot be decided (run {run} cannot be read): shop/news"));
    }
    std::fs::write(&newest, written).expect("written");
    stage.run(check).code(2).does_not_say("decided");
}

#[test]
fn a_run_that_cannot_be_read_leaves_nothing_open_that_was_applied_after_it() {
    let service = Service::start();
    let stage = applied(&service);
    let first = std::fs::read_dir(stage.path("../state/trueup/runs")).expect("runs");
    let first = first.map(|entry| entry.expect("a run").path()).max().expect("a run");
    stage.edit("cart.yaml", "port: 80", "port: 81");
    commit(&stage, "cart");
    stage.run("apply . --yes --quiet").code(0);
    std::fs::write(&first, "damaged\n").expect("written");
    service.delete("shop/search");
    stage.run("drift .").code(3).stdout_contains("deleted outside").does_not_say("decided");
}
