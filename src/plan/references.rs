//! The references of definitions: the target of a reference that a plan writes must be live or created first, and an
//! object that a definition still refers to is not deleted. A broken reference blocks its change.

use std::collections::{BTreeMap, BTreeSet};

use super::{
    Action, ActionKind, Allowances, BlockReason, BlockedChange, BrokenReference, Change, KeyAllowance, Plan, PlanInput,
    ScopeRead, ScopeState, WrittenReference, waves,
};
use crate::kind::Target;
use crate::model::{Definition, Key, ListRead, Live, Scope};

/// The targets of definitions within their own tenant.
type Targets<'f> = BTreeMap<&'f Key, Vec<Target>>;

/// Blocks the changes of `plan` whose references are broken; `live` are the keys of all lists.
pub(super) fn block_broken(plan: &mut Plan, input: &PlanInput<'_>, live: &BTreeSet<Key>) {
    if plan.with_blocked().next().is_none() {
        return;
    }
    for circle in circles(plan, ActionKind::Create) {
        block(plan, &circle, || BrokenReference::Circle(circle.clone()));
    }
    for circle in circles(plan, ActionKind::Delete) {
        block(plan, &circle, || BrokenReference::LiveCircle(circle.clone()));
    }
    let has_deletes = plan.deletes().next().is_some();
    let changed: BTreeSet<&Key> = plan.with_blocked().map(|change| &change.key).collect();
    let definitions = input.desired.definitions.iter().filter(|(key, _)| has_deletes || changed.contains(key));
    let own = plan.own_tenants();
    let targets = |definition: &Definition| {
        let targets = waves::targets(&definition.endpoint).into_iter();
        targets.filter(|target| target.is_of(&own)).collect::<Vec<_>>()
    };
    let of: Targets<'_> = definitions.map(|(key, definition)| (key, targets(definition))).collect();
    block_deletes(plan, input.allow, &of);
    // Others may refer to a create that was blocked.
    while block_writes(plan, input, &of, live) {}
}

/// Blocks creates and replaces with a reference to a missing object. Returns whether it blocked any.
fn block_writes(plan: &mut Plan, input: &PlanInput<'_>, of: &Targets<'_>, live: &BTreeSet<Key>) -> bool {
    let creates: BTreeSet<&Key> = plan.of_kind(ActionKind::Create).map(|change| &change.key).collect();
    let is_there = |key: &Key| live.contains(key) || creates.contains(key);
    let mut broken: BTreeMap<Key, BrokenReference> = BTreeMap::new();
    let partly = plan.blocked.iter().filter(|held| held.is_partly()).filter_map(|held| held.change.as_ref());
    for change in plan.changes.iter().chain(partly) {
        let targets = of.get(&change.key).into_iter().flatten().filter(|target| writes(change, target));
        let found = targets.filter_map(|target| broken_reference(plan, input, &is_there, (&change.key, target)));
        // Report a mistake rather than a target that another call would create.
        if let Some(found) = found.max_by_key(BrokenReference::is_error) {
            broken.insert(change.key.clone(), found);
        }
    }
    for held in plan.blocked.iter_mut().filter(|held| held.is_partly()) {
        let mistake = broken.remove(&held.key).filter(BrokenReference::is_error);
        mistake.into_iter().for_each(|mistake| held.reason = BlockReason::Reference(mistake));
    }
    !broken.is_empty() && plan.block_changes(|change| broken.remove(&change.key).map(BlockReason::Reference))
}

fn broken_reference(
    plan: &Plan,
    input: &PlanInput<'_>,
    is_there: &impl Fn(&Key) -> bool,
    (by, target): (&Key, &Target),
) -> Option<BrokenReference> {
    let candidates: Vec<Key> = waves::candidates(target, &by.namespace).collect();
    let state = |key: &Key| plan.scope.get(&key.into());
    let is_managed = |key: &Key| state(key).is_some();
    if candidates.iter().any(|key| is_there(key) || !is_managed(key)) {
        return None;
    }
    let written = |key: &Key| WrittenReference { by: by.clone(), path: target.path.clone(), target: key.clone() };
    let is_unread = |key: &&Key| matches!(state(key), Some(ScopeState { read: ScopeRead::Unknown { .. }, .. }));
    if let Some(key) = candidates.iter().find(is_unread) {
        return Some(BrokenReference::Unread(written(key)));
    }
    let is_defined = |key: &&Key| input.desired.definitions.contains_key(*key);
    if let Some(key) = candidates.iter().find(is_defined) {
        return Some(BrokenReference::LeftOut(written(key)));
    }
    candidates.first().map(|key| BrokenReference::Missing(written(key)))
}

/// Blocks deletes of objects that a definition refers to.
fn block_deletes(plan: &mut Plan, allow: &Allowances, of: &Targets<'_>) {
    let deletes: BTreeSet<&Key> = plan.deletes().collect();
    if deletes.is_empty() {
        return;
    }
    let mut broken: BTreeMap<Key, WrittenReference> = BTreeMap::new();
    for (by, targets) in of {
        for target in targets {
            let mut candidates = waves::candidates(target, &by.namespace);
            if let Some(key) = candidates.find(|key| deletes.contains(key) && !allow.key(KeyAllowance::Referred, key)) {
                let by = WrittenReference { by: (*by).clone(), path: target.path.clone(), target: key.clone() };
                broken.entry(key).or_insert(by);
            }
        }
    }
    plan.block_deletes(|key| broken.remove(key).map(|by| BlockReason::Reference(BrokenReference::Deleted(by))));
}

/// Whether a change writes the unit of the spec that contains a reference.
pub(super) fn writes(change: &Change, target: &Target) -> bool {
    match &change.action {
        Action::Create { .. } => true,
        Action::Replace { fields, .. } | Action::Recreate { fields, .. } => {
            let spec = change.key.kind.message();
            let field = target.path.strip_prefix("spec.").unwrap_or_default();
            let field = field.split(['.', '[']).next().unwrap_or_default();
            let group = spec.group_of(field).map(|group| group.name);
            let is_it = |unit: &str| unit == field || Some(unit) == group;
            fields.iter().any(|field| field.field.unit().map_or(field.field.is_of_spec(), is_it))
        }
        Action::Annotate { .. } | Action::Delete { .. } => false,
    }
}

/// Whether the replaced live object already refers to the same target, so that the change does no harm.
fn refers_already(change: &Change, target: &Target) -> bool {
    let Action::Replace { before, .. } = &change.action else { return false };
    let keys = |target: &Target| waves::candidates(target, &change.key.namespace).collect::<Vec<_>>();
    waves::targets(&before.endpoint).iter().any(|live| keys(live) == keys(target))
}

/// Whether an object is not live, according to its list.
fn is_gone(live: &Live, key: &Key) -> bool {
    live.lists.get(&key.into()).and_then(ListRead::items).is_some_and(|items| !items.contains_key(key))
}

/// The names of the tenant in the live objects of a list.
fn tenants(read: &ListRead) -> impl Iterator<Item = &String> {
    let items = read.items().into_iter().flat_map(BTreeMap::values);
    items.filter_map(|item| item.object()?.tenant.as_ref())
}

/// Blocks the changes of all objects in a circle of references.
fn block(plan: &mut Plan, circle: &[WrittenReference], reason: impl Fn() -> BrokenReference) {
    let keys: BTreeSet<&Key> = circle.iter().map(|reference| &reference.by).collect();
    plan.block_changes(|change| keys.contains(&change.key).then(|| BlockReason::Reference(reason())));
}

/// The circles of references among the creates of a plan, or among its deletes; of circles that share an object, only
/// one is reported.
fn circles(plan: &Plan, kind: ActionKind) -> Vec<Vec<WrittenReference>> {
    let objects = plan.of_kind(kind).map(|change| change.action.object());
    let objects: BTreeMap<&Key, _> = objects.map(|object| (&object.key, object)).collect();
    let mut left: BTreeMap<&Key, Vec<WrittenReference>> = BTreeMap::new();
    for (key, object) in objects.iter().filter(|_| objects.len() > 1) {
        let written = |target: &Target| {
            let found =
                waves::candidates(target, &key.namespace).find(|one| one != *key && objects.contains_key(one))?;
            Some(WrittenReference { by: (*key).clone(), path: target.path.clone(), target: found })
        };
        let references: Vec<_> = waves::targets(object).iter().filter_map(written).collect();
        if !references.is_empty() {
            left.insert(key, references);
        }
    }
    let mut circles = Vec::new();
    loop {
        // An object without a reference to a remaining one is in no circle.
        let before = left.len();
        let keys: BTreeSet<Key> = left.keys().map(|key| (*key).clone()).collect();
        left.retain(|_, references| {
            references.retain(|reference| keys.contains(&reference.target));
            !references.is_empty()
        });
        if left.len() < before {
            continue;
        }
        // Every remaining object refers to a remaining one, so following the references ends in a circle.
        let Some(first) = left.keys().next().copied() else { return circles };
        let mut path: Vec<WrittenReference> = Vec::new();
        let mut at = first.clone();
        let start = loop {
            if let Some(start) = path.iter().position(|reference| reference.by == at) {
                break start;
            }
            let Some(next) = left.get(&at).and_then(|references| references.first()) else { return circles };
            at = next.target.clone();
            path.push(next.clone());
        };
        let circle = path.split_off(start);
        circle.iter().for_each(|reference| drop(left.remove(&reference.by)));
        circles.push(circle);
    }
}

impl Plan {
    /// Blocks changes that refer to a create of `whole` that this part does not contain.
    pub(super) fn block_without_targets(&mut self, whole: &Plan) {
        let created = whole.created();
        if created.is_subset(&self.created()) {
            return;
        }
        self.block_references(|change, target, creates| {
            let mut keys = waves::candidates(target, &change.key.namespace);
            let is_written = change.action.kind() != ActionKind::Annotate;
            let left_out = keys.find(|key| is_written && created.contains(key) && !creates.contains(key))?;
            Some((BrokenReference::LeftOut, left_out))
        });
    }

    /// Blocks changes that would write a reference to an object that is neither live nor created by this plan, if its
    /// list was read, or whose list the `undone` plan read but that cannot be read now.
    pub(super) fn block_lost_references(&mut self, undone: &Plan, live: &Live) {
        live.lists.values().for_each(|read| self.learn_tenants(read));
        // Endpoints do not refer to one another.
        if live.lists.keys().all(|list| list.kind.is_endpoint()) {
            return;
        }
        let own = self.own_tenants();
        self.block_references(|change, target, creates| {
            let is_unread = |key: &Key| {
                let list = Scope::from(key);
                undone.scope.contains_key(&list) && matches!(live.lists.get(&list), Some(ListRead::Unknown { .. }))
            };
            let is_lost = |key: &Key| !creates.contains(key) && (is_unread(key) || is_gone(live, key));
            let keys: Vec<Key> = waves::candidates(target, &change.key.namespace).collect();
            let is_written = target.is_of(&own) && writes(change, target);
            if !is_written || !keys.iter().all(is_lost) || refers_already(change, target) {
                return None;
            }
            match keys.iter().find(|key| is_unread(key)) {
                Some(unread) => Some((BrokenReference::Unread, unread.clone())),
                None => Some((BrokenReference::LeftOut, keys.first()?.clone())),
            }
        });
    }

    /// The lists of objects that it writes references to and does not create, if `whole` is about these lists.
    pub fn referred_lists(&self, whole: &Plan) -> BTreeSet<Scope> {
        let lists = self.referred().flat_map(|(.., keys)| keys).map(|key| Scope::from(&key));
        lists.filter(|list| whole.is_about(list)).collect()
    }

    /// Whether the plan is about a list: it read the list or, in a rollback, another list of the same namespace.
    pub(super) fn is_about(&self, list: &Scope) -> bool {
        let is_beside = |read: &Scope| self.undone().is_some() && read.namespace == list.namespace;
        self.scope.contains_key(list) || self.scope.keys().any(is_beside)
    }

    /// A reference that this part of an earlier plan would write to an object that no longer exists, if its list was
    /// read. Objects that the `whole` plan deletes do not count.
    pub fn lost_reference(&self, whole: &Plan, live: &Live) -> Option<WrittenReference> {
        let named: BTreeSet<String> = live.lists.values().flat_map(tenants).cloned().collect();
        let own = if named.is_empty() { self.own_tenants() } else { named };
        let deleted: BTreeSet<&Key> = whole.deletes().collect();
        let is_lost = |key: &Key| !deleted.contains(key) && is_gone(live, key);
        let mut lost = self.referred().filter(|(change, target, keys)| {
            target.is_of(&own) && keys.iter().all(is_lost) && !refers_already(change, target)
        });
        let (change, target, keys) = lost.next()?;
        Some(WrittenReference { by: change.key.clone(), path: target.path, target: keys.into_iter().next()? })
    }

    /// The references that this plan writes to objects that it does not create, each with the keys that it may mean.
    fn referred(&self) -> impl Iterator<Item = (&Change, Target, Vec<Key>)> {
        let is_created = |action: &Action| matches!(action.kind(), ActionKind::Create | ActionKind::Recreate);
        let created = self.changes.iter().filter(move |change| is_created(&change.action));
        let created: BTreeSet<&Key> = created.map(|change| &change.key).collect();
        let written = self.changes.iter().flat_map(|change| {
            let targets = waves::afterwards(change).map(|after| waves::targets(&after)).unwrap_or_default();
            targets.into_iter().filter(|target| writes(change, target)).map(move |target| {
                let keys: Vec<Key> = waves::candidates(&target, &change.key.namespace).collect();
                (change, target, keys)
            })
        });
        written.filter(move |(.., keys)| !keys.iter().any(|key| created.contains(key)))
    }

    /// Blocks changes with a broken reference. `broken` gets a change, a target and the creates, and returns the fault.
    fn block_references(
        &mut self,
        broken: impl Fn(&Change, &Target, &BTreeSet<Key>) -> Option<(fn(WrittenReference) -> BrokenReference, Key)>,
    ) {
        loop {
            let creates = self.created();
            let is_one_blocked = self.block_changes(|change| {
                let targets = waves::targets(&*waves::afterwards(change)?);
                targets.into_iter().find_map(|target| {
                    let (reason, key) = broken(change, &target, &creates)?;
                    let reference = WrittenReference { by: change.key.clone(), path: target.path, target: key };
                    Some(BlockReason::Reference(reason(reference)))
                })
            });
            // Others may refer to a create that was blocked.
            if !is_one_blocked {
                return;
            }
        }
    }

    fn created(&self) -> BTreeSet<Key> {
        self.of_kind(ActionKind::Create).map(|change| change.key.clone()).collect()
    }

    /// Records the names of the tenant in the live objects of a list.
    pub(super) fn learn_tenants(&mut self, read: &ListRead) {
        for tenant in tenants(read) {
            if !self.live_tenants.contains(tenant) {
                self.live_tenants.insert(tenant.clone());
            }
        }
    }

    /// The names by which references may call the own tenant: those in live objects, else those in references to
    /// objects of this plan.
    pub fn own_tenants(&self) -> BTreeSet<String> {
        let mut own = self.live_tenants.clone();
        if !own.is_empty() {
            return own;
        }
        let planned: BTreeSet<&Key> = self.with_blocked().map(|change| &change.key).collect();
        for change in &self.changes {
            let Some(after) = waves::afterwards(change) else { continue };
            let mut targets = waves::targets(&after);
            targets.retain(|target| waves::candidates(target, &change.key.namespace).any(|key| planned.contains(&key)));
            own.extend(targets.into_iter().filter_map(|target| target.tenant));
        }
        own
    }

    /// The broken references that are errors of the definitions.
    pub fn broken_references(&self) -> impl Iterator<Item = &BrokenReference> {
        self.blocked.iter().filter_map(|BlockedChange { reason, .. }| match reason {
            BlockReason::Reference(broken) => Some(broken).filter(|broken| broken.is_error()),
            _ => None,
        })
    }
}
