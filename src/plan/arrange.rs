use std::collections::{BTreeSet, HashMap};

use super::{
    Action, Allow, Before, Blocked, Cause, Change, FieldChange, Held, Hold, Ignore, Marks, Note, Plan, Prune, Referrer,
    Scope, ScopeRead, Selection, Service, Settings, Source, guard,
};
use crate::diff::{self, Context, Difference};
use crate::model::{
    Definition, Desired, Key, Live, LiveItem, LiveObject, Mark, MarkedCause, Namespace, NamespaceRead, PROTECT,
};

/// Everything that a plan is made of.
#[derive(Clone, Copy)]
pub struct Facts<'a> {
    /// All definitions.
    pub desired: &'a Desired,
    /// The stack, if there is one.
    pub stack: Option<&'a str>,
    /// The namespaces in which deletes may be planned; nothing where the configuration lists none.
    pub namespaces: Option<&'a BTreeSet<Namespace>>,
    /// What was asked for.
    pub settings: &'a Settings,
    /// Fields that are left out of comparison.
    pub ignore: &'a Ignore,
    /// What was allowed by name.
    pub allow: &'a Allow,
    /// The filters of the call.
    pub selection: &'a Selection,
    /// Whether an endpoint is known to have been applied before, by the journal or by a memory.
    pub applied_before: &'a dyn Fn(&Key) -> bool,
    /// The service.
    pub service: &'a Service,
    /// Where the definitions come from.
    pub source: &'a Source,
    /// The version of this program.
    pub tool_version: &'a str,
}

/// Decides what will be done.
///
/// # Guarantees
/// - Nothing at all is planned in a namespace whose read is unknown.
/// - A delete is planned only for a stack, in a namespace that its configuration lists, of an object
///   that it owns (or, with `prune: all`, that nobody marked).
/// - Filters choose among the changes; they never make one.
/// - The same facts give the same plan, whatever order files and items came in.
///
/// # Assumptions
/// Definitions are valid, and every namespace that a definition names was asked for.
///
/// # Caveats
/// Who refers to an endpoint that would go is not in a list: see [`Plan::refer`].
#[must_use]
pub fn arrange(facts: Facts<'_>, live: &Live) -> Plan {
    let mut arrangement = Arrangement::new(facts);
    for (namespace, read) in &live.namespaces {
        arrangement.take(namespace, read);
    }
    arrangement.finish(live.requests)
}

/// A plan that is made namespace by namespace, in any order, so that none has to be kept longer than
/// its turn takes. See [`arrange`].
pub struct Arrangement<'f> {
    facts: Facts<'f>,
    definitions: HashMap<&'f Namespace, Vec<&'f Definition>>,
    plan: Plan,
}

impl<'f> Arrangement<'f> {
    /// A plan over nothing yet.
    #[must_use]
    pub fn new(facts: Facts<'f>) -> Self {
        let mut definitions: HashMap<_, Vec<_>> = HashMap::new();
        for (key, definition) in &facts.desired.definitions {
            definitions.entry(&key.namespace).or_default().push(definition);
        }
        let plan = Plan {
            tool_version: facts.tool_version.to_owned(),
            service: facts.service.clone(),
            stack: facts.stack.map(str::to_owned),
            settings: facts.settings.clone(),
            setting_changes: Vec::new(),
            scope: Default::default(),
            changes: Vec::new(),
            held: Vec::new(),
            guards: Vec::new(),
            notes: Vec::new(),
            source: facts.source.clone(),
        };
        Self { facts, definitions, plan }
    }

    /// Takes in what a namespace holds.
    pub fn take(&mut self, namespace: &Namespace, read: &NamespaceRead) {
        let wanted = self.definitions.get(namespace).map_or(&[][..], Vec::as_slice);
        let scope = arrange_namespace(&mut self.plan, &self.facts, namespace, read, wanted);
        self.plan.scope.insert(namespace.clone(), scope);
    }

    /// The plan, for which so many lists were asked for.
    #[must_use]
    pub fn finish(self, requests: u64) -> Plan {
        let mut plan = self.plan;
        plan.changes.sort_by(|a, b| (a.action.kind().phase(), &a.key).cmp(&(b.action.kind().phase(), &b.key)));
        plan.held.sort_by(|a, b| a.key.cmp(&b.key));
        plan.notes.sort();
        plan.guards = guard::standing(&plan);
        plan.source.requests = requests;
        plan
    }
}

fn arrange_namespace(
    plan: &mut Plan,
    facts: &Facts<'_>,
    namespace: &Namespace,
    read: &NamespaceRead,
    wanted: &[&Definition],
) -> Scope {
    let pruned = facts.stack.is_some() && facts.namespaces.is_some_and(|listed| listed.contains(namespace));
    let selected = facts.selection.reaches(namespace, facts.desired);
    let mut scope = Scope {
        read: ScopeRead::Unknown { reason: String::new() },
        definitions: wanted.len(),
        in_sync: 0,
        pruned,
        selected,
    };
    let items = match read {
        NamespaceRead::Unknown { reason } => {
            scope.read = ScopeRead::Unknown { reason: reason.clone() };
            return scope;
        }
        NamespaceRead::Complete { items } => items,
    };
    let mut arranger = Arranger { plan, facts, pruned, in_sync: 0, owned: 0 };
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
    scope.read = ScopeRead::Complete { live: items.len(), owned: arranger.owned };
    if items.is_empty() && scope.definitions > 0 {
        plan.notes.push(Note::EmptyNamespace { namespace: namespace.clone() });
    }
    scope
}

/// Works through one namespace.
struct Arranger<'a, 'f> {
    plan: &'a mut Plan,
    facts: &'a Facts<'f>,
    pruned: bool,
    in_sync: usize,
    owned: usize,
}

/// Whose a live object is.
enum Owner<'a> {
    Ours,
    Foreign(&'a str),
    Nobody,
}

impl Arranger<'_, '_> {
    fn marks(&self, definition: &Definition) -> Option<Marks> {
        self.facts.settings.marks.then(|| Marks::wanted(&definition.endpoint, self.facts.stack))
    }

    fn owner<'m>(&self, mark: Option<&'m Mark>) -> Owner<'m> {
        match mark {
            None => Owner::Nobody,
            Some(mark) => match (&mark.stack, self.facts.stack) {
                (Some(theirs), ours) if Some(theirs.as_str()) != ours => Owner::Foreign(theirs),
                // Written without a stack: a stack does not own it before it adopts it.
                (None, Some(_)) => Owner::Nobody,
                _ => Owner::Ours,
            },
        }
    }

    fn push(&mut self, change: Change, definition: Option<&Definition>, live: Option<&LiveObject>) {
        if self.facts.selection.selects(&change.key, definition, live.map(|live| &live.endpoint)) {
            self.plan.changes.push(change);
        }
    }

    fn hold(&mut self, held: Held, definition: Option<&Definition>, live: Option<&LiveObject>) {
        if self.facts.selection.selects(&held.key, definition, live.map(|live| &live.endpoint)) {
            self.plan.held.push(held);
        }
    }

    fn missing(&mut self, definition: &Definition) {
        let key = definition.endpoint.key.clone();
        let cause = if (self.facts.applied_before)(&key) { Cause::Drift } else { Cause::Pending };
        let action = Action::Create { wanted: definition.endpoint.clone() };
        let change = Change { cause: Some(cause), marks: self.marks(definition), ..Change::new(key, action) };
        self.push(change, Some(definition), None);
    }

    fn both(&mut self, definition: &Definition, item: &LiveItem) {
        let key = &definition.endpoint.key;
        let live = match item {
            LiveItem::Object(live) => live,
            LiveItem::Unheld(unheld) => {
                let hold = Hold::Blocked(Blocked::Unheld { reason: unheld.reason.clone() });
                return self.hold(Held::new(key.clone(), hold, None), Some(definition), None);
            }
        };
        self.owned += 1;
        let unknown = live.unknown.iter().filter(|field| !field.blocks);
        let notes = unknown.map(|field| Note::UnknownField { key: key.clone(), path: field.path.clone() });
        self.plan.notes.extend(notes);
        let mark = Mark::read(&live.endpoint.annotations);
        let ignored = self.facts.ignore.fields(key);
        let applied = mark.as_ref().and_then(|mark| mark.applied.as_ref());
        let differences = diff::compare(&live.endpoint, &definition.endpoint, Context { applied, ignored: &ignored });
        let change = self.change(definition, live, mark.as_ref(), &differences);
        if let Some(blocked) = blocked(live, !differences.is_empty()) {
            return self.hold(Held::new(key.clone(), Hold::Blocked(blocked), change), Some(definition), Some(live));
        }
        match self.owner(mark.as_ref()) {
            Owner::Foreign(stack) if !self.facts.allow.foreign_stack(key) => {
                if differences.is_empty() {
                    self.in_sync += 1;
                    self.owned -= 1;
                    self.plan.notes.push(Note::ForeignEqual { key: key.clone(), stack: stack.to_owned() });
                } else {
                    let hold = Hold::ForeignStack { stack: stack.to_owned() };
                    self.hold(Held::new(key.clone(), hold, change), Some(definition), Some(live));
                }
            }
            _ => {
                if differences.is_empty() {
                    self.in_sync += 1;
                    if mark.is_none() && self.facts.settings.marks && !self.facts.settings.adopt {
                        self.plan.notes.push(Note::Unmarked { key: key.clone() });
                    }
                }
                if let Some(change) = change {
                    self.push(change, Some(definition), Some(live));
                }
            }
        }
    }

    /// The change that makes `live` what its definition says, marks included; nothing where it is.
    fn change(
        &self,
        definition: &Definition,
        live: &LiveObject,
        mark: Option<&Mark>,
        differences: &[Difference],
    ) -> Option<Change> {
        let key = definition.endpoint.key.clone();
        if !differences.is_empty() {
            let applied = mark.and_then(|mark| mark.applied.as_ref());
            let fields = differences
                .iter()
                .map(|difference| FieldChange {
                    field: difference.field.clone(),
                    before: difference.live.clone(),
                    after: difference.desired.clone(),
                    cause: applied.map_or(Cause::Unmarked, |applied| {
                        applied.cause(&difference.field, &live.endpoint, &definition.endpoint).into()
                    }),
                    side: None,
                    place: None,
                })
                .collect();
            let adopts = !matches!(self.owner(mark), Owner::Ours);
            let action = Action::Replace { fields, adopts, before: Before::of(live) };
            return Some(Change { marks: self.marks(definition), ..Change::new(key, action) });
        }
        let takes_over = match self.owner(mark) {
            Owner::Ours => true,
            Owner::Nobody => self.facts.settings.adopt,
            Owner::Foreign(_) => self.facts.allow.foreign_stack(&key),
        };
        if !self.facts.settings.marks || !takes_over {
            return None;
        }
        let wanted = Mark::wanted(&definition.endpoint, self.facts.stack);
        if mark.is_some_and(|mark| mark.fits(&wanted)) {
            return None;
        }
        Some(Change { marks: self.marks(definition), ..Change::new(key, Action::Mark { before: Before::of(live) }) })
    }

    fn undefined(&mut self, item: &LiveItem) {
        let key = item.key().clone();
        let live = match item {
            LiveItem::Object(live) => live,
            LiveItem::Unheld(unheld) => {
                self.plan.notes.push(Note::Unheld { key, reason: unheld.reason.clone() });
                return;
            }
        };
        if let Some(owner) = &live.owner_view {
            let owner = format!("{} {}/{}", owner.kind, owner.namespace, owner.name);
            self.plan.notes.push(Note::Owned { key, owner });
            return;
        }
        if live.deleting {
            return;
        }
        let mark = Mark::read(&live.endpoint.annotations);
        let prune = if self.pruned { self.facts.settings.prune } else { Prune::None };
        let cause = match (self.owner(mark.as_ref()), prune) {
            (Owner::Foreign(_), _) => return,
            (Owner::Ours, Prune::Owned | Prune::All) if self.facts.stack.is_some() => Cause::Pending,
            (Owner::Nobody, Prune::All) => Cause::Unmarked,
            (Owner::Ours, _) => return self.plan.notes.push(Note::Orphan { key }),
            (Owner::Nobody, _) => return self.plan.notes.push(Note::Unmanaged { key }),
        };
        self.owned += 1;
        let protected = live.endpoint.annotations.get(PROTECT).is_some_and(|value| value == "true");
        let action = Action::Delete { before: Before::of(live), referrers: Vec::new() };
        let change = Change { cause: Some(cause), ..Change::new(key.clone(), action) };
        if protected && !self.facts.allow.protected(&key) {
            self.hold(Held::new(key, Hold::Protected, Some(change)), None, Some(live));
        } else {
            self.push(change, None, Some(live));
        }
    }
}

/// Why a live object cannot be changed at all.
fn blocked(live: &LiveObject, differs: bool) -> Option<Blocked> {
    if let Some(owner) = &live.owner_view {
        return Some(Blocked::OwnerView(owner.clone()));
    }
    if live.deleting {
        return Some(Blocked::Deleting);
    }
    let option = live.unknown.iter().find(|field| field.blocks)?;
    differs.then(|| Blocked::UnknownOption { path: option.path.clone() })
}

impl From<MarkedCause> for Cause {
    fn from(cause: MarkedCause) -> Self {
        match cause {
            MarkedCause::Pending => Cause::Pending,
            MarkedCause::Drift => Cause::Drift,
            MarkedCause::Both => Cause::Both,
        }
    }
}

impl Before {
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
    /// of which that is not known, is held back unless it was allowed by name.
    pub fn refer(&mut self, allow: &Allow, mut referrers: impl FnMut(&Key) -> Result<Vec<Referrer>, String>) {
        let mut kept = Vec::with_capacity(self.changes.len());
        for mut change in std::mem::take(&mut self.changes) {
            let Action::Delete { referrers: known, .. } = &mut change.action else {
                kept.push(change);
                continue;
            };
            let hold = match referrers(&change.key) {
                Ok(by) => {
                    known.clone_from(&by);
                    let held = !by.is_empty() && !allow.referred(&change.key);
                    held.then_some(Hold::Referred { by })
                }
                Err(reason) => Some(Hold::Blocked(Blocked::ReferrersUnknown { reason })),
            };
            match hold {
                Some(hold) => self.held.push(Held::new(change.key.clone(), hold, Some(change))),
                None => kept.push(change),
            }
        }
        self.changes = kept;
        self.held.sort_by(|a, b| a.key.cmp(&b.key));
        self.guards = guard::standing(self);
    }
}
