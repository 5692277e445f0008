//! `move`: endpoints pass from one stack to another before or after their definitions do, and none is ever deleted
//! or loses its uid.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::support::{Service, Stage, definition, git, git_in};

/// Endpoints that move.
const MANY: usize = 100;

fn names() -> impl Iterator<Item = String> {
    (0..MANY).map(|n| format!("e{n:03}"))
}

fn settings(stack: &str) -> String {
    format!("stack: {stack}\nnamespaces: [shop]\nallow_empty: true\n")
}

/// A repository with the stacks `one` and `two`; `one` has applied all of its endpoints, and `two` one of its own.
fn repository(service: &Service) -> Stage {
    let stage =
        Stage::new().at(service).file("one/trueup.yaml", &settings("one")).file("two/trueup.yaml", &settings("two"));
    for name in names() {
        stage.write(&format!("one/{name}.yaml"), &definition(&format!("shop/{name}"), 80));
    }
    let stage = stage.file("one/stays.yaml", &definition("shop/stays", 80));
    stage.file("two/own.yaml", &definition("shop/own", 80)).committed().applied("one").applied("two")
}

/// Stack one with `shop/cart`, applied, and stack two without a definition.
fn one_cart(service: &Service) -> Stage {
    Stage::new()
        .at(service)
        .file("one/trueup.yaml", &settings("one"))
        .file("one/cart.yaml", &definition("shop/cart", 80))
        .file("two/trueup.yaml", &settings("two"))
        .committed()
        .applied("one")
}

/// Stack two, which defines what stack one has applied with port 80: `shop/cart` with this port, `shop/search` with another.
fn defined_twice(service: &Service, port: u16) -> Stage {
    Stage::stack(service, "one")
        .file("cart.yaml", &definition("shop/cart", 80))
        .file("search.yaml", &definition("shop/search", 80))
        .applied(".");
    Stage::stack(service, "two")
        .file("cart.yaml", &definition("shop/cart", port))
        .file("search.yaml", &definition("shop/search", 81))
}

fn move_definitions(stage: &Stage) {
    for name in names() {
        std::fs::rename(stage.path(&format!("one/{name}.yaml")), stage.path(&format!("two/{name}.yaml")))
            .expect("a move");
    }
}

fn uids(service: &Service) -> BTreeMap<String, Value> {
    let uid = |name: String| {
        let object = service.get(&format!("shop/{name}"));
        (name, object["system_metadata"]["uid"].clone())
    };
    names().map(uid).collect()
}

fn owners(service: &Service) -> Vec<Value> {
    let mut owners: Vec<Value> = names()
        .map(|name| service.get(&format!("shop/{name}"))["metadata"]["annotations"]["trueup/stack"].clone())
        .collect();
    owners.dedup();
    owners
}

/// Neither stack would delete, create or replace anything.
#[track_caller]
fn nothing_is_lost(stage: &Stage, stacks: &[&str]) {
    for stack in stacks {
        let plan = stage.run(&format!("plan {stack} --format json"));
        let counts = plan.code(0).json()["counts"].clone();
        assert_eq!(
            (&counts["create"], &counts["replace"], &counts["delete"]),
            (&json!(0), &json!(0), &json!(0)),
            "{stack}"
        );
    }
}

#[test]
fn a_hundred_endpoints_move_before_their_definitions_and_keep_their_uids() {
    let service = Service::start();
    let stage = repository(&service);
    let before = uids(&service);
    stage
        .run_words(&["move", "--from", "one", "--to", "two", "--directory", "one", "shop/e*", "--yes", "--quiet"])
        .code(0)
        .stdout_contains("100 annotated");
    assert_eq!(owners(&service), ["two"]);
    // The definitions are still those of the old stack.
    nothing_is_lost(&stage, &["one", "two"]);
    stage
        .run("plan two")
        .code(0)
        .stdout_contains("100 endpoints were moved here from stack one and are not defined yet: ");
    stage.run("apply two --yes --quiet").code(0);
    stage.run("apply one --yes --quiet").code(0);
    move_definitions(&stage);
    nothing_is_lost(&stage, &["one", "two"]);
    stage.run("apply two --yes --quiet").code(0).stdout_contains("100 annotated");
    nothing_is_lost(&stage, &["one", "two"]);
    assert_eq!(uids(&service), before);
    // From now on the new stack decides.
    stage.remove("two/e007.yaml");
    stage.run("apply two --yes --quiet").code(0).stdout_contains("1 deleted");
}

#[test]
fn a_hundred_endpoints_move_after_their_definitions_and_keep_their_uids() {
    let service = Service::start();
    let stage = repository(&service);
    let before = uids(&service);
    move_definitions(&stage);
    stage.run("plan two").code(0).stdout_contains("100 endpoints are as defined and belong to stack one");
    // The old stack asks the others of the repository before it deletes.
    nothing_is_lost(&stage, &["one", "two"]);
    let moved = stage.run("move --from one --directory two --yes --quiet");
    moved.code(0).stdout_contains("100 annotated");
    assert_eq!(owners(&service), ["two"]);
    nothing_is_lost(&stage, &["one", "two"]);
    stage.run("plan two").code(0).stdout_contains("In sync: 101 endpoints").does_not_say("annotate");
    stage.run("move --from one --directory two --yes").code(0).stdout("Nothing to move from stack one to stack two.\n");
    assert_eq!(uids(&service), before);
}

#[test]
fn the_undo_of_a_move_to_another_stack_has_the_consent_that_it_needs() {
    let service = Service::start();
    let stage = Stage::new()
        .at(&service)
        .file("one/trueup.yaml", &settings("one"))
        .file("one/cart.yaml", &definition("shop/cart", 80))
        .file("two/trueup.yaml", &settings("two"))
        .committed()
        .applied("one");
    let moved = stage.run("move --from one --to two --directory one shop/cart --yes");
    let undo = moved
        .code(0)
        .stderr_ignored()
        .text()
        .lines()
        .find_map(|line| Some(line.split_once("undo with: trueup ")?.1.to_owned()));
    let undo = undo.expect("a command").replace('\'', "");
    let owner = || service.get("shop/cart")["metadata"]["annotations"]["trueup/stack"].clone();
    assert_eq!(owner(), "two");
    stage.run(&format!("{undo} --yes --quiet")).code(0).stdout_contains("1 annotated");
    assert_eq!(owner(), "one");
}

#[test]
fn every_report_of_a_run_that_gave_objects_away_proposes_the_same_undo() {
    let service = Service::start();
    let stage = one_cart(&service);
    stage.write("two/cart.yaml", &definition("shop/cart", 80));
    let stage = stage.committed();
    let undo = |line: &str| {
        let ran = stage.run(line);
        let text = ran.code(0).stderr_ignored().text().replace('\'', "");
        let proposed = text.lines().find_map(|line| line.split_once("trueup rollback ")).expect("a command").1;
        format!("rollback {}", proposed.trim())
    };
    let owner = || service.get("shop/cart")["metadata"]["annotations"]["trueup/stack"].clone();
    let mut next = "move --from one --to two --directory one shop/cart".to_owned();
    // Given away; the rollback of that; taken by the other; the rollback of that, which gives it away, and one of that.
    for (word, stack) in [("given", "two"), ("", "one"), ("taken", "two"), ("", "one"), ("", "two")] {
        if word == "taken" {
            next = "move --from one --directory two".to_owned();
        }
        let proposed = undo(&format!("{next} --yes"));
        assert_eq!(owner(), stack, "{next}");
        for report in ["show last", "history"] {
            assert_eq!(undo(report), proposed, "{report} after {next}");
        }
        next = proposed;
    }
}

#[test]
fn a_move_is_an_ordinary_plan_that_is_saved_applied_by_its_digest_and_rolled_back() {
    let service = Service::start();
    let stage = Stage::new()
        .at(&service)
        .file("one/trueup.yaml", &settings("one"))
        .file("one/cart.yaml", &definition("shop/cart", 80))
        .file("two/trueup.yaml", &settings("two"))
        .file("two/cart.yaml", &definition("shop/cart", 81))
        .committed()
        .applied("one");
    let plan = stage.run("move --from one --directory two -o plan.json");
    plan.code(0)
        .stdout_contains("Move from stack one to stack two at ")
        .stdout_contains("  * annotate 1 endpoint handed over from stack one to stack two: shop/cart")
        .stdout_contains("stack one still defines 1 endpoint")
        .stdout_contains("1 endpoint differs from its definition in stack two")
        .stdout_contains("1 to move, 0 in sync.");
    let digest = plan.text().lines().find_map(|line| line.split_once("--digest ")).expect("a digest").1.to_owned();
    let saved: Value = serde_json::from_str(&stage.read("plan.json")).expect("JSON");
    assert_eq!(saved["plan"]["allowed"][0]["name"], "foreign-stack=*");
    // Without its digest the plan needs the consent again, as a glob or a key.
    let apply = "apply plan.json --config two/trueup.yaml --quiet";
    stage.run(&format!("{apply} --yes")).code(6).stderr_contains("foreign-stack=shop/cart");
    stage
        .run_words(
            &[apply.split(' ').collect::<Vec<_>>().as_slice(), &["--yes", "--allow", "foreign-stack=pay/*"]].concat(),
        )
        .code(6)
        .stderr_ignored();
    stage.run(&format!("{apply} --digest {digest}")).code(0).stdout_contains("1 annotated");
    let moved = service.get("shop/cart");
    assert_eq!(
        (&moved["metadata"]["annotations"]["trueup/stack"], &moved["spec"]["port"]),
        (&json!("two"), &json!(80))
    );
    // The next plan of the new stack shows what the move left, and whose change it is.
    stage.run("plan two").code(0).stdout_contains("80 -> 81").stdout_contains("pending");
    let back = stage.run("rollback last --config two/trueup.yaml --yes --quiet");
    back.code(0).stdout_contains("1 annotated");
    assert_eq!(service.get("shop/cart")["metadata"]["annotations"]["trueup/stack"], "one");
    assert_eq!(service.get("shop/cart")["system_metadata"]["uid"], moved["system_metadata"]["uid"]);
    for format in ["markdown", "html"] {
        let shown = stage.run(&format!("show plan.json --format {format}"));
        shown.code(0).stdout_contains("to move").stdout_contains("shop/cart").stdout_contains("still defines");
    }
    let json = stage.run("show plan.json --format json").code(0).json();
    assert_eq!(json["plan"]["changes"][0]["key"], "shop/cart");
}

#[test]
fn a_policy_that_forbids_one_of_the_stacks_refuses_a_saved_move_and_its_resume() {
    let service = Service::start();
    let stage = Stage::new()
        .at(&service)
        .file("one/trueup.yaml", &settings("one"))
        .file("one/cart.yaml", &definition("shop/cart", 80))
        .file("two/trueup.yaml", &settings("two"))
        .file("two/cart.yaml", &definition("shop/cart", 80))
        .committed()
        .applied("one");
    stage.write("../policy.yaml", "stacks: [two]\n");
    let make = "move --from one --directory two -o plan.json";
    let forbidden = "the policy forbids the stack `one`; it allows `two`";
    stage.run(&format!("{make} --policy ../policy.yaml")).code(6).stderr_contains(forbidden);
    stage.run(make).code(0);
    let settled = "--config two/trueup.yaml --yes --quiet --allow foreign-stack=*";
    stage
        .run(&format!("apply plan.json {settled} --policy ../policy.yaml"))
        .code(6)
        .stderr_contains(forbidden)
        .stderr_contains("nothing was sent");
    service.misbehave("rules: [{operation: endpoint-replace, status: {code: 403}}]");
    stage.run(&format!("apply plan.json {settled}")).code(1).stderr_ignored();
    service.misbehave("rules: []");
    let sent = service.requests("PUT");
    let resume = format!("apply --resume last {settled} --policy ../policy.yaml");
    stage.run(&resume).code(6).stderr_contains(forbidden);
    assert_eq!(service.requests("PUT"), sent);
    stage.write("../policy.yaml", "stacks: [one, two]\n");
    stage.run(&resume).code(0).stdout_contains("1 annotated");
    // To give it back is a move as well, from a file and from a journal.
    let back = stage.run("rollback last --config two/trueup.yaml -o back.json");
    back.code(0).stdout_contains("1 endpoint handed over from stack two to stack one: shop/cart");
    service.misbehave("rules: [{operation: endpoint-replace, status: {code: 403}}]");
    stage.run("apply back.json --config two/trueup.yaml --yes --quiet").code(1).stderr_ignored();
    service.misbehave("rules: []");
    let sent = service.requests("PUT");
    stage.write("../policy.yaml", "stacks: [two]\n");
    for line in ["apply back.json", "apply --resume last"] {
        stage.run(&format!("{line} {settled} --policy ../policy.yaml")).code(6).stderr_contains(forbidden);
    }
    assert_eq!(service.requests("PUT"), sent);
}

#[test]
fn a_move_into_a_namespace_that_the_new_stack_does_not_list_yet_is_undone_as_it_proposes() {
    let service = Service::start();
    let stage = Stage::new()
        .at(&service)
        .file("one/trueup.yaml", &settings("one"))
        .file("one/cart.yaml", &definition("shop/cart", 80))
        .file("two/trueup.yaml", "stack: two\nnamespaces: [pay]\nallow_empty: true\n")
        .committed()
        .applied("one");
    let before = service.get("shop/cart")["metadata"]["annotations"].clone();
    let moved = stage.run("move --from one --directory two shop/cart --yes --quiet");
    moved.code(0).stdout_contains("undo with: trueup rollback ");
    let undo = moved.text().lines().find_map(|line| line.split_once("undo with: trueup ")).expect("a command").1;
    stage.run(&format!("{undo} --yes --quiet")).code(0).stdout_contains("1 annotated");
    assert_eq!(service.get("shop/cart")["metadata"]["annotations"], before);
}

#[test]
fn the_giver_takes_back_what_it_gave_only_with_consent() {
    let service = Service::start();
    let stage = one_cart(&service);
    let uid = service.get("shop/cart")["system_metadata"]["uid"].clone();
    let owner = || service.get("shop/cart")["metadata"]["annotations"]["trueup/stack"].clone();
    stage.run("move --from one --to two --directory one shop/cart --yes --quiet").code(0);
    assert_eq!(owner(), "two");
    let back = "rollback last --config one/trueup.yaml --yes --quiet";
    stage.run(back).code(6).stdout_contains("--allow foreign-stack=shop/cart");
    assert_eq!(owner(), "two");
    // A saved one proposes no command that would be refused.
    let saved = stage.run("rollback last --config one/trueup.yaml -o back.json");
    saved.code(0).stdout_contains("--allow foreign-stack=shop/cart").does_not_say("Apply exactly this");
    stage.run(&format!("{back} --allow foreign-stack=shop/*")).code(0).stdout_contains("1 annotated");
    assert_eq!((owner(), service.get("shop/cart")["system_metadata"]["uid"].clone()), (json!("one"), uid));
}

#[test]
fn a_move_that_met_a_conflict_is_planned_again_by_the_command_that_is_proposed() {
    let service = Service::start();
    let stage = one_cart(&service);
    let again = "trueup move --from one --to two --directory two 'shop/c*' --config two/trueup.yaml\n";
    stage.run_words(&["move", "--from", "one", "--directory", "two", "shop/c*", "-o", "plan.json"]).code(0);
    service.change("shop/cart", |cart| cart["metadata"]["labels"] = json!({"by": "hand"}));
    let apply = |flag: &str| stage.run(&format!("apply plan.json --config two/trueup.yaml --quiet {flag}"));
    apply(&format!("--digest {}", "0".repeat(32))).code(6).stderr_contains(&format!("plan again: {again}"));
    let met = apply("--yes --allow foreign-stack=shop/cart");
    met.code(6).stdout_contains(&format!("Plan again:  {again}")).stdout_contains("a new plan keeps it");
}

#[test]
fn a_renamed_stack_takes_its_endpoints_along_in_either_order() {
    for move_first in [false, true] {
        let service = Service::start();
        let stage = Stage::new()
            .at(&service)
            .file("trueup.yaml", &settings("old"))
            .file("cart.yaml", &definition("shop/cart", 80));
        let stage = stage.committed().applied(".");
        let uid = service.get("shop/cart")["system_metadata"]["uid"].clone();
        if move_first {
            stage.run_words(&["move", "--from", "old", "--to", "new", "shop/*", "--yes", "--quiet"]).code(0);
            nothing_is_lost(&stage, &["."]);
            stage.edit("trueup.yaml", "stack: old", "stack: new");
            nothing_is_lost(&stage, &["."]);
        } else {
            stage.edit("trueup.yaml", "stack: old", "stack: new");
            nothing_is_lost(&stage, &["."]);
            let moved = stage.run("move --from old --yes --quiet");
            moved.code(0).stdout_contains("1 annotated").does_not_say("stays there");
        }
        stage.run("apply . --yes --quiet").code(0);
        stage.run("plan . --detailed-exitcode").code(0).stdout_contains("In sync").does_not_say("annotate");
        assert_eq!(service.get("shop/cart")["metadata"]["annotations"]["trueup/stack"], "new");
        assert_eq!(service.get("shop/cart")["system_metadata"]["uid"], uid);
    }
}

#[test]
fn what_a_renamed_stack_does_not_define_any_more_is_named_by_its_move() {
    let service = Service::start();
    let stage = Stage::new()
        .at(&service)
        .file("trueup.yaml", &settings("old"))
        .file("cart.yaml", &definition("shop/cart", 80))
        .file("rest.yaml", &definition("shop/rest", 80))
        .committed()
        .applied(".");
    stage.edit("trueup.yaml", "stack: old", "stack: new");
    stage.remove("rest.yaml");
    let left = "1 endpoint of stack old stays there, because the new stack does not define it (to move it as well, name it): shop/rest";
    stage.run("move --from old --yes").code(0).stdout_contains("1 annotated").stderr_contains(left);
    assert!(service.has("shop/rest"));
    stage.run("move --from old shop/rest --yes --quiet").code(0).stdout_contains("1 annotated");
}

#[test]
fn a_conflict_with_a_move_names_the_new_owner() {
    let service = Service::start();
    let stage = Stage::new()
        .at(&service)
        .file("trueup.yaml", &settings("old"))
        .file("cart.yaml", &definition("shop/cart", 80))
        .file("search.yaml", &definition("shop/search", 80))
        .file("stays.yaml", &definition("shop/stays", 80))
        .applied(".");
    stage.edit("cart.yaml", "port: 80", "port: 81");
    stage.run("plan . -o replace.json").code(0);
    stage.edit("cart.yaml", "port: 81", "port: 80");
    stage.remove("search.yaml");
    stage.run("plan . -o delete.json").code(0);
    stage.run("move --from old --to new shop/cart shop/search --yes --quiet").code(0);
    for (plan, key) in [("replace", "shop/cart"), ("delete", "shop/search")] {
        let said = format!("conflict: {key} changed by someone else, and owned by the stack `new`\n");
        stage.run(&format!("apply {plan}.json --yes --quiet")).code(6).stdout_contains(&said);
    }
}

/// Two repositories: each knows only its own stack.
#[test]
fn a_repository_is_split_and_merged_again_in_either_order_without_a_delete() {
    for move_first in [false, true] {
        let service = Service::start();
        let whole = Stage::new()
            .at(&service)
            .file("trueup.yaml", &settings("whole"))
            .file("cart.yaml", &definition("shop/cart", 80))
            .file("search.yaml", &definition("shop/search", 80))
            .committed()
            .applied(".");
        let part = Stage::new().at(&service).file("trueup.yaml", &settings("part")).committed();
        let uid = service.get("shop/cart")["system_metadata"]["uid"].clone();
        let both = [&whole, &part];
        let check = || both.iter().for_each(|stage| nothing_is_lost(stage, &["."]));
        let hand_over = || {
            let line = ["move", "--from", "whole", "--to", "part", "shop/cart", "--yes", "--quiet"];
            let moved = whole.run_words(&line);
            moved.code(0).stdout_contains("1 annotated");
            check();
        };
        let plan = whole.run("move --from whole --to part shop/cart -o move.json");
        plan.code(0)
            .stdout_contains("no directory of stack part is in this repository: what it defines is not checked");
        if move_first {
            hand_over();
        }
        part.write("cart.yaml", &definition("shop/cart", 80));
        check();
        if !move_first {
            hand_over();
        }
        whole.remove("cart.yaml");
        check();
        part.run("apply . --yes --quiet").code(0);
        whole.run("apply . --yes --quiet").code(0);
        // And back, taken by the one that gets it.
        if move_first {
            whole.run_words(&["move", "--from", "part", "shop/cart", "--yes", "--quiet"]).code(0);
            check();
            whole.write("cart.yaml", &definition("shop/cart", 80));
        } else {
            whole.write("cart.yaml", &definition("shop/cart", 80));
            check();
            whole.run("move --from part --yes --quiet").code(0);
        }
        check();
        part.remove("cart.yaml");
        check();
        whole.run("apply . --yes --quiet").code(0);
        part.run("apply . --yes --quiet").code(0);
        assert_eq!(service.get("shop/cart")["metadata"]["annotations"]["trueup/stack"], "whole");
        assert_eq!(service.get("shop/cart")["system_metadata"]["uid"], uid);
    }
}

#[test]
fn what_a_stack_got_and_never_defined_is_deleted_only_by_name() {
    let service = Service::start();
    let stage = one_cart(&service);
    stage.run_words(&["move", "--from", "one", "--directory", "two", "shop/cart", "--yes", "--quiet"]).code(0);
    stage.remove("one/cart.yaml");
    stage.run("apply one --yes --quiet").code(0);
    stage.run("apply two --yes --quiet").code(0);
    stage.run("drift two").code(0).stdout_contains("moved here from stack one and is not defined yet: shop/cart");
    stage.run("drift two --unmanaged fail").code(3).stdout_contains("shop/cart");
    assert!(service.has("shop/cart"));
    let delete = "apply two --yes --quiet --allow unverified=shop/cart --allow empty-namespace";
    stage.run(delete).code(0).stdout_contains("1 deleted");
}

#[test]
fn the_other_stack_of_a_move_may_be_another_environment() {
    let service = Service::start();
    let of_one = format!("{}environments: {{prod: {{stack: one-prod, overlay: o}}}}\n", settings("one"));
    let of_two = "namespaces: [shop]\nenvironments: {a: {stack: two}, b: {stack: two}}\n";
    let stage = Stage::new()
        .at(&service)
        .file("one/trueup.yaml", &of_one)
        .file("one/cart.yaml", &definition("shop/cart", 80))
        .file("one/o/cart.yaml", &definition("shop/cart", 81))
        .file("two/trueup.yaml", of_two)
        .committed()
        .applied("one");
    for line in
        ["move --from one --directory one --env prod", "move --from one --to one-prod --directory one shop/cart"]
    {
        let moved = stage.run(&format!("{line} -o move.json"));
        moved
            .code(0)
            .stdout_contains("stack one still defines 1 endpoint")
            .stdout_contains("1 endpoint differs from its definition in stack one-prod")
            .does_not_say("is not checked");
    }
    let unclear = stage.run("move --from one --to two --directory one shop/cart -o move.json");
    unclear.code(0).stdout_contains("both `two (a)` and `two (b)` are the stack two: what it defines is not checked");
}

#[test]
fn what_differs_from_its_new_definition_is_compared_by_the_settings_of_the_new_stack() {
    let service = Service::start();
    let settings = |stack: &str| format!("{}kinds: [healthcheck]\n", settings(stack));
    let definition = |name: &str| {
        let spec =
            "{http_health_check: {path: /}, timeout: 3, interval: 15, unhealthy_threshold: 1, healthy_threshold: 3}";
        format!("kind: healthcheck\nmetadata: {{name: {name}, namespace: shop}}\nspec: {spec}\n")
    };
    let stage = Stage::new()
        .at(&service)
        .file("one/trueup.yaml", &settings("one"))
        .file("two/trueup.yaml", &settings("two"))
        .file("one/ignored.yaml", &definition("ignored"))
        .file("one/stripped.yaml", &definition("stripped"))
        .committed()
        .applied("one");
    for (name, field, value) in [("ignored", "timeout", 7), ("stripped", "jitter_percent", 20)] {
        let path = format!("/api/config/namespaces/shop/healthchecks/{name}");
        let mut object: Value = serde_json::from_str(&service.send("GET", &path, None).1).expect("JSON");
        object["spec"][field] = json!(value);
        assert_eq!(service.send("PUT", &path, Some(&object.to_string())).0, 200);
        std::fs::rename(stage.path(&format!("one/{name}.yaml")), stage.path(&format!("two/{name}.yaml")))
            .expect("a move");
    }
    let differ = |objects: &[&str]| {
        for call in ["--directory two", "--to two --directory one healthcheck:shop/*"] {
            let moved = stage.run(&format!("move --from one {call} --format json -o move.json"));
            let notes = moved.code(0).json()["plan"]["notes"].clone();
            let notes = notes.as_array().expect("notes").iter().filter(|note| note.to_string().contains("differs"));
            let notes: Vec<String> = notes.map(ToString::to_string).collect();
            assert_eq!(notes.len(), objects.len(), "{call}: {notes:?}");
            assert!(objects.iter().all(|name| notes.iter().any(|note| note.contains(name))), "{call}: {notes:?}");
        }
    };
    differ(&["ignored"]);
    let rules = "ignore: [{object: 'healthcheck:shop/ignored', field: spec.timeout}]\nstrict: true\n";
    let of_one = stage.read("one/trueup.yaml");
    stage.write("one/trueup.yaml", &format!("{of_one}{rules}"));
    differ(&["ignored"]);
    stage.write("one/trueup.yaml", &of_one);
    stage.write("two/trueup.yaml", &format!("{}{rules}", stage.read("two/trueup.yaml")));
    differ(&["stripped"]);
}

#[test]
fn a_move_that_is_not_clear_is_refused_and_sends_nothing() {
    let service = Service::start();
    let stage = Stage::new()
        .at(&service)
        .file("one/trueup.yaml", &settings("one"))
        .file("one/cart.yaml", &definition("shop/cart", 80))
        .file("two/trueup.yaml", &settings("two"))
        .file("bare/cart.yaml", &definition("shop/cart", 80))
        .applied("one");
    stage.run("move --from one --directory one").code(64).stderr_contains("`one` is both stacks of this move");
    stage
        .run("move --from a --to b --directory one")
        .code(64)
        .stderr_contains("is the stack `one`, and the move is from `a`");
    stage.run("move --from one --directory bare").code(64).stderr_contains("`bare` is not a stack");
    stage.run("move --from One --directory two").code(64).stderr_contains("`--from` is `One`, which ");
    stage.run("move --from one --directory two").code(64).stderr_contains("the stack `two` defines nothing here");
    stage.run("move --from one --directory two shop/x*").code(64).stderr_contains("`shop/x*` matches nothing");
    git(&stage, "init -q");
    stage.write("three/trueup.yaml", &settings("one"));
    let ambiguous = stage.run("move --from one --directory two shop/cart -o move.json");
    ambiguous.code(0).stdout_contains("both `one` and `three` are the stack one: what it defines is not checked");
    stage.run("move --from one --directory two shop/cart").code(6).stderr_contains("confirmation required");
    let policy = "stacks: [two]\n";
    stage.write("../policy.yaml", policy);
    let limited = "move --from one --directory two shop/cart --yes --policy ../policy.yaml";
    stage.run(limited).code(6).stderr_contains("the policy forbids the stack `one`");
    stage.write("../policy.yaml", "allow: [mass-change]\n");
    stage.run(limited).code(6).stderr_contains("the policy forbids `--allow foreign-stack=");
    assert_eq!(service.requests("PUT"), 0);
}

#[test]
fn a_glob_allows_to_take_over_what_it_matches_and_nothing_else() {
    let service = Service::start();
    let two = defined_twice(&service, 81);
    for wrong in ["foreign-stack=", "foreign-stack=shop/[", "protected=shop/*", "unverified=*"] {
        two.run(&format!("plan . --allow {wrong}")).code(64).stderr_contains("names nothing that can be allowed");
    }
    let plan = two.run("plan . --allow foreign-stack=shop/c* -o plan.json");
    plan.code(0)
        .stdout_contains("ALLOWED  foreign-stack=shop/c*")
        .stdout_contains("~ replace shop/cart")
        .stdout_contains("! blocked shop/search");
    let digest = plan.text().lines().find_map(|line| line.split_once("--digest ")).expect("a digest").1.to_owned();
    // Another consent is another plan.
    let file: Value = serde_json::from_str(&two.read("plan.json")).expect("JSON");
    let mut wider = file.clone();
    wider["plan"]["allowed"][0]["name"] = json!("foreign-stack=*");
    two.write("wider.json", &wider.to_string());
    two.run(&format!("apply wider.json --digest {digest} --quiet")).code(6).stderr_contains("digest");
    two.run(&format!("apply plan.json --digest {digest} --quiet")).code(7).stdout_contains("1 replaced");
    assert_eq!(service.get("shop/search")["spec"]["port"], 80);
    // A policy counts a glob as what it allows.
    two.write("../policy.yaml", "allow: [foreign-stack]\n");
    two.run_words(&["apply", ".", "--yes", "--quiet", "--policy", "../policy.yaml", "--allow", "foreign-stack=*"])
        .code(0);
    assert_eq!(service.get("shop/search")["spec"]["port"], 81);
}

#[test]
fn what_an_apply_takes_from_another_stack_is_shown_as_that_and_bound_by_the_policy() {
    let service = Service::start();
    let two = defined_twice(&service, 80)
        .file("pay.yaml", &definition("shop/pay", 81))
        .file("../policy.yaml", "stacks: [two]\n");
    service.create(&json!({"metadata": {"name": "pay", "namespace": "shop"}, "spec": {"ip": "10.0.0.7", "port": 80}}));
    let change = ". --adopt --allow foreign-stack=shop/*";
    let plan = two.run(&format!("plan {change} -o plan.json"));
    for (start, end) in [("shop/search ", " passes from stack one to stack two"), ("shop/pay ", " adopts")] {
        let start = format!("  ~ replace {start}");
        assert!(plan.text().lines().any(|line| line.starts_with(&start) && line.ends_with(end)), "{}", plan.text());
    }
    plan.code(0)
        .stdout_contains("  * annotate 1 endpoint handed over from stack one to stack two: shop/cart\n")
        .stdout_contains("2 to replace (1 adopted: no stack owns it, 1 taken over from stack one)");
    two.write("../lone/search.yaml", &definition("shop/search", 85));
    two.run("plan ../lone --allow foreign-stack=shop/search")
        .code(0)
        .stdout_contains("1 to replace (1 taken from stack one: no stack owns it afterwards)");
    two.run(&format!("plan {change} --format markdown"))
        .code(0)
        .stdout_contains("Annotate 1 endpoint handed over from stack `one` to stack `two`: `shop/cart`\n");
    let sent = service.requests("PUT");
    for line in [format!("plan {change}"), format!("apply {change} --yes"), "apply plan.json --yes".to_owned()] {
        let refused = two.run(&format!("{line} --policy ../policy.yaml"));
        refused.code(6).stderr_contains("the policy forbids the stack `one`; it allows `two`");
    }
    assert_eq!(service.requests("PUT"), sent);
}

#[test]
fn an_endpoint_that_moves_to_another_namespace_is_shown_as_a_move() {
    let service = Service::start();
    let stage = Stage::new()
        .at(&service)
        .file("trueup.yaml", "stack: s\nnamespaces: [shop, pay]\n")
        .file("cart.yaml", &definition("shop/cart", 80))
        .file("search.yaml", &definition("shop/search", 80))
        .applied(".");
    stage.edit("cart.yaml", "namespace: shop", "namespace: pay");
    for (format, keys) in [("text", "from shop/cart to pay/cart"), ("markdown", "`from shop/cart to pay/cart`")] {
        let note = format!("1 endpoint moves {keys}: a create there, then a delete here");
        stage.run(&format!("plan . --format {format}")).code(0).stdout_contains(&note);
    }
    let page = stage.run("plan . --format html");
    page.code(0).stdout_contains("from shop/cart to pay/cart").stdout_contains(": a create there, then a delete here");
    let json = stage.run("plan . --format json").code(0).json();
    let renamed = json!({"renamed": {"key": "shop/cart", "to": "pay/cart"}});
    assert!(json["plan"]["notes"].as_array().expect("notes").contains(&renamed), "{}", json["plan"]["notes"]);
    // Another spec, or a second one of the name, is not surely the same endpoint.
    stage.edit("cart.yaml", "port: 80", "port: 81");
    stage.run("plan .").code(0).does_not_say("moves from");
    stage.edit("cart.yaml", "port: 81", "port: 80");
    stage.edit("search.yaml", "name: search", "name: cart");
    stage.edit("search.yaml", "namespace: shop", "namespace: ops");
    stage.write("trueup.yaml", "stack: s\nnamespaces: [shop, pay, ops]\n");
    stage.run("plan .").code(0).does_not_say("moves from");
}

#[test]
fn a_move_from_a_stack_that_is_nowhere_is_an_error_that_names_the_owner() {
    let service = Service::start();
    let stage = repository(&service);
    move_definitions(&stage);
    let wrong = stage.run("move --from onee --directory two --yes");
    wrong.code(64).stderr_contains("nothing that would move belongs to the stack `onee`");
    wrong.stderr_contains("did you mean `one`?").stderr_contains("nothing was sent");
    let other = stage.run("move --from legacy --directory two --yes");
    other.code(64).stderr_contains("`shop/e000` belongs to `one`");
    stage.run("move --from one --directory two --yes --quiet").code(0).stdout_contains("100 annotated");
    for _again in 0..2 {
        stage.run("move --from one --directory two --yes").code(0).stdout_contains("Nothing to move");
    }
}

#[test]
fn where_the_policy_forbids_to_take_over_the_giver_is_proposed_to_give() {
    let service = Service::start();
    let stage = Stage::new()
        .at(&service)
        .file("a/trueup.yaml", &settings("one"))
        .file("a/cart.yaml", &definition("shop/cart", 80))
        .file("a/rest.yaml", &definition("shop/rest", 80))
        .file("b/trueup.yaml", &settings("two"))
        .file("../policy.yaml", "allow: [mass-change]\n")
        .applied("a")
        .committed();
    std::fs::rename(stage.path("a/cart.yaml"), stage.path("b/cart.yaml")).expect("a move");
    stage.run("plan a").code(0).stdout_contains("transfer it first: trueup move --from one --directory b");
    let plan = stage.run("plan a --policy ../policy.yaml");
    let command = plan.text().split("transfer it first: trueup ").nth(1).and_then(|text| text.lines().next());
    stage.run(&format!("{} --yes", command.expect("a command"))).code(0).stderr_ignored();
    stage.run("apply b --yes --policy ../policy.yaml").code(0).stderr_ignored();
    stage.run("plan a --policy ../policy.yaml").code(0).stdout_contains("In sync: 1 ");
}

#[test]
fn what_no_stack_owns_is_adopted_by_the_one_that_defines_it() {
    let service = Service::start();
    let stage = Stage::new()
        .at(&service)
        .file("a/trueup.yaml", &(settings("one") + "prune: all\n"))
        .file("a/rest.yaml", &definition("shop/rest", 80))
        .file("b/trueup.yaml", &settings("two"))
        .file("b/cart.yaml", &definition("shop/cart", 80))
        .applied("a")
        .committed();
    service.create(&json!({"metadata": {"name": "cart", "namespace": "shop"}, "spec": {"ip": "10.0.0.7", "port": 80}}));
    let plan = stage.run("plan a");
    plan.code(0).stdout_contains("! blocked shop/cart");
    stage.run("plan a --config a/trueup.yaml").stdout_contains("take it over first, with --adopt\n");
    let command = plan.text().split("transfer it first: trueup ").nth(1).and_then(|text| text.lines().next());
    stage.run(&format!("{} --yes", command.expect("a command"))).code(0).stderr_ignored();
    stage.run("plan a --detailed-exitcode").code(0).stdout_contains("In sync: 1 ");
}

#[test]
fn a_definition_that_moves_between_hidden_directories_costs_no_object() {
    let service = Service::start();
    let stage = Stage::new()
        .at(&service)
        .file(".deploy/a/trueup.yaml", "stack: one\nnamespaces: [shop]\n")
        .file(".deploy/a/cart.yaml", &definition("shop/cart", 80))
        .file(".deploy/a/rest.yaml", &definition("shop/rest", 80))
        .file(".deploy/b/trueup.yaml", "stack: two\nnamespaces: [shop]\n")
        .file(".deploy/b/pay.yaml", &definition("shop/pay", 80))
        // The working tree of another branch is another repository.
        .file(".trees/branch/.git", "gitdir: elsewhere\n")
        .file(".trees/branch/a/trueup.yaml", "stack: one\nnamespaces: [shop]\n")
        .file(".trees/branch/a/rest.yaml", &definition("shop/rest", 80))
        .applied(".deploy/a");
    git(&stage, "init -q");
    std::fs::rename(stage.path(".deploy/a/cart.yaml"), stage.path(".deploy/b/cart.yaml")).expect("a move");
    stage.run("plan .deploy/a").code(0).stdout_contains(
        "stack two in .deploy/b defines it; transfer it first: trueup move --from one --directory .deploy/b",
    );
    stage.remove(".deploy/b/cart.yaml");
    stage.write(".deploy/a/cart.yaml", &definition("shop/cart", 80));
    stage.remove(".deploy/a/rest.yaml");
    stage.run("plan .deploy/a").code(0).stdout_contains("- delete  shop/rest");
}

#[test]
fn a_stack_in_a_submodule_deletes_nothing_that_the_repository_around_it_defines() {
    let service = Service::start();
    let stage = Stage::new().at(&service).file("outer/trueup.yaml", "stack: outer\nnamespaces: [shop]\n");
    stage.write("sub/inner/trueup.yaml", "stack: inner\nnamespaces: [shop]\n");
    stage.write("sub/inner/cart.yaml", &definition("shop/cart", 80));
    stage.write("sub/inner/pay.yaml", &definition("shop/pay", 80));
    git(&stage, "init -qb main");
    std::fs::create_dir(stage.path(".git/modules")).expect("a directory");
    git(&stage, "init -q --separate-git-dir .git/modules/sub sub");
    for directory in ["sub", "."] {
        git_in(&stage.path(directory), &["add", "-A"]);
        git_in(&stage.path(directory), &["commit", "-qm", "all"]);
    }
    stage.run("apply sub/inner --yes --quiet").code(0);
    stage.write("outer/cart.yaml", &stage.read("sub/inner/cart.yaml"));
    stage.remove("sub/inner/cart.yaml");
    for place in [".git/modules/sub", ".git/worktrees/w/modules/sub", "../meta/modules/sub"] {
        std::fs::create_dir_all(stage.path(place).parent().expect("a directory")).expect("directories");
        git(&stage, &format!("init -q --separate-git-dir {place} sub"));
        let plan = stage.run("plan sub/inner");
        plan.code(0).stdout_contains("stack outer in outer defines it").does_not_say("- delete");
    }
    // A repository of its own knows nothing of the directories above it.
    std::fs::remove_file(stage.path("sub/.git")).expect("a file");
    std::fs::rename(stage.path("../meta/modules/sub"), stage.path("sub/.git")).expect("a directory");
    stage.run("plan sub/inner").code(0).stdout_contains("- delete");
}
