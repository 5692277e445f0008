//! The upgrade status of a site as a tree. No live status was ever published, so everything in it may be
//! missing, and an undocumented status word is kept.

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::api::wire::{nullable, parts};
use crate::model::{Json, displayed, neutral};

/// How far something is.
#[derive(Debug, Clone, PartialEq, Eq, Default, JsonSchema)]
#[schemars(with = "String", description = "How far something is, as the service says.")]
pub enum UpgradeState {
    /// `UNKNOWN`, or nothing.
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
    /// The status with this word, in any case and with any separator (API.md 8.2).
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

/// The fields of an upgrade, and of its parts, with parts that have a status.
const PARTS: [&str; 7] =
    ["image_download", "os_setup", "site_level_upgrade", "node_level_upgrade", "validation", "results", "applications"];

parts!(
    /// The upgrade of a site.
    UpgradeProgress {
        /// The site.
        site: String,
        /// The version that it goes to.
        version: String,
        /// How far.
        status: UpgradeState,
        /// Why it failed.
        failure_reason: String,
        /// How often it was tried again.
        retries: i64,
        /// First: the images.
        image_download: ImageDownload,
        /// Then: the operating system of each node.
        os_setup: OsSetup,
        /// Then: what the site has once.
        site_level_upgrade: SiteUpgrade,
        /// Then: what each node has.
        node_level_upgrade: NodesUpgrade,
        /// Last: whether it works.
        validation: Validation,
    }

    /// The download of images.
    ImageDownload {
        /// How far.
        status: UpgradeState,
        /// RFC 3339.
        start_timestamp: String,
        /// By image.
        results: Vec<Installed>,
    }

    /// Something that was downloaded or installed.
    Installed {
        /// Its name.
        name: String,
        /// Its type.
        r#type: String,
        /// How far.
        status: UpgradeState,
        /// What happened.
        message: String,
    }

    /// The set-up of the operating system.
    OsSetup {
        /// How far.
        status: UpgradeState,
        /// RFC 3339.
        start_timestamp: String,
        /// By node.
        results: Vec<OsNode>,
    }

    /// The operating system of a node.
    OsNode {
        /// The node.
        name: String,
        /// How far.
        status: UpgradeState,
        /// By part.
        results: Vec<Installed>,
    }

    /// Steps done of steps to do.
    Progress {
        /// Done.
        completed: i64,
        /// In all.
        total: i64,
    }

    /// The upgrade of what a site has once.
    SiteUpgrade {
        /// How far.
        status: UpgradeState,
        /// RFC 3339.
        start_timestamp: String,
        /// Counted.
        progress: Progress,
        /// By stage.
        results: Vec<Stage>,
    }

    /// The upgrade of what each node has.
    NodesUpgrade {
        /// How far.
        status: UpgradeState,
        /// RFC 3339.
        start_timestamp: String,
        /// By node.
        results: Vec<NodeUpgrade>,
    }

    /// The upgrade of a node.
    NodeUpgrade {
        /// The node.
        name: String,
        /// How far.
        status: UpgradeState,
        /// Counted.
        progress: Progress,
        /// By stage.
        results: Vec<Stage>,
    }

    /// A stage.
    Stage {
        /// Its name.
        name: String,
        /// How far.
        status: UpgradeState,
        /// By application.
        applications: Vec<Application>,
    }

    /// An application in a stage.
    Application {
        /// Its name.
        name: String,
        /// How far.
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
        /// What is true of it.
        conditions: Vec<ObjectCondition>,
    }

    /// A condition of an object.
    ObjectCondition {
        /// What.
        r#type: String,
        /// Whether.
        result: String,
        /// Why.
        message: String,
    }

    /// The check at the end.
    Validation {
        /// How far.
        status: UpgradeState,
        /// RFC 3339.
        start_timestamp: String,
        /// What it found.
        results: Vec<String>,
    }
);

impl UpgradeProgress {
    /// Whether it says of an upgrade: `UNKNOWN` with a version or a failure, or with a part that has a status, does as well.
    pub fn is_upgrade(&self) -> bool {
        let says = [&self.version, &self.failure_reason].into_iter().any(|text| !text.is_empty());
        says || self.parts().iter().any(|part| part.status != UpgradeState::Unknown)
    }

    /// The whole and each of its parts that says how far it is.
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

/// Something that says how far it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UpgradePart {
    /// The keys that lead to it.
    pub path: Vec<String>,
    /// How far.
    pub status: UpgradeState,
    /// What happened.
    pub message: String,
}

impl UpgradePart {
    /// Whether all keys that lead to it are fields of an upgrade.
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
