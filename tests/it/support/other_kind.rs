//! The tests of endpoints with objects of another kind. With `TRUEUP_TEST_OTHER_KIND` set, the definitions, settings and
//! arguments that a test writes are those of a kind with the same two fields, and the answers are shown as if they were of
//! endpoints: what holds for endpoints has to hold for objects of every kind.

use regex::{Captures, Regex};
use serde_json::Value;

/// A kind with an address and a port.
const KIND: &str = "advertise_policy";

/// The variable.
pub const VARIABLE: &str = "TRUEUP_TEST_OTHER_KIND";

pub fn is_set() -> bool {
    std::env::var_os(VARIABLE).is_some()
}

/// The plural in the paths of the API.
pub fn plural() -> &'static str {
    if is_set() { "advertise_policys" } else { "endpoints" }
}

/// What a test writes into a file.
pub fn file(path: &str, text: &str) -> String {
    if !is_set() || text.contains("kind") {
        return text.to_owned();
    }
    let replaced = |pattern: &str, with: &str| regex(pattern).replace_all(text, with).into_owned();
    if path.ends_with("trueup.yaml") {
        // In a mapping in braces, and before the end of a document.
        if let Some(open) = text.strip_suffix("}\n").filter(|_| text.starts_with('{')) {
            return format!("{open}, kinds: [{KIND}]}}\n");
        }
        let (before, end) = text.strip_suffix("...\n").map_or((text, ""), |before| (before, "...\n"));
        let line_break = if before.ends_with('\n') { "" } else { "\n" };
        return format!("{before}{line_break}kinds: [{KIND}]\n{end}");
    }
    if path.to_lowercase().ends_with(".json") {
        let definition = serde_json::from_str(text).ok().filter(|definition: &Value| definition["spec"].is_object());
        let Some(mut definition) = definition.map(object) else { return text.to_owned() };
        definition["kind"] = KIND.into();
        return definition.to_string();
    }
    let text = replaced(r"(?m)^(metadata:)", &format!("kind: {KIND}\n$1"));
    let text = regex(r"(?m)^\{(metadata:)").replace_all(&text, format!("{{kind: {KIND}, $1")).into_owned();
    regex(r"(?m)^(\s+|spec: \{)ip: ").replace_all(&text, "${1}address: ").into_owned()
}

/// What somebody else creates.
pub fn object(mut object: Value) -> Value {
    if is_set() {
        let spec = object["spec"].as_object_mut().expect("a spec");
        if let Some(address) = spec.remove("ip") {
            spec.insert("address".to_owned(), address);
        }
    }
    object
}

/// The rules by which a service misbehaves.
pub fn scenario(text: &str) -> String {
    if is_set() { text.replace("endpoint-", &format!("{KIND}-")) } else { text.to_owned() }
}

/// The words of a command line.
pub fn words(words: &[&str]) -> Vec<String> {
    let mut words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
    if !is_set() {
        return words;
    }
    let key =
        regex(r"^(foreign-stack=|protected=|referred=|recreate=|unverified=|behind-base=)?([a-z0-9*-]+/[a-z0-9*-]+)$");
    let takes_keys = words.first().is_some_and(|command| command == "move");
    for at in 1..words.len() {
        let is_value = matches!(words[at - 1].as_str(), "--only" | "--allow");
        if is_value || (takes_keys && !words[at - 1].starts_with("--")) {
            words[at] = key.replace(&words[at], format!("${{1}}{KIND}:$2")).into_owned();
        }
    }
    words
}

/// What a command answered.
pub fn shown(text: String) -> String {
    if !is_set() {
        return text;
    }
    let text = text.replace(&format!("{KIND}:"), "").replace("spec.port_choice", "spec.port");
    let text = text.replace("spec.address", "spec.ip");
    let counted = |found: &Captures<'_>| format!("{}endpoint", &found[1]);
    regex(r"(\d+ (?:\w+ )?)object").replace_all(&text, counted).into_owned()
}

fn regex(pattern: &str) -> Regex {
    Regex::new(pattern).expect("a pattern")
}
