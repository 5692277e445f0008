//! The upgrade status of a site as a tree. A real status was never published, so everything in it may be missing, and
//! unknown status words are kept.

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::api::wire::{nullable, parts};
use crate::model::{Json, displayed, neutral};

/// The progress of an upgrade or of a part of it.
#[derive(Debug, Clone, PartialEq, Eq, Default, JsonSchema)]
#[schemars(with = "String", description = "How far something is, as the service says.")]
pub enum UpgradeState {
    /// `UNKNOWN`, or an empty text.
    #[default]
    Unknown,
    /// `SCHEDULED`
    Scheduled,
    /// `IN_PROGRESS`
    InProgress,
    /// `COMPLETED`
    Completed,
    /// `FAILED`
    Failed,
    /// `SKIPPED`
    Skipped,
    /// An undocumented word, neutralised.
    Other(String),
}

impl UpgradeState {
    /// The status of this word, in upper or lower case and with any separator (API.md 8.2).
    pub fn from_text(text: &str) -> Self {
        let letters = |text: &str| text.chars().filter(char::is_ascii_alphabetic).collect::<String>();
        let is_it = |state: &Self| letters(state.as_str()).eq_ignore_ascii_case(&letters(text));
        let documented =
            [Self::Unknown, Self::Scheduled, Self::InProgress, Self::Completed, Self::Failed, Self::Skipped];
        match documented.into_iter().find(is_it) {
            Some(state) => state,
            None if text.trim().is_empty() => Self::Unknown,
            None => Self::Other(neutral(text, 60)),
        }
    }

    /// As the service writes it.
    pub fn as_str(&self) -> &str {
        match self {
            UpgradeState::Unknown => "UNKNOWN",
            UpgradeState::Scheduled => "SCHEDULED",
            UpgradeState::InProgress => "IN_PROGRESS",
            UpgradeState::Completed => "COMPLETED",
            UpgradeState::Failed => "FAILED",
            UpgradeState::Skipped => "SKIPPED",
            UpgradeState::Other(text) => text,
        }
    }
}

displayed!(UpgradeState, |state| "{}", state.as_str());

impl<'de> Deserialize<'de> for UpgradeState {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        Ok(Option::<String>::deserialize(from)?.map_or(UpgradeState::Unknown, |text| UpgradeState::from_text(&text)))
    }
}

impl Serialize for UpgradeState {
    fn serialize<S: Serializer>(&self, into: S) -> Result<S::Ok, S::Error> {
        into.serialize_str(self.as_str())
    }
}

/// The fields of an upgrade and of its parts whose values have a status of their own.
const PARTS: [&str; 7] =
    ["image_download", "os_setup", "site_level_upgrade", "node_level_upgrade", "validation", "results", "applications"];

parts!(
    /// The upgrade of a site.
    UpgradeProgress {
        /// The site.
        site: String,
        /// The target version.
        version: String,
        /// Its status.
        status: UpgradeState,
        /// Why it failed.
        failure_reason: String,
        /// How often it was tried again.
        retries: i64,
        /// Step 1: the images.
        image_download: ImageDownload,
        /// Step 2: the operating system of each node.
        os_setup: OsSetup,
        /// Step 3: what the site has once.
        site_level_upgrade: SiteUpgrade,
        /// Step 4: what each node has.
        node_level_upgrade: NodesUpgrade,
        /// Step 5: the check of the result.
        validation: Validation,
    }

    /// The download of images.
    ImageDownload {
        /// Its status.
        status: UpgradeState,
        /// RFC 3339.
        start_timestamp: String,
        /// The results by image.
        results: Vec<Installed>,
    }

    /// Something that was downloaded or installed.
    Installed {
        /// Its name.
        name: String,
        /// Its type.
        r#type: String,
        /// Its status.
        status: UpgradeState,
        /// What happened.
        message: String,
    }

    /// The set-up of the operating system.
    OsSetup {
        /// Its status.
        status: UpgradeState,
        /// RFC 3339.
        start_timestamp: String,
        /// The results by node.
        results: Vec<OsNode>,
    }

    /// The operating system of a node.
    OsNode {
        /// The node.
        name: String,
        /// Its status.
        status: UpgradeState,
        /// The results by part.
        results: Vec<Installed>,
    }

    /// How many steps are done.
    Progress {
        /// Steps that are done.
        completed: i64,
        /// All steps.
        total: i64,
    }

    /// The upgrade of what a site has once.
    SiteUpgrade {
        /// Its status.
        status: UpgradeState,
        /// RFC 3339.
        start_timestamp: String,
        /// The number of steps done.
        progress: Progress,
        /// The results by stage.
        results: Vec<Stage>,
    }

    /// The upgrade of what each node has.
    NodesUpgrade {
        /// Its status.
        status: UpgradeState,
        /// RFC 3339.
        start_timestamp: String,
        /// The results by node.
        results: Vec<NodeUpgrade>,
    }

    /// The upgrade of a node.
    NodeUpgrade {
        /// The node.
        name: String,
        /// Its status.
        status: UpgradeState,
        /// The number of steps done.
        progress: Progress,
        /// The results by stage.
        results: Vec<Stage>,
    }

    /// A stage.
    Stage {
        /// Its name.
        name: String,
        /// Its status.
        status: UpgradeState,
        /// Its applications.
        applications: Vec<Application>,
    }

    /// An application in a stage.
    Application {
        /// Its name.
        name: String,
        /// Its status.
        status: UpgradeState,
        /// Its objects.
        objects: Vec<ApplicationObject>,
    }

    /// An object of an application.
    ApplicationObject {
        /// Its kind.
        kind: String,
        /// Its name.
        name: String,
        /// How it is rolled out.
        deploy_strategy: String,
        /// For support.
        debug: String,
        /// Its conditions.
        conditions: Vec<ObjectCondition>,
    }

    /// A condition of an object.
    ObjectCondition {
        /// The type of the condition.
        r#type: String,
        /// Whether it is met.
        result: String,
        /// The reason.
        message: String,
    }

    /// The check at the end.
    Validation {
        /// Its status.
        status: UpgradeState,
        /// RFC 3339.
        start_timestamp: String,
        /// What it found.
        results: Vec<String>,
    }
);

impl UpgradeProgress {
    /// Whether it is about an upgrade. `UNKNOWN` is too if it has a version, a failure, or a part with a status.
    pub fn is_upgrade(&self) -> bool {
        let says = [&self.version, &self.failure_reason].into_iter().any(|text| !text.is_empty());
        says || self.parts().iter().any(|part| part.status != UpgradeState::Unknown)
    }

    /// The whole upgrade and each of its parts with a status.
    pub fn parts(&self) -> Vec<UpgradePart> {
        fn find(value: &Json, path: &[&str], found: &mut Vec<UpgradePart>) {
            match value {
                Json::Object(map) => {
                    let text = |key: &str| map.get(key).and_then(Json::as_str);
                    found.extend(text("status").map(|status| UpgradePart {
                        path: path.iter().copied().map(str::to_owned).collect(),
                        status: UpgradeState::from_text(status),
                        message: text("message").or(text("failure_reason")).unwrap_or_default().to_owned(),
                    }));
                    map.iter().for_each(|(key, value)| find(value, &[path, &[key]].concat(), found));
                }
                Json::Array(items) => items.iter().for_each(|item| find(item, path, found)),
                _ => {}
            }
        }
        let mut found = Vec::new();
        find(&serde_json::to_value(self).unwrap_or_default(), &[], &mut found);
        found
    }
}

/// A part of an upgrade with a status.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UpgradePart {
    /// The keys on the way to it.
    pub path: Vec<String>,
    /// Its status.
    pub status: UpgradeState,
    /// What happened.
    pub message: String,
}

impl UpgradePart {
    /// Whether all keys of its path are known fields of an upgrade.
    pub fn is_known(&self) -> bool {
        self.path.iter().all(|key| PARTS.contains(&&**key))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_status_is_read_leniently_and_what_is_unknown_is_kept() {
        let progress: UpgradeProgress = serde_json::from_value(json!({
            "site": "ce01", "status": "Completed", "retries": null, "image_download": null,
            "site_level_upgrade": {"status": "IN_PROGRESS", "progress": {"completed": 2, "total": 5},
                "results": [{"name": "s", "status": "REWINDING\u{1b}", "applications": [{"objects": null}]}]},
            "future": 1
        }))
        .expect("a status");
        assert_eq!(progress.status, UpgradeState::Completed);
        assert_eq!(progress.image_download.status, UpgradeState::Unknown);
        let Progress { completed, total, .. } = progress.site_level_upgrade.progress;
        assert_eq!((completed, total), (2, 5));
        assert_eq!(progress.others["future"], json!(1));
        assert_eq!(progress.site_level_upgrade.results[0].status, UpgradeState::Other("REWINDING".to_owned()));
        for odd in ["2", "??", "進行中"] {
            assert_eq!(UpgradeState::from_text(odd), UpgradeState::Other(odd.to_owned()));
        }
        assert!(serde_json::from_value::<UpgradeProgress>(json!([])).is_err(), "an array is no object without fields");
    }
}
