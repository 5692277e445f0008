//! Environments that set everything the top level may set, through the binary: what is planned, saved, compared with a
//! base and limited by a policy are the settings of the environment.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::support::{Service, Stage, commit, definition, git};

const SETTINGS: &str = "\
stack: shop-dev
namespaces: [shop]
defaults:
  guards: {percent: 20, least: 1}
environments:
  live: {stack: shop-live, gates: {upgrade: block}}
  prod: {extends: live, stack: shop, guards: {percent: 10}, prune: none, ignore: [{object: '*', field: labels.x}], version_checked: true}
";

fn stage(service: &Service) -> Stage {
    let stage = Stage::new().at(service).file("trueup.yaml", SETTINGS);
    (0..4).fold(stage, |stage, n| stage.file(&format!("e{n}.yaml"), &definition(&format!("shop/e{n}"), 80)))
}

fn safeguards(stage: &Stage, line: &str) -> Value {
    let plan = stage.run(&format!("plan . --format json {line}"));
    plan.code(0).json()["plan"]["settings"]["safeguards"].clone()
}

#[test]
fn a_plan_has_the_settings_of_its_environment_and_its_digest_covers_them() {
    let service = Service::start();
    let stage = stage(&service);
    let prod = safeguards(&stage, "--env prod");
    assert_eq!(prod["guards"], json!({"percent": 10, "least": 1}));
    assert_eq!(
        (&prod["gates"]["upgrade"], &prod["prune"], &prod["version_checked"]),
        (&json!("block"), &json!("none"), &json!(true))
    );
    assert_eq!(prod["ignore"].as_array().map(Vec::len), Some(1));
    let dev = safeguards(&stage, "");
    assert_eq!(
        (&dev["guards"]["percent"], &dev["gates"]["upgrade"], &dev["prune"]),
        (&json!(30), &json!("warn"), &json!("owned"))
    );
    // The variable of the process chooses an environment as the flag does, and the plan names it.
    let digest = |line: &str| stage.run(&format!("plan . --format json {line}")).json()["digest"].clone();
    let before = digest("--env prod");
    stage.edit("trueup.yaml", "percent: 10", "percent: 11");
    assert_ne!(digest("--env prod"), before);
    let stage = stage.env("TRUEUP_ENV", "prod");
    stage.run("plan .").code(0).stdout_contains("stack shop, environment prod,");
}

#[test]
fn a_saved_plan_is_applied_with_the_settings_of_its_environment() {
    let service = Service::start();
    let stage = stage(&service);
    stage.run("apply . --env prod --yes --quiet").code(0);
    for n in 0..3 {
        stage.edit(&format!("e{n}.yaml"), "80", "81");
    }
    stage.run("plan . --env prod -o ../plan.json").code(0).stdout_contains("mass-change");
    let refused = stage.run("apply ../plan.json --env prod --yes");
    refused.code(6).stderr_contains("mass-change");
    // The settings of another environment are those of another stack.
    stage.run("apply ../plan.json --yes").code(6).stderr_contains("the plan was made with --env prod");
    stage.run("apply ../plan.json --env prod --yes --quiet --allow mass-change").code(0);
    stage.run("plan . --env prod --detailed-exitcode").code(0);
    // Those of another environment of the same stack are not those that it was made with either.
    stage.write("trueup.yaml", "stack: s\nnamespaces: [shop]\nenvironments: {prod: {}, dev: {}}\n");
    stage.run("plan . --env prod -o ../plan.json").code(0);
    for (flag, named) in [("--env dev", "the environment `dev`"), ("", "no environment")] {
        let ran = stage.run(&format!("apply ../plan.json --yes {flag}"));
        ran.code(6).stderr_contains(&format!("is of the environment `prod`, and the call names {named}"));
        ran.stderr_contains("to apply it: --env prod");
    }
}

#[test]
fn what_an_environment_loosens_is_compared_with_the_base() {
    let service = Service::start();
    let stage = stage(&service).committed();
    git(&stage, "checkout -q -b change");
    let loosened = |line: &str| -> Vec<String> {
        let plan = stage.run(&format!("plan . --base main --format json {line}")).json();
        let changes = plan["plan"]["setting_changes"].as_array().expect("changes").clone();
        let loosened = changes.iter().filter(|change| change["direction"] == "loosened");
        let text = |change: &Value, key: &str| change[key].as_str().unwrap_or_default().to_owned();
        loosened
            .map(|change| {
                assert_eq!(change["in_force"], change["base"], "the stricter is in force");
                format!("{} {} {}", text(change, "setting"), text(change, "base"), text(change, "head"))
            })
            .collect()
    };
    // The environment itself, the one that it extends, and the defaults of all.
    stage.edit("trueup.yaml", "percent: 10}, prune: none", "percent: 90}, prune: owned");
    stage.edit("trueup.yaml", "upgrade: block", "upgrade: off");
    stage.edit("trueup.yaml", "least: 1", "least: 50");
    commit(&stage, "looser");
    let all = ["prune none owned", "guards.percent 10 90", "guards.least 1 50", "gates.upgrade block off"];
    assert_eq!(loosened("--env prod"), all);
    stage.run("plan . --base main --env prod").code(0).stdout_contains("loosened  guards.percent  10 -> 90");
    let in_force = safeguards(&stage, "--env prod --base main");
    assert_eq!((&in_force["guards"], &in_force["prune"]), (&json!({"percent": 10, "least": 1}), &json!("none")));
    // Another environment to extend.
    stage.write(
        "trueup.yaml",
        &SETTINGS.replace("  prod: {extends: live", "  loose: {stack: shop}\n  prod: {extends: loose"),
    );
    assert_eq!(loosened("--env prod"), ["gates.upgrade block warn"]);
    // Under another name it is no looser than what was in force for its stack, and than the defaults of all.
    stage.write("trueup.yaml", &SETTINGS.replace("  prod:", "  prod2:").replace("percent: 10", "percent: 90"));
    assert_eq!(loosened("--env prod2")[0], "guards.percent 10 90");
    stage.write("trueup.yaml", &format!("{SETTINGS}  new: {{stack: new, guards: {{percent: 90}}}}\n"));
    assert_eq!(loosened("--env new"), ["guards.percent 20 90"]);
}

#[test]
fn a_policy_limits_every_environment() {
    let service = Service::start();
    let stage = stage(&service).file("../policy.yaml", "guards: {percent: 5}\nprune: none\n");
    let limited = stage.run("plan . --env prod --policy ../policy.yaml");
    limited.code(0).stdout_contains("limited  guards.percent  10").does_not_say("limited  prune");
    assert_eq!(safeguards(&stage, "--env prod --policy ../policy.yaml")["guards"]["percent"], 5);
    stage.write("../policy.yaml", "stacks: [shop-dev]\n");
    stage.run("plan . --policy ../policy.yaml").code(0);
    stage
        .run("plan . --env prod --policy ../policy.yaml")
        .code(6)
        .stderr_contains("the policy forbids the stack `shop`");
}

#[test]
fn overlays_of_a_chain_add_up() {
    let overlay = |text: &str| format!("metadata: {{namespace: shop, name: e0}}\n{text}\n");
    let stage = Stage::new()
        .file("trueup.yaml", "defaults: {overlay: o/all}\nenvironments:\n  base: {overlay: o/base}\n  eu: {extends: base, overlay: o/a-eu}\n")
        .file("e0.yaml", &definition("shop/e0", 80))
        .file("o/all/e0.yaml", &overlay("spec: {port: 1, protocol: UDP, health_check_port: 9}"))
        .file("o/base/z.yaml", &overlay("spec: {port: 2, health_check_port: 10}"))
        .file("o/base/new.yaml", "metadata: {namespace: shop, name: new}\nspec: {ip: 10.0.0.9, port: 1}\n")
        .file("o/a-eu/a.yaml", &overlay("spec: {port: 3}"))
        .file("o/a-eu/new.yaml", "metadata: {namespace: shop, name: new}\nspec: {port: 2}\n");
    let spec = |line: &str, name: &str| {
        let text = stage.run(&format!("plan . --sandbox --format json {line}"));
        let plan = text.code(0).json();
        let changes = plan["plan"]["changes"].as_array().expect("changes").clone();
        changes
            .into_iter()
            .find(|change| change["key"] == format!("shop/{name}"))
            .map(|change| change["action"]["create"]["wanted"]["spec"].clone())
    };
    let eu = spec("--env eu", "e0").expect("it is created");
    assert_eq!(
        (&eu["port"], &eu["protocol"], &eu["health_check_port"]),
        (&json!(3), &json!("UDP"), &json!(10)),
        "{eu}"
    );
    // What one overlay adds, a later one changes.
    assert_eq!(spec("--env eu", "new").expect("it is created")["port"], 2);
    assert_eq!(spec("--env base", "new").expect("it is created")["port"], 1);
    assert_eq!(spec("", "e0").expect("it is created")["port"], 80);
    assert_eq!(spec("", "new"), None);
}

/// An endpoint of the environment `prod`, in a stack whose overlay for it is in `o/prod`.
fn port(stage: &Stage, environment: &str) -> Value {
    let plan = stage.run(&format!("plan . --sandbox --env {environment} --format json"));
    plan.code(0).json()["plan"]["changes"][0]["action"]["create"]["wanted"]["spec"]["port"].clone()
}

fn overlaid(settings: &str) -> Stage {
    Stage::new().file("trueup.yaml", settings).file("cart.yaml", &definition("shop/cart", 80))
}

fn cart_overlay(port: u16) -> String {
    format!("metadata: {{namespace: shop, name: cart}}\nspec: {{port: {port}}}\n")
}

#[test]
fn an_overlay_is_merged_with_a_mapping_that_a_variable_contains() {
    let cart = |annotations: &str, rest: &str| {
        format!("metadata:\n  name: cart\n  namespace: shop\n  annotations: {annotations}\n{rest}")
    };
    let settings = "variables: {notes: '{team: a, tier: web, odd: \"${x}\"}'}\nenvironments: {prod: {overlay: prod}}\n";
    for (base, overlay, tier) in [("${notes}", "{tier: db}", "db"), ("{tier: db}", "${notes}", "web")] {
        let stage = overlaid(settings)
            .file("cart.yaml", &cart(base, "spec: {ip: 10.0.0.7}\n"))
            .file("prod/cart.yaml", &cart(overlay, ""));
        let plan = stage.run("plan . --sandbox --env prod --format json").code(0).json();
        let annotations = &plan["plan"]["changes"][0]["action"]["create"]["wanted"]["metadata"]["annotations"];
        // What was put in is not looked through again.
        assert_eq!(*annotations, json!({"team": "a", "tier": tier, "odd": "${x}"}), "{base} {overlay}");
    }
}

#[test]
fn an_overlay_inside_of_another_one_is_of_its_own_environment_alone() {
    let settings = "environments:\n  prod: {overlay: o/prod}\n  eu: {overlay: o/prod/eu}\n  \
        both: {extends: prod, overlay: o/prod/eu}\n";
    let stage = overlaid(settings).file("o/prod/cart.yaml", &cart_overlay(81));
    stage.write("o/prod/eu/cart.yaml", &cart_overlay(82));
    let ports = ["prod", "eu", "both"].map(|name| port(&stage, name));
    assert_eq!(ports, [json!(81), json!(82), json!(82)]);
}

#[test]
fn an_overlay_of_which_nothing_is_read_is_an_error() {
    let check = |overlay: &str, file: &str, more: &str, why: &str| {
        let stage = overlaid(&format!("{more}environments:\n  prod: {{overlay: {overlay}}}\n"));
        stage.write(file, &cart_overlay(81));
        let text = format!("the overlay `{overlay}` is not applied: {why}");
        stage.run("validate . --env prod").code(1).stderr_contains(&text);
        stage.run("validate .").code(0);
    };
    check(".o/prod", ".o/prod/cart.yaml", "", "hidden directories are not read");
    check("o/prod", "o/prod/cart.yaml", "files: {exclude: [o/**]}\n", "`files:` excludes it");
    check("o/prod", "o/prod/cart.yaml", "files: {exclude: [o/prod/*]}\n", "no file in it is read");
    // One that has nothing to change yet is good.
    let stage = overlaid("environments:\n  prod: {overlay: o/prod}\n");
    stage.run("validate . --env prod").code(0);
    stage.write("o/prod/README.md", "nothing yet\n");
    stage.run("validate . --env prod").code(0);
    stage.edit("trueup.yaml", "o/prod", "o/prdo");
    let wrong = stage.run("validate . --env prod");
    wrong.code(1).stderr_contains("the overlay `o/prdo` is not applied: there is no such directory");
    wrong.stderr_contains("did you mean `o/prod`?");
    stage.write("layers/prod/README.md", "nothing yet\n");
    stage.edit("trueup.yaml", "o/prdo", "layer/prod");
    let wrong = stage.run("validate . --env prod");
    wrong.code(1).stderr_contains("did you mean `layers/prod`?").stderr_contains("prod: {overlay: layer/prod}");
    // What is not there either is not meant.
    stage.edit("trueup.yaml", "layer/prod", "layer/dev");
    stage.run("validate . --env prod").code(0);
}

#[test]
fn two_documents_of_one_overlay_for_one_endpoint_are_an_error() {
    let stage = overlaid("environments:\n  prod: {overlay: o}\n").file("o/a.yaml", &cart_overlay(81));
    stage.write("o/b.yaml", &cart_overlay(82));
    let wrong = stage.run("validate . --env prod");
    wrong.code(1).stderr_contains("the overlay has two documents for `shop/cart`").stderr_contains("o/a.yaml");
    stage.remove("o/b.yaml");
    stage.write("o/a.yaml", &format!("{}---\n{}", cart_overlay(81), cart_overlay(82)));
    stage.run("validate . --env prod").code(1).stderr_contains("the overlay has two documents for `shop/cart`");
}

#[test]
fn an_overlay_may_be_written_in_another_language_than_its_definition() {
    let service = Service::start();
    let settings = "stack: shop\nnamespaces: [shop]\nenvironments:\n  prod: {overlay: o}\n";
    let stage = Stage::new().at(&service).file("trueup.yaml", settings);
    let json = r#"{"metadata": {"namespace": "shop", "name": "cart"}, "spec": {"ip": "10.0.0.7", "port": 80}}"#;
    stage.write("cart.json", json);
    let plain = "metadata: {namespace: shop, name: cart, description: plain text}\nspec: {protocol: UDP}\n";
    stage.write("o/cart.yaml", plain);
    stage.run("apply . --env prod --yes --quiet").code(0);
    assert_eq!(service.get("shop/cart")["metadata"]["description"], "plain text");
    // What somebody changed outside goes into the overlay, texts as well.
    service.change("shop/cart", |object| {
        object["metadata"]["description"] = json!("by hand");
        object["metadata"]["labels"] = json!({"team": "b"});
    });
    stage.run("pull --drift . --env prod --into overlay").code(0);
    assert!(stage.read("o/cart.yaml").contains("by hand"), "{}", stage.read("o/cart.yaml"));
    stage.run("plan . --env prod --detailed-exitcode").code(0);
    // JSON stays strict about its own texts.
    stage.write("cart.json", &json.replace("\"10.0.0.7\"", "7"));
    stage.run("validate . --env prod").code(1).stderr_contains("write it in quotes");
    // The commands that were proposed are tried when the stage is dropped.
    stage.write("cart.json", json);
}

#[test]
fn an_overlay_of_a_kind_that_there_is_not_touches_no_other_object() {
    let stage = overlaid("variables: {kind: healthcheck}\nenvironments:\n  prod: {overlay: o}\n");
    let check = |text: &str, says: &str| {
        stage.write("o/cart.yaml", text);
        let ran = stage.run("validate . --env prod");
        ran.code(1).stderr_contains(says).stderr_contains("o/cart.yaml:");
    };
    let cart = "metadata: {namespace: shop, name: cart}";
    for rest in ["spec: {port: 81}", "$remove: true", "$remove: false"] {
        check(&format!("kind: healthchek\n{cart}\n{rest}\n"), "unknown kind `healthchek`");
        check(&format!("kind: [endpoint]\n{cart}\n{rest}\n"), "`kind` is a list");
        check(&format!("kind: ${{kund}}\n{cart}\n{rest}\n"), "the variable `kund` is not defined");
        // That of a variable selects as well.
        check(&format!("kind: ${{kind}}\n{cart}\n{rest}\n"), "`healthcheck:shop/cart`");
    }
    // A document of trueup's own is none of an overlay, as it is no definition.
    stage.write("o/cart.yaml", &format!("kind: tenant\n{cart}\n$remove: true\n"));
    let ran = stage.run("validate . --env prod");
    ran.code(0).stdout_contains("1 endpoint").stderr_contains("nothing uses the variable `kind`");
}

#[test]
fn what_is_wrong_with_a_whole_object_of_an_environment_is_said_at_its_place() {
    let stage = overlaid("environments: {prod: {overlay: o}}\n");
    let card = "metadata: {namespace: shop, name: card}";
    for (spec, said) in [
        ("spec: {ip: 10.0.0.8, prot: 80}", "unknown field `prot`\n --> o/card.yaml:2:22"),
        ("spec: {ip: 10.0.0.8, port: 70000}", "o/card.yaml:2:28"),
        ("spec: {ip: 10.0.0.8, port: '${prot}'}", "the variable `prot` is not defined"),
    ] {
        stage.write("o/card.yaml", &format!("{card}\n{spec}\n"));
        stage.run("validate . --env prod").code(1).stderr_contains(said).stderr_contains("2 errors in");
    }
    // It may also be a change of another one.
    stage.write("o/card.yaml", &format!("{card}\nspec: {{port: 70000}}\n"));
    stage
        .run("validate . --env prod")
        .code(1)
        .stderr_contains("did you mean `shop/cart`?")
        .stderr_contains("o/card.yaml:2:14")
        .stderr_contains("2 errors in");
}

#[test]
fn what_is_missing_because_of_an_overlay_is_said_with_its_line() {
    let stage = overlaid("environments:\n  prod: {overlay: o}\n");
    let overlay = "metadata: {namespace: shop, name: cart}\n";
    for (text, says) in [("spec: ~", "`spec` is missing"), ("spec: {ip: ~}", "none of `ip`, ")] {
        stage.write("o/cart.yaml", &format!("{overlay}{text}\n"));
        let wrong = stage.run("validate . --env prod");
        wrong.code(1).stderr_contains(says).stderr_contains("cart.yaml:").stderr_contains("o/cart.yaml:2:");
        wrong.stderr_contains("set to nothing here");
    }
    stage.write("o/cart.yaml", &format!("{overlay}spec: {{port: 0.5, where: ~}}\n"));
    stage.run("validate . --env prod").code(1).stderr_contains("`port` is `0.5`").does_not_say("set to nothing");
}

#[test]
fn an_unknown_key_that_an_overlay_sets_to_nothing_is_an_error() {
    let stage = overlaid("environments:\n  prod: {overlay: o}\n");
    let check = |more: &str, says: &str| {
        stage.write("o/cart.yaml", &format!("metadata: {{namespace: shop, name: cart{more}}}\n"));
        stage.run("validate . --env prod").code(1).stderr_contains(says).stderr_contains("o/cart.yaml:");
    };
    check(", lables: ~", "did you mean `labels`?");
    check("}\nspec: {prt: ~", "did you mean `port`?");
    check("}\nspek: {}\nsnat_pool: {x: ~", "did you mean `spec`?");
    // What is known may not be there.
    let known = "metadata: {namespace: shop, name: cart, labels: {team: ~}, description: ~}\nkind: ~\n\
        spec: {dnsName: ~, where: ~, health_check_port: ~}\n";
    stage.write("o/cart.yaml", known);
    stage.run("validate . --env prod").code(0);
}

#[test]
fn a_definition_whose_kind_is_a_variable_gets_the_overlay_of_that_kind() {
    let settings = "variables: {kind: healthcheck}\nenvironments:\n  prod: {overlay: o}\n";
    let stage = overlaid(settings).file(
        "alive.yaml",
        "kind: ${kind}\nmetadata: {namespace: shop, name: cart}\nspec: {tcp_health_check: {}, timeout: 3, interval: 15}\n",
    );
    let overlay = "metadata: {namespace: shop, name: cart}\nspec: {timeout: 7}\n";
    let stage = stage.file("o/alive.yaml", &format!("kind: ${{kind}}\n{overlay}"));
    for kind in ["${kind}", "healthcheck"] {
        stage.write("o/alive.yaml", &format!("kind: {kind}\n{overlay}"));
        stage.run("explain --env prod healthcheck:shop/cart .").code(0).stdout_contains("o/alive.yaml:3, overlay");
    }
    stage.write("o/alive.yaml", &overlay.replace("timeout", "port"));
    stage.run("validate . --env prod").code(0);
    assert_eq!(port(&stage, "prod"), json!(7));
}

const REMOVED: &str = "$remove: true\nmetadata: {namespace: shop, name: e0}\n";

#[test]
fn what_an_overlay_removes_is_deleted_where_it_is_ours_and_nowhere_else() {
    let service = Service::start();
    let stage = stage(&service);
    // What an environment of the same service defines would be its own.
    stage.edit("trueup.yaml", "stack: shop-live", "stack: shop-live, base_url: 'https://live.example.net'");
    stage.edit("trueup.yaml", "prune: none", &format!("overlay: o/prod, base_url: '{}'", service.url()));
    stage.run("apply . --env prod --yes --quiet").code(0);
    service.create(&json!({"metadata": {"name": "other", "namespace": "shop"}, "spec": {"ip": "10.0.0.9"}}));
    let stage = stage.file("o/prod/e0.yaml", REMOVED).file("other.yaml", &definition("shop/other", 1));
    stage.write("o/prod/other.yaml", "$remove: true\nmetadata: {namespace: shop, name: other}\n");
    let plan = stage.run("plan . --env prod --allow mass-change");
    plan.code(0).stdout_contains("- delete  shop/e0").stdout_contains("removed in o/prod/e0.yaml:1");
    plan.does_not_say("delete  shop/other");
    for (format, words) in [("markdown", "removed in `o/prod/e0.yaml:1`"), ("html", "removed in o/prod/e0.yaml:1")] {
        let report = stage.run(&format!("plan . --env prod --allow mass-change --format {format}"));
        report.code(0).stdout_contains(words);
    }
    let json = stage.run("plan . --env prod --format json").json();
    assert_eq!(json["plan"]["changes"][0]["place"]["file"], "o/prod/e0.yaml");
    stage.run("apply . --env prod --yes --quiet --allow mass-change").code(0);
    assert!(!service.has("shop/e0") && service.has("shop/other"));
    // Another environment and the top level define it still.
    stage.run("validate . --env live").code(0).stdout_contains("5 endpoints");
    stage.run("validate . --env prod").code(0).stdout_contains("3 endpoints");
    stage.run("validate .").code(0).stdout_contains("5 endpoints");
}

#[test]
fn commands_that_read_or_write_files_know_overlays_that_remove() {
    let service = Service::start();
    let stage = stage(&service);
    stage.edit("trueup.yaml", "prune: none", "overlay: o/prod");
    stage.run("apply . --env prod --yes --quiet").code(0);
    stage.write("o/prod/e0.yaml", "# not here\nmetadata: {namespace: shop, name: e0}\n$remove: true # for good\n");
    // `fmt` keeps it as it is, but for the order of its keys, and it still removes.
    stage.run("fmt .").code(0).stdout_contains("o/prod/e0.yaml");
    assert_eq!(
        stage.read("o/prod/e0.yaml"),
        "# not here\n$remove: true # for good\nmetadata: {name: e0, namespace: shop}\n"
    );
    stage.run("fmt . --check").code(0);
    stage.run("validate . --env prod").code(0).stdout_contains("3 endpoints");
    // `pull` leaves out what the environment would drop again.
    let pulled = stage.run("pull -n shop -o . --env prod --overwrite");
    pulled.code(0).stderr_contains("left out: shop/e0: the overlay o/prod/e0.yaml removes it");
    assert!(!stage.path("shop/e0.yaml").exists());
}

/// A stack in which every kind of origin is there.
fn origins() -> Stage {
    let settings = "\
variables: {domain: example.net, port: 80, zone: a}
defaults:
  variables: {zone: b}
  guards: {percent: 20}
environments:
  live: {variables: {domain: live.example.net}, overlay: o/live, guards: {percent: 15}}
  prod: {extends: live, overlay: o/prod}
";
    Stage::new()
        .file("d/trueup.yaml", settings)
        .file("d/cart.yaml", "metadata:\n  name: cart\n  namespace: shop\n  labels: {team: a, zone: '${zone}'}\nspec:\n  dnsName: cart.${domain}\n  port: ${port}\n  protocol: UDP\n  snat_pool: {snat_pool: {prefixes: [10.1.0.0/16]}}\n")
        .file("d/web.yaml", "metadata: {name: web, namespace: shop}\nspec: {ip: 10.0.0.7}\n")
        .file("d/o/live/cart.yaml", "metadata: {name: cart, namespace: shop}\nspec: {port: 8080, protocol: null}\n")
        .file("d/o/prod/cart.yaml", "metadata:\n  name: cart\n  namespace: shop\n  labels:\n    team: null\nspec:\n  ip: 10.0.0.9\n  port: 8443\n")
        .file("d/o/prod/web.yaml", "$remove: true\nmetadata: {name: web, namespace: shop}\n")
}

#[test]
fn every_value_of_a_definition_is_explained_with_what_it_is_from() {
    let stage = origins();
    stage.run("explain --env prod shop/cart d").code(0).stdout(
        "\
shop/cart in environment prod

FIELD                              VALUE                                     FROM
metadata.name                      cart                                      d/cart.yaml:2
metadata.namespace                 shop                                      d/cart.yaml:3
metadata.description               \"\"                                        default
metadata.disable                   false                                     default
metadata.labels.team               (none)                                    default, by d/o/prod/cart.yaml:5, overlay
                                   instead of a                              d/cart.yaml:4
metadata.labels.zone               b                                         d/cart.yaml:4
                                   ${zone} = b                               d/trueup.yaml:3, defaults
spec.ip                            10.0.0.9                                  d/o/prod/cart.yaml:7, overlay
                                   instead of spec.dns_name: cart.${domain}  d/cart.yaml:6
spec.protocol                      TCP                                       default, by d/o/live/cart.yaml:2, overlay
                                   instead of UDP                            d/cart.yaml:8
spec.port                          8443                                      d/o/prod/cart.yaml:8, overlay
                                   instead of 8080                           d/o/live/cart.yaml:2
                                   instead of ${port}                        d/cart.yaml:7
spec.health_check_port             0                                         default
spec.snat_pool.snat_pool.prefixes  [\"10.1.0.0/16\"]                           d/cart.yaml:9
spec.where                         (none)                                    default
",
    );
    // Without an environment there are no overlays; `--var` is above every layer.
    let top = stage.run("explain shop/cart d --var port=1");
    top.code(0).stdout_contains("spec.dns_name").stdout_contains("${domain} = example.net").does_not_say("o/prod");
    top.stdout_contains("${port} = 1").stdout_contains("  --var\n");
    stage
        .run("explain --env prod shop/web d")
        .code(0)
        .stdout("shop/web in environment prod is removed by d/o/prod/web.yaml:1\n");
    stage.run("explain --env prod shop/crat d").code(64).stderr_contains("did you mean `shop/cart`?");
    let json = stage.run("explain --env prod shop/cart d --format json").code(0).json();
    assert_eq!(json["environment"], "prod");
    let port = json["definition"]["values"]
        .as_array()
        .expect("values")
        .iter()
        .find(|value| value["path"] == json!(["spec", "port"]));
    let port = port.expect("the port");
    assert_eq!((&port["value"], &port["source"], &port["place"]["line"]), (&json!(8443), &json!("overlay"), &json!(8)));
    assert_eq!(port["replaced"][0]["place"]["file"], "d/o/live/cart.yaml");
}

#[test]
fn a_setting_is_explained_with_the_layer_that_sets_it() {
    let stage = origins()
        .file("policy.yaml", "guards: {percent: 5}\n")
        .file("other/trueup.yaml", "stack: other\nnamespaces: [other]\n");
    let percent = stage.run("explain --env prod guards.percent d");
    percent.code(0).stdout_contains(
        "\
Set in environment prod:

SETTING         VALUE          FROM
guards.percent  15             d/trueup.yaml:6, environment live
                instead of 20  d/trueup.yaml:4, defaults
",
    );
    stage.run("explain --env prod percent d --policy policy.yaml").code(0).stdout_contains(
        "\
guards.percent  5              the policy's limit
                instead of 15  d/trueup.yaml:6, environment live
",
    );
    stage
        .run("explain --env prod variables.zone d --var zone=c")
        .code(0)
        .stdout_contains("variables.zone  c             --var\n");
    stage.run("explain --env prod stack d --stack mine").code(0).stdout_contains("stack    mine   --stack\n");
    stage.run("explain --env prod prune d").code(0).stdout_contains("prune    none   default\n");
    stage.run("explain percent other --policy policy.yaml").code(0).stdout_contains(
        "\
guards.percent  5              the policy's limit
                instead of 30  default
",
    );
    let json = stage.run("explain --env prod settings d --format json").code(0).json();
    let all = json["settings"].as_array().expect("settings").clone();
    let domain = all.iter().find(|setting| setting["path"] == json!(["variables", "domain"])).expect("it is set");
    assert_eq!((&domain["value"], &domain["layer"]), (&json!("live.example.net"), &json!({"environment": "live"})));
    for (asked, meant) in
        [("guards.percnt", "guards.percent"), ("stak", "stack"), ("orgin_pool.spec.port", "origin_pool.spec.port")]
    {
        let hint = format!("did you mean `{meant}`?");
        stage.run(&format!("explain {asked} d")).code(64).stderr_contains(&hint).stdout("");
    }
    stage.run("explain nothing.like.it d").code(64).stderr_contains("there is no setting, kind or definition");
    stage.run("explain gates other").code(0).stdout_contains("gates.events   off    default\n");
    stage.write("other/trueup.yaml", "stack: s\nnamespaces: [shop]\ngates: {events: {minutes: 5}}\n");
    stage.run("explain events other").code(0).stdout_contains(
        "\
gates.events.minutes    5      other/trueup.yaml:3, top level
gates.events.mode       warn   default
gates.events.threshold  1000   default
",
    );
    for unset in ["hide_notes", "variables.other", "labels", "extends"] {
        stage.run(&format!("explain {unset} d")).code(0).stdout_contains("Nothing: the defaults apply");
    }
}

#[test]
fn overlays_are_explained_as_those_that_are_applied_and_none_as_replaced() {
    let settings = "stack: s\nnamespaces: [shop]\ndefaults: {overlay: o/all}\nenvironments:\n  live: {overlay: o/live}\n  \
                    prod: {extends: live, overlay: o/prod}\n  test: {overlay: ~}\n";
    let stage = Stage::new().file("d/trueup.yaml", settings);
    for overlay in ["all", "live", "prod"] {
        stage.write(&format!("d/o/{overlay}/none.yaml"), "");
    }
    stage.run("explain --env prod overlay d").code(0).stdout(
        "\
Set in environment prod:

SETTING  VALUE   FROM
overlay  o/all   d/trueup.yaml:3, defaults
overlay  o/live  d/trueup.yaml:5, environment live
overlay  o/prod  d/trueup.yaml:6, environment prod
",
    );
    stage.run("explain --env test overlay d").code(0).stdout_contains("o/all").does_not_say("instead of");
}

#[test]
fn the_default_of_prune_is_explained_as_it_is_in_force() {
    let stage = Stage::new().file("d/trueup.yaml", "stack: s\nenvironments: {prod: {namespaces: [shop]}, test: {}}\n");
    stage.write("none/trueup.yaml", "stack: none\n");
    for (flags, expected) in [("prune none", "none"), ("prune d --env test", "none"), ("prune d --env prod", "owned")] {
        let json = stage.run(&format!("explain {flags} --format json")).code(0).json();
        let shown = &json["settings"][0];
        assert_eq!((&shown["value"], &shown["layer"]), (&json!(expected), &json!("default")), "{flags}");
    }
}

#[test]
fn what_a_policy_leaves_of_the_settings_is_explained_as_they_are_written() {
    let stack = "stack: s\nnamespaces: [shop]\n";
    let loose = "prune: all\nguards: {percent: 50}\nversion_checked: true\nownership_annotations: false\n\
                 strict: [healthcheck, route]\n\
                 gates: {ddos: warn, events: {mode: warn, minutes: 15, threshold: 100}}\n\
                 ignore: [{object: shop/a, field: spec.port}, {object: shop/b, field: spec.port}]\n";
    let limits = "prune: owned\nguards: {percent: 20}\nversion_checked: false\nownership_annotations: true\n\
                  strict: [route]\n\
                  gates: {ddos: block, events: {mode: block, minutes: 60}}\n\
                  ignore: [{object: shop/b, field: spec.port}]\n";
    let stage = Stage::new().file("s/trueup.yaml", &format!("{stack}{loose}")).file("policy.yaml", limits);
    let values = |flags: &str| -> BTreeMap<String, Value> {
        let settings = stage.run(&format!("explain settings s --format json{flags}")).code(0).json();
        let settings = settings["settings"].as_array().expect("settings").clone();
        settings.iter().map(|setting| (setting["path"].to_string(), setting["value"].clone())).collect()
    };
    let limited = values(" --policy policy.yaml");
    let with_threshold = limits.replace("minutes: 60", "minutes: 60, threshold: 100");
    stage.write("s/trueup.yaml", &format!("{stack}{with_threshold}"));
    assert_eq!(limited, values(""));
    // A gate that is one word as well.
    stage.write("s/trueup.yaml", &format!("{stack}gates: {{events: warn}}\n"));
    let limited = values(" --policy policy.yaml");
    assert_eq!(limited[r#"["gates","events","mode"]"#], "block");
    assert_eq!(limited[r#"["gates","events","minutes"]"#], 60);
    assert!(!limited.contains_key(r#"["gates","events"]"#), "{limited:?}");
}

#[test]
fn a_forgotten_environment_is_one_error_that_names_them() {
    let stage = Stage::new().file(
        "trueup.yaml",
        "stack: s\nnamespaces: [shop]\nenvironments:\n  dev: {variables: {port: '80', domain: dev.example.net}}\n  prod: {variables: {port: '443', domain: example.net}}\n",
    );
    for number in 0..40 {
        let definition = format!(
            "metadata: {{name: e{number}, namespace: shop}}\nspec:\n  dns_name: a.${{domain}}\n  port: ${{port}}\n"
        );
        stage.write(&format!("e{number}.yaml"), &definition);
    }
    let ran = stage.run("validate .");
    ran.code(1).stderr_contains("` is set in environments only").stderr_contains("choose one with --env: dev, prod");
    assert_eq!(ran.errors().matches("error").count(), 2, "the error and the sum: {}", ran.errors());
    stage.run("validate . --env dev").code(0);
    // What `defaults` sets is not there without one, either.
    let settings = "stack: s\nnamespaces: [shop]\ndefaults: {variables: {domain: example.net}}\nenvironments: {dev: {}, prod: {}}\n";
    stage.write("trueup.yaml", settings);
    let ran = stage.run("validate . --var port=80");
    ran.code(1)
        .stderr_contains("`domain` is set in environments only")
        .stderr_contains("choose one with --env: dev, prod");
    stage.run("validate . --var port=80 --env dev").code(0);
    stage.run("validate . --var port=80 --var domain=a.example.net").code(0);
    // Another mistake is one of its own.
    stage.edit("e0.yaml", "${domain}", "${unknown}");
    stage
        .run("validate .")
        .code(1)
        .stderr_contains("the variable `unknown` is not defined")
        .stderr_contains("2 errors");
}

/// What one tenant has alone would be created in the others.
#[test]
fn a_pull_into_what_environments_share_is_warned_of_and_one_into_the_overlay_is_of_one_alone() {
    let service = Service::start();
    let settings =
        "stack: s\nnamespaces: [shop]\nenvironments: {prod: {overlay: o/prod}, dev: {overlay: o/dev}, bare: {}}\n";
    let stage = Stage::new().at(&service).file("st/trueup.yaml", settings);
    stage.write("st/cart.yaml", &definition("shop/cart", 80));
    stage.run("apply st --env prod --yes --quiet").code(0);
    service
        .create(&json!({"metadata": {"name": "hotfix", "namespace": "shop"}, "spec": {"ip": "10.0.0.9", "port": 90}}));
    let other = stage.run("pull -o st/o/dev --env prod");
    other.code(0).stderr_contains("`o/dev` is the overlay of another environment");
    let own = stage.run("pull -o st/o/prod --env prod");
    own.code(0).stdout_contains("Pulled 1 endpoint into st/o/prod.").does_not_say("warning");
    own.stderr_contains("`cart.yaml` defines it");
    stage.run("plan st --env prod").code(0).stdout_contains("In sync").stdout_contains("2 endpoints");
    stage.run("validate st --env dev").code(0).stdout_contains("1 endpoint");
    // What the overlay removes is in its file as well.
    let file = "st/o/prod/shop/hotfix.yaml";
    let both = format!("{}---\n$remove: true\nmetadata: {{name: cart, namespace: shop}}\n", stage.read(file));
    stage.write(file, &both);
    let left_out = "its file `o/prod/shop/hotfix.yaml` has other documents, too";
    let kept = stage.run("pull -o st/o/prod --env prod --overwrite");
    kept.code(0).stderr_contains(left_out).stderr_contains("removes it");
    assert_eq!(stage.read(file), both);
    // So is what it says of another object alone.
    for others in [
        "$remove: true\nmetadata: {name: cart, namespace: shop}\n",
        "metadata: {name: cart, namespace: shop}\nspec: {port: 81}\n",
    ] {
        stage.write(file, others);
        let kept = stage.run("pull -o st/o/prod --env prod --overwrite");
        kept.code(0).stderr_contains(left_out).stderr_ignored();
        assert_eq!(stage.read(file), others);
    }
    std::fs::remove_dir_all(stage.path("st/o")).expect("removed");
    for (chosen, others) in [("prod", "`bare`, `dev`"), ("bare", "`dev`, `prod`")] {
        let pulled = stage.run(&format!("pull -o st --env {chosen}"));
        pulled.code(0).stderr_contains("`cart.yaml` defines it");
        pulled.stderr_contains(&format!("warning: what was written is also in {others}"));
        std::fs::remove_dir_all(stage.path("st/shop")).expect("removed");
    }
}

/// Else an apply of what the environments share makes objects of no stack, or reverts what their overlays set.
#[test]
fn a_plan_without_an_environment_names_those_that_there_are() {
    let service = Service::start();
    let stage = Stage::new().at(&service).file("cart.yaml", &definition("shop/cart", 80));
    let note = "note  no environment is chosen (--env: dev, prod)";
    for (settings, is_noted) in [
        ("namespaces: [shop]\nenvironments: {dev: {stack: d}, prod: {stack: p}}\n", true),
        ("stack: s\nnamespaces: [shop]\nenvironments: {dev: {}, prod: {}}\n", true),
        ("stack: s\nnamespaces: [shop]\nenvironments: {dev: {stack: d}, prod: {stack: p}}\n", false),
    ] {
        stage.write("trueup.yaml", settings);
        let plan = stage.run("plan .");
        assert_eq!(plan.code(0).text().contains(note), is_noted, "{settings}{}", plan.text());
        assert_eq!(
            stage.run("doctor").code(0).text().contains("no environment is chosen (--env: dev, prod)"),
            is_noted
        );
        for line in ["plan .", "doctor"] {
            stage.run(&format!("{line} --env dev")).code(0).does_not_say("is chosen");
        }
    }
}

#[test]
fn an_environment_named_as_the_word_for_all_of_them_is_refused() {
    let stage = Stage::new().file("trueup.yaml", "stack: shop\nenvironments: {all: {}, prod: {}}\n");
    let refused = stage.run("plan . --env all");
    refused.code(64).stderr_contains("has an environment `all`").stderr_contains("rename that environment");
}

/// Who follows the advice to give another one has it with the namespaces of the top level.
#[test]
fn what_only_environments_set_is_missing_without_one() {
    let service = Service::start();
    let stage = Stage::new().file(
        "trueup.yaml",
        "namespaces: [shop]\nenvironments: {dev: {base_url: 'https://d'}, new: {}, prod: {base_url: 'https://p'}}\n",
    );
    for line in ["get", "events", "ddos list", "snapshot -o x.json"] {
        stage.run(line).code(1).stderr_contains(
            "no service is named\n  choose an environment that sets it: --env dev, --env prod\n  give --base-url",
        );
    }
    stage.run("doctor").code(1).stdout_contains("fix: choose an environment that sets it: --env dev, --env prod");
    stage.run("get --env new").code(1).stderr_contains("no service is named").does_not_say("--env dev");
    let stage = Stage::new().at(&service).file("trueup.yaml", "environments: {dev: {namespaces: [shop]}, new: {}}\n");
    for line in ["get", "pull -o x", "snapshot -o x.json"] {
        stage
            .run(line)
            .code(64)
            .stderr_contains("no namespace is named\n  choose an environment that sets it: --env dev\n");
    }
}

#[test]
fn a_command_about_one_environment_names_them_where_all_are_chosen() {
    let stage = Stage::new().file("trueup.yaml", "environments: {dev: {}, prod: {}}\n");
    for line in ["rehearse .", "explain settings .", "get", "events", "pull -o x", "doctor"] {
        stage
            .run(&format!("{line} --env all"))
            .code(1)
            .stderr_contains("there is no environment `all`")
            .stderr_contains("this command is about one environment: dev, prod");
    }
    let found = stage.run("doctor --env all");
    found
        .code(1)
        .stdout_contains("fix: name one environment: --env NAME")
        .stderr_contains("there is no environment `all`")
        .does_not_say("trueup validate");
}

#[test]
fn environments_whose_service_nothing_names_yet_may_share_a_name_and_namespaces() {
    let stage = Stage::new()
        .file("trueup.yaml", "stack: shop\nnamespaces: [shop]\nenvironments: {dev: {}, prod: {}}\n")
        .file("cart.yaml", &definition("shop/cart", 80));
    stage.run("validate . --env all").code(0).stdout_contains("2 stacks: 2 valid");
    let one = "--base-url http://127.0.0.1:9";
    stage.run(&format!("validate . --env all {one}")).code(1).stderr_contains("are both stack `shop`");
    // Another directory is none of its environments.
    stage.write("../b/trueup.yaml", &stage.read("trueup.yaml"));
    stage.run("validate . ../b --env all").code(1).stderr_contains("are both stack `shop`");
}

/// The definition would leave every environment but that of the overlay, whose plans would delete it.
#[test]
fn an_overlay_that_is_a_file_is_an_error_in_every_environment() {
    let settings = "environments:\n  dev: {variables: {ns: dev}}\n  prod: {overlay: x.yaml, variables: {ns: prod}}\n";
    let stage = Stage::new().file("trueup.yaml", settings);
    let stage = ["x", "y"]
        .into_iter()
        .fold(stage, |stage, name| stage.file(&format!("{name}.yaml"), &definition(&format!("${{ns}}/{name}"), 80)));
    for environment in ["dev", "prod"] {
        let ran = stage.run(&format!("validate --env {environment}"));
        ran.code(1)
            .stderr_contains("trueup.yaml:3")
            .stderr_contains("the overlay `x.yaml` is a file")
            .stderr_contains("name the directory that contains it")
            .stderr_contains("1 error");
    }
}
