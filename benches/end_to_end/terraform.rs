//! Terraform on as many resources that call nobody at all, with its state in memory behind HTTP: the
//! floor of what it takes.

use std::error::Error;
use std::fmt::Write as _;
use std::path::Path;
use std::process::Command;
use std::sync::{Arc, Mutex, PoisonError};

use axum::Router;
use axum::body::Bytes;
use axum::extract::DefaultBodyLimit;
use axum::http::StatusCode;
use axum::routing::get;

use crate::{measure, world};

/// Times the first apply and a plan without changes of `count` `terraform_data` resources.
pub fn run(program: &Path, count: usize, home: &Path) -> Result<(), Box<dyn Error>> {
    let directory = home.join("terraform");
    std::fs::create_dir_all(&directory)?;
    let runtime = crate::runtime()?;
    let listener = runtime.block_on(tokio::net::TcpListener::bind("127.0.0.1:0"))?;
    let mut text =
        format!("terraform {{\n  backend \"http\" {{ address = \"http://{}/\" }}\n}}\n", listener.local_addr()?);
    runtime.spawn(async { axum::serve(listener, state()).await });
    for at in 0..count {
        // An object of JSON is an expression of Terraform's language, too.
        let input: serde_json::Value = serde_yaml::from_str(&world::definition(at, 1, 8443))?;
        writeln!(text, "resource \"terraform_data\" \"endpoint_{at:06}\" {{\n  input = {input:#}\n}}")?;
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

/// Keeps one state in memory, as Terraform's `http` backend reads and writes it.
fn state() -> Router {
    let kept: Arc<Mutex<Option<Bytes>>> = Arc::default();
    let written = Arc::clone(&kept);
    let read = move || async move {
        let kept = kept.lock().unwrap_or_else(PoisonError::into_inner).clone();
        kept.ok_or(StatusCode::NOT_FOUND)
    };
    let write = move |body: Bytes| async move {
        *written.lock().unwrap_or_else(PoisonError::into_inner) = Some(body);
    };
    Router::new().route("/", get(read).post(write)).layer(DefaultBodyLimit::disable())
}
