//! An option that can have no effect in a call is refused: a person who gave it believes that it had one.

use crate::support::{Service, Stage, applied, definition};

/// Each call ends with 64, says these words, and sends nothing that changes anything.
#[track_caller]
fn refused(stage: &Stage, lines: &[(&str, &str)]) {
    for (line, words) in lines {
        stage.run(line).code(64).stderr_contains(words);
    }
}

#[test]
fn a_saved_plan_takes_no_option_of_several_stacks() {
    let service = Service::start();
    let stage = applied(&service);
    stage.edit("cart.yaml", "port: 80", "port: 81");
    stage.run("plan . -o plan.json --quiet").code(0);
    for option in ["--recursive", "--skip-missing-env", "--keep-going", "--waves 1"] {
        let name = option.split(' ').next().expect("a word");
        stage
            .run(&format!("apply plan.json --yes {option}"))
            .code(64)
            .stderr_contains(&format!("which is applied whole: `{name}"))
            .stderr_contains("nothing was sent");
    }
    assert_eq!(service.get("shop/cart")["spec"]["port"], 80);
    let resume = "apply --resume last --yes --skip-missing-env";
    refused(&stage, &[(resume, "cannot be used with")]);
    stage.run("apply plan.json --yes --quiet").code(0);
}

#[test]
fn a_plan_that_is_only_saved_takes_no_approval() {
    let service = Service::start();
    let stage = applied(&service);
    stage.edit("cart.yaml", "port: 80", "port: 81");
    stage.run("apply . --yes --quiet").code(0);
    for command in ["rollback last", "move --from other"] {
        for option in
            ["--yes", "--digest 00000000000000000000000000000000", "--approved-by ada", "--write json=run.json"]
        {
            refused(&stage, &[(&format!("{command} -o back.json {option}"), "cannot be used with")]);
        }
    }
    assert!(!stage.path("back.json").exists());
}

#[test]
fn an_option_of_a_format_is_refused_with_another_one() {
    let service = Service::start();
    let stage = applied(&service);
    stage.run("snapshot . -o live.json --quiet").code(0);
    stage.run("plan . -o plan.json --quiet").code(0);
    stage.run("drift . --format json -o check.json").code(0);
    let budget = "`--budget` limits a report in Markdown";
    refused(
        &stage,
        &[
            ("plan . --budget 1000", budget),
            ("plan . --budget 1000 --format html", budget),
            ("drift . --budget 1000", budget),
            ("drift . --budget 1000 --write html=x.html", budget),
            ("fleet report check.json --budget 1000", budget),
            ("show plan.json --budget 1000", budget),
            ("plan . --order --format markdown", "`--order` is for a plan as text"),
            ("show plan.json --columns endpoint", "`--columns` chooses the columns of a table"),
            ("show last --columns endpoint", "`--columns` chooses the columns of a table"),
            ("show last --columns endpoint", "leave out --columns, or show a snapshot as text"),
            ("show live.json --columns endpoint --format json", "`--columns` chooses the columns of a table"),
            ("events --fields country --format json", "`--fields` chooses the columns of a table"),
            ("events --fields country --format ndjson", "`--fields` chooses the columns of a table"),
        ],
    );
    for line in [
        "plan . --budget 9000 --format markdown",
        "drift . --budget 9000 --write markdown=x.md",
        "fleet report check.json --budget 9000 --format markdown",
        "show plan.json --budget 9000 --format markdown",
        "show live.json --columns endpoint",
        "plan . --order",
    ] {
        stage.run(line).code(0).stderr_ignored();
    }
}

#[test]
fn the_order_of_several_plans_is_shown_as_that_of_one() {
    let service = Service::start();
    let stage = Stage::new()
        .at(&service)
        .file("one/trueup.yaml", "stack: one\nnamespaces: [one]\n")
        .file("one/a.yaml", &definition("one/a", 80))
        .file("two/trueup.yaml", "stack: two\nnamespaces: [two]\n")
        .file("two/a.yaml", &definition("two/a", 80));
    let order = stage.run("plan one two --order");
    order.code(0).stdout_contains("wave 1  one/a\n").stdout_contains("wave 1  two/a\n");
}

#[test]
fn a_misspelt_name_of_an_allowance_is_answered_with_the_one_that_is_meant() {
    let stage = Stage::new().file("a.yaml", &definition("shop/a", 80));
    for (given, meant) in [("mass-changes", "mass-change"), ("protect=shop/a", "protected")] {
        let ran = stage.run(&format!("plan . --sandbox --allow {given}"));
        ran.code(64)
            .stderr_contains("names nothing that can be allowed")
            .stderr_contains(&format!("did you mean `{meant}`?"));
    }
    let ran = stage.run("plan . --sandbox --allow protected");
    ran.code(64).stderr_contains("names nothing that can be allowed").does_not_say("did you mean");
}

#[test]
fn a_file_is_no_place_for_the_state() {
    let stage = Stage::new().file("state", "").file("a.yaml", &definition("shop/a", 80));
    let stage = stage.env("TRUEUP_STATE", "state");
    for (line, source) in [("history", "TRUEUP_STATE"), ("apply . --sandbox --yes --state state", "--state")] {
        let ran = stage.run(line);
        ran.code(64)
            .stderr_contains(&format!("`{source}` is `state`, which is a file"))
            .stderr_contains("name a directory");
    }
}
