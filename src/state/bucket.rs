//! A bucket whose requests run on a thread of their own, so that its lock is renewed even while the program is busy.
//! Its functions block until the answer, like those of a directory.

use std::future::Future;
use std::sync::{Arc, mpsc};

use bytes::Bytes;
use object_store::ObjectStore;
use object_store::path::Path;
use tokio::runtime::{Builder, Handle, Runtime};
use tokio::task::AbortHandle;

use crate::transport::Proxies;

use super::connect;
use super::error::StateError;
use super::location::Location;
use super::object::{MaybeRefused, Objects, StoredObject, Tag};

/// The objects below a prefix of a bucket.
#[derive(Debug, Clone)]
pub struct Bucket {
    objects: Arc<Objects>,
    worker: Arc<Worker>,
}

#[derive(Debug)]
struct Worker {
    handle: Handle,
    runtime: Option<Runtime>,
}

impl Bucket {
    /// The bucket at `location`. `variables` are those of the process: credentials and endpoints, by the names that the
    /// store's own tools use. `proxies` are those of the environment. Nothing is sent.
    ///
    /// # Errors
    /// A variable has an invalid value.
    pub fn open<'v>(
        location: &Location,
        variables: impl IntoIterator<Item = (&'v str, &'v str)>,
        proxies: &Proxies,
    ) -> Result<Self, StateError> {
        let (store, secrets) = connect::connect(location, variables, proxies)?;
        Self::new(store, &location.prefix, location.to_string(), secrets)
    }

    /// The objects below `prefix` of any store; messages name it by `address`.
    ///
    /// # Errors
    /// The thread cannot be started.
    pub(crate) fn new(
        store: Arc<dyn ObjectStore>,
        prefix: &str,
        address: String,
        secrets: Vec<String>,
    ) -> Result<Self, StateError> {
        let runtime = Builder::new_multi_thread().worker_threads(1).thread_name("state").enable_all().build();
        let runtime = runtime.map_err(|error| StateError::new("reach", address.clone(), error.to_string()))?;
        let worker = Arc::new(Worker { handle: runtime.handle().clone(), runtime: Some(runtime) });
        let objects = Objects { store, prefix: Path::from(prefix), address, secrets };
        Ok(Self { objects: Arc::new(objects), worker })
    }

    /// Its address.
    pub fn address(&self) -> &str {
        &self.objects.address
    }

    /// The address of one of its objects.
    pub fn place(&self, name: &str) -> String {
        self.objects.place(name)
    }

    /// Waits for a request that runs on the bucket's thread.
    pub(super) fn wait<T: Send + 'static, F>(&self, request: impl FnOnce(Arc<Objects>) -> F) -> Result<T, StateError>
    where
        F: Future<Output = Result<T, StateError>> + Send + 'static,
    {
        let (answer, answered) = mpsc::sync_channel(1);
        let request = request(Arc::clone(&self.objects));
        self.worker.handle.spawn(async move {
            // The caller waits below, so the send succeeds.
            let _ = answer.send(request.await);
        });
        let ended = || StateError::new("reach", self.address(), "its thread has ended");
        answered.recv().unwrap_or_else(|_| Err(ended()))
    }

    /// Runs a task beside the requests.
    pub(super) fn spawn<F>(&self, task: impl FnOnce(Arc<Objects>) -> F) -> AbortHandle
    where
        F: Future<Output = ()> + Send + 'static,
    {
        self.worker.handle.spawn(task(Arc::clone(&self.objects))).abort_handle()
    }

    /// An object, or `None` if it does not exist.
    ///
    /// # Errors
    /// The store did not answer, or refused.
    pub fn read(&self, name: &str) -> Result<Option<StoredObject>, StateError> {
        let name = name.to_owned();
        self.wait(|objects| async move { objects.read(&name).await })
    }

    /// Several objects in the order of `names`; a refused one has the refusal in its place.
    ///
    /// # Errors
    /// The store did not answer.
    pub fn read_many(&self, names: Vec<String>) -> Result<Vec<MaybeRefused>, StateError> {
        self.wait(|objects| async move { objects.read_many(names).await })
    }

    /// Writes an object over its version `over`, or creates it; `None` if the store has another version. An object with
    /// exactly this content counts as written.
    ///
    /// # Errors
    /// The store did not answer, or refused: the object may be written or not.
    pub fn write(&self, name: &str, bytes: impl Into<Bytes>, over: Option<&Tag>) -> Result<Option<Tag>, StateError> {
        let (name, bytes, over) = (name.to_owned(), bytes.into(), over.cloned());
        self.wait(|objects| async move { objects.write(&name, &bytes, over.as_ref()).await })
    }

    /// Removes objects; missing ones are not an error.
    ///
    /// # Errors
    /// The store did not answer, or refused: some may remain.
    pub fn remove(&self, names: Vec<String>) -> Result<(), StateError> {
        self.wait(|objects| async move { objects.remove(names).await })
    }

    /// The names directly below `folder`, of objects and of folders, in their order.
    ///
    /// # Errors
    /// The store did not answer, or refused.
    pub fn names(&self, folder: &str) -> Result<Vec<String>, StateError> {
        let folder = folder.to_owned();
        self.wait(|objects| async move { objects.names(&folder).await })
    }

    /// Checks that the store refuses writes whose condition fails: without that, no lock is safe.
    ///
    /// # Errors
    /// The store ignores conditions, or did not answer.
    pub fn check_conditions(&self) -> Result<(), StateError> {
        self.wait(|objects| async move { objects.check_conditions().await })
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        // Dropping a runtime waits for it, which a task must not do.
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::tests::faults::{Fault, FaultyStore};

    #[test]
    fn a_write_whose_last_answer_is_lost_is_found_and_not_reported_as_failed() {
        let store = FaultyStore::default();
        let bucket = store.bucket();
        store.next([Fault::Refused, Fault::Refused, Fault::Refused, Fault::AnswerLost]);
        let tag = bucket.write("drift/shop.json", "1", None).expect("it is there").expect("it is ours");
        store.next([Fault::Refused, Fault::Refused, Fault::Refused, Fault::AnswerLost]);
        assert!(bucket.write("drift/shop.json", "2", Some(&tag)).expect("it is there").is_some());
        store.next([Fault::Refused; 4]);
        bucket.write("drift/other.json", "1", None).expect_err("it is not there");
    }

    #[test]
    fn the_names_of_folders_and_objects_have_one_order_and_are_there_once() {
        let bucket = FaultyStore::default().bucket();
        for name in ["runs/b/1", "runs/b/2", "runs/a", "runs/b", "runs/c/1", "others/d"] {
            bucket.write(name, "1", None).expect("written");
        }
        assert_eq!(bucket.names("runs").expect("a list"), ["a", "b", "c"]);
    }
}
