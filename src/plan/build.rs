//! Builds a plan: compares each definition with the live object of its key, decides by ownership what is done
//! or blocked, and counts what the guards need. A namespace is planned when its read arrives.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::{
    Action, ActionKind, Allowances, BeforeImage, BlockReason, BlockedChange, Cause, Change, FieldChange, Ignore,
    MatchedFilters, NamespaceScope, Note, OwnershipAnnotations, Plan, PlanSettings, PlanSource, Prune, ScopeRead,
    Selection, ServiceId, Unchangeable, UnmatchedFilter, owner::Owner,
};
use crate::diff::{self, Context, Difference};
use crate::model::{
    AppliedCause, AppliedFields, Definition, Desired, Endpoint, Key, Live, LiveItem, LiveObject, Namespace,
    NamespaceRead, Ownership, PROTECT, RelatedObject, STACK, WrittenFor,
};

/// Everything that a plan is made of.
#[derive(Clone, Copy)]
pub struct PlanInput<'a> {
    /// All definitions.
    pub desired: &'a Desired,
    /// The stack, if there is one.
    pub stack: Option<&'a str>,
    /// The namespaces in which deletes may be planned; nothing where the configuration lists none.
    pub namespaces: Option<&'a BTreeSet<Namespace>>,
    /// What was asked for.
    pub settings: &'a PlanSettings,
    /// Fields that are left out of comparison.
    pub ignore: &'a Ignore,
    /// What was allowed by name.
    pub allow: &'a Allowances,
    /// The filters of the call.
    pub selection: &'a Selection,
    /// The service.
    pub service: &'a ServiceId,
    /// Where the definitions come from.
    pub source: &'a PlanSource,
    /// The version of this program.
    pub tool_version: &'a str,
}

/// Decides what will be done.
///
/// # Guarantees
/// - Nothing at all is planned in a namespace whose read is unknown.
/// - A delete is planned only for a stack, in a namespace that its configuration lists, of an object
///   whose annotations name the stack and prove that they were written for its key (or, with
///   `prune: all`, of one that no other stack owns).
/// - Filters choose among the changes; they never make one.
/// - The same input gives the same plan, whatever order files and items came in.
///
/// # Assumptions
/// Definitions are valid, and every namespace that a definition names was asked for.
///
/// # Caveats
/// Who refers to an endpoint that would go is not in a list: see [`Plan::refer`]. Whether a missing
/// object was ever applied is neither: see [`Plan::judge_missing`].
#[must_use]
pub fn arrange(input: PlanInput<'_>, live: &Live) -> Plan {
    let mut arrangement = PlanBuilder::new(input);
    for (namespace, read) in &live.namespaces {
        arrangement.take(namespace, read);
    }
    arrangement.finish(live.requests)
}

/// A plan that is made namespace by namespace, in any order, so that none has to be kept longer than
/// its turn takes. See [`arrange`].
pub struct PlanBuilder<'f> {
    input: PlanInput<'f>,
    definitions: HashMap<&'f Namespace, Vec<&'f Definition>>,
    plan: Plan,
    commits: BTreeSet<String>,
    matched: MatchedFilters,
}

impl<'f> PlanBuilder<'f> {
    /// A plan over nothing yet.
    #[must_use]
    pub fn new(input: PlanInput<'f>) -> Self {
        let mut definitions: HashMap<_, Vec<_>> = HashMap::new();
        for (key, definition) in &input.desired.definitions {
            definitions.entry(&key.namespace).or_default().push(definition);
        }
        let plan = Plan {
            tool_version: input.tool_version.to_owned(),
            service: input.service.clone(),
            stack: input.stack.map(str::to_owned),
            settings: input.settings.clone(),
            setting_changes: Vec::new(),
            scope: Default::default(),
            changes: Vec::new(),
            blocked: Vec::new(),
            guards: Vec::new(),
            allowed: Vec::new(),
            left_out: 0,
            notes: Vec::new(),
            source: input.source.clone(),
        };
        Self { input, definitions, plan, commits: BTreeSet::new(), matched: MatchedFilters::default() }
    }

    /// Takes in what a namespace holds.
    pub fn take(&mut self, namespace: &Namespace, read: &NamespaceRead) {
        let wanted = self.definitions.get(namespace).map_or(&[][..], Vec::as_slice);
        let scope = arrange_namespace(&mut self.plan, &mut self.commits, &self.input, namespace, read, wanted);
        self.plan.scope.insert(namespace.clone(), scope);
        if let NamespaceRead::Complete { items } = read
            && !self.input.selection.is_all()
        {
            self.note_matches(namespace, items);
        }
    }

    /// Notes which filters match something of a namespace.
    fn note_matches(&mut self, namespace: &Namespace, items: &BTreeMap<Key, LiveItem>) {
        let PlanInput { selection, desired, .. } = self.input;
        for definition in self.definitions.get(namespace).into_iter().flatten() {
            let key = &definition.endpoint.key;
            selection.note(&mut self.matched, key, Some(definition), items.get(key).and_then(endpoint));
        }
        for (key, item) in items.iter().filter(|(key, _)| !desired.definitions.contains_key(*key)) {
            selection.note(&mut self.matched, key, None, endpoint(item));
        }
    }

    /// A filter that matches nothing of what was taken in; nothing where a namespace that the filters may
    /// reach is unknown, or is not among those taken in.
    #[must_use]
    pub fn unmatched(&self) -> Option<UnmatchedFilter> {
        let PlanInput { selection, desired, .. } = self.input;
        let known = |namespace: &Namespace| {
            let read = self.plan.scope.get(namespace).map(|scope| &scope.read);
            matches!(read, Some(ScopeRead::Complete { .. })) || !selection.reaches(namespace, desired)
        };
        let listed = self.input.namespaces.into_iter().flatten();
        let mut all = self.plan.scope.keys().chain(self.definitions.keys().copied()).chain(listed);
        if all.all(known) { selection.unmatched(&self.matched) } else { None }
    }

    /// The commits that the live objects of the stack name: those of the runs that wrote them.
    #[must_use]
    pub fn commits(&self) -> &BTreeSet<String> {
        &self.commits
    }

    /// The plan, for which so many lists were asked for.
    #[must_use]
    pub fn finish(self, requests: u64) -> Plan {
        let mut plan = self.plan;
        plan.changes.sort_by(|a, b| (a.action.kind().phase(), &a.key).cmp(&(b.action.kind().phase(), &b.key)));
        plan.blocked.sort_by(|a, b| a.key.cmp(&b.key));
        plan.notes.sort();
        plan.guard();
        plan.source.requests = requests;
        plan
    }
}

fn arrange_namespace(
    plan: &mut Plan,
    commits: &mut BTreeSet<String>,
    input: &PlanInput<'_>,
    namespace: &Namespace,
    read: &NamespaceRead,
    wanted: &[&Definition],
) -> NamespaceScope {
    let pruned = input.stack.is_some() && input.namespaces.is_some_and(|listed| listed.contains(namespace));
    let selected = input.selection.reaches(namespace, input.desired);
    let mut scope = NamespaceScope {
        read: ScopeRead::Unknown { reason: String::new() },
        definitions: 0,
        in_sync: 0,
        pruned,
        selected,
    };
    let items = match read {
        NamespaceRead::Unknown { reason } => {
            scope.read = ScopeRead::Unknown { reason: reason.clone() };
            scope.definitions = selected_of(input.selection, wanted, &BTreeMap::new());
            return scope;
        }
        NamespaceRead::Complete { items } => items,
    };
    let mut arranger = NamespaceBuilder { plan, commits, input, items, pruned, in_sync: 0, owned: 0, removable: 0 };
    scope.definitions = selected_of(input.selection, wanted, items);
    let is_defined = !wanted.is_empty();
    let mut wanted = wanted.iter().copied().peekable();
    for (key, item) in items {
        while let Some(definition) = wanted.next_if(|definition| definition.endpoint.key < *key) {
            arranger.missing(definition);
        }
        match wanted.next_if(|definition| definition.endpoint.key == *key) {
            Some(definition) => arranger.both(definition, item),
            None => arranger.undefined(item),
        }
    }
    for definition in wanted {
        arranger.missing(definition);
    }
    scope.in_sync = arranger.in_sync;
    scope.read = ScopeRead::Complete { live: items.len(), owned: arranger.owned, removable: arranger.removable };
    if items.is_empty() && is_defined {
        plan.notes.push(Note::EmptyNamespace { namespace: namespace.clone() });
    }
    scope
}

/// How many definitions the filters leave in.
fn selected_of(selection: &Selection, wanted: &[&Definition], items: &BTreeMap<Key, LiveItem>) -> usize {
    if selection.is_all() {
        return wanted.len();
    }
    let live = |key: &Key| items.get(key).and_then(endpoint);
    let selects = |one: &&&Definition| selection.selects(&one.endpoint.key, Some(one), live(&one.endpoint.key));
    wanted.iter().filter(selects).count()
}

fn endpoint(item: &LiveItem) -> Option<&Endpoint> {
    match item {
        LiveItem::Object(object) => Some(&object.endpoint),
        LiveItem::Unsupported(_) => None,
    }
}

/// Works through one namespace.
struct NamespaceBuilder<'a, 'f> {
    plan: &'a mut Plan,
    commits: &'a mut BTreeSet<String>,
    input: &'a PlanInput<'f>,
    items: &'a BTreeMap<Key, LiveItem>,
    pruned: bool,
    in_sync: usize,
    /// What shares are counted of.
    owned: usize,
    /// What `empty-namespace` is counted of.
    removable: usize,
}

impl NamespaceBuilder<'_, '_> {
    /// The ownership annotations to write over those that say what was `applied`.
    fn marks(&self, definition: &Definition, applied: Option<&AppliedFields>) -> Option<OwnershipAnnotations> {
        self.input.settings.marks.then(|| OwnershipAnnotations::wanted(&definition.endpoint, self.input.stack, applied))
    }

    /// The ownership annotations that a replace writes. Where none are wanted, those that are there stay
    /// true, or they would give later differences a false cause.
    fn marks_of_replace(
        &self,
        definition: &Definition,
        owner: Owner<'_>,
        mark: Option<&Ownership>,
    ) -> Option<OwnershipAnnotations> {
        let applied = owner.applied(mark);
        if let (false, Some(_), Some(mark)) = (self.input.settings.marks, applied, mark) {
            return Some(OwnershipAnnotations::wanted(&definition.endpoint, mark.stack.as_deref(), applied).fitting());
        }
        self.marks(definition, applied)
    }

    fn owner<'m>(&self, key: &Key, mark: Option<&'m Ownership>) -> Owner<'m> {
        Owner::of(mark, key, self.input.stack)
    }

    /// Remembers the commit that an object of the stack names.
    fn note_commit(&mut self, owner: Owner<'_>, mark: Option<&Ownership>) {
        if let Some(commit) = owner.applied(mark).and_then(AppliedFields::commit)
            && !matches!(owner, Owner::Foreign(_))
            && !self.commits.contains(commit)
        {
            self.commits.insert(commit.to_owned());
        }
    }

    /// Notes that an object carries the annotations of another, and of which, where that is known.
    fn note_copy(&mut self, key: &Key, mark: Option<&Ownership>) {
        let applied = mark.and_then(|mark| mark.applied.as_ref());
        let is_it = |key: &&Key| applied.is_some_and(|applied| applied.written_for(key) == WrittenFor::This);
        let known = self.items.keys().chain(self.input.desired.definitions.keys());
        let of = known.into_iter().find(is_it).cloned();
        self.plan.notes.push(Note::Copied { key: key.clone(), of });
    }

    fn push(&mut self, change: Change, definition: Option<&Definition>, live: Option<&LiveObject>) {
        if self.input.selection.selects(&change.key, definition, live.map(|live| &live.endpoint)) {
            self.plan.changes.push(change);
        } else if change.action.kind() != ActionKind::Annotate {
            self.plan.left_out += 1;
        }
    }

    fn block(&mut self, entry: BlockedChange, definition: Option<&Definition>, live: Option<&LiveObject>) {
        if self.input.selection.selects(&entry.key, definition, live.map(|live| &live.endpoint)) {
            self.plan.blocked.push(entry);
        } else {
            self.plan.left_out += 1;
        }
    }

    fn missing(&mut self, definition: &Definition) {
        let key = definition.endpoint.key.clone();
        let action = Action::Create { wanted: definition.endpoint.clone() };
        let change =
            Change { cause: Some(Cause::Pending), ownership: self.marks(definition, None), ..Change::new(key, action) };
        self.push(change, Some(definition), None);
    }

    fn both(&mut self, definition: &Definition, item: &LiveItem) {
        let key = &definition.endpoint.key;
        let live = match item {
            LiveItem::Object(live) => live,
            LiveItem::Unsupported(unsupported) => {
                let reason =
                    BlockReason::Unchangeable(Unchangeable::Unsupported { reason: unsupported.reason.clone() });
                return self.block(BlockedChange::new(key.clone(), reason, None), Some(definition), None);
            }
        };
        let mark = Ownership::read(&live.endpoint.annotations);
        let owner = self.owner(key, mark.as_ref());
        self.note_commit(owner, mark.as_ref());
        if owner == Owner::Copied {
            self.note_copy(key, mark.as_ref());
        }
        let ignored = self.input.ignore.fields(key);
        let applied = owner.applied(mark.as_ref());
        let differences = diff::compare(&live.endpoint, &definition.endpoint, Context { applied, ignored: &ignored });
        let unknown = live.unknown.iter().filter(|field| !field.blocks);
        self.plan.notes.extend(unknown.map(|field| unknown_field(live, &field.path, &differences)));
        let change = self.change(definition, live, mark.as_ref(), &differences);
        let selected = self.input.selection.selects(key, Some(definition), Some(&live.endpoint));
        // What belongs to somebody else is not part of any share, and what is going is not ours to count.
        let counts = live.owner_view.is_none() && !live.deleting;
        let is_blocked_foreign = matches!(owner, Owner::Foreign(_)) && !self.input.allow.foreign_stack(key);
        self.owned += usize::from(counts && !is_blocked_foreign);
        self.removable += usize::from(counts && owner.is_ours());
        if let Some(blocked) = blocked(live, !differences.is_empty()) {
            return self.block(
                BlockedChange::new(key.clone(), BlockReason::Unchangeable(blocked), change),
                Some(definition),
                Some(live),
            );
        }
        match owner {
            Owner::Foreign(stack) if is_blocked_foreign => {
                if differences.is_empty() {
                    self.in_sync += usize::from(selected);
                    self.plan.notes.push(Note::ForeignEqual { key: key.clone(), stack: stack.to_owned() });
                } else {
                    let reason = BlockReason::ForeignStack { stack: stack.to_owned() };
                    self.block(BlockedChange::new(key.clone(), reason, change), Some(definition), Some(live));
                }
            }
            _ => {
                if differences.is_empty() {
                    self.in_sync += usize::from(selected);
                    if self.input.settings.marks {
                        self.note_equal(key, owner);
                    }
                }
                if let Some(change) = change {
                    self.push(change, Some(definition), Some(live));
                }
            }
        }
    }

    /// Notes that an object which is as defined is not owned yet.
    fn note_equal(&mut self, key: &Key, owner: Owner<'_>) {
        match owner {
            Owner::Nobody | Owner::Copied if !self.input.settings.adopt => {
                self.plan.notes.push(Note::Unmarked { key: key.clone() });
            }
            Owner::Unstacked => self.plan.notes.push(Note::Unstacked { key: key.clone() }),
            _ => {}
        }
    }

    /// The change that makes `live` what its definition says, ownership annotations included; nothing where
    /// it is.
    fn change(
        &self,
        definition: &Definition,
        live: &LiveObject,
        mark: Option<&Ownership>,
        differences: &[Difference],
    ) -> Option<Change> {
        let key = definition.endpoint.key.clone();
        let owner = self.owner(&key, mark);
        let applied = owner.applied(mark);
        if !differences.is_empty() {
            let fields = differences
                .iter()
                .map(|difference| FieldChange {
                    field: difference.field.clone(),
                    before: difference.live.clone(),
                    after: difference.desired.clone(),
                    cause: applied.map_or(Cause::Unmarked, |applied| {
                        applied.cause(&difference.field, &live.endpoint, &definition.endpoint).into()
                    }),
                    attribution: None,
                    place: None,
                })
                .collect();
            let action = Action::Replace { fields, adopts: !owner.is_ours(), before: BeforeImage::of(live) };
            let marks = self.marks_of_replace(definition, owner, mark);
            return Some(Change { ownership: marks, ..Change::new(key, action) });
        }
        let takes_over = match owner {
            // Written by trueup for this key, and defined by this stack: it is plain whose it is.
            Owner::Ours | Owner::Unverified | Owner::Unstacked => true,
            Owner::Nobody | Owner::Copied => self.input.settings.adopt,
            Owner::Foreign(_) => self.input.allow.foreign_stack(&key),
        };
        if !self.input.settings.marks || !takes_over {
            return None;
        }
        let wanted = Ownership::wanted(&definition.endpoint, self.input.stack);
        if mark.is_some_and(|mark| mark.fits(&wanted)) {
            return None;
        }
        let action = Action::Annotate { before: BeforeImage::of(live) };
        Some(Change { ownership: self.marks(definition, applied), ..Change::new(key, action) })
    }

    fn undefined(&mut self, item: &LiveItem) {
        let key = item.key().clone();
        let live = match item {
            LiveItem::Object(live) => live,
            LiveItem::Unsupported(unsupported) => {
                let stack = unsupported.raw["metadata"]["annotations"][STACK].as_str();
                // As of any other, nothing is said of what another stack owns.
                if stack.is_none_or(|theirs| Some(theirs) == self.input.stack) {
                    self.plan.notes.push(Note::Unsupported { key, reason: unsupported.reason.clone() });
                }
                return;
            }
        };
        if let Some(owner) = &live.owner_view {
            self.plan.notes.push(Note::Owned { key, owner: owner.to_string() });
            return;
        }
        if live.deleting {
            return;
        }
        let mark = Ownership::read(&live.endpoint.annotations);
        let prune = if self.pruned { self.input.settings.prune } else { Prune::None };
        let owner = self.owner(&key, mark.as_ref());
        if self.input.stack.is_some() {
            self.note_commit(owner, mark.as_ref());
        }
        if owner == Owner::Copied {
            self.note_copy(&key, mark.as_ref());
        }
        let cause = match (owner, prune) {
            (Owner::Foreign(_), _) => return,
            (Owner::Ours | Owner::Unverified, Prune::Owned | Prune::All) => Cause::Pending,
            (Owner::Copied | Owner::Nobody | Owner::Unstacked, Prune::All) => Cause::Unmarked,
            (Owner::Ours | Owner::Unverified, Prune::None) => return self.plan.notes.push(Note::Orphan { key }),
            (_, _) => return self.plan.notes.push(Note::Unmanaged { key }),
        };
        // With `prune: all` it would go as well if it were a copy.
        let unverified = owner == Owner::Unverified && prune == Prune::Owned && !self.input.allow.unverified(&key);
        self.owned += 1;
        let protected = live.endpoint.annotations.get(PROTECT).is_some_and(|value| value == "true");
        let action = Action::Delete { before: BeforeImage::of(live), referrers: Vec::new() };
        let change = Change { cause: Some(cause), ..Change::new(key.clone(), action) };
        if protected && !self.input.allow.protected(&key) {
            self.block(BlockedChange::new(key, BlockReason::Protected, Some(change)), None, Some(live));
        } else if unverified {
            self.block(BlockedChange::new(key, BlockReason::Unverified, Some(change)), None, Some(live));
        } else {
            self.removable += 1;
            self.push(change, None, Some(live));
        }
    }
}

/// Whether a field that the model does not know survives these differences.
fn unknown_field(live: &LiveObject, path: &str, differences: &[Difference]) -> Note {
    let (key, path) = (live.endpoint.key.clone(), path.to_owned());
    let drops = |difference: &Difference| difference.field.drops(&path, &live.endpoint, &difference.desired);
    match differences.iter().any(drops) {
        true => Note::DroppedField { key, path },
        false => Note::UnknownField { key, path },
    }
}

/// Why a live object cannot be changed at all.
fn blocked(live: &LiveObject, differs: bool) -> Option<Unchangeable> {
    if let Some(owner) = &live.owner_view {
        return Some(Unchangeable::OwnerView(owner.clone()));
    }
    if live.deleting {
        return Some(Unchangeable::Deleting);
    }
    let option = live.unknown.iter().find(|field| field.blocks)?;
    differs.then(|| Unchangeable::UnknownOption { path: option.path.clone() })
}

impl From<AppliedCause> for Cause {
    fn from(cause: AppliedCause) -> Self {
        match cause {
            AppliedCause::Pending => Cause::Pending,
            AppliedCause::Drift => Cause::Drift,
            AppliedCause::Both => Cause::Both,
        }
    }
}

impl BeforeImage {
    /// A live object as a plan sees it.
    #[must_use]
    pub fn of(live: &LiveObject) -> Self {
        Self {
            uid: live.uid.clone(),
            resource_version: live.resource_version.clone(),
            endpoint: live.endpoint.clone(),
            creator: live.creator.clone(),
            modified: live.modified.clone().or_else(|| live.created.clone()),
        }
    }
}

impl Plan {
    /// The endpoints that would go: whoever makes the plan asks the service who refers to each.
    pub fn deletes(&self) -> impl Iterator<Item = &Key> {
        self.changes.iter().filter(|change| matches!(change.action, Action::Delete { .. })).map(|change| &change.key)
    }

    /// Takes in who refers to the endpoints that would go: a delete of one that others refer to, or
    /// of which that is not known, is blocked unless it was allowed by name.
    pub fn refer(&mut self, allow: &Allowances, mut referrers: impl FnMut(&Key) -> Result<Vec<RelatedObject>, String>) {
        let mut kept = Vec::with_capacity(self.changes.len());
        for mut change in std::mem::take(&mut self.changes) {
            let Action::Delete { referrers: known, .. } = &mut change.action else {
                kept.push(change);
                continue;
            };
            let reason = match referrers(&change.key) {
                Ok(by) => {
                    known.clone_from(&by);
                    let is_blocked = !by.is_empty() && !allow.referred(&change.key);
                    is_blocked.then_some(BlockReason::Referred { by })
                }
                Err(reason) => Some(BlockReason::Unchangeable(Unchangeable::ReferrersUnknown { reason })),
            };
            match reason {
                Some(reason) => self.blocked.push(BlockedChange::new(change.key.clone(), reason, Some(change))),
                None => kept.push(change),
            }
        }
        self.changes = kept;
        self.blocked.sort_by(|a, b| a.key.cmp(&b.key));
        self.guard();
    }
}
