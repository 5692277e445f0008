//! The upgrade status of a site. An upgrade advances as time passes: the answer is a function of the
//! site's definition and the time, so that a client can watch it and a restart changes nothing. A site
//! without an upgrade has the status `UNKNOWN`, the first value of the enum.

use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::event::store::WHOLE_TENANT;
use super::time::{self, shifted};
use crate::sandbox::clock::written;

/// How much of its stage an upgrade has done when it fails.
const FAILS_AT: f64 = 0.6;

const IMAGES: [&str; 4] = ["vpm", "ver", "argo", "etcd"];
const OS_STEPS: [&str; 3] = ["download", "install", "reboot"];
const CHECKS: [&str; 3] = ["all pods are running", "all tunnels are up", "all nodes report the new version"];

/// The groups of applications of an upgrade, with the kind of their objects.
const SITE_GROUPS: [Group; 3] = [
    Group { name: "identity", applications: &["certmanager", "wingman"], kind: "Deployment" },
    Group { name: "storage", applications: &["etcd"], kind: "StatefulSet" },
    Group { name: "control", applications: &["vpm-operator", "prometheus", "fluentbit"], kind: "Deployment" },
];
const NODE_GROUPS: [Group; 2] = [
    Group { name: "network", applications: &["ver", "argo"], kind: "DaemonSet" },
    Group { name: "agents", applications: &["node-exporter", "kube-proxy"], kind: "DaemonSet" },
];

struct Group {
    name: &'static str,
    applications: &'static [&'static str],
    kind: &'static str,
}

/// A site of the tenant, as it is stored and as the tenant file writes it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Site {
    #[serde(default = "system")]
    pub namespace: String,
    pub name: String,
    #[serde(default)]
    pub os_version: String,
    #[serde(default)]
    pub sw_version: String,
    #[serde(default)]
    pub nodes: Vec<String>,
    pub upgrade: Option<Upgrade>,
}

fn system() -> String {
    WHOLE_TENANT.to_owned()
}

/// The upgrade of a site.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Upgrade {
    pub to: String,
    /// Without a new operating system that stage is skipped.
    pub to_os: Option<String>,
    #[serde(deserialize_with = "time::required")]
    pub started: Timestamp,
    /// From start to end at speed 1.
    #[serde(deserialize_with = "time::length")]
    pub duration: SignedDuration,
    #[serde(default = "usual_speed")]
    pub speed: f64,
    #[serde(default)]
    pub retries: u32,
    #[serde(default)]
    pub ends: UpgradeEnd,
    /// The stage that fails, and why.
    pub stage: Option<Stage>,
    pub reason: Option<String>,
}

fn usual_speed() -> f64 {
    1.0
}

/// How an upgrade ends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum UpgradeEnd {
    #[default]
    Completed,
    Failed,
}

/// The stages of an upgrade, in their order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Stage {
    ImageDownload,
    OsSetup,
    SiteLevelUpgrade,
    NodeLevelUpgrade,
    Validation,
}

impl Stage {
    const ALL: [Self; 5] =
        [Self::ImageDownload, Self::OsSetup, Self::SiteLevelUpgrade, Self::NodeLevelUpgrade, Self::Validation];

    /// Its share of the duration, before a skipped stage is taken out.
    fn share(self) -> f64 {
        match self {
            Self::ImageDownload => 0.20,
            Self::Validation => 0.05,
            Self::OsSetup | Self::SiteLevelUpgrade | Self::NodeLevelUpgrade => 0.25,
        }
    }
}

/// How far something is.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Progress {
    Scheduled,
    Running(f64),
    Completed,
    Failed(f64),
    Skipped,
}

impl Progress {
    fn text(self) -> &'static str {
        match self {
            Self::Scheduled => "SCHEDULED",
            Self::Running(_) => "IN_PROGRESS",
            Self::Completed => "COMPLETED",
            Self::Failed(_) => "FAILED",
            Self::Skipped => "SKIPPED",
        }
    }

    /// What runs from `start` for `length` of a whole of which `reached` is done.
    fn within(reached: f64, start: f64, length: f64) -> Self {
        if reached < start {
            Self::Scheduled
        } else if reached < start + length {
            Self::Running((reached - start) / length)
        } else {
            Self::Completed
        }
    }

    /// The progress of part `index` of `count` that are done one after another.
    fn part(self, index: usize, count: usize) -> Self {
        self.parts(index, 1, count)
    }

    /// The progress of the `length` parts from `first` on of `count` parts.
    fn parts(self, first: usize, length: usize, count: usize) -> Self {
        let inside = |done: f64| done * count as f64 - first as f64;
        match self {
            Self::Running(done) | Self::Failed(done) if inside(done) >= length as f64 => Self::Completed,
            Self::Running(done) if inside(done) >= 0.0 => Self::Running(inside(done) / length as f64),
            Self::Failed(done) if inside(done) >= 0.0 => Self::Failed(inside(done) / length as f64),
            Self::Running(_) | Self::Failed(_) => Self::Scheduled,
            other => other,
        }
    }

    /// The result of a step that is this far.
    fn result(self) -> &'static str {
        match self {
            Self::Completed => "success",
            Self::Failed(_) => "failure",
            _ => "pending",
        }
    }
}

/// The stages of an upgrade at one time.
struct UpgradeView<'a> {
    site: &'a Site,
    upgrade: &'a Upgrade,
    /// Share of the whole that is done; below 0 before the start.
    done: f64,
    /// The failed stage, and where in the whole it fails.
    failure: Option<(Stage, f64)>,
}

/// The body of the answer for `site` at `now`.
pub fn status(site: &Site, now: Timestamp) -> Value {
    let progress = match &site.upgrade {
        None => json!({
            "site": site.name, "version": "", "status": "UNKNOWN", "failure_reason": "", "retries": 0,
            "image_download": null, "os_setup": null, "site_level_upgrade": null, "node_level_upgrade": null,
            "validation": null,
        }),
        Some(upgrade) => UpgradeView::new(site, upgrade, now).body(),
    };
    json!({"upgrade_status": {"sw_upgrade_progress": progress}})
}

impl<'a> UpgradeView<'a> {
    fn new(site: &'a Site, upgrade: &'a Upgrade, now: Timestamp) -> Self {
        let elapsed = now.duration_since(upgrade.started).as_secs_f64() * upgrade.speed;
        let whole = upgrade.duration.as_secs_f64();
        let done = if whole > 0.0 { elapsed / whole } else { elapsed.signum() };
        let mut view = Self { site, upgrade, done, failure: None };
        if let (UpgradeEnd::Failed, Some(stage)) = (upgrade.ends, upgrade.stage) {
            let (start, length) = view.span(stage);
            view.failure = Some((stage, start + FAILS_AT * length));
        }
        view
    }

    /// Where a stage starts in the whole, and how much of the whole it is.
    fn span(&self, stage: Stage) -> (f64, f64) {
        let share = |stage: Stage| {
            if stage == Stage::OsSetup && self.upgrade.to_os.is_none() { 0.0 } else { stage.share() }
        };
        let total: f64 = Stage::ALL.into_iter().map(share).sum();
        let before: f64 = Stage::ALL.into_iter().take_while(|other| *other != stage).map(share).sum();
        (before / total, share(stage) / total)
    }

    fn failed(&self) -> bool {
        self.failure.is_some_and(|(_, at)| self.done >= at)
    }

    fn whole(&self) -> Progress {
        if self.failed() { Progress::Failed(self.done) } else { Progress::within(self.done, 0.0, 1.0) }
    }

    fn progress(&self, stage: Stage) -> Progress {
        let (start, length) = self.span(stage);
        match self.failure {
            _ if length <= 0.0 => Progress::Skipped,
            Some((failed, _)) if failed == stage && self.failed() => Progress::Failed(FAILS_AT),
            failure => Progress::within(failure.map_or(self.done, |(_, at)| self.done.min(at)), start, length),
        }
    }

    /// When a stage started; null before that.
    fn started(&self, stage: Stage) -> Option<String> {
        match self.progress(stage) {
            Progress::Scheduled | Progress::Skipped => None,
            _ => {
                let (start, _) = self.span(stage);
                let seconds = self.upgrade.duration.as_secs_f64() * start / self.upgrade.speed;
                Some(written(shifted(self.upgrade.started, SignedDuration::from_secs_f64(seconds))))
            }
        }
    }

    fn message(&self, progress: Progress) -> &str {
        match (progress, &self.upgrade.reason) {
            (Progress::Failed(_), Some(reason)) => reason,
            _ => "",
        }
    }

    fn body(&self) -> Value {
        let whole = self.whole();
        let stage = |stage: Stage, progress: Progress, mut body: Value| {
            body["status"] = progress.text().into();
            body["start_timestamp"] = self.started(stage).into();
            body
        };
        let [download, os, site, node, validation] = Stage::ALL.map(|stage| self.progress(stage));
        json!({
            "site": self.site.name,
            "version": self.upgrade.to,
            "status": whole.text(),
            "failure_reason": self.message(whole),
            "retries": self.upgrade.retries,
            "image_download": stage(Stage::ImageDownload, download, json!({"results": self.installs(download, &IMAGES, "image")})),
            "os_setup": stage(Stage::OsSetup, os, json!({"results": self.os_nodes(os)})),
            "site_level_upgrade": stage(Stage::SiteLevelUpgrade, site, json!({
                "progress": count(site, &SITE_GROUPS),
                "results": self.groups(site, &SITE_GROUPS),
            })),
            "node_level_upgrade": stage(Stage::NodeLevelUpgrade, node, json!({"results": self.nodes(node)})),
            "validation": stage(Stage::Validation, validation, json!({"results": self.checks(validation)})),
        })
    }

    fn installs(&self, progress: Progress, names: &[&str], kind: &str) -> Vec<Value> {
        parts(
            progress,
            names,
            |progress, name| json!({"name": name, "type": kind, "status": progress.text(), "message": self.message(progress)}),
        )
    }

    fn os_nodes(&self, progress: Progress) -> Vec<Value> {
        parts(
            progress,
            &self.site.nodes,
            |progress, name| json!({"name": name, "status": progress.text(), "results": self.installs(progress, &OS_STEPS, "os")}),
        )
    }

    fn nodes(&self, progress: Progress) -> Vec<Value> {
        parts(progress, &self.site.nodes, |progress, name| {
            json!({
                "name": name,
                "status": progress.text(),
                "progress": count(progress, &NODE_GROUPS),
                "results": self.groups(progress, &NODE_GROUPS),
            })
        })
    }

    fn groups(&self, progress: Progress, groups: &[Group]) -> Vec<Value> {
        let total = total(groups);
        let mut first = 0;
        let describe = |group: &Group| {
            let whole = progress.parts(first, group.applications.len(), total);
            let applications = group.applications.iter().map(|name| {
                first += 1;
                self.application(progress.part(first - 1, total), name, group.kind)
            });
            let applications: Vec<_> = applications.collect();
            json!({"name": group.name, "status": whole.text(), "applications": applications})
        };
        groups.iter().map(describe).collect()
    }

    fn application(&self, progress: Progress, name: &str, kind: &str) -> Value {
        let conditions = parts(
            progress,
            &["load", "apply", "running"],
            |progress, step| json!({"type": step, "result": progress.result(), "message": self.message(progress)}),
        );
        json!({
            "name": name,
            "status": progress.text(),
            "objects": [{
                "name": name, "kind": kind, "deploy_strategy": "rolling", "debug": "", "conditions": conditions,
            }],
        })
    }

    fn checks(&self, progress: Progress) -> Vec<String> {
        let check = |(index, text): (usize, &str)| match progress.part(index, CHECKS.len()) {
            Progress::Completed => Some(format!("passed: {text}")),
            failed @ Progress::Failed(_) => Some(format!("failed: {text}: {}", self.message(failed))),
            _ => None,
        };
        CHECKS.into_iter().enumerate().filter_map(check).collect()
    }
}

/// What `describe` makes of each of the parts that are done one after another.
fn parts<T>(progress: Progress, names: &[T], describe: impl Fn(Progress, &T) -> Value) -> Vec<Value> {
    let names = if progress == Progress::Skipped { &[] } else { names };
    names.iter().enumerate().map(|(index, name)| describe(progress.part(index, names.len()), name)).collect()
}

fn total(groups: &[Group]) -> usize {
    groups.iter().map(|group| group.applications.len()).sum()
}

fn count(progress: Progress, groups: &[Group]) -> Value {
    let total = total(groups);
    let completed = (0..total).filter(|index| progress.part(*index, total) == Progress::Completed).count();
    json!({"completed": completed, "total": total})
}
