//! Adopts live values into files: edits only the bytes of the values that changed, so that comments, order,
//! quotes and line breaks stay. Values from a variable, an alias, a merge key or an overlay are left alone.
//! The result of every edit is read again, and the edit is withdrawn where that is not the wanted value.
//! Pure: texts in, texts out.

mod field;
mod list;
mod overlay;
mod part;
mod patch;
#[cfg(test)]
mod tests;
mod value;

use std::collections::BTreeMap;
use std::sync::Arc;

pub use overlay::{adopt_into_overlay, overlay_files, removal_in_overlay};
use part::parts;
use patch::Patch;

use super::careful::{self, ReadContext, SecondReading};
use super::item::{self, Item};
use super::loaded::Loaded;
use super::overlays::{Overlay, Overlays};
use super::source_map::written;
use super::splice::{Splice, spliced};
use super::text::SourceText;
use crate::file::FileEdit;
use crate::kind;
use crate::model::{Field, Json, Key, Object, gathered};

/// A live value that a definition is to adopt.
#[derive(Debug, Clone, PartialEq)]
pub struct ValueToAdopt {
    /// Which object.
    pub key: Key,
    /// Which field.
    pub field: Field,
    /// The live value, as [`Field::value`] returns it; `null` means absent. For kinds other than endpoint, only the
    /// parts that the definition names.
    pub live: Json,
    /// The whole live value, where the parts that the definition does not name are adopted too.
    pub unnamed: Option<Json>,
    /// The tenant of the live object, where it is known.
    pub tenant: Option<String>,
}

/// The result of adopting values.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct AdoptedEdits {
    /// The files that change, by path.
    pub files: BTreeMap<Arc<str>, FileEdit>,
    /// The values that they adopt.
    pub adopted: Vec<(Key, Field)>,
    /// The values that they do not adopt, and why.
    pub left: Vec<(Key, Field, NotEditable)>,
}

impl AdoptedEdits {
    fn add(&mut self, wanted: &ValueToAdopt, made: Result<(), NotEditable>) {
        let (key, field) = (wanted.key.clone(), wanted.field.clone());
        match made {
            Ok(()) => self.adopted.push((key, field)),
            Err(reason) => self.left.push((key, field, reason)),
        }
    }
}

/// Why a value is not edited in place.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NotEditable {
    /// A variable is in it.
    #[error("a variable is in it: change the variable, or write the value out")]
    Variable,
    /// An alias names it.
    #[error("an alias is written there: change what it names, or write the value out")]
    Alias,
    /// It carries an anchor.
    #[error("it carries an anchor, and aliases elsewhere read it too: edit it by hand")]
    Anchor,
    /// It comes from a merge key.
    #[error("it comes from a merge key: change what it merges, or write the value out")]
    MergeKey,
    /// An overlay sets it.
    #[error("the overlay {0} sets it: edit it there")]
    Overlay(String),
    /// The text to replace contains a comment.
    #[error("it contains a comment: edit it by hand")]
    Comment,
    /// The old or the new value contains a secret, which no response of the service shows.
    #[error("it contains a secret: edit it by hand")]
    Secret,
    /// Its file is a link.
    #[error("its file is a link, which is never replaced: edit the file that it leads to")]
    Link,
    /// The name of a new file for it would be too long.
    #[error("its name is too long for a file: edit the overlay by hand")]
    LongName,
    /// It is written in a way that edits in place do not support.
    #[error("it is written in a way that cannot be edited in place: edit it by hand")]
    Shape,
    /// Another process changed the value in the file while live was read.
    #[error("its value was edited while live was read: run the command again")]
    EditedMeanwhile,
    /// The edited file did not have the wanted value.
    #[error("an edit in place would not give the live value: edit it by hand")]
    Withdrawn,
}

/// The edits that adopt the live values in the files of `loaded`. Nothing is written.
pub fn adopt(loaded: &Loaded, wanted: &[ValueToAdopt]) -> AdoptedEdits {
    let file = |wanted: &ValueToAdopt| Some(loaded.desired.definitions.get(&wanted.key)?.file.clone());
    let by_file = wanted.iter().filter_map(|wanted| Some((file(wanted)?, wanted)));
    let by_file: BTreeMap<Arc<str>, Vec<&ValueToAdopt>> = gathered(by_file);
    let (mut edits, mut overlays) = (AdoptedEdits::default(), loaded.overlays());
    for (file, wanted) in by_file {
        let overlays = overlays.remove(&file).unwrap_or_default();
        let reading = SecondReading::new(loaded, overlays);
        let context = reading.context(&mut Vec::new());
        Editor { loaded, file, context }.adopt(&wanted, &mut edits);
    }
    edits
}

/// An edit of a field from its current value to the wanted one.
type Edit = fn(&mut Patch<'_>, &Field, &Json, &Json) -> Result<(), NotEditable>;

/// One file and the context to read it.
struct Editor<'l> {
    loaded: &'l Loaded,
    file: Arc<str>,
    context: ReadContext<'l>,
}

impl Editor<'_> {
    /// Edits each document separately, so that a failed edit does not make other documents be read again.
    fn adopt(&self, wanted: &[&ValueToAdopt], edits: &mut AdoptedEdits) {
        let Some(text) = self.loaded.origin.read(&self.file).ok().and_then(|bytes| String::from_utf8(bytes).ok())
        else {
            wanted.iter().for_each(|one| edits.add(one, Err(NotEditable::EditedMeanwhile)));
            return;
        };
        let Some(before) = self.endpoints(&text) else {
            wanted.iter().for_each(|one| edits.add(one, Err(NotEditable::Withdrawn)));
            return;
        };
        if !self.loaded.origin.is_replaceable(&self.file) {
            wanted.iter().for_each(|one| edits.add(one, Err(NotEditable::Link)));
            return;
        }
        let of_key = wanted.iter().enumerate().map(|(at, one)| (&one.key, at));
        let of_key: BTreeMap<&Key, Vec<usize>> = gathered(of_key);
        let mut made = vec![Err(NotEditable::Withdrawn); wanted.len()];
        let mut now = String::with_capacity(text.len());
        let read = parts(&self.file, &text).into_iter().map(|part| Some((part, self.endpoints(part)?)));
        let read: Option<Vec<(&str, BTreeMap<Key, Object>)>> = read.collect();
        for (part, before) in read.unwrap_or_else(|| vec![(&text, before.clone())]) {
            let own: Vec<usize> = before.keys().filter_map(|key| of_key.get(key)).flatten().copied().collect();
            let of_part: Vec<&ValueToAdopt> = own.iter().map(|at| wanted[*at]).collect();
            let (edited, made_of_part) = self.edited(part, &before, &of_part);
            now.push_str(&edited);
            for (at, made_of_one) in own.into_iter().zip(made_of_part) {
                made[at] = made_of_one;
            }
        }
        let adopted = wanted.iter().zip(&made).filter_map(|(one, made)| made.is_ok().then_some(*one));
        let adopted: Vec<&ValueToAdopt> = adopted.collect();
        if self.check((&text, &now), &before, &adopted).is_err() {
            made.fill(Err(NotEditable::Withdrawn));
            now.clone_from(&text);
        }
        for (one, made) in wanted.iter().zip(made) {
            edits.add(one, made);
        }
        if now != text {
            let edit = FileEdit { before: text.into_bytes(), now: now.into_bytes() };
            edits.files.insert(self.file.clone(), edit);
        }
    }

    /// A text with all edits made at once, or one by one where the combined result is not the wanted one.
    fn edited(
        &self,
        text: &str,
        before: &BTreeMap<Key, Object>,
        wanted: &[&ValueToAdopt],
    ) -> (String, Vec<Result<(), NotEditable>>) {
        let made = self.splices(text, before, wanted, field::edit);
        let good = || wanted.iter().zip(&made).filter_map(|(one, made)| Some((*one, made.as_ref().ok()?)));
        let together = spliced(text, good().flat_map(|(_, splices)| splices.clone()).collect());
        let all: Vec<&ValueToAdopt> = good().map(|(one, _)| one).collect();
        let together = together.filter(|new| self.check((text, new), before, &all).is_ok());
        let mut now = together.clone().unwrap_or_else(|| text.to_owned());
        let done = wanted.iter().zip(made).map(|(one, made)| match (made, &together) {
            (Err(reason), _) => Err(reason),
            (Ok(_), Some(_)) => Ok(()),
            (Ok(_), None) => self.one(&mut now, one),
        });
        let done = done.collect();
        (now, done)
    }

    fn one(&self, text: &mut String, wanted: &ValueToAdopt) -> Result<(), NotEditable> {
        let before = self.endpoints(text).ok_or(NotEditable::Withdrawn)?;
        // Why the first edit, which changes less, failed.
        let mut reason = None;
        for edit in [field::edit, field::anew] {
            let why = match self.splices(text, &before, &[wanted], edit).pop().ok_or(NotEditable::Withdrawn)? {
                Ok(made) => {
                    let new = spliced(text, made).ok_or(NotEditable::Withdrawn)?;
                    match self.check((text, &new), &before, &[wanted]) {
                        Ok(()) => {
                            *text = new;
                            return Ok(());
                        }
                        Err(why) => why,
                    }
                }
                Err(why) => why,
            };
            reason.get_or_insert(why);
        }
        match reason {
            Some(NotEditable::Withdrawn) | None if has_secret(wanted) => Err(NotEditable::Secret),
            reason => Err(reason.unwrap_or(NotEditable::Withdrawn)),
        }
    }

    /// The definitions of a text; `None` where it has any problem.
    fn endpoints(&self, text: &str) -> Option<BTreeMap<Key, Object>> {
        let source = SourceText::edited(&self.file, text)?;
        let read = careful::read(&source, &self.context);
        let endpoints = read.found.into_iter().map(|found| (found.endpoint.key.clone(), found.endpoint));
        read.problems.is_empty().then(|| endpoints.collect())
    }

    /// The result of `of` for each definition of a text.
    fn each<T>(&self, text: &str, context: &ReadContext<'_>, of: fn(&Item<'_>) -> T) -> BTreeMap<String, T> {
        let Some(source) = SourceText::edited(&self.file, text) else { return BTreeMap::new() };
        let documents = careful::prepare(&source, context);
        documents.iter().filter_map(|document| Some((document.item.names()?, of(&document.item)))).collect()
    }

    fn splices(
        &self,
        text: &str,
        before: &BTreeMap<Key, Object>,
        wanted: &[&ValueToAdopt],
        edit: Edit,
    ) -> Vec<Result<Vec<Splice>, NotEditable>> {
        let written = self.each(text, &self.context, written);
        let one = |wanted: &&ValueToAdopt| {
            let root = written.get(&wanted.key.to_string()).ok_or(NotEditable::Withdrawn)?;
            let endpoint = before.get(&wanted.key).ok_or(NotEditable::Withdrawn)?;
            let current = wanted.field.value(endpoint);
            // The change was computed for the value that was loaded.
            let loaded = self.loaded.desired.definitions.get(&wanted.key);
            if loaded.is_some_and(|loaded| wanted.field.value(&loaded.endpoint) != current) {
                return Err(NotEditable::EditedMeanwhile);
            }
            let mut patch = Patch::new(text, &self.file, root, wanted.key.kind);
            edit(&mut patch, &wanted.field, &current, &as_written(wanted, &current))?;
            Ok(patch.splices)
        };
        wanted.iter().map(one).collect()
    }

    /// Checks that the new text changes just these values: as this environment reads it, and in the values that an
    /// overlay hides from this environment but not from others.
    fn check(
        &self,
        (old, new): (&str, &str),
        before: &BTreeMap<Key, Object>,
        wanted: &[&ValueToAdopt],
    ) -> Result<(), NotEditable> {
        if !self.reads_back(new, before, wanted) {
            let hidden = wanted.iter().find_map(|one| self.overlay_of(one, before));
            return Err(hidden.unwrap_or(NotEditable::Withdrawn));
        }
        let changed: Vec<_> = wanted.iter().filter(|one| self.context.overlays.changes(&one.key)).collect();
        if changed.is_empty() {
            return Ok(());
        }
        let plain = ReadContext { overlays: Overlays::default(), ..self.context };
        let is_whole = |text| {
            SourceText::edited(&self.file, text)
                .is_some_and(|source| careful::read(&source, &plain).problems.is_empty())
        };
        if is_whole(old) && !is_whole(new) {
            return Err(changed.iter().find_map(|one| self.overlay_of(one, before)).unwrap_or(NotEditable::Withdrawn));
        }
        let values = |(text, context)| self.each(text, context, |item| item::json(item, &mut |_| {}));
        let [merged, was, is] = [(old, &self.context), (old, &plain), (new, &plain)].map(values);
        for one in changed {
            let key = one.key.to_string();
            let [merged, was, is] = [&merged, &was, &is].map(|values| values.get(&key).unwrap_or(&Json::Null));
            if !keeps_hidden(was, merged, is) {
                return Err(self.overlay_of(one, before).unwrap_or(NotEditable::Withdrawn));
            }
        }
        Ok(())
    }

    /// The last overlay that sets a field, even if to null.
    fn overlay_of(&self, wanted: &ValueToAdopt, before: &BTreeMap<Key, Object>) -> Option<NotEditable> {
        let path = field::path(wanted.key.kind, &wanted.field, &wanted.field.value(before.get(&wanted.key)?));
        let sets = |overlay: &&Overlay<'_>| {
            let is_it = |written: &str, key: &str| written == key || written == kind::camel(key);
            let part = path.iter().try_fold(&overlay.item, |item, key| {
                Some(&item.entries().iter().find(|entry| is_it(&entry.key, key))?.item)
            });
            part.is_some()
        };
        let overlay = self.context.overlays.of(&wanted.key.to_string()).iter().rfind(sets)?;
        Some(NotEditable::Overlay(overlay.source.path.to_string()))
    }

    /// Whether `text` contains the definitions of `before` with only these values changed.
    fn reads_back(&self, text: &str, before: &BTreeMap<Key, Object>, wanted: &[&ValueToAdopt]) -> bool {
        let mut expected = before.clone();
        for one in wanted {
            let Some(endpoint) = expected.get_mut(&one.key) else { return false };
            let before = one.field.value(endpoint);
            if one.field.assign(endpoint, &before, &as_written(one, &before)).is_err() {
                return false;
            }
        }
        self.endpoints(text).is_some_and(|now| now == expected)
    }
}

/// Whether an edit left every value of a definition unchanged that its overlays replace or remove.
fn keeps_hidden(was: &Json, merged: &Json, is: &Json) -> bool {
    match (was, merged) {
        _ if was == merged => true,
        (Json::Object(was), Json::Object(merged)) => was.iter().all(|(key, value)| {
            let seen = merged.get(key).unwrap_or(&Json::Null);
            keeps_hidden(value, seen, is.get(key).unwrap_or(&Json::Null))
        }),
        _ => was == is,
    }
}

/// Whether the live value contains a secret.
fn has_secret(wanted: &ValueToAdopt) -> bool {
    let (spec, live) = (wanted.key.kind.message(), wanted.unnamed.as_ref().unwrap_or(&wanted.live));
    let keys = wanted.field.unit().map(|unit| kind::keys_of(spec, unit, live));
    keys.is_some_and(|keys| !kind::sealed::digests(spec, keys).is_empty())
}

/// The live value as a definition writes it: without the parts of a reference that the service fills
/// in, unless the definition names them. The service fills in only the tenant of the object.
fn as_written(wanted: &ValueToAdopt, current: &Json) -> Json {
    let Some(unit) = wanted.field.unit() else { return wanted.live.clone() };
    let (spec, tenant) = (wanted.key.kind.message(), wanted.tenant.as_deref());
    let named = kind::taken_over(spec, unit, &wanted.live, current, tenant);
    match &wanted.unnamed {
        Some(live) => kind::with_unnamed(spec, unit, live, &named, tenant),
        None => named,
    }
}
