//! `docs/` as a book: its summary lists every page once, every link between documents resolves, and no page of the book
//! links to a file outside of it, which the book would not contain.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use regex::Regex;

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// The Markdown files below a directory of the repository.
fn pages(directory: &str) -> BTreeSet<PathBuf> {
    walkdir::WalkDir::new(root().join(directory))
        .into_iter()
        .map(|entry| entry.expect("a file of the documentation").into_path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "md"))
        .collect()
}

/// The targets of the links of a document, outside of code.
fn links(text: &str) -> Vec<String> {
    let link = Regex::new(r"\]\(([^)\s]+)\)|(?:src|srcset|href)=\x22([^\x22]+)\x22").expect("a pattern");
    let code = Regex::new("`[^`\n]*`").expect("a pattern");
    let prose: String = text.split("\n```").step_by(2).collect();
    // A link's text may be code, so that only its content goes.
    let prose = code.replace_all(&prose, "code");
    link.captures_iter(&prose)
        .filter_map(|found| found.get(1).or_else(|| found.get(2)))
        .map(|found| found.as_str().to_owned())
        .filter(|target| !target.contains("://"))
        .collect()
}

/// What a link to a heading names, as forges and mdBook do: lower case, `-` for blanks, without punctuation.
fn anchor(heading: &str) -> String {
    let kept = |character: &char| character.is_alphanumeric() || matches!(character, ' ' | '-' | '_');
    heading
        .trim()
        .to_lowercase()
        .chars()
        .filter(kept)
        .map(|character| if character == ' ' { '-' } else { character })
        .collect()
}

/// Why a link of `document` does not resolve.
fn broken(document: &Path, target: &str) -> Option<&'static str> {
    let (file, heading) = target.split_once('#').unwrap_or((target, ""));
    let path = if file.is_empty() { document.to_owned() } else { document.parent().expect("a directory").join(file) };
    let Ok(path) = path.canonicalize() else { return Some("no such file") };
    let docs = root().join("docs").canonicalize().expect("docs");
    if document.starts_with(root().join("docs")) && !path.starts_with(&docs) {
        return Some("not in the book");
    }
    if heading.is_empty() {
        return None;
    }
    let text = std::fs::read_to_string(&path).expect("a page");
    let found = text
        .lines()
        .filter_map(|line| line.strip_prefix('#'))
        .any(|line| anchor(line.trim_start_matches('#')) == heading);
    (!found).then_some("no such heading")
}

#[test]
fn the_summary_of_the_book_lists_every_page_once() {
    let docs = root().join("docs");
    let summary = std::fs::read_to_string(docs.join("SUMMARY.md")).expect("the summary");
    let listed: Vec<PathBuf> = links(&summary).into_iter().map(|page| docs.join(page)).collect();
    let mut wanted = pages("docs");
    assert!(wanted.remove(&docs.join("SUMMARY.md")));
    assert_eq!(listed.iter().cloned().collect::<BTreeSet<_>>(), wanted);
    assert_eq!(listed.len(), wanted.len(), "a page is listed twice");
}

#[test]
fn every_link_of_a_document_resolves() {
    let mut documents: Vec<PathBuf> = ["docs", "examples"].into_iter().flat_map(pages).collect();
    documents.extend(["README.md", "CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md"].map(|name| root().join(name)));
    let (mut wrong, mut followed) = (Vec::new(), 0);
    for document in &documents {
        let text = std::fs::read_to_string(document).expect("a document");
        for target in links(&text) {
            followed += 1;
            if let Some(reason) = broken(document, &target) {
                wrong.push(format!("{}: {target}: {reason}", document.display()));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(followed > documents.len(), "{followed} links were followed");
}

#[test]
fn a_link_out_of_the_book_to_no_file_or_to_no_heading_is_found() {
    let page = root().join("docs/ownership.md");
    assert_eq!(broken(&page, "glossary.md#ownership"), None);
    assert_eq!(broken(&page, "#the-commit"), None);
    assert_eq!(broken(&page, "../README.md"), Some("not in the book"));
    assert_eq!(broken(&page, "nothing.md"), Some("no such file"));
    assert_eq!(broken(&page, "glossary.md#nothing"), Some("no such heading"));
    assert_eq!(links("a [`x`](y.md) `[z](w.md)`\n```\n[c](d.md)\n```\n<img src=\"e.svg\">"), ["y.md", "e.svg"]);
}

#[test]
fn every_kind_of_json_is_documented() {
    let page = std::fs::read_to_string(root().join("docs/plan-format.md")).expect("the page");
    let kind =
        Regex::new(r#"\b(?:document|line|write|written_as!)\(\s*"([a-z_]+)"|"kind": "([a-z_]+)",\s*"format_version""#)
            .expect("a pattern");
    let sources =
        ["src/report", "src/cli"].into_iter().flat_map(|directory| walkdir::WalkDir::new(root().join(directory)));
    let mut kinds = BTreeSet::new();
    for path in sources.map(|entry| entry.expect("a source").into_path()) {
        if path.extension().is_some_and(|extension| extension == "rs") {
            let text = std::fs::read_to_string(&path).expect("a source");
            let found = kind.captures_iter(&text).filter_map(|found| found.get(1).or_else(|| found.get(2)));
            kinds.extend(found.map(|found| found.as_str().to_owned()));
        }
    }
    assert!(kinds.contains("plan_report") && kinds.contains("health"), "{kinds:?}");
    let missing: Vec<&String> = kinds
        .iter()
        .filter(|kind| !page.contains(&format!("`{kind}`")) && !page.contains(&format!("`kind: {kind}`")))
        .collect();
    assert!(missing.is_empty(), "{missing:?}");
}
