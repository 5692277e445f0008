//! Compares a definition with a live endpoint, field by field. Both are canonical, so comparing is
//! comparing values; this module knows which values count: what the service fills in a reference,
//! who owns which labels and annotations, and what a configuration ignores. Pure.

use std::collections::BTreeSet;

use crate::model::{AppliedFields, Field, Json, Object, PROTECT, is_ownership_annotation};

/// A field whose live and desired values differ.
#[derive(Debug, Clone, PartialEq)]
pub struct Difference {
    /// Which field.
    pub field: Field,
    /// The live value; `null` is absence.
    pub live: Json,
    /// The desired value; `null` is absence.
    pub desired: Json,
}

/// What a comparison needs beside the two endpoints.
#[derive(Debug, Clone, Copy, Default)]
pub struct CompareOptions<'a> {
    /// What we applied to the live object: it names the annotations that we wrote.
    pub applied: Option<&'a AppliedFields>,
    /// Fields that are left out.
    pub ignored: &'a [Field],
    /// Of another kind than endpoint, what the definition does not name is a difference.
    pub strict: bool,
}

/// The fields in which `live` is not as `desired` wants it, in the order of [`Field`].
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

/// The live value as far as the definition names it; of a unit that the definition covers whole, also all that the service
/// did not fill.
fn seen(field: &Field, live: &Object, desired: &Object, options: CompareOptions<'_>) -> Json {
    let Some(unit) = field.unit().filter(|_| !live.key.kind.is_whole()) else { return field.value(live) };
    // What no answer shows does not differ where it is as applied.
    let is_applied = options.applied.is_some_and(|applied| applied.hidden_as_applied(field, desired));
    let seen = live.spec.seen_as(unit, &desired.spec);
    let seen = if is_applied { seen } else { live.spec.without_hidden(unit, &seen) };
    match covers(field, live, desired, options) {
        true => joined(field.digested(live).unwrap_or_default(), seen),
        false => seen,
    }
}

/// What either of two views of one value has, and of both the second.
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

/// Whether there is something in a unit that the definition does not name, and that an apply removes: an apply wrote exactly
/// what is live, so the definition named it before, or nothing else may be there.
pub fn covers(field: &Field, live: &Object, desired: &Object, options: CompareOptions<'_>) -> bool {
    let is_fuller = field.unit().is_some_and(|unit| live.spec.has_more(unit, &desired.spec));
    if !is_fuller {
        return false;
    }
    // No digest has what the description does not know: that stays whatever happens.
    let now = field.digested(live);
    let was_applied = || now.is_some() && options.applied.is_some_and(|applied| applied.is_as_applied(field, live));
    let is_strict = options.strict && !live.key.kind.is_whole();
    now != field.digested(desired) && (is_strict || was_applied())
}

/// Whether the two agree in `field`, as far as `desired` sets it.
pub fn same(field: &Field, live: &Object, desired: &Object, options: CompareOptions<'_>) -> bool {
    let Some(unit) = field.unit() else { return field.is_same(live, desired) };
    if live.spec.agrees_in(unit, &desired.spec) {
        return true;
    }
    live.spec.is_as(unit, &desired.spec)
        && options.applied.map_or_else(
            // What was never applied may be taken.
            || live.spec.takes(unit, &desired.spec),
            |applied| live.spec.shows(unit, &desired.spec) || applied.hidden_as_applied(field, desired),
        )
        && !covers(field, live, desired, options)
}

/// The fields that were applied, that no answer shows and that the definition does not name: a replace resets them. Where
/// another option of a group is shown, the service made that of it.
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
        // One that the service may write goes where an apply wrote exactly what is live.
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

/// The fields of two live states of one object that differ and that a plan for `desired` depends on:
/// everything that [`compare`] looks at, without the annotations of others.
/// `names` is true for the labels and annotations that the definition names.
pub fn moved(
    before: &Object,
    now: &Object,
    names: impl Fn(&Field) -> bool,
    options: CompareOptions<'_>,
) -> BTreeSet<Field> {
    let is_moved = |field: &Field| match field.unit() {
        // Both are live, so that what one names is not less than the other.
        Some(unit) if !now.key.kind.is_whole() => {
            let (before, now) = (&before.spec, &now.spec);
            let [one, other] = [before, now].map(|spec| spec.without_hidden(unit, &spec.unit(unit)));
            // What was written has no fills yet.
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
    // Comparing the value is cheaper than finding whose it is.
    let is_ours = |field: &Field| match field {
        Field::Label(key) => !now.key.kind.kind().writes_label(key),
        Field::Annotation(key) if is_ownership_annotation(key) || key == PROTECT => true,
        _ => options.applied.is_some_and(|applied| applied.wrote(field)),
    };
    fields.extend(labels.chain(annotations).filter(|field| is_ours(field) || names(field)));
    fields.retain(|field| !options.ignored.contains(field));
    fields
}

/// Whether `live` is what a service shows of `written` without losing a field: all is equal but for what it fills in the
/// references of a place. Cheaper than [`moved`], and nearly always true of what was just applied.
pub fn is_as_written(live: &Object, written: &Object) -> bool {
    let Object { key, labels, annotations, description, disable, spec } = live;
    let (one, other) = ((key, labels, annotations, description, disable), written);
    one == (&other.key, &other.labels, &other.annotations, &other.description, &other.disable)
        && spec.is_as_written(&other.spec)
}

#[cfg(test)]
mod tests;
