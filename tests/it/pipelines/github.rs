//! The workflows for GitHub, run step by step: a pull request, its comments, the label that allows a guard, a merge,
//! a fork and a night.

use std::cell::RefCell;

use serde_json::{Value as Json, json};
use serde_yaml::Value;

use super::runner::{Ran, Runner, has};
use super::{jobs, steps, text, workflow};
use crate::support::{Service, definition};

/// A step by its id, or by its name.
fn step(workflow: &Value, job: &str, id: &str) -> Value {
    let (_, job) = jobs(workflow).into_iter().find(|(name, _)| *name == job).expect("the job");
    let is = |step: &&Value| text(step, "id") == id || text(step, "name") == id;
    steps(job).iter().find(is).unwrap_or_else(|| panic!("no step `{id}`")).clone()
}

fn last(workflow: &Value, job: &str) -> Value {
    let (_, job) = jobs(workflow).into_iter().find(|(name, _)| *name == job).expect("the job");
    steps(job).last().expect("a step").clone()
}

const SHOP: &str = "stack: shop\nnamespaces: [shop]\n";
const PAY: &str = "environments:\n  dev: {stack: pay-dev, namespaces: [dev], variables: {where: dev}}\n  \
                   prod: {stack: pay-prod, namespaces: [prod], variables: {where: prod}}\n";

/// Two stacks, one of them in two environments.
fn repository(service: &Service, below: &'static str) -> Runner {
    Runner::new(
        service,
        below,
        &[
            ("shop/trueup.yaml", SHOP),
            ("shop/cart.yaml", &definition("shop/cart", 80)),
            ("pay/trueup.yaml", PAY),
            ("pay/card.yaml", &definition("${where}/card", 80)),
        ],
    )
}

/// The targets that a step found, as the matrix of the next job.
fn targets(ran: &Ran) -> Vec<Json> {
    assert_eq!(ran.code, 0, "{}", ran.errors);
    let matrix: Json = serde_json::from_str(&ran.handed("matrix")).expect("JSON");
    matrix["include"].as_array().expect("targets").clone()
}

/// What the matrix sets for a job.
fn choose(runner: &mut Runner, target: &Json) {
    runner.set("DIRECTORY", target["directory"].as_str().expect("a directory"));
    runner.set("ENVIRONMENT", target["environment"].as_str().unwrap_or_default());
    runner.set("ID", target["id"].as_str().expect("an id"));
}

/// Plans a target as the job `plan` does, and keeps what it uploads below `plans`.
fn plan(runner: &mut Runner, target: &Json) -> Ran {
    choose(runner, target);
    let ran = runner.step(&step(&workflow("plan.yaml"), "plan", "plan"));
    assert_eq!(ran.code, 0, "{}", ran.errors);
    upload(runner, "plan", &format!("plan-{}", target["id"].as_str().expect("an id")));
    ran
}

/// Keeps what a job uploads as an artifact, in place of that of an earlier run.
fn upload(runner: &Runner, directory: &str, artifact: &str) {
    let kept = runner.stage.path(&format!("artifacts/{artifact}"));
    std::fs::create_dir_all(kept.parent().expect("a directory")).expect("a directory");
    let _ = std::fs::remove_dir_all(&kept);
    std::fs::rename(runner.stage.path(directory), kept).expect("what is uploaded");
}

/// Extracts the artifacts below `plans` as the action of the step does: a single one without a directory of its own,
/// each of several into one, and with `merge-multiple` none.
fn download(runner: &Runner) {
    let workflow = workflow("comment.yaml");
    let with = steps(jobs(&workflow)[0].1)[0].get("with").expect("inputs");
    let merges = with.get("merge-multiple").and_then(Value::as_bool) == Some(true);
    let entries = |path: &str| {
        let found = std::fs::read_dir(runner.stage.path(path)).map(|entries| {
            entries.map(|entry| entry.expect("an entry").file_name().into_string().expect("a name")).collect::<Vec<_>>()
        });
        found.unwrap_or_default()
    };
    let _ = std::fs::remove_dir_all(runner.stage.path("plans"));
    let artifacts = entries("artifacts");
    for artifact in &artifacts {
        let to = if merges || artifacts.len() == 1 { "plans".to_owned() } else { format!("plans/{artifact}") };
        std::fs::create_dir_all(runner.stage.path(&to)).expect("a directory");
        let copied = runner.shell(&format!("cp -a 'artifacts/{artifact}/.' '{to}'"), "");
        assert_eq!(copied.code, 0, "{}", copied.errors);
    }
}

fn verdict(runner: &mut Runner, planned: &Ran) -> i32 {
    runner.set("CODE", &planned.handed("code"));
    runner.step(&last(&workflow("plan.yaml"), "plan")).code
}

/// The run that a comment is about.
fn finished() -> Json {
    json!({"workflow_run": {"id": 1, "head_sha": "abc", "head_branch": "b", "html_url": "https://forge/run/1",
                            "head_repository": {"owner": {"login": "o"}}}})
}

#[test]
fn a_pull_request_has_a_plan_and_a_comment_for_each_stack_and_environment() {
    if !has(&["bash", "jq", "git", "node"]) {
        return;
    }
    let service = Service::start();
    let mut runner = repository(&service, "change/");
    let base = runner.git("rev-parse HEAD");
    runner.set("BASE", &base);
    let stacks = step(&workflow("plan.yaml"), "stacks", "stacks");
    assert_eq!(targets(&runner.step(&stacks)), Vec::<Json>::new(), "nothing changed");

    runner.stage.edit("change/pay/card.yaml", "port: 80", "port: 81");
    runner.commit();
    let found = targets(&runner.step(&stacks));
    let environments: Vec<&str> = found.iter().filter_map(|target| target["environment"].as_str()).collect();
    assert_eq!(environments, ["dev", "prod"], "{found:?}");
    for target in &found {
        let planned = plan(&mut runner, target);
        assert_eq!((planned.handed("code").as_str(), verdict(&mut runner, &planned)), ("2", 0));
        assert!(planned.summary.contains("### trueup plan: 1 to create"), "{}", planned.summary);
    }

    // The comment of a target is found again; that of a stack that is not touched any more says so.
    let comment = last(&workflow("comment.yaml"), "comment");
    let pulls = json!([{"number": 7, "head": {"sha": "abc"}}, {"number": 8, "head": {"sha": "other"}}]);
    let calls = |runner: &Runner, comments: Json| {
        download(runner);
        let answers = json!({"pulls.list": pulls, "issues.listComments": comments});
        let ran = runner.script(&comment, &finished(), &answers);
        let calls = ran["calls"].as_array().expect("calls").clone();
        calls.into_iter().filter(|call| !call[0].as_str().is_some_and(|name| name.contains("list"))).collect::<Vec<_>>()
    };
    let created = calls(&runner, json!([]));
    assert_eq!(created.len(), 2, "{created:?}");
    let body = created[0][1]["body"].as_str().expect("a body").to_owned();
    let marker = body.lines().next().expect("a line").to_owned();
    assert!(marker.starts_with("<!-- trueup ") && body.contains("1 to create"), "{body}");
    let comments = json!([
        {"id": 1, "user": {"type": "Bot"}, "body": body},
        {"id": 2, "user": {"type": "User"}, "body": body},
        {"id": 3, "user": {"type": "Bot"}, "body": "<!-- trueup gone -->\nold"},
    ]);
    let again: Vec<(String, Json)> = calls(&runner, comments)
        .into_iter()
        .map(|call| (call[0].as_str().expect("a name").to_owned(), call[1]["comment_id"].clone()))
        .collect();
    let expected =
        [("issues.updateComment", json!(1)), ("issues.createComment", Json::Null), ("issues.updateComment", json!(3))];
    assert_eq!(again, expected.map(|(name, id)| (name.to_owned(), id)));

    // A plan that fails has a comment, too, and a red check.
    runner.stage.edit("change/pay/card.yaml", "port: 81", "prot: 81\n  # @everyone ```");
    let failed = plan(&mut runner, &found[0]);
    assert_eq!((failed.handed("code").as_str(), verdict(&mut runner, &failed)), ("1", 1));
    let created = calls(&runner, json!([]));
    let body = created[0][1]["body"].as_str().expect("a body");
    assert!(body.contains("### trueup plan: failed") && body.contains("prot"), "{body}");
    let shown = body.lines().skip(3).filter(|line| !line.is_empty()).collect::<Vec<_>>();
    assert!(shown[..shown.len() - 1].iter().all(|line| line.starts_with("    ")), "{body}");
    // The mistake is marked in its file, and settings that cannot be read keep their place in the matrix.
    let marked = runner.step(&step(&workflow("plan.yaml"), "stacks", "Definitions"));
    assert!(marked.code == 0 && marked.errors.contains("::error file=pay/card.yaml"), "{}", marked.errors);
    runner.stage.edit("change/shop/trueup.yaml", "stack: shop", "stack: [");
    let found = targets(&runner.step(&stacks));
    assert!(found.iter().any(|target| target["directory"] == "shop"), "{found:?}");

    // The check over all jobs.
    let all = last(&workflow("plan.yaml"), "trueup");
    for (results, is_planned, code) in [
        ("success skipped success", "true", 0),
        ("success failure", "true", 1),
        ("cancelled success", "true", 1),
        // A fork with more stacks than a matrix holds.
        ("success success skipped skipped skipped", "false", 1),
    ] {
        runner.set("RESULTS", results);
        runner.set("IS_PLANNED", is_planned);
        assert_eq!(runner.step(&all).code, code, "{results}");
    }
}

#[test]
fn what_others_merged_after_the_last_push_is_not_of_the_pull_request() {
    if !has(&["bash", "jq", "git"]) {
        return;
    }
    let service = Service::start();
    let mut runner = repository(&service, "change/");
    // The base of the event is that of the last push.
    runner.set("BASE", &runner.git("rev-parse HEAD"));
    runner.git("checkout -qb branch");
    runner.stage.write("change/shop/web.yaml", &definition("shop/web", 80));
    runner.commit();
    runner.git("checkout -q main");
    runner.stage.edit("change/shop/cart.yaml", "port: 80", "port: 81");
    runner.stage.edit("change/pay/card.yaml", "port: 80", "port: 81");
    runner.commit();
    // The forge merges the pull request anew for each event, such as a label.
    runner.git("checkout -q --detach");
    runner.git("merge -q --no-edit branch");
    for job in ["stacks", "plan", "all", "fork"] {
        let step = step(&workflow("plan.yaml"), job, "Base");
        assert_eq!(text(&step, "if"), "github.event_name == 'pull_request'");
        assert_eq!(runner.step(&step).code, 0);
    }
    let set = runner.stage.read("../environment");
    runner.set("BASE", set.strip_prefix("BASE=").expect("the base").trim_end());
    let found = targets(&runner.step(&step(&workflow("plan.yaml"), "stacks", "stacks")));
    assert_eq!(found.len(), 1, "{found:?}");
    let planned = plan(&mut runner, &found[0]);
    assert!(planned.summary.contains("#### 1 create not part of this change"), "{}", planned.summary);
}

#[test]
fn a_removed_stack_has_a_comment_with_what_stays_live_and_the_commands_that_delete_it() {
    if !has(&["bash", "jq", "git", "node"]) {
        return;
    }
    let service = Service::start();
    let mut runner = repository(&service, "change/");
    runner.stage.run("apply change/shop --yes --quiet").code(0);
    runner.set("BASE", &runner.git("rev-parse HEAD"));
    let removed = step(&workflow("plan.yaml"), "stacks", "removed");
    let forget = |runner: &Runner| std::fs::remove_dir_all(runner.stage.path("removed")).expect("what is uploaded");
    let nothing = runner.step(&removed);
    assert_eq!(
        (nothing.code, nothing.summary.as_str(), nothing.output.contains("any=")),
        (0, "", false),
        "{}",
        nothing.errors
    );
    forget(&runner);
    runner.stage.remove("change/shop/trueup.yaml");
    runner.stage.remove("change/shop/cart.yaml");
    runner.commit();
    assert_eq!(targets(&runner.step(&step(&workflow("plan.yaml"), "stacks", "stacks"))), Vec::<Json>::new());
    let ran = runner.step(&removed);
    assert_eq!(ran.code, 0, "{}", ran.errors);
    assert_eq!(ran.handed("any"), "true");
    assert!(ran.summary.contains("nothing deletes what it defined: 1 endpoint (`shop/cart`)"), "{}", ran.summary);
    upload(&runner, "removed", "plan-removed...stacks");
    download(&runner);
    let answers = json!({"pulls.list": [{"number": 7, "head": {"sha": "abc"}}], "issues.listComments": []});
    let calls = runner.script(&last(&workflow("comment.yaml"), "comment"), &finished(), &answers);
    let calls = calls["calls"].as_array().expect("calls");
    let body = calls.iter().find(|call| call[0] == "issues.createComment").expect("a comment")[1]["body"].clone();
    let body = body.as_str().expect("a body");
    assert!(body.starts_with("<!-- trueup removed...stacks -->\n### trueup: 1 stack removed\n"), "{body}");
    // The commands do what they say.
    let commands = body.split("```").nth(1).expect("a block").strip_prefix("sh\n").expect("commands").to_owned();
    let commands = commands.lines().map(|line| match line.strip_prefix("trueup apply") {
        Some(rest) => format!("trueup apply{rest} --yes"),
        None => line.to_owned(),
    });
    let commands = commands.collect::<Vec<_>>().join(" && ");
    let ran = runner.shell(&commands, "change");
    assert_eq!(ran.code, 0, "{commands}: {}", ran.errors);
    assert!(!service.has("shop/cart"));
}

#[test]
fn only_a_maintainer_allows_a_guard_and_after_the_last_push_to_this_pull_request() {
    if !has(&["bash", "jq", "git", "node"]) {
        return;
    }
    let service = Service::start();
    let runner = repository(&service, "change/");
    let script = step(&workflow("plan.yaml"), "allowed", "labels");
    const OF_KIND: &str = "allow:protected=origin_pool:shop/cart";
    let wrong = "allow:protected=shop/a $(x)";
    let labels = json!([{"name": "bug"}, {"name": "allow:mass-change"}, {"name": OF_KIND}, {"name": wrong}]);
    let run = |sha: &str, at: &str| json!({"head_sha": sha, "created_at": at, "head_repository": {"full_name": "o/r"}});
    let event = |name: &str, at: &str| json!({"event": "labeled", "label": {"name": name}, "actor": {"login": "ana"}, "created_at": at});
    let warnings = RefCell::new(Vec::<String>::new());
    let allowed = |role: &str, set: &str, (runs, more): (&Json, &[Json]), payload: &Json| {
        let mut events = vec![event("allow:mass-change", "2026-11-20T10:00:00Z"), event("allow:mass-change", set)];
        events.extend(more.iter().cloned());
        let answers = json!({
            "pulls.get": {"head": {"sha": "abc", "ref": "change", "repo": {"full_name": "o/r"}}, "labels": labels},
            "actions.listWorkflowRuns": {"workflow_runs": runs},
            "issues.listEvents": events,
            "repos.getCollaboratorPermissionLevel": {"role_name": role},
        });
        let mut answer = runner.script(&script, payload, &answers);
        let calls = answer["calls"].as_array_mut().expect("calls").drain(..);
        warnings.replace(calls.filter(|call| call[0] == "warning").map(|call| call[1].to_string()).collect());
        answer["outputs"]["names"].as_str().expect("names").to_owned()
    };
    let pull = json!({"pull_request": {"number": 7}});
    let (after, before) = ("2026-11-21T10:05:00Z", "2026-11-21T09:00:00Z");
    let runs = json!([run("abc", after), run("abc", "2026-11-21T10:00:00Z"), run("old", "2026-11-21T08:00:00Z")]);
    let pushed = (&runs, &[] as &[Json]);
    assert_eq!(allowed("maintain", after, pushed, &pull), "mass-change");
    assert!(warnings.borrow().iter().any(|text| text.contains(wrong) && text.contains("not what --allow takes")));
    assert!(warnings.borrow().iter().any(|text| text.contains(OF_KIND) && text.contains("set it again")));
    let set = (&runs, &[event(OF_KIND, after)] as &[Json]);
    assert_eq!(allowed("admin", after, set, &pull), "mass-change protected=origin_pool:shop/cart");
    assert_eq!(allowed("admin", after, pushed, &pull), "mass-change");
    assert_eq!(allowed("write", after, pushed, &pull), "");
    assert_eq!(allowed("triage", after, pushed, &pull), "");
    assert_eq!(allowed("admin", before, pushed, &pull), "", "what was pushed later was not allowed");
    let queued = json!({"merge_group": {"head_ref": "refs/heads/gh-readonly-queue/main/pr-7-abc"}});
    assert_eq!(allowed("maintain", after, pushed, &queued), "mass-change");
    assert_eq!(allowed("maintain", after, pushed, &json!({"merge_group": {"head_ref": "refs/heads/x"}})), "");
    // The commit was pushed long before, to another branch or to another repository: that was another push.
    let mut elsewhere = run("abc", "2026-11-21T07:00:00Z");
    elsewhere["head_repository"]["full_name"] = json!("else/r");
    let earlier = json!([
        run("abc", "2026-11-21T10:00:00Z"),
        run("old", "2026-11-21T08:30:00Z"),
        run("abc", "2026-11-21T08:00:00Z"),
        elsewhere
    ]);
    assert_eq!(allowed("admin", before, (&earlier, &[]), &pull), "", "the label is older than the last push");
    assert_eq!(allowed("admin", after, (&earlier, &[]), &pull), "mass-change");
    // A push that began no run.
    let forced = [json!({"event": "head_ref_force_pushed", "created_at": "2026-11-21T10:06:00Z"})];
    assert_eq!(allowed("admin", after, (&runs, &forced), &pull), "");
    assert_eq!(allowed("admin", after, (&json!([]), &[]), &pull), "", "nothing says when it was pushed");
    assert_eq!(allowed("admin", after, (&json!([run("newer", after)]), &[]), &pull), "");
}

#[test]
fn a_guard_makes_the_check_red_until_it_is_allowed() {
    if !has(&["bash", "jq", "git"]) {
        return;
    }
    let service = Service::start();
    let mut runner = repository(&service, "change/");
    runner.stage.run("apply change/shop --yes --quiet").code(0);
    let base = runner.git("rev-parse HEAD");
    runner.set("BASE", &base);
    runner.stage.remove("change/shop/cart.yaml");
    runner.stage.write("change/shop/other.yaml", &definition("shop/other", 80));
    runner.commit();
    let found = targets(&runner.step(&step(&workflow("plan.yaml"), "stacks", "stacks")));
    assert_eq!(found.len(), 1, "{found:?}");
    for (allow, code) in [("", 6), ("mass-change", 6), ("mass-change empty-namespace", 0)] {
        runner.set("ALLOW", allow);
        let planned = plan(&mut runner, &found[0]);
        assert_eq!(verdict(&mut runner, &planned), code, "{allow}: {}", planned.summary);
    }
}

#[test]
fn a_fork_is_planned_against_a_snapshot_without_a_token() {
    if !has(&["bash", "jq", "git"]) {
        return;
    }
    let service = Service::start();
    let mut runner = repository(&service, "change/");
    runner.stage.run("apply change/shop --yes --quiet").code(0);
    let snapshot = workflow("snapshot.yaml");
    let found = targets(&runner.shell(text(&step(&snapshot, "stacks", "stacks"), "run"), "change"));
    assert_eq!(found, [json!({"environment": ""}), json!({"environment": "dev"}), json!({"environment": "prod"})]);
    runner.set("ENVIRONMENT", "");
    assert_eq!(runner.shell(text(&step(&snapshot, "snapshot", "snapshot"), "run"), "change").code, 0);
    // What `gh` answers: the newest runs, the second of which has an artifact. One stack that cannot be read makes a run red.
    runner.stage.write(
        "../bin/gh",
        "#!/bin/sh\necho \"$@\" >> asked\ncase \"$2\" in list) echo 6; echo 5 ;; \
         download) [ \"$3\" = 5 ] && mkdir -p 5 && cp change/snapshots/* 5 ;; esac\n",
    );
    assert_eq!(runner.shell("chmod +x ../bin/gh", "").code, 0);
    let shop = json!({"directory": "shop", "id": "shop"});
    let shop = &shop;
    choose(&mut runner, shop);
    assert_eq!(runner.step(&step(&workflow("plan.yaml"), "fork", "Snapshot")).code, 0);
    let asked = runner.stage.read("asked");
    let (list, downloads) = asked.split_once('\n').expect("lines");
    assert!(list.contains("(.event == \"push\" or .event == \"schedule\")"), "{list}");
    assert_eq!(downloads, "run download 6 --dir 6 --name snapshot\nrun download 5 --dir 5 --name snapshot\n");
    // A stack that the fork adds is in none.
    choose(&mut runner, &json!({"directory": "new", "id": "new"}));
    let ran = runner.step(&step(&workflow("plan.yaml"), "fork", "Snapshot"));
    assert_eq!(
        (ran.code, ran.errors.contains("::error::none of the last snapshots contains this stack: ")),
        (1, true),
        "{}",
        ran.errors
    );

    let base = runner.git("rev-parse HEAD");
    runner.stage.edit("change/shop/cart.yaml", "port: 80", "port: 81");
    runner.commit();
    drop(service);
    runner.set("BASE", &base);
    runner.set("TRUEUP_TOKEN", "");
    let planned = plan(&mut runner, shop);
    assert_eq!((planned.handed("code").as_str(), verdict(&mut runner, &planned)), ("2", 0), "{}", planned.errors);
    assert!(planned.summary.contains("against the snapshot of"), "{}", planned.summary);
}

#[test]
fn a_merge_is_applied_by_the_digest_that_was_approved() {
    if !has(&["bash", "jq", "git"]) {
        return;
    }
    let service = Service::start();
    let mut runner = repository(&service, "");
    let (apply, stack) = (workflow("apply.yaml"), workflow("apply-stack.yaml"));
    let stacks = step(&apply, "stacks", "stacks");
    let before = runner.git("rev-parse HEAD");
    runner.stage.edit("shop/cart.yaml", "port: 80", "port: 81");
    runner.commit();
    runner.git("update-ref refs/remotes/origin/main HEAD");
    runner.set("BEFORE", "");
    assert_eq!(targets(&runner.step(&stacks)).len(), 3, "a run by hand is about all stacks");
    runner.set("BEFORE", "0000000000000000000000000000000000000000");
    assert_eq!(targets(&runner.step(&stacks)).len(), 3, "and so is a first push");
    runner.set("BEFORE", &before);
    let found = targets(&runner.step(&stacks));
    assert_eq!(found.len(), 1, "{found:?}");
    runner.git("commit -q --allow-empty -m gone");
    let gone = runner.git("rev-parse HEAD");
    runner.git("reset -q --hard HEAD~1");
    for before in [&gone, "3f2c9ab43f2c9ab43f2c9ab43f2c9ab43f2c9ab4"] {
        runner.set("BEFORE", before);
        assert_eq!(targets(&runner.step(&stacks)).len(), 3, "what a force push took away may be live");
    }
    runner.set("BEFORE", &before);
    choose(&mut runner, &found[0]);

    let (plan, make) = (step(&stack, "plan", "plan"), step(&stack, "apply", "apply"));
    let planned = runner.step(&plan);
    assert_eq!((planned.code, planned.handed("code").as_str()), (0, "2"), "{}", planned.errors);
    runner.set("TRUEUP_STATE", "run");
    runner.set("BASE", &planned.handed("base"));
    runner.set("DIGEST", "00000000000000000000000000000000");
    assert_eq!(runner.step(&make).code, 6, "another plan");
    runner.set("DIGEST", &planned.handed("digest"));
    let made = runner.step(&make);
    assert_eq!(made.code, 0, "{}", made.errors);
    assert_eq!(service.get("shop/cart")["spec"]["port"], 81);
    // What the job keeps.
    assert!(runner.stage.path("evidence.json").is_file());
    let journals = std::fs::read_dir(runner.stage.path("run/runs")).expect("the journal").count();
    assert!(journals > 0);
    let again = runner.step(&plan);
    assert_eq!((again.code, again.handed("code").as_str()), (0, "0"), "nothing is left, and nobody is asked");

    // The run of an older commit that is started again reverts nothing.
    runner.git("checkout -q HEAD~1");
    let stale = runner.step(&plan);
    assert_eq!(stale.code, 6, "{}", stale.errors);
    assert!(stale.summary.contains("behind base"), "{}", stale.summary);
    runner.set("ALLOW", "behind-base");
    let planned = runner.step(&plan);
    runner.set("BASE", &planned.handed("base"));
    runner.set("DIGEST", &planned.handed("digest"));
    assert_eq!(runner.step(&make).code, 0, "a person may mean it");
    runner.set("ALLOW", "");
    runner.set("BASE", "");
    runner.git("checkout -q main");

    // An apply that waits for its reviewer, or is started again, reverts nothing that was merged since its plan either.
    let planned = runner.step(&plan);
    assert_eq!((planned.code, planned.handed("base").as_str()), (0, ""), "{}", planned.errors);
    let waiting = runner.git("rev-parse HEAD");
    runner.stage.edit("shop/cart.yaml", "port: 81", "port: 80");
    runner.git("commit -qam merged");
    runner.git("update-ref refs/remotes/origin/main HEAD");
    runner.git(&format!("checkout -q {waiting}"));
    runner.set("DIGEST", &planned.handed("digest"));
    runner.stage.remove("evidence.json");
    let late = runner.step(&make);
    assert_eq!(late.code, 6, "{}", late.errors);
    assert!(late.errors.contains("behind base"), "{}", late.errors);
    assert_eq!(service.get("shop/cart")["spec"]["port"], 80);
    // What it does not touch may have been merged.
    runner.git("checkout -q main");
    runner.git(&format!("reset -q --hard {waiting}"));
    runner.stage.edit("pay/card.yaml", "port: 80", "port: 81");
    runner.git("commit -qam merged");
    runner.git("update-ref refs/remotes/origin/main HEAD");
    runner.git(&format!("checkout -q {waiting}"));
    let late = runner.step(&make);
    assert_eq!(late.code, 0, "{}", late.errors);
    runner.git("checkout -q main");

    // A guard stands until somebody names it by hand, in the plan and where it is applied.
    runner.stage.remove("shop/cart.yaml");
    runner.stage.write("shop/other.yaml", &definition("shop/other", 80));
    assert_eq!(runner.step(&plan).code, 6);
    runner.set("ALLOW", "empty-namespace");
    let planned = runner.step(&plan);
    assert!(planned.summary.contains("**Allowed"), "{}", planned.summary);
    runner.set("DIGEST", &planned.handed("digest"));
    runner.set("ALLOW", "");
    assert_eq!(runner.step(&make).code, 6);
    runner.set("ALLOW", "empty-namespace");
    // Another run of the job has a workspace of its own.
    runner.stage.remove("evidence.json");
    assert_eq!(runner.step(&make).code, 0);
    // A plan from an incomplete read is none to apply.
    service.misbehave("rules: [{operation: endpoint-list, status: {code: 403}}]");
    assert_eq!(runner.step(&plan).code, 5);
}

/// What `trueup move` handed over belongs to the new stack only after an apply.
#[test]
fn a_plan_that_only_annotates_is_applied_too() {
    if !has(&["bash", "jq", "git"]) {
        return;
    }
    let service = Service::start();
    let mut runner = repository(&service, "");
    runner.git("update-ref refs/remotes/origin/main HEAD");
    runner.stage.run("apply shop --stack old --yes --quiet").code(0);
    choose(&mut runner, &json!({"directory": "shop", "id": "shop"}));
    runner.set("TRUEUP_STATE", "run");
    let stack = workflow("apply-stack.yaml");
    let (plan, make) = (step(&stack, "plan", "plan"), step(&stack, "apply", "apply"));
    let job: std::collections::BTreeMap<&str, &Value> = jobs(&stack).into_iter().collect();
    assert_eq!(text(job["apply"], "if"), "needs.plan.outputs.code == '2' || needs.plan.outputs.changes != '0'");
    let outputs = job["plan"].get("outputs").expect("outputs");
    assert_eq!(text(outputs, "changes"), "${{ steps.plan.outputs.changes }}");
    let handed = |ran: &Ran| ["code", "changes"].map(|name| ran.handed(name));
    assert_eq!(handed(&runner.step(&plan)), ["0", "0"], "it is another stack's");
    runner.set("ALLOW", "foreign-stack=shop/cart");
    let planned = runner.step(&plan);
    assert_eq!(handed(&planned), ["0", "1"], "{}", planned.summary);
    runner.set("BASE", &planned.handed("base"));
    runner.set("DIGEST", &planned.handed("digest"));
    let made = runner.step(&make);
    assert_eq!(made.code, 0, "{}", made.errors);
    assert_eq!(service.get("shop/cart")["metadata"]["annotations"]["trueup/stack"], "shop");
    runner.set("ALLOW", "");
    assert_eq!(handed(&runner.step(&plan)), ["0", "0"]);
}

#[test]
fn a_stack_whose_settings_cannot_be_read_stops_no_apply_of_another() {
    if !has(&["bash", "jq", "git"]) {
        return;
    }
    let service = Service::start();
    let mut runner = repository(&service, "");
    runner.set("BEFORE", &runner.git("rev-parse HEAD"));
    runner.stage.edit("shop/cart.yaml", "port: 80", "port: 81");
    runner.stage.write("pay/trueup.yaml", "stack: [\n");
    let both = runner.commit();
    let stacks = step(&workflow("apply.yaml"), "stacks", "stacks");
    let directories = |ran: &Ran| targets(ran).iter().map(|target| target["directory"].clone()).collect::<Vec<_>>();
    let ran = runner.step(&stacks);
    assert_eq!(directories(&ran), ["pay", "shop"]);
    assert!(ran.errors.contains("pay/trueup.yaml:1"), "{}", ran.errors);
    choose(&mut runner, &json!({"directory": "pay", "id": "pay"}));
    assert_eq!(runner.step(&step(&workflow("apply-stack.yaml"), "plan", "plan")).code, 1, "its own job is red");
    // A later push is not about it.
    runner.set("BEFORE", &both);
    runner.stage.edit("shop/cart.yaml", "port: 81", "port: 82");
    runner.commit();
    assert_eq!(directories(&runner.step(&stacks)), ["shop"]);
}

#[test]
fn an_apply_that_is_cancelled_ends_by_itself_and_keeps_what_it_did() {
    if !has(&["bash", "jq", "git"]) {
        return;
    }
    let service = Service::start();
    let mut runner = repository(&service, "");
    for number in 0..40 {
        runner.stage.write(&format!("shop/more-{number}.yaml"), &definition(&format!("shop/more-{number}"), 80));
    }
    runner.commit();
    runner.git("update-ref refs/remotes/origin/main HEAD");
    choose(&mut runner, &json!({"directory": "shop", "id": "shop"}));
    runner.set("TRUEUP_STATE", "run");
    let stack = workflow("apply-stack.yaml");
    let planned = runner.step(&step(&stack, "plan", "plan"));
    runner.set("DIGEST", &planned.handed("digest"));
    let ended = runner.cancelled(&step(&stack, "apply", "apply"), &service);
    assert_eq!(ended.code, 130, "{}", ended.errors);
    assert!(ended.errors.contains("interrupted: no new changes start"), "{}", ended.errors);
    assert!(service.requests("POST") < 41);
    let evidence: Json = serde_json::from_str(&runner.stage.read("evidence.json")).expect("JSON");
    assert_eq!(evidence["kind"], "run", "{evidence:#}");
}

#[test]
fn a_night_opens_an_issue_and_closes_it() {
    if !has(&["bash", "jq", "git", "node"]) {
        return;
    }
    let service = Service::start();
    let mut runner = repository(&service, "");
    runner.stage.run("apply shop --yes --quiet").code(0);
    let drift = workflow("drift.yaml");
    let found = targets(&runner.step(&step(&drift, "stacks", "stacks")));
    assert_eq!(found, [json!({"environment": ""}), json!({"environment": "dev"}), json!({"environment": "prod"})]);
    runner.set("ENVIRONMENT", "");
    let (check, issue) = (step(&drift, "drift", "drift"), step(&drift, "drift", "Issue"));
    let verdict = step(&drift, "drift", "Verdict");
    let mut night = |open: Json| {
        let ran = runner.step(&check);
        assert_eq!(ran.code, 0, "the issue comes before the verdict");
        let codes = ran.handed("codes").trim().to_owned();
        runner.set("CODES", &codes);
        assert_eq!(runner.step(&verdict).code.to_string(), codes);
        let calls = runner.script(&issue, &json!({}), &json!({"issues.listForRepo": open}))["calls"].clone();
        (codes, calls.as_array().expect("calls").last().cloned().expect("a call"))
    };
    let (code, call) = night(json!([]));
    assert_eq!((code.as_str(), call[0].as_str()), ("0", Some("issues.listForRepo")), "nothing to say");
    service.change("shop/cart", |object| object["spec"]["port"] = json!(9));
    let (code, call) = night(json!([]));
    assert_eq!((code.as_str(), call[0].as_str()), ("3", Some("issues.create")));
    assert_eq!(call[1]["title"], "shop has drifted");
    let body = call[1]["body"].clone();
    assert!(body.as_str().is_some_and(|body| body.contains("spec.port")), "{body}");
    let ours = json!([{"number": 5, "user": {"type": "User"}, "body": body}, {"number": 6, "user": {"type": "Bot"}, "body": body}]);
    service.misbehave("rules: [{operation: endpoint-list, status: {code: 403}}]");
    let (code, call) = night(ours.clone());
    assert_eq!((code.as_str(), &call[1]["issue_number"], &call[1]["state"]), ("5", &json!(6), &json!("open")));
    assert_eq!(call[1]["title"], "shop was not read completely", "that is not drift");
    service.misbehave("rules: []");
    service.change("shop/cart", |object| object["spec"]["port"] = json!(80));
    let (code, call) = night(ours);
    assert_eq!((code.as_str(), &call[1]["issue_number"], &call[1]["state"]), ("0", &json!(6), &json!("closed")));
    // The issue of a stack that is gone is closed, but not where settings that cannot be read may hide its environments.
    let ids: Vec<String> = serde_json::from_str(&runner.stage.read("reports/ids.json")).expect("JSON");
    let other = ids.iter().find(|id| id.contains("prod")).expect("the id of an environment");
    let open = |number: u32, user: &str, id: &str| json!({"number": number, "user": {"type": user}, "body": format!("<!-- trueup drift {id} -->\nold")});
    let open = json!([open(7, "Bot", "gone"), open(8, "Bot", other), open(9, "User", "gone")]);
    let closed = || {
        assert_eq!(runner.shell("rm -r reports", "").code, 0);
        assert_eq!(runner.step(&check).code, 0);
        let calls = runner.script(&issue, &json!({}), &json!({"issues.listForRepo": open}))["calls"].clone();
        let updates = calls.as_array().expect("calls").iter().filter(|call| call[0] == "issues.update");
        updates.map(|call| (call[1]["issue_number"].clone(), call[1]["state"].clone())).collect::<Vec<_>>()
    };
    assert_eq!(closed(), [(json!(7), json!("closed"))]);
    runner.stage.write("other/trueup.yaml", "stack: [\n");
    assert_eq!(closed(), []);
    runner.stage.remove("other/trueup.yaml");
    // Also where it was the last one.
    runner.git("rm -q --cached *trueup.yaml");
    let settings = [("shop/trueup.yaml", SHOP), ("pay/trueup.yaml", PAY)];
    settings.iter().for_each(|(file, _)| runner.stage.remove(file));
    assert!(drift["jobs"]["drift"]["if"].is_null(), "the job runs for no stack as well");
    assert_eq!(targets(&runner.step(&step(&drift, "stacks", "stacks"))), [json!({"environment": ""})]);
    assert_eq!(closed(), [7, 8].map(|number| (json!(number), json!("closed"))));
    settings.iter().for_each(|(file, text)| runner.stage.write(file, text));
    runner.git("reset -q");
    assert_eq!(runner.step(&check).code, 0);
    // Of a report that is too long for an issue it says so.
    runner.stage.write("reports/shop.md", &"- a drift\n".repeat(7_000));
    runner.stage.write("reports/shop.code", "3\n");
    let calls = runner.script(&issue, &json!({}), &json!({"issues.listForRepo": []}))["calls"].clone();
    let created = calls.as_array().expect("calls").iter().find(|call| call[1]["title"] == "shop has drifted");
    let body = created.and_then(|call| call[1]["body"].as_str()).expect("an issue");
    assert!(body.lines().nth(1).is_some_and(|line| line.contains("only the beginning")), "{}", &body[..300]);
    // The drift state is in the cache, and not where TRUEUP_STATE is a bucket.
    let cached = runner.stage.path("state/shop.json");
    for (state, is_cached) in [("kept", true), ("other://bucket", false)] {
        std::fs::remove_file(&cached).expect("the drift state");
        runner.set("TRUEUP_STATE", state);
        runner.step(&check);
        assert_eq!(cached.exists(), is_cached, "{state}");
    }
}

/// What becomes of a stack in a pull request or in a night.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Story {
    Pending,
    Drift,
    Refused,
    Failed,
    /// The job ended before it kept anything.
    Missing,
}

/// Stacks `s00`, `s01` and so on, each with a story of its own, applied and then changed on a branch.
fn stories(service: &Service, number: usize) -> (Runner, Vec<Story>) {
    let all = [Story::Pending, Story::Refused, Story::Drift, Story::Failed, Story::Missing];
    let stories: Vec<Story> = all.into_iter().cycle().take(number).collect();
    let name = |at: usize| format!("s{at:02}");
    let files: Vec<(String, String)> = (0..number)
        .flat_map(|at| {
            let (settings, cart) = (format!("stack: {0}\nnamespaces: [{0}]\n", name(at)), format!("{}/cart", name(at)));
            [
                (format!("{}/trueup.yaml", name(at)), settings),
                (format!("{}/cart.yaml", name(at)), definition(&cart, 80)),
            ]
        })
        .collect();
    let files: Vec<(&str, &str)> = files.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect();
    let mut runner = Runner::new(service, "change/", &files);
    runner.set("BASE", &runner.git("rev-parse HEAD"));
    runner.stage.run("apply change --recursive --yes --quiet").code(0);
    for (at, story) in stories.iter().enumerate() {
        let cart = format!("change/{}/cart.yaml", name(at));
        match story {
            Story::Pending | Story::Missing => runner.stage.edit(&cart, "port: 80", "port: 81"),
            Story::Drift => {
                runner.stage.edit(&cart, "port: 80", "port: 81");
                service.change(&format!("{}/cart", name(at)), |object| object["spec"]["ip"] = json!("10.9.9.9"));
            }
            Story::Refused => {
                let other = definition(&format!("{}/other", name(at)), 80);
                runner.stage.write(&cart, &other);
            }
            Story::Failed => runner.stage.edit(&cart, "port: 80", "prot: 80"),
        }
    }
    runner.commit();
    (runner, stories)
}

/// The calls of `comment.yaml` that change something, where the forge has these comments.
fn comments(runner: &Runner, present: &[Json]) -> Vec<(String, Json)> {
    download(runner);
    let answers = json!({"pulls.list": [{"number": 7, "head": {"sha": "abc"}}], "issues.listComments": present});
    let calls = runner.script(&last(&workflow("comment.yaml"), "comment"), &finished(), &answers)["calls"].clone();
    let name = |call: &Json| call[0].as_str().expect("a name").to_owned();
    let calls = calls.as_array().expect("calls").iter().map(|call| (name(call), call[1].clone()));
    calls.filter(|(name, _)| name.contains("Comment") && !name.contains("list")).collect()
}

/// The comment that the forge has of a stack from the commit before.
fn old(id: &str) -> Json {
    let body = format!("<!-- trueup {id} -->\nold");
    json!({"id": body, "user": {"type": "Bot"}, "body": body})
}

/// One stack, two and thirty: each plan has its comment, whatever became of it, and no job hides another's.
#[test]
fn every_plan_of_one_two_and_thirty_stacks_has_its_comment() {
    if !has(&["bash", "jq", "git", "node"]) {
        return;
    }
    for number in [1, 2, 30] {
        let service = Service::start();
        let (mut runner, stories) = stories(&service, number);
        let found = targets(&runner.step(&step(&workflow("plan.yaml"), "stacks", "stacks")));
        assert_eq!(found.len(), number);
        let mut worst = 0;
        for (target, story) in found.iter().zip(&stories) {
            let planned = plan(&mut runner, target);
            let expected = match story {
                Story::Refused => 6,
                Story::Failed => 1,
                Story::Pending | Story::Drift | Story::Missing => 0,
            };
            assert_eq!(verdict(&mut runner, &planned), expected, "{story:?}: {}", planned.errors);
            worst = worst.max(expected);
            if *story == Story::Missing {
                let id = target["id"].as_str().expect("an id");
                std::fs::remove_dir_all(runner.stage.path(&format!("artifacts/plan-{id}"))).expect("the artifact");
            }
        }
        let present: Vec<Json> = found.iter().map(|target| old(target["id"].as_str().expect("an id"))).collect();
        let (first, again) = (comments(&runner, &[]), comments(&runner, &present));
        let missing = stories.iter().filter(|story| **story == Story::Missing).count();
        assert!(first.iter().all(|(name, _)| name == "issues.createComment"), "{first:?}");
        assert_eq!((first.len(), again.len()), (number - missing, number));
        for (target, story) in found.iter().zip(&stories) {
            let marker = format!("<!-- trueup {} -->\n", target["id"].as_str().expect("an id"));
            let body =
                again.iter().filter_map(|(_, call)| call["body"].as_str()).find(|body| body.starts_with(&marker));
            let shown = body.unwrap_or_else(|| panic!("{marker} is not in {again:?}"));
            let expected: &[&str] = match story {
                Story::Pending => &["### trueup plan", "1 to replace", "81"],
                Story::Drift => &["### trueup plan", "1 to replace", "81"],
                Story::Refused => &["### trueup plan", "empty-namespace"],
                Story::Failed => &["### trueup plan: failed", "prot"],
                Story::Missing => &["No plan for abc: the run https://forge/run/1 made none for this stack."],
            };
            assert!(expected.iter().all(|words| shown.contains(words)), "{story:?}: {shown}");
        }
        runner.set("IS_PLANNED", "true");
        runner.set("RESULTS", if worst == 0 { "success skipped success" } else { "success failure success" });
        assert_eq!(runner.step(&last(&workflow("plan.yaml"), "trueup")).code, i32::from(worst != 0));
    }
}

/// More stacks than a matrix holds are one plan with one comment.
#[test]
fn more_stacks_than_a_matrix_holds_are_planned_by_one_job() {
    if !has(&["bash", "jq", "git", "node"]) {
        return;
    }
    let service = Service::start();
    let mut runner = Runner::new(&service, "change/", &[("README.md", "Stacks.\n")]);
    runner.set("BASE", &runner.git("rev-parse HEAD"));
    for at in 0..257 {
        runner.stage.write(&format!("change/s{at:03}/trueup.yaml"), &format!("stack: s{at:03}\nnamespaces: [shop]\n"));
        runner.stage.write(&format!("change/s{at:03}/a.yaml"), &definition(&format!("shop/a{at:03}"), 80));
    }
    runner.commit();
    let ran = runner.step(&step(&workflow("plan.yaml"), "stacks", "stacks"));
    assert_eq!((targets(&ran), ran.handed("too_many").as_str()), (Vec::new(), "true"));
    // No job applies them, which is an error, and by hand they are applied in parts.
    let apply = workflow("apply.yaml");
    let stacks = step(&apply, "stacks", "stacks");
    let refused = runner.shell(text(&stacks, "run"), "change");
    assert_eq!(refused.code, 1, "{}", refused.errors);
    assert!(refused.errors.contains("::error::more stacks and environments than the 256 jobs"), "{}", refused.errors);
    runner.set("BELOW", "s007");
    assert_eq!(targets(&runner.shell(text(&stacks, "run"), "change")).len(), 1);
    assert_eq!(text(jobs(&apply)[0].1, "if"), "github.ref == 'refs/heads/main'", "a run by hand may be of any branch");
    let planned = runner.step(&step(&workflow("plan.yaml"), "all", "plan"));
    assert_eq!((planned.code, planned.handed("code").as_str()), (0, "2"), "{}", planned.errors);
    assert!(
        planned.summary.contains("### trueup plan: 257 stacks: 257 with changes; 257 to create"),
        "{}",
        planned.summary
    );
    upload(&runner, "plan", "plan-all...stacks");
    let shown = comments(&runner, &[old("s003")]);
    let bodies: Vec<&str> = shown.iter().filter_map(|(_, call)| call["body"].as_str()).collect();
    assert_eq!(bodies.len(), 2);
    assert!(bodies[0].starts_with("<!-- trueup all...stacks -->\n") && bodies[0].contains("`s256`"), "{}", bodies[0]);
    assert_eq!(bodies[1], "<!-- trueup s003 -->\nThe summary of the run https://forge/run/1 shows the plan for abc.");
}

#[test]
fn more_plans_than_comments_are_named_in_one_and_a_link_in_an_artifact_is_not_followed() {
    if !has(&["bash", "node"]) {
        return;
    }
    let service = Service::start();
    let runner = repository(&service, "change/");
    for number in 0..60 {
        runner.stage.write(&format!("artifacts/plan-{number:02}/{number:02}/plan.md"), "### trueup plan: in sync\n");
    }
    runner.stage.write("secret", "hidden from comments");
    std::fs::remove_file(runner.stage.path("artifacts/plan-03/03/plan.md")).expect("the plan");
    std::os::unix::fs::symlink("../../secret", runner.stage.path("artifacts/plan-03/03/plan.md")).expect("a link");
    runner.stage.write("artifacts/plan-x/<b>/plan.md", "### not an id\n");
    runner.stage.write("artifacts/plan-04/04/plan.md", &"- a delete\n".repeat(7_000));
    // A stack that had a comment is now among those without one, and another has no plan any more.
    let calls = comments(&runner, &[old("55"), old("gone")]);
    let bodies: Vec<&str> = calls.iter().filter_map(|(_, call)| call["body"].as_str()).collect();
    assert_eq!(bodies.len(), 53);
    assert_eq!(bodies[51], "<!-- trueup 55 -->\nThe summary of the run https://forge/run/1 shows the plan for abc.");
    assert!(bodies[52].contains("made none for this stack"), "{}", bodies[52]);
    assert!(bodies[50].contains("### trueup: 10 more plans") && bodies[50].contains("50, 51"), "{}", bodies[50]);
    assert!(bodies.iter().all(|body| !body.contains("hidden from comments") && !body.contains("not an id")));
    assert!(bodies[3].contains("### trueup plan: failed"), "{}", bodies[3]);
    // The forge takes 65,536 characters, and nobody sees that there were more.
    assert!(bodies[4].len() < 65_536, "{}", bodies[4].len());
    assert!(bodies[4].lines().nth(1).is_some_and(|line| line.contains("only the beginning")), "{}", &bodies[4][..300]);
}

/// A night of thirty stacks is one job, and an issue for each that has drifted or cannot be checked.
#[test]
fn a_night_of_one_two_and_thirty_stacks_is_one_job_with_an_issue_for_each_that_needs_one() {
    if !has(&["bash", "jq", "git", "node"]) {
        return;
    }
    for number in [1, 2, 30] {
        let service = Service::start();
        let (mut runner, stories) = stories(&service, number);
        let drift = workflow("drift.yaml");
        let found = targets(&runner.shell(text(&step(&drift, "stacks", "stacks"), "run"), "change"));
        assert_eq!(found, [json!({"environment": ""})], "one job");
        runner.set("ENVIRONMENT", "");
        let ran = runner.shell(text(&step(&drift, "drift", "drift"), "run"), "change");
        let codes: Vec<String> = ran.handed("codes").split_whitespace().map(str::to_owned).collect();
        let expected: Vec<&str> = stories
            .iter()
            .map(|story| match story {
                Story::Drift => "4",
                Story::Failed => "1",
                Story::Pending | Story::Refused | Story::Missing => "2",
            })
            .collect();
        assert_eq!(codes, expected, "{}", ran.errors);
        assert_eq!(runner.shell("cp -r change/reports reports", "").code, 0);
        let calls = runner.script(&step(&drift, "drift", "Issue"), &json!({}), &json!({"issues.listForRepo": []}));
        let titles: Vec<&str> =
            calls["calls"].as_array().expect("calls").iter().filter_map(|call| call[1]["title"].as_str()).collect();
        let title = |(at, story): (usize, &Story)| match story {
            Story::Drift => Some(format!("s{at:02} has drifted")),
            Story::Failed => Some(format!("s{at:02} cannot be checked")),
            Story::Pending | Story::Refused | Story::Missing => None,
        };
        assert_eq!(titles, stories.iter().enumerate().filter_map(title).collect::<Vec<_>>());
    }
}
