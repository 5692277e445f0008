//! A mistake in YAML is reported at its own line, not at the line where the parser gave up: each of the usual mistakes is
//! made in each line of the example definitions where it can be made.

use std::path::Path;

use trueup::load::{self, LoadOptions};

/// What a person does wrong in a line, given the line above; nothing where it cannot be done here.
type Mistake = fn(above: &str, line: &str) -> Option<String>;

const MISTAKES: [(&str, Mistake); 7] = [
    ("a missing space", |above, line| {
        let (key, value) = plain_entry(line)?;
        plain_entry(above).map(|_| format!("{key}:{value}"))
    }),
    ("an open quote", |_, line| plain_entry(line).map(|(key, value)| format!("{key}: \"{value}"))),
    ("an indentation that is too deep", |above, line| {
        plain_entry(line)?;
        let same = indentation(above) == indentation(line) && plain_entry(above).is_some();
        same.then(|| format!("  {line}"))
    }),
    ("an indentation between two levels", |above, line| {
        plain_entry(line)?;
        (indentation(above) == indentation(line) && indentation(line) >= 2).then(|| line[1..].to_owned())
    }),
    ("a tab", |_, line| line.strip_prefix("  ").map(|rest| format!("\t{rest}"))),
    ("a colon in a value", |_, line| plain_entry(line).map(|(key, value)| format!("{key}: {value}: x"))),
    ("a conflict of a merge", |_, line| Some(format!("<<<<<<< HEAD\n{line}\n=======\n{line}\n>>>>>>> topic"))),
];

fn indentation(line: &str) -> usize {
    line.len() - line.trim_start().len()
}

/// `KEY: VALUE` of a line that is nothing else.
fn plain_entry(line: &str) -> Option<(&str, &str)> {
    let (key, value) = line.split_once(": ")?;
    let word = |text: &str| text.chars().all(|c| c.is_ascii_alphanumeric() || "_-.".contains(c));
    (word(key.trim()) && word(value) && !key.contains("- ")).then_some((key, value))
}

/// The lines of the examples' definitions that are YAML of more than one line.
fn definitions() -> Vec<String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/03-repository");
    let files =
        walkdir::WalkDir::new(root).sort_by_file_name().into_iter().map(|entry| entry.expect("an example").into_path());
    files
        .filter(|path| path.extension().is_some_and(|extension| extension == "yaml"))
        .filter(|path| path.file_name().is_some_and(|name| name != "trueup.yaml"))
        .map(|path| std::fs::read_to_string(path).expect("a definition"))
        .collect()
}

#[test]
fn each_mistake_is_reported_at_its_own_line() {
    let mut wrong = Vec::new();
    let mut made = 0;
    for text in definitions() {
        let lines: Vec<&str> = text.lines().collect();
        for (name, mistake) in MISTAKES {
            // One line of each run of like lines is enough, and keeps the test short.
            for at in (1..lines.len()).step_by(5) {
                let Some(changed) = mistake(lines[at - 1], lines[at]) else { continue };
                made += 1;
                let mut lines = lines.clone();
                lines[at] = &changed;
                let root = tempfile::tempdir().expect("a directory");
                std::fs::write(root.path().join("a.yaml"), lines.join("\n")).expect("a file");
                let places: Vec<(usize, String)> = match load::directory(root.path(), &LoadOptions::default()) {
                    Ok(_) => Vec::new(),
                    Err(found) => found.list.iter().map(|one| (one.line(), one.message.clone())).collect(),
                };
                if !places.iter().any(|(line, _)| *line == at + 1) {
                    let shown = lines[at.saturating_sub(3)..(at + 3).min(lines.len())].join("\n");
                    wrong.push(format!("--- {name} in line {}\n{shown}\n{places:?}", at + 1));
                }
            }
        }
    }
    assert!(made > 100, "only {made} mistakes were made");
    assert!(wrong.is_empty(), "{} of {made}\n{}", wrong.len(), wrong.join("\n"));
}
