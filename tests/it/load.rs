//! Directories of definitions and what is said about them: `tests/cases/load/NAME/input` is loaded,
//! and what comes out must be `expected.txt`. `TRUEUP_BLESS=1` writes it anew.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use trueup::load::{self, Diagnostics, Loaded, Look, Options, Places};

fn cases() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cases/load");
    let entries = std::fs::read_dir(root).expect("the cases are readable");
    let mut cases: Vec<PathBuf> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
    cases.sort();
    cases
}

/// `options.txt` holds `environment NAME` and `var NAME=VALUE` lines.
fn options(case: &Path) -> Options {
    let mut options = Options::default();
    for line in std::fs::read_to_string(case.join("options.txt")).unwrap_or_default().lines() {
        match line.split_once(' ').expect("a word and its value") {
            ("environment", name) => options.environment = Some(name.to_owned()),
            ("var", variable) => {
                let (name, value) = variable.split_once('=').expect("name=value");
                options.variables.insert(name.to_owned(), value.to_owned());
            }
            (other, _) => panic!("{other} is no option of a case"),
        }
    }
    options
}

fn told(result: Result<Loaded, Diagnostics>) -> String {
    match result {
        Err(diagnostics) => format!("{}\n{}\n", diagnostics.render(&Look::default()), diagnostics.summary()),
        Ok(loaded) => {
            let mut text = String::new();
            let places = Places::new(&loaded);
            for (key, definition) in &loaded.desired.definitions {
                let place = places.place(key, None).expect("a definition has a place");
                let json = serde_json::to_string(&definition.endpoint).expect("an endpoint is JSON");
                writeln!(text, "{key} {place} {json}").expect("a string takes text");
            }
            for note in &loaded.notes {
                writeln!(text, "{}", note.render(&Look::default(), "")).expect("a string takes text");
            }
            text
        }
    }
}

#[test]
fn every_case_says_what_is_expected() {
    let mut wrong = Vec::new();
    for case in cases() {
        let mut options = options(&case);
        let is = told(load::directory(&case.join("input"), &options));
        options.threads = Some(1);
        assert_eq!(is, told(load::directory(&case.join("input"), &options)), "threads matter in {}", case.display());
        let expected = case.join("expected.txt");
        if std::env::var_os("TRUEUP_BLESS").is_some() {
            std::fs::write(&expected, &is).expect("the case is writable");
        }
        if std::fs::read_to_string(&expected).unwrap_or_default() != is {
            wrong.push(format!("--- {}\n{is}", case.display()));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
