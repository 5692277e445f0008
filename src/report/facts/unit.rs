//! The values of a spec by their paths: those of an object, and those in which a change differs. Items of lists are
//! matched by their content, not by their position, and one that stays or goes is shown by its name; a reference is one
//! value. Also the value of a field in words. Every report shows these texts, which are as the files and the service
//! wrote them, so renderers escape them.

use std::collections::{BTreeSet, HashMap};

use crate::kind::{self, Described, KindName};
use crate::model::{Field, Json, SourceLocation, Spec};
use crate::plan::{Attribution, Cause, FieldChange};

/// A live value that no answer shows.
const NOT_SHOWN: &str = "(not shown)";

/// Who wrote a value, which decides which parts of a reference are meaningful.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Side {
    /// A definition: every part that it names.
    Written,
    /// The service, which fills in the tenant and the uid.
    Live,
}

/// One value that is added, removed or replaced by another.
#[derive(Debug, Clone, PartialEq)]
pub struct ValueEdit {
    /// The field, by the name that a file gives it, with names of items that stay or go.
    pub name: String,
    /// The same with the indices of all items.
    pub path: String,
    /// The live value; `None` if absent.
    pub before: Option<String>,
    /// The wanted value; `None` if absent.
    pub after: Option<String>,
    /// Why it differs; `None` for the values of a whole object.
    pub cause: Option<Cause>,
    /// Whose change it is.
    pub attribution: Option<Attribution>,
    /// Whether the working tree changed it as well as the base.
    pub changed_here: bool,
    /// Where the definition sets it.
    pub place: Option<SourceLocation>,
}

impl ValueEdit {
    /// A value of a whole object.
    pub(super) fn new(path: impl Into<Path>, before: Option<String>, after: Option<String>) -> Self {
        let Path { name, numbered } = path.into();
        Self { name, path: numbered, before, after, cause: None, attribution: None, changed_here: false, place: None }
    }

    /// What is live at a path that the definition does not name.
    pub(super) fn unnamed(path: &str) -> Self {
        let (before, after) = (Some("set".to_owned()), Some("not named".to_owned()));
        Self { cause: Some(Cause::Drift), ..Self::new(path.to_owned(), before, after) }
    }
}

/// Where a value is.
#[derive(Debug, Clone)]
pub(super) struct Path {
    /// With the names of items.
    name: String,
    /// With their indices.
    numbered: String,
}

impl From<String> for Path {
    fn from(path: String) -> Self {
        Self { name: path.clone(), numbered: path }
    }
}

impl Path {
    fn below(&self, path: &str) -> Self {
        Self { name: format!("{}{path}", self.name), numbered: format!("{}{path}", self.numbered) }
    }

    fn item(&self, at: usize, name: Option<&str>) -> Self {
        let path = self.below(&format!("[{at}]"));
        match name {
            Some(name) => Self { name: format!("{}[{name}]", self.name), ..path },
            None => path,
        }
    }
}

/// The values of a spec, each with its path: for a definition what it names, else what the service does not fill in.
pub(super) fn of_spec(spec: &Spec, side: Side) -> Vec<(String, String)> {
    let mut values = Vec::new();
    // For a kind that is compared whole, a definition contains the defaults, too.
    let is_named = side == Side::Written && !spec.kind().is_whole();
    let value = if is_named { spec.json() } else { spec.unfilled(None) };
    leaves("spec", Described::of(spec.kind().message()), &value, side, &mut values);
    values
}

/// The values of a unit without what the service fills in, each by its path below the unit.
pub(super) fn of_value(kind: KindName, unit: &str, value: &Json) -> Vec<(String, String)> {
    let (spec, mut values) = (kind.message(), Vec::new());
    let message = match spec.field(unit) {
        Some(field) => field.message().filter(|_| !field.is_list),
        None => kind::is_group(spec, unit).then_some(spec),
    };
    let mut shown = message.map_or_else(|| value.clone(), |message| kind::without_fills(message, value.clone(), None));
    if let Json::Object(entries) = &mut shown {
        // A group is only a part of the spec: drop what its value does not have.
        entries.retain(|key, _| value.get(key).is_some());
    }
    leaves("", Described::of_unit(spec, unit), &shown, Side::Live, &mut values);
    values.into_iter().map(|(path, text)| (path.trim_start_matches('.').to_owned(), text)).collect()
}

/// The values of a unit that differ, each by its path.
pub(super) fn of_unit(kind: KindName, change: &FieldChange) -> Vec<ValueEdit> {
    if change.is_unseen() {
        return vec![ValueEdit::new(change.field.to_string(), Some(NOT_SHOWN.to_owned()), None)];
    }
    let (spec, unit) = (kind.message(), change.field.unit().unwrap_or_default());
    let path = if kind::is_group(spec, unit) { "spec".to_owned() } else { format!("spec.{unit}") };
    let mut edits = Vec::new();
    let significant = Some(kind::significant(spec, unit, &change.after)).filter(|value| !value.is_null());
    let none = Described::of(spec).word_of_none(unit).map(Json::from);
    let shown = |value| if value == &Json::Null { none.as_ref().unwrap_or(value) } else { value };
    let wanted = Wanted { value: Some(shown(&change.after)), significant: significant.as_ref() };
    let described = Described::of_unit(spec, unit);
    differences(&path.into(), described, Some(shown(&change.before)), wanted, &mut edits);
    // A removed value is listed before the one that replaces it.
    edits.sort_by_key(|edit| edit.before.is_none());
    edits
}

/// A wanted value, and the same without insignificant zeros, which answers leave out.
#[derive(Clone, Copy, Default)]
struct Wanted<'a> {
    value: Option<&'a Json>,
    significant: Option<&'a Json>,
}

impl<'a> Wanted<'a> {
    fn part(self, of: impl Fn(&'a Json) -> Option<&'a Json>) -> Self {
        Self { value: self.value.and_then(&of), significant: self.significant.and_then(&of) }
    }
}

/// The values in which two differ.
fn differences(
    path: &Path,
    described: Described,
    before: Option<&Json>,
    wanted: Wanted<'_>,
    edits: &mut Vec<ValueEdit>,
) {
    let after = wanted.value;
    // A live secret is never shown, nor whether there is one.
    if let Some(secret) = after.filter(|after| before != Some(after)).and_then(|after| sealed(described, after)) {
        return edits.push(ValueEdit::new(path.clone(), Some(NOT_SHOWN.to_owned()), Some(secret)));
    }
    match (before, after) {
        (before, after) if before == after => {}
        // A value with parts is not a zero.
        (None, Some(Json::Bool(_) | Json::Number(_) | Json::String(_))) if wanted.significant.is_none() => {}
        (Some(old), Some(new)) if described.is_reference() && old.is_object() && new.is_object() => {
            let both = |part: &str| old.get(part).and(new.get(part)).is_some();
            let [old, new] = [old, new].map(|value| Some(reference(value, both)));
            edits.extend((old != new).then(|| ValueEdit::new(path.clone(), old, new)));
        }
        (Some(Json::Object(before)), Some(Json::Object(after))) => {
            for key in before.keys().chain(after.keys()).collect::<BTreeSet<_>>() {
                let (path, below) = (path.below(&format!(".{key}")), described.entry(key));
                // Answers leave out the word that means none.
                let none = described.word_of_none(key).map(Json::from);
                let part = wanted.part(|value| value.get(key));
                let part = Wanted { value: part.value.or(none.as_ref()), ..part };
                differences(&path, below, before.get(key).or(none.as_ref()), part, edits);
            }
        }
        (Some(Json::Array(before)), Some(Json::Array(after))) => {
            let significant = wanted.significant.and_then(Json::as_array).unwrap_or(after);
            let pairs = paired(before, significant, described.is_reference());
            let [old_names, new_names] = [before, after].map(|items| item_names(items, described));
            // A new item is shown by its place in the order.
            let item = |old: Option<usize>, new: Option<usize>| match (old, new) {
                (Some(_), Some(at)) => path.item(at, new_names[at]),
                (Some(at), None) => path.item(at, old_names[at]),
                (None, new) => path.item(new.unwrap_or_default(), None),
            };
            for (old, new) in &pairs {
                let wanted = new.map(|at| wanted.part(|value| value.get(at))).unwrap_or_default();
                differences(&item(*old, *new), described, old.map(|at| &before[at]), wanted, edits);
            }
            edits.extend(moved(&pairs).map(|Move { old, new, past }| {
                let name = |at: usize| new_names[at].map(|name| format!("{name} ")).unwrap_or_default();
                let past = past.filter(|_| old == new).map(|(side, at)| format!(", {side} {}[{at}]", name(at)));
                let to = format!("at [{new}]{}", past.unwrap_or_default());
                ValueEdit::new(item(Some(old), Some(new)), Some(format!("at [{old}]")), Some(to))
            }));
        }
        (before, after) => {
            let parts = |value: Option<&Json>, side: Side| {
                let mut parts = Vec::new();
                value.into_iter().for_each(|value| leaves("", described, value, side, &mut parts));
                parts
            };
            let (old, new) = (parts(before, Side::Live), parts(after, Side::Written));
            let edit = |part: &str, old: Option<&String>, new: Option<&String>| {
                ValueEdit::new(path.below(part), old.cloned(), new.cloned())
            };
            match (old.as_slice(), new.as_slice()) {
                ([(part, old)], [(same, new)]) if part == same => {
                    let is_text = |value: Option<&Json>| value.is_some_and(Json::is_string);
                    let [old, new] = match (is_text(before), is_text(after)) {
                        (true, false) => [quoted(old, new), new.clone()],
                        (false, true) => [old.clone(), quoted(new, old)],
                        _ => [old.clone(), new.clone()],
                    };
                    edits.push(edit(part, Some(&old), Some(&new)));
                }
                _ => {
                    edits.extend(old.iter().map(|(part, text)| edit(part, Some(text), None)));
                    edits.extend(new.iter().map(|(part, text)| edit(part, None, Some(text))));
                }
            }
        }
    }
}

/// A text beside a value of another type: in quotes where they are written alike, as `"80"` beside 80.
fn quoted(text: &str, other: &str) -> String {
    if text.trim_matches('"') == other { format!("\"{text}\"") } else { text.to_owned() }
}

/// The indices of an item in two lists; an item that only one of them has is alone.
type Pair = (Option<usize>, Option<usize>);

/// The items of two lists, paired: mappings by their content, others by their order.
fn paired(before: &[Json], after: &[Json], are_references: bool) -> Vec<Pair> {
    if before.iter().chain(after).all(Json::is_object) {
        let mut of = kind::alike(after, before);
        if are_references {
            kind::fill_places(&mut of, before.len());
        }
        let stays: BTreeSet<usize> = of.iter().flatten().copied().collect();
        let gone = (0..before.len()).filter(|at| !stays.contains(at)).map(|at| (Some(at), None));
        return gone.chain(of.iter().enumerate().map(|(at, of)| (*of, Some(at)))).collect();
    }
    let [old, new] = [before, after].map(|items| items.iter().map(Json::to_string).collect::<Vec<_>>());
    let operations = similar::capture_diff_slices(similar::Algorithm::Myers, &old, &new);
    let pairs = |operation: &similar::DiffOp| {
        let (old, new) = (operation.old_range(), operation.new_range());
        let count = old.len().max(new.len());
        (0..count).map(move |at| (old.clone().nth(at), new.clone().nth(at)))
    };
    operations.iter().flat_map(pairs).collect()
}

/// An item that changed its place among the others.
struct Move {
    old: usize,
    new: usize,
    /// One of the others that it has passed, and on which side of that it is now.
    past: Option<(&'static str, usize)>,
}

/// The fewest items whose moves to their new indices explain the new order of the list.
fn moved(pairs: &[Pair]) -> impl Iterator<Item = Move> {
    let both: Vec<(usize, usize)> = pairs.iter().filter_map(|(old, new)| old.zip(*new)).collect();
    let places: Vec<usize> = both.iter().map(|(old, _)| *old).collect();
    let in_order = in_order(&places);
    let (stay, moved): (Vec<_>, Vec<_>) = both.into_iter().enumerate().partition(|(at, _)| in_order.contains(at));
    moved.into_iter().map(move |(_, (old, new))| {
        let followed = stay.partition_point(|(_, (stays, _))| *stays < old);
        let follows = stay.partition_point(|(_, (_, stays))| *stays < new);
        let (side, nearest) =
            if follows < followed { ("before", Some(follows)) } else { ("after", follows.checked_sub(1)) };
        Move { old, new, past: nearest.and_then(|at| stay.get(at)).map(|(_, (_, stays))| (side, *stays)) }
    })
}

/// The name of each item of a list, if it is unique and does not look like a number.
fn item_names(items: &[Json], described: Described) -> Vec<Option<&str>> {
    let names = items.iter().map(|item| item.get("metadata").unwrap_or(item).get("name").and_then(Json::as_str));
    let names: Vec<Option<&str>> = names.collect();
    let mut count: HashMap<&str, usize> = HashMap::new();
    names.iter().flatten().for_each(|name| *count.entry(name).or_default() += 1);
    let is_name =
        |name: &&str| count[name] == 1 && !described.is_reference() && name.contains(|of: char| !of.is_ascii_digit());
    names.iter().map(|name| name.filter(is_name)).collect()
}

/// The positions of as many of these different numbers as possible that are in ascending order.
fn in_order(numbers: &[usize]) -> BTreeSet<usize> {
    // For each length of an ascending sequence, the position of its smallest possible last number.
    let mut ends: Vec<usize> = Vec::new();
    let mut before = vec![None; numbers.len()];
    for (at, number) in numbers.iter().enumerate() {
        let length = ends.partition_point(|end| numbers[*end] < *number);
        before[at] = length.checked_sub(1).map(|shorter| ends[shorter]);
        match ends.get_mut(length) {
            Some(end) => *end = at,
            None => ends.push(at),
        }
    }
    std::iter::successors(ends.last().copied(), |at| before[*at]).collect()
}

/// The text of a sealed secret, if the description says that the value is one.
fn sealed(described: Described, value: &Json) -> Option<String> {
    described.digest_of(value).map(|digest| format!("sealed {digest}"))
}

/// An object that is referred to: its namespace and its name, then the other parts that count. Parts that the
/// description does not know always count.
fn reference(value: &Json, counts: impl Fn(&str) -> bool) -> String {
    let part = |key: &str| value.get(key).and_then(Json::as_str).filter(|text| counts(key) && !text.is_empty());
    let namespace = part("namespace").map_or_else(String::new, |namespace| format!("{namespace}/"));
    let name = value.get("name").and_then(Json::as_str).unwrap_or_default();
    let filled = ["tenant", "uid"].into_iter().filter_map(|key| Some((key, part(key)?.to_owned())));
    let is_unknown = |key: &str| !["name", "namespace", "kind", "tenant", "uid"].contains(&key);
    let unknown = value.as_object().into_iter().flatten().filter(|(key, _)| is_unknown(key));
    let unknown =
        unknown.map(|(key, value)| (key.as_str(), value.as_str().map_or_else(|| value.to_string(), str::to_owned)));
    let parts: String = filled.chain(unknown).map(|(key, text)| format!(" ({key} {text})")).collect();
    format!("{namespace}{name}{parts}")
}

/// The values below a value, each with its path; `{}` counts as one.
fn leaves(path: &str, described: Described, value: &Json, side: Side, found: &mut Vec<(String, String)>) {
    match value {
        Json::Null => {}
        value if let Some(secret) = sealed(described, value) => found.push((path.to_owned(), secret)),
        Json::Object(_) if described.is_reference() => {
            let text = reference(value, |part| side == Side::Written || part == "namespace");
            found.push((path.to_owned(), text));
        }
        Json::Object(entries) if !entries.is_empty() => {
            for (key, value) in described.entries(entries) {
                leaves(&format!("{path}.{key}"), described.entry(key), value, side, found);
            }
            // An answer leaves out the word that means none.
            if side == Side::Live {
                let words = described.words_left_out(entries);
                found.extend(words.map(|(key, word)| (format!("{path}.{key}"), word.to_owned())));
            }
        }
        Json::Array(items) if items.iter().any(|item| item.is_object() || item.is_array()) => {
            for (at, item) in items.iter().enumerate() {
                leaves(&format!("{path}[{at}]"), described, item, side, found);
            }
        }
        Json::String(text) => found.push((path.to_owned(), text.clone())),
        other => found.push((path.to_owned(), other.to_string())),
    }
}

/// The value of a field on one line; `None` if absent. If it has several values, each has its name.
pub fn words(kind: KindName, field: &Field, value: &Json) -> Option<String> {
    let Some(unit) = field.unit() else { return text(value) };
    let values = of_value(kind, unit, value);
    // A common parent of all names is written once.
    let option = values.first().and_then(|(name, _)| name.split_once('.')).map_or("", |(option, _)| option);
    let above = format!("{option}.");
    let is_shared = values.iter().all(|(name, _)| name.starts_with(&above));
    let part = |(name, text): &(String, String)| {
        let name = if is_shared { &name[above.len()..] } else { name };
        if text == "{}" { name.to_owned() } else { format!("{name} {text}") }
    };
    match values.as_slice() {
        [] => None,
        [(_, only)] if only != "{}" => Some(only.clone()),
        values => {
            let parts = values.iter().map(part).collect::<Vec<_>>().join(", ");
            Some(if is_shared { format!("{option} {parts}") } else { parts })
        }
    }
}

/// A value without parts; `None` if absent.
pub fn text(value: &Json) -> Option<String> {
    match value {
        Json::Null => None,
        Json::String(text) => Some(text.clone()),
        other => Some(other.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::model::Field;
    use crate::plan::Cause;

    #[test]
    fn a_list_in_another_order_is_read_in_linear_time() {
        let reversed = |count: usize| -> Vec<Pair> { (0..count).rev().map(Some).zip((0..count).map(Some)).collect() };
        crate::model::growth_tests::assert_at_most_linear("a list", 200, reversed, |pairs| {
            assert_eq!(moved(&pairs).count(), pairs.len() - 1);
        });
    }

    fn edits(kind: &str, unit: &str, before: Json, after: Json) -> Vec<String> {
        let change = FieldChange::new(Field::of_unit(unit), before, after, Cause::Pending);
        let word = |value: Option<String>| value.unwrap_or_else(|| "(none)".to_owned());
        let text = |edit: ValueEdit| format!("{} {} -> {}", edit.name, word(edit.before), word(edit.after));
        of_unit(KindName::find(kind).expect("a kind"), &change).into_iter().map(text).collect()
    }

    #[test]
    fn a_zero_that_both_have_is_no_edit_and_one_that_is_new_is() {
        let options = |timeout: Json| json!({"connection_timeout": timeout, "http_idle_timeout": 0});
        let live = json!({"connection_timeout": 5});
        assert_eq!(
            edits("origin_pool", "advanced_options", live.clone(), options(json!(7))),
            ["spec.advanced_options.connection_timeout 5 -> 7"]
        );
        assert_eq!(
            edits("origin_pool", "advanced_options", live, options(json!(0))),
            ["spec.advanced_options.connection_timeout 5 -> 0"]
        );
    }

    #[test]
    fn a_text_is_in_quotes_beside_a_value_of_another_type_that_is_written_alike() {
        let path = "spec.advanced_options.connection_timeout";
        for (before, after, drawn) in [
            (json!("80"), json!(80), "\"80\" -> 80"),
            (json!(80), json!("80"), "80 -> \"80\""),
            (json!("true"), json!(true), "\"true\" -> true"),
            (json!("\"80\""), json!(80), "\"\"80\"\" -> 80"),
            (json!("80"), json!(81), "80 -> 81"),
            (json!("80"), json!("\"80\""), "80 -> \"80\""),
        ] {
            let [before, after] = [before, after].map(|value| json!({"connection_timeout": value}));
            assert_eq!(edits("origin_pool", "advanced_options", before, after), [format!("{path} {drawn}")]);
        }
    }

    #[test]
    fn a_mapping_with_the_key_of_a_mark_is_shown_where_no_secret_is_described() {
        let headers = |value: &str| json!({"http_health_check": {"headers": {"sealed": value}, "path": "/"}});
        assert_eq!(
            edits("healthcheck", "health_check", headers("one"), headers("two")),
            ["spec.http_health_check.headers.sealed one -> two"]
        );
        let kind = KindName::find("healthcheck").expect("a kind");
        let shown = of_value(kind, "health_check", &headers("one"));
        assert!(shown.contains(&("http_health_check.headers.sealed".to_owned(), "one".to_owned())), "{shown:?}");
        let mark = json!({"sealed": "0123456789abcdef0123456789abcdef"});
        assert_eq!(
            edits("certificate", "private_key", json!({}), mark),
            ["spec.private_key (not shown) -> sealed 0123456789abcdef0123456789abcdef"]
        );
    }

    #[test]
    fn a_word_that_an_answer_leaves_out_is_named() {
        let rules = |rule: Json| json!([{"metadata": {"name": "r"}, "spec": rule}]);
        let list = |rule| json!({"rule_list": {"rules": rules(rule)}});
        let (allow, none, deny) = (json!({"action": "ALLOW"}), json!({}), json!({"action": "DENY"}));
        let action = "spec.rule_list.rules[r].spec.action";
        for (before, after, edit) in [(&none, &allow, "DENY -> ALLOW"), (&allow, &deny, "ALLOW -> DENY")] {
            let edits = edits("service_policy", "rule_choice", list(before.clone()), list(after.clone()));
            assert_eq!(edits, [format!("{action} {edit}")]);
        }
        assert_eq!(edits("service_policy", "rule_choice", list(none), list(deny)), Vec::<String>::new());
    }

    #[test]
    fn an_item_that_goes_has_the_word_that_an_answer_leaves_out() {
        let rule = |name: &str| json!({"metadata": {"name": name}, "spec": {"any_client": {}}});
        let list = |rules: Json| json!({"rule_list": {"rules": rules}});
        let edits =
            edits("service_policy", "rule_choice", list(json!([rule("a"), rule("b")])), list(json!([rule("a")])));
        assert!(edits.contains(&"spec.rule_list.rules[b].spec.action DENY -> (none)".to_owned()), "{edits:?}");
    }

    #[test]
    fn items_are_compared_by_what_they_are() {
        let rule = |name: &str, text: &str| json!({"metadata": {"name": name}, "spec": {"text": text}});
        let list = |items: &[(&str, &str)]| Json::Array(items.iter().map(|(name, text)| rule(name, text)).collect());
        let of = |before: &[(&str, &str)], after: &[(&str, &str)]| {
            edits("rate_limiter_policy", "rules", list(before), list(after))
        };
        let (a, b, c) = (("a", "1"), ("b", "2"), ("c", "3"));
        assert_eq!(
            of(&[a, b], &[c, a, ("b", "4")]),
            [
                "spec.rules[b].spec.text 2 -> 4",
                "spec.rules[0].metadata.name (none) -> c",
                "spec.rules[0].spec.text (none) -> 3",
            ]
        );
        assert_eq!(of(&[a, b, c], &[c, a, b]), ["spec.rules[c] at [2] -> at [0]"]);
        assert_eq!(
            of(&[a, b, c], &[c, b, a]),
            ["spec.rules[c] at [2] -> at [0]", "spec.rules[b] at [1] -> at [1], before a [2]"]
        );
        assert_eq!(
            of(&[a, b, c], &[b, c]),
            ["spec.rules[a].metadata.name a -> (none)", "spec.rules[a].spec.text 1 -> (none)"]
        );
        assert_eq!(of(&[a, b], &[a, b]), Vec::<String>::new());
    }

    #[test]
    fn an_item_has_a_number_where_its_name_is_shared_or_like_a_number() {
        let of = |before: &[&str], after: &[&str]| {
            let rules = |names: &[&str], text: &str| {
                names.iter().map(|name| json!({"metadata": {"name": name}, "spec": {"text": text}})).collect::<Json>()
            };
            edits("rate_limiter_policy", "rules", rules(before, "1"), rules(after, "2"))
        };
        assert_eq!(of(&["a", "1"], &["a", "1"]), ["spec.rules[a].spec.text 1 -> 2", "spec.rules[1].spec.text 1 -> 2"]);
        assert_eq!(of(&["a", "a"], &["a", "a"]), ["spec.rules[0].spec.text 1 -> 2", "spec.rules[1].spec.text 1 -> 2"]);
    }

    /// Every list of some of these items, each at most once.
    fn lists(items: &[&'static str]) -> Vec<Vec<&'static str>> {
        let mut lists = vec![Vec::new()];
        for (at, first) in items.iter().enumerate() {
            let others = [&items[..at], &items[at + 1..]].concat();
            lists.extend(self::lists(&others).into_iter().map(|rest| [vec![*first], rest].concat()));
        }
        lists
    }

    #[test]
    fn no_two_orders_of_a_list_are_shown_alike() {
        let list = |names: &[&str]| names.iter().map(|name| json!({"metadata": {"name": name}})).collect::<Json>();
        let mut shown = std::collections::HashMap::new();
        for wanted in lists(&["a", "b", "c", "d", "new"]) {
            let edits = edits("rate_limiter_policy", "rules", list(&["a", "b", "c", "d"]), list(&wanted));
            assert!(!edits.is_empty() || wanted == ["a", "b", "c", "d"], "{wanted:?}");
            if let Some(other) = shown.insert(edits, wanted.clone()) {
                panic!("{wanted:?} and {other:?}");
            }
        }
        assert_eq!(shown.len(), 326);
    }

    #[test]
    fn a_reference_in_the_place_of_another_is_one_edit() {
        let of = |before: &[&str], after: &[&str]| {
            let [before, after] = [before, after].map(|names| names.iter().map(|name| json!({"name": name})).collect());
            edits("origin_pool", "healthcheck", before, after)
        };
        assert_eq!(of(&["a", "b"], &["c", "b"]), ["spec.healthcheck[0] a -> c"]);
        assert_eq!(
            of(&["a", "b"], &["b", "c"]),
            ["spec.healthcheck[0] a -> (none)", "spec.healthcheck[1] (none) -> c"]
        );
        assert_eq!(of(&["a", "b"], &["b"]), ["spec.healthcheck[0] a -> (none)"]);
    }
}
