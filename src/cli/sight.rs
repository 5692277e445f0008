//! What a plan is made against: the service, or a sealed copy of what it held. A copy needs no token
//! and opens no connection; its base URL and layout must be those that the settings name.

use std::cell::Cell;
use std::collections::BTreeSet;
use std::path::Path;

use super::Context;
use super::args::{Scope, Shard};
use super::ending::{Ending, Error};
use super::service::Connection;
use super::stack::{self, Stack};
use super::{file, settings, shard};
use crate::api::{self, Fetching, Reader};
use crate::file::limit;
use crate::load::Config;
use crate::model::{Key, Live, Namespace, NamespaceRead, Snapshot};
use crate::plan::{self, Referrer};

/// What was opened to be looked at.
#[expect(clippy::large_enum_variant, reason = "one a command")]
pub enum Opened {
    /// The service, with the lists that are on their way.
    Service(Connection, Cell<Option<Fetching>>),
    /// A copy.
    Snapshot(Snapshot),
}

/// A look at it, as a plan takes one.
pub enum Sight<'a> {
    /// Of the service, which may have been asked already.
    Service(plan::Service, Reader, Cell<Option<Fetching>>),
    /// Of a copy.
    Snapshot(&'a Snapshot),
    /// Of a copy that was just taken; who refers to an endpoint is asked of the service.
    Copied(&'a Snapshot, Reader),
}

/// Opens a stack and what it is compared with: the snapshot that the call names, else the service.
///
/// # Errors
/// A file that is no snapshot, is altered or is of another service; else those of [`connect`].
pub async fn open(context: &Context, scope: &Scope, call: Call<'_>) -> Result<(Stack, Opened), Error> {
    if call.live.is_some() {
        let stack = stack::open(context, scope)?;
        let opened = Opened::of(context, &stack, call.live).await?;
        return Ok((stack, opened));
    }
    let (stack, connection, lists) = connect(context, scope, call.shard).await?;
    Ok((stack, Opened::Service(connection, Cell::new(Some(lists)))))
}

/// What a call says of the look that it wants.
#[derive(Default)]
pub struct Call<'a> {
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
    scope: &Scope,
    shard: Option<Shard>,
) -> Result<(Stack, Connection, Fetching), Error> {
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
async fn ask(context: &Context, config: &Config, shard: Option<Shard>) -> Result<(Connection, Fetching), Error> {
    let connection = stack::connect(context, config).await?;
    let listed = config.namespaces.iter().cloned().collect();
    let namespaces = shard::namespaces(listed, shard, &connection.service().base_url);
    match connection.reader() {
        Ok(reader) => Ok((connection, Fetching::begin(reader, &namespaces))),
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
pub fn snapshot(context: &Context, config: &Config, path: &Path) -> Result<Snapshot, Error> {
    let refused = |told: anyhow::Error| Error::new(Ending::Refused, told).hint("nothing was read from it");
    let bytes = file::read(path, limit::SAVED)?;
    let snapshot = Snapshot::from_file(&bytes)
        .map_err(|error| refused(anyhow::Error::from(error).context(format!("`{}` is not used", path.display()))))?;
    let named = settings::named(context, config)?.map(|place| place.base_url().to_string());
    if let Some(named) = named.filter(|named| *named != snapshot.base_url) {
        let told = anyhow::anyhow!("the snapshot is of {}, and the settings name {named}", snapshot.base_url);
        return Err(refused(told));
    }
    let layout = settings::named_layout(context, config)?;
    if let Some(layout) = layout.filter(|layout| *layout != snapshot.layout) {
        let told = anyhow::anyhow!("the snapshot is of the {} layout, and the settings name {layout}", snapshot.layout);
        return Err(refused(told));
    }
    Ok(snapshot)
}

impl Opened {
    /// What a loaded stack is compared with; nothing was asked yet.
    ///
    /// # Errors
    /// Those of [`open`].
    pub async fn of(context: &Context, stack: &Stack, live: Option<&Path>) -> Result<Self, Error> {
        let config = &stack.loaded.config;
        match live {
            None => Ok(Opened::Service(stack::connect(context, config).await?, Cell::default())),
            Some(path) => Ok(Opened::Snapshot(snapshot(context, config, path)?)),
        }
    }

    /// A look at it.
    ///
    /// # Errors
    /// Certificates that cannot be used.
    pub fn sight(&self) -> Result<Sight<'_>, Error> {
        match self {
            Opened::Service(connection, lists) => match lists.take() {
                Some(lists) => Ok(Sight::with(connection, lists)),
                None => Sight::of(connection),
            },
            Opened::Snapshot(snapshot) => Ok(Sight::Snapshot(snapshot)),
        }
    }

    /// Lets go of the service.
    pub async fn close(self) {
        match self {
            Opened::Service(connection, _) => connection.close().await,
            Opened::Snapshot(_) => {}
        }
    }
}

impl Sight<'_> {
    /// A look at the service.
    ///
    /// # Errors
    /// Certificates that cannot be used.
    pub fn of(connection: &Connection) -> Result<Self, Error> {
        Ok(Sight::Service(connection.service(), connection.reader()?, Cell::new(None)))
    }

    /// A look at the service with the lists that are on their way.
    pub fn with(connection: &Connection, lists: Fetching) -> Self {
        Sight::Service(connection.service(), lists.reader().clone(), Cell::new(Some(lists)))
    }

    /// The service, as a plan names it.
    pub fn service(&self) -> plan::Service {
        match self {
            Sight::Service(service, ..) => service.clone(),
            Sight::Snapshot(copy) | Sight::Copied(copy, _) => {
                plan::Service { base_url: copy.base_url.clone(), layout: copy.layout }
            }
        }
    }

    /// When the copy was taken, RFC 3339; nothing of the service itself.
    pub fn taken(&self) -> Option<String> {
        match self {
            Sight::Service(..) | Sight::Copied(..) => None,
            Sight::Snapshot(snapshot) => Some(snapshot.taken.to_string()),
        }
    }

    /// What each of these namespaces holds, one after the other as they come; the lists that were
    /// asked for.
    pub async fn read(&self, namespaces: &BTreeSet<Namespace>, mut take: impl FnMut(&Namespace, NamespaceRead)) -> u64 {
        match self {
            Sight::Service(_, reader, lists) => {
                let asked = lists.take().unwrap_or_else(|| Fetching::begin(reader.clone(), &BTreeSet::new()));
                let mut lists = asked.and(namespaces);
                while let Some((namespace, read)) = lists.next().await {
                    take(&namespace, read);
                }
                lists.requests()
            }
            Sight::Snapshot(copy) | Sight::Copied(copy, _) => {
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
        let told = |referrer: api::Referrer| Referrer {
            kind: referrer.kind,
            namespace: referrer.namespace,
            name: referrer.name,
        };
        match self {
            Sight::Service(_, reader, _) | Sight::Copied(_, reader) => match api::referrers(reader, key).await {
                Ok(list) => Ok(Some(list.into_iter().map(told).collect())),
                Err(error) => Err(error.failure.to_string()),
            },
            Sight::Snapshot(snapshot) => {
                let kept = api::snapshot::referrers(snapshot, key)?;
                Ok(kept.map(|list| list.into_iter().map(told).collect()))
            }
        }
    }
}
