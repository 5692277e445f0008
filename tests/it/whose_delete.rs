//! Who deleted what is missing: a stranger, or trueup itself. What trueup deleted, or was not allowed to create, is never
//! called a delete outside by a machine that can know it.

use std::collections::{BTreeMap, BTreeSet};
#[cfg(unix)]
use std::{
    io::{BufRead as _, BufReader},
    process::{Command, Stdio},
};

use proptest::prelude::*;
use serde_json::Value;

use crate::support::{Service, Stage, commit, definition, git, git_in, shallow_clone};

const APPLY: &str = "apply . --yes --quiet --allow mass-change --allow empty-namespace";

/// A repository of three endpoints that is applied.
fn applied(service: &Service) -> Stage {
    Stage::stack(service, "shop")
        .file("cart.yaml", &definition("shop/cart", 80))
        .file("legacy.yaml", &definition("shop/legacy", 80))
        .file("search.yaml", &definition("shop/search", 80))
        .committed()
        .applied(".")
}

fn verdict(answer: &Value, key: &str) -> String {
    answer["verdicts"]["objects"][key]["verdict"].as_str().unwrap_or("in_sync").to_owned()
}

#[test]
fn what_a_revert_brings_back_was_not_deleted_outside() {
    let service = Service::start();
    let stage = applied(&service);
    let check = "drift . --drift-state ../drift.json --state ../elsewhere";
    stage.run(check).code(0);
    stage.remove("search.yaml");
    let removed = commit(&stage, "removal");
    stage.run(APPLY).code(0);
    assert!(!service.has("shop/search"));
    git(&stage, "revert --no-edit HEAD");
    // The machine that deleted it knows; any other knows from git that it may have been.
    stage.run("drift .").code(2).stdout_contains("shop/search         defined  not there").does_not_say("outside");
    let elsewhere = stage.run("drift . --state ../elsewhere");
    elsewhere.code(2).stdout_contains(&format!("{} removed the definition after", &removed[..7]));
    let reminded = stage.run(check);
    reminded.code(2).stdout_contains("cannot be decided");
    // Once it is back and was seen, a delete by hand is one again.
    stage.run(APPLY).code(0);
    stage.run("drift . --drift-state ../drift.json").code(0);
    std::thread::sleep(std::time::Duration::from_secs(1));
    stage.run("drift . --drift-state ../drift.json").code(0);
    service.delete("shop/search");
    stage.run(check).code(3).stdout_contains("shop/search");
}

#[test]
fn what_a_rewritten_history_removed_and_brings_back_was_not_deleted_outside() {
    for rewrite in ["commit -q --amend -m rewritten", "merge -q --squash rewritten"] {
        let service = Service::start();
        let stage = applied(&service);
        git(&stage, "checkout -qb branch");
        stage.write("news.yaml", &definition("shop/news", 80));
        stage.edit("cart.yaml", "port: 80", "port: 81");
        commit(&stage, "news");
        stage.run(APPLY).code(0);
        if rewrite.starts_with("merge") {
            git(&stage, "branch -m rewritten");
            git(&stage, "checkout -q main");
        }
        git(&stage, rewrite);
        commit(&stage, "news");
        // Nothing in the new history removed it.
        service.delete("shop/news");
        stage.run("drift . --state ../elsewhere").code(3).stdout_contains("shop/news");
        stage.run(APPLY).code(0);
        stage.remove("news.yaml");
        let removed = commit(&stage, "removal");
        stage.run(APPLY).code(0);
        git(&stage, "revert --no-edit HEAD");
        let elsewhere = stage.run("drift . --state ../elsewhere");
        elsewhere.code(2).stdout_contains(&format!("{} removed the definition after", &removed[..7]));
    }
}

#[test]
fn what_a_commit_that_the_clone_lacks_may_have_removed_was_not_deleted_outside() {
    let service = Service::start();
    let stage = applied(&service);
    git(&stage, "clone -q . ../clone");
    stage.remove("search.yaml");
    stage.edit("cart.yaml", "port: 80", "port: 81");
    let hotfix = commit(&stage, "hotfix");
    stage.run(APPLY).code(0);
    let lacks = format!("the clone lacks the applied commit {}", &hotfix[..7]);
    let check = "drift ../clone --state ../elsewhere";
    stage.run(check).code(2).stdout_contains("cannot be decided").stdout_contains(&lacks);
    // Where the commit is, its definitions are known.
    git(&stage, "checkout -q HEAD~1");
    stage.run("drift . --state ../elsewhere").code(2).stdout_contains("shop/search").does_not_say("outside");
    // What was applied after it decides.
    let clone = stage.path("../clone");
    for (name, port) in [("cart", 81), ("legacy", 82)] {
        std::fs::write(clone.join(format!("{name}.yaml")), definition(&format!("shop/{name}"), port)).expect("a file");
    }
    git_in(&clone, &["commit", "-qam", "later"]);
    stage.run(&APPLY.replace("apply .", "apply ../clone")).code(0);
    service.delete("shop/search");
    stage.run(check).code(3).stdout_contains("shop/search");
}

#[test]
fn what_a_rollback_took_away_was_not_deleted_outside() {
    let service = Service::start();
    let stage = applied(&service);
    stage.write("news.yaml", &definition("shop/news", 80));
    stage.edit("cart.yaml", "port: 80", "port: 81");
    commit(&stage, "news");
    stage.run(APPLY).code(0);
    stage.run("drift . --drift-state ../drift.json").code(0);
    stage.run("rollback last --only shop/news --yes --quiet").code(0);
    assert!(!service.has("shop/news"));
    for more in ["", "--drift-state ../drift.json", "--drift-state ../drift.json"] {
        let check = stage.run(&format!("drift . {more}"));
        check.code(2).stdout_contains("shop/news         defined  not there").does_not_say("outside");
    }
    let state: Value = serde_json::from_str(&stage.read("../drift.json")).expect("JSON");
    let known = state["applied"].as_array().expect("keys");
    assert!(!known.iter().any(|key| key == "shop/news"), "the drift state has learned of the rollback: {known:?}");
}

#[test]
fn what_the_service_refused_to_create_was_not_deleted_outside() {
    let service = Service::start();
    let stage = applied(&service);
    stage.write("news.yaml", &definition("shop/news", 80));
    stage.edit("cart.yaml", "port: 80", "port: 81");
    commit(&stage, "news");
    service.misbehave("rules: [{operation: endpoint-create, name: news, status: {code: 403}}]");
    stage.run(APPLY).code(7);
    service.misbehave("rules: []");
    stage.run("drift .").code(2).stdout_contains("shop/news         defined  not there").does_not_say("outside");
}

#[test]
fn what_an_apply_held_was_not_deleted_outside() {
    let service = Service::start();
    let settings = "stack: shop\nnamespaces: [shop]\nkinds: [healthcheck, origin_pool]\n\
                    environments: {prod: {overlay: over}}\n";
    let check = "kind: healthcheck\nmetadata: {name: alive, namespace: shop}\nspec: {tcp_health_check: {}, timeout: 3, \
                 interval: 15, unhealthy_threshold: 2, healthy_threshold: 3}\n";
    let pool = "kind: origin_pool\nmetadata: {name: pool, namespace: shop}\nspec:\n  origin_servers:\n  \
                - public_ip: {ip: 192.0.2.1}\n  port: 443\n  no_tls: {}\n  healthcheck:\n  - {name: alive}\n";
    let stage = Stage::new()
        .at(&service)
        .file("trueup.yaml", settings)
        .file("cart.yaml", &definition("shop/cart", 80))
        .file("check.yaml", check)
        .file("pool.yaml", pool)
        .committed();
    service.misbehave("rules: [{operation: healthcheck-create, status: {code: 403}}]");
    stage.run("apply . --env prod --yes --quiet").code(7);
    service.misbehave("rules: []");
    let drift = stage.run("drift . --env prod");
    drift.code(2).stdout_contains("origin_pool:shop/pool").does_not_say("outside");
    stage.run("pull --drift . --env prod").code(0).does_not_say("removed");
    assert_eq!(git(&stage, "status --porcelain"), "");
}

#[cfg(unix)]
#[test]
fn what_an_apply_did_not_get_to_before_it_ended_was_not_deleted_outside() {
    for signal in ["-INT", "-KILL"] {
        let service = Service::start();
        let mut stage = Stage::stack(&service, "shop");
        for number in 0..8 {
            stage = stage.file(&format!("{number}.yaml"), &definition(&format!("shop/e{number}"), 80));
        }
        let stage = stage.committed();
        service.hold("operation: endpoint-create, after: 1");
        let mut apply = stage.command(&["apply", ".", "--yes", "--concurrency", "1"]);
        let apply = apply.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
        let mut apply = apply.spawn().expect("the program starts");
        let stderr = BufReader::new(apply.stderr.take().expect("a pipe"));
        let mut said = stderr.lines().map(|line| line.expect("text"));
        said.find(|line| line.contains("done")).expect("a change is done");
        let sent = Command::new("kill").args([signal, &apply.id().to_string()]).status();
        assert!(sent.expect("kill").success());
        // A run that was killed says nothing more.
        said.by_ref().find(|line| line.contains("those in flight finish"));
        service.release();
        said.for_each(drop);
        assert!(!apply.wait().expect("it ends").success());
        let drift = stage.run("drift .");
        drift.code(2).stdout_contains("PENDING ").stdout_contains("shop/e7 ").does_not_say("outside");
    }
}

#[test]
fn what_a_later_commit_than_those_that_live_objects_name_removed_was_not_deleted_outside() {
    let service = Service::start();
    let stage = applied(&service);
    let check = "drift . --drift-state ../drift.json --state ../elsewhere";
    stage.write("news.yaml", &definition("shop/news", 80));
    commit(&stage, "news");
    // It creates this one alone, and no other object names the commit.
    stage.run(APPLY).code(0);
    stage.run(check).code(0);
    stage.remove("news.yaml");
    let removed = commit(&stage, "removal");
    stage.run(APPLY).code(0);
    assert!(!service.has("shop/news"));
    git(&stage, "revert --no-edit HEAD");
    let elsewhere = stage.run(check);
    elsewhere.code(2).stdout_contains("cannot be decided").stdout_contains(&format!("{} removed", &removed[..7]));
}

#[test]
fn what_a_shallow_clone_does_not_show_was_not_deleted_outside_after_an_earlier_check() {
    let service = Service::start();
    let stage = applied(&service);
    let check = "drift . --drift-state ../drift.json";
    stage.write("news.yaml", &definition("shop/news", 80));
    commit(&stage, "news");
    stage.run(APPLY).code(0);
    stage.run(check).code(0);
    stage.remove("news.yaml");
    commit(&stage, "removal");
    stage.run(APPLY).code(0);
    assert!(!service.has("shop/news"));
    git(&stage, "revert --no-edit HEAD");
    let shallow = Stage::new().at(&service);
    shallow_clone(&stage, &shallow);
    std::fs::copy(stage.path("../drift.json"), shallow.path("../drift.json")).expect("a copy");
    shallow.run(check).code(2).stdout_contains("cannot be decided").stdout_contains("fetch the history");
}

#[test]
fn a_merged_branch_that_never_had_it_removes_nothing() {
    let service = Service::start();
    let stage = applied(&service);
    let check = "drift . --drift-state ../drift.json --state ../elsewhere";
    git(&stage, "checkout -qb branch");
    stage.edit("legacy.yaml", "port: 80", "port: 81");
    commit(&stage, "branch");
    git(&stage, "checkout -q main");
    stage.write("news.yaml", &definition("shop/news", 80));
    commit(&stage, "news");
    stage.run(APPLY).code(0);
    stage.run(check).code(0);
    git(&stage, "merge -q --no-ff --no-edit branch");
    service.delete("shop/news");
    stage.run(check).code(4).stdout_contains("shop/news");
}

#[test]
fn what_a_merge_brings_back_was_not_deleted_outside() {
    let service = Service::start();
    let stage = applied(&service);
    let check = "drift . --drift-state ../drift.json --state ../elsewhere";
    git(&stage, "checkout -qb branch");
    stage.edit("search.yaml", "port: 80", "port: 81");
    git(&stage, "commit -q -a -m branch --date=2026-01-01T00:00:00Z");
    git(&stage, "rebase -q --force-rebase --committer-date-is-author-date main");
    git(&stage, "checkout -q main");
    stage.run(check).code(0);
    let search = stage.read("search.yaml");
    stage.remove("search.yaml");
    let removed = commit(&stage, "removal");
    stage.run(APPLY).code(0);
    // The branch is older than the check, and so is nothing that has the removal in its past.
    git(&stage, "merge -q --no-commit -s ours branch");
    stage.write("search.yaml", &search.replace("port: 80", "port: 81"));
    commit(&stage, "merge");
    let elsewhere = stage.run(check);
    elsewhere.code(2).stdout_contains(&format!("{} removed the definition after", &removed[..7]));
}

#[test]
fn a_machine_that_could_not_create_it_has_to_see_it_before_it_calls_it_deleted_outside() {
    let service = Service::start();
    let stage = applied(&service);
    let refuse = || {
        service.delete("shop/search");
        service.misbehave("rules: [{operation: endpoint-create, name: search, status: {code: 403}}]");
        stage.run(&format!("{APPLY} --state ../elsewhere")).stderr_ignored();
        service.misbehave("rules: []");
        stage.run(APPLY).code(0);
    };
    let check = "drift . --state ../elsewhere --drift-state ../drift.json";
    // Nothing that it can read shows that another machine created it in the meantime.
    refuse();
    service.delete("shop/search");
    stage.run("drift .").code(3).stdout_contains("shop/search");
    stage.run(check).code(2).stdout_contains("shop/search").does_not_say("outside");
    stage.run(APPLY).code(0);
    refuse();
    stage.run(check).code(0);
    service.delete("shop/search");
    stage.run(check).code(3).stdout_contains("shop/search");
}

#[test]
fn a_shared_state_with_the_run_that_deleted_it_accuses_nobody() {
    let service = Service::start();
    let stage = applied(&service).env("TRUEUP_STATE", "../shared");
    stage.run("drift .").code(0);
    stage.remove("search.yaml");
    stage.run(APPLY).code(0);
    // It is written again, and git knows nothing of all this.
    stage.write("search.yaml", &definition("shop/search", 80));
    stage.run("drift .").code(2).does_not_say("outside");
    stage.run("drift .").code(2).does_not_say("outside");
    stage.run(APPLY).code(0);
    stage.run("drift .").code(0);
    service.delete("shop/search");
    stage.run("drift .").code(3).stdout_contains("shop/search");
}

#[test]
fn an_apply_of_an_older_commit_is_nobodys_delete() {
    let service = Service::start();
    let stage = applied(&service);
    stage.write("news.yaml", &definition("shop/news", 80));
    stage.edit("cart.yaml", "port: 80", "port: 81");
    commit(&stage, "news");
    stage.run(APPLY).code(0);
    git(&stage, "checkout -q HEAD~1");
    stage.edit("legacy.yaml", "port: 80", "port: 82");
    git(&stage, "checkout -q -b older");
    commit(&stage, "older");
    stage.run(APPLY).code(0);
    git(&stage, "checkout -q main");
    stage.run("drift . --state ../elsewhere").code(2).does_not_say("outside");
}

#[test]
fn drift_that_an_apply_restored_begins_anew() {
    let service = Service::start();
    let stage = applied(&service);
    let check = "drift . --drift-state ../drift.json --format json";
    let change = || service.change("shop/cart", |object| object["spec"]["port"] = serde_json::json!(9));
    change();
    stage.run(check).code(3);
    assert_eq!(stage.run(check).code(3).json()["drifted"][0]["checks"], 2);
    stage.run(APPLY).code(0);
    change();
    assert_eq!(stage.run(check).code(3).json()["drifted"][0]["checks"], 1);
}

/// What somebody does.
#[derive(Debug, Clone)]
enum Step {
    /// Defines an endpoint, or removes its definition, and commits.
    Toggle(usize),
    /// Edits the endpoint that is always there, and commits.
    Edit,
    /// Reverts the newest commit.
    Revert,
    Apply(usize),
    /// The same while the service refuses to create this endpoint.
    Refused(usize, usize),
    /// Applies the commit before the newest.
    Older(usize),
    Rollback(usize, usize),
    Check(usize),
    /// Deletes an endpoint by hand.
    Delete(usize),
}

const KEYS: [&str; 3] = ["shop/a", "shop/b", "shop/c"];

fn step() -> impl Strategy<Value = Step> {
    let (key, machine) = (|| 0..KEYS.len(), || 0..2_usize);
    prop_oneof![
        4 => key().prop_map(Step::Toggle),
        1 => Just(Step::Edit),
        3 => Just(Step::Revert),
        5 => machine().prop_map(Step::Apply),
        2 => (machine(), key()).prop_map(|(machine, key)| Step::Refused(machine, key)),
        1 => machine().prop_map(Step::Older),
        3 => (machine(), key()).prop_map(|(machine, key)| Step::Rollback(machine, key)),
        3 => machine().prop_map(Step::Check),
        2 => key().prop_map(Step::Delete),
    ]
}

/// What really happened to an endpoint.
#[derive(Debug, Clone, Default)]
struct Truth {
    /// A stranger deleted it, and nothing happened since.
    by_stranger: bool,
    /// Machines that cannot know what trueup did to it on another one.
    uninformed: BTreeSet<usize>,
    /// Machines whose own runs last took it away, or could not create it, and that have not seen it in place since.
    outdated: BTreeSet<usize>,
}

struct World<'s> {
    service: &'s Service,
    stage: &'s Stage,
    is_shared: bool,
    truth: BTreeMap<&'static str, Truth>,
    /// Commits from the first to the newest, each with what it defines.
    commits: Vec<(String, BTreeSet<&'static str>)>,
    port: u16,
}

impl World<'_> {
    fn state(&self, machine: usize) -> String {
        if self.is_shared { "--state ../shared".to_owned() } else { format!("--state ../machine-{machine}") }
    }

    fn live(&self) -> BTreeSet<&'static str> {
        KEYS.into_iter().filter(|key| self.service.has(key)).collect()
    }

    fn defined(&self) -> BTreeSet<&'static str> {
        KEYS.into_iter().filter(|key| self.stage.path(&file(key)).exists()).collect()
    }

    fn commit(&mut self) {
        let id = commit(self.stage, "step");
        self.commits.push((id, self.defined()));
    }

    /// Runs a command that changes live on a machine, and notes what it did. `known_by_git` is whether what it deletes
    /// is missing in the commits as well.
    fn change(&mut self, machine: usize, line: &str, known_by_git: bool) {
        let before = self.live();
        self.stage.run(&format!("{line} {}", self.state(machine))).stderr_ignored();
        let after = self.live();
        for key in KEYS {
            let uninformed = self.others(machine);
            let truth = self.truth.entry(key).or_default();
            match (before.contains(key), after.contains(key)) {
                (false, true) => {
                    (truth.by_stranger, truth.uninformed) = (false, BTreeSet::new());
                    truth.outdated.remove(&machine);
                }
                (true, false) => {
                    truth.by_stranger = false;
                    truth.uninformed = if known_by_git { BTreeSet::new() } else { uninformed };
                    truth.outdated.insert(machine);
                }
                // What happened to it before still holds.
                (true, true) | (false, false) => {}
            }
        }
    }

    /// The machines that do not see the runs of this one.
    fn others(&self, machine: usize) -> BTreeSet<usize> {
        (0..2).filter(|other| !self.is_shared && *other != machine).collect()
    }

    fn take(&mut self, step: &Step) {
        match *step {
            Step::Toggle(key) => {
                let key = KEYS[key];
                if self.defined().contains(key) {
                    self.stage.remove(&file(key));
                } else {
                    self.stage.write(&file(key), &definition(key, 80));
                }
                self.commit();
            }
            Step::Edit => {
                self.port += 1;
                self.stage.write("anchor.yaml", &definition("shop/anchor", self.port));
                self.commit();
            }
            Step::Revert if self.commits.len() > 1 => {
                git(self.stage, "revert --no-edit HEAD");
                self.commits.push((git(self.stage, "rev-parse HEAD"), self.defined()));
            }
            Step::Revert => {}
            Step::Apply(machine) => self.change(machine, APPLY, true),
            Step::Refused(machine, key) => {
                let name = KEYS[key].trim_start_matches("shop/");
                self.service.misbehave(&format!(
                    "rules: [{{operation: endpoint-create, name: {name}, status: {{code: 403}}}}]"
                ));
                self.change(machine, APPLY, true);
                self.service.misbehave("rules: []");
                if self.defined().contains(KEYS[key]) && !self.service.has(KEYS[key]) {
                    let uninformed = self.others(machine);
                    let truth = self.truth.entry(KEYS[key]).or_default();
                    truth.by_stranger = false;
                    truth.uninformed.extend(uninformed);
                    truth.outdated.insert(machine);
                }
            }
            Step::Older(machine) if self.commits.len() > 1 => {
                git(self.stage, "checkout -q HEAD~1");
                // What is newer than what it applied is known where the apply left a trace, or kept its journal.
                self.change(machine, APPLY, false);
                git(self.stage, "checkout -q main");
            }
            Step::Older(_) => {}
            Step::Rollback(machine, key) => {
                self.change(machine, &format!("rollback last --only {} --yes --quiet", KEYS[key]), false);
            }
            Step::Check(machine) => {
                let memory =
                    if self.is_shared { String::new() } else { format!("--drift-state ../drift-{machine}.json") };
                self.stage.run(&format!("drift . {memory} {}", self.state(machine))).stderr_ignored();
                for key in self.defined().intersection(&self.live()) {
                    self.truth.entry(key).or_default().outdated.remove(&machine);
                }
            }
            Step::Delete(key) => {
                if self.service.has(KEYS[key]) {
                    self.service.delete(KEYS[key]);
                    let truth = self.truth.entry(KEYS[key]).or_default();
                    (truth.by_stranger, truth.uninformed) = (true, BTreeSet::new());
                }
            }
        }
    }

    /// The newest commit that a live object names.
    fn named(&self) -> Option<usize> {
        let names = |key: &str| {
            let object = self.service.get(key);
            let text = object["metadata"]["annotations"]["trueup/applied"].as_str()?.to_owned();
            self.commits.iter().position(|(id, _)| Some(id.as_str()) == text.split(' ').nth(3))
        };
        let live = self.live().into_iter().chain(self.service.has("shop/anchor").then_some("shop/anchor"));
        live.filter_map(names).max()
    }

    /// Compares the verdicts of each machine with what really happened.
    fn judge(&self, steps: &[Step]) {
        let (live, defined) = (self.live(), self.defined());
        for machine in 0..2 {
            let with_memory = format!("--drift-state ../drift-{machine}.json");
            let memory = if self.is_shared { "" } else { &with_memory };
            let ran = self.stage.run(&format!("drift . --format json {memory} {}", self.state(machine)));
            ran.stderr_ignored();
            let answer = ran.json();
            for key in defined.difference(&live) {
                let truth = self.truth.get(key).cloned().unwrap_or_default();
                let verdict = verdict(&answer, key);
                let about = || format!("{key} on machine {machine}, shared: {}, {steps:?}\n{answer:#}", self.is_shared);
                if !truth.by_stranger && !truth.uninformed.contains(&machine) {
                    assert_ne!(verdict, "drift", "trueup itself did it: {}", about());
                }
                // That another machine put it back left no trace that this one sees.
                let is_outdated = !self.is_shared && truth.outdated.contains(&machine);
                let Some(named) = self.named().filter(|_| !is_outdated) else { continue };
                let later = &self.commits[named..];
                if truth.by_stranger && later.iter().all(|(_, keys)| keys.contains(key)) {
                    assert_eq!(verdict, "drift", "a stranger did it: {}", about());
                }
            }
        }
    }
}

fn file(key: &str) -> String {
    format!("{}.yaml", key.trim_start_matches("shop/"))
}

fn check(steps: &[Step], is_shared: bool) {
    let service = Service::start();
    let mut stage = Stage::stack(&service, "shop").file("anchor.yaml", &definition("shop/anchor", 80));
    for key in KEYS {
        stage = stage.file(&file(key), &definition(key, 80));
    }
    let stage = stage.committed();
    let first = (git(&stage, "rev-parse HEAD"), KEYS.into_iter().collect());
    let (truth, commits) = (BTreeMap::new(), vec![first]);
    let mut world = World { service: &service, stage: &stage, is_shared, truth, commits, port: 80 };
    world.take(&Step::Apply(0));
    for step in steps {
        world.take(step);
    }
    world.judge(steps);
}

/// Few, unless `PROPTEST_CASES` says otherwise.
fn config() -> ProptestConfig {
    let cases = std::env::var("PROPTEST_CASES").ok().and_then(|text| text.parse().ok());
    let cases = cases.unwrap_or(12);
    ProptestConfig { cases, max_shrink_iters: 60, failure_persistence: None, ..ProptestConfig::default() }
}

#[test]
fn a_rollback_of_what_a_stranger_deleted_leaves_it_his_delete() {
    for is_shared in [false, true] {
        check(&[Step::Delete(2), Step::Rollback(0, 2)], is_shared);
        check(&[Step::Delete(2), Step::Rollback(0, 2), Step::Check(0), Step::Toggle(1)], is_shared);
        check(&[Step::Check(0), Step::Delete(2), Step::Rollback(0, 2), Step::Check(0), Step::Edit], is_shared);
    }
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn no_history_makes_a_verdict_accuse_a_stranger_of_what_trueup_did(
        steps in proptest::collection::vec(step(), 1..9),
        is_shared in any::<bool>(),
    ) {
        check(&steps, is_shared);
    }
}
