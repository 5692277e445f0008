//! `doctor`: each thing that can be wrong with a set-up, reported once and with its fix.

use std::process::Stdio;
use std::time::Duration;

use serde_json::Value;

use crate::support::{OddServer, Service, Stage, TOKEN, definition};

fn stage() -> Stage {
    Stage::new()
        .file("trueup.yaml", "stack: s\nnamespaces: [shop, pay]\n")
        .file("cart.yaml", &definition("shop/cart", 80))
}

/// The checks with their status, in order.
fn checks(stage: &Stage, line: &str) -> Vec<(String, String)> {
    let report = stage.run(line).json();
    assert_eq!(report["kind"], "health");
    let text = |check: &Value, key: &str| check[key].as_str().expect("a text").to_owned();
    let checks = report["checks"].as_array().expect("checks");
    checks.iter().map(|check| (text(check, "name"), text(check, "status"))).collect()
}

#[test]
fn what_the_gates_of_an_apply_read_is_read() {
    let service = Service::start();
    let stage = stage().at(&service);
    for (mode, code, status) in [("block", 1, "failed"), ("warn", 0, "note")] {
        service.misbehave("rules: []");
        stage.write("trueup.yaml", &format!("stack: s\nnamespaces: [shop, pay]\ngates: {{ddos: {mode}}}\n"));
        stage.run("doctor").code(0).does_not_say("gate");
        service.misbehave("rules: [{operation: ddos-event-list, status: {code: 403}}]");
        let ran = stage.run("doctor");
        ran.code(code).stdout_contains(status).stdout_contains("gate `ddos`: the DDoS events are unknown");
    }
}

#[test]
fn the_lists_of_every_kind_of_the_stack_are_read() {
    let service = Service::start();
    let pool = "kind: origin_pool\nmetadata: {name: web, namespace: shop}\nspec:\n  origin_servers: [{public_ip: {ip: \
                192.0.2.1}}]\n  port: 443\n  no_tls: {}\n";
    let stage = Stage::new()
        .file("trueup.yaml", "stack: s\nnamespaces: [shop]\nkinds: [healthcheck]\n")
        .file("web.yaml", pool)
        .at(&service);
    stage.run("apply . --yes --quiet").code(0);
    stage.run("doctor").code(0).stdout_contains("`shop` can be read: 3 objects");
    service.misbehave("rules: [{operation: origin_pool-list, status: {code: 403}}]");
    stage.run("doctor").code(1).stdout_contains("could not read `origin_pool:shop`").stdout_contains("or `kinds:`");
    // A plan notes it as well.
    service.misbehave("rules: [{operation: healthcheck-list, status: {code: 404}}]");
    stage.run("doctor").code(0).stdout_contains("does not offer").stdout_contains("unless another service offers it");
}

#[test]
fn the_namespaces_of_the_definitions_are_read_as_a_plan_reads_them() {
    let service = Service::start();
    let stage = Stage::new().file("a.yaml", &definition("shop/cart", 80)).at(&service);
    stage.run("apply . --yes --quiet").code(0);
    for settings in [None, Some("stack: s\n")] {
        settings.into_iter().for_each(|settings| stage.write("trueup.yaml", settings));
        service.misbehave("rules: []");
        stage.run("doctor").code(0).stdout_contains("`shop` can be read: 1 endpoint");
        stage.run("doctor -n pay").code(0).stdout_contains("`pay` is empty").does_not_say("`shop`");
        service.misbehave("rules: [{operation: endpoint-list, namespace: shop, status: {code: 403}}]");
        stage.run("doctor").code(1).stdout_contains("could not read `shop`");
    }
}

#[test]
fn a_set_up_that_works_has_a_line_for_each_check() {
    let service = Service::start();
    let stage = stage().at(&service).env("TRUEUP_TOKEN_URL", &service.url());
    stage.run("apply . --yes --quiet").code(0);
    let ran = stage.run("doctor");
    ran.code(0)
        .stdout_contains("trueup.yaml: stack s, namespaces: shop, pay")
        .stdout_contains("named by TRUEUP_BASE_URL")
        .stdout_contains("from TRUEUP_TOKEN, bound to this URL")
        .stdout_contains("`shop` can be read: 1 endpoint")
        .stdout_contains("`pay` is empty, or does not exist")
        .stdout_contains("Nothing is wrong.")
        .does_not_say(TOKEN);
    let writes = service.log().iter().filter(|entry| entry.method != "GET").count();
    let expected = [
        ("settings", "ok"),
        ("definitions", "ok"),
        ("service", "ok"),
        ("token", "ok"),
        ("connection", "ok"),
        ("clock", "ok"),
        ("namespace", "note"),
        ("namespace", "ok"),
        ("state directory", "ok"),
    ];
    let expected: Vec<(String, String)> =
        expected.iter().map(|(name, status)| ((*name).to_owned(), (*status).to_owned())).collect();
    assert_eq!(checks(&stage, "doctor --format json"), expected);
    let after = service.log().iter().filter(|entry| entry.method != "GET").count();
    assert_eq!(writes, after, "nothing is written");
    stage.run("doctor --sandbox").code(0).stdout_contains("the embedded one");
    let stage = stage.env("TRUEUP_TOKEN", "").env("TRUEUP_TOKEN_URL", "").file("../token", TOKEN);
    let stage = stage.env("TRUEUP_TOKEN_FILE", "../token");
    let fix = format!("fix: to send it to no other service: TRUEUP_TOKEN_URL={}\n", service.url());
    let ran = stage.run("doctor");
    ran.code(0).stdout_contains("from TRUEUP_TOKEN_FILE, which is bound to no URL").stdout_contains(&fix);
}

#[test]
fn a_refused_token_is_told_once() {
    let service = Service::start();
    let stage = stage().at(&service).env("TRUEUP_TOKEN", "another-token-of-somebody");
    let ran = stage.run("doctor");
    ran.code(1).stdout_contains("the token is refused: ").does_not_say("another-token").does_not_say("could not read");
    assert_eq!(ran.text().matches(" 401 ").count(), 1, "{}", ran.text());
}

#[test]
fn a_missing_token_or_url_does_not_hide_the_other_checks() {
    let service = Service::start();
    let with_url = stage().env("TRUEUP_BASE_URL", &service.url());
    with_url
        .run("doctor")
        .code(1)
        .stdout_contains("there is no API token")
        .stdout_contains("fix: set TRUEUP_TOKEN, or name a file with --token-file")
        .stdout_contains("HTTP, on this machine")
        .stdout_contains("state directory");
    stage().run("doctor").code(1).stdout_contains("no service is named").stdout_contains("fix: give --base-url");
    let unbound = stage().at(&service);
    unbound.run("doctor").code(0).stdout_contains(&format!("TRUEUP_TOKEN_URL={}\n", service.url()));
    let elsewhere = stage().at(&service).env("TRUEUP_TOKEN_URL", "https://elsewhere.example.net");
    elsewhere.run("doctor").code(1).stdout_contains("binds the token of `TRUEUP_TOKEN` to").does_not_say(TOKEN);
    for (text, problem) in [("\n", "the token is empty"), ("two words\n", "the token")] {
        with_url.write("token", text);
        let ran = with_url.run("doctor --token-file token");
        ran.code(1)
            .stdout_contains(&format!("failed  token            {problem}"))
            .stdout_contains("HTTP, on this machine");
    }
}

#[test]
fn a_port_that_nobody_listens_at_ends_the_checks_of_the_service() {
    let stage = stage().env("TRUEUP_BASE_URL", "http://127.0.0.1:9").env("TRUEUP_TOKEN", "t");
    let found = checks(&stage, "doctor --format json");
    let failed: Vec<&str> =
        found.iter().filter(|(_, status)| status == "failed").map(|(name, _)| name.as_str()).collect();
    assert_eq!(failed, ["connection"]);
}

#[test]
fn a_namespace_that_may_not_be_read_is_named_with_the_others_of_its_cause() {
    let service = Service::start();
    let stage = stage().at(&service);
    service.misbehave("rules: [{operation: endpoint-list, status: {code: 403}}]");
    let ran = stage.run("doctor");
    ran.code(1).stdout_contains("could not read `pay` and `shop`: ").stdout_contains("403");
    service.misbehave("rules: [{operation: endpoint-list, namespace: pay, status: {code: 403}}]");
    stage.run("doctor").code(1).stdout_contains("could not read `pay`: ");
    stage.run("doctor -n shop").code(0);
}

#[test]
fn a_list_that_fails_for_another_reason_than_the_token_asks_for_no_role() {
    let service = Service::start();
    let stage = stage().at(&service);
    let role = "fix: give the token's user a role";
    service.misbehave("rules: [{operation: endpoint-list, namespace: pay, status: {code: 403}}]");
    stage.run("doctor").code(1).stdout_contains(role);
    for fault in ["status: {code: 500}", "partial: {missing: 1}"] {
        service.misbehave(&format!("rules: [{{operation: endpoint-list, namespace: pay, {fault}}}]"));
        let ran = stage.run("doctor");
        ran.code(1).stdout_contains("could not read `pay`").stdout_contains("fix: try again later").does_not_say(role);
    }
}

#[test]
fn a_path_that_is_not_the_services_is_a_wrong_url() {
    let service = Service::start();
    let stage = stage().env("TRUEUP_BASE_URL", &format!("{}/nosuch", service.url())).env("TRUEUP_TOKEN", TOKEN);
    stage
        .run("doctor")
        .code(1)
        .stdout_contains("fix: the base URL is that of the tenant's console, without a path")
        .stdout_contains("layout: published in trueup.yaml");
}

#[test]
fn wrong_settings_and_definitions_are_reported_and_explained() {
    let broken = Stage::new().file("trueup.yaml", "stak: s\n");
    broken.run("doctor").code(1).stderr_contains("trueup.yaml:1:1").stdout_contains("failed  settings");
    let again = "fix: to see each with its place: trueup validate . --env dev";
    broken.run("doctor --env dev").code(1).stderr_ignored().stdout_contains(again);
    let fix = broken.run("doctor --env dev --format json").code(1).stderr_ignored().json()["checks"][0]["fix"].clone();
    assert!(fix.to_string().contains("trueup validate . --env dev") && !fix.to_string().contains("above"), "{fix}");
    let wrong = Stage::new().file("trueup.yaml", "stack: s\n").file("a.yaml", "metadata: {}\n");
    wrong.run("doctor --sandbox").code(1).stdout_contains("fix: to see each with its place: trueup validate .");
    wrong.run("doctor nosuch --sandbox").code(1).stderr_contains("`nosuch` cannot be read");
    Stage::new().run("doctor --sandbox").code(0).stdout_contains("fix: trueup init .");
}

#[test]
fn what_the_policy_forbids_is_not_called_right() {
    let stage = stage();
    for (policy, service, forbidden) in [
        ("stacks: [other]\n", "--sandbox", "the policy forbids the stack `s`; it allows `other`"),
        ("namespaces: [shop]\n", "--sandbox", "the policy forbids changes in the namespace `pay`; it allows `shop`"),
        ("base_urls: ['https://x.example']\n", "--base-url http://127.0.0.1:1", "the policy forbids the service "),
    ] {
        stage.write("../policy.yaml", policy);
        let run = stage.run(&format!("doctor . --policy ../policy.yaml {service}"));
        run.code(1).stdout_contains(forbidden).stdout_contains("1 check failed").does_not_say("nothing was sent");
    }
    stage.write("../policy.yaml", "stacks: [s]\n");
    stage.run("doctor . --policy ../policy.yaml --sandbox").code(0).stdout_contains("policy.yaml");
}

#[test]
fn the_variable_of_an_earlier_version_is_not_passed_over() {
    let stage = stage().env("TRUEUP_STATE_DIR", "runs");
    stage
        .run("history")
        .code(64)
        .stderr_contains("`TRUEUP_STATE_DIR` is no longer read")
        .stderr_contains("TRUEUP_STATE ");
    stage.env("TRUEUP_STATE", "runs").run("history").code(0).stderr("Runs are looked for in runs.\n");
}

#[cfg(unix)]
#[test]
fn a_state_directory_that_others_can_write_is_a_failure() {
    use std::os::unix::fs::PermissionsExt as _;
    let stage = stage().file("state/x", "");
    std::fs::set_permissions(stage.path("state"), std::fs::Permissions::from_mode(0o777)).expect("a mode");
    stage.run("doctor --sandbox=x.redb --state state").code(1).stdout_contains("failed  state directory");
    let ran = stage.run("doctor --sandbox=x.redb --state trueup.yaml/state");
    ran.code(1).stdout_contains("state`: Not a directory (os error 20)").stdout_contains("fix: name another directory");
    // No apply could take its lock.
    let stage = stage.file("other/locks", "a file");
    std::fs::set_permissions(stage.path("other"), std::fs::Permissions::from_mode(0o700)).expect("a mode");
    stage.run("doctor --sandbox=x.redb --state other").code(1).stdout_contains("failed  state directory");
}

#[test]
fn the_files_beside_a_call_that_names_namespaces_are_no_definitions() {
    let service = Service::start();
    let stage = Stage::new()
        .at(&service)
        .env("TRUEUP_TOKEN_URL", &service.url())
        .file("compose.yaml", "services: {web: {image: nginx}}\n")
        .file("values.yaml", "replicas: 3\n");
    stage.run("doctor -n shop").code(0).does_not_say("definitions");
    stage.run("doctor").code(1).stdout_contains("definitions").stdout_contains("fix: trueup init .\n");
    // An init is refused around a stack.
    stage.write("the shop/trueup.yaml", "stack: s\nnamespaces: [shop]\n");
    stage
        .run("doctor --state runs")
        .code(1)
        .stdout_contains("fix: for the stacks below: trueup doctor './the shop' --state runs\n")
        .does_not_say("trueup init");
}

#[test]
fn a_run_that_was_not_finished_is_noted_with_the_command_that_finishes_it() {
    let service = Service::start();
    let stage = stage().at(&service).file("other.yaml", &definition("shop/other", 80));
    service.hold("operation: endpoint-create, name: cart");
    let apply = stage.command(&["apply", ".", "--yes", "--quiet"]).stdin(Stdio::null()).spawn();
    let mut apply = apply.expect("it starts");
    while !service.has("shop/other") {
        assert!(apply.try_wait().expect("a child").is_none(), "the apply does not begin");
        std::thread::sleep(Duration::from_millis(20));
    }
    apply.kill().expect("it runs");
    apply.wait().expect("it ends");
    service.misbehave("rules: []");
    let report = stage.run("doctor --format json").code(0).json();
    let above = stage.command(&["doctor", &stage.path("").display().to_string()]).current_dir("/").output();
    let above = String::from_utf8(above.expect("it ran").stdout).expect("a text");
    let settings = stage.path("trueup.yaml").display().to_string();
    assert!(above.contains(&format!(" --config {}\n", settings.trim_start_matches('/'))), "{above}");
    let checks = report["checks"].as_array().expect("checks");
    let open = checks.iter().find(|check| check["name"] == "last run").expect("the run");
    assert_eq!(open["status"], "note");
    let command = open["fix"][0].as_str().and_then(|fix| fix.strip_prefix("trueup ")).expect("a command");
    stage.run(&format!("{command} --yes --quiet")).code(0);
    assert!(service.has("shop/cart"));
    stage.run("doctor").code(0).does_not_say("last run");
}

#[test]
fn a_kind_that_is_defined_and_not_offered_or_a_stack_that_is_no_name_is_wrong() {
    let service = Service::start();
    service.misbehave("rules: [{operation: healthcheck-list, status: {code: 404}}]");
    let check = "kind: healthcheck\nmetadata: {name: h, namespace: shop}\nspec: {timeout: 3, interval: 15, \
                 unhealthy_threshold: 1, healthy_threshold: 3, http_health_check: {path: /}}\n";
    let stage = stage().at(&service).file("h.yaml", check);
    stage.run("doctor").code(1).stdout_contains("remove its definitions, unless another service or layout offers it");
    stage.remove("h.yaml");
    stage.run("doctor --stack Shop_Prod").code(1).stdout_contains("Shop_Prod");
    stage.edit("trueup.yaml", "namespaces", "kinds: [healthcheck]\nnamespaces");
    stage.run("doctor").code(0).stdout_contains("take it off `kinds:`");
}

#[test]
fn a_role_is_not_advised_where_the_service_only_repeats_a_status_of_another() {
    let server = OddServer::start(|line, _| match line.contains("/pay/endpoints") {
        true => (400, r#"{"code": 3, "message": "the gate answered 403"}"#.into()),
        false => (200, r#"{"items": []}"#.into()),
    });
    let stage = stage().env("TRUEUP_BASE_URL", &server.url()).env("TRUEUP_TOKEN", TOKEN);
    let ran = stage.run("doctor -n shop -n pay");
    ran.code(1).stdout_contains("the gate answered 403").stdout_contains("fix: try again later").does_not_say("role");
}
