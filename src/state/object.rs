//! Requests for single objects that are safe to repeat: a retry recognises its own earlier write by its content, and
//! never takes it for the write of another run.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures_util::{StreamExt as _, TryStreamExt as _};
use object_store::path::Path;
use object_store::{Error, ObjectStore, ObjectStoreExt as _, PutMode, PutOptions, PutResult, UpdateVersion};

use super::error::{StateError, is_unsupported, names_bucket};

/// How often a conditional write is tried; object_store itself repeats all requests that are safe to repeat blindly.
const TRIES: u32 = 4;
/// The wait before the second try; it doubles.
const FIRST_WAIT: Duration = Duration::from_millis(if cfg!(test) { 5 } else { 200 });
/// The name of the object that shows whether conditional writes work.
const PROBE: &str = "locks/.conditions";

/// The version of an object that was read or written.
#[derive(Debug, Clone)]
pub struct Tag(UpdateVersion);

impl PartialEq for Tag {
    fn eq(&self, other: &Self) -> bool {
        (&self.0.e_tag, &self.0.version) == (&other.0.e_tag, &other.0.version)
    }
}

impl From<PutResult> for Tag {
    fn from(put: PutResult) -> Self {
        Self(UpdateVersion { e_tag: put.e_tag, version: put.version })
    }
}

/// An object as it was read.
#[derive(Debug, Clone)]
pub struct StoredObject {
    /// Its content.
    pub bytes: Bytes,
    /// Its version.
    pub tag: Tag,
}

/// One of several objects: `None` if it does not exist, or why the store refuses it.
pub type MaybeRefused = Result<Option<StoredObject>, StateError>;

/// The objects below a prefix of a store.
#[derive(Debug)]
pub(super) struct Objects {
    pub(super) store: Arc<dyn ObjectStore>,
    pub(super) prefix: Path,
    /// The name of the store in messages.
    pub(super) address: String,
    /// The secrets that no message may show.
    pub(super) secrets: Vec<String>,
}

impl Objects {
    fn path(&self, name: &str) -> Path {
        name.split('/').fold(self.prefix.clone(), Path::join)
    }

    pub(super) fn place(&self, name: &str) -> String {
        format!("{}/{name}", self.address)
    }

    fn failed(&self, what: &'static str, name: &str, error: &Error) -> StateError {
        StateError::of(what, self.place(name), error, &self.secrets)
    }

    pub(super) async fn read(&self, name: &str) -> Result<Option<StoredObject>, StateError> {
        let read = async {
            let found = self.store.get(&self.path(name)).await?;
            let tag = Tag(UpdateVersion { e_tag: found.meta.e_tag.clone(), version: found.meta.version.clone() });
            Ok(StoredObject { bytes: found.bytes().await?, tag })
        };
        match read.await {
            Ok(object) => Ok(Some(object)),
            Err(Error::NotFound { source, .. }) if !names_bucket(&*source) => Ok(None),
            Err(error) => Err(self.failed("read", name, &error)),
        }
    }

    async fn put(&self, name: &str, bytes: &Bytes, mode: PutMode) -> Result<Tag, Error> {
        let options = PutOptions { mode, ..PutOptions::default() };
        Ok(self.store.put_opts(&self.path(name), bytes.clone().into(), options).await?.into())
    }

    /// Writes over the version `over`, or creates an object; `None` if the store has another version. An object with
    /// exactly this content is ours: an earlier try wrote it. So different writers must never write the same content.
    pub(super) async fn write(&self, name: &str, bytes: &Bytes, over: Option<&Tag>) -> Result<Option<Tag>, StateError> {
        let mode = over.map_or(PutMode::Create, |tag| PutMode::Update(tag.0.clone()));
        let mut wait = FIRST_WAIT;
        for left in (0..TRIES).rev() {
            let error = match self.put(name, bytes, mode.clone()).await {
                Ok(tag) => return Ok(Some(tag)),
                Err(error) => error,
            };
            let is_refused = matches!(error, Error::AlreadyExists { .. } | Error::Precondition { .. });
            if !is_refused && is_final(&error) {
                return Err(self.failed("write", name, &error));
            }
            let there = self.read(name).await?;
            match (there, over) {
                (Some(object), _) if object.bytes == bytes => return Ok(Some(object.tag)),
                // There is still no object, or the version to replace: the next try may write it.
                (None, None) => {}
                (Some(object), Some(tag)) if object.tag == *tag && !is_refused => {}
                _ => return Ok(None),
            }
            if left == 0 {
                return Err(self.failed("write", name, &error));
            }
            tokio::time::sleep(wait).await;
            wait *= 2;
        }
        unreachable!("the last try returns")
    }

    /// Removes objects; missing ones are not an error.
    pub(super) async fn remove(&self, names: Vec<String>) -> Result<(), StateError> {
        let paths: Vec<Path> = names.iter().map(|name| self.path(name)).collect();
        let paths = futures_util::stream::iter(paths.into_iter().map(Ok)).boxed();
        let mut removed = self.store.delete_stream(paths);
        while let Some(result) = removed.next().await {
            match result {
                Ok(_) | Err(Error::NotFound { .. }) => {}
                Err(error) => return Err(self.failed("remove", names.first().map_or("", String::as_str), &error)),
            }
        }
        Ok(())
    }

    /// The names directly below `folder`, of objects and of folders, in their order.
    pub(super) async fn names(&self, folder: &str) -> Result<Vec<String>, StateError> {
        let path = self.path(folder);
        let listed = self.store.list_with_delimiter(Some(&path)).await;
        let listed = listed.map_err(|error| self.failed("list", folder, &error))?;
        let objects = listed.objects.iter().map(|object| &object.location);
        // Web consoles store an empty folder as an object with the name of the folder.
        let all = listed.common_prefixes.iter().chain(objects).filter(|found| **found != path);
        let mut names: Vec<String> = all.filter_map(|path| path.filename().map(str::to_owned)).collect();
        names.sort_unstable();
        names.dedup();
        Ok(names)
    }

    /// Several objects at the same time, in the order of `names`; a refused one has the refusal in its place.
    pub(super) async fn read_many(&self, names: Vec<String>) -> Result<Vec<MaybeRefused>, StateError> {
        const AT_ONCE: usize = 16;
        let read = |name: String| async move {
            match self.read(&name).await {
                Err(error) if !error.is_refusal() => Err(error),
                answered => Ok(answered),
            }
        };
        futures_util::stream::iter(names).map(read).buffered(AT_ONCE).try_collect().await
    }

    /// Checks that a second create and an update of an old version are refused but an update of the current version is
    /// not: without that, no lock is safe.
    pub(super) async fn check_conditions(&self) -> Result<(), StateError> {
        let bytes = Bytes::from_static(b"trueup: conditional writes work while this object is refused a second time\n");
        let unsupported = || {
            let reason = "this object store refuses or ignores conditional writes (If-None-Match, If-Match), which the lock needs";
            let hint = "use another object store; a proxy before this one must not change its ETags";
            Err(StateError::new("lock", self.address.clone(), reason).with_hint(hint))
        };
        let again = match self.try_put(PROBE, &bytes, &PutMode::Create).await {
            Ok(_) => self.try_put(PROBE, &bytes, &PutMode::Create).await,
            refused => refused,
        };
        match again {
            Err(Error::AlreadyExists { .. }) => {}
            Ok(_) => return unsupported(),
            Err(error) if is_unsupported(&error) => return unsupported(),
            Err(error) => return Err(self.failed("write", PROBE, &error)),
        }
        let there = self.read(PROBE).await?.map(|object| object.tag);
        // A version that no object can have.
        let old = Tag(UpdateVersion { e_tag: Some(format!("\"{}\"", "0".repeat(32))), version: Some("1".to_owned()) });
        for (tag, is_there) in [(Some(&old), false), (there.as_ref(), true)] {
            let Some(tag) = tag else { return unsupported() };
            match self.try_put(PROBE, &bytes, &PutMode::Update(tag.0.clone())).await {
                Ok(_) if is_there => {}
                Err(Error::Precondition { .. }) if !is_there => {}
                // Another runner, or an earlier try of ours, wrote it after it was read.
                Err(Error::Precondition { .. }) if self.read(PROBE).await?.is_some_and(|now| now.tag != *tag) => {}
                Ok(_) | Err(Error::Precondition { .. }) => return unsupported(),
                Err(error) if is_unsupported(&error) => return unsupported(),
                Err(error) => return Err(self.failed("write", PROBE, &error)),
            }
        }
        Ok(())
    }

    /// A write that is repeated until there is a definite answer.
    async fn try_put(&self, name: &str, bytes: &Bytes, mode: &PutMode) -> Result<Tag, Error> {
        let mut wait = FIRST_WAIT;
        for _ in 1..TRIES {
            match self.put(name, bytes, mode.clone()).await {
                Err(error) if !is_final(&error) => {}
                answered => return answered,
            }
            tokio::time::sleep(wait).await;
            wait *= 2;
        }
        self.put(name, bytes, mode.clone()).await
    }
}

/// Whether another try would get the same answer.
fn is_final(error: &Error) -> bool {
    matches!(
        error,
        Error::NotFound { .. }
            | Error::AlreadyExists { .. }
            | Error::Precondition { .. }
            | Error::PermissionDenied { .. }
            | Error::Unauthenticated { .. }
            | Error::NotSupported { .. }
            | Error::InvalidPath { .. }
            | Error::UnknownConfigurationKey { .. }
    ) || is_unsupported(error)
}
