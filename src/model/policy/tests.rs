//! Tightening is never looser, and changes are named by their direction.

use proptest::prelude::*;

use super::*;
use crate::kind::KindName;
use crate::model::{Field, Namespace};

fn safeguards() -> impl Strategy<Value = Safeguards> {
    let mode = || prop::sample::select(GateMode::ALL.to_vec());
    let rule = (
        prop::sample::select(vec!["shop/*", "*", "pay/card"]),
        prop::sample::select(vec![Field::of_unit("port"), Field::of_unit("target")]),
    )
        .prop_map(|(object, field)| IgnoreRule { object: object.to_owned(), field });
    let gates = (mode(), mode(), mode(), 1..4u32, 1..4u64).prop_map(|(upgrade, ddos, events, minutes, threshold)| {
        Gates { upgrade, ddos, events, events_minutes: minutes, events_threshold: threshold }
    });
    let guards = (0..=100u8, 0..20usize).prop_map(|(percent, least)| Guards { percent, least });
    let prune = prop::sample::select(Prune::ALL.to_vec());
    let kind = prop::sample::select(vec!["route", "cluster"]).prop_map(|name| KindName::find(name).expect("a kind"));
    let strict = prop::collection::btree_set(kind, 0..3);
    let ignore = prop::collection::btree_set(rule, 0..4);
    (prune, guards, gates, ignore, strict, any::<bool>(), any::<bool>()).prop_map(
        |(prune, guards, gates, ignore, strict, ownership_annotations, version_checked)| Safeguards {
            prune,
            guards,
            gates,
            ignore,
            strict,
            ownership_annotations,
            version_checked,
        },
    )
}

fn settings(safeguards: &Safeguards) -> SafetySettings {
    SafetySettings { target: RunTarget::default(), safeguards: safeguards.clone() }
}

/// Whether `a` lets something pass that `b` does not, by the list that reviewers read.
fn is_looser(a: &Safeguards, b: &Safeguards) -> bool {
    changes(Some(&settings(b)), None, &settings(a), a).iter().any(|change| change.direction == Direction::Loosened)
}

fn policy() -> impl Strategy<Value = Policy> {
    (safeguards(), any::<bool>()).prop_map(|(loosest, ignores_any)| Policy {
        loosest,
        ignores_any,
        ..Policy::default()
    })
}

#[test]
fn a_policy_that_names_no_numbers_of_the_events_gate_leaves_them_to_the_settings() {
    let block = Gates { events: GateMode::Block, ..Policy::default().loosest.gates };
    let policy = Policy { loosest: Safeguards { gates: block, ..Policy::default().loosest }, ..Policy::default() };
    for events in GateMode::ALL {
        let gates = Gates { events, events_minutes: 60, events_threshold: 5, ..Gates::default() };
        let in_force = Safeguards { gates, ..Safeguards::default() }.stricter(&policy.loosest).gates;
        assert_eq!((in_force.events, in_force.events_minutes, in_force.events_threshold), (GateMode::Block, 60, 5));
    }
}

proptest! {
    #[test]
    fn the_stricter_of_two_is_idempotent_and_commutative_and_never_looser_than_either(
        a in safeguards(), b in safeguards(), c in safeguards()
    ) {
        let both = a.stricter(&b);
        prop_assert_eq!(&a.stricter(&a), &a);
        prop_assert_eq!(&both, &b.stricter(&a));
        prop_assert!(!is_looser(&both, &a), "{:?}", both);
        prop_assert!(!is_looser(&both, &b), "{:?}", both);
        // A third one can only tighten it.
        prop_assert!(!is_looser(&both.stricter(&c), &both));
    }

    #[test]
    fn what_is_not_in_force_as_written_is_listed(a in safeguards(), b in safeguards()) {
        let both = a.stricter(&b);
        let listed = changes(Some(&settings(&a)), None, &settings(&b), &both);
        let same = !is_looser(&a, &b) && !is_looser(&b, &a);
        prop_assert_eq!(listed.is_empty(), same, "{:?}", listed);
        prop_assert_eq!(listed.iter().any(|change| change.direction == Direction::Loosened), is_looser(&b, &a));
    }

    #[test]
    fn a_policy_can_only_tighten(settings in safeguards(), policy in policy(), base in safeguards()) {
        let tightened = policy.tighten(&settings);
        prop_assert!(!is_looser(&tightened, &settings));
        prop_assert_eq!(&policy.tighten(&tightened), &tightened);
        prop_assert_eq!(&Policy::default().tighten(&settings), &settings);
        let head = self::settings(&settings);
        let listed = changes(None, None, &head, &tightened);
        prop_assert_eq!(listed.is_empty(), !is_looser(&settings, &tightened), "{:?}", listed);
        // A base that has the same settings hides no limit.
        prop_assert_eq!(&changes(Some(&head), None, &head, &tightened), &listed);
        // Only a policy is called one.
        let listed = changes(Some(&self::settings(&base)), None, &head, &settings.stricter(&base));
        prop_assert!(listed.iter().all(|change| !change.to_string().contains("policy")), "{:?}", listed);
    }
}

fn strict() -> Safeguards {
    Safeguards::default()
}

#[test]
fn a_change_of_settings_is_reported_in_the_words_of_a_reviewer() {
    let base = settings(&strict());
    let mut head = base.clone();
    head.safeguards.guards.percent = 100;
    head.safeguards.gates.upgrade = GateMode::Block;
    head.safeguards.ignore.insert(IgnoreRule { object: "shop/*".to_owned(), field: Field::of_unit("port") });
    head.target.stack = Some("other".to_owned());
    head.target.namespaces.insert(Namespace::parse("pay").expect("a name"));
    let in_force = base.safeguards.stricter(&head.safeguards);
    let lines: Vec<String> = changes(Some(&base), None, &head, &in_force).iter().map(ToString::to_string).collect();
    assert_eq!(
        lines,
        [
            "loosened guards.percent: 30 -> 100; in force: 30, the stricter",
            "loosened ignore: not ignored -> spec.port of shop/*; in force: not ignored, the stricter",
            "changed stack: (none) -> other; in force: other",
            "changed namespaces: (not listed) -> pay; in force: pay",
            "tightened gates.upgrade: warn -> block; in force: block, the stricter",
        ]
    );
    head.target.namespaces =
        ["a", "b", "c", "d", "e", "f", "g"].map(|name| Namespace::parse(name).expect("a name")).into();
    let lines: Vec<String> = changes(Some(&head), None, &base, &in_force).iter().map(ToString::to_string).collect();
    assert_eq!(
        lines[2..],
        [
            "changed namespaces: a, b, c, d, e and 2 more -> (not listed); in force: (not listed)",
            "tightened guards.percent: 100 -> 30; in force: 30, the stricter",
            "tightened ignore: spec.port of shop/* -> not ignored; in force: not ignored, the stricter",
        ]
    );
    let mut limited = Policy::default();
    limited.loosest.guards = Guards { percent: 10, least: 5 };
    let lines: Vec<String> =
        changes(None, None, &base, &limited.tighten(&base.safeguards)).iter().map(ToString::to_string).collect();
    assert_eq!(
        lines,
        [
            "limited guards.percent: 30; in force: 10, the policy's limit",
            "limited guards.least: 10; in force: 5, the policy's limit",
        ]
    );
    let mut head = base.clone();
    head.safeguards.guards.percent = 20;
    let tightened = &changes(Some(&base), None, &head, &limited.tighten(&head.safeguards))[1];
    assert_eq!(tightened.to_string(), "tightened guards.percent: 30 -> 20; in force: 10, the policy's limit");
}

#[test]
fn of_a_list_that_both_sides_changed_each_value_is_of_its_side() {
    let of = |namespaces: &[&str], rules: &[&str]| {
        let mut settings = settings(&strict());
        settings.target.namespaces = namespaces.iter().map(|name| Namespace::parse(name).expect("a name")).collect();
        settings.safeguards.ignore = rules
            .iter()
            .map(|object| IgnoreRule { object: (*object).to_owned(), field: Field::of_unit("port") })
            .collect();
        settings
    };
    let merge_base = of(&["a", "gone", "kept"], &["gone", "kept"]);
    let base = of(&["a", "kept", "theirs"], &["kept", "theirs"]);
    let head = of(&["a", "gone", "mine"], &["gone", "mine"]);
    let in_force = head.safeguards.stricter(&base.safeguards);
    let lines: Vec<String> =
        changes(Some(&base), Some([&merge_base, &base]), &head, &in_force).iter().map(ToString::to_string).collect();
    insta::assert_snapshot!(lines.join("\n"), @r"
    loosened ignore: not ignored -> spec.port of mine; in force: not ignored, the stricter
    changed namespaces: (not listed) -> mine; in force: mine
    changed namespaces: kept -> (not listed); in force: (not listed)
    tightened ignore: spec.port of kept -> not ignored; in force: not ignored, the stricter
    behind base ignore: not ignored -> spec.port of gone; in force: not ignored, the stricter
    behind base ignore: spec.port of theirs -> not ignored; in force: not ignored, the stricter
    behind base namespaces: (not listed) -> gone; in force: gone
    behind base namespaces: theirs -> (not listed); in force: (not listed)
    ");
}

#[test]
fn of_a_list_that_the_base_has_no_more_what_the_branch_takes_out_is_its_own_change() {
    let of = |files: &[&str]| {
        let mut settings = settings(&strict());
        settings.target.include = files.iter().map(ToString::to_string).collect();
        settings
    };
    let directions = |[merge_base, base, head]: [&[&str]; 3]| -> Vec<Direction> {
        let [merge_base, base, head] = [of(merge_base), of(base), of(head)];
        let changes = changes(Some(&base), Some([&merge_base, &base]), &head, &head.safeguards);
        changes.into_iter().map(|change| change.direction).collect()
    };
    assert_eq!(directions([&["a", "b"], &[], &["a"]]), [Direction::Changed]);
    assert_eq!(directions([&["a"], &["b"], &[]]), [Direction::Changed]);
    assert_eq!(directions([&["a"], &[], &["a"]]), [Direction::BehindBase]);
}

#[test]
fn a_gate_that_looks_at_fewer_minutes_or_lets_more_events_pass_is_looser() {
    let gate = |events, events_minutes, events_threshold| Gates {
        events,
        events_minutes,
        events_threshold,
        ..Gates::default()
    };
    let before = gate(GateMode::Warn, 15, 100);
    for (mode, minutes, threshold, is_looser) in [
        (GateMode::Warn, 15, 100, false),
        (GateMode::Warn, 14, 100, true),
        (GateMode::Warn, 16, 100, false),
        (GateMode::Warn, 15, 101, true),
        (GateMode::Warn, 15, 99, false),
        (GateMode::Block, 14, 100, true),
        (GateMode::Off, 15, 100, true),
    ] {
        assert_eq!(
            gate(mode, minutes, threshold).events_are_looser_than(&before),
            is_looser,
            "{mode} {minutes} {threshold}"
        );
    }
    assert!(!gate(GateMode::Warn, 1, 1000).events_are_looser_than(&gate(GateMode::Off, 15, 100)));
}

#[test]
fn a_policy_refuses_what_it_does_not_list() {
    let name = |text: &str| crate::model::Name::parse(text).expect("a name");
    let namespace = |text: &str| Namespace::parse(text).expect("a name");
    let policy = Policy {
        stacks: Some([name("acme")].into()),
        namespaces: Some([namespace("shop")].into()),
        allow: Some(["protected".to_owned()].into()),
        ..Policy::default()
    };
    assert!(policy.stack(Some("acme")).is_ok());
    let describe = |result: Result<(), Violation>| result.expect_err("forbidden").to_string();
    assert_eq!(describe(policy.stack(Some("evil"))), "the policy forbids the stack `evil`; it allows `acme`");
    assert_eq!(describe(policy.stack(None)), "the policy forbids a run without a stack; it allows `acme`");
    assert_eq!(
        describe(policy.namespaces([&namespace("shop"), &namespace("pay")])),
        "the policy forbids changes in the namespace `pay`; it allows `shop`"
    );
    assert!(policy.allow([&"protected=shop/a".to_owned()]).is_ok());
    assert_eq!(
        describe(policy.allow([&"mass-change".to_owned()])),
        "the policy forbids `--allow mass-change`; it allows `protected`"
    );
    assert!(Policy::default().allow([&"mass-change".to_owned()]).is_ok());
}
