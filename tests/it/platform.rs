//! The life of a platform team, in small: three environments, four teams and runners that forget everything. Each runner is
//! a fresh clone with an empty disk; only the repository and the state that the team chose are shared.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde_json::json;

use crate::support::{BucketServer, Service, Stage, TOKEN, definition, git_in};

const TEAMS: [&str; 4] = ["edge", "pay", "search", "shop"];
const ENVIRONMENTS: [&str; 3] = ["dev", "prod", "stage"];
const ENDPOINTS: usize = 5;

/// The repository, its services and the shared state.
struct Platform {
    directory: tempfile::TempDir,
    services: BTreeMap<&'static str, Service>,
    /// Where the state is; in a directory if there is none.
    bucket: Option<BucketServer>,
}

impl Platform {
    /// Four teams with a stack each, in three environments, committed on `main`.
    fn new(bucket: Option<BucketServer>) -> Self {
        let directory = tempfile::tempdir().expect("a directory");
        let services = ENVIRONMENTS.map(|environment| (environment, Service::start())).into();
        let platform = Self { directory, services, bucket };
        let origin = platform.origin();
        std::fs::create_dir_all(&origin).expect("a directory");
        for team in TEAMS {
            let stack = origin.join("teams").join(team);
            std::fs::create_dir_all(&stack).expect("a directory");
            std::fs::write(stack.join("trueup.yaml"), platform.settings(team, team)).expect("the settings");
            for number in 0..ENDPOINTS {
                let key = format!("{team}/e{number}");
                let text = definition(&key, 80).replace("10.0.0.7", &format!("${{net}}.{number}"));
                std::fs::write(stack.join(format!("e{number}.yaml")), text).expect("a definition");
            }
        }
        git_in(&origin, &["init", "-q", "-b", "main"]);
        git_in(&origin, &["config", "receive.denyCurrentBranch", "updateInstead"]);
        git_in(&origin, &["add", "-A"]);
        git_in(&origin, &["commit", "-qm", "first"]);
        platform
    }

    fn origin(&self) -> PathBuf {
        self.directory.path().join("origin")
    }

    fn state(&self) -> PathBuf {
        self.directory.path().join("state")
    }

    /// The settings of a team, whose stacks are called after `name`.
    fn settings(&self, team: &str, name: &str) -> String {
        let mut text = format!("namespaces: [{team}]\ndefaults:\n  variables: {{net: 10.0.0}}\nenvironments:\n");
        for (environment, service) in &self.services {
            let guards = if *environment == "prod" { ", guards: {percent: 20}" } else { "" };
            text.push_str(&format!(
                "  {environment}: {{stack: {name}-{environment}, base_url: '{}', overlay: overlays/{environment}{guards}}}\n",
                service.url()
            ));
        }
        text
    }

    /// A runner that nothing is left on.
    fn runner(&self) -> Stage {
        let state = vec![("TRUEUP_STATE", self.state().to_str().expect("a path").to_owned())];
        let state = self.bucket.as_ref().map_or(state, BucketServer::variables);
        let stage = Stage::new().env("TRUEUP_TOKEN", TOKEN);
        let stage = state.into_iter().fold(stage, |stage, (name, value)| stage.env(name, &value));
        git_in(&stage.path(""), &["clone", "-q", self.origin().to_str().expect("a path"), "."]);
        stage
    }

    /// Changes `main` as a merge would.
    fn merge(&self, change: impl FnOnce(&Stage)) {
        let stage = self.runner();
        change(&stage);
        self.push(&stage);
    }

    /// Commits what a runner changed, and pushes it to `main`.
    fn push(&self, stage: &Stage) {
        git_in(&stage.path(""), &["add", "-A"]);
        git_in(&stage.path(""), &["commit", "-qm", "change"]);
        git_in(&stage.path(""), &["push", "-q", "origin", "HEAD:main"]);
    }

    /// The uid of every endpoint of a team in an environment.
    fn uids(&self, environment: &str, team: &str) -> Vec<String> {
        let uid =
            |number| self.services[environment].get(&format!("{team}/e{number}"))["system_metadata"]["uid"].to_string();
        (0..ENDPOINTS).map(uid).collect()
    }

    /// What a change of one endpoint by hand does to its service.
    fn by_hand(&self, environment: &str, key: &str, port: u16) {
        self.services[environment].change(key, |object| object["spec"]["port"] = json!(port));
    }

    fn port(&self, environment: &str, key: &str) -> serde_json::Value {
        self.services[environment].get(key)["spec"]["port"].clone()
    }
}

/// A drift check of every stack in an environment, from a runner of its own: its exit code.
#[track_caller]
fn drift(platform: &Platform, environment: &str) -> i32 {
    let stage = platform.runner();
    stage.run(&format!("drift --recursive teams --env {environment}")).stderr_ignored().exit()
}

#[test]
fn a_year_of_a_platform_team() {
    let platform = Platform::new(None);
    year(&platform);
    assert!(platform.state().is_dir());
}

#[test]
fn a_year_of_a_platform_team_with_its_state_in_a_bucket() {
    let Some(bucket) = BucketServer::start() else { return };
    let platform = Platform::new(Some(bucket));
    year(&platform);
    assert!(!platform.state().exists());
    let runs = platform.bucket.map(|bucket| bucket.names("runs").len());
    assert!(runs.is_some_and(|runs| runs >= 12), "{runs:?}");
}

/// What happens to the team, whatever its state is in.
fn year(platform: &Platform) {
    let first = platform.runner();
    first.run("validate --recursive teams --env all").code(0);
    for environment in ENVIRONMENTS {
        first.run(&format!("apply --recursive teams --env {environment} --yes --quiet")).code(0);
        assert_eq!(drift(platform, environment), 0);
    }
    let every = platform.runner();
    assert_eq!(
        every.run("plan --recursive teams --env all --format json").json()["stacks"].as_array().map(Vec::len),
        Some(12)
    );
    drop(first);

    // A branch that is behind would revert what was merged and applied meanwhile.
    let stale = platform.runner();
    platform.merge(|stage| stage.edit("teams/shop/e0.yaml", "port: 80", "port: 81"));
    platform.runner().run("apply teams/shop --env prod --yes --quiet").code(0);
    stale.edit("teams/shop/e1.yaml", "port: 80", "port: 82");
    git_in(&stale.path(""), &["fetch", "-q"]);
    let plan = stale.run("plan teams/shop --env prod --base origin/main --detailed-exitcode");
    plan.code(6).stdout_contains("behind-base");
    assert_eq!(platform.port("prod", "shop/e0"), 81);
    drop(stale);

    // A fork has a snapshot and no token.
    let keeper = platform.runner();
    keeper.run("snapshot teams/pay --env prod --referrers -o live.json").code(0);
    let fork = platform.runner().env("TRUEUP_TOKEN", "");
    fork.write("live.json", &keeper.read("live.json"));
    fork.edit("teams/pay/e0.yaml", "port: 80", "port: 90");
    fork.run("plan teams/pay --env prod --live live.json").code(0).stdout_contains("1 to replace");
    drop((keeper, fork));

    // An apply that fails half-way is resumed by a runner that has never seen it.
    platform.merge(|stage| {
        (0..ENDPOINTS).for_each(|n| stage.edit(&format!("teams/pay/e{n}.yaml"), "port: 80", "port: 91"));
    });
    let prod = &platform.services["prod"];
    prod.misbehave("rules: [{operation: endpoint-replace, name: e3, status: {code: 403}}]");
    let failed = platform.runner();
    failed.run("apply teams/pay --env prod --yes --quiet --allow mass-change").stderr_ignored().code(7);
    drop(failed);
    prod.misbehave("rules: []");
    let other = platform.runner();
    other.run("apply --resume last --yes --quiet --config teams/pay/trueup.yaml --env prod").code(0);
    assert!((0..ENDPOINTS).all(|n| platform.port("prod", &format!("pay/e{n}")) == 91));
    drop(other);

    // A night of edits by hand: taken over in one environment, reverted in another, and the third is as it was.
    assert_eq!(drift(platform, "stage") & 1, 0, "pending at most");
    for environment in ["dev", "prod", "stage"] {
        platform
            .runner()
            .run(&format!("apply --recursive teams --env {environment} --yes --quiet --allow mass-change"))
            .code(0);
    }
    platform.by_hand("prod", "search/e0", 7000);
    platform.by_hand("prod", "search/e1", 7001);
    platform.by_hand("stage", "search/e0", 7000);
    assert_eq!((drift(platform, "prod"), drift(platform, "stage"), drift(platform, "dev")), (3, 3, 0));
    let adopter = platform.runner();
    adopter.run("pull --drift teams/search --env prod --into overlay").code(0);
    let base = adopter.read("teams/search/e0.yaml");
    assert!(base.contains("port: 80"), "the other environments keep theirs: {base}");
    platform.push(&adopter);
    platform.runner().run("apply teams/search --env stage --yes --quiet").code(0);
    assert_eq!(platform.port("stage", "search/e0"), 80);
    assert_eq!(platform.port("prod", "search/e0"), 7000);
    for environment in ENVIRONMENTS {
        assert_eq!(drift(platform, environment), 0, "{environment}");
    }

    // A rollback from a machine that had no part in it.
    platform.merge(|stage| stage.edit("teams/edge/e2.yaml", "port: 80", "port: 99"));
    platform.runner().run("apply teams/edge --env prod --yes --quiet").code(0);
    let third = platform.runner();
    third.run("rollback last --yes --quiet --config teams/edge/trueup.yaml --env prod").code(0);
    assert_eq!(platform.port("prod", "edge/e2"), 80);
    platform.merge(|stage| stage.edit("teams/edge/e2.yaml", "port: 99", "port: 80"));

    // A stack is renamed: nothing is created or deleted, and the endpoints are the same ones.
    let before: Vec<Vec<String>> = ENVIRONMENTS.iter().map(|environment| platform.uids(environment, "shop")).collect();
    platform.merge(|stage| stage.write("teams/shop/trueup.yaml", &platform.settings("shop", "store")));
    for environment in ENVIRONMENTS {
        let renamed = platform.runner();
        let plan = renamed.run(&format!("plan teams/shop --env {environment} --format json")).json();
        assert_eq!((&plan["counts"]["create"], &plan["counts"]["delete"]), (&json!(0), &json!(0)), "{environment}");
        renamed.run(&format!("apply teams/shop --env {environment} --yes --quiet")).code(0);
        assert_eq!(drift(platform, environment), 0, "{environment}");
    }
    let after: Vec<Vec<String>> = ENVIRONMENTS.iter().map(|environment| platform.uids(environment, "shop")).collect();
    assert_eq!(before, after);
}
