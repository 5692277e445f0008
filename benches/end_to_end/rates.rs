//! Requests a second of an apply against those of a bare generator that sends the same kinds of requests with the
//! same bodies to the same service, and writes a journal of the same length.

use std::error::Error;
use std::path::Path;
use std::process::Command;

use bytes::Bytes;
use http::Method;
use serde_json::Value as Json;

use crate::generator::{self, Journal, Shot};
use crate::measure::{self, Usage};
use crate::world;

/// What an apply took.
#[derive(Debug, Clone, Copy)]
pub struct Applied {
    /// The process whole: load, list, compare, apply, look again.
    pub whole: Usage,
    /// Seconds from the first write to the end of the verification, as the program reports them.
    pub seconds: f64,
    /// Seconds of them that the verification took.
    pub look: f64,
    /// Requests that were sent in them.
    pub requests: f64,
}

/// Runs an apply that answers with JSON.
pub fn apply(command: &mut Command, answer: &Path) -> Result<Applied, Box<dyn Error>> {
    let whole = measure::run_into(command.args(["--format", "json"]), std::fs::File::create(answer)?)?;
    let rendered: Json = serde_json::from_slice(&std::fs::read(answer)?)?;
    let number = |name: &str| rendered["outcome"][name].as_f64().ok_or_else(|| format!("the outcome has no {name}"));
    let seconds = |name: &str| number(name).map(|milliseconds| milliseconds / 1000.0);
    Ok(Applied {
        whole,
        seconds: seconds("milliseconds")?,
        look: seconds("verify_milliseconds")?,
        requests: number("requests")?,
    })
}

/// An apply and a bare client that sent the same.
pub struct Pair {
    /// The apply.
    pub ours: Applied,
    /// Requests a second of the bare client.
    pub bare: f64,
}

impl Pair {
    /// Requests a second while it wrote.
    fn rate(&self) -> f64 {
        self.ours.requests / (self.ours.seconds - self.ours.look)
    }

    /// Requests a second, with the verification.
    fn rate_with_look(&self) -> f64 {
        self.ours.requests / self.ours.seconds
    }
}

/// Prints the medians of rounds of creates, replaces and deletes, each ratio of one round.
pub fn table(count: usize, rounds: &[[Pair; 3]]) {
    println!(
        "\n| apply of {count} | whole s | writing s | verification s | requests a second | bare | ratio | lowest to highest | with the verification | peak MB |"
    );
    println!("|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|");
    for (at, name) in ["creates", "replaces", "deletes"].into_iter().enumerate() {
        let sorted = |figure: fn(&Pair) -> f64| {
            let mut figures: Vec<f64> = rounds.iter().map(|round| figure(&round[at])).collect();
            figures.sort_by(f64::total_cmp);
            figures
        };
        let median = |figure| sorted(figure)[rounds.len() / 2];
        let ratios = sorted(|pair| pair.rate() / pair.bare);
        println!(
            "| {name} | {:.2} | {:.2} | {:.2} | {:.0} | {:.0} | {:.2} | {:.2} to {:.2} | {:.2} | {:.1} |",
            median(|pair| pair.ours.whole.wall.as_secs_f64()),
            median(|pair| pair.ours.seconds - pair.ours.look),
            median(|pair| pair.ours.look),
            median(Pair::rate),
            median(|pair| pair.bare),
            ratios[rounds.len() / 2],
            ratios[0],
            ratios[rounds.len() - 1],
            median(|pair| pair.rate_with_look() / pair.bare),
            sorted(|pair| pair.ours.whole.memory as f64 / 1e6)[rounds.len() - 1],
        );
    }
}

/// Changes whose intents reach the disk in one flush of the program's journal: what `strace -c` counts of it with 32
/// connections.
const TOGETHER: usize = 16;

/// A bare client of the service.
pub struct Bare<'a> {
    /// Host and port.
    pub address: &'a str,
    /// Requests at the same time.
    pub concurrency: usize,
}

impl Bare<'_> {
    /// Requests a second of what the newest run of `state` sent, in namespaces of its own: a create; a
    /// GET and a PUT; two GETs and a DELETE. Its journal has the lines of that run.
    pub fn rate(&self, state: &Path) -> Result<f64, Box<dyn Error>> {
        let mut shots = Vec::new();
        // A DELETE is shot long after the GETs of its endpoint, which may be on another connection.
        let mut later = Vec::new();
        for write in written(state)? {
            let path = format!("/api/config/namespaces/{}/endpoints", write.namespace);
            let one = format!("{path}/{}", write.name);
            let get = |path: &str| Shot {
                method: Method::GET,
                path: path.to_owned(),
                body: Bytes::new(),
                record: Bytes::new(),
            };
            let shot = |path| Shot { method: write.method.clone(), path, body: write.body, record: write.record };
            match write.method {
                Method::POST => shots.push(shot(path)),
                Method::PUT => {
                    shots.push(get(&one));
                    shots.push(shot(one));
                }
                _ => {
                    shots.push(get(&one));
                    shots.push(get(&format!("{one}?response_format=GET_RSP_FORMAT_REFERRING_OBJECTS")));
                    later.push(shot(one));
                }
            }
        }
        shots.append(&mut later);
        let count = shots.len() as f64;
        let path = state.join(format!("bare-{count}.jsonl"));
        let fired =
            generator::fire(self.address, world::TOKEN, self.concurrency, shots, Journal { path, together: TOGETHER });
        let took = crate::runtime()?.block_on(fired).map_err(|error| error.to_string())?;
        Ok(count / took.as_secs_f64())
    }
}

/// A write of a run, moved to a namespace in which nobody else writes.
struct Written {
    method: Method,
    namespace: String,
    name: String,
    body: Bytes,
    /// The lines of its intent and of its outcome.
    record: Bytes,
}

/// What the newest run of `state` wrote, in its order.
fn written(state: &Path) -> Result<Vec<Written>, Box<dyn Error>> {
    let runs =
        std::fs::read_dir(state.join("runs"))?.map(|run| Ok(run?.path())).collect::<std::io::Result<Vec<_>>>()?;
    let newest = runs.into_iter().max_by_key(|run| run.metadata().and_then(|data| data.modified()).ok());
    let text = std::fs::read_to_string(newest.ok_or("there is no run")?)?;
    let mut outcomes = text.lines().filter(|line| line.starts_with("{\"outcome\""));
    let mut written = Vec::new();
    for line in text.lines().filter(|line| line.starts_with("{\"intent\"")) {
        let outcome = outcomes.next().ok_or("a write has no outcome")?;
        let record = format!("{line}\n{outcome}\n").into();
        let mut line: Json = serde_json::from_str(line)?;
        let intent = &mut line["intent"];
        let key = intent["key"].as_str().ok_or("an intent has no key")?;
        let (namespace, name) = key.split_once('/').ok_or("a key has two parts")?;
        let (namespace, name) = (format!("bare-{namespace}"), name.to_owned());
        let (method, mut body) = match intent["action"].as_str() {
            Some("create") => (Method::POST, intent["request"]["create"]["body"].take()),
            Some("delete") => (Method::DELETE, Json::Null),
            _ => (Method::PUT, intent["request"]["replace"]["body"].take()),
        };
        if let Some(body) = body.as_object_mut() {
            // That of another object.
            body.remove("resource_version");
            body["metadata"]["namespace"] = namespace.clone().into();
        }
        let body = if body.is_null() { Bytes::new() } else { body.to_string().into() };
        written.push(Written { method, namespace, name, body, record });
    }
    Ok(written)
}
