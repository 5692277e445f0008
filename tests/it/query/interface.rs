//! The table of `docs/interface.md` against the table of operations and the tests that it names.

use std::path::{Path, PathBuf};

use trueup::api::TABLE;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).to_owned()
}

/// The cells of every row below a heading, by table.
fn rows() -> Vec<Vec<String>> {
    let text = std::fs::read_to_string(root().join("docs/interface.md")).expect("the page");
    let mut rows = Vec::new();
    let mut heading = true;
    for line in text.lines() {
        let Some(line) = line.strip_prefix('|') else {
            heading = true;
            continue;
        };
        if heading {
            // The heading's own line and the one of dashes.
            heading = !line.starts_with("---");
            continue;
        }
        rows.push(line.trim_end_matches('|').split('|').map(|cell| cell.trim().to_owned()).collect());
    }
    rows
}

/// What stands between backticks.
fn quoted(cell: &str) -> Vec<&str> {
    cell.split('`').skip(1).step_by(2).collect()
}

#[test]
fn every_row_of_the_interface_names_tests_that_exist() {
    let rows = rows();
    assert!(rows.len() > 40, "{} rows", rows.len());
    for row in rows {
        let [statement, _, _, tests] = row.as_slice() else { panic!("a row has four cells: {row:?}") };
        let tests = quoted(tests);
        assert!(!tests.is_empty(), "no test for {statement}");
        for test in tests {
            let (file, name) = test.split_once("::").unwrap_or_else(|| panic!("`{test}` is not FILE::NAME"));
            let path = if file.starts_with("src/") { root().join(file) } else { root().join("tests/it").join(file) };
            let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
            let at = text.find(&format!("fn {name}(")).unwrap_or_else(|| panic!("{file} has no test {name}"));
            let before: String = text[..at].lines().rev().take(2).collect();
            assert!(before.contains("test"), "{file}: {name} is not a test");
        }
    }
}

#[test]
fn every_operation_has_a_row_of_its_own_and_no_other_is_named() {
    let rows = rows();
    let named: Vec<&str> = rows
        .iter()
        .flat_map(|row| quoted(&row[0]).into_iter().take(1))
        .filter(|name| name.starts_with("svc-") || *name == "security-event-scroll")
        .collect();
    let known: Vec<&str> = TABLE.iter().map(|entry| entry.name).collect();
    assert_eq!(named, known);
}

/// An operation that no command can reach through the binary would be tested nowhere.
#[test]
fn every_operation_is_called_by_a_test_through_the_binary() {
    let text = std::fs::read_to_string(root().join("tests/it/query/call.rs")).expect("the tests");
    for entry in &TABLE {
        let written = match entry.name.strip_prefix("svc-api-servicemesh-endpoint-") {
            Some(end) => format!("call(\"{end}\""),
            None => entry.name.to_owned(),
        };
        assert!(text.contains(&written), "{} is called by no test", entry.name);
    }
}
