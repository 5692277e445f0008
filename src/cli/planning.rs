//! The steps between definitions and a plan, which plan, apply and drift share.

use std::collections::{BTreeMap, BTreeSet};

use crate::cli::commits::{applied, dropped};
use crate::cli::stacks::defined_elsewhere;
use crate::cli::{CommandError, Connection, Context, LiveSource, Result, Session, Stack, diagnostics, settings, stack};
use crate::drift::DriftState;
use crate::kind::KindName;
use crate::load::{self, Diagnostic, SourceMap};
use crate::model::{Key, Live, Scope, SourceLocation};
use crate::plan::{
    Allowances, BrokenReference, ChangePlaces, Counts, FieldChange, Note, Plan, PlanBuilder, PlanInput, PlanOrigin,
    PlanSource, WrittenReference,
};
use crate::report::facts::{edits, unread};

impl Session<'_> {
    /// Reads the live source and makes the plan of an apply.
    ///
    /// # Errors
    /// A state directory that cannot be read, and references for which the definitions are wrong. Reads that fail are part of
    /// the plan.
    pub async fn plan(&self) -> Result<Plan> {
        self.plan_against(&self.source).await
    }

    /// The plan of an apply against another source of the same service.
    ///
    /// # Errors
    /// Those of [`Session::plan`].
    pub async fn plan_against(&self, source: &LiveSource) -> Result<Plan> {
        let plan = self.plan_from(source, None).await?;
        refuse_broken_references(self.context, &self.stack, &plan)?;
        Ok(plan)
    }

    /// The plan whose answer is a verdict or an edit of definitions, which may have wrong references; of a check with its
    /// drift state, it also notes what it cannot decide.
    ///
    /// # Errors
    /// A state directory that cannot be read.
    pub async fn differences(&self, check: Option<&DriftState>) -> Result<Plan> {
        self.plan_from(&self.source, check).await
    }

    async fn plan_from(&self, source: &LiveSource, check: Option<&DriftState>) -> Result<Plan> {
        let (context, stack) = (self.context, &self.stack);
        let (plan, listed) = tokio::join!(self.build(source, check), dropped::listed_before(context, stack));
        let mut plan = plan?;
        defined_elsewhere::block(context, stack, &mut plan);
        refer(source, &mut plan, &self.allow).await;
        dropped::note(self, source, check, listed, &mut plan).await;
        plan.setting_changes.clone_from(&stack.setting_changes);
        let describe =
            |note: &Diagnostic| format!("{}:{}: {}", note.file().unwrap_or_default(), note.line(), note.message);
        plan.notes.extend(stack.loaded.notes.iter().map(|note| Note::Loaded { text: describe(note) }));
        let kinds: BTreeSet<KindName> = plan.changes.iter().map(|change| change.key.kind).collect();
        let weak = kinds.into_iter().filter(|kind| kind.kind().is_weak);
        plan.notes.extend(weak.map(|kind| Note::Weak { kind }));
        plan.hidden_notes.clone_from(&stack.loaded.config.hide_notes);
        Ok(plan)
    }

    async fn build(&self, source: &LiveSource, check: Option<&DriftState>) -> Result<Plan> {
        let (context, stack) = (self.context, &self.stack);
        let config = &stack.loaded.config;
        let service = source.service();
        let name = settings::stack(context, config)?;
        let listed: BTreeSet<_> = config.namespaces.iter().chain(&self.pruned).cloned().collect();
        let adopt = self.options.permission.is_some_and(|permission| permission.adopt);
        let input = PlanInput {
            desired: &stack.loaded.desired,
            stack: name.as_deref(),
            namespaces: (!listed.is_empty()).then_some(&listed),
            kinds: &config.kinds,
            settings: &settings::of_plan(config, adopt),
            ignore: &settings::ignore(config)?,
            allow: &self.allow,
            selection: &stack.selection,
            service: &service,
            source: &PlanSource {
                origin: PlanOrigin::Directory(stack.directory.clone()),
                environment: context.chosen_environment(),
                filters: stack.filters.clone(),
                snapshot: source.taken(),
                kinds: stack.kinds().into_iter().filter(|kind| !kind.is_endpoint()).collect(),
                ..PlanSource::default()
            },
            tool_version: env!("CARGO_PKG_VERSION"),
        };
        let mut builder = PlanBuilder::new(input);
        let requests = source.read(&self.namespaces(), &stack.kinds(), |scope, read| builder.take(scope, &read)).await;
        stack::check_filters(context, stack, builder.matched())?;
        let commits = builder.commits().clone();
        let mut plan = builder.finish(requests);
        applied::judge_missing(context, stack, check, &commits, &mut plan)?;
        Ok(plan)
    }

    /// Records in the plan which consents of the call it needs, and who gives them.
    pub fn consent(&self, plan: &mut Plan) {
        plan.consent(&self.allow, self.context.environment.person().as_deref());
    }

    /// Gives every change its place, with paths that can be opened from the working directory: for a plan
    /// that is shown, because each place takes another reading of a file.
    pub fn locate(&self, plan: &mut Plan) {
        let loaded = &self.stack.loaded;
        let prefix = self.context.environment.shown_from_here(&loaded.root);
        plan.locate(|| {
            let places = SourceMap::new(loaded);
            let prefix = &prefix;
            let shown =
                move |place: SourceLocation| SourceLocation { file: format!("{prefix}{}", place.file), ..place };
            move |key: &Key, change: Option<&FieldChange>| {
                // A field that the definition does not write has the place of the definition.
                let whole = places.place(key, change.map(|change| &change.field)).or_else(|| places.place(key, None));
                let of_kind = change.filter(|change| change.field.is_of_spec() && !key.kind.is_endpoint());
                let edits = of_kind.map(|change| edits::of_field(key.kind, change)).unwrap_or_default();
                let values = edits.into_iter().filter_map(|edit| {
                    // An item that is live alone has the number of another one in the file.
                    let path = edit.name.split('[').next().filter(|_| edit.after.is_none()).unwrap_or(&edit.name);
                    Some((places.value(key, path).map(shown)?, edit.name))
                });
                let values: BTreeMap<String, SourceLocation> = values.map(|(place, name)| (name, place)).collect();
                // Where all that differs is written at one place, that is the place of the field too.
                let only = values.values().next().filter(|first| values.values().all(|place| place == *first)).cloned();
                ChangePlaces { whole: only.or_else(|| whole.map(shown)), values }
            }
        });
    }
}

/// The error of a plan of which nothing could be read, for one reason; a report has nothing to add to it.
pub fn unread(plan: &Plan) -> Option<CommandError> {
    let unread = unread::whole(plan)?;
    Some(error!(Unknown, "{}", unread.of_service(&plan.service.base_url)).hint(unread.consequence()))
}

/// Refuses a plan from a read that is not complete.
///
/// # Errors
/// A list could not be read.
pub fn require_complete(plan: &Plan, hint: &str) -> Result<()> {
    match unread(plan) {
        Some(error) => Err(error.hint(hint)),
        None => require_all_read(plan.unknown(), hint),
    }
}

/// The error of lists that could not be read, each cause once.
///
/// # Errors
/// There is one.
pub fn require_all_read<'a>(unknown: impl Iterator<Item = (&'a Scope, &'a str)>, hint: &str) -> Result<()> {
    match unread::messages(unknown).as_slice() {
        [] => Ok(()),
        messages => Err(error!(Unknown, "{}", messages.join("; ")).hint(hint)),
    }
}

/// What the guards of a plan from a file or a journal may count at most, by a fresh read.
///
/// # Errors
/// A list in which something would be replaced or deleted could not be read.
pub async fn counts(connection: &Connection, plan: &Plan) -> Result<BTreeMap<Scope, Counts>> {
    let source = LiveSource::of(connection)?;
    let mut live = Live::default();
    for (namespace, kinds) in plan.counted() {
        let of_namespace = source.live(&BTreeSet::from([namespace]), &kinds).await;
        live.lists.extend(of_namespace.lists);
    }
    if let Some((scope, reason)) = live.unknown().next() {
        let error = error!(Unknown, "could not read `{scope}` to count its objects: {reason}");
        return Err(error.hint("nothing was sent"));
    }
    Ok(plan.counts(&live))
}

/// Blocks the deletes of endpoints that others refer to.
pub async fn refer(source: &LiveSource, plan: &mut Plan, allow: &Allowances) {
    let asked = plan.going().map(async |key| (key.clone(), source.referrers(key).await));
    let referrers: BTreeMap<Key, _> = futures_util::future::join_all(asked).await.into_iter().collect();
    let silent = referrers.iter().filter(|(_, answer)| matches!(answer, Ok(None)));
    let notes: Vec<Note> = silent.map(|(key, _)| Note::ReferrersNotAsked { key: key.clone() }).collect();
    plan.refer(allow, |key| referrers.get(key).cloned().unwrap_or(Ok(None)).map(Option::unwrap_or_default));
    plan.notes.extend(notes);
}

/// Refuses a plan of definitions whose references are wrong.
fn refuse_broken_references(context: &Context, stack: &Stack, plan: &Plan) -> Result<()> {
    let places = SourceMap::new(&stack.loaded);
    let errors: Vec<Diagnostic> =
        plan.broken_references().map(|broken| broken_reference(stack, &places, broken)).collect();
    if errors.is_empty() { Ok(()) } else { Err(diagnostics::error(context, &places.problems(errors))) }
}

fn broken_reference(stack: &Stack, places: &SourceMap<'_>, broken: &BrokenReference) -> Diagnostic {
    match broken {
        BrokenReference::Missing(reference)
        | BrokenReference::LeftOut(reference)
        | BrokenReference::Unread(reference) => {
            let target = reference.target.to_string();
            let defined: Vec<String> = stack.loaded.desired.definitions.keys().map(Key::to_string).collect();
            let help = match load::nearest(&target, defined.iter().map(String::as_str)) {
                Some(near) => format!("did you mean `{near}`?"),
                None => "define it, or remove the reference".to_owned(),
            };
            let message = format!("`{target}` is neither defined nor live");
            places.error(&message, &help, &[place(reference, "referred to here".to_owned())])
        }
        BrokenReference::Deleted(reference) => {
            let key = &reference.target;
            let message = format!("`{key}` would be deleted, and a definition refers to it");
            let help = format!("define it again, or remove the reference; to delete it anyway: --allow referred={key}");
            places.error(&message, &help, &[place(reference, "referred to here".to_owned())])
        }
        BrokenReference::Circle(references) => {
            let message = format!("none of these objects can be created first: {}", circle(references));
            let label = |reference: &WrittenReference| format!("refers to `{}`", reference.target);
            let of_all: Vec<_> = references.iter().map(|reference| place(reference, label(reference))).collect();
            places.error(&message, "create one of them without its reference first", &of_all)
        }
        BrokenReference::LiveCircle(references) => {
            let message = format!("none of these objects can be deleted first: {}", circle(references));
            places.error(&message, "define one of them without its reference, apply that, and delete them then", &[])
        }
    }
}

fn place(reference: &WrittenReference, label: String) -> (&Key, &str, String) {
    (&reference.by, &reference.path, label)
}

/// `a -> b -> a`
fn circle(references: &[WrittenReference]) -> String {
    let keys = references.iter().chain(references.first()).map(|reference| format!("`{}`", reference.by));
    keys.collect::<Vec<_>>().join(" -> ")
}
