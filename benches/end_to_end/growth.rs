//! What every command and format takes for ten times as many changes: at most eleven times as much time and memory,
//! or the table marks it. Each definition changes in its own way, so that no report can fold them; the stack goes
//! through the states in which each command has the most to do.

use std::error::Error;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value as Json, json};

use crate::measure::{self, Usage};
use crate::world::{self, Service, Stack};
use crate::{limit, milliseconds, ratio};

type Failure = Box<dyn Error>;

/// How many times as much ten times as many may take.
const MOST: f64 = 11.0;
/// Endpoints that are put into the service with one request.
const SEEDS: usize = 1_000;
/// Less CPU than this, in milliseconds, is the start of a process.
const START: f64 = 20.0;

/// What is measured.
struct Growth {
    program: PathBuf,
    sizes: Vec<usize>,
    /// Endpoints of a namespace.
    namespace: usize,
    /// Only commands whose line contains this.
    only: Option<String>,
}

/// What one command took, under its line.
type Row = (String, Usage);

/// Measures the sizes one after the other and prints the table.
///
/// # Errors
/// A flag that is not known, or a command that ends otherwise than it should.
pub fn run(program: &Path, words: &[&str]) -> Result<(), Failure> {
    let mut growth =
        Growth { program: program.to_owned(), sizes: vec![1_000, 10_000, 100_000], namespace: 1_000, only: None };
    let mut words = words.iter();
    while let Some(word) = words.next() {
        let value = words.next().ok_or_else(|| format!("`{word}` needs a value"))?;
        match *word {
            "--sizes" => growth.sizes = value.split(',').map(str::parse).collect::<Result<_, _>>()?,
            "--namespace" => growth.namespace = value.parse()?,
            "--only" => growth.only = Some((*value).to_owned()),
            "--program" => growth.program = PathBuf::from(value),
            _ => return Err(format!("`{word}` is not known").into()),
        }
    }
    let home = tempfile::tempdir()?;
    let mut sizes = Vec::new();
    for count in &growth.sizes {
        let home = home.path().join(count.to_string());
        // Its files stay until the end: ext4 passes over the inodes of files that were deleted in the last seconds one by
        // one, so that the next size would pay for the files of this one.
        sizes.push(World::new(&growth, &home, *count)?.measure()?);
    }
    print!("{}", table(&growth.sizes, &sizes));
    Ok(())
}

/// The table: a row for each command, and for each size what it took and how many times that of the size before.
fn table(sizes: &[usize], rows: &[Vec<Row>]) -> String {
    let mut text = String::from("\n| command |");
    for size in sizes {
        let _ = write!(text, " {size}: wall ms | CPU ms | peak MB |");
    }
    for (one, other) in sizes.iter().zip(sizes.iter().skip(1)) {
        let _ = write!(text, " {one} to {other}: CPU | memory |");
    }
    text += &format!("\n|---|{}\n", "---:|".repeat(3 * sizes.len() + 2 * sizes.len().saturating_sub(1)));
    let mut missed = Vec::new();
    for (at, (name, _)) in rows.first().into_iter().flatten().enumerate() {
        let usages: Vec<Usage> = rows.iter().map(|rows| rows[at].1).collect();
        let _ = write!(text, "| `{name}` |");
        for usage in &usages {
            let (wall, cpu) = (milliseconds(usage.wall), milliseconds(usage.cpu));
            let _ = write!(text, " {wall:.0} | {cpu:.0} | {:.0} |", usage.memory as f64 / 1e6);
        }
        for (step, (one, other)) in usages.iter().zip(usages.iter().skip(1)).enumerate() {
            let most = MOST * sizes[step + 1] as f64 / sizes[step] as f64 / 10.0;
            let (cpu, memory) = (ratio(other.cpu, one.cpu), other.memory as f64 / one.memory as f64);
            let misses = |ratio: f64| ratio > most && milliseconds(other.cpu) > START;
            for (what, ratio) in [("CPU", cpu), ("memory", memory)] {
                let mark = if misses(ratio) { "**" } else { "" };
                let _ = write!(text, " {mark}{ratio:.1}{mark} |");
                if misses(ratio) {
                    missed.push(format!("{name}: {what} {ratio:.1} times"));
                }
            }
        }
        text.push('\n');
    }
    text += &match missed.as_slice() {
        [] => "\nNothing grows faster than its changes.\n".to_owned(),
        missed => format!("\nMore than {MOST} times for ten times as many:\n{}\n", missed.join("\n")),
    };
    text
}

/// A stack with its service.
struct World<'g> {
    growth: &'g Growth,
    home: PathBuf,
    stack: Stack,
    service: Service,
    rows: Vec<Row>,
}

impl<'g> World<'g> {
    fn new(growth: &'g Growth, home: &Path, count: usize) -> Result<Self, Failure> {
        let namespaces = count.div_ceil(growth.namespace);
        let stack = Stack::write(&home.join("stack"), count, namespaces)?;
        let service = Service::start(&growth.program, &home.join("service.redb"))?;
        Ok(Self { growth, home: home.to_owned(), stack, service, rows: Vec::new() })
    }

    /// Takes the stack through its states, and measures the commands in each.
    fn measure(mut self) -> Result<Vec<Row>, Failure> {
        self.definitions()?;
        self.changed("apply . --yes --format json", &[0])?;
        self.in_sync()?;
        self.stack.edit_each(|at| port(9_000, at))?;
        self.pending()?;
        self.changed("apply . --yes --allow mass-change --format ndjson", &[0])?;
        self.history()?;
        self.changed("rollback last --yes --allow mass-change --format json", &[0])?;
        self.changed("move --from bench --to other */* --directory . --yes", &[0])?;
        self.changed("move --from other --to bench --directory . --yes", &[0])?;
        self.changed("apply . --yes --allow mass-change --format text", &[0])?;
        self.drift()?;
        self.deletes()?;
        Ok(self.rows)
    }

    /// Nothing is live yet.
    fn definitions(&mut self) -> Result<(), Failure> {
        self.formats("validate .", "text json github sarif", &[0])?;
        self.step("fmt --check .", &[2])?;
        self.formats("explain team-000/endpoint-000000 .", "text json", &[0])?;
        self.formats("stacks .", "text json github-matrix", &[0])?;
        self.formats("plan .", "text json markdown html github sarif", &[0])?;
        let resources: serde_json::Map<String, Json> = (0..self.stack.count)
            .map(|at| {
                let namespace = world::namespace(at % self.stack.namespaces);
                let name = format!("endpoint-{at:06}");
                let attributes = json!({"name": name, "namespace": namespace, "ip": "10.0.0.7", "port": 8443});
                (format!("r{at}"), attributes)
            })
            .collect();
        let configuration = json!({"resource": [{"volterra_endpoint": resources}]});
        std::fs::write(self.home.join("main.tf.json"), configuration.to_string())?;
        self.step("import terraform ../main.tf.json -o ../imported", &[0])
    }

    /// Everything is live as it is defined.
    fn in_sync(&mut self) -> Result<(), Failure> {
        self.step("plan .", &[0])?;
        self.formats("drift .", "text json", &[0])?;
        self.formats("get", "table yaml json", &[0])?;
        self.step("snapshot . -o ../live.json", &[0])?;
        self.formats("show ../live.json", "text json markdown html", &[0])?;
        let namespaces = (0..self.stack.namespaces).map(|at| format!(" -n {}", world::namespace(at)));
        self.step_as("pull -o ../pulled -n …", &format!("pull -o ../pulled{}", namespaces.collect::<String>()), &[0])
    }

    /// Every definition has changed.
    fn pending(&mut self) -> Result<(), Failure> {
        self.formats("plan .", "text json markdown html github sarif", &[0])?;
        self.step("plan . -o ../plan.json", &[0])?;
        self.formats("show ../plan.json", "text json markdown html github sarif", &[0])?;
        self.step("plan . --live ../live.json", &[0])?;
        self.formats("rehearse .", "text json", &[0])?;
        self.formats("drift .", "text json markdown html junit prometheus github sarif acknowledgements", &[2])
    }

    /// A run is recorded.
    fn history(&mut self) -> Result<(), Failure> {
        self.formats("history", "text json", &[0])?;
        self.formats("history last", "text json", &[0])?;
        self.formats("show last", "text json markdown html github sarif", &[0])?;
        self.formats("rollback last -o ../back.json", "text json", &[0])
    }

    /// Somebody has changed every live endpoint.
    fn drift(&mut self) -> Result<(), Failure> {
        crate::runtime()?.block_on(change_live(&self.service, &self.stack))?;
        self.formats("drift .", "text json markdown html junit prometheus github sarif acknowledgements", &[3])?;
        let acknowledged = self.home.join("known.yaml");
        let command = "drift . --format acknowledgements -o ../known.yaml";
        self.step(command, &[3])?;
        let text = std::fs::read_to_string(&acknowledged)?;
        if text.len() < 16 * 1024 * 1024 {
            self.step("drift . --acknowledged ../known.yaml", &[0])?;
        } else {
            self.rows.push(("drift . --acknowledged ../known.yaml".to_owned(), Usage::default()));
        }
        self.step("drift . --drift-state ../drift.json", &[3])?;
        self.step("drift . --drift-state ../drift.json", &[3])?;
        self.step("pull --drift .", &[0])
    }

    /// Every definition is gone.
    fn deletes(&mut self) -> Result<(), Failure> {
        self.stack.empty()?;
        self.formats("plan .", "text json markdown html github sarif", &[0])?;
        self.changed("apply . --yes --allow mass-change --allow empty-namespace --format json", &[0])
    }

    /// Measures a command in each of the formats.
    fn formats(&mut self, line: &str, formats: &str, codes: &[i32]) -> Result<(), Failure> {
        formats.split(' ').try_for_each(|format| self.step(&format!("{line} --format {format}"), codes))
    }

    fn step(&mut self, line: &str, codes: &[i32]) -> Result<(), Failure> {
        self.step_as(line, line, codes)
    }

    /// Measures a command under a name, if it was asked for.
    fn step_as(&mut self, name: &str, line: &str, codes: &[i32]) -> Result<(), Failure> {
        match &self.growth.only {
            // What later commands read is written all the same.
            Some(only) if !name.contains(only) && !line.contains(" -o ") => Ok(()),
            _ => self.measured(name, line, codes),
        }
    }

    /// Measures a command that changes the service, so that it runs whatever was asked for.
    fn changed(&mut self, line: &str, codes: &[i32]) -> Result<(), Failure> {
        self.measured(line, line, codes)
    }

    fn measured(&mut self, name: &str, line: &str, codes: &[i32]) -> Result<(), Failure> {
        let usage = measure::run(&mut self.command(line))?;
        eprintln!("{:>7} {name}: {:.0} ms CPU", self.stack.count, milliseconds(usage.cpu));
        if !codes.contains(&usage.code) {
            return Err(format!("`trueup {line}` ended with {}, not {codes:?}", usage.code).into());
        }
        self.rows.push((name.to_owned(), usage));
        Ok(())
    }

    fn command(&self, line: &str) -> Command {
        let mut command = Command::new(&self.growth.program);
        command
            .args(line.split(' '))
            .current_dir(&self.stack.directory)
            .env("TRUEUP_BASE_URL", &self.service.base_url)
            .env("TRUEUP_STATE", self.home.join("state"))
            .env("TRUEUP_TOKEN", world::TOKEN);
        command
    }
}

/// A port that differs among endpoints.
fn port(first: u16, at: usize) -> u16 {
    first + u16::try_from(at % 50_000).unwrap_or_default()
}

/// Changes every live endpoint as somebody beside trueup would.
async fn change_live(service: &Service, stack: &Stack) -> Result<(), Failure> {
    let client = limit::client()?;
    for at in 0..stack.namespaces {
        let url =
            format!("{}/api/config/namespaces/{}/endpoints?report_fields=", service.base_url, world::namespace(at));
        let list = client.get(url).header("authorization", format!("APIToken {}", world::TOKEN));
        let mut list: Json = serde_json::from_slice(&list.send().await?.bytes().await?)?;
        let items = list["items"].as_array_mut().ok_or("no list")?;
        for (chunk, items) in items.chunks_mut(SEEDS).enumerate() {
            let seeds = items.iter_mut().enumerate().map(|(index, item)| seed(item, chunk * SEEDS + index));
            let seeds = Json::Array(seeds.collect()).to_string();
            let put = client.put(format!("{}/sandbox/endpoints", service.base_url)).body(seeds);
            let put = put.header("authorization", format!("APIToken {}", world::TOKEN));
            put.send().await?.error_for_status()?;
        }
    }
    Ok(())
}

/// An item of a list with another port, as the sandbox takes it.
fn seed(item: &mut Json, at: usize) -> Json {
    let (mut spec, metadata) = (item["get_spec"].take(), item["metadata"].take());
    spec["port"] = json!(port(1_000, at));
    json!({"metadata": metadata, "raw_spec": spec, "uid": item["uid"].take()})
}
