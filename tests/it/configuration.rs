//! `docs/configuration.md` against the settings that trueup reads: every key of the schema with its type and its default,
//! nothing else, and examples that are valid.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::Value;

use crate::support::{Stage, definition};

fn page() -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/configuration.md");
    std::fs::read_to_string(path).expect("the page")
}

/// All settings in a schema, by their paths: what is written there, and the default.
fn settings(node: &Value, schema: &Value, path: &str, into: &mut BTreeMap<String, (String, String)>) {
    let node = referred(node, schema).unwrap_or(node);
    for (key, property) in node["properties"].as_object().into_iter().flatten() {
        // What a layer shares with the top level is documented there.
        if property["$ref"].as_str().is_some_and(|name| name.starts_with("#/properties/")) {
            continue;
        }
        let path = format!("{path}{key}");
        let shared = referred(property, schema);
        let find = |key: &str| property.get(key).or_else(|| shared?.get(key)).unwrap_or(&Value::Null);
        let default = match find("default") {
            Value::Null => String::new(),
            Value::String(text) => text.clone(),
            other => other.to_string(),
        };
        into.insert(path.clone(), (kind(&find, schema), default));
        let inside = format!("{path}.");
        settings(property, schema, &inside, into);
        settings(find("items"), schema, &inside, into);
        settings(find("additionalProperties"), schema, &format!("{inside}NAME."), into);
        for choice in find("anyOf").as_array().into_iter().flatten() {
            settings(choice, schema, &inside, into);
        }
    }
}

/// What a node of a schema refers to.
fn referred<'s>(node: &Value, schema: &'s Value) -> Option<&'s Value> {
    schema.pointer(node["$ref"].as_str()?.strip_prefix('#')?)
}

#[test]
fn a_token_variable_that_no_plan_takes_is_an_error_at_its_place() {
    for name in ["TRUEUP_TOKEN_FILE", "TRUEUP_TOKEN_B_FILE", "TRUEUP_TOKEN_B_URL", "AWS_SECRET"] {
        let stage = Stage::new()
            .file("trueup.yaml", &format!("stack: s\nenvironments:\n  prod: {{token_variable: {name}}}\n"))
            .file("cart.yaml", &definition("shop/cart", 80));
        for line in ["validate .", "plan . --env prod --base-url https://a.example.net"] {
            let ran = stage.run(line);
            ran.code(1).stderr_contains(&format!("`token_variable` is `{name}`")).stderr_contains("trueup.yaml:3:");
        }
    }
    let stage = Stage::new()
        .file("trueup.yaml", "stack: s\ntoken_variable: TRUEUP_TOKEN_URLS\n")
        .file("cart.yaml", &definition("shop/cart", 80));
    stage.run("validate .").code(0);
}

#[test]
fn every_setting_and_nothing_else_is_documented() {
    let page = page();
    let documented: BTreeMap<String, (String, String)> = page
        .lines()
        .filter_map(|line| line.strip_prefix("| `"))
        .filter_map(|row| {
            let mut cells = row.split('|').map(str::trim);
            let path = cells.next()?.trim_end_matches('`').to_owned();
            Some((path, (cells.next()?.to_owned(), cells.next()?.trim_matches('`').to_owned())))
        })
        .collect();
    let schema = Stage::new().run("schema --of config").code(0).json();
    let mut wanted = BTreeMap::new();
    settings(&schema, &schema, "", &mut wanted);
    assert_eq!(documented, wanted);
}

/// What is written, in the words of the page.
fn kind<'v>(find: &dyn Fn(&str) -> &'v Value, schema: &'v Value) -> String {
    if let Some(options) = find("anyOf").as_array() {
        let of = |option: &'v Value| {
            let option = referred(option, schema).unwrap_or(option);
            kind(&|key| &option[key], schema)
        };
        return options.iter().map(of).collect::<Vec<_>>().join(" or ");
    }
    let name = find("type");
    let kind = match name.as_str().or_else(|| name.as_array()?.first()?.as_str()).unwrap_or_default() {
        "string" => "text",
        "integer" => "whole number",
        "number" => "number",
        "boolean" => "true or false",
        "array" if find("items").get("properties").is_some() => "list of mappings",
        "array" => "list of texts",
        "object" if find("properties").is_object() => "mapping",
        "object" if find("additionalProperties").get("properties").is_some() => "mapping of names to mappings",
        "object" => "mapping of names to values",
        _ => "word",
    };
    kind.to_owned()
}

#[test]
fn the_examples_of_settings_are_valid() {
    let page = page();
    let examples: Vec<&str> = page.split("```yaml\n").skip(1).filter_map(|rest| rest.split("```").next()).collect();
    assert!(examples.len() > 1);
    for example in examples {
        let target = if example.contains("domain:") { "dns_name: 'cart.${domain}'" } else { "ip: 10.0.0.7" };
        let definition = format!("metadata: {{name: cart, namespace: shop}}\nspec: {{{target}}}\n");
        let stage = Stage::new().file("trueup.yaml", example).file("cart.yaml", &definition);
        let environment = if example.contains("environments:") { " --env dev" } else { "" };
        stage.run(&format!("validate .{environment}")).code(0).stderr("");
    }
}

#[test]
fn a_settings_file_with_another_name_is_refused_with_the_name_that_it_needs() {
    let stage = Stage::new();
    stage.write("shop/prod.yaml", "stack: shop\n");
    let ran = stage.run("validate shop --config shop/prod.yaml");
    ran.code(1).stderr_contains("`shop/prod.yaml` is not a settings file: it is not called `trueup.yaml`");
    assert!(!page().contains("`--config FILE` names another file"));
}

#[test]
fn explain_says_of_a_setting_that_every_command_refuses_why_it_does() {
    let (file, other) = ("https://a.example.net", "https://b.example.net");
    let settings = format!("stack: shop\nnamespaces: [shop]\nbase_url: {file}\n");
    let stage = || Stage::new().file("shop/trueup.yaml", &settings).file("shop/x.yaml", &definition("shop/x", 80));
    for variable in ["TRUEUP_BASE_URL", "F5XC_API_URL", "VOLT_API_URL"] {
        let ran = stage().env(variable, other).run("explain base_url shop");
        ran.code(0)
            .stdout_contains(other)
            .stdout_contains(variable)
            .stderr_contains("the token would go to another service");
        let ran = stage().env(variable, &format!("{file}/")).run("explain base_url shop");
        ran.code(0).stdout_contains(variable);
    }
    let ran = stage().env("TRUEUP_BASE_URL", "https://u:a-password@a.example.net").run("explain base_url shop");
    ran.code(0).stdout_contains("(not valid)").stderr_contains("a user name or a password").does_not_say("a-password");
    let ran = stage().env("VOLT_API_URL", other).run("explain base_url shop --sandbox=x");
    ran.code(0).stdout_contains(file).does_not_say(other);
    let ran = stage().env("TRUEUP_STACK", "NOT A NAME").env("TRUEUP_LAYOUT", "other").run("explain settings shop");
    ran.code(0).stderr_contains("note: `TRUEUP_STACK` is `NOT A NAME`").stderr_contains("note: unknown layout `other`");
    stage().env("TRUEUP_STACK", "NOT A NAME").run("explain namespaces shop").code(0);
}
