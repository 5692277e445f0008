//! References between objects through the commands: what is missing, what is still needed, circles, and the order.

use super::{CHECK, POOL, change};
use crate::support::{Service, Stage, commit, definition, git};

const POLICY: &str = "kind: service_policy
metadata: {name: p, namespace: shop}
spec:
  algo: FIRST_MATCH
  legacy_rule_list:
    rules:
    - {name: r}
";
const RULE: &str = "kind: service_policy_rule
metadata: {name: r, namespace: shop}
spec:
  action: DENY
  waf_action: {none: {}}
  goto_policy:
  - {name: p}
";

fn stack(service: &Service) -> Stage {
    let kinds = "kinds: [origin_pool, healthcheck, service_policy, service_policy_rule]";
    Stage::new().at(service).file("trueup.yaml", &format!("stack: chain\nnamespaces: [shop, pay]\n{kinds}\n"))
}

#[test]
fn a_reference_to_nothing_is_an_error_at_its_line_and_nothing_is_sent() {
    let service = Service::start();
    let stage = stack(&service).file("d/pool.yaml", POOL).file("d/check.yaml", &CHECK.replace("alive", "alife"));
    for command in ["plan .", "apply . --yes"] {
        stage
            .run(command)
            .code(1)
            .stderr_contains("error: `healthcheck:shop/alive` is neither defined nor live")
            .stderr_contains("d/pool.yaml:10:5")
            .stderr_contains("- {name: alive}")
            .stderr_contains("did you mean `healthcheck:shop/alife`?")
            .stderr_contains("1 error in 1 of 2 files");
    }
    assert_eq!(service.requests("POST"), 0);
    // A check of what is live still has its verdict.
    stage.run("drift .").code(2).stdout_contains("origin_pool:shop/cart");
    stage.write("d/check.yaml", CHECK);
    stage.run("apply . --yes").code(0).stderr_ignored();
}

#[test]
fn what_a_rollback_changes_is_counted_as_objects() {
    let service = Service::start();
    let of = |name: &str| format!("stack: {name}\nnamespaces: [shop]\nkinds: [healthcheck]\nallow_empty: true\n");
    let stage = Stage::new()
        .at(&service)
        .file("one/trueup.yaml", &of("one"))
        .file("two/trueup.yaml", &of("two"))
        .file("one/check.yaml", CHECK)
        .applied("one");
    let moved = "1 object handed over from stack";
    stage.run("move --from one --to two --directory two healthcheck:shop/alive --yes").code(0).stderr_contains(moved);
    stage.run("rollback last --config two/trueup.yaml -o back.json").code(0).stdout_contains(moved);
}

#[test]
fn what_many_views_refer_to_is_deleted_with_them() {
    let service = Service::start();
    let pools: String = (0..34).map(|number| POOL.replace("cart", &format!("pool-{number}")) + "---\n").collect();
    let stage = stack(&service).file("d/check.yaml", CHECK).file("d/pools.yaml", &pools).applied(".");
    stage.remove("d/check.yaml");
    stage.remove("d/pools.yaml");
    stage.edit("trueup.yaml", "stack: chain\n", "stack: chain\nallow_empty: true\n");
    stage
        .run("apply . --yes --quiet --allow empty-namespace --allow mass-change")
        .code(0)
        .stdout_contains("35 deleted")
        .does_not_say("blocked");
}

#[test]
fn what_a_definition_refers_to_is_not_deleted_and_the_line_is_named() {
    let service = Service::start();
    let stage = stack(&service).file("d/pool.yaml", POOL).file("d/check.yaml", CHECK);
    stage.run("apply . --yes").code(0).stderr_ignored();
    stage.remove("d/check.yaml");
    stage
        .run("apply . --yes")
        .code(1)
        .stderr_contains("error: `healthcheck:shop/alive` would be deleted, and a definition refers to it")
        .stderr_contains("d/pool.yaml:10:5")
        .stderr_contains("--allow referred=healthcheck:shop/alive");
    stage.run("drift .").code(2).stdout_contains("healthcheck:shop/alive");
    stage.edit("d/pool.yaml", "  healthcheck:\n  - {name: alive}\n", "  healthcheck: []\n");
    let plan = stage.run("plan . --format json").code(0).json();
    assert_eq!(plan["waves"], serde_json::json!([["origin_pool:shop/cart"], ["healthcheck:shop/alive"]]));
    stage
        .run("plan . --order")
        .code(0)
        .stdout_contains("wave 1  origin_pool:shop/cart\n  wave 2  healthcheck:shop/alive\n");
    stage.run("plan .").code(0).does_not_say("wave 1");
    stage.run("apply . --yes --allow mass-change").code(0).stdout_contains("Applied 2 of 2").stderr_ignored();
}

#[test]
fn an_object_whose_target_a_filter_leaves_out_is_blocked_and_names_it() {
    let service = Service::start();
    let stage = stack(&service).file("d/pool.yaml", POOL).file("d/check.yaml", CHECK);
    stage
        .run("plan . --only origin_pool:*")
        .code(0)
        .stdout_contains("origin_pool:shop/cart")
        .stdout_contains("spec.healthcheck[0] refers to healthcheck:shop/alive, which does not exist");
    stage.run("apply . --yes --only origin_pool:*").code(6).stderr_ignored();
    assert_eq!(service.requests("POST"), 0);
}

#[test]
fn a_circle_of_creates_is_an_error_with_each_of_its_lines_and_one_that_is_live_is_not() {
    let service = Service::start();
    let stage = stack(&service).file("d/policy.yaml", POLICY).file("d/rule.yaml", RULE);
    stage
        .run("plan .")
        .code(1)
        .stderr_contains("`service_policy:shop/p` -> `service_policy_rule:shop/r` -> `service_policy:shop/p`")
        .stderr_contains("d/policy.yaml:7:7")
        .stderr_contains("d/rule.yaml:7:5");
    stage.edit("d/rule.yaml", "  goto_policy:\n  - {name: p}\n", "");
    stage.run("apply . --yes").code(0).stdout_contains("Applied 2 of 2").stderr_ignored();
    stage.write("d/rule.yaml", RULE);
    stage.run("apply . --yes --allow mass-change").code(0).stdout_contains("Applied 1 of 1").stderr_ignored();
    stage.run("plan .").code(0).stdout_contains("In sync: 2");
    for file in ["d/policy.yaml", "d/rule.yaml"] {
        stage.remove(file);
    }
    stage.write("d/ep.yaml", &definition("shop/ep", 80));
    stage.run("plan .").code(1).stderr_contains("none of these objects can be deleted first");
}

#[test]
fn one_failed_write_holds_what_needs_it_and_the_deletes_of_its_namespace_alone() {
    let service = Service::start();
    let old = |namespace: &str| CHECK.replace("alive", "old").replace("shop", namespace);
    let stage = stack(&service).file("d/a.yaml", &old("shop")).file("d/b.yaml", &old("pay"));
    stage.run("apply . --yes").code(0).stderr_ignored();
    stage.remove("d/a.yaml");
    stage.remove("d/b.yaml");
    stage.write("d/pool.yaml", POOL);
    stage.write("d/check.yaml", CHECK);
    stage.write("d/ep.yaml", &definition("pay/ep", 80));
    service.misbehave("rules: [{operation: healthcheck-create, for: 1, status: {code: 403}}]");
    let applied = stage.run("apply . --yes --allow empty-namespace --format json");
    applied.code(7).stderr_ignored();
    let outcome = applied.json();
    let result = |key: &str| {
        let steps = outcome["outcome"]["steps"].as_array().expect("steps");
        steps.iter().find(|step| step["key"] == key).expect("a step")["result"].to_string()
    };
    assert!(result("origin_pool:shop/cart").contains("held by `healthcheck:shop/alive`"), "{outcome:#}");
    assert!(result("healthcheck:shop/old").contains("of `shop` before it"), "{outcome:#}");
    assert!(result("healthcheck:pay/old").contains("done"), "{outcome:#}");
    stage.run("apply . --yes --allow empty-namespace").code(0).stdout_contains("Applied 3 of 3").stderr_ignored();
}

#[test]
fn a_wide_wave_is_shown_in_lines() {
    let service = Service::start();
    let stage = super::stack(&service);
    for number in 10..60 {
        stage.write(&format!("d/check{number}.yaml"), &CHECK.replace("alive", &format!("check-{number}")));
    }
    let plan = stage.run("plan . --order").code(0).text().to_owned();
    let wave: Vec<&str> = plan.lines().skip_while(|line| !line.starts_with("  wave 1  ")).collect();
    assert!(wave[1].starts_with("          healthcheck:shop/check-"), "{plan}");
    assert!(wave.iter().take_while(|line| !line.is_empty()).all(|line| line.len() <= 100), "{plan}");
}

#[test]
fn a_reference_to_an_object_of_the_vendor_is_not_looked_up() {
    let service = Service::start();
    let policy = |name: &str| {
        let policies = format!("active_service_policies: {{policies: [{{name: {name}, namespace: shared}}]}}");
        let metadata = "metadata: {name: web, namespace: shop}";
        format!(
            "kind: http_loadbalancer\n{metadata}\nspec: {{domains: [a.example.com], http: {{port: 80}}, {policies}}}\n"
        )
    };
    let stage = Stage::new()
        .at(&service)
        .file("trueup.yaml", "stack: s\nnamespaces: [shared, shop]\nkinds: [http_loadbalancer, service_policy]\n")
        .file("web.yaml", &policy("ves-io-allow-all"));
    stage.run("plan .").code(0).stdout_contains("1 to create");
    stage.write("web.yaml", &policy("allow-all"));
    stage.run("plan .").stderr_contains("`service_policy:shared/allow-all` is neither defined nor live");
}

#[test]
fn a_target_that_another_stack_of_the_call_defines_is_not_to_be_defined_again() {
    let service = Service::start();
    let settings = |stack: &str| format!("stack: {stack}\nnamespaces: [shop]\nkinds: [origin_pool, healthcheck]\n");
    let stage = Stage::new()
        .at(&service)
        .file("checks/trueup.yaml", &settings("checks"))
        .file("checks/check.yaml", CHECK)
        .file("pools/trueup.yaml", &settings("pools"))
        .file("pools/pool.yaml", POOL);
    let refused = |call: &str| {
        let plan = stage.run(call);
        plan.code(1).stderr_contains("`healthcheck:shop/alive` is neither defined nor live");
        plan.stderr_contains("the stack in checks defines it: apply that first");
    };
    refused("plan pools checks");
    git(&stage, "init -q -b main");
    commit(&stage, "first");
    refused("plan pools");
    let environments = "{prod: {stack: c-prod}, dev: {stack: c-dev, overlay: dev}}";
    let own = format!("namespaces: [shop]\nkinds: [origin_pool, healthcheck]\nenvironments: {environments}\n");
    stage.write("one/trueup.yaml", &own);
    stage.write("one/pool.yaml", &POOL.replace("alive", "other"));
    stage.write("one/dev/check.yaml", &CHECK.replace("alive", "other"));
    stage.run("plan one --env prod").code(1).stderr_contains("another environment of this stack defines it");
    stage.edit("pools/pool.yaml", "alive", "alife");
    stage.run("plan pools").code(1).stderr_contains("define it, or remove the reference");
    stage.edit("pools/pool.yaml", "alife", "alive");
    stage.run("apply checks --yes --quiet").code(0);
    stage.run("plan pools").code(0);
}

#[test]
fn what_a_definition_of_another_stack_refers_to_is_not_deleted_without_consent() {
    let service = Service::start();
    let settings = |stack: &str| format!("stack: {stack}\nnamespaces: [shop]\nkinds: [origin_pool, healthcheck]\n");
    let stage = Stage::new()
        .at(&service)
        .file("checks/trueup.yaml", &(settings("checks") + "allow_empty: true\n"))
        .file("checks/check.yaml", CHECK)
        .file("pools/trueup.yaml", &settings("pools"))
        .file("pools/pool.yaml", &POOL.replace("  healthcheck:\n  - {name: alive}\n", ""))
        .committed();
    stage.run("apply checks pools --yes --quiet").code(0);
    // One change: a stack drops what the other one begins to use.
    stage.run("plan checks -o saved.json").code(0);
    stage.remove("checks/check.yaml");
    stage.run("plan checks -o saved.json").code(0);
    stage.write("pools/pool.yaml", POOL);
    let blocked = "origin_pool:shop/cart would be left without it";
    for call in ["plan checks", "plan checks pools", "plan pools checks"] {
        stage.run(call).code(0).stdout_contains(blocked).stdout_contains("--allow referred=healthcheck:shop/alive");
    }
    stage
        .run("apply saved.json --config checks/trueup.yaml --yes")
        .code(6)
        .stderr_contains("origin_pool:shop/cart refers to it by now, as another stack defines it");
    stage.write("pools/pool.yaml", &POOL.replace("{name: alive}", "{name: alive, tenant: sandbox-tenant}"));
    stage.run("plan checks").code(0).stdout_contains(blocked);
    // A definition of the stack that refers to it stays a mistake.
    stage.write("checks/own.yaml", &POOL.replace("name: cart", "name: own"));
    stage.run("plan checks").code(1).stderr_contains("checks/own.yaml:10:5");
    stage.remove("checks/own.yaml");
    // For another service or tenant it is another object; what all environments share defines nothing by itself.
    let elsewhere = "base_url: https://other.example\n";
    let environments = "environments: {dev: {base_url: https://dev.example, stack: dev}}\n";
    let shared = settings("pools").replace("stack: pools\n", "");
    for (settings, pool) in [
        (settings("pools") + elsewhere, POOL.to_owned()),
        (shared.clone() + environments, POOL.to_owned()),
        (settings("pools"), POOL.replace("{name: alive}", "{name: alive, tenant: another}")),
    ] {
        stage.write("pools/trueup.yaml", &settings);
        stage.write("pools/pool.yaml", &pool);
        stage.run("plan checks").code(0).stdout_contains("1 to delete");
    }
    stage.write("pools/trueup.yaml", &(shared + environments));
    stage.write("pools/check.yaml", CHECK);
    stage.run("plan checks").code(0).stdout_contains("1 to delete");
    stage.remove("pools/check.yaml");
    stage.write("pools/trueup.yaml", &settings("pools"));
    stage.write("pools/pool.yaml", POOL);
    stage.run("apply checks pools --yes").code(7).stdout_contains(blocked).stderr_ignored();
    assert_eq!(service.requests("DELETE"), 0);
    // What is allowed is recorded with who refers to it.
    let allow = "--allow referred=healthcheck:shop/alive --allow empty-namespace";
    let plan = stage.run(&format!("plan checks {allow} -o saved.json --format json")).code(0).json();
    assert_eq!(plan["plan"]["changes"][0]["action"]["delete"]["referrers"][0]["name"], "cart");
    stage.run(&format!("apply saved.json --config checks/trueup.yaml {allow} --yes")).code(0).stderr_ignored();
    assert_eq!(service.requests("DELETE"), 1);
}

#[test]
fn no_saved_plan_and_no_resume_writes_a_reference_to_what_is_gone_by_now() {
    let service = Service::start();
    let settings = |stack: &str| format!("stack: {stack}\nnamespaces: [shop]\nkinds: [origin_pool, healthcheck]\n");
    let mut stage = Stage::new()
        .at(&service)
        .file("checks/trueup.yaml", &settings("checks"))
        .file("checks/check.yaml", CHECK)
        .file("both/check.yaml", CHECK);
    for stack in ["pools", "both", "narrow"] {
        stage = stage.file(&format!("{stack}/trueup.yaml"), &settings(stack));
        stage = stage.file(&format!("{stack}/pool.yaml"), POOL);
    }
    // The plan itself creates the target, or its stack does not have the kind of it.
    stage.edit("narrow/trueup.yaml", ", healthcheck", "");
    for stack in ["both", "narrow"] {
        stage.run(&format!("plan {stack} -o {stack}.json --quiet")).code(0);
    }
    stage.run("apply checks --yes --quiet").code(0);
    stage.run("plan pools -o pools.json --quiet").code(0);
    let digest = stage.run("plan pools --format json").json()["digest"].as_str().expect("a digest").to_owned();
    stage.run("snapshot pools -o live.json --quiet").code(0);
    stage.run("plan pools --live live.json -o offline.json --quiet").code(0);
    service.misbehave("rules: [{operation: origin_pool-create, status: {code: 403}}]");
    stage.run("apply pools --yes --quiet").code(1);
    service.misbehave("rules: []");
    let delete = |kind: &str, name: &str| {
        let path = format!("/api/config/namespaces/shop/{kind}/{name}");
        assert_eq!(service.send("DELETE", &path, None).0, 200, "{path}");
    };
    delete("healthchecks", "alive");
    let before = service.requests("POST");
    let with_digest = format!("pools.json --digest {digest}");
    let calls = ["--resume last --yes", "pools.json --yes", "offline.json --yes", &with_digest];
    let calls = calls.map(|call| format!("apply {call} --config pools/trueup.yaml --quiet"));
    for call in &calls {
        let refused = stage.run(call);
        refused.code(6).stderr_contains("nothing was sent");
        let lost = "`origin_pool:shop/cart` would refer to `healthcheck:shop/alive`, which is gone by now";
        refused.stderr_contains(lost);
    }
    service.misbehave("rules: [{operation: healthcheck-list, status: {code: 403}}]");
    for call in &calls {
        stage.run(call).code(5).stderr_contains("could not read `healthcheck:shop`");
    }
    service.misbehave("rules: []");
    assert_eq!(service.requests("POST"), before);
    let others = ["narrow", "both"].map(|stack| format!("apply {stack}.json --config {stack}/trueup.yaml --yes -q"));
    for call in others.iter().chain(&calls) {
        stage.run(call).code(0);
        delete("origin_pools", "cart");
    }
}

#[test]
fn a_reference_to_nothing_that_is_live_already_and_that_no_definition_names_stands_in_no_way() {
    let balancer = "kind: http_loadbalancer
metadata: {name: lb, namespace: shop}
spec:
  domains: [a.example.com]
  http: {port: 80}
  default_pool: {origin_servers: [{public_ip: {ip: 10.20.30.40}}], port: 8080}
";
    let service = Service::start();
    let settings = "stack: s\nnamespaces: [shop]\nkinds: [healthcheck, http_loadbalancer]\n";
    let stage = Stage::new().at(&service).file("trueup.yaml", settings).file("lb.yaml", balancer);
    let stage = stage.file("spare.yaml", &CHECK.replace("alive", "spare")).file("../alive.yaml", CHECK);
    stage.run("apply . --yes --quiet").code(0);
    stage.run("apply ../alive.yaml --yes --quiet").code(0).stderr_ignored();
    change(&service, "http_loadbalancers", "lb", |body| {
        body["spec"]["default_pool"]["healthcheck"] = serde_json::json!([{"name": "alive", "namespace": "shop"}]);
    });
    assert_eq!(service.send("DELETE", "/api/config/namespaces/shop/healthchecks/alive", None).0, 200);
    stage.edit("lb.yaml", "port: 8080", "port: 9090");
    stage.run("plan . -o plan.json --quiet").code(0);
    stage.run("apply plan.json --yes --quiet").code(0).stderr_ignored();
    stage.run("rollback last --yes --quiet").code(0).stderr_ignored();
}

#[cfg(unix)]
#[test]
fn what_goes_while_a_person_is_asked_is_referred_to_by_no_write() {
    for several in ["", " ../other"] {
        let service = Service::start();
        let stage = stack(&service).file("check.yaml", CHECK).file("spare.yaml", &CHECK.replace("alive", "spare"));
        let stage = stage.applied(".").file("pool.yaml", POOL);
        let stage = stage.file("../other/trueup.yaml", "stack: other\nnamespaces: [other]\nallow_empty: true\n");
        let mut terminal = crate::terminal::Terminal::run(&stage, &format!("apply .{several}"));
        terminal.wait_for("Type 'yes' to apply");
        assert_eq!(service.send("DELETE", "/api/config/namespaces/shop/healthchecks/alive", None).0, 200);
        let sent = service.requests("POST");
        terminal.enter("yes");
        let (code, screen) = terminal.end();
        let gone = "`origin_pool:shop/cart` would refer to `healthcheck:shop/alive`, which is gone by now";
        assert!(code == 6 && screen.contains(gone), "{code}: {screen}");
        assert_eq!(service.requests("POST"), sent, "{screen}");
    }
}

#[test]
fn no_saved_rollback_writes_a_reference_to_what_is_gone_by_now() {
    let service = Service::start();
    let stage = stack(&service).file("check.yaml", CHECK).file("pool.yaml", POOL);
    // What is live shows the own tenant.
    stage.write("spare.yaml", &CHECK.replace("name: alive", "name: spare"));
    let stage = stage.applied(".");
    stage.remove("pool.yaml");
    stage.run("apply . --yes --quiet --allow mass-change").code(0);
    stage.run("rollback last -o back.json --quiet").code(0);
    let alive = "/api/config/namespaces/shop/healthchecks/alive";
    assert_eq!(service.send("DELETE", alive, None).0, 200);
    let gone = "`origin_pool:shop/cart` would refer to `healthcheck:shop/alive`, which is gone by now";
    stage.run("apply back.json --yes --quiet").code(6).stderr_contains(gone);
    stage.run("apply check.yaml --yes --quiet").code(0);
    stage.run("apply back.json --yes --quiet").code(0);
}

#[test]
fn a_resume_writes_a_reference_to_what_its_run_deleted_with_consent() {
    let service = Service::start();
    let shared = CHECK.replace("namespace: shop", "namespace: shared");
    let pool = POOL.replace("{name: alive}", "{name: alive, namespace: shared}");
    let stage = Stage::new()
        .at(&service)
        .file("trueup.yaml", "stack: chain\nnamespaces: [shared, shop]\nkinds: [origin_pool, healthcheck]\n")
        .file("check.yaml", &shared)
        .file("ep.yaml", &definition("shared/ep", 80))
        .applied(".");
    stage.remove("check.yaml");
    stage.write("pool.yaml", &pool);
    service.misbehave("rules: [{operation: origin_pool-create, status: {code: 403}}]");
    let allow = "--allow referred=healthcheck:shared/alive --allow mass-change";
    stage.run(&format!("apply . --yes --quiet {allow}")).code(7);
    service.misbehave("rules: []");
    assert_eq!(service.requests("DELETE"), 1);
    stage.run(&format!("apply --resume last --yes --quiet {allow}")).code(0);
}

#[test]
fn what_restores_an_object_creates_what_that_refers_to() {
    let service = Service::start();
    let (without, reference) = POOL.split_at(POOL.find("  healthcheck:").expect("a reference"));
    let stage =
        stack(&service).file("d/a-pool.yaml", without).file("d/ep.yaml", &definition("shop/ep", 80)).committed();
    stage.run("apply . --yes --quiet").code(0);
    let path = "/api/config/namespaces/shop/origin_pools/cart";
    assert_eq!(service.send("DELETE", path, None).0, 200);
    stage.write("d/a-pool.yaml", &format!("{without}{reference}"));
    stage.write("d/check.yaml", CHECK);
    stage.edit("d/ep.yaml", "port: 80", "port: 81");
    commit(&stage, "check");
    let restore = "trueup apply . --only origin_pool:shop/cart --only healthcheck:shop/alive";
    let label = "restore, and create what that refers to:";
    stage.run("drift .").code(4).stdout_contains(&format!("{label}  {restore}\n"));
    stage.run(&format!("{} --yes --quiet", restore.trim_start_matches("trueup "))).code(0);
    assert_eq!(service.get("shop/ep")["spec"]["port"], 80, "nobody asked for it");
}
