//! Three writers at once in one namespace: an apply, a person in the console, and the apply of a second stack. Each of the
//! others works between two requests of ours; nothing of theirs is lost, and in the end all is settled. `TRUEUP_SEED`
//! repeats a run.

use std::collections::BTreeMap;
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex};

use fastrand::Rng;
use serde_json::{Value, json};

use crate::requests::{Recorder, Sent};
use crate::support::{Service, Stage, TOKEN};

const CHECKS: usize = 8;

fn check(name: &str, interval: u32) -> String {
    let spec = json!({"tcp_health_check": {}, "timeout": 3, "interval": interval, "unhealthy_threshold": 2,
        "healthy_threshold": 3});
    json!({"kind": "healthcheck", "metadata": {"name": name, "namespace": "shop"}, "spec": spec}).to_string()
}

/// A request of another client, past the recorder.
fn send(to: &str, method: &str, path: &str, body: &str) -> Value {
    let mut stream = TcpStream::connect(to).expect("the service is there");
    let head = format!(
        "{method} {path} HTTP/1.1\r\nHost: {to}\r\nAuthorization: APIToken {TOKEN}\r\nContent-Type: application/json\r\n\
         Content-Length: {}\r\nConnection: close\r\n\r\n",
        body.len()
    );
    stream.write_all(head.as_bytes()).and_then(|()| stream.write_all(body.as_bytes())).expect("the service reads");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("the service answers");
    let body = answer.split_once("\r\n\r\n").map(|(_, body)| body).unwrap_or_default();
    serde_json::from_str(body).unwrap_or_default()
}

const LIST: &str = "/api/config/namespaces/shop/healthchecks";

#[test]
fn of_three_writers_in_one_namespace_none_loses_anything_and_the_end_is_settled() {
    let seed =
        std::env::var("TRUEUP_SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or_else(|| fastrand::u64(..));
    eprintln!("TRUEUP_SEED={seed}");
    let mut rng = Rng::with_seed(seed);
    let service = Service::start();
    let to = service.url().trim_start_matches("http://").to_owned();
    let settings = |stack: &str| format!("stack: {stack}\nnamespaces: [shop]\nkinds: [healthcheck]\n");
    let theirs = Stage::new().at(&service).file("trueup.yaml", &settings("theirs"));
    for at in 0..CHECKS {
        theirs.write(&format!("t{at}.json"), &check(&format!("t{at}"), 20));
    }
    theirs.run("apply . --yes").code(0).stderr_ignored();
    // Their next apply happens in the middle of ours.
    for at in 0..CHECKS / 2 {
        theirs.write(&format!("t{at}.json"), &check(&format!("t{at}"), 30));
    }
    let command = theirs.command(&["apply", ".", "--yes", "--allow", "mass-change"]);
    let their_apply = (
        command.get_program().to_owned(),
        command.get_envs().map(|(key, value)| (key.to_owned(), value.map(ToOwned::to_owned))).collect::<Vec<_>>(),
        theirs.path(""),
    );

    let ours = Stage::new().at(&service).file("trueup.yaml", &settings("ours"));
    for at in 0..CHECKS {
        ours.write(&format!("o{at}.json"), &check(&format!("o{at}"), 20));
    }
    ours.run("apply . --yes").code(0).stderr_ignored();
    for at in 0..CHECKS - 2 {
        ours.write(&format!("o{at}.json"), &check(&format!("o{at}"), 40));
    }
    for at in CHECKS..CHECKS + 3 {
        ours.write(&format!("o{at}.json"), &check(&format!("o{at}"), 20));
    }

    // Which request of ours which other writer comes before.
    let their_turn = rng.usize(2..12);
    let console: BTreeMap<usize, (usize, u32)> =
        (0..6).map(|_| (rng.usize(1..15), (rng.usize(0..CHECKS), rng.u32(10..50)))).collect();
    let console_made = console.clone();
    let count = Arc::new(Mutex::new(0));
    let requests = Arc::clone(&count);
    let hook = move |_: &Sent| {
        let mut count = count.lock().expect("nobody panics with it");
        *count += 1;
        if *count == their_turn {
            let (program, environment, directory) = &their_apply;
            let mut command = Command::new(program);
            command.args(["apply", ".", "--yes", "--allow", "mass-change"]).current_dir(directory).env_clear();
            command.envs(environment.iter().filter_map(|(key, value)| Some((key, value.as_ref()?))));
            let status =
                command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).status().expect("it starts");
            assert!(status.success(), "{status}");
        }
        if let Some((at, jitter)) = console_made.get(&*count) {
            let path = format!("{LIST}/o{at}");
            let mut now = send(&to, "GET", &path, "");
            now["spec"]["jitter_percent"] = json!(jitter);
            let body = json!({"metadata": now["metadata"], "spec": now["spec"]});
            assert_eq!(send(&to, "PUT", &path, &body.to_string()), json!({}), "the console changes it");
            let extra = check(&format!("console-{}", *count), 25);
            send(&to, "POST", LIST, &extra);
        }
    };
    let recorder = Recorder::hooked(&service, hook);
    let through = ours.env("TRUEUP_BASE_URL", &recorder.url);
    let mut codes = Vec::new();
    for _ in 0..8 {
        let applied = through.run("apply . --yes --allow mass-change");
        codes.push(applied.stderr_ignored().exit());
        if applied.exit() == 0 {
            break;
        }
    }
    assert_eq!(codes.last(), Some(&0), "TRUEUP_SEED={seed}: {codes:?}");

    let requests = *requests.lock().expect("nobody panics with it");
    assert!(console.keys().all(|turn| *turn <= requests), "TRUEUP_SEED={seed}: only {requests} requests");

    let get = |name: &str| -> Value {
        let (status, body) = service.send("GET", &format!("{LIST}/{name}"), None);
        assert_eq!(status, 200, "TRUEUP_SEED={seed}: {name}: {body}");
        serde_json::from_str(&body).expect("JSON")
    };
    for at in 0..CHECKS + 3 {
        let spec = get(&format!("o{at}"))["spec"].clone();
        assert_eq!(spec["interval"], if at < CHECKS - 2 { 40 } else { 20 }, "TRUEUP_SEED={seed}: o{at}");
        // What the console set stays: no definition names it.
        let set: Vec<u32> = console.values().filter(|(of, _)| *of == at).map(|(_, jitter)| *jitter).collect();
        if let Some(last) = set.last() {
            assert_eq!(spec["jitter_percent"], *last, "TRUEUP_SEED={seed}: o{at}");
        }
    }
    for at in 0..CHECKS {
        let spec = get(&format!("t{at}"))["spec"].clone();
        assert_eq!(spec["interval"], if at < CHECKS / 2 { 30 } else { 20 }, "TRUEUP_SEED={seed}: t{at}");
    }
    theirs.run("plan .").code(0).stdout_contains("In sync: 8");
    for turn in console.keys() {
        get(&format!("console-{turn}"));
    }
    through.run("plan .").code(0).stdout_contains("In sync: 11");
}
