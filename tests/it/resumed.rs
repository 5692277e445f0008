//! A resume and a rollback take their configuration from `--config` or from the working directory, never
//! from the place that the journal names.

use crate::support::{Service, Stage, TOKEN, definition};

/// A stack in a directory with a blank, applied by two paths, of which one endpoint is left to do.
fn stage(service: &Service) -> Stage {
    let stage = Stage::new()
        .at(service)
        .file("my stack/trueup.yaml", "stack: s\nnamespaces: [shop]\n")
        .file("my stack/a/cart.yaml", &definition("shop/cart", 80))
        .file("my stack/b/card.yaml", &definition("shop/card", 80));
    service.misbehave("rules: [{operation: endpoint-create, name: card, status: {code: 403}}]");
    stage.run_words(&["apply", "my stack/a", "my stack/b", "--yes", "--quiet"]).code(7);
    service.misbehave("rules: []");
    stage
}

fn resume(stage: &Stage, more: &[&str]) -> crate::support::Ran {
    let words: Vec<&str> = ["apply", "--resume", "last", "--yes", "--quiet"].iter().chain(more).copied().collect();
    stage.run_words(&words)
}

#[test]
fn a_resume_takes_its_configuration_from_the_flag_whatever_the_directory_is_called() {
    let service = Service::start();
    let stage = stage(&service);
    let writes = || service.requests("POST") + service.requests("PUT") + service.requests("DELETE");
    let before = writes();
    // The working directory has no configuration, so there is no stack whose run could be meant.
    resume(&stage, &[]).code(1).stderr_contains("there is no run without a stack");
    let history = stage.run("history --format json").json();
    let run = history["runs"][0]["run"].as_str().expect("a run").to_owned();
    stage
        .run(&format!("apply --resume {run} --yes --quiet"))
        .code(6)
        .stderr_contains("the plan is of stack `s`, and the settings name no stack")
        .stderr_contains("--config 'my stack/trueup.yaml'");
    stage.write("other/trueup.yaml", "stack: other\nnamespaces: [shop]\n");
    resume(&stage, &["--config", "other/trueup.yaml"]).code(1).stderr_contains("there is no run of stack `other`");
    assert_eq!(writes(), before);
    resume(&stage, &["--config", "my stack/trueup.yaml"]).code(0).stdout_contains("Applied 1 of 1");
    assert!(service.has("shop/card"));
}

#[test]
fn a_resume_takes_its_configuration_from_the_working_directory() {
    let service = Service::start();
    let stage = stage(&service);
    stage.write("trueup.yaml", "stack: s\nnamespaces: [shop]\nbase_url: http://127.0.0.1:1\n");
    resume(&stage, &[]).code(1).stderr_contains("TRUEUP_BASE_URL");
    stage.write("trueup.yaml", "stack: s\nnamespaces: [shop]\n");
    // What lies where the journal says is not read.
    stage.write("my stack/trueup.yaml", "stack: [not, readable\n");
    resume(&stage, &[]).code(0).stdout_contains("Applied 1 of 1");
    assert!(service.has("shop/card"));
}

#[test]
fn what_the_directory_defines_again_is_deleted_by_no_resume_and_no_saved_plan() {
    let service = Service::start();
    let stage = Stage::new()
        .at(&service)
        .file("trueup.yaml", "stack: s\nnamespaces: [shop]\nguards: {percent: 100}\n")
        .file("cart.yaml", &definition("shop/cart", 80))
        .file("card.yaml", &definition("shop/card", 80));
    stage.run("apply . --yes --quiet").code(0);
    stage.remove("card.yaml");
    stage.run("plan . -o plan.json --quiet").code(0);
    service.misbehave("rules: [{operation: endpoint-delete, status: {code: 403}}]");
    stage.run("apply . --yes --quiet").code(1).stderr_ignored();
    service.misbehave("rules: []");
    stage.write("card.yaml", &definition("shop/card", 80));
    for again in ["apply --resume last --yes --quiet", "apply plan.json --yes --quiet"] {
        let refused = stage.run(again);
        refused.code(6).stderr_contains("the plan deletes `shop/card`, and stack `s` in . defines it by now");
        refused.stderr_contains("nothing was sent");
        assert!(service.has("shop/card"), "{again}");
    }
    stage.remove("card.yaml");
    resume(&stage, &[]).code(0).stdout_contains("1 deleted");
    assert!(!service.has("shop/card"));
}

#[test]
fn a_saved_plan_deletes_what_the_overlay_of_its_environment_removes() {
    let service = Service::start();
    let settings =
        "stack: s\nnamespaces: [shop]\nguards: {percent: 100}\nenvironments:\n  prod: {stack: s-prod, overlay: o}\n";
    let stage = Stage::new()
        .at(&service)
        .file("trueup.yaml", settings)
        .file("cart.yaml", &definition("shop/cart", 80))
        .file("card.yaml", &definition("shop/card", 80));
    stage.run("apply . --env prod --yes --quiet").code(0);
    stage.write("o/card.yaml", "$remove: true\nmetadata: {name: card, namespace: shop}\n");
    stage.run("plan . --env prod -o plan.json --quiet").code(0);
    stage.run("apply plan.json --env prod --yes --quiet").code(0);
    assert!(!service.has("shop/card"));
}

#[test]
fn the_last_run_of_a_stack_without_a_name_is_that_of_its_directory() {
    let service = Service::start();
    let stage = Stage::new().at(&service);
    for name in ["one", "two"] {
        stage.write(&format!("{name}/trueup.yaml"), "concurrency: 2\n");
        stage.write(&format!("{name}/a.yaml"), &definition(&format!("{name}/a"), 80));
        stage.run(&format!("apply {name} --yes --quiet")).code(0);
    }
    for command in ["rollback last --yes", "apply --resume last --yes"] {
        let ran = stage.run(&format!("{command} --config one/trueup.yaml"));
        ran.code(6)
            .stderr_contains("wrote nothing that this stack defines, which has no name")
            .stderr_contains("name the run");
    }
    // Wherever it was applied and is undone, in a repository.
    let stage = stage.committed();
    let ran_in = |directory: &str, words: &[&str]| {
        stage.command(words).current_dir(stage.path(directory)).output().expect("it runs").status.code()
    };
    stage.edit("two/a.yaml", "port: 80", "port: 81");
    assert_eq!(ran_in("two", &["apply", ".", "--yes"]), Some(0));
    assert_eq!(ran_in("one", &["rollback", "last", "--yes"]), Some(6));
    assert_eq!(ran_in("two", &["rollback", "last", "--yes"]), Some(0));
    // What the files no longer have was theirs.
    stage.write("two/b.yaml", &definition("two/b", 80));
    stage.run("apply two --yes --quiet").code(0);
    stage.remove("two/b.yaml");
    stage.run("rollback last --yes --quiet --config two/trueup.yaml").code(0);
    assert!(!service.has("two/b") && service.has("two/a"));
}

#[test]
fn the_history_resumes_an_earlier_run_with_the_flags_of_that_run() {
    let service = Service::start();
    let stage = Stage::new()
        .at(&service)
        .file("my stack/trueup.yaml", "stack: s\nnamespaces: [shop]\n")
        .file("my stack/cart.yaml", &definition("shop/cart", 80))
        .file("other/trueup.yaml", "stack: other\nnamespaces: [pay]\n")
        .file("other/card.yaml", &definition("pay/card", 80));
    service
        .misbehave("rules: [{operation: endpoint-create, cut: after}, {operation: endpoint-get, status: {code: 404}}]");
    stage.run_words(&["apply", "my stack", "--yes", "--quiet"]).code(7).stderr_ignored();
    service.misbehave("rules: []");
    stage.run("apply other --yes --quiet").code(0);
    let history = stage.run("history --format json").json();
    let run = history["runs"][1]["run"].as_str().expect("a run").to_owned();
    let command = format!("trueup apply --resume {run} --config 'my stack/trueup.yaml'\n");
    stage.run("history").code(0).stdout_contains(&command);
}

#[test]
fn a_rollback_takes_its_configuration_from_the_same_places() {
    let service = Service::start();
    let stage = stage(&service);
    let history = stage.run("history --format json").json();
    let run = history["runs"][0]["run"].as_str().expect("a run").to_owned();
    let rollback = |more: &[&str]| {
        let words: Vec<&str> = ["rollback", &run, "--yes", "--quiet", "--allow", "empty-namespace"]
            .into_iter()
            .chain(more.iter().copied())
            .collect();
        stage.run_words(&words)
    };
    rollback(&[]).code(6).stderr_contains("--config 'my stack/trueup.yaml'");
    assert!(service.has("shop/cart"));
    rollback(&["--config", "my stack/trueup.yaml"]).code(0);
    assert!(!service.has("shop/cart"));
}

#[test]
fn a_resume_does_not_read_the_configuration_beside_the_definitions() {
    let service = Service::start();
    let stage = Stage::new()
        .at(&service)
        .file("plain/trueup.yaml", "stack: s\nnamespaces: [shop]\n")
        .file("plain/cart.yaml", &definition("shop/cart", 80));
    service.misbehave("rules: [{operation: endpoint-create, status: {code: 403}}]");
    stage.run("apply plain --yes --quiet").code(1);
    service.misbehave("rules: []");
    stage.write("trueup.yaml", "stack: s\nnamespaces: [shop]\n");
    stage.write("plain/trueup.yaml", "stack: [not, readable\n");
    resume(&stage, &[]).code(0).stdout_contains("Applied 1 of 1");
}

#[test]
fn the_resume_of_a_finished_run_with_something_blocked_ends_like_the_run() {
    let service = Service::start();
    let stage = Stage::stack(&service, "shop")
        .file("gone.yaml", &definition("shop/gone", 80))
        .file("other.yaml", &definition("shop/other", 80))
        .applied(".");
    service.change("shop/gone", |object| object["metadata"]["annotations"]["trueup/protect"] = "true".into());
    stage.remove("gone.yaml");
    stage.edit("other.yaml", "port: 80", "port: 81");
    stage.run("apply . --yes --quiet").code(7).stdout_contains("1 blocked");
    let resumed = stage.run("apply --resume last --yes --quiet");
    resumed
        .code(7)
        .stderr_contains("is finished: nothing to resume; 1 change of its plan stayed blocked, plan again: ");
    stage.write("gone.yaml", &definition("shop/gone", 80));
    stage.edit("other.yaml", "port: 81", "port: 82");
    stage.run("apply . --yes --quiet").code(0);
    stage.run("apply --resume last --yes").code(6).stderr_contains("nothing to resume: run `");
}

/// A stack of two environments with a namespace each, of which `prod` has a write in doubt and `dev` is applied.
fn two_environments(service: &Service) -> Stage {
    let settings = "stack: s\nvariables: {n: none}\nenvironments:\n  dev: {namespaces: [shop-dev], variables: {n: shop-dev}}\n  \
                    prod: {namespaces: [shop-prod], variables: {n: shop-prod}}\n";
    let stage = Stage::new().at(service).file("trueup.yaml", settings).file("cart.yaml", &definition("${n}/cart", 80));
    service.misbehave("rules: [{operation: endpoint-*, namespace: shop-prod, name: cart, status: {code: 500}}]");
    stage.run("apply . --env prod --yes --quiet").code(7);
    service.misbehave("rules: []");
    stage.run("apply . --env dev --yes --quiet").code(0);
    stage
}

#[test]
fn what_is_proposed_away_from_the_settings_of_its_environment_names_them() {
    let service = Service::start();
    let stage = two_environments(&service);
    std::fs::create_dir(stage.path("../away")).expect("a directory");
    std::fs::rename(stage.path("trueup.yaml"), stage.path("../away/trueup.yaml")).expect("the settings");
    stage.run("history").code(0).stdout_contains(" --config ./trueup.yaml --env prod --stack s\n");
    let without = stage.run("apply --resume last --yes --env prod");
    without
        .code(1)
        .stderr_contains("there is no environment `prod`")
        .stderr_contains("no trueup.yaml in the directory");
    std::fs::rename(stage.path("../away/trueup.yaml"), stage.path("trueup.yaml")).expect("the settings");
    let run = stage.run("history --format json").json()["runs"][1]["run"].as_str().expect("a run").to_owned();
    stage.run(&format!("apply --resume {run} --yes --quiet --config ./trueup.yaml --env prod --stack s")).code(0);
}

#[test]
fn an_apply_of_another_environment_supersedes_no_run() {
    let service = Service::start();
    let stage = two_environments(&service);
    let runs = stage.run("history --format json").json()["runs"].clone();
    assert_eq!((&runs[1]["done"], &runs[1]["superseded_by"]), (&0.into(), &serde_json::Value::Null));
    stage.run("history").code(0).stdout_contains("1 write in doubt").stdout_contains("--env prod");
    stage.run("apply . --env prod --yes --quiet").code(0);
    let runs = stage.run("history --format json").json()["runs"].clone();
    assert_eq!(runs[2]["superseded_by"], runs[0]["run"]);
}

#[test]
fn the_last_run_of_a_call_is_one_of_its_environment() {
    let service = Service::start();
    let stage = two_environments(&service);
    stage.run("apply . --env prod").code(6).stderr_contains("has not finished").stderr_ignored();
    stage.run("apply . --env dev --yes").code(0);
    stage.run("apply --resume last --env prod --yes --quiet").code(0).stdout_contains("Applied 1 of 1");
    assert!(service.has("shop-prod/cart"));
    stage.run("rollback last --env dev --yes --quiet --allow empty-namespace").code(0);
    assert!(service.has("shop-prod/cart") && !service.has("shop-dev/cart"));
    stage.run("rollback last --env test").code(1).stderr_ignored();
}

#[test]
fn a_run_is_undone_in_its_environment_alone() {
    let service = Service::start();
    let stage = two_environments(&service);
    let run = stage.run("history --format json").json()["runs"][0]["run"].as_str().expect("a run").to_owned();
    for (flag, named) in [("", "no environment"), ("--env prod", "the environment `prod`")] {
        let refused = stage.run(&format!("rollback {run} --yes --allow empty-namespace {flag}"));
        refused.code(6).stderr_contains(&format!("is of the environment `dev`, and the call names {named}"));
        refused.stderr_contains("--env dev");
    }
    stage.run(&format!("rollback {run} --env dev -o back.json")).code(0);
    let apply = |flag: &str| stage.run(&format!("apply back.json --yes --quiet --allow empty-namespace {flag}"));
    apply("--env prod")
        .code(6)
        .stderr_contains("is of the environment `dev`, and the call names the environment `prod`");
    apply("--env dev").code(0);
    assert!(!service.has("shop-dev/cart"));
    // Without an environment, and of another stack than in it.
    let settings = "stack: s\nnamespaces: [shop]\nenvironments: {same: {namespaces: [other]}, live: {stack: t}}\n";
    let stage = Stage::new().at(&service).file("trueup.yaml", settings).file("cart.yaml", &definition("shop/cart", 80));
    stage.run("apply . --yes --quiet").code(0);
    let run = stage.run("history --format json").json()["runs"][0]["run"].as_str().expect("a run").to_owned();
    let undo = |flag: &str| stage.run(&format!("rollback {run} --yes --quiet --allow empty-namespace {flag}"));
    undo("--env same").code(6).stderr_contains("to apply it: neither --env nor TRUEUP_ENV");
    undo("--env live").code(6).stderr_contains("the plan was made without --env");
    undo("").code(0);
}

#[test]
fn a_run_of_another_environment_and_service_is_found_by_its_environment() {
    let services = [Service::start(), Service::start()];
    let [dev, prod] = services.each_ref().map(Service::url);
    let settings = format!(
        "stack: s\nnamespaces: [shop]\nenvironments:\n  dev: {{base_url: '{dev}'}}\n  prod: {{base_url: '{prod}'}}\n"
    );
    let stage = Stage::new()
        .env("TRUEUP_TOKEN", TOKEN)
        .file("trueup.yaml", &settings)
        .file("cart.yaml", &definition("shop/cart", 80));
    stage.run("apply . --env dev --yes --quiet").code(0);
    let run = stage.run("history --format json").json()["runs"][0]["run"].as_str().expect("a run").to_owned();
    for line in ["rollback", "apply --resume"] {
        let refused = stage.run(&format!("{line} {run} --env prod --yes"));
        refused.code(6).stderr_contains("is of the environment `dev`, and the call names the environment `prod`");
        refused.stderr_contains("--env dev").does_not_say("--base-url");
    }
    stage.run(&format!("rollback {run} --env dev --yes --quiet --allow empty-namespace")).code(0);
}

#[test]
fn a_run_of_an_environment_that_was_renamed_is_finished_and_undone_under_its_new_name() {
    let service = Service::start();
    let settings = |name: &str| format!("environments:\n  {name}: {{stack: s, namespaces: [shop]}}\n");
    let stage = Stage::new()
        .at(&service)
        .file("trueup.yaml", &settings("prod"))
        .file("card.yaml", &definition("shop/card", 80))
        .file("cart.yaml", &definition("shop/cart", 80));
    service.misbehave("rules: [{operation: endpoint-create, name: cart, status: {code: 500}}]");
    stage.write("trueup.yaml", &settings("prod"));
    stage.run("apply . --env prod --yes --quiet").stderr_ignored();
    service.misbehave("rules: []");
    let follow = |command: &str, flag: &str| {
        let shown = stage.run(&format!("show last{flag}"));
        let at = shown.text().find(command).unwrap_or_else(|| panic!("{}", shown.text()));
        let proposed = shown.text()[at..].lines().next().unwrap_or_default();
        assert_eq!(proposed.contains("--env production"), !flag.is_empty(), "{proposed}");
        stage.run(&format!("{proposed} --yes --quiet --allow empty-namespace --allow mass-change")).code(0);
    };
    stage.write("trueup.yaml", &settings("production"));
    follow("apply --resume", " --env production");
    assert!(service.has("shop/cart"));
    stage.write("trueup.yaml", "stack: s\nnamespaces: [shop]\n");
    follow("rollback ", "");
    assert!(!service.has("shop/cart"));
    // Settings that name no stack do not say that the environment is gone.
    stage.write("trueup.yaml", &settings("prod"));
    stage.run("plan . --env prod -o ../plan.json").code(0);
    stage.write("trueup.yaml", "namespaces: [shop]\n");
    let refused = stage.run("apply ../plan.json --stack s --yes");
    refused.code(6).stderr_contains("is of the environment `prod`, and the call names no environment");
    // What was proposed before a name was changed is about that name.
    stage.write("trueup.yaml", "stack: s\nnamespaces: [shop]\nenvironments: {prod: {}, production: {}}\n");
}

#[test]
fn a_run_whose_rollback_was_resumed_is_not_resumed_itself() {
    let service = Service::start();
    let stage = Stage::stack(&service, "s")
        .file("cart.yaml", &definition("shop/cart", 80))
        .file("card.yaml", &definition("shop/card", 80));
    let fails = |rule: &str, line: &str| {
        service.misbehave(&format!("rules: [{{{rule}, status: {{code: 500}}}}]"));
        stage.run(line).code(7).stderr_ignored();
        service.misbehave("rules: []");
    };
    fails("operation: endpoint-create, name: card", "apply . --yes --quiet");
    // Nothing of the rollback is known to be done before its resume.
    fails("operation: endpoint-delete", "rollback last --yes --quiet --allow empty-namespace");
    stage.run("apply --resume last --yes --quiet --allow empty-namespace").code(0);
    let runs = stage.run("history --format json").json()["runs"].clone();
    assert_eq!((&runs[0]["rolls_back"], &runs[2]["superseded_by"]), (&runs[2]["run"], &runs[0]["run"]));
    stage.run("history").code(0).does_not_say("--resume");
    let undone = runs[2]["run"].as_str().expect("a run");
    stage.run(&format!("apply --resume {undone} --yes")).code(6).stderr_contains("is superseded by run");
    assert!(!service.has("shop/cart") && !service.has("shop/card"));
}

#[test]
fn a_finished_run_that_was_rolled_back_is_not_resumed() {
    let service = Service::start();
    let stage = Stage::stack(&service, "s").file("cart.yaml", &definition("shop/cart", 80)).applied(".");
    let runs = || stage.run("history --format json").json()["runs"].clone();
    let run = runs()[0]["run"].as_str().expect("a run").to_owned();
    let resume = format!("apply --resume {run} --yes");
    stage.run(&resume).code(0).stderr_contains("is finished: nothing to resume");
    stage.run("rollback last --yes --quiet --allow empty-namespace").code(0);
    let refused = stage.run(&resume);
    let by = runs()[0]["run"].as_str().expect("a run").to_owned();
    refused.code(6).stderr_contains(&format!("run `{run}` is superseded by run `{by}`"));
    assert_eq!(runs()[1]["superseded_by"], by.as_str());
    assert!(!service.has("shop/cart"));
}

#[test]
fn a_rollback_by_the_name_of_an_earlier_part_undoes_the_whole_which_is_not_resumed() {
    let service = Service::start();
    let stage = Stage::stack(&service, "s")
        .file("cart.yaml", &definition("shop/cart", 80))
        .file("card.yaml", &definition("shop/card", 80));
    service.misbehave("rules: [{operation: endpoint-create, name: card, status: {code: 500}}]");
    stage.run("apply . --yes --quiet").code(7).stderr_ignored();
    stage.run("apply --resume last --yes --quiet").code(7).stderr_ignored();
    service.misbehave("rules: []");
    let runs = || stage.run("history --format json").json()["runs"].clone();
    let first = runs()[1]["run"].as_str().expect("a run").to_owned();
    stage.run(&format!("rollback {first} --yes --quiet --allow empty-namespace")).code(0);
    stage.run("history").code(0).does_not_say("--resume");
    let runs = runs();
    assert_eq!((&runs[0]["rolls_back"], &runs[1]["superseded_by"]), (&runs[1]["run"], &runs[0]["run"]));
    let resume = runs[1]["run"].as_str().expect("a run");
    stage.run(&format!("apply --resume {resume} --yes")).code(6).stderr_contains("is superseded by run");
}

#[test]
fn a_saved_rollback_of_what_was_resumed_since_is_planned_again() {
    let service = Service::start();
    let stage = Stage::stack(&service, "s")
        .file("cart.yaml", &definition("shop/cart", 80))
        .file("card.yaml", &definition("shop/card", 80));
    service.misbehave("rules: [{operation: endpoint-create, name: card, status: {code: 500}}]");
    stage.run("apply . --yes --quiet").code(7).stderr_ignored();
    service.misbehave("rules: []");
    stage.run("rollback last -o back.json --quiet --allow empty-namespace").code(0);
    stage.run("apply --resume last --yes --quiet").code(0);
    let run =
        |at: usize| stage.run("history --format json").json()["runs"][at]["run"].as_str().expect("a run").to_owned();
    let (resume, first) = (run(0), run(1));
    let refused = stage.run("apply back.json --yes --allow empty-namespace");
    refused.code(6).stderr_contains(&format!("run `{first}` was resumed by run `{resume}` since"));
    refused.stderr_contains("nothing was sent").stderr_contains(&format!("trueup rollback {resume}"));
    let record = stage.path(&format!("../state/trueup/runs/{resume}.jsonl"));
    let whole = std::fs::read_to_string(&record).expect("a record");
    std::fs::write(&record, whole.replace("\"format_version\":", "\"format_version\":9")).expect("written");
    stage.run(&format!("rollback {first} --yes")).code(1).stderr_contains("is a later run and cannot be read");
    std::fs::write(&record, &whole).expect("written");
    stage.run(&format!("rollback {first} --yes --quiet --allow empty-namespace")).code(0);
    assert!(!service.has("shop/cart") && !service.has("shop/card"));
}

#[test]
fn a_run_that_made_what_an_earlier_one_had_left_supersedes_it_whatever_its_filter() {
    let service = Service::start();
    let stage = Stage::stack(&service, "s").file("zero.yaml", &definition("shop/zero", 80)).applied(".");
    for (status, ends) in [(500, 7), (403, 1)] {
        stage.write("cart.yaml", &definition("shop/cart", 80));
        service.misbehave(&format!("rules: [{{operation: endpoint-create, status: {{code: {status}}}}}]"));
        stage.run("apply . --except shop/zero --yes --quiet").code(ends).stderr_ignored();
        service.misbehave("rules: []");
        let first = stage.run("history --format json").json()["runs"][0]["run"].as_str().expect("a run").to_owned();
        stage.run(&format!("show {first}")).code(0).stdout_contains(&format!("apply --resume {first}"));
        stage.run("apply . --except shop/zero --yes --quiet").code(0);
        stage.remove("cart.yaml");
        stage.run("apply . --except shop/zero --yes --quiet").code(0);
        for shown in ["history".to_owned(), format!("show {first}")] {
            stage.run(&shown).code(0).does_not_say("--resume");
        }
        stage.run(&format!("apply --resume {first} --yes")).code(6).stderr_contains("is superseded by run");
        assert!(!service.has("shop/cart"));
    }
}

#[test]
fn a_run_of_which_a_later_one_made_a_part_stays_open() {
    let service = Service::start();
    let stage = Stage::stack(&service, "s").file("zero.yaml", &definition("shop/zero", 80)).applied(".");
    stage.write("cart.yaml", &definition("shop/cart", 80));
    stage.write("card.yaml", &definition("shop/card", 80));
    service.misbehave("rules: [{operation: endpoint-create, status: {code: 500}}]");
    stage.run("apply . --yes --quiet").code(7).stderr_ignored();
    service.misbehave("rules: []");
    let first = stage.run("history --format json").json()["runs"][0]["run"].as_str().expect("a run").to_owned();
    stage.run("apply . --only shop/cart --yes --quiet").code(0).stderr_ignored();
    stage.run("history").code(0).stdout_contains("2 writes in doubt").stdout_contains(&format!("--resume {first}"));
    stage.run("apply . --only shop/card --yes --quiet").code(0).stderr_ignored();
    stage.run("history").code(0).does_not_say("--resume");
}

#[test]
fn the_resume_of_an_older_run_supersedes_no_run_that_was_planned_after_it() {
    let service = Service::start();
    let stage = Stage::stack(&service, "s").file("cart.yaml", &definition("shop/cart", 80));
    let apply_in_doubt = || {
        service.misbehave("rules: [{operation: endpoint-create, status: {code: 500}}]");
        stage.run("apply . --yes --quiet").code(7).stderr_ignored();
        service.misbehave("rules: []");
    };
    apply_in_doubt();
    stage.write("card.yaml", &definition("shop/card", 80));
    apply_in_doubt();
    let runs = || stage.run("history --format json").json()["runs"].clone();
    let first = runs()[1]["run"].as_str().expect("a run").to_owned();
    stage.run(&format!("apply --resume {first} --yes --quiet")).code(0).stderr_ignored();
    let runs = runs();
    assert_eq!(runs[2]["resumed_by"], runs[0]["run"]);
    assert_eq!(runs[1]["superseded_by"], serde_json::Value::Null, "nobody settled its card");
}

#[test]
fn what_a_killed_run_has_made_keeps_it_open_no_longer_when_it_is_blocked_later() {
    let service = Service::start();
    let stage = Stage::stack(&service, "s")
        .file("cart.yaml", &definition("shop/cart", 80))
        .file("card.yaml", &definition("shop/card", 80));
    service.misbehave("rules: [{operation: endpoint-create, name: card, status: {code: 500}}]");
    stage.run("apply . --yes --quiet").code(7).stderr_ignored();
    service.misbehave("rules: []");
    let other = Stage::stack(&service, "other").file("cart.yaml", &definition("shop/cart", 81));
    other.run("apply . --yes --quiet --allow foreign-stack=shop/cart").code(0).stderr_ignored();
    // All that the first run left is made, and its cart is blocked.
    stage.run("apply . --yes --quiet").code(7).stderr_ignored();
    let runs = stage.run("history --format json").json()["runs"].clone();
    assert_eq!(runs[1]["superseded_by"], runs[0]["run"], "{runs}");
}
