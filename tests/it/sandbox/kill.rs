//! What was acknowledged is there after the process was killed. The killed process is this test
//! binary, run again as a sandbox.

use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use tokio::sync::mpsc;
use trueup::sandbox::{self, Storage};

use super::{Bench, SHOP, TOKEN, Time, client, endpoint, options};

const FILE: &str = "TRUEUP_TEST_SANDBOX_FILE";

/// The process that is killed; it does nothing when it is run as a test.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "run by the test beside it, as a process of its own"]
async fn child() {
    let Some(file) = std::env::var_os(FILE) else { return };
    let running = sandbox::start(options(Storage::File(file.into()), &Time::new())).await.unwrap();
    println!("\nlistens on {}", running.base_url());
    std::future::pending::<()>().await;
}

fn spawn(file: &Path) -> (Child, String) {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["sandbox::kill::child", "--exact", "--ignored", "--nocapture"])
        .env(FILE, file)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let url = lines
        .map_while(Result::ok)
        .find_map(|line| line.strip_prefix("listens on ").map(ToOwned::to_owned))
        .expect("the child prints where it listens");
    (child, url)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_kill_loses_no_acknowledged_write() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("tenant.redb");
    let mut acknowledged = Vec::new();
    for round in 0..4 {
        let (mut child, url) = spawn(&file);
        let (written, mut writes) = mpsc::unbounded_channel();
        let writers: Vec<_> = (0..8)
            .map(|writer| {
                let (url, written, client) = (format!("{url}{SHOP}"), written.clone(), client());
                tokio::spawn(async move {
                    let mut done = Vec::new();
                    for number in 0.. {
                        let name = format!("ep-{round}-{writer}-{number}");
                        let request = client.post(&url).header("Authorization", format!("APIToken {TOKEN}"));
                        match request.body(endpoint(&name).to_string()).send().await {
                            Ok(response) if response.status() == 200 => done.push(name),
                            _ => break,
                        }
                        // Nobody counts any more once the child is to be killed.
                        let _ = written.send(());
                    }
                    done
                })
            })
            .collect();
        for _ in 0..100 * (round + 1) {
            writes.recv().await.unwrap();
        }
        child.kill().unwrap();
        child.wait().unwrap();
        for writer in writers {
            acknowledged.extend(writer.await.unwrap());
        }
    }
    let bench = Bench::with(|options| options.storage = Storage::File(file)).await;
    let list = bench.get(SHOP).await.json();
    let kept: std::collections::BTreeSet<_> =
        list["items"].as_array().unwrap().iter().map(|item| item["name"].as_str().unwrap()).collect();
    assert!(acknowledged.len() >= 1_000);
    let lost: Vec<_> = acknowledged.iter().filter(|name| !kept.contains(name.as_str())).collect();
    assert!(lost.is_empty(), "{} of {} were lost: {lost:?}", lost.len(), acknowledged.len());
}
