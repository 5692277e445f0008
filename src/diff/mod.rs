//! Compares a definition with a live object, field by field. Both are canonical, so values can be
//! compared directly; this module knows which values count: what the service fills in, who owns which
//! labels and annotations, and which fields the settings ignore. Pure.

use std::collections::BTreeSet;

use crate::model::{AppliedFields, Field, Json, Object, PROTECT, is_ownership_annotation};

/// A field whose live and desired values differ.
#[derive(Debug, Clone, PartialEq)]
pub struct Difference {
    /// Which field.
    pub field: Field,
    /// The live value; `null` means absent.
    pub live: Json,
    /// The desired value; `null` means absent.
    pub desired: Json,
}

/// The input of a comparison besides the two objects.
#[derive(Debug, Clone, Copy, Default)]
pub struct CompareOptions<'a> {
    /// What trueup applied to the live object, including which annotations it wrote.
    pub applied: Option<&'a AppliedFields>,
    /// Fields that are left out.
    pub ignored: &'a [Field],
    /// For kinds other than endpoint, values that the definition does not name are differences.
    pub strict: bool,
}

/// The fields in which `live` differs from `desired`, in the order of [`Field`].
pub fn compare(live: &Object, desired: &Object, options: CompareOptions<'_>) -> Vec<Difference> {
    let mut fields: BTreeSet<Field> = if live.spec.agrees(&desired.spec) {
        Field::OF_METADATA.into_iter().filter(|field| !field.is_same(live, desired)).collect()
    } else {
        Field::of_both(live, desired).filter(|field| !same(field, live, desired, options)).collect()
    };
    maps(live, desired, options, &mut fields);
    fields.extend(options.applied.into_iter().flat_map(|applied| reset(live, desired, applied)));
    fields.retain(|field| !options.ignored.contains(field));
    fields
        .into_iter()
        .map(|field| Difference { live: seen(&field, live, desired, options), desired: field.value(desired), field })
        .collect()
}

/// The part of the live value that the definition names; if an apply removes the rest of the unit, also everything that
/// the service did not fill in.
fn seen(field: &Field, live: &Object, desired: &Object, options: CompareOptions<'_>) -> Json {
    let Some(unit) = field.unit().filter(|_| !live.key.kind.is_whole()) else { return field.value(live) };
    // Hidden values are equal if they are those that were applied.
    let is_applied = options.applied.is_some_and(|applied| applied.hidden_as_applied(field, desired));
    let seen = live.spec.seen_as(unit, &desired.spec);
    let seen = if is_applied { seen } else { live.spec.without_hidden(unit, &seen) };
    match covers(field, live, desired, options) {
        true => joined(field.digested(live).unwrap_or_default(), seen),
        false => seen,
    }
}

/// Merges two views of one value; the second wins.
fn joined(one: Json, other: Json) -> Json {
    match (one, other) {
        (Json::Object(mut one), Json::Object(other)) => {
            for (key, value) in other {
                let value = joined(one.remove(&key).unwrap_or_default(), value);
                one.insert(key, value);
            }
            Json::Object(one)
        }
        (Json::Array(one), Json::Array(other)) if one.len() == other.len() => {
            one.into_iter().zip(other).map(|(one, other)| joined(one, other)).collect()
        }
        (one, Json::Null) => one,
        (_, other) => other,
    }
}

/// Whether a unit has live values that the definition does not name and that an apply removes: an apply wrote exactly
/// the live unit, so the definition named them before, or the settings are strict for the kind.
pub fn covers(field: &Field, live: &Object, desired: &Object, options: CompareOptions<'_>) -> bool {
    let is_fuller = field.unit().is_some_and(|unit| live.spec.has_more(unit, &desired.spec));
    if !is_fuller {
        return false;
    }
    // Digests do not cover keys that the description does not have; these always stay.
    let now = field.digested(live);
    let was_applied = || now.is_some() && options.applied.is_some_and(|applied| applied.is_as_applied(field, live));
    let is_strict = options.strict && !live.key.kind.is_whole();
    now != field.digested(desired) && (is_strict || was_applied())
}

/// Whether `live` has the values of `field` that `desired` sets.
pub fn same(field: &Field, live: &Object, desired: &Object, options: CompareOptions<'_>) -> bool {
    let Some(unit) = field.unit() else { return field.is_same(live, desired) };
    if live.spec.agrees_in(unit, &desired.spec) {
        return true;
    }
    live.spec.is_as(unit, &desired.spec)
        && options.applied.map_or_else(
            // Without a record, live has to show that the service accepted all keys.
            || live.spec.takes(unit, &desired.spec),
            |applied| live.spec.shows(unit, &desired.spec) || applied.hidden_as_applied(field, desired),
        )
        && !covers(field, live, desired, options)
}

/// The fields with applied hidden values that the definition no longer names: a replace resets them. A group with
/// another live option is not among them: the service turned the applied option into that one.
pub fn reset<'o>(
    live: &'o Object,
    desired: &'o Object,
    applied: &'o AppliedFields,
) -> impl Iterator<Item = Field> + 'o {
    let is_absent = |unit: &&str| live.spec.names().chain(desired.spec.names()).all(|named| named != *unit);
    let units = live.spec.reset().filter(is_absent);
    units.map(Field::of_unit).filter(|field| applied.has_hidden(field))
}

fn maps(live: &Object, desired: &Object, options: CompareOptions<'_>, fields: &mut BTreeSet<Field>) {
    if live.labels != desired.labels {
        let kind = live.key.kind.kind();
        // A label that the service may write is removed only if an apply wrote exactly the live value.
        let as_applied = |label: Field| options.applied.is_some_and(|applied| applied.is_as_applied(&label, live));
        let is_ours = |key: &String| !kind.writes_label(key) || as_applied(Field::Label(key.clone()));
        let gone = live.labels.keys().filter(|key| !desired.labels.contains_key(*key) && is_ours(key));
        let wanted = desired.labels.iter().filter(|(key, value)| live.labels.get(*key) != Some(value));
        fields.extend(gone.chain(wanted.map(|(key, _)| key)).cloned().map(Field::Label));
    }
    let ours = |key: &str| options.applied.is_some_and(|applied| applied.wrote(&Field::Annotation(key.to_owned())));
    let gone = live
        .annotations
        .keys()
        .filter(|key| !desired.annotations.contains_key(*key) && !is_ownership_annotation(key) && ours(key));
    let wanted = desired
        .annotations
        .iter()
        .filter(|(key, value)| !is_ownership_annotation(key) && live.annotations.get(*key) != Some(value));
    fields.extend(gone.chain(wanted.map(|(key, _)| key)).cloned().map(Field::Annotation));
}

/// The fields that differ between two live states of one object and that a plan depends on: everything
/// that [`compare`] checks, without the annotations of others.
/// `names` is true for the labels and annotations that the definition names.
pub fn moved(
    before: &Object,
    now: &Object,
    names: impl Fn(&Field) -> bool,
    options: CompareOptions<'_>,
) -> BTreeSet<Field> {
    let is_moved = |field: &Field| match field.unit() {
        // Both are live, so neither is only a part of the other.
        Some(unit) if !now.key.kind.is_whole() => {
            let (before, now) = (&before.spec, &now.spec);
            let [one, other] = [before, now].map(|spec| spec.without_hidden(unit, &spec.unit(unit)));
            // An object as it was written lacks the values that the service fills in.
            let is_as_filled = || now.is_as(unit, before) && now.adds_nothing(unit, before);
            one != other && !is_as_filled()
        }
        _ => !same(field, now, before, options),
    };
    let mut fields: BTreeSet<Field> = Field::of_both(before, now).filter(is_moved).collect();
    let keys = before.labels.keys().chain(now.labels.keys());
    let differs = |key: &&String| before.labels.get(*key) != now.labels.get(*key);
    let labels = keys.filter(differs).cloned().map(Field::Label);
    let keys = before.annotations.keys().chain(now.annotations.keys());
    let differs = |key: &&String| before.annotations.get(*key) != now.annotations.get(*key);
    let annotations = keys.filter(differs).cloned().map(Field::Annotation);
    // Comparing the values first is cheaper than finding the owner.
    let is_ours = |field: &Field| match field {
        Field::Label(key) => !now.key.kind.kind().writes_label(key),
        Field::Annotation(key) if is_ownership_annotation(key) || key == PROTECT => true,
        _ => options.applied.is_some_and(|applied| applied.wrote(field)),
    };
    fields.extend(labels.chain(annotations).filter(|field| is_ours(field) || names(field)));
    fields.retain(|field| !options.ignored.contains(field));
    fields
}

/// Whether `live` shows everything that was `written`: it may differ only in values that the service filled in. Cheaper
/// than [`moved`], and nearly always true for an object that was just applied.
pub fn is_as_written(live: &Object, written: &Object) -> bool {
    let Object { key, labels, annotations, description, disable, spec } = live;
    let (one, other) = ((key, labels, annotations, description, disable), written);
    one == (&other.key, &other.labels, &other.annotations, &other.description, &other.disable)
        && spec.is_as_written(&other.spec)
}

#[cfg(test)]
mod tests;
