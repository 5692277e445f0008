//! Plans one kind in one namespace: compares each definition with the live object of its key, decides by ownership what
//! is done or blocked, and counts what the guards need.

use std::cell::OnceCell;
use std::collections::{BTreeMap, HashMap};

use serde::Deserialize as _;

use super::{
    Action, ActionKind, BeforeImage, BlockReason, BlockedChange, Cause, Change, FieldChange, KeyAllowance,
    NamedCommits, Note, OwnershipAnnotations, Plan, PlanInput, Prune, ScopeRead, ScopeState, Selection, Unchangeable,
    owner::Owner,
};
use crate::diff::{self, CompareOptions, Difference};
use crate::kind;
use crate::model::{
    Definition, Field, Json, Key, KeyDigest, ListRead, LiveItem, LiveObject, Object, Ownership, RelatedObject, Scope,
    Spec, ValueDigest, key_digest,
};

/// Keys by the digest that copied annotations contain, computed at the first use.
#[derive(Default)]
pub(super) struct KeysByDigest<'k>(OnceCell<HashMap<KeyDigest, &'k Key>>);

impl<'k> KeysByDigest<'k> {
    fn find(&self, digest: KeyDigest, keys: impl Iterator<Item = &'k Key>) -> Option<&'k Key> {
        self.0.get_or_init(|| keys.map(|key| (key_digest(key), key)).collect()).get(&digest).copied()
    }
}

/// Adds the changes of one kind in one namespace to `plan`, and the commits that its objects name to `commits`.
/// `defined` has the keys of all definitions.
pub(super) fn arrange<'f>(
    plan: &mut Plan,
    commits: &mut NamedCommits,
    defined: &KeysByDigest<'f>,
    input: &PlanInput<'f>,
    scope: &Scope,
    read: &ListRead,
    wanted: &[&Definition],
) -> ScopeState {
    let is_listed =
        input.namespaces.contains(&scope.namespace) && (scope.kind.is_endpoint() || input.kinds.contains(&scope.kind));
    let pruned = plan.stack.is_some() && is_listed;
    let selected = input.selection.reaches(scope, input.desired);
    let items = match read.known() {
        Ok(items) => items,
        Err(reason) => {
            let read = ScopeRead::Unknown { reason: reason.to_owned() };
            let definitions = selected_of(input.selection, wanted, &BTreeMap::new());
            return ScopeState { read, definitions, in_sync: 0, pruned, selected };
        }
    };
    let live = KeysByDigest::default();
    let mut builder =
        NamespaceBuilder { plan, commits, defined, live, input, items, pruned, in_sync: 0, owned: 0, removable: 0 };
    let definitions = selected_of(input.selection, wanted, items);
    let mut wanted = wanted.iter().copied().peekable();
    for (key, item) in items {
        while let Some(definition) = wanted.next_if(|definition| definition.endpoint.key < *key) {
            builder.missing(definition);
        }
        let definition = wanted.next_if(|definition| definition.endpoint.key == *key);
        let notes = builder.plan.notes.len();
        match definition {
            Some(definition) => builder.both(definition, item),
            None => builder.undefined(item),
        }
        // Objects that the filters leave out get no notes.
        if !input.selection.selects(key, definition, Some(item)) {
            builder.plan.notes.truncate(notes);
        }
    }
    for definition in wanted {
        builder.missing(definition);
    }
    let NamespaceBuilder { in_sync, owned, removable, .. } = builder;
    let read = ScopeRead::Complete { live: items.len(), owned, removable };
    ScopeState { read, definitions, in_sync, pruned, selected }
}

/// How many definitions the filters select.
fn selected_of(selection: &Selection, wanted: &[&Definition], items: &BTreeMap<Key, LiveItem>) -> usize {
    if selection.is_all() {
        return wanted.len();
    }
    let live = |key: &Key| items.get(key).filter(|item| item.object().is_some());
    let selects = |one: &&&Definition| selection.selects(&one.endpoint.key, Some(one), live(&one.endpoint.key));
    wanted.iter().filter(selects).count()
}

/// Works through one kind in one namespace.
struct NamespaceBuilder<'a, 'f> {
    plan: &'a mut Plan,
    commits: &'a mut NamedCommits,
    defined: &'a KeysByDigest<'f>,
    live: KeysByDigest<'a>,
    input: &'a PlanInput<'f>,
    items: &'a BTreeMap<Key, LiveItem>,
    pruned: bool,
    in_sync: usize,
    /// The total for shares.
    owned: usize,
    /// The total for `empty-namespace`.
    removable: usize,
}

impl NamespaceBuilder<'_, '_> {
    fn annotates(&self) -> bool {
        self.plan.settings.safeguards.ownership_annotations
    }

    fn owner<'m>(&self, key: &Key, ownership: Option<&'m Ownership>) -> Owner<'m> {
        Owner::of(ownership, key, self.plan.stack.as_deref())
    }

    /// Records the commit that an object of the stack names, with its run.
    fn note_commit(&mut self, owner: Owner<'_>, ownership: Option<&Ownership>) {
        let Some(applied) = owner.applied(ownership).filter(|_| !matches!(owner, Owner::Foreign(_))) else { return };
        let Some(commit) = applied.commit() else { return };
        match self.commits.get_mut(commit) {
            None => {
                self.commits.insert(commit.to_owned(), (applied.run.clone(), applied.run.clone()));
            }
            Some((first, _)) if applied.run < *first => first.clone_from(&applied.run),
            Some((_, last)) if applied.run > *last => last.clone_from(&applied.run),
            Some(_) => {}
        }
    }

    /// Notes that an object has the annotations of another object, and of which one, if that is known.
    fn note_copy(&mut self, key: &Key, ownership: Option<&Ownership>) {
        let digest = ownership.and_then(|ownership| ownership.applied.as_ref()?.key);
        let live = |digest| self.live.find(digest, self.items.keys());
        let defined = |digest| self.defined.find(digest, self.input.desired.definitions.keys());
        let of = digest.and_then(|digest| live(digest).or_else(|| defined(digest))).cloned();
        self.plan.notes.push(Note::Copied { key: key.clone(), of });
    }

    fn push(&mut self, change: Change, definition: Option<&Definition>, item: Option<&LiveItem>) {
        if self.input.selection.selects(&change.key, definition, item) {
            self.plan.changes.push(change);
        } else if change.action.kind() != ActionKind::Annotate {
            self.plan.left_out += 1;
        }
    }

    fn block(&mut self, entry: BlockedChange, definition: Option<&Definition>, item: Option<&LiveItem>) {
        if self.input.selection.selects(&entry.key, definition, item) {
            self.plan.blocked.push(entry);
        } else {
            self.plan.left_out += 1;
        }
    }

    fn missing(&mut self, definition: &Definition) {
        let key = definition.endpoint.key.clone();
        let action = Action::Create { wanted: definition.endpoint.clone() };
        let wanted =
            || OwnershipAnnotations::wanted(Ownership::wanted(&definition.endpoint, self.plan.stack.as_deref()), None);
        let change = Change {
            cause: Some(Cause::Pending),
            ownership: self.annotates().then(wanted),
            ..Change::new(key.clone(), action)
        };
        let Some(path) = change.missing_secret(&definition.endpoint) else {
            return self.push(change, Some(definition), None);
        };
        let reason = BlockReason::Unchangeable(Unchangeable::SecretMissing { path });
        self.block(BlockedChange::new(key, reason, Some(change)), Some(definition), None);
    }

    fn both(&mut self, definition: &Definition, item: &LiveItem) {
        let key = &definition.endpoint.key;
        let live = match item {
            LiveItem::Object(live) => live,
            LiveItem::Unsupported(unsupported) => {
                // The applied object could be represented, so only an outside change can have made it unsupported.
                let ownership = unsupported.ownership();
                let ours = ownership.as_ref().filter(|found| self.owner(key, Some(found)) == Owner::Ours);
                let cause = ours.map(|found| {
                    let wanted = Ownership::wanted(&definition.endpoint, self.plan.stack.as_deref());
                    let wanted = wanted.keeping(found.applied.as_ref(), &self.input.ignore.fields(key));
                    if found.fits(&wanted) { Cause::Drift } else { Cause::Both }
                });
                let reason =
                    BlockReason::Unchangeable(Unchangeable::Unsupported { reason: unsupported.reason.clone(), cause });
                return self.block(BlockedChange::new(key.clone(), reason, None), Some(definition), None);
            }
        };
        let ownership = Ownership::read(&live.endpoint.annotations);
        let owner = self.owner(key, ownership.as_ref());
        self.note_commit(owner, ownership.as_ref());
        if owner == Owner::Copied {
            self.note_copy(key, ownership.as_ref());
        }
        let ignored = self.input.ignore.fields(key);
        let applied = owner.applied(ownership.as_ref());
        let strict = self.plan.settings.safeguards.strict.contains(&key.kind);
        let options = CompareOptions { applied, ignored: &ignored, strict };
        let differences = diff::compare(&live.endpoint, &definition.endpoint, options);
        let unknown = live.unknown.iter().filter(|field| !field.blocks);
        self.plan.notes.extend(unknown.map(|field| unknown_field(live, &field.path, &differences)));
        let fixed = |Difference { field, live, desired }: &Difference| field.fixed(key.kind, live, desired);
        let fixed = differences.iter().find_map(fixed);
        let may_recreate = fixed.is_some() && self.input.allow.key(KeyAllowance::Recreate, key);
        self.note_unlike(live, definition, &differences, options);
        let change = self.change(definition, live, ownership.as_ref(), &differences, &ignored);
        let change = change.map(|change| if may_recreate { change.recreating(definition) } else { change });
        let selected = self.input.selection.selects(key, Some(definition), Some(item));
        // Objects with another owner, and objects that are being deleted, do not count for shares.
        let counts = live.owner_view.is_none() && !live.deleting;
        let is_blocked_foreign =
            matches!(owner, Owner::Foreign(_)) && !self.input.allow.key(KeyAllowance::ForeignStack, key);
        self.owned += usize::from(counts && !is_blocked_foreign);
        self.removable += usize::from(counts && owner.is_ours());
        let fixed = fixed.filter(|_| !may_recreate).map(|path| Unchangeable::Immutable { path });
        let missing = || change.as_ref()?.missing_secret(&definition.endpoint);
        let missing = || missing().map(|path| Unchangeable::SecretMissing { path });
        let reason = blocked(live, change.as_ref()).or_else(missing).or(fixed).map(BlockReason::Unchangeable);
        let is_protected =
            may_recreate && live.endpoint.is_protected() && !self.input.allow.key(KeyAllowance::Protected, key);
        if let Some(reason) = reason.or(is_protected.then_some(BlockReason::Protected)) {
            let blocked = BlockedChange::new(key.clone(), reason, change);
            return self.block(blocked, Some(definition), Some(item));
        }
        if differences.is_empty() {
            self.in_sync += usize::from(selected);
        }
        match (owner, change) {
            (Owner::Foreign(stack), _) if is_blocked_foreign && differences.is_empty() => {
                self.plan.notes.push(Note::ForeignEqual { key: key.clone(), stack: stack.to_owned() });
            }
            (Owner::Foreign(stack), change) if is_blocked_foreign => {
                let reason = BlockReason::ForeignStack { stack: stack.to_owned() };
                self.block(BlockedChange::new(key.clone(), reason, change), Some(definition), Some(item));
            }
            (_, change) => {
                let is_left = owner == Owner::Unstacked && change.is_none();
                if differences.is_empty() && self.annotates() && !is_left {
                    self.note_equal(key, owner);
                }
                if let Some(change) = change {
                    if applied.is_none() && selected {
                        let notes = change.unlisted().map(|unit| (key.clone(), format!("spec.{unit}")));
                        self.plan.notes.extend(notes.map(|(key, path)| Note::Unshown { key, path }));
                    }
                    self.push(change, Some(definition), Some(item));
                }
            }
        }
    }

    /// Notes, for kinds other than endpoint, live values that the definition does not name, with whether a replace
    /// keeps them, and values that the service did not accept.
    fn note_unlike(
        &mut self,
        live: &LiveObject,
        definition: &Definition,
        differences: &[Difference],
        options: CompareOptions<'_>,
    ) {
        let (live, desired) = (&live.endpoint, &definition.endpoint);
        let (seen, wanted) = (&live.spec, &desired.spec);
        if live.key.kind.is_whole() || seen.agrees(wanted) {
            return;
        }
        let (key, message) = (&desired.key, desired.key.kind.message());
        for unit in seen.names() {
            let (field, unnamed) = (Field::of_unit(unit), seen.unnamed(unit, wanted));
            let goes = || diff::covers(&field, live, desired, options);
            if unnamed.is_empty() || options.ignored.contains(&field) || goes() {
                continue;
            }
            let value = ValueDigest::of(&seen.unit(unit));
            let note = |path: String| {
                let (key, is_known, path) = (key.clone(), kind::knows(message, &path), format!("spec.{path}"));
                match is_known {
                    true => Note::Unnamed { key, path, value: value.clone() },
                    false => Note::UnknownField { key, path },
                }
            };
            self.plan.notes.extend(unnamed.into_iter().map(note));
        }
        for Difference { field, live: before, desired } in differences {
            let beside = |unit| seen.unnamed_beside(unit, &seen.without_hidden(unit, before));
            let unnamed = field.unit().map(beside).unwrap_or_default();
            let dropped = unnamed.into_iter().map(|path| format!("spec.{path}"));
            let dropped = dropped.filter(|path| field.drops(path, live, before, desired));
            self.plan.notes.extend(dropped.map(|path| Note::DroppedField { key: key.clone(), path }));
        }
        let is_same = |unit: &&str| !differences.iter().any(|difference| difference.field.unit() == Some(*unit));
        let may_be_untaken = |unit: &&str| is_same(unit) && !seen.agrees_in(unit, wanted);
        let paths = wanted.names().filter(may_be_untaken).flat_map(|unit| seen.taken(unit, wanted).1);
        self.plan.notes.extend(paths.map(|path| Note::NotTaken { key: key.clone(), path }));
    }

    /// Notes that an object belongs to another, unless a definition exists for its owner.
    fn note_owned(&mut self, key: Key, owner: &RelatedObject) {
        let is_defined = owner.key().is_some_and(|owner| self.input.desired.definitions.contains_key(&owner));
        if !is_defined {
            self.plan.notes.push(Note::Owned { key, owner: owner.to_string() });
        }
    }

    /// Notes that an object in sync is not owned yet.
    fn note_equal(&mut self, key: &Key, owner: Owner<'_>) {
        match owner {
            Owner::Nobody | Owner::Copied if !self.plan.settings.adopt => {
                self.plan.notes.push(Note::Unannotated { key: key.clone() });
            }
            Owner::Unstacked => self.plan.notes.push(Note::Unstacked { key: key.clone() }),
            _ => {}
        }
    }

    /// The change that brings `live` in sync with its definition, including ownership annotations; `None` where
    /// none is needed.
    fn change(
        &mut self,
        definition: &Definition,
        live: &LiveObject,
        ownership: Option<&Ownership>,
        differences: &[Difference],
        ignored: &[Field],
    ) -> Option<Change> {
        let key = definition.endpoint.key.clone();
        let owner = self.owner(&key, ownership);
        let applied = owner.applied(ownership);
        let wanted = |stack| Ownership::wanted(&definition.endpoint, stack).keeping(applied, ignored);
        if !differences.is_empty() {
            let fields = differences
                .iter()
                .map(|Difference { field, live: before, desired: after }| {
                    let cause = applied.map_or(Cause::Unannotated, |applied| {
                        applied.cause(field, &live.endpoint, &definition.endpoint)
                    });
                    FieldChange::new(field.clone(), before.clone(), after.clone(), cause)
                })
                .collect();
            // Without annotations nothing is adopted.
            let adopts = !owner.is_ours() && self.plan.settings.safeguards.ownership_annotations;
            let action = Action::Replace { fields, adopts, before: BeforeImage::of(live) };
            // Where none are wanted, existing ones stay up to date, or later differences would get a false cause.
            let ownership = match ownership.filter(|_| applied.is_some()) {
                _ if self.annotates() => {
                    Some(OwnershipAnnotations::wanted(wanted(self.plan.stack.as_deref()), applied))
                }
                Some(theirs) => Some(OwnershipAnnotations::wanted(wanted(theirs.stack.as_deref()), applied).fitting()),
                None => None,
            };
            return Some(Change {
                ownership,
                secrets: unshown(definition, &live.endpoint),
                ..Change::new(key, action)
            });
        }
        let takes_over = match owner {
            // trueup wrote it for this key, and this stack defines it: the owner is clear.
            Owner::Ours | Owner::Unverified | Owner::Moved(_) | Owner::Unstacked => true,
            Owner::Nobody | Owner::Copied => self.plan.settings.adopt,
            Owner::Foreign(_) => self.input.allow.key(KeyAllowance::ForeignStack, &key),
        };
        if !self.annotates() || !takes_over {
            return None;
        }
        let wanted = wanted(self.plan.stack.as_deref());
        if ownership.is_some_and(|ownership| ownership.fits(&wanted)) {
            return None;
        }
        let action = Action::Annotate { before: BeforeImage::of(live) };
        let ownership = Some(OwnershipAnnotations::wanted(wanted, applied));
        let change =
            Change { ownership, secrets: unshown(definition, &live.endpoint), ..Change::new(key.clone(), action) };
        // Losing a secret just to write annotations is not acceptable.
        let lost = change.lost_secret(live).map(str::to_owned);
        let Some(path) = lost.or_else(|| change.unapplied()) else { return Some(change) };
        self.plan.notes.push(Note::NotAnnotated { key, path });
        None
    }

    fn undefined(&mut self, item: &LiveItem) {
        let key = item.key().clone();
        let live = match item {
            LiveItem::Object(live) => live,
            LiveItem::Unsupported(unsupported) => {
                let raw = &unsupported.raw;
                let owners = [&raw["owner_view"], &raw["system_metadata"]["owner_view"]].into_iter();
                if let Some(owner) = owners.flat_map(RelatedObject::deserialize).find(|owner| !owner.name.is_empty()) {
                    return self.note_owned(key, &owner);
                }
                let stack = unsupported.ownership().and_then(|ownership| ownership.stack);
                // Objects of another stack get no notes here, either.
                if stack.is_none() || stack == self.plan.stack {
                    self.plan.notes.push(Note::Unsupported { key, reason: unsupported.reason.clone() });
                }
                return;
            }
        };
        if let Some(owner) = &live.owner_view {
            return self.note_owned(key, owner);
        }
        if live.deleting {
            return;
        }
        let ownership = Ownership::read(&live.endpoint.annotations);
        let prune = if self.pruned { self.plan.settings.safeguards.prune } else { Prune::None };
        let owner = self.owner(&key, ownership.as_ref());
        if self.plan.stack.is_some() {
            self.note_commit(owner, ownership.as_ref());
        }
        if owner == Owner::Copied {
            self.note_copy(&key, ownership.as_ref());
        }
        let cause = match (owner, prune) {
            (Owner::Foreign(_), _) => return,
            (Owner::Moved(from), Prune::Owned | Prune::All)
                if !self.input.allow.key(KeyAllowance::Unverified, &key) =>
            {
                let from = from.to_owned();
                return self.plan.notes.push(Note::Awaited { key, from });
            }
            (Owner::Ours | Owner::Unverified | Owner::Moved(_), Prune::Owned | Prune::All) => Cause::Pending,
            (Owner::Copied | Owner::Nobody | Owner::Unstacked, Prune::All) => Cause::Unannotated,
            (Owner::Ours | Owner::Unverified | Owner::Moved(_), Prune::None) => {
                return self.plan.notes.push(Note::Orphan { key });
            }
            (_, _) => return self.plan.notes.push(Note::Unmanaged { key }),
        };
        // With `prune: all`, even a copy would be deleted.
        let unverified = owner == Owner::Unverified
            && prune == Prune::Owned
            && !self.input.allow.key(KeyAllowance::Unverified, &key);
        self.owned += 1;
        let action = Action::Delete { before: BeforeImage::of(live), referrers: Vec::new() };
        let change = Change { cause: Some(cause), ..Change::new(key.clone(), action) };
        if live.endpoint.is_protected() && !self.input.allow.key(KeyAllowance::Protected, &key) {
            self.block(BlockedChange::new(key, BlockReason::Protected, Some(change)), None, Some(item));
        } else if unverified {
            self.block(BlockedChange::new(key, BlockReason::Unverified, Some(change)), None, Some(item));
        } else {
            self.removable += 1;
            self.push(change, None, Some(item));
        }
    }
}

/// The units of a definition that a replace of `live` loses unless it writes them: those with secrets, and hidden ones.
/// A group with another live option is not hidden: the service turned the definition's option into that one.
pub(super) fn unshown(definition: &Definition, live: &Object) -> BTreeMap<String, Json> {
    let is_unseen = |name: &str| live.spec.names().all(|shown| shown != name);
    units(&definition.endpoint, |spec, name, value| {
        let has_secret = !definition.sealed.is_empty() && spec.has_secret(name, value);
        has_secret || is_unseen(name) && spec.has_hidden(name, value)
    })
}

/// The units of a spec for which `holds` is true.
fn units(endpoint: &Object, holds: impl Fn(&Spec, &str, &Json) -> bool) -> BTreeMap<String, Json> {
    let spec = &endpoint.spec;
    let units = spec.units().filter(|(name, value)| holds(spec, name, value));
    units.map(|(name, value)| (name.to_owned(), value)).collect()
}

impl Change {
    /// Turns a replace into a recreate, which also writes all hidden values of the definition.
    fn recreating(self, definition: &Definition) -> Self {
        let Action::Replace { fields, before, .. } = self.action else { return self };
        let secrets = units(&definition.endpoint, Spec::has_hidden);
        Self { action: Action::Recreate { fields, before }, secrets, ..self }
    }
}

/// Whether a field that the model does not know survives these differences.
fn unknown_field(live: &LiveObject, path: &str, differences: &[Difference]) -> Note {
    let (key, path) = (live.endpoint.key.clone(), path.to_owned());
    let drops =
        |Difference { field, live: before, desired }: &Difference| field.drops(&path, &live.endpoint, before, desired);
    match differences.iter().any(drops) {
        true => Note::DroppedField { key, path },
        false => Note::UnknownField { key, path },
    }
}

/// Why a live object cannot be changed at all.
pub(super) fn blocked(live: &LiveObject, change: Option<&Change>) -> Option<Unchangeable> {
    if let Some(owner) = &live.owner_view {
        return Some(Unchangeable::OwnerView(owner.clone()));
    }
    if live.deleting {
        return Some(Unchangeable::Deleting);
    }
    let change = change.filter(|change| change.action.kind() != ActionKind::Annotate)?;
    if let Some(path) = change.lost_secret(live) {
        return Some(Unchangeable::Secret { path: path.to_owned() });
    }
    // A recreated object is written as a whole.
    if let Some(path) = change.unapplied().filter(|_| change.action.kind() != ActionKind::Recreate) {
        return Some(Unchangeable::Unapplied { path });
    }
    let option = live.unknown.iter().find(|field| field.blocks)?;
    Some(Unchangeable::UnknownOption { path: option.path.clone() })
}
