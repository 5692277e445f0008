//! Labels of stacks, and an apply in waves by them.

use serde_json::{Value, json};

use crate::support::{Service, Stage, definition};

/// Five stacks of one service: `0` and `2` are early, `3` is the canary in production only, the others have no ring.
fn five(service: &Service) -> Stage {
    let stage = Stage::new().at(service);
    for n in 0..5 {
        let labels = match n {
            0 | 2 => "labels: {ring: early}\n",
            3 => "environments: {prod: {labels: {ring: canary}}}\n",
            _ => "environments: {prod: {}}\n",
        };
        let environments = if labels.starts_with("labels") { "environments: {prod: {}}\n" } else { "" };
        let settings = format!("stack: s-{n}\nnamespaces: [n-{n}]\n{labels}{environments}");
        stage.write(&format!("s/{n}/trueup.yaml"), &settings);
        stage.write(&format!("s/{n}/x.yaml"), &definition(&format!("n-{n}/x"), 80));
    }
    stage
}

const WAVES: &str = "ring=canary;ring=early:50%,100%";

#[test]
fn waves_by_label_take_their_stacks_and_the_rest_is_the_last() {
    let service = Service::start();
    let stage = five(&service);
    let there = || (0..5).map(|n| service.has(&format!("n-{n}/x"))).collect::<Vec<_>>();
    // Before anybody approves, the waves are shown with their stacks.
    stage
        .run(&format!("apply -R s --env prod --waves {WAVES}"))
        .code(6)
        .stderr_contains("wave 1 of 4, ring=canary: 1 stack (s/3)\n")
        .stderr_contains("wave 4 of 4, the rest: 2 stacks (s/1, s/4)\n");
    service.misbehave("rules: [{operation: endpoint-create, namespace: n-2, status: {code: 403}}]");
    let line = format!("apply -R s --env prod --yes --waves {WAVES}");
    stage
        .run(&line)
        .code(7)
        .stderr_contains("wave 1 of 4, ring=canary: 1 stack\n")
        .stderr_contains("wave 2 of 4, ring=early up to 50%: 1 stack\n")
        .stderr_contains("wave 3 of 4, ring=early up to 100%: 1 stack\n")
        .stdout_contains("5 stacks: 2 applied, 1 with no change made, 2 skipped")
        .stdout_contains(&format!("Apply the rest:  trueup apply s --recursive --env prod --waves '{WAVES}'\n"))
        .does_not_say("wave 4 of 4");
    assert_eq!(there(), [true, false, false, true, false]);
    service.misbehave("rules: []");
    let report = stage.run(&format!("{line} --format json --quiet")).code(0).json();
    // The report has the order of the call, whatever that of the waves is.
    let directories: Vec<&Value> =
        report["stacks"].as_array().expect("a list").iter().map(|stack| &stack["directory"]).collect();
    assert_eq!(directories, ["s/0", "s/1", "s/2", "s/3", "s/4"]);
    assert_eq!(there(), [true; 5]);
}

/// The refusal of a stack that cannot be planned proposes `--keep-going`, which must not cost the canary.
#[test]
fn keep_going_goes_on_within_a_wave_and_not_to_the_next() {
    let service = Service::start();
    let stage = five(&service);
    let there = || (0..5).map(|n| service.has(&format!("n-{n}/x"))).collect::<Vec<_>>();
    let line = "apply -R s --env prod --yes --waves ring=canary;ring=early";
    stage.write("s/4/x.yaml", "wrong: 1\n");
    stage.run(line).code(1).stdout_contains("--waves 'ring=canary;ring=early' --keep-going\n").stderr_ignored();
    service.misbehave("rules: [{operation: endpoint-create, namespace: n-0, status: {code: 403}}]");
    let ran = stage.run(&format!("{line} --keep-going"));
    ran.code(7).stderr_contains("wave 2 of 3, ring=early: 2 stacks\n").does_not_say("wave 3 of 3");
    assert_eq!(there(), [false, false, true, true, false]);
    // Nor is a wave without a plan one that succeeded.
    service.misbehave("rules: []");
    stage.write("s/3/x.yaml", "wrong: 1\n");
    let ran = stage.run(&format!("{line} --keep-going"));
    ran.code(1).stderr_contains("wave 1 of 3, ring=canary: 1 stack\n").does_not_say("wave 2 of 3");
    // No command applies the rest.
    ran.does_not_say("Apply the rest");
    stage.run(line).code(1).does_not_say("Apply the rest").stderr_ignored();
    assert_eq!(there(), [false, false, true, true, false]);
    // Nor one of which what can be planned has no changes.
    stage.write("s/3/x.yaml", &definition("n-3/x", 80));
    stage.write("s/0/x.yaml", "wrong: 1\n");
    let ran = stage.run(&format!("{line} --keep-going"));
    ran.code(1).stderr_contains("wave 2 of 3, ring=early: 2 stacks\n").does_not_say("wave 3 of 3");
    assert_eq!(there(), [false, false, true, true, false]);
    stage.write("s/0/x.yaml", &definition("n-0/x", 80));
    // Without waves it goes on to the end.
    stage.run("apply -R s --env prod --yes --keep-going").code(7).stderr_ignored();
    assert_eq!(there(), [true, true, true, true, false]);
}

#[test]
fn a_wave_that_selects_no_stack_stops_the_apply_before_anything_is_read() {
    let service = Service::start();
    let stage = five(&service);
    let requests = service.log().len();
    stage
        .run("apply -R s --yes --waves ring=canary")
        .code(64)
        .stderr_contains("`ring=canary` of `--waves` selects no stack")
        .stderr_contains("the stacks have: ring=early\n")
        .stderr_contains("nothing was sent");
    assert_eq!(service.log().len(), requests);
    stage.run("apply -R s --yes --waves ring=early,50%").code(64).stderr_contains("`;` is between waves");
    // One stack has no waves: what a selector would leave out must not be applied.
    stage.run("apply s/1 --yes --waves ring=early").code(64).stderr_contains("`--waves` is for several stacks");
    assert!(!service.has("n-1/x"));
}

#[test]
fn a_stack_that_is_skipped_is_no_canary() {
    let service = Service::start();
    let stage = five(&service);
    stage.write("s/0/trueup.yaml", "stack: s-0\nnamespaces: [n-0]\n");
    service.misbehave("rules: [{operation: endpoint-create, namespace: n-1, status: {code: 403}}]");
    let ran = stage.run("apply -R s --env prod --skip-missing-env --yes --waves 1,50% --format json");
    let report = ran.code(1).stderr_contains("wave 1 of 3: 1 stack\n").does_not_say("wave 2 of 3").json();
    let stacks = report["stacks"].as_array().expect("a list");
    let skipped: Vec<&Value> = stacks.iter().map(|stack| &stack["skipped"]).collect();
    assert_eq!(skipped[0], "it has no environment `prod`; its trueup.yaml names no `environments:`");
    assert_eq!(skipped[2..], ["another stack failed"; 3]);
    assert!(!service.has("n-2/x"));
}

#[test]
fn stacks_are_listed_with_their_labels_and_selected_by_them() {
    let service = Service::start();
    let stage = five(&service);
    stage.run("stacks s").code(0).stdout_contains("ring=early").stdout_contains("prod: ring=canary");
    let list = stage.run("stacks s --format json").code(0).json();
    assert_eq!(list["stacks"][0]["labels"], json!({"ring": "early"}));
    assert_eq!(list["stacks"][3]["environment_labels"], json!({"prod": {"ring": "canary"}}));
    assert_eq!(list["stacks"][4].get("labels"), None);
    let matrix = stage.run("stacks s -l ring --format github-matrix").code(0).json();
    let labels: Vec<&Value> =
        matrix["include"].as_array().expect("a list").iter().map(|entry| &entry["labels"]["ring"]).collect();
    assert_eq!(labels, ["early", "early", "canary"]);
    stage.run("stacks s -l ring=canary").code(0).stdout_contains("1 stack\n").stdout_contains("s/3");
    stage.run("stacks s -l ring=canray").code(64).stderr_contains("`--selector ring=canray` selects no stack");
    stage.write("s/0/trueup.yaml", "stack: s-0\nlabels: {-ring: a, tier: b!}\n");
    stage
        .run("validate s/0")
        .code(1)
        .stderr_contains("`-ring` is not a valid key of `labels`")
        .stderr_contains("`b!` is not a valid value of a label");
}

#[test]
fn a_gate_that_blocks_is_asked_again_before_a_later_wave() {
    let service = Service::start();
    let stage = Stage::new().at(&service);
    for n in 0..3 {
        let gates = "gates: {upgrade: off, ddos: block}";
        stage.write(&format!("s/{n}/trueup.yaml"), &format!("stack: s-{n}\nnamespaces: [n-{n}]\n{gates}\n"));
        stage.write(&format!("s/{n}/x.yaml"), &definition(&format!("n-{n}/x"), 80));
    }
    let ends = [
        ("apply -R s --yes --quiet --waves 1", "3 stacks: 1 applied, 2 not applied"),
        ("apply -R s --yes --quiet", "3 stacks: 1 applied, 1 not applied, 1 skipped"),
    ];
    for (line, ends) in ends {
        // The service answers while the three are planned, and no longer.
        service.misbehave("rules: [{operation: ddos-event-list, after: 3, status: {code: 403}}]");
        stage.run(line).code(7).stdout_contains(ends).stderr_contains("gate `ddos`:").stderr_ignored();
        assert!(service.has("n-0/x") && !service.has("n-1/x") && !service.has("n-2/x"), "{line}");
        service.delete("n-0/x");
    }
    service.misbehave("rules: []");
    stage.run("apply -R s --yes --quiet --waves 1").code(0);
}

#[test]
fn a_gate_that_blocks_is_asked_again_by_what_begins_late_in_the_first_wave() {
    let service = Service::start();
    let stage = Stage::new().at(&service);
    let count = 20;
    for n in 0..count {
        let gates = "gates: {upgrade: off, ddos: block}";
        stage.write(&format!("s/{n}/trueup.yaml"), &format!("stack: s-{n}\nnamespaces: [n-{n}]\n{gates}\n"));
        stage.write(&format!("s/{n}/x.yaml"), &definition(&format!("n-{n}/x"), 80));
    }
    service.misbehave(&format!("rules: [{{operation: ddos-event-list, after: {count}, status: {{code: 403}}}}]"));
    stage.run("apply -R s --yes --quiet --waves 100%").code(7).stderr_contains("gate `ddos`:").stderr_ignored();
    let made = (0..count).filter(|n| service.has(&format!("n-{n}/x"))).count();
    assert!((1..count).contains(&made), "{made}");
}
