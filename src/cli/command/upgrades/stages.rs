//! The upgrade of a site as a tree of work, and its five stages as counts.

use crate::api::upgrades::{
    Application, ApplicationObject, Installed, NodeUpgrade, Progress, Stage, UpgradeProgress, UpgradeState,
};
use crate::report::tree::{WorkNode, WorkState};

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
pub fn is_known(progress: &UpgradeProgress) -> bool {
    progress.status != UpgradeState::Unknown || !progress.version.is_empty()
}

/// The stages in their order.
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

/// The whole as a tree.
pub fn tree(site: &str, progress: &UpgradeProgress) -> WorkNode {
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

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::report::{Charset, Palette, tree as drawing};

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
        let text = drawing::draw(&tree("ce-lyon", &progress), 100, Palette::Plain, Charset::Unicode);
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
}
