//! `get`: live endpoints as a table, as definitions and as JSON.

use serde_json::json;

use crate::support::{Service, Stage, definition};

/// A service with two namespaces, one endpoint of which nobody manages.
fn staged() -> (Service, Stage) {
    let service = Service::start();
    let stage = Stage::new()
        .at(&service)
        .file("trueup.yaml", "stack: s\nnamespaces: [shop, pay]\n")
        .file("cart.yaml", &definition("shop/cart", 80).replace("spec:", "  labels: {tier: web}\nspec:"))
        .file("card.yaml", &definition("pay/card", 443))
        .applied(".");
    service.create(&json!({
        "metadata": {"name": "search", "namespace": "shop", "labels": {"tier": "db"}},
        "spec": {"dns_name": "search.example.net", "protocol": "UDP",
            "where": {"site": {"ref": [{"name": "ce01", "namespace": "system"}]}}}
    }));
    (service, stage)
}

#[test]
fn the_table_shows_every_endpoint_of_the_stack_and_who_owns_it() {
    let (_service, stage) = staged();
    let ran = stage.run("get");
    ran.code(0);
    let lines: Vec<&str> = ran.text().lines().map(str::trim_end).collect();
    assert!(lines[0].starts_with("ENDPOINT     TARGET              PORT  WHERE"), "{lines:?}");
    assert!(lines[1].starts_with("pay/card     10.0.0.7             443  -"), "{lines:?}");
    assert!(lines[2].starts_with("shop/cart    10.0.0.7              80  -"), "{lines:?}");
    assert!(lines[2].contains("  s  "), "{lines:?}");
    assert!(
        lines[3].starts_with("shop/search  search.example.net     0  site ref[0] system/ce01, network_type"),
        "{lines:?}"
    );
    assert!(lines[3].contains("  -  "), "{lines:?}");
    assert!(lines[3].ends_with(" UTC"), "{lines:?}");
    assert_eq!(lines.len(), 4);
}

#[test]
fn arguments_and_filters_choose_and_columns_are_fields() {
    let (_service, stage) = staged();
    let of = |line: &str| stage.run(line).code(0).text().replace(' ', "");
    assert_eq!(of("get pay --columns endpoint,port"), "ENDPOINTPORT\npay/card443\n");
    assert_eq!(of("get shop/cart --columns name,labels"), "NAMELABELS\ncarttier=web\n");
    assert_eq!(of("get shop/s* pay --columns endpoint"), "ENDPOINT\npay/card\nshop/search\n");
    assert_eq!(of("get -n shop -l tier=db --columns endpoint,spec.protocol"), "ENDPOINTPROTOCOL\nshop/searchUDP\n");
    assert_eq!(of("get --except shop/* --columns endpoint,labels.tier"), "ENDPOINTtier\npay/card-\n");
}

#[test]
fn a_field_of_endpoints_is_shown_of_another_kind_that_has_it() {
    let service = Service::start();
    let pool = |name: &str, port: &str| {
        let servers = "origin_servers: [{public_ip: {ip: 192.0.2.1}}]";
        format!(
            "kind: origin_pool\nmetadata: {{name: {name}, namespace: shop}}\nspec: {{{servers}, no_tls: {{}}, {port}}}\n"
        )
    };
    let stage = Stage::new()
        .at(&service)
        .file("trueup.yaml", "stack: s\nnamespaces: [shop]\nkinds: [origin_pool]\n")
        .file("cart.yaml", &definition("shop/cart", 80))
        .file("a.yaml", &pool("a", "port: 8443"))
        .file("b.yaml", &pool("b", "lb_port: {}"))
        .applied(".");
    let table =
        stage.run("get shop/cart origin_pool:shop --columns endpoint,spec.port").code(0).text().replace(' ', "");
    assert_eq!(table, "OBJECTPORT\nshop/cart80\norigin_pool:shop/a8443\norigin_pool:shop/b-\n");
}

#[test]
fn definitions_load_as_what_is_live() {
    let (_service, stage) = staged();
    let yaml = stage.run("get shop --format yaml").code(0).text().to_owned();
    assert!(!yaml.contains("trueup/"), "{yaml}");
    stage.remove("cart.yaml");
    stage.write("shop.yaml", &yaml);
    stage.run("plan . --detailed-exitcode").code(0);
}

#[test]
fn json_names_the_reads_and_what_only_the_service_knows() {
    let (service, stage) = staged();
    let listed = stage.run("get --format json").code(0).json();
    assert_eq!((&listed["kind"], &listed["format_version"]), (&json!("endpoints"), &json!(1)));
    assert_eq!(listed["service"], json!({"base_url": service.url(), "layout": "uniform"}));
    assert_eq!(listed["namespaces"], json!({"pay": {"complete": true}, "shop": {"complete": true}}));
    let cart = &listed["endpoints"][1];
    assert_eq!((&cart["key"], &cart["stack"], &cart["deleting"]), (&json!("shop/cart"), &json!("s"), &json!(false)));
    assert_eq!(cart["endpoint"]["spec"]["port"], 80);
    assert_eq!(cart["uid"], service.get("shop/cart")["system_metadata"]["uid"]);
    assert_eq!(listed["endpoints"][2]["stack"], json!(null));
}

#[test]
fn what_cannot_be_read_is_reported_once_beside_what_can() {
    let (service, stage) = staged();
    service.misbehave("rules: [{operation: endpoint-list, namespace: shop, status: {code: 403}}]");
    let ran = stage.run("get");
    ran.code(5).stdout_contains("pay/card").stderr_contains("error: could not read `shop`: ").does_not_say("shop/cart");
    assert_eq!(ran.stderr_lines(), 1);
    let listed = stage.run("get --format json");
    listed.code(5).stderr_contains("could not read `shop`");
    assert_eq!(listed.json()["namespaces"]["shop"]["complete"], false);
    service.misbehave("rules: [{operation: endpoint-list, status: {code: 403}}]");
    let ran = stage.run("get");
    ran.code(5).stderr_contains("could not read `pay` and `shop`: ").stdout("");
    assert_eq!(ran.stderr_lines(), 1);
}

#[test]
fn an_item_that_cannot_be_represented_is_listed_and_left_out_of_definitions() {
    let (service, stage) = staged();
    service.plant(&json!([{"metadata": {"name": "odd", "namespace": "pay"}, "raw_spec": {"port": 1}}]));
    stage.run("get pay").code(0).stdout_contains("pay/odd   not supported: ");
    stage.run("get pay --format yaml").code(7).stderr_contains("left out: pay/odd: ").does_not_say("name: odd");
    let listed = stage.run("get pay/odd --format json").code(0).json();
    assert_eq!(listed["endpoints"][0]["object"]["metadata"]["name"], "odd");
}

#[test]
fn what_no_definition_may_contain_is_left_out_of_definitions() {
    let (service, stage) = staged();
    service.create(
        &json!({"metadata": {"name": "odd", "namespace": "pay", "labels": {"a key": "x"}}, "spec": {"ip": "10.0.0.1"}}),
    );
    let ran = stage.run("get pay --format yaml");
    ran.code(7).stderr_contains("left out: pay/odd: a definition must not contain it: ").does_not_say("name: odd");
    ran.stdout_contains("name: card");
}

#[test]
fn a_misspelt_name_column_or_filter_is_an_error_that_helps() {
    let (_service, stage) = staged();
    stage
        .run("get shop/crat")
        .code(1)
        .stderr("error: there is no live endpoint `shop/crat`\n  did you mean `shop/cart`?\n");
    let named = stage.run("get shop/nothing-like-it --config trueup.yaml");
    named.code(1).stderr_contains("trueup get shop --config trueup.yaml\n");
    stage.run("get --columns traget").code(64).stderr_contains("did you mean `target`?").stderr_contains("labels.KEY");
    let ran = stage.run("get -l tier=cache");
    ran.code(64).stderr_contains("`--selector` matches nothing").does_not_say("nothing was sent");
    let unmatched = "`zz/*` matches nothing";
    stage.run("get shop --only zz/* --only shop/cart").code(64).stderr_contains(unmatched).stdout("");
    stage.run("get shop/s* pay/zz* --only shop/*").code(0).stdout_contains("shop/search");
    // A filter chooses among what the arguments name.
    let chosen = stage.run("get shop/* --only */search");
    chosen.code(0).stdout_contains("shop/search").does_not_say("shop/cart");
    stage.run("get shop/cart --only shop/search").code(64).stderr_contains("the filters of this call select nothing");
    stage.run("get --format json --columns name").code(64).stderr_contains("--columns");
    for format in ["", " --format yaml"] {
        let ran = stage.run(&format!("get nosuch{format}"));
        ran.code(0).stderr("Nothing is in nosuch, or there is no such namespace.\n").stdout("");
    }
    // A filter that leaves a namespace out says nothing about it.
    stage
        .run("get shop -n nosuch")
        .code(64)
        .stderr_contains("`--namespace nosuch` is not the namespace of an argument");
    for (given, meant) in [("cart", "shop/cart"), ("origin_pool", "origin_pool:shop"), ("endpoints", "endpoint:shop")] {
        let ran = stage.run(&format!("get {given} -n shop"));
        ran.code(64).stderr_contains(&format!("did you mean `{meant}`?\n"));
    }
    stage.run("get Shop").code(64).stderr_contains("the namespace `Shop` ");
    let of_kind = "the objects of that kind in a namespace are";
    stage.run("get origin_pools").code(64).stderr_contains(&format!("{of_kind} `origin_pool:NAMESPACE`\n"));
    stage.run("get healthchecks").code(0).stderr_contains(&format!("{of_kind} `healthcheck:NAMESPACE`\n"));
    let bare = Stage::new().env("TRUEUP_BASE_URL", "http://127.0.0.1:9").env("TRUEUP_TOKEN", "t");
    bare.run("get").code(64).stderr_contains("trueup get NAMESPACE");
}
