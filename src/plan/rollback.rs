//! Plans the rollback of a run: each write that the run made is undone, field by field, unless another client
//! changed the field since. The result is an ordinary plan, with the same guards and the same approval.

use std::collections::{BTreeMap, BTreeSet};

use super::owner::foreign_stack;
use super::{
    Action, ActionKind, Allowances, BeforeImage, BlockReason, BlockedChange, Cause, Change, Conflict, FieldChange,
    Ignore, KeyAllowance, Note, OwnershipAnnotations, Plan, PlanOrigin, PlanSource, ScopeRead, ScopeState,
    Unchangeable, namespace, references, waves,
};
use crate::diff::{self, CompareOptions};
use crate::kind;
use crate::model::{
    APPLIED, AppliedFields, Desired, Field, Json, Key, ListRead, Live, LiveItem, LiveObject, Object, Ownership, RunId,
    Scope, SealedSecrets, is_ownership_annotation,
};

/// A run that is undone.
#[derive(Debug, Clone)]
pub struct UndoneRun<'a> {
    /// The run.
    pub run: &'a RunId,
    /// The plan that it applied.
    pub plan: &'a Plan,
    /// Its writes: the first one for each object.
    pub writes: Vec<AppliedWrite<'a>>,
}

impl UndoneRun<'_> {
    /// The lists that its rollback reads: those that it wrote in, and those of objects that its rollback may refer to
    /// again, if the plan of the run is about them.
    pub fn lists(&self) -> BTreeSet<Scope> {
        let changes: BTreeMap<&Key, &Change> = self.plan.changes.iter().map(|change| (&change.key, change)).collect();
        let mut lists: BTreeSet<Scope> = self.writes.iter().map(|write| write.key.into()).collect();
        for write in &self.writes {
            let (Some(before), Some(change)) = (write.before, changes.get(write.key)) else { continue };
            let mut targets = waves::targets(&before.endpoint);
            targets.retain(|target| change.action.deletes() || references::writes(change, target));
            let keys = targets.iter().flat_map(|target| waves::candidates(target, &write.key.namespace));
            lists.extend(keys.map(|key| Scope::from(&key)).filter(|list| self.plan.is_about(list)));
        }
        lists
    }
}

/// A write that took effect, or may have.
#[derive(Debug, Clone)]
pub struct AppliedWrite<'a> {
    /// The endpoint.
    pub key: &'a Key,
    /// The kind of the write.
    pub action: ActionKind,
    /// The runs that the ownership annotations of the written object may name: this one and those that it resumed.
    pub runs: Vec<RunId>,
    /// The object as the run found it; `None` for a create.
    pub before: Option<&'a BeforeImage>,
}

/// The input of a rollback.
#[derive(Clone, Copy)]
pub struct RollbackInput<'a> {
    /// The run that is undone.
    pub undone: &'a UndoneRun<'a>,
    /// The live objects, at least of [`UndoneRun::lists`].
    pub live: &'a Live,
    /// The definitions of the working directory, and those of the commits that were applied before the run:
    /// before-images do not contain secrets, but these do.
    pub definitions: &'a [Desired],
    /// Which objects are restored.
    pub only: &'a dyn Fn(&Key) -> bool,
    /// Fields that are left out of comparison.
    pub ignore: &'a Ignore,
    /// The consents given by name.
    pub allow: &'a Allowances,
}

/// A plan that restores what a run overwrote.
///
/// # Guarantees
/// - Only fields that the run wrote are restored, and its ownership annotations; everything else stays
///   unchanged.
/// - A field that the settings ignore stays unchanged, with a note, and so does its record in the ownership
///   annotation.
/// - A field that has neither the value that the run wrote nor the one before blocks its object, with the
///   three values.
/// - A field that already has the value from before needs no change, so a write without an effect does no harm.
/// - No reference is written to an object that is neither live nor created again, if its list was read (see
///   [`UndoneRun::lists`]), nor to one whose list the run's plan read and that cannot be read now.
///
/// # Caveats
/// An object that is created again gets a new uid, and loses what the model does not support; a note
/// lists its referrers. Lists do not contain the referrers of an object to delete: call [`Plan::refer`]
/// as for any plan.
pub fn rollback(input: RollbackInput<'_>) -> Plan {
    let undone = input.undone.plan;
    let mut plan = Plan {
        tool_version: env!("CARGO_PKG_VERSION").to_owned(),
        service: undone.service.clone(),
        stack: undone.stack.clone(),
        settings: undone.settings.clone(),
        source: PlanSource { origin: PlanOrigin::Rollback(input.undone.run.clone()), ..PlanSource::default() },
        ..Plan::default()
    };
    let writes: Vec<&AppliedWrite<'_>> = input.undone.writes.iter().filter(|write| (input.only)(write.key)).collect();
    plan.left_out = input.undone.writes.len() - writes.len();
    let scopes: BTreeSet<Scope> = writes.iter().map(|write| write.key.into()).collect();
    for scope in scopes {
        let state = state(&input, &scope);
        plan.scope.insert(scope, state);
    }
    let changes: BTreeMap<&Key, &Change> = undone.changes.iter().map(|change| (&change.key, change)).collect();
    for write in writes {
        let Some(items) = input.live.lists.get(&write.key.into()).and_then(ListRead::items) else { continue };
        let Some(change) = changes.get(write.key).copied() else { continue };
        Undo { input: &input, plan: &mut plan, change, write }.undo(items.get(write.key));
    }
    plan.block_lost_references(undone, input.live);
    let noted = plan.of_kind(ActionKind::Create).map(|change| {
        let referrers = match changes.get(&change.key).map(|change| &change.action) {
            Some(Action::Delete { referrers, .. }) => referrers.clone(),
            _ => Vec::new(),
        };
        Note::Recreated { key: change.key.clone(), referrers }
    });
    let noted: Vec<Note> = noted.collect();
    plan.notes.extend(noted);
    plan.sealed = SealedSecrets::of(input.definitions);
    plan.order()
}

fn state(input: &RollbackInput<'_>, scope: &Scope) -> ScopeState {
    let read = match input.live.lists.get(scope).map_or(Err("it was not read"), ListRead::known) {
        Ok(items) => {
            let objects = items.values().filter_map(LiveItem::object);
            let ours: Vec<&LiveObject> = objects.filter(|live| input.undone.plan.owns(&live.endpoint)).collect();
            let is_removable =
                |live: &&&LiveObject| !live.endpoint.is_protected() && live.owner_view.is_none() && !live.deleting;
            let removable = ours.iter().filter(is_removable).count();
            ScopeRead::Complete { live: items.len(), owned: ours.len(), removable }
        }
        Err(reason) => ScopeRead::Unknown { reason: reason.to_owned() },
    };
    ScopeState { read, definitions: 0, in_sync: 0, pruned: false, selected: true }
}

/// Undoes one write.
struct Undo<'a, 'g> {
    input: &'a RollbackInput<'g>,
    plan: &'a mut Plan,
    change: &'a Change,
    write: &'a AppliedWrite<'g>,
}

const CHANGED: &str = "changed since the run";
const DELETED: &str = "deleted since the run";
const RECREATED: &str = "deleted and created again since the run";
const CREATED: &str = "created again since the run";

impl Undo<'_, '_> {
    fn undo(mut self, item: Option<&LiveItem>) {
        let live = match item {
            None => None,
            Some(LiveItem::Object(live)) => Some(live),
            Some(LiveItem::Unsupported(unsupported)) => {
                return self.block(
                    BlockReason::Unchangeable(Unchangeable::Unsupported {
                        reason: unsupported.reason.clone(),
                        cause: None,
                    }),
                    None,
                );
            }
        };
        match (self.write.action, live) {
            // It was deleted again, or never created: nothing to undo.
            (ActionKind::Create, None) => {}
            (ActionKind::Create, Some(live)) => self.created(live),
            // Another client had deleted the object, and the run only created it again.
            (ActionKind::Recreate, Some(live)) if self.write.before.is_none() => self.created(live),
            (ActionKind::Replace | ActionKind::Annotate, live) => self.replaced(live),
            (ActionKind::Recreate, Some(live)) => self.replaced(Some(live)),
            (ActionKind::Delete | ActionKind::Recreate, live) => self.deleted(live),
        }
    }

    fn block(&mut self, reason: BlockReason, change: Option<Change>) {
        self.plan.blocked.push(BlockedChange::new(self.change.key.clone(), reason, change));
    }

    fn new_change(&self, action: Action) -> Change {
        Change::new(self.change.key.clone(), action)
    }

    /// The managed fields in which live differs from `image`.
    fn moved(&self, image: &Object, live: &Object) -> BTreeSet<Field> {
        self.differing(image, live, &self.input.ignore.fields(&self.change.key))
    }

    fn differing(&self, image: &Object, live: &Object, ignored: &[Field]) -> BTreeSet<Field> {
        let applied = applied(image);
        let names = |field: &Field| self.change.names(field);
        diff::moved(image, live, names, CompareOptions { applied: applied.as_ref(), ignored, strict: false })
    }

    fn created(&mut self, live: &LiveObject) {
        let Some(written) = self.written(self.change.action.object(), Some(live)) else { return };
        let delete = self.new_change(Action::Delete { before: BeforeImage::of(live), referrers: Vec::new() });
        let moved = self.moved(&written, &live.endpoint);
        if live.deleting {
            return;
        }
        if let Some(owner) = &live.owner_view {
            return self.block(BlockReason::Unchangeable(Unchangeable::OwnerView(owner.clone())), Some(delete));
        }
        if !moved.is_empty() {
            let conflict = Conflict::new(CHANGED, moved, [Some(&written), Some(&live.endpoint), None]);
            return self.block(BlockReason::Moved(conflict), Some(delete));
        }
        if live.endpoint.is_protected() && !self.input.allow.key(KeyAllowance::Protected, &self.change.key) {
            return self.block(BlockReason::Protected, Some(delete));
        }
        self.plan.changes.push(delete);
    }

    fn deleted(&mut self, live: Option<&LiveObject>) {
        let Some(before) = self.write.before else { return };
        match live {
            Some(live) if live.uid == before.uid && !live.deleting => return,
            Some(live) if live.deleting => return self.block(BlockReason::Unchangeable(Unchangeable::Deleting), None),
            // Created again with the old values, for example by an earlier rollback.
            Some(live) if self.moved(&before.endpoint, &live.endpoint).is_empty() => return,
            _ => {}
        }
        let mut wanted = restored(&before.endpoint);
        wanted.annotations.retain(|key, _| !is_ownership_annotation(key));
        let was_applied = applied(&before.endpoint);
        let secrets = self.unshown(&before.endpoint, was_applied.as_ref());
        for (unit, value) in &secrets {
            // The units of a definition are valid, so this cannot fail.
            let _ = Field::of_unit(unit).assign(&mut wanted, &Json::Null, value);
        }
        let ownership = Some(OwnershipAnnotations::of(&before.endpoint)).filter(|of| !of.is_empty());
        let create = Change { ownership, ..self.new_change(Action::Create { wanted }) };
        if let Some(live) = live {
            let fields = self.moved(&before.endpoint, &live.endpoint);
            let conflict = Conflict::new(CREATED, fields, [None, Some(&live.endpoint), Some(&before.endpoint)]);
            return self.block(BlockReason::Moved(conflict), Some(create));
        }
        let with_secrets = Change { secrets, ..create.clone() };
        let missing = before.secret_places().into_iter().find(|place| !with_secrets.provides(place));
        if let Some(path) = missing.or_else(|| lost(&before.endpoint, was_applied.as_ref(), &with_secrets.secrets)) {
            return self.block(BlockReason::Unchangeable(Unchangeable::SecretBefore { path }), Some(create));
        }
        self.plan.changes.push(create);
    }

    fn replaced(&mut self, live: Option<&LiveObject>) {
        let Some(before) = self.write.before else { return };
        let original = &restored(&before.endpoint);
        let Some(written) = self.written(original, live) else { return };
        let Some(live) = live else {
            let fields = self.moved(original, &written);
            let conflict = Conflict::new(DELETED, fields, [Some(&written), None, Some(original)]);
            return self.block(BlockReason::Moved(conflict), None);
        };
        let wrote: BTreeSet<Field> = self.wrote().collect();
        let ignored = self.input.ignore.fields(&self.change.key);
        let is_left = |field: &Field| wrote.contains(field) && ignored.contains(field);
        let left: Vec<Field> = self.differing(original, &live.endpoint, &[]).into_iter().filter(is_left).collect();
        let note = |field: &Field| Note::Ignored { key: self.change.key.clone(), field: field.clone() };
        self.plan.notes.extend(left.iter().map(note));
        let off = |image: &Object| &self.moved(image, &live.endpoint) & &wrote;
        let to_restore = off(original);
        let changed_since = &off(&written) & &to_restore;
        if to_restore.is_empty() {
            return;
        }
        let (annotations, fields): (Vec<Field>, Vec<Field>) =
            to_restore.into_iter().partition(Field::is_ownership_annotation);
        let before_now = BeforeImage::of(live);
        // If the object had no owner before, the record of what is applied now counts.
        let was_applied = applied(original).or_else(|| applied(&live.endpoint));
        let secrets = self.unshown(original, was_applied.as_ref());
        // A secret that the run wrote differs, although responses do not show it.
        let is_another = |change: &&FieldChange| {
            change.field.unit().and_then(|unit| secrets.get(unit)).is_some_and(|value| *value != change.after)
        };
        let rewritten = self.change.fields().iter().filter(is_another).map(|change| change.field.clone());
        let ownership = Ownership::read(&live.endpoint.annotations);
        let applied = ownership.as_ref().and_then(|ownership| ownership.applied.as_ref());
        let reset = applied.into_iter().flat_map(|applied| diff::reset(&live.endpoint, original, applied));
        let reset = reset.filter(|field| wrote.contains(field));
        let fields: BTreeSet<Field> = fields.into_iter().chain(rewritten).chain(reset).collect();
        let is_of_left = |field: &Field| !left.is_empty() && *field == Field::Annotation(APPLIED.to_owned());
        // Which run wrote the annotations does not matter.
        let was = Ownership::read(&original.annotations);
        let is_as_before = || was.zip(ownership.as_ref()).is_some_and(|(was, now)| now.fits(&was));
        if fields.is_empty() && (annotations.iter().all(is_of_left) || is_as_before()) {
            return;
        }
        let kind = self.change.key.kind;
        let fields: Vec<FieldChange> = fields
            .into_iter()
            .map(|field| {
                let known = field.unit().and_then(|unit| secrets.get(unit)).cloned();
                let (before, after) = (field.value(&live.endpoint), known.unwrap_or_else(|| field.value(original)));
                FieldChange::new(field, before, after, Cause::Pending)
            })
            .collect();
        // Values that an image does not name may have been filled in by the service.
        let seen = |change: &FieldChange| change.field.seen(kind, &change.before, &change.after);
        let fixed = fields.iter().find_map(|change| change.field.fixed(kind, &seen(change), &change.after));
        let may_recreate = self.input.allow.key(KeyAllowance::Recreate, &self.change.key);
        let action = match &fixed {
            _ if fields.is_empty() => Action::Annotate { before: before_now },
            Some(_) if may_recreate => Action::Recreate { fields, before: before_now },
            _ => Action::Replace { fields, adopts: false, before: before_now },
        };
        let ownership_before = OwnershipAnnotations::of(original);
        let restored = || ownership_before.keeping(&live.endpoint, &left).unwrap_or(ownership_before);
        let change = Change { ownership: (!annotations.is_empty()).then(restored), secrets, ..self.new_change(action) };
        let blocking = live.unknown.iter().find(|field| field.blocks);
        let conflict =
            |reason, fields| Conflict::new(reason, fields, [Some(&written), Some(&live.endpoint), Some(original)]);
        let lost_secret = || change.lost_secret(live).map(str::to_owned).or_else(|| secret_of_then(before, &change));
        let lost_secret = || lost_secret().or_else(|| lost(original, was_applied.as_ref(), &change.secrets));
        let reason = if let Some(reason) = namespace::blocked(live, None) {
            Some(BlockReason::Unchangeable(reason))
        } else if live.uid != before.uid && self.write.action != ActionKind::Recreate {
            Some(BlockReason::Moved(conflict(RECREATED, wrote.clone())))
        } else if !changed_since.is_empty() {
            Some(BlockReason::Moved(conflict(CHANGED, changed_since)))
        } else if let Some(stack) = foreign_stack(&live.endpoint, self.plan.stack.as_deref())
            && !self.input.allow.key(KeyAllowance::ForeignStack, &change.key)
        {
            Some(BlockReason::ForeignStack { stack: stack.to_owned() })
        } else if let Some(path) = lost_secret() {
            Some(BlockReason::Unchangeable(Unchangeable::SecretBefore { path }))
        } else if let (Some(field), Action::Replace { .. }) = (blocking, &change.action) {
            Some(BlockReason::Unchangeable(Unchangeable::UnknownOption { path: field.path.clone() }))
        } else if let Some(path) = fixed.filter(|_| !may_recreate) {
            Some(BlockReason::Unchangeable(Unchangeable::Immutable { path }))
        } else if change.action.deletes()
            && live.endpoint.is_protected()
            && !self.input.allow.key(KeyAllowance::Protected, &self.change.key)
        {
            Some(BlockReason::Protected)
        } else {
            None
        };
        match reason {
            Some(reason) => self.block(reason, Some(change)),
            None => self.plan.changes.push(change),
        }
    }

    /// The units with hidden values of the original object, from the definition that was `applied` to it.
    fn unshown(&self, original: &Object, applied: Option<&AppliedFields>) -> BTreeMap<String, Json> {
        let Some(applied) = applied else { return BTreeMap::new() };
        let of_key = |desired: &Desired| desired.definitions.get(&self.change.key).cloned();
        let units = self.input.definitions.iter().filter_map(of_key).map(|definition| {
            let (units, wanted) = (namespace::unshown(&definition, original), &definition.endpoint);
            let is_as_applied = |unit: &String| {
                let field = Field::of_unit(unit);
                applied.is_as_applied(&field, wanted)
                    && applied.hidden_as_applied(&field, wanted)
                    && original.spec.is_as(unit, &wanted.spec)
            };
            if units.keys().all(is_as_applied) { units } else { BTreeMap::new() }
        });
        units.max_by_key(BTreeMap::len).unwrap_or_default()
    }

    /// The fields that the run wrote, including its ownership annotations.
    fn wrote(&self) -> impl Iterator<Item = Field> {
        let fields = self.change.fields().iter().map(|change| change.field.clone());
        fields.chain(self.change.ownership_values("").map(|(field, _)| field))
    }

    /// The object that the run made from `base`, with its ownership annotations. If several runs may have made it, the
    /// one that live names counts.
    fn written(&self, base: &Object, live: Option<&LiveObject>) -> Option<Object> {
        let named = live.and_then(|live| applied(&live.endpoint)).map(|applied| applied.run);
        let runs = &self.write.runs;
        let by = runs.iter().find(|run| Some(run.as_str()) == named.as_deref()).or(runs.last());
        self.change.applied_to(base, by.unwrap_or(self.input.undone.run)).ok()
    }
}

/// The object to restore: references have names but no uids, because their targets may have been created again since.
fn restored(was: &Object) -> Object {
    let spec = was.spec.without_uids().unwrap_or_else(|_| was.spec.clone());
    Object { spec, ..was.clone() }
}

/// What was applied to an object.
fn applied(object: &Object) -> Option<AppliedFields> {
    Ownership::read(&object.annotations)?.applied
}

/// The place of a secret that the original object may have had, and that a change restores without the secret. The live
/// object need not have this place.
fn secret_of_then(was: &BeforeImage, change: &Change) -> Option<String> {
    was.secret_places().into_iter().find(|place| change.writes_secret(place) && !change.provides(place))
}

/// The path of a hidden unit that was applied to the original object and that is not among these units.
pub(super) fn lost(
    original: &Object,
    applied: Option<&AppliedFields>,
    units: &BTreeMap<String, Json>,
) -> Option<String> {
    let applied = applied?;
    let was = &original.spec;
    // A group with another shown option is not lost: the service turned the applied option into that one.
    let is_lost = |unit: &&str| {
        was.unit(unit).is_null() && !units.contains_key(*unit) && applied.has_hidden(&Field::of_unit(unit))
    };
    kind::units(was.kind().message()).find(is_lost).map(|unit| format!("spec.{unit}"))
}

#[cfg(test)]
#[path = "rollback_tests.rs"]
mod tests;
