//! How two configurations differ in what a run may do, as texts for a reviewer. Each change has a
//! direction: whether it loosens or tightens.

use std::collections::BTreeSet;
use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{RunTarget, Safeguards, SafetySettings};
use crate::kind::KindName;
use crate::model::{Namespace, displayed, words};

/// The most values of a list that are written out.
const SHOWN: usize = 5;

/// The most characters of a value that are written out.
const LONGEST: usize = 120;

/// A value that is short enough for every report.
fn short(text: &str) -> String {
    match text.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

/// In which direction a setting changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Direction {
    /// It allows more than at the base; the base's value stays in force.
    Loosened,
    /// It changed, and neither value is stricter; the new value is in force.
    Changed,
    /// The policy allows less than the configuration sets.
    Limited,
    /// It allows less than at the base.
    Tightened,
    /// It has the value from the merge base, and the base changed it since.
    BehindBase,
}

words!(Direction {
    Loosened = "loosened",
    Changed = "changed",
    Limited = "limited",
    Tightened = "tightened",
    BehindBase = "behind base",
});

/// A setting that differs from the base, or that the policy limits.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SettingChange {
    /// The setting as `trueup.yaml` writes it, such as `guards.percent`.
    pub setting: String,
    /// In which direction it changed.
    pub direction: Direction,
    /// Its value at the base, in words; `None` without a base.
    pub base: Option<String>,
    /// Its value in the working tree, in words.
    pub head: String,
    /// The value that applies to this plan and its apply.
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

/// The name of a setting with an order, its value in words, and whether the first of two is looser.
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

/// The kinds of `strict`, in words.
fn kinds(of: &Safeguards) -> String {
    match of.strict.len() {
        0 => "none".to_owned(),
        all if all + 1 == KindName::all().count() => "every kind".to_owned(),
        _ => of.strict.iter().map(|kind| kind.as_str()).collect::<Vec<_>>().join(", "),
    }
}

/// How the settings of the working tree differ from those at the base, and from those in force; loosened
/// ones first. `own` has the settings of the stack itself at the merge base and at the base, if they are
/// known: a setting that only the base changed since is behind.
pub fn changes(
    base: Option<&SafetySettings>,
    own: Option<[&SafetySettings; 2]>,
    head: &SafetySettings,
    in_force: &Safeguards,
) -> Vec<SettingChange> {
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
    if let Some(base) = base {
        changes.extend(targets(&base.target, &head.target));
    }
    if let Some(own) = own {
        mark_behind(&mut changes, head, own);
    }
    changes.extend(ignored(base.map(|base| &base.safeguards), own, ours, in_force));
    if let Some(base) = base {
        changes.extend(listed(&base.target, own, &head.target));
    }
    changes.sort_by_key(|change| change.direction);
    changes
}

/// Marks the `changes` of single-value settings that only the base, and not the working tree, changed since the merge
/// base.
fn mark_behind(changes: &mut [SettingChange], head: &SafetySettings, [merge_base, base]: [&SafetySettings; 2]) {
    let moved = |now: &SafetySettings| self::changes(Some(merge_base), None, now, &now.safeguards);
    let (here, there) = (moved(head), moved(base));
    let is_own = |one: &SettingChange| here.iter().any(|own| own.setting == one.setting);
    let is_of_base = |one: &SettingChange| {
        there.iter().any(|other| other.setting == one.setting && Some(&other.head) == one.base.as_ref())
    };
    for change in changes.iter_mut().filter(|change| is_of_base(change) && !is_own(change)) {
        change.direction = Direction::BehindBase;
    }
}

/// The rules that were added to and removed from `ignore`, and those that a policy forbids.
fn ignored(
    base: Option<&Safeguards>,
    own: Option<[&SafetySettings; 2]>,
    ours: &Safeguards,
    in_force: &Safeguards,
) -> Vec<SettingChange> {
    const NONE: &str = "not ignored";
    let own = own.map(|own| own.map(|then| &then.safeguards.ignore));
    let base = base.map_or(&ours.ignore, |base| &base.ignore);
    let directions = [Direction::Loosened, Direction::Tightened];
    let mut changes = of_list("ignore", base, own, &ours.ignore, NONE, directions);
    changes.iter_mut().for_each(|change| NONE.clone_into(&mut change.in_force));
    let forbidden = list(ours.ignore.intersection(base).filter(|rule| !in_force.ignore.contains(rule)));
    changes.extend(forbidden.map(|head| SettingChange {
        setting: "ignore".to_owned(),
        direction: Direction::Limited,
        base: None,
        head,
        in_force: NONE.to_owned(),
        limited: true,
    }));
    changes
}

/// The single-value settings without an order that differ from the base.
fn targets(base: &RunTarget, head: &RunTarget) -> Vec<SettingChange> {
    let text = |value: &Option<String>| value.as_deref().map_or_else(|| "(none)".to_owned(), short);
    let all = [
        ("allow_empty", base.allow_empty.to_string(), head.allow_empty.to_string()),
        ("base_url", text(&base.base_url), text(&head.base_url)),
        ("layout", base.layout.to_string(), head.layout.to_string()),
        ("stack", text(&base.stack), text(&head.stack)),
        ("token_variable", text(&base.token_variable), text(&head.token_variable)),
    ];
    let changed = all.into_iter().filter(|(_, was, is)| was != is);
    changed.map(|(setting, was, is)| changed_to(setting, Direction::Changed, was, is)).collect()
}

/// What was added to and removed from the lists without an order.
fn listed(base: &RunTarget, own: Option<[&SafetySettings; 2]>, head: &RunTarget) -> Vec<SettingChange> {
    type List = fn(&RunTarget) -> BTreeSet<&str>;
    let lists: [(&str, List); 6] = [
        ("namespaces", |of| of.namespaces.iter().map(Namespace::as_str).collect()),
        ("kinds", |of| of.kinds.iter().map(|kind| kind.as_str()).collect()),
        ("files.include", |of| of.include.iter().map(String::as_str).collect()),
        ("files.exclude", |of| of.exclude.iter().map(String::as_str).collect()),
        ("unchecked", |of| of.unchecked.iter().map(String::as_str).collect()),
        ("hide_notes", |of| of.hide_notes.iter().map(String::as_str).collect()),
    ];
    let of = |(setting, list): (&str, List)| {
        let [was, is] = [base, head].map(list);
        let own = own.map(|own| own.map(|then| list(&then.target)));
        // An empty list may mean all, so its values cannot be compared one by one.
        let is_by_value = |own: &&[BTreeSet<&str>; 2]| own[0] == is || !own.iter().chain([&is]).any(BTreeSet::is_empty);
        let own = own.as_ref().filter(is_by_value).map(<[_; 2]>::each_ref);
        of_list(setting, &was, own, &is, "(not listed)", [Direction::Changed; 2])
    };
    lists.into_iter().flat_map(of).collect()
}

/// What was added to a list and removed from it, with these directions. Each value is judged separately, because
/// working tree and base may both have changed the list.
fn of_list<T: fmt::Display + Ord>(
    setting: &str,
    was: &BTreeSet<T>,
    own: Option<[&BTreeSet<T>; 2]>,
    is: &BTreeSet<T>,
    absent: &str,
    [added, removed]: [Direction; 2],
) -> Vec<SettingChange> {
    let is_behind = |value: &&T| {
        own.is_some_and(|[merge_base, base]| {
            let then = merge_base.contains(value);
            then == is.contains(value) && then != base.contains(value)
        })
    };
    let mut changes = Vec::new();
    for (values, direction, is_added) in [(is.difference(was), added, true), (was.difference(is), removed, false)] {
        let (behind, own): (Vec<&T>, Vec<&T>) = values.partition(is_behind);
        for (values, direction) in [(own, direction), (behind, Direction::BehindBase)] {
            let (values, absent) = (list(values.into_iter()), absent.to_owned());
            changes.extend(values.map(|values| match is_added {
                true => changed_to(setting, direction, absent, values),
                false => changed_to(setting, direction, values, absent),
            }));
        }
    }
    changes
}

/// A change of a setting where the value of the working tree is in force.
fn changed_to(setting: &str, direction: Direction, base: String, head: String) -> SettingChange {
    let (setting, in_force) = (setting.to_owned(), head.clone());
    SettingChange { setting, direction, base: Some(base), head, in_force, limited: false }
}

/// The first of many values and the number of others; `None` where there are none.
fn list<T: fmt::Display>(values: impl Iterator<Item = T>) -> Option<String> {
    let texts: BTreeSet<String> = values.map(|value| value.to_string()).collect();
    let shown = texts.iter().take(SHOWN).map(|text| short(text)).collect::<Vec<_>>().join(", ");
    match texts.len() {
        0 => None,
        count if count > SHOWN => Some(format!("{shown} and {} more", count - SHOWN)),
        _ => Some(shown),
    }
}
