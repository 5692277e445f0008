//! A fleet that several checkers share: so many stacks of so many endpoints each, one service, and the check of one
//! shard of each division, beside the merge of all shards' checks into one report.

use std::error::Error;
use std::path::Path;
use std::process::Command;

use crate::measure::{self, Usage};
use crate::world::{self, Service};

type Failure = Box<dyn Error>;

/// Stacks, and endpoints of each.
const FLEET: (usize, usize) = (1_000, 100);
/// Numbers of checkers.
const SHARDS: [usize; 4] = [1, 2, 5, 10];
/// Runs of each command; a row is their medians.
const RUNS: usize = 3;

/// Measures every division and prints the table. `words` are `--stacks N` and `--endpoints N`.
pub fn run(program: &Path, words: &[&str]) -> Result<(), Failure> {
    let (mut stacks, mut endpoints) = FLEET;
    for pair in words.chunks(2) {
        match pair {
            ["--stacks", value] => stacks = value.parse()?,
            ["--endpoints", value] => endpoints = value.parse()?,
            _ => return Err(format!("`{}` is not known", pair.join(" ")).into()),
        }
    }
    let home = tempfile::tempdir()?;
    let service = Service::start(program, &home.path().join("service.redb"))?;
    write(home.path(), stacks, endpoints)?;
    let act = |words: &[&str]| {
        let mut command = Command::new(program);
        command
            .args(words)
            .args(["--base-url", &service.base_url, "--state", "state"])
            .current_dir(home.path())
            .env("TRUEUP_TOKEN", world::TOKEN);
        command
    };
    expect("apply", measure::run(&mut act(&["apply", "-R", "tenants", "--yes", "--waves", "100%"]))?)?;
    println!("{stacks} stacks of {endpoints} endpoints, one service; medians of {RUNS} runs, one checker at a time\n");
    println!("| checkers | s | CPU s | peak MB |");
    println!("|---:|---:|---:|---:|");
    let row = |name: &str, usage: Usage| {
        let (wall, cpu, memory) = (usage.wall.as_secs_f64(), usage.cpu.as_secs_f64(), usage.memory / 1_000_000);
        println!("| {name} | {wall:.2} | {cpu:.2} | {memory} |");
    };
    for of in SHARDS {
        let check = |index: usize| {
            let (shard, file) = (format!("{index}/{of}"), format!("checks-{of}/{index}.json"));
            let usage = measure::run(&mut act(&[
                "drift", "-R", "tenants", "--shard", &shard, "--format", "json", "--output", &file,
            ]))?;
            expect("drift", usage)
        };
        let runs = (0..RUNS).map(|run| check(run % of + 1)).collect::<Result<Vec<_>, _>>()?;
        row(&of.to_string(), measure::median(runs));
        (1..=of).try_for_each(|index| check(index).map(drop))?;
    }
    println!("\n| report of the checks of | s | CPU s | peak MB |");
    println!("|---:|---:|---:|---:|");
    for of in SHARDS {
        let checks = format!("checks-{of}");
        let report = || {
            let mut command = Command::new(program);
            command.args(["fleet", "report", &checks, "--format", "prometheus"]).current_dir(home.path());
            expect("report", measure::run(&mut command)?)
        };
        let runs = (0..RUNS).map(|_| report()).collect::<Result<Vec<_>, _>>()?;
        row(&of.to_string(), measure::median(runs));
    }
    Ok(())
}

/// Writes the stacks, each with a namespace of its own.
fn write(home: &Path, stacks: usize, endpoints: usize) -> Result<(), Failure> {
    for stack in 0..stacks {
        let directory = home.join(format!("tenants/t{stack:04}"));
        std::fs::create_dir_all(&directory)?;
        let namespace = world::namespace(stack);
        std::fs::write(directory.join("trueup.yaml"), format!("stack: t{stack:04}\nnamespaces: [{namespace}]\n"))?;
        // What `definition` puts into this namespace.
        let numbers = (0..endpoints).map(|at| at * stacks + stack);
        let text: Vec<String> = numbers.map(|at| world::definition(at, stacks, 8443)).collect();
        std::fs::write(directory.join("endpoints.yaml"), text.join("---\n"))?;
    }
    Ok(())
}

fn expect(name: &str, usage: Usage) -> Result<Usage, Failure> {
    if usage.code == 0 { Ok(usage) } else { Err(format!("`{name}` ended with {}", usage.code).into()) }
}
