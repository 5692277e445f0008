//! What the page holds, read without a browser; `tests/browser` reads it with one.

use super::super::sample::{self, HOSTILE};
use super::*;
use crate::model::Json;

fn page(count: usize, hostile: bool) -> String {
    plan(&sample::plan(count, hostile), "trueup plan endpoints", AttributionDetail::ThisChange)
}

fn between<'a>(text: &'a str, from: &str, to: &str) -> &'a str {
    let (_, rest) = text.split_once(from).expect("the beginning is there");
    rest.split_once(to).expect("the end is there").0
}

fn data_of(page: &str) -> Json {
    serde_json::from_str(between(page, "<script type=\"application/json\" id=\"data\">", "</script>")).expect("JSON")
}

#[test]
fn the_data_holds_every_change_and_equal_edits_once() {
    let data = data_of(&page(100, false));
    // One object is blocked.
    assert_eq!(data["changes"].as_array().map(Vec::len), Some(101));
    let edits = data["edits"].as_array().expect("a list");
    let port = edits.iter().filter(|edits| edits[0]["n"] == "spec.port" && edits[0]["l"][0][1] == "8080");
    assert_eq!(port.count(), 1);
}

#[test]
fn a_page_with_a_base_begins_with_what_concerns_this_change() {
    let attributed = sample::attributed(sample::plan(70, false));
    let data = data_of(&plan(&attributed, "trueup plan endpoints", AttributionDetail::ThisChange));
    let ours = usize::try_from(data["ours"].as_u64().expect("a number")).expect("it fits");
    let changes = data["changes"].as_array().expect("a list");
    assert!(0 < ours && ours < changes.len());
    let others = ["pending on base", "drift", "not this change"];
    for (at, change) in changes.iter().enumerate() {
        let other = others.contains(&change["r"].as_str().expect("a reason"));
        assert_eq!(other, at >= ours, "{at} {change}");
    }
    assert!(changes[..ours].iter().any(|change| change["r"] == "behind base"));
    let all = data_of(&plan(&attributed, "trueup plan endpoints", AttributionDetail::All));
    assert!(all.get("ours").is_none());
}

#[test]
fn the_policy_names_the_style_and_the_script_that_stand_there() {
    let page = page(3, true);
    let style = between(&page, "<style>", "</style>");
    let script = page.rsplit_once("<script>").and_then(|(_, rest)| rest.split_once("</script>")).expect("a script").0;
    let policy = between(&page, "Content-Security-Policy\" content=\"", "\">");
    for text in [style, script] {
        assert!(policy.contains(&BASE64.encode(&Sha256::digest(text))), "{policy}");
    }
    assert!(!policy.contains("unsafe"));
}

#[test]
fn hostile_texts_add_no_element() {
    // The tags of a page with hostile texts are those of one without, but for repeated ones.
    let tags = |page: &str| -> std::collections::BTreeSet<String> {
        let body = between(page, "<body>", "<script type=\"application/json\"");
        body.match_indices('<')
            .map(|(at, _)| body[at + 1..].chars().take_while(|c| c.is_ascii_alphanumeric() || *c == '/').collect())
            .collect()
    };
    assert_eq!(tags(&page(80, true)), tags(&page(80, false)));
    let hostile = page(80, true);
    let data = between(&hostile, "id=\"data\">", "</script>");
    assert!(!data.contains(['<', '>', '&']));
    for unsafe_text in ['\u{1b}', '\u{202e}', '\u{200b}', '\0'] {
        assert!(!hostile.contains(unsafe_text));
    }
    assert!(HOSTILE.iter().any(|text| text.contains("</script>")));
}

#[test]
fn the_page_loads_nothing() {
    let page = page(20, false);
    let template = PAGE.replace("{{", "").replace("}}", "") + STYLE + SCRIPT;
    for word in ["src=", "href=\"http", "url(", "@import", "fetch(", "XMLHttpRequest", "innerHTML", "import("] {
        assert!(!template.contains(word), "{word}");
    }
    assert!(!page.contains("{{"));
}

#[test]
fn names_and_alarms_are_there_without_the_script() {
    let page = page(30, false);
    let plain = between(&page, "<noscript>", "</noscript>");
    for change in &sample::plan(30, false).changes {
        assert!(plain.contains(&change.key.to_string()), "{}", change.key);
    }
    assert!(page.contains("--allow mass-change"));
    assert!(page.contains("it is protected"));
}

/// `tests/browser/run.sh` opens these; elsewhere nothing is written.
#[test]
fn pages_are_written_for_a_browser_where_one_asks() {
    let Some(directory) = std::env::var_os("TRUEUP_PAGES").map(std::path::PathBuf::from) else { return };
    let command = "trueup plan endpoints";
    for (name, plan) in [
        ("plan", sample::attributed(sample::plan(60, false))),
        ("hostile", sample::plan(60, true)),
        ("large", sample::plan(10_000, false)),
    ] {
        std::fs::write(
            directory.join(format!("{name}.html")),
            super::plan(&plan, command, AttributionDetail::ThisChange),
        )
        .expect("a page is written");
    }
}
