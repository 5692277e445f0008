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

    /// The progress of part `index` of `count` that are done one after another.
    fn part(self, index: usize, count: usize) -> Self {
        let inside = |done: f64| done * count as f64 - index as f64;
        match self {
            Self::Running(done) | Self::Failed(done) if inside(done) >= 1.0 => Self::Completed,
            Self::Running(done) if inside(done) >= 0.0 => Self::Running(inside(done)),
            Self::Failed(done) if inside(done) >= 0.0 => Self::Failed(inside(done)),
            Self::Running(_) | Self::Failed(_) => Self::Scheduled,
            other => other,
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
        if self.failed() {
            Progress::Failed(self.done)
        } else if self.done < 0.0 {
            Progress::Scheduled
        } else if self.done < 1.0 {
            Progress::Running(self.done)
        } else {
            Progress::Completed
        }
    }

    fn progress(&self, stage: Stage) -> Progress {
        let (start, length) = self.span(stage);
        let reached = self.failure.map_or(self.done, |(_, at)| self.done.min(at));
        if length <= 0.0 {
            Progress::Skipped
        } else if self.failed() && self.failure.is_some_and(|(failed, _)| failed == stage) {
            Progress::Failed(FAILS_AT)
        } else if reached < start || self.done < 0.0 {
            Progress::Scheduled
        } else if reached < start + length {
            Progress::Running((reached - start) / length)
        } else {
            Progress::Completed
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
            let parts = group.applications.iter().enumerate().map(|(index, name)| {
                let progress = progress.part(first + index, total);
                (progress, self.application(progress, name, group.kind))
            });
            let (states, applications): (Vec<_>, Vec<_>) = parts.unzip();
            first += group.applications.len();
            json!({"name": group.name, "status": together(&states).text(), "applications": applications})
        };
        groups.iter().map(describe).collect()
    }

    fn application(&self, progress: Progress, name: &str, kind: &str) -> Value {
        let result = match progress {
            Progress::Completed => "success",
            Progress::Failed(_) => "failure",
            _ => "pending",
        };
        let conditions = parts(progress, &["load", "apply", "running"], |progress, step| {
            let done = match progress {
                Progress::Completed => "success",
                Progress::Failed(_) => result,
                _ => "pending",
            };
            json!({"type": step, "result": done, "message": self.message(progress)})
        });
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

/// The state of a group from those of its applications.
fn together(states: &[Progress]) -> Progress {
    if let Some(failed) = states.iter().find(|state| matches!(state, Progress::Failed(_))) {
        *failed
    } else if states.iter().all(|state| *state == Progress::Completed) {
        Progress::Completed
    } else if states.iter().all(|state| *state == Progress::Scheduled) {
        Progress::Scheduled
    } else {
        Progress::Running(0.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const STAGES: [&str; 5] = ["image_download", "os_setup", "site_level_upgrade", "node_level_upgrade", "validation"];

    fn site(failure: Option<(Stage, &str)>, to_os: Option<&str>) -> Site {
        Site {
            namespace: "system".into(),
            name: "ce01".into(),
            os_version: "9.2026.10".into(),
            sw_version: "crt-20251002-0027".into(),
            nodes: vec!["master-0".into(), "master-1".into(), "master-2".into()],
            upgrade: Some(Upgrade {
                to: "crt-20260201-0179".into(),
                to_os: to_os.map(Into::into),
                started: "2026-11-21T12:00:00Z".parse().unwrap(),
                duration: SignedDuration::from_mins(20),
                speed: 2.0,
                retries: 1,
                ends: if failure.is_some() { UpgradeEnd::Failed } else { UpgradeEnd::Completed },
                stage: failure.map(|(stage, _)| stage),
                reason: failure.map(|(_, reason)| reason.to_owned()),
            }),
        }
    }

    fn at(site: &Site, seconds: i64) -> Value {
        let start: Timestamp = "2026-11-21T12:00:00Z".parse().unwrap();
        let body = status(site, start + SignedDuration::from_secs(seconds));
        body["upgrade_status"]["sw_upgrade_progress"].clone()
    }

    fn states(body: &Value) -> Vec<&str> {
        let stages = STAGES.iter().map(|stage| body[stage]["status"].as_str().unwrap());
        std::iter::once(body["status"].as_str().unwrap()).chain(stages).collect()
    }

    #[test]
    fn an_upgrade_goes_through_its_stages_at_its_speed() {
        let site = site(None, Some("9.2026.17"));
        let [waits, runs, done] = ["SCHEDULED", "IN_PROGRESS", "COMPLETED"];
        for (seconds, expected) in [
            (-1, [waits, waits, waits, waits, waits, waits]),
            (0, [runs, runs, waits, waits, waits, waits]),
            (130, [runs, done, runs, waits, waits, waits]),
            (300, [runs, done, done, runs, waits, waits]),
            (500, [runs, done, done, done, runs, waits]),
            (580, [runs, done, done, done, done, runs]),
            (600, [done, done, done, done, done, done]),
            (90_000, [done, done, done, done, done, done]),
        ] {
            assert_eq!(states(&at(&site, seconds)), expected, "{seconds}");
        }
        assert_eq!(at(&site, 130)["os_setup"]["start_timestamp"], "2026-11-21T12:02:00.000000000Z");
        assert_eq!(at(&site, 130)["site_level_upgrade"]["start_timestamp"], Value::Null);
    }

    #[test]
    fn nothing_ever_goes_back() {
        let site = site(None, None);
        let mut earlier = 0;
        for seconds in 0..=620 {
            let done = at(&site, seconds).to_string().matches("COMPLETED").count();
            assert!(done >= earlier, "{seconds}");
            earlier = done;
        }
        assert!(earlier > 20);
    }

    #[test]
    fn a_failed_upgrade_stays_where_it_failed_and_says_why() {
        let site = site(Some((Stage::NodeLevelUpgrade, "master-1 is out of disk")), None);
        assert_eq!(states(&at(&site, 400))[0], "IN_PROGRESS");
        let ended = at(&site, 590);
        assert_eq!(states(&ended), ["FAILED", "COMPLETED", "SKIPPED", "COMPLETED", "FAILED", "SCHEDULED"]);
        assert_eq!(ended["failure_reason"], "master-1 is out of disk");
        assert_eq!(at(&site, 90_000), ended);
        let nodes: Vec<_> = ended["node_level_upgrade"]["results"].as_array().unwrap().iter().collect();
        assert_eq!(
            nodes.iter().map(|node| node["status"].as_str().unwrap()).collect::<Vec<_>>(),
            ["COMPLETED", "FAILED", "SCHEDULED"]
        );
        assert_eq!(nodes[0]["progress"], json!({"completed": 4, "total": 4}));
        assert_eq!(ended["failure_reason"].as_str(), Some("master-1 is out of disk"));
    }

    #[test]
    fn a_site_without_an_upgrade_has_an_unknown_status() {
        let mut site = site(None, None);
        site.upgrade = None;
        let body = at(&site, 0);
        assert_eq!((body["site"].as_str(), body["status"].as_str()), (Some("ce01"), Some("UNKNOWN")));
        assert_eq!(body["image_download"], Value::Null);
    }
}
