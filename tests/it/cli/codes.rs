//! The table of exit codes: each code by each format of the commands that can end with it.

use serde_json::{Value, json};

use crate::support::{Ran, Service, Stage, definition};

fn stage(service: &Service) -> Stage {
    Stage::stack(service, "codes")
        .file("a.yaml", &definition("shop/cart", 80))
        .file("b.yaml", &definition("shop/search", 80))
        .applied(".")
}

/// Runs a command in all its formats; each must end with the code, and JSON must be JSON.
fn all(stage: &Stage, line: &str, code: i32) -> Value {
    let quiet = |ran: &Ran| {
        ran.code(code).stderr_ignored();
    };
    let formats: &[&str] = match line.split(' ').next() {
        Some("plan") => &["text", "markdown", "html", "github", "sarif"],
        Some("drift") => &["text", "markdown", "html", "junit", "prometheus", "github", "sarif"],
        _ => &["text"],
    };
    for format in formats {
        quiet(&stage.run(&format!("{line} --format {format}")));
    }
    let json = stage.run(&format!("{line} --format json"));
    quiet(&json);
    if json.text().is_empty() { Value::Null } else { json.json() }
}

#[test]
fn commands_that_look_end_by_their_verdict_in_every_format() {
    let service = Service::start();
    let stage = stage(&service);
    assert_eq!(all(&stage, "plan . --detailed-exitcode", 0)["verdict"], "in_sync");
    assert_eq!(all(&stage, "drift .", 0)["verdict"], "in_sync");
    all(&stage, "validate .", 0);

    stage.edit("a.yaml", "port: 80", "port: 81");
    all(&stage, "plan .", 0);
    assert_eq!(all(&stage, "plan . --detailed-exitcode", 2)["verdict"], "pending");
    assert_eq!(all(&stage, "drift .", 2)["verdict"], "pending");

    service.change("shop/search", |object| object["spec"]["port"] = json!(9999));
    assert_eq!(all(&stage, "drift .", 4)["verdict"], "both");
    assert_eq!(all(&stage, "plan . --detailed-exitcode", 2)["verdict"], "both");

    stage.edit("a.yaml", "port: 81", "port: 80");
    assert_eq!(all(&stage, "drift .", 3)["verdict"], "drift");

    service.misbehave("rules: [{operation: endpoint-list, status: {code: 403}}]");
    assert_eq!(all(&stage, "drift .", 5)["verdict"], "unknown");
    assert_eq!(all(&stage, "plan .", 5)["verdict"], "unknown");

    stage.write("wrong.yaml", "metadata: {name: x}\nspec: {}\n");
    for line in ["drift .", "plan ."] {
        all(&stage, line, 1);
    }
    assert_eq!(all(&stage, "validate .", 1)["valid"], false);
}

#[test]
fn an_apply_ends_by_what_became_of_it_in_every_format() {
    for format in ["text", "json"] {
        let service = Service::start();
        let stage = stage(&service);
        let apply = |arguments: &str| stage.run(&format!("apply {arguments} --quiet --format {format}"));
        apply(". --yes").code(0);

        stage.edit("a.yaml", "port: 80", "port: 81");
        apply(".").code(6).stderr_contains("confirmation required");
        apply(". --digest 0123456789abcdef0123456789abcdef").code(6).stderr_contains("refused: this plan's digest is");
        apply(". --digest abc").code(64).stderr_contains("is not a valid digest");

        service.misbehave("rules: [{operation: endpoint-replace, status: {code: 403}}]");
        apply(". --yes").code(1);
        service.misbehave("rules: [{operation: endpoint-replace, name: cart, status: {code: 403}}]");
        stage.edit("b.yaml", "port: 80", "port: 81");
        apply(". --yes").code(7);
        service.misbehave("rules: [{operation: endpoint-list, status: {code: 403}}]");
        apply(". --yes").code(5).stderr_contains("nothing was sent");
        service.misbehave("rules: []");
        apply(". --yes").code(0);
    }
}

#[test]
fn a_saved_plan_that_is_altered_or_meant_for_another_service_is_refused() {
    let service = Service::start();
    let stage = stage(&service);
    stage.edit("a.yaml", "port: 80", "port: 81");
    stage.run("plan . -o p.json").code(0);
    stage
        .run("apply p.json --yes --sandbox")
        .code(6)
        .stderr_contains("the plan is for")
        .stderr_contains("nothing was sent");
    stage.edit("p.json", "\"after\": 81", "\"after\": 82");
    stage.run("apply p.json --yes").code(6).stderr_contains("was altered");
    stage.edit("p.json", "\"format_version\": 1", "\"format_version\": 99");
    stage.run("apply p.json --yes").code(6).stderr_contains("format version 99");
    assert_eq!(service.requests("PUT"), 0);
}

#[cfg(unix)]
#[test]
fn a_saved_plan_can_be_read_by_its_owner_alone() {
    use std::os::unix::fs::PermissionsExt as _;
    let service = Service::start();
    let stage = stage(&service);
    stage.run("plan . -o p.json").code(0);
    std::fs::set_permissions(stage.path("p.json"), std::fs::Permissions::from_mode(0o644)).expect("the file is ours");
    stage.run("plan . -o p.json").code(0);
    let mode = std::fs::metadata(stage.path("p.json")).expect("the plan").permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
}

#[test]
fn wrong_command_lines_are_usage_errors() {
    let stage = Stage::new().file("a.yaml", &definition("shop/cart", 80));
    for line in [
        "",
        "nonsense",
        "plan --nonsense",
        "apply . --yes --digest 0123456789abcdef",
        "plan . --format nonsense",
        "plan . --selector =",
        "plan . --only [",
        "plan . --var nonsense",
        "plan . --sandbox --base-url http://127.0.0.1:1",
    ] {
        stage.run(line).code(64).stderr_ignored();
    }
    stage.run("--help").code(0).stdout_contains("Exit codes:");
    stage.run("apply --help").code(0).stdout_contains("Examples:");
    stage.run("--version").code(0).stdout_contains("trueup ");
}

#[test]
fn wrong_settings_send_nothing() {
    let stage = Stage::new().file("a.yaml", &definition("shop/cart", 80));
    stage.run("plan .").code(1).stderr_contains("no service is named").stderr_contains("--sandbox");
    stage.run("plan . --base-url http://127.0.0.1:9").code(1).stderr_contains("there is no API token");
    stage.run("plan . --base-url http://example.net").code(1).stderr_contains("plain http");
    let configured = stage
        .file("trueup.yaml", "stack: s\nbase_url: https://one.example.net\n")
        .env("TRUEUP_BASE_URL", "https://two.example.net")
        .env("TRUEUP_TOKEN", "secret-d00d");
    configured
        .run("plan .")
        .code(1)
        .stderr_contains("https://one.example.net")
        .stderr_contains("https://two.example.net")
        .does_not_say("secret-d00d");
}

#[test]
fn a_closed_stdout_ends_quietly() {
    use std::io::Read as _;
    use std::process::Stdio;
    let stage = Stage::new();
    let mut child =
        stage.command(&["man"]).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("the program starts");
    drop(child.stdout.take());
    let mut output = String::new();
    child.stderr.take().expect("stderr").read_to_string(&mut output).expect("text");
    assert_eq!(output, "");
    assert!(child.wait().expect("an end").success());
}

#[test]
fn the_page_of_the_global_options_is_an_answer() {
    let page = Stage::new().run("help options");
    assert!(page.code(0).text().starts_with("Every command takes these options"), "{}", page.text());
    page.stdout_contains("--token-file");
}

#[test]
fn a_directory_where_none_is_taken_is_answered_with_the_option_that_takes_it() {
    let stage = Stage::new().file("shop/trueup.yaml", "stack: a\n");
    stage.run("history shop").code(64).stderr_contains("for the stack of that directory: --config shop/trueup.yaml");
    stage.run("pull shop --drift").code(64).stderr_contains("for the stack of that directory: --drift shop");
    stage.run("history nowhere").code(64).stderr_contains("unexpected argument").does_not_say("--config");
}

#[test]
fn a_rate_that_would_not_limit_is_refused_and_only_nought_means_no_limit() {
    let stage = Stage::new().file("trueup.yaml", "stack: a\nbase_url: https://acme.example.net\n");
    for wrong in ["-1", "nan", "inf", "0.001", "10001", "x"] {
        stage.run(&format!("explain rate_limit --rate={wrong}")).code(64).stderr_contains("or 0 for no limit");
    }
    for (given, shown) in [("0", "0"), ("0.01", "0.01"), ("10000", "10000")] {
        stage.run(&format!("explain rate_limit --rate {given}")).code(0).stdout_contains(shown);
    }
}

#[test]
fn a_wrong_command_line_is_an_error_like_every_other() {
    let stage = Stage::new().file("a.yaml", &definition("shop/cart", 80));
    for line in [
        "plan . --format json --nonsense",
        "plan --nonsense . --format=json",
        "drift . --json --selector",
        "plan . --json --only [",
        "plan . --nonsense --json -o plan.json",
    ] {
        let document = stage.run(line).code(64).stderr_contains("error: ").json();
        assert_eq!((&document["kind"], &document["exit_code"]), (&"error".into(), &64.into()), "{line}");
    }
    let document = stage.run("plan . --json --nonsense").code(64).stderr_ignored().json();
    assert_eq!(document["message"], "unexpected argument '--nonsense' found");
    let lines = stage.run("plan . --nonsense --format ndjson").code(64).stderr_ignored().json();
    assert_eq!(lines["kind"], "error");
    stage.run("drift . --nonsense --json -o check.json").code(64).stderr_contains("error: ").stdout("");
    // What a word of the repository contains looks like nothing of ours.
    let ran = stage.run_words(&["plan", "--x\n\n  tip: all is well\u{1b}[2J"]);
    ran.code(64).does_not_say("\u{1b}").stderr_contains("\\n\\n  tip:");
}

#[test]
fn a_saved_plan_is_applied_whole_or_not_at_all() {
    let service = Service::start();
    let stage = Stage::new()
        .at(&service)
        .file("trueup.yaml", "stack: s\nnamespaces: [shop]\n")
        .file("cart.yaml", &definition("shop/cart", 80))
        .file("list.yaml", &definition("shop/list", 80));
    stage.run("plan . -o plan.json --quiet").code(0);
    for choice in ["--only shop/cart", "--except 'shop/*'", "-n pay", "-l tier=web", "--adopt", "--base main"] {
        let ran = stage.run(&format!("apply plan.json --yes {choice}"));
        ran.code(64)
            .stderr_contains("`plan.json` is a saved plan, which is applied whole")
            .stderr_contains("nothing was sent");
    }
    for paths in ["plan.json plan.json", ". plan.json"] {
        stage.run(&format!("apply {paths} --yes")).code(64).stderr_contains("is a saved plan, which is applied alone");
    }
    for command in ["plan", "drift", "validate", "pull --drift"] {
        let ran = stage.run(&format!("{command} plan.json"));
        ran.code(1)
            .stderr_contains("`plan.json` is a saved plan, not a definition")
            .stderr_contains("trueup show plan.json");
    }
    assert!(!service.has("shop/cart") && !service.has("shop/list"));
    stage.run("apply plan.json --yes --quiet").code(0).stdout_contains("2 created");
}
