//! Files that version 0.2.0 wrote, or one before it where the form has changed since: each is still read, and a plan of
//! the same definitions still has the digest that was reviewed then.

use std::path::Path;

use serde_json::Value;

use crate::support::{Stage, TOKEN, definition};

/// The plan that was saved: of the definitions of [`stage`], against the snapshot.
const DIGEST: &str = "88e8eb501c6726dc9267e462cbd36c9d";
const RUN: &str = "2026-11-22T10-47-21-654-shop-1a59";

fn saved(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cases/saved").join(name);
    std::fs::read_to_string(path).expect("a file")
}

/// The stack that the files are about: `cart` is edited, `news` is new, and `legacy` is gone.
fn stage() -> Stage {
    let news =
        "metadata: {name: news, namespace: shop, labels: {tier: web}}\nspec: {dns_name: a.example.net, port: 80}\n";
    Stage::new()
        .file("s/trueup.yaml", "stack: shop\nnamespaces: [shop]\n")
        .file("s/cart.yaml", &definition("shop/cart", 81))
        .file("s/search.yaml", &definition("shop/search", 80))
        .file("s/news.yaml", news)
        .file("plan.json", &saved("plan.json"))
        .file("snapshot.json", &saved("snapshot.json"))
        .file("check.json", &saved("check.json"))
        .file(&format!("state/runs/{RUN}.jsonl"), &saved("run.jsonl"))
}

#[test]
fn a_saved_plan_is_read_and_has_its_digest() {
    let shown = stage().run("show plan.json --format json").code(0).json();
    assert!(shown["digest"].as_str().is_some_and(|digest| digest.starts_with(DIGEST)), "{}", shown["digest"]);
    assert_eq!(shown["counts"]["delete"], 1);
    // It is a plan for the service that it names, and for no other.
    stage()
        .env("TRUEUP_BASE_URL", "http://127.0.0.1:1")
        .env("TRUEUP_TOKEN", TOKEN)
        .run("apply plan.json --yes --config s/trueup.yaml")
        .code(6)
        .stderr_contains("http://sandbox.localhost");
}

#[test]
fn a_snapshot_of_the_first_form_leads_to_the_plan_that_was_saved() {
    let planned = stage().run("plan s --live snapshot.json --format json").code(0).json();
    assert!(planned["digest"].as_str().is_some_and(|digest| digest.starts_with(DIGEST)), "{}", planned["digest"]);
    stage().run("show snapshot.json").code(0).stdout_contains("shop");
}

#[test]
fn a_run_is_read_with_all_its_results() {
    let stage = stage();
    stage.run("history --state state").code(0).stdout_contains("3 of 3 (+3)  finished");
    let run = stage.run(&format!("show {RUN} --state state --format json")).code(0).json();
    assert_eq!(run["kind"], "run");
    assert!(run.to_string().contains("shop/legacy"));
}

#[test]
fn a_check_is_merged() {
    stage().run("fleet report check.json --max-age 5000w").code(2).stdout_contains("1 stack: 1 pending");
}

#[test]
fn a_saved_file_that_is_cut_off_altered_or_doubled_is_used_for_nothing() {
    let stage = stage();
    for (file, command, refused) in [
        ("snapshot.json", "plan s --live snapshot.json", 6),
        ("plan.json", "apply plan.json --yes --sandbox --config s/trueup.yaml", 1),
        ("check.json", "fleet report check.json --max-age 5000w", 5),
    ] {
        let whole = saved(file);
        // The last byte is a line break.
        let ends = (0..whole.len() - 2).step_by(397).chain([whole.len() - 2]);
        for text in ends.map(|end| whole[..end].to_owned()).chain([format!("{whole}{whole}"), format!("{whole}x")]) {
            stage.write(file, &text);
            stage.run(command).code(refused).stderr_ignored();
        }
        stage.write(file, &whole);
    }
    // Every value of a plan and of a snapshot is under its digest, the times and the comments of a plan aside.
    for (file, command) in [("plan.json", "show plan.json"), ("snapshot.json", "show snapshot.json")] {
        let whole: Value = serde_json::from_str(&saved(file)).expect("JSON");
        let altered = [("10.0.0.7", "10.0.0.8"), ("shop", "shap"), ("uniform", "published")].map(|(from, to)| {
            let text = whole.to_string();
            assert!(text.contains(from), "{from}");
            text.replacen(from, to, 1)
        });
        for text in altered {
            stage.write(file, &text);
            stage.run(command).code(1).stderr_ignored();
        }
    }
}
