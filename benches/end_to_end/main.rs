//! `cargo bench --bench end_to_end [-- --count N --namespaces N --runs N --applies N --concurrency N --terraform PATH --octodns PATH]`
//! `cargo bench --bench end_to_end -- simulate`
//! `cargo bench --bench end_to_end -- felt`
//! `cargo bench --bench end_to_end -- fleet [--stacks N] [--endpoints N]`
//! `cargo bench --bench end_to_end -- growth [--sizes N,N,… --namespace N --only TEXT --program PATH]`
//!
//! Starts the embedded service as a process, fills it, runs the release binary as a user would, and
//! prints in one run, side by side and as ratios, what each step takes and what the machine could do
//! at best: the same files read and parsed by the same crates with nothing else, the list fetched and
//! parsed by a bare client, the same bodies sent by a bare load generator.

mod felt;
mod fleet;
mod generator;
mod growth;
mod limit;
mod measure;
mod octodns;
mod rates;
mod simulate;
mod terraform;
mod world;

use std::cell::RefCell;
use std::error::Error;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use measure::Usage;
use rates::{Applied, Bare, Pair};
use world::{Edited, Service, Stack};

type Failure = Box<dyn Error>;

fn main() -> Result<(), Failure> {
    let arguments: Vec<String> = std::env::args().skip(1).filter(|argument| argument != "--bench").collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words.as_slice() {
        [measure::STARTER, program, arguments @ ..] => Ok(measure::start(program, arguments)?),
        ["limit-load", directory] => limit::load(Path::new(directory)).map(|_| ()),
        ["limit-list", base_url, namespace] => {
            runtime()?.block_on(limit::list(base_url, world::TOKEN, namespace)).map(|_| ())
        }
        ["fleet", rest @ ..] => fleet::run(Path::new(env!("CARGO_BIN_EXE_trueup")), rest),
        ["felt"] => felt::run(Path::new(env!("CARGO_BIN_EXE_trueup"))),
        ["growth", words @ ..] => growth::run(Path::new(env!("CARGO_BIN_EXE_trueup")), words),
        ["simulate"] => simulate::run(Path::new(env!("CARGO_BIN_EXE_trueup"))),
        _ => Bench::read(&words)?.run(),
    }
}

fn runtime() -> Result<tokio::runtime::Runtime, Failure> {
    Ok(tokio::runtime::Builder::new_multi_thread().enable_all().build()?)
}

/// A stack, a service of its own for it, and where runs are kept.
struct World {
    home: PathBuf,
    state: PathBuf,
    stack: Stack,
    service: Service,
}

impl World {
    fn new(bench: &Bench, home: &Path) -> Result<Self, Failure> {
        Ok(Self {
            home: home.to_owned(),
            state: home.join("state"),
            stack: Stack::write(&home.join("stack"), bench.count, bench.namespaces)?,
            service: Service::start(&bench.program, &home.join("service.redb"))?,
        })
    }
}

/// What is measured.
struct Bench {
    count: usize,
    namespaces: usize,
    runs: usize,
    applies: usize,
    concurrency: usize,
    terraform: Option<PathBuf>,
    octodns: Option<PathBuf>,
    program: PathBuf,
    rows: RefCell<Vec<(String, Usage)>>,
}

impl Bench {
    fn read(words: &[&str]) -> Result<Self, Failure> {
        let program = PathBuf::from(env!("CARGO_BIN_EXE_trueup"));
        let mut bench = Self {
            count: 10_000,
            namespaces: 1,
            runs: 5,
            applies: 3,
            concurrency: 32,
            terraform: None,
            octodns: None,
            program,
            rows: RefCell::default(),
        };
        let mut words = words.iter();
        while let Some(word) = words.next() {
            let value = words.next().ok_or_else(|| format!("`{word}` needs a value"))?;
            match *word {
                "--count" => bench.count = value.parse()?,
                "--namespaces" => bench.namespaces = value.parse()?,
                "--runs" => bench.runs = value.parse()?,
                "--applies" => bench.applies = value.parse()?,
                "--concurrency" => bench.concurrency = value.parse()?,
                "--octodns" => bench.octodns = Some(PathBuf::from(value)),
                "--terraform" => bench.terraform = Some(PathBuf::from(value)),
                _ => return Err(format!("`{word}` is not known").into()),
            }
        }
        Ok(bench)
    }

    fn run(self) -> Result<(), Failure> {
        println!(
            "{} endpoints in {} namespaces; medians of {} runs and {} applies\n",
            self.count, self.namespaces, self.runs, self.applies
        );
        let home = tempfile::tempdir()?;
        self.looks(&home.path().join("looks"))?;
        self.table();
        let rounds = (0..self.applies).map(|round| self.writes(&home.path().join(format!("writes-{round}"))));
        let rounds = rounds.collect::<Result<Vec<_>, _>>()?;
        rates::table(self.count, &rounds);
        self.start_up()?;
        if let (Some(program), Some(plan)) = (&self.octodns, self.measured("plan, no changes")) {
            let creates = measure::median(rounds.iter().map(|[creates, ..]| creates.ours.whole).collect());
            octodns::table(&octodns::run(program, self.count, self.runs, home.path())?, self.count, (plan, creates));
        }
        if let Some(program) = &self.terraform {
            terraform::run(program, self.count, home.path())?;
        }
        Ok(())
    }

    fn applied(&self, name: &str, world: &World) -> Result<Applied, Failure> {
        let apply = ["apply", ".", "--yes", "--allow", "mass-change", "--allow", "empty-namespace"];
        let applied = rates::apply(&mut self.command(world, &apply), &world.home.join("answer.json"))?;
        check(name, applied.whole, 0).map(|()| applied)
    }

    /// Creates, replaces and deletes everything, and has a bare client do the same after each.
    fn writes(&self, home: &Path) -> Result<[Pair; 3], Failure> {
        let world = World::new(self, home)?;
        let bare = Bare { address: world.service.address(), concurrency: self.concurrency };
        let pair = |name| Ok::<_, Failure>(Pair { ours: self.applied(name, &world)?, bare: bare.rate(&world.state)? });
        let creates = pair("apply of creates")?;
        world.stack.edit(Edited::All, 9443)?;
        let replaces = pair("apply of replaces")?;
        world.stack.empty()?;
        Ok([creates, replaces, pair("apply of deletes")?])
    }

    /// Everything that only looks, on a service that holds what the definitions say.
    fn looks(&self, home: &Path) -> Result<(), Failure> {
        let world = World::new(self, home)?;
        let World { stack, service, .. } = &world;
        let act = |words: &[&str]| self.command(&world, words);
        self.applied("apply of creates", &world)?;
        let mut validate = Vec::new();
        let mut plan = Vec::new();
        let mut drift = Vec::new();
        // The bound of a cache of parsed definitions: JSON is parsed about as fast as such a cache is read and checked.
        let mut drift_of_json = Vec::new();
        let json = stack.as_json(&world.home.join("json"))?;
        let (mut load_limit, mut list_limit) = (Vec::new(), Vec::new());
        for _ in 0..=self.runs {
            load_limit
                .push(measure::run(Command::new(std::env::current_exe()?).arg("limit-load").arg(&stack.directory))?);
            validate.push(measure::run(&mut act(&["validate", "."]))?);
            list_limit.push(self.list_limit(service)?);
            plan.push(measure::run(&mut act(&["plan", ".", "--detailed-exitcode"]))?);
            drift.push(measure::run(&mut act(&["drift", "."]))?);
            drift_of_json.push(measure::run(act(&["drift", "."]).current_dir(&json.directory))?);
        }
        for (name, runs) in [
            ("limit: read and parse the files", load_limit),
            ("limit: fetch and parse the lists", list_limit),
            ("validate", validate),
            ("plan, no changes", plan),
            ("drift, in sync", drift),
            ("drift, in sync, definitions as JSON", drift_of_json),
        ] {
            self.row(name, runs, 0)?;
        }
        stack.edit(Edited::OnePercent, 9443)?;
        let runs = self.repeat(|| self.plan(&world, "text"))?;
        self.row("plan, 1 % changed", runs, 2)?;
        stack.edit(Edited::All, 9443)?;
        let filtered = ["plan", ".", "--only", "team-000/endpoint-000000"];
        let runs = self.repeat(|| self.command(&world, &filtered))?;
        self.row("plan, all changed, all but one filtered out", runs, 0)?;
        for format in ["text", "json", "markdown", "html"] {
            let runs = self.repeat(|| self.plan(&world, format))?;
            self.row(&format!("plan, all changed, {format}"), runs, 2)?;
        }
        Ok(())
    }

    fn command(&self, world: &World, words: &[&str]) -> Command {
        let mut command = Command::new(&self.program);
        command
            .args(words)
            .args(["--base-url", &world.service.base_url, "--concurrency", &self.concurrency.to_string()])
            .arg("--state")
            .arg(&world.state)
            .current_dir(&world.stack.directory)
            .env("TRUEUP_TOKEN", world::TOKEN);
        command
    }

    fn plan(&self, world: &World, format: &str) -> Command {
        self.command(world, &["plan", ".", "--detailed-exitcode", "--allow", "mass-change", "--format", format])
    }

    fn list_limit(&self, service: &Service) -> Result<Usage, Failure> {
        let mut whole = Usage::default();
        for at in 0..self.namespaces {
            let usage = measure::run(Command::new(std::env::current_exe()?).args([
                "limit-list",
                &service.base_url,
                &world::namespace(at),
            ]))?;
            whole.wall += usage.wall;
            whole.cpu += usage.cpu;
            whole.memory = whole.memory.max(usage.memory);
        }
        Ok(whole)
    }

    fn repeat(&self, command: impl Fn() -> Command) -> Result<Vec<Usage>, Failure> {
        Ok((0..=self.runs).map(|_| measure::run(&mut command())).collect::<Result<_, _>>()?)
    }

    /// Takes in a row; the first run warmed up and does not count.
    fn row(&self, name: &str, mut runs: Vec<Usage>, code: i32) -> Result<(), Failure> {
        runs.remove(0);
        let usage = measure::median(runs);
        check(name, usage, code)?;
        self.rows.borrow_mut().push((name.to_owned(), usage));
        Ok(())
    }

    fn table(&self) {
        println!("| what | wall ms | CPU ms | peak MB |\n|---|---:|---:|---:|");
        for (name, usage) in self.rows.borrow().iter() {
            println!(
                "| {name} | {:.0} | {:.0} | {:.1} |",
                milliseconds(usage.wall),
                milliseconds(usage.cpu),
                usage.memory as f64 / 1e6
            );
        }
        let of = |name| self.measured(name);
        if let (Some(load), Some(list), Some(validate), Some(plan)) =
            (of("limit: read"), of("limit: fetch"), of("validate"), of("plan, no"))
        {
            println!("\n| ratio | |\n|---|---:|");
            println!("| validate / reading limit, wall | {:.2} |", ratio(validate.wall, load.wall));
            println!("| plan / larger limit, wall | {:.2} |", ratio(plan.wall, load.wall.max(list.wall)));
            println!("| plan / both limits, CPU | {:.2} |", ratio(plan.cpu, load.cpu + list.cpu));
        }
        if let (Some(yaml), Some(json)) = (of("drift, in sync"), of("drift, in sync, definitions as JSON")) {
            println!("| drift / the same with JSON, wall | {:.2} |", ratio(yaml.wall, json.wall));
        }
    }

    /// The row whose name begins so.
    fn measured(&self, name: &str) -> Option<Usage> {
        self.rows.borrow().iter().find(|(row, _)| row.starts_with(name)).map(|(_, usage)| *usage)
    }

    fn start_up(&self) -> Result<(), Failure> {
        let mut ours = Vec::new();
        let mut least = Vec::new();
        for _ in 0..21 {
            ours.push(measure::run(Command::new(&self.program).arg("--version"))?);
            least.push(measure::run(&mut Command::new("true"))?);
        }
        let apart = measure::median(ours).wall.saturating_sub(measure::median(least).wall);
        println!("trueup --version, above true: {:.1} ms", milliseconds(apart));
        println!("binary: {:.1} MB", std::fs::metadata(&self.program)?.len() as f64 / 1e6);
        Ok(())
    }
}

fn check(name: &str, usage: Usage, code: i32) -> Result<(), Failure> {
    if usage.code == code { Ok(()) } else { Err(format!("{name} ended with {}, not {code}", usage.code).into()) }
}

fn milliseconds(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1000.0
}

fn ratio(one: Duration, other: Duration) -> f64 {
    one.as_secs_f64() / other.as_secs_f64()
}
