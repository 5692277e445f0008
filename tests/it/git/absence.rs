//! What git cannot show at the base is never an absence: a directory that was renamed, links,
//! submodules and files that were moved. What the branch adds can be planned.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::symlink;

use serde_json::{Value, json};

use crate::support::{Service, Stage, commit, definition, git, git_in};

/// What a submodule is at, which nobody has.
const NO_COMMIT: &str = "0123456789012345678901234567890123456789";

/// A repository with a stack in `old`, applied; main then moves `shop/cart` to 8443, which is applied
/// too, and the branch that is checked out is from before.
fn repository(service: &Service) -> Stage {
    let stage = Stage::new()
        .at(service)
        .file("old/trueup.yaml", "stack: shop\nnamespaces: [shop]\n")
        .file("old/cart.yaml", &definition("shop/cart", 8080))
        .file("old/search.yaml", &definition("shop/search", 80))
        .committed();
    main_moves_on(&stage, &["old"], |stage| {
        stage.edit("old/cart.yaml", "port: 8080", "port: 8443");
        stage.write("old/news.yaml", &definition("shop/news", 7));
    });
    stage
}

/// Main moves on by `change`, and its targets are applied; the branch that is checked out is from before.
fn main_moves_on(stage: &Stage, applied: &[&str], change: impl FnOnce(&Stage)) {
    git(stage, "branch branch");
    change(stage);
    commit(stage, "main-moves-on");
    for target in applied {
        stage.run(&format!("apply {target} --yes --quiet")).code(0);
    }
    git(stage, "checkout -q branch");
}

/// The sides of every change, by key: of the whole object, or of its first field.
#[track_caller]
fn sides(stage: &Stage, line: &str) -> Value {
    let ran = stage.run(&format!("{line} --format json"));
    ran.code(0);
    let json = ran.json();
    let changes = json["plan"]["changes"].as_array().or_else(|| json["changes"].as_array()).expect("changes").clone();
    let side = |change: &Value| {
        let whole = change["attribution"].clone();
        if whole.is_null() { change["action"]["replace"]["fields"][0]["attribution"].clone() } else { whole }
    };
    changes.iter().map(|change| (change["key"].as_str().expect("a key").to_owned(), side(change))).collect()
}

#[test]
fn a_stack_directory_renamed_on_the_branch_is_still_behind_the_base() {
    let service = Service::start();
    let stage = repository(&service);
    // What the base has besides does not matter.
    git(&stage, "checkout -q main");
    git(&stage, &format!("update-index --add --cacheinfo 160000,{NO_COMMIT},vendor"));
    git(&stage, "commit -qm vendored");
    git(&stage, "checkout -q branch");
    git(&stage, "mv old new");
    stage.edit("new/search.yaml", "port: 80", "port: 81");
    commit(&stage, "renamed");
    let expected = json!({"shop/cart": "behind_base", "shop/news": "behind_base", "shop/search": "this_change"});
    assert_eq!(sides(&stage, "plan new --base main"), expected);
    stage.run("apply new --base main --yes").code(6).stderr_contains("behind-base");
    assert_eq!(service.get("shop/cart")["spec"]["port"], 8443);
    assert!(service.has("shop/news"));
}

#[test]
fn a_stack_directory_renamed_on_the_base_is_still_ahead_of_the_branch() {
    let service = Service::start();
    let stage = repository(&service);
    git(&stage, "checkout -q main");
    git(&stage, "mv old new");
    commit(&stage, "renamed");
    git(&stage, "checkout -q branch");
    let expected = json!({"shop/cart": "behind_base", "shop/news": "behind_base"});
    assert_eq!(sides(&stage, "plan old --base main"), expected);
}

#[test]
fn a_stack_that_could_have_been_in_two_places_is_an_error() {
    let service = Service::start();
    let stage = repository(&service);
    git(&stage, "checkout -q main");
    stage.write("twin/trueup.yaml", "stack: shop\nnamespaces: [shop]\n");
    stage.write("twin/pay.yaml", &definition("shop/pay", 1));
    commit(&stage, "twin");
    git(&stage, "checkout -qb another");
    git(&stage, "mv old new");
    git(&stage, "rm -rq twin");
    commit(&stage, "renamed");
    stage
        .run("plan new --base main")
        .code(1)
        .stderr_contains("`old/trueup.yaml`, `twin/trueup.yaml`")
        .stderr_contains("nothing was sent");
}

#[test]
fn settings_that_moved_up_or_down_keep_the_stack() {
    let service = Service::start();
    let stage = repository(&service);
    git(&stage, "mv old/trueup.yaml trueup.yaml");
    commit(&stage, "up");
    let expected = json!({"shop/cart": "behind_base", "shop/news": "behind_base"});
    assert_eq!(sides(&stage, "plan . --base main"), expected);
    // And from the top into a directory.
    git(&stage, "checkout -q main");
    git(&stage, "mv old/trueup.yaml trueup.yaml");
    commit(&stage, "up");
    git(&stage, "checkout -qb down main~1");
    stage.edit("old/cart.yaml", "port: 8443", "port: 8080");
    commit(&stage, "down");
    assert_eq!(sides(&stage, "plan old --base main"), json!({"shop/cart": "this_change"}));
}

#[test]
fn a_link_or_a_submodule_in_the_place_of_the_directory_is_an_error() {
    let service = Service::start();
    let stage = repository(&service);
    // At the base the directory is a link to the real one; on the branch it is a directory.
    git(&stage, "checkout -q main");
    git(&stage, "mv old real");
    symlink("real", stage.path("old")).expect("a link");
    commit(&stage, "linked");
    git(&stage, "checkout -qb unlinked");
    stage.remove("old");
    git(&stage, "mv real old");
    stage.edit("old/cart.yaml", "port: 8443", "port: 8080");
    commit(&stage, "unlinked");
    stage
        .run("plan old --base main")
        .code(1)
        .stderr_contains("`old` was a symbolic link")
        .stderr_contains("nothing was sent");

    let stage = repository(&service);
    git(&stage, "checkout -q main");
    let other = stage.path("../other");
    std::fs::rename(stage.path("old"), &other).expect("moved");
    git_in(&other, &["init", "-q"]);
    git_in(&other, &["add", "-A"]);
    git_in(&other, &["commit", "-qm", "own"]);
    std::fs::rename(&other, stage.path("old")).expect("moved");
    git(&stage, "rm -rq --cached old");
    git(&stage, "add old");
    git(&stage, "commit -qm submodule");
    assert!(git(&stage, "ls-tree HEAD old").starts_with("160000"));
    std::fs::remove_dir_all(stage.path("old/.git")).expect("removed");
    git(&stage, "checkout -qb vendored");
    git(&stage, "rm -q --cached old");
    stage.edit("old/cart.yaml", "port: 8443", "port: 8080");
    commit(&stage, "vendored");
    stage
        .run("plan old --base main")
        .code(1)
        .stderr_contains("`old` was a submodule")
        .stderr_contains("nothing was sent");
    // The same under another name.
    git(&stage, "mv old new");
    commit(&stage, "renamed");
    stage.run("plan new --base main").code(1).stderr_contains("`old` was a submodule");
}

#[test]
fn definitions_that_were_reached_through_a_link_are_an_error() {
    for (link, target) in [("old/more", "../shared"), ("old/cart.yaml", "../shared/cart.yaml"), ("old/more", "inner")] {
        let service = Service::start();
        let stage = repository(&service);
        git(&stage, "checkout -q main");
        if link.ends_with(".yaml") {
            stage.remove("old/cart.yaml");
        }
        stage.write("shared/cart.yaml", &definition("shop/cart", 8443));
        stage.write("old/inner/x.yaml", &definition("shop/x", 1));
        symlink(target, stage.path(link)).expect("a link");
        commit(&stage, "linked");
        git(&stage, "checkout -qb unlinked");
        stage.remove(link);
        stage.write("old/cart.yaml", &definition("shop/cart", 8080));
        commit(&stage, "unlinked");
        stage.run("plan old --base main").code(1).stderr_contains(&format!("`{link}` was a symbolic link"));
    }
}

#[test]
fn a_link_that_the_settings_of_the_base_leave_out_is_no_hindrance() {
    for (link, target) in [("old/more", "../shared"), ("old/extra.yaml", "../shared/cart.yaml")] {
        let service = Service::start();
        let stage = repository(&service);
        git(&stage, "checkout -q main");
        let exclude = link.strip_prefix("old/").expect("below");
        let settings = format!("stack: shop\nnamespaces: [shop]\nfiles: {{exclude: ['{exclude}']}}\n");
        stage.write("old/trueup.yaml", &settings);
        stage.write("shared/cart.yaml", &definition("shop/cart", 1));
        symlink(target, stage.path(link)).expect("a link");
        commit(&stage, "linked");
        git(&stage, "checkout -qb edited");
        stage.edit("old/search.yaml", "port: 80", "port: 81");
        commit(&stage, "edited");
        assert_eq!(sides(&stage, "plan old --base main"), json!({"shop/search": "this_change"}));
    }
}

#[test]
fn a_link_that_is_no_definition_is_no_hindrance() {
    let service = Service::start();
    let stage = repository(&service);
    stage.write("old/notes.txt", "x");
    symlink("notes.txt", stage.path("old/NOTES")).expect("a link");
    commit(&stage, "linked");
    git(&stage, "checkout -qb next");
    stage.edit("old/search.yaml", "port: 80", "port: 81");
    commit(&stage, "edited");
    stage.run("plan old --base branch").code(0).stdout_contains("80 -> 81");
}

#[test]
fn settings_that_were_a_link_are_an_error() {
    let service = Service::start();
    let stage = repository(&service);
    git(&stage, "checkout -q main");
    git(&stage, "mv old/trueup.yaml old/settings.txt");
    symlink("settings.txt", stage.path("old/trueup.yaml")).expect("a link");
    commit(&stage, "linked");
    git(&stage, "checkout -q branch");
    stage.run("plan old --base main").code(1).stderr_contains("`old/trueup.yaml` was a symbolic link");
}

#[test]
fn a_single_file_that_was_renamed_is_still_behind_the_base() {
    let service = Service::start();
    let stage = Stage::new().at(&service).file("cart.yaml", &definition("shop/cart", 8080)).committed();
    main_moves_on(&stage, &["cart.yaml"], |stage| stage.edit("cart.yaml", "port: 8080", "port: 8443"));
    assert_eq!(sides(&stage, "plan cart.yaml --base main"), json!({"shop/cart": "behind_base"}));
    for to in ["basket.yaml", "basket.json"] {
        git(&stage, "checkout -qf branch");
        if to.ends_with(".json") {
            stage.remove("cart.yaml");
            stage.write(
                to,
                r#"{"metadata": {"name": "cart", "namespace": "shop"}, "spec": {"ip": "10.0.0.7", "port": 8080}}"#,
            );
        } else {
            git(&stage, &format!("mv cart.yaml {to}"));
        }
        // Committed or not.
        assert_eq!(sides(&stage, &format!("plan {to} --base main")), json!({"shop/cart": "behind_base"}));
        git(&stage, "checkout -qB renamed");
        commit(&stage, "renamed");
        assert_eq!(sides(&stage, &format!("plan {to} --base main")), json!({"shop/cart": "behind_base"}));
    }
}

#[test]
fn a_directory_without_settings_that_was_renamed_is_still_behind_the_base() {
    let service = Service::start();
    let stage = Stage::new()
        .at(&service)
        .file("old/cart.yaml", &definition("shop/cart", 8080))
        .file("old/search.yaml", &definition("shop/search", 80))
        .committed();
    main_moves_on(&stage, &["old"], |stage| stage.edit("old/cart.yaml", "port: 8080", "port: 8443"));
    git(&stage, "mv old new");
    stage.edit("new/search.yaml", "port: 80", "port: 81");
    commit(&stage, "renamed");
    let expected = json!({"shop/cart": "behind_base", "shop/search": "this_change"});
    assert_eq!(sides(&stage, "plan new --base main"), expected);
}

#[test]
fn a_definition_that_moved_into_the_stack_is_still_behind_the_base() {
    let service = Service::start();
    let stage = Stage::new()
        .at(&service)
        .file(
            "a/trueup.yaml",
            "stack: a\nnamespaces: [shop]\nownership_annotations: false\nvariables: {port: '8080'}\n",
        )
        .file("a/cart.yaml", &definition("shop/cart", 1).replace("port: 1", "port: ${port}"))
        .file("a/pay.yaml", &definition("shop/pay", 1))
        .file("b/trueup.yaml", "stack: b\n")
        .file("b/search.yaml", &definition("shop/search", 80))
        .committed();
    main_moves_on(&stage, &["a", "b"], |stage| stage.edit("a/trueup.yaml", "'8080'", "'8443'"));
    stage.remove("a/cart.yaml");
    stage.write("b/cart.yaml", &definition("shop/cart", 8080));
    // Committed or not; and where its place has another definition of the same length, or a link to the new one.
    let is_behind = || assert_eq!(sides(&stage, "plan b --base main"), json!({"shop/cart": "behind_base"}));
    is_behind();
    commit(&stage, "moved");
    is_behind();
    stage.write("a/cart.yaml", &definition("shop/card", 1).replace("port: 1", "port: ${port}"));
    commit(&stage, "another");
    is_behind();
    stage.remove("a/cart.yaml");
    symlink("../b/cart.yaml", stage.path("a/cart.yaml")).expect("a link");
    commit(&stage, "linked");
    is_behind();
}

#[test]
fn another_stack_with_the_same_keys_is_not_the_origin_of_a_new_one() {
    let service = Service::start();
    let stage = Stage::new()
        .at(&service)
        .file("a/trueup.yaml", "stack: a\n")
        .file("a/cart.yaml", &definition("shop/cart", 8080))
        .file("README.md", "x")
        .committed();
    git(&stage, &format!("update-index --add --cacheinfo 160000,{NO_COMMIT},vendor"));
    git(&stage, "commit -qm vendored");
    std::fs::create_dir(stage.path("vendor")).expect("a directory");
    git(&stage, "checkout -qb branch");
    stage.write("b/trueup.yaml", "stack: b\n");
    stage.write("b/cart.yaml", &definition("shop/cart", 8080));
    commit(&stage, "copied");
    assert_eq!(sides(&stage, "plan b --base main"), json!({"shop/cart": "this_change"}));
    // Changed, and not moved.
    stage.edit("a/cart.yaml", "8080", "80");
    stage.remove("README.md");
    commit(&stage, "edited");
    assert_eq!(sides(&stage, "plan b --base main"), json!({"shop/cart": "this_change"}));
}

#[test]
fn a_stack_of_the_same_name_for_another_service_is_not_the_one_that_was_moved() {
    let settings = |url: &str| format!("stack: shop\nnamespaces: [shop]\nbase_url: {url}\nguards: {{percent: 90}}\n");
    for (other, side, is_looser) in
        [(None, "pending_on_base", false), (Some("https://far.example.net"), "this_change", true)]
    {
        let service = Service::start();
        let url = other.map_or_else(|| service.url(), str::to_owned);
        let stage = Stage::new()
            .at(&service)
            .file("old/trueup.yaml", &settings(&url))
            .file("old/cart.yaml", &definition("shop/cart", 80))
            .committed();
        git(&stage, "checkout -qb branch");
        git(&stage, "mv old new");
        stage.write("new/trueup.yaml", &settings(&service.url()));
        commit(&stage, "renamed");
        assert_eq!(sides(&stage, "plan new --base main"), json!({"shop/cart": side}), "{url}");
        let plan = stage.run("plan new --base main");
        assert_eq!(plan.code(0).text().contains("loosened  guards.percent"), is_looser, "{url}");
    }
}

#[test]
fn a_single_file_is_planned_though_one_beside_it_does_not_load_at_the_base() {
    let service = Service::start();
    let stage = Stage::new()
        .at(&service)
        .file("cart.yaml", &definition("shop/cart", 8080))
        .file("notes.yaml", "replicas: 2\n")
        .committed();
    git(&stage, "checkout -qb branch");
    stage.edit("cart.yaml", "8080", "8081");
    commit(&stage, "edited");
    assert_eq!(sides(&stage, "plan cart.yaml --base main"), json!({"shop/cart": "this_change"}));
}

#[test]
fn a_directory_that_was_a_file_or_had_a_submodule_or_a_name_that_is_no_text_alone_is_an_error() {
    let service = Service::start();
    let refused = |stage: Stage, why: &str| {
        git(&stage, "checkout -qb branch");
        stage.write("mesh/cart.yaml", &definition("shop/cart", 80));
        commit(&stage, "added");
        stage.run("plan mesh --base main").code(1).stderr_contains(why).stderr_contains("nothing was sent");
    };
    let stage = Stage::new().at(&service).file("mesh", "x").committed();
    stage.remove("mesh");
    refused(stage, "`mesh` was a file");
    let stage = Stage::new().at(&service).file("mesh/lib/pay.yaml", &definition("shop/pay", 80));
    for words in [&["init", "-q"][..], &["add", "-A"], &["commit", "-qm", "own"]] {
        git_in(&stage.path("mesh/lib"), words);
    }
    refused(stage.committed(), "`mesh/lib` was a submodule");
    let stage = Stage::new().at(&service).file("mesh/search.yaml", &definition("shop/search", 80));
    let odd = stage.path("mesh").join(OsStr::from_bytes(b"\xff.yaml"));
    std::fs::write(&odd, definition("shop/odd", 80)).expect("a file");
    let stage = stage.committed();
    std::fs::remove_file(odd).expect("removed");
    refused(stage, "has a name that is not valid UTF-8");
}

#[test]
fn a_branch_that_adds_the_stack_its_settings_or_an_environment_can_be_planned() {
    let service = Service::start();
    // The stack.
    let stage = Stage::new().at(&service).file("README.md", "x").committed();
    git(&stage, "checkout -qb branch");
    stage.write("mesh/cart.yaml", &definition("shop/cart", 8080));
    commit(&stage, "definitions");
    assert_eq!(sides(&stage, "plan mesh --base main"), json!({"shop/cart": "this_change"}));
    // Its settings.
    git(&stage, "branch -f main");
    stage.write("mesh/trueup.yaml", "stack: shop\nnamespaces: [shop]\nvariables: {port: '81'}\n");
    stage.write("mesh/search.yaml", &definition("shop/search", 1).replace("port: 1", "port: ${port}"));
    commit(&stage, "settings");
    let expected = json!({"shop/cart": "pending_on_base", "shop/search": "this_change"});
    assert_eq!(sides(&stage, "plan mesh --base main"), expected);
    // Settings that leave out what was never a definition.
    git(&stage, "checkout -q main");
    stage.write("mesh/values.yaml", "replicas: 2\n");
    commit(&stage, "values");
    git(&stage, "checkout -qb settings");
    stage.write("mesh/trueup.yaml", "stack: shop\nnamespaces: [shop]\nfiles: {exclude: [values.yaml]}\n");
    commit(&stage, "settings");
    assert_eq!(sides(&stage, "plan mesh --base main"), json!({"shop/cart": "pending_on_base"}));
    // An environment.
    git(&stage, "branch -f main");
    let settings = "stack: shop\nnamespaces: [shop]\nfiles: {exclude: [values.yaml]}\nenvironments: {stage: {stack: shop-stage}}\n";
    stage.write("mesh/trueup.yaml", settings);
    commit(&stage, "environment");
    assert_eq!(sides(&stage, "plan mesh --env stage --base main"), json!({"shop/cart": "this_change"}));
}

#[test]
fn a_new_environment_takes_no_merged_work_back() {
    let service = Service::start();
    let stage = Stage::stack(&service, "shop")
        .file("cart.yaml", &definition("shop/cart", 8080))
        .file("search.yaml", &definition("shop/search", 80))
        .committed();
    main_moves_on(&stage, &["."], |stage| stage.edit("cart.yaml", "port: 8080", "port: 8443"));
    // The same stack under the name of an environment.
    stage.write("trueup.yaml", "stack: shop\nnamespaces: [shop]\nenvironments: {live: {}}\n");
    stage.edit("search.yaml", "port: 80", "port: 81");
    commit(&stage, "environment");
    let expected = json!({"shop/cart": "behind_base", "shop/search": "this_change"});
    assert_eq!(sides(&stage, "plan . --env live --base main"), expected);
    // Where the settings of the base moved on too, nobody can say.
    git(&stage, "checkout -q main");
    stage.write("trueup.yaml", "stack: shop\nnamespaces: [shop]\nenvironments: {prod: {}}\n");
    commit(&stage, "other-environment");
    git(&stage, "checkout -q branch");
    stage.run("plan . --env live --base main").code(1).stderr_contains("merge main into this change first");
}

#[test]
fn files_that_git_does_not_know_are_part_of_the_working_tree() {
    let service = Service::start();
    let stage = repository(&service);
    stage.write(".gitignore", "ignored.yaml\n");
    stage.write("old/ignored.yaml", &definition("shop/ignored", 1));
    stage.write("old/untracked.yaml", &definition("shop/untracked", 1));
    let output = sides(&stage, "plan old --base main");
    assert_eq!(output["shop/ignored"], "this_change");
    assert_eq!(output["shop/untracked"], "this_change");
}

#[test]
fn a_directory_that_the_settings_exclude_is_excluded_at_the_base_too() {
    let service = Service::start();
    let stage = Stage::new()
        .at(&service)
        .file("trueup.yaml", "stack: shop\nnamespaces: [shop]\nfiles: {exclude: [attic]}\n")
        .file("cart.yaml", &definition("shop/cart", 8080))
        .file("attic/cart.yaml", &definition("shop/cart", 1))
        .committed();
    git(&stage, "checkout -qb branch");
    stage.edit("cart.yaml", "port: 8080", "port: 8081");
    commit(&stage, "edited");
    assert_eq!(sides(&stage, "plan . --base main"), json!({"shop/cart": "this_change"}));
}

#[test]
fn a_link_outside_of_the_stack_that_is_gone_may_have_had_its_definitions() {
    let service = Service::start();
    let stage = Stage::new()
        .at(&service)
        .file("shared/cart.yaml", &definition("shop/cart", 8080))
        .file("mesh/search.yaml", &definition("shop/search", 80))
        .file("shared/notes/note.txt", "x");
    symlink("../shared", stage.path("mesh/more")).expect("a link");
    symlink("../shared/notes", stage.path("mesh/notes")).expect("a link");
    git(&stage, "init -q -b main");
    commit(&stage, "first");
    git(&stage, "checkout -qb branch");
    // Without settings a renamed directory is known by what is in it.
    std::fs::create_dir(stage.path("live")).expect("a directory");
    git(&stage, "mv mesh/search.yaml live/search.yaml");
    stage.remove("mesh/notes");
    commit(&stage, "moved");
    assert_eq!(sides(&stage, "plan live --base main"), json!({"shop/search": "pending_on_base"}));
    stage.write("live/cart.yaml", &definition("shop/cart", 8081));
    commit(&stage, "copied");
    let expected = json!({"shop/cart": "this_change", "shop/search": "pending_on_base"});
    assert_eq!(sides(&stage, "plan live --base main"), expected);
    stage.remove("mesh/more");
    commit(&stage, "unlinked");
    stage
        .run("plan live --base main")
        .code(1)
        .stderr_contains("`mesh/more` was a symbolic link")
        .stderr_contains("nothing was sent");
}

#[test]
fn settings_that_do_not_load_or_were_a_link_are_an_error_where_they_may_have_been_of_the_stack() {
    let wrong = |name: &str| format!("stack: {name}\noops: 1\n");
    let shown = json!({"shop/cart": "behind_base", "shop/news": "behind_base"});
    for (settings, is_still, refused) in [
        (
            Some(wrong("shop")),
            false,
            Some("`moved/trueup.yaml` names the stack and does not load (1 error in 1 of 1 file)"),
        ),
        // It may have had stricter settings.
        (
            Some(wrong("shop")),
            true,
            Some("the settings of main do not load: moved/trueup.yaml: 1 error in 1 of 1 file"),
        ),
        (Some(wrong("another")), false, None),
        (None, false, Some("`moved/trueup.yaml` was a symbolic link")),
        (None, true, None),
    ] {
        let service = Service::start();
        let stage = repository(&service);
        let add = || match &settings {
            Some(text) => stage.write("moved/trueup.yaml", text),
            None => {
                stage.write("moved/settings.txt", "stack: another\n");
                symlink("settings.txt", stage.path("moved/trueup.yaml")).expect("a link");
            }
        };
        git(&stage, "checkout -q main");
        add();
        commit(&stage, "settings");
        git(&stage, "checkout -q branch");
        git(&stage, "mv old new");
        if is_still {
            add();
        }
        commit(&stage, "renamed");
        match refused {
            Some(why) => drop(stage.run("plan new --base main").code(1).stderr_contains(why)),
            None => assert_eq!(sides(&stage, "plan new --base main"), shown, "{settings:?} {is_still}"),
        }
    }
}

#[test]
fn a_directory_that_becomes_a_stack_of_its_own_had_the_definitions_of_the_stack_above_it() {
    let service = Service::start();
    let stage = Stage::new()
        .at(&service)
        .file("trueup.yaml", "stack: top\nnamespaces: [shop]\nownership_annotations: false\n")
        .file("sub/cart.yaml", &definition("shop/cart", 8080))
        .committed();
    main_moves_on(&stage, &["."], |stage| stage.edit("sub/cart.yaml", "port: 8080", "port: 8443"));
    stage.write("sub/trueup.yaml", "stack: sub\n");
    commit(&stage, "split");
    assert_eq!(sides(&stage, "plan sub --base main"), json!({"shop/cart": "behind_base"}));
}

#[test]
fn a_definition_that_moved_into_the_stack_from_what_cannot_be_read_or_from_two_files_is_an_error() {
    let repository = |service: &Service| {
        let stage = Stage::new()
            .at(service)
            .file("b/trueup.yaml", "stack: b\n")
            .file("b/search.yaml", &definition("shop/search", 80))
            .committed();
        stage.run("apply b --yes --quiet").code(0);
        stage
    };
    let moved_in = |stage: &Stage| {
        git(stage, "branch base");
        for gone in ["a/cart.yaml", "c/cart.yaml", "more"] {
            git(stage, &format!("rm -rq --cached --ignore-unmatch {gone}"));
            let gone = stage.path(gone);
            let _ = std::fs::remove_file(&gone).or_else(|_| std::fs::remove_dir(&gone));
        }
        stage.write("b/cart.yaml", &definition("shop/cart", 8080));
        commit(stage, "moved");
        stage.run("plan b --base base")
    };
    let service = Service::start();
    for target in ["nowhere", "../outside"] {
        let stage = repository(&service);
        symlink(target, stage.path("more")).expect("a link");
        commit(&stage, "linked");
        moved_in(&stage).code(1).stderr_contains("`more` was a symbolic link");
    }
    let stage = repository(&service);
    git(&stage, &format!("update-index --add --cacheinfo 160000,{NO_COMMIT},more"));
    git(&stage, "commit -qm submodule");
    moved_in(&stage).code(1).stderr_contains("`more` was a submodule");
    for (other, refused) in [(8081, true), (8080, false)] {
        let stage = repository(&service);
        stage.write("a/cart.yaml", &definition("shop/cart", 8080));
        stage.write("c/cart.yaml", &definition("shop/cart", other));
        commit(&stage, "two");
        let ran = moved_in(&stage);
        if refused {
            ran.code(1)
                .stderr_contains(
                    "`shop/cart` was moved, and its earlier file is ambiguous: `a/cart.yaml`, `c/cart.yaml`",
                )
                .does_not_say("the stack was moved");
        } else {
            ran.code(0).stdout_contains("shop/cart");
        }
    }
}
