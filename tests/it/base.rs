//! Whose change a difference is, read from a repository's history: the accident in which a branch
//! that is behind takes back what somebody merged and applied, and the other sides.

use serde_json::json;

use crate::support::{Service, Stage, commit, definition, git, git_in, shallow_clone};

/// A repository whose branch `main` is applied.
fn repository(service: &Service) -> Stage {
    Stage::stack(service, "shop")
        .file("cart.yaml", &definition("shop/cart", 8080))
        .file("search.yaml", &definition("shop/search", 80))
        .file("legacy.yaml", &definition("shop/legacy", 1))
        .committed()
        .applied(".")
}

#[test]
fn a_base_may_have_settings_that_are_an_error_now() {
    let service = Service::start();
    let stage = repository(&service);
    let settings = stage.read("trueup.yaml");
    let wrong =
        "ignore: [{object: 'origin_pol:shop/*', field: spec.port}]\nfiles: {include: ['*.yaml', gone/x.yaml]}\n";
    stage.write("trueup.yaml", &format!("{settings}{wrong}"));
    commit(&stage, "mistakes");
    stage.run("plan . --base main").code(1).stderr_contains("unknown kind `origin_pol`").stderr_contains("gone/x.yaml");
    git(&stage, "checkout -qb branch");
    stage.write("trueup.yaml", &settings);
    stage.edit("search.yaml", "port: 80", "port: 81");
    stage.run("plan . --base main").code(0).stdout_contains("80 -> 81").stdout_contains("ignore");
}

#[test]
fn a_field_that_main_leaves_to_others_since_is_not_taken_back() {
    let service = Service::start();
    let stage = repository(&service);
    git(&stage, "branch behind");
    let settings = stage.read("trueup.yaml");
    stage.write("trueup.yaml", &format!("{settings}ignore: [{{object: shop/search, field: spec.port}}]\n"));
    commit(&stage, "elsewhere");
    service.change("shop/search", |object| object["spec"]["port"] = json!(9999));
    stage.run("plan . --base main --detailed-exitcode").code(0);
    git(&stage, "checkout -q behind");
    stage.edit("cart.yaml", "port: 8080", "port: 8081");
    let plan = stage.run("plan . --base main --detailed-exitcode");
    plan.code(6).stdout_contains("1 of this change").stdout_contains("behind base").stdout_contains("9999 -> 80");
    stage.run("apply . --base main --only-this-change --yes").code(0).stderr_ignored();
    assert_eq!(service.get("shop/search")["spec"]["port"], 9999);
    // The change that takes the rule away writes the field.
    git(&stage, "checkout -qf main");
    stage.write("trueup.yaml", &settings);
    stage.run("plan . --base main").code(0).stdout_contains("1 of this change").stdout_contains("9999 -> 80");
}

#[test]
fn what_main_alone_changed_of_the_settings_is_no_alteration_of_the_branch() {
    let service = Service::start();
    let stage = repository(&service);
    git(&stage, "branch behind");
    let settings = stage.read("trueup.yaml");
    let ignore = "ignore: [{object: shop/search, field: spec.port}]";
    stage.write("trueup.yaml", &format!("{settings}guards: {{percent: 10}}\n{ignore}\n"));
    commit(&stage, "stricter");
    git(&stage, "checkout -q behind");
    let plan = stage.run("plan . --base main");
    plan.code(0).stdout_contains("This branch is behind main, which has other settings:").does_not_say("This change");
    plan.stdout_contains("behind base  guards.percent  10 -> 30").stdout_contains("in force: 10, the stricter");
    plan.does_not_say("loosened").does_not_say("tightened");
    let own = "ignore: [{object: shop/cart, field: spec.port}]";
    stage.write("trueup.yaml", &format!("{settings}guards: {{percent: 20}}\n{own}\n"));
    let plan = stage.run("plan . --base main");
    plan.stdout_contains("loosened     ignore          not ignored -> spec.port of shop/cart");
    plan.code(0).stdout_contains("This change alters settings of main:").stdout_contains("behind base  ignore");
    plan.stdout_contains("loosened     guards.percent  10 -> 20");
    // Another environment of the stack is stricter, and main did not change it.
    git(&stage, "checkout -qf main");
    let environments = "environments: {dev: {guards: {percent: 50}}, prod: {guards: {percent: 5}}}";
    stage.write("trueup.yaml", &format!("{settings}{environments}\n"));
    commit(&stage, "environments");
    stage.run("plan . --env dev --base main").code(0).does_not_say("behind");
}

#[test]
fn an_environment_that_is_renamed_has_the_definitions_that_it_had() {
    let service = Service::start();
    let stage = Stage::new()
        .at(&service)
        .file("trueup.yaml", "environments:\n  prod: {stack: s, namespaces: [shop], overlay: o}\n")
        .file("x.yaml", &definition("shop/x", 80))
        .file("y.yaml", &definition("shop/y", 80))
        .file("o/x.yaml", "metadata: {name: x, namespace: shop}\nspec: {port: 443}\n")
        .committed();
    stage.run("apply . --env prod --yes --quiet").code(0);
    git(&stage, "checkout -qb branch");
    stage.edit("trueup.yaml", "prod:", "production:");
    stage.edit("y.yaml", "port: 80", "port: 81");
    commit(&stage, "renamed");
    service.change("shop/x", |object| object["spec"]["port"] = json!(999));
    let plan = stage.run("plan . --env production --base main");
    plan.code(0).stdout_contains("1 of this change").stdout_contains("999 -> 443");
    stage.run("apply . --env production --base main --only-this-change --yes").code(0).stderr_ignored();
    assert_eq!(service.get("shop/x")["spec"]["port"], 999);
    assert_eq!(service.get("shop/y")["spec"]["port"], 81);
    // The run of the old name is undone with the settings of then.
    stage.write(
        "trueup.yaml",
        "environments:\n  prod: &prod {stack: s, namespaces: [shop], overlay: o}\n  production: *prod\n",
    );
}

#[test]
fn a_branch_that_is_behind_takes_nothing_back() {
    let service = Service::start();
    let stage = repository(&service);
    git(&stage, "checkout -qb branch");
    stage.edit("search.yaml", "port: 80", "port: 81");
    commit(&stage, "search");
    // Main moves on, and is applied.
    git(&stage, "checkout -q main");
    stage.edit("cart.yaml", "port: 8080", "port: 8443");
    stage.write("news.yaml", &definition("shop/news", 7));
    commit(&stage, "main-moves-on");
    stage.run("apply . --yes --quiet").code(0);
    git(&stage, "checkout -q branch");

    let output = stage.run("plan . --base main -o plan.json");
    output
        .code(0)
        .stdout_contains("spec.port                80 -> 81")
        .stdout_contains("behind base  main has newer changes that this change lacks:")
        .stdout_contains("8443 -> 8080")
        .stdout_contains("- delete  shop/news")
        .stdout_contains("merge main into this change first");
    // The headline counts what an apply does, and no command that would revert merged work is proposed.
    output.stdout_contains("2 to replace, 1 to delete: 1 of this change, 2 behind base; 1 in sync");
    output
        .stdout_contains("Apply this change alone:")
        .does_not_say("Apply exactly this")
        .does_not_say("Apply everything");
    let markdown = stage.run("plan . --base main --format markdown");
    markdown
        .code(0)
        .stdout_contains("### trueup plan: refused, 2 to replace, 1 to delete: 1 of this change, 2 behind base\n")
        .stdout_contains("- `shop/news`: behind base")
        .stdout_contains("#### Behind base: applying would revert merged work");
    let at = |part: &str| markdown.text().find(part).unwrap_or_else(|| panic!("{part}"));
    assert!(at("shop/search</code>") < at("#### Behind base"), "this change stands first");

    // What would be applied alone can be rehearsed alone: the rest is left as it is, and needs no second plan.
    stage.run("rehearse . --base main --only-this-change").code(0).stdout_contains("1 of 1 applied, verified, ");
    for line in ["apply plan.json --yes", "apply . --base main --yes"] {
        stage.run(line).code(6).stderr_contains("behind-base").stderr_contains("nothing was sent");
    }
    assert_eq!(service.get("shop/cart")["spec"]["port"], 8443);
    assert_eq!(service.get("shop/search")["spec"]["port"], 80);
    assert!(service.has("shop/news"));

    // What the message asks for helps.
    git(&stage, "merge -q --no-edit main");
    let output = stage.run("plan . --base main");
    output
        .code(0)
        .stdout_contains("80 -> 81")
        .stdout_contains("trueup apply . --base main --digest")
        .does_not_say("behind base");
    stage.run("apply . --base main --yes --quiet").code(0);
    assert_eq!(service.get("shop/cart")["spec"]["port"], 8443);
    assert_eq!(service.get("shop/search")["spec"]["port"], 81);
}

#[test]
fn what_the_base_changed_as_well_refuses_an_apply_of_this_change_alone() {
    let service = Service::start();
    let stage = repository(&service);
    git(&stage, "checkout -qb branch");
    stage.edit("cart.yaml", "port: 8080", "port: 8082");
    stage.edit("cart.yaml", "metadata:\n", "metadata:\n  description: mine\n");
    stage.remove("search.yaml");
    stage.edit("legacy.yaml", "metadata:\n", "metadata:\n  description: mine\n");
    commit(&stage, "branch");
    git(&stage, "checkout -q main");
    stage.edit("cart.yaml", "port: 8080", "port: 8081");
    stage.edit("search.yaml", "port: 80", "port: 81");
    commit(&stage, "main-moves-on");
    stage.run("apply . --yes --quiet").code(0);
    git(&stage, "checkout -q branch");
    stage.run("plan . --base main").code(0).does_not_say("Apply this change alone");
    let alone = "--base main --only-this-change";
    stage
        .run(&format!("plan . {alone}"))
        .code(0)
        .stdout_contains("8081 -> 8082")
        .stdout_contains("- delete  shop/search")
        .stdout_contains("2 of 3 changed");
    stage.run(&format!("apply . {alone} --yes --quiet")).code(6).stderr_contains("behind-base");
    assert_eq!(service.get("shop/cart")["metadata"]["description"], "");
    git(&stage, "merge -q -s ours -m merged main");
    stage.run(&format!("apply . {alone} --yes --quiet")).code(0);
    assert_eq!(service.get("shop/cart")["spec"]["port"], 8082);
}

#[test]
fn what_is_behind_the_base_can_be_allowed_by_its_name() {
    let service = Service::start();
    let stage = repository(&service);
    git(&stage, "checkout -qb branch");
    git(&stage, "checkout -q main");
    stage.edit("cart.yaml", "port: 8080", "port: 8443");
    commit(&stage, "main-moves-on");
    stage.run("apply . --yes --quiet").code(0);
    git(&stage, "checkout -q branch");
    stage.run("apply . --base main --yes --quiet --allow behind-base").code(0);
    assert_eq!(service.get("shop/cart")["spec"]["port"], 8080);
}

/// A branch with a change of its own, where main has one that is not applied and somebody changed a third endpoint.
fn three_sides(service: &Service) -> Stage {
    let stage = repository(service);
    stage.edit("cart.yaml", "port: 8080", "port: 8443");
    commit(&stage, "pending");
    git(&stage, "checkout -qb branch");
    stage.edit("search.yaml", "port: 80", "port: 81");
    service.change("shop/legacy", |object| object["spec"]["port"] = json!(9));
    stage
}

/// A review that hid what its apply overwrites: "1 to replace, 2 not this change", and then 3 of 3 replaced.
#[test]
fn the_review_counts_and_shows_everything_that_its_apply_does() {
    let service = Service::start();
    let stage = three_sides(&service);
    stage
        .run("plan . --base main --detailed-exitcode")
        .code(2)
        .stdout_contains("80 -> 81")
        .stdout_contains("not part of this change, but an apply makes it as well:")
        .stdout_contains("8080 -> 8443")
        .stdout_contains("9 -> 1")
        .stdout_contains(
            "3 to replace: 1 of this change, 1 reverts what was changed outside, 1 pending on base; 0 in sync",
        )
        .stdout_contains("Apply this change alone:  trueup apply . --base main --only-this-change --digest ")
        .stdout_contains("Apply the whole plan:     trueup apply . --base main --digest ");
    stage.run("plan . --base main -o ../plan.json").code(0);
    let shown = stage.run("show ../plan.json");
    shown.code(0).stdout_contains("trueup apply . --base main --only-this-change --digest ");
    assert!(shown.text().lines().all(|line| line.matches("--base").count() < 2), "{}", shown.text());
    let headline = "3 to replace: 1 of this change, 1 reverts what was changed outside, 1 pending on base";
    let markdown = stage.run("plan . --base main --format markdown");
    markdown
        .code(0)
        .stdout_contains(headline)
        .stdout_contains("#### Not part of this change, but an apply makes it as well");
    let values = ["8080", "8443", "- 9\n+ 1"];
    assert!(values.iter().all(|value| markdown.text().contains(value)), "{}", markdown.text());
    assert!(markdown.text().contains("--only-this-change"), "{}", markdown.text());
    let page = stage.run("plan . --base main --format html");
    page.code(0).stdout_contains("<b>1</b> reverts what was changed outside").stdout_contains("--only-this-change");
    let plan = stage.run("plan . --base main --format json").json();
    let sides: Vec<&str> = plan["plan"]["changes"]
        .as_array()
        .or_else(|| plan["changes"].as_array())
        .expect("changes")
        .iter()
        .map(|change| change["action"]["replace"]["fields"][0]["attribution"].as_str().expect("a side"))
        .collect();
    assert_eq!(sides, ["pending_on_base", "drift", "this_change"]);
}

/// The command as a report proposes it behind `label`, without the name of the program.
fn proposed(text: &str, label: &str) -> String {
    let line = text.lines().find_map(|line| line.strip_prefix(label)).unwrap_or_else(|| panic!("{label} in {text}"));
    line.trim().strip_prefix("trueup ").expect("a command").to_owned()
}

#[test]
fn an_apply_of_this_change_alone_leaves_everything_else_as_it_is() {
    let service = Service::start();
    let stage = three_sides(&service);
    let review = stage.run("plan . --base main");
    let alone = proposed(review.text(), "Apply this change alone:");
    // The review of exactly that part has the same digest.
    stage
        .run("plan . --base main --only-this-change")
        .code(0)
        .stdout_contains(alone.rsplit(' ').next().expect("a digest"))
        .stdout_contains("filtered by --only-this-change; 2 changes outside the filter")
        .does_not_say("8443 -> ")
        .does_not_say("-> 8443");
    stage.run(&format!("{alone} --quiet")).code(0);
    assert_eq!(service.get("shop/search")["spec"]["port"], 81);
    assert_eq!(service.get("shop/cart")["spec"]["port"], 8080);
    assert_eq!(service.get("shop/legacy")["spec"]["port"], 9);
    // What was left out is what it was.
    stage.run("drift .").code(4).stdout_contains("not applied yet").stdout_contains("changed outside");
    let everything = proposed(stage.run("plan . --base main").text(), "Apply exactly this:");
    stage.run(&format!("{everything} --quiet")).code(0);
    assert_eq!(service.get("shop/legacy")["spec"]["port"], 1);
    stage.run("plan . --base main").code(0).stdout_contains("In sync");
}

#[test]
fn fields_of_others_in_a_changed_endpoint_stay_and_keep_their_cause() {
    let service = Service::start();
    let stage = three_sides(&service);
    // The branch changes another field of the endpoints that are pending on main and changed outside.
    for file in ["cart.yaml", "legacy.yaml"] {
        stage.edit(file, "metadata:\n", "metadata:\n  description: mine\n");
    }
    let alone = proposed(stage.run("plan . --base main").text(), "Apply this change alone:");
    stage.run(&format!("{alone} --quiet")).code(0);
    for (key, port) in [("shop/cart", 8080), ("shop/legacy", 9)] {
        assert_eq!(service.get(key)["metadata"]["description"], "mine");
        assert_eq!(service.get(key)["spec"]["port"], port);
    }
    let plan = stage.run("plan . --format json").json();
    let causes: Vec<&str> = plan["plan"]["changes"]
        .as_array()
        .expect("changes")
        .iter()
        .map(|change| change["action"]["replace"]["fields"][0]["cause"].as_str().expect("a cause"))
        .collect();
    assert_eq!(causes, ["pending", "drift"]);
    stage.run("apply . --yes --quiet").code(0);
    stage.run("plan .").code(0).stdout_contains("In sync").does_not_say("annotate");
}

#[test]
fn what_is_behind_the_base_does_not_refuse_an_apply_of_this_change_alone() {
    let service = Service::start();
    let stage = repository(&service);
    git(&stage, "checkout -qb branch");
    stage.edit("search.yaml", "port: 80", "port: 81");
    commit(&stage, "search");
    git(&stage, "checkout -q main");
    stage.edit("cart.yaml", "port: 8080", "port: 8443");
    commit(&stage, "main-moves-on");
    stage.run("apply . --yes --quiet").code(0);
    git(&stage, "checkout -q branch");
    stage.run("apply . --base main --yes --quiet").code(6).stderr_contains("behind-base");
    stage.run("apply . --base main --only-this-change --yes --quiet").code(0);
    assert_eq!(service.get("shop/cart")["spec"]["port"], 8443);
    assert_eq!(service.get("shop/search")["spec"]["port"], 81);
}

#[test]
fn a_change_that_changes_nothing_says_so() {
    let service = Service::start();
    let stage = repository(&service);
    service.change("shop/legacy", |object| object["spec"]["port"] = json!(9));
    stage
        .run("plan . --base main")
        .code(0)
        .stdout_contains("no difference is from this change")
        .stdout_contains("1 to replace: 1 reverts what was changed outside; 2 in sync")
        .does_not_say("this change alone");
}

#[test]
fn a_deleted_definition_names_the_commit_that_removed_it() {
    let service = Service::start();
    let stage = repository(&service);
    git(&stage, "checkout -qb branch");
    stage.remove("legacy.yaml");
    commit(&stage, "remove-legacy");
    let removed = git(&stage, "rev-parse --short=7 HEAD");
    stage.edit("cart.yaml", "port: 8080", "port: 8081");
    commit(&stage, "another");
    let saved = stage.run("plan . --base main -o plan.json");
    saved.code(0).stdout_contains(&format!("removed in {removed}")).stdout_contains("- delete  shop/legacy");
    let plan: serde_json::Value = serde_json::from_str(&stage.read("plan.json")).expect("JSON");
    assert_eq!(plan["plan"]["source"]["commit"], json!(git(&stage, "rev-parse HEAD")));
    assert_eq!(plan["plan"]["source"]["base"], json!("main"));
    stage.run("plan .").code(0).stdout_contains(&format!("removed in {removed}"));
}

#[test]
fn a_base_that_cannot_be_judged_is_an_error() {
    let service = Service::start();
    let stage = repository(&service);
    stage.run("plan . --base nowhere").code(1).stderr_contains("`nowhere` is not a commit in this clone");
    stage.run("plan . --only-this-change").code(64).stderr_contains("--base");
    stage.run("apply . --only-this-change --yes").code(64).stderr_contains("--base");
    git(&stage, "checkout -qb broken");
    stage.edit("cart.yaml", "port: 8080", "prot: 8080");
    commit(&stage, "broken");
    git(&stage, "checkout -q main");
    stage
        .run("plan . --base broken")
        .code(1)
        .stderr_contains("did you mean `port`?")
        .stderr_contains("the definitions of broken (")
        .stderr_contains(") do not load");
    let document = stage.run("plan . --base broken --format json").code(1).stderr_ignored().json();
    assert_eq!(document["diagnostics"][0]["labels"][0]["file"], "cart.yaml", "{document:#}");

    let outside = Stage::new().at(&service).file("cart.yaml", &definition("shop/cart", 8080));
    outside.run("plan . --base main").code(1).stderr_contains("is not in a git repository");
    outside.run("plan .").code(0);

    let shallow = Stage::new().at(&service);
    shallow_clone(&stage, &shallow);
    shallow.run("plan . --base main").code(1).stderr_contains("the clone is shallow").stderr_contains("fetch-depth: 0");
}

#[test]
fn a_base_of_unrelated_history_is_an_error() {
    let service = Service::start();
    let stage = repository(&service);
    git(&stage, "checkout -q --orphan other");
    commit(&stage, "other");
    stage.run("plan . --base main").code(1).stderr_contains("main").stderr_contains("no common");
}

#[test]
fn the_base_is_loaded_with_its_own_settings() {
    let service = Service::start();
    let stage = repository(&service);
    git(&stage, "checkout -qb branch");
    stage.write("trueup.yaml", "stack: shop\nnamespaces: [shop]\nvariables: {port: '82'}\n");
    stage.edit("search.yaml", "port: 80", "port: ${port}");
    stage.run("plan . --base main").code(0).stdout_contains("80 -> 82").does_not_say("not part of this change");
}

#[test]
fn a_digest_that_was_reviewed_with_a_base_is_no_digest_of_a_plan_without_one() {
    let service = Service::start();
    let stage = repository(&service);
    let digest = |line: &str| stage.run(line).json()["digest"].as_str().expect("a digest")[..32].to_owned();
    git(&stage, "checkout -qb branch");
    stage.edit("search.yaml", "port: 80", "port: 81");
    commit(&stage, "search");
    let reviewed = digest("plan . --base main --format json");
    assert_ne!(reviewed, digest("plan . --format json"));
    // Main moves on: without a base an apply would not see it.
    git(&stage, "checkout -q main");
    stage.edit("legacy.yaml", "port: 1", "port: 2");
    commit(&stage, "legacy");
    git(&stage, "checkout -q branch");
    stage
        .run(&format!("apply . --digest {reviewed}"))
        .code(6)
        .stderr_contains("have changed since the review")
        .stderr_contains("give the same --base here")
        .stderr_contains("nothing was sent");
    // Merged as it was reviewed, it is the plan that was reviewed, whatever the base is called.
    git(&stage, "checkout -q main");
    git(&stage, "reset -q --hard HEAD~1");
    git(&stage, "merge -q --ff-only branch");
    stage.run(&format!("apply . --base HEAD --digest {reviewed} --quiet")).code(0);
    assert_eq!(service.get("shop/search")["spec"]["port"], 81);
}

#[test]
fn more_that_is_behind_the_base_is_another_plan() {
    let service = Service::start();
    let stage = repository(&service);
    git(&stage, "checkout -qb branch");
    stage.edit("search.yaml", "port: 80", "port: 81");
    stage.edit("cart.yaml", "port: 8080", "port: 8082");
    commit(&stage, "both");
    let reviewed =
        stage.run("plan . --base main --format json").json()["digest"].as_str().expect("a digest")[..32].to_owned();
    git(&stage, "checkout -q main");
    stage.edit("cart.yaml", "port: 8080", "port: 8443");
    commit(&stage, "main-moves-on");
    git(&stage, "checkout -q branch");
    // The same values, and now one of them takes back merged work.
    stage
        .run(&format!("apply . --base main --digest {reviewed} --allow behind-base"))
        .code(6)
        .stderr_contains("have changed since the review");
}

#[test]
fn every_report_begins_with_this_change() {
    let service = Service::start();
    let stage = repository(&service);
    stage.edit("cart.yaml", "port: 8080", "port: 8443");
    commit(&stage, "pending");
    git(&stage, "checkout -qb branch");
    stage.edit("search.yaml", "port: 80", "port: 81");
    let plan = "plan . --base main --format";
    stage
        .run(&format!("{plan} github"))
        .code(0)
        .stdout_contains("80 -> 81 (this change)")
        .stdout_contains("8080 -> 8443 (pending on base)");
    stage.run(&format!("{plan} sarif")).code(0).stdout_contains("\"value-pending\"").stdout_contains("8443");
    stage.run(&format!("{plan} html")).code(0).stdout_contains("\"ours\":1");
    stage.run("rehearse . --base main").code(0).stdout_contains("2 of 2 applied, verified");
}

#[test]
fn a_working_tree_that_lacks_files_of_its_commit_removes_nothing() {
    let service = Service::start();
    let stage = Stage::stack(&service, "shop")
        .file("web/cart.yaml", &definition("shop/cart", 80))
        .file("api/pay.yaml", &definition("shop/pay", 81))
        .committed()
        .applied(".");
    git(&stage, "sparse-checkout init --cone");
    git(&stage, "sparse-checkout set web");
    assert!(!stage.path("api/pay.yaml").exists());
    for line in ["plan .", "plan . --base main", "drift .", "apply . --yes"] {
        stage
            .run(line)
            .code(1)
            .stderr_contains("is sparse and lacks `api/pay.yaml`")
            .stderr_contains("sparse-checkout");
    }
    // Nor where git cannot be asked.
    let stage = stage.env("PATH", "/nowhere");
    for line in ["plan .", "drift .", "apply . --yes"] {
        let unknown =
            "whether the working tree has all files of its commit is unknown: the `git` program cannot be run";
        stage.run(line).code(1).stderr_contains(unknown).stderr_contains("nothing was sent");
    }
    let stage = stage.env("PATH", &std::env::var("PATH").expect("a search path"));
    let branch = stage.path(".git/refs/heads/main");
    let commit = std::fs::read_to_string(&branch).expect("a branch");
    std::fs::write(&branch, "0000000000000000000000000000000000000001\n").expect("a lost commit");
    for line in ["plan .", "drift .", "apply . --yes"] {
        stage.run(line).code(1).stderr_contains("has all files of its commit is unknown: `git rev-parse` failed");
    }
    std::fs::write(&branch, commit).expect("the commit");
    git(&stage, "sparse-checkout disable");
    stage.run("plan .").code(0).stdout_contains("In sync");
    stage.remove("api/pay.yaml");
    stage.run("plan .").code(0).stdout_contains("- delete  shop/pay");
}

#[test]
fn without_git_only_an_empty_directory_that_is_read_may_be_a_submodule() {
    let service = Service::start();
    let stage = Stage::stack(&service, "shop")
        .file("cart.yaml", &definition("shop/cart", 80))
        .file("pay.yaml", &definition("shop/pay", 81));
    let settings = stage.read("trueup.yaml");
    stage.write("trueup.yaml", &format!("{settings}files: {{exclude: [\"reports/**\"]}}\n"));
    let stage = stage.committed().applied(".").env("PATH", "/nowhere");
    std::fs::create_dir(stage.path("reports")).expect("a directory");
    stage.run("pull").code(0).stderr_contains("`pay.yaml` defines it");
    stage.remove("pay.yaml");
    stage.run("plan .").code(0).stdout_contains("- delete  shop/pay").does_not_say("may be defined");
    std::fs::create_dir_all(stage.path("more/lib")).expect("directories");
    for line in ["plan .", "drift .", "apply . --yes", "pull"] {
        let named = "`more/lib` is empty, as the place of a submodule is";
        stage.run(line).code(1).stderr_contains("the `git` program cannot be run").stderr_contains(named);
    }
}

#[test]
fn a_submodule_that_is_not_checked_out_removes_nothing() {
    let service = Service::start();
    let submodule = |name: &str| format!("[submodule \"{name}\"]\n\tpath = {name}\n\turl = ../{name}\n");
    let stage = Stage::stack(&service, "shop")
        .file("cart.yaml", &definition("shop/cart", 80))
        .file("lib/pay.yaml", &definition("shop/pay", 81))
        .file("lib/inner/card.yaml", &definition("shop/card", 82))
        .file("lib/.gitmodules", &submodule("inner"))
        .file(".gitmodules", &submodule("lib"));
    for path in ["lib/inner", "lib"] {
        git_in(&stage.path(path), &["init", "-q"]);
        git_in(&stage.path(path), &["add", "-A"]);
        git_in(&stage.path(path), &["commit", "-qm", "own"]);
    }
    let stage = stage.committed().applied(".");
    assert!(git(&stage, "ls-tree HEAD lib").starts_with("160000"));
    stage.run("plan .").code(0).stdout_contains("In sync");
    let (settings, files) = (stage.read("trueup.yaml"), stage.path("../files"));
    for (path, key) in [("lib", "shop/pay"), ("lib/inner", "shop/card")] {
        let (place, delete) = (stage.path(path), format!("- delete  {key}"));
        std::fs::rename(&place, &files).expect("moved");
        std::fs::create_dir(&place).expect("a directory");
        for line in ["plan .", "drift .", "apply . --yes"] {
            let refused = stage.run(line);
            refused.code(1).stderr_contains(&format!("the submodule `{path}` is not checked out"));
            refused.stderr_contains("git submodule update --init --recursive");
        }
        stage.write("trueup.yaml", &format!("{settings}files: {{exclude: [{path}/**]}}\n"));
        stage.run("plan .").code(0).stdout_contains(&delete);
        stage.write("trueup.yaml", &settings);
        // Deleted files were deleted by somebody.
        std::fs::remove_dir(&place).expect("removed");
        stage.run("plan .").code(0).stdout_contains(&delete);
        std::fs::rename(&files, &place).expect("moved");
        stage.run("plan .").code(0).stdout_contains("In sync");
    }
    // Without `.gitmodules`, each clone has an empty directory.
    stage.remove(".gitmodules");
    commit(&stage, "forgotten");
    stage.run("plan .").code(0).stdout_contains("In sync");
    git(&stage, "clone -q . ../clone");
    let there = stage.path("../clone");
    for line in ["plan", "drift", "apply --yes"] {
        let refused = stage.run(&format!("{line} {}", there.display()));
        refused.code(1).stderr_contains("the submodule `lib` is not checked out");
        refused.stderr_contains("if `.gitmodules` does not name it");
    }
    std::fs::remove_dir(there.join("lib")).expect("removed");
    std::fs::create_dir_all(there.join("empty/directory")).expect("directories");
    stage.run(&format!("plan {}", there.display())).code(0).stdout_contains("- delete  shop/pay");
}

#[test]
fn a_change_may_take_away_the_last_use_of_a_variable_of_the_call() {
    let service = Service::start();
    let stage = Stage::new().at(&service).file("s/a/trueup.yaml", "stack: a\nnamespaces: [a]\n");
    let stage = stage.file("s/a/x.yaml", &definition("a/x", 80)).file("s/a/y.yaml", &definition("a/y", 80));
    let stage = stage.file("s/b/trueup.yaml", "stack: b\nnamespaces: [b]\n").file("s/b/x.yaml", &definition("b/x", 80));
    stage.edit("s/a/x.yaml", "port: 80", "port: ${port}");
    let stage = stage.committed();
    stage.run("apply -R s --yes --quiet --var port=80").code(0);
    git(&stage, "checkout -qb branch");
    stage.edit("s/a/x.yaml", "port: ${port}", "port: 81");
    commit(&stage, "without");
    for stacks in ["s/a", "-R s"] {
        let plan = stage.run(&format!("plan {stacks} --base main --var port=80"));
        plan.code(0).stdout_contains("this change").stdout_contains("80 -> 81");
        let unused = "`--var prot` names a variable that nothing uses";
        let line = format!("plan {stacks} --base main --var port=80 --var prot=80");
        stage.run(&line).code(1).stderr_contains(unused).stderr_contains("did you mean `port`?");
        let main = stage.run(&format!("plan {stacks} --base main"));
        main.code(1).stderr_contains("the variable `port` is not defined").stderr_contains("--> s/a/x.yaml:");
    }
    stage.run("plan s/b --base main --var port=80").code(1).stderr_contains("nothing uses");
    // Each of several stacks proposes what works for it alone.
    let both = "plan -R s --base main --var port=80";
    stage.edit("s/b/x.yaml", "port: 80", "port: 81");
    let proposed: Vec<String> = stage
        .run(both)
        .code(0)
        .text()
        .lines()
        .filter_map(|line| Some(line.split_once("trueup apply s/")?.1.to_owned()))
        .collect();
    assert_eq!(proposed.len(), 2, "{proposed:?}");
    for command in proposed {
        stage.run(&format!("apply s/{command} --quiet")).code(0);
    }
}

#[test]
fn a_sparse_working_tree_removes_no_stack_and_no_definition_that_it_leaves_out() {
    let service = Service::start();
    let stage = Stage::new().at(&service);
    let elsewhere = "base_url: https://other.example.net\n";
    for (name, more) in [("a", ""), ("b", ""), ("c", elsewhere)] {
        stage.write(&format!("{name}/trueup.yaml"), &format!("stack: {name}\nnamespaces: [shop]\n{more}"));
    }
    stage.write("a/cart.yaml", &definition("shop/cart", 80));
    stage.write("a/web.yaml", &definition("shop/web", 80));
    stage.write("a/old.yaml", &definition("shop/old", 80));
    let stage = stage.committed().applied("a");
    std::fs::rename(stage.path("a/cart.yaml"), stage.path("b/cart.yaml")).expect("a file");
    std::fs::rename(stage.path("a/old.yaml"), stage.path("c/old.yaml")).expect("a file");
    commit(&stage, "moved");
    git(&stage, "sparse-checkout set a");
    assert!(!stage.path("b").exists());
    // What moved to another service is deleted on this one.
    let unknown = "is unknown: `b/cart.yaml` may define it, and the sparse working tree lacks that file\n";
    for word in ["1", "yes", "on"] {
        git(&stage, &format!("config --worktree core.sparseCheckout {word}"));
        stage.run("plan a").code(0).stdout_contains(unknown).stdout_contains("- delete  shop/old");
    }
    stage.run("apply a --yes --quiet").code(7);
    assert!(service.has("shop/cart"));
    stage.run("stacks . --changed-since HEAD").code(0).does_not_say("removed");
    assert_eq!(stage.run("stacks . --changed-since HEAD --removed --format markdown").code(0).text(), "");
    git(&stage, "rm -rq --sparse b");
    git(&stage, "commit -qm removed");
    stage.run("stacks . --changed-since HEAD~1").code(0).stdout_contains("removed: b");
}

#[test]
fn histories_that_were_merged_into_each_other_are_not_judged() {
    let service = Service::start();
    let stage = repository(&service);
    git(&stage, "checkout -qb branch");
    stage.edit("search.yaml", "port: 80", "port: 81");
    let ours = commit(&stage, "ours");
    git(&stage, "checkout -q main");
    stage.edit("cart.yaml", "port: 8080", "port: 8443");
    let theirs = commit(&stage, "theirs");
    git(&stage, &format!("merge -q --no-edit {ours}"));
    git(&stage, "checkout -q branch");
    git(&stage, &format!("merge -q --no-edit {theirs}"));
    stage.run("plan . --base main").code(1).stderr_contains("several merge bases").stderr_contains("merge `main` into");
    git(&stage, "merge -q --no-edit main");
    stage.run("plan . --base main").code(0);
}

#[cfg(unix)]
#[test]
fn a_directory_may_begin_with_a_colon() {
    let service = Service::start();
    let settings = |percent: u8| format!("namespaces: [shop]\nguards: {{percent: {percent}}}\n");
    let stage = Stage::new().at(&service).file(":shop/trueup.yaml", &settings(5));
    let stage = stage.file(":shop/cart.yaml", &definition("shop/cart", 80)).committed().applied("./:shop");
    git(&stage, "checkout -qb branch");
    stage.write(":shop/trueup.yaml", &settings(90));
    commit(&stage, "loose");
    stage.run("plan ./:shop --base main").code(0).stdout_contains("loosened").stdout_contains("5 -> 90");
}

#[test]
fn what_came_from_a_file_that_does_not_load_is_not_called_this_change() {
    let service = Service::start();
    let stack = |name: &str| format!("stack: {name}\nnamespaces: [shop]\n");
    let stage = Stage::new()
        .at(&service)
        .file("a/trueup.yaml", &stack("a"))
        .file("a/cart.yaml", &definition("shop/cart", 80).replace("namespace: shop", "namespace: ${ns}"))
        .file("a/rest.yaml", &definition("shop/rest", 80))
        .file("b/trueup.yaml", &stack("b"))
        .file("b/pay.yaml", &definition("shop/pay", 80))
        .committed();
    stage.run("apply a --var ns=shop --yes --quiet").code(0);
    git(&stage, "checkout -qb branch");
    stage.remove("a/cart.yaml");
    stage.write("b/cart.yaml", &definition("shop/cart", 80));
    commit(&stage, "moved");
    git(&stage, "checkout -q main");
    stage.edit("a/cart.yaml", "port: 80", "port: 8443");
    commit(&stage, "port");
    stage.run("apply a --var ns=shop --yes --quiet").code(0);
    git(&stage, "checkout -q branch");
    stage.run("move --from a --directory b shop/cart --yes").code(0).stderr_ignored();
    stage
        .run("plan b --base main")
        .code(1)
        .stderr_contains("`shop/cart` may have been in `a/cart.yaml`, which does not load");
}

#[test]
fn an_environment_that_is_new_with_a_definition_that_was_moved_takes_nothing_back() {
    let service = Service::start();
    let stack = |name: &str| format!("stack: {name}\nnamespaces: [shop]\n");
    let stage = Stage::new()
        .at(&service)
        .file("a/trueup.yaml", &stack("a"))
        .file("a/cart.yaml", &definition("shop/cart", 80))
        .file("a/rest.yaml", &definition("shop/rest", 80))
        .file("b/trueup.yaml", &stack("b"))
        .file("b/pay.yaml", &definition("shop/pay", 80))
        .committed();
    git(&stage, "checkout -qb branch");
    stage.remove("a/cart.yaml");
    stage.write("b/cart.yaml", &definition("shop/cart", 80));
    stage.write("b/trueup.yaml", &(stack("b") + "environments: {prod: {}}\n"));
    commit(&stage, "moved");
    git(&stage, "checkout -q main");
    stage.edit("a/cart.yaml", "port: 80", "port: 8443");
    commit(&stage, "port");
    stage.run("apply a --yes --quiet").code(0);
    git(&stage, "checkout -q branch");
    stage.run("move --from a --directory b --env prod shop/cart --yes").code(0).stderr_ignored();
    stage.run("plan b --env prod --base main").code(0).stdout_contains("REFUSED").stdout_contains("behind base");
}

#[test]
fn what_others_let_go_of_is_deleted_alone_only_where_that_is_allowed() {
    let check = |name: &str| {
        format!(
            "kind: healthcheck\nmetadata: {{name: {name}, namespace: shop}}\nspec: {{tcp_health_check: {{}}, timeout: 3, \
             interval: 15, unhealthy_threshold: 1, healthy_threshold: 3}}\n"
        )
    };
    let pool = "kind: origin_pool\nmetadata: {name: pool, namespace: shop}\nspec:\n  origin_servers: \
                [{public_ip: {ip: 192.0.2.1}}]\n  port: 443\n  healthcheck: [{name: one}]\n";
    let service = Service::start();
    let stage = Stage::new()
        .at(&service)
        .file("trueup.yaml", "stack: s\nnamespaces: [shop]\nkinds: [healthcheck, origin_pool]\n")
        .file("one.yaml", &check("one"))
        .file("two.yaml", &check("two"))
        .file("pool.yaml", pool)
        .committed();
    stage.run("apply . --yes --quiet").code(0);
    stage.edit("pool.yaml", "name: one", "name: two");
    commit(&stage, "let-go");
    git(&stage, "checkout -qb branch");
    std::fs::remove_file(stage.path("one.yaml")).expect("removed");
    commit(&stage, "removed");
    let alone = "--base main --only-this-change";
    let plan = stage.run(&format!("plan . {alone} --detailed-exitcode"));
    plan.code(6).stdout_contains("origin_pool:shop/pool would be left without it");
    let allow = "--allow referred=healthcheck:shop/one";
    stage.run(&format!("apply . {alone} {allow} --yes")).code(0).stdout_contains("1 deleted").stderr_ignored();
}
