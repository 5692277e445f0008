//! What a stack owns where no plan reaches, and what a check makes of it.

use serde_json::{Value, json};

use crate::support::{Service, Stage, commit, definition, git, lose, other_kind};

const ELSEWHERE: &str = "--state ../elsewhere";
const CHECK: &str = "kind: healthcheck\nmetadata: {name: alive, namespace: shop}\nspec: {http_health_check: {path: /}, \
                     timeout: 3, interval: 15, unhealthy_threshold: 2, healthy_threshold: 3}\n";

/// A stack of two namespaces that is applied, and then loses one with its files.
fn shrunk(service: &Service, in_git: bool) -> Stage {
    let stage = Stage::new()
        .at(service)
        .file("trueup.yaml", "stack: shop\nnamespaces: [shop, pay]\n")
        .file("cart.yaml", &definition("shop/cart", 80))
        .file("till.yaml", &definition("pay/till", 80));
    if in_git {
        git(&stage, "init -q -b main");
        commit(&stage, "first");
    }
    stage.run("apply . --yes --quiet").code(0);
    stage.run("drift . --drift-state ../memory.json").code(0);
    stage.remove("till.yaml");
    stage.write("trueup.yaml", "stack: shop\nnamespaces: [shop]\n");
    if in_git {
        commit(&stage, "without-pay");
    }
    stage
}

#[test]
fn what_is_left_in_a_namespace_that_was_dropped_is_named() {
    let service = Service::start();
    let stage = shrunk(&service, true);
    let output = "1 endpoint of this stack in pay is outside of `namespaces:`";
    stage
        .run(&format!("plan . {ELSEWHERE}"))
        .code(0)
        .stdout_contains(output)
        .stdout_contains("--prune-namespace pay")
        .stdout_contains("pay/till");
    stage.run(&format!("drift . {ELSEWHERE}")).code(3).stdout_contains(output).does_not_say("In sync");
    let left = "outside of `namespaces:`: list `pay` there again";
    stage.run("pull --drift .").code(3).stdout_contains(left).does_not_say("No drift");
    let plan = stage.run(&format!("plan . --format json {ELSEWHERE}")).json();
    assert_eq!(plan["verdict"], "drift");
    assert_eq!(plan["plan"]["notes"], json!([{"outside": {"key": "pay/till"}}]));
    assert!(plan["plan"]["scope"].get("pay").is_none(), "no digest depends on it");
    // What others own there is not named.
    service.create(&json!({"metadata": {"name": "handmade", "namespace": "pay"}, "spec": {"ip": "10.0.0.9"}}));
    stage.run(&format!("drift . {ELSEWHERE}")).code(3).does_not_say("handmade");
    service.delete("pay/till");
    stage.run(&format!("drift . {ELSEWHERE}")).code(0).stdout_contains("In sync");
    // A namespace that the stack never lost takes no request.
    let requests = service.requests("GET");
    let one = Stage::stack(&service, "one");
    one.write("x.yaml", &definition("shop/x", 1));
    one.run("plan .").code(0);
    let kinds = if other_kind::is_set() { 2 } else { 1 };
    assert_eq!(service.requests("GET") - requests, kinds);
}

#[test]
fn what_is_left_in_a_namespace_that_was_dropped_is_named_where_the_call_names_the_stack() {
    let service = Service::start();
    let stage = Stage::new()
        .at(&service)
        .file("s/trueup.yaml", "namespaces: [shop, pay]\n")
        .file("s/cart.yaml", &definition("shop/cart", 80))
        .file("s/till.yaml", &definition("pay/till", 80))
        .file("other/trueup.yaml", "stack: other\nnamespaces: [elsewhere]\n")
        .committed();
    stage.run("apply s --stack shop --yes --quiet").code(0);
    stage.remove("s/till.yaml");
    stage.write("s/trueup.yaml", "namespaces: [shop]\n");
    commit(&stage, "without-pay");
    stage
        .run(&format!("drift s --stack shop {ELSEWHERE}"))
        .code(3)
        .stdout_contains("1 endpoint of this stack in pay is outside of `namespaces:`");
}

#[test]
fn what_another_stack_defines_in_a_namespace_that_was_dropped_is_moved_there() {
    let service = Service::start();
    let stage = Stage::new()
        .at(&service)
        .file("a/trueup.yaml", "stack: a\nnamespaces: [shop, pay]\n")
        .file("a/cart.yaml", &definition("shop/cart", 80))
        .file("a/till.yaml", &definition("pay/till", 80))
        .file("b/trueup.yaml", "stack: b\nnamespaces: [pay]\n")
        .committed();
    stage.run("apply a --yes --quiet").code(0);
    std::fs::rename(stage.path("a/till.yaml"), stage.path("b/till.yaml")).expect("a file");
    stage.write("a/trueup.yaml", "stack: a\nnamespaces: [shop]\n");
    commit(&stage, "to-b");
    for command in ["plan", "drift"] {
        stage
            .run(&format!("{command} a"))
            .stdout_contains("another stack defines it (transfer it with trueup move --from a --directory b): pay/till")
            .does_not_say("--prune-namespace");
    }
    stage.write("b/more.yaml", "wrong: 1\n");
    for command in ["plan", "drift"] {
        let ran = stage.run(&format!("{command} a"));
        ran.stdout_contains("whether another stack defines it is unknown (b may define it: ")
            .does_not_say("--prune-namespace");
    }
    stage.remove("b/more.yaml");
    stage.run("move --from a --directory b --yes").code(0).stderr_ignored();
    stage.run("drift a").code(0).stdout_contains("In sync");
}

#[test]
fn what_another_stack_defines_of_a_kind_that_was_dropped_is_moved_there() {
    let service = Service::start();
    let stage = Stage::new()
        .at(&service)
        .file("a/trueup.yaml", "stack: a\nnamespaces: [shop]\nkinds: [endpoint, healthcheck]\n")
        .file("a/cart.yaml", &definition("shop/cart", 80))
        .file("a/alive.yaml", CHECK)
        .file("b/trueup.yaml", "stack: b\nnamespaces: [shop]\nkinds: [healthcheck]\n")
        .committed();
    stage.run("apply a --yes --quiet").code(0);
    std::fs::rename(stage.path("a/alive.yaml"), stage.path("b/alive.yaml")).expect("a file");
    stage.write("a/trueup.yaml", "stack: a\nnamespaces: [shop]\n");
    commit(&stage, "to-b");
    for command in ["plan", "drift"] {
        let ran = stage.run(&format!("{command} a"));
        ran.stdout_contains(
            "of a kind that `kinds:` does not list, and another stack defines it (transfer it with trueup move --from a --directory b): healthcheck:shop/alive",
        );
    }
    stage.write("b/more.yaml", "kind: healthcheck\nwrong: 1\n");
    for command in ["plan", "drift"] {
        let ran = stage.run(&format!("{command} a"));
        ran.stdout_contains("and whether another stack defines it is unknown (b may define it: ");
    }
    stage.remove("b/more.yaml");
    stage.run("move --from a --directory b --yes").code(0).stderr_ignored();
    stage.run("drift a").code(0).stdout_contains("In sync");
}

/// A stack of an endpoint and a health check that is applied, and then loses the check and its kind.
fn without_its_kind(service: &Service, settings: &str, in_git: bool) -> Stage {
    let stage = Stage::new()
        .at(service)
        .file("trueup.yaml", &format!("stack: shop\nnamespaces: [shop]\n{settings}"))
        .file("cart.yaml", &definition("shop/cart", 80))
        .file("alive.yaml", CHECK);
    if in_git {
        git(&stage, "init -q -b main");
        commit(&stage, "first");
    }
    stage.run("apply . --yes --quiet").code(0);
    stage.run("drift . --drift-state ../memory.json").code(0);
    stage.remove("alive.yaml");
    stage.write("trueup.yaml", "stack: shop\nnamespaces: [shop]\n");
    if in_git {
        commit(&stage, "without-checks");
    }
    stage
}

/// Its files stay, and the settings leave them out.
#[test]
fn a_kind_whose_files_the_settings_leave_out_now_is_not_forgotten() {
    for settings in ["files: {exclude: [h]}", "files: {include: [cart.yaml]}", "environments: {dev: {overlay: h}}"] {
        let service = Service::start();
        let stage = Stage::new()
            .at(&service)
            .file("trueup.yaml", "stack: shop\nnamespaces: [shop]\n")
            .file("cart.yaml", &definition("shop/cart", 80))
            .file("h/alive.yaml", CHECK)
            .committed();
        stage.run("apply . --yes --quiet").code(0);
        stage.write("trueup.yaml", &format!("stack: shop\nnamespaces: [shop]\n{settings}\n"));
        commit(&stage, "without-checks");
        stage.run(&format!("drift . {ELSEWHERE}")).code(3).stdout_contains("healthcheck:shop/alive");
    }
}

#[test]
fn what_another_environment_of_the_stack_lists_is_not_left_by_this_one() {
    let service = Service::start();
    let of = |green: &str| {
        format!("stack: s\nenvironments:\n  blue: {{namespaces: [shop], variables: {{n: shop}}}}\n  green: {green}\n")
    };
    let stage = Stage::new().at(&service).file("x.yaml", &definition("${n}/x", 80));
    stage.write("trueup.yaml", &of("{namespaces: [pay], variables: {n: pay}}"));
    for environment in ["blue", "green", "blue", "green"] {
        stage.run(&format!("apply . --env {environment} --yes --quiet")).code(0);
        let check = format!("drift . --env {environment} --drift-state ../memory.json");
        stage.run(&check).code(0).stdout_contains("In sync");
    }
    // Its service can be written in several ways.
    for (base_url, code) in [(format!("{}/api", service.url()), 0), ("http://127.0.0.1:9".to_owned(), 3)] {
        stage.write("trueup.yaml", &of(&format!("{{namespaces: [pay], base_url: \"{base_url}\"}}")));
        stage.run("drift . --env blue --drift-state ../memory.json").code(code);
    }
    stage.write("trueup.yaml", &of("{stack: other, namespaces: [pay], variables: {n: pay}}"));
    let check = "drift . --env blue --drift-state ../memory.json";
    let moved = "another stack defines it (transfer it with trueup move --from s --directory . --env green): pay/x";
    stage.run(check).code(3).stdout_contains(moved);
}

#[test]
fn what_another_directory_of_the_stack_lists_is_not_left_by_this_one() {
    for in_git in [true, false] {
        let service = Service::start();
        let stage = Stage::new().at(&service).file("a/trueup.yaml", "stack: st\nnamespaces: [shop, pay]\n");
        for namespace in ["shop", "pay"] {
            stage.write(&format!("a/{namespace}.yaml"), &definition(&format!("{namespace}/cart"), 80));
        }
        if in_git {
            git(&stage, "init -q -b main");
            commit(&stage, "first");
        }
        stage.run("apply a --yes --quiet").code(0);
        stage.write("a/trueup.yaml", "stack: st\nnamespaces: [shop]\n");
        stage.write("b/trueup.yaml", "stack: st\nnamespaces: [pay]\n");
        std::fs::rename(stage.path("a/pay.yaml"), stage.path("b/pay.yaml")).expect("a file");
        stage.run("apply -R . --yes --quiet").code(0);
        // Without git, only the call says which directories there are.
        let calls = ["drift -R .", "drift -R .", "drift a", "plan b"];
        for call in &calls[..if in_git { 4 } else { 2 }] {
            stage.run(&format!("{call} {ELSEWHERE}")).code(0).does_not_say("--prune-namespace");
        }
        // That of another kind is in no plan of the other.
        if in_git {
            stage.write("a/trueup.yaml", "stack: st\nnamespaces: [shop, pay]\nkinds: [healthcheck]\n");
            stage.write("a/check.yaml", &CHECK.replace("shop", "pay"));
            commit(&stage, "kind");
            stage.run("apply a --only healthcheck:pay/alive --yes --quiet").code(0);
            stage.remove("a/check.yaml");
            stage.write("a/trueup.yaml", "stack: st\nnamespaces: [shop]\nkinds: [healthcheck]\n");
            commit(&stage, "without-it");
            stage.run(&format!("drift a {ELSEWHERE}")).code(3).stdout_contains("healthcheck:pay/alive");
        }
        // What a directory without a name lists may be of any stack.
        stage.write("b/trueup.yaml", "namespaces: [pay]\nkinds: [healthcheck]\n");
        stage.run(&format!("drift a {ELSEWHERE}")).code(3).stdout_contains("--prune-namespace");
        // What the one no longer lists and the other never did is left.
        stage.write("b/trueup.yaml", "stack: st\nnamespaces: [other]\nallow_empty: true\n");
        stage.remove("b/pay.yaml");
        let code = if in_git { 3 } else { 0 };
        stage.run("drift a").code(code);
    }
}

#[test]
fn what_an_environment_left_is_named_where_the_settings_of_all_environments_list_its_namespace() {
    let service = Service::start();
    let settings = |dev: &str| {
        let environments = format!("{{dev: {{overlay: o, {dev}}}, prod: {{base_url: 'https://prod.example'}}}}");
        format!("stack: st\nnamespaces: [shop, pay]\nenvironments: {environments}\n")
    };
    let stage = Stage::new()
        .at(&service)
        .file("trueup.yaml", &settings(""))
        .file("cart.yaml", &definition("shop/cart", 80))
        .file("o/till.yaml", &definition("pay/till", 80));
    git(&stage, "init -q -b main");
    commit(&stage, "first");
    stage.run("apply . --env dev --yes --quiet").code(0);
    stage.write("trueup.yaml", &settings("namespaces: [shop]"));
    stage.write("o/till.yaml", "");
    commit(&stage, "without-pay");
    stage.run(&format!("drift . --env dev {ELSEWHERE}")).code(3).stdout_contains("--prune-namespace pay");
}

#[test]
fn what_is_left_in_a_namespace_that_was_dropped_is_named_where_the_stack_has_moved_since_or_with_it() {
    let service = Service::start();
    let output = "1 endpoint of this stack in pay is outside of `namespaces:`";
    for with_it in [false, true] {
        let stack = format!("moved-{with_it}");
        let named = |names: &str| format!("stack: {stack}\nnamespaces: [{names}]\nlabels: {{ring: main}}\n");
        let stage = Stage::new()
            .at(&service)
            .file("old/trueup.yaml", &named("shop, pay"))
            .file("old/cart.yaml", &definition(&format!("shop/cart-{with_it}"), 80))
            .file("old/till.yaml", &definition(&format!("pay/till-{with_it}"), 80))
            // Another stack that goes at the same time is not it.
            .file("gone/trueup.yaml", "stack: gone\nnamespaces: [elsewhere]\n")
            .file("gone/x.yaml", &definition("elsewhere/x", 80))
            .committed();
        stage.run("apply old --yes --quiet").code(0);
        stage.remove("old/till.yaml");
        stage.write("old/trueup.yaml", &named("shop"));
        if !with_it {
            commit(&stage, "without-pay");
        }
        git(&stage, "rm -q -r gone");
        std::fs::rename(stage.path("old"), stage.path("new")).expect("a directory");
        commit(&stage, "moved");
        for directory in ["new", "newer"] {
            let drift = stage.run(&format!("drift {directory} {ELSEWHERE}"));
            drift.code(3).stdout_contains(output).does_not_say("elsewhere/");
            if directory == "new" {
                std::fs::rename(stage.path("new"), stage.path("newer")).expect("a directory");
                commit(&stage, "moved-again");
            }
        }
    }
}

#[test]
fn what_is_left_in_a_namespace_that_a_stack_had_in_another_directory_is_named() {
    let service = Service::start();
    let output = "1 endpoint of this stack in pay is outside of `namespaces:`";
    let rename = |stage: &Stage, from: &str, to: &str| {
        std::fs::rename(stage.path(from), stage.path(to)).expect("a directory");
        commit(stage, &format!("{from}-to-{to}"));
    };
    for merged in [false, true] {
        let named = |names: &str| format!("stack: s{merged}\nnamespaces: [{names}]\nlabels: {{ring: main}}\n");
        let cart = definition(&format!("shop/cart-{merged}"), 80);
        let stage =
            Stage::new().at(&service).file("old/trueup.yaml", &named("shop")).file("old/cart.yaml", &cart).committed();
        // Moved there and back, or on a branch meanwhile.
        let had = if merged { "old" } else { "new" };
        if merged {
            git(&stage, "checkout -q -b branch");
            rename(&stage, "old", "new");
            git(&stage, "checkout -q main");
        } else {
            rename(&stage, "old", "new");
        }
        stage.write(&format!("{had}/trueup.yaml"), &named("shop, pay"));
        stage.write(&format!("{had}/till.yaml"), &definition(&format!("pay/till-{merged}"), 80));
        commit(&stage, "with-pay");
        stage.run(&format!("apply {had} --yes --quiet")).code(0);
        stage.remove(&format!("{had}/till.yaml"));
        stage.write(&format!("{had}/trueup.yaml"), &named("shop"));
        commit(&stage, "without-pay");
        let directory = if merged {
            git(&stage, "checkout -q branch");
            git(&stage, "merge -q -m merged main");
            "new"
        } else {
            rename(&stage, "new", "old");
            "old"
        };
        stage.run(&format!("drift {directory} {ELSEWHERE}")).code(3).stdout_contains(output);
    }
}

#[test]
fn what_nothing_defines_and_everything_is_pruned_is_left_by_a_pull_of_the_drift() {
    let service = Service::start();
    let stage = Stage::new().at(&service).file("trueup.yaml", "stack: s\nnamespaces: [shop]\nprune: all\n");
    let stage = stage.file("cart.yaml", &definition("shop/cart", 80)).applied(".");
    service.create(&json!({"metadata": {"name": "handmade", "namespace": "shop"}, "spec": {"ip": "10.0.0.9"}}));
    stage.run("drift .").code(3);
    stage.run("pull --drift .").code(3).stdout_contains("nothing defines it, so an apply deletes it");
}

#[test]
fn what_an_environment_left_is_named_under_its_new_name_and_without_one() {
    let service = Service::start();
    let of = |name: &str, names: &str| format!("environments:\n  {name}: {{stack: s, namespaces: [{names}]}}\n");
    let stage = Stage::new()
        .at(&service)
        .file("trueup.yaml", &of("prod", "shop, pay"))
        .file("cart.yaml", &definition("shop/cart", 80))
        .file("till.yaml", &definition("pay/till", 80))
        .committed();
    stage.run("apply . --env prod --yes --quiet").code(0);
    stage.remove("till.yaml");
    let settings = [of("prod", "shop"), of("production", "shop"), "stack: s\nnamespaces: [shop]\n".to_owned()];
    for (text, environment) in settings.iter().zip([" --env prod", " --env production", ""]) {
        stage.write("trueup.yaml", text);
        commit(&stage, "next");
        let check = stage.run(&format!("drift .{environment} {ELSEWHERE}"));
        check.code(3).stdout_contains("1 endpoint of this stack in pay is outside of `namespaces:`");
    }
    // The run of the first name is undone with the settings of then.
    stage.write("trueup.yaml", &of("prod", "shop, pay"));
}

#[test]
fn what_is_left_in_a_namespace_that_was_dropped_is_named_however_its_settings_were_written() {
    let service = Service::start();
    let now = "environments: {eu: {stack: shop, namespaces: [shop]}}\n";
    let stage = Stage::new()
        .at(&service)
        .file("trueup.yaml", "environments: {eu: {stack: shop, namespaces: [shop, pay]}}\n")
        .file("cart.yaml", &definition("shop/cart", 80))
        .file("till.yaml", &definition("pay/till", 80));
    stage.run("apply . --env eu --yes --quiet").code(0);
    stage.remove("till.yaml");
    for before in [
        "environments:\n  us: &us {stack: us, namespaces: [shop, pay]}\n  eu: {<<: *us, stack: shop}\n",
        "\u{feff}stack: shop\nnamespaces: [shop, pay]\n",
        "---\n# nothing\n---\nstack: shop\nnamespaces: [shop, pay]\n",
        "stack: shop\nnamespaces: [shop, pay]\n---\n# nothing\n",
        "defaults: {stack: shop, namespaces: [shop, pay]}\nenvironments: {2024: {namespaces: }}\n",
        // What this trueup does not know, another one may have.
        "stack: shop\nnamespaces: [shop, pay, No]\nkinds: [no_kind]\nno_setting: 1\n",
    ] {
        let _ = std::fs::remove_dir_all(stage.path(".git"));
        git(&stage, "init -q -b main");
        for settings in [before, now] {
            stage.write("trueup.yaml", settings);
            commit(&stage, "next");
        }
        let check = stage.run(&format!("drift . --env eu {ELSEWHERE}"));
        check.code(3).stdout_contains("1 endpoint of this stack in pay is outside of `namespaces:`");
    }
}

#[test]
fn a_drift_state_counts_the_checks_of_what_is_outside_of_the_plan_and_forgets_what_is_gone() {
    let service = Service::start();
    let stage = shrunk(&service, false);
    let checks = || {
        let check = stage.run("drift . --drift-state ../memory.json --format json").json();
        check["drifted"].as_array().expect("a list").iter().map(|one| one["checks"].clone()).collect::<Vec<_>>()
    };
    assert_eq!([checks(), checks(), checks()], [1, 2, 3].map(|number| vec![json!(number)]));
    service.delete("pay/till");
    assert_eq!(checks(), Vec::<Value>::new());
    let state = stage.read("../memory.json");
    assert!(!state.contains("first_seen") && !state.contains("pay/till"), "{state}");
    // It is listed and defined again, and not applied yet.
    stage.write("trueup.yaml", "stack: shop\nnamespaces: [shop, pay]\n");
    stage.write("till.yaml", &definition("pay/till", 80));
    stage.run(&format!("drift . --drift-state ../memory.json {ELSEWHERE}")).code(2).does_not_say("DRIFT");
}

/// Commits this many versions of the settings.
fn versions(stage: &Stage, count: usize, text: impl Fn(usize) -> String) {
    let mut history = "reset refs/heads/main\nfrom refs/heads/main^0\n\n".to_owned();
    for number in 0..count {
        let (time, text) = (1_900_000_000 + number, text(number));
        history.push_str(&format!("commit refs/heads/main\ncommitter a <a@b> {time} +0000\ndata 0\n"));
        history.push_str(&format!("M 100644 inline trueup.yaml\ndata {}\n{text}\n", text.len()));
    }
    stage.write("../history", &history);
    let mut import = std::process::Command::new("git");
    import.args(["fast-import", "--quiet"]).current_dir(stage.path("."));
    import.stdin(std::fs::File::open(stage.path("../history")).expect("a file"));
    assert!(import.status().expect("git").success());
    git(stage, "reset -q --hard");
}

#[test]
fn what_is_left_in_a_namespace_is_named_however_long_and_large_the_history_of_the_settings_is() {
    let service = Service::start();
    let long = format!("# {}\n", "x".repeat(70_000));
    let stage = Stage::new()
        .at(&service)
        .file("trueup.yaml", &format!("{long}stack: shop\nnamespaces: [shop, pay]\n"))
        .file("cart.yaml", &definition("shop/cart", 80))
        .file("till.yaml", &definition("pay/till", 80))
        .committed();
    stage.run("apply . --yes --quiet").code(0);
    stage.remove("till.yaml");
    stage.write("trueup.yaml", "stack: shop\nnamespaces: [shop]\n");
    commit(&stage, "without-pay");
    versions(&stage, 250, |number| format!("stack: shop\nnamespaces: [shop]\nvariables: {{number: '{number}'}}\n"));
    let told = "1 endpoint of this stack in pay is outside of `namespaces:`";
    stage.run(&format!("plan . {ELSEWHERE}")).code(0).stdout_contains(told);
    // What is too large to be read to its beginning is not taken for whole.
    versions(&stage, 250, |number| {
        format!("{long}stack: shop\nnamespaces: [shop]\nvariables: {{number: '{number}'}}\n")
    });
    stage
        .run(&format!("drift . {ELSEWHERE}"))
        .code(0)
        .does_not_say(told)
        .stdout_contains("no longer lists is not known: the history of `trueup.yaml` is larger than what trueup reads");
}

#[cfg(unix)]
#[test]
fn a_history_that_cannot_be_read_is_told_and_not_taken_for_one_without_a_namespace() {
    let service = Service::start();
    let stage = shrunk(&service, true);
    std::fs::create_dir_all(stage.path("../bin")).expect("a directory");
    crate::support::program(&stage.path("../bin/git"), "#!/bin/sh\nexit 1\n");
    let path = stage.path("../bin").display().to_string();
    let stage = stage.env("PATH", &path);
    let told = "what the stack owns in namespaces and of kinds that it no longer lists is not known: `git ";
    for command in ["plan", "drift"] {
        stage.run(&format!("{command} . {ELSEWHERE}")).code(0).stdout_contains(told);
    }
    // Without git there is no history, and before the first commit none, either.
    stage.remove("../bin/git");
    stage.run(&format!("drift . {ELSEWHERE}")).code(0).does_not_say("is not known");
    let stage = shrunk(&service, false);
    git(&stage, "init -q -b main");
    stage.run(&format!("drift . {ELSEWHERE}")).code(0).does_not_say("is not known");
}

#[test]
fn what_is_left_of_a_kind_that_was_dropped_is_named() {
    let service = Service::start();
    let stage = without_its_kind(&service, "kinds: [healthcheck]\n", true);
    let output = " of this stack is of a kind that `kinds:` does not list (list healthcheck there, and `prune:` says";
    stage.run(&format!("plan . {ELSEWHERE}")).code(0).stdout_contains(output);
    stage.run(&format!("drift . {ELSEWHERE}")).code(3).stdout_contains(output).does_not_say("In sync");
    let plan = stage.run(&format!("plan . --format json {ELSEWHERE}")).json();
    assert_eq!(plan["verdict"], "drift");
    assert_eq!(plan["plan"]["notes"], json!([{"outside_kinds": {"key": "healthcheck:shop/alive"}}]));
    // What the note says is what happens.
    stage.write("trueup.yaml", "stack: shop\nnamespaces: [shop]\nkinds: [healthcheck]\n");
    stage.run("plan .").code(0).stdout_contains("- delete  healthcheck:shop/alive").does_not_say("does not list");
    stage.run("apply . --yes --quiet").code(0);
    stage.write("trueup.yaml", "stack: shop\nnamespaces: [shop]\n");
    stage.run(&format!("drift . {ELSEWHERE}")).code(0).stdout_contains("In sync");
}

#[test]
fn what_is_left_of_a_kind_that_was_never_listed_is_named_once_its_last_file_is_gone() {
    let service = Service::start();
    let stage = without_its_kind(&service, "", true);
    let left = "of a kind that `kinds:` does not list (list healthcheck there, and";
    // The commit that the other object names had it, and so has the base of a review.
    for call in ["plan . --base main~1", "plan ."] {
        stage
            .run(&format!("{call} {ELSEWHERE}"))
            .code(0)
            .stdout_contains(left)
            .stdout_contains("healthcheck:shop/alive");
    }
    stage.run(&format!("drift . {ELSEWHERE}")).code(3).stdout_contains(left).does_not_say("In sync");
    stage.write("trueup.yaml", "stack: shop\nnamespaces: [shop]\nkinds: [healthcheck]\n");
    stage.run("plan .").code(0).stdout_contains("- delete  healthcheck:shop/alive");
}

#[test]
fn what_is_left_of_a_kind_is_named_as_long_as_an_object_names_a_commit_that_had_it() {
    let service = Service::start();
    let stage = Stage::new()
        .at(&service)
        .file("trueup.yaml", "stack: shop\nnamespaces: [shop]\n")
        .file("cart.yaml", &definition("shop/cart", 80))
        .file("other.yaml", &definition("shop/other", 80))
        .file("alive.yaml", CHECK)
        .committed();
    stage.run("apply . --yes --quiet").code(0);
    stage.remove("alive.yaml");
    stage.edit("cart.yaml", "port: 80", "port: 81");
    commit(&stage, "without-checks");
    stage.run(&format!("apply . --yes --quiet {ELSEWHERE}")).code(0);
    let left = "of a kind that `kinds:` does not list (list healthcheck there, and";
    stage.run(&format!("drift . {ELSEWHERE}")).code(3).stdout_contains(left).stdout_contains("healthcheck:shop/alive");
    // The stack did read the files that it leaves out now.
    stage.write("trueup.yaml", "stack: shop\nnamespaces: [shop]\nfiles: {exclude: [alive.yaml]}\n");
    stage.run("drift . --state ../third").code(3).stdout_contains("healthcheck:shop/alive");
}

#[test]
fn a_plan_that_creates_what_no_plan_would_delete_says_so() {
    let service = Service::start();
    let stage = Stage::new().at(&service).file("cart.yaml", &definition("shop/cart", 80)).file("alive.yaml", CHECK);
    let said = "`kinds:` of trueup.yaml does not list healthcheck: no plan deletes such objects";
    for settings in ["stack: s\n", "namespaces: [shop]\n", "stack: s\nnamespaces: [shop]\nkinds: [healthcheck]\n"] {
        stage.write("trueup.yaml", settings);
        stage.run("plan .").code(0).does_not_say(said);
    }
    stage.write("trueup.yaml", "stack: s\nnamespaces: [shop]\n");
    stage.run("plan .").code(0).stdout_contains(said);
    stage.run("apply . --yes --quiet").code(0);
    stage.run("plan .").code(0).stdout_contains("In sync").does_not_say(said);
}

#[test]
fn a_namespace_that_was_dropped_and_cannot_be_read_is_noted() {
    let service = Service::start();
    let stage = shrunk(&service, true);
    service.misbehave("rules: [{operation: endpoint-list, namespace: pay, status: {code: 403}}]");
    let unread = "pay: this stack once had it, and what is left there could not be read";
    for command in ["plan .", "drift .", "drift . --format markdown", "drift . --format github"] {
        stage
            .run(&format!("{command} {ELSEWHERE}"))
            .stderr_ignored()
            .stdout_contains("what is left there could not be read");
    }
    stage.run(&format!("plan . {ELSEWHERE}")).code(0).stdout_contains(unread);
    let junit = stage.run(&format!("drift . --format junit {ELSEWHERE}"));
    junit.stdout_contains("objects outside of namespaces").stdout_contains("<skipped message=\"not decided: ");
    stage.run(&format!("drift . --format prometheus {ELSEWHERE}")).stdout_contains("trueup_drift_undecided");
}

#[test]
fn an_alarm_about_what_was_dropped_does_not_end_because_it_cannot_be_read() {
    let service = Service::start();
    let lists = ["operation: endpoint-list, namespace: pay", "operation: healthcheck-list"];
    let stages = [shrunk(&service, true), without_its_kind(&service, "", true)];
    for (list, stage) in lists.iter().zip(stages) {
        let drift = |more: &str| stage.run(&format!("drift . --drift-state ../memory.json {more}"));
        drift("").code(3);
        for fault in ["status: {code: 503}", "status: {code: 403}", "status: {code: 404}", "status: {code: 501}"] {
            service.misbehave(&format!("rules: [{{{list}, {fault}}}]"));
            drift("").code(5).does_not_say("In sync").stderr_ignored();
            drift("--format prometheus").code(5).stdout_contains("verdict=\"unknown\"} 1").stderr_ignored();
        }
        service.misbehave("rules: []");
        drift("").code(3).stdout_contains("seen in 2 checks");
    }
}

#[test]
fn a_kind_of_a_commit_that_git_cannot_show_is_not_known() {
    let service = Service::start();
    let stage = without_its_kind(&service, "", true);
    stage.run(&format!("drift . {ELSEWHERE}")).code(3).stdout_contains("healthcheck:shop/alive");
    lose(&stage, "HEAD~1", "alive.yaml");
    let unknown = "what the stack owns in namespaces and of kinds that it no longer lists is not known: ";
    for command in ["drift", "plan"] {
        stage.run(&format!("{command} . --state ../third")).code(0).stdout_contains(unknown);
    }
}

#[test]
fn nothing_is_concluded_about_what_the_filters_leave_out() {
    let service = Service::start();
    let stage = without_its_kind(&service, "kinds: [healthcheck]\n", true);
    stage.run(&format!("drift . --namespace shop {ELSEWHERE}")).code(3).stdout_contains("healthcheck:shop/alive");
    let requests = |call: &str| {
        let before = service.requests("GET");
        stage.run(&format!("{call} {ELSEWHERE}"));
        service.requests("GET") - before
    };
    let whole = requests("drift .");
    for filter in [". --only shop/cart", ". --except healthcheck:*", "cart.yaml"] {
        let drift = format!("drift {filter} {ELSEWHERE}");
        stage.run(&drift).code(0).stdout_contains("In sync").does_not_say("does not list");
        for format in ["text", "markdown", "html", "json"] {
            let plan = format!("plan {filter} --format {format} {ELSEWHERE}");
            stage.run(&plan).code(0).does_not_say("does not list").does_not_say("healthcheck:shop/alive");
        }
    }
    // The list of the health checks is not even read.
    assert!(requests("drift cart.yaml") < whole);
    let service = Service::start();
    let stage = shrunk(&service, true);
    stage.run(&format!("drift . {ELSEWHERE}")).code(3);
    stage.run(&format!("drift . --namespace shop {ELSEWHERE}")).code(0).does_not_say("outside of");
}

#[test]
fn what_is_set_outside_of_the_filters_is_not_drift() {
    let service = Service::start();
    let stage = without_its_kind(&service, "kinds: [healthcheck]\n", false);
    stage.write("trueup.yaml", "stack: shop\nnamespaces: [shop]\nkinds: [healthcheck]\n");
    stage.write("alive.yaml", CHECK);
    let path = "/api/config/namespaces/shop/healthchecks/alive";
    let mut check: Value = serde_json::from_str(&service.send("GET", path, None).1).expect("an object");
    check["spec"]["jitter_percent"] = json!(20);
    let sent = json!({"metadata": check["metadata"], "spec": check["spec"]}).to_string();
    assert_eq!(service.send("PUT", path, Some(&sent)).0, 200);
    service.create(&json!({"metadata": {"name": "handmade", "namespace": "shop"}, "spec": {"ip": "10.0.0.9"}}));
    stage.run("drift .").code(3).stdout_contains("jitter_percent").stdout_contains("handmade");
    stage.run("drift . --unmanaged fail --only shop/handmade").code(3).does_not_say("jitter_percent");
    let left = "drift . --unmanaged fail --only shop/cart";
    stage.run(left).code(0).stdout_contains("In sync").does_not_say("jitter_percent").does_not_say("handmade");
    let plan = stage.run("plan . --only shop/cart --format json").code(0).json();
    assert_eq!(plan["plan"]["notes"], json!([]));
}

#[test]
fn a_drift_state_knows_the_kinds_that_a_stack_defined_without_git() {
    let service = Service::start();
    let stage = without_its_kind(&service, "", false);
    stage.run("drift .").code(0);
    stage
        .run("drift . --drift-state ../memory.json")
        .code(3)
        .stdout_contains("`kinds:` does not list")
        .stdout_contains("healthcheck:shop/alive");
}

#[test]
fn a_drift_state_knows_the_namespaces_that_a_stack_had_without_git() {
    let service = Service::start();
    let stage = shrunk(&service, false);
    stage
        .run("drift . --drift-state ../memory.json")
        .code(3)
        .stdout_contains("outside of `namespaces:`")
        .stdout_contains("pay/till");
}

#[test]
fn a_namespace_that_was_dropped_is_pruned_on_request_under_the_guards() {
    let service = Service::start();
    let stage = shrunk(&service, true);
    service.create(&json!({"metadata": {"name": "handmade", "namespace": "pay"}, "spec": {"ip": "10.0.0.9"}}));
    stage
        .run("plan . --prune-namespace pay")
        .code(0)
        .stdout_contains("- delete  pay/till")
        .does_not_say("outside of")
        .does_not_say("owns nothing");
    stage.run("apply . --prune-namespace pay --yes").code(6).stderr_contains("empty-namespace");
    assert!(service.has("pay/till"));
    let saved = stage.run("plan . --prune-namespace pay --allow empty-namespace -o ../p.json");
    stage
        .run(&format!("apply ../p.json --prune-namespace pay --digest {}", "0".repeat(32)))
        .code(6)
        .stderr_contains("plan again: trueup plan . --prune-namespace pay");
    stage.run("show ../p.json").code(0).stdout_contains("apply ../p.json --prune-namespace pay --digest");
    let command = saved.text().split("Apply exactly this:  trueup ").nth(1).and_then(|text| text.lines().next());
    stage.run(command.expect("a command")).code(0).stderr_ignored();
    assert!(!service.has("pay/till"));
    assert!(service.has("pay/handmade"), "only what the stack owns");
    // A run that was cut off is resumed with what it was begun with.
    stage.run("rollback last --yes").code(0).stderr_ignored();
    service.misbehave("rules: [{operation: endpoint-delete, cut: before}]");
    let flags = "--allow empty-namespace --prune-namespace pay";
    stage.run(&format!("apply . {flags} --yes")).code(7).stdout_contains(flags).stderr_ignored();
    stage.run("history").code(0).stdout_contains(flags);
    service.misbehave("rules: []");
    stage.run(&format!("apply --resume last {flags} --yes")).code(0).stderr_ignored();
    assert!(!service.has("pay/till"));
    // What was deleted by mistake comes back, at once or from a saved plan.
    for line in ["rollback last --yes", "rollback last -o ../back.json"] {
        stage.run(line).code(0).stderr_ignored();
        if line.contains("back.json") {
            stage.run("apply ../back.json --yes").code(0).stderr_ignored();
        }
        assert!(service.has("pay/till"), "{line}");
        stage.run("apply . --prune-namespace pay --allow empty-namespace --yes").code(0).stderr_ignored();
        assert!(!service.has("pay/till"));
    }
    stage.run("plan .").code(0).stdout_contains("In sync").does_not_say("outside of");
    for (namespace, options) in [("pay", ""), ("shp", ""), ("shp", "--only shop/cart")] {
        let in_vain = format!("--prune-namespace {namespace}: the stack owns nothing there");
        let line = format!("plan . --prune-namespace {namespace} {options}");
        stage.run(line.trim_end()).code(0).stdout_contains("In sync").stdout_contains(&in_vain);
    }
    stage.run("plan . --prune-namespace shop").code(64).stderr_contains("no longer has");
    stage.write("trueup.yaml", "stack: shop\nnamespaces: [shop]\nprune: all\n");
    stage.run("plan . --prune-namespace pay").code(64).stderr_contains("deletes what the stack owns there");
}

#[test]
fn what_the_stack_owns_and_may_not_delete_is_drift_on_request() {
    let service = Service::start();
    let stage = Stage::stack(&service, "shop")
        .file("cart.yaml", &definition("shop/cart", 80))
        .file("search.yaml", &definition("shop/search", 80))
        .applied(".");
    stage.write("trueup.yaml", "stack: shop\nnamespaces: [shop]\nprune: none\n");
    stage.remove("search.yaml");
    stage.run("drift .").code(0).stdout_contains("shop/search");
    stage.run("drift . --unmanaged fail").code(3).stdout_contains("shop/search         not managed");
}

#[test]
fn annotations_that_are_there_stay_true_where_none_are_wanted() {
    let service = Service::start();
    let stage = Stage::stack(&service, "shop").file("cart.yaml", &definition("shop/cart", 80)).applied(".");
    stage.write("trueup.yaml", "stack: shop\nnamespaces: [shop]\nownership_annotations: false\n");
    stage.run("drift .").code(0).stdout_contains("In sync");
    for (from, to) in [(80, 81), (81, 82), (82, 80)] {
        stage.edit("cart.yaml", &format!("port: {from}"), &format!("port: {to}"));
        stage.run("drift .").code(2).stdout_contains("PENDING");
        stage.run("apply . --yes --quiet").code(0);
        stage.run("drift .").code(0).stdout_contains("In sync");
    }
    service.change("shop/cart", |object| object["spec"]["port"] = json!(9));
    stage.run("drift .").code(3).stdout_contains("spec.port  80       9 ");
    // Nothing new is marked.
    stage.write("news.yaml", &definition("shop/news", 80));
    stage.run("apply . --yes --quiet").code(0);
    assert!(service.get("shop/news")["metadata"]["annotations"].get("trueup/applied").is_none());
}
