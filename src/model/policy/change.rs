//! How two configurations differ in what a run may do, in the words of a reviewer. Each change knows
//! whether it loosens or tightens.

use std::collections::BTreeSet;
use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{RunTarget, Safeguards, SafetySettings};
use crate::kind::KindName;
use crate::model::{displayed, words};

/// Values of a list that are written out.
const SHOWN: usize = 5;

/// Characters of a value that are written out.
const LONGEST: usize = 120;

/// A value that is short enough for every report.
fn short(text: &str) -> String {
    match text.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

/// Which way a setting moved.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Direction {
    /// It lets more pass than at the base; the base's value stays in force.
    Loosened,
    /// It is another one, and neither is the stricter; the new value is in force.
    Changed,
    /// The policy allows less than the configuration sets.
    Limited,
    /// It lets less pass than at the base.
    Tightened,
    /// It is as it was at the merge base: the base has another one since.
    BehindBase,
}

words!(Direction {
    Loosened = "loosened",
    Changed = "changed",
    Limited = "limited",
    Tightened = "tightened",
    BehindBase = "behind base",
});

/// A setting that is not what it was at the base, or that the policy limits.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SettingChange {
    /// The setting as `trueup.yaml` writes it, such as `guards.percent`.
    pub setting: String,
    /// Which way it moved.
    pub direction: Direction,
    /// Its value at the base, in words; nothing where there is no base.
    #[serde(default)]
    pub base: Option<String>,
    /// Its value in the working tree, in words.
    pub head: String,
    /// The value that this plan and its apply obey.
    pub in_force: String,
    /// The policy allows less than the stricter of base and working tree.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub limited: bool,
}

impl SettingChange {
    /// The value before and after, as one text.
    pub fn values(&self) -> String {
        match &self.base {
            Some(base) => format!("{base} -> {}", self.head),
            None => self.head.clone(),
        }
    }

    /// The value that is in force and why.
    pub fn force(&self) -> String {
        let has_order = self.setting == "ignore" || ORDERED.iter().any(|(name, ..)| *name == self.setting);
        let why = match &self.base {
            Some(_) if self.limited => ", the policy's limit",
            Some(_) if has_order => ", the stricter",
            Some(_) => "",
            None => ", the policy's limit",
        };
        format!("in force: {}{why}", self.in_force)
    }
}

displayed!(SettingChange, |of| "{} {}: {}; {}", of.direction, of.setting, of.values(), of.force());

/// The name of a setting with an order, its value in words, and whether the first of two is the looser.
type Ordered = (&'static str, fn(&Safeguards) -> String, fn(&Safeguards, &Safeguards) -> bool);

const ORDERED: [Ordered; 9] = [
    ("prune", |of| of.prune.to_string(), |a, b| a.prune > b.prune),
    ("guards.percent", |of| of.guards.percent.to_string(), |a, b| a.guards.percent > b.guards.percent),
    ("guards.least", |of| of.guards.least.to_string(), |a, b| a.guards.least > b.guards.least),
    ("gates.upgrade", |of| of.gates.upgrade.to_string(), |a, b| a.gates.upgrade < b.gates.upgrade),
    ("gates.ddos", |of| of.gates.ddos.to_string(), |a, b| a.gates.ddos < b.gates.ddos),
    ("gates.events", |of| of.gates.events_text(), |a, b| a.gates.events_are_looser_than(&b.gates)),
    ("strict", kinds, |a, b| !a.strict.is_subset(&b.strict)),
    (
        "ownership_annotations",
        |of| of.ownership_annotations.to_string(),
        |a, b| !a.ownership_annotations && b.ownership_annotations,
    ),
    ("version_checked", |of| of.version_checked.to_string(), |a, b| a.version_checked && !b.version_checked),
];

/// The kinds of a `strict`, in words.
fn kinds(of: &Safeguards) -> String {
    match of.strict.len() {
        0 => "none".to_owned(),
        all if all + 1 == KindName::all().count() => "every kind".to_owned(),
        _ => of.strict.iter().map(|kind| kind.as_str()).collect::<Vec<_>>().join(", "),
    }
}

/// How the settings of the working tree differ from those at the base, and from what is in force; what
/// was loosened first.
pub fn changes(base: Option<&SafetySettings>, head: &SafetySettings, in_force: &Safeguards) -> Vec<SettingChange> {
    let ours = &head.safeguards;
    let before_policy = base.map_or_else(|| ours.clone(), |base| ours.stricter(&base.safeguards));
    let mut changes = Vec::new();
    for (name, text, is_looser) in ORDERED {
        let moved = base.and_then(|base| {
            let base = &base.safeguards;
            match (is_looser(ours, base), is_looser(base, ours)) {
                (true, _) => Some((Direction::Loosened, text(base))),
                (false, true) => Some((Direction::Tightened, text(base))),
                (false, false) => None,
            }
        });
        let limited = is_looser(&before_policy, in_force);
        let (direction, base) = match moved {
            Some((direction, base)) => (direction, Some(base)),
            None if limited => (Direction::Limited, None),
            None => continue,
        };
        let (setting, head, in_force) = (name.to_owned(), text(ours), text(in_force));
        changes.push(SettingChange { setting, direction, base, head, in_force, limited });
    }
    changes.extend(ignored(base.map(|base| &base.safeguards), ours, in_force));
    if let Some(base) = base {
        changes.extend(targets(&base.target, &head.target));
    }
    changes.sort_by_key(|change| change.direction);
    changes
}

/// Marks the `changes` of what the base itself changed since the merge base, and the working tree has not: the stack's own
/// settings there and then.
pub fn mark_behind(changes: &mut [SettingChange], head: &SafetySettings, [merge_base, base]: [&SafetySettings; 2]) {
    let moved = |now: &SafetySettings| self::changes(Some(merge_base), now, &now.safeguards);
    let (here, there) = (moved(head), moved(base));
    // Rules of `ignore` that one side added are not those that the other took out.
    let is_own = |one: &SettingChange| {
        let mut same = here.iter().filter(|own| own.setting == one.setting);
        same.any(|own| one.setting != "ignore" || own.direction == one.direction)
    };
    let is_of_base = |one: &SettingChange| {
        there.iter().any(|other| other.setting == one.setting && Some(&other.head) == one.base.as_ref())
    };
    for change in changes.iter_mut().filter(|change| is_of_base(change) && !is_own(change)) {
        change.direction = Direction::BehindBase;
    }
    changes.sort_by_key(|change| change.direction);
}

/// The rules that were added to and taken out of `ignore`, and those that a policy forbids.
fn ignored(base: Option<&Safeguards>, ours: &Safeguards, in_force: &Safeguards) -> Vec<SettingChange> {
    let change = |direction: Direction, base: Option<String>, head: String| SettingChange {
        setting: "ignore".to_owned(),
        direction,
        base,
        head,
        in_force: "not ignored".to_owned(),
        limited: direction == Direction::Limited,
    };
    let base = base.map_or(&ours.ignore, |base| &base.ignore);
    let [added, removed] = moved(base, &ours.ignore);
    let added = added.map(|rules| change(Direction::Loosened, Some("not ignored".to_owned()), rules));
    let removed = removed.map(|rules| change(Direction::Tightened, Some(rules), "not ignored".to_owned()));
    let forbidden = list(ours.ignore.intersection(base).filter(|rule| !in_force.ignore.contains(rule)));
    let forbidden = forbidden.map(|rules| change(Direction::Limited, None, rules));
    added.into_iter().chain(removed).chain(forbidden).collect()
}

/// The settings without an order that are others than at the base.
fn targets(base: &RunTarget, head: &RunTarget) -> Vec<SettingChange> {
    let change = |setting: &str, base: String, head: String| SettingChange {
        setting: setting.to_owned(),
        direction: Direction::Changed,
        base: Some(base),
        in_force: head.clone(),
        head,
        limited: false,
    };
    let text = |value: &Option<String>| value.as_deref().map_or_else(|| "(none)".to_owned(), short);
    let mut changes = Vec::new();
    for (setting, was, is) in [
        ("allow_empty", base.allow_empty.to_string(), head.allow_empty.to_string()),
        ("base_url", text(&base.base_url), text(&head.base_url)),
        ("layout", base.layout.to_string(), head.layout.to_string()),
        ("stack", text(&base.stack), text(&head.stack)),
        ("token_variable", text(&base.token_variable), text(&head.token_variable)),
    ] {
        if was != is {
            changes.push(change(setting, was, is));
        }
    }
    let absent = || "(not listed)".to_owned();
    for (setting, [added, removed]) in [
        ("namespaces", moved(&base.namespaces, &head.namespaces)),
        ("kinds", moved(&base.kinds, &head.kinds)),
        ("files.include", moved(&base.include, &head.include)),
        ("files.exclude", moved(&base.exclude, &head.exclude)),
    ] {
        changes.extend(added.map(|added| change(setting, absent(), added)));
        changes.extend(removed.map(|removed| change(setting, removed, absent())));
    }
    changes
}

/// What was added to a list and what was taken out of it.
fn moved<T: fmt::Display + Ord>(was: &BTreeSet<T>, is: &BTreeSet<T>) -> [Option<String>; 2] {
    [list(is.difference(was)), list(was.difference(is))]
}

/// Some of many values with their count; nothing where there are none.
fn list<T: fmt::Display>(values: impl Iterator<Item = T>) -> Option<String> {
    let texts: BTreeSet<String> = values.map(|value| value.to_string()).collect();
    let shown = texts.iter().take(SHOWN).map(|text| short(text)).collect::<Vec<_>>().join(", ");
    match texts.len() {
        0 => None,
        count if count > SHOWN => Some(format!("{shown} and {} more", count - SHOWN)),
        _ => Some(shown),
    }
}
