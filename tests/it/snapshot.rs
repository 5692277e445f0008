//! Snapshots: what is kept is whole and sealed, and a plan against it is the plan that the service
//! would have led to, without a token and without a request.

use serde_json::{Value, json};

use crate::support::{Service, Stage, definition};

/// A stage whose definitions were applied to `service`, with a delete, a replace and a create to come.
fn moved_on(service: &Service) -> Stage {
    let stage = Stage::new()
        .at(service)
        .file("trueup.yaml", "stack: s\nnamespaces: [shop, pay]\n")
        .file("cart.yaml", &definition("shop/cart", 80))
        .file("legacy.yaml", &definition("shop/legacy", 81))
        .file("more.yaml", &definition("shop/more", 82))
        .file("card.yaml", &definition("pay/card", 83))
        .applied(".");
    stage.remove("legacy.yaml");
    stage.edit("cart.yaml", "port: 80", "port: 8080");
    stage.write("news.yaml", &definition("pay/news", 84));
    stage
}

/// The stage's files without its service and its token.
fn offline(stage: &Stage) -> Stage {
    let mut other = Stage::new();
    for name in ["trueup.yaml", "cart.yaml", "more.yaml", "card.yaml", "news.yaml", "live.json"] {
        other = other.file(name, &stage.read(name));
    }
    other
}

fn digest(answer: &Value) -> &str {
    answer["digest"].as_str().expect("a digest")
}

#[test]
fn a_plan_against_a_snapshot_is_the_plan_of_the_service_without_a_request() {
    let service = Service::start();
    let stage = moved_on(&service);
    let writes = || ["POST", "PUT", "DELETE"].map(|method| service.requests(method));
    let before = writes();
    stage
        .run("snapshot . -o live.json")
        .code(0)
        .stdout_contains("Kept 4 endpoints of 2 namespaces of http://127.0.0.1:")
        .stdout_contains("Next:  trueup plan . --live live.json");
    assert_eq!(writes(), before);
    let live = stage.run("plan . --format json").code(0).json();
    let reads = service.requests("GET");
    let offline = offline(&stage);
    let kept = offline.run("plan . --live live.json --format json").code(0).json();
    assert_eq!(service.requests("GET"), reads, "nothing was asked");
    assert_eq!(digest(&kept), digest(&live));
    assert_eq!(kept["counts"]["delete"], 1);
    assert!(kept["plan"]["source"]["snapshot"].is_string());
    offline
        .run("plan . --live live.json")
        .code(0)
        .stdout_contains("against the snapshot of 20")
        .stdout_contains("the snapshot does not say who refers to it");
    offline.run("plan . --live live.json --format markdown").code(0).stdout_contains("against the snapshot of");
    offline.run("plan . --live live.json --format html").code(0).stdout_contains("against the snapshot of");
    // A check takes it too.
    offline
        .run("drift . --live live.json")
        .code(2)
        .stdout_contains("against the snapshot of")
        .stdout_contains("not applied yet");
    offline.run("drift . --live live.json --drift-state memory.json").code(64).stderr_contains("--drift-state");
}

#[test]
fn a_plan_against_a_snapshot_is_saved_and_applied_and_finds_what_moved_since() {
    let service = Service::start();
    let stage = moved_on(&service);
    stage.run("snapshot . -o live.json").code(0);
    stage.run("plan . --live live.json -o plan.json").code(0);
    service.change("shop/cart", |object| object["spec"]["port"] = json!(9));
    stage.run("apply plan.json --yes --quiet").code(7).stdout_contains("conflict: shop/cart");
    assert!(service.has("pay/news"));
    assert!(service.has("shop/legacy"), "no delete after a conflict");
}

#[cfg(unix)]
#[test]
fn a_snapshot_is_sealed_private_and_of_one_service() {
    use std::os::unix::fs::PermissionsExt as _;
    let service = Service::start();
    let stage = moved_on(&service);
    stage.run("snapshot . -o live.json").code(0);
    let mode = std::fs::metadata(stage.path("live.json")).expect("the file").permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let text = stage.read("live.json");
    assert!(!text.contains(crate::support::TOKEN));
    let document: Value = serde_json::from_str(&text).expect("JSON");
    let item = &document["snapshot"]["namespaces"]["shop"]["items"][0];
    assert_eq!(item["name"], "cart");
    assert!(item["system_metadata"]["uid"].is_string(), "the whole object");
    let schema = stage.run("schema --of snapshot").code(0).json();
    let validator = jsonschema::validator_for(&schema).expect("a schema");
    let faults: Vec<String> = validator.iter_errors(&document).map(|error| error.to_string()).collect();
    assert_eq!(faults, Vec::<String>::new());

    let other = stage.run("plan . --live live.json --base-url https://other.example.net");
    other.code(6).stderr_contains("the snapshot is of http://127.0.0.1:").stderr_contains("https://other.example.net");
    stage.run("plan . --live live.json --layout published").code(6).stderr_contains("uniform layout");
    stage.write("live.json", &text.replacen("\"port\":80", "\"port\":79", 1));
    stage.run("plan . --live live.json").code(6).stderr_contains("was altered after it was written: take it again");
    stage.run("plan . --live cart.yaml").code(6).stderr_contains("is not a snapshot");
    stage.run("plan . --live nothing.json").code(1).stderr_contains("cannot read `nothing.json`");
    // Beside the definitions it is none.
    stage.write("live.json", &text);
    stage.run("validate .").code(0);
}

#[test]
fn nothing_is_kept_of_an_incomplete_read_and_what_was_not_kept_is_unknown() {
    let service = Service::start();
    let stage = moved_on(&service);
    service.misbehave("rules: [{operation: endpoint-list, namespace: pay, partial: {missing: 1}}]");
    stage
        .run("snapshot . -o live.json")
        .code(5)
        .stderr_contains("could not read `pay`")
        .stderr_contains("nothing was written");
    assert!(!stage.path("live.json").exists());
    let narrower = stage.run("snapshot -n shop -o live.json");
    // A plan of the stack against it is incomplete.
    narrower.code(0).stdout_contains("3 endpoints of 1 namespace ").stdout_contains("Next:  trueup show live.json\n");
    stage.run("show live.json").code(0).stdout_contains("shop/cart");
    service.misbehave("rules: []");
    stage.run("snapshot . --kind healthcheck -o kinds.json").code(0).stdout_contains("Next:  trueup show kinds.json\n");
    let output = stage.run("plan . --live live.json");
    output.code(5).stdout_contains("could not read `pay`: it is not in the snapshot").does_not_say("pay/news");
    stage.run("drift . --live live.json").code(5).stdout_contains("UNKNOWN");
}

#[test]
fn who_refers_is_kept_on_request_and_holds_deletes_back() {
    let service = Service::start();
    let stage = moved_on(&service);
    let legacy = service.get("shop/legacy");
    let metadata = &legacy["metadata"];
    service.plant(&json!([{
        "metadata": {"name": "legacy", "namespace": "shop", "annotations": metadata["annotations"]},
        "raw_spec": legacy["spec"],
        "uid": legacy["system_metadata"]["uid"],
        "referring_objects": [{"kind": "cluster", "namespace": "shop", "name": "legacy-cluster"}],
    }]));
    stage.run("snapshot . --referrers -o live.json").code(0);
    let offline = offline(&stage);
    offline
        .run("plan . --live live.json")
        .code(0)
        .stdout_contains("cluster:shop/legacy-cluster")
        .stdout_contains("blocked")
        .does_not_say("does not say who refers");
    // What its list has and its own read has not is not known either.
    for code in [403, 404] {
        service.misbehave(&format!("rules: [{{operation: endpoint-get, status: {{code: {code}}}}}]"));
        stage
            .run("snapshot . --referrers -o other.json")
            .code(5)
            .stderr_contains("who refers to `")
            .stderr_contains("nothing was written");
        assert!(!stage.path("other.json").exists());
    }
}

#[test]
fn what_a_run_made_after_a_snapshot_was_taken_was_not_deleted_outside() {
    let service = Service::start();
    let stage = Stage::stack(&service, "shop").file("a.yaml", &definition("shop/a", 80)).applied(".");
    stage.run("snapshot . -o ../old.json").code(0);
    stage.write("b.yaml", &definition("shop/b", 80));
    stage.run("apply . --yes --quiet").code(0);
    stage.run("drift . --live ../old.json").code(2).stdout_contains("not there  new, b.yaml:1");
    stage.run("plan . --live ../old.json").code(0).stdout_contains("create  shop/b").does_not_say("deleted outside");
    // What one made before was.
    service.delete("shop/b");
    stage.run("snapshot . -o ../new.json").code(0);
    stage.run("drift . --live ../new.json").code(3).stdout_contains("deleted outside");
}

#[test]
fn what_is_proposed_against_a_snapshot_names_the_service_that_nothing_else_names() {
    let service = Service::start();
    let stage = moved_on(&service);
    stage.run("snapshot . -o live.json").code(0);
    let flag = format!(" --base-url {}", service.url());
    let offline = offline(&stage);
    offline.run("plan . --live live.json").code(0).stdout_contains(&format!("trueup apply .{flag} --digest"));
    offline.run("drift . --live live.json").code(2).stdout_contains(&format!("apply:  trueup apply .{flag}\n"));
    // The name of each of several files begins with the service.
    let two = Stage::new();
    for name in ["a", "b"] {
        two.write(&format!("{name}/trueup.yaml"), &format!("stack: {name}\nnamespaces: [{name}]\n"));
        two.write(&format!("{name}/x.yaml"), &definition(&format!("{name}/x"), 80));
    }
    two.write("live/x.json", "");
    for command in ["plan", "drift"] {
        let ran = two.run(&format!("{command} a b --live live"));
        ran.code(1).stderr_contains("no service is named").stderr_contains("--base-url").does_not_say("cannot read");
    }
}

#[test]
fn every_format_of_a_check_says_that_a_snapshot_was_checked() {
    let service = Service::start();
    let stage = moved_on(&service);
    stage.run("snapshot . -o live.json").code(0);
    let taken = serde_json::from_str::<Value>(&stage.read("live.json")).expect("JSON")["snapshot"]["taken"].clone();
    let taken: jiff::Timestamp = taken.as_str().expect("a time").parse().expect("a time");
    let said = format!("against the snapshot of {}", taken.strftime("%Y-%m-%d %H:%M UTC"));
    let offline = offline(&stage);
    for format in ["text", "markdown", "html", "github", "sarif"] {
        offline.run(&format!("plan . --live live.json --format {format}")).code(0).stdout_contains(&said);
        offline.run(&format!("drift . --live live.json --format {format}")).code(2).stdout_contains(&said);
        stage.run(&format!("plan . --format {format}")).code(0).does_not_say("against the snapshot");
    }
    // An alarm about old checks goes by the time of what was seen.
    let metrics = offline.run("drift . --live live.json --format prometheus");
    let seen = |line: &&str| line.starts_with("trueup_drift_check_timestamp_seconds{");
    let seen = metrics.code(2).text().lines().find(seen).expect("a sample");
    assert!(seen.ends_with(&format!(" {}", taken.as_second())), "{seen}");
}
