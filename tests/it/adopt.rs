//! `pull --drift`: the definitions take over what was changed outside, and not a byte more.

use serde_json::json;

use crate::support::{Service, Stage, definition};

const CART: &str = "\
# the cart
metadata:
  name: cart
  namespace: shop
  labels: {tier: db, team: 'a'}  # as agreed
  description: 'a'
spec:
  ip: 10.0.0.7   # überall
  port: 8080\r
";

const SEARCH: &str = "\
metadata: {name: search, namespace: shop}
spec:
  dns_name: search.example.net
  port: &port 80
  health_check_port: *port
";

fn applied(service: &Service) -> Stage {
    Stage::new()
        .at(service)
        .file("stack/trueup.yaml", "stack: shop\nnamespaces: [shop]\n")
        .file("stack/cart.yaml", CART)
        .file("stack/search.yaml", SEARCH)
        .applied("stack")
}

#[test]
fn a_check_of_an_environment_without_an_overlay_proposes_the_definitions() {
    let service = Service::start();
    let settings = "stack: shop\nnamespaces: [shop]\nenvironments:\n  dev: {}\n  prod: {overlay: prod}\n";
    let stage = Stage::new().at(&service).file("trueup.yaml", settings).file("a.yaml", &definition("shop/cart", 80));
    stage.run("apply . --env dev --yes --quiet").code(0);
    service.change("shop/cart", |object| object["spec"]["port"] = json!(81));
    stage.run("drift . --env dev --write json=drift.json").code(3).stdout_contains("--env dev --into base\n");
    stage.run("fleet report drift.json").code(3).stdout_contains("--env dev --into base\n");
    stage.run("drift . --env prod").code(3).does_not_say("--into");
    stage.run("pull --drift . --env dev --into base").code(0).stdout_contains("spec.port");
    assert!(stage.read("a.yaml").contains("port: 81"));
}

#[test]
fn the_files_take_over_just_what_was_changed_outside() {
    let service = Service::start();
    let stage = applied(&service);
    service.change("shop/cart", |object| {
        object["spec"]["port"] = json!(9999);
        object["spec"]["protocol"] = json!("UDP");
        object["spec"].as_object_mut().expect("a spec").remove("ip");
        object["spec"]["dns_name"] = json!("cart.example.net");
        object["metadata"]["labels"] = json!({"team": "b", "zone": "1"});
        object["metadata"]["description"] = json!("b's");
    });
    stage.run("drift stack").code(3).stdout_contains("pull --drift stack");
    stage
        .run("pull --drift stack")
        .code(0)
        .stdout_contains("Taken over from live:")
        .stdout_contains("stack/cart.yaml:9")
        .stdout_contains("1 file was edited.   Look at it: git diff ");
    let expected = CART
        .replace("{tier: db, team: 'a'}", "{team: 'b', zone: \"1\"}")
        .replace("description: 'a'", "description: 'b''s'")
        .replace("ip: 10.0.0.7 ", "dns_name: cart.example.net ")
        .replace("8080\r\n", "9999\r\n  protocol: UDP\r\n");
    assert_eq!(stage.read("stack/cart.yaml"), expected);
    assert_eq!(stage.read("stack/search.yaml"), SEARCH);
    stage.run("drift stack").code(0).stdout_contains("In sync");
    stage.run("pull --drift stack").code(0).stdout_contains("No drift");
}

#[test]
fn the_places_are_those_after_the_edit() {
    let service = Service::start();
    let document = |name: &str| {
        format!(
            "metadata: {{name: {name}, namespace: shop}}\nspec:\n  ip: 10.0.0.1\n  port: &{name} 80\n  health_check_port: *{name}\n---\n"
        )
    };
    let plain = |name: &str| document(name).replace(&format!("&{name} 80"), "80").replace(&format!("*{name}"), "90");
    let stage = Stage::new()
        .at(&service)
        .file("trueup.yaml", "stack: shop\nnamespaces: [shop]\n")
        .file("all.yaml", &[plain("a"), plain("b"), document("c"), plain("d")].concat())
        .applied(".");
    service.change("shop/a", |object| object["spec"]["protocol"] = json!("UDP"));
    service.change("shop/b", |object| object["spec"]["port"] = json!(9999));
    service.change("shop/c", |object| object["spec"]["port"] = json!(9999));
    service.delete("shop/d");
    let pulled = stage.run("pull --drift .");
    pulled.code(3).stdout_contains("remove all.yaml:20 to keep that");
    let lines: Vec<String> = stage.read("all.yaml").lines().map(str::to_owned).collect();
    for (key, text) in [("shop/a", "  protocol: UDP"), ("shop/b", "  port: 9999"), ("shop/c", "  port: &c 80")] {
        let line = pulled.text().lines().find(|line| line.contains(key)).expect("a line");
        let at = line.split_once("all.yaml:").expect("a place").1.split(' ').next().expect("a number");
        assert_eq!(lines[at.parse::<usize>().expect("a number") - 1], text, "{line}");
    }
}

#[test]
fn the_drift_of_an_object_whose_definition_came_from_another_stack_is_taken_over() {
    let service = Service::start();
    let stage = applied(&service).file("other/trueup.yaml", "stack: other\nnamespaces: [shop]\n");
    std::fs::rename(stage.path("stack/search.yaml"), stage.path("other/search.yaml")).expect("a file");
    service.change("shop/search", |object| object["spec"]["dns_name"] = json!("other.example.net"));
    stage.run("drift other").code(3).stdout_contains("pull --drift other");
    stage.run("pull --drift other").code(0).stdout_contains("shop/search").stdout_contains("spec.target");
    assert_eq!(stage.read("other/search.yaml"), SEARCH.replace("search.example.net", "other.example.net"));
}

#[test]
fn what_cannot_be_edited_in_place_is_reported() {
    let service = Service::start();
    let stage = applied(&service);
    service.change("shop/search", |object| object["spec"]["port"] = json!(81));
    service.change("shop/cart", |object| object["spec"]["port"] = json!(1));
    stage.edit("stack/cart.yaml", "port: 8080", "port: 2");
    stage
        .run("pull --drift stack")
        .code(3)
        .stdout_contains("Left as it is:")
        .stdout_contains("it carries an anchor")
        .stdout_contains("changed here and outside: decide")
        .stdout_contains("no file was edited");
    assert_eq!(stage.read("stack/search.yaml"), SEARCH);
    service.delete("shop/search");
    stage.run("pull --drift stack").code(3).stdout_contains("deleted outside: remove stack/search.yaml:1 to keep that");
}

#[test]
fn nothing_is_taken_over_from_an_incomplete_read() {
    let service = Service::start();
    let stage = applied(&service);
    service.change("shop/cart", |object| object["spec"]["port"] = json!(1));
    service.misbehave("rules: [{operation: endpoint-list, partial: {missing: 1}}]");
    stage.run("pull --drift stack").code(5).stderr_contains("nothing was written");
    assert_eq!(stage.read("stack/cart.yaml"), CART);
}

/// A stack with two environments, `prod` applied.
fn environments(service: &Service) -> Stage {
    let settings = "namespaces: [shop]\nenvironments:\n  prod: {stack: shop, overlay: o/prod}\n  live: {stack: shop}\n";
    Stage::new()
        .at(service)
        .file("stack/trueup.yaml", settings)
        .file("stack/cart.yaml", CART)
        .file("stack/search.yaml", SEARCH)
        .applied("stack --env prod")
}

#[test]
fn an_environment_takes_its_drift_into_its_overlay_and_leaves_the_shared_definitions() {
    let service = Service::start();
    let stage = environments(&service);
    service.change("shop/cart", |object| {
        object["spec"]["port"] = json!(9999);
        object["metadata"]["labels"] = json!({"team": "b"});
    });
    service.delete("shop/search");
    let pulled = stage.run("pull --drift stack --env prod");
    pulled.code(0).stdout_contains("stack/o/prod/shop/cart.yaml:").stdout_contains("removed in the overlay");
    pulled.stdout_contains("2 files were edited.   Look at it: git status -u ");
    assert_eq!((stage.read("stack/cart.yaml"), stage.read("stack/search.yaml")), (CART.to_owned(), SEARCH.to_owned()));
    let overlay = "metadata:\n  name: cart\n  namespace: shop\n  labels: {team: b, tier: null}\nspec: {port: 9999}\n";
    assert_eq!(stage.read("stack/o/prod/shop/cart.yaml"), overlay);
    let removal = "$remove: true\nmetadata:\n  name: search\n  namespace: shop\n";
    assert_eq!(stage.read("stack/o/prod/shop/search.yaml"), removal);
    stage.run("drift stack --env prod").code(0).stdout_contains("In sync");
    // The next drift is edited in the document that is there.
    stage.run("apply stack --env prod --yes --quiet").code(0);
    service.change("shop/cart", |object| object["spec"]["port"] = json!(1));
    stage.run("pull --drift stack --env prod --into overlay").code(0);
    assert_eq!(stage.read("stack/o/prod/shop/cart.yaml"), overlay.replace("9999", "1"));
    stage.run("validate stack --env live").code(0).stdout_contains("2 endpoints");
}

/// The name of a definition may be another one in each environment.
#[test]
fn what_extends_the_overlay_gets_the_change_of_its_own_definition() {
    let service = Service::start();
    let settings = "namespaces: [shop]\nenvironments:\n  eu: {stack: eu, overlay: o/eu, variables: {region: eu}}\n  \
                    eu-test: {extends: eu, stack: eu-test, variables: {region: eu-test}}\n";
    let stage = Stage::new().at(&service).file("trueup.yaml", settings);
    for name in ["cart", "pay"] {
        stage.write(&format!("{name}.yaml"), &definition(&format!("shop/{name}-${{region}}"), 80));
    }
    stage.run("apply . --env eu --yes --quiet").code(0);
    service.change("shop/cart-eu", |object| object["spec"]["port"] = json!(81));
    service.delete("shop/pay-eu");
    let warning = "warning: the overlay o/eu also changes `eu-test`";
    stage.run("pull --drift . --env eu").code(0).stderr_contains(warning).does_not_say("does not load");
    let overlay = "metadata:\n  name: cart-${region}\n  namespace: shop\nspec: {port: 81}\n";
    assert_eq!(stage.read("o/eu/shop/cart-eu.yaml").replace('"', ""), overlay);
    stage.run("drift . --env eu").code(0);
    let test = stage.run("explain shop/cart-eu-test . --env eu-test");
    test.code(0).stdout_contains("81");
    stage.run("validate . --env eu-test").code(0).stdout_contains("1 endpoint");
}

#[test]
fn an_environment_that_loads_no_more_after_a_pull_is_named() {
    let service = Service::start();
    let settings = "namespaces: [shop]\nenvironments:\n  eu: {stack: eu, overlay: o/eu}\n  \
                    eu-test: {extends: eu, stack: eu-test, overlay: o/test}\n  bad: {overlay: o/bad}\n";
    let stage = Stage::new().at(&service).file("trueup.yaml", settings);
    for name in ["cart", "pay"] {
        stage.write(&format!("{name}.yaml"), &definition(&format!("shop/{name}"), 80));
    }
    let of_pay = |port| format!("metadata: {{name: pay, namespace: shop}}\nspec: {{port: {port}}}\n");
    stage.write("o/test/pay.yaml", &of_pay(90));
    stage.write("o/bad/pay.yaml", &of_pay(-1));
    stage.run("apply . --env eu --yes --quiet").code(0);
    service.delete("shop/pay");
    let pulled = stage.run("pull --drift . --env eu");
    pulled.code(3).stderr_contains("the overlay o/eu also changes `eu-test`").does_not_say("`bad`");
    pulled.stderr_contains("`eu-test` does not load any more; to see why: trueup validate . --env eu-test");
    stage.run("validate . --env eu-test").code(1).stderr_contains("which another overlay removes");
}

#[test]
fn a_name_that_yaml_takes_for_no_text_is_quoted_in_a_new_overlay_file() {
    let service = Service::start();
    let stage = environments(&service);
    let named = |text: &str| text.replace("name: cart", "name: \"null\"").replace("name: search,", "name: \"true\",");
    stage.write("stack/more.yaml", &format!("{}---\n{}", named(CART), named(SEARCH)));
    stage.run("apply stack --env prod --yes --quiet").code(0);
    service.change("shop/null", |object| object["spec"]["port"] = json!(9999));
    service.delete("shop/true");
    stage.run("pull --drift stack --env prod").code(0).stdout_contains("removed in the overlay");
    stage.run("drift stack --env prod").code(0).stdout_contains("In sync");
}

#[test]
fn what_was_deleted_outside_and_the_overlay_changes_is_never_removed_from_the_shared_definitions() {
    let service = Service::start();
    let stage = environments(&service);
    stage.write("stack/o/prod/more.yaml", "metadata: {name: search, namespace: shop}\nspec: {port: 81}\n");
    stage.run("apply stack --env prod --yes --quiet").code(0);
    service.delete("shop/search");
    stage
        .run("pull --drift stack --env prod")
        .code(3)
        .stdout_contains("remove it with `$remove: true` in stack/o/prod/more.yaml")
        .does_not_say("stack/search.yaml");
    stage.write("stack/o/prod/more.yaml", "$remove: true\nmetadata: {name: search, namespace: shop}\n");
    stage.run("drift stack --env prod").code(0).stdout_contains("In sync");
    stage.run("validate stack --env live").code(0).stdout_contains("2 endpoints");
}

#[test]
fn a_pull_leaves_the_definitions_that_an_overlay_changes() {
    let service = Service::start();
    let stage = environments(&service);
    stage.write("stack/shop/cart.yaml", CART);
    stage.remove("stack/cart.yaml");
    stage.write("stack/o/prod/cart.yaml", "metadata: {name: cart, namespace: shop}\nspec: {port: 81}\n");
    stage.run("apply stack --env prod --yes --quiet").code(0);
    stage
        .run("pull -n shop --only shop/cart --env prod -o stack --overwrite")
        .code(0)
        .stderr_contains("the overlay o/prod/cart.yaml changes it; `pull --drift` edits it in place");
    assert_eq!(stage.read("stack/shop/cart.yaml"), CART);
}

#[test]
fn the_last_definition_of_an_environment_is_removed_only_where_it_may_have_none() {
    let service = Service::start();
    let settings = "namespaces: [shop]\nenvironments: {prod: {stack: shop, overlay: o/prod}}\n";
    let stage = Stage::new().at(&service).file("trueup.yaml", settings).file("cart.yaml", &definition("shop/cart", 80));
    stage.run("apply . --env prod --yes --quiet").code(0);
    service.delete("shop/cart");
    let left = "deleted outside: to keep that, set `allow_empty: true` first, because nothing else is defined";
    stage.run("pull --drift . --env prod").code(3).stdout_contains(left).stdout_contains("no file was edited");
    stage.run("plan . --env prod").code(0);
    stage.edit("trueup.yaml", "namespaces:", "allow_empty: true\nnamespaces:");
    stage.run("pull --drift . --env prod").code(0).stdout_contains("removed in the overlay");
    stage.run("plan . --env prod").code(0);
}

#[test]
fn what_environments_share_is_written_only_on_request() {
    let service = Service::start();
    let stage = environments(&service);
    service.change("shop/cart", |object| object["spec"]["port"] = json!(9999));
    stage
        .run("pull --drift stack --env live")
        .code(6)
        .stderr_contains("the environment `live` has no overlay of its own")
        .stderr_contains("--into base");
    assert_eq!(stage.read("stack/cart.yaml"), CART);
    stage.run("pull --drift stack --into overlay").code(64).stderr_contains("choose one with --env");
    stage.run("pull --drift stack --env live --into base").code(0).stdout_contains("stack/cart.yaml:9");
    assert_eq!(stage.read("stack/cart.yaml"), CART.replace("8080", "9999"));
    assert!(!stage.path("stack/o").exists());
}

#[test]
fn an_overlay_that_another_environment_extends_is_written_with_a_warning() {
    let service = Service::start();
    let settings = "namespaces: [shop]\nenvironments:\n  prod: {stack: shop, overlay: o/prod}\n  prod-eu: {extends: prod, \
                    stack: shop-eu, overlay: o/eu}\n";
    let stage = Stage::new().at(&service).file("trueup.yaml", settings).file("cart.yaml", &definition("shop/cart", 80));
    stage.run("apply . --env prod --yes --quiet").code(0);
    let by_hand = |port: u16| service.change("shop/cart", |object| object["spec"]["port"] = serde_json::json!(port));
    by_hand(81);
    let warning = "warning: the overlay o/prod also changes `prod-eu`, which uses it, too\n";
    stage.run("pull --drift . --env prod --into overlay").code(0).stderr_contains(warning);
    // Nothing extends the other one.
    stage.run("apply . --env prod-eu --yes --quiet --allow foreign-stack=shop/cart").code(0);
    by_hand(82);
    stage.run("pull --drift . --env prod-eu --into overlay").code(0).does_not_say("warning");
}

#[cfg(unix)]
#[test]
fn an_overlay_that_another_environment_has_by_a_link_is_written_with_the_same_warning() {
    let service = Service::start();
    let settings = "namespaces: [shop]\nenvironments:\n  prod: {stack: shop, overlay: o/prod}\n  prod-eu: {stack: shop-eu, \
                    overlay: o/eu}\n";
    let stage = Stage::new().at(&service).file("trueup.yaml", settings).file("cart.yaml", &definition("shop/cart", 80));
    stage.write("o/prod/cart.yaml", &definition("shop/cart", 80));
    std::os::unix::fs::symlink("prod", stage.path("o/eu")).expect("a link");
    stage.run("apply . --env prod --yes --quiet").code(0);
    service.change("shop/cart", |object| object["spec"]["port"] = serde_json::json!(81));
    let warning = "warning: the overlay o/prod also changes `prod-eu`, which uses it, too\n";
    stage.run("pull --drift . --env prod --into overlay").code(0).stderr_contains(warning);
}

#[test]
fn a_value_of_an_object_that_nobody_owns_is_left_to_whoever_decides() {
    let service = Service::start();
    let by_hand =
        |key: &str| json!({"metadata": {"name": key, "namespace": "shop"}, "spec": {"ip": "10.0.0.7", "port": 80}});
    service.create(&by_hand("cart"));
    let stage = Stage::new().at(&service).file("stack/trueup.yaml", "stack: shop\nnamespaces: [shop]\n");
    stage.run("pull -n shop -o stack").code(0).stderr_ignored();
    let file = "stack/shop/cart.yaml";
    stage.edit(file, "port: 80", "port: 8080");
    let edited = stage.read(file);
    stage
        .run("pull --drift stack")
        .code(3)
        .stdout_contains("spec.port")
        .stdout_contains("not known whose change it is: decide")
        .stdout_contains("no file was edited");
    assert_eq!(stage.read(file), edited);
}

#[test]
fn a_comment_is_not_removed_with_what_was_removed_outside() {
    let service = Service::start();
    let place = "  where:\n    virtual_site:\n      # the edge, as agreed\n      ref:\n      - name: all\n";
    let stage = Stage::stack(&service, "shop")
        .file("cart.yaml", &format!("{}{place}", definition("shop/cart", 80)))
        .applied(".");
    let before = stage.read("cart.yaml");
    service.change("shop/cart", |object| {
        object["spec"].as_object_mut().expect("a spec").remove("where");
    });
    stage.run("pull --drift .").code(3).stdout_contains("it contains a comment: edit it by hand");
    assert_eq!(stage.read("cart.yaml"), before);
}

#[cfg(unix)]
#[test]
fn a_definition_that_is_a_link_is_left_and_the_others_are_edited() {
    let service = Service::start();
    let stage = Stage::stack(&service, "shop")
        .file(".shared/a.yaml", &definition("shop/a", 80))
        .file("b.yaml", &definition("shop/b", 80));
    std::os::unix::fs::symlink(".shared/a.yaml", stage.path("a.yaml")).expect("a link");
    let stage = stage.applied(".");
    for key in ["shop/a", "shop/b"] {
        service.change(key, |object| object["spec"]["port"] = json!(81));
    }
    stage
        .run("pull --drift .")
        .code(3)
        .stdout_contains("its file is a link")
        .stdout_contains("a.yaml:6")
        .stdout_contains("1 file was edited.");
    assert_eq!(stage.read("a.yaml"), definition("shop/a", 80));
    assert_eq!(stage.read("b.yaml"), definition("shop/b", 81));
}

#[test]
fn what_an_overlay_does_not_take_over_is_left_at_its_place_in_the_overlay() {
    let service = Service::start();
    let settings =
        "namespaces: [shop]\nfiles: {exclude: [o/**/b.yaml]}\nenvironments:\n  prod: {stack: s, overlay: o}\n";
    let other = |port: u16| definition("shop/other", port);
    let mut stage = Stage::new().at(&service).file("trueup.yaml", settings).file("other.yaml", &other(80));
    for name in ["a", "b", "c"] {
        stage = stage.file(&format!("{name}.yaml"), &definition(&format!("shop/{name}"), 80));
    }
    // The file of one has another document, that of the next one is not read, and the last one says it already.
    stage.write("o/shop/a.yaml", "metadata: {name: other, namespace: shop}\nspec: {port: 81}\n");
    stage.write("o/c.yaml", "metadata: {name: c, namespace: shop}\nspec:\n  port: ${port}\n");
    stage.edit("trueup.yaml", "namespaces", "variables: {port: 82}\nnamespaces");
    stage.run("apply . --env prod --yes --quiet").code(0);
    for key in ["shop/a", "shop/b", "shop/c"] {
        service.change(key, |object| object["spec"]["port"] = json!(90));
    }
    let pulled = stage.run("pull --drift . --env prod");
    pulled.code(3).stdout_contains("  o/shop/a.yaml  it is written in a way").stdout_contains("  o  an edit in place");
    pulled.stdout_contains("  o/c.yaml:3  a variable is in it");
}

#[test]
fn the_plan_that_is_proposed_has_no_filter_that_the_take_over_left_empty() {
    let service = Service::start();
    let stage = environments(&service);
    let is_proposed = |words: &[&str], next: &str| {
        let pulled = stage.run_words(&[&["pull", "--env", "prod", "--drift"], words].concat());
        pulled.code(0).stdout_contains(&format!("Next:  trueup plan {next}\n"));
        stage.run(&format!("plan {next}")).code(0);
    };
    service.change("shop/cart", |cart| cart["metadata"]["labels"]["tier"] = json!("web"));
    is_proposed(&["stack", "--selector", "tier=db"], "stack --env prod");
    service.change("shop/cart", |cart| cart["spec"]["port"] = json!(1));
    is_proposed(&["stack", "--selector", "tier=web"], "stack --selector tier=web --env prod");
    service.delete("shop/search");
    is_proposed(&["stack/search.yaml"], "stack --env prod");
}
