//! A service in memory, and those who keep and watch a run.

use super::*;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fault {
    /// Cut before it arrived.
    CutBefore,
    /// Done, and the answer lost.
    CutAfter,
    /// A status, and nothing done.
    Status(u16),
    /// A status, although it was done.
    StatusAfter(u16),
    /// A good status with a body that is not the promised one, and nothing done.
    Odd,
    /// The same, although it was done.
    OddAfter,
    /// A gateway sends it twice, and the answer is that to the second.
    Twice,
    /// No connection.
    NoConnection,
    /// Another client changes the object just before.
    Meddle,
    /// Another client changes something of it just before that the plan does not look at.
    Annotate,
    /// What `State::act` does happens just before.
    Act,
    /// A person interrupts the run just before.
    Interrupt,
    /// The process dies before the request leaves.
    KillBefore,
    /// The process dies when the request was done.
    KillAfter,
}

#[derive(Debug, Clone)]
pub(super) struct Stored {
    pub(super) raw: Json,
    pub(super) uid: u64,
    pub(super) version: u64,
    /// What answers show of it, until it is written: a place and its JSON.
    pub(super) shown: Option<Shown>,
}

pub(super) type Shown = (&'static str, &'static str);

pub(super) const UNSUPPORTED: Shown = ("/spec", r#""of a newer service""#);
pub(super) const UNVERSIONED: Shown = ("/resource_version", "null");
pub(super) const OWNED: Shown =
    ("/system_metadata/owner_view", r#"{"kind": "http_loadbalancer", "namespace": "shop", "name": "lb", "uid": "7"}"#);
pub(super) const DELETING: Shown = ("/system_metadata/deletion_timestamp", r#""2026-11-25T08:00:00Z""#);

impl Stored {
    pub(super) fn new(raw: Json, number: u64) -> Self {
        Self { raw, uid: number, version: number, shown: None }
    }

    pub(super) fn shown(self, shown: Shown) -> Self {
        Self { shown: Some(shown), ..self }
    }
}

/// One request as the service saw it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Seen1 {
    pub(super) what: &'static str,
    pub(super) key: String,
    /// It changed something.
    pub(super) done: bool,
}

#[derive(Default, Clone)]
pub(super) struct State {
    pub(super) objects: BTreeMap<Key, Stored>,
    pub(super) next: u64,
    pub(super) log: Vec<Seen1>,
    /// The fault of the request with this number, from 0.
    pub(super) faults: BTreeMap<usize, Fault>,
    pub(super) referrers: BTreeMap<Key, Vec<RelatedObject>>,
    /// Fields of the spec that a write silently loses.
    pub(super) drops: Option<&'static str>,
    /// A wrong version is refused.
    pub(super) checks: bool,
    pub(super) failed: Vec<(Key, String)>,
    /// What gets show of an object once a write of it was sent, and for how many further gets.
    pub(super) lags: BTreeMap<Key, (Lag, usize)>,
    /// The objects as they were when the run began.
    pub(super) old: BTreeMap<Key, Stored>,
    /// The faults of the writes of an object, in order; a write without one here has that of its number.
    pub(super) of_writes: BTreeMap<Key, VecDeque<Option<Fault>>>,
    /// A write of these was sent.
    pub(super) written: BTreeSet<Key>,
    pub(super) killed: bool,
    pub(super) act: Option<fn(&mut State)>,
    /// Gets that still show an object after its delete, as one that is being deleted.
    pub(super) deletes_take: usize,
}

pub(super) struct Fake {
    pub(super) state: Mutex<State>,
    pub(super) stop: watch::Sender<bool>,
    /// What happens in waits.
    pub(super) script: Arc<Script>,
}

pub(super) fn error(operation: Operation, failure: Failure) -> ApiError {
    ApiError { operation, subject: "endpoint".to_owned(), failure, request_id: None }
}

pub(super) fn status(code: u16) -> Failure {
    let grpc = match code {
        404 => Some(5),
        409 => Some(6),
        _ => None,
    };
    Failure::Status(Box::new(ErrorStatus { status: code, code: grpc, ..ErrorStatus::default() }))
}

pub(super) fn cut() -> Failure {
    Failure::Cut("cut".to_owned())
}

pub(super) fn odd() -> Failure {
    Failure::Odd("with an error in the body".to_owned())
}

/// What reads show of an object for a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Lag {
    /// It as it was when the run began.
    Old,
    /// That it is not there.
    Gone,
    /// An object of the same name that another client created.
    Another,
    /// It, or one that another client created, in a form that the model does not support.
    Unsupported,
}

impl State {
    /// What a read shows: the truth, or what it is made to show for so many further reads.
    pub(super) fn seen(&mut self, key: &Key) -> Option<Stored> {
        let truth = self.objects.get(key).cloned();
        let Some((lag, left)) = self.lags.get_mut(key).filter(|(_, left)| *left > 0) else { return truth };
        *left -= 1;
        match lag {
            Lag::Old => self.old.get(key).cloned(),
            Lag::Gone => None,
            Lag::Unsupported => {
                let new = || Stored::new(json!({"metadata": {"name": key.name, "namespace": key.namespace}}), 901);
                Some(truth.unwrap_or_else(new).shown(UNSUPPORTED))
            }
            Lag::Another => {
                let metadata = json!({"name": key.name, "namespace": key.namespace, "description": "another"});
                Some(Stored::new(json!({"metadata": metadata, "spec": {"ip": "10.9.9.9"}}), 900))
            }
        }
    }

    pub(super) fn put(&mut self, key: &Key, body: &Json, uid: Option<u64>) {
        self.next += 1;
        let mut raw = json!({"metadata": body["metadata"], "spec": body["spec"]});
        if let Some(field) = self.drops
            && let Some(spec) = raw["spec"].as_object_mut()
        {
            spec.remove(field);
        }
        let uid = uid.unwrap_or(self.next);
        self.objects.insert(key.clone(), Stored { uid, ..Stored::new(raw, self.next) });
    }

    /// What a get of the object answers: with the nulls of the service (API.md 1.2, 3.1).
    pub(super) fn answer(object: &Stored) -> Json {
        let mut spec = object.raw["spec"].clone();
        for unset in ["where", "snat_pool"] {
            if spec.get(unset).is_none() {
                spec[unset] = Json::Null;
            }
        }
        let mut answer = json!({
            "create_form": null, "replace_form": null, "resource_version": object.version.to_string(),
            "metadata": object.raw["metadata"], "spec": spec,
            "system_metadata": {"uid": object.uid.to_string(), "deletion_timestamp": null, "owner_view": null},
        });
        if let Some((place, value)) = object.shown {
            *answer.pointer_mut(place).expect("a place") = serde_json::from_str(value).expect("JSON");
        }
        answer
    }

    pub(super) fn live(object: &Stored) -> LiveObject {
        Self::current(object).object().expect("the model supports it").live.clone()
    }

    fn current(object: &Stored) -> CurrentState {
        let answer = Self::answer(object);
        let text = |key: &str| answer["metadata"][key].as_str().expect("a text").to_owned();
        let key = Key::parse(&format!("{}/{}", text("namespace"), text("name"))).expect("a key");
        CurrentState::read(&key, answer.to_string().as_bytes()).expect("an answer")
    }

    pub(super) fn write(&mut self, key: &Key, request: &WriteRequest) -> Result<(), u16> {
        let null = request.body().and_then(|body| null_of(&body.read().expect("JSON"), ""));
        assert_eq!(null, None, "a null was sent for {key}");
        match request {
            WriteRequest::Create { body } => {
                if self.objects.contains_key(key) {
                    return Err(409);
                }
                self.put(key, &body.read().expect("an object"), None);
            }
            WriteRequest::Replace { body } => {
                let Some(object) = self.objects.get(key).cloned() else { return Err(404) };
                let body: Json = body.read().expect("an object");
                if self.checks && body["resource_version"] != json!(object.version.to_string()) {
                    return Err(409);
                }
                self.put(key, &body, Some(object.uid));
            }
            WriteRequest::Delete { .. } => {
                let gone = self.objects.remove(key).ok_or(404u16)?;
                if self.deletes_take > 0 {
                    self.old.insert(key.clone(), gone.shown(DELETING));
                    self.lags.insert(key.clone(), (Lag::Old, self.deletes_take));
                }
            }
        }
        Ok(())
    }

    pub(super) fn annotate(&mut self, key: &Key) {
        if let Some(Stored { raw: mut body, uid, version, .. }) = self.objects.get(key).cloned() {
            body["metadata"]["annotations"]["theirs"] = version.to_string().into();
            self.put(key, &body, Some(uid));
        }
    }

    pub(super) fn meddle(&mut self, key: &Key) {
        if let Some(object) = self.objects.get(key).cloned() {
            let mut body = object.raw;
            body["metadata"]["description"] = json!("meddled");
            self.put(key, &body, Some(object.uid));
        } else {
            let (namespace, name) = (&key.namespace, &key.name);
            let body = json!({"metadata": {"name": name, "namespace": namespace}, "spec": {"ip": "10.9.9.9"}});
            self.put(key, &body, None);
        }
    }
}

impl Fake {
    /// One request: what it does is done unless a fault comes before.
    pub(super) fn request<T>(
        &self,
        operation: Operation,
        what: &'static str,
        key: &Key,
        act: impl Fn(&mut State) -> Result<T, u16>,
    ) -> Result<T, ApiError> {
        let mut state = self.state.lock().expect("unpoisoned");
        self.script.happen(&mut state);
        let of_write = state.of_writes.get_mut(key).filter(|_| matches!(what, "POST" | "PUT" | "DELETE"));
        let of_write = of_write.and_then(VecDeque::pop_front);
        let fault = of_write.unwrap_or_else(|| state.faults.get(&state.log.len()).copied());
        if state.killed || fault == Some(Fault::KillBefore) {
            state.killed = true;
            drop(state);
            self.stop.send_replace(true);
            return Err(error(operation, cut()));
        }
        let log = |state: &mut State, done| state.log.push(Seen1 { what, key: key.to_string(), done });
        let early = match fault {
            Some(Fault::CutBefore) => Some(cut()),
            Some(Fault::Odd) => Some(odd()),
            Some(Fault::NoConnection) => Some(Failure::Connect(String::new())),
            Some(Fault::Status(code)) => Some(status(code)),
            Some(Fault::Meddle) => {
                state.meddle(key);
                None
            }
            Some(Fault::Annotate) => {
                state.annotate(key);
                None
            }
            Some(Fault::Act) => {
                state.act.expect("something to do")(&mut state);
                None
            }
            Some(Fault::Interrupt) => {
                self.stop.send_replace(true);
                None
            }
            _ => None,
        };
        if let Some(failure) = early {
            log(&mut state, false);
            return Err(error(operation, failure));
        }
        let result = act(&mut state);
        log(&mut state, result.is_ok());
        match fault {
            Some(Fault::Twice) => act(&mut state).map_err(|code| error(operation, status(code))),
            Some(Fault::CutAfter) => Err(error(operation, cut())),
            Some(Fault::OddAfter) => Err(error(operation, odd())),
            Some(Fault::StatusAfter(code)) => Err(error(operation, status(code))),
            Some(Fault::KillAfter) => {
                state.killed = true;
                self.stop.send_replace(true);
                Err(error(operation, cut()))
            }
            _ => result.map_err(|code| error(operation, status(code))),
        }
    }
}

/// A turn of the fake.
pub(super) struct FakeTurn<'a>(&'a Fake);

impl ObjectService for Fake {
    type Turn<'a> = FakeTurn<'a>;

    async fn turn(&self, _: u32) -> FakeTurn<'_> {
        self.script.waits(Wait::Turn);
        FakeTurn(self)
    }

    fn has_room(&self) -> bool {
        true
    }

    async fn check<T: Send>(&self, scope: &Scope, check: impl Fn(LiveItem) -> T + Send + Sync) -> CheckedNamespace<T> {
        let list =
            self.request(Operation::ObjectList, "LIST", &key("list"), |state| Ok(items(state, &scope.namespace)));
        let items = list.map_err(|error| error.to_string())?;
        let items = items.into_iter().map(|(key, item)| (key, check(item))).collect();
        Ok((items, self.state.lock().expect("unpoisoned").failed.iter().cloned().collect()))
    }

    fn request_id(&self) -> String {
        format!("request-{}", self.state.lock().expect("unpoisoned").log.len())
    }

    fn requests(&self) -> u64 {
        self.state.lock().expect("unpoisoned").log.len() as u64
    }
}

impl WriteTurn for FakeTurn<'_> {
    async fn read(&self, key: &Key) -> Result<CurrentState, ApiError> {
        let answer = self.0.request(Operation::ObjectGet, "GET", key, |state| {
            let seen = if state.written.contains(key) { state.seen(key) } else { state.objects.get(key).cloned() };
            Ok(seen.map_or(CurrentState::Absent, |object| State::current(&object)))
        });
        self.0.script.waits(Wait::Answer);
        answer
    }

    async fn referrers(&self, key: &Key) -> Result<Vec<RelatedObject>, ApiError> {
        let answer = self.0.request(Operation::ObjectGet, "REFERRERS", key, |state| {
            Ok(state.referrers.get(key).cloned().unwrap_or_default())
        });
        self.0.script.waits(Wait::Answer);
        answer
    }

    async fn send(self, write: &Intent, departure: WriteDeparture<'_>) -> Result<(), WriteFailure> {
        let Intent { key, request, .. } = write;
        let (operation, what) = match request {
            WriteRequest::Create { .. } => (Operation::ObjectCreate, "POST"),
            WriteRequest::Replace { .. } => (Operation::ObjectReplace, "PUT"),
            WriteRequest::Delete { .. } => (Operation::ObjectDelete, "DELETE"),
        };
        self.0.script.waits(Wait::Connection);
        if !(departure.clearance)() {
            return Err(WriteFailure { error: error(operation, Failure::NotCleared), again: None });
        }
        self.0.state.lock().expect("unpoisoned").written.insert(key.clone());
        let sent = self.0.request(operation, what, key, |state| state.write(key, request));
        sent.map_err(|error| {
            let again = decide(RetryClass::Write, &error.failure, departure.tried, 1.0);
            *departure.tried = departure.tried.and(&error.failure);
            WriteFailure { error, again }
        })
    }
}

/// The first `null` in a body, by its path.
fn null_of(value: &Json, path: &str) -> Option<String> {
    match value {
        Json::Null => Some(path.to_owned()),
        Json::Array(items) => items.iter().find_map(|item| null_of(item, &format!("{path}[]"))),
        Json::Object(map) => map.iter().find_map(|(key, value)| null_of(value, &format!("{path}.{key}"))),
        _ => None,
    }
}

pub(super) fn items(state: &State, namespace: &Namespace) -> BTreeMap<Key, LiveItem> {
    let of = state.objects.iter().filter(|(key, _)| key.namespace == *namespace);
    let item = |key: &Key, object: &Stored| match State::current(object) {
        CurrentState::Unsupported(reason) => {
            LiveItem::Unsupported(UnsupportedItem { key: key.clone(), reason, raw: object.raw.clone() })
        }
        _ => LiveItem::Object(State::live(object)),
    };
    of.map(|(key, object)| (key.clone(), item(key, object))).collect()
}

pub(super) fn key(name: &str) -> Key {
    Key::parse(&format!("shop/{name}")).expect("a key")
}

pub(super) fn endpoint(name: &str, port: u16) -> Object {
    let text = json!({"metadata": {"name": name, "namespace": "shop"}, "spec": {"ip": "10.0.0.1", "port": port}});
    serde_json::from_value(text).expect("an endpoint")
}

/// Keeps what is recorded, or fails after so many intents.
#[derive(Default)]
pub(super) struct Kept1 {
    pub(super) kept: Mutex<Vec<RunEntry>>,
    pub(super) closing: Mutex<Option<RunClosing>>,
    pub(super) full_after: Option<usize>,
    pub(super) script: Arc<Script>,
}

#[derive(Debug, thiserror::Error)]
#[error("the disk is full")]
pub(super) struct Full;

impl RunRecorder for Kept1 {
    type Error = Full;
    async fn intent(&self, intent: &Intent, _: Urgency) -> Result<(), Full> {
        self.script.waits(Wait::Journal);
        let mut kept = self.kept.lock().expect("unpoisoned");
        let intents = kept.iter().filter(|kept| matches!(kept, RunEntry::Intent(_))).count();
        if self.full_after.is_some_and(|most| intents >= most) {
            return Err(Full);
        }
        kept.push(RunEntry::Intent(intent.clone()));
        Ok(())
    }
    fn permits(&self) -> Result<(), Full> {
        if self.script.is_lock_lost() { Err(Full) } else { Ok(()) }
    }
    async fn outcome(&self, step: &ChangeStep) -> Result<(), Full> {
        self.kept.lock().expect("unpoisoned").push(RunEntry::Outcome(step.clone()));
        Ok(())
    }
    async fn close(&self, closing: RunClosing) -> Result<(), Full> {
        *self.closing.lock().expect("unpoisoned") = Some(closing);
        Ok(())
    }
}

pub(super) struct Quiet;

impl RunObserver for Quiet {
    fn event(&self, _: RunEvent<'_>) {}
}
