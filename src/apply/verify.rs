//! The verification: reads applied objects until nothing differs or the poll policy ends. It finds what the service
//! drops while it answers with success, reads that lag, and deletes that take time.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use super::ApplyOptions;
use super::service::ObjectService;
use super::target_state::TargetState;
use crate::model::{Field, Key, LiveItem, Scope, gathered};
use crate::plan::{Action, Change, Plan};
use crate::run::{ChangeStep, RunEvent, RunObserver, Verification};

/// Reads until every applied change shows, and returns the applied objects that the service reports as failed.
pub(super) async fn verify<S: ObjectService, O: RunObserver>(
    plan: &Plan,
    steps: &BTreeMap<&Key, ChangeStep>,
    service: &S,
    observer: &O,
    options: &ApplyOptions,
) -> (Verification, Vec<(Key, String)>) {
    let is_done = |change: &&Change| steps.get(&change.key).is_some_and(|step| step.result.is_done());
    let mut left: Vec<(&Change, Vec<Field>)> =
        plan.changes.iter().filter(is_done).map(|change| (change, Vec::new())).collect();
    let applied: BTreeSet<&Key> = left.iter().map(|(change, _)| &change.key).collect();
    let mut failed = BTreeMap::new();
    let mut unread = None;
    let (mut waited, mut wait) = (Duration::ZERO, options.poll_policy.first);
    let mut looks = 0;
    loop {
        looks += 1;
        observer.event(RunEvent::Verifying { read: looks });
        (left, unread) = again(left, &mut failed, service, options, unread).await;
        let is_over = waited >= options.poll_policy.whole || wait.is_zero();
        if (left.is_empty() && unread.is_none()) || is_over {
            break;
        }
        let next = wait.min(options.poll_policy.whole.saturating_sub(waited));
        options.pace.wait(next).await;
        (waited, wait) = (waited + next, wait * 2);
    }
    let verification = match (unread, left.is_empty()) {
        (Some(reason), _) => Verification::Unknown { reason },
        (None, true) => Verification::Verified { reads: looks },
        (None, false) => Verification::Differs {
            left: left.into_iter().map(|(change, fields)| (change.key.clone(), fields)).collect(),
        },
    };
    let unhealthy = failed.into_iter().filter(|(key, _)| applied.contains(key)).collect();
    (verification, unhealthy)
}

/// Reads the objects of all remaining changes once and returns those that still differ; `failed` gets the latest health
/// error of each object.
async fn again<'p, S: ObjectService>(
    left: Vec<(&'p Change, Vec<Field>)>,
    failed: &mut BTreeMap<Key, String>,
    service: &S,
    options: &ApplyOptions,
    mut unread: Option<String>,
) -> (Vec<(&'p Change, Vec<Field>)>, Option<String>) {
    let of = left.into_iter().map(|entry| (Scope::from(&entry.0.key), entry));
    let of: BTreeMap<Scope, Vec<_>> = gathered(of);
    let mut still = Vec::new();
    if !of.is_empty() {
        unread = None;
    }
    let lists = of.into_iter().map(async |(scope, changes)| {
        let of: BTreeMap<&Key, &Change> = changes.iter().map(|(change, _)| (&change.key, *change)).collect();
        let check = |item: LiveItem| differs(of.get(item.key())?, Some(&item), options);
        let checked = service.check(&scope, check).await;
        (scope, changes, checked)
    });
    for (scope, changes, checked) in futures_util::future::join_all(lists).await {
        failed.retain(|key, _| !scope.contains(key));
        match checked {
            Err(reason) => {
                unread = Some(reason);
                still.extend(changes);
            }
            Ok((mut items, unhealthy)) => {
                failed.extend(unhealthy);
                still.extend(changes.into_iter().filter_map(|(change, _)| {
                    let fields = items.remove(&change.key).unwrap_or_else(|| differs(change, None, options));
                    Some((change, fields?))
                }));
            }
        }
    }
    (still, unread)
}

/// The fields in which an applied change does not show; `None` if it is complete.
fn differs(change: &Change, item: Option<&LiveItem>, options: &ApplyOptions) -> Option<Vec<Field>> {
    let live = match item {
        Some(LiveItem::Object(live)) => Some(live),
        Some(LiveItem::Unsupported(_)) => return Some(Vec::new()),
        None => None,
    };
    if let Action::Delete { before, .. } = &change.action {
        let there = live.is_some_and(|live| live.uid == before.uid && !live.deleting);
        return there.then(Vec::new);
    }
    let Some(live) = live else { return Some(Vec::new()) };
    let target = TargetState::new(change, &options.run, options.ignore.fields(&change.key)).ok()?;
    if target.is_met(&live.endpoint) {
        return None;
    }
    if target.is_as_written(&live.endpoint) {
        return Some(target.kept(&live.endpoint).cloned().collect());
    }
    let mut fields = target.wanted.as_ref().map(|wanted| target.moved(wanted, &live.endpoint)).unwrap_or_default();
    if fields.len() > 1 {
        // Ownership annotations that differ only by their run are not reported beside other fields.
        fields.retain(|field| !target.is_only_run(field, &live.endpoint));
    }
    Some(fields.into_iter().collect())
}
