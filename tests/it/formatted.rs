//! What is true of any definition that is formatted: it loads as before, its comments are all there, and a second time
//! changes nothing.

use std::collections::BTreeMap;

use proptest::prelude::*;
use trueup::load::format::{self, Canonical};
use trueup::load::{self, LoadOptions, SourceFile};
use trueup::model::{Key, Object};

use crate::strategies;
use crate::support::scribe::Scribe;

fn loaded(text: &str) -> BTreeMap<Key, Object> {
    let file = SourceFile { path: "a.yaml".to_owned(), bytes: text.as_bytes().to_vec() };
    let loaded = load::sources(vec![file], &LoadOptions::default());
    let loaded = loaded.unwrap_or_else(|error| panic!("{}\n{text}", error.summary()));
    loaded.desired.definitions.into_iter().map(|(key, definition)| (key, definition.endpoint)).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn formatting_changes_no_endpoint_and_loses_no_comment(
        endpoints in strategies::endpoints(),
        choices in prop::collection::vec(any::<u8>(), 7..200),
    ) {
        let mut scribe = Scribe::new(choices);
        for endpoint in &endpoints {
            scribe.document(&serde_json::to_value(endpoint).expect("JSON"));
        }
        let before = scribe.text;
        let after = match format::text(&"a.yaml".into(), before.clone().into_bytes()) {
            Ok(Canonical::Changed(after)) => after,
            Ok(Canonical::Same) => before.clone(),
            other => panic!("{other:?}\n{before}"),
        };
        prop_assert_eq!(loaded(&before), loaded(&after), "{}\nbecame\n{}", before, after);
        for comment in scribe.comments {
            prop_assert_eq!(after.matches(&comment).count(), 1, "{}\nbecame\n{}", before, after);
        }
        let again = format::text(&"a.yaml".into(), after.clone().into_bytes());
        prop_assert_eq!(again, Ok(Canonical::Same), "{}", after);
        for (name, first) in [("metadata:", "spec:"), ("  name:", "  namespace:")] {
            // In block style the order can be seen.
            for document in after.split("---\n").filter(|document| !document.contains(['{', '"'])) {
                let at = |word: &str| document.find(&format!("\n{word}")).or(document.starts_with(word).then_some(0));
                if let (Some(name), Some(first)) = (at(name), at(first)) {
                    prop_assert!(name < first, "{}", document);
                }
            }
        }
    }
}
