//! Reads what the service has: one list a namespace and kind, complete or unknown; one object before it is
//! replaced or deleted; who refers to it; what its status says.
//!
//! # Guarantees
//! A read is complete only when the answer was a good one, came whole, says of no error in it, and
//! every item has its key and its spec, in the list or in a get. Nothing is concluded from any other.
//!
//! # Caveats
//! The service answers the list of a namespace that does not exist with 200 and no items (API.md 1.4).

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

/// Objects that refer to one and are asked for their view: for more, the service would be asked for minutes.
const MOST_VIEWS: usize = 1_000;

/// Reads of a list of which an object went before its get.
const MOST_READS: usize = 2;

/// Lists without an answer after which others are asked for, however few may be asked for at a time.
const FEW: usize = 4;

/// Items of a list that are read singly.
const MOST_SINGLY: usize = 100;

/// Reads these lists, at the same time as far as the client's limits allow.
pub async fn fetch(reader: &Reader, scopes: impl IntoIterator<Item = Scope>) -> Live {
    PendingLists::of(reader.clone()).and(scopes).live().await
}

/// Lists that are on their way; to let go of them ends them.
#[derive(Debug)]
pub struct PendingLists {
    reader: Reader,
    before: u64,
    asked: BTreeSet<Scope>,
    waiting: VecDeque<Scope>,
    lists: JoinSet<(Scope, Result<ListRead, Unanswered>)>,
    /// Of each of the last lists, if they had no answer.
    unanswered: Vec<Unanswered>,
    /// Kinds of which objects were listed.
    offered: BTreeSet<KindName>,
    /// Lists of kinds that the service does not know.
    not_offered: Vec<Scope>,
}

/// Why a list had no answer, after all repeats.
type Unanswered = String;

impl PendingLists {
    /// None yet.
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

    /// Asks for these lists, as far as that was not done yet.
    #[must_use]
    pub fn and(mut self, scopes: impl IntoIterator<Item = Scope>) -> Self {
        let new: Vec<Scope> = scopes.into_iter().filter(|scope| !self.asked.contains(scope)).collect();
        self.asked.extend(new.iter().cloned());
        self.waiting.extend(new);
        self.report();
        self.ask();
        self
    }

    /// Asks for as many as may be held at a time, and for none where as many had no answer: each takes all of its repeats.
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

    /// The next list that was read, whichever that is, those that the service does not offer last. As many are read ahead as
    /// requests may be sent at the same time, so that a tenant of many namespaces is never held whole.
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
            // One cause, as of those that were asked for.
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

    /// The client that asks.
    pub fn reader(&self) -> &Reader {
        &self.reader
    }

    /// Requests that were sent so far.
    pub fn requests(&self) -> u64 {
        lists_sent(&self.reader) - self.before
    }

    /// What came of all of them.
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

/// Whether a failed list says that the service has no objects of this kind there. Every service has endpoints: there it is
/// the wrong address.
pub(super) fn is_not_offered(kind: KindName, error: &ApiError) -> bool {
    !kind.is_endpoint() && error.is_unknown_to_service()
}

/// What `read` makes of a list, and where it cannot, of the list with what gets show of the items that lack their spec.
/// Inside: why nothing is concluded from it.
///
/// # Errors
/// Any failure of the list.
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

/// Why a list is not completed.
enum Incomplete {
    /// A get says that this object of it is not there.
    Went(Key),
    /// Too many lack their spec, or one of them cannot be read: why, as a fragment.
    Unread(String),
}

/// The list with the specs that it lacks; nothing where it lacks none.
async fn completed(reader: &Reader, scope: &Scope, body: &[u8]) -> Result<Option<Vec<u8>>, Incomplete> {
    let unread = |why: String| Err(Incomplete::Unread(why));
    let items = without_spec(scope, body);
    match items.iter().filter(|(_, lacking)| lacking.is_some()).count() {
        0 => return Ok(None),
        count if count > MOST_SINGLY => return unread(format!("and {count} are too many to be read singly")),
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
    // It may be long, and others come meanwhile.
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

/// Reads one endpoint whole.
///
/// # Errors
/// Every answer but the object and that there is none.
pub async fn fetch_object(reader: &Reader, key: &Key) -> Result<CurrentState, ApiError> {
    match reader.object(key, ResponseFormat::Default).await {
        Ok(answer) => CurrentState::read(key, answer.body()).map_err(|reason| answer.unreadable(reason)),
        Err(error) if error.is_absent() => Ok(CurrentState::Absent),
        Err(error) => Err(error),
    }
}

/// Who refers to the endpoint `key`. An endpoint that is not there has no referrers.
///
/// # Errors
/// Whatever else the answer was, an answer that does not say included.
pub async fn referrers(reader: &Reader, key: &Key) -> Result<Vec<RelatedObject>, ApiError> {
    match reader.object(key, ResponseFormat::ReferringObjects).await {
        Ok(answer) => read_referrers(serde_json::from_slice(answer.body())).map_err(|reason| answer.unreadable(reason)),
        // A service without this format may say so as well.
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

/// [`referrers`], where those that the service made of a view count as the view: what is done about it is done there.
///
/// # Errors
/// As [`referrers`].
pub async fn referring_views(reader: &Reader, key: &Key) -> Result<Vec<RelatedObject>, ApiError> {
    let found = referrers(reader, key).await?;
    // Only what is no endpoint is referred to by what the service makes of a view.
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
    // Not filled is not empty: a service without this format would let every delete pass.
    let mut objects = answer.referring_objects.ok_or("it does not say who refers to the object")?;
    objects.iter_mut().for_each(|object| object.uid.clear());
    Ok(objects)
}

/// A condition in the status of an endpoint (API.md 1.2).
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Condition {
    /// `Validation` or `Operational`.
    #[serde(rename = "type")]
    pub kind: Option<String>,
    /// `Success`, `Failed`, `Incomplete`, `Installed`, `Down`, `Disabled`, `NotApplicable`.
    pub status: Option<String>,
    /// Why.
    pub reason: Option<String>,
    /// Where it was seen.
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

/// The conditions of a `status` or `status_set`; what does not look like one is passed over.
pub fn conditions(status: &Json) -> Vec<Condition> {
    let entries = status.as_array().map(Vec::as_slice).unwrap_or_default();
    let lists = entries.iter().filter_map(|entry| entry.get("conditions")?.as_array());
    lists.flatten().filter_map(|condition| Condition::deserialize(condition).ok()).collect()
}

/// Reads a list as [`fetch`] does, and returns what `check` made of each item, or why the list is unknown; and the
/// failed conditions of its objects: one request. Conditions are notes, no verdict: what cannot be read of them is left out.
///
/// # Errors
/// Why the list is unknown.
///
/// # Caveats
/// It blocks the thread while it reads the list, on all processors, so that `check` may borrow.
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
    // Nearly always nothing failed, and a second reading of a long list takes time.
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

/// Whether the word occurs, in any case.
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
