//! For any live objects, what `pull` writes is read back as the same endpoints, and what it leaves out
//! it names.

use std::collections::BTreeMap;
use std::process::Stdio;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use serde_json::json;
use trueup::kind::label;
use trueup::load;
use trueup::model::{Key, Name, Namespace, Object, StringMap};

use crate::strategies;
use crate::support::{OddServer, Service, Stage, definition, git};

/// Texts that YAML reads as something else, or that end what they stand in.
const TRAPS: &[&str] = &[
    "no",
    "Yes",
    "on",
    "y",
    "~",
    "null",
    "NULL",
    "true",
    "False",
    "1e3",
    "1_000",
    "007",
    "0o17",
    "0x1f",
    "-0",
    "+1",
    ".5",
    "1.",
    ".inf",
    "-.INF",
    ".nan",
    "12:30:45",
    "2026-11-21",
    "2026-11-21T10:00:00Z",
    "=",
    "<<",
    "*a",
    "&a",
    "!t",
    "!!str x",
    "|",
    ">-",
    "?",
    "? a",
    "-",
    "- a",
    "---",
    "--- a",
    "...",
    ":",
    "a: b",
    "a:",
    ": a",
    "#",
    "a #b",
    " a",
    "a ",
    "\ta",
    "'",
    "''",
    "\"",
    "\\",
    "\\n",
    "{",
    "{a: b}",
    "[",
    "[a]",
    "%YAML 1.2",
    "@a",
    "`a`",
    ",",
    "${",
    "${a}",
    "$${a}",
    "$$",
    "$",
    "$${",
    "${${a}}",
    "a\nb",
    "a\n",
    "\na",
    "\n",
    "a\n\nb\n\n",
    " a\n  b\n",
    "a\r\nb",
    "a\rb",
    "---\na: b\n",
    "a\n...\nb",
    "# yaml-language-server: x",
    "\u{feff}a",
    "\u{85}a",
    "\u{2028}a\u{2029}",
    "\u{7f}",
    "\u{1}",
    "\u{1b}[31m",
    "é",
    "e\u{301}",
    "😀",
    "\u{202e}a",
    "\u{200b}",
    "\u{fffe}",
    "\u{e000}",
    "\u{10ffff}",
];

/// Names with a meaning of their own, for this program, for a system or for YAML.
const NAMES: &[&str] = &[
    "trueup",
    "con",
    "nul",
    "prn",
    "aux",
    "com1",
    "lpt9",
    "com",
    "console",
    "trueup-x",
    "no",
    "null",
    "yes",
    "e1",
    "true",
    "off",
    "acknowledged",
    "memory",
    "schema",
    "x--y",
];

/// Names that only a service may give.
const FOREIGN: &[&str] = &["A.b", "../up", "a/b", ".hidden", "a b", "ü", "${a}", "-a"];

fn text() -> impl Strategy<Value = String> {
    let trap = || prop::sample::select(TRAPS).prop_map(str::to_owned);
    prop_oneof![
        4 => trap(),
        2 => (trap(), trap()).prop_map(|(one, other)| one + &other),
        1 => prop::collection::vec(trap(), 1..6).prop_map(|lines| lines.join("\n")),
        1 => "[ -~\n]{1,60}",
        1 => "\\PC{1,30}",
        1 => prop::collection::vec(any::<char>(), 1..20).prop_map(String::from_iter),
        1 => "[a-z ,.\"']{100,400}",
    ]
}

/// Labels or annotations; the bounds of keys and values are those of the service.
fn texts() -> impl Strategy<Value = BTreeMap<String, String>> {
    let key = text().prop_map(|key| key.chars().take(64).collect());
    prop::collection::btree_map(key, text(), 0..4)
}

fn key() -> impl Strategy<Value = Key> {
    let namespace = prop::sample::select(&["shop", "con", "nul", "trueup", "no"][..]);
    let name = prop_oneof![
        4 => prop::sample::select(NAMES).prop_map(str::to_owned),
        4 => "[a-z]([-a-z0-9]{0,20}[a-z0-9])?",
        1 => "[a-z]{63}",
        1 => prop::sample::select(FOREIGN).prop_map(str::to_owned),
    ];
    (namespace, name).prop_map(|(namespace, name)| {
        Key::endpoint(Namespace::from_service(namespace).expect("a name"), Name::from_service(&name).expect("a name"))
    })
}

fn endpoint() -> impl Strategy<Value = Object> {
    let plain = strategies::endpoint(Key::parse("shop/a").expect("a key"));
    (key(), plain, labels(), texts(), prop_oneof![Just(String::new()), text()]).prop_map(
        |(key, plain, labels, annotations, description)| Object {
            key,
            labels: labels.into_iter().collect(),
            annotations: annotations.into_iter().collect(),
            description,
            ..plain
        },
    )
}

/// A seed of the sandbox that answers as `endpoint`.
fn seed(endpoint: &Object) -> serde_json::Value {
    let wire = serde_json::to_value(endpoint).expect("JSON");
    json!({"metadata": wire["metadata"], "raw_spec": wire["spec"]})
}

/// Whether a definition can contain it: names and labels are valid, and no key begins a variable.
fn can_be_defined(endpoint: &Object) -> bool {
    endpoint.key.name.is_label()
        && endpoint.labels.iter().all(|(key, value)| is_label(key, value))
        && !endpoint.annotations.keys().any(|key| key.contains("${"))
}

fn is_label(key: &str, value: &str) -> bool {
    !key.is_empty() && label::key_fault(key).is_none() && label::value_fault(value).is_none()
}

/// Labels, nearly always valid ones: with another an endpoint as a whole is left out.
fn labels() -> impl Strategy<Value = Vec<(String, String)>> {
    let traps: Vec<&str> = TRAPS.iter().copied().filter(|trap| is_label(trap, trap)).collect();
    let word = || prop_oneof![4 => prop::sample::select(traps.clone()).prop_map(str::to_owned), 4 => "[a-zA-Z0-9][a-zA-Z0-9._-]{0,9}[0-9a-z]"];
    let pair = prop_oneof![40 => (word(), word()), 1 => (text(), text())];
    prop::collection::vec(pair, 0..3)
}

fn check(live: &BTreeMap<Key, Object>) -> Result<(), TestCaseError> {
    let service = Service::start();
    service.plant(&live.values().map(seed).collect());
    let stage = Stage::new().at(&service);
    let pulled = stage.run("pull -n shop -n con -n nul -n trueup -n no -o pulled");
    let messages = pulled.errors().to_owned();
    let (kept, left): (Vec<_>, Vec<_>) = live.values().partition(|endpoint| can_be_defined(endpoint));
    prop_assert_eq!(pulled.exit(), if left.is_empty() { 0 } else { 7 }, "{}{}", pulled.text(), messages);
    prop_assert_eq!(messages.lines().filter(|line| line.starts_with("left out: ")).count(), left.len(), "{}", messages);
    if kept.is_empty() {
        return Ok(());
    }
    let loaded = load::directory(&stage.path("pulled"), &load::LoadOptions::default());
    let loaded = loaded.map_err(|wrong| TestCaseError::fail(wrong.render(&load::RenderOptions::default())))?;
    let definitions = &loaded.desired.definitions;
    prop_assert_eq!(definitions.len(), kept.len());
    for endpoint in kept {
        let read = definitions.get(&endpoint.key).map(|definition| &definition.endpoint);
        prop_assert_eq!(read, Some(endpoint));
    }
    Ok(())
}

#[test]
fn for_any_live_objects_what_pull_writes_is_what_a_load_reads() {
    let cases = std::env::var("PROPTEST_CASES").ok().and_then(|text| text.parse().ok());
    let config = Config { cases: cases.unwrap_or(32), failure_persistence: None, ..Config::default() };
    let objects = prop::collection::vec(endpoint(), 1..40);
    let result = TestRunner::new(config).run(&objects, |objects| {
        check(&objects.into_iter().map(|endpoint| (endpoint.key.clone(), endpoint)).collect())
    });
    result.unwrap_or_else(|error| panic!("{error}"));
}

#[test]
fn every_trap_is_read_back_as_a_key_as_a_value_and_as_a_description() {
    let plain = |number: usize| -> Object {
        let wire = json!({"metadata": {"name": format!("e{number}"), "namespace": "shop"}, "spec": {"ip": "10.0.0.1"}});
        serde_json::from_value(wire).expect("an endpoint")
    };
    let live = TRAPS.iter().enumerate().map(|(number, trap)| {
        let texts = || [((*trap).to_owned(), (*trap).to_owned())].into_iter().collect();
        let labels = if is_label(trap, trap) { texts() } else { StringMap::default() };
        let endpoint = Object { labels, annotations: texts(), description: (*trap).to_owned(), ..plain(number) };
        (endpoint.key.clone(), endpoint)
    });
    check(&live.collect()).unwrap_or_else(|error| panic!("{error}"));
}

/// A live endpoint at a site of `tenant`; the sandbox's own tenant is `sandbox-tenant`.
fn at_site(name: &str, tenant: &str) -> serde_json::Value {
    json!({
        "metadata": {"name": name, "namespace": "shop", "labels": {"ves.io/app_type": "web", "tier": "db"}},
        "spec": {"ip": "10.0.0.7", "port": 80, "where": {"virtual_site": {
            "ref": [{"name": "all", "namespace": "shared", "tenant": tenant}],
            "refs": [{"name": "blue", "namespace": "shared", "tenant": tenant}]}}}
    })
}

#[test]
fn a_reference_to_another_tenant_is_restored_to_that_tenant() {
    let service = Service::start();
    service.plant(&json!([
        at_site("ours", "sandbox-tenant"),
        at_site("partner", "acme-x"),
        at_site("shared", "ves-io")
    ]));
    let before = service.get("shop/partner")["spec"].clone();
    assert_eq!(before["where"]["virtual_site"]["ref"][0]["tenant"], "acme-x");
    let stage = Stage::new().at(&service).file("stack/trueup.yaml", "stack: shop\nnamespaces: [shop]\n");
    let pulled = stage.run("pull -n shop -o stack/endpoints");
    pulled.code(0).stderr_contains("not written: labels.ves.io/app_type of shop/partner: the service sets it");
    assert!(!stage.read("stack/endpoints/shop/ours.yaml").contains("tenant"));
    assert_eq!(stage.read("stack/endpoints/shop/partner.yaml").matches("tenant: acme-x").count(), 2);
    assert_eq!(stage.read("stack/endpoints/shop/shared.yaml").matches("tenant: ves-io").count(), 2);
    assert_eq!(stage.run("get shop/partner --format yaml").text().matches("tenant: acme-x").count(), 2);
    for name in ["ours", "partner", "shared"] {
        service.delete(&format!("shop/{name}"));
    }
    stage.run("apply stack --yes --quiet").code(0);
    assert_eq!(service.get("shop/partner")["spec"], before);
    assert_eq!(service.get("shop/ours")["spec"]["where"]["virtual_site"]["ref"][0]["tenant"], "sandbox-tenant");
}

#[test]
fn drift_is_taken_over_with_the_tenant_that_it_refers_to() {
    let service = Service::start();
    let stage = Stage::new().at(&service).file("stack/trueup.yaml", "stack: shop\nnamespaces: [shop]\n").file(
        "stack/cart.yaml",
        "metadata:\n  name: cart\n  namespace: shop\nspec:\n  ip: 10.0.0.7\n  where:\n    virtual_site:\n      ref:\n      - name: all\n",
    );
    stage.run("apply stack --yes --quiet").code(0);
    let refer = |name: &str, namespace: &str, tenant: &str| {
        service.change("shop/cart", |object| {
            object["spec"]["where"]["virtual_site"]["ref"] =
                json!([{"name": name, "namespace": namespace, "tenant": tenant}]);
        });
        stage.run("pull --drift stack").code(0).stdout_contains("spec.where");
        stage.run("plan stack --detailed-exitcode");
        stage.read("stack/cart.yaml")
    };
    let taken = refer("edge", "shared", "acme-x");
    assert!(taken.contains("edge") && taken.contains("shared") && taken.contains("acme-x"), "{taken}");
    service.delete("shop/cart");
    stage.run("apply stack --yes --quiet").code(0);
    let reference = service.get("shop/cart")["spec"]["where"]["virtual_site"]["ref"][0].clone();
    assert_eq!((&reference["namespace"], &reference["tenant"]), (&json!("shared"), &json!("acme-x")));
    let taken = refer("core", "shared", "sandbox-tenant");
    assert!(taken.contains("core") && !taken.contains("tenant"), "its own tenant need not be named: {taken}");
    stage.run("plan stack --detailed-exitcode").code(0);
}

#[test]
fn a_pull_that_leaves_an_endpoint_out_because_it_cannot_be_written_is_made_in_part() {
    let service = Service::start();
    service.create(&json!({"metadata": {"name": "cart", "namespace": "shop"}, "spec": {"ip": "10.0.0.7", "port": 80}}));
    let stage = Stage::new().at(&service);
    stage.run("pull -n shop -o whole").code(0).stderr_ignored();
    // Of another owner, it is none of the stack's.
    service.plant(&json!([{
        "metadata": {"name": "owned", "namespace": "shop"}, "spec": {"ip": "10.0.0.8", "port": 80},
        "owner_view": {"kind": "origin_pool", "namespace": "shop", "name": "web", "uid": "u"}
    }]));
    stage
        .run("pull -n shop -o owned")
        .code(0)
        .stderr_contains("left out: shop/owned: it belongs to origin_pool:shop/web");
    service.create(&json!({
        "metadata": {"name": "strange", "namespace": "shop", "annotations": {"${x}": "a"}}, "spec": {"ip": "10.0.0.9", "port": 80}
    }));
    stage.run("pull -n shop -o part").code(7).stderr_contains("left out: shop/strange");
    assert!(stage.path("part/shop/cart.yaml").exists());
}

#[test]
fn a_name_that_is_too_long_for_a_file_keeps_no_other_object_from_being_written() {
    let service = Service::start();
    let label = |letter: &str, length: usize| letter.repeat(length);
    let longest = format!("{}.{}.{}.{}", label("a", 63), label("b", 63), label("c", 63), label("d", 61));
    let names = ["example.com".to_owned(), longest.clone(), longest.replace("dddd", "")];
    let seed = |name: String| {
        json!({"kind": "dns_zone", "metadata": {"name": name, "namespace": "system"},
            "raw_spec": {"primary": {"soa_parameters": {"refresh": 3600}}}})
    };
    service.plant(&json!(names.map(seed)));
    let stage = Stage::new().at(&service);
    let pulled = stage.run("pull -n system --kind dns_zone -o d");
    pulled.code(7).stdout_contains("Pulled 2 objects").stderr_contains("its name is too long for a file");
    stage.run("pull -n system --kind dns_zone -o d").code(7).stdout_contains("2 unchanged").stderr_ignored();
}

fn by_hand(name: &str, port: u16) -> serde_json::Value {
    json!({"metadata": {"name": name, "namespace": "shop"}, "spec": {"ip": "10.0.0.7", "port": port}})
}

#[test]
fn what_another_file_defines_is_not_written_a_second_time() {
    let service = Service::start();
    for name in ["cart", "search"] {
        service.create(&by_hand(name, 80));
    }
    let stage = Stage::stack(&service, "shop").file("all.yaml", &definition("shop/cart", 80));
    let left_out = "left out: shop/cart: `all.yaml` defines it";
    stage.run("pull").code(0).stderr_contains(left_out).stdout_contains("Pulled 1 endpoint into");
    assert!(!stage.path("shop/cart.yaml").exists() && stage.path("shop/search.yaml").exists());
    stage.run("validate .").code(0).stdout_contains("2 endpoints");
    // Nor is a file replaced that defines something else.
    stage.write("shop/search.yaml", &definition("shop/other", 80));
    stage.run("pull --overwrite").code(0).stderr_contains("its file `shop/search.yaml` defines shop/other, too");
    assert_eq!(stage.read("shop/search.yaml"), definition("shop/other", 80));
    stage.remove("shop/search.yaml");
    let attributes = |name: &str| json!({"name": name, "namespace": "shop", "ip": "10.0.0.7", "port": 80});
    let resources = json!({"cart": attributes("cart"), "search": attributes("search")});
    stage.write("../infra/a.tf.json", &json!({"resource": {"volterra_endpoint": resources}}).to_string());
    let imported = stage.run("import terraform ../infra -o .");
    imported.code(7).stderr_contains("`all.yaml` defines it").stdout_contains("Imported 1 endpoint into");
    stage.run("validate .").code(0).stdout_contains("2 endpoints");
}

#[test]
fn what_a_sparse_working_tree_leaves_out_is_not_written_a_second_time() {
    let service = Service::start();
    let stage = Stage::stack(&service, "shop").file("cart.yaml", &definition("shop/cart", 80));
    let stage = stage.file("more/search.yaml", &definition("shop/search", 80)).committed().applied(".");
    git(&stage, "sparse-checkout set --no-cone /* !/more/");
    let attributes = json!({"name": "search", "namespace": "shop", "ip": "10.0.0.7", "port": 80});
    stage.write("../infra/a.tf.json", &json!({"resource": {"volterra_endpoint": {"search": attributes}}}).to_string());
    for line in ["pull", "import terraform ../infra -o ."] {
        let refused = stage.run(line);
        refused
            .code(1)
            .stderr_contains("is sparse and lacks `more/search.yaml`")
            .stderr_contains("nothing was written");
    }
    assert!(!stage.path("shop/search.yaml").exists());
}

#[test]
fn nothing_is_written_into_a_stack_that_a_sparse_working_tree_leaves_out_whole() {
    let service = Service::start();
    let stage = Stage::new().at(&service).file("w/trueup.yaml", "stack: w\nnamespaces: [shop]\n");
    let stage = stage.file("w/more/cart.yaml", &definition("shop/cart", 80)).file("v/README", "");
    let stage = stage.committed().applied("w");
    git(&stage, "sparse-checkout set v");
    let attributes = json!({"name": "cart", "namespace": "shop", "ip": "10.0.0.7", "port": 80});
    stage.write("../infra/a.tf.json", &json!({"resource": {"volterra_endpoint": {"cart": attributes}}}).to_string());
    let into = |output: &str| {
        ["pull -n shop", "import terraform ../infra"].map(|line| stage.run(&format!("{line} -o {output}")))
    };
    for output in ["w", "w/more", "w/new"] {
        for refused in into(output) {
            refused.code(1).stderr_contains("is sparse and lacks `w/").stderr_contains("nothing was written");
        }
    }
    assert!(!stage.path("w").exists());
    for written in into("v/new") {
        written.code(0).stderr_ignored();
    }
}

#[test]
fn a_stack_that_cannot_be_read_is_not_written_over() {
    let service = Service::start();
    for name in ["cart", "search"] {
        service.create(&by_hand(name, 80));
    }
    let stage = Stage::stack(&service, "shop");
    let both = format!("{}---\n{}", definition("shop/cart", 81), definition("shop/search", 81));
    let both = both.replace("81", "${port}");
    stage.write("shop/cart.yaml", &both);
    let settings = stage.read("trueup.yaml");
    stage.write("trueup.yaml", &format!("{settings}environments:\n  prod: {{variables: {{port: 81}}}}\n"));
    let attributes = json!({"name": "cart", "namespace": "shop", "ip": "10.0.0.7", "port": 80});
    stage.write("../infra/a.tf.json", &json!({"resource": {"volterra_endpoint": {"cart": attributes}}}).to_string());
    for line in ["pull --only shop/cart --overwrite", "import terraform ../infra -o . --overwrite"] {
        let refused = stage.run(line);
        refused.code(1).stderr_contains("choose one with --env: prod").stderr_contains("nothing was written");
        assert_eq!(stage.read("shop/cart.yaml"), both);
    }
    let left_out = "its file `shop/cart.yaml` defines shop/search, too";
    stage.run("pull --only shop/cart --overwrite --env prod").code(0).stderr_contains(left_out);
    assert_eq!(stage.read("shop/cart.yaml"), both);
    // Other environments give them other values.
    let one = definition("shop/cart", 81).replace("81", "${port}");
    stage.write("shop/cart.yaml", &one);
    let kept = "variables are in its file; `pull --drift` edits it in place";
    stage.run("pull --only shop/cart --overwrite --env prod").code(0).stderr_contains(kept);
    assert_eq!(stage.read("shop/cart.yaml"), one);
    stage.write("shop/cart.yaml", &both);
    // A directory that is no stack may contain anything.
    stage.write("../other/compose.yaml", "services: {}\n");
    let line = format!("pull -n shop --base-url {} -o ../other", service.url());
    stage.run(&line).code(0).stdout_contains("Pulled 2").stderr_contains("not every file there is a definition");
    // Nor has one outside of the settings that the call names.
    let outside = stage.run("pull --config trueup.yaml -o ../third");
    outside.code(0).stdout_contains("Pulled 2").does_not_say("outside of the stack");
    for line in ["", " --env prod"] {
        let again = stage.run(&format!("pull --config trueup.yaml -o ../third{line}"));
        again.code(0).stdout_contains("Pulled 2 endpoints into ../third, 2 unchanged");
    }
}

#[test]
fn nothing_is_written_into_another_stack() {
    let service = Service::start();
    for name in ["cart", "search"] {
        service.create(&by_hand(name, 80));
    }
    let cart = definition("shop/cart", 81);
    let stage = Stage::new().at(&service).file("stacks/shop/trueup.yaml", "stack: shop\n");
    stage.write("stacks/shop/endpoints.yaml", &cart);
    let attributes = json!({"name": "cart", "namespace": "shop", "ip": "10.0.0.7", "port": 80});
    stage.write("infra/a.tf.json", &json!({"resource": {"volterra_endpoint": {"cart": attributes}}}).to_string());
    let left_out = "shop/cart: `stacks/shop` is another stack: to write into it, give it with -o";
    let pull = stage.run("pull -n shop -o stacks --overwrite");
    pull.code(0).stderr_contains(left_out).stdout_contains("Pulled 0 objects");
    let import = stage.run("import terraform infra -o stacks --overwrite");
    import.code(1).stderr_contains(&left_out.replacen("shop/cart", "volterra_endpoint.cart", 1));
    assert!(!stage.path("stacks/shop/cart.yaml").exists() && !stage.path("stacks/shop/search.yaml").exists());
    // Beside it, there is a place for others.
    service.create(&json!({"metadata": {"name": "card", "namespace": "pay"}, "spec": {"ip": "10.0.0.7", "port": 80}}));
    let pull = stage.run("pull -n pay -o stacks");
    pull.code(0).stdout_contains("Pulled 1 endpoint into").stderr_contains("not every file there");
    // What it defines is its own.
    let pull = stage.run("pull -n shop -o .");
    pull.code(0).stdout_contains("Pulled 2 endpoints into").stderr_contains("not every file there");
}

#[test]
fn what_a_directory_without_settings_defines_is_left_as_in_a_stack_whatever_lies_beside_it() {
    let service = Service::start();
    for name in ["cart", "search"] {
        service.create(&by_hand(name, 80));
    }
    let stage = Stage::new().at(&service).file("objects/endpoints.yaml", &definition("shop/cart", 80));
    stage.write("objects/compose.yaml", "services: {}\n");
    stage.write("objects/chart/pod.yaml", "metadata: {{ a }}\n");
    stage.write("objects/shop/search.yaml", "metadata: {name: search, namespace: shop}\n  spec: {}\n");
    let pull = "pull -n shop -o objects --overwrite";
    let pulled = stage.run(pull);
    pulled.code(0).stderr_contains("left out: shop/cart: `endpoints.yaml` defines it");
    pulled.stderr_contains("left out: shop/search: what `shop/search.yaml` defines cannot be read");
    // Where a definition is wrong, it is not known what is defined.
    stage.write("objects/shop/search.yaml", &definition("shop/search", 81));
    stage.write("objects/new.yaml", &definition("shop/new", 80).replace("80", "80x"));
    stage.run(pull).code(1).stderr_contains("objects/new.yaml:").stderr_contains("nothing was written");
    assert_eq!(stage.read("objects/shop/search.yaml"), definition("shop/search", 81));
    stage.remove("objects/new.yaml");
    stage.run(pull).code(0).stdout_contains("Pulled 1 endpoint into").stderr_contains("not every file there");
    // What cannot be parsed may define what it names.
    let twice = definition("shop/cart", 80).replace("80", "80\n  port: 81");
    let broken = format!("{}---\nspec: {{\n", definition("shop/cart", 80));
    for text in [twice, broken] {
        stage.write("objects/endpoints.yaml", &text);
        let pulled = stage.run(pull);
        pulled.code(0).stderr_contains("left out: shop/cart: what `endpoints.yaml` defines cannot be read");
        assert!(!stage.path("objects/shop/cart.yaml").exists());
    }
    stage.write("objects/endpoints.yaml", "spec: {\n");
    stage.write("objects/shop/cart.yaml", &definition("shop/other", 80).replace("80", "80\n  port: 81"));
    let left = "left out: shop/cart: what `shop/cart.yaml` defines cannot be read";
    stage.run(pull).code(0).stderr_contains(left);
}

#[test]
fn a_file_that_is_saved_while_others_are_written_stays() {
    let service = Service::start();
    let names: Vec<String> = (0..300).map(|at| format!("e{at:03}")).collect();
    let seeds = names.iter().map(|name| by_hand(name, 80));
    service.plant(&seeds.collect());
    let stage = Stage::new().at(&service);
    let mut pull = stage.command(&["pull", "-n", "shop", "--kind", "endpoint", "-o", "out"]);
    let mut pull = pull.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().expect("trueup");
    while !stage.path("out/shop/e000.yaml").exists() && pull.try_wait().is_ok_and(|ended| ended.is_none()) {
        std::thread::yield_now();
    }
    stage.write("out/shop/e299.yaml", "mine\n");
    let pull = pull.wait_with_output().expect("trueup ends");
    assert_eq!(stage.read("out/shop/e299.yaml"), "mine\n");
    // Saved after it was written, it is as it should be, too.
    let errors = String::from_utf8_lossy(&pull.stderr);
    assert!(pull.status.success() || errors.contains("e299.yaml` was edited meanwhile"), "{errors}");
}

#[test]
fn a_directory_that_is_not_there_yet_is_written_whatever_its_name_is() {
    let service = Service::start();
    service.create(&by_hand("cart", 80));
    let stage = Stage::new().at(&service);
    stage.run("pull -n shop -o .pulled/new").code(0).stdout_contains("Pulled 1 endpoint into");
    stage.run("validate .pulled/new").code(0).stdout_contains("1 endpoint");
    // On Windows `new/..` is where `new` would be, whether it is there or not.
    if cfg!(unix) {
        let refused = "`new/../beside` goes up from a directory that does not exist";
        stage.run("pull -n shop -o new/../beside").code(64).stderr_contains(refused);
        stage.write("new/empty.yaml", "");
        stage.run("pull -n shop -o new/../beside").code(0).stdout_contains("Pulled 1 endpoint into");
    }
}

#[cfg(unix)]
#[test]
fn a_pull_that_meets_a_link_writes_nothing() {
    let service = Service::start();
    for name in ["a", "b"] {
        service.create(&by_hand(name, 80));
    }
    let stage = Stage::stack(&service, "shop").file("shop/a.yaml", &definition("shop/a", 81));
    stage.write(".shared/b.yaml", &definition("shop/b", 81));
    std::os::unix::fs::symlink("../.shared/b.yaml", stage.path("shop/b.yaml")).expect("a link");
    stage.run("pull --overwrite").code(1).stderr_contains("link").stderr_contains("nothing was written");
    assert_eq!(stage.read("shop/a.yaml"), definition("shop/a", 81));
}

#[test]
fn a_pull_of_one_kind_leaves_the_schema_of_the_others() {
    let service = Service::start();
    let stage = Stage::example("07-chain").at(&service);
    stage.run("apply . --yes").code(0).stderr_ignored();
    let stage = Stage::new().at(&service).file("trueup.yaml", &stage.read("trueup.yaml"));
    let schema = |line: &str| {
        stage.run(line).stderr_ignored();
        stage.read("pulled/.trueup.schema.json")
    };
    let whole = schema("pull -o pulled");
    assert_eq!(schema("pull -o pulled --kind healthcheck"), whole);
    // Also what no settings list.
    stage.edit("trueup.yaml", "kinds:", "# kinds:");
    assert_eq!(schema("pull -o pulled --kind healthcheck"), whole);
}

#[test]
fn an_object_that_cannot_be_represented_is_named_and_never_changed() {
    let item = |name: &str, labels: &serde_json::Value| {
        json!({
            "tenant": "acme", "namespace": "shop", "name": name, "uid": format!("uid-of-{name}"), "labels": labels,
            "get_spec": {"dns_name": "shop.example.com", "port": 80, "protocol": "TCP"}
        })
    };
    let items = [item("good", &json!({})), item("odd", &json!(["not", "a", "mapping"]))];
    let list = json!({"items": items, "errors": []}).to_string();
    let server = OddServer::start(move |line, _| match line.contains("/shop/endpoints") {
        true => (200, list.clone().into()),
        false => (200, r#"{"items": []}"#.into()),
    });
    let stage = Stage::new().env("TRUEUP_BASE_URL", &server.url()).env("TRUEUP_TOKEN", "token-of-an-odd-service");
    let left_out = "left out: shop/odd: this trueup cannot represent it: ";
    stage.run("pull -n shop -o all").code(7).stderr_contains(left_out);
    assert!(stage.path("all/shop/good.yaml").exists());
    stage.run("get shop --format yaml").code(7).stdout_contains("name: good").stderr_contains(left_out);
    // What a filter leaves out is no part of what was asked for.
    for filter in ["--only shop/good", "--except shop/odd"] {
        let ran = stage.run(&format!("pull -n shop -o some --overwrite {filter}"));
        ran.code(0).stderr_ignored().does_not_say("shop/odd");
    }
    stage.write("stack/trueup.yaml", "stack: s\nnamespaces: [shop]\n");
    stage.write("stack/odd.yaml", &definition("shop/odd", 81));
    stage.run("plan stack").code(0).stdout_contains("this trueup cannot read the live object: ");
    stage.run("drift stack").code(2).stdout_contains("this trueup cannot read the live object: ");
    stage
        .run("pull --drift stack")
        .code(3)
        .stdout_contains("Left as it is:")
        .stdout_contains("stack/odd.yaml:1  this trueup cannot read the live object: ");
}

#[test]
fn an_item_of_a_list_without_its_spec_is_read_singly_within_a_bound() {
    let bare = |name: &str, namespace: &str| {
        json!({
            "tenant": "acme", "namespace": namespace, "name": name, "uid": format!("uid-of-{name}"),
            "metadata": null, "system_metadata": null, "get_spec": null
        })
    };
    let metadata = json!({"name": "late", "namespace": "shop", "description": "of its get"});
    let spec = json!({"dns_name": "shop.example.com", "port": 80, "protocol": "TCP"});
    let late = json!({"metadata": metadata, "system_metadata": {"uid": "uid-of-late"}, "spec": spec}).to_string();
    let mut items = vec![bare("late", "shop"), bare("gone", "shop"), bare("theirs", "shared"), bare("whole", "shop")];
    items[3]["get_spec"] = spec;
    items[1..3].iter_mut().filter_map(|item| item.as_object_mut()).for_each(|item| drop(item.remove("get_spec")));
    let list = json!({"items": items, "errors": []}).to_string();
    let many: Vec<_> = (0..101).map(|number| bare(&format!("n{number}"), "many")).collect();
    let many = json!({ "items": many }).to_string();
    let [readable, contradicts, went] = [true, false, false].map(|on| Arc::new(AtomicBool::new(on)));
    let (is_readable, does_contradict) = (readable.clone(), contradicts.clone());
    let rest = json!({"items": [items[0], items[2], items[3]], "errors": []}).to_string();
    let server = OddServer::start(move |line, _| match line.split([' ', '?']).nth(1).unwrap_or_default() {
        path if path.ends_with("/shop/endpoints/late") && is_readable.load(Ordering::Relaxed) => {
            (200, late.clone().into())
        }
        path if path.ends_with("/shop/endpoints/late") => (403, b"{}".into()),
        path if path.ends_with("/shop/endpoints/gone") => {
            went.store(true, Ordering::Relaxed);
            (404, br#"{"code": 5, "message": "gone"}"#.into())
        }
        path if path.ends_with("/shop/endpoints") => {
            let is_listed = does_contradict.load(Ordering::Relaxed) || !went.load(Ordering::Relaxed);
            (200, if is_listed { &list } else { &rest }.clone().into())
        }
        path if path.ends_with("/many/endpoints") => (200, many.clone().into()),
        _ => (200, br#"{"items": []}"#.into()),
    });
    let stage = Stage::new().env("TRUEUP_BASE_URL", &server.url()).env("TRUEUP_TOKEN", "token-of-an-odd-service");
    let ran = stage.run("pull -n shop -o all --kind endpoint");
    ran.code(0).stderr_ignored().does_not_say("gone").does_not_say("theirs");
    assert!(stage.read("all/shop/late.yaml").contains("description: of its get"));
    assert!(stage.path("all/shop/whole.yaml").exists());
    stage.write("stack/trueup.yaml", "stack: s\nnamespaces: [shop]\nallow_empty: true\n");
    stage.run("snapshot stack -o live.json").code(0).stderr_ignored();
    let kept = stage.run("show live.json");
    kept.code(0).stdout_contains("shop/late").stdout_contains("shop/whole").does_not_say("gone");
    contradicts.store(true, Ordering::Relaxed);
    stage
        .run("pull -n shop -o none --kind endpoint")
        .code(5)
        .stderr_contains("the list shows `shop/gone`, and a get says that it is not there");
    stage.run("drift stack").code(5).stderr_ignored();
    contradicts.store(false, Ordering::Relaxed);
    readable.store(false, Ordering::Relaxed);
    stage
        .run("pull -n shop -o none --kind endpoint")
        .code(5)
        .stderr_contains("the service sent no spec for `shop/late`");
    stage.run("pull -n many -o none --kind endpoint").code(5).stderr_contains("the service sent no spec for `many/n0`");
}

#[test]
fn an_object_whose_labels_cannot_be_read_is_not_left_out_by_a_selector_without_a_word() {
    let spec = json!({"dns_name": "shop.example.com", "port": 80, "protocol": "TCP"});
    let item = |name: &str, labels: &serde_json::Value, spec: &serde_json::Value| {
        json!({
            "tenant": "acme", "namespace": "shop", "name": name, "uid": format!("uid-of-{name}"), "labels": labels,
            "get_spec": spec
        })
    };
    let (web, db) = (json!({"tier": "web"}), json!({"tier": "db"}));
    let items = [item("good", &web, &spec), item("odd", &json!(["tier", "db"]), &spec), item("wide", &db, &json!("?"))];
    let (list, odd) = (json!({"items": items}).to_string(), json!({"items": items[1..2]}).to_string());
    let server = OddServer::start(move |line, _| match line.contains("/shop/endpoints") {
        true => (200, list.clone().into()),
        false if line.contains("/pay/endpoints") => (200, odd.replace("shop", "pay").into()),
        false => (200, r#"{"items": []}"#.into()),
    });
    let stage = Stage::new().env("TRUEUP_BASE_URL", &server.url()).env("TRUEUP_TOKEN", "token-of-an-odd-service");
    let left_out = |name: &str| format!("left out: {name}: this trueup cannot represent it: ");
    let ran = stage.run("pull -n shop -o web --selector tier=web");
    ran.code(7).stderr_contains(&left_out("shop/odd")).does_not_say("shop/wide");
    assert!(stage.path("web/shop/good.yaml").exists());
    stage.run("pull -n shop -o db --selector tier=db").code(7).stderr_contains(&left_out("shop/wide"));
    stage.run("pull -n pay -o pay --selector tier=web").code(7).stderr_contains(&left_out("pay/odd"));
    stage
        .run("get shop --format yaml -l tier=web")
        .code(7)
        .stdout_contains("name: good")
        .stderr_contains(&left_out("shop/odd"));
    stage.run("get pay -l tier=web").code(0).stdout_contains("pay/odd").does_not_say("matches nothing");
    stage.run("get shop -l tier=web").code(0).stdout_contains("shop/odd").does_not_say("shop/wide");
    stage.write("stack/trueup.yaml", "stack: s\nnamespaces: [shop]\n");
    let good = json!({"metadata": {"name": "good", "namespace": "shop", "labels": web}, "spec": spec});
    stage.write("stack/good.yaml", &good.to_string());
    let ran = stage.run("plan stack --selector tier=web");
    ran.code(0).stdout_contains("shop/odd").does_not_say("shop/wide");
}
