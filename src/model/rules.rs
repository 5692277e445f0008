//! The rules for a definition's metadata: lengths and syntax. A live object may break them and can still be compared.

use super::{NAME_RULE, Name, Namespace, PROTECT, Problem, Segment, WireMetadata, is_ownership_annotation};
use crate::kind::{KindName, Naming, label};

// `kinds/metadata.txt` has the same limits for `explain` and the schemas.
/// The most bytes of a description.
const LONGEST_DESCRIPTION: usize = 1200;
/// The most characters of an annotation's key.
const LONGEST_ANNOTATION_KEY: usize = 64;
/// The most characters of an annotation's value.
pub const LONGEST_ANNOTATION: usize = 1024;

/// Every rule that the metadata of a definition breaks. It checks the text as written, so that a definition with other
/// faults still gets all its problems at once.
pub fn check(kind: KindName, metadata: &WireMetadata) -> Vec<Problem> {
    let mut problems = Vec::new();
    names(&mut problems, kind, metadata);
    texts(&mut problems, metadata);
    problems
}

/// Warnings about metadata that is allowed but probably a mistake, each as a problem of its key: labels that the
/// service writes itself, and keys that look like those of trueup but have no meaning.
pub fn warnings(kind: KindName, metadata: &WireMetadata) -> Vec<Problem> {
    let maps = [("labels", &metadata.labels), ("annotations", &metadata.annotations)];
    let given = maps.into_iter().flat_map(|(map, entries)| {
        let given = entries.iter().flatten().filter(|(_, value)| value.is_some());
        given.map(move |(key, _)| (map, key))
    });
    let warning = |(map, key): (&'static str, &String)| {
        let noun = map.trim_end_matches('s');
        let (what, label) = if map == "labels" && kind.kind().writes_label(key) {
            let what = match label::PLATFORM_PREFIXES.iter().find(|prefix| key.starts_with(**prefix)) {
                Some(prefix) => format!("the label `{key}` is under `{prefix}`, the prefix of the service"),
                None => format!("the label `{key}` is one that the service writes"),
            };
            (what, "the service may set or remove it: use a prefix of your own".to_owned())
        } else if seems_ours(key) && (map == "labels" || *key != PROTECT && !is_ownership_annotation(key)) {
            let label = format!("what protects an object is the annotation `{PROTECT}`");
            (format!("the {noun} `{key}` means nothing to trueup"), label)
        } else {
            return None;
        };
        Some(Problem::key(entry(map, key), what, label))
    };
    given.filter_map(warning).collect()
}

/// Whether the author of the key may expect that trueup reads it.
fn seems_ours(key: &str) -> bool {
    key.get(..6).is_some_and(|start| start.eq_ignore_ascii_case("trueup"))
}

/// A text that is not empty; an empty one counts as absent, which is checked elsewhere.
fn given(text: Option<&String>) -> Option<&str> {
    text.map(String::as_str).filter(|text| !text.is_empty())
}

fn names(problems: &mut Vec<Problem>, kind: KindName, metadata: &WireMetadata) {
    let name = given(metadata.name.as_ref()).and_then(|text| Some(("name", text, Name::of_kind(kind, text).err()?)));
    let namespace =
        given(metadata.namespace.as_ref()).and_then(|text| Some(("namespace", text, Namespace::parse(text).err()?)));
    for (key, text, error) in [name, namespace].into_iter().flatten() {
        let what = format!("the {key} `{text}` {error}");
        let or_host = if key == "name" && kind.kind().naming == Naming::Host { ", or a host name" } else { "" };
        problems.push(Problem::value(vec!["metadata".into(), key.into()], what, format!("{NAME_RULE}{or_host}")));
    }
}

fn entry(map: &'static str, key: &str) -> Vec<Segment> {
    vec!["metadata".into(), map.into(), Segment::Key(key.to_owned().into())]
}

fn texts(problems: &mut Vec<Problem>, metadata: &WireMetadata) {
    let length = metadata.description.as_ref().map_or(0, String::len);
    if length > LONGEST_DESCRIPTION {
        problems.push(Problem::value(
            vec!["metadata".into(), "description".into()],
            format!("`description` is {length} bytes long"),
            format!("at most {LONGEST_DESCRIPTION} bytes"),
        ));
    }
    let fault = |of: &str, text: &str, longest: usize| {
        let length = match text.chars().count() {
            0 => "empty".to_owned(),
            count => (count > longest).then(|| format!("{count} characters long"))?,
        };
        Some((format!("the annotation{of} is {length}"), format!("1 to {longest} characters")))
    };
    for (key, value) in metadata.annotations.iter().flatten() {
        let (Some(value), at) = (value, || entry("annotations", key)) else { continue };
        let key_fault = fault("'s key", key, LONGEST_ANNOTATION_KEY);
        let value_fault = fault(&format!(" `{key}`"), value, LONGEST_ANNOTATION);
        problems.extend(key_fault.map(|(what, rule)| Problem::key(at(), what, rule)));
        problems.extend(value_fault.map(|(what, rule)| Problem::value(at(), what, rule)));
    }
    for (key, value) in metadata.labels.iter().flatten() {
        let Some(value) = value else { continue };
        if key.is_empty() {
            problems.push(Problem::key(entry("labels", key), "a label's key is empty", "a label needs a key"));
        } else if let Some(rule) = label::key_fault(key) {
            let what = format!("`{key}` is not a valid label key");
            problems.push(Problem::key(entry("labels", key), what, rule));
        }
        if let Some(rule) = label::value_fault(value) {
            let what = format!("`{value}` is not a valid label value");
            problems.push(Problem::value(entry("labels", key), what, rule));
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::kind::{self, Part};

    #[test]
    fn what_is_empty_is_not_said_to_have_a_length() {
        let texts_of = |key: &str, value: &str| {
            let annotations = BTreeMap::from([(key.to_owned(), Some(value.to_owned()))]);
            let mut problems = Vec::new();
            texts(&mut problems, &WireMetadata { annotations: Some(annotations), ..WireMetadata::default() });
            problems.into_iter().map(|problem| problem.message).collect::<Vec<_>>()
        };
        assert_eq!(texts_of("trueup/protect", ""), ["the annotation `trueup/protect` is empty"]);
        assert_eq!(texts_of("", "x"), ["the annotation's key is empty"]);
        let key = "k".repeat(LONGEST_ANNOTATION_KEY + 1);
        assert_eq!(texts_of(&key, "x"), ["the annotation's key is 65 characters long"]);
        assert!(texts_of("a", "x").is_empty());
        let annotations = kind::metadata().field("annotations").expect("a field");
        for (_, rule) in &annotations.rules {
            assert_eq!(rule.broken(annotations, &"".into()).as_deref(), Some("is empty"));
        }
    }

    #[test]
    fn the_description_of_metadata_has_the_bounds_of_the_rules() {
        let said = |name: &str| -> Vec<(Part, String)> {
            let field = kind::metadata().field(name).expect("a field");
            field.rules.iter().map(|(part, rule)| (*part, rule.words())).collect()
        };
        assert_eq!(said("description"), [(Part::Value, format!("at most {LONGEST_DESCRIPTION} bytes"))]);
        let characters = |most: usize| format!("1 to {most} characters");
        assert_eq!(
            said("annotations"),
            [(Part::Keys, characters(LONGEST_ANNOTATION_KEY)), (Part::Values, characters(LONGEST_ANNOTATION))]
        );
    }
}
