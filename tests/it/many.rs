//! Commands about several stacks: several directories, every stack below one, and every environment of one.

use jiff::Timestamp;
use serde_json::{Value, json};

use crate::support::{Service, Stage, definition};

/// Two stacks of one service, `shop` applied and edited since, `pay` in sync.
fn two(service: &Service) -> Stage {
    let stage = Stage::new().at(service);
    for name in ["shop", "pay"] {
        stage.write(&format!("stacks/{name}/trueup.yaml"), &format!("stack: {name}-prod\nnamespaces: [{name}]\n"));
        stage.write(&format!("stacks/{name}/cart.yaml"), &definition(&format!("{name}/cart"), 80));
        stage.run(&format!("apply stacks/{name} --yes --quiet")).code(0);
    }
    stage.edit("stacks/shop/cart.yaml", "port: 80", "port: 81");
    stage
}

#[test]
fn one_plan_report_has_a_section_for_each_stack_and_one_digest() {
    let service = Service::start();
    let stage = two(&service);
    let text = stage.run("plan stacks/shop stacks/pay");
    text.code(0)
        .stdout_contains("== stacks/shop  (http://127.0.0.1:")
        .stdout_contains("~ replace shop/cart")
        .stdout_contains("== stacks/pay  (http://127.0.0.1:")
        .stdout_contains("2 stacks: 1 in sync, 1 with changes; 1 to replace")
        .stdout_contains("Apply exactly these:  trueup apply stacks/shop stacks/pay --digest ");
    let document = stage.run("plan --recursive stacks --format json").code(0).json();
    assert_eq!((&document["kind"], &document["command"]), (&json!("fleet_report"), &json!("plan")));
    assert_eq!(document["failed"], 0);
    let stacks = document["stacks"].as_array().expect("a list");
    // Below a directory stacks are in the order of their paths.
    assert_eq!((&stacks[0]["directory"], &stacks[1]["directory"]), (&json!("stacks/pay"), &json!("stacks/shop")));
    assert_eq!(stacks[1]["report"]["kind"], "plan_report");
    assert_eq!(stacks[1]["report"]["digest"], stage.run("plan stacks/shop --format json").json()["digest"]);
    let digest = document["digest"].as_str().expect("a digest").to_owned();
    assert!(text.text().contains("--digest ") && !text.text().contains(&digest[..32]), "the order is part of it");
    assert!(stage.run("plan --recursive stacks").text().contains(&digest[..32]));

    stage.run("plan -R stacks --detailed-exitcode").code(2);
    stage.run("plan -R stacks --format markdown").code(0).stdout_contains("| `stacks/pay` | in sync |\n");
    stage.run("plan -R stacks --format html").code(0).stdout_contains("<h1>Plans for 2 stacks</h1>");
    stage.run("plan -R stacks --format github").code(0).stdout_contains("file=stacks/shop/cart.yaml,line=");
    stage.run("plan -R stacks --format sarif").code(0).stdout_contains("stacks/shop/cart.yaml");
}

#[test]
fn a_remark_on_one_of_several_stacks_names_it_and_a_file_of_it() {
    let service = Service::start();
    let stage = two(&service);
    stage.write("stacks/shop/web.yaml", &definition("shop/web", 80));
    stage.run("apply stacks/shop --yes --quiet").code(0);
    stage.remove("stacks/shop/web.yaml");
    let sarif = stage.run("plan -R stacks --format sarif").code(0).json();
    let result = &sarif["runs"][0]["results"][0];
    assert_eq!(result["message"]["text"], "stacks/shop: delete shop/web: definition removed");
    let place = &result["locations"][0]["physicalLocation"];
    assert_eq!(place["artifactLocation"]["uri"], "stacks/shop/trueup.yaml");
    stage
        .run("plan -R stacks --format github")
        .code(0)
        .stdout_contains("file=stacks/shop/trueup.yaml,line=1,col=1,title=stacks/shop%3A delete ")
        .stdout_contains("shop/web::");
}

#[test]
fn a_stack_that_fails_is_a_section_and_hides_no_other() {
    let service = Service::start();
    let stage = two(&service).file("stacks/bad/trueup.yaml", "stack: bad\n").file("stacks/bad/x.yaml", "metadata: [\n");
    stage
        .run("plan -R stacks --detailed-exitcode")
        .code(1)
        .stderr_contains("stacks/bad/x.yaml:")
        .stdout_contains("NOT PLANNED")
        .stdout_contains("3 stacks: 1 in sync, 1 with changes, 1 not planned")
        .does_not_say("Apply exactly these");
    stage
        .run("validate -R stacks")
        .code(1)
        .stderr_contains("stacks/bad/x.yaml:")
        .stdout_contains("== stacks/pay\nValid: 1 endpoint")
        .stdout_contains("3 stacks: 2 valid, 1 not valid");
    let document = stage.run("validate -R stacks --format json");
    let document = document.code(1).json();
    let valid: Vec<&Value> =
        document["stacks"].as_array().expect("a list").iter().map(|stack| &stack["report"]["valid"]).collect();
    assert_eq!(valid, [false, true, true]);
    stage.run("validate -R stacks --format github").code(1).stdout_contains("::error file=stacks/bad/x.yaml");
    stage.run("validate stacks/pay stacks/shop").code(0).stdout_contains("2 stacks: 2 valid");
}

#[test]
fn a_directory_above_stacks_means_all_of_them_only_with_the_flag() {
    let service = Service::start();
    let stage = two(&service);
    for command in ["plan", "validate", "drift", "apply --yes"] {
        stage
            .run(&format!("{command} stacks"))
            .code(1)
            .stderr_contains("this directory is a stack, and the given one is not")
            .stderr_contains("--recursive");
    }
    stage.run("plan -R .").code(0).stdout_contains("== stacks/pay  ");
    stage.run("plan -R stacks/shop").code(0).stdout_contains("1 stack: 1 with changes");
    stage.write("empty/x.yaml", &definition("shop/x", 80));
    stage.run("plan -R empty").code(64).stderr_contains("there is no trueup.yaml in or below `empty`");
    stage.run("plan -R stacks -o plan.json").code(64).stderr_contains("`--output plan.json` is not a directory");
    stage.run("snapshot -R stacks -n shop -o x").code(64).stderr_contains("`--namespace` is for one stack");
}

#[test]
fn two_stacks_of_one_name_and_namespace_are_refused() {
    let service = Service::start();
    let stage = two(&service);
    stage.edit("stacks/pay/trueup.yaml", "stack: pay-prod\nnamespaces: [pay]", "stack: shop-prod\nnamespaces: [shop]");
    let lists = service.requests("GET");
    stage.run("plan -R stacks").code(1).stderr_contains("are both stack `shop-prod`");
    stage
        .run("plan -R stacks --stack q")
        .code(1)
        .stderr_contains("are both stack `q`")
        .stderr_contains("leave out `--stack`, and give each a `stack:` of its own");
    assert_eq!(service.requests("GET"), lists, "nothing was sent");
    // In namespaces of their own they do not meet.
    stage.edit("stacks/pay/trueup.yaml", "namespaces: [shop]", "namespaces: [pay]");
    stage.run("plan -R stacks").code(0);
}

#[test]
fn every_environment_of_a_stack_is_a_section() {
    let service = Service::start();
    let stage = Stage::new()
        .at(&service)
        .file(
            "trueup.yaml",
            "environments:\n  dev: {stack: dev, namespaces: [dev], variables: {ns: dev}}\n  prod: {stack: prod, \
             namespaces: [prod], variables: {ns: prod}}\n",
        )
        .file("cart.yaml", &definition("shop/cart", 80).replace("namespace: shop", "namespace: ${ns}"));
    stage.run("apply . --env dev --yes --quiet").code(0);
    stage
        .run("plan . --env all")
        .code(0)
        .stdout_contains("== . (dev)  ")
        .stdout_contains("In sync: 1 endpoint in 1 namespace, environment dev")
        .stdout_contains("== . (prod)  ")
        .stdout_contains("trueup apply . --env prod --digest ")
        .stdout_contains("2 stacks: 1 in sync, 1 with changes; 1 to create");
    stage.run("validate --env all").code(0).stdout_contains("2 stacks: 2 valid");
    let checks = stage.run("drift . --env all --format json").code(2).json();
    assert_eq!(checks["checks"][1]["environment"], "prod");
    assert_eq!(checks["checks"][1]["plan"]["source"]["environment"], "prod");
    stage.run("apply . --env all --yes").code(64).stderr_contains("one environment at a time");
    stage.run("pull --drift . --env all").code(1).stderr_contains("there is no environment `all`");
    // The variable means the same, and a stack without environments is itself.
    let stage = Stage::new()
        .at(&service)
        .file("other/trueup.yaml", "stack: other\nnamespaces: [other]\n")
        .file("other/x.yaml", &definition("other/x", 80))
        .env("TRUEUP_ENV", "all");
    stage.run("plan other --format json").code(0).stdout_contains("\"directory\": \"other\"");
}

#[test]
fn snapshots_of_several_stacks_are_a_directory_to_plan_against() {
    let service = Service::start();
    let stage = two(&service);
    stage
        .run("snapshot -R stacks -o live")
        .code(0)
        .stdout_contains("stacks/shop: 1 endpoint of 1 namespace, in live/127.0.0.1_")
        .stdout_contains("2 of 2 stacks written.");
    let reports = |line: &str| -> Vec<Value> {
        let document = stage.run(line).code(0).json();
        let stacks = document["stacks"].as_array().expect("a list").clone();
        stacks.into_iter().map(|stack| stack["report"]["digest"].clone()).collect()
    };
    let live = reports("plan -R stacks --format json");
    let requests = service.log().len();
    assert_eq!(reports("plan -R stacks --live live --format json"), live);
    assert_eq!(service.log().len(), requests, "a snapshot needs no service");
    stage.run("drift -R stacks --live live").code(2).stdout_contains("2 stacks: 1 in sync, 1 pending");
    // What could not be read is in the file of before, which no proposed plan takes.
    service.misbehave("rules: [{operation: endpoint-list, namespace: shop, status: {code: 403}}]\n");
    let partial = stage.run("snapshot -R stacks -o live");
    partial.code(1).stderr_contains("could not read `shop`").stdout_contains("is from an earlier call\n");
    partial.stdout_contains("1 of 2 stacks written.").does_not_say("Next:");
}

#[test]
fn stacks_of_one_service_share_its_limits_and_are_read_at_the_same_time() {
    const STACKS: usize = 50;
    const DELAY: u128 = 200;
    let service = Service::start();
    service.misbehave(&format!("rules: [{{operation: endpoint-list, delay: {{milliseconds: {DELAY}}}}}]\n"));
    let stage = Stage::new().at(&service);
    for n in 0..STACKS {
        // One of them asks for less than the usual eight.
        let limit = if n == 7 { "concurrency: 5\n" } else { "" };
        stage.write(&format!("s/{n}/trueup.yaml"), &format!("stack: s-{n}\nnamespaces: [n-{n}]\n{limit}"));
        stage.write(&format!("s/{n}/x.yaml"), &definition(&format!("n-{n}/x"), 80));
    }
    let document = stage.run("plan -R s --format json").code(0).json();
    assert_eq!(document["stacks"].as_array().map(Vec::len), Some(STACKS));
    let began: Vec<u128> = service
        .log()
        .iter()
        .filter(|entry| entry.operation == "endpoint-list")
        .map(|entry| {
            let time: Timestamp = entry.time.parse().expect("a time");
            u128::try_from(time.as_millisecond()).expect("after 1970")
        })
        .collect();
    assert_eq!(began.len(), STACKS);
    let together = |at: u128| began.iter().filter(|time| (at..at + DELAY - 20).contains(*time)).count();
    let most = began.iter().map(|at| together(*at)).max().expect("some");
    assert!((4..=5).contains(&most), "{most} at the same time");
}

#[test]
fn several_stacks_are_applied_in_order_by_one_digest() {
    let service = Service::start();
    let stage = two(&service);
    stage.edit("stacks/pay/cart.yaml", "port: 80", "port: 82");
    let writes = || service.requests("PUT");
    let before = writes();
    stage
        .run("apply -R stacks")
        .code(6)
        .stderr_contains("== stacks/pay  ")
        .stderr_contains("~ replace shop/cart")
        .stderr_contains("confirmation required");
    let digest = stage.run("plan -R stacks --format json").json()["digest"].as_str().expect("a digest").to_owned();
    // The digest covers the order, too.
    stage.run(&format!("apply stacks/shop stacks/pay --digest {digest}")).code(6).stderr_contains("their order");
    stage.run("apply -R stacks --digest 12").code(64).stderr_contains("is not a valid digest");
    assert_eq!(writes(), before, "nothing was sent");
    stage
        .run(&format!("apply -R stacks --digest {digest} --quiet"))
        .code(0)
        .stdout_contains("== stacks/pay  ")
        .stdout_contains("Applied 1 of 1")
        .stdout_contains("2 stacks: 2 applied");
    assert_eq!(
        (&service.get("pay/cart")["spec"]["port"], &service.get("shop/cart")["spec"]["port"]),
        (&json!(82), &json!(81))
    );
    stage.run("apply -R stacks --yes").code(0).stdout_contains("2 stacks: 2 in sync");
    stage.edit("stacks/shop/cart.yaml", "port: 81", "port: 83");
    let document = stage.run("apply -R stacks --yes --quiet --format json").code(0).json();
    assert_eq!(document["stacks"][0]["report"]["kind"], "plan_report");
    assert_eq!(document["stacks"][1]["report"]["kind"], "outcome");
}

#[test]
fn nothing_is_applied_if_one_stack_cannot_be_planned() {
    let service = Service::start();
    let stage = two(&service).file("stacks/bad/trueup.yaml", "stack: bad\n").file("stacks/bad/x.yaml", "metadata: [\n");
    stage
        .run("apply -R stacks --yes")
        .code(1)
        .stderr_contains("nothing was sent")
        .stdout_contains("3 stacks: 1 in sync, 1 not applied, 1 skipped")
        .stdout_contains("Apply the rest:  trueup apply stacks --recursive --keep-going\n");
    assert_eq!(service.get("shop/cart")["spec"]["port"], 80);
    stage
        .run("apply stacks --recursive --keep-going --yes")
        .code(7)
        .stderr_ignored()
        .stdout_contains("3 stacks: 1 applied, 1 in sync, 1 not applied");
    assert_eq!(service.get("shop/cart")["spec"]["port"], 81);
    // A guard of one stack refuses all, too.
    stage.remove("stacks/bad/x.yaml");
    stage.remove("stacks/bad/trueup.yaml");
    stage.remove("stacks/pay/cart.yaml");
    stage.edit("stacks/pay/trueup.yaml", "stack:", "allow_empty: true\nstack:");
    stage.edit("stacks/shop/cart.yaml", "port: 81", "port: 84");
    stage.run("apply -R stacks --yes").code(6).stderr_contains("--allow empty-namespace");
    assert_eq!(service.get("shop/cart")["spec"]["port"], 81);
    stage.run("apply -R stacks --yes --quiet --allow empty-namespace").code(0);
    assert!(!service.has("pay/cart"));
}

#[test]
fn a_stack_that_fails_stops_those_that_have_not_begun_and_the_same_command_goes_on() {
    let service = Service::start();
    let stage = two(&service);
    stage.edit("stacks/pay/cart.yaml", "port: 80", "port: 82");
    service.misbehave("rules: [{operation: endpoint-replace, namespace: pay, status: {code: 403}}]");
    stage
        .run("apply -R stacks --yes --quiet")
        .code(1)
        .stdout_contains("SKIPPED  another stack failed")
        .stdout_contains("2 stacks: 1 with no change made, 1 skipped")
        .stderr_ignored();
    assert_eq!(service.get("shop/cart")["spec"]["port"], 80);
    stage
        .run("apply -R stacks --yes --quiet --keep-going")
        .code(7)
        .stdout_contains("1 applied, 1 with no change made")
        .stderr_ignored();
    assert_eq!(service.get("shop/cart")["spec"]["port"], 81);
    service.misbehave("rules: []");
    stage.run("apply -R stacks --yes --quiet").code(0).stdout_contains("1 applied, 1 in sync").stderr_ignored();
}

#[test]
fn a_delete_of_what_another_stack_defines_now_is_blocked_until_that_stack_owns_it() {
    let service = Service::start();
    let stage = two(&service).file("stacks/pay/card.yaml", &definition("pay/card", 80));
    stage.edit("stacks/shop/cart.yaml", "port: 81", "port: 80");
    stage.run("apply stacks/pay --yes --quiet").code(0);
    let uid = service.get("pay/card")["system_metadata"]["uid"].clone();
    // The definition moves to the other stack, which both must list the namespace.
    stage.edit("stacks/shop/trueup.yaml", "namespaces: [shop]", "namespaces: [shop, pay]");
    std::fs::rename(stage.path("stacks/pay/card.yaml"), stage.path("stacks/shop/card.yaml")).expect("a file");
    stage.run("plan stacks/pay").code(0).stdout_contains("- delete  pay/card");
    let stage = stage.committed();
    let blocked = "stack shop-prod in stacks/shop defines it; transfer it first: trueup move --from pay-prod --directory stacks/shop";
    stage.run("plan stacks/pay").code(0).stdout_contains("! blocked pay/card").stdout_contains(blocked);
    stage.run("apply stacks/pay --yes").code(6).stdout_contains(blocked);
    stage.run("plan stacks/pay --format sarif").code(0).stdout_contains("blocked-defined-elsewhere");
    assert!(service.has("pay/card"));
    stage.run("move --from pay-prod --directory stacks/shop --yes --quiet").code(0);
    stage.run("plan stacks/pay --detailed-exitcode").code(0).stdout_contains("In sync");
    assert_eq!(service.get("pay/card")["system_metadata"]["uid"], uid);
}

#[test]
fn no_saved_plan_resumed_run_or_rollback_deletes_what_another_stack_has_come_to_define() {
    let service = Service::start();
    let stage = two(&service).committed();
    stage.edit("stacks/shop/cart.yaml", "port: 81", "port: 80");
    stage.edit("stacks/shop/trueup.yaml", "namespaces: [shop]", "namespaces: [shop, pay]");
    for key in ["card", "other"] {
        stage.write(&format!("stacks/pay/{key}.yaml"), &definition(&format!("pay/{key}"), 80));
    }
    stage.run("apply stacks/pay --yes --quiet").code(0);
    stage.remove("stacks/pay/card.yaml");
    stage.run("plan stacks/pay -o ../plan.json").code(0);
    service.misbehave("rules: [{operation: endpoint-delete, status: {code: 403}}]");
    stage.run("apply stacks/pay --yes --quiet").code(1);
    service.misbehave("rules: []");
    stage.write("stacks/shop/card.yaml", &definition("pay/card", 80));
    let refused = "the plan deletes `pay/card`, and stack `shop-prod` in stacks/shop defines it by now";
    for line in ["apply ../plan.json", "apply --resume last"] {
        stage.run(&format!("{line} --config stacks/pay/trueup.yaml --yes")).code(6).stderr_contains(refused);
    }
    stage.remove("stacks/shop/card.yaml");
    stage.run("apply --resume last --config stacks/pay/trueup.yaml --yes --quiet").code(0);
    stage.write("stacks/pay/card.yaml", &definition("pay/card", 80));
    stage.run("apply stacks/pay --yes --quiet").code(0);
    std::fs::rename(stage.path("stacks/pay/card.yaml"), stage.path("stacks/shop/card.yaml")).expect("a file");
    let blocked = "stack shop-prod in stacks/shop defines it; let that stack take it over first";
    stage.run("rollback last --config stacks/pay/trueup.yaml --yes").code(6).stdout_contains(blocked).stderr_ignored();
    assert!(service.has("pay/card"));
}

#[test]
fn a_delete_of_what_another_stack_of_the_call_defines_now_is_blocked_without_git_as_well() {
    let service = Service::start();
    let stage = two(&service).file("stacks/pay/card.yaml", &definition("pay/card", 80));
    stage.edit("stacks/shop/cart.yaml", "port: 81", "port: 80");
    stage.run("apply stacks/pay --yes --quiet").code(0);
    stage.edit("stacks/shop/trueup.yaml", "namespaces: [shop]", "namespaces: [shop, pay]");
    std::fs::rename(stage.path("stacks/pay/card.yaml"), stage.path("stacks/shop/card.yaml")).expect("a file");
    let blocked = "stack shop-prod in stacks/shop defines it; transfer it first: trueup move --from pay-prod --directory stacks/shop";
    for line in ["apply -R stacks --yes", "apply stacks/shop stacks/pay --yes"] {
        stage.run(line).stdout_contains(blocked).stderr_ignored();
        assert!(service.has("pay/card"), "{line}");
    }
    stage.run("move --from pay-prod --directory stacks/shop --yes --quiet").code(0);
    stage.run("plan -R stacks --detailed-exitcode").code(0).stdout_contains("2 stacks: 2 in sync");
}

#[test]
fn a_delete_of_what_another_stack_defines_by_a_variable_of_the_call_is_blocked() {
    let service = Service::start();
    let stage = two(&service).file("stacks/pay/card-green.yaml", &definition("pay/card-green", 80));
    stage.run("apply stacks/pay --yes --quiet").code(0);
    stage.edit("stacks/shop/trueup.yaml", "namespaces: [shop]", "namespaces: [shop, pay]\nvariables: {color: blue}");
    stage.remove("stacks/pay/card-green.yaml");
    stage.write("stacks/shop/card.yaml", &definition("pay/card-${color}", 80));
    for line in ["apply -R stacks", "apply stacks/shop stacks/pay"] {
        let blocked = "stack shop-prod in stacks/shop defines it";
        stage.run(&format!("{line} --var color=green --yes")).stdout_contains(blocked).stderr_ignored();
        assert!(service.has("pay/card-green"), "{line}");
    }
}

#[test]
fn a_definition_for_another_service_or_an_excluded_one_blocks_no_delete() {
    let service = Service::start();
    let stage = two(&service);
    stage.edit("stacks/shop/cart.yaml", "port: 81", "port: 80");
    let stage = stage.committed();
    std::fs::rename(stage.path("stacks/pay/cart.yaml"), stage.path("stacks/shop/paycart.yaml")).expect("a file");
    stage.edit("stacks/pay/trueup.yaml", "stack:", "allow_empty: true\nstack:");
    let plan = |word: &str| {
        stage.run("plan stacks/pay").code(0).stdout_contains(word);
    };
    // The other stack does not list the namespace, so that it does not load: what it would define is not known.
    plan("whether another stack defines it is unknown: stacks/shop may define it: ");
    stage.edit(
        "stacks/shop/trueup.yaml",
        "namespaces: [shop]",
        "namespaces: [shop, pay]\nbase_url: https://other.example.net",
    );
    plan("- delete  pay/cart");
    stage.edit("stacks/shop/trueup.yaml", "base_url: https://other.example.net", "files: {exclude: [paycart.yaml]}");
    plan("- delete  pay/cart");
    // A name from a variable is only known to a load, and so is one of an environment.
    stage.edit(
        "stacks/shop/trueup.yaml",
        "files: {exclude: [paycart.yaml]}",
        "environments: {prod: {variables: {n: cart}}}",
    );
    stage.edit("stacks/shop/paycart.yaml", "name: cart", "name: ${n}");
    plan("! blocked pay/cart");
}

#[test]
fn a_wave_in_which_a_stack_fails_stops_the_next_and_the_same_command_goes_on() {
    let service = Service::start();
    let stage = Stage::new().at(&service);
    for n in 0..5 {
        stage.write(&format!("s/{n}/trueup.yaml"), &format!("stack: s-{n}\nnamespaces: [n-{n}]\n"));
        stage.write(&format!("s/{n}/x.yaml"), &definition(&format!("n-{n}/x"), 80));
    }
    service.misbehave("rules: [{operation: endpoint-create, namespace: n-2, status: {code: 403}}]");
    let line = "apply -R s --yes --waves 1,60%";
    stage
        .run(line)
        .code(7)
        .stderr_contains("wave 1 of 3: 1 stack\n")
        .stderr_contains("wave 2 of 3: 2 stacks\n")
        .stdout_contains("5 stacks: 2 applied, 1 with no change made, 2 skipped")
        .does_not_say("wave 3 of 3");
    let there = || (0..5).map(|n| service.has(&format!("n-{n}/x"))).collect::<Vec<_>>();
    assert_eq!(there(), [true, true, false, false, false]);
    service.misbehave("rules: []");
    stage.run(line).code(0).stderr_contains("wave 3 of 3: 2 stacks\n").stdout_contains("3 applied, 2 in sync");
    assert_eq!(there(), [true; 5]);
    stage.run("apply -R s --yes --waves 0").code(64).stderr_contains("1,10%,50%");
}

#[test]
fn two_directories_of_one_stack_in_a_wave_take_its_lock_one_after_the_other() {
    let service = Service::start();
    let stage = Stage::new().at(&service);
    for n in 0..4 {
        stage.write(&format!("s/{n}/trueup.yaml"), &format!("stack: shop\nnamespaces: [n-{n}]\n"));
        stage.write(&format!("s/{n}/x.yaml"), &definition(&format!("n-{n}/x"), 80));
    }
    service.misbehave("rules: [{operation: endpoint-create, delay: {milliseconds: 200}}]");
    stage.run("apply -R s --yes --quiet --waves 100%").code(0).stdout_contains("4 stacks: 4 applied");
}
