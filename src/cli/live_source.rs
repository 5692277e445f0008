//! What a plan is made against: the service, or a sealed copy of what it held. A copy needs no token
//! and opens no connection; its base URL and layout must be those that the settings name.

use std::cell::Cell;
use std::collections::BTreeSet;
use std::path::Path;

use super::Context;
use super::args::{ScopeArgs, Shard};
use super::exit_status::{CommandError, ExitStatus};
use super::service::Connection;
use super::stack::{self, Stack};
use super::{file, settings, shard};
use crate::api::{self, PendingLists, Reader};
use crate::file::limit;
use crate::load::Config;
use crate::model::{Key, Live, Namespace, NamespaceRead, Snapshot};
use crate::plan::{self, Referrer};

/// What was opened to be looked at.
#[expect(clippy::large_enum_variant, reason = "one a command")]
pub enum Session {
    /// The service, with the lists that are on their way.
    Service(Connection, Cell<Option<PendingLists>>),
    /// A copy.
    Snapshot(Snapshot),
}

/// A look at it, as a plan takes one.
pub enum LiveSource<'a> {
    /// Of the service, which may have been asked already.
    Service(plan::ServiceId, Reader, Cell<Option<PendingLists>>),
    /// Of a copy.
    Snapshot(&'a Snapshot),
    /// Of a copy that was just taken; who refers to an endpoint is asked of the service.
    Copied(&'a Snapshot, Reader),
}

/// Opens a stack and what it is compared with: the snapshot that the call names, else the service.
///
/// # Errors
/// A file that is no snapshot, is altered or is of another service; else those of [`connect`].
pub async fn open(
    context: &Context,
    scope: &ScopeArgs,
    call: SourceOptions<'_>,
) -> Result<(Stack, Session), CommandError> {
    if call.live.is_some() {
        let stack = stack::open(context, scope)?;
        let opened = Session::of(context, &stack, call.live).await?;
        return Ok((stack, opened));
    }
    let (stack, connection, lists) = connect(context, scope, call.shard).await?;
    Ok((stack, Session::Service(connection, Cell::new(Some(lists)))))
}

/// What a call says of the look that it wants.
#[derive(Default)]
pub struct SourceOptions<'a> {
    /// The snapshot to look at.
    pub live: Option<&'a Path>,
    /// The part of a fleet that is looked at.
    pub shard: Option<Shard>,
}

/// Loads a stack while its service already answers for the namespaces that its settings list.
///
/// # Errors
/// What is wrong in the definitions comes first, then what is wrong with the way to the service.
pub async fn connect(
    context: &Context,
    scope: &ScopeArgs,
    shard: Option<Shard>,
) -> Result<(Stack, Connection, PendingLists), CommandError> {
    let early = async {
        match stack::settings(context, scope) {
            Some(config) => ask(context, &config, shard).await.ok(),
            None => None,
        }
    };
    match tokio::join!(stack::open_aside(context, scope), early) {
        (Ok(stack), Some((connection, lists))) => Ok((stack, connection, lists)),
        (Ok(stack), None) => {
            let (connection, lists) = ask(context, &stack.loaded.config, shard).await?;
            Ok((stack, connection, lists))
        }
        (Err(error), early) => {
            if let Some((connection, _)) = early {
                connection.close().await;
            }
            Err(error)
        }
    }
}

/// Connects, and asks for the namespaces that the settings list.
async fn ask(
    context: &Context,
    config: &Config,
    shard: Option<Shard>,
) -> Result<(Connection, PendingLists), CommandError> {
    let connection = stack::connect(context, config).await?;
    let listed = config.namespaces.iter().cloned().collect();
    let namespaces = shard::namespaces(listed, shard, &connection.service().base_url);
    match connection.reader() {
        Ok(reader) => Ok((connection, PendingLists::begin(reader, &namespaces))),
        Err(error) => {
            connection.close().await;
            Err(error)
        }
    }
}

/// The snapshot in a file, which must be of the service that the settings name, if they name one.
///
/// # Errors
/// A file that is no snapshot, is altered or is of another service.
pub fn snapshot(context: &Context, config: &Config, path: &Path) -> Result<Snapshot, CommandError> {
    let refused = |entry: anyhow::Error| CommandError::new(ExitStatus::Refused, entry).hint("nothing was read from it");
    let bytes = file::read(path, limit::SAVED)?;
    let snapshot = Snapshot::from_file(&bytes)
        .map_err(|error| refused(anyhow::Error::from(error).context(format!("`{}` is not used", path.display()))))?;
    let named = settings::named(context, config)?.map(|place| place.base_url().to_string());
    if let Some(named) = named.filter(|named| *named != snapshot.base_url) {
        let failure = anyhow::anyhow!("the snapshot is of {}, and the settings name {named}", snapshot.base_url);
        return Err(refused(failure));
    }
    let layout = settings::named_layout(context, config)?;
    if let Some(layout) = layout.filter(|layout| *layout != snapshot.layout) {
        let failure =
            anyhow::anyhow!("the snapshot is of the {} layout, and the settings name {layout}", snapshot.layout);
        return Err(refused(failure));
    }
    Ok(snapshot)
}

impl Session {
    /// What a loaded stack is compared with; nothing was asked yet.
    ///
    /// # Errors
    /// Those of [`open`].
    pub async fn of(context: &Context, stack: &Stack, live: Option<&Path>) -> Result<Self, CommandError> {
        let config = &stack.loaded.config;
        match live {
            None => Ok(Session::Service(stack::connect(context, config).await?, Cell::default())),
            Some(path) => Ok(Session::Snapshot(snapshot(context, config, path)?)),
        }
    }

    /// A look at it.
    ///
    /// # Errors
    /// Certificates that cannot be used.
    pub fn live_source(&self) -> Result<LiveSource<'_>, CommandError> {
        match self {
            Session::Service(connection, lists) => match lists.take() {
                Some(lists) => Ok(LiveSource::with(connection, lists)),
                None => LiveSource::of(connection),
            },
            Session::Snapshot(snapshot) => Ok(LiveSource::Snapshot(snapshot)),
        }
    }

    /// Lets go of the service.
    pub async fn close(self) {
        match self {
            Session::Service(connection, _) => connection.close().await,
            Session::Snapshot(_) => {}
        }
    }
}

impl LiveSource<'_> {
    /// A look at the service.
    ///
    /// # Errors
    /// Certificates that cannot be used.
    pub fn of(connection: &Connection) -> Result<Self, CommandError> {
        Ok(LiveSource::Service(connection.service(), connection.reader()?, Cell::new(None)))
    }

    /// A look at the service with the lists that are on their way.
    pub fn with(connection: &Connection, lists: PendingLists) -> Self {
        LiveSource::Service(connection.service(), lists.reader().clone(), Cell::new(Some(lists)))
    }

    /// The service, as a plan names it.
    pub fn service(&self) -> plan::ServiceId {
        match self {
            LiveSource::Service(service, ..) => service.clone(),
            LiveSource::Snapshot(copy) | LiveSource::Copied(copy, _) => {
                plan::ServiceId { base_url: copy.base_url.clone(), layout: copy.layout }
            }
        }
    }

    /// When the copy was taken, RFC 3339; nothing of the service itself.
    pub fn taken(&self) -> Option<String> {
        match self {
            LiveSource::Service(..) | LiveSource::Copied(..) => None,
            LiveSource::Snapshot(snapshot) => Some(snapshot.taken.to_string()),
        }
    }

    /// What each of these namespaces holds, one after the other as they come; the lists that were
    /// asked for.
    pub async fn read(&self, namespaces: &BTreeSet<Namespace>, mut take: impl FnMut(&Namespace, NamespaceRead)) -> u64 {
        match self {
            LiveSource::Service(_, reader, lists) => {
                let asked = lists.take().unwrap_or_else(|| PendingLists::begin(reader.clone(), &BTreeSet::new()));
                let mut lists = asked.and(namespaces);
                while let Some((namespace, read)) = lists.next().await {
                    take(&namespace, read);
                }
                lists.requests()
            }
            LiveSource::Snapshot(copy) | LiveSource::Copied(copy, _) => {
                let live = api::snapshot::live(copy, namespaces);
                live.namespaces.into_iter().for_each(|(namespace, read)| take(&namespace, read));
                live.requests
            }
        }
    }

    /// What these namespaces hold.
    pub async fn live(&self, namespaces: &BTreeSet<Namespace>) -> Live {
        let mut live = Live::default();
        live.requests = self
            .read(namespaces, |namespace, read| {
                live.namespaces.insert(namespace.clone(), read);
            })
            .await;
        live
    }

    /// Who refers to an endpoint; nothing where a copy does not say.
    ///
    /// # Errors
    /// Why that cannot be read.
    pub async fn referrers(&self, key: &Key) -> Result<Option<Vec<Referrer>>, String> {
        let describe = |referrer: api::ReferringObject| Referrer {
            kind: referrer.kind,
            namespace: referrer.namespace,
            name: referrer.name,
        };
        match self {
            LiveSource::Service(_, reader, _) | LiveSource::Copied(_, reader) => {
                match api::referrers(reader, key).await {
                    Ok(list) => Ok(Some(list.into_iter().map(describe).collect())),
                    Err(error) => Err(error.failure.to_string()),
                }
            }
            LiveSource::Snapshot(snapshot) => {
                let kept = api::snapshot::referrers(snapshot, key)?;
                Ok(kept.map(|list| list.into_iter().map(describe).collect()))
            }
        }
    }
}
