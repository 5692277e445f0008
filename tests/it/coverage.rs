//! "In sync" is said only of what was looked at: filters, paths and directories that name nothing are
//! errors, what is left out is counted, and `last` is nobody else's run.

use serde_json::json;

use crate::support::{Service, Stage, definition, shop_and_pay};

#[test]
fn a_filter_that_matches_nothing_is_an_error() {
    let service = Service::start();
    let stage = shop_and_pay(&service);
    let before = service.requests("PUT");
    for command in ["plan .", "drift .", "apply . --yes", "rehearse ."] {
        stage
            .run(&format!("{command} -n shp"))
            .code(64)
            .stderr_contains("the stack has no namespace `shp`")
            .stderr_contains("did you mean `shop`?")
            .stderr_contains("it has: pay, shop");
        stage.run(&format!("{command} --only nomatch")).code(64).stderr_contains("`nomatch` matches nothing");
        stage
            .run(&format!("{command} --only shop/cart --only shop/crt"))
            .code(64)
            .stderr_contains("`shop/crt` matches nothing");
        stage.run(&format!("{command} --selector tier=none")).code(64).stderr_contains("`--selector` matches nothing");
        stage.run(&format!("{command} --only shop/* --except shop/*")).code(64).stderr_contains("select nothing");
    }
    stage.run("validate . --only nomatch").code(64).stderr_contains("matches nothing");
    stage.run("validate . -n shp --format json").code(64).stderr_contains("did you mean `shop`?");
    stage.run("pull -n shop --only shop/none -o out").code(64).stderr_contains("matches nothing");
    stage.run("rollback last --only shop/none --yes").code(64).stderr_contains("matches nothing");
    assert_eq!(service.requests("PUT"), before);
    // What may be in a list that could not be read is not missed.
    service.misbehave("rules: [{operation: endpoint-list, namespace: pay, status: {code: 403}}]");
    stage.run("plan . --only pay/none").code(5).stderr_contains("nothing is concluded about `pay`");
    stage.run("plan . --only shop/none").code(64).stderr_contains("matches nothing");
}

#[test]
fn a_directory_a_file_or_a_path_without_a_definition_is_an_error() {
    let service = Service::start();
    let stage = shop_and_pay(&service);
    stage.run("plan . -o plan.json").code(0);
    stage.write("elsewhere/README.md", "nothing");
    stage.write("shop/notes.txt", "nothing");
    std::fs::create_dir_all(stage.path("empty")).expect("a directory");
    let alone = Stage::new().at(&service);
    alone.write("plan.json", &stage.read("plan.json"));
    for command in ["plan", "drift", "apply --yes", "validate"] {
        for path in ["elsewhere", "empty", "shop/notes.txt", "plan.json"] {
            let path = if path == "plan.json" && command == "apply --yes" { "empty" } else { path };
            let said = if path == "plan.json" { "is a saved plan, not a definition" } else { "contains no definition" };
            stage.run(&format!("{command} {path}")).code(1).stderr_contains(said);
        }
        alone.run(&format!("{command} .")).code(1).stderr_contains("contains no definition");
    }
    alone.run("plan plan.json").code(1).stderr_contains("is a saved plan, not a definition");
    alone.run("validate . --format json").code(1).stdout_contains("contains no definition");
}

#[test]
fn a_stack_defines_nothing_any_more_only_where_it_says_so() {
    let service = Service::start();
    let stage = shop_and_pay(&service);
    for file in ["shop/cart.yaml", "shop/search.yaml", "pay/card.yaml"] {
        stage.remove(file);
    }
    stage.run("plan .").code(1).stderr_contains("contains no definition").stderr_contains("allow_empty: true");
    stage.run("drift .").code(1).stderr_contains("contains no definition");
    stage.write("shop/cart.yaml", &definition("shop/cart", 80));
    stage.write("trueup.yaml", "stack: both\nenvironments: {prod: {overlay: o}}\n");
    stage.write("o/cart.yaml", "$remove: true\nmetadata: {name: cart, namespace: shop}\n");
    let emptied = "the overlays of the environment `prod` remove every definition";
    stage.run("plan . --env prod").code(1).stderr_contains(emptied).stderr_contains("allow_empty: true");
    stage.remove("shop/cart.yaml");
    stage.remove("o/cart.yaml");
    stage.write("trueup.yaml", "stack: both\nallow_empty: true\n");
    stage.run("plan .").code(1).stderr_contains("contains no definition").stderr_contains("beside its `namespaces:`");
    stage.write("trueup.yaml", "stack: both\nnamespaces: [shop, pay]\nallow_empty: true\n");
    stage
        .run("plan . --detailed-exitcode")
        .code(6)
        .stdout_contains("3 to delete")
        .stdout_contains("--allow empty-namespace");
    stage.run("apply . --yes --quiet --allow empty-namespace").code(0).stdout_contains("3 deleted");
    stage.run("drift .").code(0).stdout_contains("In sync: 0 endpoints in 2 namespaces");
}

#[test]
fn what_a_filter_leaves_out_is_counted_and_not_called_in_sync() {
    let service = Service::start();
    let stage = shop_and_pay(&service);
    stage.edit("pay/card.yaml", "port: 80", "port: 81");
    stage.edit("shop/search.yaml", "port: 80", "port: 81");
    stage
        .run("plan . --only shop/cart")
        .code(0)
        .stdout_contains("In sync: 1 endpoint in 1 namespace")
        .stdout_contains("2 changes outside the filter; 1 namespace outside the filter");
    stage
        .run("plan shop/search.yaml")
        .code(0)
        .stdout_contains("1 to replace, 0 in sync")
        .stdout_contains("1 change outside the filter");
    let counts = stage.run("plan . -n shop --format json").code(0).json()["counts"].clone();
    assert_eq!((&counts["outside_filter"], &counts["in_sync"], &counts["replace"]), (&json!(1), &json!(1), &json!(1)));
    assert_eq!((&counts["namespaces"], &counts["namespaces_outside_filter"]), (&json!(1), &json!(1)));
    stage.run("plan . -n shop --format markdown").code(0).stdout_contains("1 change outside the filter");
    stage.run("plan . -n shop --format html").code(0).stdout_contains("1 change outside the filter");
    stage
        .run("drift . -n pay")
        .code(2)
        .stdout_contains("PENDING  1 of 1 endpoint has changes to apply")
        .stdout_contains("1 change outside the filter");
    stage.run("drift . -n pay --format markdown").code(2).stdout_contains("1 change outside the filter");
}

#[test]
fn drift_counts_only_what_it_saw() {
    let service = Service::start();
    let stage = shop_and_pay(&service);
    service.misbehave("rules: [{operation: endpoint-list, namespace: pay, status: {code: 403}}]");
    stage.run("drift .").code(5).stdout_contains("no verdict over everything; 1 namespace not read");
    stage
        .run("plan .")
        .code(5)
        .stdout_contains("1 namespace, 2 endpoints defined")
        .stdout_contains("1 namespace not read");
    stage
        .run("drift . -n shop")
        .code(0)
        .stdout_contains("In sync: 2 endpoints in 1 namespace")
        .stdout_contains("1 namespace outside");
}

#[test]
fn last_is_the_newest_run_of_this_stack_on_this_service() {
    let service = Service::start();
    let stage = shop_and_pay(&service);
    stage.edit("shop/cart.yaml", "port: 80", "port: 81");
    stage.run("apply . --yes --quiet").code(0);
    // Another stack of the same service ran later.
    stage.write("other/trueup.yaml", "stack: other\nnamespaces: [misc]\n");
    stage.write("other/a.yaml", &definition("misc/a", 80));
    stage.run("apply other --yes --quiet").code(0);
    stage.run("rollback last --yes --quiet").code(0).stdout_contains("Applied 1 of 1");
    assert_eq!(service.get("shop/cart")["spec"]["port"], 80);
    assert!(service.has("misc/a"));
    stage.run("apply --resume last").code(6).stderr_contains("nothing to resume");
    for line in ["rollback last --yes", "apply --resume last --yes"] {
        stage
            .run(&format!("{line} --stack third"))
            .code(1)
            .stderr_contains("there is no run of stack `third` on")
            .stderr_contains("there are runs of stack `both` on")
            .stderr_contains("of stack `other` on");
        stage
            .run(&format!("{line} --sandbox"))
            .code(1)
            .stderr_contains("there is no run of stack `both` on http://sandbox");
    }
    // A run of another stack is not undone or resumed by its name either.
    let runs = stage.run("history --format json").json()["runs"].clone();
    let theirs = runs.as_array().expect("runs").iter().find(|run| run["stack"] == "other").expect("a run");
    let name = theirs["run"].as_str().expect("a name");
    stage.run(&format!("rollback {name} --yes")).code(6).stderr_contains("the plan is of stack `other`");
    assert!(service.has("misc/a"));
}

#[test]
fn a_run_that_was_not_verified_is_verified_by_its_resume() {
    let service = Service::start();
    let stage = shop_and_pay(&service);
    stage.edit("shop/cart.yaml", "port: 80", "port: 81");
    // The verification is never answered: what was sent is done, and nothing proves it.
    service.misbehave("rules: [{operation: endpoint-list, namespace: shop, after: 1, status: {code: 403}}]");
    stage.run("apply . --yes --quiet").code(7);
    stage.run("apply --resume last --yes --quiet").code(7);
    stage.run("show last").code(0).stdout_contains("not verified");
    service.misbehave("rules: []");
    stage.run("apply --resume last --yes --quiet").code(0).stdout_contains("Verified");
    stage.run("apply --resume last --yes").code(6).stderr_contains("nothing to resume");
}

#[test]
fn a_namespace_is_not_emptied_because_something_that_is_not_ours_stays() {
    let service = Service::start();
    let stage = shop_and_pay(&service);
    // One that is defined and carries no mark, one that is protected.
    service
        .create(&json!({"metadata": {"name": "plain", "namespace": "shop"}, "spec": {"ip": "10.0.0.7", "port": 80}}));
    stage.write("shop/plain.yaml", &definition("shop/plain", 80));
    service.create(&json!({"metadata": {"name": "wild", "namespace": "shop"}, "spec": {"ip": "10.0.0.9"}}));
    stage.write("shop/kept.yaml", &definition("shop/kept", 80));
    stage.run("apply . --yes --quiet").code(0);
    service.change("shop/kept", |object| object["metadata"]["annotations"]["trueup/protect"] = json!("true"));
    for file in ["shop/cart.yaml", "shop/search.yaml", "shop/kept.yaml"] {
        stage.remove(file);
    }
    stage
        .run("plan .")
        .code(0)
        .stdout_contains("the plan would delete every owned endpoint of `shop` (2)")
        .stdout_contains("it is protected");
    stage.run("apply . --yes").code(6).stderr_contains("--allow empty-namespace");
    assert!(service.has("shop/cart") && service.has("shop/search"));
}
