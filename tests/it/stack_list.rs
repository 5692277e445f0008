//! `stacks`: the stacks of a repository, and those that changed.

#[cfg(unix)]
use std::process::Command;

use serde_json::{Value, json};

use crate::support::{Stage, commit, definition, git};

fn repository() -> Stage {
    let stage = Stage::new();
    for name in ["pay", "shop"] {
        stage.write(
            &format!("stacks/{name}/trueup.yaml"),
            &format!(
                "stack: {name}-prod\nbase_url: https://acme.example.net\nnamespaces: [{name}]\nfiles: {{exclude: [old/**]}}\n\
                 environments:\n  dev: {{overlay: overlays/dev}}\n  test: {{}}\n"
            ),
        );
        stage.write(&format!("stacks/{name}/cart.yaml"), &definition(&format!("{name}/cart"), 80));
        let overlay = format!("metadata: {{name: cart, namespace: {name}}}\nspec: {{port: 8080}}\n");
        stage.write(&format!("stacks/{name}/overlays/dev/cart.yaml"), &overlay);
        stage.write(&format!("stacks/{name}/old/cart.yaml"), "old\n");
    }
    stage.write("lone/trueup.yaml", "stack: lone\nnamespaces: [lone]\n");
    stage.write("lone/x.yaml", &definition("lone/x", 80));
    stage.committed()
}

/// The stacks that changed since `main`, with their change.
fn changed(stage: &Stage) -> Vec<String> {
    let list = stage.run("stacks --changed-since main --format json").code(0).json();
    let one = |stack: &Value| format!("{} {}", stack["directory"], stack["change"]).replace('"', "");
    list["stacks"].as_array().expect("a list").iter().map(one).collect()
}

#[test]
fn the_stacks_of_a_repository_are_listed() {
    let stage = repository();
    stage
        .run("stacks")
        .code(0)
        .stdout_contains("lone         lone")
        .stdout_contains("stacks/pay   pay-prod")
        .stdout_contains("3 stacks\n");
    let list = stage.run("stacks stacks --format json").code(0).json();
    assert_eq!(list["kind"], "stacks");
    assert_eq!(
        list["stacks"][1],
        json!({"directory": "stacks/shop", "stack": "shop-prod", "environments": ["dev", "test"],
            "base_url": "https://acme.example.net", "namespaces": ["shop"], "files": 3})
    );
    let matrix = stage.run("stacks --format github-matrix").code(0).text().to_owned();
    assert_eq!(matrix.lines().count(), 1);
    let matrix: Value = serde_json::from_str(&matrix).expect("JSON");
    let include = matrix["include"].as_array().expect("a list");
    assert_eq!(include.len(), 5, "{matrix}");
    assert_eq!(include[0], json!({"directory": "lone", "stack": "lone", "id": "lone"}));
    assert_eq!(
        include[1],
        json!({"directory": "stacks/pay", "stack": "pay-prod", "environment": "dev", "id": "stacks.pay..dev"})
    );
    stage.write("lone/trueup.yaml", "stak: lone\n");
    let ran = stage.run("stacks");
    ran.code(1).stdout_contains("1 error").stdout_contains("stacks/shop  shop-prod").stderr_contains("unknown");
}

#[test]
fn the_names_that_a_stack_has_in_environments_alone_are_in_each_table() {
    let settings = "namespaces: [shop]\nenvironments: {dev: {stack: shop-dev}, prod: {stack: shop-prod}}\n";
    let stage = Stage::new().file("shop/trueup.yaml", settings);
    for format in ["text", "markdown"] {
        let list = stage.run(&format!("stacks shop --format {format}"));
        list.code(0).stdout_contains("dev: shop-dev; prod: shop-prod");
    }
}

#[test]
fn settings_that_cannot_be_read_are_an_error_where_their_stack_is_listed() {
    let stage = repository();
    stage.write("lone/trueup.yaml", "stack: lone\nstak: lone\n");
    commit(&stage, "wrong");
    git(&stage, "checkout -q -b change");
    // A matrix has no place for the reason.
    for format in ["github-matrix", "markdown", "json"] {
        let ran = stage.run(&format!("stacks --format {format}"));
        ran.code(1).stdout_contains("lone").stderr_contains("lone/trueup.yaml:2").stderr_contains("`stak`");
    }
    // Of a stack that did not change nothing is asked.
    stage.edit("stacks/shop/cart.yaml", "port: 80", "port: 81");
    for format in ["github-matrix", "text"] {
        let ran = stage.run(&format!("stacks --changed-since main --format {format}"));
        ran.code(0).stdout_contains("stacks/shop").does_not_say("lone");
    }
    stage.edit("lone/x.yaml", "port: 80", "port: 81");
    stage.run("stacks --changed-since main").code(1).stdout_contains("lone").stderr_contains("`stak`");
}

/// No document can name such a directory, and git names it otherwise than the file system: it would count as removed.
#[cfg(target_os = "linux")]
#[test]
fn a_stack_in_a_directory_whose_name_is_not_utf_8_is_an_error_and_not_a_removed_one() {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt as _;

    let stage = repository();
    let directory = stage.path("stacks").join(OsStr::from_bytes(b"caf\xe9"));
    std::fs::create_dir(&directory).expect("a directory");
    std::fs::write(directory.join("trueup.yaml"), "stack: coffee\n").expect("a file");
    commit(&stage, "coffee");
    for call in ["stacks", "stacks --changed-since main"] {
        stage.run(call).code(1).stderr_contains("rename `./stacks/caf").stderr_contains("is not valid UTF-8");
    }
}

/// What a list or a matrix names is a word of the next command.
#[cfg(unix)]
#[test]
fn a_directory_is_no_option_and_a_matrix_has_no_name_that_a_forge_expands() {
    let stage = Stage::new();
    for name in ["--base-url=https:/evil", "-x", "--help", "plain"] {
        stage.write(&format!("{name}/trueup.yaml"), "stack: s\n");
    }
    for format in ["github-matrix", "json", "text"] {
        stage
            .run(&format!("stacks --format {format}"))
            .code(0)
            .stdout_contains("./--base-url=https:/evil")
            .stdout_contains("./-x")
            .stdout_contains("./--help");
    }
    for name in ["$TRUEUP_TOKEN", "a\u{1b}[2J", "a\nb", "a\u{202e}b"] {
        stage.write(&format!("{name}/trueup.yaml"), "stack: s\n");
        stage.run("stacks --format github-matrix").code(1).stderr_contains("a matrix cannot name");
        std::fs::remove_dir_all(stage.path(name)).expect("the directory");
    }
    stage.write("plain/trueup.yaml", "environments: {'$TRUEUP_TOKEN': {}, '--help': {}, 'a b': {}}\n");
    stage.run("validate plain").code(1).stderr_contains("`a b` is not a valid key of `environments`");
}

#[test]
fn a_stack_has_changed_if_a_file_that_it_reads_has() {
    let stage = repository();
    git(&stage, "checkout -q -b change");
    assert_eq!(changed(&stage), Vec::<String>::new());
    stage.run("stacks --changed-since main").code(0).stdout_contains("No stack changed since main.");
    // What no environment reads does not count; the same length and an overlay do.
    stage.write("stacks/pay/old/cart.yaml", "new\n");
    stage.write("stacks/pay/README.md", "new\n");
    stage.write("README.md", "new\n");
    assert_eq!(changed(&stage), Vec::<String>::new());
    // So does the name of a file: as it is called, another environment reads it.
    let overlays = ["dev", "else"].map(|name| stage.path(&format!("stacks/pay/overlays/{name}")));
    std::fs::rename(&overlays[0], &overlays[1]).expect("a directory");
    assert_eq!(changed(&stage), ["stacks/pay changed"]);
    std::fs::rename(&overlays[1], &overlays[0]).expect("a directory");
    stage.edit("stacks/shop/cart.yaml", "port: 80", "port: 81");
    assert_eq!(changed(&stage), ["stacks/shop changed"]);
    commit(&stage, "edit");
    assert_eq!(changed(&stage), ["stacks/shop changed"]);
    stage.edit("stacks/pay/overlays/dev/cart.yaml", "port: 8080", "port: 8081");
    stage.write("new/trueup.yaml", "stack: new\n");
    stage.write("new/x.yaml", &definition("new/x", 80));
    stage.remove("lone/trueup.yaml");
    assert_eq!(changed(&stage), ["lone removed", "new added", "stacks/pay changed", "stacks/shop changed"]);
    // A job has nothing to do for what is gone.
    stage.run("stacks --changed-since main --format github-matrix").code(0).does_not_say("lone");
    // What others merged since is not of this change.
    commit(&stage, "more");
    git(&stage, "checkout -q main");
    stage.edit("lone/x.yaml", "port: 80", "port: 90");
    commit(&stage, "theirs");
    git(&stage, "checkout -q change");
    assert_eq!(changed(&stage), ["lone removed", "new added", "stacks/pay changed", "stacks/shop changed"]);
    stage.run("stacks --changed-since nowhere").code(1).stderr_contains("`nowhere` is not a commit");
}

#[test]
fn the_ends_of_lines_that_git_writes_are_no_change() {
    let stage = repository();
    git(&stage, "checkout -q -b change");
    let windows = |path: &str| std::fs::read_to_string(stage.path(path)).expect(path).replace('\n', "\r\n");
    for path in ["stacks/shop/cart.yaml", "stacks/pay/trueup.yaml"] {
        stage.write(path, &windows(path));
    }
    assert_eq!(changed(&stage), Vec::<String>::new());
    commit(&stage, "ends");
    git(&stage, "branch -f main");
    // The other way round, and a line more of the same length.
    stage.write("stacks/shop/cart.yaml", &windows("stacks/shop/cart.yaml").replace('\r', ""));
    assert_eq!(changed(&stage), Vec::<String>::new());
    stage.edit("stacks/pay/trueup.yaml", "\r\n", "\n\n");
    assert_eq!(changed(&stage), ["stacks/pay changed"]);
}

#[test]
fn what_a_stack_that_does_not_load_may_define_is_unknown_and_no_command_deletes_it() {
    let stage = repository();
    git(&stage, "checkout -q -b change");
    std::fs::create_dir_all(stage.path("other")).expect("a directory");
    std::fs::rename(stage.path("lone/x.yaml"), stage.path("other/x.yaml")).expect("a file");
    std::fs::remove_dir_all(stage.path("lone")).expect("a directory");
    for wrong in ["more.yaml", "trueup.yaml"] {
        stage.write("other/trueup.yaml", "stack: other\nnamespaces: [lone]\n");
        stage.write("other/more.yaml", &definition("lone/other", 80));
        let list = || stage.run("stacks --changed-since main --removed");
        list().code(0).stdout_contains("nothing is left: ");
        stage.write(&format!("other/{wrong}"), "wrong: 1\n");
        let ran = list();
        ran.code(0)
            .stdout_contains(
                "removed: lone: whether another stack defines lone/x now is unknown: other may define it: ",
            )
            .does_not_say("trueup apply lone");
        let json = stage.run("stacks --changed-since main --removed --format json").code(0).json();
        let why = json["stacks"][0]["left"][0]["unknown"]["lone/x"].as_str().expect("a reason").to_owned();
        assert!(why.starts_with("other may define it: "), "{why}");
    }
}

#[test]
fn a_removed_stack_without_a_name_or_namespaces_has_no_command_that_deletes_nothing() {
    let stage = repository();
    stage.write("anon/trueup.yaml", "namespaces: [anon]\n");
    stage.write("anon/x.yaml", &definition("anon/x", 80));
    stage.write("wide/trueup.yaml", "stack: wide\n");
    stage.write("wide/x.yaml", &definition("wide/x", 80));
    commit(&stage, "more");
    git(&stage, "checkout -q -b change");
    for name in ["anon", "wide"] {
        std::fs::remove_dir_all(stage.path(name)).expect("a directory");
    }
    let ran = stage.run("stacks --changed-since main --removed");
    ran.code(0)
        .stdout_contains(
            "removed: anon: nothing deletes what it defined: 1 endpoint (anon/x), owned by no stack: delete by hand",
        )
        .stdout_contains("# set `namespaces:`, `allow_empty: true` and `prune: owned` in wide/trueup.yaml by hand")
        .does_not_say("trueup apply anon");
    // Unless the call names the stack: the file alone need not.
    let ran = stage.run("stacks --changed-since main --removed --stack team");
    ran.code(0)
        .stdout_contains("(anon/x)\n")
        .stdout_contains("trueup apply anon --stack team --allow empty-namespace")
        .stdout_contains("trueup apply wide --allow empty-namespace");
    let ran = stage.env("TRUEUP_STACK", "team").run("stacks --changed-since main --removed");
    ran.code(0)
        .stdout_contains("(anon/x)\n")
        .stdout_contains("trueup apply anon --allow empty-namespace")
        .does_not_say("owned by no stack");
}

#[test]
fn what_another_environment_lacks_is_not_set_for_the_one_that_is_removed() {
    let environments = "environments:\n  dev: {stack: d, variables: {ns: dev}}\n";
    let prod = "  prod: {stack: p, namespaces: [prod], variables: {ns: prod}}\n";
    let stage = Stage::new()
        .file("a/trueup.yaml", &format!("{environments}{prod}"))
        .file("a/x.yaml", &definition("${ns}/x", 80))
        .committed();
    stage.write("a/trueup.yaml", environments);
    let ran = stage.run("stacks --changed-since main --removed");
    ran.code(0).stdout_contains("# set `allow_empty: true`, ").stdout_contains("trueup apply a --env prod ");
    // What the report proposes before its `trueup apply a`.
    git(&stage, "checkout -q main -- a/trueup.yaml");
    stage.write("a/trueup.yaml", &format!("{}allow_empty: true\n", stage.read("a/trueup.yaml")));
}

#[cfg(unix)]
#[test]
fn what_a_removed_stack_gave_to_one_that_a_sparse_tree_leaves_out_is_unknown() {
    let stage = Stage::new();
    for name in ["a", "b", "c"] {
        stage.write(&format!("{name}/trueup.yaml"), &format!("stack: {name}\nnamespaces: [shop]\n"));
        stage.write(&format!("{name}/x.yaml"), &definition(&format!("shop/{name}"), 80));
    }
    let stage = stage.committed();
    git(&stage, "checkout -q -b change");
    git(&stage, "mv a/x.yaml b/a.yaml");
    git(&stage, "rm -qf a/trueup.yaml");
    commit(&stage, "moved");
    let removed = "stacks --changed-since main --removed";
    stage.run(removed).code(0).stdout_contains("nothing is left").does_not_say("trueup apply a");
    git(&stage, "sparse-checkout set c");
    let ran = stage.run(removed);
    ran.code(0)
        .stdout_contains("whether another stack defines shop/a now is unknown")
        .stdout_contains("`b/a.yaml` may define it, and the sparse working tree lacks that file");
    git(&stage, "sparse-checkout disable");
}

#[test]
fn a_removed_stack_with_a_link_is_listed_and_not_as_one_of_which_nothing_is_left() {
    use std::os::unix::fs::symlink;

    let stage = repository();
    stage.write("one/settings.txt", "stack: one\nnamespaces: [one]\n");
    stage.write("one/x.yaml", &definition("one/x", 80));
    stage.write("two/trueup.yaml", "stack: two\nnamespaces: [two]\n");
    stage.write("two/.real.yaml", &definition("two/x", 80));
    symlink("settings.txt", stage.path("one/trueup.yaml")).expect("a link");
    symlink(".real.yaml", stage.path("two/x.yaml")).expect("a link");
    // Links that lead to no definition hide nothing.
    for (link, to) in [("notes", "../lone/x.yaml"), (".notes", "nowhere")] {
        symlink(to, stage.path(&format!("two/{link}"))).expect("a link");
    }
    stage.write("wide/trueup.yaml", "stack: wide\nnamespaces: [wide]\nfiles: {exclude: [old.yaml]}\n");
    stage.write("wide/.more/x.yaml", &definition("wide/x", 80));
    symlink(".more", stage.path("wide/more")).expect("a link");
    symlink("nowhere", stage.path("wide/old.yaml")).expect("a link");
    commit(&stage, "links");
    git(&stage, "checkout -q -b change");
    assert_eq!(changed(&stage), Vec::<String>::new());
    for name in ["one", "two", "wide"] {
        std::fs::remove_dir_all(stage.path(name)).expect("a directory");
    }
    assert_eq!(changed(&stage), ["one removed", "two removed", "wide removed"]);
    let ran = stage.run("stacks --changed-since main --removed");
    ran.code(0)
        .stdout_contains("removed: one: nothing deletes what it defined: 1 endpoint (one/x)\n")
        .stdout_contains(
            "# set the settings of that commit that the link leads to, `allow_empty: true` and `prune: owned` in one/",
        )
        .stdout_contains("removed: two: nothing deletes what it defined: 1 endpoint (two/x)\n")
        .stdout_contains("trueup apply two --allow empty-namespace")
        .stdout_contains(
            "removed: wide: its definitions cannot be read at that commit, and nothing deletes what it owns",
        )
        .stdout_contains("trueup apply wide --allow empty-namespace");
}

#[cfg(unix)]
#[test]
fn an_environment_that_settings_behind_a_link_lose_is_listed() {
    let dev = "environments:\n  dev: {stack: d, namespaces: [dev], variables: {ns: dev}}\n";
    let both = format!("{dev}  prod: {{stack: p, namespaces: [prod], variables: {{ns: prod}}}}\n");
    let stage = Stage::new().file("a/of/settings.txt", &both).file("a/x.yaml", &definition("${ns}/x", 80));
    std::os::unix::fs::symlink("of/settings.txt", stage.path("a/trueup.yaml")).expect("a link");
    let stage = stage.committed();
    stage.run("stacks --changed-since main --removed").code(0).stdout_contains("No stack was removed");
    stage.write("a/of/settings.txt", dev);
    let ran = stage.run("stacks --changed-since main --removed");
    ran.code(0)
        .stdout_contains("# set the settings of that commit that the link leads to, `allow_empty: true`, ")
        .stdout_contains("trueup apply a --env prod ")
        .does_not_say("--env dev");
    // What the report proposes before its `trueup apply a`.
    stage.write("a/of/settings.txt", &format!("{both}allow_empty: true\n"));
}

#[test]
fn a_removed_stack_is_listed_with_what_nothing_deletes_any_more() {
    let stage = repository();
    stage.write(
        "envs/trueup.yaml",
        "stack: envs\nnamespaces: [envs]\nenvironments: {dev: {}, test: {stack: envs-test}}\n",
    );
    stage.write("envs/x.yaml", &definition("envs/x", 80));
    stage.write(
        "wrong/trueup.yaml",
        "stack: wrong\nnamespaces: [wrong]\nenvironments: {dev: {overlay: over}, test: {}}\n",
    );
    stage.write("wrong/x.yaml", &definition("wrong/x", 80));
    stage.write("wrong/over/x.yaml", "metadata: {}\n");
    stage.run("validate wrong --env dev").code(1).stderr_ignored();
    stage.run("validate stacks/pay --env dev").code(0);
    commit(&stage, "another");
    git(&stage, "checkout -q -b change");
    std::fs::remove_dir_all(stage.path("lone")).expect("a directory");
    commit(&stage, "remove");
    stage
        .run("stacks --changed-since main")
        .code(0)
        .stdout_contains("removed: lone: nothing deletes what it defined: 1 endpoint (lone/x)\n")
        .stdout_contains(" -- lone/trueup.yaml\n")
        .stdout_contains("trueup apply lone --allow empty-namespace --allow mass-change\n");
    let list = stage.run("stacks --changed-since main --removed --format json").code(0).json();
    assert_eq!(list["stacks"][0]["left"], json!([{"endpoints": ["lone/x"]}]));
    // Of a stack that lost an environment only that is gone, and its name is the one that is left behind.
    let envs = stage.read("envs/trueup.yaml");
    stage.write("envs/trueup.yaml", "stack: envs\nnamespaces: [envs]\nenvironments: {dev: {}}\n");
    stage
        .run("stacks --changed-since main --removed --format markdown")
        .code(0)
        .stdout_contains("**Removed:** `envs`, stack `test: envs-test`: nothing is left");
    stage.write("envs/trueup.yaml", &envs);
    // What another stack defines now is not left: a directory that is renamed leaves nothing.
    stage.write("other/trueup.yaml", "stack: lone\nnamespaces: [lone]\n");
    stage.write("other/x.yaml", &definition("lone/x", 80));
    stage
        .run("stacks --changed-since main --removed")
        .code(0)
        .stdout_contains("removed: lone: nothing is left")
        .does_not_say("git checkout");
    // Of each environment.
    for directory in ["stacks/pay", "other", "envs", "wrong"] {
        std::fs::remove_dir_all(stage.path(directory)).expect("a directory");
    }
    // The same endpoint of another service, or of whichever service the call names, is not that one.
    for (name, base_url) in [("far", "base_url: https://far.example.net\n"), ("near", "")] {
        stage.write(&format!("{name}/trueup.yaml"), &format!("stack: {name}\nnamespaces: [pay]\n{base_url}"));
        stage.write(&format!("{name}/x.yaml"), &definition("pay/cart", 80));
    }
    stage
        .run("stacks --changed-since main --removed --format markdown")
        .code(0)
        .stdout_contains("### trueup: 4 stacks removed\n")
        .stdout_contains("1 endpoint of `dev` (`envs/x`), 1 endpoint of `test` (`envs/x`)")
        .stdout_contains("trueup apply envs --env test --allow empty-namespace")
        .stdout_contains("1 endpoint of `dev` (`pay/cart`), 1 endpoint of `test` (`pay/cart`)")
        .stdout_contains("trueup apply stacks/pay --env dev --allow empty-namespace")
        // The overlay of one environment never was valid, so what nothing deletes is not known.
        .stdout_contains("**Removed:** `wrong`, stack `wrong`: its definitions cannot be read")
        .stdout_contains("trueup apply wrong --env dev --allow empty-namespace");
    stage
        .run("stacks --changed-since change --removed -l ring --format markdown")
        .code(64)
        .stderr_contains("selects no stack");
    git(&stage, "checkout -q -- .");
    stage.run("stacks --changed-since change --removed --format markdown").code(0).stdout("");
    stage.run("stacks --removed").code(64).stderr_contains("--changed-since");
}

#[test]
fn a_removed_stack_that_did_not_load_beside_its_environments_is_not_passed_over() {
    let stage = repository();
    let settings = |variables: &str| {
        format!("stack: own\nnamespaces: [own]\nenvironments: {{dev: {{stack: own-dev, overlay: over{variables}}}}}\n")
    };
    stage.write("own/trueup.yaml", &settings(""));
    stage.write("own/x.yaml", &definition("own/x", 80).replace("80", "oops"));
    stage.write("own/over/x.yaml", "metadata: {name: x, namespace: own}\nspec: {port: 80}\n");
    stage.run("validate own --env dev").code(0);
    commit(&stage, "wrong");
    git(&stage, "checkout -q -b change");
    git(&stage, "branch -qf main");
    let removed = || {
        std::fs::remove_dir_all(stage.path("own")).expect("a directory");
        let ran = stage.run("stacks --changed-since main --removed");
        git(&stage, "checkout -q -- .");
        ran
    };
    removed()
        .code(0)
        .stdout_contains("removed: own: its definitions cannot be read")
        .stdout_contains("trueup apply own --allow empty-namespace")
        .stdout_contains("trueup apply own --env dev --allow empty-namespace");
    // What needs the variables of an environment defines nothing without one.
    stage.write("own/trueup.yaml", &settings(", variables: {port: '80'}"));
    stage.write("own/x.yaml", &definition("own/x", 80).replace("80", "${port}"));
    stage.remove("own/over/x.yaml");
    stage.write("own/over/y.yaml", &definition("own/y", 80));
    commit(&stage, "variable");
    git(&stage, "branch -qf main");
    removed().code(0).stdout_contains("2 endpoints of dev (own/x, own/y)").does_not_say("trueup apply own --allow");
    // What the report proposes before its `trueup apply own`.
    stage.write("own/trueup.yaml", &format!("{}allow_empty: true\n", settings("")));
    stage.write("own/x.yaml", &definition("own/x", 80));
}

#[cfg(unix)]
#[test]
fn the_settings_of_a_removed_stack_are_taken_back_and_no_others_whatever_it_is_called() {
    let stage = Stage::new();
    for (number, directory) in ["*", ":x", "[ab]", "a"].into_iter().enumerate() {
        stage.write(&format!("{directory}/trueup.yaml"), &format!("stack: s{number}\nnamespaces: [shop]\n"));
        stage.write(&format!("{directory}/cart.yaml"), &definition(&format!("shop/cart-{number}"), 80));
    }
    let stage = stage.committed();
    for directory in ["*", ":x", "[ab]"] {
        std::fs::remove_dir_all(stage.path(directory)).expect("the directory");
    }
    stage.write("a/trueup.yaml", "stack: now\nnamespaces: [shop]\n");
    commit(&stage, "removed");
    let report = stage.run("stacks . --changed-since HEAD~1 --removed --format markdown");
    for command in report.code(0).text().lines().filter(|line| line.starts_with(['g', 'p'])) {
        let ran = Command::new("sh").arg("-c").arg(command).current_dir(stage.path("")).status().expect("sh starts");
        assert!(ran.success(), "{command}");
    }
    for directory in ["*", ":x", "[ab]"] {
        assert!(stage.path(directory).join("trueup.yaml").exists(), "{directory}");
    }
    assert!(stage.read("a/trueup.yaml").contains("stack: now"));
}

#[test]
fn what_the_same_stack_deletes_in_another_directory_is_left_by_nothing() {
    let stage = repository();
    stage.write("lone/y.yaml", &definition("lone/y", 81));
    commit(&stage, "another");
    git(&stage, "checkout -qb change");
    git(&stage, "mv lone moved");
    git(&stage, "rm -qf moved/y.yaml");
    commit(&stage, "moved");
    for format in ["text", "markdown"] {
        let list = stage.run(&format!("stacks --changed-since main --removed --format {format}"));
        list.code(0).does_not_say("lone/y").does_not_say("nothing deletes");
    }
    // A namespace that it no longer has is another matter.
    stage.edit("moved/trueup.yaml", "namespaces: [lone]", "namespaces: [other, lone2]");
    stage.edit("moved/x.yaml", "namespace: lone", "namespace: other");
    commit(&stage, "elsewhere");
    stage.run("stacks --changed-since main --removed").code(0).stdout_contains("lone/y");
}

#[test]
fn another_working_tree_in_the_repository_has_the_same_stacks_and_no_more() {
    let stage = repository();
    let list = stage.run("stacks").code(0).text().to_owned();
    git(&stage, "worktree add -q trees/feature -b feature");
    stage.run("stacks").code(0).stdout(&list);
    stage.run("validate -R .").code(0).does_not_say("trees/feature");
    stage.run("stacks trees").code(0).stdout_contains("trees/feature/lone");
    stage.run("stacks trees/feature").code(0).stdout_contains("3 stacks");
    // As git 2.48 links it with `worktree.useRelativePaths`.
    stage.write("trees/feature/.git", "gitdir: ../../.git/worktrees/feature\n");
    stage.run("stacks").code(0).stdout(&list);
}

#[test]
fn the_only_stack_is_listed_when_it_is_removed_too() {
    let stage = Stage::new()
        .file("trueup.yaml", "stack: only\nnamespaces: [only]\nlabels: {ring: canary}\n")
        .file("x.yaml", &definition("only/x", 80))
        .committed();
    git(&stage, "rm -q -r .");
    let left = "removed: .: nothing deletes what it defined: 1 endpoint (only/x)\n";
    for words in ["--removed", "", "-l ring=canary"] {
        stage.run(&format!("stacks --changed-since main {words}")).code(0).stdout_contains(left);
    }
    stage
        .run("stacks --changed-since main -l ring=early")
        .code(64)
        .stderr_contains("`--selector ring=early` selects no stack");
    // Where there was none, either, the directory may be a wrong one.
    stage.write("docs/x.md", "no stack\n");
    stage.run("stacks docs --changed-since main").code(64).stderr_contains("no trueup.yaml in or below `docs`");
    stage.run("stacks").code(64).stderr_contains("no trueup.yaml in or below `.`");
    // What the report proposes before its `trueup apply .`.
    git(&stage, "checkout -q main -- trueup.yaml");
    stage.write("trueup.yaml", &(stage.read("trueup.yaml") + "\nallow_empty: true\n"));
}

#[test]
fn settings_that_a_line_at_their_end_does_not_empty_are_changed_by_hand() {
    let settings = [
        ("plain", "stack: NAME\nnamespaces: [NAME]\nenvironments: {dev: {}}\n"),
        ("twice", "stack: NAME\nnamespaces: [NAME]\nallow_empty: true\n"),
        ("flow", "{stack: NAME, namespaces: [NAME]}\n"),
        ("dots", "stack: NAME\nnamespaces: [NAME]\n...\n"),
        ("env", "stack: NAME\nnamespaces: [NAME]\nenvironments: {dev: {allow_empty: false}}\n"),
        ("none", "stack: NAME\nnamespaces: [NAME]\nprune: none\n"),
        ("include", "stack: NAME\nnamespaces: [NAME]\nfiles: {include: ['*.yaml']}\n"),
        ("kept", "stack: NAME\nnamespaces: [NAME]\n"),
    ];
    let stage = Stage::new().file("keep/trueup.yaml", "stack: keep\nnamespaces: [keep]\n");
    for (name, settings) in settings {
        stage.write(&format!("{name}/trueup.yaml"), &settings.replace("NAME", name));
        stage.write(&format!("{name}/x.yaml"), &definition(&format!("{name}/x"), 80));
    }
    let stage = stage.committed();
    for (name, _) in settings {
        let is_emptied = !matches!(name, "include" | "kept");
        match name {
            "kept" => stage.remove("kept/trueup.yaml"),
            _ => std::fs::remove_dir_all(stage.path(name)).expect("a directory"),
        }
        let ran = stage.run("stacks --changed-since main --removed --format markdown");
        let hint = match is_emptied {
            true => "# set `allow_empty: true` and `prune: owned` in ",
            false => "# set `allow_empty: true`, `prune: owned` and `files: {include: [], exclude: ['**']}` in ",
        };
        let line = "printf '\\nallow_empty: true\\n' >> ";
        let [line, hint] = [line, hint].map(|text| ran.text().contains(&format!("{text}{name}/trueup.yaml")));
        assert_eq!((line, hint), (name == "plain", name != "plain"), "{name}: {}", ran.code(0).text());
    }
}

#[cfg(unix)]
#[test]
fn a_file_behind_a_link_counts_whatever_its_name_is() {
    let stage = repository();
    stage.write("lone/text", &definition("lone/y", 80));
    std::os::unix::fs::symlink("text", stage.path("lone/y.yaml")).expect("a link");
    commit(&stage, "link");
    assert_eq!(changed(&stage), Vec::<String>::new());
    stage.edit("lone/text", "port: 80", "port: 81");
    assert_eq!(changed(&stage), ["lone changed"]);
}

/// The target of a link is what is planned, wherever it is.
#[cfg(unix)]
#[test]
fn what_a_definition_links_to_counts_where_it_is_hidden_or_excluded_or_another_link() {
    use std::os::unix::fs::symlink;

    let stage = repository();
    stage.write("lone/.hidden/y", &definition("lone/y", 80));
    stage.write("lone/.more/z.yaml", &definition("lone/z", 80));
    symlink("../.hidden", stage.path("lone/.more/next")).expect("a link");
    symlink(".more/next/y", stage.path("lone/y.yaml")).expect("a link");
    symlink(".more", stage.path("lone/more")).expect("a link");
    stage.write("stacks/pay/old/target", &definition("pay/y", 80));
    symlink("old/target", stage.path("stacks/pay/y.yaml")).expect("a link");
    commit(&stage, "links");
    assert_eq!(changed(&stage), Vec::<String>::new());
    stage.edit("lone/.hidden/y", "port: 80", "port: 81");
    assert_eq!(changed(&stage), ["lone changed"]);
    stage.edit("lone/.hidden/y", "port: 81", "port: 80");
    stage.write("lone/.more/new.yaml", &definition("lone/new", 80));
    assert_eq!(changed(&stage), ["lone changed"], "a definition more");
    stage.remove("lone/.more/new.yaml");
    stage.write("lone/.other/y", &definition("lone/y", 80));
    stage.remove("lone/.more/next");
    symlink("../.other", stage.path("lone/.more/next")).expect("a link");
    assert_eq!(changed(&stage), ["lone changed"], "another target of the same size");
    std::fs::remove_dir_all(stage.path("lone/.other")).expect("the directory");
    stage.remove("lone/.more/next");
    symlink("../.hidden", stage.path("lone/.more/next")).expect("a link");
    assert_eq!(changed(&stage), Vec::<String>::new());
    stage.edit("stacks/pay/old/target", "port: 80", "port: 81");
    assert_eq!(changed(&stage), ["stacks/pay changed"]);
    // A stack without a link is not about what it does not read.
    stage.write("stacks/shop/.hidden/y", "x\n");
    assert_eq!(changed(&stage), ["stacks/pay changed"]);
}

#[test]
fn nothing_is_said_of_changes_outside_of_a_repository() {
    let stage = Stage::new().file("trueup.yaml", "stack: x\n");
    stage.run("stacks --changed-since main").code(1).stderr_contains("repository");
}

#[test]
fn a_stack_that_is_named_by_its_environments_has_no_empty_columns() {
    let stage = Stage::new();
    stage.write(
        "shop/trueup.yaml",
        "environments:\n  dev: {stack: shop-dev, base_url: 'https://dev.example.net', namespaces: [dev]}\n\
         \x20 prod: {stack: shop-prod, base_url: 'https://acme.example.net', namespaces: [shop, pay]}\n",
    );
    stage.write("shop/cart.yaml", &definition("shop/cart", 80));
    let list = stage.run("stacks --format json").code(0).json();
    assert_eq!(
        list["stacks"][0]["environment_settings"]["prod"],
        json!({"stack": "shop-prod", "base_url": "https://acme.example.net", "namespaces": ["shop", "pay"]})
    );
    let wide = Stage::run(&stage.env("COLUMNS", "300"), "stacks");
    wide.code(0)
        .stdout_contains("dev: shop-dev; prod: shop-prod")
        .stdout_contains("dev: https://dev.example.net; prod: https://acme.example.net")
        .stdout_contains("dev: dev; prod: shop, pay");
}

#[test]
fn a_matrix_names_the_stack_of_each_environment() {
    let stage = Stage::new();
    stage.write("trueup.yaml", "stack: shop\nenvironments:\n  dev: {}\n  prod: {stack: shop-prod}\n");
    stage.write("cart.yaml", &definition("shop/cart", 80));
    let matrix = stage.run("stacks --format github-matrix").code(0).json();
    let names: Vec<&Value> =
        matrix["include"].as_array().expect("a list").iter().map(|entry| &entry["stack"]).collect();
    assert_eq!(names, ["shop", "shop-prod"]);
}

#[test]
fn the_recipe_for_a_removed_environment_leaves_its_overlay_out() {
    let stage = repository();
    let settings = |dev: &str| format!("stack: envs\nnamespaces: [envs]\nenvironments: {{{dev}prod: {{}}}}\n");
    stage.write("envs/trueup.yaml", &settings("dev: {overlay: o, base_url: 'https://dev.example.net'}, "));
    stage.write("envs/x.yaml", &definition("envs/x", 80));
    stage.write("envs/o/x.yaml", "metadata: {name: x, namespace: envs}\nspec: {port: 81}\n");
    commit(&stage, "environments");
    git(&stage, "checkout -q -b change");
    stage.write("envs/trueup.yaml", &settings(""));
    std::fs::remove_dir_all(stage.path("envs/o")).expect("removed");
    commit(&stage, "remove");
    git(&stage, "branch -f main HEAD~1");
    stage.run("stacks --changed-since main --removed").code(0).stdout_contains("and no `overlay:` in envs/trueup.yaml");
    // The recipe is followed, and its command run.
    let emptied = "allow_empty: true, prune: owned, files: {exclude: ['**']}, base_url: 'https://dev.example.net'";
    stage.write("envs/trueup.yaml", &settings(&format!("dev: {{{emptied}}}, ")));
}

#[test]
fn a_removed_environment_is_listed_with_what_nothing_deletes_any_more() {
    let service = |name: &str| format!("{name}: {{base_url: 'https://{name}.example.net'}}");
    let settings = |environments: &[String]| {
        format!("stack: envs\nnamespaces: [envs]\nenvironments: {{{}}}\n", environments.join(", "))
    };
    let stage = repository();
    stage.write("envs/trueup.yaml", &settings(&[service("dev"), service("prod")]));
    stage.write("envs/x.yaml", &definition("envs/x", 80));
    commit(&stage, "environments");
    git(&stage, "checkout -q -b change");
    stage.write("envs/trueup.yaml", &settings(&[service("dev")]));
    commit(&stage, "remove");
    stage
        .run("stacks --changed-since main --removed")
        .code(0)
        .stdout_contains("removed: envs: nothing deletes what it defined: 1 endpoint of prod (envs/x)\n")
        .stdout_contains("# set `allow_empty: true`, `prune: owned` and `files: {exclude: ['**']}` in envs/trueup.yaml")
        .stdout_contains("trueup apply envs --env prod --allow empty-namespace --allow mass-change\n")
        .does_not_say("--env dev");
    let list = stage.run("stacks --changed-since main --removed --format json").code(0).json();
    assert_eq!(list["stacks"][0]["environments"], json!(["prod"]));
    // What is there stays in the matrix, once.
    let matrix = stage.run("stacks --changed-since main --format github-matrix").code(0).json();
    assert_eq!(matrix["include"].as_array().map(Vec::len), Some(1), "{matrix}");
    stage.write("envs/trueup.yaml", &settings(&[service("dev"), service("prod"), service("new")]));
    stage.run("stacks --changed-since main --removed").code(0).stdout_contains("No stack was removed since main.");
}

#[test]
fn a_removed_stack_is_listed_with_what_it_left_without_an_environment_and_in_those_that_a_selector_selects() {
    let stage = repository();
    let of = |name: &str| format!("stack: envs-{name}, namespaces: [{name}], variables: {{ns: {name}}}");
    let (dev, test, prod) = (of("dev").replace(", ", "\n"), of("test"), of("prod"));
    let environments = format!("environments:\n  test: {{{test}}}\n  prod: {{{prod}, labels: {{ring: last}}}}\n");
    stage.write("envs/trueup.yaml", &format!("{dev}\n{environments}"));
    stage.write("envs/x.yaml", "metadata: {name: x, namespace: '${ns}'}\nspec: {ip: 10.0.0.7, port: 80}\n");
    commit(&stage, "environments");
    git(&stage, "checkout -q -b change");
    std::fs::remove_dir_all(stage.path("envs")).expect("a directory");
    commit(&stage, "remove");
    let what = "removed: envs: nothing deletes what it defined: ";
    stage
        .run("stacks --changed-since main --removed")
        .code(0)
        .stdout_contains(&format!(
            "{what}1 endpoint (dev/x), 1 endpoint of prod (prod/x), 1 endpoint of test (test/x)\n"
        ))
        .stdout_contains("trueup apply envs --allow empty-namespace --allow mass-change\n");
    stage
        .run("stacks --changed-since main --removed --selector ring=last")
        .code(0)
        .stdout_contains(&format!("{what}1 endpoint of prod (prod/x)\n"))
        .does_not_say("--env test")
        .does_not_say("trueup apply envs --allow");
}
