//! The commands beside the flow.

use std::io::{BufRead as _, BufReader};
use std::process::Stdio;

#[cfg(unix)]
use crate::support::is_hangup_ignored;
use crate::support::{Service, Stage, definition};

#[test]
fn validate_shows_every_problem_with_its_place_and_sends_nothing() {
    let stage = Stage::new()
        .file("a.yaml", "metadata:\n  name: cart\n  namespace: shop\nspec:\n  ip: 10.0.0.7\n  protocl: TCP\n")
        .file("b.yaml", "metadata:\n  name: Cart\n  namespace: shop\nspec:\n  ip: 10.0.0.777\n  port: 70000\n");
    stage
        .run("validate .")
        .code(1)
        .stderr_contains("a.yaml:6:3")
        .stderr_contains("did you mean `protocol`?")
        .stderr_contains("b.yaml:2:9")
        .stderr_contains("b.yaml:6:9")
        .stderr_contains("4 errors in 2 of 2 files; nothing was sent");
    stage.run("plan . --sandbox").code(1).stderr_contains("4 errors in 2 of 2 files; nothing was sent");
}

#[test]
fn validate_says_what_is_valid() {
    Stage::example("03-repository").run("validate .").code(0).stdout("Valid: 42 endpoints in 3 namespaces, 14 files\n");
}

#[test]
fn every_example_is_valid() {
    for entry in std::fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/examples")).expect("examples") {
        let name = entry.expect("an example").file_name();
        let name = name.to_str().expect("a plain name");
        if name.starts_with("06") || name == "pipelines" {
            // A tenant for the sandbox, and files for forges: no definitions.
            continue;
        }
        Stage::example(name).run("validate .").code(0).stdout_contains("Valid: ");
    }
}

#[test]
fn text_of_the_service_cannot_move_the_cursor() {
    let service = Service::start();
    let stage = Stage::new().at(&service).file("a.yaml", &definition("shop/cart", 80)).applied(".");
    service.change("shop/cart", |object| object["metadata"]["description"] = "\u{1b}[2Jgone\u{202e}".into());
    stage.run("plan .").code(0).stdout_contains("\\u{1b}[2Jgone\\u{202e}").does_not_say("\u{1b}");
}

#[test]
fn colour_is_added_only_when_asked_for() {
    let stage = Stage::example("01-first-endpoint");
    stage.run("plan . --sandbox").code(0).does_not_say("\u{1b}");
    stage.run("plan . --sandbox --color always").code(0).stdout_contains("\u{1b}[32m+ create \u{1b}[0m");
    let plain = Stage::example("01-first-endpoint").env("NO_COLOR", "1");
    plain.run("plan . --sandbox").code(0).does_not_say("\u{1b}");
}

#[test]
fn verbose_logs_every_request_and_never_the_token() {
    let service = Service::start();
    let stage = Stage::new().at(&service).file("a.yaml", &definition("shop/cart", 80));
    stage
        .run("plan . --verbose")
        .code(0)
        .stderr_contains("GET /api/config/namespaces/shop/endpoints?report_fields=spec -> 200")
        .does_not_say(crate::support::TOKEN);
}

/// A sandbox of its own with its data in `data`, and the example that talks to it.
fn sandbox_of(data: &Stage) -> (std::process::Child, Stage) {
    let mut child = data
        .command(&["sandbox", "--listen", "127.0.0.1:0", "--data", "tenant.redb"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program starts");
    let lines: Vec<String> =
        BufReader::new(child.stdout.take().expect("stdout")).lines().map(|line| line.expect("text")).take(4).collect();
    let value = |name: &str| {
        let line = lines.iter().find_map(|line| line.trim().strip_prefix(&format!("export {name}=")));
        line.unwrap_or_else(|| panic!("no {name} in {lines:?}")).to_owned()
    };
    let stage = Stage::example("04-drift-story")
        .env("TRUEUP_BASE_URL", &value("TRUEUP_BASE_URL"))
        .env("TRUEUP_TOKEN", &value("TRUEUP_TOKEN"));
    (child, stage)
}

#[cfg(unix)]
#[test]
fn a_sandbox_that_receives_a_signal_ends_with_0_and_its_data_are_whole() {
    for signal in ["-TERM", "-INT", "-HUP"] {
        if signal == "-HUP" && is_hangup_ignored("the end of the terminal of a sandbox") {
            continue;
        }
        let data = Stage::new();
        let (child, stage) = sandbox_of(&data);
        stage.run("apply . --yes --quiet").code(0);
        let sent = std::process::Command::new("kill").args([signal, &child.id().to_string()]).status().expect("kill");
        assert!(sent.success());
        let output = child.wait_with_output().expect("an end");
        assert_eq!(output.status.code(), Some(0), "{signal}: {}", String::from_utf8_lossy(&output.stderr));
        assert_eq!(String::from_utf8_lossy(&output.stderr), "", "{signal}");
        let (mut child, stage) = sandbox_of(&data);
        stage.run("plan . --detailed-exitcode").code(0);
        child.kill().expect("it still ran");
        child.wait().expect("an end");
    }
}

#[test]
fn a_sandbox_in_one_process_serves_another() {
    let data = Stage::new();
    let (mut child, stage) = sandbox_of(&data);
    stage.run("apply . --yes --quiet").code(0).stdout_contains("3 created");
    stage.run("plan . --detailed-exitcode").code(0);
    child.kill().expect("it still ran");
    child.wait().expect("an end");
    data.write("a.yaml", &definition("shop/cart", 80));
    data.run("plan . --sandbox=tenant.redb").code(0).stderr_ignored();
}

#[test]
fn completions_and_the_manual_page_are_printed() {
    let stage = Stage::new();
    for shell in ["bash", "zsh", "fish"] {
        stage.run(&format!("completions {shell}")).code(0).stdout_contains("trueup");
    }
    let ran = stage.run("man");
    let manual = ran.code(0).stdout_contains(".TH trueup").stdout_contains("trueup ddos edit").text();
    let lines: Vec<&str> = manual.lines().collect();
    let is_bare = |lines: &&[&str]| lines[0] == ".TP" && (lines[2].is_empty() || lines[2].starts_with('.'));
    let bare: Vec<&str> = lines.windows(3).filter(is_bare).map(|lines| lines[1]).collect();
    assert_eq!(bare, Vec::<&str>::new(), "options without a word");
}
