//! The steps between definitions and a plan, which plan, apply and drift share.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use crate::cli::commits::{applied, dropped};
use crate::cli::plan_request::PlanRequest;
use crate::cli::stacks::defined_elsewhere;
use crate::cli::{CommandError, Connection, Context, LiveSource, Result, Stack, configuration, settings, stack};
use crate::journal::RunOwner;
use crate::kind::KindName;
use crate::load::{Diagnostic, Loaded, SourceMap};
use crate::model::{Desired, Key, Live, Scope, SourceLocation};
use crate::plan::{
    self, Allowances, ChangePlaces, Counts, FieldChange, Ignore, Note, Plan, PlanBuilder, PlanInput, PlanOrigin,
    PlanSource, RollbackInput,
};
use crate::report::facts::{edits, unread};
use crate::run::RunRecord;

/// Reads the live source and makes the plan of a stack.
///
/// # Errors
/// A name that allows nothing, or a state directory that cannot be read. Reads that fail are part of
/// the plan.
pub async fn plan(context: &Context, stack: &Stack, source: &LiveSource, request: &PlanRequest<'_>) -> Result<Plan> {
    let allow = settings::allow(&request.permission.allow)?;
    let building = build(context, stack, source, request, &allow);
    let (plan, listed) = tokio::join!(building, dropped::listed_before(context, stack));
    let mut plan = plan?;
    defined_elsewhere::block(context, stack, &mut plan);
    refer(source, &mut plan, &allow).await;
    dropped::note(stack, source, request, listed, &mut plan).await;
    plan.setting_changes.clone_from(&stack.setting_changes);
    let describe = |note: &Diagnostic| format!("{}:{}: {}", note.file().unwrap_or_default(), note.line(), note.message);
    plan.notes.extend(stack.loaded.notes.iter().map(|note| Note::Loaded { text: describe(note) }));
    let kinds: BTreeSet<KindName> = plan.changes.iter().map(|change| change.key.kind).collect();
    let weak = kinds.into_iter().filter(|kind| kind.kind().is_weak);
    plan.notes.extend(weak.map(|kind| Note::Weak { kind }));
    plan.hidden_notes.clone_from(&stack.loaded.config.hide_notes);
    Ok(plan)
}

/// Records in the plan which consents of the call it needs, and who gives them.
///
/// # Errors
/// A name that allows nothing.
pub fn consent(context: &Context, plan: &mut Plan, names: &[String]) -> Result<Allowances> {
    let allow = settings::allow(names)?;
    plan.consent(&allow, context.environment.person().as_deref());
    Ok(allow)
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

/// Gives every change its place, with paths that can be opened from the working directory: for a plan
/// that is shown, because each place takes another reading of a file.
pub fn locate(context: &Context, plan: &mut Plan, loaded: &Loaded) {
    let prefix = context.environment.shown_from_here(&loaded.root);
    plan.locate(|| {
        let places = SourceMap::new(loaded);
        let prefix = &prefix;
        let shown = move |place: SourceLocation| SourceLocation { file: format!("{prefix}{}", place.file), ..place };
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

async fn build(
    context: &Context,
    stack: &Stack,
    source: &LiveSource,
    request: &PlanRequest<'_>,
    allow: &Allowances,
) -> Result<Plan> {
    let config = &stack.loaded.config;
    let service = source.service();
    let name = settings::stack(context, config)?;
    let mut listed: BTreeSet<_> = config.namespaces.iter().cloned().collect();
    listed.extend(dropped::pruned(context, stack, request.permission)?);
    let input = PlanInput {
        desired: &stack.loaded.desired,
        stack: name.as_deref(),
        namespaces: (!listed.is_empty()).then_some(&listed),
        kinds: &config.kinds,
        settings: &settings::of_plan(config, request.permission),
        ignore: &settings::ignore(config)?,
        allow,
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
    let requests = source.read(&request.namespaces, &stack.kinds(), |scope, read| builder.take(scope, &read)).await;
    stack::check_filters(context, stack, builder.matched())?;
    let commits = builder.commits().clone();
    let mut plan = builder.finish(requests);
    applied::judge_missing(context, stack, request, &commits, &mut plan)?;
    Ok(plan)
}

/// Blocks the deletes of endpoints that others refer to.
async fn refer(source: &LiveSource, plan: &mut Plan, allow: &Allowances) {
    let asked = plan.going().map(async |key| (key.clone(), source.referrers(key).await));
    let referrers: BTreeMap<Key, _> = futures_util::future::join_all(asked).await.into_iter().collect();
    let silent = referrers.iter().filter(|(_, answer)| matches!(answer, Ok(None)));
    let notes: Vec<Note> = silent.map(|(key, _)| Note::ReferrersNotAsked { key: key.clone() }).collect();
    plan.refer(allow, |key| referrers.get(key).cloned().unwrap_or(Ok(None)).map(Option::unwrap_or_default));
    plan.notes.extend(notes);
}

/// Whose runs `last` means: those of the stack and the service that flags, environment and configuration
/// name.
///
/// # Errors
/// They name no service, or cannot be read.
pub fn run_owner(context: &Context) -> Result<RunOwner> {
    let config = configuration::of_directory(context, Path::new("."))?;
    let base_url = settings::place(context, &config)?.base_url().to_string();
    Ok(RunOwner { stack: settings::stack(context, &config)?, base_url })
}

/// What a rollback is planned from.
pub struct RollbackRequest<'a> {
    /// The run that is undone.
    pub record: &'a RunRecord,
    /// The definitions that may have the secrets of what it wrote.
    pub definitions: &'a [Desired],
    /// Which endpoints are restored.
    pub only: &'a dyn Fn(&Key) -> bool,
    /// Fields that are left out of comparison.
    pub ignore: &'a Ignore,
    /// What was allowed by name.
    pub allow: &'a Allowances,
}

/// Reads the service and plans the rollback of a run.
///
/// # Errors
/// Certificates that cannot be used. Reads that fail are part of the plan.
pub async fn rollback(connection: &Connection, back: RollbackRequest<'_>) -> Result<Plan> {
    let source = LiveSource::of(connection)?;
    let undone = back.record.undone();
    let (namespaces, kinds) = undone.lists().into_iter().map(|list| (list.namespace, list.kind)).unzip();
    let live = source.live(&namespaces, &kinds).await;
    let mut plan = plan::rollback(RollbackInput {
        undone: &undone,
        live: &live,
        definitions: back.definitions,
        only: back.only,
        ignore: back.ignore,
        allow: back.allow,
        tool_version: env!("CARGO_PKG_VERSION"),
    });
    plan.source.requests = live.requests;
    refer(&source, &mut plan, back.allow).await;
    Ok(plan)
}
