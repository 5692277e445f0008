//! Endpoints that Terraform manages become definitions of which a plan is empty.

use proptest::prelude::*;
use serde_json::{Map, Value, json};
use trueup::kind::{self, FieldKind, Kind};
use trueup::terraform::{Document, Import};

use crate::strategies;
use crate::support::objects::{self, Specs};
use crate::support::{Service, Stage};

/// A request's value as the provider writes it into a state.
fn attribute(name: &str, value: &Value) -> Value {
    match value {
        Value::Object(map) if matches!(name, "labels" | "annotations") => Value::Object(map.clone()),
        Value::Object(map) if map.is_empty() => json!(true),
        Value::Object(map) => json!([attributes(map)]),
        Value::Array(items) => {
            items.iter().map(|item| item.as_object().map_or(item.clone(), |map| attributes(map).into())).collect()
        }
        other => other.clone(),
    }
}

fn attributes(map: &Map<String, Value>) -> Map<String, Value> {
    map.iter().map(|(name, value)| (name.clone(), attribute(name, value))).collect()
}

/// The state of a resource for each object.
fn state(objects: &[Value]) -> Value {
    let instances: Vec<Value> = objects
        .iter()
        .enumerate()
        .map(|(index, object)| {
            let mut all = attributes(object["metadata"].as_object().expect("metadata"));
            all.extend(attributes(object["spec"].as_object().expect("a spec")));
            all.insert("id".to_owned(), json!(format!("id-{index}")));
            json!({"schema_version": 0, "index_key": index, "attributes": all})
        })
        .collect();
    json!({"version": 4, "terraform_version": "1.9.5", "serial": 1, "lineage": "x", "outputs": {}, "resources": [
        {"mode": "managed", "type": "volterra_endpoint", "name": "all", "provider": "x", "instances": instances}
    ]})
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn any_endpoint_is_read_back_from_a_state(endpoints in strategies::endpoints()) {
        let wire: Vec<Value> =
            endpoints.iter().map(|one| serde_json::to_value(one).expect("JSON")).collect();
        let mut import = Import::default();
        import.add(vec![Document::read(state(&wire).to_string().as_bytes()).expect("a state")]);
        prop_assert!(import.left_out.is_empty(), "{:?}", import.left_out);
        let read: Vec<_> = import.objects.into_values().map(|(_, endpoint)| endpoint).collect();
        let mut wanted = endpoints;
        wanted.sort_by(|a, b| a.key.cmp(&b.key));
        prop_assert_eq!(read, wanted);
    }
}

fn cart() -> Value {
    json!({
        "metadata": {"name": "cart", "namespace": "shop", "labels": {"tier": "web"}},
        "spec": {"dns_name": "cart.example.net", "protocol": "TCP", "port": 8443, "where": {"site": {
            "ref": [{"name": "ce01", "namespace": "system"}], "disable_internet_vip": {}}}}
    })
}

fn search() -> Value {
    json!({"metadata": {"name": "search", "namespace": "shop"}, "spec": {"ip": "10.0.0.7", "port": 443}})
}

#[test]
fn a_plan_after_an_import_is_empty() {
    let service = Service::start();
    service.create(&cart());
    service.create(&search());
    let stage = Stage::new().at(&service).file("terraform.tfstate", &state(&[cart(), search()]).to_string());
    stage
        .run("import terraform terraform.tfstate -o endpoints")
        .code(0)
        .stdout_contains("Imported 2 endpoints into endpoints.")
        .stdout_contains("trueup plan endpoints");
    stage.run("plan endpoints --detailed-exitcode").code(0).stdout_contains("In sync: 2 endpoints in 1 namespace");
    stage.run("import terraform terraform.tfstate -o endpoints").code(0).stdout_contains("2 unchanged");
}

#[test]
fn a_directory_of_configuration_in_json_syntax_is_read_whole() {
    let stage = Stage::new();
    let one = |name: &str| {
        json!({"resource": {"volterra_endpoint": {name: {
        "name": name, "namespace": "shop", "ip": "10.0.0.7", "port": 443}}}})
        .to_string()
    };
    stage.write("infra/a.tf.json", &one("a"));
    stage.write("infra/b.tf.json", &one("b"));
    stage.write("infra/variables.tf.json", "{\"variable\": {\"x\": {}}}");
    stage.write("infra/notes.json", "not Terraform");
    stage.run("import terraform infra -o endpoints").code(0).stdout_contains("Imported 2 endpoints");
    assert!(stage.read("endpoints/shop/a.yaml").contains("ip: 10.0.0.7"));
    // Beside what was read, a plan would fail.
    stage
        .run("import terraform infra -o infra")
        .code(0)
        .stderr_contains("not every file there is a definition")
        .stdout_contains("Next:  trueup validate infra\n");
}

#[test]
fn a_directory_with_a_state_and_every_kind_of_file_is_read_once() {
    let stage = Stage::new();
    let configured = json!({"resource": {"volterra_endpoint": {"all": {
        "name": "cart", "namespace": "shop", "port": "${var.port}", "count": 2}}}});
    stage.write("infra/main.tf.json", &configured.to_string());
    for block in ["locals", "output", "module", "data", "moved", "removed", "import"] {
        stage.write(&format!("infra/{block}.tf.json"), &json!({block: {}}).to_string());
    }
    stage.write("infra/terraform.tfstate", &format!("\u{feff}{}", state(&[cart(), search()])));
    stage.run("import terraform infra -o endpoints").code(0).stdout_contains("Imported 2 endpoints");
    let empty = [("empty.json", ""), ("nothing.json", "{\"format_version\": \"1.0\"}"), ("none.tf.json", "{}")];
    for (name, text) in empty {
        stage.write(name, text);
        let ran = stage.run(&format!("import terraform {name} -o other"));
        ran.code(1).stderr_contains("there are no `volterra_…` resources to import");
    }
}

#[test]
fn an_import_keeps_what_the_state_says_of_a_reference() {
    let mut other = cart();
    other["metadata"]["labels"]["ves.io/app_type"] = json!("web");
    other["spec"]["where"]["site"]["ref"][0] =
        json!({"name": "ce01", "namespace": "system", "tenant": "acme-x", "uid": "7d0f"});
    let stage = Stage::new().file("terraform.tfstate", &state(&[other]).to_string());
    let ran = stage.run("import terraform terraform.tfstate -o endpoints");
    ran.code(0).stderr_contains("not written: labels.ves.io/app_type of volterra_endpoint.all[0]: the service sets it");
    let text = stage.read("endpoints/shop/cart.yaml");
    assert!(text.contains("tenant: acme-x") && text.contains("uid: 7d0f") && !text.contains("ves.io/"), "{text}");
}

#[test]
fn a_value_that_terraform_marks_as_sensitive_is_written_and_named() {
    let mut marked = state(&[cart()]);
    marked["resources"][0]["instances"][0]["sensitive_attributes"] = json!([[{"type": "get_attr", "value": "labels"}]]);
    let stage = Stage::new().file("terraform.tfstate", &marked.to_string());
    let named = "written in clear text: labels of volterra_endpoint.all[0], which Terraform marks as sensitive";
    stage.run("import terraform terraform.tfstate -o endpoints").code(0).stderr_contains(named);
    assert!(stage.read("endpoints/shop/cart.yaml").contains("tier: web"));
    // Why it is left out could quote it.
    for (attribute, value) in
        [("labels", json!({"tier": "hunter2 !"})), ("dns_name", json!("user:hunter2@db.example.net"))]
    {
        let mut wrong = marked.clone();
        let instance = &mut wrong["resources"][0]["instances"][0];
        instance["attributes"][attribute] = value;
        instance["sensitive_attributes"] = json!([[{"type": "get_attr", "value": attribute}]]);
        stage.write("terraform.tfstate", &wrong.to_string());
        let ran = stage.run("import terraform terraform.tfstate -o left");
        let hidden = format!("because Terraform marks `{attribute}` as sensitive");
        ran.code(1).does_not_say("hunter2").stderr_contains(&hidden);
    }
}

#[test]
fn what_cannot_be_imported_is_named_and_the_code_says_so() {
    let mut newer = search();
    newer["spec"]["newer"] = json!("x");
    let stage = Stage::new().file("terraform.tfstate", &state(&[cart(), newer]).to_string());
    stage
        .run("import terraform terraform.tfstate -o endpoints")
        .code(7)
        .stdout_contains("Imported 1 endpoint into endpoints")
        .stderr_contains("left out: volterra_endpoint.all[1]: its kind has no `newer`")
        .stderr_contains("1 resource was left out");
}

#[test]
fn two_states_with_the_same_addresses_hide_nothing_of_each_other() {
    let of = |namespace: &str| {
        let mut newer = cart();
        newer["metadata"]["namespace"] = json!(namespace);
        newer["spec"]["newer"] = json!("x");
        state(&[newer]).to_string()
    };
    let stage = Stage::new().file("dev.tfstate", &of("dev")).file("prod.tfstate", &of("prod"));
    let left_out = "left out: volterra_endpoint.all[0]: its kind has no `newer`\n";
    stage
        .run("import terraform dev.tfstate prod.tfstate -o endpoints")
        .code(1)
        .stderr_contains(&left_out.repeat(2))
        .stderr_contains("2 resources were left out");
}

#[test]
fn a_plan_of_terraform_is_not_a_state_without_resources() {
    let plan = json!({"format_version": "1.2", "planned_values": {"root_module": {}}, "resource_changes": []});
    let stage = Stage::new().file("plan.json", &plan.to_string());
    stage
        .run("import terraform plan.json -o endpoints")
        .code(1)
        .stderr_contains("`plan.json` cannot be imported: it is a plan, and not a state")
        .stderr_contains("terraform state pull > terraform.tfstate");
}

#[test]
fn a_resource_of_the_provider_that_is_no_object_of_a_known_kind_is_named() {
    let resource = |kind: &str, name: &str| {
        let instance = json!({"schema_version": 0, "attributes": {"name": "a", "namespace": "shop"}});
        json!({"mode": "managed", "type": kind, "name": name, "provider": "x", "instances": [instance]})
    };
    let mut state = state(&[cart()]);
    let resources = state["resources"].as_array_mut().expect("a list");
    resources.extend([resource("volterra_frobnicator", "x"), resource("aws_instance", "y")]);
    let configuration = json!({"resource": {"volterra_frobnicator": {"z": {"name": "a"}}}});
    let stage =
        Stage::new().file("terraform.tfstate", &state.to_string()).file("alone.tf.json", &configuration.to_string());
    let unread = |name: &str| format!("not read: volterra_frobnicator.{name}: `trueup kinds` does not list its kind");
    let whole = stage.run("import terraform terraform.tfstate -o endpoints");
    whole.code(0).stdout_contains("Imported 1 endpoint").stderr_contains(&unread("x")).does_not_say("aws_instance");
    stage.run("import terraform alone.tf.json -o endpoints").code(1).stderr_contains(&unread("z"));
}

#[test]
fn a_file_that_is_not_of_terraform_is_an_error_and_is_not_quoted() {
    let stage =
        Stage::new().file("secret.json", "{\"password\": \"hunter2\"}").file("broken.json", "{\"password\": hunter2}");
    stage
        .run("import terraform secret.json -o endpoints")
        .code(1)
        .stderr_contains("`secret.json`")
        .does_not_say("hunter2");
    stage
        .run("import terraform broken.json -o endpoints")
        .code(1)
        .stderr_contains("line 1, column")
        .does_not_say("hunter2");
    stage.write("native/main.tf", "resource \"volterra_endpoint\" \"x\" {}");
    stage
        .run("import terraform native -o endpoints")
        .code(1)
        .stderr_contains("`native` has neither a state nor a `*.tf.json` file")
        .stderr_contains("terraform state pull > terraform.tfstate");
    stage
        .run("import terraform native/main.tf -o endpoints")
        .code(1)
        .stderr_contains("is not valid JSON")
        .stderr_contains("terraform state pull > terraform.tfstate");
    stage.write("none.tfstate", "{\"version\": 4, \"resources\": []}");
    stage.run("import terraform none.tfstate -o endpoints").code(1).stderr_contains("no `volterra_…`");
}

#[test]
fn files_that_are_there_are_kept_unless_a_person_says_otherwise() {
    let stage = Stage::new().file("terraform.tfstate", &state(&[cart()]).to_string());
    stage.write("endpoints/shop/cart.yaml", "mine\n");
    stage.run("import terraform terraform.tfstate -o endpoints").code(6).stderr_contains("exists already");
    assert_eq!(stage.read("endpoints/shop/cart.yaml"), "mine\n");
    stage
        .run("import terraform terraform.tfstate -o endpoints --overwrite")
        .code(0)
        .stdout_contains("Imported 1 endpoint");
}

/// The attributes with which a state writes a spec, unset ones too: a message is a block, an option without fields a flag.
fn written(id: &str, spec: &Value) -> Value {
    let message = kind::message(id);
    let mut attributes = Map::new();
    for field in &message.fields {
        let value = match (&field.kind, &spec[field.name]) {
            (_, Value::Null) if field.is_list || field.below().is_some() => json!([]),
            (FieldKind::Message("") | FieldKind::Bool, Value::Null) => json!(false),
            (FieldKind::Integer { .. } | FieldKind::Float { .. }, Value::Null) => json!(0),
            (_, Value::Null) => json!(""),
            (FieldKind::Message(""), _) => json!(true),
            (FieldKind::Message(id), Value::Array(items)) => items.iter().map(|item| written(id, item)).collect(),
            (FieldKind::Message(id), value) => json!([written(id, value)]),
            (FieldKind::Map(of), Value::Object(entries)) => match &**of {
                FieldKind::Message(id) => {
                    entries.iter().map(|(key, of)| json!({"name": key, "value": [written(id, of)]})).collect()
                }
                _ => json!(entries),
            },
            (FieldKind::Integer { bits: 64, .. }, Value::String(text)) => text.parse::<i64>().expect("a number").into(),
            (_, value) => value.clone(),
        };
        attributes.insert(field.name.to_lowercase(), value);
    }
    attributes.into()
}

/// Whether an option of a group is set to nothing, which a state does not tell from one that is not set.
fn has_zero_option(id: &str, spec: &Value) -> bool {
    let message = kind::message(id);
    let is_zero = |value: &Value| [json!(false), json!(0), json!("0"), json!("")].contains(value);
    message.fields.iter().any(|field| {
        let value = &spec[field.name];
        let below = |value: &Value| field.below().is_some_and(|id| has_zero_option(id, value));
        let inner = match value {
            Value::Array(items) => items.iter().any(below),
            Value::Object(entries) if matches!(field.kind, FieldKind::Map(_)) => entries.values().any(below),
            value => below(value),
        };
        inner || message.group_of(field.name).is_some() && is_zero(value)
    })
}

/// The state of one resource of a kind.
fn state_of(kind: &Kind, name: &str, spec: &Value) -> Value {
    let mut attributes = written(kind.spec, spec);
    // What the metadata has, too.
    for name in ["description", "disable"] {
        if let Some(own) = attributes.as_object_mut().and_then(|attributes| attributes.remove(name)) {
            attributes[format!("spec_{name}")] = own;
        }
    }
    let namespace = objects::namespace(kind);
    for (key, value) in [("id", json!("x")), ("name", json!(name)), ("namespace", json!(namespace))] {
        attributes[key] = value;
    }
    attributes["labels"] = json!({"tier": "web"});
    json!({"mode": "managed", "type": format!("volterra_{}", kind.name), "name": name, "provider": "x",
           "instances": [{"schema_version": 0, "attributes": attributes}]})
}

fn state_with(resources: &[Value]) -> String {
    json!({"version": 4, "terraform_version": "1.9.5", "serial": 1, "lineage": "x", "outputs": {}, "resources": resources})
        .to_string()
}

#[test]
fn random_objects_of_every_kind_are_read_back_from_a_state() {
    let seed = std::env::var("TRUEUP_SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or(28);
    let mut specs = Specs::new(seed);
    for kind in kind::all().filter(|kind| kind.name != kind::ENDPOINT) {
        for _ in 0..5 {
            let spec = specs.without_secret(kind);
            let Some(spec) = spec else { continue };
            if has_zero_option(kind.spec, &spec) {
                continue;
            }
            let mut import = Import::default();
            let state = state_with(&[state_of(kind, "a", &spec)]);
            import.add(vec![Document::read(state.as_bytes()).expect("a state")]);
            assert!(import.left_out.is_empty(), "TRUEUP_SEED={seed} {}: {:?}\n{spec:#}", kind.name, import.left_out);
            let (_, object) = import.objects.values().next().expect("an object");
            let read = object.spec.json();
            assert_eq!(
                kind::canonical(kind.message(), read),
                kind::canonical(kind.message(), spec.clone()),
                "TRUEUP_SEED={seed} {}: {spec:#}",
                kind.name
            );
        }
    }
}

#[test]
fn a_plan_after_an_import_of_several_kinds_is_empty() {
    let service = Service::start();
    let origin_pool = kind::find("origin_pool").expect("a kind");
    let healthcheck = kind::find("healthcheck").expect("a kind");
    let pool = json!({"origin_servers": [{"public_ip": {"ip": "192.0.2.1"}, "labels": {}}], "port": 443, "no_tls": {},
        "healthcheck": [{"name": "alive", "namespace": "shop"}], "loadbalancer_algorithm": "ROUND_ROBIN",
        "endpoint_selection": "DISTRIBUTED"});
    let check = json!({"http_health_check": {"path": "/alive", "use_origin_server_name": {}}, "timeout": 3, "interval": 15,
        "unhealthy_threshold": 2, "healthy_threshold": 3});
    for (plural, name, spec) in [("healthchecks", "alive", &check), ("origin_pools", "cart", &pool)] {
        let body = json!({"metadata": {"name": name, "namespace": "shop", "labels": {"tier": "web"}}, "spec": spec});
        let path = format!("/api/config/namespaces/shop/{plural}");
        let (status, answer) = service.send("POST", &path, Some(&body.to_string()));
        assert_eq!(status, 200, "{answer}");
    }
    // The provider leaves a namespace out that is that of the object.
    let mut pool = state_of(origin_pool, "cart", &pool);
    pool["instances"][0]["attributes"]["healthcheck"][0]["namespace"] = json!("");
    let resources = [pool, state_of(healthcheck, "alive", &check)];
    let stage = Stage::new().at(&service).file("terraform.tfstate", &state_with(&resources));
    stage
        .run("import terraform terraform.tfstate -o objects")
        .code(0)
        .stdout_contains("Imported 2 objects into objects.");
    let text = stage.read("objects/shop/origin_pool/cart.yaml");
    assert!(text.starts_with("# yaml-language-server: $schema=../../.trueup.schema.json\n"), "{text}");
    stage.run("plan objects --detailed-exitcode").code(0).stdout_contains("In sync: 2 objects in 1 namespace");
}

#[test]
fn what_no_definition_can_say_is_said_for_each_attribute_and_nothing_of_a_secret() {
    let kind = kind::find("certificate").expect("a kind");
    let mut resource = state_of(kind, "web", &json!({"certificate_url": "string:///YQ=="}));
    let attributes = &mut resource["instances"][0]["attributes"];
    attributes["of_tomorrow"] = json!("x");
    attributes["unset_of_tomorrow"] = json!("");
    attributes["disable_ocsp_stapling"] = json!("maybe");
    attributes["private_key"] = json!([{"clear_secret_info": [{"url": "string:///aHVzaA=="}]}]);
    let stage = Stage::new().file("terraform.tfstate", &state_with(&[resource]));
    stage
        .run("import terraform terraform.tfstate -o objects")
        .code(1)
        .stderr_contains("left out: volterra_certificate.web: its kind has no `of_tomorrow`")
        .stderr_contains("not of its type: `disable_ocsp_stapling`")
        .stderr_contains("a definition cannot have the secret of `private_key`")
        .does_not_say("aHVzaA");
    assert!(!stage.path("objects/shop").exists());
}
