//! What the program prints for other programs: remarks, schemas, and explanations of fields.

use serde_json::{Value, json};

use crate::support::{Service, Stage, definition};

const WRONG: &str = "metadata:\n  name: cart\n  namespace: shop\nspec:\n  ip: 10.0.0.7\n  port: 70000\n";

/// A stage with one definition that waits for an apply.
fn pending(service: &Service) -> Stage {
    Stage::stack(service, "s").file("cart.yaml", &definition("shop/cart", 80))
}

#[test]
fn wrong_definitions_are_remarks_at_their_places() {
    let stage = Stage::new().file("endpoints/trueup.yaml", "stack: s\n").file("endpoints/cart.yaml", WRONG);
    let remark = "::error file=endpoints/cart.yaml,line=6,col=9,title=definition::`port` is 70000";
    stage.run("validate endpoints --format github").code(1).stdout_contains(remark);
    let log = stage.run("validate endpoints --format sarif").code(1).json();
    let place = &log["runs"][0]["results"][0]["locations"][0]["physicalLocation"];
    assert_eq!(place["artifactLocation"]["uri"], "endpoints/cart.yaml");
    assert_eq!(place["region"]["startLine"], 6);
}

#[test]
fn right_definitions_leave_nothing_to_remark() {
    let stage = Stage::new().file("cart.yaml", &definition("shop/cart", 80));
    stage.run("validate . --format github").code(0).stdout("");
    let log = stage.run("validate . --format sarif").code(0).json();
    assert_eq!(log["runs"][0]["results"], json!([]));
}

#[test]
fn every_schema_is_one_and_what_is_written_fits_it() {
    let service = Service::start();
    let stage = pending(&service);
    stage.run("plan . -o plan.json --quiet").code(0);
    let saved: Value = serde_json::from_str(&stage.read("plan.json")).expect("JSON");
    let shown = stage.run("plan . --format json").code(0).json();
    let drift = stage.run("drift . --format json").code(2).json();
    let policy = json!({"guards": {"percent": 20}, "gates": {"events": {"mode": "block"}}, "allow": ["protected"]});
    for (of, documents) in [
        ("plan", vec![saved, shown]),
        ("drift", vec![drift]),
        ("definition", vec![]),
        ("config", vec![]),
        ("policy", vec![policy]),
    ] {
        let schema = stage.run(&format!("schema --of {of}")).code(0).json();
        let validator = jsonschema::validator_for(&schema).expect("a schema");
        for document in documents {
            let faults: Vec<String> = validator.iter_errors(&document).map(|error| error.to_string()).collect();
            assert_eq!(faults, Vec::<String>::new(), "{of}");
        }
    }
}

#[test]
fn a_plan_is_drawn_for_a_pull_request_as_a_page_and_as_remarks() {
    let service = Service::start();
    let stage = pending(&service);
    let markdown = stage.run("plan . --format markdown");
    markdown.code(0).stdout_contains("<!-- trueup:plan stack=s -->\n### trueup plan: 1 to create\n");
    let page = stage.run("plan . --format html");
    page.code(0).stdout_contains("<!doctype html>").stdout_contains("shop/cart");
    stage
        .run("plan . --format github")
        .code(0)
        .stdout("::notice file=cart.yaml,line=1,col=1,title=create shop/cart::new\n");
}

#[test]
fn a_report_that_is_cut_names_the_command_that_makes_all_of_it() {
    let service = Service::start();
    let stage = Stage::stack(&service, "shop").file("cart.yaml", &definition("shop/cart", 80)).committed().applied(".");
    stage.run("snapshot . -o ../live.json --quiet").code(0);
    for number in 0..9 {
        stage.write(&format!("{number}.yaml"), &definition(&format!("shop/e{number}"), 80));
    }
    let flags = "--format markdown --budget 500";
    stage
        .run(&format!("plan . --base main --live ../live.json --allow mass-change {flags}"))
        .code(0)
        .stdout_contains("Everything: `trueup plan . --base main --allow mass-change --live ../live.json`");
    stage
        .run(&format!("drift . --unmanaged fail --live ../live.json {flags}"))
        .code(2)
        .stdout_contains("Everything: `trueup drift . --unmanaged fail --live ../live.json`");
    let several = Stage::new().at(&service);
    for name in ["a", "b"] {
        several.write(&format!("{name}/trueup.yaml"), &format!("stack: {name}\nnamespaces: [{name}]\n"));
        for number in 0..40 {
            several.write(&format!("{name}/{number}.yaml"), &definition(&format!("{name}/e{number}"), 80));
        }
    }
    let several = several.committed();
    several
        .run("plan a b --base main --format markdown --budget 3000")
        .code(0)
        .stdout_contains("Everything: `trueup plan a --base main`")
        .stdout_contains("Everything: `trueup plan b --base main`");
    // Each with its own of the files that the call names for all.
    several.run("snapshot a b -o ../live --quiet").code(0);
    for (name, number) in ["a", "b"].into_iter().flat_map(|name| (40..80).map(move |number| (name, number))) {
        several.write(&format!("{name}/{number}.yaml"), &definition(&format!("{name}/e{number}"), 80));
    }
    several.run("drift b --format acknowledgements -o b/known.txt").code(2);
    let own = "--base main --only-this-change --allow mass-change";
    let report = several.run(&format!("plan -R . {own} --live ../live --format markdown --budget 3000"));
    let all = everything(report.text());
    assert!(all[0].starts_with(&format!("plan a {own} --live ../live/")), "{all:?}");
    several.run(all[0]).code(0).stdout_contains("only-this-change");
    let flags = "--unmanaged fail --acknowledged known.txt --shard 1/1 --format markdown --budget 3000";
    let report = several.run(&format!("drift -R . {flags}"));
    let all = everything(report.text());
    assert_eq!(all[..2], ["drift a --unmanaged fail", "drift b --unmanaged fail --acknowledged b/known.txt"]);
    several.run(all[1]).code(2);
}

/// The commands that a report names for all of it, without the name of the program.
fn everything(report: &str) -> Vec<&str> {
    let commands = report.split("Everything: `trueup ").skip(1);
    commands.filter_map(|rest| Some(rest.split_once('`')?.0)).collect()
}

#[test]
fn a_check_is_drawn_for_test_reports_and_metrics() {
    let service = Service::start();
    let stage = pending(&service);
    let failure = "<testcase classname=\"shop\" name=\"cart\"><failure type=\"pending\"";
    stage.run("drift . --format junit").code(2).stdout_contains(failure);
    stage.run("drift . --format prometheus").code(2).stdout_contains("verdict=\"pending\"} 1\n");
    stage.run("drift . --format markdown").code(2).stdout_contains("<!-- trueup:drift stack=s -->");
}

#[test]
fn an_editor_finds_the_schema_of_what_was_pulled() {
    let service = Service::start();
    service.create(&json!({"metadata": {"name": "cart", "namespace": "shop"}, "spec": {"ip": "10.0.0.7"}}));
    let stage = Stage::new().at(&service).file("endpoints/trueup.yaml", "stack: s\nnamespaces: [shop]\n");
    stage.run("pull -n shop -o endpoints").code(0);
    let text = stage.read("endpoints/shop/cart.yaml");
    let named =
        text.lines().next().and_then(|line| line.strip_prefix("# yaml-language-server: $schema=")).expect("a line");
    // As an editor resolves it: relative to the file.
    let schema: Value = serde_json::from_str(&stage.read(&format!("endpoints/shop/{named}"))).expect("JSON");
    let validator = jsonschema::validator_for(&schema).expect("a schema");
    let document: Value = serde_yaml::from_str(&text).expect("YAML");
    assert!(validator.is_valid(&document));
    // The copy is no definition.
    stage.run("plan endpoints --detailed-exitcode").code(0).stdout_contains("In sync: 1 endpoint");
    stage.run("pull -n shop -o endpoints").code(0).stdout_contains("1 unchanged");

    stage
        .run("pull -n shop -o other --schema https://example.net/endpoint.json")
        .code(0)
        .stdout_contains("Pulled 1 endpoint");
    assert!(
        stage
            .read("other/shop/cart.yaml")
            .starts_with("# yaml-language-server: $schema=https://example.net/endpoint.json\n")
    );
    assert!(!stage.path("other/.trueup.schema.json").exists());
    stage.run("pull -n shop -o plain --no-schema").code(0);
    assert!(stage.read("plain/shop/cart.yaml").starts_with("metadata:\n"));
}

#[test]
fn a_guard_over_many_namespaces_is_a_line_that_counts_them() {
    let service = Service::start();
    let names: Vec<String> = (0..10).map(|at| format!("n{at}")).collect();
    let settings = format!("stack: s\nnamespaces: [{}]\nallow_empty: true\n", names.join(", "));
    let stage = Stage::new().at(&service).file("trueup.yaml", &settings);
    for name in &names {
        stage.write(&format!("{name}.yaml"), &definition(&format!("{name}/cart"), 80));
    }
    let stage = stage.applied(".");
    names.iter().for_each(|name| stage.remove(&format!("{name}.yaml")));
    let ran = stage.run("plan .");
    let text = ran.code(0).text();
    assert!(text.matches("delete every owned endpoint").count() < 6, "{text}");
    assert!(text.contains("and in 7 more"), "{text}");
    assert!(text.contains("delete every owned endpoint of `n0` (1), and the same in 9 other namespaces\n"), "{text}");
    assert_eq!(text.matches("--allow empty-namespace").count(), 2, "{text}");
}

#[test]
fn a_conflict_has_no_rows_of_what_trueup_notes_on_an_endpoint() {
    let service = Service::start();
    let stage = crate::support::applied(&service);
    stage.edit("cart.yaml", "port: 80", "port: 81");
    stage.run("plan . -o plan.json").code(0);
    service.change("shop/cart", |object| {
        object["spec"]["port"] = json!(9);
        object["metadata"]["annotations"]["trueup/stack"] = json!("other");
    });
    let ran = stage.run("apply plan.json --yes");
    ran.code(6).stdout_contains("spec.port").does_not_say("annotations.trueup").stderr_ignored();
}
