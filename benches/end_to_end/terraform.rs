//! Terraform on as many resources that call nobody at all: the floor of what it takes.

use std::error::Error;
use std::fmt::Write as _;
use std::path::Path;
use std::process::Command;

use crate::measure;

/// Times the first apply and a plan without changes of `count` `terraform_data` resources.
pub fn run(program: &Path, count: usize, home: &Path) -> Result<(), Box<dyn Error>> {
    let directory = home.join("terraform");
    std::fs::create_dir_all(&directory)?;
    let mut text = String::new();
    for at in 0..count {
        writeln!(
            text,
            "resource \"terraform_data\" \"endpoint_{at:06}\" {{\n  input = {{ port = 8443, host = \"host-{at}.example.net\" }}\n}}"
        )?;
    }
    std::fs::write(directory.join("main.tf"), text)?;
    let act = |words: &[&str]| {
        let mut command = Command::new(program);
        command.args(words).current_dir(&directory).env("CHECKPOINT_DISABLE", "1").env("TF_IN_AUTOMATION", "1");
        command
    };
    measure::run(&mut act(&["init", "-input=false"]))?;
    let apply = measure::run(&mut act(&["apply", "-auto-approve", "-input=false"]))?;
    let plan = measure::run(&mut act(&["plan", "-input=false"]))?;
    println!("\n| terraform, {count} resources that call nobody | s | peak MB |\n|---|---:|---:|");
    for (name, usage) in [("first apply", apply), ("plan without changes", plan)] {
        println!("| {name} | {:.1} | {:.0} |", usage.wall.as_secs_f64(), usage.memory as f64 / 1e6);
    }
    Ok(())
}
