//! The commit that removed a definition is the one that did, or none is named.

use crate::support::{Service, Stage, commit, definition, git};

/// A repository with the stack in `stack`, applied, whose tenant has `shop/legacy`.
fn repository(service: &Service) -> Stage {
    Stage::new()
        .at(service)
        .file("stack/trueup.yaml", "stack: shop\nnamespaces: [shop, pay]\n")
        .file("stack/cart.yaml", &definition("shop/cart", 8080))
        .file("stack/legacy.yaml", &definition("shop/legacy", 1))
        .file("README.md", "legacy\n")
        .committed()
        .applied("stack")
}

/// The commit that the plan names for the delete of `shop/legacy`.
#[track_caller]
fn named(stage: &Stage) -> Option<String> {
    let ran = stage.run("plan stack --format json");
    ran.code(0);
    let json = ran.json();
    let changes = json["plan"]["changes"].as_array().or_else(|| json["changes"].as_array()).expect("changes").clone();
    let delete = changes.iter().find(|change| change["key"] == "shop/legacy").expect("a delete");
    assert!(delete["action"]["delete"].is_object(), "{delete}");
    delete["removed_in"]["id"].as_str().map(str::to_owned)
}

#[test]
fn the_last_removal_is_named_and_not_the_first() {
    let service = Service::start();
    let stage = repository(&service);
    stage.remove("stack/legacy.yaml");
    let first = commit(&stage, "removed");
    assert_eq!(named(&stage), Some(first));
    stage.write("stack/again.yaml", &definition("shop/legacy", 2));
    commit(&stage, "added-again");
    stage.write("stack/news.yaml", "# legacy was here\nkind: tenant\n");
    commit(&stage, "mentioned");
    stage.remove("stack/again.yaml");
    let last = commit(&stage, "removed-again");
    stage.write("stack/news.yaml", "# legacy is not here\nkind: tenant\n");
    commit(&stage, "mentioned-again");
    assert_eq!(named(&stage), Some(last));
}

#[test]
fn the_same_name_in_another_namespace_is_another_endpoint() {
    let service = Service::start();
    let stage = repository(&service);
    stage.write("stack/other.yaml", &definition("pay/legacy", 1));
    commit(&stage, "other");
    stage.remove("stack/legacy.yaml");
    let removed = commit(&stage, "removed");
    stage.remove("stack/other.yaml");
    commit(&stage, "other-removed");
    assert_eq!(named(&stage), Some(removed));
}

#[test]
fn a_file_that_was_moved_is_no_removal() {
    let service = Service::start();
    let stage = repository(&service);
    git(&stage, "mv stack/legacy.yaml stack/old.yaml");
    commit(&stage, "moved");
    // Into a file with others, and out of it.
    let both = format!("{}---\n{}", definition("shop/legacy", 1), definition("shop/cart", 8080));
    stage.remove("stack/old.yaml");
    stage.write("stack/cart.yaml", &both);
    commit(&stage, "joined");
    stage.write("stack/cart.yaml", &definition("shop/cart", 8080));
    let removed = commit(&stage, "removed");
    stage.edit("stack/cart.yaml", "8080", "8081");
    commit(&stage, "edited");
    assert_eq!(named(&stage), Some(removed));
}

#[test]
fn every_way_of_writing_is_read() {
    let texts = [
        ("json", r#"{"metadata": {"name": "legacy", "namespace": "shop"}, "spec": {"ip": "10.0.0.7", "port": 1}}"#),
        ("json", r#"{"spec":{"port":1,"ip":"10.0.0.7"},"metadata":{"namespace":"shop","name":"l\u0065gacy"}}"#),
        ("yaml", "{metadata: {namespace: shop, name: legacy}, spec: {ip: 10.0.0.7, port: 1}}\n"),
        ("yaml", "metadata:\n  namespace: shop\n  name:\n    \"legacy\"\nspec: {ip: 10.0.0.7, port: 1}\n"),
        ("yml", "metadata: {name: legacy, namespace: shop}\nspec: {ip: 10.0.0.7, port: 1, protocol: '${p}'}\n"),
    ];
    for (end, text) in texts {
        let service = Service::start();
        let stage = repository(&service);
        stage.write("stack/trueup.yaml", "stack: shop\nnamespaces: [shop, pay]\nvariables: {p: TCP}\n");
        stage.remove("stack/legacy.yaml");
        stage.write(&format!("stack/other.{end}"), text);
        commit(&stage, "written-otherwise");
        stage.remove(&format!("stack/other.{end}"));
        let removed = commit(&stage, "removed");
        stage.write("stack/note.txt", "x");
        commit(&stage, "another");
        assert_eq!(named(&stage), Some(removed), "{text}");
    }
}

#[test]
fn a_removal_on_a_merged_branch_is_that_of_the_branch() {
    let service = Service::start();
    let stage = repository(&service);
    git(&stage, "checkout -qb side");
    stage.remove("stack/legacy.yaml");
    let removed = commit(&stage, "removed");
    git(&stage, "checkout -q main");
    stage.edit("stack/cart.yaml", "8080", "8081");
    commit(&stage, "main-moves-on");
    git(&stage, "merge -q --no-ff --no-edit side");
    assert_eq!(named(&stage), Some(removed));
}

#[test]
fn a_removal_by_a_merge_is_that_of_the_merge() {
    let service = Service::start();
    let stage = repository(&service);
    git(&stage, "checkout -qb side");
    stage.edit("stack/cart.yaml", "8080", "8082");
    commit(&stage, "side");
    git(&stage, "checkout -q main");
    stage.write("stack/news.yaml", &definition("shop/news", 1));
    commit(&stage, "main-moves-on");
    git(&stage, "merge -q --no-commit --no-ff side");
    stage.remove("stack/legacy.yaml");
    let merge = commit(&stage, "merge");
    stage.edit("stack/cart.yaml", "8082", "8083");
    commit(&stage, "edited");
    assert_eq!(named(&stage), Some(merge));
}

#[test]
fn an_edit_on_another_line_of_history_leaves_the_removal_as_it_is() {
    let service = Service::start();
    let stage = repository(&service);
    git(&stage, "checkout -qb side");
    stage.edit("stack/legacy.yaml", "port: 1", "port: 2");
    commit(&stage, "edited");
    git(&stage, "checkout -q main");
    stage.remove("stack/legacy.yaml");
    let removed = commit(&stage, "removed");
    git(&stage, "merge -q -s ours --no-edit side");
    assert_eq!(named(&stage), Some(removed));
}

#[test]
fn what_is_not_certain_is_not_named() {
    // Not committed.
    let service = Service::start();
    let stage = repository(&service);
    stage.remove("stack/legacy.yaml");
    let first = commit(&stage, "removed");
    stage.write("stack/legacy.yaml", &definition("shop/legacy", 1));
    commit(&stage, "added-again");
    stage.remove("stack/legacy.yaml");
    assert_eq!(named(&stage), None, "not {first}");
    // Moved out of the stack: it still exists.
    git(&stage, "checkout -q .");
    std::fs::create_dir(stage.path("elsewhere")).expect("a directory");
    git(&stage, "mv stack/legacy.yaml elsewhere/legacy.yaml");
    commit(&stage, "moved-out");
    assert_eq!(named(&stage), None, "not {first}");
    // Removed elsewhere later.
    git(&stage, "rm -q elsewhere/legacy.yaml");
    commit(&stage, "removed-elsewhere");
    assert_eq!(named(&stage), None, "not {first}");
    // A name that comes from a variable.
    stage.write("stack/trueup.yaml", "stack: shop\nnamespaces: [shop, pay]\nvariables: {n: legacy}\n");
    stage.write("stack/odd.yaml", "metadata: {name: '${n}', namespace: shop}\nspec: {ip: 10.0.0.7, port: 1}\n");
    commit(&stage, "by-variable");
    stage.remove("stack/odd.yaml");
    commit(&stage, "removed-by-variable");
    assert_eq!(named(&stage), None, "not {first}");
    // The variable got this value as the other definition was removed.
    let stage = repository(&service);
    let settings = |n: &str| format!("stack: shop\nnamespaces: [shop, pay]\nvariables: {{n: {n}}}\n");
    stage.write("stack/trueup.yaml", &settings("other"));
    stage.write("stack/odd.yaml", "metadata: {name: '${n}', namespace: shop}\nspec: {ip: 10.0.0.7, port: 1}\n");
    commit(&stage, "odd");
    stage.write("stack/trueup.yaml", &settings("legacy"));
    stage.remove("stack/legacy.yaml");
    commit(&stage, "by-variable");
    stage.remove("stack/odd.yaml");
    commit(&stage, "removed");
    assert_eq!(named(&stage), None);
}

#[test]
fn what_was_never_committed_was_removed_by_no_commit() {
    let service = Service::start();
    let stage = Stage::new()
        .at(&service)
        .file("stack/trueup.yaml", "stack: shop\nnamespaces: [shop]\n")
        .file("stack/cart.yaml", &definition("shop/cart", 8080))
        .committed();
    stage.write("stack/legacy.yaml", &definition("shop/legacy", 1));
    let stage = stage.applied("stack");
    stage.remove("stack/legacy.yaml");
    assert_eq!(named(&stage), None);
}

#[test]
fn a_stack_directory_that_was_renamed_and_back_removed_nothing_by_it() {
    let service = Service::start();
    let stage = repository(&service);
    git(&stage, "mv stack other");
    commit(&stage, "away");
    git(&stage, "mv other stack");
    commit(&stage, "back");
    stage.remove("stack/legacy.yaml");
    let removed = commit(&stage, "removed");
    assert_eq!(named(&stage), Some(removed));
    stage.write("stack/legacy.yaml", &definition("shop/legacy", 1));
    commit(&stage, "added-again");
    git(&stage, "mv stack other");
    commit(&stage, "away-again");
    stage.remove("other/legacy.yaml");
    commit(&stage, "removed-elsewhere");
    git(&stage, "mv other stack");
    commit(&stage, "back-again");
    assert_eq!(named(&stage), None);
}
