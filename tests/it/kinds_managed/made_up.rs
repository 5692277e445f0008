//! A kind more is data alone: the program built of the same sources, with a made-up kind in `kinds/kinds.txt`, does with
//! its objects whatever it does with others.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

use serde_json::{Value, json};

use crate::support::TOKEN;

/// Lists in lists, two groups in a message, a map of messages, a reference to its own kind, fields that are fixed,
/// filled in, secret and written by the service alone.
const KIND: &str = "\
kind gear /api/config gears .gear.CreateSpecType+ in=user
enum gear.Material STEEL=0 BRASS=1
message gear.CreateSpecType+
  |drive required default=no_drive fill: no_drive driven_by
  |finish: coated no_finish
  bore uint32 required max=100 min=1
  driven_by .views.ObjectRefType to=gear
  coated .gear.Coating
  material =gear.Material immutable
  notes string max_len=64
  rims .gear.Rim[] max_items=4
  spares map<.gear.Coating> max_pairs=3
  seal .SecretType secret
  serial string read_only
  teeth uint32[] items.max=9
  < serial
message gear.Coating
  |by: by_hand by_machine
  layers uint32 max=5
  words string[]
message gear.Rim
  name string required
  marks .gear.Mark[] max_items=3
message gear.Mark
  |place required: inside outside
  angle uint32 max=359
";

const GEARS: &str = "\
kind: gear
metadata: {name: first, namespace: shop, labels: {team: web}}
spec:
  bore: 12
  material: BRASS
  coated: {layers: 2, by_hand: {}, words: [fine, blue]}
  rims:
  # The outer one.
  - name: outer
    marks:
    - {angle: 90, outside: {}}
    - {angle: 180, inside: {}}
  - name: inner
  spares: {a: {layers: 1}, b: {by_machine: {}}}
  teeth: [3, 5]
  seal: {blindfold_secret_info: {location: 'string:///c2VhbGVk'}}
---
kind: gear
metadata: {name: second, namespace: shop}
spec:
  bore: 8
  driven_by: {name: first, namespace: shop}
  no_finish: {}
";

/// The program with the kind, beside the one of these tests: what it depends on is built already.
fn built(directory: &Path) -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    for part in ["Cargo.lock", "action.yml", "benches", "docs", "examples", "kinds", "src", "templates"] {
        for entry in
            walkdir::WalkDir::new(root.join(part)).into_iter().map(|entry| entry.expect("a file of the project"))
        {
            let to = directory.join(entry.path().strip_prefix(root).expect("it is below"));
            if entry.file_type().is_dir() {
                std::fs::create_dir_all(to).expect("a directory");
            } else {
                std::fs::copy(entry.path(), to).expect("a file");
            }
        }
    }
    let manifest = std::fs::read_to_string(root.join("Cargo.toml")).expect("the manifest");
    let manifest = manifest
        .replacen("name = \"trueup\"\nversion", "name = \"trueup-with-gears\"\nversion", 1)
        .replace("default-run = \"trueup\"", "")
        .replace("[lib]\n", "[lib]\nname = \"trueup\"\n")
        .replace("[[bin]]\nname = \"trueup\"", "[[bin]]\nname = \"trueup-with-gears\"");
    let quick = "\n[profile.dev.package.trueup-with-gears]\ndebug = false\n";
    std::fs::write(directory.join("Cargo.toml"), manifest + quick).expect("the manifest");
    // With the features that the tests give to what it depends on.
    std::fs::create_dir(directory.join("tests")).expect("a directory");
    std::fs::write(directory.join("tests/none.rs"), "//! No test.").expect("a test");
    let kinds = directory.join("kinds/kinds.txt");
    let known = std::fs::read_to_string(&kinds).expect("the description");
    std::fs::write(kinds, known + KIND).expect("the description");
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).parent().expect("the directory of builds");
    // What cargo says of the package of these tests is nothing to this one, and would build what it depends on again.
    let of_package = ["CARGO_PKG_", "CARGO_MANIFEST_", "CARGO_BIN_", "CARGO_CRATE_", "CARGO_PRIMARY_"];
    let of_package = |name: &&str| of_package.iter().any(|prefix| name.starts_with(prefix));
    let variables: Vec<String> = std::env::vars().map(|(name, _)| name).collect();
    let mut cargo = Command::new(env!("CARGO"));
    variables.iter().map(String::as_str).filter(of_package).for_each(|name| _ = cargo.env_remove(name));
    let built = cargo
        .args(["test", "--quiet", "--offline", "--no-run", "--test", "none", "--target-dir"])
        .arg(target)
        .current_dir(directory)
        .env_remove("CARGO_TARGET_DIR")
        .env("CARGO_INCREMENTAL", "0")
        .output()
        .expect("cargo starts");
    assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
    target.join("debug/trueup-with-gears")
}

/// A directory of definitions, and the service of the program.
struct Gears {
    program: PathBuf,
    directory: tempfile::TempDir,
    service: Child,
    address: String,
}

impl Gears {
    fn start(program: PathBuf) -> Self {
        let mut service = Command::new(&program)
            .args(["sandbox", "--listen", "127.0.0.1:0"])
            .env_clear()
            .env("TRUEUP_SANDBOX_TOKEN", TOKEN)
            .stdout(Stdio::piped())
            .spawn()
            .expect("the program starts");
        let line = BufReader::new(service.stdout.take().expect("a pipe")).lines().next();
        let line = line.expect("a line").expect("a text");
        let address = line.split_once("http://").expect("an address").1.trim().to_owned();
        Self { program, directory: tempfile::tempdir().expect("a directory"), service, address }
    }

    #[track_caller]
    fn run(&self, line: &str, code: i32) -> String {
        let Output { status, stdout, stderr } = Command::new(&self.program)
            .args(line.split(' '))
            .current_dir(self.directory.path())
            .env_clear()
            .env("HOME", self.directory.path())
            .env("TRUEUP_BASE_URL", format!("http://{}", self.address))
            .env("TRUEUP_TOKEN", TOKEN)
            .output()
            .expect("the program starts");
        let said = format!("{}{}", String::from_utf8_lossy(&stdout), String::from_utf8_lossy(&stderr));
        assert_eq!(status.code(), Some(code), "{line}\n{said}");
        said
    }

    #[track_caller]
    fn says(&self, line: &str, code: i32, texts: &[&str]) {
        let said = self.run(line, code);
        for text in texts {
            assert!(said.contains(text), "`{text}` is not in what `{line}` says:\n{said}");
        }
    }

    fn write(&self, path: &str, text: &str) {
        std::fs::write(self.directory.path().join(path), text).expect("a file");
    }

    fn read(&self, path: &str) -> String {
        std::fs::read_to_string(self.directory.path().join(path)).expect("a file")
    }

    /// Sends a request to an object as somebody else would, and gives the body of the answer.
    fn send(&self, method: &str, name: &str, body: &str) -> Value {
        let mut stream = TcpStream::connect(&self.address).expect("a connection");
        write!(
            stream,
            "{method} /api/config/namespaces/shop/gears/{name} HTTP/1.1\r\nHost: {}\r\nConnection: close\r\n\
             Authorization: APIToken {TOKEN}\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
            self.address,
            body.len()
        )
        .expect("a request");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).expect("an answer");
        assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
        serde_json::from_str(answer.split_once("\r\n\r\n").expect("a body").1).expect("JSON")
    }
}

impl Drop for Gears {
    fn drop(&mut self) {
        self.service.kill().expect("it runs");
        self.service.wait().expect("it ends");
    }
}

#[test]
fn a_kind_more_needs_no_line_of_rust() {
    assert!(KIND.lines().count() <= 30);
    let sources = tempfile::tempdir().expect("a directory");
    let gears = Gears::start(built(sources.path()));
    gears.write("trueup.yaml", "stack: gears\nnamespaces: [shop]\nkinds: [gear]\n");
    gears.says("kinds", 0, &["gear "]);
    gears.says("explain gear.spec.rims.marks", 0, &["angle"]);
    let schema: Value = serde_json::from_str(&gears.run("schema --kind gear", 0)).expect("JSON");
    assert!(schema.to_string().contains("spares"), "{schema:#}");

    let wrong = GEARS.replace("bore: 12", "bore: 120").replace("angle: 90", "angel: 90");
    gears.write("gears.yaml", &wrong.replace("by_hand: {}", "by_hand: {}, by_machine: {}"));
    gears.says("validate .", 1, &["`bore` is 120", "did you mean `angle`?", "`by_machine`"]);
    gears.write(
        "gears.yaml",
        &GEARS.replace("{name: first, namespace: shop}\n  no", "{name: third, namespace: shop}\n  no"),
    );
    gears.says("plan .", 1, &["`gear:shop/third` is neither defined nor live", "did you mean `gear:shop/first`?"]);

    gears.write("gears.yaml", GEARS);
    gears.says("validate .", 0, &[]);
    gears.says("plan . --order", 0, &["wave 1  gear:shop/first", "wave 2  gear:shop/second", "2 to create"]);
    gears.says("apply . --yes", 0, &["2 created", "Verified"]);
    gears.says("plan .", 0, &["In sync"]);
    gears.says("drift .", 0, &["In sync"]);

    gears.write("gears.yaml", &GEARS.replace("angle: 180", "angle: 270").replace("teeth: [3, 5]", "teeth: [3, 5, 7]"));
    gears.says("plan .", 0, &["pending", "spec.rims[outer].marks[1].angle 180 -> 270", "spec.teeth[2]"]);
    gears.says("apply . --yes", 0, &["1 replaced", "Verified"]);
    gears.says("rollback last --yes", 0, &["270 -> 180", "Verified"]);
    gears.says("plan .", 0, &["spec.rims[outer].marks[1].angle 180 -> 270"]);
    gears.write("gears.yaml", GEARS);
    gears.says("drift .", 0, &["In sync"]);

    let mut object = gears.send("GET", "first", "");
    object["spec"]["rims"][0]["marks"][0]["angle"] = 45.into();
    object["spec"]["seal"] = json!({"blindfold_secret_info": {"location": "string:///c2VhbGVk"}});
    gears.send("PUT", "first", &json!({"metadata": object["metadata"], "spec": object["spec"]}).to_string());
    gears.says("drift .", 3, &["spec.rims[outer].marks[0].angle"]);
    gears.says("pull --drift .", 0, &["spec.rims"]);
    assert_eq!(gears.read("gears.yaml"), GEARS.replace("angle: 90", "angle: 45"), "its comment stays");
    gears.says("drift .", 0, &["In sync"]);

    let kept = gears.read("gears.yaml");
    gears.write("gears.yaml", "");
    gears.says("pull -n shop --output pulled", 0, &["spec.seal of gear:shop/first"]);
    assert!(gears.read("pulled/shop/gear/first.yaml").contains("- angle: 45"));
    std::fs::remove_dir_all(gears.directory.path().join("pulled")).expect("a directory");
    gears.write("gears.yaml", kept.split("---").next().expect("the first"));
    gears.says("apply . --yes --allow mass-change", 0, &["1 deleted", "Verified"]);
}
