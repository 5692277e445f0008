//! The two readers must never disagree, and neither the order of files nor how definitions are split
//! among them may matter.

use std::collections::BTreeMap;

use proptest::prelude::*;
use proptest::sample::select;

use super::careful::{self, ReadContext};
use super::overlays::Overlays;
use super::text::SourceText;
use super::variable::Variables;
use super::*;
use crate::model::{Key, Object};

fn source(path: &str, text: &str) -> Option<SourceText> {
    SourceText::new(&path.into(), text.as_bytes().to_vec()).ok()
}

fn context<'c>(config: &'c Config, variables: &'c Variables) -> ReadContext<'c> {
    ReadContext { config, variables, overlays: Overlays::default() }
}

/// What the careful reader finds in a text.
fn carefully(source: &SourceText) -> FileRead {
    let (config, variables) = (Config::default(), Variables::default());
    careful::read(source, &context(&config, &variables))
}

/// Fails where the fast reader answers and the careful one answers otherwise.
fn agree(path: &str, text: &str) -> Result<(), TestCaseError> {
    let Some(source) = source(path, text) else { return Ok(()) };
    if source.needs_care() {
        return Ok(());
    }
    let Some(documents) = fast::read(&source) else { return Ok(()) };
    let slow = carefully(&source);
    let config = Config::default();
    let assembled = |plain: PlainDocument| object::assembled(plain.kind, plain.metadata, Some(plain.spec), &config);
    let (objects, problems): (Vec<_>, Vec<_>) = documents.into_iter().map(assembled).unzip();
    if objects.iter().any(Result::is_err) || problems.iter().any(|problems| !problems.is_empty()) {
        prop_assert!(!slow.problems.is_empty(), "only the fast reader refuses:\n{text}");
        return Ok(());
    }
    let fast: Vec<Object> = objects.into_iter().filter_map(Result::ok).collect();
    let careful: Vec<Object> = slow.found.into_iter().map(|found| found.endpoint).collect();
    prop_assert!(slow.problems.is_empty(), "only the careful reader refuses:\n{text}\n{:?}", slow.problems);
    prop_assert_eq!(fast, careful, "the readers differ:\n{}", text);
    Ok(())
}

/// Scalars of every kind, good and bad, as YAML writes them on one line.
const SCALARS: &[&str] = &[
    "a",
    "'b'",
    "\"c\"",
    "\"\\u00e9\\t\\\"\"",
    "'it''s'",
    "~",
    "null",
    "NULL",
    "",
    "true",
    "False",
    "yes",
    "on",
    "1.50",
    "1e3",
    "80",
    "010",
    "0x1F",
    "0o17",
    "-0x0",
    "-0o17",
    "+80",
    "-5",
    "'80'",
    "\"010\"",
    "1_000",
    "12:30",
    ".inf",
    "99999999999999999999",
    "-0",
    "0",
    "é ü",
    "\"\\ud83d\\ude00\"",
    "a # comment",
    "a#b",
    "a: b",
    "- a",
    "[a]",
    "[]",
    "{}",
    "{a: b}",
    "{a: -}",
    "{a: b, ?'c': d}",
    "{a: b,\n\tc: d}",
    "{a: b,#c\n    }",
    "{a: b}#c",
    "'a'#b",
    "\"10.0.0.1\"#b",
    "a b  c",
    "@a",
    "*x",
    "&x a",
    "&x 80",
    "*y",
    "|",
    ">-",
    "%a",
    "a,b",
    "'a, b'",
    "\"a\n    b\"",
    "a\n    b",
    "2001-01-01",
    "<",
    "=",
    "!",
    "? a",
    "shop.example.net",
    "10.0.0.1",
    "::1",
    "TCP",
    "|\n      block\n      text",
    ">-\n      folded\n\n      text",
    "\"\"",
    "''",
];

fn scalar() -> impl Strategy<Value = &'static str> {
    select(SCALARS)
}

/// A field of the spec with a value that is often right.
fn field() -> impl Strategy<Value = String> {
    prop_oneof![
        4 => Just("ip: 10.0.0.1".to_owned()),
        3 => select(&["dns_name", "dnsName", "\"dns_name\""][..]).prop_map(|key| format!("{key}: a.example.net")),
        2 => select(&["80", "'80'", "010", "0x1F", "-0x0", "-0o0", "+8", "~", "65535"][..]).prop_map(|port| format!("port: {port}")),
        2 => Just("protocol: UDP".to_owned()),
        2 => scalar().prop_map(|value| format!("port: {value}")),
        2 => scalar().prop_map(|value| format!("healthCheckPort: {value}")),
        1 => scalar().prop_map(|value| format!("protocol: {value}")),
        2 => scalar().prop_map(|value| format!("snat_pool: {{no_snat_pool: {value}}}")),
        2 => scalar().prop_map(|value| format!("snat_pool:\n    snat_pool:\n      prefixes:\n      - {value}\n      - 10.0.0.0/8")),
        2 => scalar().prop_map(|value| format!("where:\n    site:\n      ref:\n      - name: {value}\n      enable_internet_vip: {{}}")),
        1 => scalar().prop_map(|value| format!("where:\n    virtual_network:\n      ref: {value}")),
        1 => scalar().prop_map(|value| format!("service_info: {{discovery_type: K8S, service_selector: {{expressions: [{value}]}}}}")),
        1 => scalar().prop_map(|value| format!("dns_name_advanced:\n    name: a.example.net\n    refresh_interval: {value}")),
        1 => scalar().prop_map(|value| format!("{value}: {value}")),
    ]
}

/// A field of the metadata beside name and namespace.
fn meta() -> impl Strategy<Value = String> {
    prop_oneof![
        scalar().prop_map(|value| format!("description: {value}")),
        scalar().prop_map(|value| format!("disable: {value}")),
        (scalar(), scalar()).prop_map(|(one, two)| format!("labels:\n    a: {one}\n    b: {two}")),
        (scalar(), scalar()).prop_map(|(key, value)| format!("annotations:\n    {key}: {value}")),
        (scalar(), scalar()).prop_map(|(key, value)| format!("labels: {{{key}: {value}, a: b}}")),
        scalar().prop_map(|value| format!("name: {value}")),
    ]
}

prop_compose! {
    fn document()(
        metas in prop::collection::vec(meta(), 0..3),
        fields in prop::collection::vec(field(), 1..4),
        kind in select(&["", "kind: endpoint\n", "# a comment\n", "kind: other\n", "\n"][..]),
        breaks in select(&["\n", "\r\n"][..]),
    ) -> String {
        let mut text = format!("{kind}metadata:\n  name: a\n  namespace: n\n");
        for meta in metas {
            text.push_str(&format!("  {meta}\n"));
        }
        text.push_str("spec:\n");
        for field in fields {
            text.push_str(&format!("  {field}\n"));
        }
        text.replace('\n', breaks)
    }
}

/// The same nastiness as JSON.
fn json() -> impl Strategy<Value = String> {
    let value = select(
        &[
            "\"a\"",
            "80",
            "\"80\"",
            "null",
            "true",
            "[]",
            "{}",
            "1.5",
            "[\"a\"]",
            "\"\\ud83d\\ude00\"",
            "1e2",
            "-1",
            "010",
        ][..],
    );
    let field = select(&["port", "ip", "dns_name", "dnsName", "where", "snat_pool", "protocol", "x"][..]);
    let pair = (field, value.clone()).prop_map(|(field, value)| format!("\"{field}\": {value}"));
    (prop::collection::vec(pair, 0..3), value.clone(), value).prop_map(|(pairs, description, label)| {
        let more: String = pairs.iter().map(|pair| format!(", {pair}")).collect();
        format!(
            "{{\"metadata\": {{\"name\": \"a\", \"namespace\": \"n\", \"description\": {description}, \"labels\": {{\"a\": {label}}}}},\n\t\"spec\": {{\"ip\": \"10.0.0.1\"{more}}}}}"
        )
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_two_readers_never_disagree(documents in prop::collection::vec(document(), 1..3)) {
        agree("a.yaml", &documents.join("---\n"))?;
    }

    #[test]
    fn the_two_readers_never_disagree_on_json(text in json()) {
        agree("a.json", &text)?;
    }

    #[test]
    fn no_text_is_too_odd_for_either_reader(text in "[a-c:{}\\[\\]'\"&*!|>%#,~<$ \t\r\n\u{feff}-]{0,60}") {
        agree("a.yaml", &text)?;
        if let Some(source) = source("a.yaml", &text) {
            carefully(&source);
        }
    }
}

fn definition(name: &str, port: u16) -> String {
    format!("metadata: {{name: {name}, namespace: shop}}\nspec: {{ip: 10.0.0.1, port: {port}}}\n")
}

fn endpoints(files: Vec<SourceFile>) -> BTreeMap<Key, Object> {
    let loaded = sources(files, &LoadOptions::default()).expect("good definitions");
    loaded.desired.definitions.into_iter().map(|(key, definition)| (key, definition.endpoint)).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn neither_the_order_nor_the_split_of_files_matters(
        ports in prop::collection::vec(0u16..9, 1..12),
        places in prop::collection::vec(0usize..4, 12),
        reversed in any::<bool>(),
    ) {
        let whole: Vec<String> = ports.iter().enumerate().map(|(at, port)| definition(&format!("e{at}"), *port)).collect();
        let one = endpoints(vec![SourceFile { path: "all.yaml".to_owned(), bytes: whole.join("---\n").into_bytes() }]);
        let mut files: BTreeMap<usize, Vec<String>> = BTreeMap::new();
        for (text, place) in whole.into_iter().zip(places) {
            files.entry(place).or_default().push(text);
        }
        let mut split: Vec<SourceFile> = files
            .into_iter()
            .map(|(place, mut texts)| {
                if reversed {
                    texts.reverse();
                }
                SourceFile { path: format!("d{place}/f.yaml"), bytes: texts.join("---\n").into_bytes() }
            })
            .collect();
        if reversed {
            split.reverse();
        }
        prop_assert_eq!(one, endpoints(split));
    }
}

fn loaded(text: &str) -> Loaded {
    sources(vec![SourceFile { path: "a.yaml".to_owned(), bytes: text.as_bytes().to_vec() }], &LoadOptions::default())
        .expect("good definitions")
}

fn key() -> Key {
    Key::parse("shop/a").expect("a key")
}

/// Every way of writing, with a comment and multi-byte text before each value.
const WRITTEN: &str = "\u{feff}# é\nmetadata:\n  name: a\n  namespace: \"shop\" # ü\n  labels: {z: &x web, b: *x}\n  annotations:\n    \
    c: 'it''s' # d\n    e: |-\n      two\n      lines\n\n    f:\n  description: >\n    folded\nspec:\n  dnsName: a.example.net\n  \
    port: 80 # the port\n  <<: {protocol: UDP}\n";

#[test]
fn a_place_counts_lines_and_characters_from_one() {
    for text in [WRITTEN.to_owned(), WRITTEN.replace('\n', "\r\n")] {
        let loaded = loaded(&text);
        let places = SourceMap::new(&loaded);
        let place = |field: &str| {
            let field = crate::model::Field::from_path(field).expect("a field");
            places.place(&key(), Some(&field)).map(|place| (place.line, place.column))
        };
        assert_eq!(places.place(&key(), None).map(|place| place.line), Some(2));
        assert_eq!(place("labels.z"), Some((5, 12)));
        assert_eq!(place("labels.b"), Some((5, 23)));
        assert_eq!(place("annotations.e"), Some((8, 5)));
        assert_eq!(place("spec.target"), Some((16, 3)));
        assert_eq!(place("spec.port"), Some((17, 3)));
        assert_eq!(place("spec.protocol"), Some((18, 8)));
        assert_eq!(place("spec.where"), None);
    }
}

#[test]
fn a_value_knows_its_bytes_and_how_it_got_there() {
    for text in [WRITTEN.to_owned(), WRITTEN.replace('\n', "\r\n")] {
        let loaded = loaded(&text);
        let places = SourceMap::new(&loaded);
        let at = |path: &[&str]| places.at(&key(), path).expect("it is written");
        let slice = |path: &[&str]| text[at(path).value].replace("\r\n", "\n");
        let about = |path: &[&str]| (at(path).writing, at(path).origin);
        use ValueOrigin::{Alias, Anchored, Merged};
        assert_eq!(slice(&["metadata", "namespace"]), "\"shop\"");
        assert_eq!(slice(&["metadata", "labels", "z"]), "web");
        assert_eq!(about(&["metadata", "labels", "z"]), (ValueStyle::Plain, Anchored));
        assert_eq!(slice(&["metadata", "labels", "b"]), "*x");
        assert_eq!(about(&["metadata", "labels", "b"]).1, Alias);
        assert_eq!(about(&["metadata", "labels"]), (ValueStyle::Flow, ValueOrigin::Written));
        assert_eq!(slice(&["metadata", "annotations", "c"]), "'it''s'");
        assert_eq!(slice(&["metadata", "annotations", "e"]), "|-\n      two\n      lines");
        assert_eq!(about(&["metadata", "annotations", "e"]).0, ValueStyle::Block);
        let empty = at(&["metadata", "annotations", "f"]);
        assert_eq!((empty.writing, &text[..empty.value.start].ends_with("f:")), (ValueStyle::Empty, &true));
        assert_eq!(slice(&["metadata", "description"]), ">\n    folded");
        assert_eq!(slice(&["spec", "port"]), "80");
        assert_eq!(&text[at(&["spec", "dns_name"]).key], "dnsName");
        assert_eq!(about(&["spec", "protocol"]).1, Merged);
    }
}

#[test]
fn a_list_without_brackets_is_one_whatever_its_items_have() {
    let writing = |reference: &str| {
        let loaded = loaded(&format!(
            "metadata: {{name: a, namespace: shop}}\nspec:\n  ip: 192.0.2.1\n  where:\n    site:\n      ref:{reference}\n"
        ));
        let written = SourceMap::new(&loaded).at(&key(), &["spec", "where", "site", "ref"]).expect("it is written");
        written.writing
    };
    assert_eq!(writing("\n      - {name: s}"), ValueStyle::Collection);
    assert_eq!(writing("\n      - name: s"), ValueStyle::Collection);
    assert_eq!(writing(" [{name: s}]"), ValueStyle::Flow);
}

#[test]
fn a_block_in_a_list_and_an_empty_value_know_their_bytes() {
    let text = "# | a\nmetadata: {name: a, namespace: shop, description: }\nspec:\n  ip: 10.0.0.1\n  snat_pool:\n    \
                snat_pool:\n      prefixes:\n      - >- # | b\n        10.0.0.0/8\n\n      - 10.2.0.0/16\n";
    for text in [text.to_owned(), text.replace('\n', "\r\n")] {
        let loaded = loaded(&text);
        let places = SourceMap::new(&loaded);
        let slice = |path: &[&str]| text[places.at(&key(), path).expect("it is written").value].replace("\r\n", "\n");
        let pool = ["spec", "snat_pool", "snat_pool", "prefixes"];
        assert_eq!(slice(&[pool.as_slice(), &["0"]].concat()), ">- # | b\n        10.0.0.0/8");
        assert!(slice(&pool).ends_with("10.2.0.0/16"));
        let empty = places.at(&key(), &["metadata", "description"]).expect("it is written");
        assert_eq!((empty.writing, &text[empty.value.end - 1..][..3]), (ValueStyle::Empty, ": }"));
    }
}

#[test]
fn a_scalar_replaced_by_its_bytes_reads_as_the_new_one() {
    let scalars: &[&[&str]] = &[
        &["metadata", "annotations", "c"],
        &["metadata", "annotations", "e"],
        &["metadata", "annotations", "f"],
        &["metadata", "description"],
        &["metadata", "labels", "b"],
    ];
    for text in [WRITTEN.to_owned(), WRITTEN.replace('\n', "\r\n")] {
        let before = loaded(&text);
        for path in scalars {
            let written = SourceMap::new(&before).at(&key(), path).expect("it is written");
            let gap = if written.writing == ValueStyle::Empty { " " } else { "" };
            let mut edited = text.clone();
            edited.replace_range(written.value, &format!("{gap}\"new\""));
            let after = loaded(&edited);
            let endpoint = &after.desired.definitions[&key()].endpoint;
            let value = match path {
                [_, "description"] => endpoint.description.clone(),
                [_, "labels", label] => endpoint.labels[&(*label).to_owned()].clone(),
                [_, _, annotation] => endpoint.annotations[&(*annotation).to_owned()].clone(),
                _ => String::new(),
            };
            assert_eq!(value, "new", "{path:?}\n{edited}");
        }
    }
}

#[test]
fn a_mistake_in_json_is_one_problem_at_its_place() {
    let metadata = "{\n\"metadata\": {\"name\": \"a\", \"namespace\": \"s\"}";
    let comma = "a comma is missing before this";
    for (rest, line, label) in [
        ("\n\"spec\": {\"ip\": \"10.0.0.7\"}}", 3, comma),
        (",\n\"spec\": {\"ip\": \"10.0.0.7\" \"port\": 1}}", 3, comma),
        (",\n\"spec\": {\"ip\": \"10.0.0.7\"} // a\n}", 3, "JSON has no comments"),
        (",\n// a\n\"spec\": {\"ip\": \"10.0.0.7\"}}", 3, "JSON has no comments"),
        (",\n\"spec\" {\"ip\": \"10.0.0.7\"}}", 3, "a colon is missing before this"),
        (",\n\"spec\": {},\n}", 4, "a comma is too much before this"),
        (",\n\"spec\": {}}\n{\"metadata\": 1}", 4, "a .json file contains one JSON value"),
        (",\n<<<<<<< HEAD\n\"spec\": 1}\n=======\n\"spec\": 2}\n>>>>>>> b\n", 3, "decide which of the two sides stays"),
    ] {
        let read = carefully(&source("a.json", &format!("{metadata}{rest}")).expect("a text"));
        let found: Vec<_> = read.problems.iter().map(|problem| (problem.line(), &*problem.labels[0].label)).collect();
        assert_eq!(found, [(line, label)], "{rest}");
    }
}

#[test]
fn the_place_on_a_long_line_is_the_same_in_every_format() {
    let description = "x".repeat(900);
    let text = format!(
        "{{\"metadata\": {{\"name\": \"a\", \"namespace\": \"s\", \"description\": \"{description}\"}}, \"spec\": {{\"prot\": 1}}}}\n"
    );
    let file = SourceFile { path: "a.json".to_owned(), bytes: text.clone().into_bytes() };
    let wrong = sources(vec![file], &LoadOptions::default()).expect_err("an unknown field");
    let column = text.find("\"prot\"").expect("the field") + 1;
    let found = wrong.list.iter().find(|one| one.message.contains("prot")).expect("a problem");
    assert_eq!(found.column(), column);
    for colour in [false, true] {
        let drawn = wrong.render(&RenderOptions { colour, ..RenderOptions::default() });
        assert!(drawn.contains(&format!("a.json:1:{column}\n")) && drawn.contains("\"prot\": 1"), "{drawn}");
        assert!(!drawn.contains(":::"), "{drawn}");
    }
}
