//! What people wait for at a real service: one that takes a tenth of a second for each request and accepts five of them
//! a second. Beside the program stands the shape of a tool that reads object by object, as most providers of
//! infrastructure tools do: a GET for each object that it manages, then a PUT and a GET for each change.

use std::error::Error;
use std::ffi::OsStr;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use futures_util::{StreamExt as _, TryStreamExt as _};
use http::Method;
use serde_json::Value as Json;

use crate::measure;
use crate::world::{self, Service, Stack};

type Failure = Box<dyn Error>;

const ENDPOINTS: usize = 1_000;
const NAMESPACES: usize = 10;
const LATENCY: Duration = Duration::from_millis(100);
/// Requests a second, after a burst of as many as the program allows itself.
const RATE: f64 = 5.0;
const BURST: usize = 20;
const CONNECTIONS: usize = 8;
const CHANGES: [usize; 3] = [1, 10, 100];

/// Seconds and requests of one command.
struct Wait {
    seconds: f64,
    requests: usize,
}

/// Measures both and prints the table.
pub fn run(program: &Path) -> Result<(), Failure> {
    let home = tempfile::tempdir()?;
    let stack = Stack::write(&home.path().join("stack"), ENDPOINTS, NAMESPACES)?;
    let (data, log, faults) = (home.path().join("data.redb"), home.path().join("log"), home.path().join("faults.yaml"));
    std::fs::write(&faults, format!("rules:\n  - delay: {{milliseconds: {}}}\n", LATENCY.as_millis()))?;
    let fast = Service::start(program, &data)?;
    let fill = ["apply", ".", "--yes", "--rate", "0"];
    crate::check("fill", measure::run(&mut command(program, home.path(), &stack, &fast, &fill))?, 0)?;
    drop(fast);
    let options = [OsStr::new("--faults"), faults.as_os_str(), OsStr::new("--log"), log.as_os_str()];
    let service = Service::start_with(program, &data, &options)?;

    let ours = |words: &[&str]| {
        let before = lines(&log)?;
        let mut command = command(program, home.path(), &stack, &service, words);
        let usage =
            measure::run(command.args(["--rate", &RATE.to_string(), "--concurrency", &CONNECTIONS.to_string()]))?;
        crate::check(words[0], usage, 0)?;
        Ok::<_, Failure>(Wait { seconds: usage.wall.as_secs_f64(), requests: lines(&log)? - before })
    };
    let mut rows = vec![("`plan`".to_owned(), ours(&["plan", "."])?), ("`drift`".to_owned(), ours(&["drift", "."])?)];
    for changes in CHANGES {
        stack.edit_first(changes, 9_000 + u16::try_from(changes)?)?;
        rows.push((format!("`apply` of {changes}"), ours(&["apply", ".", "--yes"])?));
    }
    // They only wait, so all of them wait at the same time.
    let others = crate::runtime()?.block_on(async {
        let of = |changes| one_by_one(&service, changes);
        futures_util::future::try_join_all([of(0), of(0), of(CHANGES[0]), of(CHANGES[1]), of(CHANGES[2])]).await
    })?;
    print(&rows, &others);
    Ok(())
}

fn print(rows: &[(String, Wait)], others: &[Wait]) {
    println!(
        "\n{ENDPOINTS} endpoints in {NAMESPACES} namespaces, {} ms a request, {RATE} requests a second, {CONNECTIONS} connections\n",
        LATENCY.as_millis()
    );
    println!("| what | requests | s | object by object: requests | s | times |\n|---|---:|---:|---:|---:|---:|");
    for ((name, ours), other) in rows.iter().zip(others) {
        println!(
            "| {name} | {} | {:.1} | {} | {:.1} | {:.0} |",
            ours.requests,
            ours.seconds,
            other.requests,
            other.seconds,
            other.seconds / ours.seconds
        );
    }
}

/// Reads every object, and writes and reads the first `changes` of them.
async fn one_by_one(service: &Service, changes: usize) -> Result<Wait, Failure> {
    let client = crate::limit::client()?;
    let reads = (0..ENDPOINTS).map(|at| (Method::GET, at));
    let writes = (0..changes).flat_map(|at| [(Method::PUT, at), (Method::GET, at)]);
    let begin = Instant::now();
    let requests = futures_util::stream::iter(reads.chain(writes).enumerate())
        .map(|(number, (method, at))| send(&client, service, begin, number, method, at))
        .buffered(CONNECTIONS)
        .try_fold(0, async |sent, ()| Ok(sent + 1))
        .await?;
    Ok(Wait { seconds: begin.elapsed().as_secs_f64(), requests })
}

/// Sends request `number` as soon as the rate allows.
async fn send(
    client: &reqwest::Client,
    service: &Service,
    begin: Instant,
    number: usize,
    method: Method,
    at: usize,
) -> Result<(), Failure> {
    let wait = Duration::from_secs_f64(number.saturating_sub(BURST) as f64 / RATE);
    tokio::time::sleep_until((begin + wait).into()).await;
    let namespace = world::namespace(at % NAMESPACES);
    let url = format!("{}/api/config/namespaces/{namespace}/endpoints/endpoint-{at:06}", service.base_url);
    let mut request = client.request(method.clone(), url).header("authorization", format!("APIToken {}", world::TOKEN));
    if method == Method::PUT {
        let body: Json = serde_yaml::from_str(&world::definition(at, NAMESPACES, 8_443))?;
        request = request.body(body.to_string()).header("content-type", "application/json");
    }
    request.send().await?.error_for_status()?.bytes().await?;
    Ok(())
}

fn command(program: &Path, home: &Path, stack: &Stack, service: &Service, words: &[&str]) -> Command {
    let mut command = Command::new(program);
    command
        .args(words)
        .args(["--base-url", &service.base_url])
        .arg("--state")
        .arg(home.join("state"))
        .current_dir(&stack.directory)
        .env("TRUEUP_TOKEN", world::TOKEN);
    command
}

/// How many requests the service has logged.
fn lines(log: &Path) -> Result<usize, Failure> {
    Ok(if log.exists() { std::fs::read_to_string(log)?.lines().count() } else { 0 })
}
