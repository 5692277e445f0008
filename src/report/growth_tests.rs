//! What the reports of a check and its acknowledgements cost grows with the number of changes, not with
//! its square.

use std::io;

use jiff::Timestamp;

use super::{Format, Report as _, TextView, annotation, document, github, junit, prometheus, sample_tests, sarif};
use crate::drift::{Acknowledgements, Check, UnmanagedPolicy};
use crate::plan::Plan;
use crate::tests::comparisons::{assert_no_search_through_all, count};

/// A plan in which every change drifted or is pending, and as much is blocked.
fn plan(changes: usize) -> Plan {
    let mut plan = sample_tests::plan(changes, false);
    plan.blocked.extend(sample_tests::plan(changes, false).changes.into_iter().map(|mut change| {
        change.key.namespace = crate::model::Namespace::parse("held").expect("a name");
        crate::plan::BlockedChange::new(change.key.clone(), crate::plan::BlockReason::Protected, Some(change))
    }));
    plan
}

fn check(plan: &Plan) -> Check {
    Check::new(plan.clone(), plan.verdicts(UnmanagedPolicy::Fail), Timestamp::UNIX_EPOCH)
}

/// A report that nothing is left out of.
fn whole(report: &dyn super::Report, format: Format) -> String {
    super::render(report, format, &TextView { budget: Some(usize::MAX / 2), ..TextView::default() })
}

#[test]
fn no_report_of_a_check_searches_all_changes_for_each() {
    type Report = fn(&Check) -> String;
    let reports: [(&str, Report); 7] = [
        ("text", |check| check.text(&TextView::default())),
        ("json", |check| document::text(|out| check.write(out))),
        ("markdown", |check| whole(check, Format::Markdown)),
        ("junit", junit::report),
        ("prometheus", prometheus::report),
        ("github", |check| github::annotations(&annotation::of_check(check))),
        ("sarif", |check| sarif::report(&annotation::of_check(check), "trueup.yaml")),
    ];
    for (name, report) in reports {
        assert_no_search_through_all(name, |changes| {
            let plan = plan(changes);
            let check = check(&plan);
            count(|| assert!(!report(&check).is_empty()))
        });
    }
}

#[test]
fn neither_verdicts_nor_acknowledgements_search_all_changes_for_each() {
    assert_no_search_through_all("verdicts", |changes| {
        let plan = plan(changes);
        count(|| assert!(!plan.verdicts(UnmanagedPolicy::Fail).objects.is_empty()))
    });
    assert_no_search_through_all("acknowledgements", |changes| {
        let plan = plan(changes);
        let verdicts = plan.verdicts(UnmanagedPolicy::Fail);
        count(|| {
            let expires = "2027-01-01".parse().expect("a day");
            let accepted = Acknowledgements::offered(&plan, &verdicts, &[], ("known", expires));
            let check = check(&plan).accepting(&accepted);
            assert!(!check.acknowledged.is_empty());
            let again = Acknowledgements::offered(&plan, &verdicts, &check.kept, ("new", expires));
            assert_eq!(again.acknowledged.len(), accepted.acknowledged.len());
        })
    });
}

#[test]
fn no_report_of_a_plan_searches_all_changes_for_each() {
    type Report = fn(&Plan) -> String;
    let reports: [(&str, Report); 5] = [
        ("text", |plan| plan.text(&TextView::default())),
        ("json", |plan| document::text(|out| super::Report::write(plan, out))),
        ("markdown", |plan| whole(plan, Format::Markdown)),
        ("html", |plan| whole(plan, Format::Html)),
        ("digest", |plan| plan.digest().to_string()),
    ];
    for (name, report) in reports {
        assert_no_search_through_all(name, |changes| {
            let plan = plan(changes);
            count(|| assert!(!report(&plan).is_empty()))
        });
    }
}

#[test]
fn the_text_of_a_plan_is_written_piece_by_piece() {
    struct Pieces(Vec<Vec<u8>>);
    impl io::Write for Pieces {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.push(bytes.to_vec());
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    let (plan, view) = (plan(2_000), TextView::default());
    let mut pieces = Pieces(Vec::new());
    super::write(&plan, Format::Text, &view, &mut pieces).expect("a vector takes everything");
    let whole = super::render(&plan, Format::Text, &view).into_bytes();
    assert!(pieces.0.iter().all(|piece| piece.len() * 2 < whole.len()), "of {} bytes", whole.len());
    assert!(pieces.0.concat() == whole);
}
