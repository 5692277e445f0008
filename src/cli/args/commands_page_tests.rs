//! `docs/commands.md`, made from the command line itself. The test compares; with `TRUEUP_WRITE_DOCS` set it writes the
//! page (`just commands`).

use std::fmt::Write as _;

use clap::{Arg, Command};

use crate::cli::command;

const HEAD: &str = "# Commands

`just commands` writes this page from the program. `trueup COMMAND --help` prints the same. The
[exit codes](exit-codes.md) have a page of their own, as the [settings](configuration.md) have.
";

/// The whole page.
fn page() -> String {
    let program = command::described();
    let mut text = HEAD.to_owned();
    text.push_str(
        "\n## Global options\n\nEach command has those that it uses; all of them are accepted everywhere.\n\n",
    );
    let globals: Vec<&Arg> = program.get_arguments().filter(|arg| arg.is_global_set() && !arg.is_hide_set()).collect();
    table(&globals, &mut text);
    for command in program.get_subcommands() {
        section(command, &format!("trueup {}", command.get_name()), &globals, &mut text);
    }
    text
}

/// A command, and the commands in it.
fn section(command: &Command, name: &str, globals: &[&Arg], text: &mut String) {
    if command.get_name() == "help" {
        return;
    }
    let usage = command.clone().render_usage().to_string();
    let about = command.get_long_about().or(command.get_about()).map(ToString::to_string).unwrap_or_default();
    let _ = write!(text, "\n## {name}\n\n{}\n\n", escaped(&about));
    let _ = write!(text, "```text\n{}\n```\n", usage.trim_start_matches("Usage: ").trim());
    // A group of commands has global options of its own, and `sandbox` a `--log` that is not the global one.
    let is_global = |arg: &Arg| arg.is_global_set() && globals.iter().any(|global| global.get_id() == arg.get_id());
    let is_shown = |arg: &&Arg| !arg.is_hide_set() && !matches!(arg.get_id().as_str(), "help" | "version");
    let (used, own): (Vec<&Arg>, Vec<&Arg>) = command.get_arguments().filter(is_shown).partition(|arg| is_global(arg));
    if !own.is_empty() {
        text.push('\n');
        table(&own, text);
    }
    let names: Vec<String> = used.iter().filter_map(|arg| Some(format!("`--{}`", arg.get_long()?))).collect();
    let names = if names.len() == globals.len() { "all".to_owned() } else { names.join(", ") };
    let _ = write!(text, "\nGlobal options: {names}.\n");
    if let Some(after) = command.get_after_help() {
        let after = after.to_string();
        let (title, lines) = after.split_once('\n').unwrap_or(("", &after));
        let _ = write!(text, "\n{title}\n\n```text\n{}\n```\n", lines.trim_end());
    }
    for inner in command.get_subcommands() {
        section(inner, &format!("{name} {}", inner.get_name()), globals, text);
    }
}

fn table(args: &[&Arg], text: &mut String) {
    text.push_str("| option | does |\n|---|---|\n");
    for arg in args {
        let mut does = arg.get_help().map(ToString::to_string).unwrap_or_default();
        let is_flag = !arg.get_action().takes_values();
        if !is_flag {
            let values: Vec<String> =
                arg.get_possible_values().iter().map(|value| value.get_name().to_owned()).collect();
            if !values.is_empty() {
                let _ = write!(does, "; one of {}", values.join(", "));
            }
            let defaults: Vec<_> = arg.get_default_values().iter().map(|value| value.to_string_lossy()).collect();
            if !defaults.is_empty() {
                let _ = write!(does, "; default `{}`", defaults.join(" "));
            }
        }
        let short = arg.get_short().map(|short| format!("-{short}, ")).unwrap_or_default();
        let _ = writeln!(text, "| `{short}{}` | {} |", cell(&arg.to_string()), cell(&escaped(&does)));
    }
}

fn cell(text: &str) -> String {
    text.replace('|', "\\|").replace('\n', " ")
}

/// Text that Markdown would read as HTML or emphasis.
fn escaped(text: &str) -> String {
    let part = |(index, part): (usize, &str)| {
        if index % 2 == 0 { part.replace('<', "&lt;").replace('*', "\\*") } else { part.to_owned() }
    };
    text.split('`').enumerate().map(part).collect::<Vec<_>>().join("`")
}

#[test]
fn the_page_of_the_commands_is_what_the_program_says() {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/commands.md");
    let page = page();
    if std::env::var_os("TRUEUP_WRITE_DOCS").is_some() {
        std::fs::write(&path, &page).expect("the page is written");
    }
    let written = std::fs::read_to_string(&path).unwrap_or_default().replace("\r\n", "\n");
    assert!(written == page, "docs/commands.md differs from the program: `just commands` writes it");
}

#[test]
fn every_exit_code_is_documented() {
    use crate::cli::exit_status::ExitStatus as Status;
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/exit-codes.md");
    let page = std::fs::read_to_string(path).expect("the page");
    let listed: Vec<_> =
        page.lines().filter_map(|line| line.strip_prefix("| ")?.split(' ').next()?.parse::<u8>().ok()).collect();
    let all = [Status::Done, Status::Failed, Status::Pending, Status::Drift, Status::Both, Status::Unknown];
    let rest = [Status::Refused, Status::Partly, Status::Usage, Status::Bug, Status::Interrupted];
    assert_eq!(listed, all.iter().chain(&rest).map(|status| status.code()).collect::<Vec<_>>());
}
