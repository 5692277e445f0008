//! `docs/configuration.md` against the settings that trueup reads: every key of the schema with its type and its default,
//! nothing else, and examples that are valid.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::Value;

use crate::support::Stage;

fn page() -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/configuration.md");
    std::fs::read_to_string(path).expect("the page")
}

/// The paths of all settings in a schema.
fn paths(node: &Value, path: &str, into: &mut Vec<String>) {
    for (key, property) in node["properties"].as_object().into_iter().flatten() {
        // What a layer shares with the top level is documented there.
        if property["$ref"].as_str().is_some_and(|name| name.starts_with("#/properties/")) {
            continue;
        }
        let path = format!("{path}{key}");
        into.push(path.clone());
        let inside = format!("{path}.");
        paths(property, &inside, into);
        paths(&property["items"], &inside, into);
        paths(&property["additionalProperties"], &format!("{inside}NAME."), into);
        for choice in property["anyOf"].as_array().into_iter().flatten() {
            paths(choice, &inside, into);
        }
    }
}

#[test]
fn every_setting_and_nothing_else_is_documented() {
    let page = page();
    let documented: BTreeMap<&str, (&str, &str)> = page
        .lines()
        .filter_map(|line| line.strip_prefix("| `"))
        .filter_map(|row| {
            let mut cells = row.split('|').map(str::trim);
            Some((cells.next()?.trim_end_matches('`'), (cells.next()?, cells.next()?.trim_matches('`'))))
        })
        .collect();
    let stage = Stage::new();
    let mut wanted = Vec::new();
    paths(&stage.run("schema --of config").code(0).json(), "", &mut wanted);
    wanted.sort();
    assert_eq!(documented.keys().map(ToString::to_string).collect::<Vec<_>>(), wanted);
    for (path, (kind, default)) in documented {
        let explained = stage.run(&format!("explain {path}")).code(0).text().to_owned();
        let row =
            |name: &str| explained.lines().find_map(|line| Some(line.trim().strip_prefix(name)?.trim().to_owned()));
        assert_eq!(row("type ").as_deref(), Some(kind), "{path}");
        assert_eq!(row("default ").as_deref(), Some(if default.is_empty() { "none" } else { default }), "{path}");
    }
}

#[test]
fn the_examples_of_settings_are_valid() {
    let page = page();
    let examples: Vec<&str> = page.split("```yaml\n").skip(1).filter_map(|rest| rest.split("```").next()).collect();
    assert!(examples.len() > 1);
    for example in examples {
        let definition = "metadata: {name: cart, namespace: shop}\nspec: {ip: 10.0.0.7}\n";
        let stage = Stage::new().file("trueup.yaml", example).file("cart.yaml", definition);
        stage.run("validate .").code(0).stderr("");
    }
}
