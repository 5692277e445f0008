//! The upgrade of a site: its five stages as counts, the whole as a tree of work, what changed between two reads
//! as lines; and the versions that a site can be upgraded to, as steps from the current one.

use std::cmp::Ordering;

use schemars::JsonSchema;
use serde::Serialize;

use super::text::TextView;
use super::tree::{self, WorkNode, WorkState};
use super::{Charset, safe};
use crate::api::upgrades::{
    self, Application, ApplicationObject, Installed, NodeUpgrade, Progress, Stage, UpgradeProgress, UpgradeState,
};
use crate::model::Namespace;

/// One of the five stages.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StageView {
    /// Its name.
    pub name: &'static str,
    /// How far it is.
    pub status: UpgradeState,
    /// Steps done of steps to do.
    pub steps: Option<(u64, u64)>,
}

/// Whether the service says anything of an upgrade.
#[must_use]
pub fn is_known(progress: &UpgradeProgress) -> bool {
    progress.status != UpgradeState::Unknown || !progress.version.is_empty()
}

/// The stages in their order.
#[must_use]
pub fn stages(progress: &UpgradeProgress) -> [StageView; 5] {
    let images = counted(progress.image_download.results.iter().map(|image| &image.status));
    let nodes = counted(progress.os_setup.results.iter().map(|node| &node.status));
    let sum = progress.node_level_upgrade.results.iter().fold((0, 0), |(done, all), node| {
        let (more, of) = steps(&node.progress).unwrap_or_default();
        (done + more, all + of)
    });
    [
        StageView { name: "image download", status: progress.image_download.status.clone(), steps: images },
        StageView { name: "os setup", status: progress.os_setup.status.clone(), steps: nodes },
        StageView {
            name: "site-level upgrade",
            status: progress.site_level_upgrade.status.clone(),
            steps: steps(&progress.site_level_upgrade.progress),
        },
        StageView {
            name: "node-level upgrade",
            status: progress.node_level_upgrade.status.clone(),
            steps: (sum.1 > 0).then_some(sum),
        },
        StageView { name: "validation", status: progress.validation.status.clone(), steps: None },
    ]
}

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

/// The upgrade as a tree.
#[must_use]
pub fn status(upgrade: &SiteUpgrade<'_>, view: &TextView) -> String {
    match upgrade.progress.filter(|progress| is_known(progress)) {
        Some(progress) => tree::draw(&tree_of(upgrade.site, progress), view.palette, view.charset),
        None => format!("{}: the service knows of no upgrade\n", safe::line(upgrade.site)),
    }
}

fn tree_of(site: &str, progress: &UpgradeProgress) -> WorkNode {
    let mut root = node(site, &progress.status);
    root.note = note(progress);
    let parts = [
        progress.image_download.results.iter().map(installed).collect(),
        progress
            .os_setup
            .results
            .iter()
            .map(|one| {
                let mut part = node(&one.name, &one.status);
                part.parts = one.results.iter().map(installed).collect();
                part
            })
            .collect(),
        progress.site_level_upgrade.results.iter().map(stage).collect(),
        progress.node_level_upgrade.results.iter().map(upgraded).collect(),
        progress.validation.results.iter().map(|text| WorkNode::new(text.as_str(), None)).collect::<Vec<WorkNode>>(),
    ];
    root.parts = stages(progress)
        .into_iter()
        .zip(parts)
        .map(|(stage, parts)| {
            let mut part = node(stage.name, &stage.status);
            part.steps = stage.steps;
            part.parts = parts;
            part
        })
        .collect();
    root
}

fn note(progress: &UpgradeProgress) -> String {
    let mut notes = Vec::new();
    if !progress.version.is_empty() {
        notes.push(format!("to {}", progress.version));
    }
    match progress.retries {
        0 => {}
        1 => notes.push("tried again once".to_owned()),
        times => notes.push(format!("tried again {times} times")),
    }
    if !progress.failure_reason.is_empty() {
        notes.push(progress.failure_reason.clone());
    }
    notes.join("; ")
}

fn upgraded(one: &NodeUpgrade) -> WorkNode {
    let mut part = node(&one.name, &one.status);
    part.steps = steps(&one.progress);
    part.parts = one.results.iter().map(stage).collect();
    part
}

fn stage(one: &Stage) -> WorkNode {
    let mut part = node(&one.name, &one.status);
    part.parts = one.applications.iter().map(application).collect();
    part
}

/// Objects are shown where the application is not through: there they say why.
fn application(one: &Application) -> WorkNode {
    let mut part = node(&one.name, &one.status);
    if !matches!(one.status, UpgradeState::Completed | UpgradeState::Skipped | UpgradeState::Scheduled) {
        part.parts = one.objects.iter().map(object).collect();
    }
    part
}

fn object(one: &ApplicationObject) -> WorkNode {
    let mut part = WorkNode::new(format!("{} {}", one.kind, one.name), None);
    let conditions = one.conditions.iter().map(|condition| {
        let text = format!("{} {}", condition.r#type, condition.result);
        if condition.message.is_empty() { text } else { format!("{text}: {}", condition.message) }
    });
    part.note = conditions.collect::<Vec<_>>().join(", ");
    part
}

fn installed(one: &Installed) -> WorkNode {
    let mut part = node(&one.name, &one.status);
    part.note.clone_from(&one.message);
    part
}

fn node(name: &str, status: &UpgradeState) -> WorkNode {
    WorkNode::new(name, Some(state(status)))
}

fn state(status: &UpgradeState) -> WorkState {
    match status {
        UpgradeState::Unknown => WorkState::Unknown,
        UpgradeState::Scheduled => WorkState::Waiting,
        UpgradeState::InProgress => WorkState::Running,
        UpgradeState::Completed => WorkState::Done,
        UpgradeState::Failed => WorkState::Failed,
        UpgradeState::Skipped => WorkState::Skipped,
        UpgradeState::Other(word) => WorkState::Other(word.clone()),
    }
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
    let all = u64::try_from(progress.total).ok().filter(|all| *all > 0)?;
    Some((u64::try_from(progress.completed).unwrap_or_default().min(all), all))
}

/// The state of an upgrade in words.
#[must_use]
pub fn word(status: &UpgradeState) -> String {
    status.as_str().to_lowercase().replace('_', " ")
}

/// What changed since an earlier read: a line for each stage, and one for the whole.
#[must_use]
pub fn changes(site: &str, before: Option<&UpgradeProgress>, now: &UpgradeProgress) -> String {
    let (site, earlier) = (safe::line(site), before.map(stages));
    let mut text = String::new();
    for (at, stage) in stages(now).iter().enumerate() {
        let unchanged = earlier.as_ref().is_some_and(|earlier| earlier[at] == *stage);
        let not_begun = before.is_none() && matches!(stage.status, UpgradeState::Scheduled | UpgradeState::Unknown);
        if unchanged || not_begun {
            continue;
        }
        let steps = stage.steps.map(|(done, all)| format!(" {done}/{all}")).unwrap_or_default();
        text.push_str(&format!("{site}  {}: {}{steps}\n", stage.name, word(&stage.status)));
    }
    if before.is_none_or(|before| before.status != now.status) {
        let version = safe::line(&now.version);
        text.push_str(&format!("{site}  upgrade to {version}: {}\n", word(&now.status)));
    }
    text
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

/// The versions as steps from the current one.
#[must_use]
pub fn versions(upgradable: &UpgradableVersions<'_>, view: &TextView) -> String {
    ladder(upgradable, view.charset)
}

fn ladder(upgradable: &UpgradableVersions<'_>, charset: Charset) -> String {
    let UpgradableVersions { versions, os, sw } = *upgradable;
    let at = [os.map(|os| format!("OS {}", safe::line(os))), sw.map(|sw| format!("software {}", safe::line(sw)))];
    let at = at.into_iter().flatten().collect::<Vec<_>>().join(", ");
    let of = if at.is_empty() { String::new() } else { format!(" from {at}") };
    if versions.is_empty() {
        return format!("no upgradable software versions{of}\n");
    }
    let (top, way, here) = match charset {
        Charset::Unicode => ("▲", "│", "●"),
        Charset::Ascii => ("^", "|", "*"),
    };
    let newer = |version: &String| sw.is_none_or(|sw| upgrades::compare_versions(version, sw) == Ordering::Greater);
    let (up, down): (Vec<&String>, Vec<&String>) = versions.iter().partition(|version| newer(version));
    let mut text = format!("upgradable software versions{of}\n");
    for (index, version) in up.iter().enumerate() {
        let mut notes = Vec::new();
        if index == 0 {
            notes.push("newest");
        }
        if sw.is_some() && index + 1 == up.len() {
            notes.push("next");
        }
        let sign = if index == 0 { top } else { way };
        line(&mut text, sign, version, &notes.join(", "));
    }
    if let Some(sw) = sw {
        line(&mut text, here, sw, "now");
    }
    for version in down {
        if sw != Some(version.as_str()) {
            line(&mut text, " ", version, "not newer");
        }
    }
    text
}

fn line(text: &mut String, sign: &str, version: &str, note: &str) {
    let line = format!("  {sign} {:20}  {note}", safe::line(version));
    text.push_str(line.trim_end());
    text.push('\n');
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::report::Palette;

    #[test]
    fn a_status_becomes_a_tree_with_the_reason_on_top() {
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
                                {"type": "Ready", "result": "False", "message": "0 of 1"}]}]},
                        {"name": "argo", "status": "SCHEDULED", "objects": [{"kind": "DaemonSet", "name": "argo"}]}]}]}]},
            "validation": null
        }))
        .expect("a status");
        let text = tree::draw(&tree_of("ce-lyon", &progress), Palette::Plain, Charset::Unicode);
        insta::assert_snapshot!(text, @r"
        ce-lyon                       ✘ failed   to crt-2; tried again 2 times; disk full
        ├─ image download             ✔ done     [██████████] 1/1
        │  └─ vpm                     ✔ done
        ├─ os setup                   – skipped
        ├─ site-level upgrade         ✔ done     [██████████] 3/3
        ├─ node-level upgrade         ✘ failed   [██░░░░░░░░] 1/4
        │  └─ worker-0                ✘ failed   [██░░░░░░░░] 1/4
        │     └─ network              ✘ failed
        │        ├─ ver               ✘ failed
        │        │  └─ DaemonSet ver  Ready False: 0 of 1
        │        └─ argo              · waiting
        └─ validation                 ? unknown
        ");
    }

    #[test]
    fn only_what_changed_is_a_line() {
        let mut progress =
            UpgradeProgress { version: "crt-2".to_owned(), status: UpgradeState::InProgress, ..Default::default() };
        progress.image_download.status = UpgradeState::InProgress;
        let first = progress.clone();
        let text = changes("ce01", None, &first);
        assert_eq!(text, "ce01  image download: in progress\nce01  upgrade to crt-2: in progress\n");
        assert_eq!(changes("ce01", Some(&first), &first), "");
        progress.image_download.status = UpgradeState::Completed;
        progress.site_level_upgrade.status = UpgradeState::InProgress;
        progress.site_level_upgrade.progress.total = 6;
        let text = changes("ce01", Some(&first), &progress);
        assert_eq!(text, "ce01  image download: completed\nce01  site-level upgrade: in progress 0/6\n");
    }

    #[test]
    fn the_way_up_leads_from_the_current_version_to_the_newest() {
        let versions = ["crt-20260315-0012", "crt-20260201-0179", "crt-20251002-0027", "crt-20250701-0090"];
        let versions = versions.map(str::to_owned);
        let of = |versions, os, sw, charset| ladder(&UpgradableVersions { versions, os, sw }, charset);
        let drawn = of(&versions, Some("9.2026.17"), Some("crt-20251002-0027"), Charset::Unicode);
        insta::assert_snapshot!(drawn, @r"
        upgradable software versions from OS 9.2026.17, software crt-20251002-0027
          ▲ crt-20260315-0012     newest
          │ crt-20260201-0179     next
          ● crt-20251002-0027     now
            crt-20250701-0090     not newer
        ");
        insta::assert_snapshot!(of(&versions[..2], None, None, Charset::Ascii), @r"
        upgradable software versions
          ^ crt-20260315-0012     newest
          | crt-20260201-0179
        ");
        assert_eq!(
            of(&[], None, Some("crt-1\u{1b}"), Charset::Ascii),
            "no upgradable software versions from software crt-1\\u{1b}\n"
        );
    }
}
