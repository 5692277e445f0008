//! Budgets, counts, and texts that try to break out, read back by a CommonMark parser.

use pulldown_cmark::{CodeBlockKind, Event, Options as Reading, Parser, Tag, TagEnd};

use super::super::sample_tests::{self, HOSTILE};
use super::*;
use crate::drift::{Check, UnmanagedPolicy};
use crate::model::Name;
use crate::model::policy::{Direction, SettingChange};
use crate::plan::{
    Action, ActionKind, Attribution, Cause, Change, Digest, FieldChange, GuardName, Plan, PlanSource, RecordedConsent,
    ScopeRead,
};
use crate::report::fleet::{Fleet, FleetCommand, FleetPart, StackReport};
use crate::report::line::digits;
use crate::report::view::View;
use crate::report::{Report as _, TextView, html};

const BUDGETS: [usize; 3] = [1_000, 4_000, 65_000];
const SIZES: [usize; 3] = [1, 50, 5_000];

/// What a parser finds in a report.
#[derive(Default)]
struct Found {
    /// Everything in code, spans and fences.
    code: String,
    /// Everything outside of code.
    prose: String,
    /// Raw HTML.
    html: String,
    /// Links, images and whatever else should not be there.
    odd: Vec<String>,
    /// Cells of the widest and of the narrowest table row.
    cells: Vec<usize>,
    fences: usize,
}

fn read(text: &str) -> Found {
    let mut found = Found::default();
    let mut in_code = false;
    let mut cells = 0;
    for event in Parser::new_ext(text, Reading::ENABLE_TABLES | Reading::ENABLE_STRIKETHROUGH | Reading::ENABLE_GFM) {
        match event {
            Event::Start(Tag::CodeBlock(kind)) => {
                in_code = true;
                found.fences += 1;
                if !matches!(&kind, CodeBlockKind::Fenced(word) if matches!(&**word, "diff" | "text")) {
                    found.odd.push(format!("{kind:?}"));
                }
            }
            Event::End(TagEnd::CodeBlock) => in_code = false,
            Event::Start(Tag::TableRow | Tag::TableHead) => cells = 0,
            Event::Start(Tag::TableCell) => cells += 1,
            Event::End(TagEnd::TableRow | TagEnd::TableHead) => found.cells.push(cells),
            Event::Start(Tag::Link { .. } | Tag::Image { .. } | Tag::BlockQuote(_) | Tag::Strikethrough) => {
                found.odd.push(format!("{event:?}"));
            }
            Event::Text(text) if in_code => found.code.push_str(&text),
            Event::Text(text) => found.prose.push_str(&text),
            Event::Code(text) => {
                found.code.push_str(&text);
                found.code.push('\n');
            }
            Event::Html(text) | Event::InlineHtml(text) => found.html.push_str(&text),
            _ => {}
        }
    }
    found
}

/// The HTML of a report without the elements that it writes itself.
fn foreign_html(html: &str) -> String {
    let mut rest = html.to_owned();
    for own in ["<details>", "<details open>", "</details>", "<summary>", "</summary>", "<code>", "</code>"] {
        rest = rest.replace(own, "");
    }
    let marker = rest.lines().filter(|line| !line.starts_with("<!-- trueup:"));
    marker.collect::<Vec<_>>().join("\n")
}

fn counted(changes: usize) -> String {
    format!("{} change{}", digits(changes), if changes == 1 { "" } else { "s" })
}

fn options(budget: usize) -> TextView {
    let command = "trueup plan endpoints --format html".to_owned();
    TextView { budget: Some(budget), command, ..TextView::default() }
}

fn view() -> TextView {
    TextView { call: "endpoints".to_owned(), ..TextView::default() }
}

fn of_plan(plan: &Plan, options: &TextView) -> String {
    report::report(&View::of_plan(plan, &view()), options)
}

fn of_check(check: &Check, options: &TextView) -> String {
    report::report(&View::of_check(check, "endpoints"), options)
}

/// Whether the notes of a sample are there, or the report says that they are not.
fn has_notes_or_says_so(text: &str) -> bool {
    ["1 note</summary>", "2 notes</summary>", "Not all notes are shown."].iter().any(|words| text.contains(words))
}

fn check(plan: &Plan, budget: usize) {
    let text = of_plan(plan, &options(budget));
    let found = read(&text);
    let context = format!("budget {budget}, {} changes:\n{:.3000}", plan.changes.len(), text);
    assert!(found.odd.is_empty(), "{:?} in {context}", found.odd);
    assert_eq!(found.html.matches("<details").count(), found.html.matches("</details>").count(), "{context}");
    // Counts by namespace, and creates.
    assert!(found.cells.iter().all(|cells| matches!(cells, 3 | 6)), "{:?} in {context}", found.cells);
    assert!(!foreign_html(&found.html).contains('<'), "{:?} in {context}", foreign_html(&found.html));
    for word in ["@octocat", "evil", "javascript", "GH-7", "#12", "$"] {
        assert!(!found.prose.contains(word), "`{word}` in the prose of {context}");
    }
    for unsafe_text in ['\u{1b}', '\u{202e}', '\u{200b}', '\0'] {
        assert!(!text.contains(unsafe_text), "{context}");
    }
    // Every delete by name, in the order of the plan or by namespace.
    let deletes: Vec<&str> = plan
        .changes
        .iter()
        .filter(|change| change.action.kind() == ActionKind::Delete)
        .map(|change| change.key.name.as_str())
        .collect();
    for name in &deletes {
        let line = super::super::safe::line(name);
        let quoted = format!("{name:?}");
        let quoted = super::super::safe::line(&quoted);
        assert!(
            found.code.contains(&*line) || found.code.contains(&*quoted),
            "the delete of {name:?} is missing in {context}"
        );
    }
    if !deletes.is_empty() {
        let all = format!("{0} of {0} change", digits(plan.changes.len()));
        assert!(found.prose.contains("every delete among them") || found.prose.contains(&all), "{context}");
    }
    assert!(has_notes_or_says_so(&text), "{context}");
    let total = digits(plan.changes.len());
    assert!(found.prose.contains(&format!("of {total} change")), "{context}");
    assert!(text.len() <= budget || text.contains("never left out"), "{} bytes: {context}", text.len());
}

#[test]
fn a_report_is_whole_at_any_budget_whatever_the_texts() {
    for size in SIZES {
        for hostile in [false, true] {
            let plan = sample_tests::plan(size, hostile);
            BUDGETS.into_iter().for_each(|budget| check(&plan, budget));
        }
    }
}

#[test]
fn a_report_is_whole_at_every_small_budget() {
    let plan = sample_tests::plan(20, true);
    for budget in (0..6_000).step_by(173) {
        check(&plan, budget);
    }
}

#[test]
fn the_number_shown_is_the_number_of_names() {
    for size in [1, 10, 50, 300] {
        let plan = sample_tests::plan(size, false);
        for budget in [2_000, 4_000, 9_000, 65_000] {
            let text = of_plan(&plan, &options(budget));
            let found = read(&text);
            // Names end in a line break, a code end or an odd sign; `ep-1` is a part of `ep-11`.
            let words: std::collections::BTreeSet<&str> = text
                .split(|c: char| !(c.is_ascii_alphanumeric() || c == '-'))
                .filter(|w| w.starts_with("ep-"))
                .collect();
            assert!(
                found.prose.contains(&format!("{} of {}", digits(words.len()), counted(size))),
                "{} named at {budget}:\n{text}",
                words.len()
            );
        }
    }
}

#[test]
fn a_budget_that_holds_everything_shows_everything() {
    let plan = sample_tests::plan(50, false);
    let text = of_plan(&plan, &options(BUDGET));
    assert!(text.contains("50 of 50 changes shown. Digest"), "{text}");
    assert!(text.len() < BUDGET);
    for change in &plan.changes {
        assert!(text.contains(&change.key.to_string()), "{}", change.key);
    }
}

#[test]
fn equal_edits_are_one_hunk_with_the_names() {
    let text = of_plan(&sample_tests::plan(50, false), &options(BUDGET));
    assert_eq!(text.matches("- 8080\n+ 8443\n").count(), 1);
    assert!(
        text.contains("~ replace 15 endpoints with the same edit: <code>spec.port 8080 → 8443</code> (pending)"),
        "{text}"
    );
}

#[test]
fn everything_that_an_apply_does_is_shown_where_a_base_is_known() {
    let text = of_plan(&sample_tests::attributed(sample_tests::plan(50, false)), &options(BUDGET));
    let at = |part: &str| text.find(part).unwrap_or_else(|| panic!("{part} in {text}"));
    assert!(
        at("#### This change") < at("#### Behind base") && at("#### Behind base") < at("#### Not part of this change")
    );
    assert!(text.contains("@@ spec.port  pending on base"), "{text}");
    assert!(text.contains("50 of 50 changes shown"), "{text}");
}

#[test]
fn what_can_hurt_most_is_shown_first_and_creates_become_a_table_under_a_budget() {
    let mut plan = sample_tests::plan(600, false);
    let mut kept = 0;
    plan.changes.retain(|change| {
        kept += usize::from(change.fields().len() > 1);
        change.fields().len() <= 1 || kept < 5
    });
    for (at, change) in plan.changes.iter_mut().enumerate() {
        if let Action::Replace { fields, .. } = &mut change.action
            && at.is_multiple_of(40)
            && fields.len() == 1
        {
            fields[0].cause = crate::plan::Cause::Both;
        }
    }
    let text = of_plan(&plan, &options(20_000));
    let at = |part: &str| text.find(part).unwrap_or_else(|| panic!("{part} in {text}"));
    let order = [
        " blocked: ",
        "#### 60 deletes",
        "  drift and pending",
        "  drift  ",
        "(pending)",
        "#### 120 creates\n\n| create |",
    ];
    assert!(order.map(at).is_sorted(), "{:?} in {text}", order.map(at));
    assert!(text.contains("with the same edit"), "{text}");
}

#[test]
fn the_names_of_one_edit_leave_room_for_other_changes() {
    let mut plan = sample_tests::plan(600, false);
    let is_replace = |change: &Change| matches!(change.action, Action::Replace { .. });
    let one = plan.changes.iter().find(|change| is_replace(change)).expect("a replace").clone();
    let other = |name: String, edit: &dyn Fn(&mut FieldChange)| {
        let mut change = one.clone();
        change.key.name = Name::parse(&name).expect("a name");
        if let Action::Replace { fields, .. } = &mut change.action {
            fields.iter_mut().for_each(edit);
        }
        change
    };
    plan.changes.retain(|change| change.action.kind() == ActionKind::Create);
    let same = (0..900).map(|at| other(format!("same-{at}"), &|_| ()));
    let apart = (0..10).map(|at| other(format!("apart-{at}"), &|field| field.after = format!("value {at}").into()));
    plan.changes.extend(same.chain(apart).collect::<Vec<_>>());
    let text = of_plan(&plan, &options(20_000));
    assert!(text.contains("same-0") && !text.contains("same-899"), "{text}");
    assert!((0..10).all(|at| text.contains(&format!("apart-{at}"))), "{text}");
    assert!(text.contains("#### 120 creates\n\n| create |"), "{text}");
}

#[test]
fn a_change_whose_values_are_too_long_is_named() {
    let mut plan = sample_tests::plan(10, false);
    plan.changes.retain(|change| matches!(change.key.name.as_str(), "ep-4" | "ep-7" | "ep-8"));
    for change in &mut plan.changes[1..] {
        let Action::Replace { fields, .. } = &mut change.action else { continue };
        fields[0].after = "long ".repeat(BUDGET).into();
    }
    let text = of_plan(&plan, &options(BUDGET));
    assert!(text.contains("3 of 3 changes shown") && text.len() <= BUDGET, "{text}");
    for change in &plan.changes[1..] {
        let heading = format!("~ replace <code>{}</code>: <code>description</code>", change.key);
        assert!(text.contains(&heading), "{text}");
    }
    assert_eq!(text.matches("The values are too long for this report.").count(), 2, "{text}");
}

#[test]
fn of_a_change_with_too_many_values_the_first_are_shown_and_the_others_counted() {
    let mut plan = sample_tests::plan(10, false);
    plan.changes.retain(|change| matches!(change.key.name.as_str(), "ep-4" | "ep-7" | "ep-8"));
    let Action::Replace { fields, .. } = &mut plan.changes[1].action else { panic!("a replace") };
    *fields = vec![fields[0].clone(); 5_000];
    for only in [false, true] {
        plan.changes.retain(|change| !only || change.fields().len() == 5_000);
        let text = of_plan(&plan, &options(BUDGET));
        let shown = text.matches("endpoints/pay/ep-7.yaml:4 @@").count();
        let more = format!("and {} more values", crate::report::line::digits(5_000 - shown));
        assert!(
            shown > 50 && text.contains(&more) && text.len() <= BUDGET,
            "{shown} shown: {}",
            &text[text.len().saturating_sub(3_000)..]
        );
        assert_eq!(only, text.len() > BUDGET - 1_000, "{} bytes", text.len());
    }
}

#[test]
fn what_an_apply_overwrites_is_shown_before_what_only_follows_from_this_change() {
    let mut plan = sample_tests::attributed(sample_tests::plan(100, false));
    plan.changes.retain(|change| change.fields().len() > 1);
    let last = plan.changes.len() - 1;
    for (at, change) in plan.changes.iter_mut().enumerate() {
        let Action::Replace { fields, .. } = &mut change.action else { continue };
        for field in fields {
            (field.attribution, field.cause) = match at == last {
                true => (Some(Attribution::Drift), Cause::Drift),
                false => (Some(Attribution::ThisChange), Cause::Pending),
            };
        }
    }
    let text = of_plan(&plan, &options(4_000));
    let own = text.find("#### This change").expect("it is shown");
    let outside = text.find("#### Not part of this change").expect("it is shown");
    let key = plan.changes[last].key.to_string();
    assert!(own < outside && text[outside..].contains(&key), "{text}");
}

fn fleet_of<'p>(plans: &[(&str, &'p Plan)]) -> Fleet<'p> {
    let part = |(directory, plan): &(&str, &'p Plan)| FleetPart {
        directory: (*directory).to_owned(),
        environment: None,
        apart: None,
        id: String::new(),
        own: TextView { call: (*directory).to_owned(), ..TextView::default() },
        outcome: Ok(StackReport::Planned(plan)),
    };
    let mut fleet = Fleet::new(FleetCommand::Plan, plans.iter().map(part).collect());
    fleet.plans = Some((plans[0].1.digest(), "-R .".to_owned()));
    fleet
}

fn in_sync() -> Plan {
    Plan {
        changes: Vec::new(),
        blocked: Vec::new(),
        guards: Vec::new(),
        notes: Vec::new(),
        ..sample_tests::plan(0, false)
    }
}

#[test]
fn loosened_settings_and_notes_of_a_stack_in_sync_are_shown_among_several() {
    let change = SettingChange {
        setting: "guards.percent".to_owned(),
        direction: Direction::Loosened,
        base: Some("5".to_owned()),
        head: "100".to_owned(),
        in_force: "5".to_owned(),
        limited: false,
    };
    let loosened = Plan { setting_changes: vec![change], ..in_sync() };
    let noted = Plan { notes: sample_tests::plan(0, false).notes, ..in_sync() };
    let (changed, quiet) = (sample_tests::plan(300, false), in_sync());
    let plans = [("noted", &noted), ("changed", &changed), ("loosened", &loosened), ("quiet", &quiet)];
    let text = fleet::fleet(&fleet_of(&plans), &options(BUDGET));
    assert!(text.contains("### `loosened`: in sync"), "{text}");
    assert!(text.contains("| **loosened** | `guards.percent` | `5 -> 100` |"), "{text}");
    assert!(!text.contains("### `quiet`"), "{text}");
    // Mere notes give way to what an apply does.
    assert!(text.find("### `changed`") < text.find("### `noted`: in sync") && text.len() <= BUDGET, "{text}");
    let text = fleet::fleet(&fleet_of(&plans), &options(1_500));
    assert!(text.contains("### `loosened`") && !text.contains("### `noted`"), "{text}");
}

#[test]
fn a_stack_that_only_takes_objects_from_another_one_is_shown_at_any_budget() {
    let mut takes = sample_tests::plan(50, false);
    takes.changes.retain(|change| matches!(change.action, Action::Replace { .. }));
    for change in &mut takes.changes {
        let before = change.action.before().expect("a replace").clone();
        change.action = Action::Annotate { before };
    }
    let allowed = vec![RecordedConsent { name: "foreign-stack=*".to_owned(), by: None, at_apply: false }];
    let takes = Plan { allowed, blocked: Vec::new(), guards: Vec::new(), ..takes };
    let large = Plan { blocked: Vec::new(), guards: Vec::new(), ..sample_tests::plan(300, false) };
    for budget in [1_000, 1_500, 4_000, BUDGET] {
        let text = fleet::fleet(&fleet_of(&[("large", &large), ("takes", &takes)]), &options(budget));
        assert!(text.contains("2 stacks: 2 with changes"), "{text}");
        assert!(text.contains("**Allowed:** `foreign-stack=*`"), "{budget}: {text}");
    }
}

#[test]
fn stacks_that_have_to_show_nothing_are_counted_where_there_is_no_room_for_a_row_of_each() {
    let made = Plan { blocked: Vec::new(), guards: Vec::new(), notes: Vec::new(), ..sample_tests::plan(20, false) };
    let of = |is_kept: fn(ActionKind) -> bool| {
        let mut plan = made.clone();
        plan.changes.retain(|change| is_kept(change.action.kind()));
        plan
    };
    let (creates, deletes) = (of(|kind| kind == ActionKind::Create), of(|kind| kind == ActionKind::Delete));
    let names: Vec<String> = (0..400).map(|number| format!("tenants/t{number}")).collect();
    for budget in [8_000, 20_000] {
        let mut plans: Vec<(&str, &Plan)> = names.iter().map(|name| (name.as_str(), &creates)).collect();
        plans[399].1 = &deletes;
        let text = fleet::fleet(&fleet_of(&plans), &options(budget));
        assert!(text.len() <= budget, "{} bytes for {budget}", text.len());
        assert!(text.contains(" more | with changes |") && text.contains("of 400 stacks shortened"), "{text}");
        assert!(text.contains("| `tenants/t399` | ") && !text.contains("This is longer than"), "{text}");
        let plans: Vec<(&str, &Plan)> = names.iter().map(|name| (name.as_str(), &deletes)).collect();
        let text = fleet::fleet(&fleet_of(&plans), &options(budget));
        assert!(names.iter().all(|name| text.contains(&format!("| `{name}` | "))), "{text}");
        assert!(text.len() > budget && text.contains("This is longer than"), "{text}");
    }
}

#[test]
fn the_plans_of_many_stacks_fit_one_comment_with_every_delete_and_say_what_they_leave_out() {
    let plan = Plan { blocked: Vec::new(), guards: Vec::new(), ..sample_tests::plan(20, false) };
    let deletes = plan.changes.iter().filter(|change| matches!(change.action, Action::Delete { .. })).count();
    assert!(deletes > 0);
    let names: Vec<String> = (0..150).map(|number| format!("tenants/t{number}")).collect();
    let plans: Vec<(&str, &Plan)> = names.iter().map(|name| (name.as_str(), &plan)).collect();
    let text = fleet::fleet(&fleet_of(&plans), &options(BUDGET));
    assert!(text.len() <= BUDGET, "{}", text.len());
    let sections: Vec<&str> = text.split("\n### `").skip(1).collect();
    assert_eq!(sections.len(), plans.len());
    assert!(sections.iter().all(|section| section.contains("#### ") && section.contains(" delete")), "{text}");
    let end =
        " of 150 stacks shortened or left out for 65,000 bytes. Everything: `trueup plan endpoints --format html`";
    assert!(text.contains(end), "{text}");
    // Where there is room for all, nothing is left out.
    let text = fleet::fleet(&fleet_of(&plans[..3]), &options(BUDGET));
    assert!(!text.contains("left out for"), "{text}");
}

#[test]
fn no_digest_is_proposed_where_nothing_changes_or_a_list_could_not_be_read() {
    let (guarded, quiet, mut unread) = (sample_tests::plan(3, false), in_sync(), in_sync());
    let changed = Plan { guards: Vec::new(), ..guarded.clone() };
    let mut behind = guarded.clone();
    behind.guards[0].name = GuardName::BehindBase;
    for scope in unread.scope.values_mut() {
        scope.read = ScopeRead::Unknown { reason: "403".to_owned() };
    }
    let noted = Plan { notes: sample_tests::plan(0, false).notes, ..in_sync() };
    let has = |words: &str, plans: &[(&str, &Plan)]| {
        let fleet = fleet_of(plans);
        let (markdown, text) = (super::fleet::fleet(&fleet, &options(BUDGET)), fleet.text(&view()));
        let [markdown, text] = [markdown, text].map(|text| text.contains(words));
        assert_eq!(markdown, text);
        text
    };
    let is_proposed = |plans: &[(&str, &Plan)]| has("Apply exactly these: ", plans);
    assert!(is_proposed(&[("changed", &changed), ("quiet", &quiet)]));
    assert!(!is_proposed(&[("changed", &changed), ("unread", &unread)]));
    assert!(!is_proposed(&[("noted", &noted), ("quiet", &quiet)]));
    // What a guard refuses is not allowed by the digest.
    assert!(has("Apply exactly these, once it is allowed: ", &[("changed", &changed), ("guarded", &guarded)]));
    assert!(!has("Apply exactly these", &[("changed", &changed), ("behind", &behind)]));
}

#[test]
fn of_several_stacks_against_a_base_it_is_said_whose_the_changes_are_and_this_change_is_applied_alone() {
    let based =
        Plan { guards: Vec::new(), blocked: Vec::new(), ..sample_tests::attributed(sample_tests::plan(6, false)) };
    let mut merged = based.clone();
    merged.changes.retain(|change| change.whose() != Some(Attribution::BehindBase));
    for change in &mut merged.changes {
        let Action::Replace { fields, .. } = &mut change.action else { continue };
        fields.iter_mut().for_each(|field| field.attribution = Some(Attribution::Drift));
    }
    let fleet = fleet_of(&[("one", &merged), ("two", &merged)]);
    let alone: Vec<Plan> = fleet.plans().map(|plan| plan.only_this_change(&plan.consents())).collect();
    let digest = Digest::of_all(&alone).0;
    let apply = format!("trueup apply -R . --only-this-change --digest {digest}");
    for text in [super::fleet::fleet(&fleet, &options(BUDGET)), fleet.text(&view()), html::fleet(&fleet, &view())] {
        assert!(text.contains("of this change") && text.contains("revert what was changed outside"), "{text}");
        let at = |words: &str| text.rfind(words).expect("it is there");
        assert!(at(&apply) < at("Apply the whole plan") && !text.contains("Apply exactly"), "{text}");
    }
    // Where all is of this change, there is one command.
    let plain = Plan { source: PlanSource::default(), ..merged.clone() };
    let text = fleet_of(&[("one", &plain)]).text(&view());
    assert!(text.contains("Apply exactly these:") && !text.contains("--only-this-change"), "{text}");
}

#[test]
fn of_several_stacks_in_sync_it_is_said_that_they_are_filtered_and_made_from_snapshots() {
    let source = PlanSource {
        filters: vec!["--only".to_owned(), "*/e".to_owned()],
        snapshot: Some("2026-11-29T12:22:00Z".to_owned()),
        ..in_sync().source
    };
    let plan = Plan { source, left_out: 1, ..in_sync() };
    let names: Vec<String> = (0..12).map(|number| format!("t{number}")).collect();
    for stacks in [2, 12] {
        let plans: Vec<(&str, &Plan)> = names[..stacks].iter().map(|name| (name.as_str(), &plan)).collect();
        let fleet = fleet_of(&plans);
        let [markdown, html] = [super::fleet::fleet(&fleet, &options(BUDGET)), html::fleet(&fleet, &view())];
        for text in [&markdown, &html, &fleet.text(&view())] {
            let facts = ["iltered by ", "snapshot of 2026-11-29 12:22 UTC", " outside the filter"];
            assert!(facts.iter().all(|fact| text.contains(fact)), "{text}");
        }
        let left_out = format!("{stacks} changes outside the filter");
        assert!(markdown.contains(&left_out) && html.contains(&left_out), "{markdown}\n{html}");
    }
}

#[test]
fn the_marker_ends_where_it_should() {
    assert_eq!(marker("plan", Some("shop-prod")), "<!-- trueup:plan stack=shop-prod -->\n");
    let odd = marker("plan", Some("a --> <b>"));
    assert_eq!(odd.matches("--").count(), 2, "{odd}");
    assert!(!odd.trim_end().trim_end_matches("-->").contains('>'), "{odd}");
}

#[test]
fn a_drift_report_is_whole_at_any_budget_whatever_the_texts() {
    for budget in BUDGETS {
        for hostile in [false, true] {
            let plan = sample_tests::plan(50, hostile);
            let now = "2026-11-21T10:00:00Z".parse().expect("a time");
            let text = of_check(&Check::new(plan.clone(), plan.verdicts(UnmanagedPolicy::Fail), now), &options(budget));
            let found = read(&text);
            assert!(found.odd.is_empty(), "{:?} in {text}", found.odd);
            assert!(found.cells.iter().all(|cells| *cells == 6), "{:?} in {text}", found.cells);
            assert!(!foreign_html(&found.html).contains('<'), "{text}");
            assert!(!found.prose.contains("evil"), "{text}");
            assert!(text.len() <= budget || hostile, "{} bytes at {budget}", text.len());
            assert!(has_notes_or_says_so(&text), "{text}");
            assert!(found.cells.len() > 1 || hostile, "{text}");
        }
    }
}

#[test]
fn a_plan_without_changes_is_short() {
    let mut plan = sample_tests::plan(0, false);
    plan.blocked.clear();
    plan.guards.clear();
    plan.notes.clear();
    let text = of_plan(&plan, &options(1_000));
    assert!(text.contains("### trueup plan: in sync"), "{text}");
    assert!(!plan.changes.iter().any(|change| matches!(change.action, Action::Create { .. })));
    assert!(HOSTILE.len() > 1);
}

#[test]
fn a_single_change_is_open_and_rows_of_zeros_are_left_out() {
    let mut plan = sample_tests::plan(6, false);
    plan.changes.retain(|change| change.action.kind() == ActionKind::Replace && change.key.namespace.as_str() == "pay");
    plan.blocked.clear();
    plan.guards.clear();
    let text = of_plan(&plan, &options(BUDGET));
    assert_eq!(plan.changes.len(), 1);
    assert!(
        text.contains("<details open><summary>~ replace <code>pay/ep-4</code>: <code>spec.port 8080 → 8443</code>"),
        "{text}"
    );
    assert!(text.contains("| `pay` | 0 | 1 | 0 | 0 | 9 |\n") && !text.contains("| `shop` |"), "{text}");
    let command = format!("Apply exactly this: `trueup apply endpoints --digest {}`\n", plan.digest().short());
    assert!(text.ends_with(&command), "{text}");
}

#[test]
fn a_delete_names_its_time_with_its_age_and_no_ownership_annotation() {
    let plan = sample_tests::plan(2, false);
    let now = "2026-11-21T16:02:11Z".parse().ok();
    let text = of_plan(&plan, &TextView { now, ..options(BUDGET) });
    assert!(text.contains("last changed 2026-11-19 14:02 UTC (2 d ago)"), "{text}");
    assert!(!text.contains("trueup/stack"), "{text}");
}

/// `tests/browser/run.sh` opens these, as a forge would render them; elsewhere nothing is written.
#[test]
fn markdown_pages_are_written_for_a_browser_where_one_asks() {
    let Some(directory) = std::env::var_os("TRUEUP_PAGES").map(std::path::PathBuf::from) else { return };
    let now = "2026-11-21T16:02:11Z".parse().ok();
    let options = TextView { now, ..options(BUDGET) };
    let write = |name: &str, text: &str| {
        let reading = Reading::ENABLE_TABLES | Reading::ENABLE_GFM;
        let mut body = String::new();
        pulldown_cmark::html::push_html(&mut body, Parser::new_ext(text, reading));
        let style = "body { font: 15px/1.5 sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; color-scheme: \
                     light dark; } pre { overflow: auto; } table { border-collapse: collapse; } td, th { border: 1px \
                     solid gray; padding: 0.2rem 0.6rem; } code { overflow-wrap: anywhere; }";
        let head = format!(
            "<!doctype html><meta charset=\"utf-8\"><meta name=\"viewport\" content=\"width=device-width\"><style>{style}</style>"
        );
        std::fs::write(directory.join(format!("{name}.html")), head + &body).expect("a page is written");
    };
    for (name, size) in [("markdown-one", 1), ("markdown-fifty", 50), ("markdown-five-thousand", 5_000)] {
        let mut plan = sample_tests::plan(size, false);
        if size == 1 {
            plan.blocked.clear();
            plan.guards.clear();
        }
        write(name, &of_plan(&plan, &options));
    }
    let plan = sample_tests::plan(50, false);
    let check = Check::new(plan.clone(), plan.verdicts(UnmanagedPolicy::Fail), now.expect("a time"));
    write("markdown-drift", &of_check(&check, &options));
}
