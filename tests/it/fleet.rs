//! Checks of several stacks at once: a fleet of tenants, each with its own service and token.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::support::{Service, Stage, definition};

/// Two tenants with tokens of their own, applied, and a third whose service is not there.
fn fleet(one: &Service, two: &Service) -> Stage {
    let mut stage = Stage::new().env("TRUEUP_TOKEN_ONE", "token-of-one").env("TRUEUP_TOKEN_TWO", "token-of-two");
    for (name, service) in [("one", one), ("two", two)] {
        let variable = format!("TRUEUP_TOKEN_{}", name.to_uppercase());
        let url = service.url();
        stage = stage
            .env(&format!("{variable}_URL"), &url)
            .file(
                &format!("tenants/{name}/trueup.yaml"),
                &format!("stack: {name}\nbase_url: {url}\ntoken_variable: {variable}\nnamespaces: [shop, pay]\n"),
            )
            .file(&format!("tenants/{name}/cart.yaml"), &definition("shop/cart", 80))
            .file(&format!("tenants/{name}/card.yaml"), &definition("pay/card", 80));
        stage.run(&format!("apply tenants/{name} --yes --quiet")).code(0);
    }
    stage
}

fn tenants() -> (Service, Service) {
    let start = |token: &'static str| {
        Service::with(|options| options.token = trueup::sandbox::RequiredToken::new(token)).with_token(token)
    };
    (start("token-of-one"), start("token-of-two"))
}

#[test]
fn several_stacks_get_a_verdict_each_and_a_whole_one() {
    let (one, two) = tenants();
    let stage = fleet(&one, &two);
    stage
        .run("drift tenants/one tenants/two")
        .code(0)
        .stdout_contains("== tenants/one  (http://127.0.0.1:")
        .stdout_contains("2 stacks: 2 in sync");
    two.change("shop/cart", |object| object["spec"]["port"] = json!(9));
    stage.edit("tenants/one/card.yaml", "port: 80", "port: 81");
    let output = stage.run("drift tenants/one tenants/two");
    output
        .code(4)
        .stdout_contains("PENDING  1 of 2")
        .stdout_contains("DRIFT  1 of 2")
        .stdout_contains("1 pending, 1 changed outside");
    output.stdout_contains("restore with:                 trueup apply tenants/two");
    // Two paths of one stack are one stack, whatever else there is.
    stage.run("drift tenants/two/cart.yaml tenants/two/card.yaml").code(3).does_not_say("stacks:");
    let lists = one.requests("GET");
    let answer = stage.run("drift tenants/two/cart.yaml tenants/two tenants/one --format json").code(4).json();
    assert_eq!(one.requests("GET") - lists, 2);
    assert_eq!(answer["kind"], "fleet");
    assert_eq!(answer["verdict"], "both");
    assert_eq!(answer["checks"][0]["verdict"], "drift");
    assert_eq!(answer["checks"][1]["verdict"], "pending");
}

#[test]
fn a_stack_that_cannot_be_checked_stops_no_other_and_is_no_success() {
    let (one, two) = tenants();
    let stage = fleet(&one, &two);
    stage.write("tenants/bad/trueup.yaml", "stack: bad\nbase_url: https://bad.example.net\n");
    stage.write("tenants/bad/x.yaml", "metadata: {name: x}\n");
    stage.write("tenants/poor/trueup.yaml", "stack: poor\nbase_url: https://poor.example.net\nnamespaces: [shop]\n");
    stage.write("tenants/poor/x.yaml", &definition("shop/x", 80));
    two.change("shop/cart", |object| object["spec"]["port"] = json!(9));
    let line = "drift tenants/bad tenants/one tenants/poor tenants/two";
    stage
        .run(line)
        .code(1)
        .stderr_contains("x.yaml:1:1")
        .stderr_contains("there is no API token")
        .stdout_contains("NOT CHECKED")
        .stdout_contains("4 stacks: 1 in sync, 1 changed outside, 2 not checked");
    let answer = stage.run(&format!("{line} --format json"));
    answer.stderr_ignored();
    let answer = answer.code(1).json();
    assert_eq!((&answer["failed"], &answer["verdict"]), (&json!(2), &json!("drift")));
    stage
        .run(&format!("{line} --format junit"))
        .code(1)
        .stdout_contains("errors=\"2\"")
        .stdout_contains("name=\"tenants/two: shop\"")
        .stdout_contains("classname=\"tenants/two: shop\"")
        .stderr_ignored();
    let metrics = stage.run(&format!("{line} --format prometheus"));
    metrics.code(1).stdout_contains("trueup_drift_unchecked{directory=\"tenants/poor\"} 1").stderr_ignored();
    assert_eq!(metrics.text().matches("# TYPE trueup_drift_verdict gauge").count(), 1, "a family stands together");
    stage
        .run(&format!("{line} --format github"))
        .code(1)
        .stdout_contains("::error file=tenants/poor/trueup.yaml,line=1,col=1,title=not checked%3A tenants/poor")
        .stderr_ignored();
    stage.run(&format!("{line} --format sarif")).code(1).stdout_contains("\"not-checked\"").stderr_ignored();
    let page = stage.run(&format!("{line} --format html"));
    page.code(1)
        .stdout_contains("<h1>Drift of 4 stacks</h1>")
        .stdout_contains("<strong>Failed:</strong> <code>tenants/poor</code>: there is no API token")
        .stderr_ignored();
    let markdown = stage.run(&format!("{line} --format markdown"));
    markdown
        .code(1)
        .stdout_contains(
            "<!-- trueup:fleet stack= -->\n### trueup drift: 4 stacks: 1 in sync, 1 changed outside, 2 not checked; ",
        )
        .stderr_ignored();
    assert_eq!(markdown.text().matches("<!--").count(), 1, "one report has one marker");
}

#[test]
fn a_fleet_fits_the_schema_of_drift() {
    let (one, two) = tenants();
    let stage = fleet(&one, &two);
    let schema = stage.run("schema --of drift").code(0).json();
    let validator = jsonschema::validator_for(&schema).expect("a schema");
    two.change("shop/cart", |object| object["spec"]["port"] = json!(9));
    for line in ["drift tenants/one tenants/two", "drift tenants/one tenants/two --shard 1/9", "drift tenants/two"] {
        let ran = stage.run(&format!("{line} --format json"));
        ran.stderr_ignored();
        let document: Value = ran.json();
        let faults: Vec<String> = validator.iter_errors(&document).map(|error| error.to_string()).collect();
        assert_eq!(faults, Vec::<String>::new(), "{line}");
    }
    assert!(!validator.is_valid(&json!({"kind": "fleet", "format_version": 1, "verdict": "in_sync"})));
    assert!(!validator.is_valid(&json!({"kind": "drift", "format_version": 1, "verdict": "in_sync"})));
}

#[test]
fn every_stack_of_a_list_is_one_shards_which_loads_no_other() {
    let (one, two) = tenants();
    let stage = fleet(&one, &two);
    let mut seen = Vec::new();
    for index in 1..=3 {
        let (before, ran) = ((one.requests("GET"), two.requests("GET")), format!("--shard {index}/3 --format json"));
        let answer = stage.run(&format!("drift tenants/one tenants/two {ran}")).code(0).json();
        assert_eq!(answer["shard"], json!({"index": index, "of": 3}));
        for (check, (service, before)) in
            answer["checks"].as_array().expect("a list").iter().zip([(&one, before.0), (&two, before.1)])
        {
            let is_ours = check["elsewhere"] != true;
            assert_eq!(service.requests("GET") > before, is_ours, "{check}");
            if is_ours {
                assert_eq!(check["plan"]["scope"].as_object().expect("both namespaces").len(), 2);
                seen.push(check["directory"].as_str().expect("a text").to_owned());
            }
        }
    }
    assert_eq!(seen.len(), 2, "{seen:?}");
    assert_eq!(seen.iter().collect::<BTreeSet<_>>().len(), 2);
    // A single stack is shared by its namespaces.
    let namespaces = |index: u32| {
        let answer = stage.run(&format!("drift tenants/one --shard {index}/2 --format json")).code(0).json();
        answer["plan"]["scope"].as_object().expect("an object").len()
    };
    assert_eq!(namespaces(1) + namespaces(2), 2);
}

#[test]
fn drift_states_and_acknowledgements_are_each_stacks_own() {
    let (one, two) = tenants();
    let stage = fleet(&one, &two);
    let check = "drift tenants/one tenants/two --drift-state memories --acknowledged drift-acknowledged.yaml";
    let none = "note: no stack has `drift-acknowledged.yaml` in its directory, so nothing is acknowledged";
    stage.run(check).code(0).stderr_contains(none);
    let files = std::fs::read_dir(stage.path("memories")).expect("the directory").map(|file| file.expect("a file"));
    // Each has its lock beside it.
    assert_eq!(files.filter(|file| !file.file_name().display().to_string().starts_with('.')).count(), 2);
    two.change("shop/cart", |object| object["spec"]["port"] = json!(9));
    stage.run(check).code(3).stdout_contains("seen in 1 check").stderr_contains(none);
    stage.run(&format!("{check} --quiet")).code(3).stdout_contains("seen in 2 checks").stderr("");
    let offered = stage.run("drift tenants/two --format acknowledgements");
    stage.write("tenants/two/drift-acknowledged.yaml", offered.code(3).text());
    stage.run(check).code(0).stdout_contains("accepted until");
    // The other stack accepts nothing.
    one.change("shop/cart", |object| object["spec"]["port"] = json!(9));
    stage.run(check).code(3);
}

#[test]
fn what_is_accepted_in_an_environment_is_drift_in_another_one() {
    let service = Service::start();
    let stage = Stage::new()
        .at(&service)
        .file(
            "a/trueup.yaml",
            "environments:\n  dev: {stack: a-dev, namespaces: [shop], variables: {n: shop}}\n  \
             prod: {stack: a-prod, namespaces: [pay], variables: {n: pay}}\n",
        )
        .file("a/cart.yaml", &definition("${n}/cart", 80))
        .applied("a --env dev")
        .applied("a --env prod");
    let port = |key: &str, port: u16| service.change(key, |object| object["spec"]["port"] = json!(port));
    port("shop/cart", 9);
    let offered = stage.run("drift a --env dev --format acknowledgements");
    stage.write("a/known.yaml", &offered.code(3).text().replace("shop/cart", "pay/cart"));
    port("shop/cart", 80);
    port("pay/cart", 9);
    // It is in no environment but dev, whatever its object.
    stage.run("drift a --env prod --acknowledged a/known.yaml").code(3).does_not_say("accepted until");
    stage.edit("a/known.yaml", "environment: dev", "environment: prod");
    let all = stage.run("drift a --env all --acknowledged known.yaml");
    all.code(0).stdout_contains("pay/cart spec.port: accepted until").does_not_say("no longer needed");
    let checks = stage.run("drift a --env all --acknowledged known.yaml --format json").code(0).text().to_owned();
    stage.write("checks.json", &checks);
    stage.run("fleet report checks.json").code(0);
}

#[test]
fn an_acknowledgement_of_an_unknown_environment_is_refused() {
    let service = Service::start();
    let stage = Stage::new()
        .at(&service)
        .file("a/trueup.yaml", "namespaces: [shop]\nenvironments:\n  prod: {stack: a-prod}\n")
        .file("a/cart.yaml", &definition("shop/cart", 80))
        .file("b/trueup.yaml", "stack: b\nnamespaces: [pay]\n")
        .file("b/till.yaml", &definition("pay/till", 80))
        .applied("a --env prod");
    service.change("shop/cart", |object| object["spec"]["port"] = json!(9));
    let accepted = stage.run("drift a --env prod --format acknowledgements").code(3).text().to_owned();
    stage.write("a/known.yaml", &accepted.replace("environment: prod", "environment: porod"));
    let unknown = "a/known.yaml` accepts `shop/cart` in the environment `porod`, which the settings do not have";
    let check = stage.run("drift a --env prod --acknowledged a/known.yaml");
    check.code(1).stderr_contains(unknown).stderr_contains("did you mean `prod`?");
    let check = stage.run("drift a --env all --acknowledged known.yaml");
    check.code(1).stderr_contains(unknown);
    // That of another stack is its own.
    stage.run("drift b --acknowledged a/known.yaml").code(2);
    stage.write("a/known.yaml", &accepted);
    stage.run("drift a --env prod --acknowledged a/known.yaml").code(0);
}

#[test]
fn a_renewal_keeps_what_is_accepted_outside_of_its_check_in_its_order() {
    let service = Service::start();
    let stage = Stage::new()
        .at(&service)
        .file(
            "a/trueup.yaml",
            "environments:\n  dev: {stack: a-dev, namespaces: [shop], variables: {n: shop}}\n  \
             prod: {stack: a-prod, namespaces: [pay], variables: {n: pay}}\n",
        )
        .file("a/cart.yaml", &definition("${n}/cart", 80))
        .file("a/till.yaml", &definition("${n}/till", 80))
        .applied("a --env dev")
        .applied("a --env prod");
    for key in ["shop/cart", "shop/till", "pay/cart", "pay/till"] {
        service.change(key, |object| object["spec"]["port"] = json!(9));
    }
    let renewed = |of: &str| {
        let line = format!("drift a {of} --acknowledged a/known.yaml --format acknowledgements");
        stage.write("a/known.yaml", stage.run(&line).text());
        let known = stage.read("a/known.yaml");
        let objects = known.lines().filter_map(|line| line.strip_prefix("- object: "));
        (objects.map(str::to_owned).collect::<Vec<_>>(), known.matches("OPS-17").count())
    };
    let accepted = stage.run("drift a --env dev --format acknowledgements").code(3).text().to_owned();
    stage.write("a/known.yaml", &accepted.replace("say why it is accepted", "OPS-17"));
    assert_eq!(
        renewed("--env prod --only pay/till"),
        (["shop/cart", "shop/till", "pay/till"].map(str::to_owned).to_vec(), 2)
    );
    let all = ["shop/cart", "shop/till", "pay/till", "pay/cart"].map(str::to_owned).to_vec();
    assert_eq!(renewed("--env prod --only pay/cart"), (all.clone(), 2));
    stage.run("drift a --env all --acknowledged known.yaml").code(0);
    assert_eq!(renewed("--env dev"), (all.clone(), 2));
    // One of all environments stays where another may need it.
    stage.write("a/known.yaml", &stage.read("a/known.yaml").replace("  environment: dev\n", ""));
    assert_eq!(renewed("--env prod"), (all.clone(), 2));
    let settings = stage.read("a/trueup.yaml");
    stage.write("a/trueup.yaml", &format!("stack: a\nnamespaces: [base, shop]\nvariables: {{n: base}}\n{settings}"));
    assert!(renewed("").0.starts_with(&all[..2]));
    let several = stage.run("drift a --env all --acknowledged known.yaml --format acknowledgements");
    several.code(64).stderr_contains("name one environment: --env NAME");
}

#[test]
fn the_files_of_an_environment_are_the_same_whether_the_call_names_it_or_all() {
    let service = Service::start();
    let stage = Stage::new()
        .at(&service)
        .file("a/trueup.yaml", "environments:\n  prod: {stack: a-prod, namespaces: [shop]}\n")
        .file("a/cart.yaml", &definition("shop/cart", 80))
        .file("b/trueup.yaml", "stack: b\nnamespaces: [pay]\n")
        .file("b/till.yaml", &definition("pay/till", 80));
    stage.run("apply a --env prod --yes --quiet").code(0);
    stage.run("apply b --yes --quiet").code(0);
    let named = "a b --env prod --skip-missing-env";
    // The runs are another machine's.
    let memory = "--state ../elsewhere --drift-state memories";
    stage.run(&format!("drift a b --env all {memory}")).code(0);
    stage.run("snapshot a b --env all -o live").code(0);
    stage.run(&format!("plan {named} --live live")).code(0);
    service.delete("shop/cart");
    for environment in ["all", "prod --skip-missing-env"] {
        let check = stage.run(&format!("drift a b --env {environment} {memory}"));
        check.code(3).stdout_contains("deleted outside");
    }
    stage.run(&format!("drift {named} {memory}")).code(3).stdout_contains("seen in 3 checks");
    // Version 0.2 left the environment out that a call names.
    let mut files = std::fs::read_dir(stage.path("memories"))
        .expect("the directory")
        .map(|file| file.expect("a file").file_name().into_string().expect("UTF-8"));
    let is_of_environment = |name: &String| !name.starts_with('.') && name.ends_with("_a-prod_prod.json");
    let new = files.find(is_of_environment).expect("the file of the environment");
    let old = new.replace("_prod.json", ".json");
    std::fs::rename(stage.path("memories").join(new), stage.path("memories").join(old)).expect("a file");
    stage.run(&format!("drift {named} {memory}")).code(3).stdout_contains("seen in 4 checks");
}

#[test]
fn what_is_for_one_stack_is_refused_for_several() {
    let (one, two) = tenants();
    let stage = fleet(&one, &two);
    let line = "drift tenants/one tenants/two";
    stage.run(&format!("{line} --format acknowledgements")).code(64).stderr_contains("is for one stack");
    stage.run(&format!("{line} --live live.json")).code(64).stderr_contains("a snapshot is of one service");
    stage
        .run("drift tenants/one --base main")
        .code(64)
        .stderr_contains("unexpected argument '--base' found")
        .stderr_contains("trueup plan --base REF");
}
