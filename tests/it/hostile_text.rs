//! Texts that somebody wrote to act on whoever reads them: terminal escapes, direction marks, commands
//! of pipeline runners, markup. They stand in every text field of a live object, of a definition and of
//! an error of the service, and every format of every command that shows them is searched for what
//! would still act.

use proptest::prelude::*;
use serde_json::{Value, json};

#[cfg(unix)]
use crate::support::definition;
use crate::support::{Service, Stage};

/// What acts, wherever it reaches a terminal, a log, a page or a comment.
const ACTS: &[&str] = &[
    "\u{1b}[31mred",
    "\u{1b}]8;;https://evil.example\u{7}link",
    "\u{9b}2J",
    "\u{85}next",
    "admin\u{202e}nimda",
    "\u{2066}isolated",
    "zero\u{200b}width",
    "\r::error::forged",
    "\n::add-mask::forged",
    "\n##[error]forged",
    "##vso[task.setvariable variable=x]forged",
    "\u{1b}[0Ksection_start:1:forged\r",
    "<script>alert(1)</script>",
    "\"><img src=x onerror=alert(1)>",
    "]]><forged/>",
    "\n| forged | row |\n",
    "[forged](https://evil.example)",
    "forged\nforged_total 1",
];

/// Formats of `plan` and `drift`, by how they are read.
const PLAN: &[&str] = &["text", "json", "markdown", "html", "github", "sarif"];
const DRIFT: &[&str] = &["text", "json", "markdown", "github", "junit", "prometheus", "sarif", "acknowledgements"];

/// Fails where `output` still acts on a terminal or on a runner, or where the format lets markup through.
#[track_caller]
fn is_harmless(what: &str, format: &str, output: &str) {
    for character in output.chars() {
        let acts = (character.is_control() && character != '\n' && character != '\t')
            || matches!(character, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{200b}');
        assert!(!acts, "{what}: {character:?} in\n{output}");
    }
    for line in output.lines().map(str::trim_start) {
        let command = line.starts_with("::") && line.contains("forged") && line[2..].contains("::");
        // The annotations of GitHub are commands of ours, whose texts may name what was forged.
        let ours = format == "github" && !line.starts_with("::error::forged") && !line.starts_with("::add-mask");
        assert!(!command || ours, "{what}: a command in the line {line}");
    }
    assert!(!output.contains("##[") && !output.contains("##vso["), "{what}: a command in\n{output}");
    // Markdown shows such text as code; `report::markdown` renders it in its own tests.
    if matches!(format, "html" | "junit") {
        for markup in ["<script>alert", "<img src=x", "<forged"] {
            assert!(!output.contains(markup), "{what}: {markup} in\n{output}");
        }
    }
    // A viewer of SARIF shows a link in a text.
    assert!(format != "sarif" || !output.contains("]("), "{what}: a link in\n{output}");
    if format == "prometheus" {
        assert!(!output.lines().any(|line| line.starts_with("forged")), "{what}: a metric in\n{output}");
    }
}

/// A live object of which every text is `text`.
fn object(name: &str, text: &str) -> Value {
    json!({
        "metadata": {
            "name": name, "namespace": "shop", "description": text,
            "labels": {"tier": text}, "annotations": {"note": text},
        },
        "spec": {"ip": "10.0.0.7", "port": 80},
    })
}

/// JSON in plain ASCII: a definition may hold any character, but not write each of them out.
fn escaped(document: &str) -> String {
    let escape = |c: char| match c.is_ascii() {
        true => c.to_string(),
        false => c.encode_utf16(&mut [0; 2]).iter().map(|unit| format!("\\u{unit:04x}")).collect(),
    };
    document.chars().map(escape).collect()
}

fn check(text: &str) {
    let service = Service::start();
    let mut newer = object("newer", text);
    newer["raw_spec"] = json!({"ip": "10.0.0.7", text: text, "port": 80});
    newer.as_object_mut().expect("an object").remove("spec");
    // A definition must not contain such a label.
    let mut described = object("described", text);
    described["metadata"]["labels"] = json!({"tier": "web"});
    described["metadata"]["annotations"][text.chars().take(60).collect::<String>()] = text.into();
    service.plant(&json!([object("cart", text), object("unmanaged", text), newer, described]));
    let definition = json!({
        "metadata": {"name": "cart", "namespace": "shop", "description": format!("wanted {}", text.replace("${", "$${"))},
        "spec": {"ip": "10.0.0.7", "port": 81},
    });
    let stage = Stage::new()
        .at(&service)
        .file("stack/trueup.yaml", "stack: shop\nnamespaces: [shop]\nprune: all\n")
        .file("stack/cart.json", &escaped(&definition.to_string()));
    let mut shown = 0;
    let mut run = |line: &str, format: &str| {
        let ran = stage.run(line);
        is_harmless(line, format, ran.text());
        is_harmless(line, "stderr", ran.errors());
        shown += usize::from(ran.text().contains("cart"));
    };
    for format in PLAN {
        run(&format!("plan stack --allow mass-change --format {format}"), format);
    }
    for format in DRIFT {
        run(&format!("drift stack --unmanaged fail --format {format}"), format);
    }
    for line in ["pull -n shop -o pulled", "validate stack"] {
        run(line, "text");
    }
    // What only looks at the service, in every format that it has.
    for line in [
        "get -n shop",
        "get -n shop --columns endpoint,labels,description,annotations",
        "get -n shop --format json",
        "get -n shop --format yaml",
        "call svc-api-servicemesh-endpoint-list -p namespace=shop -p report_fields=x",
        "call svc-api-servicemesh-endpoint-get -p namespace=shop -p name=cart",
        "snapshot stack -o shot.json",
        "show shot.json",
        "show shot.json --format json",
    ] {
        run(line, if line.ends_with("json") { "json" } else { "text" });
    }
    assert!(shown >= PLAN.len(), "the plans show the endpoint");
    // A file that a reviewer prints. A snapshot has the texts as they are: `show` renders it.
    is_harmless("pull", "text", &stage.read("pulled/shop/described.yaml"));
    // The service's own words.
    let body = serde_json::to_string(&json!({"code": 13, "message": text, "details": []})).expect("JSON");
    let rule = json!({"rules": [{"operation": "endpoint-list", "status": {"code": 400, "body": body}}]});
    service.misbehave(&escaped(&rule.to_string()));
    for line in ["plan stack", "drift stack --format json", "drift stack --format markdown", "pull -n shop -o other"] {
        let ran = stage.run(line);
        let format = if line.ends_with("json") { "json" } else { "text" };
        is_harmless(line, format, ran.text());
        is_harmless(line, "stderr", ran.errors());
    }
}

/// A tenant of which every text of every area is `text`.
fn tenant(text: &str) -> String {
    let attachment = json!({"attachment_id": text, "name": text, "gos_name": text, "gos_version": text});
    json!({
        "kind": "tenant", "name": "acme", "namespaces": ["shop"],
        "sites": [{"name": "ce01", "sw_version": text, "os_version": text, "nodes": [text],
            "upgrade": {"to": text, "to_os": text, "started": "-1h", "duration": "10m", "ends": "failed",
                        "stage": "node_level_upgrade", "reason": text}}],
        "software_versions": [{"version": text}],
        "ddos_events": [{"id": "one", "name": text, "description": text, "creator": text, "ip": text, "network_id": text,
            "mitigation_id": text, "start_time": "-1h", "attachments": [attachment]}],
        "security_events": [{"time": "-1m", "namespace": "shop", "event": {"vh_name": text, "sec_event_type": text,
            "sec_event_name": text, "country": text, "src_ip": text, "req_path": text, "deep": {text: [text]}, text: text}}],
    })
    .to_string()
}

#[test]
fn no_event_version_or_status_acts_on_who_reads_it_in_any_format() {
    let text = ACTS.join(" ");
    let service = Service::with(|options| {
        let tenant = trueup::sandbox::Tenant::read(&escaped(&tenant(&text)), options.clock.now());
        options.tenant_file = Some(tenant.expect("a tenant"));
    });
    let stage = Stage::new().at(&service);
    let lines = [
        ("events --since 1h", &["table", "json", "ndjson"][..]),
        ("events --since 1h --fields vh_name,deep,country", &["table"]),
        ("events --since 1h --by country,vh_name", &["table", "json", "ndjson"]),
        ("events --since 1h --all --by country,deep", &["table", "json", "ndjson"]),
        ("ddos list", &["text", "json"]),
        ("ddos show one", &["text", "json"]),
        ("upgrades versions", &["text", "json"]),
        ("upgrades status ce01", &["text", "json"]),
    ];
    let mut shown = 0;
    for (line, formats) in lines {
        for format in formats {
            let line = format!("{line} --format {format}");
            let ran = stage.run(&line);
            is_harmless(&line, format, ran.text());
            is_harmless(&line, "stderr", ran.errors());
            shown += usize::from(ran.text().contains("forged"));
        }
    }
    for operation in [
        "svc-api-ddos-event-create -p namespace=system",
        "svc-api-ddos-event-list -p namespace=system -p event_id=one",
        "svc-api-cemanagement-upgradable-sw-version-list -p namespace=system",
        "svc-api-cemanagement-upgrade-statu-get -p namespace=system -p name=ce01",
    ] {
        let ran = stage.run(&format!("call {operation} --yes"));
        is_harmless(operation, "json", ran.text());
        shown += usize::from(ran.text().contains("forged"));
    }
    assert!(shown > 12, "{shown} answers show the text");
}

#[test]
fn no_text_acts_on_who_reads_it_in_any_format() {
    check(&ACTS.join(" "));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 4, ..ProptestConfig::default() })]

    #[test]
    fn no_mixture_of_hostile_texts_acts_on_who_reads_it(
        parts in prop::collection::vec((prop::sample::select(ACTS), "[ -~\u{80}-\u{9f}\u{2028}#:]{0,6}"), 1..6),
    ) {
        let text: String = parts.iter().flat_map(|(acts, between)| [between.as_str(), acts]).collect();
        // In a definition that begins a variable.
        check(&text.replace("${", "$ {"));
    }
}

/// A directory has any name that a repository gives it, and stands in every line about one of several stacks.
#[cfg(unix)]
#[test]
fn no_name_of_a_stack_acts_on_who_reads_the_lines_about_several() {
    let service = Service::start();
    let stage = Stage::new().at(&service);
    for (number, act) in ACTS.iter().enumerate() {
        let directory = format!("{number}{}", act.replace('/', "_"));
        stage.write(&format!("{directory}/trueup.yaml"), &format!("stack: s{number}\nnamespaces: [n{number}]\n"));
        stage.write(&format!("{directory}/cart.yaml"), &definition(&format!("n{number}/cart"), 80));
        stage.write(&format!("bad/{directory}/trueup.yaml"), "stack: [\n");
    }
    let mut shown = 0;
    for (line, format) in [
        ("validate -R .", "text"),
        ("plan -R .", "text"),
        ("apply -R . --yes", "text"),
        ("drift -R . --drift-state memories", "text"),
        ("snapshot -R . -o shots", "text"),
        ("stacks .", "text"),
        ("plan -R . -o plans --format markdown", "markdown"),
        ("plan -R . --format github", "github"),
        ("drift -R . --format junit", "junit"),
        ("drift -R . --format prometheus", "prometheus"),
        ("drift -R . --format html", "html"),
    ] {
        if line.starts_with("apply") {
            std::fs::remove_dir_all(stage.path("bad")).expect("the directory");
        }
        // The shell of the tests does not read the names that the commands quote as bash does.
        let ran = stage.command(&line.split(' ').collect::<Vec<_>>()).output().expect("the program starts");
        let [text, errors] = [ran.stdout, ran.stderr].map(|text| String::from_utf8_lossy(&text).into_owned());
        is_harmless(line, format, &text);
        is_harmless(line, "stderr", &errors);
        shown += usize::from(text.contains("zero"));
    }
    assert!(shown > 5, "the reports name the stacks: {shown}");
}

/// A pipeline passes names of the repository on: what clap says of a word that it does not take is untrusted as well.
#[test]
fn an_error_of_the_command_line_shows_a_name_without_what_it_does() {
    let stage = Stage::new();
    for act in ACTS {
        let name = format!("--x{act}");
        for words in [
            vec!["plan", &name],
            vec!["plan", "--format", &name[2..]],
            vec!["plan", "--parallel", &name[2..]],
            vec!["drift", "--shard", &name[2..]],
            vec!["plan", "--json", &format!("--env={act}"), "--unknown"],
            vec!["context", "add", &name[2..], "--url", "x"],
            vec!["events", "--top", &name[2..]],
            vec![&name],
            vec![&name[2..]],
        ] {
            let ran = stage.command(&words).output().expect("the program starts");
            let text = String::from_utf8_lossy(&ran.stderr).into_owned();
            assert_eq!(ran.status.code(), Some(64), "{words:?}: {text}");
            is_harmless(&format!("{words:?}"), "text", &text);
            assert!(!text.lines().any(|line| line.starts_with('|')), "{words:?}: a row in\n{text}");
        }
    }
}
