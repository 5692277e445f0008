//! A write that the service refuses for its pace waits. What happens meanwhile decides: it goes by what is true after the
//! wait, through the program and in real time. `apply::tests::waits` has every wait, write and change.

use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use serde_json::json;

use crate::support::{Service, Stage, definition};

/// An apply that deletes `shop/gone`, in the wait of so many seconds after the refusal of that delete.
fn waiting(service: &Service, seconds: u32) -> (Stage, Child) {
    let stage = Stage::stack(service, "shop")
        .file("kept.yaml", &definition("shop/kept", 80))
        .file("gone.yaml", &definition("shop/gone", 80));
    stage.run("apply . --yes --quiet").code(0);
    stage.remove("gone.yaml");
    service.misbehave(&format!(
        "rules: [{{operation: endpoint-delete, for: 1, status: {{code: 429, retry_after: {seconds}}}}}]"
    ));
    let apply = stage
        .command(&["apply", ".", "--yes", "--format", "json"])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("it starts");
    let begun = Instant::now();
    while service.requests("DELETE") == 0 {
        assert!(begun.elapsed() < Duration::from_mins(1), "the delete is not sent");
        std::thread::sleep(Duration::from_millis(10));
    }
    (stage, apply)
}

#[track_caller]
fn ends_with(apply: Child, code: i32) -> String {
    let output = apply.wait_with_output().expect("it ends");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert_eq!(output.status.code(), Some(code), "{text}{}", String::from_utf8_lossy(&output.stderr));
    text
}

#[test]
fn an_object_that_is_protected_while_its_refused_delete_waits_is_not_deleted() {
    for (annotation, value) in [("trueup/protect", "true"), ("trueup/stack", "another")] {
        let service = Service::start();
        let (_stage, apply) = waiting(&service, 5);
        service.change("shop/gone", |object| object["metadata"]["annotations"][annotation] = json!(value));
        let text = ends_with(apply, 6);
        assert!(text.contains("changed by someone else"), "{text}");
        assert!(service.has("shop/gone"));
        assert_eq!(service.requests("DELETE"), 1, "it is not sent again");
    }
}

#[cfg(unix)]
#[test]
fn a_delete_that_waits_when_the_run_is_interrupted_is_not_sent_again() {
    let service = Service::start();
    let (_stage, apply) = waiting(&service, 60);
    let process = apply.id().to_string();
    let sent = std::process::Command::new("kill").args(["-INT", &process]).status().expect("kill");
    assert!(sent.success());
    let begun = Instant::now();
    ends_with(apply, 130);
    assert!(begun.elapsed() < Duration::from_secs(30), "a write that is not sent is waited for");
    assert!(service.has("shop/gone"));
    assert_eq!(service.requests("DELETE"), 1, "it is not sent again");
}
