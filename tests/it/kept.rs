//! A service that keeps what a replace takes away, and an apply that keeps what no definition names.

use serde_json::{Value, json};

use crate::support::{Service, Stage, definition};

const CHECK: &str = "kind: healthcheck\nmetadata: {name: alive, namespace: shop}\nspec:\n  http_health_check: {path: /}\n  \
                     timeout: 3\n  interval: 15\n  unhealthy_threshold: 2\n  healthy_threshold: 3\n";

#[test]
fn a_removed_value_that_the_service_keeps_is_named_and_nothing_is_verified() {
    for (key, definition, line, field) in [
        ("shop/cart", definition("shop/cart", 80), "  health_check_port: 8080\n", "spec.health_check_port"),
        ("healthcheck:shop/alive", CHECK.to_owned(), "  jitter_percent: 20\n", "spec.jitter_percent"),
    ] {
        let service = Service::start();
        let stage = Stage::new()
            .at(&service)
            // Without it, a value of an object of another kind is a note once its definition was applied without it.
            .file("trueup.yaml", "stack: shop\nnamespaces: [shop]\nstrict: true\n")
            .file("a.yaml", &format!("{definition}{line}"))
            .applied(".");
        service.misbehave("rules: [{operation: '*-replace', write: {removed: kept}}]");
        stage.edit("a.yaml", line, "");
        let values = || {
            let plan = stage.run("plan . --format json").code(0).json();
            let change = &plan["plan"]["changes"][0];
            let field = &change["action"]["replace"]["fields"][0];
            (change["key"].clone(), field["field"].clone(), field["before"].clone(), field["after"].clone())
        };
        let before = values();
        assert_eq!((&before.0, before.1.as_str()), (&Value::from(key), Some(field)));
        stage
            .run("apply . --yes")
            .code(7)
            .stdout_contains("Not verified")
            .stdout_contains(&format!("{key}: {field}"))
            .does_not_say("Verified")
            .stderr_ignored();
        assert_eq!(values(), before, "the next plan makes the same replace");
    }
}

#[test]
fn drift_that_no_definition_names_keeps_its_age_whatever_an_apply_writes_beside_it() {
    let service = Service::start();
    let stage = Stage::stack(&service, "shop").file("a.yaml", CHECK).applied(".");
    let path = "/api/config/namespaces/shop/healthchecks/alive";
    let mut live: Value = serde_json::from_str(&service.send("GET", path, None).1).expect("an object");
    live["spec"]["jitter_percent"] = json!(20);
    let sent = json!({"metadata": live["metadata"], "spec": live["spec"]}).to_string();
    assert_eq!(service.send("PUT", path, Some(&sent)).0, 200);
    let checks = || {
        let check = stage.run("drift . --drift-state ../drift.json --format json").json();
        assert_eq!(check["drifted"][0]["field"], "spec.jitter_percent");
        check["drifted"][0]["checks"].clone()
    };
    assert_eq!(checks(), 1);
    stage.edit("a.yaml", "interval: 15", "interval: 16");
    stage.run("apply . --yes --quiet").code(0);
    stage.edit("a.yaml", "interval: 16", "interval: 17");
    assert_eq!(checks(), 2);
}

#[test]
fn a_conflict_about_what_no_definition_names_says_that_a_new_plan_keeps_it() {
    let (kept, reverted) = ("a new plan keeps it; `pull --drift --unnamed` writes it", "a new plan reverts it");
    for (strict, live, field, value, says) in [
        (false, "0", "jitter_percent", "30", kept),
        (false, "20", "jitter_percent", "30", kept),
        (false, "0", "http_health_check.use_http2", "true", kept),
        (false, "0", "interval", "30", reverted),
        (true, "0", "jitter_percent", "30", reverted),
    ] {
        let service = Service::start();
        let stage = Stage::new()
            .at(&service)
            .file("trueup.yaml", &format!("stack: shop\nnamespaces: [shop]\nstrict: {strict}\n"))
            .file("a.yaml", CHECK)
            .applied(".");
        let path = "/api/config/namespaces/shop/healthchecks/alive";
        let mut check: Value = serde_json::from_str(&service.send("GET", path, None).1).expect("an object");
        check["spec"]["jitter_percent"] = live.parse().expect("a number");
        let sent = json!({"metadata": check["metadata"], "spec": check["spec"]}).to_string();
        assert_eq!(service.send("PUT", path, Some(&sent)).0, 200);
        stage.edit("a.yaml", "timeout: 3", "timeout: 4");
        let conflict = format!("conflict: {{field: spec.{field}, value: {value}}}");
        service.misbehave(&format!("rules: [{{operation: '*-replace', for: 1, {conflict}}}]"));
        stage.run("apply . --yes --quiet").code(6).stdout_contains(says);
        let plan = stage.run("plan . --format json").code(0).json();
        let fields = plan["plan"]["changes"][0]["action"]["replace"]["fields"].as_array().expect("fields");
        assert_eq!(fields.len(), if says == kept { 1 } else { 2 }, "{field}: {fields:?}");
    }
}

#[test]
fn a_conflict_of_a_delete_does_not_say_that_a_new_plan_reverts_what_blocks_it() {
    let service = Service::start();
    let stage = Stage::new()
        .at(&service)
        .file("trueup.yaml", "stack: shop\nnamespaces: [shop]\nguards: {percent: 100}\n")
        .file("a.yaml", &definition("shop/a", 80))
        .file("b.yaml", &definition("shop/b", 80))
        .file("c.yaml", &definition("shop/c", 80))
        .applied(".");
    for file in ["a.yaml", "b.yaml"] {
        std::fs::remove_file(stage.path(file)).expect("a file");
    }
    stage.run("plan . -o ../plan.json --quiet").code(0);
    for (name, annotation, value) in [("a", "trueup/protect", "true"), ("b", "trueup/protect", "false")] {
        let mut live = service.get(&format!("shop/{name}"));
        live["metadata"]["annotations"][annotation] = value.into();
        let sent = json!({"metadata": live["metadata"], "spec": live["spec"]}).to_string();
        let path = format!("/api/config/namespaces/shop/endpoints/{name}");
        assert_eq!(service.send("PUT", &path, Some(&sent)).0, 200);
    }
    let refused = stage.run("apply ../plan.json --yes --quiet");
    refused.code(6).stdout_contains("changed live only: a new plan blocks the delete");
    refused.stdout_contains("changed live only: a new plan deletes it all the same").does_not_say("reverts it");
    let plan = stage.run("plan .");
    plan.code(0).stdout_contains("1 to delete").stdout_contains("it is protected (`trueup/protect`)");
}

#[test]
fn a_conflict_about_a_list_has_a_row_for_each_value_that_changed() {
    let rule = |name: &str, action: &str| {
        format!(
            "    - metadata: {{name: {name}}}\n      spec: {{action: {action}, any_client: {{}}, any_ip: {{}}, any_asn: {{}}, waf_action: {{none: {{}}}}}}\n"
        )
    };
    let rules = [rule("office", "ALLOW"), rule("admin", "DENY"), rule("rest", "DENY")].concat();
    let service = Service::start();
    let head = "kind: service_policy\nmetadata: {name: p, namespace: shop}\nspec:\n  any_server: {}\n";
    let policy = format!("{head}  rule_list:\n    rules:\n{rules}");
    let stage = Stage::stack(&service, "shop").file("a.yaml", &policy).applied(".");
    stage.edit("a.yaml", &rule("admin", "DENY"), &rule("admin", "ALLOW"));
    stage.run("plan . -o ../plan.json").code(0);
    let path = "/api/config/namespaces/shop/service_policys/p";
    let mut policy: Value = serde_json::from_str(&service.send("GET", path, None).1).expect("an object");
    policy["spec"]["rule_list"]["rules"].as_array_mut().expect("rules").swap(0, 2);
    let sent = json!({"metadata": policy["metadata"], "spec": policy["spec"]}).to_string();
    assert_eq!(service.send("PUT", path, Some(&sent)).0, 200);
    let ran = stage.run("apply ../plan.json --yes --quiet");
    let text = ran.code(6).stdout_contains("spec.rule_list.rules[rest]").does_not_say("changed on both sides").text();
    let row = text.lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" "));
    let rows: Vec<String> = row.filter(|line| line.starts_with("spec.")).collect();
    assert!(rows.contains(&"spec.rule_list.rules[admin].spec.action DENY DENY ALLOW ours only".to_owned()), "{rows:?}");
    assert_eq!(rows.len(), 3, "{rows:?}");
}
