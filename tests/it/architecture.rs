//! Arrows between modules go one way: every `crate::` path in a module must lead to one that the
//! module may see. `docs/architecture.md` says the same in words.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// What each module may use; `cli` sees all.
const ARROWS: &[(&str, &[&str])] = &[
    ("model", &[]),
    ("file", &[]),
    ("load", &["model", "file"]),
    ("api", &["model"]),
    ("diff", &["model"]),
    ("sandbox", &["model", "file"]),
    ("plan", &["model", "diff"]),
    ("git", &["file"]),
    ("terraform", &["model"]),
    ("run", &["model", "plan"]),
    ("drift", &["model", "plan"]),
    ("apply", &["model", "diff", "plan", "run", "api"]),
    ("journal", &["model", "plan", "run", "file"]),
    ("gate", &["model", "plan", "api"]),
    ("report", &["model", "load", "diff", "plan", "run", "drift"]),
];

fn sources(directory: &Path, into: &mut Vec<PathBuf>) {
    let mut entries: Vec<PathBuf> =
        std::fs::read_dir(directory).expect("src is readable").filter_map(|entry| Some(entry.ok()?.path())).collect();
    entries.sort();
    for path in entries {
        if path.is_dir() {
            sources(&path, into);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            into.push(path);
        }
    }
}

/// The modules that a text names after `crate::`, comments aside.
fn named(text: &str) -> BTreeSet<String> {
    let code: String = text.lines().filter(|line| !line.trim_start().starts_with("//")).collect::<Vec<_>>().join("\n");
    let mut found = BTreeSet::new();
    for (at, _) in code.match_indices("crate::") {
        let rest = &code[at + "crate::".len()..];
        if let Some(group) = rest.strip_prefix('{') {
            found.extend(group_heads(group));
        } else {
            let end = rest.find(|c: char| !(c.is_alphanumeric() || c == '_')).unwrap_or(rest.len());
            found.insert(rest[..end].to_owned());
        }
    }
    found
}

/// The first names in `{a::b, c::{d, e}}`, from behind its opening brace.
fn group_heads(group: &str) -> Vec<String> {
    let (mut depth, mut heads, mut head) = (0, Vec::new(), String::new());
    for c in group.chars() {
        match c {
            '{' => depth += 1,
            '}' if depth == 0 => break,
            '}' => depth -= 1,
            ',' if depth == 0 => heads.push(std::mem::take(&mut head)),
            _ if depth == 0 => head.push(c),
            _ => {}
        }
    }
    heads.push(head);
    heads.iter().map(|head| head.trim().split("::").next().unwrap_or_default().to_owned()).collect()
}

#[test]
fn no_module_uses_one_that_it_may_not_see() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let modules: BTreeSet<&str> = ARROWS.iter().map(|(module, _)| *module).chain(["cli"]).collect();
    let mut files = Vec::new();
    sources(&root, &mut files);
    let mut wrong = Vec::new();
    for file in files {
        let path = file.strip_prefix(&root).expect("below src").to_string_lossy().into_owned();
        let module = path.split(['/', '.']).next().unwrap_or_default();
        let Some((_, allowed)) = ARROWS.iter().find(|(name, _)| *name == module) else { continue };
        for used in named(&std::fs::read_to_string(&file).expect("a source is readable")) {
            if used != module && modules.contains(used.as_str()) && !allowed.contains(&used.as_str()) {
                wrong.push(format!("{path} uses {used}"));
            }
        }
    }
    assert!(wrong.is_empty(), "wrong arrows:\n{}", wrong.join("\n"));
}

#[test]
fn a_wrong_arrow_would_be_seen() {
    let text = "use crate::{api, model::Key};\n// crate::cli\nfn f() { crate::report::text(); }";
    let found: Vec<String> = named(text).into_iter().collect();
    assert_eq!(found, ["api", "model", "report"]);
}

/// Files that may open, read and write files by themselves, each with the reason.
const FILE_ACCESS: &[(&str, &str)] = &[
    ("git/", "the view of a repository is a directory of its own, which git reads"),
    ("file/", "the module that does it for all others"),
];

#[test]
fn only_the_file_module_opens_files() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut files = Vec::new();
    sources(&root, &mut files);
    let mut wrong = Vec::new();
    for file in files {
        let path = file.strip_prefix(&root).expect("below src").to_string_lossy().into_owned();
        if path.ends_with("tests.rs") || FILE_ACCESS.iter().any(|(allowed, _)| path.starts_with(allowed)) {
            continue;
        }
        let text = std::fs::read_to_string(&file).expect("a source is readable");
        let code = text.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default();
        for word in ["fs::read", "fs::write", "File::open", "File::create", "OpenOptions", "fs::create_dir", "fs::copy"]
        {
            if code.contains(word) {
                wrong.push(format!("{path}: {word}"));
            }
        }
    }
    assert!(wrong.is_empty(), "use crate::file:\n{}", wrong.join("\n"));
}
