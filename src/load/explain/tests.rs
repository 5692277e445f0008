//! The origin of a value is the document whose removal of the value changes it.

use proptest::prelude::*;
use serde_json::{Map, Value as Content, json};

use super::*;
use crate::load::{LoadOptions, Loaded, SourceFile, sources};

/// What a document sets: a random part of these fields, in overlays also null.
fn document(is_overlay: bool) -> impl Strategy<Value = Content> {
    let value = move |mut values: Vec<Content>| {
        if is_overlay {
            values.push(Content::Null);
        }
        prop::option::of(prop::sample::select(values))
    };
    let labels = (value(vec!["1".into(), "2".into()]), value(vec!["3".into(), "4".into()]));
    let metadata = (labels, value(vec!["x".into(), "y".into()]), value(vec![true.into(), false.into()]));
    let target = prop::sample::select(vec![
        json!({}),
        json!({"ip": "10.0.0.8"}),
        json!({"dns_name": "a.example.net"}),
        json!({"dns_name_advanced": {"name": "b.example.net", "refresh_interval": 60}}),
        json!({"dns_name_advanced": {"refresh_interval": 70}}),
    ]);
    let pool = vec![json!({"no_snat_pool": {}}), json!({"snat_pool": {"prefixes": ["10.1.0.0/16"]}})];
    let spec = (value(vec![1.into(), 2.into()]), value(vec!["UDP".into(), "TCP".into()]), value(pool), target);
    (metadata, spec).prop_map(|(((a, b), description, disable), (port, protocol, pool, target))| {
        let map = |entries: Vec<(&str, Option<Content>)>| -> Map<String, Content> {
            entries.into_iter().filter_map(|(key, value)| Some((key.to_owned(), value?))).collect()
        };
        let labels = map(vec![("a", a), ("b", b)]);
        let mut metadata = map(vec![("description", description), ("disable", disable)]);
        metadata.extend(map(vec![
            ("name", Some("cart".into())),
            ("namespace", Some("shop".into())),
            ("labels", Some(labels.into())),
        ]));
        let mut spec = map(vec![("port", port), ("protocol", protocol), ("snat_pool", pool)]);
        spec.extend(target.as_object().cloned().unwrap_or_default());
        json!({"metadata": metadata, "spec": spec})
    })
}

const FILES: [&str; 3] = ["cart.json", "low/cart.json", "prod/cart.json"];

fn loaded(documents: &[Content; 3]) -> Option<Loaded> {
    let file = |path: &str, text: String| SourceFile { path: path.to_owned(), bytes: text.into_bytes() };
    let settings = "defaults: {overlay: low}\nenvironments: {prod: {overlay: prod}}\n".to_owned();
    let mut files = vec![file("trueup.yaml", settings)];
    files.extend(FILES.iter().zip(documents).map(|(path, document)| file(path, document.to_string())));
    let options = LoadOptions { environment: Some("prod".to_owned()), ..LoadOptions::default() };
    sources(files, &options).ok()
}

fn explained(documents: &[Content; 3]) -> Option<BTreeMap<Vec<String>, ExplainedValue>> {
    let loaded = loaded(documents)?;
    let explained = definition(&loaded, &Key::parse("shop/cart").expect("a key"), &[]).expect("it is defined");
    Some(explained.values.into_iter().map(|value| (value.path.clone(), value)).collect())
}

/// Takes the value at a path out of a document; whether it was there.
fn removed(document: &mut Content, path: &[String]) -> bool {
    let Some((last, above)) = path.split_last() else { return false };
    let at = above.iter().try_fold(document, |at, key| at.get_mut(key));
    at.and_then(Content::as_object_mut).is_some_and(|at| at.remove(last).is_some())
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_origin_of_a_value_is_the_document_whose_change_changes_it(
        base in document(false), low in document(true), prod in document(true),
    ) {
        let documents = [base, low, prod];
        let Some(now) = explained(&documents) else { return Ok(()) };
        for (path, value) in now.iter().filter(|(path, _)| !matches!(path[1].as_str(), "name" | "namespace")) {
            let origin = value.place.as_ref().map(|place| place.file.as_str());
            prop_assert_eq!(value.source == ValueSource::Definition, origin == Some(FILES[0]), "{:?}", value);
            for (at, file) in FILES.iter().enumerate() {
                let mut without = documents.clone();
                if !removed(&mut without[at], path) {
                    continue;
                }
                let Some(then) = explained(&without) else { continue };
                let then = then.get(path);
                let is_value_same = then.map_or(&Content::Null, |then| &then.value) == &value.value;
                let is_place_same = then.is_some_and(|then| then.place == value.place);
                // Where nothing is left to set back, a default is just that.
                let is_same = is_value_same && (is_place_same || (value.source == ValueSource::Default && Some(*file) != origin));
                prop_assert_eq!(is_same, Some(*file) != origin, "{:?} without it in {}: {:?}", value, file, then);
            }
        }
    }

    /// Every value that differs from the default is there, with the value that the load gives.
    #[test]
    fn what_is_explained_is_what_is_loaded(base in document(false), low in document(true), prod in document(true)) {
        let documents = [base, low, prod];
        let Some(loaded) = loaded(&documents) else { return Ok(()) };
        let endpoint = &loaded.desired.definitions.values().next().expect("one").endpoint;
        let mut rebuilt = json!({});
        for (path, value) in explained(&documents).expect("it loads") {
            let mut at = &mut rebuilt;
            for key in &path {
                at = &mut at[key];
            }
            *at = value.value;
        }
        let rebuilt: Object = serde_json::from_value(rebuilt).expect("an endpoint");
        prop_assert_eq!(&rebuilt, endpoint);
    }
}
