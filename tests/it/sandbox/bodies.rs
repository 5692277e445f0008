//! The table of bodies that must be accepted and refused, under `tests/cases/bodies`. The loader of
//! the client is run against the same table.

use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde_json::Value;
use trueup::load::{self, LoadOptions, SourceFile};

use super::{Bench, SHOP};

/// One body of a create request.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Case {
    /// What the case shows.
    name: String,
    body: Value,
    accepted: bool,
    /// The HTTP status; 200 when accepted.
    status: u16,
    /// A part of the message of a refusal.
    #[serde(default)]
    message: String,
    /// Parts of the created spec, by JSON pointer.
    #[serde(default)]
    answer: serde_json::Map<String, Value>,
    /// Set where the loader has to decide otherwise, with the reason.
    #[serde(default)]
    loader: Option<Loader>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Loader {
    accepted: bool,
    because: String,
}

/// The cases of every file, of which there are many.
fn cases() -> Vec<Case> {
    let mut files: Vec<_> = std::fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cases/bodies"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    files.sort();
    let read = |file: &PathBuf| -> Vec<Case> {
        serde_json::from_str(&std::fs::read_to_string(file).unwrap())
            .unwrap_or_else(|error| panic!("{}: {error}", file.display()))
    };
    let cases: Vec<_> = files.iter().flat_map(read).collect();
    assert!(cases.len() > 200, "only {} cases were read", cases.len());
    cases
}

#[test]
fn the_loader_accepts_and_refuses_the_same_bodies_but_for_the_reasons_it_has() {
    let mut wrong = Vec::new();
    for case in cases() {
        let (accepted, because) =
            case.loader.map_or((case.accepted, String::new()), |loader| (loader.accepted, loader.because));
        let file = SourceFile { path: "a.yaml".into(), bytes: case.body.to_string().into_bytes() };
        let loaded = load::sources(vec![file], &LoadOptions::default());
        if loaded.is_ok() != accepted {
            wrong.push(format!(
                "{}: {} {because}",
                case.name,
                loaded.err().map_or_else(String::new, |it| it.to_string())
            ));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[tokio::test]
async fn every_body_of_the_table_is_accepted_or_refused_as_it_says() {
    let bench = Bench::start().await;
    let mut wrong = Vec::new();
    for case in cases() {
        let answer = bench.create(&case.body).await;
        if answer.status != case.status || (answer.status == 200) != case.accepted {
            wrong.push(format!("{}: {} {}", case.name, answer.status, answer.text));
            continue;
        }
        let json = answer.json();
        if !case.accepted && !json["message"].as_str().unwrap_or_default().contains(&case.message) {
            wrong.push(format!("{}: {}", case.name, answer.text));
        }
        for (pointer, wanted) in &case.answer {
            if json.pointer(pointer) != Some(wanted) {
                wrong.push(format!("{}: {pointer} is {:?}", case.name, json.pointer(pointer)));
            }
        }
        if case.accepted {
            let name = json["metadata"]["name"].as_str().unwrap();
            assert_eq!(bench.send("DELETE", &format!("{SHOP}/{name}"), None).await.status, 200);
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
