//! Software versions that a site can be upgraded to, compared by their parts, and the upgrade status
//! of a site as a tree. No live status was ever published, so everything in it may be missing, and a
//! status word that nobody documented is kept.

use std::cmp::Ordering;
use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::model::{Layout, Namespace};

use super::client::Reader;
use super::error::ApiError;
use super::operations::Operation;
use super::request::{Request, RequestError};
use super::text::neutral;
use super::wire::nullable;

/// Compares two versions part by part: digits as numbers, the rest as text. `9.2026.10` is older than
/// `9.2026.17` and newer than `9.2026.9`.
#[must_use]
pub fn compare_versions(one: &str, other: &str) -> Ordering {
    let (mut ones, mut others) = (parts(one), parts(other));
    loop {
        match (ones.next(), others.next()) {
            (None, None) => return one.cmp(other),
            (None, Some(_)) => return Ordering::Less,
            (Some(_), None) => return Ordering::Greater,
            (Some(one), Some(other)) => match one.cmp(&other) {
                Ordering::Equal => {}
                unequal => return unequal,
            },
        }
    }
}

/// A part of a version: a number, which may be too long for an integer, or a text.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
enum VersionPart<'a> {
    Text(&'a str),
    /// Digits without leading zeros, by length and then by text.
    Number(usize, &'a str),
}

fn parts(version: &str) -> impl Iterator<Item = VersionPart<'_>> {
    version.split(|c: char| !c.is_alphanumeric()).flat_map(|piece| {
        let mut rest = piece;
        std::iter::from_fn(move || {
            let digit = rest.chars().next()?.is_ascii_digit();
            let end = rest.find(|c: char| c.is_ascii_digit() != digit).unwrap_or(rest.len());
            let (part, after) = rest.split_at(end);
            rest = after;
            Some(if digit {
                let number = part.trim_start_matches('0');
                VersionPart::Number(number.len(), number)
            } else {
                VersionPart::Text(part)
            })
        })
    })
}

/// The request for the versions that a site can be upgraded to. The published layout knows no
/// namespace for it.
///
/// # Errors
/// A namespace that no path can hold.
pub fn versions_request(
    layout: Layout,
    namespace: &Namespace,
    current_os: Option<&str>,
    current_sw: Option<&str>,
) -> Result<Request, RequestError> {
    let mut parameters = Vec::new();
    if layout == Layout::Uniform {
        parameters.push(("namespace", namespace.as_str()));
    }
    parameters.extend(current_os.map(|version| ("current_os_version", version)));
    parameters.extend(current_sw.map(|version| ("current_sw_version", version)));
    Request::build(Operation::UpgradableVersions, layout, &parameters, None)
}

/// Reads the versions that a site can be upgraded to, newest first.
///
/// # Errors
/// Whatever goes wrong.
pub async fn versions(
    reader: &Reader,
    namespace: &Namespace,
    current_os: Option<&str>,
    current_sw: Option<&str>,
) -> Result<Vec<String>, ApiError> {
    #[derive(Deserialize)]
    struct Versions {
        #[serde(deserialize_with = "nullable")]
        sw_versions: Vec<String>,
    }
    let request = versions_request(reader.layout(), namespace, current_os, current_sw);
    let mut list: Versions = reader.question(Operation::UpgradableVersions, request).await?.json()?;
    list.sw_versions.sort_by(|one, other| compare_versions(other, one));
    Ok(list.sw_versions)
}

/// Reads the upgrade status of a site; nothing where the service says of no upgrade.
///
/// # Errors
/// [`ApiError::is_absent`] where the site is not there.
pub async fn status(reader: &Reader, namespace: &Namespace, site: &str) -> Result<Option<UpgradeProgress>, ApiError> {
    #[derive(Deserialize)]
    struct Answer {
        #[serde(deserialize_with = "nullable")]
        upgrade_status: Inner,
    }
    #[derive(Deserialize, Default)]
    struct Inner {
        #[serde(default)]
        sw_upgrade_progress: Option<UpgradeProgress>,
    }
    let parameters = [("namespace", namespace.as_str()), ("name", site)];
    let request = Request::build(Operation::UpgradeStatus, reader.layout(), &parameters, None);
    let answer: Answer = reader.question(Operation::UpgradeStatus, request).await?.json()?;
    Ok(answer.upgrade_status.sw_upgrade_progress)
}

/// How far something is.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
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
    /// A word that nobody documented, neutralised.
    Other(String),
}

impl UpgradeState {
    /// The status with this word, in any case and with any separator (API.md 8.2).
    #[must_use]
    pub fn from_text(text: &str) -> Self {
        let word: String = text.chars().filter(char::is_ascii_alphabetic).collect();
        match word.to_ascii_uppercase().as_str() {
            "" | "UNKNOWN" => UpgradeState::Unknown,
            "SCHEDULED" => UpgradeState::Scheduled,
            "INPROGRESS" => UpgradeState::InProgress,
            "COMPLETED" => UpgradeState::Completed,
            "FAILED" => UpgradeState::Failed,
            "SKIPPED" => UpgradeState::Skipped,
            _ => UpgradeState::Other(neutral(text, 60)),
        }
    }

    /// As the service writes it.
    #[must_use]
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

    /// Whether nothing more will happen.
    #[must_use]
    pub fn is_final(&self) -> bool {
        matches!(self, UpgradeState::Completed | UpgradeState::Failed | UpgradeState::Skipped)
    }
}

impl fmt::Display for UpgradeState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

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

macro_rules! part {
    ($(#[$doc:meta])* $type:ident { $($(#[$fdoc:meta])* $field:ident: $of:ty),+ $(,)? }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
        pub struct $type { $($(#[$fdoc])* #[serde(default, deserialize_with = "nullable")] pub $field: $of),+ }
    };
}

part!(
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
);

part!(
    /// The download of images.
    ImageDownload {
        /// How far.
        status: UpgradeState,
        /// RFC 3339.
        start_timestamp: String,
        /// By image.
        results: Vec<Installed>,
    }
);

part!(
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
);

part!(
    /// The set-up of the operating system.
    OsSetup {
        /// How far.
        status: UpgradeState,
        /// RFC 3339.
        start_timestamp: String,
        /// By node.
        results: Vec<OsNode>,
    }
);

part!(
    /// The operating system of a node.
    OsNode {
        /// The node.
        name: String,
        /// How far.
        status: UpgradeState,
        /// By part.
        results: Vec<Installed>,
    }
);

part!(
    /// Steps done of steps to do.
    Progress {
        /// Done.
        completed: i64,
        /// In all.
        total: i64,
    }
);

part!(
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
);

part!(
    /// The upgrade of what each node has.
    NodesUpgrade {
        /// How far.
        status: UpgradeState,
        /// RFC 3339.
        start_timestamp: String,
        /// By node.
        results: Vec<NodeUpgrade>,
    }
);

part!(
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
);

part!(
    /// A stage.
    Stage {
        /// Its name.
        name: String,
        /// How far.
        status: UpgradeState,
        /// By application.
        applications: Vec<Application>,
    }
);

part!(
    /// An application in a stage.
    Application {
        /// Its name.
        name: String,
        /// How far.
        status: UpgradeState,
        /// Its objects.
        objects: Vec<ApplicationObject>,
    }
);

part!(
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
);

part!(
    /// A condition of an object.
    ObjectCondition {
        /// What.
        r#type: String,
        /// Whether.
        result: String,
        /// Why.
        message: String,
    }
);

part!(
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

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn versions_are_compared_by_parts() {
        let mut versions = ["crt-20251002-0027", "crt-20251002-9", "crt-20260201-0179", "crt-20251002"];
        versions.sort_by(|one, other| compare_versions(other, one));
        assert_eq!(versions, ["crt-20260201-0179", "crt-20251002-0027", "crt-20251002-9", "crt-20251002"]);
        let newer = |one, other| assert_eq!(compare_versions(one, other), Ordering::Greater, "{one} {other}");
        newer("9.2026.10", "9.2026.9");
        newer("9.2026.10", "7.2003.20");
        newer("9.2026.99999999999999999999999", "9.2026.9999999999999999999999");
        assert_eq!(compare_versions("9.1", "9.1"), Ordering::Equal);
        assert_ne!(compare_versions("9.01", "9.1"), Ordering::Equal);
    }

    #[test]
    fn a_status_is_read_leniently_and_an_unknown_word_is_kept() {
        let progress: UpgradeProgress = serde_json::from_value(json!({
            "site": "ce01", "status": "Completed", "retries": null, "image_download": null,
            "site_level_upgrade": {"status": "IN_PROGRESS", "progress": {"completed": 2, "total": 5},
                "results": [{"name": "s", "status": "REWINDING\u{1b}", "applications": [{"objects": null}]}]},
            "future": 1
        }))
        .expect("a status");
        assert_eq!(progress.status, UpgradeState::Completed);
        assert_eq!(progress.image_download.status, UpgradeState::Unknown);
        assert_eq!(progress.site_level_upgrade.progress, Progress { completed: 2, total: 5 });
        assert_eq!(progress.site_level_upgrade.results[0].status, UpgradeState::Other("REWINDING".to_owned()));
        assert!(!progress.site_level_upgrade.results[0].status.is_final());
    }

    #[test]
    fn the_published_layout_asks_for_versions_without_a_namespace() {
        let namespace = Namespace::parse("system").expect("a name");
        let path = |layout| {
            let request = versions_request(layout, &namespace, Some("9.2026.10"), Some("crt-1")).expect("a request");
            request.path_and_query
        };
        let query = "current_os_version=9.2026.10&current_sw_version=crt-1";
        assert_eq!(path(Layout::Uniform), format!("/api/config/namespaces/system/upgradable_sw_versions?{query}"));
        assert_eq!(path(Layout::Published), format!("/api/maurice/upgradable_sw_versions?{query}"));
    }
}
