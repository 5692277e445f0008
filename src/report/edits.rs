//! A change as edits of named values, each with its live and its wanted value: the form in which Markdown
//! and HTML draw differences. Options of an exclusive group are taken apart, so that a change of option
//! reads as one value that is removed and one that is added; each prefix has a line of its own. The texts
//! are untrusted: whoever draws them escapes them.

use std::collections::BTreeMap;

use similar::{ChangeTag, TextDiff};

use super::rows::{self, RowText};
use super::safe;
use crate::model::{Endpoint, Field, SourceLocation};
use crate::plan::{Action, Attribution, Cause, Change, FieldChange};

/// One value that comes, goes or becomes another.
#[derive(Debug, Clone, PartialEq)]
pub struct ValueEdit {
    /// The field, by the name that a file gives it.
    pub name: String,
    /// The live value; nothing is absence.
    pub before: Option<String>,
    /// The wanted value; nothing is absence.
    pub after: Option<String>,
    /// Why it differs; nothing for what a whole object brings along.
    pub cause: Option<Cause>,
    /// Whose change it is.
    pub attribution: Option<Attribution>,
    /// Where the definition says it.
    pub place: Option<SourceLocation>,
}

/// What a line of a difference is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sign {
    /// It goes.
    Gone,
    /// It comes.
    Come,
    /// It stays, and is there to show the place.
    Same,
}

/// Changes with one and the same edit.
#[derive(Debug, Clone)]
pub struct FoldedChanges<'a> {
    /// What each of them does.
    pub edits: Vec<ValueEdit>,
    /// The changes, at least one.
    pub changes: Vec<&'a Change>,
}

/// The edits of a change: of a create all that comes, of a delete all that goes.
#[must_use]
pub fn of(change: &Change) -> Vec<ValueEdit> {
    match &change.action {
        Action::Create { wanted } => of_endpoint(wanted),
        Action::Replace { fields, .. } => fields.iter().flat_map(of_field).collect(),
        Action::Annotate { .. } => Vec::new(),
        Action::Delete { before, .. } => of_endpoint(&before.endpoint)
            .into_iter()
            .map(|edit| ValueEdit { before: edit.after, after: None, ..edit })
            .collect(),
    }
}

fn of_endpoint(endpoint: &Endpoint) -> Vec<ValueEdit> {
    rows::of_endpoint(endpoint)
        .into_iter()
        .map(|row| {
            let RowText::Value(text) = row.text else { return edit(row.name, None, None) };
            edit(row.name, None, Some(text))
        })
        .collect()
}

fn edit(name: String, before: Option<String>, after: Option<String>) -> ValueEdit {
    ValueEdit { name, before, after, cause: None, attribution: None, place: None }
}

/// The edits of one field.
#[must_use]
pub fn of_field(change: &FieldChange) -> Vec<ValueEdit> {
    let FieldChange { field, before, after, cause, attribution: side, place } = change;
    let edits = match field {
        Field::Target => {
            let (old, new) = (rows::target_parts(before), rows::target_parts(after));
            let value = |parts: &[(String, String)], name: &str| {
                parts.iter().find(|part| part.0 == name).map(|part| part.1.clone())
            };
            let mut names: Vec<&String> = old.iter().chain(&new).map(|part| &part.0).collect();
            names.dedup();
            let mut edits: BTreeMap<String, ValueEdit> = BTreeMap::new();
            for name in names {
                let (before, after) = (value(&old, name), value(&new, name));
                if before != after {
                    edits.insert(name.clone(), edit(format!("spec.{name}"), before, after));
                }
            }
            // A removed value is listed before the one that replaces it.
            let mut edits: Vec<ValueEdit> = edits.into_values().collect();
            edits.sort_by_key(|edit| edit.before.is_none());
            edits
        }
        Field::SnatPool => {
            let list = |value| {
                let prefixes = rows::prefixes(value)?.into_iter().collect::<Vec<_>>();
                Some(prefixes.join("\n"))
            };
            vec![edit("spec.snat_pool".to_owned(), list(before), list(after))]
        }
        _ => rows::of_field(change)
            .into_iter()
            .map(|row| match row.text {
                RowText::Value(text) | RowText::Words(text) => edit(row.name, None, Some(text)),
                RowText::Moved { before, after } => edit(row.name, before, after),
                RowText::Lines { before, after } => {
                    let present = |text: String, value: &crate::model::Json| (!value.is_null()).then_some(text);
                    edit(row.name, present(before, &change.before), present(after, &change.after))
                }
            })
            .collect(),
    };
    edits
        .into_iter()
        .map(|edit| ValueEdit { cause: Some(*cause), attribution: *side, place: place.clone(), ..edit })
        .collect()
}

impl ValueEdit {
    /// The edit as signed lines.
    #[must_use]
    pub fn lines(&self) -> Vec<(Sign, String)> {
        let (before, after) = (self.before.as_deref(), self.after.as_deref());
        let many = |text: Option<&str>| text.is_some_and(|text| text.contains('\n'));
        if !many(before) && !many(after) {
            let line = |sign, text: Option<&str>| text.map(|text| (sign, text.to_owned()));
            return line(Sign::Gone, before).into_iter().chain(line(Sign::Come, after)).collect();
        }
        let (old, new) = (split(before), split(after));
        let difference = TextDiff::from_slices(&old, &new);
        let mut lines = Vec::new();
        for (at, group) in difference.grouped_ops(2).iter().enumerate() {
            if at > 0 {
                lines.push((Sign::Same, "…".to_owned()));
            }
            for change in group.iter().flat_map(|operation| difference.iter_changes(operation)) {
                let sign = match change.tag() {
                    ChangeTag::Delete => Sign::Gone,
                    ChangeTag::Insert => Sign::Come,
                    ChangeTag::Equal => Sign::Same,
                };
                lines.push((sign, change.value().to_owned()));
            }
        }
        lines
    }
}

/// Lines, of which a final line break leaves an empty one: it can be the difference.
fn split(text: Option<&str>) -> Vec<&str> {
    text.map(|text| text.split('\n').collect()).unwrap_or_default()
}

/// The changes, those with one and the same edit together; marks are left out. Edits that many share
/// come where the first of them stands.
#[must_use]
pub fn fold<'a>(changes: impl IntoIterator<Item = &'a Change>) -> Vec<FoldedChanges<'a>> {
    let mut folds: Vec<FoldedChanges<'a>> = Vec::new();
    let mut at: BTreeMap<String, usize> = BTreeMap::new();
    for change in changes {
        let edits = match &change.action {
            Action::Annotate { .. } => continue,
            Action::Replace { .. } | Action::Create { .. } | Action::Delete { .. } => of(change),
        };
        let Action::Replace { fields, adopts, .. } = &change.action else {
            folds.push(FoldedChanges { edits, changes: vec![change] });
            continue;
        };
        let rendered =
            fields.iter().map(|field| (&field.field, &field.before, &field.after, field.cause, field.attribution));
        let same = format!("{adopts} {:?}", rendered.collect::<Vec<_>>());
        match at.get(&same) {
            Some(at) => folds[*at].changes.push(change),
            None => {
                at.insert(same, folds.len());
                folds.push(FoldedChanges { edits, changes: vec![change] });
            }
        }
    }
    folds
}

/// Why an object is missing that a commit which was applied defines.
const DELETED_OR_FAILED: &str = "deleted outside, or its create failed";

/// Why a change is there, with the commit that it follows from.
#[must_use]
pub fn reason_since(change: &Change) -> String {
    match &change.applied_in {
        Some(commit) if change.attribution.is_none() => {
            let commit: String = safe::line(commit).chars().take(7).collect();
            format!("{}, since {commit}", reason(change))
        }
        _ => reason(change).to_owned(),
    }
}

/// Why a change is there, in a word or two: whose it is where a base says so, else its cause.
#[must_use]
pub fn reason(change: &Change) -> &'static str {
    if let Some(side) = change.attribution {
        return side.as_str();
    }
    let fields = change.fields();
    match (&change.action, change.cause) {
        (Action::Create { .. }, Some(Cause::Drift)) if change.applied_in.is_some() => DELETED_OR_FAILED,
        (Action::Create { .. }, Some(Cause::Drift)) => "deleted outside",
        (Action::Create { .. }, _) => "new",
        (Action::Delete { .. }, Some(Cause::Unmarked)) => "not managed",
        (Action::Delete { .. }, _) => "definition removed",
        (Action::Annotate { .. }, _) => "in sync",
        (Action::Replace { adopts: true, .. }, _) => "adopts",
        (Action::Replace { .. }, _) => {
            let sides = one(fields.iter().map(|field| field.attribution));
            let causes = one(fields.iter().map(|field| field.cause));
            match (sides, causes) {
                (Some(Some(side)), _) => side.as_str(),
                (None, _) if has(fields, Attribution::ThisChange) => "this change and others",
                (None, _) if has(fields, Attribution::BehindBase) => "behind base and others",
                (None, _) => "not this change",
                (Some(None), Some(cause)) => cause.as_str(),
                (Some(None), None) => "pending and drift",
            }
        }
    }
}

fn has(fields: &[FieldChange], side: Attribution) -> bool {
    fields.iter().any(|field| field.attribution == Some(side))
}

/// The value that all share.
fn one<T: PartialEq>(mut values: impl Iterator<Item = T>) -> Option<T> {
    let first = values.next()?;
    values.all(|value| value == first).then_some(first)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::model::Json;

    fn lines(field: Field, before: Json, after: Json) -> Vec<String> {
        let change = FieldChange { field, before, after, cause: Cause::Pending, attribution: None, place: None };
        of_field(&change)
            .iter()
            .flat_map(|edit| {
                let line = |(sign, text): (Sign, String)| {
                    let sign = match sign {
                        Sign::Gone => '-',
                        Sign::Come => '+',
                        Sign::Same => ' ',
                    };
                    format!("{sign} {} {text}", edit.name)
                };
                edit.lines().into_iter().map(line).collect::<Vec<_>>()
            })
            .collect()
    }

    #[test]
    fn a_change_of_option_is_one_value_that_goes_and_one_that_comes() {
        let lines = lines(Field::Target, json!({"ip": "10.0.0.7"}), json!({"dns_name": "a.example.net"}));
        assert_eq!(lines, ["- spec.ip 10.0.0.7", "+ spec.dns_name a.example.net"]);
    }

    #[test]
    fn only_the_prefixes_that_come_and_go_are_signed() {
        let pool = |prefixes: &[&str]| json!({"snat_pool": {"prefixes": prefixes}});
        let lines =
            lines(Field::SnatPool, pool(&["10.1.0.0/16", "10.2.0.0/16"]), pool(&["10.2.0.0/16", "10.3.0.0/16"]));
        assert_eq!(
            lines,
            ["- spec.snat_pool 10.1.0.0/16", "  spec.snat_pool 10.2.0.0/16", "+ spec.snat_pool 10.3.0.0/16"]
        );
    }

    #[test]
    fn a_long_text_that_comes_has_nothing_that_goes() {
        let long = "x".repeat(100);
        assert_eq!(lines(Field::Label("a".to_owned()), Json::Null, json!(long)), [format!("+ labels.a {long}")]);
    }
}
