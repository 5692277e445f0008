//! The fixture of the tests of plans and of drift: definitions, live objects and settings, and the plan
//! that follows from them.

use std::collections::{BTreeMap, BTreeSet};

use crate::kind::KindName;
use crate::model::{
    Definition, Desired, Json, Key, Layout, ListRead, LiveItem, LiveObject, Namespace, Object, Ownership, RunId, Scope,
    Spec, StringMap,
};
use crate::plan::*;
use crate::run::{RunHeader, RunTrigger};

pub(crate) const STACK: &str = "shop-prod";

pub(crate) fn endpoint(name: &str, port: u16) -> Object {
    let text =
        format!(r#"{{"metadata":{{"name":"{name}","namespace":"shop"}},"spec":{{"ip":"10.0.0.1","port":{port}}}}}"#);
    serde_json::from_str(&text).expect("an endpoint")
}

/// An object of another kind.
pub(crate) fn object(key: &str, spec: &Json) -> Object {
    let key = Key::parse(key).expect("a key");
    let spec = Spec::written(key.kind, spec.clone()).expect("a spec");
    let (labels, annotations) = (StringMap::default(), StringMap::default());
    Object { key, labels, annotations, description: String::new(), disable: false, spec }
}

pub(crate) fn live(endpoint: Object) -> LiveObject {
    LiveObject::new(format!("uid-{}", endpoint.key.name), endpoint)
}

/// A live object as `stack` applied it from `applied`.
pub(crate) fn annotated(mut object: LiveObject, applied: &Object, stack: Option<&str>) -> LiveObject {
    let annotations = Ownership::of(applied, stack, "run-1").annotations();
    object.endpoint.annotations.extend(annotations.into_iter().map(|(key, value)| (key.to_owned(), value)));
    object
}

/// The name of a variant.
fn word(value: &impl std::fmt::Debug) -> String {
    format!("{value:?}").split([' ', '(']).next().unwrap_or_default().to_owned()
}

/// What a plan is made of, and a builder of it.
pub(crate) struct World {
    pub(crate) desired: Desired,
    pub(crate) reads: BTreeMap<Scope, ListRead>,
    pub(crate) stack: Option<&'static str>,
    pub(crate) namespaces: BTreeSet<Namespace>,
    pub(crate) kinds: BTreeSet<KindName>,
    pub(crate) settings: PlanSettings,
    pub(crate) ignore: Ignore,
    pub(crate) allow: Allowances,
    pub(crate) selection: Selection,
}

pub(crate) fn shop() -> Namespace {
    Namespace::parse("shop").expect("a namespace")
}

impl World {
    pub(crate) fn new() -> Self {
        Self {
            desired: Desired::default(),
            reads: BTreeMap::from([(Scope::endpoints(shop()), ListRead::Complete { items: BTreeMap::new() })]),
            stack: Some(STACK),
            namespaces: BTreeSet::from([shop()]),
            kinds: BTreeSet::new(),
            settings: PlanSettings::default(),
            ignore: Ignore::default(),
            allow: Allowances::default(),
            selection: Selection::all(),
        }
    }

    pub(crate) fn defined(mut self, endpoint: Object) -> Self {
        let file = format!("{}.yaml", endpoint.key.name);
        let key = endpoint.key.clone();
        let definition = Definition {
            endpoint,
            file: file.into(),
            document: 0,
            overlays: Vec::new(),
            sealed: crate::model::SealedSecrets::default(),
        };
        self.desired.definitions.insert(key, definition);
        self
    }

    pub(crate) fn live(self, object: LiveObject) -> Self {
        self.item(LiveItem::Object(object))
    }

    pub(crate) fn item(mut self, item: LiveItem) -> Self {
        let empty = || ListRead::Complete { items: BTreeMap::new() };
        if let ListRead::Complete { items } = self.reads.entry(item.key().into()).or_insert_with(empty) {
            items.insert(item.key().clone(), item);
        }
        self
    }

    pub(crate) fn with(mut self, change: impl FnOnce(&mut Self)) -> Self {
        change(&mut self);
        self
    }

    pub(crate) fn plan(&self) -> Plan {
        self.plan_of(self.reads.iter())
    }

    /// The plan where its lists arrive in this order.
    pub(crate) fn plan_of<'r>(&self, reads: impl Iterator<Item = (&'r Scope, &'r ListRead)>) -> Plan {
        self.built(reads, |builder| builder.finish(1))
    }

    /// What comes of a builder that took in these lists.
    pub(crate) fn built<'r, R>(
        &self,
        reads: impl Iterator<Item = (&'r Scope, &'r ListRead)>,
        then: impl FnOnce(PlanBuilder<'_>) -> R,
    ) -> R {
        let plan = Plan {
            tool_version: "test".to_owned(),
            service: ServiceId { base_url: "https://acme.example.net".to_owned(), layout: Layout::Uniform },
            stack: self.stack.map(str::to_owned),
            settings: self.settings.clone(),
            source: PlanSource { kinds: self.kinds.clone(), ..PlanSource::default() },
            ..Plan::default()
        };
        let input = PlanInput {
            desired: &self.desired,
            namespaces: &self.namespaces,
            kinds: &self.kinds,
            ignore: &self.ignore,
            allow: &self.allow,
            selection: &self.selection,
        };
        let mut builder = PlanBuilder::new(plan, input);
        reads.for_each(|(scope, read)| builder.take(scope, read));
        then(builder)
    }

    /// The plan in a line an entry: `create a`, `replace a port=pending`, `entry a protected`.
    pub(crate) fn lines(&self) -> Vec<String> {
        let mut plan = self.plan();
        plan.refer(&self.allow, |_| Ok(Vec::new()));
        let changes = plan.changes.iter().map(|change| {
            let fields: Vec<String> =
                change.fields().iter().map(|field| format!(" {}={}", field.field, field.cause)).collect();
            format!("{} {}{}", change.action.kind(), change.key.name, fields.concat())
        });
        let blocked = plan.blocked.iter().map(|entry| {
            let why = match &entry.reason {
                BlockReason::ForeignStack { stack } => format!("foreign-stack {stack}"),
                BlockReason::Protected => "protected".to_owned(),
                BlockReason::Unverified => "unverified".to_owned(),
                BlockReason::DefinedElsewhere { directory, .. } => format!("defined in {directory}"),
                BlockReason::Moved(_) => "moved".to_owned(),
                BlockReason::Referred { .. } => "referred".to_owned(),
                BlockReason::Unreplaced { create } => format!("unreplaced {create}"),
                BlockReason::Unchangeable(blocked) => word(blocked),
                BlockReason::Reference(broken) => word(broken),
            };
            format!("blocked {} {why}", entry.key.name)
        });
        let notes = plan.notes.iter().filter_map(|note| match note {
            Note::Unmanaged { key } => Some(format!("unmanaged {}", key.name)),
            Note::Orphan { key } => Some(format!("orphan {}", key.name)),
            Note::Unannotated { key } => Some(format!("unannotated {}", key.name)),
            Note::NotAnnotated { key, path } => Some(format!("not annotated {} {path}", key.name)),
            Note::Unshown { key, path } => Some(format!("unshown {} {path}", key.name)),
            Note::ForeignEqual { key, stack } => Some(format!("equal {} of {stack}", key.name)),
            Note::Owned { key, .. } => Some(format!("owned {}", key.name)),
            Note::Unsupported { key, .. } => Some(format!("unsupported {}", key.name)),
            Note::UnknownField { path, .. } => Some(format!("unknown field {path}")),
            Note::Unnamed { path, .. } => Some(format!("unnamed {path}")),
            Note::NotTaken { path, .. } => Some(format!("not taken {path}")),
            Note::DroppedField { path, .. } => Some(format!("dropped field {path}")),
            Note::EmptyNamespace { .. } | Note::Loaded { .. } => None,
            Note::NotOffered { scope } => Some(format!("not offered {scope}")),
            Note::Ignored { .. } | Note::Recreated { .. } | Note::ReferrersNotAsked { .. } => None,
            Note::Copied { key, of } => {
                let of = of.as_ref().map_or_else(|| "?".to_owned(), |of| of.name.to_string());
                Some(format!("copied {} of {of}", key.name))
            }
            Note::Unstacked { key } => Some(format!("unstacked {}", key.name)),
            Note::Outside { key, .. } | Note::OutsideKinds { key, .. } => Some(format!("outside {}", key.name)),
            Note::OutsideUnread { .. } | Note::DeletesUnknown { .. } | Note::Weak { .. } => None,
            Note::Awaited { key, from } => Some(format!("awaited {} from {from}", key.name)),
            Note::Left { key, .. } => Some(format!("left {}", key.name)),
            Note::NotDefined { key, .. } => Some(format!("not defined {}", key.name)),
            Note::StillDefined { key, .. } => Some(format!("still defined {}", key.name)),
            Note::Differs { key, .. } => Some(format!("differs {}", key.name)),
            Note::Renamed { key, to } => Some(format!("renamed {key} to {to}")),
        });
        changes.chain(blocked).chain(notes).collect()
    }
}

/// The header of a run of this plan.
pub(crate) fn header(run: &str, plan: Plan) -> RunHeader {
    RunHeader {
        run: RunId::new(run).expect("an id"),
        started: "2026-11-21T10:00:00Z".to_owned(),
        user: None,
        trigger: RunTrigger::default(),
        resumes: None,
        rolls_back: None,
        sandbox: None,
        in_force: None,
        plan,
    }
}
