//! Reads the state of the service: one list per namespace and kind, which is complete or unknown; one object before it
//! is replaced or deleted; its referrers; and the conditions in its status.
//!
//! # Guarantees
//! A read is complete only if the answer was a success, arrived whole and reports no error, and every item has its key
//! and its spec, in the list or in a get. Any other read is unknown.
//!
//! # Caveats
//! The service answers the list of a namespace that does not exist with 200 and without items (API.md 1.4).

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fmt;

use bytes::Bytes;
use serde::Deserialize;
use tokio::task::JoinSet;

use crate::kind::KindName;
use crate::model::{Json, Key, ListRead, Live, LiveItem, Name, RelatedObject, Scope, neutral};

use super::current::CurrentState;
use super::error::{ApiError, Failure};
use super::live::{List, check_list, read_list, with_spec, without_spec};
use super::objects::{ListFields, ResponseFormat};
use super::operations::Operation;
use super::reader::Reader;
use super::settings::ClientProgress;

/// How many referring objects are read to find their views: more would take minutes.
const MOST_VIEWS: usize = 1_000;

/// How often a list is read if an object of it is deleted before its get.
const MOST_READS: usize = 2;

/// How many lists in a row may have no answer before no others are requested, even if the concurrency is lower.
const FEW: usize = 4;

/// How many items of a list are read one by one.
const MOST_SINGLY: usize = 100;

/// Reads these lists, in parallel within the client's limits.
pub async fn fetch(reader: &Reader, scopes: impl IntoIterator<Item = Scope>) -> Live {
    PendingLists::of(reader.clone()).and(scopes).live().await
}

/// Lists that are being read; dropping them cancels the requests.
#[derive(Debug)]
pub struct PendingLists {
    reader: Reader,
    before: u64,
    asked: BTreeSet<Scope>,
    waiting: VecDeque<Scope>,
    lists: JoinSet<(Scope, Result<ListRead, Unanswered>)>,
    /// The reasons of the last lists in a row that had no answer.
    unanswered: Vec<Unanswered>,
    /// Kinds with at least one listed object.
    offered: BTreeSet<KindName>,
    /// Lists of kinds that the service does not know.
    not_offered: Vec<Scope>,
}

/// Why a list had no answer, after all repeats.
type Unanswered = String;

impl PendingLists {
    /// Starts without lists.
    pub fn of(reader: Reader) -> Self {
        let before = lists_sent(&reader);
        Self {
            reader,
            before,
            asked: BTreeSet::new(),
            waiting: VecDeque::new(),
            lists: JoinSet::new(),
            unanswered: Vec::new(),
            offered: BTreeSet::new(),
            not_offered: Vec::new(),
        }
    }

    /// Requests these lists, except those that were requested already.
    #[must_use]
    pub fn and(mut self, scopes: impl IntoIterator<Item = Scope>) -> Self {
        let new: Vec<Scope> = scopes.into_iter().filter(|scope| !self.asked.contains(scope)).collect();
        self.asked.extend(new.iter().cloned());
        self.waiting.extend(new);
        self.report();
        self.ask();
        self
    }

    /// Requests waiting lists up to the concurrency, but none after too many without an answer: each uses all repeats.
    fn ask(&mut self) {
        while self.lists.len() < self.reader.concurrency()
            && self.lists.len() + self.unanswered.len() < self.reader.concurrency().max(FEW)
            && let Some(scope) = self.waiting.pop_front()
        {
            let reader = self.reader.clone();
            self.lists.spawn(async move {
                let read = fetch_list(&reader, &scope).await;
                (scope, read)
            });
        }
    }

    /// The next list that was read, in any order; lists that the service does not offer come last. No more lists are
    /// read ahead than requests may be in flight, so that a large tenant is never in memory as a whole.
    pub async fn next(&mut self) -> Option<(Scope, ListRead)> {
        while let Some(read) = self.lists.join_next().await {
            let (scope, read) = read.unwrap_or_else(|error| std::panic::resume_unwind(error.into_panic()));
            match &read {
                Ok(_) => self.unanswered.clear(),
                Err(reason) => self.unanswered.push(reason.clone()),
            }
            self.report();
            self.ask();
            match read {
                Ok(ListRead::NotOffered) => self.not_offered.push(scope),
                Ok(read) => {
                    let has_some = read.known().is_ok_and(|items| !items.is_empty());
                    self.offered.extend(has_some.then_some(scope.kind));
                    return Some((scope, read));
                }
                Err(reason) => return Some((scope, ListRead::Unknown { reason })),
            }
        }
        if let Some(scope) = self.waiting.pop_front() {
            // The lists that were not requested get the same reason as the unanswered ones.
            let reason = self.unanswered.last().cloned().unwrap_or_default();
            return Some((scope, ListRead::Unknown { reason }));
        }
        let scope = self.not_offered.pop()?;
        let is_offered = self.offered.contains(&scope.kind) && scope.kind.kind().can_be_in(scope.namespace.as_str());
        let reason = "the service does not offer it, and shows objects of this kind in another namespace".to_owned();
        Some((scope, if is_offered { ListRead::Unknown { reason } } else { ListRead::NotOffered }))
    }

    fn report(&self) {
        let of = self.asked.len();
        self.reader.report(&ClientProgress::Reading { read: of - self.waiting.len() - self.lists.len(), of });
    }

    /// The client of the requests.
    pub fn reader(&self) -> &Reader {
        &self.reader
    }

    /// The number of list requests that were sent so far.
    pub fn requests(&self) -> u64 {
        lists_sent(&self.reader) - self.before
    }

    /// Waits for all lists.
    pub async fn live(mut self) -> Live {
        let mut lists = BTreeMap::new();
        while let Some((scope, read)) = self.next().await {
            lists.insert(scope, read);
        }
        Live { lists, requests: self.requests() }
    }
}

fn lists_sent(reader: &Reader) -> u64 {
    reader.requests().get(&Operation::ObjectList).copied().unwrap_or_default()
}

/// Whether a failed list means that the service does not offer this kind. Every service has endpoints: for them the
/// address is wrong.
pub(super) fn is_not_offered(kind: KindName, error: &ApiError) -> bool {
    !kind.is_endpoint() && error.is_unknown_to_service()
}

/// The result of `read` for a list, or if that fails, for the list completed by a get for each item without a spec. The
/// inner error says why the list is unknown.
///
/// # Errors
/// Any failure of the list request.
pub(super) async fn list<T, F: Future<Output = Result<T, String>>>(
    reader: &Reader,
    scope: &Scope,
    fields: ListFields,
    read: impl Fn(Bytes) -> F,
) -> Result<Result<T, String>, ApiError> {
    let mut reads = 0;
    loop {
        reads += 1;
        let body = reader.list(scope, fields).await?.body;
        let reason = match read(body.clone()).await {
            Ok(read) => return Ok(Ok(read)),
            Err(reason) => reason,
        };
        return Ok(match completed(reader, scope, &body).await {
            Ok(Some(body)) => read(body.into()).await,
            Ok(None) => Err(reason),
            Err(Incomplete::Unread(unread)) => Err(format!("{reason}, {unread}")),
            Err(Incomplete::Went(_)) if reads < MOST_READS => continue,
            Err(Incomplete::Went(key)) => Err(format!("the list shows `{key}`, and a get says that it is not there")),
        });
    }
}

/// Why a list cannot be completed.
enum Incomplete {
    /// A get reports that this object of the list does not exist.
    Went(Key),
    /// Too many items lack their spec, or one of them cannot be read; the reason is a fragment.
    Unread(String),
}

/// The list with its missing specs added; `None` if none is missing.
async fn completed(reader: &Reader, scope: &Scope, body: &[u8]) -> Result<Option<Vec<u8>>, Incomplete> {
    let unread = |why: String| Err(Incomplete::Unread(why));
    let items = without_spec(scope, body);
    match items.iter().filter(|(_, lacking)| lacking.is_some()).count() {
        0 => return Ok(None),
        count if count > MOST_SINGLY => return unread(format!("and {count} are too many to read one by one")),
        _ => {}
    }
    let mut whole = Vec::with_capacity(items.len());
    for (item, lacking) in items {
        let Some(key) = lacking else {
            whole.push(Cow::Borrowed(item));
            continue;
        };
        match reader.object(&key, ResponseFormat::Default).await {
            Ok(answer) => match with_spec(item, answer.body()) {
                Some(item) => whole.push(Cow::Owned(item)),
                None => return unread(format!("and a get of `{key}` shows none")),
            },
            Err(error) if error.is_absent() => return Err(Incomplete::Went(key)),
            Err(error) => return unread(format!("and the get failed: {}", error.failure)),
        }
    }
    Ok(serde_json::to_vec(&BTreeMap::from([("items", whole)])).ok())
}

async fn fetch_list(reader: &Reader, scope: &Scope) -> Result<ListRead, Unanswered> {
    // The list may be long, and others arrive meanwhile.
    let read = |body: Bytes| {
        let scope = scope.clone();
        let read = tokio::task::spawn_blocking(move || read_list(&scope, &body));
        async {
            match read.await.unwrap_or_else(|error| std::panic::resume_unwind(error.into_panic())) {
                ListRead::Unknown { reason } => Err(reason),
                read => Ok(read),
            }
        }
    };
    match list(reader, scope, ListFields::Spec, read).await {
        Ok(read) => Ok(read.unwrap_or_else(|reason| ListRead::Unknown { reason })),
        Err(error) if is_not_offered(scope.kind, &error) => Ok(ListRead::NotOffered),
        Err(error)
            if matches!(error.failure, Failure::Connect(_) | Failure::TimedOut(_)) || error.status() == Some(429) =>
        {
            Err(error.failure.to_string())
        }
        Err(error) => Ok(ListRead::Unknown { reason: error.failure.to_string() }),
    }
}

/// Reads one whole object.
///
/// # Errors
/// Every answer except the object, or that it does not exist.
pub async fn fetch_object(reader: &Reader, key: &Key) -> Result<CurrentState, ApiError> {
    match reader.object(key, ResponseFormat::Default).await {
        Ok(answer) => CurrentState::read(key, answer.body()).map_err(|reason| answer.unreadable(reason)),
        Err(error) if error.is_absent() => Ok(CurrentState::Absent),
        Err(error) => Err(error),
    }
}

/// The objects that refer to `key`. A missing object has no referrers.
///
/// # Errors
/// Any other answer, including one that does not list the referrers.
pub async fn referrers(reader: &Reader, key: &Key) -> Result<Vec<RelatedObject>, ApiError> {
    match reader.object(key, ResponseFormat::ReferringObjects).await {
        Ok(answer) => read_referrers(serde_json::from_slice(answer.body())).map_err(|reason| answer.unreadable(reason)),
        // A service without this format may also answer with 404.
        Err(error) if error.is_absent() => match fetch_object(reader, key).await? {
            CurrentState::Absent => Ok(Vec::new()),
            _ => {
                let answer = "404 to who refers to an object that it shows".to_owned();
                Err(ApiError { failure: Failure::Odd(answer), ..error })
            }
        },
        Err(error) => Err(error),
    }
}

/// Like [`referrers`], but an object that the service made from a view is replaced by the view, which users can change.
///
/// # Errors
/// As [`referrers`].
pub async fn referring_views(reader: &Reader, key: &Key) -> Result<Vec<RelatedObject>, ApiError> {
    let found = referrers(reader, key).await?;
    // Objects that the service makes from views never refer to endpoints.
    if key.kind.is_endpoint() {
        return Ok(found);
    }
    let mut views: Vec<RelatedObject> = Vec::with_capacity(found.len());
    for object in found {
        let view = match object.key().filter(|_| views.len() < MOST_VIEWS) {
            Some(key) => fetch_object(reader, &key).await?.object().and_then(|seen| seen.live.owner_view.clone()),
            None => None,
        };
        let view = view.map_or(object, |view| RelatedObject { uid: String::new(), ..view });
        if !views.contains(&view) {
            views.push(view);
        }
    }
    Ok(views)
}

/// The answer to a get in the format of referring objects.
#[derive(Deserialize)]
pub(super) struct ReferrersAnswer {
    referring_objects: Option<Vec<RelatedObject>>,
}

pub(super) fn read_referrers(answer: serde_json::Result<ReferrersAnswer>) -> Result<Vec<RelatedObject>, String> {
    let answer = answer.map_err(|error| neutral(&error.to_string(), 200))?;
    // A missing list is not an empty one: a service without this format would otherwise allow every delete.
    let mut objects = answer.referring_objects.ok_or("it does not say who refers to the object")?;
    objects.iter_mut().for_each(|object| object.uid.clear());
    Ok(objects)
}

/// A condition in the status of an object (API.md 1.2).
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Condition {
    /// `Validation` or `Operational`.
    #[serde(rename = "type")]
    pub kind: Option<String>,
    /// `Success`, `Failed`, `Incomplete`, `Installed`, `Down`, `Disabled`, `NotApplicable`.
    pub status: Option<String>,
    /// The reason.
    pub reason: Option<String>,
    /// The host that reported it.
    pub hostname: Option<String>,
}

impl Condition {
    /// Whether it is a failure.
    pub fn is_failed(&self) -> bool {
        self.status.as_deref().is_some_and(|status| status.eq_ignore_ascii_case("failed"))
    }
}

impl fmt::Display for Condition {
    /// `Operational failed: the reason (host)`
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let part = |text: &Option<String>, longest| neutral(text.as_deref().unwrap_or_default(), longest);
        write!(f, "{} {}", part(&self.kind, 60), part(&self.status, 60).to_lowercase())?;
        let (reason, host) = (part(&self.reason, 300), part(&self.hostname, 100));
        if !reason.is_empty() {
            write!(f, ": {reason}")?;
        }
        if !host.is_empty() {
            write!(f, " ({host})")?;
        }
        Ok(())
    }
}

/// The conditions of a `status` or `status_set`; entries of another shape are skipped.
pub fn conditions(status: &Json) -> Vec<Condition> {
    let entries = status.as_array().map(Vec::as_slice).unwrap_or_default();
    let lists = entries.iter().filter_map(|entry| entry.get("conditions")?.as_array());
    lists.flatten().filter_map(|condition| Condition::deserialize(condition).ok()).collect()
}

/// Reads a list as [`fetch`] does, and returns the result of `check` for each item, and the failed conditions of its
/// objects from the same answer. Conditions are only notes: unreadable ones are left out.
///
/// # Errors
/// Why the list is unknown.
///
/// # Caveats
/// It blocks the thread while all processors read the list, so that `check` may borrow.
pub async fn check<T: Send>(
    reader: &Reader,
    scope: &Scope,
    check: impl Fn(LiveItem) -> T + Sync,
) -> Result<(BTreeMap<Key, T>, BTreeMap<Key, String>), String> {
    let read = async |body: Bytes| {
        let items = check_list(scope, &body, &check)?;
        Ok((items, failed_conditions(scope, &body)))
    };
    let read = list(reader, scope, ListFields::SpecAndStatus, read).await;
    read.unwrap_or_else(|error| Err(error.failure.to_string()))
}

fn failed_conditions(Scope { namespace, kind }: &Scope, body: &[u8]) -> BTreeMap<Key, String> {
    #[derive(Default, Deserialize)]
    #[serde(default)]
    struct Item {
        namespace: String,
        name: String,
        status_set: Json,
    }
    // Usually nothing has failed, and parsing a long list again takes time.
    if !says_failed(body) {
        return BTreeMap::new();
    }
    let Ok(list) = serde_json::from_slice::<List<Item>>(body) else { return BTreeMap::new() };
    let mut failed = BTreeMap::new();
    for item in list.items.into_iter().flatten().filter(|item| item.namespace == namespace.as_str()) {
        let conditions = conditions(&item.status_set).into_iter().filter(Condition::is_failed);
        let words: Vec<String> = conditions.map(|condition| condition.to_string()).collect();
        if let (false, Ok(name)) = (words.is_empty(), Name::from_service(&item.name)) {
            failed.insert(Key { namespace: namespace.clone(), kind: *kind, name }, words.join("; "));
        }
    }
    failed
}

/// Whether the word `failed` occurs, in upper or lower case.
fn says_failed(body: &[u8]) -> bool {
    let rest = |at: usize| body.get(at..at + 6).is_some_and(|word| word.eq_ignore_ascii_case(b"failed"));
    memchr::memchr2_iter(b'f', b'F', body).any(rest)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_answer_that_does_not_say_who_refers_is_not_nobody() {
        let read = |answer: Json| read_referrers(serde_json::from_value(answer));
        assert!(read(json!({"resource_version": "1"})).is_err());
        assert!(read(json!({"referring_objects": null})).is_err());
        assert!(read(json!({"referring_objects": {}})).is_err());
        assert_eq!(read(json!({"referring_objects": []})), Ok(Vec::new()));
        let raw = json!({"referring_objects": [
            {"kind": "ves.io.schema.views.origin_pool.Object", "namespace": "shop", "name": "web", "tenant": "t", "uid": "u"}
        ]});
        let referrer = &read(raw).expect("one")[0];
        assert_eq!(referrer.to_string(), "origin_pool:shop/web");
        assert_eq!(referrer.uid, "", "a plan names who refers to an endpoint without the uid");
    }

    #[test]
    fn failed_conditions_are_reported_with_their_reason() {
        let status = json!([
            {"conditions": [{"type": "Operational", "status": "Failed", "reason": "no\u{1b}[2J route", "hostname": "ce01"},
                            {"type": "Validation", "status": "Success", "reason": ""}, 7]},
            {"conditions": null}, {}
        ]);
        let failed: Vec<_> = conditions(&status).into_iter().filter(Condition::is_failed).collect();
        assert_eq!(failed.len(), 1);
        assert_eq!(failed[0].to_string(), "Operational failed: no [2J route (ce01)");
        assert!(conditions(&Json::Null).is_empty());
    }
}
