//! A change as edits of named values, each with its live and its wanted value: the one form from which every
//! report draws a difference. Options of an exclusive group are taken apart, so that a change of option reads
//! as one value that is removed and one that is added. The texts are untrusted: drawers escape them.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

use similar::{ChangeTag, TextDiff};

pub use super::unit::ValueEdit;
use super::unit::{self, Side, of_unit};
use crate::kind::KindName;
use crate::model::{Field, Json, Object, StringMap, is_ownership_annotation};
use crate::plan::{Action, ActionKind, Cause, Change, FieldChange, OwnershipAnnotations, ThreeWay};

/// Values longer than this, in characters, get a line of their own.
const LONG: usize = 60;
/// The minimum number of endpoints with the same edit for it to be listed only once.
const FOLD: usize = 3;

/// What a line of a difference is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sign {
    /// It is removed.
    Removed,
    /// It is added.
    Added,
    /// It stays, and shows the context.
    Same,
    /// Lines that stay are left out here.
    Gap,
}

impl Sign {
    /// The sign as a unified difference writes it.
    pub fn as_str(self) -> &'static str {
        match self {
            Sign::Removed => "-",
            Sign::Added => "+",
            Sign::Same | Sign::Gap => " ",
        }
    }
}

/// The edits of a change: for a create everything that is added, for a delete everything that is removed. They are not
/// stored: a large plan would be in memory twice.
pub fn of(change: &Change) -> Vec<ValueEdit> {
    match &change.action {
        Action::Create { wanted } => {
            // A restored object has what the service filled in, and a plan that was read from a file has no places.
            let is_defined =
                change.place.is_some() || change.ownership.as_ref().is_some_and(OwnershipAnnotations::are_new);
            of_object(wanted, if is_defined { Side::Written } else { Side::Live })
        }
        Action::Replace { fields, .. } | Action::Recreate { fields, .. } => {
            fields.iter().flat_map(|field| of_field(change.key.kind, field)).collect()
        }
        Action::Annotate { .. } => Vec::new(),
        Action::Delete { before, .. } => {
            of_object(&before.endpoint, Side::Live).into_iter().map(ValueEdit::reversed).collect()
        }
    }
}

/// Everything of an object that a definition writes or would write, as values that are added.
fn of_object(object: &Object, side: Side) -> Vec<ValueEdit> {
    let mut parts = unit::of_spec(&object.spec, side);
    let mut pairs = |map: &StringMap, field: fn(String) -> Field| {
        let theirs = map.iter().filter(|(key, _)| !is_ownership_annotation(key));
        parts.extend(theirs.map(|(key, value)| (field(key.clone()).to_string(), value.clone())));
    };
    pairs(&object.labels, Field::Label);
    pairs(&object.annotations, Field::Annotation);
    if !object.description.is_empty() {
        parts.push((Field::Description.to_string(), object.description.clone()));
    }
    if object.disable {
        parts.push((Field::Disable.to_string(), "true".to_owned()));
    }
    parts.into_iter().map(|(name, text)| ValueEdit::new(name, None, Some(text))).collect()
}

/// The edits of one field.
pub fn of_field(kind: KindName, change: &FieldChange) -> Vec<ValueEdit> {
    let FieldChange { field, before, after, cause, attribution, place, places, changed_here } = change;
    let edits: Vec<ValueEdit> = if field.is_of_spec() {
        of_unit(kind, change)
    } else {
        vec![ValueEdit::new(field.to_string(), unit::text(before), unit::text(after))]
    };
    let attributed = |edit: ValueEdit| {
        // A removed value has no line; at its index the file has another item.
        let place = edit.after.as_ref().and_then(|_| places.get(&edit.path)).or(place.as_ref()).cloned();
        ValueEdit { cause: Some(*cause), attribution: *attribution, changed_here: *changed_here, place, ..edit }
    };
    edits.into_iter().map(attributed).collect()
}

/// One value of a field that an apply found changed: nothing is absence.
#[derive(Debug, PartialEq, Eq)]
pub struct ThreeWayValue {
    /// The field, by the name that a file gives it.
    pub name: String,
    /// When the plan was made.
    pub planned: Option<String>,
    /// Live now.
    pub now: Option<String>,
    /// As the plan wants it.
    pub wanted: Option<String>,
}

/// The values of a field that are changed live, by the plan, or by both.
pub fn three_way(kind: KindName, ThreeWay { field, planned, now, wanted }: &ThreeWay) -> Vec<ThreeWayValue> {
    let since_planned = |after: &Json| {
        let change = || FieldChange::new(field.clone(), planned.clone(), after.clone(), Cause::Drift);
        if planned == after { Vec::new() } else { of_field(kind, &change()) }
    };
    let mut ours = since_planned(wanted);
    let mut values = Vec::new();
    for ValueEdit { name, before: planned, after: now, .. } in since_planned(now) {
        let same = ours.iter().position(|edit| edit.name == name && edit.before == planned);
        let wanted = same.map_or_else(|| planned.clone(), |at| ours.remove(at).after);
        values.push(ThreeWayValue { name, planned, now, wanted });
    }
    values.extend(ours.into_iter().map(|ValueEdit { name, before, after, .. }| ThreeWayValue {
        name,
        planned: before.clone(),
        now: before,
        wanted: after,
    }));
    values
}

impl ValueEdit {
    /// The edit from the wanted to the live value.
    #[must_use]
    pub fn reversed(self) -> Self {
        Self { before: self.after, after: self.before, ..self }
    }

    /// The live value, or that there is none.
    pub fn live(&self) -> Cow<'_, str> {
        unmistakable(self.before.as_deref())
    }

    /// The wanted value, or that there is none.
    pub fn wanted(&self) -> Cow<'_, str> {
        unmistakable(self.after.as_deref())
    }

    /// Whether the edit is better read by lines.
    pub fn is_long(&self) -> bool {
        let is_long =
            |text: &String| text.contains('\n') || text.chars().count() > LONG || text.contains(is_right_to_left);
        self.before.iter().chain(&self.after).any(is_long)
    }

    /// Whether the edit adds or removes lines of a text or prefixes of a set.
    pub fn has_lines(&self) -> bool {
        self.before.iter().chain(&self.after).any(|text| text.contains('\n'))
    }

    /// The edit as signed lines.
    pub fn lines(&self) -> Vec<(Sign, String)> {
        let (before, after) = (self.before.as_deref(), self.after.as_deref());
        if !self.has_lines() {
            let line = |sign, text: Option<&str>| text.map(|text| (sign, text.to_owned()));
            return line(Sign::Removed, before).into_iter().chain(line(Sign::Added, after)).collect();
        }
        let (old, new) = (split(before), split(after));
        let difference = TextDiff::from_slices(&old, &new);
        let mut lines = Vec::new();
        for (at, group) in difference.grouped_ops(2).iter().enumerate() {
            if at > 0 {
                lines.push((Sign::Gap, "…".to_owned()));
            }
            for change in group.iter().flat_map(|operation| difference.iter_changes(operation)) {
                let sign = match change.tag() {
                    ChangeTag::Delete => Sign::Removed,
                    ChangeTag::Insert => Sign::Added,
                    ChangeTag::Equal => Sign::Same,
                };
                lines.push((sign, change.value().to_owned()));
            }
        }
        lines
    }
}

/// Whether a character is of a script that is read from right to left: of two such texts on one line, the second one is
/// displayed first.
fn is_right_to_left(character: char) -> bool {
    matches!(character, '\u{590}'..='\u{8ff}' | '\u{fb1d}'..='\u{fdff}' | '\u{fe70}'..='\u{fefc}' | '\u{10800}'..='\u{10fff}' | '\u{1e800}'..='\u{1efff}')
}

/// A value on one line that cannot be mistaken for another one, or for none.
pub(in crate::report) fn unmistakable(value: Option<&str>) -> Cow<'_, str> {
    // What is quoted already is that of an odd one.
    fn is_odd(value: &str) -> bool {
        value.is_empty()
            || value.trim() != value
            || value == "(none)"
            || [" -> ", " → "].into_iter().any(|arrow| value.contains(arrow))
            || value == "\""
            || value.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')).is_some_and(is_odd)
    }
    let Some(value) = value else { return "(none)".into() };
    if is_odd(value) { format!("\"{value}\"").into() } else { value.into() }
}

/// The lines of a text. A final line break gives an empty last one, because it can be the difference.
fn split(text: Option<&str>) -> Vec<&str> {
    text.map(|text| text.split('\n').collect()).unwrap_or_default()
}

/// The changes without those that only annotate. Replaces that make one and the same edit in at least `FOLD`
/// endpoints are one entry, in the place of the first of them; every other change is an entry of its own.
pub fn fold<'a>(changes: impl Iterator<Item = &'a Change>) -> Vec<Vec<&'a Change>> {
    let changes: Vec<&Change> = changes.filter(|change| change.action.kind() != ActionKind::Annotate).collect();
    // The text of each different edit is kept once, and not for each change.
    let mut same: HashMap<String, Vec<usize>> = HashMap::new();
    for (at, edit) in changes.iter().enumerate().filter_map(|(at, change)| Some((at, same_edit(change)?))) {
        same.entry(edit).or_default().push(at);
    }
    let folds = same.into_values().filter(|all| all.len() >= FOLD);
    let mut folds: HashMap<usize, Vec<usize>> = folds.map(|all| (all[0], all)).collect();
    let later: HashSet<usize> = folds.values().flat_map(|all| &all[1..]).copied().collect();
    let firsts = (0..changes.len()).filter(|at| !later.contains(at));
    let all = firsts.map(|at| folds.remove(&at).unwrap_or_else(|| vec![at]));
    all.map(|all| all.into_iter().map(|at| changes[at]).collect()).collect()
}

/// A text that is the same for replaces that make the same edit and take their objects from the same stack.
fn same_edit(change: &Change) -> Option<String> {
    let Action::Replace { fields, adopts, .. } = &change.action else { return None };
    let fields = fields.iter().map(|field| {
        let why = (field.cause, field.attribution, field.changed_here);
        (&field.field, &field.before, &field.after, why)
    });
    Some(format!("{adopts} {:?} {:?}", change.taken_from(), fields.collect::<Vec<_>>()))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use jiff::Timestamp;
    use serde_json::json;

    use super::*;
    use crate::drift::{Check, UnmanagedPolicy};
    use crate::model::{Field, Json, STACK, SourceLocation};
    use crate::plan::{Cause, Plan};
    use crate::report::{Format, Report, TextView, render, sample_tests};

    #[test]
    fn no_arrow_is_drawn_between_texts_from_right_to_left() {
        let edit = |before: &str, after: &str| {
            ValueEdit::new("description".to_owned(), Some(before.to_owned()), Some(after.to_owned())).is_long()
        };
        assert!(edit("בוקר טוב", "שלום עולם") && edit("good morning", "صباح الخير"));
        assert!(!edit("grüß Gott", "日本語"));
    }

    #[test]
    fn values_that_differ_are_never_drawn_alike() {
        let values = [None, Some(""), Some("(none)"), Some(" x"), Some("x"), Some("\"\""), Some("\" x\"")];
        for format in [Format::Text, Format::Markdown, Format::Html, Format::Github, Format::Sarif, Format::Junit] {
            let mut drawn = BTreeSet::new();
            for value in values {
                let mut plan = sample_tests::plan(10, false);
                plan.changes.retain(|change| change.key.name.as_str() == "ep-8");
                let Action::Replace { fields, .. } = &mut plan.changes[0].action else { panic!("a replace") };
                fields.truncate(1);
                (fields[0].before, fields[0].after) = (json!("live"), json!(value));
                fields[0].cause = Cause::Drift;
                let check = Check::new(plan.clone(), plan.verdicts(UnmanagedPolicy::Note), Timestamp::UNIX_EPOCH);
                let texts: [&dyn Report; 2] = [&plan, &check];
                let digest = plan.digest();
                let [plan, check] = texts.map(|report| render(report, format, &TextView::default()));
                let plan = plan.replace(&digest.to_string(), "").replace(digest.short(), "");
                assert!(drawn.insert(["plan: ", &plan].concat()), "{format:?} {value:?}: {plan}");
                assert!(drawn.insert(check.clone()), "{format:?} {value:?}: {check}");
            }
        }
    }

    #[test]
    fn a_change_of_type_alone_is_drawn_as_one_in_every_format() {
        for format in [Format::Text, Format::Markdown, Format::Html, Format::Github, Format::Sarif, Format::Junit] {
            let drawn = [(json!("80"), json!(80)), (json!(80), json!("80"))].map(|(before, after)| {
                let mut plan = sample_tests::plan(10, false);
                plan.changes.retain(|change| change.key.name.as_str() == "ep-8");
                let Action::Replace { fields, .. } = &mut plan.changes[0].action else { panic!("a replace") };
                fields.truncate(1);
                let change = FieldChange::new(Field::of_unit("protocol"), before, after, Cause::Drift);
                fields[0] = change;
                let check = Check::new(plan.clone(), plan.verdicts(UnmanagedPolicy::Note), Timestamp::UNIX_EPOCH);
                let texts: [&dyn Report; 2] = [&plan, &check];
                let texts = texts.map(|report| render(report, format, &TextView::default()));
                let quoted = ["\"80\"", "&quot;80&quot;", "\\\"80\\\"", "&#34;80&#34;"];
                let has_quoted = |text: &String| quoted.iter().any(|quoted| text.contains(quoted));
                assert!(texts.iter().all(has_quoted), "{format:?}: {texts:#?}");
                texts[1].clone()
            });
            assert_ne!(drawn[0], drawn[1], "{format:?}");
        }
    }

    #[test]
    fn an_annotation_of_a_create_is_never_drawn_like_two() {
        let mut plan = sample_tests::plan(10, false);
        plan.changes.retain(|change| matches!(change.action, Action::Create { .. }));
        plan.changes.truncate(1);
        let mut with = |annotations: &[(&str, &str)]| {
            let Action::Create { wanted } = &mut plan.changes[0].action else { panic!("a create") };
            wanted.annotations = annotations.iter().map(|(key, value)| ((*key).into(), (*value).into())).collect();
            let digest = plan.digest();
            [Format::Text, Format::Markdown, Format::Html].map(|format| {
                let text = render(&plan, format, &TextView::default());
                text.replace(&digest.to_string(), "").replace(digest.short(), "")
            })
        };
        let two = with(&[("note", "x"), ("trueup/protect", "true")]);
        for (one, two) in with(&[("note", "x, trueup/protect=true")]).iter().zip(&two) {
            assert_ne!(one, two);
        }
        assert!(two.iter().all(|text| text.contains("annotations.trueup/protect")), "{two:?}");
    }

    #[test]
    fn replaces_with_one_edit_that_take_objects_from_several_stacks_are_folded_by_stack() {
        let same = |change: &Change| matches!(change.key.name.as_str(), "ep-4" | "ep-5" | "ep-6" | "ep-14");
        let mut plan = sample_tests::plan(20, false);
        plan.changes.retain(same);
        let counts = |plan: &Plan| fold(plan.changes.iter()).iter().map(Vec::len).collect::<Vec<_>>();
        assert_eq!(counts(&plan), [4]);
        for (change, from) in plan.changes.iter_mut().zip(["a", "a", "b", "a"]) {
            let Action::Replace { before, .. } = &mut change.action else { continue };
            before.endpoint.annotations.insert(STACK.to_owned(), from.to_owned());
            change.ownership = Some(OwnershipAnnotations { stack: Some("shop-prod".to_owned()), applied: None });
        }
        assert_eq!(counts(&plan), [3, 1]);
    }

    fn lines(field: Field, before: Json, after: Json) -> Vec<String> {
        let change = FieldChange::new(field, before, after, Cause::Pending);
        let lines = |edit: &ValueEdit| {
            let line = |(sign, text): (Sign, String)| format!("{} {} {text}", sign.as_str(), edit.name);
            edit.lines().into_iter().map(line).collect::<Vec<_>>()
        };
        of_field(KindName::ENDPOINT, &change).iter().flat_map(lines).collect()
    }

    #[test]
    fn a_change_of_option_is_one_value_that_is_removed_and_one_that_is_added() {
        let (old, new) = (json!({"ip": "10.0.0.7"}), json!({"dns_name": "a.example.net"}));
        assert_eq!(lines(Field::of_unit("target"), old, new), ["- spec.ip 10.0.0.7", "+ spec.dns_name a.example.net"]);
    }

    #[test]
    fn a_target_that_keeps_its_option_is_reported_by_its_value() {
        let (old, new) = (json!({"ip": "10.9.9.9"}), json!({"ip": "10.0.0.7"}));
        assert_eq!(lines(Field::of_unit("target"), old, new), ["- spec.ip 10.9.9.9", "+ spec.ip 10.0.0.7"]);
    }

    #[test]
    fn only_the_part_of_a_target_that_changes_is_reported() {
        let target =
            |interval: u32| json!({"dns_name_advanced": {"name": "a.example.net", "refresh_interval": interval}});
        let name = "spec.dns_name_advanced.refresh_interval";
        assert_eq!(
            lines(Field::of_unit("target"), target(30), target(60)),
            [format!("- {name} 30"), format!("+ {name} 60")]
        );
    }

    #[test]
    fn a_removed_item_is_at_its_list_and_not_at_what_the_file_has_at_its_index() {
        let pool = |prefixes: &[&str]| json!({"snat_pool": {"prefixes": prefixes}});
        let (old, new) = (pool(&["10.1.0.0/16", "10.2.0.0/16"]), pool(&["10.2.0.0/16", "10.3.0.0/16"]));
        let mut change = FieldChange::new(Field::of_unit("snat_pool"), old, new, Cause::Pending);
        let at = |line: usize| SourceLocation { file: "a.yaml".to_owned(), line, column: 1 };
        let name = |index: usize| format!("spec.snat_pool.snat_pool.prefixes[{index}]");
        change.place = Some(at(8));
        change.places = [(name(0), at(9)), (name(1), at(10))].into();
        let lines: Vec<usize> = of_field(KindName::ENDPOINT, &change)
            .iter()
            .map(|edit| edit.place.as_ref().expect("a place").line)
            .collect();
        assert_eq!(lines, [8, 10]);
    }

    #[test]
    fn only_the_prefixes_that_are_added_and_removed_are_signed() {
        let pool = |prefixes: &[&str]| json!({"snat_pool": {"prefixes": prefixes}});
        let (old, new) = (pool(&["10.1.0.0/16", "10.2.0.0/16"]), pool(&["10.2.0.0/16", "10.3.0.0/16"]));
        let path = "spec.snat_pool.snat_pool.prefixes";
        assert_eq!(
            lines(Field::of_unit("snat_pool"), old, new.clone()),
            [format!("- {path}[0] 10.1.0.0/16"), format!("+ {path}[1] 10.3.0.0/16")]
        );
        assert_eq!(
            lines(Field::of_unit("snat_pool"), json!({"no_snat_pool": {}}), new),
            ["- spec.snat_pool.no_snat_pool {}".to_owned(), format!("+ {path} [\"10.2.0.0/16\",\"10.3.0.0/16\"]")]
        );
    }

    #[test]
    fn a_reference_is_one_value_without_what_the_service_filled_in() {
        let site = |reference: Json| {
            json!({"site": {"ref": [reference],
                "network_type": "VIRTUAL_NETWORK_SITE_LOCAL", "disable_internet_vip": {}}})
        };
        let live = site(json!({"name": "ce01", "namespace": "system", "tenant": "acme-x", "uid": "7"}));
        let place = |reference: Json| lines(Field::of_unit("where"), live.clone(), site(reference));
        assert_eq!(
            place(json!({"name": "ce02", "namespace": "system"})),
            ["- spec.where.site.ref[0] system/ce01", "+ spec.where.site.ref[0] system/ce02"]
        );
        assert_eq!(
            place(json!({"name": "ce01", "namespace": "system", "uid": "8"})),
            ["- spec.where.site.ref[0] system/ce01 (uid 7)", "+ spec.where.site.ref[0] system/ce01 (uid 8)"]
        );
        let wanted = json!({"virtual_site": {"ref": [{"name": "edge", "namespace": "shared"}],
            "network_type": "VIRTUAL_NETWORK_SITE_LOCAL_INSIDE", "enable_internet_vip": {}}});
        assert_eq!(
            lines(Field::of_unit("where"), live, wanted),
            [
                "- spec.where.site.ref[0] system/ce01",
                "- spec.where.site.network_type VIRTUAL_NETWORK_SITE_LOCAL",
                "- spec.where.site.disable_internet_vip {}",
                "+ spec.where.virtual_site.ref[0] shared/edge",
                "+ spec.where.virtual_site.network_type VIRTUAL_NETWORK_SITE_LOCAL_INSIDE",
                "+ spec.where.virtual_site.enable_internet_vip {}",
            ]
        );
    }

    #[test]
    fn a_long_text_that_is_added_removes_nothing() {
        let long = "x".repeat(100);
        assert_eq!(lines(Field::Label("a".to_owned()), Json::Null, json!(long)), [format!("+ labels.a {long}")]);
        assert_eq!(lines(Field::Label("tier".to_owned()), json!("db"), Json::Null), ["- labels.tier db"]);
    }
}
