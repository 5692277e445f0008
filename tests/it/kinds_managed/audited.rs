//! What holds for endpoints, with objects whose kind, fields or neighbours made it fail once.

use serde_json::json;

use super::{CHECK, change, object};
use crate::support::{Service, Stage, commit, definition, git};

/// A policy with an address and a port, as a file of its own.
fn policy(key: &str, port: u16) -> String {
    let (namespace, name) = key.split_once('/').expect("namespace/name");
    format!(
        "kind: advertise_policy\nmetadata: {{name: {name}, namespace: {namespace}}}\n\
         spec: {{address: 10.0.0.7, port: {port}}}\n"
    )
}

fn stage(service: &Service, settings: &str) -> Stage {
    Stage::new().at(service).file("trueup.yaml", &format!("stack: s\nnamespaces: [shop]\n{settings}"))
}

fn of_policies(service: &Service) -> Stage {
    stage(service, "kinds: [advertise_policy]\n").file("a.yaml", &policy("shop/a", 80)).applied(".")
}

#[test]
fn a_field_with_the_name_of_one_of_an_endpoint_is_saved_rolled_back_and_ignored() {
    let service = Service::start();
    let rule = "kind: irule\nmetadata: {name: a, namespace: shop, description: meta}\n\
                spec: {description: one, irule: 'when HTTP_REQUEST { }'}\n";
    let stage = stage(&service, "kinds: [irule]\n").file("i.yaml", rule).applied(".");
    let spec = || object(&service, "irules", "a")["spec"]["description"].clone();
    stage.edit("i.yaml", "description: one", "description: two");
    stage.run("plan . -o ../p.json").code(0);
    stage.run("apply ../p.json --yes --quiet").code(0);
    assert_eq!(spec(), "two");
    stage.run("rollback last --yes --quiet").code(0);
    assert_eq!(spec(), "one");
    assert_eq!(object(&service, "irules", "a")["metadata"]["description"], "meta");
    for glob in ["irule:*", "*"] {
        let ignore = format!("ignore: [{{object: '{glob}', field: spec.description}}]\n");
        stage.write("trueup.yaml", &format!("stack: s\nnamespaces: [shop]\nkinds: [irule]\n{ignore}"));
        stage.run("plan .").code(0).stdout_contains("In sync: 1 object");
    }
}

#[test]
fn a_plan_that_takes_fields_away_is_refused_where_policy_or_settings_take_none() {
    let service = Service::start();
    let check =
        "kind: healthcheck\nmetadata: {name: a, namespace: shop}\nspec: {http_health_check: {path: /}, timeout: 7}\n";
    let strict = "kinds: [healthcheck]\nstrict: true\n";
    let stage = stage(&service, strict).file("a.yaml", check).file("../p.yaml", "strict: false\n").applied(".");
    change(&service, "healthchecks", "a", |object| object["spec"]["jitter_percent"] = json!(20));
    stage.edit("a.yaml", "timeout: 7", "timeout: 8");
    stage.run("plan . -o ../plan.json").code(0).stdout_contains("jitter_percent");
    service.misbehave("rules: [{operation: healthcheck-replace, status: {code: 403}}]");
    stage.run("apply . --yes --quiet").code(1);
    service.misbehave("rules: []");
    let refused = |line: &str| {
        stage.run(line).code(6).stderr_contains("the plan was made with a looser `strict`");
        assert_eq!(object(&service, "healthchecks", "a")["spec"]["jitter_percent"], 20, "{line}");
    };
    refused("apply ../plan.json --yes --policy ../p.yaml");
    refused("apply --resume last --yes --policy ../p.yaml");
    stage.edit("trueup.yaml", "strict: true\n", "");
    refused("apply ../plan.json --yes");
    refused("apply --resume last --yes");
}

#[test]
fn a_saved_plan_that_would_empty_a_namespace_by_now_is_refused_whatever_kinds_are_left_out_of_it() {
    let service = Service::start();
    let stage =
        stage(&service, "kinds: [advertise_policy]\nallow_empty: true\n").file("a.yaml", &definition("shop/a", 80));
    for n in 1..4 {
        stage.write(&format!("p{n}.yaml"), &policy(&format!("shop/p{n}"), 80));
    }
    stage.run("apply . --yes --quiet").code(0);
    stage.remove("a.yaml");
    stage.run("plan . -o ../p.json").code(0);
    for n in 1..4 {
        stage.remove(&format!("p{n}.yaml"));
    }
    stage.run("apply . --yes --quiet --except shop/a --allow empty-namespace --allow mass-change").code(0);
    stage.run("apply ../p.json --yes --quiet").code(6).stderr_contains("would delete every owned");
    assert!(service.has("shop/a"));
}

#[test]
fn a_saved_plan_needs_no_list_that_it_left_out() {
    let service = Service::start();
    let settings = "stack: s\nnamespaces: [shop, pay]\nkinds: [advertise_policy]\n";
    let stage = stage(&service, "").file("trueup.yaml", settings).file("e.yaml", &definition("pay/e", 80));
    stage.write("a.yaml", &policy("shop/a", 80));
    stage.run("apply . --yes --quiet").code(0);
    stage.edit("e.yaml", "port: 80", "port: 81");
    stage.edit("a.yaml", "port: 80", "port: 81");
    service.misbehave("rules: [{operation: advertise_policy-list, namespace: pay, status: {code: 403}}]");
    stage.run("plan . --except advertise_policy:pay/* -o ../p.json").code(0);
    stage.run("apply ../p.json --yes --quiet").code(0);
    assert_eq!(service.get("pay/e")["spec"]["port"], 81);
}

#[test]
fn the_secrets_of_a_saved_plan_and_of_a_rollback_are_found_from_above_the_stack() {
    let service = Service::start();
    let certificate = "kind: certificate\nmetadata: {name: web, namespace: shop}\nspec:\n  \
                       certificate_url: string:///LS0t\n  \
                       private_key: {blindfold_secret_info: {location: 'string:///AAAA'}}\n";
    let stage = Stage::new()
        .at(&service)
        .file("a/trueup.yaml", "stack: s\nnamespaces: [shop]\nkinds: [certificate]\n")
        .file("a/c.yaml", certificate);
    stage.run("apply a --yes --quiet").code(0);
    stage.edit("a/c.yaml", "LS0t", "LS0tLS0t");
    stage.run("plan a -o p.json").code(0);
    stage.run("apply p.json --config a/trueup.yaml --yes --quiet").code(0);
    assert_eq!(object(&service, "certificates", "web")["spec"]["certificate_url"], "string:///LS0tLS0t");
    stage.run("rollback last --config a/trueup.yaml --yes --quiet").code(0);
    assert_eq!(object(&service, "certificates", "web")["spec"]["certificate_url"], "string:///LS0t");
}

#[test]
fn what_is_accepted_silences_no_other_value_that_no_definition_names() {
    let service = Service::start();
    let stage = of_policies(&service);
    let accept = || {
        let file = stage.run("drift . --format acknowledgements").text().to_owned();
        stage.write("../ack.yaml", &file);
        stage.run("drift . --acknowledged ../ack.yaml").code(0);
    };
    change(&service, "advertise_policys", "a", |body| body["spec"]["skip_xff_append"] = json!(true));
    stage.run("drift .").code(3).stdout_contains("spec.skip_xff_append").does_not_say("not managed");
    let metrics = stage.run("drift . --format prometheus");
    for (verdict, number) in [("in_sync", 0), ("drift", 1)] {
        metrics.stdout_contains(&format!("kind=\"advertise_policy\",verdict=\"{verdict}\"}} {number}"));
    }
    stage.run("drift . --format junit").stdout_contains("classname=\"advertise_policy:shop\" name=\"0 in sync\"");
    accept();
    // Another value, instead of it or beside it.
    change(&service, "advertise_policys", "a", |body| body["spec"]["protocol"] = json!("TCP"));
    stage.run("drift . --acknowledged ../ack.yaml").code(3).stdout_contains("spec.protocol");
    accept();
    change(&service, "advertise_policys", "a", |body| body["spec"]["protocol"] = json!("UDP"));
    stage.run("drift . --acknowledged ../ack.yaml").code(3);
    // What is named drifts too.
    change(&service, "advertise_policys", "a", |body| body["spec"]["port"] = json!(9));
    accept();
    // What is pending hides nothing.
    stage.edit("a.yaml", "port: 80", "port: 9");
    stage.write("../none.yaml", "kind: acknowledgements\nacknowledged: []\n");
    stage.run("drift . --acknowledged ../none.yaml").code(3).stdout_contains("spec.protocol");
    stage.edit("a.yaml", "port: 9", "port: 81");
    let both = stage.run("drift . --acknowledged ../none.yaml");
    both.stdout_contains("spec.protocol")
        .stdout_contains("accept the live values with:  trueup pull --drift . --unnamed");
    assert_eq!(both.exit(), 4);
}

#[test]
fn what_is_ignored_is_not_taken_over_with_what_no_definition_names() {
    let service = Service::start();
    let ignore = "kinds: [advertise_policy]\nignore: [{object: 'advertise_policy:*', field: spec.skip_xff_append}]\n";
    let stage = stage(&service, ignore).file("a.yaml", &policy("shop/a", 80)).applied(".");
    change(&service, "advertise_policys", "a", |body| {
        body["spec"]["skip_xff_append"] = json!(true);
        body["spec"]["protocol"] = json!("TCP");
    });
    stage.run("pull --drift . --unnamed").code(0).stderr_ignored();
    let file = stage.read("a.yaml");
    assert!(file.contains("protocol: TCP") && !file.contains("skip_xff_append"), "{file}");
}

#[test]
fn objects_of_two_kinds_with_one_name_move_each_by_itself() {
    let service = Service::start();
    let settings = "stack: s\nnamespaces: [shop, pay]\nkinds: [advertise_policy]\n";
    let stage = stage(&service, "").file("trueup.yaml", settings).file("e.yaml", &definition("shop/a", 80));
    stage.write("a.yaml", &policy("shop/a", 80));
    stage.run("apply . --yes --quiet").code(0);
    stage.edit("e.yaml", "namespace: shop", "namespace: pay");
    stage.edit("a.yaml", "namespace: shop", "namespace: pay");
    let moved = stage.run("plan .");
    moved
        .stdout_contains("from advertise_policy:shop/a to advertise_policy:pay/a")
        .stdout_contains("from shop/a to pay/a");
    // Another kind of the same name is another object.
    stage.write("e.yaml", &definition("shop/other", 80));
    stage.remove("a.yaml");
    stage.write("c.yaml", &CHECK.replace("name: alive, namespace: shop", "name: a, namespace: pay"));
    stage.run("plan .").does_not_say("moves from");
}

#[test]
fn a_reference_of_an_endpoint_is_checked_where_its_kind_is_read() {
    let service = Service::start();
    let at = "  where:\n    virtual_site:\n      ref: [{name: nowhere, namespace: shop}]\n";
    let stage = stage(&service, "kinds: [virtual_site]\n").file("e.yaml", &format!("{}{at}", definition("shop/e", 80)));
    stage.run("plan .").code(1).stderr_contains("`virtual_site:shop/nowhere` is neither defined nor live");
}

#[test]
fn strict_settings_are_told_by_their_word_and_not_by_every_kind() {
    let service = Service::start();
    let stage = stage(&service, "strict: true\n").file("e.yaml", &definition("shop/e", 80));
    git(&stage, "init -q -b main");
    commit(&stage, "first");
    git(&stage, "checkout -q -b change");
    stage.write("trueup.yaml", "stack: s\nnamespaces: [shop]\n");
    commit(&stage, "second");
    let plan = stage.run("plan . --base main");
    plan.stdout_contains("every kind -> none").does_not_say("advertise_policy");
}

#[test]
fn an_object_with_a_secret_moves_with_its_definition_and_not_without() {
    let certificate = "kind: certificate\nmetadata: {name: web, namespace: shop}\nspec:\n  \
                       certificate_url: string:///LS0t\n  \
                       private_key: {blindfold_secret_info: {location: 'string:///AAAA'}}\n";
    for moves_first in [true, false] {
        let service = Service::start();
        let settings = |stack: &str| format!("stack: {stack}\nnamespaces: [shop]\nkinds: [certificate]\n");
        let stage = Stage::new()
            .at(&service)
            .file("old/trueup.yaml", &settings("old"))
            .file("old/c.yaml", certificate)
            .file("new/trueup.yaml", &settings("new"))
            .committed();
        stage.run("apply old --yes --quiet").code(0);
        if !moves_first {
            stage.remove("old/c.yaml");
            stage.write("new/c.yaml", certificate);
        }
        let moved = stage.run("move --from old --directory new certificate:shop/web --yes --quiet");
        match moves_first {
            true => moved.code(6).stdout_contains("may contain a secret"),
            false => moved.code(0),
        };
        let owner = object(&service, "certificates", "web")["metadata"]["annotations"]["trueup/stack"].take();
        assert_eq!(owner, if moves_first { "old" } else { "new" });
    }
}

#[test]
fn guards_of_two_kinds_in_a_namespace_are_two() {
    let service = Service::start();
    let stage = stage(&service, "kinds: [advertise_policy, healthcheck]\n").file("e.yaml", &definition("shop/e", 80));
    for n in 0..4 {
        stage.write(&format!("p{n}.yaml"), &policy(&format!("shop/p{n}"), 80));
        stage.write(&format!("c{n}.yaml"), &CHECK.replace("name: alive", &format!("name: c{n}")));
    }
    stage.run("apply . --yes --quiet").code(0);
    for n in 0..4 {
        stage.remove(&format!("p{n}.yaml"));
        stage.remove(&format!("c{n}.yaml"));
    }
    stage.run("plan .").stdout_contains("and 1 more like it").does_not_say("other namespace");
    let sarif = stage.run("plan . --format sarif").json();
    let results = sarif["runs"][0]["results"].as_array().expect("results").clone();
    let guards = results.iter().filter(|result| result["ruleId"] == "guard-empty-namespace");
    let prints: std::collections::BTreeSet<String> =
        guards.clone().map(|result| result["partialFingerprints"].to_string().replace(":2\"", ":1\"")).collect();
    assert_eq!(prints.len(), guards.count(), "{prints:?}");
}

#[test]
fn an_empty_list_of_a_kind_is_no_mistake() {
    let service = Service::start();
    let stage = stage(&service, "").file("e.yaml", &definition("shop/e", 80)).applied(".");
    stage.run("get origin_pool:shop").code(0).stdout("").stderr_contains("Nothing is in shop");
    stage.run("get healthcheck:shop/b").code(1).stderr_contains("no live object `healthcheck:shop/b`");
}

#[test]
fn the_commands_that_delete_a_removed_stack_name_the_kinds_that_its_settings_do_not() {
    let service = Service::start();
    let stage = Stage::new()
        .at(&service)
        .file("one/trueup.yaml", "stack: one\nnamespaces: [shop]\n")
        .file("one/a.yaml", &policy("shop/a", 80))
        .file("two/trueup.yaml", "stack: two\nnamespaces: [pay]\n")
        .file("two/e.yaml", &definition("pay/e", 80))
        .committed();
    git(&stage, "checkout -q -b change");
    git(&stage, "rm -rq one");
    commit(&stage, "second");
    let removed = stage.run("stacks --changed-since main --removed");
    removed.stdout_contains("# list these under `kinds:` of one/trueup.yaml by hand, or they stay: advertise_policy");
}

#[test]
fn a_secret_of_the_create_alone_hinders_no_replace() {
    let service = Service::start();
    let mut before = json!({"metadata": {"name": "a", "namespace": "system"}, "spec": {
        "aws_region": "us-east-1", "address": "one", "instance_type": "t3.xlarge", "ssh_key": "k", "nodes_per_az": 2,
        "aws_cred": {"name": "c", "namespace": "system"}, "vpc": {"vpc_id": "vpc-12345678"}, "admin_password": null}});
    let (status, body) = service.send("POST", "/api/config/namespaces/system/aws_vpc_sites", Some(&before.to_string()));
    assert_eq!(status, 200, "{body}");
    let settings = "stack: s\nnamespaces: [system]\nkinds: [aws_vpc_site]\n";
    let stage = Stage::new().at(&service).file("trueup.yaml", settings);
    before["kind"] = "aws_vpc_site".into();
    before["spec"]["nodes_per_az"] = json!(3);
    stage.write("a.json", &before.to_string());
    stage.run("apply . --yes --quiet").code(0);
    let (_, body) = service.send("GET", "/api/config/namespaces/system/aws_vpc_sites/a", None);
    let live: serde_json::Value = serde_json::from_str(&body).expect("JSON");
    assert_eq!(live["spec"]["nodes_per_az"], 3);
}

#[test]
fn a_value_below_a_unit_cannot_be_ignored_alone() {
    let stage = Stage::new();
    for (glob, field) in [("origin_pool:*", "spec.advanced_options.connection_timeout"), ("*", "spec.port.x")] {
        stage.write("trueup.yaml", &format!("ignore: [{{object: '{glob}', field: {field}}}]\n"));
        stage.run("validate .").code(1).stderr_contains(field).stderr_contains("trueup.yaml:1");
    }
}

#[test]
fn a_removal_is_made_where_nothing_of_the_object_says_whose_it_is() {
    let service = Service::start();
    let settings = "stack: s\nnamespaces: [shop]\nkinds: [origin_pool]\nstrict: true\nownership_annotations: false\n";
    let pool = |more: &str| {
        format!(
            "kind: origin_pool\nmetadata: {{name: a, namespace: shop}}\nspec: {{port: 80, origin_servers: \
             [{{public_ip: {{ip: 192.0.2.1}}}}], advanced_options: {{http_idle_timeout: 5{more}}}}}\n"
        )
    };
    let stage =
        Stage::new().at(&service).file("trueup.yaml", settings).file("a.yaml", &pool(", connection_timeout: 7"));
    stage.run("apply . --yes --quiet").code(0).stderr_ignored();
    stage.write("a.yaml", &pool(""));
    stage.run("apply . --yes --quiet").code(0).stderr_ignored();
    let (_, body) = service.send("GET", "/api/config/namespaces/shop/origin_pools/a", None);
    let live: serde_json::Value = serde_json::from_str(&body).expect("JSON");
    assert_ne!(live["spec"]["advanced_options"]["connection_timeout"], 7, "{body}");
    stage.run("plan . --detailed-exitcode").code(0);
}

#[test]
fn what_the_service_writes_from_another_field_follows_it_and_its_change_alone_is_drift() {
    let service = Service::start();
    let settings = "stack: s\nnamespaces: [shop]\nkinds: [ip_prefix_set]\n";
    let set = |prefix: &str| {
        format!("kind: ip_prefix_set\nmetadata: {{name: a, namespace: shop}}\nspec: {{prefix: ['{prefix}']}}\n")
    };
    let path = "/api/config/namespaces/shop/ip_prefix_sets/a";
    let live = || -> serde_json::Value {
        let (_, body) = service.send("GET", path, None);
        serde_json::from_str(&body).expect("JSON")
    };
    let stage = Stage::new().at(&service).file("trueup.yaml", settings).file("a.yaml", &set("10.0.0.0/8"));
    stage.run("apply . --yes --quiet").code(0).stderr_ignored();
    stage.run("drift .").code(0);
    stage.write("a.yaml", &set("10.1.0.0/16"));
    stage.run("apply . --yes --quiet").code(0).stderr_ignored();
    let mirror = json!([{"ipv4_prefix": "10.1.0.0/16", "description": ""}]);
    assert_eq!(live()["spec"]["ipv4_prefixes"], mirror, "{}", live());
    stage.remove("a.yaml");
    stage.run("pull --output p").code(0).stderr_ignored();
    let files = walkdir::WalkDir::new(stage.path("p")).into_iter().map(|entry| entry.expect("an entry"));
    let yaml = files.filter(|file| file.path().extension().is_some_and(|extension| extension == "yaml"));
    let pulled: String = yaml.map(|file| std::fs::read_to_string(file.path()).expect("a file")).collect();
    assert!(pulled.contains("10.1.0.0/16") && !pulled.contains("ipv4_prefixes"), "{pulled}");
    std::fs::remove_dir_all(stage.path("p")).expect("the copies");
    stage.write("a.yaml", &set("10.1.0.0/16"));
    let mut changed = live();
    changed["spec"]["ipv4_prefixes"] = json!([{"ipv4_prefix": "10.9.0.0/16"}]);
    let body = json!({"metadata": changed["metadata"], "spec": changed["spec"]}).to_string();
    let (status, answer) = service.send("PUT", path, Some(&body));
    assert_eq!(status, 200, "{answer}");
    stage.run("drift .").code(3).stdout_contains("ipv4_prefixes");
}

#[test]
fn a_definition_that_goes_on_in_the_field_that_the_service_wrote_is_no_drift() {
    let service = Service::start();
    let set = |spec: &str| format!("kind: ip_prefix_set\nmetadata: {{name: a, namespace: shop}}\nspec: {spec}\n");
    let settings = "stack: s\nnamespaces: [shop]\nkinds: [ip_prefix_set]\n";
    let stage = Stage::new().at(&service).file("trueup.yaml", settings);
    let stage = stage.file("a.yaml", &set("{prefix: [10.1.0.0/16]}")).applied(".");
    for more in ["", ", description: x", "}, {ipv4_prefix: 10.2.0.0/16"] {
        stage.write("a.yaml", &set(&format!("{{ipv4_prefixes: [{{ipv4_prefix: 10.1.0.0/16{more}}}]}}")));
        stage.run("drift .").code(2).does_not_say("outside").stderr_ignored();
    }
    let path = "/api/config/namespaces/shop/ip_prefix_sets/a";
    let (_, body) = service.send("GET", path, None);
    let changed = body.replace("10.1.0.0/16", "10.9.0.0/16");
    assert_eq!(service.send("PUT", path, Some(&changed)).0, 200);
    stage.run("drift .").code(4).stdout_contains("changed outside").stderr_ignored();
}

#[test]
fn an_object_is_at_its_definition_whatever_an_overlay_of_it_begins_with() {
    let settings = "namespaces: [shop]\nkinds: [advertise_policy]\nenvironments: {prod: {stack: s, overlay: o}}\n";
    let overlay = "metadata: {name: a, namespace: shop}\nspec: {port: 81}\n# last\nkind: advertise_policy\n";
    let service = Service::start();
    let stage = Stage::new().at(&service).file("trueup.yaml", settings).file("a.yaml", &policy("shop/a", 80));
    stage.write("o/x.yaml", overlay);
    stage.run("plan . --env prod --format github").code(0).stdout_contains("a.yaml").does_not_say("o/x.yaml,line=4");
}

#[test]
fn the_delete_of_an_object_of_any_kind_shows_what_goes() {
    let service = Service::start();
    let stage = of_policies(&service).file("b.yaml", &policy("shop/b", 81)).applied(".");
    stage.remove("a.yaml");
    let ran = stage.run("plan .");
    ran.code(0).stdout_contains("  10.0.0.7\n").stdout_contains("  80\n");
}
