//! `fmt`: which files it writes and names, and how it ends.

use crate::support::{Service, Stage, definition};

const ODD: &str =
    "# the cart\nspec:\n  port: 80 # plain\n  dnsName: a.example.net\nmetadata: {namespace: shop, name: cart}\n";
const EVEN: &str =
    "# the cart\nmetadata: {name: cart, namespace: shop}\nspec:\n  dns_name: a.example.net\n  port: 80 # plain\n";

#[test]
fn files_are_written_once_and_named() {
    let stage = Stage::new().file("a/odd.yaml", ODD).file("even.yaml", &definition("shop/even", 80));
    stage.run("fmt").code(0).stdout("a/odd.yaml\n");
    assert_eq!(stage.read("a/odd.yaml"), EVEN);
    stage.run("fmt").code(0).stdout("");
    stage.run("validate").code(0).stdout_contains("Valid: 2 endpoints");
    // A directory of a stack is that directory, and no other whose name begins so.
    let stage = Stage::new().file("trueup.yaml", "stack: s\n");
    for file in ["a/odd.yaml", "a/b/odd.yaml", "ab/odd.yaml"] {
        stage.write(file, ODD);
    }
    stage.run("fmt a").code(0).stdout("a/b/odd.yaml\na/odd.yaml\n");
}

#[test]
fn a_path_without_a_file_of_the_stack_is_an_error_and_one_of_several_is_named() {
    let stage = Stage::new()
        .file("trueup.yaml", "stack: s\nfiles: {exclude: ['z/**']}\n")
        .file("a.yaml", EVEN)
        .file("z/b.yaml", ODD)
        .file(".h.yaml", ODD);
    for path in ["z", "z .h.yaml"] {
        stage.run(&format!("fmt --check {path}")).code(1).stderr_contains("`z` contains no file of the stack in ");
    }
    // A hook passes every file that was changed, be it the only one.
    for path in ["z/b.yaml", ".h.yaml", "trueup.yaml"] {
        let none = format!("not formatted: `{path}` contains no file of the stack in ");
        stage.run(&format!("fmt --check {path}")).code(0).stderr_contains(&none);
    }
    let hook = stage.run("fmt --check a.yaml z/b.yaml trueup.yaml");
    hook.code(0).stderr_contains("not formatted: `z/b.yaml` contains").stderr_contains("not formatted: `trueup.yaml`");
    // A stack may have no file yet.
    stage.remove("a.yaml");
    stage.run("fmt --check").code(0);
}

#[test]
fn a_check_writes_nothing_and_exits_with_2() {
    let stage = Stage::new().file("stack/a.yaml", ODD).file("stack/b.yaml", &definition("shop/even", 80));
    stage
        .run("fmt --check stack")
        .code(2)
        .stdout("stack/a.yaml\n")
        .stderr("1 file is not in canonical form, of 2\n  to format: trueup fmt stack\n");
    assert_eq!(stage.read("stack/a.yaml"), ODD);
    stage.run("fmt --check stack/b.yaml").code(0).stdout("");
    stage.write("stack/trueup.yaml", "stack: s\n");
    let again = "to format: trueup fmt stack --config stack/trueup.yaml\n";
    stage.run("fmt --check stack --config stack/trueup.yaml").code(2).stderr_contains(again);
    stage.run("fmt stack").code(0).stdout("stack/a.yaml\n");
    stage.run("fmt --check stack").code(0).stdout("");
}

#[test]
fn overlays_are_formatted_and_other_documents_are_not() {
    let settings = "stack: s\nenvironments:\n  prod: {overlay: overlays/prod}\n  stage: {overlay: overlays/stage}\n";
    let stage = Stage::new()
        .file("trueup.yaml", settings)
        .file("a.yaml", EVEN)
        .file("overlays/prod/a.yaml", "spec: {port: 1}\nmetadata: {namespace: shop, name: cart}\n")
        .file("overlays/stage/a.yaml", "metadata: {name: cart, namespace: shop}\nspec: {healthCheckPort: 1}\n")
        .file("tenant.yaml", "kind: tenant\nspec: {b: 1, a: 1}\nmetadata: {}\n")
        .file("service.yaml", "apiVersion: v1\nkind: Service\nspec: {}\nmetadata: {creationTimestamp: null}\n")
        .file(".hidden/a.yaml", ODD);
    stage.run("fmt").code(0).stdout("overlays/prod/a.yaml\noverlays/stage/a.yaml\n");
    assert_eq!(stage.read("overlays/prod/a.yaml"), "metadata: {name: cart, namespace: shop}\nspec: {port: 1}\n");
    assert!(stage.read("overlays/stage/a.yaml").contains("health_check_port"));
}

#[test]
fn nothing_is_written_where_a_file_cannot_be_parsed() {
    let stage = Stage::new().file("a.yaml", ODD).file("b.yaml", "metadata: [\n");
    stage.run("fmt").code(1).stderr_contains("b.yaml:1:").stderr_contains("nothing was sent");
    assert_eq!(stage.read("a.yaml"), ODD);
    stage.run("fmt nosuch").code(1).stderr_contains("nosuch");
    // What is only wrong for the service can be formatted.
    let stage = Stage::new().file("a.yaml", &ODD.replace("80", "70000"));
    stage.run("fmt").code(0).stdout("a.yaml\n");
}

#[cfg(unix)]
#[test]
fn settings_that_cannot_be_read_leave_every_file_as_it_is() {
    let service = Service::start();
    let stage = Stage::stack(&service, "shop").file("cart.yaml", ODD).file("vendor/cart.yaml", ODD);
    let settings = format!("{}files: {{exclude: [vendor/**]}}\n", stage.read("trueup.yaml"));
    for wrong in ["stack: [\n", "gurds: {percent: 1}\n"] {
        stage.write("trueup.yaml", &format!("{settings}{wrong}"));
        stage.run("fmt").code(1).stderr_contains("trueup.yaml:");
        assert_eq!([stage.read("cart.yaml"), stage.read("vendor/cart.yaml")], [ODD, ODD]);
    }
    // An environment is for other commands.
    stage.write("trueup.yaml", &settings);
    let written = stage.env("TRUEUP_ENV", "prod");
    written.run("fmt").code(0);
    assert_eq!(written.read("vendor/cart.yaml"), ODD);
    assert_ne!(written.read("cart.yaml"), ODD);
}

#[test]
fn a_directory_of_stacks_is_none_and_a_file_beside_them_is_formatted_alone() {
    let stage = Stage::new().file("a/trueup.yaml", "stack: a\n").file("cart.yaml", ODD);
    let above = stage.run("fmt");
    above.code(1).stderr_contains("this directory is a stack, and the given one is not");
    above.stderr_contains("validate, plan, apply, drift and snapshot take --recursive");
    stage.run("fmt cart.yaml").code(0).stdout_contains("cart.yaml");
}

#[cfg(unix)]
#[test]
fn a_link_is_left_and_named_and_keeps_nothing_else_from_being_written() {
    let stage = Stage::new()
        .file("trueup.yaml", "stack: s\nfiles: {exclude: ['real/**']}\n")
        .file("real/a.yaml", ODD)
        .file("b.yaml", &ODD.replace("name: cart", "name: other"));
    std::os::unix::fs::symlink("real/a.yaml", stage.path("a.yaml")).expect("a link");
    let left = "left as it is: a.yaml: a link is never replaced; format the file that it leads to";
    stage.run("fmt --check").code(2).stdout("b.yaml\n").stderr_contains(left).stderr_contains("1 file is not");
    stage.run("fmt").code(0).stdout("b.yaml\n").stderr_contains(left);
    stage.run("fmt --check").code(0).stdout("").stderr_contains(left);
    assert_eq!(stage.read("real/a.yaml"), ODD);
}

#[test]
fn what_pull_writes_is_in_canonical_form() {
    let service = Service::start();
    let stage = Stage::example("02-every-group").at(&service).applied(".");
    let stage = Stage::new().at(&service).file("trueup.yaml", &stage.read("trueup.yaml"));
    stage.run("pull -o pulled").code(0).stdout_contains("Pulled 16 endpoints");
    stage.run("fmt --check pulled").code(0).stdout("");
}

#[cfg(unix)]
#[test]
fn a_link_out_of_the_directory_is_refused() {
    let stage = Stage::new().file("stack/b.yaml", ODD).file("outside.yaml", ODD);
    std::os::unix::fs::symlink(stage.path("outside.yaml"), stage.path("stack/a.yaml")).expect("a link");
    stage.run("fmt stack").code(1).stderr_contains("leads out of the stack's directory");
    assert_eq!(stage.read("outside.yaml"), ODD);
    assert_eq!(stage.read("stack/b.yaml"), ODD);
}
