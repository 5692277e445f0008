//! A store in memory that fails on request: before a write, after it, and instead of it, and that loses answers.

use std::collections::VecDeque;
use std::fmt;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use futures_util::stream::BoxStream;
use object_store::memory::InMemory;
use object_store::path::Path;
use object_store::{
    CopyOptions, Error, GetOptions, GetResult, ListResult, MultipartUpload, ObjectMeta, ObjectStore, PutMode,
    PutMultipartOptions, PutOptions, PutPayload, PutResult, Result,
};

use crate::state::Bucket;

/// What happens to a write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fault {
    /// Nothing.
    None,
    /// It is refused and not made.
    Refused,
    /// It is made, and its answer is lost.
    AnswerLost,
    /// It is made, and its answer takes a while.
    Slow,
    /// It is never answered.
    Silent,
    /// The condition is ignored.
    Unconditional,
    /// No version is the one that is there.
    NoMatch,
}

type Unreadable = (String, usize, fn() -> Error);

/// The faults to come, one for each write; what follows them is well, or always the last.
#[derive(Debug, Default)]
pub(crate) struct Script {
    next: VecDeque<Fault>,
    always: Option<Fault>,
    /// Part of the names of objects that cannot be read, how often, and why.
    unreadable: Option<Unreadable>,
    pub(crate) writes: Vec<String>,
}

#[derive(Debug, Clone, Default)]
pub(crate) struct FaultyStore {
    store: Arc<InMemory>,
    script: Arc<Mutex<Script>>,
}

impl FaultyStore {
    /// The bucket of a runner.
    pub(crate) fn bucket(&self) -> Bucket {
        let store = Arc::new(self.clone());
        Bucket::new(store, "team/prod", "s3://state/team/prod".to_owned(), Vec::new()).expect("a thread")
    }

    pub(crate) fn next(&self, faults: impl IntoIterator<Item = Fault>) {
        self.script.lock().expect("no panic").next.extend(faults);
    }

    pub(crate) fn always(&self, fault: Option<Fault>) {
        self.script.lock().expect("no panic").always = fault;
    }

    /// So many of the next reads of objects whose name contains `part` fail.
    pub(crate) fn refuse_reads(&self, part: &str, count: usize) {
        self.script.lock().expect("no panic").unreadable = Some((part.to_owned(), count, lost));
    }

    /// No read of objects whose name contains `part` is allowed.
    pub(crate) fn forbid_reads(&self, part: &str) {
        self.script.lock().expect("no panic").unreadable = Some((part.to_owned(), usize::MAX, forbidden));
    }

    /// Objects whose name contains `part` are listed, and each read of one is answered as though it were not there.
    pub(crate) fn withhold(&self, part: &str) {
        self.script.lock().expect("no panic").unreadable = Some((part.to_owned(), usize::MAX, missing));
    }

    /// Names of the objects that were written, in their order.
    pub(crate) fn writes(&self) -> Vec<String> {
        self.script.lock().expect("no panic").writes.clone()
    }

    fn fault(&self, location: &Path) -> Fault {
        let mut script = self.script.lock().expect("no panic");
        script.writes.push(location.to_string());
        script.next.pop_front().or(script.always).unwrap_or(Fault::None)
    }
}

impl fmt::Display for FaultyStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("FaultyStore")
    }
}

fn lost() -> Error {
    Error::Generic { store: "faulty", source: "the connection was closed".into() }
}

fn forbidden() -> Error {
    Error::PermissionDenied { path: String::new(), source: "InvalidObjectState".into() }
}

fn missing() -> Error {
    Error::NotFound { path: String::new(), source: "404".into() }
}

#[async_trait]
impl ObjectStore for FaultyStore {
    async fn put_opts(&self, location: &Path, payload: PutPayload, options: PutOptions) -> Result<PutResult> {
        match self.fault(location) {
            Fault::None => self.store.put_opts(location, payload, options).await,
            Fault::Refused => Err(lost()),
            Fault::AnswerLost => self.store.put_opts(location, payload, options).await.and_then(|_| Err(lost())),
            Fault::Slow => {
                let made = self.store.put_opts(location, payload, options).await;
                tokio::time::sleep(Duration::from_millis(500)).await;
                made
            }
            Fault::Silent => std::future::pending().await,
            Fault::NoMatch if matches!(options.mode, PutMode::Update(_)) => {
                Err(Error::Precondition { path: location.to_string(), source: "another version".into() })
            }
            Fault::NoMatch => self.store.put_opts(location, payload, options).await,
            Fault::Unconditional => {
                let options = PutOptions { mode: PutMode::Overwrite, ..options };
                self.store.put_opts(location, payload, options).await
            }
        }
    }

    async fn put_multipart_opts(
        &self,
        location: &Path,
        options: PutMultipartOptions,
    ) -> Result<Box<dyn MultipartUpload>> {
        self.store.put_multipart_opts(location, options).await
    }

    async fn get_opts(&self, location: &Path, options: GetOptions) -> Result<GetResult> {
        if let Some((part, left, error)) = &mut self.script.lock().expect("no panic").unreadable
            && location.as_ref().contains(part.as_str())
            && *left > 0
        {
            *left -= 1;
            return Err(error());
        }
        self.store.get_opts(location, options).await
    }

    fn delete_stream(&self, locations: BoxStream<'static, Result<Path>>) -> BoxStream<'static, Result<Path>> {
        self.store.delete_stream(locations)
    }

    fn list(&self, prefix: Option<&Path>) -> BoxStream<'static, Result<ObjectMeta>> {
        self.store.list(prefix)
    }

    async fn list_with_delimiter(&self, prefix: Option<&Path>) -> Result<ListResult> {
        self.store.list_with_delimiter(prefix).await
    }

    async fn copy_opts(&self, from: &Path, to: &Path, options: CopyOptions) -> Result<()> {
        self.store.copy_opts(from, to, options).await
    }
}
