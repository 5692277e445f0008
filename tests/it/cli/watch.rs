//! `plan --watch` on a terminal: it plans again when a file changes, and ends with Ctrl-C.

use std::process::Command;

use crate::support::{Stage, definition};
use crate::terminal::Terminal;

#[test]
fn a_changed_file_is_planned_again_and_ctrl_c_ends() {
    let stage = Stage::new().file("a.yaml", &definition("shop/cart", 80));
    let mut terminal = Terminal::run(&stage, "plan . --watch --sandbox");
    terminal.wait_for("1 to create").wait_for("Ctrl-C ends.");
    stage.write("b/b.yaml", &definition("shop/search", 80));
    terminal.wait_for("2 to create").wait_for("Ctrl-C ends.");
    stage.write("b/b.yaml", "metadata: [\n");
    terminal.wait_for("b/b.yaml:1:").wait_for("Ctrl-C ends.");
    stage.remove("b/b.yaml");
    terminal.wait_for("1 to create").wait_for("Ctrl-C ends.");
    let killed = Command::new("kill").args(["-INT", &terminal.id().to_string()]).status();
    assert!(killed.expect("kill runs").success());
    let (code, screen) = terminal.end();
    assert_eq!(code, 0, "{screen}");
}

#[test]
fn without_a_terminal_there_is_nothing_to_watch() {
    let stage = Stage::new().file("a.yaml", &definition("shop/cart", 80));
    stage.run("plan . --watch --sandbox").code(64).stderr_contains("`--watch` needs a terminal");
    stage.run("plan . --watch -o plan.json").code(64).stderr_contains("--watch");
}
