//! Links and special files where a file is expected, inputs without an end, and outputs that cannot be
//! written: nothing outside is read, quoted or overwritten, and nothing hangs.

use std::fs::File;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, symlink};
use std::process::Stdio;

use crate::support::{Ran, Service, Stage, definition};

/// What must never be shown: a variable of the process and the text of a file outside.
const SECRET: &str = "hunter2-in-the-environment";

/// A stack in a repository, beside which a secret lies.
fn stage(service: &Service) -> Stage {
    let stage = Stage::new()
        .at(service)
        .env("PLANTED", &format!("metadata: {SECRET}"))
        .file("stack/trueup.yaml", "stack: files\nnamespaces: [shop]\nenvironments: {prod: {overlay: over}}\n")
        .file("stack/shop/cart.yaml", &definition("shop/cart", 80));
    std::fs::write(stage.path("../secret.yaml"), format!("{SECRET}: {SECRET}\n")).expect("a file outside");
    std::fs::create_dir(stage.path(".git")).expect("a repository");
    stage
}

/// Puts a link in the place of whatever is there.
fn link(stage: &Stage, path: &str, target: &str) {
    let path = stage.path(path);
    std::fs::create_dir_all(path.parent().expect("a directory")).expect("directories");
    let _ = std::fs::remove_file(&path);
    symlink(target, path).expect("a link");
}

fn fifo(stage: &Stage, path: &str) {
    let path = stage.path(path);
    let _ = std::fs::remove_file(&path);
    assert!(std::process::Command::new("mkfifo").arg(path).status().expect("mkfifo").success());
}

#[test]
fn a_document_that_a_command_wrote_is_no_definition_and_no_plan() {
    let service = Service::start();
    let stage = Stage::stack(&service, "shop").file("cart.yaml", &definition("shop/cart", 80));
    let fleet = "drift . . --format json";
    for call in
        ["plan . --format json", "drift . --format json", "validate . --json", "explain variables . --json", fleet]
    {
        let written = stage.run(call);
        stage.write("document.json", written.stderr_ignored().text());
        stage.run("validate .").code(0).stdout_contains("1 endpoint").stderr_ignored();
        stage.run("apply document.json --yes").code(64).stderr_contains("is not a saved plan: its kind is `");
        assert!(!service.has("shop/cart"));
    }
    // One that says that it is a definition is read as one.
    stage.write("document.json", r#"{"kind": "endpoint", "format_version": 1, "metadata": {}, "spec": {}}"#);
    stage.run("validate .").code(1).stderr_contains("unknown field `format_version`");
}

#[track_caller]
fn refused(ran: &Ran, code: i32, word: &str) {
    ran.code(code).stderr_contains(word).does_not_say("hunter2");
}

/// Every command with every input file, by what it reads at `{}`.
const INPUTS: [(&str, &str); 11] = [
    ("stack/trueup.yaml", "validate stack"),
    ("stack/trueup.yaml", "plan stack"),
    ("stack/trueup.yaml", "pull -n shop -o stack"),
    ("stack/shop/cart.yaml", "validate stack"),
    ("stack/shop/cart.yaml", "validate stack/shop/cart.yaml"),
    ("stack/over/cart.yaml", "validate stack --env prod"),
    ("stack/acknowledged.yaml", "drift stack --acknowledged stack/acknowledged.yaml"),
    ("stack/memory.json", "drift stack --drift-state stack/memory.json"),
    ("stack/live.json", "plan stack --live stack/live.json"),
    ("stack/plan.json", "apply stack/plan.json --yes"),
    ("faults.yaml", "rehearse stack --faults faults.yaml"),
];

#[test]
fn what_lies_outside_is_neither_read_nor_quoted() {
    let service = Service::start();
    for target in ["/proc/self/environ", "../../../secret.yaml", "/dev/zero", "/etc/passwd"] {
        for (path, line) in INPUTS {
            let stage = stage(&service);
            // From each of these directories the secret is at one of two distances.
            let up =
                if path.starts_with("stack/shop/") || path.starts_with("stack/over/") { "../../../" } else { "../../" };
            let up = if path == "faults.yaml" { "../" } else { up };
            link(&stage, path, &target.replace("../../../", up));
            let ran = stage.run(line);
            assert_eq!(ran.exit(), 1, "{line} with {path} -> {target}: {}", ran.text());
            refused(&ran, 1, "leads out");
        }
    }
    let stage = stage(&service);
    link(&stage, "stack/body.json", "/proc/self/environ");
    let ran = stage.run("call svc-api-servicemesh-endpoint-create --param namespace=shop --body stack/body.json --yes");
    refused(&ran, 1, "leads out");
}

#[test]
fn a_link_that_stays_inside_is_followed() {
    let service = Service::start();
    let stage = stage(&service).file("stack/config/real.yaml", "stack: files\nnamespaces: [shop]\n");
    stage.write("stack/trueup.yaml", "stack: files\nnamespaces: [shop]\nfiles: {exclude: ['config/**']}\n");
    stage.write("stack/.hidden/cart", &definition("shop/linked", 80));
    link(&stage, "stack/shop/linked.yaml", "../.hidden/cart");
    stage.run("validate stack").code(0).stdout_contains("2 endpoints");
    // A token is mounted as a link to elsewhere.
    std::fs::write(stage.path("../token"), "another-token-of-the-stage").expect("a file outside");
    link(&stage, "token", "../token");
    let ran = stage.run("plan stack --token-file token");
    ran.code(5).does_not_say("another-token").stderr_contains("401");
}

#[test]
fn a_pipe_in_the_place_of_a_file_holds_nothing_up() {
    let service = Service::start();
    for (path, line) in [("stack/trueup.yaml", "plan stack"), ("stack/shop/cart.yaml", "plan stack")] {
        let stage = stage(&service);
        fifo(&stage, path);
        refused(&stage.run(line), 1, "regular file");
    }
}

#[test]
fn a_settings_file_that_cannot_be_read_is_never_an_absent_one() {
    let service = Service::start();
    let stage = stage(&service);
    link(&stage, "stack/trueup.yaml", "nowhere");
    refused(&stage.run("plan stack"), 1, "trueup.yaml");
    std::fs::remove_file(stage.path("stack/trueup.yaml")).expect("it was there");
    std::fs::create_dir(stage.path("stack/trueup.yaml")).expect("a directory");
    refused(&stage.run("plan stack"), 1, "trueup.yaml");
}

#[test]
fn no_write_follows_a_link() {
    let service = Service::start();
    let victim = |stage: &Stage| std::fs::read_to_string(stage.path("../secret.yaml")).expect("it is there");
    for (path, line) in [
        ("stack/plan.json", "plan stack -o stack/plan.json"),
        ("stack/live.json", "snapshot stack -o stack/live.json"),
        ("pulled/shop/cart.yaml", "pull -n shop -o pulled --overwrite"),
        ("pulled/.trueup.schema.json", "pull -n shop -o pulled --overwrite"),
    ] {
        let stage = stage(&service);
        if !service.has("shop/cart") {
            stage.run("apply stack --yes").code(0).stderr_ignored();
        }
        let up = "../".repeat(path.split('/').count());
        link(&stage, path, &format!("{up}secret.yaml"));
        let before = victim(&stage);
        let ran = stage.run(line);
        ran.stderr_contains("link").does_not_say("hunter2");
        assert_eq!(ran.exit(), 1, "{line}");
        assert_eq!(victim(&stage), before, "{line}");
    }
    // A directory of a pull that leads elsewhere.
    let stage = stage(&service);
    std::fs::create_dir(stage.path("../elsewhere")).expect("a directory outside");
    link(&stage, "pulled/shop", "../../elsewhere");
    refused(&stage.run("pull -n shop -o pulled"), 1, "leads out");
    assert_eq!(std::fs::read_dir(stage.path("../elsewhere")).expect("a directory").count(), 0);
    // What was there by a name that could be foreseen is left alone.
    link(&stage, "memory.json.new", "../secret.yaml");
    let before = victim(&stage);
    stage.run("drift stack --drift-state memory.json").stderr_ignored();
    assert_eq!(victim(&stage), before);
    refused(&stage.run("plan stack -o /dev/stdout"), 1, "symbolic link");
}

#[test]
fn the_state_directory_is_for_its_owner_alone() {
    let service = Service::start();
    let stage = stage(&service);
    let mode = |path: &str, mode: u32| {
        std::fs::set_permissions(stage.path(path), std::fs::Permissions::from_mode(mode)).expect("a mode");
    };
    std::fs::create_dir(stage.path("../shared")).expect("a directory");
    mode("../shared", 0o777);
    let apply = || stage.run(&format!("apply stack --yes --state {}", stage.path("../shared").display()));
    let ran = apply();
    assert_eq!(ran.exit(), 1, "{}", ran.text());
    ran.stderr_contains("can be written by everyone");
    assert!(!service.has("shop/cart"));
    mode("../shared", 0o1777);
    apply().code(0).stderr_ignored();
    mode("../shared/runs", 0o777);
    stage.edit("stack/shop/cart.yaml", "port: 80", "port: 81");
    apply().stderr_contains("can be written by everyone");
    mode("../shared/runs", 0o700);
    std::fs::rename(stage.path("../shared/locks"), stage.path("../shared/moved")).expect("renamed");
    link(&stage, "../shared/locks", "moved");
    apply().stderr_contains("is a symbolic link");
    assert_eq!(service.get("shop/cart")["spec"]["port"], 80);
}

/// Nested so deep that a reader which recurses ends by a signal, or so often that one never ends.
fn hostile() -> Vec<(&'static str, String)> {
    let mut bomb = String::from("a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n");
    for level in 1..12 {
        bomb.push_str(&format!("a{level}: &a{level} [{}]\n", vec![format!("*a{}", level - 1); 10].join(", ")));
    }
    vec![
        ("depth of lists", "[".repeat(100_000)),
        ("closed lists", format!("{}{}", "[".repeat(100_000), "]".repeat(100_000))),
        ("depth of maps", "{\"a\":".repeat(100_000)),
        ("dashes", "- ".repeat(100_000)),
        ("aliases", bomb),
        ("nothing", String::new()),
        ("no text", "\u{0}\u{1}\u{feff}".to_owned()),
    ]
}

#[test]
fn every_input_is_bounded_in_size_depth_and_time() {
    let service = Service::start();
    let inputs = [
        "drift stack --acknowledged input",
        "drift stack --drift-state input",
        "plan stack --live input",
        "rehearse stack --faults input",
        "sandbox --tenant input",
        "sandbox --faults input",
        "plan stack --token-file input",
        "call svc-api-servicemesh-endpoint-create --param namespace=shop --yes --body input",
    ];
    for line in inputs {
        let stage = stage(&service);
        let bounded = |what: &str| {
            // A sandbox without faults or objects is served until it is ended.
            let seconds = if what == "nothing" { "20" } else { "120" };
            let shell = format!("ulimit -v 1500000; exec {} {line}", env!("CARGO_BIN_EXE_trueup"));
            let output = std::process::Command::new("timeout")
                .args([seconds, "sh", "-c", &shell])
                .current_dir(stage.path("."))
                .env("TRUEUP_BASE_URL", service.url())
                .env("TRUEUP_TOKEN", crate::support::TOKEN)
                .env("HOME", stage.path(".."))
                .stdin(Stdio::null())
                .output()
                .expect("a shell");
            let code = output.status.code().unwrap_or(-1);
            let stderr = String::from_utf8_lossy(&output.stderr);
            let lines: String = stderr.chars().take(2_000).collect();
            (code, lines, what.to_owned())
        };
        let file = File::create(stage.path("input")).expect("a file");
        file.set_len(3 << 30).expect("a sparse file");
        let (code, errors, _) = bounded("size");
        assert!(code == 1 && errors.contains("larger than the allowed"), "{line}: {code} {errors}");
        for (what, text) in hostile() {
            stage.write("input", &text);
            let (code, errors, what) = bounded(what);
            // An empty file of faults, acknowledgements or a tenant says nothing, which is allowed.
            let may_be_empty = what == "nothing";
            assert!(matches!(code, 1 | 6) || may_be_empty, "{line}, {what}: {code} {errors}");
        }
    }
}

/// A command of each family, its answer, and how it ends on a full disk.
#[test]
fn an_answer_that_cannot_be_written_is_an_error() {
    let service = Service::start();
    let stage = stage(&service);
    let full = |line: &str| {
        let words: Vec<&str> = line.split(' ').collect();
        let disk = File::options().write(true).open("/dev/full").expect("a full disk");
        let output = stage.command(&words).stdin(Stdio::null()).stdout(disk).output().expect("it starts");
        (output.status.code().unwrap_or(-1), String::from_utf8_lossy(&output.stderr).into_owned())
    };
    for line in [
        "plan stack",
        "plan stack --format json",
        "plan stack --format markdown",
        "plan stack --format html",
        "plan stack --format sarif",
        "plan stack --detailed-exitcode",
        "drift stack",
        "drift stack --format json",
        "drift stack --format junit",
        "validate stack",
        "validate stack --format json",
        "schema",
        "explain",
        "completions bash",
        "man",
        "history",
        "events --namespace shop",
        "events --namespace shop --format json",
        "events --namespace shop --by country",
        "ddos list",
        "upgrades versions",
        "call --list",
        "call svc-api-servicemesh-endpoint-list --param namespace=shop",
        "pull -n shop -o pulled",
        "snapshot stack -o live.json",
        "rehearse stack",
        "sandbox --listen 127.0.0.1:0",
        "--help",
        "--version",
        "plan --help",
    ] {
        let (code, errors) = full(line);
        assert_eq!(code, 1, "{line}: {errors}");
        assert!(errors.contains("cannot write the answer") && errors.contains("No space left"), "{line}: {errors}");
    }
    assert!(!service.has("shop/cart"));
    let (code, errors) = full("apply stack --yes");
    assert_eq!(code, 7, "{errors}");
    assert!(errors.contains("cannot write the answer") && errors.contains("the changes were made"), "{errors}");
    assert!(service.has("shop/cart"));
    // Nothing to do: nothing was made.
    assert_eq!(full("apply stack --yes").0, 1);
    // A reader that goes away is none of our business.
    for line in ["plan stack", "schema", "man", "call --list"] {
        let words: Vec<&str> = line.split(' ').collect();
        let (reader, writer) = std::io::pipe().expect("a pipe");
        drop(reader);
        let output = stage.command(&words).stdin(Stdio::null()).stdout(writer).output().expect("it starts");
        assert_eq!(output.status.code(), Some(0), "{line}");
        assert_eq!(String::from_utf8_lossy(&output.stderr), "", "{line}");
    }
}

#[test]
fn the_sandbox_takes_no_token_of_a_real_service() {
    use std::io::BufRead as _;
    let real = "a-real-token-of-a-real-tenant";
    let stage = Stage::new().env("TRUEUP_TOKEN", real).env("F5XC_API_TOKEN", real);
    let words = ["sandbox", "--listen", "127.0.0.1:0", "--data", "data/tenant.redb", "--log", "data/log.jsonl"];
    let mut child = stage.command(&words).stdout(Stdio::piped()).spawn().expect("it starts");
    let lines = std::io::BufReader::new(child.stdout.take().expect("stdout")).lines();
    let lines: Vec<String> = lines.map(|line| line.expect("text")).take(4).collect();
    let mode = |path: &str| stage.path(path).metadata().expect("it is there").permissions().mode() & 0o777;
    let modes = (mode("data/tenant.redb"), mode("data/log.jsonl"));
    child.kill().expect("it runs");
    child.wait().expect("it ended");
    let token = lines.iter().find_map(|line| line.trim().strip_prefix("export TRUEUP_TOKEN="));
    assert!(token.is_some_and(|token| token != real), "{lines:?}");
    assert_eq!(modes, (0o600, 0o600));
}

#[test]
fn a_short_token_is_for_this_machine_alone() {
    let stage = Stage::new().env("TRUEUP_TOKEN", "tok").file("a.yaml", &definition("shop/a", 80));
    stage.run("plan . --base-url https://service.example.net").code(1).stderr_contains("shorter than 16 characters");
    let service = Service::with(|options| options.token = trueup::sandbox::RequiredToken::new("tok")).with_token("tok");
    service.create(&serde_json::json!({
        "metadata": {"name": "stock", "namespace": "shop", "description": "the stock"}, "spec": {"ip": "10.0.0.1"}
    }));
    stage.run(&format!("plan . --base-url {}", service.url())).code(0).stdout_contains("stock");
}

#[test]
fn what_pull_writes_is_what_a_load_reads() {
    let service = Service::start();
    for name in ["trueup", "con", "nul", "aux", "prn", "com1", "lpt9", "console", "trueup-x"] {
        service.create(&serde_json::json!({
            "metadata": {
                "name": name, "namespace": "shop", "description": "${HOME} $${x} $$${ a ${",
                "labels": {"tier": "web"}, "annotations": {"a": "${b}", "c": "$${d}"}
            },
            "spec": {"ip": "10.0.0.1", "port": 80}
        }));
    }
    service.create(&serde_json::json!({
        "metadata": {"name": "odd", "namespace": "shop", "annotations": {"${key}": "x"}}, "spec": {"ip": "10.0.0.1"}
    }));
    for namespace in ["con", "pay"] {
        service.create(&serde_json::json!({
            "metadata": {"name": "a", "namespace": namespace}, "spec": {"ip": "10.0.0.1"}
        }));
    }
    let stage = Stage::new().at(&service);
    stage
        .run("pull -n shop -n con -o pulled")
        .code(7)
        .stderr_contains("left out: shop/odd")
        .stdout_contains("Pulled 10 endpoints");
    stage.run("validate pulled").code(0).stdout_contains("10 endpoints");
    let plan = stage.run("plan pulled --format json").code(0).stderr_ignored().json();
    assert_eq!(plan["plan"]["changes"].as_array().map(Vec::len), Some(0), "{plan:#}");
    for file in ["shop/trueup_.yaml", "shop/con_.yaml", "shop/com1_.yaml", "shop/console.yaml", "con_/a.yaml"] {
        assert!(stage.path("pulled").join(file).is_file(), "{file}");
    }
    // Into a stack whose settings take some of them for something else.
    let settings = "stack: s\nnamespaces: [shop, pay]\nenvironments: {prod: {overlay: pay}}\n";
    let stage = Stage::new().at(&service).file("trueup.yaml", settings);
    let ran = stage.run("pull -n shop -n pay -n con -o .");
    ran.code(7)
        .stderr_contains("left out: pay/a")
        .stderr_contains("left out: con/a")
        .stderr_contains("left out: shop/odd");
    stage.run("validate .").code(0).stdout_contains("9 endpoints");
}

/// Alice edits the file of another user of her team, which the team alone may read and write.
#[test]
fn a_file_of_another_user_stays_with_its_group() {
    let shared = tempfile::tempdir().expect("a directory");
    let path = |name: &str| shared.path().join(name);
    std::fs::write(path("cart.yaml"), "spec: {ip: 192.0.2.4}\nmetadata: {name: cart, namespace: shop}\n")
        .expect("a file");
    std::fs::copy(env!("CARGO_BIN_EXE_trueup"), path("trueup")).expect("a program");
    let mode = |name: &str, mode| std::fs::set_permissions(path(name), std::fs::Permissions::from_mode(mode));
    mode("", 0o777).and_then(|()| mode("cart.yaml", 0o660)).expect("modes");
    if std::os::unix::fs::chown(path("cart.yaml"), Some(4711), Some(4712)).is_err() {
        eprintln!("NOT TESTED: a file of another user: only root can make one");
        return;
    }
    let formatted_by = |groups: &str| {
        let mut alice = std::process::Command::new("setpriv");
        alice.args(["--reuid", "4713", "--regid", "4714", groups]).arg(path("trueup")).args(["fmt", "cart.yaml"]);
        let run = alice.current_dir(shared.path()).env_clear().output().expect("setpriv");
        assert!(run.status.success(), "{run:?}");
        let now = path("cart.yaml").metadata().expect("a file");
        (now.gid(), now.permissions().mode() & 0o777)
    };
    assert_eq!(formatted_by("--groups=4712"), (4712, 0o660));
    // Who is not of the team cannot give it to the team, and does not give it to others.
    std::fs::write(path("cart.yaml"), "spec: {ip: 192.0.2.4}\nmetadata: {name: cart, namespace: shop}\n")
        .expect("a file");
    std::os::unix::fs::chown(path("cart.yaml"), Some(4711), Some(4712)).expect("root");
    mode("cart.yaml", 0o664).expect("a mode");
    assert_eq!(formatted_by("--clear-groups"), (4714, 0o644));
}

#[test]
fn an_emptied_file_is_noted_beside_the_delete_that_it_means() {
    let service = Service::start();
    let stage = Stage::new()
        .at(&service)
        .file("mesh/trueup.yaml", "stack: s\nnamespaces: [shop]\n")
        .file("mesh/cart.yaml", &definition("shop/cart", 80))
        .file("mesh/list.yaml", &definition("shop/list", 80));
    stage.run("apply mesh --yes --quiet").code(0);
    stage.write("mesh/list.yaml", "");
    stage
        .run("plan mesh")
        .code(0)
        .stdout_contains("- delete  shop/list")
        .stdout_contains("note  list.yaml:1: the file is empty");
    let checked = stage.run("validate mesh");
    checked.code(0).stderr_contains("note: the file is empty").stderr_contains("--> mesh/list.yaml:1:1");
}

#[test]
fn an_emptied_overlay_is_noted_beside_the_change_that_it_means() {
    let service = Service::start();
    let overlay = "metadata: {name: cart, namespace: shop}\nspec: {port: 443}\n";
    let stage = Stage::new()
        .at(&service)
        .file("trueup.yaml", "namespaces: [shop]\nenvironments: {prod: {stack: s, overlay: prod}}\n")
        .file("cart.yaml", &definition("shop/cart", 80))
        .file("prod/cart.yaml", overlay);
    stage.run("apply . --env prod --yes --quiet").code(0);
    stage.write("prod/cart.yaml", "\n");
    stage
        .run("plan . --env prod")
        .code(0)
        .stdout_contains("443 -> 80 ")
        .stdout_contains("note  prod/cart.yaml:1: the file is empty");
    stage.run("validate . --env prod").code(0).stderr_contains("it changes nothing");
}

#[cfg(unix)]
#[test]
fn an_output_in_the_place_of_a_link_or_a_directory_is_refused_before_anything_is_sent() {
    let service = Service::start();
    let stage = Stage::stack(&service, "shop").file("cart.yaml", &definition("shop/cart", 80)).applied(".");
    stage.edit("cart.yaml", "port: 80", "port: 81");
    std::fs::create_dir(stage.path("../directory")).expect("a directory");
    symlink("run.json", stage.path("../link")).expect("a link");
    for (path, what) in [("../link", "is a symbolic link"), ("../directory", "is not a regular file")] {
        for format in ["json", "prometheus"] {
            let ran = stage.run(&format!("apply . --yes --write {format}={path}"));
            refused(&ran, 1, what);
        }
    }
    assert_eq!(service.get("shop/cart")["spec"]["port"], 80);
}

#[test]
fn no_output_replaces_definitions_or_settings() {
    let service = Service::start();
    let stage = Stage::stack(&service, "shop").file("cart.yaml", &definition("shop/cart", 80)).applied(".");
    stage.edit("cart.yaml", "port: 80", "port: 81");
    for path in ["cart.yaml", "trueup.yaml"] {
        let before = stage.read(path);
        for line in [
            format!("plan . -o {path}"),
            format!("apply . --yes --write json={path}"),
            format!("apply . --yes --write prometheus={path}"),
            format!("drift . --format json -o {path}"),
            format!("drift . --write json={path}"),
            format!("snapshot . -o {path}"),
            format!("rollback last -o {path}"),
        ] {
            stage.run(&line).code(64).stderr_contains("would be replaced");
            assert_eq!(stage.read(path), before, "{line}");
        }
    }
    for line in ["plan . -o -", "apply . --yes --write json=-", "snapshot . -o -"] {
        stage.run(line).code(64).stderr_contains("`-` is not a file");
        assert!(!stage.path("-").exists(), "{line}");
    }
    assert_eq!(service.get("shop/cart")["spec"]["port"], 80);
    for _ in 0..2 {
        stage.run("plan . -o plan.json").code(0);
    }
}
