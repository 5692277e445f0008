//! Several stacks of which each is another one: environments that some do not have, filters that match in one of them
//! only, and lines that name their stack.

use std::collections::BTreeSet;
use std::process::Stdio;

use serde_json::{Value, json};

use crate::support::{Service, Stage, definition};

/// `a` has production and development, `b` has development only, and `c` has no environments.
fn three(service: &Service) -> Stage {
    let stage = Stage::new().at(service);
    for (name, environments) in
        [("a", "environments: {dev: {}, prod: {}}\n"), ("b", "environments: {dev: {}}\n"), ("c", "")]
    {
        stage
            .write(&format!("s/{name}/trueup.yaml"), &format!("stack: s-{name}\nnamespaces: [{name}]\n{environments}"));
        stage.write(&format!("s/{name}/x.yaml"), &definition(&format!("{name}/x"), 80));
    }
    stage
}

#[test]
fn a_stack_with_invalid_definitions_has_its_first_problem_in_every_report() {
    let service = Service::start();
    let stage = three(&service);
    stage.write("s/c/x.yaml", &definition("c/x", 80).replace("port:", "prot:"));
    for format in ["json", "markdown", "html", "github", "sarif"] {
        let report = stage.run(&format!("plan s/a s/c --skip-missing-env --format {format}"));
        report.code(1).stderr_ignored().stdout_contains("x.yaml:").stdout_contains("unknown field");
    }
}

#[test]
fn a_stack_without_the_environment_fails_alone_or_is_skipped_by_a_flag_and_named() {
    let service = Service::start();
    let stage = three(&service);
    stage
        .run("plan -R s --env prod")
        .code(1)
        .stderr_contains(
            "error: s/b: it has no environment `prod`\n  it has: dev\n  to skip such stacks: --skip-missing-env",
        )
        .stderr_contains("error: s/c: it has no environment `prod`\n  its trueup.yaml names no `environments:`")
        .stdout_contains("+ create  a/x")
        .stdout_contains("3 stacks: 1 with changes, 2 not planned");
    stage
        .run("apply s/a s/b --env prod --yes")
        .code(1)
        .stderr_contains("s/b: it has no environment `prod`")
        .stderr_contains("nothing was sent");
    assert!(!service.has("a/x"));
    let skipping = "-R s --env prod --skip-missing-env";
    stage
        .run(&format!("plan {skipping}"))
        .code(0)
        .stdout_contains("== s/b\nSKIPPED  it has no environment `prod`; it has: dev\n")
        .stdout_contains("Apply exactly these:  trueup apply s --recursive --skip-missing-env --env prod --digest ");
    stage.run(&format!("validate {skipping}")).code(0).stdout_contains("3 stacks: 1 valid, 2 skipped");
    let check = stage.run(&format!("drift {skipping} --format json")).code(2).json();
    assert_eq!(check["checks"][1]["skipped"], "it has no environment `prod`; it has: dev");
    // What a checker skipped is skipped in the merged report, too.
    stage.run(&format!("drift {skipping} --format json --output checks/1.json")).code(2);
    stage
        .run("fleet report checks")
        .code(2)
        .stdout_contains("== s/b\nSKIPPED  it has no environment `prod`; it has: dev\n")
        .stdout_contains("3 stacks: 1 pending, 2 skipped");
    stage
        .run(&format!("drift {skipping} --format markdown"))
        .code(2)
        .stdout_contains("skipped: ``it has no environment `prod`");
    stage
        .run(&format!("snapshot {skipping} -o live"))
        .code(0)
        .stdout_contains("s/b: skipped, it has no environment `prod`");
    stage
        .run(&format!("apply {skipping} --yes --quiet"))
        .code(0)
        .stdout_contains("3 stacks: 1 applied, 2 skipped")
        .does_not_say("Apply the rest");
    assert!(service.has("a/x") && !service.has("b/x") && !service.has("c/x"));
    // An environment that none has is a mistake of the call.
    for flag in ["", "--skip-missing-env"] {
        stage
            .run(&format!("plan -R s --env prdo {flag}"))
            .code(1)
            .stderr_contains("no stack has the environment `prdo`")
            .stderr_contains("did you mean `prod`?");
    }
    // The command that goes on works once the settings are right.
    stage.edit("s/b/trueup.yaml", "{dev: {}}", "{dev: {}, prod: {}}");
}

#[test]
fn a_stack_whose_settings_have_another_ending_or_case_fails_and_is_not_skipped() {
    let service = Service::start();
    let stage = three(&service);
    stage.run("apply --recursive s --yes --quiet").code(0);
    for (name, settings) in [
        ("trueup.yml", "stack: s-b\nnamespaces: [b]\n"),
        ("trueup.json", "{\"stack\": \"s-b\"}"),
        ("Trueup.yaml", "stack: s-b\nnamespaces: [b]\n"),
        ("TRUEUP.YML", "stack: s-b\nnamespaces: [b]\n"),
    ] {
        stage.remove("s/b/trueup.yaml");
        stage.write(&format!("s/b/{name}"), settings);
        for command in ["validate", "plan", "drift", "apply --yes"] {
            stage
                .run(&format!("{command} --recursive s"))
                .code(1)
                .stderr_contains(&format!("settings are read from trueup.yaml, not from {name}"))
                .stderr_contains(&format!("s/b/{name}:1:1"))
                .stdout_contains("== s/b");
        }
        stage.remove(&format!("s/b/{name}"));
        stage.write("s/b/trueup.yaml", "");
    }
    // A file of another program with that name is no stack.
    stage.write("s/b/trueup.yaml", "stack: s-b\nnamespaces: [b]\n");
    stage.write("s/templates/trueup.yml", "spec:\n  inputs:\n    stack: {default: shop}\n");
    stage.run("plan --recursive s").code(0).stdout_contains("3 stacks: 3 in sync");
}

#[test]
fn settings_of_a_wrong_name_within_another_stack_are_named() {
    let service = Service::start();
    let stage = three(&service);
    stage.write("s/a/sub/trueup.yml", "stack: s-sub\nnamespaces: [sub]\n");
    for command in ["validate", "plan", "drift", "apply --yes"] {
        stage
            .run(&format!("{command} --recursive s"))
            .code(1)
            .stderr_contains("settings are read from trueup.yaml, not from trueup.yml")
            .stderr_contains("s/a/sub/trueup.yml:1:1")
            .does_not_say("are both stack");
    }
}

#[test]
fn the_page_of_several_stacks_has_the_command_of_one_that_is_only_pending() {
    let service = Service::start();
    let stage = three(&service);
    stage.run("apply -R s --yes --quiet").code(0);
    stage.edit("s/a/x.yaml", "port: 80", "port: 81");
    for format in ["text", "markdown", "html"] {
        let check = stage.run(&format!("drift -R s --format {format}"));
        check.code(2).stdout_contains("trueup apply s/a").does_not_say("trueup apply s/b");
    }
}

#[cfg(unix)]
#[test]
fn a_link_to_a_stack_elsewhere_is_one_of_the_stacks_and_one_to_a_stack_below_is_not_a_second() {
    let service = Service::start();
    let stage = three(&service).file("elsewhere/deep/trueup.yaml", "stack: s-d\nnamespaces: [d]\n");
    let stage = stage.file("elsewhere/deep/x.yaml", &definition("d/x", 80));
    let link = |target: &str, name: &str| std::os::unix::fs::symlink(target, stage.path(name)).expect("a link");
    stage.run("stacks s").code(0).stdout_contains("3 stacks");
    stage.write("s/.hidden/trueup.yaml", "stack: s-h\nnamespaces: [h]\n");
    link(".hidden", "s/h");
    stage.run("stacks s").code(0).stdout_contains("s/h").stdout_contains("4 stacks");
    stage.remove("s/h");
    link("../elsewhere/deep", "s/d");
    link("b", "s/again");
    link("..", "s/up");
    stage.run("stacks s").code(0).stdout_contains("s/d").stdout_contains("4 stacks").does_not_say("again");
    stage.run("apply --recursive s --yes --quiet").code(0).stdout_contains("4 stacks: 4 applied");
    assert!(service.has("d/x"));
    // However many ways lead to a stack, it is planned once.
    link("../elsewhere/deep", "s/e");
    stage.run("plan --recursive s elsewhere").code(0).stdout_contains("4 stacks: 4 in sync");
}

#[test]
fn filters_leave_out_the_stacks_in_which_they_select_nothing_and_match_somewhere() {
    let service = Service::start();
    let stage = three(&service);
    for filter in ["--only a/*", "--namespace a", "--only b/x --only a/x --except b/*"] {
        stage
            .run(&format!("plan -R s {filter}"))
            .code(0)
            .stdout_contains("+ create  a/x")
            .stdout_contains("== s/b\nSKIPPED  the filters of the call select nothing in it\n")
            .stdout_contains("3 stacks: 1 with changes, 2 skipped");
        stage.run(&format!("validate -R s {filter}")).code(0).stdout_contains("3 stacks: 1 valid, 2 skipped");
        stage.run(&format!("drift -R s {filter}")).code(2).stdout_contains("3 stacks: 1 pending, 2 skipped");
    }
    stage.run("plan -R s --only b/x --only a/x").code(0).stdout_contains("3 stacks: 2 with changes, 1 skipped");
    // Alone, a stack would refuse a filter that only another one matches.
    let proposed = "Apply exactly this:  trueup apply s/b --digest ";
    stage.run("plan -R s --except a/x").code(0).stdout_contains(proposed);
    stage.run("plan -R s -n a -n c").code(0).stdout_contains("3 stacks: 2 with changes, 1 skipped");
    // What matches nothing anywhere is a mistake, also beside a filter that matches.
    for (filter, words) in [
        ("--only a/* --only d/*", "`d/*` matches nothing"),
        ("--namespace a --namespace d", "the stacks have no namespace `d`"),
        ("--selector tier=none", "`--selector` matches nothing"),
        ("--only a/* --except a/x", "the filters of this call select nothing"),
    ] {
        for command in ["plan", "validate", "drift", "apply --yes"] {
            stage.run(&format!("{command} -R s {filter}")).code(64).stderr_contains(words);
        }
    }
    // An argument that is wrong in itself is the error of the call, not of each stack.
    for (argument, words) in [
        ("--only [", "error: in `--only`"),
        ("--selector a=b=c", "error: in `--selector`"),
        ("--stack A_B", "error: `--stack` is `A_B`"),
    ] {
        for command in ["plan", "drift", "apply --yes"] {
            stage.run(&format!("{command} -R s {argument}")).code(64).stderr_contains(words);
        }
    }
    stage.run("plan -R s --allow x=1").code(64).stderr_contains("error: `--allow x=1`");
    assert!(!service.has("a/x"));
    let digest = stage.run("plan -R s --only a/* --format json").code(0).json()["digest"].clone();
    let digest = digest.as_str().expect("a digest");
    stage
        .run(&format!("apply -R s --only a/* --digest {digest} --quiet"))
        .code(0)
        .stdout_contains("3 stacks: 1 applied, 2 skipped")
        .does_not_say("Apply the rest");
    assert!(service.has("a/x") && !service.has("b/x"));
    // A filter may match in what could not be read.
    service.misbehave("rules: [{operation: endpoint-list, namespace: b, status: {code: 403}}]");
    stage.run("plan -R s --only b/y").code(5).stdout_contains("3 stacks: 1 unknown, 2 skipped");
}

#[test]
fn every_line_about_one_of_several_stacks_names_it() {
    let service = Service::start();
    let stage = three(&service);
    let lines = |text: &str| -> Vec<Value> {
        text.lines()
            .filter(|line| line.starts_with('{'))
            .map(|line| serde_json::from_str(line).expect("JSON"))
            .collect()
    };
    let applied = stage.run("apply s/a s/b --env dev --yes --format ndjson --log json");
    applied.code(0);
    let events = lines(applied.text());
    let (outcome, events) = events.split_last().expect("lines");
    assert_eq!(outcome["kind"], "fleet_report");
    let sources = |lines: &[Value]| -> Vec<Value> {
        let of = |line: &Value| json!([line["directory"], line["stack"], line["environment"]]);
        let mut all: Vec<Value> = lines.iter().map(of).collect();
        all.sort_by_key(Value::to_string);
        all.dedup();
        all
    };
    let both = [json!(["s/a", "s-a", "dev"]), json!(["s/b", "s-b", "dev"])];
    assert_eq!(sources(events), both);
    assert_eq!(sources(&lines(applied.errors())), both);
    // For people, too.
    for name in ["a", "b"] {
        stage.edit(&format!("s/{name}/x.yaml"), "port: 80", "port: 81");
    }
    stage
        .run("apply s/a s/b --env dev --yes")
        .code(0)
        .stderr_contains("s/a  ~ replace a/x ")
        .stderr_contains("s/b  ~ replace b/x ")
        .stderr_contains("s/a: applied 1 of 1\n");
    stage.edit("s/b/trueup.yaml", "namespaces", "guards: {percent: 0, least: 1}\nnamespaces");
    stage.edit("s/b/x.yaml", "port: 81", "port: 82");
    stage
        .run("apply s/a s/b --env dev --yes")
        .code(6)
        .stderr_contains("s/b: refused: the plan would delete or replace");
    // One stack has no directory in its lines, and no name before them.
    let one = stage.run("apply s/b --env dev --yes --allow mass-change --log json");
    one.code(0).stderr_contains("\n  ~ replace b/x ");
    assert_eq!(sources(&lines(one.errors())), [json!([null, "s-b", "dev"])]);
}

#[test]
fn yes_prints_the_plans_of_all_before_the_first_write_as_it_does_for_one() {
    let service = Service::start();
    let stage = three(&service);
    stage.run("apply s/a s/c --yes --quiet").code(0);
    stage.edit("s/a/x.yaml", "port: 80", "port: 81");
    stage.write("s/c/y.yaml", &definition("c/y", 80));
    stage.remove("s/c/x.yaml");
    let plain = "s/a s/c --yes --allow empty-namespace";
    let applied = stage.run(&format!("apply {plain}"));
    applied.code(0);
    let (plans, writes) = applied.errors().split_once("2 stacks: 2 with changes").expect("the plans of both");
    for shown in ["== s/a ", "spec.port                80 -> 81", "== s/c ", "+ create  c/y", "- delete  c/x"] {
        assert!(plans.contains(shown), "{shown} in {plans}");
    }
    assert!(!plans.contains(" done (") && !plans.contains("Apply exactly this"), "{plans}");
    assert!(writes.contains("s/c  - delete  c/x "), "{writes}");
    // A digest is of plans that were shown, and `--quiet` leaves out what no error is.
    stage.edit("s/a/x.yaml", "port: 81", "port: 82");
    let quiet = stage.run(&format!("apply {plain} --quiet"));
    assert!(!quiet.code(0).errors().contains("81 -> 82"), "{}", quiet.errors());
}

#[test]
fn each_of_several_plans_is_saved_in_a_file_that_apply_takes_with_the_settings_of_its_stack() {
    let service = Service::start();
    let stage = three(&service);
    let saved = stage.run("plan s/a s/b --env dev -o plans");
    saved.code(0);
    let line = |name: &str| {
        let line = saved
            .errors()
            .lines()
            .find_map(|line| line.strip_prefix(&format!("s/{name}: saved; to apply it: trueup ")));
        line.unwrap_or_else(|| panic!("{}", saved.errors())).to_owned()
    };
    stage.edit("s/a/x.yaml", "port: 80", "port: 90");
    stage.run(&line("a")).code(0).stderr_ignored();
    assert_eq!(service.get("a/x")["spec"]["port"], 80, "what was planned is applied");
    assert!(!service.has("b/x"));
    stage.run(&line("b")).code(0).stderr_ignored();
    assert!(service.has("b/x"));
}

#[test]
fn what_is_blocked_or_refused_in_one_of_several_stacks_is_in_their_sum_and_in_what_is_proposed() {
    let service = Service::start();
    let stage = Stage::new()
        .at(&service)
        .file("s/a/trueup.yaml", "stack: a\nnamespaces: [a]\n")
        .file("s/a/x.yaml", &definition("a/x", 80))
        .file("s/b/trueup.yaml", "stack: b\nnamespaces: [b]\nguards: {percent: 0, least: 1}\n")
        .file("s/b/x.yaml", &definition("b/x", 80))
        .file("other/trueup.yaml", "stack: other\nnamespaces: [a]\n")
        .file("other/y.yaml", &definition("a/y", 80));
    let stage = stage.applied("s/a").applied("s/b").applied("other");
    stage.remove("other/y.yaml");
    stage.write("s/a/y.yaml", &definition("a/y", 81));
    stage.edit("s/a/x.yaml", "port: 80", "port: 81");
    stage.edit("s/b/x.yaml", "port: 80", "port: 81");
    stage
        .run("plan -R s -o plans")
        .code(0)
        .stdout_contains("2 stacks: 2 with changes; 2 to replace, 1 blocked")
        .stdout_contains("Apply exactly these, once it is allowed:  trueup apply s --recursive --digest ")
        .stderr_contains("s/b: saved; to apply it, once it is allowed: trueup apply plans/");
    let plan = stage.run("plan -R s");
    let label = "Apply exactly these, once it is allowed:  trueup ";
    let proposed = plan.text().lines().find_map(|line| line.strip_prefix(label)).expect("a command");
    stage.run(&format!("{proposed} --quiet")).code(6).stderr_contains("to allow it: --allow mass-change");
    let others = stage.run(&format!("{proposed} --quiet --allow mass-change --except a/y"));
    others.code(6).stderr_contains("the digest of these plans is not");
    stage
        .run(&format!("{proposed} --quiet --allow mass-change"))
        .code(7)
        .stdout_contains("2 stacks: 1 applied, 1 applied in part; 1 endpoint blocked");
    let again = stage.run("apply -R s --yes --quiet");
    again.code(6).stdout_contains("2 stacks: 1 in sync, 1 blocked; 1 endpoint blocked");
    again.stderr_contains("nothing was sent");
    stage.run("plan -R s -o plans").code(0).stderr_contains("s/a: saved\n").does_not_say("Apply exactly these");
}

#[test]
fn a_variable_of_the_call_need_be_used_in_one_of_the_stacks_only() {
    let service = Service::start();
    let stage = three(&service);
    stage.edit("s/a/x.yaml", "port: 80", "port: ${port}");
    for (command, code) in [("validate", 0), ("plan", 0), ("drift", 2), ("apply --yes --quiet", 0)] {
        stage.run(&format!("{command} -R s --var port=81")).code(code);
    }
    let nothing = "`--var port` names a variable that nothing uses";
    for command in ["validate", "plan", "drift", "apply --yes", "validate --format json"] {
        stage.run(&format!("{command} s/b s/c --var port=81")).code(1).stderr_contains(nothing);
    }
    stage.run("validate s/b --var port=81").code(1).stderr_contains(nothing);
    stage
        .run("validate -R s --var port=81 --var prot=82")
        .code(1)
        .stderr_contains("`--var prot` names a variable that nothing uses")
        .stderr_contains("did you mean `port`?");
    // What cannot be loaded may use it.
    stage
        .run("validate -R s --var part=81")
        .code(1)
        .stderr_contains("the variable `port` is not defined")
        .stdout_contains("3 stacks: 2 valid, 1 not valid");
    stage.write("s/c/trueup.yaml", "stack: s-c\nnamespaces: [c]\nvariables: {part: 1}\n");
    stage.run("validate s/b s/c --var part=2").code(0).stderr_contains("nothing uses the variable `part`");
}

#[test]
fn two_stacks_that_would_share_a_file_of_a_directory_are_refused() {
    let service = Service::start();
    let stage = Stage::new().at(&service);
    // Without a name the directory is the name, and neither `/` nor `_` is left in that of a file.
    for (directory, settings) in [
        ("x/y", "namespaces: [a]\n"),
        ("x_y", "namespaces: [b]\n"),
        ("one", "stack: s\nnamespaces: [c]\n"),
        ("two", "stack: s\nnamespaces: [d]\n"),
    ] {
        stage.write(&format!("s/{directory}/trueup.yaml"), settings);
    }
    for (number, (directory, namespace)) in [("x/y", "a"), ("x_y", "b"), ("one", "c"), ("two", "d")].iter().enumerate()
    {
        stage.write(&format!("s/{directory}/e.yaml"), &definition(&format!("{namespace}/e{number}"), 80));
    }
    for (command, one, other) in [
        ("plan", "s/one", "s/two"),
        ("plan", "s/x/y", "s/x_y"),
        ("snapshot", "s/x/y", "s/x_y"),
        ("drift", "s/x/y", "s/x_y"),
    ] {
        let files = if command == "drift" { "--drift-state" } else { "-o" };
        stage
            .run(&format!("{command} {one} {other} {files} out"))
            .code(1)
            .stderr_contains(&format!("`{one}` and `{other}` would have the same file, `127.0.0.1_"))
            .stderr_contains("give each a `stack:` of its own");
        assert!(!stage.path("out").exists(), "{command} {one}");
    }
    stage.run("plan s/one s/two s/x/y s/x_y").code(0);
    stage.run("plan s/one s/x/y -o out").code(0).stderr_ignored();
}

#[test]
fn two_stacks_that_define_one_endpoint_are_refused_with_both_places_whoever_owns_it() {
    let service = Service::start();
    let stage = Stage::new().at(&service);
    for name in ["one", "two", "three"] {
        stage.write(&format!("s/{name}/trueup.yaml"), &format!("stack: {name}\nnamespaces: [shop]\n"));
        stage.write(&format!("s/{name}/own.yaml"), &definition(&format!("shop/{name}"), 80));
    }
    // Equal definitions as well: the next change of one would be undone by the other.
    for name in ["one", "two"] {
        stage.write(&format!("s/{name}/cart.yaml"), &definition("shop/cart", 80));
    }
    let text = "`shop/cart` is defined by two stacks, in s/one/cart.yaml:1:1 and in s/two/cart.yaml:1:1";
    let refused = |stage: &Stage| {
        for line in ["validate -R s", "plan -R s", "drift -R s", "apply -R s --yes", "plan s/one s/two"] {
            let ran = stage.run(line);
            ran.code(1).stderr_contains(text);
            ran.stderr_contains("in s/two/cart.yaml:1:1 and in s/one/cart.yaml:1:1");
            assert!(!ran.errors().contains("s/three"), "{line}");
        }
    };
    // Nobody owns it, one of them does, and another stack does.
    refused(&stage);
    assert_eq!(service.requests("POST"), 0);
    stage.run("apply s/one --yes --quiet").code(0);
    refused(&stage);
    stage.run("apply s/two --yes --quiet --allow foreign-stack=shop/cart").stderr_ignored();
    refused(&stage);
    // What is not concerned goes on, if the call says so.
    stage.run("apply -R s --yes --keep-going --quiet").code(7).stderr_contains(text);
    assert!(service.has("shop/three"));
    stage.remove("s/two/cart.yaml");
    stage.run("plan -R s").code(0);
}

#[test]
fn two_environments_that_define_one_endpoint_of_a_service_are_refused() {
    let service = Service::start();
    let settings = "namespaces: [shop]\nenvironments:\n  one: {stack: one}\n  two: {stack: two}\n";
    let stage = Stage::new().at(&service).file("trueup.yaml", settings).file("cart.yaml", &definition("shop/cart", 80));
    for line in ["plan . --env all", "drift . --env all"] {
        stage.run(line).code(1).stderr_contains("`shop/cart` is defined for two environments of one service");
    }
    // Each in its overlay.
    let overlays =
        settings.replace("one: {stack: one}", "one: {stack: one, overlay: a}").replace("two}", "two, overlay: b}");
    let stage = Stage::new().at(&service).file("trueup.yaml", &overlays);
    let stage =
        stage.file("a/cart.yaml", &definition("shop/cart", 80)).file("b/cart.yaml", &definition("shop/cart", 80));
    let places = "is defined for two environments of one service, in a/cart.yaml:1:1 and in b/cart.yaml:1:1";
    assert_eq!(stage.run("plan . --env all").code(1).errors().matches(places).count(), 1);
    // Where nothing names the service yet, each may be for another one.
    let stage = Stage::new().file("trueup.yaml", settings).file("cart.yaml", &definition("shop/cart", 80));
    stage.run("validate . --env all").code(0);
    let settings = "namespaces: [shop]\nenvironments:\n  one: {stack: one, base_url: 'https://one.example.net'}\n  \
        two: {stack: two, base_url: 'https://two.example.net'}\n";
    stage.write("trueup.yaml", settings);
    stage.run("validate . --env all").code(0);
}

#[test]
fn what_is_wrong_in_a_file_of_several_environments_is_shown_once() {
    let settings = "namespaces: [shop]\nenvironments:\n  one: {stack: one}\n  two: {stack: two, overlay: o}\n";
    let stage =
        Stage::new().file("trueup.yaml", settings).file("cart.yaml", "metadata: {name: cart}\nspec: {prot: 80}\n");
    let count = |text: &str| stage.run("validate . --env all").code(1).errors().matches(text).count();
    assert_eq!(count("unknown field `prot`"), 1);
    // Beside what is wrong in the files of one of them alone.
    stage.write("o/y.yaml", "metadata: {name: y, namespace: shop}\nspec: {ip: 10.0.0.7, prto: 80}\n");
    assert_eq!([count("unknown field `prot`"), count("unknown field `prto`")], [1, 1]);
    stage.remove("o/y.yaml");
    stage.write("cart.yaml", &definition("shop/cart", 80));
    stage.write("o/cart.yaml", "metadata: {name: cart, namespace: shop}\nspec: {prot: 80}\n");
    assert_eq!(count("unknown field `prot`"), 1);
}

#[test]
fn a_saved_plan_does_not_outlive_a_call_that_makes_none_for_its_stack() {
    let service = Service::start();
    let stage = three(&service);
    let files = || -> BTreeSet<String> {
        let entries = std::fs::read_dir(stage.path("plans")).expect("a directory");
        entries.map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned()).collect()
    };
    stage.run("plan -R s -o plans").code(0).stderr_ignored();
    let all = files();
    assert_eq!(all.len(), 3);
    stage.write("plans/notes.json", "{}");
    let left = |endings: &[&str]| {
        let left: Vec<bool> = endings.iter().map(|ending| files().iter().any(|file| file.ends_with(ending))).collect();
        assert!(left.iter().all(|there| *there) && files().len() == endings.len(), "{endings:?}: {:?}", files());
    };
    // A filter that selects nothing in a stack, an environment that a stack lacks, settings that are refused.
    stage.run("plan -R s --only a/* -o plans").code(0).stderr_ignored();
    left(&["_s-a.json", "notes.json"]);
    stage.run("plan -R s -o plans").code(0).stderr_ignored();
    stage.run("plan -R s --env dev --skip-missing-env -o plans").code(0).stderr_ignored();
    left(&["_s-a.json", "_s-b.json", "notes.json"]);
    stage.write("s/b/x.yaml", "metadata: {name: x, namespace: b}\nspec: {ip: wrong}\n");
    stage.run("plan -R s -o plans").code(1).stderr_ignored();
    left(&["_s-a.json", "_s-c.json", "notes.json"]);
    // Two that define one endpoint are refused after both were planned.
    stage.write("s/b/x.yaml", &definition("b/x", 80));
    stage.run("plan -R s -o plans").code(0).stderr_ignored();
    for name in ["b", "c"] {
        stage.edit(&format!("s/{name}/trueup.yaml"), &format!("[{name}]"), "[b, c]");
    }
    stage.write("s/c/y.yaml", &definition("b/x", 80));
    stage.run("plan -R s -o plans").code(1).stderr_ignored();
    left(&["_s-a.json", "notes.json"]);
}

#[test]
fn a_stack_that_waits_keeps_only_its_own_place_from_those_after_it() {
    for (line, operation) in [("drift -R .", "endpoint-list"), ("apply -R . --yes --waves 100%", "endpoint-create")] {
        let service = Service::start();
        let stage = Stage::new().at(&service);
        for name in (0..24).map(|number| format!("s{number:02}")) {
            stage.write(&format!("{name}/trueup.yaml"), &format!("stack: {name}\nnamespaces: [{name}]\n"));
            stage.write(&format!("{name}/x.yaml"), &definition(&format!("{name}/x"), 80));
        }
        service.hold(&format!("operation: {operation}, namespace: s00"));
        let words: Vec<&str> = line.split(' ').collect();
        let quiet = [(); 3].map(|()| Stdio::null());
        let [stdin, stdout, stderr] = quiet;
        let mut command = stage.command(&words);
        let mut child = command.stdin(stdin).stdout(stdout).stderr(stderr).spawn().expect("it starts");
        let others =
            || service.log().iter().filter(|entry| entry.operation == operation && entry.namespace != "s00").count();
        while others() < 23 {
            assert!(child.try_wait().expect("a child").is_none(), "`{line}` ended: {} of 23 others", others());
            std::thread::sleep(std::time::Duration::from_millis(20));
        }
        service.release();
        let ended = child.wait().expect("it ends");
        assert_eq!(ended.code(), Some(if line.starts_with("drift") { 2 } else { 0 }), "{line}");
    }
}
