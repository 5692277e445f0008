//! Of a file, the settings and the policy the strictest counts for every delete, wherever its plan comes from; what
//! protects an object protects it however it is written.

use serde_json::json;
use trueup::sandbox::Tenant;

use crate::support::{Service, Stage, applied, commit, definition, git, removed_and_referred_to};

/// Two endpoints that were applied, and `shop/gone` is not defined any more; a policy in a file beside the repository.
fn stage(service: &Service, policy: &str) -> Stage {
    let stage = Stage::stack(service, "shop")
        .file("kept.yaml", &definition("shop/kept", 80))
        .file("gone.yaml", &definition("shop/gone", 80))
        .file("../policy.yaml", policy);
    stage.run("apply . --yes --quiet").code(0);
    stage.remove("gone.yaml");
    stage
}

#[test]
fn a_saved_delete_is_refused_where_policy_or_settings_delete_no_such_object() {
    let service = Service::start();
    let stage = stage(&service, "prune: none\n");
    stage.run("plan . -o plan.json").code(0);
    let settings = stage.read("trueup.yaml");
    for (flags, edited) in [
        ("--policy ../policy.yaml", settings.clone()),
        ("", format!("{settings}prune: none\n")),
        ("", settings.replace("namespaces: [shop]", "namespaces: [pay]")),
    ] {
        stage.write("trueup.yaml", &edited);
        let ran = stage.run(&format!("apply plan.json --yes {flags}"));
        ran.code(6).stderr_contains("would delete `shop/gone`");
        assert!(service.has("shop/gone"), "{edited}{flags}");
    }
    stage.write("trueup.yaml", &settings);
    stage.run("apply plan.json --yes --quiet").code(0);
    assert!(!service.has("shop/gone"));
}

#[test]
fn a_policy_without_deletes_stops_those_of_a_resume_and_of_a_rollback() {
    let service = Service::start();
    let stage = stage(&service, "prune: none\n");
    let rolled_back = stage.run("rollback last --yes --policy ../policy.yaml");
    rolled_back.code(6).stderr_contains("would delete `shop/").does_not_say("a delete needs");
    rolled_back.stderr_contains("to roll back the rest: trueup rollback ").does_not_say("plan again");
    rolled_back.stderr_contains(" --only NAMESPACE/NAME\n");
    // A saved one is applied whole.
    stage.run("rollback last -o back.json").code(0);
    let saved = stage.run("apply back.json --yes --policy ../policy.yaml");
    saved.code(6).stderr_contains("to roll back the rest: trueup rollback ");
    service.misbehave("rules: [{operation: endpoint-delete, status: {code: 403}}]");
    stage.run("apply . --yes --quiet").code(1);
    service.misbehave("rules: []");
    let resumed = stage.run("apply --resume last --yes --policy ../policy.yaml");
    resumed.code(6).stderr_contains("would delete `shop/gone`").does_not_say("a delete needs");
    assert!(service.has("shop/gone") && service.has("shop/kept"));
}

#[test]
fn what_may_be_a_copy_is_deleted_from_a_file_or_a_journal_only_as_the_strictest_prune_says() {
    let service = Service::start();
    let stage = stage(&service, "prune: owned\n");
    let settings = stage.read("trueup.yaml");
    service.change("shop/gone", |object| object["metadata"]["annotations"]["trueup/applied"] = json!("1 x y"));
    stage.write("trueup.yaml", &format!("{settings}prune: all\n"));
    stage.run("plan . -o plan.json").code(0);
    service.misbehave("rules: [{operation: endpoint-delete, status: {code: 403}}]");
    stage.run("apply . --yes --quiet").code(1);
    service.misbehave("rules: []");
    let needed = "the plan needs consents that were not given: unverified=shop/gone";
    for line in ["apply plan.json --yes", "apply --resume last --yes"] {
        stage.run(&format!("{line} --policy ../policy.yaml")).code(6).stderr_contains(needed);
        stage.write("../strict.yaml", "prune: owned\nallow: []\n");
        let forbidden = stage.run(&format!("{line} --policy ../strict.yaml"));
        forbidden.code(6).stderr_contains("the policy forbids `--allow unverified=shop/gone`");
    }
    stage.write("trueup.yaml", &settings);
    stage.run("apply plan.json --yes").code(6).stderr_contains(needed);
    stage.run("apply --resume last --yes").code(6).stderr_contains("to allow it: --allow unverified=shop/gone");
    assert!(service.has("shop/gone"));
    let allowed = "apply plan.json --yes --quiet --policy ../policy.yaml --allow unverified=shop/gone";
    stage.run(allowed).code(0);
    assert!(!service.has("shop/gone"));
}

#[test]
fn a_policy_in_the_repository_is_refused_wherever_a_plan_is_applied_from() {
    let service = Service::start();
    let stage = stage(&service, "{}\n").file(".policy.yaml", "prune: none\n").committed();
    let config = stage.path("trueup.yaml").display().to_string();
    stage.run("plan . -o plan.json").code(0);
    for line in ["apply work/plan.json --yes", "rollback last --yes"] {
        let line = format!("{line} --config {config} --policy work/.policy.yaml");
        let words: Vec<&str> = line.split(' ').collect();
        let ran = stage.command(&words).current_dir(stage.path("..")).output().expect("the program starts");
        let errors = String::from_utf8_lossy(&ran.stderr);
        assert!(
            ran.status.code() == Some(1) && errors.contains("in the repository that it limits"),
            "{line}: {errors}"
        );
    }
    assert!(service.has("shop/gone"));
}

#[test]
fn a_namespace_that_the_policy_does_not_list_is_not_pruned_by_a_flag() {
    let service = Service::start();
    let stage = stage(&service, "namespaces: [shop]\n");
    let ran = stage.run("plan . --prune-namespace pay --policy ../policy.yaml");
    ran.code(6).stderr_contains("the policy forbids changes in the namespace `pay`");
    // What trueup.yaml says is right.
    stage.write("../policy.yaml", "prune: none\n");
    let ran = stage.run("apply . --yes --prune-namespace pay --policy ../policy.yaml");
    ran.code(6)
        .stderr_contains("limited prune: owned; in force: none, the policy's limit")
        .does_not_say("in trueup.yaml");
}

#[test]
fn a_refusal_proposes_no_consent_that_the_policy_forbids() {
    let service = Service::start();
    let stage = stage(&service, "allow: [protected]\n");
    stage.remove("kept.yaml");
    stage.edit("trueup.yaml", "stack:", "allow_empty: true\nstack:");
    let forbidden = "the policy forbids `--allow empty-namespace`; it allows `protected`";
    stage.write("../other/trueup.yaml", "stack: other\nnamespaces: [pay]\nallow_empty: true\n");
    for line in ["apply . --yes", "apply . ../other --yes", "apply . --yes --format json"] {
        let refused = stage.run(&format!("{line} --policy ../policy.yaml"));
        refused.code(6).stderr_contains(forbidden).does_not_say("to allow it");
    }
    stage.run("apply . --yes").code(6).stderr_contains("to allow it: --allow empty-namespace");
    // Who reviews the plan knows it before.
    for format in ["text", "markdown", "html"] {
        let plan = stage.run(&format!("plan . --policy ../policy.yaml --format {format}"));
        plan.code(0).stdout_contains("the policy forbids");
    }
    stage.run("plan .").code(0).does_not_say("forbids");
    // Nor does a remark propose one that is given.
    let asked = "to allow it: --allow empty-namespace";
    stage.run("plan . --format github").code(0).stdout_contains(asked);
    let allowed = stage.run("plan . --format github --allow empty-namespace");
    allowed.code(0).stdout_contains("; allowed").does_not_say(asked);
}

#[test]
fn a_namespace_is_emptied_only_on_request_although_one_object_stays_because_it_is_referred_to() {
    let service = Service::start();
    let stage = removed_and_referred_to(&service);
    stage.run("apply . --yes --quiet").code(6).stderr_contains("empty-namespace");
    assert!(["a", "b", "c"].iter().all(|name| service.has(&format!("shop/{name}"))));
}

#[test]
fn a_namespace_is_emptied_only_on_request_although_another_stack_defines_one_object() {
    let service = Service::start();
    let stage = Stage::new().at(&service).file("README.md", "x").committed();
    let settings = "stack: shop\nnamespaces: [shop]\nallow_empty: true\n";
    stage.write("one/trueup.yaml", settings);
    for name in ["a", "b", "c"] {
        stage.write(&format!("one/{name}.yaml"), &definition(&format!("shop/{name}"), 80));
    }
    stage.run("apply one --yes --quiet").code(0);
    for name in ["a", "b", "c"] {
        stage.remove(&format!("one/{name}.yaml"));
    }
    stage.write("two/trueup.yaml", &settings.replace("shop\nn", "two\nn"));
    stage.write("two/a.yaml", &definition("shop/a", 80));
    stage.run("apply one --yes --quiet").code(6).stderr_contains("empty-namespace");
    // Now it is not known what the other one defines.
    stage.write("two/trueup.yaml", "stack: two\n  namespaces: [shop]\n");
    stage.run("apply one --yes --quiet").code(6).stderr_contains("empty-namespace");
    assert!(["a", "b", "c"].iter().all(|name| service.has(&format!("shop/{name}"))));
}

#[test]
fn a_namespace_is_emptied_only_on_request_although_it_is_not_known_who_refers_to_one_object() {
    let service = Service::start();
    let stage = removed_and_referred_to(&service);
    service.misbehave("rules: [{operation: endpoint-get, name: a, status: {code: 403}}]");
    stage.run("apply . --yes --quiet").code(6).stderr_contains("empty-namespace");
    service.misbehave("rules: []");
    assert!(["a", "b", "c"].iter().all(|name| service.has(&format!("shop/{name}"))));
}

#[test]
fn a_rollback_empties_a_namespace_only_on_request_although_one_object_was_changed_since() {
    let service = Service::start();
    let stage = Stage::stack(&service, "shop");
    for name in ["a", "b", "c"] {
        stage.write(&format!("{name}.yaml"), &definition(&format!("shop/{name}"), 80));
    }
    stage.run("apply . --yes --quiet").code(0);
    service.change("shop/a", |object| object["spec"]["port"] = json!(8080));
    stage.run("rollback last --yes --quiet").code(6).stderr_contains("empty-namespace");
    assert!(["b", "c"].iter().all(|name| service.has(&format!("shop/{name}"))));
}

#[test]
fn a_delete_does_not_take_an_edit_of_a_field_that_is_left_out_of_comparison() {
    let service = Service::start();
    let stage = stage(&service, "{}\n");
    let settings = stage.read("trueup.yaml");
    stage.write("trueup.yaml", &format!("{settings}ignore:\n  - {{object: \"shop/*\", field: spec.port}}\n"));
    stage.run("plan . -o plan.json").code(0);
    service.change("shop/gone", |object| object["spec"]["port"] = json!(8080));
    stage.run("apply plan.json --yes --quiet").code(6);
    assert!(service.has("shop/gone"));
}

#[test]
fn whatever_protects_an_object_but_false_protects_it_and_a_name_in_capitals_is_a_definition() {
    for value in ["true", "True", "yes", "1", "TRUE "] {
        let service = Service::start();
        let stage = stage(&service, "{}\n");
        service.change("shop/gone", |object| object["metadata"]["annotations"]["trueup/protect"] = json!(value));
        stage.run("apply . --yes --quiet").code(6);
        assert!(service.has("shop/gone"), "{value}");
    }
    let service = Service::start();
    let stage = applied(&service);
    stage.write("more.YAML", &definition("shop/more", 80));
    stage.run("plan .").code(0).stdout_contains("+ create  shop/more");
}

/// A setting with a change of the files that its strict value refuses and its loose value allows.
struct Row {
    loose: &'static str,
    strict: &'static str,
    change: fn(&Stage),
    /// The settings may have it, or a policy alone.
    is_setting: bool,
    /// How the change reaches the service where the strict value refuses it.
    origins: &'static [Origin],
    /// The strict value is in force as well where the base has it, or the saved plan.
    has_order: bool,
    refused: &'static str,
}

const ALL: &[Origin] = &[Origin::Directory, Origin::File, Origin::Resume, Origin::Rollback];

const ROWS: [Row; 10] = [
    Row {
        loose: "prune: owned",
        strict: "prune: none",
        change: |stage| stage.remove("gone.yaml"),
        is_setting: true,
        origins: &[Origin::Directory, Origin::File, Origin::Resume],
        has_order: true,
        refused: "would delete `shop/gone`",
    },
    Row {
        loose: "prune: owned",
        strict: "prune: none",
        change: |stage| stage.write("new.yaml", &definition("shop/new", 80)),
        is_setting: false,
        origins: &[Origin::Rollback],
        has_order: false,
        refused: "would delete `shop/new`",
    },
    Row {
        loose: "guards: {percent: 100, least: 1}",
        strict: "guards: {percent: 5, least: 1}",
        change: |stage| stage.edit("gone.yaml", "port: 80", "port: 81"),
        is_setting: true,
        origins: ALL,
        has_order: true,
        refused: "mass-change",
    },
    Row {
        loose: "guards: {percent: 5, least: 100}",
        strict: "guards: {percent: 5, least: 1}",
        change: |stage| stage.edit("gone.yaml", "port: 80", "port: 81"),
        is_setting: true,
        origins: ALL,
        has_order: true,
        refused: "mass-change",
    },
    Row {
        loose: "gates: {upgrade: off}",
        strict: "gates: {upgrade: block}",
        change: |stage| stage.edit("sited.yaml", "port: 80", "port: 81"),
        is_setting: true,
        origins: ALL,
        has_order: true,
        refused: "site `busy` is being upgraded",
    },
    Row {
        loose: "namespaces: [shop, pay]",
        strict: "namespaces: [shop]",
        change: |stage| stage.edit("card.yaml", "port: 80", "port: 81"),
        is_setting: true,
        origins: ALL,
        has_order: false,
        refused: "namespace",
    },
    Row {
        loose: "ignore: [{object: \"shop/*\", field: spec.port}]",
        strict: "ignore: []",
        change: |stage| stage.edit("gone.yaml", "metadata:", "metadata:\n  labels: {a: b}"),
        is_setting: true,
        origins: &[Origin::File, Origin::Resume],
        has_order: false,
        refused: "looser `ignore`",
    },
    Row {
        loose: "ownership_annotations: false",
        strict: "ownership_annotations: true",
        change: |stage| stage.edit("gone.yaml", "port: 80", "port: 81"),
        is_setting: true,
        origins: &[Origin::File, Origin::Resume],
        has_order: false,
        refused: "looser `ownership_annotations`",
    },
    Row {
        loose: "stacks: [shop]",
        strict: "stacks: [other]",
        change: |stage| stage.edit("gone.yaml", "port: 80", "port: 81"),
        is_setting: false,
        origins: ALL,
        has_order: false,
        refused: "stack `shop`",
    },
    Row {
        loose: "base_urls: [\"http://sandbox.localhost\"]",
        strict: "base_urls: [\"https://other.example\"]",
        change: |stage| stage.edit("gone.yaml", "port: 80", "port: 81"),
        is_setting: false,
        origins: ALL,
        has_order: false,
        refused: "policy",
    },
];

const TENANT: &str = "kind: tenant\nname: acme-cuxnbbdn\nnamespaces: [shop, pay]\nsites:\n  \
    - {name: busy, nodes: [master-0], upgrade: {to: crt-1, started: -5m, duration: 10h}}\n";

/// Where the strict value stands; the loose one is in the settings that the plan was made with.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Place {
    Settings,
    Policy,
    Base,
    /// The file or the journal has the strict value, and the settings have become loose.
    File,
}

/// What brings the change to the service.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Origin {
    Directory,
    File,
    Resume,
    Rollback,
}

impl Row {
    /// The settings with this value.
    fn settings(&self, value: &str) -> String {
        let namespaces = if value.starts_with("namespaces") { "" } else { "namespaces: [shop, pay]\n" };
        let gates = if value.starts_with("gates") { "" } else { "gates: {upgrade: off}\n" };
        let guards = if value.starts_with("guards") { "" } else { "guards: {percent: 100}\n" };
        let own = if self.is_setting { value } else { "" };
        format!("stack: shop\n{namespaces}{gates}{guards}{own}\n")
    }

    fn is_refused(&self, place: Place, origin: Origin) {
        let service = Service::with(|options| {
            options.tenant_file = Some(Tenant::read(TENANT, options.clock.now()).expect("a tenant"));
        });
        let site = "  where:\n    site:\n      ref:\n        - {name: busy, namespace: system}\n";
        let stage = Stage::new()
            .at(&service)
            .file("../policy.yaml", &format!("{}\n", self.strict))
            .file("gone.yaml", &definition("shop/gone", 80))
            .file("kept.yaml", &definition("shop/kept", 80))
            .file("card.yaml", &definition("pay/card", 80))
            .file("cart.yaml", &definition("pay/cart", 80))
            .file("sited.yaml", &format!("{}{site}", definition("shop/sited", 80)))
            .file("trueup.yaml", &self.settings(self.loose))
            .applied(".");
        let writes = || service.requests("POST") + service.requests("PUT") + service.requests("DELETE");
        let is_of_base = place == Place::Base;
        let stage = match is_of_base {
            true => {
                stage.write("trueup.yaml", &self.settings(self.strict));
                let stage = stage.committed();
                git(&stage, "checkout -q -b change");
                stage.write("trueup.yaml", &self.settings(self.loose));
                stage
            }
            false => stage,
        };
        if place == Place::File {
            stage.write("trueup.yaml", &self.settings(self.strict));
        }
        (self.change)(&stage);
        if is_of_base {
            commit(&stage, "loose");
        }
        let line = match origin {
            Origin::Directory => "apply . --yes",
            Origin::File => {
                let base = if is_of_base { " --base main" } else { "" };
                stage.run(&format!("plan . -o plan.json{base}")).code(0).stderr_ignored();
                "apply plan.json --yes"
            }
            Origin::Resume => {
                service.misbehave(
                    "rules: [{operation: endpoint-create, status: {code: 403}}, \
                     {operation: endpoint-replace, status: {code: 403}}, \
                     {operation: endpoint-delete, status: {code: 403}}]",
                );
                stage.run("apply . --yes --quiet").code(1).stderr_ignored();
                service.misbehave("rules: []");
                "apply --resume last --yes"
            }
            Origin::Rollback => {
                stage.run("apply . --yes --quiet").code(0).stderr_ignored();
                "rollback last --yes"
            }
        };
        let more = match place {
            Place::Settings => {
                stage.write("trueup.yaml", &self.settings(self.strict));
                ""
            }
            Place::Policy => " --policy ../policy.yaml",
            Place::Base if origin == Origin::Directory => " --base main",
            Place::Base => "",
            Place::File => {
                stage.write("trueup.yaml", &self.settings(self.loose));
                ""
            }
        };
        let before = writes();
        let ran = stage.run(&format!("{line}{more}"));
        let words = format!("{} at {place:?} for {origin:?}: {}{}", self.strict, ran.text(), ran.errors());
        // Without its consent a delete is no part of a plan.
        let is_not_planned = self.strict.starts_with("prune") && ran.exit() == 0 && ran.text().contains("In sync");
        let is_refused = [1, 6].contains(&ran.exit()) && ran.errors().contains(self.refused);
        assert!(is_refused || is_not_planned, "{words}");
        assert_eq!(writes(), before, "{words}");
    }
}

/// Every setting that has an order, at every place, against every way in which a change reaches the service.
#[test]
fn the_strictest_of_file_settings_policy_and_base_decides_every_setting_for_every_origin() {
    for row in &ROWS {
        for origin in row.origins {
            row.is_refused(Place::Policy, *origin);
            if row.is_setting {
                row.is_refused(Place::Settings, *origin);
            }
        }
        if row.has_order {
            row.is_refused(Place::Base, Origin::Directory);
            row.is_refused(Place::Base, Origin::File);
        }
        // A plan with the strict value of `prune` has no such change.
        if row.has_order && row.origins == ALL {
            row.is_refused(Place::File, Origin::File);
        }
    }
}

#[test]
fn a_stack_that_may_become_empty_is_a_change_of_its_settings() {
    let service = Service::start();
    let stage = Stage::stack(&service, "shop").file("cart.yaml", &definition("shop/cart", 80)).committed().applied(".");
    git(&stage, "checkout -q -b change");
    stage.edit("trueup.yaml", "stack: shop", "stack: shop\nallow_empty: true");
    commit(&stage, "empty");
    stage.run("plan . --base main").code(0).stdout_contains("changed  allow_empty  false -> true");
}

#[test]
fn what_is_not_checked_or_not_shown_is_a_change_of_its_settings() {
    let service = Service::start();
    let stage = Stage::stack(&service, "shop").file("cart.yaml", &definition("shop/cart", 80)).committed().applied(".");
    git(&stage, "checkout -q -b change");
    stage.edit(
        "trueup.yaml",
        "stack: shop",
        "stack: shop\nhide_notes: [unmanaged]\nunchecked: [origin_pool.spec.newer]",
    );
    commit(&stage, "less");
    let plan = stage.run("plan . --base main");
    plan.code(0).stdout_contains("(not listed) -> unmanaged").stdout_contains("(not listed) -> origin_pool.spec.newer");
}
