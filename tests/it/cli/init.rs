//! `init`: what it writes, what it leaves alone, and that the commands which it prints work.

use crate::support::{Service, Stage, definition};

/// Runs the last line of what `init` printed, without the words before the command.
#[track_caller]
fn run_next(stage: &Stage, printed: &str) {
    let last = printed.lines().last().expect("a last line");
    let command = last.strip_prefix("Next:  trueup ").unwrap_or_else(|| panic!("no command: {last}"));
    stage.run(command).code(0);
}

/// Runs each command of the first hour that `init` printed.
#[track_caller]
fn run_all(stage: &Stage, printed: &str) {
    for line in printed.lines().filter_map(|line| line.strip_prefix("  trueup ")) {
        let line = if line.starts_with("apply") { format!("{line} --yes --quiet") } else { line.to_owned() };
        stage.run(&line).code(0);
    }
}

#[cfg(unix)]
#[test]
fn on_a_terminal_it_asks_nothing_and_prints_its_defaults() {
    let stage = Stage::new();
    let (code, screen) = crate::terminal::Terminal::run(&stage, "init mesh").end();
    assert_eq!(code, 0, "{screen}");
    let defaults = "no service yet, stack mesh, namespace shop, no pipelines";
    assert!(screen.replace("\r\n", "\n").contains(defaults), "{screen}");
    let flags = "init other --url https://t.example.net --stack s --namespaces pay --pipeline none";
    stage.run(flags).code(0).does_not_say("By default");
}

#[test]
fn a_first_hour_without_a_tenant() {
    let stage = Stage::new();
    let ran = stage.run("init endpoints --sandbox");
    ran.code(0).stdout_contains("Written:\n  endpoints/trueup.yaml\n  endpoints/shop/example.yaml\n");
    run_next(&stage, ran.text());
    assert!(stage.read("endpoints/trueup.yaml").contains("stack: endpoints\n"));
    run_all(&stage, ran.text());
    stage.run("get shop --sandbox").code(0).stdout_contains("shop/example  example.com");
    stage.run("fmt --check endpoints").code(0);
}

#[test]
fn what_it_proposes_names_an_environment_only_where_there_is_one() {
    let stage = Stage::new();
    let ran = stage.run("init new --sandbox --env prod --var region=eu");
    run_all(&stage, ran.code(0).text());
    stage.write("old/trueup.yaml", "environments: {prod: {stack: shop-prod, namespaces: [shop]}}\n");
    let ran = stage.run("init old --sandbox=old.redb --env prod");
    ran.code(0).stdout_contains("  trueup plan old --env prod --sandbox=old.redb\n");
    run_all(&stage, ran.text());
}

#[test]
fn a_stack_gets_the_whole_name_of_its_directory_as_far_as_it_is_one() {
    let stage = Stage::new();
    for (directory, name) in [("eu1", "eu1"), ("eu2", "eu2"), ("03-Shop_7", "shop-7"), ("pay_", "pay"), ("42", "main")]
    {
        stage
            .run(&format!("init {directory} --sandbox"))
            .code(0)
            .stdout_contains(&format!("By default: stack {name}, "));
    }
}

#[test]
fn flags_decide_and_a_second_time_nothing_is_overwritten() {
    let stage = Stage::new();
    let line = "init mesh --url https://t.example.net/api --namespaces pay,shop --stack s --pipeline github";
    let ran = stage.run(line);
    ran.code(0)
        .stdout_contains("  .github/workflows/plan.yaml\n")
        .stdout_contains("  .github/actions/setup-trueup/action.yml\n")
        .stdout_contains("TRUEUP_READ_TOKEN");
    run_next(&stage, ran.text());
    let settings = stage.read("mesh/trueup.yaml");
    for part in ["stack: s\n", "base_url: https://t.example.net\n", "namespaces: [pay, shop]\n"] {
        assert!(settings.contains(part), "{settings}");
    }
    let workflow = stage.read(".github/workflows/plan.yaml");
    assert!(workflow.contains("vars.TRUEUP_BASE_URL || 'https://t.example.net'"), "{workflow}");
    for name in ["plan", "comment", "apply", "apply-stack", "drift"] {
        let text = stage.read(&format!(".github/workflows/{name}.yaml"));
        serde_yaml::from_str::<serde_yaml::Value>(&text).expect("YAML");
    }
    stage.write("mesh/trueup.yaml", "stack: mine\nnamespaces: [pay]\n");
    let again = stage.run(line);
    again
        .code(0)
        .stdout_contains("Left as they are, because they exist:\n  mesh/trueup.yaml\n")
        .does_not_say("Written")
        .stdout_contains("  trueup doctor mesh --base-url https://t.example.net/api --stack s\n");
    run_next(&stage, again.text());
    assert_eq!(stage.read("mesh/trueup.yaml"), "stack: mine\nnamespaces: [pay]\n");
    stage.run("init mesh").code(0).does_not_say("By default");
}

#[test]
fn a_pipeline_is_written_to_the_top_of_the_repository() {
    let stage = Stage::new().file(".git/HEAD", "ref: refs/heads/main\n").file("deep/er/x.txt", "");
    stage.run("init deep/er/mesh --pipeline gitlab").code(0).stdout_contains("  .gitlab-ci.yml\n");
    assert!(stage.read(".gitlab/trueup-stack.yml").contains("trueup plan"));
    assert!(stage.read(".gitlab/trueup.yml").contains(".trueup:"));
}

#[test]
fn a_pipeline_names_the_service_of_the_settings_that_are_there_or_the_hints_say_that_it_has_none() {
    let hint = "name the service in them instead of https://TENANT";
    let stage = Stage::new().file("mesh/trueup.yaml", "stack: s\nbase_url: https://acme.example.net\n");
    stage.run("init mesh --pipeline gitlab").code(0).does_not_say(hint);
    let pipeline = stage.read(".gitlab/trueup-stack.yml");
    assert!(pipeline.contains("https://acme.example.net") && !pipeline.contains("TENANT"), "{pipeline}");
    Stage::new().run("init mesh --pipeline gitlab").code(0).stdout_contains(hint);
}

#[test]
fn with_a_token_the_next_command_is_the_doctor() {
    let service = Service::start();
    let stage = Stage::new().at(&service);
    let ran = stage.run("init . --stack s");
    ran.code(0)
        .stdout_contains("To begin with the live endpoints:  rm shop/example.yaml && trueup pull -o .\n")
        .stdout_contains("Next:  trueup doctor .\n");
    run_next(&stage, ran.text());
}

#[test]
fn a_directory_in_a_stack_and_wrong_flags_are_refused_before_anything_is_written() {
    let stage = Stage::new().file("mesh/trueup.yaml", "stack: s\n");
    stage.run("init mesh/inner").code(6).stderr_contains("is in the stack of").stderr_contains("nothing was written");
    stage
        .run("init . --stack s")
        .code(6)
        .stderr_contains("contains the stack of")
        .stderr_contains("nothing was written");
    assert!(!stage.path("trueup.yaml").exists());
    stage.run("init new --namespaces Shop").code(64).stderr_contains("the namespace `Shop` ");
    stage.run("init new --url http://elsewhere.example.net").code(1).stderr_contains("use https");
    stage.run("init new --stack ../x").code(64).stderr_contains("`--stack` is `../x`");
    // On Windows `new/..` is where `new` would be, whether it is there or not.
    if cfg!(unix) {
        let refused = "`new/../beside` goes up from a directory that does not exist";
        stage.run("init new/../beside").code(64).stderr_contains(refused);
    }
    assert!(!stage.path("new").exists() && !stage.path("mesh/inner").exists());
}

#[test]
fn definitions_that_are_there_need_no_example() {
    let stage = Stage::example("01-first-endpoint");
    stage.run("init").code(0).does_not_say("example.yaml").stdout_contains("  trueup.yaml\n");
    stage.run("validate").code(0).stdout_contains("Valid: 1 endpoint ");
    let stage = Stage::new().file("notes.yaml", "# nothing yet\n");
    run_next(&stage, stage.run("init --sandbox").code(0).stdout_contains("  shop/example.yaml\n").text());
}

#[test]
fn the_settings_list_what_the_definitions_are_of() {
    let pool = "kind: origin_pool\nmetadata: {name: web, namespace: pay}\nspec:\n  port: 80\n  origin_servers: \
                [{public_ip: {ip: 192.0.2.1}}]\n";
    let stage = Stage::new().file("a/card.yaml", &definition("pay/card", 80)).file("a/web.yaml", pool);
    stage.run("init a --sandbox --stack one").code(0).stdout_contains("namespace pay");
    assert!(
        stage.read("a/trueup.yaml").ends_with("namespaces: [pay]\n\n# Of these kinds, too.\nkinds: [origin_pool]\n")
    );
    stage.run("validate a").code(0);
    let stage = Stage::new().file("a/card.yaml", &definition("pay/card", 80));
    stage.run("init a --sandbox --namespaces pay,shop").code(0);
    assert!(stage.read("a/trueup.yaml").ends_with("namespaces: [pay, shop]\n"));
    stage.run("init b --sandbox -n shop,pay --namespace shop").code(0);
    assert!(stage.read("b/trueup.yaml").ends_with("namespaces: [shop, pay]\n"));
    stage.write("c/trueup.yaml", "stack: mine\nnamespaces: [shop]\n");
    let ran = stage.run("init c --sandbox --namespaces pay");
    ran.code(0).stdout_contains("  c/shop/example.yaml\n");
    run_next(&stage, ran.text());
}

#[test]
fn what_does_not_load_is_to_be_checked_next() {
    let stage = Stage::new().file("pay/card.yaml", &definition("pay/card", 80).replace("10.0.0.7", "${ip}"));
    stage.write("bad/trueup.yaml", "stack: s\nnamespace: [shop]\n");
    for (directory, error) in [("pay", "the variable `ip` is not defined"), ("bad", "did you mean `namespaces`?")] {
        let made = stage.run(&format!("init {directory}"));
        let next = format!(
            "What is there does not load, so the settings say nothing of it.\nNext:  trueup validate {directory}\n"
        );
        assert!(made.code(0).text().ends_with(&next), "{}", made.text());
        stage.run(&format!("validate {directory}")).code(1).stderr_contains(error);
    }
}

#[test]
fn a_name_that_yaml_takes_for_no_text_is_quoted() {
    let stage = Stage::new();
    run_all(&stage, stage.run("init null --sandbox -n null,true").code(0).text());
    assert!(stage.read("null/trueup.yaml").contains("stack: 'null'\n"));
}

#[test]
fn what_was_written_before_a_file_that_cannot_be_is_named() {
    let stage = Stage::new().file(".github", "a file");
    let ran = stage.run("init mesh --sandbox --pipeline github");
    ran.code(1).stdout("Written:\n  mesh/trueup.yaml\n  mesh/shop/example.yaml\n  mesh/.gitignore\n");
    ran.stderr_contains("cannot write `").stderr_contains(".github/");
}
