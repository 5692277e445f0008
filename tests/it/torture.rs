//! The kill harness: some 200 mixed changes a round, the program or the service killed in the middle of
//! them, and `apply --resume last` until the run ends. `TRUEUP_TORTURE` says how many kills, and
//! `TRUEUP_SEED` repeats a run; without them it is a small fixed number. The same with the state in a bucket, whose
//! server is killed as well, and with every call on a runner with an empty disk.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use fastrand::Rng;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::support::BucketServer;

const TOKEN: &str = "torture-token-7";
/// In each round a quarter of them comes, a quarter changes, a quarter goes.
const ENDPOINTS: usize = 268;
const CHANGES: usize = 201;
const FOREIGN: usize = 30;
const LIST: &str = "/api/config/namespaces/shop/endpoints?report_fields=all";

/// The program as a service, in a process of its own.
struct Service {
    child: Child,
    url: String,
    data: PathBuf,
    log: PathBuf,
}

impl Service {
    fn start(directory: &Path) -> Self {
        let (data, log) = (directory.join("tenant.redb"), directory.join("requests.jsonl"));
        let (child, url) = Self::spawn("127.0.0.1:0", &data, &log).expect("a sandbox");
        Self { child, url, data, log }
    }

    fn spawn(listen: &str, data: &Path, log: &Path) -> Option<(Child, String)> {
        let mut child = Command::new(env!("CARGO_BIN_EXE_trueup"))
            .args(["sandbox", "--listen", listen, "--data"])
            .arg(data)
            .arg("--log")
            .arg(log)
            .env_clear()
            .env("TRUEUP_SANDBOX_TOKEN", TOKEN)
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("the program starts");
        let stdout = BufReader::new(child.stdout.take().expect("a pipe")).lines().next().and_then(Result::ok);
        match stdout.and_then(|line| Some(line.split_once("http://")?.1.trim().to_owned())) {
            Some(address) => Some((child, format!("http://{address}"))),
            None => {
                child.wait().expect("it ended");
                None
            }
        }
    }

    fn kill(&mut self) {
        self.child.kill().expect("it runs");
        self.child.wait().expect("it ends");
    }

    /// Kills it and starts it again on its file, at the same address.
    fn kill_and_restart(&mut self) {
        self.kill();
        let address = self.url.trim_start_matches("http://").to_owned();
        let started = (0..50).find_map(|_| Self::spawn(&address, &self.data, &self.log));
        (self.child, _) = started.expect("it comes back on its file");
    }

    /// The writes that took effect, by method and name, from line `from` of the log on.
    fn writes(&self, from: usize) -> (BTreeMap<(String, String), usize>, usize) {
        let text = std::fs::read_to_string(&self.log).unwrap_or_default();
        let mut writes = BTreeMap::new();
        // A kill may leave half a line.
        for entry in text.lines().skip(from).filter_map(|line| serde_json::from_str::<Value>(line).ok()) {
            if entry["effect"] == "done" {
                let word = |key: &str| entry[key].as_str().unwrap_or_default().to_owned();
                *writes.entry((word("method"), word("name"))).or_insert(0) += 1;
            }
        }
        (writes, text.lines().count())
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        // It may be dead already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// How a call of the program ended.
#[derive(Debug, PartialEq)]
enum Ended {
    Killed,
    Code(i32),
}

/// What was counted.
#[derive(Debug, Default)]
struct Figures {
    rounds: usize,
    client_kills: usize,
    service_kills: usize,
    bucket_kills: usize,
    resumes: usize,
    changes: usize,
    writes: usize,
}

struct Torture {
    directory: TempDir,
    service: Service,
    /// Where the state is, if not on the disk of the runner.
    bucket: Option<BucketServer>,
    random: Rng,
    http: reqwest::Client,
    runtime: tokio::runtime::Runtime,
    round: usize,
    figures: Figures,
}

impl Torture {
    fn new(seed: u64, bucket: Option<BucketServer>) -> Self {
        let directory = tempfile::tempdir().expect("a directory");
        let service = Service::start(directory.path());
        let work = directory.path().join("work");
        std::fs::create_dir_all(&work).expect("a directory");
        let settings = format!("stack: torture\nbase_url: {}\nnamespaces: [shop]\n", service.url);
        std::fs::write(work.join("trueup.yaml"), settings).expect("the settings");
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
        let http = crate::sandbox::client();
        let mut torture = Self {
            directory,
            service,
            bucket,
            random: Rng::with_seed(seed),
            http,
            runtime,
            round: 0,
            figures: Figures::default(),
        };
        torture.plant_foreign();
        torture
    }

    fn send(&self, method: &str, path: &str, body: Option<String>) -> Value {
        let url = format!("{}{path}", self.service.url);
        let request = self.http.request(method.parse().expect("a method"), url);
        let request = request.header("Authorization", format!("APIToken {TOKEN}")).body(body.unwrap_or_default());
        self.runtime.block_on(async {
            let response = request.send().await.expect("an answer");
            assert!(response.status().is_success(), "{}", response.status());
            serde_json::from_slice(&response.bytes().await.expect("a body")).expect("JSON")
        })
    }

    /// Objects of another stack and of nobody, beside ours.
    fn plant_foreign(&mut self) {
        for number in 0..FOREIGN {
            let mark = if number % 2 == 0 { json!({"trueup/stack": "neighbour"}) } else { json!({}) };
            let body = json!({
                "metadata": {"name": format!("foreign-{number}"), "namespace": "shop", "annotations": mark},
                "spec": {"ip": "10.1.1.1", "port": number}
            });
            self.send("POST", "/api/config/namespaces/shop/endpoints", Some(body.to_string()));
        }
    }

    /// Name and port of everything that is to be there in this round.
    fn wanted(&self) -> BTreeMap<String, u64> {
        let round = self.round;
        (0..ENDPOINTS)
            .filter_map(|number| {
                let port = match (number + round) % 4 {
                    0 => return None,
                    1 => round,
                    // Changed in the round after the one in which it came, and left alone in the next.
                    2 => round,
                    _ => round - 1,
                };
                Some((format!("ep-{number}"), 1000 + u64::try_from(port).expect("small")))
            })
            .collect()
    }

    fn write_definitions(&self) {
        let define = |(name, port): (&String, &u64)| {
            format!("metadata:\n  name: {name}\n  namespace: shop\nspec:\n  ip: 10.0.0.7\n  port: {port}\n")
        };
        let text: Vec<String> = self.wanted().iter().map(define).collect();
        std::fs::write(self.directory.path().join("work/all.yaml"), text.join("---\n")).expect("the definitions");
    }

    /// Every object as the service holds it, ours apart from the others.
    fn live(&self) -> (BTreeMap<String, u64>, BTreeMap<String, Value>) {
        let (mut ours, mut others) = (BTreeMap::new(), BTreeMap::new());
        let list = self.send("GET", LIST, None);
        for item in list["items"].as_array().expect("items") {
            let name = item["name"].as_str().expect("a name").to_owned();
            let object = self.send("GET", &format!("/api/config/namespaces/shop/endpoints/{name}"), None);
            if name.starts_with("ep-") {
                ours.insert(name, object["spec"]["port"].as_u64().expect("a port"));
            } else {
                others.insert(name, object);
            }
        }
        (ours, others)
    }

    fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_trueup"));
        command
            .args(words)
            .current_dir(self.directory.path().join("work"))
            .env_clear()
            .env("HOME", self.directory.path())
            .env("XDG_STATE_HOME", self.directory.path().join("state"))
            .env("TRUEUP_TOKEN", TOKEN)
            .envs(self.bucket.iter().flat_map(BucketServer::variables))
            .stdin(Stdio::null());
        command
    }

    /// Runs a command; at each of these counts of changes that it reported, `act` is done to it or to the
    /// service.
    fn run(&mut self, words: &[&str], moments: &[usize], act: impl Fn(&mut Self, &mut Child)) -> Ended {
        let mut child =
            self.command(words).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().expect("the program starts");
        let mut stderr = BufReader::new(child.stderr.take().expect("a pipe")).lines().map_while(Result::ok);
        let (mut seen, mut last) = (0, Vec::new());
        for moment in moments {
            while seen < *moment
                && let Some(line) = stderr.next()
            {
                seen += 1;
                last.push(line);
            }
            if seen < *moment {
                break;
            }
            // Anywhere between two lines.
            std::thread::sleep(Duration::from_micros(self.random.u64(0..8_000)));
            act(self, &mut child);
        }
        last.extend(stderr);
        let last = last.split_off(last.len().saturating_sub(6)).join("\n");
        match child.wait().expect("it ends").code() {
            Some(code) => {
                assert!([0, 1, 5, 7].contains(&code), "{words:?} ended with {code}: {last}");
                Ended::Code(code)
            }
            None => Ended::Killed,
        }
    }

    /// A sequence of counts, each at most `most` behind the one before.
    fn moments(&mut self, count: usize, most: usize) -> Vec<usize> {
        let mut at = 0;
        (0..count)
            .map(|_| {
                at += self.random.usize(0..most);
                at
            })
            .collect()
    }

    /// Runs a command to its end and gives its code and answer.
    fn ask(&self, words: &[&str]) -> (i32, String, String) {
        let output = self.command(words).output().expect("the program starts");
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        (output.status.code().unwrap_or(-1), text(&output.stdout), text(&output.stderr))
    }

    /// Journals that have their header; what has none sent nothing.
    fn journals(&self) -> usize {
        if let Some(bucket) = &self.bucket {
            assert!(!self.directory.path().join("state/trueup/runs").exists(), "a run is on the disk of its runner");
            let runs: BTreeSet<String> = bucket
                .names("runs")
                .iter()
                .map(|name| name.split(['/', '.']).next().unwrap_or_default().to_owned())
                .collect();
            return runs.len();
        }
        let runs = self.directory.path().join("state/trueup/runs");
        let files = std::fs::read_dir(runs).into_iter().flatten().filter_map(Result::ok);
        files.filter(|file| std::fs::read(file.path()).is_ok_and(|bytes| bytes.contains(&b'\n'))).count()
    }

    fn runs(&self) -> Vec<Value> {
        let (code, answer, message) = self.ask(&["history", "--format", "json"]);
        assert_eq!(code, 0, "{message}");
        let history: Value = serde_json::from_str(&answer).expect("JSON");
        // A kill in the middle of the header leaves a run that sent nothing.
        for entry in history["unreadable"].as_array().expect("a list") {
            assert!(entry.as_str().is_some_and(|entry| entry.contains("before it sent anything")), "{entry}");
        }
        history["runs"].as_array().expect("runs").iter().rev().cloned().collect()
    }

    const APPLY: [&'static str; 5] = ["apply", ".", "--yes", "--allow", "mass-change"];
    /// The guards are computed again over what is left.
    const RESUME: [&'static str; 6] = ["apply", "--resume", "last", "--yes", "--allow", "mass-change"];

    /// One round in which the program is killed again and again, at most `kills` times.
    fn kill_clients(&mut self, kills: usize) {
        let before = self.begin();
        let kill = |_: &mut Self, child: &mut Child| {
            child.kill().expect("it runs or has just ended");
        };
        let mut words: &[&str] = &Self::APPLY;
        for _ in 0..kills {
            let moment = self.moments(1, CHANGES / 5);
            match self.run(words, &moment, kill) {
                Ended::Killed => self.figures.client_kills += 1,
                Ended::Code(0) => break,
                Ended::Code(6) if words == Self::RESUME => break,
                Ended::Code(code) => panic!("nobody was killed, and {words:?} ended with {code}"),
            }
            // A program that was killed before its journal began has nothing to resume.
            if self.journals() > before.journals {
                words = &Self::RESUME;
                self.figures.resumes += 1;
            }
        }
        let (mut code, mut answer, mut message) = self.ask(words);
        if code == 6 && words == Self::RESUME {
            // The program that was killed last had ended its run.
            (code, answer, message) = self.ask(&Self::APPLY);
        }
        assert_eq!(code, 0, "{answer}{message}");
        self.end(&before, Exactly::Once);
    }

    /// One round in which the service is killed and started again, at most `kills` times.
    fn kill_services(&mut self, kills: usize) {
        self.kill_servers(kills, |torture| {
            torture.service.kill_and_restart();
            // Connections to the one that was killed are dead.
            torture.http = crate::sandbox::client();
            torture.figures.service_kills += 1;
        });
    }

    /// The same with the server of the bucket.
    fn kill_buckets(&mut self, kills: usize) {
        self.kill_servers(kills, |torture| {
            torture.bucket.as_mut().expect("a bucket").kill_and_restart();
            torture.figures.bucket_kills += 1;
        });
    }

    fn kill_servers(&mut self, kills: usize, kill_one: impl Fn(&mut Self)) {
        let before = self.begin();
        let mut words: &[&str] = &Self::APPLY;
        for kill in 0.. {
            let moments = if kill == 0 { self.moments(kills, CHANGES / 5) } else { Vec::new() };
            let ended = self.run(words, &moments, |torture, _| kill_one(torture));
            if ended == Ended::Code(0) {
                break;
            }
            assert!(kill < 10, "it does not end");
            if self.journals() > before.journals {
                words = &Self::RESUME;
                self.figures.resumes += 1;
            }
        }
        self.end(&before, Exactly::OnceOrUnseen);
    }

    fn begin(&mut self) -> Before {
        self.round += 1;
        self.http = crate::sandbox::client();
        self.write_definitions();
        let (_, others) = self.live();
        Before { others, journals: self.journals(), log: self.service.writes(0).1, first: self.round == 1 }
    }

    fn end(&mut self, before: &Before, exactly: Exactly) {
        // The service has closed a connection that was not used while runs waited for the lock of a dead one.
        self.http = crate::sandbox::client();
        let (ours, others) = self.live();
        assert_eq!(ours, self.wanted(), "live is not as defined");
        assert_eq!(others, before.others, "somebody else's objects were touched");
        let (code, answer, message) = self.ask(&["plan", ".", "--detailed-exitcode"]);
        assert_eq!(code, 0, "a plan after it is not empty\n{answer}{message}");
        for run in self.runs() {
            let settled = run["status"] == "finished" || !run["resumed_by"].is_null();
            assert!(settled, "a run is left in_doubt: {run}");
        }
        let (writes, _) = self.service.writes(before.log);
        for (write, count) in &writes {
            assert_eq!(*count, 1, "{write:?} was made {count} times");
        }
        let changes = if before.first { self.wanted().len() } else { CHANGES };
        match exactly {
            Exactly::Once => assert_eq!(writes.len(), changes),
            // A service that was killed between a write and its line in the log has one less.
            Exactly::OnceOrUnseen => assert!(writes.len() <= changes),
        }
        // Every call reads every journal: old ones would make the last rounds slow.
        let (code, _, message) = self.ask(&["history", "--keep", "1", "--quiet"]);
        assert_eq!(code, 0, "{message}");
        self.figures.rounds += 1;
        if self.figures.rounds.is_multiple_of(10) {
            println!("{:?}", self.figures);
        }
        self.figures.changes += changes;
        self.figures.writes += writes.values().sum::<usize>();
    }
}

/// How often the log has to hold each write.
enum Exactly {
    Once,
    OnceOrUnseen,
}

/// What stood before a round.
struct Before {
    others: BTreeMap<String, Value>,
    journals: usize,
    log: usize,
    first: bool,
}

fn number(name: &str, default: u64) -> u64 {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(default)
}

#[test]
fn no_kill_loses_a_write_makes_one_twice_or_leaves_a_run_in_doubt() {
    let kills = usize::try_from(number("TRUEUP_TORTURE", 15)).expect("a number of kills");
    let seed = number("TRUEUP_SEED", 20_261_121);
    let mut torture = Torture::new(seed, None);
    let of_services = kills / 3;
    while torture.figures.client_kills < kills - of_services {
        let left = kills - of_services - torture.figures.client_kills;
        torture.kill_clients(left.min(12));
    }
    while torture.figures.service_kills < of_services {
        let left = of_services - torture.figures.service_kills;
        torture.kill_services(left.min(8));
    }
    println!("seed {seed}: {:?}; lost 0, made twice 0, in_doubt 0", torture.figures);
}

#[test]
fn no_kill_loses_a_write_where_the_state_is_in_a_bucket() {
    let Some(bucket) = BucketServer::start() else { return };
    let kills = usize::try_from(number("TRUEUP_TORTURE", 12)).expect("a number of kills");
    let seed = number("TRUEUP_SEED", 20_261_122);
    let mut torture = Torture::new(seed, Some(bucket));
    let (of_clients, of_services) = (kills / 2, kills / 6);
    while torture.figures.client_kills < of_clients {
        torture.kill_clients((of_clients - torture.figures.client_kills).min(12));
    }
    while torture.figures.service_kills < of_services {
        torture.kill_services((of_services - torture.figures.service_kills).min(8));
    }
    while torture.figures.bucket_kills < kills - of_clients - of_services {
        let left = kills - of_clients - of_services - torture.figures.bucket_kills;
        torture.kill_buckets(left.min(8));
    }
    println!("seed {seed}, in a bucket: {:?}; lost 0, made twice 0, in_doubt 0", torture.figures);
}
