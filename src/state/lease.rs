//! The lock of a bucket: one object that its holder renews. Clocks of different machines are never compared: a runner
//! that finds the lock taken watches the object for as long as the lock lasts, and takes it over only if it did not
//! change. The holder counts from just before its last renewal was sent, less a margin, and sends nothing after that.

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant, SystemTime};

use serde::{Deserialize, Serialize};
use tokio::task::AbortHandle;

use crate::model::document::DocumentFormat;
use crate::model::neutral;
use crate::model::share::locked;
use crate::transport::CLEARED;

use super::bucket::Bucket;
use super::error::StateError;
use super::object::{Objects, StoredObject, Tag};

const FORMAT: DocumentFormat =
    DocumentFormat { name: "a lock", kinds: &[], versions: 1..=1, remedy: "use the version that wrote it" };
/// How often a lock is tried while others take and release it.
const TRIES: usize = 8;
/// The longest time that a lock can last; a longer time in an object is not believed.
const LONGEST: Duration = Duration::from_mins(10);

/// How long a lock lasts without its holder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LeaseTiming {
    lasts: Duration,
}

impl Default for LeaseTiming {
    fn default() -> Self {
        Self { lasts: Duration::from_mins(1) }
    }
}

impl LeaseTiming {
    /// A lock that lasts 1 to 600 seconds.
    pub fn of_seconds(seconds: u64) -> Option<Self> {
        let lasts = Duration::from_secs(seconds);
        (seconds > 0 && lasts <= LONGEST).then_some(Self { lasts })
    }

    fn renewal(self) -> Duration {
        self.lasts / 6
    }

    /// How long the holder stops before others may begin: a write that it permitted may still wait for its connection.
    fn margin(self) -> Duration {
        (self.lasts / 6).max(CLEARED).min(self.lasts / 3)
    }
}

/// Who has a lock.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Holder {
    /// The run that took it.
    pub run: String,
    /// The protected stack: "stack `shop` on https://…".
    pub what: String,
    /// The machine.
    pub host: Option<String>,
    /// The user of the run.
    pub user: Option<String>,
    /// When it was taken, RFC 3339, by the clock of the holder's machine.
    pub taken: String,
}

impl Holder {
    fn plain(self) -> Self {
        let some = |text: Option<String>| text.as_deref().map(plain);
        Self {
            run: plain(&self.run),
            what: plain(&self.what),
            host: some(self.host),
            user: some(self.user),
            taken: plain(&self.taken),
        }
    }
}

impl std::fmt::Display for Holder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "run `{}`", self.run)?;
        match (&self.user, &self.host) {
            (Some(user), Some(host)) => write!(f, " of {user} on {host}")?,
            (Some(user), None) => write!(f, " of {user}")?,
            (None, Some(host)) => write!(f, " on {host}")?,
            (None, None) => {}
        }
        match self.taken.parse::<jiff::Timestamp>() {
            Ok(taken) => write!(f, ", since {}", taken.strftime("%Y-%m-%d %H:%M UTC")),
            Err(_) => write!(f, ", since {}", self.taken),
        }
    }
}

/// The object as it is stored.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct LockObject {
    format_version: u32,
    #[serde(flatten)]
    holder: Holder,
    lease_milliseconds: u64,
    /// Makes each renewal different from the last.
    renewals: u64,
    /// Makes each acquisition different from all others.
    nonce: String,
    released: bool,
}

impl LockObject {
    fn read(name: &str, bucket: &Bucket, object: &StoredObject) -> Result<Self, StateError> {
        let read = FORMAT.read::<Self>(&object.bytes);
        let lock = read.map_err(|error| {
            let hint = "where no apply of the stack is running, remove the object";
            StateError::new("read", bucket.place(name), error.to_string()).with_hint(hint)
        })?;
        Ok(Self { holder: lock.holder.plain(), ..lock })
    }

    fn bytes(&self) -> Vec<u8> {
        // Text keys, strings and numbers: serialising them cannot fail.
        let mut bytes = serde_json::to_vec_pretty(self).unwrap_or_default();
        bytes.push(b'\n');
        bytes
    }

    fn lasts(&self) -> Duration {
        Duration::from_millis(self.lease_milliseconds).min(LONGEST)
    }
}

/// Why a lock cannot be taken.
#[derive(Debug, thiserror::Error)]
pub enum LeaseError {
    /// Another runner has it, and is alive.
    #[error("another apply of {} is running: {}", .0.what, .0)]
    Held(Box<Holder>),
    /// The store.
    #[error(transparent)]
    Store(#[from] StateError),
}

/// A lock that this process has; dropping it releases it.
#[derive(Debug)]
pub struct Lease {
    bucket: Bucket,
    timing: LeaseTiming,
    shared: Arc<SharedLease>,
    heartbeat: AbortHandle,
}

/// What the tasks that write a lock share.
#[derive(Debug)]
struct SharedLease {
    name: String,
    state: Mutex<LeaseState>,
    /// Ensures that there is only one renewal at a time.
    renewing: tokio::sync::Mutex<()>,
}

#[derive(Debug)]
struct LeaseState {
    lock: LockObject,
    tag: Tag,
    /// When the last renewal was sent, by both clocks: one stops while a machine sleeps, the other can be set back.
    renewed: (Instant, SystemTime),
    /// Why the lock is no longer ours.
    lost: Option<String>,
}

impl LeaseState {
    fn age(&self) -> Duration {
        let wall = SystemTime::now().duration_since(self.renewed.1).unwrap_or_default();
        self.renewed.0.elapsed().max(wall)
    }
}

impl Lease {
    /// Takes the lock `name`. `waiting` is called each time before the lock of another holder is watched.
    ///
    /// # Errors
    /// [`LeaseError::Held`] if its holder is alive; the store.
    pub fn take(
        bucket: &Bucket,
        name: &str,
        holder: Holder,
        timing: LeaseTiming,
        waiting: &dyn Fn(&Holder, Duration),
    ) -> Result<Self, LeaseError> {
        let lock = LockObject {
            format_version: *FORMAT.versions.end(),
            holder,
            lease_milliseconds: u64::try_from(timing.lasts.as_millis()).unwrap_or(u64::MAX),
            renewals: 0,
            nonce: uuid::Uuid::new_v4().simple().to_string(),
            released: false,
        };
        let mut last = None;
        for _ in 0..TRIES {
            let mut over = None;
            if let Some(object) = bucket.read(name)? {
                let found = LockObject::read(name, bucket, &object)?;
                over = match found.released {
                    true => Some(object.tag),
                    false => {
                        waiting(&found.holder, found.lasts());
                        watch(bucket, name, object, &found)?
                    }
                };
                last = (!found.released).then_some(found.holder);
                if over.is_none() {
                    continue;
                }
            }
            let left = (Instant::now(), SystemTime::now());
            if let Some(tag) = bucket.write(name, lock.bytes(), over.as_ref())? {
                return Ok(Self::new(bucket, name, timing, LeaseState { lock, tag, renewed: left, lost: None }));
            }
        }
        match last {
            Some(holder) => Err(LeaseError::Held(Box::new(holder))),
            None => Err(StateError::new("write", bucket.place(name), "other runs keep taking and releasing it").into()),
        }
    }

    fn new(bucket: &Bucket, name: &str, timing: LeaseTiming, state: LeaseState) -> Self {
        let (name, state) = (name.to_owned(), Mutex::new(state));
        let shared = Arc::new(SharedLease { name, state, renewing: tokio::sync::Mutex::default() });
        let beating = Arc::clone(&shared);
        let heartbeat = bucket.spawn(move |objects| async move {
            let mut pause = timing.renewal();
            loop {
                tokio::time::sleep(pause).await;
                pause = match beating.renew(&objects).await {
                    Ok(true) => timing.renewal(),
                    Ok(false) => return,
                    Err(_) => timing.renewal() / 4,
                };
            }
        });
        Self { bucket: bucket.clone(), timing, shared, heartbeat }
    }

    /// Whether the lock is certainly still ours, by the clock alone and without a request.
    ///
    /// # Errors
    /// Why it is not ours, as a fragment.
    pub fn check(&self) -> Result<(), String> {
        let state = locked(&self.shared.state);
        match &state.lost {
            Some(lost) => Err(lost.clone()),
            None if state.age() + self.timing.margin() < self.timing.lasts => Ok(()),
            None => Err("its lock was not renewed in time".to_owned()),
        }
    }

    /// Like [`Self::check`], but renews a lock that was not renewed in time; fails if another run took it over.
    ///
    /// # Errors
    /// Why it is not ours, as a fragment.
    pub fn ensure(&self) -> Result<(), String> {
        if self.check().is_ok() {
            return Ok(());
        }
        let shared = Arc::clone(&self.shared);
        let renewed = self.bucket.wait(|objects| async move { shared.renew(&objects).await });
        renewed.map_err(|error| error.to_string())?;
        self.check()
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        let (shared, heartbeat) = (Arc::clone(&self.shared), self.heartbeat.clone());
        let left = self.timing.lasts.saturating_sub(locked(&shared.state).age());
        // A lock that cannot be released expires, so the release is not waited for any longer than that.
        let _ = self.bucket.wait(|objects| async move {
            let release = async {
                // Wait for a renewal in progress: the release has to replace its version.
                let _only = shared.renewing.lock().await;
                heartbeat.abort();
                shared.write(&objects, |lock| lock.released = true).await
            };
            tokio::time::timeout(left, release).await.unwrap_or(Ok(false))
        });
    }
}

impl SharedLease {
    /// Renews the lock; `false` if it is no longer ours.
    async fn renew(&self, objects: &Objects) -> Result<bool, StateError> {
        let _only = self.renewing.lock().await;
        // An earlier try may be stored although its answer was lost, so each try has a new number.
        self.write(objects, |lock| lock.renewals += 1).await
    }

    /// Writes the lock changed by `change`; `false` if it is no longer ours.
    async fn write(&self, objects: &Objects, change: impl Fn(&mut LockObject)) -> Result<bool, StateError> {
        for _ in 0..TRIES {
            let (next, tag) = {
                let mut state = locked(&self.state);
                if state.lost.is_some() {
                    return Ok(false);
                }
                change(&mut state.lock);
                (state.lock.clone(), state.tag.clone())
            };
            let left = (Instant::now(), SystemTime::now());
            if let Some(tag) = objects.write(&self.name, &next.bytes().into(), Some(&tag)).await? {
                let mut state = locked(&self.state);
                (state.tag, state.renewed) = (tag, left);
                return Ok(true);
            }
            // The store has another version: an earlier try of ours whose answer was lost, or the lock of another run.
            let found = objects.read(&self.name).await?;
            let found =
                found.and_then(|object| Some((serde_json::from_slice::<LockObject>(&object.bytes).ok()?, object.tag)));
            let mut state = locked(&self.state);
            state.lost = Some(match found {
                Some((found, tag)) if found.nonce == state.lock.nonce && !found.released => {
                    state.tag = tag;
                    continue;
                }
                Some((found, _)) if found.nonce == state.lock.nonce => "its lock was released by hand".to_owned(),
                Some((found, _)) => format!("its lock was taken over by run `{}`", plain(&found.holder.run)),
                None => "its lock was removed".to_owned(),
            });
            return Ok(false);
        }
        Err(StateError::new("write", objects.place(&self.name), "its lock keeps changing"))
    }
}

/// Text of an object that any writer to the bucket may have made, without terminal control characters.
fn plain(text: &str) -> String {
    neutral(text, 100)
}

/// Watches a lock for as long as it lasts. Returns the version that did not change meanwhile (its holder is dead), or
/// `None` if the lock is free to try. One renewal may be the last one that a dead holder sent, so only a second one
/// shows that it is alive.
fn watch(bucket: &Bucket, name: &str, object: StoredObject, found: &LockObject) -> Result<Option<Tag>, LeaseError> {
    let pause = (found.lasts() / 30).max(Duration::from_millis(100));
    let mut tag = object.tag;
    for is_last in [false, true] {
        let begun = Instant::now();
        loop {
            let Some(left) = found.lasts().checked_sub(begun.elapsed()) else { return Ok(Some(tag)) };
            std::thread::sleep(pause.min(left));
            let Some(now) = bucket.read(name)? else { return Ok(None) };
            if now.tag == tag {
                continue;
            }
            let lock = LockObject::read(name, bucket, &now)?;
            if lock.released {
                return Ok(None);
            }
            if is_last || lock.nonce != found.nonce {
                return Err(LeaseError::Held(Box::new(lock.holder)));
            }
            tag = now.tag;
            break;
        }
    }
    unreachable!("the second change returns")
}

/// Releases the lock of a run that is known to be dead. Returns its holder, or `None` if the run has no lock.
///
/// # Errors
/// The store; an unreadable lock, if no other lock is that of the run.
pub fn release(bucket: &Bucket, folder: &str, run: &str) -> Result<Option<Holder>, StateError> {
    // An unreadable lock may be that of the run.
    let mut unreadable = None;
    for name in bucket.names(folder)?.into_iter().filter(|name| name.ends_with(".json")) {
        let name = format!("{folder}/{name}");
        let Some(object) = bucket.read(&name)? else { continue };
        let found = match LockObject::read(&name, bucket, &object) {
            Ok(found) => found,
            Err(error) => {
                unreadable = Some(error);
                continue;
            }
        };
        if found.holder.run == run && !found.released {
            let released = LockObject { released: true, ..found };
            return match bucket.write(&name, released.bytes(), Some(&object.tag))? {
                Some(_) => Ok(Some(released.holder)),
                None => Err(StateError::new("write", bucket.place(&name), "it was renewed just now: the run is alive")),
            };
        }
    }
    unreadable.map_or(Ok(None), Err)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_holder_has_time_for_a_renewal_before_it_stops_and_stops_before_the_others_begin() {
        for seconds in 1..=600 {
            let timing = LeaseTiming::of_seconds(seconds).expect("a time");
            assert!(timing.renewal() + timing.margin() < timing.lasts && timing.margin() > Duration::ZERO, "{seconds}");
        }
        for seconds in [0, 601, u64::MAX] {
            assert_eq!(LeaseTiming::of_seconds(seconds), None);
        }
    }
}
