//! The steps between definitions and a plan, which plan, apply and drift share.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use super::Context;
use super::args::{Permission, Shard};
use super::ending::{Ending, Error};
use super::service::Connection;
use super::sight::Sight;
use super::stack::{self, Stack};
use super::{evidence, outside, settings};
use crate::journal::{self, Ground, Whose};
use crate::load::{Diagnostic, Loaded, Places};
use crate::model::{Field, Key, Namespace, NamespaceRead, Place};
use crate::plan::{ActionKind, Allow, Arrangement, Counts, Facts, Ignore, Memory, Note, Plan, RunRecord, Source};

/// What a look at the service is made for.
pub struct Purpose<'a> {
    /// What the call allows.
    pub permission: &'a Permission,
    /// The namespaces to read; the plan speaks of these alone.
    pub namespaces: BTreeSet<Namespace>,
    /// What earlier checks saw.
    pub memory: &'a Memory,
    /// Its answer is a verdict, which also says what it cannot decide.
    pub is_check: bool,
    /// The part of a fleet that is looked at.
    pub shard: Option<Shard>,
}

/// Reads the service and arranges the plan of a stack.
///
/// # Errors
/// A name that allows nothing, or a state directory that cannot be read. Reads that fail are part of
/// the plan.
pub async fn plan(context: &Context, stack: &Stack, sight: &Sight<'_>, permission: &Permission) -> Result<Plan, Error> {
    let namespaces = outside::namespaces(context, stack, permission)?;
    let purpose = Purpose { permission, namespaces, memory: &Memory::default(), is_check: false, shard: None };
    look(context, stack, sight, &purpose).await
}

/// The plan of a stack for this purpose.
///
/// # Errors
/// Those of [`plan`].
pub async fn look(context: &Context, stack: &Stack, sight: &Sight<'_>, purpose: &Purpose<'_>) -> Result<Plan, Error> {
    let allow = settings::allow(&purpose.permission.allow)?;
    let arranging = arrange(context, stack, sight, purpose, &allow);
    let (plan, listed) = tokio::join!(arranging, outside::listed_before(context, stack));
    let mut plan = plan?;
    refer(sight, &mut plan, &allow).await;
    outside::note(stack, sight, purpose, listed, &mut plan).await;
    plan.setting_changes.clone_from(&stack.setting_changes);
    let told = |note: &Diagnostic| format!("{}:{}: {}", note.file().unwrap_or_default(), note.line(), note.message);
    plan.notes.extend(stack.loaded.notes.iter().map(|note| Note::Loaded { text: told(note) }));
    Ok(plan)
}

/// Records in the plan which consents of the call it needs, and who gives them.
///
/// # Errors
/// A name that allows nothing.
pub fn consent(context: &Context, plan: &mut Plan, names: &[String]) -> Result<Allow, Error> {
    let allow = settings::allow(names)?;
    plan.consent(&allow, context.surroundings.person().as_deref());
    Ok(allow)
}

/// What the guards of a plan from a file or a journal may count at most, by a fresh read.
///
/// # Errors
/// A namespace in which something would be replaced or deleted could not be read.
pub async fn counts(connection: &Connection, plan: &Plan) -> Result<BTreeMap<Namespace, Counts>, Error> {
    let counted = |kind| matches!(kind, ActionKind::Replace | ActionKind::Delete);
    let changes = plan.changes.iter().filter(|change| counted(change.action.kind()));
    let namespaces = changes.map(|change| change.key.namespace.clone()).collect();
    let live = Sight::of(connection)?.live(&namespaces).await;
    for (namespace, read) in &live.namespaces {
        if let NamespaceRead::Unknown { reason } = read {
            let told = format!("could not read `{namespace}` to count its endpoints: {reason}");
            return Err(Error::words(Ending::Unknown, told).hint("nothing was sent"));
        }
    }
    Ok(plan.counts(&live))
}

/// Gives every change its place, with paths that can be opened from the working directory: for a plan
/// that is shown, because each place takes another reading of a file.
pub fn locate(context: &Context, plan: &mut Plan, loaded: &Loaded) {
    let prefix = context.surroundings.shown_from_here(&loaded.root);
    plan.locate(|| {
        let places = Places::new(loaded);
        let prefix = &prefix;
        move |key: &Key, field: Option<&Field>| {
            // A field that a definition does not write is told at the definition.
            let place = places.place(key, field).or_else(|| places.place(key, None))?;
            Some(Place { file: format!("{prefix}{}", place.file), ..place })
        }
    });
}

async fn arrange(
    context: &Context,
    stack: &Stack,
    sight: &Sight<'_>,
    purpose: &Purpose<'_>,
    allow: &Allow,
) -> Result<Plan, Error> {
    let config = &stack.loaded.config;
    let service = sight.service();
    let name = settings::stack(context, config)?;
    let mut listed: BTreeSet<_> = config.namespaces.iter().cloned().collect();
    listed.extend(outside::pruned(context, stack, purpose.permission)?);
    let facts = Facts {
        desired: &stack.loaded.desired,
        stack: name.as_deref(),
        namespaces: (!listed.is_empty()).then_some(&listed),
        settings: &settings::of_plan(config, purpose.permission),
        ignore: &settings::ignore(config)?,
        allow,
        selection: &stack.selection,
        service: &service,
        source: &Source { directory: stack.directory.clone(), snapshot: sight.taken(), ..Source::default() },
        tool_version: env!("CARGO_PKG_VERSION"),
    };
    let mut arrangement = Arrangement::new(facts);
    let requests = sight.read(&purpose.namespaces, |namespace, read| arrangement.take(namespace, &read)).await;
    if let Some(unmatched) = arrangement.unmatched() {
        return Err(stack::unmatched(unmatched));
    }
    let commits = arrangement.commits().clone();
    let mut plan = arrangement.finish(requests);
    evidence::judge_missing(context, stack, purpose, &commits, &mut plan)?;
    Ok(plan)
}

/// Holds back the deletes of endpoints that others refer to.
async fn refer(sight: &Sight<'_>, plan: &mut Plan, allow: &Allow) {
    let asked = plan.deletes().map(async |key| (key.clone(), sight.referrers(key).await));
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
pub fn whose(context: &Context) -> Result<Whose, Error> {
    let config = stack::configuration_for(context, Path::new("."))?;
    let base_url = settings::place(context, &config)?.base_url().to_string();
    Ok(Whose { stack: settings::stack(context, &config)?, base_url })
}

/// What a way back is planned from.
pub struct Back<'a> {
    /// The run that is undone.
    pub record: &'a RunRecord,
    /// Which endpoints are put back.
    pub only: &'a dyn Fn(&Key) -> bool,
    /// Fields that are left out of comparison.
    pub ignore: &'a Ignore,
    /// What was allowed by name.
    pub allow: &'a Allow,
}

/// Reads the service and plans the way back from a run.
///
/// # Errors
/// Certificates that cannot be used. Reads that fail are part of the plan.
pub async fn rollback(connection: &Connection, back: Back<'_>) -> Result<Plan, Error> {
    let sight = Sight::of(connection)?;
    let namespaces = back.record.writes().into_iter().map(|write| write.key.namespace.clone()).collect();
    let live = sight.live(&namespaces).await;
    let mut plan = journal::rollback(Ground {
        record: back.record,
        live: &live,
        only: back.only,
        ignore: back.ignore,
        allow: back.allow,
        tool_version: env!("CARGO_PKG_VERSION"),
    });
    plan.source.requests = live.requests;
    refer(&sight, &mut plan, back.allow).await;
    Ok(plan)
}
