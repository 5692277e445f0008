//! What the limits of a service make of it: the program against the embedded service, held to so many
//! requests a second as public clients use, beside the time that the rate alone allows.

use std::error::Error;
use std::io::Write as _;
use std::path::Path;
use std::process::Command;

use crate::measure::{self, Usage};
use crate::rates;
use crate::world::{self, Edited, Service, Stack};

type Failure = Box<dyn Error>;

/// Endpoints a namespace.
const SHARE: usize = 100;
/// Requests that may go before the rate holds: see `Rate::CAREFUL` of the client.
const BURST: f64 = 20.0;
/// Endpoints and requests a second.
const CASES: [(usize, f64); 4] = [(1_000, 2.0), (1_000, 30.0), (10_000, 5.0), (10_000, 30.0)];
/// Tenants of a pod's share, endpoints of each, and requests a second to each.
const FLEET: (usize, usize, f64) = (4, 1_000, 5.0);

/// Measures every case and prints the tables.
pub fn run(program: &Path) -> Result<(), Failure> {
    println!("| endpoints | requests a second | plan s | by the rate | drift s | apply of 1 % s | by the rate |");
    println!("|---:|---:|---:|---:|---:|---:|---:|");
    for (count, rate) in CASES {
        one(program, count, rate)?;
    }
    fleet(program)
}

fn one(program: &Path, count: usize, rate: f64) -> Result<(), Failure> {
    let home = tempfile::tempdir()?;
    let namespaces = count / SHARE;
    let stack = Stack::write(&home.path().join("stack"), count, namespaces)?;
    let service = Service::start(program, &home.path().join("service.redb"))?;
    let act = |words: &[&str], rate: f64| {
        let mut command = command(program, home.path(), words);
        command.args(["--base-url", &service.base_url, "--rate", &rate.to_string()]).current_dir(&stack.directory);
        command
    };
    let answer = home.path().join("answer.json");
    ended("fill", rates::apply(&mut act(&["apply", ".", "--yes"], 0.0), &answer)?.whole, 0)?;
    let plan = measure::run(&mut act(&["plan", "."], rate))?;
    ended("plan", plan, 0)?;
    let drift = measure::run(&mut act(&["drift", "."], rate))?;
    ended("drift", drift, 0)?;
    stack.edit(Edited::OnePercent, 9443)?;
    let apply = rates::apply(&mut act(&["apply", ".", "--yes", "--allow", "mass-change"], rate), &answer)?;
    ended("apply", apply.whole, 0)?;
    // The plan and the run of an apply each begin with a burst of their own.
    let least = |requests: f64| (requests - BURST).max(0.0) / rate;
    let lists = namespaces as f64;
    println!(
        "| {count} | {rate} | {:.1} | {:.1} | {:.1} | {:.1} | {:.1} |",
        plan.wall.as_secs_f64(),
        least(lists),
        drift.wall.as_secs_f64(),
        apply.whole.wall.as_secs_f64(),
        least(lists) + least(apply.requests),
    );
    Ok(())
}

/// One checker of a fleet: several tenants in one call, each a service of its own.
fn fleet(program: &Path) -> Result<(), Failure> {
    let (tenants, count, rate) = FLEET;
    let home = tempfile::tempdir()?;
    let mut services = Vec::new();
    let mut directories = Vec::new();
    for tenant in 0..tenants {
        let stack = Stack::write(&home.path().join(format!("tenant-{tenant}")), count, count / SHARE)?;
        let service = Service::start(program, &home.path().join(format!("{tenant}.redb")))?;
        let mut settings = std::fs::File::options().append(true).open(stack.directory.join("trueup.yaml"))?;
        writeln!(settings, "base_url: {}", service.base_url)?;
        let mut fill = command(program, home.path(), &["apply", ".", "--yes", "--rate", "0"]);
        ended("fill", measure::run(fill.current_dir(&stack.directory))?, 0)?;
        directories.push(stack.directory);
        services.push(service);
    }
    let mut drift = command(program, home.path(), &["drift", "--rate", &rate.to_string()]);
    let usage = measure::run(drift.args(&directories))?;
    ended("drift of a fleet", usage, 0)?;
    println!(
        "\ndrift of {tenants} tenants of {count} endpoints in {} namespaces each, {rate} requests a second: \
         {:.1} s, {:.2} s of CPU, {:.0} MB at the peak",
        count / SHARE,
        usage.wall.as_secs_f64(),
        usage.cpu.as_secs_f64(),
        usage.memory as f64 / 1e6
    );
    Ok(())
}

fn command(program: &Path, home: &Path, words: &[&str]) -> Command {
    let mut command = Command::new(program);
    command.args(words).arg("--state").arg(home.join("state")).env("TRUEUP_TOKEN", world::TOKEN);
    command
}

fn ended(name: &str, usage: Usage, code: i32) -> Result<(), Failure> {
    crate::check(name, usage, code)
}
