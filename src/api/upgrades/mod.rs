//! Software versions that a site can be upgraded to, and the upgrade status of a site.

mod status;
mod version;

use serde::Deserialize;

use crate::model::{Json, Namespace, neutral};

pub use status::{
    Application, ApplicationObject, ImageDownload, Installed, NodeUpgrade, NodesUpgrade, ObjectCondition, OsNode,
    OsSetup, Progress, SiteUpgrade, Stage, UpgradePart, UpgradeProgress, UpgradeState, Validation,
};
pub use version::compare_versions;

use super::error::ApiError;
use super::operations::Operation;
use super::reader::Reader;
use super::wire::nullable;

/// Reads the versions that a site can be upgraded to, newest first.
///
/// # Errors
/// Any failure.
pub async fn versions(
    reader: &Reader,
    namespace: &Namespace,
    current_os: Option<&str>,
    current_sw: Option<&str>,
) -> Result<Vec<String>, ApiError> {
    #[derive(Deserialize)]
    struct Versions {
        sw_versions: Vec<String>,
    }
    let mut parameters = vec![("namespace", namespace.as_str())];
    parameters.extend(current_os.map(|version| ("current_os_version", version)));
    parameters.extend(current_sw.map(|version| ("current_sw_version", version)));
    let mut list: Versions = reader.question(Operation::UpgradableVersions, &parameters, None).await?.json()?;
    list.sw_versions.sort_by(|one, other| compare_versions(other, one));
    Ok(list.sw_versions)
}

/// Reads the upgrade status of a site; `None` if the service reports no upgrade.
///
/// # Errors
/// [`ApiError::is_absent`] if the site does not exist.
pub async fn status(reader: &Reader, namespace: &Namespace, site: &str) -> Result<Option<UpgradeProgress>, ApiError> {
    #[derive(Deserialize)]
    struct Answer {
        #[serde(deserialize_with = "nullable")]
        upgrade_status: Inner,
    }
    #[derive(Deserialize, Default)]
    struct Inner {
        sw_upgrade_progress: Option<UpgradeProgress>,
        #[serde(flatten)]
        others: serde_json::Map<String, Json>,
    }
    let parameters = [("namespace", namespace.as_str()), ("name", site)];
    let answer = reader.question(Operation::UpgradeStatus, &parameters, None).await?;
    let Inner { sw_upgrade_progress, others } = answer.json::<Answer>()?.upgrade_status;
    match sw_upgrade_progress {
        Some(progress) if !progress.site.is_empty() && progress.site != site => {
            Err(answer.unreadable(format!("it is about `{}`", neutral(&progress.site, 60))))
        }
        // The status of other upgrades is shown with that of the software.
        Some(mut progress) => {
            progress.others.extend(others.into_iter().filter(|(_, other)| !other.is_null()));
            Ok(Some(progress))
        }
        None if others.values().all(Json::is_null) => Ok(None),
        None => Err(answer.unreadable("it says of another upgrade than that of the software".to_owned())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::Request;
    use crate::model::Layout;

    #[test]
    fn the_published_layout_asks_for_versions_without_a_namespace() {
        let parameters =
            [("namespace", "system"), ("current_os_version", "9.2026.10"), ("current_sw_version", "crt-1")];
        let path = |layout| {
            let request = Request::build(Operation::UpgradableVersions, layout, &parameters, None);
            request.expect("a request").path_and_query
        };
        let query = "current_os_version=9.2026.10&current_sw_version=crt-1";
        assert_eq!(path(Layout::Uniform), format!("/api/config/namespaces/system/upgradable_sw_versions?{query}"));
        assert_eq!(path(Layout::Published), format!("/api/maurice/upgradable_sw_versions?{query}"));
    }
}
