//! What a terminal shows: lines in its columns, colours, and the characters of its locale; and what a reader gets
//! that is not a terminal.

use std::fs::File;
use std::io::Read as _;
use std::process::Stdio;

use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};

use crate::support::{Service, Stage, definition};

/// What a command prints on a terminal with so many columns.
fn on_a_terminal(stage: &Stage, line: &str, columns: u16) -> String {
    let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).expect("a terminal");
    grantpt(&master).and_then(|()| unlockpt(&master)).expect("its other end");
    tcsetwinsize(&master, Winsize { ws_row: 40, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 }).expect("its size");
    let name = ptsname(&master, Vec::new()).expect("its name").into_string().expect("UTF-8");
    let slave = File::options().read(true).write(true).open(name).expect("its other end");
    let words: Vec<&str> = line.split(' ').collect();
    let mut child = stage
        .command(&words)
        .stdin(Stdio::null())
        .stdout(slave.try_clone().expect("a copy"))
        .stderr(slave)
        .spawn()
        .expect("it starts");
    let mut bytes = Vec::new();
    // A terminal that is closed is an error to its reader, not an end.
    let _ = File::from(master).read_to_end(&mut bytes);
    child.wait().expect("it ends");
    String::from_utf8(bytes).expect("UTF-8").replace("\r\n", "\n")
}

/// Whether a line is longer than the terminal although it could be broken.
fn is_too_long(line: &str, columns: usize) -> bool {
    let text = line.trim();
    let is_command = text.starts_with("trueup ") || text.contains("  trueup ");
    line.chars().count() > columns && text.contains(' ') && !is_command
}

fn stage(service: &Service) -> Stage {
    let mut stage = Stage::new().at(service).env("NO_COLOR", "1").env("USER", "kim");
    stage = stage.file("trueup.yaml", "stack: terminal\nnamespaces: [shop]\n");
    for name in ["cart", "a-name-that-takes-most-of-a-terminal"] {
        stage = stage.file(&format!("{name}.yaml"), &definition(&format!("shop/{name}"), 80));
    }
    stage
}

#[test]
fn lines_fit_the_columns_of_the_terminal_and_names_stay_whole() {
    let service = Service::start();
    let stage = stage(&service);
    let name = "shop/a-name-that-takes-most-of-a-terminal";
    for line in ["plan .", "apply . --yes", "history", "show last", "drift .", "call --list"] {
        for columns in [60, 100, 200] {
            if line.starts_with("apply") && service.has("shop/cart") {
                service.delete("shop/cart");
            }
            let text = on_a_terminal(&stage, line, columns);
            let wrong: Vec<&str> = text.lines().filter(|line| is_too_long(line, columns.into())).collect();
            assert!(wrong.is_empty(), "`{line}` in {columns} columns:\n{}\nof\n{text}", wrong.join("\n"));
            if line == "plan ." {
                assert!(text.contains(name), "{text}");
            }
        }
    }
}

#[test]
fn a_terminal_has_colours_unless_it_wants_none() {
    let service = Service::start();
    let stage = stage(&service);
    assert!(!on_a_terminal(&stage, "plan .", 100).contains('\u{1b}'));
    assert!(on_a_terminal(&stage.env("NO_COLOR", ""), "plan .", 100).contains('\u{1b}'));
}

#[test]
fn a_locale_without_utf_8_gets_plain_ascii() {
    let service = Service::start();
    let stage = stage(&service).env("LC_ALL", "C");
    for line in ["plan .", "apply . --yes", "show last", "drift ."] {
        let ran = stage.run(line);
        assert!(ran.text().is_ascii() && ran.errors().is_ascii(), "{}{}", ran.text(), ran.errors());
    }
}

#[test]
fn a_reader_that_leaves_early_ends_the_output_quietly() {
    let service = Service::start();
    let stage = stage(&service);
    for line in ["plan .", "schema", "call --list"] {
        let words: Vec<&str> = line.split(' ').collect();
        let mut child = stage
            .command(&words)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("it starts");
        drop(child.stdout.take());
        let output = child.wait_with_output().expect("it ends");
        assert_eq!((output.status.code(), output.stderr.len()), (Some(0), 0), "{line}");
    }
}

#[test]
fn a_person_is_asked_and_only_yes_applies() {
    let service = Service::start();
    let stage = Stage::stack(&service, "s").file("a.yaml", &definition("shop/cart", 80));
    let apply = |answer: &str| {
        let mut terminal = crate::terminal::Terminal::run(&stage, "apply .");
        terminal.wait_for("Type 'yes' to apply").enter(answer);
        terminal.end()
    };
    let (code, screen) = apply("y");
    assert!(code == 6 && screen.contains("declined: nothing was sent") && !service.has("shop/cart"), "{screen}");
    let (code, screen) = apply("yes");
    assert!(code == 0 && service.has("shop/cart"), "{screen}");
}
