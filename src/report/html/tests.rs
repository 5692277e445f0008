//! What the page holds, read without a browser; `tests/browser` reads it with one.

use super::super::sample_tests::{self, HOSTILE};
use super::*;
use crate::drift::{Check, UnmanagedPolicy};
use crate::plan::Plan;
use crate::report::TextView;
use crate::report::fleet::{Fleet, FleetCommand, FleetPart, NoResult, StackReport};
use crate::report::view::View;

fn page(count: usize, hostile: bool) -> String {
    render(&sample_tests::plan(count, hostile))
}

fn view() -> TextView {
    TextView { call: "endpoints".to_owned(), ..TextView::default() }
}

fn render(plan: &Plan) -> String {
    let (command, now, view) = ("trueup plan endpoints".to_owned(), now(), view());
    let view = TextView { command, now, ..view };
    report(&View::of_plan(plan, &view), &view)
}

fn now() -> Option<jiff::Timestamp> {
    "2026-11-21T16:02:11Z".parse().ok()
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
    let attributed = sample_tests::attributed(sample_tests::plan(70, false));
    let data = data_of(&render(&attributed));
    let ours = usize::try_from(data["ours"].as_u64().expect("a number")).expect("it fits");
    let changes = data["changes"].as_array().expect("a list");
    assert!(0 < ours && ours < changes.len());
    for (at, change) in changes.iter().enumerate() {
        let other = change["r"] == "pending on base" || change["r"] == "drift";
        assert_eq!(other, at >= ours, "{at} {change}");
    }
    assert!(changes[..ours].iter().any(|change| change["r"] == "behind base"));
    // Every change is there, and none is hidden at first.
    assert_eq!(changes.len(), attributed.changes.len() + attributed.blocked.len());
    assert!(SCRIPT.contains("ours: false };"));
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
    for change in &sample_tests::plan(30, false).changes {
        assert!(plain.contains(&change.key.to_string()), "{}", change.key);
    }
    assert!(page.contains("--allow mass-change"));
    assert!(page.contains("it is protected"));
}

#[test]
fn deletes_are_first_with_the_age_of_their_last_change_and_no_ownership_annotation() {
    let text = page(20, false);
    let data = data_of(&text);
    let actions: Vec<&str> =
        data["changes"].as_array().expect("a list").iter().filter_map(|change| change["a"].as_str()).collect();
    let mut order = actions.clone();
    order.dedup();
    assert_eq!(order, ["blocked", "delete", "replace", "create"]);
    assert!(
        data["changes"][1]["t"]
            .as_str()
            .is_some_and(|text| text.contains("last changed 2026-11-19 14:02 UTC (2 d ago)"))
    );
    assert!(text.contains("annotations.team") && !text.contains("trueup/stack"), "{text}");
}

#[test]
fn one_cause_is_one_banner_and_the_command_is_complete() {
    let text = page(20, false);
    assert_eq!(text.matches("class=\"alarm\"").count(), 1);
    let digest = sample_tests::plan(20, false).digest().short().to_owned();
    let command = format!("<code>trueup apply endpoints --digest {digest}</code>");
    assert!(text.contains(&command), "{text}");
}

fn check(plan: &Plan) -> Check {
    Check::new(plan.clone(), plan.verdicts(UnmanagedPolicy::Fail), now().expect("a time"))
}

fn drift_of(plan: &Plan) -> String {
    let check = check(plan);
    report(&View::of_check(&check, "endpoints"), &view())
}

fn fleet_of(one: &Plan, two: &Plan) -> String {
    let part = |directory: &str, outcome| FleetPart {
        directory: directory.to_owned(),
        environment: None,
        apart: None,
        id: String::new(),
        own: TextView { call: directory.to_owned(), ..TextView::default() },
        outcome,
    };
    let (one, two) = (check(one), check(two));
    let parts = vec![
        part("tenants/one", Ok(StackReport::Checked(&one))),
        part("tenants/two", Ok(StackReport::Checked(&two))),
        part("tenants/three", Err(NoResult::Failed("the service answered 401 Unauthorized".to_owned()))),
    ];
    super::fleet::fleet(&Fleet::new(FleetCommand::Drift, parts), &view())
}

#[test]
fn a_check_is_a_page_that_names_the_defined_and_the_live_values() {
    let plan = sample_tests::plan(20, false);
    let text = drift_of(&plan);
    assert!(text.contains("Drift of stack shop-prod") && text.contains("trueup pull --drift endpoints"), "{text}");
    let data = data_of(&text);
    assert_eq!(data["sides"], serde_json::json!(["defined", "live"]));
    let changed: Vec<&Json> =
        data["changes"].as_array().expect("a list").iter().filter(|one| one["a"] == "replace").collect();
    assert!(!changed.is_empty());
    for one in changed {
        let edits = &data["edits"][usize::try_from(one["e"].as_u64().expect("a number")).expect("it fits")];
        let target = edits.as_array().expect("a list").iter().find(|edit| edit["n"] == "spec.ip").expect("the target");
        assert_eq!(target["l"][1], serde_json::json!(["+", "10.9.9.9"]), "{edits}");
        assert!(one["l"].as_array().is_some_and(|lines| lines.contains(&7.into())), "the line of the target: {one}");
    }
}

#[test]
fn a_fleet_is_one_page() {
    let (one, two) = (sample_tests::plan(20, false), sample_tests::plan(10, true));
    let text = fleet_of(&one, &two);
    let data = data_of(&text);
    let names = |directory: &str| {
        let begins = |one: &&Json| one["k"].as_str().is_some_and(|name| name.starts_with(directory));
        data["changes"].as_array().expect("a list").iter().filter(begins).count()
    };
    assert!(names("tenants/one: ") > 0 && names("tenants/two: ") > 0);
    assert!(
        text.contains("<strong>Failed:</strong> <code>tenants/three</code>: ") && text.contains("401 Unauthorized"),
        "{text}"
    );
}

/// `tests/browser/run.sh` opens these; elsewhere nothing is written.
#[test]
fn pages_are_written_for_a_browser_where_one_asks() {
    let Some(directory) = std::env::var_os("TRUEUP_PAGES").map(std::path::PathBuf::from) else { return };
    let write = |name: &str, text: String| {
        std::fs::write(directory.join(format!("{name}.html")), text).expect("a page is written");
    };
    for (name, plan) in [
        ("plan", sample_tests::attributed(sample_tests::plan(60, false))),
        ("one", sample_tests::plan(5, false)),
        ("nothing", sample_tests::plan(5, false)),
        ("fifty", sample_tests::plan(50, false)),
        ("five-thousand", sample_tests::plan(5_000, false)),
        ("hostile", sample_tests::plan(60, true)),
        ("large", sample_tests::plan(10_000, false)),
    ] {
        let mut plan = plan;
        if matches!(name, "one" | "nothing") {
            plan.changes.retain(|change| name == "one" && change.key.name.as_str() == "ep-4");
            plan.blocked.clear();
            plan.guards.clear();
        }
        write(name, render(&plan));
    }
    let (one, two) = (sample_tests::plan(50, false), sample_tests::plan(12, false));
    write("drift", drift_of(&one));
    write("fleet", fleet_of(&one, &two));
}

#[test]
fn a_row_of_a_check_says_once_when_its_object_was_last_changed() {
    let plan = sample_tests::plan(40, false);
    let check = Check::new(plan.clone(), plan.verdicts(UnmanagedPolicy::Note), now().expect("a time"));
    let (command, now, view) = ("trueup drift".to_owned(), now(), view());
    let view = TextView { command, now, ..view };
    let data = data_of(&report(&View::of_check(&check, "endpoints"), &view));
    let known = data["changes"].as_array().expect("a list").iter().filter_map(|row| row["t"].as_str());
    let times: Vec<usize> = known.map(|known| known.matches("last changed").count()).collect();
    assert!(times.contains(&1) && times.iter().all(|times| *times <= 1), "{times:?}");
}
