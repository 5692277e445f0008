//! The upgrade status of a site. An upgrade advances with time: the answer is a function of the site's definition and
//! the time, so that a client can watch it and a restart changes nothing. The stages and their steps are data, in
//! `upgrade.yaml`; each step has a share of the time, from which its status follows. A site without an upgrade has the
//! status `UNKNOWN`, the first value of the enum.

use std::ops::Range;
use std::sync::LazyLock;

use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::event::store::WHOLE_TENANT;
use super::time::{self, shifted};
use crate::sandbox::timestamp::written;

/// How much of its stage an upgrade has done when it fails.
const FAILS_AT: f64 = 0.6;

/// The stages with all their steps, as a template for every upgrade.
static STAGES: LazyLock<Map<String, Value>> = LazyLock::new(|| {
    serde_yaml::from_str(include_str!("upgrade.yaml")).expect("the file is a part of the program, and a test reads it")
});

/// The lists of the steps of an item, which are done in order.
const LISTS: [&str; 4] = ["results", "applications", "objects", "conditions"];

const SCHEDULED: &str = "SCHEDULED";
const IN_PROGRESS: &str = "IN_PROGRESS";
const COMPLETED: &str = "COMPLETED";
const FAILED: &str = "FAILED";
const SKIPPED: &str = "SKIPPED";

/// A site of the tenant, as it is stored and written in the tenant file.
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
    /// Without a new operating system its stage is skipped.
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
    /// The stages in order, with the name and the share of the duration, before a skipped stage is removed.
    const ALL: [(Self, &str, f64); 5] = [
        (Self::ImageDownload, "image_download", 0.20),
        (Self::OsSetup, "os_setup", 0.25),
        (Self::SiteLevelUpgrade, "site_level_upgrade", 0.25),
        (Self::NodeLevelUpgrade, "node_level_upgrade", 0.25),
        (Self::Validation, "validation", 0.05),
    ];
}

impl Upgrade {
    /// The part of the whole upgrade that a stage takes; an empty part means skipped.
    fn part(&self, stage: Stage) -> Range<f64> {
        let is_done = |stage: Stage| stage != Stage::OsSetup || self.to_os.is_some();
        let shares = Stage::ALL.map(|(stage, _, share)| if is_done(stage) { share } else { 0.0 });
        let until = |count| shares[..count].iter().sum::<f64>() / shares.iter().sum::<f64>();
        until(stage as usize)..until(stage as usize + 1)
    }

    /// When a stage starts.
    fn start(&self, stage: Stage) -> Timestamp {
        let seconds = self.duration.as_secs_f64() * self.part(stage).start / self.speed;
        shifted(self.started, SignedDuration::from_secs_f64(seconds))
    }
}

/// The body of the answer for `site` at `now`.
pub fn status(site: &Site, now: Timestamp) -> Value {
    let progress = match &site.upgrade {
        None => json!({
            "site": site.name, "version": "", "status": "UNKNOWN", "failure_reason": "", "retries": 0,
            "image_download": null, "os_setup": null, "site_level_upgrade": null, "node_level_upgrade": null,
            "validation": null,
        }),
        Some(upgrade) => progress(site, upgrade, now),
    };
    json!({"upgrade_status": {"sw_upgrade_progress": progress}})
}

fn progress(site: &Site, upgrade: &Upgrade, now: Timestamp) -> Value {
    let reached = Reached::of(upgrade, now);
    let whole = reached.status(&(0.0..1.0));
    let mut body = json!({
        "site": site.name,
        "version": upgrade.to,
        "status": whole,
        "failure_reason": reached.message(whole),
        "retries": upgrade.retries,
    });
    for (stage, name, _) in Stage::ALL {
        let mut of_stage = STAGES[name].clone();
        let part = upgrade.part(stage);
        if part.is_empty() {
            of_stage["status"] = SKIPPED.into();
            of_stage["results"] = json!([]);
        } else {
            if let Some(results) = of_stage["results"].as_array_mut() {
                for_each_node(results, &site.nodes);
            }
            if reached.done >= part.start {
                of_stage["start_timestamp"] = written(upgrade.start(stage)).into();
            }
            reached.fill(&mut of_stage, &part);
        }
        body[name] = of_stage;
    }
    body
}

/// Repeats an item without a name for each node.
fn for_each_node(results: &mut Vec<Value>, nodes: &[String]) {
    if let [Value::Object(of_node)] = results.as_slice()
        && !of_node.contains_key("name")
    {
        let named = |name: &String| {
            let mut item = of_node.clone();
            item.insert("name".to_owned(), name.as_str().into());
            Value::Object(item)
        };
        *results = nodes.iter().map(named).collect();
    }
}

/// How far an upgrade is.
struct Reached<'a> {
    /// The share of the whole that is done; below 0 before the start.
    done: f64,
    /// Why it stopped.
    failure: Option<&'a str>,
}

impl<'a> Reached<'a> {
    fn of(upgrade: &'a Upgrade, now: Timestamp) -> Self {
        let elapsed = now.duration_since(upgrade.started).as_secs_f64() * upgrade.speed;
        let done = elapsed / upgrade.duration.as_secs_f64();
        if let (UpgradeEnd::Failed, Some(stage)) = (upgrade.ends, upgrade.stage) {
            let end = between(&upgrade.part(stage), FAILS_AT);
            if done >= end {
                return Self { done: end, failure: Some(upgrade.reason.as_deref().unwrap_or_default()) };
            }
        }
        Self { done, failure: None }
    }

    /// The status of a step in this part of the whole upgrade.
    fn status(&self, part: &Range<f64>) -> &'static str {
        if self.done < part.start {
            SCHEDULED
        } else if self.done >= part.end {
            COMPLETED
        } else if self.failure.is_some() {
            FAILED
        } else {
            IN_PROGRESS
        }
    }

    fn message(&self, status: &str) -> &'a str {
        self.failure.filter(|_| status == FAILED).unwrap_or_default()
    }

    /// Fills in the time-dependent fields of an item in this part of the whole upgrade. The time of a step depends on
    /// how many steps it contains.
    fn fill(&self, item: &mut Value, part: &Range<f64>) {
        let all = steps(item) as f64;
        let mut before = 0;
        for list in LISTS {
            let Some(items) = item.get_mut(list).and_then(Value::as_array_mut) else { continue };
            for item in items.iter_mut() {
                let end = before + steps(item);
                self.fill(item, &(between(part, before as f64 / all)..between(part, end as f64 / all)));
                before = end;
            }
            // A check that was not made yet has no text.
            items.retain(|item| !item.is_null());
        }
        let status = self.status(part);
        let message = self.message(status);
        let count = count(item);
        match item {
            Value::Object(fields) => {
                for (name, value) in fields.iter_mut().filter(|(_, value)| value.is_null()) {
                    *value = match (name.as_str(), status) {
                        ("status", _) => status.into(),
                        ("message", _) => message.into(),
                        ("progress", _) => count.clone(),
                        ("result", COMPLETED) => "success".into(),
                        ("result", FAILED) => "failure".into(),
                        ("result", _) => "pending".into(),
                        _ => Value::Null,
                    };
                }
            }
            Value::String(check) if status == COMPLETED => check.insert_str(0, "passed: "),
            Value::String(check) if status == FAILED => *check = format!("failed: {check}: {message}"),
            other => *other = Value::Null,
        }
    }
}

/// The point at `share` of a part.
fn between(part: &Range<f64>, share: f64) -> f64 {
    // Exact at both ends.
    part.start * (1.0 - share) + part.end * share
}

/// The number of steps in an item; an item without lists is one step.
fn steps(item: &Value) -> usize {
    let items = LISTS.iter().filter_map(|list| item.get(list)?.as_array()).flatten();
    items.map(steps).sum::<usize>().max(1)
}

/// How many of the applications in the groups of `item` are upgraded.
fn count(item: &Value) -> Value {
    let groups = item.get("results").and_then(Value::as_array).into_iter().flatten();
    let applications: Vec<&Value> = groups.filter_map(|group| group["applications"].as_array()).flatten().collect();
    let completed = applications.iter().filter(|application| application["status"] == COMPLETED).count();
    json!({"completed": completed, "total": applications.len()})
}
