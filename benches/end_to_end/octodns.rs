//! octoDNS on as many records as there are endpoints: one zone file against a provider in memory, which needs no
//! network. An endpoint has four times as many lines as such a record, so the comparison favours octoDNS.

use std::error::Error;
use std::fmt::Write as _;
use std::path::Path;
use std::process::Command;

use crate::measure::{self, Usage};

const PROVIDER: &str = include_str!("memory_provider.py");

/// What octoDNS takes.
pub struct Peer {
    /// A plan that finds no difference.
    pub plan: Usage,
    /// A sync that creates every record.
    pub apply: Usage,
}

/// Runs `octodns-sync`, the median of `runs` after one that warms up.
pub fn run(program: &Path, count: usize, runs: usize, home: &Path) -> Result<Peer, Box<dyn Error>> {
    let directory = home.join("octodns");
    std::fs::create_dir_all(directory.join("zones"))?;
    std::fs::write(directory.join("memory_provider.py"), PROVIDER)?;
    std::fs::write(directory.join("zones/example.net.yaml"), zone(count))?;
    for (name, filled) in [("plan", true), ("apply", false)] {
        std::fs::write(directory.join(format!("{name}.yaml")), config(count, filled))?;
    }
    let measured = |words: &[&str]| {
        let once = || {
            let mut command = Command::new(program);
            measure::run(command.args(words).current_dir(&directory).env("PYTHONPATH", &directory))
        };
        let all = (0..=runs).map(|_| once()).collect::<Result<Vec<_>, _>>()?;
        let usage = measure::median(all[1..].to_vec());
        crate::check("octodns-sync", usage, 0).map(|()| usage)
    };
    Ok(Peer {
        plan: measured(&["--config-file", "plan.yaml"])?,
        apply: measured(&["--config-file", "apply.yaml", "--doit"])?,
    })
}

/// Prints ours beside it.
pub fn table(peer: &Peer, count: usize, (plan, apply): (Usage, Usage)) {
    println!("\n| {count} records or endpoints | octoDNS s | ours s | times | octoDNS MB | ours MB |");
    println!("|---|---:|---:|---:|---:|---:|");
    for (name, other, ours) in [("plan without changes", peer.plan, plan), ("creates", peer.apply, apply)] {
        println!(
            "| {name} | {:.2} | {:.2} | {:.1} | {:.0} | {:.0} |",
            other.wall.as_secs_f64(),
            ours.wall.as_secs_f64(),
            crate::ratio(other.wall, ours.wall),
            other.memory as f64 / 1e6,
            ours.memory as f64 / 1e6,
        );
    }
}

fn config(count: usize, filled: bool) -> String {
    format!(
        "providers:
  zones: {{class: octodns.provider.yaml.YamlProvider, directory: ./zones}}
  memory: {{class: memory_provider.MemoryProvider, count: {count}, filled: {filled}}}
zones:
  example.net.: {{sources: [zones], targets: [memory]}}
"
    )
}

fn zone(count: usize) -> String {
    let mut text = String::from("---\n");
    for at in 0..count {
        let _ = writeln!(
            text,
            "host-{at:06}:\n  ttl: 300\n  type: A\n  values:\n    - 10.{}.0.1\n    - 192.0.2.{}",
            at % 200,
            at % 250 + 1
        );
    }
    text
}
