//! The table of bodies that must be accepted and refused, under `tests/cases/bodies`. The loader of
//! the client is run against the same table.

use std::path::Path;

use serde::Deserialize;
use serde_json::Value;

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
    #[serde(default, rename = "loader")]
    _loader: Option<Loader>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Loader {
    #[serde(rename = "accepted")]
    _accepted: bool,
    #[serde(rename = "because")]
    _because: String,
}

#[tokio::test]
async fn every_body_of_the_table_is_accepted_or_refused_as_it_says() {
    let bench = Bench::start().await;
    let mut files: Vec<_> = std::fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cases/bodies"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    files.sort();
    let mut wrong = Vec::new();
    let mut count = 0;
    for file in files {
        let cases: Vec<Case> = serde_json::from_str(&std::fs::read_to_string(&file).unwrap())
            .unwrap_or_else(|error| panic!("{}: {error}", file.display()));
        for case in cases {
            count += 1;
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
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(count > 90, "only {count} cases were read");
}
