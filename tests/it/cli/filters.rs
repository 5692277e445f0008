//! Filters choose among the changes and never cause one.

use serde_json::json;

use crate::support::{Service, Stage, definition, shop_and_pay};

#[test]
fn a_narrower_call_plans_no_delete_that_a_whole_one_would_not() {
    let service = Service::start();
    let stage = shop_and_pay(&service);
    for narrower in ["shop", "shop/cart.yaml", ". --only shop/cart", ". --namespace shop"] {
        stage.run(&format!("plan {narrower} --detailed-exitcode")).code(0).does_not_say("delete");
    }
    stage.edit("shop/cart.yaml", "port: 80", "port: 81");
    stage.edit("pay/card.yaml", "port: 80", "port: 81");
    stage.run("plan shop/cart.yaml").code(0).stdout_contains("1 to replace").does_not_say("pay/card");
    stage.run("apply shop --yes --quiet").code(0).stdout_contains("Applied 1 of 1");
    assert!(service.has("pay/card"));
    assert_eq!(service.get("pay/card")["spec"]["port"], 80);
}

#[test]
fn a_pattern_of_a_kind_that_there_is_not_is_an_error() {
    let service = Service::start();
    let stage = shop_and_pay(&service);
    for flag in ["--only", "--except", "--allow foreign-stack="] {
        let glob = "origin_pol:shop/*";
        let line = if flag.ends_with('=') { format!("{flag}{glob}") } else { format!("{flag} {glob}") };
        stage.run(&format!("plan . {line}")).code(64).stderr_contains(glob);
    }
    for glob in ["shop/x*", "endpoint:shop/x*", "origin_*:shop/x", "origin_pool:shop/*", "{endpoint,cluster}:shop/x"] {
        stage.run(&format!("plan . --except {glob}")).code(0);
    }
    let settings = stage.read("trueup.yaml");
    stage.write("trueup.yaml", &format!("{settings}ignore: [{{object: 'origin_pol:shop/*', field: spec.port}}]\n"));
    let wrong = stage.run("validate .");
    wrong.code(1).stderr_contains("unknown kind `origin_pol`").stderr_contains("did you mean `origin_pool`?");
    stage.write("trueup.yaml", &settings);
}

#[test]
fn an_exception_that_can_except_nothing_is_an_error() {
    let service = Service::start();
    let stage = shop_and_pay(&service).applied(".");
    stage.edit("shop/cart.yaml", "port: 80", "port: 81");
    for glob in ["shop/crt", "cart", "shp/*", "origin_pool:shop/cart", "*:cart"] {
        for command in ["validate .", "plan .", "apply . --yes", "drift .", "get shop pay"] {
            let ran = stage.run(&format!("{command} --except {glob}"));
            ran.code(64).stderr_contains(&format!("`--except {glob}` matches nothing"));
            ran.stderr_contains("a kind against KIND:NAMESPACE/NAME");
        }
    }
    assert_eq!(service.get("shop/cart")["spec"]["port"], 80);
    for glob in ["shop/cart", "shop/crt*", "pay/*", "*/x"] {
        stage.run(&format!("plan . --except {glob}")).code(0);
    }
}

#[test]
fn every_header_names_the_environment_and_the_filters() {
    let service = Service::start();
    let stage = shop_and_pay(&service);
    stage.write("trueup.yaml", "stack: filters\nnamespaces: [shop, pay]\nenvironments: {live: {}}\n");
    for file in ["shop/cart.yaml", "pay/card.yaml"] {
        stage.edit(file, "port: 80", "port: 81");
    }
    let filters = "filtered by shop/cart.yaml --except 'pay/*'";
    for command in ["plan", "drift"] {
        let ran = stage.run(&format!("{command} shop/cart.yaml --env live --except pay/*"));
        ran.stdout_contains(", environment live").stdout_contains(&format!("; {filters}; 1 change outside the filter"));
        let markdown = stage.run(&format!("{command} shop/cart.yaml --env live --except pay/* --format markdown"));
        markdown.stdout_contains("environment `live`").stdout_contains("filtered by `shop/cart.yaml --except 'pay/*'`");
    }
    let html = stage.run("plan shop/cart.yaml --env live --format html");
    html.code(0).stdout_contains("environment live").stdout_contains("filtered by <code>shop/cart.yaml</code>");
    stage
        .run("plan shop/search.yaml --env live")
        .code(0)
        .stdout_contains("in 1 namespace, environment live, 2 requests, ")
        .stdout_contains("; filtered by shop/search.yaml; ");
    stage.run("plan .").code(0).does_not_say("filtered by").does_not_say(", environment");
}

#[test]
fn an_object_whose_live_label_was_changed_is_still_found() {
    let service = Service::start();
    let stage = shop_and_pay(&service);
    stage.edit("shop/cart.yaml", "spec:", "  labels:\n    tier: web\nspec:");
    stage.run("apply . --yes --quiet").code(0);
    service.change("shop/cart", |object| object["metadata"]["labels"]["tier"] = json!("db"));
    stage
        .run("plan . --selector tier=web")
        .code(0)
        .stdout_contains("labels.tier")
        .stdout_contains("db -> web")
        .does_not_say("create");
    stage.run("plan . --selector tier=db").code(0).stdout_contains("db -> web");
}

#[test]
fn a_file_that_is_moved_or_split_changes_nothing() {
    let service = Service::start();
    let stage = shop_and_pay(&service);
    stage.remove("shop/cart.yaml");
    stage.remove("pay/card.yaml");
    let both = format!("{}---\n{}", definition("pay/card", 80), definition("shop/cart", 80));
    stage.write("elsewhere/all.yml", &both);
    stage.run("plan . --detailed-exitcode").code(0).stdout_contains("In sync: 3 endpoints");
}

#[test]
fn a_proposed_command_repeats_the_filters() {
    let service = Service::start();
    let stage = shop_and_pay(&service);
    stage.edit("shop/cart.yaml", "port: 80", "port: 81");
    stage
        .run_words(&["plan", ".", "--only", "shop/*"])
        .code(0)
        .stdout_contains("trueup apply . --only 'shop/*' --digest ");
}

#[test]
fn ten_thousand_endpoints_in_one_namespace_are_one_list_request() {
    let service = Service::start();
    let many: Vec<String> = (0..10_000).map(|number| definition(&format!("shop/ep-{number}"), 80)).collect();
    let stage = Stage::new().at(&service).file("all.yaml", &many.join("---\n"));
    let plan = stage.run("plan . --format json").code(0).json();
    assert_eq!(plan["counts"]["create"], 10_000);
    assert_eq!(plan["counts"]["requests"], 1);
    assert_eq!(service.requests("GET"), 1);
}
