//! What a plan is made against: the service, or a sealed copy of what it held. A copy needs no token
//! and opens no connection; its base URL and layout must be those that the settings name.

use std::collections::BTreeSet;
use std::path::Path;

use super::Context;
use super::ending::{Ending, Error};
use super::service::Connection;
use super::settings;
use super::stack::Stack;
use crate::api::{self, Reader};
use crate::load::Config;
use crate::model::{Key, Live, Namespace, Snapshot};
use crate::plan::{self, Referrer};

/// What was opened to be looked at.
#[expect(clippy::large_enum_variant, reason = "one a command")]
pub enum Opened {
    /// The service.
    Service(Connection),
    /// A copy.
    Snapshot(Snapshot),
}

/// A look at it, as a plan takes one.
pub enum Sight<'a> {
    /// Of the service.
    Service(plan::Service, Reader),
    /// Of a copy.
    Snapshot(&'a Snapshot),
    /// Of a copy that was just taken; who refers to an endpoint is asked of the service.
    Copied(&'a Snapshot, Reader),
}

/// Opens the snapshot that the call names, else the way to the stack's service.
///
/// # Errors
/// A file that is no snapshot, is altered or is of another service; else those of [`Stack::connect`].
pub async fn open(context: &Context, stack: &Stack, live: Option<&Path>) -> Result<Opened, Error> {
    match live {
        None => Ok(Opened::Service(stack.connect(context).await?)),
        Some(path) => Ok(Opened::Snapshot(snapshot(context, &stack.loaded.config, path)?)),
    }
}

/// The snapshot in a file, which must be of the service that the settings name, if they name one.
///
/// # Errors
/// A file that is no snapshot, is altered or is of another service.
pub fn snapshot(context: &Context, config: &Config, path: &Path) -> Result<Snapshot, Error> {
    let refused = |told: anyhow::Error| Error::new(Ending::Refused, told).hint("nothing was read from it");
    let bytes = std::fs::read(path).map_err(|error| {
        let told = anyhow::Error::from(error).context(format!("cannot read `{}`", path.display()));
        Error::new(Ending::Invalid, told)
    })?;
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
    /// A look at it.
    ///
    /// # Errors
    /// Certificates that cannot be used.
    pub fn sight(&self) -> Result<Sight<'_>, Error> {
        match self {
            Opened::Service(connection) => Sight::of(connection),
            Opened::Snapshot(snapshot) => Ok(Sight::Snapshot(snapshot)),
        }
    }

    /// Lets go of the service.
    pub async fn close(self) {
        match self {
            Opened::Service(connection) => connection.close().await,
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
        Ok(Sight::Service(connection.service(), connection.reader()?))
    }

    /// The service, as a plan names it.
    pub fn service(&self) -> plan::Service {
        match self {
            Sight::Service(service, _) => service.clone(),
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

    /// What these namespaces hold.
    pub async fn live(&self, namespaces: &BTreeSet<Namespace>) -> Live {
        match self {
            Sight::Service(_, reader) => api::fetch(reader, namespaces).await,
            Sight::Snapshot(copy) | Sight::Copied(copy, _) => api::snapshot::live(copy, namespaces),
        }
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
            Sight::Service(_, reader) | Sight::Copied(_, reader) => match api::referrers(reader, key).await {
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
