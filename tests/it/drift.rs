//! The verdict of a schedule: its codes, what it remembers, what it accepts, how a fleet shares it.

use std::collections::BTreeSet;

use serde_json::json;

use crate::support::{Service, Stage, applied, definition};

fn someone_changes_the_port(service: &Service) {
    service.change("shop/cart", |object| object["spec"]["port"] = json!(9));
}

#[test]
fn the_verdict_says_who_has_to_act() {
    let service = Service::start();
    let stage = applied(&service);
    stage.run("drift .").code(0).stdout_contains("In sync: 2 endpoints");
    someone_changes_the_port(&service);
    stage
        .run("drift .")
        .code(3)
        .stdout_contains("DRIFT  1 of 2 endpoints was changed outside")
        .stdout_contains("spec.port  80       9 ");
    stage.edit("search.yaml", "port: 80", "port: 81");
    stage
        .run("drift .")
        .code(4)
        .stdout_contains("DRIFT AND PENDING")
        .stdout_contains("not applied yet\n")
        .stdout_contains("    shop/search  spec.port");
    service.change("shop/cart", |object| object["spec"]["port"] = json!(80));
    stage.run("drift .").code(2).stdout_contains("PENDING  1 of 2 endpoints has changes to apply");
    service.misbehave("rules: [{operation: endpoint-list, partial: {missing: 1}}]");
    stage
        .run("drift .")
        .code(5)
        .stderr_contains("could not read http")
        .stderr_contains("nothing is concluded about `shop`");
}

#[test]
fn what_an_outside_change_made_unreadable_is_drift_until_it_is_accepted() {
    let service = Service::start();
    let stage = applied(&service);
    let live = service.get("shop/cart");
    let mut spec = live["spec"].clone();
    spec["ip"] = json!("10.9.9.9");
    spec["dns_name"] = json!("two.example.net");
    service.plant(&json!([{"metadata": live["metadata"], "uid": live["system_metadata"]["uid"], "raw_spec": spec}]));
    let why = "this trueup cannot read the live object: ";
    stage
        .run("drift .")
        .code(3)
        .stdout_contains("DRIFT  1 of 2 endpoints was changed outside")
        .stdout_contains("\n  changed outside\n")
        .stdout_contains(why);
    stage.run("pull --drift .").code(3).stdout_contains("cart.yaml:1  this trueup cannot read the live object: ");
    stage.edit("cart.yaml", "port: 80", "port: 81");
    stage.run("drift .").code(4).stdout_contains(why);
    let offered = stage.run("drift . --format acknowledgements");
    stage.write("accepted.yaml", offered.code(4).text());
    stage.run("drift . --acknowledged accepted.yaml").code(2).stdout_contains(why);
    stage.edit("cart.yaml", "port: 81", "port: 80");
    stage.run("drift . --acknowledged accepted.yaml").code(0);
    // What its annotations do not prove is not said of anybody.
    let mut metadata = live["metadata"].clone();
    metadata["annotations"] = json!({});
    service.plant(&json!([{"metadata": metadata, "uid": live["system_metadata"]["uid"], "raw_spec": spec}]));
    stage.run("drift .").code(2).stdout_contains(why);
}

#[test]
fn a_check_shows_both_sides_of_a_long_value() {
    let service = Service::start();
    let host = "internal-k8s-shop-ingress-0a1b2c3d4e-1234567890.eu-central-1.elb.example.net";
    let notes = "x".repeat(100);
    let stage = Stage::new().at(&service).file("trueup.yaml", "stack: shop\nnamespaces: [shop]\n").file(
        "cart.yaml",
        &format!(
            "metadata: {{name: cart, namespace: shop, description: '{notes} by ann'}}\nspec: {{dns_name: {host}, port: 80}}\n"
        ),
    );
    stage.run("apply . --yes --quiet").code(0);
    service.change("shop/cart", |object| {
        object["spec"]["dns_name"] = json!("evil.example.net");
        object["metadata"]["description"] = json!(format!("{notes} by eve"));
    });
    stage
        .run("drift .")
        .code(3)
        .stdout_contains("(below)  evil.example.net")
        .stdout_contains(&format!("\n      defined  {host}\n"))
        .stdout_contains(&format!("\n      defined  {notes} by ann\n      live     {notes} by eve\n"));
    stage
        .run("drift . --format markdown")
        .code(3)
        .stdout_contains(&format!("| `{host}` | `evil.example.net` |"))
        .stdout_contains(" by ann` | …`")
        .stdout_contains(" by eve` |");
}

#[test]
fn all_of_a_long_check_against_a_snapshot_is_planned_against_the_same() {
    let service = Service::start();
    let stage = Stage::stack(&service, "many");
    stage.run("snapshot . -n shop -o ../live.json --quiet").code(0);
    for number in 0..60 {
        stage.write(&format!("e{number}.yaml"), &definition(&format!("shop/e{number}"), 80));
    }
    stage
        .run("drift . --live ../live.json")
        .code(2)
        .stdout_contains("; all of them: trueup plan . --live ../live.json\n");
}

#[test]
fn the_verdict_counts_what_is_no_longer_defined_among_all() {
    let service = Service::start();
    let stage = applied(&service);
    stage.remove("cart.yaml");
    stage.run("drift .").code(2).stdout_contains("PENDING  1 of 2 endpoints has changes to apply");
    stage.write("new.yaml", &definition("shop/new", 80));
    service.change("shop/search", |object| object["spec"]["port"] = json!(9));
    let both = "DRIFT AND PENDING  1 of 3 endpoints was changed outside, 2 have changes to apply";
    stage.run("drift .").code(4).stdout_contains(both);
    // Nothing is defined of what is only live.
    service.change("shop/search", |object| object["spec"]["port"] = json!(80));
    stage.remove("search.yaml");
    stage.remove("new.yaml");
    stage.write("none.yaml", &definition("shop/none", 80));
    stage.run("drift .").code(2).stdout_contains("PENDING  3 of 3 endpoints have changes to apply");
}

#[test]
fn a_check_sends_nothing_that_changes_anything() {
    let service = Service::start();
    let stage = applied(&service);
    someone_changes_the_port(&service);
    service.delete("shop/search");
    stage.remove("cart.yaml");
    let writes = || ["POST", "PUT", "DELETE", "PATCH"].map(|method| service.requests(method));
    let before = writes();
    for format in ["text", "json", "markdown", "github", "junit", "prometheus", "acknowledgements"] {
        stage.run(&format!("drift . --unmanaged fail --format {format}")).code(4);
    }
    assert_eq!(writes(), before);
}

#[test]
fn two_reports_in_one_file_are_refused_before_anything_is_read() {
    let service = Service::start();
    let stage = applied(&service);
    stage.write(".checks/a.json", stage.run("drift . --format json").code(0).text());
    let requests = service.log().len();
    for command in ["drift .", "fleet report .checks"] {
        for files in ["--write json=a --write html=a", "--output a --write json=./a"] {
            let ran = stage.run(&format!("{command} {files}"));
            ran.code(64).stderr_contains("two reports are to be written to").stdout("");
            assert!(!stage.path("a").exists());
        }
    }
    assert_eq!(service.log().len(), requests);
    stage.run("drift . --output a --write markdown=b --write html=c").code(0);
}

#[test]
fn a_file_that_the_call_reads_is_never_its_output() {
    let service = Service::start();
    let stage = applied(&service);
    stage.run("snapshot . -o live.snapshot").code(0);
    stage.run("plan . -o plan.out --quiet").code(0);
    stage.run("drift . --drift-state state --quiet --write json=../checks/1.json").code(0);
    // It need not be there yet.
    stage.run("drift . --drift-state new --write json=new").code(64).stderr_contains("the call also reads `new`");
    assert!(!stage.path("new").exists());
    for output in ["./new", "mem/shop.json"] {
        let state = if output == "./new" { "new" } else { "mem" };
        std::fs::create_dir_all(stage.path("mem")).expect("a directory");
        let call = format!("drift . --drift-state {state} --write json={output}");
        stage.run(&call).code(64).stderr_contains("the call also reads");
    }
    for (call, read) in [
        ("plan . --live live.snapshot -o ./live.snapshot", "live.snapshot"),
        ("drift . --live live.snapshot --write json=live.snapshot", "live.snapshot"),
        ("drift . --drift-state state -o state", "state"),
        ("fleet report ../checks --write json=../checks/1.json", "../checks/1.json"),
        ("apply plan.out --yes --write json=plan.out", "plan.out"),
    ] {
        let before = stage.read(read);
        stage.run(call).code(64).stderr_contains("the call also reads").stderr_contains(read).stdout("");
        assert_eq!(stage.read(read), before);
    }
    // A pipeline names such files in its environment.
    stage.write("../policy.yaml", "prune: owned\n");
    stage.write("../token", "t");
    let stage = stage.env("TRUEUP_POLICY", "../policy.yaml").env("TRUEUP_TOKEN_OTHER_FILE", "../token");
    for read in ["../policy.yaml", "../token"] {
        stage.run(&format!("plan . -o {read}")).code(64).stderr_contains("the call also reads").stdout("");
    }
    // A namespace is not a file, whatever its name.
    for _ in 0..2 {
        stage.run("snapshot . -n shop -o shop").code(0);
    }
}

#[test]
fn a_verdict_is_reported_also_where_what_goes_beside_it_cannot_be_written() {
    let service = Service::start();
    let stage = applied(&service);
    service.change("shop/cart", |object| object["spec"]["port"] = json!(9));
    stage.write("blocking", "a file");
    std::fs::create_dir(stage.path(".state.json.lock")).expect("a directory");
    for (file, error) in [
        ("--write html=blocking/a.html", "cannot create `blocking/a.html`"),
        ("--drift-state state.json", "`state.json` is not a regular file"),
    ] {
        let ran = stage.run(&format!("drift . {file} --write json=b.json"));
        ran.code(1).stdout_contains("DRIFT  1 of ").stderr_contains(error);
        let report: serde_json::Value = serde_json::from_str(&stage.read("b.json")).expect("JSON");
        assert_eq!(report["verdict"], "drift");
        stage.remove("b.json");
    }
}

#[test]
fn what_was_changed_outside_and_is_blocked_is_restored_by_no_command() {
    let service = Service::start();
    let stage = applied(&service);
    service.change("shop/cart", |object| {
        object["spec"]["port"] = json!(9);
        object["metadata"]["annotations"]["trueup/stack"] = json!("other");
    });
    stage
        .run("drift .")
        .code(3)
        .stdout_contains("it belongs to stack other")
        .stdout_contains("accept the live values with:")
        .does_not_say("restore with:");
    // Without the other annotations nothing says whose change it is, and a pull leaves it too.
    service.change("shop/cart", |object| {
        object["metadata"]["annotations"] = json!({"trueup/stack": "other"});
    });
    stage
        .run("drift .")
        .code(3)
        .stdout_contains("it belongs to stack other")
        .does_not_say("accept the live values with:")
        .does_not_say("restore with:");
}

#[test]
fn a_pull_is_proposed_only_where_it_can_take_over_what_was_deleted() {
    let service = Service::start();
    let stage = applied(&service);
    let settings = stage.read("trueup.yaml");
    service.delete("shop/cart");
    stage.run("drift .").code(3).stdout_contains("restore with:").does_not_say("pull --drift");
    stage.run("pull --drift .").code(3).stdout_contains("no file was edited");
    stage.write("trueup.yaml", &format!("{settings}environments: {{live: {{overlay: live}}}}\n"));
    stage.run("drift . --env live").code(3).stdout_contains("accept the live values with:");
    stage.run("pull --drift . --env live").code(0).stdout_contains("removed in the overlay");
    service.change("shop/search", |object| object["spec"]["port"] = json!(9));
    stage.run("drift .").code(3).stdout_contains("accept the live values with:");
}

#[test]
fn an_accepted_value_raises_no_alarm_until_its_last_day_or_until_it_moves() {
    let service = Service::start();
    let stage = applied(&service);
    someone_changes_the_port(&service);
    let offered = stage.run("drift . --format acknowledgements");
    offered
        .code(3)
        .stdout_contains("kind: acknowledgements")
        .stdout_contains("object: shop/cart")
        .stdout_contains("field: spec.port");
    stage.write("drift-acknowledged.yaml", offered.text());
    let accepted = "drift . --acknowledged drift-acknowledged.yaml";
    stage
        .run(accepted)
        .code(0)
        .stdout_contains("In sync: 1 endpoint in 1 namespace, 1 accepted")
        .stdout_contains("acknowledged")
        .stdout_contains("accepted until")
        .stdout_contains("say why it is accepted");
    stage.run(&format!("{accepted} --format markdown")).code(0).stdout_contains("#### Acknowledged");
    let answer = stage.run(&format!("{accepted} --format json")).json();
    assert_eq!(answer["verdict"], "in_sync");
    assert_eq!(answer["acknowledged"][0]["status"], "silences");
    // It never changes what an apply would do.
    stage.run("plan .").code(0).stdout_contains("9 -> 80");

    let text = stage.read("drift-acknowledged.yaml");
    let line = text.lines().find(|line| line.trim_start().starts_with("expires:")).expect("a last day").to_owned();
    stage.edit("drift-acknowledged.yaml", &line, "  expires: 2020-01-31");
    stage.run(accepted).code(3).stdout_contains("EXPIRED on 2020-01-31");

    // As an editor on Windows saves it.
    stage.write("drift-acknowledged.yaml", &format!("\u{feff}{}", offered.text()));
    service.change("shop/cart", |object| object["spec"]["port"] = json!(10));
    stage.run(accepted).code(3).stdout_contains("drifted on to another value");
    for (from, to, code, words) in [
        ("field: spec.port", "field: spec.prot", 3, "shop/cart spec.prot: unknown field, say why"),
        ("reason: say why it is accepted", "reason: ''", 1, "the `reason` for `shop/cart` in"),
        (line.trim(), "expires: soon", 1, "`soon` is not a valid day, such as 2026-12-31"),
    ] {
        stage.write("drift-acknowledged.yaml", &offered.text().replace(from, to));
        let ran = stage.run(accepted);
        ran.code(code);
        if code == 3 {
            ran.stdout_contains(words)
        } else {
            ran.stderr_contains(words)
        };
    }
    stage.write("drift-acknowledged.yaml", "kind: acknowledgements\nacknowledged: [{objet: x}]\n");
    stage.run(accepted).code(1).stderr_contains("contains no acknowledgements").stderr_contains("objet");
}

#[test]
fn a_drift_state_shows_since_when() {
    let service = Service::start();
    let stage = applied(&service);
    let check = "drift . --drift-state memory.json";
    stage.run(check).code(0);
    someone_changes_the_port(&service);
    stage.run(check).code(3).stdout_contains("seen in 1 check");
    stage.run(check).code(3).stdout_contains("seen in 2 checks");
    let answer = stage.run(&format!("{check} --format json")).json();
    assert_eq!(answer["drifted"][0]["object"], "shop/cart");
    assert_eq!(answer["drifted"][0]["field"], "spec.port");
    assert_eq!(answer["drifted"][0]["checks"], 3);
    stage.run(&format!("{check} --only shop/cart")).code(64).stderr_contains("without filters");
    stage.write("broken.txt", "{}");
    stage.run("drift . --drift-state broken.txt").code(1).stderr_contains("`broken.txt` cannot be used");
}

#[test]
fn a_drift_state_knows_what_was_deleted_where_no_journal_is() {
    let service = Service::start();
    let stage = applied(&service);
    let elsewhere = "--state elsewhere";
    stage.run(&format!("drift . --drift-state memory.json {elsewhere}")).code(0);
    service.delete("shop/search");
    stage.run(&format!("drift . {elsewhere}")).code(2);
    stage
        .run(&format!("drift . --drift-state memory.json {elsewhere}"))
        .code(3)
        .stdout_contains("shop/search         defined  deleted");
}

#[test]
fn what_nobody_defined_is_drift_on_request() {
    let service = Service::start();
    let stage = applied(&service);
    service.create(&json!({"metadata": {"name": "handmade", "namespace": "shop"}, "spec": {"ip": "10.0.0.9"}}));
    stage.run("drift .").code(0).stdout_contains("shop/handmade");
    stage.run("drift . --unmanaged fail").code(3).stdout_contains("not managed");
    // Neither command would do anything about it.
    for format in ["text", "markdown", "html"] {
        let ran = stage.run(&format!("drift . --unmanaged fail --format {format}"));
        ran.code(3).does_not_say("trueup apply").does_not_say("pull --drift");
    }
}

#[test]
fn every_namespace_is_one_shards_to_check() {
    let service = Service::start();
    let names = ["a", "b", "c", "d", "e", "f", "g"];
    let mut stage =
        Stage::new().at(&service).file("trueup.yaml", &format!("stack: fleet\nnamespaces: [{}]\n", names.join(", ")));
    for name in names {
        stage = stage.file(&format!("{name}.yaml"), &definition(&format!("{name}/cart"), 80));
    }
    stage.run("apply . --yes --quiet").code(0);
    for name in names {
        service.change(&format!("{name}/cart"), |object| object["spec"]["port"] = json!(9));
    }
    let mut seen: Vec<String> = Vec::new();
    let mut filled = Vec::new();
    for index in 1..=3 {
        let lists = service.requests("GET");
        let answer = stage.run(&format!("drift . --shard {index}/3 --format json")).json();
        let objects = answer["verdicts"]["objects"].as_object().expect("objects");
        filled.extend((!objects.is_empty()).then_some(index));
        assert_eq!(service.requests("GET") - lists, objects.len(), "only its own are read");
        seen.extend(objects.keys().cloned());
    }
    assert_eq!(seen.len(), names.len());
    assert_eq!(seen.iter().collect::<BTreeSet<_>>().len(), names.len());
    // What a shard proposes is about its own, too.
    let one = filled.remove(0);
    let shard = stage.run(&format!("drift . --shard {one}/3")).code(3).text().to_owned();
    let restore = shard.lines().find(|line| line.contains("restore with:")).expect("a command");
    let restore = restore.split_once("trueup ").expect("a command").1;
    stage.run(&format!("{restore} --yes --quiet --allow mass-change")).code(0);
    stage.run(&format!("drift . --shard {one}/3")).code(0);
    for index in filled {
        stage.run(&format!("drift . --shard {index}/3")).code(3);
    }
    stage.run("drift . --shard 4/3").code(64).stderr_contains("I from 1 to N");
}

#[test]
fn every_format_shows_the_same_verdict() {
    let service = Service::start();
    let stage = applied(&service);
    someone_changes_the_port(&service);
    stage
        .run("drift . --format markdown")
        .code(3)
        .stdout_contains("<!-- trueup:drift stack=shop -->")
        .stdout_contains("1 endpoint changed outside");
    stage
        .run("drift . --format junit")
        .code(3)
        .stdout_contains("<testsuites")
        .stdout_contains("spec.port: defined 80, live 9");
    stage.run("drift . --format prometheus").code(3).stdout_contains("name=\"cart\",verdict=\"drift\"");
    stage.run("drift . --format github").code(3).stdout_contains("::warning file=cart.yaml,line=6");
    let answer = stage.run("drift . --format json");
    assert_eq!(answer.code(3).json()["verdict"], "drift");
}

#[test]
fn what_nobody_defined_is_among_what_drifted_only_where_it_is_drift() {
    let service = Service::start();
    let stage = applied(&service);
    service.create(&json!({"metadata": {"name": "handmade", "namespace": "shop"}, "spec": {"ip": "10.0.0.9"}}));
    let drifted = |line: &str| stage.run(line).json()["drifted"].clone();
    assert_eq!(drifted("drift . --format json"), json!([]));
    let failing = drifted("drift . --unmanaged fail --format json");
    assert_eq!(failing[0]["object"], "shop/handmade");
    // What is accepted stays listed, with the value that an acknowledgement names.
    let offered = stage.run("drift . --unmanaged fail --format acknowledgements");
    stage.write("accepted.yaml", offered.code(3).text());
    let accepted = stage.run("drift . --unmanaged fail --acknowledged accepted.yaml --format json");
    assert_eq!(accepted.code(0).json()["drifted"][0]["object"], "shop/handmade");
}
