//! What a rehearsal needs: a copy of live as seeds of an embedded service, the faults to inject, and a
//! recorder that stores nothing, because a rehearsal is never resumed.

use std::convert::Infallible;

use crate::cli::prelude::*;
use crate::cli::{CommandResult as _, ExitStatus, Result};
use crate::model::{Json, Name, RelatedObject, Snapshot, SnapshotItem};
use crate::plan::{Action, BlockReason};
use crate::run::{ChangeStep, Intent, RunClosing, RunRecorder, Urgency};
use crate::sandbox::{self, Scenario, Seed, SeedMetadata, ViewReference};

/// The faults of an ordinary bad day: answers that are lost after the work was done, overload, rate limiting, a
/// truncated list. None of them may keep a run from finishing.
const ROUGH: &str = "
rules:
  - {operation: '*-create', every: 4, cut: after}
  - {operation: '*-replace', every: 4, cut: after}
  - {operation: '*-delete', every: 2, cut: after}
  - {operation: '*-create', after: 1, every: 6, status: {code: 503}}
  - {operation: '*-replace', after: 1, every: 6, status: {code: 503, effect: done}}
  - {operation: '*-replace', after: 2, every: 9, cut: before}
  - {operation: '*-get', every: 5, status: {code: 429, retry_after: 1}}
  - {operation: '*-list', for: 1, truncate: {}}
";

/// The scenario of `--faults`: none, the one that is built in, or that of a file.
///
/// # Errors
/// A file without a scenario.
pub fn scenario(faults: &str) -> Result<Scenario> {
    let read = match faults {
        "none" => return Ok(Scenario::default()),
        "rough" => Scenario::parse(ROUGH),
        path => Scenario::read(Path::new(path)),
    };
    read.with_status(ExitStatus::Invalid).hint("docs/sandbox.md describes scenarios; or use --faults rough")
}

/// The copy of the snapshot, with the objects outside of it that refer to those that the plan deletes.
pub fn seeds(snapshot: &Snapshot, plan: &Plan) -> Vec<Seed> {
    let (referrers, kinds) = (referrers(plan), snapshot.kinds());
    // Objects in the copy drop their references as they would in the service, so list only the others.
    let is_kept = |key: &Key| kinds.contains(&key.kind) && snapshot.namespaces.contains_key(&key.namespace);
    let is_elsewhere = |object: &&RelatedObject| object.key().is_none_or(|key| !is_kept(&key));
    let of = |namespace: &Namespace, kind: KindName, item: &SnapshotItem| {
        let item = &item.json();
        let name = Name::from_service(part(item, "name")?).ok()?;
        let key = Key { namespace: namespace.clone(), kind, name };
        let referrers = referrers.get(&key).copied().unwrap_or_default();
        Some(seed(item, &key, referrers.iter().filter(is_elsewhere)))
    };
    let mut seeds = Vec::with_capacity(snapshot.len());
    for (namespace, kept) in &snapshot.namespaces {
        for kind in &kinds {
            let items = kept.items(*kind).flatten().unwrap_or_default();
            seeds.extend(items.iter().filter_map(|item| of(namespace, *kind, item)));
        }
    }
    seeds
}

fn part<'a>(item: &'a Json, name: &str) -> Option<&'a str> {
    let direct = item.get(name).and_then(Json::as_str).filter(|text| !text.is_empty());
    direct.or_else(|| item.get("metadata")?.get(name)?.as_str())
}

/// Who refers to each object that the plan deletes, or whose delete it blocks for that reason.
fn referrers(plan: &Plan) -> BTreeMap<Key, &[RelatedObject]> {
    let deleted = plan.changes.iter().filter_map(|change| match &change.action {
        Action::Delete { referrers, .. } => Some((change.key.clone(), referrers.as_slice())),
        _ => None,
    });
    let held = plan.blocked.iter().filter_map(|held| match &held.reason {
        BlockReason::Referred { by } => Some((held.key.clone(), by.as_slice())),
        _ => None,
    });
    deleted.chain(held).collect()
}

fn seed<'a>(item: &Json, key: &Key, referrers: impl Iterator<Item = &'a RelatedObject>) -> Seed {
    let metadata = item.get("metadata").filter(|metadata| metadata.is_object()).unwrap_or(item);
    let system = item.get("system_metadata").unwrap_or(&Json::Null);
    let text = |json: &Json, name: &str| json.get(name).and_then(Json::as_str).unwrap_or_default().to_owned();
    let map = |name: &str| {
        let entries = metadata.get(name).and_then(Json::as_object).into_iter().flatten();
        entries.filter_map(|(key, value)| Some((key.clone(), value.as_str()?.to_owned()))).collect()
    };
    let owner = item.get("owner_view").filter(|owner| owner.is_object()).or_else(|| system.get("owner_view"));
    let uid = part(item, "uid").or_else(|| system.get("uid")?.as_str()).map(str::to_owned);
    let deletion_timestamp = system.get("deletion_timestamp").and_then(|time| time.as_str()?.parse().ok());
    Seed {
        kind: Some(key.kind.to_string()),
        metadata: SeedMetadata {
            namespace: key.namespace.to_string(),
            name: key.name.to_string(),
            labels: map("labels"),
            annotations: map("annotations"),
            description: text(metadata, "description"),
            disable: metadata.get("disable").and_then(Json::as_bool).unwrap_or_default(),
        },
        spec: None,
        raw_spec: item.get("get_spec").map(|spec| spec.as_object().cloned().unwrap_or_default()),
        uid,
        owner_view: owner.filter(|owner| owner.is_object()).map(|owner| ViewReference {
            kind: text(owner, "kind"),
            name: text(owner, "name"),
            namespace: text(owner, "namespace"),
            uid: text(owner, "uid"),
        }),
        // An object that is being deleted stays so during the rehearsal.
        finalizers: if deletion_timestamp.is_some() { vec!["rehearsal".to_owned()] } else { Vec::new() },
        deletion_timestamp,
        status: Vec::new(),
        referring_objects: referrers.map(referring).collect(),
    }
}

fn referring(referrer: &RelatedObject) -> sandbox::Referrer {
    sandbox::Referrer {
        kind: referrer.kind.clone(),
        uid: String::new(),
        tenant: String::new(),
        namespace: referrer.namespace.clone(),
        name: referrer.name.clone(),
    }
}

/// Keeps nothing: what happened to a copy needs no resume and no rollback.
pub struct NoRecorder;

impl RunRecorder for NoRecorder {
    type Error = Infallible;

    async fn intent(&self, _: &Intent, _: Urgency) -> Result<(), Infallible> {
        Ok(())
    }

    async fn outcome(&self, _: &ChangeStep) -> Result<(), Infallible> {
        Ok(())
    }

    async fn close(&self, _: RunClosing) -> Result<(), Infallible> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_faults_that_are_built_in_are_a_scenario() {
        assert!(scenario("rough").is_ok() && scenario("none").is_ok());
        let absent = scenario("absent/faults.yaml").expect_err("an absent file");
        assert!(absent.to_string().contains("absent/faults.yaml"), "{absent}");
    }

    #[test]
    fn a_seed_holds_what_the_service_gave() {
        let item = json!({
            "namespace": "shop", "name": "cart", "uid": "7", "owner_view": null,
            "metadata": {"labels": {"a": "b", "c": null}, "annotations": {"trueup/stack": "s"}, "disable": true},
            "system_metadata": {"deletion_timestamp": "2026-01-01T00:00:00Z", "owner_view": {"kind": "view", "name": "web"}},
            "get_spec": {"ip": "10.0.0.7", "of_tomorrow": 1},
        });
        let seed = seed(&item, &Key::parse("shop/cart").expect("a key"), std::iter::empty());
        assert_eq!(seed.raw_spec.map(Json::from), Some(json!({"ip": "10.0.0.7", "of_tomorrow": 1})));
        assert_eq!((seed.uid.as_deref(), seed.metadata.labels.len(), seed.metadata.disable), (Some("7"), 1, true));
        assert_eq!(seed.owner_view.map(|owner| owner.name).as_deref(), Some("web"));
        assert!(seed.deletion_timestamp.is_some() && !seed.finalizers.is_empty());
    }
}
