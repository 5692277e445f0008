//! The upgrade of a site as a table: its five stages, with what is in each; and the versions that a site can be upgraded
//! to.

use std::cmp::Ordering;

use crate::api::MOST_COUNTED;
use crate::api::upgrades::{self, Application, ApplicationObject, Progress, Stage, UpgradeProgress, UpgradeState};
use crate::model::Namespace;
use crate::report::prelude::*;

/// The upgrade of a site; nothing where the service knows of none.
#[derive(Debug, Clone, Copy, Serialize, JsonSchema)]
pub struct SiteUpgrade<'a> {
    /// The namespace of the site.
    pub namespace: &'a Namespace,
    /// The site.
    pub site: &'a str,
    /// How far it is.
    #[serde(rename = "upgrade")]
    pub progress: Option<&'a UpgradeProgress>,
}

impl Report for SiteUpgrade<'_> {
    /// The upgrade as a table.
    fn blocks<'a>(&'a self, _: &TextView) -> Blocks<'a> {
        let site = code(self.site);
        let Some(progress) = self.progress.filter(|progress| progress.is_upgrade()) else {
            return line![site, ": the service knows of no upgrade"].into();
        };
        let mut parts = Parts(Table::new(["PART", "STATUS", "STEPS", "NOTE"]).free([3]));
        parts.whole(progress);
        let note = note(progress);
        let note = (!note.is_empty()).then(|| line![" (", note, ")"]);
        Blocks::from(line![site, ": ", foreign(word(&progress.status)), note]).and(parts.0)
    }

    written_as!("upgrade_status");
}

/// The rows of an upgrade; a part of a part is indented.
struct Parts<'a>(Table<'a>);

impl<'a> Parts<'a> {
    fn whole(&mut self, progress: &'a UpgradeProgress) {
        let (images, setup) = (&progress.image_download, &progress.os_setup);
        self.row(0, "image download", &images.status, counted(images.results.iter().map(|image| &image.status)), "");
        images.results.iter().for_each(|one| self.row(1, &one.name, &one.status, None, &one.message));
        self.row(0, "os setup", &setup.status, counted(setup.results.iter().map(|node| &node.status)), "");
        for node in &setup.results {
            self.row(1, &node.name, &node.status, None, "");
            node.results.iter().for_each(|one| self.row(2, &one.name, &one.status, None, &one.message));
        }
        let site = &progress.site_level_upgrade;
        self.row(0, "site-level upgrade", &site.status, steps(&site.progress), "");
        site.results.iter().for_each(|one| self.stage(1, one));
        let nodes = &progress.node_level_upgrade;
        let sum = nodes.results.iter().filter_map(|node| steps(&node.progress));
        let sum = sum.reduce(|(done, all), (more, of)| (done + more, all + of));
        self.row(0, "node-level upgrade", &nodes.status, sum, "");
        for node in &nodes.results {
            self.row(1, &node.name, &node.status, steps(&node.progress), "");
            node.results.iter().for_each(|one| self.stage(2, one));
        }
        let validation = &progress.validation;
        self.row(0, "validation", &validation.status, None, &validation.results.join("; "));
        for part in progress.parts().iter().filter(|part| !part.is_known()) {
            self.row(0, &part.path.join("."), &part.status, None, &part.message);
        }
    }

    fn row(&mut self, depth: usize, name: &str, status: &UpgradeState, steps: Option<(u64, u64)>, note: &str) {
        let steps = steps.map(|(done, all)| format!("{done}/{all}")).unwrap_or_default();
        let name = format!("{:1$}{name}", "", 2 * depth);
        self.0.row([code(name), foreign(word(status)), code(steps), foreign(note.to_owned())]);
    }

    fn stage(&mut self, depth: usize, stage: &Stage) {
        self.row(depth, &stage.name, &stage.status, None, "");
        for application in &stage.applications {
            self.row(depth + 1, &application.name, &application.status, None, &why(application));
        }
    }
}

/// What the objects of an application that is not done say.
fn why(application: &Application) -> String {
    if matches!(application.status, UpgradeState::Completed | UpgradeState::Skipped | UpgradeState::Scheduled) {
        return String::new();
    }
    let object = |object: &ApplicationObject| {
        let conditions = object.conditions.iter().map(|condition| {
            let text = format!("{} {}", condition.r#type, condition.result);
            if condition.message.is_empty() { text } else { format!("{text}: {}", condition.message) }
        });
        format!("{} {} {}", object.kind, object.name, conditions.collect::<Vec<_>>().join(", ")).trim_end().to_owned()
    };
    application.objects.iter().map(object).collect::<Vec<_>>().join("; ")
}

fn note(progress: &UpgradeProgress) -> Line<'_> {
    let version = (!progress.version.is_empty()).then(|| line!["to ", code(&progress.version)]);
    let retries = match progress.retries {
        0 => None,
        1 => Some(line!["tried again once"]),
        times => Some(line!["tried again ", foreign(times.to_string()), " times"]),
    };
    let reason = (!progress.failure_reason.is_empty()).then(|| line![foreign(&progress.failure_reason)]);
    Line::joined([version, retries, reason].into_iter().flatten(), "; ")
}

fn counted<'a>(statuses: impl Iterator<Item = &'a UpgradeState>) -> Option<(u64, u64)> {
    let (mut done, mut all) = (0, 0);
    for status in statuses {
        all += 1;
        done += u64::from(matches!(status, UpgradeState::Completed | UpgradeState::Skipped));
    }
    (all > 0).then_some((done, all))
}

fn steps(progress: &Progress) -> Option<(u64, u64)> {
    let all = u64::try_from(progress.total).ok().filter(|all| (1..MOST_COUNTED).contains(all))?;
    Some((u64::try_from(progress.completed).unwrap_or_default().min(all), all))
}

/// The state of an upgrade in words.
fn word(status: &UpgradeState) -> String {
    status.as_str().to_lowercase().replace('_', " ")
}

/// The versions that a site can be upgraded to.
#[derive(Debug, Clone, Copy, Serialize, JsonSchema)]
pub struct UpgradableVersions<'a> {
    /// The versions, the newest first.
    #[serde(rename = "sw_versions")]
    pub versions: &'a [String],
    /// The operating system version of the site.
    #[serde(rename = "current_os_version")]
    pub os: Option<&'a str>,
    /// The software version of the site.
    #[serde(rename = "current_sw_version")]
    pub sw: Option<&'a str>,
}

impl Report for UpgradableVersions<'_> {
    /// The versions as a table, the newest first.
    fn blocks<'a>(&'a self, _: &TextView) -> Blocks<'a> {
        let UpgradableVersions { versions, os, sw } = *self;
        if versions.is_empty() {
            let at = [os.map(|os| line!["OS ", code(os)]), sw.map(|sw| line!["software ", code(sw)])];
            let at = Line::joined(at.into_iter().flatten(), ", ");
            let of = (!at.is_empty()).then(|| line![" from ", at]);
            return line!["no upgradable software versions", of].into();
        }
        let row = |version: &'a String| {
            let note = match sw.map(|sw| upgrades::compare_versions(version, sw)) {
                Some(Ordering::Equal) => "now",
                Some(Ordering::Less) => "not newer",
                Some(Ordering::Greater) | None => "",
            };
            [line![code(version)], line![note]]
        };
        Table::new(["VERSION", "NOTE"]).rows(versions.iter().map(row)).into()
    }

    written_as!("upgradable_sw_versions");
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn versions_text(upgradable: &UpgradableVersions<'_>) -> String {
        upgradable.text(&TextView::default())
    }

    #[test]
    fn a_status_is_a_table_with_the_reason_on_top() {
        let progress: UpgradeProgress = serde_json::from_value(json!({
            "site": "ce-lyon", "version": "crt-2", "status": "FAILED", "failure_reason": "disk full", "retries": 2,
            "image_download": {"status": "COMPLETED", "results": [{"name": "vpm", "status": "COMPLETED", "message": ""}]},
            "os_setup": {"status": "SKIPPED"},
            "site_level_upgrade": {"status": "COMPLETED", "progress": {"completed": 3, "total": 3}},
            "node_level_upgrade": {"status": "FAILED", "results": [
                {"name": "worker-0", "status": "FAILED", "progress": {"completed": 1, "total": 4}, "results": [
                    {"name": "network", "status": "FAILED", "applications": [
                        {"name": "ver", "status": "FAILED", "objects": [
                            {"kind": "DaemonSet", "name": "ver", "conditions": [
                                {"type": "Ready", "result": "False", "message": "0 of 1\u{1b}"}]}]},
                        {"name": "argo", "status": "SCHEDULED", "objects": [{"kind": "DaemonSet", "name": "argo"}]}]}]}]},
            "validation": null
        }))
        .expect("a status");
        let namespace = Namespace::parse("system").expect("a name");
        let upgrade = SiteUpgrade { namespace: &namespace, site: "ce-lyon", progress: Some(&progress) };
        let text = upgrade.text(&TextView::default());
        insta::assert_snapshot!(text, @r"
        ce-lyon: failed (to crt-2; tried again 2 times; disk full)
        PART                STATUS     STEPS  NOTE
        image download      completed  1/1
          vpm               completed
        os setup            skipped
        site-level upgrade  completed  3/3
        node-level upgrade  failed     1/4
          worker-0          failed     1/4
            network         failed
              ver           failed            DaemonSet ver Ready False: 0 of 1\u{1b}
              argo          scheduled
        validation          unknown
        ");
    }

    /// Each of them may block an apply.
    #[test]
    fn a_status_names_the_parts_that_are_newer_than_this_program() {
        let progress: UpgradeProgress = serde_json::from_value(json!({
            "site": "ce-lyon", "status": "COMPLETED",
            "image_download": {"status": "COMPLETED", "results": [
                {"name": "vpm", "status": "COMPLETED", "mirrors": [{"status": "REWINDING"}]}]},
            "post_check": {"status": "FAILED", "message": "worker-0 is not ready\u{1b}"},
            "os_upgrade_progress": {"status": "IN_PROGRESS", "image_download": {"status": "SCHEDULED"}},
            "future": "FAILED"
        }))
        .expect("a status");
        let namespace = Namespace::parse("system").expect("a name");
        let upgrade = SiteUpgrade { namespace: &namespace, site: "ce-lyon", progress: Some(&progress) };
        let text = upgrade.text(&TextView::default());
        insta::assert_snapshot!(text, @r"
        ce-lyon: completed
        PART                                STATUS       STEPS  NOTE
        image download                      completed    1/1
          vpm                               completed
        os setup                            unknown
        site-level upgrade                  unknown
        node-level upgrade                  unknown
        validation                          unknown
        image_download.results.mirrors      rewinding
        os_upgrade_progress                 in progress
        os_upgrade_progress.image_download  scheduled
        post_check                          failed              worker-0 is not ready\u{1b}
        ");
    }

    #[test]
    fn a_number_of_steps_that_is_too_large_is_not_shown() {
        let node = json!({"name": "a", "progress": {"completed": i64::MAX, "total": i64::MAX}});
        let progress =
            json!({"status": "FAILED", "node_level_upgrade": {"results": [node.clone(), node.clone(), node]}});
        let progress: UpgradeProgress = serde_json::from_value(progress).expect("a status");
        let namespace = Namespace::parse("system").expect("a name");
        let upgrade = SiteUpgrade { namespace: &namespace, site: "ce", progress: Some(&progress) };
        assert!(!upgrade.text(&TextView::default()).contains('/'));
    }

    #[test]
    fn versions_are_compared_with_the_current_one() {
        let versions = ["crt-20260315-0012", "crt-20251002-0027", "crt-20250701-0090"].map(str::to_owned);
        let upgradable = |versions, sw| UpgradableVersions { versions, os: Some("9.2026.17"), sw };
        let text = versions_text(&upgradable(&versions, Some("crt-20251002-0027")));
        insta::assert_snapshot!(text, @r"
        VERSION            NOTE
        crt-20260315-0012
        crt-20251002-0027  now
        crt-20250701-0090  not newer
        ");
        assert_eq!(
            versions_text(&upgradable(&[], Some("crt-1\u{1b}"))),
            "no upgradable software versions from OS 9.2026.17, software crt-1\\u{1b}\n"
        );
    }
}
