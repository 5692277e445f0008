//! Somebody else writes while plans are applied. What they wrote stays, unless a plan saw it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::{Duration, Instant};

use fastrand::Rng;
use serde_json::Value;
use tokio::sync::watch;
use trueup::api::{BaseUrl, ClientSettings, Secret, Timing, Writer};
use trueup::model::{Clock, Key, Layout};
use trueup::run::ChangeResult;
use trueup::sandbox::{self, LogEntry, RequestEffect, RequiredToken, Storage};

use super::{Bench, TOKEN, endpoint};

const ENDPOINTS: usize = 100;
const WRITERS: usize = 4;

async fn bench() -> Bench {
    let clock = Clock::new(jiff::Timestamp::now);
    let mut options = sandbox::SandboxOptions::new(Storage::Memory, RequiredToken::new(TOKEN), clock);
    options.log_size = 10_000_000;
    let running = sandbox::start(options).await.unwrap();
    let base_url = BaseUrl::parse(&running.base_url()).unwrap();
    let settings =
        ClientSettings::new(base_url, Layout::Uniform, Some(Secret::new(TOKEN).unwrap()), Timing::noted(|_| {}));
    let writer = Writer::new(ClientSettings { rate: None, ..settings }).unwrap();
    let state = tempfile::tempdir().unwrap();
    Bench { running, writer, state, runs: AtomicU32::new(0), stop: watch::channel(false).0, concurrency: 8 }
}

/// Reads, changes and writes back, as a careful hand would; counts the writes that were taken.
async fn write(number: usize, url: String, stop: Arc<AtomicBool>) -> Vec<u64> {
    let client = crate::sandbox::client();
    let mut random = Rng::with_seed(u64::try_from(number).unwrap());
    let mut taken = vec![0; ENDPOINTS];
    let mine = format!("writer-{number}");
    while !stop.load(Ordering::Relaxed) {
        let at = random.usize(0..ENDPOINTS);
        let url = format!("{url}/api/config/namespaces/shop/endpoints/e{at}");
        let token = format!("APIToken {TOKEN}");
        let answer = client.get(&url).header("Authorization", &token).send().await.unwrap();
        let mut object: Value = serde_json::from_slice(&answer.bytes().await.unwrap()).unwrap();
        object["metadata"]["annotations"][&mine] = (taken[at] + 1).to_string().into();
        if number % 2 == 1 {
            // A field that the definitions hold otherwise: plans put it back, or are refused.
            object["spec"]["health_check_port"] = random.u16(1..9).into();
        }
        let answer = client.put(&url).header("Authorization", &token).body(object.to_string()).send().await.unwrap();
        match answer.status().as_u16() {
            200 => taken[at] += 1,
            status => assert!((400..500).contains(&status), "{status}"),
        }
    }
    taken
}

/// No write that was taken began from another version than the one it replaced.
fn unseen(log: &[LogEntry]) -> Vec<&LogEntry> {
    let mut versions = std::collections::BTreeMap::new();
    let mut unseen = Vec::new();
    // The log is in the order of the answers; the versions are in that of the writes.
    let mut done: Vec<(u64, &LogEntry)> = log
        .iter()
        .filter(|entry| entry.effect == RequestEffect::Done)
        .map(|entry| (entry.version.as_deref().unwrap().parse().unwrap(), entry))
        .collect();
    done.sort_by_key(|(version, _)| *version);
    for (_, entry) in done {
        let held = versions.insert(&entry.name, &entry.version);
        if entry.method == "PUT" && held != Some(&entry.version_sent) {
            unseen.push(entry);
        }
    }
    unseen
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_accepted_replace_overwrites_a_change_that_it_did_not_see() {
    let long = std::env::var_os("TRUEUP_TORTURE").is_some();
    let bench = bench().await;
    let wanted = |port| (0..ENDPOINTS).map(move |at| endpoint(&format!("e{at}"), port)).collect::<Vec<_>>();
    bench.apply(bench.plan(wanted(1)).await).await;
    let stop = Arc::new(AtomicBool::new(false));
    let writers: Vec<_> =
        (0..WRITERS).map(|number| tokio::spawn(write(number, bench.running.base_url(), Arc::clone(&stop)))).collect();
    let begun = Instant::now();
    let (mut rounds, mut replaced, mut conflicts) = (0, 0, 0);
    while rounds < 6 || (long && begun.elapsed() < Duration::from_mins(1)) {
        rounds += 1;
        let outcome = bench.apply(bench.plan(wanted(1 + rounds % 60_000)).await).await;
        replaced += outcome.steps.iter().filter(|step| matches!(step.result, ChangeResult::Done { .. })).count();
        conflicts += outcome.steps.iter().filter(|step| matches!(step.result, ChangeResult::Conflict(_))).count();
    }
    stop.store(true, Ordering::Relaxed);
    let mut taken = Vec::new();
    for writer in writers {
        taken.push(writer.await.unwrap());
    }
    let log = bench.running.log();
    assert_eq!(unseen(&log), Vec::<&LogEntry>::new());
    let live = bench.endpoints().await;
    for (number, taken) in taken.iter().enumerate() {
        for (at, taken) in taken.iter().enumerate().filter(|(_, taken)| **taken > 0) {
            let annotations = &live[&Key::parse(&format!("shop/e{at}")).unwrap()].annotations;
            let kept = annotations.get(&format!("writer-{number}"));
            assert_eq!(kept, Some(&taken.to_string()), "a write of writer {number} to e{at} was lost");
        }
    }
    let theirs: u64 = taken.iter().flatten().sum();
    let refused = log.iter().filter(|entry| entry.method == "PUT" && entry.effect == RequestEffect::None).count();
    assert!(theirs > 0 && replaced > 0, "{theirs} {replaced}");
    println!(
        "{rounds} plans in {:?}: {replaced} replaces made, {conflicts} conflicts, {theirs} writes of others, \
         {refused} writes refused by version; overwritten unseen: 0",
        begun.elapsed()
    );
}
