use std::io::{BufRead as _, BufReader, Read as _};
use std::net::TcpListener;
use std::process::Stdio;
use std::time::Duration;

use serde_json::Value;

use super::service;
use crate::support::{Service, Stage};

const EVENT: &str = "/api/config/namespaces/system/events/open-one";

fn staged() -> (Service, Stage) {
    let service = service();
    let stage = Stage::new().at(&service);
    (service, stage)
}

fn event(service: &Service) -> Value {
    let (status, body) = service.send("GET", EVENT, None);
    assert_eq!(status, 200, "{body}");
    serde_json::from_str::<Value>(&body).expect("JSON")["event"].take()
}

#[test]
fn a_list_is_filtered_by_time_network_and_mitigation_in_both_layouts() {
    let (_service, stage) = staged();
    for layout in ["uniform", "published"] {
        let ids = |words: &str| {
            let document = stage.run(&format!("ddos list --layout {layout} --format json {words}")).code(0).json();
            let events = document["events"].as_array().expect("events").clone();
            events.iter().map(|event| event["id"].as_str().expect("an id").to_owned()).collect::<Vec<_>>()
        };
        assert_eq!(ids("--since 2d"), ["open-one"]);
        assert_eq!(ids("--since 30d"), ["open-one", "old-one"]);
        assert_eq!(ids("--since 30d --until 2d"), ["old-one"]);
        let words = ["ddos", "list", "--layout", layout, "--format", "json", "--since", "30d ago", "--until", "2d ago"];
        assert_eq!(stage.run_words(&words).code(0).json()["events"][0]["id"], "old-one");
        assert_eq!(ids("--until now"), ["open-one"]);
        assert!(ids("--until 5d").is_empty() && ids("--until 50d").is_empty());
        assert_eq!(ids("--since 30d --network n2"), ["old-one"]);
        assert_eq!(ids("--since 30d --mitigation m1"), ["open-one"]);
        assert_eq!(
            ids("--since 30d --network n --mitigation m1"),
            ["open-one"],
            "as `show` takes the beginning of an id"
        );
        assert_eq!(ids("--since 30d --network n"), ["open-one", "old-one"]);
    }
    let ran = stage.run("ddos list --since 30d");
    ran.code(0)
        .stdout_contains("ID")
        .stdout_contains("open-one")
        .stdout_contains("open ")
        .stdout_contains("198.51.100.0/24")
        .stdout_contains("a flood");
    stage.run("ddos list --since 60d --until 50d").code(0).stdout_contains("no DDoS events in this time");
    stage.run("ddos list --since 1h --until 2h").code(64).stderr_contains("backwards");
    stage.run("ddos list -n shop").code(1).stderr_contains("400 Bad Request");
}

#[test]
fn an_event_is_shown_with_its_attachments() {
    let (_service, stage) = staged();
    for layout in ["uniform", "published"] {
        let ran = stage.run(&format!("ddos show open-one --layout {layout}"));
        ran.code(0)
            .stdout_contains("description  a flood")
            .stdout_contains("ended        open")
            .stdout_contains("one.pcap    pcap  12345  a1");
        let document = stage.run(&format!("ddos show open-one --layout {layout} --format json")).code(0).json();
        assert_eq!(document["event"]["attachments"][0]["size_bytes"], "12345");
    }
    let again = "trueup ddos list --since 90d --namespace system --layout published\n";
    let absent = stage.run("ddos show nobody -n system --layout published");
    absent.code(1).stderr_contains("404 Not Found").stderr_contains(again);
}

#[test]
fn the_beginning_of_an_id_is_enough_where_it_is_unique() {
    let (service, stage) = staged();
    stage.run("ddos show op").code(0).stdout_contains("DDoS event open-one");
    let ran = stage.run("ddos edit old --name net_9 --yes");
    ran.code(0).stderr_contains("net_2 -> net_9").stdout_contains("Edited DDoS event old-one.");
    let lists = service.requests("GET");
    stage.run("ddos show o").code(64).stderr_contains("several DDoS events begin with `o`: `open-one`, `old-one`");
    stage.run("ddos show open-one").code(0);
    assert_eq!(service.requests("GET"), lists + 3);
}

#[test]
fn an_edit_shows_the_difference_and_sends_only_it() {
    let (service, stage) = staged();
    let ran = stage.run_words(&["ddos", "edit", "open-one", "--description", "reflectors"]);
    ran.code(6)
        .stderr_contains("~ description  a flood -> reflectors")
        .stderr_contains("give --yes")
        .stderr_contains("nothing was sent");
    assert_eq!(service.requests("PUT"), 0);
    for (layout, name) in [("uniform", "net_3"), ("published", "net_4")] {
        let before = event(&service);
        let ran = stage.run(&format!("ddos edit open-one --name {name} --end now --yes --layout {layout}"));
        ran.code(0).stderr_contains(&format!("-> {name}")).stdout_contains("Edited DDoS event open-one.");
        let after = event(&service);
        assert_eq!(after["name"], name);
        let end = after["end_time"].as_str().expect("an end");
        assert!(end.ends_with('Z') && !end.contains('.'), "a service need not keep fractions of a second: {end}");
        for kept in ["description", "creator", "ip", "start_time", "attachments", "network_id"] {
            assert_eq!(before[kept], after[kept], "{kept}");
        }
    }
    stage.run("ddos edit open-one --name net_4 --yes").code(0).stdout_contains("nothing to change");
    stage.run_words(&["ddos", "edit", "open-one", "--end", "10m ago", "--yes"]).code(0).stderr_contains("end_time");
}

#[test]
fn an_edit_that_makes_no_sense_is_refused_before_it_is_sent() {
    let (service, stage) = staged();
    stage.run("ddos edit open-one").code(64).stderr_contains("--description");
    stage.run_words(&["ddos", "show", ""]).code(64).stderr_contains("ID");
    stage.run_words(&["ddos", "edit", "", "--end", "now", "--yes"]).code(64).stderr_contains("ID");
    stage
        .run_words(&["ddos", "edit", "open-one", "--name", "", "--yes"])
        .code(64)
        .stderr_contains("cannot be made empty");
    stage.run("ddos edit open-one --end 3d --yes").code(64).stderr_contains("before the event's start");
    stage.run("ddos edit nobody --end now --yes").code(1).stderr_contains("404 Not Found");
    assert_eq!(service.requests("PUT"), 0);
}

#[cfg(unix)]
#[test]
fn a_write_that_is_interrupted_says_that_it_may_have_taken_effect() {
    let (service, stage) = staged();
    service.hold("operation: ddos-event-edit");
    let reads = || service.log().iter().filter(|entry| entry.operation == "ddos-event-get").count();
    let mut command = stage.command(&["ddos", "edit", "open-one", "--description", "mine", "--yes"]);
    let edit = command.stdin(Stdio::null()).stderr(Stdio::piped()).spawn().expect("it starts");
    // Once for what is shown, and once more for what is sent.
    while reads() < 2 {
        std::thread::yield_now();
    }
    is_in_doubt(edit);

    // A service that does not answer.
    let silent = TcpListener::bind("127.0.0.1:0").expect("a port");
    let url = format!("http://{}", silent.local_addr().expect("an address"));
    let delete = "call svc-api-servicemesh-endpoint-delete --param namespace=shop --param name=cart --yes";
    let mut command = stage.command(&delete.split(' ').collect::<Vec<_>>());
    command.env("TRUEUP_BASE_URL", url).stdin(Stdio::null()).stderr(Stdio::piped());
    let call = command.spawn().expect("it starts");
    let (mut connection, _) = silent.accept().expect("a connection");
    connection.read_exact(&mut [0; 6]).expect("the request");
    is_in_doubt(call);
}

#[cfg(unix)]
#[track_caller]
fn is_in_doubt(write: std::process::Child) {
    let sent = std::process::Command::new("kill").args(["-INT", &write.id().to_string()]).status();
    assert!(sent.expect("kill").success());
    let output = write.wait_with_output().expect("it ends");
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(130), "{said}");
    assert!(said.contains("error: interrupted\n") && said.contains("it may have taken effect; check"), "{said}");
}

#[test]
fn an_event_that_moved_after_it_was_shown_is_not_written() {
    let (service, stage) = staged();
    // Somebody else comes in before the second read.
    service.hold("operation: ddos-event-get, after: 1, for: 1");
    let mut child = stage
        .command(&["ddos", "edit", "open-one", "--description", "mine", "--yes"])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program starts");
    let mut stderr = BufReader::new(child.stderr.take().expect("a pipe"));
    let mut output = String::new();
    while !output.contains("-> mine") {
        assert_ne!(stderr.read_line(&mut output).expect("text"), 0, "{output}");
    }
    let (status, body) = service.send("PUT", EVENT, Some(r#"{"description": "theirs"}"#));
    assert_eq!(status, 200, "{body}");
    service.release();
    std::io::Read::read_to_string(&mut stderr, &mut output).expect("text");
    assert_eq!(child.wait().expect("an end").code(), Some(6), "{output}");
    assert!(output.contains("conflict: DDoS event open-one was changed by someone else"), "{output}");
    assert!(output.contains("description  a flood     theirs  mine"), "{output}");
    assert!(output.contains("nothing was changed"), "{output}");
    assert_eq!(event(&service)["description"], "theirs");
}

/// Edits that were sent.
fn edits(service: &Service) -> usize {
    service.log().iter().filter(|entry| entry.operation == "ddos-event-edit").count()
}

/// Edits the event as somebody else, so long after the first edit that is sent.
fn edited_meanwhile(service: &Service, after: Duration, body: &str) {
    while edits(service) == 0 {
        std::thread::sleep(Duration::from_millis(10));
    }
    std::thread::sleep(after);
    let (status, answer) = service.send("PUT", EVENT, Some(body));
    assert_eq!(status, 200, "{answer}");
}

#[test]
fn an_event_that_moved_while_an_edit_waited_to_be_sent_again_is_not_written() {
    for (description, code) in [("theirs", 6), ("mine", 0)] {
        let (service, stage) = staged();
        service.misbehave("rules: [{operation: ddos-event-edit, for: 1, status: {code: 429, retry_after: 5}}]");
        let body = format!(r#"{{"description": "{description}"}}"#);
        let ran = std::thread::scope(|scope| {
            scope.spawn(|| edited_meanwhile(&service, Duration::ZERO, &body));
            stage.run("ddos edit open-one --description mine --yes")
        });
        match ran.code(code).stderr_ignored() {
            ran if code == 6 => ran
                .stderr_contains("conflict: DDoS event open-one was changed by someone else")
                .stderr_contains("nothing was changed"),
            // What is as wanted by then is done.
            ran => ran.stdout_contains("Edited DDoS event open-one."),
        };
        assert_eq!(event(&service)["description"], description);
        assert_eq!(edits(&service), 2, "that of somebody else, and the refused one");
    }
}

#[test]
fn an_edit_whose_event_cannot_be_read_again_is_not_in_doubt() {
    let (service, stage) = staged();
    service.misbehave("rules: [{operation: ddos-event-get, after: 1, status: {code: 403}}]");
    stage.run("ddos edit open-one --name lost --yes").code(1).stderr_contains("nothing was changed");
    service.misbehave("rules: [{operation: ddos-event-get, after: 1, html: {}}]");
    stage.run("ddos edit open-one --name lost --yes").code(1).stderr_contains("nothing was changed");
    assert_eq!(edits(&service), 0);
}

#[test]
fn a_lost_answer_is_settled_by_reads() {
    let (service, stage) = staged();
    service.misbehave("rules: [{operation: ddos-event-edit, for: 1, cut: after}]");
    stage.run("ddos edit open-one --name taken --yes").code(0).stderr_contains("-> taken").stdout_contains("Edited");
    service.misbehave("rules: [{operation: ddos-event-edit, for: 1, status: {code: 502}}]");
    let ran = stage.run("ddos edit open-one --name lost --yes");
    ran.code(7).stderr_contains("502 Bad Gateway").stderr_contains("it may have taken effect");
}

#[test]
fn an_edit_that_takes_effect_after_its_lost_answer_is_found() {
    let (service, stage) = staged();
    service.misbehave("rules: [{operation: ddos-event-edit, for: 1, status: {code: 504}}]");
    let ran = std::thread::scope(|scope| {
        scope.spawn(|| edited_meanwhile(&service, Duration::from_secs(1), r#"{"name": "late"}"#));
        stage.run("ddos edit open-one --name late --yes")
    });
    ran.code(0).stderr_contains("-> late").stdout_contains("Edited DDoS event open-one.");
}
