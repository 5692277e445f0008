//! Files and answers that somebody made to do harm: each is refused in words, in bounded memory, and
//! nothing is written outside.

use std::os::unix::fs::symlink;
use std::process::{Command, Stdio};

use serde_json::json;

use crate::support::{Service, Stage, definition};

/// Address space that the program may take, in KiB: far below what the inputs would unfold to.
const MEMORY: usize = 1_500_000;

/// Validates the stage in bounded memory; gives code and what was said.
fn validate(stage: &Stage) -> (i32, String) {
    let limited = format!("ulimit -v {MEMORY}; exec {} validate .", env!("CARGO_BIN_EXE_trueup"));
    let output = Command::new("sh")
        .args(["-c", &limited])
        .current_dir(stage.path("."))
        .stdin(Stdio::null())
        .output()
        .expect("a shell");
    (output.status.code().unwrap_or(-1), String::from_utf8_lossy(&output.stderr).into_owned())
}

#[track_caller]
fn refused(stage: &Stage, word: &str) {
    let (code, errors) = validate(stage);
    assert_eq!(code, 1, "{}", &errors[..errors.len().min(2_000)]);
    assert!(errors.contains(word), "`{word}` is not in {}", &errors[..errors.len().min(2_000)]);
    assert!(errors.len() < 200_000, "{} bytes of errors", errors.len());
}

fn bomb() -> String {
    let mut text = String::from("a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n");
    for level in 1..12 {
        let below = vec![format!("*a{}", level - 1); 10].join(", ");
        text.push_str(&format!("a{level}: &a{level} [{below}]\n"));
    }
    format!("{text}metadata: {{name: a, namespace: shop}}\nspec: {{ip: 10.0.0.1}}\n")
}

#[test]
fn an_alias_bomb_is_refused() {
    refused(&Stage::new().file("bomb.yaml", &bomb()), "alias");
    // The careful reader meets it too.
    refused(&Stage::new().file("bomb.yaml", &format!("{}  # ${{x}}\n", bomb())), "bomb.yaml");
}

#[test]
fn depth_is_bounded_in_yaml_and_in_json() {
    for (file, open, close) in [("deep.yaml", "[", "]"), ("deep.json", "[", "]"), ("deep.yaml", "{a: ", "}")] {
        let text = format!("{}{}", open.repeat(100_000), close.repeat(100_000));
        refused(&Stage::new().file(file, &text), file);
    }
    refused(&Stage::new().file("deep.yaml", &"- ".repeat(100_000)), "deep.yaml");
}

#[test]
fn of_a_text_of_any_length_the_error_shows_a_part() {
    let places = [
        ("a.yaml", "metadata: {name: a, namespace: shop}\nspec: {ip: 10.0.0.1, port: @}\n"),
        ("a.yaml", "metadata: {name: a, namespace: shop}\nspec: {ip: 10.0.0.1, port: -0x@}\n"),
        ("a.yaml", "metadata: {name: a, namespace: shop}\nspec: {ip: @, port: 80}\n"),
        ("a.yaml", "metadata: {name: a, namespace: shop}\nspec: {dns_name: @, port: 80}\n"),
        ("a.yaml", "metadata: {name: a, namespace: shop}\nspec: {ip: 10.0.0.1, protocol: x@}\n"),
        ("a.yaml", "metadata: {name: a, namespace: shop}\nspec: {ip: 10.0.0.1, ? x@ : 1}\n"),
        ("a.yaml", "metadata: {name: a, namespace: shop, labels: {team: @}}\nspec: {ip: 10.0.0.1}\n"),
        ("a.yaml", "metadata: {name: a, namespace: shop, labels: {? x@ : a}}\nspec: {ip: 10.0.0.1}\n"),
        ("a.yaml", "metadata: {name: x@, namespace: shop}\nspec: {ip: 10.0.0.1}\n"),
        ("a.yaml", "metadata: {name: a, namespace: x@}\nspec: {ip: 10.0.0.1}\n"),
        ("a.yaml", "kind: x@\nmetadata: {name: a, namespace: shop}\nspec: {ip: 10.0.0.1}\n"),
        ("a.yaml", "kind: origin_pool\nmetadata: {name: a, namespace: shop}\nspec: {healthcheck: [{name: x@}]}\n"),
        ("a.yaml", "metadata: {name: a, namespace: shop}\nspec: {ip: '${x@}'}\n"),
        ("a.yaml", "metadata: {name: a, namespace: shop}\nspec: {ip: !x@ a}\n"),
        ("a.yaml", "metadata: {name: a, namespace: shop}\nspec: {ip: *x@}\n"),
        ("a.json", "{\"metadata\": {\"name\": \"a\", \"namespace\": \"shop\"}, \"spec\": {\"port\": @}}"),
        ("a.json", "{\"metadata\": {\"name\": \"a\", \"namespace\": \"shop\"}, \"x@\": 1}"),
        ("trueup.yaml", "stack: x@\nnamespaces: [shop]\n"),
        ("trueup.yaml", "stack: s\nnamespaces: [x@]\n"),
        ("trueup.yaml", "stack: s\nnamespaces: [shop]\nbase_url: x@\n"),
        ("trueup.yaml", "stack: s\nnamespaces: [shop]\nguards: {percent: @}\n"),
        ("trueup.yaml", "stack: s\nnamespaces: [shop]\nkinds: [x@]\n"),
        ("trueup.yaml", "stack: s\nnamespaces: [shop]\nfiles: {include: ['[x@']}\n"),
        ("trueup.yaml", "stack: s\nnamespaces: [shop]\n? x@\n: 1\n"),
    ];
    let long = "9".repeat(200_000);
    for (file, text) in places {
        let stage = Stage::new().file("trueup.yaml", "stack: s\nnamespaces: [shop]\n");
        stage.write("shop.yaml", &definition("shop/b", 80));
        stage.write(file, &text.replace('@', &long));
        let (code, errors) = validate(&stage);
        assert!(code == 1 && errors.len() < 20_000, "{text}: {code}, {} bytes: {errors:.3000}", errors.len());
    }
}

#[test]
fn a_file_of_two_gigabytes_is_not_read() {
    let stage = Stage::new().file("big.yaml", "");
    std::fs::File::options().write(true).open(stage.path("big.yaml")).unwrap().set_len(2 << 30).unwrap();
    refused(&stage, "big.yaml");
}

#[test]
fn symbolic_links_neither_loop_nor_leave_the_directory() {
    let stage = Stage::new().file("a.yaml", &definition("shop/a", 80));
    symlink(stage.path("c.yaml"), stage.path("b.yaml")).unwrap();
    symlink(stage.path("b.yaml"), stage.path("c.yaml")).unwrap();
    symlink(".", stage.path("loop")).unwrap();
    let (code, errors) = validate(&stage);
    assert!(code == 1 || code == 0, "{errors}");
    std::fs::remove_file(stage.path("b.yaml")).unwrap();
    std::fs::remove_file(stage.path("c.yaml")).unwrap();
    let (_, errors) = validate(&stage);
    assert!(!errors.contains("twice"), "{errors}");

    let stage = Stage::new().file("in/a.yaml", &definition("shop/a", 80)).file("secret.yaml", "password: hunter2\n");
    symlink("../secret.yaml", stage.path("in/out.yaml")).unwrap();
    let inside = Stage::new().file("a.yaml", &definition("shop/a", 80));
    symlink(stage.path("secret.yaml"), inside.path("out.yaml")).unwrap();
    refused(&inside, "out.yaml");
    assert!(!validate(&inside).1.contains("hunter2"));
}

#[test]
fn what_is_no_text_is_refused_with_its_place() {
    for bytes in [&b"metadata:\n  name: \xff\xfe\n"[..], b"metadata:\n  name: a\0b\n", b"\xff\xfem\0e\0"] {
        let stage = Stage::new().file("odd.yaml", "");
        std::fs::write(stage.path("odd.yaml"), bytes).unwrap();
        refused(&stage, "odd.yaml");
    }
}

#[test]
fn a_hundred_thousand_documents_are_refused_with_what_to_do() {
    let text = "---\nmetadata: {name: a, namespace: shop}\nspec: {ip: 10.0.0.1}\n".repeat(100_000);
    refused(&Stage::new().file("many.yaml", &text), "many.yaml");
    refused(&Stage::new().file("many.yaml", &"---\n[]\n".repeat(100_000)), "many.yaml");
}

#[test]
fn names_from_the_service_lead_nowhere_outside() {
    let service = Service::start();
    let long = "x".repeat(300);
    let names = ["../../x", "..", "/etc/x", "a/../../b", "a\u{0}b", "con\u{1b}[31m", long.as_str()];
    let seed = |name: &&str| json!({"metadata": {"name": name, "namespace": "shop"}, "spec": {"ip": "10.0.0.1"}});
    let seeds: Vec<_> = names.iter().map(seed).collect();
    service.plant(&json!(seeds));
    service.create(&json!({"metadata": {"name": "good", "namespace": "shop"}, "spec": {"ip": "10.0.0.1"}}));
    let stage = Stage::new().at(&service);
    let ran = stage.run("pull -n shop -o pulled");
    ran.code(7).stderr_contains("left out").stdout_contains("Pulled 1 endpoint");
    ran.does_not_say("\u{1b}");
    let root = stage.path("..");
    let files: Vec<_> = walkdir::WalkDir::new(&root)
        .into_iter()
        .map(|entry| entry.expect("an entry"))
        .filter(|entry| entry.file_type().is_file())
        .map(|entry| entry.path().strip_prefix(&root).expect("below").display().to_string())
        .collect();
    assert_eq!(files, ["work/pulled/.trueup.schema.json", "work/pulled/shop/good.yaml"]);
}
