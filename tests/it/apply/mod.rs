//! Apply, journal, resume and rollback over HTTP against the sandbox.

mod faults;
mod runs;
mod undo;
mod writers;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicI64, AtomicU32, Ordering};
use std::time::Duration;

use jiff::Timestamp;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::sync::watch;
use trueup::api::{self, BaseUrl, ClientSettings, Secret, Timing, Writer};
use trueup::apply::{self, ApplyOptions, PollPolicy};
use trueup::journal::{self, Journal, JournalError};
use trueup::model::{Clock, Key, Layout, ListRead, Live, LiveItem, Namespace, Object, RunId, Scope};
use trueup::plan::{self, Allowances, Approval, Ignore, Plan, PlanInput, RollbackInput, Selection, ServiceId};
use trueup::run::{ChangeResult, Outcome, RunEvent, RunHeader, RunObserver, RunRecord, RunTrigger};
use trueup::sandbox::{self, RequiredToken, Running, Storage};
use trueup::state::StateStore;

use crate::strategies;

const TOKEN: &str = "correct-horse";

struct Quiet;

impl RunObserver for Quiet {
    fn event(&self, _: RunEvent<'_>) {}
}

/// A sandbox, a state directory, and the runs made so far.
struct Bench {
    running: Running,
    writer: Writer,
    state: TempDir,
    runs: AtomicU32,
    stop: watch::Sender<bool>,
    concurrency: usize,
}

fn namespaces() -> BTreeSet<Namespace> {
    ["pay", "shop"].into_iter().map(|name| Namespace::parse(name).unwrap()).collect()
}

fn key(name: &str) -> Key {
    Key::parse(&format!("shop/{name}")).unwrap()
}

fn endpoint(name: &str, port: u16) -> Object {
    let text = json!({"metadata": {"name": name, "namespace": "shop"}, "spec": {"ip": "10.0.0.1", "port": port}});
    serde_json::from_value(text).unwrap()
}

fn endpoints(wanted: &[(&str, u16)]) -> Vec<Object> {
    wanted.iter().map(|(name, port)| endpoint(name, *port)).collect()
}

fn writer(running: &Running) -> Writer {
    let base_url = BaseUrl::parse(&running.base_url()).unwrap();
    let secret = Secret::new(TOKEN).unwrap();
    let mut settings = ClientSettings::new(base_url, Layout::Uniform, Some(secret), Timing::noted(|_| {}));
    settings.bounds.body = 64 * 1024;
    Writer::new(settings).unwrap()
}

impl Bench {
    async fn start() -> Self {
        let seconds = AtomicI64::new(1_764_663_926);
        let clock = Clock::new(move || Timestamp::new(seconds.fetch_add(1, Ordering::Relaxed), 0).unwrap());
        let options = sandbox::SandboxOptions::new(Storage::Memory, RequiredToken::new(TOKEN), clock);
        let running = sandbox::start(options).await.unwrap();
        let state = tempfile::tempdir().unwrap();
        let writer = writer(&running);
        Self { running, writer, state, runs: AtomicU32::new(0), stop: watch::channel(false).0, concurrency: 3 }
    }

    /// `c`, `d`, `e`, `f` are there; the plan creates `a`, `b`, changes `c`, `d`, deletes `e`, `f`.
    async fn with_plan() -> (Self, Plan) {
        let bench = Self::start().await;
        let outcome = bench.apply(bench.plan(endpoints(&[("c", 1), ("d", 1), ("e", 1), ("f", 1)])).await).await;
        assert!(all_done(&outcome), "{outcome:?}");
        let plan = bench.plan(endpoints(&[("a", 1), ("b", 1), ("c", 2), ("d", 2)])).await;
        (bench, plan)
    }

    async fn live(&self) -> Live {
        api::fetch(self.writer.reader(), namespaces().into_iter().map(Scope::endpoints)).await
    }

    /// Every endpoint that is there, with all its annotations.
    async fn endpoints(&self) -> BTreeMap<Key, Object> {
        let mut all = BTreeMap::new();
        for (scope, read) in self.live().await.lists {
            let ListRead::Complete { items } = read else { panic!("{scope} is unknown") };
            for (key, item) in items {
                let LiveItem::Object(live) = item else { panic!("{key} cannot be held") };
                all.insert(key, live.endpoint);
            }
        }
        all
    }

    async fn plan(&self, definitions: Vec<Object>) -> Plan {
        let live = self.live().await;
        let mut plan = plan::arrange(
            Plan {
                stack: Some("shop".to_owned()),
                service: ServiceId { base_url: self.running.base_url(), layout: Layout::Uniform },
                ..Plan::default()
            },
            PlanInput {
                desired: &strategies::desired(definitions),
                namespaces: &namespaces(),
                kinds: &BTreeSet::new(),
                ignore: &Ignore::default(),
                allow: &Allowances::default(),
                selection: &Selection::all(),
            },
            &live,
        );
        self.refer(&mut plan).await;
        plan
    }

    async fn refer(&self, plan: &mut Plan) {
        let mut known = BTreeMap::new();
        for key in plan.deletes() {
            let found = api::referrers(self.writer.reader(), key).await.unwrap();
            known.insert(key.clone(), found);
        }
        plan.refer(&Allowances::default(), |key| Ok(known[key].clone()));
    }

    fn state(&self) -> StateStore {
        StateStore::Directory(self.state.path().to_owned())
    }

    /// A header with a run that there was not before.
    fn header(&self, plan: &Plan) -> RunHeader {
        let number = self.runs.fetch_add(1, Ordering::Relaxed);
        RunHeader {
            run: RunId::new(&format!("run-{number:03}")).unwrap(),
            started: format!("2026-11-21T00:00:{:02}Z", number % 60),
            user: None,
            trigger: RunTrigger::default(),
            resumes: None,
            rolls_back: None,
            sandbox: None,
            in_force: None,
            plan: plan.clone(),
        }
    }

    fn options(&self, run: &RunId) -> ApplyOptions {
        ApplyOptions {
            run: run.clone(),
            concurrency: self.concurrency,
            stop: self.stop.subscribe(),
            version_checked: false,
            sealed: trueup::model::SealedSecrets::default(),
            ignore: Ignore::default(),
            poll_policy: PollPolicy { first: Duration::from_millis(1), whole: Duration::from_millis(3) },
            clock: Clock::new(|| Timestamp::UNIX_EPOCH),
            pace: Timing::noted(|_| {}),
        }
    }

    /// A process that another test starts has the files of all tests open until it runs its program: a lock may be held for
    /// a moment longer than its run.
    fn begin(&self, header: &RunHeader) -> Journal {
        for _ in 0..1000 {
            match Journal::begin(&self.state(), header, None, &|_| {}) {
                Err(JournalError::Locked { .. }) => std::thread::sleep(Duration::from_millis(1)),
                begun => return begun.unwrap(),
            }
        }
        panic!("the lock stays held");
    }

    async fn apply(&self, plan: Plan) -> Outcome {
        let header = self.header(&plan);
        let journal = self.begin(&header);
        let mut allow = Allowances::default();
        for guard in ["mass-change", "empty-namespace"] {
            allow.add(guard).unwrap();
        }
        let approved = plan.approve(Approval::Given, &allow).unwrap();
        apply::run(approved, &self.writer, &journal, &Quiet, self.options(&header.run)).await
    }

    async fn resume(&self, record: &RunRecord) -> Outcome {
        let header = RunHeader { resumes: Some(record.run().clone()), ..self.header(&record.header.plan) };
        let journal = self.begin(&header);
        apply::resume(record, &self.writer, &journal, &Quiet, self.options(&header.run)).await
    }

    fn record(&self, run: &RunId) -> RunRecord {
        journal::load(&self.state(), run).unwrap()
    }

    async fn rollback(&self, run: &RunId) -> Plan {
        let live = self.live().await;
        let mut plan = plan::rollback(RollbackInput {
            undone: &self.record(run).undone(),
            live: &live,
            definitions: &[],
            only: &|_| true,
            ignore: &Ignore::default(),
            allow: &Allowances::default(),
        });
        self.refer(&mut plan).await;
        plan
    }

    async fn interfere(&self, name: &str, field: &str, value: Value) {
        self.running.interfere("shop", name, field, &value).await.unwrap();
    }
}

fn all_done(outcome: &Outcome) -> bool {
    outcome.steps.iter().all(|step| step.result.is_done())
}

fn result<'o>(outcome: &'o Outcome, name: &str) -> &'o ChangeResult {
    &outcome.steps.iter().find(|step| step.key == key(name)).unwrap().result
}
