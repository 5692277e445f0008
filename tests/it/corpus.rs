//! The fuzz targets' checks over their seeds, and over every input that ever found a fault.

#[path = "../../fuzz/checks.rs"]
mod checks;

use std::path::Path;

use crate::support::objects::{self, Specs};

/// What means something in YAML, or is read in more than one way.
const TOKENS: [&str; 60] = [
    "\n", "\n\n", " ", "  ", "    ", "\t", "\r\n", "\r", ":", ": ", " :", "- ", "-", "#", " # ", "'", "''", "\"", "\\",
    "\\n", "\\x41", "\\\n", "|", "|-\n", "|+\n", "|2\n", ">", ">-\n", "&a ", "*a", "!", "!!str ", "? ", "---\n",
    "--- ", "...\n", "[", "]", "{", "}", ",", ", ", "[]", "{}", "%", "@", "`", "~", "null", "true", "0x1", "1e3",
    "0o7", "010", "-0", ".inf", "<<: ", "é", "\u{a0}", "\u{2028}",
];

const GOOD: [&str; 5] = [
    "metadata:\n  name: a # it's\n  namespace: shop\n  labels:\n    app: 'it''s'\n    tier: \"a b\"\n  description: |\n    one\n     two\n\n    three\nspec:\n  ip: 10.0.0.1\n  port: 8080\n",
    "metadata: {name: a, namespace: shop, annotations: {a/b: \"c: d\", e: [], f: null}}\nspec: {ip: 10.0.0.1, port: 80}\n---\nmetadata: {name: b, namespace: shop}\nspec: {dns_name: a.example.net, port: 1}\n",
    "# first\nkind: healthcheck\nmetadata:\n  name: h\n  namespace: shop\n  description: >-\n    folded\n    text\nspec:\n  http_health_check:\n    path: /\n    use_origin_server_name: {}\n    expected_status_codes:\n    - \"200\"\n    - 3xx\n    headers:\n      x: y\n  timeout: 3\n  interval: 15\n  unhealthy_threshold: 1\n  healthy_threshold: 3\n",
    "base: &base\n  namespace: shop\n---\nmetadata:\n    name: 'c'\n    namespace: \"shop\"\nspec:\n    ip: 10.0.0.1\n    port: 443\n    where:\n        virtual_site:\n            ref:\n            -   name: all\n                namespace: shared\n",
    "spec: {ip: 10.0.0.1, port: 80}\nmetadata:\n  name: d\n  namespace: shop\n  description: |\n    one\n      two\n    three",
];

fn seeds(target: &str, check: fn(&[u8])) {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz/seeds").join(target);
    let mut seen = 0;
    for entry in std::fs::read_dir(directory).expect("the seeds") {
        let path = entry.expect("an entry").path();
        let bytes = std::fs::read(&path).expect("a seed");
        check(&bytes);
        // What a cut or a flipped bit makes of it must not break anything either.
        for at in (0..bytes.len()).step_by(bytes.len() / 40 + 1) {
            check(&bytes[..at]);
            let mut flipped = bytes.clone();
            flipped[at] ^= 1;
            check(&flipped);
        }
        seen += 1;
    }
    assert!(seen > 0, "no seeds for {target}");
}

#[test]
fn any_file_of_definitions_is_refused_or_loads_again() {
    seeds("loader", checks::loader);
}

#[test]
fn any_selector_has_a_normal_form_of_the_same_meaning() {
    seeds("selector", checks::selector);
}

#[test]
fn any_condition_is_read_back_as_it_was_written() {
    seeds("event_query", checks::event_query);
}

#[test]
fn any_plan_file_is_refused_or_writes_itself_back() {
    seeds("plan_file", checks::plan_file);
}

#[test]
fn any_journal_is_refused_or_settles_every_change() {
    seeds("journal", checks::journal);
}

#[test]
fn any_list_is_unknown_or_whole() {
    seeds("list", checks::list);
}

/// Some good text with tokens put in, pieces taken out and lines moved.
fn mutated(random: &mut Specs, text: &str) -> String {
    let mut text = text.to_owned();
    let boundary = |text: &str, at: usize| (0..=at).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
    for _ in 0..=random.below(4) {
        let at = boundary(&text, random.below(text.len() + 1));
        let end = boundary(&text, (at + random.below(12)).min(text.len()));
        match random.below(4) {
            0 | 1 => text.insert_str(at, TOKENS[random.below(TOKENS.len())]),
            2 => drop(text.drain(at..end)),
            _ => {
                let mut lines: Vec<&str> = text.split_inclusive('\n').collect();
                let line = lines.remove(random.below(lines.len()));
                lines.insert(random.below(lines.len() + 1), line);
                text = lines.concat();
            }
        }
    }
    text
}

#[test]
fn any_change_of_a_good_file_is_read_alike_by_both_readers() {
    let seed = objects::seed();
    let mut random = Specs::new(seed);
    let rounds = std::env::var("TRUEUP_ROUNDS").ok().and_then(|rounds| rounds.parse().ok()).unwrap_or(2_000);
    for _ in 0..rounds {
        let good = GOOD[random.below(GOOD.len())];
        let text = mutated(&mut random, good);
        let check = std::panic::catch_unwind(|| checks::loader(text.as_bytes()));
        assert!(check.is_ok(), "of {text:?}");
    }
}
