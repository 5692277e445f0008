//! The value of a field in words. Every report shows values with these texts. They are as the files and the service wrote
//! them, so drawers escape them.

use crate::kind::KindName;
use crate::model::shape::words::{Choice, UnitForm, names_part, place, prefixes, scalar};
use crate::model::{Field, Json, Object, StringMap, is_ownership_annotation};
use crate::report::line::{Line, code, line};

/// The value of a field as words; nothing is absence.
pub fn words(kind: KindName, field: &Field, value: &Json) -> Option<String> {
    match field.form(kind) {
        UnitForm::Choice => {
            let chosen = Choice::of(value);
            (!chosen.option.is_empty()).then(|| format!("{} {}", chosen.option, chosen.text()))
        }
        _ => of_value(kind, field, value, None),
    }
}

/// The value of a field; nothing is absence. Parts of a reference that `other` does not name are left out.
pub fn of_value(kind: KindName, field: &Field, value: &Json, other: Option<&Json>) -> Option<String> {
    match field.form(kind) {
        UnitForm::Place => place(value, names_part(other)),
        UnitForm::Prefixes => Some(
            prefixes(value)
                .map_or_else(|| "none".to_owned(), |prefixes| prefixes.into_iter().collect::<Vec<_>>().join(", ")),
        ),
        UnitForm::Value | UnitForm::Number | UnitForm::Choice => scalar(value),
    }
}

/// What an endpoint points at, in words; nothing for an object of another kind.
pub fn target(endpoint: &Object) -> Option<String> {
    let kind = endpoint.key.kind;
    let field = Field::FIXED.into_iter().find(|field| field.form(kind) == UnitForm::Choice)?;
    words(kind, &field, &field.value(endpoint))
}

/// The address of an endpoint: its target, and what belongs to it; nothing for an object of another kind.
pub fn address(endpoint: &Object) -> Option<Line<'static>> {
    let mut address = line![code(target(endpoint)?)];
    for field in Field::FIXED.into_iter().filter(Field::is_address) {
        if field.form(endpoint.key.kind) == UnitForm::Number && !field.is_default(endpoint) {
            let name = field.unit().unwrap_or_default().to_owned();
            address = line![address, ", ", code(name), " ", code(field.value(endpoint).to_string())];
        }
    }
    Some(address)
}

/// A map as `key=value` pairs, without the ownership annotations, which no definition sets.
pub fn pairs(map: &StringMap) -> String {
    let theirs = map.iter().filter(|(key, _)| !is_ownership_annotation(key));
    theirs.map(|(key, value)| format!("{key}={value}")).collect::<Vec<_>>().join(", ")
}

/// Whether a choice stays, in words.
pub fn choice_words(before: &Json, after: &Json) -> Line<'static> {
    let (old, new) = (Choice::of(before), Choice::of(after));
    match old.option == new.option {
        true => line!["stays ", new.noun()],
        false => line!["becomes ", new.noun(), " instead of ", old.noun()],
    }
}
