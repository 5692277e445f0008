//! What the definitions are compared with: the service, or a snapshot of it. A snapshot needs no token and
//! no connection; its base URL and layout must be those that the settings name.

use std::cell::Cell;
use std::collections::BTreeSet;
use std::path::Path;

use anyhow::Context as _;

use crate::api::{self, PendingLists, Reader};
use crate::cli::{CommandResult as _, Connection, Context, ExitStatus, Result, file, settings};
use crate::file::limit;
use crate::kind::KindName;
use crate::load::Config;
use crate::model::{Key, ListRead, Live, Namespace, RelatedObject, Scope, Snapshot};
use crate::plan;

/// Where a plan reads what is live.
pub enum LiveSource {
    /// The service, which may have been asked already.
    Service(plan::ServiceId, Reader, Cell<Option<PendingLists>>),
    /// A snapshot.
    Snapshot(Snapshot),
    /// A snapshot that was just taken; the service is asked who refers to an object.
    Copied(Snapshot, Reader),
}

/// The snapshot in a file, which must be of the service that the settings name, if they name one.
///
/// # Errors
/// The file is not a snapshot, is altered, or is of another service.
pub fn snapshot(context: &Context, config: &Config, path: &Path) -> Result<Snapshot> {
    let bytes = file::read(path, limit::SAVED)?;
    let snapshot = Snapshot::from_file(&bytes)
        .with_context(|| format!("`{}` is not used", path.display()))
        .with_status(ExitStatus::Refused)
        .hint("nothing was read from it")?;
    let named = settings::named(context, config)?.map(|place| place.base_url().to_string());
    if let Some(named) = named.filter(|named| *named != snapshot.base_url) {
        let error = error!(Refused, "the snapshot is of {}, and the settings name {named}", snapshot.base_url);
        return Err(error.hint("nothing was read from it"));
    }
    let layout = settings::named_layout(context, config)?;
    if let Some(layout) = layout.filter(|layout| *layout != snapshot.layout) {
        let error =
            error!(Refused, "the snapshot is of the {} layout, and the settings name {layout}", snapshot.layout);
        return Err(error.hint("nothing was read from it"));
    }
    Ok(snapshot)
}

impl LiveSource {
    /// The service; it is asked nothing yet.
    ///
    /// # Errors
    /// Certificates that cannot be used.
    pub fn of(connection: &Connection) -> Result<Self> {
        Ok(LiveSource::Service(connection.service(), connection.reader()?, Cell::new(None)))
    }

    /// The service, with the lists that it was asked for already.
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

    /// When the snapshot was taken, RFC 3339; nothing for the service itself.
    pub fn taken(&self) -> Option<String> {
        match self {
            LiveSource::Service(..) | LiveSource::Copied(..) => None,
            LiveSource::Snapshot(snapshot) => Some(snapshot.taken.to_string()),
        }
    }

    /// Reads these kinds of each of these namespaces, in the order in which they arrive; returns the number of requests.
    pub async fn read(
        &self,
        namespaces: &BTreeSet<Namespace>,
        kinds: &BTreeSet<KindName>,
        mut take: impl FnMut(&Scope, ListRead),
    ) -> u64 {
        match self {
            LiveSource::Service(_, reader, lists) => {
                let asked = lists.take().unwrap_or_else(|| PendingLists::of(reader.clone()));
                let mut lists = asked.and(namespaces, kinds);
                while let Some((scope, read)) = lists.next().await {
                    take(&scope, read);
                }
                lists.requests()
            }
            LiveSource::Snapshot(copy) | LiveSource::Copied(copy, _) => {
                for scope in Scope::each(namespaces, kinds) {
                    take(&scope, api::snapshot::read(copy, &scope));
                }
                0
            }
        }
    }

    /// Reads these kinds of these namespaces.
    pub async fn live(&self, namespaces: &BTreeSet<Namespace>, kinds: &BTreeSet<KindName>) -> Live {
        let mut live = Live::default();
        live.requests = self
            .read(namespaces, kinds, |scope, read| {
                live.lists.insert(scope.clone(), read);
            })
            .await;
        live
    }

    /// Who refers to an object; nothing if a snapshot does not contain that.
    ///
    /// # Errors
    /// Why that cannot be read.
    pub async fn referrers(&self, key: &Key) -> Result<Option<Vec<RelatedObject>>, String> {
        match self {
            LiveSource::Service(_, reader, _) | LiveSource::Copied(_, reader) => {
                api::referring_views(reader, key).await.map(Some).map_err(|error| error.failure.to_string())
            }
            LiveSource::Snapshot(snapshot) => api::snapshot::referrers(snapshot, key),
        }
    }
}
