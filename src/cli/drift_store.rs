//! Where a check keeps its drift state: in the file that the call names, or in the state store that it names, where
//! every runner finds it. Checkers that share a stack, such as its shards, change it one after the other.

use crate::cli::prelude::*;
use crate::cli::{CommandResult as _, Context, ExitStatus, Result, Stack, aside, file, settings};
use crate::drift::{DriftState, DriftStateOwner};
use crate::file::{Directory, FileMode, read_own};
use crate::report::document;
use crate::state::{Bucket, StateStore, Tag};

/// The directory of the drift states, in the state store.
const DRIFT: &str = "drift";
/// The maximum number of attempts to update the same version of a drift state.
const MOST_TRIES: u32 = 8;

/// The place of one stack's drift state.
pub struct DriftStore<'c> {
    context: &'c Context,
    owner: DriftStateOwner,
    place: Place<'c>,
}

enum Place<'c> {
    /// A file that the call names.
    File(PathBuf),
    /// A file of the directory that the call names as its state.
    Own { directory: &'c PathBuf, name: String },
    /// An object.
    Object { bucket: &'c Bucket, name: String },
}

impl<'c> DriftStore<'c> {
    /// The `file` of the call; else the state store, if the call names one and the check has no filter; `None` if the
    /// check is not recorded. In the state store a stack needs a name: nothing else distinguishes two of them.
    ///
    /// # Errors
    /// A file for a check with filters: what they leave out would count as fixed.
    pub fn of(file: Option<PathBuf>, stack: &Stack<'c>, base_url: &str) -> Result<Option<Self>> {
        let context = stack.context;
        let is_whole = stack.selection.is_all();
        let is_named = settings::named_state(context).is_some();
        let owner = owner(stack, base_url)?;
        let place = match (file, &owner.stack) {
            (Some(_), _) if !is_whole => {
                return Err(error!(
                    Usage,
                    "a drift state needs a check without filters: what is left out would be taken for fixed"
                ));
            }
            (Some(file), _) => Place::File(file),
            (None, _) if !is_named || !is_whole => return Ok(None),
            (None, None) => {
                context.output.notice(
                    "note: the stack has no name, so the state keeps no drift state of it: \
                     set `stack:`, or name a file with --drift-state",
                );
                return Ok(None);
            }
            (None, Some(stack)) => {
                let sandbox = settings::sandbox_of_runs(context).unwrap_or_default();
                let name = name(base_url, &sandbox, stack);
                match settings::state_store(context)? {
                    StateStore::Directory(directory) => Place::Own { directory, name },
                    StateStore::Bucket(bucket, _) => Place::Object { bucket, name: format!("{DRIFT}/{name}") },
                }
            }
        };
        Ok(Some(Self { context, owner, place }))
    }

    /// The drift state; an empty one if there is none yet.
    ///
    /// # Errors
    /// The drift state cannot be read, is not valid, or is that of another stack.
    pub async fn read(&self) -> Result<DriftState> {
        Ok(self.versioned().await?.0)
    }

    /// The drift state, with its version if it is an object.
    async fn versioned(&self) -> Result<(DriftState, Option<Tag>)> {
        let (bytes, shown, tag) = match &self.place {
            Place::File(path) if !crate::file::exists(path) => (None, path.display().to_string(), None),
            Place::File(path) => (Some(file::read(path, limit::SAVED)?), path.display().to_string(), None),
            Place::Own { directory, name } => {
                let path = directory.join(DRIFT).join(name);
                let bytes = match read_own(&path, limit::SAVED) {
                    Ok(bytes) => Some(bytes),
                    Err(error) if error.is_missing() => None,
                    Err(error) => return Err(error).with_status(ExitStatus::Failed),
                };
                (bytes, path.display().to_string(), None)
            }
            Place::Object { bucket, name } => {
                let (of, below) = ((*bucket).clone(), name.clone());
                let object = settings::ask_state(self.context, move |_| of.read(&below)).await?;
                let object = object.map_err(|error| settings::store_failed(self.context, error.into()))?;
                let (bytes, tag) = object.map(|object| (object.bytes.into(), object.tag)).unzip();
                (bytes, bucket.place(name), tag)
            }
        };
        let state = bytes.map_or_else(|| Ok(DriftState::default()), |bytes: Vec<u8>| DriftState::from_file(&bytes));
        let state = state
            .map_err(anyhow::Error::from)
            .and_then(|state| state.of(&self.owner).map_err(anyhow::Error::msg))
            .with_context(|| format!("`{shown}` cannot be used"))
            .with_status(ExitStatus::Invalid)?;
        Ok((state, tag))
    }

    /// Changes the current drift state, with what other checkers wrote since it was read, and returns what is stored.
    ///
    /// # Errors
    /// Those of [`DriftStore::read`], or it cannot be written.
    pub async fn update(&self, change: impl Fn(&mut DriftState)) -> Result<DriftState> {
        // A bucket has no lock to wait for; it refuses a write over a version that was not read.
        let _lock = self.lock().await?;
        let (mut before, mut tries) = (None, 0);
        loop {
            let (mut state, tag) = self.versioned().await?;
            // Other writers finish at some point; a store that refuses the very version that it shows does not.
            tries = if tag == before { tries + 1 } else { 1 };
            if let (Place::Object { bucket, name }, true) = (&self.place, tries > MOST_TRIES) {
                let place = bucket.place(name);
                return Err(error!(
                    Failed,
                    "cannot write `{place}`: the store refuses each update of the version that it shows"
                )
                .hint("use another object store; a proxy before this one must not change its ETags"));
            }
            change(&mut state);
            if self.write(&state, tag.clone()).await? {
                return Ok(state);
            }
            before = tag;
        }
    }

    async fn lock(&self) -> Result<Option<std::fs::File>> {
        let locked = match &self.place {
            Place::Object { .. } => return Ok(None),
            Place::File(path) => {
                let path = path.clone();
                aside(move || crate::file::lock(&path)).await
            }
            Place::Own { directory, name } => {
                let (directory, name) = ((*directory).clone(), name.clone());
                aside(move || Directory::private(&directory, DRIFT)?.lock(name)).await
            }
        };
        locked.map(Some).with_status(ExitStatus::Failed)
    }

    /// Stores the drift state; `false` where another checker wrote the object since it was read.
    async fn write(&self, drift_state: &DriftState, tag: Option<Tag>) -> Result<bool> {
        let text = drift_state.to_file();
        match &self.place {
            Place::File(path) => file::replace(path, FileMode::Shared, |out| out.write_all(text.as_bytes()))?,
            Place::Own { directory, name } => {
                let written = Directory::private(directory, DRIFT)
                    .and_then(|directory| directory.replace(name, text.as_bytes(), FileMode::Private));
                written.with_status(ExitStatus::Failed)?;
            }
            Place::Object { bucket, name } => {
                let (bucket, name) = ((*bucket).clone(), name.clone());
                let written = settings::ask_state(self.context, move |_| {
                    bucket.write(&name, text, tag.as_ref()).map(|written| written.is_some())
                });
                return written.await?.map_err(|error| settings::store_failed(self.context, error.into()));
            }
        }
        Ok(true)
    }
}

fn owner(stack: &Stack<'_>, base_url: &str) -> Result<DriftStateOwner> {
    let name = stack.name()?;
    let directory = name.is_none().then(|| match stack.repository.open() {
        Ok(repository) => format!("./{}", repository.prefix()),
        Err(_) => stack.loaded.root.display().to_string(),
    });
    Ok(DriftStateOwner { service: base_url.to_owned(), stack: name, directory })
}

/// The name of a stack's drift state: by service and stack, whatever their directory and environment. A digest
/// distinguishes embedded services, and services whose URLs differ only in what a file name leaves out.
fn name(base_url: &str, sandbox: &str, stack: &str) -> String {
    let is_plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || matches!(c, '-' | '.');
    let host = base_url.split_once("://").map_or(base_url, |(_, host)| host);
    let digest = match base_url.strip_prefix("https://").is_some_and(|host| host.chars().all(is_plain)) {
        true => String::new(),
        false => format!("-{}", document::sha256(format!("{base_url}{sandbox}"), 6)),
    };
    format!("{}{digest}_{stack}.json", host.replace(|c| !is_plain(c), "_"))
}

#[cfg(test)]
mod tests {
    use super::name;

    #[test]
    fn services_whose_addresses_are_alike_have_a_drift_state_each() {
        assert_eq!(name("https://a.example.net", "", "shop"), "a.example.net_shop.json");
        let urls = ["http://a.example.net", "https://a.example.net:8443", "https://a.example.net/8443"];
        let names: std::collections::BTreeSet<String> = urls.iter().map(|url| name(url, "", "shop")).collect();
        assert_eq!(names.len(), urls.len());
    }
}
